//! The figures that are known of the public samples, see `docs/formats/blg.md`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use tallymon_core::counter::Suffix;
use tallymon_core::flow::{NoValue, Value};
use tallymon_log::blg::BlgReader;
use tallymon_log::csv::{CsvOptions, CsvWriter, LineEnd};
use tallymon_log::names::NameTable;
use tallymon_log::reader::table_order;
use tallymon_log::{Cooker, Format, LogReader, ReadOptions, Record, Records, UsedCounters, open, read_bytes};
use tallymon_testkit::{Scratch, shared};

fn all(reader: &mut dyn LogReader) -> Vec<Record> {
    Records::new(reader).map(|record| record.expect("readable")).collect()
}

fn sample(name: &str) -> Option<Vec<u8>> {
    shared(&format!("logs/{name}")).map(|path| std::fs::read(path).expect("readable"))
}

#[test]
fn power_shell_blg_equals_the_twins_of_windows() {
    let Some(blg) = sample("PowerShell_CounterSamples.blg") else { return };
    for (tabs, twin) in [(false, "PowerShell_CounterSamples.csv"), (true, "PowerShell_CounterSamples.tsv")] {
        let twin = sample(twin).expect("the twin is beside it");
        for line_end in [LineEnd::Lf, LineEnd::CrLf] {
            let mut log = read_bytes(&blg, &ReadOptions::default()).unwrap();
            let (zone_name, bias) = log.about().zone.label(-480);
            let options = CsvOptions { tabs, line_end, zone_name, bias, ..CsvOptions::default() };
            let mut writer = CsvWriter::new(Vec::new(), options);
            let order = table_order(&log.about().columns);
            writer.header(order.iter().map(|position| &log.about().columns[*position].path)).unwrap();
            let mut cooker = Cooker::default();
            for record in all(&mut *log) {
                let local = tallymon_log::zone::add_minutes(record.time, record.local_minutes);
                let values = cooker.cook(&record);
                writer.record(local, order.iter().map(|position| &values[*position])).unwrap();
            }
            let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
            let expected = String::from_utf8(twin.clone()).unwrap();
            let expected = match line_end {
                LineEnd::Lf => expected,
                LineEnd::CrLf => expected.replace('\n', "\r\n"),
            };
            assert_eq!(text, expected);
            assert_eq!(log.about().notes.damage, []);
        }
    }
}

#[test]
fn twins_read_back_as_they_were_written() {
    for (tabs, name) in [(false, "PowerShell_CounterSamples.csv"), (true, "PowerShell_CounterSamples.tsv")] {
        let Some(text) = sample(name) else { return };
        let mut log = read_bytes(&text, &ReadOptions::default()).unwrap();
        assert_eq!(log.about().format, if tabs { Format::Tsv } else { Format::Csv });
        let records = all(&mut *log);
        assert_eq!((records.len(), log.about().columns.len()), (25, 10));
        assert_eq!(records.iter().flat_map(|record| &record.cells).filter(|cell| cell.is_err()).count(), 8);
        assert_eq!(records[0].time.system_time().to_string(), "2016-11-26 21:46:30.874");
        let (zone_name, bias) = log.about().zone.label(-480);
        let mut writer = CsvWriter::new(
            Vec::new(),
            CsvOptions { tabs, line_end: LineEnd::Lf, zone_name, bias, ..CsvOptions::default() },
        );
        writer.header(log.about().columns.iter().map(|column| &column.path)).unwrap();
        let mut cooker = Cooker::default();
        for record in &records {
            let local = tallymon_log::zone::add_minutes(record.time, record.local_minutes);
            writer.record(local, &cooker.cook(record)).unwrap();
        }
        assert_eq!(String::from_utf8(writer.into_inner().unwrap()).unwrap(), String::from_utf8_lossy(&text));
        assert_eq!(log.about().notes, Default::default());
    }
}

