//! What programs publish, under the numbers of an INI file: names for `lodctr`, and the objects that a
//! provider library answers with.
#![cfg(any(target_os = "linux", windows))]
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::path::Path;

use tallymon_core::block::{NumInstances, Object, Objects, RawValue};
use tallymon_core::counter::CounterType;
use tallymon_core::title::{HelpIndex, Language, TitleIndex};
use tallymon_host::Publishers;
use tallymon_host::perfmon::{Added, Answers, Numbers};
use tallymon_host::registry::Package;
use tallymon_provider::Provider;
use tallymon_provider::library::author::{Answer, DeclaredObject, Opened, Opening, ProviderLibrary};
use tallymon_provider::shm::{CounterSet, NewInstance, Publisher, Reader};
use tallymon_testkit::Scratch;

/// A library for the sets of one folder, as `tallymon_perf.dll` is one for those of the machine.
struct Here {
    opening: Opening,
    answers: Answers,
}

impl ProviderLibrary for Here {
    const OBJECTS: &'static [DeclaredObject] = &[];

    fn open(opening: &Opening) -> Result<Here, u32> {
        let [ini, folder] = opening.export.as_slice() else { return Err(1) };
        let numbers = Numbers::read(Path::new(ini)).map_err(|_| 2u32)?;
        Ok(Here { opening: opening.clone(), answers: Answers::new(publishers(Path::new(folder)), numbers) })
    }

    fn collect(&mut self, answer: &mut Answer<'_, '_>) {
        self.answers.collect(&self.opening, answer);
    }
}

fn publishers(folder: &Path) -> Publishers {
    // As if the system had an object of this name.
    Publishers::of(Reader::new([folder.to_path_buf()]), ["Processor"])
}

/// Writes the files for what is published in `folder` into `folder/perf`.
fn register(folder: &Path) -> Added {
    let ini = folder.join("perf").join(Numbers::ini_name());
    std::fs::create_dir_all(ini.parent().unwrap()).unwrap();
    let mut publishers = publishers(folder);
    publishers.refresh();
    let mut numbers = Numbers::read(&ini).unwrap();
    let added = numbers.add(&publishers, &ini).unwrap();
    for file in numbers.files(Path::new(r"C:\tally\tallymon_perf.dll"), &ini) {
        std::fs::write(ini.with_file_name(&file.name), &file.bytes).unwrap();
    }
    assert_eq!(Numbers::read(&ini).unwrap(), numbers, "what was written is what is read");
    added
}

