//! Alerts of a session: limits of counters, and what is done when a value crosses one.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value as Json, json};
use tallymon_core::flow::NoValue;
use tallymon_core::time::{FileTime, UNITS_PER_SECOND};

use super::SettingsFault;
use super::settings::is_session_name;
use crate::query::{Query, Reading};

/// A limit that the values of a counter should not cross.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// The counter; wildcards stand for every instance.
    pub path: String,
    /// Values above the limit are wrong; else those below it.
    pub is_maximum: bool,
    /// The limit, in the unit of the displayed value.
    pub value: f64,
}

impl Limit {
    /// Reads a limit as `logman -th` has it: `\Processor(_Total)\% Processor Time>90`, with or without
    /// spaces.
    ///
    /// # Errors
    ///
    /// There is no path, no `>` or `<`, or no number behind it.
    pub fn parse(text: &str) -> Result<Limit, SettingsFault> {
        let wrong = || SettingsFault::Limit(text.to_owned());
        // A name may have such a letter, too; a number has none.
        let at = text.rfind(['>', '<']).ok_or_else(wrong)?;
        let (path, rest) = text.split_at(at);
        let (is_maximum, number) = match (rest.strip_prefix('>'), rest.strip_prefix('<')) {
            (Some(number), _) => (true, number),
            (_, Some(number)) => (false, number),
            _ => return Err(wrong()),
        };
        let value = number.trim().parse::<f64>().ok().filter(|value| value.is_finite()).ok_or_else(wrong)?;
        let path = path.trim().to_owned();
        if path.is_empty() { Err(wrong()) } else { Ok(Limit { path, is_maximum, value }) }
    }

    /// Whether a value is on the wrong side. The limit itself is on neither.
    fn is_crossed_by(&self, value: f64) -> bool {
        if self.is_maximum { value > self.value } else { value < self.value }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.path, if self.is_maximum { '>' } else { '<' }, self.value)
    }
}

/// The alerts of a session.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Alerts {
    /// The limits.
    pub limits: Vec<Limit>,
    /// How long values have to be on a side before an alert begins or ends; zero for one value.
    pub after: Duration,
    /// Write an event.
    pub event: bool,
    /// Start the session of this name, when an alert begins.
    pub start: Option<String>,
    /// Run this command line, when an alert begins or ends.
    pub run: Option<String>,
    /// Post JSON to this address, when an alert begins or ends: `http://…`, `https://…`, or `@FILE`, whose
    /// text is the address. Others can read the settings, so an address that is a secret belongs into a file.
    pub webhook: Option<String>,
    /// A file whose text authorizes the post, as a bearer token.
    pub webhook_token: Option<PathBuf>,
    /// Send a message to this socket of syslog, when an alert begins or ends.
    pub syslog: Option<PathBuf>,
    /// Send a message to this socket of systemd's journal, when an alert begins or ends.
    pub journal: Option<PathBuf>,
}

impl Alerts {
    /// Whether there is anything to look at.
    pub const fn is_empty(&self) -> bool {
        self.limits.is_empty()
    }

    pub(super) fn check(&self) -> Result<(), SettingsFault> {
        let tells = self.event || self.syslog.is_some() || self.journal.is_some();
        let acts = tells || self.start.is_some() || self.run.is_some() || self.webhook.is_some();
        if self.is_empty() {
            let is_set = acts || self.webhook_token.is_some() || !self.after.is_zero();
            return if is_set { Err(SettingsFault::NoLimit) } else { Ok(()) };
        }
        match (&self.start, &self.webhook) {
            (Some(name), _) if !is_session_name(name) => Err(SettingsFault::Name(name.clone())),
            (_, Some(address)) if !is_webhook(address) => Err(SettingsFault::Webhook),
            (_, None) if self.webhook_token.is_some() => Err(SettingsFault::Webhook),
            _ if !acts => Err(SettingsFault::NoAction),
            _ => Ok(()),
        }
    }

    pub(super) fn to_json(&self) -> Json {
        if *self == Alerts::default() {
            return Json::Null;
        }
        json!({
            "limits": self.limits.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "after": self.after.as_secs_f64(),
            "event": self.event,
            "start": self.start,
            "run": self.run,
            "webhook": self.webhook,
            "webhook_token": self.webhook_token.as_ref().map(|file| file.to_string_lossy()),
            "syslog": self.syslog.as_ref().map(|socket| socket.to_string_lossy()),
            "journal": self.journal.as_ref().map(|socket| socket.to_string_lossy()),
        })
    }

