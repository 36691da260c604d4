//! The log that is shown instead of samples: what of it is in memory, what is being read, and where it plays.

use std::time::Instant;

use tallymon::Log;
use tallymon::core::time::FileTime;

use crate::log::columns::Loading;
use crate::log::hosts::OtherHost;
use crate::model::TopGroup;

/// The log that is shown.
pub(crate) struct Replay {
    pub(crate) log: Log,
    /// Its hosts beside the first.
    pub(crate) others: Vec<OtherHost>,
    /// The cursor goes on by a record with each interval.
    pub(crate) plays: bool,
    /// The first time that is in memory, when the log is longer than the memory allows.
    pub(crate) from: FileTime,
    /// Records in memory end before the last of the log.
    pub(crate) is_cut: bool,
    /// Some columns were not read to the end.
    pub(crate) is_partial: bool,
    /// The columns that are being read.
    pub(crate) loading: Option<Loading>,
    /// The time that is to be shown as soon as it is there.
    pub(crate) goal: Option<Goal>,
    /// Who made the values at a row, on a host; asked for once.
    pub(crate) top: Option<((u64, usize), Vec<TopGroup>)>,
}

impl Replay {
    pub(crate) fn new(log: Log) -> Replay {
        Replay {
            log,
            others: Vec::new(),
            plays: false,
            from: FileTime(0),
            is_cut: false,
            is_partial: false,
            loading: None,
            goal: None,
            top: None,
        }
    }
}

/// A time that somebody wants to see and that is not there yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Goal {
    pub(crate) time: FileTime,
    pub(crate) since: Instant,
    /// Reading began a little before it.
    pub(crate) is_near: bool,
    pub(crate) at: GoalPosition,
}

/// Where a time is to be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GoalPosition {
    /// In the middle, under the cursor.
    Cursor,
    /// The record before it, in the middle.
    Before,
    /// At the right end of the chart.
    End,
}

impl Replay {
    /// Time between two records on average.
    pub(crate) fn step(&self) -> u64 {
        let summary = self.log.summary();
        let span = summary.last.0.saturating_sub(summary.first.0);
        span.checked_div(summary.records.saturating_sub(1)).unwrap_or(0)
    }
}

impl Replay {
    /// What waits to be shown is no longer wanted: what was shown before is still there. Whether there was anything.
    pub(crate) fn drop_staged(&mut self) -> bool {
        let Some(staged) = self.loading.as_mut().and_then(|loading| loading.staged.take()) else {
            return false;
        };
        (self.from, self.is_cut) = staged.before;
        self.loading = None;
        true
    }
}
