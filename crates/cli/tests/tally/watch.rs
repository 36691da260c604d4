//! `tally watch`: rows until a count, a signal, or a reader that has had enough.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::support::{AVAILABLE, PROCESSOR_TIME, TALLY, clean, has, signal, start, tally};

#[test]
fn a_count_ends_it() {
    let out =
        tally(&["watch", AVAILABLE, PROCESSOR_TIME, "--interval", "20ms", "--count", "3", "--csv"]).data();
    let lines: Vec<&str> = out.split_terminator("\r\n").collect();
    assert_eq!(lines.len(), 4, "{out}");
    assert!(lines[0].starts_with("\"(PDH-CSV 4.0) ("), "{out}");
    let times: Vec<&str> = lines[1..].iter().map(|line| line.split(',').next().unwrap()).collect();
    assert!(times.is_sorted() && times[0] != times[2], "{times:?}");
}

#[test]
fn every_form_has_a_row_a_sample() {
    let run = |form: &[&str]| tally(&[&["watch", AVAILABLE, "-i", "20ms", "-c", "2"], form].concat()).data();
    assert_eq!(run(&["--plain"]).lines().count(), 2);
    for line in run(&["--json"]).lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(row["values"][0]["path"], AVAILABLE);
    }
    assert_eq!(run(&["--tsv"]).split_terminator("\r\n").count(), 3);
    // Time and value, a blank line, time and value.
    let table = run(&[]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 5, "{table}");
    assert!(
        lines[1].starts_with(AVAILABLE) && lines[2].is_empty() && lines[4].starts_with(AVAILABLE),
        "{table}"
    );
}

#[test]
fn a_path_without_a_value_is_said_once() {
    let missing = r"\Processor(none yet)\% User Time";
    let ran = tally(&["watch", missing, AVAILABLE, "-i", "20ms", "-c", "3", "--plain"]);
    // It may have a value later, so it is no failure.
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.err.matches("no such instance").count(), 1, "{}", ran.err);
    assert_eq!(ran.out.lines().count(), 6);
}

#[test]
fn signals_end_it_well() {
    for name in ["INT", "TERM"] {
        let mut child = start(&["watch", AVAILABLE, "-i", "50ms", "--plain"]);
        let mut out = BufReader::new(child.stdout.take().unwrap());
        // It is at work when its first row is there.
        assert!(out.read_line(&mut String::new()).unwrap() > 0);
        signal(&child, name);
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!((child.wait().unwrap().code(), err.as_str()), (Some(0), ""), "SIG{name}");
        assert!(rest.is_empty() || rest.ends_with('\n'), "half a row: {rest:?}");
    }
}

#[test]
fn a_signal_does_not_wait_for_the_interval() {
    let mut child = start(&["watch", AVAILABLE, "-i", "1h", "--plain"]);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    assert!(out.read_line(&mut String::new()).unwrap() > 0);
    let begin = Instant::now();
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(begin.elapsed() < Duration::from_secs(1800));
}

#[test]
fn a_reader_that_goes_away_ends_it_well() {
    let mut child = start(&["watch", AVAILABLE, "-i", "20ms", "--plain"]);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    assert!(out.read_line(&mut String::new()).unwrap() > 0);
    drop(out);
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!((child.wait().unwrap().code(), err.as_str()), (Some(0), ""));
}

#[test]
fn head_takes_the_first_line_of_everything() {
    for arguments in [
        "list Memory",
        "find time",
        "dump",
        "dump 'Help 012'",
        "explain '\\Memory\\Available MBytes'",
        "get '\\Memory\\*' -i 20ms",
        "watch '\\Memory\\*' -i 20ms",
        "doctor",
        "--help",
    ] {
        let script = format!("{{ '{TALLY}' {arguments}; echo \"ended with $?\" >&2; }} | head -1");
        let output = clean("sh").args(["-c", &script]).stderr(Stdio::piped()).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(err, "ended with 0\n", "{arguments}");
        assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 1, "{arguments}");
    }
}

#[test]
fn nobody_has_to_read_the_words() {
    // Standard error is a pipe whose reader is gone, or a full disk: the exit code is still that of the
    // failure.
    for (redirection, needs) in [("2>&1 >/dev/null | exec true", ""), ("2>/dev/full", "/dev/full")] {
        if !needs.is_empty() && !std::path::Path::new(needs).exists() {
            tallymon_testkit::skip(&format!("{needs} is not there"));
            continue;
        }
        let folder = super::support::Folder::new();
        let file = folder.file("code");
        let script =
            format!("{{ sleep 0.2; '{TALLY}' get '\\x\\y'; echo $? >'{file}'; }} {redirection}; sleep 0.3");
        assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
        assert_eq!(std::fs::read_to_string(file).unwrap(), "3\n", "{redirection}");
    }
}

