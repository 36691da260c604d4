//! All series with their history, and the choices of the user.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;

use tallymon::PathError;
use tallymon::core::path::CounterPath;
use tallymon::core::time::FileTime;

use crate::model::alerts::Alerts;
use crate::model::history::History;
use crate::model::identity::SeriesIdentity;
use crate::model::index::SeriesIndex;
use crate::model::look::Look;
use crate::model::picture::Picture;
use crate::model::point::POINT_BYTES;
use crate::model::scale::Scale;
use crate::model::series::{Series, Statistics};
use crate::model::ticks::Ticks;
use crate::model::top::Top;
use crate::model::window::Window;

/// Default memory budget in bytes: 8 hours of 90 counters a second with their top contributors, 16 hours of
/// 20.
pub const DEFAULT_BUDGET: usize = 64 << 20;

/// How many series of ended instances are kept; the ones that ended first are dropped first.
pub const MOST_ENDED: usize = 100;

/// The fewest rows that are kept, whatever the budget.
const FEWEST_ROWS: usize = 16;

/// All series, their history, and the part of it in view.
#[derive(Debug)]
pub struct Monitor {
    pub(super) series: Vec<Series>,
    pub(super) index: SeriesIndex,
    /// Paths of series of a wildcard that the user removed one by one, in lower case.
    pub(super) removed: HashSet<String>,
    /// The same for series with an identity, each with its path.
    pub(super) removed_identities: HashMap<SeriesIdentity, String>,
    /// The series that were removed last, with their positions, for undo.
    pub(super) gone: Vec<(usize, Series)>,
    /// The history that was cleared last, for undo.
    pub(super) cleared: Option<History>,
    /// Styles of series that do not exist yet, by path in lower case.
    pub(super) looks: HashMap<String, Look>,
    /// The top contributors of each row.
    pub top: Top,
    /// Crossed thresholds.
    pub alerts: Alerts,
    /// The ticked instances: while there are any, only their series are shown.
    pub ticks: Ticks,
    /// Paths that cannot be used, with the reason.
    pub(super) failed: Vec<PathError>,
    pub(super) times: VecDeque<FileTime>,
    /// Number of the row that comes next.
    pub(super) next: u64,
    /// Bytes of values that are kept.
    pub(super) budget: usize,
    pub(super) next_colour: usize,
    /// Position of the chosen line of the legend: a series, or after the series a path that failed.
    pub(super) selected: usize,
    /// The chosen series is highlighted.
    pub highlight: bool,
    /// The rows in view.
    pub window: Window,
    /// Axis, grid, title and parts of the chart.
    pub picture: Picture,
}

impl Default for Monitor {
    fn default() -> Monitor {
        Monitor::new(DEFAULT_BUDGET)
    }
}

impl Monitor {
    /// A monitor without series that keeps values in at most `budget` bytes.
    pub fn new(budget: usize) -> Monitor {
        Monitor {
            series: Vec::new(),
            index: SeriesIndex::default(),
            removed: HashSet::new(),
            removed_identities: HashMap::new(),
            gone: Vec::new(),
            cleared: None,
            looks: HashMap::new(),
            top: Top::default(),
            alerts: Alerts::default(),
            ticks: Ticks::default(),
            failed: Vec::new(),
            times: VecDeque::new(),
            next: 0,
            budget,
            next_colour: 0,
            selected: 0,
            highlight: false,
            window: Window::default(),
            picture: Picture::default(),
        }
    }

    /// Keeps values in at most `budget` bytes from the next row on.
    pub const fn set_budget(&mut self, budget: usize) {
        self.budget = budget;
    }

    /// Shows a path that cannot be used, with the reason, once.
    pub fn fail(&mut self, error: PathError) {
        if !self.failed.iter().any(|known| known.path == error.path) {
            self.failed.push(error);
        }
    }

    /// Whether a series is drawn: it is not hidden, is numeric, and passes the ticks.
    pub fn is_drawn(&self, series: &Series) -> bool {
        !series.hidden && !series.counter_type.is_text() && self.ticks.pass_series(series)
    }

    /// All series in the order of their arrival.
    pub fn series(&self) -> &[Series] {
        &self.series
    }

    /// Paths that cannot be used.
    pub fn failed(&self) -> &[PathError] {
        &self.failed
    }

    /// Position of the chosen line: a series, or after the series a path that failed.
    pub const fn selected(&self) -> usize {
        self.selected
    }

    /// The chosen series.
    pub fn chosen(&self) -> Option<&Series> {
        self.series.get(self.selected)
    }

