//! The interfaces of this network namespace and what went through them, asked for once a request by all objects that
//! look at interfaces.
//!
//! The files of `/sys` are not asked, since they show the namespace in which they were mounted, which may be another one.

use tallymon_provider::FileTime;

use crate::kernel::netlink::socket::{LinkEvents, RouteError, RouteSocket};
use crate::kernel::netlink::{Link, LinkStats};
use crate::kernel::time::steady;

/// What is known of them.
#[derive(Debug)]
pub(crate) struct Interfaces {
    route: RouteSocket,
    /// Tells when an interface comes, goes or changes; opened before the interfaces are first asked for, so that no
    /// change is missed.
    events: Option<LinkEvents>,
    links: Vec<Link>,
    stats: Vec<(u32, LinkStats)>,
    /// The request that they are of, when it asked, and how that went.
    request: u64,
    asked: FileTime,
    result: Result<(), RouteError>,
    /// How often they have changed, as far as it was seen.
    changes: u64,
}

/// An interface and what went through it.
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

    /// A number that grows when an interface comes, goes or changes, also when its cable is plugged in or out.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Those that there are in this request, and when they were asked for. One that goes away between two questions has nothing
    /// that went through it, and is none.
    ///
    /// # Errors
    ///
    /// The kernel does not tell.
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

    /// Asks for the statistics, and for the names if they may have changed.
    fn refresh(&mut self) -> Result<(), RouteError> {
        let changed = match &mut self.events {
            Some(events) => events.changed(),
            None => {
                // Without events the names are asked for each time.
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
            // An error leaves the list empty, and the next request asks again.
            self.route.links(&mut self.links)?;
        }
        Ok(())
    }
}

/// The item that matches, looked for at its likely place first: the kernel gives both lists in the same order.
fn at_or_near<T>(list: &[T], place: usize, matches: impl Fn(&T) -> bool) -> Option<&T> {
    list.get(place).filter(|item| matches(item)).or_else(|| list.iter().find(|item| matches(item)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_asked_for_once_a_request() {
        let mut interfaces = Interfaces::new();
        let mut look = |request| {
            let (asked, all) = interfaces.get(request).unwrap();
            (asked, all.map(|(link, _)| link.name.clone()).collect::<Vec<_>>())
        };
        let (first, names) = look(1);
        assert!(names.contains(&b"lo".to_vec()), "{names:?}");
        assert_eq!(look(1).0, first);
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(look(2).0 > first);
    }
}
