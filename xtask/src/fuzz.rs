//! `cargo xtask fuzz`: runs every fuzz target for a fixed count, on the stable compiler.
//!
//! Coverage comes from the compiler's own pass, switched on by the flags that cargo-fuzz uses too. There is
//! no sanitizer, since the code under test has no unsafe parts.

use std::path::PathBuf;
use std::process::Command;

use crate::{root, run as execute, target_folder};

const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Cdebug-assertions --cfg fuzzing";

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let mut runs = 200_000u64;
    let mut wanted: Vec<&str> = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == "--runs" {
            let number = words.next().ok_or("--runs needs a number")?;
            runs = number.parse().map_err(|_| format!("--runs needs a number, not {number:?}"))?;
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
    for target in targets.iter().filter(|target| wanted.is_empty() || wanted.contains(&target.as_str())) {
        let program = folder.join(&host).join("release").join(target);
        // New inputs go to a folder of their own; only people change the corpus in the tree.
        let found = folder.join("found").join(target);
        std::fs::create_dir_all(&found).map_err(|error| format!("{}: {error}", found.display()))?;
        let mut fuzz = Command::new(program);
        fuzz.current_dir(root().join("fuzz")).arg(&found).arg(format!("corpus/{target}"));
        fuzz.args([
            format!("-runs={runs}"),
            "-seed=1".into(),
            "-max_len=262144".into(),
            "-timeout=10".into(),
        ]);
        fuzz.args(["-print_final_stats=1", "-verbosity=0", "-rss_limit_mb=2048"]);
        execute(&mut fuzz)?;
    }
    Ok(())
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
