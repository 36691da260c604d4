//! Process Details (910400): the owner of each process and what it runs, as text. The instances are those of
//! Process, in the same order, so that rows of both belong together.

use std::collections::HashMap;

use tallymon_provider::process::ProcessId;
use tallymon_provider::{
    Absence, CollectRequest, CounterBlockMut, CounterSpec, CounterType, DetailLevel, FileTime, InstanceKind,
    ObjectLayout, ObjectSpec, ObjectsWriter, ReadWindow, TitleIndex,
};

use super::object::Object;
use super::process::SYSTEM_ID;
use super::spec::{Origin, counter, object, origin, text};
use crate::kernel::time::FREQUENCY;
use crate::process::{Facts, LinuxProcesses};
use crate::sources::Sources;

/// The index of the object.
pub(crate) const PROCESS_DETAILS: TitleIndex = TitleIndex(910_400);

const COUNTERS: &[CounterSpec] = &[
    counter(784, 785, CounterType::PERF_COUNTER_RAWCOUNT, -1, DetailLevel::NOVICE),
    counter(684, 685, CounterType::PERF_ELAPSED_TIME, -4, DetailLevel::ADVANCED),
    text(910_402, 64),
    text(910_404, 512),
    text(910_406, 256),
    text(910_408, 512),
];

const ORIGINS: &[Origin] = &[
    origin!(E "/proc: the name of the folder"),
    origin!(E "/proc/PID/stat: starttime"),
    origin!(E "/proc/PID/status:Uid, its name in /etc/passwd"),
    origin!(E "/proc/PID/cmdline, its first 255 letters"),
    origin!(E "/proc/PID/cgroup, and the files of container runtimes"),
    origin!(E "/proc/PID/cgroup"),
];

/// Positions of the counters.
const ID_PROCESS: usize = 0;
const ELAPSED_TIME: usize = 1;
const USER: usize = 2;
const COMMAND_LINE: usize = 3;
const SERVICE: usize = 4;
const CONTROL_GROUP: usize = 5;

const SPEC: ObjectSpec<'static> =
    object(PROCESS_DETAILS.0, 910_401, DetailLevel::NOVICE, USER, InstanceKind::Many, COUNTERS);

/// Facts are read again after this time at the latest, in units of 100 ns: a program can become another user,
/// or move to another group.
const LONGEST: u64 = 100_000_000;
/// A process that has just begun may not run its own program yet.
const SHORTEST: u64 = 10_000_000;

/// What is known of a process, and when it was read.
struct Known {
    facts: Facts,
    read: FileTime,
}

impl Known {
    /// Facts are kept for as long as the process had lived when they were read, from 1 to 10 s.
    fn holds(&self, process: ProcessId, now: FileTime) -> bool {
        let lived = self.read.0.saturating_sub(process.start.0);
        now.0.saturating_sub(self.read.0) < lived.clamp(SHORTEST, LONGEST)
    }
}

/// The object Process Details. It reads four files of each process, so it is read by name only.
pub(super) struct ProcessDetails {
    layout: ObjectLayout<'static>,
    processes: Option<LinuxProcesses>,
    known: HashMap<(u32, FileTime), Known>,
}

impl ProcessDetails {
    pub(super) fn new() -> ProcessDetails {
        ProcessDetails { layout: ObjectLayout::new(SPEC), processes: None, known: HashMap::new() }
    }
}

impl Object for ProcessDetails {
    fn spec(&self) -> &ObjectSpec<'static> {
        self.layout.spec()
    }

    fn origins(&self) -> &'static [Origin] {
        ORIGINS
    }

    fn costly(&self) -> bool {
        true
    }

    fn window(&self, sources: &Sources) -> Option<ReadWindow> {
        sources.process_window()
    }

    fn collect(&mut self, _ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        let mut object = out.object(&self.layout, sources.object_time(), FREQUENCY);
        let (now, boot_time) = (sources.now, sources.facts.boot_time);
        let root = sources.root.clone();
        let Ok(table) = sources.all_processes() else { return };
        let processes = self.processes.get_or_insert_with(|| LinuxProcesses::of(root));
        let machine = |mut block: CounterBlockMut<'_>, id| {
            identify(&mut block, id, boot_time);
            block.absent(USER..COUNTERS.len(), Absence::NotOnThisSystem);
        };
        machine(object.instance("Idle", None, None), 0);
        if table.kernel_threads().next().is_some() {
            machine(object.instance("System", None, None), SYSTEM_ID);
        }
        let mut before = std::mem::take(&mut self.known);
        for row in table.programs() {
            let process = ProcessId { id: row.pid, start: row.start };
            let known = before.remove(&(row.pid, row.start)).filter(|known| known.holds(process, now));
            let known =
                known.map_or_else(|| Some(Known { facts: processes.read(process)?, read: now }), Some);
            let mut block = object.instance(&row.name, None, None);
            identify(&mut block, u64::from(row.pid), row.start);
            let Some(known) = known else {
                block.absent(USER..COUNTERS.len(), Absence::Vanished);
                continue;
            };
            write(&mut block, &known.facts);
            self.known.insert((row.pid, row.start), known);
        }
        machine(object.instance("_Total", None, None), 0);
    }
}

