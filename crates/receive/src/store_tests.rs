use super::*;
use tallymon_testkit::Scratch;

use crate::value::Number;

fn store(scratch: &Scratch) -> Store {
    Store::new(Some(scratch.to_path_buf()), Duration::from_secs(300), Duration::from_secs(10))
}

fn add(store: &mut Store, object: &str, instance: &str) -> Result<(), &'static str> {
    let described = Described { object, shape: Shape::Count, help: "", unit: "" };
    let identity = store.identity(&instance);
    let change = Change::Add(Number::Whole(1));
    store.update(&described, &Update { identity, instance, change, time: 0, receiver: 0 })
}

fn files(scratch: &Scratch) -> usize {
    std::fs::read_dir(&**scratch).unwrap().count()
}

#[test]
fn new_objects_share_a_file_which_goes_with_the_last_one() {
    let scratch = Scratch::new();
    let mut store = store(&scratch);
    for n in 0..100 {
        add(&mut store, &format!("o{n}"), "").unwrap();
    }
    assert_eq!((store.tick(), files(&scratch)), (Vec::new(), 2));
    add(&mut store, "one more", "").unwrap();
    assert_eq!((store.tick(), files(&scratch)), (Vec::new(), 3));
    assert_eq!(store.lengths(0), (101, 101));
    store.end_old(Instant::now() + Duration::from_secs(299));
    assert_eq!(store.lengths(0).0, 101);
    store.end_old(Instant::now() + Duration::from_secs(301));
    assert_eq!((store.lengths(0), files(&scratch)), ((0, 0), 0));
    // It begins anew.
    add(&mut store, "o1", "").unwrap();
    assert_eq!((store.tick(), files(&scratch)), (Vec::new(), 1));
}

#[test]
fn names_and_series_are_limited() {
    let scratch = Scratch::new();
    let mut store = store(&scratch);
    let failed = (0..MOST_OBJECTS + 5).filter(|n| add(&mut store, &format!("o{n}"), "").is_err()).count();
    assert_eq!(failed, 5);
    let failed = (0..MOST_SERIES).filter(|n| add(&mut store, "o0", &format!("i{n}")).is_err()).count();
    assert_eq!(failed, MOST_OBJECTS);
    // Names that come and go: readers keep each of them.
    let mut names = MOST_OBJECTS;
    for round in 0..10 {
        store.end_old(Instant::now() + Duration::from_secs(301));
        names += (0..MOST_OBJECTS).filter(|n| add(&mut store, &format!("r{round} {n}"), "").is_ok()).count();
    }
    assert_eq!(names, MOST_NAMES);
    store.end_old(Instant::now() + Duration::from_secs(301));
    assert_eq!(add(&mut store, "o7", ""), Ok(()));
}

#[test]
fn a_name_has_one_kind_and_time_goes_on() {
    let scratch = Scratch::new();
    let mut store = store(&scratch);
    add(&mut store, "Shop.Orders", "").unwrap();
    let identity = store.identity(&"");
    let described = Described { object: "shop.orders", shape: Shape::Gauge, help: "", unit: "" };
    let mut update = Update { identity, instance: "", change: Change::SetGauge(1.0), time: 0, receiver: 0 };
    assert!(store.update(&described, &update).is_err());
    let described = Described { shape: Shape::Count, ..described };
    update.change = Change::Set(Number::Whole(5));
    update.time = 20;
    assert_eq!(store.update(&described, &update), Ok(()));
    update.time = 19;
    assert_eq!(
        store.update(&described, &update),
        Err("it is older than what was received of the same series")
    );
    store.end("SHOP.orders", identity);
    assert_eq!(store.lengths(0).0, 0);
}

#[test]
fn hostile_names_are_published_or_refused() {
    let scratch = Scratch::new();
    let mut store = store(&scratch);
    let long = "ä".repeat(5000);
    for name in [r"\a(b)*/#", "a\u{7}b\u{202e}", &long, "Process", "_Total", "é", "\u{0}x"] {
        add(&mut store, name, name).unwrap();
    }
    assert!(add(&mut store, " ", "").is_err() && add(&mut store, "", "").is_err());
    assert_eq!((store.tick(), files(&scratch)), (Vec::new(), 1));
}
