//! Offsets and limits of a published file, versions 1 to 3: the numbers of `docs/formats/shm.md`.

/// The first bytes of every published file.
pub(crate) const MAGIC: &[u8; 8] = b"TALLYPUB";

/// The version of a file without any later feature.
pub(crate) const VERSION_1: u32 = 1;

/// The version with histograms, units, and values that are kept.
pub(crate) const VERSION_2: u32 = 2;

/// The version with histograms of many writers; the highest that is read.
pub(crate) const VERSION_3: u32 = 3;

/// The largest file that is written or read, in bytes.
pub(crate) const MAX_FILE: usize = 64 << 20;

/// The longest definitions that are read, in bytes.
pub(crate) const MAX_DEFINITIONS: usize = 1 << 20;

/// The most bytes of one slot of values.
pub(crate) const MAX_STRIDE: usize = 1 << 16;

/// The most bytes of one group, so that reading one again is cheap.
pub(crate) const MAX_GROUP: usize = 4096;

/// The most bytes of a text.
pub(crate) const MAX_TEXT: usize = 4000;

/// The most percentiles of a histogram, so that reading it is cheap.
pub(crate) const MAX_PERCENTILES: usize = 8;

/// The most lanes of a shared counter.
pub(crate) const MAX_LANES: u32 = 64;

/// The most bytes that a set uses for the lanes of its histograms, so that a slot has room for other values.
pub(crate) const MAX_HISTOGRAM_LANES: usize = 56 << 10;

/// The distance of two lanes is a multiple of this: threads that add in different lanes never share a cache
/// line.
pub(crate) const LINE: usize = 64;

/// The header of the file.
pub(crate) mod header {
    pub(crate) const MAGIC: usize = 0;
    pub(crate) const VERSION: usize = 8;
    pub(crate) const HEADER_LENGTH: usize = 12;
    pub(crate) const USED: usize = 16;
    pub(crate) const PID: usize = 24;
    pub(crate) const FLAGS: usize = 28;
    pub(crate) const START_TIME: usize = 32;
    pub(crate) const DEFINITIONS_LENGTH: usize = 40;
    pub(crate) const OBJECTS: usize = 44;
    pub(crate) const CREATED: usize = 48;
    pub(crate) const GENERATION: usize = 56;
    pub(crate) const NAME: usize = 64;
    pub(crate) const NAME_LENGTH: usize = 64;
    pub(crate) const SIZE: usize = 128;

    /// Flag, from version 2 on: the values stay when the process has ended.
    pub(crate) const KEEP: u32 = 1;
}

/// An object in the definitions.
pub(crate) mod object {
    pub(crate) const LENGTH: usize = 0;
    pub(crate) const FLAGS: usize = 4;
    pub(crate) const DETAIL: usize = 8;
    pub(crate) const DEFAULT_COUNTER: usize = 12;
    pub(crate) const COUNTERS: usize = 16;
    pub(crate) const GROUPS: usize = 20;
    pub(crate) const TEXTS: usize = 24;
    pub(crate) const STRIDE: usize = 28;
    pub(crate) const SIZE: usize = 32;

    /// Flag: the object has instances.
    pub(crate) const HAS_INSTANCES: u32 = 1;
}

/// A counter in the definitions.
pub(crate) mod counter {
    pub(crate) const TYPE: usize = 0;
    pub(crate) const SCALE: usize = 4;
    pub(crate) const DETAIL: usize = 8;
    pub(crate) const STORAGE: usize = 12;
    pub(crate) const OFFSET: usize = 16;
    pub(crate) const CAPACITY: usize = 20;
    pub(crate) const LANES: usize = 24;
    pub(crate) const LANE_STRIDE: usize = 28;
    pub(crate) const GROUP: usize = 32;
    /// A number that readers compute from the buckets of a histogram.
    pub(crate) const PART: usize = 36;
    /// Number of buckets, where a sum has its lanes.
    pub(crate) const BUCKETS: usize = LANES;
    /// Buckets for each power of two, as a power of two, where a sum has the distance of its lanes.
    pub(crate) const BITS: usize = LANE_STRIDE;
    /// Number of lanes of a histogram with many writers; other counters have their size there.
    pub(crate) const HISTOGRAM_LANES: usize = CAPACITY;
    pub(crate) const SIZE: usize = 40;

