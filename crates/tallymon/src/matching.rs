//! Names of instances, and which instances of two snapshots are the same.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use tallymon_core::block::{RawValue, SnapshotInstance, SnapshotObject};
use tallymon_core::path::{InstanceIndex, InstancePath, InstancePattern};
use tallymon_core::title::TitleIndex;
use tallymon_log::with_process_id;

use crate::names::InstanceNames;

/// How instances of two snapshots are matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Matching {
    /// By identity: the unique id; else the process or thread id with the start time, where the object has
    /// counters for them; else name and number.
    #[default]
    Identity,
    /// By name and number only, as NT does. When the second of three instances with one name ends, the
    /// third takes its place and its counters jump.
    NameAndNumber,
}

/// The counters that identify an instance, where its object has them: ID Process, ID Thread, and Elapsed
/// Time, whose raw value is the start time.
pub(crate) const IDENTITY_COUNTERS: [TitleIndex; 3] = [TitleIndex(784), TitleIndex(804), TitleIndex(684)];

/// The name of an instance as a path has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct InstanceKey {
    /// Name of the parent instance.
    pub parent: Option<String>,
    /// Name.
    pub name: String,
    /// Number among instances of the same parent name and name, in the order of the block, from 0.
    pub number: u32,
}

impl InstanceKey {
    /// Whether its parent's name and its name are those of a path, letter by letter.
    fn has_text(&self, path: &InstancePath) -> bool {
        InstancePath::new(self.parent.as_deref(), &self.name, 0).text() == path.text()
    }
}

impl fmt::Display for InstanceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Otherwise a name that ends in `#1` could not be told from a name with the number 1.
        InstancePath::new(self.parent.as_deref(), &self.name, self.number).fmt(f)
    }
}

/// The identity of an instance. It is the same in every snapshot, even when other instances of the same
/// name come and go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InstanceIdentity {
    /// Its unique id.
    UniqueId(i32),
    /// Its process id, thread id and start time; 0 for those that its object does not have.
    Ids([u64; 3]),
}

impl InstanceIdentity {
    /// The process id of a process or thread.
    pub const fn process(self) -> Option<u64> {
        match self {
            InstanceIdentity::Ids([process, ..]) => Some(process),
            InstanceIdentity::UniqueId(_) => None,
        }
    }
}

/// The instances of an object in one snapshot, in their order.
#[derive(Debug)]
pub(crate) struct Instances {
    /// Their names; shared with the snapshot before as long as no instance came or went.
    pub(crate) keys: Arc<Keys>,
    /// Their identities.
    pub(crate) identities: Vec<Option<InstanceIdentity>>,
    /// Where each of them was in the snapshot before.
    pub(crate) pairs: Pairs,
}

impl Instances {
    /// The instances of an object. `before` is the same object in the snapshot before, with its names.
    pub(crate) fn of(
        object: SnapshotObject<'_>,
        before: Option<(SnapshotObject<'_>, &Instances)>,
        (matching, names): (Matching, InstanceNames),
    ) -> Instances {
        let identities = identities(object);
        let has_names = |older, known: &Instances| {
            has_names_of(object, older) && (names == InstanceNames::Number || known.identities == identities)
        };
        let keys = match before {
            Some((older, known)) if has_names(older, known) => Arc::clone(&known.keys),
            _ => Arc::new(Keys { list: keys(object, names), places: OnceLock::new() }),
        };
        let mut instances = Instances { keys, identities, pairs: Pairs::None };
        if let Some((_, before)) = before {
            instances.pairs = pair(before, &instances, matching);
        }
        instances
    }

    fn identities(&self, matching: Matching) -> impl Iterator<Item = Identity<'_>> {
        self.keys.list.iter().zip(&self.identities).map(move |(key, identity)| match (matching, identity) {
            (Matching::Identity, Some(identity)) => Identity::Known(*identity),
            _ => Identity::Key(key),
        })
    }

    /// Whether each instance has the same position as in `older`.
    fn stand_as_in(&self, older: &Instances, matching: Matching) -> bool {
        let who = matching == Matching::NameAndNumber || self.identities == older.identities;
        who && Arc::ptr_eq(&self.keys, &older.keys)
    }
}

