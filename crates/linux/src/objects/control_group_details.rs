//! Control Group Details (910600): the service or container of each control group, as a text; the instances
//! are those of Control Group and Job Object, in the same order.

use tallymon_provider::{
    Absence, CollectRequest, CounterSpec, DetailLevel, Frequency, InstanceKind, ObjectLayout, ObjectSpec,
    ObjectsWriter, PerfTime,
};

use super::object::Object;
use super::spec::{Origin, object, origin, text};
use crate::sources::Sources;
use crate::sources::units::unit_of;

const COUNTERS: &[CounterSpec] = &[text(910_602, 256)];

const ORIGINS: &[Origin] = &[origin!(E "the path of the group, and the files of container runtimes")];

const SPEC: ObjectSpec<'static> =
    object(910_600, 910_601, DetailLevel::ADVANCED, 0, InstanceKind::Many, COUNTERS);

/// The object Control Group Details.
pub(super) struct ControlGroupDetails {
    layout: ObjectLayout<'static>,
}

impl ControlGroupDetails {
    pub(super) fn new() -> ControlGroupDetails {
        ControlGroupDetails { layout: ObjectLayout::new(SPEC) }
    }
}

impl Object for ControlGroupDetails {
    fn spec(&self) -> &ObjectSpec<'static> {
        self.layout.spec()
    }

    fn origins(&self) -> &'static [Origin] {
        ORIGINS
    }

    fn collect(&mut self, _ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        let mut object = out.object(&self.layout, PerfTime(0), Frequency(0));
        let Ok(groups) = sources.groups().cloned() else { return };
        for (name, _) in groups {
            let service = unit_of(&name, |container| sources.container_name(container));
            let mut block = object.instance(&name, None, None);
            match service {
                Some(service) => block.set_text(0, &service),
                None => block.absent([0], Absence::NotFromThisDevice),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tallymon_provider::{Absence, ValueState};

    use super::super::fake_machine_tests::{Machine, names};

    #[test]
    fn groups_have_the_names_of_their_services_and_containers() {
        let web = "3f2a1b4c5d6e".to_string() + &"0".repeat(52);
        let inside = format!("sys/fs/cgroup/system.slice/docker-{web}.scope/init/cgroup.procs");
        let config = format!("var/lib/docker/containers/{web}/config.v2.json");
        let mut machine = Machine::new(&[
            ("sys/fs/cgroup/cgroup.controllers", b"cpu\n"),
            ("sys/fs/cgroup/cgroup.procs", b"1\n"),
            ("sys/fs/cgroup/system.slice/cgroup.procs", b""),
            (&format!("sys/fs/cgroup/system.slice/docker-{web}.scope/cgroup.procs"), b""),
            (&inside, b"812\n"),
            ("sys/fs/cgroup/system.slice/nginx.service/cgroup.procs", b"900\n"),
            (&config, br#"{"ID":"x","Name":"/web"}"#),
        ]);
        let snapshot = machine.read(910_600);
        assert_eq!(names(&snapshot), names(&machine.read(902_400)), "the instances of Control Group");
        let found: Vec<_> = snapshot
            .objects()
            .next()
            .unwrap()
            .instances()
            .map(|instance| (instance.name().to_string_lossy(), instance.text(0), instance.state(0)))
            .collect();
        let none = ValueState::Absent(Absence::NotFromThisDevice);
        let group = |name: &str| found.iter().find(|(known, ..)| known == name).unwrap().clone();
        assert_eq!(group("/system.slice").2, none);
        assert_eq!(group("/system.slice/nginx.service").1.as_deref(), Some("nginx.service"));
        let scope = format!("/system.slice/docker-{web}.scope");
        assert_eq!(group(&scope).1.as_deref(), Some("docker web"));
        assert_eq!(group(&format!("{scope}/init")).1.as_deref(), Some("docker web"));
    }
}
