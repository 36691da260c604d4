//! The recording sessions of `tally log`, which the monitor and the page list, make, start and stop.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser as _;
use tallymon::clock::now;
use tallymon::core::time::{FileTime, UNITS_PER_SECOND};
use tallymon::record::session::{SessionSettings, SessionState as State, SessionStore};
use tallymon_monitor::sessions::{Estimate, NewSession, Session, SessionState, Sessions};

use crate::arguments::Common;
use crate::arguments::on_use::OnUse;
use crate::command::log::arguments::{Log, LogAction};
use crate::command::log::{made, without_hosts};
use crate::command_line::{Arguments, Command};
use crate::exit::Failure;
use crate::session;

/// The sessions of this user, or of the system.
#[derive(Debug)]
pub(crate) struct StoredSessions {
    common: Common,
    store: SessionStore,
}

impl StoredSessions {
    /// The sessions of this user, or of the system; `None` without a folder for sessions.
    pub(crate) fn of_environment(common: &Common) -> Option<Arc<dyn Sessions>> {
        let store = SessionStore::of_environment().ok()?;
        Some(Arc::new(StoredSessions { common: common.clone(), store }))
    }

    fn read(&self, name: &str) -> Result<SessionSettings, String> {
        self.store.read(name).map_err(|error| words(error.into()))
    }

    fn session(&self, settings: SessionSettings) -> Session {
        let status = self.store.status(&settings.name);
        let logs = settings.logs();
        let bytes = logs.iter().filter_map(|(_, path)| fs::metadata(path).ok()).map(|file| file.len());
        Session {
            state: match self.store.state(&settings.name) {
                State::Recording => SessionState::Recording,
                State::Waiting => SessionState::Waiting,
                State::Stopped => SessionState::Stopped,
                State::Killed => SessionState::Killed,
            },
            interval: settings.interval,
            bytes: bytes.sum(),
            log: logs.last().map(|(_, path)| path.clone()),
            logs: logs.len(),
            records: status.records,
            last: status.last,
            errors: status.errors,
            last_error: status.last_error,
            limits: settings.alerts.limits.iter().map(ToString::to_string).collect(),
            alerts: status.alerts,
            latest_alerts: status.latest_alerts,
            counters: settings.paths(),
            folder: settings.place().to_path_buf(),
            name: settings.name,
        }
    }
}

impl Sessions for StoredSessions {
    fn list(&self) -> Result<Vec<Session>, String> {
        let names = self.store.names().map_err(|error| words(error.into()))?;
        let session = |name: String| match self.read(&name) {
            Ok(settings) => self.session(settings),
            // A session that cannot be read is listed with its error; the others are not affected.
            Err(error) => Session {
                last_error: Some(error),
                errors: 1,
                ..self.session(SessionSettings::new(&name, PathBuf::new()))
            },
        };
        Ok(names.into_iter().map(session).collect())
    }

