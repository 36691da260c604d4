//! The object "Tallymon Provider" of a live machine: what it tells must be what was asked.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![cfg(target_os = "linux")]

use tallymon_core::block::Snapshot;
use tallymon_core::flow::Source;
use tallymon_core::request::Request;
use tallymon_core::title::TitleIndex;
use tallymon_host::Host;
use tallymon_linux::System;
use tallymon_provider::{Health, Interest, Provider, SourceName, Tier, TierChoice};

const PROVIDER: TitleIndex = TitleIndex(990_000);
const PROCESSOR: TitleIndex = TitleIndex(238);
const LAST: usize = 4;
const COLLECTIONS: usize = 5;
const STATE: usize = 9;

fn host() -> Host {
    let system = System::open_with(TierChoice::Only(Tier::T0)).unwrap();
    Host::of("here", vec![Box::new(system)]).with_source_status()
}

/// The value of a counter of a source.
fn value(snapshot: &Snapshot, source: &str, position: usize) -> u64 {
    let object = snapshot.object(PROVIDER).unwrap();
    let instance = object.instances().find(|instance| instance.name().to_string_lossy() == source).unwrap();
    instance.sample(position).unwrap().first
}

#[test]
fn every_source_is_listed_and_tried_once() {
    let mut host = host();
    let costly: usize = {
        let system = System::open().unwrap();
        system.objects().iter().filter(|object| system.is_costly(object.name)).count()
    };
    let request = Request::objects([PROCESSOR, PROVIDER]);
    for round in 1..=3 {
        let snapshot = host.snapshot(&request).unwrap();
        assert_eq!(value(&snapshot, "Processor", COLLECTIONS), round);
        assert_eq!(value(&snapshot, "Processor", STATE), Health::Healthy as u64);
        assert!(value(&snapshot, "Processor", LAST) > 0);
        // Nobody asks for it, so it is tried once and then left alone.
        assert_eq!(value(&snapshot, "Memory", COLLECTIONS), 1);
    }
    let unknown = host.sources().into_iter().filter(|source| source.health == Health::NotAsked).count();
    assert_eq!(unknown, costly, "only costly objects are not tried");
}

/// What the counters tell of a source, a line of `tally doctor` tells too.
#[test]
fn every_source_is_a_finding() {
    let mut host = host();
    let before = host.findings();
    let sources = host.sources();
    assert!(sources.len() > 50, "{}", sources.len());
    let titles = System::open().unwrap();
    assert_eq!(sources.len(), titles.objects().len());
    let lines: Vec<_> = before.iter().filter(|finding| finding.subject.starts_with("object ")).collect();
    assert_eq!(lines.len(), sources.len());
    for (line, source) in lines.into_iter().zip(&sources) {
        let word = source.health.word();
        assert!(
            line.detail.starts_with(word) && line.detail.contains(source.reason.as_ref()),
            "{line:?} {source:?}"
        );
        let SourceName::Object(object) = source.name else { panic!("{source:?}") };
        let is_costly = titles.is_costly(object);
        assert_eq!(is_costly, word == "not asked", "{line:?}");
        // Who was asked says what it cost.
        assert_eq!(is_costly, source.last.is_zero(), "{source:?}");
    }
}

#[test]
fn request_tries_no_other_source() {
    let mut host = host();
    host.snapshot(&Request::objects([PROCESSOR])).unwrap();
    let asked = host.sources().into_iter().filter(|source| source.collections > 0).count();
    assert_eq!(asked, 1);
    assert!(host.snapshot(&Request::parse("Global")).unwrap().object(PROVIDER).is_some());
    let metadata = host.snapshot(&Request::parse("MetadataGlobal")).unwrap();
    assert_eq!(metadata.object(PROVIDER).unwrap().counters().len(), 13);
    let plain = Host::of("here", Vec::new()).snapshot(&Request::objects([PROVIDER])).unwrap();
    assert!(plain.object(PROVIDER).is_none(), "a host of chosen providers has no object of its own");
}

