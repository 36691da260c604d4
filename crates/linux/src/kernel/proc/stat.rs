//! `/proc/stat`: CPU times, interrupts, context switches, process creation.
//!
//! Times are in ticks ([`SystemFacts::ticks_per_second`](super::SystemFacts::ticks_per_second)) since boot.
//! An offline CPU has no line. The kernel warns that `iowait`, and with it `idle`, may decrease; that is
//! handled where the previous value is known.

use super::error::ParseError;
use super::scan::{Fields, lines};

const FILE: &str = "/proc/stat";

/// The content of `/proc/stat`.
///
/// Only the `cpu` line is required. Runtimes that imitate the file for a container omit other lines, which
/// are `None` then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stat {
    /// All CPUs together, the line `cpu`. It is not always the sum of the lines below: it includes the time
    /// of CPUs that went offline.
    pub total: CpuTicks,
    /// One entry per online CPU in the order of the file, with the kernel's number of the CPU.
    pub cpus: Vec<(u32, CpuTicks)>,
    /// Interrupts since boot, including those without a number: the first number of `intr`.
    pub interrupts: Option<u64>,
    /// Context switches since start: `ctxt`.
    pub context_switches: Option<u64>,
    /// When the machine started, in seconds since 1970-01-01 00:00 UTC: `btime`.
    ///
    /// It moves when the clock is set.
    pub boot_time: Option<u64>,
    /// Processes and threads created since start: `processes`.
    pub forks: Option<u64>,
    /// Threads that run or wait for a CPU now, including the reader: `procs_running`.
    pub running: Option<u64>,
    /// Threads that wait for a disk now: `procs_blocked`.
    pub blocked: Option<u64>,
    /// Soft interrupts served since start: the first number of `softirq`, since kernel 2.6.31.
    pub softirqs: Option<u64>,
}

/// The columns of a `cpu` line, in ticks since start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuTicks {
    /// Programs at normal priority, `guest` included.
    pub user: u64,
    /// Programs with a nice value above 0, `guest_nice` included.
    pub nice: u64,
    /// The kernel on behalf of programs and of itself.
    pub system: u64,
    /// Idle.
    pub idle: u64,
    /// Idle while a disk request of a thread of this CPU is pending, since kernel 2.5.41.
    pub iowait: Option<u64>,
    /// Interrupt handlers, since kernel 2.6.0.
    pub irq: Option<u64>,
    /// Soft interrupts, since kernel 2.6.0.
    pub softirq: Option<u64>,
    /// Time that the hypervisor gave to other machines although this one was runnable, since kernel 2.6.11.
    pub steal: Option<u64>,
    /// The part of `user` spent in virtual machines, since kernel 2.6.24.
    pub guest: Option<u64>,
    /// The part of `nice` spent in virtual machines, since kernel 2.6.33.
    pub guest_nice: Option<u64>,
}

impl CpuTicks {
    /// `user + nice`, which include `guest` and `guest_nice`.
    pub(crate) fn user_time(self) -> u64 {
        self.user.saturating_add(self.nice)
    }

    /// `system + irq + softirq`: NT's privileged time includes interrupts and deferred procedure calls.
    pub(crate) fn privileged_time(self) -> u64 {
        self.system.saturating_add(self.irq.unwrap_or(0)).saturating_add(self.softirq.unwrap_or(0))
    }
}

impl Stat {
    /// Parses the whole file.
    ///
    /// # Errors
    ///
    /// A known line with something else than numbers, a processor number above 2^32, or no `cpu` line.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Stat, ParseError> {
        let mut stat = Stat::default();
        let mut has_total = false;
        for line in lines(FILE, bytes) {
            let mut fields = line.fields();
            let Some(key) = fields.next_field() else { continue };
            match key {
                b"cpu" => {
                    stat.total = cpu_ticks(&mut fields)?;
                    has_total = true;
                }
                // Only the first number of these two is needed; the rest is one column per interrupt and can
                // be long.
                b"intr" => stat.interrupts = Some(fields.number("intr total")?),
                b"softirq" => stat.softirqs = Some(fields.number("softirq total")?),
                b"ctxt" => stat.context_switches = Some(fields.number("ctxt")?),
                b"btime" => stat.boot_time = Some(fields.number("btime")?),
                b"processes" => stat.forks = Some(fields.number("processes")?),
                b"procs_running" => stat.running = Some(fields.number("procs_running")?),
                b"procs_blocked" => stat.blocked = Some(fields.number("procs_blocked")?),
                _ => {
                    // Lines that newer kernels or vendors add are skipped, unless they look like a CPU.
                    let Some(number) = key.strip_prefix(b"cpu") else {
                        continue;
                    };
                    let cpu = super::scan::decimal(number)
                        .and_then(|number| u32::try_from(number).ok())
                        .ok_or_else(|| {
                            line.location.error("cpuN", "a processor number below 2^32", number)
                        })?;
                    stat.cpus.push((cpu, cpu_ticks(&mut fields)?));
                }
            }
        }
        if has_total { Ok(stat) } else { Err(ParseError::missing(FILE, "cpu", "a line with this key")) }
    }
}

