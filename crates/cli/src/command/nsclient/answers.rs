//! The answers to the requests of `check_nt`.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tallymon::core::flow::{Cell, Value};
use tallymon::core::path::Part;
use tallymon::core::title::Language;
use tallymon::{Location, Query, Reading};

use super::request::Request;

/// Time between two samples of the load of the processors.
pub(super) const LOAD_INTERVAL: Duration = Duration::from_secs(5);

/// Samples of the load that are kept: those of a day, which is the longest time that a request may name.
const LOADS: usize = 24 * 60 * 60 / 5;

/// Time between the two samples that a rate needs.
const RATE_INTERVAL: Duration = Duration::from_secs(1);

/// The load of the processors since the start, at most of a day.
#[derive(Debug, Default)]
pub(super) struct Loads {
    newest_first: VecDeque<f32>,
}

impl Loads {
    pub(super) fn add(&mut self, percent: f64) {
        self.newest_first.truncate(LOADS.saturating_sub(1));
        self.newest_first.push_front(percent as f32);
    }

    /// The average of the last minutes, or since the start if that is less; `None` before the first value.
    fn average(&self, minutes: u32) -> Option<f64> {
        let most = usize::try_from(minutes).unwrap_or(LOADS).saturating_mul(60 / 5);
        let count = self.newest_first.len().min(most);
        let sum: f64 = self.newest_first.iter().take(count).map(|percent| f64::from(*percent)).sum();
        (count > 0).then(|| sum / count as f64)
    }
}

/// What answers need.
#[derive(Debug, Clone)]
pub(super) struct Answers {
    pub(super) location: Location,
    pub(super) loads: Arc<Mutex<Loads>>,
}

impl Answers {
    /// The answer to a request.
    ///
    /// # Errors
    ///
    /// Why there is none, in words.
    pub(super) fn answer(&self, request: &Request) -> Result<String, String> {
        match request {
            Request::Version => Ok(format!("Tallymon {}", env!("CARGO_PKG_VERSION"))),
            Request::Load(minutes) => {
                let loads = self.loads.lock().unwrap_or_else(PoisonError::into_inner);
                let average = loads.average(*minutes).ok_or("the first value comes after 5 s")?;
                Ok(format!("{}", average.round()))
            }
            Request::UpTime => {
                let seconds = self.number(r"\System\System Up Time")?;
                Ok(format!("{}", seconds.floor()))
            }
            Request::Disk(name) => self.disk(name),
            Request::Processes { names, all } => self.processes(names, *all),
            Request::Memory => {
                let limit = self.number(r"\Memory\Commit Limit")?;
                Ok(format!("{limit}&{}", self.number(r"\Memory\Committed Bytes")?))
            }
            Request::Counter(path) => self.number(path).map(|value| value.to_string()),
            Request::Instances(object) => {
                let mut query = self.query()?;
                let found = query.object(object, &Part::parse(object)).map_err(|error| error.to_string())?;
                let instances = query.instances(found).map_err(|error| error.to_string())?;
                let names: Vec<String> = instances.iter().map(ToString::to_string).collect();
                if names.is_empty() { Err(format!("{object}: no instances")) } else { Ok(names.join(",")) }
            }
        }
    }

    fn query(&self) -> Result<Query, String> {
        let source = tallymon::open(&self.location).map_err(|error| error.to_string())?;
        Query::new(source, Language::ENGLISH).map_err(|error| error.to_string())
    }

    /// What the instances of a path have now; rates are those of a second.
    fn readings(&self, path: &str) -> Result<Vec<Reading>, String> {
        let mut query = self.query()?;
        query.add(path).map_err(|error| error.to_string())?;
        query.collect().map_err(|error| error.to_string())?;
        if query.needs_two_samples() {
            thread::sleep(RATE_INTERVAL);
            query.collect().map_err(|error| error.to_string())?;
        }
        Ok(query.readings())
    }

