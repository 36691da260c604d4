//! The native log: what goes in comes out, whatever format it came from.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::slice::from_ref;

use tallymon_core::counter::CounterType;
use tallymon_core::flow::{Absence, NoValue, PartialSum, Sample, ValueState};
use tallymon_core::time::{FileTime, Frequency};
use tallymon_log::csv::LineEnd;
use tallymon_log::native::{
    Chosen, Counter, Definition, NativeReader, NativeWriter, RowTime, SnapshotWriter, WriteOptions, seal,
};
use tallymon_log::new_file::Overwrite;
use tallymon_log::relog::Options;
use tallymon_log::{Format, LogReader, ReadOptions, Records, info, open, relog, relog_to};
use tallymon_testkit::{Scratch, shared};

fn to(format: Format) -> Options {
    let overwrite = Overwrite::Replace;
    Options { format, line_end: LineEnd::Lf, strip_path: true, overwrite, ..Options::default() }
}

fn text(input: &Path) -> String {
    let mut out = Vec::new();
    relog_to(&[input.to_path_buf()], &mut out, &to(Format::Csv)).unwrap();
    String::from_utf8(out).unwrap()
}

const SAMPLES: [&str; 5] = [
    "PowerShell_CounterSamples.blg",
    "Tx_BasicPerfCounters.blg",
    "PAL_SampleLog.blg",
    "PowerShell_CounterSamples.csv",
    "PowerShell_CounterSamples.tsv",
];

fn old(is_old: bool) -> ValueState {
    if is_old { ValueState::Stale } else { ValueState::Present }
}

#[test]
fn samples_come_back_from_a_native_log() {
    let folder = Scratch::new();
    for name in SAMPLES {
        let Some(path) = shared(&format!("logs/{name}")) else { return };
        let native = folder.join(name).with_extension("tally");
        let report = relog(from_ref(&path), &native, &to(Format::Tally)).unwrap();
        assert_eq!(report.remarks, [""; 0]);
        let mut one = open(&path, &ReadOptions::default()).unwrap();
        let mut other = open(&native, &ReadOptions::default()).unwrap();
        let ones: Vec<_> = Records::new(&mut *one).map(Result::unwrap).collect();
        let others: Vec<_> = Records::new(&mut *other).map(Result::unwrap).collect();
        assert_eq!(
            (other.about().format, &other.about().notes),
            (Format::Tally, &Default::default()),
            "{name}"
        );
        assert_eq!(other.about().zone, one.about().zone, "{name}");
        assert_eq!((ones.len(), one.about().columns.len()), (others.len(), other.about().columns.len()));
        let mut taken = vec![false; other.about().columns.len()];
        for (position, column) in one.about().columns.iter().enumerate() {
            // The same path may stand for several columns; they keep their order.
            let places = other.about().columns.iter().enumerate();
            let place = places
                .filter(|(place, other)| !taken[*place] && *other == column)
                .map(|(place, _)| place)
                .next();
            let place = place.unwrap_or_else(|| panic!("{name}: {} is missing", column.path));
            taken[place] = true;
            for (one, other) in ones.iter().zip(&others) {
                assert_eq!((one.time, one.local_minutes), (other.time, other.local_minutes), "{name}");
                let cell = one.cells.get(position).copied().unwrap_or(Err(NoValue::NoInstance));
                assert_eq!(cell, other.cells[place], "{name}: {}", column.path);
            }
        }
        assert_eq!(text(&native), text(&path), "{name}");
        let sizes = [&path, &native].map(|path| std::fs::metadata(path).unwrap().len());
        assert!(sizes[1] < sizes[0], "{name}: {sizes:?}");
    }
}

