//! Processor Information: the counters of Processor, and CPU speed, by memory node.
//!
//! Instances are `node,processor`, `node,_Total` and `_Total`, as on Windows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tallymon_provider::{
    Absence, CollectRequest, CounterBlockMut, CounterSpec, DetailLevel, Frequency, InstanceKind,
    ObjectLayout, ObjectSpec, ObjectsWriter, PerfTime, TitleIndex,
};

use super::object::Object;
use super::processor::{Collector, Gathered, PROCESSOR_COUNTERS, PROCESSOR_ORIGINS, Values};
use super::spec::{Origin, object, rows};
use super::table::{add, folders, write};
use crate::kernel::proc::cpuinfo;
use crate::kernel::proc::scan::{decimal, ranges};
use crate::sources::Sources;

const NAME: TitleIndex = TitleIndex(900_000);

rows! { SPEED_COUNTERS, SPEED_ORIGINS {
    900_002 PERF_COUNTER_RAWCOUNT -2 NOVICE: A "cpufreq/scaling_cur_freq / 1000 | /proc/cpuinfo:cpu MHz";
    900_004 PERF_RAW_FRACTION 0 NOVICE: A "cpufreq/scaling_cur_freq";
    900_004 PERF_RAW_BASE 0 NOVICE: A "cpufreq/cpuinfo_max_freq";
    900_006 PERF_RAW_FRACTION 0 NOVICE: A "cpufreq/scaling_cur_freq";
    900_006 PERF_RAW_BASE 0 NOVICE: A "cpufreq/base_frequency" "4.20";
    900_008 PERF_COUNTER_RAWCOUNT 0 ADVANCED: Z "0";
    900_010 PERF_COUNTER_COUNTER -2 ADVANCED: C "/proc/interrupts:LOC";
    900_012 PERF_COUNTER_BULK_COUNT 0 ADVANCED: C "cpuidle/state*/usage" "2.6.24";
    900_014 PERF_AVERAGE_BULK 0 ADVANCED: C "cpuidle/state*/time * 10" "2.6.24";
    900_014 PERF_AVERAGE_BASE 0 ADVANCED: C "cpuidle/state*/usage" "2.6.24";
    900_016 PERF_COUNTER_RAWCOUNT 0 ADVANCED:
        A "thermal_throttle/core_throttle_count + thermal_throttle/package_throttle_count" "2.6.36";
    900_018 PERF_COUNTER_RAWCOUNT 0 ADVANCED:
        A "cpufreq/scaling_max_freq, or less by cpufreq/bios_limit (2.6.33), over cpufreq/cpuinfo_max_freq";
    900_020 PERF_COUNTER_RAWCOUNT 0 ADVANCED: Z "0";
    900_022 PERF_100NSEC_TIMER 0 ADVANCED: N;
    900_024 PERF_100NSEC_TIMER 0 NOVICE:
        D "/proc/stat:cpuN: all but idle and iowait, times cpufreq/scaling_cur_freq over \
         cpufreq/base_frequency" "4.20";
    900_026 PERF_100NSEC_TIMER 0 ADVANCED:
        D "/proc/stat:cpuN: system + irq + softirq, times cpufreq/scaling_cur_freq over \
         cpufreq/base_frequency" "4.20";
}}

const COUNTERS: &[CounterSpec] =
    &both::<_, { PROCESSOR_COUNTERS.len() + SPEED_COUNTERS.len() }>(PROCESSOR_COUNTERS, SPEED_COUNTERS);

const ORIGINS: &[Origin] =
    &both::<_, { PROCESSOR_ORIGINS.len() + SPEED_ORIGINS.len() }>(PROCESSOR_ORIGINS, SPEED_ORIGINS);

/// One table behind the other.
#[allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "evaluated by the compiler, which reports a wrong index"
)]
const fn both<T: Copy, const N: usize>(one: &[T], other: &[T]) -> [T; N] {
    let mut all = [one[0]; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < one.len() { one[at] } else { other[at - one.len()] };
        at += 1;
    }
    all
}

const SPEC: ObjectSpec<'static> =
    object(NAME.0, NAME.0 + 1, DetailLevel::NOVICE, 0, InstanceKind::Many, COUNTERS);

