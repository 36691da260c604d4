//! A query of 10,000 counters: taking over and formatting the answer, compared with the source's own cost.

use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};

use tallymon::Query;
use tallymon_bench::{Growing, INSTANCES, cpu_time, names};
use tallymon_core::flow::Source;
use tallymon_core::title::Language;

/// Number of queried counters of each instance.
const ASKED: usize = 10;
const ROUNDS: usize = 51;

fn main() {
    // `cargo test` passes --test; do nothing then.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let all: Vec<String> = (0..ASKED).map(|counter| format!(r"\Worker(*)\Counter {counter}")).collect();
    measure("10 paths with a wildcard", &all);
    let of_counter = |counter| (0..INSTANCES).map(move |n| format!(r"\Worker(worker-{n})\Counter {counter}"));
    measure("10,000 paths", &(0..ASKED).flat_map(of_counter).collect::<Vec<_>>());
    peer();
}

/// The same read through PCP, also in one process.
fn peer() {
    const AGENT: &str = "/var/lib/pcp/pmdas/mmv/pmda_mmv.so";
    let program = std::env::temp_dir().join(format!("tallymon-bench-pmfetch-{}", std::process::id()));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/pmfetch.c");
    let mut compile = Command::new("gcc");
    compile.args(["-O2", "-o"]).arg(&program).arg(source).args(["-lpcp", "-lpcp_mmv"]).stderr(Stdio::null());
    if !Path::new(AGENT).is_file() || !compile.status().is_ok_and(|status| status.success()) {
        println!("PCP or its headers (libpcp-mmv1-dev) are not there: pmFetch is not measured");
        return;
    }
    let output = Command::new(&program).arg(AGENT).output().expect("it was compiled");
    let _ = std::fs::remove_file(&program);
    let words = String::from_utf8_lossy(&output.stdout);
    match words.split_whitespace().collect::<Vec<_>>()[..] {
        [fetch, rates] => {
            println!("PCP, 10,000 counters: pmFetch, its source's answer included: {fetch} ns a counter");
            println!("PCP, 10,000 counters: rates of two results: {rates} ns a counter");
        }
        _ => println!("pmFetch is not measured: {}", String::from_utf8_lossy(&output.stderr).trim()),
    }
}

fn measure(what: &str, paths: &[String]) {
    let mut query = Query::new(Box::new(Growing::new(names())), Language::ENGLISH).expect("it opens");
    for path in paths {
        query.add(path).expect("it is there");
    }
    let mut source = Growing::new(names());
    let request = query.request();
    let mut times = [const { Vec::new() }; 4];
    let counters = u64::from(INSTANCES) * ASKED as u64;
    let mut sum = 0.0;
    for _ in 0..ROUNDS {
        let start = cpu_time();
        let snapshot = source.snapshot(&request).expect("it answers");
        times[0].push(cpu_time() - start);
        let start = cpu_time();
        query.accept(snapshot);
        times[1].push(cpu_time() - start);
        let (start, mut found) = (cpu_time(), 0);
        query.for_each(|value| {
            found += 1;
            sum += value.cell.value.ok().and_then(|value| value.as_f64()).unwrap_or(0.0);
        });
        times[2].push(cpu_time() - start);
        assert_eq!(found, counters);
        let start = cpu_time();
        let readings = black_box(query.readings());
        times[3].push(cpu_time() - start);
        assert_eq!(readings.len() as u64, counters);
    }
    black_box(sum);
    for (words, mut times) in [
        "the source's own answer",
        "taking it over: names and identities",
        "samples and values, borrowed",
        "the same as readings, with a path each",
    ]
    .into_iter()
    .zip(times)
    {
        times.sort();
        let nanoseconds = times[times.len() / 2].as_nanos() as f64 / counters as f64;
        println!("{what}, {counters} counters: {words}: {nanoseconds:.1} ns a counter");
    }
}
