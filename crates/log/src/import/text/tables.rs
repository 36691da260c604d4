//! The tables of text reports: which of their values become counters of Windows, or of this project.
//!
//! Facts: `mpstat(1)`, `iostat(1)`, `pidstat(1)`, `vmstat(8)`, `nmon(1)` and `collectl(1)` of Debian 12.

use crate::import::table::{Kind, Row, Table, VALUE, row};

const KIB: Kind = Kind::Value(1024.0);
const MIB: Kind = Kind::Value(1_048_576.0);
const MS: Kind = Kind::Value(0.001);

/// The values of a processor in `mpstat`, and in `sar -u ALL -P ALL`.
pub(super) const MPSTAT: Table<'static> = Table {
    group: "mpstat",
    own: "mpstat",
    rows: &[
        row(
            "%usr + %nice + %sys + %irq + %soft + %steal + %guest? + %gnice?",
            "Processor",
            "% Processor Time",
            VALUE,
        ),
        row("%usr + %nice + %guest? + %gnice?", "Processor", "% User Time", VALUE),
        row("%sys + %irq + %soft", "Processor", "% Privileged Time", VALUE),
        row("%irq", "Processor", "% Interrupt Time", VALUE),
        row("%soft", "Processor", "% DPC Time", VALUE),
        row("%idle + %iowait", "Processor", "% Idle Time", VALUE),
        row("%usr", "Processor States", "% User", VALUE),
        row("%nice", "Processor States", "% Nice", VALUE),
        row("%sys", "Processor States", "% System", VALUE),
        row("%idle", "Processor States", "% Idle", VALUE),
        row("%iowait", "Processor States", "% IO Wait", VALUE),
        row("%steal", "Processor States", "% Steal", VALUE),
        row("%irq", "Processor States", "% Hardware Interrupt", VALUE),
        row("%soft", "Processor States", "% Software Interrupt", VALUE),
        row("%guest", "Processor States", "% Guest", VALUE),
        row("%gnice", "Processor States", "% Guest Nice", VALUE),
        row("intr/s", "Processor", "Interrupts/sec", VALUE),
    ],
};

/// The values of all processors in `iostat` and `sar -u`.
pub(super) const AVG_CPU: Table<'static> = Table {
    group: "avg-cpu",
    own: "avg-cpu",
    rows: &[
        row("%user + %nice + %system + %steal", "Processor", "% Processor Time", VALUE),
        row("%user + %nice", "Processor", "% User Time", VALUE),
        row("%system", "Processor", "% Privileged Time", VALUE),
        row("%idle + %iowait", "Processor", "% Idle Time", VALUE),
        row("%user", "avg-cpu", "%user", VALUE),
        row("%system", "avg-cpu", "%system", VALUE),
        row("%nice", "Processor States", "% Nice", VALUE),
        row("%iowait", "Processor States", "% IO Wait", VALUE),
        row("%steal", "Processor States", "% Steal", VALUE),
        row("%idle", "Processor States", "% Idle", VALUE),
    ],
};

/// The values of a disk in `iostat`.
pub(super) const IOSTAT: Table<'static> = Table {
    group: "iostat",
    own: "iostat",
    rows: &[
        row("r/s + w/s", "PhysicalDisk", "Disk Transfers/sec", VALUE),
        row("r/s", "PhysicalDisk", "Disk Reads/sec", VALUE),
        row("w/s", "PhysicalDisk", "Disk Writes/sec", VALUE),
        row("rkB/s + wkB/s", "PhysicalDisk", "Disk Bytes/sec", KIB),
        row("rkB/s", "PhysicalDisk", "Disk Read Bytes/sec", KIB),
        row("wkB/s", "PhysicalDisk", "Disk Write Bytes/sec", KIB),
        row("rMB/s", "PhysicalDisk", "Disk Read Bytes/sec", MIB),
        row("wMB/s", "PhysicalDisk", "Disk Write Bytes/sec", MIB),
        row("kB_read/s", "PhysicalDisk", "Disk Read Bytes/sec", KIB),
        row("kB_wrtn/s", "PhysicalDisk", "Disk Write Bytes/sec", KIB),
        row("rrqm/s", "Block Device", "Read Merges/sec", VALUE),
        row("wrqm/s", "Block Device", "Write Merges/sec", VALUE),
        row("r_await", "PhysicalDisk", "Avg. Disk sec/Read", MS),
        row("w_await", "PhysicalDisk", "Avg. Disk sec/Write", MS),
        row("rareq-sz", "PhysicalDisk", "Avg. Disk Bytes/Read", KIB),
        row("wareq-sz", "PhysicalDisk", "Avg. Disk Bytes/Write", KIB),
        row("d/s", "Block Device", "Discards/sec", VALUE),
        row("dkB/s", "Block Device", "Discard Bytes/sec", KIB),
        row("f/s", "Block Device", "Flushes/sec", VALUE),
        row("aqu-sz", "PhysicalDisk", "Avg. Disk Queue Length", VALUE),
        row("%util", "Block Device", "% Active Time", VALUE),
    ],
};

