//! MyCoolCounter: a service in front of the built-in object System adds a counter to it.

use std::path::{Path, PathBuf};

use tallymon::Host;
use tallymon::core::block::{RawValue, Snapshot};
use tallymon::core::title::TitleIndex;
use tallymon::registry::{Package, Service};

use crate::listings::{ok, tally};
use crate::support::{Place, ask, objects, options};

const SYSTEM: TitleIndex = TitleIndex(2);

fn ini() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../provider/examples/rust/mycoolcounter/mycoolcounter.ini")
}

fn compile(place: &Place, fault: u32) -> Option<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/library/wrapper.c");
    place.compile(&source, "wrapper.so", &[format!("-DFAULT={fault}")])
}

/// Installs the service; gives the index of its counter, `None` without a compiler.
fn install(place: &Place, fault: u32, timeout: u32) -> Option<TitleIndex> {
    let name = |name: &str| Some(name.to_string());
    let registration = Service {
        library: Some(compile(place, fault)?),
        open: name("Open"),
        collect: name("Collect"),
        close: name("Close"),
        deadline: Some(timeout),
        wrapped_objects: vec![SYSTEM],
        ..Service::default()
    };
    let package = Package::read(&ini(), None).unwrap();
    Some(place.writer().install(&package, &registration).unwrap().first_counter)
}

fn host(place: &Place) -> Host {
    Host::open().unwrap().with_libraries(place.roots(), options())
}

/// The value of a counter of System.
fn value(snapshot: &Snapshot, counter: TitleIndex) -> Option<RawValue<'_>> {
    let object = snapshot.object(SYSTEM).unwrap();
    object.instance(0)?.raw(object.position(counter)?)
}

#[test]
fn a_wrapper_adds_a_counter_to_another_object() {
    let place = Place::new();
    let before = ask(&mut host(&place), "2 4");
    let Some(counter) = install(&place, 0, 8000) else { return };
    let mut host = host(&place);
    for query in ["2", "2 4", "Global"] {
        let snapshot = ask(&mut host, query);
        assert_eq!(value(&snapshot, counter), Some(RawValue::Number(4711)), "{query}");
        // NT's counters are there as before; Processes is one that cannot be 0.
        assert_ne!(value(&snapshot, TitleIndex(248)), Some(RawValue::Number(0)));
        let (old, new) = (before.object(SYSTEM).unwrap(), snapshot.object(SYSTEM).unwrap());
        assert_eq!(old.counters().len().saturating_add(1), new.counters().len());
        assert!(old.counters().iter().all(|counter| new.position(counter.name).is_some()));
    }
    assert_eq!(objects(&ask(&mut host, "4 2")), objects(&before));
    let metadata = ask(&mut host, "MetadataGlobal");
    let object = metadata.object(SYSTEM).unwrap();
    assert!(object.position(counter).is_some() && object.instances().len() == 0);
    // Who does not ask for the object does not ask the service.
    let asked = host.libraries().first().unwrap().counts.asked;
    ask(&mut host, "4");
    assert_eq!(host.libraries().first().unwrap().counts.asked, asked);
    // Disabling it takes the counter away, and so does removing it, in a reader that goes on.
    place.writer().set_enabled("MyCoolCounter", false).unwrap();
    assert_eq!(value(&ask(&mut host, "2"), counter), None);
    place.writer().set_enabled("MyCoolCounter", true).unwrap();
    assert!(value(&ask(&mut host, "2"), counter).is_some());
    place.writer().remove("MyCoolCounter").unwrap();
    let after = ask(&mut host, "2 4");
    let counters = |snapshot: &Snapshot| snapshot.object(SYSTEM).unwrap().counters().to_vec();
    assert_eq!(counters(&after), counters(&before));
    assert_eq!(place.events(), Vec::<u64>::new());
}

#[test]
fn a_service_that_fails_leaves_the_object_as_it_was() {
    const LONG: u32 = 8000;
    let faults: [(u32, u32, &[u64]); 4] =
        [(1, LONG, &[1010]), (2, 300, &[1015]), (3, LONG, &[]), (4, LONG, &[1003, 1017])];
    for (fault, timeout, events) in faults {
        let place = Place::new();
        let Some(counter) = install(&place, fault, timeout) else { return };
        let mut host = host(&place);
        let snapshot = ask(&mut host, "2");
        assert_eq!(value(&snapshot, counter), None, "fault {fault}");
        assert!(value(&snapshot, TitleIndex(248)).is_some(), "fault {fault}");
        assert_eq!(place.events(), events, "fault {fault}");
    }
}

#[test]
fn everybody_sees_it_until_it_is_removed() {
    let place = Place::new();
    let Some(library) = compile(&place, 0) else { return };
    let ini = ini().display().to_string();
    let functions = ["--open", "Open", "--collect", "Collect", "--close", "Close"];
    let add = ["provider", "--system", "add", &ini, "--wraps", "2", "--library", &library];
    let times = ["--open-timeout", "8000", "--collect-timeout", "8000"];
    ok(&place, &[&add[..], &functions, &times].concat());
    assert!(ok(&place, &["get", "\\System\\MyCoolCounter", "--csv"]).contains("4711"));
    assert!(ok(&place, &["get", "\\System\\МойКрутойСчётчик", "--csv"]).contains("4711"));
    assert!(ok(&place, &["list", "System"]).contains("MyCoolCounter"));
    assert!(ok(&place, &["doctor", "--verbose"]).contains("service MyCoolCounter"));
    let saved = place.0.join("saved.txt").display().to_string();
    ok(&place, &["provider", "--system", "export", &saved]);
    ok(&place, &["provider", "--system", "remove", "MyCoolCounter"]);
    let (code, _, err) = tally(&place, &["get", "\\System\\MyCoolCounter"]);
    assert_eq!(code, 3, "{err}");
    assert!(!ok(&place, &["list", "System"]).contains("MyCoolCounter"));
    // What is saved knows whom it wraps.
    ok(&place, &["lodctr", &format!("/R:{saved}")]);
    assert!(ok(&place, &["get", "\\System\\MyCoolCounter", "--csv"]).contains("4711"));
}
