//! What people do with sessions: start, stop, change, keep what just happened.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tallymon::TierChoice;
use tallymon::clock::now;
use tallymon::core::time::{FileTime, UNITS_PER_SECOND};
use tallymon::log::relog::{Options, relog};
use tallymon::log::{Format, Report, Selection};
use tallymon::record::{estimate, while_recording};

use super::run::segments;
use super::settings::Settings;
use super::store::{Ask, Store};
use super::unit;
use crate::arguments::Common;
use crate::exit::{Failure, Kind};
use crate::paths;
use crate::progress::Progress;
use crate::stop::without_half;

/// How long a recording process may take to begin.
const BEGINNING: Duration = Duration::from_secs(20);

/// How long it may take to end: it makes logs of other formats then.
const ENDING: Duration = Duration::from_secs(600);

/// Bytes that an hour of a session takes at most, by two samples. It fails where a counter does not exist.
pub(crate) fn bytes_an_hour(common: &Common, settings: &Settings) -> Result<f64, Failure> {
    let mut query = paths::query(common)?;
    if !settings.all_objects {
        paths::add_all(&mut query, &settings.counters)?;
    }
    let mut samples = Vec::new();
    for nth in 0..2 {
        if nth > 0 {
            thread::sleep(settings.interval.min(Duration::from_millis(500)));
        }
        if settings.all_objects {
            query.collect_everything()?
        } else {
            query.collect()?
        };
        samples.extend(query.snapshot().cloned());
    }
    let [first, second] = samples.as_slice() else { return Ok(0.0) };
    Ok(estimate(&query, [first, second], 3600.0 / settings.interval.as_secs_f64())?)
}

/// Starts the recording process of a session, and waits until it records or waits for its time.
pub(crate) fn start(common: &Common, store: &Store, settings: &Settings) -> Result<(), Failure> {
    let name = &settings.name;
    if store.is_running(name) {
        return Err(Failure::new(Kind::Other, format_args!("session {name:?} is recording already")));
    }
    if settings.is_over(now()) {
        return Err(Failure::new(Kind::Usage, format_args!("session {name:?} has ended: --end is over")));
    }
    if settings.at_boot && unit::start(store, name)? {
        return wait_for(store, name, || Ok(None));
    }
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
    command.args(["log", "run", "--detached", name]);
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child =
        spawned.map_err(|error| Failure::new(Kind::Other, format_args!("starting the recorder: {error}")))?;
    let id = child.id();
    let begun = wait_for(store, name, || match child.try_wait() {
        Ok(Some(_)) => {
            let said = store.status(name);
            let words = said.last_error.filter(|_| said.process == id);
            // A session that had nothing to do any more has ended well.
            Ok(words.map(|words| Failure::new(Kind::Other, format_args!("session {name:?}: {words}"))))
        }
        Ok(None) => Err(()),
        Err(error) => Ok(Some(Failure::new(Kind::Other, format_args!("the recorder: {error}")))),
    });
    // Whoever stays, as the monitor does, is its parent until it ends.
    let _ = thread::Builder::new().spawn(move || child.wait());
    begun
}

