//! Where the command runs: languages, rights, a machine without `/proc`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::support::{AVAILABLE, Folder, Ran, TALLY, clean, has, has_object, ran, tally, tally_with};
use tallymon_testkit::{peer, skip};

/// Runs the command as a user who owns nothing.
pub(crate) struct Nobody {
    /// Holds a copy of the command, because that user may not reach the one that was built.
    folder: Folder,
}

/// That user, if this process may become it.
pub(crate) fn nobody() -> Option<Nobody> {
    peer("setpriv")?;
    let folder = Folder::new();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::copy(TALLY, folder.file("tally")).unwrap();
    let nobody = Nobody { folder };
    // The copy may be busy: another test that starts a program has it open for a moment.
    let mut output = nobody.command(&["--version"]).output().ok()?;
    while String::from_utf8_lossy(&output.stderr).contains("Text file busy") {
        std::thread::sleep(std::time::Duration::from_millis(10));
        output = nobody.command(&["--version"]).output().ok()?;
    }
    output.status.success().then_some(nobody)
}

impl Nobody {
    /// The command with arguments, as that user.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.running(self.folder.file("tally").as_ref());
        command.args(arguments);
        command
    }

    /// A program, as that user.
    fn running(&self, program: &Path) -> Command {
        let mut command = clean("setpriv");
        command.args([
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--inh-caps=-all",
            "--no-new-privs",
        ]);
        command.arg(program).current_dir("/");
        command
    }
}

#[test]
fn a_user_without_rights_gets_values() {
    let Some(nobody) = nobody() else {
        skip("no right to become another user");
        return;
    };
    let run = |arguments: &[&str]| ran(nobody.command(arguments).output().unwrap());
    assert!(run(&["get", AVAILABLE]).data().starts_with(AVAILABLE));
    let out = run(&[]);
    assert_eq!(out.code, Some(0), "{}", out.err);
    has(&out.out, &[r"\Processor(_Total)\% Processor Time", AVAILABLE]);
    has(&run(&["list"]).data(), &["Memory", "Processor", "System"]);
    let doctor = run(&["doctor", "--verbose"]).data();
    has(&doctor, &["kernel", "/proc/stat"]);
    // One whole command, with the file's real path, that gives all rights that are missing.
    let setcap: Vec<&str> = doctor.lines().filter(|line| line.contains("setcap")).collect();
    let [setcap] = setcap.as_slice() else { panic!("{doctor}") };
    let file = fs::canonicalize(nobody.folder.file("tally")).unwrap();
    has(setcap, &["sudo setcap cap_", "cap_sys_ptrace=ep "]);
    assert!(setcap.ends_with(file.to_str().unwrap()), "{setcap}");
    if has_object("Process") {
        has(&doctor, &["limited", "I/O of other users' processes", "-> "]);
    }
    // What is limited says what to do about it.
    for row in run(&["doctor", "--json"]).json().as_array().unwrap() {
        assert!(row["state"] == "ok" || !row["remedy"].as_str().unwrap().is_empty(), "{row}");
    }
}

/// Runs the command in a mount namespace of its own, which a script prepares; `None` where that is not
/// permitted.
fn within(prepare: &str, arguments: &str) -> Option<Ran> {
    let unshare = peer("unshare")?;
    let run = |arguments: &str| {
        let script = format!("{prepare} '{TALLY}' {arguments}");
        clean(&unshare).args(["-m", "--", "sh", "-c", &script]).output()
    };
    if !run("--version").is_ok_and(|output| output.status.success()) {
        skip("no right to a mount namespace, so /proc cannot be hidden");
        return None;
    }
    Some(ran(run(arguments).unwrap()))
}

/// An empty file system over `/proc`: a container that mounts none.
const EMPTY_PROC: &str = "mount -t tmpfs none /proc &&";

