//! Published counters read by a query: names in all languages, instances, parents and texts that come and go.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use tallymon::core::counter::CounterType;
use tallymon::core::flow::{NoValue, Value};
use tallymon::core::title::Language;
use tallymon::{Host, Query};
use tallymon_host::Publishers;
use tallymon_provider::shm::{CounterSet, NewInstance, Publisher, Reader};
use tallymon_provider::{FindingState, Provider};
use tallymon_testkit::Scratch;

fn behemoths(object: &str) -> CounterSet {
    CounterSet::new(object)
        .help("The behemoths that are alive.")
        .name_in(Language::RUSSIAN, format!("{object} (ru)").replace(['(', ')'], ""))
        .instances()
        .counter("Weight", CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
        .name_in(Language::RUSSIAN, "Вес")
        .counter("Volume", CounterType::PERF_DOUBLE_RAW)
        .text("Mood", 20)
        .elapsed("Age")
        .average("Avg. Meal")
}

fn named(name: &str) -> NewInstance<'_> {
    NewInstance { name, ..NewInstance::default() }
}

fn query(directory: &Path, language: Language) -> Query {
    let publishers = Publishers::of(Reader::new([directory.to_path_buf()]), ["Memory", "Память"]);
    Query::new(Box::new(Host::of("here", vec![Box::new(publishers)])), language).unwrap()
}

/// The values of a path after one collection, by full path.
fn values(query: &mut Query, path: &str) -> BTreeMap<String, Result<Value, NoValue>> {
    let handle = query.add(path).unwrap_or_else(|error| panic!("{error:?}"));
    query.collect().unwrap();
    let readings = query.readings();
    let of_path = readings.into_iter().filter(|reading| reading.handle == handle);
    of_path.map(|reading| (reading.path.clone(), reading.cell.value.clone())).collect()
}

#[test]
fn values_and_names_arrive_in_a_query() {
    let scratch = Scratch::new();
    let publisher = Publisher::start_in(&scratch, "zoo", &[behemoths("Zoo Behemoth")]).unwrap();
    let ada = publisher.instance("Zoo Behemoth", &named("Ada")).unwrap();
    let child = NewInstance { name: "Eva", id: Some(3), parent: Some(&ada) };
    let eva = publisher.instance("Zoo Behemoth", &child).unwrap();
    ada.gauge("Weight").unwrap().set(9000);
    ada.gauge("Volume").unwrap().set(9.375f64.to_bits());
    eva.gauge("Weight").unwrap().set(1 << 40);
    ada.text("Mood").unwrap().set("hungry");
    ada.elapsed("Age").unwrap().start();

    let mut query = query(&scratch, Language::RUSSIAN);
    let found = values(&mut query, r"\Zoo Behemoth(*)\Weight");
    let wanted = [(r"\Zoo Behemoth(Ada)\Weight", 9000), (r"\Zoo Behemoth(Ada/Eva)\Weight", 1 << 40)];
    let wanted = wanted.map(|(path, value)| (path.to_string(), Ok(Value::Integer(value))));
    assert_eq!(found, BTreeMap::from(wanted.clone()));
    assert_eq!(values(&mut query, r"\Zoo Behemoth ru(*)\Вес"), BTreeMap::from(wanted));
    let volume = values(&mut query, r"\Zoo Behemoth(Ada)\Volume");
    assert_eq!(volume.values().next(), Some(&Ok(Value::Number(9.375))));
    let mood = values(&mut query, r"\Zoo Behemoth(Ada)\Mood");
    assert_eq!(mood.values().next(), Some(&Ok(Value::Text("hungry".to_string()))));
    let age = values(&mut query, r"\Zoo Behemoth(Ada)\Age");
    let age = age.values().next().unwrap().clone().unwrap().as_f64().unwrap();
    assert!((0.0..60.0).contains(&age), "{age}");
    let not_started = values(&mut query, r"\Zoo Behemoth(Ada/Eva)\Age");
    assert_eq!(not_started.values().next(), Some(&Err(NoValue::NoStartTime)));
    let object = query.catalog().objects().first().unwrap();
    assert_eq!(query.names().name(object.name), "Zoo Behemoth ru");
    assert_eq!(query.names().help(object.help), Some("The behemoths that are alive."));
    assert!(object.name.0 > 1847 && object.name.0.is_multiple_of(2) && object.help.0 == object.name.0 + 1);
}

