//! Bridges are providers of this machine.

use tallymon_bridge::Bridges;
use tallymon_host::Host;
use tallymon_host::registry::Roots;

/// The host with the objects of the bridges in the registries of the environment.
#[must_use]
pub fn with_bridges(host: Host) -> Host {
    host.with_provider(Box::new(Bridges::new(Roots::of_environment(), crate::private_file::read_secret)))
}
