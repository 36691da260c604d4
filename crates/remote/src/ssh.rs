//! A peer on another machine, which the system's `ssh` starts.
//!
//! ssh runs with the configuration of the user: hosts, keys, jump hosts, shared connections. It never asks
//! anything, because many hosts may be opened at once and none may wait for somebody at the keyboard. The
//! words for the remote shell are always the same three, so that no path or name can mean something to it.

use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tallymon_core::flow::{SourceError, SourceErrorKind};

use crate::address::{Address, SshAddress};
use crate::frames::FrameError;
use crate::peer::{Connection, Dial, PeerSource};

use self::input::Input;

#[cfg_attr(unix, path = "ssh_input/unix.rs")]
#[cfg_attr(not(unix), path = "ssh_input/other.rs")]
mod input;

/// What runs on the other machine.
const REMOTE: [&str; 3] = ["tally", "serve", "--stdio"];

/// How many bytes of messages of ssh are kept: the last ones.
const MESSAGES: usize = 4096;

/// How long a failed connection may take to say why.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A source over ssh.
pub fn source(address: SshAddress, timeout: Duration) -> PeerSource {
    PeerSource::new(Box::new(Ssh { address, timeout }), timeout)
}

/// The program ssh with its options, but for the host and the words for its shell.
pub(crate) fn command(address: &SshAddress, timeout: Duration) -> Command {
    let mut command = Command::new("ssh");
    // No terminal, no questions, and no escape characters in the stream.
    command.args(["-T", "-e", "none", "-o", "BatchMode=yes"]);
    command.arg("-o").arg(format!("ConnectTimeout={}", timeout.as_secs().max(1)));
    if let Some(port) = address.port {
        command.arg("-p").arg(port.to_string());
    }
    if let Some(user) = &address.user {
        command.arg("-l").arg(user);
    }
    command
}

/// Why ssh cannot be started.
pub(crate) fn start_error(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => {
            "there is no program 'ssh' on this machine; install OpenSSH's client".into()
        }
        _ => format!("starting ssh: {error}"),
    }
}

struct Ssh {
    address: SshAddress,
    timeout: Duration,
}

impl Dial for Ssh {
    fn dial(&mut self) -> Result<Box<dyn Connection>, SourceError> {
        let mut command = command(&self.address, self.timeout);
        command.arg("--").arg(&self.address.host).args(REMOTE);
        let (theirs, input) = input::pair().map_err(|error| {
            let words = format!("{}: the input of ssh: {error}", self.name());
            SourceError::new(SourceErrorKind::Io, words)
        })?;
        command.stdin(theirs).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| {
            let words = format!("{}: {}", self.name(), start_error(&error));
            SourceError::new(SourceErrorKind::Unreachable, words)
        })?;
        let messages = Messages::of(&mut child);
        let (name, host) = (self.name(), self.address.host.clone());
        Ok(Box::new(SshConnection { child, input: Some(input), messages, name, host }))
    }

    fn name(&self) -> String {
        Address::Ssh(self.address.clone()).to_string()
    }
}

struct SshConnection {
    child: Child,
    input: Option<Input>,
    messages: Messages,
    name: String,
    host: String,
}

/// What ssh writes on standard error.
struct Messages {
    text: Arc<Mutex<Vec<u8>>>,
    /// Disconnected when there will be no more.
    end: Receiver<()>,
}

impl Messages {
    fn of(child: &mut Child) -> Messages {
        let text = Arc::new(Mutex::new(Vec::new()));
        let (ended, end) = channel();
        if let Some(mut stderr) = child.stderr.take() {
            let text = Arc::clone(&text);
            // Without a thread there are no messages; the connection may work all the same.
            let _ = thread::Builder::new().name("tally ssh".to_string()).spawn(move || {
                let mut part = [0; 512];
                while let Ok(count @ 1..) = stderr.read(&mut part) {
                    let Ok(mut text) = text.lock() else { break };
                    text.extend_from_slice(part.get(..count).unwrap_or_default());
                    let extra = text.len().saturating_sub(MESSAGES);
                    text.drain(..extra);
                }
                drop(ended);
            });
        }
        Messages { text, end }
    }

    /// The last line that says something.
    fn last(&self, wait: Duration) -> Option<String> {
        // A shared connection that ssh left behind may hold the pipe open: nobody waits for its end.
        let _ = self.end.recv_timeout(wait);
        let text = self.text.lock().ok()?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
        Some(line.to_string())
    }
}

impl SshConnection {
    /// The exit code, once ssh has ended.
    fn code(&mut self) -> Option<i32> {
        let begin = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return status.code(),
                Ok(None) if begin.elapsed() < LAST_WORDS => thread::sleep(Duration::from_millis(5)),
                _ => return None,
            }
        }
    }
}

impl Connection for SshConnection {
    fn streams(&mut self) -> Option<(Box<dyn Read + Send>, Box<dyn Write + Send>)> {
        let output = self.input.take()?.writer(self.child.stdin.take())?;
        Some((Box::new(self.child.stdout.take()?), output))
    }

    fn diagnosis(&mut self, failed: &FrameError) -> Option<(SourceErrorKind, String)> {
        if let FrameError::NoGreeting(_) = failed {
            let words = format!(
                "{failed}; a login script there prints something: have it print only for a terminal, or install \
                 a newer tally there"
            );
            return Some((SourceErrorKind::BadData, words));
        }
        if !matches!(failed, FrameError::Closed | FrameError::Cut { .. } | FrameError::Io(_)) {
            return None;
        }
        let code = self.code();
        let last = self.messages.last(LAST_WORDS);
        let said = last.as_ref().map_or_else(String::new, |last| format!(" ({last})"));
        let kind = SourceErrorKind::Unreachable;
        Some(match code {
            // What shells return for a program that they do not find.
            Some(127) => {
                let words = format!(
                    "there is no program 'tally' in the PATH of commands that ssh runs{said}; copy it there with: \
                     tally remote install {}; or check with: ssh {} tally --version",
                    self.name, self.host
                );
                (SourceErrorKind::NotFound, words)
            }
            Some(126) => {
                (SourceErrorKind::AccessDenied, format!("the program 'tally' there cannot be run{said}"))
            }
            // ssh's own failures.
            Some(255) => {
                let words = last.unwrap_or_else(|| "ssh failed without a word".to_string());
                let advice = format!("; check with: ssh -o BatchMode=yes {} true", self.host);
                let is_denied = words.contains("Permission denied") || words.contains("verification failed");
                let kind = if is_denied { SourceErrorKind::AccessDenied } else { kind };
                (kind, format!("ssh: {words}{advice}"))
            }
            Some(2) => (
                SourceErrorKind::Unsupported,
                format!("'tally serve --stdio' there is refused{said}; install the same version there"),
            ),
            Some(code) => (kind, format!("{failed}; ssh ended with code {code}{said}")),
            None => (kind, format!("{failed}{said}")),
        })
    }
}

impl Drop for SshConnection {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
