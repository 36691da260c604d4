//! The rows of a recording are in its file one by one, at every step of writing them and of putting a chunk
//! in their place.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex};

use tallymon_core::counter::CounterType;
use tallymon_core::flow::{Absence, NoValue, PartialSum, Sample, ValueState};
use tallymon_core::time::{FileTime, Frequency};
use tallymon_log::native::{Counter, Definition, NativeReader, NativeWriter, Output, RowTime, WriteOptions};
use tallymon_log::{LogReader, ReadOptions, Record, Records, info};
use tallymon_testkit::{Scratch, attack, attack_count};

const SECOND: u64 = 10_000_000;
const START: u64 = 133_000_000_000_000_000;
const KINDS: [CounterType; 3] = [
    CounterType::PERF_COUNTER_LARGE_RAWCOUNT,
    CounterType::PERF_100NSEC_TIMER,
    CounterType::PERF_COUNTER_COUNTER,
];

fn definition(object: u64) -> Definition {
    let counter = |(nth, kind): (usize, &CounterType)| Counter {
        name: format!("Counter {nth}"),
        counter_type: *kind,
        scale: 0,
        time_base: Frequency(10_000_000),
        group: 0,
        wild: true,
    };
    let counters = KINDS.iter().enumerate().map(counter).collect();
    Definition { host: "h".to_owned(), object: format!("O{object}"), counters }
}

fn time(row: u64) -> RowTime {
    RowTime { time: FileTime(START + row * SECOND), local_minutes: 60 }
}

/// The value of a counter in a row; `None` while its instance does not exist.
fn value(row: u64, object: u64, instance: u64, nth: u64) -> Option<Result<Sample, NoValue>> {
    if (row / 5 + instance) % 4 == 3 || object > row / 7 {
        return None;
    }
    if (row + instance + nth).is_multiple_of(11) {
        return Some(Err(NoValue::NoCounter));
    }
    let at = time(row).time;
    Some(Ok(Sample {
        counter_type: KINDS[nth as usize],
        first: row * row * (nth + 1) + instance * 1_000_000 * (row / 6),
        second: if nth == 0 { 0 } else { at.0 + object },
        frequency: Frequency(if row.is_multiple_of(13) { 7 } else { 10_000_000 }),
        multi_count: 1 + u32::from(nth == 2 && row > 20),
        time: FileTime(at.0 + u64::from(instance == 1 && row.is_multiple_of(3))),
    }))
}

/// Puts a row of up to three objects, some of which are read in some rows only.
fn put<W: Output>(writer: &mut NativeWriter<W>, row: u64) -> io::Result<()> {
    let begun = writer.row(time(row));
    for object in 0..3 {
        if object > row / 7 || (object == 1 && row % 4 == 2) {
            continue;
        }
        let table = writer.table(&definition(object))?;
        writer.window(table, FileTime(time(row).time.0 + 3), FileTime(time(row).time.0 + 50 + row % 7));
        for instance in 0..6 {
            for nth in 0..3 {
                let Some(value) = value(row, object, instance, nth) else { continue };
                let id = writer.instance(table, Some(&format!("i{instance}")))?;
                let state = match row % 9 {
                    4 => ValueState::Stale,
                    6 if instance == 0 => {
                        ValueState::Partial(PartialSum::new(2, 90, Absence::Vanished).unwrap())
                    }
                    _ => ValueState::Present,
                };
                writer.put(id, nth as usize, value, state);
            }
        }
    }
    begun.and(writer.commit())
}

/// Checks all values of a record. Returns its row.
fn check(record: &Record, reader: &dyn LogReader) -> u64 {
    let row = (record.time.0 - START) / SECOND;
    assert_eq!(record.local_minutes, 60);
    let mut found = 0;
    for (column, cell) in reader.about().columns.iter().zip(&record.cells) {
        let digit = |after: &str| column.path.split(after).nth(1).unwrap()[..1].parse::<u64>().unwrap();
        let (object, instance, nth) = (digit(r"\O"), digit("(i"), digit("Counter "));
        let expected = value(row, object, instance, nth).filter(|_| object != 1 || row % 4 != 2);
        assert_eq!(*cell, expected.unwrap_or(Err(NoValue::NoInstance)), "row {row}, {}", column.path);
        found += usize::from(expected.is_some());
    }
    let all = (0..3).flat_map(|object| (0..6).flat_map(move |i| (0..3).map(move |nth| (object, i, nth))));
    let all = all.filter(|(object, ..)| *object != 1 || row % 4 != 2);
    assert_eq!(found, all.filter(|(object, i, nth)| value(row, *object, *i, *nth).is_some()).count());
    row
}

