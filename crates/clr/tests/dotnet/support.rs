//! Runs a test program plain and profiled, and looks at what was recorded.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use tallymon_clr::export::{self, TreeOptions};
use tallymon_clr::reader::{self, Call, Profile};
use tallymon_clr::settings::{Settings, environment, find_library};

use crate::bundle;
use crate::runtimes::{foreign_program, peers, runtimes};
use crate::wine::{self, Wine};

/// What is needed to run a test program.
pub(crate) struct Bench {
    /// Of the runtime, as far as folders are told apart by it.
    pub(crate) version: &'static str,
    /// Runs the program that it is told, or the one beside it.
    host: PathBuf,
    beside: bool,
    mcs: PathBuf,
    library: PathBuf,
    /// Runs the host, which is a program of Windows.
    wine: Option<PathBuf>,
}

/// A compiled program in a folder of its own.
pub(crate) struct Program<'a> {
    bench: &'a Bench,
    folder: PathBuf,
    file: PathBuf,
}

/// Each runtime that is there with the compiler and our library; none, said once for each test, when either
/// is missing.
pub(crate) fn benches() -> &'static [Bench] {
    static BENCHES: OnceLock<Vec<Bench>> = OnceLock::new();
    let benches = BENCHES.get_or_init(|| {
        let Some(mcs) = tallymon_testkit::peer("mcs") else { return Vec::new() };
        let here = std::env::current_exe().unwrap();
        let library = find_library(here.parent().unwrap()).expect("the library is built with its tests");
        let bench = |version, host, beside| {
            let (mcs, library) = (mcs.clone(), library.clone());
            Bench { version, host, beside, mcs, library, wine: None }
        };
        let mut benches: Vec<Bench> =
            runtimes().into_iter().map(|(version, dotnet)| bench(version, dotnet, false)).collect();
        let newest =
            foreign_program().map(|program| bundle::own_host(&program, &mcs, &peers().join("dotnet-10.0.9")));
        benches.extend(newest.map(|host| bench("10.0", host, true)));
        benches
    });
    if benches.is_empty() {
        tallymon_testkit::skip("no .NET runtime or no C# compiler for the profiler's tests");
    }
    benches
}

/// Those of [`benches`], and each runtime of Windows that Wine runs.
pub(crate) fn everywhere() -> impl Iterator<Item = &'static Bench> {
    static WINDOWS: OnceLock<Vec<Bench>> = OnceLock::new();
    let windows = WINDOWS.get_or_init(|| {
        let (Some(wine), Some(mcs)) = (Wine::of_environment(), tallymon_testkit::peer("mcs")) else {
            return Vec::new();
        };
        let bench = |(version, host)| Bench {
            version,
            host,
            beside: false,
            mcs: mcs.clone(),
            library: wine::path(&wine.library),
            wine: Some(wine.program.clone()),
        };
        wine::runtimes().map(bench).into()
    });
    benches().iter().chain(windows)
}

/// Those of [`everywhere`] whose programs may throw: under Wine 8 a plain program of .NET 8 stands still when
/// it does.
pub(crate) fn throwing() -> impl Iterator<Item = &'static Bench> {
    everywhere().filter(|bench| {
        let stands = bench.wine.is_some() && bench.version == "8.0";
        if stands {
            tallymon_testkit::skip("Wine 8 stands still when a program of .NET 8 throws");
        }
        !stands
    })
}

impl Bench {
    /// Whether the runtime reports each unwound call once, as none does from .NET 9 on.
    pub(crate) fn reports_once(&self) -> bool {
        matches!(self.version, "3.1" | "8.0")
    }

    /// The version, and the system unless it is this one.
    fn name(&self) -> String {
        let system = if self.wine.is_some() { "-windows" } else { "" };
        format!("{}{system}", self.version)
    }

    /// Whether it is a runtime of Windows.
    pub(crate) const fn is_windows(&self) -> bool {
        self.wine.is_some()
    }

    /// A path as the host has it.
    fn path(&self, path: &Path) -> PathBuf {
        if self.wine.is_some() { wine::path(path) } else { path.to_path_buf() }
    }

    /// The profiler's library.
    pub(crate) fn library(&self) -> &Path {
        &self.library
    }

