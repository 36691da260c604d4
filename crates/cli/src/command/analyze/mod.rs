//! `tally analyze`: says what is wrong in performance logs. `tally why`: one moment of a log in words.

pub(crate) mod against;
pub(crate) mod arguments;
mod json;
pub(crate) mod text;

use std::io::{self, Write};
use std::path::PathBuf;

use tallymon::analyze::{self, Analysis, RuleSet, Severity};
use tallymon::clock::parse_log_time;
use tallymon::core::time::FileTime;
use tallymon::log::zone::add_minutes;
use tallymon::log::{LogClock, LogTime, Moment, Notes, ReadOptions, Selection};
use tallymon::record::session::{SessionSettings, SessionStore};

use super::relog::{LOG_TIMES, ended, reading, say_damage, say_not_found, selection};
use crate::arguments::Common;
use crate::border;
use crate::exit::{Failure, Kind};
use crate::paths;
use crate::progress::Progress;
use crate::words::{say, visible};
use arguments::{Analyze, RuleChoice, Why};
use text::Tongue;

pub(crate) fn run(common: &Common, arguments: &Analyze) -> Result<(), Failure> {
    let tongue = Tongue::of(paths::locale(common)?.language);
    let rules = rules(&arguments.rules)?;
    let logs = logs_of(&arguments.logs, arguments.session.as_deref())?;
    let options = ReadOptions { cap: arguments.choice.cap, ..reading(&arguments.reading)? };
    let mut selection = selection(&arguments.choice)?;
    if let Some(last) = arguments.last {
        let units = u64::try_from(last.as_nanos() / 100).unwrap_or(u64::MAX);
        selection.from = Some(LogTime::BeforeEnd(units));
    }
    if !arguments.against.is_empty() {
        return compared(arguments, tongue, (&logs, &rules), &selection, &options);
    }
    let progress = Progress::of(&options.bytes_read, &logs, 1);
    let found = analyze::analyze(&logs, rules, &selection, &options)?;
    drop(progress);
    if found.records == 0 {
        return Err(Failure::new(Kind::NoData, "the logs have no record in this time"));
    }
    let mut out = border::stdout();
    if arguments.json {
        writeln!(out, "{}", border::json(&json::analysis(&found)))?;
    } else if arguments.markdown {
        text::markdown(&mut out, &found, arguments.top, tongue)?;
    } else {
        text::print(&mut out, &found, (arguments.top, arguments.verbose), tongue)?;
    }
    say_not_found(&found.not_found);
    if let Some((before, after)) = &found.before_and_after {
        let [before, after] = [before, after].map(|path| visible(&path.to_string_lossy()).into_owned());
        say(format!("the logs were read as one; to compare them: tally analyze {after} --against {before}"));
    }
    let damaged = say_faults(&found.notes)?;
    judged(arguments, worst(&found), damaged)?;
    ended(damaged, &found.not_found)
}

/// Compares the logs with those from before.
fn compared(
    arguments: &Analyze,
    tongue: Tongue,
    (logs, rules): (&[PathBuf], &RuleSet),
    selection: &Selection,
    options: &ReadOptions,
) -> Result<(), Failure> {
    let all: Vec<&PathBuf> = arguments.against.iter().chain(logs).collect();
    let progress = Progress::of(&options.bytes_read, &all, 1);
    let found = analyze::against(&arguments.against, logs, rules, selection, options)?;
    drop(progress);
    if found.before.records == 0 || found.after.records == 0 {
        return Err(Failure::new(Kind::NoData, "one of the logs has no record in this time"));
    }
    let mut out = border::stdout();
    if arguments.json {
        writeln!(out, "{}", border::json(&against::as_json(&found)))?;
    } else if arguments.markdown {
        let sides = (arguments.against.as_slice(), logs);
        against::markdown(&mut out, &found, sides, (arguments.top, tongue))?;
    } else {
        against::print(&mut out, &found, (arguments.top, arguments.verbose), tongue)?;
    }
    let missing = |path: &&String| found.before.not_found.contains(path);
    let not_found: Vec<String> = found.after.not_found.iter().filter(missing).cloned().collect();
    say_not_found(&not_found);
    let damaged = say_faults(&found.before.notes)? | say_faults(&found.after.notes)?;
    judged(arguments, found.worst(), damaged)?;
    ended(damaged, &not_found)
}

/// Fails if something is as bad as `--fail-on` says. Damage has an exit code of its own.
fn judged(arguments: &Analyze, worst: Option<Severity>, damaged: bool) -> Result<(), Failure> {
    let is_bad = |least: arguments::Least| worst >= Some(least.severity());
    if !damaged && arguments.fail_on.is_some_and(is_bad) {
        return Err(Failure::silent(Kind::Findings));
    }
    Ok(())
}

/// What stands for the logs of the session that records now.
const LIVE: &str = "live";

/// The logs to look at: the given ones, else those of a session; by default of the one that records now.
pub(crate) fn logs_of(logs: &[PathBuf], session: Option<&str>) -> Result<Vec<PathBuf>, Failure> {
    // A file of that name is meant before anything else.
    let is_live = matches!(logs, [one] if one.as_os_str() == LIVE && !one.exists());
    if !logs.is_empty() && !is_live {
        return Ok(logs.to_vec());
    }
    let store = SessionStore::of_environment()?;
    let settings = match session {
        Some(name) => store.read(name)?,
        None => recording(&store)?,
    };
    let logs = store.logs(&settings)?;
    if logs.is_empty() {
        return Err(Failure::new(Kind::NoData, format_args!("session {:?} has no logs", settings.name)));
    }
    Ok(logs)
}

/// The session that records now.
fn recording(store: &SessionStore) -> Result<SessionSettings, Failure> {
    let mut found = Vec::new();
    for name in store.names()?.into_iter().filter(|name| store.is_running(name)) {
        found.extend(store.read(&name).ok().filter(SessionSettings::records));
    }
    let names: Vec<&str> = found.iter().map(|settings| settings.name.as_str()).collect();
    let words = match names.as_slice() {
        [] => "no log is named and no session records; name a log, or start a session with 'tally log start'"
            .to_owned(),
        [_] => String::new(),
        several => format!("several sessions record: {}; choose one with --session", several.join(", ")),
    };
    match found.pop() {
        Some(settings) if words.is_empty() => Ok(settings),
        _ => Err(Failure::new(Kind::Usage, words)),
    }
}

/// `tally why`.
pub(crate) fn why(common: &Common, arguments: &Why) -> Result<(), Failure> {
    let tongue = Tongue::of(paths::locale(common)?.language);
    let options = reading(&arguments.reading)?;
    let logs = logs_of(&arguments.logs, arguments.session.as_deref())?;
    let clock = LogClock::of(&logs, &options)?;
    let moment = moment(&arguments.time, &clock)?;
    let found = analyze::why(&logs, built_in()?, moment, &Selection::default(), &options)?;
    let Some(found) = found else {
        let words =
            format!("the logs have no record at {}; they have {}", clock.text(moment), clock.range_text());
        return Err(Failure::new(Kind::NoData, words));
    };
    let mut out = border::stdout();
    if arguments.json {
        writeln!(out, "{}", border::json(&json::moment(&found)))?;
    } else {
        text::moment(&mut out, &found, &clock, tongue)?;
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
        let value: f64 = value.parse().map_err(|_| usage(format!("{value:?} is not a number")))?;
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
pub(crate) fn moment(text: &str, clock: &LogClock) -> Result<FileTime, Failure> {
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
