//! Page Cache and Memory Extended: memory counters of Linux besides those of NT.

use super::spec::rows;
use super::table::Table;

rows! { CACHE_COUNTERS, CACHE_ORIGINS {
    902_002 PERF_COUNTER_LARGE_RAWCOUNT -6 NOVICE: E "/proc/vmstat:nr_file_pages * page";
    902_004 PERF_COUNTER_LARGE_RAWCOUNT -6 ADVANCED: E "/proc/vmstat:nr_mapped * page";
    902_006 PERF_COUNTER_LARGE_RAWCOUNT -6 ADVANCED: E "/proc/vmstat:nr_shmem * page" "2.6.32";
    902_008 PERF_COUNTER_LARGE_RAWCOUNT -6 ADVANCED: E "/proc/vmstat:nr_dirty * page";
    902_010 PERF_COUNTER_LARGE_RAWCOUNT -6 ADVANCED: E "/proc/vmstat:nr_writeback * page";
    902_012 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/vmstat:nr_dirtied" "2.6.37";
    902_014 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/vmstat:nr_written" "2.6.37";
    902_016 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/vmstat:nr_throttled_written" "5.16";
    902_018 PERF_COUNTER_BULK_COUNT 0 ADVANCED:
        E "/proc/vmstat:workingset_refault_file | /proc/vmstat:workingset_refault" "3.15";
    902_020 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/vmstat:workingset_refault_anon" "5.9";
    902_022 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/vmstat:pgactivate";
    902_024 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/vmstat:pgdeactivate";
    902_026 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/vmstat:pgscan_kswapd" "4.8";
    902_028 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/vmstat:pgscan_direct" "4.8";
    902_030 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/vmstat:pgsteal_kswapd" "4.8";
    902_032 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/vmstat:pgsteal_direct" "4.8";
    902_034 PERF_COUNTER_LARGE_RAWCOUNT 0 EXPERT: E "/proc/vmstat:drop_pagecache" "3.15";
    902_036 PERF_COUNTER_LARGE_RAWCOUNT 0 EXPERT: E "/proc/vmstat:drop_slab" "3.15";
}}

rows! { MEMORY_COUNTERS, MEMORY_ORIGINS {
    903_402 PERF_COUNTER_LARGE_RAWCOUNT -6 NOVICE: E "/proc/meminfo:SReclaimable * 1024";
    903_404 PERF_COUNTER_LARGE_RAWCOUNT -6 NOVICE: E "/proc/meminfo:SUnreclaim * 1024";
    903_406 PERF_COUNTER_LARGE_RAWCOUNT -6 ADVANCED: E "/proc/meminfo:KernelStack * 1024" "2.6.32";
    903_408 PERF_COUNTER_LARGE_RAWCOUNT -6 ADVANCED: E "/proc/meminfo:PageTables * 1024";
    903_410 PERF_COUNTER_LARGE_RAWCOUNT -6 ADVANCED: E "/proc/meminfo:AnonHugePages * 1024" "2.6.38";
    903_412 PERF_COUNTER_LARGE_RAWCOUNT 0 ADVANCED: E "/proc/meminfo:HugePages_Total";
    903_414 PERF_COUNTER_LARGE_RAWCOUNT 0 ADVANCED: E "/proc/meminfo:HugePages_Free";
    903_416 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/vmstat:thp_fault_alloc" "2.6.39";
    903_418 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/vmstat:thp_fault_fallback" "2.6.39";
    903_420 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/vmstat:compact_stall" "2.6.35";
    903_422 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/vmstat:oom_kill" "4.13";
    903_424 PERF_COUNTER_LARGE_RAWCOUNT -6 ADVANCED: E "/proc/meminfo:Zswap * 1024" "5.19";
    903_426 PERF_COUNTER_LARGE_RAWCOUNT -6 ADVANCED: E "/proc/meminfo:Zswapped * 1024" "5.19";
    903_428 PERF_COUNTER_LARGE_RAWCOUNT -6 ADVANCED: E "/sys/kernel/mm/ksm/pages_shared * page" "2.6.32";
    903_430 PERF_COUNTER_LARGE_RAWCOUNT -6 ADVANCED: E "/sys/kernel/mm/ksm/pages_sharing * page" "2.6.32";
    903_432 PERF_COUNTER_LARGE_RAWCOUNT -6 NOVICE: E "/proc/meminfo:MemTotal * 1024";
    903_434 PERF_COUNTER_LARGE_RAWCOUNT -6 NOVICE: E "/proc/meminfo:SwapTotal * 1024";
}}

/// The object Page Cache.
pub(super) fn page_cache() -> Table {
    Table::one(902_000, CACHE_COUNTERS, CACHE_ORIGINS)
}

/// The object Memory Extended.
pub(super) fn memory() -> Table {
    Table::one(903_400, MEMORY_COUNTERS, MEMORY_ORIGINS)
}

#[cfg(test)]
mod tests {
    use super::super::fake_machine_tests::{Machine, System, collect, instance, named};
    use crate::kernel::proc::fixture::fixture;
    use tallymon_provider::{Absence, Interest, ValueState};

    #[test]
    fn pages_and_kibibytes_become_bytes() {
        let mut machine = Machine::new(&[
            ("proc/vmstat", b"nr_free_pages 1\nnr_dirty 3\nworkingset_refault 8\n"),
            ("proc/meminfo", &fixture("3.10/meminfo")),
            ("sys/kernel/mm/ksm/pages_shared", b"2\n"),
        ]);
        let page = rustix::param::page_size() as u64;
        let snapshot = machine.read(902_000);
        let values = instance(&snapshot, "");
        assert_eq!(named(&values, 902_008), Ok(3 * page));
        assert_eq!(named(&values, 902_018), Ok(8), "the name before the two kinds were told apart");
        assert_eq!(named(&values, 902_020), Err(ValueState::Absent(Absence::NotInThisKernel)));
        let snapshot = machine.read(903_400);
        let values = instance(&snapshot, "");
        let text = String::from_utf8(fixture("3.10/meminfo")).unwrap();
        let line = text.lines().find(|line| line.starts_with("PageTables:")).unwrap();
        let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        assert_eq!((named(&values, 903_408), named(&values, 903_428)), (Ok(kib * 1024), Ok(2 * page)));
        let first = text.lines().next().unwrap();
        let kib: u64 =
            first.strip_prefix("MemTotal:").unwrap().split_whitespace().next().unwrap().parse().unwrap();
        assert_eq!(named(&values, 903_432), Ok(kib * 1024));
        let line = text.lines().find(|line| line.starts_with("SwapTotal:")).unwrap();
        let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        assert_eq!(named(&values, 903_434), Ok(kib * 1024));
    }

    #[test]
    fn the_running_kernel() {
        let snapshot = collect(&mut System::open().unwrap(), 902_000, &Interest::everything());
        let cached = named(&instance(&snapshot, ""), 902_002).unwrap();
        let text = std::fs::read_to_string("/proc/meminfo").unwrap();
        let kib = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
        };
        // The other file has the same memory in other parts; both change a little between the reads.
        let expected = (kib("Cached:") + kib("Buffers:") + kib("SwapCached:")) * 1024;
        assert!(cached.abs_diff(expected) < expected / 10 + (64 << 20), "{cached} {expected}");
    }
}
