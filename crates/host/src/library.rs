//! Options and state of provider libraries.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tallymon_core::title::{Language, TitleIndex};
use tallymon_provider::library::check::Rules;
use tallymon_provider::library::event::Event;
use tallymon_provider::library::protocol::Protections;
use tallymon_provider::{Finding, FindingState, Health, SourceName, SourceStatus};

use crate::registry::{Scope, Trust};

/// How libraries are run.
#[derive(Debug, Clone, Default)]
pub struct LibraryOptions {
    /// The program that loads them; `None` for the installed one.
    pub program: Option<PathBuf>,
    /// The checks to make; `None` for those in the registry.
    pub rules: Option<Rules>,
}

/// The state of a library, and what it has cost, in this process.
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
    /// It is loaded in this process.
    pub in_process: bool,
    /// Whether its library is the one that was marked as trusted.
    pub trust: Trust,
    /// How often a process was started for it.
    pub started: u64,
    /// The service is disabled.
    pub disabled: bool,
    /// All services are disabled.
    pub all_disabled: bool,
    /// It did not answer the last request in time.
    pub late: bool,
    /// What is wrong with it; `None` when all is well.
    pub trouble: Option<String>,
    /// How many objects it has.
    pub objects: usize,
    /// What it did so far.
    pub counts: LibraryCounts,
    /// The languages that its names are registered in.
    pub languages: Arc<[Language]>,
}

/// What a library did so far in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LibraryCounts {
    /// Requests for its objects.
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
    /// What is wrong, and what the library printed.
    pub events: Vec<Event>,
    /// What protects the reader against it; `None` when it has no process any more.
    pub protections: Option<Protections>,
}

/// The state of a library as `tally doctor` shows it.
pub(crate) fn finding(status: &LibraryStatus) -> Finding {
    let LibraryStatus { service, library, objects, .. } = status;
    let subject = format!("service {service}");
    let why = format!("'tally events --provider {service}' shows more");
    if status.all_disabled {
        let detail = "disabled, as all libraries are".to_string();
        let remedy =
            "'tally provider set \"Disable Performance Counters=0\"' has them asked again".to_string();
        return Finding { subject, state: FindingState::Missing, detail, remedy };
    }
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
        // A library that changes other objects runs together with these only.
        let detail = format!("{library} was not asked yet");
        return Finding { subject, state: FindingState::Good, detail, remedy: String::new() };
    }
    let time = status.counts.last;
    let place = if status.in_process { ", in the process of whoever asks" } else { "" };
    let mut detail = format!("{library} answers in {time:.0?} with {objects} objects{place}");
    if status.trust == Trust::Changed {
        detail.push_str("; it is no longer the one that was trusted");
        let remedy = format!("'tally lodctr /T:{service}' trusts it as it is now");
        return Finding { subject, state: FindingState::Limited, detail, remedy };
    }
    Finding { subject, state: FindingState::Good, detail, remedy: String::new() }
}

/// The same as a source of counters, as "Tallymon Provider" shows all of them.
pub(crate) fn source(status: &LibraryStatus) -> SourceStatus {
    let LibraryCounts { asked, answered, late, failed, busy, last } = status.counts;
    let health = match &status.trouble {
        _ if status.disabled || status.all_disabled => Health::Failed,
        Some(_) if status.late || status.objects > 0 => Health::Degraded,
        Some(_) => Health::Failed,
        None if asked == 0 => Health::NotAsked,
        None => Health::Healthy,
    };
    let trouble = status.trouble.clone().unwrap_or_default();
    let reason = match (status.disabled || status.all_disabled, trouble.is_empty()) {
        (true, true) => "disabled".to_string(),
        (true, false) => format!("disabled: {trouble}"),
        (false, _) => trouble,
    };
    SourceStatus {
        collections: answered,
        busy,
        last,
        errors: failed,
        late: Some(late),
        restarts: (!status.in_process).then(|| status.started.saturating_sub(1)),
        health,
        reason: reason.into(),
        languages: Arc::clone(&status.languages),
        ..SourceStatus::new(SourceName::Named(format!("service {}", status.service)))
    }
}
