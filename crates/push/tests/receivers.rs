//! Receivers that are away, busy, picky, broken or hostile, and what the sender does about each.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tallymon_export::protobuf::Message;
use tallymon_push::{Encoding, Endpoint, Event, Protocol, Queue, Sender, Tls};
use tallymon_testkit::{Scratch, attack, peer};

/// Longer than anything takes on a loaded machine; a test that waits so long fails.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a receiver does with a request.
enum Does {
    /// Answers with a status, headers and a body.
    Answers(u16, &'static str, Vec<u8>),
    /// Reads and closes.
    Closes,
    /// Says something that is no HTTP.
    Babbles,
    /// Never answers.
    Hangs,
    /// Answers with a body that never ends.
    Floods,
    /// Answers with headers that never end.
    FloodsHeaders,
}

fn ok() -> Does {
    Does::Answers(200, "", Vec::new())
}

/// Heads and bodies.
type Requests = Vec<(String, Vec<u8>)>;

/// A receiver that does one thing after another, and in the end takes everything. It keeps the bodies and the
/// heads of requests.
#[derive(Clone)]
struct Receiver {
    at: SocketAddr,
    requests: Arc<Mutex<Requests>>,
}

impl Receiver {
    fn start(script: Vec<Does>) -> Receiver {
        Receiver::on(TcpListener::bind("127.0.0.1:0").unwrap(), script)
    }

    fn on(listener: TcpListener, script: Vec<Does>) -> Receiver {
        let at = listener.local_addr().unwrap();
        let requests: Arc<Mutex<Requests>> = Arc::default();
        let kept = Arc::clone(&requests);
        std::thread::spawn(move || {
            let mut script = script.into_iter();
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let does = script.next().unwrap_or_else(ok);
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || act(stream, does, &kept));
            }
        });
        Receiver { at, requests }
    }

    fn bodies(&self) -> Vec<Vec<u8>> {
        self.requests.lock().unwrap().iter().map(|(_, body)| body.clone()).collect()
    }
}

fn act(mut stream: TcpStream, does: Does, kept: &Mutex<Requests>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut line) = (String::new(), String::new());
    while reader.read_line(&mut line).unwrap_or(0) > 2 {
        head.push_str(&line.to_lowercase());
        line.clear();
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    kept.lock().unwrap().push((head, body));
    // The other side may have gone.
    let _ = match does {
        Does::Answers(status, headers, body) => {
            let length = body.len();
            let head = format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {length}\r\n\r\n");
            stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body))
        }
        Does::Closes => Ok(()),
        Does::Babbles => stream.write_all(b"220 mail.example ESMTP\r\n"),
        Does::Hangs => {
            // Until the sender gives up.
            let _ = reader.read(&mut [0]);
            Ok(())
        }
        Does::Floods => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
            while stream.write_all(b"8\r\naaaaaaaa\r\n").is_ok() {}
            Ok(())
        }
        Does::FloodsHeaders => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
            while stream.write_all(b"a: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n").is_ok() {}
            Ok(())
        }
    };
}

struct Sending {
    sender: Sender,
    events: Arc<Mutex<Vec<Event>>>,
    folder: Scratch,
}

impl Sending {
    fn start(at: SocketAddr, protocol: Protocol) -> Sending {
        let mut endpoint = Endpoint::new(&format!("http://{at}"), "/v1/metrics", &Tls::default()).unwrap();
        endpoint.set_timeout(Duration::from_millis(500));
        Sending::to(endpoint, protocol, Scratch::new(), 1 << 20)
    }

    fn to(endpoint: Endpoint, protocol: Protocol, folder: Scratch, limit: u64) -> Sending {
        let events: Arc<Mutex<Vec<Event>>> = Arc::default();
        let kept = Arc::clone(&events);
        let queue = Queue::open(&folder, limit).unwrap();
        let report = move |event| kept.lock().unwrap().push(event);
        let sender = Sender::start(queue, endpoint, protocol, report).unwrap();
        Sending { sender, events, folder }
    }

    fn put(&self, text: &str) {
        self.sender.put(Encoding::Identity.item(1, text.into()).unwrap());
    }

    fn events(&self) -> Vec<String> {
        self.events.lock().unwrap().iter().map(ToString::to_string).collect()
    }

