//! Processes as they arrive in a data block.

use tallymon_core::block::{BlockWriter, Snapshot, SnapshotInstance, SnapshotObject, WriteHeader};
use tallymon_core::flow::NoValue;
use tallymon_core::title::TitleIndex;
use tallymon_provider::{Absence, CollectRequest, Interest, Profile, Provider};

use crate::kernel::time::clocks;
use crate::objects;
use crate::objects::object::PROCESS;
use crate::sources::processes::ProcessNeeds;
use crate::system::System;

pub(super) const SYSTEM: TitleIndex = TitleIndex(2);

// Counters of Process and Thread by their name indexes.
pub(super) const CPU: u32 = 6;
pub(super) const USER: u32 = 142;
pub(super) const PRIVILEGED: u32 = 144;
pub(super) const SWITCHES: u32 = 146;
pub(super) const FAULTS: u32 = 28;
pub(super) const VIRTUAL_PEAK: u32 = 172;
pub(super) const VIRTUAL: u32 = 174;
pub(super) const WORKING_SET: u32 = 180;
pub(super) const PRIVATE: u32 = 186;
pub(super) const THREADS: u32 = 680;
pub(super) const PRIORITY: u32 = 682;
pub(super) const STARTED: u32 = 684;
pub(super) const ID: u32 = 784;
pub(super) const THREAD_ID: u32 = 804;
pub(super) const PARENT: u32 = 1410;
pub(super) const NONPAGED: u32 = 58;
pub(super) const HANDLES: u32 = 952;
pub(super) const READS: u32 = 1412;
pub(super) const DATA_BYTES: u32 = 1424;
pub(super) const STATE: u32 = 46;
pub(super) const WAIT_REASON: u32 = 336;

/// A data block of these objects, as a host would build it.
pub(super) fn collect(system: &mut System, objects: &[TitleIndex], interest: &Interest) -> Snapshot {
    let now = clocks();
    let header = WriteHeader {
        system_name: "TEST",
        default_object: -1,
        perf_time: now.perf_time,
        perf_freq: now.perf_freq,
        perf_time_100ns: now.steady,
        system_time: now.civil,
    };
    let mut buffer = Vec::new();
    let mut writer = BlockWriter::growing(&mut buffer, &header);
    system.collect(&CollectRequest { objects, interest }, writer.objects()).unwrap();
    writer.finish().unwrap();
    Snapshot::new(buffer).unwrap()
}

/// What a request needs of the processes.
pub(super) fn needs(request: &CollectRequest<'_>) -> ProcessNeeds {
    let objects = objects::of(Profile::default());
    let requested = objects.iter().filter(|object| request.wants(object.spec().name));
    objects::needs(requested, request).processes
}

/// All counters of Process.
pub(super) fn processes(system: &mut System) -> Snapshot {
    collect(system, &[PROCESS], &Interest::everything())
}

/// Some counters of Process.
pub(super) fn interest(counters: &[u32]) -> Interest {
    let mut interest = Interest::everything();
    counters.iter().for_each(|counter| interest.add(PROCESS, TitleIndex(*counter)));
    interest
}

pub(super) fn names(snapshot: &Snapshot) -> Vec<String> {
    let object = snapshot.object(PROCESS).unwrap();
    object.instances().map(|instance| instance.name().to_string_lossy()).collect()
}

pub(super) fn raw(instance: &SnapshotInstance<'_>, counter: u32) -> Result<u64, NoValue> {
    let position = instance.object().position(TitleIndex(counter)).unwrap();
    instance.sample(position).map(|sample| sample.first)
}

pub(super) fn with_id(object: SnapshotObject<'_>, id: u32) -> Option<SnapshotInstance<'_>> {
    // `_Total` and Idle both have id 0.
    object.instances().find(|instance| raw(instance, ID) == Ok(u64::from(id)))
}

pub(super) fn process(snapshot: &Snapshot, id: u32) -> Option<SnapshotInstance<'_>> {
    with_id(snapshot.object(PROCESS).unwrap(), id)
}

pub(super) fn named<'s>(snapshot: &'s Snapshot, name: &str) -> SnapshotInstance<'s> {
    let object = snapshot.object(PROCESS).unwrap();
    object.instances().find(|instance| instance.name().to_string_lossy() == name).unwrap()
}

pub(super) fn value(snapshot: &Snapshot, id: u32, counter: u32) -> Result<u64, NoValue> {
    raw(&process(snapshot, id).unwrap(), counter)
}

pub(super) fn absent(absence: Absence) -> Result<u64, NoValue> {
    Err(NoValue::NoData(absence))
}
