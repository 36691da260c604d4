//! The receivers of a process: their sockets and threads over one store.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tallymon_provider::shm::{PublishError, Publisher};

use crate::counts::{self, Counts};
use crate::datagrams::{LONGEST, Packets};
use crate::http::{self, Takes};
use crate::otlp::{self, BadRequest, Outcome};
use crate::statsd::{self, Signs};
use crate::store::Store;

/// How often new series are published, and ends are looked for.
const TICK: Duration = Duration::from_millis(100);
/// The shortest time that a series stays.
const SHORTEST_KEEP: Duration = Duration::from_secs(1);

/// Where a receiver listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// An address and a port; port 0 takes a free one.
    Internet(SocketAddr),
    /// The file of a Unix socket.
    Unix(PathBuf),
}

impl FromStr for Address {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Address, &'static str> {
        if let Some(path) = text.strip_prefix("unix:") {
            let path = PathBuf::from(path.strip_prefix("//").unwrap_or(path));
            return if path.is_absolute() {
                Ok(Address::Unix(path))
            } else {
                Err("the path of a socket begins with /, as in unix:/run/user/1000/statsd.sock")
            };
        }
        let address = text.parse().map_err(
            |_| "write an address in numbers and a port, such as 127.0.0.1:8125 or [::1]:8125, or unix:/PATH",
        );
        Ok(Address::Internet(address?))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Internet(address) => address.fmt(f),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Whether a machine may send.
pub type Allows = dyn Fn(IpAddr) -> bool + Send + Sync;

/// What receivers do.
pub struct Options {
    /// Where packets of StatsD come.
    pub statsd: Vec<Address>,
    /// Where requests of OTLP come.
    pub otlp: Vec<SocketAddr>,
    /// Which machines besides this one may send; `None` if none may.
    pub allows: Option<Box<Allows>>,
    /// Whether a gauge with a sign is a number, as in DogStatsD, and not a change.
    pub signed_gauges: bool,
    /// The permissions of Unix sockets.
    pub socket_mode: u32,
    /// How long a series stays after the last message.
    pub keep: Duration,
    /// The interval of percentiles and of the sizes of sets.
    pub interval: Duration,
    /// The directory to publish in; `None` for the usual one.
    pub directory: Option<PathBuf>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("statsd", &self.statsd)
            .field("otlp", &self.otlp)
            .finish_non_exhaustive()
    }
}

impl Default for Options {
    /// Nothing listens; series stay for five minutes, and intervals have 10 s, as those of StatsD.
    fn default() -> Options {
        Options {
            statsd: Vec::new(),
            otlp: Vec::new(),
            allows: None,
            signed_gauges: false,
            socket_mode: 0o600,
            keep: Duration::from_secs(300),
            interval: Duration::from_secs(10),
            directory: None,
        }
    }
}

/// Why receivers do not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReceiveError {
    /// The address is not of this machine only, and no machine is named that may send.
    Exposed(SocketAddr),
    /// The address cannot be listened at.
    Listen(Address, io::Error),
    /// Nothing can be published.
    Publish(PublishError),
    /// The system has no threads.
    System(io::Error),
}

impl fmt::Display for ReceiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReceiveError::Exposed(address) => write!(
                f,
                "{address}: other machines could send, and nothing asks who they are. Name those that may \
                 with --allow ADDRESS[/BITS], or listen at 127.0.0.1"
            ),
            ReceiveError::Listen(address, error) => write!(f, "{address}: cannot listen: {error}"),
            ReceiveError::Publish(error) => error.fmt(f),
            ReceiveError::System(error) => write!(f, "starting a thread: {error}"),
        }
    }
}

impl std::error::Error for ReceiveError {}

/// What all threads share.
struct Shared {
    state: Mutex<State>,
    allows: Option<Box<Allows>>,
    signs: Signs,
}

struct State {
    store: Store,
    /// By receiver.
    counts: Vec<Counts>,
    _publisher: Publisher,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Every change of a series is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn allows(&self, from: IpAddr) -> bool {
        let from = from.to_canonical();
        from.is_loopback() || self.allows.as_ref().is_some_and(|allows| allows(from))
    }

    fn left_out(&self, receiver: usize, why: &str) {
        if let Some(counts) = self.state().counts.get_mut(receiver) {
            counts.left_out(why);
        }
    }

    fn packet(&self, receiver: usize, packet: &[u8], from: Option<SocketAddr>) {
        if from.is_some_and(|from| !self.allows(from.ip())) {
            return self.left_out(receiver, "a packet came from a machine that --allow does not name");
        }
        if packet.len() > LONGEST {
            return self.left_out(receiver, "a packet has more than 64 KiB");
        }
        let mut state = self.state();
        let State { store, counts, .. } = &mut *state;
        let Some(counts) = counts.get_mut(receiver) else { return };
        let taken = statsd::receive(packet, store, self.signs, receiver, &mut |why| counts.left_out(why));
        counts.message(packet.len(), taken);
    }

    fn tick(&self) {
        let mut state = self.state();
        let State { store, counts, .. } = &mut *state;
        for fault in store.tick() {
            counts.iter_mut().for_each(|counts| counts.left_out(&fault));
        }
        for (receiver, counts) in counts.iter_mut().enumerate() {
            let (series, objects) = store.lengths(receiver);
            counts.set_lengths(series, objects);
        }
    }
}

