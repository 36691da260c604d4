//! Files of systems without owners and modes.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// Whether two names mean one file.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    same_file::is_same_file(one, other).unwrap_or(false)
}

/// Whether a name leads to an open file; also when that cannot be known.
pub fn is_at(file: &File, path: &Path) -> bool {
    let Ok(own) = file.try_clone().and_then(same_file::Handle::from_file) else { return true };
    match same_file::Handle::from_path(path) {
        Ok(found) => found == own,
        // Another program may keep everybody from opening it for a moment, or this one has no handle left.
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// Whether writing goes to a pipe or a terminal, where nothing is replaced.
pub(super) fn is_stream(about: &Metadata) -> bool {
    !about.is_file() && !about.is_dir()
}

/// Folders that everybody may write have other protection.
pub(super) const fn is_shared_folder_of(_file: &Path) -> bool {
    false
}

/// A new file has the rights of its folder.
pub(super) const fn private(options: &mut OpenOptions, _replaces: bool) -> &mut OpenOptions {
    options
}

/// The permissions are those of the folder.
#[expect(clippy::unnecessary_wraps, reason = "it can fail on other systems")]
pub(super) const fn take_over(_file: &File, _old: &Metadata) -> io::Result<()> {
    Ok(())
}

/// How long a file may be in use before that is an error.
const PATIENCE: Duration = Duration::from_secs(2);

/// Renames a file, in place of one that may be there. One that another program has open cannot be replaced,
/// as while a scanner of viruses or an index looks at it: then it is tried again for a while.
pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    let start = Instant::now();
    loop {
        match std::fs::rename(from, to) {
            Err(error) if is_in_use(&error) && start.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) if is_in_use(&error) && to.exists() => {
                let words = "the old one is not replaced, another program may have it open";
                let words = format!("{}: {words}: {error}", to.display());
                return Err(io::Error::new(error.kind(), words));
            }
            renamed => return renamed,
        }
    }
}

fn is_in_use(error: &io::Error) -> bool {
    /// `ERROR_ACCESS_DENIED`, `ERROR_SHARING_VIOLATION`, `ERROR_LOCK_VIOLATION`.
    const IN_USE: [i32; 3] = [5, 32, 33];
    error.raw_os_error().is_some_and(|code| IN_USE.contains(&code))
}

#[cfg(all(test, windows))]
mod tests {
    use std::fs::{self, File};
    use std::os::windows::fs::OpenOptionsExt;

    use crate::new_file::{Overwrite, write_file};

    /// `FILE_SHARE_READ` and `FILE_SHARE_WRITE`: others may read and write it, and not replace it.
    const NOT_REPLACE: u32 = 1 | 2;

    #[test]
    fn a_file_in_use_is_replaced_when_it_is_free_and_else_named() {
        let folder = tallymon_testkit::Scratch::new();
        let path = folder.join("view.json");
        write_file(&path, Overwrite::Replace, b"one").unwrap();
        let held = File::options().read(true).share_mode(NOT_REPLACE).open(&path).unwrap();
        let later = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(60));
            drop(held);
        });
        write_file(&path, Overwrite::Replace, b"two").unwrap();
        later.join().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        let held = File::options().read(true).share_mode(NOT_REPLACE).open(&path).unwrap();
        let words = write_file(&path, Overwrite::Replace, b"three").unwrap_err().to_string();
        assert!(words.contains("view.json") && words.contains("another program may have it open"), "{words}");
        drop(held);
        assert_eq!(fs::read(&path).unwrap(), b"two");
        // What was written is removed.
        assert_eq!(fs::read_dir(&*folder).unwrap().count(), 1);
    }
}
