//! Tries a library: loads it in a child process, sends it all requests that NT would send, and makes every
//! check.

use std::time::Duration;

use tallymon_core::block::Objects;
use tallymon_provider::library::check::{Rules, check};
use tallymon_provider::library::client::{self, Client, Meant, Outcome, Times};
use tallymon_provider::library::event::{self, Event};

use super::Library;
use super::report::{crashed, not_loaded, report_closed, side_effects};
use super::settings::{ForAll, settings};
use crate::library::{LibraryOptions, LibraryTrial};
use crate::registry::{Scope, Service};

/// How long each function may take before the trial is over.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sends several queries to a library, one after the other, until it fails. Reports nothing and disables
/// nothing. Does nothing for a service without a library.
pub fn try_library(service: &Service, options: &LibraryOptions) -> Vec<LibraryTrial> {
    let Some(mut settings) = settings(service, options, &ForAll::default()) else { return Vec::new() };
    // A trial is for unknown libraries.
    settings.in_process = None;
    settings.times = Times {
        answer: PATIENCE,
        first_answer: PATIENCE,
        first_of_all: PATIENCE,
        collect: PATIENCE,
        open: PATIENCE,
    };
    if let Err(untrusted) = service.check_place() {
        let library = service.library.as_deref().unwrap_or_default();
        let event = Event::new(&event::NOT_LOADED, [library, "5"]);
        let event = event.with_detail(format!("it is not loaded: {untrusted}"));
        return vec![LibraryTrial { query: "Global".to_string(), events: vec![event], ..Default::default() }];
    }
    let mut library = Library::new(Scope::System, service.clone(), Client::new(settings));
    let list: Vec<String> = service.object_list.iter().map(ToString::to_string).collect();
    let mut queries = vec!["Global".to_string(), "Costly".to_string()];
    queries.extend((!list.is_empty()).then(|| list.join(" ")));
    let mut trials = Vec::new();
    for query in queries {
        let mut trial = ask(&mut library, query);
        trial.protections = library.client.protections();
        trial.events.extend(side_effects(&mut library.client, service));
        let failed = trial.events.iter().any(|event| event.kind.level == event::EventLevel::Error);
        trials.push(trial);
        if failed {
            break;
        }
    }
    let closed = client::close(&mut [&mut library.client]);
    if let (Some(last), Some(closed)) = (trials.last_mut(), closed.first()) {
        last.events.extend(report_closed(*closed, service));
        last.events.extend(side_effects(&mut library.client, service));
    }
    trials
}

fn ask(library: &mut Library, query: String) -> LibraryTrial {
    library.client.ask(&query, Meant::ByName);
    client::wait(&mut [&mut library.client]);
    let service = &library.service;
    let (name, path) = (service.name.as_str(), service.library.as_deref().unwrap_or_default());
    let mut trial = LibraryTrial { query, ..LibraryTrial::default() };
    trial.events = match library.client.outcome() {
        Outcome::Answered(answered) => {
            let verdict = check(&answered.returned, &answered.data, path, name, Rules::default());
            let objects = Objects::bare(&answered.data, verdict.objects).filter_map(Result::ok);
            trial.objects = objects.map(|object| object.header().name).collect();
            (trial.bytes, trial.calls, trial.time) = (answered.data.len(), answered.calls, answered.time);
            verdict.events
        }
        Outcome::NotLoaded(loaded) => not_loaded(&loaded, service).0,
        Outcome::Crashed { during, exit } => crashed(during, exit, name, path).0,
        Outcome::Late { .. } | Outcome::Hung { .. } => {
            let words = format!("nothing came within {} s", PATIENCE.as_secs());
            vec![Event::new(&event::COLLECT_LATE, [name, path]).with_detail(words)]
        }
        other => vec![Event::new(&event::NOT_LOADED, [path, ""]).with_detail(format!("{other:?}"))],
    };
    trial
}
