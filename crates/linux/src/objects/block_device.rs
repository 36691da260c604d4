//! Block Device, MD RAID and Bonding Member: devices, as far as NT's disk and network objects do not cover
//! them.

use std::path::{Path, PathBuf};

use tallymon_provider::Absence;

use super::spec::rows;
use super::table::{Table, folders, list};
use crate::kernel::netlink::Link;
use crate::sources::Sources;

rows! { COUNTERS, ORIGINS {
    904_602 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "stat:#2" "2.6.0";
    904_604 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "stat:#6" "2.6.0";
    904_606 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "stat:#12" "4.19";
    904_608 PERF_COUNTER_BULK_COUNT -4 ADVANCED: E "stat:#14 * 512" "4.19";
    904_610 PERF_100NSEC_TIMER 0 ADVANCED: E "stat:#15 * 10000" "4.19";
    904_612 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "stat:#16" "5.5";
    904_614 PERF_100NSEC_TIMER 0 ADVANCED: E "stat:#17 * 10000" "5.5";
    904_616 PERF_100NSEC_TIMER 0 NOVICE: C "stat:#10 * 10000" "2.6.0";
    904_618 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "inflight:#1" "2.6.32";
    904_620 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "inflight:#2" "2.6.32";
    904_622 PERF_COUNTER_RAWCOUNT 0 ADVANCED: E "queue/nr_requests" "2.6.0";
    904_624 PERF_COUNTER_LARGE_RAWCOUNT -9 NOVICE: E "size * 512" "2.6.0";
    904_626 PERF_COUNTER_RAWCOUNT 0 ADVANCED: E "ro" "2.6.27";
    904_628 PERF_COUNTER_LARGE_RAWCOUNT -4 ADVANCED: E "queue/read_ahead_kb * 1024" "2.6.0";
    904_630 PERF_COUNTER_RAWCOUNT 0 ADVANCED: E "queue/rotational" "2.6.29";
}}

rows! { RAID_COUNTERS, RAID_ORIGINS {
    905_002 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "md/raid_disks" "2.6.15";
    905_004 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "md/degraded" "2.6.24";
    905_006 PERF_COUNTER_LARGE_RAWCOUNT 0 ADVANCED: E "md/mismatch_cnt" "2.6.15";
    905_008 PERF_COUNTER_LARGE_RAWCOUNT -9 ADVANCED: E "md/component_size * 1024" "2.6.16";
    905_010 PERF_LARGE_RAW_FRACTION 0 NOVICE: E "md/sync_completed:#1" "2.6.16";
    905_010 PERF_LARGE_RAW_BASE 0 NOVICE: E "md/sync_completed:#3" "2.6.16";
    905_012 PERF_COUNTER_LARGE_RAWCOUNT -6 ADVANCED: E "md/sync_speed * 1024" "2.6.16";
}}

rows! { MEMBER_COUNTERS, MEMBER_ORIGINS {
    905_202 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "bonding_slave/link_failure_count" "3.14";
    905_204 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "carrier" "2.6.0";
    905_206 PERF_COUNTER_RAWCOUNT 0 ADVANCED: E "carrier_changes" "3.15";
    905_208 PERF_COUNTER_RAWCOUNT 0 ADVANCED: E "bonding_slave/queue_id" "3.14";
}}

/// The object Block Device: every device with a size, including loop devices and compressed memory.
pub(super) fn devices() -> Table {
    Table::many(904_600, COUNTERS, ORIGINS, |sources| {
        let mut found = folders(sources, "block", |_| true)?;
        found.retain(|(_, folder)| {
            std::fs::read_to_string(folder.join("size")).is_ok_and(|size| size.trim() != "0")
        });
        Ok(found)
    })
}

/// The object MD RAID: arrays of the kernel's own driver.
pub(super) fn arrays() -> Table {
    Table::many(905_000, RAID_COUNTERS, RAID_ORIGINS, |sources| {
        let mut found = folders(sources, "block", |name| name.starts_with("md"))?;
        found.retain(|(_, folder)| folder.join("md").is_dir());
        Ok(found)
    })
    .of_devices()
}

/// The object Bonding Member: the interfaces of each bond.
pub(super) fn members() -> Table {
    Table::many(905_200, MEMBER_COUNTERS, MEMBER_ORIGINS, interfaces)
}

/// Whether an interface belongs to this network namespace. The files may be those of another one, with other
/// names or indexes.
fn is_here(sources: &mut Sources, name: &str, folder: &Path) -> Result<bool, Absence> {
    if !sources.root.is_system() {
        return Ok(true);
    }
    let number = std::fs::read_to_string(folder.join("ifindex")).unwrap_or_default();
    let is_same = |link: &Link| link.name == name.as_bytes() && number.trim() == link.index.to_string();
    Ok(sources.interfaces()?.any(|(link, _)| is_same(link)))
}

