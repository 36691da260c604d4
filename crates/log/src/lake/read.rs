//! Reads a table as one log: the records of all its parts in the order of their times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tallymon_core::counter::CounterType;
use tallymon_core::flow::{NoValue, Sample};
use tallymon_core::path::{CounterPath, Part as Name, Pattern};
use tallymon_core::time::FileTime;

use super::action::Part;
use super::commit::Table;
use super::path;
use super::store::{Store, whole};
use crate::clock::{LogClock, LogTime, Moment};
use crate::column_list::ColumnList;
use crate::error::{Damage, LogError, LogErrorKind};
use crate::format::Format;
use crate::options::ReadOptions;
use crate::parquet::{Groups, MOST_COLUMNS, Rows};
use crate::reader::{About, LogReader, Record, RecordPosition};
use crate::select::Selection;
use crate::zone::Zone;

/// The most values in memory: parts that overlap in time are read together. A value takes about 80 bytes.
const MOST_VALUES: usize = 1 << 23;

/// Reads a table.
pub(crate) struct LakeReader {
    store: Arc<dyn Store>,
    about: About,
    list: ColumnList,
    minutes: i32,
    cursors: Vec<Cursor>,
    /// The next time of each cursor that has more, at the earliest.
    next: BinaryHeap<Reverse<(FileTime, usize)>>,
    /// Values in memory.
    values: usize,
    /// Only records from this time on are given; it is set when a reader goes to a position.
    from: FileTime,
    newest: FileTime,
    /// For each column the record and the part that filled its cell last.
    filled: Vec<(u64, usize)>,
    given: u64,
    twice: u64,
    is_order_noted: bool,
    position: Option<RecordPosition>,
}

/// A part, and how far it was read.
struct Cursor {
    part: Part,
    below: PathBuf,
    /// The next row group.
    group: usize,
    is_over: bool,
    /// The values of the row group before, by time.
    rows: Vec<Value>,
    at: usize,
}

/// One value.
struct Value {
    time: FileTime,
    column: usize,
    cell: Result<Sample, NoValue>,
}

/// The values that were read, and whether there are more.
type Loaded = (Vec<Value>, bool);

impl Cursor {
    /// Before the first value.
    fn rewind(&mut self) -> FileTime {
        (self.group, self.is_over, self.at) = (0, false, 0);
        self.rows = Vec::new();
        self.part.least.unwrap_or_default()
    }
}

impl LakeReader {
    /// Reads the versions of a table. Parts are opened when their times come.
    ///
    /// # Errors
    ///
    /// Those of the operating system, and a table that cannot be read, with the version and the line.
    pub(crate) fn open(root: &Path, options: &ReadOptions) -> Result<LakeReader, LogError> {
        LakeReader::of_table(Table::open(root)?, options)
    }

    /// Reads a table that was opened.
    pub(super) fn of_table(table: Table, options: &ReadOptions) -> Result<LakeReader, LogError> {
        table.state.check_readable().map_err(|words| table.unusable(words))?;
        let mut about = About::new(Format::Lake);
        let (name, bias) = options.bias.map_or(("UTC".to_owned(), 0), |bias| (String::new(), bias));
        about.zone = Zone::Fixed { name, bias };
        let mut reader = LakeReader {
            store: Arc::clone(&table.store),
            about,
            list: ColumnList::default(),
            minutes: bias.saturating_neg(),
            cursors: Vec::new(),
            next: BinaryHeap::new(),
            values: 0,
            from: FileTime(0),
            newest: FileTime(0),
            filled: Vec::new(),
            given: 0,
            twice: 0,
            is_order_noted: false,
            position: None,
        };
        let wanted = Wanted::of(options, &reader.about.zone);
        for part in table.state.parts.into_values().filter(|part| wanted.has(part)) {
            match path::meant(&part.path) {
                Ok(below) => reader.cursors.push(Cursor {
                    part,
                    below,
                    group: 0,
                    is_over: false,
                    rows: Vec::new(),
                    at: 0,
                }),
                Err(words) => reader.damage(0, format!("a part is left out: {words}")),
            }
        }
        // Columns are in the order of their objects, whichever of them has the first value.
        reader.cursors.sort_by(|one, other| {
            let key = |cursor: &Cursor| (cursor.part.object.clone(), cursor.part.day.clone());
            key(one).cmp(&key(other)).then_with(|| one.part.path.cmp(&other.part.path))
        });
        reader.begin(FileTime(0));
        Ok(reader)
    }

    fn damage(&mut self, byte: u64, what: String) {
        let record = Some(self.about.records.saturating_add(1));
        self.about.notes.damage(Damage { byte, buffer: None, record, line: None, what });
    }

