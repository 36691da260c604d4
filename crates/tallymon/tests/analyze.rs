//! Findings: thresholds of PAL beside an independent script, and logs of machines whose trouble is known.
// A test that cannot go on fails, and this whole program is tests.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use tallymon::analyze::{
    Analysis, Expression, Finding, FindingKind, RuleSet, Severity, against, analyze, why,
};
use tallymon::clock::parse_rfc3339;
use tallymon::core::path::CounterPath;
use tallymon::core::time::FileTime;
use tallymon::log::relog::{Options, relog};
use tallymon::log::{Format, ReadOptions, Selection, open};
use tallymon_testkit::{Scratch, peer, shared};

fn found(log: &Path, rules: RuleSet) -> Analysis {
    analyze(&[log.to_owned()], rules, &Selection::default(), &ReadOptions::default()).unwrap()
}

/// PAL's files, unpacked.
fn thresholds(folder: &Path) -> Option<Vec<PathBuf>> {
    let samples = shared("thresholds")?;
    peer("gunzip")?;
    let mut files = Vec::new();
    for file in std::fs::read_dir(samples).unwrap() {
        let file = file.unwrap().path();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        if !name.contains(".xml") {
            continue;
        }
        let path = folder.join(name.trim_end_matches(".gz"));
        let program = if name.ends_with(".gz") { "gunzip" } else { "cat" };
        let option = if name.ends_with(".gz") { &["-c"][..] } else { &[] };
        let bytes = Command::new(program).args(option).arg(&file).output().unwrap().stdout;
        std::fs::write(&path, bytes).unwrap();
        files.push(path);
    }
    files.sort();
    Some(files)
}

/// What breaks a threshold: how many values, in how many ranges, and where the first begins and the last
/// ends, in milliseconds since the first record. The end is unknown if there are more ranges than are kept.
#[derive(Debug)]
struct Broken {
    values: u64,
    ranges: u64,
    begin: f64,
    end: Option<f64>,
}

/// What an independent script says of a log in text, by path, operator, threshold and severity.
fn broken_by_script(python: &Path, log: &Path, files: &[PathBuf]) -> BTreeMap<String, Broken> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/thresholds.py");
    let output = Command::new(python).arg(script).arg(log).args(files).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let line = |line: &str| {
        let words: Vec<&str> = line.split('\t').collect();
        let &[path, operator, limit, severity, values, ranges, begin, end] = &words[..] else {
            panic!("{line}")
        };
        let broken = Broken {
            values: values.parse().unwrap(),
            ranges: ranges.parse().unwrap(),
            begin: begin.parse().unwrap(),
            end: Some(end.parse().unwrap()),
        };
        (format!("{path}\t{operator}\t{limit}\t{severity}"), broken)
    };
    String::from_utf8(output.stdout).unwrap().lines().map(line).collect()
}

/// What is found in a log by the thresholds of a folder; and how many of those were computed.
fn broken_by_rules(log: &Path, folder: &Path) -> (BTreeMap<String, Broken>, usize) {
    let mut rules = RuleSet::default();
    rules.add(folder).unwrap();
    let answers = rules.parameters.clone();
    let names: Vec<String> = answers.iter().map(|(name, _)| name.clone()).collect();
    // The default answers, also where the log would say something else.
    for (name, value) in &answers {
        value.iter().for_each(|value| rules.set(name, *value).unwrap());
    }
    let found = found(log, rules);
    let values: Vec<Option<f64>> = found.parameters.iter().map(|(_, value)| *value).collect();
    let first = found.first.unwrap();
    let since = |time: FileTime| (time.0 - first.0) as f64 / 10_000.0;
    let (mut broken, mut computed) = (BTreeMap::new(), 0);
    for finding in &found.findings {
        let FindingKind::Rule { condition, .. } = &finding.kind else { continue };
        // The script knows no trend.
        if condition.ends_with(" (growth in an hour)") {
            continue;
        }
        let (operator, text) = condition.strip_prefix("value ").unwrap().split_once(' ').unwrap();
        let limit = Expression::parse(text, &names).unwrap().value(&values).unwrap();
        for one in &finding.instances {
            computed += usize::from(text.parse::<f64>().is_err());
            let path = one.path.to_lowercase();
            let key = format!("{path}\t{operator}\t{limit}\t{}", finding.severity.name());
            let last = one.ranges.last().filter(|_| one.more_ranges == 0);
            broken.insert(
                key,
                Broken {
                    values: one.records,
                    ranges: one.ranges.len() as u64 + one.more_ranges,
                    begin: since(one.ranges[0].from),
                    end: last.map(|range| since(range.to)),
                },
            );
        }
    }
    (broken, computed)
}

