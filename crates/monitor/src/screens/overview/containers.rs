//! Draws containers.

use ratatui::layout::Rect;
use tallymon::human::Unit;

use crate::model::overview::{Container, Folded, Limits, Pane};
use crate::screens::overview::bars::Scale;
use crate::screens::overview::draw::Painter;
use crate::screens::overview::layout::Room;
use crate::screens::overview::words;
use crate::term::text::{cut_middle, put};

impl Painter<'_> {
    pub(super) fn containers(&mut self, area: Rect) {
        let view = self.view;
        let all = &view.containers;
        let theme = self.theme;
        if self.room == Room::Lines {
            let Some(busiest) = all.first() else { return };
            let text = format!("{} {} {}", all.len(), self.text(&busiest.busy, Unit::Percent), busiest.name);
            let style = self.percent_style(&busiest.busy, Limits::BUSY);
            return self.line(Pane::Containers, area, &text, style, None, None, &busiest.busy.path);
        }
        self.heading(Pane::Containers, area, &[(all.len().to_string(), theme.plain())]);
        let rows = usize::from(area.height.saturating_sub(1));
        // The last row names those that are not shown.
        let shown = if all.len() > rows { rows.saturating_sub(1) } else { all.len() };
        let mut lines = area.rows().skip(1);
        for container in all.iter().take(shown) {
            if let Some(line) = lines.next() {
                self.container(line, container);
            }
        }
        let names: Vec<String> = all.iter().skip(shown).map(|one| one.name.clone()).collect();
        if let Some(line) = lines.next() {
            self.folded(line, &Folded { names, ..Folded::default() }, words::OTHERS);
        }
    }

    /// One container: its name, its share of one processor, its memory, its network, a history.
    fn container(&mut self, area: Rect, one: &Container) {
        let theme = self.theme;
        let style = self.percent_style(&one.busy, Limits::BUSY);
        let name = if area.width >= 60 { 20 } else { 12 };
        put(self.buffer, area.x, area.y, name, &cut_middle(&one.name, name), theme.plain());
        let x = area.x.saturating_add(name).saturating_add(1);
        let columns = [
            (6, self.text(&one.busy, Unit::Percent), style),
            (9, self.text(&one.memory, Unit::Bytes), theme.plain()),
            (11, self.bytes(&one.received, theme.either("↓", "i")), theme.plain()),
            (11, self.bytes(&one.sent, theme.either("↑", "o")), theme.plain()),
        ];
        let scale = Scale { most: 100.0, limits: Some(Limits::BUSY) };
        let rest = Rect { x, width: area.right().saturating_sub(x), ..area };
        self.columns(rest, &columns, &one.busy.history, scale);
        self.item(Pane::Containers, area, &one.busy.path);
    }
}
