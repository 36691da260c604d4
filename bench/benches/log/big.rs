//! A BLG of 1 GB with the structure of a Windows sample, copied into every format.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use tallymon_core::time::FileTime;
use tallymon_log::blg::{BlgWriter, Data, Entry, RawCounter, WriteOptions};
use tallymon_log::{ReadOptions, open};

use crate::size;

/// Number of machines in the log, each with the counters of the sample.
const HOSTS: u32 = 60;

pub(crate) fn run(folder: &Path) {
    let sample = std::env::var_os("TALLYMON_TESTDATA")
        .map(|folder| PathBuf::from(folder).join("logs/Tx_BasicPerfCounters.blg"));
    let Some(sample) = sample.filter(|sample| sample.exists()) else {
        println!("\na big BLG: not measured, TALLYMON_TESTDATA names no folder with the samples");
        return;
    };
    let wanted: u64 =
        std::env::var("TALLYMON_BENCH_BYTES").ok().and_then(|text| text.parse().ok()).unwrap_or(1 << 30);
    let big = folder.join("big.blg");
    let records = write(&sample, &big, wanted);
    let bytes = size(&big) as f64;
    println!("\na BLG of {:.2} GB, {records} records of {HOSTS} machines", bytes / 1e9);
    println!("{:34} {:>10} {:>10} {:>12}", "", "seconds", "MB/s", "largest MB");
    let tally = tallymon_bench::built("tally");
    for format in ["tally", "blg", "csv"] {
        let out = folder.join(format!("out.{format}"));
        let start = Instant::now();
        let mut command = Command::new(&tally);
        command.arg("relog").arg(&big).arg("-o").arg(&out).stderr(std::process::Stdio::null());
        let largest = largest(&mut command);
        let seconds = start.elapsed().as_secs_f64();
        println!("relog into {format:23} {seconds:10.1} {:10.0} {:12.0}", bytes / seconds / 1e6, largest);
        if format == "tally" {
            opened(&out);
            opened(&big);
        }
        let _ = std::fs::remove_file(out);
    }
}

/// Opens a log as the monitor and the commands with `--log` do: for its range, its columns and its seek
/// points.
fn opened(log: &Path) {
    let start = Instant::now();
    let opened = tallymon::Log::open(log, &ReadOptions::default()).expect("it can be opened");
    let (seconds, bytes) = (start.elapsed().as_secs_f64(), size(log) as f64);
    let name = log.file_name().unwrap_or_default().to_string_lossy();
    assert!(opened.summary().records > 0);
    println!("open {name:29} {seconds:10.3} {:10.0}", bytes / seconds / 1e6);
}

/// Runs a command to its end, and returns its peak memory in MB.
fn largest(command: &mut Command) -> f64 {
    let mut child = command.spawn().expect("the released program was built before");
    let status = format!("/proc/{}/status", child.id());
    let mut largest = 0.0f64;
    while child.try_wait().expect("it can be waited for").is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        largest = largest.max(kilobytes.unwrap_or(0.0) / 1e3);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(child.wait().expect("it ended").success(), "the log is copied");
    largest
}

/// Writes the records of the sample repeatedly, with advancing times, until the log is large enough.
fn write(sample: &Path, big: &Path, wanted: u64) -> u64 {
    let mut log = open(sample, &ReadOptions::default()).expect("the sample can be read");
    let mut records = Vec::new();
    while let Some(record) = log.next_record().expect("the sample can be read") {
        records.push(record);
    }
    let columns = log.about().columns.clone();
    // One entry per counter. A wildcard has one entry for all instances, which form a group.
    let mut entries = Vec::new();
    let mut places: Vec<Vec<usize>> = Vec::new();
    for (at, column) in columns.iter().enumerate() {
        let joins = at > 0 && column.wild && columns[at - 1].group == column.group;
        match places.last_mut().filter(|_| joins) {
            Some(members) => members.push(at),
            None => places.push(vec![at]),
        }
    }
    for host in 0..HOSTS {
        for place in &places {
            let column = &columns[place[0]];
            let parts = column.parts.as_ref().expect("it is a path");
            let instance = parts.instance.as_ref().map(ToString::to_string);
            entries.push(Entry {
                flags: if column.wild { 0x2000_0001 } else { 0x2000_0000 },
                user: 0,
                counter_type: column.counter_type,
                time_base: column.time_base.0,
                scale: column.scale,
                machine: Some(format!("\\\\HOST{host}")),
                object: Some(parts.object.to_string()),
                instance: if column.wild { Some("*".to_owned()) } else { instance },
                parent: None,
                instance_index: 0,
                counter: Some(parts.counter.to_string()),
            });
        }
    }
    let names: Vec<std::sync::Arc<str>> = columns
        .iter()
        .map(|column| {
            let parts = column.parts.as_ref();
            parts
                .and_then(|parts| parts.instance.as_ref())
                .map(ToString::to_string)
                .unwrap_or_default()
                .into()
        })
        .collect();
    let out = BufWriter::new(File::create(big).expect("it can be written"));
    let mut writer = BlgWriter::new(out, WriteOptions::default(), entries).expect("it can be written");
    let span = records.last().map_or(0, |last| last.time.0 - records[0].time.0 + 10_000_000);
    let mut count = 0;
    while size(big) < wanted {
        for record in &records {
            let later = span * (count / records.len() as u64);
            let time = FileTime(record.time.0 + later);
            let raw = |at: usize| match record.cells.get(at) {
                Some(Ok(sample)) => RawCounter {
                    status: 0,
                    time: FileTime(sample.time.0 + later),
                    first: sample.first.cast_signed(),
                    second: sample.second.cast_signed(),
                    multi_count: sample.multi_count,
                },
                _ => RawCounter { status: 0xc000_0bba, time, ..RawCounter::default() },
            };
            let values: Vec<Data> = places
                .iter()
                .map(|members| {
                    let first = raw(members[0]);
                    if !columns[members[0]].wild {
                        return Data::Single(first);
                    }
                    let item = |at: &usize| {
                        let value = raw(*at);
                        (names[*at].clone(), 1, value.first, value.second)
                    };
                    Data::Multi { status: 0, time: first.time, items: members.iter().map(item).collect() }
                })
                .collect();
            let all: Vec<Data> = (0..HOSTS).flat_map(|_| values.iter().cloned()).collect();
            writer.record(time, time, &all).expect("it can be written");
            count += 1;
        }
    }
    writer.finish().expect("it can be written");
    count
}
