//! Systems whose rights are not known here: the folder of the user protects the file.

use std::fs::Metadata;

/// Whether only the owner can read a file.
pub(super) const fn is_private(_: &Metadata) -> bool {
    true
}

/// Whether a file is for everybody.
pub(super) const fn is_for_everybody(_: &Metadata) -> bool {
    false
}

/// Files have no number here.
#[cfg(feature = "tls")]
pub(super) const fn number(_: &Metadata) -> u64 {
    0
}

/// Users have no numbers.
pub(super) fn own_user() -> Option<u32> {
    None
}
