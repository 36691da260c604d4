//! `/proc/vmstat`: counters of the memory manager, one `name value` per line.
//!
//! Which names exist depends on the kernel's version and configuration, so every field is an `Option`. Counts
//! are since boot; most are pages, `pgpgin` and `pgpgout` are KiB.

use super::error::ParseError;
use super::scan::lines;

const FILE: &str = "/proc/vmstat";

/// The names of the kernel's memory zones as they end a counter's name.
const ZONES: [&[u8]; 6] = [b"dma", b"dma32", b"normal", b"high", b"movable", b"device"];

/// The counters of `/proc/vmstat` that performance objects use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct VmStat {
    /// `pgfault`: page faults, minor and major.
    pub faults: Option<u64>,
    /// `pgmajfault`: page faults that had to read from a disk.
    pub major_faults: Option<u64>,
    /// `pgpgin`: KiB read from block devices, whatever for.
    pub read_kib: Option<u64>,
    /// `pgpgout`: KiB written to block devices, whatever for.
    pub written_kib: Option<u64>,
    /// `pswpin`: pages read from swap areas.
    pub swapped_in: Option<u64>,
    /// `pswpout`: pages written to swap areas.
    pub swapped_out: Option<u64>,
    /// `nr_vmscan_write`: pages handed to swap in order to reclaim them. They include those of `pswpout`, and
    /// those that were compressed or are all zeros; older kernels also count file pages.
    pub reclaim_writes: Option<u64>,
    /// `workingset_refault_file` (since kernel 5.9), before that `workingset_refault` (since kernel 3.15):
    /// file pages that were read again soon after they were reclaimed.
    pub file_refaults: Option<u64>,
    /// `workingset_refault_anon`, since kernel 5.9.
    pub anon_refaults: Option<u64>,
    /// `workingset_restore_file`, since kernel 5.9: refaults of pages that had been in active use.
    pub file_restores: Option<u64>,
    /// `pgsteal_kswapd`: pages reclaimed by the background thread. Before kernel 4.8 the sum over the zones.
    pub stolen_by_kswapd: Option<u64>,
    /// `pgsteal_direct`: pages reclaimed by the program that needed memory. Before kernel 4.8 the sum over
    /// the zones.
    pub stolen_directly: Option<u64>,
    /// `pgsteal_khugepaged`, since kernel 6.2.
    pub stolen_by_khugepaged: Option<u64>,
    /// `pgsteal_proactive`, since kernel 6.15: requested through `memory.reclaim`.
    pub stolen_proactively: Option<u64>,
    /// `pgscan_kswapd`: pages scanned by the background thread. Before kernel 4.8 the sum over the zones.
    pub scanned_by_kswapd: Option<u64>,
    /// `pgscan_direct`: pages scanned by the program that needed memory. Before kernel 4.8 the sum over the
    /// zones.
    pub scanned_directly: Option<u64>,
    /// `allocstall`: programs had to wait for memory. From kernel 4.9 the sum over the zones.
    pub allocation_stalls: Option<u64>,
    /// `oom_kill`: processes killed because memory ran out, since kernel 4.13.
    pub oom_kills: Option<u64>,
    /// `cow_ksm`: copies of merged pages; newer kernels only.
    pub ksm_copies: Option<u64>,
    /// `zswpin`: pages decompressed, since kernel 5.19.
    pub zswap_in: Option<u64>,
    /// `zswpout`: pages compressed, since kernel 5.19.
    pub zswap_out: Option<u64>,
    /// `thp_fault_alloc`: huge pages given at a page fault, since kernel 2.6.39.
    pub huge_fault_allocations: Option<u64>,
    /// `thp_collapse_alloc`: huge pages made from small ones, since kernel 2.6.39.
    pub huge_collapse_allocations: Option<u64>,
    /// `thp_split_page`: huge pages split, since kernel 4.5.
    pub huge_splits: Option<u64>,
    /// `compact_stall`: programs had to wait for memory to be compacted, since kernel 2.6.35.
    pub compaction_stalls: Option<u64>,
    /// `compact_success`, since kernel 2.6.35.
    pub compaction_successes: Option<u64>,
    /// `compact_fail`, since kernel 2.6.35.
    pub compaction_failures: Option<u64>,
    /// `balloon_inflate`: pages given to the hypervisor, since kernel 3.18.
    pub balloon_inflated: Option<u64>,
    /// `balloon_deflate`: pages taken back from the hypervisor, since kernel 3.18.
    pub balloon_deflated: Option<u64>,
}

