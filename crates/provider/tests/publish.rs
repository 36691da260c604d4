//! Publishing and reading, in one process and between two.
#![cfg(any(target_os = "linux", windows))]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails is to panic")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tallymon_core::counter::TYPES;
use tallymon_core::title::Language;
use tallymon_provider::CounterType;
use tallymon_provider::shm::{
    CounterSet, DeclareError, NewInstance, PublishError, Published, Publisher, Reader,
};

mod common;
use common::{number, reader_of};
use tallymon_testkit::Scratch;

fn behemoths() -> CounterSet {
    CounterSet::new("Behemoth")
        .help("The behemoths that are alive.")
        .name_in(Language::RUSSIAN, "Бегемот")
        .instances()
        .counter("Meals/sec", CounterType::PERF_COUNTER_BULK_COUNT)
        .help("Meals.")
        .name_in(Language::KOREAN, "식사/초")
        .counter("Weight", CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-2)
        .counter("Steps", CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
        .shared_lanes(4)
        .text("Mood", 20)
        .elapsed("Age")
        .average_time("Avg. Nap")
        .together(|set| {
            set.counter("X", CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
                .counter("Y", CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
        })
}

fn summary() -> CounterSet {
    CounterSet::new("Behemoths Summary").counter("Count", CounterType::PERF_COUNTER_RAWCOUNT)
}

fn named(name: &str) -> NewInstance<'_> {
    NewInstance { name, ..NewInstance::default() }
}

/// Names of the instances of the first object of the first publication.
fn names(reader: &mut Reader) -> Vec<String> {
    reader.scan();
    let Some(publication) = reader.publications_mut().first_mut() else { return Vec::new() };
    assert!(publication.read());
    publication.instances(0).map(|instance| instance.name().to_string()).collect()
}

#[test]
fn every_kind_of_value_arrives() {
    let scratch = Scratch::new();
    let publisher = Publisher::start_in(&scratch, "zoo", &[behemoths(), summary()]).unwrap();
    let single = publisher.single("behemoths summary").unwrap();
    let ada =
        publisher.instance("Behemoth", &NewInstance { name: "Ada", id: Some(7), parent: None }).unwrap();
    let eva =
        publisher.instance("Behemoth", &NewInstance { name: "Éva", id: None, parent: Some(&ada) }).unwrap();

    let mut reader = reader_of(&scratch);
    assert!(reader.scan());
    assert!(!reader.scan());
    assert_eq!(reader.refusals().len(), 0);
    let [publication] = reader.publications_mut() else { panic!("one publication") };
    assert_eq!((publication.pid(), publication.name()), (std::process::id(), "zoo"));
    let object = &publication.objects()[0];
    assert_eq!((object.english(), object.has_instances), ("Behemoth", true));
    let texts: Vec<_> = object.texts.iter().map(|text| (text.language, &*text.name, &*text.help)).collect();
    assert_eq!(
        texts,
        [
            (Language::ENGLISH, "Behemoth", "The behemoths that are alive."),
            (Language::RUSSIAN, "Бегемот", "")
        ]
    );
    assert_eq!(object.counters[1].scale, -2);
    assert_eq!(object.counters[0].texts[1].name, "식사/초");

    ada.counter("Meals/sec").unwrap().add(3);
    let weight = ada.gauge("Weight").unwrap();
    weight.set(10);
    weight.add(-3);
    ada.shared("Steps").unwrap().add(5);
    let mood = ada.text("Mood").unwrap();
    // 24 bytes are there for 20; what does not fit is cut between two characters.
    mood.set("ääääääääääääää");
    ada.elapsed("Age").unwrap().start();
    let mut nap = ada.average("Avg. Nap").unwrap();
    nap.record_time(Duration::from_micros(2));
    nap.record_time(Duration::from_micros(3));
    ada.group("Y").unwrap().update(|numbers| {
        numbers.set(0, 11);
        numbers.add(1, 22);
        numbers.set(2, 33);
    });
    single.gauge("Count").unwrap().set(2);

    assert!(publication.read());
    let instances: Vec<_> = publication.instances(0).collect();
    assert_eq!(instances.len(), 2);
    assert_eq!((instances[0].name(), instances[0].id(), instances[0].parent()), ("Ada", Some(7), None));
    assert_eq!((instances[1].name(), instances[1].id()), ("Éva", None));
    let parent = instances[1].parent().unwrap();
    assert_eq!((parent.object, parent.position), (0, 0));
    assert_eq!([0, 1, 2].map(|counter| number(instances[0], counter)), [3, 7, 5]);
    // What is one word each by itself, one behind the other; the third is a sum, what follows the fifth a
    // group.
    let plain = [0, 1, 2, 3, 5, 7, 9].map(|first| instances[0].numbers_from(first).collect::<Vec<_>>());
    assert_eq!(plain, [vec![3, 7], vec![7], vec![], vec![], vec![], vec![], vec![]]);
    assert_eq!(instances[0].numbers_from(4).collect::<Vec<_>>(), [number(instances[0], 4)]);
    assert_eq!(instances[0].value(3), Some(Published::Text("ääääääääääää")));
    let age = publication.time() - number(instances[0], 4);
    assert!(age < 600_000_000, "{age}");
    assert_eq!([5, 6].map(|counter| number(instances[0], counter)), [50, 2]);
    assert_eq!([7, 8].map(|counter| number(instances[0], counter)), [11, 22]);
    assert_eq!(instances[0].value(9), None);
    assert_eq!([0, 1, 2, 4, 5, 6, 7, 8].map(|counter| number(instances[1], counter)), [0; 8]);
    assert_eq!(instances[1].value(3), Some(Published::Text("")));
    let singles: Vec<_> = publication.instances(1).collect();
    assert_eq!((singles.len(), singles[0].name(), number(singles[0], 0)), (1, "", 2));
    drop(eva);
}

#[test]
fn one_writer_of_each_counter() {
    let scratch = Scratch::new();
    let publisher = Publisher::start_in(&scratch, "zoo", &[behemoths(), summary()]).unwrap();
    let ada = publisher.instance("Behemoth", &named("Ada")).unwrap();
    let first = ada.counter("weight").unwrap();
    assert!(matches!(ada.gauge("Weight"), Err(PublishError::Taken { .. })));
    drop(first);
    assert!(ada.gauge("Weight").is_ok());
    assert!(matches!(ada.counter("Steps"), Err(PublishError::WrongKind { .. })));
    assert!(matches!(ada.counter("Mood"), Err(PublishError::WrongKind { .. })));
    assert!(matches!(ada.counter("X"), Err(PublishError::WrongKind { .. })));
    assert!(matches!(ada.shared("X"), Err(PublishError::WrongKind { .. })));
    assert!(matches!(ada.text("X"), Err(PublishError::WrongKind { .. })));
    assert!(matches!(ada.group("Weight"), Err(PublishError::WrongKind { .. })));
    assert!(matches!(ada.counter("Wings"), Err(PublishError::NoSuch { .. })));
    let group = ada.group("X").unwrap();
    assert!(matches!(ada.group("Y"), Err(PublishError::Taken { .. })));
    drop(group);
    assert!(ada.group("Y").is_ok());
    let single = publisher.single("Behemoths Summary").unwrap();
    assert!(matches!(publisher.single("Behemoths Summary"), Err(PublishError::Taken { .. })));
    drop(single);
    assert!(publisher.single("Behemoths Summary").is_ok());
    assert!(matches!(publisher.single("Behemoth"), Err(PublishError::NoSuch { .. })));
    let other = Publisher::start_in(&scratch, "zoo", &[behemoths()]).unwrap();
    let child = NewInstance { name: "Child", id: None, parent: Some(&ada) };
    assert!(matches!(other.instance("Behemoth", &child), Err(PublishError::ForeignParent)));
    for name in ["", "a\nb", &"x".repeat(217)] {
        assert!(matches!(
            publisher.instance("Behemoth", &named(name)),
            Err(PublishError::BadInstance { .. })
        ));
    }
}

#[test]
fn wrong_declarations_say_what_is_wrong() {
    let kind = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
    let check = |set: CounterSet| set.check().unwrap_err();
    assert!(matches!(check(CounterSet::new("A")), DeclareError::NoCounters { .. }));
    assert!(matches!(check(CounterSet::new(" ").counter("a", kind)), DeclareError::BadName { .. }));
    assert!(matches!(check(CounterSet::new("A").counter("a\\b", kind)), DeclareError::BadName { .. }));
    let twice = CounterSet::new("A").counter("a", kind).counter("A", kind);
    assert!(matches!(check(twice), DeclareError::Repeated { .. }));
    let alone = CounterSet::new("A").counter("a", CounterType::PERF_AVERAGE_BULK);
    assert!(matches!(check(alone), DeclareError::NeedsBase { .. }));
    let multi = CounterSet::new("A").counter("a", CounterType::PERF_COUNTER_MULTI_TIMER);
    assert!(matches!(check(multi), DeclareError::NeedsBase { .. }));
    let none = CounterSet::new("A").with_base("a", kind, CounterType::PERF_AVERAGE_BASE);
    assert!(matches!(check(none), DeclareError::Misplaced { .. }));
    let shared = CounterSet::new("A").together(|set| set.counter("a", kind).shared());
    assert!(matches!(check(shared), DeclareError::Misplaced { .. }));
    let text = CounterSet::new("A").together(|set| set.text("a", 8));
    assert!(matches!(check(text), DeclareError::Misplaced { .. }));
    let large = (0..20).fold(CounterSet::new("A"), |set, n| set.text(format!("t{n}"), 4000));
    assert!(matches!(check(large), DeclareError::TooLarge { .. }));
    let many =
        CounterSet::new("A").together(|set| (0..600).fold(set, |set, n| set.counter(format!("{n}"), kind)));
    assert!(matches!(check(many), DeclareError::TooLarge { .. }));
    let scratch = Scratch::new();
    let error = Publisher::start_in(&scratch, "x", &[summary(), summary()]).unwrap_err();
    assert_eq!(error.to_string(), "the name \"Behemoths Summary\" is declared twice");
}

/// What can be declared can be read: a type that a reader refuses would hide all sets of the program.
#[test]
fn sets_with_every_type_are_read() {
    let scratch = Scratch::new();
    let types = TYPES.iter().filter(|info| info.visible && !info.value.is_text());
    let sets: Vec<CounterSet> = types
        .flat_map(|info| {
            let set = |way: &str| CounterSet::new(format!("{} {way}", info.name));
            let usual = |set: CounterSet| match info.base {
                Some(_) => set.with_usual_base("n", info.value),
                None => set.counter("n", info.value),
            };
            [usual(set("alone")), set("together").together(usual), usual(set("shared")).shared()]
        })
        .collect();
    let publishers: Vec<Publisher> = sets
        .iter()
        .map(|set| Publisher::start_in(&scratch, "types", std::slice::from_ref(set)).unwrap())
        .collect();
    let mut reader = reader_of(&scratch);
    reader.scan();
    assert!(reader.refusals().is_empty(), "{:?}", reader.refusals());
    assert_eq!(reader.publications_mut().len(), publishers.len());
}

#[test]
fn instances_come_and_go() {
    let scratch = Scratch::new();
    let publisher = Publisher::start_in(&scratch, "zoo", &[behemoths()]).unwrap();
    let mut reader = reader_of(&scratch);
    assert_eq!(names(&mut reader), [""; 0]);
    let mut alive: Vec<_> = (0..1000)
        .map(|n| {
            let name = format!("b{n}");
            let instance = publisher.instance("Behemoth", &named(&name)).unwrap();
            instance.gauge("Weight").unwrap().set(n);
            (name, instance, n)
        })
        .collect();
    for round in 1..20 {
        reader.scan();
        let publication = reader.publications_mut().first_mut().unwrap();
        assert!(publication.read());
        let mut found: Vec<(String, u64)> = publication
            .instances(0)
            .map(|instance| (instance.name().to_string(), number(instance, 1)))
            .collect();
        let mut wanted: Vec<_> = alive.iter().map(|(name, _, weight)| (name.clone(), *weight)).collect();
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted, "round {round}");
        // Every third leaves, some new ones come in their places.
        let mut n = 0;
        alive.retain(|_| {
            n += 1;
            n % 3 != 0
        });
        for n in 0..(round * 30) {
            let name = format!("r{round}-{n}");
            let instance = publisher.instance("Behemoth", &named(&name)).unwrap();
            // A new instance starts with nothing.
            let weight = instance.gauge("Weight").unwrap();
            assert_eq!(weight.value(), 0);
            weight.set(n);
            alive.push((name, instance, n));
        }
    }
}

#[test]
fn handle_without_instance_has_no_effect() {
    let scratch = Scratch::new();
    let publisher = Publisher::start_in(&scratch, "zoo", &[behemoths()]).unwrap();
    let ada = publisher.instance("Behemoth", &named("Ada")).unwrap();
    let eva =
        publisher.instance("Behemoth", &NewInstance { name: "Eva", id: None, parent: Some(&ada) }).unwrap();
    let weight = ada.gauge("Weight").unwrap();
    let mut reader = reader_of(&scratch);
    assert_eq!(names(&mut reader), ["Ada", "Eva"]);
    drop(ada);
    assert_eq!(names(&mut reader), ["Eva"]);
    // The parent is gone, and a new instance in its place would be another one.
    let others: Vec<_> =
        (0..50).map(|n| publisher.instance("Behemoth", &named(&format!("o{n}"))).unwrap()).collect();
    weight.set(99);
    assert_eq!(names(&mut reader).len(), 51);
    let publication = reader.publications_mut().first_mut().unwrap();
    for instance in publication.instances(0) {
        assert_eq!((number(instance, 1), instance.parent()), (0, None), "{}", instance.name());
    }
    drop((others, eva, publisher));
    // The handle alone still keeps the file.
    assert_eq!(names(&mut reader), [""; 0]);
    assert_eq!(reader.publications().len(), 1);
    drop(weight);
    assert!(reader.scan());
    assert_eq!(reader.publications().len(), 0);
    assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0);
}

