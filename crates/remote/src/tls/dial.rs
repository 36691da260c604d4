//! A peer that is reached over TLS.

use std::io::{self, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustls::{AlertDescription, CertificateError, ClientConnection, Error, StreamOwned};
use tallymon_core::flow::{SourceError, SourceErrorKind};

use super::verify::{self, FRAMES, OneKey, Verifier};
use super::{Identity, KeyHash, USUAL_PORT};
use crate::address::TlsAddress;
use crate::frames::FrameError;
use crate::peer::{Connection, Dial, PeerSource};

/// A source over TLS: `identity` is shown to the host, whose key must be `server`.
pub fn source(address: TlsAddress, identity: Identity, server: KeyHash, timeout: Duration) -> PeerSource {
    PeerSource::new(Box::new(Tls { address, identity, server, timeout }), timeout)
}

/// Connects to the first address of a host that answers.
pub(super) fn connect(address: &TlsAddress, timeout: Duration) -> io::Result<TcpStream> {
    let port = address.port.unwrap_or(USUAL_PORT);
    let begin = Instant::now();
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for place in (address.host.as_str(), port).to_socket_addrs()? {
        let left = timeout.saturating_sub(begin.elapsed());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match TcpStream::connect_timeout(&place, left) {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = io::Error::new(error.kind(), format!("{place}: {error}")),
        }
    }
    Err(failure)
}

/// What an end without a reason may mean.
const CLOSED: &str = "the host closed the connection: it ended, has too many, or has revoked this machine";

struct Tls {
    address: TlsAddress,
    identity: Identity,
    server: KeyHash,
    timeout: Duration,
}

impl Dial for Tls {
    fn dial(&mut self) -> Result<Box<dyn Connection>, SourceError> {
        let verifier = Verifier::new(Arc::new(OneKey(self.server)));
        let settings = verify::client(&self.identity, Arc::clone(&verifier), FRAMES);
        let connection =
            settings.and_then(|settings| ClientConnection::new(settings, verify::server_name()?));
        let connection = connection.map_err(|error| {
            SourceError::new(SourceErrorKind::Io, format!("{}: TLS: {error}", self.name()))
        })?;
        Ok(Box::new(TlsConnection(Arc::new(Shared {
            address: self.address.clone(),
            timeout: self.timeout,
            keys: (self.identity.hash(), self.server),
            verifier,
            stage: Mutex::new(Stage::Waiting(Box::new(connection))),
            socket: Mutex::new(None),
            is_over: AtomicBool::new(false),
            failure: Mutex::new(None),
        }))))
    }

    fn name(&self) -> String {
        self.address.to_string()
    }
}

/// A connection. The thread that uses it first makes it: finding an address and the handshake take time, and
/// the caller waits for them no longer than for any answer.
struct TlsConnection(Arc<Shared>);

struct Shared {
    address: TlsAddress,
    timeout: Duration,
    /// Ours, and that of the host.
    keys: (KeyHash, KeyHash),
    verifier: Arc<Verifier>,
    stage: Mutex<Stage>,
    /// Another handle of the socket, which ends every read and write.
    socket: Mutex<Option<TcpStream>>,
    is_over: AtomicBool,
    failure: Mutex<Option<(SourceErrorKind, String)>>,
}

enum Stage {
    Waiting(Box<ClientConnection>),
    Open(Box<Stream>),
    Failed,
}

type Stream = StreamOwned<ClientConnection, Socket>;

/// A socket of which rustls, which asks for 4 KiB at a time, gets many without a system call.
struct Socket(BufReader<TcpStream>);

/// How much is read at once: one record of TLS at least.
const PART: usize = 32 << 10;

impl Read for Socket {
    fn read(&mut self, part: &mut [u8]) -> io::Result<usize> {
        self.0.read(part)
    }
}

impl Write for Socket {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.0.get_ref().write(part)
    }

    fn write_vectored(&mut self, parts: &[io::IoSlice<'_>]) -> io::Result<usize> {
        self.0.get_ref().write_vectored(parts)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.get_ref().flush()
    }
}

/// One direction.
struct Half(Arc<Shared>);

impl Connection for TlsConnection {
    fn streams(&mut self) -> Option<(Box<dyn Read + Send>, Box<dyn Write + Send>)> {
        Some((Box::new(Half(Arc::clone(&self.0))), Box::new(Half(Arc::clone(&self.0)))))
    }

    fn diagnosis(&mut self, failed: &FrameError) -> Option<(SourceErrorKind, String)> {
        match failed {
            FrameError::Io(_) | FrameError::Cut { .. } => lock(&self.0.failure).take(),
            FrameError::Closed => {
                let closed = || (SourceErrorKind::Unreachable, CLOSED.to_string());
                Some(lock(&self.0.failure).take().unwrap_or_else(closed))
            }
            _ => None,
        }
    }
}

impl Drop for TlsConnection {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Release);
        if let Some(socket) = lock(&self.0.socket).take() {
            // It may have ended already.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

impl Shared {
    /// Does something with the open connection.
    fn with<T>(&self, act: impl FnOnce(&mut Stream) -> io::Result<T>) -> io::Result<T> {
        let mut stage = lock(&self.stage);
        if let Stage::Waiting(_) = &*stage
            && let Stage::Waiting(connection) = std::mem::replace(&mut *stage, Stage::Failed)
        {
            *stage = Stage::Open(Box::new(self.open(*connection).inspect_err(|error| self.note(error))?));
        }
        let Stage::Open(stream) = &mut *stage else { return Err(io::ErrorKind::NotConnected.into()) };
        act(stream).inspect_err(|error| self.note(error))
    }

    fn open(&self, connection: ClientConnection) -> io::Result<Stream> {
        let socket = connect(&self.address, self.timeout)?;
        socket.set_nodelay(true)?;
        *lock(&self.socket) = Some(socket.try_clone()?);
        if self.is_over.load(Ordering::Acquire) {
            return Err(io::ErrorKind::NotConnected.into());
        }
        let mut stream = StreamOwned::new(connection, Socket(BufReader::with_capacity(PART, socket)));
        stream.conn.complete_io(&mut stream.sock)?;
        Ok(stream)
    }

    /// Keeps why the connection failed: the first reason, because the others follow from it.
    fn note(&self, error: &io::Error) {
        if !matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::NotConnected) {
            lock(&self.failure).get_or_insert_with(|| self.words(error));
        }
    }

    fn words(&self, error: &io::Error) -> (SourceErrorKind, String) {
        let (ours, pinned) = self.keys;
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
        match inner {
            Some(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure)) => {
                let shown = self.verifier.presented().map_or_else(String::new, |key| key.to_string());
                let words = format!(
                    "the host shows the key {shown}, and the key of this host is {pinned}. If the host has a \
                     new key, pair with it again; otherwise another machine answers in its place"
                );
                (SourceErrorKind::AccessDenied, words)
            }
            Some(Error::AlertReceived(
                AlertDescription::AccessDenied
                | AlertDescription::BadCertificate
                | AlertDescription::CertificateRequired
                | AlertDescription::CertificateRevoked
                | AlertDescription::CertificateUnknown,
            )) => {
                let words = format!(
                    "the host does not know the key of this machine, {ours}, or has revoked it; run 'tally \
                     remote pair' there, and 'tally remote pair {}' here",
                    self.address
                );
                (SourceErrorKind::AccessDenied, words)
            }
            Some(Error::InvalidMessage(_)) => {
                let words = "what answers there does not speak TLS; 'tally serve --tls' does".to_string();
                (SourceErrorKind::BadData, words)
            }
            Some(error) => (SourceErrorKind::Unreachable, format!("TLS: {error}")),
            None if is_closed(error) => (SourceErrorKind::Unreachable, CLOSED.to_string()),
            None => (SourceErrorKind::Unreachable, format!("no connection: {error}")),
        }
    }
}

impl Read for Half {
    fn read(&mut self, part: &mut [u8]) -> io::Result<usize> {
        self.0.with(|stream| ended(stream.read(part)))
    }
}

impl Write for Half {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.0.with(|stream| stream.write(part))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.with(Write::flush)
    }
}

/// A connection that ends without the last word of TLS has ended. A frame has its length in it, so nothing
/// can be cut off without being noticed.
pub(super) fn ended(read: io::Result<usize>) -> io::Result<usize> {
    match read {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
        read => read,
    }
}

/// Whether the other side has ended a connection.
fn is_closed(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
