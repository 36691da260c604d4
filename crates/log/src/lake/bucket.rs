//! A table in object storage. Parts are written into files without names, and put when they are complete; a
//! version is an object under a name that the server gives once.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use tallymon_core::time::FileTime;
use tallymon_push::s3::{Address, Bucket, S3Error};

use super::random::random;
use super::store::{Input, NewPart, Store, Stored, name_of, number_of};
use super::{LOG, MOST_OF_VERSION, times};
use crate::temporary::temporary;

/// The end of a part, with its footer, and what is read of it at a time.
const TAIL: u64 = 64 << 10;
const BLOCK: u64 = 1 << 20;

/// Versions that are read ahead: how many, the bytes of them that are enough, and how many at the same time.
const AHEAD: usize = 64;
const ENOUGH: usize = 64 << 20;
const AT_ONCE: usize = 8;

/// A folder of a bucket.
pub(super) struct BucketStore {
    bucket: Arc<Bucket>,
    shown: PathBuf,
    /// Versions that were read and not asked for yet.
    versions: Mutex<BTreeMap<u64, Vec<u8>>>,
}

impl BucketStore {
    pub(super) fn open(address: &str) -> Result<BucketStore, S3Error> {
        Ok(BucketStore::of(Bucket::of_environment(&Address::parse(address)?)?))
    }

    fn of(bucket: Bucket) -> BucketStore {
        let shown = PathBuf::from(bucket.address().to_string());
        BucketStore { bucket: Arc::new(bucket), shown, versions: Mutex::default() }
    }

    /// The numbers of versions behind a number, in order, and whether there are checkpoints behind it.
    fn numbers(&self, after: Option<u64>) -> Result<(Vec<u64>, bool), S3Error> {
        let folder = format!("{LOG}/");
        let after = after.map(name_of);
        let (mut numbers, mut has_checkpoint) = (Vec::new(), false);
        for found in self.bucket.list(&folder, after.as_deref(), usize::MAX)? {
            let name = found.key.strip_prefix(&folder).unwrap_or_default();
            has_checkpoint |= name.contains(".checkpoint.");
            numbers.extend(number_of(name));
        }
        numbers.sort_unstable();
        Ok((numbers, has_checkpoint))
    }

    /// Reads versions, several at a time: all, or the first ones if these have many bytes.
    fn read_ahead(&self, numbers: &[u64], most: u64) -> Result<BTreeMap<u64, Vec<u8>>, S3Error> {
        let most = usize::try_from(most.saturating_add(1)).unwrap_or(usize::MAX);
        let mut read = BTreeMap::new();
        let mut bytes = 0usize;
        for some in numbers.chunks(AT_ONCE) {
            let get = |number: u64| self.bucket.get(&name_of(number), most);
            let texts: Vec<_> = std::thread::scope(|scope| {
                let begin = |number: &u64| {
                    let (number, named) = (*number, std::thread::Builder::new().name("lake".to_owned()));
                    // Where no more threads are allowed, this one does it.
                    named.spawn_scoped(scope, move || get(number)).map_err(|_| number)
                };
                let started: Vec<_> = some.iter().map(begin).collect();
                let ended = started.into_iter().map(|thread| match thread {
                    Ok(thread) => thread.join(),
                    Err(number) => Ok(get(number)),
                });
                ended.collect()
            });
            for (number, text) in some.iter().zip(texts) {
                let text =
                    text.unwrap_or_else(|_| Err(S3Error::Local(io::Error::other("a thread ended"))))?;
                bytes = bytes.saturating_add(text.as_ref().map_or(0, Vec::len));
                read.extend(text.map(|text| (*number, text)));
            }
            if bytes >= ENOUGH {
                break;
            }
        }
        Ok(read)
    }
}

impl Store for BucketStore {
    fn shown(&self) -> &Path {
        &self.shown
    }

    fn is_table(&self) -> io::Result<bool> {
        Ok(!self.bucket.list(&format!("{LOG}/"), None, 1)?.is_empty())
    }

    fn begin(&self) -> io::Result<Result<(), String>> {
        // A page of a list: it has what is not hidden, unless a thousand other objects are.
        let found = self.bucket.list("", None, 1)?;
        Ok(match found.into_iter().find(|found| !found.key.starts_with(['_', '.'])) {
            None => Ok(()),
            Some(found) => {
                Err(format!("the folder has {:?} in it, and is not a table; name a new folder", found.key))
            }
        })
    }

    fn created(&self) -> io::Result<SystemTime> {
        temporary()?.metadata()?.modified()
    }

    fn newest(&self) -> io::Result<(Option<u64>, bool)> {
        let (numbers, has_checkpoint) = self.numbers(None)?;
        Ok((numbers.last().copied(), has_checkpoint))
    }

