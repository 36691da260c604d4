//! The share of a core for collecting once a second at a realistic pace: caches are cold, and programs start
//! and wait.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tallymon_bench::{WATCHED, built, median};
use tallymon_core::flow::Source;
use tallymon_core::request::Request;
use tallymon_core::title::TitleIndex;
use tallymon_host::Host;
use tallymon_linux::internals::process_cpu_time;
use tallymon_provider::TierChoice;

/// How long the programs run before the measurement, which excludes their start.
const SETTLE: Duration = Duration::from_secs(8);
const MEASURED: Duration = Duration::from_secs(30);

/// The argument that makes this program a collector of all processes and threads, once a second.
pub(crate) const COLLECTOR: &str = "--collector";

/// Collects all processes and threads once a second until it is killed.
pub(crate) fn collect(tier: &str) {
    let choice: TierChoice = tier.parse().expect("a tier");
    let mut host = Host::open_with(choice).expect("this is Linux");
    let request = Request::objects([230, 232].map(TitleIndex));
    loop {
        let snapshot = host.snapshot(&request).expect("it answers");
        host.give_back(snapshot);
        sleep(Duration::from_secs(1));
    }
}

struct Runs {
    name: String,
    child: Child,
    before: u64,
}

impl Drop for Runs {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// CPU shares and memory of the collector and of `tally watch`, all at the same time.
pub(crate) fn measure(what: &str) {
    println!("\nonce a second for {} s, {what}", MEASURED.as_secs());
    let own = std::env::current_exe().expect("this program has a path");
    let mut runs = Vec::new();
    for tier in ["t0", "t2"] {
        let child = Command::new(&own).args([COLLECTOR, tier]).stderr(Stdio::null()).spawn();
        let name = format!("all processes and threads, {tier}");
        runs.extend(child.ok().map(|child| Runs { name, child, before: 0 }));
    }
    let mut watch = Command::new(built("tally"));
    watch.args(["watch", "-i", "1s"]).args(WATCHED).stdin(Stdio::null()).stdout(Stdio::null());
    let name = "tally watch, 20 counters".to_string();
    runs.extend(watch.spawn().ok().map(|child| Runs { name, child, before: 0 }));
    sleep(SETTLE);
    let begin = Instant::now();
    for run in &mut runs {
        run.before = process_cpu_time(run.child.id()).unwrap_or(0);
    }
    sleep(MEASURED);
    let elapsed = begin.elapsed();
    for run in &runs {
        let Some(now) = process_cpu_time(run.child.id()).filter(|now| *now > run.before) else {
            println!("{:40} it has ended", run.name);
            continue;
        };
        let share = (now - run.before) as f64 / elapsed.as_nanos() as f64 * 100.0;
        let memory = |key: &str| {
            let status = fs::read_to_string(format!("/proc/{}/status", run.child.id())).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix(key).map(str::to_string));
            line.unwrap_or_default().trim().to_string()
        };
        println!(
            "{:40} {share:7.3} % of a core, {} resident, {} of them its own",
            run.name,
            memory("VmRSS:"),
            memory("RssAnon:")
        );
    }
}

/// A sample of everything except processes: Processor, Memory, System, disks, network, protocols, paging
/// files.
pub(crate) fn machine() {
    let objects =
        [2, 4, 86, 234, 236, 238, 260, 510, 546, 548, 582, 638, 658, 700, 1530, 1532, 1534].map(TitleIndex);
    let request = Request::objects(objects);
    let mut host = Host::open().expect("this is Linux");
    let mut ask = |request: &Request| {
        median(101, || {
            let snapshot = host.snapshot(request).expect("it answers");
            host.give_back(snapshot);
        })
    };
    println!("\nthe machine as a whole, CPU time of one sample");
    // A thread loads the eBPF program from the third request on.
    for _ in 0..5 {
        ask(&request);
    }
    println!("{:40} {:8.1} µs", "all together", ask(&request).as_secs_f64() * 1e6);
    for (name, files) in [("with", &FILES[..]), ("without", &FILES[2..])] {
        let name = format!("floor: pread alone, {name} /proc/interrupts");
        println!("{name:40} {:8.1} µs", reads_alone(files).as_secs_f64() * 1e6);
    }
    for object in objects {
        let time = ask(&Request::objects([object]));
        println!("{:40} {:8.1} µs", format!("object {}", object.0), time.as_secs_f64() * 1e6);
    }
}

/// The files that such a sample needs; those that eBPF replaces come first.
const FILES: [&str; 10] = [
    "/proc/interrupts",
    "/proc/softirqs",
    "/proc/stat",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/vmstat",
    "/proc/diskstats",
    "/proc/swaps",
    "/proc/net/snmp",
    "/proc/net/snmp6",
];

/// The floor for any program that reads these files.
fn reads_alone(files: &[&str]) -> Duration {
    let files: Vec<File> = files.iter().filter_map(|path| File::open(path).ok()).collect();
    let mut bytes = [0; 16_384];
    median(101, || {
        let read = files.iter().filter_map(|file| file.read_at(&mut bytes, 0).ok());
        std::hint::black_box(read.sum::<usize>());
    })
}
