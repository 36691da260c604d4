//! Where a table is: a folder, or object storage.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::folder::Folder;
use crate::error::{LogError, LogErrorKind};
use crate::file::is_address;

/// A part that is read.
pub(super) trait Input: Read + Seek {}

impl<I: Read + Seek> Input for I {}

/// A file that a table may have: its path below the table, its bytes, and when it was written, in
/// milliseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) below: String,
    pub(super) bytes: u64,
    pub(super) milliseconds: u64,
}

/// What a table needs of the place where it is. Paths are relative to it, with `/` between their parts.
pub(super) trait Store: Send + Sync {
    /// Its name for messages.
    fn shown(&self) -> &Path;

    /// Whether there is a table.
    fn is_table(&self) -> io::Result<bool>;

    /// Makes room for a new table. `Err` in words if something else is there.
    fn begin(&self) -> io::Result<Result<(), String>>;

    /// When the place was made, for a new table.
    fn created(&self) -> io::Result<SystemTime>;

    /// The number of the newest version, and whether there are checkpoints.
    fn newest(&self) -> io::Result<(Option<u64>, bool)>;

    /// The text of a version; `None` if there is none. Of a longer text one byte more than `most` comes.
    fn version(&self, number: u64, most: u64) -> io::Result<Option<Vec<u8>>>;

    /// The text of a version that is read alone, not one after the other.
    fn one_version(&self, number: u64, most: u64) -> io::Result<Option<Vec<u8>>> {
        self.version(number, most)
    }

    /// Writes a version if there is none of this number; returns whether.
    fn write_version(&self, number: u64, text: &[u8]) -> io::Result<bool>;

    /// Whether a version whose writing failed may appear later: its request may still be on the way.
    fn may_arrive_late(&self) -> bool {
        false
    }

    /// Opens a part. `size` is what the table says.
    fn open(&self, below: &Path, size: u64) -> io::Result<Box<dyn Input>>;

    /// Begins a part of a partition.
    fn create(&self, folder: &str, name: &str) -> io::Result<Box<dyn NewPart>>;

    /// Removes a file.
    fn remove(&self, below: &Path) -> io::Result<()>;

    /// The files of parts, whether or not a version names them.
    fn parts(&self) -> io::Result<Vec<Stored>>;
}

/// A part that is being written. Dropping it removes it.
pub(super) trait NewPart: Send {
    /// The file to write.
    fn file(&self) -> io::Result<File>;

    /// Gives it its name, when it is complete: its bytes, and the time.
    fn keep(self: Box<Self>) -> io::Result<(u64, SystemTime)>;
}

/// The place that a path names.
///
/// # Errors
///
/// An address that cannot be used, or that this program was not built for.
pub(super) fn store_at(root: &Path) -> Result<Arc<dyn Store>, LogError> {
    if is_address(root) { bucket_at(root) } else { Ok(Arc::new(Folder::new(root))) }
}

/// Whether there is a table in a folder, or at an address.
///
/// # Errors
///
/// The server cannot be asked, or the address cannot be used.
pub fn has_table(root: &Path) -> Result<bool, LogError> {
    store_at(root)?.is_table().map_err(|error| LogError::from(error).in_file(root))
}

/// Whether an address can be used, as far as that shows without asking its server: it is one, and there are
/// credentials.
///
/// # Errors
///
/// What is wrong with it.
pub fn check_address(root: &Path) -> Result<(), LogError> {
    store_at(root).map(drop)
}

#[cfg(feature = "s3")]
fn bucket_at(root: &Path) -> Result<Arc<dyn Store>, LogError> {
    let text = root.to_str().unwrap_or_default();
    let opened = super::bucket::BucketStore::open(text);
    match opened {
        Ok(store) => Ok(Arc::new(store)),
        Err(error) => Err(LogError::new(LogErrorKind::Request(error.to_string())).in_file(root)),
    }
}

#[cfg(not(feature = "s3"))]
fn bucket_at(root: &Path) -> Result<Arc<dyn Store>, LogError> {
    let words =
        "this program was built without the feature s3, which reads and writes lakes in object storage";
    Err(LogError::new(LogErrorKind::Request(words.to_owned())).in_file(root))
}

/// The name of a version below the table.
pub(super) fn name_of(version: u64) -> String {
    format!("{}/{version:020}.json", super::LOG)
}

/// The number of a version by the name of its file.
pub(super) fn number_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".json").filter(|digits| digits.len() == 20)?;
    digits.parse().ok()
}

/// The full name of a file of the table, for messages.
pub(super) fn whole(root: &Path, below: &Path) -> PathBuf {
    if is_address(root) {
        // `join` would take the separator of the system.
        PathBuf::from(format!("{}/{}", root.display().to_string().trim_end_matches('/'), below.display()))
    } else {
        root.join(below)
    }
}
