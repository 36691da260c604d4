//! The cost of our collections, by tier and query, and the kernel's share of it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use tallymon_bench::median;
use tallymon_core::flow::Source;
use tallymon_core::request::{Interest, Request};
use tallymon_core::title::TitleIndex;
use tallymon_host::Host;
use tallymon_linux::internals::TaskParts;
use tallymon_linux::internals::{Tasks, WalkMode};
use tallymon_provider::{Tier, TierChoice};

use crate::Row;

const PROCESS: TitleIndex = TitleIndex(230);
const THREAD: TitleIndex = TitleIndex(232);
const ROUNDS: usize = 15;

/// All of our rows.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (tier, name) in [(Tier::T0, "T0"), (Tier::T2, "T2")] {
        let mut host = match Host::open_with(TierChoice::Only(tier)) {
            Ok(host) => host,
            Err(error) => {
                println!("{name} is left out: {error}");
                continue;
            }
        };
        let of_process = |counters: &[u32]| {
            let mut interest = Interest::everything();
            counters.iter().for_each(|counter| interest.add(PROCESS, TitleIndex(*counter)));
            Request::objects([PROCESS]).with_interest(interest)
        };
        let questions = [
            ("% Processor Time", of_process(&[6])),
            ("% Processor Time, Working Set, Virtual Bytes", of_process(&[6, 180, 174])),
            ("all 28 counters of Process", of_process(&[])),
            ("Process and Thread, all counters", Request::objects([PROCESS, THREAD])),
        ];
        for (question, request) in questions {
            let time = median(ROUNDS, || {
                let snapshot = host.snapshot(&request).expect("it answers");
                host.give_back(snapshot);
            });
            rows.push(Row { name: format!("tallymon {name}: {question}"), time });
        }
    }
    rows.extend(floors());
    rows
}

/// The kernel's own time: no program that uses these interfaces can be faster.
fn floors() -> Vec<Row> {
    let mut rows = Vec::new();
    if let Ok(mut tasks) = Tasks::open(WalkMode::Walk) {
        // What the counters of Process need, and what those of Thread need in addition.
        for (what, asked) in [("CPU time", 1), ("all", 127 - 32)] {
            let time = median(ROUNDS, || tasks.read(TaskParts(asked), |_| ()).expect("the program runs"));
            rows.push(Row { name: format!("floor: the program in the kernel alone, {what}"), time });
        }
    }
    let pids: Vec<u32> = procfs::process::all_processes()
        .expect("/proc is there")
        .flatten()
        .filter_map(|process| u32::try_from(process.pid()).ok())
        .collect();
    rows.push(Row {
        name: "floor: clock_gettime of each process".to_string(),
        time: median(ROUNDS, || {
            let times = pids.iter().filter_map(|pid| tallymon_linux::internals::process_cpu_time(*pid));
            std::hint::black_box(times.sum::<u64>());
        }),
    });
    for names in [&["stat"][..], &["stat", "statm", "io", "status"]] {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
        if (pids.len() * names.len()) as u64 + 200 > limit {
            println!("the floor of kept files is left out: more files than may be open");
            continue;
        }
        let paths = pids.iter().flat_map(|pid| names.iter().map(move |name| format!("/proc/{pid}/{name}")));
        let files: Vec<File> = paths.filter_map(|path| File::open(path).ok()).collect();
        let mut bytes = [0; 4096];
        let time: Duration = median(ROUNDS, || {
            let read = files.iter().filter_map(|file| file.read_at(&mut bytes, 0).ok());
            std::hint::black_box(read.sum::<usize>());
        });
        rows.push(Row { name: format!("floor: pread alone of kept {}", names.join(", ")), time });
    }
    rows
}
