//! The counters with their history, and the choices of the user, without any screen.
//!
//! Readings go in, one row a sample; series, the rows in view and statistics come out. All values are kept up
//! to a stated number of bytes, also while the picture is frozen or the user looks back.

mod alerts;
pub mod causes;
mod clear;
mod collect_times;
mod columns;
mod compare;
mod crossings;
pub(crate) mod findings;
#[cfg(test)]
mod findings_tests;
pub mod format;
mod health;
mod history;
mod hosts;
mod identity;
mod index;
mod log_rows;
mod look;
mod monitor;
pub mod overview;
mod packed;
mod partial_runs;
mod picture;
mod point;
mod providers;
mod raw;
mod samples;
mod scale;
mod series;
mod styles;
mod switches;
mod ticks;
mod top;
mod tree;
mod window;

pub use alerts::{Alerts, Crossing, MOST_CROSSINGS};
pub use collect_times::{CollectTimes, LogTimes, MOST_TIMES};
pub use columns::{ColumnChoices, details_of, sort_by_use};
pub use compare::Compared;
pub use crossings::crosses;
pub use health::Health;
pub use history::History;
pub use hosts::{HostColumn, HostLoad, HostOrder, HostRow, HostState, HostSummary};
pub use look::{Look, MOST_WIDTH};
pub use monitor::{DEFAULT_BUDGET, MOST_ENDED, Monitor};
pub use picture::{Axis, Grid, Picture};
pub use point::{POINT_BYTES, Point};
pub use providers::{PROVIDERS_PATH, Provider, ProviderKind, objects, providers, tag_of};
pub use samples::HostSample;
pub use scale::{Scale, factor};
pub use series::{Series, Statistics};
pub use switches::{Switch, Switches};
pub(crate) use ticks::{PROCESS, process};
pub use ticks::{Tick, Ticks};
pub use top::{MOST_TOP, MOST_WATCHED, Top, TopGroup, TopInstance};
pub use tree::{DEEPEST, Numbers, tree};
pub use window::{DEFAULT_POINTS, POINTS_RANGE, Window};
