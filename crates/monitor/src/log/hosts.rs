//! The hosts of a log after the first one: each has a query of its own.

use tallymon::core::flow::SourceError;
use tallymon::{Locale, Log, Query, Reading};

/// A host of a log, other than the first.
pub(crate) struct OtherHost {
    pub(crate) log: Log,
    pub(crate) query: Query,
}

impl OtherHost {
    /// All hosts of a log except the first.
    ///
    /// # Errors
    ///
    /// The names of the counters cannot be read.
    pub(crate) fn of(log: &Log, locale: Locale) -> Result<Vec<OtherHost>, SourceError> {
        let others = log.summary().hosts.iter().filter_map(|host| log.of_host(host));
        others
            .filter(|other| other.host() != log.host())
            .map(|log| Ok(OtherHost { query: Query::new(Box::new(log.source()), locale)?, log }))
            .collect()
    }

    /// The beginning of the paths of its series.
    pub(crate) fn prefix(&self) -> String {
        format!("\\\\{}", self.log.host())
    }

    /// Collects its readings, with the host in their paths to distinguish them from those of other hosts.
    pub(crate) fn readings(&mut self) -> Result<Vec<Reading>, SourceError> {
        self.query.collect()?;
        let prefix = self.prefix();
        let mut readings = self.query.readings();
        for reading in &mut readings {
            reading.path.insert_str(0, &prefix);
        }
        Ok(readings)
    }
}
