//! Lakes: what is put in comes out, whoever writes at the same time or is killed; Delta Lake's own library
//! and DuckDB read them; hostile tables cost nothing.
#![cfg(feature = "parquet")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::slice::from_ref;
use std::time::{Duration, SystemTime};

use serde_json::{Value as Json, json};
use tallymon_log::lake::{compact, is_table, vacuum};
use tallymon_log::relog::{Options, Report};
use tallymon_log::{Format, LogError, LogTime, ReadOptions, Selection, open, relog, relog_to, stats};
use tallymon_testkit::{Scratch, attack, attack_count, shared, skip};

fn put(log: &Path, lake: &Path) -> Result<Report, LogError> {
    relog(from_ref(&log.to_path_buf()), lake, &Options { format: Format::Lake, ..Options::default() })
}

/// The columns of a log as CSV in UTC: each path and its values.
fn columns(log: &Path) -> BTreeMap<String, Vec<String>> {
    let mut out = Vec::new();
    let options = Options { format: Format::Csv, utc: true, ..Options::default() };
    relog_to(from_ref(&log.to_path_buf()), &mut out, &options).unwrap();
    let text = String::from_utf8(out).unwrap();
    let rows: Vec<Vec<&str>> =
        text.lines().map(|line| line.trim_matches('"').split("\",\"").collect()).collect();
    let (head, rows) = rows.split_first().unwrap();
    let mut columns = BTreeMap::new();
    for (at, path) in head.iter().enumerate() {
        // The first column has the times.
        let path = if at == 0 { "time" } else { path };
        let values = rows.iter().map(|row| row.get(at).copied().unwrap_or_default().to_owned()).collect();
        columns.insert(path.to_owned(), values);
    }
    columns
}

/// A small log of a host that no other has.
fn log_of(folder: &Path, host: u32, rows: u32) -> PathBuf {
    let mut text = format!(
        "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\h{host}\\Memory\\Available Bytes\",\
         \"\\\\h{host}\\Disk(a b/c:%)\\Reads\"\r\n"
    );
    for row in 0..rows {
        text.push_str(&format!(
            "\"11/26/2016 13:{:02}:{:02}.5{:02}\",\"{row}\",\"{host}.25\"\r\n",
            row / 60,
            row % 60,
            row % 100
        ));
    }
    let path = folder.join(format!("log{host}.csv"));
    fs::write(&path, text).unwrap();
    path
}

fn records(log: &Path) -> (u64, u64) {
    let mut reader = open(log, &ReadOptions::default()).unwrap();
    while reader.next_record().unwrap().is_some() {}
    (reader.about().records, reader.about().notes.damage_count)
}

