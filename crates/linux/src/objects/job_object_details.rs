//! Job Object Details (1548): the counters of Process, one instance per program in each control group.
//!
//! A process belongs to the deepest group that lists it; with version 1 of control groups it is listed in
//! each hierarchy.

use std::collections::BTreeMap;

use tallymon_provider::{
    CollectRequest, DetailLevel, InstanceKind, ObjectLayout, ObjectSpec, ObjectsWriter, Parent, ReadWindow,
};

use super::control_groups::processes;
use super::object::{JOB_OBJECT, JOB_OBJECT_DETAILS, Object};
use super::process::{self, PROCESS_COUNTERS, PROCESS_ORIGINS, write_program};
use super::spec::{Origin, object};
use crate::kernel::time::FREQUENCY;
use crate::sources::{Needs, Sources};

const SPEC: ObjectSpec<'static> =
    object(JOB_OBJECT_DETAILS.0, 1549, DetailLevel::ADVANCED, 0, InstanceKind::Many, PROCESS_COUNTERS);

/// The object Job Object Details. It lists the processes of all groups, so it is read by name only.
pub(super) struct JobObjectDetails {
    layout: ObjectLayout<'static>,
}

impl JobObjectDetails {
    pub(super) fn new() -> JobObjectDetails {
        JobObjectDetails { layout: ObjectLayout::new(SPEC) }
    }
}

impl Object for JobObjectDetails {
    fn spec(&self) -> &ObjectSpec<'static> {
        self.layout.spec()
    }

    fn origins(&self) -> &'static [Origin] {
        PROCESS_ORIGINS
    }

    fn costly(&self) -> bool {
        true
    }

    fn window(&self, sources: &Sources) -> Option<ReadWindow> {
        sources.process_window()
    }

    fn needs(&self, request: &CollectRequest<'_>) -> Needs {
        Needs { processes: process::needs(request, SPEC.name) }
    }

    fn collect(&mut self, _ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        let mut object = out.object(&self.layout, sources.object_time(), FREQUENCY);
        // Read the processes first: finding the groups takes longer, and no value depends on them.
        if sources.all_processes().is_err() {
            return;
        }
        let Ok(groups) = sources.groups().cloned() else { return };
        // Parents come before their children, so that the deepest group wins.
        let mut members: BTreeMap<u32, usize> = BTreeMap::new();
        for (position, (_, path)) in groups.iter().enumerate() {
            for process in processes(sources, path) {
                members.insert(process, position);
            }
        }
        let Ok(table) = sources.all_processes() else { return };
        let mut rows: Vec<_> =
            table.programs().filter_map(|row| Some((*members.get(&row.pid)?, row))).collect();
        rows.sort_by_key(|(position, row)| (*position, row.pid));
        for (position, row) in rows {
            let Ok(instance) = u32::try_from(position) else { continue };
            let parent = Parent { object: JOB_OBJECT, instance };
            write_program(&mut object.instance(&row.name, Some(parent), None), row);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use tallymon_core::block::{BlockWriter, Snapshot, WriteHeader};
    use tallymon_provider::{CollectRequest, Frequency, Provider, TitleIndex};

    use super::super::fake_machine_tests::{System, named};
    use super::super::object::{PROCESS, THREAD};
    use super::*;

    const SYSTEM: TitleIndex = TitleIndex(2);

    /// Several objects in one block, as a host requests them.
    fn of(system: &mut System, objects: &[TitleIndex]) -> Snapshot {
        let header = WriteHeader { perf_freq: Frequency(10_000_000), ..WriteHeader::named("FAKE") };
        let mut bytes = Vec::new();
        let mut block = BlockWriter::growing(&mut bytes, &header);
        system.collect(&CollectRequest::everything(objects), block.objects()).unwrap();
        block.finish().unwrap();
        Snapshot::new(bytes).unwrap()
    }

    #[test]
    fn objects_of_one_sample_agree() {
        // The first samples read the files, later ones may use a BPF program.
        let mut system = System::open().unwrap();
        for _ in 0..20 {
            let snapshot = of(&mut system, &[SYSTEM, PROCESS, THREAD, JOB_OBJECT, JOB_OBJECT_DETAILS]);
            let objects =
                [SYSTEM, PROCESS, THREAD, JOB_OBJECT_DETAILS].map(|name| snapshot.object(name).unwrap());
            let stamps = objects.each_ref().map(|object| object.header().perf_time);
            assert!(stamps.iter().all(|stamp| *stamp == stamps[0]), "{stamps:?}");
            let [machine, process, _, details] = objects;
            let of_process = |name: &str, counter| {
                let found = process.instances().find(|instance| instance.name().to_string_lossy() == name);
                named(&found.unwrap(), counter).unwrap()
            };
            let all = of_process("_Total", 680) - of_process("Idle", 680);
            assert_eq!(named(&machine.instances().next().unwrap(), 250), Ok(all), "threads of the machine");
            for job in details.instances() {
                let id = named(&job, 784);
                let same = process.instances().find(|other| named(other, 784) == id).unwrap();
                for counter in [6, 180, 680, 952, 1420] {
                    assert_eq!(named(&job, counter), named(&same, counter), "counter {counter} of {id:?}");
                }
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    #[test]
    fn a_process_in_a_new_control_group_of_this_machine() {
        let name = format!("tallymon-details-{}", std::process::id());
        let made = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"]
            .into_iter()
            .map(|root| Path::new(root).join(&name))
            .find(|folder| folder.with_file_name("cgroup.procs").exists() && fs::create_dir(folder).is_ok());
        let Some(folder) = made else { return tallymon_testkit::skip("no group can be made here") };
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let joined = fs::write(folder.join("cgroup.procs"), child.id().to_string());
        let mut system = System::open().unwrap();
        let snapshot = of(&mut system, &[JOB_OBJECT, JOB_OBJECT_DETAILS]);
        child.kill().unwrap();
        child.wait().unwrap();
        fs::remove_dir(&folder).unwrap();
        joined.unwrap();
        let details = snapshot.object(JOB_OBJECT_DETAILS).unwrap();
        let process = details
            .instances()
            .find(|instance| named(instance, 784) == Ok(u64::from(child.id())))
            .expect("the child is not a row");
        let job = process.parent_instance().map(|job| job.name().to_string_lossy());
        assert_eq!(job, Some(format!("/{name}")));
        let numbers: Vec<_> = details.instances().map(|instance| named(&instance, 784)).collect();
        let mut once = numbers.clone();
        once.sort_unstable_by_key(|number| number.unwrap_or(0));
        once.dedup();
        assert_eq!(once.len(), numbers.len(), "a process is in one group only");
        assert!(system.is_costly(JOB_OBJECT_DETAILS) && !system.is_costly(JOB_OBJECT));
    }
}
