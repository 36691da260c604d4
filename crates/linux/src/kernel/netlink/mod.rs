//! Messages of route netlink, and of ethtool netlink ([`ethtool`]): network interfaces, their statistics, and
//! their queues.
//!
//! This file only decodes bytes; `netlink::socket` sends and receives them. The layouts are those of
//! `linux/netlink.h`, `rtnetlink.h`, `if_link.h`, `pkt_sched.h` and `gen_stats.h`: a message is a 16-byte
//! header, a fixed part that depends on its type, and attributes.
//!
//! ```text
//!  message                     attribute (begins at a multiple of 4)
//!  0  length u32               0  length u16, these 4 bytes included
//!  4  type u16                 2  type u16, the two highest bits are flags
//!  6  flags u16                4  value
//!  8  sequence u32
//!  12 port u32
//!  16 fixed part, attributes
//! ```
//!
//! Netlink never leaves the machine, so its numbers have native byte order.

use std::fmt;
use std::net::IpAddr;

pub(crate) mod ethtool;
pub(crate) mod socket;

/// The messages in one received datagram.
///
/// After an error the iterator ends.
#[derive(Clone, Debug)]
pub(crate) struct Messages<'a> {
    rest: &'a [u8],
}

/// One message without its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message<'a> {
    /// The message type, for example [`NEW_LINK`].
    pub kind: u16,
    /// The flags of its header.
    pub flags: u16,
    /// The number of the request that it answers.
    pub sequence: u32,
    /// What follows the header.
    pub body: &'a [u8],
}

/// A message type: the end of a multi-part answer.
pub(crate) const DONE: u16 = 3;
/// A message type: the request failed, or is acknowledged with error 0.
pub(crate) const ERROR: u16 = 2;
/// A message type: an interface (RTM_NEWLINK), read by [`Link::decode`].
pub(crate) const NEW_LINK: u16 = 16;
/// A message type: an address of an interface (RTM_NEWADDR), read by [`Address::decode`].
pub(crate) const NEW_ADDRESS: u16 = 20;
/// A message type: a queueing discipline (RTM_NEWQDISC), read by [`Qdisc::decode`].
pub(crate) const NEW_QDISC: u16 = 36;
/// A message type: statistics of an interface (RTM_NEWSTATS), read by [`decode_stats`].
pub(crate) const NEW_STATS: u16 = 92;
/// A message flag: the list changed while it was being sent, so parts may be missing or doubled.
pub(crate) const DUMP_INTERRUPTED: u16 = 0x10;

impl<'a> Messages<'a> {
    /// The messages in `datagram`.
    pub(crate) fn new(datagram: &'a [u8]) -> Messages<'a> {
        Messages { rest: datagram }
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Result<Message<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let rest = std::mem::take(&mut self.rest);
        Some(take_message(rest).map(|(message, after)| {
            self.rest = after;
            message
        }))
    }
}

impl std::iter::FusedIterator for Messages<'_> {}

impl Message<'_> {
    /// The error number in a [`DONE`] or [`ERROR`] message, `None` when it reports success.
    ///
    /// # Errors
    ///
    /// When an [`ERROR`] message is too short to hold the number; a [`DONE`] message does not have to.
    pub(crate) fn error_number(self) -> Result<Option<i32>, DecodeError> {
        if self.kind == DONE && self.body.len() < 4 {
            return Ok(None);
        }
        let number = i32_at(self.body, 0, "error number of a message")?;
        Ok((number != 0).then(|| number.saturating_neg()))
    }
}

/// What the kernel has counted on one interface (`struct rtnl_link_stats64`).
///
/// The structure ends early on old kernels; the missing counters are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the kernel's own names, whose meaning the driver decides")]
pub(crate) struct LinkStats {
    pub rx_packets: u64,
    pub tx_packets: u64,
    pub rx_bytes: u64,
    pub tx_bytes: u64,
    pub rx_errors: u64,
    pub tx_errors: u64,
    pub rx_dropped: u64,
    pub tx_dropped: u64,
    pub multicast: u64,
    pub collisions: u64,
    pub rx_length_errors: u64,
    pub rx_over_errors: u64,
    pub rx_crc_errors: u64,
    pub rx_frame_errors: u64,
    pub rx_fifo_errors: u64,
    pub rx_missed_errors: u64,
    pub tx_aborted_errors: u64,
    pub tx_carrier_errors: u64,
    pub tx_fifo_errors: u64,
    pub tx_heartbeat_errors: u64,
    pub tx_window_errors: u64,
    pub rx_compressed: u64,
    pub tx_compressed: u64,
    /// Since Linux 4.6, `None` before.
    pub rx_nohandler: Option<u64>,
    /// Since Linux 5.19, `None` before.
    pub rx_otherhost_dropped: Option<u64>,
}

