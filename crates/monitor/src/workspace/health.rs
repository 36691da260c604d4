//! How live machines answer: since when each is awaited, why it failed, when it is tried again; and the page
//! that shows it.

use std::time::{Duration, Instant};

use tallymon::core::flow::{Absence, NoValue, SourceError};
use tallymon::{ClockOffset, Pause};

use crate::model::{HostRow, HostState};
use crate::workspace::machine::Machine;
use crate::workspace::state::Workspace;

/// A machine is late when it has not answered for so long, and for the interval.
const GRACE: Duration = Duration::from_secs(1);

/// How a machine answers.
#[derive(Debug, Default)]
pub(super) struct Health {
    /// Since when a question is open.
    pub(super) asked: Option<Instant>,
    /// When its last values came.
    pub(super) heard: Option<Instant>,
    pub(super) failure: Option<SourceError>,
    pause: Pause,
    pub(super) clock: Option<ClockOffset>,
}

impl Health {
    pub(super) fn answered(&mut self, clock: Option<ClockOffset>) {
        (self.failure, self.asked) = (None, None);
        self.pause.answered();
        self.heard = Some(Instant::now());
        self.clock = match (self.clock, clock) {
            (Some(known), Some(newer)) => Some(known.or_newer(newer)),
            (known, newer) => newer.or(known),
        };
    }

    pub(super) fn failed(&mut self, error: SourceError) {
        (self.failure, self.asked) = (Some(error), None);
        self.pause.failed();
    }

    /// Whether it is left alone now.
    pub(super) fn rests(&self) -> bool {
        self.pause.rests()
    }

    /// Why a row has no value of it.
    pub(super) const fn gap(&self) -> NoValue {
        match self.failure {
            Some(_) => NoValue::NoMachine,
            None => NoValue::NoData(Absence::ReadFailed),
        }
    }

    pub(super) fn state(&self, interval: Duration) -> HostState {
        if let Some(error) = &self.failure {
            let retry = self.pause.until().map(|until| until.saturating_duration_since(Instant::now()));
            return HostState::Failed { why: error.to_string(), retry };
        }
        let open = self.asked.map(|asked| asked.elapsed());
        match open.filter(|open| *open >= GRACE.max(interval)) {
            Some(open) => HostState::Late(self.heard.map_or(open, |heard| heard.elapsed())),
            None if self.heard.is_none() => HostState::Opening,
            None => HostState::Live,
        }
    }
}

impl Workspace {
    /// The rows of the page of all machines.
    pub(crate) fn host_rows(&self) -> Vec<HostRow> {
        let interval = self.options.interval;
        let hosts = self.machines().map_or(&[][..], |machines| machines.hosts.as_slice());
        let row = |(place, host): (usize, &Machine)| HostRow {
            name: host.name.clone(),
            place,
            state: host.health.state(interval),
            age: host.health.heard.map(|heard| heard.elapsed()),
            clock: host.health.clock,
            load: host.page.as_ref().and_then(|page| page.summary.load().cloned()),
        };
        hosts.iter().enumerate().map(row).collect()
    }

    /// Begins to read the counters of the page, with the next row.
    pub(crate) const fn begin_page(&mut self) {
        if let Some(machines) = &mut self.machines {
            machines.has_page = true;
        }
    }

    /// How a machine answers.
    pub(crate) fn state_of_machine(&self, place: usize) -> Option<(&str, HostState)> {
        let host = self.machines()?.hosts.get(place)?;
        Some((host.name.as_str(), host.health.state(self.options.interval)))
    }

    /// The machines that do not answer, the failed ones first.
    pub(crate) fn silent_machines(&self) -> Vec<(&str, HostState)> {
        let count = self.machines().map_or(0, |machines| machines.hosts.len());
        let states = (0..count).filter_map(|place| self.state_of_machine(place));
        let mut silent: Vec<(&str, HostState)> = states
            .filter(|(_, state)| matches!(state, HostState::Late(_) | HostState::Failed { .. }))
            .collect();
        silent.sort_by_key(|(_, state)| !matches!(state, HostState::Failed { .. }));
        silent
    }

    /// Why a machine has no value in the last row; `None` if it has.
    pub(super) fn gap_of_machine(&self, place: usize) -> Option<NoValue> {
        let host = self.machines()?.hosts.get(place).filter(|host| !host.had_row)?;
        Some(host.health.gap())
    }
}
