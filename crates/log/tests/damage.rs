//! Cut and damaged logs: nothing panics, what is whole is kept, and the damage is named.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::io::Cursor;

use tallymon_core::counter::CounterType;
use tallymon_core::time::FileTime;
use tallymon_log::blg::{BlgReader, BlgWriter, Data, Entry, WriteOptions, flags};
use tallymon_log::{Damage, LogReader, Notes, ReadOptions, Record, Records, read_bytes};
use tallymon_testkit::shared;

const BUFFER: usize = 0x1_0000;
const BINARY: [&str; 3] = ["PowerShell_CounterSamples.blg", "Tx_BasicPerfCounters.blg", "PAL_SampleLog.blg"];
const TEXT: [&str; 2] = ["PowerShell_CounterSamples.csv", "PowerShell_CounterSamples.tsv"];

fn sample(name: &str) -> Option<Vec<u8>> {
    shared(&format!("logs/{name}")).map(|path| std::fs::read(path).unwrap())
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

/// Where the data records of an undamaged BLG end, in the order of the file.
fn record_ends(data: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    for (number, buffer) in data.chunks(BUFFER).enumerate().skip(1) {
        let u32_at = |at: usize| u32::from_le_bytes(buffer[at..at + 4].try_into().unwrap());
        let mut at = 0x48;
        while at < u32_at(0x30) as usize {
            let size = usize::from(u16::from_le_bytes([buffer[at], buffer[at + 1]]));
            if buffer[at + 4] == 0x22 && u32_at(at + 0x40) == u32_at(at + 0x44) {
                ends.push(number * BUFFER + at + size);
            }
            at += size.next_multiple_of(8);
        }
    }
    ends
}

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[test]
fn every_prefix_of_a_binary_log_keeps_its_whole_records() {
    for name in BINARY {
        let Some(data) = sample(name) else { return };
        let (all, _) = read(&data);
        let ends = record_ends(&data);
        assert_eq!(ends.len(), all.len());
        // Every length near the border of a structure, and steps in between.
        let near = |center: usize| center.saturating_sub(9)..center + 9;
        let mut lengths: Vec<usize> = (0..0x180).chain((0..data.len()).step_by(4999)).collect();
        lengths.extend((0..data.len()).step_by(BUFFER).flat_map(near));
        lengths.extend(ends.iter().step_by(ends.len() / 12 + 1).flat_map(|end| near(*end)));
        for length in lengths.into_iter().filter(|length| *length < data.len()) {
            let (records, notes) = read(&data[..length]);
            let whole = ends.iter().filter(|end| **end <= length).count();
            // Of the record that is cut there may be a part.
            assert!(
                (whole..=whole + 1).contains(&records.len()),
                "{name} cut at {length}: {} of {whole} records",
                records.len()
            );
            assert_eq!(records[..whole], all[..whole], "{name} cut at {length}");
            // A log that ends between two buffers does not show that anything is missing.
            if length % BUFFER != 0 && length >= 0x180 {
                assert!(notes.damage_count > 0, "{name} cut at {length}");
                let here = |damage: &&Damage| damage.buffer == Some((length / BUFFER) as u64);
                assert!(notes.damage.iter().any(|damage| here(&damage)), "{name} cut at {length}: {notes:?}");
            }
        }
    }
}

#[test]
fn a_damaged_byte_costs_one_record_at_most() {
    for name in BINARY {
        let Some(mut data) = sample(name) else { return };
        let (all, notes) = read(&data);
        assert_eq!(notes, Notes::default());
        let ends = record_ends(&data);
        // All headers of buffers, the first event of each, the header of the file, and bytes anywhere.
        let mut places: Vec<usize> = (0..0x180).collect();
        places.extend((BUFFER..data.len()).step_by(BUFFER).flat_map(|buffer| buffer..buffer + 0x48 + 0x50));
        places.extend(ends.iter().step_by(ends.len() / 3 + 1).flat_map(|end| *end..*end + 0x70));
        let mut state = 88_172_645_463_325_252u64;
        places.extend((0..400).map(|_| random(&mut state) as usize % data.len()));
        places.retain(|place| *place < data.len());
        // The larger samples take longer, and have the same structures.
        let step = if data.len() > 2 * BUFFER { 151 } else { 2 };
        for place in places.into_iter().step_by(step) {
            let good = data[place];
            for bad in [good ^ 1, good ^ 0x80, 0, 0xff] {
                if bad == good {
                    continue;
                }
                data[place] = bad;
                let (records, notes) = read(&data);
                assert!(
                    records.len() + 1 >= all.len(),
                    "{name}: byte {place:#x} {good:#04x} -> {bad:#04x}: {} of {} records, {:?}",
                    records.len(),
                    all.len(),
                    notes.damage
                );
                if records.len() < all.len() {
                    assert!(
                        notes.damage_count > 0,
                        "{name}: byte {place:#x} {good:#04x} -> {bad:#04x} is not told"
                    );
                }
            }
            data[place] = good;
        }
    }
}

#[test]
fn lost_buffers_are_reported_and_cost_only_their_records() {
    let Some(data) = sample("Tx_BasicPerfCounters.blg") else { return };
    let (all, _) = read(&data);
    for fill in [0u8, 0xff, 0x5a] {
        let mut damaged = data.clone();
        damaged[2 * BUFFER..3 * BUFFER].fill(fill);
        let (records, notes) = read(&damaged);
        assert_eq!(records.len(), all.len() - 125);
        assert!(
            notes.damage.iter().any(|damage| damage.buffer == Some(2) && damage.record == Some(124)),
            "{notes:?}"
        );
    }
    let mut shifted = data[..3 * BUFFER].to_vec();
    shifted.extend_from_slice(&data[4 * BUFFER..]);
    assert_eq!(read(&shifted).0.len(), all.len() - 125);
}

#[test]
fn a_missing_part_of_a_record_is_reported() {
    let Some(data) = sample("PAL_SampleLog.blg") else { return };
    let (all, _) = read(&data);
    // The second part of the third record stands at 23928 + 8072 + 8072 of buffer 3; its provider is
    // overwritten.
    let at = 3 * BUFFER + 39736;
    assert_eq!(data[at + 4], 0x22);
    let mut damaged = data.clone();
    damaged[at + 0x18..at + 0x28].fill(0);
    let mut log = BlgReader::new(damaged.as_slice(), &ReadOptions::default()).unwrap();
    let records: Vec<Record> = Records::new(&mut log).map(Result::unwrap).collect();
    let words: Vec<String> = log.about().notes.damage.iter().map(ToString::to_string).collect();
    assert!(words.iter().any(|words| words.contains("part 2 of 3 of the record is missing")), "{words:#?}");
    // What the first part holds is kept.
    assert_eq!(records.len(), all.len());
    let good = |record: &Record| record.cells.iter().filter(|cell| cell.is_ok()).count();
    assert!(
        good(&records[2]) > 0 && good(&records[2]) < good(&all[2]),
        "{} {}",
        good(&records[2]),
        good(&all[2])
    );
    assert_eq!(records[3].time, all[3].time);
}

#[test]
fn every_prefix_and_damage_of_a_text_log() {
    for name in TEXT {
        let Some(data) = sample(name) else { return };
        let (all, _) = read(&data);
        let ends: Vec<usize> = (0..data.len()).filter(|at| data[*at] == b'\n').skip(1).collect();
        for length in 0..data.len() {
            let (records, notes) = read(&data[..length]);
            let whole = ends.iter().filter(|end| **end <= length).count();
            assert_eq!(records.len(), whole, "{name} cut at {length}");
            let cut = length > ends[0] && !ends.iter().any(|end| (*end..=*end + 1).contains(&length));
            assert_eq!(cut, length > ends[0] && notes.damage_count > 0, "{name} cut at {length}");
        }
        let header = data.iter().position(|byte| *byte == b'\n').unwrap();
        let mut data = data;
        for place in 0..data.len() {
            let good = data[place];
            for bad in [good ^ 1, good ^ 0x80, 0, 0xff, b'"', b'\n'] {
                data[place] = bad;
                let (records, _) = read(&data);
                // A damaged line, and the one before it when its end is damaged; the first line has
                // everything.
                assert!(place <= header || records.len() + 2 >= all.len(), "{name}: byte {place} {bad:#04x}");
            }
            data[place] = good;
        }
    }
}

#[test]
fn garbage_does_not_panic() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let Some(head) = sample("PowerShell_CounterSamples.blg") else { return };
    for round in 0..300 {
        let length = (random(&mut state) % 4096) as usize;
        let garbage: Vec<u8> = (0..length).map(|_| random(&mut state) as u8).collect();
        read(&garbage);
        // Garbage behind a good begin gets deeper: into the list, into the first records.
        let keep = BUFFER + 0x48 + (random(&mut state) % 3000) as usize;
        let mut tail = head[..keep].to_vec();
        tail.extend_from_slice(&garbage);
        read(&tail);
        let mut text = b"\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\h\\o\\c\"\n".to_vec();
        text.extend_from_slice(&garbage);
        read(&text);
        // Several damaged bytes at once.
        let mut many = head.clone();
        for _ in 0..(round % 40) {
            let place = BUFFER + (random(&mut state) % 22_000) as usize;
            many[place] = random(&mut state) as u8;
        }
        read(&many);
    }
}

