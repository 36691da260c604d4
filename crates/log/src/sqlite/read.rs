//! Reads a log from a SQLite database: one of ours, or a copy of Windows' tables.

use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;
use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params};
use tallymon_core::counter::CounterType;
use tallymon_core::flow::{Absence, NoValue, Sample};
use tallymon_core::path::{CounterPath, InstancePath, Part};
use tallymon_core::time::{FileTime, Frequency, SystemTime};

use crate::blg::records::no_value;
use crate::error::{Damage, LogError, LogErrorKind};
use crate::format::Format;
use crate::options::ReadOptions;
use crate::reader::{About, Column, LogReader, Record, RecordPosition, ScannedRecord};
use crate::zone::Zone;

use super::bounds::{Budget, MOST_COUNTERS, only_tables};
use super::failed;

/// The number of rows that are fetched at a time.
const PAGE: i64 = 8192;

/// Stands for the counter in a row that has only the time of a record.
const NO_COUNTER: i64 = i64::MIN + 1;

/// Reads a log in a database.
pub(crate) struct SqliteReader {
    database: Connection,
    budget: Budget,
    about: About,
    /// Position of the column of each counter.
    positions: HashMap<i64, usize>,
    /// The log sets to read, and how many of them were begun.
    sets: Vec<Set>,
    begun: usize,
    /// The table with the rows in the order of records.
    table: &'static str,
    /// The record and the counter of the last row that was fetched.
    after: (i64, i64),
    rows: VecDeque<Fetched>,
    /// No more rows of the current set are in the database.
    at_end: bool,
    /// The number of the last record.
    given: Option<i64>,
    has_status: bool,
    /// The times of records without a value have a table.
    has_empty: bool,
    /// How many records the log sets have, until that was compared.
    promised: Option<u64>,
}

/// A log set.
#[derive(Debug, Clone)]
struct Set {
    guid: String,
    bias: i32,
}

/// One row: a value, or why there is none.
struct Fetched {
    record: i64,
    counter: i64,
    time: Option<FileTime>,
    cell: Result<Raw, NoValue>,
}

/// The numbers of a sample.
#[derive(Clone, Copy)]
struct Raw {
    first: u64,
    second: u64,
    multi_count: u32,
}

