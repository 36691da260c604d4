//! Every counter of every object that NT has too: the same values and the same codes through C and through
//! Rust.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed assumption of a test is its failure")]

use std::collections::{BTreeMap, BTreeSet};

use tallymon::core::counter::{CounterType, compute, g17};
use tallymon::core::flow::{NoValue, Sample, Value};
use tallymon::core::path::CounterPath;
use tallymon::core::time::{FileTime, Frequency};
use tallymon::{Expand, Location, Query};
use tallymon_testkit::peer;

mod bench;

use bench::{Bench, SANITIZED, lines};

/// The objects of NT that each machine has.
const SPINE: [u32; 18] =
    [2, 4, 230, 232, 234, 236, 238, 260, 510, 546, 548, 582, 638, 658, 700, 1530, 1532, 1534];
/// Process and Thread: the next one of a name may be another one.
const OF_PROCESSES: [&str; 2] = [r"\Process(", r"\Thread("];

/// A raw value as C has it: the numbers and the status.
fn sample(text: &str, counter_type: CounterType, frequency: Frequency) -> (Sample, u32) {
    let words: Vec<&str> = text.split(' ').collect();
    let [first, second, count, status] = words[..] else { panic!("{text}") };
    let number = |word: &str| word.parse::<i64>().unwrap().cast_unsigned();
    let (first, second, multi_count) = (number(first), number(second), count.parse().unwrap());
    let sample = Sample { counter_type, first, second, frequency, multi_count, time: FileTime(0) };
    (sample, u32::from_str_radix(status, 16).unwrap())
}

/// Whether C says of a reason what it means: its own status where it has one, else that data or arguments
/// are invalid.
fn is_status_of(status: &str, why: NoValue) -> bool {
    let own = format!("{:08X}", why.pdh_status().code);
    status == own || ["C0000BC6", "C0000BBD"].contains(&status)
}

#[test]
fn every_counter_has_the_same_value_in_c_and_rust() {
    let Some(gcc) = peer("gcc") else { return };
    let bench = Bench::new("counters");
    let warnings = ["-Wall", "-Wextra"];
    let program = bench.compile(&gcc, &[SANITIZED, &warnings].concat(), &["tests/c/every_counter.c"]);
    let mut query = Query::open(&Location::Local).unwrap();
    let of_nt: Vec<_> =
        query.catalog().objects().iter().filter(|object| object.name.0 <= 1847).cloned().collect();
    let known: BTreeSet<u32> = of_nt.iter().map(|object| object.name.0).collect();
    assert!(SPINE.iter().all(|object| known.contains(object)), "{known:?}");
    // What Rust says that there is: each counter with its type.
    let (mut expected, mut patterns) = (BTreeMap::new(), Vec::new());
    for object in &of_nt {
        let name = query.names().english(object.name);
        let pattern = if object.has_instances { format!("\\{name}(*)\\*") } else { format!("\\{name}\\*") };
        let what = Expand { counters: true, instances: false };
        for path in query.expand(&pattern, what).unwrap() {
            let (_, counter) = query.named(&path.to_string()).unwrap();
            let found = object.counter(counter.unwrap()).unwrap();
            expected.insert(path.to_string(), found.counter_type.0);
        }
        patterns.push(pattern);
    }
    let output = bench.run(&program).args(&patterns).output().unwrap();
    let (mut found, mut values, mut types) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
    for line in lines(&output) {
        let fields: Vec<&str> = line.split('\t').collect();
        let path =
            |text: &str| CounterPath { machine: None, ..CounterPath::parse(text).unwrap().path }.to_string();
        match fields[..] {
            ["counter", name, kind] => {
                found.insert(path(name), kind.parse::<u32>().unwrap());
            }
            ["value", name, _, kind, base, older, newer, status, value, shown_status, shown] => {
                let counter_type = CounterType(kind.parse().unwrap());
                let frequency = Frequency(base.parse().unwrap());
                let (older, older_status) = sample(older, counter_type, frequency);
                let (newer, newer_status) = sample(newer, counter_type, frequency);
                let name = path(name);
                *values.entry(name.clone()).or_insert(0u32) += 1;
                if newer_status > 1 {
                    // Without a value there is a reason, and it is the same wherever it is asked for.
                    assert_ne!(status, "00000000", "{line}");
                    assert_ne!(shown_status, "00000000", "{line}");
                    continue;
                }
                types.insert(counter_type);
                let older = Some(&older).filter(|_| older_status <= 1);
                let computed = match compute(older, &newer) {
                    // An average without operations is 0 for PDH.
                    Err(NoValue::NoOperations) => Ok(Value::Number(0.0)),
                    computed => computed,
                };
                match computed {
                    Ok(expected) => {
                        assert_eq!(status, "00000000", "{line}");
                        assert_eq!(
                            value,
                            g17(expected.as_f64().unwrap().max(minimum(counter_type))).to_string(),
                            "{line}"
                        );
                    }
                    Err(why) => assert!(is_status_of(status, why), "{why}: {line}"),
                }
                if !OF_PROCESSES.iter().any(|start| name.starts_with(start)) {
                    assert_eq!(status == "00000000", shown_status == "00000000", "{line}");
                    assert_eq!(value, shown, "{line}");
                }
            }
            _ => panic!("{line}"),
        }
    }
    assert_eq!(found, expected);
    // Disks, cards and paging files may be missing, but each machine has these.
    for name in ["System", "Memory", "Objects", "IPv4", "TCPv4", "UDPv4"] {
        let start = format!("\\{name}\\");
        let missing = expected.keys().find(|path| path.starts_with(&start) && !values.contains_key(*path));
        assert_eq!(missing, None);
    }
    assert!(types.len() >= 8, "{types:?}");
}

/// An inverse share is shown as nothing below 0.
fn minimum(counter_type: CounterType) -> f64 {
    if counter_type.inverse() { 0.0 } else { f64::MIN }
}
