//! `/proc/PID/stat` and `/proc/PID/task/TID/stat`: one line about a process or thread.
//!
//! The line has no names; proc(5) numbers the columns, and the numbers here are proc(5)'s. The name of the
//! process may hold blanks, parentheses and line feeds, so the columns begin after the last closing one.

use super::error::ParseError;
use super::scan::{Fields, Location, decimal, split_at_byte, split_at_last_byte};

const FILE: &str = "/proc/PID/stat";

/// The flag of a thread that belongs to the kernel: `PF_KTHREAD`.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// What `/proc/PID/stat` says about a process, or `/proc/PID/task/TID/stat` about a thread.
///
/// Column 24, the resident size, is not taken: it lags behind `/proc/PID/statm`, which is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PidStat<'a> {
    /// 1: the process or thread id.
    pub pid: u64,
    /// 2: the name, at most 15 bytes of a program and up to 63 of a kernel thread. Nothing is escaped here,
    /// so it may hold line feeds; `/proc/PID/status` escapes them.
    pub comm: &'a [u8],
    /// 3: `R` runs, `S` sleeps, `D` waits for a disk, `I` idle kernel thread, `T` stopped, `t` traced, `Z`
    /// zombie, `X` dead.
    pub state: u8,
    /// 4: the process id of the parent; 0 when it has none or the parent is outside of this pid namespace.
    pub parent: u64,
    /// 9: the kernel's flags.
    pub flags: u64,
    /// 10: page faults without I/O.
    pub minor_faults: u64,
    /// 12: page faults with I/O.
    pub major_faults: u64,
    /// 14: user time in ticks; for a process it includes exited threads.
    pub user_ticks: u64,
    /// 15: kernel time in ticks; for a process it includes exited threads.
    pub system_ticks: u64,
    /// 18: the kernel's priority less 100: 0 to 39 is 20 + nice, -2 to -100 is real time, -101 a deadline.
    pub priority: i64,
    /// 19: nice, -20 to 19.
    pub nice: i64,
    /// 20: threads of the process.
    pub threads: u64,
    /// 22: ticks from boot to the start of this process or thread.
    pub start_ticks: u64,
    /// 23: bytes of address space; 0 for a kernel thread.
    pub virtual_bytes: u64,
    /// 39: the CPU on which it ran last, since kernel 2.2.8.
    pub processor: Option<u64>,
    /// 40: real-time priority 1 to 99, 0 for other policies, since kernel 2.5.19.
    pub realtime_priority: Option<u64>,
    /// 41: 0 ordinary, 1 first in first out, 2 round robin, 3 batch, 5 idle, 6 deadline, since kernel 2.5.19.
    pub policy: Option<u64>,
    /// 42: ticks spent waiting for a disk, since kernel 2.6.18; 0 unless delay accounting is on.
    pub io_delay_ticks: Option<u64>,
}

