//! Takes the numbers of whole parts of a log from what the log says of itself, instead of its records.
//!
//! The result is that of reading everything, to the last bit, if the log is not damaged. If the numbers of a
//! part are taken, its rows that were lost after the log was sealed count too, and that damage is not said.
//!
//! Some parts are read all the same: the first one; those that are only partly in the range, and the one
//! behind them, whose first rates would be over a record outside; and those with values of a counter that has
//! so few of them that its percentiles are exact.

use crate::clock::TimeRange;
use crate::error::{LogError, LogErrorKind};
use crate::reader::{Column, Contents, ContentsPart, LogReader};
use crate::select::PathMatcher;

use super::Stats;
use super::workers::Workers;

/// What is done with the parts of a log.
pub(super) struct Plan {
    pub(super) contents: Contents,
    range: TimeRange,
    /// Decided when the first part was read.
    actions: Option<Vec<PartAction>>,
    /// Columns with exact percentiles.
    few: Vec<usize>,
    /// Some records were passed over, so not all were seen.
    pub(super) has_skipped: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PartAction {
    Read,
    /// Its numbers are taken.
    Take,
    /// No record of it is in the range.
    Pass,
}

/// A counter whose statistics are asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChosenColumn {
    /// Its column in the log that is read.
    pub(super) position: usize,
    /// How many values it may have for exact percentiles.
    pub(super) exact_values: usize,
}

impl Plan {
    pub(super) fn of(log: &mut dyn LogReader, range: TimeRange) -> Result<Option<Plan>, LogError> {
        let plan = |contents| Plan { contents, range, actions: None, few: Vec::new(), has_skipped: false };
        Ok(log.contents(false)?.map(plan))
    }

    /// If a part begins behind these records: passes over all parts that need not be read, and returns the
    /// number of records before the next one.
    pub(super) fn skip(
        &mut self,
        passed: u64,
        log: &mut dyn LogReader,
        kept: &[ChosenColumn],
        later: impl FnOnce() -> PathMatcher,
        workers: &mut Workers<'_, '_>,
        stats: &mut Stats,
    ) -> Result<u64, LogError> {
        let parts = &self.contents.parts;
        let Ok(first) = parts.binary_search_by_key(&passed, |part| part.place.count) else {
            return Ok(passed);
        };
        if first == 0 {
            return Ok(passed);
        }
        if self.actions.is_none() {
            self.decide(first, log, kept, later())?;
        }
        let actions = self.actions.as_deref().unwrap_or_default();
        let (Some(action), Some(part)) = (actions.get(first), self.contents.parts.get(first)) else {
            return Ok(passed);
        };
        // The reader is at this part. Its numbers are taken only if the reader can move on behind it.
        if *action == PartAction::Read || !log.seek_to(part.place.position)? {
            return Ok(passed);
        }
        let mut next = first;
        for (nth, (action, part)) in actions.iter().zip(&self.contents.parts).enumerate().skip(first) {
            let goes_on = match action {
                PartAction::Read => false,
                PartAction::Pass => true,
                PartAction::Take => self.take(nth, part, log, kept, workers, stats)?,
            };
            if !goes_on {
                break;
            }
            next = nth.saturating_add(1);
        }
        if next == first {
            return Ok(passed);
        }
        let end = (self.contents.records, self.contents.end);
        let (count, position) =
            self.contents.parts.get(next).map_or(end, |part| (part.place.count, part.place.position));
        if !log.seek_to(position)? {
            let words = format!(
                "its reader can move to byte {} and not to byte {}; read a copy that 'tally relog' writes",
                part.place.position.byte, position.byte
            );
            return Err(LogError::new(LogErrorKind::Unusable(words)));
        }
        self.has_skipped = true;
        Ok(count)
    }

    /// Takes the numbers of a part; `false` if it has to be read.
    fn take(
        &self,
        nth: usize,
        part: &ContentsPart,
        log: &mut dyn LogReader,
        kept: &[ChosenColumn],
        workers: &mut Workers<'_, '_>,
        stats: &mut Stats,
    ) -> Result<bool, LogError> {
        let wanted: Vec<usize> = kept.iter().map(|kept| kept.position).collect();
        let Some(mut found) = log.statistics(nth, &wanted, false)? else { return Ok(false) };
        let has = |few: &usize| found.columns.get(few).is_some_and(|(part, _)| part.count > 0);
        if self.few.iter().any(has) {
            return Ok(false);
        }
        workers.part(&mut |position| found.columns.remove(&position));
        stats.records = stats.records.saturating_add(part.records);
        stats.last = Some(part.last);
        Ok(true)
    }

    /// Decides what is done with each part, when those before `first` were read.
    fn decide(
        &mut self,
        first: usize,
        log: &mut dyn LogReader,
        kept: &[ChosenColumn],
        mut later: PathMatcher,
    ) -> Result<(), LogError> {
        let Contents { parts, columns, growth, .. } = &self.contents;
        let begin = parts.get(first).map_or(0, |part| part.place.count);
        let known = growth.iter().rev().find(|(record, _)| *record < begin).map_or(0, |(_, known)| *known);
        let new: &[Column] = columns.get(known..).unwrap_or_default();
        let mut actions = vec![PartAction::Read; parts.len()];
        // A wanted column appears later: read all parts.
        if !new.iter().any(|column| later.keep(column)) {
            let range = self.range;
            let is_inside = |part: &ContentsPart| range.has(part.least) && range.has(part.place.most);
            let mut before = parts.first().is_some_and(is_inside);
            let mut is_begun = parts.iter().take(first).any(|part| range.meets(part.least, part.place.most));
            for (nth, (part, action)) in parts.iter().zip(&mut actions).enumerate().skip(1) {
                let inside = is_inside(part);
                if !range.meets(part.least, part.place.most) {
                    // The place of a column depends on those before it.
                    *action = if is_begun || new.is_empty() { PartAction::Pass } else { PartAction::Read };
                } else {
                    is_begun = true;
                    if nth >= first && inside && before && part.has_statistics {
                        *action = PartAction::Take;
                    }
                }
                before = inside;
            }
        }
        let wanted: Vec<usize> = kept.iter().map(|kept| kept.position).collect();
        let mut totals = vec![0u64; kept.len()];
        for (nth, action) in actions.iter_mut().enumerate().filter(|(_, action)| **action == PartAction::Take)
        {
            let Some(found) = log.statistics(nth, &wanted, true)? else {
                *action = PartAction::Read;
                continue;
            };
            for (total, position) in totals.iter_mut().zip(&wanted) {
                let count = found.columns.get(position).map_or(0, |(part, _)| part.count);
                *total = total.saturating_add(count);
            }
        }
        let is_few = |(kept, total): &(&ChosenColumn, &u64)| **total <= kept.exact_values as u64;
        self.few = kept.iter().zip(&totals).filter(is_few).map(|(kept, _)| kept.position).collect();
        self.actions = Some(actions);
        Ok(())
    }
}
