//! The reading side: finds published files and copies values out of them.
//!
//! A file belongs to somebody else, who may die, stop, cut the file or lie at any time. So nothing is mapped: everything
//! is copied by `pread`, which is told when a file has become shorter, and looked at in the copy only. What is asked for
//! again and again are the values; the names of instances are copied when a use number says that they are new.
//!
//! Whether numbers belong together is seen from their check word, since the kernel copies in no order that one could
//! rely on, see [`super::check`]. Whether a slot was used for one instance all the time is seen from its use number, which
//! stands at both ends of it; slots rest between two uses.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::bytes::{FormatError, Part};
use super::check::check;
use super::definition::{CounterDefinition, GroupPlace, ObjectDefinition, Storage, decode};
use super::directory::{MAX_FILES, SUFFIX, directories, is_safe};
use super::histogram::Buckets;
use super::layout::{
    MAGIC, MAX_DEFINITIONS, MAX_FILE, VERSION_1, VERSION_2, extent, header, instance, slot, text_value,
};
use super::process::{belongs_to, perf_time, start_time, watch};

/// The most bytes that all publications together take in this process.
const MAX_MEMORY: usize = 256 << 20;

/// Two ranges that are nearer than this are copied as one: a system call costs more than the bytes between.
const MERGE: usize = 8192;

/// How often slots are copied again in one reading of one publication because they were just being written: about a
/// millisecond.
const MAX_AGAIN: u32 = 4096;

/// How many names are copied at once when one is new: 16 KiB.
const NAMES_AT_ONCE: usize = 64;

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
    /// Time of the last change when it was last listed, if that was long enough ago to tell it from a later change.
    settled: Option<(i64, i64)>,
}

/// A file that is not read, and why.
#[derive(Debug)]
pub struct Refusal {
    /// The file or directory.
    pub path: PathBuf,
    /// Why.
    pub reason: RefusalReason,
}

/// Why a file is not read.
#[derive(Debug)]
#[non_exhaustive]
pub enum RefusalReason {
    /// It could not be opened or read.
    Io(io::Error),
    /// It is a link, a folder, a device or the like.
    NotAFile,
    /// Others than its owner can write it.
    Writable,
    /// The directory belongs to somebody else than root and this user, or others can replace files in it.
    UnsafeDirectory,
    /// Its process has ended, or never was.
    Dead {
        /// Number of the process.
        pid: u32,
    },
    /// It is owned by somebody else than the process that it names.
    WrongOwner {
        /// Number of the process.
        pid: u32,
        /// Owner of the file.
        owner: u32,
    },
    /// It is not what the format says.
    Format(FormatError),
    /// It became shorter.
    Truncated,
    /// All publications together are too large, or there are too many files.
    TooMany,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.reason)
    }
}

impl fmt::Display for RefusalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RefusalReason::Io(error) => error.fmt(f),
            RefusalReason::NotAFile => f.write_str("a plain file needed, found something else"),
            RefusalReason::Writable => f.write_str("others than its owner can write it"),
            RefusalReason::UnsafeDirectory => {
                f.write_str("it is not of root or this user, or others can replace what is in it")
            }
            RefusalReason::Dead { pid } => write!(f, "its process {pid} has ended"),
            RefusalReason::WrongOwner { pid, owner } => {
                write!(f, "it belongs to user {owner}, who has no process {pid}")
            }
            RefusalReason::Format(error) => error.fmt(f),
            RefusalReason::Truncated => f.write_str("it became shorter while it was read"),
            RefusalReason::TooMany => write!(f, "at most {MAX_FILES} files and {MAX_MEMORY} bytes are read"),
        }
    }
}

impl From<FormatError> for RefusalReason {
    fn from(error: FormatError) -> RefusalReason {
        RefusalReason::Format(error)
    }
}

impl From<Errno> for RefusalReason {
    fn from(errno: Errno) -> RefusalReason {
        RefusalReason::Io(errno.into())
    }
}

impl Reader {
    /// A reader of the run directories of this machine and user, see [`directories`].
    pub fn system() -> Reader {
        Reader::new(directories())
    }

    /// A reader of some directories; they need not exist.
    pub fn new(directories: impl IntoIterator<Item = PathBuf>) -> Reader {
        let directories = directories.into_iter().map(|path| Directory { path, settled: None }).collect();
        Reader { directories, publications: Vec::new(), refusals: Vec::new() }
    }

