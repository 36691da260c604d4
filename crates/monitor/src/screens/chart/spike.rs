//! Who made it: at a point of the chart, the largest instances of what is charted, and the largest processes.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tallymon::Query;
use tallymon::core::path::CounterPath;
use tallymon::core::title::TitleIndex;

use crate::app::App;
use crate::model::{PROCESS, Top, TopGroup, TopInstance};
use crate::term::chart::Chart;
use crate::term::frame::frame_at;
use crate::term::text::{cut, put, put_right};
use crate::words::Word;

const PROCESSOR_TIME: TitleIndex = TitleIndex(6);
const WORKING_SET: TitleIndex = TitleIndex(180);
const IO_DATA_BYTES: TitleIndex = TitleIndex(1424);
const MEMORY: TitleIndex = TitleIndex(4);
const PAGING_FILE: TitleIndex = TitleIndex(700);
const DISKS: [TitleIndex; 2] = [TitleIndex(234), TitleIndex(236)];

/// Columns of the panel.
const WIDE: u16 = 46;

impl App {
    /// Has the instances of what is charted watched, and the processes.
    pub(crate) fn watch_top(&mut self) {
        if !self.options.top || self.replay.is_some() {
            return;
        }
        let wanted = self.wanted_top();
        for (object, counter) in wanted {
            let is_there = |query: &Query| {
                let object = query.catalog().object(object).filter(|object| object.has_instances);
                object.is_some_and(|object| object.counter(counter).is_some())
            };
            if self.monitor.top.watches(object, counter)
                || !is_there(&self.query)
                || !self.monitor.top.watch(&self.query, object, counter)
            {
                continue;
            }
            watch(&mut self.query, object, counter);
            if let Some(successor) = &mut self.successor {
                watch(successor, object, counter);
            }
        }
    }

    /// The counters whose largest instances make what is charted.
    pub(crate) fn wanted_top(&self) -> Vec<(TitleIndex, TitleIndex)> {
        let mut wanted = vec![(PROCESS, PROCESSOR_TIME), (PROCESS, WORKING_SET)];
        let series = self.monitor.series();
        // Who reads and writes is dear to know: a file of its own for each process.
        if series.iter().any(|series| DISKS.contains(&series.object)) {
            wanted.push((PROCESS, IO_DATA_BYTES));
        }
        for series in series {
            let pair = (series.object, series.counter);
            if series.instance.is_some() && self.monitor.is_drawn(series) && !wanted.contains(&pair) {
                wanted.push(pair);
            }
        }
        wanted
    }

    /// Forgets who made what is no longer charted, and has a new query watch the rest.
    pub(crate) fn keep_watching(&mut self, query: &mut Query) {
        let series = self.monitor.series();
        let charted: Vec<_> = series.iter().map(|series| (series.object, series.counter)).collect();
        self.monitor.top.retain(|object, counter| object == PROCESS || charted.contains(&(object, counter)));
        for (object, counter) in self.monitor.top.counters() {
            watch(query, object, counter);
        }
    }

    /// The groups of the row at the cursor: first the object that is charted, then what makes it.
    pub(crate) fn top_at_cursor(&mut self) -> Vec<TopGroup> {
        let Some(row) = self.monitor.window.cursor else { return Vec::new() };
        let chosen = self.monitor.chosen().map(|series| (series.object, series.counter));
        let mut groups = match self.top_of_log(row) {
            Some(groups) => groups,
            None => self.monitor.top.at(self.monitor.next(), row),
        };
        groups.sort_by_key(|group| rank(chosen, (group.object, group.counter)));
        groups
    }

    /// Opens the panel at the cursor; without one, at the newest row.
    pub(crate) fn open_spike(&mut self) {
        let rows = self.monitor.rows();
        if self.monitor.window.cursor.is_none() {
            self.monitor.window.move_cursor(&rows, 0);
        }
        self.spike = self.monitor.window.cursor.map(|_| 0);
    }

