//! Instances that the user ticked in a table: while there are any, only their values are shown.
//!
//! A process matches in every object with process ids, and a thread matches its process. Instances of an
//! object without identities are compared by name.

use tallymon::core::title::TitleIndex;
use tallymon::{InstanceIdentity, InstanceKey};

use crate::model::series::Series;

/// The object of the processes.
pub(crate) const PROCESS: TitleIndex = TitleIndex(230);

/// An instance of an object on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tick {
    /// The host, where it is not the first.
    pub host: Option<String>,
    /// Object.
    pub object: TitleIndex,
    /// Name.
    pub key: InstanceKey,
    /// Its identity, where the object has one.
    pub identity: Option<InstanceIdentity>,
}

/// All ticked instances.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ticks(Vec<Tick>);

/// An instance that may match a ticked one.
#[derive(Debug, Clone, Copy)]
struct SeriesIdentity<'a> {
    host: Option<&'a str>,
    object: TitleIndex,
    parent: Option<&'a str>,
    /// With its number, without its parent.
    name: &'a str,
    identity: Option<InstanceIdentity>,
}

impl Ticks {
    /// Whether nothing is ticked: then everything is shown.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Names of the ticked instances, in the order of ticking.
    pub fn names(&self) -> Vec<String> {
        self.0.iter().map(|tick| tick.key.to_string()).collect()
    }

    /// Ticks an instance, or removes its tick.
    pub fn toggle(&mut self, tick: Tick) {
        let before = self.0.len();
        self.0.retain(|known| !known.is(&tick));
        if self.0.len() == before {
            self.0.push(tick);
        }
    }

    /// Whether this very instance is ticked.
    pub fn has(&self, tick: &Tick) -> bool {
        self.0.iter().any(|known| known.is(tick))
    }

    /// Whether any instance of an object is ticked.
    pub fn has_of(&self, host: Option<&str>, object: TitleIndex) -> bool {
        self.0.iter().any(|tick| tick.object == object && same(tick.host.as_deref(), host))
    }

    /// Whether an instance matches a ticked one.
    pub fn pass(&self, other: &Tick) -> bool {
        let name = own_name(&other.key);
        let who = SeriesIdentity {
            host: other.host.as_deref(),
            object: other.object,
            parent: other.key.parent.as_deref(),
            name: &name,
            identity: other.identity,
        };
        self.0.iter().any(|tick| tick.means(who))
    }

    /// Whether a series is shown: nothing is ticked, or it belongs to a ticked instance.
    pub fn pass_series(&self, series: &Series) -> bool {
        let who = |name| SeriesIdentity {
            host: series.host(),
            object: series.object,
            parent: series.parent.as_deref(),
            name,
            identity: series.identity,
        };
        self.is_empty()
            || series.instance.as_deref().is_some_and(|name| self.0.iter().any(|tick| tick.means(who(name))))
    }
}

impl Tick {
    fn is(&self, other: &Tick) -> bool {
        self.object == other.object
            && same(self.host.as_deref(), other.host.as_deref())
            && match (self.identity, other.identity) {
                (Some(own), Some(other)) => own == other,
                _ => self.key == other.key,
            }
    }

    fn means(&self, who: SeriesIdentity<'_>) -> bool {
        let name = own_name(&self.key);
        if !same(self.host.as_deref(), who.host) {
            return false;
        }
        if self.object == who.object {
            return match (self.identity, who.identity) {
                (Some(own), Some(other)) => own == other,
                _ => name.eq_ignore_ascii_case(who.name) && same(self.key.parent.as_deref(), who.parent),
            };
        }
        if self.object == PROCESS
            && let (Some(own), Some(other)) = (process(self.identity), process(who.identity))
        {
            return own == other;
        }
        let is_parent = who.parent.is_some_and(|parent| {
            parent.eq_ignore_ascii_case(&name) || parent.eq_ignore_ascii_case(&self.key.name)
        });
        // A sum has no identity, and the same number is a disk in one object and a processor in another.
        let is_named = self.object == PROCESS && name != "_Total" && name.eq_ignore_ascii_case(who.name);
        is_parent || is_named
    }
}

/// The process id of an identity.
pub(crate) const fn process(identity: Option<InstanceIdentity>) -> Option<u64> {
    match identity {
        Some(InstanceIdentity::Ids([process, _, _])) if process != 0 => Some(process),
        _ => None,
    }
}

/// Name and number, without the parent.
fn own_name(key: &InstanceKey) -> String {
    InstanceKey { parent: None, ..key.clone() }.to_string()
}

fn same(one: Option<&str>, other: Option<&str>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.eq_ignore_ascii_case(other),
        (None, None) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: TitleIndex = TitleIndex(232);
    const DISK: TitleIndex = TitleIndex(234);

    fn tick(
        object: TitleIndex,
        parent: Option<&str>,
        name: &str,
        number: u32,
        ids: Option<[u64; 3]>,
    ) -> Tick {
        let key = InstanceKey { parent: parent.map(str::to_string), name: name.into(), number };
        Tick { host: None, object, key, identity: ids.map(InstanceIdentity::Ids) }
    }

    #[test]
    fn a_process_is_the_same_in_every_object() {
        let mut ticks = Ticks::default();
        ticks.toggle(tick(PROCESS, None, "web", 1, Some([7, 0, 100])));
        for (other, expected) in [
            (tick(PROCESS, None, "web", 0, Some([7, 0, 100])), true),
            (tick(PROCESS, None, "web", 1, Some([8, 0, 100])), false),
            (tick(PROCESS, None, "web", 1, None), true),
            (tick(PROCESS, None, "web", 0, None), false),
            (tick(THREAD, Some("web"), "0", 0, Some([7, 70, 100])), true),
            (tick(THREAD, Some("web"), "0", 1, Some([8, 80, 100])), false),
            // Without process ids there are only names.
            (tick(THREAD, Some("web"), "0", 1, None), true),
            (tick(THREAD, Some("shell"), "0", 0, None), false),
            (tick(TitleIndex(6_000), None, "WEB", 1, None), true),
            (tick(DISK, None, "0 sda", 0, None), false),
            (Tick { host: Some("web02".into()), ..tick(PROCESS, None, "web", 1, None) }, false),
        ] {
            assert_eq!(ticks.pass(&other), expected, "{other:?}");
        }
        assert!(ticks.has_of(None, PROCESS) && !ticks.has_of(None, THREAD));
        // The same process under another name.
        ticks.toggle(tick(PROCESS, None, "web", 0, Some([7, 0, 100])));
        assert!(ticks.is_empty());
    }

    #[test]
    fn equal_numbers_of_different_objects_do_not_match() {
        let mut ticks = Ticks::default();
        ticks.toggle(tick(TitleIndex(238), None, "0", 0, None));
        ticks.toggle(tick(PROCESS, None, "_Total", 0, None));
        assert_eq!(ticks.names(), ["0", "_Total"]);
        assert!(ticks.pass(&tick(TitleIndex(238), None, "0", 0, None)));
        assert!(!ticks.pass(&tick(DISK, None, "0", 0, None)));
        assert!(!ticks.pass(&tick(DISK, None, "_Total", 0, None)));
    }
}
