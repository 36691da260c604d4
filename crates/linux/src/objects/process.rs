//! Process (230): one instance per running program, `Idle`, `System` and `_Total`.
//!
//! As on NT, `Idle` is the idle time of the CPUs, `System` stands for all kernel threads, and `_Total` is the
//! sum of all instances, including `Idle`.
//!
//! | counter | source |
//! |---|---|
//! | % Processor Time | the CPU clock of the process in ns; without it, ticks of `stat` |
//! | % User Time, % Privileged Time | `stat`, in ticks; over a short time not exactly % Processor Time |
//! | Virtual Bytes, Working Set | `statm` |
//! | Working Set - Private | `statm`: anonymous pages; an approximation |
//! | peaks of both, Private Bytes, Page File Bytes | `status`; Private Bytes is anonymous memory and swap |
//! | Pool Nonpaged Bytes | `status`: page tables, and 16 KiB of kernel stack per thread; an approximation |
//! | Handle Count | open files |
//! | IO ... | `io`: system calls on files, pipes, sockets and terminals; memory-mapped files do not count |

use tallymon_provider::{
    Absence, CachedInstances, CollectRequest, CounterBlockMut, CounterSpec, DetailLevel, FileTime,
    InstanceKind, ObjectLayout, ObjectSpec, ObjectsWriter, PartialSum, ReadWindow, TitleIndex,
};

use super::object::Object;
use super::spec::{Origin, counters, object};
use crate::kernel::time::FREQUENCY;
use crate::sources::processes::{
    Available, IdleProcessor, MemoryValues, PartialSums, ProcessNeeds, ProcessRow, ProcessSum, ProcessTable,
    ProcessValues, StatValues,
};
use crate::sources::{Needs, Sources};

counters! {
    /// Positions of the counters.
    At, COUNTERS, ORIGINS {
        PercentProcessorTime: 6, 189, PERF_100NSEC_TIMER, 0, NOVICE:
            E "clock_gettime(2): the CPU clock of the process | /proc/PID/stat: utime + stime * 100000"
             "2.6.12";
        PercentUserTime: 142, 157, PERF_100NSEC_TIMER, 0, ADVANCED: E "/proc/PID/stat: utime * 100000";
        PercentPrivilegedTime: 144, 159, PERF_100NSEC_TIMER, 0, ADVANCED: E "/proc/PID/stat: stime * 100000";
        VirtualBytesPeak: 172, 173, PERF_COUNTER_LARGE_RAWCOUNT, -6, EXPERT:
            E "/proc/PID/status:VmPeak * 1024" "2.6.15";
        VirtualBytes: 174, 175, PERF_COUNTER_LARGE_RAWCOUNT, -6, EXPERT: E "/proc/PID/statm:#1 * page";
        PageFaults: 28, 177, PERF_COUNTER_COUNTER, -1, NOVICE: E "/proc/PID/stat: minflt + majflt";
        WorkingSetPeak: 178, 179, PERF_COUNTER_LARGE_RAWCOUNT, -5, ADVANCED:
            E "/proc/PID/status:VmHWM * 1024" "2.6.15";
        WorkingSet: 180, 181, PERF_COUNTER_LARGE_RAWCOUNT, -5, NOVICE: E "/proc/PID/statm:#2 * page";
        PageFileBytesPeak: 182, 183, PERF_COUNTER_LARGE_RAWCOUNT, -6, ADVANCED:
            D "the largest Page File Bytes since the reader first saw the process";
        PageFileBytes: 184, 185, PERF_COUNTER_LARGE_RAWCOUNT, -6, ADVANCED:
            A "/proc/PID/status:RssAnon + :VmSwap * 1024" "4.5";
        PrivateBytes: 186, 187, PERF_COUNTER_LARGE_RAWCOUNT, -5, ADVANCED:
            A "/proc/PID/status:RssAnon + :VmSwap * 1024" "4.5";
        ThreadCount: 680, 681, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: E "/proc/PID/stat: num_threads" "2.6.0";
        PriorityBase: 682, 683, PERF_COUNTER_RAWCOUNT, 0, ADVANCED:
            C "/proc/PID/stat: nice, rt_priority and policy";
        ElapsedTime: 684, 685, PERF_ELAPSED_TIME, -4, ADVANCED: E "/proc/PID/stat: starttime";
        IDProcess: 784, 785, PERF_COUNTER_RAWCOUNT, -1, NOVICE: E "/proc: the name of the folder";
        CreatingProcessID: 1410, 1411, PERF_COUNTER_RAWCOUNT, -1, NOVICE: E "/proc/PID/stat: ppid";
        PoolPagedBytes: 56, 57, PERF_COUNTER_RAWCOUNT, -5, ADVANCED: N;
        PoolNonpagedBytes: 58, 59, PERF_COUNTER_RAWCOUNT, -5, ADVANCED:
            A "/proc/PID/status:VmPTE * 1024 + 16384 a thread" "2.6.10";
        HandleCount: 952, 953, PERF_COUNTER_RAWCOUNT, 0, ADVANCED:
            E "/proc/PID/fd: the size of the folder, or what is in it" "6.2";
        IOReadOperations: 1412, 1413, PERF_COUNTER_BULK_COUNT, 0, ADVANCED: C "/proc/PID/io:syscr" "2.6.20";
        IOWriteOperations: 1414, 1415, PERF_COUNTER_BULK_COUNT, 0, ADVANCED: C "/proc/PID/io:syscw" "2.6.20";
        IODataOperations: 1416, 1417, PERF_COUNTER_BULK_COUNT, 0, ADVANCED:
            C "/proc/PID/io:syscr + :syscw" "2.6.20";
        IOOtherOperations: 1418, 1419, PERF_COUNTER_BULK_COUNT, 0, ADVANCED: N;
        IOReadBytes: 1420, 1421, PERF_COUNTER_BULK_COUNT, 0, ADVANCED: C "/proc/PID/io:rchar" "2.6.20";
        IOWriteBytes: 1422, 1423, PERF_COUNTER_BULK_COUNT, 0, ADVANCED: C "/proc/PID/io:wchar" "2.6.20";
        IODataBytes: 1424, 1425, PERF_COUNTER_BULK_COUNT, 0, ADVANCED:
            C "/proc/PID/io:rchar + :wchar" "2.6.20";
        IOOtherBytes: 1426, 1427, PERF_COUNTER_BULK_COUNT, 0, ADVANCED: N;
        WorkingSetPrivate: 1478, 1479, PERF_COUNTER_LARGE_RAWCOUNT, -5, NOVICE:
            A "/proc/PID/statm:#2 - :#3 * page";
    }
}

