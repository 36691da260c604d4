//! Every sample log, whatever the folder of samples has: text stays what Windows wrote, by way of our own format
//! too.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::slice::from_ref;

use tallymon_log::csv::LineEnd;
use tallymon_log::relog::Options;
use tallymon_log::{Format, ReadOptions, open, relog, relog_to};
use tallymon_testkit::{Scratch, shared};

const TEXTS: [Format; 2] = [Format::Csv, Format::Tsv];

/// The sample logs with their formats, in the order of their names.
fn samples() -> Option<Vec<(PathBuf, Format)>> {
    let folder = shared("logs")?;
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let format = |path: PathBuf| {
        let log = open(&path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let format = log.about().format;
        (path, format)
    };
    Some(files.into_iter().map(format).collect())
}

/// A log as text of a format, with the line ends of another text.
fn text_of(log: &Path, format: Format, like: &str) -> String {
    let line_end = if like.contains("\r\n") { LineEnd::CrLf } else { LineEnd::Lf };
    let mut out = Vec::new();
    relog_to(from_ref(&log.to_path_buf()), &mut out, &Options { format, line_end, ..Options::default() })
        .unwrap();
    String::from_utf8(out).unwrap()
}

/// A copy of a log in our own format.
fn native_of(log: &Path, folder: &Scratch) -> PathBuf {
    let copy = folder.join("copy.tally");
    let _ = fs::remove_file(&copy);
    let report =
        relog(from_ref(&log.to_path_buf()), &copy, &Options { format: Format::Tally, ..Options::default() });
    assert_eq!(report.unwrap().remarks, [""; 0], "{}", log.display());
    copy
}

#[track_caller]
fn assert_same(found: &str, expected: &str, what: &str) {
    let pair =
        found.lines().zip(expected.lines()).enumerate().find(|(_, (found, expected))| found != expected);
    assert!(found == expected, "{what}: first other line: {pair:?}");
}

#[test]
fn every_text_log_keeps_its_bytes() {
    let (Some(samples), folder) = (samples(), Scratch::new()) else { return };
    let texts: Vec<_> = samples.iter().filter(|(_, format)| TEXTS.contains(format)).collect();
    assert!(texts.len() >= 2, "{samples:?}");
    for (path, format) in texts {
        let text = fs::read_to_string(path).unwrap();
        let name = path.display();
        assert_same(&text_of(path, *format, &text), &text, &format!("{name}, copied"));
        let native = native_of(path, &folder);
        assert_same(&text_of(&native, *format, &text), &text, &format!("{name}, through a native log"));
    }
}

#[test]
fn every_binary_log_gives_the_text_that_windows_made_of_it() {
    let (Some(samples), folder) = (samples(), Scratch::new()) else { return };
    let binary: Vec<_> = samples.iter().filter(|(_, format)| *format == Format::Blg).collect();
    assert!(binary.len() >= 3, "{samples:?}");
    let mut twins = 0;
    for (path, _) in binary {
        let native = native_of(path, &folder);
        for format in TEXTS {
            let name = format!("{} as {}", path.display(), format.info().extension);
            let twin = fs::read_to_string(path.with_extension(format.info().extension)).ok();
            let text = text_of(path, format, twin.as_deref().unwrap_or_default());
            if let Some(twin) = &twin {
                assert_same(&text, twin, &name);
                twins += 1;
            }
            assert_same(&text_of(&native, format, &text), &text, &format!("{name}, through a native log"));
        }
    }
    assert!(twins >= 2, "{twins} texts of Windows beside binary logs");
}
