//! One query, live and through every log format: the same text.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that fails is to panic")]

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::slice::from_ref;

use tallymon::core::block::{
    BlockWriter, CounterSpec, InstanceKind, ObjectLayout, ObjectSpec, Snapshot, WriteHeader,
};
use tallymon::core::counter::CounterType;
use tallymon::core::flow::{Absence, Sink, Source, SourceError, ValueState};
use tallymon::core::request::Request;
use tallymon::core::time::{FileTime, Frequency, PerfTime};
use tallymon::core::title::{Language, TitleIndex, Titles};
use tallymon::log::csv::{CsvOptions, CsvWriter, LineEnd};
use tallymon::log::json::JsonSink;
use tallymon::log::native::{NativeSink, NativeWriter, WriteOptions};
use tallymon::log::new_file::Overwrite;
use tallymon::log::relog::Options;
use tallymon::log::stats::{ColumnStats, Summary, stats};
use tallymon::log::zone::Zone;
use tallymon::log::{Format, ReadOptions, Selection, blg, relog, relog_to};
use tallymon::{LiveRows, Query, Recorder};
use tallymon_testkit::Scratch;

/// Every type whose value Windows computes, and a base behind each that needs one.
const COUNTERS: &[(&str, CounterType)] = &[
    ("Rate", CounterType::PERF_COUNTER_COUNTER),
    ("Bulk Rate", CounterType::PERF_COUNTER_BULK_COUNT),
    ("Timer", CounterType::PERF_COUNTER_TIMER),
    ("Inverse Timer", CounterType::PERF_100NSEC_TIMER_INV),
    ("Timer 100ns", CounterType::PERF_100NSEC_TIMER),
    ("Object Timer", CounterType::PERF_OBJ_TIME_TIMER),
    ("Queue", CounterType::PERF_COUNTER_LARGE_QUEUELEN_TYPE),
    ("Queue 100ns", CounterType::PERF_COUNTER_100NS_QUEUELEN_TYPE),
    ("Fraction", CounterType::PERF_RAW_FRACTION),
    ("Fraction Base", CounterType::PERF_RAW_BASE),
    ("Hits", CounterType::PERF_SAMPLE_FRACTION),
    ("Hits Base", CounterType::PERF_SAMPLE_BASE),
    ("Average Time", CounterType::PERF_AVERAGE_TIMER),
    ("Average Time Base", CounterType::PERF_AVERAGE_BASE),
    ("Average Size", CounterType::PERF_AVERAGE_BULK),
    ("Average Size Base", CounterType::PERF_AVERAGE_BASE),
    ("Multi Timer", CounterType::PERF_100NSEC_MULTI_TIMER),
    ("Multi Timer Base", CounterType::PERF_COUNTER_MULTI_BASE),
    ("Elapsed", CounterType::PERF_ELAPSED_TIME),
    ("Difference", CounterType::PERF_COUNTER_LARGE_DELTA),
    ("Count", CounterType::PERF_COUNTER_LARGE_RAWCOUNT),
    ("Address", CounterType::PERF_COUNTER_RAWCOUNT_HEX),
    ("Refused", CounterType::PERF_COUNTER_RAWCOUNT),
    ("Old", CounterType::PERF_COUNTER_BULK_COUNT),
    ("State", CounterType::PERF_COUNTER_TEXT),
];

const OBJECT: TitleIndex = TitleIndex(900_000);
const ROWS: u64 = 8;
/// 2026-01-31 20:00:00 UTC.
const START: u64 = 134_143_632_000_000_000;

/// A machine whose samples depend on nothing but their number.
struct Fixed(u64);

fn name(at: usize) -> TitleIndex {
    TitleIndex(OBJECT.0 + 2 + 2 * u32::try_from(at).unwrap())
}

fn specs() -> Vec<CounterSpec> {
    let spec = |(at, (_, counter_type)): (usize, &(&str, CounterType))| CounterSpec {
        size: counter_type.is_text().then_some(32),
        ..CounterSpec::new(name(at), *counter_type)
    };
    COUNTERS.iter().enumerate().map(spec).collect()
}

/// The instances of a row: one ends, one begins late.
fn instances(row: u64) -> Vec<&'static str> {
    let mut names = vec!["first", "a \"b\", c"];
    if row < 5 {
        names.push("ends");
    }
    if row >= 3 {
        names.push("late");
    }
    names
}

