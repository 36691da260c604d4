//! `tally serve --nsclient`, with Debian's `check_nt` as the client.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tallymon_testkit::{attack, peer};

use super::support::{Folder, TALLY, clean};

pub(crate) const PASSWORD: &str = "correct horse";

/// A server that ends with its test.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(folder: &Folder, mode: u32, password: &str, words: &[&str]) -> Command {
    let file = folder.file("password");
    fs::write(&file, password).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    let mut command = clean(TALLY);
    command.args(["serve", "--nsclient", "--password-file"]).arg(&file).args(words);
    command.env("TALLY_ROOT", folder.file("root")).stdin(Stdio::null());
    command
}

impl Server {
    pub(crate) fn start(folder: &Folder, words: &[&str]) -> Server {
        let words = [&["--port", "0"], words].concat();
        let mut command = command(folder, 0o600, &format!("{PASSWORD}\n"), &words);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let port = first.trim_end().rsplit(':').next().unwrap().parse().unwrap();
        assert!(first.starts_with("nsclient://127.0.0.1:"), "{first}");
        Server { child, port }
    }

    /// What a client gets for some bytes that it sends and ends.
    fn ask(&self, bytes: &[u8]) -> String {
        let mut stream = self.send(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        answer(&mut stream)
    }

    /// The same of a client that could send more.
    fn ask_open(&self, bytes: &[u8]) -> String {
        answer(&mut self.send(bytes))
    }

    fn send(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        // A server that has had enough may have closed it.
        let _ = stream.write_all(bytes);
        stream
    }
}

/// What comes until the connection is closed.
fn answer(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

pub(crate) fn check_nt() -> Option<PathBuf> {
    peer("/usr/lib/nagios/plugins/check_nt")
}

/// Runs check_nt, and returns its exit code and what it printed.
fn checked(program: &Path, server: &Server, words: &[&str]) -> (i32, String) {
    let mut command = Command::new(program);
    command.args(["-H", "127.0.0.1", "-p", &server.port.to_string(), "-t", "60"]).args(words);
    let output = command.output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn check_nt_reads_everything_it_can_ask_for() {
    let Some(program) = check_nt() else { return };
    let folder = Folder::new();
    let server = Server::start(&folder, &[]);
    let secret = ["-s", PASSWORD];
    let check = |words: &[&str]| checked(&program, &server, &[&secret, words].concat());
    for (words, code, parts) in [
        (vec!["-v", "CLIENTVERSION"], 0, vec!["Tallymon ", env!("CARGO_PKG_VERSION")]),
        (vec!["-v", "UPTIME", "-l", "seconds"], 0, vec!["System Uptime - ", "uptime="]),
        (vec!["-v", "MEMUSE", "-w", "101", "-c", "102"], 0, vec!["Memory usage: total:", "MB (", "%)"]),
        (vec!["-v", "USEDDISKSPACE", "-l", "/", "-w", "101", "-c", "102"], 0, vec!["/:\\ - total: ", "%)"]),
        (vec!["-v", "USEDDISKSPACE", "-l", "c", "-w", "101", "-c", "102"], 0, vec!["c:\\ - total: "]),
        (vec!["-v", "USEDDISKSPACE", "-l", "q"], 3, vec!["ERROR: no disk \"q\"; there are /"]),
        (
            vec!["-v", "PROCSTATE", "-l", "tally,TALLY.exe", "-d", "SHOWALL"],
            0,
            vec!["tally: running - TALLY.exe: running"],
        ),
        (vec!["-v", "PROCSTATE", "-l", "tally,no-such-process"], 2, vec!["no-such-process: not running"]),
        (
            vec!["-v", "COUNTER", "-l", r"\System\Processes,%.0f run", "-w", "0", "-c", "1000000"],
            1,
            vec![" run |"],
        ),
        // A rate, which takes a second.
        (vec!["-v", "COUNTER", "-l", r"\System\Context Switches/sec,%.0f switches"], 0, vec![" switches | "]),
        (vec!["-v", "COUNTER", "-l", r"\Nothing\x"], 3, vec!["ERROR: ", "Nothing"]),
        (
            vec!["-v", "COUNTER", "-l", r"\Process(*)\ID Process"],
            3,
            vec!["ERROR: ", "values, and one is needed"],
        ),
        (vec!["-v", "INSTANCES", "-l", "Processor"], 0, vec!["_Total", "0"]),
        (vec!["-v", "UPTIME"], 0, vec!["System Uptime - ", "hour(s)"]),
        (vec!["-v", "INSTANCES", "-l", "Memory"], 3, vec!["ERROR: Memory: no instances"]),
        (vec!["-v", "INSTANCES", "-l", "Dragon"], 3, vec!["ERROR: no object \"Dragon\""]),
        (vec!["-v", "FILEAGE", "-l", "/etc/passwd"], 3, vec!["ERROR: files are not looked at here"]),
        (vec!["-v", "SERVICESTATE", "-l", "ssh"], 3, vec!["ERROR: services are not read here"]),
    ] {
        let (found, text) = check(&words);
        assert!(found == code && parts.iter().all(|part| text.contains(part)), "{words:?}: {found} {text}");
    }
    let wrong = checked(&program, &server, &["-s", "wrong", "-v", "CLIENTVERSION"]);
    assert_eq!(wrong, (3, "NSClient - ERROR: Invalid password.\n".to_string()));
    let none = checked(&program, &server, &["-v", "CLIENTVERSION"]);
    assert_eq!(none, (3, "NSClient - ERROR: Invalid password.\n".to_string()));
    // The number is that of the counter: its limit is met from both sides.
    let limit = || check(&["-v", "COUNTER", "-l", r"\Memory\Commit Limit,limit %.0f"]).1;
    let direct = clean(TALLY).args(["get", "--plain", r"\Memory\Commit Limit"]).output().unwrap();
    let direct = String::from_utf8(direct.stdout).unwrap();
    assert!(limit().contains(direct.trim()), "{}, {direct}", limit());
    // The first average of the load is there after a moment. A full load is as high as its limit, which no
    // limit of check_nt can be above.
    let begin = Instant::now();
    loop {
        let (code, text) = check(&["-v", "CPULOAD", "-l", "60,100,100"]);
        if text.starts_with("CPU Load ") {
            assert!(text.contains("(60 min average)"), "{text}");
            assert_eq!(code == 0, !text.starts_with("CPU Load 100%"), "{code}: {text}");
            break;
        }
        assert!(text.contains("the first value comes after 5 s"), "{text}");
        assert!(begin.elapsed() < Duration::from_secs(60), "{text}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// A program that ends with its test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A process whose name has what check_nt, Nagios and paths take for something else. `check_nt` ends a path
/// at a comma or `&`; `*` stands for them.
#[test]
fn check_nt_reads_an_instance_with_an_odd_name() {
    let Some(program) = check_nt() else { return };
    let folder = Folder::new();
    let odd = folder.file("a,b 50%&c");
    fs::copy("/bin/sleep", &odd).unwrap();
    let _odd = Ended(Command::new(&odd).arg("600").spawn().unwrap());
    let server = Server::start(&folder, &[]);
    let counter = |path: &str| {
        checked(&program, &server, &["-s", PASSWORD, "-v", "COUNTER", "-l", &format!("{path},%.0f threads")])
    };
    let (code, text) = counter(r"\Process(a*b 50%*c)\Thread Count");
    assert!(code == 0 && text.starts_with("1 threads"), "{code} {text}");
    let (code, text) = counter(r"\Process(a,b 50%&c)\Thread Count");
    assert!(code == 3 && text.contains("ERROR: "), "{code} {text}");
    let (_, list) = checked(&program, &server, &["-s", PASSWORD, "-v", "INSTANCES", "-l", "Process"]);
    assert!(!list.is_empty(), "{list}");
    // Without check_nt the path needs no help, and the list has every name.
    let ask = |words: &str| server.ask(format!("{PASSWORD}&{words}").as_bytes());
    assert_eq!(ask(r"8&\Process(a,b 50%&c)\Thread Count"), "1");
    assert!(ask("10&Process").contains(",a,b 50%&c,"), "{}", ask("10&Process"));
}

#[test]
fn what_would_let_everybody_in_is_refused() {
    let folder = Folder::new();
    for (mode, password, words, part) in [
        (0o644, PASSWORD, &[][..], "password"),
        (0o600, "", &[], "must be one line"),
        (0o600, "a&b", &[], "must be one line"),
        (0o600, "a\nb", &[], "must be one line"),
        (0o600, PASSWORD, &["--listen", "0.0.0.0:0"], "--allow ADDRESS"),
        (0o600, PASSWORD, &["--allow", "192.0.2.0/40"], "neither an address nor a network"),
        (0o600, PASSWORD, &["--tls"], "cannot be used with"),
    ] {
        let output = command(&folder, mode, password, words).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains(part), "{mode:o} {password:?} {words:?}: {said}");
    }
}

#[test]
fn attack_a_server_for_check_nt() {
    let folder = Folder::new();
    let other = Server::start(&folder, &["--allow", "192.0.2.0/24"]);
    assert_eq!(other.ask(format!("{PASSWORD}&1").as_bytes()), "", "an address that is not allowed");
    let server = Server::start(&folder, &[]);
    let version = format!("Tallymon {}", env!("CARGO_PKG_VERSION"));
    let asked = format!("{PASSWORD}&1");
    // A client that sends nothing, and one that stops within its request, hold nobody up.
    let silent: Vec<TcpStream> =
        (0..8).map(|_| TcpStream::connect(("127.0.0.1", server.port)).unwrap()).collect();
    assert_eq!(server.ask(asked.as_bytes()), version);
    drop(silent);
    // Too long, not text, cut, or not a request.
    for length in [4_097, 5_000, 1 << 19] {
        let long = [asked.as_bytes(), &vec![b'x'; length - asked.len()][..]].concat();
        assert_eq!(server.ask(&long), "ERROR: the request is longer than 4096 bytes", "{length}");
    }
    // More than anybody waits for: closed, with or without words.
    let _ = server.ask(&vec![b'x'; 8 << 20]);
    // Half a request is answered as what it is.
    let half = format!("{PASSWORD}&8&\\Mem");
    assert!(server.ask_open(half.as_bytes()).starts_with("ERROR: counter path "));
    assert_eq!(server.ask_open(format!("{PASSWORD}&").as_bytes()), "ERROR: no request has the number \"\"");
    for bytes in [&b"\xff\xfe\x00\x80&1"[..], b"\r\n", b"&&&&", b"GET / HTTP/1.0\r\n\r\n"] {
        assert_eq!(server.ask(bytes), "ERROR: Invalid password.", "{bytes:?}");
    }
    let odd = format!("{PASSWORD}&8&\u{202e}\\a(\x1b[2J)\\%n%s");
    assert!(server.ask(odd.as_bytes()).starts_with("ERROR: "));
    assert_eq!(server.ask(asked.as_bytes()), version);
    // An address that guesses is not even told that it guessed right.
    let mut guesses = 0;
    while server.ask(b"guess&1") == "ERROR: Invalid password." {
        guesses += 1;
        assert!(guesses < 20, "guesses go on");
    }
    assert_eq!(server.ask(asked.as_bytes()), "");
    attack(
        "other machines",
        "guess the password of check_nt, send garbage, too much or nothing, or come from another address",
        "an address is refused for a minute after 10 wrong passwords; requests end at 4 KiB and 5 s",
    );
}
