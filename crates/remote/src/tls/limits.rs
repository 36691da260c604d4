//! How many connections, failures and requests there may be. The time is an argument, so that tests need
//! none.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use super::KeyHash;

/// What a server of frames lets others do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections that have not shown a known key yet, of all addresses.
    pub handshakes: usize,
    /// The same, of one address.
    pub handshakes_of_address: usize,
    /// How long a connection may take to show a known key, and then for its greeting or pairing.
    pub handshake_time: Duration,
    /// Connections of peers.
    pub connections: usize,
    /// Connections of one peer.
    pub connections_of_peer: usize,
    /// How long a request may take from its first byte to its last, and how long a peer may take nothing of
    /// an answer.
    pub step_time: Duration,
    /// Failures of an address in [`Limits::failure_time`], after which its connections are closed at once
    /// until that time is over.
    pub failures: u32,
    /// See [`Limits::failures`].
    pub failure_time: Duration,
    /// Requests of one peer in a second, in the long run. Further ones wait.
    pub requests: u32,
    /// Requests of one peer that may come at once.
    pub burst: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            handshakes: 64,
            handshakes_of_address: 16,
            handshake_time: Duration::from_secs(5),
            connections: 128,
            connections_of_peer: 32,
            step_time: Duration::from_secs(20),
            failures: 10,
            failure_time: Duration::from_secs(60),
            requests: 100,
            burst: 1000,
        }
    }
}

/// The most addresses whose failures are counted, and peers whose requests are.
const MOST_KNOWN: usize = 4096;

/// Why a connection is closed at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Too many connections that have shown no key.
    Handshakes,
    /// Too many failures of this address.
    Failures,
    /// Too many connections of peers.
    Connections,
    /// Too many connections of this peer.
    OfPeer,
}

impl Refusal {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Refusal::Handshakes => "too many connections that have shown no key yet",
            Refusal::Failures => "too many failures of this address in a minute",
            Refusal::Connections => "too many connections of peers",
            Refusal::OfPeer => "too many connections of this peer",
        }
    }
}

/// What there is now.
#[derive(Debug, Default)]
pub(super) struct Counts {
    handshakes: HashMap<IpAddr, usize>,
    /// Since when, and how many.
    failures: HashMap<IpAddr, (Instant, u32)>,
    connections: HashMap<KeyHash, usize>,
    /// When the requests so far would all have been answered at the long-run rate.
    requests: HashMap<KeyHash, Instant>,
}

/// The address that is counted: of IP version 6 the network, because one machine has a whole one.
pub(super) fn counted(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::from(address) & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from(network))
        }
        address => address,
    }
}

impl Counts {
    /// Begins a handshake.
    pub(super) fn begin_handshake(
        &mut self,
        limits: &Limits,
        address: IpAddr,
        now: Instant,
    ) -> Result<(), Refusal> {
        let is_over = |since: Instant| now.saturating_duration_since(since) >= limits.failure_time;
        if let Some((since, count)) = self.failures.get(&address) {
            if is_over(*since) {
                self.failures.remove(&address);
            } else if *count >= limits.failures {
                return Err(Refusal::Failures);
            }
        }
        let all = self.handshakes.values().fold(0usize, |sum, count| sum.saturating_add(*count));
        let of_address = self.handshakes.get(&address).copied().unwrap_or_default();
        if all >= limits.handshakes || of_address >= limits.handshakes_of_address {
            return Err(Refusal::Handshakes);
        }
        self.handshakes.insert(address, of_address.saturating_add(1));
        Ok(())
    }

    /// A handshake is over.
    pub(super) fn end_handshake(&mut self, address: IpAddr) {
        one_less(&mut self.handshakes, &address);
    }

    /// An address has failed: no known key, a wrong code, or silence.
    pub(super) fn failed(&mut self, limits: &Limits, address: IpAddr, now: Instant) {
        if self.failures.len() >= MOST_KNOWN && !self.failures.contains_key(&address) {
            let is_over = |since: Instant| now.saturating_duration_since(since) >= limits.failure_time;
            self.failures.retain(|_, (since, _)| !is_over(*since));
            // So many addresses at once belong to somebody who has more of them: this one is not counted.
            if self.failures.len() >= MOST_KNOWN {
                return;
            }
        }
        let (_, count) = self.failures.entry(address).or_insert((now, 0));
        *count = count.saturating_add(1);
    }

    /// Begins the connection of a peer.
    pub(super) fn begin_connection(&mut self, limits: &Limits, peer: KeyHash) -> Result<(), Refusal> {
        let all = self.connections.values().fold(0usize, |sum, count| sum.saturating_add(*count));
        let of_peer = self.connections.get(&peer).copied().unwrap_or_default();
        if all >= limits.connections {
            return Err(Refusal::Connections);
        }
        if of_peer >= limits.connections_of_peer {
            return Err(Refusal::OfPeer);
        }
        self.connections.insert(peer, of_peer.saturating_add(1));
        Ok(())
    }

    /// The connection of a peer is over.
    pub(super) fn end_connection(&mut self, peer: KeyHash) {
        one_less(&mut self.connections, &peer);
    }

    /// Counts a request of a peer. Returns how long its answer has to wait.
    pub(super) fn request(&mut self, limits: &Limits, peer: KeyHash, now: Instant) -> Duration {
        let share = Duration::from_secs(1).checked_div(limits.requests).unwrap_or_default();
        if self.requests.len() >= MOST_KNOWN && !self.requests.contains_key(&peer) {
            self.requests.retain(|_, until| *until > now);
        }
        let until = self.requests.entry(peer).or_insert(now);
        *until = (*until).max(now).checked_add(share).unwrap_or(now);
        until.saturating_duration_since(now).saturating_sub(share.saturating_mul(limits.burst))
    }
}

fn one_less<K: std::hash::Hash + Eq>(counts: &mut HashMap<K, usize>, of: &K) {
    if let Some(count) = counts.get_mut(of) {
        *count = count.saturating_sub(1);
        if *count == 0 {
            counts.remove(of);
        }
    }
}
