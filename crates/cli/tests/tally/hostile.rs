//! No command passes on what a terminal obeys or hides, whatever it reads: arguments, logs of every format, a
//! data block, publications, a library, a profile, sessions and events with hostile names.
//!
//! The commands come from the help of `tally`, so a new one is covered without a change here.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tallymon::core::counter::CounterType;
use tallymon::core::flow::{Sink, Source};
use tallymon::core::request::Request;
use tallymon::core::time::FileTime;
use tallymon::core::title::Language;
use tallymon::core::visible::Inspector;
use tallymon::log::blg::{self, BlgSink};
use tallymon::log::csv::{CsvOptions, CsvWriter};
use tallymon::log::native::{NativeSink, NativeWriter, WriteOptions};
use tallymon::registry::{Package, Roots, Scope, Service, Writer};
use tallymon::{LiveRows, Query};
use tallymon_provider::shm::{CounterSet, Instance, NewInstance, Publisher};
use tallymon_testkit::peer;
use tallymon_testkit::terminal::Terminal;

use super::hostile_machine::{HOSTILE, HostileMachine};
use super::support::{Folder, TALLY, clean, tally};

/// The same for places that refuse controls.
const TURNED: &str = "a\u{202e}\u{2066}\u{2028}\u{200b}\u{61c}\u{feff}\u{e0041}z";

/// A machine whose clock is that of a test.
fn machine() -> HostileMachine {
    HostileMachine {
        object: 900_000,
        titles: [HOSTILE; 3],
        instances: vec![HOSTILE.to_owned()],
        text: HOSTILE,
        clock: |nth| FileTime(134_143_632_000_000_000 + nth * 10_000_000),
        samples: 0,
    }
}

/// Files whose names and contents are hostile, and a root with hostile registrations, sessions and events.
struct Hostile {
    folder: Folder,
    csv: String,
    blg: String,
    native: String,
    sqlite: String,
    parquet: String,
    /// Logs of other collectors.
    imports: Vec<String>,
    block: String,
    profile: String,
    ini: String,
    /// Published while these exist.
    _published: (Instance, Publisher),
}

fn write<S: Sink>(sink: &mut S)
where
    S::Error: std::fmt::Debug,
{
    let mut query = Query::new(Box::new(machine()), Language::ENGLISH).unwrap();
    query.add(r"\900000(*)\900002").unwrap();
    query.add(r"\900000(*)\900004").unwrap();
    let mut rows = LiveRows::changing(HOSTILE);
    for _ in 0..3 {
        let time = query.collect().unwrap();
        rows.write(time, 0, &query, sink).unwrap();
    }
    sink.finish().unwrap();
}