impl SqliteReader {
    /// Opens a database. Nothing is written to it; a temporary table is created only if its rows are not in
    /// order.
    pub(crate) fn open(path: &Path, options: &ReadOptions) -> Result<SqliteReader, LogError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut database = Connection::open_with_flags(path, flags)
            .map_err(|error| failed("opening the database", &error))?;
        let budget = Budget::of(&mut database, path)?;
        only_tables(&database)?;
        let mut reader = SqliteReader {
            database,
            budget,
            about: About::new(Format::Sqlite),
            positions: HashMap::new(),
            sets: Vec::new(),
            begun: 0,
            table: "CounterData",
            after: (i64::MIN, i64::MIN),
            rows: VecDeque::new(),
            at_end: false,
            given: None,
            has_status: false,
            has_empty: false,
            promised: None,
        };
        let wanted = options.log_set.as_deref();
        reader.details(wanted).map_err(|error| failed("reading the table CounterDetails", &error))?;
        reader.log_sets(wanted).map_err(|error| failed("reading the table DisplayToID", &error))?;
        if let Some(name) = wanted.filter(|_| reader.sets.is_empty()) {
            let words = format!("there is no log set {name:?} in the database");
            return Err(LogError::new(LogErrorKind::Request(words)));
        }
        reader.budget.renew();
        reader.order().map_err(|error| failed("reading the table CounterData", &error))?;
        reader.next_set();
        Ok(reader)
    }

    /// Reads the counters, of one log set if one is selected.
    fn details(&mut self, wanted: Option<&str>) -> rusqlite::Result<()> {
        let of_set = match wanted {
            Some(_) => {
                "WHERE CounterID IN (SELECT CounterID FROM CounterData WHERE GUID IN \
                 (SELECT GUID FROM DisplayToID WHERE DisplayString = ? COLLATE NOCASE))"
            }
            None => "",
        };
        let select = format!(
            "SELECT CounterID, MachineName, ObjectName, CounterName, CounterType, DefaultScale, \
             InstanceName, InstanceIndex, ParentName, TimeBaseA, TimeBaseB FROM CounterDetails {of_set} ORDER BY CounterID"
        );
        let mut statement = self.database.prepare(&select)?;
        let mut rows = statement.query(rusqlite::params_from_iter(wanted))?;
        let (mut group, mut left_out) = (0u32, 0u64);
        let mut last: Option<(String, String, String)> = None;
        while let Some(row) = rows.next()? {
            if self.about.columns.len() >= MOST_COUNTERS {
                left_out = left_out.saturating_add(1);
                continue;
            }
            let text = |at: usize| -> rusqlite::Result<Option<String>> { Ok(text(row.get_ref(at)?)) };
            let machine = text(1)?.unwrap_or_default();
            let (object, counter) = (text(2)?.unwrap_or_default(), text(3)?.unwrap_or_default());
            let number = integer(row, 7)?;
            // Names of instances may end with a blank; where columns are filled with blanks, that of the host
            // is too.
            let is_filled = raw_text(row.get_ref(1)?).is_some_and(|host| host.ends_with(['\0', ' ']));
            let instance = if is_filled { text(6)? } else { raw_text(row.get_ref(6)?) };
            let instance = instance.filter(|name| !name.is_empty() || number.is_some());
            let kind = (machine.clone(), object.clone(), counter.clone());
            if last.as_ref() != Some(&kind) {
                group = group.saturating_add(1);
                last = Some(kind);
            }
            let index = number.and_then(|index| u32::try_from(index).ok()).unwrap_or(0);
            let parent = text(8)?.filter(|parent| !parent.is_empty());
            let wild = instance.is_some();
            let parts = (!object.is_empty()).then(|| CounterPath {
                machine: Some(machine.trim_start_matches('\\').to_owned())
                    .filter(|machine| !machine.is_empty()),
                object: Part::parse(&object),
                instance: instance.map(|name| InstancePath::new(parent.as_deref(), &name, index)),
                counter: Part::parse(&counter),
            });
            let column = Column {
                path: parts.as_ref().map_or(counter, ToString::to_string),
                parts,
                counter_type: CounterType((integer(row, 4)?.unwrap_or_default() as i32).cast_unsigned()),
                scale: i32::try_from(integer(row, 5)?.unwrap_or_default()).unwrap_or_default(),
                time_base: Frequency(whole(integer(row, 9)?, integer(row, 10)?).cast_signed()),
                group,
                wild,
                live: None,
            };
            self.positions.insert(row.get(0)?, self.about.columns.len());
            self.about.columns.push(column);
        }
        if left_out > 0 {
            let what = format!(
                "{left_out} counters are left out, because a database is read up to {MOST_COUNTERS} counters"
            );
            self.about.notes.damage(Damage { byte: 0, buffer: None, record: None, line: None, what });
        }
        Ok(())
    }

    /// Notes that rows do not follow their key, which only a damaged database has, and ends the log set.
    fn out_of_order(&mut self, record: i64) {
        let what = format!(
            "the rows of CounterData do not follow its key at record {record}; the rest of the log set is \
             left out; 'sqlite3 FILE .recover' may save it"
        );
        let given = Some(self.about.records.saturating_add(1));
        self.about.notes.damage(Damage { byte: 0, buffer: None, record: given, line: None, what });
        self.at_end = true;
    }

    fn log_sets(&mut self, wanted: Option<&str>) -> rusqlite::Result<()> {
        let mut statement = self.database.prepare(
            "SELECT GUID, DisplayString, NumberOfRecords, MinutesToUTC, TimeZoneName FROM DisplayToID \
             WHERE ?1 IS NULL OR DisplayString = ?1 COLLATE NOCASE ORDER BY LogStartTime, GUID",
        )?;
        let mut rows = statement.query([wanted])?;
        let mut names = Vec::new();
        let mut promised = Some(0u64);
        while let Some(row) = rows.next()? {
            let bias = integer(row, 3)?.and_then(|bias| i32::try_from(bias).ok()).unwrap_or(0);
            let name = text(row.get_ref(4)?).unwrap_or_default();
            if self.sets.is_empty() {
                // What is written for an unknown zone has no name.
                let is_unknown = name.is_empty();
                self.about.zone = if is_unknown { Zone::Unknown } else { Zone::Fixed { name, bias } };
            }
            let records = integer(row, 2)?.and_then(|records| u64::try_from(records).ok());
            promised = promised.zip(records).map(|(sum, records)| sum.saturating_add(records));
            names.push(text(row.get_ref(1)?).unwrap_or_default());
            self.sets.push(Set { guid: text(row.get_ref(0)?).unwrap_or_default(), bias });
        }
        (self.about.records_promised, self.promised) = (promised, promised);
        if names.len() > 1 {
            self.about.notes.remark(format!("log sets, one after another: {}", names.join(", ")));
        }
        Ok(())
    }

    /// Compares the number of records with what the log sets say, once: a damaged page hides its rows.
    fn check_count(&mut self) {
        let read = self.about.records;
        if let Some(promised) = self.promised.take().filter(|promised| read < *promised) {
            let what = format!("the log sets should have {promised} records, {read} could be read");
            let record = Some(read.saturating_add(1));
            self.about.notes.damage(Damage { byte: 0, buffer: None, record, line: None, what });
        }
    }

    /// Makes sure that rows can be fetched in the order of records. Windows' own key begins with the counter;
    /// then the rows are sorted into a temporary table on disk.
    fn order(&mut self) -> rusqlite::Result<()> {
        let count = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?1";
        let has = |table: &str| -> rusqlite::Result<bool> {
            Ok(self.database.query_row(count, [table], |row| row.get::<_, i64>(0))? > 0)
        };
        (self.has_status, self.has_empty) = (has("CounterStatus")?, has("EmptyRecords")?);
        let plan =
            "EXPLAIN QUERY PLAN SELECT * FROM CounterData WHERE GUID = '' ORDER BY RecordIndex, CounterID";
        let mut statement = self.database.prepare(plan)?;
        let mut steps = statement.query([])?;
        let mut sorts = false;
        while let Some(step) = steps.next()? {
            sorts |= step.get::<_, String>(3)?.contains("TEMP B-TREE");
        }
        if sorts {
            self.database.execute_batch(
                "PRAGMA temp_store = FILE;
                 CREATE TEMP TABLE SortedData (
                     GUID, RecordIndex INTEGER, CounterID INTEGER, CounterDateTime, CounterValue,
                     FirstValueA, FirstValueB, SecondValueA, SecondValueB, MultiCount,
                     PRIMARY KEY (GUID, RecordIndex, CounterID)
                 ) WITHOUT ROWID;
                 INSERT OR IGNORE INTO SortedData
                     SELECT GUID, RecordIndex, CounterID, CounterDateTime, CounterValue,
                            FirstValueA, FirstValueB, SecondValueA, SecondValueB, MultiCount
                     FROM CounterData ORDER BY GUID, RecordIndex, CounterID;",
            )?;
            self.table = "temp.SortedData";
        }
        Ok(())
    }

    /// Begins with the next log set, if there is one.
    fn next_set(&mut self) {
        self.begun = self.begun.saturating_add(1).min(self.sets.len().saturating_add(1));
        self.restart(i64::MIN);
    }

    /// The log set that is being read.
    fn set(&self) -> Option<&Set> {
        self.sets.get(self.begun.checked_sub(1)?)
    }

    /// Continues in the current set after a record.
    fn restart(&mut self, record: i64) {
        self.after = (record, i64::MAX);
        if record == i64::MIN {
            self.after.1 = i64::MIN;
        }
        self.rows.clear();
        self.given = None;
        self.at_end = self.set().is_none();
    }

    /// Number and time of the next record of the current set after a number, found by the key without reading
    /// values.
    fn record_behind(&self, after: i64) -> rusqlite::Result<Option<(i64, Option<FileTime>)>> {
        let Some(set) = self.set() else { return Ok(None) };
        let next = format!(
            "SELECT RecordIndex, CounterDateTime FROM {} WHERE GUID = ?1 AND RecordIndex > ?2 \
             ORDER BY RecordIndex, CounterID LIMIT 1",
            self.table
        );
        let mut statement = self.database.prepare_cached(&next)?;
        let found = statement.query_row(params![set.guid, after], |row| {
            Ok((integer(row, 0)?.unwrap_or_default(), text(row.get_ref(1)?).and_then(|text| time_of(&text))))
        });
        let found = found.optional()?;
        if let Some(empty) = self.empty_record_behind(after, &set.guid)?
            && found.is_none_or(|(record, _)| empty.0 < record)
        {
            return Ok(Some(empty));
        }
        let Some((record, time)) = found else { return Ok(None) };
        if time.is_some() {
            return Ok(Some((record, time)));
        }
        // The time of a record is the first one of its rows that can be read.
        let all = format!("SELECT CounterDateTime FROM {} WHERE GUID = ?1 AND RecordIndex = ?2", self.table);
        let mut statement = self.database.prepare_cached(&all)?;
        let mut rows = statement.query(params![set.guid, record])?;
        while let Some(row) = rows.next()? {
            if let Some(time) = text(row.get_ref(0)?).and_then(|text| time_of(&text)) {
                return Ok(Some((record, Some(time))));
            }
        }
        Ok(Some((record, None)))
    }

    /// As [`SqliteReader::record_behind`], of the records without a value.
    fn empty_record_behind(
        &self,
        after: i64,
        guid: &str,
    ) -> rusqlite::Result<Option<(i64, Option<FileTime>)>> {
        if !self.has_empty {
            return Ok(None);
        }
        let mut statement = self.database.prepare_cached(
            "SELECT RecordIndex, CounterDateTime FROM EmptyRecords WHERE GUID = ?1 AND RecordIndex > ?2 \
             ORDER BY RecordIndex LIMIT 1",
        )?;
        let found = statement.query_row(params![guid, after], |row| {
            Ok((integer(row, 0)?.unwrap_or_default(), text(row.get_ref(1)?).and_then(|text| time_of(&text))))
        });
        found.optional()
    }

    /// Fetches rows up to the end of a record, or of the set.
    fn fetch(&mut self) -> Result<(), LogError> {
        let whole = |rows: &VecDeque<Fetched>| match (rows.front(), rows.back()) {
            (Some(first), Some(last)) => first.record != last.record,
            _ => false,
        };
        while !self.at_end && !whole(&self.rows) {
            self.page().map_err(|error| failed("reading the table CounterData", &error))?;
        }
        Ok(())
    }

    fn page(&mut self) -> rusqlite::Result<()> {
        let Some(set) = self.set() else { return Ok(()) };
        self.budget.renew();
        let reasons = if self.has_status {
            "UNION ALL SELECT RecordIndex, CounterID, NULL, NULL, NULL, NULL, NULL, NULL, NULL, Status \
             FROM CounterStatus WHERE GUID = ?1 AND (RecordIndex, CounterID) > (?2, ?3)"
        } else {
            ""
        };
        let empty = if self.has_empty {
            format!(
                "UNION ALL SELECT RecordIndex, {NO_COUNTER}, CounterDateTime, NULL, NULL, NULL, NULL, NULL, \
                 NULL, NULL \
                 FROM EmptyRecords WHERE GUID = ?1 AND (RecordIndex, {NO_COUNTER}) > (?2, ?3)"
            )
        } else {
            String::new()
        };
        let select = format!(
            "SELECT RecordIndex, CounterID, CounterDateTime, CounterValue, FirstValueA, FirstValueB, SecondValueA, \
             SecondValueB, MultiCount, NULL FROM {} WHERE GUID = ?1 AND (RecordIndex, CounterID) > (?2, ?3) {reasons} {empty} \
             ORDER BY 1, 2 LIMIT ?4",
            self.table
        );
        let mut statement = self.database.prepare_cached(&select)?;
        let mut rows = statement.query(params![set.guid, self.after.0, self.after.1, PAGE])?;
        let mut count = 0i64;
        let mut before = (self.after != (i64::MIN, i64::MIN)).then_some(self.after);
        while let Some(row) = rows.next()? {
            count = count.saturating_add(1);
            let key = (integer(row, 0)?.unwrap_or_default(), integer(row, 1)?.unwrap_or_default());
            // A database of Windows may have a counter twice in a record.
            if before.is_some_and(|before| key < before || (key == before && count == 1)) {
                drop(rows);
                drop(statement);
                self.out_of_order(key.0);
                return Ok(());
            }
            before = Some(key);
            self.after = key;
            let cell = match integer(row, 9)? {
                Some(status) => Err(reason_of(status)),
                None => Ok(Raw {
                    first: match (integer(row, 4)?, integer(row, 5)?) {
                        // Tables that hold computed values only: what `PERF_DOUBLE_RAW` has is the number
                        // itself.
                        (None, None) => real(row, 3)?.unwrap_or(f64::NAN).to_bits(),
                        (low, high) => whole(low, high),
                    },
                    second: whole(integer(row, 6)?, integer(row, 7)?),
                    multi_count: integer(row, 8)?.and_then(|count| u32::try_from(count).ok()).unwrap_or(1),
                }),
            };
            let time = text(row.get_ref(2)?).and_then(|text| time_of(&text));
            self.rows.push_back(Fetched { record: self.after.0, counter: self.after.1, time, cell });
        }
        self.at_end = count < PAGE;
        Ok(())
    }
}

