//! Runs .NET programs again and again with the profiler, switched on and off too, and compares what each run
//! does with a run without it: output, files and exit code. A table says how many were the same.
//!
//! The programs: one of ours that throws, recurses and waits, and one that loads and unloads plug-ins;
//! Roslyn's `csc`; `artifacts-keyring`; a server of ASP.NET Core under load; and `azmcp`. The runtimes are
//! those of the tests. Nothing can attach to the programs, so what happens to them is done by the profiler or
//! by themselves.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{cargo, root, target_folder};

/// A run that takes longer stands still.
const PATIENCE: Duration = Duration::from_secs(120);
/// Time between a switch and the next one.
const SWITCH: Duration = Duration::from_millis(50);
/// Requests to a server in each run.
const REQUESTS: usize = 200;

/// How a program is profiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    User,
    All,
    Dormant,
    /// Dormant, then on and off all the time.
    Switched,
}

const MODES: [(Mode, &str); 4] =
    [(Mode::User, "user"), (Mode::All, "all"), (Mode::Dormant, "dormant"), (Mode::Switched, "switched")];

/// A program on a runtime.
struct Case {
    runtime: &'static str,
    name: &'static str,
    words: Vec<PathBuf>,
    /// A file that it writes.
    file: Option<PathBuf>,
    /// It says its address, and answers requests until its input ends.
    is_server: bool,
}

/// What a run did.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    code: Option<i32>,
    output: Vec<u8>,
    file: Option<Vec<u8>>,
}