fn versions(lake: &Path) -> usize {
    let is_version = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
    fs::read_dir(lake.join("_delta_log"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(is_version)
        .count()
}

/// The files below a folder that no name hides.
fn parts(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_name().to_string_lossy().starts_with(['_', '.']) {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            found.extend(parts(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found.sort();
    found
}

#[test]
fn what_is_put_in_comes_out() {
    for name in ["logs/PowerShell_CounterSamples.blg", "logs/PAL_SampleLog.blg"] {
        let Some(log) = shared(name) else { return };
        let folder = Scratch::new();
        let lake = folder.join("x.lake");
        let report = put(&log, &lake).unwrap();
        assert!(report.records > 0 && !report.is_known);
        assert_eq!(columns(&lake), columns(&log), "{name}");
        // Types, clocks and scales are those of the log.
        let types = |path: &Path| {
            let mut reader = open(path, &ReadOptions::default()).unwrap();
            while reader.next_record().unwrap().is_some() {}
            let columns = reader.about().columns.iter();
            let about = |column: &tallymon_log::Column| (column.counter_type, column.time_base, column.scale);
            columns.map(|column| (column.path.clone(), about(column))).collect::<BTreeMap<_, _>>()
        };
        assert_eq!(types(&lake), types(&log), "{name}");
        // Small parts become one, and nothing else changes.
        let before = columns(&lake);
        assert_eq!(compact(&lake).unwrap().remarks, Vec::<String>::new());
        assert_eq!(columns(&lake), before, "{name}");
    }
}

/// The times of a log with its values, in order.
fn rows(log: &Path) -> Vec<Vec<(String, String)>> {
    let columns = columns(log);
    let mut rows: Vec<Vec<(String, String)>> = (0..columns["time"].len())
        .map(|row| {
            let cells = columns.iter().map(|(path, values)| (path.clone(), values[row].clone()));
            cells.filter(|(_, value)| !value.trim().is_empty()).collect()
        })
        .collect();
    rows.sort_by_key(|row| row.iter().find(|(path, _)| path == "time").cloned());
    rows
}

fn native_of(log: &Path, native: &Path) {
    relog(from_ref(&log.to_path_buf()), native, &Options { format: Format::Tally, ..Options::default() })
        .unwrap();
}

#[test]
fn native_logs_are_put_in_by_columns() {
    let folder = Scratch::new();
    let native = folder.join("x.tally");
    // Counters of all kinds, and instances that come and go.
    for (nth, name) in ["logs/PowerShell_CounterSamples.blg", "logs/PAL_SampleLog.blg"].iter().enumerate() {
        let Some(log) = shared(name) else { return };
        let (native, lake) = (folder.join(format!("{nth}.tally")), folder.join(format!("{nth}.lake")));
        native_of(&log, &native);
        let report = put(&native, &lake).unwrap();
        assert_eq!(columns(&lake), columns(&native), "{name}");
        let input = &report.inputs[0];
        assert_eq!((report.records, input.records), (input.records, records(&native).0));
        assert_eq!((report.first, report.last), (input.first, input.last));
    }
    // Several row groups, a midnight, gaps, and a clock that is set back.
    let mut text = "\"(PDH-CSV 4.0) (UTC)(0)\"".to_owned();
    (0..500).for_each(|nth| text.push_str(&format!(",\"\\\\h\\Disk({})\\Reads {}\"", nth / 4, nth % 4)));
    text.push_str("\r\n");
    for row in 0..900 {
        let seconds = row * 10 + if row < 600 { 82_800 } else { 79_205 };
        let (day, second) = (26 + seconds / 86_400, seconds % 86_400);
        let clock = format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
        text.push_str(&format!("\"11/{day}/2016 {clock}.000\""));
        for nth in 0..500 {
            match (row + nth) % 97 {
                0 => text.push_str(",\" \""),
                rest => text.push_str(&format!(",\"{}\"", if nth % 3 == 0 { 7 } else { rest * nth })),
            }
        }
        text.push_str("\r\n");
    }
    let log = folder.join("x.csv");
    fs::write(&log, text).unwrap();
    native_of(&log, &native);
    let lake = folder.join("x.lake");
    put(&native, &lake).unwrap();
    let (found, expected) = (rows(&lake), rows(&native));
    assert_eq!(found.len(), 900);
    assert!(found == expected, "{:?}", found.iter().zip(&expected).find(|(one, other)| one != other));
    // Some counters of some time: rates and values are those of the same records.
    let time = |row: u64| {
        let seconds = 1_480_201_200 + i128::from(row) * 10;
        LogTime::Utc(tallymon_core::time::FileTime::from_unix_nanoseconds(seconds * 1_000_000_000).unwrap())
    };
    let select = Selection {
        counters: vec![r"\Disk(7)\*".parse().unwrap()],
        from: Some(time(17)),
        to: Some(time(430)),
    };
    let chosen = folder.join("chosen");
    let options = |format: Format| Options { format, select: select.clone(), ..Options::default() };
    for (name, format) in [("csv", Format::Csv), ("lake", Format::Lake)] {
        let to = chosen.with_extension(name);
        let report = relog(from_ref(&native), &to, &options(format)).unwrap();
        assert_eq!((report.columns, report.first.is_some()), (4, true), "{name}");
    }
    assert_eq!(rows(&chosen.with_extension("lake")), rows(&chosen.with_extension("csv")));
}

#[test]
fn the_report_of_a_copy_by_columns_has_the_clock_that_was_asked_for() {
    let folder = Scratch::new();
    let log = log_of(&folder, 1, 3);
    let text = fs::read_to_string(&log).unwrap().replace("(UTC)(0)", "(Somewhere)(-60)");
    fs::write(&log, text).unwrap();
    let native = folder.join("x.tally");
    native_of(&log, &native);
    for (utc, minutes) in [(false, 60), (true, 0)] {
        for input in [&log, &native] {
            let lake = folder.join(format!("{utc}-{}.lake", input.extension().unwrap().display()));
            let options = Options { format: Format::Lake, utc, ..Options::default() };
            let report = relog(from_ref(input), &lake, &options).unwrap();
            assert_eq!((report.records, report.local_minutes), (3, minutes), "{utc} {}", input.display());
        }
    }
}

#[test]
fn a_log_is_put_in_once_and_parts_become_one() {
    let folder = Scratch::new();
    let lake = folder.join("x.lake");
    let logs: Vec<PathBuf> = (0..6).map(|host| log_of(&folder, host, 120)).collect();
    // Each log by three writers at once.
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| logs.iter().for_each(|log| drop(put(log, &lake).unwrap())));
        }
    });
    assert!(logs.iter().all(|log| put(log, &lake).unwrap().is_known));
    assert_eq!((versions(&lake), parts(&lake).len()), (7, 12));
    assert_eq!(records(&lake), (120, 0));
    let before = columns(&lake);
    assert_eq!(before.len(), 13);
    assert_eq!(before[r"\\h3\Disk(a b/c:%)\Reads"][7], "3.25");
    let done = compact(&lake).unwrap();
    assert_eq!((done.removed, done.added, done.remarks.len()), (12, 2, 0));
    assert!(done.added_bytes < done.removed_bytes, "{done:?}");
    assert_eq!(columns(&lake), before);
    // Readers of the version before have their files until they are old enough.
    let now = SystemTime::now();
    let young = vacuum(&lake, now, Duration::from_secs(3600)).unwrap();
    assert_eq!((young.files, young.kept, parts(&lake).len()), (0, 12, 14));
    let old = vacuum(&lake, now + Duration::from_secs(7200), Duration::from_secs(3600)).unwrap();
    assert_eq!((old.files, parts(&lake).len()), (12, 2));
    assert_eq!(columns(&lake), before);
    assert!(logs.iter().all(|log| put(log, &lake).unwrap().is_known));
}

#[test]
fn another_table_in_the_same_place_is_another_one() {
    let folder = Scratch::new();
    let lake = folder.join("x.lake");
    for host in 0..3 {
        put(&log_of(&folder, host, 20), &lake).unwrap();
    }
    // A new one, and an older copy of it: what this process knew of the one before is not written on.
    fs::remove_dir_all(&lake).unwrap();
    put(&log_of(&folder, 0, 20), &lake).unwrap();
    assert_eq!((versions(&lake), parts(&lake).len()), (2, 2));
    for host in 1..3 {
        put(&log_of(&folder, host, 20), &lake).unwrap();
    }
    fs::remove_file(lake.join("_delta_log/00000000000000000003.json")).unwrap();
    assert!(!put(&log_of(&folder, 2, 20), &lake).unwrap().is_known);
    assert_eq!((versions(&lake), records(&lake)), (4, (20, 0)));
    assert_eq!(columns(&lake).len(), 7);
}

#[test]
fn only_what_is_asked_for_is_opened() {
    let folder = Scratch::new();
    let lake = folder.join("x.lake");
    put(&log_of(&folder, 1, 120), &lake).unwrap();
    // The part that is not needed is not even a file of values.
    for part in parts(&lake).iter().filter(|part| part.to_string_lossy().contains("object=Memory")) {
        fs::write(part, b"no values").unwrap();
    }
    let select = Selection { counters: vec![r"\Disk(*)\*".parse().unwrap()], ..Selection::default() };
    let found = stats(from_ref(&lake), &select, &ReadOptions::default()).unwrap();
    assert_eq!((found.records, found.notes[0].1.damage_count), (120, 0));
    assert_eq!(records(&lake).1, 1);
    // 2020, years after the last record.
    let from = tallymon_core::time::FileTime::from_unix_nanoseconds(1_577_836_800_000_000_000).unwrap();
    let none = Selection { from: Some(LogTime::Utc(from)), ..Selection::default() };
    let error = stats(from_ref(&lake), &none, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("record"), "{error}");
}

#[test]
fn records_are_found_again() {
    let folder = Scratch::new();
    let lake = folder.join("x.lake");
    for host in 0..3 {
        put(&log_of(&folder, host, 90), &lake).unwrap();
    }
    let mut reader = open(&lake, &ReadOptions::default()).unwrap();
    let mut all = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        all.push((reader.position().unwrap(), record));
    }
    assert_eq!(all.len(), 90);
    for (position, record) in all.iter().rev().step_by(7) {
        assert!(reader.seek_to(*position).unwrap());
        let again = reader.next_record().unwrap().unwrap();
        assert_eq!((again.time, &again.cells), (record.time, &record.cells));
    }
}

