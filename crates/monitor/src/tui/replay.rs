//! A log in the same view: its time slider, going through it, and who made a value in it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tallymon::core::time::FileTime;
use tallymon::{Log, Query, Reading};

use super::app::App;
use super::hosts::OtherHost;
use super::spike::watch;
use super::text::{put, put_right, width};
use crate::model::{Top, TopGroup};
use crate::words::Word;

/// The log that is shown.
pub(super) struct Replay {
    pub(super) log: Log,
    /// Its hosts beside the first.
    pub(super) others: Vec<OtherHost>,
    /// The cursor goes on by a record with each interval.
    pub(super) plays: bool,
    /// The first time that is in memory, when the log is longer than the memory allows.
    from: FileTime,
    /// Records in memory end before the last of the log.
    is_cut: bool,
    /// Who made the values at a row, on a host; asked for once.
    top: Option<((u64, usize), Vec<TopGroup>)>,
}

impl Replay {
    pub(super) fn new(log: Log) -> Replay {
        Replay { log, others: Vec::new(), plays: false, from: FileTime(0), is_cut: false, top: None }
    }
}

impl App {
    /// Reads the columns of all counters, from a time on.
    pub(super) fn load_log(&mut self) {
        if let Some(query) = self.successor.take() {
            // A query without what was removed; there is no second sample to wait for.
            self.query = query;
        }
        let Some(replay) = &mut self.replay else { return };
        replay.top = None;
        let is_first = self.monitor.rows().is_empty();
        if let Err(error) = self.query.collect() {
            self.message = Some(error.to_string());
            return;
        }
        self.monitor.begin_rows();
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
        replay.is_cut = false;
        let (monitor, from) = (&mut self.monitor, replay.from);
        let mut is_cut = false;
        let read = replay.log.read(&columns, |time, values| {
            is_cut = time >= from && !monitor.add_row(time, &known, values);
            !is_cut
        });
        replay.is_cut = is_cut;
        if let Err(error) = read {
            self.message = Some(error.to_string());
        }
        let rows = self.monitor.rows();
        if is_first && !rows.is_empty() {
            self.monitor.window.sweep = false;
            self.monitor.window.show(&rows, rows.start, rows.end.saturating_sub(1));
        }
        self.monitor.window.forget(&rows);
        self.choose_what_was_added();
    }

    /// Goes to a time of the log, also to one that is not in memory; `false` without a log.
    pub(super) fn jump_in_log(&mut self, time: FileTime) -> bool {
        let Some(replay) = &mut self.replay else { return false };
        let rows = self.monitor.rows();
        let in_memory = |row: Option<u64>| row.and_then(|row| self.monitor.time(row)).unwrap_or_default();
        let (oldest, newest) = (in_memory(Some(rows.start)), in_memory(rows.end.checked_sub(1)));
        if time < oldest && replay.from.0 > 0 || time > newest && replay.is_cut {
            // A tenth of what fits stays before it.
            let span = newest.0.saturating_sub(oldest.0) / 10;
            replay.from = FileTime(time.0.saturating_sub(span));
            self.load_log();
        }
        let rows = self.monitor.rows();
        if let Some(row) = self.monitor.row_at(time) {
            self.monitor.window.go_to(&rows, row);
        }
        true
    }

    /// The next record while it plays; at the end it stops.
    pub(super) fn play(&mut self) {
        let Some(replay) = &mut self.replay else { return };
        let last = self.monitor.rows().end.checked_sub(1);
        if !replay.plays {
            return;
        }
        if self.monitor.window.cursor >= last {
            replay.plays = false;
            return;
        }
        let rows = self.monitor.rows();
        self.monitor.window.move_cursor(&rows, 1);
        self.follow_cursor();
    }

    /// Starts to play, from the beginning when it is at the end, or stops.
    pub(super) fn toggle_play(&mut self) {
        let rows = self.monitor.rows();
        let Some(replay) = &mut self.replay else { return };
        replay.plays = !replay.plays;
        let window = &mut self.monitor.window;
        if replay.plays && (window.cursor.is_none() || window.cursor >= rows.end.checked_sub(1)) {
            window.cursor = Some(window.rows(&rows).start);
        }
    }