impl LogReader for SqliteReader {
    fn about(&self) -> &About {
        &self.about
    }

    fn next_record(&mut self) -> Result<Option<Record>, LogError> {
        loop {
            self.fetch()?;
            let Some(first) = self.rows.front() else {
                if self.set().is_none() {
                    self.check_count();
                    return Ok(None);
                }
                self.next_set();
                continue;
            };
            let number = first.record;
            let mut time = None;
            let mut cells = vec![Err(NoValue::NoInstance); self.about.columns.len()];
            let bias = self.set().map_or(0, |set| set.bias);
            let mut samples: Vec<(usize, Raw)> = Vec::new();
            while self.rows.front().is_some_and(|row| row.record == number) {
                let Some(row) = self.rows.pop_front() else { break };
                time = time.or(row.time);
                if row.counter == NO_COUNTER {
                    continue;
                }
                let Some(position) = self.positions.get(&row.counter) else {
                    let words = format!("rows of counter {} are left out: it has no details", row.counter);
                    self.about.notes.remark(words);
                    continue;
                };
                match row.cell {
                    Ok(raw) => samples.push((*position, raw)),
                    Err(reason) => {
                        if let Some(cell) = cells.get_mut(*position) {
                            *cell = Err(reason);
                        }
                    }
                }
            }
            let Some(time) = time else {
                if !samples.is_empty() {
                    self.about.notes.remark(format!("record {number} is left out: its time cannot be read"));
                }
                continue;
            };
            for (position, raw) in samples {
                if let Some((cell, column)) = cells.get_mut(position).zip(self.about.columns.get(position)) {
                    *cell = Ok(Sample {
                        counter_type: column.counter_type,
                        first: raw.first,
                        second: raw.second,
                        frequency: column.time_base,
                        multi_count: raw.multi_count,
                        time,
                    });
                }
            }
            self.about.records = self.about.records.saturating_add(1);
            self.given = Some(number);
            return Ok(Some(Record { time, local_minutes: bias.saturating_neg(), cells }));
        }
    }

