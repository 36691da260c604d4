//! Reads captured and hand-written kernel files for the tests, and damages them in every simple way.

use std::fmt::Debug;
use std::path::Path;

use super::error::ParseError;

/// The bytes of a file below `fixtures`.
pub(crate) fn fixture(relative: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(relative);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Parses every prefix of a fixture, and the fixture with each byte in turn replaced by several others.
///
/// The test fails on a panic, or on an error that names no file. Any other error is fine.
pub(crate) fn check_damage<T: Debug>(relative: &str, parse: impl Fn(&[u8]) -> Result<T, ParseError>) {
    let whole = fixture(relative);
    let check = |bytes: &[u8]| {
        if let Err(error) = parse(bytes) {
            assert!(!error.file.is_empty() && !error.column.is_empty(), "{error}");
        }
    };
    for len in 0..=whole.len() {
        check(&whole[..len]);
    }
    let mut damaged = whole.clone();
    for at in 0..whole.len() {
        for byte in [0, b'\n', b' ', b':', b'-', b'9', b')', 0xff, whole[at] ^ 1] {
            damaged[at] = byte;
            check(&damaged);
        }
        damaged[at] = whole[at];
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn readme_names_every_fixture_and_no_other() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
        let mut present = BTreeSet::new();
        let mut folders: Vec<PathBuf> = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path != root.join("README.md") {
                    present.insert(path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        let readme = String::from_utf8(fixture("README.md")).unwrap();
        // The files are in the first column between backquotes, the origin is in the second.
        let cells = readme.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
        let mut listed = BTreeSet::new();
        for (files, origin) in cells {
            assert!(origin.contains("captured") || origin.contains("written"), "{files}: no origin");
            for file in files.split("`, `") {
                assert!(listed.insert(file.to_owned()), "{file} is listed twice");
            }
        }
        assert_eq!(listed, present);
    }
}
