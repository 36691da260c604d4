//! The profile file, mapped into the memory of the profiled process.
//!
//! The hooks store straight into the pages of the file, so a killed process leaves all its data. A record is
//! used only when its part of the file has disk blocks: a store into a page without a block on a full disk
//! would kill the profiled process. The first blocks are allocated at the start, the others while the program
//! runs, shortly before they are needed: the file takes as much room as it uses.
//!
//! Unsafe code is here to map memory and to use it as slices of the records of [`crate::layout`]. These
//! consist of atomics alone, so any bytes are valid records, and writers in other threads and readers in
//! other processes are no data race; a mapping is never unmapped while the process lives, so the slices may
//! be `'static`.
#![allow(unsafe_code)]

use crate::functions::Slot;
use crate::layout::*;
use crate::profile::{Frame, Nodes, ThreadProfile};
use crate::system::{self, map};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::thread::{self, Thread};

/// Longest piece of text in bytes; longer ones are cut.
const MAX_TEXT: usize = 8 * 1024;

/// Bytes to allocate on the disk at a time while the program runs; a program that ends waits for one piece at
/// most.
const PIECE: usize = 1 << 20;

/// Bytes to allocate at the start: on a disk, and in memory.
const FIRST_METHODS: (usize, usize) = (1 << 20, 512 << 10);
const FIRST_TEXT: (usize, usize) = (512 << 10, 256 << 10);
const FIRST_NODES: (usize, usize) = (4 << 20, 1 << 20);

/// Bytes to keep allocated after the nodes in use: on a disk, and in memory.
const AHEAD: (usize, usize) = (8 << 20, 2 << 20);

/// The same for methods and text: they grow much slower, because the runtime compiles a method first.
const AHEAD_OF_METHODS: (usize, usize) = (1 << 20, 512 << 10);

/// The thread that allocates more room.
static KEEPER: OnceLock<Thread> = OnceLock::new();

/// Bytes of a ring of events.
const RING_BYTES: usize = RING * size_of::<Event>();

/// A profile file, or memory of the same shape, that this process writes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Map {
    /// The header.
    pub header: &'static Header,
    /// The modules.
    pub modules: &'static [ModuleRecord],
    /// The threads.
    pub threads: &'static [ThreadRecord],
    /// The methods.
    pub methods: &'static [MethodRecord],
    request: &'static [AtomicU8],
    text: &'static [AtomicU8],
    nodes: &'static [Node],
    /// Finds nodes by caller and method; no part of the file.
    index: &'static [AtomicU32],
    /// The events of all rings.
    events: &'static [Event],
}

impl Map {
    /// Creates a profile file of `bytes` bytes and `n_rings` rings of events at `path`, or at that name
    /// followed by `.1` to `.99` when the file exists already, and maps it. Only its owner may read it. Its
    /// methods, text and nodes have little room until [`UnreservedFile::reserve`] is done.
    ///
    /// # Errors
    ///
    /// When the file cannot be created, its disk has no room, or the memory cannot be mapped.
    pub(crate) fn create(
        path: &Path,
        bytes: usize,
        n_rings: usize,
    ) -> io::Result<(Map, UnreservedFile, PathBuf)> {
        let mut name = path.to_path_buf();
        let mut number = 0u32;
        let file = loop {
            match system::create_file(&name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 99 => {
                    number = number.saturating_add(1);
                    let mut text = path.as_os_str().to_os_string();
                    text.push(format!(".{number}"));
                    name = PathBuf::from(text);
                }
                other => break other?,
            }
        };
        match Map::create_in(UnreservedFile::new(file)?, bytes, n_rings) {
            Ok((map, rest)) => Ok((map, rest, name)),
            Err(error) => {
                // An empty file would look like a profile. If removing it fails, it does no harm.
                let _ = std::fs::remove_file(&name);
                Err(error)
            }
        }
    }