/// Waits until a session has begun. `ended` says that its process has ended, and whether that is a failure.
fn wait_for(
    store: &Store,
    name: &str,
    mut ended: impl FnMut() -> Result<Option<Failure>, ()>,
) -> Result<(), Failure> {
    let begin = Instant::now();
    let earlier =
        store.read(name).ok().and_then(|settings| settings.begin).is_some_and(|begin| begin > now());
    loop {
        if let Ok(failure) = ended() {
            return failure.map_or(Ok(()), Err);
        }
        let status = store.status(name);
        if store.is_running(name) && !status.ended && (status.records > 0 || earlier || status.errors > 0) {
            return match status.last_error {
                Some(words) => Err(Failure::new(Kind::Other, format_args!("session {name:?}: {words}"))),
                None => Ok(()),
            };
        }
        if begin.elapsed() > BEGINNING {
            return Err(Failure::new(Kind::Unreachable, format_args!("session {name:?} does not begin")));
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Stops a session and waits until its logs are complete; `false` when it was not recording.
pub(crate) fn stop(store: &Store, name: &str) -> Result<bool, Failure> {
    store.read(name)?;
    if !store.is_running(name) {
        return Ok(false);
    }
    store.ask(name, Ask::Stop, ENDING).map(|()| true)
}

/// Keeps the settings of a session, and has it started with the machine or not.
pub(crate) fn keep(store: &Store, settings: &Settings) -> Result<(), Failure> {
    store.write(settings)?;
    if settings.at_boot { unit::install(store, &settings.name) } else { unit::remove(store, &settings.name) }
}

/// Forgets a session that is not recording. Its logs stay.
pub(crate) fn delete(store: &Store, name: &str) -> Result<Settings, Failure> {
    let settings = store.read(name)?;
    if store.is_running(name) {
        let words = format!("session {name:?} is recording; 'tally log stop' ends that");
        return Err(Failure::new(Kind::Other, words));
    }
    unit::remove(store, name)?;
    store.remove(name)?;
    Ok(settings)
}

/// Copies what a session has, or the last of it, into one log that stays.
pub(crate) fn snapshot(
    store: &Store,
    name: &str,
    output: Option<&Path>,
    last: Option<Duration>,
) -> Result<(PathBuf, Report), Failure> {
    let settings = store.read(name)?;
    is_read(&settings)?;
    let time = now();
    let from = last.map(|last| {
        let units = last.as_secs_f64() * UNITS_PER_SECOND as f64;
        FileTime(time.0.saturating_sub(units as u64))
    });
    let output = output.map_or_else(
        || {
            let stamp = crate::output::timestamp(time).strftime("%Y%m%d-%H%M%S").to_string();
            settings.folder.join(format!("{name}-{stamp}.{}", settings.format.info().extension))
        },
        Path::to_path_buf,
    );
    let format = tallymon::record::format_of(None, &output, Format::Tally)?;
    let select = Selection { from, ..Selection::default() };
    let options = Options { format, select, ..Options::default() };
    without_half(&output)?;
    for last_try in [false, true] {
        if store.is_running(name) {
            store.ask(name, Ask::Flush, BEGINNING)?;
        }
        let inputs = inputs(&settings);
        let _progress = Progress::of(&options.read.bytes_read, &inputs, 2);
        match relog(&inputs, &output, &options) {
            Ok(report) => return Ok((output, report)),
            // A ring may have dropped its oldest log meanwhile, or a recording has become a log.
            Err(error) if last_try => return Err(error.into()),
            Err(_) => {}
        }
    }
    Err(Failure::new(Kind::NoData, format_args!("session {name:?} has no logs")))
}

/// The logs of a session, with everything in them that was recorded so far.
pub(crate) fn logs(store: &Store, settings: &Settings) -> Result<Vec<PathBuf>, Failure> {
    is_read(settings)?;
    if store.is_running(&settings.name) {
        store.ask(&settings.name, Ask::Flush, BEGINNING)?;
    }
    Ok(inputs(settings))
}

fn is_read(settings: &Settings) -> Result<(), Failure> {
    let format = settings.format.info();
    if format.reads {
        return Ok(());
    }
    let words = format!("logs of {} are not read here: record in another format", format.name);
    Err(Failure::new(Kind::Usage, words))
}

/// The logs of a session, each once: a log that is there is complete.
fn inputs(settings: &Settings) -> Vec<PathBuf> {
    let mut inputs: Vec<PathBuf> = Vec::new();
    let mut numbers: Vec<u32> = segments(settings).iter().map(|(number, _)| *number).collect();
    numbers.dedup();
    for number in numbers {
        let log = settings.segment(number);
        let recording = while_recording(&log, settings.format);
        inputs.push(if log.exists() { log } else { recording });
    }
    inputs
}
