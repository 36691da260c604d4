//! A connection to a server that speaks a protocol of its own, within a time and a length.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

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
    pub(super) host: String,
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
            return Err("an address has no '?', '#' or '%' here, besides ?sslmode=verify-full of PostgreSQL"
                .to_owned());
        }
        let (host, port) = match host.rsplit_once(':').filter(|(_, port)| !port.contains(']')) {
            Some((host, port)) => {
                // What is no port may be the begin of a password that has a '/'.
                let port = port.parse().map_err(|_| "the port is no number from 0 to 65535".to_owned())?;
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

trait Socket: Read + Write {
    fn limit(&self, time: Duration) -> io::Result<()>;
}

impl Socket for TcpStream {
    fn limit(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))?;
        self.set_write_timeout(Some(time))
    }
}

#[cfg(unix)]
impl Socket for std::os::unix::net::UnixStream {
    fn limit(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))?;
        self.set_write_timeout(Some(time))
    }
}

/// What a server said once; what is sent goes nowhere.
struct Recorded(io::Cursor<Vec<u8>>);

impl Read for Recorded {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}

impl Write for Recorded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Socket for Recorded {
    fn limit(&self, _: Duration) -> io::Result<()> {
        Ok(())
    }
}

/// A socket of which each read and write ends when the time of the bridge is over: TLS reads as often as it
/// likes.
struct Timed {
    socket: Box<dyn Socket>,
    clock: Clock,
}

impl Timed {
    fn limit(&self) -> io::Result<()> {
        let left = self.clock.left().map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?;
        self.socket.limit(left)
    }
}

impl Read for Timed {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.limit()?;
        self.socket.read(bytes)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.limit()?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

enum Stream {
    Plain(Timed),
    Tls(Box<StreamOwned<ClientConnection, Timed>>),
}

impl Stream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(stream) => stream.read(bytes),
            Stream::Tls(stream) => stream.read(bytes),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Stream::Plain(stream) => stream.write_all(bytes),
            Stream::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        }
    }
}

/// A connection. Whatever is read from it ends at the timeout of its bridge.
pub(super) struct Wire {
    stream: Stream,
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
    fn of(timeout: Duration) -> Clock {
        let now = Instant::now();
        Clock { timeout, until: now.checked_add(timeout).unwrap_or(now) }
    }

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
        let clock = Clock::of(settings.timeout());
        let socket: Box<dyn Socket> = match &settings.socket {
            Some(path) => unix(path)?,
            None => Box::new(tcp(&address.host, address.port.unwrap_or(usual_port), clock)?),
        };
        Ok(Wire::over(socket, clock))
    }

    /// A conversation that was recorded.
    pub(super) fn recorded(bytes: &[u8]) -> Wire {
        Wire::over(Box::new(Recorded(io::Cursor::new(bytes.to_vec()))), Clock::of(Duration::from_secs(60)))
    }

    fn over(socket: Box<dyn Socket>, clock: Clock) -> Wire {
        let stream = Stream::Plain(Timed { socket, clock });
        Wire { stream, clock, bytes: Vec::new(), taken: 0, rest: MOST_BYTES }
    }

    /// The same connection in TLS, after the server has proved that it has this name.
    pub(super) fn secured(self, configuration: &Arc<ClientConfig>, name: &str) -> Result<Wire, String> {
        if !self.unread().is_empty() {
            // Somebody on the way could have put it there, and it would pass for what came in TLS.
            return Err("the server sent more before TLS began".to_owned());
        }
        let Stream::Plain(mut timed) = self.stream else { return Err("TLS in TLS".to_owned()) };
        let clock = self.clock;
        let name = ServerName::try_from(name.to_owned()).map_err(|error| format!("TLS: {error}"))?;
        let connection = ClientConnection::new(Arc::clone(configuration), name);
        let mut connection = connection.map_err(|error| format!("TLS: {error}"))?;
        while connection.is_handshaking() {
            connection.complete_io(&mut timed).map_err(|error| match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => clock.words(),
                _ => format!("no TLS: {error}"),
            })?;
        }
        let stream = Stream::Tls(Box::new(StreamOwned::new(connection, timed)));
        Ok(Wire { stream, ..self })
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        let clock = self.clock;
        self.stream.write_all(bytes).map_err(|error| failed(&error, clock))
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
        let read = self.stream.read(&mut part).map_err(|error| failed(&error, clock))?;
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
fn unix(path: &Path) -> Result<Box<dyn Socket>, String> {
    let stream = std::os::unix::net::UnixStream::connect(path);
    let stream = stream.map_err(|error| format!("no connection: {}: {error}", path.display()))?;
    Ok(Box::new(stream))
}

#[cfg(not(unix))]
fn unix(path: &Path) -> Result<Box<dyn Socket>, String> {
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
