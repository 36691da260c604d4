//! A series of a report.

use crate::statistics::Figures;

/// A series in numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Its object, counter and instance, as they may be shown.
    pub object: String,
    /// The name of the counter.
    pub counter: String,
    /// The instance, if the object has any.
    pub instance: Option<String>,
    /// The unit, such as `%`; empty for plain numbers.
    pub unit: &'static str,
    /// The statistics of all its values.
    pub figures: Option<Figures>,
    /// Those of the logs from before.
    pub before: Option<Figures>,
}