#[test]
fn a_blg_made_of_a_native_log_is_that_made_of_the_blg() {
    let folder = Scratch::new();
    for name in SAMPLES.iter().take(3) {
        let Some(path) = shared(&format!("logs/{name}")) else { return };
        let [native, direct, back] = ["n.tally", "d.blg", "b.blg"].map(|name| folder.join(name));
        relog(from_ref(&path), &native, &to(Format::Tally)).unwrap();
        relog(from_ref(&path), &direct, &to(Format::Blg)).unwrap();
        relog(from_ref(&native), &back, &to(Format::Blg)).unwrap();
        assert!(std::fs::read(&direct).unwrap() == std::fs::read(&back).unwrap(), "{name}");
    }
}

fn counter(name: &str, counter_type: CounterType) -> Counter {
    Counter { name: name.to_owned(), counter_type, scale: 0, time_base: Frequency(0), group: 0, wild: true }
}

fn sample(counter_type: CounterType, first: u64, time: u64) -> Sample {
    Sample { counter_type, first, second: 0, frequency: Frequency(0), multi_count: 1, time: FileTime(time) }
}

const SECOND: u64 = 10_000_000;
const RAW: CounterType = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;

fn process() -> Definition {
    Definition {
        host: "box".to_owned(),
        object: "Process".to_owned(),
        counters: vec![counter("Working Set", RAW), counter("Handle Count", RAW)],
    }
}

fn time(row: u64) -> RowTime {
    RowTime { time: FileTime(133_000_000_000_000_000 + row * SECOND), local_minutes: 60 }
}

/// Rows in which instances come and go, texts change, values are missing or old, and an object is not always
/// read.
fn write_mixed(writer: &mut NativeWriter<Vec<u8>>, rows: std::ops::Range<u64>) {
    let process = writer.table(&process()).unwrap();
    let system = Definition {
        host: "box".to_owned(),
        object: "System".to_owned(),
        counters: vec![counter("Threads", RAW), counter("Version", CounterType(0x0000_0b00))],
    };
    let system = writer.table(&system).unwrap();
    for row in rows {
        let at = time(row);
        writer.row(at).unwrap();
        for pid in 0..20u64 {
            if (row / 7 + pid).is_multiple_of(5) {
                continue;
            }
            let instance = writer.instance(process, Some(&format!("p{pid}"))).unwrap();
            writer.put(
                instance,
                0,
                Ok(sample(RAW, pid * 4096 + row / 10, at.time.0 + 5)),
                old(row % 11 == 3),
            );
            let missing = Err(NoValue::NoData(Absence::AccessDenied));
            writer.put(
                instance,
                1,
                if pid == 3 { missing } else { Ok(sample(RAW, row, at.time.0 + 5)) },
                ValueState::Present,
            );
        }
        writer.window(process, FileTime(at.time.0 + 5), FileTime(at.time.0 + 900 + row % 3));
        if row.is_multiple_of(3) {
            let instance = writer.instance(system, None).unwrap();
            writer.put(instance, 0, Ok(sample(RAW, row * row, at.time.0)), ValueState::Present);
            writer.put_text(instance, 1, &format!("6.{}", row / 20));
        }
    }
}