/// The rows of a log, and its faults.
fn rows(bytes: &[u8]) -> (Vec<u64>, Vec<String>) {
    let mut reader = NativeReader::seekable(Cursor::new(bytes)).unwrap();
    let mut rows = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        rows.push(check(&record, &reader));
    }
    // A stream has the same rows as a file.
    let mut stream = NativeReader::new(bytes).unwrap();
    let of_stream = Records::new(&mut stream).map(|record| (record.unwrap().time.0 - START) / SECOND);
    assert_eq!(of_stream.collect::<Vec<u64>>(), rows);
    (rows, reader.about().notes.damage.iter().map(ToString::to_string).collect())
}

fn options(chunk: usize) -> WriteOptions {
    WriteOptions { rows: chunk, writer: "a test".to_owned(), ..WriteOptions::default() }
}

#[test]
fn each_row_is_there_when_it_was_put() {
    for chunk in [1, 2, 8, 120] {
        let mut writer = NativeWriter::new(Vec::new(), options(chunk)).unwrap();
        for row in 0..60 {
            put(&mut writer, row).unwrap();
            let all = ((0..=row).collect(), Vec::<String>::new());
            assert_eq!(rows(writer.output()), all, "chunks of {chunk}");
        }
        let sealed = writer.seal().unwrap();
        assert_eq!(rows(&sealed), ((0..60).collect(), Vec::new()), "chunks of {chunk}");
    }
}

/// Every state of a file between two system calls, and in the middle of each.
#[derive(Default)]
struct Steps {
    now: Vec<u8>,
    states: Vec<Vec<u8>>,
}

impl Write for Steps {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let at = self.now.len() as u64;
        self.write_at(at, bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output for Steps {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.now.cut(length)?;
        self.states.push(self.now.clone());
        Ok(())
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        // The jumps and the first bytes of a chunk lie in one sector, which is written whole or not.
        let (first, last) = (at / 512, (at + bytes.len() as u64 - 1) / 512);
        if first != last || bytes.len() > 20 {
            for part in (1..bytes.len()).step_by(1 + bytes.len() / 7) {
                let mut torn = self.now.clone();
                torn.write_at(at, &bytes[..part])?;
                self.states.push(torn);
            }
        }
        self.now.write_at(at, bytes)?;
        self.states.push(self.now.clone());
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn at_every_step_at_most_the_newest_row_is_missing() {
    let folder = Scratch::new();
    let path = folder.join("a.tally");
    for chunk in [3, 16] {
        let mut writer = NativeWriter::new(Steps::default(), options(chunk)).unwrap();
        writer.output().states.clear();
        for row in 0..36 {
            put(&mut writer, row).unwrap();
            for (nth, state) in std::mem::take(&mut writer.output().states).iter().enumerate() {
                let (found, faults) = rows(state);
                let expected: Vec<u64> = (0..row + u64::from(found.contains(&row))).collect();
                assert_eq!(found, expected, "chunks of {chunk}, row {row}, step {nth}: {faults:?}");
                // Only a row that is cut is a fault.
                let is_cut = |fault: &String| fault.contains("is cut after");
                assert!(faults.iter().all(is_cut), "row {row}, step {nth}: {faults:?}");
                // The recording goes on from there.
                if (nth + row as usize).is_multiple_of(3) {
                    std::fs::write(&path, state).unwrap();
                    let mut again = NativeWriter::append_to(&path, options(4)).unwrap();
                    for row in 100..106 {
                        put(&mut again, row).unwrap();
                    }
                    drop(again.seal().unwrap());
                    let wanted: Vec<u64> = found.iter().copied().chain(100..106).collect();
                    let all = rows(&std::fs::read(&path).unwrap());
                    assert_eq!(all, (wanted, Vec::new()), "chunks of {chunk}, row {row}, step {nth}");
                }
            }
        }
    }
}

/// A file that is read while it is written.
#[derive(Clone, Default)]
struct Growing(Arc<Mutex<Vec<u8>>>, u64);

impl Read for Growing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.0.lock().unwrap();
        let rest = bytes.get(self.1 as usize..).unwrap_or_default();
        // A few bytes at a time, so that the reader is always within the tail.
        let count = rest.len().min(buffer.len()).min(1 + self.1 as usize % 700);
        buffer[..count].copy_from_slice(&rest[..count]);
        self.1 += count as u64;
        Ok(count)
    }
}

impl Seek for Growing {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.1 = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::End(_) => self.0.lock().unwrap().len() as u64,
            SeekFrom::Current(step) => self.1.saturating_add_signed(step),
        };
        Ok(self.1)
    }
}

