//! Systems that do not show who has a lock.

use std::fs::File;

/// The process that has locked a file.
pub(super) const fn holder(_: &File) -> Option<u32> {
    None
}
