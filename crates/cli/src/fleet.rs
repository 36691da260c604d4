//! One view over many hosts: values computed from those of all hosts, below host names such as
//! `_Fleet.mean`; and only the hosts with the largest values.

use std::collections::{HashMap, HashSet};
use std::str::FromStr;

use clap::Args;
use tallymon::core::flow::{Absence, Cell, NoValue, PartialSum, Value};
use tallymon::{HostReadings, Reading};

/// What the name of every computed host begins with.
const FLEET: &str = "_Fleet";

/// Options of commands that read several hosts.
#[derive(Debug, Default, Clone, Args)]
pub(crate) struct FleetOptions {
    /// Compute values over all hosts, below \\_Fleet.mean\… and so on: sum, mean, min, max, and percentiles
    /// such as p95; several with commas.
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Several hosts")]
    pub(crate) fleet: Vec<Aggregate>,
    /// Of each counter, show only the N hosts with the largest values; with 0 none, for --fleet alone.
    #[arg(long, value_name = "N", help_heading = "Several hosts")]
    pub(crate) top_hosts: Option<usize>,
}

/// How one value is made of those of all hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aggregate {
    Sum,
    Mean,
    Min,
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

impl Aggregate {
    fn name(self) -> String {
        match self {
            Aggregate::Sum => "sum".to_string(),
            Aggregate::Mean => "mean".to_string(),
            Aggregate::Min => "min".to_string(),
            Aggregate::Max => "max".to_string(),
            Aggregate::Percentile(percent) => format!("p{percent}"),
        }
    }

    /// The value of at least one, which are sorted.
    fn of(self, sorted: &[(f64, Value)]) -> Option<Value> {
        let at = |place: usize| sorted.get(place).map(|(_, value)| value.clone());
        let sum = || sorted.iter().map(|(number, _)| number).sum::<f64>();
        match self {
            Aggregate::Sum => {
                let add = |sum: u64, (_, value): &(f64, Value)| match value {
                    Value::Integer(value) => sum.checked_add(*value),
                    _ => None,
                };
                let whole = sorted.iter().try_fold(0, add);
                Some(whole.map_or_else(|| Value::Number(sum()), Value::Integer))
            }
            Aggregate::Mean => Some(Value::Number(sum() / sorted.len() as f64)),
            Aggregate::Min => at(0),
            Aggregate::Max => at(sorted.len().saturating_sub(1)),
            Aggregate::Percentile(percent) => {
                let rank = sorted.len().saturating_mul(percent.into()).div_ceil(100);
                at(rank.saturating_sub(1))
            }
        }
    }
}

/// What hosts have of one counter of one instance.
#[derive(Default)]
struct OfPath<'r> {
    /// Places of hosts and readings.
    all: Vec<(usize, &'r Reading)>,
}

impl FleetOptions {
    /// Whether they change anything.
    pub(crate) const fn is_used(&self) -> bool {
        !self.fleet.is_empty() || self.top_hosts.is_some()
    }

    /// What is shown of the readings of hosts: those of `asked` hosts were wanted.
    pub(crate) fn apply(&self, hosts: Vec<HostReadings>, asked: usize) -> Vec<HostReadings> {
        let Some(names) = hosts.first().map(|host| host.names.clone()).filter(|_| self.is_used()) else {
            return hosts;
        };
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
        let paths: Vec<OfPath<'_>> = order.iter().filter_map(|path| by_path.remove(path)).collect();
        let computed: Vec<HostReadings> = self
            .fleet
            .iter()
            .map(|aggregate| HostReadings {
                names: names.clone(),
                readings: paths
                    .iter()
                    .filter_map(|of_path| of_path.computed(*aggregate, hosts.len(), asked))
                    .collect(),
            })
            .collect();
        let mut shown = match self.top_hosts {
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
        if first.definition.counter_type.is_text() {
            return None;
        }
        let mut values: Vec<(f64, Value)> =
            self.numbers().map(|(_, _, number, value)| (number, value)).collect();
        values.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        // A host that never answered lacks what all others have.
        let whole = if self.all.len() == present { self.all.len().max(asked) } else { self.all.len() };
        let missing = whole.saturating_sub(values.len());
        let why = || {
            let first = self.all.iter().find_map(|(_, reading)| reading.cell.value.as_ref().err().copied());
            first.unwrap_or(NoValue::NoMachine)
        };
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let value = if values.is_empty() { None } else { aggregate.of(&values) };
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

    /// Hosts with numbers: the place of the host, its path, and its number.
    fn numbers(&self) -> impl Iterator<Item = (usize, &str, f64, Value)> {
        self.all.iter().filter_map(|(host, reading)| {
            let value = reading.cell.value.as_ref().ok()?;
            let number = value.as_f64().filter(|number| !number.is_nan())?;
            Some((*host, reading.path.as_str(), number, value.clone()))
        })
    }

    /// The hosts with the largest values, and their paths.
    fn top(&self, most: usize) -> Vec<(usize, String)> {
        let mut all: Vec<(usize, &str, f64)> =
            self.numbers().map(|(host, path, number, _)| (host, path, number)).collect();
        all.sort_by(|one, other| other.2.total_cmp(&one.2).then(one.0.cmp(&other.0)));
        all.into_iter().take(most).map(|(host, path, _)| (host, path.to_string())).collect()
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

    #[test]
    fn aggregates() {
        let integers = |all: &[u64]| -> Vec<(f64, Value)> {
            all.iter().map(|number| (*number as f64, Value::Integer(*number))).collect()
        };
        let hundred: Vec<u64> = (1..=100).collect();
        for (word, values, expected) in [
            ("sum", integers(&[1, 2, 4]), Value::Integer(7)),
            ("sum", integers(&[1, u64::MAX]), Value::Number(u64::MAX as f64 + 1.0)),
            ("sum", vec![(0.5, Value::Number(0.5)), (1.0, Value::Integer(1))], Value::Number(1.5)),
            ("mean", integers(&[1, 2]), Value::Number(1.5)),
            ("min", integers(&[1, 2]), Value::Integer(1)),
            ("max", integers(&[1, 2]), Value::Integer(2)),
            ("p95", integers(&hundred), Value::Integer(95)),
            ("p50", integers(&[7]), Value::Integer(7)),
            ("p50", integers(&[1, 2, 3]), Value::Integer(2)),
            ("p99", integers(&[1, 2, 3]), Value::Integer(3)),
        ] {
            let aggregate: Aggregate = word.parse().unwrap();
            assert_eq!(aggregate.of(&values), Some(expected), "{word} {values:?}");
            assert_eq!(aggregate.name(), word);
        }
        for word in ["", "p", "p0", "p100", "median", "Sum", "p-1"] {
            assert!(word.parse::<Aggregate>().is_err(), "{word}");
        }
    }

    #[test]
    fn paths_without_their_hosts() {
        for (path, rest) in [(r"\\a\b(c)\d", r"\b(c)\d"), (r"\b\c", r"\b\c"), (r"\\a", r"\\a")] {
            assert_eq!(without_host(path), rest);
        }
    }
}