#[test]
fn thresholds_of_pal_are_broken_where_an_independent_script_says() {
    let folder = Scratch::new();
    let Some((files, logs)) = thresholds(&folder).zip(shared("logs")) else { return };
    let Some(python) = peer("python3") else { return };
    let (mut compared, mut of_several, mut computed) = (0, 0, 0);
    for name in [
        "PAL_SampleLog.blg",
        "PowerShell_CounterSamples.blg",
        "PowerShell_CounterSamples.csv",
        "PowerShell_CounterSamples.tsv",
        "Tx_BasicPerfCounters.blg",
    ] {
        let log = logs.join(name);
        let mut text = log.clone();
        if name.ends_with(".blg") {
            text = folder.join(format!("{name}.csv"));
            let options = Options { format: Format::Csv, ..Options::default() };
            relog(std::slice::from_ref(&log), &text, &options).unwrap();
        }
        let expected = broken_by_script(&python, &text, &files);
        let (actual, of_log) = broken_by_rules(&log, &folder);
        let keys = |of: &BTreeMap<String, Broken>| of.keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(&actual), keys(&expected), "{name}");
        for (key, expected) in &expected {
            let actual = &actual[key];
            let counts = |of: &Broken| (of.values, of.ranges);
            // The times of the text have milliseconds.
            let near = |one: f64, other: f64| (one - other).abs() <= 1.0;
            let is_equal = counts(actual) == counts(expected)
                && near(actual.begin, expected.begin)
                && actual.end.is_none_or(|end| near(end, expected.end.unwrap()));
            assert!(is_equal, "{name}: {key}: {actual:?} and the script {expected:?}");
            of_several += usize::from(expected.ranges > 1);
        }
        compared += expected.len();
        computed += of_log;
    }
    assert!(compared > 40, "{compared} thresholds of a counter were compared");
    assert!(of_several > 5, "{of_several} of them have several ranges");
    assert!(computed > 0, "no threshold was computed from an answer");
}

#[test]
fn what_is_found_does_not_depend_on_the_counters_that_nothing_looks_at() {
    let Some(logs) = shared("logs") else { return };
    for name in ["PAL_SampleLog.blg", "PowerShell_CounterSamples.blg", "Tx_BasicPerfCounters.blg"] {
        let log = logs.join(name);
        let mut reader = open(&log, &ReadOptions::default()).unwrap();
        while reader.next_record().unwrap().is_some() {}
        let columns = &reader.about().columns;
        // With a selection, all that is selected is read.
        let all = Selection {
            counters: columns.iter().filter_map(|column| column.parts.clone()).collect(),
            ..Selection::default()
        };
        let options = ReadOptions::default();
        let whole = analyze(std::slice::from_ref(&log), rules(), &all, &options).unwrap();
        let part = found(&log, rules());
        assert_eq!(part.findings, whole.findings, "{name}");
        assert_eq!((part.counters, whole.counters), (columns.len(), columns.len()), "{name}");
    }
}

#[test]
fn every_threshold_of_pal_is_a_rule_or_has_a_reason() {
    let folder = Scratch::new();
    let Some(files) = thresholds(&folder) else { return };
    let Some(python) = peer("python3") else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/thresholds_count.py");
    let output = Command::new(&python).arg(script).args(&files).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let counted = String::from_utf8(output.stdout).unwrap();
    let counted: Vec<(&str, usize)> = counted
        .lines()
        .map(|line| line.split_once('\t').unwrap())
        .map(|(name, count)| (name, count.parse().unwrap()))
        .collect();
    assert_eq!(counted.len(), files.len());
    // Two files have thresholds of the files that they inherit from once more: those are taken once.
    let repeated =
        [("PAL_Exchange2007-HUBCAS-TechNet.xml", 19), ("PAL_Exchange2007-HUBCASMBX-TechNet.xml", 24)];
    let (mut rules, mut reasons) = (0, BTreeMap::<String, usize>::new());
    for (file, (name, count)) in files.iter().zip(counted) {
        // Each file by itself: in a folder, thresholds that another file has too are taken once.
        let mut own = RuleSet::default();
        own.add(file).unwrap();
        // What stands for a whole file that is not there is no threshold.
        let skipped = own.skipped.iter().filter(|skipped| !skipped.rule.starts_with("all of ")).count();
        let again = repeated.iter().find(|(known, _)| *known == name).map_or(0, |(_, again)| *again);
        assert_eq!(own.rules.len() + skipped + again, count, "{name}");
        rules += own.rules.len();
        for skipped in &own.skipped {
            let kind = skipped.reason.split(['$', '\\', '"']).next().unwrap();
            *reasons.entry(kind.trim_end().to_string()).or_default() += 1;
        }
    }
    let expected = [
        ("its analysis is switched off in the file", 185),
        ("its code is Visual Basic of PAL 1", 59),
        ("its code is a program, not a constant threshold", 820),
        ("its counter", 658),
        ("the file that it inherits from is not in its folder", 2),
    ];
    assert_eq!(reasons, BTreeMap::from(expected.map(|(reason, count)| (reason.to_string(), count))));
    assert_eq!(rules, 5985);
}

/// A log of one machine, a record a second, by numbers that are made up.
struct Machine {
    seed: u64,
    seconds: u64,
}

