//! The chart and the other views of the same counters.

pub(crate) mod bars;
pub(crate) mod graph;
pub(crate) mod legend;
pub(crate) mod report;
pub(crate) mod spike;
pub(crate) mod split;
pub(crate) mod tooltip;
