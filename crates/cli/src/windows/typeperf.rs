//! `typeperf`: writes the values of counters to the terminal or into a log, or lists counters.

use std::io::Write;
use std::time::Duration;

use tallymon::core::path::Part;
use tallymon::core::title::{Language, TitleIndex};
use tallymon::hosts::HostError;
use tallymon::log::Format as Log;
use tallymon::record::format_of;
use tallymon::remote::USUAL_TIMEOUT;
use tallymon::{Location, Query};

use super::completed;
use super::words::{Known, Takes, Words};
use crate::arguments::Form;
use crate::arguments::parse::interval;
use crate::border;
use crate::exit::{Failure, Kind};
use crate::output::Rows;
use crate::paths;
use crate::recording::{Pace, record};
use crate::stop::{Stop, Ticks};
use crate::words::note;

const USAGE: &str = "\
typeperf { COUNTER... | -cf FILE | -q [OBJECT] | -qx [OBJECT] } [OPTIONS]

  COUNTER...         counters to watch, such as '\\Processor(_Total)\\% Processor Time'
  -cf FILE           counters of a file, one a line
  -q [OBJECT]        list counters, without their instances
  -qx [OBJECT]       list counters with the instances that exist now
  -si [[HH:]MM:]SS   time between samples, one second by default
  -sc N              stop after so many samples
  -f CSV|TSV|BIN|SQL form of the output, CSV by default; BIN and SQL with -o only
  -o FILE            write into a file
  -s COMPUTER        the computer of counters that name none: one of the table of hosts
  -config FILE       read options from a file
  -y                 replace a file without asking
Options begin with - or /.";

/// What Windows says.
const NONE_VALID: &str = "Error: No valid counters.";

/// Time between samples when nobody says otherwise.
const INTERVAL: Duration = Duration::from_secs(1);

const KNOWN: &[Known] = &[
    Known { name: "cf", takes: Takes::One },
    Known { name: "config", takes: Takes::One },
    Known { name: "f", takes: Takes::One },
    Known { name: "o", takes: Takes::One },
    Known { name: "q", takes: Takes::Optional },
    Known { name: "qx", takes: Takes::Optional },
    Known { name: "s", takes: Takes::One },
    Known { name: "sc", takes: Takes::One },
    Known { name: "si", takes: Takes::One },
    Known { name: "y", takes: Takes::Nothing },
    Known { name: "?", takes: Takes::Nothing },
];

pub(super) fn run(line: &[String]) -> Result<(), Failure> {
    let words = Words::parse("typeperf", KNOWN, line)?;
    if words.has("?") {
        writeln!(border::stdout(), "{USAGE}")?;
        return Ok(());
    }
    let lists = words.has("q") || words.has("qx");
    let mut counters = if lists { Vec::new() } else { words.counters(&words.names)? };
    let location = location(&words, &mut counters)?;
    let mut query = Query::new(tallymon::open(&location)?, Language::ENGLISH)?;
    let computer = match location {
        Location::Remote { name, .. } => name,
        _ => query.system_name().to_owned(),
    };
    for (option, with_instances) in [("q", false), ("qx", true)] {
        if words.has(option) {
            let mut text = Vec::new();
            list(&mut query, words.one(option), with_instances, &mut text)?;
            match words.output()? {
                Some(file) => super::relog::save_as(file, words.has("y"), &text)?,
                None => border::data().write_all(&text)?,
            }
            completed();
            return Ok(());
        }
    }
    watch(&mut query, &words, &counters, &computer)
}

/// The one computer that is read: that of `-s`, which is put into the counters that name none if others do,
/// or that of the counters.
fn location(words: &Words, counters: &mut [String]) -> Result<Location, Failure> {
    if let Some(computer) = words.one("s") {
        let location = match Location::of_host(computer, USUAL_TIMEOUT) {
            Err(error @ HostError::Unknown(_)) if !counters.is_empty() => {
                crate::words::say(error);
                return Err(Failure::new(Kind::NotFound, NONE_VALID));
            }
            found => found?,
        };
        if counters.iter().all(|counter| !counter.starts_with(r"\\")) {
            return Ok(location);
        }
        let computer = computer.trim_start_matches('\\');
        for counter in counters.iter_mut().filter(|counter| !counter.starts_with(r"\\")) {
            *counter = format!(r"\\{computer}\{}", counter.trim_start_matches('\\'));
        }
    }
    let all = counters.iter().map(String::as_str);
    match Location::of_paths(all.clone(), USUAL_TIMEOUT) {
        // A counter of a computer that nobody knows is not valid, as one that does not exist.
        Err(HostError::Unknown(_)) => {
            let of_counter = |counter: &str| Location::of_paths([counter], USUAL_TIMEOUT);
            let known = all.filter(|counter| !matches!(of_counter(counter), Err(HostError::Unknown(_))));
            Ok(Location::of_paths(known, USUAL_TIMEOUT)?)
        }
        found => Ok(found?),
    }
}

