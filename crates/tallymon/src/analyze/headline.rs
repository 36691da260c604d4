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
    /// Instances are processes: only trends are looked for, since they come and go.
    pub(super) is_process: bool,
}

const fn rate(object: &'static str, counter: &'static str, resource: Resource, bad: Bad) -> Headline {
    Headline { object, counter, resource, bad, limit: None, is_level: false, is_process: false }
}

const fn level(object: &'static str, counter: &'static str, resource: Resource, bad: Bad) -> Headline {
    Headline { object, counter, resource, bad, limit: None, is_level: true, is_process: false }
}

const fn stock(object: &'static str, counter: &'static str, resource: Resource) -> Headline {
    Headline { object, counter, resource, bad: Bad::Low, limit: Some(0.0), is_level: true, is_process: false }
}

const fn process(counter: &'static str, resource: Resource) -> Headline {
    Headline {
        object: "Process",
        counter,
        resource,
        bad: Bad::High,
        limit: None,
        is_level: true,
        is_process: true,
    }
}

pub(super) const HEADLINES: [Headline; 25] = [
    rate("Processor", "% Processor Time", Resource::Processor, Bad::High),
    rate("System", "Processor Queue Length", Resource::Processor, Bad::High),
    rate("System", "Context Switches/sec", Resource::Processor, Bad::Neither),
    rate("Pressure", "% Processor Pressure Some", Resource::Processor, Bad::High),
    stock("Memory", "Available MBytes", Resource::Memory),
    level("Memory", "Committed Bytes", Resource::Memory, Bad::High),
    level("Memory", "Pool Nonpaged Bytes", Resource::Memory, Bad::High),
    level("Memory", "Pool Paged Bytes", Resource::Memory, Bad::High),
    rate("Memory", "Pages/sec", Resource::Memory, Bad::High),
    rate("Pressure", "% Memory Pressure Some", Resource::Memory, Bad::High),
    rate("PhysicalDisk", "Avg. Disk sec/Transfer", Resource::Disk, Bad::High),
    rate("PhysicalDisk", "Disk Transfers/sec", Resource::Disk, Bad::Neither),
    rate("PhysicalDisk", "Disk Bytes/sec", Resource::Disk, Bad::Neither),
    rate("Pressure", "% IO Pressure Some", Resource::Disk, Bad::High),
    stock("LogicalDisk", "Free Megabytes", Resource::Disk),
    rate("Network Interface", "Bytes Total/sec", Resource::Network, Bad::Neither),
    rate("TCPv4", "Segments Retransmitted/sec", Resource::Network, Bad::High),
    level("TCPv4", "Connections Established", Resource::Network, Bad::Neither),
    level("System", "Processes", Resource::Handles, Bad::Neither),
    level("System", "Threads", Resource::Handles, Bad::Neither),
    level("Kernel Objects", "Open Files", Resource::Handles, Bad::High),
    process("Private Bytes", Resource::Memory),
    process("Handle Count", Resource::Handles),
    process("Thread Count", Resource::Handles),
    process("Working Set", Resource::Memory),
];
