//! `tally browse`: a dialog to choose counters. It prints the chosen paths.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;

use tallymon::Query;

use super::relog::reading;
use crate::arguments::{Browse, Common};
use crate::border;
use crate::exit::{Failure, Kind};
use crate::paths;
use crate::progress::open_logs;

/// Runs the dialog until the user closes it.
pub(crate) fn run(common: &Common, wanted: &Browse) -> Result<(), Failure> {
    if !io::stdin().is_terminal() || !(io::stdout().is_terminal() || io::stderr().is_terminal()) {
        let words = "the dialog needs a terminal; 'tally list' and 'tally find' list counters without one";
        return Err(Failure::new(Kind::Usage, words));
    }
    let mut query = if wanted.log.is_empty() {
        paths::query_of(common, wanted.path.as_slice())?
    } else {
        let log = open_logs(&wanted.log, &reading(&wanted.reading)?)?;
        Query::new(Box::new(log.source()), paths::locale(common)?)?
    };
    query.define_registered()?;
    let begin = match &wanted.path {
        Some(path) => {
            let (object, counter) = query.named(path)?;
            counter.map(|counter| (object, counter))
        }
        None => None,
    };
    let mut chosen: Vec<String> = Vec::new();
    tallymon_monitor::browse(query, begin, |path| {
        if !chosen.contains(&path) {
            chosen.push(path);
        }
        if wanted.one { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    // Print after the dialog has closed: standard output may be the same terminal.
    let mut output = border::data();
    chosen.iter().try_for_each(|path| writeln!(output, "{path}"))?;
    if chosen.is_empty() { Err(Failure::silent(Kind::NotFound)) } else { Ok(()) }
}
