//! The screens: the chart and its other views, the table, and the dialogs over them.

pub(crate) mod add;
pub(crate) mod alerts;
pub(crate) mod chart;
pub(crate) mod properties;
pub(crate) mod providers;
pub(crate) mod sessions;
pub(crate) mod table;
