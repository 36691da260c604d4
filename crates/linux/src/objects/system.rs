//! System (2): the machine as a whole.

use tallymon_provider::{
    Absence, CollectRequest, CounterBlockMut, DetailLevel, InstanceKind, ObjectLayout, ObjectSpec,
    ObjectsWriter, ReadWindow, TitleIndex,
};

use super::object::Object;
use super::spec::{Origin, counters, object};
use crate::kernel::time::FREQUENCY;
use crate::sources::processes::ProcessNeeds;
use crate::sources::{Needs, Sources};

counters! {
    /// Positions of the counters.
    At, COUNTERS, ORIGINS {
        FileReadOperations: 10, 11, PERF_COUNTER_COUNTER, 0, NOVICE:
            A "/proc/PID/io: syscr of all processes, and of those that ended since" "2.6.20";
        FileWriteOperations: 12, 13, PERF_COUNTER_COUNTER, 0, NOVICE:
            A "/proc/PID/io: syscw of all processes, and of those that ended since" "2.6.20";
        FileControlOperations: 14, 15, PERF_COUNTER_COUNTER, 0, ADVANCED: N;
        FileReadBytes: 16, 17, PERF_COUNTER_BULK_COUNT, -4, EXPERT:
            A "/proc/PID/io: rchar of all processes, and of those that ended since" "2.6.20";
        FileWriteBytes: 18, 19, PERF_COUNTER_BULK_COUNT, -4, EXPERT:
            A "/proc/PID/io: wchar of all processes, and of those that ended since" "2.6.20";
        FileControlBytes: 20, 21, PERF_COUNTER_BULK_COUNT, -3, WIZARD: N;
        ContextSwitches: 146, 147, PERF_COUNTER_COUNTER, -2, ADVANCED: E "/proc/stat:ctxt";
        SystemCalls: 150, 151, PERF_COUNTER_COUNTER, -1, ADVANCED: N;
        FileDataOperations: 406, 407, PERF_COUNTER_COUNTER, 0, NOVICE:
            A "/proc/PID/io: syscr + syscw of all processes, and of those that ended since" "2.6.20";
        SystemUpTime: 674, 675, PERF_ELAPSED_TIME, -5, NOVICE: E "clock_gettime(2): CLOCK_BOOTTIME" "2.6.39";
        ProcessorQueueLength: 44, 45, PERF_COUNTER_RAWCOUNT, 1, WIZARD:
            C "/proc/stat:procs_running without those that run" "2.6.0";
        Processes: 248, 249, PERF_COUNTER_RAWCOUNT, 1, WIZARD: E "/proc: folders with a number";
        Threads: 250, 251, PERF_COUNTER_RAWCOUNT, 1, WIZARD: E "/proc/loadavg: the number behind the slash";
        AlignmentFixups: 686, 687, PERF_COUNTER_COUNTER, 0, WIZARD: Z "0 on processors that need no fixups";
        ExceptionDispatches: 688, 689, PERF_COUNTER_COUNTER, 0, WIZARD: N;
        FloatingEmulations: 690, 691, PERF_COUNTER_COUNTER, 0, WIZARD:
            Z "0 on processors that need no emulation";
        PercentRegistryQuotaInUse: 1350, 1351, PERF_RAW_FRACTION, 0, ADVANCED:
            Z "0, because there is no quota";
        PercentRegistryQuotaInUseBase: 1350, 1351, PERF_RAW_BASE, 0, ADVANCED: Z "1";
    }
}

const SPEC: ObjectSpec<'static> =
    object(2, 3, DetailLevel::NOVICE, At::ContextSwitches.at(), InstanceKind::None, COUNTERS);

/// Whether the processor fixes unaligned accesses and has every floating point operation. x86 has both.
const FIXED_IN_HARDWARE: bool = cfg!(any(target_arch = "x86", target_arch = "x86_64"));

/// The counters that are sums over the I/O of all processes.
const OF_PROCESSES: [(At, TitleIndex); 5] = [
    (At::FileReadOperations, TitleIndex(10)),
    (At::FileWriteOperations, TitleIndex(12)),
    (At::FileReadBytes, TitleIndex(16)),
    (At::FileWriteBytes, TitleIndex(18)),
    (At::FileDataOperations, TitleIndex(406)),
];

