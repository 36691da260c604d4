//! Query strings.

/// A parsed query string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request;
