//! A connection to a server that speaks a protocol of its own, within a time and a length.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::settings::Settings;

/// The most bytes of all answers on one connection.
pub(super) const MOST_BYTES: usize = 16 << 20;
/// How much is read at once.
const PART: usize = 16 << 10;
/// How much of an answer that is none is shown, in letters.
const SHOWN: usize = 100;

/// An address such as `redis://USER@HOST:PORT/PATH`, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) user: Option<String>,
    host: String,
    port: Option<u16>,
    /// What follows the first `/` behind the host.
    pub(super) path: Option<String>,
}

impl Address {
    /// The parts of an address that begins with one of these schemes.
    pub(super) fn of(url: &str, schemes: &[&str]) -> Result<Address, String> {
        let begin = || format!("an address of this kind begins with {}://", schemes.first().unwrap_or(&""));
        let (scheme, rest) = url.split_once("://").ok_or_else(begin)?;
        if !schemes.contains(&scheme) {
            return Err(begin());
        }
        let (authority, path) = match rest.split_once('/') {
            Some((authority, path)) => (authority, Some(path).filter(|path| !path.is_empty())),
            None => (rest, None),
        };
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        if user.is_some_and(|user| user.contains(':')) {
            return Err("give the password in a file, not in the address".to_owned());
        }
        if url.contains(['?', '#', '%']) {
            return Err("an address has no '?', '#' or '%' here".to_owned());
        }
        let (host, port) = match host.rsplit_once(':').filter(|(_, port)| !port.contains(']')) {
            Some((host, port)) => {
                let port = port.parse().map_err(|_| format!("{port:?} is no port"))?;
                (host, Some(port))
            }
            None => (host, None),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err("the host is missing".to_owned());
        }
        let user = user.filter(|user| !user.is_empty()).map(str::to_owned);
        Ok(Address { user, host: host.to_owned(), port, path: path.map(str::to_owned) })
    }
}

trait Stream: Read + Write {
    fn limit(&self, time: Duration) -> io::Result<()>;
}

impl Stream for TcpStream {
    fn limit(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))?;
        self.set_write_timeout(Some(time))
    }
}

#[cfg(unix)]
impl Stream for std::os::unix::net::UnixStream {
    fn limit(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))?;
        self.set_write_timeout(Some(time))
    }
}

/// A connection. Whatever is read from it ends at the timeout of its bridge.
pub(super) struct Wire {
    stream: Box<dyn Stream>,
    clock: Clock,
    /// What was read and not yet taken begins at `taken`.
    bytes: Vec<u8>,
    taken: usize,
    /// How many bytes may still come.
    rest: usize,
}

/// The time that a bridge has.
#[derive(Clone, Copy)]
struct Clock {
    timeout: Duration,
    until: Instant,
}

impl Clock {
    fn left(self) -> Result<Duration, String> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(self.words()) } else { Ok(left) }
    }

    fn words(self) -> String {
        format!("no answer within {} s", self.timeout.as_secs_f64())
    }
}

impl Wire {
    /// Connects to the socket or the address of a bridge.
    pub(super) fn connect(settings: &Settings, address: &Address, usual_port: u16) -> Result<Wire, String> {
        let timeout = settings.timeout();
        let now = Instant::now();
        let clock = Clock { timeout, until: now.checked_add(timeout).unwrap_or(now) };
        let stream: Box<dyn Stream> = match &settings.socket {
            Some(path) => unix(path)?,
            None => Box::new(tcp(&address.host, address.port.unwrap_or(usual_port), clock)?),
        };
        Ok(Wire { stream, clock, bytes: Vec::new(), taken: 0, rest: MOST_BYTES })
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        let clock = self.clock;
        self.stream
            .limit(clock.left()?)
            .and_then(|()| self.stream.write_all(bytes))
            .map_err(|error| failed(&error, clock))
    }

