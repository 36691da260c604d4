//! Publishers that are killed at each of the calls by which they start, grow and end.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails is to panic")]

use std::path::Path;
use std::process::{Command, Stdio};

use tallymon_provider::CounterType;
use tallymon_provider::shm::{CounterSet, NewInstance, Publisher, RefusalReason};

mod common;
use common::{Scratch, number};

/// What changes a file or its directory, and how many of it there are. Other threads of the test do none of it.
const CALLS: [(&str, u32); 4] = [("fchmod", 1), ("fallocate", 4), ("rename", 1), ("unlink", 1)];

fn set() -> CounterSet {
    CounterSet::new("Life").instances_about(1).counter("Steps", CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
}

/// Not a test by itself: the program that is killed. It starts, needs more room, and ends in good order.
#[test]
fn program() {
    let Some(directory) = std::env::var_os("TALLYMON_TEST_PROGRAM") else { return };
    let publisher = Publisher::start_in(Path::new(&directory), "life", &[set()]).unwrap();
    let instances = ["a", "b", "c"].map(|name| {
        let instance = publisher.instance("Life", &NewInstance { name, ..NewInstance::default() }).unwrap();
        instance.counter("Steps").unwrap().add(7);
        instance
    });
    drop((instances, publisher));
}

#[test]
fn a_publisher_that_dies_anywhere_leaves_nothing_that_is_wrong() {
    let Some(strace) = tallymon_testkit::peer("strace") else { return };
    let scratch = Scratch::new("dying");
    let directory = &scratch.0;
    for (call, number_of_call) in CALLS.iter().flat_map(|(call, n)| (1..=*n).map(move |at| (*call, at))) {
        let status = Command::new(&strace)
            .args(["-f", "-qqq", "-o", "/dev/null", "-e", &format!("trace={call}")])
            .args(["-e", &format!("inject={call}:signal=KILL:when={number_of_call}")])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "program", "--nocapture", "--test-threads=1"])
            .env("TALLYMON_TEST_PROGRAM", directory)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        let mut reader = scratch.reader();
        reader.scan();
        assert!(reader.publications().is_empty(), "killed at {call} {number_of_call}");
        for refusal in reader.refusals() {
            assert!(
                matches!(refusal.reason, RefusalReason::Dead { .. }),
                "killed at {call} {number_of_call}: {refusal}"
            );
        }
        let left = std::fs::read_dir(directory).unwrap().count();
        assert_eq!((status.success(), left), (false, 1), "killed at {call} {number_of_call}");
        // The next one removes what was left, and is seen as if nothing had been.
        let publisher = Publisher::start_in(directory, "next", &[set()]).unwrap();
        let one = NewInstance { name: "one", ..NewInstance::default() };
        let one = publisher.instance("Life", &one).unwrap();
        one.counter("Steps").unwrap().add(1);
        assert_eq!(std::fs::read_dir(directory).unwrap().count(), 1, "killed at {call} {number_of_call}");
        let mut reader = scratch.reader();
        reader.scan();
        let instance = reader.publications()[0].instances(0).next().unwrap();
        assert_eq!((instance.name(), number(instance, 0)), ("one", 1));
    }
}
