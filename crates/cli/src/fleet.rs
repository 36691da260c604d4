//! Options of commands that read several hosts: values computed over all of them.

use clap::Args;
use tallymon::HostReadings;
use tallymon::fleet::{Aggregate, Fleet};

/// Options of commands that read several hosts.
#[derive(Debug, Default, Clone, Args)]
pub(crate) struct FleetOptions {
    /// Compute values over all hosts, below \\_Fleet.mean\… and so on: sum, mean, min, max, and percentiles
    /// such as p95; several with commas.
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Several hosts")]
    pub(crate) fleet: Vec<Aggregate>,
    /// Of each counter, show only the N hosts with the largest values; with 0 none, for --fleet alone.
    #[arg(long, value_name = "N", help_heading = "Several hosts")]
    pub(crate) top_hosts: Option<usize>,
}

impl FleetOptions {
    /// What is shown of the hosts.
    pub(crate) fn fleet(&self) -> Fleet {
        Fleet { aggregates: self.fleet.clone(), top: self.top_hosts }
    }

    /// Whether they change anything.
    pub(crate) const fn is_used(&self) -> bool {
        !self.fleet.is_empty() || self.top_hosts.is_some()
    }

    /// What is shown of the readings of hosts: those of `asked` hosts were wanted.
    pub(crate) fn apply(&self, hosts: Vec<HostReadings>, asked: usize) -> Vec<HostReadings> {
        self.fleet().apply(hosts, asked)
    }
}
