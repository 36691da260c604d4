//! Modes of Unix.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// Whether only the owner can read a file.
pub(super) fn is_private(file: &Metadata) -> bool {
    file.mode() & 0o077 == 0
}

/// Whether a file is for everybody.
pub(super) fn is_for_everybody(file: &Metadata) -> bool {
    file.mode() & 0o007 != 0
}

/// The number of a file in its file system.
#[cfg(feature = "tls")]
pub(super) fn number(file: &Metadata) -> u64 {
    file.ino()
}

/// The number of the user of this process.
pub(super) fn own_user() -> Option<u32> {
    std::fs::metadata("/proc/self").ok().map(|about| about.uid())
}
