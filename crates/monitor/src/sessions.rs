//! Recording sessions, as the monitor shows them. Whoever keeps them implements [`Sessions`]; the monitor opens no files of theirs.

use std::path::PathBuf;
use std::time::Duration;

use tallymon::core::time::FileTime;

/// What a session does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionState {
    /// It writes records.
    Recording,
    /// It waits for its beginning.
    Waiting,
    /// It was ended.
    Stopped,
    /// Its process is gone and did not end as it should.
    Killed,
}

/// A session at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its name.
    pub name: String,
    /// What it does.
    pub state: SessionState,
    /// Time between two records.
    pub interval: Duration,
    /// Counter paths; nothing when all objects are recorded.
    pub counters: Vec<String>,
    /// Folder of its logs.
    pub folder: PathBuf,
    /// How many logs there are.
    pub logs: usize,
    /// Bytes of all its logs.
    pub bytes: u64,
    /// Records since it was started last.
    pub records: u64,
    /// The last record.
    pub last: Option<FileTime>,
    /// Records and logs that could not be written.
    pub errors: u64,
    /// The last of them, in words.
    pub last_error: Option<String>,
}

/// Where sessions are listed, started and stopped. All of it may take its time: the monitor asks on a thread of its own.
/// Errors are words for the user.
pub trait Sessions: Send + Sync {
    /// All sessions, by name.
    ///
    /// # Errors
    ///
    /// They can not be read.
    fn list(&self) -> Result<Vec<Session>, String>;

    /// Starts a session that does not record, and waits until it does.
    ///
    /// # Errors
    ///
    /// It is not there, or can not be started.
    fn start(&self, name: &str) -> Result<(), String>;

    /// Stops a session, and waits until its logs are complete.
    ///
    /// # Errors
    ///
    /// It is not there, or does not answer.
    fn stop(&self, name: &str) -> Result<(), String>;

    /// The logs of a session, oldest first, with everything in them that was recorded so far.
    ///
    /// # Errors
    ///
    /// It is not there, or its logs are of a format that is not read.
    fn logs(&self, name: &str) -> Result<Vec<PathBuf>, String>;
}
