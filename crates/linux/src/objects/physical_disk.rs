//! PhysicalDisk (234): one instance per disk, and `_Total`.
//!
//! A disk is a whole block device that is not composed of others. Loop devices and RAM disks are not disks,
//! nor is a drive without a medium. An instance name is a number, the device name, and the mount points of
//! file systems on the disk, including those on its partitions and on volumes that use it: `0 sda / /home`.

use std::collections::BTreeMap;

use tallymon_provider::{
    Absence, CollectRequest, CounterBlockMut, CounterSpec, CounterType, DetailLevel, FileTime, Frequency,
    InstanceKind, ObjectLayout, ObjectSpec, ObjectsWriter, PerfTime,
};

use super::object::Object;
use super::spec::{Origin, object};
use crate::kernel::reusable_file::Buffer;
use crate::sources::Sources;
use crate::sources::disk_topology::DiskTopology;
use crate::sources::disks::{Device, DiskIo, DiskSum};

/// Declares the counters of a disk: the given ones, then the traffic counters shared by physical and logical
/// disks.
macro_rules! disk_counters {
    ($($own:tt)*) => {
        $crate::objects::spec::counters! {
            /// Positions of the counters: the object's own, then the traffic.
            At, COUNTERS, ORIGINS {
                $($own)*
                CurrentDiskQueueLength: 198, 199, PERF_COUNTER_RAWCOUNT, 1, NOVICE:
                    E "/proc/diskstats: in flight" "2.6.0";
                PercentDiskTime: 200, 201, PERF_PRECISION_100NS_TIMER, 0, NOVICE:
                    E "/proc/diskstats: ms reading + ms writing * 10000" "2.6.0";
                PercentDiskTimeStamp: 200, 201, PERF_PRECISION_TIMESTAMP, 0, NOVICE:
                    E "the clock of the sample" "2.6.0";
                AverageDiskQueueLength: 1400, 1401, PERF_COUNTER_100NS_QUEUELEN_TYPE, 2, NOVICE:
                    E "/proc/diskstats: weighted ms * 10000" "2.6.0";
                PercentDiskReadTime: 202, 203, PERF_PRECISION_100NS_TIMER, 0, NOVICE:
                    E "/proc/diskstats: ms reading * 10000" "2.6.0";
                PercentDiskReadTimeStamp: 202, 203, PERF_PRECISION_TIMESTAMP, 0, NOVICE,
                    sharing PercentDiskTimeStamp:
                    E "the clock of the sample" "2.6.0";
                AverageDiskReadQueueLength: 1402, 1403, PERF_COUNTER_100NS_QUEUELEN_TYPE, 2, NOVICE:
                    E "/proc/diskstats: ms reading * 10000" "2.6.0";
                PercentDiskWriteTime: 204, 205, PERF_PRECISION_100NS_TIMER, 0, NOVICE:
                    E "/proc/diskstats: ms writing * 10000" "2.6.0";
                PercentDiskWriteTimeStamp: 204, 205, PERF_PRECISION_TIMESTAMP, 0, NOVICE,
                    sharing PercentDiskTimeStamp:
                    E "the clock of the sample" "2.6.0";
                AverageDiskWriteQueueLength: 1404, 1405, PERF_COUNTER_100NS_QUEUELEN_TYPE, 2, NOVICE:
                    E "/proc/diskstats: ms writing * 10000" "2.6.0";
                AverageDiskSecPerTransfer: 206, 207, PERF_AVERAGE_TIMER, 3, ADVANCED:
                    E "/proc/diskstats: ms reading + ms writing a transfer" "2.6.0";
                AverageDiskSecPerTransferBase: 206, 207, PERF_AVERAGE_BASE, 0, ADVANCED:
                    E "/proc/diskstats: reads + writes" "2.6.0";
                AverageDiskSecPerRead: 208, 209, PERF_AVERAGE_TIMER, 3, ADVANCED:
                    E "/proc/diskstats: ms reading a read" "2.6.0";
                AverageDiskSecPerReadBase: 208, 209, PERF_AVERAGE_BASE, 0, ADVANCED:
                    E "/proc/diskstats: reads" "2.6.0";
                AverageDiskSecPerWrite: 210, 211, PERF_AVERAGE_TIMER, 3, ADVANCED:
                    E "/proc/diskstats: ms writing a write" "2.6.0";
                AverageDiskSecPerWriteBase: 210, 211, PERF_AVERAGE_BASE, 0, ADVANCED:
                    E "/proc/diskstats: writes" "2.6.0";
                DiskTransfers: 212, 213, PERF_COUNTER_COUNTER, 0, NOVICE:
                    E "/proc/diskstats: reads + writes" "2.6.0";
                DiskReads: 214, 215, PERF_COUNTER_COUNTER, 0, NOVICE: E "/proc/diskstats: reads" "2.6.0";
                DiskWrites: 216, 217, PERF_COUNTER_COUNTER, 0, NOVICE: E "/proc/diskstats: writes" "2.6.0";
                DiskBytes: 218, 219, PERF_COUNTER_BULK_COUNT, -4, ADVANCED:
                    E "/proc/diskstats: sectors read + sectors written * 512" "2.6.0";
                DiskReadBytes: 220, 221, PERF_COUNTER_BULK_COUNT, -4, ADVANCED:
                    E "/proc/diskstats: sectors read * 512" "2.6.0";
                DiskWriteBytes: 222, 223, PERF_COUNTER_BULK_COUNT, -4, ADVANCED:
                    E "/proc/diskstats: sectors written * 512" "2.6.0";
                AverageDiskBytesPerTransfer: 224, 225, PERF_AVERAGE_BULK, -2, EXPERT:
                    E "/proc/diskstats: sectors read + sectors written * 512 a transfer" "2.6.0";
                AverageDiskBytesPerTransferBase: 224, 225, PERF_AVERAGE_BASE, 0, EXPERT:
                    E "/proc/diskstats: reads + writes" "2.6.0";
                AverageDiskBytesPerRead: 226, 227, PERF_AVERAGE_BULK, -2, EXPERT:
                    E "/proc/diskstats: sectors read * 512 a read" "2.6.0";
                AverageDiskBytesPerReadBase: 226, 227, PERF_AVERAGE_BASE, 0, EXPERT:
                    E "/proc/diskstats: reads" "2.6.0";
                AverageDiskBytesPerWrite: 228, 229, PERF_AVERAGE_BULK, -2, EXPERT:
                    E "/proc/diskstats: sectors written * 512 a write" "2.6.0";
                AverageDiskBytesPerWriteBase: 228, 229, PERF_AVERAGE_BASE, 0, EXPERT:
                    E "/proc/diskstats: writes" "2.6.0";
                PercentIdleTime: 1482, 1483, PERF_PRECISION_100NS_TIMER, 0, ADVANCED:
                    C "/proc/diskstats: the clock of the sample - ms busy * 10000" "2.6.0";
                PercentIdleTimeStamp: 1482, 1483, PERF_PRECISION_TIMESTAMP, 0, ADVANCED,
                    sharing PercentDiskTimeStamp:
                    E "the clock of the sample" "2.6.0";
                SplitIO: 1484, 1485, PERF_COUNTER_COUNTER, 0, ADVANCED: N;
            }
        }
    };
}

