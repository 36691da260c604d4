//! Dashboards that are kept: which counters they show.
//!
//! `docs/dashboards` has them for Grafana, and a test compares. Counters of this program are taken from the
//! machine, with their types and help. Those of SQL Server are here with theirs, because a provider that
//! speaks its names, or a Windows machine, may be scraped from anywhere.

use clap::ValueEnum;
use tallymon::core::counter::CounterType;

/// A dashboard for a purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Kept {
    /// What to look at first on any machine.
    Overview,
    /// Processes: processor, memory, files and handles.
    Process,
    /// .NET programs: collections, heap, exceptions, locks, threads.
    Dotnet,
    /// SQL Server, or a provider with its counters.
    Sql,
}

/// An object of a kept dashboard.
pub(super) enum KeptObject {
    /// Counters of an object that this program has.
    Own(&'static str, &'static [&'static str]),
    /// Counters of another product: whether its object has instances, and names, types and meanings.
    Other(&'static str, bool, &'static [(&'static str, CounterType, &'static str)]),
}

use KeptObject::{Other, Own};

impl Kept {
    /// The title of the dashboard.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Kept::Overview => "Tallymon: overview",
            Kept::Process => "Tallymon: processes",
            Kept::Dotnet => "Tallymon: .NET",
            Kept::Sql => "Tallymon: SQL Server",
        }
    }

    /// Its objects, a row of panels for each.
    pub(super) const fn objects(self) -> &'static [KeptObject] {
        match self {
            Kept::Overview => OVERVIEW,
            Kept::Process => PROCESS,
            Kept::Dotnet => DOTNET,
            Kept::Sql => SQL,
        }
    }
}

const OVERVIEW: &[KeptObject] = &[
    Own("Processor", &["% Processor Time", "% User Time", "% Privileged Time"]),
    Own("System", &["Processor Queue Length", "Context Switches/sec", "Processes", "Threads"]),
    Own("Memory", &["Available Bytes", "Committed Bytes", "Pages/sec"]),
    Own("Pressure", &["% Processor Pressure Some", "% Memory Pressure Some", "% IO Pressure Some"]),
    Own(
        "PhysicalDisk",
        &[
            "% Idle Time",
            "Avg. Disk sec/Read",
            "Avg. Disk sec/Write",
            "Disk Read Bytes/sec",
            "Disk Write Bytes/sec",
            "Current Disk Queue Length",
        ],
    ),
    Own("LogicalDisk", &["% Free Space"]),
    Own("Network Interface", &["Bytes Received/sec", "Bytes Sent/sec", "Packets Received Errors"]),
    Own("TCPv4", &["Connections Established", "Segments Retransmitted/sec"]),
];

const PROCESS: &[KeptObject] = &[Own(
    "Process",
    &[
        "% Processor Time",
        "% User Time",
        "% Privileged Time",
        "Working Set",
        "Private Bytes",
        "Page Faults/sec",
        "IO Read Bytes/sec",
        "IO Write Bytes/sec",
        "Thread Count",
        "Handle Count",
        "Elapsed Time",
    ],
)];

const DOTNET: &[KeptObject] = &[
    Own(
        "System.Runtime",
        &[
            "CPU Usage",
            "Working Set Bytes",
            "GC Heap Bytes",
            "% GC Pause Time",
            "Allocation Rate",
            "ThreadPool Queue Length",
            "Monitor Lock Contention Count/sec",
        ],
    ),
    Own(
        ".NET CLR Memory",
        &[
            "% Time in GC",
            "# Gen 0 Collections",
            "# Gen 1 Collections",
            "# Gen 2 Collections",
            "# Bytes in all Heaps",
            "Large Object Heap size",
            "Allocated Bytes/sec",
        ],
    ),
    Own(".NET CLR Exceptions", &["# of Exceps Thrown / sec"]),
    Own(
        ".NET CLR LocksAndThreads",
        &["Contention Rate / sec", "# of current logical Threads", "# of current physical Threads"],
    ),
];

const PER_SECOND: CounterType = CounterType::PERF_COUNTER_BULK_COUNT;
const LEVEL: CounterType = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;

const SQL: &[KeptObject] = &[
    Other(
        "SQLServer:SQL Statistics",
        false,
        &[
            ("Batch Requests/sec", PER_SECOND, "Batches of commands that clients sent."),
            ("SQL Compilations/sec", PER_SECOND, "Plans that were made."),
            ("SQL Re-Compilations/sec", PER_SECOND, "Plans that were made again."),
        ],
    ),
    Other(
        "SQLServer:General Statistics",
        false,
        &[
            ("User Connections", LEVEL, "Users that are connected."),
            ("Processes blocked", LEVEL, "Sessions that wait for a lock of another one."),
            ("Logins/sec", PER_SECOND, "Logins that were not taken from a pool."),
        ],
    ),
    Other(
        "SQLServer:Buffer Manager",
        false,
        &[
            (
                "Buffer cache hit ratio",
                CounterType::PERF_LARGE_RAW_FRACTION,
                "Pages that were found in memory, of all that were looked for.",
            ),
            ("Page life expectancy", LEVEL, "Seconds that a page stays in memory unless it is used."),
            ("Page reads/sec", PER_SECOND, "Pages read from disk."),
            ("Page writes/sec", PER_SECOND, "Pages written to disk."),
            ("Lazy writes/sec", PER_SECOND, "Pages written to make room."),
            ("Checkpoint pages/sec", PER_SECOND, "Pages written by checkpoints."),
        ],
    ),
    Other(
        "SQLServer:Locks",
        true,
        &[
            ("Lock Waits/sec", PER_SECOND, "Requests for a lock that had to wait."),
            ("Average Wait Time (ms)", CounterType::PERF_AVERAGE_BULK, "How long a wait for a lock took."),
            ("Number of Deadlocks/sec", PER_SECOND, "Requests that ended in a deadlock."),
            ("Lock Timeouts/sec", PER_SECOND, "Requests that waited too long."),
        ],
    ),
    Other(
        "SQLServer:Databases",
        true,
        &[
            ("Transactions/sec", PER_SECOND, "Transactions that began."),
            ("Log Bytes Flushed/sec", PER_SECOND, "Bytes of the log that were written."),
            ("Log Flush Wait Time", LEVEL, "Milliseconds that commits waited for the log."),
            ("Percent Log Used", LEVEL, "How full the log is."),
            ("Data File(s) Size (KB)", LEVEL, "Size of the data files."),
        ],
    ),
];