impl Hostile {
    fn new() -> Hostile {
        let folder = Folder::new();
        let file = |name: &str| folder.file(&format!("{HOSTILE}.{name}"));
        let (csv, blg, native, sqlite) = (file("csv"), file("blg"), file("tally"), file("sqlite"));
        write(&mut CsvWriter::new(fs::File::create(&csv).unwrap(), CsvOptions::default()));
        write(&mut BlgSink::new(fs::File::create(&blg).unwrap(), blg::WriteOptions::default()));
        let options = WriteOptions { keep_instances: true, ..WriteOptions::sealed() };
        write(&mut NativeSink::new(NativeWriter::create(native.as_ref(), options).unwrap()));
        #[cfg(feature = "sqlite")]
        {
            use tallymon::log::sqlite::{SetOptions, SqliteSink};
            let set = SetOptions { guid: "{0}".into(), name: HOSTILE.into(), zone: (HOSTILE.into(), 0) };
            write(&mut SqliteSink::create(sqlite.as_ref(), set).unwrap());
        }
        let parquet = file("parquet");
        if cfg!(feature = "parquet") {
            let copied = tally(&["relog", &native, "-o", &parquet]);
            assert_eq!(copied.code, Some(0), "{}", copied.err);
        }
        let imports = hostile_imports(&folder);
        let block = file("block");
        let snapshot = machine().snapshot(&Request::parse("Global")).unwrap();
        fs::write(&block, snapshot.into_bytes()).unwrap();
        let profile = file("profile");
        fs::write(&profile, hostile_profile()).unwrap();
        let ini = folder.file("hostile.ini");
        fs::write(folder.file("hostile.h"), "#define OBJECT 0\n#define COUNTER 2\n").unwrap();
        let texts = format!(
            "[info]\ndrivername=Evil\nsymbolfile=hostile.h\n[languages]\n009=English\n[objects]\n\
             OBJECT_009_NAME=\n[text]\nOBJECT_009_NAME=Evil {TURNED}\nOBJECT_009_HELP=Help {TURNED}\n\
             COUNTER_009_NAME=Calls {TURNED}\nCOUNTER_009_HELP=Help {TURNED}\n"
        );
        fs::write(&ini, texts).unwrap();
        Hostile::register(&folder, &ini);
        let root = folder.path().join("root");
        fs::create_dir_all(root.join("pub")).unwrap();
        fs::set_permissions(root.join("pub"), fs::Permissions::from_mode(0o1777)).unwrap();
        let set = CounterSet::new(format!("Set {TURNED}"))
            .help(format!("Help {TURNED}"))
            .instances()
            .counter(format!("Count {TURNED}"), CounterType::PERF_COUNTER_RAWCOUNT)
            .text("Mood", 60);
        let publisher = Publisher::start_in(&root.join("pub"), "evil", &[set]).unwrap();
        let instance = NewInstance { name: TURNED, ..NewInstance::default() };
        let instance = publisher.instance(&format!("Set {TURNED}"), &instance).unwrap();
        instance.text("Mood").unwrap().set(HOSTILE);
        let event = serde_json::json!({
            "time": format!("2026-01-01T00:00:00.000Z{HOSTILE}"), "source": "Evil", "id": HOSTILE,
            "level": HOSTILE, "message": HOSTILE, "fields": { "Service": HOSTILE },
        });
        fs::write(root.join("events.jsonl"), format!("{event}\n")).unwrap();
        Hostile {
            folder,
            csv,
            blg,
            native,
            sqlite,
            parquet,
            imports,
            block,
            profile,
            ini,
            _published: (instance, publisher),
        }
    }

    /// Registers a library whose instance has a hostile name, and a service with a hostile library.
    fn register(folder: &Folder, ini: &str) {
        let roots = Roots::in_folder(&folder.path().join("root"));
        let function = |name: &str| Some(name.to_string());
        let mut service = Service {
            library: Some(format!("/nowhere/{TURNED}.so")),
            open: function("Open"),
            collect: function("Collect"),
            close: function("Close"),
            deadline: Some(8000),
            ..Service::default()
        };
        if let Some(gcc) = peer("gcc") {
            let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/library/provider.c");
            let source = fs::read_to_string(tests).unwrap();
            assert!(source.contains("u\"one\""));
            let source = source.replace("u\"one\"", "u\"\\x1b\\x9b\\x202e\"");
            let c = folder.write("provider.c", source.as_bytes());
            let library = folder.file("evil.so");
            let log = format!("-DLOG=\"{}\"", folder.file("calls"));
            let sick = format!("-DSICK_FILE=\"{}\"", folder.file("sick"));
            let options = ["-std=gnu11", "-O1", "-fshort-wchar", "-shared", "-fPIC", "-DFAULT=GOOD", "-w"];
            let include = concat!(env!("CARGO_MANIFEST_DIR"), "/../capi/include");
            let mut compile = Command::new(gcc);
            compile.args(options).args([&log, &sick, "-I", include, &c, "-o", &library]);
            assert!(compile.status().unwrap().success());
            service.library = Some(library);
        }
        let writer = Writer::open(&roots, Some(Scope::System)).unwrap();
        writer.install(&Package::read(ini.as_ref(), None).unwrap(), &service).unwrap();
        let gone = Service { name: "Gone".into(), library: Some(format!("/nowhere/{TURNED}.so")), ..service };
        Writer::open(&roots, Some(Scope::System)).unwrap().register(&[gone]).unwrap();
    }

    fn command(&self, program: &str) -> Command {
        let mut command = clean(program);
        let root = self.folder.file("root");
        command.env("TALLYMON_ROOT", root).env("HOME", self.folder.path()).env("TALLY_TIER", "t0");
        for name in ["XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"] {
            command.env_remove(name);
        }
        command.current_dir(self.folder.path());
        command
    }
}

