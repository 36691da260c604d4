//! Any bytes as a Parquet file: an error, or records whose values can all be computed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tallymon_log::{Cooker, ReadOptions, read_bytes};

fuzz_target!(|data: &[u8]| {
    // The marks at both ends are given, so that every input comes as far as the footer.
    let log = [b"PAR1", data, b"PAR1"].concat();
    let Ok(mut log) = read_bytes(&log, &ReadOptions::default()) else { return };
    let mut cooker = Cooker::default();
    while let Ok(Some(record)) = log.next_record() {
        for value in cooker.cook(&record).into_iter().flatten() {
            assert!(value.as_f64().is_none_or(f64::is_finite));
        }
    }
});
