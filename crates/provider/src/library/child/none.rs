//! A system on which libraries have no process of their own yet.

use std::process::ExitCode;

/// Says so.
pub fn serve() -> ExitCode {
    eprintln!("tally-host: provider libraries are loaded on Linux only");
    ExitCode::from(2)
}