#[test]
fn windows_8_log_of_a_live_collector() {
    let Some(blg) = sample("Tx_BasicPerfCounters.blg") else { return };
    let mut log = BlgReader::new(blg.as_slice(), &ReadOptions::default()).unwrap();
    assert_eq!(log.header().unwrap().os_build, 9200);
    assert_eq!(log.entries().len(), 6);
    let records = all(&mut log);
    assert_eq!(log.about().notes, Default::default());
    assert_eq!((records.len(), log.about().columns.len()), (601, 10));
    assert_eq!(log.about().columns[0].path, r"\\GEORGIS3\PhysicalDisk(0 C:)\Avg. Disk Bytes/Read");
    assert_eq!(records[0].local_minutes, -480);

    let mut cooker = Cooker::default();
    let values: Vec<_> = records.iter().map(|record| cooker.cook(record)).collect();
    // The first record only primes the rates; an interval without a read has no average size of one.
    let good = |value: &&Result<Value, NoValue>| value.is_ok() || **value == Err(NoValue::NoOperations);
    let formatted: Vec<_> = values.iter().skip(1).flatten().filter(good).collect();
    assert_eq!(formatted.len(), 6000);
    assert!(values[0].iter().all(|value| *value == Err(NoValue::FirstSample)));
    let disk = log.about().columns.iter().filter(|column| column.path.contains("PhysicalDisk")).count();
    assert_eq!(disk * 600, 3000);
    for (column, value) in values.iter().flat_map(|row| log.about().columns.iter().zip(row)) {
        if let Ok(value) = value
            && column.counter_type.suffix() == Suffix::Percent
        {
            assert!((0.0..=100.0).contains(&value.as_f64().unwrap()), "{}: {value:?}", column.path);
        }
    }
}

#[test]
fn vista_log_of_whole_objects() {
    let Some(blg) = sample("PAL_SampleLog.blg") else { return };
    let mut log = BlgReader::new(blg.as_slice(), &ReadOptions::default()).unwrap();
    assert_eq!(log.header().unwrap().pointer_size, 4);
    assert_eq!(log.entries().len(), 8);
    let records = all(&mut log);
    assert_eq!(log.about().notes, Default::default());
    assert_eq!((records.len(), log.about().records_promised), (11, Some(11)));
    // The zone is 300 minutes west, but it was summer.
    assert!(records.iter().all(|record| record.local_minutes == -240));
    let gap = |pair: &[Record]| (pair[1].time.0 - pair[0].time.0) / 10_000_000;
    assert!(records.windows(2).all(|pair| (59..=60).contains(&gap(pair))));

    let columns = &log.about().columns;
    let part = |column: &tallymon_log::Column| column.parts.clone().expect("a path");
    let objects: BTreeSet<String> = columns.iter().map(|column| part(column).object.to_string()).collect();
    assert_eq!(objects.len(), 8, "{objects:?}");
    let processes: BTreeSet<String> = columns
        .iter()
        .map(part)
        .filter(|parts| parts.object.name() == Some("Process"))
        .map(|parts| parts.instance.expect("a process").to_string())
        .collect();
    assert_eq!(processes.len(), 57);
    assert!(processes.contains("svchost#1"));

    // The catalogue has the same instances as the records together.
    let position =
        log.entries().position(|entry| entry.object.as_deref() == Some("Process")).expect("listed");
    let catalogue = &log.catalogue().expect("at the end").objects[position];
    let promised: BTreeSet<String> = catalogue
        .instances
        .as_ref()
        .expect("instances")
        .iter()
        .map(|(name, number)| if *number == 0 { name.clone() } else { format!("{name}#{number}") })
        .collect();
    assert_eq!(promised, processes);

    // Idle time is measured twice in the log: of the processor and of the idle process.
    let find = |end: &str| {
        columns.iter().position(|column| column.path.ends_with(end)).unwrap_or_else(|| panic!("{end}"))
    };
    let processor = find(r"\Processor(0)\% Idle Time");
    let process = find(r"\Process(Idle)\% Processor Time");
    let mut cooker = Cooker::default();
    let values: Vec<_> = records.iter().map(|record| cooker.cook(record)).collect();
    let idle: Vec<(f64, f64)> = values
        .iter()
        .skip(1)
        .map(|row| [processor, process].map(|at| row[at].as_ref().unwrap().as_f64().unwrap()).into())
        .collect();
    assert_eq!(idle.len(), 10);
    for (one, other) in &idle {
        assert!((one - other).abs() < 0.02, "{one} {other}");
    }
    let rounded: Vec<String> = idle.iter().take(3).map(|(one, _)| format!("{one:.2}")).collect();
    assert_eq!(rounded, ["17.85", "13.10", "51.69"]);
    // From another computation over the same log.
    let first = |end: &str| values[1][find(end)].as_ref().unwrap().as_f64().unwrap();
    assert!((first(r"\Processor(_Total)\% Processor Time") - 82.1481131553226).abs() < 1e-9);
    assert!((first(r"\Processor(_Total)\Interrupts/sec") - 1228.3777780908947).abs() < 1e-9);
    assert!((first(r"\System\System Up Time") - 2062.1157831).abs() < 1e-6);
}