    /// Begins with the first record at or after a time.
    fn begin(&mut self, from: FileTime) {
        (self.from, self.newest, self.values) = (from, FileTime(0), 0);
        self.next.clear();
        for (at, cursor) in self.cursors.iter_mut().enumerate() {
            let least = cursor.rewind();
            if cursor.part.largest.is_none_or(|largest| largest >= from) {
                self.next.push(Reverse((least, at)));
            }
        }
    }

    /// Reads the next values of a part. Row groups of ours follow each other in time, those of others may
    /// not.
    fn load(&mut self, at: usize) -> Result<(), LogError> {
        let Some(cursor) = self.cursors.get_mut(at) else { return Ok(()) };
        let (below, group, size) = (cursor.below.clone(), cursor.group, cursor.part.size);
        self.values = self.values.saturating_sub(cursor.rows.len());
        (cursor.rows, cursor.at) = (Vec::new(), 0);
        let loaded = self.read_part(&below, size, group)?;
        let (mut rows, has_more) = loaded.unwrap_or_default();
        rows.sort_by_key(|row| row.time);
        self.values = self.values.saturating_add(rows.len());
        if self.values > MOST_VALUES {
            let words = format!(
                "parts of the same time have more than {MOST_VALUES} values together, which do not fit into \
                 memory; choose counters (-c) or a range, or compact the table ('tally lake compact')"
            );
            return Err(LogError::new(LogErrorKind::Request(words)).in_file(self.store.shown()));
        }
        let Some(cursor) = self.cursors.get_mut(at) else { return Ok(()) };
        (cursor.rows, cursor.group, cursor.is_over) = (rows, group.saturating_add(1), !has_more);
        Ok(())
    }

    /// Reads the row groups of a part from a number on that belong together. What is damaged is noted.
    ///
    /// # Errors
    ///
    /// The part may be whole, and cannot be had now.
    fn read_part(&mut self, below: &Path, size: u64, number: usize) -> Result<Option<Loaded>, LogError> {
        let opened = self.store.open(below, size).map_err(LogError::from).and_then(Groups::open);
        let mut groups = match opened {
            Ok(groups) => groups,
            Err(error) if !is_damage(&error) => {
                return Err(error.in_file(&whole(self.store.shown(), below)));
            }
            Err(error) => {
                self.damage(0, format!("the part {} is left out: {error}", below.display()));
                return Ok(None);
            }
        };
        let end =
            if groups.is_ours() { number.saturating_add(1).min(groups.count()) } else { groups.count() };
        let mut values = Vec::new();
        for group in number..end {
            let loaded =
                groups.load(group).map_err(|error| error.in_file(&whole(self.store.shown(), below)))?;
            match loaded {
                Ok(rows) => self.values_of(&rows, &mut values, below),
                Err((byte, words)) => self.damage(byte, format!("the part {}: {words}", below.display())),
            }
            if values.len() > MOST_VALUES {
                break;
            }
        }
        Ok(Some((values, end < groups.count())))
    }

    /// Finds or adds the column of each row. New ones go behind the one of the row before.
    fn values_of(&mut self, rows: &Rows, values: &mut Vec<Value>, below: &Path) {
        let (mut before, mut left_out, mut bad) = (None, 0u64, 0u64);
        let mut last: Option<(usize, CounterType, usize)> = None;
        for row in 0..rows.count() {
            let Some(time) = rows.time(row) else {
                bad = bad.saturating_add(1);
                continue;
            };
            let (path, counter_type) = (rows.path(row), rows.counter_type(row));
            let place = match last {
                Some((last, kind, place)) if (last, kind) == (path, counter_type) => Some(place),
                _ => {
                    let key = (rows.path_text(path).to_owned(), counter_type, 0);
                    self.column(key, rows, row, before)
                }
            };
            let Some(place) = place else {
                left_out = left_out.saturating_add(1);
                continue;
            };
            (before, last) = (Some(place), Some((path, counter_type, place)));
            if time >= self.from {
                values.push(Value { time, column: place, cell: rows.sample(row, counter_type, time) });
            }
        }
        if left_out > 0 {
            let words =
                format!("{left_out} values are left out, because {MOST_COLUMNS} columns are the most");
            self.damage(0, format!("the part {}: {words}", below.display()));
        }
        if bad > 0 {
            let words = "their time is not after the year 1600";
            self.damage(0, format!("the part {}: {bad} values are left out: {words}", below.display()));
        }
        self.list.number_if_many(&mut self.about.columns);
    }

