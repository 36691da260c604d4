//! The writing side: a file with counters, and its instances.

use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::definition::{ObjectDefinition, encode, version};
use super::directory::{MAX_FILES, SUFFIX, writable};
use super::layout::{MAX_DEFINITIONS, MAX_FILE, VERSION_2, extent, header, instance};
use super::map::{Lanes, Mapping, Word, Words};
use super::process::{is_abandoned, perf_time, start_time};
use super::protocol::{self, NewUse, SharedMemory, both};
use super::reader::kept_name;
use super::set::{CounterSet, DeclareError};
use super::system::{create_file, create_folders, own_user, owner, remove};

/// The format is little-endian, and so are the words that programs share.
const IS_BIG_ENDIAN: bool = cfg!(target_endian = "big");

/// How long a slot waits before it is used again, in units of 100 ns: 1 ms. A reader copies in no reliable
/// order over short distances; within this time it has passed the slot, or sees at one end of the slot that
/// its use has changed.
const REST: u64 = 10_000;

/// Publishes counter sets, as long as it or anything created from it exists.
///
/// There is one file per publisher. It is removed when the publisher is dropped; readers also drop it as soon
/// as the process has ended in any way. A child process must not use the publisher after a fork.
#[derive(Debug, Clone)]
pub struct Publisher {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    mapping: Arc<Mapping>,
    path: PathBuf,
    pid: u32,
    definitions: Vec<Arc<ObjectDefinition>>,
    capacities: Vec<u32>,
    state: Mutex<State>,
    /// Whether the file stays after the publisher.
    keep: AtomicBool,
}

#[derive(Debug)]
struct State {
    /// Where the next extent goes.
    used: usize,
    /// For each object, its free slots.
    objects: Vec<Slots>,
}

/// When a slot can be used.
enum Ready {
    Now(SlotPosition),
    Later(Duration),
    Never,
}

impl State {
    /// Takes a slot of an object that has waited long enough.
    fn ready(&mut self, object: usize) -> Ready {
        let Some(free) = self.objects.get_mut(object).map(|slots| &mut slots.free) else {
            return Ready::Never;
        };
        let Some((ended, place)) = free.front().copied() else { return Ready::Never };
        let rested = perf_time().saturating_sub(ended);
        match REST.checked_sub(rested) {
            None | Some(0) => {
                free.pop_front();
                Ready::Now(place)
            }
            Some(left) => Ready::Later(Duration::from_nanos(left.saturating_mul(100))),
        }
    }
}

#[derive(Debug, Default)]
struct Slots {
    /// Slots in all extents.
    there: u32,
    /// Slots and when their last use ended, oldest first.
    free: VecDeque<(u64, SlotPosition)>,
}

/// The position of an instance.
#[derive(Debug, Clone, Copy)]
struct SlotPosition {
    /// Number of the slot among all of the object.
    number: u32,
    values: usize,
    names: usize,
}

/// Why something could not be published.
#[derive(Debug)]
#[non_exhaustive]
pub enum PublishError {
    /// A counter set is declared wrongly.
    Declare(DeclareError),
    /// The file could not be created, or not made larger.
    File {
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// There is no room for more instances: a file has at most 64 MiB.
    Full {
        /// Bytes that the file would need.
        needed: usize,
    },
    /// There is no such set or counter.
    NoSuch {
        /// The requested name.
        name: String,
    },
    /// The counter is of another kind than the requested handle.
    WrongKind {
        /// The counter.
        counter: String,
        /// The kind that it is.
        needed: &'static str,
    },
    /// The counter has one writer at a time, and there is one already; or the set has only one set of values,
    /// which is taken.
    Taken {
        /// The set or counter.
        name: String,
    },
    /// An instance has no name, or one of more than 216 bytes or with a control character in it.
    BadInstance {
        /// The requested name.
        name: String,
    },
    /// The parent is not an instance of the same publisher.
    ForeignParent,
    /// The published format has little-endian numbers, which this machine has not.
    BigEndian,
}

impl fmt::Display for PublishError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PublishError::Declare(error) => error.fmt(f),
            PublishError::File { path, error } => write!(f, "cannot publish in {}: {error}", path.display()),
            PublishError::Full { needed } => {
                write!(f, "no room for more instances: {needed} bytes needed, a file has at most {MAX_FILE}")
            }
            PublishError::NoSuch { name } => write!(f, "nothing of the name {name:?} is declared"),
            PublishError::WrongKind { counter, needed } => write!(f, "the counter {counter:?} is {needed}"),
            PublishError::Taken { name } => write!(f, "{name:?} has a writer already, and can have only one"),
            PublishError::BadInstance { name } => write!(
                f,
                "the instance name {name:?} cannot be used: 1 to {} bytes without control characters \
                needed, found {}",
                instance::MAX_NAME,
                name.len()
            ),
            PublishError::ForeignParent => f.write_str("the parent is not an instance of the same publisher"),
            PublishError::BigEndian => f.write_str("publishing needs a little-endian machine"),
        }
    }
}

