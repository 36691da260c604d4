//! A log of recordings that has the newest records only, as many as fit.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use tallymon_core::time::FileTime;
use tallymon_log::new_file::Overwrite;
use tallymon_log::relog::{Options, relog};
use tallymon_log::{Format, LogError, LogTime, Selection};

/// How much of the newest records a log may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Newest {
    /// Everything.
    All,
    /// Records until the log has this many bytes.
    Bytes(u64),
    /// This many records.
    Records(u64),
}

/// Makes a log of recordings, given oldest first, without the oldest records that are more than it may
/// have; one record stays in any case. An existing file is replaced, even one of the recordings. Returns the
/// number of records. The recordings stay.
///
/// # Errors
///
/// Those of the files.
pub fn convert_newest(
    recordings: &[PathBuf],
    output: &Path,
    format: Format,
    newest: Newest,
) -> Result<u64, LogError> {
    let make = |from: Option<FileTime>| {
        let select = Selection { from: from.map(LogTime::Utc), ..Selection::default() };
        let options = Options { format, select, overwrite: Overwrite::Continue, ..Options::default() };
        Ok::<u64, LogError>(relog(recordings, output, &options)?.records)
    };
    let mut records = make(None)?;
    let mut keep = records;
    loop {
        let (size, most) = match newest {
            Newest::All => return Ok(records),
            Newest::Bytes(most) => {
                let about = fs::metadata(output).map_err(|error| LogError::from(error).in_file(output))?;
                (about.len(), most)
            }
            Newest::Records(most) => (keep, most),
        };
        if size <= most || keep <= 1 {
            return Ok(records);
        }
        // Records are about as large as each other; a log that is still too large loses a tenth more.
        let share = most as f64 / size as f64;
        keep = ((keep as f64 * share) as u64).min(keep.saturating_mul(9) / 10).max(1);
        records = make(Some(time_of_last(recordings, keep)?))?;
    }
}

/// The time of the first of the last `count` records.
fn time_of_last(recordings: &[PathBuf], count: u64) -> Result<FileTime, LogError> {
    let mut times = VecDeque::new();
    for recording in recordings {
        let mut reader = tallymon_log::open(recording, &Options::default().read)?;
        while let Some(record) = reader.next_record()? {
            times.push_back(record.time);
            if u64::try_from(times.len()).unwrap_or(u64::MAX) > count {
                times.pop_front();
            }
        }
    }
    Ok(times.front().copied().unwrap_or_default())
}
