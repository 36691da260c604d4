//! Provider libraries: shared libraries with NT's functions Open, Collect and Close.
//!
//! A provider library can do anything, so by default a child process, `tally-host`, loads it, and everything
//! from that process is checked like any foreign input. You pass a registration and the query string of a
//! request; you get the bytes of objects for a data block, or events that say why there are none.
//!
//! | module | what it does |
//! |---|---|
//! | [`event`] | the events to report, with NT's ids and fields |
//! | [`check`] | checks what Collect returned; pure |
//! | [`protocol`] | the messages between this process and the child; pure |
//! | `abi` | loads a library and calls its functions: the only unsafe code of a reader |
//! | [`threads`] | `DllMain`, and the functions that report threads to it |
//! | [`author`] | for authors in Rust: what a library declares, and the requests that it gets |
//! | [`export`] | NT's functions in front of such a library |
//! | `indexes` | where such a library finds the indexes of its names |
//! | [`child`] | the main function of the child process |
//! | `client` | sends requests to a library in its child, and gives up on it |
//! | `in_process` | a library in the reader's own process, for trusted ones; public through `client` |
//! | [`program`] | finds the program that loads libraries |
//! | `attempt` | what a library tried and may not do, by kind; public through `client` |
//! | `process` | starts child processes, and waits for their end; public through `client` |
//!
//! This module does not know which libraries are registered, or which of them a request needs.

#[cfg(target_os = "linux")]
mod abi;
#[cfg(target_os = "linux")]
mod attempt;
pub mod author;
pub mod check;
#[cfg_attr(not(target_os = "linux"), path = "child/none.rs")]
pub mod child;
#[cfg(target_os = "linux")]
pub mod client;
pub mod event;
pub mod export;
#[cfg(target_os = "linux")]
mod in_process;
#[cfg_attr(windows, path = "indexes_windows.rs")]
mod indexes;
#[cfg_attr(not(target_os = "linux"), path = "own_file_none.rs")]
mod own_file;
#[cfg(target_os = "linux")]
mod process;
pub mod program;
pub mod protocol;
#[cfg_attr(not(target_os = "linux"), path = "threads_none.rs")]
pub mod threads;
