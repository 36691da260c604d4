//! The handler, and the table of mappings that it looks at.
//!
//! Unsafe because it is a signal handler that maps memory. It touches atomics and system calls only, so that
//! it may interrupt anything; it does not allocate and takes no lock. Entries of the table are never freed,
//! but used again.
#![allow(unsafe_code, reason = "a signal handler")]

use std::io;
use std::ptr::{NonNull, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use libc::{c_int, c_void, sigaction, siginfo_t};

/// A mapping that is protected, or a free entry.
#[derive(Debug)]
struct Entry {
    /// Its first byte; 0 when the entry is free, 1 while it is being filled.
    start: AtomicUsize,
    length: AtomicUsize,
    cut: AtomicBool,
    next: *const Entry,
}

// SAFETY: `next` is set before the entry is shared and never changes, and it points to an entry that lives
// for ever; all else is atomic.
unsafe impl Sync for Entry {}

/// The newest entry. Entries are only added, in front of the others.
static ENTRIES: AtomicPtr<Entry> = AtomicPtr::new(null_mut());

/// An entry that nobody uses.
const FREE: usize = 0;
/// An entry that is being filled. No mapping begins at this address.
const TAKEN: usize = 1;

/// What was there before the handler, and the size of a page; `Err` is the number of the system's error.
static BEFORE: OnceLock<Result<(sigaction, usize), i32>> = OnceLock::new();

/// A mapping that survives a cut of its file, until this is dropped.
#[derive(Debug)]
pub struct Protected {
    entry: &'static Entry,
}

impl Protected {
    /// Whether a part of the file was gone: stores do not reach it any more.
    pub fn is_cut(&self) -> bool {
        self.entry.cut.load(Ordering::Relaxed)
    }
}

impl Drop for Protected {
    fn drop(&mut self) {
        self.entry.start.store(FREE, Ordering::Release);
    }
}

/// Protects a mapping of a file.
///
/// # Errors
///
/// The handler cannot be installed.
///
/// # Safety
///
/// * The `length` bytes from `start` on, the beginning of a page, are a mapping for reading, or for reading and
///   writing, that stays until the returned value is dropped.
/// * Any bytes are valid in it: pages that are gone become zeros, at any time.
pub unsafe fn protect(start: NonNull<u8>, length: usize) -> io::Result<Protected> {
    install()?;
    let entry = free_entry().unwrap_or_else(new_entry);
    entry.cut.store(false, Ordering::Relaxed);
    entry.length.store(length, Ordering::Relaxed);
    // The handler reads the length after the start.
    entry.start.store(start.as_ptr().addr(), Ordering::Release);
    Ok(Protected { entry })
}

/// All entries.
fn entries() -> impl Iterator<Item = &'static Entry> {
    let mut next: *const Entry = ENTRIES.load(Ordering::Acquire);
    std::iter::from_fn(move || {
        // SAFETY: the pointer is null or that of an entry, which was complete when it was shared, and lives
        // for ever.
        let entry: &'static Entry = unsafe { next.as_ref() }?;
        next = entry.next;
        Some(entry)
    })
}

/// Takes an entry that was used before.
fn free_entry() -> Option<&'static Entry> {
    // Most entries are in use, and a look costs less than an exchange.
    let mut free = entries().filter(|entry| entry.start.load(Ordering::Relaxed) == FREE);
    free.find(|entry| entry.start.compare_exchange(FREE, TAKEN, Ordering::AcqRel, Ordering::Relaxed).is_ok())
}

/// Adds an entry to the table.
fn new_entry() -> &'static Entry {
    let entry = Box::leak(Box::new(Entry {
        start: AtomicUsize::new(TAKEN),
        length: AtomicUsize::new(0),
        cut: AtomicBool::new(false),
        next: null_mut(),
    }));
    let mut first = ENTRIES.load(Ordering::Acquire);
    loop {
        entry.next = first;
        let place: *mut Entry = entry;
        match ENTRIES.compare_exchange(first, place, Ordering::AcqRel, Ordering::Acquire) {
            // From here on it is only read.
            Ok(_) => return entry,
            Err(other) => first = other,
        }
    }
}

fn install() -> io::Result<()> {
    let installed = BEFORE.get_or_init(|| {
        // SAFETY: it only returns a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let page = usize::try_from(page).ok().filter(|page| page.is_power_of_two()).unwrap_or(4096);
        // SAFETY: zeros are such a record.
        let mut before: sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: the place is live and writable; nothing is installed.
        if unsafe { sigaction(libc::SIGBUS, std::ptr::null(), &raw mut before) } != 0 {
            return Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL));
        }
        Ok((before, page))
    });
    let (before, _) = installed.map_err(io::Error::from_raw_os_error)?;
    static INSTALLED: OnceLock<i32> = OnceLock::new();
    // What was before is known now, so that the handler may run as soon as it is installed.
    let error = *INSTALLED.get_or_init(|| {
        // The mask and the flags that the handler before expects hold for it too when it is called.
        let mut ours = before;
        ours.sa_sigaction = on_sigbus as *const () as usize;
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | (before.sa_flags & libc::SA_NODEFER);
        // SAFETY: the record is complete, and the handler does only what a handler may do.
        match unsafe { sigaction(libc::SIGBUS, &raw const ours, null_mut()) } {
            0 => 0,
            _ => io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL),
        }
    });
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

/// Puts a page of memory in the place of one that is gone, or calls the handler that was there before.
extern "C" fn on_sigbus(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let Some(Ok((before, page))) = BEFORE.get() else { return };
    // SAFETY: the system passes a record that lives as long as the handler runs.
    let Some(about) = (unsafe { info.as_ref() }) else { return };
    let code = about.si_code;
    // SAFETY: the record of this signal has an address; in one that a program sent it is any number.
    let address = unsafe { about.si_addr() }.addr();
    if code == libc::BUS_ADRERR && replace_page(address, *page) {
        return;
    }
    let handler = before.sa_sigaction;
    if handler == libc::SIG_IGN && code <= 0 {
        return;
    }
    if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
        // The program ends as it would have, with the same address in its core.
        // SAFETY: the record is one that the system returned.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
        // SAFETY: it sends the signal to this thread, which takes it when the handler returns.
        unsafe { libc::raise(signal) };
        return;
    }
    if before.sa_flags & libc::SA_SIGINFO != 0 {
        // SAFETY: it was installed as a handler with these arguments.
        let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
            unsafe { std::mem::transmute(handler) };
        handler(signal, info, context);
    } else {
        // SAFETY: it was installed as a handler with this argument.
        let handler: extern "C" fn(c_int) = unsafe { std::mem::transmute(handler) };
        handler(signal);
    }
}

/// Maps memory over the page of an address in a protected mapping; false if it is in none.
fn replace_page(address: usize, page: usize) -> bool {
    let holds = |entry: &&Entry| {
        let start = entry.start.load(Ordering::Acquire);
        start > TAKEN
            && address.checked_sub(start).is_some_and(|at| at < entry.length.load(Ordering::Relaxed))
    };
    let Some(entry) = entries().find(holds) else { return false };
    let first = address & !page.wrapping_sub(1);
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // Where this succeeds, it leaves the error number of the interrupted code alone.
    // SAFETY: the page belongs to a mapping whose owner allowed this, see `protect`, and was not there any
    // more.
    let mapped = unsafe { libc::mmap(first as *mut c_void, page, protection, flags, -1, 0) };
    entry.cut.store(true, Ordering::Relaxed);
    mapped != libc::MAP_FAILED
}
