//! Every header compiles alone, as C and as C++, for bytes and for wide characters, without a warning.
#![allow(clippy::unwrap_used, reason = "a failed assumption of a test is its failure")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tallymon_testkit::peer;

/// The standards that old and new programs are compiled with.
const COMPILERS: &[(&str, &str, &[&str])] =
    &[("gcc", "c", &["c89", "c99", "gnu17"]), ("g++", "c++", &["c++98", "c++11", "c++20"])];
/// TCHAR is bytes, or 16-bit units; `L"..."` has 16-bit units, or is not used.
const WORDS: &[&[&str]] =
    &[&[], &["-fshort-wchar"], &["-DUNICODE", "-D_UNICODE", "-fshort-wchar"], &["-DUNICODE"]];

fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}

/// Every header, and the order of includes that a Windows program has.
fn headers() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(include())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".h"))
        .map(|name| format!("#include <{name}>\n"))
        .collect();
    names.sort();
    assert!(names.len() >= 9, "{names:?}");
    names.push(names.concat());
    names.push(names.iter().rev().map(String::as_str).collect());
    names
}

fn compile(compiler: &Path, options: &[&str], source: &str) -> Result<(), String> {
    let mut child = Command::new(compiler)
        .args(options)
        .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-c", "-o", "/dev/null", "-I"])
        .arg(include())
        .arg("-")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(source.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

#[test]
fn every_header_compiles_alone() {
    for (compiler, language, standards) in COMPILERS {
        let Some(compiler) = peer(compiler) else { continue };
        for standard in *standards {
            for words in WORDS {
                for include in headers() {
                    let standard = format!("-std={standard}");
                    let options = [&["-x", language, standard.as_str()], *words].concat();
                    // An empty translation unit is forbidden, and a header of constants alone is one.
                    let source = format!("{include}extern int nothing;\n");
                    if let Err(error) = compile(&compiler, &options, &source) {
                        panic!("{options:?} {include}{error}");
                    }
                }
            }
        }
    }
}

/// Programs of the time had such a main. C++ refuses it in every standard.
#[test]
fn a_main_without_a_value_compiles_as_c() {
    let Some(gcc) = peer("gcc") else { return };
    let source = "#include <windows.h>\n#include <pdh.h>\nvoid main()\n{\n    PDH_HQUERY query;\n    \
                  if (PdhOpenQuery(NULL, 0, &query) == ERROR_SUCCESS)\n        PdhCloseQuery(query);\n}\n";
    for standard in ["-ansi", "-std=gnu89", "-std=c99", "-std=gnu17"] {
        let options = ["-x", "c", standard, "-Wno-main", "-Wno-strict-prototypes", "-fshort-wchar"];
        compile(&gcc, &options, source).unwrap_or_else(|error| panic!("{standard}: {error}"));
    }
}

/// A structure with another layout must not compile: the assertions would be worth nothing otherwise.
#[test]
fn an_assertion_of_a_layout_can_fail() {
    let Some(gcc) = peer("gcc") else { return };
    let wrong = "#include <winperf.h>\nTALLYMON_AT(PERF_DATA_BLOCK, PerfTime, 52);\n";
    let error = compile(&gcc, &["-x", "c"], wrong).unwrap_err();
    assert!(error.contains("PERF_DATA_BLOCK.PerfTime is not where NT has it"), "{error}");
}