/// Checks the rows that a reader gives from `row` on; returns how many there are.
fn check_mixed<R: std::io::Read + Send>(reader: &mut NativeReader<R>, mut row: u64) -> u64 {
    let first = row;
    while let Some(record) = reader.next_record().unwrap() {
        let at = time(row);
        assert_eq!((record.time, record.local_minutes), (at.time, 60));
        let columns = &reader.about().columns;
        let find = |path: &str| columns.iter().position(|column| column.path == path);
        for pid in 0..20u64 {
            let gone = (row / 7 + pid).is_multiple_of(5);
            for (name, expected) in [
                ("Working Set", Ok(sample(RAW, pid * 4096 + row / 10, at.time.0 + 5))),
                (
                    "Handle Count",
                    match pid {
                        3 => Err(NoValue::NoData(Absence::AccessDenied)),
                        _ => Ok(sample(RAW, row, at.time.0 + 5)),
                    },
                ),
            ] {
                let found = find(&format!(r"\\box\Process(p{pid})\{name}"));
                let cell = found.map_or(Err(NoValue::NoInstance), |found| record.cells[found]);
                assert_eq!(
                    cell,
                    if gone { Err(NoValue::NoInstance) } else { expected },
                    "{row} {pid} {name}"
                );
                if let Some(found) = found.filter(|_| !gone && name == "Working Set") {
                    assert_eq!(reader.is_stale(found), row % 11 == 3, "{row} {pid}");
                }
            }
        }
        let threads = find(r"\\box\System\Threads").unwrap();
        let version = find(r"\\box\System\Version").unwrap();
        if row.is_multiple_of(3) {
            assert_eq!(record.cells[threads], Ok(sample(RAW, row * row, at.time.0)));
            assert_eq!(reader.text(version), Some(&*format!("6.{}", row / 20)));
        } else {
            assert_eq!(record.cells[threads], Err(NoValue::NoInstance));
            assert_eq!(reader.text(version), None);
        }
        let window = reader.windows().next().unwrap();
        assert_eq!((window.host, window.object), ("box", "Process"));
        assert_eq!((window.begin.0, window.end.0), (at.time.0 + 5, at.time.0 + 900 + row % 3), "{row}");
        row += 1;
    }
    row - first
}

#[test]
fn instances_texts_and_missing_values_come_back() {
    for options in [
        WriteOptions::default(),
        WriteOptions { numbers_between_keys: 1, ..WriteOptions::default() },
        WriteOptions { flush_seconds: 1, ..WriteOptions::default() },
        WriteOptions { keep_instances: true, ..WriteOptions::sealed() },
    ] {
        let mut writer = NativeWriter::new(Vec::new(), options).unwrap();
        write_mixed(&mut writer, 0..400);
        let bytes = writer.seal().unwrap();
        let mut reader = NativeReader::new(&bytes[..]).unwrap();
        assert_eq!(check_mixed(&mut reader, 0), 400);
        assert_eq!(reader.about().notes, Default::default());
        assert_eq!(reader.about().columns.len(), 42);
        // Any time is found, in a sealed log and in one that was not ended.
        for cut in [0, 30] {
            let data = std::io::Cursor::new(&bytes[..bytes.len() - cut]);
            let mut reader = NativeReader::new(data).unwrap();
            for row in [399, 0, 200, 7, 8, 60, 333, 1] {
                assert!(reader.seek(time(row).time).unwrap());
                assert_eq!(check_mixed(&mut reader, row), 400 - row);
                assert!(reader.seek(FileTime(time(row).time.0 - 3)).unwrap());
                assert_eq!(reader.next_record().unwrap().unwrap().time, time(row).time);
            }
            assert!(!reader.seek(time(400).time).unwrap());
            assert_eq!(reader.next_record().unwrap(), None);
        }
    }
}

#[test]
fn a_log_is_appended_to() {
    let folder = Scratch::new();
    let path = folder.join("a.tally");
    for (sealed, torn) in [(true, 0u64), (false, 0), (false, 3), (true, 5)] {
        let _ = std::fs::remove_file(&path);
        let mut rows = 0;
        for part in 0..4u64 {
            let mut writer = NativeWriter::append_to(&path, WriteOptions::default()).unwrap();
            let table = writer.table(&process()).unwrap();
            for row in 0..25 {
                let at = time(part * 100 + row);
                writer.row(at).unwrap();
                let instance = writer.instance(table, Some("a")).unwrap();
                writer.put(instance, 0, Ok(sample(RAW, part * 100 + row, at.time.0)), ValueState::Present);
                rows += 1;
            }
            if sealed {
                writer.seal().unwrap();
            } else {
                writer.commit().unwrap();
            }
            if torn > 0 && part == 1 {
                let length = std::fs::metadata(&path).unwrap().len();
                std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(length - torn).unwrap();
            }
        }
        // Of a log that is torn in its last row that one is lost; in an index, nothing is.
        let lost = if torn > 0 && !sealed { 1 } else { 0 };
        let mut reader = NativeReader::open(&path).unwrap();
        let records: Vec<_> = Records::new(&mut reader).map(Result::unwrap).collect();
        assert_eq!(records.len(), rows - lost, "{sealed} {torn}");
        assert_eq!(reader.about().notes, Default::default(), "{sealed} {torn}");
        for record in &records {
            let row = (record.time.0 - time(0).time.0) / SECOND;
            assert_eq!(record.cells[0].unwrap().first, row);
        }
        let info = info(&path, &ReadOptions::default()).unwrap();
        assert_eq!((info.gap_count, info.records), (3, rows as u64 - lost as u64));
        assert!(reader.seek(time(310).time).unwrap());
        assert_eq!(reader.next_record().unwrap().unwrap().cells[0].unwrap().first, 310);
    }
}

