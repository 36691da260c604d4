//! A provider library in this process: its functions in NT's form, and the buffer that they write to.
//!
//! The only unsafe file of the loader. It calls functions of a library, maps memory with guards around it for
//! them to write to, and closes descriptors without an owner. It cannot check what a library does; that is
//! why a library runs in a process of its own.
#![allow(unsafe_code, reason = "foreign functions, mmap and descriptors without owner")]

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

use super::check::{ERROR_MORE_DATA, Guards, Returned};
use super::protocol::{Load, Loaded, Stage};
use super::threads::{self, DllMain};

/// `ERROR_MOD_NOT_FOUND`: the library does not exist, or cannot be loaded.
const ERROR_MOD_NOT_FOUND: u32 = 126;
/// `ERROR_PROC_NOT_FOUND`: the library has no such function.
const ERROR_PROC_NOT_FOUND: u32 = 127;

/// `ERROR_DLL_INIT_FAILED`: `DllMain` returned `FALSE`.
const ERROR_DLL_INIT_FAILED: u32 = 1114;

type Open = unsafe extern "system" fn(*mut u16) -> u32;
type Collect = unsafe extern "system" fn(*mut u16, *mut *mut c_void, *mut u32, *mut u32) -> u32;
type Tell = unsafe extern "system" fn(*const u16, u32, u32);
type Close = unsafe extern "system" fn() -> u32;

/// Objects for a library to change; empty for most libraries.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Others<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) count: u32,
}

/// A loaded library. Dropping it unloads it without calling Close.
#[derive(Debug)]
pub(crate) struct Library {
    open: Open,
    collect: Collect,
    close: Close,
    /// Declared after the functions, which must not outlive it.
    library: Attached,
}

/// A library whose `DllMain` knows that it is loaded. Dropping it tells `DllMain` that it is unloaded, and
/// unloads it.
#[derive(Debug)]
struct Attached {
    main: Option<DllMain>,
    library: libloading::Library,
}

impl Attached {
    /// Names of `DllMain`: as in C, and as C++ has it where it is not declared `extern "C"`, with an instance
    /// handle and with a plain pointer.
    const NAMES: [&'static [u8]; 3] = [b"DllMain", b"_Z7DllMainP11HINSTANCE__jPv", b"_Z7DllMainPvjS_"];

    /// Calls `DllMain`, if the library has one, as NT does when a process loads it.
    fn new(library: libloading::Library) -> Result<Attached, Loaded> {
        let find = |name: &&[u8]| {
            // SAFETY: a function of one of these names has this form.
            unsafe { library.get::<DllMain>(name) }.ok().map(|function| *function)
        };
        let main = Attached::NAMES.iter().find_map(find);
        let attached = Attached { main, library };
        if !main.is_none_or(threads::attach) {
            // As on NT, it is told that it is unloaded, by dropping it.
            let detail = "its DllMain returned FALSE for DLL_PROCESS_ATTACH".to_string();
            let (stage, error) = (Stage::Library, ERROR_DLL_INIT_FAILED);
            return Err(Loaded { stage, error, detail, ..Loaded::default() });
        }
        Ok(attached)
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        if let Some(main) = self.main {
            threads::detach(main);
        }
    }
}

impl Library {
    /// Loads a library and finds its functions. None of them is called.
    pub(crate) fn load(load: &Load) -> Result<Library, Loaded> {
        let failed = |stage, error, detail: libloading::Error| {
            // The loader's own words are in the source of the error.
            let detail =
                std::error::Error::source(&detail).map_or_else(|| detail.to_string(), ToString::to_string);
            Loaded { stage, error, detail, ..Loaded::default() }
        };
        if load.library.contains('/') && !load.library.starts_with('/') {
            // It would be another file for every folder that a reader is started in.
            let detail = "a path must begin with a slash; a name without slashes is looked for by the system"
                .to_string();
            return Err(Loaded {
                stage: Stage::Library,
                error: ERROR_MOD_NOT_FOUND,
                detail,
                ..Loaded::default()
            });
        }
        // SAFETY: initialisers of the library run; the caller chose to trust it with this process.
        let library = unsafe { libloading::Library::new(&load.library) }
            .map_err(|error| failed(Stage::Library, ERROR_MOD_NOT_FOUND, error))?;
        let library = Attached::new(library)?;
        // SAFETY: the registration says that the function has this form.
        let open = unsafe { library.library.get::<Open>(load.open.as_bytes()) }
            .map(|function| *function)
            .map_err(|error| failed(Stage::NoOpen, ERROR_PROC_NOT_FOUND, error))?;
        // SAFETY: as above.
        let collect = unsafe { library.library.get::<Collect>(load.collect.as_bytes()) }
            .map(|function| *function)
            .map_err(|error| failed(Stage::NoCollect, ERROR_PROC_NOT_FOUND, error))?;
        // SAFETY: as above.
        let close = unsafe { library.library.get::<Close>(load.close.as_bytes()) }
            .map(|function| *function)
            .map_err(|error| failed(Stage::NoClose, ERROR_PROC_NOT_FOUND, error))?;
        Ok(Library { open, collect, close, library })
    }

