//! Reads native logs: one chunk is in memory at a time.

use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::sync::Arc;

use tallymon_core::bytes::Bytes;
use tallymon_core::error::Error;
use tallymon_core::flow::{NoValue, PartialSum, Sample, ValueState};
use tallymon_core::time::FileTime;

use super::bits::BitReader;
use super::contents_read;
use super::fields::Fields;
use super::frame::{FRAME, Found, Frames, kind};
use super::index::{self, ChunkHead, Known};
use super::schema::{self, Definition, Instance};
use super::state::{Lane, State};
use super::tail_read::RowCount;
use super::{FORMAT_VERSION, HEAD, MOST_COLUMNS, MOST_NUMBERS, NAME_BYTES};
use crate::error::{Damage, LogError};
use crate::format::Format;
use crate::reader::{
    About, Contents, LogPlace, LogReader, PartStatistics, Record, RecordPosition, ScannedRecord,
};

/// The number of columns that a log may have at the start, and more for each byte read: a log of a few bytes
/// cannot fill the memory with names.
const COLUMNS: (usize, u64) = (1 << 16, 16);

/// Reads a native log.
#[derive(Debug)]
pub struct NativeReader<R> {
    pub(super) frames: Frames<R>,
    pub(super) about: About,
    pub(super) definitions: HashMap<u64, Arc<Definition>>,
    pub(super) hosts: Vec<String>,
    pub(super) tables: Vec<State>,
    /// Columns of instances, also of ended ones: an instance that comes back gets its columns again.
    pub(super) known: HashMap<(u64, usize, Instance), Vec<usize>>,
    /// Bytes of the names in the paths of all columns.
    pub(super) name_bytes: u64,
    /// The object of each column and the position in it, while the column has one.
    pub(super) places: Vec<Option<(usize, usize)>>,
    texts: HashMap<u64, String>,
    /// The previous chunk was read, so the next one can build on it.
    pub(super) whole: bool,
    pub(super) rows: usize,
    /// The next row of the chunk.
    pub(super) row: usize,
    pub(super) times: Lane,
    pub(super) minutes: Lane,
    pub(super) cells: Vec<Result<Sample, NoValue>>,
    index: Option<(u64, Known)>,
    /// The byte where the chunk begins with its definitions, if it is a key.
    pub(super) key_at: Option<u64>,
    /// The first definition behind the last chunk or row.
    pub(super) unit_at: Option<u64>,
    /// Only times and columns of chunks are read.
    pub(super) scanning: bool,
    /// Moves the input to a byte; `None` if it cannot seek.
    pub(super) to_byte: Option<fn(&mut R, u64) -> std::io::Result<()>>,
    /// Moves the input to its end, and says where that is.
    pub(super) to_end: Option<fn(&mut R) -> std::io::Result<u64>>,
    pub(super) contents: contents_read::ContentsState,
    /// The part of the log to which the rows belong, see [`LogReader::part`].
    pub(super) part: u64,
    /// The byte of the last record with rows.
    pub(super) rows_at: u64,
    pub(super) count: RowCount,
    /// The version that the log names in its first record.
    pub(super) version: u64,
}

/// When an object of a host was read for a row: the error of rates depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window<'a> {
    /// The host.
    pub host: &'a str,
    /// The object.
    pub object: &'a str,
    /// When reading began, UTC.
    pub begin: FileTime,
    /// When it ended, UTC.
    pub end: FileTime,
}

impl NativeReader<std::fs::File> {
    /// Opens a log.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or it is not a log of this version.
    pub fn open(path: &std::path::Path) -> Result<NativeReader<std::fs::File>, LogError> {
        let file = crate::file::log_file(path).map_err(|error| error.in_file(path))?;
        NativeReader::new(file).map_err(|error| error.in_file(path))
    }
}