#[test]
fn averages_need_two_samples() {
    let scratch = Scratch::new();
    let publisher = Publisher::start_in(&scratch, "zoo", &[behemoths("Meal Behemoth")]).unwrap();
    let ada = publisher.instance("Meal Behemoth", &named("Ada")).unwrap();
    let mut meal = ada.average("Avg. Meal").unwrap();
    let mut query = query(&scratch, Language::ENGLISH);
    let handle = query.add(r"\Meal Behemoth(Ada)\Avg. Meal").unwrap();
    query.collect().unwrap();
    meal.record(10);
    meal.record(15);
    query.collect().unwrap();
    let readings = query.readings();
    let reading = readings.iter().find(|reading| reading.handle == handle).unwrap();
    assert_eq!(reading.cell.value.clone().unwrap().as_f64(), Some(12.5));
}

#[test]
fn a_query_continues_when_the_program_restarts() {
    let scratch = Scratch::new();
    let start = |weight: u64| {
        let publisher = Publisher::start_in(&scratch, "zoo", &[behemoths("Back Behemoth")]).unwrap();
        let ada = publisher.instance("Back Behemoth", &named("Ada")).unwrap();
        ada.gauge("Weight").unwrap().set(weight);
        (publisher, ada)
    };
    let running = start(1);
    let mut query = query(&scratch, Language::ENGLISH);
    let path = r"\Back Behemoth(Ada)\Weight";
    assert_eq!(values(&mut query, path).get(path), Some(&Ok(Value::Integer(1))));
    drop(running);
    assert!(values(&mut query, path).values().all(Result::is_err));
    let running = start(2);
    assert_eq!(values(&mut query, path).get(path), Some(&Ok(Value::Integer(2))));
    drop(running);
}

#[test]
fn two_programs_with_one_counter_set_are_one_object() {
    let scratch = Scratch::new();
    let publishers: Vec<_> = ["Ada", "Bob"]
        .map(|name| {
            let publisher = Publisher::start_in(&scratch, name, &[behemoths("Two Behemoth")]).unwrap();
            let parent = publisher.instance("Two Behemoth", &named(name)).unwrap();
            let child = NewInstance { name: "Child", id: None, parent: Some(&parent) };
            let child = publisher.instance("Two Behemoth", &child).unwrap();
            (publisher, parent, child)
        })
        .into_iter()
        .collect();
    let mut query = query(&scratch, Language::ENGLISH);
    let found: Vec<String> = values(&mut query, r"\Two Behemoth(*)\Weight").into_keys().collect();
    let wanted = ["Ada", "Ada/Child", "Bob", "Bob/Child"];
    assert_eq!(found, wanted.map(|instance| format!(r"\Two Behemoth({instance})\Weight")));
    drop(publishers);
}

#[test]
fn a_program_can_not_replace_the_counters_of_another() {
    let scratch = Scratch::new();
    let set = |name: &str| CounterSet::new(name).counter("Free", CounterType::PERF_COUNTER_RAWCOUNT);
    let memory = Publisher::start_in(&scratch, "liar", &[set("me mory"), set("Own")]).unwrap();
    let other = Publisher::start_in(&scratch, "other", &[set("OWN")]).unwrap();
    let mut publishers = Publishers::of(Reader::new([scratch.to_path_buf()]), ["Memory", "Память"]);
    publishers.refresh();
    let titles = publishers.titles(Language::ENGLISH);
    let names: Vec<&str> =
        publishers.objects().iter().map(|object| titles.name(object.name).unwrap()).collect();
    let pid = std::process::id();
    assert_eq!(names[0], format!("me mory [{pid}]"));
    let mut rest = names[1..].to_vec();
    rest.sort_by_key(|name| name.len());
    assert_eq!(rest.len(), 2);
    assert!(rest[0].eq_ignore_ascii_case("own") && rest[1].ends_with(&format!("[{pid}]")), "{rest:?}");
    drop((memory, other));
}