impl Fixed {
    fn value(row: u64, instance: u64, at: usize, counter_type: CounterType) -> u64 {
        let salt = instance * 7 + at as u64 + 1;
        match COUNTERS[at].0 {
            // It stands still in rows 4 and 5: an interval without operations.
            "Average Time Base" | "Average Size Base" => row.min(4) + row.saturating_sub(5) * salt,
            "Average Time" | "Average Size" => row.min(4) * 1_000_003 * salt,
            // Above 2^53, and one more than what a double holds.
            "Count" => (1 << 60) + 1 + row * salt,
            "Elapsed" => START - 1_234_567 * salt,
            // Two resources, both busy for more than half of the time: above 100 %.
            "Timer 100ns" => row * 14_000_000 + salt * row * row,
            "Multi Timer Base" => 2,
            "Fraction Base" | "Hits Base" => (row + 1) * 1000,
            _ if counter_type == CounterType::PERF_100NSEC_TIMER_INV => row * 3_333_333 + salt,
            // A rate of less than 0.0001 has an exponent.
            "Old" => row / 7,
            _ => row * salt * 1009 + row * row,
        }
    }
}

impl Source for Fixed {
    fn snapshot(&mut self, _: &Request) -> Result<Snapshot, SourceError> {
        let row = self.0;
        // Whole milliseconds, because text and databases have no others.
        let time = FileTime(START + row * 10_000_000 + row * row * 10_000);
        let header = WriteHeader {
            system_name: "box",
            default_object: -1,
            perf_time: PerfTime((5_000_000 + row * 2_630_633 + row).cast_signed()),
            perf_freq: Frequency(2_630_633),
            perf_time_100ns: time,
            system_time: time,
        };
        let specs = specs();
        let spec = ObjectSpec { status: true, ..ObjectSpec::new(OBJECT, InstanceKind::Many, &specs) };
        let layout = ObjectLayout::new(spec);
        let mut bytes = Vec::new();
        let mut writer = BlockWriter::growing(&mut bytes, &header);
        let mut object =
            writer.objects().object(&layout, PerfTime(time.0.cast_signed()), Frequency(10_000_000));
        for (nth, instance) in instances(row).into_iter().enumerate() {
            let mut block = object.instance(instance, None, None);
            for (at, (name, counter_type)) in COUNTERS.iter().enumerate() {
                match *name {
                    "State" => {
                        block.set_text(at, if row.is_multiple_of(2) { "on \"air\", live" } else { "off" })
                    }
                    "Refused" if row % 2 == 1 => block.state(at, ValueState::Absent(Absence::AccessDenied)),
                    _ => block.set(at, Fixed::value(row, nth as u64, at, *counter_type)),
                }
                if *name == "Old" && row % 3 == 1 {
                    block.state(at, ValueState::Stale);
                }
            }
        }
        drop(object);
        writer.finish().unwrap();
        Ok(Snapshot::new(bytes)?)
    }

    fn titles(&mut self, _: Language) -> Result<Titles, SourceError> {
        let mut titles = Titles::default();
        titles.insert_name(OBJECT, "Machine Part");
        for (at, (text, _)) in COUNTERS.iter().enumerate() {
            titles.insert_name(name(at), *text);
        }
        Ok(titles)
    }
}

fn zone() -> Zone {
    Zone::Fixed { name: "KST".into(), bias: -540 }
}

fn csv_options(tabs: bool) -> CsvOptions {
    CsvOptions { tabs, line_end: LineEnd::CrLf, zone_name: "KST".into(), bias: -540, ..CsvOptions::default() }
}

/// Writes the live rows into a sink, and returns the paths of the instances that came too late for a column.
fn live<S: Sink>(sink: &mut S, with_texts: bool) -> Vec<String>
where
    S::Error: std::fmt::Debug,
{
    let mut query = query(with_texts);
    let mut rows = LiveRows::fixed(query.system_name());
    for _ in 0..ROWS {
        let time = query.collect().unwrap();
        rows.write(time, 540, &query, sink).unwrap();
    }
    sink.finish().unwrap();
    rows.take_late()
}

/// A source that goes to the next row with each sample of values.
struct Steps(Fixed);

impl Source for Steps {
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        let snapshot = self.0.snapshot(request)?;
        let is_metadata = matches!(request.kind, tallymon::core::request::RequestKind::Metadata { .. });
        self.0.0 += u64::from(!is_metadata);
        Ok(snapshot)
    }

    fn titles(&mut self, language: Language) -> Result<Titles, SourceError> {
        self.0.titles(language)
    }
}

