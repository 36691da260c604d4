//! Writes native logs: holds rows until a chunk is full, then writes the chunk as one record.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use tallymon_core::flow::{NoValue, Sample, ValueState};
use tallymon_core::time::{FileTime, UNITS_PER_SECOND};

use super::bits::BitWriter;
use super::cells::ChunkRow;
use super::fields::PutFields;
use super::frame::{LONGEST, frame, kind};
use super::index::{self, ChunkHead, Entry};
use super::output::{Output, WriteOptions};
use super::schema::{self, Definition, Instance};
use super::series::Scratch;
use super::table::{CLOCKS, Lane, STREAMS, Table};
use super::tail::Tail;
use super::{HEAD, MOST_COLUMNS, MOST_NUMBERS, MOST_ROWS};

/// An object of a host in a [`NativeWriter`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TableId(pub(super) usize);

/// An instance of an object in a [`NativeWriter`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct InstanceId {
    pub(super) table: usize,
    pub(super) position: usize,
}

/// The time of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowTime {
    /// The time, UTC.
    pub time: FileTime,
    /// Minutes to add for the local time of the machine.
    pub local_minutes: i32,
}

/// Writes a native log.
///
/// [`NativeWriter::row`] begins a row, [`NativeWriter::put`] fills it, and the next row or the end of the log
/// ends it. In a row an instance without values does not exist.
#[derive(Debug)]
pub struct NativeWriter<W: Output> {
    pub(super) out: W,
    /// Bytes written.
    pub(super) at: u64,
    pub(super) options: WriteOptions,
    pub(super) tables: Vec<Table>,
    by_hash: HashMap<u64, usize>,
    hosts: Vec<String>,
    /// Rows of this chunk that are complete.
    pub(super) rows: usize,
    /// Number of the row that is being filled, over the whole log, from 1.
    pub(super) stamp: u64,
    open: bool,
    pub(super) times: Lane,
    pub(super) minutes: Lane,
    texts: HashMap<String, u64>,
    /// The texts of this chunk, and the number of the first of them.
    pub(super) new_texts: (u64, Vec<String>),
    pub(super) index: Vec<Entry>,
    /// Where the definitions are.
    pub(super) definitions: Vec<u64>,
    /// Definitions that are only in the tail, or nowhere yet.
    pub(super) fresh: Vec<Vec<u8>>,
    /// Records of which the next chunk writes the second copy, so that no single fault costs the whole log.
    pub(super) copies: Vec<(u8, Vec<u8>)>,
    /// The rows of this chunk that are in the file already.
    pub(super) tail: Tail,
    /// Rows that never reached the file.
    pub(super) lost: u64,
    /// The epoch: each key numbers the columns again.
    epoch: u64,
    scratch: Scratch,
}

impl NativeWriter<File> {
    /// Creates a log file. A file with this name is replaced.
    ///
    /// # Errors
    ///
    /// Errors of the operating system.
    pub fn create(path: &Path, options: WriteOptions) -> io::Result<NativeWriter<File>> {
        NativeWriter::new(
            OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?,
            options,
        )
    }

    /// Opens a log to append to it, or creates it. A torn end is cut off, and so is the index of a sealed
    /// log.
    ///
    /// # Errors
    ///
    /// The file cannot be read or written, or it is not a log of this version.
    pub fn append_to(path: &Path, options: WriteOptions) -> Result<NativeWriter<File>, crate::LogError> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|error| crate::LogError::from(error).in_file(path))?;
        NativeWriter::append(file, options).map_err(|error| error.in_file(path))
    }

    /// As [`NativeWriter::append_to`], into an open file.
    ///
    /// # Errors
    ///
    /// As [`NativeWriter::append_to`].
    pub fn append(mut file: File, options: WriteOptions) -> Result<NativeWriter<File>, crate::LogError> {
        let length = file.metadata()?.len();
        let known = index::rebuild(&mut file, length)?;
        let mut writer = NativeWriter::with(file, options);
        let mut begin = || {
            if known.end == 0 {
                writer.out.cut(0)?;
                return writer.begin();
            }
            writer.out.cut(known.end)?;
            writer.at = known.end;
            // Rows of their own and jumps are new in version 2; all else of version 1 is as it was.
            writer.out.write_at(0, &HEAD)?;
            writer.out.cut(known.end)?;
            writer.begin_part()
        };
        begin()?;
        writer.index = known.keys;
        writer.definitions = known.definitions;
        writer.stamp = known.rows;
        Ok(writer)
    }
}

impl<W: Output> NativeWriter<W> {
    /// Begins a log.
    ///
    /// # Errors
    ///
    /// Those of the output.
    pub fn new(out: W, options: WriteOptions) -> io::Result<NativeWriter<W>> {
        let mut writer = NativeWriter::with(out, options);
        writer.begin()?;
        Ok(writer)
    }

