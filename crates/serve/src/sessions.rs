//! Recording sessions of this machine: what they do, and with `--allow-control` starting and stopping them.
//!
//! The page cannot make a session that runs a command, posts to an address, or chooses its folder: whoever
//! has the token could then do whatever the user can.

use std::sync::Arc;

use hyper::StatusCode;
use serde_json::{Value, json};
use tallymon::core::time::FileTime;
use tallymon::core::visible::visible;
use tallymon::record::session::{Alert, is_session_name};
use tallymon_monitor::sessions::{Estimate, NewSession, Session, SessionState, Sessions};

use crate::chart::{number, paths};
use crate::http::Refused;
use crate::hub::Hub;
use crate::parameters::{Parameters, milliseconds};

/// What a new session may have from a page.
const KNOWN: [&str; 15] = [
    "name",
    "path",
    "interval",
    "format",
    "begin",
    "end",
    "duration",
    "rotateTime",
    "rotateSize",
    "segments",
    "maxSize",
    "limit",
    "after",
    "event",
    "allObjects",
];
/// The most logs of a session that are shown as one, the newest ones: each is an open file.
const MOST_LOGS: usize = 200;
/// The name of a session whose size is estimated, and which is not made.
const ESTIMATE_NAME: &str = "estimate";

/// The sessions, and whether requests may change them.
#[derive(Debug, Clone)]
pub struct SessionAccess {
    /// The sessions.
    pub sessions: Arc<dyn Sessions>,
    /// Requests may start, stop, make and delete sessions, switch libraries of providers, and, on a server
    /// for this machine only, end, stop and renice processes.
    pub control: bool,
    /// Requests may open the logs of sessions. Whoever looks from another machine sees only what was given.
    pub opens_logs: bool,
}

impl SessionAccess {
    /// All sessions, as JSON.
    pub(crate) fn list(&self) -> Result<Value, Refused> {
        let found = self.sessions.list();
        let found =
            found.map_err(|words| Refused::new(StatusCode::INTERNAL_SERVER_ERROR, visible(&words)))?;
        let sessions: Vec<Value> = found.iter().map(session).collect();
        Ok(json!({ "control": self.control, "opensLogs": self.opens_logs, "sessions": sessions }))
    }

    /// Whether a request may change something. Its host, its origin and its token were checked before;
    /// `is_ours`: it has an origin, or the token beside the cookie.
    ///
    /// The cookie alone is not enough: every browser names the origin of a request that is not a GET, and one
    /// that did not would be stopped here.
    pub(crate) fn may_control(&self, is_ours: bool, action: Action) -> Result<(), Refused> {
        let refused = |words: &str| Err(Refused::new(StatusCode::FORBIDDEN, words));
        if action == Action::Open {
            if !self.opens_logs {
                return refused("this server shows other machines no logs of sessions");
            }
        } else if !self.control {
            return refused(
                "this server only shows; 'tally serve --allow-control' changes sessions, providers, processes and the interval",
            );
        }
        if !is_ours {
            return refused(
                "a request that changes something needs an Origin, or the token in Authorization",
            );
        }
        Ok(())
    }

    /// Shows the logs of a session, with all that was recorded up to now.
    pub(crate) fn open_logs(&self, hub: &Arc<Hub>, parameters: &Parameters) -> Result<Value, Refused> {
        let name = session_name(parameters)?;
        let logs = self.sessions.logs(name);
        let mut logs = logs.map_err(|words| Refused::new(StatusCode::CONFLICT, visible(&words)))?;
        let all = logs.len();
        if all == 0 {
            return Err(Refused::new(StatusCode::CONFLICT, format!("session {name:?} has no log yet")));
        }
        let shown = logs.split_off(all.saturating_sub(MOST_LOGS));
        let count = shown.len();
        let id = hub.open(name, shown)?;
        Ok(json!({ "id": id, "logs": count, "all": all }))
    }

    /// Changes a session, or makes one; what to say about it, and all sessions. It may take seconds.
    pub(crate) fn act(&self, action: Action, parameters: &Parameters) -> Result<Value, Refused> {
        let failed = |words: String| Refused::new(StatusCode::CONFLICT, visible(&words));
        if action == Action::Estimate {
            let estimate =
                self.sessions.estimate(&new_session(ESTIMATE_NAME, parameters)?).map_err(failed)?;
            let Estimate { bytes_an_hour, most_bytes } = estimate;
            return Ok(json!({ "bytesAnHour": bytes_an_hour, "mostBytes": most_bytes }));
        }
        let name = session_name(parameters)?;
        let done = match action {
            Action::Start => self.sessions.start(name).map(|()| String::new()),
            Action::Stop => self.sessions.stop(name).map(|()| String::new()),
            Action::Delete => self.sessions.delete(name),
            Action::Make => self.sessions.create(&new_session(name, parameters)?),
            Action::Estimate | Action::Open | Action::Enable | Action::Process | Action::Interval => {
                return Err(Refused::not_found("no such action of a session"));
            }
        };
        let said = done.map_err(failed)?;
        let mut all = self.list()?;
        all["said"] = json!(visible(&said));
        Ok(all)
    }
}

