//! `cargo xtask sick`: makes this machine sick on purpose, records it, and compares the findings of
//! `tally analyze` with what was done.
//!
//! Each sickness ends by itself, and is in a control group, a network or a process of its own. The same
//! counters are recorded each time, and once before: what the machine had before is its own, and does not
//! count. The finding that names the sickness has to be the first of the others in nine of ten cases. It
//! takes twelve minutes.
//!
//! `cargo xtask sick WORD...` makes only those whose names have one of the words. `cargo xtask sick --quiet
//! MINUTES` does nothing to the machine, and says what is found in this time: on a quiet machine, nothing.

mod shop;
mod sicknesses;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::{cargo, target_folder};
use shop::Shop;
use sicknesses::{FUNCTIONS, Needs, SICKNESSES, Sickness};

/// What is recorded each time: the counters of all rules and shapes for a machine.
const COUNTERS: [&str; 24] = [
    r"\Processor(*)\% Processor Time",
    r"\Processor(*)\% Privileged Time",
    r"\System\*",
    r"\System Extended\*",
    r"\Pressure\*",
    r"\Memory\*",
    r"\Memory Extended\*",
    r"\Page Cache\*",
    r"\Paging File(*)\*",
    r"\PhysicalDisk(*)\*",
    r"\LogicalDisk(*)\% Free Space",
    r"\LogicalDisk(*)\Free Megabytes",
    r"\Control Group(*)\*",
    r"\Kernel Objects\*",
    r"\Network Interface(*)\*",
    r"\Network Backlog\*",
    r"\TCPv4\*",
    r"\TCP Extended\*",
    r"\NUMA Node Memory(*)\*",
    r"\Process(*)\% Processor Time",
    r"\Process(*)\Private Bytes",
    r"\Process(*)\Handle Count",
    r"\Process(*)\Thread Count",
    r"\Process(*)\IO Data Bytes/sec",
];
/// How long the machine is recorded before it is made sick.
const BEFORE: u32 = 45;
/// What a script ends with when the machine does not allow its sickness.
const REFUSED: i32 = 77;

/// What came of a sickness.
enum Outcome {
    /// The finding, and how many findings that the machine did not have before come before it.
    Found(String, usize),
    Missed(String),
    /// This machine does not allow it.
    Skipped(String),
}

/// Where it is done.
struct Place {
    tally: PathBuf,
    folder: PathBuf,
    shop: Result<Shop, String>,
}

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let mut build = cargo();
    crate::run(build.args(["build", "--package", "tallymon-cli"]))?;
    let folder = std::env::temp_dir().join(format!("tally-sick-{}", std::process::id()));
    fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let tally = target_folder().join("debug/tally");
    let mut place = Place { tally, folder, shop: Err("not asked for".to_owned()) };
    let outcome = match arguments {
        [option, minutes] if option == "--quiet" => match minutes.parse::<u32>() {
            Ok(minutes) => quiet(&place, minutes),
            Err(error) => Err(format!("--quiet {minutes}: {error}")),
        },
        words => all(&mut place, words),
    };
    let _ = fs::remove_dir_all(&place.folder);
    for group in ["cpu/", "memory/", "blkio/", "pids/", ""] {
        // Made by the scripts, and empty by now.
        let _ = fs::remove_dir(format!("/sys/fs/cgroup/{group}tally-sick"));
    }
    outcome
}

/// Each sickness whose name has one of the words, or all.
fn all(place: &mut Place, words: &[String]) -> Result<(), String> {
    let is_wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    let wanted: Vec<&Sickness> = SICKNESSES.iter().filter(|one| is_wanted(one.name)).collect();
    if wanted.is_empty() {
        let names: Vec<&str> = SICKNESSES.iter().map(|one| one.name).collect();
        return Err(format!("no sickness has one of these words in its name: {}", names.join("; ")));
    }
    if wanted.iter().any(|sickness| sickness.needs == Needs::Dotnet) {
        place.shop = shop::make(&place.folder);
    }
    let before = record(place, None, &[], BEFORE)?;
    println!("the machine has these findings of its own: {:?}", titles(&before));
    let (mut first, mut done) = (0, 0);
    for sickness in wanted {
        let name = sickness.name;
        match found(place, sickness, &before)? {
            Outcome::Found(title, 0) => {
                (first, done) = (first + 1, done + 1);
                println!("first    {name}: {title:?}");
            }
            Outcome::Found(title, others) => {
                done += 1;
                println!("LATER    {name}: {title:?}, after {others} others");
            }
            Outcome::Missed(words) => {
                done += 1;
                println!("MISSED   {name}: {words}");
            }
            Outcome::Skipped(reason) => println!("skipped  {name}: {reason}"),
        }
    }
    println!("the first finding in {first} of {done}");
    if first * 10 >= done * 9 { Ok(()) } else { Err("not the first finding in nine of ten".to_owned()) }
}

/// Records the machine as it is. On a quiet machine nothing is found.
fn quiet(place: &Place, minutes: u32) -> Result<(), String> {
    let found = titles(&record(place, None, &[], minutes.saturating_mul(60))?);
    println!("{} findings in {minutes} minutes: {found:?}", found.len());
    if found.is_empty() {
        Ok(())
    } else {
        Err("this machine is not quiet, or the findings are false".to_owned())
    }
}