    fn with(out: W, options: WriteOptions) -> NativeWriter<W> {
        NativeWriter {
            out,
            at: 0,
            options,
            tables: Vec::new(),
            by_hash: HashMap::new(),
            hosts: Vec::new(),
            rows: 0,
            stamp: 0,
            open: false,
            times: Lane::default(),
            minutes: Lane::default(),
            texts: HashMap::new(),
            new_texts: (0, Vec::new()),
            index: Vec::new(),
            definitions: Vec::new(),
            fresh: Vec::new(),
            copies: Vec::new(),
            tail: Tail::default(),
            lost: 0,
            epoch: 0,
            scratch: Scratch::default(),
        }
    }

    fn begin(&mut self) -> io::Result<()> {
        self.write(&HEAD)?;
        self.begin_part()
    }

    /// Says who writes from here on, and in which zone.
    fn begin_part(&mut self) -> io::Result<()> {
        let WriteOptions { zone, writer, caption, .. } = &self.options;
        let body = schema::encode_log(zone, writer, caption.as_deref());
        self.record(kind::LOG, &body)?;
        self.copies.push((kind::LOG, body));
        Ok(())
    }

    /// Waits until everything that was written is on the disk.
    ///
    /// # Errors
    ///
    /// Errors of the operating system.
    pub fn sync(&mut self) -> io::Result<()> {
        self.out.sync()
    }

    /// The table of an object; the same one for the same definition.
    ///
    /// # Errors
    ///
    /// Those of the output.
    pub fn table(&mut self, definition: &Definition) -> io::Result<TableId> {
        let body = definition.encode();
        let hash = schema::hash(&body);
        if let Some(known) = self.by_hash.get(&hash) {
            return Ok(TableId(*known));
        }
        if self.options.write_through {
            // It is written together with the first row that has the object.
            self.fresh.push(frame(kind::DEFINITION, &body));
        } else {
            let at = self.at;
            self.record(kind::DEFINITION, &body)?;
            self.definitions.push(at);
        }
        self.copies.push((kind::DEFINITION, body));
        let host = match self.hosts.iter().position(|host| *host == definition.host) {
            Some(host) => host,
            None => {
                self.hosts.push(definition.host.clone());
                self.hosts.len().saturating_sub(1)
            }
        };
        let mut table = Table::new(hash, definition.clone(), host);
        // The rows of this chunk before the object was known.
        table.sampled.values.resize(self.rows, 0);
        table.clocks.iter_mut().for_each(|clock| clock.values.resize(self.rows, 0));
        self.tables.push(table);
        let number = self.tables.len().saturating_sub(1);
        self.by_hash.insert(hash, number);
        Ok(TableId(number))
    }

    /// Adds or finds an instance of an object with all its counters; `None` for an object without instances.
    /// It can be called again for each row. An instance that ended is forgotten with the next
    /// [`NativeWriter::epoch`].
    ///
    /// # Errors
    ///
    /// There are more columns than a log may have at a time.
    pub fn instance(&mut self, table: TableId, text: Option<&str>) -> io::Result<InstanceId> {
        self.instance_with(table, Instance { text: text.map(str::to_owned), columns: None }, 0)
    }

