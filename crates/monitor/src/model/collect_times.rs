//! How long collections of each provider took: the percentiles of its last ones.

use std::collections::{HashMap, VecDeque};

use tallymon::core::flow::{NoValue, SourceError, Value};
use tallymon::{InstanceKey, Log, Query};

#[cfg(doc)]
use crate::model::providers::PROVIDERS_PATH;
use crate::model::providers::Provider;

/// How many collections of a provider are kept, the newest ones.
pub const MOST_TIMES: usize = 600;

/// The last collections of each provider that somebody saw, by its name.
#[derive(Debug, Clone, Default)]
pub struct CollectTimes(HashMap<String, Recent>);

#[derive(Debug, Clone, Default)]
struct Recent {
    /// How often it had been collected when its newest time was seen.
    collections: Option<f64>,
    seconds: VecDeque<f64>,
}

impl CollectTimes {
    /// Takes the time of the last collection of each provider, and gives each its percentiles.
    pub fn note(&mut self, providers: &mut [Provider]) {
        // Programs come and go, and each has a name of its own.
        self.0.retain(|name, _| providers.iter().any(|one| one.name == *name));
        for provider in providers.iter() {
            self.take(&provider.name, provider.collections, provider.last);
        }
        self.fill(providers);
    }

    /// Gives each provider its percentiles.
    pub fn fill(&self, providers: &mut [Provider]) {
        for provider in providers {
            let Some(known) = self.0.get(&provider.name) else { continue };
            let mut sorted: Vec<f64> = known.seconds.iter().copied().collect();
            sorted.sort_unstable_by(f64::total_cmp);
            let rank = |percent: usize| {
                let rank = sorted.len().saturating_mul(percent).div_ceil(100);
                sorted.get(rank.saturating_sub(1)).copied()
            };
            (provider.median, provider.p99, provider.times) = (rank(50), rank(99), sorted.len());
        }
    }

    /// Takes the time of a collection, unless it is the one that was seen before.
    fn take(&mut self, name: &str, collections: Option<f64>, seconds: Option<f64>) {
        let Some(seconds) = seconds else { return };
        let known = match self.0.get_mut(name) {
            Some(known) => known,
            None => self.0.entry(name.to_owned()).or_default(),
        };
        if collections.is_some() && known.collections == collections {
            return;
        }
        known.collections = collections;
        if known.seconds.len() >= MOST_TIMES {
            known.seconds.pop_front();
        }
        known.seconds.push_back(seconds);
    }
}

/// Where a log has the times of collections.
#[derive(Debug, Default)]
pub struct LogTimes {
    columns: Vec<usize>,
    /// The name of each provider, and where among the columns its last time and its number of collections
    /// are.
    providers: Vec<(String, usize, Option<usize>)>,
}

impl LogTimes {
    /// Finds them by a query that has collected [`PROVIDERS_PATH`], at any time of the log.
    pub fn of(log: &Log, query: &Query) -> LogTimes {
        let mut places: HashMap<InstanceKey, (Option<usize>, Option<usize>)> = HashMap::new();
        let mut columns = Vec::new();
        for reading in query.readings() {
            let Some(key) = reading.instance else { continue };
            let is_last = match query.names().english(reading.definition.name).as_str() {
                "Last Collection Nanoseconds" => true,
                "Collections" => false,
                _ => continue,
            };
            let Some(column) = log.column(reading.object, reading.counter, Some(&key)) else { continue };
            let place = columns.len();
            columns.push(column);
            let known = places.entry(key).or_default();
            *(if is_last { &mut known.0 } else { &mut known.1 }) = Some(place);
        }
        let named = places.into_iter();
        let named =
            named.filter_map(|(key, (last, collections))| Some((key.to_string(), last?, collections)));
        LogTimes { columns, providers: named.collect() }
    }

    /// Reads all of the log for them, as long as they are wanted.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub fn read(&self, log: &Log, is_wanted: impl Fn() -> bool) -> Result<CollectTimes, SourceError> {
        let mut found = CollectTimes::default();
        if self.columns.is_empty() {
            return Ok(found);
        }
        let number = |values: &[Result<Value, NoValue>], place: usize| {
            values.get(place).and_then(|value| value.as_ref().ok()).and_then(Value::as_f64)
        };
        log.read_from(&self.columns, log.summary().first, &is_wanted, |_, row| {
            for (name, last, collections) in &self.providers {
                let collections = collections.and_then(|place| number(row.values, place));
                let seconds = number(row.values, *last).map(|nanoseconds| nanoseconds / 1e9);
                found.take(name, collections, seconds);
            }
            is_wanted()
        })?;
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(collections: f64, seconds: f64) -> Provider {
        Provider {
            collections: Some(collections),
            last: Some(seconds),
            ..Provider::new("Memory".into(), "Memory".into())
        }
    }

    #[test]
    fn percentiles_are_of_the_last_collections_and_each_counts_once() {
        let mut times = CollectTimes::default();
        for nth in 1..=100 {
            // Looked at twice, collected once.
            for _ in 0..2 {
                times.note(&mut [provider(f64::from(nth), f64::from(nth))]);
            }
        }
        let mut seen = [provider(100.0, 100.0), Provider::new("other".into(), "other".into())];
        times.note(&mut seen);
        assert_eq!((seen[0].median, seen[0].p99, seen[0].times), (Some(50.0), Some(99.0), 100));
        assert_eq!((seen[1].median, seen[1].p99, seen[1].times), (None, None, 0));
        // The old ones are forgotten; what never says how often it was collected counts each time.
        for _ in 0..MOST_TIMES {
            let mut unknown = [Provider { collections: None, ..provider(0.0, 7.0) }];
            times.note(&mut unknown);
            seen[0] = unknown[0].clone();
        }
        assert_eq!((seen[0].median, seen[0].times), (Some(7.0), MOST_TIMES));
    }

    #[test]
    fn a_provider_that_is_gone_is_forgotten() {
        let mut times = CollectTimes::default();
        for nth in 0..1_000 {
            let program = Provider { name: format!("program {nth}"), ..provider(1.0, 2.0) };
            times.note(&mut [program, provider(f64::from(nth), 3.0)]);
        }
        assert_eq!(times.0.len(), 2);
        assert_eq!(times.0["Memory"].seconds.len(), MOST_TIMES);
    }
}
