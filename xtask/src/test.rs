//! `cargo xtask test`: every test that can run on this machine.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::{cargo, target_folder};

/// Runs the tests of every member, then prints what they had to skip and why.
fn run_tests(peers_required: bool) -> Result<(), String> {
    let skips = target_folder().join("skipped-tests.txt");
    if let Some(folder) = skips.parent() {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    fs::write(&skips, "").map_err(|error| format!("{}: {error}", skips.display()))?;
    if peers_required {
        crate::fetch::pcp()?;
    }
    crate::build_all(&[])?;
    let mut command = cargo();
    command.args(["test", "--workspace", "--quiet", "--no-fail-fast"]).env("TALLYMON_SKIPS", &skips);
    if peers_required {
        command.env("TALLYMON_PEERS", "required");
    }
    // Most tests wait for something: a terminal, another program, a time that is over.
    if std::env::var_os("RUST_TEST_THREADS").is_none() {
        let processors = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        command.env("RUST_TEST_THREADS", processors.saturating_mul(2).to_string());
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

/// How many installs and removals the long run makes by default.
const CHANGES: &str = "10000";
/// How many increments the long run of publishing makes with each number of lanes, and how many publishers it
/// kills.
const INCREMENTS: &str = "756000000";
const KILLS: &str = "3000";
/// Each run is stopped after this.
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// The long runs. The first tests the registry: eight processes at a time install and remove at random, many
/// of them are killed, and each system call of an install and of a removal is killed once. The second tests
/// publishing: increments from more threads than processors, groups that are read while they are written,
/// publishers that are killed at any time.
fn run_soak(changes: &str) -> Result<(), String> {
    changes.parse::<u32>().map_err(|_| format!("a number of changes needed, found {changes:?}"))?;
    let mut command = cargo();
    command.args(["test", "--package", "tallymon-cli", "--test", "provider", "--", "--nocapture", "killed"]);
    command.env("TALLYMON_SOAK", changes);
    wait(command, &format!("{changes} changes"))?;
    // Optimised, as the increments would take an hour otherwise.
    let mut command = cargo();
    command.args(["test", "--release", "--package", "tallymon-provider"]);
    command.args(["--test", "publish", "--test", "histogram", "--test", "dying", "--", "--nocapture"]);
    command.args(["lost", "torn", "killed"]);
    command.env("TALLYMON_INCREMENTS", INCREMENTS).env("TALLYMON_KILLS", KILLS);
    wait(
        command,
        &format!("{INCREMENTS} increments of each kind, 500,000 group reads, {KILLS} killed publishers"),
    )
}

/// Runs a command to its end, but not for ever.
fn wait(mut command: Command, what: &str) -> Result<(), String> {
    let start = Instant::now();
    let mut child = command.spawn().map_err(|error| format!("cargo did not start: {error}"))?;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if start.elapsed() > LONGEST => {
                // An error means that it has ended.
                let _ = child.kill();
                return Err(format!("it did not end within {} minutes", LONGEST.as_secs() / 60));
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(200)),
            Err(error) => return Err(error.to_string()),
        }
    };
    eprintln!("{what} in {:.0} s", start.elapsed().as_secs_f64());
    if status.success() { Ok(()) } else { Err(format!("the run failed: {status}")) }
}

/// What `--peers all` runs beside the tests, as words of `cargo xtask`: whole, where CI runs a short form.
const ALL: &[&[&str]] = &[
    &["test", "--peers", "required"],
    &["attack"],
    &["wine"],
    &["fuzz", "--runs", "2000000"],
    &["dist", "--twice", "--check"],
    &["newcomer"],
    &["engines"],
    &["samba"],
    &["clr-stress"],
    &["clr-stress", "--minutes", "10"],
];

/// Runs everything that compares with other programs and systems, however long it takes; a failure does not
/// keep the rest from running.
fn run_all() -> Result<(), String> {
    let own = std::env::current_exe().map_err(|error| format!("the path of xtask is not known: {error}"))?;
    let mut failed = Vec::new();
    for words in ALL {
        let start = Instant::now();
        let result = crate::run(Command::new(&own).args(*words).env("TALLYMON_PEERS", "required"));
        let seconds = start.elapsed().as_secs();
        let words = words.join(" ");
        eprintln!("{words}: {} after {seconds} s", if result.is_ok() { "passed" } else { "FAILED" });
        if result.is_err() {
            failed.push(words);
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join("; "))) }
}

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => run_tests(false),
        ["--peers", "required"] => run_tests(true),
        ["--peers", "all"] => run_all(),
        ["--soak"] => run_soak(CHANGES),
        ["--soak", changes] => run_soak(changes),
        other => Err(format!(
            "unknown arguments {other:?}; it takes `--peers required`, `--peers all`, `--soak [CHANGES]` or \
             nothing"
        )),
    }
}
