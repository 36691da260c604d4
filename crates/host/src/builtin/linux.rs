//! The built-in objects of Linux.

use tallymon_core::flow::{SourceError, SourceErrorKind};
use tallymon_linux::System;
use tallymon_provider::Provider;

use super::Clocks;

pub(crate) fn providers() -> Result<Vec<Box<dyn Provider>>, SourceError> {
    let system = System::open().map_err(|error| {
        let words = format!("{error}; /proc must be mounted and readable");
        SourceError::new(SourceErrorKind::Io, words)
    })?;
    Ok(vec![Box::new(system)])
}

pub(crate) fn system_name() -> String {
    tallymon_linux::host_name()
}

pub(crate) fn clocks() -> Clocks {
    let now = tallymon_linux::clocks();
    Clocks {
        perf_time: now.perf_time,
        perf_freq: now.perf_freq,
        time_100ns: now.steady,
        system_time: now.civil,
    }
}
