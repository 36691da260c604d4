//! How libraries are, as "Tallymon Provider" and `tally doctor` tell it, and that one that is late delays
//! nobody.

use tallymon::core::block::{Snapshot, SnapshotInstance};
use tallymon::core::flow::ValueState;
use tallymon::core::title::TitleIndex;

use crate::faults::{PRESENT, value};
use crate::listings::{ok, tally};
use crate::support::{Place, Provider, ask, wait_for};

/// The object "Tallymon Provider".
const SOURCES: &str = "990000";

/// What is told of a service: collections, errors, late answers, restarts, state and reason.
fn told(snapshot: &Snapshot, service: &str) -> ([u64; 5], String) {
    let object = snapshot.object(TitleIndex(990_000)).unwrap();
    let name = format!("service {service}");
    let is = |instance: &SnapshotInstance<'_>| instance.name().to_string_lossy() == name;
    let instance = object.instances().find(is).unwrap();
    let number = |position| instance.sample(position).unwrap().first;
    (std::array::from_fn(|at| number(at + 5)), instance.text(10).unwrap())
}

#[test]
fn a_healthy_a_slow_and_a_crashing_library() {
    let place = Place::new();
    let slow = Provider { service: "Slow", fault: "LONG_SLEEP", deadline: Some(300), ..Provider::default() };
    let crashing = Provider { service: "Crashing", fault: "CRASH", ..Provider::default() };
    let healthy = Provider { service: "Healthy", ..Provider::default() };
    let broken = Provider { service: "Broken", fault: "SIZES_LEFT", ..Provider::default() };
    for provider in [&slow, &crashing, &healthy, &broken] {
        if place.install(provider).is_none() {
            return;
        }
    }
    let mut host = place.host().with_source_status();
    // Who wants to know how they are has each of them tried once.
    let first = ask(&mut host, SOURCES);
    assert_eq!(told(&first, "Healthy"), ([1, 0, 0, 0, 1], "healthy".to_string()));
    assert_eq!(told(&first, "Slow"), ([1, 0, 0, 0, 1], "healthy".to_string()));
    let (numbers, reason) = told(&first, "Crashing");
    assert_eq!((numbers, reason.as_str()), ([0, 1, 0, 0, 4], "its process ended with signal 11"));
    let (numbers, reason) = told(&first, "Broken");
    assert_eq!(numbers, [1, 1, 0, 0, 4]);
    assert!(reason.starts_with("disabled: Collect of "), "{reason}");
    // Looking once more asks nobody.
    assert_eq!(told(&ask(&mut host, SOURCES), "Healthy").0, [1, 0, 0, 0, 1]);
    let second = ask(&mut host, "Global");
    assert_eq!(told(&second, "Healthy").0, [2, 0, 0, 0, 1]);
    let (numbers, reason) = told(&second, "Slow");
    assert_eq!((numbers, reason.as_str()), ([1, 0, 1, 0, 2], "it did not answer within 300ms"));
    // The breaker is open: it counts as late, and there is a time at which it is asked again.
    let (numbers, reason) = told(&second, "Crashing");
    assert_eq!(numbers, [0, 1, 1, 0, 4]);
    assert!(reason.starts_with("its process ended with signal 11; asked again in "), "{reason}");
    wait_for("it is asked again, and crashes again", || {
        told(&ask(&mut host, "Global"), "Crashing").0[..2] == [0, 2]
    });
    assert_eq!(told(&ask(&mut host, SOURCES), "Crashing").0[3], 1, "it was started again");
    // It costs something.
    let object = second.object(TitleIndex(990_000)).unwrap();
    let costs: Vec<u64> =
        object.instances().filter_map(|one| one.sample(4).ok()).map(|one| one.first).collect();
    assert!(!costs.is_empty() && costs.iter().all(|cost| *cost > 0), "{costs:?}");
    drop(host);
    let doctor: serde_json::Value = serde_json::from_str(&ok(&place, &["doctor", "--json"])).unwrap();
    let line = |service: &str| {
        let lines = doctor.as_array().unwrap().iter();
        let line = lines.into_iter().find(|line| line["subject"] == format!("service {service}")).unwrap();
        (line["state"].as_str().unwrap().to_string(), line["detail"].as_str().unwrap().to_string())
    };
    assert_eq!(
        (line("Healthy").0, line("Crashing").0, line("Broken").0),
        ("ok".into(), "missing".into(), "missing".into())
    );
    assert!(line("Crashing").1.contains("signal 11") && line("Broken").1.contains("disabled"));
    assert!(line("Healthy").1.contains("with 1 objects"), "{:?}", line("Healthy"));
}

/// One of eight libraries sleeps for an hour. Who waited for it would not end; all others answer to the same
/// request.
#[test]
fn one_of_eight_that_sleeps_delays_nobody() {
    let place = Place::new();
    let names: Vec<String> = (1..=8).map(|number| format!("Library{number}")).collect();
    let mut indexes = Vec::new();
    for name in &names {
        let sleeps = name == "Library3";
        let fault = if sleeps { "LONG_SLEEP" } else { "GOOD" };
        let deadline = if sleeps { Some(300) } else { Some(8000) };
        let Some(index) = place.install(&Provider { service: name, fault, listed: true, deadline }) else {
            return;
        };
        indexes.push(index);
    }
    let mut host = place.host();
    for round in 1..=3 {
        let snapshot = ask(&mut host, "Global");
        for (name, index) in names.iter().zip(&indexes) {
            // Its first answer is all that there is of it.
            let wanted = match name == "Library3" && round > 1 {
                true => (41, ValueState::Stale),
                false => (40 + round, PRESENT),
            };
            assert_eq!(value(&snapshot, *index), Some(wanted), "{name} in round {round}");
        }
    }
    assert_eq!(place.events(), [1015]);
}

#[test]
fn old_values_come_with_their_reason() {
    let place = Place::new();
    let slow = Provider { service: "Slow", fault: "LONG_SLEEP", deadline: Some(300), ..Provider::default() };
    if place.install(&slow).is_none() {
        return;
    }
    // The second path needs two samples, of which the library gives one.
    let paths = ["\\Slow Object(one)\\Slow Calls", "\\Processor(_Total)\\% Processor Time"];
    let words = [&["get", "--verbose", "--interval", "100ms"][..], &paths].concat();
    let (_, out, err) = tally(&place, &words);
    assert!(out.contains("(old: the source does not answer)"), "{out}{err}");
    let words = "\\Slow Object(one)\\Slow Calls: old values; service Slow: it did not answer within 300ms";
    assert!(err.contains(words), "{err}");
}
