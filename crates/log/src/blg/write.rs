//! Writes a BLG.
