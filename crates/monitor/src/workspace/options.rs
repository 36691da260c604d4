//! The options of the monitor.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tallymon::core::flow::{SourceError, SourceErrorKind};
use tallymon::core::time::{FileTime, SystemTime};
use tallymon::fleet::Fleet;
use tallymon::log::ReadOptions;
use tallymon::process::Processes;
use tallymon::registry::Roots;
use tallymon::sample::Pending;
use tallymon::{Log, Query, Sampler, SourceInfo};

use crate::model::DEFAULT_BUDGET;
use crate::model::overview::Addresses;
use crate::sessions::Sessions;
use crate::settings::Settings;
use crate::term::chart::Glyphs;
use crate::term::theme::Colours;

/// A local time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalTime {
    /// Date and time.
    pub time: SystemTime,
    /// Name of the time zone, such as `CET`.
    pub zone: String,
    /// Minutes to add to local time to get UTC.
    pub bias: i32,
}

/// Makes another query over the source: for previews, for tables, and to drop removed counters.
pub(crate) type Open = Box<dyn FnMut() -> Result<Query, SourceError>>;

/// A live machine among several.
#[derive(Debug)]
pub struct LiveHost {
    /// Its name in paths.
    pub name: String,
    /// Its source on a thread of its own; `None` for the first machine, which has the sampler of the options.
    pub sampler: Option<Sampler>,
    /// Its names and objects.
    pub opening: Opening,
}

/// The names and objects of a machine, which may not have answered yet.
#[derive(Debug)]
pub enum Opening {
    /// They are known.
    Done(SourceInfo),
    /// They are on their way.
    Pending(Pending<SourceInfo>),
    /// The machine failed; it is tried again.
    Failed(SourceError),
}

/// The options of the monitor.
pub struct Options {
    /// The counters to start with.
    pub paths: Vec<String>,
    /// Opens a query without paths over the same log; a live source has a sampler instead.
    pub open: Open,
    /// The live source on a thread of its own; the query has its names and objects. Without a sampler, and
    /// without a log, the source of the query moves to a thread.
    pub sampler: Option<Sampler>,
    /// Live machines to show at once, the one of the sampler first; fewer than two are none.
    pub hosts: Vec<LiveHost>,
    /// The values to compute from those of all machines, and which machines the chart shows.
    pub fleet: Fleet,
    /// Settings to apply before `paths` are added.
    pub settings: Option<Settings>,
    /// The log to show instead of live samples; the query reads its source then.
    pub log: Option<Log>,
    /// The first and the last time of the log to show in the chart at first.
    pub range: Option<(FileTime, FileTime)>,
    /// The time of the log under the cursor at first.
    pub at: Option<FileTime>,
    /// The registries of provider libraries, to enable and disable them; `None` where the source is not this
    /// machine.
    pub registry: Option<Roots>,
    /// Lists, starts and stops recording sessions; `None` where there are none.
    pub sessions: Option<Arc<dyn Sessions>>,
    /// Facts and details of processes; `None` where the source is not this machine.
    pub processes: Option<Arc<dyn Processes>>,
    /// Reads the addresses of interfaces; `None` where the source is not this machine.
    pub addresses: Option<fn() -> Addresses>,
    /// The name of its processors; `None` where it is not known, or the source is not this machine.
    pub processor: Option<String>,
    /// Begin with the overview instead of the chart.
    pub overview: bool,
    /// How to read logs that the user opens.
    pub reading: ReadOptions,
    /// Converts UTC to local time; the default is UTC.
    pub local: Box<dyn Fn(FileTime) -> LocalTime>,
    /// Time between samples.
    pub interval: Duration,
    /// Whether to keep the top contributors of every row: the largest instances of the charted objects, and
    /// the largest processes. Each sample reads the processes then.
    pub top: bool,
    /// Memory budget of the history in bytes.
    pub budget: usize,
    /// Characters of the chart.
    pub glyphs: Glyphs,
    /// Colours of the terminal.
    pub colours: Colours,
    /// Set it to end the monitor.
    pub stop: Arc<AtomicBool>,
}

impl Options {
    /// The defaults for a live source.
    pub fn live(sampler: Sampler) -> Options {
        let none = || Err(SourceError::new(SourceErrorKind::Unsupported, "the sampler has the source"));
        Options { sampler: Some(sampler), ..Options::new(none) }
    }

    /// The defaults, for the terminal that the environment describes.
    pub fn new(open: impl FnMut() -> Result<Query, SourceError> + 'static) -> Options {
        Options {
            paths: Vec::new(),
            open: Box::new(open),
            sampler: None,
            hosts: Vec::new(),
            fleet: Fleet::default(),
            log: None,
            range: None,
            at: None,
            registry: None,
            sessions: None,
            processes: None,
            addresses: None,
            processor: None,
            overview: false,
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
