//! Logs that a program opens: to read them like any data source, or to write the samples of a query.
//!
//! Samples are recorded into a native log beside the file, so that a program that crashes loses its last
//! seconds only. `PdhCloseLog` converts the recording to the format of the log. A circular log is recorded
//! into two files in turn, each as large as the log may be, so that the newest records are always there.
//! For a query over a log the positions of the written records are noted, and `PdhCloseLog` copies the
//! records.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};

use tallymon::clock::now;
use tallymon::log::sqlite::LogSet;
use tallymon::log::{Format, ReadOptions};

use crate::handles::{self, Handle, Object};
use crate::lock::lock;
use crate::log_sets::{self, Database};
use crate::logs::{
    DataSource, Origin, TYPE_BINARY, TYPE_CSV, TYPE_SQL, TYPE_TSV, TYPE_UNDEFINED, type_number,
};
use crate::memory::{Letter, Out, Str};
use crate::query::{self, OpenQuery};
use crate::status::{self, Done, Status};

mod complete;
mod copies;
pub(crate) mod log_set;
mod samples;
mod words;

use complete::Target;
use copies::Copies;
use samples::Samples;
use words::Words;

const READ_ACCESS: u32 = 0x1_0000;
const WRITE_ACCESS: u32 = 0x2_0000;
const UPDATE_ACCESS: u32 = 0x4_0000;
const ACCESS_MASK: u32 = 0xF_0000;
const CREATE_NEW: u32 = 1;
const CREATE_ALWAYS: u32 = 2;
const OPEN_ALWAYS: u32 = 3;
const OPEN_EXISTING: u32 = 4;
const CREATE_MASK: u32 = 0xF;
const OPTION_USER_STRING: u32 = 0x0100_0000;
const OPTION_CIRCULAR: u32 = 0x0200_0000;
const OPTION_MAX_IS_BYTES: u32 = 0x0400_0000;
const OPTION_APPEND: u32 = 0x0800_0000;

const CLOSE_QUERY: u32 = 1;

/// A log that is being written.
struct Recording {
    input: Input,
    target: Target,
    /// The program's texts for the records, if the format has room for them.
    words: Option<Words>,
    query: Weak<Mutex<OpenQuery>>,
    query_handle: Handle,
    /// The most bytes of the log, or records in a database; 0 means no limit.
    maximum: u64,
}

/// The object behind the handle of a log that is being written; `None` once the log is closed.
type SharedRecording = Mutex<Option<Recording>>;

/// The log behind a handle, which is read or written.
enum OpenLog {
    Source(Arc<DataSource>),
    Recording(Arc<SharedRecording>),
}

/// Where the records of a log come from.
enum Input {
    Machine(Box<Samples>),
    Log(Copies),
}

/// The parameters of opening a log for writing.
struct Wanted {
    name: String,
    access: u32,
    kind: u32,
    query: Handle,
    maximum: u32,
    caption: String,
}

/// Opens a log to read it or to write it.
pub(crate) fn open<L: Letter>(
    name: Str<L>,
    access: u32,
    kind: Out<u32>,
    query: Handle,
    maximum: u32,
    caption: Str<L>,
    log: Out<Handle>,
) -> Done {
    let (Some(name), Some(wanted)) = (name.get().filter(|name| !name.is_empty()), kind.get()) else {
        return Err(status::INVALID_ARGUMENT);
    };
    if log.is_null() {
        return Err(status::INVALID_ARGUMENT);
    }
    let exists = exists(&name)?;
    match access & CREATE_MASK {
        CREATE_NEW if exists => return Err(status::FILE_ALREADY_EXISTS),
        // A log to be written is created then.
        OPEN_EXISTING if !exists && access & ACCESS_MASK == READ_ACCESS => {
            return Err(status::FILE_NOT_FOUND);
        }
        CREATE_NEW | CREATE_ALWAYS | OPEN_ALWAYS | OPEN_EXISTING => {}
        _ => return Err(status::INVALID_ARGUMENT),
    }
    let handle = match access & ACCESS_MASK {
        READ_ACCESS => {
            let source = DataSource::file(name);
            kind.set(type_of(&source)?);
            handles::insert(Arc::new(source))
        }
        WRITE_ACCESS | UPDATE_ACCESS => {
            let caption = caption.get().unwrap_or_default();
            let recording =
                Recording::create(Wanted { name, access, kind: wanted, query, maximum, caption })?;
            kind.set(type_number(recording.target.format));
            handles::insert(Arc::new(Mutex::new(Some(recording))))
        }
        _ => return Err(status::INVALID_ARGUMENT),
    };
    log.set(handle.ok_or(status::MEMORY_ALLOCATION_FAILURE)?);
    Ok(())
}