impl std::error::Error for PublishError {}

impl From<DeclareError> for PublishError {
    fn from(error: DeclareError) -> PublishError {
        PublishError::Declare(error)
    }
}

/// The properties of a new instance.
#[derive(Debug, Clone, Copy, Default)]
pub struct NewInstance<'a> {
    /// Name, at most 216 bytes. Two instances may have the same.
    pub name: &'a str,
    /// Number that distinguishes it from others of the same name; -1 for none.
    pub id: Option<i32>,
    /// The instance that it belongs to, of any set of the same publisher.
    pub parent: Option<&'a Instance>,
}

impl Publisher {
    /// Publishes counter sets under the name of a program, in the first run directory that is writable.
    ///
    /// # Errors
    ///
    /// A set is declared wrongly, or the file cannot be created.
    pub fn start(name: &str, sets: &[CounterSet]) -> Result<Publisher, PublishError> {
        let directory = writable().map_err(|error| {
            let path = super::directories().into_iter().next_back().unwrap_or_default();
            PublishError::File { path, error }
        })?;
        Publisher::start_in(&directory, name, sets)
    }

    /// As [`Publisher::start`], in a directory of your choice, which is created if needed.
    ///
    /// # Errors
    ///
    /// A set is declared wrongly, or the file cannot be created.
    pub fn start_in(directory: &Path, name: &str, sets: &[CounterSet]) -> Result<Publisher, PublishError> {
        if IS_BIG_ENDIAN {
            return Err(PublishError::BigEndian);
        }
        let definitions: Vec<ObjectDefinition> =
            sets.iter().map(CounterSet::place).collect::<Result<_, _>>()?;
        for (at, definition) in definitions.iter().enumerate() {
            let name = definition.english();
            if definitions.iter().take(at).any(|other| other.english().eq_ignore_ascii_case(name)) {
                return Err(DeclareError::Repeated { name: name.to_string() }.into());
            }
        }
        let encoded = encode(&definitions);
        if encoded.len() > MAX_DEFINITIONS {
            let (set, needed) = (name.to_string(), encoded.len());
            return Err(DeclareError::TooLarge { set, needed, most: MAX_DEFINITIONS }.into());
        }
        let at_path = |path: &Path, error: io::Error| PublishError::File { path: path.to_path_buf(), error };
        create_folders(directory).map_err(|error| at_path(directory, error))?;
        remove_dead(directory, name);
        let pid = std::process::id();
        let (temporary, path, file) = create(directory, pid).map_err(|error| at_path(directory, error))?;
        let result = Publisher::fill(file, name, pid, sets, definitions, &encoded, path);
        let finished = result.and_then(|shared| {
            let path = shared.path.clone();
            std::fs::rename(&temporary, &path).map_err(|error| at_path(&path, error))?;
            Ok(Publisher { shared: Arc::new(shared) })
        });
        if finished.is_err() {
            // Nobody reads the file under its temporary name; removing it is only tidy.
            let _ = std::fs::remove_file(&temporary);
        }
        finished
    }

