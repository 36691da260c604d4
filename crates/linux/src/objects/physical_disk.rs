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
#[path = "physical_disk_tests.rs"]
mod tests;
