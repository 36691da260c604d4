//! Any bytes as a request of OTLP: as JSON if they begin with a brace, else as Protocol Buffers. They go into
//! series, too, so that buckets are placed.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let is_json = data.first() == Some(&b'{');
    let taken = tallymon_receive::read_otlp(data, is_json);
    // A point has two bytes at least.
    assert!(taken <= data.len() as u64 / 2);
});
