//! `/proc/softirqs`: soft interrupts by kind and CPU; NT's deferred procedure calls are closest to them.

use super::error::ParseError;
use super::scan::{Line, decimal, lines};

const FILE: &str = "/proc/softirqs";

/// The content of `/proc/softirqs`.
///
/// The kernel counts in 32 bits, so every number here is modulo 2^32, and differences have to wrap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Softirqs<'a> {
    /// The CPUs of the columns: all possible ones, including offline ones.
    pub cpus: Vec<u32>,
    /// The sum over all kinds, one number per column.
    pub totals: Vec<u32>,
    /// The kinds in the order of the file.
    pub kinds: Vec<SoftirqKind<'a>>,
}

/// One row of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SoftirqKind<'a> {
    /// The kernel's name, for example `NET_RX`.
    pub name: &'a [u8],
    /// The sum over all CPUs, modulo 2^32.
    pub total: u32,
}

impl<'a> Softirqs<'a> {
    /// Parses the whole file.
    ///
    /// # Errors
    ///
    /// No header with CPUs, or a row with fewer numbers than the header has CPUs.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Softirqs<'a>, ParseError> {
        let mut lines = lines(FILE, bytes);
        let header = lines.next().ok_or_else(|| ParseError::missing(FILE, "CPUn", "a header"))?;
        let cpus = cpu_columns(header)?;
        let mut totals = vec![0_u32; cpus.len()];
        let mut kinds = Vec::new();
        for line in lines {
            let Some((name, mut fields)) = line.key_and_fields() else {
                continue;
            };
            let mut total = 0_u32;
            for sum in &mut totals {
                let number = low_32(fields.number("count per processor")?);
                *sum = sum.wrapping_add(number);
                total = total.wrapping_add(number);
            }
            kinds.push(SoftirqKind { name, total });
        }
        Ok(Softirqs { cpus, totals, kinds })
    }
}

/// The CPU numbers of a header `CPU0 CPU1 ...`; `/proc/interrupts` has the same header.
pub(super) fn cpu_columns(header: Line<'_>) -> Result<Vec<u32>, ParseError> {
    let mut cpus = Vec::new();
    let mut fields = header.fields();
    while let Some(field) = fields.next_field() {
        let cpu = field
            .strip_prefix(b"CPU")
            .and_then(decimal)
            .and_then(|number| u32::try_from(number).ok())
            .ok_or_else(|| header.location.error("CPUn", "CPU and a number below 2^32", field))?;
        cpus.push(cpu);
    }
    if cpus.is_empty() {
        return Err(header.location.error("CPUn", "at least one processor", header.bytes));
    }
    Ok(cpus)
}

/// The number modulo 2^32, the width in which the kernel counts.
pub(super) fn low_32(number: u64) -> u32 {
    u32::try_from(number & u64::from(u32::MAX)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{check_damage, fixture};
    use super::super::stat::Stat;
    use super::*;

    #[test]
    fn sums_are_the_total_of_proc_stat() {
        let bytes = fixture("6.18/softirqs");
        let softirqs = Softirqs::parse(&bytes).unwrap();
        assert_eq!(softirqs.cpus, [0, 1]);
        let names: Vec<&[u8]> = softirqs.kinds.iter().map(|kind| kind.name).collect();
        assert_eq!(names.first(), Some(&&b"HI"[..]));
        assert_eq!(names.last(), Some(&&b"RCU"[..]));
        let by_cpu: u64 = softirqs.totals.iter().copied().map(u64::from).sum();
        let by_kind: u64 = softirqs.kinds.iter().map(|kind| u64::from(kind.total)).sum();
        assert_eq!(by_cpu, by_kind);
        // Both files were captured without a soft interrupt in between.
        let stat = Stat::parse(&fixture("6.18/stat")).unwrap();
        assert_eq!(stat.softirqs, Some(by_cpu));
    }

    #[test]
    fn sums_wrap_at_32_bits() {
        let softirqs = Softirqs::parse(b"  CPU0 CPU3\nHI: 4294967295 1\nTIMER: 2 4294967298\n").unwrap();
        assert_eq!(softirqs.cpus, [0, 3]);
        assert_eq!(softirqs.totals, [1, 3]);
        assert_eq!(softirqs.kinds.iter().map(|kind| kind.total).collect::<Vec<u32>>(), [0, 4]);
    }

    #[test]
    fn errors() {
        for (text, message) in [
            ("", "/proc/softirqs: CPUn: needed a header, found nothing"),
            ("  \nHI: 1\n", "/proc/softirqs line 1: CPUn: needed at least one processor, found \"  \""),
            (
                "CPU0 cpu1\n",
                "/proc/softirqs line 1: CPUn: needed CPU and a number below 2^32, found \"cpu1\"",
            ),
            (
                "CPU0 CPU1\nHI: 1\n",
                "/proc/softirqs line 2: count per processor: needed a decimal number below 2^64, found \
                    nothing",
            ),
        ] {
            assert_eq!(Softirqs::parse(text.as_bytes()).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn damaged_files_do_not_panic() {
        check_damage("6.18/softirqs", |bytes| Softirqs::parse(bytes).map(|softirqs| softirqs.totals));
    }
}
