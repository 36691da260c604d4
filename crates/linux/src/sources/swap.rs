//! The swap areas, with their paths as text.

use crate::kernel::proc::ParseError;
use crate::kernel::proc::swaps::parse_swaps;

/// A swap area: a partition, a file or compressed memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SwapArea {
    /// Its path.
    pub(crate) path: String,
    /// Its size in KiB.
    pub(crate) size: u64,
    /// What is in use of it, in KiB.
    pub(crate) used: u64,
}

/// The swap areas in `/proc/swaps`.
pub(crate) fn swap_areas(bytes: &[u8]) -> Result<Vec<SwapArea>, ParseError> {
    let areas = parse_swaps(bytes)?.into_iter().map(|swap| SwapArea {
        path: String::from_utf8_lossy(&swap.path).into_owned(),
        size: swap.size,
        used: swap.used,
    });
    Ok(areas.collect())
}