pub(super) use disk_counters;

disk_counters! {}

const SPEC: ObjectSpec<'static> =
    object(234, 235, DetailLevel::NOVICE, At::PercentDiskTime.at(), InstanceKind::Many, COUNTERS);

/// The traffic counters, which LogicalDisk has after a few of its own.
pub(super) const TRAFFIC: &[CounterSpec] = COUNTERS;

/// Counters computed from the times of a device.
const OF_TIMES: [At; 15] = [
    At::CurrentDiskQueueLength,
    At::PercentDiskTime,
    At::PercentDiskTimeStamp,
    At::AverageDiskQueueLength,
    At::PercentDiskReadTime,
    At::PercentDiskReadTimeStamp,
    At::AverageDiskReadQueueLength,
    At::PercentDiskWriteTime,
    At::PercentDiskWriteTimeStamp,
    At::AverageDiskWriteQueueLength,
    At::AverageDiskSecPerTransfer,
    At::AverageDiskSecPerRead,
    At::AverageDiskSecPerWrite,
    At::PercentIdleTime,
    At::PercentIdleTimeStamp,
];

/// Sets the traffic counters, of which the first is at position `first`, from the sum over `devices` devices:
/// shares are means, everything else is a sum.
pub(super) fn write_traffic(
    values: &mut CounterBlockMut<'_>,
    first: usize,
    io: &DiskIo,
    devices: u64,
    now: FileTime,
) {
    let at = |position: At| first.saturating_add(position.at());
    let transfers = io.reads.wrapping_add(io.writes);
    let bytes = io.read_bytes.wrapping_add(io.write_bytes);
    values.set(at(At::DiskTransfers), transfers);
    values.set(at(At::DiskReads), io.reads);
    values.set(at(At::DiskWrites), io.writes);
    values.set(at(At::DiskBytes), bytes);
    values.set(at(At::DiskReadBytes), io.read_bytes);
    values.set(at(At::DiskWriteBytes), io.write_bytes);
    values.set(at(At::AverageDiskBytesPerTransfer), bytes);
    values.set(at(At::AverageDiskBytesPerTransferBase), transfers);
    values.set(at(At::AverageDiskBytesPerRead), io.read_bytes);
    values.set(at(At::AverageDiskBytesPerReadBase), io.reads);
    values.set(at(At::AverageDiskBytesPerWrite), io.write_bytes);
    values.set(at(At::AverageDiskBytesPerWriteBase), io.writes);
    values.set(at(At::AverageDiskSecPerTransferBase), transfers);
    values.set(at(At::AverageDiskSecPerReadBase), io.reads);
    values.set(at(At::AverageDiskSecPerWriteBase), io.writes);
    // The kernel counts merged requests, which are the opposite.
    values.absent([at(At::SplitIO)], Absence::NotEnabled);
    let Some(times) = io.times else {
        values.absent(OF_TIMES.map(at), Absence::NotInThisKernel);
        return;
    };
    let mean = |time: u64| time.checked_div(devices).unwrap_or(time);
    let [read, write] = [times.read, times.write].map(milliseconds_to_100ns);
    let both = read.wrapping_add(write);
    values.set(at(At::CurrentDiskQueueLength), times.in_flight);
    // All shares use the same time stamp.
    values.set(at(At::PercentDiskTimeStamp), now.0);
    values.set(at(At::PercentDiskTime), mean(both));
    values.set(at(At::PercentDiskReadTime), mean(read));
    values.set(at(At::PercentDiskWriteTime), mean(write));
    let idle = now.0.wrapping_sub(mean(milliseconds_to_100ns(times.busy)));
    values.set(at(At::PercentIdleTime), idle);
    values.set(at(At::AverageDiskQueueLength), milliseconds_to_100ns(times.weighted));
    values.set(at(At::AverageDiskReadQueueLength), read);
    values.set(at(At::AverageDiskWriteQueueLength), write);
    // An average timer is in ticks of the performance clock, which are 100 ns here.
    values.set(at(At::AverageDiskSecPerTransfer), both);
    values.set(at(At::AverageDiskSecPerRead), read);
    values.set(at(At::AverageDiskSecPerWrite), write);
}