const SPEC: ObjectSpec<'static> =
    object(230, 231, DetailLevel::NOVICE, At::PercentProcessorTime.at(), InstanceKind::Many, COUNTERS);

/// The counters, which Job Object Details shares.
pub(super) const PROCESS_COUNTERS: &[CounterSpec] = COUNTERS;
/// Where their values come from.
pub(super) const PROCESS_ORIGINS: &[Origin] = ORIGINS;

const OF_CLOCK: [At; 1] = [At::PercentProcessorTime];

const OF_STAT: [At; 6] = [
    At::PercentUserTime,
    At::PercentPrivilegedTime,
    At::PageFaults,
    At::ThreadCount,
    At::PriorityBase,
    At::CreatingProcessID,
];

const OF_STATM: [At; 3] = [At::VirtualBytes, At::WorkingSet, At::WorkingSetPrivate];

const OF_STATUS: [At; 6] = [
    At::VirtualBytesPeak,
    At::WorkingSetPeak,
    At::PageFileBytesPeak,
    At::PageFileBytes,
    At::PrivateBytes,
    At::PoolNonpagedBytes,
];

const OF_IO: [At; 6] = [
    At::IOReadOperations,
    At::IOWriteOperations,
    At::IODataOperations,
    At::IOReadBytes,
    At::IOWriteBytes,
    At::IODataBytes,
];

const OF_HANDLES: [At; 1] = [At::HandleCount];

/// Counters without any equivalent on Linux: no kernel memory is paged out, and system calls that neither
/// read nor write are not counted.
const NOWHERE: [At; 3] = [At::PoolPagedBytes, At::IOOtherOperations, At::IOOtherBytes];

/// What the requested counters need of each process, for an object with the counters of Process. Id and start
/// time cost nothing.
pub(super) fn needs(request: &CollectRequest<'_>, object: TitleIndex) -> ProcessNeeds {
    let wants = |positions: &[At]| {
        let mut names = positions.iter().filter_map(|position| COUNTERS.get(position.at()));
        names.any(|counter| request.wants_counter(object, counter.name))
    };
    ProcessNeeds {
        cpu: wants(&OF_CLOCK),
        stat: wants(&OF_STAT),
        statm: wants(&OF_STATM),
        io: wants(&OF_IO),
        status: wants(&OF_STATUS),
        handles: wants(&OF_HANDLES),
        threads: None,
    }
}

