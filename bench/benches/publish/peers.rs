//! Other libraries for counting and publishing: `prometheus`, `prometheus-client`, and PCP's memory-mapped
//! values.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};

use super::{THREADS, row};

const OPERATIONS: u64 = 1_000_000;

pub(super) fn run(directory: &Path) {
    let counter = prometheus::IntCounter::new("c", "c").expect("it is a name");
    row("prometheus IntCounter, shared", OPERATIONS, |_| {
        let counter = counter.clone();
        Box::new(move |n| (0..n).for_each(|_| black_box(&counter).inc()))
    });
    let options = prometheus::HistogramOpts::new("h", "h")
        .buckets(prometheus::exponential_buckets(1.0, 2.0, 20).expect("they ascend"));
    let histogram = prometheus::Histogram::with_opts(options).expect("it is a name");
    row("prometheus Histogram of 20 buckets, shared", OPERATIONS / 4, |_| {
        let histogram = histogram.clone();
        Box::new(move |n| {
            (0..n).for_each(|value| black_box(&histogram).observe((value % 1_000_000) as f64));
        })
    });
    let counter = Counter::<u64>::default();
    row("prometheus-client Counter, shared", OPERATIONS, |_| {
        let counter = counter.clone();
        Box::new(move |n| {
            (0..n).for_each(|_| {
                black_box(&counter).inc();
            });
        })
    });
    let histogram = Histogram::new(exponential_buckets(1.0, 2.0, 20));
    row("prometheus-client Histogram of 20, shared", OPERATIONS / 4, |_| {
        let histogram = histogram.clone();
        Box::new(move |n| {
            (0..n).for_each(|value| black_box(&histogram).observe((value % 1_000_000) as f64));
        })
    });
    mapped_values();
    super::ours::lost(directory);
}

/// PCP's memory-mapped values, through its own library in a C program.
fn mapped_values() {
    let Some(program) = compile() else { return };
    for (words, kind) in [
        ("PCP mmv_inc, one of each thread", "own"),
        ("PCP mmv_inc, shared", "shared"),
        ("PCP mmv_set_value, one of each thread", "set"),
        ("PCP mmv_stats_inc, by name, the first of 17", "name"),
        ("PCP mmv_inc, shared: percent of additions lost", "lost"),
    ] {
        let figures: String =
            THREADS.iter().map(|threads| format!("{:>9}", ask(&program, *threads, kind))).collect();
        println!("{words:50}{figures}");
    }
    let _ = std::fs::remove_file(&program);
}

fn compile() -> Option<PathBuf> {
    let program = std::env::temp_dir().join(format!("tallymon-bench-mmv-{}", std::process::id()));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/mmv.c");
    let mut compile = Command::new("gcc");
    compile.args(["-O2", "-o"]).arg(&program).arg(source).args(["-lpcp", "-lpcp_mmv", "-lpthread"]);
    if compile.stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
        return Some(program);
    }
    println!("PCP's headers (libpcp-mmv1-dev) are not there: its memory-mapped values are not measured");
    None
}

/// The output of the program, or the reason why there is none.
fn ask(program: &Path, threads: usize, kind: &str) -> String {
    match Command::new(program).args([&threads.to_string(), kind]).output() {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).trim().to_string(),
        Ok(output) => format!(" ({})", String::from_utf8_lossy(&output.stderr).trim()),
        Err(error) => format!(" ({error})"),
    }
}
