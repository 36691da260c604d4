//! `tally serve` with real recording sessions: the page's requests, and what `tally log` says about them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use serde_json::Value;

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
