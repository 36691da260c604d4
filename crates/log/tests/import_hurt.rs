//! Cuts and flips over the logs of other collectors: nothing panics, memory stays bounded, and every value
//! can be computed or has a reason.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::path::Path;

use tallymon_log::{Cooker, LogReader, ReadOptions, open_pcp, read_bytes};

fn random(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    usize::try_from(*state >> 33).unwrap()
}

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/import").join(name)).unwrap()
}

/// Changes up to eight bytes, and cuts every third file.
fn hurt(bytes: &[u8], state: &mut u64) -> Vec<u8> {
    let mut hurt = bytes.to_vec();
    for _ in 0..=random(state) % 8 {
        let at = random(state) % hurt.len();
        hurt[at] = match random(state) % 4 {
            0 => 0,
            1 => 0xff,
            2 => b',',
            _ => u8::try_from(random(state) % 256).unwrap(),
        };
    }
    if random(state).is_multiple_of(3) {
        hurt.truncate(random(state) % hurt.len());
    }
    hurt
}

/// Reads a log to its end; the number of its records.
fn read(mut log: Box<dyn LogReader + '_>) -> usize {
    let mut cooker = Cooker::default();
    let mut records = 0;
    while let Some(record) = log.next_record().unwrap() {
        for value in cooker.cook(&record).into_iter().flatten() {
            assert!(value.as_f64().is_none_or(f64::is_finite));
        }
        records += 1;
        assert!(records < 100_000, "a file of some kilobytes has no end");
    }
    records
}

#[test]
fn damaged_files_of_other_collectors() {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let names = [
        "sysstat-12.6.1.sa",
        "sysstat-10.0.5-restart.sa",
        "sysstat-11.6.1-restart.sa",
        "vmstat.txt",
        "iostat.txt",
        "mpstat.txt",
        "pidstat.txt",
        "nmon.nmon",
        "atop-2.8.1.txt",
        "atop-2.8.1.raw",
        "collectl.txt",
        "collectl-processes.txt",
        "perf.csv",
    ];
    for name in names {
        if name.ends_with(".raw") && !cfg!(feature = "compressed") {
            continue;
        }
        let whole = fixture(name);
        let mut read_some = 0;
        // These have many counters, or are unpacked to megabytes, which takes its time without optimization.
        let rounds = if name.ends_with(".raw") || name.ends_with(".sa") { 60 } else { 300 };
        for _ in 0..rounds {
            let bytes = hurt(&whole, &mut state);
            if let Ok(log) = read_bytes(&bytes, &ReadOptions::default()) {
                read_some += usize::from(read(log) > 0);
            }
        }
        assert!(read_some > rounds / 10, "{name}: only {read_some} damaged files had records");
    }
}

#[test]
fn damaged_archives() {
    let mut state = 0x2545_f491_4f6c_dd1d;
    for version in ["pcp-v2", "pcp-v3"] {
        let (metadata, values) = (fixture(&format!("{version}.meta")), fixture(&format!("{version}.0")));
        let mut read_some = 0;
        for round in 0..300 {
            let (mut metadata, mut values) = (metadata.clone(), values.clone());
            match round % 2 {
                0 => metadata = hurt(&metadata, &mut state),
                _ => values = hurt(&values, &mut state),
            }
            let volumes = [values.as_slice()];
            if let Ok(log) = open_pcp(&metadata, &volumes) {
                read_some += usize::from(read(log) > 0);
            }
        }
        assert!(read_some > 30, "{version}: only {read_some} damaged archives had records");
    }
}
