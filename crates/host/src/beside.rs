//! On a system that answers requests itself: its answer, and beside it the objects of the providers here.

use std::collections::BTreeSet;

use tallymon_core::block::{BlockWriter, Snapshot, WriteHeader};
use tallymon_core::flow::{Source, SourceError, SourceErrorKind};
use tallymon_core::request::{Request, RequestKind};
use tallymon_core::title::{TitleIndex, Titles};

use crate::{Host, builtin, objects_of};

impl Host {
    /// The objects of the providers here that a request means, with the parents of their instances.
    fn beside(&mut self, kind: &RequestKind) -> BTreeSet<TitleIndex> {
        self.providers.refresh();
        let objects = self.objects_of(kind);
        let own = objects.into_iter().filter(|object| self.providers.have(*object)).collect();
        self.providers.with_parents(own)
    }

    /// The answer of the system to a request, and the objects of the providers. The system is not asked for
    /// objects that it does not have.
    pub(crate) fn answer_beside(
        &mut self,
        system: &mut dyn Source,
        request: &Request,
    ) -> Result<Snapshot, SourceError> {
        let own = self.beside(&request.kind);
        let answer = match &request.kind {
            _ if own.is_empty() => return system.snapshot(request),
            RequestKind::Objects(objects) => {
                let others: Vec<TitleIndex> =
                    objects.iter().copied().filter(|object| !own.contains(object)).collect();
                let kind = RequestKind::Objects(others.clone());
                let others = (!others.is_empty()).then(|| Request { kind, ..request.clone() });
                others.map(|others| system.snapshot(&others)).transpose()?
            }
            _ => Some(system.snapshot(request)?),
        };
        self.join(answer, &own, request)
    }

    /// The definitions of the system, and those of the providers.
    pub(crate) fn definitions_beside(
        &mut self,
        system: &mut dyn Source,
        costly: bool,
    ) -> Result<Snapshot, SourceError> {
        let request = Request::from(RequestKind::Metadata { costly, old: false });
        let own = self.beside(&request.kind);
        let answer = system.definitions(costly)?;
        if own.is_empty() { Ok(answer) } else { self.join(Some(answer), &own, &request) }
    }

    /// Whether an index of the system is that of a name which a program publishes.
    fn is_published_too(&self, name: TitleIndex) -> bool {
        self.published_indexes.as_ref().is_some_and(|indexes| indexes.contains(&name))
    }

    /// The names that the system has, without those which a program publishes.
    pub(crate) fn without_published(&self, table: Titles) -> Titles {
        if self.published_indexes.is_none() {
            return table;
        }
        let mut kept = Titles::new();
        for (name, words) in table.names().filter(|(name, _)| !self.is_published_too(*name)) {
            kept.insert_name(name, words);
        }
        for (help, words) in table.helps() {
            kept.insert_help(help, words);
        }
        kept
    }

    /// One block of the objects of an answer, and of those that the providers write now.
    fn join(
        &mut self,
        answer: Option<Snapshot>,
        own: &BTreeSet<TitleIndex>,
        request: &Request,
    ) -> Result<Snapshot, SourceError> {
        let system_name = answer.as_ref().map_or(self.system_name.as_str(), Snapshot::system_name).to_owned();
        let clocks = builtin::clocks();
        let mut header = WriteHeader {
            system_name: &system_name,
            default_object: -1,
            perf_time: clocks.perf_time,
            perf_freq: clocks.perf_freq,
            perf_time_100ns: clocks.time_100ns,
            system_time: clocks.system_time,
        };
        if let Some(answer) = &answer {
            let theirs = answer.header();
            header.default_object = theirs.default_object;
            header.perf_time = theirs.perf_time;
            header.perf_freq = theirs.perf_freq;
            header.perf_time_100ns = theirs.perf_time_100ns;
            header.system_time = theirs.system_time.file_time().unwrap_or(clocks.system_time);
        }
        let mut memory = self.spare.take_memory();
        let mut writer = BlockWriter::over(&mut memory, &header);
        for object in answer.as_ref().map(objects_of).transpose()?.into_iter().flatten() {
            if !self.is_published_too(object.header().name) {
                writer.objects().append(object.bytes(), 1);
            }
        }
        self.providers.collect(own, request, &mut writer, self.events.as_ref());
        let read_infos = writer.objects().take_read_infos();
        writer.finish().map_err(|error| SourceError::new(SourceErrorKind::Io, error.to_string()))?;
        Ok(Snapshot::in_memory(memory, &mut self.spare)?.with_read_infos(read_infos))
    }
}

#[cfg(test)]
#[path = "beside_tests.rs"]
mod tests;
