//! Other machines as a user meets them: the command that was built reads hosts through a program `ssh` in its
//! PATH, which is a script for most tests, and the system's for one.
#![forbid(unsafe_code)]
#![cfg(unix)]
// A test that cannot go on fails, and this whole program is tests.
#![allow(clippy::unwrap_used)]

mod day;
mod export;
mod hostile;
#[path = "../tally/hostile_machine.rs"]
mod hostile_machine;
mod install;
mod kerberos;
mod languages;
mod lies;
mod monitor;
mod names;
mod page;
mod pipe;
mod protected;
mod sessions;
mod several;
mod sick;
mod smbd;
mod sshd;
mod support;
mod tickets;
mod tls;
mod types;
mod unreachable;
