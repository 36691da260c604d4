//! Machines with many processors, control groups, mounts or disks: a sample costs no more than their number.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::path::Path;

use tallymon_core::block::{BlockWriter, Snapshot, WriteHeader};
use tallymon_core::time::{FileTime, Frequency, PerfTime};
use tallymon_linux::{Root, System};
use tallymon_provider::{CollectRequest, Interest, Provider, TitleIndex};
use tallymon_testkit::{LARGE_MACHINES, LargeMachine, Scratch, assert_linear_in, work_folder, work_size};

/// The instances of each object in the last of some samples.
fn sample(machine: &LargeMachine, folder: &Path, samples: usize) -> Vec<usize> {
    let mut system = System::open_below(Root::below(folder)).unwrap();
    let mut instances = Vec::new();
    for _ in 0..samples {
        let objects: Vec<TitleIndex> = machine.objects.iter().map(|object| TitleIndex(*object)).collect();
        let header = WriteHeader {
            system_name: "LARGE",
            default_object: -1,
            perf_time: PerfTime(1),
            perf_freq: Frequency(10_000_000),
            perf_time_100ns: FileTime(1),
            system_time: FileTime(1),
        };
        let mut bytes = Vec::new();
        let mut block = BlockWriter::growing(&mut bytes, &header);
        let request = CollectRequest { objects: &objects, interest: &Interest::everything() };
        system.collect(&request, block.objects()).unwrap();
        block.finish().unwrap();
        let snapshot = Snapshot::new(bytes).unwrap();
        instances = snapshot.objects().map(|object| object.instances().count()).collect();
    }
    instances
}

fn named(name: &str) -> &'static LargeMachine {
    LARGE_MACHINES.iter().find(|machine| machine.name == name).unwrap()
}

/// What runs under valgrind.
fn counted(name: &str) {
    let (Some(size), Some(folder)) = (work_size(), work_folder()) else { return };
    let instances = sample(named(name), &folder, 3);
    assert!(instances.iter().all(|found| *found >= size), "{name}: {instances:?} of {size}");
}

#[test]
fn counted_processors() {
    counted("processors");
}

#[test]
fn counted_control_groups() {
    counted("control groups");
}

#[test]
fn counted_mounts() {
    counted("mounts");
}

#[test]
fn counted_disks() {
    counted("disks");
}

#[test]
fn a_sample_grows_with_the_number_of_processors() {
    assert_linear_in("counted_processors", 512, |size, folder| (named("processors").write)(folder, size));
}

#[test]
fn a_sample_grows_with_the_number_of_control_groups() {
    assert_linear_in("counted_control_groups", 1000, |size, folder| {
        (named("control groups").write)(folder, size)
    });
}

#[test]
fn a_sample_grows_with_the_number_of_mounts() {
    assert_linear_in("counted_mounts", 1000, |size, folder| (named("mounts").write)(folder, size));
}

#[test]
fn a_sample_grows_with_the_number_of_disks() {
    assert_linear_in("counted_disks", 500, |size, folder| (named("disks").write)(folder, size));
}

/// The sizes of the largest machines that there are.
#[test]
fn the_largest_machines_have_all_instances() {
    for (name, size) in [("processors", 4096), ("control groups", 2000), ("mounts", 10_000), ("disks", 1000)]
    {
        let folder = Scratch::in_memory();
        (named(name).write)(&folder, size);
        let start = std::time::Instant::now();
        let instances = sample(named(name), &folder, 2);
        println!("{size} {name}: {:?} for two samples, {instances:?} instances", start.elapsed());
        assert!(instances.iter().all(|found| *found > size), "{name}: {instances:?} of {size}");
    }
}