impl<R: Read> NativeReader<R> {
    /// Reads a log from its first byte.
    ///
    /// # Errors
    ///
    /// The input cannot be read, or it is not a log of this version.
    pub fn new(mut input: R) -> Result<NativeReader<R>, LogError> {
        let mut head = Vec::new();
        input.by_ref().take(index::HEAD_AND_LOG as u64).read_to_end(&mut head)?;
        let is_good = index::check_head(&head)?;
        let behind = head.get(HEAD.len()..).unwrap_or_default();
        let mut reader = NativeReader {
            frames: Frames::after(behind, input, HEAD.len() as u64),
            about: About::new(Format::Tally),
            definitions: HashMap::new(),
            hosts: Vec::new(),
            tables: Vec::new(),
            known: HashMap::new(),
            name_bytes: 0,
            places: Vec::new(),
            texts: HashMap::new(),
            whole: false,
            rows: 0,
            row: 0,
            times: Lane::default(),
            minutes: Lane::default(),
            cells: Vec::new(),
            index: None,
            key_at: None,
            unit_at: None,
            scanning: false,
            to_byte: None,
            to_end: None,
            contents: contents_read::ContentsState::default(),
            part: 0,
            rows_at: 0,
            count: RowCount::from_start(),
            version: 1,
        };
        if !is_good {
            reader.damage(0, "the head of the log is damaged; nothing else is lost by that".to_owned());
        }
        reader.next_chunk()?;
        if !is_good && reader.version > FORMAT_VERSION {
            return Err(index::newer(reader.version));
        }
        Ok(reader)
    }