/// The values of a process in `pidstat`.
pub(super) const PIDSTAT: Table<'static> = Table {
    group: "pidstat",
    own: "pidstat",
    rows: &[
        row("PID", "Process", "ID Process", VALUE),
        row("%CPU", "Process", "% Processor Time", VALUE),
        row("%usr", "Process", "% User Time", VALUE),
        row("%system", "Process", "% Privileged Time", VALUE),
        row("minflt/s + majflt/s", "Process", "Page Faults/sec", VALUE),
        row("minflt/s", "pidstat", "minflt/s", VALUE),
        row("majflt/s", "pidstat", "majflt/s", VALUE),
        row("VSZ", "Process", "Virtual Bytes", KIB),
        row("RSS", "Process", "Working Set", KIB),
        row("threads", "Process", "Thread Count", VALUE),
        row("fd-nr", "Process", "Handle Count", VALUE),
    ],
};

/// The values of the machine in `vmstat`.
pub(super) const VMSTAT: Table<'static> = Table {
    group: "vmstat",
    own: "vmstat",
    rows: &[
        row("r", "System Extended", "Tasks Running", VALUE),
        row("b", "System Extended", "Tasks Blocked", VALUE),
        row("swpd", "Memory Details", "Swap Used Bytes", KIB),
        row("free", "Memory", "Free & Zero Page List Bytes", KIB),
        row("buff", "Memory Details", "Buffer Bytes", KIB),
        row("cache", "Memory Details", "Cached Bytes", KIB),
        row("so", "Memory", "Pages Output/sec", Kind::Value(0.25)),
        row("si", "Memory Details", "Swap In Bytes/sec", KIB),
        row("so", "Memory Details", "Swap Out Bytes/sec", KIB),
        row("bi", "Memory Details", "Page In Bytes/sec", KIB),
        row("bo", "Memory Details", "Page Out Bytes/sec", KIB),
        row("cs", "System", "Context Switches/sec", VALUE),
        row("st", "System Extended", "% Steal Time", VALUE),
        row("wa", "System Extended", "% IO Wait Time", VALUE),
    ],
};

/// The values of all processors in `vmstat`.
pub(super) const VMSTAT_CPU: Table<'static> = Table {
    group: "vmstat, processors",
    own: "",
    rows: &[
        row("us + sy + st?", "Processor", "% Processor Time", VALUE),
        row("us", "Processor", "% User Time", VALUE),
        row("sy", "Processor", "% Privileged Time", VALUE),
        row("id + wa", "Processor", "% Idle Time", VALUE),
        row("id", "Processor States", "% Idle", VALUE),
        row("wa", "Processor States", "% IO Wait", VALUE),
        row("st", "Processor States", "% Steal", VALUE),
        row("in", "Processor", "Interrupts/sec", VALUE),
    ],
};