    fn position(&self) -> Option<RecordPosition> {
        Some(RecordPosition {
            byte: self.given?.cast_unsigned(),
            records: self.about.records.saturating_sub(1),
            list: self.begun as u64,
            line: 0,
            minutes: None,
        })
    }

    fn seek_to(&mut self, place: RecordPosition) -> Result<bool, LogError> {
        let Ok(begun) = usize::try_from(place.list) else { return Ok(false) };
        self.begun = begun;
        self.about.records = place.records;
        self.restart(place.byte.cast_signed().saturating_sub(1));
        Ok(true)
    }

    fn scan(&mut self, each: &mut dyn FnMut(ScannedRecord) -> ControlFlow<()>) -> Result<(), LogError> {
        let columns = self.about.columns.len();
        let mut after = self.given.unwrap_or(i64::MIN);
        let mut is_broken_off = false;
        while let Some(set) = self.set() {
            let local_minutes = set.bias.saturating_neg();
            self.budget.renew();
            let next = self.record_behind(after);
            let next = next.map_err(|error| failed("reading the table CounterData", &error))?;
            let Some((record, time)) = next else {
                self.next_set();
                after = i64::MIN;
                continue;
            };
            if record <= after && after != i64::MIN {
                self.out_of_order(record);
                self.next_set();
                after = i64::MIN;
                continue;
            }
            after = record;
            let Some(time) = time else { continue };
            self.about.records = self.about.records.saturating_add(1);
            self.given = Some(record);
            if each(ScannedRecord { time, local_minutes, columns, position: self.position() }).is_break() {
                is_broken_off = true;
                break;
            }
        }
        if !is_broken_off {
            self.check_count();
        }
        self.begun = self.sets.len().saturating_add(1);
        self.restart(i64::MIN);
        Ok(())
    }
}

