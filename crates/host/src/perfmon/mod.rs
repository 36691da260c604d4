//! What programs publish, for perfmon and every other reader of the performance registry of Windows.
//!
//! The registry knows a counter by an index, and has the name of the index from `lodctr`. So published sets
//! get numbers in an INI file and its symbol file ([`Numbers`]), which `lodctr` installs, and a provider
//! library answers under these numbers ([`Answers`]). A set keeps its numbers for as long as the files exist,
//! also while nobody publishes it. A set that has none is not in the registry until the files are written and
//! installed again.
//!
//! | module | contents |
//! |---|---|
//! | `numbers` | which name has which number |
//! | `files` | the same as files for `lodctr` and `reg` |
//! | `answers` | values under these numbers |

mod answers;
mod files;
mod numbers;

#[cfg(windows)]
use tallymon_core::flow::SourceError;
#[cfg(windows)]
use tallymon_provider::Provider;

#[cfg(windows)]
use crate::publishers::Publishers;

pub use answers::Answers;
pub use files::File;
pub use numbers::{Added, Numbers};

/// The service that the library is registered as.
pub const SERVICE: &str = "TallymonPublished";

/// What is published on this machine now, for [`Numbers::add`].
///
/// # Errors
///
/// The names of Windows' own objects, which no program may take, cannot be read.
#[cfg(windows)]
pub fn published() -> Result<Publishers, SourceError> {
    let mut publishers = crate::builtin::published()?;
    publishers.refresh();
    Ok(publishers)
}

/// The file name of the library.
pub const LIBRARY: &str = "tallymon_perf.dll";