#[test]
fn items_that_share_a_long_name_are_damage() {
    let entry = Entry {
        flags: flags::WILDCARD,
        user: 0,
        counter_type: CounterType::PERF_COUNTER_RAWCOUNT,
        time_base: 1,
        scale: 0,
        machine: None,
        object: Some("Thing".to_owned()),
        instance: Some("*".to_owned()),
        parent: None,
        instance_index: 0,
        counter: Some("Value".to_owned()),
    };
    let items = (0..50).map(|n| if n == 0 { "x".repeat(500) } else { format!("n{n}") });
    let items: Vec<_> = items.map(|name| (name.into(), 1, 7, 0)).collect();
    let time = FileTime(131_000_000_000_000_000);
    let mut writer = BlgWriter::new(Cursor::new(Vec::new()), WriteOptions::default(), vec![entry]).unwrap();
    writer.record(time, time, &[Data::Multi { status: 0, time, items }]).unwrap();
    let mut data = writer.finish().unwrap().into_inner();
    let (records, notes) = read(&data);
    assert_eq!((records[0].cells.len(), notes.damage_count), (50, 0));

    // Every item gets the name of the first one.
    let first = data.windows(4).rposition(|bytes| bytes == b"BL\x03\x02").unwrap() + 8 + 0x18;
    let name: Vec<u8> = data[first..first + 4].to_vec();
    for item in 1..50 {
        data[first + 24 * item..][..4].copy_from_slice(&name);
    }
    let (records, notes) = read(&data);
    assert_eq!(records[0].cells.len(), 2, "as many as the length of the record has room for");
    assert_eq!(notes.damage_count, 1);
    assert!(notes.damage[0].what.contains("name of an item"), "{}", notes.damage[0]);
}