    /// Looks again what is published: takes up what is new, drops what has gone. Says whether anything has changed.
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

    /// What is in the directories and is not read.
    pub fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    /// Drops publications whose process has ended and whose values are not to be kept, or which could not be read the last time.
    fn drop_dead(&mut self) -> bool {
        let before = self.publications.len();
        let watched = self.publications.iter().filter_map(|publication| publication.watch.as_ref());
        let mut asked: Vec<PollFd<'_>> = watched.map(|watch| PollFd::new(watch, PollFlags::IN)).collect();
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let answered = poll(&mut asked, Some(&now)).is_ok();
        let mut ended = asked.iter().map(|asked| !asked.revents().is_empty());
        let gone: Vec<bool> = self
            .publications
            .iter()
            .map(|publication| {
                let watched = publication.watch.as_ref().and_then(|_| ended.next()).filter(|_| answered);
                watched.unwrap_or_else(|| start_time(publication.pid) != Some(publication.start))
            })
            .collect();
        drop(ended);
        let mut gone = gone.into_iter();
        let refusals = &mut self.refusals;
        self.publications.retain_mut(|publication| {
            let gone = gone.next().unwrap_or(false);
            if gone && !publication.ended {
                publication.watch = None;
                publication.ended = publication.keeps();
            }
            let keep = (!gone || publication.ended) && publication.fault.is_none();
            if !keep && let Some(reason) = publication.fault.take() {
                refusals.push(Refusal { path: publication.path.clone(), reason });
            }
            keep
        });
        before != self.publications.len()
    }

