//! The activities of sysstat's binary files, their structures, and the counters that they become.
//!
//! Facts: `rd_stats.h`, `rd_sensors.h` and `activity.c` of sysstat 11.7.4, 12.0.5, 12.6.1 and 12.7.9.

use crate::import::table::{KIB, Kind, LEVEL, RATE, Row, Table, row};

/// How the items of an activity are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Items {
    /// There is one item without a name.
    One,
    /// The first item is all processors, the others are processors from 0.
    Processors,
    /// As [`Items::Processors`], and the reader adds up the processors for all of them: the program leaves
    /// the first item to its readers.
    SummedProcessors,
    /// By the text at this place behind the numbers, so many bytes long.
    Text(usize, usize),
    /// By the first field.
    FirstField,
    /// By two numbers: major and minor number of a block device.
    Disk,
    /// By their order, from 1, and the text of so many bytes.
    Numbered(usize),
    /// Items of processors, each with sub-items: interrupts with a name of so many bytes in the first row.
    Interrupts(usize),
    /// As [`Items::Interrupts`], in files before 12.5.6: no processors and no names.
    OldInterrupts,
    /// Items of processors, each with numbered sub-items.
    Matrix,
    /// Three bytes: number, capacity, status.
    Battery,
}

/// One activity.
#[derive(Debug)]
pub(super) struct Activity {
    /// Its number in files.
    pub(super) id: u32,
    /// The version of its structure.
    pub(super) magic: u32,
    /// Its name in sysstat.
    pub(super) name: &'static str,
    /// The fields of 64 bits in their order; `/` ends one that counts up, `~` begins a floating-point number.
    pub(super) longs: &'static str,
    /// The fields with the width of the machine, each in 8 bytes.
    pub(super) words: &'static str,
    /// The fields of 32 bits.
    pub(super) ints: &'static str,
    /// How its items are named.
    pub(super) items: Items,
    /// Its counters.
    pub(super) table: Table<'static>,
}

macro_rules! activity {
    ($id:literal $magic:literal $name:literal [$longs:literal $words:literal $ints:literal] $items:expr,
     $own:literal, $rows:expr) => {
        Activity {
            id: $id,
            magic: $magic,
            name: $name,
            longs: $longs,
            words: $words,
            ints: $ints,
            items: $items,
            table: Table { group: $name, own: $own, rows: $rows },
        }
    };
}

/// The sum of the times of a processor. Times as a guest are in user and nice already.
const ALL: &str = "user + nice + sys + idle + iowait + steal + hardirq + softirq";

/// The shares of a processor's time.
const PROCESSOR: &[Row] = &[
    row("user + nice + sys + steal + hardirq + softirq", "Processor", "% Processor Time", Kind::Share(ALL)),
    row("user + nice", "Processor", "% User Time", Kind::Share(ALL)),
    row("sys + hardirq + softirq", "Processor", "% Privileged Time", Kind::Share(ALL)),
    row("hardirq", "Processor", "% Interrupt Time", Kind::Share(ALL)),
    row("softirq", "Processor", "% DPC Time", Kind::Share(ALL)),
    row("idle + iowait", "Processor", "% Idle Time", Kind::Share(ALL)),
    row("user - guest", "Processor States", "% User", Kind::Share(ALL)),
    row("nice - guest_nice?", "Processor States", "% Nice", Kind::Share(ALL)),
    row("sys", "Processor States", "% System", Kind::Share(ALL)),
    row("idle", "Processor States", "% Idle", Kind::Share(ALL)),
    row("iowait", "Processor States", "% IO Wait", Kind::Share(ALL)),
    row("steal", "Processor States", "% Steal", Kind::Share(ALL)),
    row("hardirq", "Processor States", "% Hardware Interrupt", Kind::Share(ALL)),
    row("softirq", "Processor States", "% Software Interrupt", Kind::Share(ALL)),
    row("guest", "Processor States", "% Guest", Kind::Share(ALL)),
    row("guest_nice", "Processor States", "% Guest Nice", Kind::Share(ALL)),
];

/// What the sum of all processors becomes besides.
pub(super) const MACHINE: Table<'static> = Table {
    group: "A_CPU, all processors",
    own: "",
    rows: &[
        row("steal", "System Extended", "% Steal Time", Kind::Share(ALL)),
        row("iowait", "System Extended", "% IO Wait Time", Kind::Share(ALL)),
        row("nice", "System Extended", "% Nice Time", Kind::Share(ALL)),
        row("guest + guest_nice?", "System Extended", "% Guest Time", Kind::Share(ALL)),
    ],
};

/// What the sum over all interrupts of a processor becomes.
pub(super) const INTERRUPT_SUM: Table<'static> = Table {
    group: "A_IRQ, sum",
    own: "Processor",
    rows: &[row("interrupts", "Processor", "Interrupts/sec", RATE)],
};

const SECTORS: Kind = Kind::Rate(512, 1);
const MS: u64 = 10_000;
/// Averages of hundredths.
const HUNDREDTHS: Kind = Kind::Value(0.01);

