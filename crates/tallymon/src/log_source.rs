//! A performance log as a source: what was recorded, at a time of choice.
//!
//! A log is read once for its counters and its range. Whoever wants the values of a chart reads the columns that are in
//! it from beginning to end; whoever wants everything at one time asks a [`LogSource`] for a snapshot, as any source.
//! Values come computed, since a log of computed values has nothing else; the definitions say what type they were.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tallymon_core::block::{
    BlockWriter, CounterSpec, DetailLevel, InstanceKind, ObjectLayout, ObjectSpec, Snapshot, WriteHeader,
};
use tallymon_core::counter::CounterType;
use tallymon_core::flow::{Absence, NoValue, Source, SourceError, SourceErrorKind, Value, ValueState};
use tallymon_core::path::{CounterPath, Part};
use tallymon_core::request::{Request, RequestKind};
use tallymon_core::time::{FileTime, Frequency, PerfTime};
use tallymon_core::title::{HelpIndex, Language, TitleIndex, Titles};
use tallymon_host::titles;
use tallymon_log::{Column, Cooker, Format, LogError, LogErrorKind, LogReader, Notes, ReadOptions, Record};

use crate::matching::InstanceKey;

/// Names that no table knows get numbers from here on.
const OWN_NAMES: u32 = 1_000_000;

/// One host of a log of any format that can be read: the first one, until [`Log::of_host`] asks for another. Clones are of
/// the same log, at the same time.
#[derive(Debug, Clone)]
pub struct Log {
    opened: Arc<Opened>,
    /// Position of the host.
    host: usize,
}

#[derive(Debug)]
struct Opened {
    path: PathBuf,
    options: ReadOptions,
    hosts: Vec<LogHost>,
    own_names: Vec<(TitleIndex, String)>,
    summary: LogSummary,
    /// What snapshots are of.
    wanted: Mutex<Wanted>,
}

/// The record that a snapshot is of.
#[derive(Debug, Clone, Copy)]
enum Wanted {
    /// The last one at or before a time, or the first one.
    At(FileTime),
    /// The one with so many before it, or the last one.
    Nth(u64),
}

/// What is in a log.
#[derive(Debug, Clone, PartialEq)]
pub struct LogSummary {
    /// Its format.
    pub format: Format,
    /// Number of records.
    pub records: u64,
    /// Time of the first record.
    pub first: FileTime,
    /// Time of the last record.
    pub last: FileTime,
    /// What is damaged, and remarks.
    pub notes: Notes,
    /// Hosts that it has counters of, in its order; the name is empty where the log has none.
    pub hosts: Vec<String>,
}

#[derive(Debug)]
struct LogHost {
    name: String,
    objects: Vec<LogObject>,
}

#[derive(Debug)]
struct LogObject {
    name: TitleIndex,
    has_instances: bool,
    counters: Vec<CounterSpec>,
    /// In the order in which they came, with their numbers.
    instances: Vec<String>,
    /// The column of an instance and a counter, by their positions.
    columns: HashMap<(usize, usize), usize>,
}