/// The positions of the speed counters in their table.
const FREQUENCY: usize = 0;
const MAXIMUM: usize = 2;
const BASE: usize = 4;
const PARKING: usize = 5;
const CLOCK: usize = 6;
const IDLE_BREAKS: usize = 7;
const IDLE_TIME: usize = 8;
const IDLE_COUNT: usize = 9;
const LIMIT_FLAGS: usize = 10;
const LIMIT: usize = 11;
const STATE_FLAGS: usize = 12;
const UTILITY: usize = 14;
const PRIVILEGED_UTILITY: usize = 15;

/// How long reading the speeds of all processors may take: some drivers need milliseconds for each.
const PATIENCE: Duration = Duration::from_millis(20);

type Speeds = Vec<Result<u64, Absence>>;

/// The speeds in kilohertz of one sample.
#[derive(Default)]
struct Frequencies {
    /// The time spent on this sample.
    spent: Duration,
    /// Speeds by `/proc/cpuinfo`, read when a processor has no driver that scales it.
    listed: Option<Result<BTreeMap<u32, u64>, Absence>>,
}

impl Frequencies {
    /// The speed of a processor: of its driver, else of the list.
    fn read(&mut self, number: u32, folder: &Path, sources: &mut Sources) -> Result<u64, Absence> {
        if self.spent >= PATIENCE {
            return Err(Absence::ReadFailed);
        }
        let begin = Instant::now();
        let speed = file_number(sources, folder.join("cpufreq/scaling_cur_freq")).or_else(|absence| {
            if absence != Absence::NotFromThisDevice {
                return Err(absence);
            }
            let read = || sources.text("/proc/cpuinfo").map(cpuinfo::kilohertz);
            let listed = self.listed.get_or_insert_with(read).as_ref().map_err(|_| absence)?;
            listed.get(&number).copied().ok_or(absence)
        });
        self.spent = self.spent.saturating_add(begin.elapsed());
        speed
    }
}

/// The object Processor Information.
pub(super) struct ProcessorInformation {
    layout: ObjectLayout<'static>,
    collector: Collector,
    /// The heat throttling count of each CPU at the last sample.
    throttled: BTreeMap<u32, u64>,
    utilities: BTreeMap<u32, Utility>,
    /// The speeds of this sample.
    frequencies: Frequencies,
}

/// The work of a CPU, as the time that it would have taken at base frequency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Utility {
    /// The time of the last sample, with the idle and privileged time then, in 100 ns units.
    last: Option<(u64, u64, u64)>,
    all: u64,
    privileged: u64,
}

impl Utility {
    /// Adds the work since the last sample: `utility = busy time * speed / base`.
    fn step(&mut self, now: u64, idle: u64, privileged: u64, speed: u64, base: u64) {
        let Some((time, idle_then, privileged_then)) = self.last.replace((now, idle, privileged)) else {
            return;
        };
        let scale = |time: u64| {
            let scaled = u128::from(time).saturating_mul(u128::from(speed)).checked_div(u128::from(base));
            u64::try_from(scaled.unwrap_or(0)).unwrap_or(0)
        };
        // Times counted in ticks may be ahead of the clock by one.
        let busy = now.saturating_sub(time).saturating_sub(idle.saturating_sub(idle_then));
        self.all = self.all.wrapping_add(scale(busy));
        self.privileged = self.privileged.wrapping_add(scale(privileged.saturating_sub(privileged_then)));
    }
}

impl ProcessorInformation {
    pub(super) fn new() -> ProcessorInformation {
        let layout = ObjectLayout::new(SPEC);
        ProcessorInformation {
            layout,
            collector: Collector::new(NAME),
            throttled: BTreeMap::new(),
            utilities: BTreeMap::new(),
            frequencies: Frequencies::default(),
        }
    }