    /// The windows of the objects in the record that was read last.
    pub fn windows(&self) -> impl Iterator<Item = Window<'_>> {
        self.sampled().map(|table| {
            let [.., begin, end] = table.now;
            let Definition { host, object, .. } = &*table.definition;
            Window { host, object, begin: FileTime(begin), end: FileTime(end) }
        })
    }

    /// The objects that have values in the record that was read last.
    pub(super) fn sampled(&self) -> impl Iterator<Item = &State> {
        let row = self.row.saturating_sub(1);
        self.tables.iter().filter(move |table| table.is_sampled(row))
    }

    /// Reads records up to the next usable chunk; `false` at the end.
    pub(super) fn next_chunk(&mut self) -> Result<bool, LogError> {
        loop {
            let Some(found) = self.frames.next()? else {
                self.report_gone(None);
                return Ok(false);
            };
            match found {
                Found::Damage { .. } if self.go_back()? => {}
                Found::Record { kind: kind::JUMP, at } => self.jump(at)?,
                Found::Record { kind: kind::ROW | kind::CHUNK, .. }
                    if self.is_moved() && self.go_back()? => {}
                Found::Damage { at, length, cut } => {
                    self.whole = false;
                    let what = if cut {
                        format!("the last record is cut after {length} bytes; all before it is there")
                    } else {
                        format!("{length} bytes are no record; reading goes on behind them")
                    };
                    self.damage(at, what);
                }
                Found::Record { kind, at } => match self.record(kind, at) {
                    Ok(true) => return Ok(true),
                    Ok(false) => {}
                    Err(error) => {
                        self.whole = false;
                        self.rows = 0;
                        let at = at.saturating_add(FRAME as u64).saturating_add(error.at as u64);
                        self.damage(at, format!("the record is whole and cannot be understood: {error}"));
                    }
                },
            }
        }
    }

    /// Reads a record; `true` if it has rows.
    fn record(&mut self, kind: u8, at: u64) -> Result<bool, Error> {
        let body = self.frames.body();
        let unit_at = self.unit_at.unwrap_or(at);
        self.unit_at = (!matches!(kind, kind::CHUNK | kind::ROW)).then_some(unit_at);
        match kind {
            kind::LOG => {
                let found = schema::decode_log(body)?;
                (self.about.zone, self.about.caption) = (found.zone, found.caption);
                self.about.writer = Some(found.writer);
                self.version = found.version;
            }
            kind::DEFINITION => {
                let definition = Definition::decode(body)?;
                self.definitions.entry(schema::hash(body)).or_insert_with(|| Arc::new(definition));
            }
            kind::CHUNK => {
                let head = ChunkHead::decode(&mut Fields::new(body))?;
                if !head.key && !self.whole {
                    self.count.left_out(head);
                    return Ok(false);
                }
                let body = body.to_vec();
                self.key_at = head.key.then_some(unit_at);
                self.chunk(&body)?;
                self.note_part(head);
                self.rows_at = at;
                self.took_rows(head, at);
                return Ok(self.row < self.rows);
            }
            kind::ROW => {
                let body = body.to_vec();
                return self.tail_row(&body, at, unit_at);
            }
            // Whoever reads everything learns from an index only what is gone before it.
            kind::INDEX => {
                let known = index::decode(body)?;
                self.end_of_rows(&known);
            }
            // Other kinds are of later versions.
            _ => {}
        }
        Ok(false)
    }

    pub(super) fn damage(&mut self, byte: u64, what: String) {
        let record = Some(self.about.records.saturating_add(1));
        self.about.notes.damage(Damage { byte, buffer: None, record, line: None, what });
    }

    fn chunk(&mut self, body: &[u8]) -> Result<(), Error> {
        (self.rows, self.row, self.whole) = (0, 0, false);
        let mut fields = Fields::new(body);
        let head = ChunkHead::decode(&mut fields)?;
        self.names(&mut fields, head.key)?;
        let at = fields.at();
        let mut bits = BitReader::new(fields.rest());
        let mut decode = || {
            self.times.decode(&mut bits, head.rows, head.key)?;
            self.minutes.decode(&mut bits, head.rows, head.key)?;
            if self.scanning {
                return Some(());
            }
            let (mut room, about) = (MOST_NUMBERS, &mut self.about);
            for table in &mut self.tables {
                table.decode(&mut bits, head.rows, head.key, &mut room, |column, bits| {
                    about.took(column, bits)
                })?;
            }
            (!bits.is_spent()).then_some(())
        };
        decode()
            .ok_or_else(|| Error::value("numbers of a chunk", at, "series of numbers", head.rows as u64))?;
        (self.rows, self.whole) = (head.rows, true);
        Ok(())
    }

    /// Reads the objects, instances and texts that begin with a chunk or row.
    pub(super) fn names(&mut self, fields: &mut Fields<'_>, key: bool) -> Result<(), Error> {
        if key {
            self.tables.clear();
            self.texts.clear();
            self.places.fill(None);
            self.cells.fill(Err(NoValue::NoInstance));
        }
        for _ in 0..fields.count("objects of a chunk")? {
            let at = fields.at();
            let hash = Bytes::little(fields.bytes(8, "definition of an object")?)
                .u64(0, "definition of an object")?;
            let definition = self.definitions.get(&hash).map(Arc::clone);
            let definition =
                definition.ok_or_else(|| Error::value("object", at, "a definition before it", hash))?;
            let host = self.host(&definition.host);
            self.tables.push(State::new(hash, definition, host));
        }
        for table in 0..self.tables.len() {
            self.instances(fields, table)?;
        }
        let mut number = fields.number("number of a text")?;
        for _ in 0..fields.count("texts of a chunk")? {
            self.texts.insert(number, fields.text("text of a counter")?.to_owned());
            number = number.wrapping_add(1);
        }
        Ok(())
    }

    fn host(&mut self, name: &str) -> usize {
        match self.hosts.iter().position(|host| host == name) {
            Some(host) => host,
            None => {
                self.hosts.push(name.to_owned());
                self.hosts.len().saturating_sub(1)
            }
        }
    }

    /// Reads the instances of an object that begin with this chunk.
    fn instances(&mut self, fields: &mut Fields<'_>, number: usize) -> Result<(), Error> {
        let Some(table) = self.tables.get(number) else { return Ok(()) };
        let definition = Arc::clone(&table.definition);
        let hash = table.hash;
        // Instances that are just the same are told apart by their order.
        let mut same: HashMap<Instance, usize> = HashMap::new();
        for _ in 0..fields.count("instances of an object")? {
            let at = fields.at();
            let instance = Instance::decode(fields, &definition)?;
            let width = instance.width(&definition);
            let cells = self.tables.iter().map(State::cells).fold(width, usize::saturating_add);
            let nth = same.entry(instance.clone()).or_default();
            let key = (hash, *nth, instance);
            *nth = nth.saturating_add(1);
            let (least, each) = COLUMNS;
            let bytes = self.frames.read();
            let read = usize::try_from(bytes.saturating_mul(each)).unwrap_or(usize::MAX);
            let columns = self.about.columns.len().saturating_add(width);
            if cells > MOST_COLUMNS || columns > least.saturating_add(read) {
                return Err(Error::value("columns of a log", at, "fewer of them", columns as u64));
            }
            if !self.known.contains_key(&key) {
                let names = self.name_bytes.saturating_add(key.2.name_bytes(&definition));
                let (least, each) = NAME_BYTES;
                if names > least.saturating_add(bytes.saturating_mul(each)) {
                    return Err(Error::value("bytes of names in paths", at, "fewer of them", names));
                }
                self.name_bytes = names;
                let first = self.about.columns.len();
                let made = (0..width).filter_map(|nth| definition.column(&key.2, nth));
                self.about.columns.extend(made);
                self.known.insert(key.clone(), (first..self.about.columns.len()).collect());
            }
            self.cells.resize(self.about.columns.len(), Err(NoValue::NoInstance));
            self.places.resize(self.about.columns.len(), None);
            let Some(columns) = self.known.get(&key) else { continue };
            let Some(table) = self.tables.get_mut(number) else { continue };
            for (cell, column) in (table.cells()..).zip(columns) {
                if let Some(place) = self.places.get_mut(*column) {
                    *place = Some((number, cell));
                }
            }
            table.add(&key.2, key.1, columns);
        }
        Ok(())
    }

    /// Moves all objects to a row of the chunk.
    pub(super) fn seek_to(&mut self, row: usize) {
        let time = self.times.at(row);
        let mut before = vec![[time, 0, 0, 0, time, time]; self.hosts.len()];
        for table in &mut self.tables {
            if let Some(before) = before.get_mut(table.host) {
                table.seek_to(row, before);
            }
        }
    }

    /// Takes the next row into `cells`.
    pub(super) fn take(&mut self) -> Option<(FileTime, i32)> {
        if self.row >= self.rows {
            return None;
        }
        let row = self.row;
        self.seek_to(row);
        for table in &self.tables {
            if table.is_sampled(row) {
                table.values(&mut self.cells);
            } else {
                for column in table.columns() {
                    if let Some(cell) = self.cells.get_mut(column) {
                        *cell = Err(NoValue::NoInstance);
                    }
                }
            }
        }
        self.row = row.saturating_add(1);
        self.about.records = self.about.records.saturating_add(1);
        self.count.newest = Some(FileTime(self.times.at(row)));
        let minutes = super::series::unzigzag(self.minutes.at(row));
        Some((FileTime(self.times.at(row)), i32::try_from(minutes).unwrap_or_default()))
    }
}