    /// Keys that mean something else while the panel is open; `true` when it was one.
    pub(crate) fn spike_key(&mut self, key: KeyEvent) -> bool {
        let Some(at) = self.spike else { return false };
        let groups = self.top_at_cursor();
        let count: usize = groups.iter().map(|group| group.instances.len()).sum();
        match key.code {
            KeyCode::Up | KeyCode::Char('k') => self.spike = Some(at.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => {
                self.spike = Some(at.saturating_add(1).min(count.saturating_sub(1)));
            }
            KeyCode::Enter => self.add_maker(at),
            KeyCode::Esc => self.spike = None,
            _ => return false,
        }
        true
    }

    /// A click in the panel chooses a line, and a double click adds it to the chart.
    pub(crate) fn click_maker(&mut self, at: (u16, u16)) {
        let again = self.places.clicked.replace(at) == Some(at);
        let Some((_, place)) = self.places.makers.iter().find(|(y, _)| *y == at.1).copied() else { return };
        if self.spike.replace(place) == Some(place) && again {
            self.add_maker(place);
        }
    }

    fn add_maker(&mut self, place: usize) {
        let groups = self.top_at_cursor();
        if let Some(instance) = groups.iter().flat_map(|group| &group.instances).nth(place) {
            self.add_and_choose(&instance.path);
        }
    }
}

/// Has a query collect what is watched.
pub(crate) fn watch(query: &mut Query, object: TitleIndex, counter: TitleIndex) {
    if let Ok(parsed) = CounterPath::parse(&format!("\\{}(*)\\{}", object.0, counter.0)) {
        // That both are there was seen before.
        let _ = query.add_path(&Top::text(object, counter), &parsed.path);
    }
}

/// What comes first: the counter that was clicked, its object, the counter of processes that makes it, the others.
fn rank(chosen: Option<(TitleIndex, TitleIndex)>, group: (TitleIndex, TitleIndex)) -> u8 {
    let Some(chosen) = chosen else { return u8::from(group.0 != PROCESS) };
    let maker = match chosen.0 {
        MEMORY | PAGING_FILE => WORKING_SET,
        object if DISKS.contains(&object) => IO_DATA_BYTES,
        _ => PROCESSOR_TIME,
    };
    match group {
        group if group == chosen => 0,
        group if group == (PROCESS, maker) => 1,
        (object, _) if object == chosen.0 => 2,
        (PROCESS, _) => 3,
        _ => 4,
    }
}

/// Draws the panel beside the cursor.
pub(crate) fn draw(app: &mut App, buffer: &mut Buffer) {
    let (Some(at), Some(row)) = (app.spike, app.monitor.window.cursor) else { return };
    let chart = app.places.chart;
    let groups = app.top_at_cursor();
    let (words, theme) = (app.words, app.theme);
    let rows = app.monitor.rows();
    let column = Chart::new(Rect { height: 1, ..chart }, theme.glyphs)
        .column(app.monitor.window.slot(&rows, row), app.monitor.window.points());
    let wide = WIDE.min(chart.width);
    // On the side with more place, so that what was clicked stays in view.
    let x = if column > chart.width / 2 { chart.x } else { chart.right().saturating_sub(wide) };
    let time = app.monitor.time(row).map(|time| app.clock(time)).unwrap_or_default();
    let mut lines: Vec<Line<'_>> = Vec::new();
    for group in &groups {
        lines.push(Line::Title(&group.title));
        lines.extend(group.instances.iter().map(|instance| Line::Instance(group, instance)));
    }
    let high = u16::try_from(lines.len()).unwrap_or(u16::MAX).clamp(1, chart.height.saturating_sub(2).max(1));
    let place = Rect { x, y: chart.y, width: wide, height: high.saturating_add(2) };
    let title = format!("{} {time}", words.get(Word::MadeBy));
    app.places.spike = place;
    let inside = frame_at(buffer, place, &title, words.get(Word::SpikeKeys), theme);
    if lines.is_empty() {
        put(
            buffer,
            inside.x.saturating_add(1),
            inside.y,
            inside.width,
            words.get(Word::NothingKept),
            theme.dim(),
        );
    }
    let instances_before =
        |place: usize| lines.iter().take(place).filter(|line| matches!(line, Line::Instance(..))).count();
    let chosen = (0..lines.len()).find(|place| {
        matches!(lines.get(*place), Some(Line::Instance(..))) && instances_before(*place) == at
    });
    let top = chosen.unwrap_or(0).saturating_add(1).saturating_sub(usize::from(inside.height));
    for (y, (number, line)) in (inside.y..inside.bottom()).zip(lines.iter().enumerate().skip(top)) {
        let left = inside.x.saturating_add(1);
        let columns = inside.width.saturating_sub(2);
        match line {
            Line::Title(text) => {
                put(buffer, left, y, columns, &cut(text, columns), theme.bold());
            }
            Line::Instance(group, instance) => {
                app.places.makers.push((y, instances_before(number)));
                let style = if chosen == Some(number) { theme.selected() } else { theme.plain() };
                buffer.set_style(Rect { x: inside.x, y, width: inside.width, height: 1 }, style);
                let suffix = group.counter_type.suffix().as_str();
                let unit = if suffix == "%" { " %" } else { "" };
                let value =
                    format!("{}{unit}", app.words.numbers().number_of(instance.value, group.counter_type));
                put(
                    buffer,
                    left.saturating_add(1),
                    y,
                    columns,
                    &cut(&instance.name, columns.saturating_sub(17)),
                    style,
                );
                put_right(buffer, left, y, columns, &value, style);
            }
        }
    }
}

enum Line<'g> {
    Title(&'g str),
    Instance(&'g TopGroup, &'g TopInstance),
}
