//! The sampler over sources that are slow, that hang, that fail and that come back. A gate decides when a
//! source answers, so that no test depends on a time.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use tallymon_core::block::{BlockWriter, Snapshot, WriteHeader};
use tallymon_core::flow::{Source, SourceError, SourceErrorKind};
use tallymon_core::request::{Interest, Request, RequestKind};
use tallymon_core::time::{FileTime, Frequency, PerfTime};
use tallymon_core::title::{Language, TitleIndex, Titles};

use super::{Listener, Sampler, Tick};
use crate::query::Query;
use crate::source_info::Definitions;

const MINUTE: Duration = Duration::from_secs(60);

/// An answer of the fake source: at a time, or a failure.
type Step = Result<u64, SourceErrorKind>;

/// Answers a request for objects when a test says so, and notes what it was asked for.
struct Gate {
    steps: Receiver<Step>,
    requests: Sender<Request>,
    returned: Sender<FileTime>,
}

/// The test's side of a [`Gate`].
struct Control {
    steps: Sender<Step>,
    requests: Receiver<Request>,
    returned: Receiver<FileTime>,
}

/// A block of a time, without objects.
pub(crate) fn block(time: u64) -> Snapshot {
    let mut bytes = Vec::new();
    let header = WriteHeader {
        system_name: "one",
        default_object: -1,
        perf_time: PerfTime(0),
        perf_freq: Frequency(1),
        perf_time_100ns: FileTime(time),
        system_time: FileTime(time),
    };
    BlockWriter::growing(&mut bytes, &header).finish().unwrap();
    Snapshot::new(bytes).unwrap()
}

impl Source for Gate {
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        if matches!(request.kind, RequestKind::Metadata { .. }) {
            return Ok(block(0));
        }
        self.requests.send(request.clone()).ok();
        match self.steps.recv() {
            Ok(Ok(time)) => Ok(block(time)),
            Ok(Err(kind)) => Err(SourceError::new(kind, "as the test wants")),
            Err(_) => Err(SourceError::new(SourceErrorKind::Io, "the test is over")),
        }
    }

    fn give_back(&mut self, snapshot: Snapshot) {
        self.returned.send(snapshot.header().perf_time_100ns).ok();
    }

    fn titles(&mut self, _language: Language) -> Result<Titles, SourceError> {
        Ok(Titles::new())
    }
}

fn sampler() -> (Sampler, Control) {
    let (steps, next) = channel();
    let (asks, requests) = channel();
    let (returns, returned) = channel();
    let mut gate = Some(Gate { steps: next, requests: asks, returned: returns });
    let open = move || {
        let gate = gate.take().ok_or_else(|| SourceError::new(SourceErrorKind::NotFound, "opened twice"))?;
        Ok(Box::new(gate) as Box<dyn Source>)
    };
    (Sampler::start(open).unwrap(), Control { steps, requests, returned })
}

/// One counter of an object.
fn one(object: u32, counter: u32) -> Request {
    let mut interest = Interest::everything();
    interest.add(TitleIndex(object), TitleIndex(counter));
    Request::objects([TitleIndex(object)]).with_interest(interest)
}

fn listener(sampler: &Sampler, request: Request) -> Listener {
    let listener = sampler.listener();
    listener.want(request);
    listener
}

fn time(tick: &Tick, listener: &Listener) -> Option<u64> {
    tick.of(listener).map(|result| result.unwrap().header().perf_time_100ns.0)
}

#[test]
fn all_listeners_share_one_snapshot_of_the_union() {
    let (mut sampler, control) = sampler();
    let (chart, table) = (listener(&sampler, one(230, 6)), listener(&sampler, one(238, 6)));
    let silent = sampler.listener();
    control.steps.send(Ok(7)).unwrap();
    assert!(sampler.tick());
    let tick = sampler.poll(MINUTE).unwrap();
    assert!(tick.is_row && tick.time == FileTime(7));
    assert_eq!((time(&tick, &chart), time(&tick, &table)), (Some(7), Some(7)));
    assert!(tick.of(&silent).is_none(), "it wants nothing yet");
    assert_eq!(control.requests.try_iter().collect::<Vec<_>>(), [one(230, 6).union(&one(238, 6)).unwrap()]);

    // What a listener wanted is not read after it is gone.
    drop(table);
    control.steps.send(Ok(8)).unwrap();
    sampler.tick();
    assert_eq!(time(&sampler.poll(MINUTE).unwrap(), &chart), Some(8));
    assert_eq!(control.requests.try_iter().collect::<Vec<_>>(), [one(230, 6)]);
}

