//! The forms of an output: table, CSV, TSV, JSON, values only.

use super::support::{AVAILABLE, Folder, PROCESSOR_TIME, has, tally, tally_with};

/// Splits what a CSV or TSV holds and checks its shape byte by byte; the rows as their fields without
/// quotation marks.
#[track_caller]
fn fields(text: &str, separator: char) -> Vec<Vec<String>> {
    let lines: Vec<&str> = text.split("\r\n").collect();
    let (last, rows) = lines.split_last().unwrap();
    assert_eq!(*last, "", "the text does not end with a line end: {text:?}");
    let rows = rows.iter().map(|row| {
        assert!(!row.contains(['\r', '\n']), "a line end that is not CR LF: {row:?}");
        // Every field stands between quotation marks, so this is where they meet.
        let inside = row.strip_prefix('"').and_then(|row| row.strip_suffix('"')).unwrap();
        inside.split(&format!("\"{separator}\"")).map(str::to_string).collect()
    });
    rows.collect()
}

/// Whether a text is `MM/DD/YYYY HH:MM:SS.mmm`.
fn is_time(text: &str) -> bool {
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
    shape == "99/99/9999 99:99:99.999"
}

/// Whether a text is a number as `%.17g` writes it: no blank, no needless zero at the end.
fn is_number(text: &str) -> bool {
    let plain = !text.contains('e');
    text.parse::<f64>().is_ok()
        && !(plain && text.contains('.') && (text.ends_with('0') || text.ends_with('.')))
}

#[test]
fn csv_is_what_windows_writes() {
    for (option, kind, separator) in [("--csv", "CSV", ','), ("--tsv", "TSV", '\t')] {
        let out = tally_with(&["get", AVAILABLE, PROCESSOR_TIME, "-i", "20ms", option], |command| {
            command.env("TZ", "Asia/Seoul");
        });
        let rows = fields(&out.data(), separator);
        assert_eq!(rows.len(), 2, "{rows:?}");
        let (header, row) = (&rows[0], &rows[1]);
        assert_eq!(header[0], format!("(PDH-{kind} 4.0) (KST)(-540)"));
        assert_eq!(header.len(), 3);
        assert_eq!(row.len(), 3);
        let host = header[1].strip_suffix(AVAILABLE).unwrap();
        assert!(host.starts_with(r"\\") && host.len() > 2 && !host[2..].contains('\\'), "{host}");
        assert_eq!(header[2], format!("{host}{PROCESSOR_TIME}"));
        assert!(is_time(&row[0]), "{row:?}");
        assert!(row[1].parse::<u64>().unwrap() > 0 && is_number(&row[2]), "{row:?}");
    }
}

#[test]
fn a_zone_west_of_greenwich_has_a_positive_bias() {
    let out = tally_with(&["get", AVAILABLE, "--csv"], |command| {
        command.env("TZ", "America/Phoenix");
    });
    has(&out.data(), &["\"(PDH-CSV 4.0) (MST)(420)\",\""]);
}

#[test]
fn a_missing_value_is_a_blank_in_csv_and_an_empty_line_in_plain() {
    let missing = r"\Processor(no such one)\% Processor Time";
    let ran = tally(&["get", AVAILABLE, missing, "-i", "20ms", "--csv"]);
    assert_eq!(ran.code, Some(3));
    let rows = fields(&ran.out, ',');
    assert!(rows[0][2].ends_with(missing), "{rows:?}");
    assert_eq!(rows[1][2], " ");
    has(&ran.err, &[missing, "no such instance"]);

    let ran = tally(&["get", AVAILABLE, missing, "-i", "20ms", "--plain"]);
    assert_eq!(ran.code, Some(3));
    let lines: Vec<&str> = ran.out.lines().collect();
    assert!(lines.len() == 2 && lines[0].parse::<u64>().is_ok() && lines[1].is_empty(), "{lines:?}");
}

#[test]
fn a_wildcard_becomes_one_column_per_instance() {
    let rows = fields(&tally(&["get", r"\Processor(*)\% User Time", "-i", "20ms", "--csv"]).data(), ',');
    let columns = &rows[0][1..];
    assert!(columns.len() >= 2, "{rows:?}");
    assert!(columns.iter().any(|column| column.ends_with(r"\Processor(0)\% User Time")), "{rows:?}");
    assert!(columns.iter().any(|column| column.ends_with(r"\Processor(_Total)\% User Time")), "{rows:?}");
    assert_eq!(rows[1].len(), rows[0].len());
}