/// The values of a processor in nmon.
pub(super) const NMON_CPU: Table<'static> = Table {
    group: "nmon CPU",
    own: "nmon CPU",
    rows: &[
        row("User% + Sys% + Steal%?", "Processor", "% Processor Time", VALUE),
        row("User%", "Processor", "% User Time", VALUE),
        row("Sys%", "Processor", "% Privileged Time", VALUE),
        row("Idle% + Wait%", "Processor", "% Idle Time", VALUE),
        row("Idle%", "Processor States", "% Idle", VALUE),
        row("Wait%", "Processor States", "% IO Wait", VALUE),
        row("Steal%", "Processor States", "% Steal", VALUE),
    ],
};

const NMON_MEM: &[Row] = &[
    row("memfree", "Memory", "Free & Zero Page List Bytes", MIB),
    row("memtotal", "Memory Details", "Total Bytes", MIB),
    row("swaptotal", "Memory Details", "Swap Total Bytes", MIB),
    row("swapfree", "Memory Details", "Swap Free Bytes", MIB),
    row("cached", "Memory Details", "Cached Bytes", MIB),
    row("buffers", "Memory Details", "Buffer Bytes", MIB),
    row("swapcached", "Memory Details", "Swap Cached Bytes", MIB),
    row("active", "Memory Details", "Active Bytes", MIB),
    row("inactive", "Memory Details", "Inactive Bytes", MIB),
];

const NMON_PROC: &[Row] = &[
    row("Runnable", "System Extended", "Tasks Running", VALUE),
    row("Blocked", "System Extended", "Tasks Blocked", VALUE),
    row("pswitch", "System", "Context Switches/sec", VALUE),
    row("fork", "System Extended", "Tasks Started/sec", VALUE),
];

/// The values of a network interface in nmon; its columns are named by the interface and these.
pub(super) const NMON_NET: Table<'static> = Table {
    group: "nmon NET",
    own: "nmon NET",
    rows: &[
        row("read-KB/s", "Network Interface", "Bytes Received/sec", KIB),
        row("write-KB/s", "Network Interface", "Bytes Sent/sec", KIB),
        row("read/s", "Network Interface", "Packets Received/sec", VALUE),
        row("write/s", "Network Interface", "Packets Sent/sec", VALUE),
    ],
};

/// The values of a disk in nmon; each kind has a line of its own, whose columns are disks.
pub(super) const NMON_DISK: Table<'static> = Table {
    group: "nmon DISK",
    own: "nmon DISK",
    rows: &[
        row("DISKBUSY", "Block Device", "% Active Time", VALUE),
        row("DISKREAD", "PhysicalDisk", "Disk Read Bytes/sec", KIB),
        row("DISKWRITE", "PhysicalDisk", "Disk Write Bytes/sec", KIB),
        row("DISKXFER", "PhysicalDisk", "Disk Transfers/sec", VALUE),
        row("DISKBSIZE", "PhysicalDisk", "Avg. Disk Bytes/Transfer", KIB),
    ],
};

/// Lines of nmon whose columns are counters of the machine.
pub(super) const NMON_MACHINE: &[Table<'static>] = &[
    Table { group: "nmon MEM", own: "nmon MEM", rows: NMON_MEM },
    Table { group: "nmon PROC", own: "nmon PROC", rows: NMON_PROC },
];

/// The values of a processor in collectl, and of all of them together.
pub(super) const COLLECTL_CPU: Table<'static> = Table {
    group: "collectl processors",
    own: "collectl processors",
    rows: &[
        row("User% + Nice% + Sys% + Irq% + Soft% + Steal%", "Processor", "% Processor Time", VALUE),
        row("User% + Nice%", "Processor", "% User Time", VALUE),
        row("Sys% + Irq% + Soft%", "Processor", "% Privileged Time", VALUE),
        row("Irq%", "Processor", "% Interrupt Time", VALUE),
        row("Soft%", "Processor", "% DPC Time", VALUE),
        row("Idle% + Wait%", "Processor", "% Idle Time", VALUE),
        row("User%", "Processor States", "% User", VALUE),
        row("Nice%", "Processor States", "% Nice", VALUE),
        row("Sys%", "Processor States", "% System", VALUE),
        row("Idle%", "Processor States", "% Idle", VALUE),
        row("Wait%", "Processor States", "% IO Wait", VALUE),
        row("Steal%", "Processor States", "% Steal", VALUE),
        row("Irq%", "Processor States", "% Hardware Interrupt", VALUE),
        row("Soft%", "Processor States", "% Software Interrupt", VALUE),
        row("Guest%", "Processor States", "% Guest", VALUE),
        row("GuestN%", "Processor States", "% Guest Nice", VALUE),
        row("Intrpt", "Processor", "Interrupts/sec", VALUE),
        row("Intrpt/sec", "Processor", "Interrupts/sec", VALUE),
    ],
};

