//! `perfmon`: opens the monitor.

use std::io::Write;

use crate::arguments::{Common, Mon};
use crate::border;
use crate::command::mon;
use crate::exit::{Failure, Kind};

const USAGE: &str = "\
perfmon [/sys] [COUNTER...]

  COUNTER...  counters to show first, such as '\\Processor(_Total)\\% Processor Time'
  /sys        open the monitor, as without options";

/// Opens the monitor with the given counters. Of Windows' options only `/sys` has an equivalent here.
pub(super) fn run(line: &[String]) -> Result<(), Failure> {
    let mut counters = Vec::new();
    for word in line {
        match word.strip_prefix(['/', '-']).map(str::to_ascii_lowercase).as_deref() {
            Some("sys") => {}
            Some("?") => return Ok(writeln!(border::stdout(), "{USAGE}")?),
            // A path that is written with slashes begins with two of them.
            Some(rest) if !rest.starts_with('/') => {
                return Err(Failure::new(Kind::Usage, format_args!("Argument '{word}' is unknown.")));
            }
            _ => counters.push(word.clone()),
        }
    }
    mon::run(&Common::default(), &Mon { paths: counters, chart: true, ..Mon::default() })
}
