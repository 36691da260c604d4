//! What a program publishes: in the command, and in the performance registry by `tallymon_perf.dll`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use tallymon_testkit::Scratch;

use crate::provider::{Provider, peer, reader};
use crate::{parsed, printed, tally};

const SERVICE: &str = "TallymonPublished";

/// A program that publishes the object Behemoth; dropping it kills the program.
struct Program(Child);

impl Program {
    /// Starts a peer, and waits for its line with these words, which says that it publishes.
    fn start(name: &str, words: &str) -> Option<Program> {
        let mut command = Command::new(peer(name)?);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let line = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok).next();
        assert!(line.as_ref().is_some_and(|line| line.contains(words)), "{name}: {line:?}");
        Some(Program(child))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Values, names and help texts of a program in Rust, and that they go with it.
#[test]
fn a_program_that_publishes_is_shown_until_it_ends() {
    let Some(provider) = Provider::register("TallymonTest") else { return };
    let Some(program) = Program::start("publish.exe", ".pub") else { return };
    let get = |path: &str| printed(&["get", "--plain", path]);
    assert_eq!(get(r"\Behemoth(Ada)\Mood").trim(), "hungry");
    assert!(get(r"\Behemoth(Ada)\Weight").trim().parse::<u64>().unwrap() >= 9000);
    assert!(get(r"\Behemoth(Ada)\Meals/sec").trim().parse::<f64>().unwrap() > 0.0);
    // Beside the objects of the registry.
    let list = printed(&["list"]);
    assert!(list.contains("Behemoth") && list.contains("Processor"), "{list}");
    drop(program);
    let output = tally(&["get", r"\Behemoth(Ada)\Weight"]);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stdout));
    drop(provider);
}

/// A program in C, with the headers of Windows and `tallymon_capi.dll`, that publishes every kind of counter.
#[test]
fn a_program_in_c_publishes() {
    let Some(provider) = Provider::register("TallymonTest") else { return };
    let Some(program) = Program::start("publish-c.exe", "0 wrong") else { return };
    let get = |path: &str| printed(&["get", "--plain", path]).trim().to_owned();
    for (path, expected) in [
        (r"\Behemoth(Ada)\Weight", "8500"),
        (r"\Behemoth(Ada)\Meals", "400000"),
        (r"\Behemoth(Ada)\Steps", "400000"),
        (r"\Behemoth(Ada)\Mood", "грустный"),
        (r"\Behemoth(Ada)\% Awake", "25"),
        (r"\Behemoth(Ada)\Walk (count)", "100"),
        (r"\Behemoth(Ada)\X", "18"),
        (r"\Behemoth(Ada)\Y", "3"),
        (r"\Behemoths Summary\Count", "2"),
    ] {
        assert_eq!(get(path), expected, "{path}");
    }
    assert!(printed(&["get", r"\Behemoth(*)\Weight"]).contains("Ada/Bob"));
    drop((program, provider));
}

/// The command registers what is published, and another program finds it in the performance registry.
#[test]
fn published_sets_are_in_the_performance_registry() {
    const FIRST: u32 = 9000;
    let folder = Scratch::new();
    let at = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    // Under Wine `lodctr` does nothing, so the test writes what it would write.
    let ini = at("tallymon_perf.ini");
    let Some(provider) = Provider::behind_gap(SERVICE, "tallymon_perf.dll", FIRST, Some(&ini)) else {
        return;
    };
    provider.set("Last Counter", "REG_DWORD", &(FIRST + 6).to_string());
    let Some(program) = Program::start("publish.exe", ".pub") else { return };
    let library = peer("tallymon_perf.dll").unwrap();
    let commands = printed(&["provider", "perfmon", &at(""), "--library", library.to_str().unwrap()]);
    let commands: Vec<&str> = commands.lines().collect();
    let expected = ["unlodctr TallymonPublished", "reg import tallymon_perf.reg", "lodctr tallymon_perf.ini"];
    assert_eq!(commands[0], "chcp 65001");
    assert_eq!(commands[2..], expected);
    let symbols = fs::read_to_string(at("tallymon_perf.h")).unwrap().replace('\r', "");
    assert_eq!(
        symbols,
        "#define SET0 0\n#define SET0_COUNTER2 2\n#define SET0_COUNTER4 4\n#define SET0_COUNTER6 6\n"
    );
    let found = parsed(&reader(&["9000"]));
    let places: Vec<&str> = found.iter().map(|(place, _)| place.as_str()).collect();
    // Meals/sec, Weight and Mood, with the types that the program gave them.
    assert_eq!(
        places,
        ["9000\tAda\t9002\t10410500", "9000\tAda\t9004\t00010100", "9000\tAda\t9006\t00000b00"]
    );
    assert!(found[1].1 >= 9000, "{found:?}");
    // The command itself has the set once, from the program.
    let list = printed(&["list"]);
    assert_eq!(list.matches("Behemoth").count(), 1, "{list}");
    assert_eq!(printed(&["get", "--plain", r"\Behemoth(Ada)\Mood"]).trim(), "hungry");
    drop(program);
    assert_eq!(reader(&["9000"]), "");
    drop(provider);
}

/// The registration is what `reg` takes over.
#[test]
fn the_registration_is_imported_by_reg() {
    let Some(provider) = Provider::register("TallymonTest") else { return };
    let Some(program) = Program::start("publish.exe", ".pub") else { return };
    let folder = Scratch::new();
    let library = r"C:\Program Files\Tallymon\tallymon_perf.dll";
    printed(&["provider", "perfmon", folder.to_str().unwrap(), "--library", library]);
    drop(program);
    let reg = |words: &[&str]| {
        let output = Command::new("reg").args(words).output().unwrap();
        assert!(output.status.success(), "reg {words:?}: {}", String::from_utf8_lossy(&output.stdout));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    reg(&["import", folder.join("tallymon_perf.reg").to_str().unwrap()]);
    let key = r"HKLM\SYSTEM\CurrentControlSet\Services\TallymonPublished";
    let performance = reg(&["query", &format!(r"{key}\Performance"), "/v", "Library"]);
    assert!(performance.contains(library), "{performance}");
    let export = reg(&["query", &format!(r"{key}\Linkage"), "/v", "Export"]);
    assert!(export.contains(folder.join("tallymon_perf.ini").to_str().unwrap()), "{export}");
    reg(&["delete", key, "/f"]);
    drop(provider);
}