    fn scan_directory(&mut self, at: usize) -> bool {
        let Some(directory) = self.directories.get_mut(at) else { return false };
        let path = directory.path.clone();
        let about = std::fs::metadata(&path).ok();
        let time = about.map(|about| (about.mtime(), about.mtime_nsec()));
        if time.is_some() && time == directory.settled {
            return false;
        }
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime).tv_sec;
        // Clocks of file systems stand still for some milliseconds; a change within them is not seen in the time.
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
            .retain(|publication| publication.directory != at || names.contains(&publication.path));
        let mut changed = before != self.publications.len();
        let known: BTreeSet<PathBuf> =
            self.publications.iter().map(|publication| publication.path.clone()).collect();
        for path in names.difference(&known) {
            match Publication::open(path, at) {
                Ok(publication) => {
                    let memory =
                        self.publications.iter().map(|p| p.image.len()).fold(0, usize::saturating_add);
                    if memory.saturating_add(publication.image.len()) > MAX_MEMORY {
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

/// What one program publishes.
#[derive(Debug)]
pub struct Publication {
    path: PathBuf,
    directory: usize,
    file: OwnedFd,
    /// Becomes readable when the process ends.
    watch: Option<OwnedFd>,
    /// Whether its process has ended; its last values are kept then.
    ended: bool,
    pid: u32,
    start: u64,
    name: String,
    objects: Vec<ObjectDefinition>,
    /// For each object everything in a slot that must agree.
    checked: Vec<Vec<GroupPlace>>,
    /// The copy of the file, at the same offsets.
    image: Vec<u8>,
    /// How much of the file is known.
    used: usize,
    extents: Vec<Extent>,
    /// What to copy for new values.
    ranges: Vec<Range<usize>>,
    /// The slots of each object.
    slots: Vec<Slots>,
    time: u64,
    /// Why it can not be read any longer.
    fault: Option<RefusalReason>,
}

#[derive(Debug, Clone, Copy)]
struct Extent {
    object: usize,
    /// Number of its first slot.
    first: usize,
    slots: usize,
    stride: usize,
    values: usize,
    names: usize,
    end: usize,
}

#[derive(Debug, Default)]
struct Slots {
    known: Vec<Slot>,
    /// Numbers of the slots with an instance now, ascending.
    live: Vec<usize>,
}

/// What is known about a slot.
#[derive(Debug, Clone, Default)]
struct Slot {
    /// The use that the rest belongs to; 0 when nothing is known.
    number: u64,
    values: usize,
    name: String,
    id: Option<i32>,
    /// Object, number of the slot and use of the parent.
    parent: Option<(usize, usize, u64)>,
}

/// A value that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Published<'p> {
    /// A number.
    Number(u64),
    /// A text.
    Text(&'p str),
}

impl Publication {
    /// Opens a file and reads its definitions.
    fn open(path: &Path, directory: usize) -> Result<Publication, RefusalReason> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| match errno {
            Errno::LOOP => RefusalReason::NotAFile,
            errno => errno.into(),
        })?;
        let about = rustix::fs::fstat(&file)?;
        if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile {
            return Err(RefusalReason::NotAFile);
        }
        if about.st_mode & 0o022 != 0 {
            return Err(RefusalReason::Writable);
        }
        let mut image = vec![0; header::SIZE];
        read_exact(&file, &mut image, 0)?;
        let head = Part::new(&image, 0);
        let Head { version, keep, pid, start, definitions: length, objects: n_objects, used } =
            check_header(head)?;
        // First the descriptor, then the comparison: the number can not pass to another process in between.
        let watch = watch(pid);
        let ended = start_time(pid) != Some(start);
        if ended && !keep {
            return Err(RefusalReason::Dead { pid });
        }
        if !ended && !belongs_to(pid, about.st_uid) {
            return Err(RefusalReason::WrongOwner { pid, owner: about.st_uid });
        }
        let name = program_name(head)?;
        let size = usize::try_from(about.st_size).unwrap_or(0);
        let end = header::SIZE.saturating_add(length);
        let first_extent = end.next_multiple_of(extent::VALUES);
        if first_extent > used || used > size {
            let found = u64::try_from(used).unwrap_or(u64::MAX);
            let needed = "at least the definitions, at most the length of the file";
            return Err(FormatError { what: "used length", at: header::USED, needed, found }.into());
        }
        image.resize(first_extent, 0);
        read_exact(&file, image.get_mut(header::SIZE..).unwrap_or_default(), header::SIZE)?;
        let definitions = Part::new(&image, 0).part(header::SIZE, length, "definitions")?;
        let objects = decode(definitions, n_objects, version)?;
        let slots = objects.iter().map(|_| Slots::default()).collect();
        let checked = objects.iter().map(|object| checked(object).collect()).collect();
        let mut publication = Publication {
            path: path.to_path_buf(),
            directory,
            file,
            watch: watch.filter(|_| !ended),
            ended,
            pid,
            start,
            name,
            objects,
            checked,
            image,
            used: first_extent,
            extents: Vec::new(),
            ranges: Vec::new(),
            slots,
            time: 0,
            fault: None,
        };
        publication.plan();
        publication.read_now()?;
        Ok(publication)
    }

    /// Reads all values. False when that is not possible any longer; the next [`Reader::scan`] drops it then.
    pub fn read(&mut self) -> bool {
        if self.fault.is_none()
            && let Err(reason) = self.read_now()
        {
            self.fault = Some(reason);
            for slots in &mut self.slots {
                slots.live.clear();
            }
        }
        self.fault.is_none()
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of the process.
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether its process has ended: its values are the last ones, kept as the program asked for.
    pub const fn is_stale(&self) -> bool {
        self.ended
    }

    /// Name of the program, as it calls itself.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its objects.
    pub fn objects(&self) -> &[ObjectDefinition] {
        &self.objects
    }

    /// When its values were read: units of 100 ns since the machine started.
    pub const fn time(&self) -> u64 {
        self.time
    }

    /// The instances of the object at a position, as they were when values were last read. An object without instances
    /// has one, without a name, if its program made it.
    pub fn instances(&self, object: usize) -> impl ExactSizeIterator<Item = InstanceRef<'_>> {
        let slots = self.slots.get(object);
        let live = slots.map(|slots| slots.live.as_slice()).unwrap_or_default();
        let known = slots.map(|slots| slots.known.as_slice()).unwrap_or_default();
        let definition = self.objects.get(object);
        live.iter().map(move |number| {
            let slot = known.get(*number);
            let values = slot.and_then(|slot| self.image.get(slot.values..));
            InstanceRef { publication: self, definition, slot, values: values.unwrap_or_default() }
        })
    }

    /// Whether the values stay when the process has ended, as the header said last.
    fn keeps(&mut self) -> bool {
        // The program may have asked for it after the last reading.
        if copy(&self.file, &mut self.image, 0, header::NAME).is_err() {
            return false;
        }
        let head = Part::new(&self.image, 0).part(0, header::SIZE, "header");
        head.and_then(check_header).is_ok_and(|head| head.keep)
    }

    fn read_now(&mut self) -> Result<(), RefusalReason> {
        // A publication that grows while it is read is followed; one that never stops growing fills its 64 MiB soon.
        loop {
            for range in &self.ranges {
                let part = self.image.get_mut(range.clone()).unwrap_or_default();
                read_exact(&self.file, part, range.start)?;
            }
            self.time = perf_time();
            let used = Part::new(&self.image, 0).long(header::USED, "used length")?;
            if used == self.used {
                break;
            }
            self.follow(used)?;
        }
        self.look_at_slots()
    }

    /// Takes up extents that are new.
    fn follow(&mut self, used: usize) -> Result<(), RefusalReason> {
        let size = usize::try_from(rustix::fs::fstat(&self.file)?.st_size).unwrap_or(0);
        if used < self.used || used > size.min(MAX_FILE) {
            let found = u64::try_from(used).unwrap_or(u64::MAX);
            let needed = "never less than before, at most the length of the file";
            return Err(FormatError { what: "used length", at: header::USED, needed, found }.into());
        }
        let old = self.used;
        self.image.resize(used, 0);
        read_exact(&self.file, self.image.get_mut(old..).unwrap_or_default(), old)?;
        let mut at = old;
        while at < used {
            let part = Part::new(&self.image, 0).part(at, used.saturating_sub(at), "extent")?;
            let extent = parse_extent(part, at, &self.objects, &self.slots)?;
            if let Some(slots) = self.slots.get_mut(extent.object) {
                for slot in 0..extent.slots {
                    let values = extent.values.saturating_add(slot.saturating_mul(extent.stride));
                    slots.known.push(Slot { values, ..Slot::default() });
                }
            }
            at = extent.end;
            self.extents.push(extent);
        }
        self.used = used;
        self.plan();
        Ok(())
    }

    /// Makes the list of ranges to copy: the numbers of the header that change, and the values of each extent.
    fn plan(&mut self) {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        ranges.push(0..header::NAME);
        for extent in &self.extents {
            let end = extent.values.saturating_add(extent.slots.saturating_mul(extent.stride));
            match ranges.last_mut() {
                Some(last) if extent.values.saturating_sub(last.end) <= MERGE => last.end = end,
                _ => ranges.push(extent.values..end),
            }
        }
        self.ranges = ranges;
    }

    fn look_at_slots(&mut self) -> Result<(), RefusalReason> {
        let mut again = MAX_AGAIN;
        for slots in &mut self.slots {
            slots.live.clear();
        }
        for extent in 0..self.extents.len() {
            let Some(extent) = self.extents.get(extent).copied() else { continue };
            let Some(checked) = self.checked.get(extent.object) else { continue };
            let Some(definition) = self.objects.get(extent.object) else { continue };
            let Some(slots) = self.slots.get_mut(extent.object) else { continue };
            let known = slots.known.get_mut(extent.first..).unwrap_or_default().iter_mut();
            // Names that are new are copied some at a time: up to this slot they are.
            let mut copied_up_to = 0usize;
            for (position, known) in known.enumerate().take(extent.slots) {
                // Most of the time there is nothing new, and no number that must agree with another.
                if checked.is_empty()
                    && known.number % 2 == 1
                    && settled_use(&self.image, known.values, extent.stride) == Some(known.number)
                {
                    slots.live.push(extent.first.saturating_add(position));
                    continue;
                }
                let copied = Copied {
                    file: &self.file,
                    image: &mut self.image,
                    at: known.values,
                    stride: extent.stride,
                    checked,
                };
                let Some(number) = copied.settle(&mut again)? else { continue };
                if number % 2 == 0 {
                    continue;
                }
                if number != known.number {
                    let at = extent.names.saturating_add(position.saturating_mul(instance::SIZE));
                    if position >= copied_up_to {
                        let n = extent.slots.saturating_sub(position).min(NAMES_AT_ONCE);
                        copy(&self.file, &mut self.image, at, n.saturating_mul(instance::SIZE))?;
                        copied_up_to = position.saturating_add(n);
                    }
                    let record = Part::new(&self.image, 0).part(at, instance::SIZE, "instance")?;
                    // One that is replaced at this moment is seen the next time.
                    let Some(new) = parse_instance(record, number, definition.has_instances)? else {
                        continue;
                    };
                    *known = Slot { values: known.values, ..new };
                }
                slots.live.push(extent.first.saturating_add(position));
            }
        }
        Ok(())
    }
}

/// The copy of one slot of values.
struct Copied<'c> {
    file: &'c OwnedFd,
    image: &'c mut [u8],
    at: usize,
    stride: usize,
    checked: &'c [GroupPlace],
}

impl Copied<'_> {
    /// Copies again what was just being written, as long as there are attempts left, and gives the use number. `None`
    /// when the slot changed its use all the time.
    ///
    /// What still does not agree at the end has no value.
    fn settle(self, attempts: &mut u32) -> Result<Option<u64>, RefusalReason> {
        let Copied { file, image, at, stride, checked } = self;
        let last = at.saturating_add(stride.saturating_sub(8));
        loop {
            let Some(number) = settled_use(image, at, stride) else {
                if !take(attempts, stride) {
                    return Ok(None);
                }
                copy(file, image, at, stride)?;
                continue;
            };
            if number % 2 == 0 {
                return Ok(Some(number));
            }
            let mut copied = false;
            for group in checked.iter().copied() {
                while !agrees(image, at, group) && take(attempts, group.length()) {
                    copy(file, image, at.saturating_add(group.first), group.length())?;
                    copied = true;
                }
            }
            if !copied {
                return Ok(Some(number));
            }
            // What was copied later may be of another use.
            copy(file, image, at, 8)?;
            copy(file, image, last, 8)?;
            if settled_use(image, at, stride) == Some(number) {
                return Ok(Some(number));
            }
            if !take(attempts, stride) {
                return Ok(None);
            }
            copy(file, image, at, stride)?;
        }
    }
}

/// Takes attempts for copying some bytes again, more for many bytes; false when there are none left.
fn take(attempts: &mut u32, length: usize) -> bool {
    let cost = u32::try_from(length / 512).unwrap_or(u32::MAX).saturating_add(1);
    let left = attempts.checked_sub(cost);
    *attempts = left.unwrap_or(0);
    left.is_some()
}

fn copy(file: &OwnedFd, image: &mut [u8], at: usize, length: usize) -> Result<(), RefusalReason> {
    let part = image.get_mut(at..at.saturating_add(length)).unwrap_or_default();
    read_exact(file, part, at)
}

#[inline]
fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()).map(|word| u64::from_le_bytes(*word))
}