/// The columns of a log, and their values at each second.
type Columns = Vec<(&'static str, Box<dyn Fn(u64, f64) -> f64>)>;

impl Machine {
    /// Noise between -1 and 1 for a column and a second, the same in each run.
    fn noise(&self, column: u64, second: u64) -> f64 {
        let mut bits = (self.seed << 40) ^ (column << 20) ^ second ^ 0x9E37_79B9_7F4A_7C15;
        for _ in 0..3 {
            bits = (bits ^ (bits >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        }
        (bits >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    /// A quiet machine with four processors and 16 GB.
    fn quiet() -> Columns {
        vec![
            (r"\Processor(_Total)\% Processor Time", Box::new(|_, noise| 12.0 + 6.0 * noise)),
            (r"\Processor(0)\% Processor Time", Box::new(|_, noise| 12.0 + 9.0 * noise)),
            (r"\Processor(1)\% Processor Time", Box::new(|_, noise| 12.0 + 9.0 * noise)),
            (r"\System\Processor Queue Length", Box::new(|_, noise| (1.0 + noise).round())),
            (r"\Memory\Available MBytes", Box::new(|_, noise| 9000.0 + 40.0 * noise)),
            (r"\Memory\Page Reads/sec", Box::new(|_, noise| 2.0 + 2.0 * noise)),
            (r"\Memory\Pages Output/sec", Box::new(|_, _| 0.0)),
            (r"\PhysicalDisk(sda)\Avg. Disk sec/Transfer", Box::new(|_, noise| 0.003 + 0.002 * noise)),
            (r"\PhysicalDisk(sda)\Disk Transfers/sec", Box::new(|_, noise| 30.0 + 20.0 * noise)),
            (r"\TCPv4\Segments Sent/sec", Box::new(|_, noise| 400.0 + 100.0 * noise)),
            (r"\TCPv4\Segments Retransmitted/sec", Box::new(|_, noise| 0.5 + 0.5 * noise)),
            (r"\Process(hog)\% Processor Time", Box::new(|_, noise| 2.0 + noise)),
            (r"\Process(web)\% Processor Time", Box::new(|_, noise| 8.0 + 3.0 * noise)),
            (r"\Process(hog)\Private Bytes", Box::new(|_, noise| 4e7 + 1e5 * noise)),
            (r"\Process(web)\Private Bytes", Box::new(|_, noise| 3e8 + 1e6 * noise)),
            (r"\Process(hog)\IO Data Bytes/sec", Box::new(|_, noise| 1e3 + 1e3 * noise)),
            (r"\Process(web)\IO Data Bytes/sec", Box::new(|_, noise| 5e4 + 1e4 * noise)),
        ]
    }

    /// Writes the log with some columns changed.
    fn write(&self, path: &Path, changes: Columns) {
        let mut columns = Machine::quiet();
        for (path, change) in changes {
            match columns.iter_mut().find(|(known, _)| *known == path) {
                Some(column) => column.1 = change,
                None => columns.push((path, change)),
            }
        }
        let mut text = String::from("\"(PDH-CSV 4.0) (UTC)(0)\"");
        for (path, _) in &columns {
            write!(text, ",\"\\\\box{path}\"").unwrap();
        }
        text.push_str("\r\n");
        for second in 0..self.seconds {
            let (hour, minute) = (second / 3600, second / 60 % 60);
            write!(text, "\"11/21/2026 {hour:02}:{minute:02}:{:02}.000\"", second % 60).unwrap();
            for (at, (_, value)) in columns.iter().enumerate() {
                write!(text, ",\"{}\"", value(second, self.noise(at as u64, second))).unwrap();
            }
            text.push_str("\r\n");
        }
        std::fs::write(path, text).unwrap();
    }
}

/// 16 GB, which a text log does not say.
fn rules() -> RuleSet {
    let mut rules = RuleSet::built_in().unwrap();
    rules.set("memory_mb", 16384.0).unwrap();
    rules
}

#[test]
fn quiet_machines_have_no_finding_in_an_hour() {
    let folder = Scratch::new();
    for seed in 1..=12 {
        let log = folder.join("quiet.csv");
        Machine { seed, seconds: 3600 }.write(&log, Vec::new());
        let findings = found(&log, rules()).findings;
        assert!(findings.is_empty(), "seed {seed}: {:?}", findings[0]);
    }
}

/// From the 20th to the 30th minute.
fn is_sick(second: u64) -> bool {
    (1200..1800).contains(&second)
}

/// A program that leaks from the middle of the log on.
fn late_leak() -> Columns {
    let bytes =
        |second: u64, noise: f64| (4e7 + 2.3e6 * second.saturating_sub(1800) as f64) * (1.0 + 0.002 * noise);
    vec![(r"\Process(hog)\Private Bytes", Box::new(bytes))]
}

#[test]
fn sick_machines_have_their_trouble_as_the_first_finding() {
    let sick = |bad: f64, good: f64| -> Box<dyn Fn(u64, f64) -> f64> {
        Box::new(move |second, noise| if is_sick(second) { bad } else { good } * (1.0 + 0.05 * noise))
    };
    let grows = |from: f64, by: f64| -> Box<dyn Fn(u64, f64) -> f64> {
        Box::new(move |second, noise| (from + by * second as f64) * (1.0 + 0.002 * noise))
    };
    let processor: Columns = vec![
        (r"\Processor(_Total)\% Processor Time", sick(95.0, 12.0)),
        (r"\Process(hog)\% Processor Time", sick(350.0, 2.0)),
    ];
    let leak: Columns = vec![
        (r"\Memory\Available MBytes", grows(9000.0, -2.2)),
        (r"\Process(hog)\Private Bytes", grows(4e7, 2.3e6)),
    ];
    let swap: Columns = vec![
        (r"\Memory\Available MBytes", sick(300.0, 9000.0)),
        (r"\Memory\Pages Output/sec", sick(4000.0, 0.0)),
        (r"\Memory\Page Reads/sec", sick(900.0, 2.0)),
        (r"\Process(hog)\Private Bytes", sick(1.4e10, 4e7)),
    ];
    let disk: Columns = vec![
        (r"\PhysicalDisk(sda)\Avg. Disk sec/Transfer", sick(0.3, 0.003)),
        (r"\PhysicalDisk(sda)\Disk Transfers/sec", sick(300.0, 30.0)),
        (r"\Process(hog)\IO Data Bytes/sec", sick(8e7, 1e3)),
    ];
    let network: Columns = vec![(r"\TCPv4\Segments Retransmitted/sec", sick(60.0, 0.5))];
    let volume: Columns = vec![(r"\LogicalDisk(/data)\Free Megabytes", grows(50_000.0, -10.0))];
    let full: Columns = vec![
        (r"\LogicalDisk(/data)\% Free Space", sick(0.5, 12.0)),
        (r"\LogicalDisk(/data)\Free Megabytes", sick(300.0, 9000.0)),
    ];
    let killed: Columns = vec![(r"\Memory Extended\Out of Memory Kills/sec", sick(0.1, 0.0))];
    let throttled: Columns = vec![(r"\Control Group(app.service)\% Throttled Time", sick(60.0, 0.0))];
    let cases: [(&str, Columns, &str, Option<&str>); 10] = [
        ("processor", processor, "All processors are busy", Some("hog")),
        ("leak", leak, "Private Bytes of hog grows all the time", None),
        ("late", late_leak(), "Private Bytes of hog grows from some time on, up to the end", None),
        ("swap", swap, "Nearly no memory is available", Some("hog")),
        ("disk", disk, "A disk answers very slowly", Some("hog")),
        ("network", network, "TCP sends segments again", None),
        ("volume", volume, "Free Megabytes of /data falls all the time", None),
        ("full", full, "A volume has no space left", None),
        ("killed", killed, "The kernel ended processes for want of memory", None),
        ("throttled", throttled, "A control group is stopped by its processor limit", None),
    ];
    let folder = Scratch::new();
    for (name, columns, title, cause) in cases {
        let log = folder.join(format!("{name}.csv"));
        Machine { seed: 77, seconds: 3600 }.write(&log, columns);
        let analysis = found(&log, rules());
        let titles: Vec<&str> = analysis.findings.iter().map(|finding| finding.title.as_str()).collect();
        let first = analysis.findings.first().unwrap_or_else(|| panic!("{name}: nothing was found"));
        // A leak shows in the process that leaks and in the memory that is left; both say it.
        let said = titles.iter().take(2).any(|found| *found == title);
        assert!(first.title == title || name == "leak" && said, "{name}: {titles:?}");
        if let Some(cause) = cause {
            assert_eq!(first.causes.first().map(|cause| cause.instance.as_str()), Some(cause), "{name}");
        }
        if let FindingKind::Rule { .. } = first.kind {
            // The ranges are those of the trouble, to a few records (noise ends a range, or `for` drops it).
            let ranges = &first.instances[0].ranges;
            let at = |text: &str| parse_rfc3339(text).unwrap();
            assert!(ranges[0].from >= at("2026-11-21T00:19:50Z"), "{name}: {ranges:?}");
            assert!(ranges[ranges.len() - 1].to <= at("2026-11-21T00:30:10Z"), "{name}: {ranges:?}");
            assert!(first.instances[0].seconds > 500.0, "{name}: {ranges:?}");
            assert!(first.severity >= Severity::Warning);
        } else {
            if name == "late" {
                let from = first.instances[0].ranges[0].from;
                let range =
                    ["2026-11-21T00:29:00Z", "2026-11-21T00:33:00Z"].map(|at| parse_rfc3339(at).unwrap());
                assert!((range[0]..range[1]).contains(&from), "{from:?}");
            }
            let limit = first.instances[0].until_limit;
            let expected = if name == "volume" { Some(1400.0) } else { limit };
            let near = |(limit, expected): (f64, f64)| (limit - expected).abs() < 100.0;
            assert!(limit.zip(expected).is_none_or(near), "{name}: {limit:?}");
        }
    }
}

#[test]
fn a_leak_that_begins_later_is_the_same_finding_before_and_after() {
    let folder = Scratch::new();
    let bytes = |second: u64, noise: f64| 4e7 + 2.3e6 * second as f64 + 1e6 * noise;
    let leak: Columns = vec![(r"\Process(hog)\Private Bytes", Box::new(bytes))];
    let log = |name: &str, columns: Columns| {
        let path = folder.join(name);
        Machine { seed: 4, seconds: 3600 }.write(&path, columns);
        [path]
    };
    let (quiet, late, whole) =
        (log("quiet.csv", Vec::new()), log("late.csv", late_leak()), log("whole.csv", leak));
    let trends = |before: &[PathBuf], after: &[PathBuf]| {
        let options = ReadOptions::default();
        let found = against(before, after, &rules(), &Selection::default(), &options).unwrap();
        let count = |findings: Vec<&Finding>| {
            findings.iter().filter(|finding| finding.kind == FindingKind::Trend).count()
        };
        (count(found.new_findings()), count(found.gone_findings()))
    };
    assert_eq!(trends(&quiet, &late), (1, 0));
    assert_eq!(trends(&late, &quiet), (0, 1));
    assert_eq!(trends(&late, &whole), (0, 0));
    assert_eq!(trends(&whole, &late), (0, 0));
}

#[test]
fn a_level_that_shifts_once_is_found_without_a_rule() {
    let folder = Scratch::new();
    let log = folder.join("shift.csv");
    let columns: Columns = vec![(
        r"\PhysicalDisk(sda)\Disk Bytes/sec",
        Box::new(|second, noise| if second < 2000 { 1e6 } else { 3e6 } + 1e5 * noise),
    )];
    Machine { seed: 5, seconds: 3600 }.write(&log, columns);
    let findings = found(&log, rules()).findings;
    let titles: Vec<&str> = findings.iter().map(|finding| finding.title.as_str()).collect();
    assert_eq!(titles, ["Disk Bytes/sec of sda rises and stays there"]);
    let range = findings[0].instances[0].ranges[0];
    let at = parse_rfc3339("2026-11-21T00:33:20Z").unwrap();
    let off = range.from.0.abs_diff(at.0) / tallymon::core::time::UNITS_PER_SECOND;
    assert!(findings[0].kind == FindingKind::Shift && off <= 60, "{range:?}");
}

#[test]
fn spikes_periods_and_knees_are_found_without_a_rule() {
    let spike: Columns = vec![(
        r"\Processor(_Total)\% Processor Time",
        Box::new(|second, noise| if (1808..1836).contains(&second) { 97.0 } else { 12.0 } + 2.0 * noise),
    )];
    let period: Columns = vec![(
        r"\Pressure\% IO Pressure Some",
        Box::new(|second, noise| if second % 300 < 25 { 80.0 } else { 3.0 } + noise),
    )];
    // The load goes up and down; from 200 a second on requests wait.
    let load = |second: u64| ((second as f64 / 400.0).sin() + 1.0) * 150.0;
    let knee: Columns = vec![
        (
            r"\PhysicalDisk(sda)\Disk Transfers/sec",
            Box::new(move |second, noise| load(second) + 10.0 + noise),
        ),
        (
            r"\PhysicalDisk(sda)\Avg. Disk sec/Transfer",
            Box::new(move |second, noise| 0.004 + (load(second) - 200.0).max(0.0) * 0.002 + 0.002 * noise),
        ),
    ];
    let cases: [(&str, Columns, FindingKind, &str, f64); 3] = [
        ("spike", spike, FindingKind::Spike, "% Processor Time of _Total rises for a moment", 24.0),
        ("period", period, FindingKind::Period, "% IO Pressure Some rises every 5 min", 3600.0),
        ("knee", knee, FindingKind::Knee, "Avg. Disk sec/Transfer of sda grows beyond", 1950.0),
    ];
    let folder = Scratch::new();
    for (name, columns, kind, title, seconds) in cases {
        let log = folder.join(format!("{name}.csv"));
        Machine { seed: 21, seconds: 3600 }.write(&log, columns);
        let findings = found(&log, rules()).findings;
        let titles: Vec<&str> = findings.iter().map(|finding| finding.title.as_str()).collect();
        let finding = findings.iter().find(|finding| finding.kind == kind);
        let finding = finding.unwrap_or_else(|| panic!("{name}: {titles:?}"));
        assert!(finding.title.starts_with(title), "{titles:?}");
        let off = (finding.instances[0].seconds - seconds).abs();
        assert!(off <= 0.15 * seconds + 15.0, "{name}: {:?}", finding.instances[0].ranges);
        assert_eq!(finding.severity, Severity::Note);
    }
}

/// Writes a log of some days with a record every five minutes: busy from 8 to 18 o'clock, and in the hours
/// that are given with their value.
fn write_days(path: &Path, seed: u64, days: u64, other: &[(u64, f64)]) {
    let machine = Machine { seed, seconds: 0 };
    let mut text = String::from("\"(PDH-CSV 4.0) (UTC)(0)\"");
    text.push_str(",\"\\\\box\\Network Interface(eth0)\\Bytes Total/sec\"\r\n");
    for at in 0..days * 288 {
        let (day, hour, minute) = (at / 288, at / 12 % 24, at % 12 * 5);
        let usual = if (8..18).contains(&hour) { 5e6 } else { 4e5 };
        let value = other.iter().find(|(hour, _)| *hour == at / 12).map_or(usual, |(_, value)| *value);
        let value = value * (1.0 + 0.1 * machine.noise(1, at));
        write!(text, "\"11/{:02}/2026 {hour:02}:{minute:02}:00.000\",\"{value}\"\r\n", day + 2).unwrap();
    }
    std::fs::write(path, text).unwrap();
}

#[test]
fn an_hour_that_is_unlike_the_same_hour_of_other_days_is_found() {
    let folder = Scratch::new();
    let log = folder.join("days.csv");
    // On the fourth day much is sent at three o'clock at night: as much as usually at day.
    write_days(&log, 3, 7, &[(3 * 24 + 3, 5e6)]);
    let findings = found(&log, rules()).findings;
    let titles: Vec<&str> = findings.iter().map(|finding| finding.title.as_str()).collect();
    assert_eq!(titles, ["Bytes Total/sec of eth0 is higher than in the same hour of other days"]);
    let range = findings[0].instances[0].ranges[0];
    let at = |text: &str| parse_rfc3339(text).unwrap();
    assert_eq!((range.from, range.to), (at("2026-11-05T03:00:00Z"), at("2026-11-05T04:00:00Z")));
    let usual = findings[0].instances[0].usual.unwrap();
    assert!((3e5..5e5).contains(&usual), "{usual}");
    // Quiet weeks have none.
    for seed in 1..=20 {
        write_days(&log, seed, 7, &[]);
        assert!(found(&log, rules()).findings.is_empty(), "seed {seed}");
    }
}

#[test]
fn counts_since_a_start_are_used_by_their_growth() {
    let folder = Scratch::new();
    let log = folder.join("errors.csv");
    // 1,000 errors are old. Two a second come for ten minutes; then the count begins anew, which is no
    // growth.
    let count = |second: u64| match second {
        second if second < 1200 => 1000,
        second if second < 1800 => 1000 + (second - 1200) * 2,
        _ => 0,
    };
    let columns: Columns = vec![
        (
            r"\Network Interface(eth0)\Packets Received Errors",
            Box::new(move |second, _| count(second) as f64),
        ),
        (r"\Network Interface(eth0)\Packets Outbound Errors", Box::new(|_, _| 7.0)),
    ];
    Machine { seed: 8, seconds: 3600 }.write(&log, columns);
    let findings = found(&log, rules()).findings;
    let ids: Vec<&FindingKind> = findings.iter().map(|finding| &finding.kind).collect();
    assert!(matches!(ids.as_slice(), [FindingKind::Rule { id, .. }] if id == "interface-errors"), "{ids:?}");
    let evidence = &findings[0].instances[0];
    assert!((590.0..=600.0).contains(&evidence.seconds) && evidence.worst == 2.0, "{evidence:?}");
    assert_eq!(evidence.ranges.len(), 1);
}

#[test]
fn errors_of_each_resource_and_slow_flash_are_found() {
    let folder = Scratch::new();
    let log = folder.join("errors.csv");
    let since = |second: u64, count: f64| if second >= 1200 { count } else { 0.0 };
    let latency = |bad: f64| -> Box<dyn Fn(u64, f64) -> f64> {
        Box::new(move |second, _| if is_sick(second) { bad } else { 0.001 })
    };
    let until_mount = |value: f64| -> Box<dyn Fn(u64, f64) -> f64> {
        Box::new(move |second, _| if second < 600 { value } else { f64::NAN })
    };
    let since_mount = |value: f64| -> Box<dyn Fn(u64, f64) -> f64> {
        Box::new(move |second, _| if second < 600 { f64::NAN } else { value })
    };
    let columns: Columns = vec![
        (r"\PhysicalDisk(0 sdc /)\Avg. Disk sec/Transfer", latency(0.015)),
        (r"\PhysicalDisk(0 sdc /)\Disk Transfers/sec", Box::new(|_, _| 100.0)),
        (r"\PhysicalDisk(1 sdd /data)\Avg. Disk sec/Transfer", latency(0.015)),
        (r"\PhysicalDisk(1 sdd /data)\Disk Transfers/sec", Box::new(|_, _| 100.0)),
        // Where a disk is mounted is part of its name.
        (r"\PhysicalDisk(2 sde /)\Avg. Disk sec/Transfer", until_mount(0.001)),
        (r"\PhysicalDisk(2 sde /)\Disk Transfers/sec", until_mount(100.0)),
        (r"\PhysicalDisk(2 sde / /mnt)\Avg. Disk sec/Transfer", since_mount(0.015)),
        (r"\PhysicalDisk(2 sde / /mnt)\Disk Transfers/sec", since_mount(100.0)),
        (r"\Block Device(sde)\Rotational", Box::new(|_, _| 0.0)),
        // A disk that turns needs that long.
        (r"\Block Device(sdc)\Rotational", Box::new(|_, _| 0.0)),
        (r"\Block Device(sdd)\Rotational", Box::new(|_, _| 1.0)),
        (r"\Ext4(sda)\File System Errors", Box::new(move |second, _| since(second, 2.0))),
        (r"\NFS Client Mount(/home)\Retransmissions/sec", Box::new(move |second, _| since(second, 3.0))),
        (r"\NFS Client Mount(/home)\Timeouts/sec", Box::new(move |second, _| since(second, 3.0))),
        (r"\NFS Client Mount(/home)\Requests/sec", Box::new(|_, _| 50.0)),
        (r"\SMB Client Share(//box/all)\Failed Requests/sec", Box::new(move |second, _| since(second, 9.0))),
        (r"\SMB Client Share(//box/all)\Requests/sec", Box::new(|_, _| 20.0)),
        (
            r"\Thermal Zone Information(0 x86_pkg_temp)\Throttle Reasons",
            Box::new(move |second, _| since(second, 1.0)),
        ),
        // On Windows the second bit is a limit of the power supply, which is no heat.
        (
            r"\Thermal Zone Information(2 supply)\Throttle Reasons",
            Box::new(move |second, _| since(second, 2.0)),
        ),
        (
            r"\Thermal Zone Information(3 both)\Throttle Reasons",
            Box::new(|second, _| if is_sick(second) { 3.0 } else { 0.0 }),
        ),
        (
            r"\Thermal Zone Information(1 acpitz)\% Passive Limit",
            Box::new(|second, _| if is_sick(second) { 30.0 } else { 100.0 }),
        ),
        // One error now and then is corrected; those before the log are no news.
        (r"\Memory Controller(mc0)\Corrected Errors", Box::new(|second, _| 7.0 + (second / 1000) as f64)),
        (r"\Memory Controller(mc1)\Corrected Errors", Box::new(|_, _| 5.0)),
        (r"\Memory Controller(mc0)\Uncorrected Errors", Box::new(move |second, _| since(second, 1.0))),
    ];
    Machine { seed: 5, seconds: 3600 }.write(&log, columns);
    let findings = found(&log, rules()).findings;
    let mut ids: Vec<(&str, &str, usize)> = findings
        .iter()
        .filter_map(|finding| match &finding.kind {
            FindingKind::Rule { id, .. } => {
                Some((id.as_str(), finding.instances[0].instance.as_str(), finding.instances.len()))
            }
            _ => None,
        })
        .collect();
    ids.sort_unstable();
    assert_eq!(
        ids,
        [
            ("disk-slow-solid", "2 sde / /mnt", 2),
            ("file-system-errors", "sda", 1),
            ("memory-errors", "mc0", 1),
            ("memory-errors-uncorrected", "mc0", 1),
            ("nfs-errors", "/home", 1),
            ("smb-errors", "//box/all", 1),
            ("thermal-limit", "1 acpitz", 1),
            ("too-hot", "0 x86_pkg_temp", 2),
        ]
    );
}

#[test]
fn rules_about_the_growth_in_an_hour_look_at_the_whole_log() {
    let folder = Scratch::new();
    let (log, file) = (folder.join("hour.csv"), folder.join("own.toml"));
    let columns: Columns = vec![
        (r"\Process(grows)\Private Bytes", Box::new(|second, noise| 1e8 + 3e4 * second as f64 + 1e6 * noise)),
        (r"\Process(stays)\Private Bytes", Box::new(|_, noise| 1e8 + 1e6 * noise)),
    ];
    Machine { seed: 3, seconds: 1800 }.write(&log, columns);
    let rule = "[[rule]]\nid = 'grown'\ntitle = 'G'\nseverity = 'warning'\nper_hour = true\nmeans = 'M'\n\
        counters = { bytes = '\\Process(*)\\Private Bytes' }\nwhen = 'bytes > 100MB'\n";
    std::fs::write(&file, rule).unwrap();
    let mut rules = RuleSet::default();
    rules.add(&file).unwrap();
    let findings = found(&log, rules).findings;
    let grown = findings.iter().find(|finding| matches!(finding.kind, FindingKind::Rule { .. })).unwrap();
    let FindingKind::Rule { condition, .. } = &grown.kind else { panic!() };
    assert_eq!(condition, "bytes > 100MB (growth in an hour)");
    let evidence = &grown.instances[0];
    // 30,000 bytes a second are 108 MB an hour, in a log of half an hour.
    assert!((1.05e8..1.11e8).contains(&evidence.worst), "{evidence:?}");
    assert_eq!((grown.instances.len(), evidence.instance.as_str(), grown.share), (1, "grows", 1.0));
}

#[test]
fn the_growth_in_an_hour_of_few_records_is_that_between_them() {
    let folder = Scratch::new();
    let (log, file) = (folder.join("few.csv"), folder.join("own.toml"));
    let rule = "[[rule]]\nid = 'grown'\ntitle = 'G'\nseverity = 'warning'\nper_hour = true\nmeans = 'M'\n\
        counters = { bytes = '\\Process(*)\\Private Bytes' }\nwhen = 'bytes > 0'\n";
    std::fs::write(&file, rule).unwrap();
    let grown = |times: [&str; 3]| {
        let mut text = String::from("\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\box\\Process(a)\\Private Bytes\"\r\n");
        for (time, value) in times.into_iter().zip([1e6, 2e6, 3e6]) {
            write!(text, "\"11/21/2026 {time}.000\",\"{value}\"\r\n").unwrap();
        }
        std::fs::write(&log, text).unwrap();
        let mut rules = RuleSet::default();
        rules.add(&file).unwrap();
        found(&log, rules).findings.first().map(|finding| finding.instances[0].worst)
    };
    // Two megabytes in twenty minutes, and in two.
    assert!((grown(["10:00:00", "10:10:00", "10:20:00"]).unwrap() - 6e6).abs() < 1.0);
    assert!((grown(["10:00:00", "10:01:00", "10:02:00"]).unwrap() - 6e7).abs() < 1.0);
    // Two seconds say nothing about an hour.
    assert_eq!(grown(["10:00:00", "10:00:01", "10:00:02"]), None);
}

#[test]
fn counters_of_built_in_rules_exist_by_name() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    // The names of our own counters, and those of PAL for the products of Windows.
    let mut known = BTreeSet::new();
    for page in ["linux-counters.md", "dotnet-counters.md"] {
        let text = std::fs::read_to_string(docs.join(page)).unwrap();
        let mut object = String::new();
        for line in text.lines() {
            if let Some(heading) = line.strip_prefix("## ") {
                object = heading.split(" (").next().unwrap().trim_matches('`').to_lowercase();
            }
            for cell in line.split('|') {
                known.insert((object.clone(), cell.trim().trim_matches('`').to_lowercase()));
            }
        }
    }
    let folder = Scratch::new();
    let Some(files) = thresholds(&folder) else { return };
    for file in files {
        let text = String::from_utf8_lossy(&std::fs::read(file).unwrap()).replace("&gt;", ">");
        for path in text.split('"').filter(|text| text.starts_with('\\')) {
            let Ok(parsed) = CounterPath::parse(path) else { continue };
            let (object, counter) = (parsed.path.object.to_string(), parsed.path.counter.to_string());
            known.insert((object.to_lowercase(), counter.to_lowercase()));
        }
    }
    // Those of esxtop, which this page names.
    let text = std::fs::read_to_string(docs.join("../formats/import.md")).unwrap();
    let (_, section) = text.split_once("\n## esxtop\n").unwrap();
    for line in section.split("\n## ").next().unwrap().lines() {
        let [_, object, counters, _] = line.split('|').map(str::trim).collect::<Vec<_>>()[..] else {
            continue;
        };
        known.extend(counters.split(';').map(|name| (object.to_lowercase(), name.trim().to_lowercase())));
    }
    for rule in RuleSet::built_in().unwrap().rules {
        for (_, path) in &rule.counters {
            let names = (path.object.to_string().to_lowercase(), path.counter.to_string().to_lowercase());
            assert!(known.contains(&names), "{}: {path}", rule.id);
        }
    }
}

#[test]
fn one_moment_says_what_was_unusual_and_who_was_busy() {
    let folder = Scratch::new();
    let log = folder.join("why.csv");
    let columns: Columns = vec![
        (
            r"\Processor(_Total)\% Processor Time",
            Box::new(|second, noise| if second / 20 == 50 { 90.0 } else { 12.0 + noise }),
        ),
        (
            r"\Process(hog)\% Processor Time",
            Box::new(|second, noise| if second / 20 == 50 { 300.0 } else { 2.0 + noise }),
        ),
    ];
    Machine { seed: 9, seconds: 1800 }.write(&log, columns);
    let moment = |text: &str| {
        let time = parse_rfc3339(text).unwrap();
        why(std::slice::from_ref(&log), rules(), time, &Selection::default(), &ReadOptions::default())
            .unwrap()
    };
    let at = moment("2026-11-21T00:16:50Z").unwrap();
    assert_eq!(at.deviations[0].path, r"\\box\Processor(_Total)\% Processor Time");
    assert_eq!(at.busiest[0].1[0].instance, "hog");
    assert!(moment("2026-11-21T00:05:00Z").unwrap().deviations.is_empty());
    assert_eq!(moment("2026-11-21T09:00:00Z"), None);
}

#[test]
fn gaps_end_ranges_and_are_not_counted() {
    let folder = Scratch::new();
    let log = folder.join("gap.csv");
    let mut text =
        String::from("\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\box\\Processor(_Total)\\% Processor Time\"\r\n");
    for second in (0..60).chain(3000..3060) {
        write!(text, "\"11/21/2026 00:{:02}:{:02}.000\",\"99\"\r\n", second / 60, second % 60).unwrap();
    }
    std::fs::write(&log, text).unwrap();
    let findings = found(&log, rules()).findings;
    let evidence = &findings[0].instances[0];
    assert_eq!((evidence.ranges.len(), evidence.seconds), (2, 118.0), "{evidence:?}");
}

#[test]
fn damage_is_said_and_the_rest_analysed() {
    let Some(logs) = shared("logs") else { return };
    let folder = Scratch::new();
    let bytes = std::fs::read(logs.join("PAL_SampleLog.blg")).unwrap();
    let cut = folder.join("cut.blg");
    std::fs::write(&cut, &bytes[..bytes.len() * 2 / 3]).unwrap();
    let analysis = found(&cut, rules());
    assert!(analysis.records >= 5 && analysis.notes[0].1.damage_count > 0, "{:?}", analysis.notes);
}
