//! Times as programs want them: local ones, and those of the machine's clocks.

use std::sync::OnceLock;
use std::time::{SystemTime as Civil, UNIX_EPOCH};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tallymon::core::time::FileTime;
pub(crate) use tallymon::log::zone::add_minutes;

/// Now, UTC.
pub(crate) fn now() -> FileTime {
    let since = Civil::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    i128::try_from(since).ok().and_then(FileTime::from_unix_nanoseconds).unwrap_or_default()
}

/// The local time of this machine at a time.
pub(crate) fn local(time: FileTime) -> FileTime {
    static ZONE: OnceLock<TimeZone> = OnceLock::new();
    let zone = ZONE.get_or_init(TimeZone::system);
    let minutes = Timestamp::from_nanosecond(time.unix_nanoseconds())
        .map_or(0, |timestamp| zone.to_offset(timestamp).seconds() / 60);
    add_minutes(time, minutes)
}

/// UTC of a local time that is so many minutes ahead of it.
pub(crate) fn utc(local: FileTime, minutes: i32) -> FileTime {
    add_minutes(local, minutes.saturating_neg())
}