/// The use number of a slot, if both are equal.
fn settled_use(image: &[u8], at: usize, stride: usize) -> Option<u64> {
    let first = word(image, at)?;
    let last = word(image, at.saturating_add(stride.saturating_sub(8)))?;
    (first == last).then_some(first)
}

/// Everything in a slot that must agree.
fn checked(definition: &ObjectDefinition) -> impl Iterator<Item = GroupPlace> {
    let texts = definition.counters.iter().filter_map(|counter| match counter.storage {
        Storage::Text { capacity } => Some(text_place(counter.offset, capacity)),
        _ => None,
    });
    definition.groups.iter().copied().chain(texts)
}

/// Where the words of a text stand.
const fn text_place(offset: usize, capacity: usize) -> GroupPlace {
    let check = offset.saturating_add(text_value::BYTES).saturating_add(capacity);
    GroupPlace { first: offset, check }
}

/// Whether the words of a group agree with their check word.
fn agrees(image: &[u8], at: usize, group: GroupPlace) -> bool {
    let first = at.saturating_add(group.first);
    let end = at.saturating_add(group.check);
    let words = image.get(first..end).unwrap_or_default().as_chunks::<8>().0;
    word(image, end) == Some(check(words.iter().map(|word| u64::from_le_bytes(*word))))
}

