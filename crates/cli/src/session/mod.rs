//! Recording sessions as the command runs them: the library records, this starts processes and units of
//! systemd.
//!
//! | module | holds |
//! |---|---|
//! | `detach` | leaving the terminal, as each system does it |
//! | `act`, `export` | what an alert does; samples that are sent |
//! | `webhook`, `syslog` | posts alerts to an address, sends them to the log of the system |
//! | `collector_set` | data collector sets of Windows, read and written |
//! | `hosts` | other machines in a session |
//! | `service` | the service of Windows that records sessions |
//! | `stored` | the sessions as the monitor and the page have them |
//! | `unit` | starting a session with the machine |

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tallymon::core::flow::NoValue;
use tallymon::log::Report;
use tallymon::log::new_file::Overwrite;
use tallymon::record::session::{self, SessionError, SessionQuery, SessionSettings, SessionStore};
use tallymon::{CounterValue, Locale, PathError, PathProblem, Query, TierChoice, open};

use self::act::Actions;
use crate::arguments::Common;
use crate::exit::{Failure, Kind};
use crate::open_files;
use crate::paths;
use crate::progress::Progress;
use crate::stop::{Stop, without_half_files};
use crate::words::say;

mod act;
mod alert_text;
pub(crate) mod collector_set;
#[cfg_attr(unix, path = "detach/unix.rs")]
#[cfg_attr(not(unix), path = "detach/windows.rs")]
pub(crate) mod detach;
pub(crate) mod export;
pub(crate) mod hosts;
pub(crate) mod service;
pub(crate) mod stored;
#[cfg_attr(unix, path = "syslog.rs")]
#[cfg_attr(not(unix), path = "syslog_absent.rs")]
mod syslog;
#[cfg_attr(windows, path = "unit/windows.rs")]
#[cfg_attr(not(windows), path = "unit/systemd.rs")]
mod unit;
pub(crate) mod webhook;

/// The query of a session, with its counters. Counters whose provider does not answer are named, and those
/// that are missing are counted by the reason; the session records them as soon as they are here.
fn query(common: &Common, settings: &SessionSettings) -> Result<Query, Failure> {
    let locale = Locale { instances: settings.instances, ..paths::locale(common)? };
    let mut query = Query::new(open(&paths::location(common)?)?, locale)?;
    if settings.all_objects {
        return Ok(query);
    }
    let mut reasons: Vec<(String, usize)> = Vec::new();
    let missing = add_counters(&mut query, settings, |error| {
        if matches!(error.problem, PathProblem::NotAnswering(_)) {
            say(format_args!("{error}; the session records this counter as soon as its provider answers"));
            return;
        }
        let reason = error.problem_words();
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => reasons.push((reason, 1)),
        }
    })?;
    for (reason, count) in &reasons {
        say(format_args!("{reason} ({count} of {} counters)", settings.counters.len()));
    }
    if missing > 0 {
        if missing == settings.counters.len() {
            return Err(Failure::new(Kind::NotFound, "none of the counters of this session is here"));
        }
        say("the session records the other counters, and these as soon as they are here");
    }
    Ok(query)
}

/// Adds the counters of a session, and returns how many are missing, if the session may begin without them.
/// Those whose provider does not answer wait in the query.
fn add_counters(
    query: &mut Query,
    settings: &SessionSettings,
    mut waits: impl FnMut(&PathError),
) -> Result<usize, PathError> {
    let mut missing = 0usize;
    for path in &settings.counters {
        match paths::try_add(query, path) {
            Err(error) if matches!(error.problem, PathProblem::NotAnswering(_)) => waits(&error),
            Err(error) if settings.await_missing && !matches!(error.problem, PathProblem::Source(_)) => {
                missing = missing.saturating_add(1);
                waits(&error);
            }
            added => drop(added?),
        }
    }
    Ok(missing)
}

/// Names the counters of a session that are not here. It fails where the session cannot begin without one.
pub(crate) fn say_missing(common: &Common, settings: &SessionSettings) -> Result<(), Failure> {
    query(common, settings).map(drop)
}

/// Fails where a counter of a session or of its alerts does not exist, or the session that an alert starts.
/// It names the counters that are not here yet.
///
/// Returns the bytes of an hour of records.
pub(crate) fn check_counters(common: &Common, settings: &SessionSettings) -> Result<f64, Failure> {
    check_limits(common, settings)?;
    bytes_an_hour(common, settings, say_later)
}

/// The bytes of an hour of records. `met` gets the query after its first sample.
///
/// # Errors
///
/// A counter does not exist, or a source does not answer.
pub(crate) fn bytes_an_hour(
    common: &Common,
    settings: &SessionSettings,
    met: impl FnOnce(&Query),
) -> Result<f64, Failure> {
    if !settings.takes_samples() {
        return Ok(0.0);
    }
    let of_hosts = hosts::check(common, settings)?;
    if !settings.samples_this_machine() {
        return Ok(of_hosts);
    }
    let mut query = query(common, settings)?;
    if !settings.all_objects {
        query.collect()?;
        met(&query);
    }
    Ok(if settings.records() { settings.bytes_an_hour(&mut query)? + of_hosts } else { 0.0 })
}

