//! `/proc/net/snmp6` and `/proc/net/dev_snmp6/*`: what version 6 of the network protocols has counted in one
//! network namespace, or on one interface.
//!
//! Each line is a name and a number. The file is missing when the kernel was built or started without IPv6.

use super::columns::{Columns, columns};
use super::error::ParseError;
use super::scan::{NEEDED_NUMBER, decimal, lines};

/// What `/proc/net/snmp6` says; a number that the kernel does not print is `None`.
///
/// TCP is counted for both versions together, in [`super::snmp::Snmp`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Snmp6 {
    /// The Internet Protocol, version 6.
    pub ip: Ip6,
    /// The Internet Control Message Protocol for version 6.
    pub icmp: Icmp6,
    /// The User Datagram Protocol over version 6.
    pub udp: Udp6,
}

impl Snmp6 {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// When a wanted number is none, or `Ip6InReceives`, which every kernel with IPv6 prints, is missing.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Snmp6, ParseError> {
        let mut snmp = Snmp6::default();
        for line in lines(FILE, bytes) {
            let mut fields = line.fields();
            let Some(name) = fields.next_field() else { continue };
            let Some((column, member)) = snmp.member(name) else {
                continue;
            };
            let text = fields.next_field().unwrap_or_default();
            *member = Some(decimal(text).ok_or_else(|| line.location.error(column, NEEDED_NUMBER, text))?);
        }
        if snmp.ip.in_receives.is_none() {
            return Err(ParseError::missing(FILE, "Ip6InReceives", "a line with this name"));
        }
        Ok(snmp)
    }

    /// The member with a name; the beginning of the name tells which protocol it belongs to, which spares
    /// comparing it with the names of the others.
    fn member(&mut self, name: &[u8]) -> Option<(&'static str, &mut Option<u64>)> {
        if name.starts_with(b"Ip6") {
            self.ip.column(name)
        } else if name.starts_with(b"Icmp6") {
            self.icmp.column(name)
        } else if name.starts_with(b"Udp6") {
            self.udp.column(name)
        } else {
            None
        }
    }
}

const FILE: &str = "/proc/net/snmp6";

columns! {
    /// Counts of the Internet Protocol, version 6.
    struct Ip6 {
        /// Packets received, those with errors included.
        in_receives: "Ip6InReceives",
        /// Received packets dropped for an error in their header.
        in_hdr_errors: "Ip6InHdrErrors",
        /// Received packets too large for the link they were to be forwarded to.
        in_too_big_errors: "Ip6InTooBigErrors",
        /// Received packets dropped because there is no route to their destination.
        in_no_routes: "Ip6InNoRoutes",
        /// Received packets dropped because their destination is none of this machine.
        in_addr_errors: "Ip6InAddrErrors",
        /// Received packets dropped because no such protocol is known.
        in_unknown_protos: "Ip6InUnknownProtos",
        /// Received packets that were cut off.
        in_truncated_pkts: "Ip6InTruncatedPkts",
        /// Received packets dropped without an error, for want of memory.
        in_discards: "Ip6InDiscards",
        /// Received packets handed to a protocol above.
        in_delivers: "Ip6InDelivers",
        /// Packets forwarded.
        out_forw_datagrams: "Ip6OutForwDatagrams",
        /// Packets that protocols of this machine wanted to send.
        out_requests: "Ip6OutRequests",
        /// Packets to be sent and dropped without an error.
        out_discards: "Ip6OutDiscards",
        /// Packets to be sent and dropped because there is no route.
        out_no_routes: "Ip6OutNoRoutes",
        /// Reassemblies given up because a fragment did not come.
        reasm_timeout: "Ip6ReasmTimeout",
        /// Fragments received that needed reassembly.
        reasm_reqds: "Ip6ReasmReqds",
        /// Packets reassembled.
        reasm_oks: "Ip6ReasmOKs",
        /// Reassemblies that failed.
        reasm_fails: "Ip6ReasmFails",
        /// Packets fragmented.
        frag_oks: "Ip6FragOKs",
        /// Packets that could not be fragmented.
        frag_fails: "Ip6FragFails",
        /// Fragments made.
        frag_creates: "Ip6FragCreates",
        /// Multicast packets received.
        in_mcast_pkts: "Ip6InMcastPkts",
        /// Multicast packets sent.
        out_mcast_pkts: "Ip6OutMcastPkts",
        /// Bytes received, headers included.
        in_octets: "Ip6InOctets",
        /// Bytes sent, headers included.
        out_octets: "Ip6OutOctets",
        /// Bytes received in multicast packets.
        in_mcast_octets: "Ip6InMcastOctets",
        /// Bytes sent in multicast packets.
        out_mcast_octets: "Ip6OutMcastOctets",
        /// Packets handed to a device, those forwarded included; only newer kernels have it (6.18 has).
        out_transmits: "Ip6OutTransmits",
    }
}

