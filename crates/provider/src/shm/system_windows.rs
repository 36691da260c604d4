//! Files, folders and users of Windows, as publishing needs them.

use std::ffi::OsString;
use std::fs::{DirEntry, File, Metadata};
use std::io;
use std::os::windows::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

use super::identity::Identity;
use crate::trust::security::{self, is_system, this_user};

pub(crate) use super::process::thread_time;
use crate::environment::ROOT;
use crate::trust::{SHARED, program_data};

/// The most users that are told apart; all later ones are taken for one.
const MOST_USERS: usize = 4096;

/// The directories that publications are looked for in, best first; they need not exist.
///
/// With `$TALLY_ROOT` that is `$TALLY_ROOT/pub` and nothing else. Otherwise `%ProgramData%\Tallymon\pub` and
/// `%LOCALAPPDATA%\Tallymon\pub`. On Linux, `/run/tallymon/pub`, `$XDG_RUNTIME_DIR/tallymon/pub` and
/// `/tmp/tallymon-UID/pub`.
pub fn directories() -> Vec<PathBuf> {
    if let Some(root) = ROOT.value() {
        return vec![PathBuf::from(root).join("pub")];
    }
    std::iter::once(shared()).chain(own()).collect()
}

/// The folder of all users.
fn shared() -> PathBuf {
    program_data().join("Tallymon").join("pub")
}

/// The folder of this user.
fn own() -> Option<PathBuf> {
    let folder = std::env::var_os("LOCALAPPDATA").filter(|value| !value.is_empty())?;
    Some(PathBuf::from(folder).join("Tallymon").join("pub"))
}

/// The security identifier of this user, and the numbers of those that were met.
static OWN: LazyLock<Vec<u8>> = LazyLock::new(|| this_user().unwrap_or_default());
static USERS: Mutex<Vec<(Vec<u8>, u32)>> = Mutex::new(Vec::new());

/// The number of this user; that of the system and its administrators, who are trusted, is 0.
pub(crate) fn own_user() -> u32 {
    user_number(&OWN)
}

/// The number of a user: the last part of the security identifier, or the next one that nobody has. It stays
/// the same as long as this process runs.
pub(crate) fn user_number(sid: &[u8]) -> u32 {
    if is_system(sid) {
        return 0;
    }
    let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
    number_in(&mut users, sid)
}

fn number_in(users: &mut Vec<(Vec<u8>, u32)>, sid: &[u8]) -> u32 {
    if let Some((_, number)) = users.iter().find(|(known, _)| known == sid) {
        return *number;
    }
    // 0 and the last number have a meaning of their own.
    if users.len() >= MOST_USERS {
        return u32::MAX;
    }
    let mut number = sid.last_chunk::<4>().map_or(1, |last| u32::from_le_bytes(*last)).max(1);
    while number == u32::MAX || number == 0 || users.iter().any(|(_, taken)| *taken == number) {
        number = number.wrapping_add(1);
    }
    users.push((sid.to_vec(), number));
    number
}

/// Creates a directory, and the one above it, if they do not exist, and checks that it can be written.
pub(crate) fn prepare(directory: &Path) -> io::Result<()> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    if !directory.is_dir() {
        create_folders(directory)?;
    }
    // In ProgramData, any user could have created it first, and would then own its files.
    for part in [Some(directory), directory.parent()].into_iter().flatten() {
        if !is_safe(part)? {
            let words = "it is a link, or others than administrators and this user can replace what is in it";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, words));
        }
    }
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let probe = directory.join(format!(".{}-probe-{number}.new", std::process::id()));
    drop(create_file(&probe)?);
    std::fs::remove_file(&probe)
}

/// Whether a directory is a real one that belongs to the system, to an administrator's group or to this user,
/// and where no other user can replace files.
pub(crate) fn is_safe(directory: &Path) -> io::Result<bool> {
    let (security, is_folder) = security::of_path(directory)?;
    let owner = user_number(security.owner());
    Ok(is_folder && (owner == 0 || owner == own_user()) && !security.others_replace_in_folder())
}

/// Creates a directory and those above it. Only an administrator can create that of the whole machine: there
/// every user may add files, and change none of others.
pub(crate) fn create_folders(directory: &Path) -> io::Result<()> {
    if shared() != directory {
        return std::fs::create_dir_all(directory);
    }
    if let Some(above) = directory.parent() {
        security::create_folder(above, SHARED)?;
    }
    // To read, to list, and to add files.
    let of_all = "O:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;;0x1200ab;;;AU)";
    security::create_folder(directory, of_all)
}

/// Creates a file that only this user can write, and every user can read unless it is in a folder of this
/// user.
pub(crate) fn create_file(path: &Path) -> io::Result<File> {
    let me = security::text_of(&OWN);
    let is_private = own().is_some_and(|folder| path.starts_with(folder));
    let others = if is_private { "" } else { "(A;;FR;;;AU)" };
    security::create_file(path, &format!("O:{me}D:P(A;;FA;;;{me})(A;;FA;;;SY)(A;;FA;;;BA){others}"))
}

/// Removes a file that may be mapped. Windows may keep it as long as that is so; then it has a name at least
/// that no reader looks at, and a later publisher removes it.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    let name = path.file_stem().unwrap_or_default();
    if name.as_encoded_bytes().starts_with(b".") {
        return std::fs::remove_file(path);
    }
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(".new");
    let hidden = path.with_file_name(hidden);
    match std::fs::rename(path, &hidden) {
        Ok(()) => std::fs::remove_file(&hidden),
        Err(_) => std::fs::remove_file(path),
    }
}

/// The owner of a file, and what changes when it is replaced or written.
pub(crate) fn owner(entry: &DirEntry) -> io::Result<(u32, Identity)> {
    let (security, _) = security::of_path(&entry.path())?;
    let about = entry.metadata()?;
    let (created, written) = (about.creation_time(), about.last_write_time().cast_signed());
    Ok((user_number(security.owner()), (created, about.len(), written, 0)))
}

/// Unknown: file systems of Windows need not note when the names of a folder change.
pub(crate) const fn last_change(_directory: &Metadata) -> Option<(i64, i64)> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_keep_their_numbers_and_share_none() {
        let sid = |domain: u8, last: u32| {
            let mut sid = vec![1, 2, 0, 0, 0, 0, 0, 5, domain, 0, 0, 0];
            sid.extend(last.to_le_bytes());
            sid
        };
        let mut users = Vec::new();
        assert_eq!(number_in(&mut users, &sid(21, 1001)), 1001);
        assert_eq!(number_in(&mut users, &sid(22, 1001)), 1002);
        assert_eq!(number_in(&mut users, &sid(21, 1002)), 1003);
        assert_eq!(number_in(&mut users, &sid(22, 1001)), 1002);
        assert_eq!(number_in(&mut users, &sid(21, 0)), 1);
        assert_eq!(number_in(&mut users, &sid(21, u32::MAX)), 2);
        while users.len() < MOST_USERS {
            let next = u32::try_from(users.len()).unwrap();
            let number = number_in(&mut users, &sid(30, next * 7));
            assert!(number != 0 && number != u32::MAX);
        }
        assert_eq!(number_in(&mut users, &sid(40, 5)), u32::MAX);
        assert_eq!(user_number(&[1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0]), 0);
    }
}
