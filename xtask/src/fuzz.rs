//! `cargo xtask fuzz`: runs every fuzz target for a fixed count, on the stable compiler.
//!
//! Coverage comes from the compiler's own pass, switched on by the flags that cargo-fuzz uses too. There is
//! no sanitizer, since the code under test has no unsafe parts.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::{root, run as execute, target_folder};

const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Cdebug-assertions --cfg fuzzing";

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let (mut runs, mut seconds) = (200_000u64, None);
    let mut wanted: Vec<&str> = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == "--runs" {
            let number = words.next().ok_or("--runs needs a number")?;
            runs = number.parse().map_err(|_| format!("--runs needs a number, not {number:?}"))?;
        } else if word == "--seconds" {
            let number = words.next().ok_or("--seconds needs a number")?;
            let number: u32 =
                number.parse().map_err(|_| format!("--seconds needs a number, not {number:?}"))?;
            seconds = Some(number);
        } else {
            wanted.push(word);
        }
    }
    let targets = targets()?;
    if let Some(unknown) = wanted.iter().find(|word| !targets.iter().any(|target| target == *word)) {
        return Err(format!("no fuzz target {unknown:?}; there are {}", targets.join(", ")));
    }
    let host = host()?;
    let folder = target_folder().join("fuzz");
    let mut build = crate::cargo();
    // A named target keeps the flags away from build scripts.
    build.current_dir(root().join("fuzz")).args(["build", "--release", "--quiet", "--target", &host]);
    execute(build.env("RUSTFLAGS", FLAGS).env("CARGO_TARGET_DIR", &folder))?;
    let programs = folder.join(&host).join("release");
    let chosen = targets.into_iter().filter(|target| wanted.is_empty() || wanted.contains(&target.as_str()));
    // As many at a time as there are processors; each takes the next one when its target has ended.
    let queue = Mutex::new(chosen);
    let failed = Mutex::new(Vec::new());
    let take = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let workers = std::thread::available_parallelism().map_or(1, NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(target) = take() {
                    if let Err(error) = fuzz(&target, &programs, &folder.join("found"), (runs, seconds)) {
                        failed.lock().unwrap_or_else(PoisonError::into_inner).push(error);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n")) }
}

/// Runs one target; what it prints is shown when it has ended.
fn fuzz(target: &str, programs: &Path, found: &Path, limits: (u64, Option<u32>)) -> Result<(), String> {
    // New inputs go to a folder of their own; only people change the corpus in the tree.
    let found = found.join(target);
    std::fs::create_dir_all(&found).map_err(|error| format!("{}: {error}", found.display()))?;
    let mut fuzz = Command::new(programs.join(target));
    fuzz.current_dir(root().join("fuzz")).arg(&found).arg(format!("corpus/{target}"));
    let (runs, seconds) = limits;
    fuzz.arg(format!("-runs={runs}"));
    fuzz.args(seconds.map(|seconds| format!("-max_total_time={seconds}")));
    fuzz.args(["-seed=1", "-max_len=262144", "-timeout=20", "-print_final_stats=1", "-verbosity=0"]);
    fuzz.arg("-rss_limit_mb=2048");
    let start = Instant::now();
    let output = fuzz.output().map_err(|error| format!("{target} did not start: {error}"))?;
    let seconds = start.elapsed().as_secs_f64();
    let text = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        let number = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.map_or("?", str::trim).to_string()
        };
        let (inputs, memory) = (number("stat::number_of_executed_units:"), number("stat::peak_rss_mb:"));
        eprintln!("fuzz {target}: {inputs} inputs in {seconds:.0} s, at most {memory} MB");
        return Ok(());
    }
    // The input that failed is in `fuzz`, and is named in the text.
    eprintln!("{text}");
    Err(format!("fuzz target {target} failed after {seconds:.0} s: {}", output.status))
}

/// The targets are the files of `fuzz/targets`.
fn targets() -> Result<Vec<String>, String> {
    let folder: PathBuf = root().join("fuzz/targets");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| Some(entry.path().file_stem()?.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    Ok(names)
}

fn host() -> Result<String, String> {
    let output =
        Command::new("rustc").arg("-vV").output().map_err(|error| format!("rustc did not start: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_string).ok_or_else(|| "rustc -vV names no host".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page says how long each target ran once.
    #[test]
    fn every_target_is_in_the_table() {
        let page = std::fs::read_to_string(root().join("docs/security.md")).unwrap();
        let table =
            page.split("#### Hostile bytes").nth(1).and_then(|rest| rest.split("\n#### ").next()).unwrap();
        for target in targets().unwrap() {
            assert!(table.contains(&format!("`{target}`")), "docs/security.md does not have {target}");
        }
    }
}
