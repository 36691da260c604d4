//! The programs of Windows under their own names.

use std::fs;
use std::process::Command;

use super::support::{AVAILABLE, Folder, PROCESSOR_TIME, Ran, TALLY, clean, has, ran, tally};
use tallymon_testkit::shared;

/// Runs one of the links that were installed into a folder.
fn program(folder: &Folder, name: &str, line: &[&str]) -> Ran {
    let mut command: Command = clean(folder.path().join("bin").join(name));
    command.args(line).current_dir(folder.path()).env("TZ", "UTC");
    ran(command.output().unwrap())
}

fn installed() -> Folder {
    let folder = Folder::new();
    let ran = tally(&["compat", "install", "--dir", &folder.file("bin")]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    has(&ran.err, &["typeperf", "unlodctr", "not in PATH"]);
    folder
}

#[test]
fn install_and_remove_change_only_links() {
    let folder = installed();
    let (dir, bin) = (folder.file("bin"), folder.path().join("bin"));
    let target = fs::canonicalize(bin.join("relog")).unwrap();
    assert_eq!(target, fs::canonicalize(TALLY).unwrap());
    // A second time changes nothing; another program of that name is left alone, and then none is made.
    assert_eq!(tally(&["compat", "install", "--dir", &dir]).code, Some(0));
    fs::remove_file(bin.join("typeperf")).unwrap();
    fs::remove_file(bin.join("lodctr")).unwrap();
    fs::write(bin.join("typeperf"), "another one").unwrap();
    has(&tally(&["compat", "install", "--dir", &dir]).words(1), &["typeperf", "another program", "--dir"]);
    assert!(!bin.join("lodctr").exists());
    assert_eq!(tally(&["compat", "remove", "--dir", &dir]).code, Some(0));
    let left: Vec<_> = fs::read_dir(&bin).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["typeperf"]);
}

