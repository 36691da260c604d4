//! The processes of the overview: all of the newest second, and those of the seconds before that memory
//! allows.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use tallymon::core::flow::{Absence, NoValue, Value};
use tallymon::core::time::FileTime;
use tallymon::{InstanceKey, Query};

use crate::model::overview::counters::{PROCESS_COUNTERS, ProcessMetric};
use crate::model::overview::past::{Numbers, Past};
use crate::model::overview::process_row::ProcessRow;

/// The processes of the seconds in memory.
#[derive(Debug, Default)]
pub struct ProcessHistory {
    /// All processes of the newest second.
    newest: Vec<ProcessRow>,
    newest_time: Option<FileTime>,
    past: Past,
    /// Names, to share them with later seconds, each with the second that had it last.
    names: HashMap<InstanceKey, (Arc<str>, u64)>,
    /// Number of the newest second.
    round: u64,
}

impl ProcessHistory {
    /// A history in at most so many bytes. An hour of 1,000 processes at one sample a second takes 8 MiB at
    /// most.
    pub fn new(budget: usize) -> ProcessHistory {
        ProcessHistory { past: Past::new(budget), ..ProcessHistory::default() }
    }

    /// Takes the processes of a query with [`PROCESS_COUNTERS`]. With `keeps` they are kept for this time.
    pub fn take(&mut self, time: FileTime, query: &Query, keeps: bool) {
        let mut rows: Vec<ProcessRow> = Vec::with_capacity(self.newest.len());
        let mut positions: HashMap<&InstanceKey, usize> = HashMap::with_capacity(self.newest.len());
        // Each counter has all instances, in the same order: the next one is nearly always where it is
        // expected.
        let mut keys: Vec<&InstanceKey> = Vec::with_capacity(self.newest.len());
        let mut expected = 0usize;
        self.round = self.round.saturating_add(1);
        let (names, round) = (&mut self.names, self.round);
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
            let is_expected = keys.get(expected).is_some_and(|known| *known == key);
            let found = if is_expected { Some(expected) } else { positions.get(key).copied() };
            let position = found.unwrap_or_else(|| {
                positions.insert(key, rows.len());
                keys.push(key);
                rows.push(ProcessRow::of(name_of(names, key, round), value.identity));
                rows.len().saturating_sub(1)
            });
            expected = position.saturating_add(1);
            if let Some(row) = rows.get_mut(position) {
                row.set(*metric, value.cell.value.as_ref().ok().and_then(Value::as_f64));
            }
        });
        // Most names stay; those of processes that ended go now and then.
        if self.names.len() > rows.len().saturating_mul(2).saturating_add(64) {
            self.names.retain(|_, (_, last)| *last == round);
        }
        self.newest = rows;
        self.newest_time = Some(time);
        if keeps {
            self.past.push(time, &self.newest);
        }
    }

    /// No processes are known for the newest second.
    pub fn miss(&mut self) {
        self.newest.clear();
        self.newest_time = None;
    }

    /// The processes of a time; nothing where none were kept.
    pub fn at(&self, time: FileTime) -> Option<Cow<'_, [ProcessRow]>> {
        if self.newest_time == Some(time) {
            return Some(Cow::Borrowed(&self.newest));
        }
        self.past.at(time).map(Cow::Owned)
    }

    /// How many processes of a time were not kept: small ones, when more worked than the memory allows.
    pub fn left_out(&self, time: FileTime) -> usize {
        if self.newest_time == Some(time) { 0 } else { self.past.left_out(time) }
    }

    /// The numbers of one process in the seconds up to a time, oldest first; NaN where it was not kept.
    pub fn of(&self, who: (u32, u64), metric: ProcessMetric, until: FileTime, most: usize) -> Vec<f32> {
        let number = |numbers: &Numbers| match metric {
            ProcessMetric::Processor => numbers.processor,
            ProcessMetric::Memory => numbers.memory.map(|memory| memory as f32),
            ProcessMetric::InputOutput => numbers.bytes,
            ProcessMetric::Threads => numbers.threads,
            ProcessMetric::Id | ProcessMetric::Parent => None,
        };
        self.past.of(who, until, most, |numbers| number(numbers).unwrap_or(f32::NAN))
    }

    /// The processes of the newest second.
    pub fn newest(&self) -> &[ProcessRow] {
        &self.newest
    }

    /// Bytes of the kept seconds.
    pub fn bytes(&self) -> usize {
        self.past.bytes()
    }
}

/// The name of an instance, from an earlier second where one had it.
fn name_of(names: &mut HashMap<InstanceKey, (Arc<str>, u64)>, key: &InstanceKey, round: u64) -> Arc<str> {
    if let Some((name, last)) = names.get_mut(key) {
        *last = round;
        return Arc::clone(name);
    }
    let name: Arc<str> = key.to_string().into();
    names.insert(key.clone(), (Arc::clone(&name), round));
    name
}

/// Whether an instance is no process.
fn is_sum(key: &InstanceKey) -> bool {
    key.name == "_Total" || key.name.eq_ignore_ascii_case("idle")
}
