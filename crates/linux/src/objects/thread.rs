//! Thread (232): one instance per thread, named by its position in its process, with the process as parent.
//!
//! Kernel threads are threads of `System`, and `Idle` has one thread per online CPU. The last instance is
//! `_Total` of the process `_Total`.
//!
//! For a runnable thread the kernel reports the CPU, but not whether the thread is running on it. Of those on
//! a CPU, one counts as running: the thread of this program if it is among them, else the first; the others
//! are ready.

use tallymon_provider::{
    Absence, CollectRequest, CounterBlockMut, DetailLevel, FileTime, InstanceKind, ObjectLayout, ObjectSpec,
    ObjectWriter, ObjectsWriter, Parent, PartialSum, ReadWindow,
};

use super::object::{Object, PROCESS};
use super::process::Positions;
use super::spec::{Origin, counters, object};
use crate::kernel::time::FREQUENCY;
use crate::sources::missing::Missing;
use crate::sources::processes::{
    IdleProcessor, ProcessNeeds, ProcessRow, ProcessTable, Thread as ThreadRow, ThreadNeeds, ThreadStat,
    ThreadUsage, ThreadValues,
};
use crate::sources::{Needs, Sources};

counters! {
    /// Positions of the counters.
    At, COUNTERS, ORIGINS {
        PercentProcessorTime: 6, 193, PERF_100NSEC_TIMER, 0, NOVICE:
            E "/proc/PID/task/TID/schedstat:#1 / 100 | /proc/PID/task/TID/stat: utime + stime * 100000"
             "2.6.23";
        PercentUserTime: 142, 195, PERF_100NSEC_TIMER, 0, ADVANCED:
            E "/proc/PID/task/TID/stat: utime * 100000";
        PercentPrivilegedTime: 144, 197, PERF_100NSEC_TIMER, 0, ADVANCED:
            E "/proc/PID/task/TID/stat: stime * 100000";
        ContextSwitches: 146, 335, PERF_COUNTER_COUNTER, -2, ADVANCED:
            E "/proc/PID/task/TID/status:voluntary_ctxt_switches + :nonvoluntary_ctxt_switches" "2.6.23";
        ElapsedTime: 684, 685, PERF_ELAPSED_TIME, -4, ADVANCED: E "/proc/PID/task/TID/stat: starttime";
        PriorityCurrent: 694, 695, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: C "/proc/PID/task/TID/stat: priority";
        PriorityBase: 682, 683, PERF_COUNTER_RAWCOUNT, 0, ADVANCED:
            C "/proc/PID/task/TID/stat: nice, rt_priority and policy";
        StartAddress: 706, 707, PERF_COUNTER_RAWCOUNT, 0, WIZARD: N;
        ThreadState: 46, 47, PERF_COUNTER_RAWCOUNT, 0, WIZARD: C "/proc/PID/task/TID/stat: state";
        ThreadWaitReason: 336, 337, PERF_COUNTER_RAWCOUNT, 0, WIZARD: A "/proc/PID/task/TID/stat: state";
        IDProcess: 784, 785, PERF_COUNTER_RAWCOUNT, 0, WIZARD:
            E "/proc: the name of the folder of the process";
        IDThread: 804, 805, PERF_COUNTER_RAWCOUNT, 0, WIZARD: E "/proc/PID/task: the name of the folder";
    }
}

const SPEC: ObjectSpec<'static> =
    object(232, 233, DetailLevel::NOVICE, At::PercentProcessorTime.at(), InstanceKind::Many, COUNTERS);

const OF_SCHEDSTAT: [At; 1] = [At::PercentProcessorTime];

const OF_STAT: [At; 6] = [
    At::PercentUserTime,
    At::PercentPrivilegedTime,
    At::PriorityCurrent,
    At::PriorityBase,
    At::ThreadState,
    At::ThreadWaitReason,
];

/// Those of them that `_Total` sums up.
const SUMS_OF_STAT: [At; 2] = [At::PercentUserTime, At::PercentPrivilegedTime];

const OF_STATUS: [At; 1] = [At::ContextSwitches];

/// The kernel hides the start address of threads.
const NOWHERE: [At; 1] = [At::StartAddress];

/// What the requested counters need of each thread.
fn needs(request: &CollectRequest<'_>) -> ThreadNeeds {
    let wants = |positions: &[At]| {
        let mut names = positions.iter().filter_map(|position| COUNTERS.get(position.at()));
        names.any(|counter| request.wants_counter(SPEC.name, counter.name))
    };
    ThreadNeeds { cpu: wants(&OF_SCHEDSTAT), stat: wants(&OF_STAT), switches: wants(&OF_STATUS) }
}

