//! Recording: clocks that are set, midnights, and logs that are continued.
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::path::PathBuf;

use tallymon::core::time::{FileTime, UNITS_PER_SECOND};
use tallymon::log::native::WriteOptions;
use tallymon::log::new_file::Overwrite;
use tallymon::log::{Format, ReadOptions, info, open};
use tallymon::record::{convert, estimate, format_of, while_recording};
use tallymon::{Location, Query, Recorder};
use tallymon_testkit::shared;

/// A block of a Windows machine with processors.
const BLOCK: &str = "blocks/s00_obj238.bin";

fn query() -> Option<Query> {
    let mut query = Query::open(&Location::File(shared(BLOCK)?)).unwrap();
    query.add(r"\Processor(*)\% Processor Time").unwrap();
    query.collect().unwrap();
    Some(query)
}

fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("tallymon-record-{}-{name}", std::process::id()))
}

/// A time in seconds after the last second before midnight, UTC.
fn at(seconds: i64) -> FileTime {
    let midnight = FileTime::from_unix_nanoseconds(1_700_006_400_000_000_000).unwrap();
    FileTime(midnight.0.checked_add_signed((seconds - 1) * UNITS_PER_SECOND as i64).unwrap())
}

#[test]
fn set_clocks_and_midnights_lose_no_record() {
    let Some(query) = query() else { return };
    let path = file("clock.tally");
    let mut recorder = Recorder::create(&path, Overwrite::Never, WriteOptions::default()).unwrap();
    recorder.choose(&query);
    // Over midnight; one hour back at the end of summer time; and a pause.
    let times = [(0, 60), (1, 60), (2, 60), (-3600, 0), (-3599, 0), (-3598, 0), (-3500, 0)];
    for (seconds, minutes) in times {
        recorder.record(query.snapshot().unwrap(), minutes, (at(seconds), at(seconds))).unwrap();
    }
    assert_eq!(recorder.records(), 7);
    // It is not sealed, as after a recorder that flushed and was killed then.
    recorder.flush().unwrap();
    drop(recorder);
    let known = info(&path, &ReadOptions::default()).unwrap();
    assert_eq!((known.records, known.backward_records), (7, 1));
    assert_eq!(
        known.gaps.iter().map(|gap| (gap.after, gap.seconds)).collect::<Vec<_>>(),
        [(at(-3598), 98.0)]
    );
    assert!(known.notes.damage.is_empty());
    let mut log = open(&path, &ReadOptions::default()).unwrap();
    for (seconds, minutes) in times {
        let record = log.next_record().unwrap().unwrap();
        assert_eq!((record.time, record.local_minutes), (at(seconds), minutes));
        assert!(record.cells.iter().all(Result::is_ok));
    }
    // Another recorder continues it.
    let mut recorder = Recorder::append_to(&path, WriteOptions::default()).unwrap();
    recorder.choose(&query);
    recorder.record(query.snapshot().unwrap(), 0, (at(0), at(0))).unwrap();
    recorder.seal().unwrap();
    let known = info(&path, &ReadOptions::default()).unwrap();
    assert_eq!((known.records, known.columns.len()), (8, query.readings().len()));
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn another_format_replaces_the_recording() {
    let Some(query) = query() else { return };
    let output = file("other.blg");
    let recording = while_recording(&output, Format::Blg);
    assert_eq!(while_recording(&output, Format::Tally), output);
    let mut recorder = Recorder::create(&recording, Overwrite::Never, WriteOptions::default()).unwrap();
    recorder.choose(&query);
    recorder.record(query.snapshot().unwrap(), 0, (at(0), at(0))).unwrap();
    recorder.seal().unwrap();
    // If the log cannot be written, the recording stays.
    assert!(convert(&recording, &file("no folder").join("x.blg"), Format::Blg, Overwrite::Never).is_err());
    assert_eq!(convert(&recording, &output, Format::Blg, Overwrite::Never).unwrap().records, 1);
    assert!(!recording.exists());
    std::fs::remove_file(&output).unwrap();
}

#[test]
fn estimates_by_the_second_sample() {
    let Some(query) = query() else { return };
    let snapshot = query.snapshot().unwrap();
    let one = estimate(&query, [snapshot, snapshot], 1.0).unwrap();
    // A share of the head and the names of a chunk, and nearly nothing for a sample that is equal.
    assert!((1.0..50.0).contains(&one), "{one}");
    assert_eq!(estimate(&query, [snapshot, snapshot], 3600.0).unwrap(), one * 3600.0);
}

#[test]
fn formats_come_from_names() {
    for (name, path, format) in [
        (None, "a.blg", Format::Blg),
        (None, "a.CSV", Format::Csv),
        (None, "a", Format::Tally),
        (Some("tsv"), "a.blg", Format::Tsv),
    ] {
        assert_eq!(format_of(name, path.as_ref(), Format::Tally).unwrap(), format);
    }
    let error = format_of(Some("xls"), "a".as_ref(), Format::Tally).unwrap_err().to_string();
    assert!(error.contains("xls") && error.contains("blg"), "{error}");
}
