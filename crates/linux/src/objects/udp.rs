//! UDPv4 (658) and UDPv6 (1532): datagrams of the User Datagram Protocol in this network namespace.

use tallymon_provider::{Absence, CounterBlockMut};

use super::protocol::{Protocol, both};
use super::spec::{Origin, counters, origin};

counters! {
    /// Positions of the counters, which both versions share.
    At, COUNTERS, ORIGINS {
        Datagrams: 438, 381, PERF_COUNTER_COUNTER, -1, ADVANCED:
            E "/proc/net/snmp:Udp.InDatagrams + :Udp.OutDatagrams";
        DatagramsReceived: 446, 383, PERF_COUNTER_COUNTER, -1, ADVANCED: E "/proc/net/snmp:Udp.InDatagrams";
        DatagramsNoPort: 664, 665, PERF_COUNTER_COUNTER, -1, ADVANCED: E "/proc/net/snmp:Udp.NoPorts";
        DatagramsReceivedErrors: 666, 667, PERF_COUNTER_RAWCOUNT, 0, ADVANCED:
            E "/proc/net/snmp:Udp.InErrors";
        DatagramsSent: 442, 385, PERF_COUNTER_COUNTER, -1, ADVANCED: E "/proc/net/snmp:Udp.OutDatagrams";
    }
}

/// The same counters of version 6.
const V6_ORIGINS: &[Origin] = &[
    origin!(E "/proc/net/snmp6:Udp6InDatagrams + :Udp6OutDatagrams"),
    origin!(E "/proc/net/snmp6:Udp6InDatagrams"),
    origin!(E "/proc/net/snmp6:Udp6NoPorts"),
    origin!(E "/proc/net/snmp6:Udp6InErrors"),
    origin!(E "/proc/net/snmp6:Udp6OutDatagrams"),
];

/// The object UDPv4.
pub(super) fn v4() -> Protocol {
    Protocol::new(658, COUNTERS, ORIGINS, |sources, values| {
        let udp = &sources.snmp()?.udp;
        write(values, [udp.in_datagrams, udp.no_ports, udp.in_errors, udp.out_datagrams]);
        Ok(())
    })
}

/// The object UDPv6. Without IPv6 in the kernel, every value is absent.
pub(super) fn v6() -> Protocol {
    Protocol::new(1532, COUNTERS, V6_ORIGINS, |sources, values| {
        let udp = &sources.snmp6()?.udp;
        write(values, [udp.in_datagrams, udp.no_ports, udp.in_errors, udp.out_datagrams]);
        Ok(())
    })
}

fn write(values: &mut CounterBlockMut<'_>, counts: [Option<u64>; 4]) {
    let [received, no_port, errors, sent] = counts;
    let mut set = |position: At, count| values.set_or(position.at(), count, Absence::NotInThisKernel);
    set(At::Datagrams, both(received, sent));
    set(At::DatagramsReceived, received);
    set(At::DatagramsNoPort, no_port);
    // The kernel includes full buffers and wrong checksums here.
    set(At::DatagramsReceivedErrors, errors);
    set(At::DatagramsSent, sent);
}

#[cfg(test)]
mod tests {
    use super::super::fake_machine_tests::{Machine, instance, raw};
    use super::*;

    #[test]
    fn every_counter_has_the_value_of_its_column_and_wraps() {
        let snmp = b"Ip: InReceives\nIp: 1\nUdp: RcvbufErrors InErrors NoPorts OutDatagrams \
            InDatagrams\nUdp: 5 4 3 4294967299 7\n";
        let snmp6 =
            b"Ip6InReceives 1\nUdp6InErrors 4\nUdp6NoPorts 30\nUdp6OutDatagrams 20\nUdp6InDatagrams 10\n";
        let mut machine = Machine::new(&[("proc/net/snmp", snmp), ("proc/net/snmp6", snmp6)]);
        // 2^32 + 3 datagrams were sent: these counters have 32 bits, so only differences are meaningful.
        for (object, expected) in [(658, [10, 7, 3, 4, 3]), (1532, [30, 10, 30, 4, 20])] {
            let snapshot = machine.read(object);
            let values = instance(&snapshot, "");
            let found = std::array::from_fn(|position| raw(&values, position).unwrap());
            assert_eq!(found, expected, "{object}");
        }
        assert_eq!(At::DatagramsSent.at(), 4);
    }
}
