//! Growth curves: what a sample costs on machines from 100 to 50,000 of a thing. In a straight line the time
//! of each one stays the same.
//!
//! An argument selects a curve: `machines` (made of files: processors, control groups, mounts, disks),
//! `threads`, `processes`, `query`, `publishers`, `log`. Without one, all are measured. `TALLYMON_MOST` is
//! another largest size.

#[path = "collect/load.rs"]
mod load;

use std::path::{Path, PathBuf};
use std::time::Duration;

use tallymon::Query;
use tallymon_bench::idle::Idle;
use tallymon_bench::{Growing, Parts, cpu_time};
use tallymon_core::block::{BlockWriter, WriteHeader};
use tallymon_core::counter::CounterType;
use tallymon_core::flow::{Sample, Source, ValueState};
use tallymon_core::request::{Interest, Request};
use tallymon_core::time::{FileTime, Frequency, PerfTime};
use tallymon_core::title::{Language, TitleIndex};
use tallymon_host::Host;
use tallymon_linux::{Root, System};
use tallymon_log::LogReader;
use tallymon_log::native::{Counter, Definition, NativeReader, NativeWriter, RowTime, WriteOptions};
use tallymon_provider::shm::{CounterSet, Publisher, Reader};
use tallymon_provider::{CollectRequest, Provider, Tier, TierChoice};
use tallymon_testkit::LARGE_MACHINES;

const SIZES: [usize; 7] = [100, 300, 1_000, 3_000, 10_000, 30_000, 50_000];
const ROUNDS: usize = 5;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, n] = arguments.as_slice()
        && word == load::THREADS
    {
        return load::sleep_in_threads(n.parse().expect("a number"));
    }
    let all: [(&str, fn()); 6] = [
        ("machines", machines),
        ("threads", threads),
        ("processes", processes),
        ("query", query),
        ("publishers", publishers),
        ("log", log),
    ];
    let Some(parts) = Parts::wanted(&all.map(|(name, _)| name)) else { return };
    println!("{:34} {:>8} {:>12} {:>12}", "CPU time", "number", "ms", "ns each");
    for (name, curve) in all {
        if parts.has(name) {
            curve();
        }
    }
}

/// The sizes of a curve that ends at `most`.
fn sizes(most: usize) -> Vec<usize> {
    let asked = std::env::var("TALLYMON_MOST").ok().and_then(|text| text.parse().ok()).unwrap_or(usize::MAX);
    let most = most.min(asked);
    SIZES.into_iter().filter(|size| *size < most).chain([most]).filter(|size| *size <= 50_000).collect()
}

fn line(name: &str, number: usize, time: Duration) {
    println!(
        "{name:34} {number:8} {:12.3} {:12.1}",
        time.as_secs_f64() * 1e3,
        time.as_secs_f64() * 1e9 / number as f64
    );
}

