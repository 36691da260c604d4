//! Switching the hooks while methods are compiled and put into others, which hung or ended programs.

use crate::support::{Talk, benches};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tallymon_clr::reader::{self, Profile};
use tallymon_clr::settings::{Filter, Mode, Settings};

#[test]
fn switching_while_methods_are_compiled_stops_nothing() {
    for bench in benches() {
        // The first two refuse to switch, and the last has no file that it could load.
        if bench.version != "9.0" {
            continue;
        }
        let program = bench.program("plugins", "plugins");
        let settings = Settings { mode: Mode::Dormant, ..Settings::default() };
        let mut command = program.profiled(&settings);
        // No test that reads the counters of all .NET programs is to attach: this one is about the profiler only,
        // and a reader that is killed can make a young program stand still.
        command.env("DOTNET_EnableDiagnostics_IPC", "0");
        // Otherwise nothing is inlined before it was called often.
        command.env("COMPlus_TieredCompilation", "0").stderr(Stdio::inherit());
        let mut child = Talk::start(command);
        child.line("ready");
        let file = program.profile();
        for turn in 0..16 {
            // It compiles while it is switched.
            child.say("x");
            reader::switch(&file, turn % 2 == 0, &Filter::default()).unwrap();
            // Far longer than on the slowest machine: one that stands still never answers.
            let deadline = Instant::now() + Duration::from_secs(120);
            loop {
                let profile = Profile::open(&file).unwrap();
                if !profile.asked {
                    assert_eq!(profile.problem, "", "turn {turn} .NET {}", bench.version);
                    break;
                }
                assert!(Instant::now() < deadline, "turn {turn} was not answered, .NET {}", bench.version);
                assert_eq!(child.child.try_wait().unwrap(), None, "turn {turn} .NET {}", bench.version);
                std::thread::sleep(Duration::from_millis(5));
            }
            child.line("done x");
        }
        child.say("end");
        child.line("end");
        assert!(child.child.wait().unwrap().success());
    }
}