#[test]
fn requests_that_no_query_string_unites_are_one_question_each() {
    let (mut sampler, control) = sampler();
    let all = listener(&sampler, Request::global());
    let some = listener(&sampler, one(230, 6));
    control.steps.send(Ok(1)).unwrap();
    control.steps.send(Ok(2)).unwrap();
    sampler.tick();
    let (first, second) = (sampler.poll(MINUTE).unwrap(), sampler.poll(MINUTE).unwrap());
    assert_eq!((time(&first, &all), time(&first, &some)), (Some(1), None));
    assert_eq!((time(&second, &all), time(&second, &some)), (None, Some(2)));
    assert!(!sampler.is_waiting());
}

#[test]
fn a_late_source_leaves_gaps_and_answers_in_the_end() {
    let (mut sampler, control) = sampler();
    let chart = listener(&sampler, one(230, 6));
    assert!(sampler.tick());
    assert!(sampler.poll(Duration::ZERO).is_none() && sampler.waits_for().is_some());
    assert!(!sampler.tick() && !sampler.tick(), "two gaps");
    control.steps.send(Ok(3)).unwrap();
    assert_eq!(time(&sampler.poll(MINUTE).unwrap(), &chart), Some(3));
    assert!(!sampler.is_waiting() && sampler.waits_for().is_none());
    assert_eq!(control.requests.try_iter().count(), 1, "gaps are not caught up");
    assert!(sampler.tick());
}

#[test]
fn a_source_that_never_answers_stops_nobody() {
    let (mut sampler, control) = sampler();
    let chart = listener(&sampler, one(230, 6));
    sampler.tick();
    assert_eq!(control.requests.recv_timeout(MINUTE), Ok(one(230, 6)));
    let info = sampler.info(Language::ENGLISH, Definitions::None);
    assert!(
        info.wait(Duration::ZERO).is_none()
            && sampler.instances(TitleIndex(2), crate::InstanceNames::Number).age() < MINUTE
    );
    // Listeners come, change and go meanwhile.
    let table = listener(&sampler, one(238, 6));
    table.prime();
    chart.want(one(4, 6));
    drop(table);
    assert!(!sampler.tick() && sampler.poll(Duration::ZERO).is_none());
}

#[test]
fn a_source_that_fails_says_why_and_may_come_back() {
    let (mut sampler, control) = sampler();
    let chart = listener(&sampler, one(230, 6));
    for step in [Err(SourceErrorKind::Unreachable), Ok(5), Err(SourceErrorKind::Io), Ok(6)] {
        control.steps.send(step).unwrap();
        assert!(sampler.tick());
        let tick = sampler.poll(MINUTE).unwrap();
        let result = tick.of(&chart).unwrap();
        assert_eq!(
            result.map(|snapshot| snapshot.header().perf_time_100ns.0).map_err(|error| error.kind),
            step
        );
    }
}

#[test]
fn a_source_that_does_not_open_is_tried_again() {
    let mut tries = 0;
    let (returned, _) = channel();
    let open = move || {
        tries += 1;
        if tries < 3 {
            return Err(SourceError::new(SourceErrorKind::AccessDenied, "not yet"));
        }
        let (steps, next) = channel();
        steps.send(Ok(9)).unwrap();
        let gate = Gate { steps: next, requests: channel().0, returned: returned.clone() };
        Ok(Box::new(gate) as Box<dyn Source>)
    };
    let mut sampler = Sampler::start(open).unwrap();
    let chart = listener(&sampler, one(230, 6));
    let refused = sampler.info(Language::ENGLISH, Definitions::None).wait(MINUTE).unwrap().unwrap_err();
    assert_eq!(refused.kind, SourceErrorKind::AccessDenied);
    sampler.tick();
    assert!(sampler.poll(MINUTE).unwrap().result.is_err());
    sampler.tick();
    assert_eq!(time(&sampler.poll(MINUTE).unwrap(), &chart), Some(9));
}

#[test]
fn a_counter_added_while_a_row_is_awaited_is_in_that_row() {
    let (mut sampler, control) = sampler();
    let (chart, table) = (listener(&sampler, one(230, 6)), listener(&sampler, one(238, 6)));
    sampler.tick();
    control.requests.recv_timeout(MINUTE).unwrap();
    chart.want(one(230, 6).union(&one(4, 24)).unwrap());
    control.steps.send(Ok(1)).unwrap();
    let first = sampler.poll(MINUTE).unwrap();
    assert_eq!((time(&first, &chart), time(&first, &table)), (None, Some(1)));
    assert!(sampler.is_waiting() && !sampler.tick());
    control.steps.send(Ok(2)).unwrap();
    let second = sampler.poll(MINUTE).unwrap();
    assert!(second.is_row);
    assert_eq!((time(&second, &chart), time(&second, &table)), (Some(2), None));
    assert!(control.requests.try_iter().all(|request| !request.interest.wants_object(TitleIndex(238))));
    // Wanting less needs no question.
    chart.want(one(4, 24));
    control.steps.send(Ok(3)).unwrap();
    sampler.tick();
    assert_eq!(time(&sampler.poll(MINUTE).unwrap(), &chart), Some(3));
}