/// Whether a log is there.
fn exists(name: &str) -> Result<bool, Status> {
    match Database::of_name(name) {
        Some(database) => Ok(database.known_set()?.is_some()),
        None => PathBuf::from(name).try_exists().map_err(|error| status::of_log(&error.into())),
    }
}

/// NT's number of the format of a log file.
fn type_of(source: &DataSource) -> Result<u32, Status> {
    let file = source.path().ok_or(status::DATA_SOURCE_IS_REAL_TIME)?;
    let reader =
        tallymon::log::open(file, &ReadOptions::default()).map_err(|error| status::of_log(&error))?;
    Ok(type_number(reader.about().format))
}

/// Takes a sample of the query of a log and writes it.
pub(crate) fn update<L: Letter>(log: Handle, user_string: Str<L>) -> Done {
    let recording = handles::get::<SharedRecording>(log).ok_or(status::INVALID_HANDLE)?;
    let text = user_string.get();
    if text.as_deref() == Some("") {
        return Err(status::INVALID_ARGUMENT);
    }
    let mut recording = lock(&recording);
    recording.as_mut().ok_or(status::INVALID_HANDLE)?.update(&text.unwrap_or_default())
}

/// How large a log is: its bytes, or the records of a log set.
pub(crate) fn size(log: Handle, size: Out<i64>) -> Done {
    if size.is_null() {
        return Err(status::INVALID_ARGUMENT);
    }
    let found = match OpenLog::of_handle(log)? {
        OpenLog::Recording(recording) => lock(&recording).as_mut().ok_or(status::INVALID_HANDLE)?.size(),
        OpenLog::Source(source) => source.size()?,
    };
    size.set(i64::try_from(found).unwrap_or(i64::MAX));
    Ok(())
}

/// Updates the catalogue of a log. Logs here have no catalogue that could be out of date.
pub(crate) fn update_catalog(log: Handle) -> Done {
    OpenLog::of_handle(log)?;
    Err(status::NOT_IMPLEMENTED)
}

/// Closes a source that was bound or opened; completes a log that was written.
pub(crate) fn close(log: Handle, flags: u32) -> Done {
    match OpenLog::of_handle(log)? {
        OpenLog::Source(_) => handles::remove::<DataSource>(log).map(drop).ok_or(status::INVALID_HANDLE),
        OpenLog::Recording(recording) => {
            handles::remove::<SharedRecording>(log);
            let recording = lock(&recording).take().ok_or(status::INVALID_HANDLE)?;
            let query = recording.query_handle;
            let finished = recording.finish();
            if flags & CLOSE_QUERY != 0 {
                query::close(query)?;
            }
            finished
        }
    }
}

impl Object for SharedRecording {}

impl OpenLog {
    /// The log of a handle.
    fn of_handle(log: Handle) -> Result<OpenLog, Status> {
        let source = || handles::get(log).map(OpenLog::Source);
        let recording = || handles::get(log).map(OpenLog::Recording);
        source().or_else(recording).ok_or(status::INVALID_HANDLE)
    }
}

impl Recording {
    fn create(wanted: Wanted) -> Result<Recording, Status> {
        let query = OpenQuery::of_handle(wanted.query)?;
        let is_circular = wanted.access & OPTION_CIRCULAR != 0;
        if is_circular && wanted.maximum == 0 {
            return Err(status::INVALID_ARGUMENT);
        }
        let target = target(&wanted)?;
        // The limit of a database is a number of records.
        let scale =
            if target.set.is_some() || wanted.access & OPTION_MAX_IS_BYTES != 0 { 1 } else { 1 << 20 };
        let maximum = u64::from(wanted.maximum).saturating_mul(scale);
        let target = Target { newest: is_circular.then_some(maximum), ..target };
        let words = match wanted.access & OPTION_USER_STRING {
            0 => None,
            _ => Words::create(&target, &wanted.caption)
                .map_err(|error| status::of_log_write(&error.into()))?,
        };
        let input = match &lock(&query).origin {
            Origin::Live(_) => {
                let samples =
                    Samples::create(&target, maximum).map_err(|error| status::of_log_write(&error))?;
                Input::Machine(Box::new(samples))
            }
            Origin::Log(_, file) => Input::Log(Copies::new(Arc::clone(file))),
        };
        let (query_handle, query) = (wanted.query, Arc::downgrade(&query));
        Ok(Recording { input, target, words, query, query_handle, maximum })
    }

