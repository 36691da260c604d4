//! Tests the service, its library and its manager in processes of their own, as users run them.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use behemoth::figures::Figures;
use behemoth::manager::PATIENCE;
use behemoth::socket::{Client, FRESH, ask};
use behemoth::table::{BEHEMOTH, SUMMARY, name, symbol};
use tallymon_provider::shm::{Published, Reader};
use tallymon_testkit::Scratch;

/// The values of one behemoth, or of the summary, whose name is empty.
#[derive(Debug, PartialEq, Eq)]
struct Known {
    name: String,
    id: Option<i32>,
    /// Position of its mother among the behemoths.
    mother: Option<usize>,
    numbers: Vec<u64>,
    texts: Vec<String>,
}

/// A temporary folder with a service in it; the test's end removes both.
struct Place {
    root: Scratch,
    service: Option<Child>,
}

impl Place {
    fn new() -> Place {
        Place { root: Scratch::new(), service: None }
    }

    /// Starts a service, and waits until it answers.
    fn serve(&mut self, options: &[&str]) {
        let mut command = self.command(env!("CARGO_BIN_EXE_behemoth").as_ref());
        self.service = Some(command.arg("serve").args(options).stdin(Stdio::null()).spawn().unwrap());
        wait_for("the service", || ask(&self.socket(), "figures", PATIENCE).is_ok());
    }

    /// Kills the service without a warning.
    fn kill(&mut self) {
        let mut service = self.service.take().unwrap();
        service.kill().unwrap();
        service.wait().unwrap();
    }

    fn socket(&self) -> PathBuf {
        self.root.join("behemoth.sock")
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("TALLYMON_ROOT", &self.root).env_remove("BEHEMOTH_SOCKET");
        command
    }

    /// Runs the manager.
    fn behemoth(&self, arguments: &[&str]) -> Output {
        self.command(env!("CARGO_BIN_EXE_behemoth").as_ref()).args(arguments).output().unwrap()
    }

    /// The output of `tally` for these arguments.
    fn tally(&self, program: &Path, arguments: &[&str]) -> Output {
        self.command(program).args(arguments).output().unwrap()
    }

    /// Registers the library.
    fn register(&self, tally: &Path) {
        assert!(self.behemoth(&["install", self.root.to_str().unwrap(), &library()]).status.success());
        let file = |name: &str| self.root.join(name).display().to_string();
        for arguments in [&["provider", "add", &file("behemoth.reg")][..], &["lodctr", &file("behemoth.ini")]]
        {
            let output = self.tally(tally, arguments);
            assert!(output.status.success(), "{arguments:?}: {output:?}");
        }
    }

    /// The raw numbers and texts published: of the summary, and of each behemoth with name, id and mother.
    fn published(&self) -> Vec<Known> {
        let mut reader = Reader::new([self.root.join("pub")]);
        reader.scan();
        let Some(publication) = reader.publications_mut().first_mut() else { return Vec::new() };
        assert!(publication.read());
        let publication = &*publication;
        let mut rows = Vec::new();
        for (object, table) in [(1, SUMMARY), (0, BEHEMOTH)] {
            for instance in publication.instances(object) {
                let n_numbers = table.numbers().count();
                let numbers = (0..n_numbers).map(|at| match instance.value(at) {
                    Some(Published::Number(number)) => number,
                    other => panic!("{at} of {}: {other:?}", instance.name()),
                });
                let texts =
                    (n_numbers..n_numbers + table.texts().count()).map(|at| match instance.value(at) {
                        Some(Published::Text(text)) => text.to_string(),
                        other => panic!("{at} of {}: {other:?}", instance.name()),
                    });
                rows.push(Known {
                    name: instance.name().to_string(),
                    id: instance.id(),
                    mother: instance.parent().map(|parent| parent.position),
                    numbers: numbers.collect(),
                    texts: texts.collect(),
                });
            }
        }
        rows
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(service) = &mut self.service {
            let _ = service.kill();
            let _ = service.wait();
        }
    }
}

