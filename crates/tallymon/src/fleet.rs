//! One view over many hosts: values computed from those of all hosts, below host names such as
//! `_Fleet.mean`; and only the hosts with the largest values.
//!
//! What a sum means follows from the type of the counter, as if all hosts were one machine: see
//! [`Joined`]. The other values are one of those of the hosts, or their mean.

use std::collections::{HashMap, HashSet};
use std::str::FromStr;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use tallymon_core::counter::{CounterType, Joined, weight};
use tallymon_core::flow::{Absence, Cell, NoValue, PartialSum, Value};

use crate::query::Reading;
use crate::rows::HostReadings;

/// How long a row of several hosts waits for those that have not answered: a second, and less than its
/// interval. A later answer is in the next row.
pub fn patience(interval: Duration) -> Duration {
    Duration::from_secs(1).min(interval / 10 * 9)
}

/// When the thread of a host among several is asked: once for each row, unless it still works on an earlier
/// one. A host that answers late is asked for the row of then at once; or all that it answers later would be
/// that of the row before.
#[derive(Debug)]
pub struct HostTicks {
    ticks: SyncSender<()>,
    is_busy: bool,
    /// The row that it was asked for last.
    row: u64,
}

impl HostTicks {
    /// Those of a host, and where its thread gets them.
    pub fn start() -> (HostTicks, Receiver<()>) {
        let (ticks, ticked) = sync_channel(1);
        (HostTicks { ticks, is_busy: false, row: 0 }, ticked)
    }

    /// Whether its thread works on an answer.
    pub const fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// A row begins. Each has another number than the one before; none has 0.
    pub fn begin(&mut self, row: u64) {
        if !self.is_busy {
            self.ask(row);
        }
    }

    /// Its thread has answered, in this row.
    pub fn answered(&mut self, row: u64) {
        self.is_busy = false;
        if self.row != row {
            self.ask(row);
        }
    }

    fn ask(&mut self, row: u64) {
        self.is_busy = self.ticks.try_send(()).is_ok();
        self.row = row;
    }
}

/// What the name of every computed host begins with.
pub const FLEET: &str = "_Fleet";

/// What is shown of many hosts.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Fleet {
    /// The values that are computed from those of all hosts.
    pub aggregates: Vec<Aggregate>,
    /// Of each counter, only so many hosts with the largest values; `None` for all hosts.
    pub top: Option<usize>,
}

/// How one value is made of those of all hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregate {
    /// What one machine would have that did everything that the hosts do.
    Sum,
    /// The arithmetic mean of the hosts.
    Mean,
    /// The smallest value.
    Min,
    /// The largest value.
    Max,
    /// The smallest value that at least this share of the hosts, in percent, do not exceed.
    Percentile(u8),
}

impl FromStr for Aggregate {
    type Err = String;

    fn from_str(text: &str) -> Result<Aggregate, String> {
        let percent = || text.strip_prefix('p')?.parse().ok().filter(|percent| (1..=99).contains(percent));
        match text {
            "sum" => Ok(Aggregate::Sum),
            "mean" => Ok(Aggregate::Mean),
            "min" => Ok(Aggregate::Min),
            "max" => Ok(Aggregate::Max),
            _ => percent()
                .map(Aggregate::Percentile)
                .ok_or_else(|| format!("{text:?} is none of sum, mean, min, max, and p1 to p99")),
        }
    }
}

/// The value of one host.
#[derive(Debug, Clone, PartialEq)]
struct HostValue {
    number: f64,
    value: Value,
    /// What it was divided by, where that differs between hosts.
    weight: Option<f64>,
}

impl Aggregate {
    /// Its name, as it is parsed.
    pub fn name(self) -> String {
        match self {
            Aggregate::Sum => "sum".to_string(),
            Aggregate::Mean => "mean".to_string(),
            Aggregate::Min => "min".to_string(),
            Aggregate::Max => "max".to_string(),
            Aggregate::Percentile(percent) => format!("p{percent}"),
        }
    }

    /// The value of at least one, which are sorted.
    fn of(self, counter_type: CounterType, sorted: &[HostValue]) -> Option<Value> {
        let at = |place: usize| sorted.get(place).map(|part| part.value.clone());
        match self {
            Aggregate::Sum => joined(counter_type, sorted),
            Aggregate::Mean => Some(Value::Number(mean(sorted))),
            Aggregate::Min => at(0),
            Aggregate::Max => at(sorted.len().saturating_sub(1)),
            Aggregate::Percentile(percent) => {
                let rank = sorted.len().saturating_mul(percent.into()).div_ceil(100);
                at(rank.saturating_sub(1))
            }
        }
    }
}

