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
