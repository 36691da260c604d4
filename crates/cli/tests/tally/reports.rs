//! `tally report`: its forms, its part of the logs, two logs, and the session that records.

use std::fmt::Write;
use std::fs;

use quick_xml::events::Event;

use super::logs::sample;
use super::record::until;
use super::support::{AVAILABLE, Folder, has, tally, tally_with};

/// A log of ten minutes at one second from an hour on, of which the last minutes are at `load` percent.
fn log(folder: &Folder, name: &str, hour: u32, load: u32) -> String {
    let mut text = String::from(concat!(
        "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\box\\Processor(_Total)\\% Processor Time\",",
        "\"\\\\box\\Process(<b>&|x)\\% Processor Time\"\r\n"
    ));
    for second in 0..600_u32 {
        let busy = if second >= 120 { load + second % 3 } else { 10 + second % 7 };
        let (minute, rest) = (second / 60, second % 60);
        write!(text, "\"11/21/2026 {hour}:{minute:02}:{rest:02}.000\",\"{busy}\",\"{}\"\r\n", busy * 2)
            .unwrap();
    }
    folder.write(name, text.as_bytes())
}

const COUNTERS: [&str; 4] = ["-c", r"\Processor(*)\% Processor Time", "-c", r"\Process(*)\% Processor Time"];

/// The texts of an SVG picture, and its paths with lines; every other program must be able to read it.
fn picture(text: &str) -> (Vec<String>, Vec<String>) {
    let mut reader = quick_xml::Reader::from_str(text);
    let (mut texts, mut paths, mut current) = (Vec::new(), Vec::new(), None::<String>);
    loop {
        match reader.read_event().unwrap() {
            Event::Start(tag) if tag.name().as_ref() == b"text" => current = Some(String::new()),
            Event::Text(part) => {
                if let Some(current) = &mut current {
                    current.push_str(&part.decode().unwrap());
                }
            }
            Event::GeneralRef(name) => {
                let letter = match name.decode().unwrap().as_ref() {
                    "lt" => '<',
                    "gt" => '>',
                    "amp" => '&',
                    "quot" => '"',
                    other => panic!("{other}"),
                };
                current.as_mut().unwrap().push(letter);
            }
            Event::End(tag) if tag.name().as_ref() == b"text" => texts.extend(current.take()),
            Event::Empty(tag) if tag.name().as_ref() == b"path" => {
                let path =
                    tag.try_get_attribute("d").unwrap().unwrap().unescape_value().unwrap().into_owned();
                if path.contains('L') {
                    paths.push(path);
                }
            }
            Event::Eof => return (texts, paths),
            _ => {}
        }
    }
}

#[test]
fn a_report_as_markdown() {
    let folder = Folder::new();
    let file = log(&folder, "busy.csv", 12, 96);
    let with = |more: &[&str]| tally(&[&["report", &file], &COUNTERS[..], more].concat());
    let text = with(&["--md"]).data();
    has(
        &text,
        &[
            "# Performance report: busy.csv",
            "| Hosts | box |",
            "| Time | 2026-11-21T12:00:00.000Z to 2026-11-21T12:09:59.000Z |",
            "| Records | 600 |",
            "| Counters | 2, of which 2 are below |",
            "### 1. warning: All processors are busy on box",
            "## Process\n",
            // A name is no HTML and no new cell.
            r"| % Processor Time \(\<b\>&\|x\) |  |",
        ],
    );
    // (120 rows of 10 to 16, and 480 of 96 to 98) / 600
    let row = text.lines().find(|line| line.starts_with(r"| % Processor Time \(\_Total\)")).unwrap();
    let cells: Vec<&str> = row.split(" | ").collect();
    assert_eq!((cells[2], cells[3], cells[4], cells[5]), ("80.20", "10.00", "98.00", "98.00"), "{row}");
    // The ending says the form, and the option comes first.
    let target = folder.file("x.md");
    assert_eq!(with(&["-o", &target]).data(), "");
    assert_eq!(fs::read_to_string(&target).unwrap(), text);
    has(&with(&[]).words(2), &["--output <FILE>"]);
    has(&with(&["-o", &folder.file("x.pdf")]).words(2), &["--print-to-pdf=x.pdf x.html"]);
}

