//! Processor (238): one instance per online CPU, and `_Total`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use tallymon_provider::{
    Absence, CollectRequest, CounterBlockMut, CounterSpec, DetailLevel, Frequency, InstanceKind,
    ObjectLayout, ObjectSpec, ObjectsWriter, PerfTime, TitleIndex,
};

use super::object::Object;
use super::spec::{Origin, counters, object};
use crate::kernel::proc::cpuidle::{IdleClass, idle_classes, parse_name, parse_value};
use crate::kernel::proc::microseconds_to_100ns;
use crate::kernel::proc::stat::CpuTicks;
use crate::kernel::reusable_file::{Buffer, ReadMode, ReusableFile};
use crate::sources::monotonic::MonotonicCounter;
use crate::sources::{CpuTotals, Sources};

counters! {
    /// Positions of the counters.
    At, COUNTERS, ORIGINS {
        PercentProcessorTime: 6, 7, PERF_100NSEC_TIMER_INV, 0, NOVICE:
            E "/proc/stat:cpuN: idle + iowait * 100000";
        PercentUserTime: 142, 143, PERF_100NSEC_TIMER, 0, ADVANCED: E "/proc/stat:cpuN: user + nice * 100000";
        PercentPrivilegedTime: 144, 145, PERF_100NSEC_TIMER, 0, ADVANCED:
            E "/proc/stat:cpuN: system + irq + softirq * 100000";
        Interrupts: 148, 149, PERF_COUNTER_COUNTER, -2, NOVICE:
            E "/proc/interrupts: the column of the processor | /proc/stat:intr for all";
        PercentDPCTime: 696, 339, PERF_100NSEC_TIMER, 0, ADVANCED:
            C "/proc/stat:cpuN: softirq * 100000" "2.6.0";
        PercentInterruptTime: 698, 397, PERF_100NSEC_TIMER, 0, ADVANCED:
            C "/proc/stat:cpuN: irq * 100000" "2.6.0";
        DPCsQueued: 1334, 1335, PERF_COUNTER_COUNTER, 0, ADVANCED:
            C "/proc/softirqs: the column of the processor" "2.6.31";
        DPCRate: 1336, 1337, PERF_COUNTER_RAWCOUNT, 0, ADVANCED:
            D "/proc/softirqs: the column of the processor, a tick of the last sample" "2.6.31";
        PercentIdleTime: 1746, 1747, PERF_100NSEC_TIMER, 0, WIZARD:
            E "/proc/stat:cpuN: idle + iowait * 100000";
        PercentC1Time: 1748, 1749, PERF_100NSEC_TIMER, 0, WIZARD:
            C "/sys/devices/system/cpu/cpuN/cpuidle/stateM/time * 10" "2.6.24";
        PercentC2Time: 1750, 1751, PERF_100NSEC_TIMER, 0, WIZARD:
            C "/sys/devices/system/cpu/cpuN/cpuidle/stateM/time * 10" "2.6.24";
        PercentC3Time: 1752, 1753, PERF_100NSEC_TIMER, 0, WIZARD:
            C "/sys/devices/system/cpu/cpuN/cpuidle/stateM/time * 10" "2.6.24";
        C1Transitions: 1754, 1755, PERF_COUNTER_BULK_COUNT, 0, WIZARD:
            C "/sys/devices/system/cpu/cpuN/cpuidle/stateM/usage" "2.6.24";
        C2Transitions: 1756, 1757, PERF_COUNTER_BULK_COUNT, 0, WIZARD:
            C "/sys/devices/system/cpu/cpuN/cpuidle/stateM/usage" "2.6.24";
        C3Transitions: 1758, 1759, PERF_COUNTER_BULK_COUNT, 0, WIZARD:
            C "/sys/devices/system/cpu/cpuN/cpuidle/stateM/usage" "2.6.24";
    }
}

const SPEC: ObjectSpec<'static> =
    object(238, 239, DetailLevel::NOVICE, At::PercentProcessorTime.at(), InstanceKind::Many, COUNTERS);

const IDLE_STATES: [At; 6] = [
    At::PercentC1Time,
    At::PercentC2Time,
    At::PercentC3Time,
    At::C1Transitions,
    At::C2Transitions,
    At::C3Transitions,
];

/// The object Processor.
pub(super) struct Processor {
    layout: ObjectLayout<'static>,
    collector: Collector,
}

/// Collects the values of both CPU objects, and what they remember between samples.
pub(super) struct Collector {
    object: TitleIndex,
    history: BTreeMap<u32, History>,
    buffer: Buffer,
    /// When the DPCs of the rate were last counted, in 100 ns units.
    counted: Option<PerfTime>,
}

