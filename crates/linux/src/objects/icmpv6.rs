//! ICMPv6 (1534): messages of the Internet Control Message Protocol for version 6 in this network namespace.
//!
//! Multicast Listener Reports of version 2 are not part of the Membership Reports, because the kernel counts
//! them separately.

use tallymon_provider::Absence;

use super::protocol::{Protocol, both};
use super::spec::counters;
use crate::kernel::proc::snmp6::Icmp6;

counters! {
    /// Positions of the counters.
    At, COUNTERS, ORIGINS {
        Messages: 584, 585, PERF_COUNTER_COUNTER, -1, ADVANCED:
            E "/proc/net/snmp6:Icmp6InMsgs + :Icmp6OutMsgs";
        MessagesReceived: 586, 587, PERF_COUNTER_COUNTER, -1, ADVANCED: E "/proc/net/snmp6:Icmp6InMsgs";
        MessagesReceivedErrors: 588, 589, PERF_COUNTER_RAWCOUNT, 0, ADVANCED:
            E "/proc/net/snmp6:Icmp6InErrors";
        ReceivedDestUnreachable: 590, 591, PERF_COUNTER_RAWCOUNT, 0, ADVANCED:
            E "/proc/net/snmp6:Icmp6InDestUnreachs";
        ReceivedPacketTooBig: 1536, 1537, PERF_COUNTER_COUNTER, -1, EXPERT:
            E "/proc/net/snmp6:Icmp6InPktTooBigs";
        ReceivedTimeExceeded: 592, 593, PERF_COUNTER_RAWCOUNT, 0, ADVANCED:
            E "/proc/net/snmp6:Icmp6InTimeExcds";
        ReceivedParameterProblem: 594, 595, PERF_COUNTER_RAWCOUNT, 0, EXPERT:
            E "/proc/net/snmp6:Icmp6InParmProblems";
        ReceivedEcho: 600, 601, PERF_COUNTER_COUNTER, -1, EXPERT: E "/proc/net/snmp6:Icmp6InEchos";
        ReceivedEchoReply: 602, 603, PERF_COUNTER_COUNTER, -1, EXPERT: E "/proc/net/snmp6:Icmp6InEchoReplies";
        ReceivedMembershipQuery: 1538, 1539, PERF_COUNTER_COUNTER, -1, EXPERT:
            E "/proc/net/snmp6:Icmp6InGroupMembQueries";
        ReceivedMembershipReport: 1540, 1541, PERF_COUNTER_COUNTER, -1, EXPERT:
            E "/proc/net/snmp6:Icmp6InGroupMembResponses";
        ReceivedMembershipReduction: 1542, 1543, PERF_COUNTER_COUNTER, -1, EXPERT:
            E "/proc/net/snmp6:Icmp6InGroupMembReductions";
        ReceivedRouterSolicit: 1544, 1545, PERF_COUNTER_COUNTER, -1, EXPERT:
            E "/proc/net/snmp6:Icmp6InRouterSolicits";
        ReceivedRouterAdvert: 1546, 1547, PERF_COUNTER_COUNTER, -1, EXPERT:
            E "/proc/net/snmp6:Icmp6InRouterAdvertisements";
        ReceivedNeighborSolicit: 1550, 1551, PERF_COUNTER_COUNTER, -1, EXPERT:
            E "/proc/net/snmp6:Icmp6InNeighborSolicits";
        ReceivedNeighborAdvert: 1552, 1553, PERF_COUNTER_COUNTER, -1, EXPERT:
            E "/proc/net/snmp6:Icmp6InNeighborAdvertisements";
        ReceivedRedirect: 598, 599, PERF_COUNTER_COUNTER, -1, ADVANCED: E "/proc/net/snmp6:Icmp6InRedirects";
        MessagesSent: 612, 613, PERF_COUNTER_COUNTER, -1, ADVANCED: E "/proc/net/snmp6:Icmp6OutMsgs";
        MessagesOutboundErrors: 614, 615, PERF_COUNTER_RAWCOUNT, 0, ADVANCED:
            E "/proc/net/snmp6:Icmp6OutErrors" "2.6.35";
        SentDestinationUnreachable: 616, 617, PERF_COUNTER_RAWCOUNT, 0, ADVANCED:
            E "/proc/net/snmp6:Icmp6OutDestUnreachs";
        SentPacketTooBig: 1554, 1555, PERF_COUNTER_COUNTER, -1, EXPERT:
            E "/proc/net/snmp6:Icmp6OutPktTooBigs";
        SentTimeExceeded: 618, 619, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: E "/proc/net/snmp6:Icmp6OutTimeExcds";
        SentParameterProblem: 620, 621, PERF_COUNTER_RAWCOUNT, 0, EXPERT:
            E "/proc/net/snmp6:Icmp6OutParmProblems";
        SentEcho: 626, 627, PERF_COUNTER_COUNTER, -1, EXPERT: E "/proc/net/snmp6:Icmp6OutEchos" "2.6.24";
        SentEchoReply: 628, 629, PERF_COUNTER_COUNTER, -1, EXPERT: E "/proc/net/snmp6:Icmp6OutEchoReplies";
        SentMembershipQuery: 1556, 1557, PERF_COUNTER_COUNTER, -1, EXPERT:
            E "/proc/net/snmp6:Icmp6OutGroupMembQueries" "2.6.24";
        SentMembershipReport: 1558, 1559, PERF_COUNTER_COUNTER, -1, EXPERT:
            E "/proc/net/snmp6:Icmp6OutGroupMembResponses";
        SentMembershipReduction: 1560, 1561, PERF_COUNTER_COUNTER, -1, EXPERT:
            E "/proc/net/snmp6:Icmp6OutGroupMembReductions";
        SentRouterSolicit: 1562, 1563, PERF_COUNTER_COUNTER, -1, EXPERT:
            E "/proc/net/snmp6:Icmp6OutRouterSolicits";
        SentRouterAdvert: 1564, 1565, PERF_COUNTER_COUNTER, -1, EXPERT:
            E "/proc/net/snmp6:Icmp6OutRouterAdvertisements" "2.6.24";
        SentNeighborSolicit: 1566, 1567, PERF_COUNTER_COUNTER, -1, EXPERT:
            E "/proc/net/snmp6:Icmp6OutNeighborSolicits";
        SentNeighborAdvert: 1568, 1569, PERF_COUNTER_COUNTER, -1, EXPERT:
            E "/proc/net/snmp6:Icmp6OutNeighborAdvertisements";
        SentRedirect: 624, 625, PERF_COUNTER_COUNTER, -1, ADVANCED: E "/proc/net/snmp6:Icmp6OutRedirects";
    }
}

