//! Recording sessions, as the monitor shows them. The caller implements [`Sessions`]; the monitor opens no
//! session files.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use tallymon::core::time::FileTime;
use tallymon::record::session::Alert;

/// The state of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionState {
    /// It writes records.
    Recording,
    /// It waits for its start time.
    Waiting,
    /// It was stopped.
    Stopped,
    /// Its process was killed or crashed.
    Killed,
}

/// A session and its numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: SessionState,
    /// Time between two records.
    pub interval: Duration,
    /// Counter paths; empty when all objects are recorded.
    pub counters: Vec<String>,
    /// Folder of its logs.
    pub folder: PathBuf,
    /// The newest of its logs.
    pub log: Option<PathBuf>,
    /// How many logs there are.
    pub logs: usize,
    /// Bytes of all its logs.
    pub bytes: u64,
    /// Records since its last start.
    pub records: u64,
    /// The time of the last record.
    pub last: Option<FileTime>,
    /// Records and logs that could not be written.
    pub errors: u64,
    /// The last error, in words.
    pub last_error: Option<String>,
    /// The limits of its alerts, such as `PATH > 90`.
    pub limits: Vec<String>,
    /// Alerts that began since its last start.
    pub alerts: u64,
    /// The latest alerts that began or ended, oldest first.
    pub latest_alerts: Vec<Alert>,
}

/// A session to be made, as the user wrote it: empty texts have their defaults.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewSession {
    /// Its name.
    pub name: String,
    /// Counter paths.
    pub counters: Vec<String>,
    /// Record all objects.
    pub all_objects: bool,
    /// Time between two records, such as `15s`.
    pub interval: String,
    /// Format of its logs.
    pub format: String,
    /// Folder of its logs.
    pub folder: String,
    /// When it begins, as `2026-11-21T08:30:00Z`; at once if empty.
    pub begin: String,
    /// When it ends.
    pub end: String,
    /// How long it records.
    pub duration: String,
    /// A new log begins when one has this size, such as `100M`.
    pub rotate_size: String,
    /// A new log begins after this time, such as `1h`.
    pub rotate_time: String,
    /// So many logs are kept.
    pub segments: String,
    /// The most bytes of all its logs, such as `2G`.
    pub max_size: String,
    /// The limit of its alert, such as `PATH > 90`.
    pub limit: String,
    /// How long values have to be over the limit.
    pub after: String,
    /// Write an event at an alert.
    pub event: bool,
    /// The session to start when an alert begins.
    pub start: String,
    /// The command line to run when an alert begins or ends.
    pub run: String,
    /// The address to post to when an alert begins or ends.
    pub webhook: String,
}

/// How much a session would write.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Estimate {
    /// Bytes that an hour of records takes at most, in the native format.
    pub bytes_an_hour: f64,
    /// The most bytes that its logs have together; `None` if it goes on without an end.
    pub most_bytes: Option<f64>,
}

/// Lists, makes, starts, stops and deletes sessions. Calls may take long: the monitor makes them on threads.
/// Errors are messages for the user.
pub trait Sessions: fmt::Debug + Send + Sync {
    /// All sessions, by name.
    ///
    /// # Errors
    ///
    /// The sessions cannot be read.
    fn list(&self) -> Result<Vec<Session>, String>;

    /// Makes a session and starts it; returns what to say about it.
    ///
    /// # Errors
    ///
    /// A text or a counter is wrong, there is such a session, or it cannot be started.
    fn create(&self, wanted: &NewSession) -> Result<String, String>;

    /// How much a session would write, by two samples of its counters. It makes nothing.
    ///
    /// # Errors
    ///
    /// A text or a counter is wrong, or the source does not answer.
    fn estimate(&self, wanted: &NewSession) -> Result<Estimate, String>;

    /// Deletes a session that does not record. Its logs stay; returns what to say about them.
    ///
    /// # Errors
    ///
    /// There is no such session, or it records.
    fn delete(&self, name: &str) -> Result<String, String>;

    /// Starts a session that does not record, and waits until it does.
    ///
    /// # Errors
    ///
    /// There is no such session, or it cannot be started.
    fn start(&self, name: &str) -> Result<(), String>;

    /// Stops a session, and waits until its logs are complete.
    ///
    /// # Errors
    ///
    /// There is no such session, or it does not answer.
    fn stop(&self, name: &str) -> Result<(), String>;

    /// The logs of a session, oldest first, complete up to now.
    ///
    /// # Errors
    ///
    /// There is no such session, or its logs have a format that cannot be read.
    fn logs(&self, name: &str) -> Result<Vec<PathBuf>, String>;
}
