//! Log files: opened and read on threads of their own, and what is known of the one that is shown.

pub(crate) mod columns;
pub(crate) mod comparison;
pub(crate) mod counters;
pub(crate) mod hosts;
pub(crate) mod names;
pub(crate) mod opening;
pub(crate) mod replay;
