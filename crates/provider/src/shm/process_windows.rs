//! Whether the process that wrote a file still exists, and which user it belongs to.
//!
//! A user may not open every process. But a writer keeps its file open, and Windows tells whether anybody has
//! a file open for writing.
#![allow(unsafe_code, reason = "handles of processes")]

use std::fs::File;
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::Path;
use std::time::Duration;

use windows_sys::Win32::Foundation::{
    ERROR_INVALID_PARAMETER, ERROR_SHARING_VIOLATION, FILETIME, WAIT_OBJECT_0,
};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_OPEN_REPARSE_POINT, FILE_SHARE_DELETE, FILE_SHARE_READ,
};
use windows_sys::Win32::System::Performance::{QueryPerformanceCounter, QueryPerformanceFrequency};
use windows_sys::Win32::System::Threading::{
    GetCurrentThread, GetProcessTimes, GetThreadTimes, OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION,
    PROCESS_SYNCHRONIZE, WaitForSingleObject,
};

use super::system::user_number;
use crate::trust::security::user_of;

/// A process that is watched for its end.
#[derive(Debug)]
pub(crate) struct Watch(OwnedHandle);

impl Watch {
    fn has_ended(&self) -> bool {
        // SAFETY: the handle is one of a process, opened for waiting.
        unsafe { WaitForSingleObject(self.0.as_raw_handle(), 0) == WAIT_OBJECT_0 }
    }

    /// When it was created, in units of 100 ns since 1601.
    fn start_time(&self) -> Option<u64> {
        let zero = FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 };
        let [mut created, mut ended, mut kernel, mut user] = [zero; 4];
        // SAFETY: the handle is one of a process, and each time has a place.
        let known = unsafe {
            GetProcessTimes(
                self.0.as_raw_handle(),
                &raw mut created,
                &raw mut ended,
                &raw mut kernel,
                &raw mut user,
            )
        };
        (known != 0).then(|| units(created))
    }
}

/// A time as one number.
fn units(time: FILETIME) -> u64 {
    u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime)
}

/// A process that may be opened; `Err(true)` when there is none, `Err(false)` when it may not be opened.
fn open(pid: u32) -> Result<Watch, bool> {
    let rights = PROCESS_QUERY_LIMITED_INFORMATION | PROCESS_SYNCHRONIZE;
    // SAFETY: any number may be given; a handle is only returned for a process.
    let handle = unsafe { OpenProcess(rights, 0, pid) };
    if handle.is_null() {
        let error = io::Error::last_os_error().raw_os_error();
        return Err(error == Some(ERROR_INVALID_PARAMETER.cast_signed()));
    }
    // SAFETY: it is a new handle that nobody else closes.
    Ok(Watch(unsafe { OwnedHandle::from_raw_handle(handle) }))
}

/// When a process was created, in units of 100 ns since 1601: this distinguishes it from a later process with
/// the same id. `None` when there is no such process, or it may not be asked.
pub(crate) fn start_time(pid: u32) -> Option<u64> {
    open(pid).ok().filter(|process| !process.has_ended())?.start_time()
}

/// Whether the process that wrote a file at its start time still runs.
pub(crate) fn is_running(pid: u32, start: u64, file: &Path) -> bool {
    match open(pid) {
        Ok(process) => !process.has_ended() && process.start_time() == Some(start),
        Err(true) => false,
        Err(false) => is_written(file),
    }
}

/// Whether nobody writes a file any more that names a process.
pub(crate) fn is_abandoned(_pid: u32, file: &Path) -> bool {
    !is_written(file)
}

/// Whether anybody has a file open for writing.
fn is_written(file: &Path) -> bool {
    // Opened like this, a file tolerates no writer.
    let mut options = File::options();
    options.read(true).share_mode(FILE_SHARE_READ | FILE_SHARE_DELETE);
    let opened = options.custom_flags(FILE_FLAG_OPEN_REPARSE_POINT).open(file);
    opened.is_err_and(|error| error.raw_os_error() == Some(ERROR_SHARING_VIOLATION.cast_signed()))
}

