//! What waits to be sent, on disk: a folder with one file for each request, in the order of their numbers.
//!
//! A file has a head of 24 bytes: `TPQ1`, the encoding, three zeros, the time of the request in milliseconds
//! since 1970, the length and the CRC-32 of the body, all little-endian. A file is written under another name
//! and renamed, so a half one is never sent. One process at a time has the folder.
//!
//! While the receiver takes each request at once, none is forced onto the disk: it would be gone in a moment.
//! As soon as two wait, each is, and the folder with them, so that a power failure takes the newest at most.

use std::collections::VecDeque;
use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

const MAGIC: &[u8; 4] = b"TPQ1";
const HEAD: usize = 24;
/// The longest request that is read back.
const MOST_BODY: u64 = 256 << 20;
/// Requests that cannot be written wait in memory, up to this.
const MOST_MEMORY: u64 = 8 << 20;

/// How the body of a request is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Not at all.
    Identity,
    /// gzip.
    Gzip,
    /// snappy, its block format.
    Snappy,
}

impl Encoding {
    /// A request with its body compressed.
    ///
    /// # Errors
    ///
    /// The body is too large for the encoding.
    pub fn item(self, time: u64, body: Vec<u8>) -> io::Result<Item> {
        let body = match self {
            Encoding::Identity => body,
            Encoding::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(&body)?;
                encoder.finish()?
            }
            Encoding::Snappy => snap::raw::Encoder::new().compress_vec(&body).map_err(io::Error::other)?,
        };
        Ok(Item { time, encoding: self, body })
    }
}

/// A request that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The time of its values, in milliseconds since 1970.
    pub time: u64,
    /// How the body is compressed.
    pub encoding: Encoding,
    /// The body.
    pub body: Vec<u8>,
}

/// Requests that were given up, because there was no room for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped {
    /// How many.
    pub count: u64,
    /// The time of the oldest and of the newest one, in milliseconds since 1970.
    pub times: (u64, u64),
}

/// Why a folder cannot be a queue, or a file of it cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum QueueError {
    /// A file or the folder.
    Io(PathBuf, io::Error),
    /// Another process has the folder.
    Busy(PathBuf),
    /// A file that is damaged; it was removed.
    Damaged(PathBuf),
}

impl fmt::Display for QueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueError::Io(path, error) => write!(f, "{}: {error}", path.display()),
            QueueError::Busy(path) => write!(
                f,
                "{}: another 'tally push' sends to the same receiver; end it, or name another folder \
                 with --queue",
                path.display()
            ),
            QueueError::Damaged(path) => {
                write!(f, "{}: a request in the queue was damaged and is removed", path.display())
            }
        }
    }
}

impl std::error::Error for QueueError {}

/// Requests that wait, oldest first.
#[derive(Debug)]
pub struct Queue {
    folder: PathBuf,
    /// Held as long as the queue is used.
    _lock: File,
    items: VecDeque<Waiting>,
    next: u64,
    bytes: u64,
    limit: u64,
}

#[derive(Debug)]
struct Waiting {
    number: u64,
    time: u64,
    bytes: u64,
    /// The request itself, if it could not be written.
    memory: Option<Item>,
    /// Whether a power failure would leave it.
    is_durable: bool,
}

