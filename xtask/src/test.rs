//! `cargo xtask test`: every test that can run here.

use std::fs;

use crate::{cargo, root};

/// Runs the tests of every member, then prints what they had to skip and why.
fn run_tests(peers_required: bool) -> Result<(), String> {
    let skips = root().join("target").join("skipped-tests.txt");
    if let Some(folder) = skips.parent() {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    fs::write(&skips, "").map_err(|error| format!("{}: {error}", skips.display()))?;
    // The command itself first, so that tests which run it find a fresh one.
    crate::run(cargo().args(["build", "--package", "tallymon-cli"]))?;
    let mut command = cargo();
    command.args(["test", "--workspace", "--quiet", "--no-fail-fast"]).env("TALLYMON_SKIPS", &skips);
    if peers_required {
        command.env("TALLYMON_PEERS", "required");
    }
    let result = crate::run(&mut command);
    let text = fs::read_to_string(&skips).unwrap_or_default();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    if lines.is_empty() {
        eprintln!("nothing was skipped");
    } else {
        eprintln!("skipped, because what they need is not here:");
        for line in lines {
            eprintln!("  {line}");
        }
    }
    result
}

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => run_tests(false),
        ["--peers", "required"] => run_tests(true),
        other => Err(format!("unknown arguments {other:?}; it takes `--peers required` or nothing")),
    }
}
