//! Times as programs want them: local ones, and those of the machine's clocks.

use std::sync::OnceLock;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tallymon::core::time::FileTime;
pub(crate) use tallymon::log::zone::add_minutes;

/// The local time of this machine at a time.
pub(crate) fn local(time: FileTime) -> FileTime {
    add_minutes(time, zone(time).1)
}

/// The time zone of this machine at a time: its name, and the minutes to add to get the local time.
pub(crate) fn zone(time: FileTime) -> (String, i32) {
    static ZONE: OnceLock<TimeZone> = OnceLock::new();
    let zone = ZONE.get_or_init(TimeZone::system);
    let Ok(timestamp) = Timestamp::from_nanosecond(time.unix_nanoseconds()) else {
        return (String::new(), 0);
    };
    let info = zone.to_offset_info(timestamp);
    (info.abbreviation().to_string(), info.offset().seconds() / 60)
}

/// UTC of a local time that is so many minutes ahead of it.
pub(crate) fn utc(local: FileTime, minutes: i32) -> FileTime {
    add_minutes(local, minutes.saturating_neg())
}
