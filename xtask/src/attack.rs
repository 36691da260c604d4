//! `cargo xtask attack`: every test whose name begins with `attack_`, in namespaces of its own, and the table
//! of what they report.
//!
//! The namespaces are made by util-linux's `unshare`: own mounts, processes, network and messages. `/run`,
//! `/var/lib`, `/dev/shm` and `/tmp` are empty and in memory, and what is written to `/etc` is gone at the
//! end. So a test may play root and its neighbours on a whole machine, and two runs at once do not meet: they
//! would use the same names, which are made of process numbers. What a test forks ends with its namespace.
//!
//! There is no network. With `TALLYMON_PEERS=required`, tests whose name begins with `fetch_` run before and
//! outside, and fetch what the attacks of their binary need.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::{cargo, root, target_folder};

/// The page with the table, and the lines around it.
const PAGE: &str = "docs/security.md";
const BEGIN: &str = "<!-- table of attacks: written by `cargo xtask attack --write` -->";
const END: &str = "<!-- end of the table of attacks -->";

/// Each test binary is stopped after this; in the long form there are 1,000 kills and simulated days.
const LONGEST_SHORT: Duration = Duration::from_secs(300);
const LONGEST: Duration = Duration::from_secs(3600);

/// What a shell does in the new namespaces before it becomes the test.
const SET_UP: &str = r#"
set -e
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/etc-changes /run/etc-work
mount -t overlay -o lowerdir=/etc,upperdir=/run/etc-changes,workdir=/run/etc-work overlay /etc
mount -t tmpfs -o mode=755 tmpfs /var/lib
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -t tmpfs -o mode=1777 tmpfs /tmp
ip link set lo up 2>/dev/null || true
exec "$@"
"#;

/// A test binary and the folder of its package.
struct TestBinary {
    path: PathBuf,
    folder: PathBuf,
}

/// Area and attack, and the result.
type Rows = BTreeMap<(String, String), String>;

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let (mut short, mut write, mut filter) = (false, false, "attack_".to_string());
    for argument in arguments {
        match argument.as_str() {
            "--short" => short = true,
            "--write" => write = true,
            name if name.starts_with("attack_") => filter = name.to_string(),
            other => {
                return Err(format!(
                    "unknown argument {other:?}; it takes --short, --write and the name of a test that \
                     begins with attack_"
                ));
            }
        }
    }
    outside_of_tmp([root().to_path_buf(), target_folder()])?;
    let namespaces = namespaces()?;
    let start = Instant::now();
    let (rows_file, skips_file) = (empty_file("attack-rows.txt")?, empty_file("attack-skips.txt")?);
    let attacks = |binary: &TestBinary| {
        let mut command = Command::new("unshare");
        command.args(&namespaces).args(["sh", "-c", SET_UP, "sh"]).arg(&binary.path);
        command.args([&filter, "--test-threads=1", "--nocapture"]).current_dir(&binary.folder);
        command.env("TALLYMON_ATTACK_ROWS", &rows_file).env("TALLYMON_SKIPS", &skips_file);
        command.env("TALLYMON_OWN_MACHINE", "1").env("TALLYMON_ATTACK", if short { "short" } else { "full" });
        command.env("CARGO_MANIFEST_DIR", &binary.folder);
        for name in ["TALLYMON_ROOT", "TALLY_ROOT", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"] {
            command.env_remove(name);
        }
        let longest = if short { LONGEST_SHORT } else { LONGEST };
        wait(command, longest).map_err(|error| format!("{}: {error}", binary.path.display()))
    };
    let mut failed = Vec::new();
    let mut with_attacks = Vec::new();
    for binary in binaries()? {
        if has_tests(&binary, &filter)? {
            match fetch(&binary) {
                Ok(()) => with_attacks.push(binary),
                Err(error) => failed
                    .push(format!("{}: what its tests need was not fetched: {error}", binary.path.display())),
            }
        }
    }
    failed.extend(at_once(with_attacks, attacks));
    let rows = parse(&read(&rows_file)?)?;
    let skips = read(&skips_file)?;
    let is_whole = skips.is_empty() && failed.is_empty() && filter == "attack_";
    print(&rows, &skips);
    eprintln!("{} attacks in {:.0} s", rows.len(), start.elapsed().as_secs_f64());
    if !failed.is_empty() {
        return Err(format!("an attack succeeded, or its test failed:\n  {}", failed.join("\n  ")));
    }
    compare(rows, is_whole, write)
}