/// The value of all hosts as one machine.
fn joined(counter_type: CounterType, parts: &[HostValue]) -> Option<Value> {
    match Joined::of(counter_type) {
        Joined::Never => None,
        Joined::Added => {
            let add = |sum: u64, part: &HostValue| match part.value {
                Value::Integer(value) => sum.checked_add(value),
                _ => None,
            };
            let whole = parts.iter().try_fold(0, add);
            let sum = || parts.iter().map(|part| part.number).sum();
            Some(whole.map_or_else(|| Value::Number(sum()), Value::Integer))
        }
        Joined::Averaged => Some(Value::Number(mean(parts))),
        Joined::Weighted => {
            let mut all = (0.0, 0.0);
            for part in parts {
                // A log of values has no bases: then every host weighs the same.
                let Some(weight) = part.weight else { return Some(Value::Number(mean(parts))) };
                all = (all.0 + part.number * weight, all.1 + weight);
            }
            Some(Value::Number(if all.1 > 0.0 { all.0 / all.1 } else { mean(parts) }))
        }
    }
}

fn mean(parts: &[HostValue]) -> f64 {
    parts.iter().map(|part| part.number).sum::<f64>() / parts.len() as f64
}

/// What hosts have of one counter of one instance.
#[derive(Default)]
struct OfPath<'r> {
    /// Places of hosts and readings.
    all: Vec<(usize, &'r Reading)>,
}

impl Fleet {
    /// Whether anything of the hosts is computed or left out.
    pub const fn is_used(&self) -> bool {
        !self.aggregates.is_empty() || self.top.is_some()
    }

    /// What is shown of the readings of hosts, whose paths begin with their hosts: those of `asked` hosts
    /// were wanted. Computed values follow those of the hosts.
    pub fn apply(&self, hosts: Vec<HostReadings>, asked: usize) -> Vec<HostReadings> {
        let Some(names) = hosts.first().map(|host| host.names.clone()).filter(|_| self.is_used()) else {
            return hosts;
        };
        let paths = by_path(&hosts);
        let compute = |aggregate: &Aggregate| HostReadings {
            names: names.clone(),
            readings: paths
                .iter()
                .filter_map(|of_path| of_path.computed(*aggregate, hosts.len(), asked))
                .collect(),
        };
        let computed: Vec<HostReadings> = self.aggregates.iter().map(compute).collect();
        let mut shown = match self.top {
            None => hosts,
            Some(most) => {
                let kept: HashSet<(usize, String)> =
                    paths.iter().flat_map(|of_path| of_path.top(most)).collect();
                only(hosts, &kept)
            }
        };
        shown.extend(computed);
        shown
    }
}

/// The readings of each counter and instance, in the order in which they first appear.
fn by_path(hosts: &[HostReadings]) -> Vec<OfPath<'_>> {
    let mut order = Vec::new();
    let mut by_path: HashMap<String, OfPath<'_>> = HashMap::new();
    for (number, host) in hosts.iter().enumerate() {
        for reading in &host.readings {
            let path = without_host(&reading.path).to_lowercase();
            let of_path = by_path.entry(path.clone()).or_default();
            if of_path.all.is_empty() {
                order.push(path);
            }
            of_path.all.push((number, reading));
        }
    }
    order.iter().filter_map(|path| by_path.remove(path)).collect()
}

fn only(mut hosts: Vec<HostReadings>, kept: &HashSet<(usize, String)>) -> Vec<HostReadings> {
    for (number, host) in hosts.iter_mut().enumerate() {
        host.readings.retain(|reading| kept.contains(&(number, reading.path.clone())));
    }
    hosts
}

impl OfPath<'_> {
    /// The value of all hosts; `None` for texts.
    fn computed(&self, aggregate: Aggregate, present: usize, asked: usize) -> Option<Reading> {
        let (_, first) = self.all.first()?;
        let counter_type = first.definition.counter_type;
        if counter_type.is_text() {
            return None;
        }
        let mut parts: Vec<HostValue> = self
            .numbers()
            .map(|(_, reading, number, value)| {
                let weight =
                    reading.cell.sample.as_ref().and_then(|newer| weight(reading.older.as_ref(), newer));
                HostValue { number, value, weight }
            })
            .collect();
        parts.sort_by(|one, other| one.number.total_cmp(&other.number));
        // A host that never answered lacks what all others have.
        let whole = if self.all.len() == present { self.all.len().max(asked) } else { self.all.len() };
        // A host without operations has no average of them, and is not counted as missing.
        let is_idle = |(_, reading): &&(usize, &Reading)| reading.cell.value == Err(NoValue::NoOperations);
        let idle = self.all.iter().filter(is_idle).count();
        let missing = whole.saturating_sub(parts.len()).saturating_sub(idle);
        let why = || {
            let first = self.all.iter().find_map(|(_, reading)| reading.cell.value.as_ref().err().copied());
            first.unwrap_or(NoValue::NoMachine)
        };
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let value = if parts.is_empty() { None } else { aggregate.of(counter_type, &parts) };
        let cell = Cell {
            sample: None,
            partial: value
                .as_ref()
                .and_then(|_| PartialSum::new(count(missing), count(whole), Absence::Other)),
            value: value.ok_or_else(why),
            stale: self.all.iter().any(|(_, reading)| reading.cell.stale),
            error: None,
        };
        let path = format!("\\\\{FLEET}.{}{}", aggregate.name(), without_host(&first.path));
        Some(Reading { path, identity: None, cell, older: None, precision: None, ..(*first).clone() })
    }

    /// Hosts with numbers: the place of the host, its reading, and its number.
    fn numbers(&self) -> impl Iterator<Item = (usize, &Reading, f64, Value)> {
        self.all.iter().filter_map(|(host, reading)| {
            let value = reading.cell.value.as_ref().ok()?;
            let number = value.as_f64().filter(|number| !number.is_nan())?;
            Some((*host, *reading, number, value.clone()))
        })
    }

    /// The hosts with the largest values, and their paths.
    fn top(&self, most: usize) -> Vec<(usize, String)> {
        let mut all: Vec<(usize, &Reading, f64)> =
            self.numbers().map(|(host, reading, number, _)| (host, reading, number)).collect();
        all.sort_by(|one, other| other.2.total_cmp(&one.2).then(one.0.cmp(&other.0)));
        all.into_iter().take(most).map(|(host, reading, _)| (host, reading.path.clone())).collect()
    }
}