    fn column(
        &mut self,
        key: (String, CounterType, u32),
        rows: &Rows,
        row: usize,
        before: Option<usize>,
    ) -> Option<usize> {
        if let Some(place) = self.list.find(&key) {
            return Some(place);
        }
        let has_room = self.about.columns.len() < MOST_COLUMNS;
        has_room.then(|| self.list.add(&mut self.about.columns, key, rows.base_and_scale(row), before))
    }

    /// The part whose next value has the earliest time, with that value in memory.
    fn earliest(&mut self) -> Result<Option<(FileTime, usize)>, LogError> {
        while let Some(Reverse((time, at))) = self.next.pop() {
            let Some(cursor) = self.cursors.get(at) else { continue };
            if let Some(value) = cursor.rows.get(cursor.at) {
                if value.time <= time {
                    return Ok(Some((value.time, at)));
                }
                self.next.push(Reverse((value.time, at)));
                continue;
            }
            if cursor.is_over {
                self.values = self.values.saturating_sub(cursor.rows.len());
                if let Some(cursor) = self.cursors.get_mut(at) {
                    cursor.rows = Vec::new();
                    cursor.at = 0;
                }
                continue;
            }
            self.load(at)?;
            // Its values may be later, and there may be none.
            let next = self.cursors.get(at).and_then(|cursor| cursor.rows.first());
            self.next.push(Reverse((next.map_or(time, |value| value.time), at)));
        }
        Ok(None)
    }

    /// Puts the values of one time and part into cells.
    fn take(&mut self, at: usize, time: FileTime, cells: &mut Vec<Result<Sample, NoValue>>) {
        loop {
            let Some(cursor) = self.cursors.get_mut(at) else { return };
            let next = cursor.rows.get(cursor.at).map(|value| (value.time, value.column, value.cell));
            match next {
                Some((found, column, cell)) if found == time => {
                    cursor.at = cursor.at.saturating_add(1);
                    self.fill(column, cell, at, cells);
                }
                Some((found, ..)) => return self.next.push(Reverse((found, at))),
                None => return self.next.push(Reverse((time, at))),
            }
        }
    }

    /// Fills a cell. A value that another part has, too, is in the table twice; other values of the same
    /// counter are columns of their own.
    fn fill(
        &mut self,
        column: usize,
        cell: Result<Sample, NoValue>,
        part: usize,
        cells: &mut Vec<Result<Sample, NoValue>>,
    ) {
        let mut place = column;
        for duplicate in 1u32.. {
            if cells.len() <= place {
                cells.resize(place.saturating_add(1), Err(NoValue::NoInstance));
                self.filled.resize(self.filled.len().max(cells.len()), (0, 0));
            }
            let Some((there, filled)) = cells.get_mut(place).zip(self.filled.get_mut(place)) else { return };
            if filled.0 != self.given {
                (*filled, *there) = ((self.given, part), cell);
                return;
            }
            if filled.1 != part && *there == cell {
                self.twice = self.twice.saturating_add(1);
                return;
            }
            let Some(known) = self.about.columns.get(column).cloned() else { return };
            let key = (known.path, known.counter_type, duplicate);
            place = match self.list.find(&key) {
                Some(place) => place,
                None if self.about.columns.len() >= MOST_COLUMNS => return,
                None => {
                    let base = (known.time_base, known.scale);
                    self.list.add(&mut self.about.columns, key, base, Some(place))
                }
            };
        }
    }

    /// Notes what only the whole table shows.
    fn note_end(&mut self) {
        if self.twice > 0 {
            let words = format!("{} values are in the table more than once, and were read once", self.twice);
            self.about.notes.remark(words);
            self.twice = 0;
        }
        self.list.number(&mut self.about.columns);
    }
}

impl LogReader for LakeReader {
    fn about(&self) -> &About {
        &self.about
    }

    fn next_record(&mut self) -> Result<Option<Record>, LogError> {
        let Some((time, mut at)) = self.earliest()? else {
            self.note_end();
            return Ok(None);
        };
        if time < self.newest && !self.is_order_noted {
            self.is_order_noted = true;
            let words =
                "parts have earlier times than the statistics of the table say, so that records come late";
            self.damage(0, words.to_owned());
        }
        self.newest = self.newest.max(time);
        self.given = self.given.saturating_add(1);
        let mut cells = vec![Err(NoValue::NoInstance); self.about.columns.len()];
        self.filled.resize(self.filled.len().max(cells.len()), (0, 0));
        loop {
            self.take(at, time, &mut cells);
            match self.earliest()? {
                Some((next, other)) if next == time => at = other,
                Some((next, other)) => {
                    self.next.push(Reverse((next, other)));
                    break;
                }
                None => break,
            }
        }
        let columns = self.about.columns.len();
        cells.resize(columns.max(cells.len()), Err(NoValue::NoInstance));
        let position =
            RecordPosition { byte: time.0, records: self.about.records, list: 0, line: 0, minutes: None };
        self.position = Some(position);
        self.about.records = self.about.records.saturating_add(1);
        Ok(Some(Record { time, local_minutes: self.minutes, cells }))
    }

