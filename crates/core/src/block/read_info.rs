//! What is known of an object beside its bytes: when it was read, and how fine its counts are.

use alloc::sync::Arc;

use crate::time::FileTime;
use crate::title::TitleIndex;

/// From when to when the values of an object were read, UTC on the clock that does not jump. Each value is of some time in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReadWindow {
    /// Before the first read.
    pub begin: FileTime,
    /// Behind the last one.
    pub end: FileTime,
}

impl ReadWindow {
    /// Its middle, the time that an object stands for.
    pub const fn middle(&self) -> FileTime {
        FileTime(self.begin.0.saturating_add(self.end.0.saturating_sub(self.begin.0) / 2))
    }
}

/// What travels beside the bytes of an object, from the one who read it to the one who looks at it in the same process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadInfo {
    /// The object.
    pub object: TitleIndex,
    /// When it was read.
    pub window: ReadWindow,
    /// By the position of a counter, the steps in which its raw value grows, such as 512 for bytes that are counted in
    /// sectors; 1 behind the end.
    pub quanta: Arc<[u64]>,
    /// By the position of a counter, whether `_Total` is the mean of the other instances; false, their sum, behind the end.
    pub means: Arc<[bool]>,
}