#[test]
fn objects_know_when_they_were_read() {
    let mut host = host();
    let mut known = Vec::new();
    for query in ["Costly", "Global"] {
        let before = Host::clocks().time_100ns;
        let snapshot = host.snapshot(&Request::parse(query)).unwrap();
        let after = Host::clocks().time_100ns;
        let header = snapshot.header();
        for object in snapshot.objects() {
            let name = object.header().name.0;
            let window = object.window().unwrap_or_else(|| panic!("object {name} does not say"));
            assert!(
                before <= header.perf_time_100ns && header.perf_time_100ns <= window.begin,
                "object {name}"
            );
            assert!(window.begin <= window.end && window.end <= after, "object {name}: {window:?}");
            if object.header().perf_freq.0 != 0 {
                assert_eq!(object.header().perf_time.0.cast_unsigned(), window.middle().0, "object {name}");
            }
            known.push(object.header().name);
        }
    }
    assert!(System::open().unwrap().objects().iter().all(|object| known.contains(&object.name)), "{known:?}");
    let snapshot = host.snapshot(&Request::parse("Global")).unwrap();
    assert!(snapshot.object(PROVIDER).is_some());
    // One pass, one stamp. What does not look at processes has its own.
    let window = |snapshot: &Snapshot, name| snapshot.object(TitleIndex(name)).unwrap().window();
    assert_eq!(window(&snapshot, 230), window(&snapshot, 232));
    assert_eq!(window(&snapshot, 2), window(&snapshot, 230));
    let mut interest = Interest::everything();
    interest.add(TitleIndex(2), TitleIndex(146));
    interest.add(TitleIndex(230), TitleIndex(6));
    let request = Request { interest, ..Request::objects([TitleIndex(2), TitleIndex(230)]) };
    for _ in 0..5 {
        let snapshot = host.snapshot(&request).unwrap();
        let [system, process] = [2, 230].map(|name| window(&snapshot, name).unwrap());
        // Both need /proc/stat, which System reads.
        assert!(system.begin <= process.begin && system.end <= process.end, "{system:?} {process:?}");
    }
    // The processor's times come in ticks, its interrupts one by one.
    let processor = snapshot.object(PROCESSOR).unwrap();
    let quantum = |name| processor.quantum(processor.position(TitleIndex(name)).unwrap());
    assert_eq!((quantum(6), quantum(148)), (100_000, 1));
    // Of processors NT shows the mean, and the sum of processes, each of which may be a step off.
    let total = |name, counter| {
        let object = snapshot.object(TitleIndex(name)).unwrap();
        let others = u64::try_from(object.instances().count()).unwrap() - 1;
        (object.quantum_of_total(object.position(TitleIndex(counter)).unwrap()), others)
    };
    assert_eq!(total(238, 6).0, 100_000);
    let (interrupts, processors) = total(238, 148);
    assert_eq!(interrupts, processors);
    let (times, processes) = total(230, 6);
    assert_eq!(times % processes, 0);
    assert!(processes > 1 && times >= processes, "{times} {processes}");
}

/// Costly objects answer to `Costly` and to their own names, never to `Global`.
#[test]
fn costly_objects_are_read_by_name_only() {
    let mut host = host();
    let system = System::open().unwrap();
    let all: Vec<TitleIndex> = system.objects().iter().map(|object| object.name).collect();
    let costly: Vec<TitleIndex> = all.iter().copied().filter(|object| system.is_costly(*object)).collect();
    // Job Object Details, Process Details, those of graphics devices, Processor Performance Counters, and
    // Print Queue.
    assert_eq!(costly.len(), 7, "{costly:?}");
    let names = |snapshot: &Snapshot| -> Vec<TitleIndex> {
        let found = snapshot.objects().map(|object| object.header().name);
        found.filter(|object| all.contains(object)).collect()
    };
    let cheap = names(&host.snapshot(&Request::parse("Global")).unwrap());
    assert_eq!(cheap.len() + costly.len(), all.len());
    assert!(cheap.iter().all(|object| !costly.contains(object)), "{cheap:?}");
    let mut dear = names(&host.snapshot(&Request::parse("Costly")).unwrap());
    // A parent comes with its children.
    dear.retain(|object| *object != TitleIndex(1500));
    assert_eq!(dear, costly);
    for object in costly {
        assert!(
            names(&host.snapshot(&Request::objects([object])).unwrap()).contains(&object),
            "{}",
            object.0
        );
    }
}