/// Whether a requested counter is a sum over the I/O of all processes.
fn needs_io(request: &CollectRequest<'_>) -> bool {
    OF_PROCESSES.iter().any(|(_, name)| request.wants_counter(SPEC.name, *name))
}

/// The object System.
pub(super) struct System {
    layout: ObjectLayout<'static>,
}

impl System {
    pub(super) fn new() -> System {
        System { layout: ObjectLayout::new(SPEC) }
    }
}

impl Object for System {
    fn spec(&self) -> &ObjectSpec<'static> {
        self.layout.spec()
    }

    fn origins(&self) -> &'static [Origin] {
        ORIGINS
    }

    fn window(&self, sources: &Sources) -> Option<ReadWindow> {
        // If it samples the processes, it is the first object to do so, and has read its other files before:
        // then they share one window and time stamp. Otherwise it has its own.
        sources.process_window()
    }

    fn needs(&self, request: &CollectRequest<'_>) -> Needs {
        Needs { processes: ProcessNeeds { io: needs_io(request), ..ProcessNeeds::default() } }
    }

    fn collect(&mut self, ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        let mut object = out.object(&self.layout, sources.object_time(), FREQUENCY);
        let mut values = object.single_sums();
        from_stat(sources, &mut values);
        // If the processes are sampled anyway, count their threads in the same sample.
        let threads = sources.thread_count();
        match threads.map_or_else(|| sources.loadavg().map(|loadavg| loadavg.threads), Ok) {
            Ok(threads) => values.set(At::Threads.at(), threads),
            Err(absence) => values.absent([At::Threads.at()], absence),
        }
        from_processes(ask, sources, &mut values);
        // The boot time on the object's clock.
        values.set(At::SystemUpTime.at(), sources.facts.boot_time.0);
        // There is no registry, so nothing of it is in use; a base of 0 would be no valid share.
        values.set_fraction(At::PercentRegistryQuotaInUse.at(), 0, 1);
        // Elsewhere the kernel counts them only as perf events.
        if FIXED_IN_HARDWARE {
            values.set(At::AlignmentFixups.at(), 0);
            values.set(At::FloatingEmulations.at(), 0);
        } else {
            values.absent([At::AlignmentFixups.at(), At::FloatingEmulations.at()], Absence::NotEnabled);
        }
        values.absent([At::FileControlOperations.at(), At::FileControlBytes.at()], Absence::NotOnThisSystem);
        values.absent([At::SystemCalls.at(), At::ExceptionDispatches.at()], Absence::NotEnabled);
    }
}

fn from_stat(sources: &mut Sources, values: &mut CounterBlockMut<'_>) {
    match sources.stat() {
        Ok(stat) => {
            values.set_or(At::ContextSwitches.at(), stat.context_switches, Absence::NotInThisKernel);
            // The kernel includes running threads; each CPU runs at most one of them.
            let processors = u64::try_from(stat.cpus.len()).unwrap_or(u64::MAX);
            let waiting = stat.running.map(|running| running.saturating_sub(processors));
            values.set_or(At::ProcessorQueueLength.at(), waiting, Absence::NotInThisKernel);
        }
        Err(absence) => values.absent([At::ContextSwitches.at(), At::ProcessorQueueLength.at()], absence),
    }
}

fn from_processes(ask: &CollectRequest<'_>, sources: &mut Sources, values: &mut CounterBlockMut<'_>) {
    match sources.process_count() {
        Ok(count) => values.set(At::Processes.at(), count),
        Err(absence) => values.absent([At::Processes.at()], absence),
    }
    let positions = OF_PROCESSES.map(|(position, _)| position.at());
    if !needs_io(ask) {
        values.absent(positions, Absence::NotRequested);
        return;
    }
    match sources.process_io() {
        Ok((io, partial)) => {
            values.set(At::FileReadOperations.at(), io.read_operations);
            values.set(At::FileWriteOperations.at(), io.write_operations);
            values.set(At::FileReadBytes.at(), io.read_bytes);
            values.set(At::FileWriteBytes.at(), io.write_bytes);
            values.set(At::FileDataOperations.at(), io.read_operations.wrapping_add(io.write_operations));
            if let Some(sum) = partial {
                values.partial(positions, sum);
            }
        }
        Err(absence) => values.absent(positions, absence),
    }
}
