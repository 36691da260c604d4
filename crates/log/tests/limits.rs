//! What reading a hostile file may cost: pipes and devices, too many columns, databases that never end.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::path::Path;

use tallymon_log::{LogErrorKind, ReadOptions, open, read_bytes};
use tallymon_testkit::Scratch;

#[track_caller]
fn refused(path: &Path, words: &str) {
    let error = open(path, &ReadOptions::default()).err().expect("it is not a log");
    assert!(matches!(error.kind, LogErrorKind::NotALog(_) | LogErrorKind::Unusable(_)), "{error:?}");
    let text = error.to_string();
    assert!(text.contains(words) && text.contains(path.to_str().unwrap()), "{text}");
}

#[test]
#[cfg(unix)]
fn only_regular_files_are_opened() {
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    let folder = Scratch::new();
    let pipe = folder.join("pipe.csv");
    // Nobody writes into it: to open it would wait for ever.
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    refused(&pipe, "it is a pipe");
    let link = folder.join("link.csv");
    std::os::unix::fs::symlink(&pipe, &link).unwrap();
    refused(&link, "it is a pipe");
    refused(&folder, "it is a directory");
    refused(Path::new("/dev/zero"), "it is a device");
    let socket = folder.join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    refused(&socket, "it is a socket");
}

#[test]
fn a_text_log_is_read_up_to_its_most_columns() {
    const COLUMNS: usize = 200_000;
    const MOST: usize = 1 << 17;
    let mut text = "\"(PDH-CSV 4.0) (UTC)(0)\"".to_string();
    for column in 0..COLUMNS {
        write!(text, ",\"\\\\h\\o({column})\\c\"").unwrap();
    }
    for row in 0..2 {
        write!(text, "\n\"01/31/2026 10:00:0{row}.000\"").unwrap();
        for column in 0..COLUMNS {
            write!(text, ",\"{column}\"").unwrap();
        }
    }
    text.push('\n');
    let mut log = read_bytes(text.as_bytes(), &ReadOptions::default()).unwrap();
    let mut records = 0;
    while let Some(record) = log.next_record().unwrap() {
        assert_eq!(record.cells.len(), MOST);
        assert_eq!(record.cells[MOST - 1].unwrap().first, ((MOST - 1) as f64).to_bits());
        records += 1;
    }
    assert_eq!((records, log.about().columns.len()), (2, MOST));
    let notes = &log.about().notes;
    assert_eq!(notes.damage_count, 1, "{notes:?}");
    assert!(notes.damage[0].what.contains(&format!("{} columns are left out", COLUMNS - MOST)), "{notes:?}");
}

#[test]
fn texts_of_text_counters_are_no_damage() {
    let rows = |cells: [&str; 3]| {
        let mut text = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\h\\o\\state\",\"\\\\h\\o\\number\"\n".to_string();
        for (row, cell) in cells.iter().enumerate() {
            writeln!(text, "\"01/31/2026 10:00:0{row}.000\",\"on \"\"air\"\", {row}\",\"{cell}\"").unwrap();
        }
        text
    };
    // Good numbers; one that is damaged before and one behind others: both are damage.
    for (cells, damaged) in
        [(["1", "2", "3"], None), (["x1", "2", "3"], Some(2)), (["1", "2", "x3"], Some(4))]
    {
        let text = rows(cells);
        let mut log = read_bytes(text.as_bytes(), &ReadOptions::default()).unwrap();
        let mut row = 0;
        while let Some(record) = log.next_record().unwrap() {
            assert_eq!(log.text(0), Some(format!("on \"air\", {row}").as_str()));
            assert_eq!(record.cells[1].is_err(), cells[row].starts_with('x'));
            row += 1;
        }
        let about = log.about();
        assert!(about.columns[0].counter_type.is_text() && !about.columns[1].counter_type.is_text());
        let lines: Vec<_> = about.notes.damage.iter().map(|damage| damage.line).collect();
        assert_eq!(lines, damaged.map(Some).into_iter().collect::<Vec<_>>(), "{cells:?}");
        assert!(about.notes.remarks.iter().any(|remark| remark.contains("state has texts")), "{about:?}");
    }
}

#[cfg(feature = "sqlite")]
mod databases {
    use rusqlite::Connection;

    use super::*;

    const ENDLESS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";

