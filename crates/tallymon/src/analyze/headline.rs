//! The counters that people look at first: their courses are searched for shifts and trends without any rule,
//! and compared with those of findings. All counters would give findings by chance alone.

use super::rule::Resource;

/// Which way of a course is bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bad {
    /// More is worse.
    High,
    /// Less is worse.
    Low,
    /// Neither by itself.
    Neither,
}

/// A counter to look at.
pub(super) struct Headline {
    pub(super) object: &'static str,
    pub(super) counter: &'static str,
    pub(super) resource: Resource,
    pub(super) bad: Bad,
    /// What a steady course ends in: 0 for what runs out, `None` for what only grows.
    pub(super) limit: Option<f64>,
    /// A level, which a leak makes grow; rates are only searched for shifts.
    pub(super) is_level: bool,
    /// What is worth a word at least, even if it is far above the usual; rates of work never are.
    pub(super) matters: f64,
    /// It counts what comes and goes by itself, such as connections: its noise is at least the root of the
    /// count, although most neighbours are equal.
    pub(super) is_count: bool,
    /// Instances are processes: only trends are looked for, since they come and go.
    pub(super) is_process: bool,
}

const fn rate(object: &'static str, counter: &'static str, resource: Resource, bad: Bad) -> Headline {
    Headline {
        object,
        counter,
        resource,
        bad,
        limit: None,
        is_level: false,
        matters: f64::INFINITY,
        is_count: false,
        is_process: false,
    }
}

/// A rate that is bad from a value on.
const fn bad(object: &'static str, counter: &'static str, resource: Resource, matters: f64) -> Headline {
    Headline { matters, ..rate(object, counter, resource, Bad::High) }
}

const fn level(object: &'static str, counter: &'static str, resource: Resource, bad: Bad) -> Headline {
    Headline { is_level: true, ..rate(object, counter, resource, bad) }
}

const fn count(object: &'static str, counter: &'static str, resource: Resource) -> Headline {
    Headline { is_count: true, ..level(object, counter, resource, Bad::Neither) }
}

const fn stock(object: &'static str, counter: &'static str, resource: Resource) -> Headline {
    Headline { limit: Some(0.0), is_level: true, ..rate(object, counter, resource, Bad::Low) }
}

const fn process(counter: &'static str, resource: Resource) -> Headline {
    Headline { is_process: true, ..level("Process", counter, resource, Bad::High) }
}

pub(super) const HEADLINES: [Headline; 29] = [
    bad("Processor", "% Processor Time", Resource::Processor, 85.0),
    bad("System", "Processor Queue Length", Resource::Processor, 10.0),
    rate("System", "Context Switches/sec", Resource::Processor, Bad::Neither),
    bad("Pressure", "% Processor Pressure Some", Resource::Processor, 50.0),
    stock("Memory", "Available MBytes", Resource::Memory),
    level("Memory", "Committed Bytes", Resource::Memory, Bad::High),
    level("Memory", "Pool Nonpaged Bytes", Resource::Memory, Bad::High),
    level("Memory", "Pool Paged Bytes", Resource::Memory, Bad::High),
    bad("Memory", "Pages/sec", Resource::Memory, 1000.0),
    bad("Pressure", "% Memory Pressure Some", Resource::Memory, 20.0),
    bad("PhysicalDisk", "Avg. Disk sec/Transfer", Resource::Disk, 0.1),
    rate("PhysicalDisk", "Disk Transfers/sec", Resource::Disk, Bad::Neither),
    rate("PhysicalDisk", "Disk Bytes/sec", Resource::Disk, Bad::Neither),
    bad("Pressure", "% IO Pressure Some", Resource::Disk, 50.0),
    stock("LogicalDisk", "Free Megabytes", Resource::Disk),
    rate("Network Interface", "Bytes Total/sec", Resource::Network, Bad::Neither),
    bad("TCPv4", "Segments Retransmitted/sec", Resource::Network, 20.0),
    count("TCPv4", "Connections Established", Resource::Network),
    count("System", "Processes", Resource::Handles),
    count("System", "Threads", Resource::Handles),
    level("Kernel Objects", "Open Files", Resource::Handles, Bad::High),
    // What esxtop says of a host of virtual machines.
    bad("Physical Cpu", "% Util Time", Resource::Processor, 85.0),
    stock("Memory", "Free MBytes", Resource::Memory),
    bad("Physical Disk SCSI Device", "Average Driver MilliSec/Command", Resource::Disk, 100.0),
    rate("Physical Disk SCSI Device", "Commands/sec", Resource::Disk, Bad::Neither),
    process("Private Bytes", Resource::Memory),
    process("Handle Count", Resource::Handles),
    process("Thread Count", Resource::Handles),
    process("Working Set", Resource::Memory),
];

/// Load and wait of one thing: object, counter and instances of both. No instance: the sum of all.
pub(super) struct Pair {
    pub(super) load: (&'static str, &'static str),
    pub(super) wait: (&'static str, &'static str),
    /// Both have the same instance; else one has `_Total` and the other none.
    pub(super) is_each: bool,
    pub(super) resource: Resource,
}

/// What is looked through for a load from which on something waits.
pub(super) const PAIRS: [Pair; 3] = [
    Pair {
        load: ("PhysicalDisk", "Disk Transfers/sec"),
        wait: ("PhysicalDisk", "Avg. Disk sec/Transfer"),
        is_each: true,
        resource: Resource::Disk,
    },
    Pair {
        load: ("PhysicalDisk", "Disk Bytes/sec"),
        wait: ("PhysicalDisk", "Avg. Disk sec/Transfer"),
        is_each: true,
        resource: Resource::Disk,
    },
    Pair {
        load: ("Processor", "% Processor Time"),
        wait: ("Pressure", "% Processor Pressure Some"),
        is_each: false,
        resource: Resource::Processor,
    },
];

/// The counters of all pairs: object and counter.
pub(super) fn paired_counters() -> impl Iterator<Item = (&'static str, &'static str)> {
    PAIRS.iter().flat_map(|pair| [pair.load, pair.wait])
}
