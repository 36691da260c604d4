//! One rule on one instance: how long its condition held, and when.

use tallymon_core::time::FileTime;

use super::rule::Rule;

/// The ranges that a watch keeps; more are only counted.
const RANGES: usize = 100;

/// A stretch of time in which the condition of a rule held.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// Where the first interval in which it held begins: the time of the record before it.
    pub from: FileTime,
    /// The last record in which it held.
    pub to: FileTime,
    /// The time in which it held.
    pub seconds: f64,
    /// The worst value.
    pub worst: f64,
    /// The records in which it held.
    pub records: u64,
}

/// A rule on one instance.
#[derive(Debug, Clone)]
pub(super) struct Watch {
    /// The rule, by its number.
    pub(super) rule: usize,
    pub(super) host: String,
    pub(super) instance: String,
    /// The column of each of its counters.
    pub(super) columns: Vec<Option<usize>>,
    /// The last value of each counter of which the growth is used.
    before: Vec<Option<f64>>,
    open: Option<Range>,
    pub(super) ranges: Vec<Range>,
    pub(super) more_ranges: u64,
    /// The time in which the condition held in all ranges that lasted long enough.
    pub(super) seconds: f64,
    /// The time in which it was known whether the condition holds.
    pub(super) observed: f64,
    pub(super) worst: Option<f64>,
    /// Records in which the condition held, however short.
    pub(super) records: u64,
}

impl Watch {
    pub(super) fn new(rule: usize, host: &str, instance: &str, counters: usize) -> Watch {
        Watch {
            rule,
            host: host.to_owned(),
            instance: instance.to_owned(),
            columns: vec![None; counters],
            before: Vec::new(),
            open: None,
            ranges: Vec::new(),
            more_ranges: 0,
            seconds: 0.0,
            observed: 0.0,
            worst: None,
            records: 0,
        }
    }

    /// Says which column one of its counters is, unless it is known.
    pub(super) fn set_column(&mut self, slot: usize, column: usize) {
        if let Some(place) = self.columns.get_mut(slot) {
            place.get_or_insert(column);
        }
    }

    /// Takes the values of one record: those of its counters. `before` is the record before it, or the same
    /// time if none is near.
    pub(super) fn record(&mut self, rule: &Rule, before: FileTime, time: FileTime, values: &[Option<f64>]) {
        let began = match self.open {
            Some(_) => match &rule.until {
                Some(until) => until.holds(values).map(|ends| !ends),
                None => rule.when.holds(values),
            },
            None => rule.when.holds(values),
        };
        let Some(holds) = began else {
            return self.end(rule);
        };
        let seconds = seconds_between(before, time);
        self.observed += seconds;
        if !holds {
            return self.end(rule);
        }
        self.records = self.records.saturating_add(1);
        let value = rule.value.value(values).unwrap_or(0.0);
        let worse = |old: f64| if rule.low_is_bad { old.min(value) } else { old.max(value) };
        self.open = Some(match self.open {
            Some(open) => Range {
                to: time,
                seconds: open.seconds + seconds,
                worst: worse(open.worst),
                records: open.records.saturating_add(1),
                ..open
            },
            None => Range { from: before, to: time, seconds, worst: value, records: 1 },
        });
    }

    /// Makes the growth per second of the values of one record, for those counters of which the rule uses
    /// it. It is unknown after a gap, and where a count began anew.
    pub(super) fn growth(&mut self, rule: &Rule, seconds: f64, values: &mut [Option<f64>]) {
        self.before.resize(rule.growth.len(), None);
        for (slot, before) in rule.growth.iter().zip(&mut self.before) {
            let Some(place) = values.get_mut(*slot) else { continue };
            let previous = std::mem::replace(before, *place);
            *place = previous
                .zip(*place)
                .map(|(previous, now)| (now - previous) / seconds)
                .filter(|growth| *growth >= 0.0 && growth.is_finite());
        }
    }

    /// The condition holds for the whole log.
    pub(super) fn holds_always(&mut self, (from, to): (FileTime, FileTime), records: u64, worst: f64) {
        let seconds = seconds_between(from, to);
        (self.seconds, self.observed, self.records, self.worst) = (seconds, seconds, records, Some(worst));
        self.ranges.push(Range { from, to, seconds, worst, records });
    }

    /// Whether no range is open.
    pub(super) fn is_closed(&self) -> bool {
        self.open.is_none()
    }

    /// Ends the range that is open: the condition does not hold any more, or records are missing.
    pub(super) fn end(&mut self, rule: &Rule) {
        let Some(range) = self.open.take() else { return };
        if range.seconds < rule.lasting.as_secs_f64() {
            return;
        }
        self.seconds += range.seconds;
        let worse = |old: f64| if rule.low_is_bad { old.min(range.worst) } else { old.max(range.worst) };
        self.worst = Some(self.worst.map_or(range.worst, worse));
        if self.ranges.len() < RANGES {
            self.ranges.push(range);
        } else {
            self.more_ranges = self.more_ranges.saturating_add(1);
        }
    }

    /// Whether the rule found something.
    pub(super) fn has_found(&self) -> bool {
        !self.ranges.is_empty()
    }
}

/// The seconds between two times; 0 if the second is earlier.
pub(super) fn seconds_between(from: FileTime, to: FileTime) -> f64 {
    to.0.saturating_sub(from.0) as f64 / tallymon_core::time::UNITS_PER_SECOND as f64
}
