//! The .NET profiler's command with real programs: live counters, switching, child processes.
//!
//! The runtimes are those that the profiler's own tests fetch; without one, or without a C# compiler, a test
//! says so.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use super::record::Sessions;
use super::support::{Folder, Ran, TALLY, clean, has, tally, tally_with};

#[allow(dead_code, reason = "the profiler's own tests need more of it")]
#[path = "../../../clr/tests/dotnet/runtimes.rs"]
pub(super) mod runtimes;

/// A compiled program and the newest runtime that is there; `None`, said once for each test, without them.
fn program(folder: &Folder, name: &str) -> Option<(PathBuf, String)> {
    let Some((_, dotnet)) = runtimes::runtimes().pop() else {
        tallymon_testkit::skip("no .NET runtime for the profiler's command");
        return None;
    };
    Some((dotnet, compiled(folder, name)?))
}

/// A compiled program.
pub(super) fn compiled(folder: &Folder, name: &str) -> Option<String> {
    let mcs = tallymon_testkit::peer("mcs")?;
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../clr/tests/dotnet/programs/{name}.cs"));
    let file = folder.file(&format!("{name}.exe"));
    let out = Command::new(mcs).args(["-optimize+", &format!("-out:{file}")]).arg(source).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let config = r#"{"runtimeOptions":{"rollForward":"LatestMajor","framework":{"name":"Microsoft.NETCore.App",
        "version":"3.1.0"},"configProperties":{"System.Globalization.Invariant":true}}}"#;
    folder.write(&format!("{name}.runtimeconfig.json"), config.as_bytes());
    Some(file)
}

/// `tally prof run` with a program that is talked to line by line; both are gone when the test is over.
struct Profiled {
    tally: Child,
    output: BufReader<ChildStdout>,
    error: BufReader<ChildStderr>,
}

impl Profiled {
    fn start(folder: &Folder, options: &[&str], (dotnet, file): &(PathBuf, String)) -> Profiled {
        let mut command = clean(TALLY);
        command.args(["prof", "run", "-o", &folder.file("%p.prof")]).args(options).arg("--").arg(dotnet);
        command.args(["exec", file]).env("TALLYMON_ROOT", folder.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut tally = command.spawn().unwrap();
        let output = BufReader::new(tally.stdout.take().unwrap());
        let error = BufReader::new(tally.stderr.take().unwrap());
        Profiled { tally, output, error }
    }

    fn line(&mut self, expected: &str) {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert_eq!(line.trim_end(), expected);
    }

    /// A line of input, and the answer of the program.
    fn say(&mut self, line: &str) {
        writeln!(self.tally.stdin.as_mut().unwrap(), "{line}").unwrap();
        self.line(&format!("done {line}"));
    }

    /// The profile of the program, which is the only one in the folder, and its process.
    fn profile(&self, folder: &Folder) -> (String, String) {
        let files = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let file = files.into_iter().find(|file| file.extension().is_some_and(|it| it == "prof")).unwrap();
        let process = file.file_stem().unwrap().to_str().unwrap().to_string();
        (file.to_str().unwrap().to_string(), process)
    }

    /// Ends the program, and waits until the command has said all that it has to say.
    fn end(mut self, process: &str) -> String {
        assert!(Command::new("kill").arg(process).status().unwrap().success());
        let mut words = String::new();
        std::io::Read::read_to_string(&mut self.error, &mut words).unwrap();
        self.tally.wait().unwrap();
        words
    }
}

impl Drop for Profiled {
    fn drop(&mut self) {
        // A command whose input ends is left by its program; one that is gone already cannot be ended.
        let _ = self.tally.kill();
        let _ = self.tally.wait();
    }
}

/// Runs the command again and again until what it prints has all of some parts.
fn until(folder: &Folder, arguments: &[&str], parts: &[&str]) -> String {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let ran: Ran = tally_with(arguments, |command| {
            command.env("TALLYMON_ROOT", folder.path());
        });
        if parts.iter().all(|part| ran.out.contains(part)) {
            return ran.out;
        }
        assert!(Instant::now() < deadline, "{parts:?} are not all in:\n{}{}", ran.out, ran.err);
    }
}

