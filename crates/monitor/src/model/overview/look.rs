//! How the user wants the overview: which panes, which order of processes.

use crate::model::overview::counters::{Pane, ProcessMetric};

/// The names of the columns that processes can be sorted by, as settings have them.
pub const ORDERS: [(&str, ProcessMetric); 5] = [
    ("cpu", ProcessMetric::Processor),
    ("memory", ProcessMetric::Memory),
    ("io", ProcessMetric::InputOutput),
    ("threads", ProcessMetric::Threads),
    ("pid", ProcessMetric::Id),
];

/// How the processes stand: a key goes through these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrangement {
    /// One below the other.
    List,
    /// Each process below the one that started it.
    Tree,
    /// Those of a service, a container or a program as one line.
    Groups,
}

impl Arrangement {
    /// The one after this, and after the last one the first.
    pub const fn next(self) -> Arrangement {
        match self {
            Arrangement::List => Arrangement::Tree,
            Arrangement::Tree => Arrangement::Groups,
            Arrangement::Groups => Arrangement::List,
        }
    }
}

/// The panes, the order of the processes, and the presets that a key goes through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverviewLook {
    /// The panes that are shown.
    pub panes: Vec<Pane>,
    /// The column that processes are sorted by.
    pub order: ProcessMetric,
    /// Smallest first.
    pub ascending: bool,
    /// How the processes stand.
    pub arrangement: Arrangement,
    /// Sets of panes to switch to.
    pub presets: Vec<Vec<Pane>>,
}

impl Default for OverviewLook {
    fn default() -> OverviewLook {
        let all = Pane::NAMES.map(|(_, pane)| pane).to_vec();
        OverviewLook {
            panes: all.clone(),
            order: ProcessMetric::Processor,
            ascending: false,
            arrangement: Arrangement::List,
            presets: vec![
                all,
                vec![Pane::Processors, Pane::Processes],
                vec![
                    Pane::Processors,
                    Pane::Memory,
                    Pane::Disks,
                    Pane::Space,
                    Pane::Network,
                    Pane::Pressure,
                    Pane::Sensors,
                    Pane::Containers,
                    Pane::Graphics,
                ],
            ],
        }
    }
}

impl OverviewLook {
    /// Whether a pane is shown.
    pub fn has(&self, pane: Pane) -> bool {
        self.panes.contains(&pane)
    }

    /// Shows or hides a pane; the last one stays.
    pub fn toggle(&mut self, pane: Pane) {
        if !self.has(pane) {
            self.panes.push(pane);
            self.panes.sort();
        } else if self.panes.len() > 1 {
            self.panes.retain(|known| *known != pane);
        }
    }

    /// Shows the panes of the preset after the one that is shown.
    pub fn next_preset(&mut self) {
        let shown = self.presets.iter().position(|preset| *preset == self.panes);
        let next = shown.map_or(0, |shown| shown.saturating_add(1));
        let next = self.presets.get(next).or_else(|| self.presets.first());
        if let Some(panes) = next.filter(|panes| !panes.is_empty()) {
            self.panes.clone_from(panes);
        }
    }

    /// Sorts the processes by the next column, or the one before.
    pub fn move_order(&mut self, forward: bool) {
        let at = ORDERS.iter().position(|(_, order)| *order == self.order).unwrap_or(0);
        let step = if forward { 1 } else { ORDERS.len().saturating_sub(1) };
        let next = at.saturating_add(step).checked_rem(ORDERS.len()).unwrap_or(0);
        self.order = ORDERS.get(next).map_or(self.order, |(_, order)| *order);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_and_panes_go_round() {
        let mut look = OverviewLook::default();
        let all = look.panes.clone();
        for _ in 0..look.presets.len() {
            look.next_preset();
        }
        assert_eq!(look.panes, all);
        look.toggle(Pane::Memory);
        assert!(!look.has(Pane::Memory));
        look.toggle(Pane::Memory);
        assert_eq!(look.panes, all, "in the order of the screen");
        look.panes = vec![Pane::Disks];
        look.toggle(Pane::Disks);
        assert_eq!(look.panes, [Pane::Disks], "the last one stays");
        look.next_preset();
        assert_eq!(look.panes, all, "from a set that is no preset to the first one");
        look.presets.clear();
        look.next_preset();
        assert_eq!(look.panes, all);
    }

    #[test]
    fn orders_go_round_in_both_directions() {
        let mut look = OverviewLook::default();
        look.move_order(false);
        assert_eq!(look.order, ProcessMetric::Id);
        look.move_order(true);
        look.move_order(true);
        assert_eq!(look.order, ProcessMetric::Memory);
    }
}
