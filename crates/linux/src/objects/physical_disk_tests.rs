//! Tests of PhysicalDisk over prepared files.

use std::io::Write;

use super::super::fake_machine_tests::{Machine, System, collect, instance, named, names, raw};
use super::*;
use tallymon_core::counter::compute;
use tallymon_core::flow::Value;
use tallymon_provider::{Interest, TitleIndex, ValueState};

/// Two disks: `sda` with two partitions, the second below the volume `dm-0`, and `cciss/c0d0`, which
/// `md0` spans too.
const DEVICES: &str = "   7 0 loop0 1 0 2 3 4 0 5 6 0 7 8
   8 0 sda 100 10 2000 300 40 4 600 70 2 500 900 1 0 8 9 3 30
   8 1 sda1 9 0 8 7 6 0 5 4 0 3 2
   8 2 sda2 9 0 8 7 6 0 5 4 0 3 2
   9 0 md0 1 0 1 0 1 0 1 0 0 0 0
  11 0 sr0 0 0 0 0 0 0 0 0 0 0 0
 104 0 cciss/c0d0 10 1 20 30 4 5 60 4294967290 1 80 4294967290
 252 0 zram0 1 0 1 0 1 0 1 0 0 0 0
 253 0 dm-0 9 0 8 7 6 0 5 4 0 3 2
";

const MOUNTS: &str = "20 21 8:1 / /boot rw - ext4 /dev/sda1 rw
21 1 253:0 / / rw - ext4 /dev/dm-0 rw
22 21 9:0 / /srv/my\\040data rw - xfs /dev/md0 rw
23 21 0:40 / /tmp rw - tmpfs tmpfs rw
";

fn machine() -> Machine {
    Machine::new(&[
        ("proc/diskstats", DEVICES.as_bytes()),
        ("proc/self/mountinfo", MOUNTS.as_bytes()),
        ("sys/block/loop0/slaves/", b""),
        ("sys/block/sda/slaves/", b""),
        ("sys/block/sda/removable", b"0\n"),
        ("sys/block/sda/size", b"2048\n"),
        ("sys/block/sda/sda1/", b""),
        ("sys/block/sda/sda2/", b""),
        ("sys/block/md0/md/", b""),
        ("sys/block/md0/slaves/sda/", b""),
        ("sys/block/md0/slaves/cciss!c0d0/", b""),
        ("sys/block/sr0/removable", b"1\n"),
        ("sys/block/sr0/size", b"0\n"),
        ("sys/block/cciss!c0d0/slaves/", b""),
        ("sys/block/zram0/slaves/", b""),
        ("sys/block/dm-0/dm/", b""),
        ("sys/block/dm-0/slaves/sda2/", b""),
    ])
}

const SDA: &str = "0 sda /boot / /srv/my data";
const CCISS: &str = "2 cciss/c0d0 /srv/my data";

#[test]
fn disks_and_their_names() {
    let mut machine = machine();
    assert_eq!(names(&machine.read(234)), [SDA, CCISS, "_Total"]);
    // A medium is inserted.
    machine.write("sys/block/sr0/size", b"700\n");
    machine.write(
        "proc/self/mountinfo",
        format!("{MOUNTS}24 21 11:0 / /cd ro - iso9660 /dev/sr0 ro\n").as_bytes(),
    );
    assert_eq!(names(&machine.read(234)), [SDA, "1 sr0 /cd", CCISS, "_Total"]);
}

#[test]
fn a_disk_that_comes_back_keeps_its_number() {
    let mut machine = machine();
    machine.read(234);
    let without: String =
        DEVICES.lines().filter(|line| !line.contains(" sda")).map(|line| format!("{line}\n")).collect();
    machine.write("proc/diskstats", without.as_bytes());
    let snapshot = machine.read(234);
    assert_eq!(names(&snapshot), [CCISS, "_Total"]);
    assert_eq!(named(&instance(&snapshot, "_Total"), 214), Ok(10));
    let back = format!("{without}   8 16 sdb 1 0 1 1 1 0 1 1 0 1 1\n   8 0 sda 1 0 1 1 1 0 1 1 0 1 1\n");
    machine.write("proc/diskstats", back.as_bytes());
    machine.write("sys/block/sdb/", b"");
    let snapshot = machine.read(234);
    assert_eq!(names(&snapshot), [CCISS, "3 sdb", "0 sda /srv/my data", "_Total"]);
    assert_eq!(named(&instance(&snapshot, "0 sda /srv/my data"), 214), Ok(1));
}

