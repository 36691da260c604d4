//! What a session does, as its recorder reports it.

use serde_json::{Value as Json, json};
use tallymon_core::time::FileTime;

use super::alert::Alert;

/// How many of the latest alerts a status has.
const LATEST_ALERTS: usize = 20;

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
#[derive(Debug, Clone, PartialEq, Default)]
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
    /// The latest alerts that began or ended, oldest first; also those of earlier runs.
    pub latest_alerts: Vec<Alert>,
    /// How many records and logs could not be written, and what could not be done at an alert.
    pub errors: u64,
    /// The last error, in words.
    pub last_error: Option<String>,
    /// Other machines that are not recorded as they should be now, and why: a line for each, at most 50.
    pub troubled_hosts: Vec<String>,
    /// It ended in order: all logs are complete.
    pub ended: bool,
}

impl SessionStatus {
    /// Counts an alert, and keeps it among the latest ones.
    pub(super) fn add_alert(&mut self, alert: Alert) {
        self.alerts = self.alerts.saturating_add(u64::from(alert.begins));
        self.latest_alerts.push(alert);
        let old = self.latest_alerts.len().saturating_sub(LATEST_ALERTS);
        self.latest_alerts.drain(..old);
    }

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
            "latest_alerts": self.latest_alerts.iter().map(Alert::to_json).collect::<Vec<_>>(),
            "errors": self.errors,
            "last_error": self.last_error,
            "troubled_hosts": self.troubled_hosts,
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
            latest_alerts: json
                .get("latest_alerts")
                .and_then(Json::as_array)
                .map(|alerts| alerts.iter().filter_map(Alert::from_json).take(LATEST_ALERTS).collect())
                .unwrap_or_default(),
            errors: number("errors").unwrap_or_default(),
            last_error: json.get("last_error").and_then(Json::as_str).map(str::to_owned),
            troubled_hosts: json
                .get("troubled_hosts")
                .and_then(Json::as_array)
                .map(|hosts| hosts.iter().filter_map(Json::as_str).map(str::to_owned).collect())
                .unwrap_or_default(),
            ended: json.get("ended").and_then(Json::as_bool).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::session::Limit;

    #[test]
    fn a_status_keeps_the_latest_alerts() {
        let mut status = SessionStatus::default();
        for nth in 0..30u64 {
            let limit = Limit::parse(r"\Memory\Available MBytes<200").unwrap();
            let value = (nth % 2 == 0).then_some(nth as f64 + 0.5);
            let counter = r"\Memory\Available MBytes".to_owned();
            status.add_alert(Alert { begins: nth % 2 == 0, counter, value, limit, time: FileTime(nth) });
        }
        assert_eq!((status.alerts, status.latest_alerts.len()), (15, LATEST_ALERTS));
        assert_eq!(status.latest_alerts.first().map(|alert| alert.time), Some(FileTime(10)));
        let text = status.to_json().to_string();
        assert_eq!(SessionStatus::from_json(&serde_json::from_str(&text).unwrap()), status);
        // A file that somebody else wrote has no effect beyond what it says.
        let odd = json!({ "latest_alerts": [1, { "time": "x" }, { "limit": {} }] });
        assert_eq!(SessionStatus::from_json(&odd), SessionStatus::default());
    }
}