/// The process that the next test kills: it puts logs in until then.
#[test]
fn a_writer_that_is_killed() {
    let Some(folder) = std::env::var_os("TALLYMON_TEST_LAKE") else { return };
    let folder = PathBuf::from(folder);
    for host in 0.. {
        put(&log_of(&folder, host, 300), &folder.join("x.lake")).unwrap();
    }
}

#[test]
fn attack_kill_writers_of_a_lake() {
    let folder = Scratch::new();
    let lake = folder.join("x.lake");
    for round in 0..attack_count(6, 60) as u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_writer_that_is_killed", "--nocapture"])
            .env("TALLYMON_TEST_LAKE", folder.as_os_str())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // At some moment of its work, another one each time.
        let wanted = if is_table(&lake) { versions(&lake) + 2 } else { 2 };
        while !is_table(&lake) || versions(&lake) < wanted {
            assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_micros(round * 997 % 5000));
        child.kill().unwrap();
        child.wait().unwrap();
        // Each log that is there is there with all its values.
        let (count, damage) = records(&lake);
        assert_eq!((count, damage), (300, 0));
        let all = columns(&lake);
        assert_eq!(all.len() % 2, 1, "half a log");
        assert!(all.values().all(|values| values.iter().all(|value| value != " ")));
        // What was left over is removed, and the next writer goes on.
        let later = SystemTime::now() + Duration::from_secs(100);
        vacuum(&lake, later, Duration::from_secs(1)).unwrap();
        assert_eq!(parts(&lake).len(), (versions(&lake) - 1) * 2);
    }
    attack(
        "logs and other files",
        "kill a process that writes a lake",
        "each log is whole or not there; the next writer goes on",
    );
}

