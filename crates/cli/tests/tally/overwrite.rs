//! What happens to files that exist: nothing, unless the user says so; and then only when the new file is
//! complete.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Stdio;
use std::time::{Duration, Instant};

use tallymon_testkit::skip;

use super::environment::nobody;
use super::support::{AVAILABLE, Folder, Ran, TALLY, clean, has, ran, signal, tally, tally_with};

/// A small log.
const LOG: &[u8] = b"\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\host\\Memory\\Available MBytes\"\r\n\
    \"11/21/2026 09:30:00.000\",\"1\"\r\n\"11/21/2026 09:30:01.000\",\"2\"\r\n";

/// The command in a folder, with its state below that.
fn run(folder: &Folder, line: &[&str]) -> Ran {
    tally_with(line, |command| {
        let root = folder.file("root");
        command.current_dir(folder.path()).env("TALLYMON_ROOT", root).stdin(Stdio::null());
    })
}

/// The names in the folder, without those that the tests put there.
fn left(folder: &Folder) -> Vec<String> {
    let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| !["log.csv", "root", "tally"].contains(&name.as_str()));
    names.sort();
    names
}

#[test]
fn nothing_replaces_a_file_unless_the_user_says_so() {
    let watch = |format| vec!["watch", AVAILABLE, "-i", "10ms", "-c", "2", "-f", format, "-o", "out"];
    let relog = |format| vec!["relog", "log.csv", "-f", format, "-o", "out"];
    let formats = ["csv", "tsv", "tally", "blg", "sqlite", "parquet"];
    let mut lines: Vec<(Vec<&str>, &str)> = Vec::new();
    lines.extend(formats.map(|format| (watch(format), "--force")));
    lines.extend(formats.map(|format| (relog(format), "--force")));
    lines.extend([
        (vec!["dump", "238", "--raw", "out"], "--force"),
        (vec!["dump", "Counter 009", "--raw", "out"], "--force"),
        (vec!["provider", "export", "out"], "--force"),
        (vec!["log", "export", "session", "out"], "--force"),
        (vec!["lodctr", "/S:out"], "/Y"),
        (vec!["compat", "typeperf", "-q", "Memory", "-o", "out"], "-y"),
        (vec!["compat", "typeperf", AVAILABLE, "-si", "0.01", "-sc", "1", "-o", "out"], "-y"),
        (vec!["compat", "relog", "log.csv", "-q", "-o", "out"], "-y"),
        (vec!["compat", "relog", "log.csv", "-o", "out"], "-y"),
        (vec!["compat", "logman", "export", "session", "-xml", "out"], "-y"),
    ]);
    for (line, option) in lines {
        let folder = Folder::new();
        folder.write("log.csv", LOG);
        run(&folder, &["provider", "list"]);
        assert_eq!(
            run(&folder, &["compat", "logman", "create", "counter", "session", "-c", AVAILABLE]).code,
            Some(0)
        );
        let out = folder.write("out", b"before\n");
        fs::set_permissions(&out, fs::Permissions::from_mode(0o640)).unwrap();
        let refused = run(&folder, &line);
        assert_eq!(refused.code, Some(1), "{line:?}: {}", refused.err);
        has(&refused.err, &["out", "exists already", if option == "--force" { option } else { "-y" }]);
        assert_eq!(fs::read(&out).unwrap(), b"before\n", "{line:?}");
        assert_eq!(left(&folder), ["out"], "{line:?}");
        let forced = run(&folder, &[line.as_slice(), &[option]].concat());
        assert_eq!(forced.code, Some(0), "{line:?}: {}", forced.err);
        assert_ne!(fs::read(&out).unwrap(), b"before\n", "{line:?}");
        assert_eq!(fs::metadata(&out).unwrap().mode() & 0o777, 0o640, "{line:?}");
        assert_eq!(left(&folder), ["out"], "{line:?}");
    }
}

#[test]
fn a_log_is_never_copied_onto_itself() {
    let folder = Folder::new();
    let log = folder.write("log.csv", LOG);
    symlink("log.csv", folder.file("soft")).unwrap();
    fs::hard_link(&log, folder.file("hard")).unwrap();
    let other = folder.write("other.csv", LOG);
    let absolute = log.clone();
    for output in ["log.csv", "./log.csv", absolute.as_str(), "soft", "hard"] {
        for line in [
            vec!["relog", "log.csv", "-f", "blg", "--force", "-o", output],
            vec!["relog", &other, "log.csv", "-f", "csv", "--force", "-o", output],
            vec!["relog", "log.csv", "-o", output],
            vec!["compat", "relog", "log.csv", "-y", "-o", output],
            vec!["compat", "relog", "log.csv", "-a", "-o", output],
            vec!["report", "log.csv", "--force", "-o", output],
            vec!["report", &other, "log.csv", "--force", "-o", output],
        ] {
            let refused = run(&folder, &line);
            assert_eq!(refused.code, Some(2), "{line:?}: {}", refused.err);
            has(&refused.err, &["log.csv"]);
            assert_eq!(fs::read(&log).unwrap(), LOG, "{line:?}");
        }
    }
    assert_eq!(left(&folder), ["hard", "other.csv", "soft"]);
    // A copy of the log is another file.
    assert_eq!(run(&folder, &["relog", "log.csv", "--force", "-o", "other.csv"]).code, Some(0));
}

