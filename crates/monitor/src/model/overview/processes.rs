//! The processes of the overview: all of the newest second, the largest of each second before.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tallymon::core::flow::{Absence, NoValue, Value};
use tallymon::core::time::FileTime;
use tallymon::{InstanceIdentity, InstanceKey, Query};

use crate::model::overview::counters::{PROCESS_COUNTERS, ProcessMetric};

/// How many processes of each order are kept for a second: by processor time, by memory, by bytes.
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

/// Bytes of a process in a second.
const ROW_BYTES: usize = size_of::<ProcessRow>();
/// Bytes of a name without its letters.
const NAME_BYTES: usize = 64;

/// The processes of the seconds in memory.
#[derive(Debug, Default)]
pub struct ProcessHistory {
    /// All processes of the newest second.
    newest: Vec<ProcessRow>,
    newest_time: Option<FileTime>,
    /// The largest ones, oldest second first, with the bytes that they use.
    seconds: VecDeque<(FileTime, Box<[ProcessRow]>, usize)>,
    bytes: usize,
    budget: usize,
    /// The names of the newest second, to share them with the next one.
    names: HashMap<InstanceKey, Arc<str>>,
}

impl ProcessHistory {
    /// A history in at most so many bytes.
    pub fn new(budget: usize) -> ProcessHistory {
        ProcessHistory { budget, ..ProcessHistory::default() }
    }

    /// Takes the processes of a query with [`PROCESS_COUNTERS`]. With `keeps` the largest of them are kept
    /// for this time.
    pub fn take(&mut self, time: FileTime, query: &Query, keeps: bool) {
        let mut rows: Vec<ProcessRow> = Vec::with_capacity(self.newest.len());
        let mut positions: HashMap<&InstanceKey, usize> = HashMap::with_capacity(self.newest.len());
        let mut names = HashMap::with_capacity(self.names.len());
        let mut new_names = 0usize;
        query.for_each(|value| {
            let Some(key) = value.instance.filter(|key| !is_sum(key)) else { return };
            let Some((metric, _, _)) =
                PROCESS_COUNTERS.iter().find(|(_, number, _)| *number == value.definition.name.0)
            else {
                return;
            };
            // A log has all processes that ever existed.
            if matches!(&value.cell.value, Err(NoValue::NoInstance | NoValue::NoData(Absence::Vanished))) {
                return;
            }
            let position = *positions.entry(key).or_insert_with(|| {
                let name = self.names.get(key).cloned().unwrap_or_else(|| {
                    let name: Arc<str> = key.to_string().into();
                    new_names = new_names.saturating_add(name.len()).saturating_add(NAME_BYTES);
                    name
                });
                names.insert(key.clone(), Arc::clone(&name));
                rows.push(ProcessRow::of(name, value.identity));
                rows.len().saturating_sub(1)
            });
            if let Some(row) = rows.get_mut(position) {
                row.set(*metric, value.cell.value.as_ref().ok().and_then(Value::as_f64));
            }
        });
        self.names = names;
        self.newest = rows;
        self.newest_time = Some(time);
        if keeps {
            let largest = largest(&self.newest);
            let bytes = largest.len().saturating_mul(ROW_BYTES).saturating_add(new_names);
            self.bytes = self.bytes.saturating_add(bytes);
            self.seconds.push_back((time, largest, bytes));
            while self.bytes > self.budget && self.seconds.len() > 1 {
                if let Some((_, _, bytes)) = self.seconds.pop_front() {
                    self.bytes = self.bytes.saturating_sub(bytes);
                }
            }
        }
    }

    /// No processes are known for the newest second.
    pub fn miss(&mut self) {
        self.newest.clear();
        self.newest_time = None;
    }

    /// The processes of a time: all of the newest, else the largest; nothing where none were kept.
    pub fn at(&self, time: FileTime) -> Option<&[ProcessRow]> {
        if self.newest_time == Some(time) {
            return Some(&self.newest);
        }
        let place = self.seconds.binary_search_by_key(&time, |(time, _, _)| *time).ok()?;
        self.seconds.get(place).map(|(_, rows, _)| &**rows)
    }

    /// The numbers of one process in the seconds up to a time, oldest first; `None` where it was not kept.
    pub fn of(&self, who: (u32, u64), metric: ProcessMetric, until: FileTime, most: usize) -> Vec<f32> {
        let end = self.seconds.partition_point(|(time, _, _)| *time <= until);
        let begin = end.saturating_sub(most);
        self.seconds
            .range(begin..end)
            .map(|(_, rows, _)| {
                let row = rows.iter().find(|row| row.identity() == Some(who));
                row.and_then(|row| row.number(metric)).map_or(f32::NAN, |number| number as f32)
            })
            .collect()
    }

    /// The processes of the newest second.
    pub fn newest(&self) -> &[ProcessRow] {
        &self.newest
    }

    /// Bytes of the kept seconds.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }
}

impl ProcessRow {
    fn of(name: Arc<str>, identity: Option<InstanceIdentity>) -> ProcessRow {
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

    fn set(&mut self, metric: ProcessMetric, number: Option<f64>) {
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

/// Whether an instance is no process.
fn is_sum(key: &InstanceKey) -> bool {
    key.name == "_Total" || key.name.eq_ignore_ascii_case("idle")
}

/// The largest processes in each order that matters, each once.
fn largest(rows: &[ProcessRow]) -> Box<[ProcessRow]> {
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
    rows.iter().zip(chosen).filter(|(_, chosen)| *chosen).map(|(row, _)| row.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, id: u32, processor: f32, memory: f64) -> ProcessRow {
        ProcessRow {
            name: name.into(),
            id: Some(id),
            parent: None,
            start: u64::from(id) * 10,
            processor: Some(processor),
            memory: Some(memory),
            bytes: None,
            threads: None,
        }
    }

    #[test]
    fn the_largest_of_each_order_are_kept() {
        let mut rows: Vec<ProcessRow> = (0..100).map(|id| row("idle", id, 0.0, 1.0)).collect();
        rows.push(row("busy", 200, 90.0, 0.5));
        rows.push(row("large", 201, 0.0, 1e9));
        let kept = largest(&rows);
        let names: Vec<&str> = kept.iter().map(|row| &*row.name).collect();
        assert!(names.contains(&"busy") && names.contains(&"large"), "{names:?}");
        assert!(kept.len() <= 13, "a process without work is kept for its memory only: {}", kept.len());
    }

    #[test]
    fn a_second_is_found_by_its_time_and_the_oldest_go() {
        let mut history = ProcessHistory::new(20 * ROW_BYTES);
        for second in 0..100u64 {
            let rows: Box<[ProcessRow]> = Box::new([row("one", 7, second as f32, 1.0)]);
            history.seconds.push_back((FileTime(second), rows, ROW_BYTES));
        }
        history.bytes = 100 * ROW_BYTES;
        let found = history.at(FileTime(40)).and_then(|rows| rows.first()?.processor);
        assert_eq!(found, Some(40.0));
        assert!(history.at(FileTime(400)).is_none());
        let line = history.of((7, 70), ProcessMetric::Processor, FileTime(50), 3);
        assert_eq!(line, [48.0, 49.0, 50.0]);
        assert!(
            history.of((7, 71), ProcessMetric::Processor, FileTime(50), 1).iter().all(|one| one.is_nan())
        );
    }
}
