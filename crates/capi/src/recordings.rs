//! Logs that a program opens: to be read like any data source, or to be written from the samples of a query.
//!
//! What is written is recorded into a native log beside the file, so that a program that ends in a hurry loses its last
//! seconds only; the log that was asked for is made of it by `PdhCloseLog`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use tallymon::Recorder;
use tallymon::log::native::WriteOptions;
use tallymon::log::zone::Zone;
use tallymon::log::{Format, LogError, LogErrorKind, ReadOptions};
use tallymon::record::{now, while_recording};

use crate::clock;
use crate::handles::{self, Handle, Object, lock};
use crate::logs::DataSource;
use crate::memory::{Letter, Out, Str};
use crate::query::{self, OpenQuery, Origin};
use crate::status::{self, Done, Status};

const READ_ACCESS: u32 = 0x1_0000;
const WRITE_ACCESS: u32 = 0x2_0000;
const ACCESS_MASK: u32 = 0xF_0000;
const CREATE_NEW: u32 = 1;
const CREATE_ALWAYS: u32 = 2;
const OPEN_ALWAYS: u32 = 3;
const OPEN_EXISTING: u32 = 4;
const CREATE_MASK: u32 = 0xF;
const OPTION_CIRCULAR: u32 = 0x0200_0000;
const OPTION_MAX_IS_BYTES: u32 = 0x0400_0000;
const OPTION_APPEND: u32 = 0x0800_0000;

const TYPE_CSV: u32 = 1;
const TYPE_TSV: u32 = 2;
const TYPE_SQL: u32 = 7;
const TYPE_BINARY: u32 = 8;

const CLOSE_QUERY: u32 = 1;

/// A log that is being written.
pub(crate) struct Recording {
    recorder: Recorder,
    output: PathBuf,
    format: Format,
    query: Weak<Mutex<OpenQuery>>,
    query_handle: Handle,
    /// The counters that the recorder knows.
    counters: BTreeSet<Handle>,
    /// Bytes that the log may have; 0 without a limit.
    maximum: u64,
}

/// Opens a log to read it or to write it.
pub(crate) fn open<L: Letter>(
    name: Str<L>,
    access: u32,
    kind: Out<u32>,
    query: Handle,
    maximum: u32,
    _caption: Str<L>,
    log: Out<Handle>,
) -> Done {
    let (Some(name), Some(wanted)) = (name.get().filter(|name| !name.is_empty()), kind.get()) else {
        return Err(status::INVALID_ARGUMENT);
    };
    if log.is_null() {
        return Err(status::INVALID_ARGUMENT);
    }
    let output = Path::new(&name);
    check_existence(output, access & CREATE_MASK)?;
    let object = match access & ACCESS_MASK {
        READ_ACCESS => {
            kind.set(type_of(output)?);
            Object::Source(Arc::new(DataSource::file(name)))
        }
        WRITE_ACCESS if access & (OPTION_CIRCULAR | OPTION_APPEND) != 0 => {
            return Err(status::NOT_IMPLEMENTED);
        }
        WRITE_ACCESS => {
            let scale = if access & OPTION_MAX_IS_BYTES != 0 { 1 } else { 1 << 20 };
            let recording =
                Recording::create(output, wanted, query, u64::from(maximum).saturating_mul(scale))?;
            Object::Recording(Arc::new(Mutex::new(Some(recording))))
        }
        // What is updated is appended to.
        _ => return Err(status::NOT_IMPLEMENTED),
    };
    log.set(handles::insert(object).ok_or(status::MEMORY_ALLOCATION_FAILURE)?);
    Ok(())
}

/// Whether a file is there as the way to open it wants.
fn check_existence(file: &Path, creation: u32) -> Done {
    match (creation, file.exists()) {
        (CREATE_NEW, true) => Err(status::FILE_ALREADY_EXISTS),
        (OPEN_EXISTING, false) => Err(status::FILE_NOT_FOUND),
        (CREATE_NEW | CREATE_ALWAYS | OPEN_ALWAYS | OPEN_EXISTING, _) => Ok(()),
        _ => Err(status::INVALID_ARGUMENT),
    }
}

/// What kind of log a file is.
fn type_of(file: &Path) -> Result<u32, Status> {
    let reader =
        tallymon::log::open(file, &ReadOptions::default()).map_err(|error| status::of_log(&error))?;
    Ok(match reader.about().format {
        Format::Csv => TYPE_CSV,
        Format::Tsv => TYPE_TSV,
        Format::Sqlite => TYPE_SQL,
        _ => TYPE_BINARY,
    })
}

/// Takes a sample of the query of a log and writes it.
pub(crate) fn update<L: Letter>(log: Handle, _user_string: Str<L>) -> Done {
    let recording = recording(log)?;
    let mut recording = lock(&recording);
    recording.as_mut().ok_or(status::INVALID_HANDLE)?.update()
}

