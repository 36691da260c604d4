//! Native logs that were cut, damaged, killed or left without room: nothing panics, and what was recorded
//! stays.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use tallymon_core::counter::CounterType;
use tallymon_core::flow::{Sample, ValueState};
use tallymon_core::time::{FileTime, Frequency};
use tallymon_log::native::{Counter, Definition, NativeReader, NativeWriter, Output, RowTime, WriteOptions};
use tallymon_log::{LogReader, Notes, ReadOptions, Record, Records, info, read_bytes};
use tallymon_testkit::{Scratch, skip};

const SECOND: u64 = 10_000_000;
const START: u64 = 133_000_000_000_000_000;
const RAW: CounterType = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;

fn definition() -> Definition {
    let counter = |name: &str| Counter {
        name: name.to_owned(),
        counter_type: RAW,
        scale: 0,
        time_base: Frequency(0),
        group: 0,
        wild: true,
    };
    Definition { host: "h".to_owned(), object: "O".to_owned(), counters: vec![counter("A"), counter("B")] }
}

/// One row, whose values tell its number.
fn put<W: Output>(writer: &mut NativeWriter<W>, row: u64, time: RowTime) -> io::Result<()> {
    let table = writer.table(&definition())?;
    // A row is begun also when those before it could not be written.
    let written = writer.row(time);
    for instance in 0..3 + row / 9 % 3 {
        let id = writer.instance(table, Some(&format!("i{instance}")))?;
        for nth in 0..2u64 {
            let sample = Sample {
                counter_type: RAW,
                first: row * (nth + 1) + instance,
                second: 0,
                frequency: Frequency(0),
                multi_count: 1,
                time: time.time,
            };
            writer.put(id, nth as usize, Ok(sample), ValueState::Present);
        }
    }
    written
}

fn at(row: u64) -> RowTime {
    RowTime { time: FileTime(START + row * SECOND), local_minutes: 0 }
}

fn read(bytes: &[u8]) -> (Vec<Record>, Notes) {
    match read_bytes(bytes, &ReadOptions::default()) {
        Ok(mut log) => {
            let records = Records::new(&mut *log).map(Result::unwrap).collect();
            (records, log.about().notes.clone())
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            (Vec::new(), Notes::default())
        }
    }
}

/// The number of a row, after checking all of its values.
fn number(record: &Record) -> u64 {
    let row = record.cells[0].unwrap().first;
    for (cell, nth) in record.cells.iter().zip(0u64..) {
        if let Ok(sample) = cell {
            assert_eq!(sample.first, row * (nth % 2 + 1) + nth / 2);
            assert_eq!(sample.time, record.time);
        }
    }
    assert_eq!(record.cells.iter().filter(|cell| cell.is_ok()).count() as u64, (3 + row / 9 % 3) * 2);
    row
}

/// A log of 120 rows with a place to begin at every so many, and how long it was after each number of rows.
fn log() -> (Vec<u8>, Vec<(usize, u64)>) {
    let options = WriteOptions { flush_seconds: 4, ..WriteOptions::sealed() };
    let mut writer = NativeWriter::new(Vec::new(), options).unwrap();
    let mut lengths = Vec::new();
    let mut before = 0;
    for row in 0..120 {
        put(&mut writer, row, at(row)).unwrap();
        if writer.bytes() > before {
            before = writer.bytes();
            lengths.push((before as usize, row));
        }
    }
    writer.flush().unwrap();
    lengths.push((writer.bytes() as usize, 120));
    (writer.seal().unwrap(), lengths)
}

