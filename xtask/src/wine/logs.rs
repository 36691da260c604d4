//! Logs that both systems write: every sample log in every format, by the program of this system and by that
//! of Windows, must have the same bytes.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::TARGET;
use super::prefix::Prefix;
use crate::{cargo, root, run as execute, target_folder};

/// The endings of what `tally relog` writes.
const FORMATS: &[&str] = &["csv", "tsv", "blg", "tally", "parquet", "sqlite", "jsonl"];
/// Each conversion is stopped after so many seconds.
const LONGEST: &str = "120";

/// Converts all samples twice, and fails with the names of the outputs that differ.
pub(super) fn compare(prefix: &Prefix) -> Result<(), String> {
    let samples = samples()?;
    if samples.is_empty() {
        eprintln!("skipped: no sample logs, so none are compared");
        return Ok(());
    }
    execute(cargo().args(["build", "--quiet", "--package", "tallymon-cli"]))?;
    let folder = target_folder().join("wine").join("logs");
    // Left by an earlier run.
    let _ = fs::remove_dir_all(&folder);
    // The same name in two folders, as a log set in a database is called like its file.
    let sides = [folder.join("here"), folder.join("there")];
    for side in &sides {
        fs::create_dir_all(side).map_err(|error| format!("{}: {error}", side.display()))?;
    }
    let (mut equal, mut different) = (0u32, Vec::new());
    for sample in &samples {
        for format in FORMATS {
            let name = format!("{}.{format}", sample.file_name().unwrap_or_default().to_string_lossy());
            let [here, there] = sides.each_ref().map(|side| side.join(&name));
            let ours = target_folder().join("debug").join("tally");
            let theirs = target_folder().join(TARGET).join("debug").join("tally.exe");
            convert(Command::new(ours), sample, &here)?;
            let mut wine = Command::new("timeout");
            wine.args([LONGEST, prefix.wine()]).arg(theirs);
            prefix.set(&mut wine);
            convert(wine, sample, &there)?;
            if bytes(&here)? == bytes(&there)? {
                equal = equal.saturating_add(1)
            } else {
                different.push(name)
            }
        }
    }
    eprintln!("{equal} logs have the same bytes on both systems");
    if different.is_empty() { Ok(()) } else { Err(format!("these logs differ on Windows: {different:?}")) }
}

/// The sample logs of the tests.
fn samples() -> Result<Vec<PathBuf>, String> {
    let given = std::env::var_os("TALLYMON_TESTDATA").map(PathBuf::from);
    let folder = given.unwrap_or_else(|| root().join("../shared/testdata")).join("logs");
    let Ok(entries) = fs::read_dir(&folder) else { return Ok(Vec::new()) };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| format!("{}: {error}", folder.display()))?.path();
        if path.extension().is_some_and(|ending| ending == "blg" || ending == "csv") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn convert(mut command: Command, sample: &Path, output: &Path) -> Result<(), String> {
    // What a log says of its time zone must not come from the machine.
    command.arg("relog").arg(sample).arg("-o").arg(output).env("TZ", "UTC");
    // A file, no pipe: processes of Wine that go on would keep a pipe open.
    let said = output.with_extension("messages");
    let messages = File::create(&said).map_err(|error| format!("{}: {error}", said.display()))?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(messages);
    let status = command.status().map_err(|error| format!("{}: {error}", crate::show(&command)))?;
    if status.success() {
        return Ok(());
    }
    let messages = fs::read_to_string(&said).unwrap_or_default();
    Err(format!("{} ({status}): {}", crate::show(&command), messages.trim_end()))
}

fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}
