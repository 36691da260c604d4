//! The words that the task program and this process share, and what the program is given.

/// [`TaskParts`](super::task_record::TaskParts), set by the user.
pub(super) const ASKED: u32 = 0;
/// How many records were written; set to 0 by the user.
pub(super) const COUNT: u32 = 8;
/// The process to begin with, set by the user, 0 for the first; set to 0 when it was found.
pub(super) const BEGIN: u32 = 16;
/// The process that found no place, 0 when all did; set to 0 by the user.
pub(super) const REST: u32 = 24;
/// Where the value of each processor is, see [`areas`](super::task_program::areas); 0 of one that is not
/// there.
pub(super) const AREAS: u32 = 32;
/// How many processors have a place there.
pub(super) const PROCESSORS: u32 = 64;
/// 1 when the same was asked for last time, and every record of then was taken; set by the user.
pub(super) const SAME: u32 = 544;
/// 1 while a task is written that has not run since its record was; for the program itself.
pub(super) const RESTED: u32 = 552;
/// How many words there are.
pub(super) const WORDS: usize = 70;
/// Bytes of them.
pub(super) const SIZE: u32 = 560;

/// The maps of a program, as descriptors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Maps {
    pub(super) control: i32,
    pub(super) records: i32,
}

/// Our pid namespace, when it is not the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Namespace {
    /// How many namespaces it is within.
    pub(super) level: u32,
    /// Its number.
    pub(super) inode: u32,
}
