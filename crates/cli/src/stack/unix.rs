//! The stack of the command where the system limits it.

use std::process::ExitCode;
use std::thread::Builder;

use rustix::process::{Resource, getrlimit};

/// With less than this, deep paths of the command end in a stack overflow, which no word can explain.
const LEAST: u64 = 2 << 20;
/// What Linux gives by default.
const USUAL: usize = 8 << 20;

/// Runs the command: on a thread with the usual stack if the limit of the process (`ulimit -s`) is too small.
pub(crate) fn with_room(run: fn() -> ExitCode) -> ExitCode {
    if getrlimit(Resource::Stack).current.is_none_or(|limit| limit >= LEAST) {
        return run();
    }
    match Builder::new().name("main".into()).stack_size(USUAL).spawn(run) {
        // The message of a panic was printed.
        Ok(thread) => thread.join().unwrap_or(ExitCode::from(101)),
        // No more threads are allowed, so this stack has to do.
        Err(_) => run(),
    }
}