    /// Waits until nothing waits.
    fn drain(self) -> Vec<String> {
        let events = Arc::clone(&self.events);
        assert_eq!(self.sender.finish(PATIENCE), 0);
        events.lock().unwrap().iter().map(ToString::to_string).collect()
    }
}

fn texts(receiver: &Receiver) -> Vec<String> {
    receiver.bodies().into_iter().map(|body| String::from_utf8(body).unwrap()).collect()
}

#[test]
fn a_receiver_that_comes_back_gets_everything_in_order() {
    let script = vec![
        Does::Answers(503, "Retry-After: 1\r\n", b"not now".to_vec()),
        Does::Answers(429, "", Vec::new()),
        Does::Closes,
        ok(),
        Does::Answers(502, "", Vec::new()),
    ];
    let receiver = Receiver::start(script);
    let sending = Sending::start(receiver.at, Protocol::Otlp);
    for text in ["one", "two", "three"] {
        sending.put(text);
    }
    let events = sending.drain();
    assert_eq!(texts(&receiver), ["one", "one", "one", "one", "two", "two", "three"]);
    assert_eq!(events.len(), 4, "{events:?}");
    assert!(events[0].contains("503 Service Unavailable: not now"), "{events:?}");
    assert!(events[1].contains("taken again") && events[2].contains("502"), "{events:?}");
    let heads = receiver.requests.lock().unwrap();
    let head = &heads[0].0;
    assert!(head.starts_with("post /v1/metrics http/1.1\r\n"), "{head}");
    assert!(head.contains("content-type: application/x-protobuf\r\n"), "{head}");
}