/// The names of the instances of an object, in their order.
#[derive(Debug)]
pub(crate) struct Keys {
    /// The names.
    pub(crate) list: Vec<InstanceKey>,
    /// The positions of the instances with a text: parent and name as in a path, in lower case.
    places: OnceLock<HashMap<String, Vec<usize>>>,
}

impl Keys {
    /// The positions of the instances that a path means.
    pub(crate) fn chosen(&self, wanted: &InstancePath, pattern: &InstancePattern) -> Vec<usize> {
        if wanted.is_wild() {
            return chosen(&self.list, wanted, pattern);
        }
        let is_meant = |position: &usize| {
            self.list.get(*position).is_some_and(|key| {
                pattern.matches(key.parent.as_deref(), &key.name) && pattern.matches_index(key.number)
            })
        };
        // A map, because comparing thousands of paths with thousands of instances each would take too long.
        let places = self.places.get_or_init(|| {
            let mut places: HashMap<String, Vec<usize>> = HashMap::new();
            for (position, key) in self.list.iter().enumerate() {
                let text = InstancePath::new(key.parent.as_deref(), &key.name, 0);
                places.entry(small(text.text())).or_default().push(position);
            }
            places
        });
        let found = places.get(&small(wanted.text()));
        let found: Vec<usize> = found.into_iter().flatten().copied().filter(is_meant).collect();
        // Of names that differ only in case, the one that is written so is meant.
        let is_exact = |position: &usize| self.list.get(*position).is_some_and(|key| key.has_text(wanted));
        if found.iter().any(is_exact) {
            return found.into_iter().filter(is_exact).collect();
        }
        // A log that has only some instances of a name has the number in the name.
        let numbered = places.get(&small(&wanted.to_string())).filter(|_| found.is_empty());
        let is_first = |position: &&usize| self.list.get(**position).is_some_and(|key| key.number == 0);
        if let Some(position) = numbered.and_then(|numbered| numbered.iter().find(is_first)) {
            return vec![*position];
        }
        // `#1` is a name, unless there is only the second instance without a name.
        let number = wanted.text().strip_prefix('#').filter(|_| found.is_empty());
        let number = number.and_then(|digits| digits.parse::<u32>().ok());
        let is_unnamed =
            |key: &InstanceKey| key.parent.is_none() && key.name.is_empty() && Some(key.number) == number;
        let unnamed = self.list.iter().position(is_unnamed);
        if found.is_empty() { unnamed.into_iter().collect() } else { found }
    }
}

/// The positions of the instances that a path with a wildcard means.
///
/// PDH has no escape for `*`. So if instances have exactly the name that is written, only they are meant,
/// except for a single `*`, which means all.
pub(crate) fn chosen(keys: &[InstanceKey], wanted: &InstancePath, pattern: &InstancePattern) -> Vec<usize> {
    let is_literal = |key: &InstanceKey| {
        wanted.text().contains('*')
            && wanted.text() != "*"
            && key.has_text(wanted)
            && match wanted.index() {
                InstanceIndex::Implied => key.number == 0,
                _ => pattern.matches_index(key.number),
            }
    };
    let is_meant = |key: &InstanceKey| {
        pattern.matches(key.parent.as_deref(), &key.name) && pattern.matches_index(key.number)
    };
    let positions = |is: &dyn Fn(&InstanceKey) -> bool| -> Vec<usize> {
        keys.iter().enumerate().filter(|(_, key)| is(key)).map(|(position, _)| position).collect()
    };
    let literal = positions(&is_literal);
    if literal.is_empty() { positions(&is_meant) } else { literal }
}