/// A lake, and a way to add a version to it.
struct Table {
    folder: Scratch,
    lake: PathBuf,
}

impl Table {
    fn new() -> Table {
        let folder = Scratch::new();
        let lake = folder.join("x.lake");
        put(&log_of(&folder, 1, 10), &lake).unwrap();
        Table { folder, lake }
    }

    fn version(&self, number: u32, bytes: impl AsRef<[u8]>) {
        fs::write(self.lake.join(format!("_delta_log/{number:020}.json")), bytes).unwrap();
    }

    /// What reading it ends with: records and faults, or the error.
    fn read(&self) -> Result<(u64, Vec<String>), String> {
        let mut reader = open(&self.lake, &ReadOptions::default()).map_err(|error| error.to_string())?;
        while reader.next_record().map_err(|error| error.to_string())?.is_some() {}
        let about = reader.about();
        Ok((about.records, about.notes.damage.iter().map(ToString::to_string).collect()))
    }
}

fn added(path: &str, stats: &str) -> String {
    json!({"add": {"path": path, "partitionValues": {"day": "2016-11-26", "object": "Memory"}, "size": 1,
           "modificationTime": 0, "dataChange": true, "stats": stats}})
    .to_string()
}

#[test]
fn attack_tables_that_name_other_files() {
    for path in [
        "../../../../etc/passwd",
        "/etc/passwd",
        "%2e%2e/%2e%2e/etc/passwd",
        "file:///etc/passwd",
        "https://example.org/x.parquet",
        "day=x/../../log1.csv",
        "a\\\\..\\\\b",
        "nobody.parquet",
    ] {
        let table = Table::new();
        table.version(2, added(path, ""));
        let (records, faults) = table.read().unwrap();
        assert_eq!((records, faults.len()), (10, 1), "{path}: {faults:?}");
    }
    attack(
        "logs and other files",
        "a lake that names files outside its folder",
        "refused by its name, not opened",
    );
}

