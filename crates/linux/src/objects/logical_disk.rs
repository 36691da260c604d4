//! LogicalDisk (236): one instance per mounted file system, and `_Total`.
//!
//! The traffic is that of the block device below a file system; a file system without one only has its space.
//! Space is queried in other threads with a deadline, because the query can hang: a late answer is stale.
//!
//! `_Total` is the sum over file systems with space of their own: that of memory and overlays belongs to
//! something else.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tallymon_provider::{
    Absence, CollectRequest, CounterBlockMut, DetailLevel, Frequency, InstanceKind, ObjectLayout, ObjectSpec,
    ObjectsWriter, PerfTime, ValueState,
};

use super::object::Object;
use super::physical_disk::{TRAFFIC, disk_counters, write_total, write_traffic};
use super::spec::{Origin, object};
use crate::kernel::statvfs::{Answer, Space, Spaces, now_and_here};
use crate::sources::Sources;
use crate::sources::disks::{Device, DiskSum};
use crate::sources::missing::{Missing, is_unread};
use crate::sources::mounts::FileSystem;

disk_counters! {
    PercentFreeSpace: 408, 409, PERF_RAW_FRACTION, 0, NOVICE: E "statvfs(3): f_bavail * f_frsize / 1048576";
    PercentFreeSpaceBase: 408, 409, PERF_RAW_BASE, 0, NOVICE: E "statvfs(3): f_blocks * f_frsize / 1048576";
    FreeMegabytes: 410, 411, PERF_COUNTER_RAWCOUNT, 0, NOVICE: E "statvfs(3): f_bavail * f_frsize / 1048576";
}

const SPEC: ObjectSpec<'static> =
    object(236, 237, DetailLevel::NOVICE, At::PercentDiskTime.at(), InstanceKind::Many, COUNTERS);

/// The position of the first traffic counter.
const FIRST_OF_TRAFFIC: usize = At::CurrentDiskQueueLength.at();

/// How long to wait for all file systems together.
const PATIENCE: Duration = Duration::from_millis(50);

/// How long a file system that missed the deadline is not queried again, so that a dead server rarely costs
/// the whole wait.
const PAUSE: Duration = Duration::from_secs(10);

/// The object LogicalDisk.
pub(super) struct LogicalDisk {
    layout: ObjectLayout<'static>,
    /// Whether the file systems without a device have any blocks, that is, something to show.
    blocks: HashMap<(Device, PathBuf), bool>,
    late: HashMap<PathBuf, Late>,
}

/// A file system that missed the deadline.
struct Late {
    asked: Instant,
    /// Its last answer.
    space: Option<Space>,
}

/// The space of a file system, and whether it is stale.
pub(super) type Known = Result<(Space, ValueState), Absence>;

impl LogicalDisk {
    pub(super) fn new() -> LogicalDisk {
        LogicalDisk { layout: ObjectLayout::new(SPEC), blocks: HashMap::new(), late: HashMap::new() }
    }

    /// The file systems that are shown, with their space if that is needed.
    pub(super) fn spaces(&mut self, sources: &mut Sources, wanted: bool) -> Vec<(FileSystem, Known)> {
        let found = sources.file_systems().map(|(found, _)| found.to_vec());
        let is_system = sources.root.is_system();
        let file_systems = self.shown(found.unwrap_or_default(), &sources.spaces, is_system);
        let spaces = if !wanted {
            vec![Err(Absence::NotRequested); file_systems.len()]
        } else if is_system {
            self.ask(&file_systems, Instant::now(), |paths| sources.spaces.ask(paths, PATIENCE))
        } else {
            // The mounts are those of another machine, whose space is in none of its files.
            vec![Err(Absence::Other); file_systems.len()]
        };
        file_systems.into_iter().zip(spaces).collect()
    }

    /// Selects the file systems to show. Unknown ones are queried whichever counters are requested, so that
    /// every request sees the same instances.
    fn shown(&mut self, all: Vec<FileSystem>, spaces: &Spaces, is_system: bool) -> Vec<FileSystem> {
        if !is_system {
            return all;
        }
        let key = |file_system: &FileSystem| (file_system.device, file_system.path.clone());
        let has_no_device = |file_system: &&FileSystem| !file_system.has_device();
        self.blocks.retain(|known, _| all.iter().any(|file_system| key(file_system) == *known));
        let unknown: Vec<&FileSystem> = all
            .iter()
            .filter(has_no_device)
            .filter(|file_system| !self.blocks.contains_key(&key(file_system)))
            .collect();
        if !unknown.is_empty() {
            let paths: Vec<&Path> = unknown.iter().map(|file_system| file_system.path.as_path()).collect();
            for (file_system, answer) in unknown.iter().zip(spaces.ask(&paths, PATIENCE)) {
                self.blocks.insert(key(file_system), has_blocks(answer));
            }
        }
        let is_shown = |file_system: &FileSystem| self.blocks.get(&key(file_system)).copied().unwrap_or(true);
        all.into_iter().filter(is_shown).collect()
    }

