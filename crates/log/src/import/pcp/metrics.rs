//! The tables of PCP: which metrics of Linux become counters of Windows, or of this project.
//!
//! Facts: the help texts of pmdalinux and pmdaproc 6.0.3 (`pminfo -T`).

use crate::import::table::{KIB, Kind, LEVEL, RATE, Table, row};

/// How instances are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Instances {
    /// As in the archive.
    Own,
    /// Without this text at the begin.
    Without(&'static str),
    /// Metrics without instances, which are the total of others.
    Total,
    /// A process: `001234 /usr/bin/program arguments`.
    Process,
    /// Only this instance, which becomes a counter without one.
    Only(&'static str),
}

/// Metrics whose names begin alike.
#[derive(Debug)]
pub(super) struct Family {
    /// The begin of their names with its last dot, and what follows is a field of the table; or a whole name,
    /// whose last word is the field.
    pub(super) prefix: &'static str,
    pub(super) instances: Instances,
    pub(super) table: Table<'static>,
}

const MS: u64 = 10_000;
/// The time of all processors together: shares of it are averages.
const ALL: &str = "user + nice + sys + idle + wait.total + steal + irq.soft + irq.hard";

macro_rules! family {
    ($prefix:literal, $instances:expr, $own:literal, [$($row:expr),* $(,)?]) => {
        Family {
            prefix: $prefix,
            instances: $instances,
            table: Table { group: $prefix, own: $own, rows: &[$($row),*] },
        }
    };
}

/// Every family. The first that fits a metric and its instances has it.
pub(super) static FAMILIES: &[Family] = &[
    family!(
        "kernel.percpu.cpu.",
        Instances::Without("cpu"),
        "kernel.percpu.cpu",
        [
            row("idle + wait.total", "Processor", "% Processor Time", Kind::Idle(MS)),
            row("user + nice", "Processor", "% User Time", Kind::Busy(MS)),
            row("sys + irq.soft + irq.hard", "Processor", "% Privileged Time", Kind::Busy(MS)),
            row("irq.hard", "Processor", "% Interrupt Time", Kind::Busy(MS)),
            row("irq.soft", "Processor", "% DPC Time", Kind::Busy(MS)),
            row("idle + wait.total", "Processor", "% Idle Time", Kind::Busy(MS)),
            row("vuser", "Processor States", "% User", Kind::Busy(MS)),
            row("vnice", "Processor States", "% Nice", Kind::Busy(MS)),
            row("sys", "Processor States", "% System", Kind::Busy(MS)),
            row("idle", "Processor States", "% Idle", Kind::Busy(MS)),
            row("wait.total", "Processor States", "% IO Wait", Kind::Busy(MS)),
            row("steal", "Processor States", "% Steal", Kind::Busy(MS)),
            row("irq.hard", "Processor States", "% Hardware Interrupt", Kind::Busy(MS)),
            row("irq.soft", "Processor States", "% Software Interrupt", Kind::Busy(MS)),
            row("guest", "Processor States", "% Guest", Kind::Busy(MS)),
            row("guest_nice", "Processor States", "% Guest Nice", Kind::Busy(MS)),
            row("user", "kernel.percpu.cpu", "user", Kind::Busy(MS)),
            row("nice", "kernel.percpu.cpu", "nice", Kind::Busy(MS)),
            row("intr", "kernel.percpu.cpu", "intr", Kind::Busy(MS)),
        ]
    ),
    family!(
        "kernel.all.cpu.",
        Instances::Total,
        "kernel.all.cpu",
        [
            row(
                "user + nice + sys + steal + irq.soft + irq.hard",
                "Processor",
                "% Processor Time",
                Kind::Share(ALL)
            ),
            row("user + nice", "Processor", "% User Time", Kind::Share(ALL)),
            row("sys + irq.soft + irq.hard", "Processor", "% Privileged Time", Kind::Share(ALL)),
            row("irq.hard", "Processor", "% Interrupt Time", Kind::Share(ALL)),
            row("irq.soft", "Processor", "% DPC Time", Kind::Share(ALL)),
            row("idle + wait.total", "Processor", "% Idle Time", Kind::Share(ALL)),
            row("sys", "Processor States", "% System", Kind::Share(ALL)),
            row("idle", "Processor States", "% Idle", Kind::Share(ALL)),
            row("vuser", "Processor States", "% User", Kind::Share(ALL)),
            row("vnice", "Processor States", "% Nice", Kind::Share(ALL)),
            row("wait.total", "Processor States", "% IO Wait", Kind::Share(ALL)),
            row("steal", "Processor States", "% Steal", Kind::Share(ALL)),
            row("guest", "Processor States", "% Guest", Kind::Share(ALL)),
            row("guest_nice", "Processor States", "% Guest Nice", Kind::Share(ALL)),
            row("user", "kernel.all.cpu", "user", Kind::Share(ALL)),
            row("nice", "kernel.all.cpu", "nice", Kind::Share(ALL)),
            row("intr", "kernel.all.cpu", "intr", Kind::Share(ALL)),
        ]
    ),
    family!(
        "kernel.all.load",
        Instances::Only("1 minute"),
        "kernel.all",
        [row("load", "System Extended", "Load Average 1 Minute", Kind::Value(1.0)),]
    ),
    family!(
        "kernel.all.load",
        Instances::Only("5 minute"),
        "kernel.all",
        [row("load", "System Extended", "Load Average 5 Minutes", Kind::Value(1.0)),]
    ),
    family!(
        "kernel.all.load",
        Instances::Only("15 minute"),
        "kernel.all",
        [row("load", "System Extended", "Load Average 15 Minutes", Kind::Value(1.0)),]
    ),
    family!(
        "kernel.all.",
        Instances::Only(""),
        "kernel.all",
        [
            row("pswitch", "System", "Context Switches/sec", RATE),
            row("sysfork", "System Extended", "Tasks Started/sec", RATE),
            row("running", "System Extended", "Tasks Running", LEVEL),
            row("blocked", "System Extended", "Tasks Blocked", LEVEL),
            row("nprocs", "System", "Threads", LEVEL),
            row("nptys", "Kernel Objects", "Pseudo Terminals", LEVEL),
            row("pid_max", "Kernel Objects", "Process ID Limit", LEVEL),
            row("entropy.avail", "Kernel Objects", "Entropy Bits", LEVEL),
            row("pressure.cpu.some.total", "Pressure", "% Processor Pressure Some", Kind::Busy(10)),
            row("pressure.memory.some.total", "Pressure", "% Memory Pressure Some", Kind::Busy(10)),
            row("pressure.memory.full.total", "Pressure", "% Memory Pressure Full", Kind::Busy(10)),
            row("pressure.io.some.total", "Pressure", "% IO Pressure Some", Kind::Busy(10)),
            row("pressure.io.full.total", "Pressure", "% IO Pressure Full", Kind::Busy(10)),
            row("pressure.irq.full.total", "Pressure", "% Interrupt Pressure Full", Kind::Busy(10)),
        ]
    ),
    family!("proc.", Instances::Only(""), "proc", [row("nprocs", "System", "Processes", LEVEL)]),
    family!(
        "disk.dev.",
        Instances::Own,
        "disk.dev",
        [
            row("total", "PhysicalDisk", "Disk Transfers/sec", RATE),
            row("read", "PhysicalDisk", "Disk Reads/sec", RATE),
            row("write", "PhysicalDisk", "Disk Writes/sec", RATE),
            row("total_bytes", "PhysicalDisk", "Disk Bytes/sec", Kind::Rate(1024, 1)),
            row("read_bytes", "PhysicalDisk", "Disk Read Bytes/sec", Kind::Rate(1024, 1)),
            row("write_bytes", "PhysicalDisk", "Disk Write Bytes/sec", Kind::Rate(1024, 1)),
            row("total_rawactive", "PhysicalDisk", "% Disk Time", Kind::Busy(MS)),
            row("read_rawactive", "PhysicalDisk", "% Disk Read Time", Kind::Busy(MS)),
            row("write_rawactive", "PhysicalDisk", "% Disk Write Time", Kind::Busy(MS)),
            row("total_rawactive", "PhysicalDisk", "Avg. Disk sec/Transfer", Kind::TimePer(MS, "total")),
            row("read_rawactive", "PhysicalDisk", "Avg. Disk sec/Read", Kind::TimePer(MS, "read")),
            row("write_rawactive", "PhysicalDisk", "Avg. Disk sec/Write", Kind::TimePer(MS, "write")),
            row("total_bytes", "PhysicalDisk", "Avg. Disk Bytes/Transfer", Kind::AmountPer(1024, "total")),
            row("read_bytes", "PhysicalDisk", "Avg. Disk Bytes/Read", Kind::AmountPer(1024, "read")),
            row("write_bytes", "PhysicalDisk", "Avg. Disk Bytes/Write", Kind::AmountPer(1024, "write")),
            row("aveq", "PhysicalDisk", "Avg. Disk Queue Length", Kind::Queue(MS)),
            row("inflight", "PhysicalDisk", "Current Disk Queue Length", LEVEL),
            row("avactive", "Block Device", "% Active Time", Kind::Busy(MS)),
            row("avactive", "PhysicalDisk", "% Idle Time", Kind::Idle(MS)),
            row("read_merge", "Block Device", "Read Merges/sec", RATE),
            row("write_merge", "Block Device", "Write Merges/sec", RATE),
            row("discard", "Block Device", "Discards/sec", RATE),
            row("discard_bytes", "Block Device", "Discard Bytes/sec", Kind::Rate(1024, 1)),
            row("flush", "Block Device", "Flushes/sec", RATE),
            row("capacity", "Block Device", "Capacity Bytes", KIB),
        ]
    ),
    family!(
        "disk.all.",
        Instances::Total,
        "disk.all",
        [
            row("total", "PhysicalDisk", "Disk Transfers/sec", RATE),
            row("read", "PhysicalDisk", "Disk Reads/sec", RATE),
            row("write", "PhysicalDisk", "Disk Writes/sec", RATE),
            row("total_bytes", "PhysicalDisk", "Disk Bytes/sec", Kind::Rate(1024, 1)),
            row("read_bytes", "PhysicalDisk", "Disk Read Bytes/sec", Kind::Rate(1024, 1)),
            row("write_bytes", "PhysicalDisk", "Disk Write Bytes/sec", Kind::Rate(1024, 1)),
            row("aveq", "PhysicalDisk", "Avg. Disk Queue Length", Kind::Queue(MS)),
            row("total_rawactive", "PhysicalDisk", "Avg. Disk sec/Transfer", Kind::TimePer(MS, "total")),
        ]
    ),
    family!(
        "mem.util.",
        Instances::Own,
        "mem.util",
        [
            row("available", "Memory", "Available Bytes", KIB),
            row("available", "Memory", "Available KBytes", LEVEL),
            row("available", "Memory", "Available MBytes", Kind::Level(1, 1024)),
            row("committed_AS", "Memory", "Committed Bytes", KIB),
            row("commitLimit", "Memory", "Commit Limit", KIB),
            row("committed_AS", "Memory", "% Committed Bytes In Use", Kind::Fraction("commitLimit")),
            row("free", "Memory", "Free & Zero Page List Bytes", KIB),
            row("dirty + writeback", "Memory", "Modified Page List Bytes", KIB),
            row("cached + bufmem - shmem", "Memory", "System Cache Resident Bytes", KIB),
            row("cached + bufmem + swapCached", "Page Cache", "Cached Bytes", KIB),
            row("mapped", "Page Cache", "Mapped Bytes", KIB),
            row("shmem", "Page Cache", "Shared Memory Bytes", KIB),
            row("dirty", "Page Cache", "Dirty Bytes", KIB),
            row("writeback", "Page Cache", "Writeback Bytes", KIB),
            row("slabReclaimable", "Memory Extended", "Reclaimable Slab Bytes", KIB),
            row("slabUnreclaimable", "Memory Extended", "Unreclaimable Slab Bytes", KIB),
            row("kernelStack", "Memory Extended", "Kernel Stack Bytes", KIB),
            row("pageTables", "Memory Extended", "Page Table Bytes", KIB),
            row("anonhugepages", "Memory Extended", "Huge Page Bytes", KIB),
            row("swapTotal - swapFree", "Memory Details", "% Swap Usage", Kind::Fraction("swapTotal")),
            row("bufmem", "Memory Details", "Buffer Bytes", KIB),
            row("cached", "Memory Details", "Cached Bytes", KIB),
            row("swapTotal", "Memory Details", "Swap Total Bytes", KIB),
            row("swapFree", "Memory Details", "Swap Free Bytes", KIB),
            row("swapCached", "Memory Details", "Swap Cached Bytes", KIB),
            row("active", "Memory Details", "Active Bytes", KIB),
            row("inactive", "Memory Details", "Inactive Bytes", KIB),
            row("anonpages", "Memory Details", "Anonymous Bytes", KIB),
            row("slab", "Memory Details", "Slab Bytes", KIB),
            row("vmallocUsed", "Memory Details", "Vmalloc Used Bytes", KIB),
        ]
    ),
    family!(
        "mem.vmstat.",
        Instances::Own,
        "mem.vmstat",
        [
            row("pgpgin", "Memory", "Pages Input/sec", Kind::Rate(1, 4)),
            row("pgpgin", "Memory Details", "Page In Bytes/sec", Kind::Rate(1024, 1)),
            row("pgpgout", "Memory Details", "Page Out Bytes/sec", Kind::Rate(1024, 1)),
            row("pswpout", "Memory", "Pages Output/sec", RATE),
            row("pswpin", "Memory Details", "Swap In Pages/sec", RATE),
            row("pgfault", "Memory", "Page Faults/sec", RATE),
            row("pgmajfault", "Memory", "Page Reads/sec", RATE),
            row("pgscan_kswapd", "Page Cache", "Pages Scanned by Daemon/sec", RATE),
            row("pgscan_direct", "Page Cache", "Pages Scanned Directly/sec", RATE),
            row("pgsteal_kswapd", "Page Cache", "Pages Reclaimed by Daemon/sec", RATE),
            row("pgsteal_direct", "Page Cache", "Pages Reclaimed Directly/sec", RATE),
            row("oom_kill", "Memory Extended", "Out of Memory Kills/sec", RATE),
            row("nr_dirtied", "Page Cache", "Pages Dirtied/sec", RATE),
            row("nr_written", "Page Cache", "Pages Written/sec", RATE),
        ]
    ),
    family!("mem.", Instances::Only(""), "mem", [row("physmem", "Memory Details", "Total Bytes", KIB),]),
    family!(
        "network.interface.",
        Instances::Own,
        "network.interface",
        [
            row("in.bytes + out.bytes", "Network Interface", "Bytes Total/sec", RATE),
            row("in.packets + out.packets", "Network Interface", "Packets/sec", RATE),
            row("in.packets", "Network Interface", "Packets Received/sec", RATE),
            row("out.packets", "Network Interface", "Packets Sent/sec", RATE),
            row("in.bytes", "Network Interface", "Bytes Received/sec", RATE),
            row("out.bytes", "Network Interface", "Bytes Sent/sec", RATE),
            row("in.errors", "Network Interface", "Packets Received Errors", LEVEL),
            row("out.errors", "Network Interface", "Packets Outbound Errors", LEVEL),
            row("in.drops", "Network Interface", "Packets Received Discarded", LEVEL),
            row("out.drops", "Network Interface", "Packets Outbound Discarded", LEVEL),
        ]
    ),
    family!(
        "network.tcp.",
        Instances::Own,
        "network.tcp",
        [
            row("insegs + outsegs", "TCPv4", "Segments/sec", RATE),
            row("currestab", "TCPv4", "Connections Established", LEVEL),
            row("activeopens", "TCPv4", "Connections Active", LEVEL),
            row("passiveopens", "TCPv4", "Connections Passive", LEVEL),
            row("attemptfails", "TCPv4", "Connection Failures", LEVEL),
            row("estabresets", "TCPv4", "Connections Reset", LEVEL),
            row("insegs", "TCPv4", "Segments Received/sec", RATE),
            row("outsegs", "TCPv4", "Segments Sent/sec", RATE),
            row("retranssegs", "TCPv4", "Segments Retransmitted/sec", RATE),
            row("inerrs", "TCP Details", "Segments Received Errors/sec", RATE),
            row("outrsts", "TCP Details", "Resets Sent/sec", RATE),
            row("listenoverflows", "TCP Extended", "Listen Overflows/sec", RATE),
            row("listendrops", "TCP Extended", "Listen Drops/sec", RATE),
            row("timeouts", "TCP Extended", "Timeouts/sec", RATE),
            row("fastretrans", "TCP Extended", "Fast Retransmits/sec", RATE),
            row("slowstartretrans", "TCP Extended", "Slow Start Retransmits/sec", RATE),
            row("synretrans", "TCP Extended", "SYN Retransmits/sec", RATE),
        ]
    ),
    family!(
        "network.udp.",
        Instances::Own,
        "network.udp",
        [
            row("indatagrams + outdatagrams", "UDPv4", "Datagrams/sec", RATE),
            row("indatagrams", "UDPv4", "Datagrams Received/sec", RATE),
            row("outdatagrams", "UDPv4", "Datagrams Sent/sec", RATE),
            row("noports", "UDPv4", "Datagrams No Port/sec", RATE),
            row("inerrors", "UDPv4", "Datagrams Received Errors", LEVEL),
        ]
    ),
    family!(
        "network.ip.",
        Instances::Own,
        "network.ip",
        [
            row("inreceives + outrequests", "IPv4", "Datagrams/sec", RATE),
            row("inreceives", "IPv4", "Datagrams Received/sec", RATE),
            row("outrequests", "IPv4", "Datagrams Sent/sec", RATE),
            row("forwdatagrams", "IPv4", "Datagrams Forwarded/sec", RATE),
            row("indelivers", "IPv4", "Datagrams Received Delivered/sec", RATE),
            row("indiscards", "IPv4", "Datagrams Received Discarded", LEVEL),
            row("outdiscards", "IPv4", "Datagrams Outbound Discarded", LEVEL),
            row("outnoroutes", "IPv4", "Datagrams Outbound No Route", LEVEL),
        ]
    ),
    family!(
        "filesys.",
        Instances::Own,
        "filesys",
        [
            row("capacity", "File System", "Total Bytes", KIB),
            row("free", "File System", "Free Bytes", KIB),
            row("avail", "File System", "Available Bytes", KIB),
            row("usedfiles", "File System", "Files", LEVEL),
            row("freefiles", "File System", "Files Free", LEVEL),
            row("readonly", "File System", "Mounted Read Only", LEVEL),
            row("avail", "LogicalDisk", "% Free Space", Kind::Fraction("capacity")),
            row("avail", "LogicalDisk", "Free Megabytes", Kind::Level(1, 1024)),
        ]
    ),
    family!(
        "vfs.",
        Instances::Only(""),
        "vfs",
        [
            row("files.count", "Kernel Objects", "Open Files", LEVEL),
            row("files.max", "Kernel Objects", "Open File Limit", LEVEL),
            row("inodes.count", "Kernel Objects", "Inodes", LEVEL),
            row("inodes.free", "Kernel Objects", "Free Inodes", LEVEL),
            row("dentry.count", "Kernel Objects", "Directory Entries", LEVEL),
            row("dentry.free", "Kernel Objects", "Unused Directory Entries", LEVEL),
            row("aio.count", "Kernel Objects", "Asynchronous Requests", LEVEL),
        ]
    ),
    family!(
        "proc.psinfo.",
        Instances::Process,
        "proc.psinfo",
        [
            row("pid", "Process", "ID Process", LEVEL),
            row("ppid", "Process", "Creating Process ID", LEVEL),
            row("utime + stime", "Process", "% Processor Time", Kind::Busy(MS)),
            row("utime", "Process", "% User Time", Kind::Busy(MS)),
            row("stime", "Process", "% Privileged Time", Kind::Busy(MS)),
            row("minflt + maj_flt", "Process", "Page Faults/sec", RATE),
            row("minflt", "proc.psinfo", "minflt", RATE),
            row("maj_flt", "proc.psinfo", "maj_flt", RATE),
            row("vsize", "Process", "Virtual Bytes", KIB),
            row("rss", "Process", "Working Set", KIB),
            row("threads", "Process", "Thread Count", LEVEL),
            row("priority", "proc.psinfo", "priority", LEVEL),
        ]
    ),
    family!(
        "proc.memory.",
        Instances::Process,
        "proc.memory",
        [
            row("vmpeak", "Process", "Virtual Bytes Peak", KIB),
            row("vmhwm", "Process", "Working Set Peak", KIB),
            row("vmswap", "proc.memory", "vmswap", KIB),
        ]
    ),
    family!(
        "proc.io.",
        Instances::Process,
        "proc.io",
        [
            row("rchar", "Process", "IO Read Bytes/sec", RATE),
            row("wchar", "Process", "IO Write Bytes/sec", RATE),
            row("syscr", "Process", "IO Read Operations/sec", RATE),
            row("syscw", "Process", "IO Write Operations/sec", RATE),
        ]
    ),
    family!("proc.", Instances::Process, "proc", []),
];

/// The tables of the documentation.
#[cfg(test)]
pub(crate) fn tables() -> Vec<Table<'static>> {
    FAMILIES.iter().map(|family| family.table).filter(|table| !table.rows.is_empty()).collect()
}