    fn create_in(rest: UnreservedFile, bytes: usize, n_rings: usize) -> io::Result<(Map, UnreservedFile)> {
        let rings = n_rings.saturating_mul(RING_BYTES);
        let whole = bytes.saturating_add(rings);
        rest.file.set_len(whole as u64)?;
        rest.room(0, HEADER_SIZE)?;
        let map = Map::format(map(whole, Some(&rest.file))?, bytes, n_rings);
        rest.room(0, map.header.methods.offset.load(Ordering::Relaxed) as usize)?;
        rest.room(bytes, rings)?;
        for growing in map.growing(rest.in_memory) {
            let first = growing.records_in(growing.first).min(growing.capacity);
            rest.grow(&growing, 0, first)?;
        }
        Ok((map, rest))
    }

    /// The regions that begin small.
    fn growing(&self, in_memory: bool) -> [Growing; 3] {
        let growing = |region, record, capacity, first: (usize, usize), ahead: (usize, usize)| {
            let (first, ahead) = if in_memory { (first.1, ahead.1) } else { (first.0, ahead.0) };
            Growing { region, record, capacity, first, ahead }
        };
        let (methods, text, nodes) = (&self.header.methods, &self.header.text, &self.header.nodes);
        let record = size_of::<MethodRecord>();
        [
            growing(methods, record, self.methods.len(), FIRST_METHODS, AHEAD_OF_METHODS),
            growing(text, 1, self.text.len(), FIRST_TEXT, AHEAD_OF_METHODS),
            growing(nodes, size_of::<Node>(), self.nodes.len(), FIRST_NODES, AHEAD),
        ]
    }

    /// Memory with the layout of a small profile file, but without a file.
    ///
    /// # Errors
    ///
    /// When the memory cannot be mapped.
    pub(crate) fn scratch() -> io::Result<Map> {
        let bytes = 1 << 20;
        Ok(Map::format(map(bytes, None)?, bytes, 0))
    }

    /// Divides `bytes` zeroed bytes into the regions, followed by the rings, and writes the header.
    fn format(start: NonNull<u8>, bytes: usize, n_rings: usize) -> Map {
        let whole = bytes.saturating_add(n_rings.saturating_mul(RING_BYTES));
        let mut at = HEADER_SIZE;
        let mut part = |divisor: usize, record: usize| {
            let capacity = bytes.checked_div(divisor.saturating_mul(record)).unwrap_or(0).max(2);
            let offset = at;
            at = at.saturating_add(capacity.saturating_mul(record)).next_multiple_of(256);
            (offset, capacity)
        };
        let modules = part(256, size_of::<ModuleRecord>());
        let threads = part(64, size_of::<ThreadRecord>());
        let methods = part(8, size_of::<MethodRecord>());
        let text = part(8, 1);
        let nodes = (at, bytes.saturating_sub(at).checked_div(size_of::<Node>()).unwrap_or(0));
        // SAFETY: the mapping begins at a page, has at least a header and lives as long as the process.
        let header = unsafe { start.cast::<Header>().as_ref() };
        let map = Map {
            header,
            modules: slice(start, bytes, modules),
            threads: slice(start, bytes, threads),
            methods: slice(start, bytes, methods),
            request: slice(start, bytes, (REQUEST, HEADER_SIZE.saturating_sub(REQUEST))),
            text: slice(start, bytes, text),
            nodes: slice(start, bytes, nodes),
            index: index(nodes.1),
            events: slice(start, whole, (bytes, n_rings.saturating_mul(RING))),
        };
        let regions = [
            (&header.modules, modules, 0),
            (&header.threads, threads, 0),
            (&header.methods, methods, 1),
            (&header.text, text, 0),
            (&header.nodes, nodes, 1),
            (&header.rings, (bytes, n_rings), 0),
        ];
        for (region, (offset, capacity), used) in regions {
            region.offset.store(offset as u64, Ordering::Relaxed);
            region.capacity.store(capacity as u64, Ordering::Relaxed);
            region.used.store(used, Ordering::Relaxed);
        }
        header.version.store(VERSION, Ordering::Relaxed);
        header.header_size.store(HEADER_SIZE as u32, Ordering::Relaxed);
        header.module_size.store(size_of::<ModuleRecord>() as u32, Ordering::Relaxed);
        header.thread_size.store(size_of::<ThreadRecord>() as u32, Ordering::Relaxed);
        header.method_size.store(size_of::<MethodRecord>() as u32, Ordering::Relaxed);
        header.node_size.store(size_of::<Node>() as u32, Ordering::Relaxed);
        header.ring_size.store(if n_rings == 0 { 0 } else { RING as u32 }, Ordering::Relaxed);
        header.event_size.store(size_of::<Event>() as u32, Ordering::Relaxed);
        header.state.store(READY, Ordering::Relaxed);
        header.magic.store(MAGIC, Ordering::Release);
        map
    }

