//! Development tasks: `cargo xtask <task>`.
//!
//! | task | does |
//! |---|---|
//! | `test [--peers required]` | every test that can run here; says what was skipped and why |
//! | `test --peers all` | those, all attacks, all of Wine, long fuzzing, and packages built twice and tried |
//! | `test --soak [CHANGES]` | installs and removals at random, with kills at every system call; publishing for long |
//! | `lint` | format, clippy, documentation, other targets, public interfaces, licences, rules for source files |
//! | `features` | every package without its features, and with each one alone |
//! | `big-endian` | the tests of `core` on an emulated big-endian machine |
//! | `imports [CRATE...]` | writes `docs/imports.md` anew; says what holds circles of files together |
//! | `api` | writes the public interfaces to `docs/api` anew |
//! | `dist [--check] [--twice] [--profile NAME]` | packages of a release, tried in a fresh Debian 11; two builds compared |
//! | `dist --short` | packages of unoptimized programs, made twice, compared and tried over this machine |
//! | `newcomer [--short] [--write]` | types what a newcomer types: package and clone to the overview, and what is slow |
//! | `fuzz [--runs N] [--seconds N] [TARGET...]` | every fuzz target for a fixed count, from the corpus in the tree |
//! | `shots [NAME...]` | pictures of the monitor in a terminal, for the README |
//! | `loom` | published counters in every order in which two threads can see each other's words |
//! | `miri` | `core` and unsafe code of publishing and profiling under miri; needs a nightly compiler |
//! | `attack [--short] [--write] [TEST]` | the attacks of the tests, in namespaces; the table of `docs/security.md` |
//! | `wine [--short \| --logs \| PACKAGE...]` | what a user of Windows gets, linked; the tests of packages, run by Wine |
//! | `sick` | makes this machine sick on purpose, and compares the findings of `tally analyze` |
//! | `clr-stress [--runs N] [--minutes N] [WORD...]` | .NET programs with the profiler, switched too, compared with runs without it |
//! | `engines` | Prometheus 3, VictoriaMetrics, Nagios, Spark and other versions of atop, fetched, and the tests with them |
//! | `samba` | the Samba of a later Debian, fetched, and the tests of other machines with it; needs root |
//! | `bench [NAME [PART...]]` | whole jobs beside their peers, and criterion functions |
//! | `bench --compare REV [--turns N] [--instructions] [JOB...]` | another revision and these files, in turns |

#![forbid(unsafe_code)]

mod api;
mod attack;
mod bench;
mod big_endian;
mod clr_stress;
mod dist;
mod engines;
mod features;
mod fetch;
mod fuzz;
mod lint;
mod models;
mod newcomer;
mod samba;
mod sdk;
mod shots;
mod sick;
mod terminal;
mod test;
mod wine;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

/// A task, its name, and what it does in one line.
struct Task {
    name: &'static str,
    summary: &'static str,
    run: fn(&[String]) -> Result<(), String>,
}