#[test]
fn calls_of_a_running_program_are_published() {
    let folder = Folder::new();
    let Some(program) = program(&folder, "forever") else { return };
    let mut profiled = Profiled::start(&folder, &["--publish"], &program);
    profiled.line("ready");
    profiled.say("1");
    let (_, process) = profiled.profile(&folder);
    // Counts of what is open need one sample, rates two; the names have brackets where paths have
    // parentheses.
    let open = until(
        &folder,
        &["get", r"\.NET Methods(*)\Active Calls"],
        &[
            "forever.exe/Forever.Program.Main[]",
            "Forever.Program.Background[]",
            "Forever.Program.Marked[int]",
        ],
    );
    let of = |name: &str| open.lines().find(|line| line.contains(name)).unwrap().to_string();
    assert!(of("Main[]").trim_end().ends_with('1') && of("Marked[int]").trim_end().ends_with('0'), "{open}");
    let rates = [r"\.NET Methods(*)\Calls/sec", r"\.NET Profiler(*)\Hooks On"];
    let watched = until(
        &folder,
        &["watch", rates[0], rates[1], "--interval", "1s", "--count", "2", "--csv"],
        &["Work[int]", r".NET Profiler(forever.exe)\Hooks On"],
    );
    // The thread in the background calls Work all the time: its last rate is above zero, and that of Main is
    // zero.
    let mut lines = watched.lines();
    let heads: Vec<&str> = lines.next().unwrap().split("\",\"").collect();
    let last: Vec<&str> = lines.next_back().unwrap().split(',').collect();
    let value = |name: &str| {
        let column = heads.iter().position(|head| head.contains(name)).unwrap();
        last[column].trim_matches('"').parse::<f64>().unwrap()
    };
    assert!(value("Work[int]") > 0.0 && value("Main[]") == 0.0 && value("Hooks On") == 1.0, "{watched}");
    let words = profiled.end(&process);
    has(&words, &["tally: the profile is in ", ".prof"]);
}

/// A value of the last record of a log.
fn last_of(log: &str, method: &str, counter: &str) -> f64 {
    let path = format!(r"\.NET Methods(pace.exe/Pace.Program.{method})\{counter}");
    let ran = tally(&["get", "--log", log, &path, "--plain"]);
    ran.out.trim().parse().unwrap_or_else(|error| panic!("{path}: {error}: {}{}", ran.out, ran.err))
}

#[test]
fn recorded_values_match_the_known_program() {
    let sessions = Sessions::new();
    let folder = &sessions.0;
    let Some(program) = program(folder, "pace") else { return };
    let mut profiled = Profiled::start(folder, &["--publish"], &program);
    profiled.line("ready");
    let (_, process) = profiled.profile(folder);
    until(folder, &["get", r"\.NET Methods(*)\Active Calls"], &["Program.Fail[]", "Program.Deep[int]"]);
    // A session records them in the background while the command does it before everybody's eyes.
    let all = r"\.NET Methods(*)\*";
    assert_eq!(sessions.log(&["start", "pace", "-c", all, "-i", "2s"]).code, Some(0));
    let log = folder.file("live.tally");
    let watched = tally_with(&["watch", all, "-i", "2s", "-c", "3", "-o", &log], |command| {
        command.env("TALLYMON_ROOT", folder.path());
    });
    assert_eq!(watched.code, Some(0), "{}", watched.err);
    assert_eq!(sessions.log(&["stop", "pace"]).code, Some(0));
    let session = sessions.logs("pace").remove(0);
    profiled.end(&process);
    for log in [&log, &session] {
        // A busy machine may sleep longer, never shorter; the recursion's four calls sleep at the end of the
        // innermost.
        for (method, seconds) in [("Nap[]", 0.0195), ("Deep[int]", 0.0095), ("Round[]", 0.029)] {
            let average = last_of(log, method, "Average Call Time");
            assert!((seconds..60.0).contains(&average), "{method} takes {average} s, of {seconds} known");
            let exact = last_of(log, method, "Average Call Nanoseconds") / 1e9;
            assert!((exact - average).abs() < 1e-5, "{method}: {exact} {average}");
        }
        let rate = |method: &str| last_of(log, method, "Calls/sec");
        let naps = rate("Nap[]");
        assert!(naps > 0.0 && rate("Deep[int]") > 2.0 * naps && rate("Deep[int]") < 8.0 * naps);
        // No more than sleeps of 30 ms leave room for; what is published twice a second may be seen a second
        // late.
        assert!(naps < 1.0 / 0.03 * 1.6, "{naps}");
        let (thrown, fails) = (last_of(log, "Fail[]", "Exceptions/sec"), rate("Fail[]"));
        assert!(fails > 0.0 && (thrown / fails - 1.0).abs() < 0.5, "{thrown} {fails}");
        let own = |method: &str| last_of(log, method, "% Time");
        let (nap, deep, round) = (own("Nap[]"), own("Deep[int]"), own("Round[]"));
        // Two thirds and one third of the time, about; the rest is little, and all together is one thread.
        assert!(nap > deep && deep > round && nap + deep + round < 160.0, "{nap} {deep} {round}");
        let whole = last_of(log, "Round[]", "% Time with Callees");
        assert!(whole > nap && whole < 160.0, "{whole} {nap}");
    }
}

