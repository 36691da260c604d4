//! A program of .NET 10 that we did not compile: it does what it does without the profiler, and its calls
//! balance.

use crate::runtimes;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tallymon_clr::reader::{self, Profile};
use tallymon_clr::settings::{Mode, Settings, environment, find_library};

/// The program in a folder of its own.
struct Foreign {
    program: PathBuf,
    library: PathBuf,
    folder: PathBuf,
}

impl Foreign {
    /// None, said once for each test, when the program is not there.
    fn new(test: &str) -> Option<Foreign> {
        let program = runtimes::foreign_program()?;
        let here = std::env::current_exe().unwrap();
        let library = find_library(here.parent().unwrap()).expect("the library is built with its tests");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("clr-{test}"));
        // What an earlier run left may be there or not.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Some(Foreign { program, library, folder })
    }

    fn run(&self, arguments: &[&str], settings: Option<&Settings>) -> Output {
        let mut command = Command::new(&self.program);
        // It unpacks nothing and asks nobody; the folder takes what it may want to write.
        command.args(arguments).env("HOME", &self.folder);
        command.env("DOTNET_BUNDLE_EXTRACT_BASE_DIR", &self.folder);
        command.env("AZURE_MCP_COLLECT_TELEMETRY", "false");
        // Of all ways to sign in the one that looks at variables alone, and there are none.
        command.env("AZURE_TOKEN_CREDENTIALS", "EnvironmentCredential");
        if let Some(settings) = settings {
            command.envs(environment(settings, &self.library));
        }
        command.output().unwrap()
    }

    /// Every call ended exactly once, or is still open.
    fn profile(&self, arguments: &[&str], mode: Mode) -> (Output, Profile) {
        let file = self.folder.join(format!("{mode:?}.prof"));
        let settings = Settings { mode, file: Some(file.clone()), size: 256, ..Settings::default() };
        let profiled = self.run(arguments, Some(&settings));
        let profile = Profile::open(&file).unwrap();
        assert_eq!(profile.runtime[0], 10);
        assert_eq!((profile.problem.as_str(), profile.lost), ("", reader::Lost::default()));
        assert!(!profile.unwind_events, "reports come twice there");
        for call in profile.calls.iter().filter(|call| call.parent.is_some()) {
            assert_eq!(call.enters, call.ended() + u64::from(call.open), "{}", profile.name(call));
        }
        assert_eq!(profile.threads.iter().map(|thread| thread.unmatched).sum::<u64>(), 0);
        (profiled, profile)
    }
}

#[test]
fn a_program_of_dotnet_10_runs_the_same_and_balances() {
    let Some(foreign) = Foreign::new("foreign") else { return };
    let plain = foreign.run(&["--help"], None);
    assert!(plain.status.success(), "{}", String::from_utf8_lossy(&plain.stderr));
    // Thousands of its own calls, millions with those of the framework.
    for (mode, least) in [(Mode::User, 1000), (Mode::All, 1_000_000)] {
        let (profiled, profile) = foreign.profile(&["--help"], mode);
        assert_eq!(plain.stdout, profiled.stdout);
        assert_eq!(plain.status, profiled.status, "{}", String::from_utf8_lossy(&profiled.stderr));
        assert!(profile.enters() > least, "{mode:?}: {}", profile.enters());
    }
}

#[test]
fn exceptions_of_dotnet_10_end_calls_exactly_once() {
    let Some(foreign) = Foreign::new("foreign-exceptions") else { return };
    // Nobody is signed in: an exception goes up through asynchronous methods, each of which throws it again.
    let arguments = ["subscription", "list"];
    let plain = foreign.run(&arguments, None);
    assert_eq!(plain.status.code(), Some(1), "{}", String::from_utf8_lossy(&plain.stderr));
    let type_of = |output: &Output| {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().find(|line| line.contains("\"type\"")).map(str::to_owned)
    };
    assert!(type_of(&plain).unwrap().contains("CredentialUnavailableException"), "{plain:?}");
    for mode in [Mode::User, Mode::All] {
        let (profiled, profile) = foreign.profile(&arguments, mode);
        assert_eq!((type_of(&profiled), profiled.status), (type_of(&plain), plain.status), "{mode:?}");
        let thrown: u64 = profile.threads.iter().map(|thread| thread.exceptions).sum();
        assert!(thrown >= 20, "{mode:?}: {thrown}");
        let sum = |field: fn(&reader::Call) -> u64| profile.calls.iter().map(field).sum::<u64>();
        assert_eq!(sum(|call| call.dropped), 0, "each is seen to end where it is caught");
        if mode == Mode::All {
            assert!(sum(|call| call.unwinds) >= 100, "{}", sum(|call| call.unwinds));
        }
    }
}
