//! Tests of single processes: this one, its children, and those of other users.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command};

use tallymon_provider::FileTime;
use tallymon_provider::process::{ProcessAction, ProcessId, Processes};

use super::*;

/// A child that ends with the test.
struct Sleeper(Child);

impl Sleeper {
    fn start() -> Sleeper {
        Sleeper(Command::new("sleep").arg("600").spawn().unwrap())
    }

    fn id(&self) -> ProcessId {
        ProcessId { id: self.0.id(), start: FileTime(0) }
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn facts_and_details_of_this_process() {
    let own = ProcessId { id: std::process::id(), start: FileTime(0) };
    let machine = LinuxProcesses::system();
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let details = machine.details(own).unwrap();
    assert_eq!(Some(details.facts.clone()), machine.facts(&[own]).remove(0));
    let program = std::env::args().next().unwrap();
    assert!(details.facts.command.starts_with(&program), "{}", details.facts.command);
    assert!(!details.facts.user.is_empty());
    assert!(details.threads.iter().any(|thread| thread.id == own.id));
    let address = socket.local_addr().unwrap();
    let files = details.files.unwrap();
    let wanted = format!("tcp {address} LISTEN");
    assert!(files.iter().any(|file| file.is_socket && file.target == wanted), "{files:?}");
    assert!(details.memory.iter().any(|(name, bytes)| *name == "VmRSS" && *bytes > 0));
    assert!(details.limits.iter().any(|[name, ..]| name == "Max open files"), "{:?}", details.limits);
    assert!(details.places.iter().any(|(name, _)| *name == "exe"));
    assert!(details.group.starts_with('/'));
}

#[test]
fn an_earlier_process_with_the_same_id_has_ended() {
    let machine = LinuxProcesses::system();
    let child = Sleeper::start();
    let start = machine.stat(child.id()).unwrap().start;
    let same = ProcessId { start, ..child.id() };
    assert!(machine.details(same).is_ok());
    let other = ProcessId { start: FileTime(start.0 - 50_000_000), ..child.id() };
    for result in
        [machine.details(other).map(|_| ()), machine.act(other, ProcessAction::Kill), machine.may_act(other)]
    {
        assert!(result.unwrap_err().contains("has ended"));
    }
    assert_eq!(machine.facts(&[other, same]).iter().map(Option::is_some).collect::<Vec<_>>(), [false, true]);
    assert!(machine.stat(same).is_ok(), "nothing happened to it");
}

#[test]
fn actions_reach_the_process() {
    let machine = LinuxProcesses::system();
    let mut child = Sleeper::start();
    let wait_for = |state: char| {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while machine.stat(child.id()).unwrap().state != state {
            assert!(std::time::Instant::now() < deadline, "it never was {state}");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    };
    machine.act(child.id(), ProcessAction::Stop).unwrap();
    wait_for('T');
    machine.act(child.id(), ProcessAction::Continue).unwrap();
    wait_for('S');
    machine.act(child.id(), ProcessAction::Nice(10)).unwrap();
    assert_eq!(machine.stat(child.id()).unwrap().nice, 10);
    machine.act(child.id(), ProcessAction::End).unwrap();
    assert_eq!(child.0.wait().unwrap().signal(), Some(15));
    let error = machine.act(child.id(), ProcessAction::End).unwrap_err();
    assert!(error.contains("has ended"), "{error}");
}

#[test]
fn the_first_process_is_left_alone() {
    let machine = LinuxProcesses::system();
    let first = ProcessId { id: 1, start: FileTime(0) };
    let error = machine.act(first, ProcessAction::Kill).unwrap_err();
    assert!(error.contains("is not changed here"), "{error}");
}

#[test]
fn users_and_command_lines_of_any_bytes() {
    let names = users("root:x:0:0::/:/bin/sh\ntoor:x:0:0\nbroken\nweb:x:33:33::\n:::\n");
    assert_eq!(names.get(&0).map(String::as_str), Some("root"));
    assert_eq!(names.get(&33).map(String::as_str), Some("web"));
    for (bytes, expected) in [
        (&b"/bin/a\0-b\0c d\0"[..], "/bin/a -b c d"),
        (b"title without end", "title without end"),
        (b"\0\0\0", ""),
        (b"\xff\xfe\0x", "\u{fffd}\u{fffd} x"),
    ] {
        assert_eq!(command_line(bytes), expected);
    }
}
