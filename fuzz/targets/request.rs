//! Any text as a query string: its meaning does not change when it is printed and parsed again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tallymon_core::request::Request;

fuzz_target!(|text: &str| {
    let request = Request::parse(text);
    assert_eq!(Request::parse(&request.to_string()), request);
});
