//! Folders of settings on Windows: beside everything else, in `%ProgramData%\Tallymon` and
//! `%LOCALAPPDATA%\Tallymon`.

use std::path::{Path, PathBuf};

/// The settings of the sessions of the machine.
pub(super) fn of_system(state: &Path) -> PathBuf {
    state.join("sessions")
}

/// The settings of the sessions of this user.
pub(super) fn of_user(state: &Path) -> Option<PathBuf> {
    Some(state.join("sessions"))
}
