//! `tally serve` with real recording sessions: the page's requests, and what `tally log` says about them.

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tallymon_testkit::skip;

use crate::record::{Sessions, until};
use crate::support::{AVAILABLE, Folder, TALLY, clean, has, signal, tally};

/// A server over the sessions of a test.
struct Served {
    child: Child,
    at: String,
    token: String,
}

impl Served {
    fn start(sessions: &Sessions, more: &[&str]) -> Served {
        let mut command = clean(TALLY);
        command.args(["serve", "--port", "0", "-i", "100ms"]).args(more);
        command.env("TALLYMON_ROOT", sessions.0.path()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let rest = line.trim().strip_prefix("http://").unwrap();
        let (at, token) = (rest.split('/').next().unwrap(), rest.split_once("token=").unwrap().1);
        Served { at: at.into(), token: token.into(), child }
    }

    fn ask(&self, method: &str, target: &str) -> (u16, Value) {
        let (head, body) = self.answer(method, target);
        (head.split(' ').nth(1).unwrap().parse().unwrap(), serde_json::from_slice(&body).unwrap())
    }

    /// The head of an answer, and what is behind it.
    fn answer(&self, method: &str, target: &str) -> (String, Vec<u8>) {
        let Served { at, token, .. } = self;
        let mut stream = TcpStream::connect(at).unwrap();
        let head = format!("{method} /api/v1/{target} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n");
        write!(stream, "{head}Content-Length: 0\r\nAuthorization: Bearer {token}\r\n\r\n").unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        (String::from_utf8(bytes[..end].to_vec()).unwrap(), bytes[end + 4..].to_vec())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        signal(&self.child, "INT");
        let _ = self.child.wait();
    }
}

#[test]
fn the_page_makes_stops_and_starts_sessions_of_tally_log() {
    let sessions = Sessions::new();
    let server = Served::start(&sessions, &["--allow-control"]);
    let (status, made) =
        server.ask("POST", "sessions?name=web&path=%5CMemory%5CAvailable%20Bytes&interval=50ms");
    assert_eq!((status, &made["sessions"][0]["state"]), (200, &"recording".into()), "{made}");
    until("records", || sessions.status("web")["records"].as_u64().unwrap() > 5);
    assert_eq!(sessions.status("web")["counters"], serde_json::json!([r"\Memory\Available Bytes"]));
    let (_, all) = server.ask("GET", "sessions");
    let one = &all["sessions"][0];
    assert!(one["records"].as_u64().unwrap() > 5 && one["last"].is_number(), "{one}");
    let (status, stopped) = server.ask("POST", "sessions/stop?name=web");
    assert_eq!((status, &stopped["sessions"][0]["state"]), (200, &"stopped".into()), "{stopped}");
    has(&sessions.log(&["list"]).data(), &["web  stopped"]);
    // The file that the page names is the log.
    let file = stopped["sessions"][0]["file"].as_str().unwrap();
    assert_eq!(sessions.logs("web"), [file]);
    assert!(tally(&["info", "--json", file]).json()["records"].as_u64().unwrap() > 5);
    let (status, started) = server.ask("POST", "sessions/start?name=web");
    assert_eq!((status, &started["sessions"][0]["state"]), (200, &"recording".into()), "{started}");
    // What 'tally log' refuses is refused in its words.
    let (status, error) = server.ask("POST", "sessions?name=x&path=%5CMemory%5CNone%20Yet");
    assert!(status == 409 && error["error"].as_str().unwrap().contains("no counter"), "{error}");
    let (status, error) = server.ask("POST", "sessions?name=web&path=%5CMemory%5CAvailable%20Bytes");
    assert!(status == 409 && error["error"].as_str().unwrap().contains("already"), "{error}");
}

/// A session is scheduled, its size is known before, its log is shown, and it is deleted.
#[test]
fn the_page_schedules_sessions_and_knows_their_size_before() {
    let sessions = Sessions::new();
    let server = Served::start(&sessions, &["--allow-control"]);
    let what = "path=%5CProcess(*)%5CWorking%20Set&interval=1s";
    let (status, estimate) = server.ask("POST", &format!("sessions/estimate?{what}&duration=24h"));
    let number = |name: &str| estimate[name].as_f64().unwrap_or_default();
    assert!(status == 200 && number("bytesAnHour") > 1000.0, "{estimate}");
    assert!((number("mostBytes") / number("bytesAnHour") - 24.0).abs() < 0.01, "{estimate}");
    // Nothing was made for it, and what is wrong is said as for a session.
    assert_eq!(server.ask("GET", "sessions").1["sessions"], serde_json::json!([]));
    for (target, words) in [
        ("path=%5CMemory%5CNone%20Yet", "no counter"),
        ("path=%5CSystem%5CProcesses&interval=soon", "\"soon\" is not a time"),
        ("path=%5CSystem%5CProcesses&segments=3", "rotat"),
    ] {
        let (status, error) = server.ask("POST", &format!("sessions/estimate?{target}"));
        let said = error["error"].as_str().unwrap();
        assert!(status == 409 && said.contains(words) && !said.contains('\n'), "{target}: {error}");
    }
    let hour = 3_600_000;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64;
    let (begin, end) = (now + hour, now + 3 * hour);
    let target =
        format!("sessions?name=later&{what}&begin={begin}&end={end}&rotateTime=10m&segments=3&maxSize=5M");
    let (status, made) = server.ask("POST", &target);
    assert_eq!((status, &made["sessions"][0]["state"]), (200, &"waiting".into()), "{made}");
    let shown = sessions.log(&["show", "later"]).data();
    has(&shown, &["a new log every 600 s", "the last 3 logs are kept", "5242880 bytes at most"]);
    let settings = sessions.status("later");
    assert!(settings["begin"].is_string() && settings["end"].is_string(), "{settings}");
    server.ask("POST", "sessions/stop?name=later");
    // The log of a session that goes on is shown with what there is.
    let (status, made) = server.ask("POST", "sessions?name=web&path=%5CSystem%5CProcesses&interval=50ms");
    assert_eq!(status, 200, "{made}");
    until("records", || sessions.status("web")["records"].as_u64().unwrap() > 5);
    let (status, opened) = server.ask("POST", "sessions/open?name=web");
    assert_eq!(status, 200, "{opened}");
    until("the log", || {
        let (_, hosts) = server.ask("GET", "hosts");
        hosts[1]["state"] == "ready" && hosts[1]["records"].as_u64().unwrap() > 0
    });
    let (status, refused) = server.ask("POST", "sessions/delete?name=web");
    assert!(status == 409 && refused["error"].as_str().unwrap().contains("record"), "{refused}");
    server.ask("POST", "sessions/stop?name=web");
    let (status, left) = server.ask("POST", "sessions/delete?name=web");
    assert_eq!((status, &left["sessions"][0]["name"]), (200, &"later".into()), "{left}");
}

#[test]
fn alerts_of_a_session_are_seen_with_their_time() {
    let sessions = Sessions::new();
    let limit = format!("{AVAILABLE} > 1");
    sessions.log(&["start", "watchdog", "--alert", &limit, "-i", "50ms", "--event"]);
    until("the alert", || sessions.status("watchdog")["alerts_begun"] == 1);
    let server = Served::start(&sessions, &[]);
    let (_, all) = server.ask("GET", "sessions");
    let one = &all["sessions"][0];
    assert_eq!((&all["control"], &one["alerts"]), (&false.into(), &1.into()), "{one}");
    let alert = &one["latestAlerts"][0];
    assert_eq!((&alert["begins"], &alert["limit"]), (&true.into(), &limit.as_str().into()));
    assert!(alert["value"].as_f64().unwrap() > 1.0 && alert["time"].as_f64().unwrap() > 1.7e12, "{alert}");
    // Its event says the same.
    let (_, events) = server.ask("GET", "events?filter=watchdog");
    assert!(events["events"][0]["message"].as_str().unwrap().contains(AVAILABLE), "{events}");
    let (status, refused) = server.ask("POST", "sessions/stop?name=watchdog");
    assert!(status == 403 && refused["error"].as_str().unwrap().contains("--allow-control"), "{refused}");
    // A later run still has them.
    sessions.log(&["stop", "watchdog"]);
    sessions.log(&["start", "watchdog"]);
    let seen = || server.ask("GET", "sessions").1["sessions"][0]["latestAlerts"].as_array().unwrap().len();
    until("the alert of the second run", || seen() == 2);
}

/// Formats that only the whole program writes.
#[test]
fn the_page_downloads_parquet_and_sqlite() {
    let sessions = Sessions::new();
    let folder = Folder::new();
    let log = folder.file("a.tally");
    tally(&["watch", AVAILABLE, "-i", "50ms", "-c", "3", "-o", &log]);
    let server = Served::start(&sessions, &[&log]);
    until("the log", || server.ask("GET", "logs").1[0]["state"] == "ready");
    for (format, begin) in [("parquet", b"PAR1".as_slice()), ("sqlite", b"SQLite format 3\0")] {
        let (head, body) = server.answer("GET", &format!("convert?host=log1&format={format}"));
        assert!(head.contains(" 200 ") && head.contains(&format!("filename=\"a.{format}\"")), "{head}");
        // Behind the length of the first piece.
        let at = body.windows(2).position(|two| two == b"\r\n").unwrap();
        assert!(body[at + 2..].starts_with(begin), "{format}");
    }
}

/// What `systemd-socket-activate` opens these sockets for, with its address, until the test ends.
fn activated(sessions: &Sessions, sockets: &[&str], options: &[&str]) -> Option<Child> {
    let mut command = Command::new("systemd-socket-activate");
    command.args(sockets.iter().flat_map(|socket| ["-l", *socket]));
    command.arg("-E").arg(format!("TALLYMON_ROOT={}", sessions.0.path().display()));
    command.arg("-E").arg("LC_ALL=C.UTF-8").arg(TALLY).arg("serve").args(options);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    match command.spawn() {
        Ok(child) => Some(child),
        Err(_) => {
            skip("the program systemd-socket-activate is not installed");
            None
        }
    }
}

/// A free port of this machine.
fn free() -> String {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

#[test]
fn a_service_manager_opens_the_port_and_starts_the_page_at_the_first_request() {
    let sessions = Sessions::new();
    let (at, token) = (free(), "0123456789abcdef0123456789abcdef");
    let file = sessions.0.file("token");
    std::fs::write(&file, token).unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let Some(child) = activated(&sessions, &[&at], &["--token-file", &file]) else { return };
    until("the port is open", || TcpStream::connect(&at).is_ok());
    let server = Served { child, at, token: token.into() };
    assert_eq!(server.ask("GET", "hosts").0, 200);
    // It is the same process, which has become the server.
    assert_eq!(server.ask("GET", "hosts").0, 200);
}

#[test]
fn a_socket_that_can_not_be_served_is_refused_with_the_line_of_the_unit() {
    let sessions = Sessions::new();
    let (one, two) = (free(), free());
    let path = sessions.0.file("socket");
    let cases: [(&[&str], &[&str], &str); 4] = [
        (&[&one, &two], &[], "has opened 2 sockets (LISTEN_FDS); one is needed"),
        (&[&one], &["--port", "8060"], "leave out --listen and --port"),
        (&[&one], &["--tls"], "which only the page uses"),
        (&[&path], &[], "it is not of TCP; the socket unit needs ListenStream="),
    ];
    for (sockets, options, words) in cases {
        let Some(mut child) = activated(&sessions, sockets, options) else { return };
        let is_path = sockets[0].starts_with('/');
        until("the socket is open", || match is_path {
            true => UnixStream::connect(sockets[0]).is_ok(),
            false => TcpStream::connect(sockets[0]).is_ok(),
        });
        let mut text = String::new();
        child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        assert!(!child.wait().unwrap().success(), "{text}");
        has(&text, &[words]);
    }
}
