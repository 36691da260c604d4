//! Network counters of Linux besides NT's protocols: TCP Extended, IP Extended, Sockets, Connection Tracking,
//! Network Backlog and IP Virtual Server, all of this network namespace.

use super::spec::rows;
use super::table::Table;

rows! { TCP_COUNTERS, TCP_ORIGINS {
    901_602 PERF_COUNTER_BULK_COUNT 0 NOVICE: E "/proc/net/netstat:TcpExt.ListenOverflows";
    901_604 PERF_COUNTER_BULK_COUNT 0 NOVICE: E "/proc/net/netstat:TcpExt.ListenDrops";
    901_606 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/netstat:TcpExt.TCPTimeouts";
    901_608 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/netstat:TcpExt.TCPFastRetrans";
    901_610 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/netstat:TcpExt.TCPSlowStartRetrans";
    901_612 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/netstat:TcpExt.TCPLostRetransmit";
    901_614 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/netstat:TcpExt.TCPSynRetrans" "3.15";
    901_616 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/netstat:TcpExt.TCPLossProbes" "3.10";
    901_618 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/netstat:TcpExt.TCPSackRecovery";
    901_620 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/netstat:TcpExt.TCPDSACKRecv";
    901_622 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/netstat:TcpExt.TCPOFOQueue" "3.6";
    901_624 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/netstat:TcpExt.SyncookiesSent";
    901_626 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/netstat:TcpExt.SyncookiesFailed";
    901_628 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/netstat:TcpExt.TCPAbortOnTimeout";
    901_630 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/netstat:TcpExt.TCPAbortOnMemory";
    901_632 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/netstat:TcpExt.TCPMemoryPressures";
    901_634 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/netstat:TcpExt.PruneCalled";
    901_636 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/netstat:TcpExt.TCPBacklogDrop" "2.6.34";
    901_638 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/netstat:TcpExt.TCPTimeWaitOverflow" "2.6.37";
    901_640 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/netstat:TcpExt.DelayedACKs";
    901_642 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/netstat:TcpExt.TCPKeepAlive" "4.2";
    901_644 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/netstat:TcpExt.TCPDelivered" "4.18";
    901_646 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/netstat:TcpExt.TCPDeliveredCE" "4.18";
    901_648 PERF_COUNTER_LARGE_RAWCOUNT 0 ADVANCED: E "/proc/net/netstat:MPTcpExt.MPCurrEstab" "6.5";
}}

rows! { IP_COUNTERS, IP_ORIGINS {
    903_202 PERF_COUNTER_BULK_COUNT -4 NOVICE: E "/proc/net/netstat:IpExt.InOctets" "2.6.31";
    903_204 PERF_COUNTER_BULK_COUNT -4 NOVICE: E "/proc/net/netstat:IpExt.OutOctets" "2.6.31";
    903_206 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/netstat:IpExt.InMcastPkts" "2.6.22";
    903_208 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/netstat:IpExt.OutMcastPkts" "2.6.22";
    903_210 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/netstat:IpExt.InBcastPkts" "2.6.22";
    903_212 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/netstat:IpExt.OutBcastPkts" "2.6.22";
    903_214 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/netstat:IpExt.InCsumErrors" "3.10";
    903_216 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/netstat:IpExt.InCEPkts" "3.12";
    903_218 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/netstat:IpExt.InNoRoutes" "2.6.22";
}}