    fn fill(
        mut file: File,
        name: &str,
        pid: u32,
        sets: &[CounterSet],
        definitions: Vec<ObjectDefinition>,
        encoded: &[u8],
        path: PathBuf,
    ) -> Result<Shared, PublishError> {
        let failed = |error: io::Error| PublishError::File { path: path.clone(), error };
        let start = start_time(pid)
            .ok_or_else(|| failed(io::Error::other("the start time of this process cannot be read")))?;
        let mut bytes = head(name, pid, start, encoded.len(), &definitions);
        bytes.extend_from_slice(encoded);
        bytes.resize(bytes.len().next_multiple_of(extent::VALUES), 0);
        let used = bytes.len();
        if let Some(field) = bytes.get_mut(header::USED..).and_then(|rest| rest.first_chunk_mut::<8>()) {
            *field = wide(used).to_le_bytes();
        }
        file.write_all(&bytes).map_err(failed)?;
        let mapping = Mapping::new(file, used, MAX_FILE).map_err(failed)?;
        let objects = definitions.iter().map(|_| Slots::default()).collect();
        let shared = Shared {
            mapping: Arc::new(mapping),
            path,
            pid,
            capacities: sets.iter().map(CounterSet::capacity).collect(),
            definitions: definitions.into_iter().map(Arc::new).collect(),
            state: Mutex::new(State { used, objects }),
            keep: AtomicBool::new(false),
        };
        let mut state = shared.state();
        for object in 0..shared.definitions.len() {
            shared.add_extent(&mut state, object)?;
        }
        drop(state);
        Ok(shared)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// The last values stay visible after this program has ended in any way, marked as stale, until a program
    /// of the same name publishes in the directory or the file is removed.
    ///
    /// A dropped instance is gone as usual. A program that ends in good order and wants its values to stay
    /// uses [`std::mem::forget`].
    pub fn keep_last_values(&self) {
        let length = u32::try_from(header::SIZE).unwrap_or(u32::MAX);
        let version = self.shared.definitions.iter().map(|one| version(std::slice::from_ref(one))).max();
        let version = version.unwrap_or(VERSION_2).max(VERSION_2);
        self.shared.put(header::VERSION, both(version, length));
        self.shared.put(header::PID, both(self.shared.pid, header::KEEP));
        self.shared.keep.store(true, Ordering::Relaxed);
    }

    /// The values of a set without instances. They can be taken once at a time.
    ///
    /// # Errors
    ///
    /// There is no such set, or its values are taken.
    pub fn single(&self, set: &str) -> Result<Instance, PublishError> {
        let object = self.shared.object(set, false)?;
        self.shared.create(object, &NewInstance::default())
    }

    /// Creates an instance of a set. It is visible until it is dropped.
    ///
    /// # Errors
    ///
    /// There is no such set with instances, the name is not valid, the parent belongs to another publisher,
    /// or there is no more room.
    pub fn instance(&self, set: &str, new: &NewInstance<'_>) -> Result<Instance, PublishError> {
        let object = self.shared.object(set, true)?;
        if new.name.is_empty() || new.name.len() > instance::MAX_NAME || new.name.contains(char::is_control) {
            return Err(PublishError::BadInstance { name: new.name.to_string() });
        }
        self.shared.create(object, new)
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // The state changes in steps that cannot fail half way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn object(&self, set: &str, has_instances: bool) -> Result<usize, PublishError> {
        let same = |object: &Arc<ObjectDefinition>| {
            object.has_instances == has_instances && object.english().eq_ignore_ascii_case(set)
        };
        let object = self.definitions.iter().position(same);
        object.ok_or_else(|| PublishError::NoSuch { name: set.to_string() })
    }

    /// Adds room for instances: first for the expected number, later for as many as there are.
    fn add_extent(&self, state: &mut State, object: usize) -> Result<(), PublishError> {
        let Some(stride) = self.definitions.get(object).map(|definition| definition.stride) else {
            return Ok(());
        };
        let capacity = self.capacities.get(object).copied().unwrap_or(1);
        let Some(slots) = state.objects.get_mut(object) else { return Ok(()) };
        let there = slots.there;
        let at = state.used;
        let lengths = |n: u32| {
            let n = usize::try_from(n).unwrap_or(usize::MAX);
            let values = stride.saturating_mul(n);
            let names = extent::VALUES.saturating_add(values).next_multiple_of(extent::VALUES);
            (names, names.saturating_add(instance::SIZE.saturating_mul(n)))
        };
        // When as many again do not fit, fewer may.
        let mut n = there.max(capacity).min(1 << 16);
        while n > 1 && at.saturating_add(lengths(n).1) > MAX_FILE {
            n /= 2;
        }
        let (names, length) = lengths(n);
        let end = at.saturating_add(length);
        self.mapping.grow(end).map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => PublishError::Full { needed: end },
            _ => PublishError::File { path: self.path.clone(), error },
        })?;
        let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        self.put(at.saturating_add(extent::MAGIC), both(extent::MAGIC_NUMBER, narrow(object)));
        self.put(at.saturating_add(extent::SLOTS), both(n, narrow(stride)));
        self.put(at.saturating_add(extent::LENGTH), wide(length));
        for slot in (0..n).rev() {
            let position = usize::try_from(slot).unwrap_or(usize::MAX);
            let place = SlotPosition {
                number: there.saturating_add(slot),
                values: at.saturating_add(extent::VALUES).saturating_add(stride.saturating_mul(position)),
                names: at.saturating_add(names).saturating_add(instance::SIZE.saturating_mul(position)),
            };
            // Slots that were never used come first: they need not wait.
            slots.free.push_front((0, place));
        }
        slots.there = there.saturating_add(n);
        state.used = end;
        if let Some(used) = self.mapping.word(header::USED) {
            used.store(wide(end), Ordering::Release);
        }
        Ok(())
    }

    /// Sets a word that no reader looks at yet.
    fn put(&self, at: usize, value: u64) {
        self.mapping.put(at, value);
    }

    fn create(self: &Arc<Shared>, object: usize, new: &NewInstance<'_>) -> Result<Instance, PublishError> {
        if new.parent.is_some_and(|parent| !Arc::ptr_eq(&parent.inner.shared, self)) {
            return Err(PublishError::ForeignParent);
        }
        let Some(definition) = self.definitions.get(object).map(Arc::clone) else {
            return Err(PublishError::NoSuch { name: new.name.to_string() });
        };
        let mut state = self.state();
        let taken = || PublishError::Taken { name: definition.english().to_string() };
        let place = loop {
            match state.ready(object) {
                Ready::Now(place) => break place,
                Ready::Later(wait) if !definition.has_instances => std::thread::sleep(wait),
                Ready::Never if !definition.has_instances => return Err(taken()),
                Ready::Never => self.add_extent(&mut state, object)?,
                Ready::Later(wait) => match self.add_extent(&mut state, object) {
                    Err(PublishError::Full { .. }) => std::thread::sleep(wait),
                    added => added?,
                },
            }
        };
        drop(state);
        let number = self.begin_use(place, &definition, new);
        let claims = definition.counters.iter().map(|_| false).collect();
        let inner =
            Inner { shared: Arc::clone(self), definition, object, place, number, claims: Mutex::new(claims) };
        Ok(Instance { inner: Arc::new(inner) })
    }

    /// Fills a slot for a new instance.
    fn begin_use(&self, place: SlotPosition, definition: &ObjectDefinition, new: &NewInstance<'_>) -> u64 {
        let parent = new.parent.map(|parent| {
            let object = u32::try_from(parent.inner.object).unwrap_or(instance::NO_PARENT);
            (object, parent.inner.place.number, parent.inner.number)
        });
        let SlotPosition { values, names, .. } = place;
        let (name, id) = (new.name, new.id.unwrap_or(-1));
        let number = protocol::begin_use(
            &*self.mapping,
            &NewUse { values, stride: definition.stride, names, name, id, parent },
        );
        self.changed();
        number
    }

    /// Marks a slot as unused.
    fn end_use(&self, place: SlotPosition, stride: usize, number: u64) {
        protocol::end_use(&*self.mapping, place.values, stride, number);
        self.changed();
    }

    fn changed(&self) {
        if let Some(generation) = self.mapping.word(header::GENERATION) {
            generation.fetch_add(1, Ordering::Release);
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The child of a fork has the same publisher, but does not own the file.
        if std::process::id() == self.pid && !*self.keep.get_mut() {
            // Readers drop the file when the process ends; there is no one to report a failed removal to.
            let _ = remove(&self.path);
        }
    }
}

