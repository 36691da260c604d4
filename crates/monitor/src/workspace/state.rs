//! The state of the monitor that all screens share.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use tallymon::core::flow::SourceError;
use tallymon::{Log, NameForm, Query, Reading};

use crate::log::comparison::Comparison;
use crate::log::opening::Opening;
use crate::log::replay::Replay;
use crate::model::overview::{OverviewLook, ProcessRow};
use crate::model::{ColumnChoices, History, HostOrder, Look, Monitor, Picture, Series, Ticks, Window};
use crate::settings::Settings;
use crate::term::task::Task;
use crate::term::theme::Theme;
use crate::words::Words;
use crate::workspace::feed::Sampling;
use crate::workspace::findings_state::FindingsState;
use crate::workspace::fold::Folding;
use crate::workspace::machines::Machines;
use crate::workspace::options::{Open, Options};
use crate::workspace::overview::OverviewState;

/// Everything that the screens show.
pub(crate) struct Workspace {
    pub(crate) query: Query,
    /// A query without the removed counters; it replaces `query` after its second sample.
    pub(super) successor: Option<Query>,
    /// The live source; `None` while a log is shown.
    pub(super) sampling: Option<Sampling>,
    /// Several live machines, the one of the query first.
    pub(super) machines: Option<Machines>,
    /// How the page of all machines is sorted.
    pub(crate) host_order: HostOrder,
    /// The paths of the query as they were written.
    pub(super) paths: Vec<String>,
    pub(crate) options: Options,
    pub(crate) monitor: Monitor,
    pub(crate) view: View,
    pub(crate) words: Words,
    pub(crate) theme: Theme,
    /// The readings of the last sample, for explanations.
    pub(crate) readings: Vec<Reading>,
    /// One line for the user, until the next key.
    pub(crate) message: Option<String>,
    pub(crate) failure: Option<SourceError>,
    /// How many samples in a row failed.
    pub(super) failures: u32,
    /// Whole seconds until a failed source is tried again.
    pub(crate) countdown: Option<u64>,
    /// Words that a line of the legend has to contain, in lower case.
    pub(crate) filter: String,
    /// The lines that are folded into one.
    pub(crate) folding: Folding,
    /// The log that is shown instead of samples.
    pub(crate) replay: Option<Replay>,
    /// The log that is compared with what is shown.
    pub(crate) comparison: Option<Comparison>,
    /// The file that is being opened.
    pub(crate) opening: Option<Opening>,
    /// The live samples, set aside while a log is shown that was opened here.
    pub(super) live: Option<Live>,
    /// The source was replaced: screens over the old one have to close.
    pub(super) source_changed: bool,
    /// The log is at another time: screens that show one moment have to read it again.
    pub(super) time_moved: bool,
    /// The path to choose once its series exists.
    pub(crate) choose: Option<String>,
    /// Paths whose libraries were started to define their objects.
    pub(super) undefined: Vec<String>,
    /// What can be undone, newest last.
    pub(super) steps: VecDeque<Step>,
    pub(super) jobs: Vec<Job>,
    /// The overview, once it was opened.
    pub(crate) overview: Option<OverviewState>,
    /// The process whose details are open.
    pub(crate) process: Option<ProcessRow>,
    /// What the overview shows and how.
    pub(crate) overview_look: OverviewLook,
    /// The columns of tables.
    pub(crate) columns: ColumnChoices,
    /// What is wrong in the history or in the log.
    pub(crate) findings: FindingsState,
    /// Text for the clipboard of the terminal.
    pub(crate) clipboard: Option<String>,
}

/// How the counters are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum View {
    /// All live machines, a row each.
    Hosts,
    Overview,
    #[default]
    Graph,
    Area,
    Stacked,
    Bars,
    Report,
    Split,
    Table,
}

/// The choices of the user, for undo.
#[derive(Debug, Clone)]
pub(crate) struct Choices {
    pub(super) window: Window,
    pub(super) view: View,
    pub(super) filter: String,
    pub(super) ticks: Ticks,
    pub(super) picture: Picture,
    pub(super) paths: Vec<String>,
    pub(super) looks: Vec<(String, Look)>,
}

/// The choices before a change, and what the change removed.
#[derive(Debug)]
pub(crate) struct Step {
    pub(super) before: Choices,
    /// Single series with their positions.
    pub(super) removed: Vec<(usize, Series)>,
    /// The cleared history.
    pub(super) cleared: Option<History>,
    /// Number of the next row at the time of the change.
    pub(super) at: u64,
}

/// The live samples, kept while a log is shown: nothing is sampled meanwhile.
pub(crate) struct Live {
    pub(super) query: Query,
    pub(super) paths: Vec<String>,
    pub(super) monitor: Monitor,
    pub(super) open: Open,
    pub(super) sampling: Option<Sampling>,
    pub(super) view: View,
    pub(super) overview: Option<OverviewState>,
}

/// The result of a job.
pub(crate) enum Done {
    /// A line for the user.
    Said(String),
    /// Logs to open.
    Open(Vec<PathBuf>),
}

/// A running job; an error is a line for the user.
pub(crate) type Job = Task<Result<Done, String>>;