/// The process that stands for all kernel threads has the id of their parent, kthreadd.
pub(super) const SYSTEM_ID: u64 = 2;

/// The positions of the instances of Process, which threads name as their parents.
#[derive(Debug, Clone, Copy)]
pub(super) struct Positions {
    /// That of `System`, if it exists. `Idle` is always 0.
    pub(super) system: Option<u32>,
    /// That of the first program.
    pub(super) first_program: u32,
    /// That of `_Total`.
    pub(super) total: u32,
}

impl Positions {
    pub(super) const IDLE: u32 = 0;

    pub(super) fn new(table: &ProcessTable) -> Positions {
        let system = table.kernel_threads().next().map(|_| 1);
        let first_program = if system.is_some() { 2 } else { 1 };
        let programs = u32::try_from(table.programs().count()).unwrap_or(u32::MAX);
        Positions { system, first_program, total: programs.saturating_add(first_program) }
    }
}

/// The object Process.
pub(super) struct Process {
    layout: ObjectLayout<'static>,
    kept: ReusableInstances,
}

impl Process {
    pub(super) fn new() -> Process {
        Process { layout: ObjectLayout::new(SPEC), kept: ReusableInstances::default() }
    }
}

/// The instances of the programs as of the last sample: in the next one, most of them have not changed.
#[derive(Default)]
struct ReusableInstances {
    /// The sample that they belong to; `None` when there are none.
    last_sample: Option<u64>,
    /// By the position of the row; kernel threads have no instance.
    instances: CachedInstances,
    /// The sum of all programs.
    sum: Option<ProcessSum>,
}

impl ReusableInstances {
    /// Updates the instances and returns the sum of all programs. `None` when the changes are unknown:
    /// nothing is kept then, because it would be built again whenever a process comes or goes.
    fn update(&mut self, layout: &ObjectLayout<'_>, table: &ProcessTable) -> Option<ProcessSum> {
        let before = self.last_sample.take();
        let Some(changes) = table.changes() else {
            self.instances.clear();
            return None;
        };
        if before.is_some_and(|before| before.wrapping_add(1) == table.sample_number()) {
            for (position, before, row) in changes.filter(|(_, _, row)| !row.is_kernel_thread) {
                self.instances.rewrite(layout, position, |block| write_program(block, row));
                self.sum = self.sum.and_then(|mut sum| sum.replace(before, &row.values).then_some(sum));
            }
        } else {
            self.instances.clear();
            for row in table.rows() {
                if row.is_kernel_thread {
                    self.instances.skip();
                } else {
                    self.instances.push(layout, &row.name, None, None, |block| write_program(block, row));
                }
            }
            self.sum = None;
        }
        self.last_sample = Some(table.sample_number());
        let sum = self.sum.unwrap_or_else(|| {
            let mut sum = ProcessSum::zero(table.wants());
            table.programs().for_each(|row| sum.add(row));
            sum
        });
        self.sum = Some(sum);
        self.sum
    }
}

impl Object for Process {
    fn spec(&self) -> &ObjectSpec<'static> {
        self.layout.spec()
    }

    fn origins(&self) -> &'static [Origin] {
        ORIGINS
    }

    fn quantum(&self, position: usize) -> u64 {
        super::quantum::quantum_of_parts(COUNTERS, position)
    }

    fn window(&self, sources: &Sources) -> Option<ReadWindow> {
        sources.process_window()
    }

    fn needs(&self, request: &CollectRequest<'_>) -> Needs {
        Needs { processes: needs(request, SPEC.name) }
    }

    fn collect(&mut self, _ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        let mut object = out.object(&self.layout, sources.object_time(), FREQUENCY);
        let boot_time = sources.facts.boot_time;
        let table = match sources.all_processes() {
            Ok(table) => table,
            Err(absence) => {
                object.instance("_Total", None, None).absent(0..COUNTERS.len(), absence);
                return;
            }
        };
        let zero = ProcessValues::zero(table.wants());
        let machine = |id: u64| Identity { id, start: boot_time };
        let idle = idle(&zero, table.idle());
        write(&mut object.instance("Idle", None, None), &idle, machine(0));
        let mut total = ProcessSum::zero(table.wants());
        total.add_values(&idle);
        if let Some(system) = system(table) {
            let start = table.kernel_threads().map(|row| row.start).min().unwrap_or(boot_time);
            write_system(&mut object.sums("System", None), &system, table, start);
            total.merge(&system);
        }
        if let Some(sum) = self.kept.update(&self.layout, table) {
            object.append_cached(&self.kept.instances);
            total.merge(&sum);
        } else {
            for row in table.programs() {
                write_program(&mut object.instance(&row.name, None, None), row);
                total.add(row);
            }
        }
        total.add_exited(table.exited_programs());
        if table.is_partial() {
            // How many are hidden is not known, so the sum of the others says nothing.
            total.add_values(&ProcessValues::absent(Absence::AccessDenied));
        }
        let (values, partial) = total.values();
        let mut block = object.sums("_Total", None);
        write(&mut block, &values, machine(0));
        mark(&mut block, &partial);
    }
}

