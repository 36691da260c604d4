//! Recording live values into a log, so that a crash of the recorder costs one record.
//!
//! A recording is a native log: raw values, each record written when it is taken, with new instances as they
//! appear.
//! Other formats have to know their columns before the first record; they are converted from the complete
//! recording, see [`convert`].
//!
//! | to | use |
//! |---|---|
//! | record into one file | [`Recorder`] |
//! | record into files with numbers, or a ring of them | [`RollingRecorder`] |
//! | record several hosts into one file | [`many_hosts`] |
//! | record in a process of its own that others control | [`session`] |

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tallymon_core::block::Snapshot;
use tallymon_core::time::FileTime;
use tallymon_core::title::{TitleIndex, Titles};
use tallymon_log::native::{Chosen, NativeWriter, RowTime, SnapshotWriter, WriteOptions};
use tallymon_log::new_file::{NewFile, Overwrite};
use tallymon_log::relog::Options;
use tallymon_log::{Format, LogError, LogErrorKind, Report, relog};

use crate::clock::LocalZone;
use crate::names::InstanceNames;
use crate::query::Query;

mod claim;
pub mod many_hosts;
mod newest;
mod rolling;
pub mod session;

pub use newest::{Newest, convert_newest};
pub use rolling::{Closed, Counts, Existing, RollingRecorder, Rotation};

/// What of a snapshot is written, and under which names.
#[derive(Debug, Clone, Default)]
struct Choice {
    chosen: HashMap<TitleIndex, Vec<Chosen>>,
    host: String,
    titles: Titles,
    instances: InstanceNames,
}

impl Choice {
    /// What the paths of a query mean.
    fn of(query: &Query) -> Choice {
        Choice {
            chosen: query.chosen(),
            host: query.system_name().to_owned(),
            titles: query.names().english_titles(),
            instances: query.names().instances(),
        }
    }
}

/// A snapshot of another host for a record.
#[derive(Debug, Clone)]
pub struct HostSnapshot {
    /// Its name in counter paths.
    pub host: String,
    /// The snapshot.
    pub snapshot: Snapshot,
    /// From when to when it was taken, by the clock of this machine.
    pub window: (FileTime, FileTime),
}

/// Writes snapshots into a native log: of one host, or of several in one record.
#[derive(Debug)]
pub struct Recorder {
    writer: SnapshotWriter<File>,
    path: PathBuf,
    host: String,
    titles: Titles,
    /// The names of the counters of other hosts.
    host_titles: HashMap<String, Titles>,
    records: u64,
    /// How often the disk is synced, and when it was.
    sync: (Duration, Instant),
    /// Records that are on the disk.
    synced: u64,
    /// A new file that has no records yet.
    begun: Option<NewFile>,
}

/// How often a recording is synced to the disk unless somebody says otherwise: what a power failure can cost.
pub const SYNC: Duration = Duration::from_secs(10);

impl Recorder {
    /// Records into a file. If it is a native log already, the recording continues it, after cutting a torn
    /// end.
    ///
    /// # Errors
    ///
    /// The file cannot be written, is there and no native log, or another recorder writes it.
    pub fn append_to(path: &Path, options: WriteOptions) -> Result<Recorder, LogError> {
        let file = claim::open(path)?;
        let writer = NativeWriter::append(file, options).map_err(|error| error.in_file(path))?;
        Ok(Recorder::with(path, writer, None))
    }

    /// Records into a new file. An old file of that name stays until the first record is on the disk.
    ///
    /// # Errors
    ///
    /// The file cannot be written, exists and must not be replaced, or another recorder writes it.
    pub fn create(path: &Path, overwrite: Overwrite, options: WriteOptions) -> Result<Recorder, LogError> {
        let new = claim::begin(path, overwrite)?;
        let begin = || {
            if !new.is_file() {
                return Err(io::Error::other("a recording needs a file"));
            }
            NativeWriter::new(new.file()?, options)
        };
        let writer = begin().map_err(|error| LogError::from(error).in_file(path))?;
        Ok(Recorder::with(path, writer, Some(new)))
    }

    fn with(path: &Path, writer: NativeWriter<File>, begun: Option<NewFile>) -> Recorder {
        Recorder {
            writer: SnapshotWriter::new(writer),
            path: path.to_path_buf(),
            host: String::new(),
            titles: Titles::default(),
            host_titles: HashMap::new(),
            records: 0,
            sync: (SYNC, Instant::now()),
            synced: 0,
            begun,
        }
    }

