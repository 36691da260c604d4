//! Programs that end in every way, with and without the profiler: the same code or signal, the same words,
//! and a core dump where there was one.

use crate::support::{Bench, Program, benches, enters_of};
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tallymon_clr::reader::Profile;
use tallymon_clr::settings::{Mode, Settings};

/// A program that needs longer stands still.
const PATIENCE: Duration = Duration::from_secs(120);

/// Signals for a whole storm, as a shell sends them.
const STORM: &str = "i=0; while [ $i -lt 400 ]; do kill -WINCH $1; kill -CONT $1; kill -USR1 $1; \
    kill -USR2 $1; kill -CHLD $1; kill -URG $1; i=$((i+1)); done";

/// How a program ended.
#[derive(Debug, PartialEq, Eq)]
struct Ending {
    status: ExitStatus,
    output: String,
    error: String,
    /// Whether a core dump is in its folder.
    core: bool,
}

/// What is done to a program that says that it is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Nothing,
    Signal(&'static str),
    Storm,
}

/// A program, its argument and its files.
struct Run<'a> {
    program: &'a Program<'a>,
    argument: &'a str,
    deed: Deed,
    /// The limit of core dumps, as `ulimit` takes it.
    cores: &'static str,
    folder: PathBuf,
}

impl Run<'_> {
    /// Runs it plain, or profiled if there are settings.
    fn ending(&self, settings: Option<&Settings>) -> Ending {
        let inner =
            settings.map_or_else(|| self.program.command(), |settings| self.program.profiled(settings));
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -c $0; exec \"$@\"", self.cores]).arg(inner.get_program());
        command.args(inner.get_args()).arg(self.argument).current_dir(&self.folder);
        command.env("LD_LIBRARY_PATH", &self.folder).env("DOTNET_EnableDiagnostics_IPC", "0");
        command.env("DOTNET_EnableWriteXorExecute", if self.argument == "fork" { "0" } else { "1" });
        for (name, value) in inner.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        let (output, error) = (self.folder.join("run.out"), self.folder.join("run.err"));
        let made = |path: &Path| File::create(path).unwrap();
        command.stdin(Stdio::piped()).stdout(made(&output)).stderr(made(&error));
        let mut child = command.spawn().unwrap();
        let begun = Instant::now();
        let mut deed = self.deed;
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if begun.elapsed() > PATIENCE {
                let _ = child.kill();
                let _ = child.wait();
                panic!("{} stands still, profiled by {settings:?}", self.argument);
            }
            if deed != Deed::Nothing && std::fs::read_to_string(&output).unwrap().contains("ready") {
                do_to(&mut child, std::mem::replace(&mut deed, Deed::Nothing));
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let core = take_core(&self.folder, child.id());
        let text = |path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
        Ending { status, output: text(&output), error: without_depths(&text(&error)), core }
    }
}

fn do_to(child: &mut Child, deed: Deed) {
    let process = child.id().to_string();
    let sent = match deed {
        Deed::Nothing => return,
        Deed::Signal(signal) => Command::new("kill").args(["-s", signal, &process]).status(),
        Deed::Storm => Command::new("sh").args(["-c", STORM, "sh", &process]).status(),
    };
    assert!(sent.unwrap().success());
    // What reads its input ends by this.
    drop(child.stdin.take());
}

/// Whether a core dump is there; removes it.
fn take_core(folder: &Path, process: u32) -> bool {
    ["core".to_string(), format!("core.{process}")]
        .iter()
        .any(|name| std::fs::remove_file(folder.join(name)).is_ok())
}