impl Queue {
    /// Opens the queue in a folder, which is made if it is missing. `limit` is how many bytes may wait.
    ///
    /// # Errors
    ///
    /// The folder cannot be made or read, or another process has it.
    pub fn open(folder: &Path, limit: u64) -> Result<Queue, QueueError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |error| QueueError::Io(path, error)
        };
        make_private(folder).map_err(io(folder))?;
        check_owner(folder).map_err(io(folder))?;
        let path = folder.join("lock");
        let lock = File::options().create(true).truncate(false).write(true).open(&path).map_err(io(&path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(QueueError::Busy(folder.to_owned())),
            Err(TryLockError::Error(error)) => return Err(QueueError::Io(path, error)),
        }
        let mut items = Vec::new();
        for entry in fs::read_dir(folder).map_err(io(folder))? {
            let entry = entry.map_err(io(folder))?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.ends_with(".new") {
                // A process ended while it wrote it.
                let _ = fs::remove_file(entry.path());
            }
            let Some(number) = name.strip_suffix(".request").and_then(|number| number.parse().ok()) else {
                continue;
            };
            let bytes = entry.metadata().map_err(io(&entry.path()))?.len();
            let time = head(&entry.path()).map_or(0, |(_, time, _, _)| time);
            items.push(Waiting { number, time, bytes, memory: None, is_durable: false });
        }
        items.sort_unstable_by_key(|item| item.number);
        let next = items.last().map_or(1, |item| item.number.saturating_add(1));
        let bytes = items.iter().fold(0, |sum: u64, item| sum.saturating_add(item.bytes));
        Ok(Queue { folder: folder.to_owned(), _lock: lock, items: items.into(), next, bytes, limit })
    }

    /// How many requests wait.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Adds a request. Where there is no room, the oldest ones make room, and are returned. A request that
    /// cannot be written waits in memory; the error says why.
    pub fn put(&mut self, item: Item) -> (Option<Dropped>, Result<(), QueueError>) {
        let bytes = (item.body.len() as u64).saturating_add(HEAD as u64);
        let mut dropped = self.make_room(bytes, self.limit);
        let number = self.next;
        self.next = number.saturating_add(1);
        let path = self.path(number);
        let mut waiting = Waiting { number, time: item.time, bytes, memory: None, is_durable: false };
        let written = write(&path, &item);
        if written.is_err() {
            let in_memory = self.items.iter().filter(|item| item.memory.is_some());
            let in_memory = in_memory.fold(bytes, |sum, item| sum.saturating_add(item.bytes));
            if in_memory > MOST_MEMORY {
                let more = Dropped { count: 1, times: (item.time, item.time) };
                return (
                    Some(and(dropped.take(), more)),
                    written.map_err(|error| QueueError::Io(path, error)),
                );
            }
            waiting.memory = Some(item);
        }
        self.bytes = self.bytes.saturating_add(bytes);
        self.items.push_back(waiting);
        let kept = written.map_err(|error| QueueError::Io(path, error)).and_then(|()| self.make_durable());
        (dropped, kept)
    }

    /// Forces what waits onto the disk, if more than the newest does.
    fn make_durable(&mut self) -> Result<(), QueueError> {
        if self.items.len() < 2 {
            return Ok(());
        }
        let folder = self.folder.clone();
        let waiting = self.items.iter_mut().filter(|item| item.memory.is_none() && !item.is_durable);
        let mut is_new = false;
        for item in waiting {
            let path = path_in(&folder, item.number);
            let synced = File::open(&path).and_then(|file| file.sync_all());
            synced.map_err(|error| QueueError::Io(path, error))?;
            (item.is_durable, is_new) = (true, true);
        }
        if is_new {
            sync_folder(&folder).map_err(|error| QueueError::Io(folder, error))?;
        }
        Ok(())
    }

    fn make_room(&mut self, bytes: u64, limit: u64) -> Option<Dropped> {
        let mut dropped = None;
        while self.bytes.saturating_add(bytes) > limit {
            let Some(oldest) = self.items.front() else { break };
            let more = Dropped { count: 1, times: (oldest.time, oldest.time) };
            dropped = Some(and(dropped, more));
            self.remove(oldest.number);
        }
        dropped
    }

    /// The oldest request and its number, for [`Queue::remove`].
    ///
    /// # Errors
    ///
    /// It cannot be read; a damaged one was removed.
    pub fn oldest(&mut self) -> Result<Option<(u64, Item)>, QueueError> {
        let Some(oldest) = self.items.front() else { return Ok(None) };
        let number = oldest.number;
        if let Some(item) = &oldest.memory {
            return Ok(Some((number, item.clone())));
        }
        let path = self.path(number);
        match read(&path) {
            Ok(Some(item)) => Ok(Some((number, item))),
            Ok(None) => {
                self.remove(number);
                Err(QueueError::Damaged(path))
            }
            Err(error) => {
                // Somebody has removed it.
                if error.kind() == io::ErrorKind::NotFound {
                    self.remove(number);
                }
                Err(QueueError::Io(path, error))
            }
        }
    }

    /// Removes a request that was sent, or that nobody will take. One that is gone already is no error.
    pub fn remove(&mut self, number: u64) {
        let Some(position) = self.items.iter().position(|item| item.number == number) else { return };
        let Some(item) = self.items.remove(position) else { return };
        self.bytes = self.bytes.saturating_sub(item.bytes);
        if item.memory.is_none() {
            // A file that stays is sent again by the next process, which a receiver takes as the same.
            let _ = fs::remove_file(self.path(number));
        }
    }

    fn path(&self, number: u64) -> PathBuf {
        path_in(&self.folder, number)
    }
}

fn path_in(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:020}.request"))
}

/// Forces the names of a folder onto the disk.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Windows keeps names without being asked.
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

fn and(before: Option<Dropped>, more: Dropped) -> Dropped {
    before.map_or(more, |before| Dropped {
        count: before.count.saturating_add(more.count),
        times: (before.times.0.min(more.times.0), before.times.1.max(more.times.1)),
    })
}

/// A folder that only its user can read: requests may have what others must not see.
fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    private(&mut builder);
    builder.create(folder)
}