fn text(value: ValueRef<'_>) -> Option<String> {
    // Other databases have fixed columns that end with blanks or with a zero.
    raw_text(value).map(|text| text.trim_end_matches(['\0', ' ']).to_owned())
}

fn raw_text(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(_) | ValueRef::Null => None,
    }
}

fn integer(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<i64>> {
    Ok(match row.get_ref(at)? {
        ValueRef::Integer(number) => Some(number),
        ValueRef::Real(number) => Some(number as i64),
        ValueRef::Text(text) => std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok()),
        ValueRef::Blob(_) | ValueRef::Null => None,
    })
}

fn real(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<f64>> {
    Ok(match row.get_ref(at)? {
        ValueRef::Integer(number) => Some(number as f64),
        ValueRef::Real(number) => Some(number),
        ValueRef::Text(text) => std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok()),
        ValueRef::Blob(_) | ValueRef::Null => None,
    })
}

/// A number from its low and high 32 bits, which may be signed or unsigned.
fn whole(low: Option<i64>, high: Option<i64>) -> u64 {
    let half = |half: Option<i64>| u64::from(half.unwrap_or_default() as u32);
    half(low) | half(high) << 32
}

/// The reason of a PDH status. A status that means a value is an error here.
fn reason_of(status: i64) -> NoValue {
    let status = u32::try_from(status).ok();
    status.and_then(no_value).unwrap_or(NoValue::NoData(Absence::Other))
}

