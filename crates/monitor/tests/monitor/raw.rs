//! What is saved has the raw samples that were seen.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use crossterm::event::KeyCode;
use tallymon::Query;
use tallymon::core::flow::{Absence, PartialSum, Sample, SourceError, SourceErrorKind, ValueState};
use tallymon::core::title::Language;
use tallymon::log::relog::Options;
use tallymon::log::{Format, ReadOptions, relog};

use crate::fake::{Bench, Fake};
use crate::log::Folder;

const PATHS: &[&str] = &[
    r"\Processor(*)\% Processor Time",
    r"\Processor(_Total)\Interrupts/sec",
    r"\Memory\Available MBytes",
    r"\Memory\Page Faults/sec",
    r"\PhysicalDisk(_Total)\Disk Bytes/sec",
    r"\Process(*)\% Processor Time",
    r"\Process(*)\Working Set",
];

/// The samples of each column, by path and row.
type Samples = HashMap<(String, usize), Sample>;

/// Rows for which the source failed; a log has no records of them.
const MISSED: usize = 2;

/// A monitor that has seen 60 rows, with gaps in them, and the samples of the source at the same times.
fn seen() -> (Bench, Samples) {
    let mut bench = Bench::new(PATHS);
    let mut query = Query::new(Box::new(Fake(Arc::clone(&bench.script))), Language::ENGLISH).unwrap();
    for path in PATHS {
        query.add(path).unwrap();
    }
    let (mut samples, mut record) = (Samples::new(), 0);
    for row in 0..60 {
        let script = &bench.script;
        match row {
            20 => script.memory.set(Some(ValueState::Absent(Absence::AccessDenied))),
            25 => script.memory.set(None),
            30 => script.failure.set(Some(SourceError::new(SourceErrorKind::Io, "the test wants it"))),
            32 => script.failure.set(None),
            40 => *script.processes.lock() = vec!["myapp", "late", "_Total"],
            50 => script.backwards.set(true),
            _ => {}
        }
        if query.collect().is_ok() {
            for reading in query.readings() {
                if let Some(sample) = reading.cell.sample {
                    let path = format!(r"\\{}{}", query.system_name(), reading.path).to_lowercase();
                    samples.insert((path, record), sample);
                }
            }
            record += 1;
        }
        bench.run(1);
    }
    (bench, samples)
}

fn save(bench: &mut Bench, folder: &Folder, name: &str) {
    bench.types("w");
    for _ in 0..60 {
        bench.key(KeyCode::Backspace);
    }
    bench.types(&folder.file(name)).key(KeyCode::Enter);
    let screen = bench.screen();
    assert!(screen.contains("saved: "), "{name}: {screen}");
}

fn read(path: &Path) -> Samples {
    let mut reader = tallymon::log::open(path, &ReadOptions::default()).unwrap();
    let mut samples = Samples::new();
    let mut row = 0;
    while let Some(record) = reader.next_record().unwrap() {
        for (column, cell) in reader.about().columns.iter().zip(&record.cells) {
            if let Ok(sample) = cell {
                samples.insert((column.path.to_lowercase(), row), *sample);
            }
        }
        row += 1;
    }
    assert_eq!(row, 60 - MISSED);
    samples
}

/// The columns of a PDH-CSV by their heading, with its times, without rows that were missed.
fn columns(text: &str) -> HashMap<String, Vec<String>> {
    let mut lines = text.lines().map(|line| line.trim_matches('"').split("\",\"").map(str::to_string));
    let heads: Vec<String> = lines.next().unwrap().collect();
    let rows =
        lines.map(Iterator::collect).filter(|row: &Vec<String>| row[1..].iter().any(|cell| cell != " "));
    let rows: Vec<Vec<String>> = rows.collect();
    let column = |at: usize| rows.iter().map(|row: &Vec<String>| row[at].clone()).collect();
    heads.into_iter().enumerate().map(|(at, head)| (head.to_lowercase(), column(at))).collect()
}