    /// Storage: one number.
    pub(crate) const NUMBER: u32 = 0;
    /// Storage: a number that is the sum of lanes.
    pub(crate) const SUM: u32 = 1;
    /// Storage: a text.
    pub(crate) const TEXT: u32 = 2;
    /// Storage, from version 2 on: computed from the buckets of a histogram.
    pub(crate) const HISTOGRAM: u32 = 3;
    /// Storage, from version 3 on: the same with lanes, each of which has all of the buckets.
    pub(crate) const SHARED_HISTOGRAM: u32 = 4;
}

/// A group in the definitions.
pub(crate) mod group {
    pub(crate) const FIRST: usize = 0;
    pub(crate) const CHECK: usize = 4;
    pub(crate) const SIZE: usize = 8;
}

/// A text in the definitions; its bytes follow, filled up to a multiple of 8.
pub(crate) mod text {
    pub(crate) const LANGUAGE: usize = 0;
    pub(crate) const KIND: usize = 2;
    pub(crate) const SUBJECT: usize = 4;
    pub(crate) const LENGTH: usize = 8;
    pub(crate) const SIZE: usize = 16;

    /// Kind: a name.
    pub(crate) const NAME: u16 = 0;
    /// Kind: a help text.
    pub(crate) const HELP: u16 = 1;
    /// Kind, from version 2 on: a unit.
    pub(crate) const UNIT: u16 = 2;
    /// Subject: the object itself; any other number is the position of a counter.
    pub(crate) const OBJECT: u32 = u32::MAX;
}

/// An extent: slots of values and of names for a number of instances of one object.
pub(crate) mod extent {
    pub(crate) const MAGIC: usize = 0;
    pub(crate) const OBJECT: usize = 4;
    pub(crate) const SLOTS: usize = 8;
    pub(crate) const STRIDE: usize = 12;
    pub(crate) const LENGTH: usize = 16;
    /// The values start here, whatever the object.
    pub(crate) const VALUES: usize = 64;

    /// `EXT1`, little-endian.
    pub(crate) const MAGIC_NUMBER: u32 = 0x3154_5845;
}

/// A slot of values: the use number, the values, and the use number once more.
pub(crate) mod slot {
    pub(crate) const USE: usize = 0;
    pub(crate) const VALUES: usize = 8;
    /// The bytes of the two use numbers.
    pub(crate) const OVERHEAD: usize = 16;
}

/// A text: its length, its bytes, and the check word of both.
pub(crate) mod text_value {
    pub(crate) const LENGTH: usize = 0;
    pub(crate) const BYTES: usize = 8;
    /// The bytes that it takes besides its text.
    pub(crate) const OVERHEAD: usize = 16;
}

/// A slot of the instance table.
pub(crate) mod instance {
    pub(crate) const USE: usize = 0;
    pub(crate) const ID: usize = 8;
    pub(crate) const NAME_LENGTH: usize = 12;
    pub(crate) const PARENT_OBJECT: usize = 16;
    pub(crate) const PARENT_SLOT: usize = 20;
    pub(crate) const PARENT_USE: usize = 24;
    pub(crate) const NAME: usize = 32;
    pub(crate) const USE_AGAIN: usize = 248;
    pub(crate) const SIZE: usize = 256;

    /// The most bytes of a name.
    pub(crate) const MAX_NAME: usize = USE_AGAIN - NAME;
    /// No parent.
    pub(crate) const NO_PARENT: u32 = u32::MAX;
}
