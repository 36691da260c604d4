//! Files of the user that others must not change, and secrets, which others must not read either.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(not(unix), path = "other.rs")]
mod platform;

use std::fs::Metadata;
use std::io::{self, Read};
use std::path::Path;

use tallymon_provider::trust;

/// The longest file that is read.
const LONGEST: u64 = 1 << 20;

/// The text of a file that only root and this user can change, and what is known about it. A pipe is refused:
/// nobody waits for its other end.
pub(crate) fn read(path: &Path) -> io::Result<(String, Metadata)> {
    let (bytes, about) = read_bytes(path)?;
    let text = String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok((text, about))
}

fn read_bytes(path: &Path) -> io::Result<(Vec<u8>, Metadata)> {
    trust::check_path(path)?;
    // The links on the way were checked, and one may lead to the file.
    let file = trust::open_file(&path.canonicalize()?)?;
    let about = file.metadata()?;
    if about.len() > LONGEST {
        let words = format!("it has {} bytes; at most {LONGEST} are read", about.len());
        return Err(io::Error::new(io::ErrorKind::InvalidData, words));
    }
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes)?;
    Ok((bytes, about))
}

/// What the system calls a file by, whatever its name is.
#[cfg(feature = "tls")]
pub(crate) fn number(file: &Metadata) -> u64 {
    platform::number(file)
}

/// The number of the user of this process, where users have numbers.
pub(crate) fn own_user() -> Option<u32> {
    platform::own_user()
}

/// The text of a file that not everybody can read, and that only root and this user can change. Its group may
/// read it: another program needs it too.
///
/// # Errors
///
/// As [`read_secret`], but the group may read it.
pub fn read_shared_secret(path: &Path) -> io::Result<String> {
    let (text, about) = read(path)?;
    if platform::is_for_everybody(&about) {
        let words = "everybody can read it; take that right away (chmod 0640, or 0600)";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, words));
    }
    Ok(text)
}

/// The text of a file that everybody may read, and only root and this user can change: whoever changes it
/// would decide who is trusted.
///
/// # Errors
///
/// The file cannot be read or is not a plain file; others can change it or a folder above it.
pub fn read_own(path: &Path) -> io::Result<String> {
    read(path).map(|(text, _)| text)
}

/// The text of a file that only this user can read, and only root and this user can change.
///
/// # Errors
///
/// The file cannot be read or is not a plain file; others can read it, or change it or a folder above it.
pub fn read_secret(path: &Path) -> io::Result<String> {
    let (text, about) = read(path)?;
    check_private(&about)?;
    Ok(text)
}

/// The bytes of a file that only this user can read, and only root and this user can change.
///
/// # Errors
///
/// As [`read_secret`].
pub(crate) fn read_secret_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let (bytes, about) = read_bytes(path)?;
    check_private(&about)?;
    Ok(bytes)
}

fn check_private(about: &Metadata) -> io::Result<()> {
    if platform::is_private(about) {
        return Ok(());
    }
    let words = "others can read it; take that right from them (chmod 0600)";
    Err(io::Error::new(io::ErrorKind::PermissionDenied, words))
}
