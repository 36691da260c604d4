//! Who is who: the names of instances, and which instance of an older snapshot is the same as one of a newer.

use std::collections::HashMap;
use std::fmt;

use tallymon_core::block::{RawValue, SnapshotInstance, SnapshotObject};
use tallymon_core::path::InstancePath;
use tallymon_core::title::TitleIndex;

/// How instances of two snapshots are matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Matching {
    /// By what an instance is: its unique id; else its process or thread id and start time where the object has
    /// counters for them; else its name and number.
    #[default]
    Identity,
    /// By name and number only, as NT does. When the second of three equal names ends, the third is taken for it.
    NameAndNumber,
}

/// The counters that tell who an instance is, where its object has them: ID Process, ID Thread, and Elapsed Time, whose
/// raw value is the start time.
pub(crate) const IDENTITY_COUNTERS: [TitleIndex; 3] = [TitleIndex(784), TitleIndex(804), TitleIndex(684)];

/// The name of an instance as it stands in a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct InstanceKey {
    /// Name of the parent instance.
    pub parent: Option<String>,
    /// Name.
    pub name: String,
    /// Number among instances of the same parent name and name, in the order of the block, from 0.
    pub number: u32,
}

impl fmt::Display for InstanceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A name that itself ends like a number keeps apart from one that has it.
        InstancePath::new(self.parent.as_deref(), &self.name, self.number).fmt(f)
    }
}

/// Who an instance is, as its object tells it: the same in every snapshot, also when others of its name come and go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InstanceIdentity {
    /// Its unique id.
    UniqueId(i32),
    /// Its process id, thread id and start time; 0 for those that its object does not have.
    Ids([u64; 3]),
}

/// The instances of an object in one snapshot, in their order.
#[derive(Debug)]
pub(crate) struct Instances {
    /// Their names.
    pub(crate) keys: Vec<InstanceKey>,
    /// Who they are.
    pub(crate) identities: Vec<Option<InstanceIdentity>>,
}

impl Instances {
    /// Those of an object.
    pub(crate) fn of(object: SnapshotObject<'_>) -> Instances {
        Instances { keys: keys(object), identities: identities(object) }
    }

    fn identities(&self, matching: Matching) -> impl Iterator<Item = Identity<'_>> {
        self.keys.iter().zip(&self.identities).map(move |(key, identity)| match (matching, identity) {
            (Matching::Identity, Some(identity)) => Identity::Known(*identity),
            _ => Identity::Key(key),
        })
    }
}

/// The keys of all instances of an object, in their order.
pub(crate) fn keys(object: SnapshotObject<'_>) -> Vec<InstanceKey> {
    let mut seen: HashMap<(Option<String>, String), u32> = HashMap::new();
    let instances = object.instances();
    let mut keys = Vec::with_capacity(instances.len());
    for instance in instances {
        let parent = instance.parent_instance().map(|parent| parent.name().to_string_lossy());
        let name = instance.name().to_string_lossy();
        let number = seen.entry((parent.clone(), name.clone())).or_default();
        keys.push(InstanceKey { parent, name, number: *number });
        *number = number.saturating_add(1);
    }
    keys
}

/// What instances of two snapshots are compared by.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Identity<'k> {
    Known(InstanceIdentity),
    Key(&'k InstanceKey),
}

/// For each instance of `newer`, the position of the same one in `older`.
pub(crate) fn pair(older: &Instances, newer: &Instances, matching: Matching) -> Vec<Option<usize>> {
    let positions: HashMap<Identity<'_>, usize> =
        older.identities(matching).enumerate().map(|(position, identity)| (identity, position)).collect();
    newer.identities(matching).map(|identity| positions.get(&identity).copied()).collect()
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

/// The identity counters of an instance; `None` for the likes of `_Total` and Idle, whose process id is 0.
fn ids(instance: SnapshotInstance<'_>, counters: [Option<usize>; 3]) -> Option<[u64; 3]> {
    let values = counters.map(|position| match position.and_then(|position| instance.raw(position)) {
        Some(RawValue::Number(number)) => number,
        _ => 0,
    });
    (values[0] != 0).then_some(values)
}
