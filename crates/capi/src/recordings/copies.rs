//! Writing records of another log into a log: their positions are noted, and copied when the log is closed.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

use tallymon::core::path::CounterPath;
use tallymon::core::time::FileTime;
use tallymon::log::new_file::Overwrite;
use tallymon::log::relog::{Options, relog};
use tallymon::log::{Format, LogError, Selection};

use super::complete::Target;
use crate::logs::LogFile;
use crate::query::{Counter, OpenQuery};
use crate::status::Done;

/// The records of a log that were taken so far.
pub(super) struct Copies {
    from: Arc<LogFile>,
    runs: Vec<Run>,
    /// All counters that the query had at any record.
    counters: Vec<CounterPath>,
    records: u64,
}

/// Records at even steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    first: FileTime,
    last: FileTime,
    /// Position of the last one.
    at: u64,
    /// The step from one to the next; 0 while there is only one.
    every: u64,
}

impl Run {
    /// Adds a record to the run, if it follows with the same step.
    fn continues(&mut self, at: u64, time: FileTime) -> bool {
        let step = at.checked_sub(self.at).filter(|step| *step > 0 && time >= self.last);
        match step {
            Some(step) if self.every == 0 || self.every == step => {
                (self.at, self.last, self.every) = (at, time, step);
                true
            }
            _ => false,
        }
    }
}

impl Copies {
    pub(super) const fn new(from: Arc<LogFile>) -> Copies {
        Copies { from, runs: Vec::new(), counters: Vec::new(), records: 0 }
    }

    /// Records that were taken.
    pub(super) const fn records(&self) -> u64 {
        self.records
    }

    /// Takes the next record of the log of a query.
    pub(super) fn take(&mut self, open: &mut OpenQuery) -> Done {
        // A record in which nothing has a value is a record too.
        let (time, _) = open.advance()?;
        let at = open.position();
        if !self.runs.last_mut().is_some_and(|run| run.continues(at, time)) {
            self.runs.push(Run { first: time, last: time, at, every: 0 });
        }
        self.records = self.records.saturating_add(1);
        for handle in open.counters() {
            let path =
                Counter::of_handle(*handle).ok().and_then(|known| CounterPath::parse(&known.path).ok());
            if let Some(path) = path.map(|parsed| parsed.path)
                && !self.counters.contains(&path)
            {
                self.counters.push(path);
            }
        }
        Ok(())
    }

    /// Files with the records, oldest first.
    pub(super) fn finish(self, target: &Target) -> Result<Vec<PathBuf>, LogError> {
        let mut files = Vec::new();
        for (nth, run) in self.runs.iter().enumerate() {
            let mut name = target.beside().into_os_string();
            name.push(format!(".{}.{nth}.copy", std::process::id()));
            let file = PathBuf::from(name);
            let every = u32::try_from(run.every).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN);
            let select = Selection {
                counters: self.counters.clone(),
                from: Some(run.first.into()),
                to: Some(run.last.into()),
            };
            let options = Options {
                format: Format::Tally,
                select,
                every,
                read: self.from.options(),
                // Left by a killed process with the same number.
                overwrite: Overwrite::Replace,
                ..Options::default()
            };
            relog(&[self.from.path().to_path_buf()], &file, &options)?;
            files.push(file);
        }
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_one_step() {
        let mut run = Run { first: FileTime(1), last: FileTime(1), at: 1, every: 0 };
        assert!(run.continues(3, FileTime(3)) && run.continues(5, FileTime(5)));
        assert!(
            !run.continues(6, FileTime(6))
                && !run.continues(5, FileTime(5))
                && !run.continues(1, FileTime(1))
        );
        assert_eq!(run, Run { first: FileTime(1), last: FileTime(5), at: 5, every: 2 });
    }
}