    /// The speed values in the directory of a CPU.
    fn speeds(
        &mut self,
        number: u32,
        values: &Values,
        ask: &CollectRequest<'_>,
        sources: &mut Sources,
    ) -> Speeds {
        let mut speeds = vec![Err(Absence::NotOnThisSystem); SPEED_COUNTERS.len()];
        let folder = sources.root.sys(&format!("devices/system/cpu/cpu{number}"));
        let mut set = |position: usize, value: Result<u64, Absence>| {
            if let Some(speed) = speeds.get_mut(position) {
                *speed = value;
            }
        };
        let time = sources.now.0;
        // Reading the frequency can take milliseconds per CPU, so it is only read when requested.
        let is_asked = !ask.interest.is_everything()
            && SPEED_COUNTERS
                .iter()
                .take(BASE)
                .chain(SPEED_COUNTERS.iter().skip(UTILITY))
                .chain(SPEED_COUNTERS.get(LIMIT))
                .any(|counter| ask.interest.wants(NAME, counter.name));
        let now = is_asked.then(|| self.frequencies.read(number, &folder, sources));
        let mut read = |file: &str| file_number(sources, folder.join(file));
        if let Some(now) = now {
            set(FREQUENCY, now.map(|kilohertz| kilohertz / 1000));
            set(FREQUENCY.saturating_add(1), now);
            let highest = read("cpufreq/cpuinfo_max_freq");
            set(MAXIMUM, highest);
            // Not all firmware limits CPUs.
            let bios = read("cpufreq/bios_limit").unwrap_or(u64::MAX);
            let limit = read("cpufreq/scaling_max_freq").map(|policy| policy.min(bios));
            set(LIMIT, limit.and_then(|limit| share(limit, highest?)));
            set(BASE.saturating_sub(1), now);
            let base = read("cpufreq/base_frequency");
            set(BASE, base);
            // Not all drivers know a base frequency; the highest one is the next best.
            let base = base.or(highest);
            let utility = now.and_then(|now| Ok((now, base?))).map(|(now, base)| {
                let utility = self.utilities.entry(number).or_default();
                utility.step(time, values.idle, values.privileged, now, base);
                *utility
            });
            set(UTILITY, utility.map(|utility| utility.all));
            set(PRIVILEGED_UTILITY, utility.map(|utility| utility.privileged));
        } else {
            let positions = (FREQUENCY..=BASE).chain([LIMIT, UTILITY, PRIVILEGED_UTILITY]);
            positions.for_each(|position| set(position, Err(Absence::NotRequested)));
            // The speed is unknown for this interval.
            self.utilities.entry(number).or_default().last = None;
        }
        // A CPU that works is not parked, and Linux has no states to flag.
        set(PARKING, Ok(0));
        set(STATE_FLAGS, Ok(0));
        let idle = values.idle_states.ok_or(Absence::NotFromThisDevice);
        let sum = |part: fn(&(u64, u64)) -> u64| {
            idle.map(|states| states.iter().map(part).fold(0_u64, u64::wrapping_add))
        };
        set(IDLE_BREAKS, sum(|state| state.1));
        set(IDLE_TIME, sum(|state| state.0));
        set(IDLE_COUNT, sum(|state| state.1));
        let core = read("thermal_throttle/core_throttle_count");
        let package = read("thermal_throttle/package_throttle_count");
        let throttled = core.and_then(|core| Ok(core.wrapping_add(package?)));
        set(
            LIMIT_FLAGS,
            throttled.and_then(|count| {
                let before = self.throttled.insert(number, count).ok_or(Absence::FirstSample)?;
                Ok(u64::from(count != before))
            }),
        );
        speeds
    }
}

/// `share = 100 * limit / highest`, in percent and never above 100.
fn share(limit: u64, highest: u64) -> Result<u64, Absence> {
    let hundredfold = limit.min(highest).saturating_mul(100);
    hundredfold.checked_div(highest).ok_or(Absence::NotFromThisDevice)
}

fn file_number(sources: &mut Sources, path: PathBuf) -> Result<u64, Absence> {
    let text = sources.text_of(path).map_err(|absence| match absence {
        Absence::NotInThisKernel => Absence::NotFromThisDevice,
        absence => absence,
    })?;
    decimal(text.trim_ascii()).ok_or(Absence::ReadFailed)
}

/// The CPUs of each node by its number; a single node 0 with all CPUs where the kernel knows no nodes.
fn nodes(sources: &mut Sources, processors: &BTreeSet<u32>) -> BTreeMap<u32, BTreeSet<u32>> {
    let mut nodes: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    let mut rest = processors.clone();
    for (name, folder) in
        folders(sources, "devices/system/node", |name| name.starts_with("node")).unwrap_or_default()
    {
        let Some(node) = name.strip_prefix("node").and_then(|number| number.parse().ok()) else { continue };
        let Ok(text) = sources.text_of(folder.join("cpulist")) else { continue };
        let found: BTreeSet<u32> = ranges(text)
            .into_iter()
            .filter(|(first, last)| first <= last)
            .filter_map(|(first, last)| {
                let last = u32::try_from(last).unwrap_or(u32::MAX);
                Some(processors.range(u32::try_from(first).ok()?..=last))
            })
            .flatten()
            .copied()
            .collect();
        if !found.is_empty() {
            for number in &found {
                rest.remove(number);
            }
            nodes.insert(node, found);
        }
    }
    if !rest.is_empty() {
        nodes.entry(0).or_default().append(&mut rest);
    }
    nodes
}