#[test]
fn a_sealed_log_has_all_recorded_values() {
    let folder = Scratch::new();
    let path = folder.join("s.tally");
    let options = WriteOptions { flush_seconds: 2, ..WriteOptions::default() };
    let mut writer = NativeWriter::new(Vec::new(), options).unwrap();
    write_mixed(&mut writer, 0..400);
    writer.flush().unwrap();
    let recorded = writer.output().clone();
    std::fs::write(&path, &recorded).unwrap();
    assert_eq!(seal(&path).unwrap(), Default::default());
    let sealed = std::fs::read(&path).unwrap();
    assert!(sealed.len() < recorded.len() / 2, "{} of {}", sealed.len(), recorded.len());
    let mut reader = NativeReader::new(&sealed[..]).unwrap();
    assert_eq!(check_mixed(&mut reader, 0), 400);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
}

/// A block of one object whose instances are processes of these names and numbers.
fn block(row: u64, processes: &[(&str, u64)]) -> tallymon_core::block::Snapshot {
    use tallymon_core::block::{
        BlockWriter, CounterSpec, InstanceKind, ObjectLayout, ObjectSpec, Snapshot, WriteHeader,
    };
    use tallymon_core::time::PerfTime;
    use tallymon_core::title::TitleIndex;
    const COUNTERS: [CounterSpec; 3] = [
        CounterSpec::new(TitleIndex(6), CounterType::PERF_100NSEC_TIMER),
        CounterSpec::new(TitleIndex(784), CounterType::PERF_COUNTER_RAWCOUNT),
        CounterSpec::new(TitleIndex(28), CounterType::PERF_COUNTER_COUNTER),
    ];
    let layout = ObjectLayout::new(ObjectSpec::new(TitleIndex(230), InstanceKind::Many, &COUNTERS));
    let mut bytes = Vec::new();
    let header = WriteHeader {
        system_name: "box",
        default_object: 230,
        perf_time: PerfTime((row * 1_000_003) as i64),
        perf_freq: Frequency(1_000_000),
        perf_time_100ns: time(row).time,
        system_time: time(row).time,
    };
    let mut writer = BlockWriter::growing(&mut bytes, &header);
    {
        let mut object = writer.objects().object(&layout, PerfTime(0), Frequency(0));
        for (name, pid) in processes {
            let mut values = object.instance(name, None, None);
            values.set(0, pid * row);
            values.set(1, *pid);
            values.set(2, pid + row);
        }
    }
    let length = writer.finish().unwrap();
    bytes.truncate(length);
    Snapshot::new(bytes).unwrap()
}