    fn create(&self, wanted: &NewSession) -> Result<String, String> {
        if self.store.has(&wanted.name) {
            return Err(format!("there is a session {:?} already; choose another name", wanted.name));
        }
        // What it says of counters that are not here yet must not reach the screen of the monitor.
        let mut command = session::program(&self.common).map_err(words)?;
        command.args(["log", "start"]).args(arguments(wanted)).stdin(Stdio::null());
        let output = command.output().map_err(|error| format!("tally log start: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = said.lines().map(|line| line.trim().trim_start_matches("tally: ")).collect();
        let said = lines.join("; ");
        if output.status.success() { Ok(said) } else { Err(said) }
    }

    fn estimate(&self, wanted: &NewSession) -> Result<Estimate, String> {
        let words_of = ["tally", "log", "start"].map(str::to_owned).into_iter().chain(arguments(wanted));
        let line = Arguments::try_parse_from(words_of).map_err(|error| first_line(&error.to_string()))?;
        let start = match line.command {
            Some(Command::Log(OnUse(Log { action: LogAction::Start(start) }))) => start,
            _ => return Err("this is not a session".to_owned()),
        };
        let settings = made(&self.common, &self.store, &start).map_err(words)?;
        let common = without_hosts(&self.common);
        let an_hour = session::bytes_an_hour(&common, &settings, |_| {}).map_err(words)?;
        Ok(Estimate { bytes_an_hour: an_hour, most_bytes: most_bytes(&settings, an_hour, now()) })
    }

    fn delete(&self, name: &str) -> Result<String, String> {
        let settings = session::delete(&self.store, name).map_err(words)?;
        Ok(format!("session {name:?} is gone; its logs are in {}", settings.place().display()))
    }

    fn start(&self, name: &str) -> Result<(), String> {
        let settings = self.read(name)?;
        session::start(&self.common, &self.store, &settings).map_err(words)
    }

    fn stop(&self, name: &str) -> Result<(), String> {
        self.store.stop(name).map(drop).map_err(|error| words(error.into()))
    }

    fn logs(&self, name: &str) -> Result<Vec<PathBuf>, String> {
        let settings = self.read(name)?;
        self.store.logs(&settings).map_err(|error| words(error.into()))
    }
}

/// What a wrong option is, without how the command is used.
fn first_line(error: &str) -> String {
    let line = error.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

/// The most bytes that the logs of a session have together, by those of an hour.
fn most_bytes(settings: &SessionSettings, an_hour: f64, now: FileTime) -> Option<f64> {
    let hours = |time: Duration| time.as_secs_f64() / 3600.0;
    let begin = settings.begin.map_or(now, |begin| begin.max(now));
    let until_end =
        settings.end.map(|end| end.0.saturating_sub(begin.0) as f64 / UNITS_PER_SECOND as f64 / 3600.0);
    let by_records = settings.samples.map(|records| records as f64 * hours(settings.interval));
    let times = [until_end, settings.duration.map(hours), by_records];
    let by_time = times.into_iter().flatten().reduce(f64::min).map(|hours| hours * an_hour);
    let of_log = [
        settings.rotate_size.map(|bytes| bytes as f64),
        settings.rotate_time.map(|time| hours(time) * an_hour),
    ];
    let log = of_log.into_iter().flatten().reduce(f64::min);
    let ring = settings.segments.zip(log).map(|(count, bytes)| f64::from(count) * bytes);
    // That of a lake in object storage is the limit of what waits.
    let most = settings.max_size.filter(|_| settings.lake.is_none()).map(|bytes| bytes as f64);
    [by_time, ring, most].into_iter().flatten().reduce(f64::min)
}

/// The arguments of `tally log start`. A value stays with its option, so that none is taken for an option.
fn arguments(wanted: &NewSession) -> Vec<String> {
    let mut all: Vec<String> = wanted.counters.iter().map(|path| format!("--counter={path}")).collect();
    if wanted.all_objects {
        all.push("--all-objects".to_owned());
    }
    if wanted.event {
        all.push("--event".to_owned());
    }
    let texts = [
        ("--interval", &wanted.interval),
        ("--format", &wanted.format),
        ("--output", &wanted.folder),
        ("--begin", &wanted.begin),
        ("--end", &wanted.end),
        ("--duration", &wanted.duration),
        ("--rotate-size", &wanted.rotate_size),
        ("--rotate-time", &wanted.rotate_time),
        ("--segments", &wanted.segments),
        ("--max-size", &wanted.max_size),
        ("--alert", &wanted.limit),
        ("--for", &wanted.after),
        ("--start", &wanted.start),
        ("--run", &wanted.run),
        ("--webhook", &wanted.webhook),
    ];
    let given = texts.into_iter().filter(|(_, text)| !text.is_empty());
    all.extend(given.map(|(option, text)| format!("{option}={text}")));
    all.extend(["--".to_owned(), wanted.name.clone()]);
    all
}

fn words(failure: Failure) -> String {
    failure.message.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_read_as_it_was_written() {
        let wanted = NewSession {
            name: "-night".to_owned(),
            counters: vec![r"\Process(-x)\% Processor Time".to_owned(), "--all-objects".to_owned()],
            interval: "2m".to_owned(),
            format: "blg".to_owned(),
            begin: "2026-11-21T08:30:00Z".to_owned(),
            end: "2026-11-22T08:30:00Z".to_owned(),
            duration: "8h".to_owned(),
            rotate_size: "50M".to_owned(),
            rotate_time: "1h".to_owned(),
            segments: "24".to_owned(),
            max_size: "2G".to_owned(),
            limit: r"\Memory\Available MBytes < 200".to_owned(),
            after: "30s".to_owned(),
            event: true,
            run: "--version; echo".to_owned(),
            webhook: "https://h/x".to_owned(),
            ..NewSession::default()
        };
        let words = ["tally", "log", "start"].map(str::to_owned).into_iter().chain(arguments(&wanted));
        let line = Arguments::try_parse_from(words).unwrap();
        let Some(Command::Log(OnUse(log))) = line.command else { panic!("{line:?}") };
        let LogAction::Start(start) = log.action else { panic!("{log:?}") };
        let options = start.options;
        assert_eq!((start.name, options.counter), (wanted.name, wanted.counters));
        assert_eq!(
            (options.interval, options.duration),
            (Some(std::time::Duration::from_secs(120)), Some(std::time::Duration::from_secs(28_800)))
        );
        assert_eq!((options.begin, options.end), (Some(wanted.begin), Some(wanted.end)));
        assert_eq!(
            (options.rotate_size, options.rotate_time, options.segments, options.max_size),
            (Some(50 << 20), Some(Duration::from_secs(3600)), Some(24), Some(2 << 30))
        );
        assert_eq!((options.format.as_deref(), options.event), (Some("blg"), true));
        assert_eq!(options.run.as_deref(), Some("--version; echo"));
        assert_eq!(options.webhook.as_deref(), Some("https://h/x"));
        assert_eq!(options.alert.len(), 1);
        assert_eq!(options.alert_after, Some(std::time::Duration::from_secs(30)));
    }

    #[test]
    fn what_ends_a_session_first_limits_its_size() {
        let now = FileTime(134_167_968_000_000_000);
        let hours = |count: u64| FileTime(now.0 + count * 36_000_000_000);
        let new = || SessionSettings::new("a", PathBuf::new());
        let most = |change: fn(&mut SessionSettings)| {
            let mut settings = new();
            change(&mut settings);
            most_bytes(&settings, 1e6, now)
        };
        assert_eq!(most(|_| {}), None);
        assert_eq!(most(|settings| settings.duration = Some(Duration::from_secs(7200))), Some(2e6));
        assert_eq!(most(|settings| settings.samples = Some(480)), Some(2e6));
        // A ring without an end, and a limit below it.
        let ring = |settings: &mut SessionSettings| {
            (settings.rotate_time, settings.segments) = (Some(Duration::from_secs(3600)), Some(24));
        };
        assert_eq!(most(ring), Some(24e6));
        assert_eq!(most(|settings| settings.max_size = Some(5)), Some(5.0));
        let of_lake = |settings: &mut SessionSettings| {
            (settings.max_size, settings.lake) = (Some(5), Some(PathBuf::from("s3://a")));
        };
        assert_eq!(most(of_lake), None);
        assert_eq!(most(|settings| settings.rotate_size = Some(5)), None);
        // From the begin, or from now if that has passed.
        let (begin, end) = (Some(hours(2)), Some(hours(5)));
        assert_eq!(most_bytes(&SessionSettings { begin, end, ..new() }, 1e6, now), Some(3e6));
        assert_eq!(most_bytes(&SessionSettings { begin, end, ..new() }, 1e6, hours(4)), Some(1e6));
        assert_eq!(most_bytes(&SessionSettings { begin, end, ..new() }, 1e6, hours(6)), Some(0.0));
    }
}
