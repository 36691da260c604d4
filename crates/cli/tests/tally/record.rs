//! Recording: `tally watch -o`, `typeperf -o`, and what is left when the recorder is killed.

use std::fs;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use tallymon_testkit::peer;

use crate::support::{AVAILABLE, Folder, PROCESSOR_TIME, Ran, clean, has, signal, start, tally, tally_with};

/// A run of the command with its name in front of what it says, without the data.
#[track_caller]
fn words_of(ran: Ran) -> String {
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.out, "");
    ran.err
}

/// Waits until something is so, for much longer than it takes.
#[track_caller]
pub(crate) fn until(what: &str, mut is: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is() {
        assert!(begin.elapsed() < Duration::from_secs(60), "waiting for: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Records of a log and its format.
fn records(log: &str) -> (u64, String) {
    let info = tally(&["info", "--json", log]).json();
    (info["records"].as_u64().unwrap(), info["format"].as_str().unwrap().to_string())
}

#[test]
fn every_format_is_recorded() {
    let folder = Folder::new();
    for (name, format) in [("a.tally", "tally"), ("a.blg", "blg"), ("a.sqlite", "sqlite"), ("a", "tally")] {
        let log = folder.file(name);
        let words = words_of(tally(&[
            "watch",
            PROCESSOR_TIME,
            r"\Process(*)\Working Set",
            "-i",
            "50ms",
            "-c",
            "4",
            "-o",
            &log,
        ]));
        has(&words, &[name, "4 records"]);
        assert_eq!(records(&log), (4, format.to_string()), "{name}");
        let info = tally(&["info", "--json", "--columns", &log]).json();
        let columns: Vec<&str> =
            info["columns"].as_array().unwrap().iter().map(|column| column.as_str().unwrap()).collect();
        // What was not asked for is not in it.
        assert!(columns.iter().all(|path| path.contains("% Processor Time") || path.contains("Working Set")));
        assert_eq!(columns.iter().filter(|path| path.contains("Processor(")).count(), 1);
    }
    let parquet = folder.file("a.parquet");
    words_of(tally(&["watch", AVAILABLE, "-i", "50ms", "-c", "2", "-o", &parquet]));
    assert!(fs::read(&parquet).unwrap().starts_with(b"PAR1"));
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 5, "nothing but the logs is left: {names:?}");
}

/// A file begins with the first sample, in every format: its rates need the one after it.
#[test]
fn the_first_row_of_a_file_has_no_rates() {
    let folder = Folder::new();
    let cells = |text: &str| -> Vec<Vec<String>> {
        let cells = |line: &str| line.trim_matches('"').split("\",\"").map(str::to_string).collect();
        text.lines().map(cells).collect()
    };
    let recorded = |name: &str| {
        let log = folder.file(name);
        words_of(tally(&["watch", AVAILABLE, PROCESSOR_TIME, "-i", "50ms", "-c", "3", "-o", &log]));
        cells(&tally(&["relog", &log, "-f", "csv"]).out)
    };
    let typeperf = folder.file("typeperf.csv");
    let arguments = [AVAILABLE, PROCESSOR_TIME, "-si", "0.05", "-sc", "3", "-o", &typeperf];
    let ran = tally(&[&["compat", "typeperf"], &arguments[..]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let mut all = vec![cells(&fs::read_to_string(&typeperf).unwrap())];
    all.extend(["a.csv", "a.tally", "a.blg", "a.sqlite"].map(recorded));
    all.push(cells(&fs::read_to_string(folder.file("a.csv")).unwrap()));
    for rows in &all {
        assert_eq!(rows.len(), 4, "{rows:?}");
        assert_eq!(rows[0], all[0][0], "the same first line");
        let numbers: Vec<[bool; 2]> =
            rows[1..].iter().map(|row| [&row[1], &row[2]].map(|cell| cell.parse::<f64>().is_ok())).collect();
        assert_eq!(numbers, [[true, false], [true, true], [true, true]], "{rows:?}");
        assert_eq!(rows[1][2], " ");
    }
    // Printed rows begin with the second sample, as those of typeperf do.
    let printed = tally(&["watch", AVAILABLE, PROCESSOR_TIME, "-i", "50ms", "-c", "2", "--csv"]).data();
    let rows = cells(&printed);
    assert!(rows.len() == 3 && rows[1][2].parse::<f64>().is_ok(), "{printed}");
}

#[test]
fn a_text_log_says_what_came_too_late() {
    let folder = Folder::new();
    for (name, has_it) in [("late.csv", false), ("late.tally", true)] {
        let log = folder.file(name);
        let tally = start(&["watch", r"\Process(*)\Working Set", "-i", "50ms", "-o", &log]);
        let begun = || fs::read(&log).is_ok_and(|bytes| !bytes.is_empty());
        until("the first record", begun);
        let length = || fs::metadata(&log).unwrap().len();
        // Each record changes the length. The first change may be of a sample that was already being taken.
        let some_records = || {
            for _ in 0..4 {
                let before = length();
                until("the next record", || length() != before);
            }
        };
        some_records();
        // A name that no process of this machine has.
        let late = folder.file("latecomer");
        // Not a copy: another test may fork while it is open for writing, and then it cannot be run.
        std::os::unix::fs::symlink("/bin/sleep", &late).unwrap();
        let mut sleep = Command::new(&late).arg("600").spawn().unwrap();
        some_records();
        signal(&tally, "INT");
        let ran = crate::support::ran(tally.wait_with_output().unwrap());
        sleep.kill().unwrap();
        sleep.wait().unwrap();
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert_eq!(ran.err.contains("came too late"), !has_it, "{}", ran.err);
        let columns = crate::support::tally(&["info", "--columns", &log]).data();
        assert_eq!(columns.contains("(latecomer)"), has_it, "{columns}");
        fs::remove_file(&late).unwrap();
    }
}

/// Kills a recorder without notice, and gives back how many records its log has then.
fn killed(mut child: Child, log: &str) -> u64 {
    until("the first records", || fs::metadata(log).is_ok_and(|file| file.len() > 2000));
    child.kill().unwrap();
    child.wait().unwrap();
    // The last record may be torn, which is told as damage.
    let info: serde_json::Value = serde_json::from_str(&tally(&["info", "--json", log]).out).unwrap();
    info["records"].as_u64().unwrap()
}

#[test]
fn a_killed_recorder_leaves_a_log() {
    let folder = Folder::new();
    let log = folder.file("killed.tally");
    let child = clean(crate::support::TALLY)
        .args(["watch", r"\Process(*)\*", PROCESSOR_TIME, "-i", "10ms", "-o", &log])
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let kept = killed(child, &log);
    assert!(kept > 0, "every record is written when it was taken");
    // For another format the recording is there under its own name.
    let blg = folder.file("killed.blg");
    let recording = folder.file("killed.blg.recording.tally");
    let child = clean(crate::support::TALLY)
        .args(["watch", r"\Process(*)\*", "-i", "10ms", "-o", &blg])
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    assert!(killed(child, &recording) > 0);
    assert!(!fs::exists(&blg).unwrap());
    let ran = tally(&["relog", &recording, "-o", &blg]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(records(&blg).1, "blg");
}

/// Each call that writes the log, or brings it to the disk, may be the last one of the recorder.
#[test]
fn a_recorder_may_be_killed_at_every_write() {
    let Some(strace) = peer("strace") else { return };
    let folder = Folder::new();
    for call in ["write", "fdatasync"] {
        let mut before = 0;
        for nth in 1.. {
            let log = folder.file(&format!("{call}{nth}.tally"));
            let status = clean(&strace)
                .args(["-f", "-qq", "-o", "/dev/null", "-P", &log, "-e", &format!("trace={call}")])
                .args(["-e", &format!("inject={call}:signal=KILL:when={nth}"), crate::support::TALLY])
                .args(["watch", AVAILABLE, "-i", "10ms", "-c", "20", "-o", &log])
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .status()
                .unwrap();
            let whole = status.success();
            // The head of the file is one write, so that nothing is there before it.
            let kept = if fs::metadata(&log).unwrap().len() == 0 { 0 } else { records(&log).0 };
            // One more write keeps at most one more record: nothing waits for the records after it.
            let is_next = call != "write" || kept <= before + 1;
            assert!(kept >= before && is_next, "{call} {nth}: {kept} records, and {before} before");
            before = kept;
            if whole {
                assert!(nth > 1 && (call != "write" || nth > 20), "{call}: {nth} calls");
                break;
            }
        }
        assert_eq!(before, 20);
    }
}

#[test]
fn typeperf_writes_binary_logs() {
    let folder = Folder::new();
    for (format, name, wanted) in [("BIN", "t.blg", "blg"), ("SQL", "t.sqlite", "sqlite")] {
        let log = folder.file(name);
        let ran = tally(&[
            "compat",
            "typeperf",
            PROCESSOR_TIME,
            "-si",
            "0.05",
            "-sc",
            "3",
            "-f",
            format,
            "-o",
            &log,
        ]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        has(&ran.err, &["The command completed successfully."]);
        assert_eq!(records(&log), (3, wanted.to_string()));
    }
    let words = tally(&["compat", "typeperf", PROCESSOR_TIME, "-sc", "1", "-f", "BIN"]).words(2);
    has(&words, &["-o"]);
}

/// A folder for sessions, which go with it however a test ends.
pub(crate) struct Sessions(pub(crate) Folder);

impl Sessions {
    pub(crate) fn new() -> Sessions {
        Sessions(Folder::new())
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = clean(crate::support::TALLY);
        command.arg("log").args(words).env("TALLYMON_ROOT", self.0.path());
        command
    }

    pub(crate) fn log(&self, words: &[&str]) -> Ran {
        crate::support::ran(self.command(words).output().unwrap())
    }

    pub(crate) fn status(&self, name: &str) -> serde_json::Value {
        self.log(&["show", name, "--json"]).json()
    }

    /// The logs of a session that are there.
    pub(crate) fn logs(&self, name: &str) -> Vec<String> {
        let status = self.status(name);
        let logs = status["logs"].as_array().unwrap();
        logs.iter().map(|log| log["path"].as_str().unwrap().to_string()).collect()
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        let names = self.log(&["list", "--json"]).out;
        let names: serde_json::Value = serde_json::from_str(&names).unwrap_or_default();
        for session in names.as_array().into_iter().flatten() {
            self.log(&["stop", session["name"].as_str().unwrap()]);
        }
    }
}

#[test]
fn a_session_records_until_it_is_stopped() {
    let sessions = Sessions::new();
    let said =
        words_of(sessions.log(&["start", "web 1", "-c", PROCESSOR_TIME, "-c", AVAILABLE, "-i", "50ms"]));
    has(&said, &["\"web 1\"", "an hour"]);
    until("records", || sessions.status("web 1")["records"].as_u64().unwrap() > 5);
    has(&sessions.log(&["list"]).data(), &["web 1  recording"]);
    has(&sessions.log(&["start", "web 1"]).words(1), &["recording already"]);
    has(&sessions.log(&["delete", "web 1"]).words(1), &["is recording"]);
    has(&words_of(sessions.log(&["stop", "web 1"])), &["records"]);
    has(&sessions.log(&["show", "web 1"]).data(), &["web 1, stopped", PROCESSOR_TIME, "one every 0.050 s"]);
    let logs = sessions.logs("web 1");
    assert_eq!(logs.len(), 1);
    assert!(records(&logs[0]).0 > 5);
    // It begins again with a new log.
    words_of(sessions.log(&["start", "web 1"]));
    words_of(sessions.log(&["stop", "web 1"]));
    assert_eq!(sessions.logs("web 1").len(), 2);
    has(&words_of(sessions.log(&["delete", "web 1"])), &["its logs are in"]);
    assert!(fs::exists(&logs[0]).unwrap(), "what was recorded stays");
    has(&sessions.log(&["show", "web 1"]).words(3), &["no session"]);
    assert_eq!(sessions.log(&["list", "--json"]).data(), "[]\n");
}

/// What may come later is named and waited for; what no object has is refused, and leaves no session.
#[test]
fn a_counter_that_does_not_exist_yet_is_named() {
    let sessions = Sessions::new();
    let later = r"\Process(none yet)\Working Set";
    let said = words_of(sessions.log(&["start", "w", "-c", AVAILABLE, "-c", later, "-i", "10m"]));
    has(&said, &[later, "no such instance yet; the session records it as soon as it appears"]);
    assert_eq!(said.matches("no such instance").count(), 1, "{said}");
    for (path, fault) in [(r"\None Yet(*)\x", "no object \"None Yet\""), (r"\Memory\None Yet", "no counter")]
    {
        has(&sessions.log(&["start", "x", "-c", AVAILABLE, "-c", path]).words(3), &[fault]);
    }
    has(&sessions.log(&["show", "x"]).words(3), &["no session"]);
}

/// It begins with its first record, however long the second one takes.
#[test]
fn a_session_that_is_slow_begins_at_once() {
    let sessions = Sessions::new();
    words_of(sessions.log(&["start", "slow", "-c", AVAILABLE, "-i", "10m"]));
    assert_eq!(sessions.status("slow")["records"], 1);
    words_of(sessions.log(&["stop", "slow"]));
    assert_eq!(records(&sessions.logs("slow")[0]).0, 1);
}

#[test]
fn a_killed_session_goes_on_with_its_log() {
    let sessions = Sessions::new();
    words_of(sessions.log(&["start", "s", "-c", r"\Process(*)\*", "-i", "10ms"]));
    let log = sessions.logs("s").remove(0);
    until("the first chunk", || fs::metadata(&log).is_ok_and(|file| file.len() > 5000));
    let process = sessions.status("s")["process"].to_string();
    assert!(Command::new("kill").args(["-KILL", &process]).status().unwrap().success());
    until("the end", || sessions.status("s")["status"] == "killed");
    let kept = records(&log).0;
    assert!(kept > 0);
    // A while later it is started again, as a service would be.
    thread::sleep(Duration::from_secs(1));
    words_of(sessions.log(&["start", "s"]));
    until("more records", || sessions.status("s")["records"].as_u64().unwrap() > 5);
    words_of(sessions.log(&["stop", "s"]));
    assert_eq!(sessions.logs("s"), std::slice::from_ref(&log));
    let info = tally(&["info", "--json", &log]).json();
    assert!(info["records"].as_u64().unwrap() > kept + 5, "{info}");
    let gaps = info["gaps"].as_array().unwrap();
    assert!(gaps.iter().any(|gap| gap["seconds"].as_f64().unwrap() >= 1.0), "{info}");
    assert_eq!(info["damage"].as_array().unwrap().len(), 0, "{info}");
}

#[test]
fn a_ring_keeps_the_last_logs_and_a_snapshot_keeps_them_all() {
    let sessions = Sessions::new();
    let options = ["-i", "20ms", "--rotate-time", "200ms", "--segments", "3"];
    words_of(sessions.log(&[&["start", "ring", "-c", PROCESSOR_TIME], &options[..]].concat()));
    let numbers = || {
        let status = sessions.status("ring");
        let logs = status["logs"].as_array().unwrap();
        logs.iter().map(|log| log["number"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    until("the first log to go", || numbers().first().is_some_and(|first| *first > 2));
    // A list that is made while one log goes and the next one comes may have both.
    until("at most three logs", || numbers().len() <= 3);
    let kept = sessions.0.file("kept.csv");
    let said = words_of(sessions.log(&["snapshot", "ring", "-o", &kept]));
    has(&said, &["kept.csv"]);
    let (count, format) = records(&kept);
    assert_eq!(format, "csv");
    // A busy machine takes fewer than ten records in 200 ms, but at least one for each log.
    assert!((2..=40).contains(&count), "two or three logs of at most ten records: {count}");
    let little = sessions.0.file("little.tally");
    words_of(sessions.log(&["snapshot", "ring", "-o", &little, "--last", "100ms"]));
    assert!(records(&little).0 < count);
    words_of(sessions.log(&["stop", "ring"]));
    assert!(records(&kept).0 == count, "it does not change any more");
}

#[test]
fn other_formats_are_made_of_complete_logs() {
    let sessions = Sessions::new();
    let options = ["-i", "20ms", "-f", "blg", "--rotate-time", "200ms", "--samples", "25"];
    words_of(sessions.log(&[&["start", "b", "-c", r"\Process(*)\Working Set"], &options[..]].concat()));
    until("the end", || sessions.status("b")["status"] == "stopped");
    let logs = sessions.logs("b");
    assert!(logs.len() >= 2, "{logs:?}");
    let all: Vec<_> = logs.iter().map(|log| records(log)).collect();
    assert!(all.iter().all(|(_, format)| format == "blg"), "{logs:?}");
    assert_eq!(all.iter().map(|(count, _)| count).sum::<u64>(), 25);
}

#[test]
fn sessions_wait_end_and_change() {
    let sessions = Sessions::new();
    words_of(sessions.log(&["start", "w", "--all-objects", "-i", "1s", "--begin", "2099-01-01"]));
    assert_eq!(sessions.status("w")["status"], "waiting");
    let changed =
        sessions.log(&["update", "w", "--begin", "2020-01-01", "--duration", "300ms", "-i", "50ms"]);
    assert_eq!(changed.code, Some(0), "{}", changed.err);
    until("the end", || sessions.status("w")["status"] == "stopped");
    let log = sessions.logs("w").remove(0);
    let info = tally(&["info", "--json", &log]).json();
    assert!(info["objects"].as_array().unwrap().len() > 5, "all objects: {info}");
    let over = sessions.log(&["update", "w", "--end", "2020-01-02"]);
    assert_eq!(over.code, Some(0), "{}", over.err);
    has(&sessions.log(&["start", "w"]).words(2), &["is over"]);
    // What is wrong is told at once, and leaves nothing.
    has(&sessions.log(&["start", "x", "-c", r"\Memory\Nonsense"]).words(3), &["Nonsense"]);
    has(&sessions.log(&["start", "x"]).words(2), &["nothing to record"]);
    has(&sessions.log(&["start", "../x", "--all-objects"]).words(2), &["not a name of a session"]);
    has(&sessions.log(&["update", "x", "-i", "1s"]).words(3), &["no session"]);
    has(&sessions.log(&["start", "x", "--all-objects", "--segments", "2"]).words(2), &["--rotate-time"]);
    assert_eq!(sessions.log(&["list", "--json"]).json().as_array().unwrap().len(), 1);
}

#[test]
fn settings_go_from_one_place_to_another() {
    let sessions = Sessions::new();
    words_of(sessions.log(&["start", "a", "-c", AVAILABLE, "-i", "2s", "--at-boot"]));
    let unit = fs::read_to_string(sessions.0.file("systemd/tallymon-log-a.service")).unwrap();
    has(&unit, &["ExecStart=", "log run \"a\"", "WantedBy=multi-user.target"]);
    words_of(sessions.log(&["stop", "a"]));
    let file = sessions.0.file("a.json");
    words_of(sessions.log(&["export", "a", &file]));
    has(&sessions.log(&["import", &file]).words(2), &["already"]);
    words_of(sessions.log(&["import", &file, "--name", "b"]));
    let (a, b) = (sessions.status("a"), sessions.status("b"));
    assert_eq!((&a["counters"], &a["interval"]), (&b["counters"], &b["interval"]));
    words_of(sessions.log(&["delete", "a"]));
    assert!(!fs::exists(sessions.0.file("systemd/tallymon-log-a.service")).unwrap());
    has(&sessions.log(&["import", &sessions.0.write("bad.json", b"{}")]).words(7), &["\"name\" is missing"]);
}

#[test]
fn systemd_takes_the_unit_of_a_session() {
    let Some(systemd) = peer("systemd-analyze") else { return };
    let sessions = Sessions::new();
    words_of(sessions.log(&["start", "a b-c", "-c", AVAILABLE, "--at-boot"]));
    let unit = sessions.0.file(r"systemd/tallymon-log-a\x20b\x2dc.service");
    let verify = || Command::new(&systemd).args(["verify", &unit]).output().unwrap();
    let said = verify();
    let words = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.status.success() && !words.contains("tallymon-log"), "{words}");
    // It looks for the program, too.
    let text = fs::read_to_string(&unit).unwrap();
    fs::write(&unit, text.replace("/tally\"", "/missing\"")).unwrap();
    assert!(!verify().status.success(), "{text}");
}

/// Runs the command where a file can have so many blocks of 512 bytes, and where it hears of that.
fn with_little_room(words: &str, blocks: u32, root: &Folder) -> Child {
    let line = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" {words}");
    let mut command = clean("sh");
    command.args(["-c", &line, crate::support::TALLY]).env("TALLYMON_ROOT", root.path());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_full_disk_costs_nothing_that_was_recorded_before() {
    let folder = Folder::new();
    let log = folder.file("full.tally");
    // Not of processes: how much those change depends on what else runs here.
    let child = with_little_room(&format!("watch '\\Processor(*)\\*' -i 10ms -o {log}"), 32, &folder);
    let ran = crate::support::ran(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    has(&ran.err, &["full.tally"]);
    assert!(fs::metadata(&log).unwrap().len() <= 32 * 512);
    let info = tally(&["info", "--json", &log]).json();
    assert!(info["records"].as_u64().unwrap() > 50, "{info}");
    // A session goes on trying, and says what is wrong.
    let sessions = Sessions(folder);
    let start = with_little_room("log start f -c '\\Processor(*)\\*' -i 10ms", 32, &sessions.0);
    assert_eq!(crate::support::ran(start.wait_with_output().unwrap()).code, Some(0));
    until("the error", || sessions.status("f")["errors"].as_u64().unwrap() > 0);
    assert_eq!(sessions.status("f")["status"], "recording");
    let said = sessions.log(&["stop", "f"]).err;
    has(&said, &["errors, the last one:", "f_000001.tally"]);
    assert!(records(&sessions.logs("f")[0]).0 > 50);
}

/// Without systemd nothing can start a session with the machine; no session is left behind.
#[test]
fn at_boot_without_systemd_leaves_nothing() {
    if std::path::Path::new("/run/systemd/system").is_dir() {
        return tallymon_testkit::skip("systemd runs here");
    }
    let folder = Folder::new();
    // The folders of the user, because TALLYMON_ROOT stands in for those of systemd, too.
    let log = |words: &[&str]| {
        tally_with(&[&["log"], words].concat(), |command| {
            for name in ["XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "HOME"] {
                command.env(name, folder.path());
            }
            command.env_remove("TALLYMON_ROOT");
        })
    };
    let name = format!("boot-{}", std::process::id());
    has(&log(&["start", &name, "-c", AVAILABLE, "--at-boot"]).words(1), &["--at-boot needs systemd"]);
    assert_eq!(log(&["show", &name]).code, Some(3));
}
