//! Recording sessions as the command runs them: the library records, this starts processes and units of
//! systemd.
//!
//! | module | holds |
//! |---|---|
//! | `detach` | leaving the terminal, as each system does it |
//! | `unit` | starting a session with the machine |

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tallymon::log::Report;
use tallymon::record::session::{self, SessionError, SessionSettings, SessionStore};
use tallymon::{Query, TierChoice, open};

use crate::arguments::Common;
use crate::exit::{Failure, Kind};
use crate::paths;
use crate::progress::Progress;
use crate::stop::{Stop, without_half};

#[cfg_attr(unix, path = "detach/unix.rs")]
#[cfg_attr(not(unix), path = "detach/other.rs")]
pub(crate) mod detach;
mod unit;

/// The query of a session, with its counters.
fn query(common: &Common, settings: &SessionSettings) -> Result<Query, Failure> {
    let mut query = paths::query(common)?;
    if !settings.all_objects {
        paths::add_all(&mut query, &settings.counters)?;
    }
    Ok(query)
}

/// Bytes that an hour of a session takes at most. It fails where a counter does not exist.
pub(crate) fn bytes_an_hour(common: &Common, settings: &SessionSettings) -> Result<f64, Failure> {
    Ok(settings.bytes_an_hour(&mut query(common, settings)?)?)
}

/// Records a session in this process.
pub(crate) fn record(common: &Common, store: &SessionStore, name: &str) -> Result<(), Failure> {
    let stop = Stop::on_signals()?;
    let language = paths::language(common)?;
    let location = paths::location(common);
    let open = |settings: &SessionSettings| -> Result<Query, SessionError> {
        let mut query = Query::new(open(&location)?, language)?;
        if !settings.all_objects {
            for path in &settings.counters {
                paths::try_add(&mut query, path)?;
            }
        }
        Ok(query)
    };
    Ok(session::record(store, name, open, |time| stop.wait_until(time))?)
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
    command.args(["log", "run", "--detached", &settings.name]);
    Ok(store.start(settings, command)?)
}

/// Keeps the settings of a session, and has it started with the machine or not.
pub(crate) fn keep(store: &SessionStore, settings: &SessionSettings) -> Result<(), Failure> {
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
) -> Result<(PathBuf, Report), Failure> {
    let copy = store.copy(name, output, last)?;
    without_half(copy.output())?;
    let report = copy.make(|logs| Progress::of(&copy.reading().bytes_read, logs, 2))?;
    Ok((copy.output().to_path_buf(), report))
}