fn zoo() -> CounterSet {
    CounterSet::new("Zoo Behemoth")
        .help("The behemoths\nthat are alive.")
        .name_in(Language::RUSSIAN, "Бегемот")
        .instances()
        .counter("Weight", CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
        .average("Avg. Meal")
        .text("Mood", 20)
}

fn tea() -> CounterSet {
    CounterSet::new("Tea").counter("Cups", CounterType::PERF_COUNTER_RAWCOUNT)
}

fn open(folder: &Path) -> Opened<Here> {
    let ini = folder.join("perf").join(Numbers::ini_name());
    let export = [ini.as_path(), folder].map(|path| path.to_str().unwrap().to_owned()).to_vec();
    let (first_counter, first_help) = (TitleIndex(9000), HelpIndex(9001));
    Opened::new(&Opening { export, first_counter, first_help }).unwrap()
}

/// Has the answer to a query checked.
fn ask(library: &mut Opened<Here>, query: &str, check: impl FnOnce(&[Object<'_>])) {
    let mut bytes = Vec::new();
    let count = library.collect(query, &mut bytes).unwrap();
    let objects: Vec<Object<'_>> = Objects::bare(&bytes, count).map(Result::unwrap).collect();
    check(&objects);
}

#[test]
fn published_sets_answer_under_the_numbers_of_their_names() {
    let folder = Scratch::new();
    let publisher = Publisher::start_in(&folder, "zoo", &[zoo()]).unwrap();
    let ada =
        publisher.instance("Zoo Behemoth", &NewInstance { name: "Ada", id: Some(7), parent: None }).unwrap();
    let eva = NewInstance { name: "Eva", id: None, parent: Some(&ada) };
    let _eva = publisher.instance("Zoo Behemoth", &eva).unwrap();
    ada.gauge("Weight").unwrap().set(9000);
    ada.text("Mood").unwrap().set("hungry");
    assert_eq!(register(&folder), Added { sets: vec!["Zoo Behemoth".to_owned()], new_names: 4 });
    let mut library = open(&folder);
    ask(&mut library, "Global", |objects| {
        let [zoo] = objects else { panic!("{objects:?}") };
        assert_eq!((zoo.header().name, zoo.header().help), (TitleIndex(9000), HelpIndex(9001)));
        let counters: Vec<_> = zoo.counters().map(Result::unwrap).collect();
        let found: Vec<_> = counters.iter().map(|counter| (counter.name.0, counter.counter_type)).collect();
        // No hidden status counter, and the base has the name of its counter.
        let expected = [
            (9002, CounterType::PERF_COUNTER_LARGE_RAWCOUNT),
            (9004, CounterType::PERF_AVERAGE_BULK),
            (9004, CounterType::PERF_AVERAGE_BASE),
            (9006, CounterType::PERF_COUNTER_TEXT),
        ];
        assert_eq!(found, expected);
        let instances: Vec<_> = zoo.instances().map(Result::unwrap).collect();
        let [ada, eva] = instances.as_slice() else { panic!("{instances:?}") };
        assert_eq!((ada.name.to_string_lossy().as_str(), ada.unique_id), ("Ada", Some(7)));
        assert_eq!(ada.counter_block.raw(&counters[0]).unwrap(), RawValue::Number(9000));
        let RawValue::Bytes(mood) = ada.counter_block.raw(&counters[3]).unwrap() else { panic!() };
        assert!(mood.starts_with(b"h\0u\0n\0g\0r\0y\0\0\0"), "{mood:?}");
        let parent = eva.parent.unwrap();
        assert_eq!((eva.name.to_string_lossy().as_str(), parent.object.0, parent.instance), ("Eva", 9000, 0));
    });
    for (query, expected) in [("9000", 1), ("9002", 0), ("Costly", 0), ("MetadataGlobal", 1), ("2 9000 4", 1)]
    {
        ask(&mut library, query, |objects| assert_eq!(objects.len(), expected, "{query}"));
    }
    ask(&mut library, "MetadataGlobal", |objects| {
        assert_eq!(objects[0].header().num_instances, NumInstances::MetadataMany);
    });
}

/// Numbers are kept while nobody publishes a set, and a set without numbers is not there.
#[test]
fn numbers_stay_when_sets_come_and_go() {
    let folder = Scratch::new();
    let zoo_publisher = Publisher::start_in(&folder, "zoo", &[zoo()]).unwrap();
    register(&folder);
    let mut library = open(&folder);
    drop(zoo_publisher);
    let publisher = Publisher::start_in(&folder, "tea", &[tea()]).unwrap();
    let instance = publisher.single("Tea").unwrap();
    instance.gauge("Cups").unwrap().set(3);
    ask(&mut library, "Global", |objects| assert!(objects.is_empty(), "{objects:?}"));
    let added = register(&folder);
    assert_eq!(
        (added.sets.as_slice(), added.new_names),
        (&["Zoo Behemoth".to_owned(), "Tea".to_owned()][..], 2)
    );
    assert_eq!(register(&folder).new_names, 0);
    let mut library = open(&folder);
    ask(&mut library, "9008", |objects| {
        let [tea] = objects else { panic!("{objects:?}") };
        let cups = tea.counters().next().unwrap().unwrap();
        assert_eq!((cups.name, tea.header().num_instances), (TitleIndex(9010), NumInstances::None));
        assert_eq!(tea.counter_block().unwrap().unwrap().raw(&cups).unwrap(), RawValue::Number(3));
    });
    // The set is as it was when it comes again; a counter that it has now and had not then is left out.
    let _later =
        Publisher::start_in(&folder, "zoo", &[zoo().counter("Age", CounterType::PERF_COUNTER_RAWCOUNT)]);
    ask(&mut library, "Global", |objects| {
        let names: Vec<u32> = objects.iter().map(|object| object.header().name.0).collect();
        assert_eq!(names.len(), 2, "{names:?}");
        let zoo = objects.iter().find(|object| object.header().name == TitleIndex(9000)).unwrap();
        assert_eq!(zoo.header().num_counters, 4);
    });
}

/// What `lodctr` gets: texts in all languages, each on one line; and no set that may not have its name.
#[test]
fn names_are_in_the_files_in_all_their_languages() {
    let folder = Scratch::new();
    let processor = CounterSet::new("Processor").counter("Fake", CounterType::PERF_COUNTER_RAWCOUNT);
    let _publisher = Publisher::start_in(&folder, "zoo", &[zoo(), processor]).unwrap();
    register(&folder);
    let package = Package::read(&folder.join("perf").join(Numbers::ini_name()), None).unwrap();
    assert_eq!((package.service.as_str(), package.languages.len()), ("TallymonPublished", 2));
    let names: Vec<&String> = package.titles.iter().map(|title| &title.names[&Language::ENGLISH]).collect();
    assert_eq!(names, ["Zoo Behemoth", "Weight", "Avg. Meal", "Mood"]);
    let zoo = &package.titles[0];
    assert_eq!(zoo.names[&Language::RUSSIAN], "Бегемот");
    assert_eq!(zoo.helps[&Language::ENGLISH], "The behemoths that are alive.");
    assert!(zoo.is_object && package.titles[1..].iter().all(|title| !title.is_object));
}

#[test]
fn a_file_of_another_service_is_refused() {
    let folder = Scratch::new();
    let ini = folder.join("tea.ini");
    std::fs::write(
        &ini,
        "[info]\ndrivername=Tea\nsymbolfile=tea.h\n[languages]\n009=E\n[text]\nT_009_NAME=Tea\n",
    )
    .unwrap();
    std::fs::write(folder.join("tea.h"), "#define T 0\n").unwrap();
    let error = Numbers::read(&ini).unwrap_err().to_string();
    assert!(error.contains("service Tea") && error.contains("TallymonPublished"), "{error}");
}
