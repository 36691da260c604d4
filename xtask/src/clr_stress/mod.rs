//! Runs .NET programs again and again with the profiler, switched on and off too, and compares what each
//! run does with a run without it: output, messages, files and exit code. A table says how many were the
//! same.
//!
//! The programs: one of ours that throws, recurses and waits, one that loads and unloads plug-ins, and some
//! that end badly; Roslyn's `csc` and the compiler of F#; `artifacts-keyring`; a server of ASP.NET Core
//! under load; and `azmcp`. The runtimes are those of the tests. Nothing can attach to the programs, so
//! what happens to them is done by the profiler or by themselves. Another form, `--minutes N`, keeps the
//! server under load and switches it all that time.

mod cases;
mod long;
mod running;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use self::cases::{Case, cases};
use self::running::{Outcome, Switched, expected, one};
use crate::{cargo, target_folder};

/// How a program is profiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    User,
    All,
    Dormant,
    /// Dormant, then on and off all the time.
    Switched,
}

const MODES: [(Mode, &str); 4] =
    [(Mode::User, "user"), (Mode::All, "all"), (Mode::Dormant, "dormant"), (Mode::Switched, "switched")];

/// The runs of a case in a mode.
#[derive(Default)]
struct Row {
    same: u32,
    other: u32,
    ended_by_signal: u32,
    stood_still: u32,
    switches: u32,
    refused: bool,
    time: Duration,
}

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let (mut runs, mut minutes, mut only) = (200, None, Vec::new());
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            option @ ("--runs" | "--minutes") => {
                let number: Option<u32> = arguments.next().and_then(|number| number.parse().ok());
                let number = number.ok_or_else(|| format!("{option} needs a number"))?;
                if option == "--runs" {
                    runs = number;
                } else {
                    minutes = Some(number);
                }
            }
            word if word.starts_with('-') => return Err(format!("unknown option {word}")),
            word => only.push(word.to_string()),
        }
    }
    crate::run(cargo().args(["build", "-p", "tallymon-cli", "-p", "tallymon-clr"]))?;
    let fetch = ["test", "-q", "-p", "tallymon-dotnet", "--test", "attach", "fetch_the_runtimes"];
    crate::run(cargo().args(fetch).env("TALLYMON_PEERS", "required"))?;
    let folder = target_folder().join(format!("clr-stress-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let result = match minutes {
        None => table(runs, &only, &folder),
        Some(minutes) => long::run(Duration::from_secs(60 * u64::from(minutes)), &folder),
    };
    fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    match result? {
        0 => Ok(()),
        bad => Err(format!("{bad} runs were not the same")),
    }
}

/// Prints the rows of the cases and modes that are wanted; returns how many runs were not the same.
fn table(runs: u32, only: &[String], folder: &Path) -> Result<u32, String> {
    let is_mode = |word: &&str| MODES.iter().any(|(_, mode)| mode == word);
    let is_runtime = |word: &&str| word.starts_with(|first: char| first.is_ascii_digit());
    let (modes, names): (Vec<&str>, Vec<&str>) = only.iter().map(String::as_str).partition(is_mode);
    // Runtimes, programs and modes narrow each other: `9.0 csc switched` is one row.
    let (runtimes, programs): (Vec<&str>, Vec<&str>) = names.into_iter().partition(is_runtime);
    let is_wanted = |word: &str, words: &[&str]| words.is_empty() || words.contains(&word);
    println!(
        "| runtime | program | mode | runs | same | other | killed | stood still | switches | s a run |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let mut bad = 0;
    for case in cases(folder)? {
        if !is_wanted(case.runtime, &runtimes) || !is_wanted(case.name, &programs) {
            continue;
        }
        let expected = expected(&case, folder)?;
        for (mode, word) in MODES.into_iter().filter(|(_, word)| is_wanted(word, &modes)) {
            let mut row = Row::default();
            for number in 1..=runs {
                add(&case, mode, &expected, folder, &mut row)?;
                if row.refused {
                    break;
                }
                // A table takes hours, and who waits for it wants to know how it goes.
                if number.is_multiple_of(10) && number < runs {
                    eprintln!("so far: {}", row_of(&case, word, &row));
                }
            }
            bad += row.other + row.ended_by_signal + row.stood_still;
            println!("{}", row_of(&case, word, &row));
        }
    }
    Ok(bad)
}

fn row_of(case: &Case, mode: &str, row: &Row) -> String {
    let begin = format!("| {} | {} | {mode} |", case.runtime, case.name);
    if row.refused {
        return format!("{begin} refused by the profiler, with the reason | | | | | | |");
    }
    let runs = row.same + row.other + row.ended_by_signal + row.stood_still;
    let mean = row.time.as_secs_f64() / f64::from(runs.max(1));
    let Row { same, other, ended_by_signal, stood_still, switches, .. } = row;
    format!(
        "{begin} {runs} | {same} | {other} | {ended_by_signal} | {stood_still} | {switches} | {mean:.2} |"
    )
}

fn add(case: &Case, mode: Mode, expected: &Outcome, folder: &Path, row: &mut Row) -> Result<(), String> {
    let begun = Instant::now();
    let (outcome, switched) = one(case, Some(mode), folder)?;
    row.time += begun.elapsed();
    match switched {
        Switched::Times(times) => row.switches += times,
        Switched::Refused => row.refused = true,
    }
    match outcome {
        None => row.stood_still += 1,
        Some(outcome) if outcome.is_as(expected) => row.same += 1,
        Some(outcome) => {
            eprintln!("{} of .NET {}: expected {expected:?}, found {outcome:?}", case.name, case.runtime);
            // As a shell says it, and as the command passes it on.
            if outcome.code != expected.code && matches!(outcome.code, 129..=192) {
                eprintln!("the kernel may know the thread and the place: dmesg | grep -E 'segfault|traps'");
                row.ended_by_signal += 1;
            } else {
                row.other += 1;
            }
        }
    }
    Ok(())
}
