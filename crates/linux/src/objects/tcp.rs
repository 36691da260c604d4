//! TCPv4 (638) and TCPv6 (1530): connections and segments of the Transmission Control Protocol in this
//! network namespace.
//!
//! Linux counts TCP once for both versions of IP. TCPv4 has these common counts, so that the sum over both
//! objects is right; TCPv6 only has its number of connections, because showing the counts again would count
//! every segment twice.

use tallymon_provider::{
    Absence, CollectRequest, DetailLevel, Frequency, InstanceKind, ObjectLayout, ObjectSpec, ObjectsWriter,
    PerfTime,
};

use super::object::Object;
use super::protocol::{Protocol, both};
use super::spec::{Origin, counters, object, origin};
use crate::sources::{Sources, absence_of_route};

counters! {
    /// Positions of the counters, which both versions share.
    At, COUNTERS, ORIGINS {
        Segments: 640, 641, PERF_COUNTER_COUNTER, -1, ADVANCED: C "/proc/net/snmp:Tcp.InSegs + :Tcp.OutSegs";
        ConnectionsEstablished: 642, 643, PERF_COUNTER_RAWCOUNT, 0, ADVANCED:
            C "/proc/net/snmp:Tcp.CurrEstab";
        ConnectionsActive: 644, 645, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: C "/proc/net/snmp:Tcp.ActiveOpens";
        ConnectionsPassive: 646, 647, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: C "/proc/net/snmp:Tcp.PassiveOpens";
        ConnectionFailures: 648, 649, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: C "/proc/net/snmp:Tcp.AttemptFails";
        ConnectionsReset: 650, 651, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: C "/proc/net/snmp:Tcp.EstabResets";
        SegmentsReceived: 652, 653, PERF_COUNTER_COUNTER, -1, ADVANCED: C "/proc/net/snmp:Tcp.InSegs";
        SegmentsSent: 654, 655, PERF_COUNTER_COUNTER, -1, ADVANCED: C "/proc/net/snmp:Tcp.OutSegs";
        SegmentsRetransmitted: 656, 657, PERF_COUNTER_COUNTER, -1, ADVANCED:
            C "/proc/net/snmp:Tcp.RetransSegs";
    }
}

/// The object TCPv4, with the counts of both versions.
pub(super) fn v4() -> Protocol {
    Protocol::new(638, COUNTERS, ORIGINS, |sources, values| {
        let tcp = &sources.snmp()?.tcp;
        let mut set = |position: At, count| values.set_or(position.at(), count, Absence::NotInThisKernel);
        // As on NT, retransmitted segments are in neither of the two.
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

/// Linux has one count for both versions, which is in TCPv4, but it can list the connections.
#[allow(clippy::indexing_slicing, reason = "evaluated by the compiler, which reports a wrong index")]
const V6_ORIGINS: &[Origin] = &{
    let mut origins = [origin!(N); COUNTERS.len()];
    origins[At::ConnectionsEstablished.at()] =
        origin!(O "sock_diag(7): connections of IPv6, which TCPv4 counts too" "3.3");
    origins
};

/// The object TCPv6. Its only value takes a list of all connections, so it is read by name only.
pub(super) struct TcpV6 {
    layout: ObjectLayout<'static>,
}

impl TcpV6 {
    pub(super) fn new() -> TcpV6 {
        let spec = object(1530, 1531, DetailLevel::ADVANCED, 0, InstanceKind::None, COUNTERS);
        TcpV6 { layout: ObjectLayout::new(spec) }
    }
}

impl Object for TcpV6 {
    fn spec(&self) -> &ObjectSpec<'static> {
        self.layout.spec()
    }

    fn origins(&self) -> &'static [Origin] {
        V6_ORIGINS
    }

    fn collect(&mut self, ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        let mut object = out.object(&self.layout, PerfTime(0), Frequency(0));
        let mut values = object.single();
        let position = At::ConnectionsEstablished.at();
        let others = (0..COUNTERS.len()).filter(|other| *other != position);
        values.absent(others, Absence::NotOnThisSystem);
        let spec = self.layout.spec();
        let wanted =
            COUNTERS.get(position).is_some_and(|counter| ask.interest.wants(spec.name, counter.name));
        let found = if ask.interest.is_everything() || !wanted {
            Err(Absence::NotRequested)
        } else if sources.root.is_system() {
            sources.socket_diag.connections_v6().map_err(|error| absence_of_route(&error))
        } else {
            // The connections of another machine are in none of its files.
            Err(Absence::Other)
        };
        match found {
            Ok(count) => values.set(position, u64::try_from(count).unwrap_or(u64::MAX)),
            Err(absence) => values.absent([position], absence),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake_machine_tests::{Machine, System, collect, instance, named, raw};
    use super::*;
    use crate::kernel::proc::fixture::fixture;
    use tallymon_provider::{Interest, ValueState};

    #[test]
    fn every_counter_has_the_value_of_its_column() {
        let snmp = fixture("2.6.32/net-snmp");
        let mut machine = Machine::new(&[("proc/net/snmp", &snmp)]);
        let snapshot = machine.read(638);
        let found: Vec<u64> =
            (0..COUNTERS.len()).map(|position| raw(&instance(&snapshot, ""), position).unwrap()).collect();
        assert_eq!(found, [10 + 11, 9, 5, 6, 7, 8, 10, 11, 12]);
    }

    #[test]
    fn ipv6_connections_are_listed_on_request() {
        let established = |system: &mut System, interest: &Interest| {
            let snapshot = collect(system, 1530, interest);
            let values = instance(&snapshot, "");
            assert_eq!(named(&values, 652), Err(ValueState::Absent(Absence::NotOnThisSystem)));
            named(&values, 642)
        };
        let mut system = System::open().unwrap();
        let not_asked = Err(ValueState::Absent(Absence::NotRequested));
        assert_eq!(established(&mut system, &Interest::everything()), not_asked, "never in a sweep");
        let mut interest = Interest::everything();
        interest.add_object(tallymon_provider::TitleIndex(1530));
        let Ok(listener) = std::net::TcpListener::bind("[::1]:0") else {
            return tallymon_testkit::skip("no IPv6 here");
        };
        let before = established(&mut system, &interest).unwrap();
        let address = listener.local_addr().unwrap();
        let connections: Vec<_> = (0..20).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
        let after = established(&mut system, &interest).unwrap();
        assert!((30..=50).contains(&after.wrapping_sub(before)), "{before} {after}");
        drop(connections);
    }
}