rows! { SOCKET_COUNTERS, SOCKET_ORIGINS {
    903_002 PERF_COUNTER_LARGE_RAWCOUNT 0 NOVICE: E "/proc/net/sockstat:sockets.used";
    903_004 PERF_COUNTER_LARGE_RAWCOUNT 0 NOVICE: E "/proc/net/sockstat:TCP.inuse";
    903_006 PERF_COUNTER_LARGE_RAWCOUNT 0 NOVICE: E "/proc/net/sockstat6:TCP6.inuse";
    903_008 PERF_COUNTER_LARGE_RAWCOUNT 0 ADVANCED: E "/proc/net/sockstat:TCP.orphan";
    903_010 PERF_COUNTER_LARGE_RAWCOUNT 0 ADVANCED: E "/proc/net/sockstat:TCP.tw";
    903_012 PERF_COUNTER_LARGE_RAWCOUNT 0 ADVANCED: E "/proc/net/sockstat:TCP.alloc";
    903_014 PERF_COUNTER_LARGE_RAWCOUNT -5 ADVANCED: E "/proc/net/sockstat:TCP.mem * page";
    903_016 PERF_COUNTER_LARGE_RAWCOUNT 0 ADVANCED: E "/proc/net/sockstat:UDP.inuse";
    903_018 PERF_COUNTER_LARGE_RAWCOUNT 0 ADVANCED: E "/proc/net/sockstat6:UDP6.inuse";
    903_020 PERF_COUNTER_LARGE_RAWCOUNT -5 ADVANCED: E "/proc/net/sockstat:UDP.mem * page" "2.6.25";
    903_022 PERF_COUNTER_LARGE_RAWCOUNT 0 ADVANCED: E "/proc/net/sockstat:RAW.inuse";
    903_024 PERF_COUNTER_LARGE_RAWCOUNT 0 ADVANCED: E "/proc/net/sockstat6:RAW6.inuse";
    903_026 PERF_COUNTER_LARGE_RAWCOUNT 0 EXPERT: E "/proc/net/sockstat:FRAG.memory";
}}

rows! { TRACKING_COUNTERS, TRACKING_ORIGINS {
    902_802 PERF_RAW_FRACTION 0 NOVICE: E "/proc/sys/net/netfilter/nf_conntrack_count";
    902_802 PERF_RAW_BASE 0 NOVICE: E "/proc/sys/net/netfilter/nf_conntrack_max";
    902_804 PERF_COUNTER_LARGE_RAWCOUNT 0 NOVICE: E "/proc/sys/net/netfilter/nf_conntrack_count";
    902_806 PERF_COUNTER_LARGE_RAWCOUNT 0 ADVANCED: E "/proc/sys/net/netfilter/nf_conntrack_max";
    902_808 PERF_COUNTER_COUNTER 0 ADVANCED: E "/proc/net/stat/nf_conntrack:drop";
    902_810 PERF_COUNTER_COUNTER 0 ADVANCED: E "/proc/net/stat/nf_conntrack:early_drop";
    902_812 PERF_COUNTER_COUNTER 0 ADVANCED: E "/proc/net/stat/nf_conntrack:insert_failed";
    902_814 PERF_COUNTER_COUNTER 0 ADVANCED: E "/proc/net/stat/nf_conntrack:invalid";
}}

rows! { BACKLOG_COUNTERS, BACKLOG_ORIGINS {
    903_602 PERF_COUNTER_COUNTER -2 NOVICE: E "/proc/net/softnet_stat:#1";
    903_604 PERF_COUNTER_COUNTER 0 NOVICE: E "/proc/net/softnet_stat:#2";
    903_606 PERF_COUNTER_COUNTER 0 ADVANCED: E "/proc/net/softnet_stat:#3";
    903_608 PERF_COUNTER_COUNTER 0 ADVANCED: E "/proc/net/softnet_stat:#10" "2.6.35";
    903_610 PERF_COUNTER_COUNTER 0 ADVANCED: E "/proc/net/softnet_stat:#11" "3.11";
    903_612 PERF_COUNTER_RAWCOUNT 0 ADVANCED: E "/proc/net/softnet_stat:#12" "5.10";
}}

rows! { SERVER_COUNTERS, SERVER_ORIGINS {
    907_802 PERF_COUNTER_BULK_COUNT 0 NOVICE: E "/proc/net/ip_vs_stats:#1";
    907_804 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/ip_vs_stats:#2";
    907_806 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/net/ip_vs_stats:#3";
    907_808 PERF_COUNTER_BULK_COUNT -4 NOVICE: E "/proc/net/ip_vs_stats:#4";
    907_810 PERF_COUNTER_BULK_COUNT -4 ADVANCED: E "/proc/net/ip_vs_stats:#5";
}}

/// The object TCP Extended.
pub(super) fn tcp() -> Table {
    Table::one(901_600, TCP_COUNTERS, TCP_ORIGINS)
}

/// The object IP Extended.
pub(super) fn ip() -> Table {
    Table::one(903_200, IP_COUNTERS, IP_ORIGINS)
}

/// The object Sockets.
pub(super) fn sockets() -> Table {
    Table::one(903_000, SOCKET_COUNTERS, SOCKET_ORIGINS)
}

