//! Asks providers, and answers a request with one snapshot.
//!
//! You give a [`Request`]; the [`Host`] finds out which providers have the objects in it, adds the objects that their
//! instances name as parents, lets each provider write into one block under one header, and checks the result with the
//! same walk that any foreign block gets.
//!
//! It does not parse counter paths, compute or format values, or open connections.
#![forbid(unsafe_code)]

mod builtin;
#[cfg(target_os = "linux")]
pub mod publishers;
pub mod registry;
pub mod titles;

use std::collections::BTreeSet;

use tallymon_core::block::{BlockWriter, ObjectLayout, ObjectSpec, Snapshot, WriteHeader};
use tallymon_core::flow::{Source, SourceError, SourceErrorKind};
use tallymon_core::request::{Request, RequestKind};
use tallymon_core::title::{Language, TitleIndex, Titles};
use tallymon_provider::{Ask, Finding, Provider};

pub use builtin::Clocks;
use registry::Roots;

/// Answers for this machine.
pub struct Host {
    system_name: String,
    providers: Vec<Box<dyn Provider>>,
    /// Where names of services are installed; `None` when nobody's are wanted.
    roots: Option<Roots>,
    /// The memory of the last block that somebody gave back.
    spare: Vec<u8>,
}

impl Host {
    /// This machine with all its built-in objects.
    ///
    /// # Errors
    ///
    /// This system has no built-in objects, or their sources can not be opened at all.
    pub fn open() -> Result<Host, SourceError> {
        let providers = builtin::providers()?;
        let roots = Some(Roots::of_environment());
        Ok(Host { system_name: builtin::system_name(), providers, roots, spare: Vec::new() })
    }

    /// A host of these providers only, for tests and special tools.
    pub fn of(system_name: impl Into<String>, providers: Vec<Box<dyn Provider>>) -> Host {
        Host { system_name: system_name.into(), providers, roots: None, spare: Vec::new() }
    }

    /// The same host with the names that are installed in these registries.
    #[must_use]
    pub fn with_registry(self, roots: Roots) -> Host {
        Host { roots: Some(roots), ..self }
    }

    /// What the providers found out about this machine.
    pub fn findings(&mut self) -> Vec<Finding> {
        let mut findings: Vec<Finding> =
            self.providers.iter_mut().flat_map(|provider| provider.findings()).collect();
        findings.extend(self.roots.as_ref().map(titles::registry_finding));
        findings
    }

    /// Takes the memory of a block that is no longer needed, for the next one.
    pub fn give_back(&mut self, snapshot: Snapshot) {
        self.spare = snapshot.into_bytes();
    }

    /// The objects that a request means, with the parents of their instances, sorted.
    fn objects_of(&self, kind: &RequestKind) -> BTreeSet<TitleIndex> {
        let mut objects: BTreeSet<TitleIndex> = match kind {
            RequestKind::Global | RequestKind::OldGlobal => self.all(|costly| !costly),
            RequestKind::Costly => self.all(|costly| costly),
            RequestKind::Metadata { costly, .. } => {
                let wanted = *costly;
                self.all(|costly| costly == wanted)
            }
            RequestKind::Objects(objects) => objects.iter().copied().collect(),
            // A foreign host that is this one; any other is not ours to answer for.
            RequestKind::Foreign { host, objects } if host.eq_ignore_ascii_case(&self.system_name) => {
                if objects.is_empty() {
                    self.all(|costly| !costly)
                } else {
                    objects.iter().copied().collect()
                }
            }
            RequestKind::Foreign { .. }
            | RequestKind::Names(_)
            | RequestKind::Help(_)
            | RequestKind::Unknown(_) => BTreeSet::new(),
            _ => BTreeSet::new(),
        };
        let mut open: Vec<TitleIndex> = objects.iter().copied().collect();
        while let Some(object) = open.pop() {
            for provider in &self.providers {
                for parent in provider.parents(object) {
                    if objects.insert(*parent) {
                        open.push(*parent);
                    }
                }
            }
        }
        objects
    }

    fn all(&self, wanted: impl Fn(bool) -> bool) -> BTreeSet<TitleIndex> {
        let objects = self.providers.iter().flat_map(|provider| {
            provider.objects().iter().map(|object| (object.name, provider.is_costly(object.name)))
        });
        objects.filter(|(_, costly)| wanted(*costly)).map(|(name, _)| name).collect()
    }
}

impl Source for Host {
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        self.providers.iter_mut().for_each(|provider| provider.refresh());
        let objects = self.objects_of(&request.kind);
        let default_object = match &request.kind {
            RequestKind::Objects(objects) => objects.first().map_or(-1, |object| object.0.cast_signed()),
            // Processor, as NT shows first.
            RequestKind::Global => 238,
            _ => -1,
        };
        let clocks = builtin::clocks();
        let header = WriteHeader {
            system_name: &self.system_name,
            default_object,
            perf_time: clocks.perf_time,
            perf_freq: clocks.perf_freq,
            perf_time_100ns: clocks.time_100ns,
            system_time: clocks.system_time,
        };
        let mut buffer = std::mem::take(&mut self.spare);
        let mut writer = BlockWriter::growing(&mut buffer, &header);
        let metadata = matches!(request.kind, RequestKind::Metadata { .. });
        for provider in &mut self.providers {
            let theirs: Vec<TitleIndex> = provider
                .objects()
                .iter()
                .map(|object| object.name)
                .filter(|name| objects.contains(name))
                .collect();
            if theirs.is_empty() {
                continue;
            }
            if metadata {
                write_definitions(provider.objects(), &theirs, &mut writer);
                continue;
            }
            let ask = Ask { objects: &theirs, interest: &request.interest };
            provider
                .collect(&ask, writer.objects())
                .map_err(|error| SourceError::new(SourceErrorKind::Io, error.message))?;
        }
        writer.finish().map_err(|error| SourceError::new(SourceErrorKind::Io, error.to_string()))?;
        Ok(Snapshot::new(buffer)?)
    }

    fn titles(&mut self, language: Language) -> Result<Titles, SourceError> {
        let mut all = titles::installed_titles(self.roots.as_ref(), language)?;
        for provider in &mut self.providers {
            provider.refresh();
            all.merge(&provider.titles(language));
        }
        Ok(all)
    }

    fn languages(&self) -> Vec<Language> {
        let mut all = titles::installed_languages(self.roots.as_ref());
        for language in self.providers.iter().flat_map(|provider| provider.languages()) {
            if !all.contains(&language) {
                all.push(language);
            }
        }
        all
    }
}

fn write_definitions(specs: &[ObjectSpec<'static>], wanted: &[TitleIndex], writer: &mut BlockWriter<'_>) {
    for spec in specs.iter().filter(|spec| wanted.contains(&spec.name)) {
        let layout = ObjectLayout::new(*spec);
        let clock = tallymon_core::time::PerfTime(0);
        writer.objects().object(&layout, clock, tallymon_core::time::Frequency(0)).metadata();
    }
}