/// The values of all CPUs in one sample.
pub(super) struct Gathered {
    /// By CPU number.
    pub(super) rows: Vec<(u32, Values)>,
    /// Interrupts of all CPUs.
    pub(super) all_interrupts: Option<u64>,
    /// Why there are no rows.
    pub(super) missing: Option<Absence>,
    reasons: Reasons,
}

/// The counters that Processor Information shares.
pub(super) const PROCESSOR_COUNTERS: &[CounterSpec] = COUNTERS;
/// Where their values come from.
pub(super) const PROCESSOR_ORIGINS: &[Origin] = ORIGINS;

/// What is remembered of a CPU between two samples.
#[derive(Default)]
struct History {
    idle: MonotonicCounter,
    iowait: MonotonicCounter,
    /// Softirqs at the last sample.
    softirqs: Option<u32>,
    idle_states: Option<IdleStates>,
}

/// The values of one instance, or of a sum.
#[derive(Clone, Copy, Default)]
pub(super) struct Values {
    pub(super) idle: u64,
    user: u64,
    pub(super) privileged: u64,
    interrupt: Option<u64>,
    dpc: Option<u64>,
    pub(super) interrupts: Option<u64>,
    softirqs: Option<u64>,
    dpc_rate: Option<u64>,
    /// Time in 100 ns units and number of entries, for C1, C2 and C3.
    pub(super) idle_states: Option<[(u64, u64); 3]>,
}

impl Processor {
    pub(super) fn new() -> Processor {
        Processor { layout: ObjectLayout::new(SPEC), collector: Collector::new(SPEC.name) }
    }
}

impl Object for Processor {
    fn spec(&self) -> &ObjectSpec<'static> {
        self.layout.spec()
    }

    fn total_is_mean(&self, position: usize) -> bool {
        super::quantum::is_share_of_time(self.spec().counters, position)
    }

    fn origins(&self) -> &'static [Origin] {
        ORIGINS
    }

    fn quantum(&self, position: usize) -> u64 {
        super::quantum::quantum_of_ticks(self.spec().counters, position)
    }

    fn collect(&mut self, ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        let found = self.collector.gather(ask, sources);
        let mut object = out.object(&self.layout, PerfTime(0), Frequency(0));
        for (number, values) in &found.rows {
            found.write(&mut object.instance(&number.to_string(), None, None), values);
        }
        let mut total = Gathered::mean(found.rows.iter().map(|(_, values)| values));
        // A single number of /proc/stat, which needs no other file.
        total.interrupts = found.all_interrupts;
        found.write(&mut object.instance("_Total", None, None), &total);
    }
}

impl Collector {
    pub(super) fn new(object: TitleIndex) -> Collector {
        Collector { object, history: BTreeMap::new(), buffer: Buffer::new(), counted: None }
    }

    /// Reads what the requested counters need.
    pub(super) fn gather(&mut self, ask: &CollectRequest<'_>, sources: &mut Sources) -> Gathered {
        let wants = |position: At| {
            COUNTERS.get(position.at()).is_some_and(|counter| ask.interest.wants(self.object, counter.name))
        };
        let interrupts = by_number(wants(At::Interrupts).then(|| sources.interrupts()));
        let softirqs = by_number((wants(At::DPCsQueued) || wants(At::DPCRate)).then(|| sources.softirqs()));
        let wants_states = IDLE_STATES.iter().any(|position| wants(*position));
        let facts = sources.facts;
        let now = sources.perf_time;
        // Ticks of NT's clock, 10 ms each, since the DPCs were last counted.
        let ticks = self.counted.map(|then| now.0.saturating_sub(then.0).cast_unsigned() / 100_000);
        let mut rows: Vec<(u32, Values)> = Vec::new();
        let mut missing = None;
        let mut all_interrupts = None;
        match sources.stat() {
            Ok(stat) => {
                all_interrupts = stat.interrupts;
                for (number, cpu) in &stat.cpus {
                    let history = self.history.entry(*number).or_default();
                    let mut values = times(cpu, history, |ticks| facts.ticks_to_100ns(ticks));
                    values.interrupts =
                        interrupts.as_ref().ok().and_then(|of| of.get(number)).copied().map(u64::from);
                    if let Some(count) = softirqs.as_ref().ok().and_then(|of| of.get(number)).copied() {
                        let before = history.softirqs.replace(count);
                        values.softirqs = Some(u64::from(count));
                        values.dpc_rate = before.zip(ticks).and_then(|(before, ticks)| {
                            u64::from(count.wrapping_sub(before)).checked_div(ticks)
                        });
                    }
                    rows.push((*number, values));
                }
            }
            Err(absence) => missing = Some(absence),
        }
        if softirqs.is_ok() {
            self.counted = Some(now);
        }
        if self.history.len() > rows.len() {
            let numbers: BTreeSet<u32> = rows.iter().map(|(number, _)| *number).collect();
            self.history.retain(|number, _| numbers.contains(number));
        }
        if wants_states {
            for (number, values) in &mut rows {
                let Some(history) = self.history.get_mut(number) else { continue };
                let states = history.idle_states.get_or_insert_with(|| {
                    IdleStates::open(&sources.root.sys(&format!("devices/system/cpu/cpu{number}/cpuidle")))
                });
                values.idle_states = states.read(&mut self.buffer);
            }
        }
        let reasons = Reasons {
            interrupts: interrupts.err(),
            softirqs: softirqs.err(),
            idle_states: if wants_states { Absence::NotFromThisDevice } else { Absence::NotRequested },
        };
        Gathered { rows, all_interrupts, missing, reasons }
    }
}

