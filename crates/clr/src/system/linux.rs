//! What the library needs of Linux.
//!
//! Unsafe code is here to call the C library: to map memory, to allocate the blocks of a file, to read a
//! clock.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::ptr::{NonNull, null_mut};

/// The most open calls of a thread that are recorded; the stack of a thread ends earlier, unless its methods
/// are tiny. Frames that are never reached take no memory.
pub(crate) const MAX_DEPTH: usize = 1 << 17;

/// Creates a file that only its owner may read.
pub(crate) fn create_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// Whether a file is on a file system in memory.
pub(crate) fn is_in_memory(file: &File) -> io::Result<bool> {
    // SAFETY: zeros are such a record.
    let mut system: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open, and the record is live and writable.
    if unsafe { libc::fstatfs(file.as_raw_fd(), &raw mut system) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // Each C library has another type for it.
    Ok(i128::from(system.f_type) == i128::from(libc::TMPFS_MAGIC))
}

/// Allocates a part of a file on the disk.
pub(crate) fn room(file: &File, start: usize, bytes: usize) -> io::Result<()> {
    let start = libc::off_t::try_from(start).map_err(io::Error::other)?;
    let bytes = libc::off_t::try_from(bytes).map_err(io::Error::other)?;
    // SAFETY: the descriptor is open for writing as long as the file lives, and the call touches no
    // memory of ours.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), start, bytes) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Memory that is not counted before it is touched; miri does not know it.
const NO_RESERVE: libc::c_int = if cfg!(miri) { 0 } else { libc::MAP_NORESERVE };

/// Maps `bytes` bytes of a file, or zeroed memory that is allocated when it is touched.
pub(crate) fn map(bytes: usize, file: Option<&File>) -> io::Result<NonNull<u8>> {
    let flags = match file {
        Some(_) => libc::MAP_SHARED,
        None => libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | NO_RESERVE,
    };
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let descriptor = file.map_or(-1, AsRawFd::as_raw_fd);
    // SAFETY: the address is left to the kernel, so no memory in use is replaced.
    let start = unsafe { libc::mmap(null_mut(), bytes, protection, flags, descriptor, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    if file.is_some() {
        // Otherwise the first touch of each region reads zeros ahead, megabytes of them on some disks. It is
        // advice: a kernel that does not take it is slower at the start. SAFETY: the range is the new
        // mapping, whose contents the advice does not change.
        unsafe { libc::madvise(start, bytes, libc::MADV_RANDOM) };
    }
    let start: NonNull<u8> =
        NonNull::new(start.cast()).ok_or_else(|| io::Error::other("the mapping begins at address 0"))?;
    if file.is_some() {
        // Somebody may cut the file; the program must not end by that. SAFETY: the range is the new mapping,
        // which is never unmapped; it is used as records of atomics, of which any bytes are valid.
        let protected = unsafe { tallymon_sigbus::protect(start, bytes) };
        // Without the protection everything works as long as nobody cuts the file.
        std::mem::forget(protected);
    }
    Ok(start)
}

/// Unmaps memory.
///
/// # Safety
///
/// It is all that one call of [`map`] without a file returned, and nobody uses it any more.
pub(crate) unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
    // SAFETY: as the caller says.
    unsafe { libc::munmap(start.as_ptr().cast(), bytes) };
}

/// The kernel's id of this thread.
pub(crate) fn thread_id() -> u32 {
    // SAFETY: the call has no arguments and touches no memory.
    let id = unsafe { libc::gettid() };
    u32::try_from(id).unwrap_or(0)
}

/// Signals for what a thread did itself. The kernel ends a program at once whose thread blocks the one that
/// it causes, although a handler would help: that of a file that somebody has cut.
const OWN_FAULTS: [libc::c_int; 5] = [libc::SIGBUS, libc::SIGSEGV, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP];

/// Runs `f` with all signals blocked but those for its own faults, so that a thread that it starts never
/// receives a signal for the program.
pub(crate) fn without_signals<T>(f: impl FnOnce() -> T) -> T {
    // SAFETY: zeros are a signal set.
    let mut all: libc::sigset_t = unsafe { std::mem::zeroed() };
    let mut before = all;
    // SAFETY: it leads to a live set.
    unsafe { libc::sigfillset(&raw mut all) };
    for signal in OWN_FAULTS {
        // SAFETY: it leads to a live set.
        unsafe { libc::sigdelset(&raw mut all, signal) };
    }
    // SAFETY: both lead to live sets.
    let blocked = unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before) } == 0;
    let result = f();
    if blocked {
        // SAFETY: it leads to the set that was stored above.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, null_mut()) };
    }
    result
}

/// Has `f` called in each process that this one forks, before anything else runs there.
///
/// # Errors
///
/// When there is no memory for it.
pub(crate) fn call_in_forks(f: extern "C" fn()) -> io::Result<()> {
    // SAFETY: the function is a safe one, takes no argument, and stays loaded, as the runtime never unloads a
    // profiler with hooks.
    match unsafe { libc::pthread_atfork(None, None, Some(f)) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// The monotonic clock in nanoseconds.
pub(crate) fn nanoseconds() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live, writable timespec, and the call writes nothing else.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    if result != 0 {
        // Every kernel that runs .NET has this clock; without it all times are 0 and the counts still right.
        return 0;
    }
    u64::try_from(time.tv_sec)
        .unwrap_or(0)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(u64::try_from(time.tv_nsec).unwrap_or(0))
}

/// Whether the counter of the processor is steady: the processor says so, and the kernel trusts it as its
/// clock.
pub(crate) fn counter_is_steady() -> bool {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let source = read("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    match source.trim() {
        "tsc" => says_steady(&read("/proc/cpuinfo")),
        // The counter of 64-bit ARM is steady by definition.
        "arch_sys_counter" => true,
        _ => false,
    }
}

/// Whether the first processor of `/proc/cpuinfo` has a counter of constant rate that never stops.
fn says_steady(cpuinfo: &str) -> bool {
    let Some(flags) = cpuinfo.lines().find_map(|line| line.strip_prefix("flags")) else { return false };
    let has = |flag| flags.split_whitespace().any(|word| word == flag);
    has("constant_tsc") && has("nonstop_tsc")
}

/// The command line of this process.
pub(crate) fn command_line() -> String {
    let command = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    String::from_utf8_lossy(&command).trim_end_matches('\0').replace('\0', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_whole_words_of_the_flags_line() {
        assert!(says_steady("processor\t: 0\nflags\t\t: fpu constant_tsc nonstop_tsc\n"));
        assert!(!says_steady("flags\t\t: fpu constant_tsc nonstop_tsc_s3\n"));
        assert!(!says_steady("bugs\t\t: constant_tsc nonstop_tsc\n"));
        assert!(!says_steady(""));
    }
}
