//! The log that is shown instead of live samples: which part is in memory, and what is being read.

use std::time::Instant;

use tallymon::Log;
use tallymon::core::time::FileTime;

use crate::log::columns::Loading;
use crate::log::hosts::OtherHost;
use crate::log::provider_times::ProviderTimes;
use crate::model::TopGroup;

/// The log that is shown.
pub(crate) struct Replay {
    pub(crate) log: Log,
    /// Its hosts after the first.
    pub(crate) others: Vec<OtherHost>,
    /// The log plays: the cursor moves by a record each interval.
    pub(crate) plays: bool,
    /// The first time in memory, when the log is longer than the memory.
    pub(crate) from: FileTime,
    /// The log continues after the records in memory.
    pub(crate) is_cut: bool,
    /// Some columns were not read to the end.
    pub(crate) is_partial: bool,
    /// The columns that are being read.
    pub(crate) loading: Option<Loading>,
    /// The time to show as soon as it has arrived.
    pub(crate) goal: Option<Goal>,
    /// The top contributors of a row and a host, read once.
    pub(crate) top: Option<((u64, usize), Vec<TopGroup>)>,
    /// How long the collections of the providers of its hosts took, read once.
    pub(crate) provider_times: ProviderTimes,
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
            provider_times: ProviderTimes::default(),
        }
    }
}

/// A time to show that has not arrived yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Goal {
    pub(crate) time: FileTime,
    pub(crate) since: Instant,
    /// Reading began a little before it.
    pub(crate) is_near: bool,
    pub(crate) at: GoalPosition,
}

/// Where in the chart to show a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GoalPosition {
    /// In the middle, under the cursor.
    Cursor,
    /// The record before it, in the middle.
    Before,
    /// At the right end of the chart.
    End,
    /// At the right end of the chart, whose left end is this time.
    EndFrom(FileTime),
}

impl Replay {
    /// Average time between two records.
    pub(crate) fn step(&self) -> u64 {
        let summary = self.log.summary();
        let span = summary.last.0.saturating_sub(summary.first.0);
        span.checked_div(summary.records.saturating_sub(1)).unwrap_or(0)
    }
}

impl Replay {
    /// Drops the staged rows and keeps the shown ones; whether there were any.
    pub(crate) fn drop_staged(&mut self) -> bool {
        let Some(staged) = self.loading.as_mut().and_then(|loading| loading.staged.take()) else {
            return false;
        };
        (self.from, self.is_cut) = staged.before;
        self.loading = None;
        true
    }
}