fn folder(name: &str) -> PathBuf {
    let base = Some(PathBuf::from("/dev/shm")).filter(|folder| folder.is_dir());
    let base = base.unwrap_or_else(std::env::temp_dir);
    let folder = base.join(format!("tallymon-scale-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    folder
}

/// Machines made of files: each counter of the objects that have an instance for each thing.
fn machines() {
    for machine in &LARGE_MACHINES {
        let most = match machine.name {
            "processors" => 4_096,
            "control groups" => 20_000,
            "disks" => 10_000,
            _ => 50_000,
        };
        for size in sizes(most) {
            let folder = folder("machine");
            (machine.write)(&folder, size);
            let mut system = System::open_below(Root::below(&folder)).expect("a machine of files");
            let objects: Vec<TitleIndex> = machine.objects.iter().map(|object| TitleIndex(*object)).collect();
            let time = tallymon_bench::median(ROUNDS, || sample(&mut system, &objects));
            line(&format!("{} (files)", machine.name), size, time);
            let _ = std::fs::remove_dir_all(&folder);
        }
    }
}

fn sample(system: &mut System, objects: &[TitleIndex]) {
    let header = WriteHeader {
        system_name: "LARGE",
        default_object: -1,
        perf_time: PerfTime(1),
        perf_freq: Frequency(10_000_000),
        perf_time_100ns: FileTime(1),
        system_time: FileTime(1),
    };
    let mut bytes = Vec::new();
    let mut block = BlockWriter::growing(&mut bytes, &header);
    let request = CollectRequest { objects, interest: &Interest::everything() };
    system.collect(&request, block.objects()).expect("it answers");
    block.finish().expect("the buffer grows");
}

/// What a host answers about this machine, in each tier that there is.
fn live(what: &str, number: usize, object: TitleIndex) {
    for tier in [Tier::T0, Tier::T2] {
        let Ok(mut host) = Host::open_with(TierChoice::Only(tier)) else { continue };
        let request = Request::objects([object]);
        let time = tallymon_bench::median(ROUNDS, || {
            let snapshot = host.snapshot(&request).expect("it answers");
            host.give_back(snapshot);
        });
        line(&format!("{what}, {tier:?}"), number, time);
    }
}

/// How many processes and threads this machine may have besides those that it has.
fn room() -> usize {
    let number = |file: &str| {
        let text = std::fs::read_to_string(file).ok();
        text.and_then(|text| text.trim().parse::<usize>().ok()).unwrap_or(usize::MAX)
    };
    let limits = ["/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max", "/sys/fs/cgroup/pids.max"];
    limits.into_iter().map(number).min().unwrap_or(usize::MAX).saturating_sub(3_000)
}

fn threads() {
    for size in sizes(50_000.min(room())) {
        let _threads = load::threads(size);
        live("threads of one process", size, TitleIndex(232));
    }
}

fn processes() {
    let mut idle = Idle::processes(0);
    for size in sizes(10_000.min(room())) {
        let more = size.saturating_sub(idle.count());
        idle.append(Idle::processes(more));
        live("processes", size, TitleIndex(230));
    }
}

/// One counter of each instance; what the source itself takes is measured alone and taken off.
fn query() {
    for size in sizes(50_000) {
        let names = || (0..size).map(|n| format!("worker-{n}")).collect();
        let mut query = Query::new(Box::new(Growing::new(names())), Language::ENGLISH).expect("it opens");
        query.add(r"\Worker(*)\Counter 0").expect("it is there");
        let request = query.request();
        let mut source = Growing::new(names());
        let mut sum = 0.0;
        let mut times: Vec<Duration> = (0..=ROUNDS)
            .map(|_| {
                let snapshot = source.snapshot(&request).expect("it answers");
                let start = cpu_time();
                query.accept(snapshot);
                query.for_each(|value| {
                    sum += value.cell.value.ok().and_then(|value| value.as_f64()).unwrap_or(0.0);
                });
                cpu_time() - start
            })
            // The first one has new names.
            .skip(1)
            .collect();
        assert!(sum > 0.0);
        times.sort();
        line("instances in a query", size, times[ROUNDS / 2]);
    }
}

/// Publishers of one value each, as far as there are file descriptors.
fn publishers() {
    let kind = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
    for size in sizes(10_000) {
        let folder = folder("pub");
        let publishers: Vec<_> = (0..size)
            .map_while(|_| {
                let set = CounterSet::new("R").counter("n", kind);
                let publisher = Publisher::start_in(&folder, "many", &[set]).ok()?;
                let single = publisher.single("R").ok()?;
                Some((publisher, single))
            })
            .collect();
        let mut reader = Reader::new([folder.clone()]);
        reader.scan();
        // A recently changed directory is listed again on each scan for two seconds.
        std::thread::sleep(Duration::from_millis(2500));
        reader.scan();
        for _ in 0..3 {
            reader.read(|_| true);
        }
        let mut sum = 0u64;
        let time = tallymon_bench::median(ROUNDS, || {
            reader.scan();
            reader.read(|_| true);
            for publication in reader.publications() {
                for instance in publication.instances(0) {
                    sum = instance.numbers_from(0).fold(sum, u64::wrapping_add);
                }
            }
        });
        std::hint::black_box(sum);
        let found = reader.publications().len();
        drop(publishers);
        let _ = std::fs::remove_dir_all(&folder);
        line("publishers", found.max(1), time);
        if found < size {
            println!("more publishers need more open files than this process may have");
            return;
        }
    }
}

/// Columns of a native log, of which a tenth changes in each row: 240 rows written and read, for each column
/// and row.
fn log() {
    const ROWS: u64 = 240;
    for size in sizes(50_000) {
        let folder = folder("log");
        let path = folder.join("log.tally");
        let written = time_of(|| write_log(&path, size, ROWS));
        let mut read = 0;
        let time = time_of(|| {
            let mut log = NativeReader::open(&path).expect("it can be read");
            while let Some(record) = log.next_record().expect("it can be read") {
                read += record.cells.iter().filter(|cell| cell.is_ok()).count();
            }
        });
        assert_eq!(read as u64, ROWS * size as u64);
        line("columns written, 240 rows", size, written);
        line("columns read, 240 rows", size, time);
        let _ = std::fs::remove_dir_all(&folder);
    }
}

fn time_of(job: impl FnOnce()) -> Duration {
    let start = cpu_time();
    job();
    cpu_time() - start
}

fn write_log(path: &Path, columns: usize, rows: u64) {
    let kind = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
    let counter = Counter {
        name: "C".to_owned(),
        counter_type: kind,
        scale: 0,
        time_base: Frequency(0),
        group: 0,
        wild: true,
    };
    let definition = Definition { host: String::new(), object: "O".to_owned(), counters: vec![counter] };
    let mut writer = NativeWriter::create(path, WriteOptions::sealed()).expect("it can be written");
    let table = writer.table(&definition).expect("it can be written");
    let names: Vec<String> = (0..columns).map(|n| format!("i{n}")).collect();
    for row in 0..rows {
        let time = FileTime(133_000_000_000_000_000 + row * 10_000_000);
        writer.row(RowTime { time, local_minutes: 0 }).expect("it can be written");
        for (nth, name) in names.iter().enumerate() {
            let id = writer.instance(table, Some(name)).expect("it can be written");
            let first = nth as u64 + if nth % 10 == 0 { row * 7 } else { 0 };
            let sample = Sample {
                counter_type: kind,
                first,
                second: 0,
                frequency: Frequency(0),
                multi_count: 1,
                time,
            };
            writer.put(id, 0, Ok(sample), ValueState::Present);
        }
    }
    writer.seal().expect("it can be written");
}
