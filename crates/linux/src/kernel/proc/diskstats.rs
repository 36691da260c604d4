//! `/proc/diskstats`: what each block device has read and written.
//!
//! The file has no header, so its columns are found by position, as defined in the kernel's
//! `admin-guide/iostats`. Newer kernels append columns; partitions of very old ones (2.6.0 to 2.6.24) have
//! only four numbers.

use super::error::ParseError;
use super::scan::{Fields, Lines, decimal, lines};

/// The size of a sector in all block device statistics, whatever sector size the device has.
pub(crate) const SECTOR: u64 = 512;

/// One block device: a disk, a partition, or a device composed of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Disk<'a> {
    /// The major device number.
    pub major: u32,
    /// The minor device number.
    pub minor: u32,
    /// The kernel's name, for example `sda1`; a `/` in it is a `!` below `/sys`.
    pub name: &'a [u8],
    /// Reads completed (partitions before Linux 2.6.25: reads issued).
    pub reads: u64,
    /// Sectors read, of [`SECTOR`] bytes.
    pub sectors_read: u64,
    /// Writes completed (partitions before Linux 2.6.25: writes issued).
    pub writes: u64,
    /// Sectors written, of [`SECTOR`] bytes.
    pub sectors_written: u64,
    /// Times and merges; `None` for partitions before Linux 2.6.25.
    pub times: Option<Times>,
    /// Discards; since Linux 4.19, although its documents say 4.18.
    pub discards: Option<Discards>,
    /// Flushes of the write cache; since Linux 5.5.
    pub flushes: Option<Flushes>,
}

/// Merges, queue and times of a device.
///
/// The kernel prints the milliseconds with 32 bits, so they wrap: to 0 after 49.7 days of accumulated
/// waiting, which a busy disk reaches within a day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    /// Reads that were merged with a neighbour before they were issued.
    pub reads_merged: u64,
    /// Milliseconds of all reads added up.
    pub read_ms: u64,
    /// Writes that were merged with a neighbour before they were issued.
    pub writes_merged: u64,
    /// Milliseconds of all writes added up.
    pub write_ms: u64,
    /// Requests issued and not yet completed: the only column that can decrease.
    pub in_flight: u64,
    /// Milliseconds in which at least one request was in flight; only sampled since Linux 5.0.
    pub busy_ms: u64,
    /// Milliseconds times the requests in flight.
    pub weighted_ms: u64,
}

/// Discards: sectors whose content the device may drop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Discards {
    /// Discards completed.
    pub count: u64,
    /// Discards that were merged with a neighbour.
    pub merged: u64,
    /// Sectors discarded, of [`SECTOR`] bytes.
    pub sectors: u64,
    /// Milliseconds of all discards added up; wraps as [`Times`].
    pub ms: u64,
}

/// Flushes of the device's write cache; not counted for partitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flushes {
    /// Flushes completed.
    pub count: u64,
    /// Milliseconds of all flushes added up; wraps as [`Times`].
    pub ms: u64,
}

const NEEDED_DEVICE_NUMBER: &str = "a decimal number below 2^32";

/// The devices, line by line. A malformed line is an error, and the iterator continues with the next line.
pub(crate) fn disks(bytes: &[u8]) -> Disks<'_> {
    Disks { lines: lines("/proc/diskstats", bytes) }
}

/// The iterator of [`disks`].
#[derive(Clone, Debug)]
pub(crate) struct Disks<'a> {
    lines: Lines<'a>,
}

impl<'a> Iterator for Disks<'a> {
    type Item = Result<Disk<'a>, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.lines.next().map(|line| disk(line.fields()))
    }
}

impl std::iter::FusedIterator for Disks<'_> {}

