//! A call under the .NET profiler, compared with no profiler and with other profilers: nanoseconds per call,
//! scaling, start-up, and a program that we did not write.
//!
//! The runtimes are those that the profiler's tests have downloaded into the target folder; missing ones are
//! left out. The parts, each of at most three minutes, are `calls`, `shapes`, `scaling` and `programs`;
//! `attach`, what it costs to look at a program that was not prepared, takes seven.

#[path = "clr/attach.rs"]
mod attach;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use tallymon_bench::{Parts, built, target};

/// A way to run a program: the profiler and its environment variables.
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

/// Ours, in ascending order of cost; the first [`WHOLE`] are also measured with whole programs.
const VARIANTS: [Variant; 9] = [
    Variant { name: "no profiler", profiler: Profiler::None, variables: &[] },
    ours("dormant", &[("TALLYMON_PROF_MODE", "dormant")]),
    ours("user code", &[("TALLYMON_PROF_MODE", "user")]),
    ours("everything", &[("TALLYMON_PROF_MODE", "all")]),
    ours("user code, exact", &[("TALLYMON_PROF_MODE", "user"), ("TALLYMON_PROF_EXACT", "1")]),
    ours("user code, system clock", &[("TALLYMON_PROF_MODE", "user"), ("TALLYMON_PROF_CLOCK", "monotonic")]),
    plain(SHARED, &[("PLAIN_PROFILER", "mutex")]),
    plain("peer: slow path, empty", &[("PLAIN_PROFILER", "slow")]),
    plain("peer: slow path, frame", &[("PLAIN_PROFILER", "slow-info")]),
];

const WHOLE: usize = 4;

/// The peer in which threads share everything.
const SHARED: &str = "peer: lock and maps";

fn main() {
    let Some(parts) = Parts::wanted(&["calls", "shapes", "scaling", "programs", "attach"]) else { return };
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = built("libtallymon_clr.so");
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
    if parts.has("calls") {
        clock();
    }
    let peers = target().join("peers");
    for (version, dotnet) in
        [("3.1", "dotnetcore2-3.1.23/dotnetcore2/bin/dotnet"), ("8.0", "dotnet-8.0.15/dotnet")]
    {
        let dotnet = peers.join(dotnet);
        if !dotnet.is_file() {
            println!("\n.NET {version} is not there; the tests of tallymon-clr fetch it");
            continue;
        }
        let arguments = ["exec".to_string(), program.display().to_string()];
        let with = |word: &str| [arguments.as_slice(), &[word.to_string()]].concat();
        if parts.has("calls") {
            bench.calls(version, &dotnet, &arguments);
        }
        if parts.has("shapes") {
            bench.shapes(version, &dotnet, &with("shapes"));
        }
        if parts.has("scaling") {
            bench.scaling(version, &dotnet, &with("scaling"));
        }
        if parts.has("programs") {
            bench.whole(&format!(".NET {version}, hello world"), &dotnet, &with("hello"), 25);
        }
    }
    let foreign = peers.join("azure-mcp-2.0.5/package/dist/azmcp");
    if parts.has("programs") && foreign.is_file() {
        bench.whole(".NET 10.0, azmcp --help", &foreign, &["--help".to_string()], 7);
    }
    if parts.has("attach") {
        attach::run(&folder);
    }
    // A leftover folder does no harm.
    let _ = std::fs::remove_dir_all(folder);
}

/// Two reads of the time stamp counter, and two of the system's clock: the floor of a timed call.
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
    /// None if it could not be compiled.
    peer: Option<PathBuf>,
    folder: PathBuf,
}

