//! A server of the tests, and a client that speaks plain HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use tallymon::core::title::Language;
use tallymon::log::ReadOptions;
use tallymon::{Locale, Location};
use tallymon_serve::{Options, Server};

/// Longer than any answer takes on a loaded machine; a test that waits so long fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Running {
    pub(crate) at: SocketAddr,
    pub(crate) token: String,
    /// The address with the token.
    pub(crate) first: String,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    pub(crate) fn start(live: bool, logs: &[PathBuf]) -> Running {
        Running::with(Options { logs: logs.to_vec(), live: live.then_some(Location::Local), ..options() })
    }

    pub(crate) fn with(options: Options) -> Running {
        let server = Server::bind(options).unwrap();
        let (api, token) = server.api();
        let at = api.strip_prefix("http://").unwrap().split('/').next().unwrap().parse().unwrap();
        let (first, token) = (server.address(), token.to_string());
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let thread = std::thread::spawn(move || server.run(&seen).unwrap());
        Running { at, token, first, stop, thread: Some(thread) }
    }

    /// Sends a request as it is.
    pub(crate) fn send(&self, text: &str) -> Reply {
        let mut stream = self.connect();
        stream.write_all(text.as_bytes()).unwrap();
        Reply::read(stream)
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.at).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// The head of a request that may be answered.
    pub(crate) fn head(&self, method: &str, target: &str) -> String {
        let Running { at, token, .. } = self;
        format!(
            "{method} {target} HTTP/1.1\r\nHost: {at}\r\nAuthorization: Bearer {token}\r\n\
             Connection: close\r\n"
        )
    }

    /// An answer that must be there.
    pub(crate) fn get(&self, target: &str) -> Value {
        let reply = self.send(&format!("{}\r\n", self.head("GET", target)));
        assert_eq!(reply.status, 200, "{target}: {}", reply.text());
        serde_json::from_slice(&reply.body).unwrap()
    }

    /// An answer that satisfies a condition, asked for again and again.
    pub(crate) fn wait(&self, target: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let begin = std::time::Instant::now();
        loop {
            let answer = self.get(target);
            if wanted(&answer) {
                return answer;
            }
            assert!(begin.elapsed() < PATIENCE, "{target}: {answer}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || ended.is_some_and(|ended| ended.is_ok()), "the server panicked");
    }
}

pub(crate) fn options() -> Options {
    Options {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        live: None,
        machines: Vec::new(),
        logs: Vec::new(),
        reading: ReadOptions::default(),
        interval: Duration::from_millis(100),
        locale: Locale::from(Language::ENGLISH),
        usual: vec![r"\Processor(_Total)\% Processor Time".into(), r"\System\Processes".into()],
        uploads: 1 << 20,
        metrics: None,
        token: None,
        secure: None,
        sessions: None,
        events: None,
        profiles: None,
    }
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn read(stream: TcpStream) -> Reply {
        let mut reader = BufReader::new(stream);
        let (status, headers) = head(&mut reader);
        let mut body = Vec::new();
        // A server that refuses may close before it has read everything.
        let _ = reader.read_to_end(&mut body);
        Reply { status, headers, body }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Reads the head of an answer; status 0 if there is none.
pub(crate) fn head(reader: &mut impl BufRead) -> (u16, Vec<(String, String)>) {
    let mut line = String::new();
    let _ = reader.read_line(&mut line);
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let mut headers = Vec::new();
    loop {
        line.clear();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
            return (status, headers);
        }
        if let Some((name, value)) = line.trim().split_once(':') {
            headers.push((name.to_lowercase(), value.trim().to_string()));
        }
    }
}

/// The rows of a stream, until there are enough.
pub(crate) fn stream(server: &Running, target: &str, more: &str, enough: usize) -> Vec<Value> {
    let mut stream = server.connect();
    write!(stream, "{}{more}\r\n", server.head("GET", target)).unwrap();
    let mut reader = BufReader::new(stream);
    assert_eq!(head(&mut reader).0, 200);
    let (mut rows, mut line) = (Vec::new(), String::new());
    while rows.len() < enough {
        line.clear();
        assert!(reader.read_line(&mut line).unwrap() > 0, "the stream ended");
        if let Some(data) = line.strip_prefix("data: ") {
            let data: Value = serde_json::from_str(data).unwrap();
            if data.get("row").is_some() {
                rows.push(data);
            }
        }
    }
    rows
}
