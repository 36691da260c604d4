//! Behemoths that live, move, breed and die, and two ways to count them.
//!
//! A sample to read, after an article of 2003 about writing providers. A service contains the world. It
//! publishes its counters in shared memory, and answers queries over a socket. One client of the socket is a
//! provider library in NT's form, another is the manager. The texts are in `behemoth.ini`.
//! `docs/samples/behemoth.md` walks through the code.
//!
//! ```text
//!                        publish.rs -- shared memory --------------------.
//! life.rs -- service.rs <                                                 > tally, and any other reader
//!                        socket ---- socket.rs -- library.rs ------------'
//!                              `---- manager.rs
//! ```
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

pub mod figures;
pub mod library;
pub mod life;
pub mod manager;
pub mod publish;
pub mod random;
pub mod service;
pub mod socket;
pub mod table;
