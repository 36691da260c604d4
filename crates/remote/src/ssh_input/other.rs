//! The input of a child as a pipe.

use std::io::{self, Write};
use std::process::{ChildStdin, Stdio};

/// The writing end of the input of a child, which the child has itself.
pub(super) struct Input;

/// The two ends: one for the command, and one to write to.
#[allow(clippy::unnecessary_wraps, reason = "it can fail where the input is a socket")]
pub(super) fn pair() -> io::Result<(Stdio, Input)> {
    Ok((Stdio::piped(), Input))
}

impl Input {
    /// What is written to.
    pub(super) fn writer(self, stdin: Option<ChildStdin>) -> Option<Box<dyn Write + Send>> {
        Some(Box::new(stdin?))
    }
}