/// Sound logs of other collectors, in which disks, interfaces, processes and labels have hostile names.
fn hostile_imports(folder: &Folder) -> Vec<String> {
    let fixture = |name: &str| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../log/fixtures/import");
        fs::read(format!("{folder}/{name}")).unwrap()
    };
    let replaced = |bytes: &[u8], old: &str, new: &str| {
        let mut out = Vec::new();
        let mut rest = bytes;
        while let Some(at) = rest.windows(old.len()).position(|window| window == old.as_bytes()) {
            out.extend_from_slice(&rest[..at]);
            out.extend_from_slice(new.as_bytes());
            rest = &rest[at + old.len()..];
        }
        out.extend_from_slice(rest);
        assert_ne!(out, bytes, "{old}");
        out
    };
    // A text has no place for a line end, and a binary file none for more bytes.
    let line: String = HOSTILE.chars().filter(|letter| !"\r\n\t,".contains(*letter)).collect();
    let line = line.replace(' ', "");
    let labels = format!("__name__=\"{}\"", HOSTILE.replace('\n', "\\n").replace('\r', ""));
    let changes = [
        ("sysstat-12.6.1.sa", "ifb0", "\u{1b}[2J"),
        ("nmon.nmon", "ifb0", line.as_str()),
        ("iostat.txt", "vda", line.as_str()),
        ("atop-2.8.1.txt", "ifb0", line.as_str()),
        ("collectl-processes.txt", "/usr/bin/collectl", line.as_str()),
        ("pidstat.txt", "tally", line.as_str()),
        ("promtool.txt", "__name__=\"go_gc_duration_seconds\"", labels.as_str()),
    ];
    let mut logs = Vec::new();
    for (name, old, new) in changes {
        logs.push(folder.write(&format!("{HOSTILE}.{name}"), &replaced(&fixture(name), old, new)));
    }
    let meta = replaced(&fixture("pcp-v3.meta"), "vda", "\u{1b}[m");
    logs.push(folder.write(&format!("{HOSTILE}pcp.meta"), &meta));
    folder.write(&format!("{HOSTILE}pcp.0"), &fixture("pcp-v3.0"));
    logs
}

/// The profile of a program whose module and method have hostile names.
fn hostile_profile() -> Vec<u8> {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/profile/sample");
    let mut bytes = fs::read(sample).unwrap();
    for (old, new) in
        [(&b"/app/a.dll"[..], &b"/\x1b[2J\xc2\x9b\n\x7fz"[..]), (b"mainN.A", b"ma\xe2\x80\xae.A")]
    {
        let at = bytes.windows(old.len()).position(|window| window == old).unwrap();
        bytes[at..at + new.len()].copy_from_slice(new);
    }
    bytes
}

/// The path of all instances of the machine in the logs.
fn every() -> String {
    format!(r"\{HOSTILE}900000(*)\{HOSTILE}900002")
}

/// Every command that has no subcommands, as its words.
fn commands() -> Vec<Vec<String>> {
    let mut leaves = Vec::new();
    let mut open = vec![Vec::<String>::new()];
    while let Some(words) = open.pop() {
        let mut arguments: Vec<&str> = words.iter().map(String::as_str).collect();
        arguments.push("--help");
        let help = tally(&arguments).data();
        let list = help.split("\nCommands:\n").nth(1).unwrap_or_default();
        let list = list.split("\n\n").next().unwrap_or_default();
        // The names are indented by two, and what wraps is indented by more.
        let names =
            list.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
        let subcommands: Vec<&str> =
            names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect();
        if subcommands.is_empty() {
            leaves.push(words);
            continue;
        }
        open.extend(subcommands.iter().map(|name| {
            let mut words = words.clone();
            words.push((*name).to_owned());
            words
        }));
    }
    assert!(leaves.len() > 30 && leaves.iter().any(|words| *words == ["provider", "add"]), "{leaves:?}");
    leaves
}

/// For commands that go on until they are ended.
const ENDLESS: Duration = Duration::from_secs(4);
/// For commands that end, on a busy machine.
const ENDS: Duration = Duration::from_secs(120);

/// Runs a command for at most this time, and returns everything that it printed.
fn printed(mut command: Command, most: Duration) -> Vec<u8> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (of_out, of_err) = std::thread::scope(|scope| {
        let read = |from: &mut dyn Read| {
            let mut bytes = Vec::new();
            let _ = from.read_to_end(&mut bytes);
            bytes
        };
        let errors = scope.spawn(move || read(&mut err));
        let data = scope.spawn(move || read(&mut out));
        let end = Instant::now() + most;
        while child.try_wait().unwrap().is_none() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = child.kill();
        let _ = child.wait();
        (data.join().unwrap(), errors.join().unwrap())
    });
    [of_out, b"\n".to_vec(), of_err].concat()
}

