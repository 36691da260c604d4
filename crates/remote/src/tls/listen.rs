//! Answers the frames of peers, each on a thread of its own.
//!
//! The step that shows a known key has a limit of its own, by address, because anybody can begin it.
//! Everything behind it is for peers that somebody has let in, and they may read counters: there is no other
//! request.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustls::server::Acceptor;
use rustls::{CertificateError, Error, ServerConfig, ServerConnection, Stream};
use tallymon_core::flow::{Source, SourceError};

use super::limits::{Counts, counted};
use super::pair::{self, PairingCode};
use super::timed::Timed;
use super::verify::{self, Accept, AnyKey, FRAMES, PAIR, Verifier};
use super::{Identity, KeyHash, Limits, dial};
use crate::frames::{FrameError, read_frame_of, read_greeting, write_greeting};
use crate::serve;

/// How often the server looks whether it should end, and whether a peer was revoked.
const PERIOD: Duration = Duration::from_millis(100);
/// How long a process that is full waits before it accepts again.
const BREATH: Duration = Duration::from_millis(50);
/// The longest request of a peer.
const LONGEST_QUESTION: u32 = 1 << 20;
/// Refused connections are reported so often.
const REPORT_TIME: Duration = Duration::from_secs(10);

/// Who knows the keys of peers, and the code that is open.
pub trait Keeper: fmt::Debug + Send + Sync {
    /// The name of the client with this key; `None` if it may not come in, also when that cannot be found
    /// out.
    fn client(&self, key: &KeyHash) -> Option<String>;

    /// Counts a try to pair, and returns the code that is open; `None` if there is none.
    ///
    /// # Errors
    ///
    /// The tries cannot be counted, so nobody may try.
    fn begin_try(&self) -> Result<Option<PairingCode>, String>;

    /// Ends the code, which was proved, and keeps the key of the client under a name like this one. Returns
    /// the name.
    ///
    /// # Errors
    ///
    /// Somebody else has used the code, or nothing can be kept.
    fn pair(&self, code: &PairingCode, key: &KeyHash, name: &str) -> Result<String, String>;
}

/// Opens the source that a peer reads.
pub type OpenSource = Box<dyn Fn() -> Result<Box<dyn Source>, SourceError> + Send + Sync>;

/// What a server needs.
pub struct Options {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Its key.
    pub identity: Identity,
    /// How it calls itself.
    pub name: String,
    /// The keys of peers.
    pub keeper: Arc<dyn Keeper>,
    /// What peers read.
    pub open: OpenSource,
    /// The limits.
    pub limits: Limits,
    /// Who is told what happens.
    pub report: Box<dyn Fn(&Event) + Send + Sync>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("listen", &self.listen).finish_non_exhaustive()
    }
}

/// Something that the user of a server may want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A machine has paired.
    Paired {
        /// The name under which its key is kept.
        name: String,
        /// Its key.
        key: KeyHash,
        /// Where it is.
        address: IpAddr,
    },
    /// Connections of a peer were closed, because it was revoked.
    Revoked {
        /// Its key.
        key: KeyHash,
    },
    /// A connection was refused, or cut off.
    Refused {
        /// Where it came from.
        address: IpAddr,
        /// Why.
        why: String,
        /// How many others were refused since the last report.
        others: u64,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Paired { name, key, address } => {
                write!(f, "{address} has paired, as {name}: {key}; 'tally remote revoke {name}' ends that")
            }
            Event::Revoked { key } => write!(f, "connections of {key} were closed: it is revoked"),
            Event::Refused { address, why, others: 0 } => {
                write!(f, "a connection from {address} was closed: {why}")
            }
            Event::Refused { address, why, others } => {
                write!(
                    f,
                    "a connection from {address} was closed: {why}; {others} more since the last message"
                )
            }
        }
    }
}

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    options: Options,
    frames: Arc<ServerConfig>,
    pairing: Arc<ServerConfig>,
    counts: Mutex<Counts>,
    /// Open connections of peers.
    open: Mutex<Vec<(u64, KeyHash, TcpStream)>>,
    number: AtomicU64,
    is_over: AtomicBool,
    /// When a refusal was reported last, and how many were not.
    refused: Mutex<(Option<Instant>, u64)>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("options", &self.options).finish_non_exhaustive()
    }
}

/// Keys that the keeper knows.
#[derive(Debug)]
struct Known(Arc<dyn Keeper>);

impl Accept for Known {
    fn accepts(&self, key: &KeyHash) -> bool {
        self.0.client(key).is_some()
    }
}

