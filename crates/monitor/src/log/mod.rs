//! Log files: opened and read on threads of their own, and found by their names.

pub(crate) mod columns;
pub(crate) mod names;
pub(crate) mod opening;
