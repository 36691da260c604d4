//! The folders of published files.

use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags};

use crate::environment::ROOT;

/// The end of a published file's name. An unfinished file has another name.
pub(crate) const SUFFIX: &str = ".pub";

/// The most files that are looked at in a directory.
pub(crate) const MAX_FILES: usize = 4096;

/// The directories that publications are looked for in, best first; they need not exist.
///
/// With `$TALLY_ROOT` that is `$TALLY_ROOT/pub` and nothing else. Otherwise `/run/tallymon/pub`,
/// `$XDG_RUNTIME_DIR/tallymon/pub` and `/tmp/tallymon-UID/pub`.
pub fn directories() -> Vec<PathBuf> {
    let given = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(root) = ROOT.value() {
        return vec![PathBuf::from(root).join("pub")];
    }
    let user = rustix::process::geteuid().as_raw();
    let runtime = given("XDG_RUNTIME_DIR").map(|runtime| runtime.join("tallymon/pub"));
    let mut all = vec![PathBuf::from("/run/tallymon/pub")];
    all.extend(runtime);
    all.push(PathBuf::from(format!("/tmp/tallymon-{user}/pub")));
    all
}

/// The first of the directories that can be written; creates it if needed.
///
/// # Errors
///
/// None can be written; the error is the last one.
pub(crate) fn writable() -> io::Result<PathBuf> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for directory in directories() {
        match prepare(&directory) {
            Ok(()) => return Ok(directory),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Creates a directory, and the one above it, if they do not exist, and checks that it can be written.
fn prepare(directory: &Path) -> io::Result<()> {
    let mut make = std::fs::DirBuilder::new();
    make.recursive(true).mode(0o755);
    if !directory.is_dir() {
        make.create(directory)?;
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
    let user = rustix::process::geteuid().as_raw();
    let mode = about.permissions().mode();
    let others_write = mode & 0o022 != 0;
    let sticky = mode & 0o1000 != 0;
    Ok(about.is_dir() && (about.uid() == 0 || about.uid() == user) && (!others_write || sticky))
}
