//! Leaving the terminal: a process session of its own, which neither Ctrl-C nor a closed terminal ends.

/// From now on this process has no terminal. This fails for the leader of a process group, which the
/// command does not start for this.
pub(crate) fn detach() {
    // If it fails, the process stays with its terminal and records all the same.
    let _ = rustix::process::setsid();
}

/// Nothing to do: the process leaves the terminal itself.
pub(crate) const fn start_apart(_command: &mut std::process::Command) {}
