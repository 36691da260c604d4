//! A machine with everything that the overview shows: its load follows a wave, second by second.

use std::sync::Arc;

use tallymon::core::block::{
    BlockWriter, CounterBlockMut, CounterSpec, InstanceKind, ObjectLayout, ObjectSpec, Snapshot, WriteHeader,
};
use tallymon::core::counter::CounterType;
use tallymon::core::flow::{Absence, Source, SourceError, ValueState};
use tallymon::core::request::{Request, RequestKind};
use tallymon::core::time::{FileTime, Frequency, PerfTime};
use tallymon::core::title::{Language, TitleIndex, Titles};

use crate::fake::{START, Shared, wave};

const SECOND: u64 = 10_000_000;
const SHARE: CounterType = CounterType::PERF_RAW_FRACTION;
const BASE: CounterType = CounterType::PERF_RAW_BASE;
const RAW: CounterType = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
const RATE: CounterType = CounterType::PERF_COUNTER_BULK_COUNT;

/// What the test changes.
#[derive(Default)]
pub(crate) struct Load {
    pub(crate) step: Shared<u64>,
    /// How many processors there are.
    pub(crate) processors: Shared<u64>,
    /// The kernel does not measure pressure.
    pub(crate) no_pressure: Shared<bool>,
    /// The memory of all nodes. Virtual machines have been seen whose nodes have less than is available.
    pub(crate) node_mebibytes: Shared<u64>,
    /// The machine has only the total of the nodes, like Windows.
    pub(crate) only_nodes: Shared<bool>,
    /// The machine runs no containers and has no graphics processor.
    pub(crate) no_guests: Shared<bool>,
    /// The machine has no sensor, like a virtual one.
    pub(crate) no_sensors: Shared<bool>,
    /// The machine knows file systems as Windows does.
    pub(crate) letters: Shared<bool>,
    /// The machine says who owns each process.
    pub(crate) details: Shared<bool>,
    /// How often it said so.
    pub(crate) details_read: Shared<u64>,
    /// Processes that exist beside the usual ones.
    pub(crate) more: Shared<Vec<(&'static str, u64)>>,
}

pub(crate) struct Machine(pub(crate) Arc<Load>);

const fn counter(name: u32, counter_type: CounterType) -> CounterSpec {
    CounterSpec::new(TitleIndex(name), counter_type)
}

const PROCESSOR: &[CounterSpec] = &[
    counter(6, SHARE),
    counter(6, BASE),
    counter(142, SHARE),
    counter(142, BASE),
    counter(144, SHARE),
    counter(144, BASE),
];
const SYSTEM: &[CounterSpec] =
    &[counter(44, RAW), counter(248, RAW), counter(250, RAW), counter(146, RATE), counter(674, RAW)];
const NUMA: &[CounterSpec] = &[counter(900_402, RAW)];
const MORE_MEMORY: &[CounterSpec] = &[counter(903_432, RAW), counter(903_434, RAW)];
const MORE_SYSTEM: &[CounterSpec] = &[
    counter(905_802, SHARE),
    counter(905_802, BASE),
    counter(905_804, SHARE),
    counter(905_804, BASE),
    counter(905_806, SHARE),
    counter(905_806, BASE),
    counter(905_816, SHARE),
    counter(905_816, BASE),
    counter(905_818, SHARE),
    counter(905_818, BASE),
];
const SPEED: &[CounterSpec] = &[counter(900_002, RAW)];
const FILE_SYSTEM: &[CounterSpec] = &[counter(904_802, RAW), counter(904_806, RAW), counter(904_804, RAW)];
const LETTER: &[CounterSpec] = &[counter(408, SHARE), counter(408, BASE), counter(410, RAW)];
const TEMPERATURE: &[CounterSpec] = &[counter(910_202, CounterType::PERF_DOUBLE_RAW)];
const FAN: &[CounterSpec] = &[counter(904_202, RAW)];
const SUPPLY: &[CounterSpec] = &[counter(904_002, RAW), counter(904_010, RAW)];
const MEMORY: &[CounterSpec] =
    &[counter(24, RAW), counter(1676, RAW), counter(26, RAW), counter(30, RAW), counter(40, RATE)];
const SWAP: &[CounterSpec] = &[counter(702, SHARE), counter(702, BASE)];
const DISK: &[CounterSpec] = &[
    counter(1482, SHARE),
    counter(1482, BASE),
    counter(220, RATE),
    counter(222, RATE),
    counter(206, CounterType::PERF_AVERAGE_TIMER),
    counter(206, CounterType::PERF_AVERAGE_BASE),
    counter(198, RAW),
];
const NETWORK: &[CounterSpec] = &[counter(264, RATE), counter(506, RATE), counter(520, RAW)];
const PRESSURE: &[CounterSpec] = &[
    counter(900_202, SHARE),
    counter(900_202, BASE),
    counter(900_204, SHARE),
    counter(900_204, BASE),
    counter(900_206, SHARE),
    counter(900_206, BASE),
    counter(900_208, SHARE),
    counter(900_208, BASE),
    counter(900_210, SHARE),
    counter(900_210, BASE),
];
const PROCESS: &[CounterSpec] = &[
    counter(6, SHARE),
    counter(6, BASE),
    counter(180, RAW),
    counter(1424, RATE),
    counter(680, RAW),
    counter(784, RAW),
    counter(684, RAW),
    counter(1410, RAW),
];
const CONTAINER: &[CounterSpec] = &[
    counter(910_002, SHARE),
    counter(910_002, BASE),
    counter(910_004, RAW),
    counter(910_010, RATE),
    counter(910_012, RATE),
];
const fn text(name: u32, bytes: u32) -> CounterSpec {
    let counter = counter(name, CounterType::PERF_COUNTER_TEXT);
    CounterSpec { size: Some(bytes), ..counter }
}

const DETAILS: &[CounterSpec] =
    &[counter(784, RAW), counter(684, RAW), text(910_402, 64), text(910_404, 512), text(910_406, 256)];
const GRAPHICS: &[CounterSpec] = &[counter(906_404, RAW), counter(906_406, RAW), counter(906_408, RAW)];

const fn object(name: u32, instances: InstanceKind, counters: &'static [CounterSpec]) -> ObjectSpec<'static> {
    ObjectSpec { status: true, ..ObjectSpec::new(TitleIndex(name), instances, counters) }
}

const OBJECTS: [ObjectSpec<'static>; 20] = [
    object(238, InstanceKind::Many, PROCESSOR),
    object(2, InstanceKind::None, SYSTEM),
    object(900_400, InstanceKind::Many, NUMA),
    object(903_400, InstanceKind::None, MORE_MEMORY),
    object(4, InstanceKind::None, MEMORY),
    object(700, InstanceKind::Many, SWAP),
    object(234, InstanceKind::Many, DISK),
    object(510, InstanceKind::Many, NETWORK),
    object(900_200, InstanceKind::None, PRESSURE),
    object(230, InstanceKind::Many, PROCESS),
    object(905_800, InstanceKind::None, MORE_SYSTEM),
    object(900_000, InstanceKind::Many, SPEED),
    object(904_800, InstanceKind::Many, FILE_SYSTEM),
    object(236, InstanceKind::Many, LETTER),
    object(910_200, InstanceKind::Many, TEMPERATURE),
    object(904_200, InstanceKind::Many, FAN),
    object(904_000, InstanceKind::Many, SUPPLY),
    object(910_000, InstanceKind::Many, CONTAINER),
    object(906_400, InstanceKind::Many, GRAPHICS),
    object(910_400, InstanceKind::Many, DETAILS),
];

const NAMES: &[(u32, &str)] = &[
    (2, "System"),
    (4, "Memory"),
    (6, "% Processor Time"),
    (24, "Available Bytes"),
    (26, "Committed Bytes"),
    (30, "Commit Limit"),
    (40, "Pages/sec"),
    (44, "Processor Queue Length"),
    (142, "% User Time"),
    (144, "% Privileged Time"),
    (146, "Context Switches/sec"),
    (180, "Working Set"),
    (198, "Current Disk Queue Length"),
    (206, "Avg. Disk sec/Transfer"),
    (220, "Disk Read Bytes/sec"),
    (222, "Disk Write Bytes/sec"),
    (230, "Process"),
    (234, "PhysicalDisk"),
    (236, "LogicalDisk"),
    (238, "Processor"),
    (248, "Processes"),
    (250, "Threads"),
    (264, "Bytes Received/sec"),
    (408, "% Free Space"),
    (410, "Free Megabytes"),
    (506, "Bytes Sent/sec"),
    (510, "Network Interface"),
    (520, "Current Bandwidth"),
    (674, "System Up Time"),
    (680, "Thread Count"),
    (684, "Elapsed Time"),
    (700, "Paging File"),
    (702, "% Usage"),
    (784, "ID Process"),
    (1410, "Creating Process ID"),
    (1424, "IO Data Bytes/sec"),
    (1482, "% Idle Time"),
    (1676, "Free & Zero Page List Bytes"),
    (900_200, "Pressure"),
    (900_202, "% Processor Pressure Some"),
    (900_204, "% Memory Pressure Some"),
    (900_206, "% Memory Pressure Full"),
    (900_208, "% IO Pressure Some"),
    (900_210, "% IO Pressure Full"),
    (900_400, "NUMA Node Memory"),
    (900_402, "Total MBytes"),
    (903_400, "Memory Extended"),
    (903_432, "Total Physical Bytes"),
    (903_434, "Total Swap Bytes"),
    (900_000, "Processor Information"),
    (900_002, "Processor Frequency"),
    (904_000, "Power Supply"),
    (904_002, "Charge"),
    (904_010, "Power"),
    (904_200, "Fan"),
    (904_202, "Speed RPM"),
    (904_800, "File System"),
    (904_802, "Total Bytes"),
    (904_804, "Free Bytes"),
    (904_806, "Available Bytes"),
    (905_800, "System Extended"),
    (905_802, "Load Average 1 Minute"),
    (905_804, "Load Average 5 Minutes"),
    (905_806, "Load Average 15 Minutes"),
    (905_816, "% Steal Time"),
    (905_818, "% IO Wait Time"),
    (906_400, "GPU Adapter Memory"),
    (906_404, "Dedicated Usage"),
    (906_406, "Shared Usage"),
    (906_408, "% Busy"),
    (910_000, "Container"),
    (910_002, "% Processor Time"),
    (910_004, "Memory Bytes"),
    (910_010, "Bytes Received/sec"),
    (910_012, "Bytes Sent/sec"),
    (910_200, "Temperature Sensor"),
    (910_202, "Degrees Celsius"),
    (910_400, "Process Details"),
    (910_402, "User"),
    (910_404, "Command Line"),
    (910_406, "Service"),
];

/// What the processes with these ids are: user, command line, service.
const FACTS: [(u64, [&str; 3]); 4] = [
    (812, ["www-data", "nginx: worker process", "nginx.service"]),
    (813, ["www-data", "nginx: worker process", "nginx.service"]),
    (
        1_204,
        ["shop", "java -jar /srv/shop/shop-server.jar --port 8080 --environment production", "docker shop"],
    ),
    (4_001, ["root", "[sh]", ""]),
];

/// Processes that always exist: name, id, share of a processor, MiB, bytes a second, threads.
const PROCESSES: [(&str, u64, u64, u64, u64, u64); 6] = [
    ("systemd", 1, 0, 12, 0, 1),
    ("nginx", 812, 12, 90, 400_000, 4),
    ("nginx", 813, 7, 88, 250_000, 4),
    ("postgres", 990, 31, 2_400, 9_000_000, 1),
    ("java", 1_204, 64, 3_100, 20_000, 112),
    ("sh", 4_001, 0, 3, 0, 1),
];

/// The process that started another one.
const fn maker(id: u64) -> u64 {
    match id {
        813 => 812,
        1_204 => 4_001,
        1 => 0,
        _ => 1,
    }
}

const MIB: u64 = 1 << 20;

/// File systems with size and free space at the start: on disks, in memory, and an image.
const FILE_SYSTEMS: [(&str, (u64, u64)); 6] = [
    ("/", (252 << 30, 66 << 30)),
    ("/home", (1 << 40, 40 << 30)),
    ("/boot", (1 << 30, 700 << 20)),
    ("/run", (3 << 30, 2 << 30)),
    ("/dev/shm", (16 << 30, 16 << 30)),
    ("/snap/core/17200", (112 << 20, 1 << 20)),
];

/// The sum of a wave up to a second, for counts that only grow.
fn grown(step: u64, period: u64, most: u64) -> u64 {
    (0..=step).map(|step| wave(step, period) * most / 100).sum()
}

impl Machine {
    fn single(&self, name: u32, block: &mut CounterBlockMut<'_>) {
        let step = self.0.step.get();
        let gib = 1u64 << 30;
        match name {
            2 => {
                block.set(0, wave(step, 30) / 20);
                block.set(1, 321);
                block.set(2, 1_204);
                block.set(3, step * 12_340);
                block.set(4, 444_120 + step);
            }
            4 => {
                block.set(0, 20 * gib - wave(step, 80) * (gib / 100));
                block.set(1, 8 * gib);
                block.set(2, 11 * gib);
                block.set(3, 24 * gib);
                block.set(4, step * 171);
            }
            903_400 => {
                block.set(0, 32 * gib);
                block.set(1, 8 * gib);
            }
            905_800 => {
                for (nth, hundredths) in [125 + wave(step, 60), 90, 50].into_iter().enumerate() {
                    block.set_fraction(nth * 2, hundredths, 10_000);
                }
                // Summed over the processors: sixteen per cent of four are four of each.
                block.set_fraction(6, 0, 100);
                block.set_fraction(8, 16, 100);
            }
            _ => {
                let numbers = [wave(step, 40) / 2, 1, 0, wave(step, 50) / 4, 2];
                for (nth, number) in numbers.into_iter().enumerate() {
                    block.set_fraction(nth * 2, number, 100);
                    if self.0.no_pressure.get() {
                        block.state(nth * 2, ValueState::Absent(Absence::NotInThisKernel));
                    }
                }
            }
        }
    }

    fn instance(&self, name: u32, position: u64, block: &mut CounterBlockMut<'_>) {
        let step = self.0.step.get();
        match name {
            238 => {
                let share = wave(step + position * 9, 40);
                block.set_fraction(0, share, 100);
                block.set_fraction(2, share * 3 / 4, 100);
                block.set_fraction(4, share / 4, 100);
            }
            900_400 => block.set(0, self.0.node_mebibytes.get()),
            700 => block.set_fraction(0, 12, 100),
            900_000 => block.set(0, 2_596 + wave(step, 20)),
            904_800 => {
                let (size, free) = FILE_SYSTEMS[position as usize].1;
                block.set(0, size);
                let free = if position == 0 { free - step * MIB } else { free };
                block.set(1, free);
                // Root may write a little more.
                block.set(2, free + size / 20);
            }
            236 => {
                let free = [4_096, 0, 50][position as usize];
                block.set_fraction(0, free, [40_960, 2_048, 100][position as usize]);
                block.set(2, free);
            }
            910_200 => {
                let degrees = [45.5, 61.0 + wave(step, 40) as f64 / 10.0, 38.0][position as usize];
                block.set(0, f64::to_bits(degrees));
                if position == 2 {
                    block.state(0, ValueState::Absent(Absence::ReadFailed));
                }
            }
            910_000 => {
                let works = position < 3;
                let share = if works { wave(step + position * 9, 40) * (position + 1) } else { 0 };
                block.set_fraction(0, share, 100);
                block.set(2, [90, 2_400, 310, 1][position as usize] * MIB);
                block.set(3, if works { grown(step, 33, 900_000) } else { 0 });
                block.set(4, if works { grown(step, 25, 120_000) } else { 0 });
            }
            906_400 => {
                block.set(0, 3 << 30);
                block.set(1, 210 * MIB);
                block.set(2, wave(step, 25));
            }
            904_200 => block.set(0, 1_180),
            904_000 if position == 0 => {
                block.state(0, ValueState::Absent(Absence::NotInThisKernel));
                block.state(1, ValueState::Absent(Absence::NotInThisKernel));
            }
            904_000 => {
                block.set(0, 87);
                block.set(1, 9_400);
            }
            234 => {
                let works = position != 1;
                let share = if works { wave(step, 20) * 9 / 10 } else { 0 };
                block.set_fraction(0, 100 - share, 100);
                block.set(2, if works { grown(step, 20, 38_000_000) } else { 0 });
                block.set(3, if works { grown(step, 20, 9_500_000) } else { 0 });
                // Half a millisecond for each of ten transfers a second.
                block.set(4, if works { step * 10 * SECOND / 2_000 } else { 0 });
                block.set(5, if works { step * 10 } else { 0 });
                block.set(6, share / 30);
            }
            _ => {
                let works = position == 0 || position == 1;
                block.set(0, if works { grown(step, 33, 4_200_000) } else { 0 });
                block.set(1, if works { grown(step, 25, 610_000) } else { 0 });
                block.set(2, 1_000_000_000);
            }
        }
    }

    fn names(&self, name: u32) -> Vec<String> {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_string()).collect();
        match name {
            238 => {
                let count = self.0.processors.get().max(1);
                (0..count).map(|number| number.to_string()).chain(["_Total".to_string()]).collect()
            }
            234 => list(&["0 nvme0n1", "1 sr0", "_Total"]),
            510 => list(&["eth0", "docker0", "eth1", "lo"]),
            904_800 => FILE_SYSTEMS.iter().map(|(name, _)| (*name).to_string()).collect(),
            236 => list(&["C:", "D:", "HarddiskVolume1"]),
            910_000 | 906_400 if self.0.no_guests.get() => Vec::new(),
            910_000 => list(&["shop-web", "shop-database", "shop-queue", "idle"]),
            906_400 => list(&["0000:03:00.0"]),
            910_200 | 904_200 | 904_000 if self.0.no_sensors.get() => Vec::new(),
            910_200 => list(&["0 nvme temp1 Composite", "1 coretemp temp1 Package id 0", "2 dead temp1"]),
            904_200 => list(&["3 nct6775 fan2 CPU"]),
            904_000 => list(&["AC", "BAT0"]),
            _ => list(&["_Total"]),
        }
    }

    /// The processes, each with its numbers in the order of the counters.
    fn processes(&self) -> Vec<(&'static str, [u64; 7])> {
        let step = self.0.step.get();
        let row = |(name, id, share, memory, bytes, threads): (&'static str, u64, u64, u64, u64, u64)| {
            let share = if share == 0 { 0 } else { (share + wave(step, 30) / 5) * 10 };
            (name, [share, memory << 20, step * bytes, threads, id, START.0 - id * SECOND, maker(id)])
        };
        let more = self.0.more.lock().clone();
        let more = more.into_iter().map(|(name, id)| (name, id, 80, 700, 0, 2));
        PROCESSES.into_iter().chain(more).chain([("_Total", 0, 100, 9_000, 0, 400)]).map(row).collect()
    }
}

impl Source for Machine {
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        let metadata = match &request.kind {
            RequestKind::Metadata { costly, .. } => Some(*costly),
            _ => None,
        };
        let wanted = |name: TitleIndex| match &request.kind {
            _ if name.0 == 903_400 && self.0.only_nodes.get() => false,
            _ if name.0 == 904_800 && self.0.letters.get() => false,
            _ if name.0 == 910_400 && !self.0.details.get() => false,
            RequestKind::Metadata { costly, .. } => !costly,
            RequestKind::Objects(objects) => objects.contains(&name),
            _ => true,
        };
        let step = self.0.step.get();
        let now = FileTime(START.0 + step * SECOND);
        let header = WriteHeader {
            system_name: "web01",
            default_object: 238,
            perf_time: PerfTime((step * SECOND) as i64),
            perf_freq: Frequency(SECOND as i64),
            perf_time_100ns: now,
            system_time: now,
        };
        let mut bytes = Vec::new();
        let mut writer = BlockWriter::growing(&mut bytes, &header);
        for spec in OBJECTS.iter().filter(|spec| wanted(spec.name)) {
            let layout = ObjectLayout::new(*spec);
            let mut object = writer.objects().object(&layout, PerfTime(0), Frequency(0));
            let name = spec.name.0;
            match spec.instances {
                _ if metadata.is_some() => object.metadata(),
                InstanceKind::None => self.single(name, &mut object.single()),
                InstanceKind::Many if name == 230 => {
                    for (name, [share, rest @ ..]) in self.processes() {
                        let mut block = object.instance(name, None, None);
                        block.set_fraction(0, share, 1_000);
                        for (nth, number) in rest.into_iter().enumerate() {
                            block.set(nth + 2, number);
                        }
                    }
                }
                InstanceKind::Many if name == 910_400 => {
                    self.0.details_read.set(self.0.details_read.get() + 1);
                    for (name, numbers) in self.processes() {
                        let mut block = object.instance(name, None, None);
                        let (id, start) = (numbers[4], numbers[5]);
                        block.set(0, id);
                        block.set(1, start);
                        let facts = FACTS.iter().find(|(known, _)| *known == id).map(|(_, facts)| facts);
                        for (nth, text) in facts.unwrap_or(&[""; 3]).iter().enumerate() {
                            if text.is_empty() {
                                block.state(nth + 2, ValueState::Absent(Absence::NotFromThisDevice));
                            } else {
                                block.set_text(nth + 2, text);
                            }
                        }
                    }
                }
                InstanceKind::Many => {
                    for (position, instance) in self.names(name).into_iter().enumerate() {
                        self.instance(name, position as u64, &mut object.instance(&instance, None, None));
                    }
                }
            }
        }
        writer.finish().unwrap();
        Ok(Snapshot::new(bytes)?)
    }

    fn titles(&mut self, _language: Language) -> Result<Titles, SourceError> {
        Ok(Titles::from_pairs(NAMES.iter().copied()))
    }

    fn languages(&self) -> Vec<Language> {
        vec![Language::ENGLISH, Language::KOREAN, Language::JAPANESE, Language::RUSSIAN]
    }
}
