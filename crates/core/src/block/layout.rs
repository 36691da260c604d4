//! Offsets and sizes of all fields, the only numbers in the codec. Offsets are from the start of the
//! structure.

/// `PERF_DATA_BLOCK`, 88 bytes on 32-bit and 64-bit systems.
pub(super) mod data_block {
    pub(in crate::block) const SIZE: usize = 88;
    pub(in crate::block) const SIGNATURE: usize = 0;
    pub(in crate::block) const LITTLE_ENDIAN: usize = 8;
    pub(in crate::block) const VERSION: usize = 12;
    pub(in crate::block) const REVISION: usize = 16;
    pub(in crate::block) const TOTAL_BYTE_LENGTH: usize = 20;
    pub(in crate::block) const HEADER_LENGTH: usize = 24;
    pub(in crate::block) const NUM_OBJECT_TYPES: usize = 28;
    pub(in crate::block) const DEFAULT_OBJECT: usize = 32;
    pub(in crate::block) const SYSTEM_TIME: usize = 36;
    pub(in crate::block) const PERF_TIME: usize = 56;
    pub(in crate::block) const PERF_FREQ: usize = 64;
    pub(in crate::block) const PERF_TIME_100NS: usize = 72;
    pub(in crate::block) const SYSTEM_NAME_LENGTH: usize = 80;
    pub(in crate::block) const SYSTEM_NAME_OFFSET: usize = 84;
}

/// `PERF_OBJECT_TYPE`, 64 bytes.
pub(super) mod object_type {
    pub(in crate::block) const SIZE: usize = 64;
    pub(in crate::block) const TOTAL_BYTE_LENGTH: usize = 0;
    pub(in crate::block) const DEFINITION_LENGTH: usize = 4;
    pub(in crate::block) const HEADER_LENGTH: usize = 8;
    pub(in crate::block) const NAME_TITLE_INDEX: usize = 12;
    pub(in crate::block) const HELP_TITLE_INDEX: usize = 20;
    pub(in crate::block) const DETAIL_LEVEL: usize = 28;
    pub(in crate::block) const NUM_COUNTERS: usize = 32;
    pub(in crate::block) const DEFAULT_COUNTER: usize = 36;
    pub(in crate::block) const NUM_INSTANCES: usize = 40;
    pub(in crate::block) const CODE_PAGE: usize = 44;
    pub(in crate::block) const PERF_TIME: usize = 48;
    pub(in crate::block) const PERF_FREQ: usize = 56;
}

/// `PERF_COUNTER_DEFINITION`, 40 bytes.
pub(super) mod counter_definition {
    pub(in crate::block) const SIZE: usize = 40;
    pub(in crate::block) const BYTE_LENGTH: usize = 0;
    pub(in crate::block) const NAME_TITLE_INDEX: usize = 4;
    pub(in crate::block) const HELP_TITLE_INDEX: usize = 12;
    pub(in crate::block) const DEFAULT_SCALE: usize = 20;
    pub(in crate::block) const DETAIL_LEVEL: usize = 24;
    pub(in crate::block) const COUNTER_TYPE: usize = 28;
    pub(in crate::block) const COUNTER_SIZE: usize = 32;
    pub(in crate::block) const COUNTER_OFFSET: usize = 36;
}

/// `PERF_INSTANCE_DEFINITION`: 24 bytes, then the name.
pub(super) mod instance_definition {
    pub(in crate::block) const SIZE: usize = 24;
    pub(in crate::block) const BYTE_LENGTH: usize = 0;
    pub(in crate::block) const PARENT_OBJECT_TITLE_INDEX: usize = 4;
    pub(in crate::block) const PARENT_OBJECT_INSTANCE: usize = 8;
    pub(in crate::block) const UNIQUE_ID: usize = 12;
    pub(in crate::block) const NAME_OFFSET: usize = 16;
    pub(in crate::block) const NAME_LENGTH: usize = 20;
}

/// `PERF_COUNTER_BLOCK`: its length, then the data.
pub(super) mod counter_block {
    pub(in crate::block) const SIZE: usize = 4;
    pub(in crate::block) const BYTE_LENGTH: usize = 0;
}

/// Every structure starts at a multiple of this.
pub(super) const ALIGNMENT: usize = 8;
