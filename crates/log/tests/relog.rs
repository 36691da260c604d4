//! Copying logs between formats, checked by Windows' own conversion and by a decoder that shares nothing with
//! ours.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::slice::from_ref;

use tallymon_core::flow::{Column, Row, Sink};
use tallymon_core::time::FileTime;
use tallymon_log::csv::LineEnd;
use tallymon_log::new_file::Overwrite;
use tallymon_log::relog::Options;
use tallymon_log::{
    FORMATS, Format, LogError, ReadOptions, Records, Selection, info, open, relog, relog_into, relog_to,
};
use tallymon_testkit::{Scratch, peer, shared};

fn text(inputs: &[PathBuf], options: &Options) -> String {
    let mut out = Vec::new();
    relog_to(inputs, &mut out, options).unwrap();
    String::from_utf8(out).unwrap()
}

fn options(format: Format) -> Options {
    Options { format, line_end: LineEnd::Lf, ..Options::default() }
}

#[test]
fn csv_and_tsv_equal_what_windows_made() {
    let Some(blg) = shared("logs/PowerShell_CounterSamples.blg") else { return };
    for format in [Format::Csv, Format::Tsv] {
        let twin = std::fs::read_to_string(blg.with_extension(format.info().extension)).unwrap();
        let lf = options(format);
        let crlf = Options { line_end: LineEnd::CrLf, ..lf.clone() };
        assert_eq!(text(from_ref(&blg), &lf), twin);
        assert_eq!(text(from_ref(&blg), &crlf), twin.replace('\n', "\r\n"));
    }
}

/// Keeps what it is given, until it has `most` rows.
#[derive(Default)]
struct Kept {
    paths: Vec<String>,
    rows: Vec<Vec<Option<f64>>>,
    most: Option<usize>,
    is_finished: bool,
}

impl Sink for Kept {
    type Error = LogError;

    fn columns(&mut self, columns: &[Column]) -> Result<(), LogError> {
        self.paths = columns.iter().map(|column| column.path.clone()).collect();
        Ok(())
    }

    fn row(&mut self, row: &Row<'_>) -> Result<(), LogError> {
        if self.most == Some(self.rows.len()) {
            return Err(std::io::Error::other("full").into());
        }
        let number = |value: &tallymon_core::flow::Value| value.as_f64();
        self.rows.push(row.cells.iter().map(|cell| cell.value.as_ref().ok().and_then(number)).collect());
        Ok(())
    }

    fn finish(&mut self) -> Result<(), LogError> {
        self.is_finished = true;
        Ok(())
    }
}

#[test]
fn a_sink_of_the_caller_gets_what_windows_writes() {
    let Some(blg) = shared("logs/PowerShell_CounterSamples.blg") else { return };
    let twin = std::fs::read_to_string(blg.with_extension("tsv")).unwrap();
    let mut lines = twin.lines().map(|line| line.split('\t').map(|text| text.trim_matches('"')).skip(1));
    let mut kept = Kept::default();
    let report = relog_into(from_ref(&blg), &mut kept, &Options::default()).unwrap();
    assert!(kept.paths.iter().map(String::as_str).eq(lines.next().unwrap()));
    assert!(kept.is_finished && report.records == kept.rows.len() as u64);
    let expected: Vec<Vec<Option<f64>>> =
        lines.map(|line| line.map(|text| text.parse().ok()).collect()).collect();
    assert_eq!(kept.rows, expected);
    let mut full = Kept { most: Some(1), ..Kept::default() };
    let error = relog_into(from_ref(&blg), &mut full, &Options::default()).unwrap_err();
    assert!(error.to_string().contains("full") && !full.is_finished, "{error}");
}

#[test]
fn a_written_blg_has_the_same_values() {
    let folder = Scratch::new();
    for name in ["PowerShell_CounterSamples.blg", "Tx_BasicPerfCounters.blg", "PAL_SampleLog.blg"] {
        let Some(path) = shared(&format!("logs/{name}")) else { return };
        let copy = folder.join(name);
        let report = relog(from_ref(&path), &copy, &Options::default()).unwrap();
        assert_eq!(report.remarks, [""; 0]);
        let mut one = open(&path, &ReadOptions::default()).unwrap();
        let mut other = open(&copy, &ReadOptions::default()).unwrap();
        let ones: Vec<_> = Records::new(&mut *one).map(Result::unwrap).collect();
        let others: Vec<_> = Records::new(&mut *other).map(Result::unwrap).collect();
        assert_eq!(other.about().notes, Default::default(), "{name}");
        assert_eq!(ones.len(), others.len());
        assert_eq!(one.about().columns.len(), other.about().columns.len());
        for (position, column) in one.about().columns.iter().enumerate() {
            let place = other.about().columns.iter().position(|other| other.path == column.path);
            let place = place.unwrap_or_else(|| panic!("{name}: {} is missing", column.path));
            for (one, other) in ones.iter().zip(&others) {
                assert_eq!(one.time, other.time);
                let (one, other) = (one.cells.get(position), other.cells.get(place));
                let (one, other) = (one.and_then(|cell| cell.ok()), other.and_then(|cell| cell.ok()));
                let raw =
                    |sample: tallymon_core::flow::Sample| (sample.counter_type, sample.first, sample.second);
                assert_eq!(one.map(raw), other.map(raw), "{name}: {}", column.path);
            }
        }
        // The text made of both is the same, so their frequencies and zones are too.
        let csv = options(Format::Csv);
        if name != "PAL_SampleLog.blg" {
            assert_eq!(text(&[path], &csv), text(&[copy], &csv), "{name}");
        }
    }
}

