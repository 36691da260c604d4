//! What it costs to publish: nanoseconds for each operation of each kind beside a plain `AtomicU64`, with 1, 2 and 4
//! threads; and what it costs to read 10,000 values of one publisher, and of a thousand.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tallymon_provider::CounterType;
use tallymon_provider::shm::{CounterSet, Instance, NewInstance, Publisher, Reader};

const ROUNDS: usize = 9;
const OPERATIONS: u64 = 2_000_000;
const KIND: CounterType = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;

fn main() {
    // `cargo bench` passes --bench; `cargo test` would pass --test and gets nothing to wait for.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let directory = std::env::temp_dir().join(format!("tallymon-bench-{}", std::process::id()));
    write(&directory);
    read(&directory);
    let _ = std::fs::remove_dir_all(&directory);
}

/// CPU time of the whole process for each operation of each thread, the median of some rounds.
fn row(name: &str, job: impl Fn(usize) -> Box<dyn FnMut(u64) + Send>) {
    let mut line = format!("{name:42}");
    for threads in [1usize, 2, 4] {
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
                            job(OPERATIONS);
                        });
                    }
                });
                tallymon_bench::cpu_time() - before
            })
            .collect();
        times.sort();
        let each = times[ROUNDS / 2].as_secs_f64() * 1e9 / (OPERATIONS as f64 * threads as f64);
        line.push_str(&format!("{each:9.2}"));
    }
    println!("{line}");
}

fn write(directory: &Path) {
    let set = CounterSet::new("B")
        .instances_about(64)
        .counter("Counter", KIND)
        .counter("Gauge", KIND)
        .counter("Shared", KIND)
        .shared()
        .text("Text", 32)
        .average("Average")
        .together(|set| (0..8).fold(set, |set, n| set.counter(format!("n{n}"), KIND)));
    let one_lane = CounterSet::new("S").counter("Shared", KIND).shared_lanes(1);
    let publisher = Publisher::start_in(directory, "bench", &[set, one_lane]).expect("it can be published");
    // An instance for each thread, and one for all.
    let instances: Vec<Instance> = (0..5)
        .map(|n| {
            let name = format!("{n}");
            let new = NewInstance { name: &name, ..NewInstance::default() };
            publisher.instance("B", &new).expect("there is room")
        })
        .collect();
    let single = publisher.single("S").expect("it is free");
    println!("{:42}{:>9}{:>9}{:>9}", "ns of CPU time for each operation", "1 thread", "2", "4");
    static PLAIN: AtomicU64 = AtomicU64::new(0);
    row("AtomicU64, shared, fetch_add", |_| {
        Box::new(|n| {
            for _ in 0..n {
                black_box(&PLAIN).fetch_add(1, Ordering::Relaxed);
            }
        })
    });
    row("AtomicU64 of each thread, load and store", |_| {
        let own = Box::new(AtomicU64::new(0));
        Box::new(move |n| {
            for _ in 0..n {
                let own = black_box(&*own);
                own.store(own.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
            }
        })
    });
    row("Counter::increment", |thread| {
        let counter = instances[thread].counter("Counter").expect("it is free");
        Box::new(move |n| (0..n).for_each(|_| black_box(&counter).increment()))
    });
    row("Gauge::set", |thread| {
        let gauge = instances[thread].gauge("Gauge").expect("it is free");
        Box::new(move |n| (0..n).for_each(|value| black_box(&gauge).set(value)))
    });
    row("SharedCounter::increment, 1 lane", |_| {
        let shared = single.shared("Shared").expect("it is shared");
        Box::new(move |n| (0..n).for_each(|_| black_box(&shared).increment()))
    });
    row("SharedCounter::increment", |_| {
        let shared = instances[4].shared("Shared").expect("it is shared");
        Box::new(move |n| (0..n).for_each(|_| black_box(&shared).increment()))
    });
    row("Average::record", |thread| {
        let mut average = instances[thread].average("Average").expect("it is free");
        Box::new(move |n| (0..n).for_each(|value| black_box(&mut average).record(value)))
    });
    row("Group::update of 8", |thread| {
        let mut group = instances[thread].group("n0").expect("it is free");
        Box::new(move |n| {
            for value in 0..n {
                black_box(&mut group).update(|numbers| (0..8).for_each(|at| numbers.add(at, value)));
            }
        })
    });
    row("Text::set of 24 bytes", |thread| {
        let text = instances[thread].text("Text").expect("it is free");
        Box::new(move |n| (0..n).for_each(|_| black_box(&text).set(black_box("a behemoth with a mood!!"))))
    });
}

fn read(directory: &Path) {
    let set = || {
        (0..10).fold(CounterSet::new("R").instances_about(1000), |set, n| set.counter(format!("n{n}"), KIND))
    };
    let publisher =
        Publisher::start_in(&directory.join("one"), "one", &[set()]).expect("it can be published");
    let _instances: Vec<Instance> = (0..1000)
        .map(|n| {
            let name = format!("{n}");
            let new = NewInstance { name: &name, ..NewInstance::default() };
            publisher.instance("R", &new).expect("there is room")
        })
        .collect();
    measure("10,000 values of 1 publisher", directory.join("one"));
    let small = || (0..10).fold(CounterSet::new("R"), |set, n| set.counter(format!("n{n}"), KIND));
    let _publishers: Vec<(Publisher, Instance)> = (0..1000)
        .map_while(|_| {
            // Each publisher and each publication takes a descriptor or two.
            let publisher = Publisher::start_in(&directory.join("many"), "many", &[small()]).ok()?;
            let single = publisher.single("R").ok()?;
            Some((publisher, single))
        })
        .collect();
    measure("10 values of each of 1,000 publishers", directory.join("many"));
}

/// Wall time of a scan, and of copying and adding up all values, the least and the median of many.
fn measure(name: &str, directory: PathBuf) {
    let mut reader = Reader::new([directory]);
    reader.scan();
    // A directory that was just changed is listed again each time for two seconds.
    std::thread::sleep(Duration::from_millis(2500));
    reader.scan();
    let (mut scans, mut copies, mut sums) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..501 {
        let start = Instant::now();
        reader.scan();
        scans.push(start.elapsed());
        let start = Instant::now();
        for publication in reader.publications_mut() {
            assert!(publication.read());
        }
        copies.push(start.elapsed());
        let start = Instant::now();
        let mut n = 0u64;
        for publication in reader.publications() {
            for instance in publication.instances(0) {
                for counter in 0..10 {
                    n += u64::from(black_box(instance.value(counter)).is_some());
                }
            }
        }
        sums.push(start.elapsed());
        black_box(n);
    }
    println!("{name} ({} publications, {} refused)", reader.publications().len(), reader.refusals().len());
    for (what, mut times) in [("scan", scans), ("copy", copies), ("take out each value", sums)] {
        times.sort();
        let micro = |time: Duration| time.as_secs_f64() * 1e6;
        println!("    {what:22}{:9.1} µs ({:.1} at best)", micro(times[250]), micro(times[0]));
    }
}