/// An instance of a published set, or the only set of values of a set without instances.
///
/// Dropping it removes it for readers at once; handles of its counters may live on without effect.
#[derive(Debug)]
pub struct Instance {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    shared: Arc<Shared>,
    pub(super) definition: Arc<ObjectDefinition>,
    object: usize,
    place: SlotPosition,
    number: u64,
    /// Which counters have a writer.
    claims: Mutex<Vec<bool>>,
}

impl Inner {
    /// The word at an offset of the slot of values.
    pub(super) fn word(&self, offset: usize) -> Option<Word> {
        Word::new(&self.shared.mapping, self.place.values.checked_add(offset)?)
    }

    /// Some words of the slot of values, from an offset on.
    pub(super) fn words(&self, offset: usize, n: usize) -> Option<Words> {
        Words::new(&self.shared.mapping, self.place.values.checked_add(offset)?, n)
    }

    /// The lanes of a shared counter; the first ones belong to processors.
    pub(super) fn lanes(
        &self,
        offset: usize,
        n: u32,
        width: usize,
        stride: usize,
        processors: u32,
    ) -> Option<Lanes> {
        let at = self.place.values.checked_add(offset)?;
        Lanes::new(&self.shared.mapping, at, usize::try_from(n).ok()?, width, stride, processors)
    }

