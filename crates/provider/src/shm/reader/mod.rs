//! The reading side: finds published files and copies values out of them.
//!
//! A file belongs to another program, which may crash, stop, cut the file short or write anything at any
//! time. So the reader maps nothing: it copies everything by `pread`, which reports when a file has become
//! shorter, and checks the copy only. Each reading copies the values; it copies the names of instances when a
//! use number shows that they are new.
//!
mod copy;
mod instance;
mod parse;
mod publication;
mod refusal;
mod slots;

use std::collections::BTreeSet;
use std::io;
use std::mem;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, Timespec, poll};

use super::directory::{MAX_FILES, SUFFIX, directories, is_safe};
#[cfg(all(test, loom))]
pub(super) use copy::{agrees, settled_use};
pub use instance::{InstanceRef, ParentRef, Published};
pub(super) use parse::kept_name;
pub use publication::{Publication, ReadCost};
pub use refusal::{Refusal, RefusalReason};

/// The most bytes that all publications together take in this process.
const MAX_MEMORY: usize = 256 << 20;

/// Finds publications and keeps them open.
#[derive(Debug)]
pub struct Reader {
    directories: Vec<Directory>,
    publications: Vec<Publication>,
    refusals: Vec<Refusal>,
}

#[derive(Debug)]
struct Directory {
    path: PathBuf,
    /// Time of the directory's last change when it was last listed, if that was long enough ago to
    /// distinguish it from a later change.
    settled: Option<(i64, i64)>,
    /// Whether it existed when it was last read; initially true, so that the first reading is complete.
    was_there: bool,
}

impl Reader {
    /// A reader of the run directories of this machine and user, see [`directories`].
    pub fn system() -> Reader {
        Reader::new(directories())
    }

    /// A reader of some directories; they need not exist.
    pub fn new(directories: impl IntoIterator<Item = PathBuf>) -> Reader {
        let directories =
            directories.into_iter().map(|path| Directory { path, settled: None, was_there: true }).collect();
        Reader { directories, publications: Vec::new(), refusals: Vec::new() }
    }

    /// Looks for new and removed publications. Returns whether anything has changed.
    ///
    /// Values are not read; see [`Publication::read`].
    pub fn scan(&mut self) -> bool {
        let mut changed = self.drop_dead();
        for at in 0..self.directories.len() {
            changed |= self.scan_directory(at);
        }
        changed
    }

    /// The publications, oldest first within a directory.
    pub fn publications(&self) -> &[Publication] {
        &self.publications
    }

    /// The publications, to read their values.
    pub fn publications_mut(&mut self) -> &mut [Publication] {
        &mut self.publications
    }

    /// Files in the directories that are not read.
    pub fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    /// Drops publications whose process has ended and whose values are not to be kept, or which could not be
    /// read the last time.
    fn drop_dead(&mut self) -> bool {
        if self.publications.is_empty() {
            return false;
        }
        let before = self.publications.len();
        let watched = self.publications.iter().filter_map(Publication::watch);
        let mut asked: Vec<PollFd<'_>> = watched.collect();
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let answered = poll(&mut asked, Some(&now)).is_ok();
        let mut ended = asked.iter().map(|asked| !asked.revents().is_empty());
        let gone: Vec<bool> = self
            .publications
            .iter()
            .map(|publication| {
                let watched = publication.watch().and_then(|_| ended.next()).filter(|_| answered);
                watched.unwrap_or_else(|| publication.is_gone())
            })
            .collect();
        drop(ended);
        let mut gone = gone.into_iter();
        let refusals = &mut self.refusals;
        self.publications.retain_mut(|publication| {
            let keep = publication.goes_on(gone.next().unwrap_or(false));
            if !keep && let Some(reason) = publication.take_fault() {
                refusals.push(Refusal { path: publication.path().to_path_buf(), reason });
            }
            keep
        });
        before != self.publications.len()
    }

    fn scan_directory(&mut self, at: usize) -> bool {
        let Some(directory) = self.directories.get_mut(at) else { return false };
        let about = std::fs::metadata(&directory.path);
        let is_there = !about.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        let was_there = mem::replace(&mut directory.was_there, is_there);
        if !is_there && !was_there {
            return false;
        }
        let time = about.ok().map(|about| (about.mtime(), about.mtime_nsec()));
        if time.is_some() && time == directory.settled {
            return false;
        }
        let path = directory.path.clone();
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime).tv_sec;
        // Clocks of file systems stand still for some milliseconds; a change within them does not change the
        // time.
        directory.settled = time.filter(|(seconds, _)| now > seconds.saturating_add(1));
        self.refusals.retain(|refusal| !refusal.path.starts_with(&path));
        let names = match list(&path) {
            Ok(names) => names,
            Err(RefusalReason::Io(error)) if error.kind() == io::ErrorKind::NotFound => BTreeSet::new(),
            Err(reason) => {
                self.refusals.push(Refusal { path: path.clone(), reason });
                BTreeSet::new()
            }
        };
        if names.len() >= MAX_FILES {
            self.refusals.push(Refusal { path: path.clone(), reason: RefusalReason::TooMany });
        }
        let before = self.publications.len();
        self.publications
            .retain(|publication| publication.directory() != at || names.contains(publication.path()));
        let mut changed = before != self.publications.len();
        let known: BTreeSet<PathBuf> =
            self.publications.iter().map(|publication| publication.path().to_path_buf()).collect();
        for path in names.difference(&known) {
            match Publication::open(path, at) {
                Ok(publication) => {
                    let memory =
                        self.publications.iter().map(Publication::memory).fold(0, usize::saturating_add);
                    if memory.saturating_add(publication.memory()) > MAX_MEMORY {
                        let reason = RefusalReason::TooMany;
                        self.refusals.push(Refusal { path: path.clone(), reason });
                    } else {
                        self.publications.push(publication);
                        changed = true;
                    }
                }
                Err(reason) => {
                    if matches!(reason, RefusalReason::Io(_))
                        && let Some(directory) = self.directories.get_mut(at)
                    {
                        // The next attempt may succeed.
                        directory.settled = None;
                    }
                    self.refusals.push(Refusal { path: path.clone(), reason });
                }
            }
        }
        changed
    }
}

/// The published files in a directory.
fn list(directory: &Path) -> Result<BTreeSet<PathBuf>, RefusalReason> {
    if !is_safe(directory).map_err(RefusalReason::Io)? {
        return Err(RefusalReason::UnsafeDirectory);
    }
    let entries = std::fs::read_dir(directory).map_err(RefusalReason::Io)?;
    let published = entries.flatten().map(|entry| entry.file_name()).filter(|name| {
        let name = name.as_encoded_bytes();
        name.ends_with(SUFFIX.as_bytes()) && !name.starts_with(b".")
    });
    Ok(published.take(MAX_FILES).map(|name| directory.join(name)).collect())
}
