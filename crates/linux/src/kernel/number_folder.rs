//! Lists the process ids in `/proc` and the thread ids in `/proc/PID/task`, through an open directory.
//!
//! The directory is listed with `getdents64` into a reused buffer, which costs 0.4 to 0.5 µs per process;
//! nothing is allocated per entry. The link count of `/proc` also gives the number of processes, for one
//! system call.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, RawDir, SeekFrom};
use rustix::io::Errno;

use crate::kernel::reusable_file::{ReadError, Step};

/// The size of the listing buffer, in bytes: about 1300 entries per system call.
const LISTING_SIZE: usize = 32 << 10;

/// How often the link count may be used before the directory is listed again: a directory that the kernel
/// adds to `/proc` meanwhile would count as a process.
const LOOKS_BETWEEN_LISTINGS: u32 = 60;

/// A directory whose numeric entries are listed again and again.
#[derive(Debug)]
pub(crate) struct NumberFolder {
    path: PathBuf,
    folder: OwnedFd,
    listing: Vec<u8>,
    /// The links that are not processes, if known, and how often that number may still be used.
    other_links: Option<(u64, u32)>,
}

impl NumberFolder {
    /// Opens `/proc`, or the directory that stands for it.
    ///
    /// # Errors
    ///
    /// It does not exist, is no directory, or cannot be opened.
    pub(crate) fn open(path: &Path) -> Result<NumberFolder, ReadError> {
        NumberFolder::open_in(rustix::fs::CWD, path)
    }

    /// Opens a directory below an open one, for example `4711/task` below `/proc`.
    ///
    /// # Errors
    ///
    /// As [`NumberFolder::open`]; [`ReadError::is_gone`] when the process has exited.
    pub(crate) fn open_in<Folder: AsFd>(folder: Folder, path: &Path) -> Result<NumberFolder, ReadError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(folder, path, flags, Mode::empty())
            .map_err(|errno| ReadError::new(path, Step::Open, errno))?;
        Ok(NumberFolder { path: path.to_path_buf(), folder, listing: Vec::new(), other_links: None })
    }

    /// Replaces `numbers` by the current numeric entries, in the kernel's order (ascending).
    ///
    /// A process that starts or exits during the call may be listed or not.
    ///
    /// # Errors
    ///
    /// The directory cannot be listed; `numbers` then holds the entries before the error.
    pub(crate) fn list(&mut self, numbers: &mut Vec<u32>) -> Result<(), ReadError> {
        self.list_by_own(numbers).map(|_| ())
    }

    /// As [`NumberFolder::list_with`], with this directory's own buffer.
    fn list_by_own(&mut self, numbers: &mut Vec<u32>) -> Result<u64, ReadError> {
        let mut listing = std::mem::take(&mut self.listing);
        let result = self.list_with(&mut listing, numbers);
        self.listing = listing;
        result
    }

    /// How many numeric entries there are. If that takes a listing, `numbers` is replaced by them.
    ///
    /// The link count of `/proc` is the sum of its directories and all processes. Nothing is listed while
    /// that sum holds; it does not hold in a pid namespace, or where processes are hidden from this user.
    ///
    /// # Errors
    ///
    /// As [`NumberFolder::list`].
    pub(crate) fn count(&mut self, numbers: &mut Vec<u32>) -> Result<u64, ReadError> {
        if let Some((others, looks @ 1..)) = self.other_links
            && let Some(count) = self.links().and_then(|links| links.checked_sub(others))
        {
            self.other_links = Some((others, looks.saturating_sub(1)));
            return Ok(count);
        }
        let before = self.links();
        let folders = self.list_by_own(numbers)?;
        let count = u64::try_from(numbers.len()).unwrap_or(u64::MAX);
        // A process that started or exited meanwhile makes them differ; the next listing tries again.
        let adds_up =
            before.is_some_and(|links| count.checked_add(folders) == Some(links)) && before == self.links();
        self.other_links = adds_up.then_some((folders, LOOKS_BETWEEN_LISTINGS));
        Ok(count)
    }

    /// The number of links of the folder.
    #[allow(clippy::useless_conversion, reason = "it has 32 bits on other processors")]
    fn links(&self) -> Option<u64> {
        rustix::fs::fstat(&self.folder).ok().map(|stat| u64::from(stat.st_nlink))
    }

    /// As [`NumberFolder::list`], with a buffer that many directories share: a buffer each would take 32 KiB
    /// per process. Returns the number of directories that are not numeric, including `.` and `..`.
    ///
    /// # Errors
    ///
    /// As [`NumberFolder::list`].
    pub(crate) fn list_with(&self, listing: &mut Vec<u8>, numbers: &mut Vec<u32>) -> Result<u64, ReadError> {
        numbers.clear();
        let NumberFolder { path, folder, .. } = self;
        let failed = |errno| ReadError::new(path, Step::Read, errno);
        rustix::fs::seek(folder, SeekFrom::Start(0)).map_err(failed)?;
        // Only the unused capacity of the vector is used; it stays empty, so nothing uninitialized is read.
        listing.clear();
        listing.reserve(LISTING_SIZE);
        let space: &mut [MaybeUninit<u8>] = listing.spare_capacity_mut();
        let mut entries = RawDir::new(folder, space);
        let mut folders = 0_u64;
        while let Some(entry) = entries.next() {
            match entry {
                Ok(entry) => match number(entry.file_name().to_bytes()) {
                    Some(number) => numbers.push(number),
                    None if entry.file_type() == FileType::Directory => folders = folders.saturating_add(1),
                    None => {}
                },
                Err(Errno::INTR) => {}
                Err(errno) => return Err(failed(errno)),
            }
        }
        Ok(folders)
    }

    /// How many files the process `pid` has open; `None` when unknown.
    ///
    /// This is the size of the directory `PID/fd`, which needs no right to list it. The kernel reports it
    /// since Linux 6.2; before that it is always 0, so 0 is returned as `None`. A process without any open
    /// file gives `None` too.
    pub(crate) fn open_files(&self, pid: u32) -> Option<u64> {
        let path = format!("{pid}/fd");
        let stat = rustix::fs::statat(&self.folder, path.as_str(), rustix::fs::AtFlags::empty()).ok()?;
        u64::try_from(stat.st_size).ok().filter(|&size| size > 0)
    }
}