#[test]
fn snapshots_keep_processes_in_their_columns() {
    use tallymon_core::title::Titles;
    let titles = Titles::from_pairs([(230u32, "Process"), (6, "% Processor Time"), (784, "ID Process")]);
    let mut writer = SnapshotWriter::new(
        NativeWriter::new(Vec::new(), WriteOptions { rows: 7, ..Default::default() }).unwrap(),
    );
    // Of three of the same name the first one ends, and later another one begins.
    let all = |row: u64| match row {
        0..20 => vec![("sh", 1), ("sh", 2), ("cat", 3), ("sh", 4)],
        20..50 => vec![("sh", 2), ("cat", 3), ("sh", 4)],
        _ => vec![("cat", 3), ("sh", 9), ("sh", 4), ("sh", 2)],
    };
    for row in 0..80 {
        writer.row(time(row)).unwrap();
        let snapshot = block(row, &all(row));
        writer.snapshot("box", &snapshot, &titles, None).unwrap();
    }
    let bytes = writer.into_inner().seal().unwrap();
    let mut reader = NativeReader::new(&bytes[..]).unwrap();
    let mut row = 0;
    while let Some(record) = reader.next_record().unwrap() {
        let snapshot = block(row, &all(row));
        let object = snapshot.objects().next().unwrap();
        let mut seen = 0;
        for (instance, (name, pid)) in object.instances().zip(all(row)) {
            let n = match (name, pid) {
                ("sh", 2) => "#1",
                ("sh", 4) => "#2",
                _ => "",
            };
            for (nth, counter) in ["% Processor Time", "ID Process", "28"].into_iter().enumerate() {
                let path = format!(r"\\box\Process({name}{n})\{counter}");
                let found = reader.about().columns.iter().position(|column| column.path == path).unwrap();
                assert_eq!(record.cells[found], instance.sample(nth), "{row} {path}");
                seen += 1;
            }
        }
        assert_eq!(record.cells.iter().filter(|cell| cell.is_ok()).count(), seen);
        row += 1;
    }
    assert_eq!(row, 80);
    assert_eq!(reader.about().notes, Default::default());
}

#[test]
fn only_the_selected_counters_are_written() {
    use tallymon_core::path::InstancePath;
    use tallymon_core::title::{TitleIndex, Titles};
    let titles = Titles::from_pairs([(230u32, "Process"), (6, "% Processor Time"), (784, "ID Process")]);
    let mut writer = SnapshotWriter::new(
        NativeWriter::new(Vec::new(), WriteOptions { numbers_between_keys: 10, ..Default::default() })
            .unwrap(),
    );
    let chosen = |counters: &[u32], group: u32, instance: &str| Chosen {
        group,
        counters: counters.iter().copied().map(TitleIndex).collect(),
        instance: Some(InstancePath::parse(instance)),
    };
    let choice = vec![chosen(&[6], 3, "sh#1"), chosen(&[784, 6], 1, "c*")];
    writer.choose([(TitleIndex(230), choice)].into());
    for row in 0..9 {
        writer.row(time(row)).unwrap();
        // In one row nothing is sampled, and a late instance comes at the end.
        let all = [("sh", 1), ("sh", 2), ("cat", 3), ("cc", 4)];
        if row != 4 {
            writer.snapshot("box", &block(row, &all[..3 + (row as usize) / 8]), &titles, None).unwrap();
        }
    }
    let bytes = writer.into_inner().seal().unwrap();
    let mut reader = NativeReader::new(&bytes[..]).unwrap();
    let mut counts = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        counts.push(record.cells.iter().filter(|cell| cell.is_ok()).count());
    }
    assert_eq!(counts, [3, 3, 3, 3, 0, 3, 3, 3, 5]);
    let paths: Vec<&str> = reader.about().columns.iter().map(|column| column.path.as_str()).collect();
    let wanted = [
        r"\\box\Process(sh#1)\% Processor Time",
        r"\\box\Process(cat)\% Processor Time",
        r"\\box\Process(cat)\ID Process",
        r"\\box\Process(cc)\% Processor Time",
        r"\\box\Process(cc)\ID Process",
    ];
    assert_eq!(paths, wanted);
    // A table has them in the order of the paths: IDs before times.
    let table: Vec<&str> =
        tallymon_log::reader::table_order(&reader.about().columns).iter().map(|at| paths[*at]).collect();
    assert_eq!(table, [2, 4, 1, 3, 0].map(|at| wanted[at]));
}

