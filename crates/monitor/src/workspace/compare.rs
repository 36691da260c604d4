//! Compares with another log, as Performance Monitor does: draws the same counters of both from their
//! beginnings on.

use std::sync::Weak;

use tallymon::core::time::{FileTime, UNITS_PER_SECOND};
use tallymon::{Log, LogRow};

use crate::log::columns::{Loading, Span};
use crate::log::comparison::{Comparison, columns_of};
use crate::log::names;
use crate::log::opening::Opening;
use crate::model::{Compared, POINT_BYTES, format};
use crate::workspace::state::Workspace;

impl Workspace {
    /// Starts to open a log to compare with; an empty name ends the comparison.
    pub(crate) fn compare_with(&mut self, name: &str) {
        self.comparison = None;
        if name.is_empty() {
            return;
        }
        match Opening::begin(&names::files(name), &self.options.reading) {
            Ok(mut opening) => {
                opening.is_compared = true;
                self.opening = Some(opening);
            }
            Err(error) => self.message = Some(error.to_string()),
        }
    }

    /// Draws a log over what is shown.
    pub(crate) fn compare(&mut self, log: Log) {
        let ours = match &self.replay {
            Some(replay) => Some(replay.log.summary().first),
            None => self.monitor.time(self.monitor.rows().start),
        };
        let theirs = log.summary().first;
        let compared = Compared::new(theirs, ours.unwrap_or(theirs));
        self.comparison = Some(Comparison { log, compared, loading: None });
        self.compare_again();
    }

    /// Starts to read the charted counters from the other log.
    pub(crate) fn compare_again(&mut self) {
        let Some(comparison) = &mut self.comparison else { return };
        comparison.loading = None;
        let series = self.monitor.series();
        let paths: Vec<String> = series.iter().map(|series| series.path.clone()).collect();
        let (paths, columns) = match columns_of(&comparison.log, &self.query, &paths) {
            Ok(found) => found.into_iter().unzip::<String, usize, Vec<_>, Vec<_>>(),
            Err(error) => return self.message = Some(error.to_string()),
        };
        comparison.compared.begin(&paths);
        let summary = comparison.log.summary();
        let row = columns.len().saturating_add(1).saturating_mul(POINT_BYTES);
        // A list grows by doubling: half of its memory may be unused.
        let most = (self.options.budget / 2).checked_div(row).unwrap_or(0).max(1);
        let span = Span { from: FileTime(0), most, times: (summary.first, summary.last) };
        let log = comparison.log.clone();
        let read = move |wanted: &Weak<()>, each: &mut dyn FnMut(FileTime, LogRow<'_>) -> bool| {
            log.read_from(&columns, FileTime(0), || wanted.strong_count() > 0, each)
        };
        match Loading::begin(span, Vec::new(), read) {
            Ok(loading) => comparison.loading = Some(loading),
            Err(error) => self.message = Some(error.to_string()),
        }
    }

    /// The values of the other log, and the name of its host; the name of its file where both have the same
    /// host.
    pub(crate) fn compared(&self) -> Option<(&Compared, String)> {
        let Comparison { log, compared, .. } = self.comparison.as_ref()?;
        let host = log.host();
        let is_known = host.is_empty() || self.hosts().iter().any(|known| known.eq_ignore_ascii_case(host));
        let file = || log.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Some((compared, if is_known { file() } else { host.to_string() }))
    }

    /// Moves the other log by some of its rows.
    pub(crate) fn move_compared(&mut self, rows: i64) {
        let Some(comparison) = &mut self.comparison else { return };
        let summary = comparison.log.summary();
        let span = summary.last.0.saturating_sub(summary.first.0);
        let row = span.checked_div(summary.records.saturating_sub(1)).unwrap_or(UNITS_PER_SECOND);
        comparison.compared.shift(i64::try_from(row).unwrap_or(i64::MAX).saturating_mul(rows));
    }

    /// The name of the other log and how far it was moved, for the title.
    pub(crate) fn compared_title(&self) -> Option<String> {
        let comparison = self.comparison.as_ref()?;
        let name = names::title(&comparison.log);
        let moved = comparison.compared.moved();
        let distance = format::duration(FileTime(0), FileTime(moved.unsigned_abs()));
        Some(match moved {
            0 => name,
            1.. => format!("{name} +{distance}"),
            _ => format!("{name} -{distance}"),
        })
    }
}
