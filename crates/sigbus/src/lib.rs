//! Keeps a program alive when a file that it has mapped is cut short by somebody else.
//!
//! A store into a mapped page that is behind the end of its file raises `SIGBUS`, which ends the program.
//! Whoever may write to the file can do that: another program of the same user, or root. A program that only
//! publishes counters or is profiled must not end by that. [`protect`] names a mapping; when a page of it is
//! gone, memory of the program takes its place, so that the store succeeds and reaches no reader.
//!
//! Other ways do not work: seals (`F_SEAL_SHRINK`) exist for files without a name only, and readers of other
//! users find a file by its name; a lock on the memory does not keep pages of a file that is cut.
//!
//! The handler is installed once, by the first call. Any other `SIGBUS` goes to the handler before it, such
//! as that of the .NET runtime, or ends the program as it did before. A program that installs a handler of
//! its own afterwards and does not call the one before it is not protected any more.
#![cfg(target_os = "linux")]
#![deny(unsafe_code)]

mod handler;

pub use handler::{Protected, protect};