/// Every activity that is known.
pub(super) static ACTIVITIES: &[Activity] = &[
    activity!(1 0x8b "A_CPU"
        ["user/ nice/ sys/ idle/ iowait/ steal/ hardirq/ softirq/ guest/ guest_nice/" "" ""]
        Items::SummedProcessors, "Processor States", PROCESSOR),
    activity!(2 0x8b "A_PCSW" ["cswch/" "proc/" ""] Items::One, "System Extended", &[
        row("cswch", "System", "Context Switches/sec", RATE),
        row("proc", "System Extended", "Tasks Started/sec", RATE),
    ]),
    activity!(3 0x8c "A_IRQ" ["" "" "interrupts/"] Items::Interrupts(8), "Interrupt", &[
        row("interrupts", "Interrupt", "Interrupts/sec", RATE),
    ]),
    activity!(3 0x8b "A_IRQ before 12.5.6" ["interrupts/" "" ""] Items::OldInterrupts, "Interrupt", &[
        row("interrupts", "Interrupt", "Interrupts/sec", RATE),
    ]),
    activity!(4 0x8a "A_SWAP" ["" "pswpin/ pswpout/" ""] Items::One, "Memory Details", &[
        row("pswpout", "Memory", "Pages Output/sec", RATE),
        row("pswpin", "Memory Details", "Swap In Pages/sec", RATE),
    ]),
    activity!(5 0x8a "A_PAGE" ["" "pgpgin/ pgpgout/ pgfault/ pgmajfault/ pgfree/ pgscan_kswapd/ \
                                   pgscan_direct/ pgsteal/ pgpromote/ pgdemote/" ""]
        Items::One, "Memory Details", &[
        row("pgpgin", "Memory", "Pages Input/sec", Kind::Rate(1, 4)),
        row("pgpgin", "Memory Details", "Page In Bytes/sec", Kind::Rate(1024, 1)),
        row("pgpgout", "Memory Details", "Page Out Bytes/sec", Kind::Rate(1024, 1)),
        row("pgfault", "Memory", "Page Faults/sec", RATE),
        row("pgmajfault", "Memory", "Page Reads/sec", RATE),
        row("pgfault - pgmajfault", "Memory", "Transition Faults/sec", RATE),
        row("pgfree", "Memory Details", "Pages Freed/sec", RATE),
        row("pgscan_kswapd", "Page Cache", "Pages Scanned by Daemon/sec", RATE),
        row("pgscan_direct", "Page Cache", "Pages Scanned Directly/sec", RATE),
        row("pgsteal", "Memory", "Transition Pages RePurposed/sec", RATE),
        row("pgpromote", "Memory Details", "Pages Promoted/sec", RATE),
        row("pgdemote", "Memory Details", "Pages Demoted/sec", RATE),
    ]),
    activity!(6 0x8b "A_IO" ["dk_drive/ dk_drive_rio/ dk_drive_wio/ dk_drive_rblk/ dk_drive_wblk/ \
                              dk_drive_dio/ dk_drive_dblk/" "" ""]
        Items::One, "Disk Totals", &[
        row("dk_drive", "Disk Totals", "Transfers and Discards/sec", RATE),
        row("dk_drive_rio", "Disk Totals", "Reads/sec", RATE),
        row("dk_drive_wio", "Disk Totals", "Writes/sec", RATE),
        row("dk_drive_rblk", "Disk Totals", "Read Bytes/sec", SECTORS),
        row("dk_drive_wblk", "Disk Totals", "Write Bytes/sec", SECTORS),
        row("dk_drive_dio", "Disk Totals", "Discards/sec", RATE),
        row("dk_drive_dblk", "Disk Totals", "Discard Bytes/sec", SECTORS),
    ]),
    activity!(7 0x8b "A_MEMORY" ["frmkb bufkb camkb tlmkb frskb tlskb caskb comkb activekb inactkb dirtykb \
                                  anonpgkb slabkb kstackkb pgtblkb vmusedkb availablekb shmemkb" "" ""]
        Items::One, "Memory Details", &[
        row("availablekb", "Memory", "Available Bytes", KIB),
        row("availablekb", "Memory", "Available KBytes", LEVEL),
        row("availablekb", "Memory", "Available MBytes", Kind::Level(1, 1024)),
        row("comkb", "Memory", "Committed Bytes", KIB),
        row("frmkb", "Memory", "Free & Zero Page List Bytes", KIB),
        row("camkb + bufkb - shmemkb", "Memory", "System Cache Resident Bytes", KIB),
        row("camkb + bufkb + caskb", "Page Cache", "Cached Bytes", KIB),
        row("shmemkb", "Page Cache", "Shared Memory Bytes", KIB),
        row("dirtykb", "Page Cache", "Dirty Bytes", KIB),
        row("kstackkb", "Memory Extended", "Kernel Stack Bytes", KIB),
        row("pgtblkb", "Memory Extended", "Page Table Bytes", KIB),
        row("tlskb - frskb", "Memory Details", "% Swap Usage", Kind::Fraction("tlskb")),
        row("tlmkb", "Memory Details", "Total Bytes", KIB),
        row("bufkb", "Memory Details", "Buffer Bytes", KIB),
        row("camkb", "Memory Details", "Cached Bytes", KIB),
        row("tlskb", "Memory Details", "Swap Total Bytes", KIB),
        row("frskb", "Memory Details", "Swap Free Bytes", KIB),
        row("caskb", "Memory Details", "Swap Cached Bytes", KIB),
        row("activekb", "Memory Details", "Active Bytes", KIB),
        row("inactkb", "Memory Details", "Inactive Bytes", KIB),
        row("anonpgkb", "Memory Details", "Anonymous Bytes", KIB),
        row("slabkb", "Memory Details", "Slab Bytes", KIB),
        row("vmusedkb", "Memory Details", "Vmalloc Used Bytes", KIB),
    ]),
    activity!(8 0x8b "A_KTABLES" ["file_used inode_used dentry_stat pty_nr" "" ""]
        Items::One, "Kernel Objects", &[
        row("file_used", "Kernel Objects", "Open Files", LEVEL),
        row("inode_used", "Kernel Objects", "Inodes In Use", LEVEL),
        row("dentry_stat", "Kernel Objects", "Unused Directory Entries", LEVEL),
        row("pty_nr", "Kernel Objects", "Pseudo Terminals", LEVEL),
    ]),
    activity!(9 0x8c "A_QUEUE" ["nr_running procs_blocked nr_threads" "" "load_avg_1 load_avg_5 load_avg_15"]
        Items::One, "System Extended", &[
        row("nr_running", "System Extended", "Tasks Running", LEVEL),
        row("procs_blocked", "System Extended", "Tasks Blocked", LEVEL),
        row("nr_threads", "System", "Threads", LEVEL),
        row("load_avg_1", "System Extended", "Load Average 1 Minute", HUNDREDTHS),
        row("load_avg_5", "System Extended", "Load Average 5 Minutes", HUNDREDTHS),
        row("load_avg_15", "System Extended", "Load Average 15 Minutes", HUNDREDTHS),
    ]),
    activity!(10 0x8b "A_SERIAL" ["" "" "rx/ tx/ frame/ parity/ brk/ overrun/ line"]
        Items::FirstField, "Serial Line", &[
        row("rx", "Serial Line", "Receive Interrupts/sec", RATE),
        row("tx", "Serial Line", "Transmit Interrupts/sec", RATE),
        row("frame", "Serial Line", "Frame Errors/sec", RATE),
        row("parity", "Serial Line", "Parity Errors/sec", RATE),
        row("brk", "Serial Line", "Breaks/sec", RATE),
        row("overrun", "Serial Line", "Overruns/sec", RATE),
    ]),
    activity!(11 0x8c "A_DISK" ["nr_ios/ wwn0 wwn1" "rd_sect/ wr_sect/ dc_sect/"
                                "rd_ticks/ wr_ticks/ tot_ticks/ rq_ticks/ major minor dc_ticks/ part_nr"]
        Items::Disk, "Block Device", &[
        row("nr_ios", "PhysicalDisk", "Disk Transfers/sec", RATE),
        row("rd_sect + wr_sect", "PhysicalDisk", "Disk Bytes/sec", SECTORS),
        row("rd_sect", "PhysicalDisk", "Disk Read Bytes/sec", SECTORS),
        row("wr_sect", "PhysicalDisk", "Disk Write Bytes/sec", SECTORS),
        row("dc_sect", "Block Device", "Discard Bytes/sec", SECTORS),
        row("rd_ticks + wr_ticks", "PhysicalDisk", "% Disk Time", Kind::Busy(MS)),
        row("rd_ticks", "PhysicalDisk", "% Disk Read Time", Kind::Busy(MS)),
        row("wr_ticks", "PhysicalDisk", "% Disk Write Time", Kind::Busy(MS)),
        row("dc_ticks", "Block Device", "% Discard Time", Kind::Busy(MS)),
        row("tot_ticks", "Block Device", "% Active Time", Kind::Busy(MS)),
        row("tot_ticks", "PhysicalDisk", "% Idle Time", Kind::Idle(MS)),
        row("rq_ticks", "PhysicalDisk", "Avg. Disk Queue Length", Kind::Queue(MS)),
        row("rd_ticks + wr_ticks + dc_ticks?", "PhysicalDisk", "Avg. Disk sec/Transfer",
            Kind::TimePer(MS, "nr_ios")),
        row("rd_sect + wr_sect + dc_sect?", "PhysicalDisk", "Avg. Disk Bytes/Transfer",
            Kind::AmountPer(512, "nr_ios")),
    ]),
    activity!(12 0x8d "A_NET_DEV" ["rx_packets/ tx_packets/ rx_bytes/ tx_bytes/ rx_compressed/ \
                                    tx_compressed/ multicast/" "" "speed"]
        Items::Text(0, 16), "Network Interface Details", &[
        row("rx_bytes + tx_bytes", "Network Interface", "Bytes Total/sec", RATE),
        row("rx_packets + tx_packets", "Network Interface", "Packets/sec", RATE),
        row("rx_packets", "Network Interface", "Packets Received/sec", RATE),
        row("tx_packets", "Network Interface", "Packets Sent/sec", RATE),
        row("rx_bytes", "Network Interface", "Bytes Received/sec", RATE),
        row("tx_bytes", "Network Interface", "Bytes Sent/sec", RATE),
        row("speed", "Network Interface", "Current Bandwidth", Kind::Level(1_000_000, 1)),
        row("rx_compressed", "Network Interface Details", "Compressed Packets Received/sec", RATE),
        row("tx_compressed", "Network Interface Details", "Compressed Packets Sent/sec", RATE),
        row("multicast", "Network Interface Details", "Multicast Packets Received/sec", RATE),
    ]),
    activity!(13 0x8c "A_NET_EDEV" ["coll/ rxerr/ txerr/ rxdrop/ txdrop/ rxfifo/ txfifo/ rxfram/ \
        txcarr/" "" ""]
        Items::Text(0, 16), "Network Interface Details", &[
        row("rxerr", "Network Interface", "Packets Received Errors", LEVEL),
        row("txerr", "Network Interface", "Packets Outbound Errors", LEVEL),
        row("rxdrop", "Network Interface", "Packets Received Discarded", LEVEL),
        row("txdrop", "Network Interface", "Packets Outbound Discarded", LEVEL),
        row("coll", "Network Interface Details", "Collisions/sec", RATE),
        row("rxfifo", "Network Interface Details", "Receive Queue Overruns/sec", RATE),
        row("txfifo", "Network Interface Details", "Send Queue Overruns/sec", RATE),
        row("rxfram", "Network Interface Details", "Frame Errors/sec", RATE),
        row("txcarr", "Network Interface Details", "Carrier Errors/sec", RATE),
    ]),
    activity!(14 0x8a "A_NET_NFS" ["" "" "call/ retrans/ read/ write/ access/ getatt/"]
        Items::One, "NFS Client", &[
        row("call", "NFS Client", "Requests/sec", RATE),
        row("retrans", "NFS Client", "Retransmissions/sec", RATE),
        row("read", "NFS Client", "Read Requests/sec", RATE),
        row("write", "NFS Client", "Write Requests/sec", RATE),
        row("access", "NFS Client", "Access Requests/sec", RATE),
        row("getatt", "NFS Client", "Attribute Requests/sec", RATE),
    ]),
    activity!(15 0x8a "A_NET_NFSD" ["" "" "scall/ badcall/ packet/ udp/ tcp/ hit/ miss/ sread/ swrite/ \
                                           saccess/ sgetatt/"]
        Items::One, "NFS Server", &[
        row("scall", "NFS Server", "Requests/sec", RATE),
        row("badcall", "NFS Server", "Bad Requests/sec", RATE),
        row("packet", "NFS Server", "Packets/sec", RATE),
        row("udp", "NFS Server", "UDP Packets/sec", RATE),
        row("tcp", "NFS Server", "TCP Packets/sec", RATE),
        row("hit", "NFS Server", "Reply Cache Hits/sec", RATE),
        row("miss", "NFS Server", "Reply Cache Misses/sec", RATE),
        row("sread", "NFS Server", "Read Requests/sec", RATE),
        row("swrite", "NFS Server", "Write Requests/sec", RATE),
        row("saccess", "NFS Server", "Access Requests/sec", RATE),
        row("sgetatt", "NFS Server", "Attribute Requests/sec", RATE),
    ]),
    activity!(16 0x8a "A_NET_SOCK" ["" "" "totsck tcpsck tcp_tw udpsck rawsck ip_frag"]
        Items::One, "Sockets", &[
        row("totsck", "Sockets", "Sockets Used", LEVEL),
        row("tcpsck", "Sockets", "TCPv4 Sockets", LEVEL),
        row("tcp_tw", "Sockets", "TCP Time-Wait", LEVEL),
        row("udpsck", "Sockets", "UDPv4 Sockets", LEVEL),
        row("rawsck", "Sockets", "Raw IPv4 Sockets", LEVEL),
        row("ip_frag", "Sockets", "IPv4 Fragments In Use", LEVEL),
    ]),
    activity!(17 0x8c "A_NET_IP" ["irec/ fwddgm/ idel/ orq/ asmrq/ asmok/ fragok/ fragcrt/" "" ""]
        Items::One, "IPv4", &[
        row("irec + orq", "IPv4", "Datagrams/sec", RATE),
        row("irec", "IPv4", "Datagrams Received/sec", RATE),
        row("fwddgm", "IPv4", "Datagrams Forwarded/sec", RATE),
        row("idel", "IPv4", "Datagrams Received Delivered/sec", RATE),
        row("orq", "IPv4", "Datagrams Sent/sec", RATE),
        row("asmrq", "IPv4", "Fragments Received/sec", RATE),
        row("asmok", "IPv4", "Fragments Re-assembled/sec", RATE),
        row("fragok", "IPv4", "Fragmented Datagrams/sec", RATE),
        row("fragcrt", "IPv4", "Fragments Created/sec", RATE),
    ]),
    activity!(18 0x8c "A_NET_EIP" ["ihdrerr/ iadrerr/ iukwnpr/ idisc/ odisc/ onort/ asmf/ fragf/" "" ""]
        Items::One, "IPv4", &[
        row("ihdrerr", "IPv4", "Datagrams Received Header Errors", LEVEL),
        row("iadrerr", "IPv4", "Datagrams Received Address Errors", LEVEL),
        row("iukwnpr", "IPv4", "Datagrams Received Unknown Protocol", LEVEL),
        row("idisc", "IPv4", "Datagrams Received Discarded", LEVEL),
        row("odisc", "IPv4", "Datagrams Outbound Discarded", LEVEL),
        row("onort", "IPv4", "Datagrams Outbound No Route", LEVEL),
        row("asmf", "IPv4", "Fragment Re-assembly Failures", LEVEL),
        row("fragf", "IPv4", "Fragmentation Failures", LEVEL),
    ]),
    activity!(19 0x8a "A_NET_ICMP" ["" "imsg/ omsg/ iech/ iechr/ oech/ oechr/ itm/ itmr/ otm/ otmr/ iadrmk/ \
                                        iadrmkr/ oadrmk/ oadrmkr/" ""]
        Items::One, "ICMP", &[
        row("imsg + omsg", "ICMP", "Messages/sec", RATE),
        row("imsg", "ICMP", "Messages Received/sec", RATE),
        row("omsg", "ICMP", "Messages Sent/sec", RATE),
        row("iech", "ICMP", "Received Echo/sec", RATE),
        row("iechr", "ICMP", "Received Echo Reply/sec", RATE),
        row("oech", "ICMP", "Sent Echo/sec", RATE),
        row("oechr", "ICMP", "Sent Echo Reply/sec", RATE),
        row("itm", "ICMP", "Received Timestamp/sec", RATE),
        row("itmr", "ICMP", "Received Timestamp Reply/sec", RATE),
        row("otm", "ICMP", "Sent Timestamp/sec", RATE),
        row("otmr", "ICMP", "Sent Timestamp Reply/sec", RATE),
        row("iadrmk", "ICMP", "Received Address Mask", LEVEL),
        row("iadrmkr", "ICMP", "Received Address Mask Reply", LEVEL),
        row("oadrmk", "ICMP", "Sent Address Mask", LEVEL),
        row("oadrmkr", "ICMP", "Sent Address Mask Reply", LEVEL),
    ]),
    activity!(20 0x8a "A_NET_EICMP" ["" "ierr/ oerr/ idstunr/ odstunr/ itmex/ otmex/ iparmpb/ \
        oparmpb/ isrcq/ \
                                         osrcq/ iredir/ oredir/" ""]
        Items::One, "ICMP", &[
        row("ierr", "ICMP", "Messages Received Errors", LEVEL),
        row("oerr", "ICMP", "Messages Outbound Errors", LEVEL),
        row("idstunr", "ICMP", "Received Dest. Unreachable", LEVEL),
        row("odstunr", "ICMP", "Sent Destination Unreachable", LEVEL),
        row("itmex", "ICMP", "Received Time Exceeded", LEVEL),
        row("otmex", "ICMP", "Sent Time Exceeded", LEVEL),
        row("iparmpb", "ICMP", "Received Parameter Problem", LEVEL),
        row("oparmpb", "ICMP", "Sent Parameter Problem", LEVEL),
        row("isrcq", "ICMP", "Received Source Quench", LEVEL),
        row("osrcq", "ICMP", "Sent Source Quench", LEVEL),
        row("iredir", "ICMP", "Received Redirect/sec", RATE),
        row("oredir", "ICMP", "Sent Redirect/sec", RATE),
    ]),
    activity!(21 0x8a "A_NET_TCP" ["" "active/ passive/ iseg/ oseg/" ""] Items::One, "TCPv4", &[
        row("iseg + oseg", "TCPv4", "Segments/sec", RATE),
        row("active", "TCPv4", "Connections Active", LEVEL),
        row("passive", "TCPv4", "Connections Passive", LEVEL),
        row("iseg", "TCPv4", "Segments Received/sec", RATE),
        row("oseg", "TCPv4", "Segments Sent/sec", RATE),
    ]),
    activity!(22 0x8a "A_NET_ETCP" ["" "atmptf/ estres/ retrans/ isegerr/ orsts/" ""]
        Items::One, "TCP Details", &[
        row("atmptf", "TCPv4", "Connection Failures", LEVEL),
        row("estres", "TCPv4", "Connections Reset", LEVEL),
        row("retrans", "TCPv4", "Segments Retransmitted/sec", RATE),
        row("isegerr", "TCP Details", "Segments Received Errors/sec", RATE),
        row("orsts", "TCP Details", "Resets Sent/sec", RATE),
    ]),
    activity!(23 0x8a "A_NET_UDP" ["" "idgm/ odgm/ noport/ idgmerr/" ""] Items::One, "UDPv4", &[
        row("idgm + odgm", "UDPv4", "Datagrams/sec", RATE),
        row("idgm", "UDPv4", "Datagrams Received/sec", RATE),
        row("odgm", "UDPv4", "Datagrams Sent/sec", RATE),
        row("noport", "UDPv4", "Datagrams No Port/sec", RATE),
        row("idgmerr", "UDPv4", "Datagrams Received Errors", LEVEL),
    ]),
    activity!(24 0x8a "A_NET_SOCK6" ["" "" "tcp6sck udp6sck raw6sck ip6_frag"] Items::One, "Sockets", &[
        row("tcp6sck", "Sockets", "TCPv6 Sockets", LEVEL),
        row("udp6sck", "Sockets", "UDPv6 Sockets", LEVEL),
        row("raw6sck", "Sockets", "Raw IPv6 Sockets", LEVEL),
        row("ip6_frag", "Sockets", "IPv6 Fragments In Use", LEVEL),
    ]),
    activity!(25 0x8c "A_NET_IP6" ["irec6/ fwddgm6/ idel6/ orq6/ asmrq6/ asmok6/ imcpck6/ omcpck6/ fragok6/ \
                                    fragcr6/" "" ""]
        Items::One, "IPv6 Details", &[
        row("irec6 + orq6", "IPv6", "Datagrams/sec", RATE),
        row("irec6", "IPv6", "Datagrams Received/sec", RATE),
        row("fwddgm6", "IPv6", "Datagrams Forwarded/sec", RATE),
        row("idel6", "IPv6", "Datagrams Received Delivered/sec", RATE),
        row("orq6", "IPv6", "Datagrams Sent/sec", RATE),
        row("asmrq6", "IPv6", "Fragments Received/sec", RATE),
        row("asmok6", "IPv6", "Fragments Re-assembled/sec", RATE),
        row("imcpck6", "IPv6 Details", "Multicast Received/sec", RATE),
        row("omcpck6", "IPv6 Details", "Multicast Sent/sec", RATE),
        row("fragok6", "IPv6", "Fragmented Datagrams/sec", RATE),
        row("fragcr6", "IPv6", "Fragments Created/sec", RATE),
    ]),
    activity!(26 0x8c "A_NET_EIP6" ["ihdrer6/ iadrer6/ iukwnp6/ i2big6/ idisc6/ odisc6/ inort6/ \
        onort6/ asmf6/ \
                                     fragf6/ itrpck6/" "" ""]
        Items::One, "IPv6 Details", &[
        row("ihdrer6", "IPv6", "Datagrams Received Header Errors", LEVEL),
        row("iadrer6", "IPv6", "Datagrams Received Address Errors", LEVEL),
        row("iukwnp6", "IPv6", "Datagrams Received Unknown Protocol", LEVEL),
        row("i2big6", "IPv6 Details", "Too Big Errors/sec", RATE),
        row("idisc6", "IPv6", "Datagrams Received Discarded", LEVEL),
        row("odisc6", "IPv6", "Datagrams Outbound Discarded", LEVEL),
        row("inort6", "IPv6 Details", "Received No Route/sec", RATE),
        row("onort6", "IPv6", "Datagrams Outbound No Route", LEVEL),
        row("asmf6", "IPv6", "Fragment Re-assembly Failures", LEVEL),
        row("fragf6", "IPv6", "Fragmentation Failures", LEVEL),
        row("itrpck6", "IPv6 Details", "Truncated Packets Received/sec", RATE),
    ]),
    activity!(27 0x8a "A_NET_ICMP6" ["" "imsg6/ omsg6/ iech6/ iechr6/ oechr6/ igmbq6/ igmbr6/ \
        ogmbr6/ igmbrd6/ \
                                         ogmbrd6/ irtsol6/ ortsol6/ irtad6/ inbsol6/ onbsol6/ \
                                             inbad6/ onbad6/" ""]
        Items::One, "ICMPv6", &[
        row("imsg6 + omsg6", "ICMPv6", "Messages/sec", RATE),
        row("imsg6", "ICMPv6", "Messages Received/sec", RATE),
        row("omsg6", "ICMPv6", "Messages Sent/sec", RATE),
        row("iech6", "ICMPv6", "Received Echo/sec", RATE),
        row("iechr6", "ICMPv6", "Received Echo Reply/sec", RATE),
        row("oechr6", "ICMPv6", "Sent Echo Reply/sec", RATE),
        row("igmbq6", "ICMPv6", "Received Membership Query", RATE),
        row("igmbr6", "ICMPv6", "Received Membership Report", RATE),
        row("ogmbr6", "ICMPv6", "Sent Membership Report", RATE),
        row("igmbrd6", "ICMPv6", "Received Membership Reduction", RATE),
        row("ogmbrd6", "ICMPv6", "Sent Membership Reduction", RATE),
        row("irtsol6", "ICMPv6", "Received Router Solicit", RATE),
        row("ortsol6", "ICMPv6", "Sent Router Solicit", RATE),
        row("irtad6", "ICMPv6", "Received Router Advert", RATE),
        row("inbsol6", "ICMPv6", "Received Neighbor Solicit", RATE),
        row("onbsol6", "ICMPv6", "Sent Neighbor Solicit", RATE),
        row("inbad6", "ICMPv6", "Received Neighbor Advert", RATE),
        row("onbad6", "ICMPv6", "Sent Neighbor Advert", RATE),
    ]),
    activity!(28 0x8a "A_NET_EICMP6" ["" "ierr6/ idtunr6/ odtunr6/ itmex6/ otmex6/ iprmpb6/ \
        oprmpb6/ iredir6/ \
                                          oredir6/ ipck2b6/ opck2b6/" ""]
        Items::One, "ICMPv6", &[
        row("ierr6", "ICMPv6", "Messages Received Errors", LEVEL),
        row("idtunr6", "ICMPv6", "Received Dest. Unreachable", LEVEL),
        row("odtunr6", "ICMPv6", "Sent Destination Unreachable", LEVEL),
        row("itmex6", "ICMPv6", "Received Time Exceeded", LEVEL),
        row("otmex6", "ICMPv6", "Sent Time Exceeded", LEVEL),
        row("iprmpb6", "ICMPv6", "Received Parameter Problem", LEVEL),
        row("oprmpb6", "ICMPv6", "Sent Parameter Problem", LEVEL),
        row("iredir6", "ICMPv6", "Received Redirect/sec", RATE),
        row("oredir6", "ICMPv6", "Sent Redirect/sec", RATE),
        row("ipck2b6", "ICMPv6", "Received Packet Too Big", RATE),
        row("opck2b6", "ICMPv6", "Sent Packet Too Big", RATE),
    ]),
    activity!(29 0x8a "A_NET_UDP6" ["" "idgm6/ odgm6/ noport6/ idgmer6/" ""] Items::One, "UDPv6", &[
        row("idgm6 + odgm6", "UDPv6", "Datagrams/sec", RATE),
        row("idgm6", "UDPv6", "Datagrams Received/sec", RATE),
        row("odgm6", "UDPv6", "Datagrams Sent/sec", RATE),
        row("noport6", "UDPv6", "Datagrams No Port/sec", RATE),
        row("idgmer6", "UDPv6", "Datagrams Received Errors", LEVEL),
    ]),
    activity!(30 0x8a "A_PWR_CPU" ["" "cpufreq" ""] Items::Processors, "Processor Frequency", &[
        row("cpufreq", "Processor Frequency", "MHz", HUNDREDTHS),
    ]),
    activity!(31 0x8a "A_PWR_FAN" ["~rpm ~rpm_min" "" ""] Items::Numbered(20), "Fan", &[
        row("rpm", "Fan", "Revolutions per Minute", Kind::Value(1.0)),
        row("rpm_min", "Fan", "Minimum Revolutions per Minute", Kind::Value(1.0)),
    ]),
    activity!(32 0x8a "A_PWR_TEMP" ["~temp ~temp_min ~temp_max" "" ""]
        Items::Numbered(20), "Temperature Sensor", &[
        row("temp", "Temperature Sensor", "Degrees Celsius", Kind::Value(1.0)),
        row("temp_min", "Temperature Sensor", "Minimum Degrees Celsius", Kind::Value(1.0)),
        row("temp_max", "Temperature Sensor", "Maximum Degrees Celsius", Kind::Value(1.0)),
    ]),
    activity!(33 0x8a "A_PWR_IN" ["~in ~in_min ~in_max" "" ""] Items::Numbered(20), "Voltage Sensor", &[
        row("in", "Voltage Sensor", "Volts", Kind::Value(1.0)),
        row("in_min", "Voltage Sensor", "Minimum Volts", Kind::Value(1.0)),
        row("in_max", "Voltage Sensor", "Maximum Volts", Kind::Value(1.0)),
    ]),
    activity!(34 0x8b "A_HUGE" ["frhkb tlhkb rsvdhkb surphkb" "" ""] Items::One, "Huge Pages", &[
        row("frhkb", "Huge Pages", "Free Bytes", KIB),
        row("tlhkb", "Huge Pages", "Total Bytes", KIB),
        row("rsvdhkb", "Huge Pages", "Reserved Bytes", KIB),
        row("surphkb", "Huge Pages", "Surplus Bytes", KIB),
    ]),
    activity!(35 0x8b "A_PWR_FREQ" ["time_in_state/" "freq" ""] Items::Matrix, "Processor Frequency State", &[
        row("time_in_state", "Processor Frequency State", "% Time", Kind::Busy(100_000)),
        row("freq", "Processor Frequency State", "MHz", Kind::Value(0.001)),
    ]),
    activity!(36 0x8a "A_PWR_USB" ["" "" "bus_nr vendor_id product_id bmaxpower"]
        Items::Numbered(24), "USB Device", &[
        row("bmaxpower", "USB Device", "Maximum Milliamperes", Kind::Level(2, 1)),
    ]),
    activity!(37 0x8b "A_FS" ["f_blocks f_bfree f_bavail f_files f_ffree" "" ""]
        Items::Text(128, 128), "File System", &[
        row("f_blocks", "File System", "Total Bytes", LEVEL),
        row("f_bfree", "File System", "Free Bytes", LEVEL),
        row("f_bavail", "File System", "Available Bytes", LEVEL),
        row("f_files - f_ffree", "File System", "Files", LEVEL),
        row("f_ffree", "File System", "Files Free", LEVEL),
        row("f_bavail", "LogicalDisk", "% Free Space", Kind::Fraction("f_blocks")),
        row("f_bavail", "LogicalDisk", "Free Megabytes", Kind::Level(1, 1_048_576)),
    ]),
    activity!(38 0x8a "A_NET_FC" ["" "rxframes/ txframes/ rxwords/ txwords/" ""]
        Items::Text(0, 16), "Fibre Channel", &[
        row("rxframes", "Fibre Channel", "Frames Received/sec", RATE),
        row("txframes", "Fibre Channel", "Frames Sent/sec", RATE),
        row("rxwords", "Fibre Channel", "Words Received/sec", RATE),
        row("txwords", "Fibre Channel", "Words Sent/sec", RATE),
    ]),
    activity!(39 0x8a "A_NET_SOFT" ["" "" "total/ dropd/ squeezd/ rx_rps/ flw_lim/ blg_len"]
        Items::SummedProcessors, "Network Backlog", &[
        row("total", "Network Backlog", "Packets Processed/sec", RATE),
        row("dropd", "Network Backlog", "Packets Dropped/sec", RATE),
        row("squeezd", "Network Backlog", "Time Squeezes/sec", RATE),
        row("rx_rps", "Network Backlog", "Steered Packets/sec", RATE),
        row("flw_lim", "Network Backlog", "Flow Limit Drops/sec", RATE),
        row("blg_len", "Network Backlog", "Backlog Length", LEVEL),
    ]),
    activity!(40 0x8a "A_PSI_CPU" ["some/" "some10 some60 some300" ""] Items::One, "Pressure", &[
        row("some", "Pressure", "% Processor Pressure Some", Kind::Busy(10)),
        row("some10", "Pressure", "% Processor Pressure Some 10s", HUNDREDTHS),
        row("some60", "Pressure", "% Processor Pressure Some 60s", HUNDREDTHS),
        row("some300", "Pressure", "% Processor Pressure Some 300s", HUNDREDTHS),
    ]),
    activity!(41 0x8a "A_PSI_IO" ["some/ full/" "some10 some60 some300 full10 full60 full300" ""]
        Items::One, "Pressure", &[
        row("some", "Pressure", "% IO Pressure Some", Kind::Busy(10)),
        row("full", "Pressure", "% IO Pressure Full", Kind::Busy(10)),
        row("some10", "Pressure", "% IO Pressure Some 10s", HUNDREDTHS),
        row("some60", "Pressure", "% IO Pressure Some 60s", HUNDREDTHS),
        row("some300", "Pressure", "% IO Pressure Some 300s", HUNDREDTHS),
        row("full10", "Pressure", "% IO Pressure Full 10s", HUNDREDTHS),
        row("full60", "Pressure", "% IO Pressure Full 60s", HUNDREDTHS),
        row("full300", "Pressure", "% IO Pressure Full 300s", HUNDREDTHS),
    ]),
    activity!(42 0x8a "A_PSI_MEM" ["some/ full/" "some10 some60 some300 full10 full60 full300" ""]
        Items::One, "Pressure", &[
        row("some", "Pressure", "% Memory Pressure Some", Kind::Busy(10)),
        row("full", "Pressure", "% Memory Pressure Full", Kind::Busy(10)),
        row("some10", "Pressure", "% Memory Pressure Some 10s", HUNDREDTHS),
        row("some60", "Pressure", "% Memory Pressure Some 60s", HUNDREDTHS),
        row("some300", "Pressure", "% Memory Pressure Some 300s", HUNDREDTHS),
        row("full10", "Pressure", "% Memory Pressure Full 10s", HUNDREDTHS),
        row("full60", "Pressure", "% Memory Pressure Full 60s", HUNDREDTHS),
        row("full300", "Pressure", "% Memory Pressure Full 300s", HUNDREDTHS),
    ]),
    activity!(43 0x8a "A_PWR_BAT" ["" "" ""] Items::Battery, "Battery", &[
        row("capacity", "Battery", "% Charge", LEVEL),
        row("status", "Battery", "Status", LEVEL),
    ]),
];
