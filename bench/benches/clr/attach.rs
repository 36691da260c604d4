//! What looking at a running program costs: CPU time per second in a program that does nothing, and in the
//! reader, some seconds after it began.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tallymon_bench::{built, target};

/// What a reader takes to begin, and how long it is measured then.
const BEGIN: Duration = Duration::from_secs(8);
const SPAN: Duration = Duration::from_secs(15);

/// A reader: its name, the least version of the runtime for it, and its arguments. `{pid}` and `{file}` are
/// put in.
type Reader = (&'static str, u32, &'static [&'static str]);

const READERS: [Reader; 5] = [
    ("nobody", 3, &[]),
    (
        "old names, once a second",
        3,
        &[
            "watch",
            r"\.NET CLR Memory(attach)\*",
            r"\.NET CLR Exceptions(attach)\*",
            r"\.NET CLR Jit(attach)\*",
            r"\.NET CLR LocksAndThreads(attach)\*",
            "--interval",
            "1s",
            "--count",
            "60",
        ],
    ),
    (
        "System.Runtime, once a second",
        3,
        &["watch", r"\System.Runtime(attach)\*", "--interval", "1s", "--count", "60"],
    ),
    (
        "50 series of a meter, once a second",
        8,
        &["watch", r"\Shop.Orders(attach*)\*", "--interval", "1s", "--count", "60"],
    ),
    ("prof sample", 3, &["prof", "sample", "{pid}", "--duration", "60s", "-o", "{file}"]),
];

/// Ends a program when it is no longer needed.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Measures each reader with each runtime that is there.
pub(crate) fn run(folder: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/dotnet/tests/attach/attach.cs");
    let program = folder.join("attach.exe");
    let mut mcs = Command::new("mcs");
    mcs.args(["-optimize+", "-r:System.Net.Http"]).arg(format!("-out:{}", program.display())).arg(source);
    assert!(mcs.status().expect("mcs ran before").success(), "attach.cs is not compiled");
    std::fs::copy(folder.join("calls.runtimeconfig.json"), folder.join("attach.runtimeconfig.json"))
        .expect("it is copied");
    let runtimes = [
        (3, "dotnetcore2-3.1.23/dotnetcore2/bin/dotnet"),
        (8, "dotnet-8.0.15/dotnet"),
        (9, "dotnet-9.0.5/dotnet"),
    ];
    for (version, dotnet) in runtimes {
        let dotnet = target().join("peers").join(dotnet);
        if !dotnet.is_file() {
            println!("\n.NET {version} is not there; the tests of tallymon-dotnet fetch it");
            continue;
        }
        println!("\n.NET {version}: ms of CPU a second, in a program that does nothing and in its reader");
        for (name, least, arguments) in READERS.iter().filter(|(_, least, _)| *least <= version) {
            let (program, reader) = measure(&dotnet, folder, arguments, *least >= 8);
            println!("{name:36} {program:8.2} {reader:8.2}");
        }
    }
}

/// CPU time in a second of a program and of its reader.
fn measure(dotnet: &Path, folder: &Path, arguments: &[&str], meters: bool) -> (f64, f64) {
    let mut command = Command::new(dotnet);
    command.arg("exec").arg(folder.join("attach.exe")).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.env_remove("TMPDIR");
    let mut program = Ended(command.spawn().expect("it starts"));
    let mut output = BufReader::new(program.0.stdout.take().expect("it is piped"));
    let mut input = program.0.stdin.take().expect("it is piped");
    let mut line = String::new();
    output.read_line(&mut line).expect("it is ready");
    let orders: &[&str] = if meters { &["meter 1", "series 50"] } else { &[] };
    for order in orders {
        writeln!(input, "{order}").expect("it listens");
        output.read_line(&mut line).expect("it answers");
    }
    // A meter of a program is read when that has run for five seconds.
    std::thread::sleep(Duration::from_secs(6));
    let file = folder.join("bench.nettrace");
    // The reader before left it.
    let _ = std::fs::remove_file(&file);
    let reader = (!arguments.is_empty()).then(|| {
        let (pid, file) = (program.0.id().to_string(), file.display().to_string());
        let mut command = Command::new(built("tally"));
        for argument in arguments {
            command.arg(argument.replace("{pid}", &pid).replace("{file}", &file));
        }
        Ended(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("tally starts"))
    });
    std::thread::sleep(BEGIN);
    let pids = [Some(&program), reader.as_ref()].map(|one| one.map(|one| one.0.id()));
    let (before, start) = (pids.map(cpu), Instant::now());
    std::thread::sleep(SPAN);
    let seconds = start.elapsed().as_secs_f64();
    let after = pids.map(cpu);
    let used = |at: usize| (after[at] - before[at]) / seconds;
    (used(0), used(1))
}

/// CPU time of a process so far, in milliseconds, threads that have ended included; that of nobody is 0.
fn cpu(pid: Option<u32>) -> f64 {
    let Some(pid) = pid else { return 0.0 };
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it still runs");
    // The name of the program may have spaces.
    let fields: Vec<&str> = text.rsplit_once(')').expect("a name").1.split_whitespace().collect();
    let ticks = |at: usize| fields[at].parse::<f64>().expect("a number of ticks");
    (ticks(11) + ticks(12)) * 1e3 / rustix::param::clock_ticks_per_second() as f64
}
