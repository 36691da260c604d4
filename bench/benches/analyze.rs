//! Findings: `tally analyze` over a BLG of 1 GB, beside a script of pandas that applies thresholds to the CSV
//! of the same log; and what one value costs the analysis itself, without reading.
//!
//! An argument selects a part: `one` machine, `many` machines, `values`. Without one, all parts run.
//! `TALLYMON_BENCH_PYTHON` names a Python with pandas, if it is not `python3`.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use tallymon::analyze::{RuleSet, Values, analyze_values};
use tallymon_bench::Parts;
use tallymon_bench::big;
use tallymon_bench::child::{self, Used};
use tallymon_core::counter::CounterType;
use tallymon_core::path::CounterPath;
use tallymon_core::time::{FileTime, Frequency, UNITS_PER_SECOND};
use tallymon_log::{Column, NumberCooker, ReadOptions, open};

/// Machines in the log of many.
const HOSTS: u32 = 60;

fn main() {
    let folder = std::env::temp_dir().join(format!("tallymon-bench-analyze-{}", std::process::id()));
    let all: [(&str, &dyn Fn()); 3] =
        [("one", &|| log(&folder, 1)), ("many", &|| log(&folder, HOSTS)), ("values", &values)];
    let Some(parts) = Parts::wanted(&all.map(|(name, _)| name)) else { return };
    std::fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
    for (name, run) in all {
        if parts.has(name) {
            run();
        }
    }
    // A leftover folder is recognizable by its name.
    let _ = std::fs::remove_dir_all(&folder);
}

fn print(what: &str, used: Used, values: f64) {
    let Used { seconds, cpu, megabytes } = used;
    println!("{what:44} {seconds:8.1} {cpu:8.1} {:10.0} {megabytes:10.0}", cpu / values * 1e9);
}

/// A log of some machines, and the same work by others.
fn log(folder: &Path, hosts: u32) {
    let Some(sample) = big::sample() else {
        println!("\nanalyze: not measured, TALLYMON_TESTDATA names no folder with the samples");
        return;
    };
    let log = folder.join("big.blg");
    let records = big::write(&sample, &log, big::wanted_bytes(), hosts);
    let mut reader = open(&log, &ReadOptions::default()).expect("it was written");
    reader.next_record().expect("it was written");
    let columns = reader.about().columns.len();
    let values = records as f64 * columns as f64;
    let bytes = std::fs::metadata(&log).map_or(0, |about| about.len());
    println!(
        "\na BLG of {:.2} GB: {columns} counters of {hosts} machines, {records} records",
        bytes as f64 / 1e9
    );
    println!("{:44} {:>8} {:>8} {:>10} {:>10}", "", "seconds", "CPU s", "ns/value", "largest MB");
    let tally = tallymon_bench::built("tally");
    let command = |arguments: &[&str]| {
        let mut command = Command::new(&tally);
        command.args(arguments).arg(&log).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    print("tally analyze", child::run(&mut command(&["analyze"])), values);
    floor(&log, values);
    print("tally stats, which reads the same values", child::run(&mut command(&["stats"])), values);
    let csv = folder.join("big.csv");
    let used = child::run(command(&["relog"]).arg("-o").arg(&csv));
    print("tally relog into CSV, for the script", used, values);
    let python = std::env::var_os("TALLYMON_BENCH_PYTHON").unwrap_or_else(|| "python3".into());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/thresholds.py");
    let has_pandas = Command::new(&python).args(["-c", "import pandas"]).stderr(Stdio::null()).status();
    if has_pandas.is_ok_and(|status| status.success()) {
        let mut command = Command::new(&python);
        command.arg(script).arg(&csv).stdout(Stdio::null());
        print("pandas, nine thresholds over the CSV", child::run(&mut command), values);
    } else {
        println!("pandas is not there: TALLYMON_BENCH_PYTHON names a Python that has it");
    }
    let _ = std::fs::remove_file(csv);
    let _ = std::fs::remove_file(log);
}

/// What no analysis of this log can go below: its bytes, its records, and the values of these, in one thread
/// of this program. The time of the clock, so nothing else should run.
fn floor(log: &Path, values: f64) {
    let records = || {
        let mut reader = open(log, &ReadOptions::default()).expect("it was written");
        std::iter::from_fn(move || reader.next_record().expect("it was written"))
    };
    let timed = |what: &str, work: &dyn Fn() -> u64| {
        let start = Instant::now();
        let found = work();
        let seconds = start.elapsed().as_secs_f64();
        assert!(found > 0);
        println!("{what:44} {seconds:8.1} {:8} {:10.0}", "", seconds / values * 1e9);
    };
    timed("alone: its bytes, 64 KiB at a time", &|| {
        let mut file = File::open(log).expect("it was written");
        let mut buffer = vec![0; 1 << 16];
        std::iter::from_fn(|| file.read(&mut buffer).ok().filter(|read| *read > 0))
            .map(|read| read as u64)
            .sum()
    });
    timed("alone: its records, decoded", &|| records().map(|record| record.cells.len() as u64).sum());
    timed("alone: its records, and their values", &|| {
        let (mut cooker, mut numbers, mut count) = (NumberCooker::default(), Vec::new(), 0);
        for mut record in records() {
            cooker.take(&mut record, &mut numbers);
            count += numbers.len() as u64;
        }
        count
    });
}

/// What a value costs the analysis alone: rules, tracks and shapes over values in memory.
fn values() {
    println!("\nthe analysis of values in memory, the history of a monitor");
    println!("{:44} {:>10} {:>10}", "", "ms", "ns/value");
    for (counters, rows) in [(20, 24_000), (200, 3_600), (2_000, 1_000), (20_000, 500)] {
        let columns = columns(counters);
        let start = 134_000_000_000_000_000;
        let times: Vec<_> = (0..rows).map(|row| (FileTime(start + row * UNITS_PER_SECOND), 0)).collect();
        let value = |row: usize, column: usize| Ok(((row * 31 + column * 7) % 60) as f64);
        let rules = RuleSet::built_in().expect("the rules are rules");
        let of = Values { columns: &columns, times: &times, value: &value };
        let took = tallymon_bench::median(5, || {
            let found = analyze_values(&of, rules.clone(), || true).expect("nobody ends it");
            assert_eq!(found.records, rows);
        });
        let count = rows as f64 * columns.len() as f64;
        let name = format!("{} counters, {rows} rows", columns.len());
        println!("{name:44} {:10.1} {:10.1}", took.as_secs_f64() * 1e3, took.as_secs_f64() * 1e9 / count);
    }
}

/// What a user might watch, and processes.
fn columns(wanted: usize) -> Vec<Column> {
    let watched = tallymon_bench::WATCHED.iter().map(|path| (*path).to_owned());
    let counters = ["% Processor Time", "Private Bytes", "Handle Count", "Thread Count"];
    let process = |nth: usize| format!("\\Process(worker-{})\\{}", nth / 4, counters[nth % 4]);
    let column = |path: String| Column {
        parts: CounterPath::parse(&path).ok().map(|parsed| parsed.path),
        path,
        counter_type: CounterType::PERF_DOUBLE_RAW,
        scale: 0,
        time_base: Frequency(0),
        group: 0,
        wild: false,
        live: None,
    };
    watched.chain((0..).map(process)).take(wanted).map(column).collect()
}
