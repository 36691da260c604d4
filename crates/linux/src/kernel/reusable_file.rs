//! Files of `/proc` and `/sys` that are opened once and read again and again.
//!
//! Opening such a file costs more than half of a read (3 µs of 8 for a process, 9 to 45 µs below
//! `/proc/net`), so the descriptor stays open and each sample is one `pread` from offset 0 into a reused
//! buffer. An open descriptor of `/proc/PID/...` also pins the identity of the process: when the process has
//! exited the read fails, even if its id was given to another process since.
//!
//! This module caches no content and parses nothing.

use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// How the kernel produces a file, which decides how to read all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadMode {
    /// The first read produces the whole text (`/proc/stat`, `/proc/net/snmp`, `/proc/PID/*`, `/sys` values):
    /// a read that does not fill the buffer has reached the end, which saves a second system call.
    Whole,
    /// The text is produced record by record (`diskstats`, `mountinfo`, `vmstat`, `swaps`, `interrupts`,
    /// `softirqs`): one read returns at most about a page, so reading continues until a read returns nothing.
    Records,
    /// Only the first lines of such a file: as many as fit into so many bytes.
    Head(usize),
    /// A file below `/proc/sys`: the kernel allocates and clears as many bytes as are requested, and a second
    /// read at a later offset returns nothing. So the buffer has exactly this small size, and a text that
    /// fills it is read again from the start with twice the size.
    Sysctl(usize),
}

/// The largest text that is read, in bytes. A longer one is an error, so that a damaged or hostile file can
/// not take all memory.
pub(crate) const MAX_TEXT: usize = 64 << 20;

/// The initial size of a buffer, in bytes: two pages, enough for most files at once.
const FIRST_SIZE: usize = 8192;

/// A buffer shared by reads. It only grows, so after the first samples nothing is allocated.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
}

impl Buffer {
    /// An empty buffer; the first read allocates.
    pub(crate) fn new() -> Buffer {
        Buffer::default()
    }

    /// The first `size` bytes, allocated if necessary.
    fn at_least(&mut self, size: usize) -> &mut [u8] {
        if self.bytes.len() < size {
            self.bytes.resize(size, 0);
        }
        &mut self.bytes
    }
}

/// A file that is opened at its first read and then kept open.
#[derive(Debug)]
pub(crate) struct ReusableFile {
    path: PathBuf,
    shape: ReadMode,
    file: Option<OwnedFd>,
    /// Whether the path may be opened again after an error. Not for files of a process: the path could belong
    /// to another process by then.
    reopens: bool,
}

impl ReusableFile {
    /// A file that is opened at the first read, and opened again when reading the open descriptor fails.
    pub(crate) fn new(path: PathBuf, shape: ReadMode) -> ReusableFile {
        ReusableFile { path, shape, file: None, reopens: true }
    }

    /// A file of one process or thread, opened now and never again.
    ///
    /// `path` is relative to `folder` (an open `/proc`), for example `4711/stat`.
    ///
    /// # Errors
    ///
    /// It cannot be opened: the process has exited, or access is denied.
    pub(crate) fn pinned<Folder: AsFd>(folder: Folder, path: &Path) -> Result<ReusableFile, ReadError> {
        let file = rustix::fs::openat(folder, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|errno| ReadError::new(path, Step::Open, errno))?;
        Ok(ReusableFile {
            path: path.to_path_buf(),
            shape: ReadMode::Whole,
            file: Some(file),
            reopens: false,
        })
    }

