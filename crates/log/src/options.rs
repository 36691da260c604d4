//! How a log is read: what the log itself does not say.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::names::NameTable;
use crate::processes::ProcessNames;
use crate::select::Selection;
use crate::wanted::Wanted;

/// How to read a log and compute its values: what the log itself does not say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadOptions {
    /// The encoding of text logs that are not Unicode: a label such as `windows-1251`, or a number such as
    /// `1251`. The default for text that is not UTF-8 is windows-1252.
    pub code_page: Option<String>,
    /// Minutes to add to local time to get UTC, instead of what the log says.
    pub bias: Option<i32>,
    /// The log set of a database to read; without a name all of them are read, one after another.
    pub log_set: Option<String>,
    /// Shows the names of another language instead of those of the log.
    pub names: Option<Arc<NameTable>>,
    /// Gives each process columns of its own, where the log has the process ids.
    pub processes: Option<ProcessNames>,
    /// Compute shares above 100 % as 100. Windows does not do so when it writes logs.
    pub cap: bool,
    /// What the reader of the log needs of it. Where a format finds that faster than everything, such as
    /// the parts of a lake, other counters and records may be left out; else it changes nothing.
    pub needed: Selection,
    /// The counters whose values the reader of the log uses; `None` for all. Where a format finds that
    /// faster, as a BLG does, the values of others are not decoded, but for data blocks of whole objects: their
    /// columns are there, without values. Names of another language ([`ReadOptions::names`]) turn it off.
    pub used: Option<UsedCounters>,
    /// The most bytes that a compressed file is unpacked to; `None` for the usual limits, which are 16 GiB,
    /// and a thousand times the file.
    pub most_unpacked: Option<u64>,
    /// Counts the bytes that are read, for a progress bar.
    pub bytes_read: BytesRead,
    /// Whether somebody still waits for what is read.
    pub wanted: Wanted,
}

/// Counters by the names of object and counter, whatever their host and instance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UsedCounters(Arc<HashSet<(String, String)>>);

impl UsedCounters {
    /// These counters, by the names that [`UsedCounters::names_of`] gives.
    pub fn new(names: impl IntoIterator<Item = (String, String)>) -> UsedCounters {
        UsedCounters(Arc::new(names.into_iter().collect()))
    }

    /// Object and counter in lowercase. The objects of a named instance of SQL Server are those of SQL
    /// Server.
    pub fn names_of(object: &str, counter: &str) -> (String, String) {
        let object = object.to_lowercase();
        let object = match object.strip_prefix("mssql$").and_then(|rest| rest.split_once(':')) {
            Some((_, object)) => format!("sqlserver:{object}"),
            None => object,
        };
        (object, counter.to_lowercase())
    }

    /// Whether a counter is one of them.
    pub fn has(&self, object: &str, counter: &str) -> bool {
        self.0.contains(&UsedCounters::names_of(object, counter))
    }
}

/// Counts the bytes read from files. Clones share one counter. Databases are not counted, because their
/// library reads them.
#[derive(Debug, Clone, Default)]
pub struct BytesRead(Arc<AtomicU64>);

impl BytesRead {
    /// The number so far.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, read: u64) {
        self.0.fetch_add(read, Ordering::Relaxed);
    }
}

/// All counters are equal: they do not change what is read.
impl PartialEq for BytesRead {
    fn eq(&self, _: &BytesRead) -> bool {
        true
    }
}

impl Eq for BytesRead {}

/// A file that counts the bytes read from it.
pub(crate) struct Counted {
    pub(crate) file: File,
    pub(crate) count: BytesRead,
    pub(crate) wanted: Wanted,
}

impl Counted {
    /// A file that is read as the options say.
    pub(crate) fn new(file: File, options: &ReadOptions) -> Counted {
        Counted { file, count: options.bytes_read.clone(), wanted: options.wanted.clone() }
    }
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.wanted.check()?;
        let read = self.file.read(buffer)?;
        self.count.add(read as u64);
        Ok(read)
    }
}

impl Seek for Counted {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}
