//! Two thousand cuts and flips over three BLGs, and some hundred over the other formats: nothing panics or
//! hangs, and nothing is lost without a word.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::HashSet;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::slice::from_ref;
use std::sync::mpsc::channel;
use std::time::Duration;

use tallymon_core::counter::CounterType;
use tallymon_core::time::{FileTime, UNITS_PER_SECOND};
use tallymon_log::blg::{BlgWriter, Data, Entry, RawCounter, WriteOptions, flags};
use tallymon_log::relog::Options;
use tallymon_log::{Format, ReadOptions, open, relog};
use tallymon_testkit::{Scratch, shared};

/// Reading one file takes milliseconds.
const HANGS: Duration = Duration::from_secs(120);

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// A log with single counters and a wildcard whose instances come and go, of several buffers.
fn made() -> Vec<u8> {
    let entry = |flags: u32, instance: Option<&str>, counter: &str| Entry {
        flags,
        user: 0,
        counter_type: CounterType::PERF_COUNTER_LARGE_RAWCOUNT,
        time_base: 0,
        scale: 0,
        machine: Some(r"\\box".to_owned()),
        object: Some("Thing".to_owned()),
        instance: instance.map(str::to_owned),
        parent: None,
        instance_index: 0,
        counter: Some(counter.to_owned()),
    };
    let entries = vec![entry(0, None, "Alone"), entry(flags::WILDCARD, Some("*"), "Many")];
    let mut options = WriteOptions::default();
    options.header.start = FileTime(131_000_000_000_000_000);
    let mut writer = BlgWriter::new(Cursor::new(Vec::new()), options, entries).unwrap();
    for row in 0..400u64 {
        let time = FileTime(131_000_000_000_000_000 + row * UNITS_PER_SECOND);
        let alone = RawCounter { time, first: row as i64, ..RawCounter::default() };
        let items = (0..3 + row % 5).map(|item| (format!("item {item}").into(), 1, (row * item) as i64, 0));
        let many = Data::Multi { status: 0, time, items: items.collect() };
        writer.record(time, time, &[Data::Single(alone), many]).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Times of all records, and whether anything was said. Reads the file as every command does.
fn read(path: &Path) -> (Vec<u64>, bool) {
    let options = ReadOptions::default();
    let mut log = match open(path, &options) {
        Ok(log) => log,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return (Vec::new(), true);
        }
    };
    let mut times = Vec::new();
    let mut failed = false;
    loop {
        match log.next_record() {
            Ok(Some(record)) => times.push(record.time.0),
            Ok(None) => break,
            Err(_) => {
                failed = true;
                break;
            }
        }
    }
    let notes = &log.about().notes;
    (times, failed || notes.damage_count > 0)
}

/// Hurts a file many times, and checks that records that are gone are told. Records of the same number with
/// other times are damage that no checksum shows.
fn hurt(name: &str, file: &Path, rounds: u64) {
    let is_text = matches!(name, "csv" | "json");
    let whole = std::fs::read(file).unwrap();
    let (all, told) = read(file);
    assert!(!told && all.len() > 10, "{name}: {} records", all.len());
    let folder = Scratch::in_memory();
    let path = folder.join(file.file_name().unwrap());
    let (send, receive) = channel();
    let (name, watched) = (name.to_owned(), path.clone());
    let work = std::thread::spawn(move || {
        let mut state = 0x2545_f491_4f6c_dd1d ^ rounds;
        let mut lost = 0;
        for round in 0..rounds {
            let mut data = whole.clone();
            let place = random(&mut state) as usize % data.len();
            let what = match round % 8 {
                0 | 1 => {
                    data.truncate(place);
                    "cut"
                }
                // Cuts at borders of buffers and of sectors.
                2 => {
                    data.truncate(place / 0x1_0000 * 0x1_0000);
                    "cut at a buffer"
                }
                3 => {
                    let end = (place + random(&mut state) as usize % 5000).min(data.len());
                    data[place..end].fill(if round % 16 < 8 { 0 } else { 0xff });
                    "blank"
                }
                4 => {
                    let end = (place + random(&mut state) as usize % 70_000).min(data.len());
                    drop(data.drain(place..end));
                    "hole"
                }
                _ => {
                    data[place] ^= 1 << (random(&mut state) % 8);
                    "flip"
                }
            };
            std::fs::write(&watched, &data).unwrap();
            let (times, told) = read(&watched);
            let there: HashSet<u64> = times.iter().copied().collect();
            let gone = all.iter().filter(|time| !there.contains(time)).count();
            lost += usize::from(times.len() < all.len());
            // A text has no lengths and no numbers: lines that are gone leave no trace.
            let ends_a_row = [&b"\n"[..], b"\r", b"\"", b"}"].iter().any(|end| data.ends_with(end));
            let leaves_no_trace = is_text && (what == "hole" || what.starts_with("cut") && ends_a_row);
            let told = told || leaves_no_trace;
            assert!(
                told || times.len() >= all.len(),
                "{name}: {what} at {place:#x} of {:#x}: {} of {} records without a word ({gone} times are gone)",
                whole.len(),
                times.len(),
                all.len()
            );
            send.send(()).unwrap();
        }
        lost
    });
    for round in 0..rounds {
        // A thread that panicked closes the channel; its message says more than this one.
        match receive.recv_timeout(HANGS) {
            Ok(()) => {}
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                panic!("round {round} hangs; the file is {}", path.display())
            }
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    let lost = work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    assert!(lost > 0, "no round lost a record");
}

#[test]
fn binary_logs() {
    let folder = Scratch::in_memory();
    let path = folder.join("made.blg");
    std::fs::write(&path, made()).unwrap();
    hurt("made", &path, 800);
    for (name, rounds) in [("PowerShell_CounterSamples.blg", 800), ("PAL_SampleLog.blg", 400)] {
        let Some(sample) = shared(&format!("logs/{name}")) else { return };
        hurt(name, &sample, rounds);
    }
}

/// The made log in another format.
fn in_format(folder: &Scratch, format: Format) -> PathBuf {
    let blg = folder.join("made.blg");
    std::fs::write(&blg, made()).unwrap();
    let path = folder.join(format!("made.{}", format.info().extension));
    relog(from_ref(&blg), &path, &Options { format, ..Options::default() }).unwrap();
    path
}

#[test]
fn text_logs() {
    let folder = Scratch::in_memory();
    hurt("csv", &in_format(&folder, Format::Csv), 300);
    hurt("json", &in_format(&folder, Format::Json), 300);
}

#[test]
fn native_logs() {
    let folder = Scratch::in_memory();
    hurt("native", &in_format(&folder, Format::Tally), 400);
}

#[cfg(feature = "sqlite")]
#[test]
fn databases() {
    let folder = Scratch::in_memory();
    hurt("sqlite", &in_format(&folder, Format::Sqlite), 200);
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_files() {
    let folder = Scratch::in_memory();
    hurt("parquet", &in_format(&folder, Format::Parquet), 400);
}