#[test]
fn a_decoder_of_others_reads_our_blg() {
    let Some(path) = shared("logs/PowerShell_CounterSamples.blg") else { return };
    let Some(python) = peer("python3") else { return };
    let folder = Scratch::new();
    let decoder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/blg_decoder.py");
    let decode = |blg: &Path| {
        let output = Command::new(&python).arg(&decoder).arg(blg).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    for (name, path) in
        [("power shell", path.clone()), ("tx", path.with_file_name("Tx_BasicPerfCounters.blg"))]
    {
        let copy = folder.join("copy.blg");
        let options = Options { overwrite: Overwrite::Replace, ..Options::default() };
        relog(from_ref(&path), &copy, &options).unwrap();
        let (ours, windows) = (decode(&copy), decode(&path));
        assert!(windows.lines().count() > 100);
        let mut ours: Vec<&str> = ours.lines().collect();
        let mut windows: Vec<&str> = windows.lines().collect();
        ours.sort_unstable();
        windows.sort_unstable();
        assert_eq!(ours, windows, "{name}");
    }
    // A log of whole objects becomes one of counters, whose records are long.
    let copy = folder.join("objects.blg");
    relog(&[path.with_file_name("PAL_SampleLog.blg")], &copy, &Options::default()).unwrap();
    let decoded = decode(&copy);
    assert_eq!(
        decoded.lines().filter(|line| line.contains(r"Process(svchost#1)\% Processor Time")).count(),
        11
    );
}

#[test]
fn a_name_without_room_in_a_blg_costs_its_counter_only() {
    let folder = Scratch::new();
    let name = |length: usize| "n".repeat(length);
    for (length, room) in [(2_045, true), (2_046, false), (70_000, false)] {
        let (csv, blg) = (folder.join(format!("{length}.csv")), folder.join(format!("{length}.blg")));
        let head = format!(r#""(PDH-CSV 4.0) (UTC)(0)","\\h\o\{}","\\h\o\c""#, name(length));
        std::fs::write(&csv, format!("{head}\n\"01/31/2026 10:00:00.000\",\"1\",\"2\"\n")).unwrap();
        let report = relog(&[csv], &blg, &Options::default()).unwrap();
        let copy = info(&blg, &ReadOptions::default()).unwrap();
        assert_eq!(copy.notes.damage_count, 0, "{length}: {:?}", copy.notes);
        assert_eq!(copy.columns.len(), 1 + usize::from(room), "{length}");
        assert_eq!(report.remarks.len(), usize::from(!room), "{length}: {:?}", report.remarks);
        let is_short = |words: &String| words.len() < 200 && words.contains("more than 2045 characters");
        assert!(report.remarks.iter().all(is_short), "{:?}", report.remarks);
    }
}

#[test]
fn selected_counters_and_records_are_copied() {
    let Some(path) = shared("logs/PowerShell_CounterSamples.blg") else { return };
    let wanted = r"\processor(*)\*".parse().unwrap();
    let nowhere = r"\Processor(7)\*".parse().unwrap();
    let start = 131246703908740000;
    let choose = Options {
        select: Selection {
            counters: vec![wanted, nowhere],
            from: Some(FileTime(start + 30_000_000).into()),
            to: None,
        },
        every: 2.try_into().unwrap(),
        rename_host: vec![("CHARLIEPARKER".into(), "host1".into())],
        utc: true,
        ..options(Format::Csv)
    };
    let mut out = Vec::new();
    let report = relog_to(from_ref(&path), &mut out, &choose).unwrap();
    assert_eq!((report.columns, report.columns_left_out, report.records), (1, 9, 12));
    assert_eq!(report.not_found, [r"\Processor(7)\*"]);
    let text = String::from_utf8(out).unwrap();
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some(r#""(PDH-CSV 4.0) (UTC)(0)","\\host1\processor(_total)\% processor time""#)
    );
    assert_eq!(lines.next(), Some(r#""11/26/2016 21:46:33.877"," ""#));
    assert_eq!(lines.count(), 11);

    let select = Selection { counters: vec![r"\None\Such".parse().unwrap()], ..Selection::default() };
    let nothing = Options { select, ..options(Format::Csv) };
    let error = relog_to(from_ref(&path), Vec::new(), &nothing).unwrap_err().to_string();
    assert!(error.contains(r"\None\Such"), "{error}");
    assert!(relog_to(&[path], Vec::new(), &options(Format::Blg)).is_err());
}

#[test]
fn inputs_of_several_formats_become_one_log() {
    let Some(blg) = shared("logs/PowerShell_CounterSamples.blg") else { return };
    let inputs = [blg.with_extension("csv"), blg.with_file_name("Tx_BasicPerfCounters.blg")];
    let folder = Scratch::new();
    let out = folder.join("all.blg");
    let report = relog(&inputs, &out, &Options { strip_path: true, ..Options::default() }).unwrap();
    assert_eq!((report.columns, report.records), (20, 626));
    assert_eq!(report.inputs[0].format, Format::Blg, "the older one comes first");
    assert_eq!(report.first, report.inputs[0].first);
    assert_eq!(report.last, report.inputs[1].last);
    let info = info(&out, &ReadOptions::default()).unwrap();
    assert_eq!(info.notes, Default::default());
    let hosts: Vec<&str> = info.hosts.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(hosts, ["GEORGIS3", "charlieparker"]);
    assert_eq!((info.records, info.gap_count), (626, 25));
    // Nothing is left of the file that was written first.
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn info_of_the_samples() {
    let Some(path) = shared("logs/Tx_BasicPerfCounters.blg") else { return };
    let info = info(&path, &ReadOptions::default()).unwrap();
    assert_eq!((info.records, info.columns.len(), info.values), (601, 10, 6010));
    assert_eq!(info.zone, ("Pacific Standard Time".to_owned(), 480));
    assert_eq!(info.interval, Some(1.0));
    assert_eq!((info.gap_count, info.bad.len(), info.backward_records), (0, 0, 0));
    assert_eq!(info.bytes_per_value.map(|bytes| bytes.round()), Some(65.0));
    let objects: Vec<_> =
        info.objects.iter().map(|object| (object.name.as_str(), object.counters, object.instances)).collect();
    assert_eq!(objects, [("PhysicalDisk", 5, 1), ("Processor", 1, 5)]);
    assert_eq!(info.hosts[0].restarts, []);

    let info =
        tallymon_log::info(&path.with_file_name("PAL_SampleLog.blg"), &ReadOptions::default()).unwrap();
    assert_eq!(info.zone, ("Eastern Daylight Time".to_owned(), 240));
    assert_eq!((info.records, info.objects.len(), info.hosts.len()), (11, 8, 1));
}

/// In a text log all bytes are of a value, a time, a line end or the first line.
#[test]
fn info_counts_the_bytes_of_each_counter() {
    let Some(text) = shared("logs/PowerShell_CounterSamples.csv") else { return };
    let all = |path: &Path| {
        let info = info(path, &ReadOptions::default()).unwrap();
        assert!(info.counters.is_sorted_by(|one, other| one.bytes >= other.bytes));
        assert_eq!(info.counters.iter().map(|counter| counter.values).sum::<u64>(), info.values);
        (info.counters.iter().map(|counter| counter.bytes.unwrap()).sum::<u64>(), info)
    };
    let (bytes, info) = all(&text);
    // Its lines end with a line feed; a time has 25 characters with its quotation marks.
    let head = std::fs::read(&text).unwrap().iter().position(|byte| *byte == b'\n').unwrap() as u64 + 1;
    assert_eq!(bytes + head + info.records * (25 + 1), info.bytes);

    // Five single counters of 48 bytes each in a record, and a wildcard's 0 to 3 and _Total: 24 bytes and the
    // name of each.
    let blg = shared("logs/Tx_BasicPerfCounters.blg").unwrap();
    let (bytes, info) = all(&blg);
    assert_eq!(bytes, info.records * (5 * 48 + 4 * (24 + 4) + (24 + 14)));

    let folder = Scratch::new();
    let native = folder.join("sizes.tally");
    relog(&[blg], &native, &Options { format: Format::Tally, ..Options::default() }).unwrap();
    let (bytes, info) = all(&native);
    assert!(bytes > info.bytes / 3 && bytes < info.bytes, "{bytes} of {}", info.bytes);
}

/// A record in which no counter has a value is a record in every format, and is there after a copy of a copy.
#[test]
fn records_without_values_stay() {
    let folder = Scratch::new();
    let source = folder.join("source.csv");
    let rows = ["5", " ", "7", " ", " "];
    let mut csv = r#""(PDH-CSV 4.0) (UTC)(0)","\\host\Memory\Available Bytes""#.to_string() + "\n";
    for (second, value) in rows.iter().enumerate() {
        csv += &format!("\"01/31/2026 10:00:0{second}.000\",\"{value}\"\n");
    }
    std::fs::write(&source, &csv).unwrap();
    for format in FORMATS.iter().filter(|format| format.writes).map(|format| format.format) {
        let copy = folder.join(format!("copy.{}", format.info().extension));
        relog(from_ref(&source), &copy, &Options { overwrite: Overwrite::Replace, ..options(format) })
            .unwrap();
        assert_eq!(text(from_ref(&copy), &options(Format::Csv)), csv, "{format:?}");
        let mut times = Vec::new();
        let mut log = open(&copy, &ReadOptions::default()).unwrap();
        log.scan(&mut |record| {
            times.push(record.time);
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(times.len(), rows.len(), "a scan of {format:?}");
        assert!(times.is_sorted());
    }
}
