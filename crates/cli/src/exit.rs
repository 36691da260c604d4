//! Failures of the command: their messages and exit codes.

use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use tallymon::core::flow::{NoValue, SourceError, SourceErrorKind};
use tallymon::hosts::HostError;
use tallymon::log::{LogError, LogErrorKind};
use tallymon::record::session::{SessionError, SettingsFault};
use tallymon::registry::{RegistryError, RegistryErrorKind};
use tallymon::{PathError, PathProblem};

use crate::path_message::{Home, drawn};

/// Why the command ends without success. `message` is `None` if it was printed already.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    pub(crate) message: Option<String>,
}

/// Kinds of failure and their exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// The reader of our output closed the pipe, as `head` does. That is not an error.
    ClosedPipe = 0,
    /// Anything else.
    Other = 1,
    /// The arguments are wrong.
    Usage = 2,
    /// Host, object, counter or instance does not exist.
    NotFound = 3,
    /// The counter exists, but has no value.
    NoData = 4,
    /// More rights are needed.
    AccessDenied = 5,
    /// The host or the provider does not answer.
    Unreachable = 6,
    /// A file is damaged.
    BadFile = 7,
    /// `analyze --fail-on` found something.
    Findings = 8,
}

impl Failure {
    pub(crate) fn new(kind: Kind, message: impl fmt::Display) -> Failure {
        Failure { code: kind as u8, message: Some(message.to_string()) }
    }

    /// A failure whose message was printed already.
    pub(crate) const fn silent(kind: Kind) -> Failure {
        Failure { code: kind as u8, message: None }
    }

    /// An answer that was printed, with an exit code that others prescribe.
    pub(crate) const fn with_code(code: u8) -> Failure {
        Failure { code, message: None }
    }

    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(self.code)
    }

    /// A failure to read or write a file.
    pub(crate) fn file(path: &Path, error: &io::Error) -> Failure {
        let kind = match error.kind() {
            io::ErrorKind::NotFound => Kind::NotFound,
            io::ErrorKind::PermissionDenied => Kind::AccessDenied,
            _ => Kind::Other,
        };
        Failure::new(kind, format_args!("{}: {error}{}", path.display(), cure(error)))
    }
}

/// What to do about an error of the operating system, for the end of its message.
fn cure(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AlreadyExists => "; --force replaces it",
        _ => "",
    }
}

