//! ICMP (582): messages of the Internet Control Message Protocol, version 4, in this network namespace.
//!
//! No machine sends Source Quench or Address Mask messages any more, but the kernel still counts them: these
//! counters are truly 0.

use tallymon_provider::Absence;

use super::protocol::{Protocol, both};
use super::spec::counters;
use crate::kernel::proc::snmp::Icmp;

counters! {
    /// Positions of the counters.
    At, COUNTERS, ORIGINS {
        Messages: 584, 585, PERF_COUNTER_COUNTER, -1, ADVANCED:
            E "/proc/net/snmp:Icmp.InMsgs + :Icmp.OutMsgs";
        MessagesReceived: 586, 587, PERF_COUNTER_COUNTER, -1, ADVANCED: E "/proc/net/snmp:Icmp.InMsgs";
        MessagesReceivedErrors: 588, 589, PERF_COUNTER_RAWCOUNT, 0, ADVANCED:
            E "/proc/net/snmp:Icmp.InErrors";
        ReceivedDestUnreachable: 590, 591, PERF_COUNTER_RAWCOUNT, 0, ADVANCED:
            E "/proc/net/snmp:Icmp.InDestUnreachs";
        ReceivedTimeExceeded: 592, 593, PERF_COUNTER_RAWCOUNT, 0, ADVANCED:
            E "/proc/net/snmp:Icmp.InTimeExcds";
        ReceivedParameterProblem: 594, 595, PERF_COUNTER_RAWCOUNT, 0, EXPERT:
            E "/proc/net/snmp:Icmp.InParmProbs";
        ReceivedSourceQuench: 596, 597, PERF_COUNTER_RAWCOUNT, 0, WIZARD:
            E "/proc/net/snmp:Icmp.InSrcQuenchs";
        ReceivedRedirect: 598, 599, PERF_COUNTER_COUNTER, -1, ADVANCED: E "/proc/net/snmp:Icmp.InRedirects";
        ReceivedEcho: 600, 601, PERF_COUNTER_COUNTER, -1, EXPERT: E "/proc/net/snmp:Icmp.InEchos";
        ReceivedEchoReply: 602, 603, PERF_COUNTER_COUNTER, -1, EXPERT: E "/proc/net/snmp:Icmp.InEchoReps";
        ReceivedTimestamp: 604, 605, PERF_COUNTER_COUNTER, -1, EXPERT: E "/proc/net/snmp:Icmp.InTimestamps";
        ReceivedTimestampReply: 606, 607, PERF_COUNTER_COUNTER, -1, EXPERT:
            E "/proc/net/snmp:Icmp.InTimestampReps";
        ReceivedAddressMask: 608, 609, PERF_COUNTER_RAWCOUNT, 0, EXPERT: E "/proc/net/snmp:Icmp.InAddrMasks";
        ReceivedAddressMaskReply: 610, 611, PERF_COUNTER_RAWCOUNT, 0, EXPERT:
            E "/proc/net/snmp:Icmp.InAddrMaskReps";
        MessagesSent: 612, 613, PERF_COUNTER_COUNTER, -1, ADVANCED: E "/proc/net/snmp:Icmp.OutMsgs";
        MessagesOutboundErrors: 614, 615, PERF_COUNTER_RAWCOUNT, 0, ADVANCED:
            E "/proc/net/snmp:Icmp.OutErrors";
        SentDestinationUnreachable: 616, 617, PERF_COUNTER_RAWCOUNT, 0, ADVANCED:
            E "/proc/net/snmp:Icmp.OutDestUnreachs";
        SentTimeExceeded: 618, 619, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: E "/proc/net/snmp:Icmp.OutTimeExcds";
        SentParameterProblem: 620, 621, PERF_COUNTER_RAWCOUNT, 0, EXPERT:
            E "/proc/net/snmp:Icmp.OutParmProbs";
        SentSourceQuench: 622, 623, PERF_COUNTER_RAWCOUNT, 0, WIZARD: E "/proc/net/snmp:Icmp.OutSrcQuenchs";
        SentRedirect: 624, 625, PERF_COUNTER_COUNTER, -1, ADVANCED: E "/proc/net/snmp:Icmp.OutRedirects";
        SentEcho: 626, 627, PERF_COUNTER_COUNTER, -1, EXPERT: E "/proc/net/snmp:Icmp.OutEchos";
        SentEchoReply: 628, 629, PERF_COUNTER_COUNTER, -1, EXPERT: E "/proc/net/snmp:Icmp.OutEchoReps";
        SentTimestamp: 630, 631, PERF_COUNTER_COUNTER, -1, EXPERT: E "/proc/net/snmp:Icmp.OutTimestamps";
        SentTimestampReply: 632, 633, PERF_COUNTER_COUNTER, -1, EXPERT:
            E "/proc/net/snmp:Icmp.OutTimestampReps";
        SentAddressMask: 634, 635, PERF_COUNTER_RAWCOUNT, 0, EXPERT: E "/proc/net/snmp:Icmp.OutAddrMasks";
        SentAddressMaskReply: 636, 637, PERF_COUNTER_RAWCOUNT, 0, EXPERT:
            E "/proc/net/snmp:Icmp.OutAddrMaskReps";
    }
}

