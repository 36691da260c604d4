//! Log files: opening and reading them on threads, and the state of the log that is shown.

pub(crate) mod columns;
pub(crate) mod comparison;
pub(crate) mod counters;
pub(crate) mod hosts;
pub(crate) mod names;
pub(crate) mod opening;
pub(crate) mod provider_times;
pub(crate) mod replay;
