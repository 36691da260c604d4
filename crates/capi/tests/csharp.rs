//! The C# binding: compiled by mono's `mcs`, run by mono and by .NET Core, and seen by the command.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed assumption of a test is its failure")]

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tallymon_testkit::{peer, skip};

#[allow(dead_code, reason = "the tests of the profiler run more programs")]
#[path = "../../clr/tests/dotnet/runtimes.rs"]
mod runtimes;

const CONFIG: &str = r#"{"runtimeOptions":{"rollForward":"LatestMajor",
    "framework":{"name":"Microsoft.NETCore.App","version":"3.1.0"},
    "configProperties":{"System.Globalization.Invariant":true}}}"#;

fn sources(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "cs")).collect();
    files.sort();
    files
}

/// Compiles the binding as a library and a program that uses it, in a folder with our library.
fn compile(mcs: &Path) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("csharp-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let library = std::env::current_exe().unwrap().with_file_name("libtallymon_capi.so");
    std::os::unix::fs::symlink(library, folder.join("libtallymon.so")).unwrap();
    std::fs::write(folder.join("program.runtimeconfig.json"), CONFIG).unwrap();
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let binding = folder.join("Tallymon.Diagnostics.dll");
    let run = |options: &[String], sources: &[PathBuf]| {
        let output = Command::new(mcs)
            .arg("-warnaserror")
            .arg("-optimize+")
            .args(options)
            .args(sources)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    run(
        &["-target:library".to_string(), format!("-out:{}", binding.display())],
        &sources(&home.join("../../bindings/csharp")),
    );
    run(
        &[
            format!("-reference:{}", binding.display()),
            format!("-out:{}", folder.join("Behemoths.exe").display()),
        ],
        &sources(&home.join("tests/csharp")),
    );
    folder
}

/// A table of hosts, and a program `ssh` that plays the one that answers, and fails for the other.
fn other_machine(folder: &Path, tally: &Path) {
    std::fs::create_dir_all(folder.join("root")).unwrap();
    std::fs::create_dir_all(folder.join("bin")).unwrap();
    std::fs::write(folder.join("root/hosts"), "far ssh://far\naway ssh://away\n").unwrap();
    let ssh = folder.join("bin/ssh");
    // What the other machine has published is none of this one's.
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *away*) exit 255;; esac\nunset TALLYMON_ROOT\nexec '{}' serve --stdio\n",
        tally.display()
    );
    std::fs::write(&ssh, script).unwrap();
    std::fs::set_permissions(ssh, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs the program, and the command beside it.
fn check(runtime: &str, mut command: Command, folder: &Path, tally: Option<&Path>) {
    let root = folder.join("root");
    if let Some(tally) = tally {
        other_machine(folder, tally);
        let path = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap());
        command.env("TALLYMON_TEST_FAR", "far").env("PATH", path);
    }
    let mut child = command
        .env("LD_LIBRARY_PATH", folder)
        .env("TALLYMON_ROOT", &root)
        .env("DOTNET_CLI_TELEMETRY_OPTOUT", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    said.read_line(&mut first).unwrap();
    let shown = tally.map(|tally| {
        let paths = [r"\Behemoth(*)\*", r"\Behemoths Summary\*"];
        let mut tally = Command::new(tally);
        let output =
            tally.arg("get").args(paths).env("TALLYMON_ROOT", &root).env("LC_ALL", "C").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    });
    drop(child.stdin.take());
    let (mut rest, mut errors) = (String::new(), String::new());
    said.read_to_string(&mut rest).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    let ended = child.wait().unwrap();
    assert!(ended.success() && first == "0 wrong\n" && rest.is_empty(), "{runtime}: {first}{rest}{errors}");
    let Some(shown) = shown else { return };
    for line in [
        r"\Behemoth(Ada)\Weight 8500",
        r"\Behemoth(Ada)\Steps 200000",
        r"\Behemoth(Ada)\% Awake 25.000 %",
        r"\Behemoths Summary\Count 2",
    ] {
        let same = |shown: &str| shown.split_whitespace().eq(line.split_whitespace());
        assert!(shown.lines().any(same), "{runtime}: {line} is not in\n{shown}");
    }
}

#[test]
fn a_program_in_csharp_publishes_and_reads() {
    let Some(mcs) = peer("mcs") else { return };
    let folder = compile(&mcs);
    let built = std::env::current_exe().unwrap().parent().unwrap().with_file_name("tally");
    let tally = Some(built).filter(|file| file.is_file());
    if tally.is_none() {
        skip("the command tally was not built, what it shows of a C# program is not tested");
    }
    let program = folder.join("Behemoths.exe");
    if let Some(mono) = peer("mono") {
        let mut command = Command::new(mono);
        command.arg(&program);
        check("mono", command, &folder, tally.as_deref());
    }
    let runtimes = runtimes::runtimes();
    if runtimes.is_empty() {
        skip("no .NET runtime for the test of the C# binding");
    }
    for (version, dotnet) in runtimes {
        let mut command = Command::new(dotnet);
        command
            .arg("exec")
            .arg("--runtimeconfig")
            .arg(folder.join("program.runtimeconfig.json"))
            .arg(&program);
        check(version, command, &folder, tally.as_deref());
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
