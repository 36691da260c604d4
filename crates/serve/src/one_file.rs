//! The logs of a session as one file, for what reads one: its gaps, and comparisons.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tallymon::log::relog::{Options, relog};
use tallymon::log::{Format, ReadOptions};

use crate::http::Refused;
use crate::uploads::{Temporary, Uploads};

/// One file with all records.
pub(crate) enum OneFile {
    /// It is the only one.
    Own(PathBuf),
    /// Several were put together; it is removed with this.
    Made(Temporary),
}

impl OneFile {
    /// That of some files, which have so many bytes.
    pub(crate) fn of(
        mut files: Vec<PathBuf>,
        bytes: u64,
        uploads: &Arc<Uploads>,
        read: &ReadOptions,
    ) -> Result<OneFile, Refused> {
        if files.len() == 1
            && let Some(file) = files.pop()
        {
            return Ok(OneFile::Own(file));
        }
        let made = Temporary::new(uploads, bytes)?;
        let options = Options { format: Format::Tally, read: read.clone(), ..Options::default() };
        relog(&files, made.path(), &options).map_err(Refused::bad_request)?;
        Ok(OneFile::Made(made))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        match self {
            OneFile::Own(path) => path,
            OneFile::Made(made) => made.path(),
        }
    }
}
