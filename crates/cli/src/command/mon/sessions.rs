//! The recording sessions of `tally log`, as the monitor lists, starts and stops them.

use std::fs;
use std::path::PathBuf;

use tallymon_monitor::sessions::{Session, SessionState, Sessions};

use crate::arguments::Common;
use crate::exit::Failure;
use crate::session::control;
use crate::session::run::segments;
use crate::session::settings::Settings;
use crate::session::store::{Doing, Store};

/// The sessions of this user, or of the system.
pub(super) struct Kept {
    pub(super) common: Common,
    pub(super) store: Store,
}

impl Kept {
    fn session(&self, settings: Settings) -> Session {
        let status = self.store.status(&settings.name);
        let logs = segments(&settings);
        let bytes = logs.iter().filter_map(|(_, path)| fs::metadata(path).ok()).map(|file| file.len());
        Session {
            state: match self.store.doing(&settings.name) {
                Doing::Recording => SessionState::Recording,
                Doing::Waiting => SessionState::Waiting,
                Doing::Stopped => SessionState::Stopped,
                Doing::Killed => SessionState::Killed,
            },
            interval: settings.interval,
            bytes: bytes.sum(),
            logs: logs.len(),
            records: status.records,
            last: status.last,
            errors: status.errors,
            last_error: status.last_error,
            name: settings.name,
            counters: settings.counters,
            folder: settings.folder,
        }
    }
}

impl Sessions for Kept {
    fn list(&self) -> Result<Vec<Session>, String> {
        let names = self.store.names().map_err(words)?;
        let session = |name: String| match self.store.read(&name) {
            Ok(settings) => self.session(settings),
            // The others are no worse for it.
            Err(failure) => Session {
                last_error: Some(words(failure)),
                errors: 1,
                ..self.session(Settings::new(&name, PathBuf::new()))
            },
        };
        Ok(names.into_iter().map(session).collect())
    }

    fn start(&self, name: &str) -> Result<(), String> {
        let settings = self.store.read(name).map_err(words)?;
        control::start(&self.common, &self.store, &settings).map_err(words)
    }

    fn stop(&self, name: &str) -> Result<(), String> {
        control::stop(&self.store, name).map(drop).map_err(words)
    }

    fn logs(&self, name: &str) -> Result<Vec<PathBuf>, String> {
        let settings = self.store.read(name).map_err(words)?;
        control::logs(&self.store, &settings).map_err(words)
    }
}

fn words(failure: Failure) -> String {
    failure.message.unwrap_or_default()
}
