//! Text reports with times: `vmstat -t`, `iostat -t`, `mpstat`, `pidstat -h`, `sar`, `collectl -P`,
//! `perf stat -I`, and the files of nmon.
//!
//! These programs print computed values, so every counter is a `PERF_DOUBLE_RAW`.

mod by_table;
mod collectl;
mod nmon;
mod perf;
mod reports;
mod tables;
pub(crate) mod times;
mod vmstat;

pub(crate) use collectl::{CollectlDecoder, is_collectl};
pub(crate) use nmon::NmonDecoder;
pub(crate) use perf::{PerfDecoder, is_perf};
pub(crate) use reports::ReportDecoder;
#[cfg(test)]
pub(crate) use tables::tables;
pub(crate) use vmstat::VmstatDecoder;

/// Whether a file begins as a report of `vmstat`.
pub(crate) fn is_vmstat(head: &[u8]) -> bool {
    head.trim_ascii_start().starts_with(b"procs -")
}

/// Whether a file begins as a report of sysstat's programs: `Linux RELEASE (HOST)`.
pub(crate) fn is_report(head: &[u8]) -> bool {
    let line = head.trim_ascii_start().split(|byte| *byte == b'\n').next().unwrap_or_default();
    // A copy that was on Windows has other line ends.
    let line = line.trim_ascii_end();
    let words = line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty());
    let [system, _, host, ..] = words.collect::<Vec<_>>()[..] else { return false };
    system == b"Linux" && host.starts_with(b"(") && line.ends_with(b")")
}

/// Whether a file begins as one of nmon.
pub(crate) fn is_nmon(head: &[u8]) -> bool {
    head.starts_with(b"AAA,progname,") || head.starts_with(b"AAA,\"")
}