/// What is wrong with an output, if anything is.
fn fault(bytes: &[u8], on_terminal: bool) -> Option<String> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Some("it is no UTF-8".into()) };
    // A terminal turns each line end into two characters.
    let text = if on_terminal { text.replace("\r\n", "\n") } else { text.to_owned() };
    let mut inspector = Inspector::default();
    let bad = text.chars().find(|letter| inspector.deceives(*letter) && !matches!(letter, '\n' | '\t'));
    if let Some(letter) = bad {
        return Some(format!("it has U+{:04X}", u32::from(letter)));
    }
    let is_forged = text.lines().any(|line| line.starts_with("FORGED"));
    is_forged.then(|| "it has a line that is not ours".into())
}

/// Returns whether the output shows a replaced character, that is, whether hostile text came so far.
fn check(
    hostile: &Hostile,
    arguments: &[&str],
    on_terminal: bool,
    most: Duration,
    faults: &mut Vec<String>,
) -> bool {
    let command = if on_terminal {
        let mut command = hostile.command("script");
        let quoted: Vec<String> =
            arguments.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
        command.args(["-qec", &format!("'{TALLY}' {}", quoted.join(" ")), "/dev/null"]);
        command
    } else {
        let mut command = hostile.command(TALLY);
        command.args(arguments);
        command
    };
    let bytes = printed(command, most);
    if let Some(fault) = fault(&bytes, on_terminal) {
        let place = if on_terminal { " on a terminal" } else { "" };
        faults.push(format!("{arguments:?}{place}: {fault}:\n{:?}", String::from_utf8_lossy(&bytes)));
    }
    let text = String::from_utf8_lossy(&bytes);
    text.contains('\u{fffd}') || text.contains("\\u009b") || text.contains("\\u202e")
}

#[test]
fn every_command_shows_hostile_arguments_safely() {
    let hostile = Hostile::new();
    let Hostile { csv, blg, native, sqlite, block, ini, .. } = &hostile;
    let every = every();
    let every = every.as_str();
    let mut faults = Vec::new();
    let option = format!("--{HOSTILE}");
    for words in commands() {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let rows: [&[&str]; 8] = [
            &[],
            &[HOSTILE],
            &[&option],
            &[csv],
            &[blg, native],
            &["--log", sqlite, every],
            &["--file", block, every],
            &[ini],
        ];
        for row in rows {
            // A data format keeps its bytes where no terminal shows them; that is tested below.
            let formats: [&[&str]; 4] =
                [&["relog"], &["prof", "export"], &["provider", "export"], &["log", "export"]];
            if !formats.contains(&words.as_slice()) {
                check(&hostile, &[&words, row].concat(), false, ENDLESS, &mut faults);
            }
        }
    }
    assert!(faults.is_empty(), "{} commands:\n{}", faults.len(), faults.join("\n\n"));
}

#[test]
fn names_of_logs_are_shown_safely() {
    let hostile = Hostile::new();
    let Hostile { csv, blg, native, sqlite, parquet, .. } = &hostile;
    let every = every();
    let every = every.as_str();
    let (mut faults, mut silent) = (Vec::new(), Vec::<String>::new());
    let logs = [csv, blg, native, sqlite, parquet];
    for log in logs.iter().filter(|log| fs::exists(log.as_str()).unwrap()) {
        let rows: &[&[&str]] = &[
            &["info", "--columns", log],
            &["info", "--json", "--columns", log],
            &["analyze", "--verbose", log],
            &["analyze", "--json", log],
            &["analyze", "--markdown", log],
            &["why", "20:00:02", log],
            &["stats", log],
            &["stats", "--json", log],
            &["compare", log, csv],
            &["compare", "--json", log, blg],
            &["list", "--log", log],
            &["list", "--json", "--log", log],
            &["find", "a", "--log", log],
            &["find", "--json", "a", "--log", log],
            &["get", every, "--log", log],
            &["get", "--plain", every, "--log", log],
            &["get", "--json", every, "--log", log],
            &["watch", every, "--log", log],
            &["watch", "--json", every, "--log", log],
            &["explain", every, "--log", log],
            &["stat", "proc", "--log", log],
            &["report", log, "--force", "-c", every, "-o", "page.html"],
            &["report", log, "--against", log, "--md", "-c", every],
            &["report", log, "--against", log, "--svg", "-c", every],
            &["relog", log, "--force", "-o", "copy.blg"],
            &["relog", log, "--force", "-o", "copy.sqlite"],
            &["relog", log, "--force", "-c", &format!(r"\x(*)\{HOSTILE}"), "-o", "copy.tally"],
            &["compat", "relog", log],
            &["compat", "relog", "-q", log],
        ];
        for row in rows {
            let has_names =
                !row.contains(&"--plain") && !["analyze", "why", "stat", "report"].contains(&row[0]);
            if !check(&hostile, row, false, ENDS, &mut faults) && has_names {
                silent.push(format!("{row:?}"));
            }
        }
    }
    assert_eq!(silent, [""; 0], "no hostile text came so far as these outputs");
    assert!(faults.is_empty(), "{} commands:\n{}", faults.len(), faults.join("\n\n"));
}

