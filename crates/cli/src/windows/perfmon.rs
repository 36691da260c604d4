//! `perfmon`: the monitor.

use crate::arguments::{Common, Mon};
use crate::command::mon;
use crate::exit::{Failure, Kind};

/// Opens the monitor; words are paths of counters. Of the options of Windows only `/sys` means what exists here.
pub(super) fn run(line: &[String]) -> Result<(), Failure> {
    let mut counters = Vec::new();
    for word in line {
        match word.strip_prefix(['/', '-']).map(str::to_ascii_lowercase).as_deref() {
            Some("sys") => {}
            // A path in our other spelling begins with two slashes.
            Some(rest) if !rest.starts_with('/') => {
                return Err(Failure::new(Kind::Usage, format_args!("Argument '{word}' is unknown.")));
            }
            _ => counters.push(word.clone()),
        }
    }
    mon::run(&Common::default(), &Mon { paths: counters, ..Mon::default() })
}
