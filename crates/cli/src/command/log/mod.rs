//! `tally log`: recording sessions.

pub(crate) mod arguments;

use std::fs;
use std::io::Write;
use std::path::{Path, absolute};

use serde_json::json;
use tallymon::clock::rfc3339;
use tallymon::log::{FORMATS, Format, is_address};
use tallymon::record::session::{SessionSettings, SessionStatus, SessionStore};
use unicode_width::UnicodeWidthStr;

use self::arguments::{Log, LogAction, ServiceCommand, SessionOptions, Start};
use super::relog::machine_time;
use crate::arguments::{Common, Naming};
use crate::border;
use crate::exit::{Failure, Kind};
use crate::output::save_or_print;
use crate::session::{self, collector_set, detach, webhook};
use crate::words::{say, visible};

/// What `--format` has for a session that writes no logs and sends its samples.
const OTLP: &str = "otlp";

pub(crate) fn run(common: &Common, log: &Log) -> Result<(), Failure> {
    if let LogAction::Service { action } = &log.action {
        return service(*action);
    }
    let store = SessionStore::of_environment()?;
    match &log.action {
        LogAction::Start(start) => begin(common, &store, start),
        LogAction::Stop { names } => names.iter().try_for_each(|name| {
            if store.stop(name)? {
                say_recorded(&store.status(name), name);
            } else {
                say(format_args!("session {name:?} is not recording"));
            }
            Ok(())
        }),
        LogAction::List { json } => list(&store, *json),
        LogAction::Show { name, json } => show(&store, name, *json),
        LogAction::Update(change) => update(common, &store, change),
        LogAction::Delete { names } => names.iter().try_for_each(|name| {
            let settings = session::delete(&store, name)?;
            say(format_args!("session {name:?} is gone; its logs are in {}", settings.place().display()));
            Ok(())
        }),
        LogAction::Import { file, name } => import(&store, file, name.as_deref()),
        LogAction::Export { name, file, replacing } => {
            let text = store.read(name)?.to_text();
            save_or_print(file.as_ref(), *replacing, text.as_bytes())
        }
        LogAction::Snapshot { name, output, last, replacing } => {
            let overwrite = replacing.overwrite();
            let (output, report) = session::snapshot(&store, name, output.as_deref(), *last, overwrite)?;
            say(format_args!("{}: {} records", output.display(), report.records));
            Ok(())
        }
        LogAction::Run { name, detached } => {
            if *detached {
                detach::detach();
            }
            session::record(common, &store, name)
        }
        LogAction::Service { action } => service(*action),
    }
}

fn service(command: ServiceCommand) -> Result<(), Failure> {
    match command {
        ServiceCommand::Install => session::service::install(),
        ServiceCommand::Uninstall => session::service::uninstall(),
        ServiceCommand::Start => session::service::start(),
        ServiceCommand::Stop => session::service::stop(),
        ServiceCommand::Status { json } => session::service::status(json),
        ServiceCommand::Run => session::service::run(),
    }
}

/// Keeps the session of an exported file, or of a data collector set of Windows.
fn import(store: &SessionStore, file: &Path, name: Option<&str>) -> Result<(), Failure> {
    if let Some(own) = collector_set::name_of(file)? {
        let name = name.unwrap_or(&own);
        new_only(store, name)?;
        let (settings, dropped) = collector_set::read(file, name, store.default_folder(name))?;
        session::keep(store, &settings)?;
        dropped.iter().for_each(|dropped| say(format_args!("{}: {dropped}", file.display())));
        return Ok(());
    }
    let mut settings = SessionSettings::read(file)?;
    if let Some(name) = name {
        if settings.base == settings.name {
            settings.base = name.to_owned();
        }
        settings.name = name.to_owned();
    }
    new_only(store, &settings.name)?;
    session::keep(store, &settings)
}

fn new_only(store: &SessionStore, name: &str) -> Result<(), Failure> {
    if store.has(name) {
        let words = format!("there is a session {name:?} already; 'tally log update' changes it");
        return Err(Failure::new(Kind::Usage, words));
    }
    Ok(())
}

