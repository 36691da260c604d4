//! One sweep over all processes, beside `ps -e`, procfs and sysinfo in the same run, by CPU time.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tallymon_bench::median;
use tallymon_core::flow::Source;
use tallymon_core::request::{Interest, Request};
use tallymon_core::title::TitleIndex;
use tallymon_host::Host;

const PROCESS: TitleIndex = TitleIndex(230);
const ROUNDS: usize = 9;

/// Idle processes that end with this one.
struct Idle(Vec<Child>);

impl Idle {
    fn start(n: usize) -> Idle {
        let sleep = || {
            let mut command = Command::new("sleep");
            command.arg("600").stdin(Stdio::null()).spawn().expect("sleep starts")
        };
        Idle((0..n).map(|_| sleep()).collect())
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
        }
        for child in &mut self.0 {
            let _ = child.wait();
        }
    }
}

fn main() {
    // `cargo bench` passes --bench; `cargo test` would pass --test and gets nothing to wait for.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let mut idle = Idle::start(0);
    for n in [1_000usize, 5_000] {
        let more = n - idle.0.len();
        idle.0.append(&mut std::mem::take(&mut Idle::start(more).0));
        measure(n);
    }
}

fn measure(n: usize) {
    let mut rows: Vec<(&str, Duration)> = Vec::new();
    let mut host = Host::open().expect("this is Linux");
    let mut sweep = |counters: &[u32]| {
        let mut interest = Interest::everything();
        for counter in counters {
            interest.add(PROCESS, TitleIndex(*counter));
        }
        let request = Request::objects([PROCESS]).with_interest(interest);
        median(ROUNDS, || {
            let snapshot = host.snapshot(&request).expect("it answers");
            host.give_back(snapshot);
        })
    };
    rows.push(("tallymon: % Processor Time", sweep(&[6])));
    rows.push(("tallymon: % Processor Time, Working Set, Virtual Bytes", sweep(&[6, 180, 174])));
    rows.push(("tallymon: all 28 counters of Process", sweep(&[])));

    let mut system = sysinfo::System::new().expect("it knows Linux");
    rows.push((
        "sysinfo: refresh_processes, its default",
        median(ROUNDS, || {
            system.refresh_processes(sysinfo::ProcessesToUpdate::All, true);
        }),
    ));
    let mut system = sysinfo::System::new().expect("it knows Linux");
    let kind = sysinfo::ProcessRefreshKind::nothing().with_cpu().with_memory().without_tasks();
    rows.push((
        "sysinfo: CPU and memory only, no threads",
        median(ROUNDS, || {
            system.refresh_processes_specifics(sysinfo::ProcessesToUpdate::All, true, kind);
        }),
    ));
    rows.push((
        "procfs: all_processes, stat of each",
        median(ROUNDS, || {
            let all = procfs::process::all_processes().expect("/proc is there");
            let ticks: u64 = all.flatten().flat_map(|process| process.stat()).map(|stat| stat.utime).sum();
            std::hint::black_box(ticks);
        }),
    ));
    rows.push(("ps -e -o pid,comm,time,rss", ps()));

    let ours = rows.get(1).map_or(Duration::ZERO, |(_, time)| *time);
    println!("\nsweep of {n} idle processes: CPU time of one sweep, and in sweeps of the second row");
    for (name, time) in rows {
        let ratio = time.as_secs_f64() / ours.as_secs_f64();
        println!("{name:55} {:9.3} ms  {ratio:7.2} x", time.as_secs_f64() * 1e3);
    }
}

/// CPU time of one `ps`, from the ticks of children that have ended: many runs, since a tick is 10 ms.
fn ps() -> Duration {
    const RUNS: u32 = 20;
    let children = || {
        let stat = procfs::process::Process::myself().and_then(|process| process.stat()).expect("own stat");
        Duration::from_millis((stat.cutime + stat.cstime).unsigned_abs() * 10)
    };
    let start = children();
    for _ in 0..RUNS {
        let mut command = Command::new("ps");
        command.args(["-e", "-o", "pid,comm,time,rss"]).stdout(Stdio::null());
        assert!(command.status().is_ok_and(|status| status.success()), "ps runs");
    }
    (children() - start) / RUNS
}