    /// Makes the caller the only writer of a counter; false when there is one already.
    pub(super) fn claim(&self, counter: usize) -> bool {
        let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        claims.get_mut(counter).is_some_and(|claim| !std::mem::replace(claim, true))
    }

    pub(super) fn release(&self, counter: usize) {
        let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(claim) = claims.get_mut(counter) {
            *claim = false;
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let Inner { shared, definition, place, number, .. } = &*self.inner;
        shared.end_use(*place, definition.stride, *number);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Only from here on can no handle write into the slot.
        let mut state = self.shared.state();
        if let Some(slots) = state.objects.get_mut(self.object) {
            slots.free.push_back((perf_time(), self.place));
        }
    }
}

fn wide(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// The header of a file, without its used length.
fn head(name: &str, pid: u32, start: u64, definitions: usize, objects: &[ObjectDefinition]) -> Vec<u8> {
    let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes();
    let mut bytes = vec![0; header::SIZE];
    let mut put = |at: usize, field: &[u8]| {
        for (to, from) in bytes.iter_mut().skip(at).zip(field) {
            *to = *from;
        }
    };
    put(header::MAGIC, super::layout::MAGIC);
    put(header::VERSION, &version(objects).to_le_bytes());
    put(header::HEADER_LENGTH, &narrow(header::SIZE));
    put(header::PID, &pid.to_le_bytes());
    put(header::FLAGS, &0u32.to_le_bytes());
    put(header::START_TIME, &start.to_le_bytes());
    put(header::DEFINITIONS_LENGTH, &narrow(definitions));
    put(header::OBJECTS, &narrow(objects.len()));
    put(header::CREATED, &perf_time().to_le_bytes());
    put(header::NAME, cut(name).as_bytes());
    bytes
}

/// As much of a program's name as fits.
fn cut(name: &str) -> &str {
    let most = name.len().min(header::NAME_LENGTH);
    let end = (0..=most).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
    name.get(..end).unwrap_or_default()
}

/// A new file under a name that no reader looks at, and its final name.
fn create(directory: &Path, pid: u32) -> io::Result<(PathBuf, PathBuf, File)> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{pid}-{}-{number}", perf_time());
        let path = directory.join(format!(".{name}.new"));
        match create_file(&path) {
            Ok(file) => return Ok((path, directory.join(format!("{name}{SUFFIX}")), file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// Removes files of this user whose process was killed; files with kept values only if they belong to the
/// program of this name.
fn remove_dead(directory: &Path, program: &str) {
    let user = own_user();
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.take(MAX_FILES).flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let ours = name.ends_with(SUFFIX) || (name.starts_with('.') && name.ends_with(".new"));
        let pid = name.trim_start_matches('.').split('-').next().and_then(|pid| pid.parse::<u32>().ok());
        let Some(pid) = pid.filter(|_| ours) else { continue };
        let is_file = entry.metadata().is_ok_and(|about| about.is_file());
        let owned = is_file && owner(&entry).is_ok_and(|(owner, _)| owner == user);
        // A number that another process has by now is found out by readers, which see the start time.
        let others = || kept_name(&entry.path()).is_some_and(|name| name != cut(program));
        if owned && is_abandoned(pid, &entry.path()) && !others() {
            // Another process may have removed it already.
            let _ = remove(&entry.path());
        }
    }
}
