//! `tally remote install` as a user meets it. The program `ssh` is a script that runs the words for the
//! remote shell here; small programs of the system stand for tally.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tallymon_testkit::terminal::Terminal;

use crate::support::{Net, TALLY, has};

/// Hosts that run what they are told, and some that do not.
const SSH: &str = r#"#!/bin/sh
while [ "$1" != -- ]; do shift; done
host=$2; shift 2
case $host in
good*) exec sh -c "$*" ;;
cut) head -c 1000 | sh -c "$*" ;;
flood) exec yes ;;
mute) exit 0 ;;
odd) echo system=Linux; echo processor=s390x; echo glibc=glibc 2.17; echo folder=open ;;
*) echo "ssh: Could not resolve hostname $host" >&2; exit 255 ;;
esac
"#;

/// A program that runs, and one that fails, for any option.
const TRUE: &str = "/bin/true";
const FALSE: &str = "/bin/false";

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn attack_hosts_that_a_program_is_copied_to() {
    let net = Net::new(&[]);
    net.program(SSH);
    let folder = net.folder.join("there");
    fs::create_dir_all(&folder).unwrap();
    let to = folder.to_str().unwrap();
    let install = |host: &str, words: &[&str]| {
        net.tally(&[&["remote", "install", host, "--to", to, "--timeout", "20s"], words].concat())
    };
    let plan = install("ssh://good", &["--program", TRUE, "--dry-run"]).data();
    has(
        &plan,
        &["good: copy /bin/true (", "needs glibc 2.", "where none is now", &format!("{to}/tally on Linux")],
    );
    assert_eq!(names(&folder), [""; 0]);
    let ran = install("ssh://good", &["--program", TRUE]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    has(&ran.err, &["nobody can be asked here", "--yes", "--dry-run"]);
    // A name of ssh's own configuration is enough.
    let ran = install("good", &["--program", TRUE, "--yes"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    has(&ran.out, &[&format!("{to}/tally is there: true (GNU coreutils)")]);
    let program = folder.join("tally");
    let is_true = || fs::read(&program).unwrap() == fs::read(TRUE).unwrap();
    assert!(is_true());
    assert_eq!(fs::metadata(&program).unwrap().permissions().mode() & 0o777, 0o755);
    has(&install("good", &["--program", TRUE, "--dry-run"]).data(), &["instead of true (GNU coreutils)"]);
    // What does not run there, or does not arrive whole, changes nothing.
    let script = net.file("script", b"#!/bin/sh\n");
    let mut foreign = fs::read(TRUE).unwrap();
    foreign[18] = if foreign[18] == 183 { 62 } else { 183 };
    let foreign = net.file("foreign", &foreign);
    let (script, foreign) = (script.to_str().unwrap(), foreign.to_str().unwrap());
    for (host, program, code, parts) in [
        ("ssh://good", FALSE, 1, &["ssh://good: the host says: ", "(code 1)"][..]),
        ("ssh://cut", TRUE, 1, &["ssh://cut: the host says: the copy is not whole"]),
        ("ssh://good", script, 7, &["it is no program for Linux", "--program"]),
        ("ssh://good", foreign, 2, &["would not run there: it is for the processor"]),
        ("ssh://odd", TRUE, 2, &["and the host has s390x"]),
        ("ssh://mute", TRUE, 7, &["it does not say what it is"]),
        ("ssh://nowhere", TRUE, 6, &["Could not resolve hostname nowhere"]),
        ("ssh://flood", TRUE, 6, &["nothing happens for 20s"]),
        ("rrp://win1", TRUE, 2, &["over ssh only; write ssh://win1"]),
        ("ssh://good", "/nowhere", 3, &["/nowhere: "]),
    ] {
        let ran = install(host, &["--program", program, "--yes"]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(code), ""), "{host} {program}: {}", ran.err);
        has(&ran.err, parts);
        assert!(is_true(), "{host} {program}");
        assert_eq!(names(&folder), ["tally"], "{host} {program}");
    }
    for (to, code, part) in [
        ("/nowhere/bin", 3, "the folder of /nowhere/bin/tally is not there"),
        ("bin", 2, "name a folder from / on"),
        ("/tmp/$(id)", 2, "name a folder from / on"),
    ] {
        let ran = net.tally(&["remote", "install", "ssh://good", "--program", TRUE, "--yes", "--to", to]);
        assert_eq!(ran.code, Some(code), "{to}: {}", ran.err);
        has(&ran.err, &[part]);
    }
    tallymon_testkit::attack(
        "other machines",
        "a host says anything, nothing or far too much while tally is copied to it, or cuts the copy",
        "a named error within the deadline; what was there stays, and no half copy is left",
    );
}

/// The question at a real terminal: nothing is copied before the answer, and only `y` copies.
#[test]
fn the_user_is_asked_at_a_terminal() {
    let net = Net::new(&[]);
    net.program(SSH);
    let folder = net.folder.join("there");
    fs::create_dir_all(&folder).unwrap();
    let Some(terminal) = Terminal::open() else { return };
    let (bin, to) = (net.folder.join("bin"), folder.display());
    // The lines of the screen have 80 columns, and these words may be cut anywhere.
    let is_there = |part: &str| {
        let part = part.replace(' ', "");
        move |screen: &str| screen.split_whitespace().collect::<String>().contains(&part)
    };
    for (answer, is_copied) in [("n", false), ("", false), ("maybe", false), ("y", true)] {
        terminal.line("clear");
        terminal.wait("an empty screen", |screen| !screen.contains("Copy it?"));
        terminal.line(&format!(
            "PATH={}:$PATH TALLY_ROOT={} {TALLY} remote install ssh://good --program {TRUE} --to {to}; \
             echo it=$?",
            bin.display(),
            net.folder.join("root").display()
        ));
        let screen = terminal.wait("the question", |screen| screen.trim_end().ends_with("Copy it? [y/N]"));
        assert!(is_there("where none is now")(&screen), "{screen}");
        assert_eq!(names(&folder), [""; 0], "before the answer");
        terminal.line(answer);
        match is_copied {
            true => {
                terminal.wait("the copy", is_there("it=0"));
                assert!(is_there("/tally is there: true (GNU coreutils)")(&terminal.screen()));
                assert_eq!(fs::read(folder.join("tally")).unwrap(), fs::read(TRUE).unwrap());
            }
            false => {
                terminal.wait("the refusal", is_there("it=1"));
                assert!(is_there("good: nothing was copied")(&terminal.screen()), "{}", terminal.screen());
                assert_eq!(names(&folder), [""; 0], "{answer}");
            }
        }
    }
}

#[test]
fn a_group_gets_the_program() {
    let net = Net::new(&[]);
    net.program(SSH);
    net.file("root/hosts", b"web1 ssh://good1 web\nweb2 ssh://nowhere web\n");
    fs::create_dir_all(net.folder.join("there")).unwrap();
    let to = net.folder.join("there");
    let words = ["remote", "install", "web", "--program", TRUE, "--yes", "--to", to.to_str().unwrap()];
    let ran = net.tally(&words);
    // One host of two did not get it.
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    has(&ran.out, &["web1: "]);
    has(&ran.err, &["ssh://nowhere: ssh: "]);
}
