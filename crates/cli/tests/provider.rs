//! The command as it is run: options of both kinds, exit codes, and many processes of which some are killed.
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tallymon::core::title::Language;
use tallymon::registry::{Installed, Roots};
use tallymon_testkit::{peer, shared};

/// A folder with registries in it, which is gone when the test is over.
struct Place(PathBuf);

impl Place {
    fn new() -> Place {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("tallymon-provider-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        // In memory where there is such a folder: a disk takes most of its time for keeping what a test throws away.
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
        let folder = parent.join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Place(folder)
    }

    fn file(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tally"));
        command.args(words).env("TALLYMON_ROOT", &self.0).env("LC_ALL", "C").stdin(Stdio::null());
        command
    }

    /// Exit code, standard output, standard error.
    fn run(&self, words: &[&str]) -> (i32, String, String) {
        let Output { status, stdout, stderr } = self.command(words).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (status.code().unwrap(), text(stdout), text(stderr))
    }

    fn ok(&self, words: &[&str]) -> String {
        let (code, out, err) = self.run(words);
        assert_eq!(code, 0, "{words:?}: {err}");
        out
    }

    /// Names of an INI file and of its header for a service with so many counters.
    fn ini(&self, service: &str, counters: u32) -> String {
        let (mut header, mut texts) = (String::new(), String::new());
        for number in 0..=counters {
            header.push_str(&format!("#define SYMBOL{number} {}\n", number * 2));
            texts.push_str(&format!("SYMBOL{number}_009_NAME={service} {number}\n"));
            texts.push_str(&format!("SYMBOL{number}_009_HELP=Help of {service} {number}\n"));
        }
        self.file(&format!("{service}.h"), header);
        let head =
            format!("[info]\ndrivername={service}\nsymbolfile={service}.h\n[languages]\n009=English\n");
        self.file(&format!("{service}.ini"), format!("{head}[objects]\nSYMBOL0_009_NAME=\n[text]\n{texts}"))
    }

    fn installed(&self) -> Installed {
        Installed::read(&Roots::in_folder(&self.0)).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn names_come_and_go() {
    let place = Place::new();
    let ini = place.ini("Demo", 2);
    let out = place.ok(&["provider", "check", &ini]);
    assert!(out.contains("service Demo: names 1848 to 1852, help texts 1849 to 1853"), "{out}");
    assert!(out.contains("  1848  009  object   Demo 0\n  1850  009  counter  Demo 1\n"), "{out}");
    assert_eq!(place.ok(&["provider", "list"]), "", "a check installs nothing");
    place.ok(&[
        "provider",
        "add",
        &ini,
        "--library",
        "libdemo.so",
        "--open",
        "O",
        "--collect",
        "C",
        "--close",
        "X",
    ]);
    for language in ["009", "012"] {
        let names = place.ok(&["dump", &format!("Counter {language}")]);
        assert!(names.contains("\n1848\tDemo 0\n1850\tDemo 1\n1852\tDemo 2\n"), "{names}");
        let helps = place.ok(&["dump", &format!("Help {language}")]);
        assert!(helps.contains("\n1853\tHelp of Demo 2\n"), "{helps}");
    }
    let list = place.ok(&["provider", "list"]);
    let wanted = "Demo (system)\n  library  libdemo.so\n  open     O\n  collect  C\n  close    X\n  \
                  indexes  names 1848 to 1852, help texts 1849 to 1853\n  objects  Demo 0\n";
    assert_eq!(list, wanted);
    place.ok(&["provider", "disable", "demo"]);
    assert!(place.ok(&["provider", "list"]).starts_with("Demo (system, disabled)\n"));
    place.ok(&["provider", "enable", "demo"]);
    place.ok(&["provider", "remove", "demo"]);
    assert_eq!(place.ok(&["provider", "list"]), "");
    place.ok(&["provider", "rollback"]);
    assert_eq!(place.ok(&["provider", "list"]), wanted);
    let versions = place.ok(&["provider", "rollback", "--list"]);
    assert_eq!(
        versions,
        "       1  install Demo\n       2  disable Demo\n*      3  enable Demo\n       4  remove Demo\n"
    );
    place.ok(&["provider", "rollback", "--to", "4"]);
    assert_eq!(place.ok(&["provider", "list"]), "");
    place.ok(&["provider", "add", "--user", &ini]);
    let json = place.ok(&["provider", "list", "--user", "--json"]);
    assert!(json.contains("\"scope\":\"user\"") && json.contains("\"first_counter\":1000000"), "{json}");
    assert_eq!(place.ok(&["provider", "list", "--system"]), "");
}

#[test]
fn options_of_windows() {
    let Some(samples) = shared("ini") else { return };
    let sample = |name: &str| samples.join(name).display().to_string();
    let place = Place::new();
    let (code, _, err) = place.run(&["lodctr", &sample("Perfgen.Ini")]);
    assert_eq!(code, 3, "{err}");
    assert!(err.contains("no service \"PERFGEN\" is registered"), "{err}");
    place.ok(&["provider", "add", &sample("Perfgen.Reg"), &sample("AppMem.Reg")]);
    place.ok(&["lodctr", &sample("Perfgen.Ini")]);
    let (code, _, err) = place.run(&["lodctr", &sample("Perfgen.Ini")]);
    assert_eq!((code, err.contains("installed already")), (1, true), "{err}");
    let wanted = "\
Performance Counter ID Queries [PERFLIB]:
    Base Index: 0x00000737 (1847)
    Last Counter Text ID: 0x00000740 (1856)
    Last Help Text ID: 0x00000741 (1857)

[PerfGen] Performance Counters (Enabled)
    DLL Name: perfgen.dll
    Open Procedure: OpenSigGenPerformanceData
    Collect Procedure: CollectSigGenPerformanceData
    Close Procedure: CloseSigGenPerformanceData
    First Counter ID: 0x00000738 (1848)
    Last Counter ID: 0x00000740 (1856)
    First Help ID: 0x00000739 (1849)
    Last Help ID: 0x00000741 (1857)

";
    assert_eq!(place.ok(&["lodctr", "/Q:PERFGEN"]), wanted);
    let all = place.ok(&["lodctr", "-q"]);
    assert!(all.contains("[AppMem] Performance Counters (Enabled)") && all.contains("[PerfGen]"), "{all}");
    place.ok(&["lodctr", "/D:PerfGen"]);
    assert!(place.ok(&["lodctr", "/Q:PerfGen"]).contains("[PerfGen] Performance Counters (Disabled)"));
    place.ok(&["lodctr", "-E:PerfGen"]);
    place.ok(&["lodctr", "/T:PerfGen"]);
    assert!(place.installed().system.service("PerfGen").unwrap().trusted);
    let backup = place.0.join("names saved").display().to_string();
    place.ok(&["lodctr", &format!("/S:{backup}")]);
    place.ok(&["unlodctr", "PERFGEN"]);
    assert!(!place.ok(&["lodctr", "/Q:PerfGen"]).contains("First Counter ID"));
    place.ok(&["lodctr", &format!("/R:\"{backup}\"")]);
    assert_eq!(place.ok(&["lodctr", "/Q:PERFGEN"]), wanted);
    if let Some(manifests) = shared("manifest") {
        let manifest = |name: &str| format!("/M:{}", manifests.join(name).display());
        place.ok(&["lodctr", &manifest("ucs.man"), "/opt/demo/ucs"]);
        place.ok(&["lodctr", &manifest("gas.man")]);
        let shown = place.ok(&["lodctr", "/Q:UsermodeCountersSample"]);
        assert!(shown.contains("    Application Identity: /opt/demo/ucs\n"), "{shown}");
        place.ok(&["unlodctr", "/P:Global Aggregate Sample"]);
        place.ok(&["unlodctr", "/G:{FFEEAADD-965A-4CF9-9C07-FE25378C2A23}"]);
        let (code, _, _) = place.run(&["unlodctr", &manifest("gas.man")]);
        assert_eq!(code, 3);
    }
    for (words, code, needed) in [
        (&["lodctr", "/X"][..], 2, "lodctr does not take \"/X\""),
        (&["lodctr", "/E:"], 2, "lodctr does not take"),
        (&["lodctr"], 2, "something to do is needed"),
        (&["unlodctr", "a", "b"], 2, "unlodctr does not take \"a b\""),
        (&["lodctr", "/nowhere/x.ini"], 3, "/nowhere/x.ini: reading: No such file"),
        (&["lodctr", "/Q:nothing"], 3, "no service \"nothing\" is registered"),
        (&["unlodctr", "PerfGe"], 3, "did you mean \"PerfGen\"?"),
        (&["provider", "add", "--library", "x", "a.reg"], 3, "a.reg: reading"),
        (&["provider", "rollback", "--to", "99"], 3, "version 99 is not kept"),
    ] {
        let (found, _, err) = place.run(words);
        assert!(found == code && err.contains(needed), "{words:?}: {found} {err}");
    }
    assert!(place.ok(&["lodctr", "/?"]).starts_with("lodctr FILE.ini"));
    // Damage is told with file and line, costs no other command its work, and is repaired by /R.
    let current = fs::read_link(place.0.join("registry/current")).unwrap();
    let damaged = place.0.join("registry").join(current).join("registry.conf");
    fs::write(&damaged, "format = 1\nnonsense\n").unwrap();
    let (code, _, err) = place.run(&["provider", "list"]);
    assert!(code == 7 && err.contains("registry.conf:2: \"key = value\" needed"), "{code} {err}");
    assert!(place.ok(&["dump", "Counter 009"]).contains("\n238\tProcessor\n"));
    assert!(place.ok(&["doctor"]).contains("'tally lodctr /R' goes back"));
    place.ok(&["lodctr", "/R"]);
    assert!(place.ok(&["doctor"]).contains("registry"));
    place.ok(&["provider", "list"]);
}

/// The ids of LoadPerf's events since the last look.
fn events(place: &Place) -> Vec<u64> {
    let file = place.0.join("events.jsonl");
    let text = fs::read_to_string(&file).unwrap_or_default();
    let _ = fs::remove_file(file);
    let id = |line: &str| {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(event["source"], "Microsoft-Windows-LoadPerf", "{line}");
        event["id"].as_u64().unwrap()
    };
    text.lines().map(id).collect()
}

#[test]
fn each_change_of_names_is_an_event_of_loadperf() {
    let place = Place::new();
    let ini = place.ini("One", 2);
    place.ok(&["provider", "add", &ini]);
    assert_eq!(events(&place), [1000, 2005], "and there are other languages than English");
    let before = place.installed();
    for words in [["provider", "add"].as_slice(), &["lodctr"]] {
        assert_eq!(place.run(&[words, &[ini.as_str()]].concat()).0, 1);
        assert_eq!(events(&place), [1002], "{words:?}: indexes do not change");
    }
    assert_eq!(place.installed(), before);
    place.ok(&["unlodctr", "One"]);
    assert_eq!(events(&place), [1001]);
    assert_ne!(place.run(&["unlodctr", "One"]).0, 0);
    assert_eq!(events(&place), [3011]);
    place.ok(&["lodctr", &ini]);
    assert_eq!(events(&place), [1000, 2005]);
    place.ok(&["provider", "remove", "One"]);
    assert_eq!(events(&place), [1001]);
    assert_ne!(place.run(&["lodctr", &ini]).0, 0);
    assert_eq!(events(&place), [3009], "it is not registered");
    let text = fs::read_to_string(&ini).unwrap().replace("[objects]\nSYMBOL0_009_NAME=\n", "");
    place.ok(&["provider", "add", &place.file("bare.ini", text)]);
    assert_eq!(events(&place), [1000, 2000, 2005]);
    // Every version is damaged, so nothing can be gone back to.
    for version in fs::read_dir(place.0.join("registry")).unwrap().flatten() {
        let _ = fs::write(version.path().join("registry.conf"), "nonsense");
    }
    assert_eq!(place.run(&["provider", "remove", "One"]).0, 7);
    assert_eq!(events(&place), [3012, 3011]);
    assert_ne!(place.run(&["lodctr", "/R"]).0, 0);
    assert_eq!(events(&place).last(), Some(&2007));
    // What is installed anew gets the indexes that it had.
    fs::remove_dir_all(place.0.join("registry")).unwrap();
    place.ok(&["provider", "add", &ini]);
    assert_eq!(place.installed(), before);
}

#[test]
fn a_language_that_comes_later() {
    let place = Place::new();
    let (one, two) = (place.ini("One", 1), place.ini("Two", 1));
    place.ok(&["provider", "add", &one, &two]);
    // German is new here, Korean is not.
    let text = fs::read_to_string(&one).unwrap().replace("009=English\n", "009=English\n007=\n012=\n")
        + "SYMBOL0_007_NAME=Eins\nSYMBOL0_007_HELP=Hilfe\nSYMBOL1_012_NAME=하나\n";
    let german = place.file("later.ini", &text);
    place.ok(&["provider", "translate", &german]);
    let texts = |what: &str| -> Vec<String> {
        let out = place.ok(&["dump", what]);
        let lines = out.lines().filter_map(|line| line.split_once('\t'));
        let own = |index: &str| (1848..1900).contains(&index.parse::<u32>().unwrap());
        lines.filter(|(index, _)| own(index)).map(|(_, text)| text.to_string()).collect()
    };
    assert_eq!(texts("Counter 007"), ["Eins", "One 1", "Two 0", "Two 1"]);
    assert_eq!(texts("Help 007"), ["Hilfe", "Help of One 1", "Help of Two 0", "Help of Two 1"]);
    assert_eq!(texts("Counter 012"), ["One 0", "하나", "Two 0", "Two 1"]);
    assert_eq!(texts("Counter 009"), ["One 0", "One 1", "Two 0", "Two 1"]);
    // A service that is installed after that has texts in the new language too.
    place.ok(&["provider", "add", &place.ini("Three", 0)]);
    assert_eq!(texts("Counter 007").last().map(String::as_str), Some("Three 0"));
    let before = place.installed();
    for (text, words) in [
        (text.replace("One 1", "Another 1"), "these are files of another version"),
        (fs::read_to_string(&one).unwrap(), "texts in 009 only"),
        (text.replace("drivername=One", "drivername=Nobody"), "no service \"Nobody\""),
    ] {
        let (code, _, err) = place.run(&["provider", "translate", &place.file("wrong.ini", text)]);
        assert!(code != 0 && err.contains(words), "{words}: {err}");
    }
    assert_eq!(place.installed(), before);
}

#[test]
fn tables_of_texts_as_windows_has_them() {
    let place = Place::new();
    place.ok(&["provider", "add", &place.ini("One", 1)]);
    let path = |name: &str| place.0.join(name).display().to_string();
    let (names, helps) = (path("perfc012.dat"), path("perfh012.dat"));
    place.ok(&["dump", "Counter 009", "--raw", &names]);
    place.ok(&["dump", "Help 009", "--raw", &helps]);
    // MULTI_SZ: pairs of index and text in UTF-16, an empty text at the end.
    let bytes = fs::read(&names).unwrap();
    let units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
    let text = String::from_utf16(&units).unwrap();
    assert!(text.contains("\x00238\0Processor\0") && text.contains("\x001850\0One 1\0"));
    assert!(text.ends_with("\0\0"));
    let korean: Vec<u8> = text.replace("One 1", "하나").encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(&names, korean).unwrap();
    let (code, _, err) = place.run(&["lodctr", "/L:012", &format!("/C:{names}"), &format!("-h:{helps}")]);
    assert!(code == 0 && err.contains("4 texts in 012"), "{err}");
    let dumped = place.ok(&["dump", "Counter 012"]);
    assert!(dumped.contains("\n1848\tOne 0\n1850\t하나\n"), "{dumped}");
    assert!(dumped.contains("\n238\t프로세서\n"), "NT's own stay: {dumped}");
    let before = place.installed();
    // Each is a fault that has damaged tables of some Windows; all are refused, and nothing is written.
    for (language, option, text, words) in [
        ("009", "C", "1850\tUebersetzt\n", "English names are what paths are made of"),
        ("012", "C", "1850\tb\n\tempty\n", "line 2"),
        ("012", "C", "1850\tb\n1852\tc\n", "index 1852"),
        ("012", "C", "1850\t\n", "a text needed"),
        ("012", "C", "1849\thelp\n", "those of help texts"),
        ("012", "H", "1848\tname\n", "those of names"),
        ("012", "C", "238\tx\n", "none of the 1 texts"),
        ("nothing", "C", "1850\tb\n", "a language such as 012 needed"),
    ] {
        let file = place.file("texts.tsv", text);
        let (code, _, err) = place.run(&["lodctr", &format!("/L:{language}"), &format!("/{option}:{file}")]);
        assert!(code != 0 && err.contains(words), "{text:?}: {err}");
    }
    assert_eq!(place.run(&["lodctr", "/L:012"]).0, 2);
    assert_eq!(place.installed(), before);
}

/// Eight processes at a time install and remove at random, and many of them are killed while they do. `TALLYMON_SOAK` is
/// how many changes there are, for a run that takes longer.
#[test]
fn killed_processes_leave_whole_tables() {
    const WRITERS: u32 = 8;
    let soak = std::env::var("TALLYMON_SOAK").ok().and_then(|number| number.parse::<u32>().ok());
    let changes = soak.unwrap_or(1_600).div_ceil(WRITERS).max(200);
    let place = Place::new();
    let killed = AtomicU32::new(0);
    let finished = AtomicU32::new(0);
    let writer = |number: u32| {
        // Each has services of its own, so that it knows what must be there when nobody was killed.
        let services: Vec<String> = (0..3).map(|service| format!("Writer{number}Service{service}")).collect();
        let files: Vec<String> =
            (1..).zip(&services).map(|(counters, name)| place.ini(name, counters)).collect();
        let mut random = Random(u64::from(number) + 1);
        for _ in 0..changes {
            let which = random.below(3);
            let (name, file) = (&services[which], &files[which]);
            let there = place.installed().system.service(name).is_some();
            let words = if there { ["provider", "remove", name] } else { ["provider", "add", file] };
            let mut child = place.command(&words).stderr(Stdio::null()).spawn().unwrap();
            let kill = random.below(3) > 0;
            if kill {
                std::thread::sleep(Duration::from_micros(random.below(12_000) as u64));
                // It may have ended already.
                let _ = child.kill();
            }
            let status = child.wait().unwrap();
            // Reading checks that no index is used twice, and that every text has an owner in every language.
            let installed = place.installed();
            let service = installed.system.service(name);
            if status.success() {
                assert_eq!(service.is_some(), !there, "{words:?}");
                finished.fetch_add(1, Ordering::Relaxed);
            } else {
                assert!(kill, "{words:?} fails without being killed: {status}");
                killed.fetch_add(1, Ordering::Relaxed);
            }
            if let Some(range) = service.and_then(|service| service.titles) {
                let titles = installed.titles(Language::JAPANESE);
                assert_eq!(titles.name(range.first_counter), Some(format!("{name} 0").as_str()));
                assert_eq!(range.last_counter.0 - range.first_counter.0, (which as u32 + 1) * 2);
            }
        }
    };
    let writer = &writer;
    std::thread::scope(|scope| {
        for number in 0..WRITERS {
            scope.spawn(move || writer(number));
        }
    });
    let (killed, finished) = (killed.into_inner(), finished.into_inner());
    let all = WRITERS * changes;
    eprintln!("{killed} of {all} changes were killed, {finished} finished");
    assert_eq!(killed + finished, all);
    assert!(killed > all / 16 && finished > all / 4, "{killed} killed, {finished} finished");
    // One more change sweeps up what the killed ones left.
    place.ok(&["provider", "add", &place.ini("Last", 1)]);
    let mut left: Vec<String> = fs::read_dir(place.0.join("registry"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with("v0"))
        .collect();
    left.sort();
    assert_eq!(left, ["current", "lock"]);
    for service in place.installed().system.services().map(|service| service.name.clone()) {
        place.ok(&["provider", "remove", &service]);
    }
    let installed = place.installed();
    assert_eq!((installed.system.last_counter, installed.system.last_help), (1846, 1847));
}

/// A change is killed at its system calls, one run a call, by strace: at every call with `TALLYMON_SOAK`, else at some.
#[cfg(unix)]
#[test]
fn a_change_killed_at_a_system_call_is_made_or_not() {
    use std::os::unix::process::ExitStatusExt;

    let Some(strace) = peer("strace") else { return };
    let place = Place::new();
    place.ok(&["provider", "add", &place.ini("Before", 1)]);
    let file = place.ini("Killed", 2);
    let (add, remove) = (["provider", "add", &file], ["provider", "remove", "Killed"]);
    let traced = |options: &[&str], words: &[&str]| {
        let tally = place.command(words);
        let mut command = Command::new(&strace);
        command.args(["-qq", "-o"]).args(options).arg(tally.get_program()).args(words);
        command.envs(tally.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.stderr(Stdio::null()).status().unwrap()
    };
    let is_there = |place: &Place| {
        // Reading checks that the tables are whole.
        let installed = place.installed();
        assert!(installed.system.service("Before").is_some_and(|service| service.titles.is_some()));
        installed.system.service("Killed").is_some()
    };
    let step = if std::env::var_os("TALLYMON_SOAK").is_some() { 1 } else { 29 };
    for (words, back) in [(add, remove), (remove, add)] {
        let adds = words == add;
        if is_there(&place) == adds {
            place.ok(&back);
        }
        let log = place.0.join("calls").display().to_string();
        assert!(traced(&[&log], &words).success());
        let log = fs::read_to_string(&log).unwrap();
        let names: Vec<&str> = log.lines().filter_map(|line| Some(line.split_once('(')?.0)).collect();
        place.ok(&back);
        let (mut made, mut not_made, mut killed) = (0u32, 0u32, 0u32);
        for (call, name) in names.iter().enumerate().step_by(step) {
            // strace counts the calls of each name for itself.
            let number = names.iter().take(call + 1).filter(|other| *other == name).count();
            let kill = format!("inject={name}:signal=KILL:when={number}");
            let status = traced(&["/dev/null", "-e", &kill], &words);
            killed += u32::from(status.signal() == Some(9));
            if is_there(&place) == adds {
                made += 1;
                place.ok(&back);
            } else {
                not_made += 1;
            }
        }
        let (all, tried) = (names.len(), made + not_made);
        eprintln!("{}: killed at {killed} of {all} calls: {made} made, {not_made} not", words[1]);
        // A call more or less depends on the moment.
        assert!(not_made > 0 && killed > tried - tried / 8, "{killed} of {tried} were killed");
        // The last calls come behind the change.
        assert!(step > 1 || made > 0);
    }
}

/// Numbers that look random and are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % limit).unwrap()
    }
}
