//! The providers of a source and their health, from its object "Tallymon Provider".

use std::collections::HashMap;

use tallymon::core::flow::Value;
use tallymon::core::title::Language;
use tallymon::{Health, Query};

/// The path that a query collects for it, in English, so that logs have it too.
pub const PROVIDERS_PATH: &str = r"\Tallymon Provider(*)\*";

/// The tag of a language, as `en`; its number on Windows if it has none.
pub fn tag_of(language: Language) -> String {
    match language.tag() {
        "und" => language.code(),
        tag => tag.to_owned(),
    }
}

/// The kind of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProviderKind {
    /// A library in a process of its own, or in the reader's.
    Library,
    /// A program that publishes counters in shared memory.
    SharedMemory,
    /// A part of Tallymon.
    BuiltIn,
    /// An object of a source without provider data: another system, or a log.
    Elsewhere,
}

/// The health and the cost of a provider. `None` is what the source does not report.
#[derive(Debug, Clone, PartialEq)]
pub struct Provider {
    /// Its name: an object in English, or `service NAME`, `program NAME`, `file NAME`.
    pub name: String,
    /// The name in the user's language.
    pub title: String,
    /// Its kind.
    pub kind: ProviderKind,
    /// Its health.
    pub health: Option<Health>,
    /// Why it is not healthy; empty when it is.
    pub reason: String,
    /// Seconds that the last collection took.
    pub last: Option<f64>,
    /// Half of the last collections took at most so many seconds, and 99 of 100, see
    /// [`CollectTimes`](crate::model::CollectTimes).
    pub median: Option<f64>,
    /// See there.
    pub p99: Option<f64>,
    /// How many collections these are of.
    pub times: usize,
    /// Average seconds of a collection between two samples.
    pub average: Option<f64>,
    /// Per cent of the time that its collections took.
    pub share: Option<f64>,
    /// How often it was collected.
    pub collections: Option<f64>,
    /// Collections that failed.
    pub errors: Option<f64>,
    /// Requests that it did not answer in time.
    pub late: Option<f64>,
    /// How often it was restarted.
    pub restarts: Option<f64>,
    /// The languages that it brings names in.
    pub languages: Option<Vec<Language>>,
}

impl Provider {
    /// A provider without data.
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
            median: None,
            p99: None,
            times: 0,
            average: None,
            share: None,
            collections: None,
            errors: None,
            late: None,
            restarts: None,
            languages: None,
        }
    }

    /// The service of a library.
    pub fn service(&self) -> Option<&str> {
        self.name.strip_prefix("service ")
    }

    /// Whether it is a library that the user disabled.
    pub fn is_disabled(&self) -> bool {
        // The reason of the host begins with this word.
        self.kind == ProviderKind::Library && self.reason.starts_with("disabled")
    }

    /// Failed providers come first: the larger, the more urgent.
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

/// The providers that a query over [`PROVIDERS_PATH`] has collected, the failed ones first, then by name.
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
        // A log has every provider that ever existed.
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
            "Languages" => {
                if let Value::Text(text) = shown {
                    provider.languages = Some(text.split_whitespace().filter_map(Language::parse).collect());
                }
            }
            "State Reason" => {
                if let Value::Text(text) = shown {
                    provider.reason = text.to_string();
                }
            }
            _ => {}
        }
    });
    for provider in &mut providers {
        // The name of the state is no reason.
        if provider.health.is_some_and(|health| health.word() == provider.reason) {
            provider.reason.clear();
        }
    }
    providers.sort_by(|one, other| {
        other.urgency().cmp(&one.urgency()).then(one.kind.cmp(&other.kind)).then(one.title.cmp(&other.title))
    });
    providers
}

/// The objects of a source without provider data.
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
