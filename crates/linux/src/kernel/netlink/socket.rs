//! The route netlink socket: requests interfaces, their statistics and their queues, and receives change
//! events.
//!
//! A request for all interfaces costs 5 to 20 µs, needs no rights, and returns 64-bit binary numbers for the
//! network namespace in which the socket was opened.

use std::fmt;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::sockopt::Timeout;
use rustix::net::{AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType};

use crate::kernel::reusable_file::retry;

use super::{
    Address, DONE, DUMP_INTERRUPTED, DecodeError, ERROR, Link, LinkStats, Message, Messages, NEW_ADDRESS,
    NEW_LINK, NEW_QDISC, NEW_STATS, Qdisc, decode_stats,
};

/// A request socket. It is opened at the first request, and again after an error.
#[derive(Debug, Default)]
pub(crate) struct RouteSocket {
    socket: Option<OwnedFd>,
    buffer: Vec<u8>,
    sequence: u32,
    /// Whether the kernel has no separate statistics messages (before Linux 4.7).
    asks_links_for_stats: bool,
    /// The netlink protocol; `None` is that of routes.
    protocol: Option<Protocol>,
}

impl RouteSocket {
    /// A socket in the network namespace of the thread that sends the first request.
    pub(crate) fn new() -> RouteSocket {
        RouteSocket::default()
    }

    /// A socket for queries about connections (`sock_diag`), in the network namespace of the thread that
    /// sends the first request.
    pub(crate) fn of_sockets() -> RouteSocket {
        RouteSocket { protocol: Some(rustix::net::netlink::SOCK_DIAG), ..RouteSocket::default() }
    }

    /// A socket for generic netlink, in the network namespace of the thread that sends the first request.
    pub(super) fn generic() -> RouteSocket {
        RouteSocket { protocol: Some(rustix::net::netlink::GENERIC), ..RouteSocket::default() }
    }

