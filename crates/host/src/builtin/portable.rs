//! What the standard library says of a system.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use tallymon_core::time::{FileTime, Frequency, PerfTime};
use tallymon_core::title::TitleIndex;
use tallymon_provider::process::Processes;

use super::Clocks;

pub(crate) fn system_name() -> String {
    std::env::var("COMPUTERNAME").or_else(|_| std::env::var("HOSTNAME")).unwrap_or_default()
}

/// Values of providers come from wherever these read them.
pub(crate) fn origin(_: TitleIndex, _: TitleIndex) -> Option<String> {
    None
}

pub(crate) fn processes() -> Option<Arc<dyn Processes>> {
    None
}

/// What Windows sets for every program: family and model.
pub(crate) fn processor_name() -> Option<String> {
    std::env::var("PROCESSOR_IDENTIFIER").ok()
}

/// Not known.
pub(crate) fn interface_addresses() -> HashMap<String, Vec<String>> {
    HashMap::new()
}

pub(crate) fn clocks() -> Clocks {
    static START: std::sync::OnceLock<(Instant, FileTime)> = std::sync::OnceLock::new();
    let nanoseconds =
        |duration: std::time::Duration| i128::try_from(duration.as_nanos()).unwrap_or(i128::MAX);
    let civil = SystemTime::now().duration_since(UNIX_EPOCH).map(nanoseconds).unwrap_or_default();
    let civil = FileTime::from_unix_nanoseconds(civil).unwrap_or_default();
    let (start, first) = START.get_or_init(|| (Instant::now(), civil));
    let ticks = u64::try_from(start.elapsed().as_nanos() / 100).unwrap_or(u64::MAX);
    Clocks {
        perf_time: PerfTime(i64::try_from(ticks).unwrap_or(i64::MAX)),
        perf_freq: Frequency(10_000_000),
        time_100ns: FileTime(first.0.saturating_add(ticks)),
        system_time: civil,
    }
}