impl AsFd for NumberFolder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }
}

/// The number in a name; `None` for any other name (`self`, `4x`) and above 4 294 967 295.
fn number(name: &[u8]) -> Option<u32> {
    let mut value: Option<u32> = None;
    for byte in name {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        value = Some(value.unwrap_or(0).checked_mul(10)?.checked_add(u32::from(digit))?);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numeric_names_are_listed() {
        let cases: [(&[u8], Option<u32>); 9] = [
            (b"1", Some(1)),
            (b"4194304", Some(4_194_304)),
            (b"4294967295", Some(u32::MAX)),
            (b"4294967296", None),
            (b"", None),
            (b".", None),
            (b"self", None),
            (b"12a", None),
            (b"-1", None),
        ];
        for (name, wanted) in cases {
            assert_eq!(number(name), wanted, "{}", String::from_utf8_lossy(name));
        }
    }

    #[test]
    fn a_test_directory_is_listed_twice() {
        let folder = std::env::temp_dir().join(format!("tallymon-pids-{}", std::process::id()));
        for name in ["17", "4", "self", "meminfo", "9x"] {
            std::fs::create_dir_all(folder.join(name)).unwrap();
        }
        let mut pids = NumberFolder::open(&folder).unwrap();
        let mut numbers = vec![99];
        for _ in 0..2 {
            pids.list(&mut numbers).unwrap();
            numbers.sort_unstable();
            assert_eq!(numbers, [4, 17]);
        }
        // More entries than fit into one listing.
        for name in 1000..4000 {
            std::fs::create_dir(folder.join(name.to_string())).unwrap();
        }
        pids.list(&mut numbers).unwrap();
        assert_eq!(numbers.len(), 3002);
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(NumberFolder::open(&folder).unwrap_err().is_gone());
    }

    #[test]
    fn the_link_count_gives_the_number_of_processes() {
        let mut proc = NumberFolder::open(Path::new("/proc")).unwrap();
        let mut numbers = Vec::new();
        // Other programs start and exit at any time, so it may take some tries until none interferes.
        assert!((0..1000).any(|_| proc.count(&mut numbers).is_ok() && proc.other_links.is_some()));
        let of_links = (0..1000).any(|_| {
            proc.list(&mut numbers).unwrap();
            let (others, _) = proc.other_links.unwrap_or_default();
            proc.other_links = Some((others, 2));
            let counted = proc.count(&mut Vec::new()).unwrap();
            assert_eq!(proc.other_links, Some((others, 1)), "it was not listed");
            counted == numbers.len() as u64
        });
        assert!(of_links);
        let mut children: Vec<_> =
            (0..40).map(|_| std::process::Command::new("sleep").arg("60").spawn().unwrap()).collect();
        proc.list(&mut numbers).unwrap();
        let counted = proc.count(&mut Vec::new()).unwrap();
        assert!(counted.abs_diff(numbers.len() as u64) < 20, "{counted} and {}", numbers.len());
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn a_link_count_that_does_not_add_up_is_not_used() {
        let folder = std::env::temp_dir().join(format!("tallymon-links-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("17")).unwrap();
        // A file with a numeric name does not count as a link.
        std::fs::write(folder.join("4"), "").unwrap();
        let mut pids = NumberFolder::open(&folder).unwrap();
        for name in ["5", "6", "7"] {
            std::fs::write(folder.join(name), "").unwrap();
            let mut numbers = Vec::new();
            assert_eq!(pids.count(&mut numbers).unwrap(), numbers.len() as u64);
            assert_eq!((numbers.contains(&name.parse().unwrap()), pids.other_links), (true, None));
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn this_process_and_its_threads_are_listed() {
        let mut proc = NumberFolder::open(Path::new("/proc")).unwrap();
        let mut numbers = Vec::new();
        proc.list(&mut numbers).unwrap();
        let own = std::process::id();
        assert!(numbers.contains(&own));
        assert!(numbers.is_sorted());
        let mut task = NumberFolder::open_in(&proc, &PathBuf::from(format!("{own}/task"))).unwrap();
        task.list(&mut numbers).unwrap();
        assert!(numbers.contains(&own));
        assert!(proc.open_files(own) != Some(0));
    }
}