/// `milliseconds x 10^4`: 100 ns units, which are also the ticks of the performance clock; wraps as a counter
/// does.
fn milliseconds_to_100ns(milliseconds: u64) -> u64 {
    milliseconds.wrapping_mul(10_000)
}

/// The object PhysicalDisk.
pub(super) struct PhysicalDisk {
    layout: ObjectLayout<'static>,
    /// The numbers of all disks seen so far: a disk that comes back gets its old number.
    numbers: BTreeMap<String, u32>,
    topology: DiskTopology,
    /// The number of each disk of the topology.
    disk_numbers: Vec<u32>,
    /// The versions of the device and mount lists from which the topology was built.
    made_at: (u64, u64),
    buffer: Buffer,
}

impl PhysicalDisk {
    pub(super) fn new() -> PhysicalDisk {
        PhysicalDisk {
            layout: ObjectLayout::new(SPEC),
            numbers: BTreeMap::new(),
            topology: DiskTopology::default(),
            disk_numbers: Vec::new(),
            made_at: (0, 0),
            buffer: Buffer::new(),
        }
    }

    /// Finds the disks again when a device has come or gone, or something was mounted, perhaps from a volume
    /// that was incomplete before.
    fn find_disks(&mut self, sources: &mut Sources) -> Result<(), Absence> {
        let mounts = sources.file_systems().map_or(0, |(_, version)| version);
        let (table, root) = sources.disks()?;
        let made_at = (table.generation(), mounts);
        if self.made_at != made_at {
            self.made_at = made_at;
            self.topology = DiskTopology::find(root, table.names());
            let disks = self.topology.disks.iter();
            self.disk_numbers = disks.map(|disk| number(&mut self.numbers, &disk.name)).collect();
        }
        Ok(())
    }

