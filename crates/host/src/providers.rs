//! The providers of a host, and what a request gets from them.
//!
//! A provider that fails costs its own objects only: what it wrote is removed, the other providers are not
//! affected, and the failure is reported as an event, as the health of the provider's sources, and by
//! [`Providers::trouble`].

use std::collections::BTreeSet;

use tallymon_core::block::{BlockWriter, ObjectLayout, ObjectSpec, ObjectsWriter};
use tallymon_core::request::{Request, RequestKind};
use tallymon_core::time::{Frequency, PerfTime};
use tallymon_core::title::{Language, TitleIndex, Titles};
use tallymon_provider::library::event::{COLLECT_FAILED, Event};
use tallymon_provider::{CollectRequest, Finding, Health, Provider, SourceName, SourceStatus};

use crate::events::EventLog;

/// Providers in a fixed order, which is the order of their objects in a block.
pub(crate) struct Providers {
    providers: Vec<Entry>,
}

struct Entry {
    provider: Box<dyn Provider>,
    /// How often it failed so far.
    failures: u64,
    /// How it failed at the last request; `None` when it answered.
    failure: Option<Failure>,
}

/// A provider that could not answer.
struct Failure {
    /// The objects that were requested from it.
    objects: Vec<TitleIndex>,
    message: String,
}

impl Providers {
    pub(crate) fn new(providers: Vec<Box<dyn Provider>>) -> Providers {
        let entry = |provider| Entry { provider, failures: 0, failure: None };
        Providers { providers: providers.into_iter().map(entry).collect() }
    }

    /// Adds a provider behind the others.
    pub(crate) fn push(&mut self, provider: Box<dyn Provider>) {
        self.providers.push(Entry { provider, failures: 0, failure: None });
    }

    fn iter(&self) -> impl Iterator<Item = &dyn Provider> {
        self.providers.iter().map(|entry| &*entry.provider)
    }

    /// Has each provider look which objects it has now.
    pub(crate) fn refresh(&mut self) {
        self.providers.iter_mut().for_each(|entry| entry.provider.refresh());
    }

    /// Has each provider look for an object that is costly to find; whether one has it now.
    pub(crate) fn discover(&mut self, object: &str) -> bool {
        self.providers.iter_mut().any(|entry| entry.provider.discover(object))
    }

    /// All objects, each with whether it is costly to read.
    pub(crate) fn objects(&self) -> impl Iterator<Item = (TitleIndex, bool)> {
        self.iter().flat_map(|provider| {
            provider.objects().iter().map(|object| (object.name, provider.is_costly(object.name)))
        })
    }

    /// Whether a provider has this object.
    pub(crate) fn have(&self, object: TitleIndex) -> bool {
        self.iter().any(|provider| provider.objects().iter().any(|spec| spec.name == object))
    }

    /// The same objects with the parents of their instances, and the parents of these.
    pub(crate) fn with_parents(&self, mut objects: BTreeSet<TitleIndex>) -> BTreeSet<TitleIndex> {
        let mut open: Vec<TitleIndex> = objects.iter().copied().collect();
        while let Some(object) = open.pop() {
            for provider in self.iter() {
                for parent in provider.parents(object) {
                    if objects.insert(*parent) {
                        open.push(*parent);
                    }
                }
            }
        }
        objects
    }

    /// Writes those of the objects that the providers have.
    pub(crate) fn collect(
        &mut self,
        objects: &BTreeSet<TitleIndex>,
        request: &Request,
        writer: &mut BlockWriter<'_>,
        events: Option<&EventLog>,
    ) {
        let metadata = matches!(request.kind, RequestKind::Metadata { .. });
        for entry in &mut self.providers {
            let specs = entry.provider.objects();
            let theirs: Vec<TitleIndex> =
                specs.iter().map(|object| object.name).filter(|name| objects.contains(name)).collect();
            if theirs.is_empty() {
                continue;
            }
            if metadata {
                write_definitions(specs, &theirs, writer);
            } else {
                let request = CollectRequest { objects: &theirs, interest: &request.interest };
                entry.collect(&request, writer.objects(), events);
            }
        }
    }

