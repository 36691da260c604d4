//! Any bytes as a message of a library's process, and as the output of its Collect: objects that are accepted
//! can be walked to their end.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tallymon_core::block::Objects;
use tallymon_provider::library::check::{ERROR_SUCCESS, Returned, Rules, check};
use tallymon_provider::library::protocol::{Answer, Request};

fuzz_target!(|bytes: &[u8]| {
    if let Ok((number, request)) = Request::from_bytes(bytes) {
        assert_eq!(Request::from_bytes(&request.to_bytes(number)), Ok((number, request)));
    }
    // The numbers of the message if it is valid, else numbers that pass as many checks as possible.
    let mut returned =
        Returned { status: ERROR_SUCCESS, objects: 1, capacity: u32::MAX, ..Returned::default() };
    let mut data = bytes;
    if let Ok((number, answer)) = Answer::from_bytes(bytes.get(..56).unwrap_or(bytes)) {
        assert_eq!(Answer::from_bytes(&answer.to_bytes(number)), Ok((number, answer.clone())));
        if let Answer::Collected { returned: own, .. } = answer {
            (returned, data) = (own, bytes.get(56..).unwrap_or_default());
        }
    } else if let [objects, rest @ ..] = bytes {
        let length = u32::try_from(rest.len()).unwrap_or(u32::MAX);
        (data, returned.objects) = (rest, u32::from(*objects));
        (returned.bytes, returned.moved) = (length, i64::from(length));
    }
    for rules in [Rules::default(), Rules { test_level: 4, flags: 0 }] {
        let verdict = check(&returned, data, "library", "service", rules);
        let walked = Objects::bare(data, verdict.objects).filter(|object| {
            let object = object.as_ref().expect("it was checked");
            assert!(object.counters().all(|counter| counter.is_ok()));
            assert!(object.instances().all(|instance| instance.is_ok()));
            true
        });
        assert_eq!(walked.count(), verdict.objects as usize);
        verdict.events.iter().for_each(|event| assert!(event.to_string().len() < 4096));
    }
});
