//! `/proc/PID/schedstat` and `/proc/PID/task/TID/schedstat`: time running and waiting for a CPU, in
//! nanoseconds.

use super::error::ParseError;
use super::scan::{Fields, Location};

const FILE: &str = "/proc/PID/schedstat";

/// The content of `/proc/PID/schedstat` for one thread; for a process it is the first thread alone.
///
/// The file exists in kernels built with `CONFIG_SCHED_INFO`, which nearly all are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PidSchedstat {
    /// 1: nanoseconds on a CPU.
    pub run_time: u64,
    /// 2: nanoseconds runnable and waiting for a CPU.
    pub wait_time: u64,
    /// 3: how often it was scheduled on a CPU.
    pub slices: u64,
}

impl PidSchedstat {
    /// Parses the whole file.
    ///
    /// # Errors
    ///
    /// Fewer than three numbers.
    pub(crate) fn parse(bytes: &[u8]) -> Result<PidSchedstat, ParseError> {
        let mut fields = Fields::new(Location { file: FILE, line: 1 }, bytes.trim_ascii_end());
        Ok(PidSchedstat {
            run_time: fields.number("1 run time")?,
            wait_time: fields.number("2 wait time")?,
            slices: fields.number("3 slices")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{check_damage, fixture};
    use super::*;

    #[test]
    fn current_kernel() {
        let expected = PidSchedstat { run_time: 889_446, wait_time: 524_522, slices: 1 };
        assert_eq!(PidSchedstat::parse(&fixture("6.18/pid/schedstat")), Ok(expected));
    }

    #[test]
    fn errors() {
        for (text, message) in [
            ("", "/proc/PID/schedstat line 1: 1 run time: needed a decimal number below 2^64, found nothing"),
            (
                "1 2\n",
                "/proc/PID/schedstat line 1: 3 slices: needed a decimal number below 2^64, found nothing",
            ),
            (
                "1 x 3",
                "/proc/PID/schedstat line 1: 2 wait time: needed a decimal number below 2^64, found \"x\"",
            ),
        ] {
            assert_eq!(PidSchedstat::parse(text.as_bytes()).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn damaged_files_do_not_panic() {
        check_damage("6.18/pid/schedstat", PidSchedstat::parse);
        check_damage("6.18/kthread/schedstat", PidSchedstat::parse);
    }
}
