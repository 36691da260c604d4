//! Any bytes as an event stream of the .NET runtime: events, then an error or the end.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tallymon_dotnet::events::meaning;
use tallymon_dotnet::nettrace::Trace;

fuzz_target!(|data: &[u8]| {
    let Ok(mut trace) = Trace::new(data) else { return };
    let mut events = 0;
    while let Ok(true) = trace.next(&mut |event| {
        events += 1;
        let _ = (meaning(event), event.values());
    }) {}
    // A compressed event takes at least two bytes.
    assert!(events <= data.len() / 2);
});
