//! The overview of the machine: its queries, its samples, and the rows of a log around the cursor.

use std::time::{Duration, Instant};

use tallymon::core::flow::{NoValue, SourceError};
use tallymon::core::time::FileTime;
use tallymon::sample::{Listener, Tick as Sample};
use tallymon::{Log, Query};

use crate::log::columns::{Loading, Part, Span};
use crate::model::overview::{NetworkAddresses, OVERVIEW_SHARE, Overview};
use crate::workspace::state::{View, Workspace};

/// How many rows of a log are read around the cursor.
const ROWS: usize = 512;

/// The overview of a source, with its past.
pub(crate) struct OverviewState {
    pub(crate) model: Overview,
    counters: Query,
    processes: Query,
    /// `None` for a log.
    listener: Option<Listener>,
    /// The log of the shown host.
    log: Option<Log>,
    /// The addresses of this machine; `None` for a log and another machine.
    network: Option<NetworkAddresses>,
    /// The rows of the log that are being read.
    loading: Option<Loading>,
    /// The time that the rows were read for: if the log has no record there, they are not read again.
    loaded: Option<FileTime>,
    /// Position of the host.
    pub(crate) host: usize,
}

impl OverviewState {
    /// Takes a live sample.
    fn take(&mut self, sample: &Sample) {
        let Some(listener) = &self.listener else { return };
        // The chart has noted the gap of a failed sample for both.
        let Some(Ok(snapshot)) = sample.of(listener) else { return };
        let time = sample.time;
        self.counters.accept(snapshot.clone());
        self.processes.accept(snapshot.clone());
        self.model.take(time, &self.counters);
        if let Some(network) = &mut self.network {
            network.tell(&mut self.model);
        }
        self.model.processes.take(time, &self.processes, true);
    }

    /// Shows a log at a time.
    fn go_to(&mut self, time: FileTime, step: u64) -> Result<(), SourceError> {
        self.processes.collect()?;
        self.model.processes.take(time, &self.processes, false);
        self.counters.collect()?;
        let readings = self.counters.readings();
        self.model.take_counts(time, &readings);
        if self.model.row_of(time).is_some() || self.loaded == Some(time) {
            return Ok(());
        }
        self.loaded = Some(time);
        let Some(log) = self.log.clone() else { return Ok(()) };
        let places = self.model.expect_rows(&self.counters, &readings);
        let (mut positions, mut columns) = (Vec::new(), Vec::new());
        for (reading, place) in readings.iter().zip(places) {
            let column = log.column(reading.object, reading.counter, reading.instance.as_ref());
            let (Some(place), Some(column)) = (place, column) else { continue };
            if !positions.contains(&place) {
                positions.push(place);
                columns.push(column);
            }
        }
        self.model.rows_mut().begin_rows();
        let from = FileTime(time.0.saturating_sub(step.saturating_mul(ROWS as u64 / 2)));
        let span = Span { from, most: ROWS, times: (from, time) };
        self.loading = Loading::begin(span, positions, move |wanted, each| {
            log.read_from(&columns, from, || wanted.strong_count() > 0, each)
        })
        .ok();
        Ok(())
    }

    /// Takes rows of the log; whether any arrived.
    fn rows_come(&mut self, patience: Duration) -> bool {
        let begin = Instant::now();
        let mut has_news = false;
        while let Some(loading) = &mut self.loading {
            match loading.wait(patience.saturating_sub(begin.elapsed())) {
                Some(Part::Rows(rows)) => {
                    for (time, values) in rows.iter() {
                        self.model.rows_mut().add_row(time, &loading.positions, values);
                    }
                }
                Some(Part::End { .. }) => self.loading = None,
                None => break,
            }
            has_news = true;
        }
        has_news
    }
}

impl Workspace {
    /// Begins to sample the overview, unless it is sampled already. It goes on under the other views, so that
    /// its past has no gaps.
    ///
    /// # Errors
    ///
    /// The source cannot be opened.
    pub(crate) fn begin_overview(&mut self) -> Result<(), SourceError> {
        if self.overview.is_some() {
            return Ok(());
        }
        self.begin_overview_of(self.chosen_host())
    }

    /// Shows the overview of a host; that of another host ends.
    ///
    /// # Errors
    ///
    /// The host has never answered.
    pub(crate) fn show_overview_of(&mut self, host: usize) -> Result<(), SourceError> {
        if self.overview.as_ref().is_none_or(|state| state.host != host) {
            self.begin_overview_of(host)?;
        }
        self.view = View::Overview;
        Ok(())
    }

