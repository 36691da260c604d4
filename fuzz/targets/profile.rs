//! Any bytes as a .NET profile file: an error, or a profile that can be exported in every format.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tallymon_clr::export::{self, TreeOptions, Weight};
use tallymon_clr::reader::Profile;

fuzz_target!(|data: &[u8]| {
    let Ok(profile) = Profile::from_bytes(data) else { return };
    // Every call takes at least this many bytes.
    assert!(profile.calls.len() <= data.len() / 256);
    profile.method_totals();
    for call in &profile.calls {
        assert!(call.corrected_own <= call.own && call.own <= call.total);
        call.percentile(0.99);
    }
    let mut out = std::io::sink();
    let made = [
        export::summary(&profile, &mut out),
        export::tree(&profile, &TreeOptions::default(), &mut out),
        export::collapsed(&profile, Weight::Time, &mut out),
        export::speedscope(&profile, &mut out),
        export::callgrind(&profile, &mut out),
        export::chrome(&profile, &mut out),
        export::firefox(&profile, &mut out),
        export::pprof(&profile, &mut out),
        export::html(&profile, &mut out),
        export::diff(&profile, &profile, 10, &mut out),
    ];
    assert!(made.iter().all(Result::is_ok));
});