/// An instance of a [`Publication`], or the one set of values of an object without instances.
#[derive(Debug, Clone, Copy)]
pub struct InstanceRef<'p> {
    publication: &'p Publication,
    definition: Option<&'p ObjectDefinition>,
    slot: Option<&'p Slot>,
    /// The copy of the file from its values on.
    values: &'p [u8],
}

/// The parent of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParentRef {
    /// Position of its object in the publication.
    pub object: usize,
    /// Its position among the instances of that object.
    pub position: usize,
}

impl<'p> InstanceRef<'p> {
    /// Its name; empty in an object without instances.
    pub fn name(self) -> &'p str {
        self.slot.map_or("", |slot| &slot.name)
    }

    /// The number that tells it from others of the same name.
    pub fn id(self) -> Option<i32> {
        self.slot?.id
    }

    /// Its parent, as long as that exists.
    pub fn parent(self) -> Option<ParentRef> {
        let (object, number, use_number) = self.slot?.parent?;
        let slots = self.publication.slots.get(object)?;
        if slots.known.get(number)?.number != use_number {
            return None;
        }
        let position = slots.live.binary_search(&number).ok()?;
        Some(ParentRef { object, position })
    }

    /// The value of the counter at a position; `None` when it was being written whenever it was looked at.
    #[inline]
    pub fn value(self, counter: usize) -> Option<Published<'p>> {
        let definition = self.definition?;
        let counter = definition.counters.get(counter)?;
        if counter.storage == Storage::Number && counter.group.is_none() {
            return word(self.values, counter.offset).map(Published::Number);
        }
        self.value_of(definition, counter)
    }

    /// The value of a counter that is more than one word.
    fn value_of(self, definition: &ObjectDefinition, counter: &CounterDefinition) -> Option<Published<'p>> {
        let (image, place) = (self.values, counter.offset);
        match counter.storage {
            Storage::Number => {
                if let Some(group) = counter.group {
                    let group = definition.groups.get(group)?;
                    if !agrees(image, 0, *group) {
                        return None;
                    }
                }
                word(image, place).map(Published::Number)
            }
            Storage::Sum { lanes, lane_stride } => {
                let lanes = usize::try_from(lanes).unwrap_or(0);
                let lane = |lane: usize| word(image, place.saturating_add(lane.saturating_mul(lane_stride)));
                let sum = (0..lanes).try_fold(0u64, |sum, n| Some(sum.wrapping_add(lane(n)?)))?;
                Some(Published::Number(sum))
            }
            Storage::Histogram { buckets, part } => {
                let end = place.saturating_add(buckets.n.saturating_mul(8));
                let words = image.get(place..end)?.as_chunks::<8>().0;
                let counts = words.iter().map(|word| u64::from_le_bytes(*word));
                let number =
                    if part == 0 { Buckets::count(counts) } else { buckets.percentile(counts, part) };
                Some(Published::Number(number))
            }
            Storage::Text { capacity } => {
                if !agrees(image, 0, text_place(counter.offset, capacity)) {
                    return None;
                }
                let length = word(image, place.saturating_add(text_value::LENGTH))?;
                let length = usize::try_from(length).ok().filter(|length| *length <= capacity)?;
                let start = place.saturating_add(text_value::BYTES);
                let bytes = image.get(start..start.saturating_add(length))?;
                std::str::from_utf8(bytes).ok().map(Published::Text)
            }
        }
    }
}

