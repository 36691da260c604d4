//! Objects (260): the kernel objects that exist now.
//!
//! Semaphores are those of System V and the named ones of POSIX. Sections are System V segments and the other
//! files in the shared memory directory, which is an approximation: mapped ordinary files are sections on NT
//! too.

use std::path::PathBuf;

use rustix::fs::{Dir, Mode, OFlags};
use rustix::io::Errno;
use tallymon_provider::{
    Absence, CollectRequest, CounterBlockMut, DetailLevel, Frequency, InstanceKind, ObjectLayout, ObjectSpec,
    ObjectsWriter, PerfTime,
};

use super::object::Object;
use super::spec::{Origin, counters, object};
use crate::kernel::reusable_file::retry;
use crate::kernel::root::Root;
use crate::sources::Sources;

counters! {
    /// Positions of the counters.
    At, COUNTERS, ORIGINS {
        Processes: 248, 249, PERF_COUNTER_RAWCOUNT, 0, NOVICE: E "/proc: folders with a number";
        Threads: 250, 251, PERF_COUNTER_RAWCOUNT, -1, NOVICE: E "/proc/loadavg: the number behind the slash";
        Events: 252, 253, PERF_COUNTER_RAWCOUNT, -1, EXPERT: N;
        Semaphores: 254, 255, PERF_COUNTER_RAWCOUNT, -1, EXPERT:
            A "/proc/sysvipc/sem: nsems, and files sem.* of /dev/shm";
        Mutexes: 256, 257, PERF_COUNTER_RAWCOUNT, 0, EXPERT: N;
        Sections: 258, 259, PERF_COUNTER_RAWCOUNT, -1, EXPERT:
            A "/proc/sysvipc/shm: segments, and files of /dev/shm";
    }
}

const SPEC: ObjectSpec<'static> =
    object(260, 261, DetailLevel::NOVICE, At::Processes.at(), InstanceKind::None, COUNTERS);

/// The object Objects.
pub(super) struct Objects {
    layout: ObjectLayout<'static>,
}

impl Objects {
    pub(super) fn new() -> Objects {
        Objects { layout: ObjectLayout::new(SPEC) }
    }
}

impl Object for Objects {
    fn spec(&self) -> &ObjectSpec<'static> {
        self.layout.spec()
    }

    fn origins(&self) -> &'static [Origin] {
        ORIGINS
    }

    fn collect(&mut self, ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        let wants = |position: At| {
            COUNTERS.get(position.at()).is_some_and(|counter| ask.interest.wants(SPEC.name, counter.name))
        };
        let mut object = out.object(&self.layout, PerfTime(0), Frequency(0));
        let mut values = object.single();
        let mut set = |position: At, value: &mut dyn FnMut() -> Result<u64, Absence>| {
            set(&mut values, position, if wants(position) { value() } else { Err(Absence::NotRequested) });
        };
        set(At::Processes, &mut || sources.process_count());
        set(At::Threads, &mut || sources.loadavg().map(|loadavg| loadavg.threads));
        // One listing of the directory serves both kinds.
        let files = if wants(At::Semaphores) || wants(At::Sections) {
            shared_files(&sources.root)
        } else {
            Err(Absence::NotRequested)
        };
        set(At::Semaphores, &mut || {
            let system_v = or_none(sources.semaphores().map(|found| found.semaphores), sources)?;
            files.map(|files| system_v.saturating_add(files.semaphores))
        });
        set(At::Sections, &mut || {
            let system_v = or_none(sources.shared_memory().map(|found| found.segments), sources)?;
            files.map(|files| system_v.saturating_add(files.sections))
        });
        // Event objects could only be found in the descriptors of all processes, and a mutex is a number in a
        // program's memory.
        set(At::Events, &mut || Err(Absence::NotEnabled));
        set(At::Mutexes, &mut || Err(Absence::NotOnThisSystem));
    }
}

fn set(values: &mut CounterBlockMut<'_>, position: At, value: Result<u64, Absence>) {
    match value {
        Ok(value) => values.set(position.at(), value),
        Err(absence) => values.absent([position.at()], absence),
    }
}

/// A kernel built without System V IPC has none of them. Where `/proc` does not even have its oldest file, it
/// is not that of a kernel, and says nothing.
fn or_none(count: Result<u64, Absence>, sources: &mut Sources) -> Result<u64, Absence> {
    match count {
        Err(Absence::NotInThisKernel) => sources.loadavg().map(|_| 0),
        count => count,
    }
}

/// The content of the POSIX shared memory directory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct SharedFiles {
    semaphores: u64,
    sections: u64,
}