/// Names the instances that are not here yet.
fn say_later(query: &Query) {
    let is_later = |value: &CounterValue<'_>| matches!(value.cell.value, Err(NoValue::NoInstance));
    let later = query.readings_if(is_later);
    for reading in later.iter().take(NAMED) {
        let words = "no such instance yet; the session records it as soon as it appears";
        say(format_args!("{}: {words}", reading.path));
    }
    if let Some(more) = later.len().checked_sub(NAMED).filter(|more| *more > 0) {
        say(format_args!("and {more} more counters of instances that are not here yet"));
    }
}

/// Fails where the counter of a limit does not exist, or the session that an alert starts, or where a webhook
/// cannot be used.
fn check_limits(common: &Common, settings: &SessionSettings) -> Result<(), Failure> {
    if settings.alerts.is_empty() {
        return Ok(());
    }
    if let Some(name) = &settings.alerts.start {
        SessionStore::of_environment()?.read(name)?;
    }
    webhook::endpoint(&settings.alerts)?;
    let mut query = paths::query(common)?;
    for limit in &settings.alerts.limits {
        match paths::try_add(&mut query, &limit.path) {
            Err(error) if !matches!(error.problem, PathProblem::NotAnswering(_)) => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}

/// How many instances that are not here yet are named.
const NAMED: usize = 5;

/// Records a session in this process.
pub(crate) fn record(common: &Common, store: &SessionStore, name: &str) -> Result<(), Failure> {
    let stop = Stop::on_signals()?;
    let locale = paths::locale(common)?;
    let location = paths::location(common)?;
    let host = RefCell::new(String::new());
    let open = |settings: &SessionSettings| -> Result<SessionQuery, SessionError> {
        if settings.hosts.len() > 1 {
            open_files::allow_many();
        }
        let locale = Locale { instances: settings.instances, ..locale };
        let mut query = Query::new(open(&location)?, locale)?;
        query.system_name().clone_into(&mut host.borrow_mut());
        let missing = match settings.all_objects {
            true => 0,
            false => add_counters(&mut query, settings, |_| {})?,
        };
        Ok(SessionQuery { query, missing })
    };
    let actions = Actions::new(common, store, &host);
    Ok(session::record(store, name, open, actions, |time| stop.wait_until(time))?)
}

/// Starts the recorder of a session, and waits until it records or waits for its begin.
pub(crate) fn start(
    common: &Common,
    store: &SessionStore,
    settings: &SessionSettings,
) -> Result<(), Failure> {
    if settings.at_boot && unit::can_start(store) {
        return store.start_by(settings, || unit::start(store, &settings.name));
    }
    let mut command = program(common)?;
    command.args(["log", "run", "--detached", &settings.name]);
    detach::start_apart(&mut command);
    Ok(store.start(settings, command)?)
}

/// This program, with the options that say how it reads the machine.
pub(crate) fn program(common: &Common) -> Result<Command, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::new(Kind::Other, format_args!("this program is not found: {error}")))?;
    let mut command = Command::new(program);
    if let Some(tier) = common.tier {
        let word = match tier {
            TierChoice::Auto => "auto".to_owned(),
            TierChoice::Only(tier) => tier.to_string(),
        };
        command.args(["--tier", &word]);
    }
    if let Some(profile) = common.profile {
        command.args(["--profile", &profile.to_string()]);
    }
    Ok(command)
}

/// Keeps the settings of a session, and has it started with the machine or not.
pub(crate) fn keep(store: &SessionStore, settings: &SessionSettings) -> Result<(), Failure> {
    if settings.at_boot {
        unit::check(store)?;
    }
    store.write(settings)?;
    if settings.at_boot { unit::install(store, &settings.name) } else { unit::remove(store, &settings.name) }
}

/// Forgets a session that is not recording. Its logs stay.
pub(crate) fn delete(store: &SessionStore, name: &str) -> Result<SessionSettings, Failure> {
    let settings = store.read(name)?;
    if store.is_running(name) {
        let words = format!("session {name:?} is recording; 'tally log stop' ends that");
        return Err(Failure::new(Kind::Other, words));
    }
    unit::remove(store, name)?;
    store.delete(name)?;
    Ok(settings)
}

/// Copies what a session has, or the last of it, into one log that stays.
pub(crate) fn snapshot(
    store: &SessionStore,
    name: &str,
    output: Option<&Path>,
    last: Option<Duration>,
    overwrite: Overwrite,
) -> Result<(PathBuf, Report), Failure> {
    let copy = store.copy(name, output, last, overwrite)?;
    without_half_files()?;
    let report = copy.make(|logs| Progress::of(&copy.reading().bytes_read, logs, 2))?;
    Ok((copy.output().to_path_buf(), report))
}
