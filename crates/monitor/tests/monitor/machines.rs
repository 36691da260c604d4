//! Several live machines: their rows, one that is late, one that fails and comes back.

use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use tallymon::core::block::Snapshot;
use tallymon::core::counter::CounterType;
use tallymon::core::flow::{
    Absence, NoValue, RegisteredObjects, Sample, Source, SourceError, SourceErrorKind,
};
use tallymon::core::request::{Request, RequestKind};
use tallymon::core::title::{Language, TitleIndex, Titles};
use tallymon::fleet::{Aggregate, Fleet};
use tallymon::{Definitions, Query, Sampler};
use tallymon_monitor::chart::Glyphs;
use tallymon_monitor::{App, Colours, LiveHost, Opening, Options};

use crate::fake::{Bench, Fake, Script};
use crate::screens::has;

const BUSY: &str = r"\Processor(_Total)\% Processor Time";
const QUEUE: &str = r"\System\Processor Queue Length";

/// An object that is registered under the name "Kernel".
const SILENT: TitleIndex = TitleIndex(5000);

/// No test waits longer than this, however busy the machine is.
const GUARD: Duration = Duration::from_secs(120);

/// A gate that a source waits at.
#[derive(Default)]
struct Gate(Mutex<bool>, Condvar);

impl Gate {
    fn close(&self, is_closed: bool) {
        *self.0.lock().unwrap() = is_closed;
        self.1.notify_all();
    }

    fn pass(&self) {
        let mut is_closed = self.0.lock().unwrap();
        while *is_closed {
            is_closed = self.1.wait(is_closed).unwrap();
        }
    }
}

/// A machine that hangs while its gate is closed.
struct Gated(Fake, Arc<Gate>);

impl Source for Gated {
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        self.1.pass();
        match &request.kind {
            RequestKind::Objects(objects) if objects.contains(&SILENT) => {
                Err(SourceError::new(SourceErrorKind::Io, "its library is damaged"))
            }
            _ => self.0.snapshot(request),
        }
    }

    fn titles(&mut self, language: Language) -> Result<Titles, SourceError> {
        self.1.pass();
        self.0.titles(language)
    }

    fn languages(&self) -> Vec<Language> {
        self.0.languages()
    }

    /// An object that never answers.
    fn registered(&mut self) -> RegisteredObjects {
        RegisteredObjects { listed: BTreeSet::from([SILENT]), ..RegisteredObjects::default() }
    }
}

struct Host {
    script: Arc<Script>,
    gate: Arc<Gate>,
}

/// Machines `web1`, `web2` … in one monitor; `dead` ones have not answered yet.
struct Machines {
    hosts: Vec<Host>,
    bench: Bench,
}

impl Machines {
    fn new(count: usize, dead: &[usize], paths: &[&str], change: impl FnOnce(&mut Options)) -> Machines {
        let mut hosts = Vec::new();
        let mut live = Vec::new();
        let mut query_and_options = None;
        for number in 0..count {
            let (script, gate) = (Arc::new(Script::default()), Arc::new(Gate::default()));
            *script.processes.lock() = vec!["myapp", "_Total"];
            gate.close(dead.contains(&number));
            let (of_source, at) = (Arc::clone(&script), Arc::clone(&gate));
            let open = move || Ok(Box::new(Gated(Fake(Arc::clone(&of_source)), Arc::clone(&at))) as _);
            let sampler = Sampler::start(open).unwrap();
            let pending = sampler.info(Language::ENGLISH, Definitions::None);
            let opening = match dead.contains(&number) {
                true => Opening::Pending(pending),
                false => Opening::Done(pending.wait(GUARD).unwrap().unwrap()),
            };
            let sampler = match &opening {
                Opening::Done(info) if number == 0 => {
                    query_and_options = Some((Query::over(info.clone()), Options::live(sampler)));
                    None
                }
                _ => Some(sampler),
            };
            live.push(LiveHost { name: format!("web{}", number + 1), sampler, opening });
            hosts.push(Host { script, gate });
        }
        let (query, mut options) = query_and_options.unwrap();
        options.hosts = live;
        options.paths = paths.iter().map(|path| (*path).to_string()).collect();
        (options.glyphs, options.colours) = (Glyphs::Braille, Colours::Sixteen);
        change(&mut options);
        Machines { hosts, bench: Bench::of(App::new(query, options)) }
    }

    /// Takes rows; a machine that hangs costs each of them up to a second.
    fn run(&mut self, rows: u64) -> &mut Machines {
        for _ in 0..rows {
            self.bench.app.sample();
            for host in &self.hosts {
                host.script.step.set(host.script.step.get() + 1);
            }
        }
        self
    }