impl Log {
    /// Reads a log once, for what is in it.
    ///
    /// # Errors
    ///
    /// It can not be read, is no log, or has no counters.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Log, SourceError> {
        let mut reader = tallymon_log::open(path, options).map_err(source_error)?;
        let (mut first, mut last, mut records) = (None, FileTime(0), 0u64);
        while let Some(record) = reader.next_record().map_err(|error| source_error(error.in_file(path)))? {
            first.get_or_insert(record.time);
            last = record.time;
            records = records.saturating_add(1);
        }
        let about = reader.about();
        let mut shelf = Shelf::new()?;
        for (position, column) in about.columns.iter().enumerate() {
            shelf.put(position, column);
        }
        if shelf.hosts.is_empty() {
            let words = format!("{}: the log has no counters", path.display());
            return Err(SourceError::new(SourceErrorKind::NotFound, words));
        }
        let summary = LogSummary {
            format: about.format,
            records,
            first: first.unwrap_or_default(),
            last,
            notes: about.notes.clone(),
            hosts: shelf.hosts.iter().map(|host| host.name.clone()).collect(),
        };
        let opened = Opened {
            path: path.to_path_buf(),
            options: options.clone(),
            hosts: shelf.hosts,
            own_names: shelf.own_names,
            summary,
            wanted: Mutex::new(Wanted::At(FileTime(0))),
        };
        Ok(Log { opened: Arc::new(opened), host: 0 })
    }

    /// The same log, at the same time, of another of its hosts; letter case does not matter.
    pub fn of_host(&self, name: &str) -> Option<Log> {
        let host = self.opened.hosts.iter().position(|host| host.name.eq_ignore_ascii_case(name))?;
        Some(Log { host, ..self.clone() })
    }

    /// The host that this is of; empty where the log does not say.
    pub fn host(&self) -> &str {
        self.opened.hosts.get(self.host).map_or("", |host| host.name.as_str())
    }

    fn objects(&self) -> &[LogObject] {
        self.opened.hosts.get(self.host).map_or(&[], |host| host.objects.as_slice())
    }

    /// What is in it.
    pub fn summary(&self) -> &LogSummary {
        &self.opened.summary
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.opened.path
    }

    /// A source over it. Its snapshots have all instances that the log ever has.
    pub fn source(&self) -> LogSource {
        LogSource { log: self.clone(), place: None }
    }

    /// Snapshots are of the last record at or before this time from now on; of the first one when there is none before.
    pub fn set_time(&self, time: FileTime) {
        self.want(Wanted::At(time));
    }

    /// Snapshots are of the record with so many before it from now on; of the last one when there are fewer.
    pub fn set_record(&self, nth: u64) {
        self.want(Wanted::Nth(nth));
    }

    fn want(&self, wanted: Wanted) {
        *self.opened.wanted.lock().unwrap_or_else(PoisonError::into_inner) = wanted;
    }

    /// The column of a counter; without an instance for an object that has none.
    pub fn column(
        &self,
        object: TitleIndex,
        counter: TitleIndex,
        key: Option<&InstanceKey>,
    ) -> Option<usize> {
        let object = self.objects().iter().find(|known| known.name == object)?;
        let counter = object.counters.iter().position(|known| known.name == counter)?;
        let instance = match key {
            None => 0,
            Some(key) => {
                let nth = usize::try_from(key.number).ok()?;
                let mut same = object.instances.iter().enumerate().filter(|(_, name)| **name == key.name);
                same.nth(nth)?.0
            }
        };
        object.columns.get(&(instance, counter)).copied()
    }

    /// Reads some columns from the first record to the last: `each` gets the time and the values in the order of the
    /// columns, and says whether to go on.
    ///
    /// # Errors
    ///
    /// The file can no longer be read.
    pub fn read(
        &self,
        columns: &[usize],
        mut each: impl FnMut(FileTime, &[Result<Value, NoValue>]) -> bool,
    ) -> Result<(), SourceError> {
        let mut reader = self.reader()?;
        let (mut cooker, mut values) = (Cooker::default(), Vec::new());
        let mut wanted = Record { time: FileTime(0), local_minutes: 0, cells: Vec::new() };
        while let Some(record) = reader.next_record().map_err(source_error)? {
            wanted.cells.clear();
            wanted.cells.extend(
                columns
                    .iter()
                    .map(|column| record.cells.get(*column).copied().unwrap_or(Err(NoValue::NoInstance))),
            );
            cooker.cook_into(&wanted, &mut values);
            if !each(record.time, &values) {
                break;
            }
        }
        Ok(())
    }

    fn reader(&self) -> Result<Box<dyn LogReader>, SourceError> {
        tallymon_log::open(&self.opened.path, &self.opened.options).map_err(source_error)
    }
}

/// Answers with the values of a [`Log`] at its time.
pub struct LogSource {
    log: Log,
    place: Option<Place>,
}

/// How far a source has read.
struct Place {
    reader: Box<dyn LogReader>,
    cooker: Cooker,
    values: Vec<Result<Value, NoValue>>,
    /// The record whose values these are.
    time: Option<FileTime>,
    /// Records up to it.
    count: u64,
    /// The record behind it, when it was read already.
    ahead: Option<Record>,
}

impl Place {
    /// Whether it is behind what is wanted, so that reading has to begin anew.
    fn is_behind(&self, wanted: Wanted) -> bool {
        match wanted {
            Wanted::At(wanted) => self.time.is_some_and(|time| time > wanted),
            Wanted::Nth(nth) => self.count > nth.saturating_add(1),
        }
    }

    /// Whether a record that follows is too late.
    fn is_enough(&self, next: &Record, wanted: Wanted) -> bool {
        self.time.is_some()
            && match wanted {
                Wanted::At(wanted) => next.time > wanted,
                Wanted::Nth(nth) => self.count > nth,
            }
    }
}

