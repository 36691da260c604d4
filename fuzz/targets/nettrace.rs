//! Any bytes as an event stream of the .NET runtime: events, requests, then an error or the end.
#![no_main]

use std::sync::Mutex;

use libfuzzer_sys::fuzz_target;
use tallymon_dotnet::events::meaning;
use tallymon_dotnet::nettrace::Trace;
use tallymon_dotnet::requests::Requests;

fuzz_target!(|data: &[u8]| {
    let _ = Requests::read(data, &Mutex::default());
    let Ok(mut trace) = Trace::new(data) else { return };
    let mut events = 0;
    while let Ok(true) = trace.next(&mut |event| {
        events += 1;
        let _ = (meaning(event), event.values());
    }) {}
    // A compressed event takes at least two bytes.
    assert!(events <= data.len() / 2);
});
