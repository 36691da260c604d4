//! Sets that are declared by derive are those that are declared by hand.
#![cfg(any(target_os = "linux", windows))]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails is to panic")]

use tallymon_core::title::Language;
use tallymon_provider::shm::{
    Average, Counter, CounterSet, Declare, Elapsed, Gauge, Group, Histogram, HistogramShape, Instance,
    NewInstance, ObjectDefinition, PublishError, Published, Publisher, SharedAverage, SharedCounter,
    SharedHistogram, Text,
};
use tallymon_provider::{CounterType, DetailLevel};

mod common;
use common::{number, reader_of};
use tallymon_testkit::Scratch;

/// The behemoths that are alive.
#[derive(CounterSet)]
#[set(name = "Behemoth", instances, detail = ADVANCED)]
#[text(RUSSIAN, name = "Бегемот", help = "Живые.")]
struct Behemoth {
    instance: Instance,
    /// Meals.
    #[counter(name = "Meals/sec", unit = "meals", scale = -1)]
    #[text(KOREAN, name = "식사/초")]
    #[text(7, name = "Mahlzeiten/s", unit = "Mahlzeiten")]
    meals: Counter,
    #[counter(name = "Weight", help = "How heavy.", kind = PERF_COUNTER_RAWCOUNT, first_shown)]
    weight: Gauge,
    #[counter(name = "Steps", lanes = 2, detail = EXPERT)]
    steps: SharedCounter,
    #[counter(name = "Mood", most = 20)]
    mood: Text,
    #[counter(name = "Age")]
    age: Elapsed,
    #[counter(name = "Avg. Nap", kind = PERF_AVERAGE_TIMER)]
    nap: Average,
    #[counter(name = "% Awake", kind = PERF_SAMPLE_FRACTION)]
    awake: Average,
    #[counter(name = "Meal", time, bits = 2, most = 5000, percentiles = [99_000])]
    meal: Histogram,
    #[counter(name = "Bite", bits = 1, most = 500, lanes = 2)]
    bite: SharedHistogram,
    #[counter(name = "Yawn", kind = PERF_AVERAGE_TIMER)]
    yawn: SharedAverage,
    #[counter(name = "X")]
    #[counter(name = "Y", help = "Northing.")]
    #[text(GERMAN, name = "Ypsilon")]
    place: Group,
}

#[derive(CounterSet)]
#[set(name = "Behemoths Summary")]
struct Summary {
    #[expect(dead_code, reason = "it keeps the values visible")]
    instance: Instance,
    #[counter(name = "Count")]
    count: Gauge,
}

fn by_hand() -> CounterSet {
    let raw = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
    let german = Language::GERMAN;
    CounterSet::new("Behemoth")
        .help("The behemoths that are alive.")
        .name_in(Language::RUSSIAN, "Бегемот")
        .help_in(Language::RUSSIAN, "Живые.")
        .detail(DetailLevel::ADVANCED)
        .instances()
        .counter("Meals/sec", CounterType::PERF_COUNTER_BULK_COUNT)
        .help("Meals.")
        .unit("meals")
        .name_in(Language::KOREAN, "식사/초")
        .name_in(german, "Mahlzeiten/s")
        .unit_in(german, "Mahlzeiten")
        .scale(-1)
        .counter("Weight", CounterType::PERF_COUNTER_RAWCOUNT)
        .help("How heavy.")
        .first_shown()
        .counter("Steps", CounterType::PERF_COUNTER_BULK_COUNT)
        .shared_lanes(2)
        .detail(DetailLevel::EXPERT)
        .text("Mood", 20)
        .elapsed("Age")
        .average_time("Avg. Nap")
        .hits("% Awake")
        .histogram_time("Meal", &HistogramShape { bits: 2, most: 5000, percentiles: vec![99_000] })
        .histogram("Bite", &HistogramShape { bits: 1, most: 500, ..HistogramShape::default() })
        .shared_lanes(2)
        .average_time("Yawn")
        .shared()
        .together(|set| set.counter("X", raw).counter("Y", raw).help("Northing.").name_in(german, "Ypsilon"))
}

/// The definition of the first object of a publication.
fn published(scratch: &Scratch) -> ObjectDefinition {
    let mut reader = reader_of(scratch);
    reader.scan();
    reader.publications()[0].objects()[0].clone()
}

#[test]
fn both_ways_declare_the_same() {
    let scratch = Scratch::new();
    let derived = Publisher::start_in(&scratch, "derived", &[Behemoth::set()]).unwrap();
    let definition = published(&scratch);
    drop(derived);
    let _by_hand = Publisher::start_in(&scratch, "by hand", &[by_hand()]).unwrap();
    assert_eq!(definition, published(&scratch));
}

#[test]
fn handles_of_a_derived_set_write() {
    let scratch = Scratch::new();
    let publisher = Publisher::start_in(&scratch, "zoo", &[Behemoth::set(), Summary::set()]).unwrap();
    let mut ada: Behemoth = publisher.create(&NewInstance { name: "Ada", ..NewInstance::default() }).unwrap();
    let parent = Some(&ada.instance);
    let eva: Behemoth = publisher.create(&NewInstance { name: "Eva", id: Some(5), parent }).unwrap();
    let summary: Summary = publisher.create_single().unwrap();
    assert!(matches!(publisher.create_single::<Summary>(), Err(PublishError::Taken { .. })));
    summary.count.set(2);
    ada.meals.add(3);
    ada.weight.set(4);
    ada.steps.add(5);
    ada.mood.set("sleepy");
    ada.age.start();
    ada.nap.record(6);
    ada.awake.record_hit(true);
    ada.meal.record(7);
    ada.bite.record(2);
    ada.yawn.record(9);
    ada.place.update(|numbers| numbers.set(1, 8));
    let mut reader = reader_of(&scratch);
    reader.scan();
    let publication = &mut reader.publications_mut()[0];
    let instances: Vec<_> = publication.instances(0).collect();
    let names: Vec<_> = instances.iter().map(|one| (one.name(), one.id(), one.parent().is_some())).collect();
    assert_eq!(names, [("Ada", None, false), ("Eva", Some(5), true)]);
    assert_eq!([0, 1, 2].map(|at| number(instances[0], at)), [3, 4, 5]);
    assert_eq!(instances[0].value(3), Some(Published::Text("sleepy")));
    assert!(number(instances[0], 4) > 0);
    assert_eq!([5, 6, 7, 8, 9, 10, 11, 12].map(|at| number(instances[0], at)), [6, 1, 1, 1, 7, 1, 1, 7]);
    assert_eq!([13, 14, 15, 16, 19].map(|at| number(instances[0], at)), [2, 1, 1, 2, 2]);
    assert_eq!([20, 21, 22, 23].map(|at| number(instances[0], at)), [9, 1, 0, 8]);
    assert_eq!(number(publication.instances(1).next().unwrap(), 0), 2);
    drop(eva);
    assert!(publication.read());
    assert_eq!(publication.instances(0).len(), 1);
}
