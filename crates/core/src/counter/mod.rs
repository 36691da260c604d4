//! Counter types, their formulas and how their values are shown.

/// A `CounterType` of winperf.h: bit fields that say how the raw value becomes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CounterType(pub u32);
