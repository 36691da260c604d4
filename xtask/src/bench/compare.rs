//! `cargo xtask bench --compare REV`: another revision and the files as they are, built alike and run in turns
//! on one machine. The two runs of a turn follow each other, so both meet the same speed of a machine that
//! changes it, and only their ratio counts.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::jobs::{JOBS, Job, record};
use super::statistics::{FEWEST, Ratio, median};
use crate::{cargo, root, run as execute, show, target_folder};

/// What both revisions may differ by before it counts: what another place of the code in memory alone can do.
const NOISE: f64 = 0.03;
/// CPU time that a measurement takes at least, in seconds; short commands are repeated.
const LEAST: f64 = 0.2;
/// No command is repeated more often than this in one measurement.
const MOST_REPEATS: u32 = 200;

struct Options {
    revision: String,
    turns: usize,
    /// Counts instructions under valgrind instead of measuring time.
    instructions: bool,
    jobs: Vec<&'static Job>,
}

impl Options {
    fn of(arguments: &[String]) -> Result<Options, String> {
        let mut words = arguments.iter();
        let revision = words.next().ok_or("--compare needs a revision, such as HEAD~1 or main")?.clone();
        let mut options = Options { revision, turns: 15, instructions: false, jobs: Vec::new() };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--instructions" => options.instructions = true,
                "--turns" => {
                    let turns = words.next().and_then(|turns| turns.parse().ok());
                    options.turns = turns
                        .filter(|turns| *turns >= FEWEST)
                        .ok_or_else(|| format!("--turns needs a number from {FEWEST} on"))?;
                }
                name => {
                    let names = || JOBS.iter().map(|job| job.name).collect::<Vec<_>>().join(", ");
                    let job = JOBS.iter().find(|job| job.name == name);
                    options.jobs.push(job.ok_or_else(|| format!("no job {name:?}; there are {}", names()))?);
                }
            }
        }
        if options.jobs.is_empty() {
            options.jobs.extend(JOBS);
        }
        Ok(options)
    }
}

pub(super) fn run(arguments: &[String]) -> Result<(), String> {
    let options = Options::of(arguments)?;
    let folder = target_folder().join("compare");
    let (revision, theirs) = build_revision(&options.revision, &folder)?;
    execute(cargo().args(["build", "--release", "--package", "tallymon-cli"]))?;
    // A copy, like the other one: how a file was written shows in the time that a program needs to start.
    let ours = folder.join("tally-these-files");
    copy(&target_folder().join("release/tally"), &ours)?;
    let work = folder.join("work");
    std::fs::create_dir_all(&work).map_err(|error| format!("{}: {error}", work.display()))?;
    record(&ours, &work)?;
    let pair = Pair { ours, theirs, work };
    if options.instructions { count(&options, &revision, &pair) } else { time(&options, &revision, &pair) }
}

/// Builds `tally` of a revision once: the short name of the revision, and the program.
fn build_revision(revision: &str, folder: &Path) -> Result<(String, PathBuf), String> {
    let commit = git(&["rev-parse", "--verify", "--quiet", &format!("{revision}^{{commit}}")])
        .map_err(|_| format!("git knows no revision {revision:?}"))?;
    let short: String = commit.chars().take(12).collect();
    let program = folder.join(format!("tally-{short}"));
    if program.exists() {
        return Ok((short, program));
    }
    let checkout = folder.join(format!("checkout-{short}"));
    if checkout.exists() {
        git(&["worktree", "remove", "--force", &checkout.to_string_lossy()])?;
    }
    git(&["worktree", "add", "--detach", &checkout.to_string_lossy(), &commit])?;
    let target = folder.join("target");
    let built = execute(
        cargo()
            .args(["build", "--release", "--package", "tallymon-cli"])
            .current_dir(&checkout)
            .env("CARGO_TARGET_DIR", &target),
    );
    git(&["worktree", "remove", "--force", &checkout.to_string_lossy()])?;
    built?;
    copy(&target.join("release/tally"), &program)?;
    Ok((short, program))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    std::fs::copy(from, to).map(drop).map_err(|error| format!("{}: {error}", from.display()))
}

fn git(arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new("git");
    command.current_dir(root()).args(arguments);
    let output = command.output().map_err(|error| format!("{} did not start: {error}", show(&command)))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{} failed: {}", show(&command), errors.trim_end()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
}

/// The two programs, and the folder that they work in.
struct Pair {
    ours: PathBuf,
    theirs: PathBuf,
    work: PathBuf,
}

