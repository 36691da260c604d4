//! A call under the .NET profiler, beside the same program without it and under other profilers: nanoseconds a call,
//! scaling, start-up, and a foreign program.
//!
//! The runtimes are those that the profiler's own tests fetched into the target folder; one that is not there is left out.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// A way to run a program: the profiler, and what is set in the environment for it.
struct Variant {
    name: &'static str,
    profiler: Profiler,
    variables: &'static [(&'static str, &'static str)],
}

#[derive(Clone, Copy, PartialEq)]
enum Profiler {
    None,
    Ours,
    /// `programs/plain_profiler.cpp`.
    Plain,
}

const fn ours(name: &'static str, variables: &'static [(&'static str, &'static str)]) -> Variant {
    Variant { name, profiler: Profiler::Ours, variables }
}

const fn plain(name: &'static str, variables: &'static [(&'static str, &'static str)]) -> Variant {
    Variant { name, profiler: Profiler::Plain, variables }
}

/// Ours in the order of what they cost; the first [`WHOLE`] are measured with whole programs too.
const VARIANTS: [Variant; 9] = [
    Variant { name: "no profiler", profiler: Profiler::None, variables: &[] },
    ours("dormant", &[("TALLYMON_PROF_MODE", "dormant")]),
    ours("user code", &[("TALLYMON_PROF_MODE", "user")]),
    ours("everything", &[("TALLYMON_PROF_MODE", "all")]),
    ours("user code, exact", &[("TALLYMON_PROF_MODE", "user"), ("TALLYMON_PROF_EXACT", "1")]),
    ours("user code, system clock", &[("TALLYMON_PROF_MODE", "user"), ("TALLYMON_PROF_CLOCK", "monotonic")]),
    plain("peer: lock and maps", &[("PLAIN_PROFILER", "mutex")]),
    plain("peer: slow path, empty", &[("PLAIN_PROFILER", "slow")]),
    plain("peer: slow path, frame", &[("PLAIN_PROFILER", "slow-info")]),
];

const WHOLE: usize = 4;

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| here.join("../target"), PathBuf::from);
    let library = target.join("release/libtallymon_clr.so");
    assert!(library.is_file(), "{} is built by `cargo xtask bench`", library.display());
    let folder = std::env::temp_dir().join(format!("tallymon-bench-clr-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the program");
    let (program, peer) = (folder.join("calls.exe"), folder.join("plain_profiler.so"));
    let mut compiler = Command::new("mcs");
    compiler.args(["-optimize+", &format!("-out:{}", program.display())]).arg(here.join("programs/calls.cs"));
    if !compiler.status().is_ok_and(|status| status.success()) {
        println!("the C# compiler mcs is not there: nothing is measured");
        return;
    }
    let mut compiler = Command::new("g++");
    compiler.args(["-O2", "-shared", "-fPIC", "-o"]).arg(&peer).arg(here.join("programs/plain_profiler.cpp"));
    let peer = compiler.status().is_ok_and(|status| status.success()).then_some(peer);
    if peer.is_none() {
        println!("the C++ compiler g++ is not there: no other profilers are measured");
    }
    let config = r#"{"runtimeOptions":{"rollForward":"LatestMajor","framework":{"name":"Microsoft.NETCore.App",
        "version":"3.1.0"},"configProperties":{"System.Globalization.Invariant":true}}}"#;
    std::fs::write(folder.join("calls.runtimeconfig.json"), config).expect("it is written");
    let bench = Bench { library, peer, folder: folder.clone() };
    clock();
    let peers = target.join("peers");
    for (version, dotnet) in
        [("3.1", "dotnetcore2-3.1.23/dotnetcore2/bin/dotnet"), ("8.0", "dotnet-8.0.15/dotnet")]
    {
        let dotnet = peers.join(dotnet);
        if !dotnet.is_file() {
            println!("\n.NET {version} is not there; the tests of tallymon-clr fetch it");
            continue;
        }
        let arguments = ["exec".to_string(), program.display().to_string()];
        bench.calls(version, &dotnet, &arguments);
        let hello = [arguments.as_slice(), &["hello".to_string()]].concat();
        bench.whole(&format!(".NET {version}, hello world"), &dotnet, &hello, 25);
    }
    let foreign = peers.join("azure-mcp-2.0.5/package/dist/azmcp");
    if foreign.is_file() {
        bench.whole(".NET 10.0, azmcp --help", &foreign, &["--help".to_string()], 7);
    }
    // A folder that stays behind harms nobody.
    let _ = std::fs::remove_dir_all(folder);
}