/// The object Thread.
pub(super) struct Thread {
    layout: ObjectLayout<'static>,
    /// `0`, `1`, ... : built once.
    ordinals: Vec<String>,
}

impl Thread {
    pub(super) fn new() -> Thread {
        Thread { layout: ObjectLayout::new(SPEC), ordinals: Vec::new() }
    }
}

impl Object for Thread {
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
        Needs { processes: ProcessNeeds { threads: Some(needs(request)), ..ProcessNeeds::default() } }
    }

    fn collect(&mut self, _ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        let object = out.object(&self.layout, sources.object_time(), FREQUENCY);
        let boot_time = sources.facts.boot_time;
        let mut writer = Writer { object, ordinals: &mut self.ordinals, total: None };
        let table = match sources.all_processes() {
            Ok(table) => table,
            Err(absence) => {
                writer.object.instance("_Total", None, None).absent(0..COUNTERS.len(), absence);
                return;
            }
        };
        let wants = table.wants().threads.unwrap_or_default();
        let zero = zero(wants);
        writer.total = Some(ThreadSum::new(zero));
        let running = Running::new(table);
        let positions = Positions::new(table);
        for (ordinal, processor) in online(table).enumerate() {
            let values = idle(&zero, processor, &running);
            let identity = Identity { process: 0, thread: 0, start: boot_time };
            writer.write(ordinal, Positions::IDLE, &values, identity);
            writer.add_idle(processor.time);
        }
        if let Some(system) = positions.system {
            let threads = table.kernel_threads().flat_map(ProcessRow::threads);
            for (ordinal, thread) in threads.enumerate() {
                // All of them belong to the process System, which has the id of kthreadd.
                writer.write(ordinal, system, &of(thread, true, &running), Identity::new(2, thread));
                writer.add(thread);
            }
        }
        for (row, position) in table.programs().zip(positions.first_program..) {
            for (ordinal, thread) in row.threads().iter().enumerate() {
                writer.write(ordinal, position, &of(thread, false, &running), Identity::new(row.pid, thread));
                writer.add(thread);
            }
        }
        if let Some(total) = writer.total.as_mut().filter(|_| table.is_partial()) {
            let denied = Absence::AccessDenied;
            // How many are hidden is not known, so the sum of the others says nothing.
            total.values = ThreadValues { cpu: Err(denied), stat: Err(denied), switches: Err(denied) };
        }
        writer.finish(positions.total, &table.exited_threads(), boot_time);
    }
}

/// The values of an instance.
#[derive(Debug, Clone, Copy)]
struct Values {
    values: ThreadValues,
    /// NT's state and wait reason.
    state: (u64, u64),
}

#[derive(Debug, Clone, Copy)]
struct Identity {
    process: u64,
    thread: u64,
    start: FileTime,
}

impl Identity {
    fn new(pid: u32, thread: &ThreadRow) -> Identity {
        Identity { process: u64::from(pid), thread: u64::from(thread.tid), start: thread.start }
    }
}

/// Writes instances and adds them up.
struct Writer<'o, 'w, 'b, 'l> {
    object: ObjectWriter<'w, 'b, 'l>,
    ordinals: &'o mut Vec<String>,
    total: Option<ThreadSum>,
}

impl Writer<'_, '_, '_, '_> {
    fn write(&mut self, ordinal: usize, parent: u32, values: &Values, identity: Identity) {
        while self.ordinals.len() <= ordinal {
            self.ordinals.push(self.ordinals.len().to_string());
        }
        let name = self.ordinals.get(ordinal).map_or("", String::as_str);
        let parent = Parent { object: PROCESS, instance: parent };
        write(&mut self.object.instance(name, Some(parent), None), values, identity);
    }

    fn add(&mut self, thread: &ThreadRow) {
        if let Some(total) = &mut self.total {
            total.add(&thread.values, thread.usage());
        }
    }

    /// Adds the thread of Idle on a CPU, which can always be read. Switches to it are not counted.
    fn add_idle(&mut self, time: u64) {
        if let Some(total) = &mut self.total {
            add_usage(
                &mut total.values,
                &ThreadUsage { cpu: time, privileged: time, ..ThreadUsage::default() },
            );
        }
    }