/// The runs of a case in a mode.
#[derive(Default)]
struct Row {
    same: u32,
    other: u32,
    ended_by_signal: u32,
    stood_still: u32,
    switches: u32,
    refused: bool,
    time: Duration,
}

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let (mut runs, mut only) = (200, Vec::new());
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--runs" => {
                let number = arguments.next().and_then(|number| number.parse().ok());
                runs = number.ok_or("--runs needs a number")?;
            }
            word if word.starts_with('-') => return Err(format!("unknown option {word}")),
            word => only.push(word.to_string()),
        }
    }
    crate::run(cargo().args(["build", "-p", "tallymon-cli", "-p", "tallymon-clr"]))?;
    let fetch = ["test", "-q", "-p", "tallymon-dotnet", "--test", "attach", "fetch_the_runtimes"];
    crate::run(cargo().args(fetch).env("TALLYMON_PEERS", "required"))?;
    let folder = target_folder().join(format!("clr-stress-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let result = table(runs, &only, &folder);
    fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    match result? {
        0 => Ok(()),
        bad => Err(format!("{bad} runs were not the same")),
    }
}

/// Prints the rows of the cases and modes that are wanted; returns how many runs were not the same.
fn table(runs: u32, only: &[String], folder: &Path) -> Result<u32, String> {
    let is_mode = |word: &&str| MODES.iter().any(|(_, mode)| mode == word);
    let (modes, names): (Vec<&str>, Vec<&str>) = only.iter().map(String::as_str).partition(is_mode);
    println!(
        "| runtime | program | mode | runs | same | other | killed | stood still | switches | s a run |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let mut bad = 0;
    for case in cases(folder)? {
        if !names.is_empty() && !names.contains(&case.name) && !names.contains(&case.runtime) {
            continue;
        }
        let (expected, _) = one(&case, None, folder)?;
        let expected =
            expected.ok_or_else(|| format!("{}: it stands still without a profiler", case.name))?;
        if expected.code != Some(0) {
            eprintln!("{} of .NET {} does not run here: {:?}", case.name, case.runtime, expected.code);
            continue;
        }
        for (mode, word) in MODES.into_iter().filter(|(_, word)| modes.is_empty() || modes.contains(word)) {
            let mut row = Row::default();
            for _ in 0..runs {
                add(&case, mode, &expected, folder, &mut row)?;
                if row.refused {
                    break;
                }
            }
            bad += row.other + row.ended_by_signal + row.stood_still;
            print_row(&case, word, &row);
        }
    }
    Ok(bad)
}

fn print_row(case: &Case, mode: &str, row: &Row) {
    let begin = format!("| {} | {} | {mode} |", case.runtime, case.name);
    if row.refused {
        println!("{begin} refused by the profiler, with the reason | | | | | | |");
        return;
    }
    let runs = row.same + row.other + row.ended_by_signal + row.stood_still;
    let mean = row.time.as_secs_f64() / f64::from(runs.max(1));
    let Row { same, other, ended_by_signal, stood_still, switches, .. } = row;
    println!(
        "{begin} {runs} | {same} | {other} | {ended_by_signal} | {stood_still} | {switches} | {mean:.2} |"
    );
}

fn add(case: &Case, mode: Mode, expected: &Outcome, folder: &Path, row: &mut Row) -> Result<(), String> {
    let begun = Instant::now();
    let (outcome, switched) = one(case, Some(mode), folder)?;
    row.time += begun.elapsed();
    match switched {
        Switched::Times(times) => row.switches += times,
        Switched::Refused => row.refused = true,
    }
    match outcome {
        None => row.stood_still += 1,
        Some(outcome) if outcome == *expected => row.same += 1,
        // As a shell says it, and as the command passes it on.
        Some(Outcome { code: code @ (None | Some(129..=192)), .. }) => {
            let said = fs::read_to_string(folder.join(SAID)).unwrap_or_default();
            eprintln!("{} of .NET {}, ended by a signal ({code:?}), said:\n{said}", case.name, case.runtime);
            eprintln!("the kernel may know the thread and the place: dmesg | grep -E 'segfault|traps'");
            row.ended_by_signal += 1;
        }
        Some(outcome) => {
            eprintln!("{}: {outcome:?}", case.name);
            row.other += 1;
        }
    }
    Ok(())
}

/// The file of what a run says on standard error.
const SAID: &str = "run.err";

/// What became of switching.
enum Switched {
    Times(u32),
    Refused,
}

/// One run; no outcome when it stands still.
fn one(case: &Case, mode: Option<Mode>, folder: &Path) -> Result<(Option<Outcome>, Switched), String> {
    let profile = folder.join("run.prof");
    for file in [Some(&profile), case.file.as_ref()].into_iter().flatten() {
        // It may not be there.
        let _ = fs::remove_file(file);
    }
    let mut words = case.words.iter();
    let program = words.next().ok_or("a program without a name")?;
    let mut command = match mode {
        None => Command::new(program),
        Some(mode) => {
            let mut command = Command::new(target_folder().join("debug/tally"));
            let word = match mode {
                Mode::Switched => "dormant",
                mode => MODES.iter().find(|(known, _)| *known == mode).map_or("user", |(_, word)| word),
            };
            command.args(["prof", "run", "--mode", word, "-o"]).arg(&profile).arg("--").arg(program);
            command
        }
    };
    command.args(words).current_dir(folder).process_group(0);
    // Another test on this machine that reads the counters of all .NET programs would be a part of the run: a
    // program of .NET 10 once ended in the thread that counts for readers.
    command.env("DOTNET_EnableDiagnostics_IPC", "0");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let said = folder.join(SAID);
    let said = fs::File::create(&said).map_err(|error| format!("{}: {error}", said.display()))?;
    command.stderr(said);
    let mut child = command.spawn().map_err(|error| format!("{}: {error}", program.display()))?;
    let (mut input, output) = (child.stdin.take(), child.stdout.take().ok_or("no output")?);
    let server = case.is_server;
    let talking = std::thread::spawn(move || {
        let mut output = BufReader::new(output);
        let mut all = if server { load(&mut output) } else { Vec::new() };
        // The program may have ended already.
        if let Some(input) = &mut input {
            let _ = input.write_all(b"\n");
        }
        drop(input);
        let _ = output.read_to_end(&mut all);
        all
    });
    let begun = Instant::now();
    let mut switched = Switched::Times(0);
    let mut on = true;
    let code = loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            break status.code();
        }
        if begun.elapsed() > PATIENCE {
            end(&mut child);
            return Ok((None, switched));
        }
        match (mode, &mut switched) {
            (Some(Mode::Switched), Switched::Times(times)) if profile.is_file() => {
                match switch(&profile, on) {
                    Some(true) => *times += 1,
                    Some(false) => {}
                    None => switched = Switched::Refused,
                }
                on = !on;
                std::thread::sleep(SWITCH);
            }
            _ => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let output = talking.join().map_err(|_| "reading the output failed")?;
    let file = case.file.as_ref().map(|file| fs::read(file).unwrap_or_default());
    Ok((Some(Outcome { code, output, file }), switched))
}

/// Ends a run with all that it started.
fn end(child: &mut Child) {
    let group = format!("-{}", child.id());
    // What is gone already needs no end.
    let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
    let _ = child.wait();
}

/// Switches a program; whether it answered, and `None` when its runtime cannot be switched.
fn switch(profile: &Path, on: bool) -> Option<bool> {
    let word = if on { "on" } else { "off" };
    let output = Command::new(target_folder().join("debug/tally")).args(["prof", word]).arg(profile).output();
    let Ok(output) = output else { return Some(false) };
    if String::from_utf8_lossy(&output.stderr).contains("not switched: .NET before 9") {
        return None;
    }
    // It may have ended meanwhile, or not have begun.
    Some(output.status.success())
}

/// Asks a server from four threads; what it answered, in one order.
fn load(output: &mut impl BufRead) -> Vec<u8> {
    let mut address = String::new();
    // Without an address there are no answers, which is another output.
    let _ = output.read_line(&mut address);
    let address = address.trim().trim_start_matches("http://").to_string();
    let ask = |number: usize| {
        let path = ["/", "/orders/7", "/fail", "/call"][number % 4];
        let answer = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(&address)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
            let mut text = String::new();
            stream.read_to_string(&mut text)?;
            Ok(text.split(' ').nth(1).unwrap_or_default().to_string())
        };
        format!("{path} {}\n", answer().unwrap_or_else(|error| error.to_string()))
    };
    let part = REQUESTS / 4;
    let mut answers: Vec<String> = std::thread::scope(|scope| {
        let ask = &ask;
        let clients: Vec<_> = (0..4)
            .map(|client| scope.spawn(move || (client * part..(client + 1) * part).map(ask).collect()))
            .collect();
        clients.into_iter().flat_map(|client| client.join().unwrap_or_else(|_| Vec::new())).collect()
    });
    answers.sort();
    answers.concat().into_bytes()
}

/// The programs on the runtimes that are there.
fn cases(folder: &Path) -> Result<Vec<Case>, String> {
    let peers = target_folder().join("peers");
    let settings = folder.join("run.runtimeconfig.json");
    let text = r#"{"runtimeOptions":{"rollForward":"LatestMajor","framework":
        {"name":"Microsoft.NETCore.App","version":"3.1.0"},
        "configProperties":{"System.Globalization.Invariant":true}}}"#;
    fs::write(&settings, text).map_err(|error| format!("{}: {error}", settings.display()))?;
    let shop = compiled(folder, "shop", &root().join("crates/clr/tests/dotnet/programs/shop.cs"))?;
    let web = compiled(folder, "web", &root().join("crates/dotnet/tests/attach/web.cs"))?;
    let unloads = compiled(folder, "unloads", &root().join("crates/clr/tests/dotnet/programs/unloads.cs"))?;
    let keyring = peers.join("artifacts_keyring-1.0.0/artifacts_keyring/plugins/plugins/netcore");
    let keyring = keyring.join("CredentialProvider.Microsoft/CredentialProvider.Microsoft.dll");
    let (csc, references) = compiler(&peers)?;
    let written = folder.join("written.dll");
    let mut all = Vec::new();
    let runtimes = [
        ("3.1", peers.join("dotnetcore2-3.1.23/dotnetcore2/bin/dotnet")),
        ("8.0", peers.join("dotnet-8.0.15/dotnet")),
        ("9.0", peers.join("dotnet-9.0.5/dotnet")),
    ];
    for (runtime, dotnet) in runtimes {
        let begin = [dotnet, "exec".into(), "--runtimeconfig".into(), settings.clone()];
        let mut case = |name, more: Vec<PathBuf>, file, is_server| {
            let words = begin.iter().cloned().chain(more).collect();
            all.push(Case { runtime, name, words, file, is_server });
        };
        case("shop", vec![shop.clone(), "20".into()], None, false);
        let source = root().join("crates/clr/tests/dotnet/programs/shop.cs");
        let mut words: Vec<PathBuf> =
            vec![csc.clone(), "-nologo".into(), "-deterministic".into(), "-nostdlib".into()];
        words.extend(references.iter().map(|file| format!("-r:{}", file.display()).into()));
        words.extend([format!("-out:{}", written.display()).into(), source]);
        case("csc", words, Some(written.clone()), false);
        case("unloads", vec![unloads.clone(), "10".into(), "100".into()], None, false);
        // It comes with this one, and does not run on the others.
        if runtime == "8.0" {
            case("artifacts-keyring", vec![keyring.clone(), "-h".into()], None, false);
        }
        if runtime == "9.0" {
            case("ASP.NET Core", vec![web.clone(), peers.join("aspnetcore-9.0.5")], None, true);
        }
    }
    let azmcp = peers.join("azure-mcp-2.0.5/package/dist/azmcp");
    let words = vec![azmcp, "--help".into()];
    all.push(Case { runtime: "10.0", name: "azmcp", words, file: None, is_server: false });
    Ok(all)
}

