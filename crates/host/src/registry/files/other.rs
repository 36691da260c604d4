//! Files on systems where users may not create symbolic links: a link is a small file with a name in it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Where a system keeps state.
pub(crate) fn default_system_folder() -> PathBuf {
    let data = std::env::var_os("ProgramData").map(PathBuf::from);
    data.unwrap_or_else(|| PathBuf::from(r"C:\ProgramData")).join("tallymon")
}

/// Where a user keeps state; `None` without a home.
pub(crate) fn default_state_folder() -> Option<PathBuf> {
    Some(PathBuf::from(std::env::var_os("LOCALAPPDATA")?).join("tallymon"))
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
    Ok(fs::read_to_string(path)?.trim().to_string())
}

pub(super) fn link(target: &str, path: &Path) -> io::Result<()> {
    fs::write(path, target)?;
    sync(path)
}

pub(super) fn create_folders(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
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
