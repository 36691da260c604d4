//! Draws graphics processors.

use ratatui::layout::Rect;
use tallymon::human::{self, Unit};

use crate::model::overview::{Graphics, Limits, Pane};
use crate::screens::overview::bars::Scale;
use crate::screens::overview::draw::Painter;
use crate::screens::overview::layout::Room;
use crate::term::text::{cut_middle, put};

impl Painter<'_> {
    pub(super) fn graphics(&mut self, area: Rect) {
        let all = &self.view.graphics;
        let theme = self.theme;
        if self.room == Room::Lines {
            let Some(busiest) = all.first() else { return };
            let (text, style) = (self.busy_of(busiest), self.percent_style(&busiest.busy, Limits::BUSY));
            let text = format!("{text} {}", self.memory_of(busiest));
            return self.line(Pane::Graphics, area, text.trim(), style, None, None, path_of(busiest));
        }
        let more = all.len().saturating_sub(usize::from(area.height.saturating_sub(1)));
        let more = if more > 0 { format!("+{more}") } else { String::new() };
        self.heading(Pane::Graphics, area, &[(more, theme.dim())]);
        for (line, one) in area.rows().skip(1).zip(all) {
            let name = if area.width >= 60 { 14 } else { 9 };
            put(self.buffer, line.x, line.y, name, &cut_middle(&one.name, name), theme.plain());
            let x = line.x.saturating_add(name).saturating_add(1);
            let style = self.percent_style(&one.busy, Limits::BUSY);
            let columns = [(5, self.busy_of(one), style), (22, self.memory_of(one), theme.plain())];
            let scale = Scale { most: 100.0, limits: Some(Limits::BUSY) };
            let rest = Rect { x, width: line.right().saturating_sub(x), ..line };
            self.columns(rest, &columns, &one.busy.history, scale);
            self.item(Pane::Graphics, line, path_of(one));
        }
    }

    /// Per cent; nothing where the driver does not count them.
    fn busy_of(&self, one: &Graphics) -> String {
        match one.busy.history.iter().any(|number| number.is_finite()) {
            true => self.text(&one.busy, Unit::Percent),
            false => String::new(),
        }
    }

    /// Its own memory and what it shares with the machine, each where it is known.
    fn memory_of(&self, one: &Graphics) -> String {
        let own = one.own.number().map(human::bytes);
        let shared = one.shared.number().filter(|shared| *shared > 0.0);
        let shared = shared.map(|shared| format!("+{}", human::bytes(shared)));
        own.into_iter().chain(shared).collect::<Vec<_>>().join(" ")
    }
}

/// The counter that its line leads to.
fn path_of(one: &Graphics) -> &str {
    let known = [&one.busy, &one.own, &one.shared].into_iter().find(|gauge| gauge.value.is_ok());
    known.map_or("", |gauge| &gauge.path)
}
