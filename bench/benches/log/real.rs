//! A recording of this machine: all objects, with 1,000 idle processes.

use std::path::Path;
use std::time::{Duration, Instant};

use tallymon_bench::cpu_time;
use tallymon_bench::idle::Idle;
use tallymon_core::block::Snapshot;
use tallymon_core::flow::Source;
use tallymon_core::request::Request;
use tallymon_core::time::{FileTime, UNIX_EPOCH};
use tallymon_core::title::{Language, Titles};
use tallymon_host::Host;
use tallymon_log::native::{NativeWriter, RowTime, SnapshotWriter, WriteOptions};

use crate::made_up::{read, seek};
use crate::size;

fn now() -> FileTime {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    FileTime(UNIX_EPOCH.0 + u64::try_from(since.as_nanos() / 100).unwrap_or(0))
}

/// A snapshot with the start and end of its collection.
struct Taken(Snapshot, FileTime, FileTime);

fn write(
    path: &Path,
    options: WriteOptions,
    taken: &[Taken],
    titles: &Titles,
    only: Option<u32>,
) -> (f64, f64) {
    let writer = NativeWriter::create(path, options).expect("it can be written");
    let mut writer = SnapshotWriter::new(writer);
    let start = cpu_time();
    let mut values = 0usize;
    for Taken(snapshot, begin, end) in taken {
        writer.row(RowTime { time: *begin, local_minutes: 0 }).expect("it can be written");
        for object in snapshot.objects() {
            if only.is_some_and(|only| object.header().name.0 != only) {
                continue;
            }
            values += object.counters().iter().filter(|counter| !counter.counter_type.is_base()).count()
                * object.instances().len();
            writer.object("bench", &object, titles, Some((*begin, *end))).expect("it can be written");
        }
    }
    writer.into_inner().seal().expect("it can be written");
    ((cpu_time() - start).as_secs_f64(), values as f64)
}

pub(crate) fn run(folder: &Path) {
    let seconds: u64 =
        std::env::var("TALLYMON_BENCH_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let idle = Idle::processes(1_000);
    let mut host = Host::open().expect("this is Linux");
    let titles = host.titles(Language::ENGLISH).expect("it has names");
    let mut taken = Vec::new();
    let mut next = Instant::now();
    for _ in 0..seconds {
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        next += Duration::from_secs(1);
        let begin = now();
        let snapshot = host.snapshot(&Request::parse("Global")).expect("it answers");
        taken.push(Taken(snapshot, begin, now()));
    }
    drop(idle);
    println!("\nthis machine with 1,000 idle processes, all objects, {seconds} seconds");
    println!("{:34} {:>9} {:>9} {:>14} {:>14}", "", "values", "B/value", "written M/s", "read M/s");
    for (name, options, only) in [
        ("live", WriteOptions::default(), None),
        ("sealed", WriteOptions::sealed(), None),
        ("live, only Process", WriteOptions::default(), Some(230)),
        ("sealed, only Process", WriteOptions::sealed(), Some(230)),
        ("live, only Thread", WriteOptions::default(), Some(232)),
        ("sealed, only Thread", WriteOptions::sealed(), Some(232)),
    ] {
        let path = folder.join("real.tally");
        let (took, values) = write(&path, options, &taken, &titles, only);
        let (reading, _) = read(&path);
        let bytes = size(&path) as f64 / values;
        println!(
            "{name:34} {values:9} {bytes:9.4} {:14.1} {:14.1}",
            values / took / 1e6,
            values / reading / 1e6
        );
        if only.is_none()
            && let Some(Taken(_, first, _)) = taken.first()
        {
            let (most, usual) = seek(&path, first.0, seconds - 1);
            println!("  to go to a second: {usual:.2} ms, of 100 the longest but one {most:.2} ms");
        }
    }
}
