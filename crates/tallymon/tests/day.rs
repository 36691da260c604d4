//! A day of recording in one test, alone in its process, so that memory and open files are those of the
//! recorder.
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::fs;

use tallymon::core::time::FileTime;
use tallymon::log::native::WriteOptions;
use tallymon::log::new_file::Overwrite;
use tallymon::log::{ReadOptions, info};
use tallymon::{Location, Query, Recorder};
use tallymon_testkit::{Scratch, open_files_can_be_deleted, shared};

/// Memory and open files of this process, where Linux tells them. Wine has a /proc too: that of its server.
fn level() -> Option<(u64, usize)> {
    if cfg!(not(target_os = "linux")) {
        return None;
    }
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let memory = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let memory = memory.split_whitespace().nth(1)?.parse().ok()?;
    Some((memory, fs::read_dir("/proc/self/fd").ok()?.count()))
}

#[test]
fn a_day_of_recording_takes_no_more_than_an_hour() {
    // A day at one record a second, by the times that the recorder is told.
    let Some(block) = shared("blocks/s00_obj238.bin") else { return };
    let mut query = Query::open(&Location::File(block)).unwrap();
    query.add(r"\Processor(*)\% Processor Time").unwrap();
    query.collect().unwrap();
    let folder = Scratch::in_memory();
    let path = folder.join("day.tally");
    let mut recorder = Recorder::create(&path, Overwrite::Replace, WriteOptions::default()).unwrap();
    recorder.choose(&query);
    // Wine keeps a handle of a locked file for each look at it, and has 20,000: there the day has two hours.
    let hours = if open_files_can_be_deleted() { 24 } else { 2 };
    let seconds = hours * 3_600;
    let mut first = None;
    for second in 0..seconds {
        let time = FileTime(133_000_000_000_000_000 + second * 10_000_000);
        recorder.record(query.snapshot().unwrap(), 60, (time, time)).unwrap();
        if second == 3_600 {
            first = level();
        }
    }
    let last = level();
    if let (Some((memory, files)), Some((memory_at_end, files_at_end))) = (first, last) {
        println!(
            "after an hour {memory} kB and {files} files; at the end {memory_at_end} kB, {files_at_end} files"
        );
        // What grows is the index: some bytes for each chunk.
        assert!(memory_at_end < memory + 2_000, "{memory} kB became {memory_at_end} kB");
        assert_eq!(files_at_end, files);
    }
    recorder.seal().unwrap();
    let known = info(&path, &ReadOptions::default()).unwrap();
    assert_eq!((known.records, known.gap_count, known.notes.damage_count), (seconds, 0, 0));
}
