//! Copies logs into other formats.
