//! What drivers report about their interfaces through generic netlink: link speed and hardware counters.
//!
//! The layouts are those of `linux/genetlink.h` and `linux/ethtool_netlink.h`: the message header is followed
//! by a 4-byte header, whose first byte is a command, and attributes. The kernel assigns the number of the
//! family at run time, so it is requested first.

use super::socket::{RouteError, RouteSocket};
use super::{Attributes, DecodeError, u32_at, u64_at, until_zero};

/// Sends requests to drivers, in the network namespace of the thread that sends the first one.
#[derive(Debug)]
pub(crate) struct EthtoolSocket {
    socket: RouteSocket,
    /// The number of the ethtool family, once it is known.
    family: Option<u16>,
}

/// The IEEE 802.3 counters of an interface's hardware, as far as its driver reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the standard's own names")]
pub(crate) struct MacStats {
    pub frames_transmitted_ok: Option<u64>,
    pub frames_received_ok: Option<u64>,
    pub multicast_frames_xmitted_ok: Option<u64>,
    pub broadcast_frames_xmitted_ok: Option<u64>,
    pub multicast_frames_received_ok: Option<u64>,
    pub broadcast_frames_received_ok: Option<u64>,
}

impl EthtoolSocket {
    /// A socket that is opened at the first request.
    pub(crate) fn new() -> EthtoolSocket {
        EthtoolSocket { socket: RouteSocket::generic(), family: None }
    }

    /// Replaces `speeds` by the indexes and speeds, in 10^6 bits per second, of all interfaces whose drivers
    /// report one.
    ///
    /// # Errors
    ///
    /// As [`RouteSocket::links`]; [`RouteError::NoFamily`] before Linux 5.6 or without
    /// CONFIG_ETHTOOL_NETLINK.
    pub(crate) fn speeds(&mut self, speeds: &mut Vec<(u32, u32)>) -> Result<(), RouteError> {
        speeds.clear();
        let family = self.family()?;
        // Flag 1 requests compact bit sets; they list link modes, which are not used.
        let header = attribute(NESTED | LINKMODES_HEADER, &attribute(HEADER_FLAGS, &words(&[1])));
        let question = [command(LINKMODES_GET), header].concat();
        self.ask(family, &question, speeds, decode_speed)
    }

    /// Replaces `stats` by the indexes and counters of all interfaces whose drivers report hardware counters.
    ///
    /// # Errors
    ///
    /// As [`EthtoolSocket::speeds`]; since Linux 5.13.
    pub(crate) fn mac_stats(&mut self, stats: &mut Vec<(u32, MacStats)>) -> Result<(), RouteError> {
        stats.clear();
        let family = self.family()?;
        // A compact bit set without a mask: its size, and the bit of the group.
        let bits = [
            attribute(BITSET_NOMASK, &[]),
            attribute(BITSET_SIZE, &words(&[4])),
            attribute(BITSET_VALUE, &words(&[1 << GROUP_ETH_MAC])),
        ];
        let question = [
            command(STATS_GET),
            attribute(NESTED | STATS_HEADER, &attribute(HEADER_FLAGS, &words(&[1]))),
            attribute(NESTED | STATS_GROUPS, &bits.concat()),
        ];
        self.ask(family, &question.concat(), stats, decode_mac_stats)
    }

    /// The number of the ethtool family, from the list of all families.
    fn family(&mut self) -> Result<u16, RouteError> {
        if let Some(family) = self.family {
            return Ok(family);
        }
        let mut found = Vec::new();
        self.ask(CONTROL, &command(GET_FAMILY), &mut found, decode_family)?;
        let family = found.first().copied().ok_or(RouteError::NoFamily)?;
        self.family = Some(family);
        Ok(family)
    }

    /// Sends a request to the family and decodes the answers that belong to it.
    fn ask<T>(
        &mut self,
        family: u16,
        question: &[u8],
        found: &mut Vec<T>,
        decode: fn(&[u8]) -> Result<Option<T>, DecodeError>,
    ) -> Result<(), RouteError> {
        self.socket.collect(family, question, found, |message| match message.kind == family {
            true => decode(message.body),
            false => Ok(None),
        })
    }
}

impl Default for EthtoolSocket {
    fn default() -> EthtoolSocket {
        EthtoolSocket::new()
    }
}

/// GENL_ID_CTRL: the family that lists families.
const CONTROL: u16 = 16;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;

const LINKMODES_GET: u8 = 4;
const LINKMODES_HEADER: u16 = 1;
const LINKMODES_SPEED: u16 = 5;
const HEADER_INDEX: u16 = 1;
const HEADER_FLAGS: u16 = 3;

