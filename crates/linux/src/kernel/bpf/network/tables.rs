//! The counters of network protocols, by their names in the kernel, and their fields in `/proc/net/snmp` and
//! `/proc/net/snmp6`.

use super::super::btf::Named;
use crate::kernel::proc::snmp::Snmp;
use crate::kernel::proc::snmp6::Snmp6;

/// The field for a number of a file.
pub(crate) type Member<File> = fn(&mut File) -> &mut Option<u64>;

/// How a number is found in its table.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MemberKey {
    /// By the first of these names that the kernel defines, unless an earlier member has its value.
    Named(&'static [&'static str]),
    /// By message type; [`SENT`] marks messages that were sent.
    Message(u32),
}

impl MemberKey {
    /// Whether the number is a gauge, which can decrease.
    pub(crate) fn goes_down(&self) -> bool {
        matches!(self, MemberKey::Named(["TCP_MIB_CURRESTAB"]))
    }
}

/// The kernel counts up to so many message types, first those received and then those sent.
const SENT: u32 = 0x100;

/// One of the kernel's tables.
pub(crate) struct Table<File: 'static> {
    /// The path of the table in a network namespace.
    pub(crate) at: &'static str,
    pub(crate) structure: &'static str,
    /// The first value of the enumeration that numbers its members.
    pub(crate) first: &'static str,
    /// Whether the table is per CPU.
    pub(crate) is_of_each: bool,
    pub(crate) members: &'static [(MemberKey, Member<File>)],
}

