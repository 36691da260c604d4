//! Any bytes as a packet of StatsD and DogStatsD.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    // A value has a byte at least.
    assert!(tallymon_receive::read_statsd(data) <= data.len() as u64);
});