/// The formats with raw samples that this build writes.
fn formats() -> impl Iterator<Item = Format> {
    let raw = [Format::Tally, Format::Blg, Format::Sqlite, Format::Parquet];
    raw.into_iter().filter(|format| format.info().reads && format.info().writes)
}

#[test]
fn saved_logs_have_the_raw_samples_that_were_seen() {
    let folder = Folder::new("raw");
    let (mut bench, expected) = seen();
    assert!(expected.len() > 60 * 10);
    for format in formats() {
        let name = format!("raw.{}", format.info().extension);
        save(&mut bench, &folder, &name);
        let found = read(&folder.0.join(&name));
        for ((path, row), sample) in &expected {
            let Some(saved) = found.get(&(path.clone(), *row)) else {
                panic!("{name}: row {row} of {path} is missing: {sample:?}");
            };
            let same =
                |sample: &Sample| (sample.counter_type, sample.first, sample.second, sample.multi_count);
            assert_eq!(same(saved), same(sample), "{name}: row {row} of {path}");
            assert_eq!(saved.frequency, sample.frequency, "{name}: row {row} of {path}");
        }
        assert_eq!(found.len(), expected.len(), "{name}: samples that nobody saw");
    }
}

/// The legend says what a sum lacks: of the newest value, of the row at the cursor, and in the saved log.
#[test]
fn a_saved_log_has_what_sums_lacked() {
    const PATH: &str = r"\Memory\Available MBytes";
    let words = |missing| format!("partial sum: {missing} of 117 refused");
    let folder = Folder::new("partial");
    let mut bench = Bench::new(&[PATH]);
    bench.resize(140, 30).run(5);
    for missing in [1, 2] {
        let sum = PartialSum::new(missing, 117, Absence::AccessDenied).unwrap();
        bench.script.memory.set(Some(ValueState::Partial(sum)));
        let screen = bench.run(2).screen();
        assert!(screen.contains(&words(missing)) && screen.contains('≈'), "{screen}");
    }
    bench.script.memory.set(None);
    let screen = bench.run(1).screen();
    assert!(!screen.contains("partial sum"), "{screen}");
    save(&mut bench, &folder, "partial.tally");
    let path = folder.0.join("partial.tally");
    let mut reader = tallymon::log::open(&path, &ReadOptions::default()).unwrap();
    let mut saved = Vec::new();
    while reader.next_record().unwrap().is_some() {
        saved.push(reader.partial(0).map_or(0, |sum| sum.missing));
    }
    assert_eq!(saved, [0, 0, 0, 0, 0, 1, 1, 2, 2, 0]);
    for mut bench in [bench, crate::log::open(&path, &[PATH], 1 << 20)] {
        bench.resize(140, 30);
        for expected in [0, 2, 2, 1, 1, 0] {
            let screen = bench.key(KeyCode::Left).screen();
            let is_said = |missing| screen.contains(&words(missing));
            assert_eq!([is_said(1), is_said(2)], [expected == 1, expected == 2], "{screen}");
        }
    }
}

#[test]
fn the_values_of_a_saved_log_are_those_of_the_saved_text() {
    let folder = Folder::new("raw-text");
    let (mut bench, _) = seen();
    save(&mut bench, &folder, "seen.csv");
    let text = columns(&std::fs::read_to_string(folder.0.join("seen.csv")).unwrap());
    for format in formats() {
        let name = format!("seen.{}", format.info().extension);
        save(&mut bench, &folder, &name);
        let copy = folder.0.join(format!("{name}.csv"));
        relog(&[folder.0.join(&name)], &copy, &Options { format: Format::Csv, ..Options::default() })
            .unwrap();
        let copied = columns(&std::fs::read_to_string(&copy).unwrap());
        for (head, cells) in &text {
            assert_eq!(copied.get(head), Some(cells), "{name}: {head}");
        }
        assert_eq!(copied.len(), text.len(), "{name}");
    }
}
