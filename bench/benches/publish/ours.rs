//! Each kind of counter that a program can publish.

use std::hint::black_box;
use std::path::Path;

use tallymon_provider::CounterType;
use tallymon_provider::shm::{CounterSet, HistogramShape, Instance, NewInstance, Publisher};

use super::{THREADS, row};

const OPERATIONS: u64 = 2_000_000;
const KIND: CounterType = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;

pub(super) fn run(directory: &Path) {
    let set = CounterSet::new("B")
        .instances_about(64)
        .counter("Counter", KIND)
        .counter("Gauge", KIND)
        .counter("Shared", KIND)
        .shared()
        .text("Text", 32)
        .average("Average")
        .histogram("Shared Histogram", &HistogramShape::default())
        .shared()
        .average("Shared Average")
        .shared()
        .fraction("Fraction")
        .histogram("Histogram", &HistogramShape::default())
        .elapsed("Elapsed")
        .together(|set| (0..8).fold(set, |set, n| set.counter(format!("n{n}"), KIND)));
    let one_lane = CounterSet::new("S").counter("Shared", KIND).shared_lanes(1);
    let publisher = Publisher::start_in(directory, "bench", &[set, one_lane]).expect("it can be published");
    // One instance per thread, and one for all threads.
    let instances: Vec<Instance> = (0..5)
        .map(|n| {
            let name = format!("{n}");
            let new = NewInstance { name: &name, ..NewInstance::default() };
            publisher.instance("B", &new).expect("there is room")
        })
        .collect();
    let single = publisher.single("S").expect("it is free");
    row("Counter::increment", OPERATIONS, |thread| {
        let counter = instances[thread].counter("Counter").expect("it is free");
        Box::new(move |n| (0..n).for_each(|_| black_box(&counter).increment()))
    });
    row("Gauge::set", OPERATIONS, |thread| {
        let gauge = instances[thread].gauge("Gauge").expect("it is free");
        Box::new(move |n| (0..n).for_each(|value| black_box(&gauge).set(value)))
    });
    row("SharedCounter::increment", OPERATIONS, |_| {
        let shared = instances[4].shared("Shared").expect("it is shared");
        Box::new(move |n| (0..n).for_each(|_| black_box(&shared).increment()))
    });
    row("SharedCounter::increment, 1 lane with a lock", OPERATIONS, |_| {
        let shared = single.shared("Shared").expect("it is shared");
        Box::new(move |n| (0..n).for_each(|_| black_box(&shared).increment()))
    });
    row("Average::record", OPERATIONS, |thread| {
        let mut average = instances[thread].average("Average").expect("it is free");
        Box::new(move |n| (0..n).for_each(|value| black_box(&mut average).record(value)))
    });
    row("Average::set of a fraction", OPERATIONS, |thread| {
        let mut fraction = instances[thread].average("Fraction").expect("it is free");
        Box::new(move |n| (0..n).for_each(|value| black_box(&mut fraction).set(value, n)))
    });
    row("Histogram::record", OPERATIONS, |thread| {
        let mut histogram = instances[thread].histogram("Histogram").expect("it is free");
        Box::new(move |n| {
            (0..n).for_each(|value| black_box(&mut histogram).record(value.wrapping_mul(0x9e37_79b9) >> 12))
        })
    });
    row("SharedHistogram::record, shared", OPERATIONS, |_| {
        let histogram = instances[4].shared_histogram("Shared Histogram").expect("it is shared");
        Box::new(move |n| {
            (0..n).for_each(|value| black_box(&histogram).record(value.wrapping_mul(0x9e37_79b9) >> 12))
        })
    });
    row("SharedAverage::record, shared", OPERATIONS, |_| {
        let average = instances[4].shared_average("Shared Average").expect("it is shared");
        Box::new(move |n| (0..n).for_each(|value| black_box(&average).record(value)))
    });
    groups(&instances);
    row("Text::set of 24 bytes", OPERATIONS, |thread| {
        let text = instances[thread].text("Text").expect("it is free");
        Box::new(move |n| (0..n).for_each(|_| black_box(&text).set(black_box("a behemoth with a mood!!"))))
    });
    row("Elapsed::start, which reads a clock", OPERATIONS / 10, |thread| {
        let elapsed = instances[thread].elapsed("Elapsed").expect("it is free");
        Box::new(move |n| (0..n).for_each(|_| black_box(&elapsed).start()))
    });
}

/// Eight numbers that must agree. They come from memory, and differ.
fn groups(instances: &[Instance]) {
    let different = [3, 5, 7, 11, 13, 17, 19, 23];
    row("Group::add of 8 different numbers", OPERATIONS, |thread| {
        let mut group = instances[thread].group("n0").expect("it is free");
        Box::new(move |n| (0..n).for_each(|_| group.add(black_box(&different))))
    });
    row("Group::set of 8 different numbers", OPERATIONS, |thread| {
        let mut group = instances[thread].group("n0").expect("it is free");
        Box::new(move |n| (0..n).for_each(|_| group.set(black_box(&different))))
    });
    row("Group::update of 8 different numbers, one by one", OPERATIONS, |thread| {
        let mut group = instances[thread].group("n0").expect("it is free");
        Box::new(move |n| {
            for _ in 0..n {
                let different = black_box(&different);
                group.update(|numbers| (0..).zip(different).for_each(|(at, n)| numbers.add(at, *n)));
            }
        })
    });
}

/// The test in which PCP loses additions: all threads add to one counter, and the sum is compared with what
/// they added.
pub(super) fn lost(directory: &Path) {
    let set = CounterSet::new("L").counter("Shared", KIND).shared();
    let publisher = Publisher::start_in(directory, "lost", &[set]).expect("it can be published");
    let single = publisher.single("L").expect("it is free");
    let shared = single.shared("Shared").expect("it is shared");
    let mut line = format!("{:50}", "SharedCounter, shared: percent of additions lost");
    for threads in THREADS {
        const EACH: u64 = 18_000_000;
        let before = shared.value();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                let shared = shared.clone();
                scope.spawn(move || (0..EACH).for_each(|_| black_box(&shared).increment()));
            }
        });
        let made = EACH * threads as u64;
        let missing = made - (shared.value() - before);
        line.push_str(&format!("{:9.2}", 100.0 * missing as f64 / made as f64));
    }
    println!("{line}");
}