/// Sums of counts; means of speeds and utilities.
fn sum<'s>(speeds: impl Iterator<Item = &'s Speeds> + Clone) -> Speeds {
    let mut total = vec![Err(Absence::NotRequested); SPEED_COUNTERS.len()];
    let mut all = 0_u64;
    for speeds in speeds.clone() {
        add(&mut total, speeds);
        all = all.saturating_add(1);
    }
    for (position, value) in total.iter_mut().enumerate() {
        let values = speeds.clone().filter_map(|speeds| speeds.get(position));
        let count = match position {
            // Of the processors whose speed is known: reading them all may take too long.
            FREQUENCY | LIMIT => values.filter(|value| value.is_ok()).count() as u64,
            // Times grow from sample to sample, so their sum needs every processor.
            UTILITY | PRIVILEGED_UTILITY => {
                if values.into_iter().any(|value| *value == Err(Absence::ReadFailed)) {
                    *value = Err(Absence::ReadFailed);
                }
                all
            }
            _ => continue,
        };
        *value = value.map(|sum| sum.checked_div(count).unwrap_or(sum));
    }
    total
}

fn write_instance(
    block: &mut CounterBlockMut<'_>,
    found: &Gathered,
    values: &Values,
    speeds: &[Result<u64, Absence>],
) {
    found.write(block, values);
    write(SPEED_COUNTERS, block, speeds, PROCESSOR_COUNTERS.len());
}

impl Object for ProcessorInformation {
    fn spec(&self) -> &ObjectSpec<'static> {
        self.layout.spec()
    }

    fn quantum(&self, position: usize) -> u64 {
        super::quantum::quantum_of_ticks(self.spec().counters, position)
    }

    fn total_is_mean(&self, position: usize) -> bool {
        super::quantum::is_share_of_time(self.spec().counters, position)
    }

    fn origins(&self) -> &'static [Origin] {
        ORIGINS
    }

    fn collect(&mut self, ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        let found = self.collector.gather(ask, sources);
        let rows: BTreeMap<u32, &Values> =
            found.rows.iter().map(|(number, values)| (*number, values)).collect();
        let numbers: BTreeSet<u32> = rows.keys().copied().collect();
        let clock = if SPEED_COUNTERS.get(CLOCK).is_some_and(|counter| ask.interest.wants(NAME, counter.name))
        {
            clocks(sources)
        } else {
            Err(Absence::NotRequested)
        };
        self.frequencies = Frequencies::default();
        let mut speeds: BTreeMap<u32, Speeds> = BTreeMap::new();
        for (number, values) in &found.rows {
            let mut found = self.speeds(*number, values, ask, sources);
            if let Some(speed) = found.get_mut(CLOCK) {
                *speed = match &clock {
                    Ok(clocks) => clocks.get(number).copied().ok_or(Absence::NotFromThisDevice),
                    Err(absence) => Err(*absence),
                };
            }
            speeds.insert(*number, found);
        }
        self.throttled.retain(|number, _| numbers.contains(number));
        self.utilities.retain(|number, _| numbers.contains(number));
        let mut object = out.object(&self.layout, PerfTime(0), Frequency(0));
        for (node, members) in nodes(sources, &numbers) {
            let values = || members.iter().filter_map(|number| Some((number, *rows.get(number)?)));
            for (number, values) in values() {
                let speeds = speeds.get(number).map_or(&[][..], Vec::as_slice);
                let name = format!("{node},{number}");
                write_instance(&mut object.instance(&name, None, None), &found, values, speeds);
            }
            let total = Gathered::mean(values().map(|(_, values)| values));
            let sum = sum(members.iter().filter_map(|number| speeds.get(number)));
            write_instance(&mut object.instance(&format!("{node},_Total"), None, None), &found, &total, &sum);
        }
        let mut total = Gathered::mean(rows.values().copied());
        total.interrupts = found.all_interrupts;
        write_instance(&mut object.instance("_Total", None, None), &found, &total, &sum(speeds.values()));
    }
}

/// Timer interrupts of each CPU.
fn clocks(sources: &mut Sources) -> Result<BTreeMap<u32, u64>, Absence> {
    Ok(sources.clock_interrupts()?.into_iter().map(|(number, clock)| (number, u64::from(clock))).collect())
}