/// Two looks at the time stamp counter, and two at the system's clock: the floor of a call that is timed.
fn clock() {
    let best = |look: &dyn Fn() -> u64| {
        let round = |_| {
            let start = Instant::now();
            for _ in 0..10_000 {
                std::hint::black_box(look());
            }
            start.elapsed().as_secs_f64() * 1e9 / 10_000.0
        };
        (0..50).map(round).fold(f64::MAX, f64::min)
    };
    let start = Instant::now();
    let system = best(&|| start.elapsed().subsec_nanos().into());
    println!("\ntwo looks at the system's clock take {:.1} ns", 2.0 * system);
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every processor of this kind has the counter, and reading it changes nothing.
        let counter = best(&|| unsafe { core::arch::x86_64::_rdtsc() });
        println!("two looks at the time stamp counter take {:.1} ns", 2.0 * counter);
    }
}

struct Bench {
    library: PathBuf,
    /// None when it could not be compiled.
    peer: Option<PathBuf>,
    folder: PathBuf,
}

impl Bench {
    /// The variants whose profilers are there.
    fn variants(&self) -> impl Iterator<Item = &'static Variant> {
        let peers = self.peer.is_some();
        VARIANTS.iter().filter(move |variant| variant.profiler != Profiler::Plain || peers)
    }

    fn command(&self, variant: &Variant, program: &Path, arguments: &[String]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).env("HOME", &self.folder).env("COMPlus_TieredCompilation", "0");
        let file = self.folder.join("run.prof");
        // One that is there would not be written over.
        let _ = std::fs::remove_file(&file);
        let library = match variant.profiler {
            Profiler::None => return command,
            Profiler::Ours => &self.library,
            Profiler::Plain => self.peer.as_ref().expect("only variants that are there are run"),
        };
        command
            .env("CORECLR_ENABLE_PROFILING", "1")
            .env("CORECLR_PROFILER", "{9E2B38F2-7355-4C61-A54F-434B7AC266C0}")
            .env("CORECLR_PROFILER_PATH_64", library)
            .env("TALLYMON_PROF_FILE", file)
            .envs(variant.variables.iter().copied());
        command
    }

    /// Nanoseconds a call, as the program itself measures them (the best of its rounds): the median of three runs, the
    /// variants in turn.
    fn calls(&self, version: &str, dotnet: &Path, arguments: &[String]) {
        println!(
            "\nnanoseconds a call, .NET {version}: recursion, leaf, recursion on two threads, their scaling"
        );
        let mut runs: Vec<Vec<[f64; 3]>> = self.variants().map(|_| Vec::new()).collect();
        for _ in 0..3 {
            for (variant, runs) in self.variants().zip(&mut runs) {
                let out = self.command(variant, dotnet, arguments).output().expect("it starts");
                assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
                let text = String::from_utf8_lossy(&out.stdout);
                let values = text.split_whitespace().map(|word| word.parse().expect("a number"));
                runs.push(values.collect::<Vec<f64>>().try_into().expect("three numbers"));
            }
        }
        for (variant, runs) in self.variants().zip(&runs) {
            let [recursion, leaf, two] = [0, 1, 2].map(|at| median(runs.iter().map(|run| run[at]).collect()));
            println!("{:25} {recursion:8.2} {leaf:8.2} {two:8.2} {:6.2} x", variant.name, recursion / two);
        }
    }

    /// Wall time of a whole process, the variants in turn so that a busy moment hits all of them.
    fn whole(&self, what: &str, program: &Path, arguments: &[String], rounds: usize) {
        println!(
            "\n{what}: wall time of the process, median and fastest of {rounds}, their ratios to no profiler"
        );
        let mut times: Vec<Vec<f64>> = vec![Vec::new(); WHOLE];
        // The first round finds the files in no cache and does not count.
        for round in 0..=rounds {
            for (variant, times) in VARIANTS.iter().zip(&mut times) {
                let mut command = self.command(variant, program, arguments);
                command.env_remove("COMPlus_TieredCompilation").stdout(Stdio::null()).stderr(Stdio::null());
                let start = Instant::now();
                let status = command.status().expect("it starts");
                assert!(status.success());
                if round > 0 {
                    times.push(start.elapsed().as_secs_f64() * 1e3);
                }
            }
        }
        let figures: Vec<(f64, f64)> = times
            .into_iter()
            .map(|times| (median(times.clone()), times.into_iter().fold(f64::MAX, f64::min)))
            .collect();
        let (plain_median, plain_fastest) = figures[0];
        for (variant, (median, fastest)) in VARIANTS.iter().zip(figures) {
            let (of_median, of_fastest) = (median / plain_median, fastest / plain_fastest);
            println!("{:25} {median:8.1} ms {fastest:8.1} ms {of_median:8.2} {of_fastest:8.2}", variant.name);
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
