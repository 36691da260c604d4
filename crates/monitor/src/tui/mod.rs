//! The screen, its keys, and the terminal around it.

mod add;
mod alerts;
mod app;
mod bars;
mod browse;
mod columns;
mod compare;
mod copied;
mod deed;
mod draw;
mod graph;
mod hosts;
#[cfg(not(unix))]
#[path = "job_other.rs"]
mod job;
#[cfg(unix)]
#[path = "job_unix.rs"]
mod job;
mod keys;
mod legend;
mod list;
mod loading;
mod mouse;
mod names;
mod open;
mod opening;
mod options;
mod overlay;
mod paging;
mod properties;
mod providers;
mod replay;
mod report;
mod sample;
mod sessions;
mod spike;
mod split;
mod table;
mod tabling;
mod task;
mod terminal;
mod text;
mod theme;
mod tooltip;
mod typed;
mod undo;

pub use app::App;
pub use browse::browse;
pub use open::{meant_of_log, usual_of_log};
pub use options::{LocalTime, Open, Options};
pub use terminal::{put_back, run};
pub use theme::Colours;