#[test]
fn an_empty_proc_is_reported() {
    let Some(doctor) = within(EMPTY_PROC, "doctor") else { return };
    has(&doctor.data(), &["missing  /proc/stat", "-> mount /proc"]);
    let get = within(EMPTY_PROC, &format!("get '{AVAILABLE}'")).unwrap();
    assert_eq!(get.code, Some(4), "{}", get.err);
    has(&get.out, &[AVAILABLE, "-  (no data: "]);
    // The reason stands beside the counter, once.
    has(&get.err, &["tally doctor"]);
    assert!(!get.err.contains("no data"), "{}", get.err);
    for arguments in ["", "watch '\\238(*)\\*' -i 10ms -c 2", "dump"] {
        let ran = within(EMPTY_PROC, arguments).unwrap();
        assert_eq!(ran.code, Some(0), "{arguments}: {}", ran.err);
        assert_eq!(ran.err.contains("tally doctor"), arguments != "dump", "{arguments}: {}", ran.err);
    }
    // A table without lines says why it has none.
    for arguments in ["stat cpu 10ms 1", "stat mem 10ms 1", "stat disk 10ms 1", "stat proc 10ms 1", "top -1"]
    {
        let ran = within(EMPTY_PROC, arguments).unwrap();
        assert!(matches!(ran.code, Some(3 | 4)), "{arguments}: {:?} {}", ran.code, ran.err);
        has(&ran.err, &["no data: ", "tally doctor"]);
    }
    let check = within(EMPTY_PROC, &format!("check '{AVAILABLE}' -w 1:")).unwrap();
    assert_eq!(check.code, Some(3), "{}", check.err);
    has(&check.out, &["UNKNOWN", "no data: "]);
}

/// Numbers that do not come from `/proc` or `/sys`: from netlink, the clock, `/run`, and what is 0 on Linux
/// by its definition.
const WITHOUT_FILES: [&str; 9] = [
    r"\Network Interface(",
    r"\Tallymon Provider(",
    r"\RAS ",
    r"\Terminal Services\",
    r"\TCPv6\Connections Established",
    r"\System\System Up Time",
    r"\System\Alignment Fixups/sec",
    r"\System\Floating Emulations/sec",
    r"\System\% Registry Quota In Use",
];

#[test]
fn nothing_is_a_silent_zero_without_proc_and_sys() {
    let prepare = format!("{EMPTY_PROC} mount -t tmpfs none /sys &&");
    let Some(list) = within(&prepare, "list --json") else { return };
    let list = list.json();
    let objects = list.as_array().unwrap().iter().filter(|object| object["counters"].is_number());
    let paths: Vec<String> = objects
        .map(|object| {
            let instances = if object["instances"] == true { "(*)" } else { "" };
            format!(r"'\{}{instances}\*'", object["english"].as_str().unwrap())
        })
        .collect();
    assert!(paths.len() > 20, "{paths:?}");
    let get = within(&prepare, &format!("get --json -i 50ms {}", paths.join(" "))).unwrap();
    assert!(matches!(get.code, Some(3 | 4)), "{:?}: {}", get.code, get.err);
    let rows: serde_json::Value = serde_json::from_str(&get.out).unwrap();
    let values = rows["values"].as_array().unwrap();
    assert!(values.len() > 300, "{}", values.len());
    for value in values {
        let path = value["path"].as_str().unwrap();
        if value["value"].is_null() {
            assert!(!value["reason"].as_str().unwrap().is_empty(), "{value}");
        } else {
            assert!(WITHOUT_FILES.iter().any(|start| path.starts_with(start)), "{path}: {}", value["value"]);
        }
    }
}

#[test]
fn hidden_processes_are_reported() {
    let Some(nobody) = nobody() else {
        skip("no right to become another user");
        return;
    };
    let tally = nobody.folder.file("tally");
    let user = "setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --no-new-privs";
    let prepare = format!(
        "mount -t proc -o hidepid=2 none /proc && run() {{ shift; {user} '{tally}' \"$@\"; }} && run"
    );
    let Some(doctor) = within(&prepare, "doctor") else { return };
    has(&doctor.data(), &["hidepid", "-> run as root"]);
    for arguments in ["list", r"get '\Process(*)\ID Process'", "dump"] {
        assert_eq!(within(&prepare, arguments).unwrap().code, Some(0), "{arguments}");
    }
    // What is hidden is in no sum, so that there is none.
    for path in [
        r"\Process(_Total)\Working Set",
        r"\Process(_Total)\% Processor Time",
        r"\Process(_Total)\Thread Count",
        r"\Process(_Total)\Handle Count",
        r"\Thread(_Total/_Total)\% Processor Time",
        r"\System\Processes",
        r"\System\File Read Bytes/sec",
        r"\Objects\Processes",
    ] {
        let get = within(&prepare, &format!("get '{path}' -i 20ms")).unwrap();
        has(&get.out, &["more rights are needed"]);
    }
    // The kernel counts the threads of all.
    let threads = within(&prepare, r"get '\System\Threads' '\Process(Idle)\Thread Count' --plain").unwrap();
    let threads = threads.data();
    let numbers: Vec<u64> = threads.lines().map(|line| line.trim().parse().unwrap()).collect();
    assert!(numbers.len() == 2 && numbers[0] > 1 && numbers[1] > 0, "{threads}");
}

