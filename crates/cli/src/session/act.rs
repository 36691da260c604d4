//! What a session does at an alert (an event, a message, another session, a command, a post), and with its
//! samples: sending them.

use std::cell::RefCell;
use std::process::{Child, Command, Stdio};

use tallymon::Query;
use tallymon::clock::rfc3339;
use tallymon::core::time::FileTime;
use tallymon::events::EventLog;
use tallymon::library::event::{ALERT_BEGAN, ALERT_ENDED, Event};
use tallymon::record::session::{Alert, SessionActions, SessionSettings, SessionStore};
use tallymon::registry::Roots;

use super::alert_text::{Message, limit, value};
use super::export::Export;
use super::start;
use super::syslog::LogSockets;
use super::webhook::Webhooks;
use crate::arguments::Common;

/// How many commands run at once. A command that hangs must not be started for ever.
const MOST_COMMANDS: usize = 16;

/// Does what the settings of a session say.
pub(super) struct Actions<'a> {
    common: &'a Common,
    store: &'a SessionStore,
    /// The name of this machine, as soon as it is known.
    host: &'a RefCell<String>,
    webhooks: Webhooks,
    logs: LogSockets,
    /// Commands that were started, until they end.
    commands: Vec<Child>,
    /// Sends samples, since the first one that had a receiver.
    export: Option<Export>,
}

impl<'a> Actions<'a> {
    pub(super) fn new(common: &'a Common, store: &'a SessionStore, host: &'a RefCell<String>) -> Actions<'a> {
        let (webhooks, logs) = (Webhooks::default(), LogSockets::default());
        Actions { common, store, host, webhooks, logs, commands: Vec::new(), export: None }
    }

    fn start_session(&self, name: &str) -> Result<(), String> {
        if self.store.is_running(name) {
            return Ok(());
        }
        let started = self.store.read(name).map_err(Into::into);
        let started = started.and_then(|settings| start(self.common, self.store, &settings));
        started.map_err(|failure| {
            format!("the alert could not start the session {name:?}: {}", failure.message.unwrap_or_default())
        })
    }

    /// Runs a command line. What comes from the counter is in its environment only, never in the line: an
    /// instance may have any name.
    fn run(&mut self, line: &str, settings: &SessionSettings, alert: &Alert) -> Result<(), String> {
        if self.commands.len() >= MOST_COMMANDS {
            let words = "the command of an alert was not run, because";
            return Err(format!("{words} {MOST_COMMANDS} earlier ones have not ended: {line}"));
        }
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.env("TALLY_ALERT", if alert.begins { "begin" } else { "end" });
        command.env("TALLY_ALERT_SESSION", &settings.name);
        command.env("TALLY_ALERT_COUNTER", alert.counter.replace('\0', ""));
        command.env("TALLY_ALERT_VALUE", value(alert));
        command.env("TALLY_ALERT_LIMIT", limit(alert));
        command.env("TALLY_ALERT_TIME", rfc3339(alert.time));
        let child = command.spawn();
        self.commands.push(child.map_err(|error| format!("the command of an alert: {line}: {error}"))?);
        Ok(())
    }

    /// Lets go of the commands that have ended, and returns what went wrong with them.
    fn ended(&mut self) -> Vec<String> {
        let mut failed = Vec::new();
        self.commands.retain_mut(|child| match child.try_wait() {
            Ok(Some(exit)) => {
                if !exit.success() {
                    failed.push(format!("a command of an alert ended with {exit}"));
                }
                false
            }
            Ok(None) => true,
            Err(_) => false,
        });
        failed
    }
}

impl SessionActions for Actions<'_> {
    /// One action that fails does not keep the others from being done.
    fn act(&mut self, settings: &SessionSettings, alert: &Alert) -> Result<(), String> {
        let mut failed = self.ended();
        failed.extend(self.webhooks.failed());
        if settings.alerts.event {
            write_event(settings, alert);
        }
        if let Some(name) = settings.alerts.start.as_deref().filter(|_| alert.begins)
            && let Err(words) = self.start_session(name)
        {
            failed.push(words);
        }
        if let Some(line) = &settings.alerts.run
            && let Err(words) = self.run(line, settings, alert)
        {
            failed.push(words);
        }
        if settings.alerts.webhook.is_some() {
            let host = self.host.borrow();
            failed.extend(self.webhooks.post(&host, &settings.name, &settings.alerts, alert).err());
        }
        let host = self.host.borrow();
        let message = Message { host: &host, session: &settings.name, alert };
        if let Some(socket) = &settings.alerts.syslog {
            failed.extend(self.logs.syslog(socket, &message).err());
        }
        if let Some(socket) = &settings.alerts.journal {
            failed.extend(self.logs.journal(socket, &message).err());
        }
        if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
    }

    fn send(&mut self, settings: &SessionSettings, query: &Query, time: FileTime) -> Result<(), String> {
        let export = match &mut self.export {
            Some(export) => export,
            none => none.insert(Export::start(settings, query.system_name())?),
        };
        export.send(query, time)
    }

    fn finish(&mut self, settings: &SessionSettings) -> Result<(), String> {
        self.export.take().map_or(Ok(()), |export| export.finish(settings))
    }
}

fn write_event(settings: &SessionSettings, alert: &Alert) {
    let kind = if alert.begins { &ALERT_BEGAN } else { &ALERT_ENDED };
    let event = Event::new(kind, [&settings.name, &alert.counter, &value(alert), &limit(alert)]);
    EventLog::of_environment(&Roots::of_environment()).write(&event);
}
