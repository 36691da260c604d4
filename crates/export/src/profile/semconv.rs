//! The names of OpenTelemetry's semantic conventions for systems and processes.
//!
//! NT's privileged time contains the time of interrupts, so `system` does. Free bytes of a file system are
//! those that users without privileges can take.

use super::{Entry, InstanceForm, InstanceLabels, entry};

/// The attribute of each object's instances.
pub(super) const INSTANCES: &[(&str, InstanceLabels)] = &[
    ("Processor", InstanceLabels::new("cpu.logical_number", InstanceForm::Whole)),
    ("PhysicalDisk", InstanceLabels::new("system.device", InstanceForm::Word(1))),
    ("Block Device", InstanceLabels::new("system.device", InstanceForm::Whole)),
    ("File System", InstanceLabels::new("system.filesystem.mountpoint", InstanceForm::Whole)),
    ("Network Interface", InstanceLabels::new("network.interface.name", InstanceForm::Whole)),
    (
        "Process",
        InstanceLabels { name: "process.executable.name", form: InstanceForm::Name, process: "process.pid" },
    ),
];

/// Attributes whose values are whole numbers.
pub(crate) const NUMBERS: &[&str] = &["cpu.logical_number", "process.pid"];

const READ: &[(&str, &str)] = &[("disk.io.direction", "read")];
const WRITE: &[(&str, &str)] = &[("disk.io.direction", "write")];
const RECEIVE: &[(&str, &str)] = &[("network.io.direction", "receive")];
const TRANSMIT: &[(&str, &str)] = &[("network.io.direction", "transmit")];

impl Entry {
    /// The computed value: the age of what began.
    const fn age(self) -> Entry {
        self.value().unit("s")
    }
}

/// The counters.
#[rustfmt::skip]
pub(super) const ENTRIES: &[Entry] = &[
    entry("Processor", "% User Time", "system.cpu.time").labels(&[("cpu.mode", "user")]).unit("s"),
    entry("Processor", "% Privileged Time", "system.cpu.time").labels(&[("cpu.mode", "system")]).unit("s"),
    entry("Processor", "% Idle Time", "system.cpu.time").labels(&[("cpu.mode", "idle")]).unit("s"),
    entry("Memory Extended", "Total Physical Bytes", "system.memory.limit").up_down("By"),
    entry("Memory Extended", "Reclaimable Slab Bytes", "system.memory.linux.slab.usage")
        .labels(&[("system.memory.linux.slab.state", "reclaimable")]).up_down("By"),
    entry("Memory Extended", "Unreclaimable Slab Bytes", "system.memory.linux.slab.usage")
        .labels(&[("system.memory.linux.slab.state", "unreclaimable")]).up_down("By"),
    entry("Memory", "Free & Zero Page List Bytes", "system.memory.usage")
        .labels(&[("system.memory.state", "free")]).up_down("By"),
    entry("Memory", "Page Faults/sec", "system.paging.faults").unit("{fault}"),
    entry("Memory", "Page Reads/sec", "system.paging.operations")
        .labels(&[("system.paging.direction", "in")]).unit("{operation}"),
    entry("Memory", "Page Writes/sec", "system.paging.operations")
        .labels(&[("system.paging.direction", "out")]).unit("{operation}"),
    entry("PhysicalDisk", "Disk Read Bytes/sec", "system.disk.io").labels(READ).unit("By"),
    entry("PhysicalDisk", "Disk Write Bytes/sec", "system.disk.io").labels(WRITE).unit("By"),
    entry("PhysicalDisk", "Disk Reads/sec", "system.disk.operations").labels(READ).unit("{operation}"),
    entry("PhysicalDisk", "Disk Writes/sec", "system.disk.operations").labels(WRITE).unit("{operation}"),
    entry("PhysicalDisk", "Avg. Disk sec/Read", "system.disk.operation_time").labels(READ).time_of_all()
        .unit("s"),
    entry("PhysicalDisk", "Avg. Disk sec/Write", "system.disk.operation_time").labels(WRITE).time_of_all()
        .unit("s"),
    entry("Block Device", "% Active Time", "system.disk.io_time").unit("s"),
    entry("Block Device", "Read Merges/sec", "system.disk.merged").labels(READ).unit("{operation}"),
    entry("Block Device", "Write Merges/sec", "system.disk.merged").labels(WRITE).unit("{operation}"),
    entry("Block Device", "Capacity Bytes", "system.disk.limit").up_down("By"),
    entry("File System", "Available Bytes", "system.filesystem.usage")
        .labels(&[("system.filesystem.state", "free")]).up_down("By"),
    entry("File System", "Total Bytes", "system.filesystem.limit").up_down("By"),
    entry("Network Interface", "Bytes Received/sec", "system.network.io").labels(RECEIVE).unit("By"),
    entry("Network Interface", "Bytes Sent/sec", "system.network.io").labels(TRANSMIT).unit("By"),
    entry("Network Interface", "Packets Received/sec", "system.network.packet.count").labels(RECEIVE)
        .unit("{packet}"),
    entry("Network Interface", "Packets Sent/sec", "system.network.packet.count").labels(TRANSMIT)
        .unit("{packet}"),
    entry("Network Interface", "Packets Received Errors", "system.network.errors").labels(RECEIVE).grows()
        .unit("{error}"),
    entry("Network Interface", "Packets Outbound Errors", "system.network.errors").labels(TRANSMIT).grows()
        .unit("{error}"),
    entry("Network Interface", "Packets Received Discarded", "system.network.packet.dropped").labels(RECEIVE)
        .grows().unit("{packet}"),
    entry("Network Interface", "Packets Outbound Discarded", "system.network.packet.dropped").labels(TRANSMIT)
        .grows().unit("{packet}"),
    entry("System", "Processes", "system.process.count").up_down("{process}"),
    entry("System", "System Up Time", "system.uptime").age(),
    entry("Process", "% User Time", "process.cpu.time").labels(&[("cpu.mode", "user")]).unit("s"),
    entry("Process", "% Privileged Time", "process.cpu.time").labels(&[("cpu.mode", "system")]).unit("s"),
    entry("Process", "Working Set", "process.memory.usage").up_down("By"),
    entry("Process", "Virtual Bytes", "process.memory.virtual").up_down("By"),
    entry("Process", "IO Read Bytes/sec", "process.disk.io").labels(READ).unit("By"),
    entry("Process", "IO Write Bytes/sec", "process.disk.io").labels(WRITE).unit("By"),
    entry("Process", "IO Read Operations/sec", "process.disk.operations").labels(READ).unit("{operation}"),
    entry("Process", "IO Write Operations/sec", "process.disk.operations").labels(WRITE).unit("{operation}"),
    entry("Process", "Thread Count", "process.thread.count").up_down("{thread}"),
    entry("Process", "Page Faults/sec", "process.paging.faults").unit("{fault}"),
    entry("Process", "Elapsed Time", "process.uptime").age(),
];
