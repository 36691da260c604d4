//! The log set of a log in a database, by the handle of the log.

use tallymon::log::sqlite::{self, LogSet};

use super::OpenLog;
use crate::handles::Handle;
use crate::lock::lock;
use crate::log_sets;
use crate::memory::Out;
use crate::status::{self, Done, Status};

/// Returns the GUID of the log set of a log, and the number of its run.
pub(crate) fn guid(log: Handle, guid: Out<[u8; 16]>, run: Out<i32>) -> Done {
    let set = set_of(log)?;
    if guid.is_null() && run.is_null() {
        return Err(status::INVALID_ARGUMENT);
    }
    guid.set(log_sets::guid_bytes(&set.guid).ok_or(status::INVALID_DATA)?);
    run.set(set.run_id);
    Ok(())
}

/// Sets the run number of the log set of a log.
pub(crate) fn set_run(log: Handle, run: i32) -> Done {
    let set = set_of(log)?;
    match OpenLog::of_handle(log)? {
        OpenLog::Recording(recording) => {
            lock(&recording).as_mut().ok_or(status::INVALID_HANDLE)?.set_run(run);
            Ok(())
        }
        OpenLog::Source(source) => {
            let database = source.database().ok_or(status::INVALID_DATASOURCE)?;
            let known = sqlite::set_run_id(&database.file, &set.guid, run);
            known.map_err(|error| log_sets::of_database(&error))?.then_some(()).ok_or(status::INVALID_SQLDB)
        }
    }
}

/// The log set of a log; only logs in databases have one.
fn set_of(log: Handle) -> Result<LogSet, Status> {
    match OpenLog::of_handle(log)? {
        OpenLog::Recording(recording) => {
            let recording = lock(&recording);
            let recording = recording.as_ref().ok_or(status::INVALID_HANDLE)?;
            recording.log_set().cloned().ok_or(status::INVALID_DATASOURCE)
        }
        OpenLog::Source(source) => {
            let database = source.database().ok_or(status::INVALID_DATASOURCE)?;
            database.known_set()?.ok_or(status::INVALID_SQLDB)
        }
    }
}