#[cfg(unix)]
#[test]
fn attack_links_in_a_lake() {
    let table = Table::new();
    let outside = table.folder.join("outside.parquet");
    let part = parts(&table.lake).remove(0);
    fs::rename(&part, &outside).unwrap();
    std::os::unix::fs::symlink(&outside, &part).unwrap();
    let (_, faults) = table.read().unwrap();
    assert!(faults[0].contains("symbolic link"), "{faults:?}");
    // The folder of an object leads elsewhere: nothing is written there.
    let elsewhere = Scratch::new();
    let object = part.parent().unwrap();
    fs::remove_dir_all(object).unwrap();
    std::os::unix::fs::symlink(&*elsewhere, object).unwrap();
    let error = put(&log_of(&table.folder, 2, 10), &table.lake).unwrap_err().to_string();
    assert!(error.contains("no folder"), "{error}");
    assert_eq!(fs::read_dir(&*elsewhere).unwrap().count(), 0);
    vacuum(&table.lake, SystemTime::now() + Duration::from_secs(9), Duration::ZERO).unwrap();
    // So does the folder of the versions.
    let table = Table::new();
    let versions = table.lake.join("_delta_log");
    let moved = table.folder.join("versions");
    fs::rename(&versions, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &versions).unwrap();
    assert!(table.read().is_err());
    attack("logs and other files", "symbolic links in a lake", "not followed, neither to read nor to write");
}

