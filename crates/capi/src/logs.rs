//! Data sources: this machine, or logs.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tallymon::Log;
use tallymon::log::relog::{Options, relog};
use tallymon::log::{Format, ReadOptions};

use crate::clock;
use crate::handles::{self, Handle, Object};
use crate::machine;
use crate::memory::{Buf, Letter, Out, Str};
use crate::query::{self, Origin};
use crate::status::{self, Done, Status};

/// Where a program wants to read from; what stands behind a handle of `PdhBindInputDataSource`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DataSource {
    Machine,
    Log(Arc<LogFile>),
}

/// The file of a log that is read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LogFile {
    path: PathBuf,
    /// It was made of several logs, and goes when nobody reads it any more.
    is_merged: bool,
}

impl LogFile {
    fn open(&self) -> Result<Log, Status> {
        Log::open(&self.path, &ReadOptions::default()).map_err(|error| status::of_log(&error))
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        if self.is_merged {
            // What is left over in the folder for such files does no harm.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// `PDH_TIME_INFO`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct TimeInfo {
    start: i64,
    end: i64,
    samples: u32,
}

impl DataSource {
    /// The source of a name; NULL and an empty one are this machine.
    pub(crate) fn of_name<L: Letter>(name: Str<L>) -> DataSource {
        name.get().filter(|name| !name.is_empty()).map_or(DataSource::Machine, DataSource::file)
    }

    /// A log.
    pub(crate) fn file(name: String) -> DataSource {
        DataSource::Log(Arc::new(LogFile { path: name.into(), is_merged: false }))
    }

    /// Several logs as one: their records in the order of time.
    fn files(names: &[String]) -> Result<DataSource, Status> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("tallymon-{}-{number}.tally", std::process::id());
        let merged = LogFile { path: std::env::temp_dir().join(name), is_merged: true };
        let inputs: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
        let options = Options { format: Format::Tally, ..Options::default() };
        relog(&inputs, &merged.path, &options).map_err(|error| status::of_log(&error))?;
        Ok(DataSource::Log(Arc::new(merged)))
    }

    /// How many bytes it has; `None` for this machine, and for a file that is gone.
    pub(crate) fn size(&self) -> Option<u64> {
        match self {
            DataSource::Machine => None,
            DataSource::Log(file) => std::fs::metadata(&file.path).ok().map(|known| known.len()),
        }
    }

    /// The source of a bound handle; 0 is this machine.
    pub(crate) fn of_handle(handle: Handle) -> Result<DataSource, Status> {
        if handle == 0 {
            return Ok(DataSource::Machine);
        }
        match handles::get(handle) {
            Some(Object::Source(source)) => Ok(source.as_ref().clone()),
            _ => Err(status::INVALID_HANDLE),
        }
    }

    /// A query over a source that has a name or is this machine.
    pub(crate) fn origin(name: Option<&str>) -> Result<Origin, Status> {
        name.map_or(DataSource::Machine, |name| DataSource::file(name.to_string())).open()
    }

    /// A query over it.
    pub(crate) fn open(&self) -> Result<Origin, Status> {
        match self {
            DataSource::Machine => Ok(Origin::Live(Box::new(machine::query()?))),
            DataSource::Log(file) => Ok(Origin::Log(Box::new(file.open()?.source()), Arc::clone(file))),
        }
    }

    /// Everything that is in it if it is a log; `None` for this machine.
    pub(crate) fn contents(&self) -> Result<Option<Log>, Status> {
        match self {
            DataSource::Machine => Ok(None),
            DataSource::Log(file) => file.open().map(Some),
        }
    }
}

/// Binds log files: names one after the other, with an empty one at the end. NULL and no name are this machine.
pub(crate) fn bind<L: Letter>(source: Out<Handle>, names: Str<L>) -> Done {
    if source.is_null() {
        return Err(status::INVALID_ARGUMENT);
    }
    let names = names.get_list();
    let bound = match &names[..] {
        [] => DataSource::Machine,
        [name] => DataSource::file(name.clone()),
        several => DataSource::files(several)?,
    };
    // A file that can not be read is told now, as on NT.
    bound.open()?;
    let handle = handles::insert(Object::Source(bound.into()));
    source.set(handle.ok_or(status::MEMORY_ALLOCATION_FAILURE)?);
    Ok(())
}

/// Which records of the log of a query are read.
pub(crate) fn set_range(query: Handle, info: Out<TimeInfo>) -> Done {
    let info = info.get().ok_or(status::INVALID_ARGUMENT)?;
    query::set_range(query, info.start, info.end)
}

/// What a query without a data source reads: the registry, and nothing else.
pub(crate) const fn set_default(source: u32) -> Done {
    const REGISTRY: u32 = 1;
    const LOG_FILE: u32 = 2;
    const WBEM: u32 = 4;
    match source {
        REGISTRY => Ok(()),
        LOG_FILE | WBEM => Err(status::CANNOT_SET_DEFAULT),
        _ => Err(status::INVALID_ARGUMENT),
    }
}

pub(crate) fn time_range<L: Letter>(
    source: Str<L>,
    entries: Out<u32>,
    info: Buf<TimeInfo>,
    bytes: Out<u32>,
) -> Done {
    range(&DataSource::of_name(source), entries, info, bytes)
}

pub(crate) fn time_range_bound(
    source: Handle,
    entries: Out<u32>,
    info: Buf<TimeInfo>,
    bytes: Out<u32>,
) -> Done {
    range(&DataSource::of_handle(source)?, entries, info, bytes)
}

fn range(source: &DataSource, entries: Out<u32>, info: Buf<TimeInfo>, bytes: Out<u32>) -> Done {
    let (Some(room), false) = (bytes.get(), entries.is_null() || info.is_null()) else {
        return Err(status::INVALID_ARGUMENT);
    };
    let log = source.contents()?.ok_or(status::DATA_SOURCE_IS_REAL_TIME)?;
    let contents = log.summary();
    let needed = size_of::<TimeInfo>();
    if usize::try_from(room).is_ok_and(|room| room < needed) {
        bytes.set(u32::try_from(needed).unwrap_or(u32::MAX));
        return Err(status::MORE_DATA);
    }
    let local = |time| clock::add_minutes(time, contents.local_minutes).0.cast_signed();
    let samples = u32::try_from(contents.records).unwrap_or(u32::MAX);
    info.write(0, &[TimeInfo { start: local(contents.first), end: local(contents.last), samples }]);
    entries.set(1);
    bytes.set(u32::try_from(needed).unwrap_or(u32::MAX));
    Ok(())
}
