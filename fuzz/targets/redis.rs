//! Any bytes as what a server of Redis answers on one connection: to the password, and to each question.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tallymon_bridge::{Kind, read_recorded};

fuzz_target!(|data: &[u8]| {
    let series = read_recorded(Kind::Redis, data);
    assert!(series.is_some_and(|series| series <= 100_000));
});