#[test]
fn a_full_disk_is_said() {
    if !std::path::Path::new("/dev/full").exists() {
        tallymon_testkit::skip("/dev/full is not there");
        return;
    }
    let script = format!("'{TALLY}' get '{AVAILABLE}' >/dev/full");
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    has(&String::from_utf8(output.stderr).unwrap(), &["writing the output"]);
}

#[test]
fn wrong_times_and_counts_are_refused() {
    for (option, value) in [("--interval", "soon"), ("--interval", "1ms"), ("--count", "0"), ("--count", "x")]
    {
        let err = tally(&["watch", AVAILABLE, option, value]).words(2);
        has(&err, &[option]);
    }
    has(&tally(&["watch"]).words(2), &["PATH"]);
}

/// Processes of a saved log, which never change.
fn sample_log() -> Option<String> {
    Some(tallymon_testkit::shared("logs/PAL_SampleLog.blg")?.to_str().unwrap().to_string())
}

#[test]
fn lines_have_their_numbers_below_their_titles() {
    let paths = [PROCESSOR_TIME, AVAILABLE];
    let out = tally(&[&["watch", "-i", "20ms", "-c", "3", "--human"], &paths[..]].concat()).data();
    let lines: Vec<&str> = out.lines().collect();
    // The day, a blank line, two lines of titles, three samples.
    let [_, "", above, titles, samples @ ..] = lines.as_slice() else { panic!("{out}") };
    assert!(titles.starts_with("TIME"), "{out}");
    has(above, &["_Total", "Memory"]);
    has(titles, &["% Processor Time", "Available MBytes"]);
    assert_eq!(samples.len(), 3, "{out}");
    for sample in samples {
        assert_eq!(sample.len(), titles.len(), "{out}");
        assert!(sample.contains(" %") && sample.ends_with("iB"), "{out}");
    }
}

#[test]
fn the_largest_instances_come_first() {
    let Some(log) = sample_log() else { return };
    let path = r"\Process(*)\Working Set";
    let all = tally(&["watch", "--log", &log, "--json", path]);
    let Some(last) = all.out.lines().last() else { panic!("{}", all.err) };
    let last: serde_json::Value = serde_json::from_str(last).unwrap();
    let values = last["values"].as_array().unwrap();
    let number = |value: &serde_json::Value| value["value"].as_f64();
    let of_instances = values.iter().filter(|value| !value["path"].as_str().unwrap().contains("_Total"));
    let largest = of_instances.filter_map(number).fold(f64::NEG_INFINITY, f64::max);
    let out = tally(&["watch", "--log", &log, "--top", "1", path]).out;
    let line = out.lines().last().unwrap();
    assert!(line.contains(&format!(" {largest:.0} ")), "no {largest} in {line}");
    // A heading for each record.
    assert_eq!(out.matches("INSTANCE").count(), 11, "{out}");
}

#[test]
fn a_pipe_gets_what_it_always_got() {
    let Some(log) = sample_log() else { return };
    let path = r"\Memory\Available MBytes";
    let out = tally(&["watch", "--log", &log, path]).data();
    let lines: Vec<&str> = out.lines().collect();
    // Time, value, blank line.
    assert_eq!(lines.len(), 11 * 3 - 1, "{out}");
    assert!(
        lines.iter().skip(1).step_by(3).all(|line| line.to_lowercase().contains("available mbytes  ")),
        "{out}"
    );
    for option in ["--top=3", "--human"] {
        assert_eq!(tally(&["watch", path, "--csv", option]).code, Some(2));
    }
    assert_eq!(tally(&["watch", path, "--top", "0"]).code, Some(2));
}

#[test]
fn a_terminal_gets_a_line_a_sample_and_the_heading_again() {
    use tallymon_testkit::terminal::Terminal;
    let Some(terminal) = Terminal::open() else { return };
    terminal.tmux(&["resize-window", "-x", "80", "-y", "12"]);
    terminal.line("unset LANG LC_ALL LC_MESSAGES TALLY_LANG NO_COLOR COLORTERM; clear");
    // More samples than lines, so that a second heading is on the screen.
    terminal.line(&format!("'{TALLY}' watch '{AVAILABLE}' '{PROCESSOR_TIME}' -i 20ms -c 14"));
    let is_sample = |line: &&str| line.len() > 40 && line.as_bytes().get(2) == Some(&b':');
    let screen = terminal.wait("the end", |screen| {
        screen
            .lines()
            .rev()
            .find(|line| !line.trim().is_empty())
            .is_some_and(|line| line.starts_with("ready>"))
            && screen.lines().filter(is_sample).count() > 4
    });
    has(&screen, &["TIME", "% Processor Time"]);
    // Values that do not fit side by side, and the instances that do not fit below each other.
    terminal.line("clear");
    terminal.line(&format!("'{TALLY}' watch '\\Process(*)\\Working Set' -i 20ms -c 1 --human"));
    let screen = terminal.wait("the processes", |screen| screen.contains("more; --top N"));
    has(&screen, &["Working Set  INSTANCE", "iB"]);
}
