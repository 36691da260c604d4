//! The same rows give the same bytes: how the writer holds rows shows nowhere in a log.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::slice::from_ref;

use tallymon_core::counter::CounterType;
use tallymon_core::flow::{Absence, NoValue, Sample, ValueState};
use tallymon_core::time::{FileTime, Frequency};
use tallymon_log::native::{Counter, Definition, NativeWriter, RowTime, TableId, WriteOptions};
use tallymon_log::new_file::Overwrite;
use tallymon_log::relog::Options;
use tallymon_log::{Format, relog};
use tallymon_testkit::{Scratch, shared};

/// FNV-1a of 64 bits.
fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Numbers that look random and are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

const TYPES: [CounterType; 6] = [
    CounterType::PERF_COUNTER_LARGE_RAWCOUNT,
    CounterType::PERF_COUNTER_COUNTER,
    CounterType::PERF_100NSEC_TIMER,
    CounterType::PERF_OBJ_TIME_TIMER,
    CounterType::PERF_RAW_FRACTION,
    CounterType::PERF_100NSEC_MULTI_TIMER,
];

fn definition(host: &str, object: &str) -> Definition {
    let counters = TYPES.iter().enumerate().map(|(nth, kind)| Counter {
        name: format!("Counter {nth}"),
        counter_type: *kind,
        scale: 0,
        time_base: Frequency(10_000_000),
        group: nth as u32,
        wild: true,
    });
    Definition { host: host.to_owned(), object: object.to_owned(), counters: counters.collect() }
}

/// A value of each kind that there is: with clocks and without, of its own time and frequency, old, and none.
fn value(random: &mut Random, counter_type: CounterType, first: u64, now: u64) -> Result<Sample, NoValue> {
    let chance = random.below(100);
    if chance < 3 {
        let reasons = [NoValue::NoInstance, NoValue::NoCounter, NoValue::NoData(Absence::AccessDenied)];
        return Err(reasons[chance as usize]);
    }
    Ok(Sample {
        counter_type,
        first,
        second: if chance < 90 { now } else { random.below(1 << 40) },
        frequency: Frequency(if chance == 50 { 3_579_545 } else { 10_000_000 }),
        multi_count: if counter_type.multi() { 4 + u32::from(chance == 60) } else { 1 },
        time: FileTime(now + if chance == 70 { 77 } else { 0 }),
    })
}

/// Several hosts and objects, whose instances come and go, some read in some rows only; a clock that is set
/// back once.
fn write(options: WriteOptions, rows: u64) -> Vec<u8> {
    let options = WriteOptions { writer: "a test".to_owned(), ..options };
    let mut writer = NativeWriter::new(Vec::new(), options).unwrap();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut tables: Vec<TableId> = Vec::new();
    let mut totals = vec![0u64; 4 * 40 * TYPES.len()];
    for row in 0..rows {
        let back = if row > rows / 2 { 3_600 } else { 0 };
        let now = 133_000_000_000_000_000 + (100_000 + row - back) * 10_000_000 + random.below(3) * 1_000;
        writer.row(RowTime { time: FileTime(now), local_minutes: if row > 60 { 120 } else { 60 } }).unwrap();
        // The last object is new after a while, within a chunk.
        for nth in 0..if row < 33 { 3 } else { 4 } {
            if tables.get(nth).is_none() {
                let definition = definition(["a", "a", "b", "b"][nth], &format!("Object {nth}"));
                tables.push(writer.table(&definition).unwrap());
            }
            if nth == 2 && row % 5 == 4 {
                continue;
            }
            let table = tables[nth];
            writer.window(table, FileTime(now + 10), FileTime(now + 500 + random.below(9)));
            for name in 0..40u64 {
                if (row / 9 + name).is_multiple_of(7) {
                    continue;
                }
                let instance = writer.instance(table, Some(&format!("i{name}"))).unwrap();
                for (counter, kind) in TYPES.iter().enumerate() {
                    let total = &mut totals[(nth * 40 + name as usize) * TYPES.len() + counter];
                    // Half of them hardly change.
                    if name.is_multiple_of(2) || random.below(40) == 0 {
                        *total += random.below(1 + (name + 1) * 1_000);
                    }
                    let value = value(&mut random, *kind, *total, now);
                    let is_old = random.below(50) == 0;
                    let state = if is_old { ValueState::Stale } else { ValueState::Present };
                    writer.put(instance, counter, value, state);
                }
            }
            if nth == 1 && row % 3 == 0 {
                let instance = writer.instance(table, None).unwrap();
                writer.put_text(instance, 0, &format!("text {}", row / 10));
            }
        }
    }
    writer.seal().unwrap()
}

#[test]
fn the_bytes_of_generated_rows_do_not_change() {
    let live = WriteOptions::default();
    let found = [
        ("live", live.clone()),
        ("every second", WriteOptions { flush_seconds: 1, ..live.clone() }),
        ("every minute", WriteOptions { flush_seconds: 60, ..live.clone() }),
        ("many keys", WriteOptions { numbers_between_keys: 3_000, ..live }),
        ("sealed", WriteOptions::sealed()),
        ("kept", WriteOptions { keep_instances: true, ..WriteOptions::sealed() }),
    ];
    let found = found.map(|(name, options)| {
        let bytes = write(options, 130);
        let bytes = middle(&bytes);
        (name, bytes.len(), hash(&bytes))
    });
    let expected = [
        ("live", 664_255, 0xb27b_ecc8_55ce_84f4),
        ("every second", 902_753, 0xbba4_5813_04da_5d91),
        ("every minute", 646_856, 0x13b3_2fb5_4652_5425),
        ("many keys", 763_905, 0xcbb8_93d2_105a_b46b),
        ("sealed", 950_228, 0x402f_7e62_f9d4_01f6),
        ("kept", 954_602, 0x3b9a_ac63_5c72_ffe8),
    ];
    assert_eq!(found, expected);
}

/// The records without those of the program and its version, and without the index, which tells how long they
/// are.
fn middle(bytes: &[u8]) -> Vec<u8> {
    let index = u64::from_le_bytes(*bytes.last_chunk().unwrap()) as usize;
    let (mut rest, mut middle) = (&bytes[16..index], Vec::new());
    while let Some(length) = rest.get(4..8) {
        let length = 12 + u32::from_le_bytes(length.try_into().unwrap()) as usize;
        let (record, behind) = rest.split_at(length);
        if record[3] != b'L' {
            middle.extend_from_slice(record);
        }
        rest = behind;
    }
    middle
}

#[test]
fn the_bytes_of_samples_do_not_change() {
    let folder = Scratch::new();
    let expected = [
        ("PowerShell_CounterSamples.blg", 1_901, 0x9200_a56c_926e_067b),
        ("Tx_BasicPerfCounters.blg", 12_753, 0x23f7_839d_9dc9_b667),
        ("PAL_SampleLog.blg", 48_153, 0x7575_95ec_5e52_1601),
        ("PowerShell_CounterSamples.csv", 2_004, 0x2849_1e51_6717_38ea),
    ];
    let mut found = Vec::new();
    for (name, ..) in expected {
        let Some(path) = shared(&format!("logs/{name}")) else { return };
        let to = folder.join("s.tally");
        let overwrite = Overwrite::Replace;
        relog(from_ref(&path), &to, &Options { format: Format::Tally, overwrite, ..Options::default() })
            .unwrap();
        let bytes = std::fs::read(&to).unwrap();
        let bytes = middle(&bytes);
        found.push((name, bytes.len(), hash(&bytes)));
    }
    assert_eq!(found, expected);
}
