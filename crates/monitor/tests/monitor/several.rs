//! Several logs on one time axis.

use std::fs;
use std::path::PathBuf;

use crossterm::event::{Event, KeyCode};
use tallymon::core::title::Language;
use tallymon::log::ReadOptions;
use tallymon::{Log, Query};
use tallymon_monitor::chart::Glyphs;
use tallymon_monitor::{App, Colours, Options, meant_of_log, usual_of_all_hosts, usual_of_log};

use crate::fake::Bench;
use crate::log::Folder;
use crate::screens::{check, has};

const TOTAL: &str = r"\Processor(_Total)\% Processor Time";

/// A log of a host: a row a second from some second on, whose values are the numbers of their seconds.
fn log(folder: &Folder, name: &str, host: &str, from: u32, rows: u32) -> PathBuf {
    let mut text = format!("\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\{host}\\{}\"\r\n", &TOTAL[1..]);
    for second in from..from + rows {
        let (minute, second, value) = (second / 60, second % 60, second % 100);
        text += &format!("\"11/26/2016 13:{minute:02}:{second:02}.000\",\"{value}\"\r\n");
    }
    let file = folder.0.join(name);
    fs::write(&file, text).unwrap();
    file
}

fn open(files: &[PathBuf], paths: &[&str], language: Language) -> Bench {
    let log = Log::open_all(files, &ReadOptions::default()).unwrap();
    let again = log.clone();
    let query = move || Query::new(Box::new(again.source()), language);
    let mut options = Options::new(query.clone());
    options.paths = match paths {
        [] => usual_of_log(&log, language.into(), &[TOTAL]).unwrap(),
        paths => {
            let paths: Vec<String> = paths.iter().map(|path| (*path).to_string()).collect();
            meant_of_log(&log, language.into(), &paths).unwrap()
        }
    };
    (options.glyphs, options.colours) = (Glyphs::Braille, Colours::Sixteen);
    options.log = Some(log);
    Bench::of(App::new(query().unwrap(), options))
}

fn shown(bench: &Bench) -> Vec<String> {
    bench.app.monitor().series().iter().map(|series| series.path.clone()).collect()
}

#[test]
fn logs_of_two_hosts_have_one_time_axis() {
    let folder = Folder::new("several");
    let files = [log(&folder, "web.csv", "web01", 0, 100), log(&folder, "db.csv", "db01", 60, 90)];
    let mut bench = open(&files, &[], Language::ENGLISH);
    let screen = check("log-several", &mut bench);
    has(&screen, &["web.csv, db.csv", "150 records", "13:00:00", "13:02:29", "web01, db01"]);
    let other = format!(r"\\db01{TOTAL}");
    assert_eq!(shown(&bench), [TOTAL.to_string(), other.clone()]);
    let monitor = bench.app.monitor();
    let at = |series: usize, row: u64| monitor.series()[series].at(monitor.next(), row).unwrap().ok();
    // Values of both, a gap before one begins and after the other ends.
    assert_eq!([at(0, 59), at(1, 59)], [Some(59.0), None]);
    assert_eq!([at(0, 80), at(1, 80)], [Some(80.0), Some(80.0)]);
    assert_eq!([at(0, 120), at(1, 120)], [None, Some(20.0)]);
    has(&screen, &["ended 13:01:40"]);
    // A requested path means all hosts.
    assert_eq!(shown(&open(&files, &[r"\Processor(*)\% Processor Time"], Language::ENGLISH)).len(), 2);
    assert_eq!(shown(&open(&files, &[&other], Language::ENGLISH)), [other]);
    // Overlapping logs are saved as they are shown.
    bench.types("w");
    for _ in 0..60 {
        bench.key(KeyCode::Backspace);
    }
    let copy = folder.0.join("copy.csv");
    bench.types(&copy.to_string_lossy()).key(KeyCode::Enter);
    has(&bench.screen(), &["saved: "]);
    let saved = Log::open(&copy, &ReadOptions::default()).unwrap();
    assert_eq!((saved.summary().records, saved.summary().hosts.len()), (150, 2));
    let again = open(&[copy], &[TOTAL], Language::ENGLISH);
    let monitor = again.app.monitor();
    assert_eq!(monitor.series()[0].at(monitor.next(), 59), Some(Ok(59.0)));
}

