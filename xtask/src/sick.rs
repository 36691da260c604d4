//! `cargo xtask sick`: makes this machine sick on purpose, records it, and compares the findings of
//! `tally analyze` with what was done.
//!
//! Each sickness ends by itself, and is in a control group or a process of its own. It takes two minutes. The
//! finding has to be there, not to be the only one: other work on the machine is found too.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::{cargo, target_folder};

/// Something wrong, and the finding that names it.
struct Sickness {
    name: &'static str,
    /// What a shell runs meanwhile. It ends after the recording, at the latest.
    script: &'static str,
    counters: &'static [&'static str],
    seconds: u32,
    /// The id of the rule, or else what the title contains.
    finding: Result<&'static str, &'static str>,
    /// What an instance of the finding contains.
    instance: &'static str,
}

/// Puts the shell into a control group whose limit `$1 = $2` (version 1) or `$3 = $4` (version 2) is.
const JOIN: &str = r#"
join() {
    if [ -d /sys/fs/cgroup/$5 ]; then group=/sys/fs/cgroup/$5/tally-sick limit=$1 value=$2
    else group=/sys/fs/cgroup/tally-sick limit=$3 value=$4; fi
    mkdir -p $group && echo "$value" > $group/$limit && echo $$ > $group/cgroup.procs
}
"#;

const SICKNESSES: [Sickness; 4] = [
    Sickness {
        name: "a program leaks memory",
        script: "exec timeout 80 python3 -c '
import time
kept = []
while True:
    kept.append(b\"x\" * (1 << 20)); time.sleep(0.5)'",
        counters: &[r"\Process(*)\Private Bytes", r"\Memory\Available MBytes"],
        seconds: 60,
        finding: Err("Private Bytes of python3 grows"),
        instance: "python3",
    },
    Sickness {
        name: "a service is stopped by its processor limit",
        script: "join cpu.cfs_quota_us 10000 cpu.max '10000 100000' cpu
exec timeout 55 sh -c 'while :; do :; done'",
        counters: &[r"\Control Group(*)\% Throttled Time", r"\Process(*)\% Processor Time"],
        seconds: 40,
        finding: Ok("throttled"),
        instance: "/tally-sick",
    },
    Sickness {
        name: "a service runs out of its memory",
        script: "join memory.limit_in_bytes 64M memory.max 64M memory
timeout 15 python3 -c '
import time
kept = []
time.sleep(2)
while True:
    kept.append(b\"x\" * (4 << 20)); time.sleep(0.1)'; true",
        counters: &[r"\Control Group(*)\Memory Limit Events/sec", r"\Memory Extended\*"],
        seconds: 15,
        finding: Ok("control-group-out-of-memory"),
        instance: "/tally-sick",
    },
    Sickness {
        name: "more work than processors",
        script: "for each in $(seq $(($(nproc) * 2))); do
timeout 55 sh -c 'while :; do :; done' & done; wait",
        counters: &[r"\Processor(*)\% Processor Time", r"\System\*", r"\Process(*)\% Processor Time"],
        seconds: 40,
        finding: Ok("processor-busy"),
        instance: "",
    },
];

pub(crate) fn run(_arguments: &[String]) -> Result<(), String> {
    let mut build = cargo();
    crate::run(build.args(["build", "--package", "tallymon-cli"]))?;
    let tally = target_folder().join("debug/tally");
    let folder = std::env::temp_dir().join(format!("tally-sick-{}", std::process::id()));
    fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut missed = Vec::new();
    for sickness in &SICKNESSES {
        match found(&tally, &folder, sickness) {
            Ok(words) => println!("found   {}: {words}", sickness.name),
            Err(words) => {
                println!("MISSED  {}: {words}", sickness.name);
                missed.push(sickness.name);
            }
        }
    }
    let _ = fs::remove_dir_all(&folder);
    for group in ["cpu/", "memory/", ""] {
        // Made by the scripts, and empty by now.
        let _ = fs::remove_dir(format!("/sys/fs/cgroup/{group}tally-sick"));
    }
    if missed.is_empty() { Ok(()) } else { Err(format!("not found: {}", missed.join(", "))) }
}

/// Records a sickness; the finding that names it and its place among all.
fn found(tally: &Path, folder: &Path, sickness: &Sickness) -> Result<String, String> {
    let log = folder.join("sick.tally");
    let _ = fs::remove_file(&log);
    let script = format!("{JOIN}\n{}", sickness.script);
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut sick = shell.spawn().map_err(|error| format!("sh: {error}"))?;
    let count = sickness.seconds.to_string();
    let mut watch = Command::new(tally);
    watch.arg("watch").args(sickness.counters).args(["-i", "1s", "-c", &count, "-o"]).arg(&log);
    let recorded = watch.output().map_err(|error| format!("tally watch: {error}"))?;
    // It ends by itself.
    let _ = sick.wait();
    if !log.exists() {
        return Err(String::from_utf8_lossy(&recorded.stderr).into_owned());
    }
    let analyzed = Command::new(tally).arg("analyze").arg(&log).arg("--json").output();
    let analyzed = analyzed.map_err(|error| format!("tally analyze: {error}"))?;
    let json: Value = serde_json::from_slice(&analyzed.stdout).map_err(|error| error.to_string())?;
    let findings = json["findings"].as_array().ok_or("no findings in the JSON")?;
    let is_it = |finding: &&Value| {
        let named = match sickness.finding {
            Ok(rule) => finding["rule"]["id"] == rule,
            Err(title) => finding["title"].as_str().is_some_and(|text| text.contains(title)),
        };
        named && finding["instances"].to_string().contains(sickness.instance)
    };
    let titles: Vec<&str> = findings.iter().filter_map(|finding| finding["title"].as_str()).collect();
    let place = findings.iter().position(|finding| is_it(&finding));
    let place = place.ok_or_else(|| format!("the findings are {titles:?}"))?;
    let title = titles.get(place).unwrap_or(&"");
    Ok(format!("{title:?}, finding {} of {}", place + 1, findings.len()))
}
