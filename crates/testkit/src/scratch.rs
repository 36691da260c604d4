//! Folders that tests work in.

use std::ffi::OsStr;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// An empty folder of its own for one test, removed at the end with all that is in it.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// A folder below that for temporary files.
    ///
    /// # Panics
    ///
    /// When the folder cannot be created.
    #[expect(clippy::new_without_default, reason = "a folder is made, which a default does not say")]
    pub fn new() -> Scratch {
        Scratch::below(&std::env::temp_dir())
    }

    /// A folder in memory, where the system has a place for it, else [`Scratch::new`]. On a disk, most of the
    /// time goes into keeping what a test deletes anyway.
    ///
    /// # Panics
    ///
    /// When the folder cannot be created.
    pub fn in_memory() -> Scratch {
        let memory = Path::new("/dev/shm");
        // Wine shows it to programs of Windows, whose process numbers are not those of this system.
        if cfg!(unix) && memory.is_dir() { Scratch::below(memory) } else { Scratch::new() }
    }

    fn below(parent: &Path) -> Scratch {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = parent.join(format!("tallymon-test-{}-{number}", std::process::id()));
        // Left by a killed process with the same number.
        let _ = std::fs::remove_dir_all(&folder);
        if let Err(error) = std::fs::create_dir_all(&folder) {
            panic!("{} cannot be made: {error}", folder.display());
        }
        Scratch(folder)
    }
}

impl Deref for Scratch {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for Scratch {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<OsStr> for Scratch {
    fn as_ref(&self) -> &OsStr {
        self.0.as_os_str()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_own_and_leaves_nothing() {
        let (one, other) = (Scratch::new(), Scratch::in_memory());
        assert!(one.is_dir() && other.is_dir() && one.0 != other.0);
        std::fs::create_dir_all(one.join("a/b")).unwrap();
        std::fs::write(one.join("a/b/c"), "1").unwrap();
        let paths = [one.to_path_buf(), other.to_path_buf()];
        drop((one, other));
        assert!(paths.iter().all(|path| !path.exists()));
    }
}