/// The object ICMP.
pub(super) fn new() -> Protocol {
    Protocol::new(582, COUNTERS, ORIGINS, |sources, values| {
        for (position, count) in counts(&sources.snmp()?.icmp) {
            values.set_or(position.at(), count, Absence::NotInThisKernel);
        }
        Ok(())
    })
}

fn counts(icmp: &Icmp) -> [(At, Option<u64>); 27] {
    [
        (At::Messages, both(icmp.in_msgs, icmp.out_msgs)),
        (At::MessagesReceived, icmp.in_msgs),
        (At::MessagesReceivedErrors, icmp.in_errors),
        (At::ReceivedDestUnreachable, icmp.in_dest_unreachs),
        (At::ReceivedTimeExceeded, icmp.in_time_excds),
        (At::ReceivedParameterProblem, icmp.in_parm_probs),
        (At::ReceivedSourceQuench, icmp.in_src_quenchs),
        (At::ReceivedRedirect, icmp.in_redirects),
        (At::ReceivedEcho, icmp.in_echos),
        (At::ReceivedEchoReply, icmp.in_echo_reps),
        (At::ReceivedTimestamp, icmp.in_timestamps),
        (At::ReceivedTimestampReply, icmp.in_timestamp_reps),
        (At::ReceivedAddressMask, icmp.in_addr_masks),
        (At::ReceivedAddressMaskReply, icmp.in_addr_mask_reps),
        (At::MessagesSent, icmp.out_msgs),
        (At::MessagesOutboundErrors, icmp.out_errors),
        (At::SentDestinationUnreachable, icmp.out_dest_unreachs),
        (At::SentTimeExceeded, icmp.out_time_excds),
        (At::SentParameterProblem, icmp.out_parm_probs),
        (At::SentSourceQuench, icmp.out_src_quenchs),
        (At::SentRedirect, icmp.out_redirects),
        (At::SentEcho, icmp.out_echos),
        (At::SentEchoReply, icmp.out_echo_reps),
        (At::SentTimestamp, icmp.out_timestamps),
        (At::SentTimestampReply, icmp.out_timestamp_reps),
        (At::SentAddressMask, icmp.out_addr_masks),
        (At::SentAddressMaskReply, icmp.out_addr_mask_reps),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::fake_machine_tests::{Machine, instance, raw};
    use super::*;
    use crate::kernel::proc::fixture::fixture;

    /// The numbers of the fixture increase in the order of the counters.
    #[test]
    fn every_counter_has_the_value_of_its_column() {
        let snmp = fixture("2.6.32/net-snmp");
        let mut machine = Machine::new(&[("proc/net/snmp", &snmp)]);
        let snapshot = machine.read(582);
        let found: Vec<u64> =
            (0..COUNTERS.len()).map(|position| raw(&instance(&snapshot, ""), position).unwrap()).collect();
        let expected: Vec<u64> = [1 + 14].into_iter().chain(1..=26).collect();
        assert_eq!(found, expected);
        assert_eq!(At::SentAddressMaskReply.at(), 26);
    }
}
