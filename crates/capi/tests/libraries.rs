//! The shared and the static library: every function of the headers is in both, and programs run with each.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed assumption of a test is its failure")]

use std::fmt::Write;

use tallymon_testkit::peer;

#[allow(dead_code, reason = "here it is always said which library is meant")]
mod bench;

use bench::{Bench, Library, SANITIZED, lines};

const HEADERS: [&str; 5] = [
    include_str!("../include/pdh.h"),
    include_str!("../include/winreg.h"),
    include_str!("../include/windows.h"),
    include_str!("../include/loadperf.h"),
    include_str!("../include/tallymon.h"),
];

/// The functions that the headers declare.
fn functions() -> Vec<&'static str> {
    let declared = HEADERS.iter().flat_map(|header| header.lines()).filter_map(|line| {
        let (before, rest) = line.split_once(" WINAPI ")?;
        let is_type = before.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_');
        (is_type || before == "void" || before == "int").then_some(rest.split_once('(')?.0)
    });
    declared.collect()
}

/// A program that has the address of each.
#[test]
fn both_libraries_have_every_function_of_the_headers() {
    let Some(gcc) = peer("gcc") else { return };
    let functions = functions();
    let has = |name: &str| functions.contains(&name);
    assert!(functions.len() > 150 && has("PdhGetFormattedCounterArrayW") && has("RegConnectRegistryA"));
    let mut source = String::from(
        "#include <windows.h>\n#include <pdh.h>\n#include <loadperf.h>\n#include <tallymon.h>\n",
    );
    source += "typedef void (*function)(void);\nstatic const function all[] = {\n";
    functions.iter().for_each(|name| writeln!(source, "    (function){name},").unwrap());
    source += "};\nint main(void) {\n    int at, none = 0;\n";
    source += "    for (at = 0; at < (int)(sizeof all / sizeof *all); at++) none += !all[at];\n    return none;\n}\n";
    for library in [Library::Shared, Library::Static] {
        let bench = Bench::new(&format!("functions-{library:?}"));
        let file = bench.0.join("all.c");
        std::fs::write(&file, &source).unwrap();
        let program = bench.link(&gcc, &["-Wall"], &[file.to_str().unwrap()], library);
        assert_eq!(lines(&bench.run(&program).output().unwrap()), [""; 0]);
    }
}

/// What every function answers, with the static library.
#[test]
fn a_program_with_the_static_library_gets_the_same_statuses() {
    let Some(gcc) = peer("gcc") else { return };
    let bench = Bench::new("static");
    let options = [SANITIZED, &["-Wall", "-Wextra", "-Wno-sign-compare"]].concat();
    let program = bench.link(&gcc, &options, &["tests/c/arguments.c"], Library::Static);
    let output = bench.run(&program).env_remove("LD_LIBRARY_PATH").output().unwrap();
    let said = lines(&output);
    let [summary] = &said[..] else { panic!("{said:#?}") };
    assert!(summary.ends_with(" 0 on purpose not, 0 wrong"), "{summary}");
}

/// So does one that C++ compiled.
#[test]
fn a_program_in_cpp_with_the_static_library() {
    let Some(compiler) = peer("g++") else { return };
    let bench = Bench::new("static-cpp");
    // C++ knows no texts that may be written to, and C no others.
    let options = [SANITIZED, &["-x", "c++", "-fpermissive", "-w"]].concat();
    let program = bench.link(&compiler, &options, &["examples/c/pdh_wildcards.c"], Library::Static);
    let paths = [r"\Processor(*)\% Processor Time", r"\Memory\Available Bytes"];
    let said = lines(&bench.run(&program).args(["-i", "50"]).args(paths).output().unwrap());
    assert!(said.iter().filter(|line| line.starts_with("value ")).count() >= 3, "{said:?}");
}
