//! Text as it stands in a data block.