fn watch(query: &mut Query, words: &Words, counters: &[String], computer: &str) -> Result<(), Failure> {
    if counters.is_empty() {
        return Err(Failure::new(Kind::Usage, format_args!("no counter to watch was given\n{USAGE}")));
    }
    let name = words.one("f").unwrap_or("CSV");
    let form = match name.to_ascii_uppercase().as_str() {
        "CSV" => Some(Form::Csv),
        "TSV" => Some(Form::Tsv),
        "BIN" | "SQL" => None,
        _ => {
            let words = format!("-f {name}: no such format; there are CSV, TSV, BIN and SQL");
            return Err(Failure::new(Kind::Usage, words));
        }
    };
    let every = words.parsed("si", interval)?.unwrap_or(INTERVAL);
    let number = |text: &str| match text.parse::<u64>() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(format!("{text:?} is not a number of samples")),
    };
    let most = words.parsed("sc", number)?;
    let mut invalid = Vec::new();
    for counter in counters {
        invalid.extend(paths::add(query, counter).err());
    }
    let none = invalid.len() == counters.len();
    // With a valid counter it goes on, and its exit code says at the end that others were not.
    let bad = paths::rest_of(invalid, !none).map_err(|failure| {
        failure.message.into_iter().for_each(crate::words::say);
        Failure::new(Kind::NotFound, NONE_VALID)
    })?;
    let log_form = match form {
        Some(Form::Tsv) => Log::Tsv,
        Some(_) => Log::Csv,
        None => Log::Blg,
    };
    match (words.output()?, form) {
        (Some(output), _) => {
            let overwrite = super::relog::may_replace(output, words.has("y"))?;
            let format = format_of(Some(name), output, log_form)?;
            record(query, (output, overwrite), format, Pace { interval: every, most }, false)?;
        }
        (None, Some(form)) => console(query, computer, form, Pace { interval: every, most })?,
        (None, None) => {
            return Err(Failure::new(Kind::Usage, format_args!("-f {name}: say with -o into which file")));
        }
    }
    note(format_args!("Exiting, please wait...                         "));
    if let Some(bad) = bad {
        return Err(bad);
    }
    completed();
    Ok(())
}

/// Writes rows to the console. Unlike a file it begins with the second sample, so that every row has rates.
fn console(
    query: &mut Query,
    computer: &str,
    form: Form,
    Pace { interval, most }: Pace,
) -> Result<(), Failure> {
    let mut rows = Rows::new(border::rows(form), form, computer, true).for_console();
    note("");
    let stop = Stop::on_signals()?;
    let mut ticks = Ticks::start(interval);
    query.collect()?;
    let mut done = 0u64;
    while most.is_none_or(|most| done < most) && stop.wait_until(ticks.next()) {
        let time = query.collect()?;
        rows.row(time, &*query)?;
        done = done.saturating_add(1);
    }
    Ok(())
}

/// Lists the counters of one object or of all, as paths.
fn list(
    query: &mut Query,
    wanted: Option<&str>,
    with_instances: bool,
    mut out: impl Write,
) -> Result<(), Failure> {
    let objects: Vec<TitleIndex> = match wanted {
        Some(wanted) => vec![query.object(wanted, &Part::parse(wanted.trim_matches('\\')))?],
        None => {
            query.define_registered()?;
            query.catalog().objects().iter().map(|object| object.name).collect()
        }
    };
    for object in objects {
        let Some(found) = query.catalog().object(object) else { continue };
        let has_instances = found.has_instances;
        let counters: Vec<String> =
            found.visible_counters().map(|counter| query.names().english(counter.name)).collect();
        let name = query.names().english(object);
        let instances: Vec<String> = if !has_instances {
            vec![String::new()]
        } else if with_instances {
            query.instances(object)?.iter().map(|key| format!("({key})")).collect()
        } else {
            vec!["(*)".to_owned()]
        };
        for instance in &instances {
            for counter in &counters {
                writeln!(out, "\\{name}{instance}\\{counter}")?;
            }
        }
    }
    Ok(out.flush()?)
}
