//! Going through a log without its values finds what reading it finds: times, places, columns and faults.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ops::ControlFlow;
use std::path::Path;
use std::slice::from_ref;

use tallymon_log::relog::Options;
use tallymon_log::{FORMATS, ReadOptions, ScannedRecord, open, relog};
use tallymon_testkit::{Scratch, shared};

const SAMPLES: [&str; 4] = [
    "PowerShell_CounterSamples.blg",
    "Tx_BasicPerfCounters.blg",
    "PAL_SampleLog.blg",
    "PowerShell_CounterSamples.tsv",
];

/// Goes through a log in both ways; the number of its records.
fn compare(path: &Path, what: &str) -> usize {
    let options = ReadOptions::default();
    let (Ok(mut reading), Ok(mut scanning)) = (open(path, &options), open(path, &options)) else { return 0 };
    let (mut records, mut expected) = (Vec::new(), Vec::new());
    while let Some(record) = reading.next_record().unwrap() {
        let (time, local_minutes, columns) = (record.time, record.local_minutes, record.cells.len());
        expected.push(ScannedRecord { time, local_minutes, columns, position: reading.position() });
        records.push(record);
    }
    let mut found = Vec::new();
    let mut note = |passed| {
        found.push(passed);
        ControlFlow::Continue(())
    };
    scanning.scan(&mut note).unwrap();
    assert!(found == expected, "{what}: {found:?}\nis not\n{expected:?}");
    assert_eq!(scanning.about().columns, reading.about().columns, "{what}");
    assert_eq!(scanning.about().notes, reading.about().notes, "{what}");
    assert_eq!(scanning.about().records, reading.about().records, "{what}");
    // Whoever passed reads from any place, back and forth.
    let passed = found.len();
    assert!(scanning.next_record().unwrap().is_none(), "{what}");
    for nth in [passed / 2, passed.saturating_sub(1), 0, passed / 3] {
        let Some(place) = found.get(nth).and_then(|passed| passed.position) else { continue };
        assert!(scanning.seek_to(place).unwrap(), "{what}");
        let mut record = scanning.next_record().unwrap().unwrap();
        record.cells.truncate(records[nth].cells.len());
        assert!(record == records[nth], "{what}: record {nth}");
        assert_eq!(scanning.position(), Some(place), "{what}: record {nth}");
    }
    passed
}

#[test]
fn a_scan_finds_the_records_that_reading_finds() {
    for name in SAMPLES {
        let Some(sample) = shared(&format!("logs/{name}")) else { return };
        assert!(compare(&sample, name) > 0);
        let scratch = Scratch::new();
        for info in FORMATS.iter().filter(|info| info.reads && info.writes) {
            let copy = scratch.join(info.name);
            let options = Options { format: info.format, ..Options::default() };
            relog(from_ref(&sample), &copy, &options).unwrap();
            assert!(compare(&copy, &format!("{name} as {}", info.name)) > 0);
        }
    }
}

#[test]
fn a_scan_finds_the_damage_that_reading_finds() {
    let mut state = 88_172_645_463_325_252u64;
    let mut random = move |most: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % most as u64) as usize
    };
    let mut with_records = 0;
    for name in SAMPLES {
        let Some(sample) = shared(&format!("logs/{name}")) else { return };
        let scratch = Scratch::new();
        let native = scratch.join("log.tally");
        let options = Options { format: tallymon_log::Format::Tally, ..Options::default() };
        relog(from_ref(&sample), &native, &options).unwrap();
        for path in [&sample, &native] {
            let whole = std::fs::read(path).unwrap();
            let damaged = scratch.join("damaged");
            for round in 0..16 {
                let mut bytes = whole.clone();
                if round % 4 == 0 {
                    bytes.truncate(random(whole.len()));
                }
                for _ in 0..random(6) {
                    let at = random(bytes.len().max(1));
                    let end = (at + 1 + random(40)).min(bytes.len());
                    bytes[at.min(end)..end].iter_mut().for_each(|byte| *byte ^= 1 + random(255) as u8);
                }
                std::fs::write(&damaged, bytes).unwrap();
                let what = format!("{} with damage {round}", path.display());
                with_records += usize::from(compare(&damaged, &what) > 0);
            }
        }
    }
    assert!(with_records > 50, "{with_records} of 128 had records left");
}

#[test]
fn a_reader_seeks_into_each_part_of_a_concatenated_text_log() {
    let scratch = Scratch::new();
    let path = scratch.join("several.csv");
    let part = |zone: &str, names: [&str; 2], day: u32, rows: u32| {
        let [one, two] = names;
        let header =
            format!("\"(PDH-CSV 4.0) ({zone})\",\"\\\\box\\Memory\\{one}\",\"\\\\box\\Memory\\{two}\"\r\n");
        let row = |row| format!("\"11/{day:02}/2016 10:00:{row:02}.500\",\"{row}.25\",\"-{day}e{row}\"\r\n");
        header + &(0..rows).map(row).collect::<String>()
    };
    let (first, second) = (["Pages/sec", "Free"], ["Free", "Faults/sec"]);
    let text = part("X)(60", first, 1, 20) + &part("Y)(-120", second, 2, 3) + &part("X)(60", first, 3, 5);
    // A value that is not a number is a fault of the log, whoever goes through it.
    std::fs::write(&path, text.replace("\"7.25\"", "\"7.2.5\"")).unwrap();
    assert_eq!(compare(&path, "several headers"), 28);
    let options = ReadOptions::default();
    let (mut scanning, mut places) = (open(&path, &options).unwrap(), Vec::new());
    let mut note = |passed: ScannedRecord| {
        places.push((passed.time, passed.position.unwrap()));
        ControlFlow::Continue(())
    };
    scanning.scan(&mut note).unwrap();
    assert_eq!((scanning.about().notes.damage_count, scanning.about().columns.len()), (1, 3));
    // From part to part and back, with the columns and the time zone of each.
    for nth in [21, 3, 27, 22, 0] {
        let (time, place) = places[nth];
        assert!(scanning.seek_to(place).unwrap());
        let record = scanning.next_record().unwrap().unwrap();
        assert_eq!(
            (record.time, record.local_minutes),
            (time, if (20..23).contains(&nth) { 120 } else { -60 })
        );
        let there: Vec<bool> = record.cells.iter().map(Result::is_ok).collect();
        assert_eq!(there, if (20..23).contains(&nth) { [false, true, true] } else { [true, true, false] });
    }
}
