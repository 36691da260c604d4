//! The data block: the answer to a performance query.
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
//! * [`DataBlock`] reads borrowed bytes lazily, for tools that look at every field and report the exact place
//!   of a fault;
//! * [`Snapshot`] owns the bytes and walks them once; look-ups afterwards cannot fail;
//! * [`BlockWriter`] writes the bytes, and computes every length and offset itself.
//!
//! A reader steps from one structure to the next by the lengths in the data, never by the size of a
//! structure.
//!
//! # Missing values
//!
//! NT cannot express that one value of one instance is missing. We can: the last counter definition of an
//! object may have the type [`CounterType::VALUE_STATUS`](crate::counter::CounterType::VALUE_STATUS). Its
//! data is one byte for each definition before it, a [`ValueState`](crate::flow::ValueState). Readers that do
//! not know the type see a hidden counter.

mod block_memory;
mod cached_instances;
mod counts;
mod encode;
mod layout;
mod read_info;
mod rewrite;
mod sample;
mod snapshot;
mod spec;
mod states;
mod values;
mod view;
mod write;

pub use crate::bytes::ByteOrder;
pub use block_memory::BlockMemory;
pub use cached_instances::CachedInstances;
pub use counts::WriteCounts;
pub use read_info::{ReadInfo, ReadWindow};
pub use rewrite::{definitions_only, with_counter, with_state};
pub use snapshot::{Snapshot, SnapshotColumn, SnapshotInstance, SnapshotObject, SpareMemory};
pub use spec::{CounterSpec, InstanceKind, ObjectLayout, ObjectSpec};
pub use values::CounterBlockMut;
pub use view::{
    CounterBlock, CounterDefinition, CounterDefinitions, DataBlock, Header, Instance, Instances,
    NumInstances, Object, ObjectHeader, Objects, Parent, RawValue,
};
pub use write::{BlockWriter, BufferTooSmall, ObjectWriter, ObjectsWriter, WriteHeader, WritePosition};

/// How much a user must know to use an object or counter: `PERF_DETAIL_NOVICE` and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DetailLevel(pub u32);

impl DetailLevel {
    /// For every user.
    pub const NOVICE: DetailLevel = DetailLevel(100);
    /// For users who know the system.
    pub const ADVANCED: DetailLevel = DetailLevel(200);
    /// For users who know the system's internals.
    pub const EXPERT: DetailLevel = DetailLevel(300);
    /// For the system's developers.
    pub const WIZARD: DetailLevel = DetailLevel(400);

    /// NT's name of the level.
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
