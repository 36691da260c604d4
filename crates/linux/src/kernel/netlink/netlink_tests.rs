//! Tests of the netlink decoders: answers captured from a kernel, and messages assembled here.

use super::*;

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

#[expect(clippy::host_endian_bytes, reason = "netlink is an interface within one machine")]
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = u16::try_from(value.len() + 4).unwrap().to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

#[expect(clippy::host_endian_bytes, reason = "netlink is an interface within one machine")]
fn numbers(count: u64) -> Vec<u8> {
    (1..=count).flat_map(|value| (value << 33).to_ne_bytes()).collect()
}

/// Links, statistics, queueing disciplines, and how many messages could not be decoded.
type Decoded = (Vec<Link>, Vec<(u32, Option<LinkStats>)>, Vec<Qdisc>, usize);

/// Decodes everything in a datagram, whatever it holds.
fn decode_all(datagram: &[u8]) -> Decoded {
    let (mut links, mut stats, mut qdiscs, mut errors) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for message in Messages::new(datagram) {
        let Ok(message) = message else {
            errors += 1;
            continue;
        };
        match message.kind {
            NEW_LINK => Link::decode(message.body).map_or_else(|_| errors += 1, |link| links.push(link)),
            NEW_STATS => decode_stats(message.body).map_or_else(|_| errors += 1, |one| stats.push(one)),
            NEW_QDISC => Qdisc::decode(message.body).map_or_else(|_| errors += 1, |one| qdiscs.push(one)),
            _ => errors += usize::from(message.error_number().is_err()),
        }
    }
    (links, stats, qdiscs, errors)
}

const LINKS: &[u8] = include_bytes!("../../../fixtures/6.18/netlink/links.bin");
const STATS: &[u8] = include_bytes!("../../../fixtures/6.18/netlink/stats.bin");
const QDISCS: &[u8] = include_bytes!("../../../fixtures/6.18/netlink/qdiscs.bin");

#[cfg(target_endian = "little")]
#[test]
fn captured_answers_match_the_ip_and_tc_commands() {
    let (links, stats, qdiscs, errors) = decode_all(LINKS);
    assert_eq!((links.len(), stats.len(), qdiscs.len(), errors), (2, 0, 0, 0));
    let first = links.first().unwrap();
    assert_eq!((first.index, first.name.as_slice(), first.hardware), (1, b"lo".as_slice(), 772));
    assert_eq!((first.mtu, first.state, first.flags & FLAG_LOOPBACK), (Some(65536), Some(0), FLAG_LOOPBACK));
    assert_eq!(first.stats.unwrap().rx_bytes, 3193);

    let (links, stats, qdiscs, errors) = decode_all(STATS);
    assert_eq!((links.len(), stats.len(), qdiscs.len(), errors), (0, 4, 0, 0));
    let (index, eth0) = stats.last().copied().unwrap();
    let eth0 = eth0.unwrap();
    assert_eq!(
        (index, eth0.rx_bytes, eth0.rx_packets, eth0.tx_bytes, eth0.tx_packets),
        (4, 110_966_735, 6227, 235_078, 2951)
    );
    assert_eq!((eth0.rx_nohandler, eth0.rx_otherhost_dropped), (Some(0), Some(0)));

    let (links, stats, qdiscs, errors) = decode_all(QDISCS);
    assert_eq!((links.len(), stats.len(), qdiscs.len(), errors), (0, 0, 2, 0));
    assert!(qdiscs.iter().all(|one| one.parent == ROOT && one.queue == Some(Queue::default())));
    assert_eq!(qdiscs.iter().map(|one| one.index).collect::<Vec<_>>(), [1, 4]);
}

#[test]
fn older_kernels_have_a_shorter_statistics_structure() {
    let new = LinkStats::decode(&numbers(25)).unwrap();
    assert_eq!((new.rx_packets, new.tx_compressed), (1 << 33, 23 << 33));
    assert_eq!((new.rx_nohandler, new.rx_otherhost_dropped), (Some(24 << 33), Some(25 << 33)));
    let old = LinkStats::decode(&numbers(23)).unwrap();
    assert_eq!((old.tx_compressed, old.rx_nohandler, old.rx_otherhost_dropped), (23 << 33, None, None));
    let error = LinkStats::decode(&numbers(22)).unwrap_err();
    assert_eq!(error, DecodeError::Truncated { what: "link statistics", needed: 184, found: 176 });
    assert_eq!(error.to_string(), "netlink: link statistics needs 184 bytes and there are 176");
}

#[test]
fn a_queue_is_found_in_nested_attributes() {
    let mut body = words(&[0, 4, 0x8001_0000, ROOT, 0]);
    body.extend(attribute(1, b"mq\0"));
    let queue = attribute(TCA_STATS_QUEUE, &words(&[5, 6000, 7, 8, 9]));
    // Newer kernels set the flag for nested attributes.
    body.extend(attribute(TCA_STATS2 | 0x8000, &queue));
    let qdisc = Qdisc::decode(&body).unwrap();
    assert_eq!((qdisc.index, qdisc.handle, qdisc.parent), (4, 0x8001_0000, ROOT));
    let wanted = Queue { length: 5, backlog: 6000, drops: 7, requeues: 8, overlimits: 9 };
    assert_eq!(qdisc.queue, Some(wanted));
    assert_eq!(Qdisc::decode(&words(&[0, 4, 1, 2, 0])).unwrap().queue, None);
}

#[test]
fn malformed_messages_say_what_is_wrong() {
    let first = |datagram: &[u8]| Messages::new(datagram).next().unwrap().unwrap_err().to_string();
    let header = |length| [words(&[length]), vec![0; 12]].concat();
    assert_eq!(first(&[1, 2]), "netlink: message header needs 4 bytes and there are 2");
    assert_eq!(first(&header(15)), "netlink: the length of a message is 15, it must be 16 to 16");
    let largest = format!("netlink: the length of a message is {}, it must be 16 to 16", length(u32::MAX));
    assert_eq!(first(&header(u32::MAX)), largest);
    let body = [words(&[0, 1, 0, 0]), attribute(IFLA_MTU, &words(&[1500]))].concat();
    assert_eq!(Link::decode(&body).unwrap_err().to_string(), "netlink: the name of a link is missing");
    let body = [words(&[0, 1, 0, 0]), vec![3, 0, 3, 0]].concat();
    assert!(matches!(Link::decode(&body), Err(DecodeError::Length { what: "attribute", .. })));
    // The iterator ends after an error.
    let mut messages = Messages::new(b"xx");
    assert!(messages.next().unwrap().is_err() && messages.next().is_none());
    let message = |kind, body| Message { kind, flags: 0, sequence: 0, body };
    let refused = words(&[(-95_i32).cast_unsigned()]);
    assert_eq!(message(ERROR, &refused).error_number(), Ok(Some(95)));
    assert_eq!(message(DONE, &[]).error_number(), Ok(None));
    assert_eq!(message(DONE, &[0; 4]).error_number(), Ok(None));
    assert!(message(ERROR, &[]).error_number().is_err());
}

#[test]
fn no_prefix_and_no_changed_byte_panics() {
    for whole in [LINKS, STATS, QDISCS] {
        for end in 0..whole.len() {
            decode_all(&whole[..end]);
        }
        let mut changed = whole.to_vec();
        for at in 0..changed.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let old = std::mem::replace(&mut changed[at], value);
                decode_all(&changed);
                changed[at] = old;
            }
        }
    }
}
