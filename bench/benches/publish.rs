//! The cost of publishing: nanoseconds per operation of each kind, compared with plain atomics and other
//! libraries, with 1, 2 and 4 threads; and the cost of reading 10,000 values of one publisher, and of a
//! thousand.
//!
//! `cargo xtask bench publish` measures everything; one more word selects a part: `atomics`, `ours`, `peers`,
//! `facades`, `read`.

#[path = "publish/facades.rs"]
mod facades;
#[path = "publish/ours.rs"]
mod ours;
#[path = "publish/peers.rs"]
mod peers;
#[path = "publish/reading.rs"]
mod reading;

use std::hint::black_box;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const ROUNDS: usize = 9;

/// How many threads run at once. Most small machines have fewer than 4 processors.
const THREADS: [usize; 3] = [1, 2, 4];

/// Measures something, publishing in its own directory.
type Part = fn(&Path);

fn main() {
    // `cargo bench` passes --bench; `cargo test` passes --test, and nothing runs then.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let directory = std::env::temp_dir().join(format!("tallymon-bench-{}", std::process::id()));
    let parts: [(&str, Part); 5] = [
        ("atomics", |_| atomics()),
        ("ours", ours::run),
        ("peers", peers::run),
        ("facades", facades::run),
        ("read", reading::run),
    ];
    println!("{:50}{:>9}{:>9}{:>9}", "ns of CPU time for each operation, threads:", 1, 2, 4);
    for (name, part) in parts {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            part(&directory);
        }
    }
    let _ = std::fs::remove_dir_all(&directory);
}

/// Measures and prints the CPU time of the whole process per operation of each thread, as the median of
/// several rounds.
///
/// `job` creates the work of one thread: a function that runs its operation a given number of times.
fn row<'j>(name: &str, operations: u64, job: impl Fn(usize) -> Box<dyn FnMut(u64) + Send + 'j>) {
    let mut line = format!("{name:50}");
    for threads in THREADS {
        let mut times: Vec<Duration> = (0..ROUNDS)
            .map(|_| {
                let mut jobs: Vec<_> = (0..threads).map(&job).collect();
                let barrier = Barrier::new(threads);
                let before = tallymon_bench::cpu_time();
                std::thread::scope(|scope| {
                    for job in &mut jobs {
                        let barrier = &barrier;
                        scope.spawn(move || {
                            barrier.wait();
                            job(operations);
                        });
                    }
                });
                tallymon_bench::cpu_time() - before
            })
            .collect();
        times.sort();
        let each = times[ROUNDS / 2].as_secs_f64() * 1e9 / (operations as f64 * threads as f64);
        line.push_str(&format!("{each:9.2}"));
    }
    println!("{line}");
}

fn atomics() {
    const OPERATIONS: u64 = 2_000_000;
    static PLAIN: AtomicU64 = AtomicU64::new(0);
    row("AtomicU64, shared, fetch_add", OPERATIONS, |_| {
        Box::new(|n| {
            for _ in 0..n {
                black_box(&PLAIN).fetch_add(1, Ordering::Relaxed);
            }
        })
    });
    row("AtomicU64 of each thread, fetch_add", OPERATIONS, |_| {
        let own = Box::new([const { AtomicU64::new(0) }; 16]);
        Box::new(move |n| {
            for _ in 0..n {
                black_box(&own[8]).fetch_add(1, Ordering::Relaxed);
            }
        })
    });
    row("AtomicU64 of each thread, load and store", OPERATIONS, |_| {
        let own = Box::new([const { AtomicU64::new(0) }; 16]);
        Box::new(move |n| {
            for _ in 0..n {
                let own = black_box(&own[8]);
                own.store(own.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
            }
        })
    });
    row("8 AtomicU64 of each thread, load and store", OPERATIONS, |_| {
        let own = Box::new([const { AtomicU64::new(0) }; 24]);
        let different = [3, 5, 7, 11, 13, 17, 19, 23];
        Box::new(move |n| {
            for _ in 0..n {
                for (own, n) in own[8..16].iter().zip(black_box(&different)) {
                    own.store(own.load(Ordering::Relaxed).wrapping_add(*n), Ordering::Relaxed);
                }
            }
        })
    });
}
