//! A system where provider libraries are not supported yet.

use std::collections::{BTreeMap, BTreeSet};

use tallymon_core::block::ObjectsWriter;
use tallymon_core::flow::{RegisteredObjects, UnlistedService};
use tallymon_core::request::RequestKind;
use tallymon_core::title::TitleIndex;
use tallymon_provider::{Finding, SourceStatus};

use crate::dispatch;
use crate::events::EventLog;
use crate::library::{LibraryOptions, LibraryStatus, LibraryTrial, finding, source};
use crate::registry::{Roots, Service};

/// No library can be tried.
pub fn try_library(_service: &Service, _options: &LibraryOptions) -> Vec<LibraryTrial> {
    Vec::new()
}

/// None.
#[derive(Debug)]
pub(crate) struct Libraries;

/// No library gets a request.
#[derive(Debug)]
pub(crate) struct Asking;

/// No library answers.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    pub(crate) objects: BTreeSet<TitleIndex>,
    pub(crate) parents: BTreeSet<TitleIndex>,
}

impl Libraries {
    pub(crate) fn new(_roots: Roots, _options: LibraryOptions, _log: EventLog) -> Libraries {
        Libraries
    }

    pub(crate) fn begin(
        &mut self,
        kind: &RequestKind,
        is_built_in: impl Fn(TitleIndex) -> bool,
        this_host: &str,
    ) -> Asking {
        // The rules are the same everywhere; there are no services to apply them to.
        let _ = (dispatch::asked(kind, &[], is_built_in, this_host), dispatch::query(kind));
        Asking
    }

    pub(crate) fn refresh(&mut self) {}

    pub(crate) fn known_parents(&self, _asking: &Asking) -> BTreeSet<TitleIndex> {
        BTreeSet::new()
    }

    pub(crate) fn listed(&self) -> BTreeSet<TitleIndex> {
        BTreeSet::new()
    }

    pub(crate) fn registered(&mut self) -> RegisteredObjects {
        // Without services there are none of either kind.
        let unlisted: Vec<UnlistedService> = Vec::new();
        RegisteredObjects { listed: BTreeSet::new(), unlisted }
    }

    pub(crate) fn finish(&mut self, _asking: &Asking, _out: &mut ObjectsWriter<'_>) -> Answers {
        Answers::default()
    }

    pub(crate) fn wrapped(&self) -> BTreeSet<TitleIndex> {
        BTreeSet::new()
    }

    pub(crate) fn wrap(&mut self, _kind: &RequestKind, _objects: &mut BTreeMap<TitleIndex, Vec<u8>>) {}

    pub(crate) fn status(&self) -> Vec<LibraryStatus> {
        Vec::new()
    }

    pub(crate) fn trouble(&self, _object: TitleIndex) -> Option<String> {
        None
    }

    pub(crate) fn sources(&self) -> Vec<SourceStatus> {
        self.status().iter().map(source).collect()
    }

    pub(crate) fn try_untried(&mut self) {}

    pub(crate) fn findings(&mut self) -> Vec<Finding> {
        self.status().iter().map(finding).collect()
    }
}