#[test]
fn typeperf_writes_rows() {
    let folder = installed();
    let ran = program(&folder, "typeperf", &[PROCESSOR_TIME, AVAILABLE, "/SI", "0.1", "-sc:2"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    has(&ran.err, &["Exiting, please wait...", "The command completed successfully."]);
    let lines: Vec<&str> = ran.out.split("\r\n").collect();
    assert_eq!((lines.len(), lines[3]), (4, ""), "a header and two rows: {lines:?}");
    assert!(lines[0].starts_with("\"(PDH-CSV 4.0)\",\"\\\\"), "{}", lines[0]);
    for row in &lines[1..3] {
        let cells: Vec<&str> = row.split(',').map(|cell| cell.trim_matches('"')).collect();
        assert_eq!(cells.len(), 3);
        for value in &cells[1..] {
            let (_, decimals) = value.split_once('.').unwrap();
            assert_eq!(decimals.len(), 6, "{row}");
        }
    }
    folder.write("counters.txt", format!("; remark\r\n{AVAILABLE}\r\n\r\n").as_bytes());
    folder.write("settings", b"[cf]\ncounters.txt\n[sc]\n1\n[si]\n0.1\n[f]\nTSV\n[o]\nout.tsv\n");
    let ran = program(&folder, "typeperf", &["-config", "settings"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{}", ran.err);
    let text = fs::read_to_string(folder.path().join("out.tsv")).unwrap();
    assert!(text.starts_with("\"(PDH-TSV 4.0) (UTC)(0)\"\t\"\\\\"), "{text}");
    assert_eq!(text.lines().count(), 2);
    has(&program(&folder, "typeperf", &["-config", "settings"]).words(1), &["out.tsv exists already", "-y"]);
    assert_eq!(program(&folder, "typeperf", &["-config", "settings", "-y"]).code, Some(0));
}

/// The valid counters are written, the others are named, and the exit code says that there were such.
#[test]
fn typeperf_shows_the_valid_counters_among_others() {
    let folder = installed();
    let line = [r"\Nope\x", AVAILABLE, "-si", "0.05", "-sc", "1"];
    let ran = program(&folder, "typeperf", &line);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert_eq!(ran.out.lines().count(), 2, "{}", ran.out);
    has(&ran.out, &["Available MBytes"]);
    has(&ran.err, &[r#"no object "Nope""#, "Exiting, please wait..."]);
    assert!(!ran.err.contains("completed successfully"), "{}", ran.err);
    let ran = program(&folder, "typeperf", &[&line[..], &["-o", "out.csv"]].concat());
    assert_eq!((ran.code, ran.out.as_str()), (Some(3), ""), "{}", ran.err);
    has(&fs::read_to_string(folder.path().join("out.csv")).unwrap(), &["Available MBytes"]);
    let ran = program(&folder, "typeperf", &[r"\Nope\x", r"\Nada\x"]);
    has(&ran.words(3), &[r#"no object "Nope""#, r#"no object "Nada""#, "Error: No valid counters."]);
}

#[test]
fn typeperf_lists_counters() {
    let folder = installed();
    let list = program(&folder, "typeperf", &["-q", "Processor"]).out;
    assert!(list.lines().all(|line| line.starts_with(r"\Processor(*)\")), "{list}");
    let list = program(&folder, "typeperf", &["-qx", "Processor"]).out;
    has(&list, &[r"\Processor(0)\% User Time", r"\Processor(_Total)\% User Time"]);
    has(
        &program(&folder, "typeperf", &["-q"]).out,
        &[r"\Memory\Available Bytes", r"\Process(*)\Handle Count"],
    );
    has(&program(&folder, "typeperf", &[r"\No\Such"]).words(3), &["Error: No valid counters."]);
    has(&program(&folder, "typeperf", &[]).words(2), &["no counter", "-cf FILE"]);
    has(&program(&folder, "typeperf", &["-zz"]).words(2), &["-zz"]);
}

#[test]
fn relog_copies_logs() {
    let Some(log) = shared("logs/PowerShell_CounterSamples.blg") else { return };
    let log = log.to_str().unwrap();
    let folder = installed();
    let relog = |line: &[&str]| program(&folder, "relog", line);
    let ran = relog(&[log, "-f", "CSV", "-o", "all.csv"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    has(
        &ran.out,
        &[
            "Input\n----------------\nFile(s):",
            "(Binary)\n\nBegin:    11/26/2016 13:46:30\nEnd:      11/26/2016 13:47:42\nSamples:  25",
            "Output\n----------------\nFile:     all.csv",
        ],
    );
    let twin = fs::read_to_string(shared("logs/PowerShell_CounterSamples.csv").unwrap()).unwrap();
    assert_eq!(fs::read_to_string(folder.path().join("all.csv")).unwrap().replace("\r\n", "\n"), twin);

    let cut = [log, "-o", "cut.blg", "/c", r"\memory\*", "-t", "2", "/b", "11/26/2016 1:46:40PM"];
    has(&relog(&cut).out, &["Begin:    11/26/2016 13:46:42", "Samples:  11"]);
    assert_eq!(relog(&["cut.blg", "-q"]).out.lines().count(), 2);
    // Appending keeps what was there.
    assert_eq!(relog(&[log, "-a", "-o", "cut.blg", "-c", r"\memory\*"]).code, Some(0));
    has(&relog(&["cut.blg"]).out, &["Samples:  36"]);
    has(&relog(&[log, "-a", "-f", "csv", "-o", "all.csv"]).words(2), &["-a"]);
    has(&relog(&[log, "-o", "cut.blg"]).words(1), &["cut.blg exists already"]);
    has(&relog(&[log, "-f", "XLS", "-o", "x"]).words(2), &["XLS", "CSV, TSV, BIN and SQL"]);
    has(&relog(&[]).words(2), &["no log to read"]);
}

#[test]
fn compat_runs_the_programs_without_links() {
    has(&tally(&["compat", "lodctr", "/?"]).out, &["lodctr /Q"]);
    has(&tally(&["compat", "typeperf", "-?"]).out, &["-qx [OBJECT]"]);
    has(&tally(&["compat", "pdh"]).words(2), &["pdh", "typeperf, relog"]);
    has(&tally(&["compat", "perfmon", "/res"]).words(2), &["Argument '/res' is unknown."]);
}
