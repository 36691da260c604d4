//! What reading a hostile file may cost: pipes and devices, too many columns, databases that never end.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::path::Path;

use tallymon_log::{LogErrorKind, ReadOptions, info, open, read_bytes};
use tallymon_testkit::Scratch;

#[track_caller]
fn refused(path: &Path, words: &str) {
    let error = open(path, &ReadOptions::default()).err().expect("it is no log");
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
        assert_eq!(info(&path, &ReadOptions::default()).unwrap().records, 0);
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
