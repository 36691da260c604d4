//! Files on systems where users may not create symbolic links: a link is a small file with a name in it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

/// How long a file may be in use before that is an error. Everybody here has files open for moments only.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where a system keeps state.
pub(crate) fn default_system_folder() -> PathBuf {
    tallymon_provider::trust::program_data().join("Tallymon")
}

/// Where a user keeps state; `None` without a home.
pub(crate) fn default_state_folder() -> Option<PathBuf> {
    Some(PathBuf::from(std::env::var_os("LOCALAPPDATA")?).join("Tallymon"))
}

/// Identifies a file: its length, and when it was created and written in nanoseconds.
pub(crate) fn identity(path: &Path) -> Option<[u64; 4]> {
    let about = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let nanoseconds = |time: io::Result<std::time::SystemTime>| {
        let since = time.ok()?.duration_since(UNIX_EPOCH).ok()?;
        u64::try_from(since.as_nanos()).ok()
    };
    Some([0, nanoseconds(about.created())?, about.len(), nanoseconds(about.modified())?])
}

pub(super) fn read_link(path: &Path) -> io::Result<String> {
    Ok(patiently(|| fs::read_to_string(path))?.trim().to_string())
}

/// A file that somebody reads at this moment cannot be replaced everywhere, and one that is being replaced
/// cannot be opened.
pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    patiently(|| fs::rename(from, to))
}

/// Tries again for a while what another process or thread prevents by having the file open.
fn patiently<T>(mut act: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let start = Instant::now();
    loop {
        match act() {
            Err(error) if is_in_use(&error) && start.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(1));
            }
            done => return done,
        }
    }
}

fn is_in_use(error: &io::Error) -> bool {
    /// `ERROR_SHARING_VIOLATION` and `ERROR_LOCK_VIOLATION`.
    const SHARING: [i32; 2] = [32, 33];
    error.kind() == io::ErrorKind::PermissionDenied
        || error.raw_os_error().is_some_and(|code| SHARING.contains(&code))
}

pub(super) fn link(target: &str, path: &Path) -> io::Result<()> {
    fs::write(path, target)?;
    sync(path)
}

pub(super) fn create_folders(path: &Path) -> io::Result<()> {
    tallymon_provider::trust::create_folders(path)
}

/// Access is inherited from the folder here.
pub(super) fn readable_by_all(_: &File) -> io::Result<()> {
    Ok(())
}

pub(super) fn sync(path: &Path) -> io::Result<()> {
    File::options().write(true).open(path)?.sync_all()
}

/// Nothing to do: the names of a folder need no synchronisation here.
pub(super) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