    /// The chosen series, to change how it is shown.
    pub fn chosen_mut(&mut self) -> Option<&mut Series> {
        self.series.get_mut(self.selected)
    }

    /// All series, to change how they are shown.
    pub fn series_mut(&mut self) -> &mut [Series] {
        &mut self.series
    }

    /// Chooses a line; the last one when there are fewer.
    pub fn select(&mut self, position: usize) {
        self.selected = position.min(self.lines().saturating_sub(1));
    }

    /// Chooses the series of a path.
    pub fn select_path(&mut self, path: &str) {
        if let Some(position) = self.index.path(path) {
            self.selected = position;
        }
    }

    /// Lines of the legend: series, and paths that failed.
    pub fn lines(&self) -> usize {
        self.series.len().saturating_add(self.failed.len())
    }

    /// Notes that a path is added to the query: its removed series may return.
    pub fn expect(&mut self, path: &str) {
        match CounterPath::parse(path) {
            Ok(parsed) if parsed.path.instance.as_ref().is_some_and(|instance| instance.is_wild()) => {
                let object = path.split_once('(').map_or(path, |(object, _)| object).to_lowercase();
                self.removed.retain(|removed| !removed.starts_with(&object));
                self.removed_identities.retain(|_, removed| !removed.starts_with(&object));
            }
            _ => {
                self.removed.remove(&path.to_lowercase());
            }
        }
        self.failed.retain(|known| known.path != path);
    }

    /// Removes the chosen line. Returns the path that requested it when that was its last series: the query
    /// no longer needs it.
    pub fn remove_chosen(&mut self) -> Option<String> {
        let behind = self.selected.checked_sub(self.series.len());
        let removed = match behind {
            Some(position) => {
                if position < self.failed.len() {
                    self.failed.remove(position);
                }
                None
            }
            None => {
                if self.series.is_empty() {
                    return None;
                }
                let series = self.series.remove(self.selected);
                self.reindex();
                let others = self.series.iter().any(|other| other.asked == series.asked);
                self.stay_away(&series);
                let asked = (!others).then(|| series.asked.clone());
                self.gone.push((self.selected, series));
                asked
            }
        };
        self.select(self.selected);
        removed
    }

    /// The series removed since the last call, with their positions.
    pub fn take_removed(&mut self) -> Vec<(usize, Series)> {
        std::mem::take(&mut self.gone)
    }

    /// Removes all series that a path requested.
    pub fn remove_asked(&mut self, path: &str) {
        let (gone, stay) =
            std::mem::take(&mut self.series).into_iter().partition(|series| series.asked == path);
        self.series = stay;
        for series in gone {
            self.stay_away(&series);
        }
        self.failed.retain(|error| error.path != path);
        self.reindex();
        self.select(self.selected);
    }

    /// From now on readings of a removed series are ignored, while a query still collects them.
    pub(super) fn stay_away(&mut self, series: &Series) {
        let path = series.path.to_lowercase();
        match series.full_identity() {
            Some(who) => drop(self.removed_identities.insert(who, path)),
            None => drop(self.removed.insert(path)),
        }
    }

    /// Removes everything: a new counter set.
    pub fn remove_all(&mut self) {
        self.set_aside();
        self.series.clear();
        self.looks.clear();
        self.alerts.clear();
        self.ticks = Ticks::default();
        self.failed.clear();
        self.removed.clear();
        self.removed_identities.clear();
        self.reindex();
        self.next_colour = 0;
        self.selected = 0;
        self.clear();
    }

    /// Forgets all values and keeps the series.
    pub fn clear(&mut self) {
        self.set_aside();
        self.series.retain(|series| series.ended.is_none());
        self.reindex();
        self.select(self.selected);
        self.window.live();
    }

    /// The rows that are remembered.
    pub fn rows(&self) -> Range<u64> {
        self.next.saturating_sub(self.times.len() as u64)..self.next
    }

    /// The rows in view.
    pub fn view(&self) -> Range<u64> {
        self.window.rows(&self.rows())
    }

    /// Number of the row that comes next.
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// The time of a row.
    pub fn time(&self, row: u64) -> Option<FileTime> {
        let position = row.checked_sub(self.rows().start)?;
        self.times.get(usize::try_from(position).ok()?).copied()
    }

    /// The row at a time, or the first one after it, or the last one.
    pub fn row_at(&self, time: FileTime) -> Option<u64> {
        let position = self.times.partition_point(|known| *known < time);
        let position = position.min(self.times.len().checked_sub(1)?);
        Some(self.rows().start.saturating_add(position as u64))
    }

