//! Memory (4): physical memory, commitment, page traffic and the kernel's own memory.

use tallymon_provider::{
    Absence, CollectRequest, CounterBlockMut, DetailLevel, Frequency, InstanceKind, ObjectLayout, ObjectSpec,
    ObjectsWriter, PerfTime,
};

use super::object::Object;
use super::spec::{Origin, counters, object};
use crate::kernel::proc::meminfo::MemInfo;
use crate::kernel::proc::vmstat::VmStat;
use crate::kernel::proc::{SystemFacts, kib_to_bytes};
use crate::sources::Sources;

counters! {
    /// Positions of the counters.
    At, COUNTERS, ORIGINS {
        PageFaults: 28, 29, PERF_COUNTER_COUNTER, -1, NOVICE: E "/proc/vmstat:pgfault";
        AvailableBytes: 24, 25, PERF_COUNTER_LARGE_RAWCOUNT, -6, EXPERT:
            C "/proc/meminfo:MemAvailable * 1024" "3.14";
        CommittedBytes: 26, 27, PERF_COUNTER_LARGE_RAWCOUNT, -6, EXPERT:
            C "/proc/meminfo:Committed_AS * 1024";
        CommitLimit: 30, 31, PERF_COUNTER_LARGE_RAWCOUNT, -6, WIZARD: C "/proc/meminfo:CommitLimit * 1024";
        WriteCopies: 32, 33, PERF_COUNTER_COUNTER, 0, WIZARD: N;
        TransitionFaults: 34, 35, PERF_COUNTER_COUNTER, -1, WIZARD: A "/proc/vmstat:pgfault - :pgmajfault";
        CacheFaults: 36, 37, PERF_COUNTER_COUNTER, -1, WIZARD:
            A "/proc/vmstat:workingset_refault_file | /proc/vmstat:workingset_refault" "3.15";
        DemandZeroFaults: 38, 39, PERF_COUNTER_COUNTER, -1, WIZARD: N;
        Pages: 40, 41, PERF_COUNTER_COUNTER, 0, NOVICE: C "Pages Input/sec + Pages Output/sec";
        PagesInput: 822, 823, PERF_COUNTER_COUNTER, 0, NOVICE: C "/proc/vmstat:pgpgin * 1024 / 4096";
        PageReads: 42, 43, PERF_COUNTER_COUNTER, 0, EXPERT: C "/proc/vmstat:pgmajfault";
        PagesOutput: 48, 49, PERF_COUNTER_COUNTER, 0, ADVANCED: C "/proc/vmstat:pswpout";
        PoolPagedBytes: 56, 57, PERF_COUNTER_LARGE_RAWCOUNT, -5, ADVANCED:
            A "/proc/meminfo:KReclaimable * 1024 | /proc/meminfo:SReclaimable * 1024" "2.6.19";
        PoolNonpagedBytes: 58, 59, PERF_COUNTER_LARGE_RAWCOUNT, -5, ADVANCED:
            A "/proc/meminfo:SUnreclaim + :KernelStack + :PageTables + :Percpu * 1024" "2.6.19";
        PageWrites: 50, 51, PERF_COUNTER_COUNTER, 0, EXPERT: A "/proc/vmstat:pswpout";
        PoolPagedAllocs: 60, 61, PERF_COUNTER_RAWCOUNT, -2, WIZARD: N;
        PoolNonpagedAllocs: 64, 65, PERF_COUNTER_RAWCOUNT, -2, WIZARD: N;
        FreeSystemPageTableEntries: 678, 679, PERF_COUNTER_RAWCOUNT, -2, WIZARD:
            A "/proc/meminfo:VmallocTotal - :VmallocUsed * 1024 / 4096";
        CacheBytes: 818, 819, PERF_COUNTER_LARGE_RAWCOUNT, -5, ADVANCED:
            A "/proc/meminfo:Cached + :Buffers + :SwapCached - :Shmem + :SReclaimable * 1024";
        CacheBytesPeak: 820, 821, PERF_COUNTER_LARGE_RAWCOUNT, -5, ADVANCED:
            D "the largest Cache Bytes since the reader started";
        PoolPagedResidentBytes: 66, 63, PERF_COUNTER_LARGE_RAWCOUNT, -5, ADVANCED:
            A "/proc/meminfo:KReclaimable * 1024 | /proc/meminfo:SReclaimable * 1024" "2.6.19";
        SystemCodeTotalBytes: 68, 69, PERF_COUNTER_LARGE_RAWCOUNT, -5, ADVANCED: N;
        SystemCodeResidentBytes: 70, 71, PERF_COUNTER_LARGE_RAWCOUNT, -5, ADVANCED: N;
        SystemDriverTotalBytes: 72, 73, PERF_COUNTER_LARGE_RAWCOUNT, -5, ADVANCED: N;
        SystemDriverResidentBytes: 74, 75, PERF_COUNTER_LARGE_RAWCOUNT, -5, ADVANCED: N;
        SystemCacheResidentBytes: 76, 77, PERF_COUNTER_LARGE_RAWCOUNT, -5, ADVANCED:
            C "/proc/meminfo:Cached + :Buffers - :Shmem * 1024";
        PercentCommittedBytesInUse: 1406, 1407, PERF_RAW_FRACTION, 0, EXPERT: C "/proc/meminfo:Committed_AS";
        PercentCommittedBytesInUseBase: 1406, 1407, PERF_RAW_BASE, 0, EXPERT: C "/proc/meminfo:CommitLimit";
        AvailableKBytes: 1380, 1381, PERF_COUNTER_LARGE_RAWCOUNT, 0, EXPERT:
            C "/proc/meminfo:MemAvailable" "3.14";
        AvailableMBytes: 1382, 1383, PERF_COUNTER_LARGE_RAWCOUNT, 0, EXPERT:
            C "/proc/meminfo:MemAvailable / 1024" "3.14";
        TransitionPagesRePurposed: 824, 825, PERF_COUNTER_COUNTER, -1, WIZARD:
            C "/proc/vmstat:pgsteal_kswapd + :pgsteal_direct + :pgsteal_khugepaged + :pgsteal_proactive"
             "3.4";
        FreeAndZeroPageListBytes: 1676, 1677, PERF_COUNTER_LARGE_RAWCOUNT, 0, WIZARD:
            E "/proc/meminfo:MemFree * 1024";
        ModifiedPageListBytes: 1678, 1679, PERF_COUNTER_LARGE_RAWCOUNT, 0, WIZARD:
            C "/proc/meminfo:Dirty + :Writeback * 1024";
        StandbyCacheReserveBytes: 1680, 1681, PERF_COUNTER_LARGE_RAWCOUNT, 0, WIZARD: N;
        StandbyCacheNormalPriorityBytes: 1682, 1683, PERF_COUNTER_LARGE_RAWCOUNT, 0, WIZARD:
            A "/proc/meminfo:Active(file) + :Inactive(file) - :Dirty - :Writeback * 1024" "2.6.28";
        StandbyCacheCoreBytes: 1684, 1685, PERF_COUNTER_LARGE_RAWCOUNT, 0, WIZARD: N;
    }
}