    /// The words of the request in the header.
    pub(crate) fn request(&self) -> String {
        let bytes = self.request.iter().map(|byte| byte.load(Ordering::Relaxed));
        let bytes: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The nodes of all call trees.
    pub(crate) fn nodes(&self) -> Nodes<'static> {
        Nodes::new(self.nodes, &self.header.nodes, self.methods, self.index, wake_keeper)
    }

    /// A ring of events for the thread of this record; stores its number there. Empty when no ring is left.
    pub(crate) fn take_ring(&self, record: &ThreadRecord) -> &'static [Event] {
        if self.events.is_empty() {
            return &[];
        }
        let Some(number) = self.header.rings.take() else {
            self.header.lost_rings.fetch_add(1, Ordering::Relaxed);
            return &[];
        };
        record.ring.store(number.saturating_add(1), Ordering::Relaxed);
        let from = (number as usize).saturating_mul(RING);
        self.events.get(from..from.saturating_add(RING)).unwrap_or_default()
    }

    /// Stores text and returns its position (offset in the upper half, length in the lower one); 0 when there
    /// is no room, which the header counts.
    pub(crate) fn store_text(&self, text: &str) -> u64 {
        let length = text.floor_char_boundary(MAX_TEXT);
        let bytes = text.as_bytes().get(..length).unwrap_or_default();
        let start = self.header.text.used.fetch_add(length as u64, Ordering::Relaxed);
        let capacity = usize::try_from(self.header.text.capacity.load(Ordering::Acquire)).unwrap_or(0);
        let room = usize::try_from(start)
            .ok()
            .and_then(|start| self.text.get(..capacity)?.get(start..start.checked_add(length)?));
        let Some(room) = room else {
            self.header.lost_text.fetch_add(1, Ordering::Relaxed);
            return 0;
        };
        for (place, &byte) in room.iter().zip(bytes) {
            place.store(byte, Ordering::Relaxed);
        }
        (start << 32) | length as u64
    }

    /// The text at a position that [`Map::store_text`] returned.
    pub(crate) fn text(&self, position: u64) -> String {
        let (start, length) = ((position >> 32) as usize, (position as u32) as usize);
        let bytes = self.text.get(start..start.saturating_add(length)).unwrap_or_default();
        let bytes: Vec<u8> = bytes.iter().map(|byte| byte.load(Ordering::Relaxed)).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Replaces the text of a field; the old text stays in the file unused.
    pub(crate) fn set_text(&self, field: &AtomicU64, text: &str) {
        let reference = self.store_text(text);
        field.store(reference, Ordering::Release);
    }

    /// Writes the clock pair, so that a reader knows the rate of the ticks and how long the process lived.
    pub(crate) fn set_clock(&self, (ticks, nanoseconds): (u64, u64)) {
        let sequence = &self.header.clock_sequence;
        sequence.fetch_add(1, Ordering::AcqRel);
        self.header.last_ticks.store(ticks, Ordering::Relaxed);
        self.header.last_nanoseconds.store(nanoseconds, Ordering::Relaxed);
        sequence.fetch_add(1, Ordering::Release);
    }
}

/// The rest of a profile file's regions, which is not allocated on the disk yet.
///
/// A file system in memory clears every page when it is allocated, which would delay the program's start and
/// take memory that it may never need.
pub(crate) struct UnreservedFile {
    file: File,
    in_memory: bool,
}

/// A region that begins small.
struct Growing {
    region: &'static Region,
    /// Bytes of a record.
    record: usize,
    /// Records that are mapped.
    capacity: usize,
    /// Bytes to allocate at the start.
    first: usize,
    /// Bytes to keep allocated after those in use.
    ahead: usize,
}

