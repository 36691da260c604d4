//! Any bytes as an archive of Performance Co-Pilot: descriptions, and behind them a volume of values.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tallymon_log::{Cooker, open_pcp};

fuzz_target!(|data: &[u8]| {
    // The first two bytes say where the volume begins.
    let [low, high, data @ ..] = data else { return };
    let middle = usize::from(u16::from_le_bytes([*low, *high])).min(data.len());
    let (metadata, values) = data.split_at(middle);
    let volumes = [values];
    let Ok(mut log) = open_pcp(metadata, &volumes) else { return };
    let mut cooker = Cooker::default();
    while let Ok(Some(record)) = log.next_record() {
        for value in cooker.cook(&record).into_iter().flatten() {
            assert!(value.as_f64().is_none_or(f64::is_finite));
        }
    }
});