const SPEC: ObjectSpec<'static> =
    object(4, 5, DetailLevel::NOVICE, At::Pages.at(), InstanceKind::None, COUNTERS);

/// Counters that are filled from events of `/proc/vmstat`.
const OF_EVENTS: [At; 7] = [
    At::PageFaults,
    At::TransitionFaults,
    At::Pages,
    At::PagesInput,
    At::PageReads,
    At::PagesOutput,
    At::PageWrites,
];

/// Counters that are filled from `/proc/meminfo`.
const OF_MEMINFO: [At; 16] = [
    At::AvailableBytes,
    At::CommittedBytes,
    At::CommitLimit,
    At::PoolPagedBytes,
    At::PoolNonpagedBytes,
    At::PoolPagedResidentBytes,
    At::FreeSystemPageTableEntries,
    At::CacheBytes,
    At::CacheBytesPeak,
    At::SystemCacheResidentBytes,
    At::PercentCommittedBytesInUse,
    At::AvailableKBytes,
    At::AvailableMBytes,
    At::FreeAndZeroPageListBytes,
    At::ModifiedPageListBytes,
    At::StandbyCacheNormalPriorityBytes,
];

/// Counters without any equivalent on Linux.
const NOWHERE: [At; 4] =
    [At::WriteCopies, At::DemandZeroFaults, At::StandbyCacheReserveBytes, At::StandbyCacheCoreBytes];

/// Counters from files that only root can read and that are expensive: `/proc/slabinfo`, `/proc/iomem`,
/// `/proc/modules`.
const NOT_ENABLED: [At; 6] = [
    At::PoolPagedAllocs,
    At::PoolNonpagedAllocs,
    At::SystemCodeTotalBytes,
    At::SystemCodeResidentBytes,
    At::SystemDriverTotalBytes,
    At::SystemDriverResidentBytes,
];

/// The object Memory.
pub(super) struct Memory {
    layout: ObjectLayout<'static>,
    /// The largest Cache Bytes since this process started: the kernel keeps no peak of it.
    cache_peak: u64,
}

