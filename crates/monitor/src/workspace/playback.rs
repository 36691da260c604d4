//! A log in the same view: its time slider, going through it, and who made a value in it.

use std::path::Path;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tallymon::core::time::FileTime;
use tallymon::{Log, Overlap, Query};

use crate::app::App;
use crate::log::columns::Loading;
use crate::log::names;
use crate::model::{Top, TopGroup};
use crate::screens::chart::spike::watch;
use crate::term::text::{put, put_right, width};
use crate::words::Word;
use crate::workspace::hosts::OtherHost;
use crate::workspace::seek::Goal;

/// The log that is shown.
pub(crate) struct Replay {
    pub(crate) log: Log,
    /// Its hosts beside the first.
    pub(crate) others: Vec<OtherHost>,
    /// The cursor goes on by a record with each interval.
    pub(crate) plays: bool,
    /// The first time that is in memory, when the log is longer than the memory allows.
    pub(crate) from: FileTime,
    /// Records in memory end before the last of the log.
    pub(crate) is_cut: bool,
    /// Some columns were not read to the end.
    pub(crate) is_partial: bool,
    /// The columns that are being read.
    pub(crate) loading: Option<Loading>,
    /// The time that is to be shown as soon as it is there.
    pub(crate) goal: Option<Goal>,
    /// Who made the values at a row, on a host; asked for once.
    pub(crate) top: Option<((u64, usize), Vec<TopGroup>)>,
}

impl Replay {
    pub(crate) fn new(log: Log) -> Replay {
        Replay {
            log,
            others: Vec::new(),
            plays: false,
            from: FileTime(0),
            is_cut: false,
            is_partial: false,
            loading: None,
            goal: None,
            top: None,
        }
    }
}

impl App {
    /// The next record while it plays; at the end it stops.
    pub(crate) fn play(&mut self) {
        let Some(replay) = &mut self.replay else { return };
        let last = self.monitor.rows().end.checked_sub(1);
        if !replay.plays {
            return;
        }
        if replay.goal.is_some() {
            // What it goes on with is being read.
            return;
        }
        if self.monitor.window.cursor >= last {
            if !self.step_in_log(1)
                && let Some(replay) = &mut self.replay
            {
                replay.plays = replay.loading.is_some();
            }
            return;
        }
        let rows = self.monitor.rows();
        self.monitor.window.move_cursor(&rows, 1);
        self.follow_cursor();
    }

    /// Starts to play, from the beginning when it is at the end, or stops.
    pub(crate) fn toggle_play(&mut self) {
        let rows = self.monitor.rows();
        let Some(replay) = &mut self.replay else { return };
        replay.plays = !replay.plays;
        let window = &mut self.monitor.window;
        let is_at_end = window.cursor >= rows.end.checked_sub(1) && !replay.is_cut;
        if replay.plays && (window.cursor.is_none() || is_at_end) {
            window.cursor = Some(window.rows(&rows).start);
        }
    }

    /// Everything that is shown of one time is of the time at the cursor.
    pub(crate) fn follow_cursor(&mut self) {
        let Some(replay) = &self.replay else { return };
        let row = self.monitor.window.cursor.or_else(|| self.monitor.view().end.checked_sub(1));
        if let Some(time) = row.and_then(|row| self.monitor.time(row)) {
            replay.log.set_time(time);
        }
        self.look_at_providers();
        if let Some(table) = &mut self.table
            && let Err(error) = table.sample()
        {
            self.message = Some(error.to_string());
        }
    }

    /// Who made the values of a row of a log: nothing was kept, it is read now.
    pub(crate) fn top_of_log(&mut self, row: u64) -> Option<Vec<TopGroup>> {
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
    pub(crate) fn log_notes(&self) -> Option<String> {
        let replay = self.replay.as_ref()?;
        let summary = replay.log.summary();
        let mut notes = Vec::new();
        for part in replay.log.parts() {
            let known = &part.summary().notes;
            if let Some(first) = known.damage.first() {
                let which =
                    if replay.log.parts().len() > 1 { names::title(part) + ": " } else { String::new() };
                notes.push(format!(
                    "{which}{} ({}): {first}",
                    self.words.get(Word::Damaged),
                    known.damage_count
                ));
            }
        }
        notes.extend(replay.log.overlaps().iter().map(|overlap| self.overlap_note(overlap)));
        if replay.loading.is_none() && (replay.is_cut || replay.from.0 > 0) {
            let rows = self.monitor.rows();
            let shown = rows.end.saturating_sub(rows.start);
            notes.push(format!("{} {shown} / {}", self.words.get(Word::InMemory), summary.records));
        }
        (!notes.is_empty()).then(|| notes.join(" · "))
    }

    /// Of which of two logs the same counters are.
    fn overlap_note(&self, overlap: &Overlap) -> String {
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let clock = |time| self.clock_between(time, overlap.first, overlap.last);
        format!(
            "{} {}: {} ({}, {} - {})",
            self.words.get(Word::InBothLogs),
            name(&overlap.taken),
            overlap.counters,
            name(&overlap.other),
            clock(overlap.first),
            clock(overlap.last)
        )
    }

    /// Goes to the time below a column of the slider.
    pub(crate) fn slide_to(&mut self, column: u16) {
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
pub(crate) fn slider(app: &mut App, buffer: &mut Buffer, area: Rect) {
    let Some(replay) = &app.replay else { return };
    let theme = app.theme;
    let summary = replay.log.summary();
    let clock = |time| app.clock_between(time, summary.first, summary.last);
    let (first, last) = (clock(summary.first), clock(summary.last));
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
