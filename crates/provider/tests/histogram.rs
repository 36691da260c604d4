//! Histograms and fractions, and what is said about them in several languages.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails is to panic")]

use std::time::Duration;

use tallymon_core::title::Language;
use tallymon_provider::CounterType;
use tallymon_provider::shm::{
    CounterSet, DeclareError, HistogramShape, NewInstance, PublishError, Publisher,
};

mod common;
use common::{Scratch, number};

fn meals() -> CounterSet {
    CounterSet::new("Meals")
        .instances()
        .histogram("Weight", &HistogramShape::default())
        .name_in(Language::GERMAN, "Gewicht")
        .help("What was eaten.")
        .unit("kg")
        .scale(-1)
        .fraction("Full")
        .unit_in(Language::GERMAN, "Anteil")
        .hits("Liked")
        .histogram_time(
            "Duration",
            &HistogramShape { percentiles: vec![12_345], ..HistogramShape::default() },
        )
}

#[test]
fn a_histogram_is_an_average_a_count_and_percentiles() {
    let scratch = Scratch::new("histogram");
    let publisher = Publisher::start_in(&scratch.0, "meals", &[meals()]).unwrap();
    let ada = publisher.instance("Meals", &NewInstance { name: "Ada", ..NewInstance::default() }).unwrap();
    let mut weight = ada.histogram("weight").unwrap();
    let mut durations = ada.histogram("Duration").unwrap();
    for value in 1..=1000 {
        weight.record(value);
    }
    durations.record_time(Duration::from_millis(3));
    ada.average("Full").unwrap().set(3, 4);
    let mut liked = ada.average("Liked").unwrap();
    [true, false, true].into_iter().for_each(|hit| liked.record_hit(hit));
    assert_eq!(weight.count(), 1000);

    let mut reader = scratch.reader();
    reader.scan();
    assert!(reader.refusals().is_empty(), "{:?}", reader.refusals());
    let publication = &mut reader.publications_mut()[0];
    let object = &publication.objects()[0];
    let names: Vec<&str> = object.counters.iter().map(|counter| counter.english()).collect();
    let expected = ["Weight", "Weight", "Weight (count)", "Weight (50 %)", "Weight (90 %)", "Weight (99 %)"];
    assert_eq!(names[..6], expected);
    assert_eq!(names[6..9], ["Weight (99.9 %)", "Full", "Full"]);
    assert_eq!(names[11..], ["Duration", "Duration", "Duration (count)", "Duration (12.345 %)"]);
    assert_eq!(object.counters[6].texts[1].name, "Gewicht (99.9 %)");
    assert_eq!((&*object.counters[6].texts[0].help, object.counters[6].scale), ("What was eaten.", -1));
    let units = [0, 2, 3].map(|at| object.counters[at].texts[0].unit.as_str());
    assert_eq!(units, ["kg", "", "kg"]);
    assert_eq!(object.counters[7].texts[1].unit, "Anteil");

    let instance = publication.instances(0).next().unwrap();
    assert_eq!([0, 1, 2].map(|at| number(instance, at)), [500_500, 1000, 1000]);
    for (at, exact) in [(3, 500u64), (4, 900), (5, 990), (6, 999)] {
        assert!(number(instance, at).abs_diff(exact) <= exact * 3 / 100, "{at}: {}", number(instance, at));
    }
    assert_eq!([7, 8, 9, 10].map(|at| number(instance, at)), [3, 4, 2, 3]);
    assert_eq!([11, 12, 13].map(|at| number(instance, at)), [30_000, 1, 1]);
    assert!(number(instance, 14).abs_diff(30_000) <= 900);
}

#[test]
fn a_histogram_has_one_writer_and_is_nothing_else() {
    let scratch = Scratch::new("writer");
    let publisher = Publisher::start_in(&scratch.0, "meals", &[meals()]).unwrap();
    let ada = publisher.instance("Meals", &NewInstance { name: "Ada", ..NewInstance::default() }).unwrap();
    let weight = ada.histogram("Weight").unwrap();
    assert!(matches!(ada.histogram("Weight"), Err(PublishError::Taken { .. })));
    assert!(matches!(ada.average("Weight"), Err(PublishError::Taken { .. })));
    drop(weight);
    assert!(ada.histogram("Weight").is_ok());
    for name in ["Full", "Weight (count)"] {
        assert!(matches!(ada.histogram(name), Err(PublishError::WrongKind { .. })), "{name}");
    }
    assert!(matches!(ada.counter("Weight (50 %)"), Err(PublishError::WrongKind { .. })));
}

#[test]
fn wrong_histograms_say_what_is_wrong() {
    let shape = |percentiles| HistogramShape { percentiles, ..HistogramShape::default() };
    let default = HistogramShape::default();
    let kind = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
    for (set, words) in [
        (CounterSet::new("A").histogram("H", &shape(vec![0])), "1 to 100000"),
        (CounterSet::new("A").histogram("H", &shape(vec![100_001])), "1 to 100000"),
        (CounterSet::new("A").histogram("H", &shape(vec![1; 9])), "at most 8"),
        (CounterSet::new("A").together(|set| set.histogram("H", &default)), "in a group"),
        (CounterSet::new("A").histogram("H", &shape(vec![5, 5])), "declared twice"),
        (CounterSet::new("A").histogram("H", &default).counter("H (count)", kind), "declared twice"),
    ] {
        let error: DeclareError = set.check().unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    let wide = HistogramShape { bits: 9, most: u64::MAX, percentiles: Vec::new() };
    assert!(CounterSet::new("A").histogram("H", &wide).check().is_ok());
}