/// Records a sickness, and looks for the finding that names it.
fn found(place: &Place, sickness: &Sickness, before: &[Value]) -> Result<Outcome, String> {
    let had =
        |finding: &&Value| finding["rule"]["id"].as_str().is_some_and(|id| sickness.rules.contains(&id));
    if let Some(finding) = before.iter().find(had) {
        return Ok(Outcome::Skipped(format!("the machine has it of its own: {}", finding["title"])));
    }
    let mut shell = match sickness.needs {
        Needs::Network => Command::new("unshare"),
        _ => Command::new("sh"),
    };
    if sickness.needs == Needs::Network {
        shell.args(["-n", "sh"]);
    }
    shell.args(["-c", &format!("{FUNCTIONS}\n{}", sickness.script)]).env("FOLDER", &place.folder);
    if sickness.needs == Needs::Dotnet {
        match &place.shop {
            Ok(shop) => shell.env("DOTNET", &shop.dotnet).env("SHOP", &shop.program),
            Err(reason) => return Ok(Outcome::Skipped(reason.clone())),
        };
    }
    shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut sick = shell.spawn().map_err(|error| format!("{shell:?}: {error}"))?;
    if let Some(outcome) = ended(&mut sick)? {
        return Ok(outcome);
    }
    let network = (sickness.needs == Needs::Network).then(|| sick.id());
    let recorded = record(place, network, sickness.counters, sickness.seconds);
    // It ends by itself.
    let _ = sick.wait();
    let findings = recorded?;
    let is_it = |finding: &Value| {
        let rule = finding["rule"]["id"].as_str();
        let named = rule.is_some_and(|id| sickness.rules.contains(&id))
            || sickness
                .title
                .is_some_and(|title| finding["title"].as_str().is_some_and(|it| it.contains(title)));
        named
            && finding["instances"].to_string().contains(sickness.instance)
            && finding["causes"].to_string().contains(sickness.culprit)
    };
    let new: Vec<&Value> = findings
        .iter()
        .filter(|finding| is_it(finding) || !before.iter().any(|own| finding["title"] == own["title"]))
        .collect();
    Ok(match new.iter().position(|finding| is_it(finding)) {
        Some(at) => Outcome::Found(new[at]["title"].as_str().unwrap_or_default().to_owned(), at),
        None => Outcome::Missed(format!("the findings are {:?}", titles(&findings))),
    })
}

/// What came of it if the script ends within its first two seconds: mostly it refuses.
fn ended(sick: &mut Child) -> Result<Option<Outcome>, String> {
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(100));
        let Some(status) = sick.try_wait().map_err(|error| error.to_string())? else { continue };
        let mut words = String::new();
        if let Some(stderr) = &mut sick.stderr {
            let _ = std::io::Read::read_to_string(stderr, &mut words);
        }
        let last = words.lines().last().unwrap_or_default().to_owned();
        return match status.code() {
            Some(REFUSED) => Ok(Some(Outcome::Skipped(last))),
            // `unshare` has failed: no rights.
            Some(1) if last.starts_with("unshare:") => Ok(Some(Outcome::Skipped(last))),
            _ => Ok(Some(Outcome::Missed(format!("the script ended at once, with {status}: {words}")))),
        };
    }
    Ok(None)
}

/// Records for some seconds, in the network of a process if there is one. The findings of the log.
fn record(
    place: &Place,
    network: Option<u32>,
    counters: &[&str],
    seconds: u32,
) -> Result<Vec<Value>, String> {
    let log = place.folder.join("sick.tally");
    let _ = fs::remove_file(&log);
    let mut watch = match network {
        Some(process) => {
            let mut enter = Command::new("nsenter");
            enter.args(["-n", "-t", &process.to_string()]).arg(&place.tally);
            enter
        }
        None => Command::new(&place.tally),
    };
    watch.arg("watch").args(COUNTERS).args(counters);
    watch.args(["-i", "1s", "-c", &seconds.to_string(), "-o"]).arg(&log);
    let recorded = watch.output().map_err(|error| format!("{watch:?}: {error}"))?;
    if !log.exists() {
        return Err(String::from_utf8_lossy(&recorded.stderr).into_owned());
    }
    let mut analyze = Command::new(&place.tally);
    analyze.arg("analyze").arg(&log).arg("--json");
    let analyzed = analyze.output().map_err(|error| format!("{analyze:?}: {error}"))?;
    let mut json: Value = serde_json::from_slice(&analyzed.stdout)
        .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&analyzed.stderr)))?;
    match json["findings"].take() {
        Value::Array(findings) => Ok(findings),
        other => Err(format!("the findings in the JSON are {other}")),
    }
}

fn titles(findings: &[Value]) -> Vec<String> {
    findings.iter().filter_map(|finding| Some(finding["title"].as_str()?.to_owned())).collect()
}

/// The path of a tool, if it is there.
fn tool(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file: &PathBuf| Path::is_file(file))
}