impl<R: Read + Seek> NativeReader<R> {
    /// As [`NativeReader::new`], for an input that can seek to any key.
    ///
    /// # Errors
    ///
    /// As [`NativeReader::new`].
    pub fn seekable(input: R) -> Result<NativeReader<R>, LogError> {
        let mut reader = NativeReader::new(input)?;
        reader.to_byte = Some(|input, byte| input.seek(SeekFrom::Start(byte)).map(drop));
        reader.to_end = Some(|input| input.seek(SeekFrom::End(0)));
        Ok(reader)
    }

    /// Seeks to a time: the next record is the first one in the log that is not older. If a clock was set
    /// back, this is the record before the step.
    ///
    /// Returns `false` if the log ends before that time. There is no next record then.
    ///
    /// # Errors
    ///
    /// The input cannot be read.
    pub fn seek(&mut self, time: FileTime) -> Result<bool, LogError> {
        let length = self.frames.input().seek(SeekFrom::End(0))?;
        let known = match self.index.take() {
            Some((size, known)) if size == length => known,
            _ => {
                let known = index::rebuild(self.frames.input(), length)?;
                self.load(&known)?;
                known
            }
        };
        let place = known.keys.iter().find(|key| key.most >= time.0).map_or(length, |key| key.at);
        self.index = Some((length, known));
        self.frames.input().seek(SeekFrom::Start(place))?;
        self.frames.restart(place);
        (self.rows, self.row, self.whole, self.scanning) = (0, 0, false, false);
        (self.unit_at, self.count) = (None, RowCount::default());
        while self.next_chunk()? {
            let found = self.times.values.iter().position(|found| *found >= time.0);
            self.row = found.unwrap_or(self.rows);
            if found.is_some() {
                return Ok(true);
            }
            self.seek_to(self.rows.saturating_sub(1));
        }
        Ok(false)
    }

