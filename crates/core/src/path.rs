//! Counter paths.
