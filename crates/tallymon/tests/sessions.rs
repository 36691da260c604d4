//! Recording sessions: recorded on a thread of the test, and watched and stopped by a store over the same
//! folder.
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use tallymon::clock::{LocalZone, now};
use tallymon::core::time::FileTime;
use tallymon::log::new_file::Overwrite;
use tallymon::log::{Format, ReadOptions, open};
use tallymon::record::session::{
    SessionError, SessionQuery, SessionSettings, SessionState, SessionStore, record,
};
use tallymon::record::{Existing, RollingRecorder, Rotation};
use tallymon::{Location, Query};
use tallymon_testkit::{Scratch, shared};

/// A block of a Windows machine with processors.
const BLOCK: &str = "blocks/s00_obj238.bin";
const PATH: &str = r"\Processor(*)\% Processor Time";

fn settings(store: &SessionStore, name: &str) -> SessionSettings {
    let mut settings = SessionSettings::new(name, store.default_folder(name));
    settings.counters = vec![PATH.to_string()];
    settings.interval = Duration::from_millis(1);
    settings
}

fn query(block: &Path, settings: &SessionSettings) -> Result<Query, SessionError> {
    let mut query = Query::open(&Location::File(block.to_path_buf()))?;
    for path in &settings.counters {
        query.add(path)?;
    }
    Ok(query)
}

/// Records in this thread until the store is asked to stop it.
fn recorded(store: &SessionStore, name: &str, block: &Path) -> Result<(), SessionError> {
    let wait = |until: Instant| {
        thread::sleep(until.saturating_duration_since(Instant::now()));
        true
    };
    record(store, name, |settings| query(block, settings).map(Into::into), (), wait)
}

fn started(store: &SessionStore, name: &'static str, block: &Path) -> Receiver<Result<(), SessionError>> {
    let (done, end) = channel();
    let (store, block) = (store.clone(), block.to_path_buf());
    thread::spawn(move || done.send(recorded(&store, name, &block)));
    end
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(2));
    }
}

fn records(log: &Path) -> u64 {
    let mut reader = open(log, &ReadOptions::default()).unwrap();
    std::iter::from_fn(|| reader.next_record().unwrap()).map(|_| 1).sum()
}

#[test]
fn a_session_records_until_it_is_stopped() {
    let Some(block) = shared(BLOCK) else { return };
    let folder = Scratch::in_memory();
    let store = SessionStore::in_folder(&folder);
    assert!(matches!(store.read("web"), Err(SessionError::NotFound(_))));
    store.write(&settings(&store, "web")).unwrap();
    assert_eq!(
        (store.names().unwrap(), store.state("web")),
        (vec!["web".to_string()], SessionState::Stopped)
    );
    let end = started(&store, "web", &block);
    until("records", || store.status("web").records > 5);
    assert_eq!(store.state("web"), SessionState::Recording);
    // A second recorder cannot take the lock.
    assert!(matches!(recorded(&store, "web", &block), Err(SessionError::Recording(_))));
    assert!(matches!(store.delete("web"), Err(SessionError::Recording(_))));
    assert!(matches!(store.check_startable(&settings(&store, "web")), Err(SessionError::Recording(_))));
    // Everything recorded so far is in the logs.
    let known = store.status("web").records;
    let logs = store.logs(&store.read("web").unwrap()).unwrap();
    assert!(records(&logs[0]) >= known);
    assert!(store.stop("web").unwrap() && !store.stop("web").unwrap());
    end.recv().unwrap().unwrap();
    let status = store.status("web");
    assert!(status.ended && status.errors == 0, "{status:?}");
    assert_eq!(records(&logs[0]), status.records);
    let copy = store.copy("web", Some(&folder.join("copy.csv")), None, Overwrite::Never).unwrap();
    assert_eq!(copy.make(|inputs| assert_eq!(inputs, logs)).unwrap().records, status.records);
    store.delete("web").unwrap();
    assert!(logs[0].exists() && store.names().unwrap().is_empty());
}

#[test]
fn a_ring_removes_its_oldest_logs_and_converts_the_others() {
    let Some(block) = shared(BLOCK) else { return };
    let folder = Scratch::in_memory();
    let store = SessionStore::in_folder(&folder);
    let settings = SessionSettings {
        rotate_time: Some(Duration::from_millis(20)),
        segments: Some(2),
        format: Format::Csv,
        ..settings(&store, "ring")
    };
    store.write(&settings).unwrap();
    let end = started(&store, "ring", &block);
    until("the fourth log", || store.status("ring").segment >= Some(4));
    store.stop("ring").unwrap();
    end.recv().unwrap().unwrap();
    let logs = settings.logs();
    let last = store.status("ring").segment.unwrap();
    assert!(logs.iter().all(|(number, _)| *number > 1), "{logs:?}");
    assert_eq!(logs.last().unwrap().0, last);
    // Every recording has become a log.
    assert!(logs.iter().all(|(number, path)| *path == settings.segment(*number)), "{logs:?}");
}

