//! Recordings that others hurt: two writers, logs that are deleted or cut, and a full disk.
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use tallymon::clock::LocalZone;
use tallymon::core::time::FileTime;
use tallymon::log::native::WriteOptions;
use tallymon::log::new_file::Overwrite;
use tallymon::log::{ReadOptions, info, open};
use tallymon::record::session::{
    SessionError, SessionQuery, SessionSettings, SessionState, SessionStore, record,
};
use tallymon::record::{Existing, RollingRecorder, Rotation};
use tallymon::{Location, Query, Recorder};
use tallymon_testkit::{Scratch, attack, open_files_can_be_deleted, shared, skip};

/// A block of a Windows machine with processors.
const BLOCK: &str = "blocks/s00_obj238.bin";
const PATH: &str = r"\Processor(*)\% Processor Time";
const SECOND: u64 = 10_000_000;

fn query() -> Option<Query> {
    let mut query = Query::open(&Location::File(shared(BLOCK)?)).unwrap();
    query.add(PATH).unwrap();
    query.collect().unwrap();
    Some(query)
}

fn at(second: u64) -> (FileTime, FileTime) {
    let time = FileTime(133_000_000_000_000_000 + second * SECOND);
    (time, FileTime(time.0 + 1_000))
}

fn records(log: &Path) -> u64 {
    let mut reader = open(log, &ReadOptions::default()).unwrap();
    std::iter::from_fn(|| reader.next_record().unwrap()).map(|_| 1).sum()
}

fn rolling(folder: &Path) -> RollingRecorder {
    let folder = folder.to_path_buf();
    let path_of = move |number| folder.join(format!("r_{number}.tally"));
    RollingRecorder::new(path_of, 1, Existing::Append, Rotation::default(), LocalZone::utc())
}

#[test]
fn attack_a_second_recorder_of_a_file_is_refused() {
    let Some(query) = query() else { return };
    let folder = Scratch::new();
    let path = folder.join("one.tally");
    let mut first = Recorder::create(&path, Overwrite::Replace, WriteOptions::default()).unwrap();
    first.choose(&query);
    first.record(query.snapshot().unwrap(), 0, at(0)).unwrap();
    let holder = format!("process {}", std::process::id());
    for second in [
        Recorder::create(&path, Overwrite::Replace, WriteOptions::default()),
        Recorder::append_to(&path, WriteOptions::default()),
    ] {
        let words = second.err().unwrap().to_string();
        assert!(words.contains("another recorder") && words.contains("one.tally"), "{words}");
        assert!(!cfg!(target_os = "linux") || words.contains(&holder), "{words}");
    }
    first.record(query.snapshot().unwrap(), 0, at(1)).unwrap();
    assert_eq!(records(&path), 2);
    drop(first);
    // A recorder that ended, however that was, is in nobody's way.
    let mut next = Recorder::append_to(&path, WriteOptions::default()).unwrap();
    next.choose(&query);
    next.record(query.snapshot().unwrap(), 0, at(2)).unwrap();
    assert_eq!(records(&path), 3);
    drop(next);
    drop(Recorder::create(&path, Overwrite::Replace, WriteOptions::default()).unwrap());
    attack(
        "Recordings",
        "a second recorder takes the file of the first",
        "refused, with the process of the first",
    );
}

