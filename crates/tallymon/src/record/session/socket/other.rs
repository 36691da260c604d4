//! Systems without such sockets: the status is in its file only.

use std::io;
use std::path::Path;

use super::Shared;

/// Answers nobody.
#[derive(Debug)]
pub(in super::super) struct Listener;

/// Fails: there is no socket.
pub(in super::super) fn listen(_: &Path, shared: Shared) -> io::Result<Listener> {
    // Nobody asks here.
    let _ = shared.answer("");
    Err(io::ErrorKind::Unsupported.into())
}

/// Nobody answers.
pub(in super::super) fn ask(_: &Path, _: &str) -> Option<String> {
    None
}
