//! The NT performance objects of a Linux machine, read from `/proc`, `/sys` and netlink.

pub mod proc;