/// A text in lower case, as paths are compared.
fn small(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

/// Whether the instances of two objects have the same names, byte by byte, in the same order.
fn has_names_of(object: SnapshotObject<'_>, other: SnapshotObject<'_>) -> bool {
    let (one, two) = (object.instances(), other.instances());
    let is_alike = |one: SnapshotObject<'_>, two: SnapshotObject<'_>| {
        one.header().code_page == two.header().code_page
            && one.snapshot().header().byte_order == two.snapshot().header().byte_order
    };
    let has_name = |one: SnapshotInstance<'_>, two: SnapshotInstance<'_>| {
        one.name().as_bytes() == two.name().as_bytes() && is_alike(one.object(), two.object())
    };
    one.len() == two.len()
        && one.zip(two).all(|(one, two)| {
            has_name(one, two)
                && match (one.parent_instance(), two.parent_instance()) {
                    (None, None) => true,
                    (Some(one), Some(two)) => has_name(one, two),
                    _ => false,
                }
        })
}

/// The keys of all instances of an object, in their order.
pub(crate) fn keys(object: SnapshotObject<'_>, names: InstanceNames) -> Vec<InstanceKey> {
    let process = process_position(object).filter(|_| names == InstanceNames::ProcessId);
    // A thread has the id of the process that is its parent.
    let is_of_threads = object.position(IDENTITY_COUNTERS[1]).is_some();
    let mut seen: HashMap<(Option<String>, String), u32> = HashMap::new();
    let instances = object.instances();
    let mut keys = Vec::with_capacity(instances.len());
    for instance in instances {
        let mut parent = instance.parent_instance().map(|parent| parent.name().to_string_lossy());
        let mut name = instance.name().to_string_lossy();
        let owner = if is_of_threads { parent.as_mut() } else { Some(&mut name) };
        if let (Some(id), Some(owner)) = (process.and_then(|at| process_id(instance, at)), owner) {
            *owner = with_process_id(owner, id);
        }
        let number = seen.entry((parent.clone(), name.clone())).or_default();
        keys.push(InstanceKey { parent, name, number: *number });
        *number = number.saturating_add(1);
    }
    keys
}

/// The position of the counter of process ids.
fn process_position(object: SnapshotObject<'_>) -> Option<usize> {
    object.position(IDENTITY_COUNTERS[0])
}

/// The process id of an instance; `None` for `_Total` and Idle, whose process id is 0.
fn process_id(instance: SnapshotInstance<'_>, position: usize) -> Option<u64> {
    match instance.raw(position)? {
        RawValue::Number(0) => None,
        RawValue::Number(number) => Some(number),
        _ => None,
    }
}

/// What instances of two snapshots are compared by: identity, or name and number.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Identity<'k> {
    Known(InstanceIdentity),
    Key(&'k InstanceKey),
}

/// Where the instances of a snapshot were in the snapshot before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pairs {
    /// Nowhere: there is no snapshot before, or it lacks the object.
    None,
    /// Each at its own position.
    Same,
    /// Each at the position given here.
    At(Vec<Option<usize>>),
}

impl Pairs {
    /// Where the instance at a position was before.
    pub(crate) fn before(&self, position: usize) -> Option<usize> {
        match self {
            Pairs::None => None,
            Pairs::Same => Some(position),
            Pairs::At(positions) => positions.get(position).copied().flatten(),
        }
    }
}

/// For each instance of `newer`, the same one in `older`.
fn pair(older: &Instances, newer: &Instances, matching: Matching) -> Pairs {
    if newer.stand_as_in(older, matching) {
        return Pairs::Same;
    }
    let positions: HashMap<Identity<'_>, usize> =
        older.identities(matching).enumerate().map(|(position, identity)| (identity, position)).collect();
    Pairs::At(newer.identities(matching).map(|identity| positions.get(&identity).copied()).collect())
}

fn identities(object: SnapshotObject<'_>) -> Vec<Option<InstanceIdentity>> {
    let counters = IDENTITY_COUNTERS.map(|counter| object.position(counter));
    let by_ids = counters.iter().any(Option::is_some);
    object
        .instances()
        .map(|instance| match instance.unique_id() {
            Some(id) => Some(InstanceIdentity::UniqueId(id)),
            None if by_ids => ids(instance, counters).map(InstanceIdentity::Ids),
            None => None,
        })
        .collect()
}

/// The identity counters of an instance; `None` for `_Total` and Idle, whose process id is 0.
fn ids(instance: SnapshotInstance<'_>, counters: [Option<usize>; 3]) -> Option<[u64; 3]> {
    let values = counters.map(|position| match position.and_then(|position| instance.raw(position)) {
        Some(RawValue::Number(number)) => number,
        _ => 0,
    });
    (values[0] != 0).then_some(values)
}