impl LinkStats {
    /// Reads the value of the attribute: 23 numbers of 64 bits, then those of newer kernels.
    ///
    /// # Errors
    ///
    /// When it holds fewer than the 23 numbers that every kernel has.
    pub(crate) fn decode(value: &[u8]) -> Result<LinkStats, DecodeError> {
        let number = |place: usize| u64_at(value, place.saturating_mul(8), "link statistics");
        Ok(LinkStats {
            rx_packets: number(0)?,
            tx_packets: number(1)?,
            rx_bytes: number(2)?,
            tx_bytes: number(3)?,
            rx_errors: number(4)?,
            tx_errors: number(5)?,
            rx_dropped: number(6)?,
            tx_dropped: number(7)?,
            multicast: number(8)?,
            collisions: number(9)?,
            rx_length_errors: number(10)?,
            rx_over_errors: number(11)?,
            rx_crc_errors: number(12)?,
            rx_frame_errors: number(13)?,
            rx_fifo_errors: number(14)?,
            rx_missed_errors: number(15)?,
            tx_aborted_errors: number(16)?,
            tx_carrier_errors: number(17)?,
            tx_fifo_errors: number(18)?,
            tx_heartbeat_errors: number(19)?,
            tx_window_errors: number(20)?,
            rx_compressed: number(21)?,
            tx_compressed: number(22)?,
            rx_nohandler: number(23).ok(),
            rx_otherhost_dropped: number(24).ok(),
        })
    }
}

/// One network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// Its index, unique in its network namespace while it exists.
    pub index: u32,
    /// Its name, without the terminating zero.
    pub name: Vec<u8>,
    /// The kind of hardware (ARPHRD_...): 1 is Ethernet, 772 the loopback.
    pub hardware: u16,
    /// The interface flags (IFF_...): 1 is up, 8 loopback, 0x40 running.
    pub flags: u32,
    /// The largest packet, in bytes.
    pub mtu: Option<u32>,
    /// The operational state of RFC 2863: 6 is up, 2 down, 0 unknown.
    pub state: Option<u8>,
    /// The kind of driver for virtual interfaces, for example `tun` or `wireguard`; empty for hardware.
    pub made_by: Vec<u8>,
    /// Its statistics, if the message has them.
    pub stats: Option<LinkStats>,
}

/// An interface flag: the interface is switched on.
pub(crate) const FLAG_UP: u32 = 1;
/// An interface flag: this is the loopback.
#[cfg(test)]
pub(crate) const FLAG_LOOPBACK: u32 = 8;

impl Link {
    /// Reads the body of a [`NEW_LINK`] message (`struct ifinfomsg` and attributes).
    ///
    /// # Errors
    ///
    /// When it ends too early or has no name.
    pub(crate) fn decode(body: &[u8]) -> Result<Link, DecodeError> {
        let mut link = Link {
            index: u32_at(body, 4, "link index")?,
            name: Vec::new(),
            hardware: u16_at(body, 2, "link hardware type")?,
            flags: u32_at(body, 8, "link flags")?,
            mtu: None,
            state: None,
            made_by: Vec::new(),
            stats: None,
        };
        for attribute in Attributes::after(body, 16, "link message")? {
            let (kind, value) = attribute?;
            match kind {
                IFLA_IFNAME => link.name = until_zero(value).to_vec(),
                IFLA_MTU => link.mtu = Some(u32_at(value, 0, "link MTU")?),
                IFLA_OPERSTATE => link.state = value.first().copied(),
                IFLA_LINKINFO => {
                    for attribute in Attributes::after(value, 0, "kind of a link")? {
                        if let (IFLA_INFO_KIND, value) = attribute? {
                            link.made_by = until_zero(value).to_vec();
                        }
                    }
                }
                IFLA_STATS64 => link.stats = Some(LinkStats::decode(value)?),
                _ => {}
            }
        }
        if link.name.is_empty() {
            return Err(DecodeError::Missing { what: "name of a link" });
        }
        Ok(link)
    }
}

/// Reads the body of a [`NEW_STATS`] message: the index of the interface and its statistics, which are `None`
/// when the message holds only other kinds of statistics.
///
/// # Errors
///
/// When it ends too early.
pub(crate) fn decode_stats(body: &[u8]) -> Result<(u32, Option<LinkStats>), DecodeError> {
    let index = u32_at(body, 4, "index in a statistics message")?;
    let mut stats = None;
    for attribute in Attributes::after(body, 12, "statistics message")? {
        let (kind, value) = attribute?;
        if kind == IFLA_STATS_LINK_64 {
            stats = Some(LinkStats::decode(value)?);
        }
    }
    Ok((index, stats))
}

