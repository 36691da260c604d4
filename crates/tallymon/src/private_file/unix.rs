//! Modes of Unix.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// Whether only the owner can read a file.
pub(super) fn is_private(file: &Metadata) -> bool {
    file.mode() & 0o077 == 0
}