    fn finish(mut self, parent: u32, ended: &ThreadUsage, boot_time: FileTime) {
        let Some(mut total) = self.total else { return };
        let partial = total.finish();
        add_usage(&mut total.values, ended);
        let parent = Parent { object: PROCESS, instance: parent };
        let values = Values { values: total.values, state: (0, 0) };
        let identity = Identity { process: 0, thread: 0, start: boot_time };
        let mut block = self.object.sums("_Total", Some(parent));
        write(&mut block, &values, identity);
        let positions: [&[At]; 3] = [&OF_SCHEDSTAT, &SUMS_OF_STAT, &OF_STATUS];
        for (positions, sum) in positions.into_iter().zip(partial) {
            if let Some(sum) = sum {
                block.partial(positions.iter().map(|position| position.at()), sum);
            }
        }
    }
}

fn zero(wants: ThreadNeeds) -> ThreadValues {
    let wanted = |wanted: bool| if wanted { Ok(()) } else { Err(Absence::NotRequested) };
    ThreadValues {
        cpu: wanted(wants.cpu).map(|()| 0),
        stat: wanted(wants.stat).map(|()| ThreadStat::default()),
        switches: wanted(wants.switches).map(|()| 0),
    }
}

/// The sum of threads. An unreadable thread counts with what it had used when it was last read, so that the sum
/// never falls, and the sum is marked as partial. Priorities and states are not summed up.
#[derive(Debug, Clone, Copy)]
struct ThreadSum {
    values: ThreadValues,
    threads: u32,
    /// Of CPU time, of `stat` and of context switches.
    missing: [Missing; 3],
}

impl ThreadSum {
    fn new(zero: ThreadValues) -> ThreadSum {
        ThreadSum { values: zero, threads: 0, missing: [Missing::default(); 3] }
    }

    fn add(&mut self, values: &ThreadValues, known: &ThreadUsage) {
        self.threads = self.threads.saturating_add(1);
        let stat = values.stat.map_or((known.user, known.privileged), |stat| (stat.user, stat.privileged));
        let used = ThreadUsage {
            cpu: values.cpu.unwrap_or(known.cpu),
            user: stat.0,
            privileged: stat.1,
            switches: values.switches.unwrap_or(known.switches),
        };
        add_usage(&mut self.values, &used);
        let absences = [values.cpu.err(), values.stat.err(), values.switches.err()];
        for (missing, absence) in self.missing.iter_mut().zip(absences) {
            if let Some(absence) = absence {
                missing.note(absence);
            }
        }
    }

    /// What the sums lack. A sum that lacks all threads is absent.
    fn finish(&mut self) -> [Option<PartialSum>; 3] {
        let [cpu, stat, switches] = self.missing;
        let ThreadSum { values, threads, .. } = self;
        [
            cpu.mark(&mut values.cpu, *threads),
            stat.mark(&mut values.stat, *threads),
            switches.mark(&mut values.switches, *threads),
        ]
    }
}

/// Adds what threads have used to the sums that are known.
fn add_usage(sum: &mut ThreadValues, used: &ThreadUsage) {
    sum.cpu = sum.cpu.map(|cpu| cpu.wrapping_add(used.cpu));
    sum.switches = sum.switches.map(|switches| switches.wrapping_add(used.switches));
    if let Ok(stat) = &mut sum.stat {
        stat.user = stat.user.wrapping_add(used.user);
        stat.privileged = stat.privileged.wrapping_add(used.privileged);
    }
}

fn online(table: &ProcessTable) -> impl Iterator<Item = &IdleProcessor> {
    table.idle().unwrap_or_default().iter().filter(|processor| processor.is_online)
}

/// The thread of Idle on a CPU.
fn idle(zero: &ThreadValues, processor: &IdleProcessor, running: &Running) -> Values {
    let is_busy = running.on(u64::from(processor.number)).is_some();
    let values = ThreadValues {
        cpu: zero.cpu.map(|_| processor.time),
        stat: zero.stat.map(|stat| ThreadStat { privileged: processor.time, ..stat }),
        switches: zero.switches.and(Err(Absence::NotOnThisSystem)),
    };
    Values { values, state: (if is_busy { READY } else { RUNNING }, EXECUTIVE) }
}

fn of(thread: &ThreadRow, is_of_kernel: bool, running: &Running) -> Values {
    let state = thread.values.stat.map_or((0, 0), |stat| {
        let runs = stat.processor.and_then(|processor| running.on(processor)) == Some(thread.tid);
        state(stat.state, runs, is_of_kernel)
    });
    Values { values: thread.values, state }
}

// NT's thread states.
const READY: u64 = 1;
const RUNNING: u64 = 2;
const TERMINATED: u64 = 4;
const WAIT: u64 = 5;
const UNKNOWN: u64 = 7;