/// A log of version 1 as it was first written. It is never written again: what a later version cannot read
/// is not lost without notice.
const FIRST: &[u8] = include_bytes!("../fixtures/log-v1.tally");

#[test]
fn a_log_of_version_1_is_still_read() {
    let mut reader = NativeReader::new(FIRST).unwrap();
    assert_eq!(check_mixed(&mut reader, 0), 400);
    assert_eq!(reader.about().notes, Default::default());
    let mut later = FIRST.to_vec();
    later[8] = 5;
    let error = NativeReader::new(&later[..]).unwrap_err().to_string();
    assert!(error.contains("version 5"), "{error}");
}

/// Two recordings of 150 rows as version 1 left them: the second one was cut within its last record.
const RECORDED: [(&[u8], u64, u64); 2] = [
    (include_bytes!("../fixtures/log-v1-recording.tally"), 150, 0),
    (include_bytes!("../fixtures/log-v1-torn.tally"), 140, 1),
];

#[test]
fn recordings_of_version_1_are_read_and_go_on() {
    let folder = Scratch::new();
    for (bytes, rows, faults) in RECORDED {
        let path = folder.join("r.tally");
        std::fs::write(&path, bytes).unwrap();
        let start = 133_000_000_000_000_000;
        let check = |records: &[tallymon_log::Record]| {
            for (row, record) in (0..rows).zip(records) {
                let values: Vec<u64> = record.cells.iter().flatten().map(|sample| sample.first).collect();
                let expected = (0..3 + row / 9 % 3).flat_map(|instance| [row + instance, row * 2 + instance]);
                assert_eq!(values, expected.collect::<Vec<u64>>(), "row {row}");
                assert_eq!((record.time.0, record.local_minutes), (start + row * SECOND, 60));
            }
        };
        let mut reader = NativeReader::open(&path).unwrap();
        let records: Vec<_> = Records::new(&mut reader).map(Result::unwrap).collect();
        assert_eq!((records.len() as u64, reader.about().notes.damage_count), (rows, faults));
        assert!(matches!(reader.about().zone, tallymon_log::zone::Zone::Fixed { bias: 60, .. }));
        check(&records);
        // It goes on as a log of this version.
        let mut writer = NativeWriter::append_to(&path, WriteOptions::default()).unwrap();
        let table = writer.table(&process()).unwrap();
        for row in 0..7 {
            let at = time(1000 + row);
            writer.row(at).unwrap();
            let instance = writer.instance(table, Some("a")).unwrap();
            writer.put(instance, 0, Ok(sample(RAW, row, at.time.0)), ValueState::Present);
            writer.commit().unwrap();
        }
        drop(writer);
        let mut reader = NativeReader::open(&path).unwrap();
        let records: Vec<_> = Records::new(&mut reader).map(Result::unwrap).collect();
        assert_eq!((records.len() as u64, reader.about().notes.damage_count), (rows + 7, 0));
        check(&records);
        assert_eq!(std::fs::read(&path).unwrap()[8], 2);
    }
}