fn disk(mut fields: Fields<'_>) -> Result<Disk<'_>, ParseError> {
    let major = device_number(&mut fields, "major")?;
    let minor = device_number(&mut fields, "minor")?;
    let name = fields.word("device name")?;
    let first = fields.number("reads")?;
    let second = fields.number("reads merged")?;
    let third = fields.number("sectors read")?;
    let fourth = fields.number("milliseconds reading")?;
    let mut disk = Disk {
        major,
        minor,
        name,
        reads: first,
        sectors_read: second,
        writes: third,
        sectors_written: fourth,
        times: None,
        discards: None,
        flushes: None,
    };
    let Some(writes) = fields.number_if_any("writes")? else {
        return Ok(disk);
    };
    let writes_merged = fields.number("writes merged")?;
    disk.sectors_read = third;
    disk.writes = writes;
    disk.sectors_written = fields.number("sectors written")?;
    disk.times = Some(Times {
        reads_merged: second,
        read_ms: fourth,
        writes_merged,
        write_ms: fields.number("milliseconds writing")?,
        in_flight: fields.number("requests in flight")?,
        busy_ms: fields.number("milliseconds busy")?,
        weighted_ms: fields.number("weighted milliseconds")?,
    });
    let Some(count) = fields.number_if_any("discards")? else {
        return Ok(disk);
    };
    disk.discards = Some(Discards {
        count,
        merged: fields.number("discards merged")?,
        sectors: fields.number("sectors discarded")?,
        ms: fields.number("milliseconds discarding")?,
    });
    let Some(count) = fields.number_if_any("flushes")? else {
        return Ok(disk);
    };
    disk.flushes = Some(Flushes { count, ms: fields.number("milliseconds flushing")? });
    Ok(disk)
}

fn device_number(fields: &mut Fields<'_>, column: &'static str) -> Result<u32, ParseError> {
    let place = fields.location();
    let field = fields.next_field().unwrap_or_default();
    let number = decimal(field).and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| place.error(column, NEEDED_DEVICE_NUMBER, field))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{check_damage, fixture};
    use super::*;

    fn named<'a>(bytes: &'a [u8], name: &str) -> Disk<'a> {
        disks(bytes).map(Result::unwrap).find(|disk| disk.name == name.as_bytes()).unwrap()
    }

    #[test]
    fn every_layout_since_2_6() {
        let bytes = fixture("6.18/diskstats");
        let all: Vec<_> = disks(&bytes).map(Result::unwrap).collect();
        assert_eq!(all.len(), 10);
        let vda = named(&bytes, "vda");
        assert_eq!((vda.major, vda.minor, vda.reads, vda.sectors_read), (254, 0, 24950, 9_723_898));
        assert_eq!((vda.writes, vda.sectors_written), (2929, 1_968_192));
        let times = Times {
            reads_merged: 8149,
            read_ms: 45007,
            writes_merged: 9623,
            write_ms: 2432,
            in_flight: 0,
            busy_ms: 8220,
            weighted_ms: 47905,
        };
        assert_eq!(vda.times, Some(times));
        assert_eq!(vda.discards, Some(Discards { count: 10134, merged: 28, sectors: 357_008, ms: 462 }));
        assert_eq!(vda.flushes, Some(Flushes { count: 82, ms: 2 }));

        let bytes = fixture("4.18/diskstats");
        let sda = named(&bytes, "sda");
        assert_eq!(sda.discards, Some(Discards { count: 12, merged: 0, sectors: 4096, ms: 3 }));
        assert_eq!((sda.reads, sda.flushes), (446_216, None));

        let bytes = fixture("3.10/diskstats");
        let c0d0 = named(&bytes, "cciss/c0d0");
        assert_eq!((c0d0.major, c0d0.discards, c0d0.flushes), (104, None, None));
        assert_eq!(c0d0.times.unwrap().weighted_ms, 4_294_967_290);

        let bytes = fixture("2.6.18/diskstats");
        let hda = named(&bytes, "hda");
        assert_eq!((hda.reads, hda.sectors_read, hda.writes), (446_216, 9_550_688, 382_487));
        assert!(hda.times.is_some());
        let hda1 = named(&bytes, "hda1");
        assert_eq!(
            (hda1.reads, hda1.sectors_read, hda1.writes, hda1.sectors_written),
            (35486, 38030, 38031, 38032)
        );
        assert_eq!((hda1.minor, hda1.times, hda1.discards), (1, None, None));
    }

    #[test]
    fn unknown_columns_at_the_end_are_ignored() {
        let line = b"8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19\n";
        assert_eq!(named(line, "sda").flushes, Some(Flushes { count: 16, ms: 17 }));
    }

    #[test]
    fn a_malformed_line_is_located_and_the_next_one_parsed() {
        let text = b"8 0 sda 1 2 3\n8 1 sda1 1 2 3 4\n8 x sdb 1 2 3 4\n4294967296 0 sdc 1 2 3 4\n8 2 sdd 1 \
            2 3 4 5\n";
        let found: Vec<String> = disks(text)
            .map(|disk| disk.map_or_else(|error| error.to_string(), |disk| format!("{} reads", disk.reads)))
            .collect();
        assert_eq!(
            found,
            [
                "/proc/diskstats line 1: milliseconds reading: needed a decimal number below 2^64, found \
                    nothing",
                "1 reads",
                "/proc/diskstats line 3: minor: needed a decimal number below 2^32, found \"x\"",
                "/proc/diskstats line 4: major: needed a decimal number below 2^32, found \"4294967296\"",
                "/proc/diskstats line 5: writes merged: needed a decimal number below 2^64, found nothing",
            ]
        );
    }

    #[test]
    fn damaged_files_do_not_panic() {
        for file in ["6.18/diskstats", "4.18/diskstats", "3.10/diskstats", "2.6.18/diskstats"] {
            check_damage(file, |bytes| {
                disks(bytes).map(|disk| disk.map(|disk| disk.reads)).collect::<Result<Vec<_>, _>>()
            });
        }
    }
}
