//! Which counters the overview shows: one table, in the order of its panes.

use tallymon::core::title::TitleIndex;

/// A part of the overview.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pane {
    /// Each processor and all of them.
    Processors,
    /// Memory and swap.
    Memory,
    /// Disks.
    Disks,
    /// The space of file systems.
    Space,
    /// Network interfaces.
    Network,
    /// How long tasks wait for a processor, for memory, for disks.
    Pressure,
    /// Temperatures, fans, batteries and power.
    Sensors,
    /// Processes.
    Processes,
    /// Containers.
    Containers,
    /// Graphics processors.
    Graphics,
}

impl Pane {
    /// All panes, in the order of their digits, with the names that settings have. The tenth has the digit 0.
    pub const NAMES: [(&'static str, Pane); 10] = [
        ("processors", Pane::Processors),
        ("memory", Pane::Memory),
        ("disks", Pane::Disks),
        ("space", Pane::Space),
        ("network", Pane::Network),
        ("pressure", Pane::Pressure),
        ("sensors", Pane::Sensors),
        ("processes", Pane::Processes),
        ("containers", Pane::Containers),
        ("graphics", Pane::Graphics),
    ];

    /// The name that settings have.
    pub fn name(self) -> &'static str {
        Pane::NAMES.iter().find(|(_, pane)| *pane == self).map_or("", |(name, _)| name)
    }
}

/// What a counter of the overview means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Metric {
    /// Per cent of each processor, and of all.
    Busy,
    /// Per cent of all processors in programs.
    User,
    /// Per cent of all processors in the kernel.
    Kernel,
    /// Tasks that run or wait, averaged over a minute, over five, and over fifteen.
    Load1,
    /// The same over five minutes.
    Load5,
    /// The same over fifteen minutes.
    Load15,
    /// Per cent of one processor, summed over all, in which tasks waited for a disk.
    WaitingForDisk,
    /// Per cent of one processor, summed over all, that the host gave to other virtual machines.
    Stolen,
    /// Megahertz of the processors.
    Speed,
    /// Tasks that wait for a processor.
    Queue,
    /// How many processes there are.
    ProcessCount,
    /// How many threads there are.
    ThreadCount,
    /// Switches between tasks a second.
    Switches,
    /// Seconds since the start of the machine.
    UpTime,
    /// All memory, in MiB.
    TotalMemory,
    /// Memory that programs can still get, in bytes.
    Available,
    /// Memory without any use, in bytes.
    Free,
    /// Committed memory, in bytes.
    Committed,
    /// The limit of committed memory, in bytes.
    CommitLimit,
    /// Per cent of the swap that is in use.
    Swap,
    /// The size of the swap, in bytes.
    SwapSize,
    /// Pages a second from and to disks.
    Paging,
    /// Per cent of the time in which a disk is idle.
    DiskIdle,
    /// Bytes read from a disk a second.
    DiskRead,
    /// Bytes written to a disk a second.
    DiskWrite,
    /// Seconds that a transfer of a disk takes.
    DiskLatency,
    /// Requests that a disk has not finished.
    DiskQueue,
    /// The size of a file system: in bytes, or by per cent that are free.
    SpaceSize,
    /// What programs can still write to a file system.
    SpaceFree,
    /// What nothing uses, with what only root may still write, in bytes.
    SpaceUnused,
    /// Bytes an interface receives a second.
    Received,
    /// Bytes an interface sends a second.
    Sent,
    /// Bits an interface can send a second.
    Bandwidth,
    /// Per cent of the time in which a task waited for a processor.
    ProcessorPressure,
    /// Per cent of the time in which a task waited for memory.
    MemoryPressure,
    /// The same for all tasks.
    MemoryPressureFull,
    /// Per cent of the time in which a task waited for a disk.
    DiskPressure,
    /// The same for all tasks.
    DiskPressureFull,
    /// Degrees Celsius of a sensor.
    Temperature,
    /// Tenths of a kelvin of a thermal zone.
    Zone,
    /// Turns of a fan a minute.
    Fan,
    /// Per cent of the charge of a battery.
    Charge,
    /// Milliwatts from a battery.
    BatteryPower,
    /// Milliwatts of a part of the processor.
    Power,
    /// Per cent of one processor that a container uses.
    ContainerBusy,
    /// Bytes of memory that a container uses.
    ContainerMemory,
    /// Bytes a container receives a second.
    ContainerReceived,
    /// Bytes a container sends a second.
    ContainerSent,
    /// Per cent of the time in which a graphics processor works.
    GraphicsBusy,
    /// Bytes in use of the memory of a graphics processor.
    GraphicsOwn,
    /// Bytes in use of the memory that a graphics processor shares with the machine.
    GraphicsShared,
}