#[test]
fn a_note_says_which_of_two_overlapping_logs_is_shown() {
    let folder = Folder::new("overlap");
    let files = [log(&folder, "one.csv", "web01", 0, 60), log(&folder, "two.csv", "web01", 50, 60)];
    let mut bench = open(&files, &[TOTAL], Language::ENGLISH);
    let screen = check("log-overlap", &mut bench);
    has(&screen, &["counters in both logs, taken from one.csv: 1 (two.csv, 13:00:50 - 13:00:59)"]);
    assert_eq!(shown(&bench), [TOTAL]);
    assert_eq!(bench.app.monitor().rows(), 0..110);
    let mut korean = open(&files, &[TOTAL], Language::KOREAN);
    has(&korean.screen(), &["one.csv: 1 (two.csv, 13:00:50 - 13:00:59)"]);
}

#[test]
fn several_files_are_dropped_or_typed_at_once() {
    let folder = Folder::new("dropped");
    let files = [log(&folder, "web.csv", "web01", 0, 100), log(&folder, "my db.csv", "db01", 60, 90)];
    let mut bench = Bench::new(&[TOTAL]);
    let names: Vec<String> = files.iter().map(|file| format!("'{}'", file.display())).collect();
    bench.run(3).app.event(&Event::Paste(names.join(" ")));
    bench.settle();
    has(&bench.screen(), &["LOG", "web.csv, my db.csv", "web01, db01"]);
    // Typed names; the error names a missing file.
    bench.types("O").types(&names.join(" ")).key(KeyCode::Enter);
    has(&bench.screen(), &["web.csv, my db.csv"]);
    bench.types("O").types(&format!("{} nowhere.blg", names[0])).key(KeyCode::Enter);
    has(&bench.screen(), &["nowhere.blg: "]);
}

/// A log that has no `_Total` is opened with lines that exist; one of many hosts begins with a line of each.
#[test]
fn a_log_without_totals_begins_with_what_it_has() {
    let folder = Folder::new("totals");
    let hosts: Vec<String> = (1..=26).map(|host| format!("web{host:02}")).collect();
    let mut paths = Vec::new();
    for host in &hosts {
        for processor in 0..6 {
            paths.push(format!(r"\\{host}\Processor({processor})\% Processor Time"));
        }
        paths.push(format!(r"\\{host}\Memory\Available MBytes"));
    }
    let head: String = paths.iter().map(|path| format!(",\"{path}\"")).collect();
    let row = ",\"1\"".repeat(paths.len());
    let file = folder.0.join("hosts.csv");
    let text = format!("\"(PDH-CSV 4.0) (UTC)(0)\"{head}\r\n\"11/26/2016 13:00:00.000\"{row}\r\n");
    std::fs::write(&file, text).unwrap();
    let log = Log::open(&file, &ReadOptions::default()).unwrap();
    let memory = r"\Memory\Available MBytes";
    let of_one = usual_of_log(&log, Language::ENGLISH.into(), &[TOTAL, memory, r"\Nothing\Here"]).unwrap();
    let processors: Vec<String> =
        (0..4).map(|processor| format!(r"\Processor({processor})\% Processor Time")).collect();
    assert_eq!(of_one, [&processors[..], &[memory.to_string()]].concat());
    let of_all = usual_of_all_hosts(&log, Language::ENGLISH.into(), &[TOTAL, memory]).unwrap();
    assert_eq!(of_all.len(), 26 * 5);
    let begins: Vec<String> = hosts.iter().map(|host| host.to_string()).collect();
    for (path, host) in of_all.iter().zip(&begins) {
        let expected = &processors[0];
        let is_first = host == "web01";
        assert_eq!(*path, if is_first { expected.clone() } else { format!(r"\\{host}{expected}") });
    }
}
