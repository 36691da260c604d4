//! Buffers of a BLG that are missing, doubled or out of order; circular and appended logs.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::io::Cursor;

use tallymon_core::counter::CounterType;
use tallymon_core::time::{FileTime, UNITS_PER_SECOND};
use tallymon_log::blg::{BlgWriter, Data, Entry, RawCounter, WriteOptions};
use tallymon_log::open::read;
use tallymon_log::{LogReader, Notes, ReadOptions, Records, read_bytes};
use tallymon_testkit::shared;

const PAGE: usize = 0x1_0000;
const START: u64 = 131_000_000_000_000_000;

fn entry(counter: &str) -> Entry {
    Entry {
        flags: 0,
        user: 0,
        counter_type: CounterType::PERF_COUNTER_LARGE_RAWCOUNT,
        time_base: 0,
        scale: 0,
        machine: Some(r"\\box".to_owned()),
        object: Some("Thing".to_owned()),
        instance: None,
        parent: None,
        instance_index: 0,
        counter: Some(counter.to_owned()),
    }
}

/// A log whose records count from `from` to `to`. Padding makes a page of some hundred records.
fn log(counter: &str, from: u64, to: u64) -> Vec<u8> {
    let mut options = WriteOptions::default();
    options.header.start = FileTime(START);
    let entries = vec![entry(counter), entry("Padding")];
    let mut writer = BlgWriter::new(Cursor::new(Vec::new()), options, entries).unwrap();
    for row in from..to {
        let time = FileTime(START + row * UNITS_PER_SECOND);
        let raw =
            |first: u64| Data::Single(RawCounter { time, first: first as i64, ..RawCounter::default() });
        writer.record(time, time, &[raw(row), raw(7)]).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn pages(data: &[u8]) -> Vec<Vec<u8>> {
    data.chunks(PAGE).map(<[u8]>::to_vec).collect()
}

fn numbered(mut page: Vec<u8>, number: u64) -> Vec<u8> {
    page[0x18..0x20].copy_from_slice(&number.to_le_bytes());
    page
}

/// The header of a log with another mode and number of buffers.
fn header(data: &[u8], mode: u32, buffers: u32) -> Vec<u8> {
    let mut page = data[..PAGE].to_vec();
    let mode = u32::from_le_bytes(page[0x88..0x8c].try_into().unwrap()) | mode;
    page[0x88..0x8c].copy_from_slice(&mode.to_le_bytes());
    page[0x8c..0x90].copy_from_slice(&buffers.to_le_bytes());
    page
}

/// Times and first values of all records, and the notes.
fn records(mut log: Box<dyn LogReader + '_>) -> (Vec<(u64, u64)>, Notes) {
    let all = Records::new(&mut *log)
        .map(|record| {
            let record = record.unwrap();
            let value = record.cells.iter().find_map(|cell| cell.ok()).map_or(0, |sample| sample.first);
            (record.time.0, value)
        })
        .collect();
    (all, log.about().notes.clone())
}

fn of(data: &[u8]) -> (Vec<(u64, u64)>, Notes) {
    records(read_bytes(data, &ReadOptions::default()).unwrap())
}

#[track_caller]
fn told(notes: &Notes, words: &str) {
    let all: Vec<String> =
        notes.damage.iter().map(ToString::to_string).chain(notes.remarks.clone()).collect();
    assert!(all.iter().any(|told| told.contains(words)), "{words:?} is not in {all:#?}");
}

/// A log of ours, and a public one.
fn logs() -> Vec<Vec<u8>> {
    let mut logs = vec![log("Row", 0, 1500)];
    logs.extend(shared("logs/Tx_BasicPerfCounters.blg").map(|path| std::fs::read(path).unwrap()));
    logs
}

#[test]
fn buffers_out_of_order_are_read_by_their_numbers() {
    for data in logs() {
        let (all, notes) = of(&data);
        assert!(all.is_sorted() && notes == Notes::default());
        let whole = pages(&data);
        assert!(whole.len() >= 6, "{}", whole.len());
        for (one, other) in [(2, 3), (1, 2), (1, whole.len() - 1), (3, 5)] {
            let mut mixed = whole.clone();
            mixed.swap(one, other);
            let (records, notes) = of(&mixed.concat());
            assert!(records == all, "{one} and {other}");
            told(&notes, "out of order; they are read by their numbers");
            // A stream cannot go back: everything is there, and the faults are named.
            let mixed = mixed.concat();
            let (streamed, notes) = records_of_stream(&mixed);
            if one > 1 {
                assert_eq!(streamed.len(), all.len(), "{one} and {other}");
            }
            told(&notes, "was expected: buffers are missing, doubled or out of order");
        }
    }
}

fn records_of_stream(data: &[u8]) -> (Vec<(u64, u64)>, Notes) {
    records(read(data, &ReadOptions::default()).unwrap())
}

#[test]
fn buffers_of_server_2003_are_read_by_their_times() {
    let data = log("Row", 0, 1500);
    let (all, _) = of(&data);
    let mut whole = pages(&data);
    (whole[0][0x6c], whole[0][0x6d]) = (5, 2);
    // They have an identifier in place of the number.
    whole.iter_mut().for_each(|page| page[0x18..0x28].fill(0x5a));
    let (records, notes) = of(&whole.concat());
    assert!(records == all && notes == Notes::default(), "{notes:?}");
    whole.swap(1, 4);
    let (records, notes) = of(&whole.concat());
    assert!(records == all);
    told(&notes, "out of order; they are read by their times");
}

#[test]
fn missing_and_doubled_buffers_are_named() {
    for data in logs() {
        let (all, _) = of(&data);
        let whole = pages(&data);
        let mut missing = whole.clone();
        missing.remove(3);
        let (records, notes) = of(&missing.concat());
        assert!(records.len() < all.len() && records.is_sorted());
        told(&notes, "1 buffers are missing before it: number 3 and on");
        assert_eq!(notes.damage.iter().filter(|damage| damage.what.contains("missing")).count(), 1);

        let mut doubled = whole.clone();
        doubled.insert(4, whole[3].clone());
        let (records, notes) = of(&doubled.concat());
        assert!(records == all);
        told(&notes, "the buffer is a copy of buffer 3 and was left out");

        // A copy in place of another one.
        let mut replaced = whole.clone();
        replaced[4] = whole[2].clone();
        let (records, notes) = of(&replaced.concat());
        assert!(records.len() < all.len() && records.is_sorted());
        told(&notes, "the buffer is a copy of buffer 2 and was left out");
        told(&notes, "1 buffers are missing before it: number 4 and on");

        // A cut between two buffers: only the header shows it.
        let cut = whole[..whole.len() - 2].concat();
        let (records, notes) = of(&cut);
        assert!(records == all[..records.len()] && records.len() < all.len());
        told(&notes, "the log ends early");
        told(&records_of_stream(&cut).1, "the log ends early");
    }
}

#[test]
fn a_damaged_number_moves_no_buffer() {
    for data in logs() {
        let (all, _) = of(&data);
        for page in 1..pages(&data).len() {
            for number in [0u64, 1, 2, 4, 259, u64::MAX] {
                let mut damaged = pages(&data);
                if number == page as u64 {
                    continue;
                }
                damaged[page] = numbered(damaged[page].clone(), number);
                let (records, notes) = of(&damaged.concat());
                assert!(records == all, "buffer {page} numbered {number}: {notes:?}");
                assert!(notes.damage_count > 0, "buffer {page} numbered {number}");
            }
        }
    }
}

#[test]
fn a_circular_log_begins_with_its_oldest_buffer() {
    let (old, new) = (pages(&log("Row", 0, 2200)), pages(&log("Row", 2200, 3000)));
    let (rows, _) = of(&old.concat());
    let (newest, _) = of(&new.concat());
    // The writer began again behind the header, with a new counter list, and three old buffers are left.
    let behind: Vec<Vec<u8>> =
        new.iter().skip(1).zip(7..).map(|(page, number)| numbered(page.clone(), number)).collect();
    let count = 1 + behind.len() + 3;
    let mut file = vec![header(&old[0], 2, 40)];
    file.extend(behind);
    file.extend_from_slice(
        &old[4..7].iter().zip(4..).map(|(page, at)| numbered(page.clone(), at)).collect::<Vec<_>>(),
    );
    assert_eq!(file.len(), count);
    let data = file.concat();
    let (records, notes) = of(&data);
    assert_eq!(notes.damage, [], "{notes:?}");
    told(&notes, "a circular log: its oldest buffer is number");
    told(&notes, "a circular log: 3 older buffers were replaced");
    told(&notes, "the counter list comes after the first records");
    assert!(records.is_sorted() && records.ends_with(&newest));
    let kept = records.len() - newest.len();
    let first = rows.iter().position(|row| *row == records[0]).expect("an old record");
    assert_eq!(records[..kept], rows[first..first + kept]);
    assert!(kept > 300, "{kept}");
}

#[test]
fn an_appended_log_is_read_as_one() {
    let (one, other) = (log("Row", 0, 900), log("Other", 900, 1500));
    let mut all = of(&one).0;
    all.extend(of(&other).0);
    let behind = pages(&other)[1..].to_vec();
    let whole = pages(&one).len();
    let goes_on = behind.iter().zip(whole as u64..).map(|(page, at)| numbered(page.clone(), at));
    let again: Vec<Vec<u8>> = behind.clone();
    for (name, appended) in [
        ("its numbers go on", goes_on.collect::<Vec<_>>()),
        ("its numbers begin again", again),
        ("with its own header", pages(&other)),
    ] {
        let data = [one.clone(), appended.concat()].concat();
        let mut log = read_bytes(&data, &ReadOptions::default()).unwrap();
        let read: Vec<_> = Records::new(&mut *log).map(Result::unwrap).collect();
        let paths: Vec<&str> = log.about().columns.iter().map(|column| column.path.as_str()).collect();
        assert_eq!(paths, [r"\\box\Thing\Row", r"\\box\Thing\Padding", r"\\box\Thing\Other"], "{name}");
        assert_eq!(read.len(), all.len(), "{name}");
        for (record, (time, value)) in read.iter().zip(&all) {
            let column = if *value < 900 { 0 } else { 2 };
            assert_eq!((record.time.0, record.cells[column].unwrap().first), (*time, *value), "{name}");
        }
        assert_eq!(log.about().notes.damage, [], "{name}");
    }
}

#[test]
fn a_hostile_bias_of_an_unknown_zone_does_no_harm() {
    for bias in [i32::MIN, i32::MAX] {
        let mut options = WriteOptions::default();
        (options.header.start, options.header.zone.bias) = (FileTime(START), bias);
        let mut writer = BlgWriter::new(Cursor::new(Vec::new()), options, vec![entry("Row")]).unwrap();
        let time = FileTime(START);
        let raw = RawCounter { time, first: 7, ..RawCounter::default() };
        writer.record(time, time, &[Data::Single(raw)]).unwrap();
        let (records, _) = of(&writer.finish().unwrap().into_inner());
        assert_eq!(records.iter().map(|(_, value)| *value).collect::<Vec<_>>(), [7], "{bias}");
    }
}
