//! A system on which libraries have no process of their own yet.

use std::process::ExitCode;

/// Says so.
#[expect(clippy::print_stderr, reason = "this is the main function of the program tally-host")]
pub fn serve() -> ExitCode {
    eprintln!("tally-host: provider libraries are loaded on Linux only");
    ExitCode::from(2)
}
