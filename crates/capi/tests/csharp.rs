//! The C# binding: compiled by mono's `mcs`, run by mono and by .NET Core, and seen by the command.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed assumption of a test is its failure")]

use std::cell::Cell;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tallymon::remote::tls::Identity;
use tallymon_testkit::{Samba, Scratch, peer, skip};

mod far;

#[allow(dead_code, reason = "the tests of the profiler run more programs")]
#[path = "../../clr/tests/dotnet/runtimes.rs"]
mod runtimes;

const CONFIG: &str = r#"{"runtimeOptions":{"rollForward":"LatestMajor",
    "framework":{"name":"Microsoft.NETCore.App","version":"3.1.0"},
    "configProperties":{"System.Globalization.Invariant":true}}}"#;

fn sources(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "cs")).collect();
    files.sort();
    files
}

/// Compiles the binding as a library and a program that uses it, in a folder with our library.
fn compile(mcs: &Path) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("csharp-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let library = std::env::current_exe().unwrap().with_file_name("libtallymon_capi.so");
    std::os::unix::fs::symlink(library, folder.join("libtallymon.so")).unwrap();
    fs::write(folder.join("program.runtimeconfig.json"), CONFIG).unwrap();
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

/// A way to another machine, `far`. `away` does not answer, and `locked` refuses who logs in.
struct Way {
    name: &'static str,
    /// How many categories the other machine has at least.
    categories: usize,
    /// How many programs may still ask `locked`: over TLS a server answers nobody after ten failures in a
    /// minute.
    locked: Cell<u32>,
    /// What plays the other machine as long as the test lasts.
    _machine: Option<(Samba, Export)>,
}

/// An export that ends with its test.
struct Export(Child);

impl Drop for Export {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A folder of settings with a table of hosts.
fn settings(folder: &Path, name: &str, table: &str) -> PathBuf {
    let root = folder.join(name).join("root");
    fs::create_dir_all(&root).unwrap();
    fs::write(root.join("hosts"), table).unwrap();
    root
}

/// A program `ssh` plays the machine that answers, and fails for the other.
fn by_ssh(folder: &Path, tally: &Path) -> Way {
    settings(folder, "ssh", "far ssh://far\naway ssh://away\n");
    fs::create_dir_all(folder.join("bin")).unwrap();
    let ssh = folder.join("bin/ssh");
    // What the other machine has published is none of this one's.
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *away*) exit 255;; esac\nunset TALLYMON_ROOT\nexec '{}' serve --stdio\n",
        tally.display()
    );
    fs::write(&ssh, script).unwrap();
    fs::set_permissions(ssh, fs::Permissions::from_mode(0o755)).unwrap();
    Way { name: "ssh", categories: 11, locked: Cell::new(0), _machine: None }
}

/// Samba with what `tally serve --samba` exports. `locked` is the same machine by another name,
/// for which the password is wrong.
fn by_rrp(folder: &Path, for_samba: &Path, tally: &Path) -> Option<Way> {
    let strict = "server signing = mandatory\nserver min protocol = SMB3_11\nrestrict anonymous = 2";
    let samba = Samba::start(for_samba, "samba", strict)?;
    let perfmon = Path::new(&samba.folder).join("state/perfmon");
    for name in ["names.tdb", "data.tdb"] {
        fs::remove_file(perfmon.join(name)).unwrap();
    }
    let export = Command::new(tally)
        .args(["serve", "--interval", "100ms", "--samba"])
        .arg(&perfmon)
        .env("TALLYMON_ROOT", folder.join("nothing-published"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn();
    let export = Export(export.unwrap());
    let begin = Instant::now();
    while !perfmon.join("names.tdb").exists() {
        assert!(begin.elapsed() < Duration::from_secs(60), "nothing is exported");
        std::thread::sleep(Duration::from_millis(20));
    }
    let port = samba.port;
    let table = format!(
        "far rrp://nobody@127.0.0.1:{port}\nlocked rrp://nobody@localhost:{port}\n\
         away rrp://nobody@127.0.0.1:1\n"
    );
    let root = settings(folder, "rrp", &table);
    let credentials = root.join("credentials");
    fs::write(&credentials, format!("nobody@localhost wrong\nnobody@* {}\n", Samba::PASSWORD)).unwrap();
    fs::set_permissions(credentials, fs::Permissions::from_mode(0o600)).unwrap();
    // The ten usual objects; not every machine has each of them.
    Some(Way { name: "rrp", categories: 8, locked: Cell::new(u32::MAX), _machine: Some((samba, export)) })
}

/// A server with a key of ours, and one that knows another key.
fn by_tls(folder: &Path) -> Way {
    let own = Identity::new_pem("desk").unwrap();
    let key = Identity::from_pem(&own).unwrap().hash();
    let other = Identity::from_pem(&Identity::new_pem("other").unwrap()).unwrap().hash();
    let ((far, key_of_far), (locked, key_of_locked)) = (far::serve(key), far::serve(other));
    let (far, locked, away) = (format!("tls://{far}"), format!("tls://{locked}"), "tls://127.0.0.1:1");
    let root = settings(folder, "tls", &format!("far {far}\nlocked {locked}\naway {away}\n"));
    let servers =
        [("far", key_of_far, &*far), ("locked", key_of_locked, &*locked), ("away", key_of_far, away)];
    far::write_keys(&root, &own, &servers);
    Way { name: "tls", categories: 11, locked: Cell::new(1), _machine: None }
}

/// Runs the program, and the command beside it.
fn check(runtime: &str, mut command: Command, folder: &Path, tally: Option<&Path>, way: Option<&Way>) {
    let root = folder.join(way.map_or("none", |way| way.name)).join("root");
    let runtime = format!("{runtime}, {}", way.map_or("no other machine", |way| way.name));
    if let Some(way) = way {
        let path = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap());
        command.env("TALLYMON_TEST_FAR", "far").env("PATH", path);
        command.env("TALLYMON_TEST_CATEGORIES", way.categories.to_string());
        let left = way.locked.get();
        if left > 0 {
            way.locked.set(left - 1);
            command.env("TALLYMON_TEST_LOCKED", "locked");
        }
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
    let mut programs: Vec<(&str, Vec<PathBuf>)> = Vec::new();
    if let Some(mono) = peer("mono") {
        programs.push(("mono", vec![mono]));
    }
    let runtimes = runtimes::runtimes();
    if runtimes.is_empty() {
        skip("no .NET runtime for the test of the C# binding");
    }
    let config = folder.join("program.runtimeconfig.json");
    for (version, dotnet) in runtimes {
        programs.push((version, vec![dotnet, "exec".into(), "--runtimeconfig".into(), config.clone()]));
    }
    let for_samba = Scratch::new();
    let ways = tally.as_deref().map_or_else(Vec::new, |tally| {
        let mut ways = vec![by_ssh(&folder, tally), by_tls(&folder)];
        ways.extend(by_rrp(&folder, &for_samba, tally));
        ways
    });
    for (runtime, words) in &programs {
        let run = |way: Option<&Way>| {
            let (first, rest) = words.split_first().unwrap();
            let mut command = Command::new(first);
            command.args(rest).arg(&program);
            check(runtime, command, &folder, tally.as_deref(), way);
        };
        match ways.is_empty() {
            true => run(None),
            false => ways.iter().for_each(|way| run(Some(way))),
        }
    }
    fs::remove_dir_all(&folder).unwrap();
}
