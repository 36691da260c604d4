//! `/proc/PID/io`: what a process read and wrote. Only its owner and the administrator may read it.

use super::error::ParseError;
use super::scan::lines;

const FILE: &str = "/proc/PID/io";

/// The content of `/proc/PID/io` since the start of the process, including its exited threads.
///
/// Pipes, terminals and sockets count as files do. Memory-mapped files do not count, and `io_uring` counts
/// only in some kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PidIo {
    /// `rchar`: bytes that read system calls returned.
    pub read_bytes: u64,
    /// `wchar`: bytes that write system calls took.
    pub written_bytes: u64,
    /// `syscr`: read system calls.
    pub reads: u64,
    /// `syscw`: write system calls.
    pub writes: u64,
    /// `read_bytes`: bytes that were fetched from a disk.
    pub disk_read_bytes: Option<u64>,
    /// `write_bytes`: bytes that will be written to a disk.
    pub disk_written_bytes: Option<u64>,
    /// `cancelled_write_bytes`: bytes that were never written, because the file was truncated or removed
    /// before.
    pub cancelled_write_bytes: Option<u64>,
}

impl PidIo {
    /// Parses the whole file; other keys are skipped.
    ///
    /// # Errors
    ///
    /// A known key without a number, or one of `rchar`, `wchar`, `syscr` and `syscw` missing.
    pub(crate) fn parse(bytes: &[u8]) -> Result<PidIo, ParseError> {
        let (mut rchar, mut wchar, mut syscr, mut syscw) = (None, None, None, None);
        let mut io = PidIo::default();
        for line in lines(FILE, bytes) {
            let Some((key, mut fields)) = line.key_and_fields() else {
                continue;
            };
            let (slot, column) = match key {
                b"rchar" => (&mut rchar, "rchar"),
                b"wchar" => (&mut wchar, "wchar"),
                b"syscr" => (&mut syscr, "syscr"),
                b"syscw" => (&mut syscw, "syscw"),
                b"read_bytes" => (&mut io.disk_read_bytes, "read_bytes"),
                b"write_bytes" => (&mut io.disk_written_bytes, "write_bytes"),
                b"cancelled_write_bytes" => (&mut io.cancelled_write_bytes, "cancelled_write_bytes"),
                _ => continue,
            };
            *slot = Some(fields.number(column)?);
        }
        let missing = |column| ParseError::missing(FILE, column, "a line with this key");
        io.read_bytes = rchar.ok_or_else(|| missing("rchar"))?;
        io.written_bytes = wchar.ok_or_else(|| missing("wchar"))?;
        io.reads = syscr.ok_or_else(|| missing("syscr"))?;
        io.writes = syscw.ok_or_else(|| missing("syscw"))?;
        Ok(io)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{check_damage, fixture};
    use super::*;

    #[test]
    fn current_kernel() {
        let io = PidIo::parse(&fixture("6.18/pid/io")).unwrap();
        assert_eq!((io.read_bytes, io.written_bytes, io.reads, io.writes), (6976, 0, 10, 0));
        assert_eq!((io.disk_read_bytes, io.cancelled_write_bytes), (Some(0), Some(0)));
    }

    #[test]
    fn keys_in_another_order_with_a_new_one_between() {
        let io = PidIo::parse(b"syscw: 4\nnew_key: x\nsyscr: 3\nwchar: 2\nrchar: 1\nwrite_bytes: 5").unwrap();
        assert_eq!((io.read_bytes, io.written_bytes, io.reads, io.writes), (1, 2, 3, 4));
        assert_eq!((io.disk_read_bytes, io.disk_written_bytes), (None, Some(5)));
    }

    #[test]
    fn errors() {
        for (text, message) in [
            ("", "/proc/PID/io: rchar: needed a line with this key, found nothing"),
            (
                "rchar: 1\nwchar: 1\nsyscr: 1\n",
                "/proc/PID/io: syscw: needed a line with this key, found nothing",
            ),
            (
                "rchar: 1\nwchar: \n",
                "/proc/PID/io line 2: wchar: needed a decimal number below 2^64, found nothing",
            ),
        ] {
            assert_eq!(PidIo::parse(text.as_bytes()).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn damaged_files_do_not_panic() {
        check_damage("6.18/pid/io", PidIo::parse);
    }
}