impl VmStat {
    /// Parses the whole file; other names are skipped.
    ///
    /// # Errors
    ///
    /// A known name without a number.
    pub(crate) fn parse(bytes: &[u8]) -> Result<VmStat, ParseError> {
        let mut stat = VmStat::default();
        let mut old_refaults = None;
        for line in lines(FILE, bytes) {
            let mut fields = line.fields();
            let Some(name) = fields.next_field() else { continue };
            if let Some((slot, column)) = stat.slot(name) {
                *slot = Some(fields.number(column)?);
            } else if let Some((slot, column)) = stat.zone_slot(name) {
                let number = fields.number(column)?;
                // A sum of counters wraps as each of them does.
                *slot = Some(slot.unwrap_or(0).wrapping_add(number));
            } else if name == b"workingset_refault" {
                old_refaults = Some(fields.number("workingset_refault")?);
            }
        }
        stat.file_refaults = stat.file_refaults.or(old_refaults);
        Ok(stat)
    }

    /// All reclaimed pages; `None` when the kernel counts none of them.
    ///
    /// `pgsteal_anon` and `pgsteal_file` split the same pages in another way.
    pub(crate) fn stolen(&self) -> Option<u64> {
        [self.stolen_by_kswapd, self.stolen_directly, self.stolen_by_khugepaged, self.stolen_proactively]
            .into_iter()
            .flatten()
            .reduce(u64::wrapping_add)
    }

    fn slot(&mut self, name: &[u8]) -> Option<(&mut Option<u64>, &'static str)> {
        Some(match name {
            b"pgfault" => (&mut self.faults, "pgfault"),
            b"pgmajfault" => (&mut self.major_faults, "pgmajfault"),
            b"pgpgin" => (&mut self.read_kib, "pgpgin"),
            b"pgpgout" => (&mut self.written_kib, "pgpgout"),
            b"pswpin" => (&mut self.swapped_in, "pswpin"),
            b"pswpout" => (&mut self.swapped_out, "pswpout"),
            b"nr_vmscan_write" => (&mut self.reclaim_writes, "nr_vmscan_write"),
            b"workingset_refault_file" => (&mut self.file_refaults, "workingset_refault_file"),
            b"workingset_refault_anon" => (&mut self.anon_refaults, "workingset_refault_anon"),
            b"workingset_restore_file" => (&mut self.file_restores, "workingset_restore_file"),
            b"pgsteal_kswapd" => (&mut self.stolen_by_kswapd, "pgsteal_kswapd"),
            b"pgsteal_direct" => (&mut self.stolen_directly, "pgsteal_direct"),
            b"pgsteal_khugepaged" => (&mut self.stolen_by_khugepaged, "pgsteal_khugepaged"),
            b"pgsteal_proactive" => (&mut self.stolen_proactively, "pgsteal_proactive"),
            b"pgscan_kswapd" => (&mut self.scanned_by_kswapd, "pgscan_kswapd"),
            b"pgscan_direct" => (&mut self.scanned_directly, "pgscan_direct"),
            b"allocstall" => (&mut self.allocation_stalls, "allocstall"),
            b"oom_kill" => (&mut self.oom_kills, "oom_kill"),
            b"cow_ksm" => (&mut self.ksm_copies, "cow_ksm"),
            b"zswpin" => (&mut self.zswap_in, "zswpin"),
            b"zswpout" => (&mut self.zswap_out, "zswpout"),
            b"thp_fault_alloc" => (&mut self.huge_fault_allocations, "thp_fault_alloc"),
            b"thp_collapse_alloc" => (&mut self.huge_collapse_allocations, "thp_collapse_alloc"),
            b"thp_split_page" => (&mut self.huge_splits, "thp_split_page"),
            b"compact_stall" => (&mut self.compaction_stalls, "compact_stall"),
            b"compact_success" => (&mut self.compaction_successes, "compact_success"),
            b"compact_fail" => (&mut self.compaction_failures, "compact_fail"),
            b"balloon_inflate" => (&mut self.balloon_inflated, "balloon_inflate"),
            b"balloon_deflate" => (&mut self.balloon_deflated, "balloon_deflate"),
            _ => return None,
        })
    }

