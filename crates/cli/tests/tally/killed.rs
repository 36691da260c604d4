//! A recording command is killed at its system calls: at most the record that is being taken is lost.
//!
//! strace kills it, one run for each call. Its list of calls also says how many samples were begun: a judge
//! that knows nothing of the log.

use std::collections::HashMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Mutex;

use tallymon::log::{ReadOptions, open};
use tallymon_testkit::{attack, attack_count, peer};

use super::support::{AVAILABLE, Folder, TALLY, clean};

/// The file that the kernel is asked for once in each sample of [`AVAILABLE`].
const READ: &str = "pread64";
const FILE: &str = "</proc/meminfo>";

/// Recordings at a time: they wait most of the time.
const WORKERS: usize = 4;

/// A recording that is traced again and again, in a folder of its own.
struct Recording {
    folder: Folder,
    strace: PathBuf,
    rows: usize,
}

impl Recording {
    fn new(strace: &Path, rows: usize) -> Recording {
        Recording { folder: Folder::new(), strace: strace.to_path_buf(), rows }
    }

    fn log(&self) -> String {
        self.folder.file("k.tally")
    }

    /// Records under strace; returns the lines of its main thread.
    fn run(&self, options: &[&str]) -> (ExitStatus, Vec<String>) {
        let (log, calls, rows) = (self.log(), self.folder.file("calls"), self.rows.to_string());
        let _ = fs::remove_file(&log);
        let mut command = clean(self.strace.to_str().unwrap());
        command.args(["-f", "-y", "-qq", "-s", "0", "-o", &calls]).args(options).arg(TALLY);
        command.args(["watch", "-i", "10ms", "-c", &rows, "-o", &log, AVAILABLE]);
        command.env("TALLYMON_ROOT", self.folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
        let status = command.status().unwrap();
        let text = String::from_utf8_lossy(&fs::read(&calls).unwrap()).into_owned();
        let main = text.split_whitespace().next().unwrap_or_default();
        let lines =
            text.lines().filter_map(|line| line.strip_prefix(main)).map(|line| line.trim().to_owned());
        (status, lines.collect())
    }

    /// How many records the log has, all of which must be sound; none if there is no log yet.
    fn records(&self) -> usize {
        let path = self.log();
        if fs::metadata(&path).map_or(0, |metadata| metadata.len()) == 0 {
            return 0;
        }
        let mut log = open(path.as_ref(), &ReadOptions::default()).unwrap();
        let records: Vec<_> = std::iter::from_fn(|| log.next_record().unwrap()).collect();
        assert!(records.is_sorted_by_key(|record| record.time));
        let mut cells = records.iter().flat_map(|record| &record.cells);
        assert!(cells.all(|cell| cell.is_ok_and(|one| one.first > 0)));
        let notes = &log.about().notes;
        assert!(notes.damage_count <= 1, "{notes:?}");
        records.len()
    }

    /// Every call from the one that makes the file, with its number among the calls of its name, as strace
    /// counts them, and the number of samples that were begun before.
    fn calls(&self) -> Vec<(String, usize, usize)> {
        let (status, lines) = self.run(&[]);
        assert!(status.success(), "{status}");
        assert_eq!(
            (begun(&lines), self.records()),
            (self.rows, self.rows),
            "one read of {FILE} is one sample"
        );
        let (log, mut counts, mut calls) = (self.log(), HashMap::<&str, usize>::new(), Vec::new());
        for (at, line) in lines.iter().enumerate() {
            // The end of a call that another thread interrupted has no name: `<... fstat resumed>, {… makedev(`.
            let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            let Some((name, _)) = line.split_once('(').filter(|(name, _)| is_name(name)) else { continue };
            let number = counts.entry(name).or_default();
            *number += 1;
            if !calls.is_empty() || name == "openat" && line.contains(&log) && line.contains("O_CREAT|O_EXCL")
            {
                calls.push((name.to_owned(), *number, begun(&lines[..at])));
            }
        }
        calls
    }
}

/// How many samples were begun.
fn begun(lines: &[String]) -> usize {
    lines.iter().filter(|line| line.starts_with(READ) && line.contains(FILE)).count()
}

/// What came of the calls at which recordings were killed.
#[derive(Default)]
struct Outcome {
    tried: usize,
    killed: usize,
    lost: usize,
}

/// Kills a recording at some calls, each time in a new run.
fn kill_at(recording: &Recording, calls: &[(String, usize, usize)], outcome: &Mutex<Outcome>) {
    for (name, number, _) in calls {
        let kill = format!("inject={name}:signal=KILL:when={number}");
        let (status, lines) = recording.run(&["-e", &kill]);
        let (begun, found) = (begun(&lines), recording.records());
        assert!(found <= begun && begun <= found + 1, "{kill}: {found} records of {begun}");
        let mut outcome = outcome.lock().unwrap();
        outcome.tried += 1;
        outcome.killed += usize::from(status.signal() == Some(9));
        outcome.lost += begun - found;
    }
}

#[test]
fn attack_a_recording_command_is_killed_at_each_of_its_system_calls() {
    let Some(strace) = peer("strace") else { return };
    let outcome = Mutex::new(Outcome::default());
    // A short recording; and the part of a longer one in which a chunk takes the place of its rows.
    for (rows, from) in [(12, 0), (123, 117)] {
        let recordings: Vec<Recording> = (0..WORKERS).map(|_| Recording::new(&strace, rows)).collect();
        let mut calls = recordings[0].calls();
        calls.retain(|(.., begun)| *begun >= from);
        let some: Vec<_> = calls.into_iter().step_by(attack_count(7, 1)).collect();
        let (outcome, share) = (&outcome, some.len().div_ceil(WORKERS));
        std::thread::scope(|scope| {
            for (recording, calls) in recordings.iter().zip(some.chunks(share)) {
                scope.spawn(move || kill_at(recording, calls, outcome));
            }
        });
    }
    let Outcome { tried, killed, lost } = outcome.into_inner().unwrap();
    println!("{killed} of {tried} were killed; {lost} of these lost the record that was being taken");
    // The number of some calls depends on the moment.
    assert!(killed > tried / 2 && lost > 0 && lost < killed, "{tried} {killed} {lost}");
    attack(
        "Recordings",
        "the command that records is killed at each of its system calls",
        "at most the record that is being taken is lost; the log can be read",
    );
}
