//! The Python binding: the wheel is built and installed, and programs with it publish, read, and open logs.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::path::Path;
use std::process::Command;

use tallymon_testkit::{Samba, Scratch, peer, shared, skip};

#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn programs_in_python_publish_read_and_open_logs() {
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
    let tally = std::env::current_exe().unwrap().parent().unwrap().with_file_name("tally");
    if !tally.is_file() {
        skip("the command tally was not built, what it shows of a Python program is not tested");
    }
    let tally = if tally.is_file() { tally.as_os_str() } else { "".as_ref() };
    let program = |script: &str| {
        let mut program = Command::new(&python);
        program.arg(binding.join("tests").join(script));
        program.env("PYTHONPATH", &packages).env("TALLYMON_ROOT", folder.join("root"));
        program.env("LC_ALL", "C.UTF-8");
        program
    };
    assert_eq!(run(program("stubs.py").arg(binding.join("tallymon.pyi"))), "all right\n");
    assert_eq!(run(program("behemoths.py").arg(tally)), "all right\n");
    let libraries = "pandas, pyarrow and polars";
    let import = Command::new(&python).args(["-c", "import pandas, pyarrow, polars"]).output().unwrap();
    if import.status.success() {
        let samples = shared("logs").unwrap_or_default();
        let folder = Scratch::new();
        let settings = "server signing = mandatory\nserver min protocol = SMB3_11";
        let samba = Samba::start(&folder, "samba", settings);
        let port = samba.as_ref().map(|samba| samba.port.to_string()).unwrap_or_default();
        assert_eq!(run(program("logs.py").arg(tally).arg(samples).arg(port)), "all right\n");
    } else {
        let is_required = std::env::var_os("TALLYMON_PEERS").is_some_and(|value| value == "required");
        assert!(!is_required, "{libraries} are required and not installed");
        skip(&format!("{libraries} are not installed"));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
