//! The lines of `atop -P`: what their fields are, and which of them become counters of Windows, or of this
//! project.
//!
//! Facts: *parseable output* in `atop(1)` of atop 2.8.1.

use crate::import::table::{Kind, LEVEL, RATE, Row, Table, VALUE, row};

/// What a field is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// Grew by this in the interval.
    Sum,
    /// Grew by this in the interval, in ticks of the processor's clock: becomes 100 ns.
    Ticks,
    /// Grew by this in the interval, in pages: becomes bytes.
    SumPages,
    /// Is this now; -1 is none.
    Now,
    /// The same, in pages: becomes bytes.
    Pages,
    /// The same, where 0 is none.
    Positive,
    /// Bytes of a page.
    PageSize,
    /// Ticks per second.
    Hertz,
    /// Is not read.
    Skip,
}

/// Whose values a line has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// The machine's.
    Machine,
    /// Those of all processors together.
    AllProcessors,
    /// Those of what the field at this place names.
    Named(usize),
    /// Those of a process: its id, its name and its state come first.
    Process,
}

/// A kind of line.
#[derive(Debug)]
pub(super) struct Label {
    /// Its first word.
    pub(super) word: &'static str,
    pub(super) whose: Whose,
    /// The fields, in their order.
    pub(super) fields: &'static [(&'static str, Sort)],
    pub(super) table: Table<'static>,
    /// What some fields become besides, and of which instance.
    pub(super) besides: Option<(Table<'static>, Option<&'static str>)>,
}

/// The sum of all processors.
pub(super) const TOTAL: &str = "_Total";

use Sort::{Hertz, Now, PageSize, Pages, Positive, Skip, Sum, SumPages, Ticks};

/// The times of a processor. Those as a guest are in user already.
const ALL: &str = "sys + user + nice + idle + wait + irq + softirq + steal";

const PROCESSOR: &[Row] = &[
    row("sys + user + nice + irq + softirq + steal", "Processor", "% Processor Time", Kind::Share(ALL)),
    row("user + nice", "Processor", "% User Time", Kind::Share(ALL)),
    row("sys + irq + softirq", "Processor", "% Privileged Time", Kind::Share(ALL)),
    row("irq", "Processor", "% Interrupt Time", Kind::Share(ALL)),
    row("softirq", "Processor", "% DPC Time", Kind::Share(ALL)),
    row("idle + wait", "Processor", "% Idle Time", Kind::Share(ALL)),
    row("user - guest", "Processor States", "% User", Kind::Share(ALL)),
    row("nice", "Processor States", "% Nice", Kind::Share(ALL)),
    row("sys", "Processor States", "% System", Kind::Share(ALL)),
    row("idle", "Processor States", "% Idle", Kind::Share(ALL)),
    row("wait", "Processor States", "% IO Wait", Kind::Share(ALL)),
    row("steal", "Processor States", "% Steal", Kind::Share(ALL)),
    row("irq", "Processor States", "% Hardware Interrupt", Kind::Share(ALL)),
    row("softirq", "Processor States", "% Software Interrupt", Kind::Share(ALL)),
    row("guest", "Processor States", "% Guest", Kind::Share(ALL)),
];

const TIMES: &[(&str, Sort)] = &[
    ("hertz", Hertz),
    ("processor", Skip),
    ("sys", Ticks),
    ("user", Ticks),
    ("nice", Ticks),
    ("idle", Ticks),
    ("wait", Ticks),
    ("irq", Ticks),
    ("softirq", Ticks),
    ("steal", Ticks),
    ("guest", Ticks),
    ("freq", Positive),
    ("freq%", Positive),
    ("instructions", Positive),
    ("cycles", Positive),
];

const SECTORS: Kind = Kind::Rate(512, 1);
/// Counts of ms.
const MS: u64 = 10_000;