#[test]
fn named_methods_of_a_running_program_are_published() {
    let folder = Folder::new();
    let Some(program) = program(&folder, "forever") else { return };
    let mut profiled = Profiled::start(&folder, &[], &program);
    profiled.line("ready");
    profiled.say("1");
    let (file, process) = profiled.profile(&folder);
    let mut publisher = clean(TALLY)
        .args(["prof", "publish", &file, "--include", "Forever.Program::Marked"])
        .env("TALLYMON_ROOT", folder.path())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let names = until(&folder, &["get", r"\.NET Methods(*)\Active Calls"], &["Marked[int]"]);
    assert!(!names.contains("Work[int]"), "{names}");
    profiled.end(&process);
    // With the program its counters end.
    assert!(publisher.wait().unwrap().success());
}

#[test]
fn a_dormant_program_is_switched_by_the_command() {
    let folder = Folder::new();
    let Some(program) = program(&folder, "forever") else { return };
    let mut profiled = Profiled::start(&folder, &["--mode", "dormant"], &program);
    profiled.line("ready");
    let (file, process) = profiled.profile(&folder);
    // When the command is back the next call is seen, or not seen.
    profiled.say("before");
    let listed = || {
        let list = tally(&["prof", "list", "--json"]).json();
        let mut programs = list.as_array().unwrap().iter();
        programs.find(|program| program["pid"].as_u64() == process.parse().ok()).unwrap().clone()
    };
    let before = listed();
    assert_eq!([&before["name"], &before["profiler"], &before["profile"]], ["forever", "dormant", &file]);
    assert!(before["runtime"].is_string() && before["problem"].is_null(), "{before}");
    assert_eq!(tally(&["prof", "on", &file, "--include", "Forever.Program::Marked"]).data(), "");
    assert_eq!(listed()["profiler"], "profiled");
    profiled.say("on");
    assert_eq!(tally(&["prof", "off", &file]).data(), "");
    profiled.say("off");
    has(&tally(&["prof", "status", &file]).data(), &["mode     dormant", "hooks    off", "program  running"]);
    let tree = tally(&["prof", "tree", &file]).data();
    let marked = tree.lines().find(|line| line.ends_with("Marked(int)")).unwrap();
    assert!(marked.trim_start().starts_with("1000 ") && !tree.contains("Work("), "{tree}");
    let words = profiled.end(&process);
    has(&words, &["tally: the profiler is dormant; 'tally prof on ", "switches it on"]);
    has(&tally(&["prof", "on", &file]).words(1), &[&file, "has ended"]);
}