#[test]
fn names_of_imported_logs_are_shown_safely() {
    let hostile = Hostile::new();
    let (mut faults, mut silent) = (Vec::new(), Vec::<String>::new());
    for log in &hostile.imports {
        let rows: &[&[&str]] = &[
            &["info", "--columns", log],
            &["info", "--json", "--columns", log],
            &["stats", log],
            &["stats", "--json", log],
            &["list", "--log", log],
            &["find", "a", "--log", log],
            &["compare", log, log],
            &["analyze", "--verbose", log],
            &["why", "20:00:02", log],
            &["stat", "disk", "--log", log],
            &["stat", "net", "--all", "--log", log],
            &["stat", "proc", "--log", log],
            &["report", log, "--force", "-o", "page.html"],
            &["relog", log, "--force", "-o", "copy.blg"],
            &["relog", log, "--force", "-o", "copy.tally"],
        ];
        for row in rows {
            let shows = check(&hostile, row, false, ENDS, &mut faults);
            // The name of the file is hostile too, and so is a name in the file.
            if !shows && row[0] == "info" {
                silent.push(format!("{row:?}"));
            }
        }
    }
    assert_eq!(silent, [""; 0], "no hostile text came so far as these outputs");
    assert!(faults.is_empty(), "{} commands:\n{}", faults.len(), faults.join("\n\n"));
}

#[test]
fn names_of_blocks_publications_and_libraries_are_shown_safely() {
    let hostile = Hostile::new();
    let Hostile { block, profile, .. } = &hostile;
    let (mut faults, mut silent) = (Vec::new(), Vec::<String>::new());
    let quiet: &[&[&str]] = &[
        &["list", "--file", block],
        &["doctor", "--verbose"],
        &["doctor", "--json"],
        &["provider", "check", "Evil"],
        &["check", &format!(r"\Set {TURNED}(*)\*"), "-w", HOSTILE],
        &["top", "--once", "-i", "100ms"],
        &["stat", "proc"],
        &["compat", HOSTILE],
        &["compat", "lodctr", HOSTILE],
        &["compat", "logman", "query", HOSTILE],
        &["prof", "diff", profile, profile],
        &["prof", "top", profile, "-n", "1", "-i", "100ms"],
        &["log", "start", "mine", "-c", &format!(r"\x\{HOSTILE}")],
    ];
    for row in quiet {
        check(&hostile, row, false, ENDS, &mut faults);
    }
    let rows: &[&[&str]] = &[
        &["dump", block],
        &["list", "900000", "--instances", "--file", block],
        &["list", "900000", "--instances", "--json", "--file", block],
        &["get", r"\900000(*)\*", "--file", block],
        &["get", "--json", r"\900000(*)\*", "--file", block],
        &["explain", r"\900000(*)\900002", "--file", block],
        &["check", r"\900000(*)\900002", "--file", block, "-i", "10ms", "-w", "0"],
        &["check", &format!(r"\Set {TURNED}(*)\Count {TURNED}"), "-i", "10ms", "-w", "0"],
        &["list", &format!("Set {TURNED}"), "--instances"],
        &["get", &format!(r"\Set {TURNED}(*)\*")],
        &["get", "--json", &format!(r"\Set {TURNED}(*)\*")],
        &["get", &format!(r"\Evil {TURNED}(*)\*")],
        &["find", "Evil"],
        &["find", "--json", "Evil"],
        &["dump", "Counter 009"],
        &["events", "--json"],
        &["provider", "list"],
        &["provider", "list", "--json"],
        &["provider", "check", "Gone"],
        &["lodctr", "/Q"],
        &["compat", "typeperf", HOSTILE],
        &["prof", "tree", profile],
        &["prof", "status", profile],
    ];
    for row in rows {
        if !check(&hostile, row, false, ENDS, &mut faults) {
            silent.push(format!("{row:?}"));
        }
    }
    assert_eq!(silent, [""; 0], "no hostile text came so far as these outputs");
    assert!(faults.is_empty(), "{} commands:\n{}", faults.len(), faults.join("\n\n"));
}

