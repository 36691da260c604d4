//! Leaving the terminal, on systems where this needs nothing.

/// A process without standard streams has no terminal.
pub(crate) const fn detach() {}