    /// The path as it was given.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The current text.
    ///
    /// If reading the open descriptor fails, the path is opened and read once more, because a device or
    /// module may have gone and come back under the same name. A file without a value at present (EINVAL,
    /// such as the speed of an interface without a cable) stays open.
    ///
    /// # Errors
    ///
    /// The file cannot be opened or read, also the second time, or has more than [`MAX_TEXT`] bytes. The
    /// next call tries again, except for a file from [`ReusableFile::pinned`].
    pub(crate) fn read<'b>(&mut self, buffer: &'b mut Buffer) -> Result<&'b [u8], ReadError> {
        let was_open = self.file.is_some();
        let length = match self.read_once(buffer) {
            Ok(length) => length,
            Err(error) if was_open && self.reopens && error.errno != Errno::INVAL => {
                self.read_once(buffer)?
            }
            Err(error) => return Err(error),
        };
        Ok(buffer.bytes.get(..length).unwrap_or_default())
    }

    /// Whether the kernel signals that the file has changed since it was opened or last checked; never waits.
    ///
    /// Only few files signal changes: `/proc/self/mountinfo` and `/proc/swaps`, which saves reading them
    /// again. Also true when the file is not open, since its state is unknown then; false for files without
    /// signals.
    pub(crate) fn has_changed(&self) -> bool {
        let Some(file) = &self.file else { return true };
        let mut asked = [PollFd::new(file, PollFlags::PRI)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        match retry(|| rustix::event::poll(&mut asked, Some(&now))) {
            Ok(_) => {
                let changed = PollFlags::PRI | PollFlags::ERR | PollFlags::HUP;
                asked.iter().any(|asked| asked.revents().intersects(changed))
            }
            Err(_) => true,
        }
    }

    /// Opens the file if necessary and reads it; closes it after an error, unless the file only has no value.
    fn read_once(&mut self, buffer: &mut Buffer) -> Result<usize, ReadError> {
        let file = match self.file.take() {
            Some(file) => file,
            None if self.reopens => {
                rustix::fs::open(&self.path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
                    .map_err(|errno| ReadError::new(&self.path, Step::Open, errno))?
            }
            // The kernel itself reports an exited process with ESRCH.
            None => return Err(ReadError::new(&self.path, Step::Read, Errno::SRCH)),
        };
        let read = read_all(&file, self.shape, buffer);
        if read.is_ok() || (self.reopens && read == Err(Errno::INVAL)) {
            self.file = Some(file);
        }
        read.map_err(|errno| ReadError::new(&self.path, Step::Read, errno))
    }
}

/// Reads the whole text from offset 0 and returns its length.
fn read_all(file: &OwnedFd, shape: ReadMode, buffer: &mut Buffer) -> Result<usize, Errno> {
    match shape {
        ReadMode::Whole => read_on(file, buffer, true),
        ReadMode::Records => read_on(file, buffer, false),
        ReadMode::Head(size) => read_head(file, buffer, size),
        ReadMode::Sysctl(size) => read_again(file, buffer, size.max(1)),
    }
}

/// Reads until a read returns nothing, or (`short_is_end`) less than requested.
fn read_on(file: &OwnedFd, buffer: &mut Buffer, short_is_end: bool) -> Result<usize, Errno> {
    let mut length = 0_usize;
    loop {
        let wanted = length.saturating_add(1).max(FIRST_SIZE);
        if wanted > MAX_TEXT {
            return Err(Errno::FBIG);
        }
        let size = if length < buffer.bytes.len() { wanted } else { wanted.max(length.saturating_mul(2)) };
        let space = buffer.at_least(size.min(MAX_TEXT)).get_mut(length..).unwrap_or_default();
        let room = space.len();
        let offset = u64::try_from(length).unwrap_or(u64::MAX);
        let got = retry(|| rustix::io::pread(file, &mut *space, offset))?;
        length = length.saturating_add(got);
        if got == 0 || (short_is_end && got < room) {
            return Ok(length);
        }
    }
}

/// Reads at most `size` bytes from the start, and drops an incomplete last line.
fn read_head(file: &OwnedFd, buffer: &mut Buffer, size: usize) -> Result<usize, Errno> {
    let space = buffer.at_least(size).get_mut(..size).unwrap_or_default();
    let got = retry(|| rustix::io::pread(file, &mut *space, 0))?;
    let text = space.get(..got).unwrap_or_default();
    Ok(text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last.saturating_add(1)))
}

