//! The data flow: a [`Source`] answers a request with a snapshot. Samples are read from the snapshot, values
//! are computed from samples, and a [`Sink`] receives both as [`Row`]s.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::block::Snapshot;
use crate::error::Error;
use crate::request::{Request, RequestKind};
use crate::title::{Language, TitleIndex, Titles};

mod absence;
mod partial;
pub mod performance_registry;
mod registered;
mod row;
mod value;

pub use absence::Absence;
pub use partial::PartialSum;
pub use registered::{RegisteredObjects, UnlistedService};
pub use row::{Cell, Column, LiveColumn, Row, Sink};
pub use value::{NoValue, PdhStatus, Sample, Value, ValueState};

/// Answers requests: this machine, another machine, a log file, or a saved data block.
///
/// A source is [`Send`], so that another thread can take samples on a timer.
pub trait Source: Send {
    /// Collects the requested objects now, as one data block.
    ///
    /// An object that does not exist is missing from the answer. That is not an error.
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError>;

    /// Takes back a snapshot that is no longer needed, to reuse its memory for the next one. A source may
    /// ignore it.
    fn give_back(&mut self, snapshot: Snapshot) {
        drop(snapshot);
    }

    /// The definitions of the objects, costly ones or the others, without instances and values.
    ///
    /// A source that starts other programs for some objects leaves these out, so that nobody starts them
    /// who means other objects; [`Source::registered`] lists them.
    fn definitions(&mut self, costly: bool) -> Result<Snapshot, SourceError> {
        self.snapshot(&Request::from(RequestKind::Metadata { costly, old: false }))
    }

    /// The objects that [`Source::definitions`] leaves out: a request for one of them has its definition.
    fn registered(&mut self) -> RegisteredObjects {
        RegisteredObjects::default()
    }

    /// The names and help texts in `language`, or in English if the source does not have that language.
    fn titles(&mut self, language: Language) -> Result<Titles, SourceError>;

    /// Names in `language` beside those of [`Source::titles`]: translations of names that Windows leaves in
    /// English. Most languages have none.
    fn translations(&mut self, language: Language) -> Result<Titles, SourceError> {
        let _ = language;
        Ok(Titles::new())
    }

    /// Looks for an object that is costly to find, by a name that no object has otherwise; whether there is
    /// one now. Then [`Source::definitions`] and [`Source::titles`] have it too.
    fn discover(&mut self, object: &str) -> bool {
        let _ = object;
        false
    }

    /// The languages of its names and help texts, English first.
    fn languages(&self) -> Vec<Language> {
        Vec::from([Language::ENGLISH])
    }

    /// Names of the host besides the one in its data blocks: those under which a user knows it.
    fn host_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// Why values of an object are old or missing: which provider should supply them, and what is wrong with
    /// it. `None` if no problem is known.
    fn trouble(&self, object: TitleIndex) -> Option<String> {
        let _ = object;
        None
    }
}

/// Why a source cannot answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceError {
    /// The kind of failure. Tools derive their exit code from it.
    pub kind: SourceErrorKind,
    /// What failed, which part, where, and what to do.
    pub message: Cow<'static, str>,
}

/// Kinds of [`SourceError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SourceErrorKind {
    /// The requested thing does not exist.
    NotFound,
    /// More rights are needed.
    AccessDenied,
    /// The source cannot be reached, or did not answer in time.
    Unreachable,
    /// The answer is not a data block.
    BadData,
    /// This system does not support it.
    Unsupported,
    /// Reading failed.
    Io,
}

impl SourceError {
    /// Creates an error from its kind and its message.
    pub fn new(kind: SourceErrorKind, message: impl Into<Cow<'static, str>>) -> SourceError {
        SourceError { kind, message: message.into() }
    }
}

impl From<Error> for SourceError {
    fn from(error: Error) -> SourceError {
        SourceError::new(SourceErrorKind::BadData, alloc::format!("not a valid data block: {error}"))
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for SourceError {}