/// One address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// The index of its interface.
    pub index: u32,
    /// The address.
    pub address: IpAddr,
    /// Bits of its network.
    pub prefix: u8,
    /// How far it reaches (RT_SCOPE_...): 0 is everywhere, 253 the link, 254 this machine.
    pub scope: u8,
}

impl Address {
    /// Reads the body of a [`NEW_ADDRESS`] message (`struct ifaddrmsg` and attributes); `None` for a family other
    /// than IPv4 and IPv6.
    ///
    /// # Errors
    ///
    /// When it ends too early.
    pub(crate) fn decode(body: &[u8]) -> Result<Option<Address>, DecodeError> {
        let index = u32_at(body, 4, "link index of an address")?;
        let mut found = None;
        for attribute in Attributes::after(body, 8, "address message")? {
            let (kind, value) = attribute?;
            // Over a point-to-point link IFA_ADDRESS is the other end, and IFA_LOCAL comes beside it.
            if kind == IFA_LOCAL || kind == IFA_ADDRESS && found.is_none() {
                let short = <[u8; 4]>::try_from(value).map(IpAddr::from);
                found = short.or_else(|_| <[u8; 16]>::try_from(value).map(IpAddr::from)).ok().or(found);
            }
        }
        let (Some(prefix), Some(scope)) = (body.get(1).copied(), body.get(3).copied()) else {
            return Ok(None);
        };
        Ok(found.map(|address| Address { index, address, prefix, scope }))
    }
}

/// One queueing discipline of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Qdisc {
    /// The index of its interface.
    pub index: u32,
    /// Its own handle.
    pub handle: u32,
    /// The handle of its parent class; [`ROOT`] for the discipline that counts for the whole interface.
    pub parent: u32,
    /// Its queue, if the message has it.
    pub queue: Option<Queue>,
}

/// The parent handle of the outermost queueing discipline, whose queue includes those below it.
pub(crate) const ROOT: u32 = 0xffff_ffff;

/// The queue of a queueing discipline (`struct gnet_stats_queue`); the counts wrap at 32 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Queue {
    /// Packets that wait now.
    pub length: u32,
    /// Bytes that wait now.
    pub backlog: u32,
    /// Packets dropped so far.
    pub drops: u32,
    /// Packets put back so far, because the device was busy.
    pub requeues: u32,
    /// Packets so far that were over the limit.
    pub overlimits: u32,
}

impl Qdisc {
    /// Reads the body of a [`NEW_QDISC`] message (`struct tcmsg` and attributes).
    ///
    /// # Errors
    ///
    /// When it ends too early.
    pub(crate) fn decode(body: &[u8]) -> Result<Qdisc, DecodeError> {
        let mut qdisc = Qdisc {
            index: u32_at(body, 4, "link index of a queueing discipline")?,
            handle: u32_at(body, 8, "handle of a queueing discipline")?,
            parent: u32_at(body, 12, "parent of a queueing discipline")?,
            queue: None,
        };
        for attribute in Attributes::after(body, 20, "queueing discipline message")? {
            let (kind, value) = attribute?;
            if kind != TCA_STATS2 {
                continue;
            }
            for attribute in Attributes::after(value, 0, "queueing discipline statistics")? {
                let (kind, value) = attribute?;
                if kind == TCA_STATS_QUEUE {
                    qdisc.queue = Some(Queue::decode(value)?);
                }
            }
        }
        Ok(qdisc)
    }
}

impl Queue {
    fn decode(value: &[u8]) -> Result<Queue, DecodeError> {
        let number = |at| u32_at(value, at, "queue statistics");
        Ok(Queue {
            length: number(0)?,
            backlog: number(4)?,
            drops: number(8)?,
            requeues: number(12)?,
            overlimits: number(16)?,
        })
    }
}

const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_OPERSTATE: u16 = 16;
const IFLA_LINKINFO: u16 = 18;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_STATS64: u16 = 23;
const IFLA_STATS_LINK_64: u16 = 1;
const TCA_STATS2: u16 = 7;
const TCA_STATS_QUEUE: u16 = 3;

/// The bytes of a message header, and of an attribute header.
const MESSAGE_HEADER: usize = 16;
const ATTRIBUTE_HEADER: usize = 4;
/// The two highest bits of an attribute type: nested, and in network byte order.
const ATTRIBUTE_TYPE: u16 = 0x3fff;

/// Splits off the first message of a datagram.
fn take_message(bytes: &[u8]) -> Result<(Message<'_>, &[u8]), DecodeError> {
    let what = "message header";
    let length = length(u32_at(bytes, 0, what)?);
    let message = Message {
        kind: u16_at(bytes, 4, what)?,
        flags: u16_at(bytes, 6, what)?,
        sequence: u32_at(bytes, 8, what)?,
        body: bytes.get(MESSAGE_HEADER..length).ok_or(DecodeError::Length {
            what: "message",
            length,
            least: MESSAGE_HEADER,
            most: bytes.len(),
        })?,
    };
    Ok((message, after(bytes, length)))
}