    /// Sets how often the recording is synced to the disk: what a power failure can cost.
    pub const fn sync_every(&mut self, time: Duration) {
        self.sync.0 = time;
    }

    /// From the next record on, writes what the paths of a query mean; everything when it has none.
    pub fn choose(&mut self, query: &Query) {
        self.choose_as(&Choice::of(query));
    }

    fn choose_as(&mut self, choice: &Choice) {
        self.writer.name_processes_with_ids(choice.instances == InstanceNames::ProcessId);
        self.writer.choose(choice.chosen.clone());
        self.host.clone_from(&choice.host);
        self.titles.clone_from(&choice.titles);
    }

    /// From the next record on, writes this of another host.
    fn choose_of_host(&mut self, choice: &Choice) {
        self.writer.choose_of(&choice.host, choice.chosen.clone());
        self.host_titles.insert(choice.host.clone(), choice.titles.clone());
    }

    /// What others did to the file: they deleted, replaced or cut it, or wrote to it. A recording cannot go
    /// on in it then.
    pub fn trouble(&mut self) -> Option<String> {
        let writer = self.writer.writer();
        let length = writer.bytes();
        let path = self.begun.as_ref().map_or(&*self.path, NewFile::path);
        claim::trouble(writer.output(), path, length)
    }

    /// Writes one record. `window` is begin and end of taking the snapshot, by the civil clock, so that the
    /// log shows when that clock was set; `local_minutes` are added to it to get the local time.
    ///
    /// # Errors
    ///
    /// Those of the file. The record is held and may be written later, see [`Recorder::lost`]. Or others
    /// changed the file, see [`Recorder::trouble`]; then the record is not taken.
    pub fn record(
        &mut self,
        snapshot: &Snapshot,
        local_minutes: i32,
        window: (FileTime, FileTime),
    ) -> Result<(), LogError> {
        self.record_all(window.0, local_minutes, Some((snapshot, window)), &[])
    }

    /// Writes one record with the snapshots of several hosts. The civil time of the record is that of this
    /// machine for all of them, so that a clock that is wrong moves no host's values in time.
    fn record_all(
        &mut self,
        time: FileTime,
        local_minutes: i32,
        own: Option<(&Snapshot, (FileTime, FileTime))>,
        others: &[HostSnapshot],
    ) -> Result<(), LogError> {
        if let Some(words) = self.trouble() {
            return Err(LogError::new(LogErrorKind::Unusable(words)).in_file(&self.path));
        }
        let begun = self.writer.row(RowTime { time, local_minutes });
        let mut written = own.map_or(Ok(()), |(snapshot, window)| {
            self.writer.snapshot(&self.host, snapshot, &self.titles, Some(window))
        });
        for HostSnapshot { host, snapshot, window } in others {
            let Some(titles) = self.host_titles.get(host) else { continue };
            written = written.and(self.writer.snapshot(host, snapshot, titles, Some(*window)));
        }
        let committed = self.writer.writer().commit().and_then(|()| self.name());
        self.records = self.records.saturating_add(1);
        let synced = if self.sync.1.elapsed() >= self.sync.0 { self.sync_new() } else { Ok(()) };
        let result = begun.and(written).and(committed).and(synced);
        result.map_err(|error| LogError::from(error).in_file(&self.path))
    }

    /// Returns when the records are on the disk.
    ///
    /// # Errors
    ///
    /// Those of the file, see [`Recorder::record`].
    pub fn flush(&mut self) -> Result<(), LogError> {
        let flushed = self.writer.writer().commit().and_then(|()| self.sync_new());
        flushed.map_err(|error| LogError::from(error).in_file(&self.path))
    }

    /// Syncs new records to the disk.
    fn sync_new(&mut self) -> io::Result<()> {
        self.sync.1 = Instant::now();
        if self.records == self.synced {
            return Ok(());
        }
        self.writer.writer().sync()?;
        self.synced = self.records;
        Ok(())
    }

    /// Gives a new file its name, once it has a record.
    fn name(&mut self) -> io::Result<()> {
        if self.writer.writer().held() > 0 {
            return Ok(());
        }
        self.begun.take().map_or(Ok(()), NewFile::keep)
    }