/// A counter of the overview.
#[derive(Debug, Clone, Copy)]
pub struct OverviewCounter {
    /// Its pane.
    pub pane: Pane,
    /// What it means.
    pub metric: Metric,
    /// The path, by numbers: the same in every language.
    pub path: &'static str,
    /// The path in English, to name it where a source lacks it.
    pub english: &'static str,
}

const fn row(pane: Pane, metric: Metric, path: &'static str, english: &'static str) -> OverviewCounter {
    OverviewCounter { pane, metric, path, english }
}

/// The counters that the overview keeps for every second. Two rows of one metric are alternatives: the first
/// one that the source has is used.
pub const COUNTERS: &[OverviewCounter] = &[
    row(Pane::Processors, Metric::Busy, r"\238(*)\6", r"\Processor(*)\% Processor Time"),
    row(Pane::Processors, Metric::Busy, r"\900000(*)\6", r"\Processor Information(*)\% Processor Time"),
    row(Pane::Processors, Metric::User, r"\238(_Total)\142", r"\Processor(_Total)\% User Time"),
    row(Pane::Processors, Metric::Kernel, r"\238(_Total)\144", r"\Processor(_Total)\% Privileged Time"),
    row(Pane::Processors, Metric::Load1, r"\905800\905802", r"\System Extended\Load Average 1 Minute"),
    row(Pane::Processors, Metric::Load5, r"\905800\905804", r"\System Extended\Load Average 5 Minutes"),
    row(Pane::Processors, Metric::Load15, r"\905800\905806", r"\System Extended\Load Average 15 Minutes"),
    row(Pane::Processors, Metric::WaitingForDisk, r"\905800\905818", r"\System Extended\% IO Wait Time"),
    row(Pane::Processors, Metric::Stolen, r"\905800\905816", r"\System Extended\% Steal Time"),
    row(
        Pane::Processors,
        Metric::Speed,
        r"\900000(_Total)\900002",
        r"\Processor Information(_Total)\Processor Frequency",
    ),
    row(Pane::Processors, Metric::Queue, r"\2\44", r"\System\Processor Queue Length"),
    row(Pane::Processors, Metric::ProcessCount, r"\2\248", r"\System\Processes"),
    row(Pane::Processors, Metric::ThreadCount, r"\2\250", r"\System\Threads"),
    row(Pane::Processors, Metric::Switches, r"\2\146", r"\System\Context Switches/sec"),
    row(Pane::Processors, Metric::UpTime, r"\2\674", r"\System\System Up Time"),
    // The nodes of a virtual machine may count gigabytes more or less than `\Memory`; this one agrees with
    // it.
    row(Pane::Memory, Metric::TotalMemory, r"\903400\903432", r"\Memory Extended\Total Physical Bytes"),
    row(
        Pane::Memory,
        Metric::TotalMemory,
        r"\900400(_Total)\900402",
        r"\NUMA Node Memory(_Total)\Total MBytes",
    ),
    row(Pane::Memory, Metric::Available, r"\4\24", r"\Memory\Available Bytes"),
    row(Pane::Memory, Metric::Available, r"\4\1380", r"\Memory\Available KBytes"),
    row(Pane::Memory, Metric::Available, r"\4\1382", r"\Memory\Available MBytes"),
    row(Pane::Memory, Metric::Free, r"\4\1676", r"\Memory\Free & Zero Page List Bytes"),
    row(Pane::Memory, Metric::Committed, r"\4\26", r"\Memory\Committed Bytes"),
    row(Pane::Memory, Metric::CommitLimit, r"\4\30", r"\Memory\Commit Limit"),
    row(Pane::Memory, Metric::Swap, r"\700(_Total)\702", r"\Paging File(_Total)\% Usage"),
    row(Pane::Memory, Metric::SwapSize, r"\903400\903434", r"\Memory Extended\Total Swap Bytes"),
    row(Pane::Memory, Metric::Paging, r"\4\40", r"\Memory\Pages/sec"),
    row(Pane::Disks, Metric::DiskIdle, r"\234(*)\1482", r"\PhysicalDisk(*)\% Idle Time"),
    row(Pane::Disks, Metric::DiskRead, r"\234(*)\220", r"\PhysicalDisk(*)\Disk Read Bytes/sec"),
    row(Pane::Disks, Metric::DiskWrite, r"\234(*)\222", r"\PhysicalDisk(*)\Disk Write Bytes/sec"),
    row(Pane::Disks, Metric::DiskLatency, r"\234(*)\206", r"\PhysicalDisk(*)\Avg. Disk sec/Transfer"),
    row(Pane::Disks, Metric::DiskQueue, r"\234(*)\198", r"\PhysicalDisk(*)\Current Disk Queue Length"),
    // Windows has no size; it follows from what is free and its share.
    row(Pane::Space, Metric::SpaceSize, r"\904800(*)\904802", r"\File System(*)\Total Bytes"),
    row(Pane::Space, Metric::SpaceSize, r"\236(*)\408", r"\LogicalDisk(*)\% Free Space"),
    row(Pane::Space, Metric::SpaceFree, r"\904800(*)\904806", r"\File System(*)\Available Bytes"),
    row(Pane::Space, Metric::SpaceFree, r"\236(*)\410", r"\LogicalDisk(*)\Free Megabytes"),
    row(Pane::Space, Metric::SpaceUnused, r"\904800(*)\904804", r"\File System(*)\Free Bytes"),
    row(Pane::Network, Metric::Received, r"\510(*)\264", r"\Network Interface(*)\Bytes Received/sec"),
    row(Pane::Network, Metric::Sent, r"\510(*)\506", r"\Network Interface(*)\Bytes Sent/sec"),
    row(Pane::Network, Metric::Bandwidth, r"\510(*)\520", r"\Network Interface(*)\Current Bandwidth"),
    row(Pane::Pressure, Metric::ProcessorPressure, r"\900200\900202", r"\Pressure\% Processor Pressure Some"),
    row(Pane::Pressure, Metric::MemoryPressure, r"\900200\900204", r"\Pressure\% Memory Pressure Some"),
    row(Pane::Pressure, Metric::MemoryPressureFull, r"\900200\900206", r"\Pressure\% Memory Pressure Full"),
    row(Pane::Pressure, Metric::DiskPressure, r"\900200\900208", r"\Pressure\% IO Pressure Some"),
    row(Pane::Pressure, Metric::DiskPressureFull, r"\900200\900210", r"\Pressure\% IO Pressure Full"),
    row(Pane::Sensors, Metric::Temperature, r"\910200(*)\910202", r"\Temperature Sensor(*)\Degrees Celsius"),
    row(
        Pane::Sensors,
        Metric::Zone,
        r"\900600(*)\900604",
        r"\Thermal Zone Information(*)\High Precision Temperature",
    ),
    row(Pane::Sensors, Metric::Fan, r"\904200(*)\904202", r"\Fan(*)\Speed RPM"),
    row(Pane::Sensors, Metric::Charge, r"\904000(*)\904002", r"\Power Supply(*)\Charge"),
    row(Pane::Sensors, Metric::BatteryPower, r"\904000(*)\904010", r"\Power Supply(*)\Power"),
    row(Pane::Sensors, Metric::Power, r"\900800(*)\900802", r"\Energy Meter(*)\Power"),
    row(Pane::Containers, Metric::ContainerBusy, r"\910000(*)\910002", r"\Container(*)\% Processor Time"),
    row(Pane::Containers, Metric::ContainerMemory, r"\910000(*)\910004", r"\Container(*)\Memory Bytes"),
    row(
        Pane::Containers,
        Metric::ContainerReceived,
        r"\910000(*)\910010",
        r"\Container(*)\Bytes Received/sec",
    ),
    row(Pane::Containers, Metric::ContainerSent, r"\910000(*)\910012", r"\Container(*)\Bytes Sent/sec"),
    row(Pane::Graphics, Metric::GraphicsBusy, r"\906400(*)\906408", r"\GPU Adapter Memory(*)\% Busy"),
    row(Pane::Graphics, Metric::GraphicsOwn, r"\906400(*)\906404", r"\GPU Adapter Memory(*)\Dedicated Usage"),
    row(Pane::Graphics, Metric::GraphicsShared, r"\906400(*)\906406", r"\GPU Adapter Memory(*)\Shared Usage"),
];