/// Counts the files in `/dev/shm`, the directory beside `/proc`; zero if it does not exist.
fn shared_files(root: &Root) -> Result<SharedFiles, Absence> {
    let folder: PathBuf = root.proc.with_file_name("dev").join("shm");
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = match retry(|| rustix::fs::open(&folder, flags, Mode::empty())) {
        // Without the directory no program can create such an object.
        Err(Errno::NOENT) => return Ok(SharedFiles::default()),
        Err(Errno::ACCESS | Errno::PERM) => return Err(Absence::AccessDenied),
        Err(_) => return Err(Absence::ReadFailed),
        Ok(opened) => opened,
    };
    let mut found = SharedFiles::default();
    for entry in Dir::new(opened).map_err(|_| Absence::ReadFailed)? {
        let entry = entry.map_err(|_| Absence::ReadFailed)?;
        let name = entry.file_name().to_bytes();
        // The C libraries begin the names of semaphores like this. Directories are no shared memory.
        if name.starts_with(b"sem.") {
            found.semaphores = found.semaphores.saturating_add(1);
        } else if !entry.file_type().is_dir() {
            found.sections = found.sections.saturating_add(1);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::fake_machine_tests::{Machine, System, collect, instance, raw};
    use super::*;
    use crate::kernel::proc::fixture::fixture;
    use tallymon_provider::{Interest, TitleIndex, ValueState};

    fn values(machine: &mut Machine) -> [Result<u64, ValueState>; 6] {
        let snapshot = machine.read(260);
        std::array::from_fn(|position| raw(&instance(&snapshot, ""), position))
    }

    const NO_EVENTS: Result<u64, ValueState> = Err(ValueState::Absent(Absence::NotEnabled));
    const NO_MUTEXES: Result<u64, ValueState> = Err(ValueState::Absent(Absence::NotOnThisSystem));

    #[test]
    fn posix_and_system_v_objects_are_added_up() {
        let [sem, shm] = [fixture("6.18/sysvipc-sem"), fixture("6.18/sysvipc-shm")];
        let mut machine = Machine::new(&[
            ("proc/loadavg", b"0.00 0.00 0.00 1/123 99\n"),
            ("proc/sysvipc/sem", &sem),
            ("proc/sysvipc/shm", &shm),
            ("proc/1/", b""),
            ("proc/17/", b""),
            ("proc/sys/", b""),
            ("dev/shm/sem.one", b""),
            ("dev/shm/area", b""),
            ("dev/shm/other", b""),
            ("dev/shm/folder/", b""),
        ]);
        // 3 + 5 semaphores in two sets, and two segments.
        assert_eq!(values(&mut machine), [Ok(2), Ok(123), NO_EVENTS, Ok(9), NO_MUTEXES, Ok(4)]);
        let mut interest = Interest::everything();
        interest.add(TitleIndex(260), TitleIndex(258));
        let snapshot = machine.read_only(260, &interest);
        let instance = instance(&snapshot, "");
        assert_eq!(raw(&instance, At::Sections.at()), Ok(4));
        for position in [At::Processes, At::Threads, At::Events, At::Semaphores, At::Mutexes] {
            let expected = Err(ValueState::Absent(Absence::NotRequested));
            assert_eq!(raw(&instance, position.at()), expected, "{position:?}");
        }
    }

    #[test]
    fn without_system_v_ipc_there_are_no_such_objects() {
        let load: (&str, &[u8]) = ("proc/loadavg", b"0.00 0.00 0.00 1/123 99\n");
        let mut machine = Machine::new(&[("dev/shm/area", b""), load]);
        let missing = Err(ValueState::Absent(Absence::NotInThisKernel));
        // A directory without any process is no /proc.
        let no_proc = Err(ValueState::Absent(Absence::ReadFailed));
        assert_eq!(values(&mut machine), [no_proc, Ok(123), NO_EVENTS, Ok(0), NO_MUTEXES, Ok(1)]);
        // An empty one says nothing of System V objects either.
        let mut machine = Machine::new(&[("dev/shm/area", b"")]);
        assert_eq!(values(&mut machine), [no_proc, missing, NO_EVENTS, missing, NO_MUTEXES, missing]);
    }

    #[test]
    fn unreadable_values_are_absent_not_zero() {
        let mut machine = Machine::new(&[
            ("proc/sysvipc/sem", b"key\n"),
            ("dev/shm", b"no folder"),
            ("proc/loadavg", b"0 0 0 1/1 1\n"),
        ]);
        let failed = Err(ValueState::Absent(Absence::ReadFailed));
        let [_, _, _, semaphores, _, sections] = values(&mut machine);
        assert_eq!([semaphores, sections], [failed, failed]);
    }

    #[test]
    fn a_file_in_dev_shm_is_a_section() {
        let mut system = System::open().unwrap();
        let mut read = || {
            let snapshot = collect(&mut system, 260, &Interest::everything());
            [At::Processes, At::Threads, At::Sections]
                .map(|at| raw(&instance(&snapshot, ""), at.at()).unwrap())
        };
        let folder = std::path::Path::new("/dev/shm");
        let files: Vec<_> =
            (0..40).map(|number| folder.join(format!("tallymon-{}-{number}", std::process::id()))).collect();
        let [processes, threads, before] = read();
        assert!(processes >= 1 && threads >= processes.min(2));
        if !files.iter().all(|file| std::fs::write(file, b"x").is_ok()) {
            return tallymon_testkit::skip("no files can be made in /dev/shm");
        }
        let [_, _, with] = read();
        files.iter().for_each(|file| std::fs::remove_file(file).unwrap());
        let [_, _, after] = read();
        // Other programs may create and remove a few at the same time.
        assert!(with >= before + 30 && after + 30 <= with, "{before} {with} {after}");
    }
}