/// The name of a session, which is not a path to another file.
fn session_name(parameters: &Parameters) -> Result<&str, Refused> {
    let name = parameters.needed("name")?;
    if is_session_name(name) {
        return Ok(name);
    }
    Err(Refused::bad_request(format!("{:?} is not a name of a session", visible(name))))
}

/// What a request does to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Start,
    Stop,
    Make,
    /// Says how much a new one would write.
    Estimate,
    /// Its logs stay.
    Delete,
    /// Shows its logs.
    Open,
    /// Enables or disables the library of a provider.
    Enable,
    /// Ends, stops, continues or renices a process.
    Process,
    /// Samples a live machine in another interval.
    Interval,
}

impl Action {
    /// The action of an address.
    pub(crate) fn of(path: &str) -> Option<Action> {
        match path {
            "/api/v1/sessions" => Some(Action::Make),
            "/api/v1/sessions/estimate" => Some(Action::Estimate),
            "/api/v1/sessions/delete" => Some(Action::Delete),
            "/api/v1/providers/enable" => Some(Action::Enable),
            "/api/v1/interval" => Some(Action::Interval),
            "/api/v1/processes/act" => Some(Action::Process),
            "/api/v1/sessions/open" => Some(Action::Open),
            "/api/v1/sessions/start" => Some(Action::Start),
            "/api/v1/sessions/stop" => Some(Action::Stop),
            _ => None,
        }
    }
}

fn new_session(name: &str, parameters: &Parameters) -> Result<NewSession, Refused> {
    if let Some(odd) = parameters.names().find(|name| !KNOWN.contains(name)) {
        let words =
            format!("a session from the page cannot have {:?}; it has {}", visible(odd), KNOWN.join(", "));
        return Err(Refused::bad_request(words));
    }
    let text = |name| parameters.text(name).unwrap_or_default().to_owned();
    let time = |name| Ok::<_, Refused>(parameters.time(name)?.map(utc).unwrap_or_default());
    let all_objects = parameters.flag("allObjects")?;
    // An alert has its counter in its limit.
    let needs_counters = !all_objects && text("limit").trim().is_empty();
    let has_counters = parameters.text("path").is_some();
    let counters = if needs_counters || has_counters { paths(parameters)? } else { Vec::new() };
    Ok(NewSession {
        name: name.to_owned(),
        counters: counters.into_iter().map(str::to_owned).collect(),
        all_objects,
        limit: text("limit"),
        after: text("after"),
        event: parameters.flag("event")?,
        interval: text("interval"),
        format: text("format"),
        begin: time("begin")?,
        end: time("end")?,
        duration: text("duration"),
        rotate_size: text("rotateSize"),
        rotate_time: text("rotateTime"),
        segments: text("segments"),
        max_size: text("maxSize"),
        ..NewSession::default()
    })
}

/// A time as `tally log` reads it, to the second.
fn utc(time: FileTime) -> String {
    let at = time.system_time();
    format!("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", at.year, at.month, at.day, at.hour, at.minute, at.second)
}

fn session(session: &Session) -> Value {
    let state = match session.state {
        SessionState::Recording => "recording",
        SessionState::Waiting => "waiting",
        SessionState::Stopped => "stopped",
        SessionState::Killed => "killed",
    };
    let texts = |all: &[String]| all.iter().map(|text| json!(visible(text))).collect::<Vec<_>>();
    let file = session.log.as_ref().map(|log| log.to_string_lossy().into_owned());
    json!({
        "name": visible(&session.name), "state": state, "interval": session.interval.as_secs_f64(),
        "counters": texts(&session.counters), "folder": visible(&session.folder.to_string_lossy()),
        "file": file.map(|file| visible(&file).into_owned()), "logs": session.logs, "bytes": session.bytes,
        "records": session.records, "last": session.last.map(milliseconds), "errors": session.errors,
        "lastError": session.last_error.as_deref().map(visible), "limits": texts(&session.limits),
        "alerts": session.alerts,
        "latestAlerts": session.latest_alerts.iter().rev().map(alert).collect::<Vec<_>>(),
    })
}

fn alert(alert: &Alert) -> Value {
    json!({
        "time": milliseconds(alert.time), "begins": alert.begins, "counter": visible(&alert.counter),
        "value": alert.value.map(number), "limit": visible(&alert.limit.to_string()),
    })
}