const STATS_GET: u8 = 32;
const STATS_HEADER: u16 = 2;
const STATS_GROUPS: u16 = 3;
const STATS_GROUP: u16 = 4;
const GROUP_ID: u16 = 2;
const GROUP_STAT: u16 = 4;
/// The group of MAC counters of the standard.
const GROUP_ETH_MAC: u32 = 1;
const BITSET_NOMASK: u16 = 1;
const BITSET_SIZE: u16 = 2;
const BITSET_VALUE: u16 = 4;

/// The flag of an attribute that contains attributes.
const NESTED: u16 = 0x8000;
/// The bytes before the attributes: the command and its version.
const HEADER: usize = 4;
/// SPEED_UNKNOWN.
const UNKNOWN: u32 = u32::MAX;

fn command(command: u8) -> Vec<u8> {
    vec![command, 1, 0, 0]
}

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

/// An attribute, padded to a multiple of 4 bytes.
#[expect(clippy::host_endian_bytes, reason = "netlink is an interface within one machine")]
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = value.len().saturating_add(4);
    let mut bytes = u16::try_from(length).unwrap_or(u16::MAX).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(length.next_multiple_of(4), 0);
    bytes
}

/// The number of the family of this name, if the message is about it.
fn decode_family(body: &[u8]) -> Result<Option<u16>, DecodeError> {
    let (mut number, mut is_ethtool) = (None, false);
    for attribute in Attributes::after(body, HEADER, "family of commands")? {
        match attribute? {
            (FAMILY_ID, value) => number = Some(super::u16_at(value, 0, "number of a family")?),
            (FAMILY_NAME, value) => is_ethtool = until_zero(value) == b"ethtool",
            _ => {}
        }
    }
    Ok(number.filter(|_| is_ethtool))
}

/// The interface that a message is about; its index is in a nested attribute.
fn interface(header: &[u8]) -> Result<Option<u32>, DecodeError> {
    for attribute in Attributes::after(header, 0, "interface of a message")? {
        if let (HEADER_INDEX, value) = attribute? {
            return Ok(Some(u32_at(value, 0, "number of an interface")?));
        }
    }
    Ok(None)
}

/// The index of an interface and its speed, if the driver knows it.
fn decode_speed(body: &[u8]) -> Result<Option<(u32, u32)>, DecodeError> {
    let (mut index, mut speed) = (None, None);
    for attribute in Attributes::after(body, HEADER, "modes of a link")? {
        match attribute? {
            (LINKMODES_HEADER, value) => index = interface(value)?,
            (LINKMODES_SPEED, value) => speed = Some(u32_at(value, 0, "speed of a link")?),
            _ => {}
        }
    }
    Ok(index.zip(speed.filter(|speed| *speed != UNKNOWN)))
}

/// The index of an interface and its hardware counters.
fn decode_mac_stats(body: &[u8]) -> Result<Option<(u32, MacStats)>, DecodeError> {
    let (mut index, mut stats) = (None, None);
    for attribute in Attributes::after(body, HEADER, "statistics of a link")? {
        match attribute? {
            (STATS_HEADER, value) => index = interface(value)?,
            (STATS_GROUP, value) => {
                if let Some(found) = decode_group(value)? {
                    stats = Some(found);
                }
            }
            _ => {}
        }
    }
    Ok(index.zip(stats))
}

