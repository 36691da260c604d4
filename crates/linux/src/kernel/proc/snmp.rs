//! `/proc/net/snmp`: what the network protocols have counted in one network namespace.
//!
//! It consists of pairs of lines, names above and numbers below:
//!
//! ```text
//! Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors
//! Udp: 49 0 0 50 0
//! ```
//!
//! TCP is counted for version 4 and 6 together; the rest of version 6 is in `snmp6`.

use super::columns::{Columns, columns};
use super::error::ParseError;
use super::scan::{Fields, Line, NEEDED_NUMBER, decimal, lines};

/// What `/proc/net/snmp` says; a section that the kernel does not print has no member set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Snmp {
    /// The Internet Protocol, version 4.
    pub ip: Ip,
    /// The Internet Control Message Protocol, version 4.
    pub icmp: Icmp,
    /// The Transmission Control Protocol, versions 4 and 6 together.
    pub tcp: Tcp,
    /// The User Datagram Protocol, version 4.
    pub udp: Udp,
    /// UDP-Lite, version 4.
    pub udp_lite: Udp,
}

impl Snmp {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// When a number that is wanted is none, when a line of names has no line of as many numbers below, or
    /// when the file has no `Ip` section, which every kernel prints.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Snmp, ParseError> {
        let mut snmp = Snmp::default();
        fill_sections("/proc/net/snmp", "Ip", bytes, &mut snmp)?;
        Ok(snmp)
    }
}

/// A structure with one member per section of a file.
trait Sections {
    /// The member for the section with this name, `None` when it is not wanted.
    fn section(&mut self, name: &[u8]) -> Option<&mut dyn Columns>;
}

impl Sections for Snmp {
    fn section(&mut self, name: &[u8]) -> Option<&mut dyn Columns> {
        match name {
            b"Ip" => Some(&mut self.ip),
            b"Icmp" => Some(&mut self.icmp),
            b"Tcp" => Some(&mut self.tcp),
            b"Udp" => Some(&mut self.udp),
            b"UdpLite" => Some(&mut self.udp_lite),
            _ => None,
        }
    }
}

/// Walks the pairs of lines and fills the wanted sections, of which `required` must be there.
fn fill_sections(
    file: &'static str,
    required: &'static str,
    bytes: &[u8],
    target: &mut dyn Sections,
) -> Result<(), ParseError> {
    let mut has_required = false;
    let mut lines = lines(file, bytes);
    while let Some(line) = lines.next() {
        let (section, names) = section_and_fields(line)?;
        let Some(below) = lines.next() else {
            return Err(line.location.error("section", "a line of numbers below this line", section));
        };
        let (again, numbers) = section_and_fields(below)?;
        if again != section {
            return Err(below.location.error("section", "the section name of the line above", again));
        }
        has_required |= section == required.as_bytes();
        if let Some(target) = target.section(section) {
            fill_columns(names, numbers, target)?;
        }
    }
    if has_required { Ok(()) } else { Err(ParseError::missing(file, required, "a section with this name")) }
}

fn section_and_fields(line: Line<'_>) -> Result<(&[u8], Fields<'_>), ParseError> {
    line.key_and_fields().ok_or_else(|| line.location.error("section", "a name and a colon", line.bytes))
}

/// Gives each wanted column the number that stands below its name.
fn fill_columns(
    mut names: Fields<'_>,
    mut numbers: Fields<'_>,
    target: &mut dyn Columns,
) -> Result<(), ParseError> {
    let place = numbers.location();
    while let Some(name) = names.next_field() {
        let Some(text) = numbers.next_field() else {
            return Err(place.error("numbers", "as many numbers as the line above has names", name));
        };
        // Only wanted numbers are read: `MaxConn` of TCP is -1, and its kind of number is none of our
        // business.
        if let Some((column, member)) = target.column(name) {
            *member = Some(decimal(text).ok_or_else(|| place.error(column, NEEDED_NUMBER, text))?);
        }
    }
    match numbers.next_field() {
        None => Ok(()),
        Some(text) => Err(place.error("numbers", "as many numbers as the line above has names", text)),
    }
}

columns! {
    /// Counts of the Internet Protocol, version 4.
    struct Ip {
        /// Datagrams received, those with errors included.
        in_receives: "InReceives",
        /// Received datagrams dropped for an error in their header.
        in_hdr_errors: "InHdrErrors",
        /// Received datagrams dropped because their destination is none of this machine.
        in_addr_errors: "InAddrErrors",
        /// Received datagrams that were to be forwarded.
        forw_datagrams: "ForwDatagrams",
        /// Received datagrams dropped because no such protocol is known.
        in_unknown_protos: "InUnknownProtos",
        /// Received datagrams dropped without an error, for want of memory.
        in_discards: "InDiscards",
        /// Received datagrams handed to a protocol above.
        in_delivers: "InDelivers",
        /// Datagrams that protocols of this machine wanted to send.
        out_requests: "OutRequests",
        /// Datagrams to be sent and dropped without an error.
        out_discards: "OutDiscards",
        /// Datagrams dropped because there is no route to their destination.
        out_no_routes: "OutNoRoutes",
        /// Reassemblies given up because a fragment did not come.
        reasm_timeout: "ReasmTimeout",
        /// Fragments received that needed reassembly.
        reasm_reqds: "ReasmReqds",
        /// Datagrams reassembled.
        reasm_oks: "ReasmOKs",
        /// Reassemblies that failed.
        reasm_fails: "ReasmFails",
        /// Datagrams fragmented.
        frag_oks: "FragOKs",
        /// Datagrams that needed fragments and must not be fragmented.
        frag_fails: "FragFails",
        /// Fragments made.
        frag_creates: "FragCreates",
        /// Datagrams handed to a device, those forwarded included; only newer kernels have it (6.18 has).
        out_transmits: "OutTransmits",
    }
}

