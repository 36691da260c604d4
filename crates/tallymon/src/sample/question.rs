//! What is sent to the thread of a source.

use std::fmt;
use std::time::Instant;

use tallymon_core::block::Snapshot;
use tallymon_core::flow::{Source, SourceError};
use tallymon_core::request::Request;

/// Number of a listener; none is used twice in a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ListenerId(pub(super) u64);

/// A call that runs on the thread of the source.
pub(super) type Call = Box<dyn FnOnce(Result<&mut dyn Source, SourceError>) + Send>;

/// What the thread is to do next.
pub(crate) enum Question {
    /// Take a sample.
    Sample(SampleQuestion),
    /// Ask the source anything else.
    Call(Call),
    /// Take the memory of a snapshot that nobody needs any more.
    GiveBack(Snapshot),
}

impl fmt::Debug for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Question::Sample(question) => f.debug_tuple("Sample").field(question).finish(),
            Question::Call(_) => f.write_str("Call"),
            Question::GiveBack(_) => f.write_str("GiveBack"),
        }
    }
}

/// A sample that somebody wants.
#[derive(Debug, Clone)]
pub(crate) struct SampleQuestion {
    pub(super) request: Request,
    /// The listeners that it is for.
    pub(super) listeners: Vec<ListenerId>,
    /// A row of all listeners; else the first sample of a listener.
    pub(super) is_row: bool,
    pub(super) asked: Instant,
}
