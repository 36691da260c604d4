//! Capabilities of Linux that give `tally` more to read.

/// Name, number (the bit in `/proc/self/status`), and what it is for.
pub(super) const CAPABILITIES: [(&str, u32, &str); 3] = [
    ("cap_bpf", 39, "reads processes and threads in the kernel, at a fraction of the cost"),
    ("cap_perfmon", 38, "reads the performance counters of processors"),
    ("cap_sys_ptrace", 19, "reads the files, memory and disk use of other users' processes"),
];
