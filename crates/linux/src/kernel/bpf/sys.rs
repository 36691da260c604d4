//! The `bpf` system call, the memory of BPF maps, and private memory for the kernel's type description.
//!
//! This file has unsafe code because there is no safe interface: the call takes addresses as numbers, and map
//! memory is shared with the kernel. What it returns is safe to use: descriptors close themselves, and shared
//! memory is only visible as atomic words, which may change at any time without harm.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use super::btf::TypeId;

/// An array map: one value for each index.
#[derive(Debug)]
pub(super) struct Array {
    descriptor: OwnedFd,
}

impl Array {
    /// Creates a map of `count` values of `size` bytes each, whose memory can be mapped.
    pub(super) fn new(size: u32, count: u32) -> io::Result<Array> {
        const ARRAY: u32 = 2;
        const MAPPABLE: u32 = 1 << 10;
        Array::create(ARRAY, size, count, MAPPABLE)
    }

    /// Creates a map with one value of `size` bytes per CPU, whose memory cannot be mapped.
    pub(super) fn per_cpu(size: u32) -> io::Result<Array> {
        const ARRAY_EACH_PROCESSOR: u32 = 6;
        Array::create(ARRAY_EACH_PROCESSOR, size, 1, 0)
    }

    fn create(kind: u32, size: u32, count: u32, flags: u32) -> io::Result<Array> {
        Array::create_with_keys(kind, 4, size, count, flags)
    }

    fn create_with_keys(kind: u32, key_size: u32, size: u32, count: u32, flags: u32) -> io::Result<Array> {
        #[repr(C)]
        struct Create {
            kind: u32,
            key_size: u32,
            value_size: u32,
            entries: u32,
            flags: u32,
        }
        let mut attributes = Create { kind, key_size, value_size: size, entries: count, flags };
        // SAFETY: the structure holds no address, so the kernel only reads it.
        let descriptor = unsafe { bpf_descriptor(MAP_CREATE, &mut attributes) }?;
        Ok(Array { descriptor })
    }

    /// The number of its descriptor, for instructions.
    pub(super) fn number(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }

    /// Maps its first `length` bytes.
    pub(super) fn map(&self, length: usize) -> io::Result<MapMemory> {
        MapMemory::map(&self.descriptor, 0, length, libc::PROT_READ | libc::PROT_WRITE)
    }
}

/// A ring buffer that programs write and this process reads.
#[derive(Debug)]
pub(super) struct RingBuffer {
    descriptor: OwnedFd,
    size: usize,
}

impl RingBuffer {
    /// Creates one of `size` bytes, a power of two of at least a page.
    pub(super) fn new(size: u32) -> io::Result<RingBuffer> {
        const RING: u32 = 27;
        let map = Array::create_with_keys(RING, 0, 0, size, 0)?;
        let size = usize::try_from(size).map_err(|_| io::ErrorKind::InvalidInput)?;
        Ok(RingBuffer { descriptor: map.descriptor, size })
    }

    /// The number of its descriptor, for instructions.
    pub(super) fn number(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }

    /// The page whose first word is how far this process has read.
    pub(super) fn read_position(&self) -> io::Result<MapMemory> {
        MapMemory::map(&self.descriptor, 0, rustix::param::page_size(), libc::PROT_READ | libc::PROT_WRITE)
    }

    /// Its size in words.
    pub(super) fn words(&self) -> usize {
        self.size / 8
    }

    /// What programs have written. The kernel can map the buffer twice in a row so that every record is
    /// contiguous, but that would count twice as our memory.
    pub(super) fn written(&self) -> io::Result<RingMemory> {
        let page = rustix::param::page_size();
        let length = page.saturating_add(self.size);
        MapMemory::map(&self.descriptor, page, length, libc::PROT_READ).map(RingMemory)
    }
}

/// The memory of a ring buffer, which only the kernel writes: a page whose first word is how far it has
/// written, then the buffer.
#[derive(Debug)]
pub(super) struct RingMemory(MapMemory);

impl RingMemory {
    /// How many bytes were ever written; later loads see them.
    pub(super) fn position(&self) -> Option<u64> {
        self.word(0)
    }

    /// A word of the buffer; later loads see everything written before it.
    pub(super) fn load(&self, word: usize) -> Option<u64> {
        self.word((rustix::param::page_size() / 8).checked_add(word)?)
    }

