//! Modules that are unloaded: their rows, and switching the hooks meanwhile, which ended programs.

use crate::support::{benches, enters_of};
use std::time::{Duration, Instant};
use tallymon_clr::reader::{self, Profile};
use tallymon_clr::settings::{Filter, Mode, Settings};

#[test]
fn unloaded_plug_ins_are_one_row_and_take_no_more_room() {
    for bench in benches() {
        // Its framework has no contexts.
        if bench.version == "10.0" {
            continue;
        }
        let program = bench.program("unloads", "unloads");
        let run = |turns: &str| {
            program.check(&Settings::default(), |command| {
                command.args([turns, "2"]);
            })
        };
        let (few, many) = (run("4"), run("60"));
        for (profile, turns) in [(&few, 4), (&many, 60)] {
            // The program's own, and two copies that are loaded at a time.
            assert_eq!(enters_of(profile, "Plugin.Run(int)"), 4 * turns, ".NET {}", bench.version);
            let calls = profile.calls.iter().filter(|call| profile.name(call) == "Plugin.Run(int)").count();
            assert_eq!(calls, 3, ".NET {}", bench.version);
            let unloaded = profile.modules.iter().filter(|module| module.unloaded).count();
            assert_eq!(unloaded, 2, ".NET {}: {:?}", bench.version, profile.modules);
        }
        assert_eq!(few.methods.len(), many.methods.len(), ".NET {}", bench.version);
    }
}

/// Before the profiler kept modules while it used them, each of eight such runs crashed.
#[test]
fn switching_while_modules_are_unloaded_ends_nothing() {
    for bench in benches().iter().filter(|bench| bench.version == "9.0") {
        let program = bench.program("unloads", "unloads-switched");
        let settings = Settings { mode: Mode::Dormant, ..Settings::default() };
        let mut command = program.profiled(&settings);
        command.args(["6", "500"]).env("DOTNET_EnableDiagnostics_IPC", "0");
        let mut child = command.spawn().unwrap();
        let file = program.profile();
        let deadline = Instant::now() + Duration::from_secs(300);
        let mut answered = 0;
        while child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "it stands still after {answered} switches");
            if let Ok(profile) = Profile::open_head(&file)
                && !profile.asked
            {
                // The head has no words of what did not work; near its end, a program refuses.
                if profile.hooks_on != (answered % 2 == 1) {
                    let problem = Profile::open(&file).unwrap().problem;
                    assert!(problem.contains("has ended"), "{answered}: {problem}");
                }
                answered += 1;
                // The program may end just now.
                let _ = reader::switch(&file, answered % 2 == 1, &Filter::default());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{:?} {}", output.status, String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "left 0\n");
        assert!(answered > 3, "{answered}");
    }
}

/// A switch is under way when the program ends, at another moment each time.
#[test]
fn a_program_that_is_switched_ends_in_order() {
    for bench in benches().iter().filter(|bench| matches!(bench.version, "9.0" | "10.0")) {
        let program = bench.program("article", "ends-switched");
        let settings = Settings { mode: Mode::Dormant, ..Settings::default() };
        for _ in 0..tallymon_testkit::attack_count(10, 100) {
            let file = program.profile();
            // The last run left it.
            let _ = std::fs::remove_file(&file);
            let mut command = program.profiled(&settings);
            command.env("DOTNET_EnableDiagnostics_IPC", "0");
            // It waits for lines.
            let mut child = command.spawn().unwrap();
            drop(child.stdin.take());
            let mut on = true;
            while child.try_wait().unwrap().is_none() {
                // There is no file yet, or nobody any more.
                if Profile::open_head(&file).is_ok_and(|profile| !profile.asked)
                    && reader::switch(&file, on, &Filter::default()).is_ok()
                {
                    on = !on;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), ".NET {}: {:?}", bench.version, output.status);
            assert!(Profile::open(&file).unwrap().ended);
        }
    }
}
