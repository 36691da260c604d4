//! Long runs on a simulated clock: what a day of the monitor and of a recorder leaves open and takes of memory.
//!
//! One test, in a program of its own: memory and descriptors belong to the whole process.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

#[allow(dead_code, reason = "other tests use the rest of the scripted machine")]
#[path = "monitor/fake.rs"]
mod fake;

use std::fs;
use std::path::Path;
use std::time::Duration;

use fake::Bench;
use tallymon::clock::LocalZone;
use tallymon::core::time::FileTime;
use tallymon::core::title::Language;
use tallymon::log::{ReadOptions, info};
use tallymon::record::{Existing, RollingRecorder, Rotation};
use tallymon::{Location, Query};
use tallymon_testkit::{Scratch, attack, attack_count};

const HOUR: u64 = 3_600;
/// Of anonymous memory, within which the hours after the first one stay: an allocator keeps some pages.
const SLACK: u64 = 4 << 20;

/// Open descriptors and anonymous resident bytes of this process.
fn taken() -> (usize, u64) {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon")).unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    (fs::read_dir("/proc/self/fd").unwrap().count(), kilobytes << 10)
}

/// Runs hour after hour, and compares what each one leaves with what the first one left.
fn level(what: &str, hours: u64, mut hour: impl FnMut(u64)) {
    hour(0);
    let (files, memory) = taken();
    let mut most = memory;
    for number in 1..hours {
        hour(number);
        let now = taken();
        assert_eq!(now.0, files, "{what}: descriptors after hour {number}");
        assert!(now.1 <= memory + SLACK, "{what}: {} bytes after hour {number}, {memory} after one", now.1);
        most = most.max(now.1);
    }
    println!("{what}: {hours} h, {files} descriptors, {memory} bytes after an hour, {most} at most");
}

/// One record a second, a file an hour, a ring of three files, of the objects of a snapshot.
fn record(hours: u64, folder: &Path) {
    let block = folder.join("block.bin");
    fs::write(&block, fake::block()).unwrap();
    let mut query = Query::open(&Location::File(block)).unwrap();
    for path in
        [r"\Processor(*)\% Processor Time", r"\Process(*)\% Processor Time", r"\Memory\Available MBytes"]
    {
        query.add(path).unwrap();
    }
    query.collect().unwrap();
    let logs = folder.to_path_buf();
    let path_of = move |number: u32| logs.join(format!("{number}.tally"));
    let rotation = Rotation { records: Some(HOUR), segments: Some(3), ..Rotation::default() };
    let mut recorder =
        RollingRecorder::new(path_of.clone(), 1, Existing::Replace, rotation, LocalZone::utc());
    // The disk is not what is tested.
    recorder.sync_every(Duration::from_secs(86_400));
    recorder.choose(&query);
    level("recorder", hours, |hour| {
        for second in hour * HOUR..(hour + 1) * HOUR {
            let time = FileTime(fake::START.0 + second * 10_000_000);
            recorder.record(query.snapshot().unwrap(), (time, FileTime(time.0 + 1_000))).unwrap();
            if recorder.is_full() {
                recorder.close().unwrap().sealed.unwrap();
                for number in (1..recorder.first_kept()).rev() {
                    if fs::remove_file(path_of(number)).is_err() {
                        break;
                    }
                }
            }
        }
    });
    let log = path_of(u32::try_from(hours).unwrap());
    assert_eq!(info(&log, &ReadOptions::default()).unwrap().records, HOUR);
}

/// A table and its history while 15 processes exist at a time and two of them are replaced each second; its
/// memory is compared once the history is full.
fn watch_short_lived_processes(rounds: u64) {
    let names: Vec<&'static str> =
        (0..2_000).map(|number| &*Box::leak(format!("job {number} of many").into_boxed_str())).collect();
    let budget = 256 << 10;
    let paths = [r"\Process(*)\% Processor Time"];
    let mut bench = Bench::with(&paths, Language::ENGLISH, |options| options.budget = budget);
    let run = |bench: &mut Bench, samples: u64| {
        for _ in 0..samples {
            let first = usize::try_from(bench.script.step.get()).unwrap() * 2;
            *bench.script.processes.lock() =
                names.iter().cycle().skip(first % 2_000).take(15).copied().collect();
            bench.run(1);
            if first.is_multiple_of(40) {
                bench.screen();
            }
        }
    };
    run(&mut bench, 3);
    bench.types("T");
    while bench.app.monitor().rows().start == 0 {
        run(&mut bench, 100);
    }
    level("short-lived processes", rounds, |_| {
        run(&mut bench, 1_000);
        let (bytes, stated) = bench.app.monitor().memory();
        assert!(bytes <= stated, "{bytes} of {stated}");
    });
}

#[test]
fn attack_a_day_leaves_descriptors_and_memory_as_they_were() {
    let hours = attack_count(2, 24) as u64;
    let folder = Scratch::in_memory();
    record(hours, &folder);
    let paths = [r"\Process(*)\% Processor Time", r"\Memory\Available MBytes"];
    // A little history, so that it is full after the first hour.
    let mut bench = Bench::with(&paths, Language::ENGLISH, |options| options.budget = 256 << 10);
    level("monitor", hours, |_| {
        for _ in 0..HOUR / 60 {
            bench.run(60);
            bench.screen();
        }
    });
    assert!(bench.app.monitor().rows().start > 0, "the history is not full");
    drop(bench);
    watch_short_lived_processes(attack_count(3, 24) as u64);
    attack(
        "Recordings",
        "a day of a recorder and of the monitor, on a simulated clock",
        "descriptors and memory stay as they were after an hour",
    );
}
