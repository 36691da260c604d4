//! Files on systems with symbolic links, where folders can be synchronised.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Where a system keeps state.
pub(crate) fn default_system_folder() -> PathBuf {
    PathBuf::from("/var/lib/tallymon")
}

/// Where a user keeps state; `None` without a home.
pub(crate) fn default_state_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    // By the base directory specification, a path that is not absolute is ignored.
    let state = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local").join("state")))?;
    Some(state.join("tallymon"))
}

/// Identifies a file: device, number, length, and when it was changed last in nanoseconds. Programs cannot
/// set that time.
pub(crate) fn identity(path: &Path) -> Option<[u64; 4]> {
    let about = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let changed = about.ctime().wrapping_mul(1_000_000_000).wrapping_add(about.ctime_nsec());
    Some([about.dev(), about.ino(), about.len(), changed.cast_unsigned()])
}

pub(super) fn read_link(path: &Path) -> io::Result<String> {
    let target = std::fs::read_link(path)?;
    target.into_os_string().into_string().map_err(|target| {
        io::Error::new(io::ErrorKind::InvalidData, format!("it leads to {}", target.display()))
    })
}

pub(super) fn link(target: &str, path: &Path) -> io::Result<()> {
    symlink(target, path)
}

/// New folders are readable for every user, whatever umask the installing process has: a registry that only
/// root can read has no names for other users.
pub(super) fn create_folders(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty()) {
        create_folders(above)?;
    }
    match fs::create_dir(path) {
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(0o755)),
        // Another process created it in the meantime.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// For the same reason as the folders.
pub(super) fn readable_by_all(file: &File) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(0o644))
}

pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

pub(super) fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
