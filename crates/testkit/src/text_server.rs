//! A server for tests of clients: it is well, away, slow, broken or hostile, and can change while it runs.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What a server answers to everybody who connects and says something.
#[derive(Debug, Clone)]
pub enum Reply {
    /// HTTP with this body.
    Text(String),
    /// These bytes, whatever the protocol.
    Bytes(Vec<u8>),
    /// Nothing, on a connection that stays open.
    Nothing,
    /// These bytes, and then a byte now and then, without an end.
    Drip(Vec<u8>),
    /// The first bytes once, and the second ones again and again, up to 1 GB.
    Flood(Vec<u8>, Vec<u8>),
    /// HTTP with this body, when the gate is open.
    Gated(String, Gate),
}

impl Reply {
    /// These bytes, whatever the protocol.
    pub fn bytes(bytes: &(impl AsRef<[u8]> + ?Sized)) -> Reply {
        Reply::Bytes(bytes.as_ref().to_vec())
    }
}

/// A gate that a test opens.
#[derive(Debug, Clone, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    /// Lets everybody through.
    pub fn open(&self) {
        *lock(&self.0.0) = true;
        self.0.1.notify_all();
    }

    fn wait(&self) {
        let mut is_open = lock(&self.0.0);
        while !*is_open {
            is_open = self.0.1.wait(is_open).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A server on a free port of this machine. It ends with the test's process.
#[derive(Debug)]
pub struct TextServer {
    at: SocketAddr,
    reply: Arc<Mutex<Reply>>,
    requests: Arc<AtomicUsize>,
}

/// The head of an answer.
const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n";

impl TextServer {
    /// Starts a server.
    ///
    /// # Panics
    ///
    /// When there is no free port.
    pub fn start(reply: Reply) -> TextServer {
        let bound =
            TcpListener::bind("127.0.0.1:0").and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (at, listener) = match bound {
            Ok(bound) => bound,
            Err(error) => panic!("there is no free port: {error}"),
        };
        let server = TextServer { at, reply: Arc::new(Mutex::new(reply)), requests: Arc::default() };
        let (reply, requests) = (Arc::clone(&server.reply), Arc::clone(&server.requests));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (reply, requests) = (lock(&reply).clone(), Arc::clone(&requests));
                std::thread::spawn(move || answer(stream, reply, &requests));
            }
        });
        server
    }

    /// Starts a server of HTTP that says a text.
    ///
    /// # Panics
    ///
    /// When there is no free port.
    pub fn says(text: &str) -> TextServer {
        TextServer::start(Reply::Text(text.to_owned()))
    }

    /// Where it listens.
    pub const fn at(&self) -> SocketAddr {
        self.at
    }

    /// What it answers from now on.
    pub fn set(&self, reply: Reply) {
        *lock(&self.reply) = reply;
    }

    /// How many requests there were.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Errors are those of clients that have gone.
fn answer(mut stream: TcpStream, reply: Reply, requests: &AtomicUsize) {
    if !read_request(&mut stream) {
        return;
    }
    requests.fetch_add(1, Ordering::SeqCst);
    let text = |stream: &mut TcpStream, text: &str| {
        let _ = write!(stream, "{HEAD}Content-Length: {}\r\n\r\n{text}", text.len());
    };
    match reply {
        Reply::Text(body) => text(&mut stream, &body),
        Reply::Bytes(bytes) => _ = stream.write_all(&bytes),
        Reply::Nothing => return drain(&mut stream),
        Reply::Drip(begin) => {
            let _ = stream.write_all(&begin);
            while stream.write_all(b"a").is_ok() {
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        Reply::Flood(begin, part) => {
            let _ = stream.write_all(&begin);
            let part = part.repeat(1_000_000usize.checked_div(part.len()).unwrap_or(1));
            for _ in 0..1000 {
                if stream.write_all(&part).is_err() {
                    return;
                }
            }
        }
        Reply::Gated(body, gate) => {
            gate.wait();
            text(&mut stream, &body);
        }
    }
    // A connection that is closed with something unread would take back what was sent.
    let _ = stream.shutdown(std::net::Shutdown::Write);
    drain(&mut stream);
}

/// Reads a request: of HTTP its head, of another protocol what comes first. `false` when nothing comes.
fn read_request(stream: &mut TcpStream) -> bool {
    let (mut request, mut part) = (Vec::new(), [0u8; 4096]);
    loop {
        match stream.read(&mut part) {
            Ok(0) | Err(_) => return !request.is_empty(),
            Ok(read) => request.extend_from_slice(part.get(..read).unwrap_or_default()),
        }
        if !request.starts_with(b"GET ") || request.ends_with(b"\r\n\r\n") {
            return true;
        }
    }
}

/// Reads what comes until the client goes.
fn drain(stream: &mut TcpStream) {
    while stream.read(&mut [0u8; 4096]).is_ok_and(|read| read > 0) {}
}