#[test]
fn json_has_the_value_and_its_raw_numbers() {
    let row = tally(&["get", AVAILABLE, PROCESSOR_TIME, "-i", "20ms", "--json"]).json();
    let time = row["time"].as_str().unwrap();
    // Milliseconds, and 100 ns where the time has them.
    assert!([24, 28].contains(&time.len()) && time.ends_with('Z'), "{time}");
    assert!(!row["host"].as_str().unwrap().is_empty());
    let values = row["values"].as_array().unwrap();
    assert_eq!(values.len(), 2);
    let (memory, processor) = (&values[0], &values[1]);
    assert_eq!(memory["path"], AVAILABLE);
    assert_eq!((&memory["object"], &memory["counter"]), (&4.into(), &1382.into()));
    assert!(memory["value"].is_u64() && memory.get("instance").is_none(), "{memory}");
    // The raw value of a count is the count.
    assert_eq!(memory["first"].as_str().unwrap(), memory["value"].to_string());
    assert_eq!(processor["path"], PROCESSOR_TIME);
    assert_eq!(processor["instance"], "_Total");
    assert_eq!((&processor["unit"], &processor["type"]), (&"%".into(), &"PERF_100NSEC_TIMER_INV".into()));
    let value = processor["value"].as_f64().unwrap();
    assert!((0.0..=100.0).contains(&value), "{value}");
    assert!(processor["second"].as_str().unwrap().parse::<u64>().unwrap() > 0);
}

#[test]
fn json_has_the_reason_for_a_missing_value() {
    let ran = tally(&["get", r"\Processor(none)\% User Time", "-i", "20ms", "--json"]);
    assert_eq!(ran.code, Some(3));
    let row: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let value = &row["values"][0];
    assert!(value["value"].is_null());
    assert_eq!(value["status"], "PDH_CSTATUS_NO_INSTANCE");
    assert_eq!(value["reason"], "no such instance");
}

#[test]
fn plain_prints_one_value_per_line() {
    let out = tally(&["get", AVAILABLE, PROCESSOR_TIME, "-i", "20ms", "--plain"]).data();
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(lines.iter().all(|line| is_number(line)), "{lines:?}");
}

#[test]
fn a_table_has_aligned_columns() {
    let out = tally(&["get", AVAILABLE, PROCESSOR_TIME, "-i", "20ms"]).data();
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with(AVAILABLE) && lines[1].starts_with(PROCESSOR_TIME), "{out}");
    assert!(lines[1].ends_with(" %"), "{out}");
    // The numbers end in the same column.
    assert_eq!(lines[0].len(), lines[1].len() - " %".len(), "{out}");
}

#[test]
fn only_one_form_at_a_time() {
    has(&tally(&["get", AVAILABLE, "--csv", "--json"]).words(2), &["--csv", "--json"]);
}

#[test]
fn without_a_terminal_there_is_one_report() {
    let out = tally(&[]).data();
    has(&out, &[PROCESSOR_TIME, AVAILABLE, r"\System\Processes"]);
    let first = out.lines().next().unwrap();
    let shape: String = first.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
    assert_eq!(shape, "9999-99-99 99:99:99.999");
}

/// What `watch --json` printed is a log for every command, and gives the same text as the same rows recorded.
#[test]
fn json_is_read_back_by_every_command() {
    let folder = Folder::new();
    let log = folder.file("watch.jsonl");
    let paths = [AVAILABLE, PROCESSOR_TIME, r"\System\Threads", r"\Processor(*)\% User Time"];
    let mut arguments = vec!["watch", "--json", "-i", "50ms", "--count", "4"];
    arguments.extend(paths);
    let printed = tally_with(&arguments, |command| {
        command.env("TZ", "Asia/Seoul");
    })
    .data();
    std::fs::write(&log, &printed).unwrap();
    let rows: Vec<serde_json::Value> =
        printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&rows[0]["zone"], &rows[0]["bias"]), (&"KST".into(), &serde_json::json!(-540)));

    // The values of every row but the first, which has only first samples, are those that were printed.
    let csv = tally(&["relog", &log, "-f", "csv"]).out;
    let found = fields(&csv, ',');
    assert_eq!((found.len(), found[0][0].as_str()), (1 + rows.len(), "(PDH-CSV 4.0) (KST)(-540)"));
    for (row, line) in rows.iter().zip(&found[1..]).skip(1) {
        for (value, text) in row["values"].as_array().unwrap().iter().zip(&line[1..]) {
            let number: f64 = text.parse().unwrap();
            assert!((number - value["value"].as_f64().unwrap()).abs() < 1e-9, "{value} {text}");
        }
    }
    // A copy is the same log, and a copy in another format gives the same text.
    for ending in ["json", "tally", "sqlite", "blg"] {
        let copy = folder.file(&format!("copy.{ending}"));
        tally(&["relog", &log, "-o", &copy]);
        assert_eq!(tally(&["relog", &copy, "-f", "csv"]).out, csv, "{ending}");
    }
    for (arguments, words) in [
        (&["info", &log][..], "records  4"),
        (&["stats", &log], "Threads"),
        (&["get", r"\System\Threads", "--log", &log], "Threads"),
        (&["watch", "--log", &log, r"\System\Threads"], "Threads"),
        (&["list", "--log", &log, "Processor"], "% User Time"),
        (&["explain", r"\System\Threads", "--log", &log], "Threads"),
        (&["compare", &log, &log], "% User Time"),
        (&["analyze", &log], "4 records"),
    ] {
        let ran = tally(arguments);
        assert!(ran.out.contains(words) && ran.code == Some(0), "{arguments:?}: {} {}", ran.out, ran.err);
    }
}