/// Distinguishes a process from an earlier one with the same id.
#[derive(Debug, Clone, Copy)]
struct Identity {
    id: u64,
    start: FileTime,
}

impl Identity {
    fn of(row: &ProcessRow) -> Identity {
        Identity { id: u64::from(row.pid), start: row.start }
    }
}

/// Only the idle time of the CPUs, and one thread per CPU. As on NT, it counts as privileged time.
fn idle(zero: &ProcessValues, processors: Available<&[IdleProcessor]>) -> ProcessValues {
    let time = processors
        .map(|processors| processors.iter().fold(0_u64, |sum, processor| sum.wrapping_add(processor.time)));
    let threads = processors.map(|processors| {
        let online = processors.iter().filter(|processor| processor.is_online).count();
        u64::try_from(online).unwrap_or(u64::MAX)
    });
    ProcessValues {
        cpu: zero.cpu.and(time),
        stat: zero.stat.and_then(|stat| Ok(StatValues { privileged: time?, threads: threads?, ..stat })),
        ..*zero
    }
}

/// The sum of all kernel threads; `None` when none is visible, as in a container.
fn system(table: &ProcessTable) -> Option<ProcessSum> {
    let mut sum = ProcessSum::zero(table.wants());
    table.kernel_threads().for_each(|row| sum.add(row));
    if sum.processes() == 0 {
        return None;
    }
    sum.add_exited(table.exited_kernel_threads());
    Some(sum)
}

/// Writes the process that stands for all kernel threads.
fn write_system(block: &mut CounterBlockMut<'_>, sum: &ProcessSum, table: &ProcessTable, start: FileTime) {
    let (mut values, partial) = sum.values();
    let first = table.kernel_threads().next().and_then(|row| row.values.stat.ok());
    if let (Ok(stat), Some(first)) = (&mut values.stat, first) {
        stat.priority = first.priority;
    }
    write(block, &values, Identity { id: SYSTEM_ID, start });
    mark(block, &partial);
}

/// Marks the sums that lack processes.
fn mark(block: &mut CounterBlockMut<'_>, partial: &PartialSums) {
    let PartialSums { cpu, stat, memory, io, status, handles } = partial;
    let positions: [(&Option<PartialSum>, &[At]); 6] = [
        (io, &OF_IO),
        (handles, &OF_HANDLES),
        (cpu, &OF_CLOCK),
        (stat, &OF_STAT),
        (memory, &OF_STATM),
        (status, &OF_STATUS),
    ];
    for (sum, positions) in positions {
        if let Some(sum) = sum {
            block.partial(positions.iter().map(|position| position.at()), *sum);
        }
    }
}

/// Writes the values of one program, also for Job Object Details, which has the same counters.
pub(super) fn write_program(block: &mut CounterBlockMut<'_>, row: &ProcessRow) {
    write(block, &row.values, Identity::of(row));
}

