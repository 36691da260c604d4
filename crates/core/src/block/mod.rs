//! The data block: what a performance query answers with.
//!
//! ```text
//! PERF_DATA_BLOCK | system name | object | object | ...
//! object, no instances : PERF_OBJECT_TYPE | PERF_COUNTER_DEFINITION ... | PERF_COUNTER_BLOCK + data
//! object, instances    : PERF_OBJECT_TYPE | PERF_COUNTER_DEFINITION ...
//!                        | PERF_INSTANCE_DEFINITION + name | PERF_COUNTER_BLOCK + data | ...
//! ```
//!
//! Three ways in and out:
//!
//! * [`DataBlock`] reads borrowed bytes lazily, for tools that look at every field and want the exact place of a fault;
//! * [`Snapshot`] owns the bytes and walks them once; look-ups afterwards can not fail;
//! * [`BlockWriter`] makes the bytes. It makes every length and offset itself.
//!
//! Only the lengths in the data lead from one structure to the next, never the size of a structure.
//!
//! # Values that are not there
//!
//! NT has no way to say that one value of one instance is missing. We have: an object may end its counter definitions
//! with one of type [`CounterType::VALUE_STATUS`](crate::counter::CounterType::VALUE_STATUS), hidden for everybody who
//! does not know it, whose data is one byte for each definition before it: a [`ValueState`](crate::flow::ValueState).

mod counts;
mod foreign;
mod kept;
mod layout;
mod memory;
mod note;
mod put;
mod sample;
mod snapshot;
mod spec;
mod values;
mod view;
mod write;

pub use crate::bytes::ByteOrder;
pub use counts::WriteCounts;
pub use foreign::{definitions_only, with_counter, with_state};
pub use kept::KeptInstances;
pub use memory::BlockMemory;
pub use note::{ObjectNote, ReadWindow};
pub use snapshot::{Snapshot, SnapshotColumn, SnapshotInstance, SnapshotObject, SpareMemory};
pub use spec::{CounterSpec, InstanceKind, ObjectLayout, ObjectSpec};
pub use values::CounterBlockMut;
pub use view::{
    CounterBlock, CounterDefinition, CounterDefinitions, DataBlock, Header, Instance, Instances,
    NumInstances, Object, ObjectHeader, Objects, Parent, RawValue,
};
pub use write::{BlockWriter, NeedMore, ObjectWriter, ObjectsWriter, WriteHeader, WritePosition};

/// How much a user has to know to use an object or counter: `PERF_DETAIL_NOVICE` and the like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DetailLevel(pub u32);

impl DetailLevel {
    /// Everybody understands it.
    pub const NOVICE: DetailLevel = DetailLevel(100);
    /// For users who know the system.
    pub const ADVANCED: DetailLevel = DetailLevel(200);
    /// For users who know how the system works inside.
    pub const EXPERT: DetailLevel = DetailLevel(300);
    /// For the authors of the system.
    pub const WIZARD: DetailLevel = DetailLevel(400);

    /// NT's word for the level.
    pub const fn name(self) -> &'static str {
        match self.0 & 0xffff {
            100 => "novice",
            200 => "advanced",
            300 => "expert",
            400 => "wizard",
            _ => "unknown",
        }
    }
}