    fn last(&self, path: &str) -> Result<f64, NoValue> {
        let series = self.bench.app.monitor().series();
        let series = series.iter().find(|series| series.path == path).unwrap_or_else(|| panic!("{path}"));
        series.last.clone().map(|value| value.as_f64().unwrap())
    }

    fn is_stale(&self, path: &str) -> bool {
        self.bench.app.monitor().series().iter().find(|series| series.path == path).unwrap().stale
    }

    fn paths(&self) -> Vec<&str> {
        self.bench.app.monitor().series().iter().map(|series| series.path.as_str()).collect()
    }

    /// Takes rows until something holds.
    #[track_caller]
    fn until(&mut self, what: &str, mut holds: impl FnMut(&mut Machines) -> bool) {
        let begin = std::time::Instant::now();
        while !holds(self) {
            assert!(begin.elapsed() < GUARD, "{what}:\n{}", self.bench.screen());
            self.run(1);
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn on(host: &str, path: &str) -> String {
    format!(r"\\{host}{path}")
}

#[test]
fn machines_have_one_time_axis_and_values_over_all() {
    let fleet = Fleet { aggregates: vec![Aggregate::Sum, Aggregate::Max], top: None };
    let paths = [QUEUE, &on("web2", QUEUE), &on("web3", QUEUE)];
    let mut machines = Machines::new(3, &[], &paths, |options| options.fleet = fleet);
    for (host, queue) in machines.hosts.iter().zip([3, 4, 50]) {
        host.script.queue.set(Some(queue));
    }
    machines.run(3);
    let values = [QUEUE, &on("web2", QUEUE), &on("web3", QUEUE)].map(|path| machines.last(path));
    assert_eq!(values, [Ok(3.0), Ok(4.0), Ok(50.0)]);
    assert_eq!(machines.last(&on("_Fleet.sum", QUEUE)), Ok(57.0));
    assert_eq!(machines.last(&on("_Fleet.max", QUEUE)), Ok(50.0));
    let screen = machines.bench.screen();
    has(&screen, &["web1, web2, web3", "web3", "_Fleet.sum"]);
    assert_eq!(machines.bench.app.monitor().rows(), 0..3);
    // What is saved has the values of all machines, and those over all of them.
    let folder = crate::log::Folder::new("machines");
    for ending in ["tally", "csv"] {
        let file = folder.0.join(format!("saved.{ending}"));
        machines.bench.types("w");
        for _ in 0..60 {
            machines.bench.key(KeyCode::Backspace);
        }
        machines.bench.types(&file.to_string_lossy()).key(KeyCode::Enter);
        let mut reader = tallymon::log::open(&file, &tallymon::log::ReadOptions::default()).unwrap();
        let mut last: Vec<Sample> = Vec::new();
        while let Some(record) = reader.next_record().unwrap() {
            last = record.cells.iter().map(|cell| *cell.as_ref().unwrap()).collect();
        }
        let values: Vec<f64> = last
            .iter()
            .map(|sample| match sample.counter_type {
                CounterType::PERF_DOUBLE_RAW => f64::from_bits(sample.first),
                _ => sample.first as f64,
            })
            .collect();
        assert_eq!(values, [3.0, 4.0, 50.0, 57.0, 50.0], "{ending}");
    }
    // A counter of one machine is added and removed like any other.
    machines.bench.types("p").types(&on("web2", BUSY)).key(KeyCode::Enter);
    machines.run(1);
    assert!(machines.last(&on("web2", BUSY)).is_ok());
    let is_asked = |machines: &Machines, host: usize| {
        let request = machines.hosts[host].script.sampled.lock().to_string();
        request.split(' ').any(|object| object == "238")
    };
    assert!(is_asked(&machines, 1) && !is_asked(&machines, 2));
    while machines.bench.app.monitor().series().iter().any(|series| series.path == on("web2", BUSY)) {
        machines.bench.key(KeyCode::Delete);
    }
    machines.run(1);
    assert!(!is_asked(&machines, 1));
}

#[test]
fn instances_with_the_same_id_on_two_machines_are_two_series() {
    let path = r"\Process(myapp*)\Working Set";
    let mut machines = Machines::new(2, &[], &[path, &on("web2", path)], |_| ());
    for host in &machines.hosts {
        host.script.ids.set(vec![4711, -1]);
    }
    machines.run(3);
    let instance = r"\Process(myapp)\Working Set";
    assert!(machines.last(instance).is_ok() && machines.last(&on("web2", instance)).is_ok());
    // One of them ends, and the other goes on.
    *machines.hosts[0].script.processes.lock() = vec!["_Total"];
    machines.run(1);
    assert_eq!(machines.last(instance), Err(NoValue::NoInstance));
    assert!(machines.last(&on("web2", instance)).is_ok());
}

#[test]
fn a_machine_that_hangs_has_its_last_values_and_delays_nobody() {
    let mut machines = Machines::new(3, &[], &[QUEUE, &on("web2", QUEUE), &on("web3", QUEUE)], |_| ());
    machines.run(2);
    let other = on("web2", QUEUE);
    machines.hosts[1].gate.close(true);
    machines.hosts[1].script.queue.set(Some(7));
    machines.run(1);
    assert!(machines.is_stale(&other), "{}", machines.bench.screen());
    // The rows that follow do not wait for it.
    let begin = std::time::Instant::now();
    machines.run(20);
    assert!(begin.elapsed() < Duration::from_secs(15), "{:?}", begin.elapsed());
    assert!(!machines.is_stale(QUEUE) && machines.is_stale(&other));
    std::thread::sleep(Duration::from_secs(2));
    machines.bench.key(KeyCode::Down);
    has(&machines.bench.screen(), &["web2: no answer for ", "these are its last values", "⚠"]);
    machines.bench.types("I");
    has(&machines.bench.screen(), &["all hosts: 2 / 3", "late", "web3"]);
    machines.hosts[1].gate.close(false);
    machines.until("it answers again", |machines| !machines.is_stale(&other));
    assert_eq!(machines.last(&other), Ok(7.0));
    machines.run(1);
    has(&machines.bench.screen(), &["all hosts: 3 / 3"]);
}

#[test]
fn a_machine_that_fails_is_left_alone_and_comes_back() {
    let mut machines = Machines::new(2, &[], &[QUEUE, &on("web2", QUEUE)], |_| ());
    machines.run(2);
    let refused = SourceError::new(SourceErrorKind::Unreachable, "web2: connection refused");
    machines.hosts[1].script.failure.set(Some(refused));
    machines.run(1);
    assert_eq!(machines.last(&on("web2", QUEUE)), Err(NoValue::NoMachine));
    let asked = machines.hosts[1].script.snapshots.get();
    machines.run(5);
    // A second has not passed, so it was not asked again; at most once on a slow machine.
    assert!(machines.hosts[1].script.snapshots.get() <= asked + 1);
    machines.bench.key(KeyCode::Down);
    has(&machines.bench.screen(), &["web2: connection refused", "retry in", "the last values are"]);
    machines.bench.types("I");
    machines.run(1);
    has(&machines.bench.screen(), &["all hosts: 1 / 2", "failed"]);
    machines.hosts[1].script.failure.set(None);
    machines.until("it answers again", |machines| machines.last(&on("web2", QUEUE)).is_ok());
    machines.run(1);
    has(&machines.bench.screen(), &["all hosts: 2 / 2"]);
}

/// A new query without the removed counter takes over, with other handles.
#[test]
fn a_counter_that_is_removed_changes_no_other_line() {
    let other = on("web2", QUEUE);
    let mut machines = Machines::new(2, &[], &[BUSY, QUEUE, &other], |_| ());
    machines.run(3);
    assert_eq!(machines.paths(), [BUSY, QUEUE, &other]);
    machines.bench.key(KeyCode::Delete);
    for row in 0..4 {
        machines.run(1);
        assert_eq!(machines.paths(), [QUEUE, &other], "row {row}");
        assert!(machines.last(QUEUE).is_ok() && machines.last(&other).is_ok(), "row {row}");
    }
}

#[test]
fn a_machine_that_fails_brings_no_removed_line_back() {
    let (wild, queue) = (on("web2", r"\Process(myapp*)\Working Set"), on("web2", QUEUE));
    let instance = on("web2", r"\Process(myapp)\Working Set");
    let mut machines = Machines::new(2, &[], &[&wild, &queue], |_| ());
    machines.hosts[1].script.ids.set(vec![4711, -1]);
    machines.until("both are there", |machines| machines.paths() == [&instance, &queue]);
    let refused = SourceError::new(SourceErrorKind::Unreachable, "web2: connection refused");
    machines.hosts[1].script.failure.set(Some(refused));
    let gone = Err(NoValue::NoMachine);
    machines.until("it has failed", |machines| machines.last(&instance) == gone);
    machines.bench.key(KeyCode::Delete);
    machines.run(2);
    assert_eq!(machines.paths(), [&queue]);
    // Undo: the line has a gap for the reason of its machine, its instance has not ended.
    machines.bench.app.event(&Event::Key(KeyEvent::new(KeyCode::Char('z'), KeyModifiers::CONTROL)));
    machines.run(1);
    assert_eq!((machines.last(&instance), machines.last(&queue)), (gone, gone));
    machines.bench.types("e");
    machines.run(2);
    assert_eq!(machines.paths(), [""; 0]);
}

/// Nothing is sampled while a log is shown: then no value from before it is one of now.
#[test]
fn after_a_log_all_machines_begin_again() {
    let other = on("web2", QUEUE);
    let mut machines = Machines::new(2, &[], &[QUEUE, &other], |_| ());
    machines.until("it answers", |machines| machines.paths().len() == 2);
    let folder = crate::log::Folder::new("machines-log");
    machines.bench.types("w");
    for _ in 0..60 {
        machines.bench.key(KeyCode::Backspace);
    }
    let file = folder.file("saved.tally");
    machines.bench.types(&file).key(KeyCode::Enter);
    machines.bench.types("O").types(&file).key(KeyCode::Enter);
    has(&machines.bench.screen(), &["LOG", "saved.tally"]);
    machines.hosts[1].gate.close(true);
    machines.bench.app.event(&Event::Key(KeyEvent::new(KeyCode::Char('t'), KeyModifiers::CONTROL)));
    machines.run(1);
    assert!(machines.last(QUEUE).is_ok());
    assert_eq!(machines.last(&other), Err(NoValue::NoData(Absence::ReadFailed)));
    machines.hosts[1].gate.close(false);
    machines.until("it answers again", |machines| machines.last(&other).is_ok());
}

/// The first machine is no more than the others: without it, they go on at their pace.
#[test]
fn the_first_machine_may_fail_too() {
    let mut machines = Machines::new(2, &[], &[QUEUE, &on("web2", QUEUE)], |_| ());
    machines.run(2);
    let gone = SourceError::new(SourceErrorKind::Unreachable, "web1: gone");
    machines.hosts[0].script.failure.set(Some(gone));
    machines.hosts[1].script.queue.set(Some(9));
    machines.run(3);
    assert_eq!(machines.last(QUEUE), Err(NoValue::NoMachine));
    assert_eq!(machines.last(&on("web2", QUEUE)), Ok(9.0));
    assert_eq!(machines.bench.app.pause(), Duration::from_secs(1));
    machines.hosts[0].script.failure.set(None);
    machines.until("it answers again", |machines| machines.last(QUEUE).is_ok());
}

#[test]
fn a_machine_that_answers_late_gets_its_counters_then() {
    let path = on("web2", QUEUE);
    let mut machines = Machines::new(2, &[1], &[QUEUE, &path], |options| options.overview = true);
    machines.run(2);
    has(&machines.bench.screen(), &["all hosts: 1 / 2", "web2", "connecting"]);
    // Its overview says why there is none.
    machines.bench.key(KeyCode::Down).key(KeyCode::Enter);
    has(&machines.bench.screen(), &["web2 has not answered yet", "all hosts"]);
    machines.hosts[1].gate.close(false);
    machines.until("it has answered", |machines| {
        machines.bench.app.monitor().series().iter().any(|series| series.path == path && series.last.is_ok())
    });
    machines.run(2);
    has(&machines.bench.screen(), &["all hosts: 2 / 2"]);
    // Enter opens the overview of that host, Esc leads back.
    machines.bench.key(KeyCode::Enter);
    machines.run(2);
    let screen = machines.bench.screen();
    has(&screen, &["─ web2 ", "Processors", "myapp"]);
    machines.bench.key(KeyCode::Esc);
    has(&machines.bench.screen(), &["all hosts: 2 / 2"]);
    // The page is sorted and filtered.
    machines.bench.types("s");
    has(&machines.bench.screen(), &["sorted by State"]);
    machines.bench.types("/web2").key(KeyCode::Enter);
    let screen = machines.bench.screen();
    has(&screen, &["all hosts: 1 / 1", "/web2"]);
    machines.bench.key(KeyCode::Esc);
    has(&machines.bench.screen(), &["all hosts: 2 / 2"]);
}

#[test]
fn a_path_whose_object_can_not_be_defined_is_reported() {
    let path = on("web2", r"\Kernel\Version");
    let mut machines = Machines::new(2, &[], &[QUEUE, &path], |_| ());
    machines.until("the path is reported", |machines| {
        machines.bench.screen().contains("the provider of this object does not answer")
    });
    machines.run(2);
    assert_eq!(machines.last(QUEUE).map(|_| ()), Ok(()));
}