    /// The space of each of these file systems.
    fn ask(
        &mut self,
        file_systems: &[FileSystem],
        now: Instant,
        question: impl FnOnce(&[&Path]) -> Vec<Answer>,
    ) -> Vec<Known> {
        self.late.retain(|path, late| {
            now.saturating_duration_since(late.asked) < PAUSE
                && file_systems.iter().any(|file_system| file_system.path == *path)
        });
        let asked: Vec<&Path> = file_systems
            .iter()
            .filter(|file_system| !file_system.answers_at_once)
            .map(|file_system| file_system.path.as_path())
            .filter(|path| !self.late.contains_key(*path))
            .collect();
        let answers: HashMap<&Path, Answer> = asked.iter().copied().zip(question(&asked)).collect();
        for (path, answer) in &answers {
            if matches!(answer, Answer::Stale(..) | Answer::Silent) {
                self.late.insert(path.to_path_buf(), Late { asked: now, space: answer.space() });
            }
        }
        let known = |file_system: &FileSystem| {
            let path = file_system.path.as_path();
            if file_system.answers_at_once {
                return known(now_and_here(path));
            }
            match answers.get(path) {
                Some(answer) => known(*answer),
                None => {
                    self.late.get(path).and_then(|late| late.space).map_or(Err(Absence::ReadFailed), stale)
                }
            }
        };
        file_systems.iter().map(known).collect()
    }
}

impl Object for LogicalDisk {
    fn spec(&self) -> &ObjectSpec<'static> {
        self.layout.spec()
    }

    fn total_is_mean(&self, position: usize) -> bool {
        super::quantum::is_share_of_time(self.spec().counters, position)
    }

    fn origins(&self) -> &'static [Origin] {
        ORIGINS
    }

    fn quantum(&self, position: usize) -> u64 {
        super::physical_disk::quantum(COUNTERS, position)
    }

    fn collect(&mut self, ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        let wants = |positions: std::ops::Range<usize>| {
            let names = COUNTERS.get(positions).unwrap_or_default().iter();
            names.into_iter().any(|counter| ask.interest.wants(SPEC.name, counter.name))
        };
        let missing = sources.file_systems().map(|_| ()).err();
        let found = self.spaces(sources, wants(0..FIRST_OF_TRAFFIC));
        let now = sources.now;
        let traffic = match missing {
            Some(absence) => Err(absence),
            None if wants(FIRST_OF_TRAFFIC..COUNTERS.len()) => sources.disks(),
            None => Err(Absence::NotRequested),
        };
        let mut object = out.object(&self.layout, PerfTime(0), Frequency(0));
        let mut disk_sum = DiskSum::default();
        let mut space_sum = SpaceSum::default();
        for (file_system, space) in &found {
            let mut values = object.instance(&file_system.name, None, None);
            write_space(&mut values, *space);
            if file_system.owns_space {
                space_sum.add(space);
            }
            let io = traffic
                .as_ref()
                .map_err(|absence| *absence)
                .and_then(|(table, _)| table.io(file_system.device).ok_or(Absence::NotFromThisDevice));
            match io {
                Ok(io) => {
                    disk_sum.add(&io);
                    write_traffic(&mut values, FIRST_OF_TRAFFIC, &io, 1, now);
                }
                Err(absence) => values.absent(FIRST_OF_TRAFFIC..COUNTERS.len(), absence),
            }
        }
        let mut values = object.sums("_Total", None);
        write_space(&mut values, space_sum.known(missing));
        write_total(&mut values, FIRST_OF_TRAFFIC, &disk_sum, traffic.err(), now);
    }
}

/// Whether a file system is worth showing.
fn has_blocks(answer: Answer) -> bool {
    const EPERM: i32 = 1;
    const EACCES: i32 = 13;
    match answer {
        Answer::Now(space) | Answer::Stale(space, _) => space.total > 0,
        // These are mounts of other users' desktop programs; a file system that fails otherwise is shown as
        // failed.
        Answer::Refused(EPERM | EACCES) => false,
        Answer::Refused(_) | Answer::Silent => true,
    }
}

