//! TCPv4 (638) and TCPv6 (1530): connections and segments of the Transmission Control Protocol in this network
//! namespace.
//!
//! Linux counts TCP once for both versions of IP. TCPv4 holds these common counts, so that the sum over both objects is
//! right; TCPv6 has no values, because showing the same counts again would count every segment twice.

use tallymon_provider::Absence;

use super::protocol::{Protocol, both};
use super::spec::{Origin, counters, origin};

counters! {
    /// Positions of the counters, which both versions share.
    At, COUNTERS, ORIGINS {
        Segments: 640, 641, PERF_COUNTER_COUNTER, -1, ADVANCED: C "/proc/net/snmp:Tcp.InSegs + :Tcp.OutSegs";
        ConnectionsEstablished: 642, 643, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: C "/proc/net/snmp:Tcp.CurrEstab";
        ConnectionsActive: 644, 645, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: C "/proc/net/snmp:Tcp.ActiveOpens";
        ConnectionsPassive: 646, 647, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: C "/proc/net/snmp:Tcp.PassiveOpens";
        ConnectionFailures: 648, 649, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: C "/proc/net/snmp:Tcp.AttemptFails";
        ConnectionsReset: 650, 651, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: C "/proc/net/snmp:Tcp.EstabResets";
        SegmentsReceived: 652, 653, PERF_COUNTER_COUNTER, -1, ADVANCED: C "/proc/net/snmp:Tcp.InSegs";
        SegmentsSent: 654, 655, PERF_COUNTER_COUNTER, -1, ADVANCED: C "/proc/net/snmp:Tcp.OutSegs";
        SegmentsRetransmitted: 656, 657, PERF_COUNTER_COUNTER, -1, ADVANCED: C "/proc/net/snmp:Tcp.RetransSegs";
    }
}

/// Linux has one count for both versions, which is in TCPv4.
const V6_ORIGINS: &[Origin] = &[origin!(N); COUNTERS.len()];

/// The object TCPv4, with the counts of both versions.
pub(super) fn v4() -> Protocol {
    Protocol::new(638, COUNTERS, ORIGINS, |sources, values| {
        let tcp = &sources.snmp()?.tcp;
        let mut set = |position: At, count| values.set_or(position.at(), count, Absence::NotInThisKernel);
        // As on NT, segments that are sent again are in neither of the two.
        set(At::Segments, both(tcp.in_segs, tcp.out_segs));
        set(At::SegmentsReceived, tcp.in_segs);
        set(At::SegmentsSent, tcp.out_segs);
        set(At::SegmentsRetransmitted, tcp.retrans_segs);
        set(At::ConnectionsEstablished, tcp.curr_estab);
        set(At::ConnectionsActive, tcp.active_opens);
        set(At::ConnectionsPassive, tcp.passive_opens);
        set(At::ConnectionFailures, tcp.attempt_fails);
        set(At::ConnectionsReset, tcp.estab_resets);
        Ok(())
    })
}

/// The object TCPv6, whose counts are in TCPv4.
pub(super) fn v6() -> Protocol {
    Protocol::new(1530, COUNTERS, V6_ORIGINS, |_, _| Err(Absence::NotOnThisSystem))
}

#[cfg(test)]
mod tests {
    use super::super::fake::{Machine, instance, raw};
    use super::*;
    use crate::proc::fixture::fixture;

    #[test]
    fn every_counter_shows_its_column() {
        let snmp = fixture("2.6.32/net-snmp");
        let mut machine = Machine::new(&[("proc/net/snmp", &snmp)]);
        let snapshot = machine.read(638);
        let found: Vec<u64> =
            (0..COUNTERS.len()).map(|position| raw(&instance(&snapshot, ""), position).unwrap()).collect();
        assert_eq!(found, [10 + 11, 9, 5, 6, 7, 8, 10, 11, 12]);
    }
}
