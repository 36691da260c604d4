//! The program `tally-host`: it loads one provider library for a reader of counters, so that the reader need
//! not.
#![forbid(unsafe_code)]

use std::process::ExitCode;

// Its libraries learn of their threads.
tallymon_provider::export_threads!();

fn main() -> ExitCode {
    tallymon::library::child::serve()
}
