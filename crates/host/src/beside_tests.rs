//! Tests: a system that answers itself, and a provider beside it.

use tallymon_core::block::{BlockWriter, ObjectLayout, ObjectSpec, ObjectsWriter, Snapshot, WriteHeader};
use tallymon_core::flow::{Source, SourceError, SourceErrorKind};
use tallymon_core::request::{Request, RequestKind};
use tallymon_core::time::{FileTime, Frequency, PerfTime};
use tallymon_core::title::{Language, TitleIndex, Titles};
use tallymon_provider::{
    CollectRequest, CounterSpec, CounterType, HelpIndex, InstanceKind, Provider, ProviderError,
};

use crate::Host;

const COUNTERS: &[CounterSpec] = &[CounterSpec::new(TitleIndex(5_002), CounterType::PERF_COUNTER_RAWCOUNT)];
const OF_SYSTEM: ObjectSpec<'static> = ObjectSpec::new(TitleIndex(238), InstanceKind::None, COUNTERS);
const OWN: ObjectSpec<'static> = ObjectSpec::new(TitleIndex(2_000_000), InstanceKind::Many, COUNTERS);

/// Answers as the registry does: with one object, or with an error.
struct Registry {
    fails: bool,
}

impl Registry {
    fn block(objects: &[TitleIndex], metadata: bool) -> Snapshot {
        let header = WriteHeader {
            system_name: "OTHER",
            default_object: 238,
            perf_time: PerfTime(77),
            perf_freq: Frequency(1_000),
            perf_time_100ns: FileTime(88),
            system_time: FileTime(132_000_000_000_000_000),
        };
        let mut bytes = Vec::new();
        let mut writer = BlockWriter::growing(&mut bytes, &header);
        if objects.contains(&OF_SYSTEM.name) {
            let layout = ObjectLayout::new(OF_SYSTEM);
            let mut object = writer.objects().object(&layout, PerfTime(0), Frequency(0));
            if metadata {
                object.metadata();
            } else {
                object.single().set(0, 3);
            }
        }
        writer.finish().unwrap();
        Snapshot::new(bytes).unwrap()
    }
}

impl Source for Registry {
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        if self.fails {
            return Err(SourceError::new(SourceErrorKind::AccessDenied, "the registry says no"));
        }
        let objects = match &request.kind {
            RequestKind::Objects(objects) => {
                assert!(!objects.contains(&OWN.name), "the system is not asked for objects of others");
                objects.clone()
            }
            _ => vec![OF_SYSTEM.name],
        };
        Ok(Registry::block(&objects, false))
    }

    fn definitions(&mut self, _costly: bool) -> Result<Snapshot, SourceError> {
        Ok(Registry::block(&[OF_SYSTEM.name], true))
    }

    fn titles(&mut self, _: Language) -> Result<Titles, SourceError> {
        Ok(Titles::from_pairs([(238, "Processor"), (240, "Behemoth")]))
    }

    fn languages(&self) -> Vec<Language> {
        vec![Language::ENGLISH]
    }
}

/// Has an object, or none.
struct Beside(Vec<ObjectSpec<'static>>);

impl Provider for Beside {
    fn objects(&self) -> &[ObjectSpec<'static>] {
        &self.0
    }

    fn collect(
        &mut self,
        request: &CollectRequest<'_>,
        out: &mut ObjectsWriter<'_>,
    ) -> Result<(), ProviderError> {
        if request.wants(OWN.name) {
            out.object(&ObjectLayout::new(OWN), PerfTime(0), Frequency(0))
                .instance("Ada", None, None)
                .set(0, 9);
        }
        Ok(())
    }

    fn titles(&self, _: Language) -> Titles {
        let mut titles = Titles::new();
        titles.insert_name(OWN.name, "Behemoth");
        titles.insert_help(HelpIndex(2_000_001), "They are alive.");
        titles
    }
}

fn host(own: &[ObjectSpec<'static>], fails: bool) -> Host {
    let host = Host::of("THIS", vec![Box::new(Beside(own.to_vec()))]);
    Host { system: Some(Box::new(Registry { fails })), ..host }
}

fn names(snapshot: &Snapshot) -> Vec<u32> {
    snapshot.objects().map(|object| object.header().name.0).collect()
}

#[test]
fn objects_of_both_are_in_one_block_with_the_header_of_the_system() {
    let mut host = host(&[OWN], false);
    for request in [Request::global(), Request::objects([OWN.name, OF_SYSTEM.name])] {
        let snapshot = host.snapshot(&request).unwrap();
        assert_eq!(names(&snapshot), [238, 2_000_000]);
        let header = snapshot.header();
        assert_eq!((header.perf_time, header.perf_freq), (PerfTime(77), Frequency(1_000)));
        assert_eq!((header.perf_time_100ns, header.default_object), (FileTime(88), 238));
        assert_eq!(header.system_time.file_time(), Some(FileTime(132_000_000_000_000_000)));
        assert_eq!(snapshot.system_name(), "OTHER");
        host.give_back(snapshot);
    }
    let definitions = host.definitions(false).unwrap();
    assert_eq!(names(&definitions), [238, 2_000_000]);
    let titles = host.titles(Language::ENGLISH).unwrap();
    assert_eq!(titles.name(OWN.name), Some("Behemoth"));
    assert_eq!(titles.name(OF_SYSTEM.name), Some("Processor"));
}

/// The registry may have what is published too: `tallymon_perf.dll` shows it to other readers.
#[test]
fn published_objects_are_not_there_twice() {
    let indexes = Some(OF_SYSTEM.name..=TitleIndex(240));
    let mut host = Host { published_indexes: indexes, ..host(&[OWN], false) };
    let snapshot = host.snapshot(&Request::global()).unwrap();
    assert_eq!(names(&snapshot), [2_000_000]);
    assert_eq!(names(&host.definitions(false).unwrap()), [2_000_000]);
    let titles = host.titles(Language::ENGLISH).unwrap();
    assert_eq!(titles.indexes_of("Behemoth").collect::<Vec<_>>(), [OWN.name]);
}

#[test]
fn system_that_fails_costs_its_own_objects() {
    let mut host = host(&[OWN], true);
    let snapshot = host.snapshot(&Request::objects([OWN.name])).unwrap();
    assert_eq!((names(&snapshot), snapshot.system_name()), (vec![2_000_000], "THIS"));
    for request in [Request::global(), Request::objects([OF_SYSTEM.name])] {
        assert!(host.snapshot(&request).is_err_and(|error| error.to_string().contains("says no")));
    }
}

#[test]
fn answer_of_the_system_is_passed_on_when_nothing_is_beside_it() {
    let snapshot = host(&[], false).snapshot(&Request::global()).unwrap();
    assert_eq!(snapshot.bytes(), Registry::block(&[OF_SYSTEM.name], false).bytes());
}