columns! {
    /// Counts of the Internet Control Message Protocol, version 4.
    struct Icmp {
        /// Messages received, those with errors included.
        in_msgs: "InMsgs",
        /// Messages received and found in error.
        in_errors: "InErrors",
        /// Messages received with a wrong checksum; since Linux 3.10.
        in_csum_errors: "InCsumErrors",
        /// Destination Unreachable messages received.
        in_dest_unreachs: "InDestUnreachs",
        /// Time Exceeded messages received.
        in_time_excds: "InTimeExcds",
        /// Parameter Problem messages received.
        in_parm_probs: "InParmProbs",
        /// Source Quench messages received.
        in_src_quenchs: "InSrcQuenchs",
        /// Redirect messages received.
        in_redirects: "InRedirects",
        /// Echo messages received.
        in_echos: "InEchos",
        /// Echo Reply messages received.
        in_echo_reps: "InEchoReps",
        /// Timestamp messages received.
        in_timestamps: "InTimestamps",
        /// Timestamp Reply messages received.
        in_timestamp_reps: "InTimestampReps",
        /// Address Mask Request messages received.
        in_addr_masks: "InAddrMasks",
        /// Address Mask Reply messages received.
        in_addr_mask_reps: "InAddrMaskReps",
        /// Messages sent, those with errors included.
        out_msgs: "OutMsgs",
        /// Messages not sent because of a problem within ICMP.
        out_errors: "OutErrors",
        /// Messages not sent because of the limit for the machine; only newer kernels have it (6.18 has).
        out_rate_limit_global: "OutRateLimitGlobal",
        /// Messages not sent because of the limit for one destination; only newer kernels have it (6.18 has).
        out_rate_limit_host: "OutRateLimitHost",
        /// Destination Unreachable messages sent.
        out_dest_unreachs: "OutDestUnreachs",
        /// Time Exceeded messages sent.
        out_time_excds: "OutTimeExcds",
        /// Parameter Problem messages sent.
        out_parm_probs: "OutParmProbs",
        /// Source Quench messages sent.
        out_src_quenchs: "OutSrcQuenchs",
        /// Redirect messages sent.
        out_redirects: "OutRedirects",
        /// Echo messages sent.
        out_echos: "OutEchos",
        /// Echo Reply messages sent.
        out_echo_reps: "OutEchoReps",
        /// Timestamp messages sent.
        out_timestamps: "OutTimestamps",
        /// Timestamp Reply messages sent.
        out_timestamp_reps: "OutTimestampReps",
        /// Address Mask Request messages sent.
        out_addr_masks: "OutAddrMasks",
        /// Address Mask Reply messages sent.
        out_addr_mask_reps: "OutAddrMaskReps",
    }
}

columns! {
    /// Counts of the Transmission Control Protocol, versions 4 and 6 together.
    struct Tcp {
        /// Connections that this machine began to open.
        active_opens: "ActiveOpens",
        /// Connections that others opened to this machine.
        passive_opens: "PassiveOpens",
        /// Connections that failed while being opened.
        attempt_fails: "AttemptFails",
        /// Established connections that were reset.
        estab_resets: "EstabResets",
        /// Connections established now (or waiting for a close): the only number here that goes down.
        curr_estab: "CurrEstab",
        /// Segments received, those with errors included.
        in_segs: "InSegs",
        /// Segments sent, those sent again not included.
        out_segs: "OutSegs",
        /// Segments sent again.
        retrans_segs: "RetransSegs",
        /// Segments received in error.
        in_errs: "InErrs",
        /// Segments sent with the reset flag.
        out_rsts: "OutRsts",
        /// Segments received with a wrong checksum; since Linux 3.10.
        in_csum_errors: "InCsumErrors",
    }
}

