//! Libraries that attack their reader: each attack with what it must achieve, in one table. The reader is a
//! process of its own, the command, beside a healthy library; so a reader that is stopped or killed is a
//! failure here.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tallymon::registry::{Package, PerflibSetting, Service};
use tallymon_testkit::{attack, has_own_machine, other_user};

use crate::support::{Place, Provider, wait_for};

/// An attack, and what comes of it.
struct Attack {
    /// A word of `enum attack` in `hostile.c`.
    code: &'static str,
    what: &'static str,
    /// Lines that the library writes: what the kernel has refused.
    refused: &'static [&'static str],
    /// Whether the counter of the library is there: `None` if both is right.
    there: Option<bool>,
    /// An event that it leaves.
    event: Option<u64>,
    /// What event 5 says, where the kernel reports it.
    seen: &'static [&'static str],
    result: &'static str,
}

const ATTACKS: &[Attack] = &[
    Attack {
        code: "FORK_KEEPS_PIPE",
        what: "forks, keeps the socket and ends",
        refused: &[],
        there: Some(false),
        event: Some(1010),
        seen: &["left processes behind"],
        result: "all its processes end with it; events 1010 and 5",
    },
    Attack {
        code: "OUTLIVES",
        what: "setsid, to outlive the reader",
        refused: &[],
        there: Some(true),
        event: None,
        seen: &["setsid", "left processes behind"],
        result: "ends with the reader; event 5",
    },
    Attack {
        code: "STOPS_READER",
        what: "SIGSTOP to the reader",
        refused: &["stop refused"],
        there: Some(true),
        event: None,
        seen: &["a signal"],
        result: "refused by the kernel; event 5",
    },
    Attack {
        code: "KILLS_READER",
        what: "SIGKILL to the reader",
        refused: &["kill refused"],
        there: Some(true),
        event: None,
        seen: &["a signal"],
        result: "refused by the kernel; event 5",
    },
    Attack {
        code: "KILLS_ALL",
        what: "SIGKILL to every process",
        refused: &[],
        there: None,
        event: None,
        seen: &["a signal"],
        result: "reaches no other process; event 5",
    },
    Attack {
        code: "TRACES_READER",
        what: "ptrace of the reader",
        refused: &["trace refused"],
        there: Some(true),
        event: None,
        seen: &["to trace"],
        result: "refused by the kernel; event 5",
    },
    Attack {
        code: "WRITES_MEMORY",
        what: "/proc/PID/mem and process_vm_readv of the reader",
        refused: &["open memory refused", "read memory refused"],
        there: Some(true),
        event: None,
        seen: &["to trace"],
        result: "refused by the kernel; event 5",
    },
    Attack {
        code: "CLOSES_ALL",
        what: "closes every descriptor",
        refused: &[],
        there: Some(false),
        event: Some(1010),
        seen: &[],
        result: "loses its own counters; event 1010",
    },
    Attack {
        code: "EATS_MEMORY",
        what: "8 GB of memory",
        refused: &[],
        there: Some(false),
        event: Some(1010),
        seen: &[],
        result: "ends at 1 GB; event 1010",
    },
    Attack {
        code: "MANY_OBJECTS",
        what: "60 MB of 80,000 valid objects",
        refused: &[],
        there: Some(true),
        event: None,
        seen: &[],
        result: "read in time that grows with their number; the reader takes at most 400 MB",
    },
    Attack {
        code: "MANY_INSTANCES",
        what: "60 MB of 80,000 valid instances, all of which are read",
        refused: &[],
        there: Some(true),
        event: None,
        seen: &[],
        result: "read in time that grows with their number; the reader takes at most 800 MB",
    },
    Attack {
        code: "CHANGES_ANSWER",
        what: "changes the answer after Collect",
        refused: &[],
        there: None,
        event: None,
        seen: &["left processes behind"],
        result: "the reader checks and uses its own copy",
    },
    Attack {
        code: "PRINTS",
        what: "rubbish on standard output and error",
        refused: &[],
        there: Some(true),
        event: Some(1),
        seen: &[],
        result: "a few events, the rest is dropped",
    },
    Attack {
        code: "LIMITS_READER",
        what: "prlimit of the reader",
        refused: &["limit refused"],
        there: Some(true),
        event: None,
        seen: &["the limits"],
        result: "refused by the kernel; event 5",
    },
    Attack {
        code: "CHANGES_FOLDER",
        what: "changes its folder",
        refused: &[],
        there: Some(true),
        event: None,
        seen: &[],
        result: "changes its own only",
    },
    Attack {
        code: "READS_SECRET",
        what: "variables of the reader's environment",
        refused: &["secret refused"],
        there: Some(true),
        event: None,
        seen: &[],
        result: "not passed on, except a few and its own",
    },
    Attack {
        code: "WRITES_FILES",
        what: "makes, removes, moves and cuts files in /etc and in the home folder",
        refused: &[
            "write refused",
            "mkdir refused",
            "symlink refused",
            "remove refused",
            "move refused",
            "cut refused",
        ],
        there: Some(true),
        event: None,
        seen: &["to change a file"],
        result: "refused by the kernel; event 5",
    },
    Attack {
        code: "WRITES_BY_LINK",
        what: "writes to /etc through a link in /tmp",
        refused: &["write refused", "openat2 refused"],
        there: Some(true),
        event: None,
        seen: &["to change a file"],
        result: "refused by the kernel; event 5",
    },
    Attack {
        code: "CHANGES_MODE",
        what: "sets the mode of /etc",
        refused: &[],
        there: Some(true),
        event: None,
        seen: &["to change a file"],
        result: "refused by the kernel; event 5",
    },
    Attack {
        code: "CHANGES_TIMES",
        what: "sets times and attributes of /etc",
        refused: &[],
        there: Some(true),
        event: None,
        seen: &["to change a file outside"],
        result: "event 5; the rights of its user decide",
    },
    Attack {
        code: "CHANGES_OTHERS",
        what: "writes to a file of another user in /tmp, and sets its times",
        refused: &[],
        there: Some(true),
        event: None,
        seen: &["to change a file of another user"],
        result: "event 5; the rights of its user decide",
    },
    Attack {
        code: "FILLS_DISK",
        what: "a file of more than 64 MB",
        refused: &[],
        there: Some(false),
        event: Some(1010),
        seen: &[],
        result: "ends at 64 MB; event 1010",
    },
    Attack {
        code: "HIDES_SIGNALS",
        what: "2,000 processes, to hide a signal to the reader among them",
        refused: &["stop refused"],
        there: Some(true),
        event: None,
        seen: &["signal", "left processes behind"],
        result: "refused by the kernel; event 5 for the signal, or for too many processes to check it",
    },
    Attack {
        code: "FORKS_MANY",
        what: "2,000 processes",
        refused: &[],
        there: Some(true),
        event: None,
        seen: &["left processes behind"],
        result: "all end with the reader; event 5",
    },
    Attack {
        code: "CALLS_OFTEN",
        what: "60,000 calls that are refused",
        refused: &["call refused"],
        there: Some(true),
        event: None,
        seen: &["a signal", "to trace", "a namespace", "the machine"],
        result: "each is answered at once; event 5 for each kind",
    },
    Attack {
        code: "BEHAVES",
        what: "kills its own processes, sets its own limits, makes, moves and removes files in /tmp",
        refused: &[],
        there: Some(true),
        event: None,
        seen: &[],
        result: "allowed: no event",
    },
    Attack {
        code: "HANGS_CLOSE",
        what: "Close never returns",
        refused: &[],
        there: Some(true),
        event: Some(2),
        seen: &[],
        result: "killed; event 2",
    },
    Attack {
        code: "CRASHES_CLOSE",
        what: "Close crashes",
        refused: &[],
        there: Some(true),
        event: Some(1011),
        seen: &[],
        result: "event 1011",
    },
];