impl Memory {
    pub(super) fn new() -> Memory {
        Memory { layout: ObjectLayout::new(SPEC), cache_peak: 0 }
    }
}

impl Object for Memory {
    fn spec(&self) -> &ObjectSpec<'static> {
        self.layout.spec()
    }

    fn origins(&self) -> &'static [Origin] {
        ORIGINS
    }

    fn collect(&mut self, ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        let wants = |positions: &[At]| {
            let names = positions.iter().filter_map(|position| COUNTERS.get(position.at()));
            names.into_iter().any(|counter| ask.interest.wants(SPEC.name, counter.name))
        };
        let mut object = out.object(&self.layout, PerfTime(0), Frequency(0));
        let mut values = object.single();
        let facts = sources.facts;
        if wants(&OF_MEMINFO) {
            match sources.meminfo() {
                Ok(meminfo) => from_meminfo(meminfo, &facts, &mut self.cache_peak, &mut values),
                Err(absence) => values.absent(OF_MEMINFO.map(At::at), absence),
            }
        } else {
            values.absent(OF_MEMINFO.map(At::at), Absence::NotRequested);
        }
        if wants(&OF_EVENTS) || wants(&[At::TransitionPagesRePurposed]) {
            match sources.memory_events() {
                Ok(vmstat) => from_events(&vmstat, &facts, &mut values),
                Err(absence) => {
                    values.absent(OF_EVENTS.map(At::at), absence);
                    values.absent([At::TransitionPagesRePurposed.at()], absence);
                }
            }
        } else {
            values.absent(OF_EVENTS.map(At::at), Absence::NotRequested);
            values.absent([At::TransitionPagesRePurposed.at()], Absence::NotRequested);
        }
        // Refaults are not among the per-CPU events.
        let refaults =
            if wants(&[At::CacheFaults]) { sources.file_refaults() } else { Err(Absence::NotRequested) };
        match refaults {
            Ok(count) => values.set_or(At::CacheFaults.at(), count, Absence::NotInThisKernel),
            Err(absence) => values.absent([At::CacheFaults.at()], absence),
        }
        values.absent(NOWHERE.map(At::at), Absence::NotOnThisSystem);
        values.absent(NOT_ENABLED.map(At::at), Absence::NotEnabled);
    }
}

/// The sum of the numbers that the kernel prints; `None` when it prints none of them.
fn sum(numbers: &[Option<u64>]) -> Option<u64> {
    numbers.iter().flatten().copied().reduce(u64::saturating_add)
}

/// The file is in KiB.
fn from_meminfo(m: &MemInfo, facts: &SystemFacts, cache_peak: &mut u64, values: &mut CounterBlockMut<'_>) {
    values.set_or(At::AvailableKBytes.at(), m.available, Absence::NotInThisKernel);
    values.set_or(At::AvailableMBytes.at(), m.available.map(|kib| kib / 1024), Absence::NotInThisKernel);
    let mut set = |position: At, kib: Option<u64>| {
        values.set_or(position.at(), kib.map(kib_to_bytes), Absence::NotInThisKernel);
    };
    set(At::AvailableBytes, m.available);
    set(At::CommittedBytes, m.committed);
    set(At::CommitLimit, m.commit_limit);
    // Reclaimable slab is shown as NT's paged pool, although it is never paged out.
    set(At::PoolPagedBytes, m.slab_reclaimable);
    set(At::PoolPagedResidentBytes, m.slab_reclaimable);
    set(
        At::PoolNonpagedBytes,
        m.slab_unreclaimable.and_then(|slab| sum(&[Some(slab), m.kernel_stack, m.page_tables, m.per_cpu])),
    );
    let cache = m.file_cache().map(|cache| cache.saturating_add(m.slab_reclaimable.unwrap_or(0)));
    set(At::CacheBytes, cache);
    *cache_peak = (*cache_peak).max(cache.unwrap_or(0));
    set(At::CacheBytesPeak, cache.map(|_| *cache_peak));
    let resident = sum(&[m.cached, m.buffers]).map(|cache| cache.saturating_sub(m.shmem.unwrap_or(0)));
    set(At::SystemCacheResidentBytes, resident);
    set(At::FreeAndZeroPageListBytes, Some(m.free));
    let modified = sum(&[m.dirty, m.writeback]);
    set(At::ModifiedPageListBytes, modified);
    let file_pages = sum(&[m.active_file, m.inactive_file]);
    set(At::StandbyCacheNormalPriorityBytes, file_pages.map(|kib| kib.saturating_sub(modified.unwrap_or(0))));
    let free_address_space =
        m.vmalloc_total.zip(m.vmalloc_used).map(|(total, used)| total.saturating_sub(used));
    // On 64-bit kernels the number does not fit into 32 bits: the value is then marked as out of range.
    let entries = free_address_space.and_then(|kib| kib_to_bytes(kib).checked_div(facts.page_size));
    values.set_or(At::FreeSystemPageTableEntries.at(), entries, Absence::NotInThisKernel);
    match m.committed.zip(m.commit_limit) {
        Some((committed, limit)) => {
            values.set_fraction(At::PercentCommittedBytesInUse.at(), committed, limit)
        }
        None => values.absent([At::PercentCommittedBytesInUse.at()], Absence::NotInThisKernel),
    }
}

