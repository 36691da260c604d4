//! Times as programs want them: local ones, in the time zone of this machine.

use std::sync::OnceLock;

use tallymon::clock::LocalZone;
use tallymon::core::time::FileTime;
pub(crate) use tallymon::log::zone::add_minutes;

/// The time zone of this machine, read once.
pub(crate) fn zone() -> &'static LocalZone {
    static ZONE: OnceLock<LocalZone> = OnceLock::new();
    ZONE.get_or_init(LocalZone::system)
}

/// UTC of a local time that is so many minutes ahead of it.
pub(crate) fn utc(local: FileTime, minutes: i32) -> FileTime {
    add_minutes(local, minutes.saturating_neg())
}