#[test]
fn the_last_of_two_values_in_a_row_wins() {
    let mut writer = NativeWriter::new(Vec::new(), WriteOptions::default()).unwrap();
    let table = writer.table(&process()).unwrap();
    for row in 0..25u64 {
        let at = time(row);
        writer.row(at).unwrap();
        let instance = writer.instance(table, Some("a")).unwrap();
        let value = |number| Ok(sample(RAW, number, at.time.0));
        // Back to the value of the row before, and on to another; a value that is not there after all.
        writer.put_all(instance, [(value(row + 1000), ValueState::Present), (value(9), old(row % 2 == 0))]);
        writer.put(instance, 0, value(if row % 3 == 0 { row } else { row * row }), ValueState::Present);
        if row % 5 == 4 {
            writer.put(instance, 1, Err(NoValue::NoCounter), ValueState::Present);
        }
    }
    let bytes = writer.seal().unwrap();
    let mut reader = NativeReader::new(&bytes[..]).unwrap();
    for row in 0..25u64 {
        let record = reader.next_record().unwrap().unwrap();
        let first = if row % 3 == 0 { row } else { row * row };
        assert_eq!(record.cells[0], Ok(sample(RAW, first, time(row).time.0)), "{row}");
        let second =
            if row % 5 == 4 { Err(NoValue::NoCounter) } else { Ok(sample(RAW, 9, time(row).time.0)) };
        assert_eq!(record.cells[1], second, "{row}");
        assert_eq!(reader.is_stale(1), row % 2 == 0 && row % 5 != 4, "{row}");
    }
    assert_eq!((reader.next_record().unwrap(), reader.about().notes.damage_count), (None, 0));
}

#[test]
fn a_copy_keeps_texts_reasons_and_marks_of_old_values() {
    let folder = Scratch::new();
    let (first, copy) = (folder.join("first.tally"), folder.join("copy.tally"));
    let mut writer = NativeWriter::new(Vec::new(), WriteOptions::default()).unwrap();
    write_mixed(&mut writer, 0..60);
    std::fs::write(&first, writer.seal().unwrap()).unwrap();
    relog(from_ref(&first), &copy, &to(Format::Tally)).unwrap();
    let [mut one, mut other] = [&first, &copy].map(|path| open(path, &ReadOptions::default()).unwrap());
    let mut old = 0;
    while let Some(record) = one.next_record().unwrap() {
        let copied = other.next_record().unwrap().expect("the copy has as many records");
        for (at, column) in one.about().columns.iter().enumerate() {
            let place = other.about().columns.iter().position(|found| found.path == column.path).unwrap();
            assert_eq!(record.cells[at], copied.cells[place], "{}", column.path);
            assert_eq!(one.text(at), other.text(place), "{}", column.path);
            assert_eq!(one.is_stale(at), other.is_stale(place), "{} {:?}", column.path, record.time);
            old += u32::from(one.is_stale(at));
        }
    }
    assert!(old > 50, "{old}");
}

#[test]
fn partial_sums_are_kept_by_native_logs_and_json() {
    let folder = Scratch::new();
    let [first, copy, json] = ["first.tally", "copy.tally", "copy.json"].map(|name| folder.join(name));
    let mut writer = NativeWriter::new(Vec::new(), WriteOptions::default()).unwrap();
    let table = writer.table(&process()).unwrap();
    let lacks = |row: u64| {
        let sum = PartialSum::new(row as u32, 117, Absence::AccessDenied);
        sum.filter(|_| !row.is_multiple_of(3))
    };
    for row in 0..30 {
        writer.row(time(row)).unwrap();
        let instance = writer.instance(table, Some("_Total")).unwrap();
        let state = lacks(row).map_or(ValueState::Present, ValueState::Partial);
        writer.put(instance, 0, Ok(sample(RAW, row * 5, time(row).time.0)), state);
    }
    let recorded = writer.flush().map(|_| ()).and_then(|()| writer.seal()).unwrap();
    std::fs::write(&first, recorded).unwrap();
    relog(from_ref(&first), &copy, &to(Format::Tally)).unwrap();
    relog(from_ref(&copy), &json, &to(Format::Json)).unwrap();
    for path in [&first, &copy, &json] {
        let mut log = open(path, &ReadOptions::default()).unwrap();
        for row in 0..30 {
            let record = log.next_record().unwrap().unwrap();
            assert_eq!(record.cells[0].map(|sample| sample.first), Ok(row * 5), "{row} {}", path.display());
            assert_eq!(log.partial(0), lacks(row), "{row} {}", path.display());
        }
    }
}
