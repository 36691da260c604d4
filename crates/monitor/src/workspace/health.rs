//! How the live machines of the workspace answer, and the page that shows it.

use tallymon::core::flow::NoValue;

use crate::model::{HostRow, HostState};
use crate::workspace::machine::Machine;
use crate::workspace::state::Workspace;

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