columns! {
    /// Counts of the User Datagram Protocol or of UDP-Lite, version 4.
    struct Udp {
        /// Datagrams delivered.
        in_datagrams: "InDatagrams",
        /// Datagrams received for a port where nobody listens.
        no_ports: "NoPorts",
        /// Datagrams not delivered for another reason, full buffers and wrong checksums included.
        in_errors: "InErrors",
        /// Datagrams sent.
        out_datagrams: "OutDatagrams",
        /// Datagrams not delivered because the buffer of the receiver was full.
        rcvbuf_errors: "RcvbufErrors",
        /// Datagrams not sent because the buffer of the sender was full.
        sndbuf_errors: "SndbufErrors",
        /// Datagrams received with a wrong checksum; since Linux 3.10.
        in_csum_errors: "InCsumErrors",
        /// Multicast datagrams that no socket wanted; since Linux 3.19.
        ignored_multi: "IgnoredMulti",
        /// Datagrams dropped because the memory of the protocol was used up; only newer kernels have it (6.18
        /// has).
        mem_errors: "MemErrors",
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{check_damage, fixture};
    use super::*;

    #[test]
    fn numbers_follow_their_names_wherever_the_columns_are() {
        let snmp = Snmp::parse(&fixture("6.18/net-snmp")).unwrap();
        assert_eq!(
            (snmp.ip.in_receives, snmp.ip.out_requests, snmp.ip.out_transmits),
            (Some(6251), Some(2967), Some(2967))
        );
        assert_eq!(
            (snmp.icmp.in_msgs, snmp.icmp.in_dest_unreachs, snmp.icmp.in_csum_errors),
            (Some(1), Some(1), Some(0))
        );
        assert_eq!((snmp.icmp.out_rate_limit_host, snmp.icmp.out_dest_unreachs), (Some(0), Some(0)));
        assert_eq!(
            (snmp.tcp.active_opens, snmp.tcp.estab_resets, snmp.tcp.out_rsts),
            (Some(26), Some(12), Some(24))
        );
        assert_eq!(
            (snmp.tcp.curr_estab, snmp.tcp.in_segs, snmp.tcp.out_segs),
            (Some(0), Some(6201), Some(2930))
        );
        assert_eq!(
            (snmp.udp.in_datagrams, snmp.udp.out_datagrams, snmp.udp.mem_errors),
            (Some(49), Some(50), Some(0))
        );

        // The columns that 6.18 has between others are not there, and their neighbours keep their own
        // numbers.
        let snmp = Snmp::parse(&fixture("2.6.32/net-snmp")).unwrap();
        assert_eq!(
            (snmp.ip.in_receives, snmp.ip.frag_creates, snmp.ip.out_transmits),
            (Some(3), Some(19), None)
        );
        assert_eq!(
            (snmp.icmp.in_errors, snmp.icmp.in_csum_errors, snmp.icmp.in_dest_unreachs),
            (Some(2), None, Some(3))
        );
        assert_eq!((snmp.icmp.out_errors, snmp.icmp.out_rate_limit_global), (Some(15), None));
        assert_eq!((snmp.icmp.out_dest_unreachs, snmp.icmp.out_addr_mask_reps), (Some(16), Some(26)));
        assert_eq!((snmp.tcp.out_rsts, snmp.tcp.in_csum_errors), (Some(14), None));
        assert_eq!((snmp.udp.sndbuf_errors, snmp.udp.in_csum_errors), (Some(6), None));
        assert_eq!(snmp.udp_lite.in_datagrams, Some(7));
    }

    #[test]
    fn columns_that_move_take_their_numbers_along() {
        let text = b"Ip: OutRequests New InReceives\nIp: 1 -5 3\nNew: A\nNew: x\n";
        let ip = Snmp::parse(text).unwrap().ip;
        assert_eq!((ip.out_requests, ip.in_receives, ip.in_delivers), (Some(1), Some(3), None));
    }

    #[test]
    fn malformed_files_say_where() {
        let cases: [(&[u8], &str); 7] = [
            (b"", "/proc/net/snmp: Ip: needed a section with this name, found nothing"),
            (b"Tcp: A\nTcp: 1\n", "/proc/net/snmp: Ip: needed a section with this name, found nothing"),
            (
                b"Ip: InReceives\n",
                "/proc/net/snmp line 1: section: needed a line of numbers below this line, found \"Ip\"",
            ),
            (
                b"Ip: InReceives\nIcmp: 1\n",
                "/proc/net/snmp line 2: section: needed the section name of the line above, found \"Icmp\"",
            ),
            (
                b"Ip: InReceives InDelivers\nIp: 1\n",
                "/proc/net/snmp line 2: numbers: needed as many numbers as the line above has names, found \
                    \"InDelivers\"",
            ),
            (
                b"Ip: InReceives\nIp: 1 2\n",
                "/proc/net/snmp line 2: numbers: needed as many numbers as the line above has names, found \
                    \"2\"",
            ),
            (
                b"Ip: InReceives\nIp: 1x\n",
                "/proc/net/snmp line 2: InReceives: needed a decimal number below 2^64, found \"1x\"",
            ),
        ];
        for (text, wanted) in cases {
            assert_eq!(Snmp::parse(text).unwrap_err().to_string(), wanted);
        }
    }

    #[test]
    fn damaged_files_do_not_panic() {
        check_damage("6.18/net-snmp", Snmp::parse);
        check_damage("2.6.32/net-snmp", Snmp::parse);
    }
}
