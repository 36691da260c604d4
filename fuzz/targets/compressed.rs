//! Any bytes as a compressed file: some are unpacked, within the limit.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tallymon_log::unpacked_length;

/// The most bytes that are unpacked, and the most at a time.
const MOST: u64 = 1 << 20;
const STEP: u64 = 1 << 16;

fuzz_target!(|data: &[u8]| {
    assert!(unpacked_length(data, MOST) < MOST + STEP);
});
