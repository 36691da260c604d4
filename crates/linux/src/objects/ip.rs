//! IPv4 (546) and IPv6 (548): datagrams of the Internet Protocol in this network namespace.

use tallymon_provider::{Absence, CounterBlockMut};

use super::protocol::{Protocol, both};
use super::spec::{Origin, counters, origin};
use crate::kernel::proc::snmp::Ip;
use crate::kernel::proc::snmp6::Ip6;

counters! {
    /// Positions of the counters, which both versions share.
    At, COUNTERS, ORIGINS {
        Datagrams: 438, 439, PERF_COUNTER_COUNTER, -1, ADVANCED:
            E "/proc/net/snmp:Ip.InReceives + :Ip.OutRequests";
        DatagramsReceived: 446, 447, PERF_COUNTER_COUNTER, -1, ADVANCED: E "/proc/net/snmp:Ip.InReceives";
        DatagramsReceivedHeaderErrors: 552, 553, PERF_COUNTER_RAWCOUNT, 0, ADVANCED:
            E "/proc/net/snmp:Ip.InHdrErrors";
        DatagramsReceivedAddressErrors: 554, 555, PERF_COUNTER_RAWCOUNT, 0, ADVANCED:
            E "/proc/net/snmp:Ip.InAddrErrors";
        DatagramsForwarded: 556, 557, PERF_COUNTER_COUNTER, -1, ADVANCED: E "/proc/net/snmp:Ip.ForwDatagrams";
        DatagramsReceivedUnknownProtocol: 558, 559, PERF_COUNTER_RAWCOUNT, 0, ADVANCED:
            E "/proc/net/snmp:Ip.InUnknownProtos";
        DatagramsReceivedDiscarded: 560, 561, PERF_COUNTER_RAWCOUNT, 0, ADVANCED:
            E "/proc/net/snmp:Ip.InDiscards";
        DatagramsReceivedDelivered: 562, 563, PERF_COUNTER_COUNTER, -1, ADVANCED:
            E "/proc/net/snmp:Ip.InDelivers";
        DatagramsSent: 442, 443, PERF_COUNTER_COUNTER, -1, ADVANCED: E "/proc/net/snmp:Ip.OutRequests";
        DatagramsOutboundDiscarded: 566, 567, PERF_COUNTER_RAWCOUNT, 0, ADVANCED:
            E "/proc/net/snmp:Ip.OutDiscards";
        DatagramsOutboundNoRoute: 568, 569, PERF_COUNTER_RAWCOUNT, 0, ADVANCED:
            E "/proc/net/snmp:Ip.OutNoRoutes";
        FragmentsReceived: 570, 571, PERF_COUNTER_COUNTER, -1, ADVANCED: E "/proc/net/snmp:Ip.ReasmReqds";
        FragmentsReAssembled: 572, 573, PERF_COUNTER_COUNTER, -1, ADVANCED: E "/proc/net/snmp:Ip.ReasmOKs";
        FragmentReAssemblyFailures: 574, 575, PERF_COUNTER_RAWCOUNT, 0, ADVANCED:
            E "/proc/net/snmp:Ip.ReasmFails";
        FragmentedDatagrams: 576, 577, PERF_COUNTER_COUNTER, -1, ADVANCED: E "/proc/net/snmp:Ip.FragOKs";
        FragmentationFailures: 578, 579, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: E "/proc/net/snmp:Ip.FragFails";
        FragmentsCreated: 580, 581, PERF_COUNTER_COUNTER, -1, ADVANCED: E "/proc/net/snmp:Ip.FragCreates";
    }
}

/// The same counters of version 6.
const V6_ORIGINS: &[Origin] = &[
    origin!(E "/proc/net/snmp6:Ip6InReceives + :Ip6OutRequests"),
    origin!(E "/proc/net/snmp6:Ip6InReceives"),
    origin!(E "/proc/net/snmp6:Ip6InHdrErrors"),
    origin!(E "/proc/net/snmp6:Ip6InAddrErrors"),
    origin!(E "/proc/net/snmp6:Ip6OutForwDatagrams"),
    origin!(E "/proc/net/snmp6:Ip6InUnknownProtos"),
    origin!(E "/proc/net/snmp6:Ip6InDiscards"),
    origin!(E "/proc/net/snmp6:Ip6InDelivers"),
    origin!(E "/proc/net/snmp6:Ip6OutRequests"),
    origin!(E "/proc/net/snmp6:Ip6OutDiscards"),
    origin!(E "/proc/net/snmp6:Ip6OutNoRoutes"),
    origin!(E "/proc/net/snmp6:Ip6ReasmReqds"),
    origin!(E "/proc/net/snmp6:Ip6ReasmOKs"),
    origin!(E "/proc/net/snmp6:Ip6ReasmFails"),
    origin!(E "/proc/net/snmp6:Ip6FragOKs"),
    origin!(E "/proc/net/snmp6:Ip6FragFails"),
    origin!(E "/proc/net/snmp6:Ip6FragCreates"),
];

