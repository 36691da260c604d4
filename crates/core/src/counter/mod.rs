//! Counter types, their formulas, and how their values are displayed.
//!
//! A counter type is a 32-bit number. Its bit fields say how large the raw value is, which clock or base it
//! is divided by, and which suffix the result has. The input is one or two [`Sample`](crate::flow::Sample)s
//! from a data block or a log. The output is a [`Value`](crate::flow::Value), or the reason why there is none
//! ([`NoValue`](crate::flow::NoValue)). Nothing here reads a block or a clock.
//!
//! ```
//! use tallymon_core::counter::{CounterType, compute, g17};
//! use tallymon_core::flow::{NoValue, Sample, Value};
//! use tallymon_core::time::{FileTime, Frequency};
//!
//! let older = Sample {
//!     counter_type: CounterType::PERF_COUNTER_COUNTER,
//!     first: 574_088_259,
//!     second: 2_006_530_743_703,
//!     frequency: Frequency(2_630_633),
//!     multi_count: 1,
//!     time: FileTime(0),
//! };
//! let newer = Sample { first: 574_088_260, second: 2_006_538_643_468, ..older };
//! assert_eq!(compute(None, &newer), Err(NoValue::FirstSample));
//! let rate = compute(Some(&older), &newer).unwrap();
//! assert_eq!(g17(rate.as_f64().unwrap()).to_string(), "0.33300142472592542");
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `types` | [`CounterType`], its bit fields, and [`TYPES`]: the one table that everything else reads |
//! | `formula` | [`compute`] and one function for each equation |
//! | `digits` | the decimal digits of a number |
//! | `display` | [`apply`]: limits and scales; [`human`] and [`write_g17`]: numbers as text |
//! | `style` | [`TextStyle`]: which text and number an output writes for a value |

mod digits;
mod display;
mod formula;
mod joined;
mod style;
mod types;

pub use display::{
    CHART_SCALE_RANGE, F6, Format, G17, Human, MANIFEST_SCALE_RANGE, SCALE_RANGE, Scale, apply, f6, g17,
    human, write_f6, write_g17,
};
pub use formula::{Formula, average, compute};
pub use joined::{Joined, weight};
pub use style::{Digits, TextStyle};
pub use types::{
    CounterType, Denominator, Kind, Size, Subtype, Suffix, TYPES, TimeBase, TypeInfo, VALUE_STATUS,
};