fn write(block: &mut CounterBlockMut<'_>, values: &ProcessValues, identity: Identity) {
    block.set(At::IDProcess.at(), identity.id);
    block.set(At::ElapsedTime.at(), identity.start.0);
    match values.cpu {
        Ok(cpu) => block.set(At::PercentProcessorTime.at(), cpu),
        Err(absence) => block.absent(OF_CLOCK.map(At::at), absence),
    }
    match values.stat {
        Ok(stat) => {
            block.set(At::PercentUserTime.at(), stat.user);
            block.set(At::PercentPrivilegedTime.at(), stat.privileged);
            block.set(At::PageFaults.at(), stat.faults);
            block.set(At::ThreadCount.at(), stat.threads);
            block.set(At::PriorityBase.at(), stat.priority);
            block.set(At::CreatingProcessID.at(), stat.parent);
        }
        Err(absence) => block.absent(OF_STAT.map(At::at), absence),
    }
    match values.memory {
        Ok(MemoryValues { address_space, working_set, private_working_set }) => {
            block.set(At::VirtualBytes.at(), address_space);
            block.set(At::WorkingSet.at(), working_set);
            block.set(At::WorkingSetPrivate.at(), private_working_set);
        }
        Err(absence) => block.absent(OF_STATM.map(At::at), absence),
    }
    match values.status {
        Ok(status) => {
            let mut set = |position: At, value: Option<u64>| {
                block.set_or(position.at(), value, Absence::NotInThisKernel);
            };
            set(At::VirtualBytesPeak, status.address_space_peak);
            set(At::WorkingSetPeak, status.working_set_peak);
            set(At::PageFileBytesPeak, status.private_peak);
            set(At::PageFileBytes, status.private);
            set(At::PrivateBytes, status.private);
            set(At::PoolNonpagedBytes, status.nonpaged);
        }
        Err(absence) => block.absent(OF_STATUS.map(At::at), absence),
    }
    match values.io {
        Ok(io) => {
            block.set(At::IOReadOperations.at(), io.read_operations);
            block.set(At::IOWriteOperations.at(), io.write_operations);
            block.set(At::IODataOperations.at(), io.read_operations.wrapping_add(io.write_operations));
            block.set(At::IOReadBytes.at(), io.read_bytes);
            block.set(At::IOWriteBytes.at(), io.write_bytes);
            block.set(At::IODataBytes.at(), io.read_bytes.wrapping_add(io.write_bytes));
        }
        Err(absence) => block.absent(OF_IO.map(At::at), absence),
    }
    match values.handles {
        Ok(handles) => block.set(At::HandleCount.at(), handles),
        Err(absence) => block.absent(OF_HANDLES.map(At::at), absence),
    }
    block.absent(NOWHERE.map(At::at), Absence::NotOnThisSystem);
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use tallymon_provider::{ObjectWriter, PerfTime};

    use tallymon_testkit::Ends;

    use super::*;
    use crate::sources::processes::tiers_tests::{self, WANTS};

    #[test]
    fn every_counter_has_a_source_or_a_reason() {
        let mut filled: Vec<usize> =
            [&OF_CLOCK[..], &OF_STAT, &OF_STATM, &OF_STATUS, &OF_IO, &OF_HANDLES, &NOWHERE]
                .concat()
                .into_iter()
                .chain([At::IDProcess, At::ElapsedTime])
                .map(At::at)
                .collect();
        filled.sort_unstable();
        assert_eq!(filled, (0..COUNTERS.len()).collect::<Vec<_>>());
    }

    #[test]
    fn reused_instances_equal_newly_written_ones() {
        let Some(mut table) = tiers_tests::bpf_table() else { return };
        let layout = ObjectLayout::new(SPEC);
        let mut kept = ReusableInstances::default();
        let _busy = Ends::start("while :; do :; done");
        let mut sleeps = Some(Ends::start("sleep 60"));
        let (mut known, mut changed, mut unknown, mut rounds) = (0, 0, 0, 0);
        let begin = Instant::now();
        while known < 30 || changed < 20 || unknown < 3 {
            assert!(begin.elapsed() < Duration::from_secs(60), "{known} {changed} {unknown}");
            rounds += 1;
            match rounds % 20 {
                5 => sleeps = None,
                10 => sleeps = Some(Ends::start("sleep 60")),
                _ => {}
            }
            let wants =
                if rounds % 20 < 15 { WANTS } else { ProcessNeeds { io: false, threads: None, ..WANTS } };
            tiers_tests::refresh(&mut table, wants);
            let Some(sum) = kept.update(&layout, &table) else {
                unknown += 1;
                continue;
            };
            known += 1;
            changed += table.changes().unwrap().count();
            let mut expected = ProcessSum::zero(&wants);
            table.programs().for_each(|row| expected.add(row));
            assert_eq!(sum, expected);
            let written = |write: &dyn Fn(&mut ObjectWriter<'_, '_, '_>)| {
                let mut bytes = Vec::new();
                let mut objects = ObjectsWriter::growing(&mut bytes);
                write(&mut objects.object(&layout, PerfTime(0), FREQUENCY));
                let counts = *objects.counts();
                objects.finish().unwrap();
                (bytes, counts)
            };
            let anew = written(&|object| {
                table
                    .programs()
                    .for_each(|row| write_program(&mut object.instance(&row.name, None, None), row));
            });
            assert!(written(&|object| object.append_cached(&kept.instances)) == anew, "round {rounds}");
            std::thread::sleep(Duration::from_millis(2));
        }
        drop(sleeps);
    }
}
