//! The time for reading 10,000 values, warm: of one publisher, and of a thousand.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tallymon_provider::CounterType;
use tallymon_provider::shm::{CounterSet, Instance, NewInstance, Publisher, Reader};

const KIND: CounterType = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;

pub(super) fn run(directory: &Path) {
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
            // Each publisher and each publication needs one or two file descriptors.
            let publisher = Publisher::start_in(&directory.join("many"), "many", &[small()]).ok()?;
            let single = publisher.single("R").ok()?;
            Some((publisher, single))
        })
        .collect();
    measure("10 values of each of 1,000 publishers", directory.join("many"));
}

/// Wall time of a scan, of copying, and of extracting all values in both ways: minimum and median of many.
fn measure(name: &str, directory: PathBuf) {
    const ROUNDS: usize = 1001;
    let mut reader = Reader::new([directory]);
    reader.scan();
    // A recently changed directory is listed again on each scan for two seconds.
    std::thread::sleep(Duration::from_millis(2500));
    reader.scan();
    let mut times = [const { Vec::new() }; 5];
    for _ in 0..ROUNDS {
        let start = Instant::now();
        reader.scan();
        times[0].push(start.elapsed());
        let start = Instant::now();
        reader.read(|_| true);
        let copied = start.elapsed();
        times[1].push(copied);
        let start = Instant::now();
        let mut sum = 0u64;
        for publication in reader.publications() {
            for instance in publication.instances(0) {
                sum = instance.numbers_from(0).fold(sum, u64::wrapping_add);
            }
        }
        black_box(sum);
        let taken = start.elapsed();
        times[2].push(taken);
        times[3].push(copied + taken);
        let start = Instant::now();
        let mut n = 0u64;
        for publication in reader.publications() {
            for instance in publication.instances(0) {
                n += (0..10).filter(|counter| black_box(instance.value(*counter)).is_some()).count() as u64;
            }
        }
        assert_eq!(black_box(n), 10_000);
        times[4].push(start.elapsed());
    }
    println!("{name} ({} publications, {} refused)", reader.publications().len(), reader.refusals().len());
    let words =
        ["scan", "copy", "take out at once", "copy and take out at once", "take out one by one, instead"];
    for (what, mut times) in words.into_iter().zip(times) {
        times.sort();
        let micro = |time: Duration| time.as_secs_f64() * 1e6;
        println!("    {what:30}{:9.1} µs ({:.1} at best)", micro(times[ROUNDS / 2]), micro(times[0]));
    }
}