impl LogSource {
    /// Goes to the time of the log; back means from the beginning.
    fn go(&mut self) -> Result<&Place, SourceError> {
        let wanted = *self.log.opened.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = self.place.take().filter(|place| !place.is_behind(wanted));
        let place = self.place.insert(match kept {
            Some(place) => place,
            None => Place {
                reader: self.log.reader()?,
                cooker: Cooker::default(),
                values: Vec::new(),
                time: None,
                count: 0,
                ahead: None,
            },
        });
        loop {
            let next = match place.ahead.take() {
                Some(record) => Some(record),
                None => place.reader.next_record().map_err(source_error)?,
            };
            let Some(record) = next else { break };
            if place.is_enough(&record, wanted) {
                place.ahead = Some(record);
                break;
            }
            place.cooker.cook_into(&record, &mut place.values);
            place.time = Some(record.time);
            place.count = place.count.saturating_add(1);
        }
        Ok(place)
    }
}

impl Source for LogSource {
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        let log = self.log.clone();
        let (metadata, wanted): (bool, Option<&[TitleIndex]>) = match &request.kind {
            RequestKind::Metadata { costly, .. } => (true, costly.then_some(&[])),
            RequestKind::Objects(objects) => (false, Some(objects)),
            RequestKind::Global => (false, None),
            _ => (false, Some(&[])),
        };
        let nothing: &[Result<Value, NoValue>] = &[];
        let (time, values) = if metadata {
            (log.opened.summary.first, nothing)
        } else {
            let place = self.go()?;
            (place.time.unwrap_or_default(), place.values.as_slice())
        };
        let header = WriteHeader {
            system_name: log.host(),
            default_object: -1,
            perf_time: PerfTime(0),
            perf_freq: Frequency(0),
            perf_time_100ns: time,
            system_time: time,
        };
        let mut bytes = Vec::new();
        let mut writer = BlockWriter::growing(&mut bytes, &header);
        for object in
            log.objects().iter().filter(|object| wanted.is_none_or(|wanted| wanted.contains(&object.name)))
        {
            object.write(&mut writer, metadata, values);
        }
        writer.finish().map_err(|error| SourceError::new(SourceErrorKind::BadData, error.to_string()))?;
        Ok(Snapshot::new(bytes)?)
    }

    fn titles(&mut self, language: Language) -> Result<Titles, SourceError> {
        let mut titles = titles::titles(language)?;
        for (index, name) in &self.log.opened.own_names {
            titles.insert_name(*index, name.clone());
        }
        Ok(titles)
    }

    fn languages(&self) -> Vec<Language> {
        titles::languages()
    }
}

impl LogObject {
    fn write(&self, writer: &mut BlockWriter<'_>, metadata: bool, values: &[Result<Value, NoValue>]) {
        // The values are computed already, whatever their counters were.
        let computed: Vec<CounterSpec> = self
            .counters
            .iter()
            .map(|counter| CounterSpec {
                counter_type: CounterType::PERF_DOUBLE_RAW,
                size: Some(8),
                ..*counter
            })
            .collect();
        let layout = ObjectLayout::new(ObjectSpec {
            name: self.name,
            help: HelpIndex(self.name.0.saturating_add(1)),
            detail: DetailLevel::NOVICE,
            default_counter: 0,
            instances: if self.has_instances { InstanceKind::Many } else { InstanceKind::None },
            status: !metadata,
            counters: if metadata { &self.counters } else { &computed },
        });
        let mut object = writer.objects().object(&layout, PerfTime(0), Frequency(0));
        if metadata {
            return object.metadata();
        }
        for (instance, name) in self.instances.iter().enumerate() {
            let mut block =
                if self.has_instances { object.instance(name, None, None) } else { object.single() };
            for counter in 0..self.counters.len() {
                let column = self.columns.get(&(instance, counter));
                let value = column.and_then(|column| values.get(*column)).cloned();
                match value.unwrap_or(Err(NoValue::NoInstance)) {
                    Ok(value) => block.set(counter, value.as_f64().unwrap_or_default().to_bits()),
                    Err(why) => block.state(counter, ValueState::Absent(absence(why))),
                }
            }
        }
    }
}

/// Sorts columns into hosts, objects, instances and counters.
struct Shelf {
    known: HashMap<String, TitleIndex>,
    own_names: Vec<(TitleIndex, String)>,
    hosts: Vec<LogHost>,
    /// Position of each host, of each object of each, and of each instance of each, by the text of the log in small
    /// letters.
    host_places: HashMap<String, usize>,
    places: HashMap<(usize, TitleIndex), usize>,
    instances: HashMap<(usize, usize, String), usize>,
}

