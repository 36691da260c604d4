//! The hosts of a log: the first one is that of the query, each of the others has a query of its own.

use tallymon::Query;
use tallymon::core::flow::SourceError;
use tallymon::core::path::CounterPath;

use crate::log::hosts::OtherHost;
use crate::workspace::feed::Feed;
use crate::workspace::state::Workspace;

impl Workspace {
    fn others(&self) -> &[OtherHost] {
        self.replay.as_ref().map_or(&[], |replay| replay.others.as_slice())
    }

    /// The names of all hosts; the first one is that of the query.
    pub(crate) fn hosts(&self) -> Vec<String> {
        let others = self.others().iter().map(|other| other.log.host().to_string());
        std::iter::once(self.system_name().to_string()).chain(others).collect()
    }

    /// Position of the host of a path; that of one without host, or of one that nobody knows, is the first.
    pub(crate) fn host_of(&self, path: &str) -> usize {
        let machine = CounterPath::parse(path).ok().and_then(|parsed| parsed.path.machine);
        let named = |machine: String| {
            let place =
                self.others().iter().position(|other| other.log.host().eq_ignore_ascii_case(&machine));
            place.map(|place| place.saturating_add(1))
        };
        machine.and_then(named).unwrap_or(0)
    }

    /// Position of the host of the chosen series.
    pub(crate) fn chosen_host(&self) -> usize {
        self.monitor.chosen().map_or(0, |series| self.host_of(&series.path))
    }

    /// What a path of a host begins with here: nothing for the first.
    pub(crate) fn prefix(&self, host: usize) -> String {
        let other = host.checked_sub(1).and_then(|place| self.others().get(place));
        other.map(OtherHost::prefix).unwrap_or_default()
    }

    /// The query of a host.
    pub(crate) fn query_of(&self, host: usize) -> &Query {
        let other = host.checked_sub(1).and_then(|place| self.others().get(place));
        other.map_or(&self.query, |other| &other.query)
    }

    /// The query that a path is for.
    pub(crate) fn query_for(&mut self, path: &str) -> &mut Query {
        let place = self.host_of(path).checked_sub(1);
        let others = self.replay.as_mut().map(|replay| &mut replay.others);
        match place.and_then(|place| others?.get_mut(place)) {
            Some(other) => &mut other.query,
            None => &mut self.query,
        }
    }

    /// A query without paths of a host.
    ///
    /// # Errors
    ///
    /// Those of opening it.
    pub(crate) fn open_host(&mut self, host: usize) -> Result<Query, SourceError> {
        let language = self.query.names().preferred();
        match host.checked_sub(1).and_then(|place| self.others().get(place)) {
            Some(other) => Query::new(Box::new(other.log.source()), language),
            None => (self.options.open)(),
        }
    }

    /// A query without paths of a host, fed by the sampler if the source is live.
    ///
    /// # Errors
    ///
    /// Those of opening it.
    pub(crate) fn feed(&mut self, host: usize) -> Result<Feed, SourceError> {
        let listener = self.sampling.as_ref().map(|sampling| sampling.sampler.listener());
        Ok(Feed { query: self.open_host(host)?, listener })
    }

    /// Has the queries of the other hosts made anew, with the paths of now.
    pub(crate) fn reopen_others(&mut self) -> Result<(), SourceError> {
        let language = self.query.names().preferred();
        let Some(replay) = &mut self.replay else { return Ok(()) };
        replay.others = OtherHost::of(&replay.log, language)?;
        for path in self.paths.clone() {
            if self.host_of(&path) > 0 {
                // It was taken before by the same host.
                let _ = self.query_for(&path).add(&path);
            }
        }
        Ok(())
    }
}