#[test]
fn a_wrong_file_ending_does_not_matter() {
    let Some(path) = shared("logs/PowerShell_CounterSamples.blg") else { return };
    let log = open(&path, &ReadOptions::default()).unwrap();
    assert_eq!(log.about().format, Format::Blg);
    let folder = Scratch::new();
    let named_wrong = folder.join("log.csv");
    std::fs::write(&named_wrong, std::fs::read(&path).unwrap()).unwrap();
    let format = open(&named_wrong, &ReadOptions::default()).unwrap().about().format;
    assert_eq!(format, Format::Blg);
}

#[test]
fn only_the_counters_that_are_used_are_decoded() {
    let names = [("Processor", "% PROCESSOR time"), ("physicaldisk", "Avg. Disk Bytes/Read")];
    let used = UsedCounters::new(names.map(|(object, counter)| UsedCounters::names_of(object, counter)));
    let (mut decoded, mut left) = (0, 0);
    for name in ["PAL_SampleLog.blg", "PowerShell_CounterSamples.blg", "Tx_BasicPerfCounters.blg"] {
        let Some(blg) = sample(name) else { return };
        let mut whole = read_bytes(&blg, &ReadOptions::default()).unwrap();
        let options = ReadOptions { used: Some(used.clone()), ..ReadOptions::default() };
        let mut part = read_bytes(&blg, &options).unwrap();
        while let Some(all) = whole.next_record().unwrap() {
            let some = part.next_record().unwrap().expect("as many records");
            assert_eq!((some.time, some.local_minutes), (all.time, all.local_minutes), "{name}");
            assert_eq!(part.about().columns, whole.about().columns, "{name}");
            for (at, column) in whole.about().columns.iter().enumerate() {
                let parts = column.parts.as_ref().unwrap();
                let is_used = used.has(&parts.object.to_string(), &parts.counter.to_string());
                let cells = (some.cells.get(at), all.cells.get(at));
                // The log of PAL has data blocks of whole objects, which are decoded whole.
                let is_left = !is_used && name != "PAL_SampleLog.blg";
                match is_left {
                    false => assert_eq!(cells.0, cells.1, "{name}: {}", column.path),
                    true => assert!(cells.0.is_none_or(Result::is_err), "{name}: {}", column.path),
                }
                if is_left { left += 1 } else { decoded += 1 }
            }
        }
        assert!(part.next_record().unwrap().is_none());
        assert_eq!(part.about().notes.damage, whole.about().notes.damage);
        // Names of another language are not those that are used.
        let table = NameTable::default();
        let options = ReadOptions { names: Some(std::sync::Arc::new(table)), ..options };
        let mut named = read_bytes(&blg, &options).unwrap();
        let mut whole = read_bytes(&blg, &ReadOptions::default()).unwrap();
        assert_eq!(all(&mut *named), all(&mut *whole), "{name}");
    }
    assert!(decoded > 10_000 && left > 2000, "{decoded} cells were decoded, {left} were not");
}