fn query(with_texts: bool) -> Query {
    let mut query = Query::new(Box::new(Steps(Fixed(0))), Language::ENGLISH).unwrap();
    for (text, counter_type) in COUNTERS {
        if !counter_type.is_base() && (with_texts || !counter_type.is_text()) {
            query.add(&format!(r"\Machine Part(*)\{text}")).unwrap();
        }
    }
    query
}

fn live_text(tabs: bool, with_texts: bool) -> String {
    let mut writer = CsvWriter::new(Vec::new(), csv_options(tabs));
    let late = live(&mut writer, with_texts);
    assert!(late.iter().all(|path| path.contains("(late)")), "{late:?}");
    assert_eq!(late.len(), COUNTERS.len() - 5 - usize::from(!with_texts));
    String::from_utf8(writer.into_inner().unwrap()).unwrap()
}

/// The text of a log, of the columns that the live text has.
fn text_of(log: &Path, format: Format, like: &str) -> String {
    let separator = if format == Format::Tsv { "\"\t\"" } else { "\",\"" };
    let first = like.lines().next().unwrap().trim_matches('"');
    let paths = first.split(separator).skip(1).map(|path| path.replace("\"\"", "\""));
    let counters = paths.map(|path| path.parse().unwrap()).collect();
    let select = Selection { counters, ..Selection::default() };
    let mut out = Vec::new();
    relog_to(&[log.to_path_buf()], &mut out, &Options { format, select, ..Options::default() }).unwrap();
    String::from_utf8(out).unwrap()
}

/// Every raw format: written by a sink from live rows, recorded, and converted from the recording.
fn logs(folder: &Scratch) -> Vec<PathBuf> {
    let mut logs = Vec::new();
    let native = folder.join("sink.tally");
    let options = WriteOptions { zone: zone(), keep_instances: true, ..WriteOptions::sealed() };
    let writer = NativeWriter::create(&native, options.clone()).unwrap();
    live(&mut NativeSink::new(writer), true);
    logs.push(native);

    let path = folder.join("sink.blg");
    let mut options_blg = blg::WriteOptions::default();
    (options_blg.header.zone.bias, options_blg.header.zone.standard_name) = (-540, "KST".into());
    options_blg.header.start = FileTime(START);
    live(&mut blg::BlgSink::new(File::create(&path).unwrap(), options_blg), true);
    logs.push(path);

    #[cfg(feature = "sqlite")]
    {
        use tallymon::log::sqlite::{SetOptions, SqliteSink};
        let path = folder.join("sink.sqlite");
        let set = SetOptions { guid: "{0}".into(), name: "sink".into(), zone: ("KST".into(), -540) };
        live(&mut SqliteSink::create(&path, set).unwrap(), true);
        logs.push(path);
    }

    let path = folder.join("sink.jsonl");
    let out = File::create(&path).unwrap();
    live(&mut JsonSink::new(BufWriter::new(out), "box").with_zone("KST", -540), true);
    logs.push(path);

    let recording = folder.join("recorded.tally");
    let options = WriteOptions { zone: zone(), ..WriteOptions::default() };
    let mut recorder = Recorder::create(&recording, Overwrite::Never, options).unwrap();
    let mut query = query(true);
    recorder.choose(&query);
    for _ in 0..ROWS {
        let time = query.collect().unwrap();
        recorder.record(query.snapshot().unwrap(), 540, (time, time)).unwrap();
    }
    recorder.seal().unwrap();
    for format in [Format::Tally, Format::Blg, Format::Sqlite, Format::Parquet, Format::Json] {
        if format.info().writes {
            let copy = folder.join(format!("converted.{}", format.info().extension));
            relog(from_ref(&recording), &copy, &Options { format, ..Options::default() }).unwrap();
            logs.push(copy);
        }
    }
    logs.push(recording);
    logs
}

/// The live text, as far as a log can hold it: only native logs and JSON lines have room for texts. A BLG has
/// no column at all for an instance that never has a number.
fn expected(format: Format, log: &Path) -> String {
    match log.extension().unwrap().to_str().unwrap() {
        "tally" | "jsonl" => live_text(format == Format::Tsv, true),
        "blg" => live_text(format == Format::Tsv, false),
        _ => ["on \"\"air\"\", live", "off"]
            .iter()
            .fold(live_text(format == Format::Tsv, true), |text, state| {
                text.replace(&format!("\"{state}\""), "\" \"")
            }),
    }
}