#[test]
fn a_session_ends_by_itself() {
    let Some(block) = shared(BLOCK) else { return };
    let folder = Scratch::in_memory();
    let store = SessionStore::in_folder(&folder);
    let few = SessionSettings { samples: Some(3), ..settings(&store, "few") };
    store.write(&few).unwrap();
    recorded(&store, "few", &block).unwrap();
    assert_eq!((store.status("few").records, store.state("few")), (3, SessionState::Stopped));
    // The next run begins a new log.
    recorded(&store, "few", &block).unwrap();
    assert_eq!(few.logs().iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1, 2]);
    let small = SessionSettings { max_size: Some(1), ..settings(&store, "small") };
    store.write(&small).unwrap();
    recorded(&store, "small", &block).unwrap();
    let status = store.status("small");
    assert!(status.last_error.is_some_and(|words| words.contains("size")) && status.ended);
    let over = SessionSettings { end: Some(FileTime(1)), ..settings(&store, "over") };
    assert!(matches!(store.check_startable(&over), Err(SessionError::Over(_))));
}

#[test]
fn a_counter_that_does_not_exist_ends_a_session_with_the_reason() {
    let Some(block) = shared(BLOCK) else { return };
    let folder = Scratch::in_memory();
    let store = SessionStore::in_folder(&folder);
    let mut wrong = settings(&store, "wrong");
    wrong.counters.push(r"\Processor(*)\Nonsense".to_string());
    store.write(&wrong).unwrap();
    assert!(matches!(recorded(&store, "wrong", &block), Err(SessionError::Path(_))));
    assert!(store.status("wrong").last_error.unwrap().contains("Nonsense"));
}

#[test]
fn a_rolling_recorder_fills_one_file_after_the_other() {
    let Some(block) = shared(BLOCK) else { return };
    let folder = Scratch::in_memory();
    let path = folder.to_path_buf();
    let path_of = move |number: u32| -> PathBuf { path.join(format!("{number}.tally")) };
    let rotation = Rotation { records: Some(3), segments: Some(2), ..Rotation::default() };
    let mut recorder = RollingRecorder::new(path_of, 1, Existing::Replace, rotation, LocalZone::utc());
    let mut query = Query::open(&Location::File(block)).unwrap();
    query.add(PATH).unwrap();
    query.collect().unwrap();
    recorder.choose(&query);
    let mut closed = Vec::new();
    for _ in 0..7 {
        recorder.record(query.snapshot().unwrap(), (now(), now())).unwrap();
        if recorder.is_full() {
            let full = recorder.close().unwrap();
            full.sealed.unwrap();
            closed.push((full.number, records(&full.path)));
        }
    }
    assert_eq!(closed, [(1, 3), (2, 3)]);
    assert_eq!((recorder.number(), recorder.first_kept(), recorder.records()), (3, 2, 1));
    assert_eq!(records(&recorder.close().unwrap().path), 1);
    assert!(recorder.close().is_none());
}

#[test]
fn a_session_goes_on_looking_for_missing_counters() {
    let Some(block) = shared(BLOCK) else { return };
    let folder = Scratch::in_memory();
    let store = SessionStore::in_folder(&folder);
    let settings = SessionSettings { await_missing: true, ..settings(&store, "later") };
    store.write(&settings).unwrap();
    let wait = |until: Instant| {
        thread::sleep(until.saturating_duration_since(Instant::now()));
        true
    };
    let (path, other) = (PATH.replace("Processor Time", "User Time"), PATH);
    let (asking, block_of) = (store.clone(), block.clone());
    // How many counters are there, and how often somebody looked when both were.
    let (there, complete) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (is_there, looks) = (there.clone(), complete.clone());
    let recorder = thread::spawn(move || {
        let open = |_: &SessionSettings| {
            let there = is_there.load(Ordering::SeqCst);
            looks.fetch_add(usize::from(there == 2), Ordering::SeqCst);
            let mut query = Query::open(&Location::File(block_of.clone()))?;
            for path in [&path[..], other].into_iter().take(there) {
                query.add(path).unwrap();
            }
            // The first one comes after the first look.
            is_there.fetch_max(1, Ordering::SeqCst);
            Ok(SessionQuery { query, missing: 2 - there })
        };
        record(&asking, "later", open, (), wait).unwrap();
    });
    let columns = || {
        let logs = store.logs(&settings).unwrap_or_default();
        let log = logs.first().and_then(|log| open(log, &ReadOptions::default()).ok());
        let mut log = log?;
        while log.next_record().unwrap().is_some() {}
        let paths = log.about().columns.iter().map(|column| column.path.clone());
        Some(paths.collect::<Vec<String>>())
    };
    until("the first counter", || store.status("later").records > 0);
    assert!(columns().unwrap().iter().all(|path| path.contains("User Time")));
    there.store(2, Ordering::SeqCst);
    until("both counters", || {
        columns().is_some_and(|paths| paths.iter().any(|path| path.contains("Processor Time")))
    });
    store.stop("later").unwrap();
    recorder.join().unwrap();
    // Once everything is there, nobody looks again.
    assert_eq!(complete.load(Ordering::SeqCst), 1);
}