#[test]
fn attack_a_log_that_is_changed_while_it_is_recorded_is_named() {
    let Some(query) = query() else { return };
    type Change = fn(&Path);
    let changes: [(&str, Change, u64); 5] = [
        ("deleted", |path| fs::remove_file(path).unwrap(), 0),
        ("deleted, moved", |path| fs::rename(path, path.with_extension("moved")).unwrap(), 0),
        (
            "replaced",
            |path| {
                fs::write(path.with_extension("other"), "x").unwrap();
                fs::rename(path.with_extension("other"), path).unwrap();
            },
            0,
        ),
        ("cut to 100 of", |path| OpenOptions::new().write(true).open(path).unwrap().set_len(100).unwrap(), 0),
        (
            "another program wrote",
            |path| {
                let length = fs::metadata(path).unwrap().len();
                OpenOptions::new().write(true).open(path).unwrap().set_len(length + 9).unwrap();
            },
            3,
        ),
    ];
    let can_delete = open_files_can_be_deleted();
    for (words, change, left) in changes {
        if matches!(words, "deleted" | "replaced") && !can_delete {
            continue;
        }
        let folder = Scratch::new();
        let mut recorder = rolling(&folder);
        recorder.choose(&query);
        for second in 0..3 {
            recorder.record(query.snapshot().unwrap(), at(second)).unwrap();
        }
        change(&folder.join("r_1.tally"));
        for second in 3..7 {
            recorder.record(query.snapshot().unwrap(), at(second)).unwrap();
            assert_eq!(recorder.number(), 2);
        }
        let troubles = recorder.troubles();
        assert!(troubles.len() == 1 && troubles[0].contains(words), "{words}: {troubles:?}");
        assert!(troubles[0].contains("r_1.tally") && recorder.troubles().is_empty(), "{troubles:?}");
        assert_eq!(records(&folder.join("r_2.tally")), 4, "{words}");
        if left > 0 {
            assert_eq!(records(&folder.join("r_1.tally")), left, "{words}");
        }
        assert_eq!((recorder.counts().recorded, recorder.counts().lost), (7, 0));
        if !can_delete {
            continue;
        }
        // A recorder of one file says it, and stops.
        let one = folder.join("one.tally");
        let mut recorder = Recorder::create(&one, Overwrite::Never, WriteOptions::default()).unwrap();
        recorder.choose(&query);
        recorder.record(query.snapshot().unwrap(), 0, at(0)).unwrap();
        fs::remove_file(&one).unwrap();
        let error = recorder.record(query.snapshot().unwrap(), 0, at(1)).unwrap_err().to_string();
        assert!(error.contains("deleted") && error.contains("one.tally"), "{error}");
    }
    attack(
        "Recordings",
        "a log is deleted, moved, replaced, cut or written to while it is recorded",
        "named at the next record, which begins the next log",
    );
}

/// Where the recording of the test below goes, and the milliseconds between two syncs.
const SYNCED: (&str, &str) = ("TALLYMON_SYNC_LOG", "TALLYMON_SYNC");

#[test]
fn the_recording_that_is_synced() {
    // Does something only when the test below starts it.
    let Some(log) = std::env::var_os(SYNCED.0) else { return };
    let every = std::env::var(SYNCED.1).unwrap().parse().unwrap();
    let query = query().unwrap();
    let mut recorder =
        Recorder::create(Path::new(&log), Overwrite::Replace, WriteOptions::default()).unwrap();
    recorder.sync_every(Duration::from_millis(every));
    recorder.choose(&query);
    for second in 0..20 {
        recorder.record(query.snapshot().unwrap(), 0, at(second)).unwrap();
    }
    // The power fails.
    std::process::abort();
}

#[test]
#[cfg(target_os = "linux")]
fn attack_power_fails() {
    let Some(strace) = tallymon_testkit::peer("strace") else { return };
    if shared(BLOCK).is_none() {
        return;
    }
    let folder = Scratch::new();
    let (log, calls) = (folder.join("p.tally"), folder.join("calls"));
    // Records that are not on the disk when the power fails, at most and at the end.
    let unsynced = |every: &str| {
        let mut command = Command::new(&strace);
        command.args(["-f", "-qq", "-s", "0", "-e", "trace=write,fdatasync,fsync", "-P"]).arg(&log).arg("-o");
        command.arg(&calls).arg(std::env::current_exe().unwrap());
        command.args(["--exact", "the_recording_that_is_synced"]).env(SYNCED.0, &log).env(SYNCED.1, every);
        command.output().unwrap();
        assert_eq!(records(&log), 20);
        let (mut now, mut most) = (0, 0);
        for line in fs::read_to_string(&calls).unwrap().lines() {
            if line.contains("sync(") {
                now = 0;
            } else if line.contains("write(") {
                now += 1;
            }
            most = most.max(now);
        }
        (now, most)
    };
    let (now, most) = unsynced("0");
    // The first record comes with the head of the file and with its name.
    assert!(now == 0 && most <= 3, "{now} {most}");
    // The default is 10 s, and nothing is synced before.
    let (now, most) = unsynced("3600000");
    assert!(now >= 19 && most == now, "{now} {most}");
    attack(
        "Recordings",
        "power fails",
        "at most what was recorded since the last sync is lost (--sync, 10 s)",
    );
}

fn started(store: &SessionStore, name: &'static str) -> Receiver<Result<(), SessionError>> {
    let (done, end) = channel();
    let store = store.clone();
    let block = shared(BLOCK).unwrap();
    let open = move |settings: &SessionSettings| -> Result<SessionQuery, SessionError> {
        let mut query = Query::open(&Location::File(block.clone()))?;
        for path in &settings.counters {
            query.add(path)?;
        }
        Ok(query.into())
    };
    let wait = |until: Instant| {
        thread::sleep(until.saturating_duration_since(Instant::now()));
        true
    };
    thread::spawn(move || done.send(record(&store, name, open, (), wait)));
    end
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(2));
    }
}

