//! A year at one record a second: opening it, going to a time, and statistics, by what the log says of itself
//! and by reading all of it.
//!
//! `TALLYMON_YEAR` is another number of records, and `TALLYMON_YEAR_COLUMNS` another number of counters than
//! 40.

use std::cell::RefCell;
use std::path::Path;
use std::time::Instant;

use tallymon::Log;
use tallymon_bench::cpu_time;
use tallymon_core::counter::CounterType;
use tallymon_core::flow::{Sample, ValueState};
use tallymon_core::time::{FileTime, Frequency};
use tallymon_log::native::{Counter, Definition, NativeWriter, RowTime, WriteOptions};
use tallymon_log::{ReadOptions, Selection, Stats, stats};

use crate::made_up::Random;
use crate::size;

const SECOND: u64 = 10_000_000;
const START: u64 = 133_000_000_000_000_000;

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().map_or(usual, |text| text.parse().expect("a number"))
}

pub(crate) fn run(folder: &Path) {
    let (rows, columns) = (number("TALLYMON_YEAR", 31_536_000), number("TALLYMON_YEAR_COLUMNS", 40));
    let log = folder.join("year.tally");
    println!("\na year: {rows} records of {columns} counters");
    let start = cpu_time();
    let sealing = write(&log, rows, columns);
    let all = (cpu_time() - start).as_secs_f64();
    let values = (rows * columns) as f64;
    println!(
        "written: {all:.1} s of CPU time ({:.0} M values/s), {:.1} of it to say at the end what is in it",
        values / all / 1e6,
        sealing
    );
    let contents = contents_of(&log);
    println!(
        "{} bytes ({:.3} a value), {contents} of them say what is in it",
        size(&log),
        size(&log) as f64 / values
    );
    let plain = folder.join("plain.tally");
    std::fs::copy(&log, &plain).expect("there is room");
    let file = std::fs::OpenOptions::new().write(true).open(&plain).expect("it can be written");
    file.set_len(size(&log) - 20).expect("it can be cut");
    println!("{:38} {:>14} {:>14}", "CPU time, ms; median of 11; once", "by contents", "by reading");
    let columns_of = |path: &[&str]| path.iter().map(|path| path.parse().expect("a path")).collect();
    let one: Selection = Selection { counters: columns_of(&[r"\Year(i)\Rate 3"]), ..Selection::default() };
    let opened = |path: &Path| drop(Log::open(path, &ReadOptions::default()).expect("it can be opened"));
    line("open", [&|| opened(&log), &|| opened(&plain)]);
    let (by_contents, by_reading) = (
        Log::open(&log, &ReadOptions::default()).expect("it can be opened"),
        Log::open(&plain, &ReadOptions::default()).expect("it can be opened"),
    );
    let seek = |log: &Log, random: &mut Random| {
        log.set_time(FileTime(START + (random.share() * rows as f64) as u64 * SECOND));
        assert!(log.reading(0).expect("it can be read").is_some());
    };
    for (name, log) in
        [("go to a second, by contents", &by_contents), ("go to a second, walked through", &by_reading)]
    {
        let mut random = Random(77);
        let mut times: Vec<f64> = (0..101)
            .map(|_| {
                let start = Instant::now();
                seek(log, &mut random);
                start.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        times.sort_by(f64::total_cmp);
        println!("{name:38} {:8.2} ms, 99 %: {:.2} ms (wall time)", times[50], times[99]);
    }
    let stats_of = |path: &Path, selection: &Selection| {
        let found = stats(&[path.to_path_buf()], selection, &ReadOptions::default()).expect("it can be read");
        assert_eq!(found.records, rows);
        found
    };
    for (name, selection) in
        [("stats of one counter", &one), ("stats of all counters", &Selection::default())]
    {
        let (with, without) = (RefCell::new(None), RefCell::new(None));
        line(
            name,
            [&|| drop(with.replace(Some(stats_of(&log, selection)))), &|| {
                drop(without.replace(Some(stats_of(&plain, selection))))
            }],
        );
        let columns = |found: RefCell<Option<Stats>>| found.into_inner().map(|found| found.columns);
        assert_eq!(columns(with), columns(without), "both ways give the same");
    }
}

fn line(name: &str, jobs: [&dyn Fn(); 2]) {
    let milliseconds = |rounds: usize, job: &dyn Fn()| {
        let mut times: Vec<(f64, f64)> = (0..rounds)
            .map(|_| {
                let (wall, start) = (Instant::now(), cpu_time());
                job();
                ((cpu_time() - start).as_secs_f64() * 1e3, wall.elapsed().as_secs_f64() * 1e3)
            })
            .collect();
        times.sort_by(|one, other| one.0.total_cmp(&other.0));
        times[rounds / 2]
    };
    let [(with, wall), (without, wall_without)] = [milliseconds(11, jobs[0]), milliseconds(1, jobs[1])];
    println!("{name:38} {with:14.2} {without:14.2}   (wall {wall:.2}, {wall_without:.2})");
}

/// The bytes behind the index.
fn contents_of(log: &Path) -> u64 {
    let bytes = std::fs::read(log).expect("it can be read");
    let end = &bytes[bytes.len() - 8..];
    bytes.len() as u64 - u64::from_le_bytes(end.try_into().expect("eight bytes"))
}

/// Writes the log; returns the seconds that sealing it took.
fn write(path: &Path, rows: u64, columns: u64) -> f64 {
    let options = WriteOptions { keep_instances: true, ..WriteOptions::sealed() };
    let mut writer = NativeWriter::create(path, options).expect("it can be written");
    let rate = CounterType::PERF_COUNTER_BULK_COUNT;
    let gauge = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
    let counter = |nth: u64| Counter {
        name: if nth.is_multiple_of(2) { format!("Gauge {nth}") } else { format!("Rate {nth}") },
        counter_type: if nth.is_multiple_of(2) { gauge } else { rate },
        scale: 0,
        time_base: Frequency(10_000_000),
        group: nth as u32,
        wild: false,
    };
    let definition = Definition {
        host: String::new(),
        object: "Year".to_owned(),
        counters: (0..columns).map(counter).collect(),
    };
    let table = writer.table(&definition).expect("it can be written");
    let id = writer.instance(table, Some("i")).expect("it can be written");
    let mut random = Random(0x1234_5678_9abc_def1);
    let mut last = vec![1_000u64; columns as usize];
    for row in 0..rows {
        let time = FileTime(START + row * SECOND);
        writer.row(RowTime { time, local_minutes: 0 }).expect("it can be written");
        let mut noise = random.bits();
        for (nth, value) in last.iter_mut().enumerate() {
            noise = noise.rotate_left(7);
            let step = noise & 63;
            // A gauge goes up and down, a rate has pauses.
            *value = match nth % 2 {
                0 => (*value + step).saturating_sub(31).max(100),
                _ if noise & 0x700 == 0 => *value,
                _ => *value + step * (nth as u64 + 1),
            };
        }
        let values = last.iter().enumerate().map(|(nth, value)| {
            let counter_type = if nth % 2 == 0 { gauge } else { rate };
            let second = if nth % 2 == 0 { 0 } else { time.0 };
            let sample = Sample {
                counter_type,
                first: *value,
                second,
                frequency: Frequency(10_000_000),
                multi_count: 1,
                time,
            };
            (Ok(sample), ValueState::Present)
        });
        writer.put_all(id, values);
    }
    let start = cpu_time();
    writer.seal().expect("it can be written");
    (cpu_time() - start).as_secs_f64()
}