impl Growing {
    /// How many whole records fit into so many bytes.
    fn records_in(&self, bytes: usize) -> usize {
        bytes.checked_div(self.record).unwrap_or(0)
    }
}

impl UnreservedFile {
    fn new(file: File) -> io::Result<UnreservedFile> {
        Ok(UnreservedFile { in_memory: system::is_in_memory(&file)?, file })
    }

    /// Makes this thread the one to wake when nodes were used, to call [`UnreservedFile::reserve`] again.
    pub(crate) fn keep_here(&self) {
        // A second one in the same process is refused by the runtime.
        let _ = KEEPER.set(thread::current());
    }

    /// Allocates the room that will be needed soon piece by piece, and releases each piece for use. Returns
    /// whether there is more to allocate later.
    ///
    /// # Errors
    ///
    /// When the disk is full; everything allocated so far stays in use.
    pub(crate) fn reserve(&self, map: &Map) -> io::Result<bool> {
        let mut more_later = false;
        for growing in map.growing(self.in_memory) {
            let mut has = growing.region.capacity.load(Ordering::Relaxed) as usize;
            let soon = || {
                let used = growing.region.used.load(Ordering::Relaxed) as usize;
                used.saturating_add(growing.records_in(growing.ahead)).min(growing.capacity)
            };
            while has < soon() {
                let piece = growing.records_in(PIECE.min(growing.ahead));
                let more = has.saturating_add(piece).min(growing.capacity);
                self.grow(&growing, has, more)?;
                has = more;
            }
            more_later |= has < growing.capacity;
        }
        Ok(more_later)
    }

    /// Allocates room for the records `from` to `to`, and releases them for use.
    fn grow(&self, growing: &Growing, from: usize, to: usize) -> io::Result<()> {
        let start = growing.region.offset.load(Ordering::Relaxed) as usize;
        let bytes = to.saturating_sub(from).saturating_mul(growing.record);
        self.room(start.saturating_add(from.saturating_mul(growing.record)), bytes)?;
        growing.region.capacity.store(to as u64, Ordering::Release);
        Ok(())
    }

    /// Allocates a part of the file on the disk.
    fn room(&self, start: usize, bytes: usize) -> io::Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        system::room(&self.file, start, bytes)
    }
}

/// Wakes the thread that allocates more room; never waits.
fn wake_keeper() {
    if let Some(keeper) = KEEPER.get() {
        keeper.unpark();
    }
}

/// The memory of a thread: one mapping.
pub(crate) struct ThreadMemory {
    /// The place for the state of the thread, not written yet.
    pub(crate) state: NonNull<ThreadProfile<'static>>,
    /// The frames of its shadow stack, all zero.
    pub(crate) frames: &'static mut [Frame],
}

/// Bytes of a thread's state, after which its frames begin.
const STATE_BYTES: usize = size_of::<ThreadProfile<'_>>().next_multiple_of(align_of::<Frame>());

/// Maps memory for the state of a thread and `count` frames. Pages that are never reached take no memory.
pub(crate) fn thread_memory(count: usize) -> Option<ThreadMemory> {
    const { assert!(align_of::<ThreadProfile<'_>>() <= 4096 && align_of::<Frame>() <= 4096) };
    let bytes = count.checked_mul(size_of::<Frame>())?.checked_add(STATE_BYTES)?;
    let start = map(bytes, None).ok()?;
    // SAFETY: the mapping is longer than that.
    let first = unsafe { start.add(STATE_BYTES) };
    // SAFETY: the mapping is new, so nothing else refers to it; behind the state it has room for `count`
    // frames, which are aligned as the mapping begins at a page; and zeros are frames.
    let frames = unsafe { std::slice::from_raw_parts_mut(first.cast::<Frame>().as_ptr(), count) };
    Some(ThreadMemory { state: start.cast(), frames })
}

/// Empty slots for a table of functions; pages that are never reached take no memory.
pub(crate) fn slots(count: usize) -> Option<&'static [Slot]> {
    let bytes = count.checked_mul(size_of::<Slot>())?;
    Some(slice(map(bytes, None).ok()?, bytes, (0, count)))
}

/// An empty index for so many nodes; without places when there is no memory for it. Pages that are never
/// reached take none.
fn index(n_nodes: usize) -> &'static [AtomicU32] {
    let count = n_nodes.saturating_mul(2);
    let bytes = count.saturating_mul(size_of::<AtomicU32>());
    map(bytes.max(1), None).map_or(&[], |start| slice(start, bytes, (0, count)))
}

