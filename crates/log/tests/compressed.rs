//! Logs in files that gzip, xz and zstd compressed.
#![cfg(feature = "compressed")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tallymon_log::relog::Options;
use tallymon_log::{Format, LogErrorKind, ReadOptions, Selection, info, open, relog};
use tallymon_testkit::{Scratch, peer};

/// A log of text: two counters, `rows` seconds.
fn text(rows: u32) -> String {
    let mut log =
        String::from("\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\S\\Memory\\Available MBytes\",\"\\\\S\\O(i)\\C\"\n");
    for row in 0..rows {
        let (hour, minute, second) = (row / 3600 % 24, row / 60 % 60, row % 60);
        log += &format!(
            "\"01/31/2026 {hour:02}:{minute:02}:{second:02}.000\",\"{}\",\"{}\"\n",
            u64::from(row) * 2_654_435_761 % 1_000_003,
            row
        );
    }
    log
}

/// The bytes that a program makes of a file.
fn packed(program: &Path, file: &Path) -> Vec<u8> {
    let output = Command::new(program).arg("-c").arg(file).stderr(Stdio::null()).output().unwrap();
    assert!(output.status.success());
    output.stdout
}

fn programs() -> Vec<(PathBuf, &'static str)> {
    let programs = [("gzip", "gz"), ("xz", "xz"), ("zstd", "zst")];
    programs.into_iter().filter_map(|(program, ending)| Some((peer(program)?, ending))).collect()
}

/// All records of a log, and its faults.
fn records(path: &Path) -> (Vec<String>, u64) {
    let mut log = open(path, &ReadOptions::default()).unwrap();
    let mut records = Vec::new();
    while let Some(record) = log.next_record().unwrap() {
        records.push(format!("{record:?}"));
    }
    (records, log.about().notes.damage_count)
}

#[test]
fn every_format_that_is_one_file_is_read_as_if_it_was_not_compressed() {
    let scratch = Scratch::new();
    let csv = scratch.join("plain.csv");
    fs::write(&csv, text(500)).unwrap();
    for format in [Format::Csv, Format::Blg, Format::Tally, Format::Json, Format::Parquet] {
        let Some(info) = Some(format.info()).filter(|info| info.writes) else { continue };
        let plain = scratch.join(format!("log.{}", info.extension));
        let options = Options { format, ..Options::default() };
        relog(std::slice::from_ref(&csv), &plain, &options).unwrap();
        let expected = records(&plain);
        assert_eq!(expected.0.len(), 500);
        for (program, ending) in programs() {
            let file = scratch.join(format!("log.{}.{ending}", info.extension));
            fs::write(&file, packed(&program, &plain)).unwrap();
            assert_eq!(records(&file), expected, "{}", file.display());
            // What it is counts, not its name.
            let renamed = scratch.join("log");
            fs::rename(&file, &renamed).unwrap();
            assert_eq!(
                info::info_of(&renamed, &Selection::default(), &ReadOptions::default()).unwrap().records,
                500
            );
        }
    }
}

#[test]
fn several_parts_in_a_row_are_one_log() {
    let scratch = Scratch::new();
    let (whole, first, second) = (text(300), scratch.join("first"), scratch.join("second"));
    let (head, tail) = whole.split_at(5_000);
    fs::write(&first, head).unwrap();
    fs::write(&second, tail).unwrap();
    for (program, ending) in programs() {
        let file = scratch.join(format!("both.{ending}"));
        fs::write(&file, [packed(&program, &first), packed(&program, &second)].concat()).unwrap();
        let (records, damage) = records(&file);
        assert_eq!((records.len(), damage), (300, 0), "{ending}");
    }
}

#[test]
fn a_file_that_is_cut_or_damaged_is_read_up_to_there() {
    let scratch = Scratch::new();
    let plain = scratch.join("plain.csv");
    fs::write(&plain, text(30_000)).unwrap();
    for (program, ending) in programs() {
        let bytes = packed(&program, &plain);
        let file = scratch.join(format!("cut.csv.{ending}"));
        fs::write(&file, &bytes[..bytes.len() * 2 / 3]).unwrap();
        let (records, damage) = records(&file);
        assert!(
            damage > 0 && !records.is_empty() && records.len() < 30_000,
            "{ending} {damage} {}",
            records.len()
        );
        let log = info::info_of(&file, &Selection::default(), &ReadOptions::default()).unwrap();
        assert!(log.notes.damage[0].what.starts_with("the compressed file is damaged ("), "{:?}", log.notes);
        // Only the beginning of a compressed file, and rubbish behind it.
        let file = scratch.join("rubbish");
        for length in [6, 20] {
            fs::write(&file, [&bytes[..length], &[0xa5; 50]].concat()).unwrap();
            let error = open(&file, &ReadOptions::default()).err().unwrap();
            assert!(error.to_string().contains("nothing of it can be unpacked"), "{ending} {length} {error}");
        }
    }
}

#[test]
fn a_file_that_unpacks_without_end_is_refused() {
    let scratch = Scratch::new();
    for (program, ending) in programs() {
        let file = scratch.join(format!("bomb.{ending}"));
        let mut child = Command::new(program)
            .arg("-c")
            .stdin(Stdio::piped())
            .stdout(fs::File::create(&file).unwrap())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let zeros = vec![b'0'; 1 << 20];
        (0..80).for_each(|_| input.write_all(&zeros).unwrap());
        drop(input);
        assert!(child.wait().unwrap().success());
        // gzip makes at most a thousandth of anything, so a limit of the caller refuses that one.
        let most = (ending == "gz").then_some(1 << 20);
        let options = ReadOptions { most_unpacked: most, ..ReadOptions::default() };
        let error = open(&file, &options).err().unwrap();
        assert!(matches!(error.kind, LogErrorKind::Request(_)), "{error:?}");
        assert!(error.to_string().contains("bytes at most, and has more; unpack it with '"), "{error}");
    }
}

#[test]
fn what_is_not_unpacked_here_says_which_program_does() {
    let scratch = Scratch::new();
    for (begin, program) in [(&b"BZh91AY"[..], "bunzip2"), (b"PK\x03\x04\x14\0", "unzip")] {
        let file = scratch.join("log");
        fs::write(&file, begin).unwrap();
        let error = open(&file, &ReadOptions::default()).err().unwrap();
        assert!(error.to_string().contains(&format!("(unpack it first: {program})")), "{error}");
    }
    #[cfg(feature = "sqlite")]
    if let Some(gzip) = peer("gzip") {
        let (plain, file) = (scratch.join("db"), scratch.join("db.gz"));
        fs::write(&plain, [&b"SQLite format 3\0"[..], &[0; 200]].concat()).unwrap();
        fs::write(&file, packed(&gzip, &plain)).unwrap();
        let error = open(&file, &ReadOptions::default()).err().unwrap();
        assert!(error.to_string().contains("unpack it with 'gunzip' and name that file"), "{error}");
    }
}