impl Gathered {
    /// The instance for a group of CPUs: the mean of shares and the sum of counts.
    pub(super) fn mean<'v>(all: impl Iterator<Item = &'v Values>) -> Values {
        let mut total = Values::default();
        let mut count = 0_u64;
        for values in all {
            total.add(values);
            count = count.saturating_add(1);
        }
        total.divide(count.max(1));
        total
    }

    /// Writes an instance, with reasons for absent values.
    pub(super) fn write(&self, block: &mut CounterBlockMut<'_>, values: &Values) {
        match self.missing {
            None => write(block, values, &self.reasons),
            Some(absence) => block.absent(0..COUNTERS.len(), absence),
        }
    }
}

/// Why some values are absent.
struct Reasons {
    interrupts: Option<Absence>,
    softirqs: Option<Absence>,
    idle_states: Absence,
}

/// The numbers by CPU, or why they were not read.
fn by_number(read: Option<Result<CpuTotals, Absence>>) -> Result<BTreeMap<u32, u32>, Absence> {
    Ok(read.unwrap_or(Err(Absence::NotRequested))?.into_iter().collect())
}

/// CPU times in 100 ns units. Waiting for I/O counts as idle, as on NT; guest time is part of user time
/// already.
fn times(cpu: &CpuTicks, history: &mut History, units: impl Fn(u64) -> u64) -> Values {
    // Three seconds back means that a CPU was unplugged; less is the kernel's known jitter.
    const RESTART: u64 = 300;
    let idle = history.idle.step(cpu.idle, RESTART);
    let iowait = history.iowait.step(cpu.iowait.unwrap_or(0), RESTART);
    Values {
        idle: units(idle.wrapping_add(iowait)),
        user: units(cpu.user_time()),
        privileged: units(cpu.privileged_time()),
        interrupt: cpu.irq.map(&units),
        dpc: cpu.softirq.map(&units),
        ..Values::default()
    }
}

impl Values {
    fn add(&mut self, other: &Values) {
        fn sum(one: &mut Option<u64>, other: Option<u64>) {
            if let Some(other) = other {
                *one = Some(one.unwrap_or(0).wrapping_add(other));
            }
        }
        self.idle = self.idle.wrapping_add(other.idle);
        self.user = self.user.wrapping_add(other.user);
        self.privileged = self.privileged.wrapping_add(other.privileged);
        sum(&mut self.interrupt, other.interrupt);
        sum(&mut self.dpc, other.dpc);
        sum(&mut self.interrupts, other.interrupts);
        sum(&mut self.softirqs, other.softirqs);
        sum(&mut self.dpc_rate, other.dpc_rate);
        if let Some(states) = other.idle_states {
            let mut sums = self.idle_states.unwrap_or_default();
            for (sum, state) in sums.iter_mut().zip(states) {
                *sum = (sum.0.wrapping_add(state.0), sum.1.wrapping_add(state.1));
            }
            self.idle_states = Some(sums);
        }
    }

    /// `_Total` is the mean of shares and the sum of counts.
    fn divide(&mut self, processors: u64) {
        let mean = |value: u64| value.checked_div(processors).unwrap_or(value);
        self.idle = mean(self.idle);
        self.user = mean(self.user);
        self.privileged = mean(self.privileged);
        self.interrupt = self.interrupt.map(mean);
        self.dpc = self.dpc.map(mean);
        self.idle_states = self.idle_states.map(|states| states.map(|(time, entries)| (mean(time), entries)));
    }
}