/// The kind of failure for a missing value.
pub(crate) const fn kind_of(why: NoValue) -> Kind {
    match why {
        NoValue::NoObject | NoValue::NoCounter | NoValue::NoInstance => Kind::NotFound,
        NoValue::NoMachine => Kind::Unreachable,
        NoValue::NoData(tallymon::core::flow::Absence::AccessDenied) => Kind::AccessDenied,
        _ => Kind::NoData,
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Failure {
        let kind = match error.kind {
            SourceErrorKind::NotFound => Kind::NotFound,
            SourceErrorKind::AccessDenied => Kind::AccessDenied,
            SourceErrorKind::Unreachable => Kind::Unreachable,
            SourceErrorKind::BadData => Kind::BadFile,
            _ => Kind::Other,
        };
        Failure::new(kind, error)
    }
}

impl From<HostError> for Failure {
    fn from(error: HostError) -> Failure {
        let kind = match &error {
            HostError::File(_, io) if io.kind() == io::ErrorKind::PermissionDenied => Kind::AccessDenied,
            HostError::File(_, io) if io.kind() == io::ErrorKind::NotFound => Kind::NotFound,
            HostError::Unknown(_) => Kind::NotFound,
            HostError::Line(..) => Kind::BadFile,
            HostError::Address(_) | HostError::Twice(..) | HostError::Several(_) => Kind::Usage,
            _ => Kind::Other,
        };
        Failure::new(kind, error)
    }
}

impl From<RegistryError> for Failure {
    fn from(error: RegistryError) -> Failure {
        let kind = match error.kind {
            RegistryErrorKind::NotFound | RegistryErrorKind::NotInstalled => Kind::NotFound,
            RegistryErrorKind::AccessDenied => Kind::AccessDenied,
            RegistryErrorKind::Refused | RegistryErrorKind::Damaged => Kind::BadFile,
            RegistryErrorKind::Usage => Kind::Usage,
            _ => Kind::Other,
        };
        Failure::new(kind, error)
    }
}

impl From<PathError> for Failure {
    fn from(error: PathError) -> Failure {
        Failure::of_path(&error, Home::Machine)
    }
}

impl Failure {
    /// A failure for a wrong path. Its message names the command that lists valid paths.
    pub(crate) fn of_path(error: &PathError, home: Home) -> Failure {
        let kind = match &error.problem {
            PathProblem::Syntax(_)
            | PathProblem::NotAPath
            | PathProblem::InstanceMissing(_)
            | PathProblem::NoInstances(_) => Kind::Usage,
            PathProblem::OtherHost(_) | PathProblem::NotAnswering(_) => Kind::Unreachable,
            PathProblem::Unknown(_) => Kind::NotFound,
            PathProblem::Source(source) => return Failure::from(source.clone()),
            _ => Kind::Other,
        };
        Failure::new(kind, drawn(error, home))
    }
}

impl From<LogError> for Failure {
    fn from(error: LogError) -> Failure {
        if error.path.as_deref() == Some(Path::new("-")) {
            let words = "a log cannot be read from standard input; save it to a file and name that file";
            return Failure::new(Kind::Usage, words);
        }
        let kind = match &error.kind {
            LogErrorKind::Io(io) if io.kind() == io::ErrorKind::BrokenPipe => {
                return Failure::silent(Kind::ClosedPipe);
            }
            LogErrorKind::Io(io) if io.kind() == io::ErrorKind::NotFound => Kind::NotFound,
            LogErrorKind::Io(io) if io.kind() == io::ErrorKind::PermissionDenied => Kind::AccessDenied,
            LogErrorKind::Io(io) => {
                return Failure::new(Kind::Other, format_args!("{error}{}", cure(io)));
            }
            LogErrorKind::OutputIsInput(_) => Kind::Usage,
            LogErrorKind::NotALog(_) | LogErrorKind::Unusable(_) => Kind::BadFile,
            LogErrorKind::Request(_) => Kind::NotFound,
            LogErrorKind::NoRecords(_) => Kind::NoData,
            _ => Kind::Other,
        };
        Failure::new(kind, error)
    }
}

impl From<SettingsFault> for Failure {
    fn from(fault: SettingsFault) -> Failure {
        let words = match fault {
            SettingsFault::NothingToRecord => {
                "nothing to record: give counters with -c, or --all-objects".into()
            }
            SettingsFault::RingOfLake => {
                "a lake keeps everything: it takes neither --segments nor --max-size".to_owned()
            }
            SettingsFault::RingWithoutRotation => {
                "--segments: say when a new log begins, with --rotate-time or --rotate-size".into()
            }
            fault => fault.to_string(),
        };
        Failure::new(Kind::Usage, words)
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Failure {
        let kind = match &error {
            SessionError::NotFound(_) => {
                let words = format!("{error}; 'tally log list' names those that there are");
                return Failure::new(Kind::NotFound, words);
            }
            SessionError::Over(name) => {
                return Failure::new(Kind::Usage, format_args!("session {name:?} has ended: --end is over"));
            }
            SessionError::NotRead(_) => Kind::Usage,
            SessionError::Damaged(..) => Kind::BadFile,
            SessionError::NotBegun(_) | SessionError::NoAnswer(..) => Kind::Unreachable,
            SessionError::NoLogs(_) => Kind::NoData,
            SessionError::File(path, error) => return Failure::file(path, error),
            _ => Kind::Other,
        };
        match error {
            SessionError::Settings(fault) => fault.into(),
            SessionError::Path(error) => error.into(),
            SessionError::Source(error) => error.into(),
            SessionError::Log(error) => error.into(),
            error => Failure::new(kind, error),
        }
    }
}

/// Errors of standard output. A closed pipe ends the command without an error.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Failure::silent(Kind::ClosedPipe)
        } else {
            Failure::new(Kind::Other, format_args!("writing the output: {error}"))
        }
    }
}