    /// Calls Open with a text that has its terminators, or with NULL.
    pub(crate) fn open(&self, context: Option<&[u16]>) -> u32 {
        // A copy, because the parameter is not constant.
        let mut context = context.map(<[u16]>::to_vec);
        let pointer = context.as_mut().map_or(std::ptr::null_mut(), Vec::as_mut_ptr);
        // SAFETY: the function is of a library that is loaded, and the text lives until it returns.
        unsafe { (self.open)(pointer) }
    }

    /// Calls the function that passes a library the name of its service, without terminator, and its indexes.
    /// Does nothing when the library has no such function. Its name is the name of Open followed by
    /// `Indexes`.
    pub(crate) fn tell(&self, open: &str, service: &[u16], first_counter: u32, first_help: u32) {
        let service: Vec<u16> = service.iter().copied().chain(std::iter::once(0)).collect();
        // SAFETY: a function of this name has this form, as the documentation of libraries says.
        let tell = unsafe { self.library.library.get::<Tell>(format!("{open}Indexes").as_bytes()) };
        if let Ok(tell) = tell {
            // SAFETY: the function is of a library that is loaded; the text ends with a zero and lives until
            // it returns.
            unsafe { tell(service.as_ptr(), first_counter, first_help) };
        }
    }

    /// Calls Collect, and again with a larger buffer as long as it needs one. `query` has no terminator. Also
    /// returns the number of calls.
    ///
    /// A library that wraps other objects finds them at the start of the buffer, and their number in the
    /// variable for its own.
    pub(crate) fn collect(
        &self,
        query: &[u16],
        others: Others<'_>,
        buffer: &mut Buffer,
    ) -> io::Result<(Returned, u32)> {
        let mut calls = 0u32;
        while usize::try_from(buffer.capacity()).unwrap_or(usize::MAX) < others.bytes.len() {
            if !buffer.grow()? {
                return Err(io::Error::other("what it wraps is longer than its buffer may become"));
            }
        }
        loop {
            calls = calls.saturating_add(1);
            let returned = self.collect_once(query, others, buffer);
            let again = returned.status == ERROR_MORE_DATA && returned.guards == Guards::default();
            if !again || !buffer.grow()? {
                return Ok((returned, calls));
            }
        }
    }

    fn collect_once(&self, query: &[u16], others: Others<'_>, buffer: &mut Buffer) -> Returned {
        let mut query: Vec<u16> = query.iter().copied().chain(std::iter::once(0)).collect();
        buffer.prepare();
        buffer.put(others.bytes);
        let start: *mut c_void = buffer.data().cast();
        let capacity = buffer.capacity();
        let (mut pointer, mut bytes, mut objects) = (start, capacity, others.count);
        // SAFETY: the function is of a library that is loaded; the text ends with a zero; the three variables
        // and the buffer of `bytes` bytes behind the pointer live until it returns.
        let status =
            unsafe { (self.collect)(query.as_mut_ptr(), &raw mut pointer, &raw mut bytes, &raw mut objects) };
        let moved = (pointer.addr() as i64).wrapping_sub(start.addr() as i64);
        Returned { status, moved, bytes, objects, capacity, guards: buffer.guards() }
    }

