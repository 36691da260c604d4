//! 2,000 synthetic series at 1 Hz for an hour: 700 bursty rates, 400 CPU times, 500 gauges, 100 noisy gauges,
//! 300 constants.

use std::path::Path;

use tallymon_bench::cpu_time;
use tallymon_core::counter::CounterType;
use tallymon_core::flow::{Absence, Cell, NoValue, Row, Sample, Sink};
use tallymon_core::time::{FileTime, Frequency};
use tallymon_log::native::{NativeReader, NativeSink, NativeWriter, WriteOptions};
use tallymon_log::new_file::Overwrite;
use tallymon_log::relog::Options;
use tallymon_log::{Column, Format, LogReader, ReadOptions, open, relog};

use crate::size;

pub(crate) const SERIES: usize = 2_000;
pub(crate) const SECONDS: usize = 3_600;
const START: u64 = 134_000_000_000_000_000;
const RAW: CounterType = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;

/// Pseudo-random numbers, identical in each run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// The next number.
    pub(crate) fn bits(&mut self) -> u64 {
        self.next()
    }

    /// A number from 0 to 1.
    pub(crate) fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Approximately normal: mean 0, deviation 1.
    fn normal(&mut self) -> f64 {
        (0..6).map(|_| self.share()).sum::<f64>() * 1.414 - 4.242
    }
}

/// The values of all series, second by second.
pub(crate) fn rows() -> Vec<Vec<u64>> {
    let mut random = Random(0x1234_5678_9abc_def1);
    let mut last: Vec<u64> = (0..SERIES).map(|_| random.next() % 1_000_000).collect();
    let scale: Vec<f64> = (0..SERIES).map(|_| 10f64.powf(random.share() * 3.0)).collect();
    let mut busy = vec![false; SERIES];
    let mut rows = Vec::new();
    for _ in 0..SECONDS {
        for n in 0..SERIES {
            let value = &mut last[n];
            match n {
                // Bursts of about ten seconds, with little or nothing between them.
                0..700 => {
                    if random.share() < if busy[n] { 0.1 } else { 0.04 } {
                        busy[n] = !busy[n];
                    }
                    let mean = if busy[n] { scale[n] } else { 0.2 };
                    *value += (-random.share().max(1e-9).ln() * mean) as u64;
                }
                // Ticks of 10 ms in units of 100 ns.
                700..1_100 => *value += (random.share() * scale[n] / 30.0) as u64 * 100_000,
                // Memory pages that come and go.
                1_100..1_600 if random.share() < 0.5 => {
                    *value = value.saturating_add_signed((random.normal() * scale[n]) as i64);
                }
                1_600..1_700 => *value = 100 + (random.share() * 8.0) as u64,
                _ if n % 5 < 3 => *value = 0,
                _ => {}
            }
        }
        rows.push(last.clone());
    }
    rows
}

pub(crate) fn columns() -> Vec<Column> {
    (0..SERIES)
        .map(|n| {
            let path = format!(r"\\bench\Series({})\Counter {}", n % 100, n / 100);
            let parts = path.parse().ok();
            let group = u32::try_from(n / 100).unwrap_or(0);
            Column {
                path,
                parts,
                counter_type: RAW,
                scale: 0,
                time_base: Frequency(0),
                group,
                wild: true,
                live: None,
            }
        })
        .collect()
}

fn sample(row: usize, value: u64) -> Result<Sample, NoValue> {
    let time = FileTime(START + row as u64 * 10_000_000);
    Ok(Sample { counter_type: RAW, first: value, second: 0, frequency: Frequency(0), multi_count: 1, time })
}