/// The object ICMPv6.
pub(super) fn new() -> Protocol {
    Protocol::new(1534, COUNTERS, ORIGINS, |sources, values| {
        for (position, count) in counts(&sources.snmp6()?.icmp) {
            values.set_or(position.at(), count, Absence::NotInThisKernel);
        }
        Ok(())
    })
}

fn counts(icmp: &Icmp6) -> [(At, Option<u64>); 33] {
    [
        (At::Messages, both(icmp.in_msgs, icmp.out_msgs)),
        (At::MessagesReceived, icmp.in_msgs),
        (At::MessagesReceivedErrors, icmp.in_errors),
        (At::ReceivedDestUnreachable, icmp.in_dest_unreachs),
        (At::ReceivedPacketTooBig, icmp.in_pkt_too_bigs),
        (At::ReceivedTimeExceeded, icmp.in_time_excds),
        (At::ReceivedParameterProblem, icmp.in_parm_problems),
        (At::ReceivedEcho, icmp.in_echos),
        (At::ReceivedEchoReply, icmp.in_echo_replies),
        (At::ReceivedMembershipQuery, icmp.in_group_memb_queries),
        (At::ReceivedMembershipReport, icmp.in_group_memb_responses),
        (At::ReceivedMembershipReduction, icmp.in_group_memb_reductions),
        (At::ReceivedRouterSolicit, icmp.in_router_solicits),
        (At::ReceivedRouterAdvert, icmp.in_router_advertisements),
        (At::ReceivedNeighborSolicit, icmp.in_neighbor_solicits),
        (At::ReceivedNeighborAdvert, icmp.in_neighbor_advertisements),
        (At::ReceivedRedirect, icmp.in_redirects),
        (At::MessagesSent, icmp.out_msgs),
        (At::MessagesOutboundErrors, icmp.out_errors),
        (At::SentDestinationUnreachable, icmp.out_dest_unreachs),
        (At::SentPacketTooBig, icmp.out_pkt_too_bigs),
        (At::SentTimeExceeded, icmp.out_time_excds),
        (At::SentParameterProblem, icmp.out_parm_problems),
        (At::SentEcho, icmp.out_echos),
        (At::SentEchoReply, icmp.out_echo_replies),
        (At::SentMembershipQuery, icmp.out_group_memb_queries),
        (At::SentMembershipReport, icmp.out_group_memb_responses),
        (At::SentMembershipReduction, icmp.out_group_memb_reductions),
        (At::SentRouterSolicit, icmp.out_router_solicits),
        (At::SentRouterAdvert, icmp.out_router_advertisements),
        (At::SentNeighborSolicit, icmp.out_neighbor_solicits),
        (At::SentNeighborAdvert, icmp.out_neighbor_advertisements),
        (At::SentRedirect, icmp.out_redirects),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::fake_machine_tests::{Machine, instance, raw};
    use super::*;

    #[test]
    fn every_counter_has_the_value_of_its_column() {
        let names = [
            "InMsgs",
            "InErrors",
            "InDestUnreachs",
            "InPktTooBigs",
            "InTimeExcds",
            "InParmProblems",
            "InEchos",
            "InEchoReplies",
            "InGroupMembQueries",
            "InGroupMembResponses",
            "InGroupMembReductions",
            "InRouterSolicits",
            "InRouterAdvertisements",
            "InNeighborSolicits",
            "InNeighborAdvertisements",
            "InRedirects",
            "OutMsgs",
            "OutErrors",
            "OutDestUnreachs",
            "OutPktTooBigs",
            "OutTimeExcds",
            "OutParmProblems",
            "OutEchos",
            "OutEchoReplies",
            "OutGroupMembQueries",
            "OutGroupMembResponses",
            "OutGroupMembReductions",
            "OutRouterSolicits",
            "OutRouterAdvertisements",
            "OutNeighborSolicits",
            "OutNeighborAdvertisements",
            "OutRedirects",
        ];
        let mut text = "Ip6InReceives 1\nIcmp6InMLDv2Reports 900\nIcmp6InCsumErrors 901\n".to_string();
        for (number, name) in names.iter().enumerate() {
            text.push_str(&format!("Icmp6{name} {}\n", number + 1));
        }
        let mut machine = Machine::new(&[("proc/net/snmp6", text.as_bytes())]);
        let snapshot = machine.read(1534);
        let found: Vec<u64> =
            (0..COUNTERS.len()).map(|position| raw(&instance(&snapshot, ""), position).unwrap()).collect();
        let expected: Vec<u64> = [1 + 17].into_iter().chain(1..=32).collect();
        assert_eq!(found, expected);
    }
}
