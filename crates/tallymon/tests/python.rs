//! The Python binding: the wheel is built and installed, and a program with it publishes and reads.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::path::Path;
use std::process::Command;

use tallymon_testkit::{peer, skip};

#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn a_program_in_python_publishes_and_reads() {
    let (Some(maturin), Some(python)) = (peer("maturin"), peer("python3")) else { return };
    let binding = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bindings/python");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("python-{}", std::process::id()));
    let wheels = folder.join("wheels");
    let mut build = Command::new(maturin);
    build.args(["build", "--locked", "--profile", "dev", "--manifest-path"]).arg(binding.join("Cargo.toml"));
    run(build.arg("--target-dir").arg(target).arg("--out").arg(&wheels));
    let wheel = std::fs::read_dir(&wheels).unwrap().next().unwrap().unwrap().path();
    let name = wheel.file_name().unwrap().to_string_lossy().into_owned();
    // One wheel for every Python from 3.9 on.
    assert!(name.contains("-cp39-abi3-"), "{name}");
    let packages = folder.join("packages");
    let pip = ["-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", "--target"];
    run(Command::new(&python).args(pip).arg(&packages).arg(&wheel));
    let mut program = Command::new(&python);
    program.arg(binding.join("tests/behemoths.py"));
    let tally = std::env::current_exe().unwrap().parent().unwrap().with_file_name("tally");
    if tally.is_file() {
        program.arg(tally);
    } else {
        skip("the command tally was not built, what it shows of a Python program is not tested");
    }
    program.env("PYTHONPATH", &packages).env("TALLYMON_ROOT", folder.join("root")).env("LC_ALL", "C.UTF-8");
    assert_eq!(run(&mut program), "all right\n");
    std::fs::remove_dir_all(&folder).unwrap();
}
