//! A program that uses `pdh.h` beside a provider library that crashes or hangs: the other counters keep their
//! values.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed assumption of a test is its failure")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tallymon::registry::{Package, PerflibSetting, Roots, Scope, Service, Writer};
use tallymon_testkit::{Scratch, attack, peer, skip};

#[allow(dead_code, reason = "here all programs have the shared library")]
mod bench;

use bench::{Bench, SANITIZED, lines};

/// The program that loads libraries, which lies beside the command.
fn tally_host() -> Option<PathBuf> {
    let program = std::env::current_exe().unwrap().parent()?.parent()?.join("tally-host");
    if !program.is_file() {
        skip("tally-host is not built (cargo build -p tallymon-cli)");
        return None;
    }
    Some(program)
}

/// Compiles the provider of the command's tests with a fault, and registers it.
fn install(gcc: &Path, folder: &Path, service: &str, fault: &str, deadline: u32) {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = folder.join(format!("{service}.so"));
    let define = |name: &str, end: &str| format!("-D{name}=\"{}/calls/{service}.{end}\"", folder.display());
    let compiled = Command::new(gcc)
        .args(["-std=gnu11", "-O1", "-w", "-fshort-wchar", "-shared", "-fPIC", "-I"])
        .arg(home.join("include"))
        .args([&define("LOG", "calls"), &define("SICK_FILE", "sick"), &format!("-DFAULT={fault}")])
        .arg(home.join("../cli/tests/library/provider.c"))
        .arg("-o")
        .arg(&library)
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    fs::write(folder.join(format!("{service}.h")), "#define OBJECT 0\n#define COUNTER 2\n").unwrap();
    let ini = folder.join(format!("{service}.ini"));
    let text = format!(
        "[info]\ndrivername={service}\nsymbolfile={service}.h\n[languages]\n009=English\n[objects]\n\
         OBJECT_009_NAME=\n[text]\nOBJECT_009_NAME={service} Object\nCOUNTER_009_NAME={service} Calls\n"
    );
    fs::write(&ini, text).unwrap();
    let name = |name: &str| Some(name.to_string());
    let registration = Service {
        library: Some(library.display().to_string()),
        open: name("Open"),
        collect: name("Collect"),
        close: name("Close"),
        deadline: Some(deadline),
        ..Service::default()
    };
    let writer = Writer::open(&Roots::in_folder(folder), Some(Scope::System)).unwrap();
    writer.install(&Package::read(&ini, None).unwrap(), &registration).unwrap();
    writer.set_perflib(PerflibSetting::OpenWait, Some(8000)).unwrap();
}

#[test]
fn attack_a_program_beside_a_sick_library() {
    let (Some(gcc), Some(host)) = (peer("gcc"), tally_host()) else { return };
    let bench = Bench::new("neighbours");
    let program =
        bench.compile(&gcc, &[SANITIZED, &["-Wall", "-Wextra"]].concat(), &["tests/c/neighbours.c"]);
    // It crashes at its first answer or when it is opened, never answers, or answers once and never again.
    for fault in ["CRASH", "CRASH_OPEN", "OPEN_SLEEPS", "LONG_SLEEP"] {
        let folder = Scratch::in_memory();
        fs::create_dir(folder.join("calls")).unwrap();
        // Libraries of root have users of their own, and write down their calls here.
        fs::set_permissions(folder.join("calls"), fs::Permissions::from_mode(0o777)).unwrap();
        install(&gcc, &folder, "Healthy", "GOOD", 8000);
        install(&gcc, &folder, "Sick", fault, 300);
        let mut command = bench.run(&program);
        command.env("TALLYMON_ROOT", &*folder).env("TALLY_HOST", &host).arg("4");
        let paths = [
            r"\Healthy Object(one)\Healthy Calls",
            r"\Sick Object(one)\Sick Calls",
            r"\Memory\Available Bytes",
        ];
        let said = lines(&command.args(paths).output().unwrap());
        let (added, samples) = said.split_at(paths.len());
        assert!(added[0] == "added 00000000" && added[2] == "added 00000000", "{fault}: {said:?}");
        let samples: Vec<&[String]> = samples.chunks(1 + paths.len()).collect();
        assert_eq!(samples.len(), 4, "{fault}: {said:?}");
        let value = |line: &str| -> Option<u64> { line.strip_prefix("value 00000000 ")?.parse().ok() };
        let mut before = 0;
        for sample in &samples {
            let [status, healthy, _, memory] = sample else { panic!("{fault}: {said:?}") };
            assert_eq!(status, "sample 00000000", "{fault}: {said:?}");
            // It counts the calls, so that each sample has a new value.
            let calls = value(healthy).unwrap_or_else(|| panic!("{fault}: {said:?}"));
            assert!(calls > before && value(memory).is_some_and(|bytes| bytes > 0), "{fault}: {said:?}");
            before = calls;
        }
        // What is sick has a status and never a silent 0.
        let sick = &samples[3][2];
        assert!(value(sick).is_none_or(|calls| calls >= 41), "{fault}: {said:?}");
    }
    attack(
        "provider library",
        "crashes or hangs beside a program that uses pdh.h",
        "all other counters of the query have new values in each sample; its own have a status",
    );
}
