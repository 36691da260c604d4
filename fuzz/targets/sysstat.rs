//! Any bytes as a binary file of sysstat: an error, or records whose values can all be computed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tallymon_log::{Cooker, Format, ReadOptions, read_bytes};

fuzz_target!(|data: &[u8]| {
    if Format::detect(data) != Some(Format::Sysstat) {
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
