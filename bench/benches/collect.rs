//! One collection of all processes and threads: our tiers and other programs in the same run, by CPU time.
//!
//! An argument selects a part: a number of processes, `threads`, `share` or `machine`. Without one, all parts
//! run.

#[path = "collect/load.rs"]
mod load;
#[path = "collect/ours.rs"]
mod ours;
#[path = "collect/peers.rs"]
mod peers;
#[path = "collect/share.rs"]
mod share;

use std::time::Duration;

use tallymon_bench::idle::Idle;

/// A row of a table.
struct Row {
    name: String,
    /// CPU time of one collection.
    time: Duration,
}

impl Row {
    fn of(name: String, time: Option<Duration>) -> Option<Row> {
        if time.is_none() {
            println!("{name}: left out, it did not run");
        }
        time.map(|time| Row { name, time })
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).filter(|word| *word != "--bench").collect();
    match words.as_slice() {
        [load::THREADS, n] => load::sleep_in_threads(n.parse().expect("a number")),
        [share::COLLECTOR, tier] => share::collect(tier),
        // `cargo test` passes --test; do nothing then.
        words if words.contains(&"--test") => {}
        [] => run(&["machine", "100", "1000", "share", "5000", "threads"]),
        words => run(words),
    }
}

/// Runs these parts in order. Processes stay from one part to the next.
fn run(parts: &[&str]) {
    let mut idle = Idle::processes(0);
    for part in parts {
        match *part {
            "machine" => share::machine(),
            "threads" => {
                drop(std::mem::replace(&mut idle, Idle::processes(0)));
                let _threads = load::threads(5_000);
                table("one process with 5,000 threads", 5_000);
            }
            "share" => {
                grow(&mut idle, 1_000);
                share::measure("1,000 idle processes");
            }
            number => {
                let n = number.parse().expect("100, 1000, 5000, threads, share or machine");
                grow(&mut idle, n);
                table(&format!("{n} idle processes"), n);
            }
        }
    }
}

fn grow(idle: &mut Idle, n: usize) {
    idle.append(Idle::processes(n.saturating_sub(idle.count())));
}

fn table(what: &str, items: usize) {
    let mut rows = ours::rows();
    rows.extend(peers::rows());
    let unit = rows.iter().find(|row| row.name.ends_with("T2: all 28 counters of Process"));
    let unit = unit.map_or(1.0, |row| row.time.as_secs_f64());
    let all = std::fs::read_dir("/proc").expect("/proc is there").flatten();
    let all = all.filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok()).count();
    println!("\n{what}, {all} processes in all: CPU time of one collection");
    println!("{:64} {:>12} {:>14} {:>8}", "", "ms", "µs an item", "times");
    for Row { name, time } in rows {
        let seconds = time.as_secs_f64();
        let each = seconds * 1e6 / items.max(if what.contains("threads") { 0 } else { all }) as f64;
        println!("{name:64} {:12.3} {each:14.3} {:8.1}", seconds * 1e3, seconds / unit);
    }
}
