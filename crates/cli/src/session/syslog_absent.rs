//! Stands in for the log of the system where it has no sockets.

use std::path::Path;

use super::alert_text::Message;

/// The sockets of the logs of the system: there are none.
#[derive(Default)]
pub(super) struct LogSockets;

impl LogSockets {
    /// Says that there is no syslog.
    pub(super) fn syslog(&mut self, socket: &Path, message: &Message<'_>) -> Result<(), String> {
        Err(absent("syslog", socket, message))
    }

    /// Says that there is no journal.
    pub(super) fn journal(&mut self, socket: &Path, message: &Message<'_>) -> Result<(), String> {
        Err(absent("journal", socket, message))
    }
}

fn absent(log: &str, socket: &Path, message: &Message<'_>) -> String {
    let Message { host, session, alert } = message;
    format!(
        "there is no {log} on this system ({}); the alert of {} in the session {session:?} of {host} was not \
         sent: use --event, which is in 'tally events'",
        socket.display(),
        alert.counter
    )
}
