//! What reading a database may cost. A database is a program of its schema: a view may never end, and pages
//! that point to each other hold more rows than the file has bytes for.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::limits::Limit;
use rusqlite::{Connection, config::DbConfig};

use super::failed;
use crate::error::{LogError, LogErrorKind};

/// Steps of SQLite's machine between two calls of the progress handler.
const STEPS: i32 = 100_000;

/// Steps that one statement may take: a reader takes some tens for each row, and a row has some bytes.
const STEPS_PER_BYTE: u64 = 64;
const STEPS_LEAST: u64 = 500_000_000;

/// The longest text or row in bytes. Windows' names have at most 1024 letters.
const LONGEST_VALUE: i32 = 1 << 20;

/// The largest number of counters in a database. Each takes 1 to 2 kB of memory.
pub(super) const MOST_COUNTERS: usize = 1 << 18;

/// Counts the steps of one statement, and ends it when it takes too many.
#[derive(Debug, Clone)]
pub(super) struct Budget {
    used: Arc<AtomicU64>,
}

impl Budget {
    /// Limits what statements of a database may cost.
    ///
    /// # Errors
    ///
    /// Those of the library.
    pub(super) fn of(database: &mut Connection, path: &Path) -> Result<Budget, LogError> {
        let bytes = std::fs::metadata(path).map_or(0, |about| about.len());
        Budget::of_steps(database, bytes.saturating_mul(STEPS_PER_BYTE).max(STEPS_LEAST))
    }

    fn of_steps(database: &mut Connection, most: u64) -> Result<Budget, LogError> {
        let budget = Budget { used: Arc::new(AtomicU64::new(0)) };
        let used = Arc::clone(&budget.used);
        let step = u64::from(STEPS.unsigned_abs());
        let is_too_much = move || used.fetch_add(step, Ordering::Relaxed) > most;
        let limit = || -> rusqlite::Result<()> {
            database.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_VALUE)?;
            // Functions that a schema calls are not trusted, and tables are checked while they are read.
            database.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
            database.execute_batch("PRAGMA cell_size_check = ON;")?;
            database.progress_handler(STEPS, Some(is_too_much))
        };
        limit().map_err(|error| failed("opening the database", &error))?;
        Ok(budget)
    }

    /// Begins to count again, before a statement.
    pub(super) fn renew(&self) {
        self.used.store(0, Ordering::Relaxed);
    }
}

/// Refuses a database whose log is not in tables: a view or a virtual table runs what its author wrote.
pub(super) fn only_tables(database: &Connection) -> Result<(), LogError> {
    let find = "SELECT name, type FROM sqlite_master WHERE lower(name) IN \
                ('counterdata', 'counterdetails', 'displaytoid', 'counterstatus', 'emptyrecords') \
                AND (type <> 'table' OR coalesce(rootpage, 0) = 0) LIMIT 1";
    let found = database.prepare(find).and_then(|mut statement| {
        let mut rows = statement.query([])?;
        rows.next()?.map(|row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))).transpose()
    });
    match found.map_err(|error| failed("reading the tables CounterDetails and CounterData", &error))? {
        None => Ok(()),
        Some((name, kind)) => {
            let kind = if kind == "view" { "a view" } else { "no ordinary table" };
            let words = format!("{name} is {kind}; a log is read from tables only: copy its rows into one");
            Err(LogError::new(LogErrorKind::Unusable(words)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_ends_when_its_steps_are_used() {
        let mut database = Connection::open_in_memory().unwrap();
        let budget = Budget::of_steps(&mut database, 1_000_000).unwrap();
        let count = |rows: u64| {
            let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)";
            let count = format!("{numbers} SELECT count(*) FROM n");
            database.query_row(&count, [rows.cast_signed()], |row| row.get::<_, i64>(0))
        };
        for _ in 0..20 {
            budget.renew();
            assert_eq!(count(10_000).unwrap(), 10_000);
        }
        let error = count(u64::MAX >> 1).unwrap_err();
        assert_eq!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::OperationInterrupted));
    }
}