#[test]
fn attack_versions_of_a_lake() {
    let deep = format!("{{\"add\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let long = "x".repeat((1 << 24) + 1);
    let protocol =
        r#"{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["deletionVectors"]}}"#;
    let vector = r#"{"add":{"path":"a","partitionValues":{},"size":1,"deletionVector":{"storageType":"u"}}}"#;
    let columns = r#"{"metaData":{"schemaString":"{\"fields\":[]}","partitionColumns":[]}}"#;
    for (bytes, words) in [
        (deep.as_str(), "no JSON"),
        (&long, "bytes, the most"),
        ("[]", "one field"),
        (r#"{"add":{}}"#, "\"path\""),
        (protocol, "deletionVectors"),
        (vector, "deletion vectors"),
        (columns, "no column \"time\""),
        ("\0\0\0", "no JSON"),
    ] {
        let table = Table::new();
        table.version(2, bytes);
        let error = table.read().unwrap_err();
        assert!(error.contains(words), "{words}: {error}");
        assert!(put(&log_of(&table.folder, 2, 10), &table.lake).is_err(), "{words}");
    }
    // A version that is missing, or only in a checkpoint.
    let table = Table::new();
    table.version(5, "");
    assert!(table.read().unwrap_err().contains("version 2 of the table is missing, but 5"));
    let table = Table::new();
    fs::remove_file(table.lake.join("_delta_log/00000000000000000000.json")).unwrap();
    fs::write(table.lake.join("_delta_log/00000000000000000001.checkpoint.parquet"), "PAR1").unwrap();
    assert!(table.read().unwrap_err().contains("checkpoints are not read"));
    attack(
        "logs and other files",
        "versions of a lake with deep, long, unknown or missing actions",
        "an error names the version and the line",
    );
}

#[test]
fn attack_statistics_and_parts_of_a_lake() {
    let table = Table::new();
    // Statistics that say another century: records come late, and that is said.
    let log = table.lake.join("_delta_log/00000000000000000001.json");
    let text = fs::read_to_string(&log).unwrap();
    let mut lines: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in lines.iter_mut().filter(|line| line["add"]["partitionValues"]["object"] == "Memory") {
        line["add"]["stats"] = Json::from(
            r#"{"numRecords":18446744073709551615,"minValues":{"time":"2999-01-01T00:00:00Z"},
                "maxValues":{"time":7}}"#,
        );
    }
    let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
    fs::write(&log, text.join("\n")).unwrap();
    let (records, faults) = table.read().unwrap();
    assert_eq!(records, 20);
    assert!(faults[0].contains("statistics"), "{faults:?}");
    // Flipped bytes of a part, everywhere.
    let part = parts(&table.lake).remove(0);
    let bytes = fs::read(&part).unwrap();
    let step = bytes.len() / attack_count(60, 2000).min(bytes.len()) + 1;
    for at in (0..bytes.len()).step_by(step) {
        let mut hurt = bytes.clone();
        hurt[at] ^= 0x41;
        fs::write(&part, hurt).unwrap();
        let _ = table.read().unwrap();
        fs::write(&part, &bytes[..at]).unwrap();
        let _ = table.read().unwrap();
    }
    attack(
        "logs and other files",
        "wrong statistics and damaged parts of a lake",
        "what can be read is read, and the rest is named",
    );
}

/// Runs a program of Python; `None` if what it needs is not here.
fn python(program: &str, arguments: &[&str]) -> Option<Json> {
    let ran = Command::new("python3").arg("-c").arg(program).args(arguments).output();
    let Ok(ran) = ran else {
        skip("python3 is not here");
        return None;
    };
    let out = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{out}{}", String::from_utf8_lossy(&ran.stderr));
    let found: Json = serde_json::from_str(out.lines().last().unwrap()).unwrap();
    if let Some(missing) = found["missing"].as_str() {
        let is_required = std::env::var_os("TALLYMON_PEERS").is_some_and(|peers| peers == "required");
        assert!(!is_required, "{missing}");
        skip(missing);
        return None;
    }
    Some(found)
}

const DELTA: &str = r#"
import json, os, sys
try:
    import deltalake, pyarrow
except ImportError as missing:
    print(json.dumps({"missing": str(missing)}))
    sys.exit()
from deltalake import DeltaTable
table = DeltaTable(sys.argv[1])
def look(table):
    rows = table.to_pyarrow_table()
    disk = table.to_pyarrow_table(filters=[("object", "=", "Disk"), ("counter", "=", "Reads")])
    return {"rows": rows.num_rows, "version": table.version(), "files": len(table.file_uris()),
            "sum": sum(value for value in rows["value"].to_pylist() if value is not None),
            "disk": disk.num_rows, "days": sorted({str(day) for day in rows["day"].to_pylist()}),
            "instances": sorted({str(name) for name in disk["instance"].to_pylist()}),
            "first": str(min(rows["time"].to_pylist()))}
before = look(table)
# Pages have the checksums that the format describes; a part with a flipped bit in a page is refused.
import pyarrow.parquet as parquet
part = table.file_uris()[0].removeprefix("file://")
whole = parquet.ParquetFile(part, page_checksum_verification=True)
whole.read()
place = whole.metadata.row_group(0).column(0).data_page_offset
bytes = bytearray(open(part, "rb").read())
bytes[place + whole.metadata.row_group(0).column(0).total_compressed_size - 1] ^= 1
try:
    parquet.ParquetFile(pyarrow.BufferReader(bytes), page_checksum_verification=True).read()
    checked = "a flipped bit was read"
except OSError as error:
    checked = "CRC" if "CRC" in str(error) else str(error)
stats = table.get_add_actions(flatten=True)
stats = pyarrow.table(stats)
counted = sum(stats["num_records"].to_pylist())
done = table.optimize.compact()
table.create_checkpoint()
after = look(DeltaTable(sys.argv[1]))
print(json.dumps({"before": before, "after": after, "counted": counted, "checked": checked,
                  "removed": done["numFilesRemoved"], "protocol": table.protocol().min_reader_version}), flush=True)
# Threads of its libraries sometimes abort while the interpreter ends.
os._exit(0)
"#;

#[test]
fn the_library_of_delta_lake_reads_and_rewrites_a_lake() {
    let folder = Scratch::new();
    let lake = folder.join("x.lake");
    for host in 0..4 {
        put(&log_of(&folder, host, 50), &lake).unwrap();
    }
    let values = columns(&lake);
    let Some(found) = python(DELTA, &[lake.to_str().unwrap()]) else { return };
    let before = &found["before"];
    assert_eq!((&before["rows"], &before["version"], &before["files"]), (&400.into(), &4.into(), &8.into()));
    assert_eq!((&found["counted"], &before["disk"]), (&400.into(), &200.into()));
    assert_eq!(found["checked"], "CRC");
    assert_eq!(before["days"], json!(["2016-11-26"]));
    assert_eq!(before["instances"], json!(["a b/c:%"]));
    assert_eq!(before["first"], "2016-11-26 13:00:00.500000+00:00");
    // 4 times 0 + 1 … 49, and 50 times 0.25 + 1.25 + 2.25 + 3.25.
    assert_eq!(before["sum"], 4.0 * 1225.0 + 50.0 * 7.0);
    // It has made one part of four, and a checkpoint: the values are the same, for both of us.
    assert_eq!(found["removed"], 8);
    for key in ["rows", "sum", "disk", "instances", "first"] {
        assert_eq!(found["after"][key], before[key], "{key}");
    }
    assert_eq!(columns(&lake), values);
    // And we go on in it.
    put(&log_of(&folder, 9, 50), &lake).unwrap();
    assert_eq!(columns(&lake).len(), values.len() + 2);
    assert_eq!(compact(&lake).unwrap().remarks, Vec::<String>::new());
    assert_eq!(columns(&lake).len(), values.len() + 2);
}

const DUCKDB: &str = r#"
import json, os, sys
try:
    import duckdb
except ImportError as missing:
    print(json.dumps({"missing": str(missing)}))
    sys.exit()
os.chdir(sys.argv[1])
print(json.dumps([duckdb.sql(query).fetchall() for query in sys.argv[2:]], default=str))
"#;

#[test]
fn the_questions_of_the_page_are_answered_by_duckdb() {
    let Some(log) = shared("logs/PAL_SampleLog.blg") else { return };
    let folder = Scratch::new();
    let lake = folder.join("counters.lake");
    put(&log, &lake).unwrap();
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tasks/lake.md")).unwrap();
    let queries: Vec<&str> = page
        .split("```sql\n-- DuckDB")
        .skip(1)
        .filter_map(|rest| rest.split_once('\n')?.1.split_once("```"))
        .map(|(query, _)| query)
        .collect();
    assert!(queries.len() >= 3, "{}", queries.len());
    let all = "SELECT path, count(*), sum(value) FROM read_parquet('counters.lake/day=*/*/*.parquet', \
               hive_partitioning = true) GROUP BY path";
    let arguments: Vec<&str> =
        [folder.to_str().unwrap(), all].into_iter().chain(queries.iter().copied()).collect();
    let Some(found) = python(DUCKDB, &arguments) else { return };
    // Each value is the one that a CSV has.
    let of_log = columns(&log);
    for row in found[0].as_array().unwrap() {
        let values = &of_log[row[0].as_str().unwrap()];
        let numbers = values.iter().filter_map(|value| value.parse::<f64>().ok());
        let (sum, found) = (numbers.sum::<f64>(), row[2].as_f64().unwrap_or_default());
        assert!((sum - found).abs() <= 1e-9 * sum.abs().max(1e-9), "{row}: {sum}");
    }
    assert_eq!(found[0].as_array().unwrap().len(), of_log.len() - 1);
    for (query, rows) in queries.iter().zip(found.as_array().unwrap().iter().skip(1)) {
        assert!(!rows.as_array().unwrap().is_empty(), "{query}");
    }
}

const CLICKHOUSE: &str = r#"
import json, os, sys
try:
    import chdb
except ImportError as missing:
    print(json.dumps({"missing": str(missing)}))
    sys.exit()
# It reads files below its own folder only.
os.chdir(sys.argv[1])
print(json.dumps(json.loads(str(chdb.query(sys.argv[2], "JSONCompact")))["data"]))
"#;

#[test]
fn the_question_of_the_page_is_answered_by_clickhouse() {
    let Some(log) = shared("logs/PAL_SampleLog.blg") else { return };
    let folder = Scratch::new();
    let lake = folder.join("counters.lake");
    put(&log, &lake).unwrap();
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tasks/lake.md")).unwrap();
    let query = page.split("```sql\n-- ClickHouse\n").nth(1).unwrap().split(";\n```").next().unwrap();
    let query = query.replace("/srv/counters.lake", lake.to_str().unwrap());
    let Some(found) = python(CLICKHOUSE, &[folder.to_str().unwrap(), &query]) else { return };
    let peaks: BTreeMap<&str, f64> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row[2].as_str().unwrap(), row[4].as_f64().unwrap()))
        .collect();
    let of_log = columns(&log);
    for instance in ["0", "_Total"] {
        let values = &of_log[&format!(r"\\ZACH-PC\Processor({instance})\% Processor Time")];
        let peak = values.iter().filter_map(|value| value.parse::<f64>().ok()).fold(0.0, f64::max);
        assert!((peaks[instance] - peak).abs() < 1e-9 * peak, "{instance}: {peaks:?}, {peak}");
    }
}

