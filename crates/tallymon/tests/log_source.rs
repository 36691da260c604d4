//! Logs as sources: samples recorded by Windows, compared with the values that Windows computed from them.
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::path::Path;

use tallymon::core::counter::g17;
use tallymon::core::flow::{NoValue, Value};
use tallymon::core::title::Language;
use tallymon::log::new_file::Overwrite;
use tallymon::log::relog::{Options, relog};
use tallymon::log::{Format, ReadOptions, Record};
use tallymon::{Log, LogRow, LogSource, Query};
use tallymon_testkit::{Scratch, shared};

const BLG: &str = "logs/PowerShell_CounterSamples.blg";
const CSV: &str = "logs/PowerShell_CounterSamples.csv";

fn source(path: &Path) -> LogSource {
    Log::open(path, &ReadOptions::default()).unwrap().source()
}

/// The binary log has raw samples, the text log the values that Windows computed from them.
#[test]
fn values_of_a_binary_log_equal_what_windows_printed() {
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

/// A user without a name is a number, and a text log says no types: the order of the columns does not matter.
#[test]
fn texts_that_are_numbers_stay_texts() {
    let folder = Scratch::new();
    let log = folder.join("users.csv");
    for users in [["root", "4242"], ["4242", "root"]] {
        let column = |nth: &str| format!(",\"\\\\box\\Process Details({nth})\\User\"");
        let mut text = format!("\"(PDH-CSV 4.0) (UTC)(0)\"{}{}\r\n", column("a"), column("b"));
        for second in 0..3 {
            text += &format!("\"11/21/2026 10:00:0{second}.000\",\"{}\",\"{}\"\r\n", users[0], users[1]);
        }
        std::fs::write(&log, text).unwrap();
        // As an object of a source, where all instances have one type.
        let mut query = Query::new(Box::new(source(&log)), Language::ENGLISH).unwrap();
        let handle = query.add(r"\Process Details(*)\User").unwrap();
        query.collect().unwrap();
        let found: Vec<_> = query.readings_of(handle).iter().map(|one| one.cell.value.clone()).collect();
        assert_eq!(found, users.map(|user| Ok(Value::Text(user.to_owned()))));
    }
}

#[test]
fn setting_a_range_starts_over() {
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

/// Seeking to times in any order gives the values of reading from the first record to the last.
#[test]
fn seeking_to_a_time_gives_what_reading_up_to_it_gives() {
    let samples = [BLG, CSV, "logs/Tx_BasicPerfCounters.blg", "logs/PAL_SampleLog.blg"];
    let folder = Scratch::new();
    let native = folder.join("copy.tally");
    for sample in samples {
        let Some(sample) = shared(sample) else { return };
        let options = Options { format: Format::Tally, overwrite: Overwrite::Replace, ..Options::default() };
        relog(std::slice::from_ref(&sample), &native, &options).unwrap();
        for path in [&sample, &native] {
            let log = Log::open(path, &ReadOptions::default()).unwrap();
            let mut reader = tallymon::log::open(path, &ReadOptions::default()).unwrap();
            let mut records = Vec::new();
            while let Some(record) = reader.next_record().unwrap() {
                records.push(record);
            }
            assert_eq!(records.len() as u64, log.summary().records);
            assert_eq!(reader.about().columns, log.columns());
            let steps = [7, 0, 3, records.len() - 1, 4, 5, 1, records.len() / 2, 2];
            for (step, nth) in steps.into_iter().enumerate() {
                let nth = nth.min(records.len() - 1);
                if step % 2 == 0 {
                    log.set_record(nth as u64);
                } else {
                    log.set_time(records[nth].time);
                }
                let cells = &records[nth].cells;
                for column in (0..log.columns().len()).step_by(7) {
                    let found = log.reading(column).unwrap();
                    assert_eq!(found.is_some(), column < cells.len(), "{path:?}: {nth}, {column}");
                    let Some(found) = found else { continue };
                    assert_eq!(found.cell.sample, cells[column].ok(), "{path:?}: {nth}, {column}");
                    let older = nth.checked_sub(1).and_then(|older| records[older].cells.get(column)?.ok());
                    assert_eq!(found.older, older, "{path:?}: {nth}, {column}");
                }
            }
            let mut source = log.source();
            source.set_range(records[nth_of(&records)].time, records[records.len() - 1].time);
            let times: Vec<_> = std::iter::from_fn(|| source.collect().unwrap()).collect();
            let expected: Vec<_> = records[nth_of(&records)..].iter().map(|record| record.time).collect();
            assert_eq!(times, expected);
        }
    }
}

/// Columns read from a time on equal those read from the first record on, even if a column begins late; and
/// reading stops when it is no longer wanted.
#[test]
fn reads_columns_from_a_time_on() {
    let text: String = (0..50)
        .map(|row| format!("\"01/02/2020 03:04:{row:02}.000\",\"{row}\",\"{}\"\n", 100 - row))
        .collect();
    let head = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\a\\Memory\\Available Bytes\",\"\\\\a\\System\\Processes\"\n";
    let folder = Scratch::new();
    let made = folder.join("made.csv");
    std::fs::write(&made, format!("{head}{text}")).unwrap();
    let samples = [BLG, CSV, "logs/Tx_BasicPerfCounters.blg", "logs/PAL_SampleLog.blg"];
    let native = made.with_extension("tally");
    for sample in samples.into_iter().filter_map(shared).chain([made.clone()]) {
        let options = Options { format: Format::Tally, overwrite: Overwrite::Replace, ..Options::default() };
        relog(std::slice::from_ref(&sample), &native, &options).unwrap();
        for path in [&sample, &native] {
            let log = Log::open(path, &ReadOptions::default()).unwrap();
            let columns: Vec<usize> = (0..log.columns().len()).step_by(3).collect();
            let mut all = Vec::new();
            let each = |time, row: LogRow<'_>| {
                all.push((time, row.values.to_vec()));
                true
            };
            log.read(&columns, each).unwrap();
            assert_eq!(all.len() as u64, log.summary().records);
            // Twice, since the second time may use the reader of the first.
            for nth in [all.len() * 3 / 4, 1, all.len() / 2] {
                let from = all[nth].0;
                let (mut found, mut before) = (Vec::new(), 0);
                let each = |time, row: LogRow<'_>| {
                    if time < from {
                        before += 1;
                    } else {
                        found.push((time, row.values.to_vec()));
                    }
                    true
                };
                log.read_from(&columns, from, || true, each).unwrap();
                assert_eq!(found, all[nth..], "{path:?} from {nth}");
                assert!(before >= nth.min(1), "{path:?}: a rate needs the record before");
                // A native log can be read from each of its chunks, of which a short log has few.
                let is_near = nth < 3 || before < nth || path == &native;
                assert!(is_near, "{path:?}: {before} of {nth} records before were read");
            }
            let mut read = 0;
            let each = |_, _: LogRow<'_>| {
                read += 1;
                false
            };
            log.read_from(&columns, all[all.len() / 2].0, || false, each).unwrap();
            assert_eq!(read, 1, "{path:?}");
        }
    }
}

/// A record in the second half.
fn nth_of(records: &[Record]) -> usize {
    records.len() * 2 / 3
}

#[test]
fn opening_stops_when_the_log_is_no_longer_wanted() {
    let Some(file) = shared("logs/Tx_BasicPerfCounters.blg") else { return };
    let asked = std::cell::Cell::new(0);
    let stopped = Log::open_while(&file, &ReadOptions::default(), || asked.replace(asked.get() + 1) < 10);
    assert!(stopped.unwrap().is_none());
    assert_eq!(asked.get(), 11, "it has 601 records");
    let whole = Log::open_while(&file, &ReadOptions::default(), || true).unwrap().unwrap();
    assert_eq!(whole.summary().records, 601);
}

#[test]
fn refuses_files_that_are_no_logs() {
    let Some(corrupt) = shared("SOURCES.md") else { return };
    assert!(Log::open(&corrupt, &ReadOptions::default()).is_err());
}