fn write(block: &mut CounterBlockMut<'_>, values: &Values, reasons: &Reasons) {
    block.set(At::PercentProcessorTime.at(), values.idle);
    block.set(At::PercentIdleTime.at(), values.idle);
    block.set(At::PercentUserTime.at(), values.user);
    block.set(At::PercentPrivilegedTime.at(), values.privileged);
    block.set_or(At::PercentInterruptTime.at(), values.interrupt, Absence::NotInThisKernel);
    block.set_or(At::PercentDPCTime.at(), values.dpc, Absence::NotInThisKernel);
    block.set_or(At::Interrupts.at(), values.interrupts, reasons.interrupts.unwrap_or(Absence::Other));
    block.set_or(At::DPCsQueued.at(), values.softirqs, reasons.softirqs.unwrap_or(Absence::Other));
    block.set_or(At::DPCRate.at(), values.dpc_rate, reasons.softirqs.unwrap_or(Absence::FirstSample));
    match values.idle_states {
        Some([(t1, n1), (t2, n2), (t3, n3)]) => {
            for (position, value) in IDLE_STATES.into_iter().zip([t1, t2, t3, n1, n2, n3]) {
                block.set(position.at(), value);
            }
        }
        None => block.absent(IDLE_STATES.map(At::at), reasons.idle_states),
    }
}

/// The files of a CPU's idle states, by NT's three classes.
struct IdleStates {
    /// The class, and the files of time (in microseconds) and entries.
    files: Vec<(usize, ReusableFile, ReusableFile)>,
}

impl IdleStates {
    fn open(folder: &Path) -> IdleStates {
        let mut states = Vec::new();
        for number in 0..64 {
            let state = folder.join(format!("state{number}"));
            let Ok(name) = std::fs::read(state.join("name")) else { break };
            states.push((state, parse_name(&name).to_vec()));
        }
        let names: Vec<&[u8]> = states.iter().map(|(_, name)| name.as_slice()).collect();
        let kinds = idle_classes(&names).into_iter().map(|class| match class {
            // Polling is no sleep.
            IdleClass::Polling => None,
            IdleClass::C1 => Some(0),
            IdleClass::C2 => Some(1),
            IdleClass::C3 => Some(2),
        });
        let file = |state: &Path, name: &str| ReusableFile::new(state.join(name), ReadMode::Whole);
        let files = kinds
            .zip(&states)
            .filter_map(|(kind, (state, _))| Some((kind?, file(state, "time"), file(state, "usage"))));
        IdleStates { files: files.collect() }
    }

    /// Time in 100 ns units and entries of the three classes; `None` without any state, or when one cannot
    /// be read.
    fn read(&mut self, buffer: &mut Buffer) -> Option<[(u64, u64); 3]> {
        let mut sums = [(0u64, 0u64); 3];
        for (kind, time, usage) in &mut self.files {
            let time = parse_value("cpuidle/time", time.read(buffer).ok()?).ok()??;
            let usage = parse_value("cpuidle/usage", usage.read(buffer).ok()?).ok()??;
            let sum = sums.get_mut(*kind)?;
            *sum = (sum.0.wrapping_add(microseconds_to_100ns(time)), sum.1.wrapping_add(usage));
        }
        (!self.files.is_empty()).then_some(sums)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn idle_states_by_depth() {
        let folder = std::env::temp_dir().join(format!("tallymon-cpuidle-{}", std::process::id()));
        for (number, (name, time, usage)) in
            [("POLL", 7, 7), ("C1", 10, 1), ("C1E", 20, 2), ("C3", 30, 3), ("C6", 40, 4)].iter().enumerate()
        {
            let state = folder.join(format!("state{number}"));
            fs::create_dir_all(&state).unwrap();
            fs::write(state.join("name"), format!("{name}\n")).unwrap();
            fs::write(state.join("time"), format!("{time}\n")).unwrap();
            fs::write(state.join("usage"), format!("{usage}\n")).unwrap();
        }
        let read = IdleStates::open(&folder).read(&mut Buffer::new());
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(read, Some([(300, 3), (0, 0), (700, 7)]), "C1 and C1E are C1, C3 and C6 are C3");
        assert_eq!(IdleStates::open(&folder).read(&mut Buffer::new()), None, "a machine without cpuidle");
    }

    #[test]
    fn iowait_is_idle_and_interrupts_are_privileged() {
        let cpu = CpuTicks {
            user: 100,
            nice: 10,
            system: 50,
            idle: 1000,
            iowait: Some(200),
            irq: Some(3),
            softirq: Some(4),
            steal: Some(5),
            guest: Some(60),
            guest_nice: Some(0),
        };
        let values = times(&cpu, &mut History::default(), |ticks| ticks);
        assert_eq!((values.idle, values.user, values.privileged), (1200, 110, 57));
        assert_eq!((values.interrupt, values.dpc), (Some(3), Some(4)));
    }
}
