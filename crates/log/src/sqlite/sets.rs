//! Lists the log sets of a database, and adds log sets to it.
//!
//! Windows keeps many logs in one database. Each is a log set with a name for users, and a GUID in its rows.
//! A counter in several sets is in `CounterDetails` once.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use crate::error::{LogError, LogErrorKind};

use super::failed;
use super::write::SCHEMA;

/// A log set in a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSet {
    /// The identifier in its rows: 32 hexadecimal digits with hyphens, in braces.
    pub guid: String,
    /// A number from its writer; 0 without one.
    pub run_id: i32,
    /// The name for users.
    pub name: String,
}

/// The columns of Windows' tables, which every database of logs has.
const TABLES: [(&str, &[&str]); 3] = [
    (
        "CounterDetails",
        &[
            "CounterID",
            "MachineName",
            "ObjectName",
            "CounterName",
            "CounterType",
            "DefaultScale",
            "InstanceName",
        ],
    ),
    ("CounterData", &["GUID", "CounterID", "RecordIndex", "CounterDateTime", "CounterValue", "MultiCount"]),
    ("DisplayToID", &["GUID", "RunID", "DisplayString", "LogStartTime", "LogStopTime", "NumberOfRecords"]),
];

/// The columns of `CounterDetails` that are equal in two rows, `ours` and `theirs`, of one counter.
const SAME_COUNTER: &str = "ours.MachineName IS theirs.MachineName AND ours.ObjectName IS theirs.ObjectName \
    AND ours.CounterName IS theirs.CounterName AND ours.CounterType IS theirs.CounterType \
    AND ours.InstanceName IS theirs.InstanceName AND ours.InstanceIndex IS theirs.InstanceIndex \
    AND ours.ParentName IS theirs.ParentName AND ours.TimeBaseA IS theirs.TimeBaseA \
    AND ours.TimeBaseB IS theirs.TimeBaseB";

/// The log sets of a database, in the order of their names.
///
/// # Errors
///
/// The file cannot be read, or is not a database of logs.
pub fn log_sets(database: &Path) -> Result<Vec<LogSet>, LogError> {
    let read = || -> rusqlite::Result<Vec<LogSet>> {
        let opened = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let mut statement =
            opened.prepare("SELECT GUID, RunID, DisplayString FROM DisplayToID ORDER BY DisplayString")?;
        let sets = statement.query_map([], |row| {
            let run_id = row.get::<_, Option<i64>>(1)?.and_then(|run| i32::try_from(run).ok());
            Ok(LogSet { guid: row.get(0)?, run_id: run_id.unwrap_or(0), name: row.get(2)? })
        })?;
        sets.collect()
    };
    of_file(database)?;
    read().map_err(|error| failed("reading the table DisplayToID", &error).in_file(database))
}