#[cfg(test)]
mod tests {
    use super::super::fake_machine_tests::{Machine, System, collect, instance, named, names};
    use super::*;
    use tallymon_provider::{Interest, ValueState};

    const STAT: &[u8] = b"cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 10 0 20 300 0 0 0 0 0 0\ncpu1 30 0 40 100 0 0 0 0 \
        0 0\ncpu2 0 0 0 500 0 0 0 0 0 0\nintr 99 1\n";

    #[test]
    fn processors_by_node() {
        let mut machine = Machine::new(&[
            ("proc/stat", STAT),
            ("sys/devices/system/node/node0/cpulist", b"0-1\n"),
            ("sys/devices/system/node/node1/cpulist", b"2,9\n"),
        ]);
        let snapshot = machine.read(NAME.0);
        assert_eq!(names(&snapshot), ["0,0", "0,1", "0,_Total", "1,2", "1,_Total", "_Total"]);
        assert_eq!(
            named(&instance(&snapshot, "0,_Total"), 142),
            Ok(2_000_000),
            "the mean of 10 and 30 ticks"
        );
        assert_eq!(named(&instance(&snapshot, "_Total"), 1746), Ok(30_000_000));
        assert_eq!(named(&instance(&snapshot, "_Total"), 148), Ok(99));
        let not_asked = Err(ValueState::Absent(Absence::NotRequested));
        assert_eq!(named(&instance(&snapshot, "0,0"), 900_002), not_asked, "never in a sweep");
        assert_eq!(
            names(&Machine::new(&[("proc/stat", STAT)]).read(NAME.0))[4],
            "_Total",
            "one node without nodes"
        );
    }

    #[test]
    fn speed_is_read_only_when_requested() {
        let mut machine = Machine::new(&[
            ("proc/stat", STAT),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", b"1200000\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", b"3600000\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/base_frequency", b"2400000\n"),
            ("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", b"3\n"),
            ("sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", b"0\n"),
        ]);
        let mut interest = Interest::everything();
        interest.add_object(NAME);
        let snapshot = machine.read_only(NAME.0, &interest);
        let first = instance(&snapshot, "0,0");
        assert_eq!(named(&first, 900_002), Ok(1200));
        let share = |counter: u32| {
            let sample = first.sample(first.object().position(TitleIndex(counter)).unwrap()).unwrap();
            (sample.first, sample.second)
        };
        assert_eq!(share(900_004), (1_200_000, 3_600_000));
        assert_eq!(share(900_006), (1_200_000, 2_400_000), "slower than its base frequency");
        assert_eq!(named(&first, 900_016), Err(ValueState::Absent(Absence::FirstSample)));
        let no_device = Err(ValueState::Absent(Absence::NotFromThisDevice));
        assert_eq!(named(&instance(&snapshot, "0,1"), 900_002), no_device, "never another processor's");
        machine.write("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", b"4\n");
        let snapshot = machine.read_only(NAME.0, &interest);
        assert_eq!(named(&instance(&snapshot, "0,0"), 900_016), Ok(1), "it was slowed down since");
    }

    #[test]
    fn speed_without_a_driver_is_that_of_the_list() {
        let mut machine = Machine::new(&[
            ("proc/stat", STAT),
            (
                "proc/cpuinfo",
                b"processor\t: 0\ncpu MHz\t\t: 2596.120\n\nprocessor\t: 1\ncpu MHz\t\t: 900.000\n",
            ),
            ("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", b"1200000\n"),
        ]);
        let mut interest = Interest::everything();
        interest.add(NAME, TitleIndex(900_002));
        let snapshot = machine.read_only(NAME.0, &interest);
        let speed = |name: &str| named(&instance(&snapshot, name), 900_002);
        assert_eq!((speed("0,0"), speed("0,1")), (Ok(2596), Ok(1200)), "the driver's comes first");
        assert_eq!(speed("0,2"), Err(ValueState::Absent(Absence::NotFromThisDevice)));
        assert_eq!(speed("_Total"), Ok((2596 + 1200) / 2), "the mean of those that are known");
    }