/// A column of the processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProcessMetric {
    /// Per cent of one processor.
    Processor,
    /// Bytes of memory in use.
    Memory,
    /// Bytes read and written a second.
    InputOutput,
    /// Threads.
    Threads,
    /// Process id.
    Id,
    /// Process id of the process that started it; no column.
    Parent,
}

/// The object Process.
pub const PROCESS_OBJECT: TitleIndex = TitleIndex(230);

/// The counters of processes, by number, with their English names.
pub const PROCESS_COUNTERS: &[(ProcessMetric, u32, &str)] = &[
    (ProcessMetric::Processor, 6, r"\Process(*)\% Processor Time"),
    (ProcessMetric::Memory, 180, r"\Process(*)\Working Set"),
    (ProcessMetric::InputOutput, 1424, r"\Process(*)\IO Data Bytes/sec"),
    (ProcessMetric::Threads, 680, r"\Process(*)\Thread Count"),
    (ProcessMetric::Id, 784, r"\Process(*)\ID Process"),
    (ProcessMetric::Parent, 1410, r"\Process(*)\Creating Process ID"),
];

/// The English name of the counter of a column, for paths.
pub fn process_counter(metric: ProcessMetric) -> u32 {
    PROCESS_COUNTERS.iter().find(|(known, _, _)| *known == metric).map_or(6, |(_, number, _)| *number)
}