    fn begin_overview_of(&mut self, host: usize) -> Result<(), SourceError> {
        let mut counters = self.open_host(host)?;
        let mut processes = self.open_host(host)?;
        let budget = self.options.budget / OVERVIEW_SHARE;
        let mut model = Overview::new(budget, &mut counters, &mut processes);
        let listener = self.listener_of(host);
        if let Some(listener) = &listener {
            let wanted = counters.request().union(&processes.request());
            listener.want(wanted.unwrap_or_else(|| counters.request()));
            // Both histories together stay within the stated memory.
            self.monitor.set_budget(self.options.budget.saturating_sub(budget));
        }
        let log = self.replay.as_ref().map(|replay| self.log_of(host).unwrap_or_else(|| replay.log.clone()));
        let (loading, loaded) = (None, None);
        let source = self.options.addresses.filter(|_| log.is_none());
        model.set_processor(self.options.processor.clone().filter(|_| log.is_none()));
        let network = source.map(NetworkAddresses::new);
        self.overview =
            Some(OverviewState { model, counters, processes, listener, log, network, loading, loaded, host });
        if self.replay.is_some() {
            self.follow_cursor();
        }
        Ok(())
    }

    /// After a log: rates over its time would be meaningless, so they begin again. The past stays.
    pub(super) fn listen_again_for_overview(&mut self) {
        let Some(mut state) = self.overview.take() else { return };
        let past = self.begin_overview();
        if let (Ok(()), Some(fresh)) = (past, &mut self.overview) {
            state.model.lack_as(&fresh.model);
            std::mem::swap(&mut fresh.model, &mut state.model);
        }
    }

    /// Takes a sample, or shows the log at the time of its cursor.
    pub(crate) fn overview_takes(&mut self, sample: Option<&Sample>) {
        let time = self.overview_time();
        let is_shown = self.view == View::Overview;
        let step = self.replay.as_ref().map(|replay| replay.step());
        let Some(state) = &mut self.overview else { return };
        match (sample, step) {
            (Some(sample), None) => state.take(sample),
            (None, Some(step)) if is_shown => {
                if let Some(Err(error)) = time.map(|time| state.go_to(time, step.max(1))) {
                    self.message = Some(error.to_string());
                }
            }
            _ => {}
        }
    }

    /// Records a gap of the overview too.
    pub(super) fn overview_misses(&mut self, time: FileTime, why: NoValue) {
        if let Some(state) = &mut self.overview {
            state.model.miss(time, why);
        }
    }

    /// A row of several machines ended: the overview has a gap if its machine did not answer.
    pub(super) fn overview_ends_row(&mut self, time: FileTime) {
        let host = self.overview.as_ref().map(|state| state.host);
        if let Some(why) = host.and_then(|host| self.gap_of_machine(host)) {
            self.overview_misses(time, why);
        }
    }

    /// The time that the overview shows: that of the cursor, else of the newest row in view.
    pub(crate) fn overview_time(&self) -> Option<FileTime> {
        let window = &self.monitor.window;
        if self.replay.is_none() && window.is_live() && window.cursor.is_none() {
            return self.overview.as_ref()?.model.newest();
        }
        let row = window.cursor.or_else(|| self.monitor.view().end.checked_sub(1));
        let last = || self.replay.as_ref().map(|replay| replay.log.summary().last);
        row.and_then(|row| self.monitor.time(row)).or_else(last)
    }

    /// Whether rows of a log are being read for the overview.
    pub(crate) fn overview_reads(&self) -> bool {
        self.overview.as_ref().is_some_and(|state| state.loading.is_some())
    }

    /// Takes rows of a log that arrive within a time; whether any did.
    pub(crate) fn overview_rows_come(&mut self, patience: Duration) -> bool {
        self.overview.as_mut().is_some_and(|state| state.rows_come(patience))
    }

    /// Shows a counter of the overview in the chart, with its past.
    pub(crate) fn chart_of_overview(&mut self, path: &str) {
        let series = self.overview.as_ref().filter(|_| self.replay.is_none());
        let series = series.and_then(|state| state.model.series_of(path)).cloned();
        if let Some(mut series) = series {
            series.asked = path.to_string();
            // Its rows are those of the chart: both end with the newest sample.
            let next = self.monitor.next();
            self.monitor.restore(series, next, usize::MAX);
        }
        let host = self.overview.as_ref().map_or(0, |state| state.host);
        let path = self.prefix(host) + path;
        self.add_and_choose(&path);
        self.choose_what_was_added();
        self.view = View::Graph;
    }
}
