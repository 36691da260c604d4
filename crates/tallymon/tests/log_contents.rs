//! A long native log is opened by the contents at its end, and gives what walking through it gives.
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::path::Path;

use tallymon::core::counter::CounterType;
use tallymon::core::flow::{Sample, ValueState};
use tallymon::core::time::{FileTime, Frequency};
use tallymon::log::ReadOptions;
use tallymon::{Log, LogSummary};
use tallymon_log::native::{Counter, Definition, NativeWriter, RowTime, WriteOptions};
use tallymon_testkit::Scratch;

const SECOND: u64 = 10_000_000;
const START: u64 = 133_000_000_000_000_000;
const ROWS: u64 = 140_000;

/// A clock that is set back, and an instance that appears late.
fn time_of(row: u64) -> FileTime {
    let back = if (70_000..70_400).contains(&row) { 900 } else { 0 };
    FileTime(START + (row - back) * SECOND)
}

fn write(path: &Path) {
    let mut writer = NativeWriter::create(path, WriteOptions::sealed()).unwrap();
    let counter = Counter {
        name: "Count".to_owned(),
        counter_type: CounterType::PERF_COUNTER_BULK_COUNT,
        scale: 0,
        time_base: Frequency(10_000_000),
        group: 0,
        wild: true,
    };
    let definition = Definition { host: "h".to_owned(), object: "O".to_owned(), counters: vec![counter] };
    let table = writer.table(&definition).unwrap();
    for row in 0..ROWS {
        let time = time_of(row);
        writer.row(RowTime { time, local_minutes: if row < 50_000 { 0 } else { 60 } }).unwrap();
        for (instance, from) in [("early", 0), ("late", 100_001)] {
            if row < from {
                continue;
            }
            let id = writer.instance(table, Some(instance)).unwrap();
            let sample = Sample {
                counter_type: CounterType::PERF_COUNTER_BULK_COUNT,
                first: row * row % 1_000_003 + row * 1000,
                second: time.0,
                frequency: Frequency(10_000_000),
                multi_count: 1,
                time,
            };
            writer.put(id, 0, Ok(sample), ValueState::Present);
        }
    }
    writer.seal().unwrap();
}

#[test]
fn opening_by_contents_gives_what_walking_gives() {
    let folder = Scratch::new();
    let (path, plain) = (folder.join("a.tally"), folder.join("b.tally"));
    write(&path);
    let bytes = std::fs::read(&path).unwrap();
    // Without the last record there is no way to the contents.
    std::fs::write(&plain, &bytes[..bytes.len() - 20]).unwrap();
    let (read, all) = (ReadOptions::default(), ReadOptions::default());
    let log = Log::open(&path, &read).unwrap();
    let opened = read.bytes_read.count();
    let walked = Log::open(&plain, &all).unwrap();
    let all = all.bytes_read.count();
    assert!(opened < all, "{opened} of {all} bytes");
    let summary = |log: &Log| LogSummary { ..log.summary().clone() };
    assert_eq!(summary(&log), summary(&walked));
    assert_eq!(log.summary().records, ROWS);
    assert_eq!(log.columns(), walked.columns());
    assert_eq!(log.columns().len(), 2);
    let mut state = 1u64;
    for step in 0..60 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let row = match step {
            0..10 => [0, 1, 65_535, 65_536, 65_537, 70_000, 70_399, 100_000, 100_001, ROWS - 1][step],
            _ => (state >> 33) % ROWS,
        };
        for log in [&log, &walked] {
            if step % 3 == 0 {
                log.set_record(row)
            } else {
                log.set_time(time_of(row))
            };
        }
        for column in 0..2 {
            let text = |log: &Log| format!("{:?}", log.reading(column).unwrap());
            assert_eq!(text(&log), text(&walked), "record {row}, column {column}");
        }
    }
    for from in [0, 66_000, 70_100, 139_990] {
        let rows = |log: &Log| {
            let mut rows = Vec::new();
            log.read_from(
                &[0, 1],
                time_of(from),
                || true,
                |time, row| {
                    if time >= time_of(from) {
                        rows.push(format!("{time:?} {:?}", row.values));
                    }
                    rows.len() < 1000
                },
            )
            .unwrap();
            rows
        };
        // The first value depends on where reading begins.
        assert_eq!(rows(&log)[1..], rows(&walked)[1..], "from {from}");
    }
    assert_eq!(log.met(), tallymon::log::Notes::default());
}

#[test]
fn damage_is_met_where_it_is_read() {
    let folder = Scratch::new();
    let path = folder.join("a.tally");
    write(&path);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 8;
    std::fs::write(&path, &bytes).unwrap();
    let log = Log::open(&path, &ReadOptions::default()).unwrap();
    assert_eq!((log.summary().notes.damage_count, log.met().damage_count), (0, 0));
    log.set_record(0);
    log.reading(0).unwrap().unwrap();
    assert_eq!(log.met().damage_count, 0);
    let mut records = 0;
    log.read(&[0], |_, _| {
        records += 1;
        true
    })
    .unwrap();
    assert!((ROWS - 240..ROWS).contains(&records), "{records}");
    let met = log.met();
    assert!(met.damage.first().unwrap().byte <= middle as u64, "{met:?}");
}
