//! Sends alerts to the log of the system: to syslog in the form of RFC 5424, and to the journal of systemd
//! with a field for each fact. Both are sockets of this machine.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Write};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::io::retry_on_intr;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use tallymon::clock::rfc3339;
use tallymon::core::visible::visible;
use tallymon::record::session::Alert;

use super::alert_text::{Message, limit, value};

/// How long a daemon that does not read may keep the session waiting.
const PATIENCE: Duration = Duration::from_millis(500);

/// How long nothing is sent to such a daemon then: many alerts at once must not wait for it one by one.
const PAUSE: Duration = Duration::from_secs(10);

/// The facility of daemons, as syslog numbers it.
const DAEMON: u32 = 3;

/// The number behind the name of the structured data: the one that RFC 5612 keeps for documents, because this
/// project has none.
const ENTERPRISE: u32 = 32_473;

/// The identifiers of the messages in the journal, for `journalctl MESSAGE_ID=…`.
const BEGAN: &str = "7d1c2f0d9be34e0aa6a9c35ecb9a2f41";
const ENDED: &str = "c0d4f1f6a1f54a16a4d7e0f2b8a53c6e";

impl Message<'_> {
    /// 4 (warning) when an alert begins, 5 (notice) when it ends.
    const fn severity(&self) -> u32 {
        if self.alert.begins { 4 } else { 5 }
    }

    /// The sentence for people.
    fn text(&self) -> String {
        let Alert { begins, counter, .. } = self.alert;
        let (verb, session) = (if *begins { "began" } else { "ended" }, self.session);
        format!("alert {verb} ({session}): {counter} is {}, limit {}", value(self.alert), limit(self.alert))
    }

    /// A line of syslog, without what ends it. Names of counters may have any letter: what is not visible,
    /// such as the end of a line, is replaced.
    fn line(&self) -> String {
        let priority = DAEMON.saturating_mul(8).saturating_add(self.severity());
        let time = rfc3339(self.alert.time);
        let process = std::process::id();
        let kind = if self.alert.begins { "alert-begin" } else { "alert-end" };
        let fields = [
            ("session", self.session.to_owned()),
            ("counter", self.alert.counter.clone()),
            ("value", value(self.alert)),
            ("threshold", limit(self.alert)),
        ];
        let mut data = format!("[alert@{ENTERPRISE}");
        for (name, text) in fields {
            data.push_str(&format!(" {name}=\""));
            for letter in visible(&text).chars() {
                if matches!(letter, '"' | '\\' | ']') {
                    data.push('\\');
                }
                data.push(letter);
            }
            data.push('"');
        }
        data.push(']');
        let host = header(self.host);
        format!("<{priority}>1 {time} {host} tally {process} {kind} {data} {}", visible(&self.text()))
    }

    /// The fields in the journal's form: a name, the length of the value in 8 bytes, the value.
    fn fields(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (name, text) in [
            ("MESSAGE", self.text()),
            ("PRIORITY", self.severity().to_string()),
            ("SYSLOG_IDENTIFIER", "tally".to_owned()),
            ("MESSAGE_ID", (if self.alert.begins { BEGAN } else { ENDED }).to_owned()),
            ("ALERT", (if self.alert.begins { "begin" } else { "end" }).to_owned()),
            ("SESSION", self.session.to_owned()),
            ("HOST", self.host.to_owned()),
            ("COUNTER", self.alert.counter.clone()),
            ("VALUE", value(self.alert)),
            ("THRESHOLD", limit(self.alert)),
            ("TIME", rfc3339(self.alert.time)),
        ] {
            let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
            out.extend_from_slice(name.as_bytes());
            out.push(b'\n');
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(text.as_bytes());
            out.push(b'\n');
        }
        out
    }
}

/// A word of the header of a line: visible letters of ASCII, or `-` for none.
fn header(text: &str) -> String {
    let letters = text.chars().take(255);
    let plain: String = letters.map(|letter| if letter.is_ascii_graphic() { letter } else { '_' }).collect();
    if plain.is_empty() { "-".to_owned() } else { plain }
}