/// More threads than processors. `TALLYMON_INCREMENTS=756000000` is the long form: so many for each number of
/// lanes.
#[test]
fn no_increment_is_lost() {
    let asked = std::env::var("TALLYMON_INCREMENTS").ok().and_then(|number| number.parse::<u64>().ok());
    let each = asked.unwrap_or(8_000_000) / 8;
    let scratch = Scratch::new();
    // None is what a program gets that does not say how many.
    for lanes in [Some(1), Some(2), Some(4), Some(64), None] {
        let set = CounterSet::new("T").counter("N", CounterType::PERF_COUNTER_LARGE_RAWCOUNT);
        let set = lanes.into_iter().fold(set.clone().shared(), |_, lanes| set.clone().shared_lanes(lanes));
        let publisher = Publisher::start_in(&scratch, "threads", &[set]).unwrap();
        let counter = publisher.single("T").unwrap();
        let shared = counter.shared("N").unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                let shared = shared.clone();
                scope.spawn(move || (0..each).for_each(|_| shared.increment()));
            }
        });
        assert_eq!(shared.value(), 8 * each);
        let mut reader = reader_of(&scratch);
        reader.scan();
        let publication = &reader.publications()[0];
        assert_eq!(number(publication.instances(0).next().unwrap(), 0), 8 * each, "{lanes:?} lanes");
    }
}