    pub(super) fn instance_with(
        &mut self,
        table: TableId,
        instance: Instance,
        nth: usize,
    ) -> io::Result<InstanceId> {
        let columns = self.tables.iter().map(Table::cells).fold(0usize, usize::saturating_add);
        if columns > MOST_COLUMNS {
            let words = format!(
                "a native log has at most {MOST_COLUMNS} columns at a time, and {MOST_NUMBERS} \
                 numbers in a chunk, and there are {columns} columns"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
        }
        let place = self.tables.get_mut(table.0);
        let position = place.map_or(usize::MAX, |place| place.instance(instance, nth));
        Ok(InstanceId { table: table.0, position })
    }

    /// Increases when ended instances are forgotten. An [`InstanceId`] without a value in the last row is
    /// then invalid.
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Begins a row, and writes what is complete.
    ///
    /// # Errors
    ///
    /// Errors of the output while writing earlier rows, see [`NativeWriter::lost`]; the new row is begun.
    pub fn row(&mut self, time: RowTime) -> io::Result<()> {
        let mut written = self.commit();
        if let Some(first) = self.times.values.first()
            && self.is_full(*first, time.time.0)
        {
            // If this succeeds, nothing is missing any more.
            written = self.flush();
        }
        if self.rows == 0 {
            self.begin_key();
        }
        self.times.values.push(time.time.0);
        self.minutes.values.push(super::series::zigzag(i64::from(time.local_minutes)));
        self.stamp = self.stamp.saturating_add(1);
        self.open = true;
        written
    }

    /// Puts the value of the `nth` counter of an instance into this row, or why there is none. `state` is
    /// that of a value that is there.
    pub fn put(
        &mut self,
        instance: InstanceId,
        nth: usize,
        value: Result<Sample, NoValue>,
        state: ValueState,
    ) {
        let row = self.now();
        if let Some(table) = self.tables.get_mut(instance.table) {
            table.put(instance.position, nth, row, std::iter::once((value, state)));
        }
    }

    /// Puts the values of all columns of an instance into this row, in order, each with its state.
    /// It is faster than [`NativeWriter::put`] for each.
    #[inline]
    pub fn put_all<V: Borrow<Result<Sample, NoValue>>>(
        &mut self,
        instance: InstanceId,
        values: impl IntoIterator<Item = (V, ValueState)>,
    ) {
        let row = self.now();
        if let Some(table) = self.tables.get_mut(instance.table) {
            table.put(instance.position, 0, row, values);
        }
    }

    /// The row that is being filled.
    pub(super) fn now(&self) -> ChunkRow {
        ChunkRow { number: u32::try_from(self.rows).unwrap_or(u32::MAX), stamp: self.stamp }
    }

    /// Puts the text of a text counter into this row.
    pub fn put_text(&mut self, instance: InstanceId, nth: usize, text: &str) {
        let row = self.now();
        let Some(table) = self.tables.get_mut(instance.table) else { return };
        let (first, new) = &mut self.new_texts;
        let number = match self.texts.get(text) {
            Some(number) => *number,
            None => {
                let number = first.saturating_add(new.len() as u64);
                new.push(text.to_owned());
                self.texts.insert(text.to_owned(), number);
                number
            }
        };
        let sample = Sample {
            counter_type: tallymon_core::counter::CounterType(0),
            first: number,
            second: 0,
            frequency: tallymon_core::time::Frequency(0),
            multi_count: 1,
            time: self.times.values.last().copied().map(FileTime).unwrap_or_default(),
        };
        table.put(instance.position, nth, row, std::iter::once((Ok(sample), ValueState::Present)));
    }

    /// Sets when the reading of an object for this row began and ended, UTC.
    pub fn window(&mut self, table: TableId, begin: FileTime, end: FileTime) {
        if let Some(table) = self.tables.get_mut(table.0) {
            let [.., first, last] = &mut table.now;
            (*first, *last) = (Some(begin.0), Some(end.0));
            table.sampled_in = self.stamp;
        }
    }

    /// Writes the held rows as a chunk. Rows that were written through already are replaced by it.
    ///
    /// # Errors
    ///
    /// Errors of the output. Rows that were written through stay; the others are lost.
    pub fn flush(&mut self) -> io::Result<()> {
        self.end_row();
        if self.rows == 0 {
            return Ok(());
        }
        let mut head = ChunkHead {
            key: true,
            rows: self.rows,
            first: self.times.values.first().copied().unwrap_or(0),
            most: self.times.values.iter().copied().max().unwrap_or(0),
            number: Some(0),
        };
        head.number = Some(self.stamp.saturating_sub(self.rows as u64).saturating_add(1));
        let body = self.chunk(head);
        let written = self.write_chunk(head, &body).and_then(|()| self.out.flush());
        if written.is_err() {
            self.lost = self.lost.saturating_add(self.tail.missing(head.rows));
        }
        self.tail = Tail::default();
        written
    }

    /// Writes the held rows and an index, with which a reader can seek to a time. The log can be appended to
    /// later.
    ///
    /// # Errors
    ///
    /// Those of the output.
    pub fn seal(mut self) -> io::Result<W> {
        self.flush()?;
        let at = self.at;
        let body = index::encode(&self.index, &self.definitions, self.stamp);
        self.record(kind::INDEX, &body)?;
        if let Some(contents) = self.write_contents()? {
            self.record(kind::POINTER, &contents.to_le_bytes())?;
        }
        self.record(kind::END, &at.to_le_bytes())?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// The output.
    pub const fn output(&mut self) -> &mut W {
        &mut self.out
    }

    /// Bytes that were written so far.
    pub const fn bytes(&self) -> u64 {
        self.at
    }

    /// How many rows a chunk has if as many numbers change as in the rows that are held.
    pub fn rows_of_a_chunk(&self) -> u64 {
        let changed = self.tables.iter().map(Table::changed).fold(0usize, usize::saturating_add) as u64;
        let rows = self.options.numbers_between_keys.checked_div(changed).unwrap_or(u64::MAX);
        rows.clamp(1, self.options.rows as u64)
    }

    /// Complete rows that the file does not have yet.
    pub fn held(&self) -> u64 {
        self.tail.missing(self.rows)
    }

    /// Rows that could not be written and are gone.
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    fn is_full(&self, first: u64, now: u64) -> bool {
        let held = now.abs_diff(first);
        let longest = u64::from(self.options.flush_seconds).saturating_mul(UNITS_PER_SECOND);
        // What changes is held in memory: about 32 MB of it.
        let changed = self.tables.iter().map(Table::changed).fold(0usize, usize::saturating_add);
        let columns = self.tables.iter().map(Table::cells).fold(0usize, usize::saturating_add);
        // No more than a reader takes, even if all numbers of all columns change in the next row.
        let most = columns.saturating_mul(STREAMS).saturating_mul(self.rows.saturating_add(1));
        most > MOST_NUMBERS
            || self.rows >= self.options.rows.clamp(1, MOST_ROWS)
            || held >= longest
            || changed.saturating_mul(self.rows) > 4_000_000
            || (changed.saturating_mul(self.rows) as u64) >= self.options.numbers_between_keys
    }

    fn begin_key(&mut self) {
        self.epoch = self.epoch.saturating_add(1);
        for table in &mut self.tables {
            table.begin_key(self.options.keep_instances);
        }
        let next = self.new_texts.0.saturating_add(self.new_texts.1.len() as u64);
        self.texts.clear();
        self.new_texts = (next, Vec::new());
    }

    pub(super) fn end_row(&mut self) {
        if !std::mem::replace(&mut self.open, false) {
            return;
        }
        let row = self.now();
        let time = self.times.last();
        // What the object of the same host before this one has: most often just the same.
        let mut before: Vec<[u64; CLOCKS]> = vec![[time, 0, 0, 0, time, time]; self.hosts.len()];
        for table in &mut self.tables {
            let sampled = table.sampled_in == row.stamp;
            table.sampled.values.push(u64::from(sampled));
            let before = before.get_mut(table.host).filter(|_| sampled);
            let Some(before) = before else {
                table.clocks.iter_mut().for_each(|clock| clock.values.push(clock.last()));
                table.now = [None; CLOCKS];
                continue;
            };
            table.end_row(row);
            for ((clock, before), now) in table.clocks.iter_mut().zip(before).zip(&mut table.now) {
                let difference = now.take().map_or_else(|| clock.last(), |now| now.wrapping_sub(*before));
                clock.values.push(difference);
                *before = before.wrapping_add(difference);
            }
        }
        self.rows = self.rows.saturating_add(1);
    }

    /// Encodes the held rows as the body of a chunk, and drops them.
    fn chunk(&mut self, head: ChunkHead) -> Vec<u8> {
        let mut body = Vec::new();
        head.encode(&mut body);
        body.put(self.tables.len() as u64);
        for table in &self.tables {
            body.extend_from_slice(&table.hash.to_le_bytes());
        }
        for table in &self.tables {
            let instances = table.instances_from(0);
            body.put(instances.len() as u64);
            for instance in instances {
                instance.encode(&mut body);
            }
        }
        let (number, texts) = &mut self.new_texts;
        body.put(*number);
        body.put(texts.len() as u64);
        for text in texts.iter() {
            body.put_text(text);
        }
        *number = number.saturating_add(texts.len() as u64);
        texts.clear();
        let mut bits = BitWriter::default();
        self.times.encode(&mut bits, &mut self.scratch);
        self.minutes.encode(&mut bits, &mut self.scratch);
        for table in &mut self.tables {
            table.encode(&mut bits, head.rows, &mut self.scratch);
        }
        bits.drain_into(&mut body);
        self.rows = 0;
        body
    }

    pub(super) fn record(&mut self, kind: u8, body: &[u8]) -> io::Result<()> {
        check_length(body)?;
        self.write(&frame(kind, body))
    }

    /// Writes all bytes, or removes those that were written.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.out.write_all(bytes) {
            Ok(()) => {
                self.at = self.at.saturating_add(bytes.len() as u64);
                Ok(())
            }
            Err(error) => {
                // The error of writing is the one to tell; a rest that stays is damage that readers pass
                // over.
                let _ = self.out.cut(self.at);
                Err(error)
            }
        }
    }
}

/// Refuses a body that no reader takes.
pub(super) fn check_length(body: &[u8]) -> io::Result<()> {
    if body.len() <= LONGEST {
        return Ok(());
    }
    let words = format!("a record has {} bytes, and at most {LONGEST} are possible", body.len());
    Err(io::Error::new(io::ErrorKind::InvalidInput, words))
}