/// The other values of the group `CPU` in collectl.
pub(super) const COLLECTL_MACHINE: Table<'static> = Table {
    group: "collectl CPU",
    own: "collectl CPU",
    rows: &[
        row("Ctx/sec", "System", "Context Switches/sec", VALUE),
        row("Proc/sec", "System Extended", "Tasks Started/sec", VALUE),
        row("L-Avg1", "System Extended", "Load Average 1 Minute", VALUE),
        row("L-Avg5", "System Extended", "Load Average 5 Minutes", VALUE),
        row("L-Avg15", "System Extended", "Load Average 15 Minutes", VALUE),
        row("RunTot", "System Extended", "Tasks Running", VALUE),
        row("BlkTot", "System Extended", "Tasks Blocked", VALUE),
    ],
};

/// The values of memory in collectl.
pub(super) const COLLECTL_MEMORY: Table<'static> = Table {
    group: "collectl MEM",
    own: "collectl MEM",
    rows: &[
        row("Free", "Memory", "Free & Zero Page List Bytes", KIB),
        row("Commit", "Memory", "Committed Bytes", KIB),
        row("PageFaults", "Memory", "Page Faults/sec", VALUE),
        row("PageMajFaults", "Memory", "Page Reads/sec", VALUE),
        row("Tot", "Memory Details", "Total Bytes", KIB),
        row("Buf", "Memory Details", "Buffer Bytes", KIB),
        row("Cached", "Memory Details", "Cached Bytes", KIB),
        row("Slab", "Memory Details", "Slab Bytes", KIB),
        row("Anon", "Memory Details", "Anonymous Bytes", KIB),
        row("Inactive", "Memory Details", "Inactive Bytes", KIB),
        row("SwapTot", "Memory Details", "Swap Total Bytes", KIB),
        row("SwapFree", "Memory Details", "Swap Free Bytes", KIB),
        row("SwapUsed", "Memory Details", "Swap Used Bytes", KIB),
        row("PageIn", "Memory Details", "Page In Bytes/sec", KIB),
        row("PageOut", "Memory Details", "Page Out Bytes/sec", KIB),
        row("Dirty", "Page Cache", "Dirty Bytes", KIB),
        row("Shared", "Page Cache", "Shared Memory Bytes", KIB),
    ],
};

/// The values of a disk in collectl, and of all disks together.
pub(super) const COLLECTL_DISK: Table<'static> = Table {
    group: "collectl DSK",
    own: "collectl DSK",
    rows: &[
        row("OpsTot", "PhysicalDisk", "Disk Transfers/sec", VALUE),
        row("Reads + Writes", "PhysicalDisk", "Disk Transfers/sec", VALUE),
        row("ReadTot", "PhysicalDisk", "Disk Reads/sec", VALUE),
        row("Reads", "PhysicalDisk", "Disk Reads/sec", VALUE),
        row("WriteTot", "PhysicalDisk", "Disk Writes/sec", VALUE),
        row("Writes", "PhysicalDisk", "Disk Writes/sec", VALUE),
        row("KbTot", "PhysicalDisk", "Disk Bytes/sec", KIB),
        row("RKBytes + WKBytes", "PhysicalDisk", "Disk Bytes/sec", KIB),
        row("ReadKBTot", "PhysicalDisk", "Disk Read Bytes/sec", KIB),
        row("RKBytes", "PhysicalDisk", "Disk Read Bytes/sec", KIB),
        row("WriteKBTot", "PhysicalDisk", "Disk Write Bytes/sec", KIB),
        row("WKBytes", "PhysicalDisk", "Disk Write Bytes/sec", KIB),
        row("ReadMrgTot", "Block Device", "Read Merges/sec", VALUE),
        row("RMerge", "Block Device", "Read Merges/sec", VALUE),
        row("WriteMrgTot", "Block Device", "Write Merges/sec", VALUE),
        row("WMerge", "Block Device", "Write Merges/sec", VALUE),
        row("Wait", "PhysicalDisk", "Avg. Disk sec/Transfer", MS),
        row("WaitR", "PhysicalDisk", "Avg. Disk sec/Read", MS),
        row("WaitW", "PhysicalDisk", "Avg. Disk sec/Write", MS),
        row("Request", "PhysicalDisk", "Avg. Disk Bytes/Transfer", KIB),
        row("QueLen", "PhysicalDisk", "Avg. Disk Queue Length", VALUE),
        row("Util", "Block Device", "% Active Time", VALUE),
    ],
};

