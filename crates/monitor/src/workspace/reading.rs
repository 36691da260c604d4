//! Reads the values of a log into memory while the chart shows what has arrived.

use std::sync::Weak;
use std::time::{Duration, Instant};

use tallymon::core::time::FileTime;
use tallymon::{Log, LogRow, Reading};

use crate::log::columns::{Loading, Part, Rows, Span, Staged};
use crate::log::opening::progress;
use crate::words::Word;
use crate::workspace::state::Workspace;

/// How long to take values before keys are checked again.
const TAKES: Duration = Duration::from_millis(25);

impl Workspace {
    /// Whether values of a log are being read.
    pub(crate) fn is_reading(&self) -> bool {
        self.loading().is_some()
    }

    /// The columns that are being read: those of the log first, then those of the compared log.
    fn loading(&self) -> Option<&Loading> {
        let shown = self.replay.as_ref().and_then(|replay| replay.loading.as_ref());
        shown.or_else(|| self.comparison.as_ref()?.loading.as_ref())
    }

    fn loading_mut(&mut self) -> Option<&mut Loading> {
        let shown = self.replay.as_mut().and_then(|replay| replay.loading.as_mut());
        match shown {
            Some(loading) => Some(loading),
            None => self.comparison.as_mut()?.loading.as_mut(),
        }
    }

    /// Whether reading began since the last call.
    pub(crate) fn begins_to_read(&mut self) -> bool {
        self.loading_mut().is_some_and(|loading| std::mem::take(&mut loading.is_new))
    }

    /// The progress of opening a file or of reading values, as a line; the message follows it.
    pub(crate) fn progress(&self) -> Option<String> {
        let line = match (&self.opening, self.loading()) {
            (Some(opening), _) => opening.line(self.words, self.theme),
            (None, Some(loading)) => {
                progress(self.words.get(Word::ReadingValues), loading.percent(), self.words, self.theme)
            }
            (None, None) => return None,
        };
        Some(match &self.message {
            Some(message) => format!("{line}  {message}"),
            None => line,
        })
    }

    /// Starts to read columns that are not in memory yet: those of added counters.
    pub(crate) fn load_log(&mut self) {
        if let Some(successor) = self.successor.take() {
            // The query without removed counters; a log needs no second sample.
            self.query = successor;
        }
        let Some((known, columns)) = self.columns_of_log() else { return };
        let Some(replay) = &mut self.replay else { return };
        let was_reading = replay.loading.is_some();
        let rows = self.monitor.rows();
        let unread = self.monitor.unread();
        let fits = self.monitor.most_rows() as u64 >= rows.end.saturating_sub(rows.start);
        if was_reading || replay.is_partial || rows.is_empty() || !fits {
            let from = replay.from;
            return self.load_from(from, false);
        }
        self.monitor.begin_columns(&unread);
        let (known, columns): (Vec<usize>, Vec<usize>) =
            known.into_iter().zip(columns).filter(|(position, _)| unread.contains(position)).unzip();
        if !columns.is_empty() {
            self.read_columns(known, columns, Some(0));
        }
        self.choose_what_was_added();
    }

    /// Starts to read all columns from a time on. They replace the rows in memory at once, or, with `later`,
    /// when the wanted time has arrived.
    pub(crate) fn load_from(&mut self, from: FileTime, later: bool) {
        let is_first = self.monitor.rows().is_empty();
        let Some((known, columns)) = self.columns_of_log() else { return };
        let Some(replay) = &mut self.replay else { return };
        let staged = replay.loading.as_mut().and_then(|loading| loading.staged.take());
        // An unfinished read ends at its current row.
        let is_cut = replay.is_cut || replay.loading.as_ref().is_some_and(|loading| loading.filled.is_none());
        let before = staged.map_or((replay.from, is_cut), |staged| staged.before);
        (replay.from, replay.is_cut, replay.is_partial) = (from, false, false);
        let shows_all = is_first || replay.loading.as_ref().is_some_and(|loading| loading.shows_all);
        self.read_columns(known, columns, None);
        if let Some(loading) = self.replay.as_mut().and_then(|replay| replay.loading.as_mut()) {
            loading.shows_all = shows_all;
            loading.staged = (later && !is_first).then(|| Staged { parts: Vec::new(), before });
            if loading.staged.is_some() {
                return;
            }
        }
        self.begin_anew();
    }

    /// Drops the rows in memory for those that are being read.
    fn begin_anew(&mut self) {
        self.monitor.begin_rows();
        let Some(replay) = &self.replay else { return };
        if replay.loading.as_ref().is_some_and(|loading| loading.shows_all) {
            // The chart fills up from the left.
            let rows = replay.log.summary().records.min(self.monitor.most_rows() as u64);
            self.monitor.window.sweep = false;
            self.monitor.window.set_points(usize::try_from(rows).unwrap_or(usize::MAX));
        }
    }

    /// Shows the staged rows instead of the previous ones.
    fn unstage(&mut self) {
        let replay = self.replay.as_mut().and_then(|replay| replay.loading.as_mut());
        let Some(staged) = replay.and_then(|loading| loading.staged.take()) else { return };
        let cursor = self.monitor.window.cursor.and_then(|row| self.monitor.time(row));
        self.begin_anew();
        for rows in staged.parts {
            self.take_rows(rows);
        }
        // The record at the cursor has another row number now.
        let (first, last) = (self.monitor.rows().start, self.monitor.rows().end.saturating_sub(1));
        let ends = self.monitor.time(first).zip(self.monitor.time(last));
        let cursor = cursor.filter(|time| ends.is_some_and(|(from, to)| from <= *time && *time <= to));
        self.monitor.window.cursor = cursor.and_then(|time| self.monitor.row_at(time));
    }

