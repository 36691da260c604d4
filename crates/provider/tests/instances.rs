//! Very many instances that come and go while somebody reads.
#![cfg(any(target_os = "linux", windows))]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails is to panic")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tallymon_provider::CounterType;
use tallymon_provider::shm::{CounterSet, Gauge, Instance, NewInstance, Publisher};

mod common;
use common::{number, reader_of};
use tallymon_testkit::Scratch;

const KIND: CounterType = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;

/// How many live at most at once, and how many there are in all.
const ALIVE: usize = 3_000;
const ALL: i32 = 20_000;

/// Instead of the number of readings, when there are no more.
const ENDED: u64 = u64::MAX;

/// Says that there are no more readings when it is dropped.
struct Ends<'a>(&'a AtomicU64);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(ENDED, Ordering::Relaxed);
    }
}

fn born(publisher: &Publisher, id: i32, parent: Option<&Instance>) -> (Instance, Gauge) {
    let name = format!("n{id}");
    let new = NewInstance { name: &name, id: Some(id), parent };
    let instance = publisher.instance("Many", &new).unwrap();
    let gauge = instance.gauge("Id").unwrap();
    gauge.set(u64::try_from(id).unwrap());
    (instance, gauge)
}

/// Each instance has its own number as its id, its name, its value, and one more than its parent; whatever a
/// reader sees of it, in whatever place, must be of one and the same.
#[test]
fn twenty_thousand_instances_are_never_mistaken_for_each_other() {
    let scratch = Scratch::new();
    let set = CounterSet::new("Many").instances_about(100).counter("Id", KIND).counter("Other", KIND);
    let publisher = Publisher::start_in(&scratch, "many", &[set]).unwrap();
    let mut reader = reader_of(&scratch);
    reader.scan();
    let publication = reader.publications_mut().first_mut().unwrap();
    let (done, looks) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let (done, looks) = (&done, &looks);
        // Also when a check fails: nobody waits for a reader that has ended.
        let _ends = Ends(looks);
        scope.spawn(move || {
            let mut alive = VecDeque::new();
            for id in 1..=ALL {
                // On a busy machine the reader may be slow: it looks at least once every 1,000 instances.
                if id % 1_000 == 0 {
                    let before = looks.load(Ordering::Relaxed);
                    while looks.load(Ordering::Relaxed) == before && before != ENDED {
                        std::thread::yield_now();
                    }
                }
                let parent = alive.back().map(|(instance, _)| instance);
                let new = born(&publisher, id, parent);
                alive.push_back(new);
                if alive.len() > ALIVE {
                    // The oldest, and one from the middle, whose place is taken by another soon.
                    alive.pop_front();
                    alive.swap_remove_back(ALIVE / 2);
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        let (mut seen, mut parents, mut readings, mut most) = (BTreeSet::new(), 0u64, 0u64, 0usize);
        loop {
            let last = done.load(Ordering::Relaxed);
            assert!(publication.read());
            let instances: Vec<_> = publication.instances(0).collect();
            let ids: Vec<i32> = instances.iter().map(|instance| instance.id().unwrap()).collect();
            for (instance, id) in instances.iter().zip(&ids) {
                assert_eq!(instance.name(), format!("n{id}"));
                // It is there a moment before its value is set.
                let value = number(*instance, 0);
                assert!(value == 0 || value == u64::try_from(*id).unwrap(), "{id} has {value}");
                assert_eq!(number(*instance, 1), 0, "{id}");
                if let Some(parent) = instance.parent() {
                    assert!(ids[parent.position] < *id, "{id} is older than its parent");
                    parents += 1;
                }
            }
            let different: BTreeSet<i32> = ids.iter().copied().collect();
            assert_eq!(different.len(), ids.len());
            most = most.max(ids.len());
            seen.extend(ids);
            readings += 1;
            looks.store(readings, Ordering::Relaxed);
            if last {
                break;
            }
        }
        println!(
            "{readings} readings saw {} of {ALL} instances, {most} at once, {parents} parents",
            seen.len()
        );
        assert!(seen.len() > ALIVE && parents > 0 && most > ALIVE / 2);
    });
}

/// What is published now is there when somebody looks now, and not half a second later.
#[test]
fn new_instances_are_seen_at_once() {
    let scratch = Scratch::new();
    let mut reader = reader_of(&scratch);
    let mut slowest = Duration::ZERO;
    let mut publishers = Vec::new();
    for n in 0..50 {
        let set = CounterSet::new(format!("S{n}")).counter("N", KIND);
        let publisher = Publisher::start_in(&scratch, "soon", &[set]).unwrap();
        let single = publisher.single(&format!("S{n}")).unwrap();
        single.counter("N").unwrap().add(n);
        let published = Instant::now();
        // No waiting: the first look has it, also when the directory changed twice within one tick of its
        // clock.
        reader.scan();
        assert_eq!(reader.publications().len(), publishers.len() + 1, "{n}");
        let now: BTreeMap<String, u64> = reader
            .publications_mut()
            .iter_mut()
            .map(|publication| {
                assert!(publication.read());
                let value = number(publication.instances(0).next().unwrap(), 0);
                (publication.objects()[0].english().to_string(), value)
            })
            .collect();
        assert_eq!(now.get(&format!("S{n}")), Some(&n));
        slowest = slowest.max(published.elapsed());
        publishers.push((publisher, single));
    }
    println!("seen after {slowest:?} at most");
    for left in (0..50).rev() {
        publishers.remove(0);
        reader.scan();
        assert_eq!(reader.publications().len(), left);
    }
}
