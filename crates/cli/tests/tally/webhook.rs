//! Webhooks of alerts, against the HTTP server of Python and against listeners that misbehave.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use serde_json::{Value as Json, json};
use tallymon_testkit::peer;

use crate::alerts::Program;
use crate::record::{Sessions, until};
use crate::support::{Folder, has};

/// A receiver that prints each request, and answers with statuses in turn; the last one stays.
struct Receiver {
    server: Child,
    address: String,
    requests: Box<dyn Iterator<Item = Json>>,
}

impl Receiver {
    fn start(statuses: &[&str]) -> Option<Receiver> {
        let script = "import http.server, json, sys
left = sys.argv[1:]
class Taker(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length'])).decode()
        status, _, to = (left.pop(0) if len(left) > 1 else left[0]).partition(' ')
        self.send_response(int(status))
        if to: self.send_header('Location', to)
        self.send_header('Content-Length', '8')
        self.end_headers()
        self.wfile.write(b'the text')
        print(json.dumps({'path': self.path, 'type': self.headers['Content-Type'],
                          'authorization': self.headers['Authorization'], 'body': body}), flush=True)
    def log_message(self, *_): pass
server = http.server.HTTPServer(('127.0.0.1', 0), Taker)
print(server.server_port, flush=True)
server.serve_forever()
";
        let mut server = Command::new(peer("python3")?);
        let mut server = server.args(["-c", script]).args(statuses).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let address = format!("http://127.0.0.1:{}", lines.next().unwrap().unwrap());
        let requests = Box::new(lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()));
        Some(Receiver { server, address, requests })
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// The text of the events.
fn events(sessions: &Sessions) -> String {
    fs::read_to_string(sessions.0.path().join("events.jsonl")).unwrap_or_default()
}

/// Starts a session with a webhook, whose alert begins at once.
#[track_caller]
fn start(sessions: &Sessions, program: &Program, more: &[&str]) {
    let limit = program.limit();
    let ran = sessions.log(&[&["start", "hook", "-i", "50ms", "--alert", &limit], more].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(!ran.err.contains("secret"), "{}", ran.err);
}

#[test]
fn an_alert_is_posted_when_it_begins_and_ends() {
    let Some(mut receiver) = Receiver::start(&["503", "200"]) else { return };
    let (sessions, folder) = (Sessions::new(), Folder::new());
    let program = Program::start(&folder, "tally-hook-a");
    let token = folder.write("token", b" secret-token\n");
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    let address = format!("{}/secret-path?secret=1", receiver.address);
    start(&sessions, &program, &["--webhook", &address, "--webhook-token", &token]);
    let first = receiver.requests.next().unwrap();
    let second = receiver.requests.next().unwrap();
    assert_eq!(first, second, "what got no answer is sent again");
    drop(program);
    let end = receiver.requests.next().unwrap();
    for (request, alert, value) in [(first, "begin", json!(1.0)), (end, "end", Json::Null)] {
        assert_eq!(request["path"], "/secret-path?secret=1");
        assert_eq!(request["type"], "application/json");
        assert_eq!(request["authorization"], "Bearer secret-token");
        let body: Json = serde_json::from_str(request["body"].as_str().unwrap()).unwrap();
        let text = body["text"].as_str().unwrap().to_owned();
        has(&text, &["hook", r"\Process(tally-hook-a)\Thread Count", "limit > 0"]);
        let names: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
        let all =
            ["version", "alert", "host", "session", "counter", "value", "operator", "limit", "time", "text"];
        assert_eq!(names, all);
        assert!(!body["host"].as_str().unwrap().is_empty());
        for (name, expected) in [
            ("version", json!(1)),
            ("alert", json!(alert)),
            ("session", json!("hook")),
            ("counter", json!(r"\Process(tally-hook-a)\Thread Count")),
            ("value", value),
            ("operator", json!(">")),
            ("limit", json!(0.0)),
        ] {
            assert_eq!(body[name], expected, "{name}");
        }
    }
    let shown = sessions.log(&["show", "hook"]).data() + &sessions.log(&["list", "--json"]).data();
    has(&shown, &[&format!("post to {}/…", receiver.address)]);
    assert!(!shown.contains("secret-path") && !shown.contains("secret-token"), "{shown}");
    // Another machine can use the settings.
    has(&sessions.log(&["export", "hook"]).data(), &[&address, &token]);
    assert!(!events(&sessions).contains("webhook"), "{}", events(&sessions));
}

#[test]
fn an_address_in_a_private_file_is_used() {
    let Some(mut receiver) = Receiver::start(&["204"]) else { return };
    let (sessions, folder) = (Sessions::new(), Folder::new());
    let program = Program::start(&folder, "tally-hook-b");
    let file = folder.write("address", format!("{}/secret\n", receiver.address).as_bytes());
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    start(&sessions, &program, &["--webhook", &format!("@{file}")]);
    let request = receiver.requests.next().unwrap();
    assert_eq!((&request["path"], &request["authorization"]), (&json!("/secret"), &Json::Null));
    assert!(!sessions.log(&["export", "hook"]).data().contains("/secret"));
}

#[test]
fn a_refusal_is_an_event_with_its_words() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    other.set_nonblocking(true).unwrap();
    let elsewhere = format!("302 http://{}/", other.local_addr().unwrap());
    for (status, words, tries) in [
        ("500", "500 Internal Server Error: the text", 3),
        ("404", "404 Not Found: the text", 1),
        (&elsewhere, "302 Found: redirects are not followed", 1),
    ] {
        let Some(mut receiver) = Receiver::start(&[status]) else { return };
        let (sessions, folder) = (Sessions::new(), Folder::new());
        let program = Program::start(&folder, "tally-hook-c");
        start(&sessions, &program, &["--webhook", &format!("{}/secret", receiver.address)]);
        for _ in 0..tries {
            assert_eq!(receiver.requests.next().unwrap()["path"], "/secret");
        }
        until("the event", || events(&sessions).contains(words));
        let line = events(&sessions).lines().find(|line| line.contains(words)).unwrap().to_owned();
        has(&line, &["hook", "Thread Count", &receiver.address]);
        assert!(!line.contains("secret"), "{line}");
        // The status of the session has it with the next alert.
        drop(program);
        until("the error", || {
            let error = sessions.status("hook")["last_error"].clone();
            error.as_str().is_some_and(|error| error.contains(words) && !error.contains("secret"))
        });
    }
    assert!(other.accept().is_err(), "nobody was sent elsewhere");
}

#[test]
fn a_receiver_that_never_answers_delays_no_sample() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let (sessions, folder) = (Sessions::new(), Folder::new());
    let program = Program::start(&folder, "tally-hook-d");
    let address = format!("http://{}/", silent.local_addr().unwrap());
    start(&sessions, &program, &["--webhook", &address]);
    let (mut connection, _) = silent.accept().unwrap();
    let mut begin = [0u8; 5];
    connection.read_exact(&mut begin).unwrap();
    assert_eq!(&begin, b"POST ");
    // While the post waits, samples are taken.
    let records = || sessions.status("hook")["records"].as_u64().unwrap();
    let before = records();
    until("samples", || records() > before + 5);
    assert!(!events(&sessions).contains("no answer"), "{}", events(&sessions));
    until("the event", || events(&sessions).contains("no answer within 5 s; it was tried 3 times"));
}
