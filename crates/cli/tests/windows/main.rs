//! The counters of Windows as a user meets them: the command that was built, beside a program in C that reads
//! the same performance key with the headers of Windows.
//!
//! `cargo xtask wine` compiles the peers, and names their folder by an environment variable. Without it the
//! tests skip: they register providers, which nobody wants on a machine that is used.
#![forbid(unsafe_code)]
#![cfg(windows)]
// A test that cannot go on fails, and this whole program is tests.
#![allow(clippy::unwrap_used)]

mod libraries;
mod provider;
mod published;
mod service;

use std::path::Path;
use std::process::{Command, Output};

use provider::{Provider, reader};
use tallymon_testkit::Scratch;

fn tally(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tally")).args(words).output().unwrap()
}

/// What the command prints, when it succeeds.
fn printed(words: &[&str]) -> String {
    let output = tally(words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().replace('\r', "")
}

/// Object, instance, counter and type of a line of the reader, and its value.
fn parsed(lines: &str) -> Vec<(String, u64)> {
    let parse = |line: &str| {
        let (place, value) = line.rsplit_once('\t').unwrap();
        (place.to_owned(), value.parse().unwrap())
    };
    lines.lines().map(parse).collect()
}

/// The block of the command has the same instances and counters as the key, with values between two readings.
#[test]
fn a_block_is_that_of_the_key() {
    let Some(provider) = Provider::register("TallymonTest") else { return };
    let folder = Scratch::new();
    let file = folder.join("block.bin");
    let before = parsed(&reader(&["238"]));
    printed(&["dump", "238", "--raw", file.to_str().unwrap()]);
    let after = parsed(&reader(&["238"]));
    let ours = parsed(&reader(&["--file", file.to_str().unwrap()]));
    assert_eq!(ours.len(), 6, "{ours:?}");
    for ((before, ours), after) in before.iter().zip(&ours).zip(&after) {
        assert_eq!((&before.0, &ours.0), (&ours.0, &after.0));
        assert!((before.1..=after.1).contains(&ours.1), "{before:?} {ours:?} {after:?}");
    }
    drop(provider);
}

/// What `provider.c` says about its instances.
#[test]
fn values_are_computed_from_two_samples() {
    let Some(provider) = Provider::register("TallymonTest") else { return };
    let printed = printed(&[
        "get",
        "--plain",
        "--interval",
        "500ms",
        r"\Processor(0)\% Processor Time",
        r"\Processor(1)\% Processor Time",
        r"\Processor(_Total)\% Processor Time",
        r"\Processor(0)\Interrupts/sec",
        r"\Processor(_Total)\Interrupts/sec",
    ]);
    let values: Vec<f64> = printed.lines().map(|line| line.parse().unwrap()).collect();
    // The provider reads its clock a moment before Windows writes the time of the block.
    for (value, expected) in values.iter().zip([40.0, 80.0, 60.0, 1000.0, 1500.0]) {
        assert!((value - expected).abs() < expected / 10.0, "{expected}: {values:?}");
    }
    assert_eq!(values.len(), 5);
    drop(provider);
}

#[test]
fn objects_instances_and_texts_are_listed() {
    let Some(provider) = Provider::register("TallymonTest") else { return };
    assert!(printed(&["list"]).contains("Processor"));
    let object = printed(&["list", "Processor"]);
    assert!(object.contains("% Processor Time") && object.contains("Interrupts/sec"), "{object}");
    let korean = printed(&["--lang", "ko", "--names", "translated", "list"]);
    assert!(korean.contains("프로세서"), "{korean}");
    drop(provider);
}

/// A recording of the live counters, read again from its file.
#[test]
fn live_counters_are_recorded() {
    let Some(provider) = Provider::register("TallymonTest") else { return };
    let folder = Scratch::new();
    for name in ["log.csv", "log.tally", "log.blg"] {
        let file = folder.join(name);
        let file = file.to_str().unwrap();
        printed(&["watch", "-i", "200ms", "--count", "3", "-o", file, r"\Processor(*)\% Processor Time"]);
        assert!(Path::new(file).is_file());
        let values = printed(&["get", "--plain", "--log", file, r"\Processor(0)\% Processor Time"]);
        let value: f64 = values.trim().parse().unwrap();
        assert!((value - 40.0).abs() < 8.0, "{name}: {values}");
    }
    drop(provider);
}

/// The list of processes, with what `process.c` says about them: no file of the system is read for it.
#[test]
fn processes_are_listed_from_the_live_counters() {
    let Some(provider) = Provider::register_peer("TallymonProcesses", "process.dll") else { return };
    for words in [&["top", "-n", "5", "-i", "500ms"][..], &["stat", "proc", "-i", "500ms", "--count", "1"]] {
        let printed = printed(words);
        let rows: Vec<Vec<&str>> = printed
            .lines()
            .skip_while(|line| !line.starts_with("TIME"))
            .skip(1)
            .map(|line| line.split_whitespace().skip(1).collect())
            .collect();
        assert_eq!(rows.len(), 2, "{words:?}: {printed}");
        for (row, (process, busy, memory, threads, name)) in
            rows.iter().zip([("4711", 25.0, "300", "17", "shop"), ("812", 5.0, "20.0", "3", "tea")])
        {
            let share: f64 = row[1].parse().unwrap();
            assert!((share - busy).abs() < busy / 5.0, "{printed}");
            assert_eq!((row[0], row[4], row[8], row[9]), (process, memory, threads, name), "{printed}");
        }
    }
    drop(provider);
}

/// A provider that cannot be loaded costs nothing but itself, and the doctor names what is wrong with
/// another.
#[test]
fn a_sick_provider_costs_its_neighbours_nothing() {
    let Some(provider) = Provider::register("TallymonTest") else { return };
    let sick = Provider::register_library("TallymonSick", r"C:\none\such.dll");
    sick.disable();
    let healthy = printed(&["get", "--plain", r"\Processor(0)\Interrupts/sec"]);
    assert!(!healthy.trim().is_empty());
    let doctor = printed(&["doctor", "--verbose"]);
    assert!(doctor.contains("TallymonSick") && doctor.contains("lodctr /E:TallymonSick"), "{doctor}");
    assert!(doctor.contains("provider TallymonTest"), "{doctor}");
    drop((provider, sick));
}

/// A machine whose registry has nothing says so, and invents no value.
#[test]
fn a_missing_counter_is_an_error() {
    let Some(provider) = Provider::register("TallymonTest") else { return };
    let output = tally(&["get", r"\Memory\Available Bytes"]);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{words}");
    assert!(words.contains("no object \"Memory\""), "{words}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "");
    drop(provider);
}