/// The cells that differ, for a message that can be read.
fn differences(found: &str, expected: &str) -> Vec<String> {
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('"').split(['\t', ',']).map(|cell| cell.trim_matches('"').to_string()).collect()
    };
    let paths = cells(expected.lines().next().unwrap());
    let mut differences = Vec::new();
    for (row, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        for ((path, found), expected) in paths.iter().zip(cells(found)).zip(cells(expected)) {
            if found != expected {
                differences.push(format!("row {row} {path}: {found:?}, expected {expected:?}"));
            }
        }
    }
    differences.truncate(20);
    differences
}

#[test]
fn live_and_logged_text_are_the_same() {
    let folder = Scratch::new();
    let csv = live_text(false, true);
    // What the rules say: no rate in the first row, a count as a double, no operations are 0, three digits of
    // an exponent, shares above 100 as they are.
    let first = csv.lines().nth(1).unwrap();
    assert!(first.contains("\"1.152921504606847e+018\""), "{first}");
    assert!(first.starts_with("\"02/01/2026 05:00:00.000\",\" \",\" \",\" \","), "{first}");
    assert!(csv.lines().nth(6).unwrap().contains(",\"0\","), "{csv}");
    let share = |text: &str| {
        text.split("\",\"").filter_map(|cell| cell.parse::<f64>().ok()).any(|n| (100.0..200.0).contains(&n))
    };
    assert!(csv.lines().skip(2).all(share), "{csv}");
    for log in logs(&folder) {
        for format in [Format::Csv, Format::Tsv] {
            let expected = expected(format, &log);
            let found = text_of(&log, format, &expected);
            assert_eq!(differences(&found, &expected), [""; 0], "{}", log.display());
            assert_eq!(found, expected, "{}", log.display());
        }
    }
}

/// Two objects with two counters each, in the block in this order.
struct Two;

const TWO: [(TitleIndex, &str, [&str; 2]); 2] =
    [(TitleIndex(900_100), "First", ["One", "Two"]), (TitleIndex(900_200), "Second", ["Three", "Four"])];

impl Source for Two {
    fn snapshot(&mut self, _: &Request) -> Result<Snapshot, SourceError> {
        let time = FileTime(START);
        let header = WriteHeader {
            system_name: "box",
            default_object: -1,
            perf_time: PerfTime(1),
            perf_freq: Frequency(1),
            perf_time_100ns: time,
            system_time: time,
        };
        let mut bytes = Vec::new();
        let mut writer = BlockWriter::growing(&mut bytes, &header);
        for (object, _, _) in TWO {
            let specs = [2, 4].map(|at| {
                CounterSpec::new(TitleIndex(object.0 + at), CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
            });
            let layout = ObjectLayout::new(ObjectSpec::new(object, InstanceKind::Many, &specs));
            let mut written = writer.objects().object(&layout, PerfTime(1), Frequency(1));
            for (nth, instance) in (0u64..).zip(["b", "a"]) {
                let mut block = written.instance(instance, None, None);
                (0..2).for_each(|at| block.set(at, u64::from(object.0) + 10 * nth + at as u64));
            }
        }
        writer.finish().unwrap();
        Ok(Snapshot::new(bytes)?)
    }

    fn titles(&mut self, _: Language) -> Result<Titles, SourceError> {
        let mut titles = Titles::default();
        for (object, name, counters) in TWO {
            titles.insert_name(object, name);
            for (at, counter) in [2, 4].into_iter().zip(counters) {
                titles.insert_name(TitleIndex(object.0 + at), counter);
            }
        }
        Ok(titles)
    }
}

#[test]
fn columns_have_the_order_of_the_paths_in_every_format() {
    const ORDERS: [&[&str]; 4] = [
        &[r"\Second(*)\Four", r"\First(a)\Two", r"\First(*)\One", r"\Second(b)\Three"],
        &[r"\First(b)\One", r"\Second(a)\Three", r"\First(a)\One", r"\Second(b)\Three"],
        &[r"\Second(*)\*", r"\First(*)\*"],
        &[r"\First(a)\*", r"\Second(b)\Four", r"\First(b)\Two"],
    ];
    for paths in ORDERS {
        let folder = Scratch::new();
        let query = || {
            let mut query = Query::new(Box::new(Two), Language::ENGLISH).unwrap();
            for path in paths {
                query.add(path).unwrap();
            }
            query.collect().unwrap();
            query
        };
        let mut text = CsvWriter::new(Vec::new(), csv_options(false));
        let query = query();
        LiveRows::fixed("box").write(FileTime(START), 540, &query, &mut text).unwrap();
        let live = String::from_utf8(text.into_inner().unwrap()).unwrap();

        let recording = folder.join("recorded.tally");
        let options = WriteOptions { zone: zone(), ..WriteOptions::default() };
        let mut recorder = Recorder::create(&recording, Overwrite::Never, options).unwrap();
        recorder.choose(&query);
        recorder.record(query.snapshot().unwrap(), 540, (FileTime(START), FileTime(START))).unwrap();
        recorder.seal().unwrap();
        let mut logs = vec![recording.clone()];
        for format in [Format::Csv, Format::Tally, Format::Blg, Format::Sqlite, Format::Parquet, Format::Json]
        {
            if format.info().writes && format.info().reads {
                let copy = folder.join(format!("copy.{}", format.info().extension));
                relog(from_ref(&recording), &copy, &Options { format, ..Options::default() }).unwrap();
                logs.push(copy);
            }
        }
        for log in logs {
            let mut out = Vec::new();
            let options = Options { format: Format::Csv, ..Options::default() };
            relog_to(from_ref(&log), &mut out, &options).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), live, "{paths:?} {}", log.display());
        }
    }
}

