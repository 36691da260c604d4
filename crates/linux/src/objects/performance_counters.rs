//! Processor Performance Counters: hardware event counters, one instance per CPU.
//!
//! Counting takes one of the few hardware counters from other programs while this one runs, and needs rights,
//! so it begins when the object is requested by name.

use std::collections::BTreeMap;

use rustix::io::Errno;
use tallymon_provider::{
    Absence, CollectRequest, DetailLevel, Frequency, InstanceKind, ObjectLayout, ObjectSpec, ObjectsWriter,
    PerfTime,
};

use super::object::Object;
use super::spec::{Origin, object, rows};
use super::table::{TableSum, write};
use crate::kernel::perf::{Event, PerfCounter};
use crate::sources::Sources;

rows! { COUNTERS, ORIGINS {
    906_602 PERF_COUNTER_BULK_COUNT -8 NOVICE: O "perf_event_open(2): PERF_COUNT_HW_CPU_CYCLES" "2.6.31";
    906_604 PERF_COUNTER_BULK_COUNT -8 NOVICE: O "perf_event_open(2): PERF_COUNT_HW_INSTRUCTIONS" "2.6.31";
    906_606 PERF_COUNTER_BULK_COUNT -6 ADVANCED:
        O "perf_event_open(2): PERF_COUNT_HW_CACHE_REFERENCES" "2.6.31";
    906_608 PERF_COUNTER_BULK_COUNT -5 ADVANCED: O "perf_event_open(2): PERF_COUNT_HW_CACHE_MISSES" "2.6.31";
    906_610 PERF_COUNTER_BULK_COUNT -7 ADVANCED:
        O "perf_event_open(2): PERF_COUNT_HW_BRANCH_INSTRUCTIONS" "2.6.31";
    906_612 PERF_COUNTER_BULK_COUNT -5 ADVANCED: O "perf_event_open(2): PERF_COUNT_HW_BRANCH_MISSES" "2.6.31";
    906_614 PERF_COUNTER_BULK_COUNT -2 ADVANCED: O "perf_event_open(2): PERF_COUNT_SW_PAGE_FAULTS" "2.6.31";
    906_616 PERF_COUNTER_BULK_COUNT -2 ADVANCED:
        O "perf_event_open(2): PERF_COUNT_SW_CONTEXT_SWITCHES" "2.6.31";
    906_618 PERF_COUNTER_BULK_COUNT -1 ADVANCED:
        O "perf_event_open(2): PERF_COUNT_SW_CPU_MIGRATIONS" "2.6.31";
    906_620 PERF_COUNTER_BULK_COUNT 0 EXPERT: O "perf_event_open(2): PERF_COUNT_SW_ALIGNMENT_FAULTS" "2.6.33";
    906_622 PERF_COUNTER_BULK_COUNT 0 EXPERT: O "perf_event_open(2): PERF_COUNT_SW_EMULATION_FAULTS" "2.6.33";
}}

/// The events in the order of the counters: hardware events, then those of the kernel.
const EVENTS: [(u32, u64); 11] =
    [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 2), (1, 3), (1, 4), (1, 7), (1, 8)];
const _: () = assert!(EVENTS.len() == COUNTERS.len());

/// The object Processor Performance Counters.
pub(super) struct PerformanceCounters {
    layout: ObjectLayout<'static>,
    /// The open counters of each CPU.
    open: BTreeMap<u32, Vec<Result<PerfCounter, Absence>>>,
}

impl PerformanceCounters {
    pub(super) fn new() -> PerformanceCounters {
        let spec = object(906_600, 906_601, DetailLevel::ADVANCED, 0, InstanceKind::Many, COUNTERS);
        PerformanceCounters { layout: ObjectLayout::new(spec), open: BTreeMap::new() }
    }
}

impl Object for PerformanceCounters {
    fn spec(&self) -> &ObjectSpec<'static> {
        self.layout.spec()
    }

    fn origins(&self) -> &'static [Origin] {
        ORIGINS
    }

    fn costly(&self) -> bool {
        true
    }

    fn collect(&mut self, _ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        let is_system = sources.root.is_system();
        let processors: Vec<u32> =
            sources.stat().map_or(Vec::new(), |stat| stat.cpus.iter().map(|(number, _)| *number).collect());
        // The counters of a CPU that went offline have ended and are opened again.
        self.open.retain(|number, _| processors.contains(number));
        let mut total = TableSum::new(COUNTERS.iter().map(|_| Err(Absence::NotRequested)));
        let mut object = out.object(&self.layout, PerfTime(0), Frequency(0));
        for number in processors {
            let counters = self.open.entry(number).or_insert_with(|| {
                // The CPUs of a saved machine are not those of this one.
                let begin = |(kind, config)| match is_system {
                    true => PerfCounter::open(Event { kind, config }, number).map_err(absence),
                    false => Err(Absence::Other),
                };
                EVENTS.map(begin).into_iter().collect()
            });
            let values: Vec<Result<u64, Absence>> = counters
                .iter()
                .map(|counter| counter.as_ref().map_err(|absence| *absence)?.read().map_err(absence))
                .collect();
            total.add(&values);
            write(COUNTERS, &mut object.instance(&number.to_string(), None, None), &values, 0);
        }
        total.write(COUNTERS, &mut object.sums("_Total", None));
    }
}

/// Why an event cannot be counted.
fn absence(error: Errno) -> Absence {
    match error {
        Errno::ACCESS | Errno::PERM => Absence::AccessDenied,
        Errno::NOENT | Errno::OPNOTSUPP | Errno::NODEV => Absence::NotFromThisDevice,
        Errno::NOSYS => Absence::NotInThisKernel,
        _ => Absence::ReadFailed,
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake_machine_tests::{System, collect, instance, named, names};
    use super::*;
    use tallymon_provider::{Interest, ValueState};

    #[test]
    fn events_of_the_running_kernel() {
        let mut system = System::open().unwrap();
        let mut read = |counter: u32| {
            let snapshot = collect(&mut system, 906_600, &Interest::everything());
            assert_eq!(names(&snapshot).last().map(String::as_str), Some("_Total"));
            named(&instance(&snapshot, "_Total"), counter)
        };
        let first = read(906_616);
        if let Err(ValueState::Absent(Absence::AccessDenied)) = first {
            return tallymon_testkit::skip("events of all programs may not be counted here");
        }
        // Each sleep is a context switch.
        (0..50).for_each(|_| std::thread::sleep(std::time::Duration::from_millis(1)));
        let switches = read(906_616).unwrap().wrapping_sub(first.unwrap());
        assert!((50..10_000_000).contains(&switches), "{switches}");
        // A virtual machine may have no hardware counters, which the state shows.
        let none = Err(ValueState::Absent(Absence::NotFromThisDevice));
        let cycles = read(906_602);
        assert!(cycles == none || cycles.is_ok_and(|cycles| cycles > 0), "{cycles:?}");
    }

    #[test]
    fn reasons() {
        assert_eq!(absence(Errno::ACCESS), Absence::AccessDenied);
        assert_eq!(absence(Errno::NOENT), Absence::NotFromThisDevice);
        assert_eq!(absence(Errno::MFILE), Absence::ReadFailed);
    }
}
