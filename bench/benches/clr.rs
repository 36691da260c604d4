//! A call under the .NET profiler, beside the same program without it: nanoseconds a call, start-up, and a foreign program.
//!
//! The runtimes are those that the profiler's own tests fetched into the target folder; one that is not there is left out.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What is set in the environment of the program, by name.
const VARIANTS: [(&str, &[(&str, &str)]); 6] = [
    ("no profiler", &[]),
    ("dormant", &[("TALLYMON_PROF_MODE", "dormant")]),
    ("user code", &[("TALLYMON_PROF_MODE", "user")]),
    ("everything", &[("TALLYMON_PROF_MODE", "all")]),
    ("user code, exact", &[("TALLYMON_PROF_MODE", "user"), ("TALLYMON_PROF_EXACT", "1")]),
    ("user code, system clock", &[("TALLYMON_PROF_MODE", "user"), ("TALLYMON_PROF_CLOCK", "monotonic")]),
];

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
    let program = folder.join("calls.exe");
    let compiled = Command::new("mcs")
        .args(["-optimize+", &format!("-out:{}", program.display())])
        .arg(here.join("programs/calls.cs"))
        .status();
    if !compiled.is_ok_and(|status| status.success()) {
        println!("the C# compiler mcs is not there: nothing is measured");
        return;
    }
    let config = r#"{"runtimeOptions":{"rollForward":"LatestMajor","framework":{"name":"Microsoft.NETCore.App",
        "version":"3.1.0"},"configProperties":{"System.Globalization.Invariant":true}}}"#;
    std::fs::write(folder.join("calls.runtimeconfig.json"), config).expect("it is written");
    let bench = Bench { library, folder: folder.clone() };
    bench.clock();
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
        bench.whole(&format!(".NET {version}, hello world"), &dotnet, &hello, 15);
    }
    let foreign = peers.join("azure-mcp-2.0.5/package/dist/azmcp");
    if foreign.is_file() {
        bench.whole(".NET 10.0, azmcp --help", &foreign, &["--help".to_string()], 5);
    }
    // A folder that stays behind harms nobody.
    let _ = std::fs::remove_dir_all(folder);
}

struct Bench {
    library: PathBuf,
    folder: PathBuf,
}

impl Bench {
    /// Two looks at the time stamp counter, and two at the system's clock: the floor of a call that is timed.
    fn clock(&self) {
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

    fn command(&self, variant: usize, program: &Path, arguments: &[String]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).env("HOME", &self.folder).env("COMPlus_TieredCompilation", "0");
        let file = self.folder.join("run.prof");
        // One that is there would not be written over.
        let _ = std::fs::remove_file(&file);
        let (_, variables) = VARIANTS[variant];
        if !variables.is_empty() {
            command
                .env("CORECLR_ENABLE_PROFILING", "1")
                .env("CORECLR_PROFILER", "{9E2B38F2-7355-4C61-A54F-434B7AC266C0}")
                .env("CORECLR_PROFILER_PATH_64", &self.library)
                .env("TALLYMON_PROF_FILE", file)
                .env("TALLYMON_PROF_SIZE", "64")
                .envs(variables.iter().copied());
        }
        command
    }

    /// Nanoseconds a call, as the program itself measures them: the best of three runs.
    fn calls(&self, version: &str, dotnet: &Path, arguments: &[String]) {
        println!("\nnanoseconds a call, .NET {version}: recursion, leaf, recursion on two threads");
        for (number, (name, _)) in VARIANTS.iter().enumerate() {
            let mut best = [f64::MAX; 3];
            for _ in 0..3 {
                let out = self.command(number, dotnet, arguments).output().expect("it starts");
                assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
                let text = String::from_utf8_lossy(&out.stdout);
                for (best, value) in best.iter_mut().zip(text.split_whitespace()) {
                    *best = best.min(value.parse().expect("a number"));
                }
            }
            println!("{name:25} {:8.2} {:8.2} {:8.2}", best[0], best[1], best[2]);
        }
    }

    /// Wall time of a whole process, the variants in turn so that a busy moment hits all of them.
    fn whole(&self, what: &str, program: &Path, arguments: &[String], rounds: usize) {
        println!("\n{what}: wall time of the process, median and fastest of {rounds}, ratio of the fastest");
        let mut times: Vec<Vec<Duration>> = vec![Vec::new(); 4];
        for _ in 0..rounds {
            for (variant, times) in times.iter_mut().enumerate() {
                let mut command = self.command(variant, program, arguments);
                command.env_remove("COMPlus_TieredCompilation").stdout(Stdio::null()).stderr(Stdio::null());
                let start = Instant::now();
                let status = command.status().expect("it starts");
                assert!(status.success());
                times.push(start.elapsed());
            }
        }
        let plain = times[0].iter().min().map_or(1.0, Duration::as_secs_f64);
        for ((name, _), times) in VARIANTS.iter().zip(&mut times) {
            times.sort();
            let (median, fastest) = (times[times.len() / 2].as_secs_f64(), times[0].as_secs_f64());
            println!("{name:25} {:8.1} ms {:8.1} ms {:8.2}", median * 1e3, fastest * 1e3, fastest / plain);
        }
    }
}
