//! The reading side: finds published files and copies values out of them.
//!
//! A file belongs to another program, which may crash, stop, cut the file short or write anything at any
//! time. So the reader copies everything, and checks the copy only. It copies by `pread`, which reports when
//! a file has become shorter. Files of root and of this user it maps when it has read them twice, since a
//! system call takes fifty times as long as the copy (on Windows, where no mapped file can become shorter, it
//! maps all of them). Each reading copies the values; it copies the names of instances when a use number shows
//! that they are new.
//!
mod copy;
#[cfg_attr(windows, path = "file_windows.rs")]
mod file;
mod instance;
#[cfg(target_os = "linux")]
mod mapped;
mod parse;
mod publication;
mod refusal;
mod room;
mod slots;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::mem;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::directory::{MAX_FILES, SUFFIX, directories};
use super::identity::Identity;
use super::process::{Ends, Watch, ended, perf_nanoseconds};
use super::system::{is_safe, last_change, owner, thread_time};
#[cfg(all(test, loom))]
pub(super) use copy::{agrees, settled_use};
pub use instance::{InstanceRef, ParentRef, Published};
pub(super) use parse::kept_name;
pub use publication::{Publication, ReadCost};
pub use refusal::{Refusal, RefusalReason};

use room::Rooms;
pub use room::is_own;

/// The most files of one other user, and of all other users together, that are read in a directory. Root and
/// this user may each have [`MAX_FILES`].
const MAX_FILES_OF_USER: usize = 256;
const MAX_FILES_OF_OTHERS: usize = 2048;
/// The most names in a directory that are looked at.
const MAX_NAMES: usize = 1 << 18;
/// A listing that took more processor time than this is not repeated before it is a twentieth of the time.
const LONG_LISTING: Duration = Duration::from_millis(20);

/// Finds publications and keeps them open.
#[derive(Debug)]
pub struct Reader {
    directories: Vec<Directory>,
    publications: Vec<Publication>,
    refusals: Vec<Refusal>,
    /// Files that will be refused again as long as they do not change.
    refused: BTreeMap<PathBuf, Identity>,
    rooms: Rooms,
    /// Whether a process of a publication has ended.
    ends: Ends,
}

/// A file in a directory.
#[derive(Debug)]
struct Candidate {
    path: PathBuf,
    user: u32,
    identity: Identity,
}

#[derive(Debug)]
struct Directory {
    path: PathBuf,
    /// Time of the directory's last change when it was last listed, if that was long enough ago to
    /// distinguish it from a later change.
    settled: Option<(i64, i64)>,
    /// Whether it existed when it was last read; initially true, so that the first reading is complete.
    was_there: bool,
    /// When it is listed again, after a listing that took long.
    next: Option<Instant>,
}

impl Reader {
    /// A reader of the run directories of this machine and user, see [`directories`].
    pub fn system() -> Reader {
        Reader::new(directories())
    }