/// A path without the host in front.
fn without_host(path: &str) -> &str {
    let rest = path.strip_prefix("\\\\").and_then(|rest| rest.find('\\').and_then(|at| rest.get(at..)));
    rest.unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: CounterType = CounterType::PERF_COUNTER_RAWCOUNT;

    fn parts(all: &[f64]) -> Vec<HostValue> {
        all.iter()
            .map(|number| HostValue { number: *number, value: Value::Number(*number), weight: None })
            .collect()
    }

    fn integers(all: &[u64]) -> Vec<HostValue> {
        all.iter()
            .map(|number| HostValue { number: *number as f64, value: Value::Integer(*number), weight: None })
            .collect()
    }

    #[test]
    fn aggregates() {
        let hundred: Vec<u64> = (1..=100).collect();
        for (word, values, expected) in [
            ("sum", integers(&[1, 2, 4]), Value::Integer(7)),
            ("sum", integers(&[1, u64::MAX]), Value::Number(u64::MAX as f64 + 1.0)),
            ("sum", parts(&[0.5, 1.0]), Value::Number(1.5)),
            ("mean", integers(&[1, 2]), Value::Number(1.5)),
            ("min", integers(&[1, 2]), Value::Integer(1)),
            ("max", integers(&[1, 2]), Value::Integer(2)),
            ("p95", integers(&hundred), Value::Integer(95)),
            ("p50", integers(&[7]), Value::Integer(7)),
            ("p50", integers(&[1, 2, 3]), Value::Integer(2)),
            ("p99", integers(&[1, 2, 3]), Value::Integer(3)),
        ] {
            let aggregate: Aggregate = word.parse().unwrap();
            assert_eq!(aggregate.of(COUNT, &values), Some(expected), "{word} {values:?}");
            assert_eq!(aggregate.name(), word);
        }
        for word in ["", "p", "p0", "p100", "median", "Sum", "p-1"] {
            assert!(word.parse::<Aggregate>().is_err(), "{word}");
        }
    }

    /// What a sum is, for a type of each kind; `core` tests every type.
    #[test]
    fn a_sum_follows_from_the_type() {
        let weighted = |weights: [Option<f64>; 2]| {
            let mut all = parts(&[10.0, 50.0]);
            all.iter_mut().zip(weights).for_each(|(part, weight)| part.weight = weight);
            all
        };
        for (counter_type, weights, sum) in [
            (CounterType::PERF_COUNTER_BULK_COUNT, [None; 2], Some(60.0)),
            (CounterType::PERF_COUNTER_LARGE_QUEUELEN_TYPE, [None; 2], Some(60.0)),
            (CounterType::PERF_100NSEC_TIMER_INV, [None; 2], Some(30.0)),
            (CounterType::PERF_ELAPSED_TIME, [None; 2], Some(30.0)),
            (CounterType::PERF_RAW_FRACTION, [Some(300.0), Some(100.0)], Some(20.0)),
            (CounterType::PERF_AVERAGE_TIMER, [Some(1.0), Some(3.0)], Some(40.0)),
            (CounterType::PERF_AVERAGE_TIMER, [Some(1.0), None], Some(30.0)),
            (CounterType::PERF_AVERAGE_TIMER, [Some(0.0), Some(0.0)], Some(30.0)),
            (CounterType::PERF_COUNTER_TEXT, [None; 2], None),
        ] {
            let value = joined(counter_type, &weighted(weights)).and_then(|value| value.as_f64());
            assert_eq!(value, sum, "{counter_type:?} {weights:?}");
        }
    }

    #[test]
    fn paths_without_their_hosts() {
        for (path, rest) in [(r"\\a\b(c)\d", r"\b(c)\d"), (r"\b\c", r"\b\c"), (r"\\a", r"\\a")] {
            assert_eq!(without_host(path), rest);
        }
    }
}
