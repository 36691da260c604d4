//! Tests: a program that knows `metrics` only, read through a query.
#![cfg(any(target_os = "linux", windows))]
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use metrics::{Unit, counter, describe_counter, describe_histogram, gauge, histogram, with_local_recorder};
use tallymon::core::flow::{NoValue, Value};
use tallymon::core::title::Language;
use tallymon::{Host, Query};
use tallymon_host::Publishers;
use tallymon_metrics::Recorder;
use tallymon_provider::shm::Reader;
use tallymon_testkit::Scratch;

fn query(directory: &Path) -> Query {
    let publishers = Publishers::of(Reader::new([directory.to_path_buf()]), []);
    Query::new(Box::new(Host::of("here", vec![Box::new(publishers)])), Language::ENGLISH).unwrap()
}

/// The last raw number and the value of a path.
fn read(query: &mut Query, path: &str) -> (u64, Result<Value, NoValue>) {
    let handle = query.add(path).unwrap_or_else(|error| panic!("{error:?}"));
    query.collect().unwrap();
    let reading = query.readings_of(handle).into_iter().next().unwrap();
    (reading.cell.sample.unwrap().first, reading.cell.value)
}

#[test]
fn every_kind_arrives_with_its_labels() {
    let scratch = Scratch::new();
    let recorder = Recorder::in_directory("shop", scratch.to_path_buf());
    with_local_recorder(&recorder, || {
        describe_counter!("orders", Unit::Count, "Orders that were paid.");
        describe_histogram!("basket", Unit::Bytes, "How large baskets are.");
        describe_histogram!("ping", Unit::Milliseconds, "Answers of the bank.");
        counter!("orders", "kind" => "book", "size" => "A4").increment(3);
        counter!("orders", "kind" => "book", "size" => "A4").increment(4);
        counter!("orders").absolute(100);
        counter!("orders").absolute(50);
        gauge!("basket_value").set(20.5);
        gauge!("basket_value").decrement(1.25);
        histogram!("checkout_seconds").record(0.25);
        histogram!("ping").record(4.0);
        (1..=100).for_each(|n| histogram!("basket").record(n));
    });
    let mut query = query(&scratch);
    assert_eq!(read(&mut query, r"\shop orders(kind=book,size=A4)\Count/sec").0, 7);
    assert_eq!(read(&mut query, r"\shop orders(unlabelled)\Count/sec").0, 100);
    let object = query.catalog().objects().iter().find(|one| query.names().name(one.name) == "shop orders");
    assert_eq!(query.names().help(object.unwrap().help), Some("Orders that were paid."));
    assert_eq!(read(&mut query, r"\shop basket_value(unlabelled)\Value").1, Ok(Value::Number(19.25)));
    for (path, wanted) in [
        (r"\shop checkout_seconds(unlabelled)\Time (50 %)", 2_500_000),
        (r"\shop ping(unlabelled)\Time (50 %)", 40_000),
        (r"\shop basket(unlabelled)\Value (90 %)", 90),
    ] {
        let (raw, _) = read(&mut query, path);
        assert!(raw.abs_diff(wanted) * 100 <= wanted * 4, "{path}: {raw}");
    }
    assert_eq!(read(&mut query, r"\shop basket(unlabelled)\Value (count)").0, 100);
    assert_eq!(recorder.faults(), Vec::<String>::new());
}

#[test]
fn nothing_is_lost_between_threads() {
    let scratch = Scratch::new();
    let recorder = Recorder::in_directory("mill", scratch.to_path_buf());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                with_local_recorder(&recorder, || {
                    for _ in 0..10_000 {
                        counter!("grains").increment(1);
                        gauge!("level").increment(1.0);
                        histogram!("sizes").record(5.0);
                    }
                });
            });
        }
    });
    let mut query = query(&scratch);
    assert_eq!(read(&mut query, r"\mill grains(unlabelled)\Count/sec").0, 40_000);
    assert_eq!(read(&mut query, r"\mill level(unlabelled)\Value").1, Ok(Value::Number(40_000.0)));
    assert_eq!(read(&mut query, r"\mill sizes(unlabelled)\Value (count)").0, 40_000);
}

#[test]
fn faults_report_what_could_not_be_published() {
    let scratch = Scratch::new();
    let recorder = Recorder::in_directory(r"a\b", scratch.to_path_buf());
    with_local_recorder(&recorder, || {
        counter!("twice").increment(1);
        gauge!("twice").set(1.0);
        counter!("path", "url" => r"\a/b(c)").increment(1);
        counter!("long", "text" => "ä".repeat(300)).increment(1);
        counter!("").increment(1);
    });
    let faults = recorder.faults();
    assert!(faults.len() == 1 && faults[0].contains("the same name is that of a counter"), "{faults:?}");
    assert_eq!(read(&mut query(&scratch), r"\a_b path(url=_a_b_c_)\Count/sec").0, 1);

    let file = std::env::current_exe().unwrap();
    let recorder = Recorder::in_directory("nowhere", file);
    with_local_recorder(&recorder, || counter!("orders").increment(1));
    assert_eq!(recorder.faults().len(), 1);
}

#[test]
fn program_appears_and_disappears() {
    let scratch = Scratch::new();
    // Examples are built with the tests, beside them.
    let program = std::env::current_exe().unwrap().parent().unwrap().with_file_name("examples").join("shop");
    let mut shop = Command::new(program);
    let mut shop = shop.env("TALLYMON_ROOT", &scratch).stdin(Stdio::piped()).spawn().unwrap();
    let path = r"\shop orders(kind=book)\Count/sec";
    let start = Instant::now();
    let raw = |wanted: fn(Option<u64>) -> bool| loop {
        let mut query = query(&scratch.join("pub"));
        let handle = query.add(path);
        query.collect().unwrap();
        let readings = handle.map(|handle| query.readings_of(handle)).unwrap_or_default();
        let sample = readings.into_iter().next().and_then(|reading| reading.cell.sample);
        let first = sample.map(|sample| sample.first);
        if wanted(first) {
            return first;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "waited in vain, {first:?}");
        thread::sleep(Duration::from_millis(10));
    };
    let before = raw(|raw| raw > Some(0));
    assert!(raw(|raw| raw > Some(10)) > before);
    drop(shop.stdin.take());
    assert!(shop.wait().unwrap().success());
    assert_eq!(raw(|raw| raw.is_none()), None);
}
