//! Queries over a log of several hosts: each path belongs to one of them.

use tallymon::core::path::CounterPath;
use tallymon::core::title::Language;
use tallymon::{Locale, Log, Query};

use crate::http::Refused;

/// Queries over the hosts of a log.
pub(crate) struct HostQueries<'l> {
    log: &'l Log,
    language: Language,
    pub(crate) known: Vec<(Log, Query)>,
}

impl<'l> HostQueries<'l> {
    /// Queries over the hosts of a log, in a language.
    pub(crate) const fn new(log: &'l Log, language: Language) -> HostQueries<'l> {
        HostQueries { log, language, known: Vec::new() }
    }

    /// The number of the query that a path belongs to: that of its host, or of the first one.
    pub(crate) fn of_path(&mut self, path: &str) -> Result<usize, Refused> {
        let host = CounterPath::of_text(path).ok().and_then(|path| path.machine);
        let log = host.and_then(|host| self.log.of_host(&host)).unwrap_or_else(|| self.log.clone());
        if let Some(at) = self.known.iter().position(|(known, _)| known.host() == log.host()) {
            return Ok(at);
        }
        let query = query(&log, self.language)?;
        self.known.push((log, query));
        Ok(self.known.len().saturating_sub(1))
    }

    /// The query of a number.
    pub(crate) fn query(&mut self, at: usize) -> Result<&mut Query, Refused> {
        let known = self.known.get_mut(at).map(|(_, query)| query);
        known.ok_or_else(|| Refused::not_found("the log has no such host"))
    }
}

/// A query over a host of a log.
pub(crate) fn query(log: &Log, language: Language) -> Result<Query, Refused> {
    Ok(Query::new(Box::new(log.source()), Locale::from(language))?)
}