#[test]
fn a_reader_in_the_tail_goes_on_in_its_chunk() {
    // A file of which the reader has a part when the chunk takes the place of the rows.
    for (before, after) in [(30, 34), (30, 41), (35, 50), (5, 90)] {
        let mut writer = NativeWriter::new(Vec::new(), options(16)).unwrap();
        let file = Growing::default();
        for row in 0..before {
            put(&mut writer, row).unwrap();
        }
        file.0.lock().unwrap().clone_from(writer.output());
        for taken in 0..before {
            let mut reader = NativeReader::seekable(file.clone()).unwrap();
            let mut found = Vec::new();
            for _ in 0..taken {
                let record = reader.next_record().unwrap().unwrap();
                found.push(check(&record, &reader));
            }
            let mut writer = NativeWriter::new(Vec::new(), options(16)).unwrap();
            (0..after).for_each(|row| put(&mut writer, row).unwrap());
            let old = std::mem::replace(&mut *file.0.lock().unwrap(), writer.output().clone());
            while let Some(record) = reader.next_record().unwrap() {
                found.push(check(&record, &reader));
            }
            // Bytes that were read ahead are of the log as it was: then its newest rows are not seen.
            assert_eq!(found, (0..found.len() as u64).collect::<Vec<u64>>(), "{before} {after} {taken}");
            assert!(found.len() as u64 >= before, "{before} {after} {taken}: {}", found.len());
            assert_eq!(reader.about().notes, Default::default(), "{before} {after} {taken}");
            *file.0.lock().unwrap() = old;
        }
    }
}