/// Reads from the start with a buffer of exactly `size` bytes, doubled while the text fills it.
fn read_again(file: &OwnedFd, buffer: &mut Buffer, size: usize) -> Result<usize, Errno> {
    let mut size = size;
    loop {
        if size > MAX_TEXT {
            return Err(Errno::FBIG);
        }
        let space = buffer.at_least(size).get_mut(..size).unwrap_or_default();
        let got = retry(|| rustix::io::pread(file, &mut *space, 0))?;
        if got < size {
            return Ok(got);
        }
        size = size.saturating_mul(2);
    }
}

/// Repeats a system call that was interrupted by a signal.
pub(crate) fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}

/// What failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Opening the file.
    Open,
    /// Reading or listing the open file.
    Read,
}

/// Why a kernel file could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    path: Box<Path>,
    step: Step,
    errno: Errno,
}

impl ReadError {
    pub(crate) fn new(path: &Path, step: Step, errno: Errno) -> ReadError {
        ReadError { path: Box::from(path), step, errno }
    }

    /// The file, as the path was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it failed at opening or at reading.
    pub fn step(&self) -> Step {
        self.step
    }

    /// The kernel's error number, for example 13 (EACCES).
    pub fn errno(&self) -> i32 {
        self.errno.raw_os_error()
    }

    /// Whether it does not exist (any more): no such file, device or process.
    pub fn is_gone(&self) -> bool {
        matches!(self.errno, Errno::NOENT | Errno::SRCH | Errno::NODEV | Errno::NXIO | Errno::NOTDIR)
    }

    /// Whether this user may not read it.
    pub fn is_denied(&self) -> bool {
        matches!(self.errno, Errno::ACCESS | Errno::PERM)
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = match self.step {
            Step::Open => "open",
            Step::Read => "read",
        };
        let path = self.path.display();
        if self.errno == Errno::FBIG {
            return write!(f, "cannot {step} {path}: at most {MAX_TEXT} bytes are read and there are more");
        }
        let reason = std::io::Error::from(self.errno);
        write!(f, "cannot {step} {path}: {reason}")
    }
}

