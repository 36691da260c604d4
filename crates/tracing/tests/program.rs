//! Tests: a program that knows `tracing` only, read through a query.
#![cfg(any(target_os = "linux", windows))]
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tallymon::core::flow::{NoValue, Value};
use tallymon::core::title::Language;
use tallymon::{Host, Query, Reading};
use tallymon_host::Publishers;
use tallymon_provider::shm::Reader;
use tallymon_testkit::Scratch;
use tallymon_tracing::Layer;
use tracing::subscriber::with_default;
use tracing::{Instrument, debug, error, info, info_span, instrument, warn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::Registry;

fn query(directory: &Path) -> Query {
    let publishers = Publishers::of(Reader::new([directory.to_path_buf()]), []);
    Query::new(Box::new(Host::of("here", vec![Box::new(publishers)])), Language::ENGLISH).unwrap()
}

/// The last raw numbers, and the values, of some paths after two samples with `between` between them.
fn read(directory: &Path, paths: &[&str], between: impl FnOnce()) -> Vec<(u64, Result<Value, NoValue>)> {
    let mut query = query(directory);
    let handles: Vec<_> =
        paths.iter().map(|path| query.add(path).unwrap_or_else(|e| panic!("{e:?}"))).collect();
    query.collect().unwrap();
    between();
    query.collect().unwrap();
    let readings = handles.iter().map(|handle| query.readings_of(*handle).into_iter().next().unwrap());
    let raw = |reading: &Reading| reading.cell.sample.as_ref().map_or(0, |sample| sample.first);
    readings.map(|reading| (raw(&reading), reading.cell.value)).collect()
}

#[instrument]
fn checkout(basket: u32) {
    thread::sleep(Duration::from_millis(20));
    if basket > 2 {
        warn!(basket, "a large one");
    }
}

#[test]
fn spans_become_timers_and_rates() {
    let scratch = Scratch::new();
    let registry = Registry::default().with(Layer::in_directory("shop", &scratch).unwrap());
    with_default(registry, || {
        checkout(1);
        let place = r"\shop Spans(program::checkout)";
        let counters = ["Spans/sec", "Open Spans", "Avg. sec/Span", "Avg. Busy sec/Span"];
        let mut paths: Vec<String> = counters.iter().map(|counter| format!(r"{place}\{counter}")).collect();
        paths.extend([r"\shop Events(WARN)\Events/sec", r"\shop Events(ERROR)\Events/sec"].map(String::from));
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let start = Instant::now();
        let found = read(&scratch, &paths, || (2..5).for_each(checkout));
        let most = start.elapsed().as_secs_f64() / 3.0;
        let [spans, open, time, busy, warnings, errors] = &found[..] else { panic!("{found:?}") };
        assert_eq!((spans.0, open.0, warnings.0, errors.0), (4, 0, 2, 0));
        let time = time.1.clone().unwrap().as_f64().unwrap();
        let busy = busy.1.clone().unwrap().as_f64().unwrap();
        assert!(0.02 <= busy && busy <= time && time <= most, "{busy} {time} {most}");
        let rate = spans.1.clone().unwrap().as_f64().unwrap();
        assert!(rate > 0.0 && rate <= 3.0 / 0.06, "{rate}");
    });
}

#[test]
fn time_outside_of_a_span_is_not_busy() {
    let scratch = Scratch::new();
    let registry = Registry::default().with(Layer::in_directory("mill", &scratch).unwrap());
    with_default(registry, || {
        let span = info_span!("grind");
        let open = read(&scratch, &[r"\mill Spans(program::grind)\Open Spans"], || ());
        assert_eq!(open[0].0, 1);
        thread::sleep(Duration::from_millis(30));
        span.in_scope(|| span.in_scope(|| info!("twice inside")));
        drop(span);
        let paths = ["Open Spans", "Avg. sec/Span", "Avg. Busy sec/Span"];
        let paths = paths.map(|counter| format!(r"\mill Spans(program::grind)\{counter}"));
        let found = read(&scratch, &paths.each_ref().map(String::as_str), || ());
        assert_eq!(found[0].0, 0);
        assert!(found[1].0 >= 300_000 && found[2].0 <= found[1].0 - 300_000, "{found:?}");
    });
}

#[test]
fn many_threads_lose_nothing() {
    let scratch = Scratch::new();
    let registry = Registry::default().with(Layer::in_directory("many", &scratch).unwrap());
    let dispatch = tracing::Dispatch::new(registry);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                tracing::dispatcher::with_default(&dispatch, || {
                    for _ in 0..5_000 {
                        let _span = info_span!("turn").entered();
                        debug!("turned");
                        error!("nothing is wrong");
                    }
                });
            });
        }
    });
    let paths = [
        r"\many Spans(program::turn)\Spans/sec",
        r"\many Spans(program::turn)\Open Spans",
        r"\many Events(DEBUG)\Events/sec",
        r"\many Events(ERROR)\Events/sec",
    ];
    let found: Vec<u64> = read(&scratch, &paths, || ()).iter().map(|(raw, _)| *raw).collect();
    assert_eq!(found, [20_000, 0, 20_000, 20_000]);
}

#[test]
fn a_future_is_busy_when_it_is_polled() {
    let scratch = Scratch::new();
    let registry = Registry::default().with(Layer::in_directory("future", &scratch).unwrap());
    with_default(registry, || {
        let mut times = 0;
        let future = std::future::poll_fn(|context| {
            times += 1;
            context.waker().wake_by_ref();
            if times < 5 { std::task::Poll::Pending } else { std::task::Poll::Ready(()) }
        });
        let mut future = Box::pin(future.instrument(info_span!("wait (long)")));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        while future.as_mut().poll(&mut context).is_pending() {
            thread::sleep(Duration::from_millis(5));
        }
        drop(future);
        let counters = ["Spans/sec", "Avg. sec/Span", "Avg. Busy sec/Span"];
        let paths = counters.map(|counter| format!(r"\future Spans(program::wait _long_)\{counter}"));
        let found = read(&scratch, &paths.each_ref().map(String::as_str), || ());
        assert_eq!(found[0].0, 1);
        assert!(found[1].0 >= 200_000 && found[2].0 <= found[1].0 - 200_000, "{found:?}");
    });
}

#[test]
fn one_line_in_main_is_enough() {
    let scratch = Scratch::new();
    // Examples are built with the tests, beside them.
    let program = std::env::current_exe().unwrap().parent().unwrap().with_file_name("examples").join("bank");
    let mut bank = Command::new(program);
    let mut bank = bank.env("TALLYMON_ROOT", &scratch).stdin(Stdio::piped()).spawn().unwrap();
    let directory = scratch.join("pub");
    let paths = [r"\bank Spans(bank::pay)\Spans/sec", r"\bank Spans(bank::pay)\Avg. sec/Span"];
    let start = Instant::now();
    let is_there = || paths.iter().all(|path| query(&directory).check(path).is_ok());
    while !is_there() {
        assert!(start.elapsed() < Duration::from_secs(60), "it publishes nothing");
        thread::sleep(Duration::from_millis(10));
    }
    // The first sample may be older than the first span.
    let time = loop {
        let found = read(&directory, &paths, || thread::sleep(Duration::from_millis(100)));
        match &found[1].1 {
            Ok(time) => break time.as_f64().unwrap(),
            Err(why) => assert!(start.elapsed() < Duration::from_secs(60), "no span ended: {why:?}"),
        }
    };
    assert!(time >= 0.005, "{time}");
    drop(bank.stdin.take());
    assert!(bank.wait().unwrap().success());
    assert!(!is_there());
}