/// Refuses a folder of another user, who could read what waits, or plant links.
#[cfg(unix)]
fn check_owner(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let probe = folder.join("owner.new");
    let _ = fs::remove_file(&probe);
    let own = File::create_new(&probe)?.metadata()?.uid();
    fs::remove_file(&probe)?;
    let found = fs::metadata(folder)?;
    if found.uid() != own || found.mode() & 0o022 != 0 {
        let words = format!(
            "user {} owns it with mode {:o}; it must belong to user {own}, and nobody else may write into it",
            found.uid(),
            found.mode() & 0o7777
        );
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, words));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_owner(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn private(builder: &mut fs::DirBuilder) {
    use std::os::unix::fs::DirBuilderExt;
    builder.mode(0o700);
}

#[cfg(not(unix))]
fn private(_: &mut fs::DirBuilder) {}

fn write(path: &Path, item: &Item) -> io::Result<()> {
    let new = path.with_extension("new");
    let written = || {
        // A file that is there is left over, or a link that somebody else has planted.
        let _ = fs::remove_file(&new);
        let mut file = File::create_new(&new)?;
        let encoding = match item.encoding {
            Encoding::Identity => 0,
            Encoding::Gzip => 1,
            Encoding::Snappy => 2,
        };
        let length = u32::try_from(item.body.len()).map_err(io::Error::other)?;
        let mut head = Vec::with_capacity(HEAD);
        head.extend_from_slice(MAGIC);
        head.extend_from_slice(&[encoding, 0, 0, 0]);
        head.extend_from_slice(&item.time.to_le_bytes());
        head.extend_from_slice(&length.to_le_bytes());
        head.extend_from_slice(&crc32fast::hash(&item.body).to_le_bytes());
        file.write_all(&head)?;
        file.write_all(&item.body)?;
        fs::rename(&new, path)
    };
    written().inspect_err(|_| drop(fs::remove_file(&new)))
}

/// Encoding, time, length and check sum of a file; `None` if it is none of ours.
fn head(path: &Path) -> Option<(Encoding, u64, u32, u32)> {
    parse(&mut File::open(path).ok()?).ok().flatten()
}

fn parse(file: &mut impl Read) -> io::Result<Option<(Encoding, u64, u32, u32)>> {
    let mut bytes = Vec::with_capacity(HEAD);
    file.take(HEAD as u64).read_to_end(&mut bytes)?;
    Ok(parts(&bytes))
}

fn parts(bytes: &[u8]) -> Option<(Encoding, u64, u32, u32)> {
    let (magic, rest) = bytes.split_first_chunk::<4>()?;
    let ([encoding, ..], rest) = rest.split_first_chunk::<4>()?;
    let (time, rest) = rest.split_first_chunk::<8>()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (sum, _) = rest.split_first_chunk::<4>()?;
    let encoding = match encoding {
        0 => Encoding::Identity,
        1 => Encoding::Gzip,
        2 => Encoding::Snappy,
        _ => return None,
    };
    let numbers = (u64::from_le_bytes(*time), u32::from_le_bytes(*length), u32::from_le_bytes(*sum));
    (magic == MAGIC).then_some((encoding, numbers.0, numbers.1, numbers.2))
}

/// A request; `None` if it is damaged.
fn read(path: &Path) -> io::Result<Option<Item>> {
    let mut file = File::open(path)?;
    let Some((encoding, time, length, sum)) = parse(&mut file)? else { return Ok(None) };
    let mut body = Vec::new();
    file.take(MOST_BODY).read_to_end(&mut body)?;
    let is_whole = body.len() as u64 == u64::from(length) && crc32fast::hash(&body) == sum;
    Ok(is_whole.then_some(Item { time, encoding, body }))
}

#[cfg(test)]
mod tests {
    use tallymon_testkit::Scratch;

    use super::*;

    fn item(time: u64, bytes: usize) -> Item {
        Item { time, encoding: Encoding::Gzip, body: vec![time as u8; bytes] }
    }

    #[test]
    fn what_waits_is_forced_onto_the_disk_when_the_receiver_is_away() {
        let folder = Scratch::new();
        let mut queue = Queue::open(&folder, 1 << 20).unwrap();
        let durable = |queue: &Queue| queue.items.iter().map(|item| item.is_durable).collect::<Vec<_>>();
        queue.put(item(1, 10)).1.unwrap();
        assert_eq!(durable(&queue), [false], "it is sent in a moment");
        queue.put(item(2, 10)).1.unwrap();
        queue.put(item(3, 10)).1.unwrap();
        assert_eq!(durable(&queue), [true, true, true]);
        drop(queue);
        // What an earlier process left may not be on the disk yet.
        let mut queue = Queue::open(&folder, 1 << 20).unwrap();
        queue.put(item(4, 10)).1.unwrap();
        assert_eq!(durable(&queue), [true; 4]);
    }

    #[test]
    fn what_waits_outlives_the_process_in_its_order() {
        let folder = Scratch::new();
        let mut queue = Queue::open(&folder, 1 << 20).unwrap();
        // The times are those of a clock that is set back.
        for time in [5, 9, 2] {
            assert!(matches!(queue.put(item(time, 10)), (None, Ok(()))));
        }
        assert!(matches!(Queue::open(&folder, 1 << 20), Err(QueueError::Busy(_))));
        drop(queue);
        std::fs::write(folder.join("00000000000000000009.new"), "half").unwrap();
        let mut queue = Queue::open(&folder, 1 << 20).unwrap();
        let mut times = Vec::new();
        while let Some((number, item)) = queue.oldest().unwrap() {
            assert_eq!(item.body, vec![item.time as u8; 10]);
            times.push(item.time);
            queue.remove(number);
        }
        assert_eq!(times, [5, 9, 2]);
        // The lock is all that is left.
        assert_eq!(std::fs::read_dir(&*folder).unwrap().count(), 1);
    }

    #[test]
    fn the_oldest_make_room_and_are_counted() {
        let folder = Scratch::new();
        let mut queue = Queue::open(&folder, 300).unwrap();
        let dropped: Vec<_> = (1..6).map(|time| queue.put(item(time, 76)).0).collect();
        let one = |time| Some(Dropped { count: 1, times: (time, time) });
        assert_eq!(dropped, [None, None, None, one(1), one(2)]);
        let (two, _) = queue.put(item(6, 176));
        assert_eq!(two, Some(Dropped { count: 2, times: (3, 4) }));
        assert_eq!(queue.oldest().unwrap().unwrap().1.time, 5);
        // A request that was in flight when it made room is gone already.
        queue.remove(1);
        assert_eq!(queue.len(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn attack_queue_in_a_folder_of_another_user() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = Scratch::new();
        std::fs::set_permissions(&*folder, PermissionsExt::from_mode(0o777)).unwrap();
        let refused = Queue::open(&folder, 1000).unwrap_err().to_string();
        assert!(refused.contains("777"), "{refused}");
        std::fs::set_permissions(&*folder, PermissionsExt::from_mode(0o700)).unwrap();
        let victim = folder.join("victim");
        std::fs::write(&victim, "precious").unwrap();
        symlink(&victim, folder.join("owner.new")).unwrap();
        let mut queue = Queue::open(&folder, 1000).unwrap();
        symlink(&victim, folder.join("00000000000000000001.new")).unwrap();
        symlink(&victim, folder.join("00000000000000000001.request")).unwrap();
        queue.put(item(1, 10)).1.unwrap();
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
        if let Some(other) = tallymon_testkit::other_user() {
            std::os::unix::fs::chown(&*folder, Some(other), None).unwrap();
            drop(queue);
            let refused = Queue::open(&folder, 1000).unwrap_err().to_string();
            assert!(refused.contains(&format!("user {other} owns it")), "{refused}");
        }
        tallymon_testkit::attack(
            "other users",
            "own the folder in which samples wait for a receiver, or plant links in it",
            "the folder is refused by owner and mode; links are replaced, never followed",
        );
    }

    #[test]
    fn damaged_requests_are_named_and_removed() {
        let folder = Scratch::new();
        let mut queue = Queue::open(&folder, 1 << 20).unwrap();
        for time in 1..6 {
            queue.put(item(time, 100)).1.unwrap();
        }
        let file = |number: u64| folder.join(format!("{number:020}.request"));
        let mut bytes = std::fs::read(file(1)).unwrap();
        bytes[60] ^= 1;
        std::fs::write(file(1), &bytes).unwrap();
        std::fs::write(file(2), &bytes[..70]).unwrap();
        std::fs::write(file(3), "").unwrap();
        std::fs::remove_file(file(4)).unwrap();
        for number in 1..4 {
            assert!(matches!(queue.oldest(), Err(QueueError::Damaged(path)) if path == file(number)));
        }
        assert!(matches!(queue.oldest(), Err(QueueError::Io(..))));
        assert_eq!(queue.oldest().unwrap().unwrap().1.time, 5);
    }

    #[test]
    fn without_room_on_disk_requests_wait_in_memory_up_to_a_limit() {
        let folder = Scratch::new();
        let mut queue = Queue::open(&folder, 1 << 30).unwrap();
        std::fs::remove_dir_all(&*folder).unwrap();
        for time in 1..=8 {
            let (dropped, written) = queue.put(item(time, 1 << 20));
            // The head makes the eighth one too large.
            assert_eq!(dropped.is_some(), time == 8, "{time}");
            assert!(written.is_err());
        }
        let (number, oldest) = queue.oldest().unwrap().unwrap();
        assert_eq!(oldest.time, 1);
        queue.remove(number);
        assert_eq!(queue.oldest().unwrap().unwrap().1.time, 2);
    }
}