/// The members of all bonds: the name of the bond and that of the interface.
fn interfaces(sources: &mut Sources) -> Result<Vec<(String, PathBuf)>, Absence> {
    let mut found = Vec::new();
    for (bond, folder) in folders(sources, "class/net", |_| true)? {
        if !folder.join("bonding").is_dir() || !is_here(sources, &bond, &folder)? {
            continue;
        }
        // The bond has a link to each of its members.
        for (link, path) in list(folder, |name| name.starts_with("lower_"))? {
            found.push((format!("{bond} {}", link.trim_start_matches("lower_")), path));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::fake_machine_tests::{Machine, System, collect, instance, named, names};
    use tallymon_provider::{Absence, Interest, TitleIndex, ValueState};

    const MISSING: Result<u64, ValueState> = Err(ValueState::Absent(Absence::NotInThisKernel));

    #[test]
    fn devices_with_a_size() {
        let mut machine = Machine::new(&[
            ("sys/block/loop0/size", b"0\n"),
            ("sys/block/sda/size", b"2048\n"),
            ("sys/block/sda/stat", b" 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n"),
            ("sys/block/sda/inflight", b"       3        4\n"),
            ("sys/block/sda/queue/rotational", b"0\n"),
            ("sys/block/sdb/queue/rotational", b"1\n"),
            ("sys/block/sdb/size", b"8\n"),
            ("sys/block/sdb/stat", b" 1 2 3 4 5 6 7 8 9 10 11\n"),
        ]);
        let snapshot = machine.read(904_600);
        assert_eq!(names(&snapshot), ["sda", "sdb"]);
        let disk = instance(&snapshot, "sda");
        let all = [2, 6, 12, 14 * 512, 150_000, 16, 170_000, 100_000, 3, 4];
        for (counter, value) in (904_602..).step_by(2).zip(all) {
            assert_eq!(named(&disk, counter), Ok(value), "{counter}");
        }
        assert_eq!(named(&disk, 904_624), Ok(1 << 20));
        assert_eq!((named(&disk, 904_630), named(&instance(&snapshot, "sdb"), 904_630)), (Ok(0), Ok(1)));
        assert_eq!(named(&instance(&snapshot, "sdb"), 904_612), MISSING, "a kernel before 5.5");
    }

    #[test]
    fn arrays_and_bonds() {
        let mut machine = Machine::new(&[
            ("sys/block/md0/md/raid_disks", b"4\n"),
            ("sys/block/md0/md/degraded", b"1\n"),
            ("sys/block/mdx/size", b"1\n"),
            ("sys/class/net/bond0/bonding/mode", b"active-backup 1\n"),
            ("sys/class/net/bond0/lower_eth0/bonding_slave/link_failure_count", b"7\n"),
            ("sys/class/net/bond0/lower_eth0/carrier", b"1\n"),
            ("sys/class/net/br0/lower_eth1/carrier", b"1\n"),
        ]);
        let snapshot = machine.read(905_000);
        assert_eq!(names(&snapshot), ["md0"]);
        assert_eq!(named(&instance(&snapshot, "md0"), 905_004), Ok(1));
        let snapshot = machine.read(905_200);
        assert_eq!(names(&snapshot), ["bond0 eth0"]);
        let member = instance(&snapshot, "bond0 eth0");
        assert_eq!((named(&member, 905_202), named(&member, 905_204)), (Ok(7), Ok(1)));
        assert_eq!(named(&member, 905_206), MISSING);
    }

    /// Both files have the format of the kernel's admin-guide/md.rst.
    #[test]
    fn an_array_that_is_rebuilt() {
        let mut machine = Machine::new(&[
            ("sys/block/md0/md/sync_completed", b"27648 / 1046528\n"),
            ("sys/block/md0/md/sync_speed", b"200\n"),
            ("sys/block/md1/md/sync_completed", b"none\n"),
            ("sys/block/md1/md/sync_speed", b"none\n"),
        ]);
        let snapshot = machine.read(905_000);
        let array = instance(&snapshot, "md0");
        let done = array.sample(array.object().position(TitleIndex(905_010)).unwrap()).unwrap();
        assert_eq!((done.first, done.second), (27_648, 1_046_528));
        assert_eq!(named(&array, 905_012), Ok(204_800));
        let none = Err(ValueState::Absent(Absence::NotFromThisDevice));
        let idle = instance(&snapshot, "md1");
        assert_eq!((named(&idle, 905_010), named(&idle, 905_012)), (none, none), "nothing is rebuilt");
    }

    #[test]
    fn devices_of_the_running_kernel() {
        let snapshot = collect(&mut System::open().unwrap(), 904_600, &Interest::everything());
        for name in names(&snapshot) {
            let size = std::fs::read_to_string(format!("/sys/block/{name}/size")).unwrap();
            let size: u64 = size.trim().parse().unwrap();
            assert_eq!(named(&instance(&snapshot, &name), 904_624), Ok(size * 512), "{name}");
        }
    }
}