    /// Statistics of a series over the rows in view.
    pub fn statistics(&self, series: &Series) -> Statistics {
        series.statistics(self.next, &self.view())
    }

    /// The power of ten that a series is drawn with.
    pub fn power(&self, series: &Series) -> i32 {
        series.power(self.next, &self.view(), self.picture.axis.maximum())
    }

    /// Times of the first and the last row in view.
    pub fn view_times(&self) -> Option<(FileTime, FileTime)> {
        let view = self.view();
        Some((self.time(view.start)?, self.time(view.end.checked_sub(1)?)?))
    }

    /// Multiplies or divides the scale of the chosen series by 10.
    pub fn step_scale(&mut self, up: bool) {
        let Some(power) = self.chosen().map(|series| self.power(series)) else { return };
        let power = if up { power.saturating_add(1) } else { power.saturating_sub(1) };
        if let Some(series) = self.chosen_mut() {
            series.scale = Scale::Power(power.clamp(-9, 9));
        }
    }

    /// Bytes that all series use with their values, and the budget.
    pub fn memory(&self) -> (usize, usize) {
        let times = self.times.capacity().saturating_mul(size_of::<FileTime>());
        let times = times.saturating_add(self.top.bytes()).saturating_add(self.alerts.bytes());
        (self.series.iter().fold(times, |sum, series| sum.saturating_add(series.bytes())), self.budget)
    }

    /// How many rows the budget allows for this many series.
    pub fn most_rows(&self) -> usize {
        // Each row has its time beside the values.
        let row = self.series.len().saturating_add(1).saturating_mul(POINT_BYTES);
        let row = row.saturating_add(self.top.row_bytes());
        // Chunks of raw samples have next to no unused memory.
        let raw = self.series.iter().fold(0, |sum: usize, series| sum.saturating_add(series.raw_bytes()));
        let row = row.saturating_add(raw.div_ceil(self.times.len().max(1)).div_ceil(2));
        let own = self
            .series
            .iter()
            .fold(self.alerts.bytes(), |sum: usize, series| sum.saturating_add(series.own_bytes()));
        // A ring grows by doubling, so that half of its memory may be unused.
        (self.budget.saturating_sub(own) / 2).checked_div(row).unwrap_or(0).max(FEWEST_ROWS)
    }

    pub(super) fn push_time(&mut self, time: FileTime) {
        // The times of gaps are guesses: a late sample can be older than the gap that was recorded for it.
        // Rows stay in the order of their times.
        for guess in self.times.iter_mut().rev().take_while(|known| **known > time) {
            *guess = time;
        }
        self.times.push_back(time);
        self.next = self.next.saturating_add(1);
        let most = self.most_rows();
        self.keep(most);
        // Where many processes start and exit, their names use most of the memory.
        while self.top.name_bytes() > self.budget / 4 && self.times.len() > FEWEST_ROWS {
            self.keep(self.times.len().saturating_sub(1));
        }
        let rows = self.rows();
        self.window.forget(&rows);
    }

    /// Keeps the newest `rows` rows.
    pub(super) fn keep(&mut self, rows: usize) {
        while self.times.len() > rows {
            self.times.pop_front();
        }
        let rows = rows.min(self.times.len());
        for series in &mut self.series {
            series.keep(rows);
        }
        self.top.keep(rows);
    }

    /// Drops the oldest ended series: "all instances" must not grow for ever while processes start and exit.
    pub(super) fn drop_ended(&mut self) {
        let mut ended: Vec<FileTime> = self.series.iter().filter_map(|series| series.ended).collect();
        let Some(surplus) = ended.len().checked_sub(MOST_ENDED).filter(|surplus| *surplus > 0) else {
            return;
        };
        ended.sort_unstable();
        let Some(limit) = ended.get(surplus).copied() else { return };
        let chosen = self.chosen().map(|series| series.path.clone());
        let mut left = surplus;
        self.series.retain(|series| {
            let goes = left > 0
                && series.ended.is_some_and(|time| time <= limit)
                && chosen.as_ref() != Some(&series.path);
            left = left.saturating_sub(usize::from(goes));
            !goes
        });
        // Give back the room of an earlier peak.
        if self.series.capacity() > self.series.len().saturating_mul(2) {
            self.series.shrink_to(self.series.len());
        }
        self.reindex();
        match chosen {
            Some(path) => self.select_path(&path),
            None => self.select(self.selected),
        }
    }
}
