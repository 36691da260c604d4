//! What the library needs of Windows.
//!
//! Unsafe code is here to call the system: to map memory, and to read a clock.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::io::AsRawHandle;
use std::path::Path;
use std::ptr::{NonNull, null};
use std::sync::OnceLock;

use windows_sys::Win32::Foundation::CloseHandle;
use windows_sys::Win32::System::Memory::{
    CreateFileMappingW, FILE_MAP_ALL_ACCESS, MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, MapViewOfFile,
    PAGE_READWRITE, VirtualAlloc, VirtualFree,
};
use windows_sys::Win32::System::Performance::{QueryPerformanceCounter, QueryPerformanceFrequency};
use windows_sys::Win32::System::Threading::GetCurrentThreadId;

/// The most open calls of a thread that are recorded. Stacks have 1.5 MB here, and all frames count as memory
/// in use.
pub(crate) const MAX_DEPTH: usize = 1 << 15;

/// Creates a file; who may read it is inherited from its folder.
pub(crate) fn create_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).open(path)
}

/// Not known, and of no use: the system allocates a file when it gets its length.
pub(crate) const fn is_in_memory(_file: &File) -> io::Result<bool> {
    Ok(false)
}

/// Nothing to do: all of the file was allocated when it got its length.
pub(crate) const fn room(_file: &File, _start: usize, _bytes: usize) -> io::Result<()> {
    Ok(())
}

/// Maps `bytes` bytes of a file, which nobody can cut as long as this process lives, or zeroed memory.
pub(crate) fn map(bytes: usize, file: Option<&File>) -> io::Result<NonNull<u8>> {
    let start = match file {
        Some(file) => map_file(bytes, file)?,
        // SAFETY: the address is left to the system, so no memory in use is replaced.
        None => unsafe { VirtualAlloc(null(), bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE) },
    };
    NonNull::new(start.cast()).ok_or_else(io::Error::last_os_error)
}

fn map_file(bytes: usize, file: &File) -> io::Result<*mut core::ffi::c_void> {
    // SAFETY: the handle is that of an open file with this length; there is no name and no access list.
    let mapping = unsafe { CreateFileMappingW(file.as_raw_handle(), null(), PAGE_READWRITE, 0, 0, null()) };
    if mapping.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the mapping is open, and the address is left to the system.
    let view = unsafe { MapViewOfFile(mapping, FILE_MAP_ALL_ACCESS, 0, 0, bytes) };
    let error = io::Error::last_os_error();
    // SAFETY: the handle is ours; the view keeps what it needs of it.
    unsafe { CloseHandle(mapping) };
    if view.Value.is_null() { Err(error) } else { Ok(view.Value) }
}

/// Frees memory.
///
/// # Safety
///
/// It is all that one call of [`map`] without a file returned, and nobody uses it any more.
pub(crate) unsafe fn unmap(start: NonNull<u8>, _bytes: usize) {
    // SAFETY: as the caller says.
    unsafe { VirtualFree(start.as_ptr().cast(), 0, MEM_RELEASE) };
}

/// The system's id of this thread.
pub(crate) fn thread_id() -> u32 {
    // SAFETY: the call has no arguments and touches no memory.
    unsafe { GetCurrentThreadId() }
}

/// Nothing to do: no process of Windows is forked.
pub(crate) const fn call_in_forks(_f: extern "C" fn()) -> io::Result<()> {
    Ok(())
}

/// Runs `f`; there are no signals here.
pub(crate) fn without_signals<T>(f: impl FnOnce() -> T) -> T {
    f()
}

/// The performance counter in nanoseconds.
pub(crate) fn nanoseconds() -> u64 {
    static FREQUENCY: OnceLock<u64> = OnceLock::new();
    let frequency = *FREQUENCY.get_or_init(|| {
        let mut frequency = 0i64;
        // SAFETY: the result has a place.
        unsafe { QueryPerformanceFrequency(&raw mut frequency) };
        frequency.cast_unsigned().max(1)
    });
    let mut ticks = 0i64;
    // SAFETY: the result has a place.
    unsafe { QueryPerformanceCounter(&raw mut ticks) };
    let whole = u128::from(ticks.cast_unsigned()).saturating_mul(1_000_000_000);
    whole.checked_div(u128::from(frequency)).and_then(|time| u64::try_from(time).ok()).unwrap_or(0)
}

/// Whether the counter of the processor is steady: the processor says that it has a constant rate and never
/// stops. The counter of 64-bit ARM has by definition.
pub(crate) fn counter_is_steady() -> bool {
    says_steady()
}

#[cfg(target_arch = "x86_64")]
fn says_steady() -> bool {
    use core::arch::x86_64::__cpuid;
    /// What a processor says about its power, and that the counter never stops.
    const POWER: u32 = 0x8000_0007;
    const INVARIANT: u32 = 1 << 8;
    #[allow(unused_unsafe, reason = "newer compilers take it for safe")]
    // SAFETY: every x86-64 processor has the instruction.
    let has = |leaf| unsafe { __cpuid(leaf) };
    has(0x8000_0000).eax >= POWER && has(POWER).edx & INVARIANT != 0
}

#[cfg(not(target_arch = "x86_64"))]
const fn says_steady() -> bool {
    true
}

/// The command line of this process.
pub(crate) fn command_line() -> String {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    words.collect::<Vec<_>>().join(" ")
}