/// The attributes in a part of a message: type and value; the iterator ends after an error.
struct Attributes<'a> {
    rest: &'a [u8],
}

impl<'a> Attributes<'a> {
    /// The attributes after a fixed part of `fixed` bytes.
    fn after(body: &'a [u8], fixed: usize, what: &'static str) -> Result<Attributes<'a>, DecodeError> {
        let rest =
            body.get(fixed..).ok_or(DecodeError::Truncated { what, needed: fixed, found: body.len() })?;
        Ok(Attributes { rest })
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Result<(u16, &'a [u8]), DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let rest = std::mem::take(&mut self.rest);
        Some(take_attribute(rest).map(|(kind, value, after)| {
            self.rest = after;
            (kind, value)
        }))
    }
}

/// Splits off the first attribute.
fn take_attribute(bytes: &[u8]) -> Result<(u16, &[u8], &[u8]), DecodeError> {
    let what = "attribute header";
    let length = usize::from(u16_at(bytes, 0, what)?);
    let kind = u16_at(bytes, 2, what)? & ATTRIBUTE_TYPE;
    let value = bytes.get(ATTRIBUTE_HEADER..length).ok_or(DecodeError::Length {
        what: "attribute",
        length,
        least: ATTRIBUTE_HEADER,
        most: bytes.len(),
    })?;
    Ok((kind, value, after(bytes, length)))
}

/// What follows `length` bytes and their padding to a multiple of 4; the last piece may come without padding.
fn after(bytes: &[u8], length: usize) -> &[u8] {
    bytes.get(length.next_multiple_of(4)..).unwrap_or_default()
}

/// A length as the kernel writes it; one that does not fit is larger than any datagram.
fn length(length: u32) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX - 3).min(usize::MAX - 3)
}

/// A name without its terminating zero.
fn until_zero(value: &[u8]) -> &[u8] {
    value.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// `N` bytes at an offset.
fn array<const N: usize>(bytes: &[u8], at: usize, what: &'static str) -> Result<[u8; N], DecodeError> {
    let needed = at.saturating_add(N);
    let found = bytes.len();
    let part = bytes.get(at..needed).and_then(|part| part.try_into().ok());
    part.ok_or(DecodeError::Truncated { what, needed, found })
}

#[expect(clippy::host_endian_bytes, reason = "netlink is an interface within one machine")]
fn u16_at(bytes: &[u8], at: usize, what: &'static str) -> Result<u16, DecodeError> {
    Ok(u16::from_ne_bytes(array(bytes, at, what)?))
}

#[expect(clippy::host_endian_bytes, reason = "netlink is an interface within one machine")]
fn u32_at(bytes: &[u8], at: usize, what: &'static str) -> Result<u32, DecodeError> {
    Ok(u32::from_ne_bytes(array(bytes, at, what)?))
}

#[expect(clippy::host_endian_bytes, reason = "netlink is an interface within one machine")]
fn i32_at(bytes: &[u8], at: usize, what: &'static str) -> Result<i32, DecodeError> {
    Ok(i32::from_ne_bytes(array(bytes, at, what)?))
}

#[expect(clippy::host_endian_bytes, reason = "netlink is an interface within one machine")]
fn u64_at(bytes: &[u8], at: usize, what: &'static str) -> Result<u64, DecodeError> {
    Ok(u64::from_ne_bytes(array(bytes, at, what)?))
}

/// Why bytes from netlink could not be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum DecodeError {
    /// A structure ends before one of its members.
    Truncated {
        /// What was being read.
        what: &'static str,
        /// The bytes needed, counted from the start of the structure.
        needed: usize,
        /// The bytes there are.
        found: usize,
    },
    /// A length is smaller than its own header or larger than what holds it.
    Length {
        /// What has the length.
        what: &'static str,
        /// The length found, in bytes.
        length: usize,
        /// The smallest length possible.
        least: usize,
        /// The bytes there are.
        most: usize,
    },
    /// A message lacks what every such message has.
    Missing {
        /// What is missing.
        what: &'static str,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::Truncated { what, needed, found } => {
                write!(f, "netlink: {what} needs {needed} bytes and there are {found}")
            }
            DecodeError::Length { what, length, least, most } => {
                write!(f, "netlink: the length of a {what} is {length}, it must be {least} to {most}")
            }
            DecodeError::Missing { what } => write!(f, "netlink: the {what} is missing"),
        }
    }
}

impl std::error::Error for DecodeError {}

#[cfg(test)]
mod netlink_tests;
