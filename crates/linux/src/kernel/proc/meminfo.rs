//! `/proc/meminfo`: the size and use of memory.
//!
//! Every size is in KiB, which the file calls `kB`; `kib_to_bytes` turns it into bytes.

use super::error::ParseError;
use super::scan::lines;

const FILE: &str = "/proc/meminfo";

/// The content of `/proc/meminfo`, in KiB unless the field says otherwise.
///
/// Only `total` and `free` are required. Every other line is an `Option`, because it depends on the kernel,
/// its configuration, and on runtimes that imitate the file for a container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemInfo {
    /// `MemTotal`: memory the kernel manages.
    pub total: u64,
    /// `MemFree`: unused memory.
    pub free: u64,
    /// `MemAvailable`: the kernel's estimate of what programs can get without swapping, since kernel 3.14.
    pub available: Option<u64>,
    /// `Buffers`: cached blocks of block devices.
    pub buffers: Option<u64>,
    /// `Cached`: cached files, shared memory included, without `swap_cached`.
    pub cached: Option<u64>,
    /// `SwapCached`: pages that are in memory and in a swap area.
    pub swap_cached: Option<u64>,
    /// `Active(anon)`, since kernel 2.6.28.
    pub active_anon: Option<u64>,
    /// `Inactive(anon)`, since kernel 2.6.28.
    pub inactive_anon: Option<u64>,
    /// `Active(file)`, since kernel 2.6.28.
    pub active_file: Option<u64>,
    /// `Inactive(file)`, since kernel 2.6.28.
    pub inactive_file: Option<u64>,
    /// `Unevictable`: pages that cannot be reclaimed, since kernel 2.6.28.
    pub unevictable: Option<u64>,
    /// `Mlocked`, since kernel 2.6.28.
    pub mlocked: Option<u64>,
    /// `SwapTotal`.
    pub swap_total: Option<u64>,
    /// `SwapFree`.
    pub swap_free: Option<u64>,
    /// `Zswap`: memory that compressed pages take, since kernel 5.19.
    pub zswap: Option<u64>,
    /// `Zswapped`: the size of those pages before compression, since kernel 5.19.
    pub zswapped: Option<u64>,
    /// `Dirty`: waits to be written.
    pub dirty: Option<u64>,
    /// `Writeback`: is being written.
    pub writeback: Option<u64>,
    /// `AnonPages`: memory of programs that belongs to no file, since kernel 2.6.18.
    pub anon_pages: Option<u64>,
    /// `Mapped`: files mapped into programs.
    pub mapped: Option<u64>,
    /// `Shmem`: shared memory and files in memory, since kernel 2.6.32.
    pub shmem: Option<u64>,
    /// `KReclaimable`: kernel memory that can be reclaimed under pressure, since kernel 4.20.
    pub kernel_reclaimable: Option<u64>,
    /// `Slab`: the kernel's own structures.
    pub slab: Option<u64>,
    /// `SReclaimable`: the part of `slab` that can be reclaimed, since kernel 2.6.19.
    pub slab_reclaimable: Option<u64>,
    /// `SUnreclaim`: the part of `slab` that cannot be reclaimed, since kernel 2.6.19.
    pub slab_unreclaimable: Option<u64>,
    /// `KernelStack`, since kernel 2.6.32.
    pub kernel_stack: Option<u64>,
    /// `PageTables`, since kernel 2.6.18.
    pub page_tables: Option<u64>,
    /// `SecPageTables`: page tables of virtual machines and I/O, since kernel 6.1.
    pub secondary_page_tables: Option<u64>,
    /// `CommitLimit`: what could be promised to programs; enforced only with `vm.overcommit_memory` 2.
    pub commit_limit: Option<u64>,
    /// `Committed_AS`: what is promised to programs; may exceed the limit.
    pub committed: Option<u64>,
    /// `VmallocTotal`: size of the kernel's area of mapped memory.
    pub vmalloc_total: Option<u64>,
    /// `VmallocUsed`; always 0 from kernel 4.4 to 5.2.
    pub vmalloc_used: Option<u64>,
    /// `Percpu`: memory with one copy per CPU, since kernel 4.19.
    pub per_cpu: Option<u64>,
    /// `AnonHugePages`: anonymous memory in huge pages, since kernel 2.6.38.
    pub anon_huge_pages: Option<u64>,
    /// `HugePages_Total`: a number of pages.
    pub huge_pages_total: Option<u64>,
    /// `HugePages_Free`: a number of pages.
    pub huge_pages_free: Option<u64>,
    /// `HugePages_Rsvd`: a number of pages, since kernel 2.6.17.
    pub huge_pages_reserved: Option<u64>,
    /// `HugePages_Surp`: a number of pages, since kernel 2.6.24.
    pub huge_pages_surplus: Option<u64>,
    /// `Hugepagesize`: the size of one.
    pub huge_page_size: Option<u64>,
}

