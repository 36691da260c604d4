//! What goes wrong with recording sessions.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use tallymon_core::flow::SourceError;
use tallymon_log::{Format, LogError};

use crate::path_error::PathError;

/// What is wrong with the settings of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettingsFault {
    /// The name cannot be part of the name of a file.
    Name(String),
    /// The names of logs cannot begin with this.
    Base(String),
    /// Neither counters nor all objects are chosen.
    NothingToRecord,
    /// Samples are to be sent, and no counters are chosen.
    NothingToSend,
    /// Samples of other machines cannot be sent.
    HostsAreNotSent,
    /// Two hosts have this name.
    HostTwice(String),
    /// This host has counters beside all objects, or neither.
    HostCounters(String),
    /// This program cannot write the format.
    NotBuilt(Format),
    /// A ring needs to know when a new log begins.
    RingWithoutRotation,
    /// Only lakes are in object storage.
    OnlyLakes,
    /// A lake keeps what was put into it: it takes no ring, and no limit of size.
    RingOfLake,
    /// A size, or the number of logs, is 0.
    Zero,
    /// The end is not after the begin.
    EndBeforeBegin,
    /// A limit of an alert cannot be read.
    Limit(String),
    /// Something is to be done at an alert, and no limit is there.
    NoLimit,
    /// An alert that does nothing.
    NoAction,
    /// The address of a webhook is not an address, or there is a token without one.
    Webhook,
}

impl fmt::Display for SettingsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingsFault::Name(name) => write!(
                f,
                "{name:?} is not a name of a session: up to 100 letters, digits, spaces, '-', '_' and '.', and no '.' first"
            ),
            SettingsFault::Base(base) => write!(f, "{base:?} cannot be the beginning of the name of a log"),
            SettingsFault::NothingToRecord => {
                f.write_str("nothing to record: choose counters, or all objects")
            }
            SettingsFault::NothingToSend => {
                f.write_str("nothing to send: choose counters; a session cannot send all objects")
            }
            SettingsFault::HostsAreNotSent => f.write_str(
                "samples of other machines are only recorded: leave out the receiver, or the other machines",
            ),
            SettingsFault::HostTwice(name) => {
                write!(f, "two hosts are called {name:?}: give them names of their own")
            }
            SettingsFault::HostCounters(name) => {
                write!(f, "host {name:?}: choose either counters or all objects")
            }
            SettingsFault::NotBuilt(format) => {
                write!(f, "this program was built without {}", format.info().description)
            }
            SettingsFault::OnlyLakes => {
                f.write_str("only lakes are in object storage: choose the format lake, or a folder")
            }
            SettingsFault::RingOfLake => f.write_str(
                "a lake keeps everything: it takes no number of logs, and no most bytes of all logs",
            ),
            SettingsFault::RingWithoutRotation => {
                f.write_str("a ring of logs needs a time or a size at which a new log begins")
            }
            SettingsFault::Zero => f.write_str("a size or number of 0 leaves nothing to record"),
            SettingsFault::Limit(text) => write!(
                f,
                "{text:?} is not a limit: write a counter path, '>' or '<' and a number, \
                 such as '\\Processor(_Total)\\% Processor Time > 90'"
            ),
            SettingsFault::NoLimit => f.write_str("an alert needs a limit, such as 'PATH > 90'"),
            SettingsFault::NoAction => f.write_str(
                "an alert needs something to do: an event, a session to start, a command, or a webhook",
            ),
            // The address may be a secret.
            SettingsFault::Webhook => f.write_str(
                "the address of a webhook begins with http:// or https://, or it is @ and the path of the \
                 file that has it; a token needs such an address",
            ),
            SettingsFault::EndBeforeBegin => f.write_str("the end is not after the begin"),
        }
    }
}

/// Why something cannot be done with a session. Names are those of sessions.
#[derive(Debug)]
#[non_exhaustive]
pub enum SessionError {
    /// There is no folder for sessions: no home directory.
    NoHome,
    /// There is no session of this name.
    NotFound(String),
    /// The settings cannot be used.
    Settings(SettingsFault),
    /// A file of settings is damaged: its path, and what is wrong.
    Damaged(PathBuf, String),
    /// The session is recording already.
    Recording(String),
    /// The end of the session has passed.
    Over(String),
    /// The recorder ended, or met an error: its words.
    Recorder(String, String),
    /// The recorder did not begin in time.
    NotBegun(String),
    /// The recorder, a process of this number, did not do in time what it was asked for.
    NoAnswer(String, u32),
    /// The session has no logs.
    NoLogs(String),
    /// Logs of this format are not read here.
    NotRead(Format),
    /// The recorder cannot be started.
    Start(io::Error),
    /// A file cannot be read or written.
    File(PathBuf, io::Error),
    /// A counter path of the session is wrong.
    Path(PathError),
    /// The source does not answer.
    Source(SourceError),
    /// A log cannot be read or written.
    Log(LogError),
}

/// The variable that names the user's folder.
const HOME: &str = if cfg!(windows) { "LOCALAPPDATA" } else { "HOME" };

impl SessionError {
    pub(super) fn file(path: &Path, error: io::Error) -> SessionError {
        SessionError::File(path.to_path_buf(), error)
    }
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SessionError::NoHome => write!(f, "no place for sessions: {HOME} is not set"),
            SessionError::NotFound(name) => write!(f, "no session {name:?}"),
            SessionError::Settings(fault) => fault.fmt(f),
            SessionError::Damaged(path, words) => write!(f, "{}: {words}", path.display()),
            SessionError::Recording(name) => write!(f, "session {name:?} is recording already"),
            SessionError::Over(name) => write!(f, "session {name:?} has ended: its end is over"),
            SessionError::Recorder(name, words) => write!(f, "session {name:?}: {words}"),
            SessionError::NotBegun(name) => write!(f, "session {name:?} does not begin"),
            SessionError::NoAnswer(name, process) => {
                write!(f, "session {name:?} (process {process}) does not answer")
            }
            SessionError::NoLogs(name) => write!(f, "session {name:?} has no logs"),
            SessionError::NotRead(format) => {
                write!(f, "logs of {} are not read here: record in another format", format.info().name)
            }
            SessionError::Start(error) => write!(f, "starting the recorder: {error}"),
            SessionError::File(path, error) => write!(f, "{}: {error}", path.display()),
            SessionError::Path(error) => error.fmt(f),
            SessionError::Source(error) => error.fmt(f),
            SessionError::Log(error) => error.fmt(f),
        }
    }
}

impl Error for SessionError {}

impl From<SettingsFault> for SessionError {
    fn from(fault: SettingsFault) -> SessionError {
        SessionError::Settings(fault)
    }
}

impl From<PathError> for SessionError {
    fn from(error: PathError) -> SessionError {
        SessionError::Path(error)
    }
}

impl From<SourceError> for SessionError {
    fn from(error: SourceError) -> SessionError {
        SessionError::Source(error)
    }
}

impl From<LogError> for SessionError {
    fn from(error: LogError) -> SessionError {
        SessionError::Log(error)
    }
}