/// Whether a user is the user of a process. A process that may not be asked is believed to be whose it says:
/// its file is shown as that of the file's owner in any case.
pub(crate) fn belongs_to(pid: u32, user: u32) -> bool {
    let Ok(process) = open(pid) else { return true };
    user_of(&process.0).is_none_or(|sid| user_number(&sid) == user)
}

/// A handle that tells when a process ends; `None` when there is no such process, or it may not be opened.
pub(crate) fn watch(pid: u32) -> Option<Watch> {
    open(pid).ok()
}

/// Tells whether any of many watched processes has ended. Here each of them is asked.
#[derive(Debug)]
pub(crate) enum Ends {
    /// Nobody is watched.
    Nobody,
    /// Somebody is.
    Unknown,
}

impl Ends {
    /// Watches one more process.
    pub(crate) fn add(&mut self, _: &Watch) {
        *self = Ends::Unknown;
    }

    /// Whether one of them may have ended.
    pub(crate) fn any(&self) -> bool {
        matches!(self, Ends::Unknown)
    }
}

/// The performance clock in nanoseconds.
pub(crate) fn perf_nanoseconds() -> u64 {
    perf_time().saturating_mul(100)
}

/// Which of the watched processes have ended.
#[expect(clippy::unnecessary_wraps, reason = "other systems may fail to answer")]
pub(crate) fn ended(watched: &[&Watch]) -> Option<Vec<bool>> {
    Some(watched.iter().map(|process| process.has_ended()).collect())
}

/// Now, in units of 100 ns since the machine started, sleep included: the performance clock.
pub fn perf_time() -> u64 {
    let (mut ticks, mut frequency) = (0i64, 0i64);
    // SAFETY: both numbers have a place.
    unsafe { QueryPerformanceCounter(&raw mut ticks) };
    // SAFETY: as above.
    unsafe { QueryPerformanceFrequency(&raw mut frequency) };
    let units = i128::from(ticks).saturating_mul(10_000_000).checked_div(i128::from(frequency));
    units.and_then(|units| u64::try_from(units).ok()).unwrap_or(0)
}

/// Processor time of this thread, in steps of about 16 ms: a thread that waits for a processor has not
/// worked.
pub(crate) fn thread_time() -> Duration {
    let zero = FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 };
    let [mut created, mut ended, mut kernel, mut user] = [zero; 4];
    // SAFETY: the handle means the calling thread, and each time has a place.
    unsafe {
        let thread = GetCurrentThread();
        GetThreadTimes(thread, &raw mut created, &raw mut ended, &raw mut kernel, &raw mut user)
    };
    Duration::from_nanos(units(kernel).saturating_add(units(user)).saturating_mul(100))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shm::system::own_user;

    #[test]
    fn this_process_exists_and_is_ours() {
        let pid = std::process::id();
        assert!(start_time(pid).is_some_and(|time| time > 0));
        assert!(belongs_to(pid, own_user()) && !belongs_to(pid, own_user().wrapping_add(1)));
        assert!(watch(pid).is_some_and(|watch| !watch.has_ended()));
        assert_eq!(start_time(u32::MAX), None);
        assert!(watch(u32::MAX).is_none());
    }

    #[test]
    fn ended_process_is_gone() {
        let mut child = std::process::Command::new("cmd")
            .args(["/c", "pause"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let start = start_time(child.id()).unwrap();
        let file = std::env::current_exe().unwrap();
        assert!(is_running(child.id(), start, &file) && !is_running(child.id(), start + 1, &file));
        let watched = watch(child.id()).unwrap();
        assert_eq!(ended(&[&watched]), Some(vec![false]));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(ended(&[&watched]), Some(vec![true]));
        assert_eq!(start_time(child.id()), None);
        assert!(!is_running(child.id(), start, &file));
    }

    #[test]
    fn writer_of_a_file_is_seen() {
        let path = std::env::temp_dir().join(format!("tallymon-written-{}", std::process::id()));
        let file = File::create(&path).unwrap();
        assert!(is_written(&path));
        let reader = File::open(&path).unwrap();
        drop(file);
        assert!(!is_written(&path));
        drop(reader);
        std::fs::remove_file(&path).unwrap();
        assert!(!is_written(&path));
    }

    #[test]
    fn clock_goes_on() {
        let first = perf_time();
        assert!(first > 0 && perf_time() >= first);
    }
}