impl MemInfo {
    /// Parses the whole file; lines with other keys are skipped.
    ///
    /// # Errors
    ///
    /// A known key without a number, or no `MemTotal` or `MemFree`.
    pub(crate) fn parse(bytes: &[u8]) -> Result<MemInfo, ParseError> {
        let mut info = MemInfo::default();
        let mut total = None;
        let mut free = None;
        for line in lines(FILE, bytes) {
            let Some((key, mut fields)) = line.key_and_fields() else {
                continue;
            };
            let (slot, column) = match key {
                b"MemTotal" => (&mut total, "MemTotal"),
                b"MemFree" => (&mut free, "MemFree"),
                _ => match info.slot(key) {
                    Some(slot) => slot,
                    None => continue,
                },
            };
            *slot = Some(fields.number(column)?);
        }
        let needed = "a line with this key";
        info.total = total.ok_or_else(|| ParseError::missing(FILE, "MemTotal", needed))?;
        info.free = free.ok_or_else(|| ParseError::missing(FILE, "MemFree", needed))?;
        Ok(info)
    }

    /// `Cached + Buffers - Shmem`: cached files alone, at least 0. `None` when the kernel prints no `Cached`.
    pub(crate) fn file_cache(&self) -> Option<u64> {
        let cached = self.cached?.saturating_add(self.buffers.unwrap_or(0));
        Some(cached.saturating_sub(self.shmem.unwrap_or(0)))
    }