#[test]
fn small_limits_end_in_values_or_words() {
    let Some(bash) = peer("bash") else { return };
    let Some(nobody) = nobody() else {
        skip("no right to become another user, whose number of threads can be limited");
        return;
    };
    let log = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/log/tally");
    let log = nobody.folder.write("log.tally", &fs::read(log).unwrap());
    fs::set_permissions(&log, fs::Permissions::from_mode(0o644)).unwrap();
    let get = format!("get '{AVAILABLE}'");
    let (info, stats, relog) = (format!("info {log}"), format!("stats {log}"), format!("relog {log}"));
    // Kilobytes of stack; descriptors; threads of this user; kilobytes of address space: a program that is
    // not optimised takes most of them itself.
    for limit in ["-s 64", "-s 128", "-n 8", "-n 16", "-u 1", "-v 400000"] {
        for arguments in [
            "--help",
            "list",
            "find cpu",
            "doctor",
            "dump",
            &get,
            &info,
            &stats,
            &relog,
            r"watch '\Process(*)\ID Process' -c 1",
            r"get 'no path'",
            "top -1",
            "stat cpu 10ms 1",
            "dashboard grafana Memory",
            r"check '\Memory\Available MBytes' -w 1:",
        ] {
            let line = format!("ulimit {limit} && exec '{}' {arguments}", nobody.folder.file("tally"));
            let ran = ran(nobody.running(&bash).args(["-c", &line]).output().unwrap());
            let code = ran.code.unwrap_or_else(|| panic!("{limit}: {arguments} was killed: {}", ran.err));
            assert!((0..=7).contains(&code), "{limit}: {arguments}: {code}: {}", ran.err);
            assert!(!ran.err.contains("panicked"), "{limit}: {arguments}: {}", ran.err);
            assert!(code == 0 || !ran.err.is_empty(), "{limit}: {arguments}: {code} without words");
        }
    }
}