#[test]
fn text_stays_the_same_when_it_is_copied() {
    let folder = Scratch::new();
    let live = live_text(false, false);
    let text = folder.join("live.csv");
    std::fs::write(&text, &live).unwrap();
    for name in ["copy.tally", "copy.blg", "copy.sqlite", "copy.parquet", "copy.json"] {
        let format = Format::from_name(name.rsplit('.').next().unwrap()).unwrap();
        if !format.info().writes {
            continue;
        }
        let copy = folder.join(name);
        relog(from_ref(&text), &copy, &Options { format, ..Options::default() }).unwrap();
        assert_eq!(text_of(&copy, Format::Csv, &live), live, "{name}");
    }
}

#[test]
fn statistics_are_the_same_of_every_format() {
    let folder = Scratch::new();
    let csv = folder.join("live.csv");
    std::fs::write(&csv, live_text(false, false)).unwrap();
    let of = |log: &Path| {
        let all = stats(&[log.to_path_buf()], &Selection::default(), &ReadOptions::default()).unwrap();
        let is_in_text =
            |column: &ColumnStats| !["(late)", "State"].iter().any(|part| column.path.contains(part));
        let mut numbers: Vec<(String, Option<Summary>)> = Vec::new();
        for column in all.columns.into_iter().filter(is_in_text) {
            // Only raw values have an average over all the time.
            let summary = column.summary.ok().map(|summary| Summary { average: None, ..summary });
            numbers.push((column.path, summary));
        }
        numbers
    };
    let expected = of(&csv);
    assert!(expected.iter().filter(|(_, summary)| summary.is_some()).count() > 50);
    for log in logs(&folder) {
        for (found, expected) in of(&log).iter().zip(&expected) {
            assert_eq!(found, expected, "{}", log.display());
        }
        assert_eq!(of(&log).len(), expected.len(), "{}", log.display());
    }
}

#[test]
fn shares_are_capped_only_when_asked() {
    let folder = Scratch::new();
    let log = folder.join("shares.tally");
    let options = WriteOptions { zone: zone(), keep_instances: true, ..WriteOptions::sealed() };
    live(&mut NativeSink::new(NativeWriter::create(&log, options).unwrap()), true);
    let largest = |cap: bool| {
        let select = Selection {
            counters: vec![r"\Machine Part(first)\Timer 100ns".parse().unwrap()],
            ..Selection::default()
        };
        let read = ReadOptions { cap, ..ReadOptions::default() };
        let of = stats(from_ref(&log), &select, &read).unwrap();
        let mut text = Vec::new();
        let options = Options { format: Format::Csv, select, read, ..Options::default() };
        relog_to(from_ref(&log), &mut text, &options).unwrap();
        let text = String::from_utf8(text).unwrap();
        let last = text.lines().last().unwrap().rsplit(',').next().unwrap().trim_matches('"');
        let summary = of.columns[0].summary.unwrap();
        (summary.maximum, last.parse::<f64>().unwrap())
    };
    assert_eq!(largest(true), (100.0, 100.0));
    let (maximum, last) = largest(false);
    assert!(maximum > 130.0 && last > 130.0, "{maximum} {last}");
}
