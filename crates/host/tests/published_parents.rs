//! Published counters of several programs whose instances are parents of each other.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::path::Path;

use tallymon_core::block::{BlockWriter, Snapshot, WriteHeader};
use tallymon_core::counter::CounterType;
use tallymon_core::time::Frequency;
use tallymon_host::Publishers;
use tallymon_provider::shm::{CounterSet, Instance, NewInstance, Publisher, Reader};
use tallymon_provider::{CollectRequest, Provider, TitleIndex};
use tallymon_testkit::{Scratch, assert_linear_in, attack, attack_count, work_folder, work_size};

const PROGRAMS: usize = 8;

/// Programs that publish the same objects, or each its own. The parent of each instance is in the object
/// before.
fn publish(folder: &Path, size: usize, is_shared: bool) -> Vec<(Publisher, Vec<Instance>)> {
    let start = |program: usize| {
        let name = |object: usize| match is_shared {
            true => format!("Object {object}"),
            false => format!("Object {program} {object}"),
        };
        let set = |object| {
            CounterSet::new(name(object)).instances().counter("Count", CounterType::PERF_COUNTER_RAWCOUNT)
        };
        let sets: Vec<CounterSet> = (0..size).map(set).collect();
        let publisher = Publisher::start_in(folder, "many", &sets).unwrap();
        let mut instances: Vec<Instance> = Vec::new();
        for object in 0..size {
            let own = format!("of {program}");
            let new = NewInstance { name: &own, id: None, parent: instances.last() };
            instances.push(publisher.instance(&name(object), &new).unwrap());
        }
        (publisher, instances)
    };
    (0..PROGRAMS).map(start).collect()
}

/// What a reader gets of all of them.
fn snapshot(folder: &Path) -> Snapshot {
    let mut publishers = Publishers::of(Reader::new([folder.to_path_buf()]), []);
    publishers.refresh();
    let objects: Vec<TitleIndex> = publishers.objects().iter().map(|spec| spec.name).collect();
    let header = WriteHeader { perf_freq: Frequency(1), ..WriteHeader::named("here") };
    let mut bytes = Vec::new();
    let mut writer = BlockWriter::growing(&mut bytes, &header);
    publishers.collect(&CollectRequest::everything(&objects), writer.objects()).unwrap();
    writer.finish().unwrap();
    Snapshot::new(bytes).unwrap()
}

/// The number of instances, and of those whose parent is the instance of the same program.
fn count(snapshot: &Snapshot) -> (usize, usize) {
    let (mut all, mut with_parent) = (0, 0);
    for object in snapshot.objects() {
        for instance in object.instances() {
            all += 1;
            let Some(parent) = instance.parent_instance() else { continue };
            assert_eq!(parent.name(), instance.name());
            with_parent += 1;
        }
    }
    (all, with_parent)
}

#[test]
fn attack_publish_parents() {
    let size = attack_count(200, 2000);
    // In objects that all share, the parents of a program are behind those of the programs before it.
    for is_shared in [true, false] {
        let scratch = Scratch::new();
        let published = publish(&scratch, size, is_shared);
        assert_eq!(count(&snapshot(&scratch)), (PROGRAMS * size, PROGRAMS * (size - 1)));
        drop(published);
    }
    attack(
        "published counters",
        "publish the objects of other programs of the user, with instances that are parents of each other",
        "each parent is that of the same program",
    );
}

/// Reads what was published in its folder.
#[test]
fn published_parents() {
    let (Some(size), Some(folder)) = (work_size(), work_folder()) else { return };
    let size = size.max(1);
    assert_eq!(count(&snapshot(&folder)), (PROGRAMS * size, PROGRAMS * (size - 1)));
}

#[test]
fn attack_publish_parents_for_the_time_that_a_look_up_takes() {
    for is_shared in [true, false] {
        let publish = |size: usize, folder: &Path| publish(folder, size.max(1), is_shared);
        if !assert_linear_in("published_parents", 200, publish) {
            return;
        }
    }
    attack(
        "published counters",
        "eight programs of thousands of objects, whose instances are parents of each other",
        "twice as many objects take twice the instructions",
    );
}