const SPARK: &str = r#"
import json, os, sys
sys.path.insert(0, os.environ["TALLYMON_SPARK"])
from pyspark.sql import SparkSession
settings = {"spark.ui.enabled": "false", "spark.driver.memory": "1g", "spark.sql.session.timeZone": "UTC",
            "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.warehouse.dir": sys.argv[1], "spark.sql.shuffle.partitions": "2"}
spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
found = [[list(row) for row in spark.sql(query).collect()] for query in sys.argv[2:]]
spark.stop()
print(json.dumps(found, default=str), flush=True)
"#;

/// Spark takes a minute and half a gigabyte, so that `cargo xtask engines` alone fetches and asks it.
#[test]
fn the_questions_of_the_page_are_answered_by_spark() {
    if std::env::var_os("TALLYMON_SPARK").is_none() {
        skip("Spark is not here: 'cargo xtask engines' fetches it");
        return;
    }
    let Some(log) = shared("logs/PAL_SampleLog.blg") else { return };
    let folder = Scratch::new();
    let lake = folder.join("counters.lake");
    put(&log, &lake).unwrap();
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tasks/lake.md")).unwrap();
    let blocks = |engine: &str| -> Vec<String> {
        let begin = format!("```sql\n-- {engine}\n");
        page.split(&begin).skip(1).map(|block| block.split(";\n```").next().unwrap().to_owned()).collect()
    };
    let here = format!("parquet.`{}`", lake.display());
    let own: Vec<String> =
        blocks("Spark").iter().map(|query| query.replace("parquet.`/srv/counters.lake`", &here)).collect();
    assert!(own.iter().any(|query| query.contains(&here)), "{own:?}");
    // The same questions as for the other engines.
    let table = "read_parquet('counters.lake/day=*/*/*.parquet', hive_partitioning = true)";
    let others: Vec<String> = blocks("DuckDB").iter().map(|query| query.replace(table, &here)).collect();
    assert!(others.len() >= 3 && others.iter().all(|query| query.contains(&here)), "{others:?}");
    let all = format!("SELECT path, count(*), sum(value) FROM {here} GROUP BY path");
    let mut arguments = vec![folder.to_str().unwrap(), all.as_str()];
    arguments.extend(own.iter().chain(&others).map(String::as_str));
    let Some(found) = python(SPARK, &arguments) else { return };
    let of_log = columns(&log);
    assert_eq!(found[0].as_array().unwrap().len(), of_log.len() - 1);
    for row in found[0].as_array().unwrap() {
        let numbers = of_log[row[0].as_str().unwrap()].iter().filter_map(|value| value.parse::<f64>().ok());
        let (sum, found) = (numbers.sum::<f64>(), row[2].as_f64().unwrap_or_default());
        assert!((sum - found).abs() <= 1e-9 * sum.abs().max(1e-9), "{row}: {sum}");
    }
    for (query, rows) in own.iter().chain(&others).zip(found.as_array().unwrap().iter().skip(1)) {
        assert!(!rows.as_array().unwrap().is_empty(), "{query}");
    }
}