#[test]
fn an_interrupted_copy_leaves_the_old_file() {
    let folder = Folder::new();
    let old = folder.write("old.csv", b"before\n");
    // Long enough to be interrupted.
    let lines: Vec<String> =
        (0..50_000).map(|nth| format!("\"11/21/2026 09:30:00.{:03}\",\"{nth}\"\r\n", nth % 1000)).collect();
    folder.write("long.csv", &[LOG, lines.concat().as_bytes()].concat());
    for (line, name) in
        [(["relog", "--force", "-o", "old.csv"], "INT"), (["relog", "-f", "csv", "-onew"], "TERM")]
    {
        let mut child = clean(TALLY)
            .args(line)
            .args(["long.csv"; 50])
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while !left(&folder).iter().any(|name| name.ends_with(".part")) {
            assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", left(&folder));
            std::thread::sleep(Duration::from_millis(10));
        }
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{line:?}");
        assert_eq!(left(&folder), ["long.csv", "old.csv"], "{line:?}");
        assert_eq!(fs::read(&old).unwrap(), b"before\n");
    }
}

/// A recording replaces a file with its first record, not before it.
#[test]
fn a_recording_that_does_not_begin_leaves_the_old_file() {
    let folder = Folder::new();
    let old = folder.write("old.csv", b"before\n");
    let line = ["watch", r"\Memory\No Such Counter", "--force", "-o", "old.csv"];
    assert_eq!(run(&folder, &line).code, Some(3));
    assert_eq!(fs::read(&old).unwrap(), b"before\n");
    // What an earlier recording left is a log, too.
    folder.write("x.blg.recording.tally", b"a recording\n");
    let line = ["watch", AVAILABLE, "-i", "10ms", "-c", "1", "-o", "x.blg"];
    let refused = run(&folder, &line);
    has(&refused.words(1), &["x.blg.recording.tally", "interrupted", "--force"]);
    assert_eq!(left(&folder), ["old.csv", "x.blg.recording.tally"]);
    assert_eq!(run(&folder, &[line.as_slice(), &["--force"]].concat()).code, Some(0));
    assert_eq!(left(&folder), ["old.csv", "x.blg"]);
}

#[test]
fn another_user_replaces_only_what_that_user_may_write() {
    let Some(nobody) = nobody() else {
        skip("no right to become another user");
        return;
    };
    let folder = Folder::new();
    let log = folder.write("log.csv", LOG);
    let mode = |path: &str, rights| fs::set_permissions(path, fs::Permissions::from_mode(rights)).unwrap();
    let path = folder.path().to_str().unwrap().to_owned();
    mode(&log, 0o644);
    // The rights of the folder and of the file; then what happens, and what is said.
    for (of_folder, of_file, force, words) in [
        // A folder where that user can create nothing.
        (0o755, 0o666, true, "no file can be created in the folder"),
        // A file that the user may not write, although the folder would allow to replace it.
        (0o777, 0o644, true, "Permission denied"),
        // In such a folder only the owner of a file may rename over it.
        (0o1777, 0o666, true, "Operation not permitted"),
        (0o1777, 0o666, false, "exists already"),
    ] {
        let old = folder.write("old.csv", b"before\n");
        mode(&old, of_file);
        mode(&path, of_folder);
        let mut line = vec!["relog", &log, "-o", &old];
        if force {
            line.push("--force");
        }
        let refused = ran(nobody.command(&line).output().unwrap());
        let what = format!("{of_folder:o} {of_file:o}");
        assert!(refused.code != Some(0), "{what}");
        has(&refused.err, &[words, "old.csv"]);
        assert_eq!(fs::read(&old).unwrap(), b"before\n", "{what}");
        assert_eq!(left(&folder), ["old.csv"], "{what}");
    }
    // Root keeps the owner of a file that it replaces.
    fs::remove_file(folder.file("old.csv")).unwrap();
    mode(&path, 0o777);
    let own = folder.file("own.csv");
    assert!(nobody.command(&["relog", &log, "-o", &own]).output().unwrap().status.success());
    assert_eq!(tally(&["relog", &log, "--utc", "--force", "-o", &own]).code, Some(0));
    let about = fs::metadata(&own).unwrap();
    assert_eq!((about.uid(), about.gid()), (65534, 65534));
}

#[test]
fn devices_are_written_and_stay() {
    let folder = Folder::new();
    folder.write("log.csv", LOG);
    let ran = run(&folder, &["relog", "log.csv", "-o", "/dev/stdout"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    has(&ran.out, &["Available MBytes"]);
    assert_eq!(run(&folder, &["relog", "log.csv", "-f", "csv", "-o", "/dev/null"]).code, Some(0));
    let refused = run(&folder, &["relog", "log.csv", "-f", "blg", "-o", "/dev/null"]);
    has(&refused.words(3), &["/dev/null", "a BLG can be written to a file only"]);
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn a_hyphen_is_standard_output_or_is_refused_but_never_a_file() {
    let folder = Folder::new();
    folder.write("log.csv", LOG);
    let same = run(&folder, &["relog", "log.csv", "-f", "csv"]).out;
    assert!(same.starts_with("\"(PDH-CSV"), "{same}");
    assert_eq!(run(&folder, &["relog", "log.csv", "-f", "csv", "-o", "-"]).out, same);
    let names = run(&folder, &["provider", "export", "-"]).data();
    assert_eq!(run(&folder, &["provider", "export"]).data(), names);
    let page = run(&folder, &["report", "log.csv", "-o", "-"]);
    assert!(
        page.out.starts_with("<!doctype html>") && page.out.trim_end().ends_with("</html>"),
        "{}",
        page.err
    );
    for line in [
        &["watch", AVAILABLE, "-o", "-"][..],
        &["man", "-o", "-"],
        &["log", "start", "one", "-o", "-"],
        &["log", "snapshot", "one", "-o", "-"],
        &["dump", "238", "--raw", "-"],
        &["prof", "run", "-o", "-", "--", "true"],
        &["prof", "report", "1", "-o", "-"],
    ] {
        has(&run(&folder, line).words(2), &["'-'", "write ./- for a file of that name"]);
    }
    assert_eq!(left(&folder), [""; 0]);
}