/// A group of counters, if it is the MAC group.
fn decode_group(group: &[u8]) -> Result<Option<MacStats>, DecodeError> {
    let (mut stats, mut is_mac) = (MacStats::default(), false);
    for attribute in Attributes::after(group, 0, "group of statistics")? {
        match attribute? {
            (GROUP_ID, value) => is_mac = u32_at(value, 0, "number of a group")? == GROUP_ETH_MAC,
            (GROUP_STAT, value) => {
                for count in Attributes::after(value, 0, "count")? {
                    let (kind, value) = count?;
                    let place = match kind {
                        0 => &mut stats.frames_transmitted_ok,
                        3 => &mut stats.frames_received_ok,
                        14 => &mut stats.multicast_frames_xmitted_ok,
                        15 => &mut stats.broadcast_frames_xmitted_ok,
                        17 => &mut stats.multicast_frames_received_ok,
                        18 => &mut stats.broadcast_frames_received_ok,
                        _ => continue,
                    };
                    *place = Some(u64_at(value, 0, "count")?);
                }
            }
            _ => {}
        }
    }
    Ok((is_mac && stats != MacStats::default()).then_some(stats))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::host_endian_bytes, reason = "netlink is an interface within one machine")]
    fn count(kind: u16, value: u64) -> Vec<u8> {
        attribute(NESTED | GROUP_STAT, &attribute(kind, &value.to_ne_bytes()))
    }

    /// A group of statistics of interface 7, as the kernel's `net/ethtool/stats.c` puts it together.
    fn statistics(group: u32, counts: &[(u16, u64)]) -> Vec<u8> {
        let mut stats = [attribute(GROUP_ID, &words(&[group])), attribute(3, &words(&[18]))].concat();
        stats.extend(counts.iter().flat_map(|(kind, value)| count(*kind, *value)));
        let name = attribute(2, b"eth7\0");
        let header =
            attribute(NESTED | STATS_HEADER, &[attribute(HEADER_INDEX, &words(&[7])), name].concat());
        [command(STATS_GET), header, attribute(NESTED | STATS_GROUP, &stats)].concat()
    }

    #[test]
    fn statistics_of_the_mac() {
        let counts = [(0, 1 << 40), (3, 20), (13, 99), (14, 3), (15, 4), (16, 98), (17, 5), (18, 6)];
        let found = decode_mac_stats(&statistics(GROUP_ETH_MAC, &counts)).unwrap();
        let expected = MacStats {
            frames_transmitted_ok: Some(1 << 40),
            frames_received_ok: Some(20),
            multicast_frames_xmitted_ok: Some(3),
            broadcast_frames_xmitted_ok: Some(4),
            multicast_frames_received_ok: Some(5),
            broadcast_frames_received_ok: Some(6),
        };
        assert_eq!(found, Some((7, expected)));
        let some = decode_mac_stats(&statistics(GROUP_ETH_MAC, &[(18, 9)])).unwrap().unwrap().1;
        assert_eq!(some, MacStats { broadcast_frames_received_ok: Some(9), ..MacStats::default() });
        // A driver that reports nothing, and another group, whose counters have the same numbers.
        for (group, counts) in [(GROUP_ETH_MAC, &[][..]), (3, &[(0, 1), (3, 2)])] {
            assert_eq!(decode_mac_stats(&statistics(group, counts)), Ok(None));
        }
    }

    #[test]
    fn speeds_and_families() {
        let header = attribute(NESTED | LINKMODES_HEADER, &attribute(HEADER_INDEX, &words(&[3])));
        let of = |speed: &[u32]| {
            let speed = attribute(LINKMODES_SPEED, &words(speed));
            decode_speed(&[command(LINKMODES_GET), header.clone(), attribute(2, &[1]), speed].concat())
        };
        assert_eq!(of(&[25_000]), Ok(Some((3, 25_000))));
        assert_eq!(of(&[UNKNOWN]), Ok(None));
        assert!(of(&[]).is_err(), "too short");
        let family = |name: &[u8]| {
            let number = attribute(FAMILY_ID, &[21, 0]);
            decode_family(&[command(1), attribute(FAMILY_NAME, name), number].concat())
        };
        assert_eq!(family(b"nlctrl\0"), Ok(None));
        #[cfg(target_endian = "little")]
        assert_eq!(family(b"ethtool\0"), Ok(Some(21)));
    }

    #[test]
    fn damaged_messages_do_not_panic() {
        let whole = statistics(GROUP_ETH_MAC, &[(0, 1), (18, 2)]);
        for end in 0..whole.len() {
            let _ =
                (decode_mac_stats(&whole[..end]), decode_speed(&whole[..end]), decode_family(&whole[..end]));
            for byte in [0, 1, 4, 0xff] {
                let mut damaged = whole.clone();
                damaged[end] = byte;
                let _ = (decode_mac_stats(&damaged), decode_speed(&damaged), decode_family(&damaged));
            }
        }
    }

    /// Asks the running kernel; most machines have no driver that reports hardware counters.
    #[test]
    fn the_running_kernel() {
        let mut socket = EthtoolSocket::new();
        let mut speeds = Vec::new();
        match socket.speeds(&mut speeds) {
            Ok(()) => {
                assert!(speeds.iter().all(|(index, speed)| *index > 0 && *speed != UNKNOWN), "{speeds:?}")
            }
            Err(RouteError::NoFamily) => {
                return tallymon_testkit::skip("this kernel has no commands of ethtool");
            }
            Err(error) => panic!("{error}"),
        }
        let mut stats = vec![(0, MacStats::default())];
        socket.mac_stats(&mut stats).unwrap();
        assert!(stats.iter().all(|(index, _)| *index > 0));
    }
}
