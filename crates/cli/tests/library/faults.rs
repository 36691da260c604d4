//! Libraries that do what they must not: each costs its own object only, and is reported.

use std::fs;
use std::time::Instant;

use tallymon::Host;
use tallymon::core::block::{RawValue, Snapshot};
use tallymon::core::flow::ValueState;
use tallymon::core::title::TitleIndex;
use tallymon::registry::PerflibSetting;

use crate::support::{Place, Provider, ask, objects, wait_for};

/// The value of the only counter of the only instance, and its state.
pub(crate) fn value(snapshot: &Snapshot, object: u32) -> Option<(u64, ValueState)> {
    let object = snapshot.object(TitleIndex(object))?;
    let instance = object.instance(0)?;
    assert_eq!(instance.name().to_string_lossy(), "one");
    match instance.raw(0)? {
        RawValue::Number(number) => Some((number, instance.state(0))),
        other => panic!("{other:?}"),
    }
}

pub(crate) const PRESENT: ValueState = ValueState::Present;

#[test]
fn a_good_library_answers_and_is_closed() {
    let place = Place::new();
    let Some(index) = place.install(&Provider::default()) else { return };
    let mut host = place.host();
    assert_eq!(value(&ask(&mut host, "Global"), index), Some((41, PRESENT)));
    assert_eq!(value(&ask(&mut host, &index.to_string()), index), Some((42, PRESENT)));
    drop(host);
    let number = format!("Collect {index}");
    let calls = ["attach", "Open NULL", "Collect Global", &number, "Close", "detach"];
    assert_eq!(place.calls("MyPerf"), calls);
    assert_eq!(place.events(), [] as [u64; 0]);
}

#[test]
fn threads_of_a_library_are_reported_to_its_main_function() {
    let place = Place::new();
    let provider = Provider { fault: "THREADS", ..Provider::default() };
    let Some(index) = place.install(&provider) else { return };
    let mut host = place.host();
    assert_eq!(value(&ask(&mut host, "Global"), index), Some((41, PRESENT)));
    drop(host);
    let early = ["thread attach", "started in DllMain", "thread detach"];
    let mut calls = place.calls("MyPerf");
    // Open and this thread run at the same time. As on NT, the thread waits until DllMain has returned.
    assert_eq!(calls.first().unwrap(), "attach");
    let begin = calls.iter().position(|line| line == "Collect Global").unwrap();
    let runs = |lines: &[String]| early.iter().all(|call| lines.iter().any(|line| line == call));
    assert!(runs(&calls) && !calls.iter().any(|line| line.contains("at once")), "{calls:?}");
    let rest = calls.split_off(begin);
    let mut rest: Vec<&str> = rest.iter().map(String::as_str).skip(1).collect();
    let first = rest.iter().position(|line| *line == "returns").unwrap();
    rest.drain(..first.saturating_sub(1));
    assert_eq!(
        rest,
        [
            "thread attach",
            "returns",
            "thread detach",
            "thread attach",
            "calls pthread_exit",
            "thread detach",
            "thread attach",
            "is cancelled",
            "thread detach",
            "thread attach",
            "is of C11",
            "thread detach",
            "ended with 7",
            "Close",
            "detach",
        ]
    );
    assert_eq!(place.events(), [] as [u64; 0]);
}

/// What happens with a library that does something once, at its first call.
struct Case {
    fault: &'static str,
    /// Whether its object is in the first answer, and in one a little later.
    there: [bool; 2],
    events: &'static [u64],
    disabled: bool,
}

const CASES: &[Case] = &[
    Case { fault: "CRASH", there: [false, false], events: &[1010], disabled: false },
    Case { fault: "CRASH_OPEN", there: [false, false], events: &[1009], disabled: false },
    Case { fault: "CRASH_CLOSE", there: [true, true], events: &[1011], disabled: false },
    Case { fault: "HANG_CLOSE", there: [true, true], events: &[2], disabled: false },
    Case { fault: "NO_ATTACH", there: [false, false], events: &[1023, 1023], disabled: false },
    Case { fault: "MESSAGES", there: [true, true], events: &[1, 1, 1, 1, 1, 1, 1], disabled: false },
    Case { fault: "ABORT", there: [false, false], events: &[1010], disabled: false },
    Case { fault: "EXIT", there: [false, false], events: &[1010], disabled: false },
    Case { fault: "CLOSE_ALL", there: [false, false], events: &[1010], disabled: false },
    Case { fault: "SOCKET", there: [false, false], events: &[1010], disabled: false },
    Case { fault: "FORK", there: [true, true], events: &[5], disabled: false },
    Case { fault: "NOISE", there: [true, true], events: &[1, 1], disabled: false },
    Case { fault: "OVERRUN", there: [false, false], events: &[1002, 1017], disabled: true },
    Case { fault: "UNDERRUN", there: [false, false], events: &[1002, 1017], disabled: true },
    Case { fault: "FAR_OVERRUN", there: [false, false], events: &[1010], disabled: false },
    Case { fault: "RUBBISH", there: [false, false], events: &[1003, 1017], disabled: true },
    Case { fault: "SIZES_LEFT", there: [false, false], events: &[2000, 1017], disabled: true },
    Case { fault: "NEVER_ENOUGH", there: [false, false], events: &[1020, 1020], disabled: false },
    Case { fault: "GROWS", there: [true, true], events: &[], disabled: false },
    Case { fault: "UNALIGNED", there: [true, true], events: &[1016, 1016], disabled: false },
    Case { fault: "COLLECT_ONCE", there: [false, true], events: &[1014], disabled: false },
];