fn begin(common: &Common, store: &SessionStore, start: &Start) -> Result<(), Failure> {
    let given = common;
    let common = &without_hosts(given);
    let SessionOptions { counter, all_objects, .. } = &start.options;
    let settings = if store.has(&start.name) {
        if !counter.is_empty() || *all_objects || !given.host.is_empty() {
            new_only(store, &start.name)?;
        }
        changed(store.read(&start.name)?, &start.options)?
    } else {
        made(given, store, start)?
    };
    if store.is_running(&start.name) {
        let words = format!("session {:?} is recording already", start.name);
        return Err(Failure::new(Kind::Other, words));
    }
    check_receiver(&settings)?;
    check_lake(&settings)?;
    let bytes = session::check_counters(common, &settings)?;
    session::keep(store, &settings)?;
    session::start(common, store, &settings)?;
    let name = &settings.name;
    if settings.records() {
        say(format_args!("session {name:?} records into {}, {}", settings.place().display(), an_hour(bytes)));
    }
    if let Some(otlp) = &settings.otlp {
        let to = otlp.address.as_deref().unwrap_or("the receiver that the environment names");
        say(format_args!("session {name:?} sends its samples to {to}"));
    }
    if !settings.alerts.is_empty() {
        let every = settings.interval.as_secs_f64();
        say(format_args!(
            "session {name:?} looks at {} limits every {every} s",
            settings.alerts.limits.len()
        ));
    }
    Ok(())
}

/// The settings of a session that there is not yet.
pub(crate) fn made(given: &Common, store: &SessionStore, start: &Start) -> Result<SessionSettings, Failure> {
    let settings = SessionSettings::new(&start.name, store.default_folder(&start.name));
    let mut settings = changed(settings, &start.options)?;
    session::hosts::choose(given, &mut settings, &start.options.counter)?;
    // Checked before anything that takes time.
    settings.check()?;
    Ok(settings)
}

/// The options for what is done on this machine.
pub(crate) fn without_hosts(common: &Common) -> Common {
    Common { host: Vec::new(), ..common.clone() }
}

/// Fails where samples are to be sent and nobody says to whom.
fn check_receiver(settings: &SessionSettings) -> Result<(), Failure> {
    let Some(otlp) = &settings.otlp else { return Ok(()) };
    if settings.at_boot && otlp.address.is_none() {
        let words = "a session that starts with the machine has not the environment of this terminal; name \
                     its receiver with --otlp";
        return Err(Failure::new(Kind::Usage, words));
    }
    session::export::target(settings, "").map(drop)
}

/// An estimate of bytes an hour, in words.
fn an_hour(bytes: f64) -> String {
    let (number, unit) = match bytes {
        bytes if bytes < 1e6 => (bytes / 1e3, "kB"),
        bytes if bytes < 1e9 => (bytes / 1e6, "MB"),
        bytes => (bytes / 1e9, "GB"),
    };
    format!("at most about {number:.1} {unit} an hour")
}

/// Settings with the given options in them.
pub(crate) fn changed(
    mut settings: SessionSettings,
    options: &SessionOptions,
) -> Result<SessionSettings, Failure> {
    if !options.counter.is_empty() {
        (settings.counters, settings.all_objects) = (options.counter.clone(), false);
    }
    if options.all_objects {
        (settings.counters, settings.all_objects) = (Vec::new(), true);
        settings.hosts.clear();
    }
    if let Some(address) = &options.otlp {
        settings.otlp.get_or_insert_default().address = Some(address.clone());
    }
    if options.format.as_deref() == Some(OTLP) {
        settings.otlp.get_or_insert_default().only = true;
    } else if let Some(name) = &options.format {
        settings.otlp.iter_mut().for_each(|otlp| otlp.only = false);
        settings.format = Format::from_name(name).ok_or_else(|| {
            let written = FORMATS.iter().filter(|format| format.writes);
            let names: Vec<&str> = written.map(|format| format.name).collect();
            Failure::new(
                Kind::Usage,
                format_args!("no format {name:?}; there are {} and {OTLP}", names.join(", ")),
            )
        })?;
    }
    if options.no_otlp {
        settings.otlp = None;
    }
    match &options.output {
        Some(address) if is_address(address) => {
            if options.format.is_none() {
                settings.format = Format::Lake;
            }
            settings.lake = Some(address.clone());
        }
        Some(folder) => {
            settings.lake = None;
            settings.folder = absolute(folder).map_err(|error| Failure::file(folder, &error))?;
        }
        None => {}
    }
    if let Some(by) = options.instances {
        settings.instances = Naming { by }.live();
    }
    settings.interval = options.interval.unwrap_or(settings.interval);
    settings.sync = options.sync.unwrap_or(settings.sync);
    settings.max_size = options.max_size.or(settings.max_size);
    settings.rotate_size = options.rotate_size.or(settings.rotate_size);
    settings.rotate_time = options.rotate_time.or(settings.rotate_time);
    settings.segments = options.segments.or(settings.segments);
    settings.samples = options.samples.or(settings.samples);
    settings.begin = options.begin.as_deref().map(machine_time).transpose()?.or(settings.begin);
    settings.end = options.end.as_deref().map(machine_time).transpose()?.or(settings.end);
    settings.duration = options.duration.or(settings.duration);
    settings.at_boot |= options.at_boot;
    let alerts = &mut settings.alerts;
    if !options.alert.is_empty() {
        alerts.limits.clone_from(&options.alert);
    }
    alerts.after = options.alert_after.unwrap_or(alerts.after);
    alerts.event |= options.event;
    alerts.start = options.start.clone().or(alerts.start.take());
    alerts.run = options.run.clone().or(alerts.run.take());
    alerts.webhook = options.webhook.clone().or(alerts.webhook.take());
    if let Some(file) = &options.webhook_token {
        alerts.webhook_token = Some(absolute(file).map_err(|error| Failure::file(file, &error))?);
    }
    for (place, socket) in [(&mut alerts.syslog, &options.syslog), (&mut alerts.journal, &options.journal)] {
        if let Some(socket) = socket {
            *place = Some(absolute(socket).map_err(|error| Failure::file(socket, &error))?);
        }
    }
    // The recorder has a folder of its own.
    if let Some(file) =
        options.webhook.as_ref().and_then(|address| address.strip_prefix('@')).filter(|file| !file.is_empty())
    {
        let file = absolute(file).map_err(|error| Failure::file(Path::new(file), &error))?;
        alerts.webhook = Some(format!("@{}", file.display()));
    }
    Ok(settings)
}