/// The views as settings name them. A table is never saved: it shows one moment.
const VIEWS: [(&str, View); 8] = [
    ("hosts", View::Hosts),
    ("overview", View::Overview),
    ("graph", View::Graph),
    ("area", View::Area),
    ("stacked", View::Stacked),
    ("bars", View::Bars),
    ("report", View::Report),
    ("split", View::Split),
];

/// The shortest time between samples.
const SHORTEST: Duration = Duration::from_millis(100);

impl Workspace {
    /// A workspace over a query without paths; paths of the options that cannot be used are shown with the
    /// reason.
    pub(crate) fn new(query: Query, mut options: Options) -> Workspace {
        let paths = std::mem::take(&mut options.paths);
        let (hosts, fleet) = (std::mem::take(&mut options.hosts), options.fleet.clone());
        let mut workspace = Workspace {
            replay: options.log.take().map(Replay::new),
            words: Words::of(query.names().preferred()),
            theme: Theme::new(options.colours, options.glyphs),
            monitor: Monitor::new(options.budget),
            query,
            successor: None,
            sampling: None,
            machines: Machines::of(hosts, fleet),
            host_order: HostOrder::default(),
            paths: Vec::new(),
            options,
            view: View::default(),
            readings: Vec::new(),
            message: None,
            failure: None,
            failures: 0,
            countdown: None,
            filter: String::new(),
            folding: Folding::default(),
            comparison: None,
            opening: None,
            live: None,
            source_changed: false,
            time_moved: false,
            choose: None,
            undefined: Vec::new(),
            steps: VecDeque::new(),
            jobs: Vec::new(),
            overview: None,
            process: None,
            overview_look: OverviewLook::default(),
            columns: ColumnChoices::default(),
            findings: FindingsState::default(),
            clipboard: None,
        };
        if let Err(error) = workspace.begin_sampling() {
            workspace.message = Some(error.to_string());
        }
        if let Err(error) = workspace.reopen_others() {
            workspace.message = Some(error.to_string());
        }
        if let Some(settings) = workspace.options.settings.take() {
            workspace.apply(&settings);
        }
        for path in &paths {
            workspace.add(path);
        }
        if workspace.options.overview {
            workspace.view = if workspace.machines.is_some() { View::Hosts } else { View::Overview };
        }

        workspace.watch_top();
        workspace.load_log();
        workspace.show_chosen_times();
        workspace
    }

    /// The log that is shown, if it is one.
    pub(crate) fn log(&self) -> Option<&Log> {
        self.replay.as_ref().map(|replay| &replay.log)
    }

    /// Name of the host of the query.
    pub(crate) fn system_name(&self) -> &str {
        if let Some(name) = self.machines().and_then(|machines| machines.names().next()) {
            return name;
        }
        self.query.system_name()
    }

    /// Whether the source was replaced since the last call.
    pub(crate) fn take_source_changed(&mut self) -> bool {
        std::mem::take(&mut self.source_changed)
    }

    /// Whether the log was set to another time since the last call.
    pub(crate) fn take_time_moved(&mut self) -> bool {
        std::mem::take(&mut self.time_moved)
    }

    /// The current choices, as a settings file keeps them.
    pub(crate) fn settings(&self) -> Settings {
        let view = VIEWS.iter().find(|(_, view)| *view == self.view).map(|(name, _)| (*name).to_string());
        let series = self.monitor.series();
        Settings {
            counters: self.paths.clone(),
            view,
            interval: Some(self.options.interval),
            points: Some(self.monitor.window.points()),
            sweep: Some(self.monitor.window.sweep),
            picture: Some(self.monitor.picture.clone()),
            looks: series.iter().map(|series| (series.path.clone(), series.look())).collect(),
            alerts: self.monitor.alerts.crossings().iter().cloned().collect(),
            overview: (self.overview_look != OverviewLook::default()).then(|| self.overview_look.clone()),
            columns: (!self.columns.0.is_empty()).then(|| self.columns.clone()),
            names: Some(self.query.names().locale().names).filter(|names| *names != NameForm::default()),
            left_out: Vec::new(),
        }
    }

    /// Replaces the current choices with those of settings.
    pub(crate) fn apply(&mut self, settings: &Settings) {
        self.remove_all();
        let view = VIEWS.iter().find(|(name, _)| settings.view.as_deref() == Some(name));
        self.view = view.map_or(View::Graph, |(_, view)| *view);
        if self.view == View::Hosts && self.machines().is_none() {
            // The settings were saved for several machines.
            self.view = View::Overview;
        }
        self.options.interval = settings.interval.unwrap_or(self.options.interval).max(SHORTEST);
        if self.replay.is_none() {
            self.monitor.window.set_points(settings.points.unwrap_or(self.monitor.window.points()));
            self.monitor.window.sweep = settings.sweep.unwrap_or(self.monitor.window.sweep);
        }
        if let Some(picture) = &settings.picture {
            self.monitor.picture = picture.clone();
        }
        if let Some(look) = &settings.overview {
            self.overview_look = look.clone();
        }
        if let Some(columns) = &settings.columns {
            self.columns = columns.clone();
        }
        self.monitor.alerts.restore(&settings.alerts);
        for (path, look) in &settings.looks {
            self.monitor.apply_style(path, *look);
        }
        for path in &settings.counters {
            self.add(path);
        }
        if !settings.left_out.is_empty() {
            self.message = Some(format!("left out of the view: {}", settings.left_out.join(", ")));
        }
        self.load_log();
    }
}
