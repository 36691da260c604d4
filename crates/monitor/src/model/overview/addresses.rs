//! The addresses of the interfaces of this machine.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::model::overview::Overview;

/// How long addresses are considered unchanged.
const LAST: Duration = Duration::from_secs(5);

/// Addresses with the lengths of their prefixes, by the names of the instances of Network Interface.
pub type Addresses = HashMap<String, Vec<String>>;

/// Reads the addresses of this machine now and then. The kernel answers from its memory.
#[derive(Debug)]
pub struct NetworkAddresses {
    source: fn() -> Addresses,
    read: Option<Instant>,
}

impl NetworkAddresses {
    /// Addresses from this source.
    pub const fn new(source: fn() -> Addresses) -> NetworkAddresses {
        NetworkAddresses { source, read: None }
    }

    /// Tells an overview the addresses, if they were not read for a while.
    pub fn tell(&mut self, overview: &mut Overview) {
        if self.read.is_none_or(|read| read.elapsed() >= LAST) {
            self.read = Some(Instant::now());
            overview.set_addresses((self.source)());
        }
    }
}
