//! Recording live values into a log, so that a crash of the recorder costs its last seconds only.
//!
//! A recording is a native log: raw values, written every few seconds, with new instances as they appear. Other formats have
//! to know their columns before the first record; they are converted from the complete recording, see [`convert`].
//!
//! | to | use |
//! |---|---|
//! | record into one file | [`Recorder`] |
//! | record into files with numbers, or a ring of them | [`RollingRecorder`] |
//! | record in a process of its own that others control | [`session`] |

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tallymon_core::block::Snapshot;
use tallymon_core::time::FileTime;
use tallymon_core::title::{TitleIndex, Titles};
use tallymon_log::native::{Chosen, NativeWriter, RowTime, SnapshotWriter, WriteOptions};
use tallymon_log::relog::Options;
use tallymon_log::{Format, LogError, LogErrorKind, Report, relog};

use crate::clock::LocalZone;
use crate::query::Query;

mod newest;
mod rolling;
pub mod session;

pub use newest::{Newest, convert_newest};
pub use rolling::{Closed, Existing, RollingRecorder, Rotation};

/// What of a snapshot is written, and under which names.
#[derive(Debug, Clone, Default)]
struct Choice {
    chosen: HashMap<TitleIndex, Vec<Chosen>>,
    host: String,
    titles: Titles,
}

impl Choice {
    /// What the paths of a query mean.
    fn of(query: &Query) -> Choice {
        Choice {
            chosen: query.chosen(),
            host: query.system_name().to_owned(),
            titles: query.names().english_titles(),
        }
    }
}

/// Writes snapshots of one host into a native log.
#[derive(Debug)]
pub struct Recorder {
    writer: SnapshotWriter<File>,
    path: PathBuf,
    host: String,
    titles: Titles,
    records: u64,
    /// Bytes that are on the disk.
    synced: u64,
}

impl Recorder {
    /// Records into a file. If it is a native log already, the recording continues it, after cutting a torn end.
    ///
    /// # Errors
    ///
    /// The file can not be written, or is there and no native log.
    pub fn append_to(path: &Path, options: WriteOptions) -> Result<Recorder, LogError> {
        let writer = NativeWriter::append_to(path, options)?;
        Ok(Recorder {
            writer: SnapshotWriter::new(writer),
            path: path.to_path_buf(),
            host: String::new(),
            titles: Titles::default(),
            records: 0,
            synced: 0,
        })
    }

    /// Records into a new file, which replaces one of the same name.
    ///
    /// # Errors
    ///
    /// The file can not be written.
    pub fn create(path: &Path, options: WriteOptions) -> Result<Recorder, LogError> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(LogError::from(error).in_file(path)),
            _ => Recorder::append_to(path, options),
        }
    }

    /// From the next record on, writes what the paths of a query mean; everything when it has none.
    pub fn choose(&mut self, query: &Query) {
        self.choose_as(&Choice::of(query));
    }

    fn choose_as(&mut self, choice: &Choice) {
        self.writer.choose(choice.chosen.clone());
        self.host.clone_from(&choice.host);
        self.titles.clone_from(&choice.titles);
    }

    /// Writes one record. `window` is begin and end of taking the snapshot, by the civil clock, so that the log shows when
    /// that clock was set; `local_minutes` are added to it to get the local time.
    ///
    /// # Errors
    ///
    /// Those of the file. Only this record is lost: later ones may succeed.
    pub fn record(
        &mut self,
        snapshot: &Snapshot,
        local_minutes: i32,
        window: (FileTime, FileTime),
    ) -> Result<(), LogError> {
        let time = RowTime { time: window.0, local_minutes };
        let begun = self.writer.row(time);
        let written = self.writer.snapshot(&self.host, snapshot, &self.titles, Some(window));
        self.records = self.records.saturating_add(1);
        let synced = self.sync_new();
        begun.and(written).and(synced).map_err(|error| LogError::from(error).in_file(&self.path))
    }

    /// Writes the records in memory, and returns when they are on the disk.
    ///
    /// # Errors
    ///
    /// Those of the file, see [`Recorder::record`].
    pub fn flush(&mut self) -> Result<(), LogError> {
        let flushed = self.writer.writer().flush().and_then(|()| self.sync_new());
        flushed.map_err(|error| LogError::from(error).in_file(&self.path))
    }

    /// Syncs new bytes to the disk: once a chunk, not once a record.
    fn sync_new(&mut self) -> io::Result<()> {
        let bytes = self.writer.writer().bytes();
        if bytes == self.synced {
            return Ok(());
        }
        self.synced = bytes;
        self.writer.writer().sync()
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes that were written, without those of records in memory.
    pub fn bytes(&mut self) -> u64 {
        self.writer.writer().bytes()
    }

    /// Records since it was opened.
    pub const fn records(&self) -> u64 {
        self.records
    }

    /// Completes the log with an index, by which readers go to a time at once.
    ///
    /// # Errors
    ///
    /// Those of the file. The log is readable all the same, without an index.
    pub fn seal(self) -> Result<(), LogError> {
        let path = self.path;
        let sealed = self.writer.into_inner().seal().and_then(|file| file.sync_all());
        sealed.map_err(|error| LogError::from(error).in_file(&path))
    }

    /// Completes the log, and converts it to another format under another name. The recording is removed then.
    ///
    /// # Errors
    ///
    /// Those of the files. The recording stays under its own name.
    pub fn finish(self, output: &Path, format: Format) -> Result<Report, LogError> {
        let path = self.path.clone();
        self.seal()?;
        convert(&path, output, format)
    }
}