    /// Collects once those objects that nobody has requested so far and that are not in `requested`, so that
    /// their health is known. Costly ones stay unknown until somebody wants them.
    pub(crate) fn try_untried(&mut self, requested: &BTreeSet<TitleIndex>, events: Option<&EventLog>) {
        for entry in &mut self.providers {
            let untried = entry.provider.sources().into_iter().filter(|source| source.collections == 0);
            let mut objects: Vec<TitleIndex> = untried
                .filter_map(|source| match source.name {
                    SourceName::Object(object) => Some(object),
                    SourceName::Named(_) => None,
                })
                .filter(|object| !requested.contains(object) && !entry.provider.is_costly(*object))
                .collect();
            if objects.is_empty() {
                continue;
            }
            objects.sort_unstable();
            let mut bytes = Vec::new();
            let mut out = ObjectsWriter::growing(&mut bytes);
            entry.collect(&CollectRequest::everything(&objects), &mut out, events);
        }
    }

    /// Health and cost of each source.
    pub(crate) fn sources(&self) -> Vec<SourceStatus> {
        self.providers.iter().flat_map(Entry::sources).collect()
    }

    /// Why an object is missing from the last answer; `None` when its provider answered.
    pub(crate) fn trouble(&self, object: TitleIndex) -> Option<String> {
        let failures = self.providers.iter().filter_map(|entry| entry.failure.as_ref());
        let mut failed = failures.filter(|failure| failure.objects.contains(&object));
        let failed = failed.next().map(|failure| failure.message.clone());
        failed.or_else(|| self.iter().find_map(|provider| provider.trouble(object)))
    }

    /// What the providers found out about this machine.
    pub(crate) fn findings(&mut self) -> Vec<Finding> {
        self.providers.iter_mut().flat_map(|entry| entry.provider.findings()).collect()
    }

    /// Adds the names and help texts that the providers bring.
    pub(crate) fn add_titles(&mut self, language: Language, titles: &mut Titles) {
        for entry in &mut self.providers {
            entry.provider.refresh();
            titles.merge(&entry.provider.titles(language));
        }
    }

    /// The languages that the providers bring texts in.
    pub(crate) fn languages(&self) -> impl Iterator<Item = Language> {
        self.iter().flat_map(|provider| provider.languages())
    }
}

impl Entry {
    /// Has the provider write objects. When it fails, nothing of what it wrote is left.
    fn collect(
        &mut self,
        request: &CollectRequest<'_>,
        out: &mut ObjectsWriter<'_>,
        events: Option<&EventLog>,
    ) {
        let start = out.position();
        let Err(error) = self.provider.collect(request, out) else {
            self.failure = None;
            return;
        };
        out.rewind(&start);
        self.failures = self.failures.saturating_add(1);
        let message = error.to_string();
        // A provider that goes on failing for the same reason is reported once, not with every sample.
        if self.failure.as_ref().is_none_or(|before| before.message != message)
            && let Some(events) = events
        {
            events.write(&failure_event(request.objects, &message));
        }
        self.failure = Some(Failure { objects: request.objects.to_vec(), message });
    }

    /// The sources of the provider. After a failure, those that it was to read have failed.
    fn sources(&self) -> Vec<SourceStatus> {
        let mut sources = self.provider.sources();
        let Some(failure) = &self.failure else { return sources };
        for object in &failure.objects {
            let name = SourceName::Object(*object);
            let known = match sources.iter().position(|source| source.name == name) {
                Some(known) => sources.get_mut(known),
                None => {
                    sources.push(SourceStatus::new(name));
                    sources.last_mut()
                }
            };
            if let Some(source) = known {
                source.health = Health::Failed;
                source.errors = source.errors.saturating_add(self.failures);
                source.reason = failure.message.clone().into();
            }
        }
        sources
    }
}

/// A failure of a provider in this process, as NT reports that of a library.
fn failure_event(objects: &[TitleIndex], message: &str) -> Event {
    /// NT's number for a failure without a number of its own.
    const ERROR_GEN_FAILURE: &str = "31";
    let objects: Vec<String> = objects.iter().map(|object| object.0.to_string()).collect();
    let service = format!("of the built-in objects {}", objects.join(", "));
    Event::new(&COLLECT_FAILED, [&service, "this program", ERROR_GEN_FAILURE]).with_detail(message)
}

/// Writes the definitions of objects, without instances or values.
pub(crate) fn write_definitions(
    specs: &[ObjectSpec<'static>],
    wanted: &[TitleIndex],
    writer: &mut BlockWriter<'_>,
) {
    for spec in specs.iter().filter(|spec| wanted.contains(&spec.name)) {
        let layout = ObjectLayout::new(*spec);
        writer.objects().object(&layout, PerfTime(0), Frequency(0)).metadata();
    }
}

#[cfg(test)]
#[path = "providers_tests.rs"]
mod tests;