/// Fills a buffer from a place in a file.
fn read_exact(file: &OwnedFd, buffer: &mut [u8], at: usize) -> Result<(), RefusalReason> {
    let mut done = 0usize;
    while done < buffer.len() {
        let offset = u64::try_from(at.saturating_add(done)).unwrap_or(u64::MAX);
        match rustix::io::pread(file, buffer.get_mut(done..).unwrap_or_default(), offset) {
            Ok(0) => return Err(RefusalReason::Truncated),
            Ok(read) => done = done.saturating_add(read),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// The name of the program, if a file says that its values stay when the program has ended.
pub(super) fn kept_name(path: &Path) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    let mut bytes = vec![0; header::SIZE];
    read_exact(&file, &mut bytes, 0).ok()?;
    let head = Part::new(&bytes, 0);
    if check_header(head).ok()?.keep { program_name(head).ok() } else { None }
}

fn program_name(head: Part<'_>) -> Result<String, FormatError> {
    let name = head.part(header::NAME, header::NAME_LENGTH, "name of the program")?;
    Ok(name.text("name of the program")?.trim_end_matches('\0').to_string())
}

/// What the header says.
struct Head {
    version: u32,
    /// Whether the values stay when the process has ended.
    keep: bool,
    pid: u32,
    start: u64,
    /// Length of the definitions.
    definitions: usize,
    /// Number of objects.
    objects: u32,
    used: usize,
}

fn check_header(head: Part<'_>) -> Result<Head, FormatError> {
    let magic = head.u64(header::MAGIC, "magic")?;
    if magic != u64::from_le_bytes(*MAGIC) {
        return Err(FormatError { what: "magic", at: header::MAGIC, needed: "TALLYPUB", found: magic });
    }
    let version = head.u32(header::VERSION, "version")?;
    if !(VERSION_1..=VERSION_2).contains(&version) {
        let found = usize::try_from(version).unwrap_or(usize::MAX);
        return Err(head.error(header::VERSION, "version", "1 or 2", found));
    }
    let length = head.length(header::HEADER_LENGTH, "header length")?;
    if length != header::SIZE {
        return Err(head.error(header::HEADER_LENGTH, "header length", "128", length));
    }
    let definitions = head.length(header::DEFINITIONS_LENGTH, "length of the definitions")?;
    if definitions > MAX_DEFINITIONS {
        let what = "length of the definitions";
        return Err(head.error(header::DEFINITIONS_LENGTH, what, "at most 1048576", definitions));
    }
    let flags = head.u32(header::FLAGS, "flags")?;
    Ok(Head {
        version,
        keep: version >= VERSION_2 && flags & header::KEEP != 0,
        pid: head.u32(header::PID, "process")?,
        start: head.u64(header::START_TIME, "start time")?,
        definitions,
        objects: head.u32(header::OBJECTS, "number of objects")?,
        used: head.long(header::USED, "used length")?,
    })
}

/// The extent at the start of `part`, which stands at `at` in the file.
fn parse_extent(
    part: Part<'_>,
    at: usize,
    objects: &[ObjectDefinition],
    known: &[Slots],
) -> Result<Extent, FormatError> {
    let magic = part.u32(extent::MAGIC, "magic of an extent")?;
    if magic != extent::MAGIC_NUMBER {
        let found = usize::try_from(magic).unwrap_or(usize::MAX);
        return Err(part.error(extent::MAGIC, "magic of an extent", "EXT1", found));
    }
    let object = part.length(extent::OBJECT, "object of an extent")?;
    let slots = part.length(extent::SLOTS, "slots of an extent")?;
    let stride = part.length(extent::STRIDE, "slot length of an extent")?;
    let length = part.long(extent::LENGTH, "length of an extent")?;
    let (Some(definition), Some(before)) = (objects.get(object), known.get(object)) else {
        return Err(part.error(extent::OBJECT, "object of an extent", "one that is defined", object));
    };
    if stride != definition.stride {
        return Err(part.error(extent::STRIDE, "slot length of an extent", "that of its object", stride));
    }
    if slots == 0 || (!definition.has_instances && (slots > 1 || !before.known.is_empty())) {
        return Err(part.error(extent::SLOTS, "slots of an extent", "one at least, or just one", slots));
    }
    let names = extent::VALUES.saturating_add(stride.saturating_mul(slots)).next_multiple_of(extent::VALUES);
    let needed = names.saturating_add(slots.saturating_mul(instance::SIZE));
    if length != needed || length > part.len() {
        return Err(part.error(extent::LENGTH, "length of an extent", "that of its slots", length));
    }
    Ok(Extent {
        object,
        first: before.known.len(),
        slots,
        stride,
        values: at.saturating_add(extent::VALUES),
        names: at.saturating_add(names),
        end: at.saturating_add(length),
    })
}

/// The instance of a use number; `None` when the record is of another use or has no usable name.
fn parse_instance(record: Part<'_>, number: u64, named: bool) -> Result<Option<Slot>, FormatError> {
    let first = record.u64(instance::USE, "use of an instance")?;
    let last = record.u64(instance::USE_AGAIN, "use of an instance")?;
    if first != number || last != number {
        return Ok(None);
    }
    let length = record.length(instance::NAME_LENGTH, "length of an instance name")?;
    let name = record.part(instance::NAME, length.min(instance::MAX_NAME), "instance name")?;
    let name = match name.text("instance name") {
        Ok(name) if length <= instance::MAX_NAME && !name.contains(char::is_control) => name,
        _ => return Ok(None),
    };
    if named == name.is_empty() {
        return Ok(None);
    }
    let id = record.u32(instance::ID, "id of an instance")?.cast_signed();
    let object = record.u32(instance::PARENT_OBJECT, "parent of an instance")?;
    let slot = record.length(instance::PARENT_SLOT, "parent of an instance")?;
    let parent_use = record.u64(instance::PARENT_USE, "parent of an instance")?;
    let parent = (object != instance::NO_PARENT)
        .then(|| (usize::try_from(object).unwrap_or(usize::MAX), slot, parent_use));
    Ok(Some(Slot { number, values: 0, name: name.to_string(), id: (id != -1).then_some(id), parent }))
}

// The slot of values begins with its use number: `word(image, at)` above.
const _: () = assert!(slot::USE == 0);
