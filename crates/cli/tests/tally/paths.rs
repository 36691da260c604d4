//! Counter paths as people type them: mistyped, damaged by a shell, of another language.

use super::support::{AVAILABLE, Ran, has, tally, tally_with};

fn get(path: &str) -> Ran {
    tally(&["get", path, "-i", "20ms"])
}

fn host() -> String {
    let row = tally(&["get", AVAILABLE, "--json"]).json();
    row["host"].as_str().unwrap().to_string()
}

/// The line with the path and the marks under it, as they were printed.
#[track_caller]
fn marked(words: &str, path: &str, part: &str) {
    let at = path.find(part).unwrap();
    let column = path[..at].chars().count();
    let expected = format!("  {path}\n  {}{}\n", " ".repeat(column), "^".repeat(part.chars().count()));
    assert!(format!("{words}\n").contains(&expected), "expected\n{expected}in\n{words}");
}

#[test]
fn a_wrong_name_has_suggestions() {
    for (path, part, words) in [
        (
            r"\Procesor(_Total)\% Processor Time",
            "Procesor",
            r#"no object "Procesor"; did you mean "Processor""#,
        ),
        (r"\Memori\Available Bytes", "Memori", r#"no object "Memori"; did you mean "Memory""#),
        (
            r"\Processor(_Total)\% Procesor Time",
            "% Procesor Time",
            r#"no counter "% Procesor Time"; did you mean "% Processor Time""#,
        ),
        (r"\Memory\9999", "9999", r#"no counter "9999""#),
        (r"\9999\6", "9999", r#"no object "9999""#),
        // A backslash too many, not a lost one: the first part is an object.
        (
            r"\Memory\Available\Bytes",
            r"Available\Bytes",
            r#"no counter "Available\Bytes"; did you mean "Available"#,
        ),
    ] {
        let err = get(path).words(3);
        has(&err, &[words, "'tally list"]);
        marked(&err, path, part);
    }
}

#[test]
fn a_wrong_instance_has_suggestions() {
    let path = r"\Processor(_Totl)\% User Time";
    let ran = get(path);
    assert_eq!(ran.code, Some(3));
    has(&ran.err, &[path, r#"did you mean "_Total"?"#]);
    // The reason is printed once: in the table.
    has(&ran.out, &[path, "no such instance"]);
    assert!(!ran.err.contains("no such instance"), "{}", ran.err);
    // A pattern that nothing matches is not found either.
    let err = get(r"\Processor(x*)\% User Time").words(3);
    has(&err, &["no such instance"]);
}

#[test]
fn a_syntax_error_in_a_path_is_marked() {
    for (path, part) in [
        ("Processor(_Total", "(_Total"),
        (r"\Processor(0)\% User Time)(", "(0)"),
        (r"\Memory(x)\Available Bytes", "(x)"),
        (r"\Processor\% User Time", "Processor"),
    ] {
        let ran = get(path);
        if path.contains(")(") {
            // The counter may contain anything, so only its name is unknown.
            assert_eq!(ran.code, Some(3), "{}", ran.err);
            continue;
        }
        marked(&ran.words(2), path, part);
    }
    for path in ["", r"\", r"\\", r"\Memory", r"\Processor(0)\", r"\\h\", "/", "(", ")"] {
        has(&get(path).words(2), &["tally: ", "^"]);
    }
}

#[test]
fn another_host_can_not_be_reached_from_here() {
    let path = r"\\elsewhere\Memory\Available MBytes";
    let err = get(path).words(6);
    marked(&err, path, "elsewhere");
    has(&err, &[&host()]);
    // A short name is looked for where it stands, not inside the counter.
    let path = r"\\m\Memory\Available MBytes";
    marked(&get(path).words(6), path, "m");
}

#[test]
fn this_host_may_be_named() {
    let host = host();
    for path in [
        format!(r"\\{host}\Memory\Available MBytes"),
        format!(r"\\{}\Memory\Available MBytes", host.to_uppercase()),
        r"\\.\Memory\Available MBytes".to_string(),
        r"\\localhost\Memory\Available MBytes".to_string(),
        "//./Memory/Available MBytes".to_string(),
        format!("//{host}/Memory/Available MBytes"),
    ] {
        assert!(get(&path).data().starts_with(AVAILABLE), "{path}");
    }
}

#[test]
fn a_lost_backslash_is_repaired_and_reported() {
    let host = host();
    for path in [format!(r"\{host}\Memory\Available MBytes"), format!(r"{host}\Memory\Available MBytes")] {
        let ran = get(&path);
        assert_eq!(ran.code, Some(0), "{path}: {}", ran.err);
        assert!(ran.out.starts_with(AVAILABLE), "{}", ran.out);
        has(&ran.err, &[&path, "the shell took a backslash away", "single quotes"]);
    }
}

#[test]
fn every_spelling_is_the_same_counter() {
    let expected = r"\Processor(_Total)\% Processor Time";
    for path in [
        r"\238(_Total)\6",
        r"\Processor(_Total)\6",
        r"\238(_Total)\% Processor Time",
        "/Processor(_Total)/% Processor Time",
        r"Processor(_Total)\% Processor Time",
        r"\PROCESSOR(_total)\% processor TIME",
        r"\프로세서(_Total)\% 프로세서 시간",
        r"\プロセッサ(_Total)\% プロセッサ時間",
        r"\Процессор(_Total)\% Processor Time",
        // Each part may be of another language.
        r"\프로세서(_Total)\% プロセッサ時間",
        "//./프로세서(_Total)/% 프로세서 시간",
    ] {
        let row = tally(&["get", path, "-i", "20ms", "--json"]).json();
        assert_eq!(row["values"][0]["path"], expected, "{path}");
    }
    // A counter with a slash in it, in the form with slashes.
    let row = tally(&["get", "/System/Context Switches/sec", "-i", "20ms", "--json"]).json();
    assert_eq!(row["values"][0]["path"], r"\System\Context Switches/sec");
}

#[test]
fn russian_names_are_those_that_list_prints() {
    let counters = tally(&["list", "Memory", "--json", "--lang", "ru"]).json();
    let available = counters.as_array().unwrap().iter().find(|counter| counter["index"] == 1382).unwrap();
    let path = available["path"].as_str().unwrap();
    assert!(path.starts_with(r"\Память\"), "{path}");
    let row = tally(&["get", path, "--json"]).json();
    assert_eq!(row["values"][0]["path"], AVAILABLE);
}

#[test]
fn suggestions_are_in_the_language_of_the_question() {
    let path = r"\프로세서(0)\% 프로세서 시칸";
    let err = get(path).words(3);
    has(&err, &[r#"did you mean "% 프로세서 시간""#]);
    // Wide letters take two columns, and so do the marks under them.
    let marks = err.lines().nth(2).unwrap();
    assert_eq!(marks, format!("  {}{}", " ".repeat(13), "^".repeat(15)));
}

#[test]
fn a_table_is_in_the_language_of_the_user() {
    let path = r"\Processor(_Total)\% User Time";
    let local = r"\프로세서(_Total)\% 사용자 시간";
    assert!(
        tally(&["get", path, "-i", "20ms", "--lang", "ko", "--names", "translated"])
            .data()
            .starts_with(local)
    );
    let ran = tally_with(&["get", path, "-i", "20ms"], |command| {
        command.env("TALLY_NAMES", "translated").env("LANG", "ko_KR.UTF-8");
    });
    assert!(ran.data().starts_with(local));
    // What programs read is in English everywhere.
    for form in ["--csv", "--tsv"] {
        has(&tally(&["get", path, "-i", "20ms", "--lang", "ko", form]).data(), &[path]);
    }
    let row = tally(&["get", path, "-i", "20ms", "--lang", "ko", "--json"]).json();
    assert_eq!(row["values"][0]["path"], path);
}

#[test]
fn control_characters_are_not_printed() {
    let err = get("\\Mem\u{1b}[2Jory\\x").words(3);
    assert!(!err.contains('\u{1b}'), "{err:?}");
}

#[test]
fn one_bad_path_hides_no_good_one() {
    for command in [&["get"][..], &["watch", "-c", "1", "-i", "10ms"]] {
        let ran = tally(&[command, &[AVAILABLE, r"\Nope\x", "cpu"]].concat());
        assert_eq!(ran.code, Some(3), "{}", ran.err);
        has(&ran.out, &[AVAILABLE]);
        has(&ran.err, &[r#"no object "Nope""#, r#""cpu" is not a counter path"#]);
        // Without any good path every bad one is reported.
        let ran = tally(&[command, &[r"\Nope\x", r"\Nada\x"]].concat());
        assert_eq!((ran.code, ran.out.as_str()), (Some(3), ""), "{}", ran.err);
        has(&ran.err, &[r#"no object "Nope""#, r#"no object "Nada""#]);
    }
}

/// A user who may not read the I/O of all processes gets the sum of the others, with what it lacks.
#[cfg(target_os = "linux")]
#[test]
fn a_sum_says_how_many_processes_were_refused() {
    let path = r"\Process(_Total)\IO Read Bytes/sec";
    let as_user = |command: &str, options: &[&str]| {
        let ran = tally_with(&[&[command, path, "-i", "20ms"], options].concat(), |command| {
            if rustix::process::geteuid().is_root() {
                std::os::unix::process::CommandExt::uid(command, 65534);
            }
        });
        assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
        (ran.out, ran.err)
    };
    let (table, _) = as_user("get", &[]);
    let (_, words) = table.split_once("  (partial sum: ").expect(&table);
    assert!(words.trim_end().ends_with(" refused)"), "{table}");
    let (json, words) = as_user("get", &["--json"]);
    let row: serde_json::Value = serde_json::from_str(&json).unwrap();
    let value = &row["values"][0];
    assert!(value["value"].is_number() && value["first"].is_string(), "{json}");
    let sum = tallymon::core::flow::PartialSum::from_words(value["partial"].as_str().unwrap()).unwrap();
    assert!(sum.missing < sum.whole && sum.reason == tallymon::core::flow::Absence::AccessDenied, "{sum}");
    assert!(words.contains(&format!("partial sum: {sum}")), "{words}");
    // What is recorded keeps it, and every command that reads the log shows it.
    let folder = tallymon_testkit::Scratch::new();
    let [source, log] =
        ["partial.json", "partial.tally"].map(|name| folder.join(name).to_string_lossy().into_owned());
    std::fs::write(&source, as_user("watch", &["-c", "2", "--json"]).0).unwrap();
    let out = |arguments: &[&str]| {
        let ran = tally(arguments);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran.out
    };
    out(&["relog", &source, "-o", &log]);
    for command in ["get", "watch"] {
        let shown = out(&[command, path, "--log", &log]);
        assert!(shown.contains("  (partial sum: ") && shown.contains(" refused)"), "{shown}");
    }
    let again: serde_json::Value =
        serde_json::from_str(&out(&["get", path, "--json", "--log", &log])).unwrap();
    assert!(again["values"][0]["partial"].as_str().unwrap().ends_with(" refused"), "{again}");
}