// NT's wait reasons.
const EXECUTIVE: u64 = 0;
const SUSPENDED: u64 = 5;
const USER_REQUEST: u64 = 6;

/// NT's state and wait reason for the kernel's letter. Waiting for a disk counts as waiting for the
/// executive: the kernel does not report whether it is for a page.
fn state(letter: u8, runs: bool, is_of_kernel: bool) -> (u64, u64) {
    match letter {
        b'R' => (if runs { RUNNING } else { READY }, EXECUTIVE),
        b'S' if !is_of_kernel => (WAIT, USER_REQUEST),
        b'S' | b'D' | b'I' | b'P' => (WAIT, EXECUTIVE),
        b'T' | b't' => (WAIT, SUSPENDED),
        b'Z' | b'X' | b'x' => (TERMINATED, EXECUTIVE),
        // Letters of some kernels before 4.14: about to run, and asleep but to be killed.
        b'W' => (READY, EXECUTIVE),
        b'K' => (WAIT, EXECUTIVE),
        _ => (UNKNOWN, EXECUTIVE),
    }
}

/// Which thread runs on which CPU, unordered.
struct Running(Vec<(u64, u32)>);

impl Running {
    fn new(table: &ProcessTable) -> Running {
        let own = u32::try_from(rustix::thread::gettid().as_raw_nonzero().get()).unwrap_or(0);
        let mut running: Vec<(u64, u32)> = Vec::new();
        for thread in table.kernel_threads().chain(table.programs()).flat_map(ProcessRow::threads) {
            let Ok(ThreadStat { state: b'R', processor: Some(processor), .. }) = thread.values.stat else {
                continue;
            };
            match running.iter_mut().find(|(known, _)| *known == processor) {
                Some((_, tid)) if thread.tid == own => *tid = own,
                Some(_) => {}
                None => running.push((processor, thread.tid)),
            }
        }
        Running(running)
    }

    fn on(&self, processor: u64) -> Option<u32> {
        self.0.iter().find(|(known, _)| *known == processor).map(|(_, tid)| *tid)
    }
}

fn write(block: &mut CounterBlockMut<'_>, values: &Values, identity: Identity) {
    block.set(At::IDProcess.at(), identity.process);
    block.set(At::IDThread.at(), identity.thread);
    block.set(At::ElapsedTime.at(), identity.start.0);
    match values.values.cpu {
        Ok(cpu) => block.set(At::PercentProcessorTime.at(), cpu),
        Err(absence) => block.absent(OF_SCHEDSTAT.map(At::at), absence),
    }
    match values.values.stat {
        Ok(stat) => {
            let (state, reason) = values.state;
            block.set(At::PercentUserTime.at(), stat.user);
            block.set(At::PercentPrivilegedTime.at(), stat.privileged);
            block.set(At::PriorityCurrent.at(), stat.priority);
            block.set(At::PriorityBase.at(), stat.base_priority);
            block.set(At::ThreadState.at(), state);
            block.set(At::ThreadWaitReason.at(), reason);
        }
        Err(absence) => block.absent(OF_STAT.map(At::at), absence),
    }
    match values.values.switches {
        Ok(switches) => block.set(At::ContextSwitches.at(), switches),
        Err(absence) => block.absent(OF_STATUS.map(At::at), absence),
    }
    block.absent(NOWHERE.map(At::at), Absence::NotOnThisSystem);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_has_a_source_or_a_reason() {
        let mut filled: Vec<usize> = [&OF_SCHEDSTAT[..], &OF_STAT, &OF_STATUS, &NOWHERE]
            .concat()
            .into_iter()
            .chain([At::IDProcess, At::IDThread, At::ElapsedTime])
            .map(At::at)
            .collect();
        filled.sort_unstable();
        assert_eq!(filled, (0..COUNTERS.len()).collect::<Vec<_>>());
    }

    #[test]
    fn states() {
        for (letter, runs, is_of_kernel, expected) in [
            (b'R', true, false, (2, 0)),
            (b'R', false, false, (1, 0)),
            (b'S', false, false, (5, 6)),
            (b'S', false, true, (5, 0)),
            (b'D', false, false, (5, 0)),
            (b'I', false, true, (5, 0)),
            (b'T', false, false, (5, 5)),
            (b't', false, false, (5, 5)),
            (b'Z', false, false, (4, 0)),
            (b'?', false, false, (7, 0)),
        ] {
            assert_eq!(state(letter, runs, is_of_kernel), expected, "{}", char::from(letter));
        }
    }
}