columns! {
    /// Counts of the Internet Control Message Protocol for version 6.
    struct Icmp6 {
        /// Messages received, those with errors included.
        in_msgs: "Icmp6InMsgs",
        /// Messages received and found in error.
        in_errors: "Icmp6InErrors",
        /// Messages received with a wrong checksum; since Linux 3.10.
        in_csum_errors: "Icmp6InCsumErrors",
        /// Destination Unreachable messages received.
        in_dest_unreachs: "Icmp6InDestUnreachs",
        /// Packet Too Big messages received.
        in_pkt_too_bigs: "Icmp6InPktTooBigs",
        /// Time Exceeded messages received.
        in_time_excds: "Icmp6InTimeExcds",
        /// Parameter Problem messages received.
        in_parm_problems: "Icmp6InParmProblems",
        /// Echo Request messages received.
        in_echos: "Icmp6InEchos",
        /// Echo Reply messages received.
        in_echo_replies: "Icmp6InEchoReplies",
        /// Multicast Listener Query messages received.
        in_group_memb_queries: "Icmp6InGroupMembQueries",
        /// Multicast Listener Report messages received.
        in_group_memb_responses: "Icmp6InGroupMembResponses",
        /// Multicast Listener Done messages received.
        in_group_memb_reductions: "Icmp6InGroupMembReductions",
        /// Router Solicitation messages received.
        in_router_solicits: "Icmp6InRouterSolicits",
        /// Router Advertisement messages received.
        in_router_advertisements: "Icmp6InRouterAdvertisements",
        /// Neighbor Solicitation messages received.
        in_neighbor_solicits: "Icmp6InNeighborSolicits",
        /// Neighbor Advertisement messages received.
        in_neighbor_advertisements: "Icmp6InNeighborAdvertisements",
        /// Redirect messages received.
        in_redirects: "Icmp6InRedirects",
        /// Multicast Listener Report version 2 messages received.
        in_mldv2_reports: "Icmp6InMLDv2Reports",
        /// Messages sent, those with errors included.
        out_msgs: "Icmp6OutMsgs",
        /// Messages not sent because of a problem within ICMP.
        out_errors: "Icmp6OutErrors",
        /// Messages not sent because of the limit for one destination; only newer kernels have it (6.18 has).
        out_rate_limit_host: "Icmp6OutRateLimitHost",
        /// Destination Unreachable messages sent.
        out_dest_unreachs: "Icmp6OutDestUnreachs",
        /// Packet Too Big messages sent.
        out_pkt_too_bigs: "Icmp6OutPktTooBigs",
        /// Time Exceeded messages sent.
        out_time_excds: "Icmp6OutTimeExcds",
        /// Parameter Problem messages sent.
        out_parm_problems: "Icmp6OutParmProblems",
        /// Echo Request messages sent.
        out_echos: "Icmp6OutEchos",
        /// Echo Reply messages sent.
        out_echo_replies: "Icmp6OutEchoReplies",
        /// Multicast Listener Query messages sent.
        out_group_memb_queries: "Icmp6OutGroupMembQueries",
        /// Multicast Listener Report messages sent.
        out_group_memb_responses: "Icmp6OutGroupMembResponses",
        /// Multicast Listener Done messages sent.
        out_group_memb_reductions: "Icmp6OutGroupMembReductions",
        /// Router Solicitation messages sent.
        out_router_solicits: "Icmp6OutRouterSolicits",
        /// Router Advertisement messages sent.
        out_router_advertisements: "Icmp6OutRouterAdvertisements",
        /// Neighbor Solicitation messages sent.
        out_neighbor_solicits: "Icmp6OutNeighborSolicits",
        /// Neighbor Advertisement messages sent.
        out_neighbor_advertisements: "Icmp6OutNeighborAdvertisements",
        /// Redirect messages sent.
        out_redirects: "Icmp6OutRedirects",
        /// Multicast Listener Report version 2 messages sent.
        out_mldv2_reports: "Icmp6OutMLDv2Reports",
    }
}