/// Converts a recording to another format, and removes it when that is complete.
///
/// # Errors
///
/// Those of the files. The recording stays.
pub fn convert(recording: &Path, output: &Path, format: Format) -> Result<Report, LogError> {
    let options = Options { format, ..Options::default() };
    let report = relog(&[recording.to_path_buf()], output, &options)?;
    fs::remove_file(recording).map_err(|error| LogError::from(error).in_file(recording))?;
    Ok(report)
}

/// The name of a log while it is recorded: its own for a native log, else one beside it.
pub fn while_recording(output: &Path, format: Format) -> PathBuf {
    if format == Format::Tally {
        return output.to_path_buf();
    }
    let mut name = output.file_name().unwrap_or_default().to_os_string();
    name.push(".recording.tally");
    output.with_file_name(name)
}

/// Bytes that an hour of records takes at most, by the second of two samples. The first sample also has all names; and
/// records that are written together take less each.
///
/// # Errors
///
/// More columns than a log can have.
pub fn estimate(query: &Query, samples: [&Snapshot; 2], records_an_hour: f64) -> Result<f64, LogError> {
    let options = WriteOptions { rows: 1, ..WriteOptions::default() };
    let mut writer = SnapshotWriter::new(NativeWriter::new(Vec::new(), options)?);
    writer.choose(query.chosen());
    let titles = query.names().english_titles();
    let mut bytes = 0.0;
    for sample in samples {
        let before = writer.writer().bytes();
        writer.row(RowTime { time: sample.header().perf_time_100ns, local_minutes: 0 })?;
        writer.snapshot(query.system_name(), sample, &titles, None)?;
        writer.writer().flush()?;
        bytes = writer.writer().bytes().saturating_sub(before) as f64;
    }
    Ok(bytes * records_an_hour)
}

/// Options for a native log that begins at a time, in a zone.
pub fn write_options(zone: &LocalZone, time: FileTime) -> WriteOptions {
    WriteOptions { zone: zone.of_log(time), ..WriteOptions::default() }
}

impl Query {
    /// What its paths mean, as a writer of logs takes it.
    pub fn chosen(&self) -> HashMap<TitleIndex, Vec<Chosen>> {
        let mut chosen: HashMap<TitleIndex, Vec<Chosen>> = HashMap::new();
        for (object, counters, instance) in self.meant() {
            let paths = chosen.entry(object).or_default();
            paths.push(Chosen { counters: counters.to_vec(), instance: instance.cloned() });
        }
        chosen
    }
}

/// The format of a log to write: the named one, else that of the extension of the file, else `otherwise`.
///
/// # Errors
///
/// There is no such format, or this build can not write it.
pub fn format_of(name: Option<&str>, output: &Path, otherwise: Format) -> Result<Format, LogError> {
    let refused = |words: String| LogError::new(LogErrorKind::Request(words));
    let format = match name {
        Some(name) => Format::from_name(name).ok_or_else(|| {
            let names: Vec<&str> = tallymon_log::FORMATS.iter().map(|format| format.name).collect();
            refused(format!("no format {name:?}; there are {}", names.join(", ")))
        })?,
        None => {
            let extension = output.extension().map(|extension| extension.to_string_lossy());
            extension.and_then(|name| Format::from_name(&name)).unwrap_or(otherwise)
        }
    };
    if !format.info().writes {
        return Err(refused(format!("this program was built without {}", format.info().description)));
    }
    Ok(format)
}