#[test]
fn each_fault_costs_its_own_object_and_is_reported() {
    for case in CASES {
        let place = Place::new();
        let bad = Provider { service: "Bad", fault: case.fault, ..Provider::default() };
        let (Some(good), Some(bad)) = (place.install(&Provider::default()), place.install(&bad)) else {
            return;
        };
        let mut host = place.host();
        for (round, there) in case.there.into_iter().enumerate() {
            let found = objects(&ask(&mut host, "Global"));
            assert!(found.contains(&good), "{} {round}: {found:?}", case.fault);
            assert_eq!(found.contains(&bad), there, "{} {round}: {found:?}", case.fault);
        }
        drop(host);
        let text = fs::read_to_string(place.0.join("events.jsonl")).unwrap_or_default();
        assert_eq!(place.events(), case.events, "{}: {text}", case.fault);
        assert_eq!(place.disabled("Bad"), case.disabled, "{}", case.fault);
        assert!(!place.disabled("MyPerf"));
        // What it forked is gone with it.
        let forked =
            place.calls("Bad").iter().find_map(|line| line.strip_prefix("forked ")?.parse::<u32>().ok());
        assert_eq!(forked.is_some(), case.fault == "FORK");
        if let Some(process) = forked {
            wait_for("what it forked is gone", || is_gone(process));
        }
    }
}

#[test]
fn a_library_that_loops_or_sleeps_delays_nobody_else() {
    for fault in ["LOOP", "LONG_SLEEP", "OPEN_SLEEPS"] {
        let place = Place::new();
        // It may never give a first answer.
        place.writer().set_perflib(PerflibSetting::OpenWait, Some(300)).unwrap();
        let bad = Provider { service: "Bad", fault, deadline: None, ..Provider::default() };
        let (Some(good), Some(bad)) = (place.install(&Provider::default()), place.install(&bad)) else {
            return;
        };
        let mut host = place.host();
        for _ in 0..3 {
            let snapshot = ask(&mut host, "Global");
            assert_eq!(value(&snapshot, good).map(|(_, state)| state), Some(PRESENT), "{fault}");
        }
        let snapshot = ask(&mut host, "Global");
        // Only the one that has answered once has values that can stand in.
        let stale = (fault == "LONG_SLEEP").then_some((41, ValueState::Stale));
        assert_eq!(value(&snapshot, bad), stale, "{fault}");
        let event = if fault == "OPEN_SLEEPS" { 2002 } else { 1015 };
        assert_eq!(place.events(), [event], "{fault}");
        let process: u32 = process_of(&host, "Bad").parse().unwrap();
        drop(host);
        wait_for("its process is gone", || is_gone(process));
    }
}

#[test]
fn a_library_that_leaks_dies_alone() {
    let place = Place::new();
    let (Some(good), Some(bad)) = (
        place.install(&Provider::default()),
        place.install(&Provider { service: "Bad", fault: "LEAK", ..Provider::default() }),
    ) else {
        return;
    };
    let mut host = place.host();
    wait_for("it dies of its limit", || {
        let snapshot = ask(&mut host, "Global");
        assert!(value(&snapshot, good).is_some());
        value(&snapshot, bad).is_none()
    });
    assert_eq!(place.events(), [1010]);
}

#[test]
fn truncated_memory_affects_only_its_owner() {
    let place = Place::new();
    let (Some(good), Some(bad)) = (
        place.install(&Provider::default()),
        place.install(&Provider { service: "Bad", fault: "CUT", ..Provider::default() }),
    ) else {
        return;
    };
    let mut host = place.host();
    let snapshot = ask(&mut host, "Global");
    assert!(value(&snapshot, good).is_some() && value(&snapshot, bad).is_none());
    assert_eq!(place.events().len(), 1);
}

#[test]
fn a_crashed_library_is_called_again_after_a_pause() {
    let place = Place::new();
    let Some(_) = place.install(&Provider { fault: "CRASH", ..Provider::default() }) else { return };
    let mut host = place.host();
    ask(&mut host, "Global");
    ask(&mut host, "Global");
    assert_eq!(place.events(), [1010], "it rests");
    wait_for("the rest is over", || {
        ask(&mut host, "Global");
        place.events() == [1010, 1010]
    });
}