/// Where a file system is mounted that never answers.
const DEAD: &str = "/run/tallymon-dead";

/// Whoever starts the reader: root has its libraries run as users of their own, others in a user namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Caller {
    Own,
    /// The library has the user of the reader.
    SameUser,
    /// The same where no PID namespace can be made.
    NoNamespace,
}

/// Registers the hostile library; `None` without a compiler.
fn install(place: &Place, code: &str, caller: Caller) -> Option<()> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/library/hostile.c");
    let others = match code {
        "CHANGES_DEAD" => Path::new(DEAD).join("file"),
        _ => place.0.join("others"),
    };
    let options = [
        format!("-DLOG=\"{}\"", place.log("Hostile").display()),
        format!("-DATTACK={code}"),
        format!("-DFILE_OF_OTHERS=\"{}\"", others.display()),
    ];
    let library = place.compile(&source, "hostile.so", &options)?;
    fs::write(place.0.join("h.h"), "#define OBJECT 0\n#define COUNTER 2\n").unwrap();
    let ini = "[info]\ndrivername=Hostile\nsymbolfile=h.h\n[languages]\n009=English\n[objects]\n\
               OBJECT_009_NAME=\n[text]\nOBJECT_009_NAME=Hostile\nOBJECT_009_HELP=x\n\
               COUNTER_009_NAME=Answer\nCOUNTER_009_HELP=x\n";
    fs::write(place.0.join("h.ini"), ini).unwrap();
    let name = |name: &str| Some(name.to_string());
    let registration = Service {
        library: Some(library),
        open: name("Open"),
        collect: name("Collect"),
        close: name("Close"),
        deadline: Some(8000),
        as_caller: caller != Caller::Own,
        ..Service::default()
    };
    let package = Package::read(&place.0.join("h.ini"), None).unwrap();
    place.writer().install(&package, &registration).unwrap();
    Some(())
}

