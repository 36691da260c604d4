//! What it costs to put logs into a lake: a log of counters, as a recording has them, and a log of computed
//! values, as a CSV has them. Two of three wander, the others rest.

use std::path::Path;
use std::process::{Command, Stdio};

use tallymon_bench::child;
use tallymon_core::counter::CounterType;
use tallymon_core::flow::{Absence, Cell, Column, NoValue, Row, Sample, Sink};
use tallymon_core::time::{FileTime, Frequency};
use tallymon_log::native::{NativeSink, NativeWriter, WriteOptions};

const COLUMNS: usize = 1_000;
const RECORDS: u64 = 6_000;
const START: u64 = 134_000_000_000_000_000;
const TICKS: u64 = 10_000_000;
const ROUNDS: usize = 3;

/// The counters of an instance.
const COUNTERS: [(&str, CounterType); 4] = [
    ("IO Bytes/sec", CounterType::PERF_COUNTER_BULK_COUNT),
    ("% Processor Time", CounterType::PERF_100NSEC_TIMER),
    ("Page Faults/sec", CounterType::PERF_COUNTER_COUNTER),
    ("Working Set", CounterType::PERF_COUNTER_LARGE_RAWCOUNT),
];

pub(crate) fn run(folder: &Path) {
    std::fs::create_dir_all(folder).expect("the folder for temporary files can be written");
    println!("{:34}{:>10}{:>12}{:>14}", "a log into a lake", "B/value", "ms of CPU", "values/s/core");
    let tally = tallymon_bench::built("tally");
    for (name, is_computed) in [("counters", false), ("computed values", true)] {
        let log = folder.join(format!("{}.tally", name.replace(' ', "-")));
        make(&log, is_computed);
        for format in ["lake", "parquet", "csv"] {
            let out = folder.join(format!("out.{format}"));
            let mut spent = Vec::new();
            let mut bytes = 0;
            for _ in 0..ROUNDS {
                let mut command = Command::new(&tally);
                command.arg("relog").arg(&log).args(["-f", format, "-o"]).arg(&out);
                spent.push(child::run(command.stdout(Stdio::null()).stderr(Stdio::null())).cpu);
                bytes = size(&out);
                let _ = std::fs::remove_dir_all(&out);
                let _ = std::fs::remove_file(&out);
            }
            spent.sort_by(f64::total_cmp);
            let values = COLUMNS as f64 * RECORDS as f64;
            let (seconds, each) = (spent[ROUNDS / 2], bytes as f64 / values);
            let name = format!("{name}, {format}");
            println!("{name:34}{each:>10.2}{:>12.0}{:>12.1} M", seconds * 1e3, values / seconds / 1e6);
        }
    }
    println!();
}

/// Bytes of a file, or of the files in a folder.
fn size(path: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(path) else {
        return std::fs::metadata(path).map_or(0, |data| data.len());
    };
    entries.flatten().map(|entry| size(&entry.path())).sum()
}

/// Pseudo-random numbers, identical in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

fn column(nth: usize, is_computed: bool) -> Column {
    let (name, counter_type) = COUNTERS[nth % COUNTERS.len()];
    let path = format!(r"\\host\Process(program-{})\{name}", nth / COUNTERS.len());
    Column {
        parts: path.parse().ok(),
        path,
        counter_type: if is_computed { CounterType::PERF_DOUBLE_RAW } else { counter_type },
        scale: 0,
        time_base: Frequency(if is_computed { 0 } else { TICKS.cast_signed() }),
        group: u32::try_from(nth).unwrap_or_default(),
        wild: true,
        live: None,
    }
}

fn make(path: &Path, is_computed: bool) {
    let columns: Vec<Column> = (0..COLUMNS).map(|nth| column(nth, is_computed)).collect();
    let options = WriteOptions { keep_instances: true, ..WriteOptions::sealed() };
    let mut sink = NativeSink::new(NativeWriter::create(path, options).expect("it can be written"));
    sink.columns(&columns).expect("it can be written");
    let mut random = Random(0x1234_5678_9abc_def1);
    let mut last: Vec<u64> = (0..COLUMNS).map(|_| random.below(1_000_000)).collect();
    for record in 0..RECORDS {
        // A recorder is late by some microseconds.
        let now = START + record * TICKS + random.below(2_000);
        let mut cells = Vec::with_capacity(COLUMNS);
        for (nth, (last, column)) in last.iter_mut().zip(&columns).enumerate() {
            if nth % 3 != 0 {
                *last = match nth % COUNTERS.len() {
                    0 => *last + random.below(4_096),
                    1 => *last + random.below(100) * 100_000,
                    2 => (*last + random.below(50)) & u64::from(u32::MAX),
                    _ => (*last + random.below(9)).saturating_sub(4),
                };
            }
            let has_clock = !is_computed && nth % COUNTERS.len() != 3;
            let sample = Sample {
                counter_type: column.counter_type,
                first: if is_computed { (*last as f64 / 1.000_3).to_bits() } else { *last },
                second: if has_clock { now } else { 0 },
                frequency: column.time_base,
                multi_count: 1,
                time: FileTime(now),
            };
            let empty = Cell::missing(NoValue::NoData(Absence::NotRequested));
            cells.push(Cell { sample: Some(sample), ..empty });
        }
        let row = Row { time: FileTime(now), local_minutes: 0, cells: &cells };
        sink.row(&row).expect("it can be written");
    }
    sink.into_inner().expect("it is not sealed").seal().expect("it can be written");
}
