//! Tests: a provider that fails costs its own objects only.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tallymon_core::block::{ObjectLayout, ObjectSpec, ObjectsWriter, Snapshot};
use tallymon_core::flow::Source;
use tallymon_core::request::Request;
use tallymon_core::time::{Frequency, PerfTime};
use tallymon_core::title::TitleIndex;
use tallymon_provider::{
    CollectRequest, CounterSpec, CounterType, Health, InstanceKind, Provider, ProviderError, SourceName,
};
use tallymon_testkit::Scratch;

use crate::registry::Roots;
use crate::{Host, LibraryOptions, events};

const COUNTERS: &[CounterSpec] = &[CounterSpec::new(TitleIndex(5_002), CounterType::PERF_COUNTER_RAWCOUNT)];
const FIRST: [ObjectSpec<'static>; 1] = [ObjectSpec::new(TitleIndex(5_000), InstanceKind::Many, COUNTERS)];
const BROKEN: [ObjectSpec<'static>; 2] = [
    ObjectSpec::new(TitleIndex(5_100), InstanceKind::Many, COUNTERS),
    ObjectSpec::new(TitleIndex(5_200), InstanceKind::Many, COUNTERS),
];
const LAST: [ObjectSpec<'static>; 1] = [ObjectSpec::new(TitleIndex(5_300), InstanceKind::Many, COUNTERS)];

/// Writes each requested object with one instance; fails after the first one when told so.
struct Fake {
    specs: &'static [ObjectSpec<'static>],
    fails: Arc<AtomicBool>,
}

impl Provider for Fake {
    fn objects(&self) -> &[ObjectSpec<'static>] {
        self.specs
    }

    fn collect(
        &mut self,
        request: &CollectRequest<'_>,
        out: &mut ObjectsWriter<'_>,
    ) -> Result<(), ProviderError> {
        for spec in self.specs.iter().filter(|spec| request.wants(spec.name)) {
            let layout = ObjectLayout::new(*spec);
            out.object(&layout, PerfTime(0), Frequency(0)).instance("one", None, None).set(0, 7);
            if self.fails.load(Ordering::Relaxed) {
                return Err(ProviderError::new("the sensor does not answer; plug it in again"));
            }
        }
        Ok(())
    }
}

fn names(snapshot: &Snapshot) -> Vec<u32> {
    snapshot.objects().map(|object| object.header().name.0).collect()
}

#[test]
fn failing_provider_loses_its_objects_only() {
    let scratch = Scratch::new();
    let roots = Roots::in_folder(&scratch);
    let fails = Arc::new(AtomicBool::new(false));
    let fake = |specs, fails: &Arc<AtomicBool>| -> Box<dyn Provider> {
        Box::new(Fake { specs, fails: Arc::clone(fails) })
    };
    let sound = Arc::new(AtomicBool::new(false));
    let providers = vec![fake(&FIRST, &sound), fake(&BROKEN, &fails), fake(&LAST, &sound)];
    let mut host = Host::of("here", providers)
        .with_libraries(roots.clone(), LibraryOptions::default())
        .with_source_status();
    let all = [5_000, 5_100, 5_200, 5_300].map(TitleIndex);
    let request = Request::objects(all);
    assert_eq!(names(&host.snapshot(&request).unwrap()), [5_000, 5_100, 5_200, 5_300]);
    assert_eq!(all.map(|object| host.trouble(object)), [const { None }; 4]);
    fails.store(true, Ordering::Relaxed);
    for _ in 0..3 {
        let snapshot = host.snapshot(&request).unwrap();
        // Nor is there a half: the provider had written its first object.
        assert_eq!(names(&snapshot), [5_000, 5_300]);
        let object = snapshot.object(TitleIndex(5_300)).unwrap();
        assert_eq!(object.instances().next().unwrap().sample(0).unwrap().first, 7);
        host.give_back(snapshot);
    }
    let trouble = Some("the sensor does not answer; plug it in again".to_string());
    assert_eq!(all.map(|object| host.trouble(object)), [None, trouble.clone(), trouble, None]);
    let failed: Vec<_> =
        host.sources().into_iter().filter(|source| source.health == Health::Failed).collect();
    let names_of_failed: Vec<_> = failed.iter().map(|source| source.name.clone()).collect();
    assert_eq!(names_of_failed, [5_100, 5_200].map(|name| SourceName::Object(TitleIndex(name))));
    assert!(failed.iter().all(|source| source.errors == 3 && source.reason.contains("sensor")), "{failed:?}");
    // A request for nothing else has an answer too.
    assert_eq!(names(&host.snapshot(&Request::objects([TitleIndex(5_100)])).unwrap()), [0_u32; 0]);
    let events: String =
        events::files_to_read(&roots).iter().filter_map(|file| std::fs::read_to_string(file).ok()).collect();
    assert_eq!(events.matches("the sensor does not answer").count(), 1, "{events}");
    // The objects come back with the provider.
    fails.store(false, Ordering::Relaxed);
    assert_eq!(names(&host.snapshot(&request).unwrap()), [5_000, 5_100, 5_200, 5_300]);
    assert_eq!(all.map(|object| host.trouble(object)), [const { None }; 4]);
    assert!(host.sources().iter().all(|source| source.health != Health::Failed));
}