#[test]
fn no_data_format_reaches_a_terminal_as_it_is() {
    if peer("script").is_none() {
        return;
    }
    let hostile = Hostile::new();
    let Hostile { csv, blg, native, block, profile, .. } = &hostile;
    let every = every();
    let every = every.as_str();
    let mut faults = Vec::new();
    let rows: &[&[&str]] = &[
        &["relog", csv],
        &["relog", blg, "-f", "tsv"],
        &["relog", native],
        &["get", "--csv", every, "--log", native],
        &["get", "--tsv", every, "--file", block],
        &["watch", "--csv", every, "--log", blg],
        &["info", csv],
        &["stats", native],
        &[HOSTILE],
        &["prof", "export", profile, "--format", "collapsed"],
        &["prof", "export", profile, "--format", "speedscope"],
        &["prof", "export", profile, "--format", "pprof"],
        &["provider", "export"],
        &["compat", "relog", "-q", blg],
    ];
    for row in rows {
        check(&hostile, row, true, ENDS, &mut faults);
    }
    assert!(faults.is_empty(), "{} commands:\n{}", faults.len(), faults.join("\n\n"));
}

#[test]
fn formats_and_json_keep_hostile_values() {
    let hostile = Hostile::new();
    let run = |arguments: &[&str]| {
        let mut command = hostile.command(TALLY);
        let output = command.args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let csv = run(&["relog", &hostile.native]);
    assert!(csv.contains(HOSTILE), "{csv:?}");
    let row = run(&["get", "--json", &every(), "--log", &hostile.native]);
    assert_eq!(fault(row.as_bytes(), false), None);
    let row: serde_json::Value = serde_json::from_str(&row).unwrap();
    let value = &row["values"][0];
    assert!(value["value"].is_number() && value["instance"] == HOSTILE, "{row}");
    assert_eq!(value["path"], every().replace("(*)", &format!("({HOSTILE})")));
}

#[test]
fn the_monitor_shows_no_name_as_it_is() {
    let Some(terminal) = Terminal::open() else { return };
    let hostile = Hostile::new();
    let (log, raw) = (hostile.folder.file("log.tally"), hostile.folder.file("raw"));
    fs::copy(&hostile.native, &log).unwrap();
    terminal.tmux(&["pipe-pane", &format!("cat > '{raw}'")]);
    terminal.line(&format!("TALLYMON_ROOT='{}' '{TALLY}' mon --log '{log}'", hostile.folder.file("root")));
    terminal.wait_for(&["FORGED"]);
    // The add dialog and the table have their own ways to show names.
    for (key, part) in [("a", "900000"), ("Escape", "FORGED"), ("T", "FORGED"), ("Escape", "FORGED")] {
        terminal.key(key);
        terminal.wait_for(&[part]);
    }
    terminal.key("q");
    terminal.wait("the prompt", |screen| screen.trim_end().ends_with("ready>"));
    assert_ne!(terminal.tmux(&["display-message", "-p", "#{pane_title}"]).trim(), "own");
    let raw = fs::read(&raw).unwrap();
    let text = String::from_utf8_lossy(&raw);
    assert!(text.contains("FORGED"));
    for bad in
        ["\u{1b}]0;own", "\u{9b}", "\u{202e}", "\u{2066}", "\u{2028}", "\u{200b}", "\u{e0041}", "\u{7f}"]
    {
        assert!(!text.contains(bad), "{bad:?} is in {text:?}");
    }
}
