//! A process at a second, and which of many are kept.

use std::sync::Arc;

use tallymon::InstanceIdentity;

use crate::model::overview::counters::ProcessMetric;

/// How many processes of each order are kept for every second: by processor time, by memory, by bytes.
const KEPT: [(ProcessMetric, usize); 3] =
    [(ProcessMetric::Processor, 24), (ProcessMetric::Memory, 12), (ProcessMetric::InputOutput, 8)];

/// A process at a second.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessRow {
    /// Its instance, as a path has it.
    pub name: Arc<str>,
    /// Process id; `None` where the source does not have it.
    pub id: Option<u32>,
    /// Process id of the process that started it, where the source has it.
    pub parent: Option<u32>,
    /// When it began, in the units of its source; 0 where the source does not have it. Together with the id
    /// it is the same in every second.
    pub start: u64,
    /// Per cent of one processor.
    pub processor: Option<f32>,
    /// Bytes of memory.
    pub memory: Option<f64>,
    /// Bytes read and written a second.
    pub bytes: Option<f32>,
    /// Threads.
    pub threads: Option<f32>,
}

impl ProcessRow {
    /// The number of a column, to sort by it.
    pub fn number(&self, metric: ProcessMetric) -> Option<f64> {
        match metric {
            ProcessMetric::Processor => self.processor.map(f64::from),
            ProcessMetric::Memory => self.memory,
            ProcessMetric::InputOutput => self.bytes.map(f64::from),
            ProcessMetric::Threads => self.threads.map(f64::from),
            ProcessMetric::Id => self.id.map(f64::from),
            ProcessMetric::Parent => self.parent.map(f64::from),
        }
    }

    /// What distinguishes it from every other process of its machine.
    pub fn identity(&self) -> Option<(u32, u64)> {
        Some((self.id?, self.start))
    }
}

impl ProcessRow {
    pub(super) fn of(name: Arc<str>, identity: Option<InstanceIdentity>) -> ProcessRow {
        let (id, start) = match identity {
            Some(InstanceIdentity::Ids([id, _, start])) => (u32::try_from(id).ok(), start),
            _ => (None, 0),
        };
        ProcessRow {
            name,
            id,
            parent: None,
            start,
            processor: None,
            memory: None,
            bytes: None,
            threads: None,
        }
    }

    pub(super) fn set(&mut self, metric: ProcessMetric, number: Option<f64>) {
        let small = number.map(|number| number as f32);
        match metric {
            ProcessMetric::Processor => self.processor = small,
            ProcessMetric::Memory => self.memory = number,
            ProcessMetric::InputOutput => self.bytes = small,
            ProcessMetric::Threads => self.threads = small,
            // The identity has it already where it is known.
            ProcessMetric::Id => self.id = number.map(|number| number as u32).or(self.id),
            ProcessMetric::Parent => self.parent = number.map(|number| number as u32),
        }
    }
}

/// Which processes are the largest in each order that matters.
pub(super) fn largest(rows: &[ProcessRow]) -> Vec<bool> {
    let mut positions: Vec<usize> = (0..rows.len()).collect();
    let mut chosen = vec![false; rows.len()];
    for (metric, count) in KEPT {
        let number = |position: &usize| rows.get(*position).and_then(|row| row.number(metric)).unwrap_or(0.0);
        let order = |one: &usize, other: &usize| number(other).total_cmp(&number(one));
        if positions.len() > count {
            positions.select_nth_unstable_by(count, order);
        }
        for position in positions.iter().take(count).filter(|position| number(position) > 0.0) {
            if let Some(chosen) = chosen.get_mut(*position) {
                *chosen = true;
            }
        }
    }
    chosen
}
