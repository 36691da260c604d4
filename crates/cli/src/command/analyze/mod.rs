//! `tally analyze`: says what is wrong in performance logs. `tally why`: one moment of a log in words.

pub(crate) mod arguments;
mod json;
mod text;

use std::io::{self, Write};
use std::path::PathBuf;

use tallymon::analyze::{self, Analysis, RuleSet};
use tallymon::clock::parse_log_time;
use tallymon::core::time::FileTime;
use tallymon::log::zone::add_minutes;
use tallymon::log::{LogClock, Moment, Notes, ReadOptions, Selection};

use super::relog::{LOG_TIMES, ended, reading, say_damage, say_not_found, selection};
use crate::arguments::Common;
use crate::border;
use crate::exit::{Failure, Kind};
use crate::progress::Progress;
use arguments::{Analyze, RuleChoice, Why};

pub(crate) fn run(_common: &Common, arguments: &Analyze) -> Result<(), Failure> {
    let rules = rules(&arguments.rules)?;
    let options = ReadOptions { cap: arguments.choice.cap, ..reading(&arguments.reading)? };
    let progress = Progress::of(&options.bytes_read, &arguments.logs, 1);
    let found = analyze::analyze(&arguments.logs, rules, &selection(&arguments.choice)?, &options)?;
    drop(progress);
    if found.records == 0 {
        return Err(Failure::new(Kind::NoData, "the logs have no record in this time"));
    }
    let mut out = border::stdout();
    if arguments.json {
        writeln!(out, "{}", border::json(&json::analysis(&found)))?;
    } else if arguments.markdown {
        text::markdown(&mut out, &found, arguments.top)?;
    } else {
        text::print(&mut out, &found, arguments.top, arguments.verbose)?;
    }
    say_not_found(&found.not_found);
    let damaged = say_faults(&found.notes)?;
    let is_bad = |least: arguments::Least| worst(&found) >= Some(least.severity());
    if !damaged && arguments.fail_on.is_some_and(is_bad) {
        return Err(Failure::silent(Kind::Findings));
    }
    ended(damaged, &found.not_found)
}

/// `tally why`.
pub(crate) fn why(_common: &Common, arguments: &Why) -> Result<(), Failure> {
    let options = reading(&arguments.reading)?;
    let clock = LogClock::of(&arguments.logs, &options)?;
    let moment = moment(&arguments.time, &clock)?;
    let found = analyze::why(&arguments.logs, built_in()?, moment, &Selection::default(), &options)?;
    let Some(found) = found else {
        let words =
            format!("the logs have no record at {}; they have {}", clock.text(moment), clock.range_text());
        return Err(Failure::new(Kind::NoData, words));
    };
    let mut out = border::stdout();
    if arguments.json {
        writeln!(out, "{}", border::json(&json::moment(&found)))?;
    } else {
        text::moment(&mut out, &found, &clock)?;
    }
    Ok(())
}

fn worst(found: &Analysis) -> Option<analyze::Severity> {
    found.findings.iter().map(|finding| finding.severity).max()
}

fn built_in() -> Result<RuleSet, Failure> {
    RuleSet::built_in().map_err(|error| Failure::new(Kind::Other, error))
}

fn rules(choice: &RuleChoice) -> Result<RuleSet, Failure> {
    let mut rules = if choice.only_rules { RuleSet::default() } else { built_in()? };
    for path in &choice.rules {
        rules.add(path).map_err(|error| Failure::new(Kind::BadFile, error))?;
    }
    for pair in &choice.set {
        let usage = |words: String| Failure::new(Kind::Usage, format_args!("--set {pair:?}: {words}"));
        let (name, value) = pair.split_once('=').ok_or_else(|| usage("write it as NAME=VALUE".to_owned()))?;
        let value: f64 = value.parse().map_err(|_| usage(format!("{value:?} is no number")))?;
        rules.set(name, value).map_err(usage)?;
    }
    Ok(rules)
}

/// Says the faults of the logs on standard error; whether there is damage.
fn say_faults(notes: &[(PathBuf, Notes)]) -> io::Result<bool> {
    for (path, notes) in notes {
        say_damage(path, notes)?;
    }
    Ok(notes.iter().any(|(_, notes)| notes.damage_count > 0))
}

/// The time that is asked for, by the logs' own clock. A time of day is the last one in the logs.
fn moment(text: &str, clock: &LogClock) -> Result<FileTime, Failure> {
    const DAY_MINUTES: i32 = 24 * 60;
    let Some((_, last)) = clock.range() else {
        return Err(Failure::new(Kind::NoData, "the logs have no record"));
    };
    let on_day_of = |local: FileTime| {
        let day = local.system_time();
        let whole = format!("{:04}-{:02}-{:02} {}", day.year, day.month, day.day, text.trim());
        Some(clock.moment(parse_log_time(&whole)?, Moment::Last))
    };
    if let Some(time) = parse_log_time(text) {
        return Ok(clock.moment(time, Moment::Last));
    }
    let today = add_minutes(last, clock.minutes(last));
    let found = on_day_of(today);
    let found = match found {
        Some(time) if time > last => on_day_of(add_minutes(today, -DAY_MINUTES)),
        _ => found,
    };
    found.ok_or_else(|| {
        let words = format!("no time {text:?}: write 12:10, or {LOG_TIMES}");
        Failure::new(Kind::Usage, words)
    })
}
