//! Logs in databases: `SQL:file!log set`, where NT has the name of an ODBC data source before the
//! exclamation mark.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::path::{Path, PathBuf};

use tallymon::log::sqlite::{self, LogSet};
use tallymon::log::{LogError, LogErrorKind};

use crate::memory::{Buf, Letter, Out, Str};
use crate::status::{self, Done, Status};
use crate::text::{put_list, room};

/// The name of a data source in a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Database {
    pub(crate) file: PathBuf,
    pub(crate) log_set: Option<String>,
}

impl Database {
    /// Parses a name; `None` if it names no data source in a database.
    pub(crate) fn of_name(name: &str) -> Option<Database> {
        let (kind, source) = name.split_once(':')?;
        if !kind.eq_ignore_ascii_case("SQL") {
            return None;
        }
        // The name of a file may have an exclamation mark too.
        let (file, log_set) = match source.rsplit_once('!') {
            Some((file, log_set)) => (file, Some(log_set.to_string()).filter(|name| !name.is_empty())),
            None => (source, None),
        };
        Some(Database { file: PathBuf::from(file), log_set })
    }

    fn of_parameter<L: Letter>(name: Str<L>) -> Result<Database, Status> {
        let name = name.get().filter(|name| !name.is_empty()).ok_or(status::INVALID_ARGUMENT)?;
        Database::of_name(&name).ok_or(status::INVALID_DATASOURCE)
    }

    /// Its log set of that name, or its first log set if none is named; `None` when there is no such set or
    /// no database.
    pub(crate) fn known_set(&self) -> Result<Option<LogSet>, Status> {
        let sets = match sqlite::log_sets(&self.file) {
            Err(error) if is_missing(&error) => return Ok(None),
            other => other.map_err(|error| of_database(&error))?,
        };
        let is_meant = |set: &LogSet| match &self.log_set {
            Some(name) => set.name.eq_ignore_ascii_case(name),
            None => true,
        };
        Ok(sets.into_iter().find(is_meant))
    }
}

fn is_missing(error: &LogError) -> bool {
    matches!(&error.kind, LogErrorKind::Io(error) if error.kind() == std::io::ErrorKind::NotFound)
}

/// The status of a database that cannot be used.
pub(crate) fn of_database(error: &LogError) -> Status {
    match &error.kind {
        LogErrorKind::Io(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            status::ACCESS_DENIED
        }
        LogErrorKind::Io(_) | LogErrorKind::NotALog(_) => status::SQL_CONNECT_FAILED,
        _ => status::INVALID_SQLDB,
    }
}

/// Whether a database has the tables that logs need.
pub(crate) fn verify<L: Letter>(source: Str<L>) -> Done {
    let database = Database::of_parameter(source)?;
    match sqlite::has_tables(&database.file) {
        Ok(true) => Ok(()),
        Ok(false) => Err(status::INVALID_SQLDB),
        Err(error) => Err(of_database(&error)),
    }
}

/// Creates the tables that logs need; existing ones stay.
pub(crate) fn create_tables<L: Letter>(source: Str<L>) -> Done {
    let database = Database::of_parameter(source)?;
    let made = sqlite::create_tables(&database.file);
    // Connecting creates the file of a database; the first statement fails if the file is something else.
    made.map_err(|_| match database.file.exists() {
        true => status::SQL_EXEC_DIRECT_FAILED,
        false => status::SQL_CONNECT_FAILED,
    })
}

/// Lists the log sets of a database.
pub(crate) fn names<L: Letter>(source: Str<L>, list: Buf<L>, size: Out<u32>) -> Done {
    room(list, size)?;
    let database = Database::of_parameter(source)?;
    let sets = sqlite::log_sets(&database.file).map_err(|error| of_database(&error))?;
    put_list(&sets.into_iter().map(|set| set.name).collect::<Vec<_>>(), list, size)
}

/// A new log set.
pub(crate) fn new_set(name: &str) -> LogSet {
    let random = || RandomState::new().hash_one(name);
    let (high, low) = (random(), random());
    // The bits that mark a random GUID.
    let (high, low) = (high & !0xF000 | 0x4000, low & !(0xC << 60) | 0x8 << 60);
    let (a, b, c) = (high >> 32, high >> 16 & 0xFFFF, high & 0xFFFF);
    let guid = format!("{{{a:08X}-{b:04X}-{c:04X}-{:04X}-{:012X}}}", low >> 48, low & 0xFFFF_FFFF_FFFF);
    LogSet { guid, run_id: 0, name: name.to_string() }
}

/// The name of a file beside a database, for one of its log sets.
pub(crate) fn beside(database: &Path, set: &LogSet) -> PathBuf {
    let mut name = database.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}", set.guid.trim_matches(['{', '}'])));
    database.with_file_name(name)
}

/// The bytes of a GUID as C has them: the first three parts are little-endian numbers, the rest bytes.
pub(crate) fn guid_bytes(text: &str) -> Option<[u8; 16]> {
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    let mut bytes = u128::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 32)?.to_be_bytes();
    for part in [0..4, 4..6, 6..8] {
        bytes.get_mut(part)?.reverse();
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_names_of_databases() {
        let name = |text: &str| Database::of_name(text).map(|known| (known.file, known.log_set));
        assert_eq!(name("SQL:a.db!night"), Some(("a.db".into(), Some("night".to_string()))));
        assert_eq!(name("sql:/a!b/c.db!night"), Some(("/a!b/c.db".into(), Some("night".to_string()))));
        assert_eq!(name("SQL:a.db!"), Some(("a.db".into(), None)));
        assert_eq!(name("SQL:a.db"), Some(("a.db".into(), None)));
        assert_eq!(name("C:\\a.blg"), None);
        assert_eq!(name("a.blg"), None);
    }

    #[test]
    fn a_guid_has_the_bytes_of_c() {
        let bytes = guid_bytes("{00112233-4455-6677-8899-AABBCCDDEEFF}").unwrap();
        let expected =
            [0x33, 0x22, 0x11, 0, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF];
        assert_eq!(bytes, expected);
        assert_eq!(guid_bytes("{00112233}"), None);
        let (one, other) = (new_set("a"), new_set("a"));
        assert_ne!(one.guid, other.guid);
        assert!(guid_bytes(&one.guid).is_some() && one.guid.len() == 38, "{one:?}");
    }
}
