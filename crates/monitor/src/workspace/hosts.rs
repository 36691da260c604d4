//! The hosts: the query has the first one, each other host has a query of its own. They are those of a log,
//! or the live machines.

use tallymon::core::flow::SourceError;
use tallymon::core::path::CounterPath;
use tallymon::sample::Listener;
use tallymon::{Log, Query};

use crate::log::hosts::OtherHost;
use crate::workspace::feed::Feed;
use crate::workspace::state::Workspace;

impl Workspace {
    fn others(&self) -> &[OtherHost] {
        self.replay.as_ref().map_or(&[], |replay| replay.others.as_slice())
    }

    /// The names of all hosts, that of the query first.
    pub(crate) fn hosts(&self) -> Vec<String> {
        if let Some(machines) = self.machines() {
            return machines.names().map(str::to_string).collect();
        }
        let others = self.others().iter().map(|other| other.log.host().to_string());
        std::iter::once(self.system_name().to_string()).chain(others).collect()
    }

    /// Position of the host of a path; a path without a host, or with an unknown one, means the first.
    pub(crate) fn host_of(&self, path: &str) -> usize {
        let machine = CounterPath::parse(path).ok().and_then(|parsed| parsed.path.machine);
        let named = |machine: String| match self.machines() {
            Some(machines) => machines.names().position(|name| name.eq_ignore_ascii_case(&machine)),
            None => {
                let place =
                    self.others().iter().position(|other| other.log.host().eq_ignore_ascii_case(&machine));
                place.map(|place| place.saturating_add(1))
            }
        };
        machine.and_then(named).unwrap_or(0)
    }

    /// The log of a host.
    pub(crate) fn log_of(&self, host: usize) -> Option<Log> {
        match host.checked_sub(1) {
            Some(place) => self.others().get(place).map(|other| other.log.clone()),
            None => self.log().cloned(),
        }
    }

    /// Position of the host of the chosen series.
    pub(crate) fn chosen_host(&self) -> usize {
        self.monitor.chosen().map_or(0, |series| self.host_of(&series.path))
    }

    /// The beginning of paths of a host: nothing for the first.
    pub(crate) fn prefix(&self, host: usize) -> String {
        if let Some(machines) = self.machines() {
            return machines.prefix(host);
        }
        let other = host.checked_sub(1).and_then(|place| self.others().get(place));
        other.map(OtherHost::prefix).unwrap_or_default()
    }

    /// The query of a host; that of the first for one that has not answered yet.
    pub(crate) fn query_of(&self, host: usize) -> &Query {
        if let Some(machines) = self.machines() {
            return machines.query(host).unwrap_or(&self.query);
        }
        let other = host.checked_sub(1).and_then(|place| self.others().get(place));
        other.map_or(&self.query, |other| &other.query)
    }

    /// The query that a path belongs to, of this source or of a log.
    pub(crate) fn query_for(&mut self, path: &str) -> &mut Query {
        let place = self.host_of(path).checked_sub(1);
        let others = self.replay.as_mut().map(|replay| &mut replay.others);
        match place.and_then(|place| others?.get_mut(place)) {
            Some(other) => &mut other.query,
            None => &mut self.query,
        }
    }

    /// Opens a query without paths over a host.
    ///
    /// # Errors
    ///
    /// The source cannot be opened; a live machine has never answered.
    pub(crate) fn open_host(&mut self, host: usize) -> Result<Query, SourceError> {
        if let Some(machines) = self.machines().filter(|_| host > 0) {
            return machines.open(host);
        }
        let language = self.query.names().locale();
        match host.checked_sub(1).and_then(|place| self.others().get(place)) {
            Some(other) => Query::new(Box::new(other.log.source()), language),
            None => (self.options.open)(),
        }
    }

    /// A listener to the live source of a host; `None` for a log.
    pub(super) fn listener_of(&self, host: usize) -> Option<Listener> {
        let own = self.machines().and_then(|machines| machines.listener(host));
        own.or_else(|| self.sampling.as_ref().map(|sampling| sampling.sampler.listener()))
    }

    /// A query without paths of a host, with samples from the sampler if the source is live.
    ///
    /// # Errors
    ///
    /// The source of the host cannot be opened.
    pub(crate) fn feed(&mut self, host: usize) -> Result<Feed, SourceError> {
        let listener = self.listener_of(host);
        Ok(Feed { query: self.open_host(host)?, listener })
    }

    /// Makes new queries of the other hosts of a log, with the current paths; live machines collect them, and
    /// no others.
    pub(crate) fn reopen_others(&mut self) -> Result<(), SourceError> {
        let language = self.query.names().locale();
        let Some(replay) = &mut self.replay else {
            self.want_paths_of_all();
            return Ok(());
        };
        replay.others = OtherHost::of(&replay.log, language)?;
        for path in self.paths.clone() {
            if self.host_of(&path) > 0 {
                // The same host accepted the path before.
                let _ = self.query_for(&path).add(&path);
            }
        }
        Ok(())
    }
}
