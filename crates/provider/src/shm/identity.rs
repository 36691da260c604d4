//! Whether a file is the one that was seen before.

/// Number, length and time of the last change of a file.
pub(super) type Identity = (u64, u64, i64, i64);