    /// Reads the definitions that an index names.
    fn load(&mut self, known: &Known) -> Result<(), LogError> {
        for at in &known.definitions {
            self.frames.input().seek(SeekFrom::Start(*at))?;
            self.frames.restart(*at);
            if let Some(Found::Record { kind: kind::DEFINITION, .. }) = self.frames.next()?
                && let Err(error) = self.record(kind::DEFINITION, *at)
            {
                self.damage(*at, format!("the definition cannot be understood: {error}"));
            }
        }
        Ok(())
    }
}

impl<R: Read + Send> LogReader for NativeReader<R> {
    fn about(&self) -> &About {
        &self.about
    }

    fn next_record(&mut self) -> Result<Option<Record>, LogError> {
        loop {
            if let Some((time, local_minutes)) = self.take() {
                return Ok(Some(Record { time, local_minutes, cells: self.cells.clone() }));
            }
            if !self.next_chunk()? {
                self.rows = 0;
                return Ok(None);
            }
        }
    }

    fn text(&self, column: usize) -> Option<&str> {
        let (table, cell) = self.places.get(column).copied().flatten()?;
        let table = self.tables.get(table).filter(|table| table.is_sampled(self.row.saturating_sub(1)))?;
        self.texts.get(&table.text(cell)?).map(String::as_str)
    }

    fn is_stale(&self, column: usize) -> bool {
        let place = self.places.get(column).copied().flatten();
        place.is_some_and(|(table, cell)| {
            self.tables.get(table).is_some_and(|table| table.state(cell) == ValueState::Stale)
        })
    }

    fn partial(&self, column: usize) -> Option<PartialSum> {
        let (table, cell) = self.places.get(column).copied().flatten()?;
        match self.tables.get(table)?.state(cell) {
            ValueState::Partial(sum) => Some(sum),
            _ => None,
        }
    }

    fn position(&self) -> Option<RecordPosition> {
        self.to_byte?;
        // A reader can begin only at the first row of a chunk.
        let byte = self.key_at.filter(|_| self.row == 1)?;
        Some(RecordPosition {
            byte,
            records: self.about.records.saturating_sub(1),
            list: 0,
            line: 0,
            minutes: None,
        })
    }

    fn seek_to(&mut self, place: RecordPosition) -> Result<bool, LogError> {
        let Some(to_byte) = self.to_byte else { return Ok(false) };
        to_byte(self.frames.input(), place.byte)?;
        self.frames.restart(place.byte);
        (self.rows, self.row, self.whole, self.scanning) = (0, 0, false, false);
        (self.unit_at, self.count) = (None, RowCount::default());
        self.about.records = place.records;
        Ok(true)
    }

    fn scan(&mut self, each: &mut dyn FnMut(ScannedRecord) -> ControlFlow<()>) -> Result<(), LogError> {
        self.scanning = true;
        loop {
            while self.row < self.rows {
                let minutes = super::series::unzigzag(self.minutes.at(self.row));
                let time = FileTime(self.times.at(self.row));
                self.row = self.row.saturating_add(1);
                self.about.records = self.about.records.saturating_add(1);
                self.count.newest = Some(time);
                let local_minutes = i32::try_from(minutes).unwrap_or_default();
                let columns = self.cells.len();
                if each(ScannedRecord { time, local_minutes, columns, position: self.position() }).is_break()
                {
                    return Ok(());
                }
            }
            if !self.next_chunk()? {
                (self.rows, self.row) = (0, 0);
                return Ok(());
            }
        }
    }

    fn contents(&mut self, take_columns: bool) -> Result<Option<Contents>, LogError> {
        self.read_contents(take_columns)
    }

    fn places(&mut self, part: usize) -> Result<Vec<LogPlace>, LogError> {
        self.read_places(part)
    }

    fn statistics(
        &mut self,
        part: usize,
        wanted: &[usize],
        only_counts: bool,
    ) -> Result<Option<PartStatistics>, LogError> {
        self.read_statistics(part, wanted, only_counts)
    }

    fn part(&self) -> u64 {
        self.part
    }
}