/// A receiver of OTLP.
struct Otlp {
    shared: Arc<Shared>,
    receiver: usize,
}

impl Takes for Otlp {
    fn allows(&self, from: IpAddr) -> bool {
        self.shared.allows(from)
    }

    fn take(&self, request: &[u8], is_json: bool, length: usize) -> Result<Outcome, BadRequest> {
        let mut state = self.shared.state();
        let State { store, counts, .. } = &mut *state;
        let outcome = otlp::receive(request, is_json, store, self.receiver)?;
        let faults = store.publish();
        if let Some(counts) = counts.get_mut(self.receiver) {
            counts.message(length, outcome.taken);
            for _ in 0..outcome.left_out {
                counts.left_out(outcome.why.as_deref().unwrap_or_default());
            }
            faults.iter().for_each(|fault| counts.left_out(fault));
        }
        Ok(outcome)
    }

    fn refuse(&self, why: &str) {
        self.shared.left_out(self.receiver, why);
    }
}

/// Receivers that listen, until they are dropped.
pub struct Receivers {
    shared: Arc<Shared>,
    packets: Vec<(usize, Packets)>,
    requests: Vec<(usize, TcpListener)>,
    addresses: Vec<(&'static str, Address)>,
}

impl fmt::Debug for Receivers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receivers").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

impl Receivers {
    /// Opens the sockets.
    ///
    /// # Errors
    ///
    /// One of them cannot be opened, or nothing can be published.
    pub fn bind(options: Options) -> Result<Receivers, ReceiveError> {
        let mut addresses = Vec::new();
        let (mut packets, mut requests) = (Vec::new(), Vec::new());
        for address in options.statsd {
            let opened = match &address {
                Address::Internet(socket) => {
                    check(*socket, options.allows.is_some())?;
                    Packets::udp(*socket)
                }
                Address::Unix(path) => unix_socket(path, options.socket_mode),
            };
            let opened = opened.map_err(|error| ReceiveError::Listen(address.clone(), error))?;
            let address = opened.local_address().map_or(address, Address::Internet);
            packets.push((addresses.len(), opened));
            addresses.push(("statsd", address));
        }
        for socket in options.otlp {
            check(socket, options.allows.is_some())?;
            let failed = |error| ReceiveError::Listen(Address::Internet(socket), error);
            let listener = TcpListener::bind(socket).map_err(failed)?;
            let address = listener.local_addr().map_err(failed)?;
            requests.push((addresses.len(), listener));
            addresses.push(("otlp", Address::Internet(address)));
        }
        let store = Store::new(options.directory, options.keep.max(SHORTEST_KEEP), options.interval);
        let publisher = store.start(&[counts::set()]).map_err(ReceiveError::Publish)?;
        let counts =
            addresses.iter().map(|(kind, address)| Counts::new(&publisher, &format!("{kind} {address}")));
        let counts = counts.collect::<Result<_, _>>().map_err(ReceiveError::Publish)?;
        let signs = if options.signed_gauges { Signs::Value } else { Signs::Change };
        let state = Mutex::new(State { store, counts, _publisher: publisher });
        let shared = Arc::new(Shared { state, allows: options.allows, signs });
        Ok(Receivers { shared, packets, requests, addresses })
    }

    /// What is received, and where: `statsd` or `otlp`.
    pub fn addresses(&self) -> &[(&'static str, Address)] {
        &self.addresses
    }

    /// Receives until `stop` is set.
    ///
    /// # Errors
    ///
    /// The system has no threads or no event loop.
    pub fn run(self, stop: &AtomicBool) -> Result<(), ReceiveError> {
        let shared = &self.shared;
        let failed = Mutex::new(None);
        let fail = &|error| {
            *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            stop.store(true, Ordering::Relaxed);
        };
        thread::scope(|scope| {
            for (receiver, packets) in self.packets {
                let started =
                    thread::Builder::new().name("statsd".to_owned()).spawn_scoped(scope, move || {
                        packets.receive(stop, |packet, from| shared.packet(receiver, packet, from));
                    });
                started.map(drop).unwrap_or_else(fail);
            }
            for (receiver, listener) in self.requests {
                let takes = Arc::new(Otlp { shared: Arc::clone(shared), receiver });
                let started = thread::Builder::new().name("otlp".to_owned()).spawn_scoped(scope, move || {
                    http::serve(listener, takes, stop).unwrap_or_else(fail);
                });
                started.map(drop).unwrap_or_else(fail);
            }
            while !stop.load(Ordering::Relaxed) {
                thread::sleep(TICK);
                shared.tick();
            }
        });
        let failed = failed.lock().unwrap_or_else(PoisonError::into_inner).take();
        failed.map_or(Ok(()), |error| Err(ReceiveError::System(error)))
    }
}

fn check(address: SocketAddr, allows_others: bool) -> Result<(), ReceiveError> {
    if address.ip().to_canonical().is_loopback() || allows_others {
        return Ok(());
    }
    Err(ReceiveError::Exposed(address))
}

#[cfg(unix)]
fn unix_socket(path: &std::path::Path, mode: u32) -> io::Result<Packets> {
    crate::datagrams::unix::bind(path, mode)
}

#[cfg(not(unix))]
fn unix_socket(_: &std::path::Path, _: u32) -> io::Result<Packets> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system has no Unix sockets of datagrams"))
}
