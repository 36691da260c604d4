//! The table of environment variables is complete, and the manual has it.
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use tallymon_provider::environment::VARIABLES;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Sources of what we ship, without tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    const TESTS: [&str; 6] = ["tests", "testkit", "test_support.rs", "test.rs", "target", "benches"];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if TESTS.contains(&name.as_str()) || name.ends_with("_tests.rs") {
            continue;
        }
        if path.is_dir() {
            sources(&path, found);
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
}

/// The variables of ours that a source file reads by their names.
fn read_by_name(text: &str) -> Vec<&str> {
    const READS: [&str; 5] = ["var(", "var_os(", "env =", "given(", "set(&"];
    let mut found = Vec::new();
    for (at, _) in text.match_indices("\"TALLY") {
        let (before, rest) = text.split_at(at);
        let word = rest[1..].split('"').next().unwrap();
        if READS.iter().any(|read| before.trim_end().ends_with(read)) {
            found.push(word);
        }
    }
    found
}

#[test]
fn every_variable_that_is_read_is_in_the_table() {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    assert!(files.len() > 300, "{}", files.len());
    let known: BTreeSet<&str> =
        VARIABLES.iter().flat_map(|variable| [Some(variable.name), variable.old]).flatten().collect();
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        // Unit tests are at the end of a file.
        for word in read_by_name(text.split("#[cfg(test)]").next().unwrap()) {
            // The profiler has variables of its own between the command and its library.
            let is_setting = !word.starts_with("TALLYMON_PROF_") && !word.starts_with("TALLYMON_TEST");
            assert!(!is_setting || known.contains(word), "{word} in {} is not in the table", file.display());
        }
    }
    let example = "let a = std::env::var_os(\"TALLY_NEW\"); let b = \"TALLY_NO\";";
    assert_eq!(read_by_name(example), ["TALLY_NEW"]);
}

#[test]
fn the_manual_has_the_table() {
    let manual = fs::read_to_string(root().join("docs/environment.md")).unwrap();
    let rows: Vec<&str> = manual.lines().filter(|line| line.starts_with("| `TALLY")).collect();
    let wanted: Vec<String> = VARIABLES
        .iter()
        .map(|variable| match variable.old {
            Some(old) => format!("| `{}` | {} | `{old}` |", variable.name, variable.what),
            None => format!("| `{}` | {} | |", variable.name, variable.what),
        })
        .collect();
    assert_eq!(rows, wanted);
}
