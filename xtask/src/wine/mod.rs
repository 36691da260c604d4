//! `cargo xtask wine`: the tests, compiled for Windows, run by Wine.
//!
//! Wine stands in for Windows where nobody has one at hand. What it lacks is named by the tests that skip.

mod logs;
mod prefix;

use std::fs;
use std::process::Command;

use crate::{add_targets, cargo, run as execute, target_folder};
use prefix::Prefix;

const TARGET: &str = "x86_64-pc-windows-gnu";
/// The variable that names what runs a program of this target.
const RUNNER: &str = "CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER";
/// Each test program is stopped after so many seconds.
const LONGEST: &str = "900";

/// The packages whose tests run, and those of the short form.
const PACKAGES: &[&str] = &[
    "tallymon-core",
    "tallymon-log",
    "tallymon-provider",
    "tallymon-host",
    "tallymon",
    "tallymon-monitor",
    "tallymon-cli",
];
const SHORT: &[&str] = &["tallymon-core", "tallymon-log", "tallymon"];
/// Programs and libraries that must link, beside what the tests link.
const LINKED: &[&str] = &["tallymon-cli", "tallymon-capi"];

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => {
            link()?;
            logs::compare(&Prefix::prepare()?)?;
            tests(PACKAGES)
        }
        ["--short"] => tests(SHORT),
        ["--logs"] => {
            link()?;
            logs::compare(&Prefix::prepare()?)
        }
        packages if packages.iter().all(|name| PACKAGES.contains(name)) => tests(packages),
        other => Err(format!(
            "unknown arguments {other:?}; it takes `--short`, `--logs`, or packages: {PACKAGES:?}"
        )),
    }
}

/// Links what a user of Windows gets.
fn link() -> Result<(), String> {
    add_targets(&[TARGET])?;
    for package in LINKED {
        execute(cargo().args(["build", "--quiet", "--package", package, "--target", TARGET]))?;
    }
    Ok(())
}

/// Runs the tests of these packages, then prints what they had to skip and why.
fn tests(packages: &[&str]) -> Result<(), String> {
    add_targets(&[TARGET])?;
    let prefix = Prefix::prepare()?;
    let skips = target_folder().join("wine").join("skipped-tests.txt");
    fs::write(&skips, "").map_err(|error| format!("{}: {error}", skips.display()))?;
    let mut failed = Vec::new();
    for package in packages {
        let mut command = cargo();
        command.args(["test", "--quiet", "--no-fail-fast", "--target", TARGET, "--package", package]);
        command.args(["--lib", "--bins", "--tests"]);
        if *package == "tallymon-log" {
            command.args(["--features", "sqlite,parquet"]);
        }
        prefix.set(&mut command);
        if *package == "tallymon-cli" {
            for (variable, file) in prefix.peers()? {
                command.env(variable, file);
            }
        }
        command.env(RUNNER, prefix.runner(LONGEST)).env("TALLYMON_SKIPS", &skips);
        if execute(&mut command).is_err() {
            failed.push(*package);
        }
    }
    let text = fs::read_to_string(&skips).unwrap_or_default();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    eprintln!("skipped under Wine: {}", if lines.is_empty() { "nothing" } else { "" });
    for line in lines {
        eprintln!("  {line}");
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("these packages have tests that fail: {failed:?}")) }
}

/// A command that `program` of PATH, or `fallback`, answers.
fn found(program: &str, fallback: &[&str]) -> Option<String> {
    let names = std::iter::once(&program).chain(fallback);
    names.copied().find(|name| Command::new(name).arg("--version").output().is_ok()).map(str::to_string)
}
