//! Performance logs: `relog` and `info`.

use std::fs;

use super::support::{Folder, has, tally};
#[cfg(unix)]
use super::support::{TALLY, signal};
use tallymon_testkit::shared;

/// A sample log, as an argument.
pub(crate) fn sample(name: &str) -> Option<String> {
    shared(&format!("logs/{name}")).map(|path| path.to_str().unwrap().to_string())
}

/// The types of counters decide which values are shares, and a text log does not have them.
#[test]
fn a_cap_of_a_text_log_is_said_to_have_no_effect() {
    let folder = Folder::new();
    let text = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\W\\PhysicalDisk(_Total)\\% Disk Time\"\n\
                \"01/15/2020 10:00:00.000\",\"427\"\n";
    let log = folder.write("cap.csv", text.as_bytes());
    let path = r"\PhysicalDisk(_Total)\% Disk Time";
    for command in [&["relog", &log, "--format", "csv"][..], &["get", path, "--log", &log]] {
        let ran = tally(&[command, &["--cap"]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        has(&ran.out, &["427"]);
        assert_eq!(ran.err.matches("--cap: a text log does not say the types").count(), 1, "{}", ran.err);
        let ran = tally(command);
        assert!(!ran.err.contains("--cap"), "{}", ran.err);
    }
}

#[test]
fn relog_writes_the_same_text_as_windows() {
    let Some(log) = sample("PowerShell_CounterSamples.blg") else { return };
    for format in ["csv", "tsv"] {
        let twin = fs::read(sample(&format!("PowerShell_CounterSamples.{format}")).unwrap()).unwrap();
        // The twins have lost their carriage returns on the way here.
        let ran = tally(&["relog", &log, "--format", format, "--lf"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(ran.out.as_bytes() == twin, "{format} differs");
        let with_returns = tally(&["relog", &log, "--format", format]).out;
        assert_eq!(with_returns.replace("\r\n", "\n"), ran.out);
        assert_eq!(with_returns.matches("\r\n").count(), 26);
    }
}

#[test]
fn twenty_digits_are_written_when_asked() {
    let Some(log) = sample("PowerShell_CounterSamples.blg") else { return };
    let with = |digits: &str| tally(&["relog", &log, "--format", "csv", "--digits", digits]).out;
    has(&with("17"), &["\"20.913042441624498\""]);
    has(&with("20"), &["\"20.913042441624497769\""]);
    has(&tally(&["relog", &log, "--digits", "18"]).words(2), &["--digits", "17 or 20"]);
    let folder = Folder::new();
    let out = folder.file("out.blg");
    let ran = tally(&["relog", &log, "-o", &out, "--digits", "20", "--lf"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    has(&ran.err, &["--digits changes CSV and TSV only; the output is blg", "--lf changes"]);
}

#[test]
fn counters_times_and_hosts_are_chosen() {
    let Some(log) = sample("PowerShell_CounterSamples.blg") else { return };
    let folder = Folder::new();
    let out = folder.file("cut.csv");
    let ran = tally(&[
        "relog",
        &log,
        "--output",
        &out,
        "--counter",
        r"\Processor(*)\*",
        "--counter",
        r"\Nothing\Here",
        "--from",
        "2016-11-26T21:46:40Z",
        "--to",
        "2016-11-26T21:47:00Z",
        "--rename-host",
        "charlieparker=web01",
    ]);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert_eq!(ran.out, "", "a file was asked for");
    has(&ran.err, &["in   ", "25 records", "out  ", "not in the logs", r"\Nothing\Here"]);
    let text = fs::read_to_string(&out).unwrap();
    let header = text.lines().next().unwrap();
    assert!(header.contains(r"\\web01\processor("), "{header}");
    assert!(!header.contains("charlieparker") && !header.contains("memory"), "{header}");
    assert!((3..10).contains(&text.lines().count()), "{text}");
}

#[test]
fn a_log_written_here_is_read_here() {
    let Some(log) = sample("Tx_BasicPerfCounters.blg") else { return };
    let folder = Folder::new();
    let (copy, one, two) = (folder.file("copy.blg"), folder.file("one.csv"), folder.file("two.csv"));
    for (from, to) in [(&log, &copy), (&log, &one), (&copy, &two)] {
        let ran = tally(&["relog", from, "--output", to]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }
    assert!(fs::read(&one).unwrap() == fs::read(&two).unwrap(), "the copy has the same values");
}

#[test]
fn info_says_what_is_in_a_log() {
    let Some(log) = sample("PAL_SampleLog.blg") else { return };
    let out = tally(&["info", &log]).data();
    has(
        &out,
        &[
            "ZACH-PC: 1832 columns",
            "records  11, usually 60.000 s apart",
            "Process: 28 counters, 57 instances",
        ],
    );
    let json = tally(&["info", &log, "--json", "--columns"]).json();
    assert_eq!((json["format"].as_str(), json["records"].as_u64()), (Some("blg"), Some(11)));
    assert_eq!(json["columns"].as_array().unwrap().len(), 1832);
}

#[test]
fn damage_is_reported_and_undamaged_records_are_kept() {
    let Some(log) = sample("Tx_BasicPerfCounters.blg") else { return };
    let folder = Folder::new();
    let bytes = fs::read(&log).unwrap();
    // Not at the end of a buffer, where everything that is there would be whole.
    let cut = folder.write("cut.blg", &bytes[..bytes.len() / 2 + 1000]);
    let ran = tally(&["info", &cut]);
    assert_eq!(ran.code, Some(7), "{}", ran.err);
    has(&ran.out, &["damaged", "byte"]);
    let out = folder.file("kept.csv");
    let ran = tally(&["relog", &cut, "--output", &out]);
    assert_eq!(ran.code, Some(7), "{}", ran.err);
    has(&ran.err, &["damaged", "byte"]);
    assert!(fs::read_to_string(&out).unwrap().lines().count() > 200, "half of 601 records");
}

/// Reads a PDH-CSV and prints the statistics of every column, with nothing but Python's own library.
const STATISTICS: &str = r#"
import csv, json, statistics, sys
rows = list(csv.reader(open(sys.argv[1], encoding="utf-8-sig")))
found = {}
for at, path in enumerate(rows[0][1:], 1):
    values = [float(row[at]) for row in rows[1:] if row[at].strip()]
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    found[path.lower()] = [len(values), values[-1], min(values), max(values), statistics.fmean(values),
                           statistics.pstdev(values), cuts[49], cuts[94], cuts[98]]
print(json.dumps(found))
"#;

#[test]
fn statistics_match_python() {
    let Some(csv) = sample("PowerShell_CounterSamples.csv") else { return };
    let Some(python) = tallymon_testkit::peer("python3") else { return };
    let out = std::process::Command::new(python).args(["-c", STATISTICS, &csv]).output().unwrap();
    let theirs: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    // Of the text, and of the raw values that Windows made it from.
    for log in [&csv, &sample("PowerShell_CounterSamples.blg").unwrap()] {
        let ours = tally(&["stats", log, "--json"]).json();
        let counters = ours["counters"].as_array().unwrap();
        assert_eq!(counters.len(), 10);
        for counter in counters {
            let path = counter["path"].as_str().unwrap();
            let expected = theirs[path.to_lowercase()].as_array().unwrap();
            let percentiles = &counter["percentiles"];
            let found = [
                &counter["count"],
                &counter["last"],
                &counter["minimum"],
                &counter["maximum"],
                &counter["mean"],
                &counter["deviation"],
                &percentiles["p50"],
                &percentiles["p95"],
                &percentiles["p99"],
            ];
            for (found, expected) in found.iter().zip(expected) {
                let (found, expected) = (found.as_f64().unwrap(), expected.as_f64().unwrap());
                assert!(
                    (found - expected).abs() <= expected.abs() * 1e-9,
                    "{path}: {found} is not {expected}"
                );
            }
        }
    }
    has(&tally(&["stats", &csv, "--counter", r"\None\Here"]).words(3), &[r"\None\Here"]);
    let some = tally(&["stats", &csv, "--counter", r"\Memory\*", "--counter", r"\None\Here"]);
    assert_eq!((some.code, some.out.lines().count()), (Some(3), 4), "{}", some.out);
    has(&some.err, &["no counter in the logs matches", r"\None\Here"]);
}

/// One counter that the log does not have hides no other one, in any command that reads logs.
#[test]
fn one_counter_that_a_log_lacks_hides_no_other() {
    let Some(log) = sample("PAL_SampleLog.blg") else { return };
    let folder = Folder::new();
    let page = folder.file("page.html");
    let lines: [&[&str]; 7] = [
        &["get", "--log", &log, "{}"],
        &["watch", "-c", "2", "--log", &log, "{}"],
        &["stats", &log, "-c", "{}"],
        &["compare", &log, &log, "-c", "{}"],
        &["relog", &log, "-f", "csv", "-c", "{}"],
        &["report", &log, "--force", "-o", &page, "-c", "{}"],
        &["analyze", &log, "-c", "{}"],
    ];
    for line in lines {
        let (before, option) = match line {
            [before @ .., "-c", "{}"] => (before, &["-c"][..]),
            [before @ .., _] => (before, &[][..]),
            [] => unreachable!(),
        };
        let with = |paths: &[&str]| {
            let paths = paths.iter().flat_map(|path| option.iter().copied().chain([*path]));
            tally(&before.iter().copied().chain(paths).collect::<Vec<_>>())
        };
        let (good, bad) = (r"\Memory\Available Bytes", r"\Nope\x");
        let alone = with(&[good]);
        assert_eq!(alone.code, Some(0), "{before:?}: {}", alone.err);
        for paths in [[bad, good], [good, bad]] {
            let both = with(&paths);
            assert_eq!((both.code, &both.out), (Some(3), &alone.out), "{before:?}: {}", both.err);
            has(&both.err, &["Nope"]);
        }
        assert_eq!(with(&[bad]).code, Some(3), "{before:?}");
    }
}

#[test]
fn statistics_are_sorted_and_limited() {
    let Some(log) = sample("PowerShell_CounterSamples.blg") else { return };
    for (key, pointer) in [
        ("last", "/last"),
        ("minimum", "/minimum"),
        ("median", "/percentiles/p50"),
        ("mean", "/mean"),
        ("average", "/average"),
        ("95", "/percentiles/p95"),
        ("99", "/percentiles/p99"),
        ("maximum", "/maximum"),
        ("slope", "/slope_per_hour"),
    ] {
        let found = tally(&["stats", &log, "--json", "--sort", key]).json();
        let counters = found["counters"].as_array().unwrap();
        // A counter without the statistic comes last.
        let value = |counter: &serde_json::Value| {
            counter.pointer(pointer).and_then(serde_json::Value::as_f64).unwrap_or(f64::NEG_INFINITY)
        };
        let values: Vec<f64> = counters.iter().map(value).collect();
        assert!(values.len() == 10 && values.is_sorted_by(|a, b| a >= b), "{key}: {values:?}");
        let top = tally(&["stats", &log, "--json", "--sort", key, "--top", "3"]).json();
        assert_eq!(top["counters"].as_array().unwrap().as_slice(), &counters[..3], "{key}");
    }
    let out = tally(&["stats", &log, "--top", "3"]).data();
    assert_eq!(out.lines().count(), 1 + 1 + 3 + 1, "{out}");
    has(&out, &["7 more counters"]);
    has(&tally(&["stats", &log, "--sort", "colour"]).words(2), &["colour", "maximum"]);
}

#[test]
fn two_logs_are_compared() {
    let Some(log) = sample("PowerShell_CounterSamples.blg") else { return };
    let Some(other) = sample("Tx_BasicPerfCounters.blg") else { return };
    let same = tally(&["compare", &log, &log, "--json"]).json();
    let differences = same["differences"].as_array().unwrap();
    assert_eq!(differences.len(), 10);
    assert!(differences.iter().all(|difference| difference["absolute"].as_f64() == Some(0.0)));
    let found = tally(&["compare", &log, &other]).data();
    has(&found, &["A  ", "B  ", "mean A", r"\processor(_total)\% processor time", "only in A", "only in B"]);
    has(&tally(&["compare", &log, &other, "--align", "clock"]).words(4), &["no time in common", "starts"]);
}

#[test]
fn two_logs_are_compared_by_an_event() {
    let folder = Folder::new();
    let log = |name: &str, hour: u32, values: &[u32]| {
        let head = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\S\\Memory\\Available MBytes\"\r\n".to_owned();
        let rows = values.iter().enumerate();
        let rows = rows.map(|(at, value)| format!("\"01/31/2026 {hour}:00:{at:02}.000\",\"{value}\"\r\n"));
        folder.write(name, (head + &rows.collect::<String>()).as_bytes())
    };
    let (one, other) = (log("one.csv", 10, &[1, 90, 2, 3]), log("other.csv", 11, &[7, 7, 1, 90, 2, 3]));
    let by = |more: &[&str]| tally(&[&["compare", &one, &other, "--json"], more].concat());
    let found = by(&["--event", "10:00:01", "--event", "11:00:03"]).json();
    assert_eq!(found["differences"][0]["absolute"].as_f64(), Some(0.0), "{found}");
    assert!(by(&[]).json()["differences"][0]["absolute"].as_f64() != Some(0.0));
    has(&by(&["--event", "10:00:01"]).words(4), &["no record at the time of its event"]);
    has(&by(&["--event", "10:00:01", "--event", "1", "--event", "2"]).words(2), &["two times at most"]);
    has(&by(&["--event", "noon"]).words(2), &["noon"]);
    has(&by(&["--event", "10:00:01", "--align", "start"]).words(2), &["--align"]);
}

#[test]
fn files_that_are_not_logs_are_refused() {
    let folder = Folder::new();
    let file = folder.write("x.blg", b"no log at all");
    has(&tally(&["info", &file]).words(7), &[&file]);
    has(&tally(&["relog", &file, "--output", &folder.file("y.csv")]).words(7), &[&file]);
    assert!(!folder.path().join("y.csv").exists(), "nothing half-written");
    has(&tally(&["info", &folder.file("none.blg")]).words(3), &["none.blg"]);
    has(&tally(&["relog", &file, "--from", "yesterday"]).words(2), &["yesterday", "2026-11-21"]);
    has(&tally(&["relog", &file, "--format", "xls"]).words(2), &["xls", "blg, csv, tsv"]);
    has(&tally(&["relog", &file, "--rename-host", "a"]).words(2), &["OLD=NEW"]);
    has(&tally(&["relog", &file, "--counter", r"\("]).words(2), &["^"]);
}

/// The values of one column of a text log.
fn column<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let mut lines = text.lines().map(|line| line.trim_matches('"').split("\",\"").collect::<Vec<_>>());
    let at = lines.next().unwrap().iter().position(|path| path.to_lowercase().ends_with(name)).unwrap();
    lines.map(|line| line[at]).collect()
}

#[test]
fn log_option_reads_values_from_a_log() {
    let Some(log) = sample("PowerShell_CounterSamples.blg") else { return };
    let windows = fs::read_to_string(sample("PowerShell_CounterSamples.csv").unwrap()).unwrap();
    let path = r"\Processor(_Total)\% Processor Time";
    let of_windows = column(&windows, r"\processor(_total)\% processor time");
    // All records, with the values that Windows has written.
    let all = tally(&["watch", "--log", &log, path, r"\Memory\Cache Faults/sec", "--csv"]).data();
    assert_eq!(column(&all, "% processor time"), of_windows);
    assert_eq!(column(&all, "cache faults/sec"), column(&windows, r"\memory\cache faults/sec"));
    // The last one, one at a time, and a range.
    assert_eq!(tally(&["get", "--log", &log, path, "--plain"]).data().trim(), *of_windows.last().unwrap());
    // Windows does not write when it has read an object.
    let rate = tally(&["get", "--log", &log, path, "--verbose"]).data();
    assert!(rate.contains("(error unknown: its source does not say when it was read)"), "{rate}");
    let at = tally(&["get", "--log", &log, path, "--plain", "--at", "2016-11-26T21:46:35Z"]).out;
    assert_eq!(at.trim(), of_windows[1]);
    let range = ["--from", "2016-11-26T21:46:33Z", "--to", "2016-11-26T21:46:37Z"];
    let two = tally(&[&["watch", "--log", &log, path, "--csv"], &range[..]].concat()).data();
    assert_eq!(column(&two, "% processor time"), of_windows[1..3]);
    let words = tally(&["watch", "--log", &log, path, "--from", "2030-01-01"]).words(4);
    has(&words, &["no record from 2030-01-01T00:00:00.000-08:00"]);
    // What there is, and what it means.
    has(&tally(&["list", "--log", &log]).data(), &["Network Interface", "PhysicalDisk"]);
    has(&tally(&["list", "--log", &log, "Processor", "--instances"]).data(), &[r"\Processor(_total)"]);
    has(&tally(&["find", "--log", &log, "committed"]).data(), &[r"\Memory\% Committed Bytes In Use"]);
    let explained = tally(&["explain", "--log", &log, path]).data();
    has(
        &explained,
        &["PERF_100NSEC_TIMER_INV", "with the numbers  100 * (1 - (4903761015625 - 4903736250000)"],
    );
    let of_values =
        tally(&["explain", "--log", &sample("PowerShell_CounterSamples.csv").unwrap(), path]).data();
    has(&of_values, &["type"]);
    let words = tally(&["get", "--log", &log, r"\Memory\Available Bytes"]).words(3);
    has(&words, &["Available Bytes", "'tally list OBJECT --log FILE'"]);
    has(&tally(&["get", "--log", &log, r"\Nothing\More"]).words(3), &["'tally list --log FILE'"]);
}

#[test]
fn several_logs_are_read_as_one() {
    let Some(log) = sample("PowerShell_CounterSamples.blg") else { return };
    let folder = Folder::new();
    let cut = |name: &str, arguments: &[&str]| {
        let file = folder.file(name);
        assert_eq!(tally(&[&["relog", &log, "--output", &file], arguments].concat()).code, Some(0));
        file
    };
    let time = "2016-11-26T21:46:59Z";
    let (one, other) = (cut("one.tally", &["--to", time]), cut("other.csv", &["--from", time]));
    let path = r"\Memory\Cache Faults/sec";
    let logs = ["--log", &other, "--log", &one];
    let with = |word: &str, more: &[&str]| tally(&[&[word], &logs[..], more].concat());
    let whole = tally(&["watch", "--log", &log, path, "--csv"]).data();
    assert_eq!(column(&with("watch", &[path, "--csv"]).data(), "cache faults/sec").len(), 25);
    let bytes = r"\Processor(_Total)\% Processor Time";
    let pieces = with("watch", &[bytes, "--csv"]).data();
    let all = tally(&["watch", "--log", &log, bytes, "--csv"]).data();
    assert_ne!(whole, all);
    let (pieces, all) = (column(&pieces, "% processor time"), column(&all, "% processor time"));
    let differing = pieces.iter().zip(&all).filter(|(piece, all)| piece != all).count();
    assert_eq!((pieces.len(), all.len()), (25, 25));
    assert!(differing <= 1, "only the first rate of the second log has none before it: {pieces:?} {all:?}");
    assert_eq!(with("get", &[bytes, "--plain"]).data().trim(), *all.last().unwrap());
    assert_eq!(with("get", &[bytes, "--plain", "--at", "2016-11-26T21:46:35Z"]).out.trim(), all[1]);
    has(&with("list", &["Processor", "--instances"]).data(), &[r"\Processor(_total)"]);
    has(&with("find", &["committed"]).data(), &[r"\Memory\% Committed Bytes In Use"]);
    has(&with("explain", &[bytes]).data(), &["% Processor Time"]);
    // The same twice: it is said whose values are taken.
    let twice = tally(&["get", "--log", &log, "--log", &one, bytes, "--plain"]);
    assert_eq!((twice.code, twice.out.trim()), (Some(0), *all.last().unwrap()));
    has(&twice.err, &["counters in ", "taken from ", "2016-11-26T13:46:"]);
    let words = tally(&["get", "--log", &one, "--log", &folder.file("nowhere.blg"), bytes]).words(3);
    has(&words, &["nowhere.blg"]);
}

#[test]
fn a_log_is_replayed_at_a_speed() {
    let Some(log) = sample("PowerShell_CounterSamples.blg") else { return };
    // Three seconds between records, a thousand times as fast.
    let path = r"\Processor(_Total)\% Processor Time";
    let lines = tally(&["watch", "--log", &log, path, "--json", "--speed", "1000"]).data();
    assert_eq!(lines.lines().count(), 25);
    let words = tally(&["watch", path, "--speed", "2"]).words(2);
    has(&words, &["--log"]);
}

#[test]
fn records_after_a_clock_was_set_back_are_shown_in_their_order() {
    let folder = Folder::new();
    let mut text = String::from("\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\vm\\Memory\\Available Bytes\"\n");
    for (minute, value) in [(10, 1), (11, 2), (12, 3), (5, 4), (6, 5), (11, 6)] {
        text += &format!("\"11/26/2016 13:{minute:02}:00.000\",\"{value}\"\n");
    }
    let log = folder.write("back.csv", text.as_bytes());
    let shown = tally(&["watch", "--log", &log, r"\Memory\Available Bytes", "--plain"]).data();
    assert_eq!(shown, "1\n2\n3\n4\n5\n6\n");
}

#[test]
fn every_host_of_a_log_is_listed() {
    let Some(log) = sample("PowerShell_CounterSamples.blg") else { return };
    let folder = Folder::new();
    let [bird, both] =
        ["bird.tally", "both.tally"].map(|name| folder.path().join(name).to_str().unwrap().to_string());
    let renamed = tally(&["relog", &log, "-o", &bird, "--rename-host", "charlieparker=BIRD"]);
    assert_eq!(renamed.code, Some(0), "{}", renamed.err);
    let joined = tally(&["relog", &log, &bird, "-o", &both]);
    assert_eq!(joined.code, Some(0), "{}", joined.err);
    let memory = r"\Memory\% Committed Bytes In Use";
    let listed = tally(&["list", "--log", &both, "Memory"]).data();
    has(&listed, &[&format!(r"\\charlieparker{memory}"), &format!(r"\\BIRD{memory}")]);
    let own = tally(&["list", "--log", &both, r"\\bird\Processor", "--instances"]).data();
    assert_eq!(own, "\\\\BIRD\\Processor(_total)\n");
    let found = tally(&["find", "--log", &both, "committed"]).data();
    has(&found, &[&format!(r"\\charlieparker{memory}"), &format!(r"\\BIRD{memory}")]);
    // The records of the second log are the last ones, so that only its host has a value there.
    let path = r"\Processor(*)\% Processor Time";
    let value = tally(&["get", "--log", &both, &format!(r"\\bird{path}"), "--plain"]).data();
    assert_eq!(value.trim(), "17.512710432621848");
    let rows = tally(&["watch", "--log", &both, path, "--csv"]).data();
    has(rows.lines().next().unwrap(), &[r"\\charlieparker\Processor(_total)\", r"\\BIRD\Processor(_total)\"]);
    let words = tally(&["get", "--log", &both, &format!(r"\\nobody{path}")]).words(3);
    has(&words, &["it has charlieparker, BIRD"]);
    let explained = tally(&["explain", "--log", &both, &format!(r"\\bird{path}")]).data();
    has(&explained, &[r"path  \\BIRD\Processor(_total)\% Processor Time"]);
}

/// A rate over twelve seconds is that of the whole twelve seconds.
#[test]
fn a_log_is_sampled_at_an_interval() {
    let Some(log) = sample("PowerShell_CounterSamples.blg") else { return };
    let path = r"\Processor(_total)\% Processor Time";
    let rows = tally(&["watch", "--log", &log, path, "-i", "10s", "--csv"]).data();
    // Records are three seconds apart, so every fourth one is shown.
    let copied = tally(&["relog", &log, "--format", "csv", "-c", path, "--every", "4"]).out;
    let (shown, copied) = (column(&rows, "% processor time"), column(&copied, "% processor time"));
    assert_eq!(shown.len(), 7);
    assert_eq!(shown, copied);
}

/// A signal as `kill` sends it; Windows has none.
#[cfg(unix)]
#[test]
fn an_interrupted_copy_leaves_no_partial_file() {
    use std::time::{Duration, Instant};

    let Some(log) = sample("Tx_BasicPerfCounters.blg") else { return };
    for (name, format) in [("INT", "csv"), ("TERM", "blg"), ("INT", "tally")] {
        let folder = Folder::new();
        let out = folder.file(&format!("out.{format}"));
        fs::write(&out, "what was there before").unwrap();
        let mut command = std::process::Command::new(TALLY);
        // Long enough to be interrupted: the same log again and again.
        command.args(["relog", "--force", "-o", &out]).args(std::iter::repeat_n(&log, 60));
        command.stderr(std::process::Stdio::null());
        let mut child = command.spawn().unwrap();
        let begun = Instant::now();
        while fs::read_dir(folder.path()).unwrap().count() < 2 {
            assert!(begun.elapsed() < Duration::from_secs(120), "{format}: nothing is written");
            assert_eq!(child.try_wait().unwrap(), None, "{format}: it ended by itself");
            std::thread::sleep(Duration::from_millis(1));
        }
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{format}");
        assert_eq!(fs::read_to_string(&out).unwrap(), "what was there before", "{format}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{format}");
    }
}
