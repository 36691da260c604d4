//! How long the collections of each provider took in a log: read once for each host, and kept with the log.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tallymon::core::flow::{SourceError, SourceErrorKind};
use tallymon::{Locale, Log, Query};

use crate::model::{CollectTimes, LogTimes, PROVIDERS_PATH};
use crate::term::task::Task;

/// What is known of each host, by its name.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProviderTimes(Arc<Mutex<HashMap<String, CollectTimes>>>);

/// Those of a host that are being read. Dropping this ends the thread at the next record.
pub(crate) type Reading = Task<Result<CollectTimes, SourceError>>;

impl ProviderTimes {
    fn known(&self) -> MutexGuard<'_, HashMap<String, CollectTimes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those of the host of a log, if they are known.
    pub(crate) fn of(&self, log: &Log) -> Option<CollectTimes> {
        self.known().get(log.host()).cloned()
    }

    /// Reads a log for those of its host on a thread. They are kept unless nobody waits for them any more.
    ///
    /// # Errors
    ///
    /// The system has no more threads.
    pub(crate) fn read(&self, log: Log, locale: Locale) -> std::io::Result<Reading> {
        let kept = self.clone();
        Task::begin_while(move |is_wanted| {
            let mut query = Query::new(Box::new(log.source()), locale)?;
            query
                .add(PROVIDERS_PATH)
                .map_err(|error| SourceError::new(SourceErrorKind::BadData, error.to_string()))?;
            query.collect()?;
            let found = LogTimes::of(&log, &query).read(&log, is_wanted)?;
            if is_wanted() {
                kept.known().insert(log.host().to_owned(), found.clone());
            }
            Ok(found)
        })
    }
}