fn known(answer: Answer) -> Known {
    const EPERM: i32 = 1;
    const EACCES: i32 = 13;
    const ENOENT: i32 = 2;
    match answer {
        Answer::Now(space) => Ok((space, ValueState::Present)),
        Answer::Stale(space, _) => stale(space),
        Answer::Silent => Err(Absence::ReadFailed),
        Answer::Refused(EPERM | EACCES) => Err(Absence::AccessDenied),
        Answer::Refused(ENOENT) => Err(Absence::Vanished),
        Answer::Refused(_) => Err(Absence::ReadFailed),
    }
}

fn stale(space: Space) -> Known {
    Ok((space, ValueState::Stale))
}

fn write_space(values: &mut CounterBlockMut<'_>, space: Known) {
    const SPACE: [usize; 3] =
        [At::PercentFreeSpace.at(), At::PercentFreeSpaceBase.at(), At::FreeMegabytes.at()];
    const MEGABYTE: u64 = 1 << 20;
    match space {
        Ok((space, state)) => {
            for position in SPACE {
                values.state(position, state);
            }
            // Megabytes, as on NT, whose viewers take the size from the base; the smallest file systems have
            // less than one.
            let unit = if space.total < MEGABYTE { 1 } else { MEGABYTE };
            let [free, total] =
                [space.available, space.total].map(|bytes| bytes.checked_div(unit).unwrap_or(0));
            values.set_fraction(At::PercentFreeSpace.at(), free, total);
            values.set(At::FreeMegabytes.at(), space.available / MEGABYTE);
        }
        Err(absence) => values.absent(SPACE, absence),
    }
}

/// The sum of the space of several file systems.
#[derive(Default)]
struct SpaceSum {
    total: u64,
    available: u64,
    stale: bool,
    /// How many file systems have space, with the unreadable ones.
    whole: u32,
    /// Those that did not answer.
    unread: Missing,
    /// Why one of them is missing in the sum.
    absence: Option<Absence>,
    /// Whether any was added.
    any: bool,
}

impl SpaceSum {
    fn add(&mut self, space: &Known) {
        match space {
            Ok((space, state)) => {
                self.any = true;
                self.whole = self.whole.saturating_add(1);
                self.total = self.total.saturating_add(space.total);
                self.available = self.available.saturating_add(space.available);
                self.stale |= *state == ValueState::Stale;
            }
            Err(absence) => {
                self.absence = self.absence.or(Some(*absence));
                if is_unread(*absence) {
                    self.unread.note(*absence);
                    self.whole = self.whole.saturating_add(1);
                }
            }
        }
    }

    /// The sum of those that answered. That some did not is more important than that an answer is late.
    fn known(&self, missing: Option<Absence>) -> Known {
        if !self.any {
            return Err(missing.or(self.absence).unwrap_or(Absence::NotFromThisDevice));
        }
        let space = Space {
            total: self.total,
            free: self.available,
            available: self.available,
            inodes: 0,
            inodes_free: 0,
            read_only: false,
        };
        let state = match self.unread.of(self.whole)? {
            Some(sum) => ValueState::Partial(sum),
            None if self.stale => ValueState::Stale,
            None => ValueState::Present,
        };
        Ok((space, state))
    }
}