    /// A reader of some directories; they need not exist.
    pub fn new(directories: impl IntoIterator<Item = PathBuf>) -> Reader {
        let directory = |path| Directory { path, settled: None, was_there: true, next: None };
        Reader {
            directories: directories.into_iter().map(directory).collect(),
            publications: Vec::new(),
            refusals: Vec::new(),
            refused: BTreeMap::new(),
            rooms: Rooms::new(),
            ends: Ends::Nobody,
        }
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

    /// Reads the values of some publications, by their positions in [`Reader::publications`].
    ///
    /// It costs less than [`Publication::read`] for each of them. One that can no longer be read has no
    /// instances, and is dropped by the next [`Reader::scan`].
    pub fn read(&mut self, mut wanted: impl FnMut(usize) -> bool) {
        let mut now = perf_nanoseconds();
        for (position, publication) in self.publications.iter_mut().enumerate() {
            if wanted(position) {
                now = publication.read_from(now);
            }
        }
    }

    /// Files in the directories that are not read.
    pub fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    /// Drops publications whose process has ended and whose values are not to be kept, or which could not be
    /// read the last time.
    fn drop_dead(&mut self) -> bool {
        let looks =
            |publication: &Publication| publication.watch().is_none() || publication.fault().is_some();
        if !self.ends.any() && !self.publications.iter().any(looks) {
            return false;
        }
        let before = self.publications.len();
        let watched: Vec<&Watch> = self.publications.iter().filter_map(Publication::watch).collect();
        let mut answers = ended(&watched).unwrap_or_default().into_iter();
        let gone: Vec<bool> = self
            .publications
            .iter()
            .map(|publication| {
                let answer = publication.watch().and_then(|_| answers.next());
                answer.unwrap_or_else(|| publication.is_gone())
            })
            .collect();
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
        let time = about.ok().and_then(|about| last_change(&about));
        let start = Instant::now();
        if time.is_some() && time == directory.settled || directory.next.is_some_and(|next| start < next) {
            return false;
        }
        let path = directory.path.clone();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        // Clocks of file systems stand still for some milliseconds; a change within them does not change the
        // time.
        directory.settled = time.filter(|(seconds, _)| now > seconds.saturating_add(1));
        let begun = thread_time();
        let candidates = self.list(&path);
        let took = thread_time().saturating_sub(begun);
        if let Some(directory) = self.directories.get_mut(at) {
            let pause = took.saturating_mul(20);
            directory.next = (took > LONG_LISTING).then(|| start.checked_add(pause)).flatten();
            if directory.next.is_some() {
                directory.settled = None;
            }
        }
        let names: BTreeSet<&Path> = candidates.iter().map(|candidate| candidate.path.as_path()).collect();
        let before = self.publications.len();
        self.publications
            .retain(|publication| publication.directory() != at || names.contains(publication.path()));
        drop(names);
        let removed = before != self.publications.len();
        self.open_new(candidates, at) || removed
    }

    /// Opens the files that are not open yet.
    fn open_new(&mut self, candidates: Vec<Candidate>, at: usize) -> bool {
        let known: BTreeSet<PathBuf> =
            self.publications.iter().map(|publication| publication.path().to_path_buf()).collect();
        let mut changed = false;
        for Candidate { path, identity, .. } in candidates {
            if known.contains(&path) || self.refused.get(&path) == Some(&identity) {
                continue;
            }
            match Publication::open(&path, at, &mut self.rooms) {
                Ok(publication) => {
                    if let Some(watch) = publication.watch() {
                        self.ends.add(watch);
                    }
                    self.publications.push(publication);
                    changed = true;
                }
                Err(reason) => {
                    if !reason.is_final()
                        && let Some(directory) = self.directories.get_mut(at)
                    {
                        // The next attempt may succeed.
                        directory.settled = None;
                    }
                    if reason.is_final() {
                        self.refused.insert(path.clone(), identity);
                    }
                    self.refusals.push(Refusal { path, reason });
                }
            }
        }
        changed
    }

    /// The files of a directory that are read: root's and this user's first, then a share of each other user.
    /// Forgets earlier refusals there, except of files that have not changed.
    fn list(&mut self, path: &Path) -> Vec<Candidate> {
        let (found, too_many) = match list(path) {
            Ok(found) => found,
            Err(reason) => {
                self.forget_refusals(path, &[]);
                if !matches!(&reason, RefusalReason::Io(error) if error.kind() == io::ErrorKind::NotFound) {
                    self.refusals.push(Refusal { path: path.to_path_buf(), reason });
                }
                return Vec::new();
            }
        };
        let (candidates, left_out) = self.share_out(found);
        self.forget_refusals(path, &candidates);
        let refuse = |reason| Refusal { path: path.to_path_buf(), reason };
        if too_many {
            self.refusals.push(refuse(RefusalReason::TooManyNames));
        }
        let left_out = left_out.into_iter().map(|(user, left_out)| RefusalReason::TooMany { user, left_out });
        self.refusals.extend(left_out.map(refuse));
        candidates
    }

    fn forget_refusals(&mut self, directory: &Path, candidates: &[Candidate]) {
        let same: BTreeMap<&Path, Identity> =
            candidates.iter().map(|candidate| (candidate.path.as_path(), candidate.identity)).collect();
        self.refused.retain(|path, identity| {
            !path.starts_with(directory) || same.get(path.as_path()) == Some(identity)
        });
        let refused = &self.refused;
        self.refusals
            .retain(|refusal| !refusal.path.starts_with(directory) || refused.contains_key(&refusal.path));
    }

    /// Of each user as many files as are read, those that are open already first; and how many are left out.
    fn share_out(&self, mut found: Vec<Candidate>) -> (Vec<Candidate>, BTreeMap<u32, usize>) {
        let open: BTreeSet<&Path> = self.publications.iter().map(Publication::path).collect();
        let class = |user: u32| if user == 0 { 0 } else { 1u8.saturating_add(u8::from(!is_own(user))) };
        found.sort_by(|a, b| {
            let key = |one: &Candidate| (class(one.user), !open.contains(one.path.as_path()));
            key(a).cmp(&key(b)).then_with(|| a.path.cmp(&b.path))
        });
        let (mut taken, mut others) = (BTreeMap::<u32, usize>::new(), 0usize);
        let mut left_out = BTreeMap::new();
        found.retain(|candidate| {
            let own = is_own(candidate.user);
            let n = taken.entry(candidate.user).or_default();
            let most = if own { MAX_FILES } else { MAX_FILES_OF_USER };
            if *n >= most || !own && others >= MAX_FILES_OF_OTHERS {
                let n: &mut usize = left_out.entry(candidate.user).or_default();
                *n = n.saturating_add(1);
                return false;
            }
            *n = n.saturating_add(1);
            others = others.saturating_add(usize::from(!own));
            true
        });
        (found, left_out)
    }
}

/// The published files in a directory, and whether it has more names than are looked at.
fn list(directory: &Path) -> Result<(Vec<Candidate>, bool), RefusalReason> {
    if !is_safe(directory).map_err(RefusalReason::Io)? {
        return Err(RefusalReason::UnsafeDirectory);
    }
    let mut entries = std::fs::read_dir(directory).map_err(RefusalReason::Io)?;
    let mut found = Vec::new();
    for entry in entries.by_ref().take(MAX_NAMES).flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        if !name.ends_with(SUFFIX.as_bytes()) || name.starts_with(b".") {
            continue;
        }
        // A file that is gone by now is none.
        let Ok((user, identity)) = owner(&entry) else { continue };
        found.push(Candidate { path: entry.path(), user, identity });
    }
    Ok((found, entries.next().is_some()))
}
