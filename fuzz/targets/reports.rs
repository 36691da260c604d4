//! Any bytes as text of another collector: reports of vmstat, iostat, mpstat, pidstat, sar, atop and
//! collectl, perf, files of nmon, and samples of Prometheus. An error, or records whose values can all be computed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tallymon_log::{Cooker, Format, ReadOptions, read_bytes};

fuzz_target!(|data: &[u8]| {
    let format = Format::detect(data);
    let is_text = matches!(
        format,
        Some(
            Format::Vmstat
                | Format::SysstatText
                | Format::Nmon
                | Format::Atop
                | Format::Collectl
                | Format::Perf
                | Format::OpenMetrics
        )
    );
    if !is_text {
        return;
    }
    let Ok(mut log) = read_bytes(data, &ReadOptions::default()) else { return };
    let mut cooker = Cooker::default();
    while let Ok(Some(record)) = log.next_record() {
        for value in cooker.cook(&record).into_iter().flatten() {
            assert!(value.as_f64().is_none_or(f64::is_finite));
        }
    }
});
