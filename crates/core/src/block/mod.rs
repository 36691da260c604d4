//! The data block: what a performance query answers with.

/// One owned and validated data block.
#[derive(Debug, Clone)]
pub struct Snapshot;
