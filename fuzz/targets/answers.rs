//! Any bytes as the answer of a print server: an error, or attributes that lie within the bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tallymon_linux::internals::{body, ipp};

fuzz_target!(|bytes: &[u8]| {
    // As an HTTP body, chunked or not, and as they are.
    let within = body(bytes).unwrap_or_else(|_| bytes.to_vec());
    assert!(within.len() <= bytes.len());
    let Ok(answer) = ipp::decode(&within) else { return };
    for group in &answer.groups {
        for name in ["job-id", "job-state", ""] {
            let _ = group.number(name);
            assert!(group.texts(name).map(<[u8]>::len).sum::<usize>() <= within.len());
        }
    }
});
