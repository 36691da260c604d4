//! The counters that are shown when nobody names any.

/// Counters of the first chart: one line each for processor, memory, disk and network.
pub(crate) const CHART: &[&str] = &[
    r"\Processor(_Total)\% Processor Time",
    r"\Memory\Available MBytes",
    r"\PhysicalDisk(_Total)\Disk Bytes/sec",
    r"\Network Interface(*)\Bytes Total/sec",
];

/// Counters of the report: processor, memory, disks and network at a glance.
pub(crate) const REPORT: &[&str] = &[
    r"\Processor(_Total)\% Processor Time",
    r"\Processor(_Total)\% User Time",
    r"\Processor(_Total)\% Privileged Time",
    r"\System\Processor Queue Length",
    r"\System\Context Switches/sec",
    r"\System\Processes",
    r"\System\Threads",
    r"\System\System Up Time",
    r"\Memory\Available MBytes",
    r"\Memory\% Committed Bytes In Use",
    r"\Memory\Page Faults/sec",
    r"\Memory\Pages/sec",
    r"\PhysicalDisk(*)\Disk Read Bytes/sec",
    r"\PhysicalDisk(*)\Disk Write Bytes/sec",
    r"\PhysicalDisk(*)\Avg. Disk sec/Transfer",
    r"\LogicalDisk(*)\% Free Space",
    r"\Network Interface(*)\Bytes Received/sec",
    r"\Network Interface(*)\Bytes Sent/sec",
    r"\TCPv4\Connections Established",
    r"\TCPv4\Segments Retransmitted/sec",
];
