//! Provider libraries: shared libraries with NT's functions Open, Collect and Close.
//!
//! A provider library can do anything, so by default a child process, `tally-host`, loads it, and everything
//! from that process is checked like any foreign input. You pass a registration and the query string of a
//! request; you get the bytes of objects for a data block, or events that say why there are none.
//!
//! | module | what it does |
//! |---|---|
//! | [`event`] | what is reported, with NT's ids and fields |
//! | [`check`] | looks at what Collect returned; pure |
//! | [`protocol`] | the messages between this process and the child; pure |
//! | `abi` | loads a library and calls its functions: the only unsafe code of a reader |
//! | [`author`] | for authors in Rust: what a library declares, and what it is asked |
//! | [`export`] | NT's functions in front of such a library |
//! | [`in_process`] | a library in the reader's own process, for those that are trusted |
//! | [`child`] | what the child process does |
//! | `client` | asks a library in its child, and gives up on it |
//! | `process` | starts child processes, and waits for their end |
//!
//! This module does not know which libraries are registered, or which of them a request needs.

#[cfg(target_os = "linux")]
mod abi;
pub mod author;
pub mod check;
#[cfg_attr(not(target_os = "linux"), path = "child/none.rs")]
pub mod child;
#[cfg(target_os = "linux")]
pub mod client;
pub mod event;
pub mod export;
#[cfg(target_os = "linux")]
pub mod in_process;
#[cfg(target_os = "linux")]
pub mod process;
pub mod protocol;