impl std::error::Error for ReadError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("tallymon-kept-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_file_that_grows_is_read_completely() {
        let folder = scratch("larger");
        let path = folder.join("text");
        for shape in [ReadMode::Whole, ReadMode::Records, ReadMode::Sysctl(4)] {
            std::fs::write(&path, b"one").unwrap();
            let mut file = ReusableFile::new(path.clone(), shape);
            let mut buffer = Buffer::new();
            assert_eq!(file.read(&mut buffer).unwrap(), b"one");
            for size in [0, 3, 4, FIRST_SIZE - 1, FIRST_SIZE, FIRST_SIZE + 1, 5 * FIRST_SIZE, 7] {
                let text: Vec<u8> = (0..size).map(|at| b'a' + (at % 26) as u8).collect();
                std::fs::write(&path, &text).unwrap();
                assert_eq!(file.read(&mut buffer).unwrap(), text, "{shape:?} {size}");
            }
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_head_ends_with_a_whole_line() {
        let folder = scratch("front");
        let path = folder.join("text");
        let mut file = ReusableFile::new(path.clone(), ReadMode::Head(6));
        let mut buffer = Buffer::new();
        for (text, expected) in [
            ("", ""),
            ("one\n", "one\n"),
            ("one\ntwo\n", "one\n"),
            ("one\ntw", "one\n"),
            ("a\nbcd\ne\n", "a\nbcd\n"),
            ("three3\n", ""),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(file.read(&mut buffer).unwrap(), expected.as_bytes(), "{text:?}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
        let mut file = ReusableFile::new(PathBuf::from("/proc/vmstat"), ReadMode::Head(1000));
        let front = file.read(&mut buffer).unwrap();
        assert!((900..=1000).contains(&front.len()) && front.ends_with(b"\n"));
    }

    #[test]
    fn a_file_without_a_value_stays_open() {
        // The speed of a loopback interface.
        let path = Path::new("/sys/class/net/lo/speed");
        if !path.exists() {
            return tallymon_testkit::skip("there is no /sys/class/net/lo/speed");
        }
        let mut file = ReusableFile::new(path.to_path_buf(), ReadMode::Whole);
        for _ in 0..2 {
            let error = file.read(&mut Buffer::new()).unwrap_err();
            assert_eq!((error.errno(), error.step()), (22, Step::Read));
            assert!(file.file.is_some());
        }
    }

    #[test]
    fn errors_say_where_and_the_next_read_tries_again() {
        let folder = scratch("again");
        let path = folder.join("late");
        let mut file = ReusableFile::new(path.clone(), ReadMode::Whole);
        let mut buffer = Buffer::new();
        let error = file.read(&mut buffer).unwrap_err();
        assert!(error.is_gone() && !error.is_denied());
        assert_eq!((error.step(), error.path()), (Step::Open, path.as_path()));
        assert!(error.to_string().starts_with(&format!("cannot open {}: No such file", path.display())));
        std::fs::write(&path, b"now").unwrap();
        assert_eq!(file.read(&mut buffer).unwrap(), b"now");
        // A directory can be opened but not read.
        let mut file = ReusableFile::new(folder.clone(), ReadMode::Whole);
        assert_eq!(file.read(&mut buffer).unwrap_err().step(), Step::Read);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn reads_of_an_exited_process_keep_failing() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let folder = rustix::fs::open("/proc", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
        let path = PathBuf::from(format!("{}/stat", child.id()));
        let mut file = ReusableFile::pinned(&folder, &path).unwrap();
        let mut buffer = Buffer::new();
        let text = file.read(&mut buffer).unwrap();
        assert!(text.starts_with(format!("{} (", child.id()).as_bytes()));
        child.kill().unwrap();
        child.wait().unwrap();
        for _ in 0..2 {
            assert!(file.read(&mut buffer).unwrap_err().is_gone());
        }
        assert!(ReusableFile::pinned(&folder, &path).unwrap_err().is_gone());
    }

    #[test]
    fn a_change_of_mounts_is_signalled() {
        let mut file = ReusableFile::new(PathBuf::from("/proc/self/mountinfo"), ReadMode::Records);
        assert!(file.has_changed());
        file.read(&mut Buffer::new()).unwrap();
        // Another process may mount something now and then, but hardly in each of these moments.
        assert!((0..100).any(|_| !file.has_changed()));
        // A file without signals never reports a change.
        let mut file = ReusableFile::new(PathBuf::from("/proc/uptime"), ReadMode::Whole);
        file.read(&mut Buffer::new()).unwrap();
        assert!(!file.has_changed());
    }

    #[test]
    fn long_files_of_the_kernel_are_complete() {
        let mut buffer = Buffer::new();
        for (path, shape) in
            [("/proc/vmstat", ReadMode::Records), ("/proc/self/mountinfo", ReadMode::Records)]
        {
            let text = ReusableFile::new(PathBuf::from(path), shape).read(&mut buffer).unwrap().to_vec();
            let other = std::fs::read(path).unwrap();
            let lines = |text: &[u8]| text.iter().filter(|&&byte| byte == b'\n').count();
            assert_eq!(lines(&text), lines(&other), "{path}");
            assert_eq!(text.last(), Some(&b'\n'), "{path}");
        }
        let text = ReusableFile::new(PathBuf::from("/proc/sys/fs/file-nr"), ReadMode::Sysctl(2))
            .read(&mut buffer)
            .unwrap();
        assert_eq!(text.split(|&byte| byte == b'\t').count(), 3);
    }
}