    fn position(&self) -> Option<RecordPosition> {
        self.position
    }

    fn seek_to(&mut self, position: RecordPosition) -> Result<bool, LogError> {
        self.begin(FileTime(position.byte));
        self.about.records = position.records;
        Ok(true)
    }
}

/// Whether an error says that a part is damaged or not there. Else it is somewhere, and nobody can read it
/// now: a copy of the others would count as complete.
fn is_damage(error: &LogError) -> bool {
    use io::ErrorKind;

    match &error.kind {
        LogErrorKind::Io(error) => matches!(
            error.kind(),
            ErrorKind::NotFound
                | ErrorKind::NotADirectory
                | ErrorKind::InvalidFilename
                | ErrorKind::InvalidInput
                | ErrorKind::InvalidData
                | ErrorKind::UnexpectedEof
        ),
        _ => true,
    }
}

/// What of a table is needed; a part that is not is never opened.
struct Wanted {
    from: Option<FileTime>,
    to: Option<FileTime>,
    /// Patterns of objects; `None` for all.
    objects: Option<Vec<Pattern>>,
}

impl Wanted {
    fn of(options: &ReadOptions, zone: &Zone) -> Wanted {
        let mut clock = LogClock::default();
        clock.set_zone(zone);
        let Selection { counters, from, to } = &options.needed;
        let bound = |time: &Option<LogTime>, which: Moment| match (time, zone) {
            // Before the end of a table that has not been read.
            (None | Some(LogTime::BeforeEnd(_)), _) => None,
            (Some(LogTime::Local(local)), Zone::Fixed { bias, .. }) => {
                Some(crate::zone::add_minutes(*local, *bias))
            }
            (Some(time), _) => Some(clock.moment(*time, which)),
        };
        let plain = |path: &CounterPath| {
            let text = path.to_string();
            let is_plain = text.matches('(').count() <= 1 && text.matches(')').count() <= 1;
            match &path.object {
                Name::Index(_) => None,
                object => is_plain.then(|| Pattern::new(&object.to_string())),
            }
        };
        // Names of another language, or with unusual characters, are compared when columns are known.
        let objects: Option<Vec<Pattern>> = counters.iter().map(plain).collect();
        let objects = objects.filter(|objects| !objects.is_empty() && options.names.is_none());
        Wanted { from: bound(from, Moment::First), to: bound(to, Moment::Last), objects }
    }

    fn has(&self, part: &Part) -> bool {
        let is_early = self.from.zip(part.largest).is_some_and(|(from, largest)| largest < from);
        let is_late = self.to.zip(part.least).is_some_and(|(to, least)| least > to);
        let is_object = match (&self.objects, &part.object) {
            (Some(objects), Some(object)) => objects.iter().any(|pattern| pattern.matches(object)),
            _ => true,
        };
        !is_early && !is_late && is_object
    }
}

/// The bytes of all parts of a table.
///
/// # Errors
///
/// As [`LakeReader::open`].
pub(crate) fn bytes_of(root: &Path) -> Result<u64, LogError> {
    let table = Table::open(root)?;
    Ok(table.state.parts.values().fold(0, |sum, part| sum.saturating_add(part.size)))
}

/// The values of parts, as compaction needs them.
pub(super) fn rows_of(store: &dyn Store, part: &Part, mut each: impl FnMut(&Rows)) -> Result<(), LogError> {
    let root = store.shown();
    let below = path::meant(&part.path)
        .map_err(|words| LogError::new(LogErrorKind::Unusable(words)).in_file(root))?;
    let whole = whole(root, &below);
    let mut read = || -> Result<(), LogError> {
        let mut groups = Groups::open(store.open(&below, part.size)?)?;
        for number in 0..groups.count() {
            let rows = groups.load(number)?.map_err(|(byte, words)| {
                LogError::new(LogErrorKind::Io(io::Error::other(format!("byte {byte}: {words}"))))
            })?;
            each(&rows);
        }
        Ok(())
    };
    read().map_err(|error| error.in_file(&whole))
}