const DISK: &[(&str, Sort)] = &[
    ("name", Skip),
    ("ms", Sum),
    ("reads", Sum),
    ("read_sectors", Sum),
    ("writes", Sum),
    ("written_sectors", Sum),
    ("discards", Sum),
    ("discarded_sectors", Sum),
    ("in_flight", Now),
    ("queue_while_busy", Now),
];

/// A kind of line whose fields without a row become counters of an object with the name of its group.
const fn label(
    word: &'static str,
    whose: Whose,
    fields: &'static [(&'static str, Sort)],
    group: &'static str,
    rows: &'static [Row],
) -> Label {
    Label { word, whose, fields, table: Table { group, own: group, rows }, besides: None }
}

/// Every kind of line that is known. Two of them have one first word: the second field tells them apart.
pub(super) static LABELS: &[Label] = &[
    Label {
        besides: Some((
            Table {
                group: "atop CPU, all processors",
                own: "",
                rows: &[
                    row("steal", "System Extended", "% Steal Time", Kind::Share(ALL)),
                    row("wait", "System Extended", "% IO Wait Time", Kind::Share(ALL)),
                    row("nice", "System Extended", "% Nice Time", Kind::Share(ALL)),
                ],
            },
            None,
        )),
        ..label("CPU", Whose::AllProcessors, TIMES, "atop CPU", PROCESSOR)
    },
    label("cpu", Whose::Named(1), TIMES, "atop cpu", PROCESSOR),
    Label {
        besides: Some((INTERRUPTS, Some(TOTAL))),
        ..label(
            "CPL",
            Whose::Machine,
            &[
                ("processors", Skip),
                ("load_1", Now),
                ("load_5", Now),
                ("load_15", Now),
                ("switches", Sum),
                ("interrupts", Sum),
            ],
            "atop CPL",
            &[
                row("load_1", "System Extended", "Load Average 1 Minute", VALUE),
                row("load_5", "System Extended", "Load Average 5 Minutes", VALUE),
                row("load_15", "System Extended", "Load Average 15 Minutes", VALUE),
                row("switches", "System", "Context Switches/sec", RATE),
            ],
        )
    },
    label(
        "MEM",
        Whose::Machine,
        &[
            ("page_size", PageSize),
            ("total", Pages),
            ("free", Pages),
            ("cache", Pages),
            ("buffer", Pages),
            ("slab", Pages),
            ("dirty", Pages),
            ("slab_reclaimable", Pages),
            ("balloon", Pages),
            ("shared", Pages),
            ("shared_resident", Pages),
            ("shared_swapped", Pages),
            ("huge_page_size", Now),
            ("huge_pages", Now),
            ("free_huge_pages", Now),
            ("ZFS_cache", Pages),
            ("KSM_sharing", Pages),
            ("KSM_shared", Pages),
            ("TCP_buffers", Pages),
            ("UDP_buffers", Pages),
            ("page_tables", Pages),
        ],
        "atop MEM",
        &[
            row("free", "Memory", "Free & Zero Page List Bytes", LEVEL),
            row("total", "Memory Details", "Total Bytes", LEVEL),
            row("cache", "Memory Details", "Cached Bytes", LEVEL),
            row("buffer", "Memory Details", "Buffer Bytes", LEVEL),
            row("slab", "Memory Details", "Slab Bytes", LEVEL),
            row("dirty", "Page Cache", "Dirty Bytes", LEVEL),
            row("shared", "Page Cache", "Shared Memory Bytes", LEVEL),
            row("page_tables", "Memory Extended", "Page Table Bytes", LEVEL),
        ],
    ),
    label(
        "SWP",
        Whose::Machine,
        &[
            ("page_size", PageSize),
            ("total", Pages),
            ("free", Pages),
            ("cache", Pages),
            ("committed", Pages),
            ("limit", Pages),
            ("cache_again", Skip),
            ("zswapped", Pages),
            ("zswap_pool", Pages),
        ],
        "atop SWP",
        &[
            row("committed", "Memory", "Committed Bytes", LEVEL),
            row("limit", "Memory", "Commit Limit", LEVEL),
            row("total", "Memory Details", "Swap Total Bytes", LEVEL),
            row("free", "Memory Details", "Swap Free Bytes", LEVEL),
            row("cache", "Memory Details", "Swap Cached Bytes", LEVEL),
        ],
    ),
    label(
        "PAG",
        Whose::Machine,
        &[
            ("page_size", PageSize),
            ("scans", Sum),
            ("allocation_stalls", Sum),
            ("free", Skip),
            ("swap_in", SumPages),
            ("swap_out", SumPages),
            ("OOM_kills", Sum),
            ("compaction_stalls", Sum),
            ("migrated", Sum),
            ("NUMA_migrated", Sum),
            ("page_in", SumPages),
            ("page_out", SumPages),
        ],
        "atop PAG",
        &[
            row("page_in", "Memory", "Pages Input/sec", Kind::Rate(1, 4096)),
            row("page_in", "Memory Details", "Page In Bytes/sec", RATE),
            row("page_out", "Memory Details", "Page Out Bytes/sec", RATE),
            row("swap_in", "Memory Details", "Swap In Bytes/sec", RATE),
            row("swap_out", "Memory Details", "Swap Out Bytes/sec", RATE),
        ],
    ),
    label(
        "PSI",
        Whose::Machine,
        &[
            ("is_there", Skip),
            ("processor_some_10_s", Now),
            ("processor_some_60_s", Now),
            ("processor_some_300_s", Now),
            ("processor_some", Sum),
            ("memory_some_10_s", Now),
            ("memory_some_60_s", Now),
            ("memory_some_300_s", Now),
            ("memory_some", Sum),
            ("memory_full_10_s", Now),
            ("memory_full_60_s", Now),
            ("memory_full_300_s", Now),
            ("memory_full", Sum),
            ("disk_some_10_s", Now),
            ("disk_some_60_s", Now),
            ("disk_some_300_s", Now),
            ("disk_some", Sum),
            ("disk_full_10_s", Now),
            ("disk_full_60_s", Now),
            ("disk_full_300_s", Now),
            ("disk_full", Sum),
        ],
        "atop PSI",
        &[
            row("processor_some", "Pressure", "% Processor Pressure Some", Kind::Busy(10)),
            row("memory_some", "Pressure", "% Memory Pressure Some", Kind::Busy(10)),
            row("memory_full", "Pressure", "% Memory Pressure Full", Kind::Busy(10)),
            row("disk_some", "Pressure", "% IO Pressure Some", Kind::Busy(10)),
            row("disk_full", "Pressure", "% IO Pressure Full", Kind::Busy(10)),
        ],
    ),
    label(
        "DSK",
        Whose::Named(0),
        DISK,
        "atop DSK",
        &[
            row("reads + writes", "PhysicalDisk", "Disk Transfers/sec", RATE),
            row("reads", "PhysicalDisk", "Disk Reads/sec", RATE),
            row("writes", "PhysicalDisk", "Disk Writes/sec", RATE),
            row("read_sectors + written_sectors", "PhysicalDisk", "Disk Bytes/sec", SECTORS),
            row("read_sectors", "PhysicalDisk", "Disk Read Bytes/sec", SECTORS),
            row("written_sectors", "PhysicalDisk", "Disk Write Bytes/sec", SECTORS),
            row("ms", "PhysicalDisk", "% Idle Time", Kind::Idle(MS)),
            row("ms", "Block Device", "% Active Time", Kind::Busy(MS)),
            row("read_sectors", "PhysicalDisk", "Avg. Disk Bytes/Read", Kind::AmountPer(512, "reads")),
            row("written_sectors", "PhysicalDisk", "Avg. Disk Bytes/Write", Kind::AmountPer(512, "writes")),
            row("in_flight", "PhysicalDisk", "Current Disk Queue Length", LEVEL),
            row("discards", "Block Device", "Discards/sec", RATE),
            row("discarded_sectors", "Block Device", "Discard Bytes/sec", SECTORS),
        ],
    ),
    label("LVM", Whose::Named(0), DISK, "atop LVM", &[]),
    label("MDD", Whose::Named(0), DISK, "atop MDD", &[]),
    label(
        "NET upper",
        Whose::Machine,
        &[
            ("upper", Skip),
            ("TCP_in", Sum),
            ("TCP_out", Sum),
            ("UDP_in", Sum),
            ("UDP_out", Sum),
            ("IP_in", Sum),
            ("IP_out", Sum),
            ("IP_delivered", Sum),
            ("IP_forwarded", Sum),
            ("UDP_errors", Sum),
            ("UDP_no_port", Sum),
            ("TCP_active", Sum),
            ("TCP_passive", Sum),
            ("TCP_established", Now),
            ("TCP_retransmitted", Sum),
            ("TCP_errors", Sum),
            ("TCP_resets", Sum),
        ],
        "atop NET upper",
        &[
            row("TCP_in", "TCPv4", "Segments Received/sec", RATE),
            row("TCP_out", "TCPv4", "Segments Sent/sec", RATE),
            row("TCP_retransmitted", "TCPv4", "Segments Retransmitted/sec", RATE),
            row("TCP_established", "TCPv4", "Connections Established", LEVEL),
            row("TCP_active", "TCPv4", "Connections Active", LEVEL),
            row("TCP_passive", "TCPv4", "Connections Passive", LEVEL),
        ],
    ),
    label(
        "NET",
        Whose::Named(0),
        &[
            ("name", Skip),
            ("packets_in", Sum),
            ("bytes_in", Sum),
            ("packets_out", Sum),
            ("bytes_out", Sum),
            ("speed", Positive),
            ("duplex", Skip),
        ],
        "atop NET",
        &[
            row("bytes_in + bytes_out", "Network Interface", "Bytes Total/sec", RATE),
            row("packets_in + packets_out", "Network Interface", "Packets/sec", RATE),
            row("packets_in", "Network Interface", "Packets Received/sec", RATE),
            row("packets_out", "Network Interface", "Packets Sent/sec", RATE),
            row("bytes_in", "Network Interface", "Bytes Received/sec", RATE),
            row("bytes_out", "Network Interface", "Bytes Sent/sec", RATE),
            row("speed", "Network Interface", "Current Bandwidth", Kind::Level(1_000_000, 1)),
        ],
    ),
    label(
        "NFC",
        Whose::Machine,
        &[("calls", Sum), ("reads", Sum), ("writes", Sum), ("retransmissions", Sum), ("authorizations", Sum)],
        "atop NFC",
        &[
            row("calls", "NFS Client", "Requests/sec", RATE),
            row("retransmissions", "NFS Client", "Retransmissions/sec", RATE),
            row("reads", "NFS Client", "Read Requests/sec", RATE),
            row("writes", "NFS Client", "Write Requests/sec", RATE),
        ],
    ),
    label(
        "NFS",
        Whose::Machine,
        &[
            ("calls", Sum),
            ("reads", Sum),
            ("writes", Sum),
            ("bytes_read", Sum),
            ("bytes_written", Sum),
            ("bad_format", Sum),
            ("bad_authorization", Sum),
            ("bad_client", Sum),
            ("packets", Sum),
            ("TCP_packets", Sum),
            ("UDP_packets", Sum),
            ("TCP_connections", Sum),
            ("reply_cache_hits", Sum),
            ("reply_cache_misses", Sum),
            ("uncached", Sum),
        ],
        "atop NFS",
        &[
            row("calls", "NFS Server", "Requests/sec", RATE),
            row("packets", "NFS Server", "Packets/sec", RATE),
            row("UDP_packets", "NFS Server", "UDP Packets/sec", RATE),
            row("TCP_packets", "NFS Server", "TCP Packets/sec", RATE),
            row("reply_cache_hits", "NFS Server", "Reply Cache Hits/sec", RATE),
            row("reply_cache_misses", "NFS Server", "Reply Cache Misses/sec", RATE),
            row("reads", "NFS Server", "Read Requests/sec", RATE),
            row("writes", "NFS Server", "Write Requests/sec", RATE),
        ],
    ),
    label(
        "NUM",
        Whose::Named(0),
        &[
            ("node", Skip),
            ("page_size", PageSize),
            ("%_fragmented", Now),
            ("total", Pages),
            ("free", Pages),
            ("active", Pages),
            ("inactive", Pages),
            ("file_cache", Pages),
            ("dirty", Pages),
            ("slab", Pages),
            ("slab_reclaimable", Pages),
            ("shared", Pages),
            ("huge_pages", Now),
        ],
        "atop NUM",
        &[
            row("total", "NUMA Node Memory", "Total MBytes", Kind::Level(1, 1 << 20)),
            row("free", "NUMA Node Memory", "Free MBytes", Kind::Level(1, 1 << 20)),
        ],
    ),
    label(
        "PRG",
        Whose::Process,
        &[("uid", Skip), ("gid", Skip), ("TGID", Skip), ("threads", Now)],
        "atop PRG",
        &[row("threads", "Process", "Thread Count", LEVEL)],
    ),
    label(
        "PRC",
        Whose::Process,
        &[("hertz", Hertz), ("user", Ticks), ("sys", Ticks), ("nice", Skip), ("priority", Skip)],
        "atop PRC",
        &[
            row("PID", "Process", "ID Process", LEVEL),
            row("user + sys", "Process", "% Processor Time", Kind::Busy(1)),
            row("user", "Process", "% User Time", Kind::Busy(1)),
            row("sys", "Process", "% Privileged Time", Kind::Busy(1)),
        ],
    ),
    label(
        "PRM",
        Whose::Process,
        &[
            ("page_size", Skip),
            ("virtual", Now),
            ("resident", Now),
            ("text", Skip),
            ("virtual_growth", Skip),
            ("resident_growth", Skip),
            ("minor_faults", Sum),
            ("major_faults", Sum),
            ("libraries", Skip),
            ("data", Skip),
            ("stack", Skip),
            ("swap", Now),
        ],
        "atop PRM",
        &[
            row("virtual", "Process", "Virtual Bytes", Kind::Level(1024, 1)),
            row("resident", "Process", "Working Set", Kind::Level(1024, 1)),
            row("minor_faults + major_faults", "Process", "Page Faults/sec", RATE),
            row("major_faults", "atop PRM", "major_faults", RATE),
            row("swap", "atop PRM", "swap_bytes", Kind::Level(1024, 1)),
        ],
    ),
    label(
        "PRD",
        Whose::Process,
        &[
            ("patch", Skip),
            ("is_there", Skip),
            ("reads", Skip),
            ("read_sectors", Sum),
            ("writes", Skip),
            ("written_sectors", Sum),
            ("cancelled_sectors", Sum),
        ],
        "atop PRD",
        &[
            row("read_sectors", "atop PRD", "Disk Read Bytes/sec", SECTORS),
            row("written_sectors", "atop PRD", "Disk Write Bytes/sec", SECTORS),
            row("cancelled_sectors", "atop PRD", "Cancelled Write Bytes/sec", SECTORS),
        ],
    ),
];

/// What the number of interrupts becomes.
const INTERRUPTS: Table<'static> = Table {
    group: "atop CPL, all processors",
    own: "",
    rows: &[row("interrupts", "Processor", "Interrupts/sec", RATE)],
};

/// The tables of the documentation.
#[cfg(test)]
pub(crate) fn tables() -> Vec<Table<'static>> {
    let mut tables: Vec<Table<'static>> = Vec::new();
    for label in LABELS {
        tables.push(label.table);
        tables.extend(label.besides.map(|(table, _)| table));
    }
    tables
}
