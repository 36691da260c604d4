//! What becomes of a recording when its log is closed: the log that was asked for.

use std::path::{Path, PathBuf};

use tallymon::core::time::FileTime;
use tallymon::log::relog::{Options, relog};
use tallymon::log::sqlite::{LogSet, add_log_set};
use tallymon::log::{Format, LogError, Selection};

use crate::log_sets;

/// The log that is made of recordings.
#[derive(Debug, Clone)]
pub(super) struct Target {
    /// The file, or the database.
    pub(super) output: PathBuf,
    pub(super) format: Format,
    /// The log set of a database.
    pub(super) set: Option<LogSet>,
    /// What is there already comes before what was recorded.
    pub(super) append: bool,
    /// The oldest records are left out until it has no more bytes; in a database, no more records.
    pub(super) newest: Option<u64>,
}

impl Target {
    /// What the files beside it are named after.
    pub(super) fn beside(&self) -> PathBuf {
        match &self.set {
            Some(set) => log_sets::beside(&self.output, set),
            None => self.output.clone(),
        }
    }

    /// Makes the log of recordings, oldest first.
    pub(super) fn make(&self, recordings: &[PathBuf]) -> Result<(), LogError> {
        let continues = self.append && self.set.is_none() && self.output.exists();
        if !continues && self.set.is_none() {
            return self.newest_of(recordings, &self.output);
        }
        // What was recorded becomes a log of the same format first: the columns of text are other ones than those of raw
        // values, and a log set is one of a database.
        let part = self.part();
        let made = self.newest_of(recordings, &part).and_then(|()| match &self.set {
            Some(set) => add_log_set(&self.output, &part, set, self.append),
            None => {
                self.relog(&[self.output.clone(), part.clone()], &self.output, Selection::default()).map(drop)
            }
        });
        // It is of no use any more, and harms nobody by its name.
        let _ = std::fs::remove_file(&part);
        made
    }

    fn newest_of(&self, recordings: &[PathBuf], output: &Path) -> Result<(), LogError> {
        let records = self.relog(recordings, output, Selection::default())?;
        let Some(most) = self.newest else { return Ok(()) };
        let mut keep = records;
        loop {
            let size = if self.set.is_some() {
                keep
            } else {
                std::fs::metadata(output).map_err(|error| LogError::from(error).in_file(output))?.len()
            };
            if size <= most || keep <= 1 {
                return Ok(());
            }
            // Records are about as large as each other; what is still too large loses a tenth more.
            let share = most as f64 / size as f64;
            keep = ((keep as f64 * share) as u64).min(keep.saturating_mul(9) / 10).max(1);
            let from = Some(self.time_of_last(recordings, keep)?);
            self.relog(recordings, output, Selection { from, ..Selection::default() })?;
        }
    }

    /// The time of the record from which on there are so many.
    fn time_of_last(&self, recordings: &[PathBuf], count: u64) -> Result<FileTime, LogError> {
        let mut times = std::collections::VecDeque::new();
        for recording in recordings {
            let mut reader = tallymon::log::open(recording, &Options::default().read)?;
            while let Some(record) = reader.next_record()? {
                times.push_back(record.time);
                if u64::try_from(times.len()).unwrap_or(u64::MAX) > count {
                    times.pop_front();
                }
            }
        }
        Ok(times.front().copied().unwrap_or_default())
    }

    /// The number of records.
    fn relog(&self, inputs: &[PathBuf], output: &Path, select: Selection) -> Result<u64, LogError> {
        let options = Options { format: self.format, select, ..Options::default() };
        Ok(relog(inputs, output, &options)?.records)
    }

    /// Where the log is made before it comes to others.
    fn part(&self) -> PathBuf {
        let mut name = self.beside().into_os_string();
        name.push(format!(".{}.new", std::process::id()));
        name.into()
    }
}
