//! A disk that is really full: a small file system in memory, mounted where only the programs of a test see
//! it.

use std::fs;
use std::process::{Command, Output};

use tallymon_testkit::{peer, shared, skip};

use crate::support::{Folder, Ran, TALLY, has, ran, tally};

/// Runs a script of the shell in the folder `full`, where there is room for 16 kB and nothing else; what it
/// leaves there is in the folder `kept` afterwards. `None` where nobody may mount anything, which is said.
fn with_a_small_disk(folder: &Folder, script: &str) -> Option<Ran> {
    let unshare = peer("unshare")?;
    fs::create_dir(folder.path().join("full")).unwrap();
    fs::create_dir(folder.path().join("kept")).unwrap();
    let mounted = |alone: &[&str], script: &str| -> Output {
        let line = format!("mount -t tmpfs -o size=16k none full && cd full && {{ {script}; }}");
        let mut command = Command::new(&unshare);
        command.args(alone).args(["sh", "-c", &line]).current_dir(folder.path());
        command.env("TALLY", TALLY).env("TALLYMON_ROOT", folder.path()).output().unwrap()
    };
    // Whoever is not root may be so for this one script, where the system allows that.
    let Some(alone) = [&["--mount"][..], &["--map-root-user", "--mount"]]
        .into_iter()
        .find(|alone| mounted(alone, "true").status.success())
    else {
        skip("no file system can be mounted here");
        return None;
    };
    Some(ran(mounted(alone, &format!("{script}; code=$?; cp -r . ../kept; exit $code"))))
}

/// What is in a log that has to be whole but for the end that found no room: the number of its records.
fn whole_records(log: &str) -> u64 {
    let ran = tally(&["info", "--json", log]);
    let about: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let damage = about["damage"].as_array().unwrap();
    // A row of text that is cut has fewer values. A recording says which records it lost, and a copy of one
    // that is just written may end in the middle of its last record. Nothing else may be wrong.
    let is_text = about["format"] == "csv" || about["format"] == "tsv";
    let is_told = |damage: &serde_json::Value| {
        let words = damage.as_str().unwrap_or_default();
        words.contains("records are gone")
            || words.contains("1 record is gone")
            || words.contains("the last record is cut")
    };
    let is_expected = is_text && damage.len() == 1 || damage.iter().all(is_told);
    assert!(is_expected, "{log}: {damage:?}");
    let records = about["records"].as_u64().unwrap();
    assert!(records >= 10, "{log}: {records} records");
    // All of them can be copied, too.
    let copied = tally(&["relog", log, "-f", "csv", "--lf"]);
    assert_eq!(copied.out.lines().count() as u64, records + 1, "{log}: {}", copied.err);
    records
}

#[test]
fn a_recording_says_where_it_found_no_room_and_what_is_kept() {
    for format in ["csv", "tsv", "tally", "blg", "sqlite", "parquet"] {
        let folder = Folder::new();
        let script = format!("\"$TALLY\" watch '\\Processor(*)\\*' '\\Memory\\*' -i 10ms -o log.{format}");
        let Some(ran) = with_a_small_disk(&folder, &script) else { return };
        let name = match format {
            "csv" | "tsv" | "tally" => format!("log.{format}"),
            _ => format!("log.{format}.recording.tally"),
        };
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{}", ran.err);
        has(&ran.err, &[&format!("tally: {name}: No space left on device")]);
        if name.ends_with("tally") {
            has(&ran.err, &[&format!("{name} has what was recorded before; 'tally relog' reads it")]);
        }
        let kept: Vec<_> = fs::read_dir(folder.path().join("kept")).unwrap().collect();
        assert_eq!(kept.len(), 1, "nothing but the log is there: {kept:?}");
        whole_records(&folder.file(&format!("kept/{name}")));
    }
}

#[test]
fn a_copy_that_finds_no_room_leaves_what_was_there() {
    let Some(log) = shared("logs/PAL_SampleLog.blg") else { return };
    for format in ["csv", "tsv", "tally", "blg", "sqlite", "parquet"] {
        let folder = Folder::new();
        let script =
            format!("echo before > copy; \"$TALLY\" relog {} -f {format} --force -o copy", log.display());
        let Some(ran) = with_a_small_disk(&folder, &script) else { return };
        assert_eq!(ran.code, Some(1), "{format}: {}", ran.err);
        has(&ran.err, &["tally: copy: "]);
        let reason = ["No space left on device", "disk is full"];
        assert!(reason.iter().any(|words| ran.err.contains(words)), "{format}: {}", ran.err);
        let kept: Vec<_> = fs::read_dir(folder.path().join("kept")).unwrap().collect();
        assert_eq!(kept.len(), 1, "{format}: nothing half-written is there: {kept:?}");
        assert_eq!(fs::read_to_string(folder.path().join("kept/copy")).unwrap(), "before\n");
    }
}

/// A session tries again with each record, and goes on as soon as there is room.
#[test]
fn a_session_waits_for_room() {
    for format in ["csv", "tally", "blg"] {
        let folder = Folder::new();
        let script = [
            &format!(
                "\"$TALLY\" log start full -c '\\Processor(*)\\*' -c '\\Memory\\*' -i 10ms -f {format} -o ."
            ),
            // Until an error is told.
            "for turn in $(seq 300); do \"$TALLY\" log show full --json > ../shown",
            "grep -q '\"errors\":0,' ../shown || break; sleep 0.1; done",
            "mkdir ../first; cp * ../first",
            // Someone makes room, and the recording grows.
            "before=$(cat full_* | wc -c); mount -o remount,size=64m none .",
            "for turn in $(seq 600); do [ $(cat full_* | wc -c) -gt $before ] && break; sleep 0.1; done",
            "\"$TALLY\" log stop full; \"$TALLY\" log show full --json > ../ended",
        ];
        let Some(ran) = with_a_small_disk(&folder, &script.join("; ")) else { return };
        let ended: serde_json::Value =
            serde_json::from_slice(&fs::read(folder.path().join("ended")).unwrap()).unwrap();
        let shown: serde_json::Value =
            serde_json::from_slice(&fs::read(folder.path().join("shown")).unwrap()).unwrap();
        assert!(shown["errors"].as_u64().unwrap() > 0, "{shown}");
        assert_eq!(shown["status"], "recording", "{shown}");
        let recording = if format == "tally" { "" } else { ".recording.tally" };
        let name = format!("full_000001.{format}{recording}");
        has(shown["last_error"].as_str().unwrap(), &[&name, "No space left on device"]);
        has(&ran.err, &["errors, the last one: "]);
        // What was kept is whole while there is no room, and the beginning of what is kept in the end.
        let first = whole_records(&folder.file(&format!("first/{name}")));
        let log = folder.file(&format!("kept/full_000001.{format}"));
        assert!(whole_records(&log) > first);
        // `info` ends with a code of its own where records were lost, which this session may have.
        let info: serde_json::Value = serde_json::from_str(&tally(&["info", "--json", &log]).out).unwrap();
        // Records that found no room wait in memory; those that were lost leave a gap.
        // A sample that came late is a gap, too.
        let (lost, gaps) = (ended["lost"].as_u64().unwrap(), info["gap_count"].as_u64().unwrap());
        assert!(lost == 0 || gaps > 0, "{ended}: {info}");
    }
}
