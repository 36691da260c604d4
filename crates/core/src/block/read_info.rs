//! What the bytes of an object do not say: when it was read, and the resolution of its counts.

use alloc::sync::Arc;

use crate::time::FileTime;
use crate::title::TitleIndex;

/// The period in which the values of an object were read, in UTC on a clock that does not jump. Each value
/// was read at some time in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReadWindow {
    /// Before the first read.
    pub begin: FileTime,
    /// After the last read.
    pub end: FileTime,
}

impl ReadWindow {
    /// The middle of the window, used as the time of the object.
    pub const fn middle(&self) -> FileTime {
        FileTime(self.begin.0.saturating_add(self.end.0.saturating_sub(self.begin.0) / 2))
    }
}

/// Facts about the reading of an object that travel beside its bytes, from its provider to readers in the
/// same process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadInfo {
    /// The object.
    pub object: TitleIndex,
    /// When its values were read.
    pub window: ReadWindow,
    /// By counter position: the quantum of the raw value, for example 512 for bytes counted in sectors. 1 for
    /// positions past the end.
    pub quanta: Arc<[u64]>,
    /// By counter position: true if `_Total` is the mean of the other instances. False, also past the end: it
    /// is their sum.
    pub means: Arc<[bool]>,
}
