//! `/proc/PID/statm`: memory of a process in pages.
//!
//! Unlike column 24 of `stat` these numbers are exact. A kernel thread has zeros.

use super::error::ParseError;
use super::scan::{Fields, Location};

const FILE: &str = "/proc/PID/statm";

/// The content of `/proc/PID/statm`, in pages; `SystemFacts::pages_to_bytes` converts them to bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PidStatm {
    /// 1: address space.
    pub size: u64,
    /// 2: the part in memory.
    pub resident: u64,
    /// 3: the part in memory that belongs to files or shared memory.
    pub shared: u64,
}

impl PidStatm {
    /// Parses the whole file. The columns after the third are not needed.
    ///
    /// # Errors
    ///
    /// Fewer than three numbers.
    pub(crate) fn parse(bytes: &[u8]) -> Result<PidStatm, ParseError> {
        let mut fields = Fields::new(Location { file: FILE, line: 1 }, bytes.trim_ascii_end());
        Ok(PidStatm {
            size: fields.number("1 size")?,
            resident: fields.number("2 resident")?,
            shared: fields.number("3 shared")?,
        })
    }

    /// `resident - shared`: pages in memory that belong to this process alone, at least 0.
    pub(crate) fn anonymous(self) -> u64 {
        self.resident.saturating_sub(self.shared)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{check_damage, fixture};
    use super::super::pid_status::PidStatus;
    use super::*;

    #[test]
    fn agrees_with_status() {
        let statm = PidStatm::parse(&fixture("6.18/pid/statm")).unwrap();
        let status = PidStatus::parse(&fixture("6.18/pid/status")).unwrap();
        let kib = |pages: u64| Some(pages * 4);
        assert_eq!(kib(statm.size), status.virtual_size);
        assert_eq!(kib(statm.resident), status.resident);
        assert_eq!(kib(statm.anonymous()), status.resident_anon);
    }

    #[test]
    fn kernel_thread_and_impossible_numbers() {
        assert_eq!(PidStatm::parse(&fixture("6.18/kthread/statm")), Ok(PidStatm::default()));
        assert_eq!(PidStatm::parse(b"9 1 2\n").unwrap().anonymous(), 0);
    }

    #[test]
    fn errors() {
        for (text, message) in [
            ("", "/proc/PID/statm line 1: 1 size: needed a decimal number below 2^64, found nothing"),
            ("1 2\n", "/proc/PID/statm line 1: 3 shared: needed a decimal number below 2^64, found nothing"),
            (
                "1 -2 0",
                "/proc/PID/statm line 1: 2 resident: needed a decimal number below 2^64, found \"-2\"",
            ),
        ] {
            assert_eq!(PidStatm::parse(text.as_bytes()).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn damaged_files_do_not_panic() {
        check_damage("6.18/pid/statm", PidStatm::parse);
    }
}
