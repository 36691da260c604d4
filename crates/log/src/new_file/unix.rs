//! Files of Unix: owners, modes, and what makes two names one file.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;

/// Whether two names mean one file, through links of both kinds.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    let id = |path: &Path| fs::metadata(path).map(|about| (about.dev(), about.ino())).ok();
    id(one).is_some_and(|one| id(other) == Some(one))
}

/// Renames a file, in place of one that may be there.
pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

/// Whether a name leads to an open file; also when that cannot be known.
pub fn is_at(file: &File, path: &Path) -> bool {
    let Ok(own) = file.metadata() else { return true };
    fs::metadata(path).is_ok_and(|found| (found.dev(), found.ino()) == (own.dev(), own.ino()))
}

/// Whether writing goes to a pipe or a terminal, where nothing is replaced.
pub(super) fn is_stream(about: &Metadata) -> bool {
    about.file_type().is_char_device() || about.file_type().is_fifo()
}

/// Whether a file is in a folder such as `/tmp`, where others could exchange a link at any time.
pub(super) fn is_shared_folder_of(file: &Path) -> bool {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::metadata(folder).is_ok_and(|about| about.mode() & 0o002 != 0)
}

/// A file that replaces another is as private as can be until it has the permissions of the other.
pub(super) fn private(options: &mut OpenOptions, replaces: bool) -> &mut OpenOptions {
    if replaces { options.mode(0o600) } else { options }
}

/// Gives a file the owner and the permissions of another, as far as the system allows it.
pub(super) fn take_over(file: &File, old: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    let is_kept = |same: bool, owner, group| same || fchown(file, owner, group).is_ok();
    let mut mode = old.mode() & 0o777;
    // Only root can give a file away.
    let _ = is_kept(new.uid() == old.uid(), Some(old.uid()), None);
    if !is_kept(new.gid() == old.gid(), None, Some(old.gid())) {
        // The rights of the old group are not those of the new one.
        mode &= 0o707 | (mode & 0o007) << 3;
    }
    file.set_permissions(Permissions::from_mode(mode))
}
