//! The logs of a session as one file, for comparisons, which read one.

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
    /// Several were joined; the file is removed with this.
    Joined(Temporary),
}

impl OneFile {
    /// Joins the files into one temporary log, unless there is only one; `bytes` is reserved from the room of
    /// uploads, and `name` is whose files they are.
    pub(crate) fn of(
        mut files: Vec<PathBuf>,
        (name, bytes): (&str, u64),
        uploads: &Arc<Uploads>,
        read: &ReadOptions,
    ) -> Result<OneFile, Refused> {
        if files.len() == 1
            && let Some(file) = files.pop()
        {
            return Ok(OneFile::Own(file));
        }
        let joined = Temporary::copy_of(name, bytes, uploads)?;
        let options = Options { format: Format::Tally, read: read.clone(), ..Options::default() };
        relog(&files, joined.path(), &options).map_err(Refused::bad_request)?;
        Ok(OneFile::Joined(joined))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        match self {
            OneFile::Own(path) => path,
            OneFile::Joined(joined) => joined.path(),
        }
    }
}