#[test]
fn a_report_of_the_end_of_a_log() {
    let folder = Folder::new();
    let file = log(&folder, "busy.csv", 12, 96);
    let with = |more: &[&str]| tally(&[&["report", &file, "--last", "60s"], &COUNTERS[..], more].concat());
    let text = with(&["--md"]).data();
    has(&text, &["| Time | 2026-11-21T12:08:59.000Z to 2026-11-21T12:09:59.000Z |", "| Records | 61 |"]);
    let row = text.lines().find(|line| line.starts_with(r"| % Processor Time \(\_Total\)")).unwrap();
    assert!(row.contains("| 96.00 | 98.00 |"), "{row}");
    let page = folder.file("x.html");
    assert_eq!(with(&["-o", &page]).data(), "");
    let (part, whole) = (fs::metadata(&page).unwrap().len(), folder.file("y.html"));
    tally(&[&["report", &file, "-o", &whole], &COUNTERS[..]].concat()).data();
    assert!(part < fs::metadata(whole).unwrap().len());
}

#[test]
fn a_report_as_a_picture() {
    let folder = Folder::new();
    let file = log(&folder, "busy.csv", 12, 96);
    let text = tally(&[&["report", &file, "--svg"], &COUNTERS[..]].concat()).data();
    let (texts, paths) = picture(&text);
    let all = texts.join("\n");
    has(
        &all,
        &[
            "busy.csv  2026-11-21T12:00:00.000Z - 2026-11-21T12:09:59.000Z",
            "Processor\n",
            "% Processor Time (_Total)  x1.0  last 98.00 avg 80.20 min 10.00 max 98.00",
            "% Processor Time (<b>&|x)",
            "12:00:00\n",
            "12:09:59\n",
        ],
    );
    assert!(paths.len() == 2 && !text.contains("<b>"), "{all}");
    // 600 rows are drawn one by one.
    assert_eq!(paths[0].matches(['M', 'L']).count(), 600);
}

#[test]
fn a_report_that_compares() {
    let folder = Folder::new();
    let (before, after) = (log(&folder, "old.csv", 9, 20), log(&folder, "new.csv", 12, 96));
    let with =
        |more: &[&str]| tally(&[&["report", &after, "--against", &before], &COUNTERS[..], more].concat());
    let text = with(&["--md"]).data();
    has(
        &text,
        &[
            "| Compared with | old.csv, 2026-11-21T09:00:00.000Z to 2026-11-21T09:09:59.000Z |",
            "## Since old.csv",
            "became worse",
            "- new: warning: All processors are busy",
            "| counter | unit | mean before | mean |",
        ],
    );
    // The mean before is (120 rows of 10 to 16, and 480 of 20 to 22) / 600.
    let row = text.lines().find(|line| line.starts_with(r"| % Processor Time \(\_Total\)")).unwrap();
    assert!(row.contains("|  | 19.40 | 80.20 |"), "{row}");
    // Both lines begin on the left.
    let (texts, paths) = picture(&with(&["--svg"]).data());
    has(&texts.join("\n"), &["new.csv \u{2248} old.csv", "\u{2248} last 22.00 avg 19.40"]);
    assert!(paths.len() == 4 && paths.iter().all(|path| path.starts_with("M60.0 ")), "{paths:?}");
    let foreign = folder.write(
        "other.csv",
        b"\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\box\\A\\B\"\r\n\"11/21/2026 12:00:00.000\",\"1\"\r\n",
    );
    let none = tally(&[&["report", &after, "--against", &foreign, "--md"], &COUNTERS[..]].concat());
    has(&none.words(3), &["the logs from before have none of the counters of the report"]);
    // It is no output either.
    has(&with(&["--force", "-o", &before]).words(2), &["old.csv"]);
}

#[test]
fn a_session_is_reported_while_it_records() {
    let root = Folder::new();
    let session = |arguments: &[&str]| {
        tally_with(arguments, |command| {
            command.env("TALLYMON_ROOT", root.path());
        })
    };
    let report = || session(&["report", "--last", "30m", "--md", "-c", AVAILABLE]);
    has(&report().words(2), &["no log is named and no session records"]);
    let begun = session(&["log", "start", "web", "-c", AVAILABLE, "-i", "50ms", "-o", &root.file("logs")]);
    assert_eq!(begun.code, Some(0), "{}", begun.err);
    let records = || {
        let text = report().data();
        let line = text.lines().find_map(|line| line.strip_prefix("| Records | ")).unwrap().to_string();
        line.trim_end_matches(" |").parse::<u64>().unwrap()
    };
    let first = records();
    until("more records in the report", || records() > first);
    assert_eq!(session(&["log", "stop", "web"]).code, Some(0));
}

/// Logs of Windows in every form.
#[test]
fn a_report_of_a_log_of_windows() {
    let Some(file) = sample("PAL_SampleLog.blg") else { return };
    let text = tally(&["report", &file, "--md"]).data();
    has(&text, &["# Performance report: PAL\\_SampleLog.blg", "## Findings", "% Processor Time"]);
    let (texts, paths) = picture(&tally(&["report", &file, "--svg"]).data());
    assert!(texts.len() > 20 && paths.len() > 5, "{texts:?}");
}
