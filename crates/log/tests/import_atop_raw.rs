//! Raw logs of atop: their samples are those of what atop prints of them. `import::atop::raw` has a test with
//! a value of its own in every field.
#![cfg(feature = "compressed")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tallymon_log::{ReadOptions, open, read_bytes};
use tallymon_testkit::{Scratch, peer};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/import").join(name)
}

/// The output of a program that prints a raw log, with times of UTC.
fn print(atop: &Path, raw: &Path) -> Vec<u8> {
    let out = Command::new(atop).arg("-r").arg(raw).args(["-P", "ALL"]).env("TZ", "UTC").output().unwrap();
    assert!(out.status.success(), "{}: {}", raw.display(), out.status);
    out.stdout
}

/// Compares all samples of a raw log with those of what atop prints of it; how many there were.
fn compare_raw(raw: &Path, text: &Path) -> usize {
    let mut logs = [raw, text].map(|path| open(path, &ReadOptions::default()).unwrap());
    let mut compared = 0;
    loop {
        let records = logs.each_mut().map(|log| log.next_record().unwrap());
        let [Some(ours), Some(printed)] = records else {
            assert!(records.iter().all(Option::is_none), "one of them has more records");
            break;
        };
        assert_eq!((ours.time, ours.local_minutes), (printed.time, printed.local_minutes));
        let by_path: HashMap<&str, _> =
            logs[0].about().columns.iter().map(|column| column.path.as_str()).zip(&ours.cells).collect();
        for (column, cell) in logs[1].about().columns.iter().zip(&printed.cells) {
            assert_eq!(by_path.get(column.path.as_str()), Some(&cell), "{}", column.path);
            compared += usize::from(cell.is_ok());
        }
    }
    for log in logs {
        assert_eq!(log.about().notes.damage, []);
    }
    compared
}

#[test]
fn a_raw_log_of_this_machine_has_the_values_that_are_printed_of_it() {
    let Some(atop) = peer("atop") else { return };
    let folder = Scratch::new();
    let raw = folder.join("a.raw");
    // It records itself too, which it may not without rights.
    let ran =
        Command::new(&atop).arg("-w").arg(&raw).args(["1", "3"]).stdout(Stdio::null()).status().unwrap();
    assert!(ran.success());
    let path = folder.join("atop.txt");
    std::fs::write(&path, print(&atop, &raw)).unwrap();
    assert!(compare_raw(&raw, &path) > 1_000);
}

#[test]
fn a_raw_log_has_the_values_that_are_printed_of_it() {
    let raw = fixture("atop-2.8.1.raw");
    let mut log = open(&raw, &ReadOptions::default()).unwrap();
    assert_eq!(log.about().writer.as_deref(), Some("atop 2.8"));
    assert!(log.about().columns.iter().all(|column| column.path.starts_with(r"\\web01\")));
    let mut records = 0;
    while log.next_record().unwrap().is_some() {
        records += 1;
    }
    assert_eq!((records, &log.about().notes.damage), (3, &vec![]));
    let Some(atop) = peer("atop") else { return };
    let folder = Scratch::new();
    let path = folder.join("atop.txt");
    std::fs::write(&path, print(&atop, &raw)).unwrap();
    assert!(compare_raw(&raw, &path) > 400);
    // What is printed does not have these.
    let started = r"\\web01\System Extended\Tasks Started/sec";
    assert!(log.about().columns.iter().any(|column| column.path == started));
}

#[test]
fn the_zone_of_a_raw_log_is_that_of_the_reader() {
    let options = ReadOptions { bias: Some(-330), ..ReadOptions::default() };
    let mut log = open(&fixture("atop-2.8.1.raw"), &options).unwrap();
    let record = log.next_record().unwrap().unwrap();
    let mut plain = open(&fixture("atop-2.8.1.raw"), &ReadOptions::default()).unwrap();
    assert_eq!((record.local_minutes, record.time), (330, plain.next_record().unwrap().unwrap().time));
}

#[test]
fn damaged_raw_logs_are_read_up_to_their_damage() {
    let whole = std::fs::read(fixture("atop-2.8.1.raw")).unwrap();
    let number = |at: usize| u32::from_le_bytes(whole[at..at + 4].try_into().unwrap()) as usize;
    let second = 480 + 96 + number(480 + 16) + number(480 + 20);
    let with = |at: usize, bytes: &[u8]| {
        let mut hurt = whole.clone();
        hurt[at..at + bytes.len()].copy_from_slice(bytes);
        hurt
    };
    for (hurt, records, words) in [
        (whole[..second + 50].to_vec(), 1, "ends at byte"),
        (whole[..second + 96 + 10].to_vec(), 1, "inside of the machine's values"),
        (whole[..second + 96 + number(second + 16) + 10].to_vec(), 1, "inside of the tasks"),
        (with(second + 96 + 2, &[0xff; 40]), 2, "this record is left out"),
        (with(second + 96 + number(second + 16) + 2, &[0xff; 40]), 3, "tasks of this record are missing"),
        (with(second + 16, &[0xff; 4]), 1, "has 4294967295 bytes; reading ends here"),
        (with(second + 28, &[0xff; 4]), 3, "has 4294967295 tasks; the first 1048576 of them are read"),
        (with(second, &[0xff; 8]), 1, "a record -1 seconds after 1970"),
    ] {
        let mut log = read_bytes(&hurt, &ReadOptions::default()).unwrap();
        let mut read = 0;
        while log.next_record().unwrap().is_some() {
            read += 1;
        }
        let damage = format!("{:?}", log.about().notes.damage);
        assert!(read == records && damage.contains(words), "{read} of {records} records: {damage}");
    }
    for (hurt, words) in [
        (whole[..100].to_vec(), "with a damaged header"),
        (with(4, &[1, 0x81]), "a raw log of atop 1.1; those of 2.4 to 2.13 are read here"),
        (with(4, &[13, 0x82]), "a raw log of atop 2.13 whose structures have 1021960 and 968 bytes"),
        (with(12, &[92]), "its records 92"),
    ] {
        let error = read_bytes(&hurt, &ReadOptions::default()).err().unwrap().to_string();
        let is_whole = hurt.len() == whole.len();
        assert!(error.contains(words), "{error}");
        assert!(error.contains("atop -r FILE -P ALL") == is_whole, "{error}");
    }
}