/// The values of a network interface in collectl, and of all of them together.
pub(super) const COLLECTL_NET: Table<'static> = Table {
    group: "collectl NET",
    own: "collectl NET",
    rows: &[
        row("RxKBTot + TxKBTot", "Network Interface", "Bytes Total/sec", KIB),
        row("RxKB + TxKB", "Network Interface", "Bytes Total/sec", KIB),
        row("RxKBTot", "Network Interface", "Bytes Received/sec", KIB),
        row("RxKB", "Network Interface", "Bytes Received/sec", KIB),
        row("TxKBTot", "Network Interface", "Bytes Sent/sec", KIB),
        row("TxKB", "Network Interface", "Bytes Sent/sec", KIB),
        row("RxPktTot", "Network Interface", "Packets Received/sec", VALUE),
        row("RxPkt", "Network Interface", "Packets Received/sec", VALUE),
        row("TxPktTot", "Network Interface", "Packets Sent/sec", VALUE),
        row("TxPkt", "Network Interface", "Packets Sent/sec", VALUE),
    ],
};

/// The values of a process in collectl.
pub(super) const COLLECTL_PROCESS: Table<'static> = Table {
    group: "collectl processes",
    own: "collectl processes",
    rows: &[
        row("PID", "Process", "ID Process", VALUE),
        row("PPID", "Process", "Creating Process ID", VALUE),
        row("PCT", "Process", "% Processor Time", VALUE),
        row("VmSize", "Process", "Virtual Bytes", KIB),
        row("VmRSS", "Process", "Working Set", KIB),
        row("THRD", "Process", "Thread Count", VALUE),
        row("MajF + MinF", "Process", "Page Faults/sec", VALUE),
        row("MajF", "collectl processes", "MajF", VALUE),
    ],
};

/// A process in nmon: a line `TOP`.
pub(super) const NMON_PROCESS: Table<'static> = Table {
    group: "nmon TOP",
    own: "nmon TOP",
    rows: &[
        row("PID", "Process", "ID Process", VALUE),
        row("%CPU", "Process", "% Processor Time", VALUE),
        row("%Usr", "Process", "% User Time", VALUE),
        row("%Sys", "Process", "% Privileged Time", VALUE),
        row("Size", "Process", "Virtual Bytes", KIB),
        row("ResSet", "Process", "Working Set", KIB),
        row("MinorFault + MajorFault", "Process", "Page Faults/sec", VALUE),
        row("MajorFault", "nmon TOP", "MajorFault", VALUE),
        row("Threads", "Process", "Thread Count", VALUE),
    ],
};

/// The tables of the documentation.
#[cfg(test)]
pub(crate) fn tables() -> Vec<Table<'static>> {
    let mut tables =
        vec![MPSTAT, AVG_CPU, IOSTAT, PIDSTAT, VMSTAT, VMSTAT_CPU, NMON_CPU, NMON_NET, NMON_DISK];
    tables.extend_from_slice(NMON_MACHINE);
    tables.extend_from_slice(&[
        NMON_PROCESS,
        COLLECTL_CPU,
        COLLECTL_MACHINE,
        COLLECTL_MEMORY,
        COLLECTL_DISK,
        COLLECTL_NET,
        COLLECTL_PROCESS,
    ]);
    tables
}
