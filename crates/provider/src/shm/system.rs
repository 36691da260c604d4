//! Files, folders and users of Linux, as publishing needs them.

use std::fs::{DirEntry, File, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, DirEntryExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Access, AtFlags};

use super::identity::Identity;
use crate::environment::ROOT;

/// The directories that publications are looked for in, best first; they need not exist.
///
/// With `$TALLY_ROOT` that is `$TALLY_ROOT/pub` and nothing else. Otherwise `/run/tallymon/pub`,
/// `$XDG_RUNTIME_DIR/tallymon/pub` and `/tmp/tallymon-UID/pub`. On Windows, `%ProgramData%\Tallymon\pub` and
/// `%LOCALAPPDATA%\Tallymon\pub`.
pub fn directories() -> Vec<PathBuf> {
    let given = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(root) = ROOT.value() {
        return vec![PathBuf::from(root).join("pub")];
    }
    let user = own_user();
    let runtime = given("XDG_RUNTIME_DIR").map(|runtime| runtime.join("tallymon/pub"));
    let mut all = vec![PathBuf::from("/run/tallymon/pub")];
    all.extend(runtime);
    all.push(PathBuf::from(format!("/tmp/tallymon-{user}/pub")));
    all
}

/// The number of this user; that of root, who is trusted, is 0.
pub(crate) fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Creates a directory, and the one above it, if they do not exist, and checks that it can be written.
pub(crate) fn prepare(directory: &Path) -> io::Result<()> {
    if !directory.is_dir() {
        create_folders(directory)?;
    }
    // In /tmp, any user could have created it first, and would then own its files.
    for part in [Some(directory), directory.parent()].into_iter().flatten() {
        if !is_safe(part)? {
            let words = "it is a link, or others than root and this user can replace what is in it";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, words));
        }
    }
    let access = Access::WRITE_OK | Access::EXEC_OK;
    rustix::fs::accessat(rustix::fs::CWD, directory, access, AtFlags::EACCESS)?;
    Ok(())
}

/// Whether a directory is a real one that belongs to root or to this user, and where no other user can
/// replace files.
pub(crate) fn is_safe(directory: &Path) -> io::Result<bool> {
    let about = std::fs::symlink_metadata(directory)?;
    let user = own_user();
    let mode = about.permissions().mode();
    let others_write = mode & 0o022 != 0;
    let sticky = mode & 0o1000 != 0;
    Ok(about.is_dir() && (about.uid() == 0 || about.uid() == user) && (!others_write || sticky))
}

/// Creates a directory and those above it.
pub(crate) fn create_folders(directory: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o755).create(directory)
}

/// Creates a file that only this user can write.
pub(crate) fn create_file(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).write(true).create_new(true).mode(0o644).open(path)?;
    // The mask of the process must not keep readers out.
    rustix::fs::fchmod(&file, rustix::fs::Mode::from_raw_mode(0o644))?;
    Ok(file)
}

/// Removes a file that may be mapped.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    std::fs::remove_file(path)
}

/// The owner of a file, and what changes when it is replaced or written.
pub(crate) fn owner(entry: &DirEntry) -> io::Result<(u32, Identity)> {
    // Of the name itself: a link is not followed.
    let about = entry.metadata()?;
    Ok((about.uid(), (entry.ino(), about.len(), about.ctime(), about.ctime_nsec())))
}

/// When names of a directory last changed; `None` where that is not reliable.
#[expect(clippy::unnecessary_wraps, reason = "other systems do not tell")]
pub(crate) fn last_change(directory: &Metadata) -> Option<(i64, i64)> {
    Some((directory.mtime(), directory.mtime_nsec()))
}

/// Processor time of this thread: a thread that waits for a processor has not worked.
pub(crate) fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}
