//! Shared parts of the benchmarks: a block like that of a busy machine, and measuring by CPU time.
#![forbid(unsafe_code)]

pub mod big;
pub mod child;
pub mod idle;
pub mod running;

use std::path::PathBuf;
use std::time::Duration;

use tallymon_core::block::{
    BlockWriter, CounterSpec, InstanceKind, ObjectLayout, ObjectSpec, Snapshot, WriteHeader,
};
use tallymon_core::counter::CounterType;
use tallymon_core::flow::{Source, SourceError};
use tallymon_core::request::Request;
use tallymon_core::time::{FileTime, Frequency, PerfTime};
use tallymon_core::title::{Language, TitleIndex, Titles};

/// Instances of the block.
pub const INSTANCES: u32 = 1_000;
/// Counters of each instance: half of 8 bytes, half of 4, as in Process.
pub const COUNTERS: usize = 28;

/// What a user might watch: 20 counters of the processor, memory, the system, disks and the network.
pub const WATCHED: [&str; 20] = [
    r"\Processor(_Total)\% Processor Time",
    r"\Processor(_Total)\% User Time",
    r"\Processor(_Total)\% Privileged Time",
    r"\Processor(_Total)\% Interrupt Time",
    r"\Processor(0)\% Processor Time",
    r"\System\Context Switches/sec",
    r"\System\Processes",
    r"\System\Threads",
    r"\System\Processor Queue Length",
    r"\System\System Up Time",
    r"\Memory\Available MBytes",
    r"\Memory\Committed Bytes",
    r"\Memory\Cache Bytes",
    r"\Memory\Page Faults/sec",
    r"\Memory\Pages/sec",
    r"\PhysicalDisk(_Total)\Disk Reads/sec",
    r"\Network Interface(lo)\Bytes Total/sec",
    r"\Network Interface(lo)\Packets/sec",
    r"\TCPv4\Connections Established",
    r"\TCPv4\Segments/sec",
];

const SPECS: [CounterSpec; COUNTERS] = {
    let mut specs = [CounterSpec::new(TitleIndex(2_000), CounterType::PERF_COUNTER_BULK_COUNT); COUNTERS];
    let mut n = 0;
    while n < COUNTERS {
        let kind =
            if n % 2 == 0 { CounterType::PERF_COUNTER_BULK_COUNT } else { CounterType::PERF_COUNTER_COUNTER };
        specs[n] = CounterSpec::new(TitleIndex(2_000 + 2 * n as u32), kind);
        n += 1;
    }
    specs
};

/// The parts of a benchmark that the command line names; all of them when it names none.
#[derive(Debug)]
pub struct Parts(Vec<String>);

impl Parts {
    /// The wanted ones of `all`. `None` in a test, in which nothing runs: `cargo bench` passes `--bench`, and
    /// `cargo test` passes `--test`.
    ///
    /// # Panics
    ///
    /// The command line names a part that is not there.
    pub fn wanted(all: &[&str]) -> Option<Parts> {
        if std::env::args().any(|argument| argument == "--test") {
            return None;
        }
        let named: Vec<String> =
            std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
        for part in &named {
            assert!(all.contains(&part.as_str()), "there is no part {part:?}");
        }
        Some(Parts(named))
    }

    /// Whether a part is wanted.
    pub fn has(&self, name: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|part| part == name)
    }
}

/// The layout of the object.
pub fn layout() -> ObjectLayout<'static> {
    ObjectLayout::new(ObjectSpec::new(TitleIndex(1_998), InstanceKind::Many, &SPECS))
}

/// Names like those of processes.
pub fn names() -> Vec<String> {
    (0..INSTANCES).map(|n| format!("worker-{n}")).collect()
}

/// Writes the block; its values depend on `round`.
pub fn write(buffer: &mut Vec<u8>, layout: &ObjectLayout<'static>, names: &[String], round: u64) -> usize {
    let header = WriteHeader {
        system_name: "BENCH",
        default_object: -1,
        perf_time: PerfTime(10_000_000 * round as i64),
        perf_freq: Frequency(10_000_000),
        perf_time_100ns: FileTime(134_000_000_000_000_000 + 10_000_000 * round),
        system_time: FileTime(134_000_000_000_000_000),
    };
    let mut writer = BlockWriter::growing(buffer, &header);
    {
        let mut object = writer.objects().object(layout, PerfTime(0), Frequency(0));
        for (n, name) in names.iter().enumerate() {
            let mut values = object.instance(name, None, None);
            for position in 0..COUNTERS {
                values.set(position, (n + position) as u64 * round);
            }
        }
    }
    writer.finish().expect("the buffer grows")
}

/// A block whose values grow by one round with every sample.
#[derive(Debug)]
pub struct Growing(u64, Vec<String>);

impl Growing {
    /// One with these instances.
    pub const fn new(names: Vec<String>) -> Growing {
        Growing(0, names)
    }
}

impl Source for Growing {
    fn snapshot(&mut self, _: &Request) -> Result<Snapshot, SourceError> {
        let mut buffer = Vec::new();
        self.0 += 1;
        write(&mut buffer, &layout(), &self.1, self.0);
        Ok(Snapshot::new(buffer)?)
    }

    fn titles(&mut self, _: Language) -> Result<Titles, SourceError> {
        let mut titles = Titles::new();
        titles.insert_name(TitleIndex(1_998), "Worker");
        for counter in 0..COUNTERS {
            titles.insert_name(TitleIndex(2_000 + 2 * counter as u32), format!("Counter {counter}"));
        }
        Ok(titles)
    }
}

/// The target folder of the workspace.
pub fn target() -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// A file built by `cargo xtask bench`, such as the program `tally`.
pub fn built(name: &str) -> PathBuf {
    let file = target().join("release").join(name);
    assert!(file.is_file(), "{} is built by `cargo xtask bench`", file.display());
    file
}

/// CPU time of this process, all threads, user and kernel.
pub fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The median of the CPU times of several rounds, after one warm-up round.
pub fn median(rounds: usize, mut job: impl FnMut()) -> Duration {
    job();
    let mut times: Vec<Duration> = (0..rounds)
        .map(|_| {
            let start = cpu_time();
            job();
            cpu_time() - start
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}