    fn word(&self, word: usize) -> Option<u64> {
        self.0.words().get(word).map(|word| word.load(Ordering::Acquire))
    }
}

/// A memory mapping that is unmapped when dropped.
#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    /// Bytes.
    length: usize,
}

// SAFETY: the mapping belongs to the process and not to a thread; whoever has it says how it may be used.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps a part of a descriptor's object from an offset on, or private memory without one.
    fn new(of: Option<(&OwnedFd, usize)>, length: usize, protection: libc::c_int) -> io::Result<Mapping> {
        let (flags, descriptor, offset) = match of {
            Some((descriptor, offset)) => (libc::MAP_SHARED, descriptor.as_raw_fd(), offset),
            None => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0),
        };
        let offset = libc::off_t::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: a new mapping at an address that the kernel chooses takes no memory that anybody uses.
        let address =
            unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, descriptor, offset) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(address.cast()).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Mapping { start, length })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `Mapping::new` with this address and length, and no borrow of it is
        // left.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// The memory of a map.
#[derive(Debug)]
pub(super) struct MapMemory(Mapping);

impl MapMemory {
    fn map(
        descriptor: &OwnedFd,
        offset: usize,
        length: usize,
        protection: libc::c_int,
    ) -> io::Result<MapMemory> {
        Mapping::new(Some((descriptor, offset)), length, protection).map(MapMemory)
    }

    /// The mapped words. The kernel may write them while a program runs.
    pub(super) fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is `length` bytes long, begins at a page and lives as long as `self`. Every bit
        // pattern is a valid AtomicU64. The kernel writes with plain machine stores, of which an atomic load
        // sees some value. Read-only mappings are only ever loaded, see `RingMemory`.
        unsafe { std::slice::from_raw_parts(self.0.start.as_ptr().cast(), self.0.length / 8) }
    }
}

/// A large file in a private mapping: memory freed through the C library might never return to the system.
#[derive(Debug)]
pub(super) struct Whole {
    mapping: Mapping,
    /// The size of the file in bytes.
    length: usize,
}

impl Whole {
    /// Reads a file.
    pub(super) fn read(path: &str) -> io::Result<Whole> {
        let mut file = File::open(path)?;
        let size = usize::try_from(file.metadata()?.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        // One more byte, so that a short read shows the end of the file.
        let room = size.checked_add(1).ok_or(io::ErrorKind::FileTooLarge)?;
        let mapping = Mapping::new(None, room, libc::PROT_READ | libc::PROT_WRITE)?;
        let mut whole = Whole { mapping, length: 0 };
        loop {
            let length = whole.length;
            let space = whole.room_mut().get_mut(length..).unwrap_or_default();
            if space.is_empty() {
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is longer than the kernel says"));
            }
            match file.read(space) {
                Ok(0) => return Ok(whole),
                Ok(count) => whole.length = length.saturating_add(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The bytes of the file.
    pub(super) fn bytes(&self) -> &[u8] {
        let length = self.length.min(self.mapping.length);
        // SAFETY: the mapping is at least `length` bytes long, initially all zeros, lives as long as `self`,
        // and is known to nobody else.
        unsafe { std::slice::from_raw_parts(self.mapping.start.as_ptr(), length) }
    }

    fn room_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.mapping.start.as_ptr(), self.mapping.length) }
    }
}

/// A loaded BPF program.
#[derive(Debug)]
pub(super) struct Program {
    descriptor: OwnedFd,
}

/// How a program is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgramKind {
    /// By this process, with a system call.
    Syscall,
    /// By the kernel for each task; the type is that of its iterator function.
    TaskIterator(TypeId),
    /// Whenever the kernel passes a tracepoint, which this type names.
    Tracepoint(TypeId),
}

/// Why the kernel did not accept a program.
#[derive(Debug)]
pub(super) struct LoadError {
    pub(super) error: io::Error,
    /// The last lines of the verifier's log.
    pub(super) log: String,
}

impl Program {
    /// Lets the kernel verify and translate the instructions.
    pub(super) fn load(kind: ProgramKind, instructions: &[u8]) -> Result<Program, LoadError> {
        // Without a log this takes half the time, and the log is only useful when it fails.
        Program::load_with(kind, instructions, &mut []).or_else(|error| {
            let mut log = vec![0_u8; LOG_SIZE];
            match Program::load_with(kind, instructions, &mut log) {
                Ok(program) => Ok(program),
                Err(_) => Err(LoadError { error, log: last_lines(&log) }),
            }
        })
    }