#[test]
fn parents_of_another_object_come_with_it() {
    let scratch = Scratch::new();
    let herd = CounterSet::new("Herd").instances().counter("Size", CounterType::PERF_COUNTER_RAWCOUNT);
    let publisher = Publisher::start_in(&scratch, "zoo", &[behemoths("Herd Behemoth"), herd]).unwrap();
    let north = publisher.instance("Herd", &named("North")).unwrap();
    let ada = NewInstance { name: "Ada", id: None, parent: Some(&north) };
    let ada = publisher.instance("Herd Behemoth", &ada).unwrap();
    let mut query = query(&scratch, Language::ENGLISH);
    let found: Vec<String> = values(&mut query, r"\Herd Behemoth(*)\Weight").into_keys().collect();
    assert_eq!(found, [r"\Herd Behemoth(North/Ada)\Weight"]);
    drop(ada);
}

/// Values that an ended program left are marked as stale, until the program comes back.
#[test]
fn values_of_an_ended_program_are_stale() {
    const DIRECTORY: &str = "TALLYMON_TEST_KEPT";
    let start = |directory: &Path, weight: u64| {
        let publisher = Publisher::start_in(directory, "kept", &[behemoths("Kept Behemoth")]).unwrap();
        publisher.keep_last_values();
        let ada = publisher.instance("Kept Behemoth", &named("Ada")).unwrap();
        let gauge = ada.gauge("Weight").unwrap();
        gauge.set(weight);
        (publisher, ada, gauge)
    };
    if let Some(directory) = std::env::var_os(DIRECTORY) {
        // The program that ends is this test again, in another process.
        std::mem::forget(start(Path::new(&directory), 7));
        return;
    }
    let scratch = Scratch::new();
    let program = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "values_of_an_ended_program_are_stale", "--test-threads=1"])
        .env(DIRECTORY, &scratch)
        .output()
        .unwrap();
    assert!(program.status.success(), "{program:?}");
    let mut query = query(&scratch, Language::ENGLISH);
    let handle = query.add(r"\Kept Behemoth(Ada)\Weight").unwrap();
    let mut collect = || {
        query.collect().unwrap();
        let readings = query.readings_of(handle);
        let [reading] = &readings[..] else { panic!("{readings:?}") };
        (reading.cell.value.clone(), reading.cell.stale)
    };
    assert_eq!(collect(), (Ok(Value::Integer(7)), true));
    let _running = start(&scratch, 8);
    assert_eq!(collect(), (Ok(Value::Integer(8)), false));
}

