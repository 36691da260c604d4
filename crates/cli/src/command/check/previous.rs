//! Samples that one call keeps for the next, so that rates span the time between the calls.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value as Json, json};
use tallymon::Reading;
use tallymon::core::counter::{self, CounterType};
use tallymon::core::flow::{NoValue, Sample};
use tallymon::core::time::{FileTime, Frequency, UNITS_PER_SECOND};
use tallymon::log::new_file::{Overwrite, write_file};
use tallymon::registry::{Roots, Scope};
use tallymon_provider::trust::{check_path, open_file};

use crate::exit::{Failure, Kind};

/// The largest file that is read: some hundred thousand samples.
const MOST_BYTES: u64 = 64 << 20;

/// The samples of the call before, of the same paths.
pub(super) struct PreviousSamples {
    file: Option<PathBuf>,
    samples: Map<String, Json>,
}

impl PreviousSamples {
    /// What was kept for some paths; nothing if no call kept anything that can be read.
    pub(super) fn load(paths: &[String]) -> PreviousSamples {
        let folder =
            Roots::of_environment().folder(Scope::User).map(|registry| registry.with_file_name("check"));
        let file = folder.map(|folder| folder.join(format!("{:016x}.json", fingerprint(paths))));
        let text = file.as_ref().and_then(|file| {
            let mut text = String::new();
            // What others could have changed is nothing; keeping the new samples says so.
            check_path(file).ok()?;
            open_file(file).ok()?.take(MOST_BYTES).read_to_string(&mut text).ok()?;
            Some(text)
        });
        let samples = text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        PreviousSamples { file, samples }
    }

    /// The readings with rates since the samples that were kept. `None` if any of them cannot be computed:
    /// it is new, was kept too long ago, or began again.
    pub(super) fn since(&self, mut readings: Vec<Reading>, longest: Duration) -> Option<Vec<Reading>> {
        for reading in &mut readings {
            let Some(newer) = reading.cell.sample.filter(|newer| newer.counter_type.needs_two_samples())
            else {
                continue;
            };
            let older = sample(self.samples.get(&key(reading))?)?;
            let age = newer.time.0.checked_sub(older.time.0).filter(|age| *age > 0)?;
            if u128::from(age) * 1_000_000_000 / u128::from(UNITS_PER_SECOND) > longest.as_nanos() {
                return None;
            }
            match counter::compute(Some(&older), &newer) {
                Err(NoValue::NegativeValue | NoValue::NegativeDenominator | NoValue::NegativeTimebase) => {
                    return None;
                }
                value => reading.cell.value = value,
            }
        }
        Some(readings)
    }

    /// Keeps the samples of this call in place of those of the call before.
    pub(super) fn replace(&self, readings: &[Reading]) -> Result<(), Failure> {
        let Some(file) = &self.file else {
            let words = "there is no home folder for the samples of --since-last; set HOME or XDG_STATE_HOME";
            return Err(Failure::new(Kind::Other, words));
        };
        let two = |reading: &&Reading| reading.definition.counter_type.needs_two_samples();
        let samples: Map<String, Json> = readings
            .iter()
            .filter(two)
            .filter_map(|reading| Some((key(reading), written(&reading.cell.sample?))))
            .collect();
        // `su` keeps XDG_STATE_HOME, in which a user could have put a link to a file of root.
        check_path(file).map_err(|untrusted| Failure::new(Kind::AccessDenied, untrusted))?;
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).map_err(|error| Failure::file(folder, &error))?;
        }
        let bytes = Json::Object(samples).to_string();
        write_file(file, Overwrite::Replace, bytes.as_bytes()).map_err(|error| Failure::file(file, &error))
    }
}

/// An instance by its identity, so that another process of the same name does not continue it.
fn key(reading: &Reading) -> String {
    match reading.identity {
        Some(identity) => format!("{} {identity:?}", reading.path),
        None => reading.path.clone(),
    }
}

// Numbers are texts, because many readers of JSON take every number for a double.
fn written(sample: &Sample) -> Json {
    let Sample { counter_type, first, second, frequency, multi_count, time } = sample;
    json!([
        counter_type.0.to_string(),
        first.to_string(),
        second.to_string(),
        frequency.0.to_string(),
        multi_count.to_string(),
        time.0.to_string()
    ])
}

fn sample(json: &Json) -> Option<Sample> {
    let number = |position: usize| json.get(position)?.as_str();
    Some(Sample {
        counter_type: CounterType(number(0)?.parse().ok()?),
        first: number(1)?.parse().ok()?,
        second: number(2)?.parse().ok()?,
        frequency: Frequency(number(3)?.parse().ok()?),
        multi_count: number(4)?.parse().ok()?,
        time: FileTime(number(5)?.parse().ok()?),
    })
}

/// Names the file of some paths: FNV-1a, 64 bits.
fn fingerprint(paths: &[String]) -> u64 {
    let bytes = paths.iter().flat_map(|path| path.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
