//! The same rows give the same bytes: how the writer holds rows shows nowhere in a log.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::slice::from_ref;

use tallymon_core::counter::CounterType;
use tallymon_core::flow::{Absence, NoValue, Sample};
use tallymon_core::time::{FileTime, Frequency};
use tallymon_log::native::{Counter, Definition, NativeWriter, RowTime, TableId, WriteOptions};
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
                    writer.put(instance, counter, value, random.below(50) == 0);
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
        (name, bytes.len(), hash(bytes))
    });
    let expected = [
        ("live", 859_455, 0xb286_91e4_1f94_020d),
        ("every second", 609_339, 0xf2e4_6e9e_00c5_cf12),
        ("every minute", 941_795, 0x57bc_49cc_e2d7_56cb),
        ("many keys", 981_186, 0x508f_f723_0c1d_0387),
        ("sealed", 949_625, 0xa0bb_848e_12ec_941b),
        ("kept", 953_999, 0xe4b6_1211_2ef0_c7b2),
    ];
    assert_eq!(found, expected);
}

/// The records between that of the program and its version, and the index, which tells how long it is.
fn middle(bytes: &[u8]) -> &[u8] {
    let first = 28 + u32::from_le_bytes(*bytes[20..].first_chunk().unwrap()) as usize;
    let index = u64::from_le_bytes(*bytes.last_chunk().unwrap()) as usize;
    &bytes[first..index]
}

#[test]
fn the_bytes_of_samples_do_not_change() {
    let folder = Scratch::new();
    let expected = [
        ("PowerShell_CounterSamples.blg", 1_565, 0xcd56_4de7_ac72_b46c),
        ("Tx_BasicPerfCounters.blg", 11_938, 0x5193_5fb6_8f28_03ac),
        ("PAL_SampleLog.blg", 42_833, 0x949a_d126_146f_bfb1),
        ("PowerShell_CounterSamples.csv", 1_686, 0x9cc7_10b1_810c_11b7),
    ];
    for (name, length, expected) in expected {
        let Some(path) = shared(&format!("logs/{name}")) else { return };
        let to = folder.join("s.tally");
        relog(from_ref(&path), &to, &Options { format: Format::Tally, ..Options::default() }).unwrap();
        let bytes = std::fs::read(&to).unwrap();
        let bytes = middle(&bytes);
        assert_eq!((name, bytes.len(), hash(bytes)), (name, length, expected));
    }
}
