//! File System: the space and the inodes of each mounted file system.

use tallymon_provider::{
    Absence, CollectRequest, DetailLevel, Frequency, InstanceKind, ObjectLayout, ObjectSpec, ObjectsWriter,
    PerfTime, ValueState,
};

use super::logical_disk::LogicalDisk;
use super::object::Object;
use super::spec::{Origin, object, rows};
use super::table::write;
use crate::kernel::statvfs::Space;
use crate::sources::Sources;

rows! { COUNTERS, ORIGINS {
    904_802 PERF_COUNTER_LARGE_RAWCOUNT -9 NOVICE: E "statvfs(3): f_blocks * f_frsize" "2.6.0";
    904_804 PERF_COUNTER_LARGE_RAWCOUNT -9 NOVICE: E "statvfs(3): f_bfree * f_frsize" "2.6.0";
    904_806 PERF_COUNTER_LARGE_RAWCOUNT -9 NOVICE: E "statvfs(3): f_bavail * f_frsize" "2.6.0";
    904_808 PERF_COUNTER_LARGE_RAWCOUNT -3 ADVANCED: E "statvfs(3): f_files - f_ffree" "2.6.0";
    904_810 PERF_COUNTER_LARGE_RAWCOUNT -3 ADVANCED: E "statvfs(3): f_ffree" "2.6.0";
    904_812 PERF_COUNTER_RAWCOUNT 0 ADVANCED: E "statvfs(3): f_flag, ST_RDONLY" "2.6.0";
}}

/// The object File System: one instance per mounted file system, named by its mount point as in LogicalDisk.
pub(super) struct FileSystems {
    layout: ObjectLayout<'static>,
    mounts: LogicalDisk,
}

impl FileSystems {
    pub(super) fn new() -> FileSystems {
        let spec = object(904_800, 904_801, DetailLevel::ADVANCED, 0, InstanceKind::Many, COUNTERS);
        FileSystems { layout: ObjectLayout::new(spec), mounts: LogicalDisk::new() }
    }
}

fn values(space: Space) -> [Result<u64, Absence>; 6] {
    // A file system that creates inodes on demand has no number of them.
    let files = |count: u64| if space.inodes == 0 { Err(Absence::NotFromThisDevice) } else { Ok(count) };
    [
        Ok(space.total),
        Ok(space.free),
        Ok(space.available),
        files(space.inodes.saturating_sub(space.inodes_free)),
        files(space.inodes_free),
        Ok(u64::from(space.read_only)),
    ]
}

impl Object for FileSystems {
    fn spec(&self) -> &ObjectSpec<'static> {
        self.layout.spec()
    }

    fn origins(&self) -> &'static [Origin] {
        ORIGINS
    }

    fn collect(&mut self, _ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        let found = self.mounts.spaces(sources, true);
        let mut object = out.object(&self.layout, PerfTime(0), Frequency(0));
        for (file_system, space) in &found {
            let mut block = object.instance(&file_system.name, None, None);
            match space {
                Ok((space, state)) => {
                    write(COUNTERS, &mut block, &values(*space), 0);
                    if *state == ValueState::Stale {
                        (0..COUNTERS.len()).for_each(|position| block.state(position, *state));
                    }
                }
                Err(absence) => block.absent(0..COUNTERS.len(), *absence),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::super::fake_machine_tests::{System, collect, instance, named};
    use super::*;
    use tallymon_provider::Interest;

    #[test]
    fn inodes_created_on_demand_have_no_count() {
        let space = Space { total: 9, free: 5, available: 4, inodes: 0, inodes_free: 0, read_only: true };
        let none = Err(Absence::NotFromThisDevice);
        assert_eq!(values(space), [Ok(9), Ok(5), Ok(4), none, none, Ok(1)]);
        assert_eq!(values(Space { inodes: 7, inodes_free: 3, ..space })[3..5], [Ok(4), Ok(3)]);
    }

    #[test]
    fn a_tmpfs_mounted_by_the_test() {
        let folder = std::env::temp_dir().join(format!("tallymon-tmpfs-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let place = folder.to_str().unwrap();
        let run = |words: &[&str]| {
            Command::new(words[0]).args(&words[1..]).output().is_ok_and(|out| out.status.success())
        };
        if !run(&["mount", "-t", "tmpfs", "-o", "size=8m,nr_inodes=100", "tallymon", place]) {
            std::fs::remove_dir(&folder).unwrap();
            return tallymon_testkit::skip("no memory can be mounted here");
        }
        std::fs::write(folder.join("file"), vec![1_u8; 1 << 20]).unwrap();
        let snapshot = collect(&mut System::open().unwrap(), 904_800, &Interest::everything());
        let values = instance(&snapshot, place);
        let found: Vec<_> = (904_802..).step_by(2).take(6).map(|counter| named(&values, counter)).collect();
        assert!(run(&["umount", place]));
        std::fs::remove_dir(&folder).unwrap();
        // The directory itself is the other file.
        assert_eq!(found, [Ok(8 << 20), Ok(7 << 20), Ok(7 << 20), Ok(2), Ok(98), Ok(0)]);
    }
}