impl Bench {
    /// The variants whose profilers exist.
    fn variants(&self) -> impl Iterator<Item = &'static Variant> {
        let peers = self.peer.is_some();
        VARIANTS.iter().filter(move |variant| variant.profiler != Profiler::Plain || peers)
    }

    fn command(&self, variant: &Variant, program: &Path, arguments: &[String]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).env("HOME", &self.folder).env("COMPlus_TieredCompilation", "0");
        let file = self.folder.join("run.prof");
        // The profiler does not overwrite an existing file.
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

    /// Nanoseconds per call, measured by the program itself (the best of its rounds).
    fn calls(&self, version: &str, dotnet: &Path, arguments: &[String]) {
        println!("\nnanoseconds a call, .NET {version}: recursion, leaf");
        let variants: Vec<&Variant> = self.variants().collect();
        for (variant, [recursion, leaf]) in variants.iter().zip(self.medians(3, &variants, dotnet, arguments))
        {
            println!("{:25} {recursion:8.2} {leaf:8.2}", variant.name);
        }
    }

    /// The same for calls as real programs make them.
    fn shapes(&self, version: &str, dotnet: &Path, arguments: &[String]) {
        println!(
            "\nnanoseconds a call, .NET {version}: chain of four, three in turn, interfaces, tree of 29,524 places"
        );
        let variants: Vec<&Variant> = self.variants().take(WHOLE).collect();
        for (variant, [chain, turns, interfaces, tree]) in
            variants.iter().zip(self.medians(3, &variants, dotnet, arguments))
        {
            println!("{:25} {chain:8.2} {turns:8.2} {interfaces:8.2} {tree:8.2}", variant.name);
        }
    }

    /// What a second thread adds, compared with what it adds without a profiler, which is the processors'
    /// share.
    fn scaling(&self, version: &str, dotnet: &Path, arguments: &[String]) {
        println!(
            "\nnanoseconds a call, .NET {version}: recursion on one thread, by the calls of two, their ratio, that by \
             processor time, and both by those of no profiler"
        );
        let shown =
            |variant: &&Variant| ["no profiler", "user code", "everything", SHARED].contains(&variant.name);
        let variants: Vec<&Variant> = self.variants().filter(shown).collect();
        let medians = self.medians(5, &variants, dotnet, arguments);
        let [_, _, wall_ceiling, processor_ceiling] = medians[0];
        for (variant, [one, two, wall, processor]) in variants.iter().zip(medians) {
            let (of_wall, of_processor) = (wall / wall_ceiling, processor / processor_ceiling);
            println!(
                "{:25} {one:8.2} {two:8.2} {wall:8.2} {processor:8.2} {of_wall:8.2} {of_processor:8.2}",
                variant.name
            );
        }
    }

    /// The numbers printed by a program, as medians of several runs that alternate between the variants.
    fn medians<const N: usize>(
        &self,
        rounds: usize,
        variants: &[&Variant],
        program: &Path,
        arguments: &[String],
    ) -> Vec<[f64; N]> {
        let mut runs: Vec<Vec<[f64; N]>> = variants.iter().map(|_| Vec::new()).collect();
        for _ in 0..rounds {
            for (variant, runs) in variants.iter().zip(&mut runs) {
                let out = self.command(variant, program, arguments).output().expect("it starts");
                assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
                let text = String::from_utf8_lossy(&out.stdout);
                let values = text.split_whitespace().map(|word| word.parse().expect("a number"));
                runs.push(values.collect::<Vec<f64>>().try_into().expect("as many numbers as are said"));
            }
        }
        let of =
            |runs: Vec<[f64; N]>| std::array::from_fn(|at| median(runs.iter().map(|run| run[at]).collect()));
        runs.into_iter().map(of).collect()
    }

    /// Wall time of a whole process, alternating between the variants, so that a busy moment affects all of
    /// them.
    fn whole(&self, what: &str, program: &Path, arguments: &[String], rounds: usize) {
        println!(
            "\n{what}: wall time of the process, median and fastest of {rounds}, their ratios to no profiler"
        );
        let mut times: Vec<Vec<f64>> = vec![Vec::new(); WHOLE];
        // The first round runs with cold caches and does not count.
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