/// The health counters and findings of a publishing program, of a file that others could have changed, and of
/// a damaged file.
#[test]
fn programs_and_files_are_sources() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new();
    let publisher = Publisher::start_in(&scratch, "zoo", &[behemoths("Told Behemoth")]).unwrap();
    let ada = publisher.instance("Told Behemoth", &named("Ada")).unwrap();
    let (open, rubbish) = (scratch.join("open.1.pub"), scratch.join("rub\u{1b}bish.2.pub"));
    std::fs::write(&open, b"anybody").unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o666)).unwrap();
    std::fs::write(&rubbish, [0xee; 5000]).unwrap();

    let publishers = Publishers::of(Reader::new([scratch.to_path_buf()]), []);
    let host = Host::of("here", vec![Box::new(publishers)]).with_source_status();
    let mut query = Query::new(Box::new(host), Language::ENGLISH).unwrap();
    let weight = r"\Told Behemoth(*)\Weight";
    assert_eq!(values(&mut query, weight).len(), 1);
    let value = |query: &mut Query, counter: &str| {
        let prefix = r"\Tallymon Provider(";
        let found = values(query, &format!("{prefix}*)\\{counter}"));
        let short = |path: &str| path.trim_start_matches(prefix).split(')').next().unwrap().to_string();
        found.into_iter().map(|(path, value)| (short(&path), value)).collect::<BTreeMap<_, _>>()
    };
    let state = value(&mut query, "State");
    let names: Vec<&str> = state.keys().map(String::as_str).collect();
    assert_eq!(names, ["file open.1.pub", "file rub\u{fffd}bish.2.pub", "program zoo"]);
    assert_eq!(state.values().cloned().collect::<Vec<_>>(), [4, 4, 1].map(|state| Ok(Value::Integer(state))));
    let reason = value(&mut query, "State Reason");
    assert_eq!(reason["program zoo"], Ok(Value::Text("healthy".to_string())));
    assert_eq!(reason["file open.1.pub"], Ok(Value::Text("others than its owner can write it".to_string())));
    let Ok(Value::Text(words)) = &reason["file rub\u{fffd}bish.2.pub"] else { panic!("{reason:?}") };
    assert!(words.contains("magic"), "{words}");
    let languages = value(&mut query, "Languages");
    assert_eq!(languages["program zoo"], Ok(Value::Text("009 019".to_string())));
    assert_eq!(languages["file open.1.pub"], Ok(Value::Text(String::new())));
    let errors = value(&mut query, "Errors");
    assert_eq!(errors["program zoo"], Ok(Value::Integer(0)));
    assert_eq!(errors["file open.1.pub"], Ok(Value::Integer(1)));
    let collections = value(&mut query, "Collections");
    let Ok(Value::Integer(times)) = collections["program zoo"] else { panic!("{collections:?}") };
    assert!(times >= 2, "{times}");
    let last = value(&mut query, "Last Collection Nanoseconds");
    let Ok(Value::Integer(took)) = last["program zoo"] else { panic!("{last:?}") };
    assert!(took > 0);

    let mut publishers = Publishers::of(Reader::new([scratch.to_path_buf()]), []);
    let findings = publishers.findings();
    let line = |words: &str| {
        let finding = findings.iter().find(|finding| finding.subject.contains(words));
        finding.unwrap_or_else(|| panic!("{words}: {findings:?}"))
    };
    assert_eq!(line("published counters").detail, "1 programs publish 1 objects; 2 files are not read");
    let program = line("program zoo");
    let (process, user) = (std::process::id(), std::fs::metadata("/proc/self").unwrap().uid());
    let start = format!("process {process} of user {user} publishes 1 objects with 1 instances, read in ");
    assert!(program.state == FindingState::Good && program.detail.starts_with(&start), "{program:?}");
    assert_eq!(line("open.1.pub").detail, "it is not read: others than its owner can write it");
    let rubbish = line("bish.2.pub");
    assert!(rubbish.state == FindingState::Missing && !rubbish.subject.contains(char::is_control));
    drop(ada);
}

/// A process of another user, and what it publishes: the file of a publisher of ours under its number.
struct Neighbour(std::process::Child);

