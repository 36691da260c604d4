//! A BLG copied into other formats: reading and writing on a processor each, and both on one.
//!
//! The CPU time of both threads says how long the copy takes where two processors are free: as long as the
//! longer one.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use tallymon_bench::{big, cpu_time};
use tallymon_log::new_file::Overwrite;
use tallymon_log::relog::Options;
use tallymon_log::{Format, relog};

use crate::size;

/// The argument that makes this program copy one log.
pub(crate) const RELOG: &str = "--relog";

/// Number of machines in the log, each with the counters of the sample.
const HOSTS: u32 = 60;
const ROUNDS: usize = 5;

pub(crate) fn run(folder: &Path) {
    let Some(sample) = big::sample() else {
        println!("\nrelog: not measured, TALLYMON_TESTDATA names no folder with the samples");
        return;
    };
    let log = folder.join("relog.blg");
    let records = big::write(&sample, &log, big::wanted_bytes(), HOSTS);
    let bytes = size(&log) as f64;
    println!(
        "\na BLG of {:.2} GB, {records} records of {HOSTS} machines; medians of {ROUNDS} in turns",
        bytes / 1e9
    );
    println!(
        "{:10} {:>12} {:>12} {:>12} {:>12} {:>14}",
        "seconds", "one: CPU", "two: CPU", "reader", "writer", "MB/s of longer"
    );
    for format in ["tally", "csv", "parquet"] {
        if !Format::from_name(format).is_some_and(|format| format.info().writes) {
            println!("{format:10} is not measured: this program was built without it");
            continue;
        }
        let mut times = [const { Vec::new() }; 4];
        let mut lengths = Vec::new();
        for _ in 0..ROUNDS {
            for (nth, alone) in [true, false].into_iter().enumerate() {
                let out = folder.join(format!("out.{format}"));
                let (all, writer) = child(&log, &out, format, alone);
                times[nth].push(all);
                if !alone {
                    times[2].push(all - writer);
                    times[3].push(writer);
                }
                lengths.push(hash(&out));
                let _ = std::fs::remove_file(out);
            }
        }
        assert!(lengths.windows(2).all(|pair| pair[0] == pair[1]), "the same bytes");
        let [one, two, reader, writer] = times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[ROUNDS / 2]
        });
        let rate = bytes / reader.max(writer) / 1e6;
        println!("{format:10} {one:12.2} {two:12.2} {reader:12.2} {writer:12.2} {rate:14.0}");
    }
}

/// FNV-1a of a file.
fn hash(path: &Path) -> u64 {
    let bytes = std::fs::read(path).expect("it was written");
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// The CPU time of a copy: of the whole process, and of the thread that writes.
fn child(log: &Path, out: &Path, format: &str, alone: bool) -> (f64, f64) {
    let own = std::env::current_exe().expect("this program has a path");
    let mut command = match alone {
        true => {
            let mut command = Command::new("taskset");
            command.args(["-c", "0"]).arg(own);
            command
        }
        false => Command::new(own),
    };
    let output = command.arg(RELOG).arg(log).arg(out).arg(format).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut numbers = text.split_whitespace().map(|word| word.parse::<f64>().expect("a number"));
    match (numbers.next(), numbers.next()) {
        (Some(all), Some(writer)) => (all, writer),
        _ => panic!("{}", String::from_utf8_lossy(&output.stderr)),
    }
}

/// Copies a log, and prints the CPU times.
pub(crate) fn copy(log: &str, out: &str, format: &str) {
    let format = Format::from_name(format).expect("a format");
    let options = Options { format, overwrite: Overwrite::Replace, ..Options::default() };
    let start = Instant::now();
    relog(&[log.into()], Path::new(out), &options).expect("it is copied");
    let own = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let own = own.tv_sec as f64 + own.tv_nsec as f64 / 1e9;
    println!("{} {own} {}", cpu_time().as_secs_f64(), start.elapsed().as_secs_f64());
}
