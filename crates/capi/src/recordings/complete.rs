//! How a recording becomes the log that a program opened, when it closes that.

use std::path::{Path, PathBuf};

use tallymon::log::sqlite::{LogSet, add_log_set};
use tallymon::log::{Format, LogError};
use tallymon::record::{Newest, convert_newest};

use crate::log_sets;

/// The log that recordings become.
#[derive(Debug, Clone)]
pub(super) struct Target {
    /// The file, or the database.
    pub(super) output: PathBuf,
    pub(super) format: Format,
    /// The log set of a database.
    pub(super) set: Option<LogSet>,
    /// The records that the log has already stay, before the new ones.
    pub(super) append: bool,
    /// Bytes that the log may have, or records of a log set: the oldest are left out. `None` without a limit.
    pub(super) newest: Option<u64>,
}

impl Target {
    /// What the names of the files beside it begin with.
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
        // The recording becomes a log of the same format first: the columns of text differ from those of
        // raw values, and a log set is part of a database.
        let part = self.part();
        let made = self.newest_of(recordings, &part).and_then(|()| match &self.set {
            Some(set) => add_log_set(&self.output, &part, set, self.append),
            None => {
                let both = [self.output.clone(), part.clone()];
                convert_newest(&both, &self.output, self.format, Newest::All).map(drop)
            }
        });
        // A file that stays takes room and does no other harm.
        let _ = std::fs::remove_file(&part);
        made
    }

    /// Makes the newest records of recordings a log.
    fn newest_of(&self, recordings: &[PathBuf], output: &Path) -> Result<(), LogError> {
        let newest = match (self.newest, &self.set) {
            (None, _) => Newest::All,
            (Some(most), None) => Newest::Bytes(most),
            (Some(most), Some(_)) => Newest::Records(most),
        };
        convert_newest(recordings, output, self.format, newest).map(drop)
    }

    /// Where the log is made before it is added to another.
    fn part(&self) -> PathBuf {
        let mut name = self.beside().into_os_string();
        name.push(format!(".{}.new", std::process::id()));
        name.into()
    }
}
