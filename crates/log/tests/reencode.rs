//! Decodes the 64-bit samples to plain entries and values, writes them again, and compares every byte that is
//! not a stale or volatile field of Windows' own writer.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::io::Cursor;

use tallymon_core::time::FileTime;
use tallymon_log::blg::{
    BlgReader, BlgWriter, Data, Entry, RawCounter, SubRecord, SubRecords, WriteOptions, parse_list,
};
use tallymon_log::{LogReader, ReadOptions, Records};
use tallymon_testkit::shared;

const BUFFER: usize = 0x1_0000;

fn u32_at(data: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(data[at..at + 4].try_into().unwrap())
}

/// The events of a whole sample: kind, time and body. The samples decoded here have no split records.
fn events(data: &[u8]) -> Vec<(u8, u64, &[u8])> {
    let mut events = Vec::new();
    for buffer in data.chunks(BUFFER).skip(1) {
        let used = u32_at(buffer, 0x30) as usize;
        let mut at = 0x48;
        while at < used {
            let size = usize::from(u16::from_le_bytes([buffer[at], buffer[at + 1]]));
            assert_eq!((u32_at(buffer, at + 0x40), u32_at(buffer, at + 0x44)), (1, 1));
            let time = u64::from_le_bytes(buffer[at + 0x10..at + 0x18].try_into().unwrap());
            events.push((buffer[at + 4], time, &buffer[at + 0x48..at + size]));
            at += size.next_multiple_of(8);
        }
    }
    events
}

fn values(body: &[u8]) -> Vec<Data> {
    SubRecords::new(body)
        .map(|record| match record.unwrap() {
            SubRecord::Single(raw) => Data::Single(raw),
            SubRecord::Multi(multi) => Data::Multi {
                status: multi.status,
                time: multi.time,
                items: multi
                    .items()
                    .map(|item| item.unwrap())
                    .map(|item| {
                        (item.name.to_string_lossy().into(), item.multi_count, item.first, item.second)
                    })
                    .collect(),
            },
            other => panic!("{other:?}"),
        })
        .collect()
}

/// Sets to zero what a writer other than Windows cannot know: flush times and stale bytes of buffer headers,
/// and the processor time of every event.
fn without_volatile_fields(data: &[u8]) -> Vec<u8> {
    let mut data = data[BUFFER..].to_vec();
    for buffer in data.chunks_mut(BUFFER) {
        buffer[0x10..0x18].fill(0);
        buffer[0x38..0x48].fill(0);
        let used = u32_at(buffer, 0x30) as usize;
        let mut at = 0x48;
        while at < used {
            buffer[at + 0x28..at + 0x30].fill(0);
            at += usize::from(u16::from_le_bytes([buffer[at], buffer[at + 1]])).next_multiple_of(8);
        }
    }
    data
}

#[test]
fn samples_of_64_bit_writers_are_written_byte_for_byte() {
    for (name, live_padding) in [("PowerShell_CounterSamples.blg", false), ("Tx_BasicPerfCounters.blg", true)]
    {
        let Some(path) = shared(&format!("logs/{name}")) else { return };
        let original = std::fs::read(path).unwrap();
        let header =
            BlgReader::new(original.as_slice(), &ReadOptions::default()).unwrap().header().unwrap().clone();
        let events = events(&original);
        let mut entries: Vec<Entry> = parse_list(events[0].2, &mut |error| panic!("{error}"));
        assert!(entries.iter().all(|entry| entry.machine.is_some()));
        let options = WriteOptions {
            id: original[BUFFER + 0x78..BUFFER + 0x88].try_into().unwrap(),
            thread_process: (u32_at(&original, BUFFER + 0x50), u32_at(&original, BUFFER + 0x54)),
            header,
            processor_mhz: u32_at(&original, 0x68 + 0x34),
            live_padding,
        };
        let mut writer =
            BlgWriter::new(Cursor::new(Vec::new()), options, std::mem::take(&mut entries)).unwrap();
        for (kind, time, body) in &events[1..] {
            assert_eq!(*kind, 0x22);
            writer.record(FileTime(*time), FileTime(*time), &values(body)).unwrap();
        }
        let written = writer.finish().unwrap().into_inner();
        assert_eq!(written.len(), original.len(), "{name}");
        let differ = |one: &[u8], other: &[u8]| -> Vec<usize> {
            (0..one.len()).filter(|at| one[*at] != other[*at]).collect()
        };
        assert_eq!(
            differ(&without_volatile_fields(&written), &without_volatile_fields(&original)),
            Vec::<usize>::new(),
            "{name}"
        );
        // Of the header buffer only times of the writing thread, and the time of the header event, are not
        // known.
        let header = differ(&written[..BUFFER], &original[..BUFFER]);
        assert!(header.iter().all(|at| (0x58..0x68).contains(at)), "{name}: {header:x?}");
    }
}

#[test]
fn long_records_are_cut_and_read_back() {
    let entry = |number: i64| Entry {
        flags: 0,
        user: 0,
        counter_type: tallymon_core::counter::CounterType::PERF_COUNTER_LARGE_RAWCOUNT,
        time_base: 10_000_000,
        scale: 0,
        machine: Some(r"\\host".to_owned()),
        object: Some("Numbers".to_owned()),
        instance: Some(format!("number {number}")),
        parent: None,
        instance_index: 0,
        counter: Some("Value".to_owned()),
    };
    const COUNTERS: i64 = 3000;
    let entries: Vec<Entry> = (0..COUNTERS).map(entry).collect();
    let mut writer = BlgWriter::new(Cursor::new(Vec::new()), WriteOptions::default(), entries).unwrap();
    let start = 131_000_000_000_000_000u64;
    for record in 0..5 {
        let time = FileTime(start + record * 10_000_000);
        let raw = |number: i64| RawCounter {
            status: 0,
            time,
            first: number * 7 + record as i64,
            second: 0,
            multi_count: 1,
        };
        let values: Vec<Data> = (0..COUNTERS).map(raw).map(Data::Single).collect();
        writer.record(time, time, &values).unwrap();
    }
    assert!(writer.record(FileTime(0), FileTime(0), &[]).is_err());
    let bytes = writer.finish().unwrap().into_inner();
    let mut log = BlgReader::new(bytes.as_slice(), &ReadOptions::default()).unwrap();
    let records: Vec<_> = Records::new(&mut log).map(Result::unwrap).collect();
    assert_eq!(log.about().notes, Default::default());
    assert_eq!((records.len(), log.about().columns.len()), (5, 3000));
    assert_eq!(log.about().columns[2999].path, r"\\host\Numbers(number 2999)\Value");
    for (nth, record) in records.iter().enumerate() {
        assert_eq!(record.time, FileTime(start + nth as u64 * 10_000_000));
        for (number, cell) in record.cells.iter().enumerate() {
            assert_eq!(cell.unwrap().first, number as u64 * 7 + nth as u64);
        }
    }
}
