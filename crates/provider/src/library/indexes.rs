//! The first indexes of a service, which the reader passes in the environment of the library's process.

use super::author::ProviderLibrary;

/// First Counter and First Help; `None` when no names are installed.
#[expect(clippy::extra_unused_type_parameters, reason = "on Windows the library names its service")]
pub(super) fn firsts<L: ProviderLibrary>() -> Option<(u32, u32)> {
    let number = |name| std::env::var(name).ok()?.parse::<u32>().ok();
    number("TALLYMON_FIRST_COUNTER").zip(number("TALLYMON_FIRST_HELP"))
}