impl Server {
    /// Opens the port.
    ///
    /// # Errors
    ///
    /// The port is taken, or the key cannot be used.
    pub fn bind(options: Options) -> io::Result<Server> {
        let settings = |accept: Arc<dyn Accept>, protocol| {
            verify::server(&options.identity, Verifier::new(accept), protocol).map_err(io::Error::other)
        };
        let frames = settings(Arc::new(Known(Arc::clone(&options.keeper))), FRAMES)?;
        let pairing = settings(Arc::new(AnyKey), PAIR)?;
        let listener = TcpListener::bind(options.listen)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            options,
            frames,
            pairing,
            counts: Mutex::default(),
            open: Mutex::default(),
            number: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            refused: Mutex::default(),
        });
        Ok(Server { listener, address, shared })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop` is set.
    ///
    /// # Errors
    ///
    /// The system has no resources for it.
    pub fn run(self, stop: &AtomicBool) -> io::Result<()> {
        let (listener, shared) = (self.listener, Arc::clone(&self.shared));
        let accepting = move || accept(&listener, &shared);
        let thread = thread::Builder::new().name("tally accept".to_string()).spawn(accepting)?;
        while !stop.load(Ordering::Relaxed) && !thread.is_finished() {
            thread::sleep(PERIOD);
            self.shared.end_revoked();
        }
        self.shared.is_over.store(true, Ordering::Release);
        // The thread waits for a connection, and this is one.
        let mut address = self.address;
        match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
            _ => {}
        }
        let _ = TcpStream::connect_timeout(&address, PERIOD);
        for (_, _, socket) in lock(&self.shared.open).drain(..) {
            let _ = socket.shutdown(Shutdown::Both);
        }
        Ok(())
    }
}

/// Accepts connections until the server is over.
fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        let accepted = listener.accept();
        if shared.is_over.load(Ordering::Acquire) {
            return;
        }
        let (socket, from) = match accepted {
            Ok(accepted) => accepted,
            // One that is gone already, or a process that has no descriptor left.
            Err(_) => {
                thread::sleep(BREATH);
                continue;
            }
        };
        let address = counted(from.ip());
        let begun = lock(&shared.counts).begin_handshake(&shared.options.limits, address, Instant::now());
        if let Err(refusal) = begun {
            shared.refused(from.ip(), refusal.words().to_string());
            continue;
        }
        let of_thread = Arc::clone(shared);
        let serve = move || of_thread.serve(socket, from.ip());
        if let Err(error) = thread::Builder::new().name("tally tls".to_string()).spawn(serve) {
            lock(&shared.counts).end_handshake(address);
            shared.refused(from.ip(), format!("no thread for it: {error}"));
        }
    }
}

/// A handshake that is counted until it is dropped.
struct Handshake<'s> {
    shared: &'s Shared,
    address: IpAddr,
}

impl Drop for Handshake<'_> {
    fn drop(&mut self) {
        lock(&self.shared.counts).end_handshake(self.address);
    }
}

/// A connection of a peer that is counted, and can be ended from elsewhere, until it is dropped.
struct Counted<'s> {
    shared: &'s Shared,
    peer: KeyHash,
    number: u64,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        lock(&self.shared.open).retain(|(number, ..)| *number != self.number);
        lock(&self.shared.counts).end_connection(self.peer);
    }
}

impl Shared {
    /// Serves a connection from its first byte to its last.
    fn serve(&self, socket: TcpStream, from: IpAddr) {
        let handshake = Handshake { shared: self, address: counted(from) };
        let failed = |why: &dyn fmt::Display| {
            lock(&self.counts).failed(&self.options.limits, counted(from), Instant::now());
            self.refused(from, why.to_string());
        };
        let other = socket.try_clone();
        let (other, timed) = match other.and_then(|it| Ok((it, Timed::new(socket, self.time())?))) {
            Ok(both) => both,
            Err(error) => return failed(&error),
        };
        let mut timed = timed;
        let (mut connection, is_pairing) = match self.shake(&mut timed) {
            Ok(shaken) => shaken,
            Err(error) => {
                failed(&reason(&error));
                return timed.refuse();
            }
        };
        let key = connection.peer_certificates().and_then(<[_]>::first).map(KeyHash::of);
        let Some(Ok(peer)) = key else { return failed(&"it has shown no key") };
        timed.begin(self.time());
        if is_pairing {
            self.pair(&mut connection, &mut timed, peer, from);
            return timed.refuse();
        }
        let begun = lock(&self.counts).begin_connection(&self.options.limits, peer);
        if let Err(refusal) = begun {
            return self.refused(from, refusal.words().to_string());
        }
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        lock(&self.open).push((number, peer, other));
        let _counted = Counted { shared: self, peer, number };
        drop(handshake);
        let both = Rc::new(RefCell::new((connection, timed)));
        match self.answer(&both, peer) {
            Ok(()) | Err(FrameError::Closed) => {}
            Err(FrameError::Io(error)) => self.refused(from, reason(&error)),
            Err(error) => self.refused(from, error.to_string()),
        }
    }

    fn time(&self) -> Duration {
        self.options.limits.handshake_time
    }

    /// The handshake. Returns whether the client wants to pair.
    fn shake(&self, socket: &mut Timed) -> io::Result<(ServerConnection, bool)> {
        let mut acceptor = Acceptor::default();
        let accepted = loop {
            if acceptor.read_tls(socket)? == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "closed before any key was shown"));
            }
            match acceptor.accept() {
                Ok(Some(accepted)) => break accepted,
                Ok(None) => {}
                Err((error, mut alert)) => {
                    // The other side may be gone; the reason is for our own user.
                    let _ = alert.write_all(socket);
                    return Err(io::Error::other(error));
                }
            }
        };
        let hello = accepted.client_hello();
        let is_pairing = hello.alpn().is_some_and(|mut protocols| protocols.any(|protocol| protocol == PAIR));
        let settings = if is_pairing { &self.pairing } else { &self.frames };
        let mut connection = match accepted.into_connection(Arc::clone(settings)) {
            Ok(connection) => connection,
            Err((error, mut alert)) => {
                let _ = alert.write_all(socket);
                return Err(io::Error::other(error));
            }
        };
        while connection.is_handshaking() {
            connection.complete_io(socket)?;
        }
        Ok((connection, is_pairing))
    }

    fn pair(&self, connection: &mut ServerConnection, socket: &mut Timed, key: KeyHash, from: IpAddr) {
        let options = &self.options;
        let begin = || options.keeper.begin_try();
        let keep = |code: &PairingCode, name: &str| options.keeper.pair(code, &key, name);
        let ours = (key, &options.identity, options.name.as_str());
        match pair::answer(connection, socket, ours, begin, keep) {
            Ok(name) => (options.report)(&Event::Paired { name, key, address: from }),
            Err(words) => {
                lock(&self.counts).failed(&options.limits, counted(from), Instant::now());
                self.refused(from, format!("pairing: {words}"));
            }
        }
    }

    /// Answers the requests of a peer until it ends, or is revoked.
    fn answer(&self, both: &Rc<RefCell<(ServerConnection, Timed)>>, peer: KeyHash) -> Result<(), FrameError> {
        let (mut input, mut output) = (Half(Rc::clone(both)), Half(Rc::clone(both)));
        let limits = &self.options.limits;
        write_greeting(&mut output)?;
        read_greeting(&mut input)?;
        let source = (self.options.open)();
        let mut source = source.map_err(|error| FrameError::Io(io::Error::other(error.to_string())))?;
        loop {
            both.borrow_mut().1.idle(limits.step_time);
            let question = read_frame_of(&mut input, LONGEST_QUESTION)?;
            let wait = lock(&self.counts).request(limits, peer, Instant::now());
            if !wait.is_zero() {
                thread::sleep(wait);
            }
            if self.options.keeper.client(&peer).is_none() {
                return Err(FrameError::Closed);
            }
            serve::answer_frame(source.as_mut(), &question, &mut output)?;
        }
    }

    /// Closes the connections of peers that are not known any more.
    fn end_revoked(&self) {
        let mut revoked = Vec::new();
        for (_, key, socket) in lock(&self.open).iter() {
            if self.options.keeper.client(key).is_none() {
                let _ = socket.shutdown(Shutdown::Both);
                if !revoked.contains(key) {
                    revoked.push(*key);
                }
            }
        }
        lock(&self.open).retain(|(_, key, _)| !revoked.contains(key));
        revoked.into_iter().for_each(|key| (self.options.report)(&Event::Revoked { key }));
    }

    /// Reports a refused connection, unless one was reported just now.
    fn refused(&self, address: IpAddr, why: String) {
        let mut refused = lock(&self.refused);
        let (last, others) = &mut *refused;
        if last.is_some_and(|last| last.elapsed() < REPORT_TIME) {
            *others = others.saturating_add(1);
            return;
        }
        *last = Some(Instant::now());
        let others = std::mem::take(others);
        drop(refused);
        (self.options.report)(&Event::Refused { address: address.to_canonical(), why, others });
    }
}

/// Why a connection failed, for the user of the server.
fn reason(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    match inner {
        Some(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure)) => {
            "its key is not known here, or is revoked".to_string()
        }
        Some(Error::NoCertificatesPresented) => "it has shown no key".to_string(),
        Some(Error::InvalidMessage(_)) => "it does not speak TLS".to_string(),
        Some(Error::PeerIncompatible(_)) => "it does not speak TLS 1.3".to_string(),
        _ if error.kind() == io::ErrorKind::TimedOut => "it was silent for too long".to_string(),
        _ => error.to_string(),
    }
}

/// One direction of a connection.
struct Half(Rc<RefCell<(ServerConnection, Timed)>>);

impl Read for Half {
    fn read(&mut self, part: &mut [u8]) -> io::Result<usize> {
        let (connection, socket) = &mut *self.0.borrow_mut();
        let count = dial::ended(Stream::new(connection, socket).read(part))?;
        // What came with the message before is no sign of life of the socket.
        socket.has_begun();
        Ok(count)
    }
}

impl Write for Half {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        let (connection, socket) = &mut *self.0.borrow_mut();
        Stream::new(connection, socket).write(part)
    }

    fn flush(&mut self) -> io::Result<()> {
        let (connection, socket) = &mut *self.0.borrow_mut();
        Stream::new(connection, socket).flush()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