/// Whether a database has the tables of logs, with Windows' columns.
///
/// # Errors
///
/// The file cannot be read, or is no database.
pub fn has_tables(database: &Path) -> Result<bool, LogError> {
    let read = || -> rusqlite::Result<bool> {
        let opened = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let mut statement = opened.prepare("SELECT count(*) FROM pragma_table_info(?) WHERE name = ?")?;
        for (table, columns) in TABLES {
            for column in columns {
                if statement.query_row([table, column], |row| row.get::<_, i64>(0))? == 0 {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    };
    of_file(database)?;
    read().map_err(|error| failed("looking for the tables of logs", &error).in_file(database))
}

/// Creates the tables of logs in a database, and the database if there is none. Existing tables stay.
///
/// # Errors
///
/// The file cannot be written, or is no database.
pub fn create_tables(database: &Path) -> Result<(), LogError> {
    let create = || Connection::open(database)?.execute_batch(SCHEMA);
    create().map_err(|error| failed("making the tables of logs", &error).in_file(database))
}

/// Changes the run number of a log set. Returns whether there is such a set.
///
/// # Errors
///
/// The database cannot be written.
pub fn set_run_id(database: &Path, guid: &str, run_id: i32) -> Result<bool, LogError> {
    let update = || {
        let opened = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        opened.execute("UPDATE DisplayToID SET RunID = ? WHERE GUID = ?", params![run_id, guid])
    };
    of_file(database)?;
    let changed = update().map_err(|error| failed("writing the table DisplayToID", &error))?;
    Ok(changed > 0)
}

/// Copies the log set of one database into another one, under another name, GUID and number. Missing tables
/// are created.
///
/// A set with that name is replaced, or with `append` continued under its old GUID.
///
/// # Errors
///
/// A file cannot be read or written, or `from` has no log set. The database does not change then.
pub fn add_log_set(database: &Path, from: &Path, set: &LogSet, append: bool) -> Result<(), LogError> {
    of_file(from)?;
    create_tables(database)?;
    let add = || -> rusqlite::Result<()> {
        let mut opened = Connection::open(database)?;
        opened.execute("ATTACH ? AS theirs", [from.to_string_lossy()])?;
        let change = opened.transaction()?;
        let known: Option<String> = change
            .query_row("SELECT GUID FROM main.DisplayToID WHERE DisplayString = ?", [&set.name], |row| {
                row.get(0)
            })
            .optional()?;
        let guid = known.as_ref().filter(|_| append).unwrap_or(&set.guid);
        if let Some(known) = known.as_ref().filter(|_| !append) {
            for table in ["CounterData", "CounterStatus", "EmptyRecords", "DisplayToID"] {
                change.execute(&format!("DELETE FROM main.{table} WHERE GUID = ?"), [known])?;
            }
        }
        copy_counters(&change)?;
        copy_rows(&change, guid)?;
        change.execute(
            "INSERT INTO main.DisplayToID SELECT ?1, ?2, ?3, LogStartTime, LogStopTime, NumberOfRecords, \
             MinutesToUTC, TimeZoneName FROM theirs.DisplayToID WHERE true LIMIT 1 \
             ON CONFLICT (GUID) DO UPDATE SET RunID = ?2, LogStopTime = excluded.LogStopTime, \
             NumberOfRecords = NumberOfRecords + excluded.NumberOfRecords",
            params![guid, set.run_id, set.name],
        )?;
        change.commit()
    };
    add().map_err(|error| failed("adding a log set", &error).in_file(database))
}

/// Adds new counters, and maps the numbers of both databases in a table.
fn copy_counters(change: &Connection) -> rusqlite::Result<()> {
    change.execute_batch(&format!(
        "INSERT INTO main.CounterDetails
             SELECT (SELECT coalesce(max(CounterID), 0) FROM main.CounterDetails)
                        + row_number() OVER (ORDER BY theirs.CounterID),
                    MachineName, ObjectName, CounterName, CounterType, DefaultScale, InstanceName, InstanceIndex,
                    ParentName, ParentObjectID, TimeBaseA, TimeBaseB
             FROM theirs.CounterDetails AS theirs
             WHERE NOT EXISTS (SELECT 1 FROM main.CounterDetails AS ours WHERE {SAME_COUNTER});
         CREATE TEMP TABLE SameCounter AS
             SELECT theirs.CounterID AS their_id, min(ours.CounterID) AS our_id
             FROM theirs.CounterDetails AS theirs JOIN main.CounterDetails AS ours ON {SAME_COUNTER}
             GROUP BY theirs.CounterID;
         CREATE UNIQUE INDEX temp.OfTheirs ON SameCounter (their_id);"
    ))
}

/// Adds the records after those that are there.
fn copy_rows(change: &Connection, guid: &str) -> rusqlite::Result<()> {
    const LAST: &str = "SELECT coalesce(max(RecordIndex), 0) FROM (\
         SELECT RecordIndex FROM main.CounterData WHERE GUID = ?1 \
         UNION ALL SELECT RecordIndex FROM main.EmptyRecords WHERE GUID = ?1)";
    let last: i64 = change.query_row(LAST, [guid], |row| row.get(0))?;
    change.execute(
        "INSERT OR IGNORE INTO main.CounterData SELECT ?1, our_id, RecordIndex + ?2, CounterDateTime, CounterValue, \
         FirstValueA, FirstValueB, SecondValueA, SecondValueB, MultiCount \
         FROM theirs.CounterData JOIN temp.SameCounter ON CounterID = their_id",
        params![guid, last],
    )?;
    change.execute(
        "INSERT OR IGNORE INTO main.CounterStatus SELECT ?1, RecordIndex + ?2, our_id, Status, Reason \
         FROM theirs.CounterStatus JOIN temp.SameCounter ON CounterID = their_id",
        params![guid, last],
    )?;
    change.execute(
        "INSERT OR IGNORE INTO main.EmptyRecords SELECT ?1, RecordIndex + ?2, CounterDateTime \
         FROM theirs.EmptyRecords",
        params![guid, last],
    )?;
    Ok(())
}

/// Reports a missing file as such, not in the words of the library.
fn of_file(path: &Path) -> Result<(), LogError> {
    match std::fs::metadata(path) {
        Ok(known) if known.is_file() => Ok(()),
        Ok(_) => Err(LogError::new(LogErrorKind::NotALog("needed a file".to_owned())).in_file(path)),
        Err(error) => Err(LogError::from(error).in_file(path)),
    }
}
