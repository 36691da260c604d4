//! Histograms and fractions, and what is said about them in several languages.
#![cfg(any(target_os = "linux", windows))]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails is to panic")]

use std::time::Duration;

use tallymon_core::title::Language;
use tallymon_provider::CounterType;
use tallymon_provider::shm::{
    CounterSet, DeclareError, HistogramShape, NewInstance, PublishError, Publisher,
};

mod common;
use common::{number, reader_of};
use tallymon_testkit::Scratch;

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
    let scratch = Scratch::new();
    let publisher = Publisher::start_in(&scratch, "meals", &[meals()]).unwrap();
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

    let mut reader = reader_of(&scratch);
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
fn histogram_has_one_writer_and_no_other_kind() {
    let scratch = Scratch::new();
    let publisher = Publisher::start_in(&scratch, "meals", &[meals()]).unwrap();
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

/// More threads than processors. `TALLYMON_INCREMENTS=756000000` is the long form: so many for each number of
/// lanes.
#[test]
fn no_value_of_a_shared_histogram_or_average_is_lost() {
    let asked = std::env::var("TALLYMON_INCREMENTS").ok().and_then(|number| number.parse::<u64>().ok());
    let each = asked.unwrap_or(800_000) / 8;
    let scratch = Scratch::new();
    // None is what a program gets that does not say how many; 64 do not go into the slot, and 11 do.
    for (lanes, n_instances) in [(Some(1), 1), (Some(2), 2), (Some(4), 1), (Some(64), 1), (None, 2)] {
        let shared = |set: CounterSet| match lanes {
            Some(lanes) => set.shared_lanes(lanes),
            None => set.shared(),
        };
        let set = shared(CounterSet::new("T").instances().histogram("H", &HistogramShape::default()));
        let set = shared(set.average("Alone")).average("Own").hits("Liked").text("Text", 8);
        let set =
            shared(shared(set.hits("Many Liked")).histogram_time("Duration", &HistogramShape::default()));
        let publisher = Publisher::start_in(&scratch, "shared", &[set]).unwrap();
        let instances: Vec<_> = (0..n_instances)
            .map(|n| {
                let name = format!("{n}");
                publisher.instance("T", &NewInstance { name: &name, ..NewInstance::default() }).unwrap()
            })
            .collect();
        for instance in &instances {
            let (histogram, durations) =
                (instance.shared_histogram("H").unwrap(), instance.shared_histogram("Duration").unwrap());
            let (average, liked) =
                (instance.shared_average("Alone").unwrap(), instance.shared_average("Many Liked").unwrap());
            instance.average("Own").unwrap().record(9);
            instance.text("Text").unwrap().set("there");
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    let (histogram, durations) = (histogram.clone(), durations.clone());
                    let (average, liked) = (average.clone(), liked.clone());
                    scope.spawn(move || {
                        (0..each).for_each(|n| histogram.record(n % 1000));
                        (0..each / 100).for_each(|n| {
                            durations.record_time(Duration::from_micros(n));
                            average.record(n);
                            liked.record_hit(n % 2 == 0);
                        });
                    });
                }
            });
            assert_eq!(histogram.count(), 8 * each, "{lanes:?}");
        }
        let mut reader = reader_of(&scratch);
        reader.scan();
        assert!(reader.refusals().is_empty(), "{:?}", reader.refusals());
        let publication = &reader.publications()[0];
        let positions = ["H", "H (count)", "H (50 %)", "Alone", "Many Liked", "Duration (count)", "Own"];
        let positions = positions.map(|name| publication.objects()[0].position(name).unwrap());
        let sum = |n: u64| n / 1000 * 499_500 + (0..n % 1000).sum::<u64>();
        for instance in publication.instances(0) {
            let seen = positions.map(|at| number(instance, at));
            let few = each / 100;
            let expected = [
                8 * sum(each),
                8 * each,
                seen[2],
                8 * (0..few).sum::<u64>(),
                8 * few.div_ceil(2),
                8 * few,
                9,
            ];
            assert_eq!(seen, expected, "{lanes:?}");
            assert!(seen[2].abs_diff(500) <= 16, "{lanes:?}: {}", seen[2]);
            // The bases, directly behind.
            let bases = [0, 3, 4, 6].map(|at: usize| number(instance, positions[at] + 1));
            assert_eq!(bases, [8 * each, 8 * few, 8 * few, 1], "{lanes:?}");
        }
    }
}

#[test]
fn handles_are_of_what_was_declared() {
    let scratch = Scratch::new();
    let shape = HistogramShape::default();
    let set = CounterSet::new("T").histogram("H", &shape).shared().average("A").shared();
    let set = set.histogram("Own H", &shape).average("Own A").counter("N", CounterType::PERF_COUNTER_COUNTER);
    let publisher = Publisher::start_in(&scratch, "kinds", &[set]).unwrap();
    publisher.keep_last_values();
    assert_eq!(std::fs::read(publisher.path()).unwrap()[8], 3, "the version stays the one that it needs");
    let single = publisher.single("T").unwrap();
    for name in ["H", "A", "Own H", "Own A", "N", "H (count)", "H (50 %)"] {
        // A histogram of one writer is claimed as long as there is a handle.
        let own_histogram = single.histogram(name).is_ok();
        let own_average = single.average(name).is_ok();
        let shared = [
            single.shared_histogram(name).is_ok(),
            single.shared_average(name).is_ok(),
            single.shared(name).is_ok(),
        ];
        let own = [own_histogram, own_average, single.counter(name).is_ok()];
        let (expected_shared, expected_own) = match name {
            "H" => ([true, false, false], [false; 3]),
            "A" => ([false, true, false], [false; 3]),
            // The average of a histogram may also be written by itself.
            "Own H" => ([false; 3], [true, true, false]),
            "Own A" => ([false; 3], [false, true, false]),
            "N" => ([false; 3], [false, false, true]),
            _ => ([false; 3], [false; 3]),
        };
        assert_eq!((shared, own), (expected_shared, expected_own), "{name}");
    }
    for name in ["H", "A"] {
        single.writer(name).unwrap().record(3).unwrap();
        assert!(single.writer(name).unwrap().add(3).is_err());
    }
    assert_eq!(single.shared_histogram("H").unwrap().count(), 1);
    let kind = CounterType::PERF_COUNTER_COUNTER;
    for wrong in [
        CounterSet::new("T").together(|set| set.average("A").shared()),
        CounterSet::new("T").together(|set| set.average("A").counter("B", kind)).shared(),
        CounterSet::new("T").histogram("H", &shape).shared().shared(),
        CounterSet::new("T").text("Text", 8).shared(),
    ] {
        assert!(wrong.check().unwrap_err().to_string().contains("can be shared"));
    }
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