fn settings(store: &SessionStore, name: &str) -> SessionSettings {
    let mut settings = SessionSettings::new(name, store.default_folder(name));
    settings.counters = vec![PATH.to_string()];
    settings.interval = Duration::from_millis(1);
    settings
}

#[test]
fn a_session_goes_on_without_its_log_and_says_so() {
    if shared(BLOCK).is_none() || !open_files_can_be_deleted() {
        return;
    }
    let folder = Scratch::in_memory();
    let store = SessionStore::in_folder(&folder);
    let settings = settings(&store, "gone");
    store.write(&settings).unwrap();
    let end = started(&store, "gone");
    until("records", || store.status("gone").records > 5);
    fs::remove_file(settings.segment(1)).unwrap();
    until("the next log", || store.status("gone").segment == Some(2));
    let status = store.status("gone");
    let words = status.last_error.unwrap();
    assert!(words.contains("deleted") && words.contains("gone_000001.tally"), "{words}");
    // A name of a socket is shorter than one of a session may be.
    store.stop("gone").unwrap();
    end.recv().unwrap().unwrap();
    let status = store.status("gone");
    assert_eq!(status.errors, 1, "{:?}", status.last_error);
    assert!(records(&settings.segment(2)) > 0);
}

#[test]
fn a_session_with_a_long_name_answers_too() {
    if shared(BLOCK).is_none() {
        return;
    }
    const LONG: &str =
        "a session whose name is as long as a name of a session may be so that no socket can have it";
    let folder = Scratch::in_memory();
    let deep = folder.join("folder-of-a-long-name".repeat(8));
    fs::create_dir_all(&deep).unwrap();
    let store = SessionStore::in_folder(&deep);
    store.write(&settings(&store, LONG)).unwrap();
    let end = started(&store, LONG);
    until("records", || store.status(LONG).records > 5);
    store.stop(LONG).unwrap();
    end.recv().unwrap().unwrap();
    assert_eq!(store.state(LONG), SessionState::Stopped);
}

#[test]
fn attack_a_full_disk_costs_only_what_has_no_room_and_the_counts_are_true() {
    if shared(BLOCK).is_none() {
        return;
    }
    let folder = Scratch::new();
    let disk = folder.join("disk");
    fs::create_dir_all(&disk).unwrap();
    let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=128k", "none"]).arg(&disk).output();
    if !mount.is_ok_and(|output| output.status.success()) {
        skip("a small file system cannot be mounted here, so that no disk can be full");
        return;
    }
    // Logs, settings and state are all on the small disk.
    let store = SessionStore::in_folder(&disk);
    let settings = settings(&store, "full");
    store.write(&settings).unwrap();
    let end = started(&store, "full");
    until("records", || store.status("full").records > 5);
    // Somebody else fills it.
    fs::write(disk.join("other"), vec![1; 1 << 20]).unwrap_err();
    until("records without room", || store.status("full").lost > 0);
    let status = store.status("full");
    assert!(status.held <= 120 && status.errors > 0, "{status:?}");
    assert!(status.last_error.unwrap().contains("full_000001.tally"));
    let written = status.records;
    // There is room again.
    fs::remove_file(disk.join("other")).unwrap();
    until("records again", || store.status("full").records > written + 200);
    fs::write(disk.join("other"), vec![1; 1 << 20]).unwrap_err();
    until("the disk is full again", || store.status("full").held > 0);
    // It can be stopped without room.
    store.stop("full").unwrap();
    end.recv().unwrap().unwrap();
    fs::remove_file(disk.join("other")).unwrap();
    let log = settings.segment(1);
    let known = info(&log, &ReadOptions::default()).unwrap();
    let gone = known.notes.damage.iter().filter(|damage| damage.what.contains("gone, ")).count();
    let all_are_gaps = gone == known.notes.damage.len() && gone > 0;
    fs::copy(&log, folder.join("full.tally")).unwrap();
    assert!(Command::new("umount").arg(&disk).status().unwrap().success());
    assert!(all_are_gaps, "{:?}", known.notes);
    assert!(known.records > written + 200, "{} of {written}", known.records);
    attack(
        "Recordings",
        "the disk is full",
        "the session goes on, counts what is recorded, waiting and lost, and can be stopped",
    );
}
