//! A C program that publishes, seen by another program.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed assumption of a test is its failure")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use tallymon_testkit::{peer, skip};

#[allow(dead_code, reason = "here it is always said which library is meant")]
mod bench;

use bench::{Bench, Library, SANITIZED};

/// Runs the program, and `tally get` while it publishes; what `tally` shows while it does and afterwards.
fn shown(program: &Path, bench: &Bench, tally: Option<&Path>) -> Option<(String, String)> {
    let root = bench.0.join("root");
    let mut child = bench.run(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert_eq!(first, "0 wrong", "{:#?}", lines.collect::<Vec<_>>());
    let get = |tally: &Path| {
        let paths = [r"\Behemoth(*)\*", r"\Behemoths Summary\*"];
        let mut command = Command::new(tally);
        let output =
            command.arg("get").args(paths).env("TALLYMON_ROOT", &root).env("LC_ALL", "C").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let before = tally.map(get);
    drop(child.stdin.take());
    let rest: Vec<_> = lines.collect();
    assert!(child.wait().unwrap().success(), "{rest:#?}");
    // Everything was closed, so that the file is gone although nobody was killed.
    assert_eq!(std::fs::read_dir(root.join("pub")).unwrap().count(), 0);
    before.zip(tally.map(get))
}

fn check(library: Library) {
    let Some(gcc) = peer("gcc") else { return };
    let bench = Bench::new(&format!("publish-{library:?}"));
    let program =
        bench.link(&gcc, &[SANITIZED, &["-Wall", "-Wextra"]].concat(), &["tests/c/publish.c"], library);
    // The command lies one folder above the tests if it was built.
    let built = std::env::current_exe().unwrap().parent().unwrap().with_file_name("tally");
    let tally = Some(built).filter(|file| file.is_file());
    if tally.is_none() {
        skip("the command tally was not built, what it shows of a C program is not tested");
    }
    let output = shown(&program, &bench, tally.as_deref());
    let Some((before, after)) = output else { return };
    for line in [
        r"\Behemoth(Ada)\Weight 8500",
        r"\Behemoth(Ada)\Meals 400000",
        r"\Behemoth(Ada)\Steps 400000",
        // 16 bytes hold eight letters of two.
        r"\Behemoth(Ada)\Mood грустный",
        r"\Behemoth(Ada)\% Awake 25.000 %",
        r"\Behemoth(Ada)\Walk (count) 100",
        r"\Behemoth(Ada)\X 18",
        r"\Behemoth(Ada)\Y 3",
        r"\Behemoths Summary\Count 2",
    ] {
        let words: Vec<&str> = line.split_whitespace().collect();
        let same = |shown: &str| shown.split_whitespace().eq(words.iter().copied());
        assert!(before.lines().any(same), "{line} is not in\n{before}");
    }
    assert!(before.contains(r"\Behemoth(Ada/Bob)\Weight"), "{before}");
    assert!(!after.contains("8500"), "{after}");
}

#[test]
fn a_program_with_the_shared_library_publishes() {
    check(Library::Shared);
}

#[test]
fn a_program_with_the_static_library_publishes() {
    check(Library::Static);
}

/// What the functions of the header make of a number, whatever compiles them, and whatever it optimizes.
fn adds_without_a_call(compiler: &str, language: &[&str], library: Library) {
    let Some(path) = peer(compiler) else { return };
    for level in ["-O0", "-O2"] {
        let bench = Bench::new(&format!("numbers-{compiler}{level}-{library:?}"));
        let options = [language, &[level, "-Wall", "-Wextra", "-Werror"]].concat();
        let program = bench.link(&path, &options, &["tests/c/numbers.c"], library);
        let output = bench.run(&program).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said == "0 wrong\n", "{compiler} {level}: {said}");
    }
}

#[test]
fn numbers_are_added_to_without_a_call_in_c() {
    adds_without_a_call("gcc", &["-std=gnu99"], Library::Shared);
    adds_without_a_call("gcc", &["-std=gnu89"], Library::Static);
    adds_without_a_call("clang", &["-std=gnu99"], Library::Shared);
}

#[test]
fn numbers_are_added_to_without_a_call_in_cpp() {
    adds_without_a_call("g++", &["-x", "c++", "-std=gnu++98"], Library::Shared);
    adds_without_a_call("g++", &["-x", "c++", "-std=gnu++20"], Library::Static);
    adds_without_a_call("clang++", &["-x", "c++", "-std=gnu++17"], Library::Shared);
}