    /// Compiles `programs/<name>.cs` into a folder of this test.
    pub(crate) fn program(&self, name: &str, test: &str) -> Program<'_> {
        self.compiled(name, test, |source, out| {
            let mut mcs = Command::new(&self.mcs);
            mcs.arg("-optimize+").arg(format!("-out:{}", out.display())).arg(source.with_extension("cs"));
            mcs
        })
    }

    /// Assembles `programs/<name>.il` likewise; `None` without an assembler.
    pub(crate) fn assembled(&self, name: &str, test: &str) -> Option<Program<'_>> {
        let ilasm = tallymon_testkit::peer("ilasm")?;
        Some(self.compiled(name, test, |source, out| {
            let mut command = Command::new(&ilasm);
            command.arg("/quiet").arg(format!("/output:{}", out.display())).arg(source.with_extension("il"));
            command
        }))
    }

    fn compiled(&self, name: &str, test: &str, compiler: impl Fn(&Path, &Path) -> Command) -> Program<'_> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("clr-{test}-{}", self.name()));
        // What an earlier run left may be there or not.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join(if self.beside { bundle::PROGRAM.into() } else { format!("{name}.exe") });
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dotnet/programs").join(name);
        let out = compiler(&source, &file).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        if self.beside {
            // Both are in the target folder: another name for the same file.
            std::fs::hard_link(&self.host, folder.join("host")).unwrap();
        }
        let config = r#"{"runtimeOptions":{"rollForward":"LatestMajor","framework":{"name":"Microsoft.NETCore.App","version":"3.1.0"},
            "configProperties":{"System.Globalization.Invariant":true}}}"#;
        std::fs::write(folder.join("program.runtimeconfig.json"), config).unwrap();
        Program { bench: self, folder, file }
    }
}

impl Program<'_> {
    pub(crate) fn command(&self) -> Command {
        let mut command = if self.bench.beside {
            Command::new(self.folder.join("host"))
        } else {
            let mut command = match &self.bench.wine {
                Some(wine) => Command::new(wine),
                None => Command::new(&self.bench.host),
            };
            command.args(self.bench.wine.as_ref().map(|_| &self.bench.host));
            let config = self.bench.path(&self.folder.join("program.runtimeconfig.json"));
            command.arg("exec").arg("--runtimeconfig").arg(config).arg(self.bench.path(&self.file));
            command
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Core dumps of other runs and messages to the world are not wanted.
        command.env("DOTNET_CLI_TELEMETRY_OPTOUT", "1");
        command
    }

    pub(crate) fn profiled(&self, settings: &Settings) -> Command {
        let mut command = self.command();
        let settings =
            Settings { file: Some(self.bench.path(&self.profile())), size: 16, ..settings.clone() };
        command.envs(environment(&settings, &self.bench.library));
        command
    }

    pub(crate) fn profile(&self) -> PathBuf {
        self.folder.join("out.prof")
    }

    /// Runs the program plain and profiled: the outputs must be the same, and nothing may be lost.
    pub(crate) fn check(&self, settings: &Settings, change: impl Fn(&mut Command)) -> Profile {
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
        let [major, minor, ..] = profile.runtime;
        // The oldest calls itself by the number of its predecessor.
        let version = if major == 4 { "3.1".into() } else { format!("{major}.{minor}") };
        assert_eq!(version, self.bench.version);
        if self.bench.wine.is_some() {
            eprintln!(
                "under Wine: {} by .NET {version}, {} methods",
                self.file.display(),
                profile.methods.len()
            );
        }
        assert_eq!((profile.problem.as_str(), profile.lost), ("", reader::Lost::default()));
        for thread in &profile.threads {
            assert_eq!((thread.lost_calls, thread.lost_nodes), (0, 0), "{thread:?}");
        }
        profile
    }
}

/// Three lines of input are more than any program reads.
pub(crate) fn finish(command: &mut Command) -> Output {
    let mut child = command.spawn().unwrap();
    // A program that reads nothing may be gone already.
    let _ = child.stdin.take().unwrap().write_all(b"\n\n\n");
    child.wait_with_output().unwrap()
}

/// Every call ended exactly once, or is still open.
pub(crate) fn balanced(profile: &Profile) {
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

pub(crate) fn calls_of<'a>(profile: &'a Profile, name: &str) -> Vec<&'a Call> {
    profile.calls.iter().filter(|call| profile.name(call) == name).collect()
}

pub(crate) fn enters_of(profile: &Profile, name: &str) -> u64 {
    calls_of(profile, name).iter().map(|call| call.enters).sum()
}

/// The tree as names and counts, without the times.
pub(crate) fn shape(profile: &Profile) -> String {
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

/// A child that is talked to line by line, ended when the test is over.
pub(crate) struct Talk {
    pub(crate) child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Talk {
    pub(crate) fn start(mut command: Command) -> Talk {
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Talk { child, output }
    }

    pub(crate) fn say(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().unwrap();
        input.write_all(line.as_bytes()).unwrap();
        input.write_all(b"\n").unwrap();
    }

    pub(crate) fn line(&mut self, expected: &str) {
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