columns! {
    /// Counts of the User Datagram Protocol over version 6.
    struct Udp6 {
        /// Datagrams delivered.
        in_datagrams: "Udp6InDatagrams",
        /// Datagrams received for a port where nobody listens.
        no_ports: "Udp6NoPorts",
        /// Datagrams not delivered for another reason, full buffers and wrong checksums included.
        in_errors: "Udp6InErrors",
        /// Datagrams sent.
        out_datagrams: "Udp6OutDatagrams",
        /// Datagrams not delivered because the buffer of the receiver was full.
        rcvbuf_errors: "Udp6RcvbufErrors",
        /// Datagrams not sent because the buffer of the sender was full.
        sndbuf_errors: "Udp6SndbufErrors",
        /// Datagrams received with a wrong checksum; since Linux 3.10.
        in_csum_errors: "Udp6InCsumErrors",
        /// Multicast datagrams that no socket wanted; since Linux 3.19.
        ignored_multi: "Udp6IgnoredMulti",
        /// Datagrams dropped because the memory of the protocol was used up; only newer kernels have it (6.18
        /// has).
        mem_errors: "Udp6MemErrors",
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{check_damage, fixture};
    use super::*;

    #[test]
    fn captured_file() {
        let snmp = Snmp6::parse(&fixture("6.18/net-snmp6")).unwrap();
        assert_eq!(
            (snmp.ip.in_receives, snmp.ip.out_requests, snmp.ip.out_octets),
            (Some(1), Some(10), Some(880))
        );
        assert_eq!((snmp.ip.out_forw_datagrams, snmp.ip.out_transmits), (Some(0), Some(10)));
        assert_eq!(
            (snmp.icmp.in_msgs, snmp.icmp.in_dest_unreachs, snmp.icmp.out_msgs),
            (Some(1), Some(1), Some(9))
        );
        assert_eq!((snmp.icmp.out_neighbor_solicits, snmp.icmp.out_mldv2_reports), (Some(4), Some(4)));
        assert_eq!((snmp.udp.in_datagrams, snmp.udp.mem_errors), (Some(0), Some(0)));
    }

    #[test]
    fn older_kernels_print_less() {
        let snmp = Snmp6::parse(&fixture("2.6.32/net-snmp6")).unwrap();
        assert_eq!((snmp.ip.in_receives, snmp.ip.in_octets, snmp.ip.out_transmits), (Some(11), None, None));
        assert_eq!(
            (snmp.icmp.in_errors, snmp.icmp.in_csum_errors, snmp.icmp.out_redirects),
            (Some(32), None, Some(61))
        );
        assert_eq!((snmp.udp.out_datagrams, snmp.udp.in_csum_errors), (Some(73), None));
    }

    #[test]
    fn malformed_files_say_where() {
        let cases: [(&[u8], &str); 4] = [
            (b"", "/proc/net/snmp6: Ip6InReceives: needed a line with this name, found nothing"),
            (
                b"Other x\nIp6OutRequests 1\n",
                "/proc/net/snmp6: Ip6InReceives: needed a line with this name, found nothing",
            ),
            (
                b"New 1\nIp6InReceives\t-1\n",
                "/proc/net/snmp6 line 2: Ip6InReceives: needed a decimal number below 2^64, found \"-1\"",
            ),
            (
                b"Ip6InReceives 1\nUdp6NoPorts \n",
                "/proc/net/snmp6 line 2: Udp6NoPorts: needed a decimal number below 2^64, found nothing",
            ),
        ];
        for (text, wanted) in cases {
            assert_eq!(Snmp6::parse(text).unwrap_err().to_string(), wanted);
        }
    }

    #[test]
    fn damaged_files_do_not_panic() {
        check_damage("6.18/net-snmp6", Snmp6::parse);
        check_damage("2.6.32/net-snmp6", Snmp6::parse);
    }
}
