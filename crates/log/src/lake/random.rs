//! Numbers for names of files that nobody has.

use std::hash::{BuildHasher, Hasher, RandomState};

/// A number that no other process has.
pub(super) fn random() -> u128 {
    let half = || u128::from(RandomState::new().build_hasher().finish());
    let id = u128::from(std::process::id());
    half().wrapping_shl(64) ^ half() ^ id
}