    fn slot(&mut self, key: &[u8]) -> Option<(&mut Option<u64>, &'static str)> {
        Some(match key {
            b"MemAvailable" => (&mut self.available, "MemAvailable"),
            b"Buffers" => (&mut self.buffers, "Buffers"),
            b"Cached" => (&mut self.cached, "Cached"),
            b"SwapCached" => (&mut self.swap_cached, "SwapCached"),
            b"Active(anon)" => (&mut self.active_anon, "Active(anon)"),
            b"Inactive(anon)" => (&mut self.inactive_anon, "Inactive(anon)"),
            b"Active(file)" => (&mut self.active_file, "Active(file)"),
            b"Inactive(file)" => (&mut self.inactive_file, "Inactive(file)"),
            b"Unevictable" => (&mut self.unevictable, "Unevictable"),
            b"Mlocked" => (&mut self.mlocked, "Mlocked"),
            b"SwapTotal" => (&mut self.swap_total, "SwapTotal"),
            b"SwapFree" => (&mut self.swap_free, "SwapFree"),
            b"Zswap" => (&mut self.zswap, "Zswap"),
            b"Zswapped" => (&mut self.zswapped, "Zswapped"),
            b"Dirty" => (&mut self.dirty, "Dirty"),
            b"Writeback" => (&mut self.writeback, "Writeback"),
            b"AnonPages" => (&mut self.anon_pages, "AnonPages"),
            b"Mapped" => (&mut self.mapped, "Mapped"),
            b"Shmem" => (&mut self.shmem, "Shmem"),
            b"KReclaimable" => (&mut self.kernel_reclaimable, "KReclaimable"),
            b"Slab" => (&mut self.slab, "Slab"),
            b"SReclaimable" => (&mut self.slab_reclaimable, "SReclaimable"),
            b"SUnreclaim" => (&mut self.slab_unreclaimable, "SUnreclaim"),
            b"KernelStack" => (&mut self.kernel_stack, "KernelStack"),
            b"PageTables" => (&mut self.page_tables, "PageTables"),
            b"SecPageTables" => (&mut self.secondary_page_tables, "SecPageTables"),
            b"CommitLimit" => (&mut self.commit_limit, "CommitLimit"),
            b"Committed_AS" => (&mut self.committed, "Committed_AS"),
            b"VmallocTotal" => (&mut self.vmalloc_total, "VmallocTotal"),
            b"VmallocUsed" => (&mut self.vmalloc_used, "VmallocUsed"),
            b"Percpu" => (&mut self.per_cpu, "Percpu"),
            b"AnonHugePages" => (&mut self.anon_huge_pages, "AnonHugePages"),
            b"HugePages_Total" => (&mut self.huge_pages_total, "HugePages_Total"),
            b"HugePages_Free" => (&mut self.huge_pages_free, "HugePages_Free"),
            b"HugePages_Rsvd" => (&mut self.huge_pages_reserved, "HugePages_Rsvd"),
            b"HugePages_Surp" => (&mut self.huge_pages_surplus, "HugePages_Surp"),
            b"Hugepagesize" => (&mut self.huge_page_size, "Hugepagesize"),
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
        let info = MemInfo::parse(&fixture("6.18/meminfo")).unwrap();
        assert_eq!(info.total, 24_684_092);
        assert!(info.free <= info.total && info.available.unwrap() <= info.total);
        assert_eq!(info.slab, Some(info.slab_reclaimable.unwrap() + info.slab_unreclaimable.unwrap()));
        assert_eq!(info.vmalloc_total, Some(34_359_738_367));
        assert_eq!(info.huge_page_size, Some(2048));
        assert_eq!(info.zswap, Some(0));
    }

    #[test]
    fn kernel_without_available() {
        let info = MemInfo::parse(&fixture("3.10/meminfo")).unwrap();
        assert_eq!((info.available, info.kernel_reclaimable, info.per_cpu), (None, None, None));
        assert_eq!((info.total, info.free), (1_012_292, 101_540));
        assert_eq!(info.file_cache(), Some(602_112 + 2_108 - 6_812));
        assert_eq!((info.committed, info.commit_limit), (Some(2_901_232), Some(2_603_286)));
    }

    #[test]
    fn more_shared_memory_than_cache_is_no_cache() {
        let info = MemInfo::parse(b"MemTotal: 9 kB\nMemFree: 1 kB\nCached: 2 kB\nShmem: 3 kB\n").unwrap();
        assert_eq!(info.file_cache(), Some(0));
        let info = MemInfo::parse(b"MemTotal: 9 kB\nMemFree: 1 kB\n").unwrap();
        assert_eq!(info.file_cache(), None);
    }

    #[test]
    fn errors() {
        for (text, message) in [
            ("MemFree: 1 kB\n", "/proc/meminfo: MemTotal: needed a line with this key, found nothing"),
            ("MemTotal: 1 kB\n", "/proc/meminfo: MemFree: needed a line with this key, found nothing"),
            (
                "MemTotal: 1 kB\nMemFree: 1 kB\nDirty: kB\n",
                "/proc/meminfo line 3: Dirty: needed a decimal number below 2^64, found \"kB\"",
            ),
        ] {
            assert_eq!(MemInfo::parse(text.as_bytes()).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn damaged_files_do_not_panic() {
        check_damage("6.18/meminfo", MemInfo::parse);
        check_damage("3.10/meminfo", MemInfo::parse);
    }
}