/// The C library does not register the area of restartable sequences then; threads take the lanes in turn.
#[test]
fn no_increment_is_lost_without_restartable_sequences() {
    let test = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "no_increment_is_lost"])
        .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0")
        .env("TALLYMON_INCREMENTS", "800000")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&test.stdout);
    assert!(test.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn a_group_is_changed_at_once() {
    let scratch = Scratch::new();
    let kind = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
    let set = CounterSet::new("G")
        .together(|set| (0..3).fold(set, |set, n| set.counter(format!("n{n}"), kind)))
        .counter("Alone", kind);
    let publisher = Publisher::start_in(&scratch, "at-once", &[set]).unwrap();
    let instance = publisher.single("G").unwrap();
    let mut group = instance.group("n0").unwrap();
    let mut reader = reader_of(&scratch);
    reader.scan();
    let mut seen = || {
        let publication = reader.publications_mut().first_mut().unwrap();
        assert!(publication.read());
        let instance = publication.instances(0).next().unwrap();
        [0, 1, 2, 3].map(|at| number(instance, at))
    };
    group.add(&[1, u64::MAX, 3]);
    assert_eq!(seen(), [1, u64::MAX, 3, 0]);
    group.add(&[10, 20]);
    assert_eq!(seen(), [11, 19, 3, 0]);
    // What is more than there are numbers has no effect.
    group.add(&[1, 1, 1, 1, 1]);
    assert_eq!(seen(), [12, 20, 4, 0]);
    group.set(&[7, 8]);
    assert_eq!(seen(), [7, 8, 4, 0]);
    group.set(&[1, 2, 3, 4, 5]);
    group.add(&[]);
    assert_eq!(seen(), [1, 2, 3, 0]);
}

struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Reads a group of eight and a text while another thread writes them without a pause.
#[test]
fn no_group_and_no_text_is_torn() {
    const READS: u64 = 500_000;
    let scratch = Scratch::new();
    let kind = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
    let set = CounterSet::new("G")
        .together(|set| (0..8).fold(set, |set, n| set.counter(format!("n{n}"), kind)))
        .text("T", 64);
    let publisher = Publisher::start_in(&scratch, "torn", &[set]).unwrap();
    let instance = publisher.single("G").unwrap();
    let mut group = instance.group("n0").unwrap();
    let text = instance.text("T").unwrap();
    let mut reader = reader_of(&scratch);
    reader.scan();
    let publication = reader.publications_mut().first_mut().unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let stop = &stop;
        scope.spawn(move || {
            let letters: Vec<String> =
                (b'a'..=b'z').map(|letter| char::from(letter).to_string().repeat(64)).collect();
            let mut n = 0usize;
            while !stop.load(Ordering::Relaxed) {
                for _ in 0..32 {
                    group.update(|numbers| (0..8).for_each(|at| numbers.add(at, 1 + at as u64)));
                    group.add(&[1, 2, 3, 4, 5, 6, 7, 8]);
                }
                n += 1;
                text.set(&letters[n % letters.len()][..1 + n % 64]);
            }
        });
        // The writer must end also when an assertion here fails, or the scope would wait for ever.
        let _stop = StopAtEnd(stop);
        let (mut whole, mut texts, mut last, mut moved) = (0u64, 0u64, 0u64, 0u64);
        for _ in 0..READS {
            assert!(publication.read());
            let instance = publication.instances(0).next().unwrap();
            if let Some(Published::Number(first)) = instance.value(0) {
                whole += 1;
                moved += u64::from(first != last);
                assert!(first >= last);
                last = first;
                for at in 1..8 {
                    assert_eq!(number(instance, at), first * (1 + at as u64));
                }
            }
            if let Some(Published::Text(text)) = instance.value(8) {
                texts += 1;
                let first = text.as_bytes().first();
                assert!(text.bytes().all(|byte| Some(&byte) == first), "{text}");
            }
        }
        println!("{whole} groups and {texts} texts of {READS} reads, {moved} of them new");
        assert!(whole > READS * 99 / 100 && texts > READS * 99 / 100 && moved > READS / 100);
    });
}