fn cpu_ticks(fields: &mut Fields<'_>) -> Result<CpuTicks, ParseError> {
    Ok(CpuTicks {
        user: fields.number("user")?,
        nice: fields.number("nice")?,
        system: fields.number("system")?,
        idle: fields.number("idle")?,
        iowait: fields.number_if_any("iowait")?,
        irq: fields.number_if_any("irq")?,
        softirq: fields.number_if_any("softirq")?,
        steal: fields.number_if_any("steal")?,
        guest: fields.number_if_any("guest")?,
        guest_nice: fields.number_if_any("guest_nice")?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{check_damage, fixture};
    use super::*;

    fn idle_time(ticks: &CpuTicks) -> u64 {
        ticks.idle + ticks.iowait.unwrap_or(0)
    }

    #[test]
    fn current_kernel() {
        let stat = Stat::parse(&fixture("6.18/stat")).unwrap();
        assert_eq!(stat.cpus.iter().map(|(cpu, _)| *cpu).collect::<Vec<u32>>(), [0, 1]);
        assert!(stat.total.guest_nice.is_some());
        assert!(stat.interrupts.unwrap() > 0 && stat.softirqs.unwrap() > 0);
        assert!(stat.context_switches.unwrap() > stat.forks.unwrap());
        assert!(stat.running.unwrap() >= 1, "the reader itself runs");
        // The total and its parts are rounded down separately, one tick per column and CPU.
        let parts: u64 = stat.cpus.iter().map(|(_, ticks)| idle_time(ticks)).sum();
        assert!(idle_time(&stat.total).abs_diff(parts) <= 4);
    }

    #[test]
    fn kernel_without_guest_nice() {
        let stat = Stat::parse(&fixture("2.6.32/stat")).unwrap();
        let (cpu, ticks) = stat.cpus[1];
        assert_eq!(cpu, 2, "processor 1 is offline and has no line");
        assert_eq!((ticks.steal, ticks.guest, ticks.guest_nice), (Some(0), Some(311), None));
        assert_eq!(ticks.user_time(), 52_140 + 1_022);
        assert_eq!(ticks.privileged_time(), 20_411 + 17 + 902);
        assert_eq!(idle_time(&ticks), 9_120_402 + 3_301);
        assert_eq!(stat.boot_time, Some(1_262_304_000));
        assert_eq!(stat.blocked, Some(1));
    }

    #[test]
    fn four_columns_and_nothing_else() {
        let stat = Stat::parse(b"cpu 1 2 3 4\n").unwrap();
        assert_eq!((idle_time(&stat.total), stat.total.privileged_time()), (4, 3));
        assert_eq!((stat.total.iowait, stat.context_switches), (None, None));
    }

    #[test]
    fn errors() {
        for (text, message) in [
            ("", "/proc/stat: cpu: needed a line with this key, found nothing"),
            ("cpu 1 2 3\n", "/proc/stat line 1: idle: needed a decimal number below 2^64, found nothing"),
            (
                "cpu 1 2 3 4\ncpux 1 2 3 4\n",
                "/proc/stat line 2: cpuN: needed a processor number below 2^32, found \"x\"",
            ),
            (
                "cpu 1 2 3 4 -5\n",
                "/proc/stat line 1: iowait: needed a decimal number below 2^64, found \"-5\"",
            ),
            (
                "cpu 1 2 3 4\nctxt\n",
                "/proc/stat line 2: ctxt: needed a decimal number below 2^64, found nothing",
            ),
        ] {
            assert_eq!(Stat::parse(text.as_bytes()).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn damaged_files_do_not_panic() {
        check_damage("6.18/stat", Stat::parse);
        check_damage("2.6.32/stat", Stat::parse);
    }
}