    /// How many IPv6 TCP connections are established or in CLOSE-WAIT, which is how the kernel counts current
    /// connections. IPv4 connections on dual-stack sockets are not included.
    ///
    /// # Errors
    ///
    /// As [`RouteSocket::links`].
    pub(crate) fn connections_v6(&mut self) -> Result<usize, RouteError> {
        let mut found = Vec::new();
        self.collect(SOCK_DIAG_BY_FAMILY, &connections_request(), &mut found, |message| {
            if message.kind != SOCK_DIAG_BY_FAMILY {
                return Ok(None);
            }
            // After four bytes and two ports come the local and the remote address.
            let other =
                message.body.get(24..40).ok_or(DecodeError::Missing { what: "address of a connection" })?;
            let is_v4 = other.starts_with(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]);
            Ok((!is_v4).then_some(()))
        })?;
        Ok(found.len())
    }

    /// Replaces `links` by the existing interfaces, without their statistics.
    ///
    /// # Errors
    ///
    /// The kernel refuses, or its answer cannot be decoded; `links` is empty then.
    pub(crate) fn links(&mut self, links: &mut Vec<Link>) -> Result<(), RouteError> {
        self.collect(GET_LINK, &link_request(SKIP_STATS), links, |message| {
            (message.kind == NEW_LINK).then(|| Link::decode(message.body)).transpose()
        })
    }

    /// Replaces `addresses` by the addresses of all interfaces.
    ///
    /// # Errors
    ///
    /// As [`RouteSocket::links`].
    pub(crate) fn addresses(&mut self, addresses: &mut Vec<Address>) -> Result<(), RouteError> {
        // struct ifaddrmsg of family 0: all of them.
        self.collect(GET_ADDRESS, &[0; 8], addresses, |message| {
            if message.kind == NEW_ADDRESS { Address::decode(message.body) } else { Ok(None) }
        })
    }

    /// Replaces `stats` by the indexes and statistics of all interfaces.
    ///
    /// # Errors
    ///
    /// As [`RouteSocket::links`].
    pub(crate) fn stats(&mut self, stats: &mut Vec<(u32, LinkStats)>) -> Result<(), RouteError> {
        if !self.asks_links_for_stats {
            let result = self.collect(GET_STATS, &stats_request(), stats, |message| {
                if message.kind != NEW_STATS {
                    return Ok(None);
                }
                let (index, stats) = decode_stats(message.body)?;
                Ok(stats.map(|stats| (index, stats)))
            });
            if result != Err(RouteError::Kernel(Errno::OPNOTSUPP)) {
                return result;
            }
            self.asks_links_for_stats = true;
        }
        self.collect(GET_LINK, &link_request(0), stats, |message| {
            if message.kind != NEW_LINK {
                return Ok(None);
            }
            let link = Link::decode(message.body)?;
            Ok(link.stats.map(|stats| (link.index, stats)))
        })
    }

    /// Replaces `qdiscs` by the queueing disciplines of all interfaces.
    ///
    /// # Errors
    ///
    /// As [`RouteSocket::links`].
    pub(crate) fn qdiscs(&mut self, qdiscs: &mut Vec<Qdisc>) -> Result<(), RouteError> {
        // struct tcmsg with interface 0: all of them.
        self.collect(GET_QDISC, &[0; 20], qdiscs, |message| {
            (message.kind == NEW_QDISC).then(|| Qdisc::decode(message.body)).transpose()
        })
    }

    /// Repeats the request until no change interrupts the answer, and collects the decoded messages.
    pub(super) fn collect<T>(
        &mut self,
        kind: u16,
        body: &[u8],
        found: &mut Vec<T>,
        decode: impl Fn(Message<'_>) -> Result<Option<T>, DecodeError>,
    ) -> Result<(), RouteError> {
        for _ in 0..TRIES {
            found.clear();
            match self.dump(kind, body, found, &decode) {
                Err(RouteError::Interrupted) => {}
                result => {
                    if result.is_err() {
                        found.clear();
                    }
                    if matches!(result, Err(RouteError::Socket(_))) {
                        // The rest of the old answer is dropped with the socket.
                        self.socket = None;
                    }
                    return result;
                }
            }
        }
        found.clear();
        Err(RouteError::Interrupted)
    }

    /// Sends the request once and receives the whole answer, even after a message that cannot be decoded:
    /// the kernel refuses the next request while an answer is pending.
    fn dump<T>(
        &mut self,
        kind: u16,
        body: &[u8],
        found: &mut Vec<T>,
        decode: impl Fn(Message<'_>) -> Result<Option<T>, DecodeError>,
    ) -> Result<(), RouteError> {
        let socket = match self.socket.take() {
            Some(socket) => socket,
            None => open(SocketFlags::CLOEXEC, 0, self.protocol).map_err(RouteError::Socket)?,
        };
        let socket = self.socket.insert(socket);
        self.buffer.resize(RECEIVE_SIZE, 0);
        self.sequence = self.sequence.wrapping_add(1);
        let request = request(kind, self.sequence, body);
        retry(|| rustix::net::send(&*socket, &request, SendFlags::empty())).map_err(RouteError::Socket)?;
        let mut result = Ok(());
        loop {
            let (_, length) = retry(|| rustix::net::recv(&*socket, &mut *self.buffer, RecvFlags::TRUNC))
                .map_err(RouteError::Socket)?;
            let Some(datagram) = self.buffer.get(..length) else {
                // The kernel sends at most RECEIVE_SIZE bytes at once to a receiver with that much room.
                return Err(RouteError::Socket(Errno::MSGSIZE));
            };
            if datagram.is_empty() {
                return Err(RouteError::Socket(Errno::NODATA));
            }
            for message in Messages::new(datagram) {
                let message = match message {
                    Ok(message) if message.sequence == self.sequence => message,
                    // The rest of an older answer.
                    Ok(_) => continue,
                    Err(error) => {
                        result = result.and(Err(RouteError::Decode(error)));
                        break;
                    }
                };
                if message.flags & DUMP_INTERRUPTED != 0 {
                    result = result.and(Err(RouteError::Interrupted));
                }
                if message.kind == DONE || message.kind == ERROR {
                    let error = message.error_number().map_err(RouteError::Decode)?;
                    let ended = error
                        .map_or(Ok(()), |number| Err(RouteError::Kernel(Errno::from_raw_os_error(number))));
                    return result.and(ended);
                }
                match decode(message) {
                    Ok(item) => found.extend(item),
                    Err(error) => result = result.and(Err(RouteError::Decode(error))),
                }
            }
        }
    }
}

/// A socket that receives an event when an interface comes, goes or changes, so that names are read only
/// then.
#[derive(Debug)]
pub(crate) struct LinkEvents {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

impl LinkEvents {
    /// Begins to listen in the network namespace of this thread.
    ///
    /// # Errors
    ///
    /// The kernel refuses the socket.
    pub(crate) fn open() -> Result<LinkEvents, RouteError> {
        let socket = open(SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, GROUP_LINK, None)
            .map_err(RouteError::Socket)?;
        Ok(LinkEvents { socket, buffer: vec![0; RECEIVE_SIZE] })
    }

    /// Whether something has changed since the last call; never waits.
    ///
    /// Also true when events were lost or cannot be received: the interfaces have to be read then, too.
    pub(crate) fn changed(&mut self) -> bool {
        let mut changed = false;
        // Bounded, so that a flood of events cannot block the caller; the next call receives the rest.
        for _ in 0..MOST_EVENTS {
            match rustix::net::recv(&self.socket, &mut *self.buffer, RecvFlags::empty()) {
                Ok(_) => changed = true,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return changed,
                Err(_) => return true,
            }
        }
        true
    }
}

const GET_LINK: u16 = 18;
const GET_ADDRESS: u16 = 22;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const GET_QDISC: u16 = 38;
const GET_STATS: u16 = 94;
/// NLM_F_REQUEST and NLM_F_DUMP: request all items of a kind.
const REQUEST_DUMP: u16 = 0x301;
/// RTMGRP_LINK: the multicast group of changes of interfaces.
const GROUP_LINK: u32 = 1;
/// IFLA_EXT_MASK and its bit that leaves the statistics out (since Linux 4.4, ignored before).
const IFLA_EXT_MASK: u16 = 29;
const SKIP_STATS: u32 = 8;
/// How often a request is repeated when a change has interrupted its answer.
const TRIES: usize = 4;
/// How many events one call receives.
const MOST_EVENTS: usize = 1000;
/// The largest datagram that the kernel makes for an answer, in bytes.
const RECEIVE_SIZE: usize = 32 << 10;
/// The kernel answers within the send call; this only guards against waiting forever.
const PATIENCE: Duration = Duration::from_secs(5);

fn open(flags: SocketFlags, groups: u32, protocol: Option<Protocol>) -> Result<OwnedFd, Errno> {
    // Protocol 0, for `None`, is NETLINK_ROUTE.
    let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
    rustix::net::bind(&socket, &SocketAddrNetlink::new(0, groups))?;
    rustix::net::sockopt::set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
    Ok(socket)
}

/// A request: a message header and its body.
#[expect(clippy::host_endian_bytes, reason = "netlink is an interface within one machine")]
fn request(kind: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len().saturating_add(16)).unwrap_or(u32::MAX);
    let mut bytes = Vec::new();
    bytes.extend(length.to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(REQUEST_DUMP.to_ne_bytes());
    bytes.extend(sequence.to_ne_bytes());
    // Port 0 is the kernel.
    bytes.extend([0; 4]);
    bytes.extend(body);
    bytes
}

/// `struct inet_diag_req_v2` for IPv6 TCP in the states 1 (established) and 8 (CLOSE-WAIT).
#[expect(clippy::host_endian_bytes, reason = "netlink is an interface within one machine")]
fn connections_request() -> Vec<u8> {
    const AF_INET6: u8 = 10;
    const IPPROTO_TCP: u8 = 6;
    const STATES: u32 = (1 << 1) | (1 << 8);
    let mut body = vec![AF_INET6, IPPROTO_TCP, 0, 0];
    body.extend(STATES.to_ne_bytes());
    // Of any address.
    body.extend([0; 48]);
    body
}

/// `struct ifinfomsg` for all interfaces, and the attribute that tells what to leave out.
#[expect(clippy::host_endian_bytes, reason = "netlink is an interface within one machine")]
fn link_request(mask: u32) -> Vec<u8> {
    let mut body = vec![0; 16];
    body.extend(8_u16.to_ne_bytes());
    body.extend(IFLA_EXT_MASK.to_ne_bytes());
    body.extend(mask.to_ne_bytes());
    body
}

/// `struct if_stats_msg` of all interfaces, with the filter bit of the 64-bit statistics.
#[expect(clippy::host_endian_bytes, reason = "netlink is an interface within one machine")]
fn stats_request() -> Vec<u8> {
    let mut body = vec![0; 8];
    body.extend(1_u32.to_ne_bytes());
    body
}

/// Why a netlink request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum RouteError {
    /// The socket could not be opened, written or read.
    Socket(Errno),
    /// The kernel refused the request.
    Kernel(Errno),
    /// The answer cannot be decoded.
    Decode(DecodeError),
    /// Interfaces kept changing while the kernel listed them; another try may succeed.
    Interrupted,
    /// The kernel does not have this generic netlink family.
    NoFamily,
}

impl fmt::Display for RouteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RouteError::Socket(errno) => write!(f, "netlink socket: {}", std::io::Error::from(*errno)),
            RouteError::Kernel(errno) => {
                write!(f, "netlink: the kernel says {}", std::io::Error::from(*errno))
            }
            RouteError::Decode(error) => error.fmt(f),
            RouteError::NoFamily => f.write_str("netlink: the kernel has no commands of ethtool"),
            RouteError::Interrupted => {
                write!(f, "netlink: interfaces changed during each of {TRIES} tries to list them")
            }
        }
    }
}

