//! Alerts in the log of the system: on sockets of the test, in rsyslog, and in systemd's journal.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};
use serde_json::Value as Json;
use tallymon_testkit::{attack, peer, skip};

use crate::alerts::Program;
use crate::record::{Sessions, until};
use crate::support::{Folder, has};

/// A program that ends with its test.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a session whose alert begins at once.
#[track_caller]
fn start(sessions: &Sessions, program: &Program, more: &[&str]) {
    let limit = program.limit();
    let ran = sessions.log(&[&["start", "watch", "-i", "50ms", "--alert", &limit], more].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

fn datagram(socket: &UnixDatagram) -> Vec<u8> {
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut bytes = vec![0; 1 << 16];
    let length = socket.recv(&mut bytes).unwrap();
    bytes.truncate(length);
    bytes
}

/// The words of the header, the fields of the structured data, and the message.
fn parsed(line: &str) -> (Vec<&str>, Vec<(String, String)>, String) {
    let (header, rest) = line.split_once(" [").unwrap();
    let mut fields = Vec::new();
    let mut letters = rest.chars();
    let name: String = letters.by_ref().take_while(|letter| *letter != ' ').collect();
    fields.push(("id".to_owned(), name));
    loop {
        let name: String = letters.by_ref().take_while(|letter| *letter != '=').collect();
        assert_eq!(letters.next(), Some('"'), "{line}");
        let mut value = String::new();
        loop {
            match letters.next().unwrap() {
                '\\' => value.push(letters.next().unwrap()),
                '"' => break,
                letter => value.push(letter),
            }
        }
        fields.push((name.trim_start().to_owned(), value));
        match letters.next().unwrap() {
            ']' => break,
            other => assert_eq!(other, ' ', "{line}"),
        }
    }
    (header.split(' ').collect(), fields, letters.collect())
}

#[test]
fn syslog_gets_a_line_when_an_alert_begins_and_ends() {
    let (sessions, folder) = (Sessions::new(), Folder::new());
    let socket = UnixDatagram::bind(folder.file("log")).unwrap();
    // What the form of the line uses itself.
    let name = "sl\"]= x";
    let program = Program::start(&folder, name);
    start(&sessions, &program, &[&format!("--syslog={}", folder.file("log"))]);
    let begin = String::from_utf8(datagram(&socket)).unwrap();
    has(&sessions.log(&["show", "watch"]).data(), &["tell syslog: ", &folder.file("log")]);
    drop(program);
    let end = String::from_utf8(datagram(&socket)).unwrap();
    for (line, priority, kind, value, verb) in
        [(&begin, "<28>1", "alert-begin", "1", "began"), (&end, "<29>1", "alert-end", "gone", "ended")]
    {
        let (header, fields, message) = parsed(line);
        let [first, time, host, program, process, found] = header.as_slice() else { panic!("{line}") };
        assert_eq!((*first, *program, *found), (priority, "tally", kind));
        assert!(time.ends_with('Z') && time.contains('T') && !host.is_empty(), "{line}");
        assert!(process.parse::<u32>().is_ok(), "{line}");
        let counter = format!(r"\Process({name})\Thread Count");
        let expected = [
            ("id", "alert@32473"),
            ("session", "watch"),
            ("counter", &counter),
            ("value", value),
            ("threshold", "> 0"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(fields, expected, "{line}");
        assert_eq!(message, format!(" alert {verb} (watch): {counter} is {value}, limit > 0"));
    }
    assert_eq!(sessions.status("watch")["errors"], 0);
}

#[test]
fn a_daemon_that_takes_connections_gets_lines() {
    let (sessions, folder) = (Sessions::new(), Folder::new());
    let listener = UnixListener::bind(folder.file("log")).unwrap();
    let program = Program::start(&folder, "tally-syslog-b");
    start(&sessions, &program, &[&format!("--syslog={}", folder.file("log"))]);
    let mut line = String::new();
    BufReader::new(listener.accept().unwrap().0).read_line(&mut line).unwrap();
    assert!(line.starts_with("<28>1 ") && line.ends_with("limit > 0\n"), "{line:?}");
}

/// A socket that takes no further connection, because nobody accepts those that wait.
fn full_listener(path: &str) -> OwnedFd {
    let socket = |flags| socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
    let address = SocketAddrUnix::new(path).unwrap();
    let listener = socket(SocketFlags::CLOEXEC);
    bind(&listener, &address).unwrap();
    listen(&listener, 1).unwrap();
    while connect(socket(SocketFlags::CLOEXEC | SocketFlags::NONBLOCK), &address).is_ok() {}
    listener
}

#[test]
fn attack_a_log_of_the_system_that_does_not_read() {
    let (sessions, folder) = (Sessions::new(), Folder::new());
    let program = Program::start(&folder, "tally-syslog-c");
    // Full, and nobody reads.
    let full = UnixDatagram::bind(folder.file("full")).unwrap();
    let filler = UnixDatagram::unbound().unwrap();
    filler.set_nonblocking(true).unwrap();
    while filler.send_to(b"x", folder.file("full")).is_ok() {}
    let limit = program.limit();
    let (syslog, journal) =
        (format!("--syslog={}", folder.file("full")), format!("--journal={}", folder.file("none")));
    // It says at once that the first alert did not arrive.
    let ran = sessions.log(&["start", "watch", "-i", "50ms", "--alert", &limit, &syslog, &journal]);
    has(&ran.err, &["syslog did not take the alert", "the journal did not take the alert"]);
    until("the failures", || sessions.status("watch")["errors"].as_u64() > Some(0));
    let status = sessions.status("watch").to_string();
    has(&status, &["syslog did not take the alert", "the journal did not take the alert", "/none"]);
    assert_eq!(sessions.status("watch")["status"], "recording");
    drop(full);
    let _listener = full_listener(&folder.file("busy"));
    let syslog = format!("--syslog={}", folder.file("busy"));
    let ran = sessions.log(&["start", "busy", "-i", "50ms", "--alert", &limit, &syslog]);
    has(&ran.err, &["syslog did not take the alert", "/busy"]);
    let records = || sessions.status("busy")["records"].as_u64();
    let before = records();
    until("more records", || records() > before);
    attack(
        "Recordings",
        "a log of the system that does not read its socket, or accepts no connection",
        "the session waits half a second in ten, says so and goes on",
    );
}

#[test]
fn rsyslog_reads_every_field() {
    let Some(rsyslogd) = peer("/usr/sbin/rsyslogd") else { return };
    let (sessions, folder) = (Sessions::new(), Folder::new());
    let (socket, out) = (folder.file("log"), folder.file("out"));
    let settings = format!(
        "module(load=\"imuxsock\" SysSock.Use=\"off\")
input(type=\"imuxsock\" Socket=\"{socket}\" UseSpecialParser=\"off\" ParseHostname=\"on\")
template(name=\"t\" type=\"string\" string=\"%pri-text%|%app-name%|%msgid%|%structured-data%|%msg%\\n\")
action(type=\"omfile\" file=\"{out}\" template=\"t\")
"
    );
    let settings = folder.write("rsyslog.conf", settings.as_bytes());
    let mut command = Command::new(rsyslogd);
    command.args(["-n", "-f", &settings, "-i", &folder.file("pid")]).stderr(Stdio::null());
    let _daemon = Daemon(command.spawn().unwrap());
    until("rsyslog's socket", || UnixDatagram::unbound().unwrap().connect(&socket).is_ok());
    let program = Program::start(&folder, "tally-syslog-d");
    start(&sessions, &program, &[&format!("--syslog={socket}")]);
    let text = || fs::read_to_string(&out).unwrap_or_default();
    until("the line", || text().contains("alert-begin"));
    drop(program);
    until("the other line", || text().contains("alert-end"));
    let text = text();
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("|tally|")).collect();
    let [begin, end] = lines.as_slice() else { panic!("{text}") };
    let counter = r"\Process(tally-syslog-d)\Thread Count";
    let escaped = counter.replace('\\', r"\\");
    let expected = format!(
        "daemon.warning|tally|alert-begin|[alert@32473 session=\"watch\" counter=\"{escaped}\" value=\"1\" \
         threshold=\"> 0\"]|alert began (watch): {counter} is 1, limit > 0"
    );
    assert_eq!(*begin, expected);
    assert!(end.starts_with("daemon.notice|tally|alert-end|["), "{end}");
}

/// The folder below `/run` in which a journal of a name space keeps its sockets.
fn journal(folder: &Path) -> Option<(Daemon, PathBuf)> {
    let journald = peer("/lib/systemd/systemd-journald")?;
    // Its folders are its own: it writes below /run and /var/log wherever it runs.
    let script =
        "mount --bind \"$1/run\" /run/systemd && mount --bind \"$1/log\" /var/log && exec \"$2\" tally";
    fs::create_dir_all(folder.join("run")).unwrap();
    // With this folder it keeps what it gets in files.
    fs::create_dir_all(folder.join("log/journal")).unwrap();
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, "sh"]).arg(folder).arg(journald);
    let mut daemon = Daemon(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let socket = folder.join("run/journal.tally/socket");
    until("the journal's socket", || {
        socket.exists() || daemon.0.try_wait().is_ok_and(|ended| ended.is_some())
    });
    if !socket.exists() {
        skip("systemd-journald does not run here: it needs root, mounts and /run/systemd");
        return None;
    }
    Some((daemon, socket))
}

#[test]
fn the_journal_has_every_field() {
    let (sessions, folder) = (Sessions::new(), Folder::new());
    let Some((_daemon, socket)) = journal(folder.path()) else { return };
    let program = Program::start(&folder, "tally-syslog-e");
    start(&sessions, &program, &[&format!("--journal={}", socket.display())]);
    let counter = r"\Process(tally-syslog-e)\Thread Count";
    let entries = || {
        let mut command = Command::new("journalctl");
        command.arg(format!("--file={}/log/journal/*/*.journal", folder.path().display()));
        command.args(["-o", "json", "--no-pager", "-q"]);
        let out = command.arg(format!("COUNTER={counter}")).output().unwrap().stdout;
        let lines = String::from_utf8(out).unwrap();
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Json>>()
    };
    until("the first entry", || entries().len() == 1);
    drop(program);
    until("the second entry", || entries().len() == 2);
    for (entry, alert, value, priority, message) in [
        (&entries()[0], "begin", "1", "4", "7d1c2f0d9be34e0aa6a9c35ecb9a2f41"),
        (&entries()[1], "end", "gone", "5", "c0d4f1f6a1f54a16a4d7e0f2b8a53c6e"),
    ] {
        for (name, expected) in [
            ("ALERT", alert),
            ("SESSION", "watch"),
            ("VALUE", value),
            ("THRESHOLD", "> 0"),
            ("PRIORITY", priority),
            ("MESSAGE_ID", message),
            ("SYSLOG_IDENTIFIER", "tally"),
        ] {
            assert_eq!(entry[name], expected, "{name}");
        }
        has(entry["MESSAGE"].as_str().unwrap(), &[counter, "limit > 0"]);
    }
}
