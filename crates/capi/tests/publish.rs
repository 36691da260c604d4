//! A C program that publishes, seen by another program.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed assumption of a test is its failure")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tallymon_testkit::{peer, skip};

/// Compiles the program and links it, with the sanitizers on the side of C.
fn compile(gcc: &Path, folder: &Path, library: &[&str]) -> PathBuf {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = folder.join("publish");
    let output = Command::new(gcc)
        .args([
            "-g",
            "-Wall",
            "-Wextra",
            "-fsanitize=address,undefined",
            "-fno-sanitize-recover=all",
            "-fshort-wchar",
        ])
        .arg("-I")
        .arg(home.join("include"))
        .arg(home.join("tests/c/publish.c"))
        .args(library)
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// Runs the program, and `tally get` while it publishes; what `tally` shows while it does and afterwards.
fn shown(program: &Path, folder: &Path, tally: Option<&Path>) -> Option<(String, String)> {
    let root = folder.join("root");
    let mut child = Command::new(program)
        .env("LD_LIBRARY_PATH", folder)
        .env("TALLYMON_ROOT", &root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert_eq!(first, "0 wrong", "{:#?}", lines.collect::<Vec<_>>());
    let get = |tally: &Path| {
        let paths = [r"\Behemoth(*)\*", r"\Behemoths Summary\*"];
        let mut command = Command::new(tally);
        let output =
            command.arg("get").args(paths).env("TALLYMON_ROOT", &root).env("LC_ALL", "C").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let before = tally.map(get);
    drop(child.stdin.take());
    let rest: Vec<_> = lines.collect();
    assert!(child.wait().unwrap().success(), "{rest:#?}");
    // Everything was closed, so that the file is gone although nobody was killed.
    assert_eq!(std::fs::read_dir(root.join("pub")).unwrap().count(), 0);
    before.zip(tally.map(get))
}

fn check(name: &str, link: impl FnOnce(&Path, &Path) -> Vec<String>) {
    let Some(gcc) = peer("gcc") else { return };
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("publish-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    // The libraries were built for the test and lie beside it, the command one folder above if it was built.
    let built = std::env::current_exe().unwrap().parent().unwrap().to_path_buf();
    let options = link(&built, &folder);
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let program = compile(&gcc, &folder, &options);
    let tally = Some(built.with_file_name("tally")).filter(|file| file.is_file());
    if tally.is_none() {
        skip("the command tally was not built, what it shows of a C program is not tested");
    }
    let output = shown(&program, &folder, tally.as_deref());
    std::fs::remove_dir_all(&folder).unwrap();
    let Some((before, after)) = output else { return };
    for line in [
        r"\Behemoth(Ada)\Weight 8500",
        r"\Behemoth(Ada)\Meals 400000",
        r"\Behemoth(Ada)\Steps 400000",
        // 16 bytes hold eight letters of two.
        r"\Behemoth(Ada)\Mood грустный",
        r"\Behemoth(Ada)\% Awake 25.000 %",
        r"\Behemoth(Ada)\Walk (count) 100",
        r"\Behemoth(Ada)\X 18",
        r"\Behemoth(Ada)\Y 3",
        r"\Behemoths Summary\Count 2",
    ] {
        let words: Vec<&str> = line.split_whitespace().collect();
        let same = |shown: &str| shown.split_whitespace().eq(words.iter().copied());
        assert!(before.lines().any(same), "{line} is not in\n{before}");
    }
    assert!(before.contains(r"\Behemoth(Ada/Bob)\Weight"), "{before}");
    assert!(!after.contains("8500"), "{after}");
}

#[test]
fn a_program_with_the_shared_library_publishes() {
    check("shared", |built, folder| {
        let library = built.join("libtallymon_capi.so");
        std::os::unix::fs::symlink(library, folder.join("libtallymon.so")).unwrap();
        vec!["-L".to_string(), folder.display().to_string(), "-ltallymon".to_string()]
    });
}

#[test]
fn a_program_with_the_static_library_publishes() {
    check("static", |built, _| {
        let library = built.join("libtallymon_capi.a").display().to_string();
        [&library, "-lm", "-lpthread", "-ldl", "-lgcc_s"].map(str::to_string).to_vec()
    });
}