    fn version(&self, number: u64, most: u64) -> io::Result<Option<Vec<u8>>> {
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        if !versions.contains_key(&number) {
            let (mut numbers, _) = self.numbers(number.checked_sub(1))?;
            numbers.retain(|found| *found >= number);
            numbers.truncate(AHEAD);
            *versions = self.read_ahead(&numbers, most.min(MOST_OF_VERSION))?;
        }
        Ok(versions.remove(&number))
    }

    fn one_version(&self, number: u64, most: u64) -> io::Result<Option<Vec<u8>>> {
        let most = usize::try_from(most.saturating_add(1)).unwrap_or(usize::MAX);
        Ok(self.bucket.get(&name_of(number), most)?)
    }

    fn write_version(&self, number: u64, text: &[u8]) -> io::Result<bool> {
        self.bucket.prove_names_are_given_once(&format!("_tally/proof-{:032x}", random()))?;
        Ok(self.bucket.put_new(&name_of(number), text)?)
    }

    fn may_arrive_late(&self) -> bool {
        true
    }

    fn open(&self, below: &Path, size: u64) -> io::Result<Box<dyn Input>> {
        let key = key_of(below)?;
        let object = Object {
            bucket: Arc::clone(&self.bucket),
            key,
            length: size,
            at: 0,
            begin: 0,
            block: Vec::new(),
        };
        Ok(Box::new(BufReader::with_capacity(1 << 16, object)))
    }

    fn create(&self, folder: &str, name: &str) -> io::Result<Box<dyn NewPart>> {
        let (bucket, key) = (Arc::clone(&self.bucket), format!("{folder}/{name}"));
        Ok(Box::new(Unsent { bucket, key, file: temporary()? }))
    }

    fn remove(&self, below: &Path) -> io::Result<()> {
        Ok(self.bucket.delete(&key_of(below)?)?)
    }

    fn parts(&self) -> io::Result<Vec<Stored>> {
        let stored = |found: tallymon_push::s3::Found| {
            let is_proof = found.key.starts_with("_tally/proof-");
            let is_hidden = found.key.split('/').any(|part| part.starts_with(['_', '.']));
            if !is_proof && (is_hidden || !found.key.ends_with(".parquet")) {
                return None;
            }
            // Without a time it is as young as can be.
            let milliseconds = times::parse(&found.modified).map_or(u64::MAX, milliseconds_of);
            Some(Stored { below: found.key, bytes: found.size, milliseconds })
        };
        Ok(self.bucket.list("", None, usize::MAX)?.into_iter().filter_map(stored).collect())
    }
}

/// Milliseconds since 1970. What was before is 0.
fn milliseconds_of(time: FileTime) -> u64 {
    u64::try_from(time.unix_nanoseconds() / 1_000_000).unwrap_or_default()
}

fn key_of(below: &Path) -> io::Result<String> {
    let parts: Option<Vec<&str>> = below.iter().map(std::ffi::OsStr::to_str).collect();
    let parts = parts.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a key is UTF-8"))?;
    Ok(parts.join("/"))
}

/// A part that waits to be put.
struct Unsent {
    bucket: Arc<Bucket>,
    key: String,
    file: File,
}

impl NewPart for Unsent {
    fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    fn keep(self: Box<Self>) -> io::Result<(u64, SystemTime)> {
        let about = self.file.metadata()?;
        self.bucket.put_file(&self.key, &self.file).map_err(|error| named(&self.key, error))?;
        Ok((about.len(), about.modified()?))
    }
}

/// An error about an object below the table.
fn named(key: &str, error: S3Error) -> io::Error {
    let error = io::Error::from(error);
    io::Error::new(error.kind(), format!("{key}: {error}"))
}

/// An object of which blocks are read.
struct Object {
    bucket: Arc<Bucket>,
    key: String,
    /// What the table says. A shorter object is an error of its own.
    length: u64,
    at: u64,
    /// The block in memory, and where it begins.
    begin: u64,
    block: Vec<u8>,
}

impl Object {
    /// What is in memory from the place to read on.
    fn known(&self) -> &[u8] {
        let at = self.at.checked_sub(self.begin).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| self.block.get(at..)).unwrap_or_default()
    }
}

impl Read for Object {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at >= self.length || buffer.is_empty() {
            return Ok(0);
        }
        if self.known().is_empty() {
            let tail = self.length.saturating_sub(TAIL);
            let from = if self.at >= tail { tail } else { self.at };
            let length = self.length.saturating_sub(from).min(BLOCK);
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            self.block = self.bucket.get_range(&self.key, from, length)?;
            self.begin = from;
        }
        let known = self.known();
        let read = known.len().min(buffer.len());
        if let Some((to, from)) = buffer.get_mut(..read).zip(known.get(..read)) {
            to.copy_from_slice(from);
        }
        self.at = self.at.saturating_add(read as u64);
        Ok(read)
    }
}

impl Seek for Object {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "before the begin"))?;
        Ok(self.at)
    }
}

#[cfg(test)]
#[path = "bucket_tests.rs"]
mod tests;