impl std::error::Error for RouteError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_lists_the_loopback() {
        let mut socket = RouteSocket::new();
        let mut links = Vec::new();
        socket.links(&mut links).unwrap();
        let loopback = links.iter().find(|link| link.flags & super::super::FLAG_LOOPBACK != 0).unwrap();
        assert_eq!((loopback.name.as_slice(), loopback.hardware), (b"lo".as_slice(), 772));
        let mut addresses = Vec::new();
        socket.addresses(&mut addresses).unwrap();
        let local = Address { index: loopback.index, address: [127, 0, 0, 1].into(), prefix: 8, scope: 254 };
        assert!(addresses.contains(&local), "{addresses:?}");
        let mut stats = Vec::new();
        let mut old = Vec::new();
        for _ in 0..2 {
            socket.stats(&mut stats).unwrap();
            assert_eq!(stats.len(), links.len());
            let mut other = RouteSocket { asks_links_for_stats: true, ..RouteSocket::new() };
            other.stats(&mut old).unwrap();
            let numbers =
                |stats: &[(u32, LinkStats)]| stats.iter().map(|(index, _)| *index).collect::<Vec<_>>();
            assert_eq!(numbers(&stats), numbers(&old));
            assert!(stats.iter().zip(&old).all(|((_, a), (_, b))| a.rx_bytes <= b.rx_bytes));
        }
        let mut qdiscs = Vec::new();
        socket.qdiscs(&mut qdiscs).unwrap();
        assert!(qdiscs.iter().all(|qdisc| links.iter().any(|link| link.index == qdisc.index)));
        assert!(qdiscs.iter().all(|qdisc| qdisc.queue.is_some()));
    }

    #[test]
    fn only_ipv6_connections_are_counted() {
        use std::net::{TcpListener, TcpStream};
        let mut socket = RouteSocket::of_sockets();
        let Ok(listener) = TcpListener::bind("[::1]:0") else {
            return tallymon_testkit::skip("no IPv6 here");
        };
        let both = TcpListener::bind("[::]:0").unwrap();
        let before = socket.connections_v6().unwrap();
        let new: Vec<TcpStream> =
            (0..20).map(|_| TcpStream::connect(listener.local_addr().unwrap()).unwrap()).collect();
        let old: Vec<TcpStream> = (0..30)
            .map(|_| TcpStream::connect(("127.0.0.1", both.local_addr().unwrap().port())).unwrap())
            .collect();
        let after = socket.connections_v6().unwrap();
        // Both ends are on this machine; other programs may connect and disconnect.
        assert!((30..=50).contains(&after.wrapping_sub(before)), "{before} {after}");
        drop((new, old));
    }

    #[test]
    fn a_refused_request_leaves_the_socket_usable() {
        let mut socket = RouteSocket::new();
        let mut links: Vec<Link> = Vec::new();
        // A message type that no kernel has.
        let refused = socket.collect(4094, &[0; 16], &mut links, |_| Ok(None));
        assert!(matches!(refused, Err(RouteError::Kernel(_))), "{refused:?}");
        // An answer that cannot be decoded is still received completely.
        let wrong = socket.collect(GET_LINK, &link_request(0), &mut links, |_| {
            Err::<Option<Link>, _>(DecodeError::Missing { what: "sense" })
        });
        assert_eq!(wrong, Err(RouteError::Decode(DecodeError::Missing { what: "sense" })));
        assert!(links.is_empty());
        socket.links(&mut links).unwrap();
        assert!(!links.is_empty());
    }

    #[test]
    fn events_do_not_wait() {
        let mut events = LinkEvents::open().unwrap();
        let start = std::time::Instant::now();
        events.changed();
        assert!(start.elapsed() < PATIENCE);
    }
}
