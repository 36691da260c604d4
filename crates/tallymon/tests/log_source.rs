//! Logs as sources: Windows' own samples, against the values that Windows wrote for the same records.
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::path::Path;

use tallymon::core::counter::g17;
use tallymon::core::flow::{NoValue, Value};
use tallymon::log::ReadOptions;
use tallymon::{Log, LogSource};
use tallymon_testkit::shared;

const BLG: &str = "logs/PowerShell_CounterSamples.blg";
const CSV: &str = "logs/PowerShell_CounterSamples.csv";

fn source(path: &Path) -> LogSource {
    Log::open(path, &ReadOptions::default()).unwrap().source()
}

/// The binary log holds raw samples, the text log what Windows computed from them.
#[test]
fn values_of_a_binary_log_are_those_that_windows_printed() {
    let (Some(blg), Some(csv)) = (shared(BLG), shared(CSV)) else { return };
    let mut raw = source(&blg);
    let mut text = source(&csv);
    let paths: Vec<String> = text.log().columns().iter().map(|column| column.path.clone()).collect();
    assert_eq!(paths.len(), 10);
    let raws: Vec<_> = paths.iter().map(|path| raw.add(path).unwrap()).collect();
    let texts: Vec<_> = paths.iter().map(|path| text.add(path).unwrap()).collect();
    let mut compared = 0;
    loop {
        let times = (raw.collect().unwrap(), text.collect().unwrap());
        assert_eq!(times.0.is_none(), times.1.is_none());
        if times.0.is_none() {
            break;
        }
        for (one, other) in raws.iter().zip(&texts) {
            let [one] = &raw.readings_of(*one).unwrap()[..] else { panic!("one column a path") };
            let [other] = &text.readings_of(*other).unwrap()[..] else { panic!("one column a path") };
            if let Ok(printed) = &other.cell.value {
                let number = |value: &Value| g17(value.as_f64().unwrap()).to_string();
                assert_eq!(number(one.cell.value.as_ref().unwrap()), number(printed), "{}", one.path);
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 242);
}

#[test]
fn a_range_begins_anew() {
    let Some(blg) = shared(BLG) else { return };
    let mut query = source(&blg);
    let all = query.log().summary().clone();
    assert_eq!(all.records, 25);
    let handle = query.add(r"\Processor(*)\% Processor Time").unwrap();
    assert!(query.has(handle));
    let mut times = Vec::new();
    while let Some(time) = query.collect().unwrap() {
        times.push(time);
    }
    assert_eq!((times.first().copied(), times.last().copied()), (Some(all.first), Some(all.last)));
    query.set_range(times[3], times[5]);
    assert_eq!(query.collect().unwrap(), Some(times[3]));
    let [first] = &query.readings_of(handle).unwrap()[..] else { panic!("one processor") };
    assert_eq!(first.cell.value, Err(NoValue::FirstSample));
    assert_eq!(query.collect().unwrap(), Some(times[4]));
    assert!(query.readings_of(handle).unwrap()[0].cell.value.is_ok());
    assert_eq!(query.collect().unwrap(), Some(times[5]));
    assert_eq!(query.collect().unwrap(), None);
    query.remove(handle);
    assert!(query.readings_of(handle).unwrap().is_empty());
}

#[test]
fn who_no_longer_wants_a_log_does_not_wait_for_its_end() {
    let Some(file) = shared("logs/Tx_BasicPerfCounters.blg") else { return };
    let asked = std::cell::Cell::new(0);
    let stopped = Log::open_while(&file, &ReadOptions::default(), || asked.replace(asked.get() + 1) < 10);
    assert!(stopped.unwrap().is_none());
    assert_eq!(asked.get(), 11, "it has 601 records");
    let whole = Log::open_while(&file, &ReadOptions::default(), || true).unwrap().unwrap();
    assert_eq!(whole.summary().records, 601);
}

#[test]
fn what_is_no_log_is_refused() {
    let Some(corrupt) = shared("SOURCES.md") else { return };
    assert!(Log::open(&corrupt, &ReadOptions::default()).is_err());
}
