//! A BLG of 1 GB with the structure of a Windows sample, copied into every format.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use tallymon_bench::{big, child};
use tallymon_log::ReadOptions;

use crate::size;

/// Number of machines in the log, each with the counters of the sample.
const HOSTS: u32 = 60;

pub(crate) fn run(folder: &Path) {
    let Some(sample) = big::sample() else {
        println!("\na big BLG: not measured, TALLYMON_TESTDATA names no folder with the samples");
        return;
    };
    let log = folder.join("big.blg");
    let records = big::write(&sample, &log, big::wanted_bytes(), HOSTS);
    let bytes = size(&log) as f64;
    println!("\na BLG of {:.2} GB, {records} records of {HOSTS} machines", bytes / 1e9);
    println!("{:34} {:>10} {:>10} {:>12}", "", "seconds", "MB/s", "largest MB");
    let tally = tallymon_bench::built("tally");
    for format in ["tally", "blg", "csv"] {
        let out = folder.join(format!("out.{format}"));
        let mut command = Command::new(&tally);
        command.arg("relog").arg(&log).arg("-o").arg(&out).stderr(std::process::Stdio::null());
        let child::Used { seconds, megabytes, .. } = child::run(&mut command);
        println!("relog into {format:23} {seconds:10.1} {:10.0} {megabytes:12.0}", bytes / seconds / 1e6);
        if format == "tally" {
            opened(&out);
            opened(&log);
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
