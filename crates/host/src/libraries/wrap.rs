//! Services in front of other objects: each gets the objects of an answer, and returns them changed.
//!
//! The services run one after the other, ordered by name; each sees the changes of the earlier ones. When one
//! of them fails, its objects stay as they were.

use std::collections::{BTreeMap, BTreeSet};

use tallymon_core::block::Objects;
use tallymon_core::request::RequestKind;
use tallymon_core::title::TitleIndex;
use tallymon_provider::library::client;

use super::{Libraries, Library, Written};
use crate::dispatch;

impl Libraries {
    /// The objects that services have put themselves in front of.
    pub(crate) fn wrapped(&self) -> BTreeSet<TitleIndex> {
        let may_be_asked = |library: &&Library| !self.for_all.disabled && library.may_be_asked();
        let wrapping = self.libraries.iter().filter(may_be_asked);
        wrapping.flat_map(|library| library.service.wrapped_objects.iter().copied()).collect()
    }

    /// Has the services change objects, which are keyed by the index of their names.
    pub(crate) fn wrap(&mut self, kind: &RequestKind, objects: &mut BTreeMap<TitleIndex, Vec<u8>>) {
        let query = dispatch::query(kind);
        let Libraries { roots, for_all, log, libraries, .. } = self;
        for library in libraries.iter_mut().filter(|library| library.may_be_asked()) {
            let theirs: BTreeSet<TitleIndex> = library
                .service
                .wrapped_objects
                .iter()
                .copied()
                .filter(|object| objects.contains_key(object))
                .collect();
            let originals: Vec<&[u8]> =
                theirs.iter().filter_map(|object| Some(objects.get(object)?.as_slice())).collect();
            let count = u32::try_from(originals.len()).unwrap_or(u32::MAX);
            if count == 0 {
                continue;
            }
            library.report_trust(log);
            library.client.ask_to_wrap(&query, originals.concat(), count);
            client::wait(&mut [&mut library.client]);
            let written = library.outcome(kind, roots, for_all, log);
            library.take_changed(&written, &theirs, objects);
        }
    }
}

impl Library {
    /// Replaces the originals by the answer. Objects that the service did not get are dropped; old values are
    /// worse than the originals.
    fn take_changed(
        &self,
        written: &Written,
        theirs: &BTreeSet<TitleIndex>,
        objects: &mut BTreeMap<TitleIndex, Vec<u8>>,
    ) {
        if self.late {
            return;
        }
        for object in Objects::bare(&written.objects, written.count).filter_map(Result::ok) {
            let name = object.header().name;
            if theirs.contains(&name) {
                objects.insert(name, object.bytes().to_vec());
            }
        }
    }
}