/// Writes the rows, and returns the seconds that writing took, without generating them.
fn write(path: &Path, options: WriteOptions, rows: &[Vec<u64>], seal: bool) -> f64 {
    let options = WriteOptions { keep_instances: true, ..options };
    let columns = columns();
    let writer = NativeWriter::create(path, options).expect("it can be written");
    let mut sink = NativeSink::new(writer);
    sink.columns(&columns).expect("it can be written");
    let mut cells = Vec::new();
    let mut taken = 0.0;
    for (row, values) in rows.iter().enumerate() {
        cells.clear();
        cells.extend(values.iter().map(|value| Cell {
            sample: sample(row, *value).ok(),
            ..Cell::missing(NoValue::NoData(Absence::NotRequested))
        }));
        let time = FileTime(START + row as u64 * 10_000_000);
        let start = cpu_time();
        sink.row(&Row { time, local_minutes: 0, cells: &cells }).expect("it can be written");
        taken += (cpu_time() - start).as_secs_f64();
    }
    let start = cpu_time();
    let mut writer = sink.into_inner().expect("it is not sealed");
    if seal {
        writer.seal().expect("it can be written");
    } else {
        writer.flush().expect("it can be written");
    }
    taken + (cpu_time() - start).as_secs_f64()
}

/// Reads all records, and returns the seconds that it took.
pub(crate) fn read(path: &Path) -> (f64, u64) {
    let start = cpu_time();
    let mut log = open(path, &ReadOptions::default()).expect("it can be read");
    let mut values = 0u64;
    while let Some(record) = log.next_record().expect("it can be read") {
        values += record.cells.iter().filter(|cell| cell.is_ok()).count() as u64;
    }
    ((cpu_time() - start).as_secs_f64(), values)
}

/// The longest and the median time of a seek to a second, in milliseconds.
pub(crate) fn seek(path: &Path, first: u64, seconds: u64) -> (f64, f64) {
    let mut times = Vec::new();
    for n in 0..200u64 {
        let mut reader = NativeReader::open(path).expect("it can be read");
        let start = std::time::Instant::now();
        let time = FileTime(first + (n * 7919 % seconds) * 10_000_000);
        assert!(reader.seek(time).expect("it can be read"), "the time is in the log");
        let record = reader.next_record().expect("it can be read").expect("there is one");
        times.push(start.elapsed().as_secs_f64() * 1e3);
        assert!(record.time >= time);
    }
    times.sort_by(f64::total_cmp);
    (times[times.len() * 99 / 100], times[times.len() / 2])
}

pub(crate) fn run(folder: &Path) {
    let rows = rows();
    let values = (SERIES * SECONDS) as f64;
    println!("\n{SERIES} made-up series, {SECONDS} seconds");
    println!("{:34} {:>9} {:>14} {:>14}", "", "B/value", "written M/s", "read M/s");
    let line = |name: &str, path: &Path, written: f64| {
        let (seconds, found) = read(path);
        assert_eq!(found as usize % SERIES, 0);
        let bytes = size(path) as f64 / values;
        println!("{name:34} {bytes:9.3} {:14.1} {:14.1}", values / written / 1e6, values / seconds / 1e6);
    };
    let live = folder.join("live.tally");
    let sealed = folder.join("sealed.tally");
    let seconds = write(&live, WriteOptions::default(), &rows, false);
    line("tally, recorded: each row at once", &live, seconds);
    let options = WriteOptions { write_through: false, ..WriteOptions::default() };
    let chunks = folder.join("chunks.tally");
    let seconds = write(&chunks, options, &rows, false);
    line("tally, chunks only", &chunks, seconds);
    let seconds = write(&sealed, WriteOptions::sealed(), &rows, true);
    line("tally, sealed", &sealed, seconds);
    for (name, path) in [("live", &live), ("sealed", &sealed)] {
        let (most, usual) = seek(path, START, SECONDS as u64);
        println!("to go to a second, {name}: {usual:.2} ms, of 100 the longest but one {most:.2} ms");
    }
    // The other formats are converted from the native log, so the time includes reading it.
    for format in [Format::Blg, Format::Csv] {
        let path = folder.join(format!("other.{}", format.info().extension));
        let start = cpu_time();
        relog(
            std::slice::from_ref(&sealed),
            &path,
            &Options { format, overwrite: Overwrite::Replace, ..Options::default() },
        )
        .expect("it is copied");
        let seconds = (cpu_time() - start).as_secs_f64();
        line(format.info().name, &path, seconds);
        let _ = std::fs::remove_file(path);
    }
}
