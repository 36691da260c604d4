//! Selects counters and times of a log.

use std::path::PathBuf;

use tallymon_core::path::{CounterPath, InstanceIndex, Part, Pattern};

use crate::clock::{LogClock, LogTime, Moment, TimeRange};
use crate::error::{LogError, LogErrorKind};
use crate::format::ReadOptions;
use crate::reader::Column;

/// Which counters and records of logs to read. The default is all of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// Paths and patterns of the counters; an empty list means all.
    pub counters: Vec<CounterPath>,
    /// Records at or after this time.
    pub from: Option<LogTime>,
    /// Records at or before this time.
    pub to: Option<LogTime>,
}

impl Selection {
    /// The range by the clock of a log.
    pub fn range(&self, clock: &LogClock) -> TimeRange {
        TimeRange {
            from: self.from.map(|time| clock.moment(time, Moment::First)),
            to: self.to.map(|time| clock.moment(time, Moment::Last)),
        }
    }

    /// The range by the clock of logs, which are read for it only if a bound is by that clock.
    ///
    /// # Errors
    ///
    /// As [`open`](crate::open).
    pub fn range_of(&self, paths: &[PathBuf], options: &ReadOptions) -> Result<TimeRange, LogError> {
        match self.fixed_range() {
            Some(range) => Ok(range),
            None => Ok(self.range(&LogClock::of(paths, options)?)),
        }
    }

    /// The range if it is the same for every log: no bound is by a log's own clock.
    fn fixed_range(&self) -> Option<TimeRange> {
        let is_fixed = |time: &Option<LogTime>| time.is_none_or(|time| matches!(time, LogTime::Utc(_)));
        (is_fixed(&self.from) && is_fixed(&self.to)).then(|| self.range(&LogClock::default()))
    }
}

/// Whether a path or pattern matches a counter. A path without a machine matches every machine.
pub fn is_meant(wanted: &CounterPath, counter: &CounterPath) -> bool {
    let part = |wanted: &Part, found: &Part| match (wanted, found) {
        (Part::Index(one), Part::Index(other)) => one == other,
        (wanted, found) => Pattern::new(&wanted.to_string()).matches(&found.to_string()),
    };
    let machine = match (&wanted.machine, &counter.machine) {
        (None, _) => true,
        (Some(wanted), Some(found)) => Pattern::new(wanted).matches(found),
        (Some(_), None) => false,
    };
    let instance = match (&wanted.instance, &counter.instance) {
        (None, None) => true,
        (Some(wanted), Some(found)) => {
            let index = match found.index() {
                InstanceIndex::At(index) => index,
                _ => 0,
            };
            let pattern = wanted.pattern();
            pattern.matches(None, found.text()) && pattern.matches_index(index)
        }
        _ => false,
    };
    machine && instance && part(&wanted.object, &counter.object) && part(&wanted.counter, &counter.counter)
}

/// Matches columns against paths, and remembers which paths matched.
#[derive(Debug)]
pub(crate) struct PathMatcher<'s> {
    wanted: &'s [CounterPath],
    found: Vec<bool>,
}

impl<'s> PathMatcher<'s> {
    pub(crate) fn new(selection: &'s Selection) -> PathMatcher<'s> {
        PathMatcher { wanted: &selection.counters, found: vec![false; selection.counters.len()] }
    }

    /// Whether a column is selected.
    pub(crate) fn keep(&mut self, column: &Column) -> bool {
        if self.wanted.is_empty() {
            return true;
        }
        let mut any = false;
        for (path, found) in self.wanted.iter().zip(&mut self.found) {
            if column.parts.as_ref().is_some_and(|parts| is_meant(path, parts)) {
                (*found, any) = (true, true);
            }
        }
        any
    }

    /// The paths that matched no column so far.
    pub(crate) fn not_found(&self) -> Vec<String> {
        let missed = self.wanted.iter().zip(&self.found).filter(|(_, found)| !**found);
        missed.map(|(path, _)| path.to_string()).collect()
    }
}

/// The error if none of the requested counters is in the log.
pub(crate) fn nothing_found(paths: &[String]) -> LogError {
    LogError::new(LogErrorKind::Request(format!("no counter of the log is meant by {}", paths.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_counters() {
        let path = |text: &str| text.parse::<CounterPath>().unwrap();
        let counter = path(r"\\SRV1\Process(svchost#1)\% Processor Time");
        for (wanted, meant) in [
            (r"\Process(svchost#1)\% Processor Time", true),
            (r"\\srv1\process(svchost#1)\% processor time", true),
            (r"\\srv2\process(svchost#1)\% processor time", false),
            (r"\Process(*)\*", true),
            (r"\Process(svc*)\% Processor Time", true),
            (r"\Process(svchost)\% Processor Time", false),
            (r"\Process(svchost#*)\% Processor Time", true),
            (r"\Process\% Processor Time", false),
            (r"\Thread(*)\*", false),
        ] {
            assert_eq!(is_meant(&path(wanted), &counter), meant, "{wanted}");
        }
    }
}