#[test]
fn attack_a_flipped_bit_costs_one_chunk_at_most() {
    let most = 120;
    let recorded = attack_count(3_600, 36_000) as u64;
    let flips = attack_count(100, 1_000);
    let mut writer = NativeWriter::new(Vec::new(), WriteOptions::default()).unwrap();
    let table = writer.table(&definition(0)).unwrap();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut total = [0; 6];
    let mut written = std::collections::BTreeMap::new();
    for row in 0..recorded {
        writer.row(time(row)).unwrap();
        for (instance, total) in (0..).zip(&mut total) {
            *total += random() % 5_000;
            let id = writer.instance(table, Some(&format!("i{instance}"))).unwrap();
            let sample = Sample { first: *total, ..value(0, 0, 0, 1).unwrap().unwrap_or(PLAIN) };
            writer.put(id, 0, Ok(sample), ValueState::Present);
        }
        writer.commit().unwrap();
        written.insert(time(row).time, total);
    }
    let recording = writer.output().clone();
    let sealed = writer.seal().unwrap();
    for (name, mut bytes) in [("recording", recording), ("sealed", sealed)] {
        let length = bytes.len() as u64;
        let mut losses = Vec::new();
        for flip in 0..flips {
            // The head, the definitions and the end in any case.
            let bit = match flip {
                0..20 => random() % (400 * 8),
                20..25 => length * 8 - 1 - random() % 800,
                _ => random() % (length * 8),
            };
            bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
            let mut reader = NativeReader::seekable(Cursor::new(&bytes[..])).unwrap();
            let mut found = 0;
            let mut instances: Vec<Option<usize>> = Vec::new();
            while let Some(record) = reader.next_record().unwrap() {
                found += 1;
                // A definition that is lost and found later may have another place.
                for column in reader.about().columns.iter().skip(instances.len()) {
                    let is_of = |instance: &usize| column.path.contains(&format!("(i{instance})"));
                    instances.push((0..6).find(is_of));
                }
                // A record that is there is the one that was written, or says that a value is not.
                let values = &written[&record.time];
                for (cell, instance) in record.cells.iter().zip(&instances) {
                    if let Ok(sample) = cell {
                        assert_eq!(sample.first, values[instance.unwrap()], "{name}: bit {bit}");
                    }
                }
            }
            let lost = recorded - found;
            assert!(lost <= most, "{name}: bit {bit} costs {lost} records");
            let notes = &reader.about().notes;
            let words: Vec<String> = notes.damage.iter().map(|damage| damage.what.clone()).collect();
            if lost > 0 {
                // All are counted, but not a last one that is cut.
                let named = |words: &String| {
                    words.starts_with(&format!("{lost} record"))
                        || lost == 1 && words.contains("is cut after")
                };
                assert!(words.iter().any(named), "{name}: bit {bit}, {lost} lost: {words:?}");
            }
            losses.push(lost);
            bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
        losses.sort_unstable();
        let worst = losses.last().unwrap();
        let median = losses[losses.len() / 2];
        println!("{name}: {length} bytes, {flips} flips: median loss {median}, worst {worst} of {recorded}");
    }
    attack(
        "Recordings",
        "one bit of a long log changes",
        "at most one chunk of 120 records is lost, and named",
    );
}

const PLAIN: Sample = Sample {
    counter_type: KINDS[0],
    first: 0,
    second: 0,
    frequency: Frequency(0),
    multi_count: 1,
    time: FileTime(0),
};

#[test]
fn info_names_the_times_that_are_gone() {
    let folder = Scratch::new();
    let path = folder.join("g.tally");
    let mut writer = NativeWriter::create(&path, options(10)).unwrap();
    (0..50).for_each(|row| put(&mut writer, row).unwrap());
    drop(writer.seal().unwrap());
    let mut bytes = std::fs::read(&path).unwrap();
    let mut chunks = bytes.windows(4).enumerate().filter(|(_, mark)| *mark == b"\xa7TLC");
    let (third, _) = chunks.nth(2).unwrap();
    bytes[third + 40] ^= 4;
    std::fs::write(&path, &bytes).unwrap();
    let info = info(&path, &ReadOptions::default()).unwrap();
    assert_eq!(info.records, 40);
    let words: Vec<&str> = info.notes.damage.iter().map(|damage| damage.what.as_str()).collect();
    let stamp = |row: u64| time(row).time.system_time();
    let gone = format!("10 records are gone, after {}, before {} (UTC)", stamp(19), stamp(30));
    assert!(words.contains(&gone.as_str()), "{words:?}");
    assert_eq!(info.gap_count, 1);
}

#[test]
fn garbage_rows_and_jumps_are_reported() {
    let mut writer = NativeWriter::new(Vec::new(), options(100)).unwrap();
    (0..30).for_each(|row| put(&mut writer, row).unwrap());
    let bytes = writer.output().clone();
    let mut state = 7u64;
    for _ in 0..300 {
        let mut bytes = bytes.clone();
        let mut at = 16;
        while let Some(frame) = bytes.get(at..at + 12) {
            let length = u32::from_le_bytes(frame[4..8].try_into().unwrap()) as usize;
            let body = at + 12..at + 12 + length;
            for byte in &mut bytes[body.clone()] {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                if (state >> 40).is_multiple_of(90) {
                    *byte = (state >> 56) as u8;
                }
            }
            if (state >> 33).is_multiple_of(20) {
                // A jump to anywhere.
                bytes[at + 3] = b'J';
            }
            let sum = crc(&[&bytes[at + 3..at + 8], &bytes[body.clone()]].concat());
            bytes[at + 8..at + 12].copy_from_slice(&sum.to_le_bytes());
            at = body.end;
        }
        let Ok(mut reader) = NativeReader::seekable(Cursor::new(&bytes[..])) else { continue };
        let mut count = 0;
        while reader.next_record().unwrap().is_some() {
            count += 1;
            assert!(count <= 30 * 4096);
        }
        let _ = reader.seek(time(17).time).unwrap();
    }
}

/// CRC-32C bit by bit, unlike the one under test.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0x82f6_3b78 & (sum & 1).wrapping_neg()))
    })
}