    /// The log set that it writes, in a database.
    const fn log_set(&self) -> Option<&LogSet> {
        self.target.set.as_ref()
    }

    /// Sets the run number of its log set.
    const fn set_run(&mut self, run: i32) {
        if let Some(set) = &mut self.target.set {
            set.run_id = run;
        }
    }

    /// Bytes recorded into the current file; records for a database. Copies of a log have no bytes before
    /// the end.
    fn size(&mut self) -> u64 {
        match (&mut self.input, self.target.set.is_some()) {
            (Input::Machine(samples), true) => samples.records(),
            (Input::Machine(samples), false) => samples.bytes(),
            (Input::Log(copies), true) => copies.records(),
            (Input::Log(_), false) => 0,
        }
    }

    /// Whether the current file has as much as the log may have.
    fn is_full(&mut self) -> bool {
        match &mut self.input {
            Input::Machine(samples) => samples.is_full(),
            Input::Log(_) => self.maximum != 0 && self.size() >= self.maximum,
        }
    }

    /// Takes a sample and writes it, with the text of the program.
    fn update(&mut self, text: &str) -> Done {
        if self.is_full() {
            match (self.target.newest, &mut self.input) {
                (None, _) => return Err(status::LOG_FILE_TOO_SMALL),
                (Some(_), Input::Machine(samples)) => {
                    samples.turn().map_err(|error| status::of_log_write(&error))?;
                }
                // Copying leaves out the oldest records.
                (Some(_), Input::Log(_)) => {}
            }
        }
        let query = self.query.upgrade().ok_or(status::INVALID_HANDLE)?;
        let mut open = lock(&query);
        match &mut self.input {
            Input::Machine(samples) => samples.take(&mut open)?,
            Input::Log(copies) => copies.take(&mut open)?,
        }
        match &mut self.words {
            Some(words) => words.add(text).map_err(|error| status::of_log_write(&error.into())),
            None => Ok(()),
        }
    }

    /// Makes the log. The recording stays if that fails.
    fn finish(self) -> Done {
        let recordings = match self.input {
            Input::Machine(samples) => samples.finish(),
            Input::Log(copies) => copies.finish(&self.target),
        };
        let recordings = recordings.map_err(|error| status::of_log_write(&error))?;
        if recordings.is_empty() {
            // There is no record, so no log is made.
            return Ok(());
        }
        self.target.make(&recordings).map_err(|error| status::of_log_write(&error))?;
        if let Some(words) = self.words {
            let put = words.put_into(&self.target.output, self.target.newest);
            put.map_err(|error| status::of_log_write(&error.into()))?;
        }
        for recording in recordings {
            // The log is complete; a file that stays takes room and does no other harm.
            let _ = std::fs::remove_file(recording);
        }
        Ok(())
    }
}

/// The log to make.
fn target(wanted: &Wanted) -> Result<Target, Status> {
    let opens_what_is_there = [OPEN_ALWAYS, OPEN_EXISTING].contains(&(wanted.access & CREATE_MASK));
    let append = opens_what_is_there
        && (wanted.access & ACCESS_MASK == UPDATE_ACCESS || wanted.access & OPTION_APPEND != 0);
    let database = Database::of_name(&wanted.name);
    let output = database.as_ref().map_or_else(|| PathBuf::from(&wanted.name), |known| known.file.clone());
    let mut kind = wanted.kind;
    let mut set = None;
    if let Some(database) = &database {
        let name = database.log_set.as_ref().ok_or(status::INVALID_SQL_LOG_FORMAT)?;
        let known = database.known_set()?.filter(|_| append);
        set = Some(known.unwrap_or_else(|| log_sets::new_set(name)));
        kind = TYPE_SQL;
    } else if append && output.exists() {
        let source = DataSource::file(wanted.name.clone());
        let there = type_of(&source)?;
        if wanted.kind != TYPE_UNDEFINED && wanted.kind != there {
            return Err(status::LOG_TYPE_NOT_FOUND);
        }
        kind = there;
        let last = source.contents()?.map(|log| log.summary().last);
        if last.is_some_and(|last| last > now()) {
            return Err(status::INCORRECT_APPEND_TIME);
        }
    }
    let format = match kind {
        TYPE_CSV => Format::Csv,
        TYPE_TSV => Format::Tsv,
        TYPE_BINARY => Format::Blg,
        TYPE_SQL if set.is_some() => Format::Sqlite,
        TYPE_SQL => return Err(status::INVALID_SQL_LOG_FORMAT),
        _ => return Err(status::UNKNOWN_LOG_FORMAT),
    };
    Ok(Target { output, format, set, append, newest: None })
}