    /// The columns of all charted counters, with the positions of their series.
    fn columns_of_log(&mut self) -> Option<(Vec<usize>, Vec<usize>)> {
        let replay = self.replay.as_mut()?;
        replay.top = None;
        if let Err(error) = self.query.collect() {
            // The positions of the columns that are being read may belong to other series now.
            replay.loading = None;
            self.message = Some(error.to_string());
            return None;
        }
        self.readings = self.query.readings();
        let (mut known, mut columns) = (Vec::new(), Vec::new());
        let mut find = |log: &Log, readings: &[Reading], positions: Vec<Option<usize>>| {
            for (reading, position) in readings.iter().zip(positions) {
                let column = log.column(reading.object, reading.counter, reading.instance.as_ref());
                let (Some(position), Some(column)) = (position, column) else { continue };
                if !known.contains(&position) {
                    known.push(position);
                    columns.push(column);
                }
            }
        };
        find(&replay.log, &self.readings, self.monitor.expect_rows(&self.query, &self.readings));
        for other in &mut replay.others {
            match other.readings() {
                Ok(readings) => {
                    find(&other.log, &readings, self.monitor.expect_rows(&other.query, &readings));
                    self.readings.extend(readings);
                }
                Err(error) => self.message = Some(error.to_string()),
            }
        }
        Some((known, columns))
    }

    fn read_columns(&mut self, known: Vec<usize>, columns: Vec<usize>, filled: Option<usize>) {
        let most = self.monitor.most_rows();
        let Some(replay) = &mut self.replay else { return };
        let (log, from) = (replay.log.clone(), replay.from);
        let (first, last) = (log.summary().first, log.summary().last);
        let span = Span { from, most, times: (from.max(first), last) };
        let read = move |wanted: &Weak<()>, each: &mut dyn FnMut(FileTime, LogRow<'_>) -> bool| {
            log.read_from(&columns, from, || wanted.strong_count() > 0, each)
        };
        match Loading::begin(span, known, read) {
            Ok(mut loading) => {
                loading.filled = filled;
                replay.loading = Some(loading);
            }
            Err(error) => self.message = Some(error.to_string()),
        }
    }

    /// Takes the values that arrive within a time; whether it is time to draw again.
    pub(crate) fn rows_come(&mut self, patience: Duration) -> bool {
        let begin = Instant::now();
        let most = patience.max(TAKES);
        while let Some(loading) = self.loading_mut() {
            let left = patience.saturating_sub(begin.elapsed());
            match loading.wait(left) {
                Some(Part::Rows(rows)) => self.take_rows(rows),
                Some(Part::End { is_cut, failed }) => {
                    if let Some(error) = failed {
                        self.message = Some(error.to_string());
                    }
                    self.end_reading(is_cut);
                    return true;
                }
                None => break,
            }
            if begin.elapsed() >= most {
                break;
            }
        }
        self.continue_seek();
        self.loading_mut().is_some_and(Loading::is_due)
    }

    fn take_rows(&mut self, rows: Rows) {
        let goal = self.replay.as_ref().and_then(|replay| replay.goal);
        let Some(loading) = self.replay.as_mut().and_then(|replay| replay.loading.as_mut()) else {
            if let Some(comparison) = &mut self.comparison {
                comparison.take_rows(&rows);
            }
            return;
        };
        if let Some(staged) = &mut loading.staged {
            let is_there = goal.is_none_or(|goal| rows.at() >= goal.time);
            staged.parts.push(rows);
            if is_there {
                self.unstage();
            }
            return;
        }
        for (time, values) in rows.iter() {
            match &mut loading.filled {
                Some(nth) => {
                    self.monitor.fill_row(*nth, &loading.positions, values);
                    *nth = nth.saturating_add(1);
                }
                None => {
                    self.monitor.add_row(time, &loading.positions, values);
                }
            }
        }
    }

    /// Stops reading and keeps what has arrived.
    pub(crate) fn stop_reading(&mut self) {
        if let Some(replay) = &mut self.replay {
            replay.goal = None;
            if replay.drop_staged() {
                return;
            }
            replay.is_partial = replay.loading.as_ref().is_some_and(|loading| loading.filled.is_some());
        }
        self.end_reading(true);
    }

    fn end_reading(&mut self, is_cut: bool) {
        self.unstage();
        let shown = self.replay.as_mut().and_then(|replay| Some((replay.loading.take()?, replay)));
        let Some((loading, replay)) = shown else {
            if let Some(comparison) = &mut self.comparison {
                comparison.loading = None;
                if is_cut {
                    let (rows, all) = (comparison.compared.rows(), comparison.log.summary().records);
                    let words = self.words.get(Word::InMemory);
                    self.message = Some(format!("{words} {rows} / {all}"));
                }
            }
            return;
        };
        if loading.filled.is_none() {
            replay.is_cut = is_cut;
        }
        let rows = self.monitor.rows();
        if loading.shows_all && self.monitor.window.is_live() && !rows.is_empty() {
            self.monitor.window.show(&rows, rows.start, rows.end.saturating_sub(1));
        }
        self.monitor.window.forget(&rows);
        if let Some(goal) = replay.goal.take() {
            self.end_at_goal(goal);
        }
        self.monitor.find_all_crossings();
        self.choose_what_was_added();
        self.follow_cursor();
    }
}
