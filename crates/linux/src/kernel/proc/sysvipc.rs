//! `/proc/sysvipc/{sem,shm}`: the System V semaphores and shared memory segments of one IPC namespace.
//!
//! Each file is a line of column names and a line per object. The files are missing when the kernel was built
//! without System V IPC. Only sums are kept; they saturate at the largest number.

use super::error::ParseError;
use super::scan::{NEEDED_NUMBER, decimal, lines};

/// The sums of `/proc/sysvipc/sem`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Semaphores {
    /// Sets of semaphores.
    pub sets: u64,
    /// Semaphores in all sets.
    pub semaphores: u64,
}

/// The sums of `/proc/sysvipc/shm`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SharedMemory {
    /// Segments.
    pub segments: u64,
    /// Bytes of all segments, as requested.
    pub bytes: u64,
    /// Bytes of all segments that are in memory; `None` on kernels without this column.
    pub resident_bytes: Option<u64>,
    /// Bytes of all segments that are in swap space; `None` on kernels without this column.
    pub swapped_bytes: Option<u64>,
}

impl Semaphores {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// There is no line of names, the column `nsems` is missing, or a number in it is malformed.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Semaphores, ParseError> {
        const FILE: &str = "/proc/sysvipc/sem";
        let (sets, [semaphores]) = sums(FILE, bytes, ["nsems"])?;
        Ok(Semaphores { sets, semaphores: needed(FILE, "nsems", semaphores)? })
    }
}

impl SharedMemory {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// As [`Semaphores::parse`], for the columns `size`, `rss` and `swap`; `size` is required.
    pub(crate) fn parse(bytes: &[u8]) -> Result<SharedMemory, ParseError> {
        const FILE: &str = "/proc/sysvipc/shm";
        let (segments, [size, resident_bytes, swapped_bytes]) = sums(FILE, bytes, ["size", "rss", "swap"])?;
        Ok(SharedMemory { segments, bytes: needed(FILE, "size", size)?, resident_bytes, swapped_bytes })
    }
}

/// The number of objects and the sum of each column, `None` where the column does not exist.
fn sums<const N: usize>(
    file: &'static str,
    bytes: &[u8],
    columns: [&'static str; N],
) -> Result<(u64, [Option<u64>; N]), ParseError> {
    let mut lines = lines(file, bytes);
    let Some(names) = lines.next() else {
        return Err(ParseError::missing(file, "column names", "a line of column names"));
    };
    let place_of = |column: &str| {
        let mut fields = names.fields();
        std::iter::from_fn(|| fields.next_field()).position(|name| name == column.as_bytes())
    };
    let places = columns.map(place_of);
    let mut totals = places.map(|place| place.map(|_| 0_u64));
    let mut objects = 0_u64;
    for line in lines {
        objects = objects.saturating_add(1);
        for ((place, total), column) in places.iter().zip(&mut totals).zip(columns) {
            let (Some(place), Some(total)) = (place, total) else {
                continue;
            };
            let mut fields = line.fields();
            let text = std::iter::from_fn(|| fields.next_field()).nth(*place).unwrap_or_default();
            let number = decimal(text).ok_or_else(|| line.location.error(column, NEEDED_NUMBER, text))?;
            *total = total.saturating_add(number);
        }
    }
    Ok((objects, totals))
}

fn needed(file: &'static str, column: &'static str, total: Option<u64>) -> Result<u64, ParseError> {
    total.ok_or_else(|| ParseError::missing(file, column, "a column with this name"))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{check_damage, fixture};
    use super::*;

    #[test]
    fn captured_files() {
        let sem = Semaphores::parse(&fixture("6.18/sysvipc-sem")).unwrap();
        assert_eq!(sem, Semaphores { sets: 2, semaphores: 8 });
        let shm = SharedMemory::parse(&fixture("6.18/sysvipc-shm")).unwrap();
        let wanted =
            SharedMemory { segments: 2, bytes: 14096, resident_bytes: Some(0), swapped_bytes: Some(0) };
        assert_eq!(shm, wanted);
    }

    #[test]
    fn columns_go_by_name() {
        let shm = SharedMemory::parse(b"new size key\n-1 5 x\n-2 6 y\n").unwrap();
        assert_eq!(shm, SharedMemory { segments: 2, bytes: 11, resident_bytes: None, swapped_bytes: None });
        let sem = Semaphores::parse(b"nsems\n18446744073709551615\n1\n").unwrap();
        assert_eq!(sem, Semaphores { sets: 2, semaphores: u64::MAX });
    }

    #[test]
    fn malformed_files_say_where() {
        let cases: [(&[u8], &str); 4] = [
            (b"", "/proc/sysvipc/sem: column names: needed a line of column names, found nothing"),
            (b"key semid\n", "/proc/sysvipc/sem: nsems: needed a column with this name, found nothing"),
            (
                b"key nsems\n1 2\n1\n",
                "/proc/sysvipc/sem line 3: nsems: needed a decimal number below 2^64, found nothing",
            ),
            (
                b"key nsems\n1 x\n",
                "/proc/sysvipc/sem line 2: nsems: needed a decimal number below 2^64, found \"x\"",
            ),
        ];
        for (text, wanted) in cases {
            assert_eq!(Semaphores::parse(text).unwrap_err().to_string(), wanted);
        }
        assert!(SharedMemory::parse(b"rss swap\n").is_err());
    }

    #[test]
    fn damaged_files_do_not_panic() {
        check_damage("6.18/sysvipc-sem", Semaphores::parse);
        check_damage("6.18/sysvipc-shm", SharedMemory::parse);
    }
}
