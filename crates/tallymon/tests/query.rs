//! Queries over a provider whose instances each test chooses.

#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tallymon::core::block::{BlockWriter, Snapshot, WriteHeader};
use tallymon::core::counter::{CounterType, human};
use tallymon::core::flow::{Absence, NoValue, Source, SourceError, SourceErrorKind, Value, ValueState};
use tallymon::core::request::Request;
use tallymon::core::time::FileTime;
use tallymon::core::title::{Language, TitleIndex, Titles};
use tallymon::log::{FORMATS, ReadOptions, relog};
use tallymon::{
    Expand, FileSource, Host, InstanceIdentity, InstanceKey, Locale, Location, Log, Matching, NameForm,
    PathPart, PathProblem, Query, Reading, explain, open,
};
use tallymon_provider::{
    CollectRequest, CounterSpec, Frequency, InstanceKind, ObjectLayout, ObjectSpec, ObjectsWriter, Parent,
    PerfTime, Provider, ProviderError,
};
use tallymon_testkit::Scratch;

const fn counter(name: u32, counter_type: CounterType, size: Option<u32>) -> CounterSpec {
    CounterSpec { size, ..CounterSpec::new(TitleIndex(name), counter_type) }
}

const fn object(name: u32, instances: InstanceKind, counters: &'static [CounterSpec]) -> ObjectSpec<'static> {
    ObjectSpec { status: true, ..ObjectSpec::new(TitleIndex(name), instances, counters) }
}

/// Process: its work, id and start time.
const PROCESS: ObjectSpec = object(
    230,
    InstanceKind::Many,
    &[
        counter(6, CounterType::PERF_COUNTER_LARGE_DELTA, None),
        counter(784, CounterType::PERF_COUNTER_RAWCOUNT, None),
        counter(684, CounterType::PERF_ELAPSED_TIME, None),
    ],
);
/// Thread, below a process.
const THREAD: ObjectSpec =
    object(232, InstanceKind::Many, &[counter(6, CounterType::PERF_COUNTER_LARGE_RAWCOUNT, None)]);
/// Network Interface, which is identified by its name or its unique id only.
const CARD: ObjectSpec =
    object(510, InstanceKind::Many, &[counter(6, CounterType::PERF_COUNTER_LARGE_DELTA, None)]);
/// System, without instances; NT has two indexes with the name "% Idle Time".
const SYSTEM: ObjectSpec = object(
    2,
    InstanceKind::None,
    &[
        counter(1482, CounterType::PERF_COUNTER_LARGE_RAWCOUNT, None),
        counter(1746, CounterType::PERF_COUNTER_LARGE_RAWCOUNT, None),
        counter(1848, CounterType::PERF_COUNTER_TEXT, Some(32)),
        counter(24, CounterType::PERF_COUNTER_LARGE_RAWCOUNT, None),
    ],
);
const SPECS: &[ObjectSpec<'static>] = &[PROCESS, THREAD, CARD, SYSTEM];

/// The next answer of the provider.
#[derive(Default)]
struct Machine {
    /// Name, id, start time, work.
    processes: Vec<(&'static str, u64, u64, u64)>,
    /// Position of the process, name, value.
    threads: Vec<(u32, &'static str, u64)>,
    /// Name, unique id, value.
    cards: Vec<(&'static str, Option<i32>, u64)>,
    system: bool,
    available: ValueState,
    broken: bool,
}

struct Fake(Arc<Mutex<Machine>>);

impl Provider for Fake {
    fn objects(&self) -> &[ObjectSpec<'static>] {
        SPECS
    }

    fn parents(&self, object: TitleIndex) -> &[TitleIndex] {
        if object == THREAD.name { &[TitleIndex(230)] } else { &[] }
    }

    fn collect(
        &mut self,
        request: &CollectRequest<'_>,
        out: &mut ObjectsWriter<'_>,
    ) -> Result<(), ProviderError> {
        let machine = self.0.lock().unwrap();
        if machine.broken {
            return Err(ProviderError::new("the machine is broken"));
        }
        let (clock, ticks) = (PerfTime(1_000), Frequency(10));
        if request.wants(PROCESS.name) {
            let layout = ObjectLayout::new(PROCESS);
            let mut object = out.object(&layout, clock, ticks);
            for (name, id, start, work) in &machine.processes {
                let mut block = object.instance(name, None, None);
                block.set(0, *work);
                block.set(1, *id);
                block.set(2, *start);
            }
        }
        if request.wants(THREAD.name) {
            let layout = ObjectLayout::new(THREAD);
            let mut object = out.object(&layout, clock, ticks);
            for (process, name, value) in &machine.threads {
                let parent = Parent { object: PROCESS.name, instance: *process };
                object.instance(name, Some(parent), None).set(0, *value);
            }
        }
        if request.wants(CARD.name) {
            let layout = ObjectLayout::new(CARD);
            let mut object = out.object(&layout, clock, ticks);
            for (name, id, value) in &machine.cards {
                object.instance(name, None, *id).set(0, *value);
            }
        }
        if request.wants(SYSTEM.name) && machine.system {
            let layout = ObjectLayout::new(SYSTEM);
            let mut object = out.object(&layout, clock, ticks);
            let mut block = object.single();
            block.set(0, 1);
            block.set(1, 2);
            block.set_text(2, "도는 중");
            block.set(3, 3);
            block.state(3, machine.available);
        }
        Ok(())
    }
}

/// A machine, and a query over it.
fn machine() -> (Arc<Mutex<Machine>>, Query) {
    let machine = Arc::new(Mutex::new(Machine { system: true, ..Machine::default() }));
    let query = query_of(&machine, Language::ENGLISH);
    (machine, query)
}

/// A query over a machine, for a user of a language.
fn query_of(machine: &Arc<Mutex<Machine>>, language: Language) -> Query {
    let host = Host::of("fake", vec![Box::new(Fake(machine.clone()))]);
    Query::new(Box::new(host), language).unwrap()
}

/// The readings of a query: path and value, or why there is none.
fn said(query: &Query) -> Vec<(String, Result<f64, NoValue>)> {
    let number = |value: Value| value.as_f64().unwrap();
    query.readings().into_iter().map(|reading| (reading.path, reading.cell.value.map(number))).collect()
}

#[track_caller]
fn says(query: &Query, expected: &[(&str, Result<f64, NoValue>)]) {
    let expected: Vec<_> = expected.iter().map(|(path, value)| (path.to_string(), *value)).collect();
    assert_eq!(said(query), expected);
}

#[test]
fn a_reading_names_its_instance() {
    let (machine, mut query) = machine();
    query.add(r"\Process(*)\% Processor Time").unwrap();
    let mut who = |processes: &[(&'static str, u64, u64, u64)]| {
        machine.lock().unwrap().processes = processes.to_vec();
        // The two steps of `collect`, as for a caller that samples elsewhere.
        let request = query.request();
        let snapshot = Host::of("fake", vec![Box::new(Fake(machine.clone()))]).snapshot(&request).unwrap();
        query.accept(snapshot);
        let readings = query.readings().into_iter();
        readings.map(|reading| (reading.path, reading.identity)).collect::<Vec<_>>()
    };
    let before = who(&[("X", 10, 1, 0), ("X", 12, 3, 0), ("_Total", 0, 0, 0)]);
    assert_eq!(before[1].1, Some(InstanceIdentity::Ids([12, 0, 3])));
    assert_eq!(before[2].1, None, "a sum is nobody");
    let after = who(&[("X", 12, 3, 0)]);
    assert_eq!(after[0].0, r"\Process(X)\% Processor Time", "it has another name now");
    assert_eq!(after[0].1, before[1].1, "and is the same process");
}

/// The example of the documentation of the Performance Data Helper: three processes X, the second of which
/// ends.
#[test]
fn matches_three_processes_of_one_name() {
    for (matching, fourth) in [(Matching::Identity, 500.0), (Matching::NameAndNumber, 1480.0)] {
        let (machine, mut query) = machine();
        query.set_matching(matching);
        query.add(r"\Process(X#1)\% Processor Time").unwrap();
        let sample = |processes: &[(&'static str, u64, u64, u64)], query: &mut Query| {
            machine.lock().unwrap().processes = processes.to_vec();
            query.collect().unwrap();
        };
        let path = r"\Process(X#1)\% Processor Time";
        sample(&[("X", 10, 1, 100), ("X", 11, 2, 10), ("X", 12, 3, 500)], &mut query);
        says(&query, &[(path, Err(NoValue::FirstSample))]);
        sample(&[("X", 10, 1, 200), ("X", 11, 2, 20), ("X", 12, 3, 1_000)], &mut query);
        says(&query, &[(path, Ok(10.0))]);
        // The second one ended. The third has its number now, but its own earlier work of 1000.
        sample(&[("X", 10, 1, 300), ("X", 12, 3, 1_500)], &mut query);
        says(&query, &[(path, Ok(fourth))]);
        sample(&[("X", 10, 1, 400), ("X", 12, 3, 2_000)], &mut query);
        says(&query, &[(path, Ok(500.0))]);
    }
}

#[test]
fn a_reused_process_id_is_another_process() {
    let (machine, mut query) = machine();
    query.add(r"\Process(X)\% Processor Time").unwrap();
    machine.lock().unwrap().processes = vec![("X", 10, 1, 100)];
    query.collect().unwrap();
    // Same name, same id, but it started later.
    machine.lock().unwrap().processes = vec![("X", 10, 2, 150)];
    query.collect().unwrap();
    says(&query, &[(r"\Process(X)\% Processor Time", Err(NoValue::FirstSample))]);
    // _Total has no id and is known by its name.
    query.add(r"\Process(_Total)\% Processor Time").unwrap();
    for work in [70, 100] {
        machine.lock().unwrap().processes = vec![("X", 10, 2, work), ("_Total", 0, 0, work)];
        query.collect().unwrap();
    }
    let expected =
        [(r"\Process(X)\% Processor Time", Ok(30.0)), (r"\Process(_Total)\% Processor Time", Ok(30.0))];
    says(&query, &expected);
}

#[test]
fn a_unique_id_is_the_identity() {
    let (machine, mut query) = machine();
    query.add(r"\Network Interface(*)\% Processor Time").unwrap();
    machine.lock().unwrap().cards = vec![("a", Some(1), 10), ("b", Some(2), 1_000)];
    query.collect().unwrap();
    // They exchanged positions and names, as cards do that are plugged in again.
    machine.lock().unwrap().cards = vec![("b", Some(1), 15), ("a", Some(2), 1_007)];
    query.collect().unwrap();
    let path = |name| format!(r"\Network Interface({name})\% Processor Time");
    says(&query, &[(&path("b"), Ok(5.0)), (&path("a"), Ok(7.0))]);
    query.set_matching(Matching::NameAndNumber);
    machine.lock().unwrap().cards = vec![("b", Some(1), 16), ("a", Some(1), 1_008)];
    query.collect().unwrap();
    says(&query, &[(&path("b"), Ok(1.0)), (&path("a"), Ok(1.0))]);
}

#[test]
fn instances_come_and_go() {
    let (machine, mut query) = machine();
    query.add(r"\Network Interface(*)\% Processor Time").unwrap();
    query.add(r"\Network Interface(b)\% Processor Time").unwrap();
    let (a, b) = (r"\Network Interface(a)\% Processor Time", r"\Network Interface(b)\% Processor Time");
    query.collect().unwrap();
    // A pattern without a match gives no reading; a named instance gives one with the reason.
    says(&query, &[(b, Err(NoValue::NoInstance))]);
    machine.lock().unwrap().cards = vec![("a", None, 10)];
    query.collect().unwrap();
    says(&query, &[(a, Err(NoValue::FirstSample)), (b, Err(NoValue::NoInstance))]);
    machine.lock().unwrap().cards = vec![("b", None, 100), ("a", None, 11)];
    query.collect().unwrap();
    says(&query, &[(b, Err(NoValue::FirstSample)), (a, Ok(1.0)), (b, Err(NoValue::FirstSample))]);
    machine.lock().unwrap().cards = vec![("b", None, 102)];
    query.collect().unwrap();
    says(&query, &[(b, Ok(2.0)), (b, Ok(2.0))]);
    // It was missing in one sample, so it has no older value.
    machine.lock().unwrap().cards = vec![("a", None, 20), ("b", None, 103)];
    query.collect().unwrap();
    says(&query, &[(a, Err(NoValue::FirstSample)), (b, Ok(1.0)), (b, Ok(1.0))]);
}

#[test]
fn equal_names_have_numbers() {
    let (machine, mut query) = machine();
    machine.lock().unwrap().processes =
        vec![("sh", 1, 1, 0), ("cc", 2, 1, 0), ("sh", 3, 1, 0), ("sh", 4, 1, 0), ("SH", 5, 1, 0)];
    for (path, ids) in [
        // The exact spelling is meant; another one means all.
        ("sh", &[1][..]),
        ("SH", &[5]),
        ("Sh", &[1, 5]),
        ("sh#0", &[1]),
        ("sh#1", &[3]),
        ("sh#2", &[4]),
        ("sh#*", &[1, 3, 4, 5]),
        ("s*", &[1, 3, 4, 5]),
        ("s*#1", &[3]),
        ("*#0", &[1, 2, 5]),
        ("*", &[1, 2, 3, 4, 5]),
        ("sh#9", &[]),
        ("sh#01", &[]),
    ] {
        let handle = query.add(&format!(r"\Process({path})\ID Process")).unwrap();
        query.collect().unwrap();
        let of_path = query.readings().into_iter().filter(|reading| reading.handle == handle);
        let found: Vec<u64> =
            of_path.filter_map(|reading| reading.cell.sample).map(|sample| sample.first).collect();
        assert_eq!(found, ids, "{path}");
    }
}

#[test]
fn expanded_paths_mean_what_the_pattern_means() {
    let (machine, mut query) = machine();
    machine.lock().unwrap().processes = vec![("fire", 1, 1, 0), ("a#1", 2, 1, 0), ("fire", 3, 1, 0)];
    machine.lock().unwrap().threads = vec![(0, "0", 10), (2, "0", 30)];
    let all = Expand::default();
    for (pattern, what, expected) in [
        (
            r"\Process(*)\ID Process",
            all,
            &[r"\Process(fire)\ID Process", r"\Process(a#1#0)\ID Process", r"\Process(fire#1)\ID Process"][..],
        ),
        (
            r"\\.\process(fire*)\id*",
            all,
            &[r"\\.\Process(fire)\ID Process", r"\\.\Process(fire#1)\ID Process"],
        ),
        (
            r"\Thread(*/*)\% *",
            all,
            &[r"\Thread(fire/0)\% Processor Time", r"\Thread(fire/0#1)\% Processor Time"],
        ),
        (
            r"\Process(f*)\id*",
            Expand { counters: false, ..all },
            &[r"\Process(fire)\id*", r"\Process(fire#1)\id*"],
        ),
        (
            r"\230(*)\*proc*",
            Expand { instances: false, ..all },
            &[r"\Process(*)\% Processor Time", r"\Process(*)\ID Process"],
        ),
        (r"\Process(gone)\784", all, &[r"\Process(gone)\ID Process"]),
        (r"\Process(gone*)\784", all, &[]),
        (r"\System\Available Bytes", all, &[r"\System\Available Bytes"]),
    ] {
        let paths: Vec<String> =
            query.expand(pattern, what).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(paths, expected, "{pattern}");
    }
    assert_eq!(query.expand(r"\System(*)\*", all).unwrap_err().part, PathPart::Instance);
    assert_eq!(query.check(r"\Process(*)\Nothing").unwrap_err().part, PathPart::Counter);
    assert_eq!(query.check(r"\Process(nobody yet)\ID Process"), Ok(()));
    assert!(query.readings().is_empty(), "nothing was added");
}

#[test]
fn removes_paths_and_scales_single_paths() {
    let (machine, mut query) = machine();
    machine.lock().unwrap().processes = vec![("a", 7, 1, 0)];
    let first = query.add(r"\Process(a)\ID Process").unwrap();
    let second = query.add(r"\Process(a)\ID Process").unwrap();
    assert!(query.set_scale(second, Some(2)));
    assert!(!query.set_scale(second, Some(8)), "NT takes -7 to 7");
    assert_eq!((query.scale(first), query.scale(second)), (None, Some(2)));
    query.collect().unwrap();
    says(&query, &[(r"\Process(a)\ID Process", Ok(7.0)), (r"\Process(a)\ID Process", Ok(700.0))]);
    query.remove(first);
    assert!(query.readings_of(first).is_empty());
    assert!(!query.set_scale(first, None));
    let third = query.add(r"\Process(a)\ID Process").unwrap();
    assert_ne!(first, third, "a handle never means another path");
    let of_second = query.readings_of(second);
    assert_eq!(of_second.len(), 1);
    assert_eq!(of_second[0].cell.value, Ok(Value::Integer(700)));
}

#[test]
fn the_path_of_a_reading_leads_back_to_it() {
    let (machine, mut query) = machine();
    // Names with characters that mean something in the grammar of paths.
    let names = ["a#1", "a", "a", "C# compiler", "x)y", "(", "#", "a\\b", "#1", "1", "a/b", "a#1"];
    machine.lock().unwrap().processes = (1..).zip(names).map(|(id, name)| (name, id, 1, 0)).collect();
    query.add(r"\Process(*)\ID Process").unwrap();
    query.collect().unwrap();
    let readings = query.readings();
    assert_eq!(readings.len(), names.len());
    for (id, reading) in (1..).zip(&readings) {
        let mut other = query_of(&machine, Language::ENGLISH);
        other.add(&reading.path).unwrap();
        other.collect().unwrap();
        let found = other.readings();
        let ids: Vec<u64> =
            found.iter().filter_map(|reading| reading.cell.sample).map(|sample| sample.first).collect();
        assert_eq!(ids, [id], "{}", reading.path);
    }
}

#[test]
fn patterns_of_parents_and_instances() {
    let (machine, mut query) = machine();
    machine.lock().unwrap().processes = vec![("fire", 1, 1, 0), ("fish", 2, 1, 0), ("fire", 3, 1, 0)];
    machine.lock().unwrap().threads = vec![(0, "0", 10), (0, "1", 11), (1, "0", 20), (2, "0", 30)];
    for (path, values) in [
        ("*", &[10, 11, 20, 30][..]),
        ("*/*", &[10, 11, 20, 30]),
        ("fire/*", &[10, 11, 30]),
        ("fi*/0", &[10, 20, 30]),
        ("fire/0", &[10]),
        // Two parents with one name: their threads with one name are numbered together.
        ("fire/0#1", &[30]),
        ("fire/0#*", &[10, 30]),
        ("*/1", &[11]),
        ("fish*", &[20]),
        ("0", &[]),
        ("FISH/0", &[20]),
        ("/0", &[]),
    ] {
        let handle = query.add(&format!(r"\Thread({path})\% Processor Time")).unwrap();
        query.collect().unwrap();
        let of_path = query.readings().into_iter().filter(|reading| reading.handle == handle);
        let found: Vec<u64> =
            of_path.filter_map(|reading| reading.cell.sample).map(|sample| sample.first).collect();
        assert_eq!(found, values, "{path}");
    }
    let key = InstanceKey { parent: Some("fire".into()), name: "0".into(), number: 1 };
    assert_eq!(query.instances(THREAD.name).unwrap().last(), Some(&key));
    assert_eq!(key.to_string(), "fire/0#1");
}

#[test]
fn patterns_of_counters() {
    let (machine, mut query) = machine();
    machine.lock().unwrap().processes = vec![("a", 7, 990, 5)];
    query.add(r"\Process(a)\*").unwrap();
    query.add(r"\Process(*)\*D PROC*").unwrap();
    query.collect().unwrap();
    says(
        &query,
        &[
            (r"\Process(a)\% Processor Time", Err(NoValue::FirstSample)),
            (r"\Process(a)\ID Process", Ok(7.0)),
            // (1000 - 990) ticks of a tenth of a second.
            (r"\Process(a)\Elapsed Time", Ok(1.0)),
            (r"\Process(a)\ID Process", Ok(7.0)),
        ],
    );
    let error = query.add(r"\Process(a)\xyz*").unwrap_err();
    assert_eq!((error.part, error.problem), (PathPart::Counter, PathProblem::Unknown("xyz*".to_string())));
}

#[test]
fn two_counters_of_one_name() {
    let (_, mut query) = machine();
    for path in [r"\System\% Idle Time", r"\System\1746", r"\System\1482", r"\System\% Idle*"] {
        query.add(path).unwrap();
    }
    query.collect().unwrap();
    // The name means the first one. The other is named by its number, so that the path of its reading leads
    // back to it.
    says(
        &query,
        &[
            (r"\System\% Idle Time", Ok(1.0)),
            (r"\System\1746", Ok(2.0)),
            (r"\System\% Idle Time", Ok(1.0)),
            (r"\System\% Idle Time", Ok(1.0)),
            (r"\System\1746", Ok(2.0)),
        ],
    );
}

#[test]
fn text_is_a_value() {
    let (_, mut query) = machine();
    // It has no name in any language, so its number is used.
    query.add(r"\System\1848").unwrap();
    query.collect().unwrap();
    let reading = only(&query);
    assert_eq!(reading.path, r"\System\1848");
    assert_eq!(reading.cell.value, Ok(Value::Text("도는 중".to_string())));
    assert!(!query.needs_two_samples());
}

#[track_caller]
fn only(query: &Query) -> Reading {
    let readings = query.readings();
    assert_eq!(readings.len(), 1);
    readings.into_iter().next().unwrap()
}

#[test]
fn stale_and_absent_values_are_marked() {
    let (machine, mut query) = machine();
    query.add(r"\System\Available Bytes").unwrap();
    for (state, value, stale) in [
        (ValueState::Present, Ok(Value::Integer(3)), false),
        (ValueState::Stale, Ok(Value::Integer(3)), true),
        (ValueState::Absent(Absence::AccessDenied), Err(NoValue::NoData(Absence::AccessDenied)), false),
        (ValueState::Absent(Absence::Vanished), Err(NoValue::NoData(Absence::Vanished)), false),
    ] {
        machine.lock().unwrap().available = state;
        query.collect().unwrap();
        let reading = only(&query);
        assert_eq!((reading.cell.value, reading.cell.stale), (value, stale));
    }
    // The whole object may be missing too.
    machine.lock().unwrap().system = false;
    query.collect().unwrap();
    says(&query, &[(r"\System\Available Bytes", Err(NoValue::NoObject))]);
}

#[test]
fn a_provider_that_fails_costs_its_own_values() {
    let (machine, mut query) = machine();
    const PATH: &str = r"\Network Interface(a)\% Processor Time";
    let handle = query.add(PATH).unwrap();
    machine.lock().unwrap().cards = vec![("a", None, 10)];
    query.collect().unwrap();
    machine.lock().unwrap().broken = true;
    query.collect().unwrap();
    says(&query, &[(PATH, Err(NoValue::NoData(Absence::ReadFailed)))]);
    let why = query.trouble(handle).unwrap();
    assert!(why.contains("the machine is broken"), "{why}");
    machine.lock().unwrap().broken = false;
    for (active, value) in [(14, Err(NoValue::FirstSample)), (18, Ok(4.0))] {
        machine.lock().unwrap().cards = vec![("a", None, active)];
        query.collect().unwrap();
        says(&query, &[(PATH, value)]);
    }
    assert_eq!(query.trouble(handle), None);
}

#[test]
fn errors_name_the_part_and_the_nearest_names() {
    let (_, mut query) = machine();
    for (path, part, marked, nearest) in [
        (r"\Proces(x)\ID Process", PathPart::Object, "Proces", Some("Process")),
        (r"\Process(x)\ID Proces", PathPart::Counter, "ID Proces", Some("ID Process")),
        (r"\프로세쓰(x)\ID Process", PathPart::Object, "프로세쓰", Some("프로세스")),
        (r"\Process\ID Process", PathPart::Object, "Process", None),
        (r"\System(x)\Available Bytes", PathPart::Instance, "(x)", None),
        (r"\\other\System\Available Bytes", PathPart::Host, "other", None),
        (r"\\e\System\Available Bytes", PathPart::Host, "e", None),
        (r"\System", PathPart::Counter, "", None),
        (r"\999\6", PathPart::Object, "999", None),
    ] {
        let error = query.add(path).unwrap_err();
        assert_eq!((error.part, error.path.get(error.span.clone())), (part, Some(marked)), "{path}");
        assert_eq!(error.nearest.first().map(String::as_str), nearest, "{path}: {error}");
        assert!(error.to_string().contains(path), "{error}");
        if part == PathPart::Host {
            assert_eq!(error.span.start, 2);
            assert_eq!(error.problem, PathProblem::OtherHost("fake".to_string()));
        }
    }
    // None of them was added.
    query.collect().unwrap();
    assert_eq!(query.readings().len(), 0);
}

#[test]
fn accepts_names_in_every_language() {
    let (machine, _) = machine();
    machine.lock().unwrap().processes = vec![("x", 1, 1, 0)];
    for path in [
        r"\프로세스(x)\784",
        r"\230(x)\784",
        r"\PROCESS(X)\id process",
        r"\\FAKE\Process(x)\IDProcess",
        "//fake/Process(x)/ID Process",
        r"Process(x)\ID Process",
    ] {
        let mut query = query_of(&machine, Language::ENGLISH);
        query.add(path).unwrap();
        query.collect().unwrap();
        says(&query, &[(r"\Process(x)\ID Process", Ok(1.0))]);
    }
    let mut query = query_of(&machine, Language::KOREAN);
    query.add(r"\Process(x)\6").unwrap();
    query.add(r"\Process(none)\6").unwrap();
    query.collect().unwrap();
    let readings = query.readings();
    let local: Vec<String> = readings.iter().map(|reading| reading.local_path(query.names())).collect();
    // Korean Windows has English names.
    assert_eq!(local, [r"\Process(x)\% Processor Time", r"\Process(none)\% Processor Time"]);
    let host = Host::of("fake", vec![Box::new(Fake(machine.clone()))]);
    let translated = Locale { names: NameForm::Translated, ..Locale::from(Language::KOREAN) };
    let mut names = Query::new(Box::new(host), translated).unwrap();
    names.add(r"\Process(x)\% Processor Time").unwrap();
    let local: Vec<String> = readings.iter().map(|reading| reading.local_path(names.names())).collect();
    assert_eq!(local, [r"\프로세스(x)\% 프로세서 시간", r"\프로세스(none)\% 프로세서 시간"]);
    // The path itself is always in English.
    assert_eq!(readings.first().unwrap().path, r"\Process(x)\% Processor Time");
}

#[test]
fn an_explanation_has_the_numbers_of_the_samples() {
    let (machine, mut query) = machine();
    query.add(r"\Process(x)\% Processor Time").unwrap();
    machine.lock().unwrap().processes = vec![("x", 1, 1, 40)];
    query.collect().unwrap();
    let explained = explain(&only(&query), query.names(), None);
    assert_eq!(explained.formula, "N1 - N0");
    assert_eq!(explained.numbers.as_deref(), Some("40 - N0"));
    assert_eq!(explained.value, Err(NoValue::FirstSample));
    machine.lock().unwrap().processes = vec![("x", 1, 1, 100)];
    query.collect().unwrap();
    let explained = explain(&only(&query), query.names(), Some("About processes."));
    assert_eq!(explained.numbers.as_deref(), Some("100 - 40"));
    assert_eq!(explained.value.unwrap().as_f64(), Some(60.0));
    assert_eq!(explained.index_path, r"\230(x)\6");
    assert_eq!(explained.object_help.as_deref(), Some("About processes."));
    assert_eq!(explained.counter_type, "PERF_COUNTER_LARGE_DELTA");
}

#[test]
fn a_saved_block_is_a_source() {
    let (machine, mut query) = machine();
    machine.lock().unwrap().processes = vec![("x", 1, 1, 40)];
    query.add(r"\Process(x)\ID Process").unwrap();
    query.collect().unwrap();
    let bytes = query.snapshot().unwrap().bytes().to_vec();
    let path = std::env::temp_dir().join(format!("tallymon-query-{}.bin", std::process::id()));
    std::fs::write(&path, &bytes).unwrap();
    let mut saved = Query::open(&Location::File(path.clone())).unwrap();
    assert_eq!(saved.system_name(), "fake");
    saved.add(r"\Process(x)\ID Process").unwrap();
    assert_eq!(saved.add(r"\System\Available Bytes").unwrap_err().part, PathPart::Object);
    saved.collect().unwrap();
    says(&saved, &[(r"\Process(x)\ID Process", Ok(1.0))]);
    assert_eq!(saved.instances(PROCESS.name).unwrap().len(), 1);
    // Every prefix of the block is refused, with the name of the file and the byte.
    for length in [0, 1, 50, bytes.len() - 1] {
        std::fs::write(&path, bytes.get(..length).unwrap()).unwrap();
        let error = FileSource::open(path.clone()).unwrap_err();
        assert_eq!(error.kind, SourceErrorKind::BadData, "{length}");
        assert!(
            error.message.contains(path.to_str().unwrap()) && error.message.contains("at byte"),
            "{error}"
        );
    }
    std::fs::remove_file(&path).unwrap();
    assert_eq!(open(&Location::File(path)).err().unwrap().kind, SourceErrorKind::NotFound);
}

/// What a query keeps between collections must follow when instances change position.
#[test]
fn paths_follow_instances_that_change_position() {
    let (machine, mut query) = machine();
    let one = query.add(r"\Thread(Y/0#1)\% Processor Time").unwrap();
    let all = query.add(r"\Thread(x/*)\% Processor Time").unwrap();
    let mut sees = |processes: &[&'static str], threads: &[(u32, &'static str, u64)]| {
        let mut now = machine.lock().unwrap();
        now.processes = processes.iter().zip(1..).map(|(name, id)| (*name, id, 1, 0)).collect();
        now.threads = threads.to_vec();
        drop(now);
        query.add(r"\Process(*)\ID Process").unwrap();
        query.collect().unwrap();
        let sampled = |handle| -> Vec<Result<u64, NoValue>> {
            let of_path = query.readings_of(handle).into_iter();
            of_path
                .map(|reading| reading.cell.sample.map(|sample| sample.first).ok_or(NoValue::NoInstance))
                .collect()
        };
        // The borrowed values equal the readings.
        let mut borrowed = Vec::new();
        query.for_each(|value| borrowed.push((value.handle, value.instance.cloned(), value.cell)));
        let kept = query.readings().into_iter();
        assert_eq!(borrowed, kept.map(|kept| (kept.handle, kept.instance, kept.cell)).collect::<Vec<_>>());
        (sampled(one), sampled(all))
    };
    let none = Err(NoValue::NoInstance);
    assert_eq!(sees(&["x", "y"], &[(0, "0", 1), (1, "0", 2)]), (vec![none], vec![Ok(1)]));
    assert_eq!(sees(&["x", "y"], &[(0, "0", 3), (1, "0", 4)]), (vec![none], vec![Ok(3)]));
    // The threads keep their names; their parents have other names.
    assert_eq!(sees(&["y", "y"], &[(0, "0", 5), (1, "0", 6)]), (vec![Ok(6)], vec![]));
    assert_eq!(sees(&["y", "x"], &[(0, "0", 7), (1, "0", 8)]), (vec![none], vec![Ok(8)]));
    assert_eq!(sees(&["y"], &[(0, "0", 9), (0, "0", 10)]), (vec![Ok(10)], vec![]));
    assert_eq!(sees(&[], &[]), (vec![none], vec![]));
}

/// A source that counts the snapshots that it got back.
struct Lender(Host, Arc<Mutex<usize>>);

impl Source for Lender {
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        self.0.snapshot(request)
    }

    fn give_back(&mut self, snapshot: Snapshot) {
        *self.1.lock().unwrap() += 1;
        self.0.give_back(snapshot);
    }

    fn titles(&mut self, language: Language) -> Result<Titles, SourceError> {
        self.0.titles(language)
    }
}

#[test]
fn gives_unneeded_samples_back_to_the_source() {
    let machine = Arc::new(Mutex::new(Machine { system: true, ..Machine::default() }));
    let host = Host::of("here", vec![Box::new(Fake(Arc::clone(&machine)))]);
    let returned = Arc::new(Mutex::new(0));
    let source = Box::new(Lender(host, Arc::clone(&returned)));
    let mut query = Query::new(source, Language::ENGLISH).unwrap();
    query.add(r"\Process(*)\% Processor Time").unwrap();
    for round in 1..=6_u32 {
        let work = u64::from(round) * 20;
        machine.lock().unwrap().processes = vec![("one", 7, 100, work), ("two", 8, 100, work * 2)];
        query.collect().unwrap();
        let values: Vec<_> = query.readings().into_iter().map(|reading| reading.cell.value).collect();
        let expected = [20, 40].map(Value::Integer);
        if round > 1 {
            assert_eq!(values, expected.map(Ok), "in the memory of an older sample");
        }
        // The query keeps the last two.
        assert_eq!(*returned.lock().unwrap(), usize::try_from(round).unwrap().saturating_sub(2));
    }
}

/// Numbers whose type has no formula are shown as they are, as their explanation says: decimal thousands, and
/// a label with a number. A label has to be named; it is not listed.
#[test]
fn raw_values_of_any_type_are_shown() {
    const THREADS: TitleIndex = TitleIndex(680);
    const HANDLES: TitleIndex = TitleIndex(952);
    let counters = [
        CounterSpec { size: Some(4), ..CounterSpec::new(THREADS, CounterType(0x0002_0000)) },
        CounterSpec { size: Some(4), ..CounterSpec::new(HANDLES, CounterType::PERF_COUNTER_NODATA) },
    ];
    let layout = ObjectLayout::new(ObjectSpec::new(TitleIndex(230), InstanceKind::None, &counters));
    let header = WriteHeader {
        system_name: "nt",
        default_object: -1,
        perf_time: PerfTime(0),
        perf_freq: Frequency(1),
        perf_time_100ns: FileTime(1),
        system_time: FileTime(1),
    };
    let mut bytes = Vec::new();
    let mut writer = BlockWriter::growing(&mut bytes, &header);
    {
        let mut object = writer.objects().object(&layout, PerfTime(0), Frequency(0));
        let mut values = object.single();
        values.set(0, 1_234_567);
        values.set(1, 42);
    }
    writer.finish().unwrap();
    let scratch = Scratch::new();
    let file = scratch.join("block.bin");
    std::fs::write(&file, bytes).unwrap();
    let mut query = Query::open(&Location::File(file)).unwrap();
    for (path, value, shown) in
        [(r"\Process\Thread Count", 1_234_567, "1234.567"), (r"\Process\Handle Count", 42, "0x0000002A")]
    {
        let handle = query.add(path).unwrap();
        query.collect().unwrap();
        let reading = query.readings_of(handle).remove(0);
        assert_eq!(reading.cell.value, Ok(Value::Integer(value)), "{path}");
        let explained = explain(&reading, query.names(), None);
        assert_eq!((explained.formula, explained.numbers), ("N1", Some(value.to_string())), "{path}");
        let counter_type = reading.definition.counter_type;
        assert_eq!(human(&Value::Integer(value), counter_type).to_string(), shown, "{path}");
    }
    let listed = query.catalog().objects()[0].visible_counters().count();
    assert_eq!(listed, 1);
}

/// Random names of instances, out of all letters with a meaning in paths.
fn awkward_names(seed: u64) -> Vec<&'static str> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap() % below
    };
    let letters: Vec<char> = r"()\/#*aAb1 .".chars().collect();
    let name = |next: &mut dyn FnMut(usize) -> usize| -> String {
        (0..next(7)).map(|_| letters[next(letters.len())]).collect()
    };
    let mut names: Vec<String> = (0..6).map(|_| name(&mut next)).collect();
    names.extend([r"k)l\m", "w)(z", r"a)b\c#3", "", "st*r", "star", "Star", "x#*"].map(str::to_string));
    // A single star in a path means all instances.
    names.retain(|name| name != "*");
    names.into_iter().map(|name| &*Box::leak(name.into_boxed_str())).collect()
}

/// A log of every format that can be written, with the values of readings.
fn logs_of(readings: &[Reading], scratch: &Scratch, seed: u64) -> Vec<PathBuf> {
    let mut log = String::from("\"(PDH-CSV 4.0) (UTC)(0)\"");
    let mut row = String::from("\"01/02/2026 00:00:00.000\"");
    for reading in readings {
        log += &format!(",\"\\\\host{}\"", reading.path);
        row += &format!(",\"{}\"", reading.cell.value.as_ref().unwrap().as_f64().unwrap());
    }
    let text = scratch.join(format!("{seed}.csv"));
    std::fs::write(&text, format!("{log}\r\n{row}\r\n")).unwrap();
    let mut logs = vec![text.clone()];
    for info in FORMATS.iter().filter(|info| info.writes && info.reads) {
        let copy = scratch.join(format!("{seed}-copy.{}", info.extension));
        let options = relog::Options { format: info.format, ..relog::Options::default() };
        relog::relog(std::slice::from_ref(&text), &copy, &options).unwrap();
        logs.push(copy);
    }
    logs
}

/// Every path that is printed is read as the same instance: live, expanded, and from a log of any format, by
/// a query over the log and by the source that walks through it.
#[test]
fn printed_paths_are_accepted() {
    let scratch = Scratch::new();
    for seed in 60..100 {
        let (machine, mut all) = machine();
        let names = awkward_names(seed);
        let processes = names.iter().zip(1u64..).map(|(name, id)| (*name, id, 1, id));
        machine.lock().unwrap().processes = processes.collect();
        all.add(r"\Process(*)\ID Process").unwrap();
        all.collect().unwrap();
        let mut readings = all.readings();
        assert_eq!(readings.len(), names.len(), "{seed}: {names:?}");
        // The second instance without a name is `#1`, and so is an instance of that name.
        let paths: Vec<String> = readings.iter().map(|reading| reading.path.clone()).collect();
        readings.retain(|reading| paths.iter().filter(|path| **path == reading.path).count() == 1);
        for reading in &readings {
            let mut live = query_of(&machine, Language::ENGLISH);
            assert_eq!(
                value_in(&mut live, &reading.path),
                number(reading),
                "{seed}: {} {names:?}",
                reading.path
            );
            let expanded = live.expand(&reading.path, Expand::default());
            let expanded: Vec<String> = expanded.unwrap().iter().map(ToString::to_string).collect();
            assert_eq!(expanded, [reading.path.as_str()], "{seed}: {names:?}");
        }
        // Every third machine is enough for files.
        for file in if seed % 3 == 0 { logs_of(&readings, &scratch, seed) } else { Vec::new() } {
            let log = Log::open(&file, &ReadOptions::default()).unwrap();
            let mut source = log.source();
            let mut query = Query::new(Box::new(log.source()), Language::ENGLISH).unwrap();
            for reading in &readings {
                let (path, name) = (&reading.path, file.display());
                assert_eq!(value_in(&mut query, path), number(reading), "{name}: {path} of {names:?}");
                let handle = source.add(path).unwrap();
                source.set_range(FileTime(0), FileTime(u64::MAX));
                source.collect().unwrap();
                let found = source.readings_of(handle).unwrap();
                assert_eq!(found.len(), 1, "{name}: {path} of {names:?}");
                assert_eq!(
                    found[0].cell.value.as_ref().ok().and_then(Value::as_f64),
                    number(reading),
                    "{name}: {path}"
                );
            }
        }
    }
}

fn number(reading: &Reading) -> Option<f64> {
    reading.cell.value.as_ref().ok()?.as_f64()
}

/// The value of a path that must mean one instance, printed as the path is.
#[track_caller]
fn value_in(query: &mut Query, path: &str) -> Option<f64> {
    let handle = query.add(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    query.collect().unwrap();
    let found = query.readings_of(handle);
    query.remove(handle);
    assert_eq!(found.iter().map(|one| one.path.as_str()).collect::<Vec<_>>(), [path]);
    number(&found[0])
}

/// A log that has only some instances of a name, or has them in another order, keeps their numbers.
#[test]
fn instances_of_a_log_keep_their_numbers() {
    let folder = Scratch::new();
    let file = folder.join("some.csv");
    let paths = ["svchost#3", "sh#1", "sh", "a", "A", "only#2", "only#4"]
        .map(|name| format!(r"\Process({name})\ID Process"));
    let header: Vec<String> = paths.iter().map(|path| format!("\"\\\\host{path}\"")).collect();
    let values: Vec<String> = (1..=paths.len()).map(|value| format!("\"{value}\"")).collect();
    let rows = format!(
        "\"(PDH-CSV 4.0) (UTC)(0)\",{}\r\n\"01/02/2026 00:00:00.000\",{}\r\n",
        header.join(","),
        values.join(",")
    );
    std::fs::write(&file, rows).unwrap();
    let source = || Log::open(&file, &ReadOptions::default()).unwrap().source();
    let mut query = Query::new(Box::new(source()), Language::ENGLISH).unwrap();
    for (path, value) in paths.iter().zip(1u32..) {
        let handle = query.add(path).unwrap();
        query.collect().unwrap();
        let found = query.readings_of(handle);
        assert_eq!(found.len(), 1, "{path}");
        assert_eq!(number(&found[0]), Some(f64::from(value)), "{path}");
        // What is printed means the same instance.
        let printed = found[0].path.clone();
        let again = query.add(&printed).unwrap();
        query.collect().unwrap();
        assert_eq!(number(&query.readings_of(again)[0]), Some(f64::from(value)), "{printed}");
    }
    let all = query.add(r"\Process(*)\ID Process").unwrap();
    query.collect().unwrap();
    assert_eq!(query.readings_of(all).len(), paths.len());
}
