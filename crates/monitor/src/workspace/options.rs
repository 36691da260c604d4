//! What the caller chooses.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tallymon::core::flow::{SourceError, SourceErrorKind};
use tallymon::core::time::{FileTime, SystemTime};
use tallymon::log::ReadOptions;
use tallymon::registry::Roots;
use tallymon::{Log, Query, Sampler};

use crate::model::DEFAULT_BUDGET;
use crate::sessions::Sessions;
use crate::settings::Settings;
use crate::term::chart::Glyphs;
use crate::term::theme::Colours;

/// A time on the clock on the wall.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalTime {
    /// Date and time.
    pub time: SystemTime,
    /// Name of the time zone, such as `CET`.
    pub zone: String,
    /// Minutes to add to local time to get UTC.
    pub bias: i32,
}

/// Makes one more query over the source: for previews, for tables, and to be rid of counters that were removed.
pub(crate) type Open = Box<dyn FnMut() -> Result<Query, SourceError>>;

/// Choices of the caller of the monitor.
pub struct Options {
    /// The counters to start with.
    pub paths: Vec<String>,
    /// Opens a query without paths over the same log; a live source has a sampler instead.
    pub open: Open,
    /// The live source on its own thread; the query is one over its info. Without it, and without a log, the source of
    /// the query moves to a thread.
    pub sampler: Option<Sampler>,
    /// What to show instead of or beside `paths`.
    pub settings: Option<Settings>,
    /// The log to show instead of samples; the query is over its source then.
    pub log: Option<Log>,
    /// Where provider libraries are enabled and disabled; `None` where the source is not this machine.
    pub registry: Option<Roots>,
    /// Where recording sessions are listed, started and stopped; `None` where there are none.
    pub sessions: Option<Arc<dyn Sessions>>,
    /// How logs are read that the user opens.
    pub reading: ReadOptions,
    /// UTC to local time; UTC when nobody says otherwise.
    pub local: Box<dyn Fn(FileTime) -> LocalTime>,
    /// Time between samples.
    pub interval: Duration,
    /// Whether it is kept, for every row, who made the values: the largest instances of what is charted, and the largest
    /// processes. The processes are read with each sample then.
    pub top: bool,
    /// Bytes of values that are remembered.
    pub budget: usize,
    /// Letters of the chart.
    pub glyphs: Glyphs,
    /// Colours of the terminal.
    pub colours: Colours,
    /// Somebody sets it to end the monitor.
    pub stop: Arc<AtomicBool>,
}

impl Options {
    /// The usual choices for a live source.
    pub fn live(sampler: Sampler) -> Options {
        let none = || Err(SourceError::new(SourceErrorKind::Unsupported, "the sampler has the source"));
        Options { sampler: Some(sampler), ..Options::new(none) }
    }

    /// The usual choices, for the terminal that the environment describes.
    pub fn new(open: impl FnMut() -> Result<Query, SourceError> + 'static) -> Options {
        Options {
            paths: Vec::new(),
            open: Box::new(open),
            sampler: None,
            log: None,
            registry: None,
            sessions: None,
            reading: ReadOptions::default(),
            settings: None,
            local: Box::new(|time| LocalTime { time: time.system_time(), zone: "UTC".into(), bias: 0 }),
            interval: Duration::from_secs(1),
            top: true,
            budget: DEFAULT_BUDGET,
            glyphs: Glyphs::of_environment(),
            colours: Colours::of_environment(),
            stop: Arc::default(),
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("paths", &self.paths)
            .field("interval", &self.interval)
            .field("budget", &self.budget)
            .field("glyphs", &self.glyphs)
            .field("colours", &self.colours)
            .finish_non_exhaustive()
    }
}
