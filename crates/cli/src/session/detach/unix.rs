//! Leaving the terminal: a session of its own, which no Ctrl-C and no closed terminal reaches.

/// From now on this process has no terminal. A process that leads its group can not leave it, and was not started for this.
pub(crate) fn detach() {
    // Where it fails the process is one of a terminal still, and records all the same.
    let _ = rustix::process::setsid();
}