/// The object Connection Tracking.
pub(super) fn tracking() -> Table {
    Table::one(902_800, TRACKING_COUNTERS, TRACKING_ORIGINS)
}

/// The object Network Backlog. Its counts are 32 bits wide, summed over all CPUs.
pub(super) fn backlog() -> Table {
    Table::one(903_600, BACKLOG_COUNTERS, BACKLOG_ORIGINS)
}

/// The object IP Virtual Server: what the kernel's load balancer (IPVS) has forwarded.
pub(super) fn virtual_server() -> Table {
    Table::one(907_800, SERVER_COUNTERS, SERVER_ORIGINS)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::super::fake_machine_tests::{Machine, System, collect, instance, named};
    use crate::kernel::proc::fixture::fixture;
    use tallymon_provider::{Absence, Interest, ValueState};

    #[test]
    fn every_counter_of_the_current_kernel_has_a_value() {
        let [netstat, sockstat, sockstat6] =
            ["6.18/net-netstat", "6.18/net-sockstat", "6.18/net-sockstat6"].map(fixture);
        let mut machine = Machine::new(&[
            ("proc/net/netstat", &netstat),
            ("proc/net/sockstat", &sockstat),
            ("proc/net/sockstat6", &sockstat6),
        ]);
        for object in [901_600, 903_000, 903_200] {
            let snapshot = machine.read(object);
            let values = instance(&snapshot, "");
            for position in 0..values.object().counters().len() - 1 {
                assert_eq!(values.state(position), ValueState::Present, "{object} at {position}");
            }
        }
        let snapshot = machine.read(903_000);
        assert_eq!(named(&instance(&snapshot, ""), 903_014), Ok(112 * rustix::param::page_size() as u64));
    }

    #[test]
    fn columns_are_found_by_name_and_rows_are_added_up() {
        let netstat =
            b"TcpExt: New ListenDrops ListenOverflows\nTcpExt: 9 2 1\nIpExt: OutOctets\nIpExt: 5000000000\n";
        let conntrack = b"entries  found drop early_drop\n00000003  00000000 0000000a 00000001\n00000003  00000000 00000006 00000000\n";
        let mut machine = Machine::new(&[
            ("proc/net/netstat", netstat),
            ("proc/net/stat/nf_conntrack", conntrack),
            ("proc/sys/net/netfilter/nf_conntrack_count", b"3\n"),
            ("proc/net/ip_vs_stats", &fixture("written/ip_vs_stats")),
            ("proc/net/softnet_stat", b"00000a96 00000001 00000002\n000075eb 00000000 00000001\n"),
        ]);
        let missing = Err(ValueState::Absent(Absence::NotInThisKernel));
        let snapshot = machine.read(901_600);
        let values = instance(&snapshot, "");
        assert_eq!((named(&values, 901_602), named(&values, 901_604)), (Ok(1), Ok(2)));
        assert_eq!(named(&values, 901_606), missing);
        let snapshot = machine.read(903_200);
        assert_eq!(named(&instance(&snapshot, ""), 903_204), Ok(5_000_000_000), "more than 32 bits");
        let snapshot = machine.read(902_800);
        let values = instance(&snapshot, "");
        assert_eq!((named(&values, 902_804), named(&values, 902_808)), (Ok(3), Ok(16)));
        assert_eq!((named(&values, 902_806), named(&values, 902_812)), (missing, missing));
        let snapshot = machine.read(903_600);
        let values = instance(&snapshot, "");
        assert_eq!((named(&values, 903_602), named(&values, 903_606)), (Ok(0xa96 + 0x75eb), Ok(3)));
        assert_eq!(named(&values, 903_612), missing, "an older kernel has fewer columns");
        let snapshot = machine.read(907_800);
        let values = instance(&snapshot, "");
        assert_eq!((named(&values, 907_802), named(&values, 907_808)), (Ok(0x15), Ok(0x1_0000_0001)));
    }

    #[test]
    fn sockets_of_the_running_kernel_are_counted() {
        let mut system = System::open().unwrap();
        let mut used = || {
            let snapshot = collect(&mut system, 903_000, &Interest::everything());
            named(&instance(&snapshot, ""), 903_004).unwrap()
        };
        let before = used();
        let listeners: Vec<_> = (0..40).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        // Other programs may close some meanwhile.
        assert!(used() >= before.saturating_sub(20) + 40, "{before} {}", listeners.len());
    }
}
