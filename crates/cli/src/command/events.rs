//! `tally events`: prints the event log of counter providers and name changes.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::time::{Duration, Instant};

use serde_json::Value;
use tallymon::events::{files_to_read, held};
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
    for (time, line) in read(&roots, events, "")? {
        print(&mut out, &line, events.json)?;
        last = time;
    }
    out.flush()?;
    if !events.follow {
        return Ok(());
    }
    let stop = Stop::on_signals()?;
    // Several events may share one millisecond. Compare texts to skip those that were printed already.
    let mut shown: VecDeque<String> =
        read(&roots, events, &last)?.into_iter().map(|(_, line)| line.to_string()).collect();
    while stop.wait_until(Instant::now() + PAUSE) {
        for (time, line) in read(&roots, events, &last)? {
            let text = line.to_string();
            if shown.contains(&text) {
                continue;
            }
            print(&mut out, &line, events.json)?;
            shown.push_back(text);
            shown.drain(..shown.len().saturating_sub(1000));
            last = last.max(time);
        }
        out.flush()?;
    }
    Ok(())
}

/// Reads the requested events from a time on, in the order of time; with `--last` only the last of them.
fn read(roots: &Roots, events: &Events, from: &str) -> Result<Vec<(String, Value)>, Failure> {
    let mut found = Vec::new();
    for path in files_to_read(roots) {
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(Failure::file(&path, &error)),
        };
        for line in BufReader::new(file).split(b'\n') {
            let line = line.map_err(|error| Failure::file(&path, &error))?;
            // A crash can leave half a line. Skip it.
            let Ok(event) = serde_json::from_slice::<Value>(&line) else { continue };
            let time = event["time"].as_str().unwrap_or_default().to_string();
            if time.as_str() >= from && is_wanted(&event, events) {
                found.push((time, event));
            }
        }
    }
    // Those that were only counted; their numbers change all the time, so that one who follows gets them
    // later.
    let counted = if events.follow { Vec::new() } else { held(roots) };
    for event in counted.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let time = event["time"].as_str().unwrap_or_default().to_string();
        if is_wanted(&event, events) {
            found.push((time, event));
        }
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    let first = events.last.map_or(0, |last| found.len().saturating_sub(last));
    Ok(found.split_off(first))
}

fn is_wanted(event: &Value, events: &Events) -> bool {
    let service = event["fields"]["Service"].as_str().unwrap_or_default();
    events.provider.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(service))
}

fn print(out: &mut impl Write, event: &Value, as_json: bool) -> io::Result<()> {
    if as_json {
        return writeln!(out, "{}", border::json(event));
    }
    let text = |key: &str| event[key].as_str().unwrap_or_default();
    let time = text("time").replace('T', " ");
    let (level, message) = (visible(text("level")), visible(text("message")));
    let number = |key: &str| event[key].as_u64().unwrap_or(0);
    let mut counts = String::new();
    for (key, words) in [
        ("repeated", "more of the same before it"),
        ("others", "others of its kind before it"),
        ("held", "since the last line like it; this is the last one"),
    ] {
        if number(key) > 0 {
            counts.push_str(&format!("  ({} {words})", number(key)));
        }
    }
    writeln!(out, "{}  {level:11}  {:>4}  {message}{counts}", visible(&time), border::json(&event["id"]))
}