#[test]
fn every_prefix_keeps_its_whole_chunks() {
    let (bytes, lengths) = log();
    let (all, notes) = read(&bytes);
    assert_eq!((all.len(), notes), (120, Notes::default()));
    for length in 0..bytes.len() {
        let (records, notes) = read(&bytes[..length]);
        let whole =
            lengths.iter().rev().find(|(end, _)| *end <= length).map_or(0, |(_, rows)| *rows as usize);
        assert_eq!(records.len(), whole, "cut at {length}");
        for (row, record) in (0..).zip(&records) {
            assert_eq!(number(record), row);
        }
        for damage in &notes.damage {
            // The record that is cut is named by its first byte.
            assert_eq!(
                &bytes[damage.byte as usize..][..2],
                [0xa7, b'T'].as_slice(),
                "cut at {length}: {damage}"
            );
        }
        // It can be gone on with, and nothing of it is lost.
        if length.is_multiple_of(7) {
            let folder = Scratch::new();
            let path = folder.join("p.tally");
            std::fs::write(&path, &bytes[..length]).unwrap();
            let mut writer = NativeWriter::append_to(&path, WriteOptions::default()).unwrap();
            put(&mut writer, 500, at(500)).unwrap();
            writer.seal().unwrap();
            let (records, notes) = read(&std::fs::read(&path).unwrap());
            assert_eq!((records.len(), notes.damage_count), (whole + 1, 0), "cut at {length}");
            assert_eq!(number(records.last().unwrap()), 500);
        }
    }
}

#[test]
fn a_damaged_byte_costs_rows_up_to_the_next_key() {
    let (mut bytes, _) = log();
    let mut state = 88_172_645_463_325_252u64;
    for place in (16..bytes.len()).step_by(3) {
        let good = bytes[place];
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        bytes[place] ^= 1 << (state >> 61);
        let (records, notes) = read(&bytes);
        let rows: Vec<u64> = records.iter().map(number).collect();
        assert!(rows.is_sorted());
        // The definition is not given twice in so short a log: without it there are no values.
        let lost = 120 - rows.len();
        assert!(lost <= 12 || rows.is_empty() && place < 200, "byte {place}: {lost} rows lost");
        assert!(lost == 0 || notes.damage_count > 0, "byte {place}");
        let near = notes.damage.iter().any(|damage| damage.byte <= place as u64);
        assert!(near || notes.damage.is_empty(), "byte {place}: {:?}", notes.damage);
        bytes[place] = good;
    }
}

#[test]
fn garbage_with_valid_checksums_is_reported() {
    // Whole records whose bodies are noise: what is behind the sum is checked too.
    let (bytes, _) = log();
    let mut state = 7u64;
    for _ in 0..500 {
        let mut bytes = bytes.clone();
        let mut places = 16;
        while let Some(frame) = bytes.get(places..places + 12) {
            let length = u32::from_le_bytes(frame[4..8].try_into().unwrap()) as usize;
            let body = places + 12..places + 12 + length;
            for byte in &mut bytes[body.clone()] {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                if (state >> 40).is_multiple_of(60) {
                    *byte = (state >> 56) as u8;
                }
            }
            let kind = bytes[places + 3];
            let mut sum = vec![kind];
            sum.extend_from_slice(&bytes[places + 4..places + 8]);
            sum.extend_from_slice(&bytes[body.clone()]);
            bytes[places + 8..places + 12].copy_from_slice(&crc(&sum).to_le_bytes());
            places = body.end;
        }
        // Rows may be many and of any value; there is no panic and no end of memory.
        if let Ok(mut log) = read_bytes(&bytes, &ReadOptions::default()) {
            for _ in 0..500 {
                if log.next_record().unwrap().is_none() {
                    break;
                }
            }
        }
        let mut reader = match NativeReader::new(io::Cursor::new(&bytes)) {
            Ok(reader) => reader,
            Err(_) => continue,
        };
        let _ = reader.seek(at(77).time).unwrap();
    }
}

/// CRC-32C bit by bit, unlike the one under test.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0x82f6_3b78 & (sum & 1).wrapping_neg()))
    })
}

/// The records that a log says are gone. Nothing else may be wrong with it.
fn gone(notes: &Notes) -> u64 {
    let count = |damage: &tallymon_log::Damage| {
        let (count, words) = damage.what.split_once(' ').unwrap();
        assert!(words.starts_with("record"), "{damage}");
        count.parse::<u64>().unwrap()
    };
    notes.damage.iter().map(count).sum()
}

/// An output with room for so many bytes.
struct Small {
    bytes: Vec<u8>,
    room: usize,
}