    /// Whether the file has records. One without any is removed with the recorder, unless it is sealed.
    pub const fn has_records(&self) -> bool {
        self.begun.is_none()
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of the file.
    pub fn bytes(&mut self) -> u64 {
        self.writer.writer().bytes()
    }

    /// Records since it was opened, with those that are held or lost.
    pub const fn records(&self) -> u64 {
        self.records
    }

    /// Records that the file does not have yet: there was no room for them.
    pub fn held(&mut self) -> u64 {
        self.writer.writer().held()
    }

    /// Records that there never was room for.
    pub fn lost(&mut self) -> u64 {
        self.writer.writer().lost()
    }

    /// Completes the log with an index, by which readers go to a time at once.
    ///
    /// # Errors
    ///
    /// Those of the file. The log is readable all the same, without an index.
    pub fn seal(self) -> Result<(), LogError> {
        let Recorder { path, writer, begun, .. } = self;
        let sealed = writer.into_inner().seal().and_then(|file| file.sync_all());
        let sealed = sealed.and_then(|()| begun.map_or(Ok(()), NewFile::keep_unsynced));
        sealed.map_err(|error| LogError::from(error).in_file(&path))
    }

    /// Completes the log, and converts it to another format under another name. The recording is removed
    /// then.
    ///
    /// # Errors
    ///
    /// Those of the files. The recording stays under its own name.
    pub fn finish(self, output: &Path, format: Format, overwrite: Overwrite) -> Result<Report, LogError> {
        let path = self.path.clone();
        self.seal()?;
        convert(&path, output, format, overwrite)
    }
}

/// Begins a file to record text into it. Nobody else can record into it while it is open.
///
/// # Errors
///
/// As [`Recorder::create`].
pub fn create_text(path: &Path, overwrite: Overwrite) -> Result<NewFile, LogError> {
    claim::begin(path, overwrite)
}

/// Converts a recording to another format, and removes it when that is complete.
///
/// # Errors
///
/// Those of the files. The recording stays.
pub fn convert(
    recording: &Path,
    output: &Path,
    format: Format,
    overwrite: Overwrite,
) -> Result<Report, LogError> {
    let options = Options { format, overwrite, ..Options::default() };
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

/// Bytes that an hour of records takes at most, by two samples: what the second one adds to a chunk with the
/// first, and the share of the names and first values that each chunk has.
///
/// # Errors
///
/// More columns than a log can have.
pub fn estimate(query: &Query, samples: [&Snapshot; 2], records_an_hour: f64) -> Result<f64, LogError> {
    let options = WriteOptions { write_through: false, ..WriteOptions::default() };
    let titles = query.names().english_titles();
    let mut sizes = [0.0; 2];
    let mut rows = 1.0f64;
    for (count, size) in (1..).zip(&mut sizes) {
        let mut writer = SnapshotWriter::new(NativeWriter::new(Vec::new(), options.clone())?);
        writer.choose(query.chosen());
        let before = writer.writer().bytes();
        for sample in samples.iter().take(count) {
            writer.row(RowTime { time: sample.header().perf_time_100ns, local_minutes: 0 })?;
            writer.snapshot(query.system_name(), sample, &titles, None)?;
        }
        writer.writer().commit()?;
        rows = writer.writer().rows_of_a_chunk() as f64;
        writer.writer().flush()?;
        *size = writer.writer().bytes().saturating_sub(before) as f64;
    }
    let [first, both] = sizes;
    let added = (both - first).max(0.0);
    Ok((added + first / rows.max(1.0)) * records_an_hour)
}

/// Options for a native log that begins at a time, in a zone.
pub fn write_options(zone: &LocalZone, time: FileTime) -> WriteOptions {
    WriteOptions { zone: zone.of_log(time), ..WriteOptions::default() }
}

impl Query {
    /// What its paths mean, as a writer of logs takes it.
    pub fn chosen(&self) -> HashMap<TitleIndex, Vec<Chosen>> {
        let mut chosen: HashMap<TitleIndex, Vec<Chosen>> = HashMap::new();
        let mut group = 0u32;
        for (object, counters, instance) in self.meant() {
            let paths = chosen.entry(object).or_default();
            paths.push(Chosen { counters: counters.to_vec(), group, instance: instance.cloned() });
            group = group.saturating_add(u32::try_from(counters.len()).unwrap_or(u32::MAX));
        }
        chosen
    }
}

/// The format of a log to write: the named one, else that of the extension of the file, else `otherwise`.
///
/// # Errors
///
/// There is no such format, or this build cannot write it.
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
