//! The interfaces of this network namespace with their statistics, read once a request for all objects that
//! use them.
//!
//! Netlink answers for our own network namespace; the files of `/sys` show the namespace in which they were
//! mounted.

use tallymon_provider::FileTime;

use crate::kernel::netlink::socket::{LinkEvents, RouteError, RouteSocket};
use crate::kernel::netlink::{Link, LinkStats};
use crate::kernel::time::steady;

/// The interfaces and their statistics.
#[derive(Debug)]
pub(crate) struct Interfaces {
    route: RouteSocket,
    /// Signals when an interface comes, goes or changes; opened before the first listing, so that no change
    /// is missed.
    events: Option<LinkEvents>,
    links: Vec<Link>,
    stats: Vec<(u32, LinkStats)>,
    /// The request that read them, when it did, and how that went.
    request: u64,
    asked: FileTime,
    result: Result<(), RouteError>,
    /// How many changes were seen.
    changes: u64,
}

/// An interface and its statistics.
pub(crate) type Interface<'a> = (&'a Link, &'a LinkStats);

impl Interfaces {
    pub(crate) fn new() -> Interfaces {
        Interfaces {
            route: RouteSocket::new(),
            events: None,
            links: Vec::new(),
            stats: Vec::new(),
            request: 0,
            asked: FileTime(0),
            result: Ok(()),
            changes: 0,
        }
    }

    /// A number that grows when an interface comes, goes or changes, also when its cable is plugged in or
    /// out.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// The interfaces in this request, and when they were read. An interface that disappears between the two
    /// netlink requests has no statistics and is left out.
    ///
    /// # Errors
    ///
    /// Netlink failed.
    pub(crate) fn get(
        &mut self,
        request: u64,
    ) -> Result<(FileTime, impl Iterator<Item = Interface<'_>>), RouteError> {
        if self.request != request {
            self.request = request;
            self.asked = steady();
            self.result = self.refresh();
        }
        self.result?;
        let all = self.links.iter().enumerate().filter_map(|(place, link)| {
            let (_, stats) = at_or_near(&self.stats, place, |(index, _)| *index == link.index)?;
            Some((link, stats))
        });
        Ok((self.asked, all))
    }

    /// Reads the statistics, and the names if they may have changed.
    fn refresh(&mut self) -> Result<(), RouteError> {
        let changed = match &mut self.events {
            Some(events) => events.changed(),
            None => {
                // Without events the names are read each time.
                self.events = LinkEvents::open().ok();
                true
            }
        };
        self.route.stats(&mut self.stats)?;
        let listed = (0..)
            .zip(&self.stats)
            .all(|(place, (index, _))| at_or_near(&self.links, place, |link| link.index == *index).is_some());
        if changed || !listed {
            self.changes = self.changes.wrapping_add(1);
            // After an error the list is empty, and the next request tries again.
            self.route.links(&mut self.links)?;
        }
        Ok(())
    }
}

/// The matching item, searched at its likely position first: the kernel sends both lists in the same order.
fn at_or_near<T>(list: &[T], place: usize, matches: impl Fn(&T) -> bool) -> Option<&T> {
    list.get(place).filter(|item| matches(item)).or_else(|| list.iter().find(|item| matches(item)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_are_read_once_a_request() {
        let mut interfaces = Interfaces::new();
        let mut run_once = |request| {
            let (asked, all) = interfaces.get(request).unwrap();
            (asked, all.map(|(link, _)| link.name.clone()).collect::<Vec<_>>())
        };
        let (first, names) = run_once(1);
        assert!(names.contains(&b"lo".to_vec()), "{names:?}");
        assert_eq!(run_once(1).0, first);
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(run_once(2).0 > first);
    }
}
