//! Writes a log into a SQLite database.

use std::io;
use std::path::Path;

use rusqlite::{Connection, params};
use tallymon_core::flow::{NoValue, Sample, Value};
use tallymon_core::path::InstanceIndex;
use tallymon_core::time::FileTime;

use crate::error::LogError;
use crate::reader::Column;
use crate::relog::TableWriter;

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

/// Writes one log set into a database that is new.
#[derive(Debug)]
pub(crate) struct SqliteWriter {
    database: Connection,
    guid: String,
    name: String,
    zone: (String, i32),
    records: i64,
    first: Option<FileTime>,
    last: Option<FileTime>,
    rows: u32,
}

impl SqliteWriter {
    /// Makes the tables and the counters. `guid` and `name` are those of the log set, `zone` its time zone and the minutes
    /// to add to local time to get UTC.
    pub(crate) fn create<'c>(
        path: &Path,
        guid: String,
        name: String,
        zone: (String, i32),
        columns: impl IntoIterator<Item = &'c Column>,
    ) -> Result<SqliteWriter, LogError> {
        let begin = || -> rusqlite::Result<Connection> {
            let database = Connection::open(path)?;
            // The file gets its name when it is complete; until then nothing in it has to survive.
            database.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;")?;
            database.execute_batch(SCHEMA)?;
            Ok(database)
        };
        let database = begin().map_err(|error| failed("making the database", &error))?;
        let details = || -> rusqlite::Result<()> {
            let mut insert =
                database.prepare("INSERT INTO CounterDetails VALUES (?,?,?,?,?,?,?,?,NULL,NULL,?,?)")?;
            for (id, column) in (1i64..).zip(columns) {
                let (machine, object, counter, instance, index) = match &column.parts {
                    Some(parts) => (
                        parts.machine.as_ref().map(|machine| format!(r"\\{machine}")).unwrap_or_default(),
                        parts.object.to_string(),
                        parts.counter.to_string(),
                        parts.instance.as_ref().map(|instance| instance.text().to_owned()),
                        parts.instance.as_ref().and_then(|instance| match instance.index() {
                            InstanceIndex::At(index) => Some(index),
                            _ => None,
                        }),
                    ),
                    // A text log may have a column whose name is no path.
                    None => (String::new(), String::new(), column.path.clone(), None, None),
                };
                let (low, high) = halves(column.time_base.0.cast_unsigned());
                let counter_type = column.counter_type.0.cast_signed();
                insert.execute(params![
                    id,
                    machine,
                    object,
                    counter,
                    counter_type,
                    column.scale,
                    instance,
                    index,
                    low,
                    high
                ])?;
            }
            Ok(())
        };
        details().map_err(|error| failed("writing the counters", &error))?;
        Ok(SqliteWriter { database, guid, name, zone, records: 0, first: None, last: None, rows: 0 })
    }
}

impl TableWriter for SqliteWriter {
    /// Writes one record: a row for each value that is there, and the reason of each that is missing. Instances that do
    /// not exist at the time have neither.
    fn record(
        &mut self,
        time: FileTime,
        cells: &[Result<Sample, NoValue>],
        values: &[Result<Value, NoValue>],
    ) -> io::Result<()> {
        self.records = self.records.saturating_add(1);
        self.first = self.first.or(Some(time));
        self.last = Some(time);
        let stamp = text_of(time);
        let mut write = || -> rusqlite::Result<()> {
            let mut data =
                self.database.prepare_cached("INSERT INTO CounterData VALUES (?,?,?,?,?,?,?,?,?,?)")?;
            let mut status = self.database.prepare_cached("INSERT INTO CounterStatus VALUES (?,?,?,?,?)")?;
            for ((id, cell), value) in (1i64..).zip(cells).zip(values) {
                match cell {
                    Ok(sample) => {
                        let number = value.as_ref().ok().and_then(Value::as_f64);
                        let ((a, b), (c, d)) = (halves(sample.first), halves(sample.second));
                        data.execute(params![
                            self.guid,
                            id,
                            self.records,
                            stamp,
                            number,
                            a,
                            b,
                            c,
                            d,
                            sample.multi_count
                        ])?;
                    }
                    Err(NoValue::NoInstance) => continue,
                    Err(reason) => {
                        let code = reason.pdh_status().code;
                        status.execute(params![self.guid, self.records, id, code, reason.to_string()])?;
                    }
                }
                self.rows = self.rows.saturating_add(1);
            }
            if self.rows >= ROWS_OF_A_TRANSACTION {
                self.database.execute_batch("COMMIT; BEGIN;")?;
                self.rows = 0;
            }
            Ok(())
        };
        write().map_err(into_io)
    }

    /// Writes what is known at the end only, and closes the database.
    fn finish(self) -> io::Result<()> {
        let end = || -> rusqlite::Result<()> {
            self.database.execute(
                "INSERT INTO DisplayToID VALUES (?,0,?,?,?,?,?,?)",
                params![
                    self.guid,
                    self.name,
                    self.first.map(text_of),
                    self.last.map(text_of),
                    self.records,
                    self.zone.1,
                    self.zone.0
                ],
            )?;
            self.database.execute_batch("COMMIT")
        };
        end().map_err(into_io)?;
        self.database.close().map_err(|(_, error)| into_io(error))
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
