//! Names of parts: what a table may name, and how names are spelled in it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::file::open_regular;

/// The longest name of an object in the name of a folder; a longer one is cut there.
const LONGEST: usize = 180;

/// Replaces all but letters, digits and `-_.` by `%` and their number.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        let letter = char::from(byte);
        if letter.is_ascii_alphanumeric() || "-_.".contains(letter) {
            escaped.push(letter);
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

/// The folder of a partition, below that of the table.
pub(super) fn folder(day: &str, object: Option<&str>) -> String {
    let object = object.filter(|object| !object.is_empty()).map(escaped);
    let mut object = object.unwrap_or_else(|| "__HIVE_DEFAULT_PARTITION__".to_owned());
    object.truncate(LONGEST);
    format!("day={day}/object={object}")
}

/// A path as the table spells it: `%` is spelled `%25`.
pub(super) fn spelled(path: &str) -> String {
    path.replace('%', "%25")
}

/// The path that a table means, relative to its folder.
///
/// # Errors
///
/// Why it is refused: it leads out of the folder, or may do so on some system.
pub(super) fn meant(spelled: &str) -> Result<PathBuf, String> {
    let mut bytes = Vec::with_capacity(spelled.len());
    let mut rest = spelled.as_bytes();
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let digits = behind.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let number = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        bytes.push(number.ok_or_else(|| format!("the path {spelled:?} has '%' without a number"))?);
        rest = behind.get(2..).unwrap_or_default();
    }
    let path = String::from_utf8(bytes).map_err(|_| format!("the path {spelled:?} is not UTF-8"))?;
    let refused = path.is_empty()
        || path.chars().any(|letter| matches!(letter, '\\' | ':') || letter.is_control())
        || path.split('/').any(|part| matches!(part, "" | "." | ".."));
    if refused {
        return Err(format!("the path {spelled:?} may lead out of the table; only names below it are read"));
    }
    Ok(PathBuf::from(path))
}

/// Opens a file below a folder. No link on the way is followed.
///
/// # Errors
///
/// Those of the operating system, and a link.
pub(super) fn open_below(root: &Path, below: &Path) -> io::Result<File> {
    let mut path = root.to_path_buf();
    for part in below.components() {
        path.push(part);
        if fs::symlink_metadata(&path)?.is_symlink() {
            let words = format!("{} is a symbolic link; none is followed in a table", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, words));
        }
    }
    open_regular(&path)
}

/// Creates the folders of a partition. A link in their place is refused.
pub(super) fn create_folder(root: &Path, below: &str) -> io::Result<PathBuf> {
    let mut path = root.to_path_buf();
    for part in below.split('/') {
        path.push(part);
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => created?,
        }
        if !fs::symlink_metadata(&path)?.is_dir() {
            let words = format!("{} is no folder; a table has no links in it", path.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, words));
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_as_they_were() {
        let folder = folder("2026-11-24", Some("SQL:Locks/x %"));
        assert_eq!(folder, "day=2026-11-24/object=SQL%3ALocks%2Fx%20%25");
        assert_eq!(meant(&spelled(&folder)), Ok(PathBuf::from(&folder)));
    }

    #[test]
    fn attack_paths_out_of_a_table_are_refused() {
        for path in [
            "../../etc/passwd",
            "/etc/passwd",
            "a/../../b",
            "%2e%2e/x",
            "a//b",
            "./a",
            "file:///etc/passwd",
            "s3://bucket/a",
            "C:/x",
            "a\\..\\b",
            "a%00b",
            "a%zz",
            "a%",
            "",
            "%ff",
        ] {
            assert!(meant(path).is_err(), "{path}");
        }
    }
}