    /// How long answers may still come, in milliseconds.
    pub(super) fn ms_left(&self) -> u128 {
        self.clock.left().map_or(1, |left| left.as_millis().max(1))
    }

    /// The next bytes, of which there are at most 16 MiB.
    pub(super) fn take(&mut self, length: usize) -> Result<Vec<u8>, String> {
        while self.unread().len() < length {
            self.more()?;
        }
        let bytes = self.unread().get(..length).unwrap_or_default().to_vec();
        self.taken = self.taken.saturating_add(length);
        Ok(bytes)
    }

    /// The next line of at most 64 KiB, without its end.
    pub(super) fn line(&mut self) -> Result<String, String> {
        loop {
            let unread = self.unread();
            if let Some(end) = unread.iter().position(|byte| *byte == b'\n') {
                let line = self.take(end.saturating_add(1))?;
                return Ok(String::from_utf8_lossy(line.trim_ascii_end()).into_owned());
            }
            if unread.len() > 64 << 10 {
                return Err("a line of the answer has no end".to_owned());
            }
            self.more()?;
        }
    }

    fn unread(&self) -> &[u8] {
        self.bytes.get(self.taken..).unwrap_or_default()
    }

    fn more(&mut self) -> Result<(), String> {
        self.bytes.drain(..self.taken.min(self.bytes.len()));
        self.taken = 0;
        let clock = self.clock;
        let mut part = [0u8; PART];
        let read = self.stream.limit(clock.left()?).and_then(|()| self.stream.read(&mut part));
        let read = read.map_err(|error| failed(&error, clock))?;
        if read == 0 {
            return Err("no answer: the server closed the connection".to_owned());
        }
        self.rest = self.rest.checked_sub(read).ok_or_else(too_long)?;
        self.bytes.extend_from_slice(part.get(..read).unwrap_or_default());
        Ok(())
    }
}

/// The error of an answer that is too long.
pub(super) fn too_long() -> String {
    format!("the answer has more than {MOST_BYTES} bytes, which are read at most")
}

/// The beginning of what a server says, in one line.
pub(super) fn shown(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(SHOWN).collect()
}

fn failed(error: &io::Error, clock: Clock) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => clock.words(),
        _ => format!("no answer: {error}"),
    }
}

#[cfg(unix)]
fn unix(path: &Path) -> Result<Box<dyn Stream>, String> {
    let stream = std::os::unix::net::UnixStream::connect(path);
    let stream = stream.map_err(|error| format!("no connection: {}: {error}", path.display()))?;
    Ok(Box::new(stream))
}

#[cfg(not(unix))]
fn unix(path: &Path) -> Result<Box<dyn Stream>, String> {
    Err(format!("{}: there are no Unix sockets on this system", path.display()))
}

fn tcp(host: &str, port: u16, clock: Clock) -> Result<TcpStream, String> {
    let mut last = "no connection: the name has no address".to_owned();
    for address in addresses(host, port, clock)? {
        match TcpStream::connect_timeout(&address, clock.left()?) {
            Ok(stream) => {
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Err(error) => last = format!("no connection: {error}"),
        }
    }
    Err(last)
}

/// The addresses of a name. The system looks it up as long as it likes, so nobody waits for that.
fn addresses(host: &str, port: u16, clock: Clock) -> Result<Vec<SocketAddr>, String> {
    let (send, receive) = std::sync::mpsc::channel();
    let host = host.to_owned();
    let look_up = move || {
        let found = (host.as_str(), port).to_socket_addrs().map(Iterator::collect);
        // Nobody waits any more when the time is over.
        let _ = send.send(found);
    };
    let thread = std::thread::Builder::new().name("tallymon-bridge".to_owned()).spawn(look_up);
    thread.map_err(|error| format!("no connection can be made: {error}"))?;
    let found = receive.recv_timeout(clock.left()?).map_err(|_| clock.words())?;
    found.map_err(|error: io::Error| format!("no connection: {error}"))
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