/// How large a log is.
pub(crate) fn size(log: Handle, size: Out<i64>) -> Done {
    if size.is_null() {
        return Err(status::INVALID_ARGUMENT);
    }
    let bytes = match handles::get(log) {
        Some(Object::Recording(recording)) => {
            lock(&recording).as_mut().map(|recording| recording.recorder.bytes())
        }
        Some(Object::Source(source)) => source.size(),
        _ => None,
    };
    size.set(bytes.and_then(|bytes| i64::try_from(bytes).ok()).ok_or(status::INVALID_HANDLE)?);
    Ok(())
}

/// Brings the catalogue of a log up to date. No log of ours has one that could be out of date.
pub(crate) fn update_catalog(log: Handle) -> Done {
    match handles::get(log) {
        Some(Object::Recording(_) | Object::Source(_)) => Err(status::NOT_IMPLEMENTED),
        _ => Err(status::INVALID_HANDLE),
    }
}

/// Lets go of a source that was bound or opened; completes a log that was written.
pub(crate) fn close(log: Handle, flags: u32) -> Done {
    match handles::get(log) {
        Some(Object::Source(_)) => handles::remove(log).map(drop).ok_or(status::INVALID_HANDLE),
        Some(Object::Recording(recording)) => {
            handles::remove(log);
            let recording = lock(&recording).take().ok_or(status::INVALID_HANDLE)?;
            let query = recording.query_handle;
            let finished = recording.finish();
            if flags & CLOSE_QUERY != 0 {
                query::close(query)?;
            }
            finished
        }
        _ => Err(status::INVALID_HANDLE),
    }
}

fn recording(log: Handle) -> Result<Arc<Mutex<Option<Recording>>>, Status> {
    match handles::get(log) {
        Some(Object::Recording(recording)) => Ok(recording),
        _ => Err(status::INVALID_HANDLE),
    }
}

impl Recording {
    fn create(output: &Path, kind: u32, query_handle: Handle, maximum: u64) -> Result<Recording, Status> {
        let query = handles::query(query_handle).ok_or(status::INVALID_HANDLE)?;
        if matches!(lock(&query).origin, Origin::Log(..)) {
            return Err(status::DATA_SOURCE_IS_LOG_FILE);
        }
        let format = match kind {
            TYPE_CSV => Format::Csv,
            TYPE_TSV => Format::Tsv,
            TYPE_BINARY => Format::Blg,
            TYPE_SQL => return Err(status::NOT_IMPLEMENTED),
            _ => return Err(status::UNKNOWN_LOG_FORMAT),
        };
        let (name, minutes) = clock::zone(now());
        let zone = Zone::Fixed { name, bias: minutes.saturating_neg() };
        let options = WriteOptions { zone, ..WriteOptions::default() };
        let recorder =
            Recorder::create(&while_recording(output, format), options).map_err(|error| of_write(&error))?;
        let (query, counters) = (Arc::downgrade(&query), BTreeSet::new());
        Ok(Recording {
            recorder,
            output: output.to_path_buf(),
            format,
            query,
            query_handle,
            counters,
            maximum,
        })
    }

    fn update(&mut self) -> Done {
        if self.maximum != 0 && self.recorder.bytes() >= self.maximum {
            return Err(status::LOG_FILE_TOO_SMALL);
        }
        let query = self.query.upgrade().ok_or(status::INVALID_HANDLE)?;
        let mut open = lock(&query);
        let begin = now();
        match open.collect() {
            // That nothing has a value now is a record too.
            Ok(_) => {}
            Err(status::NO_DATA) if !open.counters().is_empty() => {}
            Err(status) => return Err(status),
        }
        if self.counters != *open.counters() {
            self.counters.clone_from(open.counters());
            if let Origin::Live(query) = &open.origin {
                self.recorder.choose(query);
            }
        }
        let Origin::Live(query) = &open.origin else { return Err(status::DATA_SOURCE_IS_LOG_FILE) };
        let snapshot = query.snapshot().ok_or(status::NO_DATA)?;
        let (_, minutes) = clock::zone(begin);
        self.recorder.record(snapshot, minutes, (begin, now())).map_err(|error| of_write(&error))
    }

    /// Makes the log that was asked for.
    fn finish(self) -> Done {
        let done = self.recorder.finish(&self.output, self.format);
        done.map(drop).map_err(|error| of_write(&error))
    }
}

/// The status of a log that can not be written.
fn of_write(error: &LogError) -> Status {
    match &error.kind {
        LogErrorKind::Io(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            status::ACCESS_DENIED
        }
        _ => status::LOG_FILE_CREATE_ERROR,
    }
}
