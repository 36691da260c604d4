//! The two listings of the article: compiled, registered with `tally lodctr`, and shown by the command.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tallymon_testkit::peer;

use crate::support::{Place, Provider};

/// Exit code, standard output and standard error of the command.
pub(crate) fn tally(place: &Place, words: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_tally"))
        .args(words)
        .env("TALLYMON_ROOT", &place.0)
        .env_remove("TALLYMON_HOST")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

pub(crate) fn ok(place: &Place, words: &[&str]) -> String {
    let (code, out, err) = tally(place, words);
    assert_eq!(code, 0, "{words:?}: {err}");
    out
}

/// Compiles a listing, registers it with a .reg file and installs its names with lodctr; `false` without a compiler.
fn install(place: &Place, name: &str, service: &str) -> bool {
    let Some(compiler) = peer("g++") else { return false };
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../provider/examples/c");
    let library = place.0.join(format!("lib{name}.so"));
    let output = Command::new(compiler)
        .args(["-Wall", "-Werror", "-shared", "-fPIC", "-fshort-wchar", "-I"])
        .arg(examples.join("../../../capi/include"))
        .arg("-I")
        .arg(&examples)
        .arg(examples.join(name).join(format!("{name}.cpp")))
        .arg("-o")
        .arg(&library)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let reg = place.0.join(format!("{name}.reg"));
    let text = format!(
        "REGEDIT4\n\n[HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Services\\{service}\\Performance]\n\
         \"Library\"=\"{}\"\n\"Open\"=\"Open\"\n\"Collect\"=\"Collect\"\n\"Close\"=\"Close\"\n\
         \"Deadline\"=dword:00001f40\n",
        library.display()
    );
    fs::write(&reg, text).unwrap();
    ok(place, &["provider", "--system", "add", &reg.display().to_string()]);
    ok(place, &["lodctr", &examples.join(name).join(format!("{name}.ini")).display().to_string()]);
    true
}

#[test]
fn the_object_without_instances() {
    let place = Place::new();
    if !install(&place, "myperf1", "MyPerf1") {
        return;
    }
    let list = ok(&place, &["list"]);
    assert!(list.contains("MyPerf1"), "{list}");
    let list = ok(&place, &["list", "MyPerf1"]);
    assert!(list.contains("Greeting") && list.contains("Random Number"), "{list}");
    let csv = ok(&place, &["get", "\\MyPerf1\\*", "--csv"]);
    assert!(csv.contains("Hello, World!"), "{csv}");
    let russian = ok(&place, &["get", "\\МояПроизводительность1\\Приветствие", "--csv"]);
    assert!(russian.contains("Hello, World!"), "{russian}");
    let dump = ok(&place, &["dump", "1848"]);
    let text: String = "Hello, World!\0".bytes().map(|byte| format!("{byte:02x} 00 ")).collect();
    assert!(dump.contains(&format!("{text} Greeting")), "{dump}");
    // The first random number of a program that does not call srand.
    assert!(dump.contains(" 3  Random Number"), "{dump}");
    // Nothing went wrong on the way, and after removal nothing is there.
    let events = fs::read_to_string(place.0.join("events.jsonl")).unwrap_or_default();
    assert!(!events.contains("Perflib"), "{events}");
    ok(&place, &["unlodctr", "MyPerf1"]);
    let (code, _, err) = tally(&place, &["get", "\\MyPerf1\\Greeting"]);
    assert_eq!(code, 3, "{err}");
}

#[test]
fn the_object_with_instances() {
    let place = Place::new();
    if !install(&place, "myperf1_inst", "MyPerf1_inst") {
        return;
    }
    let instances = ok(&place, &["list", "MyPerf1 Instances", "--instances"]);
    let wanted = ["first", "second", "the third"].map(|name| format!("\\MyPerf1 Instances({name})"));
    assert_eq!(instances.lines().collect::<Vec<_>>(), wanted);
    let csv = ok(&place, &["get", "\\MyPerf1 Instances(*)\\Random Number", "--csv"]);
    for name in ["first", "second", "the third"] {
        assert!(csv.contains(&format!("MyPerf1 Instances({name})")), "{csv}");
    }
    let row = csv.lines().last().unwrap_or_default();
    let values: Vec<f64> =
        row.split(',').skip(1).filter_map(|cell| cell.trim_matches('"').parse().ok()).collect();
    // Each value is between its instance's hundred and the next.
    let hundreds: Vec<f64> = values.iter().map(|value| (value / 100.0).floor()).collect();
    assert_eq!(hundreds, [1.0, 2.0, 3.0], "{csv}");
    let dump = ok(&place, &["dump", "1848"]);
    assert!(dump.contains("the third"), "{dump}");
}

#[test]
fn events_are_shown() {
    let place = Place::new();
    if !install(&place, "myperf1", "MyPerf1") {
        return;
    }
    // A library that is not there.
    fs::remove_file(place.0.join("libmyperf1.so")).unwrap();
    let (_, _, _) = tally(&place, &["get", "\\MyPerf1\\Greeting"]);
    ok(&place, &["unlodctr", "MyPerf1"]);
    let lines = ok(&place, &["events"]);
    let ids = |lines: &str| -> Vec<String> {
        lines.lines().filter_map(|line| line.split_whitespace().nth(3).map(str::to_string)).collect()
    };
    let all = ids(&lines);
    assert_eq!((all.first().unwrap().as_str(), all.last().unwrap().as_str()), ("1000", "1001"), "{lines}");
    assert!(all.contains(&"1023".to_string()) && lines.contains("libmyperf1.so"), "{lines}");
    assert_eq!(ids(&ok(&place, &["events", "--last", "1"])), ["1001"]);
    assert_eq!(ok(&place, &["events", "--provider", "Other"]), "");
    let json = ok(&place, &["events", "--json", "--provider", "myperf1", "--last", "1"]);
    let event: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(event["fields"]["LastCounter"], "1852");
    assert_eq!(event["source"], "Microsoft-Windows-LoadPerf");
}

#[test]
fn a_library_is_checked_by_the_name_of_its_service() {
    let place = Place::new();
    if !install(&place, "myperf1", "MyPerf1") {
        return;
    }
    let out = ok(&place, &["provider", "check", "myperf1"]);
    for query in ["Global", "Costly", "1848"] {
        assert!(out.contains(&format!("  {query:8} objects 1848, 184 bytes, 1 calls of Collect")), "{out}");
    }
    let bad = Provider { service: "Bad", fault: "SIZES_LEFT", ..Provider::default() };
    place.install(&bad).unwrap();
    let (code, out, err) = tally(&place, &["provider", "check", "Bad"]);
    assert_eq!(code, 7, "{err}");
    assert!(out.contains("warning 2000: Collect of "), "{out}");
    assert!(!place.disabled("Bad"), "a check changes nothing");
    // The doctor names both; the bad one is disabled by being asked.
    let doctor = ok(&place, &["doctor", "--verbose"]);
    assert!(doctor.contains("service MyPerf1") && doctor.contains("service Bad"), "{doctor}");
    assert!(place.disabled("Bad"));
}

#[test]
fn a_service_is_called_by_its_name_in_any_language() {
    let place = Place::new();
    if !install(&place, "myperf1", "MyPerf1") {
        return;
    }
    // German comes later than the service, with some of the texts.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../provider/examples/c/myperf1");
    fs::copy(folder.join("offset.h"), place.0.join("offset.h")).unwrap();
    let later = fs::read_to_string(folder.join("myperf1.ini"))
        .unwrap()
        .replace("009=English\n", "009=English\n007=German\n")
        + "TYPE_OFFSET_007_NAME=MeineLeistung1\nCOUNTER1_OFFSET_007_NAME=Gruß\n";
    let ini = place.0.join("later.ini");
    fs::write(&ini, later).unwrap();
    ok(&place, &["provider", "translate", &ini.display().to_string()]);
    let greeting = ok(&place, &["get", "--csv", "\\MyPerf1\\Greeting"]);
    let greeting = greeting.lines().last().unwrap().split_once(',').unwrap().1.to_string();
    for path in [
        "\\МояПроизводительность1\\Приветствие",
        "\\MeineLeistung1\\Gruß",
        "\\meineleistung1\\greeting",
        "\\1848\\1850",
    ] {
        let row = ok(&place, &["get", "--csv", path]);
        assert!(row.lines().last().unwrap().ends_with(&greeting), "{path}: {row}");
    }
    for (language, object, counter) in [
        ("007", "MeineLeistung1", "Random Number"),
        ("ru", "МояПроизводительность1", "Случайное число"),
        ("012", "MyPerf1", "Random Number"),
        ("en", "MyPerf1", "Random Number"),
    ] {
        let list = ok(&place, &["list", "--lang", language, object]);
        assert!(list.contains(object) && list.contains(counter), "{language}: {list}");
    }
}
