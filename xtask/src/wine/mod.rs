//! `cargo xtask wine`: the tests, compiled for Windows, run by Wine.
//!
//! Wine stands in for Windows where nobody has one at hand. What it lacks is named by the tests that skip.

mod logs;
mod peers;
mod prefix;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::{add_targets, cargo, root, run as execute, target_folder};
pub(crate) use prefix::Prefix;

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
const LINKED: &[&str] = &["tallymon-cli", "tallymon-capi", "tallymon-clr"];

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => {
            link()?;
            logs::compare(&Prefix::prepare()?)?;
            tests(PACKAGES, &[])?;
            dotnet()
        }
        ["--short"] => tests(SHORT, &[]),
        // The command beside other programs, without its other tests.
        ["--peers"] => tests(&["tallymon-cli"], &["--test", "windows"]),
        ["--logs"] => {
            link()?;
            logs::compare(&Prefix::prepare()?)
        }
        ["--dotnet"] => dotnet(),
        packages if packages.iter().all(|name| PACKAGES.contains(name)) => tests(packages, &[]),
        other => Err(format!(
            "unknown arguments {other:?}; it takes `--short`, `--logs`, `--peers`, `--dotnet`, or packages: \
             {PACKAGES:?}"
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

/// Runs the tests of these packages, or the test programs that are chosen by options of cargo, then prints
/// what they had to skip and why.
fn tests(packages: &[&str], chosen: &[&str]) -> Result<(), String> {
    add_targets(&[TARGET])?;
    let prefix = Prefix::prepare()?;
    let skips = target_folder().join("wine").join("skipped-tests.txt");
    fs::write(&skips, "").map_err(|error| format!("{}: {error}", skips.display()))?;
    // One run for all: packages one after the other would choose other features of what they have in common,
    // and compile it again.
    let mut command = cargo();
    command.args(["test", "--quiet", "--no-fail-fast", "--target", TARGET]);
    command.args(packages.iter().flat_map(|package| ["--package", package]));
    command.args(if chosen.is_empty() { &["--lib", "--bins", "--tests"] } else { chosen });
    if packages.contains(&"tallymon-log") {
        command.args(["--features", "tallymon-log/sqlite,tallymon-log/parquet"]);
    }
    if packages.contains(&"tallymon-cli") {
        command.env(peers::VARIABLE, peers::make()?);
    }
    prefix.set(&mut command);
    let result = execute(command.env(RUNNER, prefix.runner(LONGEST)).env("TALLYMON_SKIPS", &skips));
    let text = fs::read_to_string(&skips).unwrap_or_default();
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    lines.extend(packages.iter().flat_map(|package| for_other_systems(package)));
    lines.sort_unstable();
    lines.dedup();
    eprintln!("skipped under Wine: {}", if lines.is_empty() { "nothing" } else { "" });
    for line in lines {
        eprintln!("  {line}");
    }
    result
}

/// Runs the tests of the profiler in runtimes of Windows: the tests are programs of this system, which have
/// Wine run the runtimes.
fn dotnet() -> Result<(), String> {
    add_targets(&[TARGET])?;
    let prefix = Prefix::prepare()?;
    execute(cargo().args(["build", "--quiet", "--package", "tallymon-clr", "--target", TARGET]))?;
    let library = target_folder().join(TARGET).join("debug/tallymon_clr.dll");
    let mut command = cargo();
    command.args(["test", "--quiet", "--package", "tallymon-clr", "--test", "dotnet", "--", "--nocapture"]);
    prefix.set(&mut command);
    // Assemblies name mscoree.dll as what they need, and .NET 8 does not load them without it.
    command.env("WINEDLLOVERRIDES", "mshtml,explorer.exe,winedbg.exe=");
    execute(command.env("TALLYMON_WINE", prefix.wine()).env("TALLYMON_WINE_LIBRARY", library))
}

/// Whole test programs that are compiled for other systems only, so that no test of them can report a skip.
fn for_other_systems(package: &str) -> Vec<String> {
    const CONDITIONS: &[&str] = &["#![cfg(target_os = \"linux\")]", "#![cfg(unix)]"];
    let folder = root().join("crates").join(package.trim_start_matches("tallymon-")).join("tests");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let programs = entries.map(|path| if path.is_dir() { path.join("main.rs") } else { path });
    let is_left_out = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap_or_default();
        CONDITIONS.iter().any(|condition| text.lines().any(|line| line == *condition))
    };
    let name = |path: PathBuf| path.strip_prefix(root()).unwrap_or(&path).display().to_string();
    programs.filter(is_left_out).map(|path| format!("{} is not for Windows", name(path))).collect()
}

/// A command that `program` of PATH, or `fallback`, answers.
fn found(program: &str, fallback: &[&str]) -> Option<String> {
    let names = std::iter::once(&program).chain(fallback);
    names.copied().find(|name| Command::new(name).arg("--version").output().is_ok()).map(str::to_string)
}