impl<'a> PidStat<'a> {
    /// Parses the whole file.
    ///
    /// # Errors
    ///
    /// No name in parentheses, or a column that is not what proc(5) says.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<PidStat<'a>, ParseError> {
        let place = Location { file: FILE, line: 1 };
        let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        // Only the name holds parentheses: it runs from the first one to the last one.
        let (pid, comm, columns) = split_at_byte(text, b'(')
            .and_then(|(pid, rest)| {
                let (comm, columns) = split_at_last_byte(rest, b')')?;
                Some((pid.trim_ascii_end(), comm, columns))
            })
            .ok_or_else(|| place.error("2 comm", "a name in parentheses", text))?;
        let pid = decimal(pid).ok_or_else(|| place.error("1 pid", "a decimal number below 2^64", pid))?;
        let mut fields = Fields::new(place, columns);
        let state = fields.word("3 state")?;
        let &[state] = state else {
            return Err(place.error("3 state", "one letter", state));
        };
        let parent = fields.number("4 ppid")?;
        fields.skip(4);
        let flags = fields.number("9 flags")?;
        let minor_faults = fields.number("10 minflt")?;
        fields.skip(1);
        let major_faults = fields.number("12 majflt")?;
        fields.skip(1);
        let user_ticks = fields.number("14 utime")?;
        let system_ticks = fields.number("15 stime")?;
        fields.skip(2);
        let priority = fields.signed("18 priority")?;
        let nice = fields.signed("19 nice")?;
        let threads = fields.number("20 num_threads")?;
        fields.skip(1);
        let start_ticks = fields.number("22 starttime")?;
        let virtual_bytes = fields.number("23 vsize")?;
        fields.skip(15);
        Ok(PidStat {
            pid,
            comm,
            state,
            parent,
            flags,
            minor_faults,
            major_faults,
            user_ticks,
            system_ticks,
            priority,
            nice,
            threads,
            start_ticks,
            virtual_bytes,
            processor: fields.number_if_any("39 processor")?,
            realtime_priority: fields.number_if_any("40 rt_priority")?,
            policy: fields.number_if_any("41 policy")?,
            io_delay_ticks: fields.number_if_any("42 delayacct_blkio_ticks")?,
        })
    }

    /// Whether it is a kernel thread: no program, no address space.
    pub(crate) fn is_kernel_thread(&self) -> bool {
        self.flags & KERNEL_THREAD != 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{check_damage, fixture};
    use super::*;

    #[test]
    fn name_with_blanks_parentheses_and_a_false_column() {
        let bytes = fixture("6.18/pid/stat");
        let stat = PidStat::parse(&bytes).unwrap();
        assert_eq!((stat.comm, stat.state, stat.parent), (&b"x) R 1 (y"[..], b'S', stat.pid - 22));
        assert_eq!((stat.minor_faults, stat.major_faults, stat.threads), (141, 0, 1));
        assert_eq!((stat.priority, stat.nice, stat.start_ticks), (20, 0, 211_111));
        assert_eq!(stat.virtual_bytes, 2_990_080);
        assert_eq!((stat.processor, stat.realtime_priority, stat.policy), (Some(1), Some(0), Some(0)));
        assert_eq!(stat.io_delay_ticks, Some(0));
        assert!(!stat.is_kernel_thread());
    }

    #[test]
    fn kernel_thread() {
        let bytes = fixture("6.18/kthread/stat");
        let stat = PidStat::parse(&bytes).unwrap();
        assert_eq!((stat.pid, stat.comm, stat.parent), (2, &b"kthreadd"[..], 0));
        assert_eq!(stat.virtual_bytes, 0);
        assert!(stat.is_kernel_thread());
    }

    #[test]
    fn real_time_program_of_an_old_kernel() {
        let bytes = fixture("2.6.32/pid/stat");
        let stat = PidStat::parse(&bytes).unwrap();
        assert_eq!((stat.priority, stat.nice), (-51, 0));
        assert_eq!((stat.realtime_priority, stat.policy), (Some(50), Some(1)));
        assert_eq!((stat.user_ticks, stat.system_ticks), (1_204, 331));
    }

    #[test]
    fn name_with_backslash_and_line_feed_is_not_escaped() {
        let bytes = fixture("6.18/pid-escaped/stat");
        let stat = PidStat::parse(&bytes).unwrap();
        assert_eq!((stat.comm, stat.state), (&b"a\\b\nc)d"[..], b'S'));
    }

    #[test]
    fn line_that_ends_after_the_needed_columns() {
        let stat = PidStat::parse(b"1 () Z 0 0 0 0 -1 4 0 0 0 0 0 0 0 0 20 -5 1 0 9 0").unwrap();
        assert_eq!((stat.comm, stat.nice, stat.start_ticks, stat.processor), (&b""[..], -5, 9, None));
    }

    #[test]
    fn errors() {
        for (text, message) in [
            ("", "/proc/PID/stat line 1: 2 comm: needed a name in parentheses, found nothing"),
            ("1 )a( R", "/proc/PID/stat line 1: 2 comm: needed a name in parentheses, found \"1 )a( R\""),
            ("x (a) R 1", "/proc/PID/stat line 1: 1 pid: needed a decimal number below 2^64, found \"x\""),
            ("1 (a) RS 1", "/proc/PID/stat line 1: 3 state: needed one letter, found \"RS\""),
            (
                "1 (a) R 1 0 0 0 -1",
                "/proc/PID/stat line 1: 9 flags: needed a decimal number below 2^64, found nothing",
            ),
        ] {
            assert_eq!(PidStat::parse(text.as_bytes()).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn damaged_files_do_not_panic() {
        for name in ["6.18/pid/stat", "6.18/kthread/stat", "6.18/pid-escaped/stat", "2.6.32/pid/stat"] {
            check_damage(name, |bytes| PidStat::parse(bytes).map(|stat| stat.comm.len()));
        }
    }
}
