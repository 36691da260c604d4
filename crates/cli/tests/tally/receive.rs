//! `tally serve --statsd --otlp`: what a program sends is there for every command.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::support::{Folder, TALLY, clean, ran, signal, tally};

/// Receivers that end with their test.
struct Receivers(Child);

impl Drop for Receivers {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn command(folder: &Folder, words: &[&str]) -> Command {
    let mut command = clean(TALLY);
    command.env("TALLYMON_ROOT", folder.path()).stdin(Stdio::null()).args(words);
    command
}

#[test]
fn what_arrives_is_an_object_for_every_command() {
    let folder = Folder::new();
    let mut serve = command(&folder, &["serve", "--statsd", "127.0.0.1:0", "--otlp", "127.0.0.1:0"]);
    let mut child = serve.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let receivers = Receivers(child);
    let mut address = |begin: &str, end: &str| {
        let line = lines.next().unwrap().unwrap();
        let address = line.strip_prefix(begin).and_then(|rest| rest.strip_suffix(end));
        address.unwrap_or_else(|| panic!("{line}")).to_owned()
    };
    let (statsd, otlp) = (address("statsd://", ""), address("http://", "/v1/metrics"));
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.send_to(b"orders:7|g|#kind:book", &statsd).unwrap();
    let body = r#"{"resourceMetrics":[{"resource":{"attributes":[
        {"key":"service.name","value":{"stringValue":"shop"}}]},"scopeMetrics":[{"metrics":[
        {"name":"stock","description":"What is left.","gauge":{"dataPoints":[{"asInt":"42"}]}}]}]}]}"#;
    let mut stream = TcpStream::connect(&otlp).unwrap();
    write!(
        stream,
        "POST /v1/metrics HTTP/1.1\r\nHost: {otlp}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    for (path, value) in [
        (r"\statsd orders(kind=book)\Value", "7"),
        (r"\shop stock(unlabelled)\Value", "42"),
        (&format!(r"\Tallymon Receiver(otlp {otlp})\Series"), "1"),
    ] {
        let began = Instant::now();
        loop {
            let got = ran(command(&folder, &["get", path]).output().unwrap());
            if got.out.contains(value) {
                break;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "{path}: {} {}", got.out, got.err);
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    let words = ran(command(&folder, &["explain", r"\shop stock(*)\Value"]).output().unwrap()).data();
    assert!(words.contains("What is left."), "{words}");
    signal(&receivers.0, "INT");
    let mut receivers = receivers;
    assert!(receivers.0.wait().unwrap().success());
    let gone = ran(command(&folder, &["get", r"\statsd orders(kind=book)\Value"]).output().unwrap());
    gone.words(3);
}

#[test]
fn bad_options_say_what_is_expected() {
    for (words, expected) in [
        (vec!["--statsd", "localhost:8125"], "127.0.0.1:8125"),
        (vec!["--statsd", "unix:s"], "begins with /"),
        (vec!["--statsd", "0.0.0.0:0"], "--allow"),
        (vec!["--otlp", "[::]:0"], "--allow"),
        (vec!["--otlp", "127.0.0.1:0", "--tls"], "--tls"),
        (vec!["--signed-gauges"], "--statsd"),
        (vec!["--statsd", "127.0.0.1:0", "--socket-mode", "9"], "660"),
    ] {
        let words: Vec<&str> = ["serve"].into_iter().chain(words).collect();
        let said = tally(&words).words(2);
        assert!(said.contains(expected), "{words:?}: {said}");
    }
}