fn compiled(folder: &Path, name: &str, source: &Path) -> Result<PathBuf, String> {
    let program = folder.join(format!("{name}.exe"));
    let mut mcs = Command::new("mcs");
    mcs.args(["-optimize+", "-r:System.Net.Http"]).arg(format!("-out:{}", program.display())).arg(source);
    crate::run(&mut mcs)?;
    Ok(program)
}

/// The compiler of an SDK, and what programs refer to; fetched first when it is not there.
fn compiler(peers: &Path) -> Result<(PathBuf, Vec<PathBuf>), String> {
    let folder = crate::sdk::fetched(peers)?;
    let named = |name: &str| found(&folder, |file| file.file_name().is_some_and(|it| it == name));
    let csc = named("csc.dll")?.into_iter().next().ok_or("the SDK has no csc.dll")?;
    let reference = named("System.Runtime.dll")?;
    let reference =
        reference.iter().find(|file| file.to_string_lossy().contains("/Microsoft.NETCore.App.Ref/"));
    let references = reference.and_then(|file| file.parent()).ok_or("the SDK has no references")?;
    let references = found(references, |file| file.extension().is_some_and(|end| end == "dll"))?;
    Ok((csc, references))
}

/// The files in a folder and those in it that are wanted.
fn found(folder: &Path, wanted: impl Fn(&Path) -> bool) -> Result<Vec<PathBuf>, String> {
    let (mut open, mut all) = (vec![folder.to_path_buf()], Vec::new());
    while let Some(folder) = open.pop() {
        let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for entry in entries.flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(path),
                Ok(kind) if kind.is_file() && wanted(&path) => all.push(path),
                _ => {}
            }
        }
    }
    all.sort();
    Ok(all)
}
