//! A program that uses `pdh.h` beside a provider library that crashes or hangs: the other counters keep their
//! values.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed assumption of a test is its failure")]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use tallymon_testkit::{Scratch, attack, peer};

#[allow(dead_code, reason = "here all programs have the shared library")]
mod bench;

use bench::provider::{install, tally_host};
use bench::{Bench, SANITIZED, lines};

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
