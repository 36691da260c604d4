//! A system where provider libraries do not run in a process of their own yet.

use std::process::ExitCode;

/// Prints that this is not supported.
#[expect(clippy::print_stderr, reason = "this is the main function of the program tally-host")]
pub fn serve() -> ExitCode {
    eprintln!("tally-host: provider libraries are loaded on Linux only");
    ExitCode::from(2)
}