#[test]
fn a_receiver_that_was_killed_gets_what_waited_from_the_next_process() {
    // Nothing listens here until later.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    drop(listener);
    let sending = Sending::start(at, Protocol::RemoteWrite);
    for text in ["one", "two"] {
        sending.put(text);
    }
    let begin = Instant::now();
    while sending.events().is_empty() {
        assert!(begin.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(sending.events()[0].contains("no connection"), "{:?}", sending.events());
    let Sending { sender, folder, .. } = sending;
    assert_eq!(sender.finish(Duration::from_millis(1)), 2);
    let receiver = Receiver::on(TcpListener::bind(at).unwrap(), Vec::new());
    let endpoint = Endpoint::new(&format!("http://{at}"), "/", &Tls::default()).unwrap();
    let sending = Sending::to(endpoint, Protocol::RemoteWrite, folder, 1 << 20);
    sending.put("three");
    sending.drain();
    assert_eq!(texts(&receiver), ["one", "two", "three"]);
}

#[test]
fn what_a_receiver_refuses_is_said_and_does_not_hold_up_the_rest() {
    let status = |text: &str| {
        let mut status = Message::new();
        status.varint(1, 3);
        status.bytes(2, text);
        status.into_bytes()
    };
    for (protocol, refusal) in [
        (Protocol::Otlp, Does::Answers(400, "", status("no such\ntenant"))),
        // The protocol forbids to repeat after a 500.
        (Protocol::Otlp, Does::Answers(500, "", status("no such tenant"))),
        (Protocol::Otlp, Does::Answers(301, "Location: http://elsewhere/\r\n", status("no such tenant"))),
        (Protocol::RemoteWrite, Does::Answers(400, "", b"no such tenant".to_vec())),
        (Protocol::Influx, Does::Answers(404, "", b"no such  tenant\n".to_vec())),
    ] {
        let receiver = Receiver::start(vec![refusal]);
        let sending = Sending::start(receiver.at, protocol);
        sending.put("one");
        sending.put("two");
        let events = sending.drain();
        assert_eq!(texts(&receiver), ["one", "two"]);
        assert!(events.len() == 1 && events[0].contains("no such tenant"), "{events:?}");
        assert!(events[0].contains("refused"), "{events:?}");
    }
    let receiver = Receiver::start(vec![Does::Answers(500, "", Vec::new())]);
    let sending = Sending::start(receiver.at, Protocol::RemoteWrite);
    sending.put("one");
    sending.drain();
    assert_eq!(texts(&receiver), ["one", "one"]);
}

#[test]
fn points_that_were_rejected_are_counted() {
    let mut answer = Message::new();
    answer.message(1, |partial| {
        partial.varint(1, 7);
        partial.bytes(2, "too old");
    });
    let receiver = Receiver::start(vec![Does::Answers(200, "", answer.into_bytes())]);
    let sending = Sending::start(receiver.at, Protocol::Otlp);
    sending.put("one");
    assert_eq!(sending.drain(), ["7 points were rejected: too old"]);
    assert_eq!(receiver.bodies().len(), 1);
}

#[test]
fn a_full_queue_drops_the_oldest_and_says_so() {
    let receiver = Receiver::start(vec![Does::Hangs]);
    let endpoint = Endpoint::new(&format!("http://{}", receiver.at), "/", &Tls::default()).unwrap();
    let sending = Sending::to(endpoint, Protocol::Influx, Scratch::new(), 100);
    let begin = Instant::now();
    sending.put("one");
    while receiver.bodies().is_empty() {
        assert!(begin.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(10));
    }
    for text in ["two", "three", "four"] {
        sending.put(text);
    }
    let events = sending.drain();
    assert_eq!(texts(&receiver)[1..], ["two", "three", "four"]);
    assert!(events.iter().any(|event| event.contains("the queue is full")), "{events:?}");
}

#[test]
fn attack_receiver_that_is_hostile() {
    // Each of these is tried again and ends in a timeout or an error.
    let script = vec![Does::Hangs, Does::Babbles, Does::FloodsHeaders];
    let receiver = Receiver::start(script);
    let sending = Sending::start(receiver.at, Protocol::Otlp);
    sending.put("one");
    sending.drain();
    assert_eq!(texts(&receiver), ["one"; 4]);
    // An answer that never ends is none, but its status is.
    let receiver = Receiver::start(vec![Does::Floods]);
    let sending = Sending::start(receiver.at, Protocol::Otlp);
    sending.put("one");
    sending.put("two");
    let events = sending.drain();
    assert_eq!((texts(&receiver), events), (vec!["one".to_owned(), "two".to_owned()], Vec::new()));
    attack(
        "pages",
        "a receiver of counters never answers, answers without end, or speaks another protocol",
        "each request has a deadline and a limit; what was not taken waits on disk",
    );
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn https_takes_only_a_certificate_that_is_trusted() {
    let (Some(openssl), Some(python)) = (peer("openssl"), peer("python3")) else { return };
    let folder = Scratch::new();
    let request = "[req]\ndistinguished_name=name\nx509_extensions=more\nprompt=no\n[name]\nCN=localhost\n\
                   [more]\nbasicConstraints=CA:FALSE\nsubjectAltName=DNS:localhost\n";
    std::fs::write(folder.join("req.conf"), request).unwrap();
    let made = Command::new(openssl)
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-config", "req.conf"])
        .args(["-keyout", "key.pem", "-out", "cert.pem"])
        .current_dir(&*folder)
        .stderr(Stdio::null())
        .status();
    assert!(made.unwrap().success());
    let script = "import http.server, ssl, sys
class Taker(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers['Content-Length']))
        self.send_response(200); self.send_header('Content-Length', '0'); self.end_headers()
    def log_message(self, *_): pass
server = http.server.HTTPServer(('127.0.0.1', 0), Taker)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain('cert.pem', 'key.pem')
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
";
    let mut server = Command::new(python);
    server.args(["-c", script]).current_dir(&*folder).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = Running(server.spawn().unwrap());
    let mut port = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let address = |host: &str| format!("https://{host}:{}", port.trim());
    let trusting = Tls { certificate: Some(folder.join("cert.pem")), client: None };
    // Not trusted; trusted under another name; trusted.
    let other = Tls::default();
    for (address, tls, is_taken) in [
        (address("localhost"), &other, false),
        (address("127.0.0.1"), &trusting, false),
        (address("localhost"), &trusting, true),
    ] {
        let Ok(endpoint) = Endpoint::new(&address, "/", tls) else {
            // A machine without certificates trusts nobody.
            assert!(!is_taken);
            continue;
        };
        let sending = Sending::to(endpoint, Protocol::Otlp, Scratch::new(), 1000);
        sending.put("one");
        let begin = Instant::now();
        while sending.sender.waiting() > 0 && sending.events().is_empty() {
            assert!(begin.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(10));
        }
        let events = sending.events();
        assert_eq!(events.is_empty(), is_taken, "{address}: {events:?}");
        assert!(is_taken || events[0].contains("certificate"), "{events:?}");
        assert_eq!(sending.sender.finish(Duration::ZERO), usize::from(!is_taken));
    }
}