impl Pair {
    fn command(&self, program: &Path, job: &Job) -> Command {
        let mut command = Command::new(program);
        command.args(job.arguments).current_dir(&self.work).env("LC_ALL", "C");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// CPU seconds of a job, a number of times.
    fn cpu(&self, program: &Path, job: &Job, repeats: u32) -> Result<f64, String> {
        let before = cpu_of_children()?;
        for _ in 0..repeats {
            let mut command = self.command(program, job);
            let status = command.status().map_err(|error| format!("{}: {error}", program.display()))?;
            if !status.success() {
                return Err(format!("{}: {status}; the other revision may lack the option", show(&command)));
            }
        }
        Ok(cpu_of_children()? - before)
    }
}

/// CPU seconds, user and system, of all commands that have ended.
#[cfg(unix)]
fn cpu_of_children() -> Result<f64, String> {
    use nix::sys::resource::{UsageWho, getrusage};
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| format!("getrusage: {error}"))?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

#[cfg(not(unix))]
fn cpu_of_children() -> Result<f64, String> {
    Err("CPU times of ended commands are measured on Unix only".to_string())
}

/// The turns of a job. In every second turn ours is first.
fn turns(pair: &Pair, ours: &Path, job: &Job, count: usize) -> Result<(Vec<f64>, f64), String> {
    let once = pair.cpu(&pair.theirs, job, 1)?.max(1e-4);
    let repeats = ((LEAST / once).ceil() as u32).clamp(1, MOST_REPEATS);
    let (mut ratios, mut theirs_all) = (Vec::new(), Vec::new());
    for turn in 0..count {
        let measure = |program: &Path| pair.cpu(program, job, repeats);
        let (our_time, their_time) = if turn % 2 == 0 {
            let theirs = measure(&pair.theirs)?;
            (measure(ours)?, theirs)
        } else {
            (measure(ours)?, measure(&pair.theirs)?)
        };
        ratios.push(our_time / their_time);
        theirs_all.push(their_time / f64::from(repeats));
    }
    theirs_all.sort_by(f64::total_cmp);
    Ok((ratios, median(&theirs_all).unwrap_or_default()))
}

/// Measures the jobs, and fails where ours takes longer beyond noise.
fn time(options: &Options, revision: &str, pair: &Pair) -> Result<(), String> {
    println!("CPU time, these files beside {revision}: {} turns, interval of 95 %", options.turns);
    println!("{:16} {:>12} {:>8} {:>17}", "job", revision, "ratio", "interval");
    let mut slower = Vec::new();
    for (number, job) in options.jobs.iter().enumerate() {
        // What the machine alone does to a ratio: the other revision beside itself.
        if number == 0 {
            let (ratios, seconds) = turns(pair, &pair.theirs, job, options.turns)?;
            print_ratio("(the same)", seconds, Ratio::of(ratios).ok_or("too few turns")?, "");
        }
        let (ratios, seconds) = turns(pair, &pair.ours, job, options.turns)?;
        let ratio = Ratio::of(ratios).ok_or("too few turns")?;
        let verdict = match ratio {
            Ratio { low, .. } if low > 1.0 + NOISE => "slower",
            Ratio { high, .. } if high < 1.0 => "faster",
            _ => "",
        };
        if verdict == "slower" {
            slower.push(job.name);
        }
        print_ratio(job.name, seconds, ratio, verdict);
    }
    if slower.is_empty() {
        return Ok(());
    }
    Err(format!("slower than {revision} beyond {:.0} %: {}", NOISE * 100.0, slower.join(", ")))
}

fn print_ratio(name: &str, seconds: f64, ratio: Ratio, verdict: &str) {
    let interval = format!("{:.3} to {:.3}", ratio.low, ratio.high);
    println!("{name:16} {:>9.2} ms {:>8.3} {interval:>17}  {verdict}", seconds * 1000.0, ratio.median);
}

/// Counts the instructions of the jobs that read logs, which are the same on a busy machine; fails where ours
/// takes more beyond noise.
fn count(options: &Options, revision: &str, pair: &Pair) -> Result<(), String> {
    println!("instructions, these files beside {revision}");
    println!("{:16} {:>16} {:>16} {:>8}", "job", revision, "these files", "ratio");
    let mut more = Vec::new();
    for job in options.jobs.iter().filter(|job| !job.is_live || job.name == "help") {
        let (theirs, ours) = (instructions(pair, &pair.theirs, job)?, instructions(pair, &pair.ours, job)?);
        let ratio = ours as f64 / theirs as f64;
        println!("{:16} {theirs:>16} {ours:>16} {ratio:>8.3}", job.name);
        if ratio > 1.0 + NOISE {
            more.push(job.name);
        }
    }
    if more.is_empty() {
        return Ok(());
    }
    Err(format!("more instructions than {revision} beyond {:.0} %: {}", NOISE * 100.0, more.join(", ")))
}

fn instructions(pair: &Pair, program: &Path, job: &Job) -> Result<u64, String> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]).arg(program);
    command.args(job.arguments).current_dir(&pair.work).env("LC_ALL", "C").stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("valgrind did not start: {error}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let line = errors.lines().find_map(|line| line.split_once("I   refs:"));
    let number = line.and_then(|(_, number)| number.trim().replace(',', "").parse().ok());
    number
        .filter(|_| output.status.success())
        .ok_or_else(|| format!("{}: {}: {errors}", show(&command), output.status))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(words: &[&str]) -> Result<Options, String> {
        Options::of(&words.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn options_name_a_revision_and_jobs() {
        let some = options(&["HEAD~1", "get", "--turns", "9", "stats"]).unwrap();
        assert_eq!((some.revision.as_str(), some.turns, some.instructions), ("HEAD~1", 9, false));
        assert_eq!(some.jobs.iter().map(|job| job.name).collect::<Vec<_>>(), ["get", "stats"]);
        let all = options(&["main", "--instructions"]).unwrap();
        assert_eq!((all.jobs.len(), all.instructions), (JOBS.len(), true));
        for (words, wanted) in [
            (&[][..], "needs a revision"),
            (&["HEAD", "--turns", "5"], "from 6 on"),
            (&["HEAD", "--turns"], "from 6 on"),
            (&["HEAD", "gte"], "native-blg"),
        ] {
            let error = options(words).err().unwrap();
            assert!(error.contains(wanted), "{words:?}: {error}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn the_time_of_a_command_is_counted() {
        let before = cpu_of_children().unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"]);
        assert!(shell.status().unwrap().success());
        assert!(cpu_of_children().unwrap() > before);
    }

    #[test]
    fn unknown_revisions_are_named() {
        let error = build_revision("no-such-revision", Path::new("/nowhere")).unwrap_err();
        assert!(error.contains("no-such-revision"), "{error}");
    }
}