/// The profile is in no folder that a command looks at.
#[test]
fn every_subcommand_takes_a_process_id() {
    let folder = Folder::new();
    let Some(program) = program(&folder, "forever") else { return };
    let mut profiled = Profiled::start(&folder, &["--mode", "dormant"], &program);
    profiled.line("ready");
    let (_, process) = profiled.profile(&folder);
    let (html, stream) = (folder.file("one.html"), folder.file("one.nettrace"));
    let short = ["--duration", "200ms"];
    // What follows the process id, and a part of the answer.
    let rows: [(&str, &[&str], &str); 17] = [
        ("on", &[], ""),
        ("status", &[], "hooks    on"),
        ("tree", &["--merge-threads"], "Forever.Program.Work(int)"),
        ("report", &["-o", &html], ""),
        ("diff", &[&process], "Work"),
        ("export", &["-f", "collapsed"], "Forever.Program.Work(int)"),
        ("top", &["-n", "1"], "Forever.Program"),
        ("publish", &[], ""),
        ("sample", &["-o", &stream, short[0], short[1]], ""),
        ("gc", &short, "collections"),
        ("exceptions", &short, "exceptions"),
        ("contention", &short, "waits"),
        ("threads", &short, "thread"),
        ("http", &short, "0 requests"),
        ("db", &short, "0 commands"),
        ("off", &[], ""),
        ("status", &[], "hooks    off"),
    ];
    profiled.say("1");
    let help = tally(&["prof", "--help"]).data();
    for (subcommand, more, part) in rows {
        assert!(help.contains(&format!("  {subcommand} ")), "{help}");
        let mut arguments = vec!["prof", subcommand, &process];
        arguments.extend(more);
        if subcommand == "publish" {
            // It ends with the program, or when it is told to.
            let mut publisher = clean(TALLY);
            publisher.args(&arguments).env("TALLYMON_ROOT", folder.path());
            let mut publisher = publisher.stderr(Stdio::null()).spawn().unwrap();
            until(&folder, &["get", r"\.NET Methods(*)\Active Calls"], &["Forever.Program.Work"]);
            let told = Command::new("kill").args(["-INT", &publisher.id().to_string()]).status().unwrap();
            assert!(told.success() && publisher.wait().unwrap().success());
            continue;
        }
        let ran = tally(&arguments);
        assert_eq!(ran.code, Some(0), "{subcommand}: {}", ran.err);
        has(&ran.out, &[part]);
        profiled.say(subcommand);
    }
    // Each that takes a program is among them.
    for line in help.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   ")) {
        let Some(name) = line.split_whitespace().next().filter(|name| !name.starts_with('-')) else {
            continue;
        };
        if !matches!(name, "list" | "run" | "help") && tally(&["prof", name, "--help"]).code == Some(0) {
            assert!(rows.iter().any(|row| row.0 == name), "{name} is not in the table");
        }
    }
    profiled.end(&process);
    has(&tally(&["prof", "tree", "4194305"]).words(3), &["no process has the id 4194305"]);
    let own = std::process::id().to_string();
    has(&tally(&["prof", "tree", &own]).words(3), &["writes no profile", "prof sample"]);
}

#[test]
fn each_child_process_has_a_file_of_its_own() {
    let folder = Folder::new();
    let Some((dotnet, file)) = program(&folder, "parent") else { return };
    let ran = tally_with(&["prof", "run", "-o", &folder.file("%p.prof"), "--"], |command| {
        command.arg(&dotnet).args(["exec", &file]).arg(&dotnet).arg(&file);
    });
    assert_eq!((ran.code, ran.out.trim()), (Some(0), "the child says 42"), "{}", ran.err);
    // The program itself comes first, then what it started.
    let files: Vec<&str> =
        ran.err.lines().filter_map(|line| line.split_once(" is in ")).map(|it| it.1).collect();
    has(&ran.err, &["tally: the profile is in ", "tally: the profile of process "]);
    let trees: Vec<String> = files.iter().map(|file| tally(&["prof", "tree", file]).data()).collect();
    assert_eq!(trees.len(), 2, "{}", ran.err);
    has(&trees[0], &["Parent.Program.InParent(string, string)"]);
    has(&trees[1], &["Parent.Program.InChild(int)", " child"]);
    assert!(!trees[0].contains("InChild") && !trees[1].contains("InParent"), "{trees:?}");
}

#[test]
fn run_ends_as_its_program_does() {
    let folder = Folder::new();
    let Some(program) = program(&folder, "forever") else { return };
    // The program gives up; the command alone gets a signal, and passes it on.
    for (end, code) in [("fail", 134), ("INT", 143), ("TERM", 143)] {
        let mut profiled = Profiled::start(&folder, &[], &program);
        profiled.line("ready");
        if end == "fail" {
            writeln!(profiled.tally.stdin.as_mut().unwrap(), "{end}").unwrap();
        } else {
            let tally = profiled.tally.id().to_string();
            assert!(Command::new("kill").args(["-s", end, &tally]).status().unwrap().success());
        }
        let mut words = String::new();
        std::io::Read::read_to_string(&mut profiled.error, &mut words).unwrap();
        assert_eq!(profiled.tally.wait().unwrap().code(), Some(code), "{end}: {words}");
        has(&words, &["the profile is in ", "the program ended: "]);
    }
}