    /// The first parts of the instance names: number and device.
    fn instance_names(&self) -> Vec<String> {
        let disks = self.disk_numbers.iter().zip(&self.topology.disks);
        disks.map(|(number, disk)| format!("{number} {}", disk.name)).collect()
    }

    /// Adds a mount point to the names of the disks below its device.
    fn add_mount(&self, names: &mut [String], device: Device, point: &str) {
        for disk in self.topology.below(device) {
            if let Some(name) = names.get_mut(*disk) {
                name.push(' ');
                name.push_str(point);
            }
        }
    }
}

/// The quantum of a disk counter: milliseconds for times, sectors for bytes.
pub(super) fn quantum(counters: &[CounterSpec], position: usize) -> u64 {
    match counters.get(position).map(|counter| counter.counter_type) {
        Some(
            CounterType::PERF_PRECISION_100NS_TIMER
            | CounterType::PERF_COUNTER_100NS_QUEUELEN_TYPE
            | CounterType::PERF_AVERAGE_TIMER,
        ) => super::quantum::MILLISECOND,
        Some(CounterType::PERF_COUNTER_BULK_COUNT | CounterType::PERF_AVERAGE_BULK) => super::quantum::SECTOR,
        _ => 1,
    }
}

impl Object for PhysicalDisk {
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
        quantum(COUNTERS, position)
    }

    fn collect(&mut self, _ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        let found = self.find_disks(sources);
        let mut names = self.instance_names();
        // A disk has a number and a name even when the mounts are unknown.
        if let Ok((mounted, _)) = sources.file_systems() {
            for file_system in mounted {
                self.add_mount(&mut names, file_system.device, &file_system.name);
            }
        }
        let now = sources.now;
        let mut object = out.object(&self.layout, PerfTime(0), Frequency(0));
        let mut sum = DiskSum::default();
        let found = found.and_then(|()| sources.disks());
        if let Ok((table, _)) = &found {
            for (disk, name) in self.topology.disks.iter_mut().zip(&names) {
                if let Some(io) = table.io(disk.device).filter(|_| disk.has_medium(&mut self.buffer)) {
                    sum.add(&io);
                    write_traffic(&mut object.instance(name, None, None), 0, &io, 1, now);
                }
            }
        }
        write_total(&mut object.instance("_Total", None, None), 0, &sum, found.err(), now);
    }
}

/// Sets the traffic of `_Total`, or why it is absent.
pub(super) fn write_total(
    values: &mut CounterBlockMut<'_>,
    first: usize,
    sum: &DiskSum,
    missing: Option<Absence>,
    now: FileTime,
) {
    // Without any device there is no mean.
    match missing.or((sum.devices == 0).then_some(Absence::NotFromThisDevice)) {
        Some(absence) => values.absent(first..first.saturating_add(COUNTERS.len()), absence),
        None => write_traffic(values, first, &sum.io, sum.devices, now),
    }
}

/// The number of a disk: its previous one, else the lowest that was never used.
fn number(numbers: &mut BTreeMap<String, u32>, name: &str) -> u32 {
    if let Some(number) = numbers.get(name) {
        return *number;
    }
    // Numbers are never reused, so the next one is the count of names.
    let number = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
    numbers.insert(name.to_string(), number);
    number
}

#[cfg(test)]
mod tests {
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
        for position in
            [At::PercentDiskReadTimeStamp, At::PercentDiskWriteTimeStamp, At::PercentIdleTimeStamp]
        {
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
        let block: Vec<u8> =
            (0..1_u32 << 20).map(|at| at.wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect();
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
}
