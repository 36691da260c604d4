//! Who gives the counters of a source, as its object "Tallymon Provider" tells it.

use std::collections::HashMap;

use tallymon::core::flow::Value;
use tallymon::{Health, Query};

/// What a query collects for it; the names are English so that logs know them too.
pub const PROVIDERS_PATH: &str = r"\Tallymon Provider(*)\*";

/// What a provider is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProviderKind {
    /// A library in a process of its own, or in the reader's.
    Library,
    /// A program that publishes counters in shared memory.
    SharedMemory,
    /// A part of Tallymon.
    BuiltIn,
    /// An object of a source that does not tell who gives it: another system, or a log.
    Elsewhere,
}

/// How a provider is, and what it costs. What the source does not tell is `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct Provider {
    /// Its name: an object in English, or `service NAME`, `program NAME`, `file NAME`.
    pub name: String,
    /// The name in the user's language.
    pub title: String,
    /// What it is.
    pub kind: ProviderKind,
    /// How it is.
    pub health: Option<Health>,
    /// Why it is not healthy; empty when it is.
    pub reason: String,
    /// Seconds that the last collection took.
    pub last: Option<f64>,
    /// Seconds that collections took on the average between two samples.
    pub average: Option<f64>,
    /// Per cent of the time in which it was asked.
    pub share: Option<f64>,
    /// How often it was asked.
    pub collections: Option<f64>,
    /// Collections that went wrong.
    pub errors: Option<f64>,
    /// Requests that it did not answer in time.
    pub late: Option<f64>,
    /// How often it was started again.
    pub restarts: Option<f64>,
}

impl Provider {
    /// One of which nothing is known yet.
    pub fn new(name: String, title: String) -> Provider {
        let kind = match name.split_once(' ') {
            Some(("service", _)) => ProviderKind::Library,
            Some(("program" | "file", _)) => ProviderKind::SharedMemory,
            _ => ProviderKind::BuiltIn,
        };
        Provider {
            name,
            title,
            kind,
            health: None,
            reason: String::new(),
            last: None,
            average: None,
            share: None,
            collections: None,
            errors: None,
            late: None,
            restarts: None,
        }
    }

    /// The service of a library.
    pub fn service(&self) -> Option<&str> {
        self.name.strip_prefix("service ")
    }

    /// A library that is not asked because somebody does not want it.
    pub fn is_disabled(&self) -> bool {
        // The host says it in this word, and behind it why.
        self.kind == ProviderKind::Library && self.reason.starts_with("disabled")
    }

    /// What is wrong comes first: the larger, the sooner somebody has to look at it.
    fn urgency(&self) -> u8 {
        match self.health {
            _ if self.is_disabled() => 3,
            Some(Health::Failed) => 5,
            Some(Health::Degraded) => 4,
            Some(Health::Unsupported) => 1,
            Some(Health::Healthy) => 2,
            Some(Health::NotAsked) | None => 0,
        }
    }
}

/// The providers that a query over [`PROVIDERS_PATH`] has collected, what is wrong first, then by name.
pub fn providers(query: &Query) -> Vec<Provider> {
    let names = query.names();
    let titles: HashMap<String, String> = query
        .catalog()
        .objects()
        .iter()
        .map(|object| (names.english(object.name), names.name(object.name)))
        .collect();
    let mut providers: Vec<Provider> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    query.for_each(|value| {
        let Some(key) = value.instance else { return };
        // A log knows everybody who was ever there.
        let Ok(shown) = &value.cell.value else { return };
        let name = key.to_string();
        let place = *places.entry(name.clone()).or_insert_with(|| {
            let title = titles.get(&name).cloned().unwrap_or_else(|| name.clone());
            providers.push(Provider::new(name, title));
            providers.len().saturating_sub(1)
        });
        let Some(provider) = providers.get_mut(place) else { return };
        let number = shown.as_f64();
        match names.english(value.definition.name).as_str() {
            "Avg. sec/Collection" => provider.average = number,
            "% Collection Time" => provider.share = number,
            "Last Collection Nanoseconds" => provider.last = number.map(|number| number / 1e9),
            "Collections" => provider.collections = number,
            "Errors" => provider.errors = number,
            "Late Answers" => provider.late = number,
            "Restarts" => provider.restarts = number,
            "State" => provider.health = number.and_then(Health::of_number),
            "State Reason" => {
                if let Value::Text(text) = shown {
                    provider.reason = text.to_string();
                }
            }
            _ => {}
        }
    });
    for provider in &mut providers {
        // The state in words is no reason.
        if provider.health.is_some_and(|health| health.word() == provider.reason) {
            provider.reason.clear();
        }
    }
    providers.sort_by(|one, other| {
        other.urgency().cmp(&one.urgency()).then(one.kind.cmp(&other.kind)).then(one.title.cmp(&other.title))
    });
    providers
}

/// The objects of a source that does not tell who gives them.
pub fn objects(query: &Query) -> Vec<Provider> {
    let names = query.names();
    let object = |name| Provider {
        kind: ProviderKind::Elsewhere,
        ..Provider::new(names.english(name), names.name(name))
    };
    let mut objects: Vec<Provider> =
        query.catalog().objects().iter().map(|known| object(known.name)).collect();
    objects.sort_by(|one, other| one.title.cmp(&other.title));
    objects
}