/// The sockets of the logs of the system.
#[derive(Default)]
pub(super) struct LogSockets {
    /// Sockets whose daemons did not read in time, and until when nothing is sent to them.
    paused: HashMap<PathBuf, Instant>,
}

impl LogSockets {
    /// Sends a message to a socket of syslog. The words of a failure are for people.
    pub(super) fn syslog(&mut self, socket: &Path, message: &Message<'_>) -> Result<(), String> {
        let line = message.line();
        self.unless_paused(socket, || match send(socket, line.as_bytes()) {
            // Some daemons listen for connections there, in which a line end ends a message.
            Err(error) if error.raw_os_error() == Some(WRONG_TYPE) => stream(socket, &line),
            sent => sent,
        })
        .map_err(|error| format!("syslog did not take the alert: {}: {error}", socket.display()))
    }

    /// Sends a message to a socket of the journal. The words of a failure are for people.
    pub(super) fn journal(&mut self, socket: &Path, message: &Message<'_>) -> Result<(), String> {
        self.unless_paused(socket, || send(socket, &message.fields()))
            .map_err(|error| format!("the journal did not take the alert: {}: {error}", socket.display()))
    }

    /// Sends to a socket, unless its daemon did not read a moment ago.
    fn unless_paused(&mut self, socket: &Path, send: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        if self.paused.get(socket).is_some_and(|until| Instant::now() < *until) {
            let words =
                format!("not sent, because its daemon did not read in the last {} s", PAUSE.as_secs());
            return Err(io::Error::new(ErrorKind::TimedOut, words));
        }
        self.paused.remove(socket);
        let sent = send();
        let kind = sent.as_ref().err().map(io::Error::kind);
        if matches!(kind, Some(ErrorKind::WouldBlock | ErrorKind::TimedOut))
            && let Some(until) = Instant::now().checked_add(PAUSE)
        {
            self.paused.insert(socket.to_path_buf(), until);
        }
        sent
    }
}

/// `EPROTOTYPE`: the socket is one of another type.
const WRONG_TYPE: i32 = rustix::io::Errno::PROTOTYPE.raw_os_error();

fn send(socket: &Path, bytes: &[u8]) -> io::Result<()> {
    let from = UnixDatagram::unbound()?;
    from.set_write_timeout(Some(PATIENCE))?;
    from.send_to(bytes, socket).map(drop)
}

/// Sends a line over a connection, which waits as long as a message does: the queue of the daemon may be
/// full.
fn stream(socket: &Path, line: &str) -> io::Result<()> {
    let address = SocketAddrUnix::new(socket)?;
    let to = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&to, Timeout::Send, Some(PATIENCE))?;
    retry_on_intr(|| connect(&to, &address))?;
    UnixStream::from(to).write_all(format!("{line}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_that_does_not_read_is_waited_for_once_in_ten_seconds() {
        let path = std::env::temp_dir().join(format!("tally-syslog-{}", std::process::id()));
        let daemon = UnixDatagram::bind(&path).unwrap();
        let filler = UnixDatagram::unbound().unwrap();
        filler.set_nonblocking(true).unwrap();
        while filler.send_to(b"x", &path).is_ok() {}
        let mut sockets = LogSockets::default();
        let mut send = || sockets.unless_paused(&path, || send(&path, b"message"));
        let first = send().unwrap_err().to_string();
        let started = Instant::now();
        for _ in 0..100 {
            let next = send().unwrap_err().to_string();
            assert!(next.starts_with("not sent, because") && next != first, "{next}");
        }
        assert!(started.elapsed() < PAUSE);
        // The daemon reads again, which is found out behind the pause.
        let mut bytes = [0; 16];
        daemon.set_nonblocking(true).unwrap();
        while daemon.recv(&mut bytes).is_ok() {}
        assert!(send().is_err());
        sockets.paused.values_mut().for_each(|until| *until = Instant::now());
        sockets.unless_paused(&path, || self::send(&path, b"message")).unwrap();
        assert_eq!((daemon.recv(&mut bytes).unwrap(), sockets.paused.len()), (7, 0));
        std::fs::remove_file(&path).unwrap();
    }
}