fn from_events(v: &VmStat, facts: &SystemFacts, values: &mut CounterBlockMut<'_>) {
    let mut set = |position: At, value: Option<u64>| {
        values.set_or(position.at(), value, Absence::NotInThisKernel);
    };
    let pages = |kib: u64| kib.wrapping_mul(1024).checked_div(facts.page_size).unwrap_or(0);
    let input = v.read_kib.map(pages);
    // Only pages written to free memory count, as on NT; pgpgout would include every write to any disk.
    // `nr_vmscan_write` counts the same pages again, and those that were only compressed or all zeros.
    let output = v.swapped_out;
    set(At::PageFaults, v.faults);
    set(At::TransitionFaults, v.faults.zip(v.major_faults).map(|(all, major)| all.wrapping_sub(major)));
    set(At::PagesInput, input);
    set(At::PagesOutput, output);
    set(At::Pages, input.zip(output).map(|(input, output)| input.wrapping_add(output)));
    set(At::PageReads, v.major_faults);
    set(At::PageWrites, v.swapped_out);
    set(At::TransitionPagesRePurposed, v.stolen());
}

#[cfg(test)]
mod tests {
    use super::super::fake_machine_tests::{Machine, System, collect, instance, named};
    use super::*;
    use tallymon_provider::{Interest, Tier, TierChoice, TitleIndex, ValueState};

    #[test]
    fn a_written_page_counts_once() {
        let vmstat = b"pgpgin 40\npgpgout 400\npswpout 7\nnr_vmscan_write 9\n";
        let snapshot = Machine::new(&[("proc/vmstat", vmstat)]).read(SPEC.name.0);
        let memory = instance(&snapshot, "");
        let page = u64::try_from(rustix::param::page_size()).unwrap();
        let input = 40 * 1024 / page;
        assert_eq!((named(&memory, 48), named(&memory, 50)), (Ok(7), Ok(7)));
        assert_eq!(named(&memory, 40), Ok(input + 7));
    }

    #[test]
    fn unrequested_refaults_read_no_file() {
        let mut interest = Interest::everything();
        for counter in [28, 40] {
            interest.add(SPEC.name, TitleIndex(counter));
        }
        for tier in [Tier::T0, Tier::T2] {
            let Ok(mut system) = System::open_with(TierChoice::Only(tier)) else {
                tallymon_testkit::skip(&format!("{tier} does not work here"));
                continue;
            };
            let snapshot = collect(&mut system, SPEC.name.0, &interest);
            let memory = instance(&snapshot, "");
            assert!([28, 40].iter().all(|counter| named(&memory, *counter).is_ok()), "{tier}");
            let snapshot = collect(&mut system, SPEC.name.0, &Interest::everything());
            assert!(named(&instance(&snapshot, ""), 36).is_ok(), "{tier}");
        }
        let machine = [("proc/vmstat", &b"pgfault 9\n"[..])];
        let refaults = |interest: &Interest| {
            named(&instance(&Machine::new(&machine).read_only(SPEC.name.0, interest), ""), 36)
        };
        assert_eq!(refaults(&interest), Err(ValueState::Absent(Absence::NotRequested)));
        assert_eq!(refaults(&Interest::everything()), Err(ValueState::Absent(Absence::NotInThisKernel)));
    }

    #[test]
    fn every_counter_has_a_source_or_a_reason() {
        let mut filled: Vec<usize> = [&OF_EVENTS[..], &OF_MEMINFO, &NOWHERE, &NOT_ENABLED]
            .concat()
            .into_iter()
            .chain([At::CacheFaults, At::TransitionPagesRePurposed, At::PercentCommittedBytesInUseBase])
            .map(At::at)
            .collect();
        filled.sort_unstable();
        assert_eq!(filled, (0..COUNTERS.len()).collect::<Vec<_>>());
    }
}
