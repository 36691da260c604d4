//! Bridges without the feature for them.

use tallymon_host::Host;

/// The host as it is: this library was built without the feature `bridges`.
#[must_use]
pub fn with_bridges(host: Host) -> Host {
    host
}