    fn load_with(kind: ProgramKind, instructions: &[u8], log: &mut [u8]) -> io::Result<Program> {
        const SYSCALL: u32 = 31;
        const TRACING: u32 = 26;
        const SLEEPABLE: u32 = 1 << 4;
        const TRACE_PLACE: u32 = 23;
        const TRACE_ITERATOR: u32 = 28;
        #[repr(C)]
        struct Load {
            kind: u32,
            instruction_count: u32,
            instructions: u64,
            license: u64,
            log_level: u32,
            log_size: u32,
            log: u64,
            kernel_version: u32,
            flags: u32,
            name: [u8; 16],
            interface: u32,
            attach_type: u32,
            btf: u32,
            function_info_size: u32,
            function_info: u64,
            function_info_count: u32,
            line_info_size: u32,
            line_info: u64,
            line_info_count: u32,
            attach_to: u32,
            attach_program: u32,
            padding: u32,
        }
        let (kind, flags, attach_type, attach_to) = match kind {
            ProgramKind::Syscall => (SYSCALL, SLEEPABLE, 0, 0),
            ProgramKind::TaskIterator(function) => (TRACING, 0, TRACE_ITERATOR, function.0),
            ProgramKind::Tracepoint(place) => (TRACING, 0, TRACE_PLACE, place.0),
        };
        // The kernel functions that we call are for programs under this licence only; ours are available
        // under it.
        let license = CString::from(c"Dual MIT/GPL");
        let count = u32::try_from(instructions.len() / 8).map_err(|_| io::ErrorKind::InvalidInput)?;
        let mut attributes = Load {
            kind,
            instruction_count: count,
            instructions: instructions.as_ptr().expose_provenance() as u64,
            license: license.as_ptr().expose_provenance() as u64,
            log_level: u32::from(!log.is_empty()),
            log_size: u32::try_from(log.len()).map_err(|_| io::ErrorKind::InvalidInput)?,
            log: if log.is_empty() { 0 } else { log.as_mut_ptr().expose_provenance() as u64 },
            kernel_version: 0,
            flags,
            name: *b"tallymon\0\0\0\0\0\0\0\0",
            interface: 0,
            attach_type,
            btf: 0,
            function_info_size: 0,
            function_info: 0,
            function_info_count: 0,
            line_info_size: 0,
            line_info: 0,
            line_info_count: 0,
            attach_to,
            attach_program: 0,
            padding: 0,
        };
        // SAFETY: the kernel reads the instructions and the terminated string, which live until the call
        // returns. The log is borrowed exclusively for as long, and is not written beyond its size.
        let descriptor = unsafe { bpf_descriptor(PROG_LOAD, &mut attributes) }?;
        Ok(Program { descriptor })
    }

    /// Runs the program once and returns its result.
    pub(super) fn run(&self) -> io::Result<u32> {
        #[repr(C)]
        #[derive(Default)]
        struct Run {
            program: u32,
            result: u32,
            sizes: [u32; 2],
            data: [u64; 2],
            repeat: u32,
            duration: u32,
            context_sizes: [u32; 2],
            contexts: [u64; 2],
            flags: u32,
            processor: u32,
            batch: u32,
            padding: u32,
        }
        let program = self.descriptor.as_raw_fd().cast_unsigned();
        let mut attributes = Run { program, ..Run::default() };
        // SAFETY: the structure holds no address; the kernel writes the result into it.
        unsafe { bpf(PROG_TEST_RUN, &mut attributes) }?;
        Ok(attributes.result)
    }

    /// Attaches an iterator program: reading the link's file runs it for each task.
    pub(super) fn link(&self) -> io::Result<Link> {
        #[repr(C)]
        struct Create {
            program: u32,
            target: u32,
            attach_type: u32,
            flags: u32,
            info: u64,
            info_length: u32,
            padding: u32,
        }
        let program = self.descriptor.as_raw_fd().cast_unsigned();
        let mut attributes =
            Create { program, target: 0, attach_type: 28, flags: 0, info: 0, info_length: 0, padding: 0 };
        // SAFETY: the structure holds no address, so the kernel only reads it.
        let descriptor = unsafe { bpf_descriptor(LINK_CREATE, &mut attributes) }?;
        Ok(Link { descriptor })
    }

