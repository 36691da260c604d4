//! What every block device has read and written, for both disk objects: read once a request, and extended to
//! 64 bits.

use std::collections::HashMap;

use crate::kernel::proc::ParseError;
use crate::kernel::proc::diskstats::{Disk, SECTOR, disks};
use crate::sources::monotonic::WrappingCounter;

/// Major and minor number.
pub(crate) type Device = (u32, u32);

/// One line of `/proc/diskstats`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiskLine {
    pub(crate) device: Device,
    /// The kernel's name, which can hold a `/`.
    pub(crate) name: String,
    io: DiskIo,
}

/// What one device has done so far, or several devices together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DiskIo {
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) read_bytes: u64,
    pub(crate) write_bytes: u64,
    /// `None` for partitions before Linux 2.6.25.
    pub(crate) times: Option<DiskTimes>,
}

/// Times in milliseconds, and the requests in flight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DiskTimes {
    pub(crate) read: u64,
    pub(crate) write: u64,
    /// Time with at least one request in flight.
    pub(crate) busy: u64,
    /// The time of all requests added up, including discards and flushes.
    pub(crate) weighted: u64,
    pub(crate) in_flight: u64,
}

/// The lines of `/proc/diskstats`. A malformed line costs its device only, unless there is no other line.
pub(crate) fn disk_lines(bytes: &[u8]) -> Result<Vec<DiskLine>, ParseError> {
    let mut rows = Vec::new();
    let mut first_error = None;
    for disk in disks(bytes) {
        match disk {
            Ok(disk) => rows.push(row(&disk)),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    match first_error {
        Some(error) if rows.is_empty() => Err(error),
        _ => Ok(rows),
    }
}

fn row(disk: &Disk<'_>) -> DiskLine {
    DiskLine {
        device: (disk.major, disk.minor),
        name: String::from_utf8_lossy(disk.name).into_owned(),
        io: DiskIo {
            reads: disk.reads,
            writes: disk.writes,
            read_bytes: disk.sectors_read.wrapping_mul(SECTOR),
            write_bytes: disk.sectors_written.wrapping_mul(SECTOR),
            times: disk.times.map(|times| DiskTimes {
                read: times.read_ms,
                write: times.write_ms,
                busy: times.busy_ms,
                weighted: times.weighted_ms,
                in_flight: times.in_flight,
            }),
        },
    }
}

/// All block devices, with times that do not wrap at 32 bits.
#[derive(Debug, Default)]
pub(crate) struct DiskTable {
    /// The request in which the values were read.
    request: u64,
    /// Changes whenever a device comes or goes.
    generation: u64,
    names: Vec<(Device, String)>,
    history: HashMap<Device, History>,
}

/// What is remembered of a device between two requests.
#[derive(Debug, Default)]
struct History {
    name: String,
    request: u64,
    io: DiskIo,
    read: WrappingCounter,
    write: WrappingCounter,
    busy: WrappingCounter,
    weighted: WrappingCounter,
}

impl DiskTable {
    /// Takes the lines that were read in a request; a second call for the same request changes nothing.
    pub(crate) fn update(&mut self, request: u64, rows: &[DiskLine]) {
        if self.request == request {
            return;
        }
        self.request = request;
        for row in rows {
            self.history.entry(row.device).or_default().step(request, row);
        }
        // A device that went away and comes back starts again, so its history is dropped.
        self.history.retain(|_, history| history.request == request);
        let same = self.names.len() == rows.len()
            && self
                .names
                .iter()
                .zip(rows)
                .all(|((device, name), row)| *device == row.device && *name == row.name);
        if !same {
            self.generation = self.generation.wrapping_add(1);
            self.names = rows.iter().map(|row| (row.device, row.name.clone())).collect();
        }
    }

    /// The devices and their names, in the kernel's order.
    pub(crate) fn names(&self) -> &[(Device, String)] {
        &self.names
    }

    /// A number that changes whenever a device comes or goes; never 0 after an update with any device.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// What a device has done; `None` when the kernel keeps no statistics for it.
    pub(crate) fn io(&self, device: Device) -> Option<DiskIo> {
        self.history.get(&device).map(|history| history.io)
    }
}

impl History {
    fn step(&mut self, request: u64, row: &DiskLine) {
        // Request counts have 64 bits: when they decrease, another device has taken this number, and an
        // apparent wrap of the times is none.
        let other = self.name != row.name || row.io.reads < self.io.reads || row.io.writes < self.io.writes;
        if other {
            *self = History { name: row.name.clone(), ..History::default() };
        }
        self.request = request;
        self.io = row.io;
        if let Some(times) = &mut self.io.times {
            times.read = self.read.step(times.read);
            times.write = self.write.step(times.write);
            times.busy = self.busy.step(times.busy);
            times.weighted = self.weighted.step(times.weighted);
        }
    }
}

/// The sum over several devices, for means.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DiskSum {
    /// How many devices were added.
    pub(crate) devices: u64,
    /// The times are present if at least one device has them.
    pub(crate) io: DiskIo,
}

impl DiskSum {
    /// Adds a device.
    pub(crate) fn add(&mut self, io: &DiskIo) {
        self.devices = self.devices.saturating_add(1);
        let sum = &mut self.io;
        sum.reads = sum.reads.wrapping_add(io.reads);
        sum.writes = sum.writes.wrapping_add(io.writes);
        sum.read_bytes = sum.read_bytes.wrapping_add(io.read_bytes);
        sum.write_bytes = sum.write_bytes.wrapping_add(io.write_bytes);
        if let Some(times) = io.times {
            let sum = sum.times.get_or_insert_default();
            sum.read = sum.read.wrapping_add(times.read);
            sum.write = sum.write.wrapping_add(times.write);
            sum.busy = sum.busy.wrapping_add(times.busy);
            sum.weighted = sum.weighted.wrapping_add(times.weighted);
            sum.in_flight = sum.in_flight.saturating_add(times.in_flight);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::proc::fixture::{check_damage, fixture};

    const LAST: u64 = u32::MAX as u64;

    fn line(name: &str, reads: u64, ms: u64) -> Vec<DiskLine> {
        disk_lines(format!("8 0 {name} {reads} 0 6 {ms} 2 0 4 {ms} 1 {ms} {ms}\n").as_bytes()).unwrap()
    }

    #[test]
    fn lines_become_bytes_and_times() {
        let rows = disk_lines(&fixture("4.18/diskstats")).unwrap();
        assert_eq!(rows.len(), 3);
        assert_eq!((rows[0].device, rows[0].name.as_str()), ((8, 0), "sda"));
        assert_eq!(rows[0].io.read_bytes, 9550688 * 512);
        let times = rows[0].io.times.unwrap();
        assert_eq!((times.read, times.write, times.busy), (4382310, 19310380, 3376340));
        assert_eq!((times.weighted, times.in_flight), (23705160, 2));
    }

    #[test]
    fn a_damaged_line_costs_its_device_only() {
        let text = b"8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n8 16 sdb one\n8 32 sdc 1 2 3 4 5 6 7 8 9 10 11\n";
        let names: Vec<String> = disk_lines(text).unwrap().into_iter().map(|row| row.name).collect();
        assert_eq!(names, ["sda", "sdc"]);
        assert!(disk_lines(b"8 16 sdb one\n").is_err());
        assert_eq!(disk_lines(b""), Ok(Vec::new()));
        check_damage("4.18/diskstats", disk_lines);
    }

    #[test]
    fn times_continue_beyond_32_bits() {
        let mut table = DiskTable::default();
        let mut read = |request, reads, ms| {
            table.update(request, &line("sda", reads, ms));
            let times = table.io((8, 0)).unwrap().times.unwrap();
            assert_eq!([times.write, times.busy, times.weighted], [times.read; 3]);
            times.read
        };
        assert_eq!(read(1, 5, LAST - 9), LAST - 9);
        assert_eq!(read(2, 6, 90), LAST + 91);
        assert_eq!(read(2, 7, 5), LAST + 91, "the same request again");
        assert_eq!(read(3, 7, 91), LAST + 92);
        // Fewer reads than before: another device, which starts again although its time looks wrapped.
        assert_eq!(read(4, 7, LAST - 1), LAST + 1 + LAST - 1);
        assert_eq!(read(5, 1, 3), 3);
    }

    #[test]
    fn a_device_that_comes_back_starts_again() {
        let mut table = DiskTable::default();
        table.update(1, &line("sda", 5, LAST - 9));
        let generation = table.generation();
        assert_ne!(generation, 0);
        table.update(2, &line("sda", 6, LAST - 8));
        assert_eq!(table.generation(), generation);
        table.update(3, &[]);
        assert_eq!((table.io((8, 0)), table.names().len()), (None, 0));
        assert_ne!(table.generation(), generation);
        table.update(4, &line("sda", 7, 10));
        assert_eq!(table.io((8, 0)).unwrap().times.unwrap().read, 10);
        // Another device with the same number.
        table.update(5, &line("sda", 8, LAST));
        table.update(6, &line("sdb", 9, 3));
        assert_eq!(table.io((8, 0)).unwrap().times.unwrap().read, 3);
        assert_eq!(table.names(), [((8, 0), "sdb".to_string())]);
    }

    #[test]
    fn sums() {
        let rows = disk_lines(&fixture("2.6.18/diskstats")).unwrap();
        let mut sum = DiskSum::default();
        rows.iter().for_each(|row| sum.add(&row.io));
        assert_eq!(sum.devices, u64::try_from(rows.len()).unwrap());
        assert_eq!(sum.io.reads, rows.iter().map(|row| row.io.reads).sum::<u64>());
        let without = rows.iter().filter(|row| row.io.times.is_none()).count();
        assert!(without > 0 && without < rows.len());
        let read = rows.iter().filter_map(|row| row.io.times).map(|times| times.read).sum::<u64>();
        assert_eq!(sum.io.times.unwrap().read, read);
    }
}