#[test]
fn a_missing_proc_is_reported() {
    // A root that has programs and libraries, and nothing else.
    let folder = Folder::new();
    let root = folder.path().to_str().unwrap();
    let prepare = format!(
        "mount -t tmpfs none {root} && cd {root} && mkdir tally && cp '{TALLY}' tally/ && for d in usr bin lib lib64; do
         if [ -d /$d ]; then mkdir $d && mount --bind /$d $d; fi; done && set -- && run() {{ shift; chroot . /tally/tally \"$@\"; }} && run"
    );
    for arguments in
        ["", "get '\\Memory\\Available MBytes'", "list", "doctor", "dump", "find x", "watch '\\2\\x'"]
    {
        let Some(ran) = within(&prepare, arguments) else { return };
        has(&ran.words(1), &["tally: ", "/proc must be mounted"]);
    }
}

#[test]
fn a_saved_block_needs_no_proc() {
    let folder = Folder::new();
    let file = folder.file("block.bin");
    tally(&["dump", "--raw", &file]).data();
    let arguments = format!("get '{AVAILABLE}' --file '{file}' --plain");
    let Some(there) = within(EMPTY_PROC, &arguments) else { return };
    assert_eq!(there.data(), tally(&["get", AVAILABLE, "--file", &file, "--plain"]).data());
    has(&within(EMPTY_PROC, &format!("dump '{file}'")).unwrap().data(), &["PERF_DATA_BLOCK at 0"]);
}

#[test]
fn the_language_comes_from_option_and_environment() {
    let list = |arguments: &[&str], variables: &[(&str, &str)]| {
        let ran = tally_with(&[&["list", "--names", "translated"], arguments].concat(), |command| {
            command.envs(variables.iter().copied());
        });
        ran.data()
    };
    for (arguments, variables, word) in [
        (&[][..], &[][..], "Memory"),
        (&[], &[("LANG", "ko_KR.UTF-8")], "메모리"),
        (&[], &[("LANG", "ja_JP.UTF-8")], "メモリ"),
        (&[], &[("LANG", "ru_RU.KOI8-R")], "Память"),
        // Each of these outweighs those before it.
        (&[], &[("LANG", "ko_KR.UTF-8"), ("LC_MESSAGES", "ja_JP.UTF-8")], "メモリ"),
        (&[], &[("LC_MESSAGES", "ja_JP.UTF-8"), ("LC_ALL", "ru_RU.UTF-8")], "Память"),
        (&[], &[("LC_ALL", "ru_RU.UTF-8"), ("TALLY_LANG", "ko")], "메모리"),
        (&["--lang", "ja"], &[("TALLY_LANG", "ko")], "メモリ"),
        (&["--lang", "012"], &[], "메모리"),
        (&["--lang", "en"], &[("LANG", "ko_KR.UTF-8")], "Memory"),
        // An empty variable is none, and an unknown locale is English.
        (&[], &[("LC_ALL", ""), ("LANG", "ko_KR.UTF-8")], "메모리"),
        (&[], &[("LANG", "C.UTF-8")], "Memory"),
        (&[], &[("LANG", "POSIX")], "Memory"),
        (&[], &[("LANG", "xx_YY.UTF-8")], "Memory"),
        (&[], &[("LANG", "not a locale \u{1f600}")], "Memory"),
        (&[], &[("LANG", "de_DE.UTF-8")], "Memory"),
    ] {
        has(&list(arguments, variables), &[word]);
    }
    has(&tally(&["list", "--lang", "klingon"]).words(2), &["klingon", "ko"]);
}

/// The help follows the same choice as the names of counters; what is typed stays.
#[test]
fn the_help_is_in_the_language_of_the_user() {
    let help = |arguments: &[&str], variables: &[(&str, &str)]| {
        let ran = tally_with(arguments, |command| {
            command.envs(variables.iter().copied());
        });
        // A command that lacks its subcommand shows its help as a message.
        format!("{}{}", ran.out, ran.err)
    };
    let korean = [("LANG", "ko_KR.UTF-8")];
    for (arguments, variables, words) in [
        (&["get", "--help"][..], &[][..], ["Print the values", "Usage: tally get", "[default: 1s]"]),
        (&["get", "--help"], &korean, ["카운터 값을 한 번 출력", "사용법: tally get", "[기본값: 1s]"]),
        (&["get", "-h"], &[("TALLY_LANG", "ru")], ["Вывести значения", "Использование: tally get", "Ключи:"]),
        (
            &["help", "get"],
            &[("LC_ALL", "ja_JP.UTF-8")],
            ["値を一度表示", "使い方: tally get", "--prometheus"],
        ),
        (&["--lang=ja", "get", "--help"], &korean, ["値を一度表示", "使い方: tally get", "例:"]),
        (&["get", "--help", "--lang", "ru"], &korean, ["Вывести значения", "Примеры:", "--openmetrics"]),
        (&["get", "--help", "--lang", "en"], &korean, ["Print the values", "Usage: tally get", "Examples:"]),
        (&["--help"], &korean, ["사용법: tally", "종료 코드: 0 정상", "  watch "]),
        (&["log"], &korean, ["사용법: tally log", "명령:", "snapshot"]),
        (&["stat", "--help"], &korean, ["- cpu: 프로세서", "sar -u", "가능한 값:"]),
        (&["--help"], &[("LANG", "de_DE.UTF-8")], ["Usage: tally", "Exit codes: 0 ok", "  watch "]),
    ] {
        let text = help(arguments, variables);
        has(&text, &words);
        for line in text.lines().filter(|line| !line.starts_with("  tally ")) {
            let wide = unicode_width::UnicodeWidthStr::width(line);
            assert!(wide <= 100, "{arguments:?} {variables:?}: {wide} columns: {line}");
        }
    }
    // A manual page says in its own words what it is of, and they are English everywhere.
    assert_eq!(help(&["man", "get"], &korean), help(&["man", "get"], &[]));
}

#[test]
fn output_has_no_colour_without_a_terminal() {
    for arguments in
        [&["list"][..], &["doctor"], &["get", AVAILABLE], &["--help"], &["get"], &["get", r"\x\y"]]
    {
        for name in ["NO_COLOR", "TALLYMON_NOTHING"] {
            let ran = tally_with(arguments, |command| {
                command.env(name, "1").env("TERM", "xterm-256color");
            });
            // Neither of the outputs is a terminal, so there is no colour anyway.
            assert!(
                !ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'),
                "{arguments:?}: {} {}",
                ran.out,
                ran.err
            );
        }
    }
}

#[test]
fn a_zone_that_does_not_exist_is_utc() {
    let ran = tally_with(&["get", AVAILABLE, "--csv"], |command| {
        command.env("TZ", "Nowhere/Nothing");
    });
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    has(&ran.out, &["(PDH-CSV 4.0) ("]);
}