    /// Attaches a tracepoint program until the link is dropped.
    pub(super) fn attach(&self) -> io::Result<Link> {
        #[repr(C)]
        struct Open {
            name: u64,
            program: u32,
            padding: u32,
            cookie: u64,
        }
        let program = self.descriptor.as_raw_fd().cast_unsigned();
        let mut attributes = Open { name: 0, program, padding: 0, cookie: 0 };
        // SAFETY: the structure holds no address, so the kernel only reads it.
        let descriptor = unsafe { bpf_descriptor(RAW_TRACEPOINT_OPEN, &mut attributes) }?;
        Ok(Link { descriptor })
    }
}

/// An attached program; dropping it detaches the program.
#[derive(Debug)]
pub(super) struct Link {
    descriptor: OwnedFd,
}

impl Link {
    /// Opens a file with the program's output for all current tasks.
    pub(super) fn open(&self) -> io::Result<OwnedFd> {
        let mut attributes = [self.descriptor.as_raw_fd().cast_unsigned(), 0];
        // SAFETY: the words hold no address, so the kernel only reads them.
        unsafe { bpf_descriptor(ITER_CREATE, &mut attributes) }
    }
}

const MAP_CREATE: libc::c_long = 0;
const PROG_LOAD: libc::c_long = 5;
const PROG_TEST_RUN: libc::c_long = 10;
const RAW_TRACEPOINT_OPEN: libc::c_long = 17;
const LINK_CREATE: libc::c_long = 28;
const ITER_CREATE: libc::c_long = 33;

/// Enough for the log of a program of a few hundred instructions.
const LOG_SIZE: usize = 1 << 18;

/// # Safety
///
/// * `Attributes` has the layout that the kernel expects for this command, without unset padding.
/// * The memory that it points to lives until the call returns, and may be written where the command writes.
unsafe fn bpf<Attributes>(command: libc::c_long, attributes: &mut Attributes) -> io::Result<libc::c_long> {
    // SAFETY: the pointer refers to a live structure of the given size; the caller guarantees the rest.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attributes), size_of::<Attributes>())
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// As [`bpf`], for a command that returns a descriptor.
///
/// # Safety
///
/// As for [`bpf`].
unsafe fn bpf_descriptor<Attributes>(
    command: libc::c_long,
    attributes: &mut Attributes,
) -> io::Result<OwnedFd> {
    // SAFETY: guaranteed by the caller.
    let result = unsafe { bpf(command, attributes) }?;
    let number = i32::try_from(result).map_err(|_| io::ErrorKind::InvalidData)?;
    // SAFETY: these commands return a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// The last lines of a log, without the verifier's statistics.
fn last_lines(log: &[u8]) -> String {
    let text = log.split(|byte| *byte == 0).next().unwrap_or_default();
    let text = String::from_utf8_lossy(text);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with("processed ") && !line.starts_with("verification time"))
        .collect();
    lines.get(lines.len().saturating_sub(3)..).unwrap_or_default().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_file_is_read_completely() {
        let folder = tallymon_testkit::Scratch::new();
        for length in [0_usize, 1, 4_095, 4_096, 300_001] {
            let path = folder.join("file");
            let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            std::fs::write(&path, &bytes).unwrap();
            assert!(Whole::read(path.to_str().unwrap()).unwrap().bytes() == bytes, "{length}");
        }
        // The kernel reports a size of 0 for this file.
        assert_eq!(Whole::read("/proc/version").unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(Whole::read("/proc/no such file").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(Whole::read("/proc").is_err());
    }

    #[test]
    fn the_reason_is_in_the_last_lines_of_a_log() {
        let log =
            b"0: R1=ctx\n1: (b7) r0 = 0\n2: call\nkernel function x is unknown\nprocessed 3 insns\n\0\0";
        assert_eq!(last_lines(log), "1: (b7) r0 = 0; 2: call; kernel function x is unknown");
        assert_eq!(last_lines(&[]), "");
    }
}
