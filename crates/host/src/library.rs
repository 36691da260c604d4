//! How provider libraries are asked, and how each of them is.

use std::path::PathBuf;
use std::time::Duration;

use tallymon_core::title::TitleIndex;
use tallymon_provider::library::check::Rules;
use tallymon_provider::library::event::Event;
use tallymon_provider::{Finding, FindingState};

use crate::registry::Scope;

/// How libraries are asked.
#[derive(Debug, Clone, Default)]
pub struct LibraryOptions {
    /// The program that loads them; `None` for the one that is installed.
    pub program: Option<PathBuf>,
    /// Which checks are made.
    pub rules: Rules,
}

/// How a library is, and what it has cost, in this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LibraryStatus {
    /// Name of the service.
    pub service: String,
    /// Whose registry it is in.
    pub scope: Scope,
    /// The library.
    pub library: String,
    /// Number of its process, while it has one.
    pub process: Option<u32>,
    /// It is not asked.
    pub disabled: bool,
    /// It did not answer the last request in time.
    pub late: bool,
    /// What is wrong with it; `None` when nothing is.
    pub trouble: Option<String>,
    /// How many objects it has.
    pub objects: usize,
    /// What it did so far.
    pub counts: LibraryCounts,
}

/// What a library did so far in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LibraryCounts {
    /// Requests that meant it.
    pub asked: u64,
    /// Requests that it answered in time.
    pub answered: u64,
    /// Requests that it did not answer in time.
    pub late: u64,
    /// Times that it crashed, hung, could not be loaded or answered with rubbish.
    pub failed: u64,
    /// How long Collect took altogether.
    pub busy: Duration,
    /// How long Collect took the last time.
    pub last: Duration,
}

/// What a library answered to one query of a trial.
#[derive(Debug, Clone, Default)]
pub struct LibraryTrial {
    /// The query.
    pub query: String,
    /// The objects in its answer.
    pub objects: Vec<TitleIndex>,
    /// Length of the answer.
    pub bytes: usize,
    /// How often Collect was called until its buffer was large enough.
    pub calls: u32,
    /// How long that took.
    pub time: Duration,
    /// What is wrong.
    pub events: Vec<Event>,
}

/// What a user is told of a library.
pub(crate) fn finding(status: &LibraryStatus) -> Finding {
    let LibraryStatus { service, library, objects, .. } = status;
    let subject = format!("service {service}");
    let why = format!("'tally events --provider {service}' shows more");
    if status.disabled {
        let detail = match &status.trouble {
            Some(trouble) => format!("disabled: {trouble}"),
            None => "disabled".to_string(),
        };
        let remedy = format!("'tally provider enable {service}' has it asked again; {why}");
        return Finding { subject, state: FindingState::Missing, detail, remedy };
    }
    if let Some(trouble) = &status.trouble {
        let some = status.late || *objects > 0;
        let state = if some { FindingState::Limited } else { FindingState::Missing };
        return Finding { subject, state, detail: trouble.clone(), remedy: why };
    }
    if status.counts.asked == 0 {
        // One that changes objects of others is asked together with them only.
        let detail = format!("{library} was not asked yet");
        return Finding { subject, state: FindingState::Good, detail, remedy: String::new() };
    }
    let time = status.counts.last;
    let detail = format!("{library} answers in {time:.0?} with {objects} objects");
    Finding { subject, state: FindingState::Good, detail, remedy: String::new() }
}