/// A lake in object storage needs credentials before anything is recorded. Its server may be away.
fn check_lake(settings: &SessionSettings) -> Result<(), Failure> {
    #[cfg(feature = "parquet")]
    if let Some(lake) = &settings.lake {
        tallymon::log::lake::check_address(lake)?;
    }
    let _ = settings;
    Ok(())
}

fn update(common: &Common, store: &SessionStore, change: &Start) -> Result<(), Failure> {
    let mut settings = changed(store.read(&change.name)?, &change.options)?;
    session::hosts::choose(common, &mut settings, &change.options.counter)?;
    let common = &without_hosts(common);
    settings.check()?;
    // A counter that does not exist is an error before anything is stopped.
    session::check_counters(common, &settings)?;
    let was_recording = store.stop(&change.name)?;
    session::keep(store, &settings)?;
    if was_recording { session::start(common, store, &settings) } else { Ok(()) }
}

/// Says on standard error what a session has recorded.
fn say_recorded(status: &SessionStatus, name: &str) {
    say(format_args!("session {name:?}: {} records", status.records));
    if let Some(error) = &status.last_error {
        say(format_args!("session {name:?}: {} errors, the last one: {error}", status.errors));
    }
}

fn list(store: &SessionStore, as_json: bool) -> Result<(), Failure> {
    let mut sessions = Vec::new();
    for name in store.names()? {
        match store.read(&name) {
            Ok(settings) => sessions.push(settings),
            Err(error) => say(error),
        }
    }
    let mut out = border::stdout();
    if as_json {
        let rows: Vec<_> = sessions.iter().map(|settings| described(store, settings)).collect();
        writeln!(out, "{}", border::json(&json!(rows)))?;
        return Ok(());
    }
    let width = sessions.iter().map(|settings| settings.name.width()).max().unwrap_or(0);
    for settings in &sessions {
        let gap = " ".repeat(width.saturating_sub(settings.name.width()));
        let status = store.status(&settings.name);
        let line = format!(
            "{}{gap}  {:9}  every {:>6.1} s  {:>8} records  {}",
            settings.name,
            store.state(&settings.name).word(),
            settings.interval.as_secs_f64(),
            status.records,
            settings.place().display()
        );
        writeln!(out, "{}", visible(line.trim_end()))?;
    }
    Ok(())
}

fn described(store: &SessionStore, settings: &SessionSettings) -> serde_json::Value {
    let mut value: serde_json::Value = serde_json::from_str(&settings.to_text()).unwrap_or_default();
    let status = store.status(&settings.name);
    let logs: Vec<_> = settings
        .logs()
        .iter()
        .map(|(number, path)| {
            let bytes = fs::metadata(path).map_or(0, |file| file.len());
            json!({ "number": number, "path": path.to_string_lossy(), "bytes": bytes })
        })
        .collect();
    if let Some(address) = &settings.alerts.webhook
        && let Some(place) = value.pointer_mut("/alerts/webhook")
    {
        // Only 'export' prints all of it, so that another machine can use it.
        *place = webhook::shown(address).into();
    }
    if let Some(object) = value.as_object_mut() {
        object.insert("status".into(), store.state(&settings.name).word().into());
        object.insert("process".into(), json!(status.process));
        object.insert("started".into(), json!(status.started.map(rfc3339)));
        object.insert("records".into(), json!(status.records));
        object.insert("held".into(), json!(status.held));
        object.insert("lost".into(), json!(status.lost));
        object.insert("last".into(), json!(status.last.map(rfc3339)));
        object.insert("alerts_begun".into(), json!(status.alerts));
        object.insert("troubled_hosts".into(), json!(status.troubled_hosts));
        object.insert("errors".into(), json!(status.errors));
        object.insert("last_error".into(), json!(status.last_error));
        object.insert("logs".into(), logs.into());
    }
    value
}

