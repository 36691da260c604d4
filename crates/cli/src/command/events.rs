//! `tally events`: prints the event log of counter providers and name changes.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use serde_json::Value;
use tallymon::events::{self, EventChoice, PastEvent};
use tallymon::registry::Roots;

use crate::arguments::{Common, Events};
use crate::border;
use crate::exit::{Failure, Kind};
use crate::stop::Stop;
use crate::words::visible;

/// Time between two checks of the files.
const PAUSE: Duration = Duration::from_millis(250);

pub(crate) fn run(common: &Common, events: &Events) -> Result<(), Failure> {
    if common.file.is_some() {
        return Err(Failure::new(Kind::Usage, "events come from the running system; leave out --file"));
    }
    let roots = Roots::of_environment();
    let mut out = border::stdout();
    let mut last = String::new();
    for event in read(&roots, events, "")? {
        print(&mut out, &event, events.json)?;
        last = event.stamp;
    }
    out.flush()?;
    if !events.follow {
        return Ok(());
    }
    let stop = Stop::on_signals()?;
    // Several events may share one millisecond. Compare texts to skip those that were printed already.
    let mut shown: VecDeque<String> =
        read(&roots, events, &last)?.into_iter().map(|event| event.line).collect();
    while stop.wait_until(Instant::now() + PAUSE) {
        for event in read(&roots, events, &last)? {
            if shown.contains(&event.line) {
                continue;
            }
            print(&mut out, &event, events.json)?;
            last = last.max(event.stamp);
            shown.push_back(event.line);
            shown.drain(..shown.len().saturating_sub(1000));
        }
        out.flush()?;
    }
    Ok(())
}

/// Reads the requested events from a time on, in the order of time; with `--last` only the last of them.
fn read(roots: &Roots, wanted: &Events, from: &str) -> Result<Vec<PastEvent>, Failure> {
    // One who follows gets those that were only counted later.
    let choice = EventChoice { provider: wanted.provider.as_deref(), from, only_written: wanted.follow };
    let mut found = events::read(roots, choice).map_err(|(path, error)| Failure::file(&path, &error))?;
    let first = wanted.last.map_or(0, |last| found.len().saturating_sub(last));
    Ok(found.split_off(first))
}

fn print(out: &mut impl Write, event: &PastEvent, as_json: bool) -> io::Result<()> {
    if as_json {
        let line: Value = serde_json::from_str(&event.line).unwrap_or_default();
        return writeln!(out, "{}", border::json(&line));
    }
    let time = event.stamp.replace('T', " ");
    let (level, message) = (visible(&event.level), visible(&event.message));
    let mut counts = String::new();
    for (number, words) in [
        (event.repeated, "more of the same before it"),
        (event.others, "others of its kind before it"),
        (event.held, "since the last line like it; this is the last one"),
    ] {
        if number > 0 {
            counts.push_str(&format!("  ({number} {words})"));
        }
    }
    let id = event.id.map_or_else(|| "null".to_owned(), |id| id.to_string());
    writeln!(out, "{}  {level:11}  {id:>4}  {message}{counts}", visible(&time))
}