impl<File> Table<File> {
    /// The names to look up in the kernel's types.
    pub(crate) fn names(&self) -> [(Named, &'static str); 2] {
        [(Named::Struct, self.structure), (Named::Values, self.first)]
    }
}

macro_rules! counts {
    ($at:literal, $structure:literal, $prefix:literal, $file:ident.$part:ident:
     $($member:ident $($name:literal)|+;)*) => {
        Table {
            at: $at,
            structure: $structure,
            first: concat!($prefix, "NUM"),
            is_of_each: true,
            members: &[$(
                (MemberKey::Named(&[$(concat!($prefix, $name)),+]), |file: &mut $file| &mut file.$part.$member),
            )*],
        }
    };
}

macro_rules! messages {
    ($at:literal, $structure:literal, $file:ident.$part:ident:
     $($number:literal $in:ident $($out:ident)?;)*) => {
        Table {
            at: $at,
            structure: $structure,
            first: "",
            is_of_each: false,
            members: &[$(
                (MemberKey::Message($number), |file: &mut $file| &mut file.$part.$in),
                $((MemberKey::Message(SENT | $number), |file: &mut $file| &mut file.$part.$out),)?
            )*],
        }
    };
}

macro_rules! datagrams {
    ($at:literal, $file:ident.$part:ident) => {
        counts! { $at, "udp_mib", "UDP_MIB_", $file.$part:
            in_datagrams "INDATAGRAMS";
            no_ports "NOPORTS";
            in_errors "INERRORS";
            out_datagrams "OUTDATAGRAMS";
            rcvbuf_errors "RCVBUFERRORS";
            sndbuf_errors "SNDBUFERRORS";
            in_csum_errors "CSUMERRORS";
            ignored_multi "IGNOREDMULTI";
            mem_errors "MEMERRORS";
        }
    };
}

/// The tables of `/proc/net/snmp`.
pub(crate) const V4: [Table<Snmp>; 6] = [
    counts! { "mib.ip_statistics", "ipstats_mib", "IPSTATS_MIB_", Snmp.ip:
        in_receives "INPKTS";
        in_hdr_errors "INHDRERRORS";
        in_addr_errors "INADDRERRORS";
        forw_datagrams "OUTFORWDATAGRAMS";
        in_unknown_protos "INUNKNOWNPROTOS";
        in_discards "INDISCARDS";
        in_delivers "INDELIVERS";
        // Before Linux 6.7 these were counted under the name that now means packets handed to a device.
        out_requests "OUTREQUESTS" | "OUTPKTS";
        out_discards "OUTDISCARDS";
        out_no_routes "OUTNOROUTES";
        reasm_timeout "REASMTIMEOUT";
        reasm_reqds "REASMREQDS";
        reasm_oks "REASMOKS";
        reasm_fails "REASMFAILS";
        frag_oks "FRAGOKS";
        frag_fails "FRAGFAILS";
        frag_creates "FRAGCREATES";
        out_transmits "OUTPKTS";
    },
    counts! { "mib.icmp_statistics", "icmp_mib", "ICMP_MIB_", Snmp.icmp:
        in_msgs "INMSGS";
        in_errors "INERRORS";
        in_csum_errors "CSUMERRORS";
        out_msgs "OUTMSGS";
        out_errors "OUTERRORS";
        out_rate_limit_global "RATELIMITGLOBAL";
        out_rate_limit_host "RATELIMITHOST";
    },
    messages! { "mib.icmpmsg_statistics", "icmpmsg_mib", Snmp.icmp:
        0 in_echo_reps out_echo_reps;
        3 in_dest_unreachs out_dest_unreachs;
        4 in_src_quenchs out_src_quenchs;
        5 in_redirects out_redirects;
        8 in_echos out_echos;
        11 in_time_excds out_time_excds;
        12 in_parm_probs out_parm_probs;
        13 in_timestamps out_timestamps;
        14 in_timestamp_reps out_timestamp_reps;
        17 in_addr_masks out_addr_masks;
        18 in_addr_mask_reps out_addr_mask_reps;
    },
    counts! { "mib.tcp_statistics", "tcp_mib", "TCP_MIB_", Snmp.tcp:
        active_opens "ACTIVEOPENS";
        passive_opens "PASSIVEOPENS";
        attempt_fails "ATTEMPTFAILS";
        estab_resets "ESTABRESETS";
        curr_estab "CURRESTAB";
        in_segs "INSEGS";
        out_segs "OUTSEGS";
        retrans_segs "RETRANSSEGS";
        in_errs "INERRS";
        out_rsts "OUTRSTS";
        in_csum_errors "CSUMERRORS";
    },
    datagrams!("mib.udp_statistics", Snmp.udp),
    datagrams!("mib.udplite_statistics", Snmp.udp_lite),
];

/// The tables of `/proc/net/snmp6`.
pub(crate) const V6: [Table<Snmp6>; 4] = [
    counts! { "mib.ipv6_statistics", "ipstats_mib", "IPSTATS_MIB_", Snmp6.ip:
        in_receives "INPKTS";
        in_hdr_errors "INHDRERRORS";
        in_too_big_errors "INTOOBIGERRORS";
        in_no_routes "INNOROUTES";
        in_addr_errors "INADDRERRORS";
        in_unknown_protos "INUNKNOWNPROTOS";
        in_truncated_pkts "INTRUNCATEDPKTS";
        in_discards "INDISCARDS";
        in_delivers "INDELIVERS";
        out_forw_datagrams "OUTFORWDATAGRAMS";
        out_requests "OUTREQUESTS" | "OUTPKTS";
        out_discards "OUTDISCARDS";
        out_no_routes "OUTNOROUTES";
        reasm_timeout "REASMTIMEOUT";
        reasm_reqds "REASMREQDS";
        reasm_oks "REASMOKS";
        reasm_fails "REASMFAILS";
        frag_oks "FRAGOKS";
        frag_fails "FRAGFAILS";
        frag_creates "FRAGCREATES";
        in_mcast_pkts "INMCASTPKTS";
        out_mcast_pkts "OUTMCASTPKTS";
        in_octets "INOCTETS";
        out_octets "OUTOCTETS";
        in_mcast_octets "INMCASTOCTETS";
        out_mcast_octets "OUTMCASTOCTETS";
        out_transmits "OUTPKTS";
    },
    counts! { "mib.icmpv6_statistics", "icmpv6_mib", "ICMP6_MIB_", Snmp6.icmp:
        in_msgs "INMSGS";
        in_errors "INERRORS";
        in_csum_errors "CSUMERRORS";
        out_msgs "OUTMSGS";
        out_errors "OUTERRORS";
        out_rate_limit_host "RATELIMITHOST";
    },
    messages! { "mib.icmpv6msg_statistics", "icmpv6msg_mib", Snmp6.icmp:
        1 in_dest_unreachs out_dest_unreachs;
        2 in_pkt_too_bigs out_pkt_too_bigs;
        3 in_time_excds out_time_excds;
        4 in_parm_problems out_parm_problems;
        128 in_echos out_echos;
        129 in_echo_replies out_echo_replies;
        130 in_group_memb_queries out_group_memb_queries;
        131 in_group_memb_responses out_group_memb_responses;
        132 in_group_memb_reductions out_group_memb_reductions;
        133 in_router_solicits out_router_solicits;
        134 in_router_advertisements out_router_advertisements;
        135 in_neighbor_solicits out_neighbor_solicits;
        136 in_neighbor_advertisements out_neighbor_advertisements;
        137 in_redirects out_redirects;
        143 in_mldv2_reports out_mldv2_reports;
    },
    datagrams!("mib.udp_stats_in6", Snmp6.udp),
];
