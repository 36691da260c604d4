//! Answers of libraries and programs with many objects and instances: the work grows with their number, not
//! with its square. Counted in instructions, so that no clock decides.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use tallymon_core::block::{
    BlockWriter, CounterSpec, InstanceKind, ObjectLayout, ObjectSpec, ObjectsWriter, Parent, Snapshot,
    WriteHeader,
};
use tallymon_core::counter::CounterType;
use tallymon_core::time::{Frequency, PerfTime};
use tallymon_core::title::TitleIndex;
use tallymon_provider::library::check::{ERROR_SUCCESS, Guards, Returned, Rules, check};
use tallymon_testkit::{assert_linear, attack, work_size};

const FIRST: u32 = 10_000;
const COUNTERS: &[CounterSpec] = &[CounterSpec::new(TitleIndex(5_002), CounterType::PERF_COUNTER_RAWCOUNT)];

fn spec(number: usize) -> ObjectSpec<'static> {
    ObjectSpec::new(TitleIndex(FIRST + 2 * u32::try_from(number).unwrap()), InstanceKind::Many, COUNTERS)
}

/// Objects of one instance each, whose parent is the instance of the object before.
fn put_objects(out: &mut ObjectsWriter<'_>, specs: &[ObjectSpec<'static>]) {
    let mut before = None;
    for spec in specs {
        let layout = ObjectLayout::new(*spec);
        let parent = before.replace(spec.name).map(|object| Parent { object, instance: 0 });
        out.object(&layout, PerfTime(0), Frequency(0)).instance("one", parent, None).set(0, 7);
    }
}

/// The objects as a reader gets them: in a block that was validated.
fn snapshot(put: impl FnOnce(&mut ObjectsWriter<'_>)) -> Snapshot {
    let header = WriteHeader { perf_freq: Frequency(10_000_000), ..WriteHeader::named("here") };
    let mut bytes = Vec::new();
    let mut writer = BlockWriter::growing(&mut bytes, &header);
    put(writer.objects());
    writer.finish().unwrap();
    Snapshot::new(bytes).unwrap()
}

/// Reads everything that there is of each instance.
fn read(snapshot: &Snapshot) -> usize {
    let mut instances = 0;
    for object in snapshot.objects() {
        // By its index too, as a query finds it.
        let object = snapshot.object(object.header().name).unwrap();
        for instance in object.instances() {
            assert_eq!(instance.sample(0).unwrap().first, 7);
            assert_eq!(instance.parent().is_some(), instance.parent_instance().is_some());
            instances += 1;
        }
    }
    instances
}

#[test]
fn many_objects() {
    let Some(size) = work_size() else { return };
    let specs: Vec<_> = (0..size).map(spec).collect();
    assert_eq!(read(&snapshot(|out| put_objects(out, &specs))), size);
}

#[test]
fn many_instances() {
    let Some(size) = work_size() else { return };
    let [parents, children] = [spec(0), spec(1)];
    let snapshot = snapshot(|out| {
        for (spec, has_parent) in [(parents, false), (children, true)] {
            let layout = ObjectLayout::new(spec);
            let mut object = out.object(&layout, PerfTime(0), Frequency(0));
            for number in 0..size {
                let instance = u32::try_from(number).unwrap();
                let parent = has_parent.then_some(Parent { object: parents.name, instance });
                object.instance(&format!("instance {number}"), parent, None).set(0, 7);
            }
        }
    });
    assert_eq!(read(&snapshot), 2 * size);
}

#[test]
fn many_objects_of_a_library() {
    let Some(size) = work_size() else { return };
    let mut data = Vec::new();
    let mut out = ObjectsWriter::growing(&mut data);
    put_objects(&mut out, &(0..size).map(spec).collect::<Vec<_>>());
    let objects = out.count();
    drop(out);
    let bytes = u32::try_from(data.len()).unwrap();
    let guards = Guards { before: true, behind: true };
    let returned =
        Returned { status: ERROR_SUCCESS, moved: bytes.into(), bytes, objects, capacity: bytes, guards };
    let verdict = check(&returned, &data, "library", "service", Rules::default());
    assert_eq!((verdict.objects as usize, verdict.events.len()), (size, 0));
}

#[test]
fn attack_with_many_objects_and_instances() {
    for test in ["many_objects", "many_instances", "many_objects_of_a_library"] {
        if !assert_linear(test, 1_000) {
            return;
        }
    }
    attack(
        "provider library",
        "answers with many objects and instances, which are parents of each other",
        "twice as many take twice the instructions: nothing is looked up by walking through all",
    );
}
