//! Behemoths that live, move, breed and die, and two ways to count them.
//!
//! A sample to read, after an article of 2003 about writing providers. A service has the world in it. It publishes what
//! there is to count in shared memory, and tells it to whoever asks over a socket; one who asks is a provider library in
//! NT's form, another the manager. The texts are in `behemoth.ini`. `docs/samples/behemoth.md` walks through it.
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