/// Runs the attacks of two binaries at a time, each in namespaces of its own: most of them wait. What failed.
fn at_once(
    binaries: Vec<TestBinary>,
    attacks: impl Fn(&TestBinary) -> Result<(), String> + Sync,
) -> Vec<String> {
    let (waiting, failed) = (Mutex::new(binaries.into_iter()), Mutex::new(Vec::new()));
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(binary) = next() {
                    if let Err(error) = attacks(&binary) {
                        failed.lock().unwrap_or_else(PoisonError::into_inner).push(error);
                    }
                }
            });
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// The options of `unshare` with which namespaces can be made here.
fn namespaces() -> Result<Vec<&'static str>, String> {
    const COMMON: &[&str] = &["--mount", "--pid", "--net", "--ipc", "--fork", "--kill-child", "--mount-proc"];
    let ways: [&[&str]; 3] =
        [&[], &["--user", "--map-root-user", "--map-auto"], &["--user", "--map-root-user"]];
    for way in ways {
        let options: Vec<&str> = way.iter().chain(COMMON).copied().collect();
        let mut trial = Command::new("unshare");
        trial.args(&options).args(["sh", "-c", SET_UP, "sh", "true"]).stderr(Stdio::null());
        match trial.status() {
            Ok(status) if status.success() => return Ok(options),
            Ok(_) => {}
            Err(error) => return Err(format!("unshare (util-linux) did not start: {error}")),
        }
    }
    let words = "no namespaces can be made here: run it as root, or where users may make user namespaces \
                 (sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces > 0)";
    Err(words.to_string())
}

/// An error when a folder is in `/tmp`, which the namespaces do not have.
fn outside_of_tmp(folders: [PathBuf; 2]) -> Result<(), String> {
    let real = folders.map(|folder| fs::canonicalize(&folder).unwrap_or(folder));
    match real.iter().find(|folder| folder.starts_with("/tmp")) {
        None => Ok(()),
        Some(folder) => Err(format!(
            "{} is in /tmp, and the attacks have a /tmp of their own: move the checkout, or set \
             CARGO_TARGET_DIR",
            folder.display()
        )),
    }
}

/// Has a test binary fetch what its attacks need, where there is a network.
fn fetch(binary: &TestBinary) -> Result<(), String> {
    if std::env::var_os("TALLYMON_PEERS").is_none_or(|value| value != "required") {
        return Ok(());
    }
    if !has_tests(binary, "fetch_")? {
        return Ok(());
    }
    let mut command = Command::new(&binary.path);
    command.args(["fetch_", "--test-threads=1"]).current_dir(&binary.folder);
    command.env("CARGO_MANIFEST_DIR", &binary.folder);
    wait(command, LONGEST_SHORT)
}

/// Builds the programs and all tests.
fn binaries() -> Result<Vec<TestBinary>, String> {
    crate::build_all(&[])?;
    let mut command = cargo();
    command.args(["test", "--workspace", "--no-run", "--message-format=json-render-diagnostics"]);
    eprintln!("+ {}", crate::show(&command));
    let output =
        command.stderr(Stdio::inherit()).output().map_err(|error| format!("cargo did not start: {error}"))?;
    if !output.status.success() {
        return Err("the tests do not compile".to_string());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let messages = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    Ok(messages.filter_map(|message| test_binary(&message)).collect())
}

/// The test binary that a message of cargo is about.
fn test_binary(message: &serde_json::Value) -> Option<TestBinary> {
    let is_test = message.get("profile")?.get("test")?.as_bool()?;
    let path = PathBuf::from(message.get("executable")?.as_str().filter(|_| is_test)?);
    let folder = Path::new(message.get("manifest_path")?.as_str()?).parent()?.to_path_buf();
    Some(TestBinary { path, folder })
}

fn has_tests(binary: &TestBinary, filter: &str) -> Result<bool, String> {
    let output = Command::new(&binary.path).args([filter, "--list"]).current_dir(&binary.folder).output();
    let output = output.map_err(|error| format!("{} did not start: {error}", binary.path.display()))?;
    // A target with a harness of its own may not know the option, and has no such tests.
    Ok(String::from_utf8_lossy(&output.stdout).lines().any(|line| line.ends_with(": test")))
}

/// Runs a command to its end, but not for ever.
fn wait(mut command: Command, longest: Duration) -> Result<(), String> {
    let start = Instant::now();
    let mut child = command.spawn().map_err(|error| format!("it did not start: {error}"))?;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(status.to_string()),
            Ok(None) if start.elapsed() > longest => {
                // With `unshare` its namespace ends, and with that everything in it.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it did not end within {} minutes", longest.as_secs() / 60));
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(50)),
            Err(error) => return Err(error.to_string()),
        }
    }
}

fn empty_file(name: &str) -> Result<PathBuf, String> {
    let path = target_folder().join(name);
    fs::write(&path, "").map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The reported rows; an attack that is reported twice has the same result both times.
fn parse(text: &str) -> Result<Rows, String> {
    let mut rows = Rows::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [area, attack, result] = cells.as_slice() else {
            return Err(format!("a row is 'area | attack | result', found {line:?}"));
        };
        let before = rows.insert(((*area).to_string(), (*attack).to_string()), (*result).to_string());
        if let Some(before) = before.filter(|before| before != result) {
            return Err(format!("{area}, {attack}: two results, {before:?} and {result:?}"));
        }
    }
    Ok(rows)
}