/// Waits until a condition holds, long enough for a busy machine.
fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The program `tally`, which a build of the whole workspace puts beside this one.
fn tally() -> Option<PathBuf> {
    let tally = Path::new(env!("CARGO_BIN_EXE_behemoth")).with_file_name("tally");
    if tally.is_file() && tally.with_file_name("tally-host").is_file() {
        return Some(tally);
    }
    tallymon_testkit::skip("tally and tally-host are not built (cargo build -p tallymon-cli)");
    None
}

/// The library built with this test; the one beside the program may be older.
fn library() -> String {
    let library = std::env::current_exe().unwrap().with_file_name("libbehemoth.so");
    library.canonicalize().unwrap().display().to_string()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn memory_and_socket_have_the_same_figures() {
    let mut place = Place::new();
    place.serve(&["--seed", "7", "--steps", "900", "--slow", "0"]);
    let mut client = Client::new(place.socket());
    let figures: Figures = client.figures().unwrap().clone();
    let summary = figures.summary.clone();
    let (numbers, texts) = (summary.numbers, summary.texts);
    let mut wanted = vec![Known { name: String::new(), id: None, mother: None, numbers, texts }];
    for row in &figures.behemoths {
        let values = row.values.clone();
        let (numbers, texts) = (values.numbers, values.texts);
        let (name, id) = (row.name.clone(), i32::try_from(row.id).ok());
        wanted.push(Known { name, id, mother: figures.mother_of(row), numbers, texts });
    }
    assert!(wanted.len() > 8 && wanted.iter().any(|one| one.mother.is_some()));
    // Slots are reused, so the order in memory differs; mothers are compared by name.
    let by_name = |rows: Vec<Known>| {
        let name = |mother: Option<usize>| mother.map(|at| rows.get(at + 1).unwrap().name.clone());
        let all = rows.iter().map(|one| (&one.name, one.id, name(one.mother), &one.numbers, &one.texts));
        let mut all: Vec<String> = all.map(|one| format!("{one:?}")).collect();
        all.sort();
        all
    };
    assert_same(&by_name(place.published()), &by_name(wanted));
}

#[test]
fn the_library_queries_the_service_at_most_ten_times_a_second() {
    let mut place = Place::new();
    place.serve(&["--slow", "0"]);
    let answer = ask(&place.socket(), "figures", PATIENCE).unwrap();
    let socket = place.root.join("counted.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let questions = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&questions);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            counted.fetch_add(1, Ordering::Relaxed);
            let mut stream = stream.unwrap();
            stream.read_to_end(&mut Vec::new()).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    let mut client = Client::new(socket);
    let start = Instant::now();
    for _ in 0..10_000 {
        assert!(!client.figures().unwrap().behemoths.is_empty());
    }
    let most = start.elapsed().as_nanos() / FRESH.as_nanos() + 1;
    let before = questions.load(Ordering::Relaxed);
    assert!(before >= 1 && u128::from(before) <= most, "{before} questions, at most {most}");
    std::thread::sleep(FRESH);
    client.figures().unwrap();
    assert_eq!(questions.load(Ordering::Relaxed), before + 1);
}

#[test]
fn both_ways_give_the_same_answers() {
    let Some(tally) = tally() else { return };
    let mut place = Place::new();
    place.serve(&["--seed", "7", "--steps", "900", "--slow", "0"]);
    place.register(&tally);
    let values = |way: &str| {
        let mut paths = Vec::new();
        for (object, table) in [(r"\Behemoth{}(*)", BEHEMOTH), (r"\Behemoths Summary{}", SUMMARY)] {
            // The age depends on the time of each answer.
            let counters = table
                .object
                .counters
                .iter()
                .filter(|counter| !counter.counter_type.is_base() && symbol(counter.number) != "AGE");
            let names = counters.map(|counter| name(counter.number, "009"));
            paths.extend(names.map(|name| format!(r"{}\{name}", object.replace("{}", way))));
        }
        let mut arguments = vec!["get", "--interval", "10ms"];
        arguments.extend(paths.iter().map(String::as_str));
        let output = place.tally(&tally, &arguments);
        let mut lines: Vec<String> = text(&output).replace(way, "").lines().map(squeezed).collect();
        lines.sort();
        lines
    };
    let published = values("");
    assert!(published.len() > 20 * 8, "{published:?}");
    assert_same(&published, &values(" via Library"));
}

/// Checks that two lists are equal; otherwise prints the lines that only one of them has.
fn assert_same(one: &[String], other: &[String]) {
    let only = |one: &[String], other: &[String]| -> Vec<String> {
        one.iter().filter(|line| !other.contains(line)).cloned().collect()
    };
    assert_eq!(only(one, other), only(other, one));
    assert_eq!(one.len(), other.len());
}

/// A line with runs of blanks reduced to one; the runs align with longer names.
fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_killed_service_takes_its_objects_with_it() {
    let Some(tally) = tally() else { return };
    let mut place = Place::new();
    place.serve(&[]);
    place.register(&tally);
    let get = |place: &Place, path: &str| place.tally(&tally, &["get", "--plain", path]);
    let (published, asked) = (r"\Behemoths Summary\Behemoths", r"\Behemoths Summary via Library\Behemoths");
    for path in [published, asked] {
        let output = get(&place, path);
        let count: u32 = text(&output).trim().parse().unwrap();
        assert!(output.status.success() && (2..100).contains(&count), "{output:?}");
    }
    place.kill();
    let output = get(&place, published);
    assert_eq!((output.status.code(), text(&output).trim()), (Some(3), ""), "{output:?}");
    // The library's names stay, since they are installed. Its values are gone, and an event says why.
    let output = get(&place, asked);
    assert!(!output.status.success() && text(&output).trim().is_empty(), "{output:?}");
    let events = text(&place.tally(&tally, &["events", "--provider", "Behemoth", "--json"]));
    let last = events.lines().last().unwrap_or_default();
    assert!(last.contains("1014") && last.contains("21"), "{events}");
    assert!(place.published().is_empty());
    // A new service starts at the same path, although the old one could not clean up.
    place.serve(&[]);
    for path in [published, asked] {
        assert!(get(&place, path).status.success(), "{path}");
    }
}

#[test]
fn the_manager_changes_what_is_published() {
    let mut place = Place::new();
    let output = place.behemoth(&["list"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("no service listens at"), "{output:?}");
    place.serve(&["--slow", "0"]);
    let done = |place: &Place, arguments: &[&str]| text(&place.behemoth(arguments));
    assert_eq!(done(&place, &["add", "female", "Tamara"]), "Tamara walks in\n");
    assert_eq!(done(&place, &["feed", "tamara", "100"]), "tamara eats 100 kg\n");
    assert!(done(&place, &["list"]).contains("Tamara       female"));
    let tamara = place.published().into_iter().find(|row| row.name == "Tamara").unwrap();
    assert_eq!(tamara.numbers.get(BEHEMOTH.position("MEALS").unwrap()), Some(&1));
    assert_eq!(done(&place, &["remove", "Tamara"]), "Tamara goes away\n");
    assert!(!place.published().iter().any(|row| row.name == "Tamara"));
    for (arguments, why) in [
        (&["remove", "Tamara"][..], "there is no behemoth \"Tamara\""),
        (&["feed", "Nobody", "x"], "a number from 0 to 4294967295 needed, found \"x\""),
        (&["add", "calf"], "female or male needed, found \"calf\""),
        (&["add", "male", "a\\b"], "no short word"),
        (&["dance"], "\"dance\" is no command"),
    ] {
        let output = place.behemoth(arguments);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && words.contains(why), "{arguments:?}: {output:?}");
    }
    assert_eq!(done(&place, &["slow", "1"]), "a step takes 0.1 s\n");
    let before = place.published();
    wait_for("a step", || place.published() != before);
}

#[test]
fn garbage_on_the_socket_is_rejected() {
    let mut place = Place::new();
    place.serve(&[]);
    for question in ["", "\t\t", "figures\tx\u{0}", &"x".repeat(10_000), "feed\tA\t-1"] {
        // The end of a request that is too long may have no reader any more.
        let answer = ask(&place.socket(), question, PATIENCE).unwrap_or_else(|_| "error\t".to_string());
        assert!(answer.starts_with("error\t") || Figures::parse(&answer).is_ok(), "{answer:?}");
    }
    assert!(place.behemoth(&["list"]).status.success());
    // A second service does not replace the first.
    let output = place.behemoth(&["serve"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("another service listens at"), "{output:?}");
}

#[test]
fn a_killed_demonstration_takes_its_service_with_it() {
    if tally().is_none() {
        return;
    }
    let place = Place::new();
    let root = place.root.display().to_string();
    let mut demo = place.command(env!("CARGO_BIN_EXE_behemoth").as_ref());
    let demo = demo.args(["demo", "--root", &root, "--library", &library()]);
    let mut demo = demo.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for("the service", || ask(&place.socket(), "figures", PATIENCE).is_ok());
    demo.kill().unwrap();
    demo.wait().unwrap();
    wait_for("the end of the service", || ask(&place.socket(), "figures", PATIENCE).is_err());
    wait_for("the end of its counters", || place.published().is_empty());
}

/// `docs/samples/behemoth.md` contains the output of the demonstration. Numbers may differ, since machine and
/// time do; everything else is equal. `TALLYMON_BLESS=1` rewrites the page.
#[test]
fn the_page_equals_the_output_of_the_demonstration() {
    if tally().is_none() {
        return;
    }
    let place = Place::new();
    let root = place.root.display().to_string();
    let library = library();
    let output = place.behemoth(&["demo", "--still", "--once", "--root", &root, "--library", &library]);
    assert!(output.status.success(), "{output:?}");
    let printed = text(&output).replace(&library, "target/debug/libbehemoth.so");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/samples/behemoth.md");
    let old = fs::read_to_string(&page).unwrap();
    let mut new = String::new();
    let mut lines = old.lines();
    let mut commands = 0;
    while let Some(line) = lines.next() {
        new.push_str(line);
        new.push('\n');
        if let Some(command) =
            line.strip_prefix("$ ").filter(|one| one.starts_with("tally") || one.starts_with("behemoth"))
        {
            let answer = printed.split("$ ").find_map(|part| part.strip_prefix(&format!("{command}\n")));
            let answer =
                answer.unwrap_or_else(|| panic!("the demonstration does not run {command}:\n{printed}"));
            new.push_str(answer.trim_end());
            new.push_str("\n```\n");
            lines.by_ref().find(|line| *line == "```").unwrap();
            commands += 1;
        }
    }
    if std::env::var_os("TALLYMON_BLESS").is_some() {
        fs::write(&page, &new).unwrap();
        return;
    }
    assert!(commands > 8, "{commands} commands in {}", page.display());
    assert_same(&shape(&old), &shape(&new));
}

/// A text with one digit for each number, and one blank for each run of blanks.
fn shape(text: &str) -> Vec<String> {
    let digits = |line: &str| {
        let mut shape = String::new();
        for one in squeezed(line).chars() {
            let one = if one.is_ascii_hexdigit() && !one.is_ascii_lowercase() { '0' } else { one };
            if one != '0' || !shape.ends_with('0') {
                shape.push(one);
            }
        }
        shape.replace("0.0", "0")
    };
    text.lines().map(digits).collect()
}
