//! The input of a child as a socket. A write to a child that is gone is an error there; on a pipe it would be
//! SIGPIPE, which ends a C program that uses this library and has not heard of pipes.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{ChildStdin, Stdio};

/// The writing end of the input of a child.
pub(super) struct Input(UnixStream);

/// The two ends: one for the command, and one to write to.
pub(super) fn pair() -> io::Result<(Stdio, Input)> {
    let (ours, theirs) = UnixStream::pair()?;
    Ok((OwnedFd::from(theirs).into(), Input(ours)))
}

impl Input {
    /// What is written to, with what the child offers itself.
    pub(super) fn writer(self, _stdin: Option<ChildStdin>) -> Option<Box<dyn Write + Send>> {
        Some(Box::new(self.0))
    }
}