fn identify(block: &mut CounterBlockMut<'_>, id: u64, start: FileTime) {
    block.set(ID_PROCESS, id);
    block.set(ELAPSED_TIME, start.0);
}

fn write(block: &mut CounterBlockMut<'_>, facts: &Facts) {
    let none = Absence::NotFromThisDevice;
    let texts = [
        (USER, facts.user.as_deref(), Absence::AccessDenied),
        (COMMAND_LINE, Some(facts.command.as_str()), Absence::Other),
        // A process that no service manager and no container runtime has started, if that is known.
        (SERVICE, facts.unit.as_deref(), if facts.group.is_some() { none } else { Absence::AccessDenied }),
        (CONTROL_GROUP, facts.group.as_deref(), Absence::AccessDenied),
    ];
    for (position, text, absence) in texts {
        match text {
            Some(text) => block.set_text(position, text),
            None => block.absent([position], absence),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use tallymon_provider::ValueState;
    use tallymon_testkit::Ends;

    use super::super::fake_machine_tests::{Machine, System, collect, instance, named, names};
    use super::*;
    use tallymon_core::block::SnapshotInstance;
    use tallymon_provider::Interest;

    const NO_SERVICE: ValueState = ValueState::Absent(Absence::NotFromThisDevice);
    const HIDDEN: ValueState = ValueState::Absent(Absence::AccessDenied);

    fn stat(id: u32, name: &str) -> Vec<u8> {
        let end = "0 ".repeat(14);
        format!("{id} ({name}) S 1 0 0 0 -1 4194304 100 0 3 0 5 5 0 0 20 0 1 0 50 4096000 300 {end}1 0 0 0\n")
            .into_bytes()
    }

    /// The text, or why there is none.
    fn said(instance: &SnapshotInstance<'_>, position: usize) -> Result<String, ValueState> {
        match instance.state(position) {
            ValueState::Present => Ok(instance.text(position).unwrap()),
            state => Err(state),
        }
    }

    fn texts(instance: &SnapshotInstance<'_>) -> [Result<String, ValueState>; 4] {
        [USER, COMMAND_LINE, SERVICE, CONTROL_GROUP].map(|position| said(instance, position))
    }

    #[test]
    fn whose_a_process_is_and_what_it_runs() {
        let long = "x".repeat(600);
        let mut machine = Machine::new(&[
            ("proc/stat", b"cpu 1 2 3 4 5 6 7 8\nbtime 1\n"),
            (
                "etc/passwd",
                b"root:x:0:0::/root:/bin/sh\nweb:x:33:33::/:/bin/false\nother:x:33:33::/:/bin/sh\n",
            ),
            ("proc/40/stat", &stat(40, "nginx")),
            ("proc/40/status", b"Name:\tnginx\nUid:\t33\t33\t33\t33\n"),
            ("proc/40/cmdline", b"nginx: worker process\0\0\0"),
            ("proc/40/cgroup", b"0::/system.slice/nginx.service\n"),
            // A user without a name, more arguments than fit, and no group but the root.
            ("proc/41/stat", &stat(41, "long")),
            ("proc/41/status", b"Name:\tlong\nUid:\t4242\t4242\t4242\t4242\n"),
            ("proc/41/cmdline", format!("long\0--password\0{long}\0").as_bytes()),
            ("proc/41/cgroup", b"0::/\n"),
            // Nothing but its existence can be read.
            ("proc/42/stat", &stat(42, "hidden")),
        ]);
        let snapshot = machine.read(PROCESS_DETAILS.0);
        assert_eq!(names(&snapshot), names(&machine.read(230)), "the instances of Process, in their order");
        let text = |words: &str| Ok(words.to_string());
        let nginx = instance(&snapshot, "nginx");
        let service = "nginx.service";
        let group = "/system.slice/nginx.service";
        assert_eq!(texts(&nginx), [text("web"), text("nginx: worker process"), text(service), text(group)]);
        assert_eq!(named(&nginx, 784), Ok(40));
        let [user, command, service, group] = texts(&instance(&snapshot, "long"));
        assert_eq!((user, service, group), (text("4242"), Err(NO_SERVICE), text("/")));
        let command = command.unwrap();
        assert!(command.starts_with("long --password xxx") && command.len() == 255, "{command}");
        let hidden = texts(&instance(&snapshot, "hidden"));
        assert_eq!(hidden, [Err(HIDDEN), text("[hidden]"), Err(HIDDEN), Err(HIDDEN)]);
        for machine in ["Idle", "_Total"] {
            let none = ValueState::Absent(Absence::NotOnThisSystem);
            assert_eq!(said(&instance(&snapshot, machine), USER), Err(none));
        }
    }

    #[test]
    fn facts_of_the_living_are_kept_for_a_while_and_those_of_the_dead_are_not() {
        let mut machine = Machine::new(&[
            ("proc/stat", b"cpu 1 2 3 4 5 6 7 8\nbtime 1\n"),
            ("etc/passwd", b"web:x:33:33::/:/bin/false\n"),
            ("proc/40/stat", &stat(40, "nginx")),
            ("proc/40/status", b"Uid:\t33\t33\t33\t33\n"),
            ("proc/40/cmdline", b"nginx\0"),
        ]);
        let command = |machine: &mut Machine| {
            let snapshot = machine.read(PROCESS_DETAILS.0);
            said(&instance(&snapshot, "nginx"), COMMAND_LINE)
        };
        assert_eq!(command(&mut machine).as_deref(), Ok("nginx"));
        machine.write("proc/40/cmdline", b"nginx: changed\0");
        assert_eq!(command(&mut machine).as_deref(), Ok("nginx"), "it lived long before it was read");
        // Another process has the number of one that ended.
        let younger = String::from_utf8(stat(40, "nginx")).unwrap().replace(" 0 50 4096000", " 0 90 4096000");
        machine.write("proc/40/stat", younger.as_bytes());
        // Reading all of Process looks at every start.
        machine.read(230);
        assert_eq!(command(&mut machine).as_deref(), Ok("nginx: changed"));
    }

    #[test]
    fn how_long_facts_hold() {
        let process = ProcessId { id: 7, start: FileTime(1_000_000_000) };
        let facts = Facts { user: None, command: String::new(), unit: None, group: None };
        for (read, held) in
            [(0, SHORTEST), (SHORTEST, SHORTEST), (30_000_000, 30_000_000), (u64::MAX / 2, LONGEST)]
        {
            let read = FileTime(process.start.0 + read);
            let known = Known { facts: facts.clone(), read };
            assert!(known.holds(process, FileTime(read.0 + held - 1)));
            assert!(!known.holds(process, FileTime(read.0 + held)));
        }
    }

    #[test]
    fn a_process_of_this_machine() {
        let ends = Ends::start("exec sleep 61.25");
        let mut system = System::open().unwrap();
        let found = (0..200).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            let snapshot = collect(&mut system, PROCESS_DETAILS.0, &Interest::everything());
            let object = snapshot.objects().next().unwrap();
            let mut instances = object.instances();
            let found = instances.find(|one| named(one, 784) == Ok(u64::from(ends.id())))?;
            let said = texts(&found);
            (said[1].as_deref() == Ok("sleep 61.25")).then_some(said)
        });
        let user = Command::new("id").arg("-un").output().unwrap().stdout;
        let group = fs::read_to_string(format!("/proc/{}/cgroup", ends.id())).unwrap();
        let [user_said, _, _, group_said] = found.expect("a command line as it is after exec");
        assert_eq!(user_said.unwrap(), String::from_utf8_lossy(&user).trim());
        assert!(group.contains(&group_said.unwrap()));
        assert!(tallymon_provider::Provider::is_costly(&system, PROCESS_DETAILS));
    }
}