#[test]
fn exact_raw_values() {
    let mut machine = machine();
    let snapshot = machine.read(234);
    let sda = instance(&snapshot, SDA);
    let expected = [
        (At::CurrentDiskQueueLength, 2),
        (At::PercentDiskTime, 3_700_000),
        (At::AverageDiskQueueLength, 9_000_000),
        (At::PercentDiskReadTime, 3_000_000),
        (At::AverageDiskReadQueueLength, 3_000_000),
        (At::PercentDiskWriteTime, 700_000),
        (At::AverageDiskWriteQueueLength, 700_000),
        (At::AverageDiskSecPerTransfer, 3_700_000),
        (At::AverageDiskSecPerTransferBase, 140),
        (At::AverageDiskSecPerRead, 3_000_000),
        (At::AverageDiskSecPerReadBase, 100),
        (At::AverageDiskSecPerWrite, 700_000),
        (At::AverageDiskSecPerWriteBase, 40),
        (At::DiskTransfers, 140),
        (At::DiskReads, 100),
        (At::DiskWrites, 40),
        (At::DiskBytes, 2600 * 512),
        (At::DiskReadBytes, 2000 * 512),
        (At::DiskWriteBytes, 600 * 512),
        (At::AverageDiskBytesPerTransfer, 2600 * 512),
        (At::AverageDiskBytesPerTransferBase, 140),
        (At::AverageDiskBytesPerRead, 2000 * 512),
        (At::AverageDiskBytesPerReadBase, 100),
        (At::AverageDiskBytesPerWrite, 600 * 512),
        (At::AverageDiskBytesPerWriteBase, 40),
    ];
    for (position, value) in expected {
        assert_eq!(raw(&sda, position.at()), Ok(value), "{position:?}");
    }
    let stamp = raw(&sda, At::PercentDiskTimeStamp.at()).unwrap();
    for position in [At::PercentDiskReadTimeStamp, At::PercentDiskWriteTimeStamp, At::PercentIdleTimeStamp] {
        assert_eq!(raw(&sda, position.at()), Ok(stamp));
    }
    // The two clocks are read a moment apart.
    assert!(snapshot.header().perf_time_100ns.0.abs_diff(stamp) < 100_000_000);
    assert_eq!(raw(&sda, At::PercentIdleTime.at()), Ok(stamp - 5_000_000));
    let split = raw(&sda, At::SplitIO.at());
    assert_eq!(split, Err(ValueState::Absent(Absence::NotEnabled)));
    // Means of shares, sums of everything else.
    let total = instance(&snapshot, "_Total");
    assert_eq!(raw(&total, At::CurrentDiskQueueLength.at()), Ok(3));
    assert_eq!(raw(&total, At::PercentDiskReadTime.at()), Ok((3_000_000 + 300_000) / 2));
    assert_eq!(raw(&total, At::PercentIdleTime.at()), Ok(stamp - (500 + 80) * 10_000 / 2));
    assert_eq!(raw(&total, At::AverageDiskReadQueueLength.at()), Ok(3_300_000));
    assert_eq!(raw(&total, At::AverageDiskQueueLength.at()), Ok((900 + 4_294_967_290) * 10_000));
    assert_eq!(raw(&total, At::DiskTransfers.at()), Ok(154));
}