#[test]
fn run_has_the_exit_code_of_its_program_with_and_without_a_profile() {
    let folder = Folder::new();
    let Some((dotnet, file)) = program(&folder, "endings") else { return };
    let new = folder.write(
        "new.runtimeconfig.json",
        br#"{"runtimeOptions":{"framework":{"name":"Microsoft.NETCore.App","version":"99.0.0"}}}"#,
    );
    let settings = folder.file("endings.runtimeconfig.json");
    // A runtime that is not there is code 150, and nothing loads the profiler.
    for (settings, argument, code, has_profile) in [
        (&settings, "exit", 3, true),
        (&settings, "result", 4, true),
        (&settings, "exit of a thread", 3, true),
        (&settings, "fail fast", 134, true),
        (&settings, "exception", 134, true),
        (&new, "exit", 150, false),
    ] {
        let profiled = ["prof", "run", "-o", &folder.file("%p.prof"), "--"];
        let ran = tally_with(&profiled, |command| {
            command.args(["sh", "-c", "ulimit -c 0; exec \"$@\"", "sh"]).arg(&dotnet);
            command.args(["exec", "--runtimeconfig", settings, &file, argument]);
        });
        assert_eq!(ran.code, Some(code), "{argument}: {}", ran.err);
        let words = if has_profile { "the profile is in " } else { " left no profile in " };
        has(&ran.err, &[words, "the program ended: "]);
    }
}

/// A server of ASP.NET Core that answers while it is looked at; gone when the test is over.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    /// `None`, said once for each test, without its parts.
    fn start(folder: &Folder) -> Option<Server> {
        let mcs = tallymon_testkit::peer("mcs")?;
        let nine = runtimes::runtimes().into_iter().find(|(version, _)| *version == "9.0");
        let Some(((_, dotnet), parts)) = nine.zip(runtimes::web_server()) else {
            tallymon_testkit::skip("no ASP.NET Core for the commands that look at requests");
            return None;
        };
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dotnet/tests/attach/web.cs");
        let file = folder.file("web.exe");
        let mut command = Command::new(mcs);
        command.args(["-optimize+", "-r:System.Net.Http", &format!("-out:{file}")]).arg(source);
        let out = command.output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let config = r#"{"runtimeOptions":{"rollForward":"LatestMajor","framework":
            {"name":"Microsoft.NETCore.App","version":"3.1.0"},
            "configProperties":{"System.Globalization.Invariant":true}}}"#;
        folder.write("web.runtimeconfig.json", config.as_bytes());
        let mut command = Command::new(dotnet);
        command.args(["exec", &file]).arg(parts).env_remove("TMPDIR");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Some(Server { child, address: address.trim().trim_start_matches("http://").to_string() })
    }

    /// Asks it again and again, until that is ended.
    fn ask_on(&self) -> Asking {
        let (going, over) = std::sync::mpsc::channel::<()>();
        let address = self.address.clone();
        Asking { going, thread: std::thread::spawn(move || ask_on(&address, &over)) }
    }
}

/// A thread that asks a server.
struct Asking {
    going: std::sync::mpsc::Sender<()>,
    thread: std::thread::JoinHandle<()>,
}