    pub(super) fn from_json(map: &Map<String, Json>) -> Result<Alerts, String> {
        let text = |key: &str| match map.get(key) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("\"alerts\": {key:?}: a text is needed")),
        };
        let mut alerts = Alerts {
            start: text("start")?,
            run: text("run")?,
            webhook: text("webhook")?,
            webhook_token: text("webhook_token")?.map(PathBuf::from),
            syslog: text("syslog")?.map(PathBuf::from),
            journal: text("journal")?.map(PathBuf::from),
            ..Alerts::default()
        };
        for limit in map.get("limits").and_then(Json::as_array).into_iter().flatten() {
            let limit = limit.as_str().ok_or("\"alerts\": \"limits\": texts are needed")?;
            alerts.limits.push(Limit::parse(limit).map_err(|fault| fault.to_string())?);
        }
        let seconds = map.get("after").and_then(Json::as_f64).unwrap_or_default();
        let wrong = |_| "\"alerts\": \"after\": seconds are needed".to_owned();
        alerts.after = Duration::try_from_secs_f64(seconds).map_err(wrong)?;
        alerts.event = map.get("event").and_then(Json::as_bool).unwrap_or_default();
        Ok(alerts)
    }
}

/// Whether a text can be the address of a webhook, or name the file that has it.
fn is_webhook(text: &str) -> bool {
    let has_more = |begin: &str| text.strip_prefix(begin).is_some_and(|rest| !rest.is_empty());
    ["http://", "https://", "@"].into_iter().any(has_more)
}

/// An alert began or ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Alert {
    /// It began; else it ended.
    pub begins: bool,
    /// The counter, with its instance.
    pub counter: String,
    /// The value; `None` when the alert ended because the instance is gone.
    pub value: Option<f64>,
    /// The limit.
    pub limit: Limit,
    /// The time of the sample.
    pub time: FileTime,
}

impl Alert {
    pub(super) fn to_json(&self) -> Json {
        json!({
            "time": self.time.0,
            "begins": self.begins,
            "counter": self.counter,
            "value": self.value,
            "limit": self.limit.to_string(),
        })
    }

    pub(super) fn from_json(json: &Json) -> Option<Alert> {
        Some(Alert {
            time: FileTime(json.get("time")?.as_u64()?),
            begins: json.get("begins")?.as_bool()?,
            counter: json.get("counter")?.as_str()?.to_owned(),
            value: json.get("value").and_then(Json::as_f64),
            limit: Limit::parse(json.get("limit")?.as_str()?).ok()?,
        })
    }
}

/// A value of a sample.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    /// The path of the limit.
    pub(super) asked: String,
    /// The counter, with its instance.
    pub(super) counter: String,
    pub(super) value: Result<f64, NoValue>,
}

impl Seen {
    /// All values of a query.
    pub(super) fn of(query: &Query) -> Vec<Seen> {
        let seen = |reading: Reading| Seen {
            asked: query.path(reading.handle).to_owned(),
            counter: reading.path,
            value: match reading.cell.value {
                Ok(value) => value.as_f64().ok_or(NoValue::NotNumeric),
                Err(why) => Err(why),
            },
        };
        query.readings().into_iter().map(seen).collect()
    }
}

/// What is known of one counter of one instance.
#[derive(Debug, Clone, Copy)]
struct Side {
    /// Whether an alert has begun.
    is_alert: bool,
    /// Since when its values are on the other side.
    other_since: Option<FileTime>,
    /// The number of the newest sample that had it.
    seen: u64,
}

/// Looks at samples, and says which alerts begin and end.
#[derive(Debug)]
pub(super) struct Watch {
    alerts: Alerts,
    /// By the number of the limit and the path with its instance.
    sides: HashMap<(usize, String), Side>,
    samples: u64,
}

impl Watch {
    pub(super) fn new(alerts: Alerts) -> Watch {
        Watch { alerts, sides: HashMap::new(), samples: 0 }
    }

