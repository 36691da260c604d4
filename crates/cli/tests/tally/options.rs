//! Every option of `typeperf`, `relog` and `tally relog`, each with what it changes.

use std::fs;

use serde_json::Value as Json;
use tallymon_testkit::shared;

use crate::support::{Folder, TALLY, clean, has, ran, tally};
use crate::tables::python;

/// Runs a program of Windows in a folder and puts together whatever there is to see of it: its exit code,
/// both outputs, and the file `out`, of a log what `info` says of it.
fn seen(folder: &Folder, program: &str, line: &[&str]) -> String {
    let mut command = clean(TALLY);
    command.args(["compat", program]).args(line).current_dir(folder.path()).env("TZ", "UTC");
    let ran = ran(command.output().unwrap());
    let mut text = format!("code {}\n{}{}", ran.code.unwrap(), ran.out, ran.err);
    if let Ok(bytes) = fs::read(folder.path().join("out")) {
        text += &tally(&["info", "--json", "--columns", &folder.file("out")]).out;
        // Of a binary log that is enough.
        text += std::str::from_utf8(&bytes).unwrap_or_default();
    }
    text
}

#[test]
fn every_option_of_typeperf() {
    let rows = tally(&["watch", r"\Memory\Available MBytes", "--csv", "-c", "1", "-i", "0.1"]).data();
    let host = rows.split(r"\\").nth(1).unwrap().split('\\').next().unwrap();
    let (own, bare) = (format!(r#"\\{host}\Memory\Available MBytes""#), r"\Memory\Available MBytes");
    for (line, wanted) in [
        // Without options: text on the terminal, without a zone.
        (
            &["-sc", "1", "-si", "0.1", bare][..],
            &["code 0", "\"(PDH-CSV 4.0)\",\"", &own, "Exiting, please wait..."][..],
        ),
        (&["-cf", "list", "-sc", "1", "-si", "0.1"], &["code 0", r"\Memory\Committed Bytes"]),
        (&["-cf", "none"], &["code 3", "none"]),
        (&["-q", "Memory"], &["code 0\n", "\\Memory\\Available MBytes\n", "completed successfully"]),
        (&["-q"], &["code 0\n", "\\Processor(*)\\% Idle Time\n", "\\Memory\\Available MBytes\n"]),
        (
            &["-qx", "Processor"],
            &["code 0\n", "\\Processor(0)\\% Idle Time\n", "\\Processor(_Total)\\% Idle Time\n"],
        ),
        (&["-q", "Nothing"], &["code 3", "Nothing"]),
        (
            &["-q", "Memory", "-o", "out"],
            &["code 0\nThe command completed successfully.\n", "\\Memory\\Available MBytes\n"],
        ),
        (
            &["-f", "CSV", "-sc", "2", "-si", "0.1", "-o", "out", bare],
            &["code 0", r#""format":"csv""#, r#""records":2"#],
        ),
        (
            &["-f", "tsv", "-sc", "2", "-si", "0.1", "-o", "out", bare],
            &["code 0", r#""format":"tsv""#, "(PDH-TSV 4.0)"],
        ),
        (
            &["-f", "BIN", "-sc", "2", "-si", "0.1", "-o", "out", bare],
            &["code 0", r#""format":"blg""#, r#""records":2"#],
        ),
        (&["-f", "SQL", "-sc", "1", "-si", "0.1", "-o", "out", bare], &["code 0", r#""format":"sqlite""#]),
        (&["-f", "BIN", bare], &["code 2", "-f BIN: say with -o into which file"]),
        (
            &["-f", "SQL", "-o", "SQL:Perf!set", bare],
            &["code 2", "SQL:Perf!set: no data source of ODBC", "SQLite"],
        ),
        (&["-f", "XLS", bare], &["code 2", "-f XLS: no such format; there are CSV, TSV, BIN and SQL"]),
        (&["-si", "00:00:01", "-sc", "1", bare], &["code 0", &own]),
        (&["-si", "soon", bare], &["code 2", "-si: ", "soon"]),
        (&["-sc", "3", "-si", "0.1", "-o", "out", bare], &["code 0", r#""records":3"#]),
        (&["-sc", "none", bare], &["code 2", "-sc: \"none\" is not a number of samples"]),
        (&["-config", "settings"], &["code 0", r#""format":"tsv""#, r#""records":2"#]),
        (&["-s", host, "-sc", "1", "-si", "0.1", bare], &["code 0", &own]),
        (&["-s", "ELSEWHERE", "-sc", "1", bare], &["Error: No valid counters.", "ELSEWHERE"]),
        (&["-sc", "1", "-o", "there", bare], &["code 1", "there exists already; -y replaces it"]),
        (&["-sc", "1", "-si", "0.1", "-o", "there", "-y", bare], &["code 0", "completed successfully"]),
        (&["-?"], &["code 0\ntypeperf {"]),
        (&["-zz", bare], &["code 2", "no option \"-zz\"", "-?"]),
        (&[], &["code 2", "no counter to watch"]),
        (&[r"\No\Such"], &["code 3", "Error: No valid counters."]),
    ] {
        let folder = Folder::new();
        folder.write("list", b"\\Memory\\Committed Bytes\r\n");
        folder.write("there", b"something\n");
        folder.write("settings", b"[cf]\nlist\n[f]\nTSV\n[sc]\n2\n[si]\n0.1\n[o]\nout\n");
        has(&format!("{line:?}\n{}", seen(&folder, "typeperf", line)), wanted);
    }
}

#[test]
fn every_option_of_relog() {
    let Some(sample) = shared("logs/PowerShell_CounterSamples.blg") else { return };
    let text = shared("logs/PowerShell_CounterSamples.csv").unwrap();
    let (sample, text) = (sample.to_str().unwrap(), text.to_str().unwrap());
    for (line, wanted) in [
        // Without an output Windows says what is in the logs.
        (
            &[][..],
            &[
                "code 0",
                "(Binary)\n\nBegin:    11/26/2016 13:46:30\nEnd:      11/26/2016 13:47:42\nSamples:  25",
            ][..],
        ),
        (&[text], &["code 0", "(Binary)\n", "(CSV)\n", "Samples:  50"]),
        (
            &["-o", "out"],
            &["code 0", r#""format":"blg""#, r#""records":25"#, "Output\n----------------\nFile:     out"],
        ),
        (&["-f", "BIN", "-o", "out"], &["code 0", r#""format":"blg""#]),
        (&["-f", "csv", "-o", "out"], &["code 0", r#""format":"csv""#, "(Pacific Standard Time)(480)"]),
        (&["-f", "TSV", "-o", "out"], &["code 0", r#""format":"tsv""#, "\"\t\"\\\\charlieparker"]),
        (&["-f", "SQL", "-o", "out"], &["code 0", r#""format":"sqlite""#, r#""records":25"#]),
        (&["-f", "SQL", "-o", "SQL:Perf!set"], &["code 2", "SQL:Perf!set: no data source of ODBC", "SQLite"]),
        (&["SQL:Perf!set"], &["code 2", "SQL:Perf!set: no data source of ODBC"]),
        (&["-f", "XLS", "-o", "out"], &["code 2", "-f XLS: no such format; there are CSV, TSV, BIN and SQL"]),
        (&["-c", r"\memory\*", "-o", "out"], &["code 0", r#""name":"charlieparker","columns":2"#]),
        (
            &["-c", r"\memory\*", r"\processor(*)\*", "-o", "out"],
            &["code 0", r#""name":"charlieparker","columns":3"#],
        ),
        (&["-c", r"\None\Here", "-o", "out"], &["code 3", r"\None\Here"]),
        (&["-cf", "list", "-o", "out"], &["code 0", r#""name":"charlieparker","columns":2"#]),
        (&["-t", "4", "-o", "out"], &["code 0", r#""records":7"#, "Samples:  7"]),
        (&["-t", "0", "-o", "out"], &["code 2", "-t: \"0\" is not a number of records"]),
        (&["-b", "11/26/2016 1:47:00PM", "-o", "out"], &["code 0", r#""first":"2016-11-26T21:47:00.923Z""#]),
        (&["-e", "11/26/2016 1:47:00PM", "-o", "out"], &["code 0", r#""last":"2016-11-26T21:46:57.918Z""#]),
        (&["-b", "tomorrow", "-o", "out"], &["code 2", "tomorrow"]),
        (&["-a", "-o", "binary"], &["code 0", "Samples:  50"]),
        (
            &["-a", "-f", "CSV", "-o", "out"],
            &["code 2", "-a: only a binary log can be appended to; leave -f out"],
        ),
        (&["-q"], &["code 0\n\\\\charlieparker\\", "\\memory\\cache faults/sec\n", "completed successfully"]),
        (&["-q", "-o", "out"], &["code 0\nThe command", "\\\\charlieparker\\memory\\cache faults/sec\n"]),
        (&["-config", "settings"], &["code 0", r#""format":"tsv""#, r#""records":13"#, r#""columns":2,"#]),
        (&["-o", "there"], &["code 1", "there exists already; -y replaces it"]),
        (&["-o", "there", "-y"], &["code 0", "completed successfully"]),
        (&["-?"], &["code 0\nrelog FILE..."]),
        (&["-zz"], &["code 2", "no option \"-zz\"", "-?"]),
    ] {
        let folder = Folder::new();
        folder.write("list", b"\\memory\\*\r\n");
        folder.write("there", b"something\n");
        folder.write("settings", b"[cf]\nlist\n[f]\nTSV\n[t]\n2\n[o]\nout\n");
        fs::copy(sample, folder.path().join("binary")).unwrap();
        let line = [&[sample], line].concat();
        has(&format!("{line:?}\n{}", seen(&folder, "relog", &line)), wanted);
    }
    has(&seen(&Folder::new(), "relog", &[]), &["code 2", "no log to read was given"]);
}

/// What a Parquet file has, in the words of `tally info`.
const PARQUET: &str = r#"
import json, sys
try:
    import duckdb
except ImportError:
    print("null")
    sys.exit()
ask = lambda what: duckdb.sql(f"SELECT {what} FROM '{sys.argv[1]}'").fetchall()[0]
(records, paths, host, first, last) = ask(
    "count(DISTINCT time), count(DISTINCT path), min(host), "
    "min(time) AT TIME ZONE 'UTC', max(time) AT TIME ZONE 'UTC'")
stamp = lambda time: time.isoformat(timespec="milliseconds") + "Z"
print(json.dumps({"records": records, "hosts": [{"name": host, "columns": paths}], "first": stamp(first),
                  "last": stamp(last)}))
"#;

/// What is in a log that was written, as `tally info` or DuckDB sees it; nothing if there is no DuckDB.
fn about(log: &str) -> Option<Json> {
    if log.ends_with(".parquet") {
        python(PARQUET, &[log]).filter(|found| !found.is_null())
    } else {
        Some(tally(&["info", "--json", log]).json())
    }
}

#[test]
fn every_option_of_copying_in_every_format() {
    let Some(sample) = shared("logs/PowerShell_CounterSamples.blg") else { return };
    let sample = sample.to_str().unwrap();
    let folder = Folder::new();
    // The name of the input, in UTF-16; the path that the sample has there names a user.
    let name = |log: &[u8]| {
        let wanted: Vec<u8> = "PowerShell_CounterSamples.blg".bytes().flat_map(|byte| [byte, 0]).collect();
        log.windows(wanted.len()).any(|bytes| bytes == wanted)
    };
    for format in ["csv", "tsv", "blg", "tally", "sqlite", "parquet"] {
        let log = folder.file(&format!("log.{format}"));
        // Local time is a matter of the other formats.
        let bias = |bias: i64| if format == "parquet" { Json::Null } else { bias.into() };
        for (options, pointer, value) in [
            (&[][..], "/records", 25.into()),
            (&[], "/hosts/0/columns", 10.into()),
            (&[], "/hosts/0/name", "charlieparker".into()),
            (&[], "/bias", bias(480)),
            (&["--utc"], "/bias", bias(0)),
            (&["--utc"], "/first", "2016-11-26T21:46:30.874Z".into()),
            (&["--rename-host", "CHARLIEPARKER=bird"], "/hosts/0/name", "bird".into()),
            (&["--rename-host", r"\\charlieparker=\\bird"], "/hosts/0/name", "bird".into()),
            (&["--rename-host", "monk=bird"], "/hosts/0/name", "charlieparker".into()),
            (&["--from", "2016-11-26T21:47:00Z"], "/first", "2016-11-26T21:47:00.923Z".into()),
            (&["--from", "2016-11-26T21:47:00Z"], "/records", 15.into()),
            (&["--to", "2016-11-26T21:47:00Z"], "/last", "2016-11-26T21:46:57.918Z".into()),
            (&["--to", "2016-11-26T21:47:00Z"], "/records", 10.into()),
            (&["--every", "4"], "/records", 7.into()),
            (
                &["--every", "4", "--from", "2016-11-26T21:46:33Z"],
                "/first",
                "2016-11-26T21:46:33.877Z".into(),
            ),
            (&["--counter", r"\memory\*"], "/hosts/0/columns", 2.into()),
            (&["-c", r"\memory\*", "-c", r"\Processor(*)\*"], "/hosts/0/columns", 3.into()),
            (&["--strip-path"], "/records", 25.into()),
            (&["--lf"], "/records", 25.into()),
        ] {
            let ran = tally(&[&["relog", sample, "--force", "-o", &log], options].concat());
            assert_eq!(ran.code, Some(0), "{format} {options:?}: {}", ran.err);
            let Some(about) = about(&log) else { break };
            let found = about.pointer(pointer).unwrap_or(&Json::Null);
            assert_eq!(*found, value, "{format} {options:?}: {pointer}");
            let bytes = fs::read(&log).unwrap();
            let has_name = format == "blg" && options != ["--strip-path"];
            assert_eq!(name(&bytes), has_name, "{format} {options:?}");
            let has_returns = ["csv", "tsv"].contains(&format) && options != ["--lf"];
            assert_eq!(
                bytes.windows(4).any(|bytes| bytes == b"\"\r\n\""),
                has_returns,
                "{format} {options:?}"
            );
        }
    }
}