    #[test]
    fn slow_speeds_end_with_the_deadline() {
        let machine = Machine::new(&[("proc/stat", STAT)]);
        let mut frequencies = Frequencies { spent: PATIENCE, ..Frequencies::default() };
        machine.write("cpu0/cpufreq/scaling_cur_freq", b"1200000\n");
        let folder = machine.folder.join("cpu0");
        let root = crate::kernel::root::Root::below(&machine.folder);
        let mut sources = Sources::open(root, tallymon_provider::TierChoice::Auto).unwrap();
        assert_eq!(frequencies.read(0, &folder, &mut sources), Err(Absence::ReadFailed));
        frequencies.spent = Duration::ZERO;
        assert_eq!(frequencies.read(0, &folder, &mut sources), Ok(1_200_000));
        let one = |speed, utility| {
            let mut speeds = vec![Ok(0); SPEED_COUNTERS.len()];
            (speeds[FREQUENCY], speeds[UTILITY]) = (speed, utility);
            speeds
        };
        let speeds = [one(Ok(1_000), Ok(7)), one(Err(Absence::ReadFailed), Err(Absence::ReadFailed))];
        let total = sum(speeds.iter());
        assert_eq!((total[FREQUENCY], total[UTILITY]), (Ok(1_000), Err(Absence::ReadFailed)));
    }

    #[test]
    fn the_lower_of_two_limits() {
        let folder = "sys/devices/system/cpu/cpu0/cpufreq";
        let [highest, policy, bios] =
            ["cpuinfo_max_freq", "scaling_max_freq", "bios_limit"].map(|file| format!("{folder}/{file}"));
        let mut machine = Machine::new(&[
            ("proc/stat", STAT),
            (&highest, b"3600000\n"),
            (&policy, b"2700000\n"),
            ("sys/devices/system/cpu/cpu1/cpufreq/cpuinfo_max_freq", b"0\n"),
            ("sys/devices/system/cpu/cpu1/cpufreq/scaling_max_freq", b"1\n"),
        ]);
        let mut interest = Interest::everything();
        interest.add(NAME, TitleIndex(900_018));
        let limit = |machine: &mut Machine, name: &str| {
            let snapshot = machine.read_only(NAME.0, &interest);
            named(&instance(&snapshot, name), 900_018)
        };
        assert_eq!(limit(&mut machine, "0,0"), Ok(75));
        assert_eq!(limit(&mut machine, "0,1"), Err(ValueState::Absent(Absence::NotFromThisDevice)));
        machine.write(&bios, b"1800000\n");
        assert_eq!(limit(&mut machine, "0,0"), Ok(50));
    }

    #[test]
    fn work_at_another_speed() {
        let mut utility = Utility::default();
        utility.step(1000, 400, 50, 3000, 2000);
        assert_eq!((utility.all, utility.privileged), (0, 0), "nothing is known of the time before");
        // 100 units, of which 40 idle, 10 privileged, at one and a half times the speed.
        utility.step(1100, 440, 60, 3000, 2000);
        assert_eq!((utility.all, utility.privileged), (90, 15));
        utility.step(1200, 600, 60, 3000, 0);
        assert_eq!((utility.all, utility.privileged), (90, 15), "more idle time than time, and no base");
    }

    #[test]
    fn utility_of_a_processor_and_of_all() {
        let mut machine = Machine::new(&[
            ("proc/stat", STAT),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", b"1200000\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", b"2400000\n"),
        ]);
        let mut interest = Interest::everything();
        interest.add_object(NAME);
        machine.read_only(NAME.0, &interest);
        // 10 ticks of privileged time at half the speed.
        machine.write("proc/stat", b"cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 10 0 30 300 0 0 0 0 0 0\nintr 99 1\n");
        let snapshot = machine.read_only(NAME.0, &interest);
        assert_eq!(named(&instance(&snapshot, "0,0"), 900_026), Ok(500_000));
        assert_eq!(named(&instance(&snapshot, "_Total"), 900_026), Ok(500_000));
        let snapshot = machine.read(NAME.0);
        let not_asked = Err(ValueState::Absent(Absence::NotRequested));
        assert_eq!(named(&instance(&snapshot, "0,0"), 900_024), not_asked, "never in a sweep");
    }

    #[test]
    fn the_running_kernel() {
        let snapshot = collect(&mut System::open().unwrap(), NAME.0, &Interest::everything());
        let online = std::fs::read_to_string("/proc/stat").unwrap();
        let online =
            online.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")).count();
        let found = names(&snapshot).into_iter().filter(|name| !name.contains('_')).count();
        assert_eq!(found, online);
    }
}