impl Write for Small {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let fits = bytes.len().min(self.room.saturating_sub(self.bytes.len()));
        self.bytes.extend_from_slice(&bytes[..fits]);
        if fits == 0 && !bytes.is_empty() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(fits) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output for Small {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.bytes.cut(length)
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        if at as usize + bytes.len() > self.room.max(self.bytes.len()) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.bytes.write_at(at, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_output_counts_what_it_loses() {
    for room in (400..2_400).step_by(13) {
        let options = WriteOptions { flush_seconds: 3, ..WriteOptions::default() };
        let mut writer = NativeWriter::new(Small { bytes: Vec::new(), room: 1 << 20 }, options).unwrap();
        let mut failed = 0;
        for row in 0..200 {
            // Somebody makes room again.
            writer.output().room = if row < 150 { room } else { 1 << 20 };
            failed += u64::from(put(&mut writer, row, at(row)).is_err());
        }
        writer.flush().unwrap();
        let lost = writer.lost();
        let (records, notes) = read(&writer.output().bytes);
        let rows: Vec<u64> = records.iter().map(number).collect();
        assert!(rows.is_sorted() && rows.contains(&199));
        // What is gone is counted, by the writer and by the reader.
        assert_eq!(rows.len() as u64 + lost, 200, "room for {room}");
        assert_eq!(rows.len() as u64 + gone(&notes), 200, "room for {room}: {notes:?}");
        assert!(lost <= failed, "room for {room}: {failed} failures, {lost} lost");
    }
}

#[test]
fn a_full_disk_loses_only_rows_that_it_has_no_room_for() {
    let folder = Scratch::new();
    let disk = folder.join("disk");
    std::fs::create_dir_all(&disk).unwrap();
    let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=16k", "none"]).arg(&disk).output();
    if !mount.is_ok_and(|output| output.status.success()) {
        skip("a small file system cannot be mounted here, so that no disk can be full");
        return;
    }
    let path = disk.join("f.tally");
    let options = WriteOptions { flush_seconds: 3, ..WriteOptions::default() };
    let mut writer = NativeWriter::create(&path, options.clone()).unwrap();
    let mut failed = false;
    for row in 0..5_000 {
        failed |= put(&mut writer, row, at(row)).is_err();
    }
    drop(writer);
    let before = read(&std::fs::read(&path).unwrap());
    std::fs::copy(&path, folder.join("f.tally")).unwrap();
    assert!(Command::new("umount").arg(&disk).status().unwrap().success());
    assert!(failed, "the disk was full");
    assert!(before.0.len() > 100 && gone(&before.1) < 5_000, "{:?}", before.1);
    let path = folder.join("f.tally");
    let mut writer = NativeWriter::append_to(&path, options).unwrap();
    put(&mut writer, 6_000, at(6_000)).unwrap();
    writer.seal().unwrap();
    let (after, notes) = read(&std::fs::read(&path).unwrap());
    assert_eq!(after.len(), before.0.len() + 1);
    assert_eq!(gone(&notes), gone(&before.1));
    assert!(info(&path, &ReadOptions::default()).unwrap().gap_count >= 1);
}

const CHILD: &str = "TALLYMON_NATIVE_CHILD";
/// How many rows the child writes at most.
const LONGEST: &str = "TALLYMON_NATIVE_ROWS";

#[test]
fn the_child_that_is_killed() {
    // Does something only when the test below starts it.
    let Some(path) = std::env::var_os(CHILD) else { return };
    let options = WriteOptions { rows: 9, ..WriteOptions::default() };
    let mut writer = NativeWriter::append_to(Path::new(&path), options).unwrap();
    let first = info(Path::new(&path), &ReadOptions::default()).map_or(0, |info| info.records);
    let rows = std::env::var(LONGEST).ok().and_then(|rows| rows.parse().ok()).unwrap_or(u64::MAX);
    for row in (first..).take_while(|row| *row < rows) {
        println!("row {row}");
        put(&mut writer, row, at(row)).unwrap();
        writer.commit().unwrap();
    }
}

/// The rows that a killed recorder left, after the last one that it had announced.
fn check_killed(path: &Path, told: u64, what: &str) {
    let bytes = std::fs::read(path).unwrap();
    let (records, notes) = read(&bytes);
    // The row that was being taken may be gone, no other.
    assert!(records.len() as u64 >= told, "{what}: {} rows of {told}", records.len());
    assert!(notes.damage_count <= 1, "{what}: {notes:?}");
    for (row, record) in (0..).zip(&records) {
        assert_eq!(number(record), row, "{what}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn attack_a_recorder_is_killed_at_each_system_call() {
    use tallymon_testkit::{attack, attack_count, peer};
    let Some(strace) = peer("strace") else { return };
    let folder = Scratch::new();
    let path = folder.join("s.tally");
    let step = attack_count(5, 1);
    for (call, count) in [("write", 60), ("fdatasync", 16), ("ftruncate", 5), ("lseek", 20)] {
        for number in (1..=count).step_by(step) {
            let _ = std::fs::remove_file(&path);
            let output = Command::new(&strace)
                .args(["-qq", "-f", "-o", "/dev/null", "-P"])
                .arg(&path)
                .arg("-e")
                .arg(format!("inject={call}:signal=KILL:when={number}"))
                .arg(std::env::current_exe().unwrap())
                .args(["--exact", "the_child_that_is_killed", "--nocapture"])
                .env(CHILD, &path)
                .env(LONGEST, "40")
                .output()
                .unwrap();
            let lines = String::from_utf8_lossy(&output.stdout).into_owned();
            let mut rows = lines.lines().filter_map(|line| line.rsplit_once("row ")?.1.parse::<u64>().ok());
            check_killed(&path, rows.next_back().unwrap_or(0), &format!("{call} {number}"));
            // The number of calls depends on the lengths of rows.
            assert!(number > 3 || !output.status.success(), "{call} {number} was not reached: {lines}");
        }
    }
    attack("Recordings", "the recorder is killed at each of its system calls", "at most one record is lost");
}

#[test]
fn attack_a_recorder_is_killed_at_any_time() {
    let folder = Scratch::new();
    let path = folder.join("k.tally");
    let mut told = 0u64;
    for round in 0..tallymon_testkit::attack_count(25, 1_000) as u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_child_that_is_killed", "--nocapture"])
            .env(CHILD, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let rows = lines.filter_map(|line| line.rsplit_once("row ")?.1.parse::<u64>().ok());
        let last = rows.take(1 + round as usize * 7 % 23).last().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        told = told.max(last);
        check_killed(&path, told, &format!("round {round}"));
        if round % 50 == 49 {
            std::fs::remove_file(&path).unwrap();
            told = 0;
        }
    }
    tallymon_testkit::attack(
        "Recordings",
        "the recorder is killed at a random moment",
        "at most one record is lost",
    );
}

#[test]
fn clocks_may_be_set_back_and_zones_change() {
    let folder = Scratch::new();
    let path = folder.join("c.tally");
    let options = WriteOptions { flush_seconds: 5, numbers_between_keys: 30, ..WriteOptions::default() };
    let mut writer = NativeWriter::create(&path, options).unwrap();
    // Over midnight, where summer time ends too; then the clock is set back by a quarter of an hour, then on
    // by a day.
    let midnight = START - START % (86_400 * SECOND);
    let time = |row: u64| RowTime {
        time: FileTime(match row {
            0..40 => midnight + row * SECOND - 20 * SECOND,
            40..80 => midnight + row * SECOND - 900 * SECOND,
            _ => midnight + row * SECOND + 86_400 * SECOND,
        }),
        local_minutes: if row < 20 { 120 } else { 60 },
    };
    for row in 0..120 {
        put(&mut writer, row, time(row)).unwrap();
    }
    writer.seal().unwrap();
    let mut reader = NativeReader::open(&path).unwrap();
    let records: Vec<Record> = Records::new(&mut reader).map(Result::unwrap).collect();
    assert_eq!(records.len(), 120);
    for (row, record) in (0..).zip(&records) {
        assert_eq!(
            (number(record), record.time, record.local_minutes),
            (row, time(row).time, time(row).local_minutes)
        );
    }
    let info = info(&path, &ReadOptions::default()).unwrap();
    assert_eq!((info.backward_records, info.gap_count), (1, 1));
    assert!(info.gaps[0].seconds > 86_400.0);
    // The first record that is not older, in the order of the log.
    for row in [0, 19, 39, 80, 119] {
        assert!(reader.seek(time(row).time).unwrap());
        assert_eq!(number(&reader.next_record().unwrap().unwrap()), row);
    }
}