#[test]
fn parents_come_with_their_children() {
    let place = Place::new();
    let Some(index) = place.install(&Provider { fault: "PARENT", ..Provider::default() }) else { return };
    let mut host = crate::experiments::reader(&place);
    // The first time the parent is known from the answer only, later before it.
    for wanted in [vec![index, 2], vec![2, index]] {
        assert_eq!(objects(&ask(&mut host, &index.to_string())), wanted);
    }
    let snapshot = ask(&mut host, &index.to_string());
    let child = snapshot.object(TitleIndex(index)).unwrap().instance(0).unwrap();
    assert_eq!(child.parent_instance().unwrap().name().to_string_lossy(), "system");
}

#[test]
fn definitions_of_libraries_are_listed_without_instances() {
    let place = Place::new();
    let Some(index) = place.install(&Provider::default()) else { return };
    let snapshot = ask(&mut place.host(), "MetadataGlobal");
    let object = snapshot.object(TitleIndex(index)).unwrap();
    assert_eq!((object.header().num_instances.to_raw(), object.counters().len()), (-2, 1));
}

#[test]
fn an_unexpected_answer_ends_the_process() {
    let place = Place::new();
    let Some(_) = place.install(&Provider { fault: "FORK_BUSY", ..Provider::default() }) else { return };
    let mut host = place.host();
    wait_for("the second answer to one request", || {
        ask(&mut host, "Global");
        place.events() == [1010]
    });
}

/// Whether a process has ended, waited for or not.
fn is_gone(process: u32) -> bool {
    fs::read_to_string(format!("/proc/{process}/stat")).map_or(true, |stat| stat.contains(") Z "))
}

#[test]
fn a_disabled_library_is_not_loaded_until_it_is_enabled() {
    let place = Place::new();
    let bad = Provider { fault: "SIZES_LEFT", ..Provider::default() };
    let Some(_) = place.install(&bad) else { return };
    for _ in 0..2 {
        ask(&mut place.host(), "Global");
    }
    assert_eq!(place.calls("MyPerf"), ["attach", "Open NULL", "Collect Global", "Close", "detach"]);
    place.writer().set_enabled("MyPerf", true).unwrap();
    ask(&mut place.host(), "Global");
    assert_eq!(place.calls("MyPerf").len(), 10);
}

#[test]
fn a_late_library_answers_with_its_last_values_marked_as_old() {
    let place = Place::new();
    let late = Provider { fault: "SLEEP", deadline: None, ..Provider::default() };
    let Some(index) = place.install(&late) else { return };
    let mut host = place.host();
    assert_eq!(value(&ask(&mut host, "Global"), index), Some((41, PRESENT)));
    for _ in 0..3 {
        assert_eq!(value(&ask(&mut host, "Global"), index), Some((41, ValueState::Stale)));
    }
    // Once it has answered, its answer to the earlier request stands in for the next one.
    fs::write(place.log("MyPerf").with_extension("sick"), "").unwrap();
    wait_for("the late answer", || {
        value(&ask(&mut host, "Global"), index).is_some_and(|(number, _)| number > 41)
    });
    // It was late all the time, which is said once.
    assert_eq!(place.events(), [1015]);
}

#[test]
fn nobody_waits_for_a_stopped_process() {
    let place = Place::new();
    // Both have the deadline that everybody has.
    let other = Provider { service: "Other", deadline: None, ..Provider::default() };
    let Some(one) = place.install(&Provider { deadline: None, ..Provider::default() }) else { return };
    let Some(two) = place.install(&other) else { return };
    let mut host = place.host();
    wait_for("both answer in time", || {
        let snapshot = ask(&mut host, "Global");
        [one, two].into_iter().all(|index| value(&snapshot, index).is_some_and(|(_, state)| state == PRESENT))
    });
    let stopped = process_of(&host, "MyPerf");
    let signal = |name: &str| {
        let status = std::process::Command::new("kill").args([name, &stopped]).status().unwrap();
        assert!(status.success());
    };
    signal("-STOP");
    // The other one goes on. What is asserted is what is in the answer, not a time; the time is printed.
    let start = Instant::now();
    let snapshot = ask(&mut host, "Global");
    eprintln!("with a stopped library: {:?}", start.elapsed());
    assert_eq!(value(&snapshot, one).map(|(_, state)| state), Some(ValueState::Stale));
    let start = Instant::now();
    let mut fresh = false;
    for _ in 0..50 {
        // Who asks for the other one only does not meet the stopped one at all.
        let snapshot = ask(&mut host, &two.to_string());
        fresh |= value(&snapshot, two).is_some_and(|(_, state)| state == PRESENT);
        assert_eq!(objects(&snapshot), [two]);
    }
    eprintln!("50 requests for another library: {:?}", start.elapsed());
    assert!(fresh);
    signal("-CONT");
    wait_for("the stopped one answers again", || {
        value(&ask(&mut host, "Global"), one).is_some_and(|(_, state)| state == PRESENT)
    });
}

/// Number of the process that has the library of a service loaded.
fn process_of(host: &Host, service: &str) -> String {
    let status = host.libraries().into_iter().find(|status| status.service == service).unwrap();
    status.process.unwrap().to_string()
}