#[test]
fn a_first_sample_is_for_its_listener_only_and_asked_once() {
    let (mut sampler, control) = sampler();
    let (chart, table) = (listener(&sampler, one(230, 6)), listener(&sampler, one(238, 6)));
    table.prime();
    assert!(table.is_priming() && !chart.is_priming());
    control.requests.recv_timeout(MINUTE).unwrap();
    // It is on its way; what is wanted in the meantime comes by one more question.
    table.prime();
    table.want(one(238, 142));
    table.want(one(238, 144));
    table.prime();
    control.steps.send(Ok(1)).unwrap();
    control.steps.send(Ok(2)).unwrap();
    let tick = sampler.poll(MINUTE).unwrap();
    assert!(!tick.is_row && !sampler.is_waiting() && !table.is_priming());
    assert_eq!((time(&tick, &chart), time(&tick, &table)), (None, Some(2)));
    assert_eq!(control.requests.try_iter().collect::<Vec<_>>(), [one(238, 144)]);
    assert_eq!(control.returned.recv_timeout(MINUTE), Ok(FileTime(1)), "nobody could use it");
    table.prime();
    control.steps.send(Ok(3)).unwrap();
    assert_eq!(time(&sampler.poll(MINUTE).unwrap(), &table), Some(3));
}

#[test]
fn questions_that_nobody_waits_for_are_not_asked() {
    let (mut sampler, control) = sampler();
    let chart = listener(&sampler, one(230, 6));
    let table = listener(&sampler, one(238, 6));
    sampler.tick();
    control.requests.recv_timeout(MINUTE).unwrap();
    table.prime();
    drop(table);
    drop(sampler.instances(TitleIndex(2), crate::InstanceNames::Number));
    let kept = chart.instances(TitleIndex(4), crate::InstanceNames::Number);
    control.steps.send(Ok(1)).unwrap();
    control.steps.send(Ok(2)).unwrap();
    assert_eq!(time(&sampler.poll(MINUTE).unwrap(), &chart), Some(1));
    assert_eq!(kept.wait(MINUTE).unwrap().unwrap(), []);
    let asked: Vec<String> = control.requests.try_iter().map(|request| request.to_string()).collect();
    assert_eq!(asked, ["4"]);
}

#[test]
fn memory_goes_back_when_the_last_query_lets_go() {
    let (mut sampler, control) = sampler();
    let info = sampler.info(Language::ENGLISH, Definitions::None).wait(MINUTE).unwrap().unwrap();
    let mut queries = [Query::over(info.clone()), Query::over(info)];
    let chart = listener(&sampler, queries[0].request());
    for time in 1..=4 {
        control.steps.send(Ok(time)).unwrap();
        sampler.tick();
        let tick = sampler.poll(MINUTE).unwrap();
        for query in &mut queries {
            query.accept(tick.of(&chart).unwrap().unwrap().clone());
        }
    }
    // Each query keeps two samples.
    let returned = [(); 2].map(|()| control.returned.recv_timeout(MINUTE).unwrap().0);
    assert_eq!(returned, [1, 2]);
    assert!(control.returned.try_recv().is_err());
    let [mut query, _] = queries;
    assert_eq!(query.collect().unwrap_err().kind, SourceErrorKind::Unsupported);
}

/// A source whose thread dies.
struct Broken;

impl Source for Broken {
    fn snapshot(&mut self, _request: &Request) -> Result<Snapshot, SourceError> {
        panic!("as the test wants")
    }

    fn titles(&mut self, _language: Language) -> Result<Titles, SourceError> {
        Ok(Titles::new())
    }
}

#[test]
fn a_source_that_panics_ends_with_an_error() {
    let mut sampler = Sampler::start(|| Ok(Box::new(Broken) as Box<dyn Source>)).unwrap();
    let chart = listener(&sampler, one(230, 6));
    for _ in 0..2 {
        assert!(sampler.tick());
        let tick = sampler.poll(MINUTE).unwrap();
        assert_eq!(tick.of(&chart).unwrap().unwrap_err().kind, SourceErrorKind::Io);
    }
    assert!(sampler.info(Language::ENGLISH, Definitions::None).wait(MINUTE).unwrap().is_err());
}
