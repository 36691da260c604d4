//! Profile files where there is little room: a file system in memory that gets full while the program runs.

use crate::support::{Talk, benches, finish};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tallymon_clr::reader::Profile;
use tallymon_clr::settings::{Mode, Settings, environment};

/// A file system of its own in memory, which is gone when the test is over.
struct Memory<'a>(&'a Path);

impl Memory<'_> {
    /// None when this user may not have one.
    fn new<'a>(folder: &'a Path, size: &str) -> Option<Memory<'a>> {
        std::fs::create_dir_all(folder).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tallymon-test"]).arg(folder);
        mount.output().is_ok_and(|out| out.status.success()).then_some(Memory(folder))
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        // One that stays behind is seen by the next run, which mounts another one over it.
        let _ = Command::new("umount").arg(self.0).status();
    }
}

#[test]
fn full_file_system_is_reported_and_program_continues() {
    for bench in benches() {
        let program = bench.program("article", "room");
        let plain = finish(&mut program.command());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("clr-memory-{}", bench.version));
        // The first has room for the start and no more, the second not even for that.
        for (size, starts) in [("2560k", true), ("1m", false)] {
            let Some(_memory) = Memory::new(&folder, size) else {
                tallymon_testkit::skip("no right to mount a file system in memory");
                return;
            };
            let file = folder.join("out.prof");
            let settings =
                Settings { mode: Mode::All, file: Some(file.clone()), size: 16, ..Settings::default() };
            let mut command = program.command();
            let profiled = finish(command.envs(environment(&settings, bench.library())));
            assert_eq!((&profiled.stdout, profiled.status), (&plain.stdout, plain.status));
            if starts {
                let profile = Profile::open(&file).unwrap();
                assert!(profile.problem.contains("no room for all of the file: No space"), "{profile:?}");
                assert!(profile.ended && profile.enters() > 0);
            } else {
                let words = String::from_utf8_lossy(&profiled.stderr).into_owned();
                assert!(words.contains("No space left") && !file.exists(), "{words}");
            }
        }
    }
}

/// The thread that writes the clock is the first to meet it when the program does nothing.
#[test]
fn a_program_goes_on_when_its_file_is_cut() {
    // The last has no file that it could load.
    for bench in benches().iter().filter(|bench| bench.version != "10.0") {
        let program = bench.program("plugins", "cut");
        let mut child = Talk::start(program.profiled(&Settings::default()));
        child.line("ready");
        std::fs::File::options().write(true).open(program.profile()).unwrap().set_len(0).unwrap();
        // Several times what lies between two writes.
        std::thread::sleep(Duration::from_millis(500));
        child.say("x");
        child.line("done x");
        child.say("end");
        child.line("end");
        assert!(child.child.wait().unwrap().success(), ".NET {}", bench.version);
        assert!(Profile::open(&program.profile()).is_err());
    }
}
