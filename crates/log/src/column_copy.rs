//! Inputs of a copy that are copied by columns, not by records.

use std::path::Path;

use tallymon_core::time::FileTime;

use crate::clock::TimeRange;
use crate::error::Notes;

/// An input that is copied by columns, not by records.
#[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "only a lake takes columns"))]
pub(crate) struct ColumnCopyRequest<'p> {
    pub(crate) path: &'p Path,
    pub(crate) range: TimeRange,
    /// The column of the output for each one of the input.
    pub(crate) targets: Vec<Option<usize>>,
}

/// What was copied of an input.
#[derive(Debug, Default)]
pub(crate) struct Copied {
    /// The faults of the input.
    pub(crate) notes: Notes,
    /// Records that were read.
    pub(crate) read: u64,
    /// Records in the range.
    pub(crate) kept: u64,
    /// The time of the first of them, with its minutes for the local time, and of the last one.
    pub(crate) first: Option<(FileTime, i32)>,
    pub(crate) last: Option<FileTime>,
}

impl ColumnCopyRequest<'_> {
    /// The column of the output that has a column of the input.
    #[cfg(feature = "parquet")]
    pub(crate) fn target(&self, column: usize) -> Option<usize> {
        self.targets.get(column).copied().flatten()
    }
}
