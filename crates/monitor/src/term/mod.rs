//! The terminal and what is drawn in it, without knowledge of what the monitor shows.

pub mod chart;
pub(crate) mod frame;
pub(crate) mod input;
#[cfg(not(unix))]
#[path = "job_other.rs"]
pub(crate) mod job;
#[cfg(unix)]
#[path = "job_unix.rs"]
pub(crate) mod job;
pub(crate) mod list;
pub(crate) mod pages;
pub(crate) mod task;
pub(crate) mod terminal;
pub(crate) mod text;
pub(crate) mod theme;
