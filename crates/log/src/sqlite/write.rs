//! Writes rows into a SQLite database.

use std::io;
use std::path::Path;

use rusqlite::{Connection, Statement, params};
use tallymon_core::counter::TextStyle;
use tallymon_core::flow::{Column, NoValue, Row, Sink};
use tallymon_core::path::InstanceIndex;
use tallymon_core::time::FileTime;

use crate::error::LogError;

use super::failed;

pub(super) const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS CounterDetails (
    CounterID INTEGER PRIMARY KEY,
    MachineName TEXT NOT NULL,
    ObjectName TEXT NOT NULL,
    CounterName TEXT NOT NULL,
    CounterType INTEGER NOT NULL,
    DefaultScale INTEGER NOT NULL,
    InstanceName TEXT,
    InstanceIndex INTEGER,
    ParentName TEXT,
    ParentObjectID INTEGER,
    TimeBaseA INTEGER,
    TimeBaseB INTEGER
);
CREATE TABLE IF NOT EXISTS CounterData (
    GUID TEXT NOT NULL,
    CounterID INTEGER NOT NULL REFERENCES CounterDetails,
    RecordIndex INTEGER NOT NULL,
    CounterDateTime TEXT NOT NULL,
    CounterValue REAL,
    FirstValueA INTEGER,
    FirstValueB INTEGER,
    SecondValueA INTEGER,
    SecondValueB INTEGER,
    MultiCount INTEGER,
    PRIMARY KEY (GUID, RecordIndex, CounterID)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS CounterStatus (
    GUID TEXT NOT NULL,
    RecordIndex INTEGER NOT NULL,
    CounterID INTEGER NOT NULL REFERENCES CounterDetails,
    Status INTEGER NOT NULL,
    Reason TEXT NOT NULL,
    PRIMARY KEY (GUID, RecordIndex, CounterID)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS EmptyRecords (
    GUID TEXT NOT NULL,
    RecordIndex INTEGER NOT NULL,
    CounterDateTime TEXT NOT NULL,
    PRIMARY KEY (GUID, RecordIndex)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS DisplayToID (
    GUID TEXT PRIMARY KEY,
    RunID INTEGER,
    DisplayString TEXT NOT NULL UNIQUE,
    LogStartTime TEXT,
    LogStopTime TEXT,
    NumberOfRecords INTEGER,
    MinutesToUTC INTEGER,
    TimeZoneName TEXT
);
";

/// Rows between two commits: enough that the disk does not set the pace, few enough to fit into memory.
const ROWS_OF_A_TRANSACTION: u32 = 100_000;

/// What a log set is called, and the local time of its records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetOptions {
    /// The identifier of the log set, as `{XXXXXXXX-XXXX-XXXX-XXXX-XXXXXXXXXXXX}`.
    pub guid: String,
    /// Its name.
    pub name: String,
    /// The name of its time zone, and the minutes to add to local time to get UTC.
    pub zone: (String, i32),
}

/// Writes rows with samples and values into a new database, as one log set. Its columns are fixed.
#[derive(Debug)]
pub struct SqliteSink {
    /// `None` once the database is complete.
    database: Option<Connection>,
    options: SetOptions,
    has_columns: bool,
    records: i64,
    first: Option<FileTime>,
    last: Option<FileTime>,
    /// Rows since the last commit.
    rows: u32,
}

impl SqliteSink {
    /// Creates the database and its tables.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub fn create(path: &Path, options: SetOptions) -> Result<SqliteSink, LogError> {
        let begin = || -> rusqlite::Result<Connection> {
            let database = Connection::open(path)?;
            // The file gets its name when it is complete; until then nothing in it has to survive.
            database.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;")?;
            database.execute_batch(SCHEMA)?;
            Ok(database)
        };
        let database = begin().map_err(|error| failed("creating the database", &error))?;
        Ok(SqliteSink {
            database: Some(database),
            options,
            has_columns: false,
            records: 0,
            first: None,
            last: None,
            rows: 0,
        })
    }

    fn database(&self) -> io::Result<&Connection> {
        self.database.as_ref().ok_or_else(|| io::Error::other("the database is complete"))
    }
}

/// Writes the description of a counter.
fn insert(statement: &mut Statement<'_>, id: i64, column: &Column) -> rusqlite::Result<usize> {
    let (machine, object, counter, instance, index) = match &column.parts {
        Some(parts) => (
            parts.machine.as_ref().map(|machine| format!(r"\\{machine}")).unwrap_or_default(),
            parts.object.to_string(),
            parts.counter.to_string(),
            parts.instance.as_ref().map(|instance| instance.text().to_owned()),
            parts.instance.as_ref().and_then(|instance| match instance.index() {
                InstanceIndex::At(index) => Some(index),
                // An instance without a name: otherwise it would look like none.
                _ => instance.text().is_empty().then_some(0),
            }),
        ),
        // A text log may have a column whose name is not a path.
        None => (String::new(), String::new(), column.path.clone(), None, None),
    };
    let (low, high) = halves(column.time_base.0.cast_unsigned());
    let counter_type = column.counter_type.0.cast_signed();
    let scale = column.scale;
    statement.execute(params![id, machine, object, counter, counter_type, scale, instance, index, low, high])
}

impl Sink for SqliteSink {
    type Error = io::Error;

    fn columns(&mut self, columns: &[Column]) -> io::Result<()> {
        if std::mem::replace(&mut self.has_columns, true) {
            return Err(io::Error::other("the counters of a log set cannot change after its first record"));
        }
        let database = self.database()?;
        let sql = "INSERT INTO CounterDetails VALUES (?,?,?,?,?,?,?,?,NULL,NULL,?,?)";
        let mut statement = database.prepare(sql).map_err(into_io)?;
        for (id, column) in (1i64..).zip(columns) {
            insert(&mut statement, id, column).map_err(into_io)?;
        }
        Ok(())
    }

    /// Writes a row of the database for each value, and the reason for each that is missing. Instances that
    /// do not exist at the time have neither. Where no counter has a value, the time of the record is in a
    /// table of its own.
    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        self.records = self.records.saturating_add(1);
        self.first = self.first.or(Some(row.time));
        self.last = Some(row.time);
        let stamp = text_of(row.time);
        let guid = self.options.guid.as_str();
        let Some(database) = &self.database else { return Err(io::Error::other("the database is complete")) };
        let (mut written, mut has_values) = (0u32, false);
        let mut write = || -> rusqlite::Result<()> {
            let mut data = database.prepare_cached("INSERT INTO CounterData VALUES (?,?,?,?,?,?,?,?,?,?)")?;
            let mut status = database.prepare_cached("INSERT INTO CounterStatus VALUES (?,?,?,?,?)")?;
            for (id, cell) in (1i64..).zip(row.cells) {
                match cell.raw() {
                    Ok(sample) => {
                        let number = TextStyle::default().number(&cell.value);
                        let ((a, b), (c, d)) = (halves(sample.first), halves(sample.second));
                        let count = sample.multi_count;
                        has_values = true;
                        data.execute(params![guid, id, self.records, stamp, number, a, b, c, d, count])?;
                    }
                    Err(NoValue::NoInstance) => continue,
                    Err(reason) => {
                        let code = reason.pdh_status().code;
                        status.execute(params![guid, self.records, id, code, reason.to_string()])?;
                    }
                }
                written = written.saturating_add(1);
            }
            if !has_values {
                let sql = "INSERT INTO EmptyRecords VALUES (?,?,?)";
                database.prepare_cached(sql)?.execute(params![guid, self.records, stamp])?;
            }
            Ok(())
        };
        write().map_err(into_io)?;
        self.rows = self.rows.saturating_add(written);
        if self.rows >= ROWS_OF_A_TRANSACTION {
            database.execute_batch("COMMIT; BEGIN;").map_err(into_io)?;
            self.rows = 0;
        }
        Ok(())
    }

    /// Writes the line of the log set, whose times and number of records are known only now, and closes the
    /// database.
    fn finish(&mut self) -> io::Result<()> {
        let Some(database) = self.database.take() else { return Ok(()) };
        let SetOptions { guid, name, zone } = &self.options;
        let end = || -> rusqlite::Result<()> {
            let (first, last) = (self.first.map(text_of), self.last.map(text_of));
            database.execute(
                "INSERT INTO DisplayToID VALUES (?,0,?,?,?,?,?,?)",
                params![guid, name, first, last, self.records, zone.1, zone.0],
            )?;
            database.execute_batch("COMMIT")
        };
        end().map_err(into_io)?;
        database.close().map_err(|(_, error)| into_io(error))
    }
}

fn into_io(error: rusqlite::Error) -> io::Error {
    io::Error::other(format!("writing the database: {error}"))
}

/// The low and the high 32 bits of a number, as signed numbers because SQL has no others.
const fn halves(number: u64) -> (i32, i32) {
    ((number as u32).cast_signed(), ((number >> 32) as u32).cast_signed())
}

/// A time as Windows writes it into databases.
fn text_of(time: FileTime) -> String {
    let time = time.system_time();
    format!(
        "{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:03}",
        time.year, time.month, time.day, time.hour, time.minute, time.second, time.milliseconds
    )
}
