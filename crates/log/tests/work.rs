//! Work is counted in instructions, so that a log of unusual shape costs no more than its length.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::fmt::Write;
use std::ops::ControlFlow;

use tallymon_log::ReadOptions;
use tallymon_testkit::{assert_linear_in, work_folder, work_size};

/// Opens a log of JSON lines as the monitor, `get` and `relog` do first: for its columns and times.
#[test]
fn json_with_new_columns() {
    let (Some(size), Some(folder)) = (work_size(), work_folder()) else { return };
    let mut log = tallymon_log::open(&folder.join("new.json"), &ReadOptions::default()).unwrap();
    let (mut records, mut columns) = (0, 0);
    let mut note = |passed: tallymon_log::ScannedRecord| {
        records += 1;
        columns = passed.columns;
        ControlFlow::Continue(())
    };
    log.scan(&mut note).unwrap();
    assert_eq!((records, columns, log.about().columns.len()), (size + 1, size + 1, size + 1));
}

/// Each line has a process that no other line has.
#[test]
fn a_json_log_whose_lines_all_bring_new_columns_is_opened_in_linear_time() {
    assert_linear_in("json_with_new_columns", 2_000, |size, folder| {
        let mut text = String::new();
        for nth in 0..=size {
            let (hour, minute, second) = (nth / 3600, nth / 60 % 60, nth % 60);
            writeln!(
                text,
                r#"{{"time":"2026-01-31T{hour:02}:{minute:02}:{second:02}Z","values":[{{"path":"\\\\vm\\Process(p{nth})\\ID Process","value":{nth}}}]}}"#
            )
            .unwrap();
        }
        std::fs::write(folder.join("new.json"), text).unwrap();
    });
}