impl Asking {
    fn end(self) {
        drop(self.going);
        self.thread.join().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks a server until the other side of the channel is gone.
fn ask_on(address: &str, over: &std::sync::mpsc::Receiver<()>) {
    for number in 0.. {
        for path in [format!("/orders/{number}"), "/fail".into()] {
            let mut stream = std::net::TcpStream::connect(address).unwrap();
            write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
            std::io::Read::read_to_end(&mut stream, &mut Vec::new()).unwrap();
        }
        if over.try_recv() == Err(std::sync::mpsc::TryRecvError::Disconnected) {
            return;
        }
    }
}

/// A stream of ours is read by a program that knows only the description of the format.
#[test]
fn recorded_streams_are_as_the_format_is_described() {
    let folder = Folder::new();
    let Some(python) = tallymon_testkit::peer("python3") else { return };
    let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tally/nettrace.py");
    let Some((_, file)) = program(&folder, "forever") else { return };
    for (version, dotnet) in runtimes::runtimes() {
        let mut command = Command::new(dotnet);
        command.args(["exec", &file]).env_remove("TMPDIR").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
        let (pid, stream) = (child.id().to_string(), folder.file(&format!("{version}.nettrace")));
        let ran = tally(&["prof", "sample", &pid, "--duration", "1s", "-o", &stream]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(ran.code, Some(0), ".NET {version}: {}", ran.err);
        let out = Command::new(&python).arg(&check).arg(&stream).output().unwrap();
        assert!(out.status.success(), ".NET {version}: {}", String::from_utf8_lossy(&out.stderr));
        let theirs: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!(theirs["pid"].to_string(), pid);
        let samples = theirs["events"]["Microsoft-DotNETCore-SampleProfiler/0"].as_u64().unwrap();
        assert!(samples >= 10 && theirs["stacks"].as_u64().unwrap() >= samples, ".NET {version}: {theirs}");
        has(&tally(&["prof", "tree", &stream]).data(), &[&format!("sampled: {samples} samples of ")]);
        // A byte that is missing is missed.
        let bytes = std::fs::read(&stream).unwrap();
        std::fs::write(&stream, &bytes[..bytes.len() - 1]).unwrap();
        assert!(!Command::new(&python).arg(&check).arg(&stream).output().unwrap().status.success());
    }
}

/// The source of the reports keeps one wish, and none when any reader leaves.
#[test]
fn requests_are_shown_again_when_another_reader_left() {
    let folder = Folder::new();
    let Some(server) = Server::start(&folder) else { return };
    let pid = server.child.id().to_string();
    let asking = server.ask_on();
    let mut first = clean(TALLY);
    first.args(["prof", "http", &pid, "--duration", "12s", "--every", "250ms", "--json"]);
    let mut first = first.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(first.stdout.take().unwrap());
    let mut count = || {
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let json: serde_json::Value = serde_json::from_str(&line).unwrap();
        let rows = json["rows"].as_array().unwrap().iter();
        (rows.map(|row| row["count"].as_u64().unwrap()).sum::<u64>(), json)
    };
    while count().0 < 20 {}
    // Both readers that come and go take the reports away.
    for other in ["db", "http"] {
        tally(&["prof", other, &pid, "--duration", "700ms"]);
    }
    let (before, _) = count();
    let (mut last, mut json) = count();
    while last < before + 20 {
        (last, json) = count();
    }
    let gaps = json["gaps"].as_array().unwrap();
    assert!(!gaps.is_empty() && gaps.len() <= 4, "{json}");
    for gap in gaps {
        let (from, to) = (gap["from"].as_f64().unwrap(), gap["to"].as_f64().unwrap());
        assert!(from > 0.0 && from <= to && to - from < 8.0, "{json}");
    }
    std::io::Read::read_to_end(&mut output, &mut Vec::new()).unwrap();
    let mut words = String::new();
    std::io::Read::read_to_string(first.stderr.as_mut().unwrap(), &mut words).unwrap();
    assert!(first.wait().unwrap().success(), "{words}");
    has(&words, &["after the start are missing: another reader of the program took them"]);
    asking.end();
}

#[test]
fn requests_of_a_running_server_are_shown() {
    let folder = Folder::new();
    let Some(server) = Server::start(&folder) else { return };
    let pid = server.child.id().to_string();
    let asking = server.ask_on();
    let json = tally(&["prof", "http", &pid, "--duration", "3s", "--json"]).json();
    let rows = json["rows"].as_array().unwrap();
    let row = |what: &str| rows.iter().find(|row| row["what"] == what).unwrap_or_else(|| panic!("{json}"));
    let (orders, fail) = (row("GET /orders/{id}"), row("GET /fail"));
    let number = |name: &str| orders[name].as_f64().unwrap();
    assert!(number("count") >= 10.0 && number("errors") == 0.0 && orders["status"] == "200", "{json}");
    assert!(number("p50") >= 0.019 && number("p50") <= number("p99") && number("p99") <= number("max"));
    assert!((2.5..60.0).contains(&json["seconds"].as_f64().unwrap()), "{json}");
    assert!(fail["errors"] == fail["count"] && fail["status"] == "500" && fail["by"] == "server", "{json}");
    let text = tally(&["prof", "http", &pid, "--duration", "2s", "--every", "500ms", "--rows", "1"]).data();
    has(&text, &[" requests in ", "server: 200 GET /orders/{id}", "1 more; --rows shows them"]);
    assert!(text.matches(" requests in ").count() >= 3, "{text}");
    asking.end();
    // Nothing of it is a database.
    has(&tally(&["prof", "db", &pid, "--duration", "500ms"]).data(), &["0 commands in "]);
    drop(server);
    has(&tally(&["prof", "http", &pid]).words(3), &[&pid, "diagnostics socket"]);
}
