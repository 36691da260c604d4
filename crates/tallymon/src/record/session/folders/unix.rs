//! Folders of settings by the rules of Unix: apart from what programs write.

use std::path::{Path, PathBuf};

/// The settings of the sessions of the machine.
pub(super) fn of_system(_state: &Path) -> PathBuf {
    PathBuf::from("/etc/tallymon/sessions")
}

/// The settings of the sessions of this user; `None` without a home.
pub(super) fn of_user(_state: &Path) -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let settings = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(settings.join("tallymon").join("sessions"))
}