    fn database(path: &Path, details: &str, data: &str) {
        let database = Connection::open(path).unwrap();
        database
            .execute_batch(&format!(
                "{details}; {data};
                 CREATE TABLE DisplayToID (GUID, RunID, DisplayString, LogStartTime, LogStopTime,
                     NumberOfRecords, MinutesToUTC, TimeZoneName);
                 INSERT INTO DisplayToID VALUES ('g', 0, 'set', '2026', '2026', 2, 0, 'UTC');"
            ))
            .unwrap();
    }

    #[test]
    fn a_view_that_never_ends_is_refused() {
        let folder = Scratch::new();
        let details = "CREATE TABLE CounterDetails (CounterID INTEGER PRIMARY KEY, MachineName, ObjectName, \
                       CounterName, CounterType, DefaultScale, InstanceName, InstanceIndex, ParentName, \
                       ParentObjectID, TimeBaseA, TimeBaseB)";
        let data = "CREATE TABLE CounterData (GUID, CounterID, RecordIndex, CounterDateTime, CounterValue, \
                    FirstValueA, FirstValueB, SecondValueA, SecondValueB, MultiCount)";
        for (name, details, data) in [
            (
                "CounterData",
                details.to_string(),
                format!(
                    "CREATE VIEW CounterData AS {ENDLESS} SELECT 'g' GUID, 1 CounterID, i RecordIndex, \
                     '2026' CounterDateTime, 1.0 CounterValue, NULL FirstValueA, NULL FirstValueB, NULL SecondValueA, \
                     NULL SecondValueB, 1 MultiCount FROM n WHERE i < 0"
                ),
            ),
            (
                "CounterDetails",
                format!(
                    "CREATE VIEW CounterDetails AS {ENDLESS} SELECT i CounterID, '' MachineName, 'o' \
                     ObjectName, 'c' CounterName, 0 CounterType, 0 DefaultScale, '' InstanceName, 0 InstanceIndex, \
                     '' ParentName, 0 ParentObjectID, 0 TimeBaseA, 0 TimeBaseB FROM n WHERE i < 0"
                ),
                data.to_string(),
            ),
        ] {
            let path = folder.join(format!("{name}.sqlite"));
            database(&path, &details, &data);
            refused(&path, &format!("{name} is a view"));
        }
        // The same tables without a view.
        let path = folder.join("tables.sqlite");
        database(&path, details, data);
        assert_eq!(tallymon_log::info(&path, &ReadOptions::default()).unwrap().records, 0);
    }

    #[test]
    fn a_value_that_is_too_long_is_refused() {
        let folder = Scratch::new();
        let path = folder.join("endless.sqlite");
        // A table whose file has a hundred bytes for it.
        database(
            &path,
            "CREATE TABLE CounterDetails (CounterID INTEGER PRIMARY KEY, MachineName, ObjectName, CounterName, \
             CounterType, DefaultScale, InstanceName, InstanceIndex, ParentName, ParentObjectID, TimeBaseA, TimeBaseB)",
            "CREATE TABLE CounterData (GUID, CounterID, RecordIndex, CounterDateTime AS \
             (hex(zeroblob(3000000))), CounterValue, FirstValueA, FirstValueB, SecondValueA, SecondValueB, \
             MultiCount); INSERT INTO CounterData (GUID, CounterID, RecordIndex) VALUES ('g', 1, 1)",
        );
        let error = open(&path, &ReadOptions::default()).and_then(|mut log| log.next_record()).err();
        assert!(error.expect("the value is too long").to_string().contains("CounterData"));
    }
}