    /// Calls Close.
    pub(crate) fn close(&self) -> u32 {
        // SAFETY: the function is of a library that is loaded.
        unsafe { (self.close)() }
    }
}

/// Length of the guard area on each side of the buffer, as on NT.
pub(crate) const GUARD: usize = 1024;
/// Lengths of files and of untouchable pages: a multiple of every page size.
const STEP: usize = 64 << 10;
/// Length of the first file.
const FIRST: usize = STEP;
/// The longest file; an answer is at most 2 KB shorter.
pub(crate) const LONGEST: usize = 64 << 20;
const PATTERN: u8 = 0xa5;

/// Memory for Collect to write to. A file holds it, so that another process can read it.
///
/// ```text
/// pages that cannot be touched | guard | buffer | guard | pages that cannot be touched
///                               '------- the file ------'
/// ```
#[derive(Debug)]
pub(crate) struct Buffer {
    file: File,
    /// Start of the mapping, in front of the first pages.
    base: NonNull<u8>,
    /// Length of the file.
    length: usize,
}

// SAFETY: the mapping is this buffer's alone, and no thread has anything to do with where it is.
unsafe impl Send for Buffer {}

impl Buffer {
    /// A buffer in a file, which gets the length that the buffer needs.
    pub(crate) fn new(file: File) -> io::Result<Buffer> {
        let base = map(&file, FIRST)?;
        Ok(Buffer { file, base, length: FIRST })
    }

    /// How many bytes it holds.
    pub(crate) fn capacity(&self) -> u32 {
        // At most `LONGEST`, which fits.
        u32::try_from(self.length.saturating_sub(2 * GUARD)).unwrap_or(u32::MAX)
    }

    /// The bytes that the reader wrote to the file at the start of the buffer; they may be longer than the
    /// buffer.
    pub(crate) fn read(&self, bytes: u32) -> io::Result<Vec<u8>> {
        let mut data = Vec::new();
        let file = &self.file;
        let mut part = vec![0u8; FIRST];
        while data.len() < usize::try_from(bytes).unwrap_or(usize::MAX) {
            let at = (GUARD as u64).saturating_add(data.len() as u64);
            let wanted = usize::try_from(bytes).unwrap_or(usize::MAX).saturating_sub(data.len()).min(FIRST);
            let read = file.read_at(part.get_mut(..wanted).unwrap_or_default(), at)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            data.extend_from_slice(part.get(..read).unwrap_or_default());
        }
        Ok(data)
    }

    /// Writes its first bytes, as many as fit.
    fn put(&mut self, bytes: &[u8]) {
        let length = bytes.len().min(usize::try_from(self.capacity()).unwrap_or_default());
        // SAFETY: the buffer has so many bytes, and `bytes`, which nobody else may write to, is elsewhere.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.data(), length) };
    }

    /// The first bytes of the buffer, as many as it has.
    pub(crate) fn copy(&self, bytes: u32) -> Vec<u8> {
        let bytes = usize::try_from(bytes.min(self.capacity())).unwrap_or_default();
        let mut copy = Vec::with_capacity(bytes);
        // SAFETY: `bytes` is at most the length of the buffer and the capacity of the vector.
        unsafe { std::ptr::copy_nonoverlapping(self.data(), copy.as_mut_ptr(), bytes) };
        // SAFETY: so many were just written.
        unsafe { copy.set_len(bytes) };
        copy
    }

    /// Doubles its size; `false` when it may not grow.
    fn grow(&mut self) -> io::Result<bool> {
        let length = self.length.saturating_mul(2);
        if length > LONGEST {
            return Ok(false);
        }
        let base = map(&self.file, length)?;
        self.unmap();
        (self.base, self.length) = (base, length);
        Ok(true)
    }

