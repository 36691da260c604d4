//! What there is to see: `list`, `find`, `explain`, `doctor`.

use super::support::{AVAILABLE, PROCESSOR_TIME, has, has_object, tally, tally_with};
use unicode_width::UnicodeWidthStr;

/// The objects that every Linux has.
const EVERYWHERE: [&str; 3] = ["Memory", "Processor", "System"];

#[test]
fn list_names_the_objects() {
    let out = tally(&["list"]).data();
    let names: Vec<&str> = out.lines().map(|line| line.split("  ").next().unwrap()).collect();
    assert!(names.is_sorted(), "{out}");
    for object in EVERYWHERE {
        assert!(names.contains(&object), "{object} is not in {out}");
    }
    let rows = tally(&["list", "--json"]).json();
    assert_eq!(rows.as_array().unwrap().len(), names.len());
    for row in rows.as_array().unwrap() {
        assert!(row["index"].as_u64().is_some_and(|index| index > 0), "{row}");
        assert!(row["help"].as_str().is_some_and(|help| help.len() > 20), "{row}");
        assert!(row["counters"].as_u64().is_some_and(|counters| counters > 0), "{row}");
    }
}

#[test]
fn list_names_the_counters_of_an_object() {
    for object in ["Processor", "processor", "238", r"\Processor(*)", "프로세서", "プロセッサ"] {
        let out = tally(&["list", object]).data();
        let line = out.lines().next().unwrap();
        assert!(line.starts_with(r"\Processor(*)\% Processor Time"), "{object}: {out}");
        has(line, &[" 6 ", " % ", "PERF_100NSEC_TIMER_INV"]);
    }
    let rows = tally(&["list", "Memory", "--json", "--lang", "ja"]).json();
    let row = rows.as_array().unwrap().iter().find(|row| row["index"] == 1382).unwrap();
    assert_eq!(row["english"], "Available MBytes");
    assert_eq!(row["path"], AVAILABLE, "Windows has English names in Japanese");
    let rows = tally(&["list", "Memory", "--json", "--lang", "ja", "--names", "translated"]).json();
    let row = rows.as_array().unwrap().iter().find(|row| row["index"] == 1382).unwrap();
    assert!(row["path"].as_str().unwrap().starts_with(r"\メモリ\"), "{row}");
}

#[test]
fn get_accepts_every_listed_counter() {
    let objects = tally(&["list", "--json"]).json();
    for object in objects.as_array().unwrap() {
        let name = object["english"].as_str().unwrap();
        let counters = tally(&["list", name, "--json", "--lang", "ko"]).json();
        let paths = counters.as_array().unwrap().iter().map(|counter| counter["path"].as_str().unwrap());
        let arguments: Vec<&str> = ["get", "--json", "-i", "10ms"].into_iter().chain(paths).collect();
        let ran = tally(&arguments);
        // No value now is fine, an unknown path is not.
        assert!(!ran.err.contains("did you mean") && ran.code != Some(2), "{name}: {}", ran.err);
        let row: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        let values = row["values"].as_array().unwrap();
        for counter in counters.as_array().unwrap() {
            // An object may have no instances now, and then no path of it has a value.
            let there = values.iter().any(|value| value["counter"] == counter["index"]);
            assert!(there || values.is_empty(), "{counter} has no value in {row}");
        }
    }
}

#[test]
fn list_names_the_instances() {
    let out = tally(&["list", "Processor", "--instances"]).data();
    has(&out, &["\\Processor(0)\n", "\\Processor(_Total)\n"]);
    let rows = tally(&["list", "Processor", "--instances", "--json"]).json();
    assert_eq!(rows.as_array().unwrap().len(), out.lines().count());
    assert_eq!(rows[0]["name"], "0");
    has(&tally(&["list", "Memory", "--instances"]).words(2), &["Memory has no instances"]);
    has(&tally(&["list", "--instances"]).words(2), &["OBJECT"]);
    has(&tally(&["list", "Procesor"]).words(3), &[r#"did you mean "Processor""#]);
}

#[test]
fn this_process_is_an_instance() {
    if !has_object("Process") {
        return;
    }
    let out = tally(&["list", "Process", "--instances"]).data();
    has(&out, &["\\Process(tally", "\\Process(_Total)\n"]);
}

#[test]
fn columns_are_aligned_with_wide_letters() {
    for language in ["en", "ko", "ja", "ru"] {
        let out = tally(&["list", "--lang", language, "--names", "translated"]).data();
        // The word behind the number of counters begins in the same column of every line.
        let columns: Vec<usize> =
            out.lines().map(|line| line.split(" counters").next().unwrap().width()).collect();
        assert!(columns.windows(2).all(|pair| pair[0] == pair[1]), "{columns:?}\n{out}");
        // All names are of the language.
        let ascii = out
            .lines()
            .filter(|line| line.trim_start_matches('.').starts_with(|c: char| c.is_ascii_alphabetic()))
            .count();
        if language == "ko" || language == "ru" {
            // The names of .NET are names of .NET in every language.
            let is_dotnet = |line: &&str| line.starts_with(".NET CLR") || line.starts_with("System.Runtime");
            let own: Vec<&str> = out.lines().filter(|line| !is_dotnet(line)).collect();
            for english in EVERYWHERE {
                assert!(own.iter().all(|line| !line.contains(english)), "{out}");
            }
        } else if language == "en" {
            assert_eq!(ascii, out.lines().count());
        }
    }
}

#[test]
fn find_searches_every_language() {
    let out = tally(&["find", "프로세서", "시간"]).data();
    has(&out, &[r"\Processor(*)\% Processor Time"]);
    // The help text is in the language of the words.
    assert!(out.lines().nth(1).unwrap().contains("프로세서"), "{out}");
    has(&tally(&["find", "PROCESSOR", "time"]).data(), &[r"\Processor(*)\% Processor Time"]);
    has(&tally(&["find", "メモリ"]).data(), &[r"\Memory\"]);
    has(&tally(&["find", "памят"]).data(), &[r"\Память\"]);
    let rows = tally(&["find", "context", "switches", "--json"]).json();
    assert!(
        rows.as_array().unwrap().iter().any(|row| row["path"] == r"\System\Context Switches/sec"),
        "{rows}"
    );
    assert_eq!(rows[0]["language"], "009");
    has(&tally(&["find", "no", "such", "thing", "anywhere"]).words(3), &["no such thing anywhere"]);
    for nothing in [&["find", ""][..], &["find", " ", ""]] {
        has(&tally(nothing).words(2), &["no word to search for", "tally list"]);
    }
}

/// The first paths of `tally find`, without help texts.
fn found(words: &str) -> Vec<String> {
    let out = tally(&["find", words]).data();
    out.lines().filter(|line| line.starts_with('\\')).take(3).map(str::to_string).collect()
}

#[test]
fn everyday_words_find_the_counter_that_people_mean() {
    for (words, first) in [
        ("cpu", r"\Processor(*)\% Processor Time"),
        ("memory used", r"\Memory\% Committed Bytes In Use"),
        ("disk latency", r"\PhysicalDisk(*)\Avg. Disk sec/Transfer"),
        ("iops", r"\PhysicalDisk(*)\Disk Transfers/sec"),
        ("ram", r"\Memory\% Committed Bytes In Use"),
        ("load", r"\System Extended\Load Average 1 Minute"),
        ("swap", r"\Paging File(*)\% Usage"),
        ("packet loss", r"\Network Interface(*)\Packets Received Discarded"),
        ("temperature", r"\Thermal Zone Information(*)\Temperature"),
        ("processor", r"\Processor(*)\% Processor Time"),
    ] {
        assert_eq!(found(words)[0], first, "{words}");
    }
}

#[test]
fn words_instead_of_a_path_get_suggestions() {
    for (words, suggested) in [
        ("cpu", r#"did you mean "\Processor(*)\% Processor Time""#),
        ("Processor", r#"did you mean "\Processor(*)\% Processor Time""#),
        ("프로세서", r#"did you mean "\Processor(*)\% Processor Time""#),
        ("xyzzy", r#""xyzzy" is not a counter path"#),
    ] {
        has(&tally(&["get", words]).words(2), &[suggested]);
    }
}

#[test]
fn get_accepts_what_find_prints() {
    for word in ["страниц", "페이지", "ページ", "page"] {
        let rows = tally(&["find", word, "--json"]).json();
        let path = rows[0]["path"].as_str().unwrap();
        let ran = tally(&["get", path, "--json", "-i", "10ms"]);
        assert!(!ran.err.contains("did you mean") && !ran.out.is_empty(), "{path}: {}", ran.err);
    }
}

#[test]
fn explain_shows_the_formula_with_numbers() {
    let explained = tally(&["explain", PROCESSOR_TIME, "-i", "50ms", "--json"]).json();
    assert_eq!(explained["path"], PROCESSOR_TIME);
    assert_eq!(explained["index_path"], r"\238(_Total)\6");
    assert_eq!(explained["formula"], "100 * (1 - (N1 - N0) / (D1 - D0))");
    // The numbers give the value.
    let numbers: Vec<f64> = explained["numbers"]
        .as_str()
        .unwrap()
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect();
    let [_, _, n1, n0, d1, d0] = numbers[..] else { panic!("{explained}") };
    let expected = (100.0 * (1.0 - (n1 - n0) / (d1 - d0))).clamp(0.0, 100.0);
    let value = explained["value"].as_f64().unwrap();
    // Reading 18 digits as a floating-point number rounds them.
    assert!((value - expected).abs() < 0.01, "{value} is not {expected}");
}

#[test]
fn explain_uses_the_language_of_the_user() {
    let korean = ["explain", PROCESSOR_TIME, "-i", "20ms", "--lang", "ko", "--names", "translated"];
    let out = tally(&korean).data();
    has(&out, &[PROCESSOR_TIME, r"\프로세서(_Total)\% 프로세서 시간", r"\238(_Total)\6", "유휴"]);
    let out = tally(&["explain", AVAILABLE]).data();
    has(&out, &["type  PERF_COUNTER_LARGE_RAWCOUNT", "value  "]);
    assert!(!out.contains("in your language"), "{out}");
}

#[test]
fn explain_names_the_first_match_or_the_reason_for_none() {
    has(&tally(&["explain", r"\Processor(*)\% User Time", "-i", "20ms"]).data(), &["the first of "]);
    let ran = tally(&["explain", r"\Processor(none)\% User Time", "-i", "20ms"]);
    assert_eq!(ran.code, Some(3));
    has(&ran.out, &["value  none: no such instance (PDH_CSTATUS_NO_INSTANCE)"]);
    has(&tally(&["explain", r"\Processor(x*)\% User Time", "-i", "20ms"]).words(3), &["no instance matches"]);
}

#[test]
fn running_text_fits_80_columns() {
    for arguments in [
        &["explain", PROCESSOR_TIME, "-i", "20ms"][..],
        &["find", "processor"],
        &["find", "프로세서"],
        &["find", "プロセッサ"],
        &["doctor"],
        &["list", "--lang", "ko"],
        &["list", "--lang", "ru"],
    ] {
        for language in ["en", "ko", "ja", "ru"] {
            let out = tally_with(arguments, |command| {
                command.env("TALLY_LANG", language);
            });
            // The command of `doctor` is one line, so that it can be copied.
            for line in out.data().lines().filter(|line| !line.contains("setcap")) {
                assert!(line.width() <= 80, "{} columns in {arguments:?} {language}: {line}", line.width());
            }
        }
    }
}

#[test]
fn doctor_reports_problems_first_and_what_works_in_one_line() {
    let brief = tally(&["doctor"]).data();
    let good = brief.lines().position(|line| line.starts_with("ok  ")).unwrap();
    assert_eq!(good + 1, brief.lines().count(), "what works is not one line at the end: {brief}");
    has(&brief, &[" checks; 'tally doctor --verbose' lists them"]);
    assert!(brief.matches("setcap").count() <= 1, "{brief}");
    let mut remedies: Vec<&str> = brief.lines().filter(|line| line.contains("-> ")).collect();
    remedies.sort_unstable();
    assert!(remedies.windows(2).all(|pair| pair[0] != pair[1]), "a remedy is repeated: {brief}");
    let out = tally(&["doctor", "--verbose"]).data();
    assert!(out.starts_with(&brief.lines().take(1).filter(|_| good > 0).collect::<String>()), "{out}");
    has(&out, &["ok       kernel", "/proc/stat", "/proc/meminfo"]);
    let rows = tally(&["doctor", "--json"]).json();
    for row in rows.as_array().unwrap() {
        assert!(["ok", "limited", "missing"].contains(&row["state"].as_str().unwrap()), "{row}");
        // What does not work has a remedy.
        assert!(
            row["state"] == "ok" || row["remedy"].as_str().is_some_and(|remedy| !remedy.is_empty()),
            "{row}"
        );
    }
    has(&tally(&["doctor", "--file", "x"]).words(2), &["--file"]);
}

#[test]
fn help_has_examples_and_exit_codes() {
    let out = tally(&["--help"]).data();
    has(
        &out,
        &[
            "Examples:",
            "single quotes",
            "Exit codes:",
            "get",
            "watch",
            "list",
            "find",
            "explain",
            "dump",
            "doctor",
        ],
    );
    assert!(tally(&["--version"]).data().starts_with("tally "));
    has(&tally(&["gett"]).words(2), &["get"]);
}

#[test]
fn every_command_has_examples_and_global_options_under_a_heading() {
    let help = tally(&["--help"]).data();
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands =
        commands.take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next());
    let commands: Vec<&str> = commands.filter(|name| *name != "help").collect();
    assert!(commands.len() >= 20, "{commands:?}");
    for command in commands {
        let help = tally(&[command, "--help"]).data();
        let (options, examples) =
            help.split_once("\nExamples:\n").unwrap_or_else(|| panic!("{command}: {help}"));
        let lines = examples.lines().take_while(|line| line.starts_with("  tally "));
        assert_eq!(lines.clone().count(), 3, "{command}: {examples}");
        assert!(lines.map(str::len).all(|length| length <= 80), "{command}: {examples}");
        let (own, global) = options.split_once("\nGlobal options:\n").unwrap();
        has(global, &["--lang", "--file", "--tier", "--profile"]);
        assert!(!own.contains("--tier"), "{command}: {own}");
    }
}

#[test]
fn wrong_command_lines_name_what_was_probably_meant() {
    for (arguments, words) in [
        (&["gte"][..], "did you mean 'get'?"),
        (&["lsit"], "a similar subcommand exists: 'list'"),
        (&["log", "start", "x", r"\Memory\*"], r"counters are named with -c: -c '\Memory\*'"),
        (&["prof", "smple"], "a similar subcommand exists: 'sample'"),
        (&["--lang"], "en, ko, ja, ru"),
        (&["get", "--lang"], "en, ko, ja, ru"),
        (&["info", "-"], "a log cannot be read from standard input"),
        (&["stats", "-"], "a log cannot be read from standard input"),
        (&["mon", r"\Memory\*"], "the monitor needs a terminal"),
        (&["compat", "typeprf"], "choose one of typeperf, relog"),
    ] {
        has(&tally(arguments).words(2), &[words]);
    }
    for (program, words) in
        [("typeperf", "typeperf {"), ("perfmon", "perfmon [/sys]"), ("relog", "relog FILE")]
    {
        for option in ["/?", "-?"] {
            assert!(tally(&["compat", program, option]).data().starts_with(words), "{program} {option}");
        }
    }
}