/// How many calls fit onto a stack depends on the room that each one takes, which is more with hooks.
fn without_depths(words: &str) -> String {
    let lines = words.lines().map(|line| {
        let times = line.strip_prefix("Repeat").and_then(|rest| rest.strip_suffix(" times:"));
        let times = times.map(|times| times.trim_start_matches("ed").trim_start());
        if times.is_some_and(|times| times.parse::<u32>().is_ok()) { "Repeated many times:" } else { line }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The program with its native helper, which is compiled beside it.
fn endings<'a>(bench: &'a Bench, test: &str) -> Option<(Program<'a>, PathBuf)> {
    let cc = tallymon_testkit::peer("cc")?;
    let program = bench.program("endings", test);
    let folder = program.profile().parent().unwrap().to_path_buf();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dotnet/programs/endings.c");
    let mut command = Command::new(cc);
    command.args(["-O1", "-shared", "-fPIC", "-o"]).arg(folder.join("libendings.so")).arg(source);
    assert!(command.status().unwrap().success());
    Some((program, folder))
}

/// The runs must have ended alike. In mode `all` the framework runs without its precompiled code, in which
/// some of its methods are part of others, so that a stack shows others of them.
fn same(profiled: &Ending, plain: &Ending, mode: Mode, what: &str) {
    let error = |ending: &Ending| -> String {
        let of_framework = |line: &&str| mode == Mode::All && line.starts_with("   at System.");
        ending.error.lines().filter(|line| !of_framework(line)).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(error(profiled), error(plain), "{what}");
    assert_eq!(profiled.status, plain.status, "{what}");
    assert_eq!((&profiled.output, profiled.core), (&plain.output, plain.core), "{what}");
}

/// A way to end: the argument of the program, what is done to it, its code as a shell has it unless that
/// depends on the runtime, and whether it is run in mode `all` too.
type Way<'a> = (&'a str, Deed, Option<i32>, bool);

/// Runs each ending plain and in one or two modes of the profiler.
fn check(test: &str, cores: &'static str, rows: &[Way<'_>]) {
    for bench in benches() {
        let Some((program, folder)) = endings(bench, test) else { return };
        for &(argument, deed, expected, in_all) in rows {
            // Its trimmed framework has no `Environment.Exit`.
            if bench.version == "10.0" && argument.starts_with("exit") {
                continue;
            }
            let run = Run { program: &program, argument, deed, cores, folder: folder.clone() };
            let plain = run.ending(None);
            let code = plain.status.code().or_else(|| plain.status.signal().map(|signal| 128 + signal));
            if let Some(expected) = expected {
                assert_eq!(code, Some(expected), "{argument} .NET {}: {plain:?}", bench.version);
            }
            assert!(plain.output.starts_with("610\n"), "{argument} .NET {}: {plain:?}", bench.version);
            let modes = if in_all { &[Mode::User, Mode::All][..] } else { &[Mode::User] };
            for &mode in modes {
                let _ = std::fs::remove_file(program.profile());
                let settings = Settings { mode, ..Settings::default() };
                let profiled = run.ending(Some(&settings));
                same(&profiled, &plain, mode, &format!("{argument}, {mode:?}, .NET {}", bench.version));
                // What was recorded before is all there.
                let profile = Profile::open(&program.profile()).unwrap();
                assert!(enters_of(&profile, "Endings.Work(int)") >= 1973, "{argument} {mode:?}");
            }
        }
    }
}

#[test]
fn programs_that_end_by_themselves_end_as_without_the_profiler() {
    let rows = [
        ("result", Deed::Nothing, Some(4), false),
        ("exit", Deed::Nothing, Some(3), true),
        ("exit of a thread", Deed::Nothing, Some(3), false),
        ("exception", Deed::Nothing, Some(134), false),
        ("exception of a thread", Deed::Nothing, Some(134), true),
        ("fail fast", Deed::Nothing, Some(134), false),
    ];
    check("endings", "0", &rows);
}

#[test]
fn programs_whose_stack_overflows_end_as_without_the_profiler() {
    let rows = [
        ("overflow", Deed::Nothing, Some(134), false),
        ("wide overflow", Deed::Nothing, Some(134), false),
        ("overflow of a thread", Deed::Nothing, Some(134), true),
    ];
    check("overflows", "0", &rows);
}

#[test]
fn signals_do_the_same_as_without_the_profiler() {
    let rows = [
        ("wait", Deed::Signal("TERM"), Some(143), false),
        ("wait", Deed::Signal("INT"), None, false),
        ("wait", Deed::Signal("QUIT"), None, false),
        ("wait", Deed::Signal("HUP"), None, false),
        ("wait", Deed::Signal("USR1"), Some(138), false),
        ("wait", Deed::Signal("KILL"), Some(137), false),
        ("storm", Deed::Storm, Some(0), true),
    ];
    check("signals", "0", &rows);
}

#[test]
fn a_core_dump_is_there_as_without_the_profiler() {
    let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    if pattern.trim() != "core" {
        tallymon_testkit::skip("the core dumps of this machine are not files beside the program");
        return;
    }
    let rows =
        [("fail fast", Deed::Nothing, Some(134), false), ("exception", Deed::Nothing, Some(134), true)];
    check("cores", "unlimited", &rows);
}

/// Both processes have the file in their memory, so both once wrote into the same records.
///
/// From .NET 7 on a runtime maps the memory of its code twice, from a file that forks share: both processes
/// write new code into it, and one of them crashes, profiled or not. So that is switched off here.
#[test]
fn a_process_that_forks_without_another_program_is_recorded_alone() {
    for bench in benches() {
        let Some((program, folder)) = endings(bench, "fork") else { return };
        let run = Run { program: &program, argument: "fork", deed: Deed::Nothing, cores: "0", folder };
        let plain = run.ending(None);
        assert_eq!((plain.status.code(), plain.output.as_str()), (Some(0), "610\n7\n"), "{plain:?}");
        for mode in [Mode::User, Mode::All] {
            let _ = std::fs::remove_file(program.profile());
            let profiled = run.ending(Some(&Settings { mode, ..Settings::default() }));
            same(&profiled, &plain, mode, &format!("{mode:?}, .NET {}", bench.version));
            let profile = Profile::open(&program.profile()).unwrap();
            // 1,973 for the sum, a thousand in the program itself, none of the thousand in the other
            // process.
            assert_eq!(enters_of(&profile, "Endings.Work(int)"), 2973, "{mode:?}, .NET {}", bench.version);
            assert!(profile.ended, "its own end is recorded");
        }
    }
}
