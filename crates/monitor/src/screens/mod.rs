//! The screens: the chart and its other views, the table, and the dialogs over them.
//!
//! Each implements [`screen::Screen`], owns its state, and sees no other screen. What it shows is the
//! [`Workspace`](crate::workspace::state::Workspace); what it wants the monitor to do it returns as an
//! [`Action`](screen::Action).

pub(crate) mod add;
pub(crate) mod alerts;
pub(crate) mod chart;
pub(crate) mod explain;
pub(crate) mod finding_text;
pub(crate) mod findings;
pub(crate) mod help;
pub(crate) mod hosts;
pub(crate) mod overview;
mod path_completion;
pub(crate) mod prompt;
pub(crate) mod properties;
pub(crate) mod providers;
pub(crate) mod screen;
pub(crate) mod sessions;
pub(crate) mod slider;
pub(crate) mod table;
