//! What a session does, as its recorder reports it.

use serde_json::{Value as Json, json};
use tallymon_core::time::FileTime;

/// What a session does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionState {
    /// Its recorder waits for the begin.
    Waiting,
    /// Its recorder writes records.
    Recording,
    /// Its recorder ended without completing the logs.
    Killed,
    /// Its recorder ended, or never ran.
    Stopped,
}

impl SessionState {
    /// The state in one word.
    pub const fn word(self) -> &'static str {
        match self {
            SessionState::Waiting => "waiting",
            SessionState::Recording => "recording",
            SessionState::Killed => "killed",
            SessionState::Stopped => "stopped",
        }
    }
}

/// What the recorder of a session reports about its last run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionStatus {
    /// Number of the process.
    pub process: u32,
    /// When the process began.
    pub started: Option<FileTime>,
    /// Number of the log that is written.
    pub segment: Option<u32>,
    /// Records in the logs since the process began; of a session that writes none, samples that it took.
    pub records: u64,
    /// Records in memory, because the disk has no room for them.
    pub held: u64,
    /// Records that are gone, because the disk had no room for too long.
    pub lost: u64,
    /// Bytes of the log that is written.
    pub bytes: u64,
    /// Time of the last record.
    pub last: Option<FileTime>,
    /// Alerts that began.
    pub alerts: u64,
    /// How many records and logs could not be written, and what could not be done at an alert.
    pub errors: u64,
    /// The last error, in words.
    pub last_error: Option<String>,
    /// It ended in order: all logs are complete.
    pub ended: bool,
}

impl SessionStatus {
    pub(super) fn to_json(&self) -> Json {
        json!({
            "process": self.process,
            "started": self.started.map(|time| time.0),
            "segment": self.segment,
            "records": self.records,
            "held": self.held,
            "lost": self.lost,
            "bytes": self.bytes,
            "last": self.last.map(|time| time.0),
            "alerts": self.alerts,
            "errors": self.errors,
            "last_error": self.last_error,
            "ended": self.ended,
        })
    }

    pub(super) fn from_json(json: &Json) -> SessionStatus {
        let number = |key: &str| json.get(key).and_then(Json::as_u64);
        let small = |key: &str| number(key).and_then(|number| u32::try_from(number).ok());
        SessionStatus {
            process: small("process").unwrap_or_default(),
            started: number("started").map(FileTime),
            segment: small("segment"),
            records: number("records").unwrap_or_default(),
            held: number("held").unwrap_or_default(),
            lost: number("lost").unwrap_or_default(),
            bytes: number("bytes").unwrap_or_default(),
            last: number("last").map(FileTime),
            alerts: number("alerts").unwrap_or_default(),
            errors: number("errors").unwrap_or_default(),
            last_error: json.get("last_error").and_then(Json::as_str).map(str::to_owned),
            ended: json.get("ended").and_then(Json::as_bool).unwrap_or_default(),
        }
    }
}
