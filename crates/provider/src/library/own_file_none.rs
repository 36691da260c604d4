//! A system that is not asked which file holds this code.

use std::path::PathBuf;

/// Not known.
pub(crate) const fn own_file() -> Option<PathBuf> {
    None
}