fn print(rows: &Rows, skips: &str) {
    print!("{}", table(rows));
    let mut skips: Vec<&str> = skips.lines().collect();
    skips.sort_unstable();
    skips.dedup();
    for skip in skips {
        eprintln!("skipped: {skip}");
    }
}

/// The rows as a table of the page.
fn table(rows: &Rows) -> String {
    let mut text = "| area | attack | result |\n|---|---|---|\n".to_string();
    for ((area, attack), result) in rows {
        text.push_str(&format!("| {area} | {attack} | {result} |\n"));
    }
    text
}

/// Compares the rows with the page, or writes them into it. Rows of a run that was not whole leave the other
/// rows of the page as they are.
fn compare(found: Rows, is_whole: bool, write: bool) -> Result<(), String> {
    let path = root().join(PAGE);
    let page = read(&path)?;
    let parts = page.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?)));
    let Some((before, (old, after))) = parts else {
        return Err(format!("{PAGE} has no lines {BEGIN} and {END}"));
    };
    let old = old.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| area "));
    let old = parse(&old.map(|line| line.trim_matches('|')).collect::<Vec<_>>().join("\n"))?;
    let mut rows = if is_whole { Rows::new() } else { old.clone() };
    rows.extend(found);
    if rows == old {
        return Ok(());
    }
    if write {
        let text = format!("{before}{BEGIN}\n\n{}\n{END}{after}", table(&rows));
        return fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()));
    }
    let differs = |a: &Rows, b: &Rows| -> Vec<String> {
        a.iter().filter(|(key, result)| b.get(*key) != Some(*result)).map(|(key, _)| key.1.clone()).collect()
    };
    Err(format!(
        "{PAGE} is not what the attacks report; 'cargo xtask attack --write' writes it. New or changed: {:?}. \
         Gone or changed: {:?}",
        differs(&rows, &old),
        differs(&old, &rows)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Read, Write};

    /// Two runs at once use the same names in `/tmp`, and neither sees a file of the other or of the machine.
    #[test]
    fn each_run_has_its_own_tmp() {
        let Ok(namespaces) = namespaces() else {
            eprintln!("skipped: no namespaces can be made here");
            return;
        };
        let outside = Path::new("/tmp").join(format!("tallymon-attack-outside-{}", std::process::id()));
        fs::write(&outside, "").unwrap();
        // Each writes its name, says so, waits for the other, and finds nothing but its own.
        let words =
            "test -z \"$(ls -A /tmp)\"; echo $0 > /tmp/name; echo ready; read line; cat /tmp/name; ls /tmp";
        let spawn = |name: &str| {
            let mut command = Command::new("unshare");
            command.args(&namespaces).args(["sh", "-c", SET_UP, "sh", "sh", "-ec", words, name]);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
        };
        let mut runs = ["one", "two"].map(|name| (name, spawn(name)));
        let mut outputs = Vec::new();
        for (_, run) in &mut runs {
            let mut output = BufReader::new(run.stdout.take().unwrap());
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            assert_eq!(line, "ready\n");
            outputs.push(output);
        }
        for ((name, mut run), mut output) in runs.into_iter().zip(outputs) {
            run.stdin.take().unwrap().write_all(b"go\n").unwrap();
            let mut text = String::new();
            output.read_to_string(&mut text).unwrap();
            assert!(run.wait().unwrap().success());
            assert_eq!(text, format!("{name}\nname\n"));
        }
        fs::remove_file(outside).unwrap();
    }

    #[test]
    fn a_checkout_in_tmp_is_refused() {
        let found = outside_of_tmp(["/".into(), "/tmp/target".into()]).unwrap_err();
        assert!(found.starts_with("/tmp/target is in /tmp"), "{found}");
        outside_of_tmp(["/".into(), "/home".into()]).unwrap();
    }

    #[test]
    fn rows_come_back_from_the_table() {
        let rows = parse("b | two | held\na | one | refused\nb | two | held\n").unwrap();
        let table = table(&rows);
        assert!(table.ends_with("| a | one | refused |\n| b | two | held |\n"), "{table}");
        let lines: Vec<&str> = table.lines().skip(2).map(|line| line.trim_matches('|')).collect();
        assert_eq!(parse(&lines.join("\n")).unwrap(), rows);
        assert!(parse("a | one | refused\na | one | held").unwrap_err().contains("two results"));
        assert!(parse("a | one").unwrap_err().contains("a row is"));
    }
}