    /// Everything that is shown of one time is of the time at the cursor.
    pub(super) fn follow_cursor(&mut self) {
        let Some(replay) = &self.replay else { return };
        let row = self.monitor.window.cursor.or_else(|| self.monitor.view().end.checked_sub(1));
        if let Some(time) = row.and_then(|row| self.monitor.time(row)) {
            replay.log.set_time(time);
        }
        if let Some(table) = &mut self.table
            && let Err(error) = table.sample()
        {
            self.message = Some(error.to_string());
        }
    }

    /// Who made the values of a row of a log: nothing was kept, it is read now.
    pub(super) fn top_of_log(&mut self, row: u64) -> Option<Vec<TopGroup>> {
        let host = self.chosen_host();
        if let Some((_, known)) =
            self.replay.as_ref()?.top.as_ref().filter(|(known, _)| *known == (row, host))
        {
            return Some(known.clone());
        }
        self.follow_cursor();
        let mut query: Query = self.open_host(host).ok()?;
        let mut top = Top::default();
        for (object, counter) in self.wanted_top() {
            let is_there =
                query.catalog().object(object).is_some_and(|known| known.counter(counter).is_some());
            if is_there && top.watch(&query, object, counter) {
                watch(&mut query, object, counter);
            }
        }
        query.collect().ok()?;
        let mut groups = top.once(&query, &Top::readings(&query));
        let prefix = self.prefix(host);
        for instance in groups.iter_mut().flat_map(|group| &mut group.instances) {
            instance.path.insert_str(0, &prefix);
        }
        if let Some(replay) = &mut self.replay {
            replay.top = Some(((row, host), groups.clone()));
        }
        Some(groups)
    }

    /// What a user has to know about the log: damage, and what is not shown.
    pub(super) fn log_notes(&self) -> Option<String> {
        let replay = self.replay.as_ref()?;
        let summary = replay.log.summary();
        let mut notes = Vec::new();
        if let Some(first) = summary.notes.damage.first() {
            notes.push(format!(
                "{} ({}): {first}",
                self.words.get(Word::Damaged),
                summary.notes.damage_count
            ));
        }
        if replay.is_cut || replay.from.0 > 0 {
            let rows = self.monitor.rows();
            let shown = rows.end.saturating_sub(rows.start);
            notes.push(format!("{} {shown} / {}", self.words.get(Word::InMemory), summary.records));
        }
        (!notes.is_empty()).then(|| notes.join(" · "))
    }

    /// Goes to the time below a column of the slider.
    pub(super) fn slide_to(&mut self, column: u16) {
        let (Some(replay), slider) = (&self.replay, self.places.slider) else { return };
        let summary = replay.log.summary();
        let last = u64::from(slider.width.saturating_sub(1).max(1));
        let at = u64::from(column.saturating_sub(slider.x)).min(last);
        let span = summary.last.0.saturating_sub(summary.first.0);
        let time = FileTime(summary.first.0.saturating_add(span / last * at));
        self.jump_in_log(time);
    }
}

/// The whole log as a line from its first to its last time: what is in view, and the cursor.
pub(super) fn slider(app: &mut App, buffer: &mut Buffer, area: Rect) {
    let Some(replay) = &app.replay else { return };
    let theme = app.theme;
    let summary = replay.log.summary();
    let (first, last) = (app.clock(summary.first), app.clock(summary.last));
    let state = if replay.plays { theme.either("▶", ">") } else { theme.either("‖", "=") };
    let x = put(buffer, area.x, area.y, area.width, &format!(" {state} {first} "), theme.plain());
    let behind = format!(" {last} ");
    put_right(buffer, area.x, area.y, area.width, &behind, theme.plain());
    let line = Rect { x, width: area.right().saturating_sub(x).saturating_sub(width(&behind)), ..area };
    let span = summary.last.0.saturating_sub(summary.first.0).max(1) as f64;
    let column = |time: FileTime| {
        let share = time.0.saturating_sub(summary.first.0) as f64 / span;
        line.x.saturating_add((share.min(1.0) * f64::from(line.width.saturating_sub(1))).round() as u16)
    };
    for x in line.left()..line.right() {
        put(buffer, x, line.y, 1, theme.either("─", "-"), theme.dim());
    }
    if let Some((from, to)) = app.monitor.view_times() {
        for x in column(from)..=column(to) {
            put(buffer, x, line.y, 1, theme.either("━", "="), theme.good());
        }
    }
    if let Some(time) = app.monitor.window.cursor.and_then(|row| app.monitor.time(row)) {
        put(buffer, column(time), line.y, 1, theme.either("●", "O"), theme.bold());
    }
    app.places.slider = line;
}