/// A program that publishes, started by a test.
struct Program {
    child: Child,
    path: PathBuf,
}

impl Program {
    /// Starts the test below in a process of its own; it prints where it publishes.
    fn start(root: &Path) -> Program {
        Program::start_with(root, &[])
    }

    fn start_with(root: &Path, settings: &[(&str, &str)]) -> Program {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "program", "--nocapture", "--test-threads=1"])
            .env("TALLYMON_TEST_PROGRAM", "1")
            .env("TALLYMON_ROOT", root)
            .envs(settings.iter().copied())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let path = loop {
            let line = lines.next().expect("the program says where it publishes").unwrap();
            if let Some((_, path)) = line.split_once("published: ") {
                break PathBuf::from(path);
            }
        };
        Program { child, path }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Not a test by itself: the other process of those below.
#[test]
fn program() {
    if std::env::var_os("TALLYMON_TEST_PROGRAM").is_none() {
        return;
    }
    let publisher = Publisher::start("program", &[behemoths()]).unwrap();
    if std::env::var_os("TALLYMON_TEST_KEEP").is_some() {
        publisher.keep_last_values();
    }
    let ada = publisher.instance("Behemoth", &named("Ada")).unwrap();
    let meals = ada.counter("Meals/sec").unwrap();
    meals.add(1000);
    println!("published: {}", publisher.path().display());
    loop {
        meals.increment();
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn another_process_sees_values_until_it_is_killed() {
    let scratch = Scratch::new();
    let mut program = Program::start(&scratch);
    assert_eq!(program.path.parent().unwrap(), scratch.join("pub"));
    let mut reader = Reader::new([scratch.join("pub")]);
    assert!(reader.scan());
    let publication = reader.publications_mut().first_mut().unwrap();
    assert_eq!(publication.pid(), program.child.id());
    let start = Instant::now();
    let mut last = 0;
    while last < 1010 {
        assert!(start.elapsed() < Duration::from_secs(60));
        assert!(publication.read());
        let now = number(publication.instances(0).next().unwrap(), 0);
        assert!(now >= last && now >= 1000);
        last = now;
    }
    program.kill();
    assert!(reader.scan());
    assert_eq!(reader.publications().len(), 0);
    // A reader that comes later does not take it up either, and says why.
    let mut late = Reader::new([scratch.join("pub")]);
    assert!(!late.scan());
    let [refusal] = late.refusals() else { panic!("one refusal") };
    assert_eq!(
        refusal.to_string(),
        format!("{}: its process {} has ended", program.path.display(), program.child.id())
    );
    // The next publisher tidies up.
    assert!(program.path.exists());
    let publisher = Publisher::start_in(&scratch.join("pub"), "next", &[summary()]).unwrap();
    assert!(!program.path.exists());
    assert!(late.scan());
    assert_eq!((late.publications().len(), late.refusals().len()), (1, 0));
    drop(publisher);
}

#[test]
fn last_values_stay_until_the_program_restarts() {
    let scratch = Scratch::new();
    let mut program = Program::start_with(&scratch, &[("TALLYMON_TEST_KEEP", "1")]);
    let mut reader = Reader::new([scratch.join("pub")]);
    assert!(reader.scan());
    assert!(!reader.publications()[0].is_stale());
    program.kill();
    // For a reader that knew it, and for one that comes later.
    reader.scan();
    let mut later = Reader::new([scratch.join("pub")]);
    assert!(later.scan());
    for reader in [&mut reader, &mut later] {
        let publication = reader.publications_mut().first_mut().unwrap();
        assert!(publication.read() && publication.is_stale());
        let ada = publication.instances(0).next().unwrap();
        assert_eq!(ada.name(), "Ada");
        assert!(number(ada, 0) >= 1000);
    }
    // Another program leaves it alone; the program itself takes its place.
    let directory = scratch.join("pub");
    let other = Publisher::start_in(&directory, "other", &[summary()]).unwrap();
    assert!(program.path.exists());
    let same = Publisher::start_in(&directory, "program", &[behemoths()]).unwrap();
    assert!(!program.path.exists());
    reader.scan();
    let names: Vec<_> = reader.publications().iter().map(|one| (one.name(), one.is_stale())).collect();
    assert_eq!(names, [("other", false), ("program", false)]);
    drop((other, same));
    // A program that ends in good order leaves what it does not drop.
    let publisher = Publisher::start_in(&directory, "orderly", &[behemoths()]).unwrap();
    publisher.keep_last_values();
    let path = publisher.path().to_path_buf();
    drop(publisher);
    assert!(path.exists());
}