impl Shelf {
    fn new() -> Result<Shelf, SourceError> {
        let mut known = HashMap::new();
        // A name of several numbers is the lowest of them, as in the first tables; English comes first.
        for language in titles::languages() {
            for (index, name) in titles::titles(language)?.names() {
                known.entry(name.to_lowercase()).or_insert(index);
            }
        }
        Ok(Shelf {
            known,
            own_names: Vec::new(),
            hosts: Vec::new(),
            host_places: HashMap::new(),
            places: HashMap::new(),
            instances: HashMap::new(),
        })
    }

    fn put(&mut self, position: usize, column: &Column) {
        let Some(parts) = &column.parts else { return };
        let host = self.host(parts);
        let object = self.object(host, parts);
        let instance = self.instance(host, object, parts);
        let name = self.index(&parts.counter);
        let Some(object) = self.known_object(host, object) else { return };
        let counter = object.counters.iter().position(|known| known.name == name).unwrap_or_else(|| {
            object.counters.push(CounterSpec {
                name,
                help: HelpIndex(name.0.saturating_add(1)),
                counter_type: column.counter_type,
                scale: column.scale,
                detail: DetailLevel::NOVICE,
                size: Some(8),
                shares: None,
            });
            object.counters.len().saturating_sub(1)
        });
        // Of two columns with one path the first is shown.
        object.columns.entry((instance, counter)).or_insert(position);
    }

    fn host(&mut self, parts: &CounterPath) -> usize {
        let name = parts.machine.clone().unwrap_or_default();
        let hosts = &mut self.hosts;
        *self.host_places.entry(name.to_lowercase()).or_insert_with(|| {
            hosts.push(LogHost { name, objects: Vec::new() });
            hosts.len().saturating_sub(1)
        })
    }

    fn known_object(&mut self, host: usize, object: usize) -> Option<&mut LogObject> {
        self.hosts.get_mut(host)?.objects.get_mut(object)
    }

    fn object(&mut self, host: usize, parts: &CounterPath) -> usize {
        let name = self.index(&parts.object);
        let Some(known) = self.hosts.get_mut(host) else { return 0 };
        *self.places.entry((host, name)).or_insert_with(|| {
            known.objects.push(LogObject {
                name,
                has_instances: parts.instance.is_some(),
                counters: Vec::new(),
                instances: Vec::new(),
                columns: HashMap::new(),
            });
            known.objects.len().saturating_sub(1)
        })
    }

    /// The position of an instance; the only one of an object without instances is 0.
    fn instance(&mut self, host: usize, object: usize, parts: &CounterPath) -> usize {
        let (key, name) = match &parts.instance {
            // Its number is its place among those of its name.
            Some(instance) => (instance.to_string().to_lowercase(), instance.text().to_string()),
            None => (String::new(), String::new()),
        };
        let Some(known) = self.hosts.get_mut(host).and_then(|host| host.objects.get_mut(object)) else {
            return 0;
        };
        *self.instances.entry((host, object, key)).or_insert_with(|| {
            known.instances.push(name);
            known.instances.len().saturating_sub(1)
        })
    }

    fn index(&mut self, part: &Part) -> TitleIndex {
        let name = match part {
            Part::Index(index) => return TitleIndex(*index),
            Part::Name(name) => name,
        };
        let (own_names, next) = (&mut self.own_names, OWN_NAMES);
        *self.known.entry(name.to_lowercase()).or_insert_with(|| {
            // Names are even, and the help text of each is the number behind it.
            let count = u32::try_from(own_names.len()).unwrap_or(u32::MAX);
            let index = TitleIndex(next.saturating_add(count.saturating_mul(2)));
            own_names.push((index, name.clone()));
            index
        })
    }
}

fn absence(why: NoValue) -> Absence {
    match why {
        NoValue::FirstSample => Absence::FirstSample,
        NoValue::NoInstance => Absence::Vanished,
        NoValue::NoData(absence) => absence,
        _ => Absence::Other,
    }
}

fn source_error(error: LogError) -> SourceError {
    let kind = match &error.kind {
        LogErrorKind::Io(error) if error.kind() == std::io::ErrorKind::NotFound => SourceErrorKind::NotFound,
        LogErrorKind::Io(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            SourceErrorKind::AccessDenied
        }
        LogErrorKind::Io(_) => SourceErrorKind::Io,
        _ => SourceErrorKind::BadData,
    };
    SourceError::new(kind, error.to_string())
}