    /// Takes a sample. A value that is missing changes nothing; an instance that is gone ends its alert.
    pub(super) fn take(&mut self, time: FileTime, values: &[Seen]) -> Vec<Alert> {
        self.samples = self.samples.saturating_add(1);
        let mut changes = Vec::new();
        for (number, limit) in self.alerts.limits.iter().enumerate() {
            for seen in values.iter().filter(|seen| seen.asked == limit.path) {
                if seen.value == Err(NoValue::NoInstance) {
                    continue;
                }
                let new = Side { is_alert: false, other_since: None, seen: 0 };
                let side = self.sides.entry((number, seen.counter.clone())).or_insert(new);
                side.seen = self.samples;
                let Ok(value) = seen.value else { continue };
                if limit.is_crossed_by(value) == side.is_alert {
                    side.other_since = None;
                    continue;
                }
                let since = *side.other_since.get_or_insert(time);
                let lasted = time.0.saturating_sub(since.0) as f64 / UNITS_PER_SECOND as f64;
                if lasted >= self.alerts.after.as_secs_f64() {
                    (side.is_alert, side.other_since) = (!side.is_alert, None);
                    let counter = seen.counter.clone();
                    let (begins, value, limit) = (side.is_alert, Some(value), limit.clone());
                    changes.push(Alert { begins, counter, value, limit, time });
                }
            }
        }
        let limits = &self.alerts.limits;
        let samples = self.samples;
        self.sides.retain(|(number, path), side| {
            if side.seen < samples
                && side.is_alert
                && let Some(limit) = limits.get(*number)
            {
                let counter = path.clone();
                changes.push(Alert { begins: false, counter, value: None, limit: limit.clone(), time });
            }
            side.seen == samples
        });
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_as_logman_has_them() {
        for (text, expected) in [
            (
                r"\Processor(_Total)\% Processor Time>90",
                Some((r"\Processor(_Total)\% Processor Time", true, 90.0)),
            ),
            (r"\Memory\Available MBytes < 1.5e2", Some((r"\Memory\Available MBytes", false, 150.0))),
            (r"\a(x>y)\b > -1", Some((r"\a(x>y)\b", true, -1.0))),
            (r"\a\b", None),
            (r"\a\b>", None),
            (r"\a\b>inf", None),
            (r"\a\b>9%", None),
            ("> 9", None),
            ("", None),
        ] {
            let found = Limit::parse(text).ok();
            let found = found.as_ref().map(|limit| (limit.path.as_str(), limit.is_maximum, limit.value));
            assert_eq!(found, expected, "{text}");
        }
        let limit = Limit::parse(r"\a\b<0.1").unwrap();
        assert_eq!(Limit::parse(&limit.to_string()), Ok(limit));
    }

    #[test]
    fn alerts_begin_and_end_after_their_time() {
        let second = |number: u64| FileTime(number * UNITS_PER_SECOND);
        let seen = |instance: &str, value: Result<f64, NoValue>| Seen {
            asked: r"\a(*)\b".to_owned(),
            counter: format!(r"\a({instance})\b"),
            value,
        };
        let alerts = |after| Alerts {
            limits: vec![Limit::parse(r"\a(*)\b > 90").unwrap()],
            after: Duration::from_secs(after),
            event: true,
            ..Alerts::default()
        };
        let missing = Err(NoValue::FirstSample);
        // Seconds with the value of x, and what changes: the number of a begin or an end.
        for (after, values, expected) in [
            (0, vec![Ok(90.0), Ok(91.0), Ok(95.0), Ok(90.0)], vec![(1, true), (3, false)]),
            (2, vec![Ok(91.0), Ok(91.0), Ok(80.0), Ok(91.0), Ok(91.0), Ok(91.0)], vec![(5, true)]),
            (
                2,
                vec![Ok(91.0), Ok(91.0), Ok(91.0), Ok(1.0), Ok(99.0), Ok(1.0), Ok(1.0), Ok(1.0)],
                vec![(2, true), (7, false)],
            ),
            (1, vec![Ok(91.0), missing, Ok(91.0)], vec![(2, true)]),
            (0, vec![missing, Ok(f64::NAN), Ok(91.0)], vec![(2, true)]),
        ] {
            let mut watch = Watch::new(alerts(after));
            let mut found = Vec::new();
            for (number, value) in values.into_iter().enumerate() {
                let changes = watch.take(second(number as u64), &[seen("x", value), seen("quiet", Ok(1.0))]);
                found.extend(changes.into_iter().map(|alert| (number, alert.begins)));
            }
            assert_eq!(found, expected);
        }
        // An instance that is gone has no alert any more, and is another one when it comes again.
        let mut watch = Watch::new(alerts(0));
        assert_eq!(watch.take(second(0), &[seen("x", Ok(91.0))]).len(), 1);
        let gone = watch.take(second(1), &[seen("x", Err(NoValue::NoInstance))]);
        assert_eq!(gone.first().map(|alert| (alert.begins, alert.value)), Some((false, None)));
        assert_eq!(watch.take(second(2), &[]), []);
        assert_eq!(watch.take(second(3), &[seen("x", Ok(92.0))]).len(), 1);
    }
}