/// Unmaps the memory of [`thread_memory`]. It takes no reference to the frames: one that is an argument would
/// have to stay valid until this returns.
///
/// # Safety
///
/// * `state` and `count` are those of one call of [`thread_memory`], whose memory was not freed yet.
/// * No reference to the state or to a frame is used from here on.
pub(crate) unsafe fn free_thread(state: NonNull<ThreadProfile<'static>>, count: usize) {
    let bytes = count.saturating_mul(size_of::<Frame>()).saturating_add(STATE_BYTES);
    // SAFETY: the caller says that this is a whole mapping and that nobody uses it any more.
    unsafe { system::unmap(state.cast(), bytes) };
}

/// Records of atomics only, so that any bytes are valid and sharing them is no data race.
trait Record {}
impl Record for AtomicU8 {}
impl Record for AtomicU32 {}
impl Record for ModuleRecord {}
impl Record for ThreadRecord {}
impl Record for MethodRecord {}
impl Record for Node {}
impl Record for Event {}
impl Record for Slot {}

/// The records of a region in a mapping of `bytes` bytes; empty when they do not fit.
fn slice<T: Record>(start: NonNull<u8>, bytes: usize, (offset, capacity): (usize, usize)) -> &'static [T] {
    let end = capacity.checked_mul(size_of::<T>()).and_then(|length| length.checked_add(offset));
    if end.is_none_or(|end| end > bytes) || !offset.is_multiple_of(align_of::<T>()) {
        return &[];
    }
    // SAFETY: the offset was found to lie within the mapping.
    let first = unsafe { start.add(offset) };
    // SAFETY: so do all the records; the offset and the page at which the mapping begins are aligned; any
    // bytes are records made of atomics; and the mapping is never unmapped.
    unsafe { std::slice::from_raw_parts(first.cast::<T>().as_ptr(), capacity) }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs::OpenOptions;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_cut_file_does_not_end_the_profiled_program() {
        let folder = std::env::temp_dir().join(format!("tallymon-clr-cut-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("c.prof");
        let (map, rest, _) = Map::create(&path, 8 << 20, 2).unwrap();
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        for length in [1 << 20, 4096, 0] {
            file.set_len(length).unwrap();
            map.set_clock((1, 2));
            let text = map.store_text("a method");
            assert!(text == 0 || text & 0xffff_ffff == 8);
            for record in map.threads.iter().take(3) {
                let ring = map.take_ring(record);
                ring.iter().for_each(|event| event.ticks.store(7, Ordering::Relaxed));
            }
            for node in map.nodes.iter().step_by(1_000) {
                node.method.store(1, Ordering::Relaxed);
            }
            // What grows now cannot be seen, and what it finds is any number.
            let _ = rest.reserve(&map);
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn regions_of_a_file_do_not_overlap() {
        let folder = std::env::temp_dir().join(format!("tallymon-clr-map-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.prof");
        let (map, rest, first) = Map::create(&path, 8 << 20, 2).unwrap();
        assert_eq!(first, path);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), (8 << 20) + 2 * RING_BYTES as u64);
        let h = map.header;
        // At first the file has blocks for the usable records only.
        let blocks = || std::fs::metadata(&path).unwrap().blocks() * 512;
        let (first_blocks, first_nodes) = (blocks(), h.nodes.capacity.load(Ordering::Relaxed));
        assert_eq!(first_nodes, (4 << 20) / 256);
        assert!(!rest.reserve(&map).unwrap(), "there is nothing to get later");
        assert!(first_blocks < 8 << 20 && blocks() >= (8 << 20) + 2 * RING_BYTES as u64 - 4096);
        assert_eq!(h.nodes.capacity.load(Ordering::Relaxed), map.nodes.len() as u64);
        let sizes = [64u64, 128, 192, 1, 256];
        let mut end = HEADER_SIZE as u64;
        for (region, size) in [&h.modules, &h.threads, &h.methods, &h.text, &h.nodes].iter().zip(sizes) {
            let offset = region.offset.load(Ordering::Relaxed);
            assert!(offset >= end, "{offset} {end}");
            end = offset + region.capacity.load(Ordering::Relaxed) * size;
            assert!(end <= 8 << 20);
        }
        assert!(map.nodes.len() > 20_000 && map.threads.len() >= 1000);
        // A second file of the same name does not touch the first.
        let (_, _, second) = Map::create(&path, 8 << 20, 0).unwrap();
        assert_eq!(second, folder.join("a.prof.1"));
        // A ring for each of two threads, none for the third.
        let rings = [0, 1, 2].map(|n| map.take_ring(&map.threads[n]).len());
        assert_eq!((rings, h.lost_rings.load(Ordering::Relaxed)), ([RING, RING, 0], 1));
        let text = map.store_text("héllo");
        let bytes = std::fs::read(&path).unwrap();
        let at = (h.text.offset.load(Ordering::Relaxed) + (text >> 32)) as usize;
        assert_eq!(&bytes[at..at + (text as u32) as usize], "héllo".as_bytes());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn file_in_memory_is_allocated_on_demand() {
        let path = PathBuf::from(format!("/dev/shm/tallymon-clr-map-{}.prof", std::process::id()));
        let Ok((map, rest, path)) = Map::create(&path, 64 << 20, 0) else {
            tallymon_testkit::skip("no file system in memory at /dev/shm");
            return;
        };
        let blocks = || std::fs::metadata(&path).unwrap().blocks() * 512;
        assert!(rest.in_memory && rest.reserve(&map).unwrap());
        let first = blocks();
        assert!(first < 16 << 20, "{first}");
        let nodes = &map.header.nodes;
        for _ in 0..(8 << 20) / 256 {
            // A record that was taken can be written to.
            if let Some(number) = nodes.take() {
                map.nodes[number as usize].enters.store(1, Ordering::Relaxed);
            } else {
                assert!(rest.reserve(&map).unwrap());
            }
        }
        assert!(rest.reserve(&map).unwrap());
        let (used, room) = (nodes.used.load(Ordering::Relaxed), nodes.capacity.load(Ordering::Relaxed));
        assert!(room >= used + (AHEAD.1 / 256) as u64 && room < used + ((AHEAD.1 + PIECE) / 256) as u64);
        assert!(blocks() >= first + (6 << 20) && blocks() < 32 << 20);
        // The end: the whole region.
        nodes.used.store(map.nodes.len() as u64, Ordering::Relaxed);
        assert!(rest.reserve(&map).unwrap(), "methods and text have not all");
        assert_eq!(nodes.capacity.load(Ordering::Relaxed), map.nodes.len() as u64);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn memory_of_a_thread_is_freed_after_its_last_use() {
        let map = Map::scratch().unwrap();
        for count in [1, 64] {
            let ThreadMemory { state, frames } = thread_memory(count).unwrap();
            assert_eq!(frames.len(), count);
            let thread = ThreadProfile::new(map.nodes(), &map.threads[0], frames);
            // SAFETY: the memory is new, aligned and large enough for a state.
            unsafe { state.write(thread) };
            // SAFETY: the state was just written, and is not used there any more.
            let mut thread = unsafe { state.read() };
            thread.enter(1, 4096, || 7);
            let count = thread.into_frames().len();
            // SAFETY: it is the memory from above, and its last use was in the line above.
            unsafe { free_thread(state, count) };
        }
    }

    #[test]
    fn text_without_room_is_counted() {
        let map = Map::scratch().unwrap();
        let long = "é".repeat(MAX_TEXT);
        let mut stored = 0;
        while map.store_text(&long) & 0xFFFF_FFFF == MAX_TEXT as u64 {
            stored += 1;
        }
        assert_eq!(stored, map.text.len() / MAX_TEXT);
        assert_eq!(map.header.lost_text.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_file_that_can_not_be_made_is_an_error() {
        let error = Map::create(Path::new("/proc/no/such.prof"), 8 << 20, 0).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