    /// Counters that some kernels print once per zone, as `pgsteal_kswapd_normal`.
    fn zone_slot(&mut self, name: &[u8]) -> Option<(&mut Option<u64>, &'static str)> {
        // The zone is compared, because `pgscan_direct_throttle` is another counter.
        let (stem, zone) = super::scan::split_at_last_byte(name, b'_')?;
        if !ZONES.contains(&zone) {
            return None;
        }
        Some(match stem {
            b"pgsteal_kswapd" => (&mut self.stolen_by_kswapd, "pgsteal_kswapd_ZONE"),
            b"pgsteal_direct" => (&mut self.stolen_directly, "pgsteal_direct_ZONE"),
            b"pgscan_kswapd" => (&mut self.scanned_by_kswapd, "pgscan_kswapd_ZONE"),
            b"pgscan_direct" => (&mut self.scanned_directly, "pgscan_direct_ZONE"),
            b"allocstall" => (&mut self.allocation_stalls, "allocstall_ZONE"),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{check_damage, fixture};
    use super::*;

    #[test]
    fn current_kernel() {
        let stat = VmStat::parse(&fixture("6.18/vmstat")).unwrap();
        assert!(stat.faults.unwrap() > stat.major_faults.unwrap());
        assert!(stat.read_kib.unwrap() > 0 && stat.file_refaults.unwrap() > 0);
        assert_eq!((stat.allocation_stalls, stat.stolen()), (Some(0), Some(0)));
        assert_eq!((stat.stolen_proactively, stat.zswap_in, stat.oom_kills), (Some(0), Some(0), Some(0)));
    }

    #[test]
    fn kernel_that_counts_by_zone() {
        let stat = VmStat::parse(&fixture("3.10/vmstat")).unwrap();
        assert_eq!(stat.stolen_by_kswapd, Some(20_101 + 610_220 + 3));
        assert_eq!(stat.stolen_directly, Some(512 + 77));
        assert_eq!(stat.scanned_directly, Some(600 + 90), "pgscan_direct_throttle is not a zone");
        assert_eq!(stat.stolen(), Some(20_101 + 610_220 + 3 + 512 + 77));
        assert_eq!(stat.allocation_stalls, Some(31));
        assert_eq!((stat.file_refaults, stat.oom_kills, stat.zswap_out), (None, None, None));
    }

    #[test]
    fn refaults_before_they_were_split() {
        let stat = VmStat::parse(b"workingset_refault 7\n").unwrap();
        assert_eq!((stat.file_refaults, stat.stolen()), (Some(7), None));
        let stat = VmStat::parse(b"workingset_refault_file 8\nworkingset_refault 7\n").unwrap();
        assert_eq!(stat.file_refaults, Some(8));
    }

    #[test]
    fn errors() {
        for (text, message) in [
            ("pgfault\n", "/proc/vmstat line 1: pgfault: needed a decimal number below 2^64, found nothing"),
            (
                "unknown x\npgsteal_direct_high 1.5\n",
                "/proc/vmstat line 2: pgsteal_direct_ZONE: needed a decimal number below 2^64, found \"1.5\"",
            ),
        ] {
            assert_eq!(VmStat::parse(text.as_bytes()).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn damaged_files_do_not_panic() {
        check_damage("6.18/vmstat", VmStat::parse);
        check_damage("3.10/vmstat", VmStat::parse);
    }
}