/// The time of a text like `2016-11-26 21:46:30.874`; fractions may have any length.
fn time_of(text: &str) -> Option<FileTime> {
    let (date, clock) = text.trim().split_once([' ', 'T'])?;
    let mut date = date.split('-').map(|part| part.parse::<u16>().ok());
    let mut clock = clock.split([':', '.']);
    let mut number = || clock.next().and_then(|part| part.parse::<u16>().ok());
    let time = SystemTime {
        year: date.next()??,
        month: date.next()??,
        day_of_week: 0,
        day: date.next()??,
        hour: number()?,
        minute: number()?,
        second: number()?,
        milliseconds: 0,
    };
    let fraction: String =
        clock.next().unwrap_or_default().chars().chain("0000000".chars()).take(7).collect();
    let units: u64 = fraction.parse().ok()?;
    Some(FileTime(time.file_time()?.0.saturating_add(units)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_databases() {
        for (text, units) in [
            ("2016-11-26 21:46:30.874", Some(131_246_703_908_740_000)),
            ("2016-11-26 21:46:30.8740000", Some(131_246_703_908_740_000)),
            ("2016-11-26T21:46:30", Some(131_246_703_900_000_000)),
            ("2016-13-26 21:46:30", None),
            ("now", None),
        ] {
            assert_eq!(time_of(text).map(|time| time.0), units, "{text}");
        }
    }

    #[test]
    fn halves_of_numbers() {
        assert_eq!(whole(Some(-1), Some(0)), 0xffff_ffff);
        assert_eq!(whole(Some(0xffff_ffff), Some(-1)), u64::MAX);
        assert_eq!(whole(None, Some(1)), 1 << 32);
    }
}
