//! Objects that are registered and not defined yet: a path that names one has its provider started, and may
//! wait until the provider answers.

use tallymon_core::flow::{SourceError, SourceErrorKind};
use tallymon_core::path::{CounterPath, Part};
use tallymon_core::request::Request;
use tallymon_core::title::TitleIndex;

use super::{CounterHandle, Query};
use crate::path_error::{PathError, PathPart, PathProblem};

/// A path whose provider has not answered yet.
#[derive(Debug, Clone)]
pub(super) struct Awaited {
    text: String,
    path: CounterPath,
}

impl Query {
    /// As [`Query::add_path`], but a path whose provider does not answer now is added later, by
    /// [`Query::add_awaited`].
    ///
    /// # Errors
    ///
    /// As [`Query::add`]. With [`PathProblem::NotAnswering`] the path waits.
    pub fn add_or_await(&mut self, text: &str, path: &CounterPath) -> Result<CounterHandle, PathError> {
        self.add_path(text, path).inspect_err(|error| {
            if matches!(error.problem, PathProblem::NotAnswering(_)) {
                self.awaited.push(Awaited { text: text.to_string(), path: path.clone() });
            }
        })
    }

    /// Has the providers of all registered objects started, and takes the definitions of those that answer:
    /// for a search or a list of all counters. A path needs this for none of its names.
    ///
    /// # Errors
    ///
    /// The source does not answer.
    pub fn define_registered(&mut self) -> Result<(), SourceError> {
        self.catalog.define_registered(self.source.as_mut())
    }

    /// Why the objects of a registered provider are missing, as far as the source knows.
    pub fn trouble_of(&self, object: TitleIndex) -> Option<String> {
        self.source.trouble(object)
    }

    /// Whether paths wait for their providers.
    pub const fn awaits_paths(&self) -> bool {
        !self.awaited.is_empty()
    }

    /// Adds those waiting paths whose providers answer by now, and returns their handles.
    ///
    /// This requests each awaited object once more. A provider that has failed is not started for it before
    /// its pause is over, so this may be called before each sample.
    pub fn add_awaited(&mut self) -> Vec<CounterHandle> {
        let mut added = Vec::new();
        for awaited in std::mem::take(&mut self.awaited) {
            match self.add_path(&awaited.text, &awaited.path) {
                Ok(handle) => added.push(handle),
                // A path that is wrong once its object is known stays out, as it was reported when it was
                // added.
                Err(error) => {
                    if matches!(error.problem, PathProblem::NotAnswering(_) | PathProblem::Source(_)) {
                        self.awaited.push(awaited);
                    }
                }
            }
        }
        added
    }

    /// The registered object that a part of a path names, after its provider has defined it; `None` when no
    /// registered object has this name.
    pub(super) fn define(&mut self, text: &str, part: &Part) -> Result<Option<TitleIndex>, PathError> {
        let candidates = self.catalog.named(&self.names, part);
        let found = part.to_string();
        let span = text.find(&found).map_or(0..text.len(), |at| at..at.saturating_add(found.len()));
        let error = |problem| PathError {
            path: text.to_string(),
            part: PathPart::Object,
            span: span.clone(),
            problem,
            nearest: Vec::new(),
        };
        let mut silent = None;
        for candidate in candidates {
            match self.defined(candidate) {
                Ok(true) => return Ok(Some(candidate)),
                Ok(false) => {}
                // The query is fed: who samples has to have the object defined.
                Err(source) if source.kind == SourceErrorKind::Unsupported => {
                    silent = silent.or_else(|| Some("its library has not answered yet".to_owned()));
                    continue;
                }
                Err(source) => return Err(error(PathProblem::Source(source))),
            }
            // A name of an unlisted service may be that of a counter; then nothing is wrong with the service.
            let listed = self.catalog.registered().listed.contains(&candidate);
            let trouble = self.source.trouble(candidate);
            let words = trouble.or_else(|| listed.then(|| "its library did not return it".to_string()));
            silent = silent.or(words);
        }
        silent.map_or(Ok(None), |words| Err(error(PathProblem::NotAnswering(words))))
    }

    /// Requests an object, and takes its definition; whether the source has it.
    fn defined(&mut self, object: TitleIndex) -> Result<bool, SourceError> {
        let snapshot = self.source.snapshot(&Request::objects([object]))?;
        self.catalog.merge(&snapshot, false);
        self.source.give_back(snapshot);
        Ok(self.catalog.object(object).is_some())
    }
}