/// Has the kernel refuse further namespaces in this one, as a container does.
const NO_NAMESPACES: &str =
    "echo 0 > /proc/sys/user/max_pid_namespaces && echo 0 > /proc/sys/user/max_user_namespaces && ";

/// Kilobytes of memory that a reader may take of an answer of 60 MB, by attack. Its names are longer than any
/// that Windows has, and each is printed in a path.
fn most_memory(code: &str) -> u64 {
    match code {
        "MANY_OBJECTS" => 400 << 10,
        "MANY_INSTANCES" => 600 << 10,
        _ => 100 << 10,
    }
}

/// The most memory that a process has taken, in kilobytes; 0 when it has ended.
fn memory_of(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    most.and_then(|most| most.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Runs the command as a reader of both libraries: its exit code and output.
fn read(place: &Place, attack: &Attack, caller: Caller) -> (Option<i32>, String) {
    let answer = if attack.code == "MANY_INSTANCES" { r"\Hostile(*)\Answer" } else { r"\Hostile\Answer" };
    let paths = [answer, r"\MyPerf Object(one)\MyPerf Calls", r"\Memory\Available MBytes"];
    // The shell's number becomes that of the reader, so that the library knows whom to attack.
    let script = r#"export TALLYMON_ATTACKED=$$ SECRET_KEY=hunter2; exec "$0" "$@""#;
    let mut command = Command::new(if caller == Caller::NoNamespace { "unshare" } else { "sh" });
    if caller == Caller::NoNamespace {
        command.args(["--user", "--map-root-user", "sh", "-c", &format!("{NO_NAMESPACES}{script}")]);
    } else {
        command.args(["-c", script]);
    }
    let mut child = command
        .args([env!("CARGO_BIN_EXE_tally"), "get"])
        .args(paths)
        .env("TALLYMON_ROOT", &place.0)
        .env_remove("TALLYMON_HOST")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(fs::File::create(place.0.join("out")).unwrap())
        .stderr(fs::File::create(place.0.join("err")).unwrap())
        .spawn()
        .unwrap();
    let start = Instant::now();
    let mut most = 0;
    let status = loop {
        most = most.max(memory_of(child.id()));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > Duration::from_secs(60) {
            let state = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("the reader does not end: {state}");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(most <= most_memory(attack.code), "{} {caller:?}: {most} KB", attack.code);
    (status.code(), fs::read_to_string(place.0.join("out")).unwrap())
}

/// Processes that have the library in their memory.
fn survivors(place: &Place) -> Vec<String> {
    let library = place.0.join("hostile.so").display().to_string();
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let maps = |name: &str| fs::read_to_string(format!("/proc/{name}/maps")).unwrap_or_default();
    processes
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()) && maps(name).contains(&library))
        .collect()
}

/// One attack: the reader and its other counters must be there, and afterwards nothing of the library.
fn make(attack: &Attack, caller: Caller) -> bool {
    let place = Place::new();
    if place.install(&Provider::default()).is_none() || install(&place, attack.code, caller).is_none() {
        return false;
    }
    place.writer().set_perflib(PerflibSetting::OpenWait, Some(8000)).unwrap();
    if attack.code == "CHANGES_OTHERS" {
        let Some(other) = other_user() else { return true };
        fs::write(place.0.join("others"), "").unwrap();
        std::os::unix::fs::chown(place.0.join("others"), Some(other), Some(other)).unwrap();
    }
    let (code, out) = read(&place, attack, caller);
    let err = fs::read_to_string(place.0.join("err")).unwrap();
    let (name, events) = (attack.code, place.events());
    assert!(code.is_some(), "{name} {caller:?}: the reader was killed");
    assert!(
        out.contains("MyPerf Calls") && out.contains("Available MBytes"),
        "{name} {caller:?}: {out}{err}"
    );
    if let Some(there) = attack.there {
        assert_eq!(out.contains("Answer"), there, "{name} {caller:?}: {out}{err}");
        assert_eq!(code, Some(if there { 0 } else { 3 }), "{name} {caller:?}: {err}");
    }
    let calls = place.calls("Hostile");
    let lines: Vec<&str> =
        calls.iter().map(String::as_str).filter(|line| !line.starts_with("survivor")).collect();
    // A path is requested twice: for its definition, and for its value.
    assert_eq!(
        lines.iter().filter(|line| !line.ends_with(" refused")).count(),
        0,
        "{name} {caller:?}: {lines:?}"
    );
    assert!(attack.refused.iter().all(|line| lines.contains(line)), "{name} {caller:?}: {lines:?}");
    if let Some(event) = attack.event {
        assert!(events.contains(&event), "{name} {caller:?}: {events:?}");
    }
    assert!(events.len() <= 60, "{name} {caller:?}: {} events", events.len());
    let refusals = place.refusals();
    let missing: Vec<&&str> =
        attack.seen.iter().filter(|words| !refusals.iter().any(|line| line.contains(**words))).collect();
    if !missing.is_empty() && !place.reports_refusals() {
        tallymon_testkit::skip("the kernel or a container does not report what seccomp refuses");
    } else {
        assert!(missing.is_empty(), "{name} {caller:?}: no event says {missing:?}: {refusals:?}");
    }
    if attack.seen.is_empty() {
        assert!(refusals.is_empty(), "{name} {caller:?}: {refusals:?}");
    }
    wait_for("nothing of the library is left", || survivors(&place).is_empty());
    true
}

#[test]
fn attack_of_a_library_with_a_user_of_its_own() {
    if other_user().is_none() {
        return;
    }
    for one in ATTACKS {
        if !make(one, Caller::Own) {
            return;
        }
        attack("provider library", one.what, one.result);
    }
}

#[test]
fn attack_of_a_library_with_the_user_of_the_reader() {
    for one in ATTACKS {
        // Root may make files anywhere, and as many processes as it likes: only Landlock holds it.
        if !make(one, Caller::SameUser) {
            return;
        }
    }
}

#[test]
fn attack_of_a_library_where_there_are_no_namespaces() {
    let mut trial = Command::new("unshare");
    trial
        .args(["--user", "--map-root-user", "sh", "-c", &format!("{NO_NAMESPACES}true")])
        .stderr(Stdio::null());
    if !trial.status().is_ok_and(|status| status.success()) {
        tallymon_testkit::skip("no user namespace can be made here, in which others are refused");
        return;
    }
    for one in ATTACKS {
        if !make(one, Caller::NoNamespace) {
            return;
        }
    }
}

/// A file system whose program never reads a request. It ends with this.
struct DeadFileSystem(std::process::Child);

impl DeadFileSystem {
    fn mount() -> Option<DeadFileSystem> {
        fs::create_dir_all(DEAD).unwrap();
        let options = "fd=3,rootmode=40000,user_id=0,group_id=0";
        let mount = format!("mount -i -t fuse -o {options} tallymon-dead {DEAD}");
        let script = format!("exec 3<>/dev/fuse && {mount} && echo mounted && read line");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        let mut said = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut said).unwrap();
        let is_mounted = said == "mounted\n";
        let dead = DeadFileSystem(shell);
        if !is_mounted {
            tallymon_testkit::skip("no FUSE file system can be mounted here");
        }
        is_mounted.then_some(dead)
    }
}

impl Drop for DeadFileSystem {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        let _ = Command::new("umount").args(["-l", DEAD]).status();
    }
}

#[test]
fn attack_the_supervisor_with_a_file_system_that_never_answers() {
    if !has_own_machine() {
        return;
    }
    let Some(_dead) = DeadFileSystem::mount() else { return };
    let one = Attack {
        code: "CHANGES_DEAD",
        what: "changes files of a file system that never answers (FUSE, NFS)",
        refused: &[],
        there: Some(true),
        event: None,
        seen: &["does not answer", "left processes behind"],
        result: "its supervisor waits 0.1 s at most four times, and goes on; event 5",
    };
    if make(&one, Caller::SameUser) {
        attack("provider library", one.what, one.result);
    }
}