impl Neighbour {
    fn publish(scratch: &Path, file: &Path, user: u32) -> Neighbour {
        use std::os::unix::process::CommandExt;
        let mut sleep = std::process::Command::new("sleep");
        let child = sleep.arg("600").uid(user).gid(user).process_group(0).spawn().unwrap();
        let text = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        let start: u64 =
            text.rsplit(')').next().unwrap().split_whitespace().nth(19).unwrap().parse().unwrap();
        let mut bytes = std::fs::read(file).unwrap();
        bytes[24..28].copy_from_slice(&child.id().to_le_bytes());
        bytes[32..40].copy_from_slice(&start.to_le_bytes());
        // It sorts before every other one.
        let path = scratch.join(format!("0-{user}.pub"));
        std::fs::write(&path, bytes).unwrap();
        std::os::unix::fs::chown(&path, Some(user), None).unwrap();
        Neighbour(child)
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn attack_publish_a_set_of_the_same_name() {
    let Some(user) = tallymon_testkit::other_user() else { return };
    let scratch = Scratch::new();
    let place = Scratch::new();
    let sets = [behemoths("Stable"), behemoths("Herd")];
    let theirs = Publisher::start_in(&place, "theirs", &sets).unwrap();
    let herd = theirs.instance("Herd", &named("Eve")).unwrap();
    herd.counter("Weight").unwrap().add(666);
    let neighbours = [user, user + 1].map(|user| Neighbour::publish(&scratch, theirs.path(), user));
    let names = |publishers: &mut Publishers| {
        publishers.refresh();
        let titles = publishers.titles(Language::ENGLISH);
        let name = |spec: &tallymon_provider::ObjectSpec<'_>| titles.name(spec.name).unwrap().to_string();
        let mut names: Vec<String> = publishers.objects().iter().map(name).collect();
        names.sort();
        names
    };
    // A name of several other users is nobody's.
    let mut publishers = Publishers::of(Reader::new([scratch.to_path_buf()]), []);
    let of = |name: &str, user: u32| format!("{name} [user {user}]");
    let theirs_only = [of("Herd", user), of("Herd", user + 1), of("Stable", user), of("Stable", user + 1)];
    assert_eq!(names(&mut publishers), theirs_only);
    // Root's set has the plain name as soon as it is there, and none of their instances.
    let ours = Publisher::start_in(&scratch, "ours", &[behemoths("Herd")]).unwrap();
    let ada = ours.instance("Herd", &named("Ada")).unwrap();
    ada.counter("Weight").unwrap().add(1);
    let mut all = theirs_only.to_vec();
    all.insert(0, "Herd".to_string());
    assert_eq!(names(&mut publishers), all);
    let host = Host::of("here", vec![Box::new(publishers)]).with_source_status();
    let mut query = Query::new(Box::new(host), Language::ENGLISH).unwrap();
    let weights = |query: &mut Query, object: &str| values(query, &format!(r"\{object}(*)\Weight"));
    assert_eq!(weights(&mut query, "Herd").len(), 1);
    assert!(weights(&mut query, "Herd").iter().all(|(path, _)| path.contains("Ada")));
    let found = weights(&mut query, &of("Herd", user));
    assert!(found.len() == 1 && found.keys().all(|path| path.contains("Eve")), "{found:?}");
    // A program of another user says whose it is, whatever it calls itself.
    let sources = values(&mut query, r"\Tallymon Provider(*)\State");
    let has = |words: &str| sources.iter().any(|(path, _)| path.contains(words));
    assert!(has("program ours") && has(&of("program theirs", user)), "{sources:?}");
    // With one neighbour left and ours gone, the name is free again.
    let [first, second] = neighbours;
    drop((second, ada, ours));
    let mut publishers = Publishers::of(Reader::new([scratch.to_path_buf()]), []);
    assert_eq!(names(&mut publishers), ["Herd", "Stable"]);
    drop((first, herd));
    tallymon_testkit::attack(
        "published counters",
        "publish a set of the name and form of root's, or call a program like root's",
        "root's set keeps the plain name and its own instances; the other is shown with [user N] behind it, and \
         so is the program",
    );
}

#[test]
fn attack_publish_many_objects() {
    let scratch = Scratch::new();
    let (programs, n) = (4, tallymon_testkit::attack_count(200, 4000));
    let publish = |program: usize| {
        let name = |object: usize| format!("Object {program} {object}");
        let sets: Vec<CounterSet> = (0..n)
            .map(|object| {
                CounterSet::new(name(object)).instances().counter("Count", CounterType::PERF_COUNTER_RAWCOUNT)
            })
            .collect();
        let publisher = Publisher::start_in(&scratch, "many", &sets).unwrap();
        // Each instance names one of the object before as its parent.
        let mut before: Option<tallymon_provider::shm::Instance> = None;
        for object in 0..n {
            let instance = NewInstance { name: "one", id: None, parent: before.as_ref() };
            let instance = publisher.instance(&name(object), &instance).unwrap();
            if let Some(parent) = before.replace(instance) {
                std::mem::forget(parent);
            }
        }
        (publisher, before)
    };
    let published: Vec<_> = (0..programs).map(publish).collect();
    let mut publishers = Publishers::of(Reader::new([scratch.to_path_buf()]), []);
    publishers.refresh();
    let mut objects: Vec<_> = publishers.objects().iter().map(|spec| spec.name).collect();
    objects.sort();
    assert_eq!(objects.len(), programs * n);
    let mut bytes = Vec::new();
    let mut out = tallymon_provider::ObjectsWriter::growing(&mut bytes);
    publishers.collect(&tallymon_provider::CollectRequest::everything(&objects), &mut out).unwrap();
    assert_eq!(out.count() as usize, programs * n);
    drop(published);
    tallymon_testkit::attack(
        "published counters",
        "publish thousands of objects whose instances are parents of each other",
        "each costs the same: nothing is looked up by walking through all",
    );
}