/// What a session does at an alert, in words.
fn actions(settings: &SessionSettings) -> Vec<String> {
    let alerts = &settings.alerts;
    let mut words = Vec::new();
    if !alerts.after.is_zero() {
        words.push(format!("begin and end after {:.3} s", alerts.after.as_secs_f64()));
    }
    words.extend(alerts.event.then(|| "write an event".to_owned()));
    words.extend(alerts.start.as_ref().map(|name| format!("start the session {name:?}")));
    words.extend(alerts.run.as_ref().map(|line| format!("run: {line}")));
    words.extend(alerts.webhook.as_ref().map(|address| format!("post to {}", webhook::shown(address))));
    words.extend(alerts.syslog.as_ref().map(|socket| format!("tell syslog: {}", socket.display())));
    words.extend(alerts.journal.as_ref().map(|socket| format!("tell the journal: {}", socket.display())));
    words
}

fn show(store: &SessionStore, name: &str, as_json: bool) -> Result<(), Failure> {
    let settings = store.read(name)?;
    let mut out = border::stdout();
    if as_json {
        writeln!(out, "{}", border::json(&described(store, &settings)))?;
        return Ok(());
    }
    let status = store.status(name);
    let mut line = |title: &str, text: String| writeln!(out, "{title:>10}  {}", visible(&text));
    line("session", format!("{name}, {}", store.state(&settings.name).word()))?;
    line("records", format!("one every {:.3} s", settings.interval.as_secs_f64()))?;
    line("synced", format!("to the disk every {:.3} s", settings.sync.as_secs_f64()))?;
    if settings.all_objects {
        line("counters", "all of all objects that are not costly".to_owned())?;
    }
    for counter in settings.paths() {
        line("counter", counter)?;
    }
    for host in &settings.hosts {
        line("host", format!("{}, {}", host.name, host.address))?;
    }
    for trouble in &status.troubled_hosts {
        line("trouble", trouble.clone())?;
    }
    for limit in &settings.alerts.limits {
        line("alert", limit.to_string())?;
    }
    for action in actions(&settings) {
        line("at alerts", action)?;
    }
    if settings.records() {
        line("folder", format!("{}, {}", settings.place().display(), settings.format.info().description))?;
        if settings.lake.is_some() {
            line("waits in", settings.log_folder().display().to_string())?;
        }
    }
    if let Some(otlp) = &settings.otlp {
        let to = otlp.address.as_deref().unwrap_or("the receiver that the environment names");
        line("sends", format!("each sample to {to}"))?;
    }
    let mut limits = Vec::new();
    limits.extend(settings.rotate_size.map(|size| format!("a new log at {size} bytes")));
    limits.extend(settings.rotate_time.map(|time| format!("a new log every {:.0} s", time.as_secs_f64())));
    limits.extend(settings.segments.map(|count| format!("the last {count} logs are kept")));
    limits.extend(settings.max_size.map(|size| format!("{size} bytes at most")));
    limits.extend(settings.samples.map(|count| format!("{count} records at most")));
    limits.extend(settings.begin.map(|time| format!("from {}", rfc3339(time))));
    limits.extend(settings.end.map(|time| format!("until {}", rfc3339(time))));
    limits.extend(settings.duration.map(|time| format!("for {:.0} s", time.as_secs_f64())));
    limits.extend(settings.at_boot.then(|| "starts with the machine".to_owned()));
    for limit in limits {
        line("limit", limit)?;
    }
    if let Some(started) = status.started {
        line("process", format!("{}, since {}", status.process, rfc3339(started)))?;
        let last = status.last.map_or(String::new(), |last| format!(", the last at {}", rfc3339(last)));
        line("recorded", format!("{} records{last}", status.records))?;
        if !settings.alerts.is_empty() {
            line("alerts", format!("{} have begun", status.alerts))?;
        }
        if status.held > 0 {
            line("waiting", format!("{} records, until the disk has room for them", status.held))?;
        }
        if status.lost > 0 {
            line("lost", format!("{} records, which the disk had no room for", status.lost))?;
        }
    }
    if let Some(error) = status.last_error {
        line("errors", format!("{}, the last one: {error}", status.errors))?;
    }
    for (_, path) in settings.logs() {
        let bytes = fs::metadata(&path).map_or(0, |file| file.len());
        line("log", format!("{}, {bytes} bytes", path.display()))?;
    }
    Ok(())
}