/// The object IPv4.
pub(super) fn v4() -> Protocol {
    Protocol::new(546, COUNTERS, ORIGINS, |sources, values| {
        write(values, &from_v4(&sources.snmp()?.ip));
        Ok(())
    })
}

/// The object IPv6. Without IPv6 in the kernel, every value is absent.
pub(super) fn v6() -> Protocol {
    Protocol::new(548, COUNTERS, V6_ORIGINS, |sources, values| {
        write(values, &from_v6(&sources.snmp6()?.ip));
        Ok(())
    })
}

type Values = [(At, Option<u64>); 17];

fn write(values: &mut CounterBlockMut<'_>, counts: &Values) {
    for (position, count) in counts {
        values.set_or(position.at(), *count, Absence::NotInThisKernel);
    }
}

fn from_v4(ip: &Ip) -> Values {
    [
        (At::Datagrams, both(ip.in_receives, ip.out_requests)),
        (At::DatagramsReceived, ip.in_receives),
        (At::DatagramsReceivedHeaderErrors, ip.in_hdr_errors),
        (At::DatagramsReceivedAddressErrors, ip.in_addr_errors),
        (At::DatagramsForwarded, ip.forw_datagrams),
        (At::DatagramsReceivedUnknownProtocol, ip.in_unknown_protos),
        (At::DatagramsReceivedDiscarded, ip.in_discards),
        (At::DatagramsReceivedDelivered, ip.in_delivers),
        // Not OutTransmits of newer kernels: NT counts what this machine sends itself, without forwarded
        // datagrams.
        (At::DatagramsSent, ip.out_requests),
        (At::DatagramsOutboundDiscarded, ip.out_discards),
        (At::DatagramsOutboundNoRoute, ip.out_no_routes),
        (At::FragmentsReceived, ip.reasm_reqds),
        (At::FragmentsReAssembled, ip.reasm_oks),
        (At::FragmentReAssemblyFailures, ip.reasm_fails),
        (At::FragmentedDatagrams, ip.frag_oks),
        (At::FragmentationFailures, ip.frag_fails),
        (At::FragmentsCreated, ip.frag_creates),
    ]
}

fn from_v6(ip: &Ip6) -> Values {
    [
        (At::Datagrams, both(ip.in_receives, ip.out_requests)),
        (At::DatagramsReceived, ip.in_receives),
        (At::DatagramsReceivedHeaderErrors, ip.in_hdr_errors),
        (At::DatagramsReceivedAddressErrors, ip.in_addr_errors),
        (At::DatagramsForwarded, ip.out_forw_datagrams),
        (At::DatagramsReceivedUnknownProtocol, ip.in_unknown_protos),
        (At::DatagramsReceivedDiscarded, ip.in_discards),
        (At::DatagramsReceivedDelivered, ip.in_delivers),
        (At::DatagramsSent, ip.out_requests),
        (At::DatagramsOutboundDiscarded, ip.out_discards),
        (At::DatagramsOutboundNoRoute, ip.out_no_routes),
        (At::FragmentsReceived, ip.reasm_reqds),
        (At::FragmentsReAssembled, ip.reasm_oks),
        (At::FragmentReAssemblyFailures, ip.reasm_fails),
        (At::FragmentedDatagrams, ip.frag_oks),
        (At::FragmentationFailures, ip.frag_fails),
        (At::FragmentsCreated, ip.frag_creates),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::fake_machine_tests::{Machine, instance, raw};
    use super::*;
    use crate::kernel::proc::fixture::fixture;

    /// The numbers of these fixtures increase, so that each identifies its column.
    #[test]
    fn every_counter_has_the_value_of_its_column() {
        let [snmp, snmp6] = [fixture("2.6.32/net-snmp"), fixture("2.6.32/net-snmp6")];
        let mut machine = Machine::new(&[("proc/net/snmp", &snmp), ("proc/net/snmp6", &snmp6)]);
        for (object, expected) in [
            (546, [3 + 10, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16, 17, 18, 19]),
            (548, [11 + 21, 11, 12, 15, 20, 16, 18, 19, 21, 22, 23, 25, 26, 27, 28, 29, 30]),
        ] {
            let snapshot = machine.read(object);
            let values = instance(&snapshot, "");
            let found = std::array::from_fn(|position| raw(&values, position).unwrap());
            assert_eq!(found, expected, "{object}");
        }
        assert_eq!(At::FragmentsCreated.at(), 16);
    }
}
