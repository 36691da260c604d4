//! XFS, Ext4 and Btrfs: counters of the drivers of these file systems, for each mounted one.

use super::spec::rows;
use super::table::{Table, folders};

rows! { XFS_COUNTERS, XFS_ORIGINS {
    906_802 PERF_COUNTER_BULK_COUNT -4 NOVICE: E "stats/stats:xpc#3" "4.4";
    906_804 PERF_COUNTER_BULK_COUNT -4 NOVICE: E "stats/stats:xpc#2" "4.4";
    906_806 PERF_COUNTER_BULK_COUNT 0 NOVICE: E "stats/stats:rw#2" "4.4";
    906_808 PERF_COUNTER_BULK_COUNT 0 NOVICE: E "stats/stats:rw#1" "4.4";
    906_810 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "stats/stats:extent_alloc#1" "4.4";
    906_812 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "stats/stats:extent_alloc#3" "4.4";
    906_814 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "stats/stats:dir#1" "4.4";
    906_816 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "stats/stats:dir#2" "4.4";
    906_818 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "stats/stats:dir#3" "4.4";
    906_820 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "stats/stats:trans#1 + :trans#2" "4.4";
    906_822 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "stats/stats:log#1" "4.4";
    906_824 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "stats/stats:log#4" "4.4";
    906_826 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "stats/stats:ig#4" "4.4";
}}

rows! { EXT4_COUNTERS, EXT4_ORIGINS {
    907_002 PERF_COUNTER_BULK_COUNT -4 NOVICE: E "session_write_kbytes * 1024" "2.6.30";
    907_004 PERF_COUNTER_LARGE_RAWCOUNT -9 ADVANCED: E "lifetime_write_kbytes * 1024" "2.6.30";
    907_006 PERF_COUNTER_LARGE_RAWCOUNT 0 ADVANCED: E "delayed_allocation_blocks" "2.6.30";
    907_008 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "errors_count" "3.18";
}}

rows! { BTRFS_COUNTERS, BTRFS_ORIGINS {
    907_202 PERF_COUNTER_LARGE_RAWCOUNT -9 NOVICE: E "allocation/data/bytes_used" "3.14";
    907_204 PERF_COUNTER_LARGE_RAWCOUNT -9 NOVICE: E "allocation/data/total_bytes" "3.14";
    907_206 PERF_COUNTER_LARGE_RAWCOUNT -9 NOVICE: E "allocation/metadata/bytes_used" "3.14";
    907_208 PERF_COUNTER_LARGE_RAWCOUNT -9 NOVICE: E "allocation/metadata/total_bytes" "3.14";
    907_210 PERF_COUNTER_LARGE_RAWCOUNT -6 ADVANCED: E "allocation/system/bytes_used" "3.14";
    907_212 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "commit_stats:commits" "6.0";
    907_214 PERF_100NSEC_TIMER 0 ADVANCED: E "commit_stats:total_commit_ms * 10000" "6.0";
}}

/// The object XFS, one instance per device.
pub(super) fn xfs() -> Table {
    Table::many(906_800, XFS_COUNTERS, XFS_ORIGINS, |sources| {
        let mut found = folders(sources, "fs/xfs", |_| true)?;
        // Besides the devices there is a directory for the sum of all, and one for settings.
        found.retain(|(_, folder)| folder.join("stats/stats").is_file());
        Ok(found)
    })
}

/// The object Ext4, one instance per device.
pub(super) fn ext4() -> Table {
    Table::many(907_000, EXT4_COUNTERS, EXT4_ORIGINS, |sources| {
        folders(sources, "fs/ext4", |name| name != "features")
    })
}