/// One function sets the traffic of both objects, so their tables must agree.
const _: () = assert!(TRAFFIC.len() + FIRST_OF_TRAFFIC == COUNTERS.len());

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::super::fake_machine_tests::{Machine, System, collect, instance, named, names, raw};
    use super::*;
    use tallymon_provider::{Interest, PartialSum, TitleIndex};

    const MEGABYTE: u64 = 1 << 20;

    fn space(total: u64, available: u64) -> Space {
        Space { total, free: available, available, inodes: 0, inodes_free: 0, read_only: false }
    }

    fn file_system(name: &str) -> FileSystem {
        let (path, name) = (PathBuf::from(name), name.to_string());
        FileSystem { device: (0, 40), path, name, owns_space: true, answers_at_once: false }
    }

    #[test]
    fn traffic_counters_match_those_of_physical_disk() {
        for (own, other) in COUNTERS[FIRST_OF_TRAFFIC..].iter().zip(TRAFFIC) {
            assert_eq!((own.name, own.counter_type, own.size), (other.name, other.counter_type, other.size));
            let shared = other.shares.map(|position| usize::from(position) + FIRST_OF_TRAFFIC);
            assert_eq!(own.shares.map(usize::from), shared);
        }
    }

    fn machine() -> Machine {
        let diskstats = "8 0 sda 9 0 9 9 9 0 9 9 0 9 9
8 1 sda1 100 10 2000 300 40 4 600 70 2 500 900
253 0 dm-0 10 0 20 30 4 0 60 7 1 80 90
";
        let mounts = "20 1 253:0 / / rw - ext4 /dev/dm-0 rw
21 20 8:1 / /boot rw - ext4 /dev/sda1 rw
22 20 8:1 /x /bind rw - ext4 /dev/sda1 rw
23 20 0:40 / /tmp rw - tmpfs tmpfs rw
24 20 0:41 / /proc rw - proc proc rw
25 20 0:42 / /net\\040home rw - nfs4 server:/home rw
";
        Machine::new(&[("proc/diskstats", diskstats.as_bytes()), ("proc/self/mountinfo", mounts.as_bytes())])
    }

    #[test]
    fn traffic_comes_from_the_block_device() {
        let mut machine = machine();
        let snapshot = machine.read(236);
        assert_eq!(names(&snapshot), ["/", "/boot", "/tmp", "/net home", "_Total"]);
        let boot = instance(&snapshot, "/boot");
        let stamp = raw(&boot, At::PercentDiskTimeStamp.at()).unwrap();
        assert_eq!(raw(&boot, At::PercentIdleTimeStamp.at()), Ok(stamp));
        assert_eq!(raw(&boot, At::PercentIdleTime.at()), Ok(stamp - 5_000_000));
        assert_eq!(named(&boot, 198), Ok(2));
        assert_eq!(named(&boot, 200), Ok(3_700_000));
        assert_eq!(named(&boot, 222), Ok(600 * 512));
        let total = instance(&snapshot, "_Total");
        assert_eq!(named(&total, 200), Ok((3_700_000 + 370_000) / 2), "the mean of two, not of four");
        assert_eq!(named(&total, 212), Ok(154));
        for name in ["/tmp", "/net home"] {
            let values = instance(&snapshot, name);
            for position in FIRST_OF_TRAFFIC..COUNTERS.len() {
                assert_eq!(values.state(position), ValueState::Absent(Absence::NotFromThisDevice));
            }
        }
        // The space of another machine is in none of its files.
        for name in ["/", "_Total"] {
            let state = instance(&snapshot, name).state(At::FreeMegabytes.at());
            assert_eq!(state, ValueState::Absent(Absence::Other), "{name}");
        }
    }

    #[test]
    fn only_requested_counters_are_read() {
        let mut machine = machine();
        let mut interest = Interest::everything();
        interest.add(TitleIndex(236), TitleIndex(410));
        let snapshot = machine.read_only(236, &interest);
        let state = |snapshot, name, position: At| instance(snapshot, name).state(position.at());
        let not_requested = ValueState::Absent(Absence::NotRequested);
        assert_eq!(state(&snapshot, "/", At::DiskReads), not_requested);
        assert_eq!(state(&snapshot, "_Total", At::DiskReads), not_requested);
        assert_eq!(state(&snapshot, "/", At::FreeMegabytes), ValueState::Absent(Absence::Other));
        let mut interest = Interest::everything();
        interest.add(TitleIndex(236), TitleIndex(214));
        let snapshot = machine.read_only(236, &interest);
        assert_eq!(state(&snapshot, "/", At::DiskReads), ValueState::Present);
        assert_eq!(state(&snapshot, "/", At::FreeMegabytes), not_requested);
        assert_eq!(names(&snapshot), ["/", "/boot", "/tmp", "/net home", "_Total"]);
    }

    #[test]
    fn a_missing_or_damaged_mount_list() {
        for (files, absence) in [
            (
                &[("proc/diskstats", b"8 0 sda 9 0 9 9 9 0 9 9 0 9 9".as_slice())][..],
                Absence::NotInThisKernel,
            ),
            (&[("proc/self/mountinfo", b"20 1 8".as_slice())], Absence::ReadFailed),
        ] {
            let snapshot = Machine::new(files).read(236);
            assert_eq!(names(&snapshot), ["_Total"]);
            for position in 0..COUNTERS.len() {
                let state = instance(&snapshot, "_Total").state(position);
                assert_eq!(state, ValueState::Absent(absence), "{position}");
            }
        }
    }

    #[test]
    fn a_late_file_system_is_not_queried_for_a_while() {
        let mut object = LogicalDisk::new();
        let all = [file_system("/live"), file_system("/dead")];
        let start = Instant::now();
        let (live, dead) = (space(100, 50), space(10, 5));
        let mut ask = |seconds, expected: &[&str], answers: Vec<Answer>| {
            object.ask(&all, start + Duration::from_secs(seconds), |paths| {
                assert_eq!(paths, expected.iter().map(Path::new).collect::<Vec<_>>());
                answers
            })
        };
        let present = |space| Ok((space, ValueState::Present));
        let both = ["/live", "/dead"];
        let known = ask(0, &both, vec![Answer::Now(live), Answer::Silent]);
        assert_eq!(known, [present(live), Err(Absence::ReadFailed)]);
        let known = ask(9, &["/live"], vec![Answer::Now(live)]);
        assert_eq!(known, [present(live), Err(Absence::ReadFailed)]);
        let known = ask(10, &both, vec![Answer::Now(live), Answer::Now(dead)]);
        assert_eq!(known, [present(live), present(dead)]);
        let known = ask(11, &both, vec![Answer::Now(live), Answer::Stale(dead, PATIENCE)]);
        assert_eq!(known, [present(live), stale(dead)]);
        let known = ask(12, &["/live"], vec![Answer::Refused(2)]);
        assert_eq!(known, [Err(Absence::Vanished), stale(dead)]);
    }

    #[test]
    fn which_file_systems_are_shown() {
        assert!(has_blocks(Answer::Now(space(1, 0))) && has_blocks(Answer::Silent));
        assert!(!has_blocks(Answer::Now(space(0, 0))) && !has_blocks(Answer::Refused(13)));
        assert!(has_blocks(Answer::Refused(5)));
        assert_eq!(known(Answer::Refused(13)), Err(Absence::AccessDenied));
        assert_eq!(known(Answer::Refused(5)), Err(Absence::ReadFailed));
    }

    #[test]
    fn sums_of_space() {
        let mut sum = SpaceSum::default();
        assert_eq!(sum.known(None), Err(Absence::NotFromThisDevice));
        sum.add(&Err(Absence::AccessDenied));
        assert_eq!(sum.known(None), Err(Absence::AccessDenied));
        sum.add(&Ok((space(100 * MEGABYTE, 30 * MEGABYTE), ValueState::Present)));
        sum.add(&Ok((space(50 * MEGABYTE, 7 * MEGABYTE), ValueState::Present)));
        let lacks = |missing, whole| {
            ValueState::Partial(PartialSum::new(missing, whole, Absence::AccessDenied).unwrap())
        };
        assert_eq!(sum.known(None), Ok((space(150 * MEGABYTE, 37 * MEGABYTE), lacks(1, 3))));
        sum.add(&Err(Absence::ReadFailed));
        sum.add(&stale(space(1, 1)));
        assert_eq!(sum.known(None).unwrap().1, lacks(2, 5));
        let mut sum = SpaceSum::default();
        sum.add(&stale(space(1, 1)));
        // Memory of a saved machine, for example: it has no space that could be missing.
        sum.add(&Err(Absence::Other));
        assert_eq!(sum.known(None).unwrap().1, ValueState::Stale);
    }

    /// Compares sizes and free space with what `df` says.
    #[test]
    fn the_running_kernel() {
        let Some(df) = tallymon_testkit::peer("df") else { return };
        let mut system = System::open().unwrap();
        let sizes = || {
            let output =
                Command::new(&df).args(["-B1", "--output=size,avail,target", "/"]).output().unwrap().stdout;
            let text = String::from_utf8(output).unwrap();
            let fields: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
            [fields[0], fields[1]].map(|field| field.parse::<u64>().unwrap())
        };
        let [size, before] = sizes();
        let snapshot = collect(&mut system, 236, &Interest::everything());
        let [_, after] = sizes();
        if !names(&snapshot).iter().any(|name| name == "/") {
            return tallymon_testkit::skip("no file system is mounted at /, as below chroot");
        }
        let root = instance(&snapshot, "/");
        // Other programs write at the same time.
        let slack = 1024 * MEGABYTE;
        let free = raw(&root, At::FreeMegabytes.at()).unwrap() * MEGABYTE;
        assert!(
            free + slack >= before.min(after) && free <= before.max(after) + slack,
            "{free} {before} {after}"
        );
        assert_eq!(raw(&root, At::PercentFreeSpace.at()), Ok(free / MEGABYTE));
        assert_eq!(raw(&root, At::PercentFreeSpaceBase.at()), Ok(size / MEGABYTE));
        let all = names(&snapshot);
        assert!(!all.iter().any(|name| name == "/proc" || name == "/sys" || name == "/dev/pts"), "{all:?}");
        // A second request gives the same instances, whichever counters it needs.
        let mut interest = Interest::everything();
        interest.add(TitleIndex(236), TitleIndex(214));
        assert_eq!(names(&collect(&mut system, 236, &interest)), all);
    }
}