    /// Fills the guard areas, and the first bytes, so that an old answer is not taken for a new one.
    fn prepare(&mut self) {
        for area in [self.guard_before(), self.guard_behind()] {
            // SAFETY: both areas are inside of the mapping and GUARD bytes long.
            unsafe { std::ptr::write_bytes(area, PATTERN, GUARD) };
        }
        // SAFETY: the buffer is longer than this.
        unsafe { std::ptr::write_bytes(self.data(), 0, 64) };
    }

    fn guards(&self) -> Guards {
        let intact = |area: *mut u8| {
            let mut copy = [0u8; GUARD];
            // SAFETY: the area is inside of the mapping and GUARD bytes long; `copy` is as long and
            // elsewhere.
            unsafe { std::ptr::copy_nonoverlapping(area, copy.as_mut_ptr(), GUARD) };
            copy == [PATTERN; GUARD]
        };
        Guards { before: intact(self.guard_before()), behind: intact(self.guard_behind()) }
    }

    fn guard_before(&self) -> *mut u8 {
        // SAFETY: the mapping begins with STEP bytes, and the file follows.
        unsafe { self.base.as_ptr().add(STEP) }
    }

    fn data(&self) -> *mut u8 {
        // SAFETY: the file is longer than a guard area.
        unsafe { self.guard_before().add(GUARD) }
    }

    fn guard_behind(&self) -> *mut u8 {
        // SAFETY: the file is `length` bytes long, at least two guard areas.
        unsafe { self.guard_before().add(self.length.saturating_sub(GUARD)) }
    }

    fn unmap(&mut self) {
        // SAFETY: this is exactly what was mapped, and nobody keeps an address in it but a library, whose
        // process this is. An error would mean that it was not mapped, and could not be helped.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.length.saturating_add(2 * STEP)) };
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.unmap();
    }
}

/// Maps a file of a given length between two untouchable pages.
fn map(file: &File, length: usize) -> io::Result<NonNull<u8>> {
    file.set_len(length as u64)?;
    let whole = length.saturating_add(2 * STEP);
    // SAFETY: the kernel chooses the address, so no memory that somebody has is mapped over.
    let base = unsafe { mmap_anonymous(std::ptr::null_mut(), whole, ProtFlags::empty(), MapFlags::PRIVATE) }?;
    // SAFETY: the mapping is longer than STEP.
    let at = unsafe { base.cast::<u8>().add(STEP) };
    let flags = MapFlags::SHARED | MapFlags::FIXED;
    // SAFETY: the range is inside of what was just mapped for this.
    let mapped = unsafe { mmap(at.cast(), length, ProtFlags::READ | ProtFlags::WRITE, flags, file, 0) };
    match (mapped, NonNull::new(base.cast::<u8>())) {
        (Ok(_), Some(base)) => Ok(base),
        (failed, _) => {
            // SAFETY: this is exactly what was mapped, and nobody knows the address. There is nothing to be
            // done if it fails.
            let _ = unsafe { munmap(base, whole) };
            Err(failed.err().unwrap_or(rustix::io::Errno::NOMEM).into())
        }
    }
}

/// Closes every descriptor except 0, 1, 2 and those to keep: a child process inherits what the parent's other
/// libraries forgot to close. To be called before anything else opens files.
pub(crate) fn close_all_but(keep: &[BorrowedFd<'_>]) -> io::Result<()> {
    let entries = std::fs::read_dir("/proc/self/fd")?;
    let numbers: Vec<RawFd> =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    // The list's own descriptor is among them, and closed by now.
    let is_open = |number: RawFd| std::fs::symlink_metadata(format!("/proc/self/fd/{number}")).is_ok();
    for number in numbers.into_iter().filter(|number| is_open(*number)) {
        if number > 2 && !keep.iter().any(|kept| kept.as_raw_fd() == number) {
            // SAFETY: this process has just started or been forked: nothing in it uses a descriptor that is
            // not kept, or closes it again.
            unsafe { rustix::io::close(number) };
        }
    }
    Ok(())
}