    /// The value of a path that means one counter.
    fn number(&self, path: &str) -> Result<f64, String> {
        match self.readings(path)?.as_slice() {
            [one] => number(&one.cell).map_err(|why| format!("{}: {why}", one.path)),
            several => Err(format!("{path}: it means {} values, and one is needed", several.len())),
        }
    }

    /// Free and all bytes. `check_nt` lets through one letter only: `/`, or as on Windows the letter C for
    /// the disk of the system.
    fn disk(&self, name: &str) -> Result<String, String> {
        let name = if name.trim_end_matches(':').eq_ignore_ascii_case("c") { "/" } else { name };
        let readings = self.readings(r"\LogicalDisk(*)\% Free Space")?;
        let is_it = |reading: &&Reading| {
            reading.instance.as_ref().is_some_and(|key| key.name.eq_ignore_ascii_case(name))
        };
        let Some(reading) = readings.iter().find(is_it) else {
            let names = readings.iter().filter_map(|reading| Some(reading.instance.as_ref()?.name.as_str()));
            let names: Vec<&str> = names.filter(|name| *name != "_Total").collect();
            return Err(format!("no disk {name:?}; there are {}", names.join(", ")));
        };
        // The counter is a share of units whose size the other counter tells.
        let sample = reading.cell.raw().map_err(|why| format!("{name}: {why}"))?;
        let free = self.readings(&format!(r"\LogicalDisk({name})\Free Megabytes"))?;
        let free = free.first().ok_or("no free bytes")?;
        let free = number(&free.cell).map_err(|why| format!("{name}: {why}"))? * f64::from(1 << 20);
        if sample.first == 0 || sample.second == 0 {
            return Err(format!("{name}: its size is not known"));
        }
        let all = free / sample.first as f64 * sample.second as f64;
        Ok(format!("{free:.0}&{all:.0}"))
    }

    fn processes(&self, names: &[String], all: bool) -> Result<String, String> {
        let running = self.readings(r"\Process(*)\ID Process")?;
        let is_running = |name: &String| {
            let bare = if name.to_ascii_lowercase().ends_with(".exe") {
                name.get(..name.len().saturating_sub(4)).unwrap_or_default()
            } else {
                name
            };
            let is_it = |reading: &Reading| {
                let instance = reading.instance.as_ref().map(|key| key.name.as_str());
                instance
                    .is_some_and(|known| known.eq_ignore_ascii_case(name) || known.eq_ignore_ascii_case(bare))
            };
            running.iter().any(is_it)
        };
        let states: Vec<(&String, bool)> = names.iter().map(|name| (name, is_running(name))).collect();
        let is_good = states.iter().all(|(_, runs)| *runs);
        let shown = states.iter().filter(|(_, runs)| all || !*runs);
        let words: Vec<String> = shown
            .map(|(name, runs)| format!("{name}: {}", if *runs { "running" } else { "not running" }))
            .collect();
        let code = if is_good { 0 } else { 2 };
        let words =
            if words.is_empty() { "all processes are running".to_string() } else { words.join(" - ") };
        Ok(format!("{code}&{words}"))
    }
}

/// The number of a cell, or why there is none.
fn number(cell: &Cell) -> Result<f64, String> {
    match &cell.value {
        Ok(Value::Text(_)) => Err("it is a text".to_string()),
        Ok(value) => value.as_f64().ok_or_else(|| "it is not a number".to_string()),
        Err(why) => Err(why.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_is_the_average_of_the_last_minutes() {
        let mut loads = Loads::default();
        assert_eq!(loads.average(1), None);
        for percent in [100.0, 50.0] {
            loads.add(percent);
        }
        assert_eq!(loads.average(60), Some(75.0));
        for _ in 0..12 {
            loads.add(10.0);
        }
        assert_eq!((loads.average(1), loads.average(2)), (Some(10.0), Some((150.0 + 120.0) / 14.0)));
        for _ in 0..2 * LOADS {
            loads.add(20.0);
        }
        assert_eq!((loads.newest_first.len(), loads.average(24 * 60)), (LOADS, Some(20.0)));
    }
}
