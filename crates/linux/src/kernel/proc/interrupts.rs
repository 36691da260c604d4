//! `/proc/interrupts`: interrupts by source and CPU. Only the sums per CPU are kept.

use super::error::ParseError;
use super::scan::{Fields, decimal, lines};
use super::softirqs::{cpu_columns, low_32};

const FILE: &str = "/proc/interrupts";

/// The sums of `/proc/interrupts`, one number per online CPU.
///
/// The kernel counts in 32 bits per source, so every number here is modulo 2^32, and differences have to
/// wrap. NT's own counter has the same width.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Interrupts {
    /// The CPUs of the columns; offline CPUs have none.
    pub cpus: Vec<u32>,
    /// Interrupts of all sources, including those between CPUs and of the local timer.
    ///
    /// The row `TLB` is left out, because `CAL` includes it. In kernels 3.7 to 4.8 it does not, and the sum
    /// lacks the row `TLB`.
    pub totals: Vec<u32>,
    /// Interrupts of the local timer: the row `LOC` on x86 and PowerPC, `arch_timer` on ARM. `None` when
    /// there is no such row.
    pub clock: Option<Vec<u32>>,
}

impl Interrupts {
    /// Parses the whole file. Rows without one number per CPU (`ERR`, `MIS`) are skipped.
    ///
    /// # Errors
    ///
    /// There is no header with CPUs. Rows have no fixed form, so malformed rows are skipped.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Interrupts, ParseError> {
        let mut lines = lines(FILE, bytes);
        let header = lines.next().ok_or_else(|| ParseError::missing(FILE, "CPUn", "a header"))?;
        let cpus = cpu_columns(header)?;
        let mut totals = vec![0_u32; cpus.len()];
        let mut clock: Option<Vec<u32>> = None;
        let mut row = Vec::with_capacity(cpus.len());
        for line in lines {
            let Some((name, mut fields)) = line.key_and_fields() else {
                continue;
            };
            // With one CPU, the row of errors looks like an interrupt source.
            if matches!(name, b"ERR" | b"Err" | b"MIS" | b"TLB")
                || !read_row(&mut fields, cpus.len(), &mut row)
            {
                continue;
            }
            add(&mut totals, &row);
            if name == b"LOC" || fields.rest().trim_ascii_end().ends_with(b" arch_timer") {
                add(clock.get_or_insert_with(|| vec![0; cpus.len()]), &row);
            }
        }
        Ok(Interrupts { cpus, totals, clock })
    }
}

/// Reads one number per CPU into `row`; false when the line has fewer.
fn read_row(fields: &mut Fields<'_>, n_cpus: usize, row: &mut Vec<u32>) -> bool {
    row.clear();
    while row.len() < n_cpus {
        match fields.next_field().and_then(decimal) {
            Some(number) => row.push(low_32(number)),
            None => return false,
        }
    }
    true
}

fn add(sums: &mut [u32], row: &[u32]) {
    for (sum, number) in sums.iter_mut().zip(row) {
        // The kernel's numbers wrap, and so does their sum: it stays correct modulo 2^32.
        *sum = sum.wrapping_add(*number);
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{check_damage, fixture};
    use super::super::stat::Stat;
    use super::*;

    #[test]
    fn sum_is_the_total_of_proc_stat() {
        let interrupts = Interrupts::parse(&fixture("6.18/interrupts")).unwrap();
        assert_eq!(interrupts.cpus, [0, 1]);
        let sum: u64 = interrupts.totals.iter().copied().map(u64::from).sum();
        // Both files were captured without an interrupt in between. Adding the row TLB would be wrong by tens
        // of thousands.
        let stat = Stat::parse(&fixture("6.18/stat")).unwrap();
        assert_eq!(stat.interrupts, Some(sum));
        let clock: u64 = interrupts.clock.unwrap().into_iter().map(u64::from).sum();
        assert!(clock > 0 && clock < sum);
    }

    #[test]
    fn arm_with_an_offline_processor() {
        let interrupts = Interrupts::parse(&fixture("5.10-arm64/interrupts")).unwrap();
        assert_eq!(interrupts.cpus, [0, 2, 3]);
        assert_eq!(interrupts.clock, Some(vec![1_204_410, 988_012, 871_102]));
        assert_eq!(
            interrupts.totals,
            [1_204_410 + 52_101 + 40_122 + 801 + 12, 988_012 + 39_004 + 702 + 3, 871_102 + 41_870 + 655]
        );
    }

    #[test]
    fn errors_and_rows_of_one_processor() {
        let interrupts =
            Interrupts::parse(b" CPU0\n 0: 5 edge timer\nTLB: 2 TLB shootdowns\nERR: 7\nMIS: 8\nnoise\n")
                .unwrap();
        assert_eq!((interrupts.totals, interrupts.clock), (vec![5], None));
        let interrupts = Interrupts::parse(b"CPU0 CPU1\nLOC: 4294967295 1 x\nRES: 3 y\nCAL: 2 2\n").unwrap();
        assert_eq!(interrupts.totals, [1, 3], "the row without two numbers does not count");
        assert_eq!(
            Interrupts::parse(b"").unwrap_err().to_string(),
            "/proc/interrupts: CPUn: needed a header, found nothing"
        );
    }

    #[test]
    fn damaged_files_do_not_panic() {
        check_damage("6.18/interrupts", Interrupts::parse);
        check_damage("5.10-arm64/interrupts", Interrupts::parse);
    }
}
