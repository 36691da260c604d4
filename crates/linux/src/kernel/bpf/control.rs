//! The control words that the task program shares with this process.

/// The requested [`TaskParts`](super::task_record::TaskParts); input.
pub(super) const PARTS: u32 = 0;
/// How many records were written; reset to 0 before a run.
pub(super) const COUNT: u32 = 8;
/// The process to begin with, 0 for the first; the program sets it to 0 when it finds that process.
pub(super) const BEGIN: u32 = 16;
/// The process for which no record was left, 0 if all had one; reset to 0 before a run.
pub(super) const UNFINISHED: u32 = 24;
/// The address of the map value of each CPU, see [`areas`](super::task_program::areas); 0 for CPUs that do
/// not exist.
pub(super) const AREAS: u32 = 32;
/// For how many CPUs there is room.
pub(super) const PROCESSORS: u32 = 64;
/// 1 if the last run had the same request, and each of its records was used; input.
pub(super) const SAME: u32 = 544;
/// 1 while the record of a task is written that has not run since the last record; used by the program only.
pub(super) const IDLE: u32 = 552;
/// The number of words.
pub(super) const WORDS: usize = 70;
/// Their size in bytes.
pub(super) const SIZE: u32 = 560;

/// The maps of a program, by their descriptors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Maps {
    pub(super) control: i32,
    pub(super) records: i32,
}

/// Our pid namespace, when it is not the initial one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Namespace {
    /// How deep it is nested.
    pub(super) level: u32,
    /// Its inode number.
    pub(super) inode: u32,
}