/// The rates between two samples of a disk whose times wrap at 32 bits in between.
#[test]
fn rates_across_a_wrap() {
    let mut machine = machine();
    let before = machine.read(234);
    // 16 ms later on the weighted clock, with 10 more writes of 1 KiB each that took 12 ms together.
    machine.write(
        "proc/diskstats",
        DEVICES.replace(" 4 5 60 4294967290 1 80 4294967290", " 14 5 80 6 1 80 10").as_bytes(),
    );
    let after = machine.read(234);
    let number = |name: u32| {
        let sample = |snapshot| {
            let values = instance(snapshot, CCISS);
            values.sample(values.object().position(TitleIndex(name)).unwrap()).unwrap()
        };
        match compute(Some(&sample(&before)), &sample(&after)).unwrap() {
            Value::Number(number) => number,
            other => panic!("{other:?}"),
        }
    };
    assert!((number(210) - 0.0012).abs() < 1e-12, "{}", number(210));
    assert!((number(228) - 1024.0).abs() < 1e-9);
    // The exact time is unknown, but the ratios of the shares are.
    assert!((number(1400) / number(1404) - 16.0 / 12.0).abs() < 1e-9);
    assert_eq!(number(1482), 100.0);
}

#[test]
fn old_partitions_have_no_times() {
    let mut machine = Machine::new(&[("proc/diskstats", b"3 0 hda 5 6 7 8\n"), ("sys/block/hda/", b"")]);
    let snapshot = machine.read(234);
    let disk = instance(&snapshot, "0 hda");
    assert_eq!(named(&disk, 222), Ok(8 * 512));
    for position in OF_TIMES {
        let expected = Err(ValueState::Absent(Absence::NotInThisKernel));
        assert_eq!(raw(&disk, position.at()), expected, "{position:?}");
    }
}

#[test]
fn without_disks_or_without_the_file_there_is_no_value() {
    for (files, absence) in [
        (&[][..], Absence::NotInThisKernel),
        (&[("proc/diskstats", b"8 0 sda one".as_slice())], Absence::ReadFailed),
        (&[("proc/diskstats", DEVICES.as_bytes())], Absence::NotFromThisDevice),
    ] {
        let snapshot = Machine::new(files).read(234);
        assert_eq!(names(&snapshot), ["_Total"]);
        for position in 0..COUNTERS.len() {
            assert_eq!(instance(&snapshot, "_Total").state(position), ValueState::Absent(absence));
        }
    }
}

/// Writes a file through to the disk, and compares the counts with the kernel's text.
#[test]
fn the_running_kernel() {
    let mut system = System::open().unwrap();
    let everything = Interest::everything();
    let writes = |system: &mut System| {
        let snapshot = collect(system, 234, &everything);
        let total = instance(&snapshot, "_Total");
        (names(&snapshot), named(&total, 222).ok(), named(&total, 216).ok())
    };
    // All whole disks in the kernel's own text, found without our code.
    let text = || {
        let text = std::fs::read_to_string("/proc/diskstats").unwrap();
        let mut bytes = 0;
        for line in text.lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let folder = std::path::Path::new("/sys/block").join(fields[2]);
            let is_disk = folder.is_dir()
                && !["loop", "ram", "zram", "dm-", "md"].iter().any(|kind| fields[2].starts_with(kind))
                && std::fs::read_to_string(folder.join("size")).is_ok_and(|size| size.trim() != "0");
            if is_disk {
                bytes += fields[9].parse::<u64>().unwrap() * 512;
            }
        }
        bytes
    };
    let (disks, Some(before), Some(_)) = writes(&mut system) else {
        return tallymon_testkit::skip("this machine shows no disk");
    };
    assert!(disks.len() >= 2, "{disks:?}");
    let text_before = text();
    let path = std::env::temp_dir().join(format!("tallymon-written-{}", std::process::id()));
    let mut file = std::fs::File::create(&path).unwrap();
    // Not zeros, which some file systems do not write.
    let block: Vec<u8> = (0..1_u32 << 20).map(|at| at.wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect();
    for _ in 0..4 {
        file.write_all(&block).unwrap();
    }
    file.sync_all().unwrap();
    drop(file);
    std::fs::remove_file(&path).unwrap();
    let text_between = text();
    let (_, after, _) = writes(&mut system);
    let (after, text_after) = (after.unwrap(), text());
    assert!(before <= text_before && text_between <= after && after <= text_after, "{before} {after}");
    if text_between - text_before < 4 << 20 {
        return tallymon_testkit::skip("the folder for temporary files is on no disk");
    }
    assert!(after - before >= 4 << 20);
}