const TASKS: &[Task] = &[
    Task {
        name: "test",
        summary: "every test that can run here [--peers required | --peers all | --soak [CHANGES]]",
        run: test::run,
    },
    Task {
        name: "lint",
        summary: "format, clippy, documentation, other targets, interfaces, licences",
        run: lint::run,
    },
    Task {
        name: "features",
        summary: "packages without features, and with each one alone",
        run: features::run,
    },
    Task {
        name: "big-endian",
        summary: "tests of core on a big-endian machine (qemu)",
        run: big_endian::run,
    },
    Task {
        name: "imports",
        summary: "writes docs/imports.md anew, and names circles of files [CRATE...]",
        run: lint::imports::run,
    },
    Task { name: "api", summary: "writes the public interfaces to docs/api anew", run: api::run },
    Task {
        name: "fuzz",
        summary: "every fuzz target for a fixed count [--runs N] [--seconds N] [TARGET...]",
        run: fuzz::run,
    },
    Task {
        name: "dist",
        summary: "packages: tar, deb, rpm, wheel, NuGet [--short | --check] [--twice] [--profile NAME]",
        run: dist::run,
    },
    Task {
        name: "newcomer",
        summary: "from the package, and from a clone, to who makes the machine slow [--short] [--write]",
        run: newcomer::run,
    },
    Task { name: "shots", summary: "pictures of the monitor for the README [NAME...]", run: shots::run },
    Task { name: "loom", summary: "published counters in every order of their words", run: models::loom },
    Task {
        name: "miri",
        summary: "core and unsafe code of publishing and profiling under miri",
        run: models::miri,
    },
    Task {
        name: "attack",
        summary: "attacks in namespaces of their own, and their table [--short] [--write] [TEST]",
        run: attack::run,
    },
    Task {
        name: "wine",
        summary: "links for Windows, and the tests there, run by Wine [--short | --logs | PACKAGE...]",
        run: wine::run,
    },
    Task {
        name: "sick",
        summary: "sick on purpose, and what 'analyze' finds (12 minutes, root) [WORD... | --quiet MINUTES]",
        run: sick::run,
    },
    Task {
        name: "clr-stress",
        summary: ".NET programs with and without the profiler, again and again [--runs N] [WORD...]",
        run: clr_stress::run,
    },
    Task {
        name: "engines",
        summary: "Prometheus 3, VictoriaMetrics and other versions of atop, fetched, and the tests with them",
        run: engines::run,
    },
    Task {
        name: "samba",
        summary: "the Samba of a later Debian, fetched, and the tests of other machines with it (root)",
        run: samba::run,
    },
    Task {
        name: "bench",
        summary: "whole jobs beside their peers, and functions [NAME [PART...] | --compare REV [JOB...]]",
        run: bench::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (name, rest) = match arguments.split_first() {
        Some((name, rest)) => (name.as_str(), rest),
        None => ("", &[][..]),
    };
    let Some(task) = TASKS.iter().find(|task| task.name == name) else {
        eprintln!("usage: cargo xtask <task>");
        for task in TASKS {
            eprintln!("  {:10} {}", task.name, task.summary);
        }
        return ExitCode::from(2);
    };
    let start = Instant::now();
    let result = (task.run)(rest);
    eprintln!("xtask {name}: {:.0} s", start.elapsed().as_secs_f64());
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask {name}: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The folder of the workspace.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// The folder that builds go to.
fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder))
}

/// A `cargo` command in the workspace.
fn cargo() -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root());
    command
}

/// Compiles everything that tests run: the command, its libraries, and the tests. One package by itself would
/// choose other features of what packages have in common, and compile it again.
fn build_all(options: &[&str]) -> Result<(), String> {
    run(cargo().args(["build", "--workspace", "--all-targets"]).args(options))
}

/// What `cargo metadata` prints.
fn cargo_metadata(options: &[&str]) -> Result<serde_json::Value, String> {
    let mut command = cargo();
    command.args(["metadata", "--format-version", "1"]).args(options);
    eprintln!("+ {}", show(&command));
    let output = command.output().map_err(|error| format!("{} did not start: {error}", show(&command)))?;
    if !output.status.success() {
        return Err(format!(
            "{} failed: {}",
            show(&command),
            String::from_utf8_lossy(&output.stderr).trim_end()
        ));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("{}: {error}", show(&command)))
}

/// Installs the standard library for other targets, where rustup is there to do so.
fn add_targets(targets: &[&str]) -> Result<(), String> {
    // Without rustup the targets come from the system's own packages; the builds then report what is missing.
    if Command::new("rustup").arg("--version").output().is_err() {
        return Ok(());
    }
    run(Command::new("rustup").args(["target", "add"]).args(targets))
}

/// Refuses arguments, for tasks that take none.
fn no_arguments(arguments: &[String]) -> Result<(), String> {
    if arguments.is_empty() { Ok(()) } else { Err(format!("unknown arguments {arguments:?}; it takes none")) }
}

/// Runs a command and fails when it fails.
fn run(command: &mut Command) -> Result<(), String> {
    eprintln!("+ {}", show(command));
    let status = command.status().map_err(|error| format!("{} did not start: {error}", show(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{} failed: {status}", show(command))) }
}

/// Runs a command, and returns what it prints.
fn output(command: &mut Command) -> Result<String, String> {
    let shown = show(command);
    let output = command.output().map_err(|error| format!("{shown} did not start: {error}"))?;
    if !output.status.success() {
        return Err(format!("{shown} failed: {}", String::from_utf8_lossy(&output.stderr).trim_end()));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("{shown} printed bytes that are no text"))
}

fn show(command: &Command) -> String {
    let program =
        Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let arguments = command.get_args().map(|argument| argument.to_string_lossy().into_owned());
    std::iter::once(program).chain(arguments).collect::<Vec<_>>().join(" ")
}