/// The object Btrfs: one instance per file system, named by its identifier, which stays the same when the
/// file system is renamed.
pub(super) fn btrfs() -> Table {
    Table::many(907_200, BTRFS_COUNTERS, BTRFS_ORIGINS, |sources| {
        let mut found = folders(sources, "fs/btrfs", |_| true)?;
        found.retain(|(_, folder)| folder.join("allocation").is_dir());
        Ok(found)
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::super::fake_machine_tests::{Machine, System, collect, instance, named, names};
    use tallymon_provider::{Interest, TitleIndex};

    #[test]
    fn each_kind() {
        let xfs = b"extent_alloc 1 2 3 4\ndir 5 6 7 8\ntrans 9 10 11\nig 1 2 3 12 5 6 7\nlog 13 14 15 16 \
            17\nrw 18 19\nxpc 20 21 22\n";
        let mut machine = Machine::new(&[
            ("sys/fs/xfs/stats/stats", b"xpc 1 1 1\n"),
            ("sys/fs/xfs/sda1/stats/stats", xfs),
            ("sys/fs/ext4/features/lazy_itable_init", b"supported\n"),
            ("sys/fs/ext4/sda2/session_write_kbytes", b"3\n"),
            ("sys/fs/ext4/sda2/errors_count", b"2\n"),
            ("sys/fs/btrfs/features/skinny_metadata", b"0\n"),
            ("sys/fs/btrfs/0d-1/allocation/data/bytes_used", b"77\n"),
            (
                "sys/fs/btrfs/0d-1/commit_stats",
                b"commits 5\nlast_commit_ms 1\nmax_commit_ms 9\ntotal_commit_ms 30\n",
            ),
        ]);
        let snapshot = machine.read(906_800);
        assert_eq!(names(&snapshot), ["sda1"]);
        let device = instance(&snapshot, "sda1");
        let all = [22, 21, 19, 18, 1, 3, 5, 6, 7, 19, 13, 16, 12];
        for (counter, value) in (906_802..).step_by(2).zip(all) {
            assert_eq!(named(&device, counter), Ok(value), "{counter}");
        }
        let snapshot = machine.read(907_000);
        let device = instance(&snapshot, "sda2");
        assert_eq!((named(&device, 907_002), named(&device, 907_008)), (Ok(3072), Ok(2)));
        let snapshot = machine.read(907_200);
        let device = instance(&snapshot, "0d-1");
        assert_eq!(
            (named(&device, 907_202), named(&device, 907_212), named(&device, 907_214)),
            (Ok(77), Ok(5), Ok(300_000))
        );
    }

    /// Creates each kind on a loop device, writes to it, and compares the counters with the kernel and its
    /// tools.
    #[test]
    fn file_systems_created_by_the_test() {
        for (kind, object, size) in
            [("ext4", 907_000, "16M"), ("xfs", 906_800, "320M"), ("btrfs", 907_200, "160M")]
        {
            let folder = std::env::temp_dir().join(format!("tallymon-{kind}-{}", std::process::id()));
            std::fs::create_dir_all(folder.join("mount")).unwrap();
            let made = compare(kind, object, size, &folder);
            let _ = Command::new("umount").arg(folder.join("mount")).output();
            std::fs::remove_dir_all(&folder).unwrap();
            if !made {
                tallymon_testkit::skip(&format!("no {kind} can be made here"));
            }
        }
    }

    fn compare(kind: &str, object: u32, size: &str, folder: &Path) -> bool {
        let run = |program: &str, words: &[&str]| {
            let output = Command::new(program).args(words).output();
            output.ok().filter(|output| output.status.success()).map(|output| output.stdout)
        };
        let (image, mount) = (folder.join("image"), folder.join("mount"));
        let (image, mount) = (image.to_str().unwrap(), mount.to_str().unwrap());
        let mut system = System::open().unwrap();
        let before = names(&collect(&mut system, object, &Interest::everything()));
        if run("truncate", &["-s", size, image]).is_none()
            || run(&format!("mkfs.{kind}"), &[if kind == "ext4" { "-F" } else { "-f" }, image]).is_none()
            || run("mount", &["-o", "loop", image, mount]).is_none()
        {
            return false;
        }
        std::fs::write(format!("{mount}/file"), vec![7_u8; 1 << 20]).unwrap();
        run("sync", &["-f", mount]).unwrap();
        let snapshot = collect(&mut system, object, &Interest::everything());
        let new: Vec<String> = names(&snapshot).into_iter().filter(|name| !before.contains(name)).collect();
        assert_eq!(new.len(), 1, "{kind}: {new:?}");
        let values = instance(&snapshot, &new[0]);
        let (counter, least) = match kind {
            // Bytes that were written.
            "ext4" => (907_002, 1 << 20),
            "xfs" => (906_804, 1 << 20),
            // Bytes of data in use.
            _ => (907_202, 1 << 20),
        };
        let written = named(&values, counter).unwrap();
        assert!((least..least * 16).contains(&written), "{kind}: {written}");
        // The object File System names it by its mount point.
        let snapshot = collect(&mut system, 904_800, &Interest::everything());
        let text = String::from_utf8(run("df", &["-B1", "--output=size,used,itotal,iused", mount]).unwrap())
            .unwrap();
        let df: Vec<u64> =
            text.lines().nth(1).unwrap().split_whitespace().map(|word| word.parse().unwrap()).collect();
        let values = instance(&snapshot, mount);
        assert_eq!(named(&values, 904_802), Ok(df[0]), "{kind}");
        assert_eq!(named(&values, 904_802).unwrap() - named(&values, 904_804).unwrap(), df[1], "{kind}");
        if df[2] > 0 {
            let files = values.object().position(TitleIndex(904_808)).unwrap();
            assert_eq!(
                super::super::fake_machine_tests::raw(&values, files),
                Ok(df[3]),
                "{kind}: files in use"
            );
        }
        true
    }
}