/// A row of JSON with the values of the paths.
fn json_row(second: usize, paths: impl Iterator<Item = String>) -> String {
    let values: Vec<String> =
        paths.map(|path| format!(r#"{{"path":"{path}","value":1,"type":"PERF_DOUBLE_RAW"}}"#)).collect();
    format!(r#"{{"time":"2026-01-31T10:00:{second:02}Z","host":"h","values":[{}]}}"#, values.join(",")) + "\n"
}

#[test]
fn json_lines_are_read_up_to_their_most_columns() {
    const MOST: usize = 1 << 17;
    let text = json_row(0, (0..MOST + 3).map(|column| format!(r"\\o({column})\\c")));
    let mut log = read_bytes(text.as_bytes(), &ReadOptions::default()).unwrap();
    assert_eq!(log.next_record().unwrap().unwrap().cells.len(), MOST);
    assert!(log.next_record().unwrap().is_none());
    let about = log.about();
    assert_eq!((about.columns.len(), about.notes.damage_count), (MOST, 1));
    assert!(about.notes.damage[0].what.starts_with("3 values are left out"), "{:?}", about.notes);
}

#[test]
fn columns_of_json_lines_that_come_late_have_their_place() {
    // Each row has one column more, at the beginning.
    let rows = (0..300).map(|row| json_row(row % 60, (0..=row).rev().map(|at| format!(r"\\o({at})\\c"))));
    let text: String = rows.collect();
    let mut log = read_bytes(text.as_bytes(), &ReadOptions::default()).unwrap();
    while log.next_record().unwrap().is_some() {}
    let mut columns: Vec<_> = log.about().columns.iter().map(|column| (column.group, &column.path)).collect();
    assert_eq!(columns.len(), 300);
    columns.sort();
    assert_eq!(columns[0].1, r"\\h\o(0)\c");
    // A new column stands behind the last one when nothing of its row stands before it.
    assert_eq!(columns[299].1, r"\\h\o(299)\c");
    assert!(columns.windows(2).all(|pair| pair[0].0 != pair[1].0), "{columns:?}");
}

#[test]
fn hostile_json_lines_are_damage() {
    let good = json_row(1, [r"\\o(a)\\c".to_string()].into_iter());
    let deep = format!("{{\"time\":\"2026-01-31T10:00:00Z\",\"values\":{}", "[".repeat(1 << 20));
    let skipped = format!("{{\"x\":{}", "[".repeat(1 << 20));
    let long = format!("{{\"time\":\"{}\",\"values\":[]}}", "x".repeat(1 << 26));
    for (bad, words) in [
        (deep.as_str(), "invalid type: sequence"),
        (&skipped, "EOF while parsing"),
        (&long, "67108864 bytes"),
        (r#"{"time":"2026-01-31T10:00:00Z"}"#, "\"values\" is missing"),
        (r#"{"values":[]}"#, "\"time\" is missing"),
        (r#"{"time":"yesterday","values":[]}"#, "\"yesterday\" is not a time"),
        (r#"{"time":"2026-01-31T10:00:00Z","values":[{"value":1}]}"#, "no \"path\""),
        (r#"{"time":"2026-01-31T10:00:00Z","values":[{"path":"a","first":"-1"}]}"#, "\"first\" is no whole"),
        (r#"{"time":"2026-01-31T10:00:00Z","values":[{"path":"a","value":1e999}]}"#, "out of range"),
        (r#"{"time":"2026-01-31T10:00:00Z","values":[{"path":"a","value":[1]}]}"#, "invalid type"),
        (
            r#"{"time":"2026-01-31T10:00:00Z","values":[{"path":"a","multi_count":4294967296}]}"#,
            "\"multi_count\"",
        ),
        (r#"{"time":"2026-01-31T10:00:00Z","values":[]} {}"#, "trailing characters"),
        ("[1]", "invalid type"),
        ("nonsense", "expected ident"),
    ] {
        let shown = &bad[..bad.len().min(80)];
        let text = format!("{good}{bad}\n{good}");
        let mut log = read_bytes(text.as_bytes(), &ReadOptions::default()).unwrap();
        let mut records = 0;
        while log.next_record().unwrap().is_some() {
            records += 1;
        }
        let notes = &log.about().notes;
        assert_eq!((records, notes.damage_count), (2, 1), "{shown}");
        let damage = &notes.damage[0];
        assert!(damage.what.contains(words) && damage.line == Some(2), "{shown}: {damage}");
        assert!((good.len() as u64..(good.len() + bad.len()) as u64 + 1).contains(&damage.byte), "{damage}");
    }
}

#[test]
fn json_that_is_no_log_is_refused_in_words() {
    for (text, words) in [
        ("{\n \"time\": \"2026-01-31T10:00:00Z\",\n \"values\": []\n}\n", "'jq -c' writes one row a line"),
        ("{}", "it begins with text \"{}\""),
        ("{\"time\":1,\"values\":[]}", "\"time\" is not a text"),
    ] {
        let error = read_bytes(text.as_bytes(), &ReadOptions::default()).err().expect("it is not a log");
        assert!(error.to_string().contains(words), "{error}");
    }
}
