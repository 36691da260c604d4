//! Draws the dialog: the search, the lists, and the explanation of the chosen counter.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tallymon::core::flow::NoValue;

use crate::keys::binding::Context;
use crate::keys::show::footer;
use crate::screens::add::dialog::{AddDialog, Choice, ListArea, Pane};
use crate::term::chart::Glyphs;
use crate::term::frame;
use crate::term::text::{cut, put, put_right, rule, width, wrap};
use crate::term::theme::Theme;
use crate::words::{Word, Words};

impl AddDialog {
    /// Draws the dialog over an area, and notes where the lists lie.
    pub(crate) fn drawn(&mut self, buffer: &mut Buffer, area: Rect, words: Words, theme: Theme) {
        let wide = if area.width <= 140 { area.width } else { 140 };
        let size = (wide, area.height.saturating_sub(2).min(40));
        let title = match self.hosts.as_slice() {
            [host] if !host.is_empty() => format!("{} · {host}", words.get(Word::AddTitle)),
            _ => words.get(Word::AddTitle).to_string(),
        };
        let inside = frame::frame(
            buffer,
            area,
            size,
            &title,
            &footer(Context::Add, words, theme.glyphs == Glyphs::Ascii),
            theme,
        );
        let search = format!(" {}: ", words.get(Word::Search));
        let x = put(buffer, inside.x, inside.y, inside.width, &search, theme.bold());
        let x = put(
            buffer,
            x,
            inside.y,
            inside.right().saturating_sub(x).saturating_sub(1),
            &self.search,
            theme.plain(),
        );
        put(buffer, x, inside.y, 1, " ", theme.selected());
        let below = if inside.height >= 20 { 8 } else { 5 };
        let top = inside.y.saturating_add(1);
        let lists = Rect { y: top, height: inside.height.saturating_sub(below).saturating_sub(1), ..inside };
        // A single host is named in the title.
        let hosts = if self.hosts.len() > 1 { (lists.width * 16 / 100).max(10) } else { 0 };
        let (first, third) =
            (lists.width.saturating_sub(hosts) * 30 / 100, lists.width.saturating_sub(hosts) * 28 / 100);
        let second = lists.width.saturating_sub(hosts).saturating_sub(first).saturating_sub(third);
        let names = self.feed.query.names();
        let mut x = lists.x;
        let objects: Vec<String> = self.objects.iter().map(|object| names.name(*object)).collect();
        let counters: Vec<String> = self.counters.iter().map(|counter| names.name(*counter)).collect();
        let instances: Vec<String> = self
            .instances
            .iter()
            .map(|choice| match choice {
                Choice::All => format!("* {}", words.get(Word::AllInstances)),
                Choice::One(key) => key.to_string(),
            })
            .collect();
        let mut list_areas = Vec::new();
        for (pane, word, wide, lines) in [
            (Pane::Hosts, Word::Host, hosts, &self.hosts),
            (Pane::Objects, Word::Object, first, &objects),
            (Pane::Counters, Word::Counter, second, &counters),
            (Pane::Instances, Word::Instance, third, &instances),
        ] {
            if wide == 0 {
                continue;
            }
            let place = Rect { x, width: wide.saturating_sub(1), ..lists };
            let empty = match pane {
                Pane::Objects => words.get(Word::NothingFound),
                Pane::Counters | Pane::Hosts => "",
                Pane::Instances if self.object().is_none() => "",
                Pane::Instances if self.awaited.is_some() => words.get(Word::ReadingValues),
                Pane::Instances => words.get(Word::NoInstances),
            };
            let top = self.list(buffer, place, theme, pane, words.get(word), lines, empty);
            list_areas.push(ListArea { pane, area: place, top });
            x = x.saturating_add(wide);
        }
        self.list_areas = list_areas;
        let about =
            Rect { y: lists.bottom(), height: inside.bottom().saturating_sub(lists.bottom()), ..inside };
        rule(buffer, about, about.y, theme.either("─", "-"), theme.dim());
        let about = Rect {
            x: about.x.saturating_add(1),
            y: about.y.saturating_add(1),
            width: about.width.saturating_sub(2),
            height: about.height.saturating_sub(1),
        };
        self.about(buffer, about, words, theme);
    }

    /// Draws a list; returns its first line on the screen.
    #[expect(clippy::too_many_arguments, reason = "each is a different part of one list")]
    fn list(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        theme: Theme,
        pane: Pane,
        title: &str,
        lines: &[String],
        empty: &str,
    ) -> usize {
        let active = self.pane == pane;
        let title_style = if active { theme.bold() } else { theme.dim() };
        let count = format!("{title} ({})", lines.len());
        put(buffer, area.x, area.y, area.width, &format!(" {count}"), title_style);
        let rows = usize::from(area.height.saturating_sub(1));
        let at = self.at.get(pane as usize).copied().unwrap_or(0);
        // The chosen line stays away from the edge, so that the lines around it are in view.
        let top = at.saturating_sub(rows / 2).min(lines.len().saturating_sub(rows));
        let is_coming = pane == Pane::Instances && self.awaited.is_some();
        if lines.is_empty() || is_coming {
            let y = area.y.saturating_add(if is_coming { 2 } else { 1 });
            put(buffer, area.x.saturating_add(1), y, area.width, empty, theme.dim());
        }
        let ys = area.y.saturating_add(1)..area.bottom();
        for (y, (number, line)) in ys.zip(lines.iter().enumerate().skip(top)) {
            let style = match (number == at, active) {
                (true, true) => theme.selected(),
                (true, false) => theme.bold(),
                (false, _) => theme.plain(),
            };
            let row = Rect { x: area.x, y, width: area.width, height: 1 };
            buffer.set_style(row, style);
            let mark = if number == at { theme.either("▸", ">") } else { " " };
            put(buffer, area.x, y, 1, mark, style);
            let left = area.width.saturating_sub(1);
            put(buffer, area.x.saturating_add(1), y, left, &cut(line, left), style);
        }
        top
    }

    /// Draws path, value, help, type and formula of the chosen counter.
    fn about(&self, buffer: &mut Buffer, area: Rect, words: Words, theme: Theme) {
        if let Some(failure) = &self.failure {
            put(buffer, area.x, area.y, area.width, &cut(failure, area.width), theme.bad());
            return;
        }
        let Some(path) = self.path() else { return };
        let Some(object) = self.object().and_then(|object| self.feed.query.catalog().object(object)) else {
            return;
        };
        let Some(counter) = self.counter().and_then(|counter| object.counter(counter)) else { return };
        let value = format!(" {}: {}", words.get(Word::Now), self.value(words, theme));
        let wide = width(&value);
        let left = area.width.saturating_sub(wide);
        let x = put(buffer, area.x, area.y, left, &cut(&path, left), theme.bold());
        if self.added.contains(&path) {
            let text = format!("  {} {}", theme.either("✓", "+"), words.get(Word::Added));
            put(buffer, x, area.y, left.saturating_sub(x.saturating_sub(area.x)), &text, theme.good());
        }
        put_right(buffer, area.x.saturating_add(left), area.y, wide, &value, theme.good());
        let info = counter.counter_type.info();
        let meaning = info.map_or("", |info| info.summary);
        let formula = info.map_or("", |info| info.formula);
        let costly = if object.costly { words.get(Word::Costly) } else { "" };
        let help = self.feed.query.names().help(counter.help).unwrap_or_default();
        let last = area.bottom().saturating_sub(1);
        let kind = format!("{}: {}: {meaning}", words.get(Word::Type), counter.counter_type);
        let how = format!("{}: {formula}   {costly}", words.get(Word::Formula));
        let help_rows = usize::from(area.height.saturating_sub(3)).max(1);
        let lines = wrap(help, area.width);
        for (y, (number, line)) in
            (area.y.saturating_add(1)..last).zip(lines.iter().enumerate().take(help_rows))
        {
            // The help may be longer than its room.
            let more = number.saturating_add(1) == help_rows && lines.len() > help_rows;
            let line = if more { format!("{line} …") } else { line.clone() };
            put(buffer, area.x, y, area.width, &cut(&line, area.width), theme.plain());
        }
        if area.height >= 4 {
            put(buffer, area.x, last.saturating_sub(1), area.width, &cut(&kind, area.width), theme.dim());
        }
        put(buffer, area.x, last, area.width, &cut(how.trim_end(), area.width), theme.dim());
    }

    /// The value of the preview; of several instances the first value and how many more there are.
    fn value(&self, words: Words, theme: Theme) -> String {
        let dots = theme.either("…", "...").to_string();
        let Some((_, handle)) = self.preview.as_ref().filter(|_| !self.feed.is_priming()) else {
            return dots;
        };
        let readings = self.feed.query.readings();
        let mut own = readings.iter().filter(|reading| reading.handle == *handle);
        let Some(first) = own.next() else { return "0".to_string() };
        let count = own.count();
        let unit = first.definition.counter_type.suffix().as_str();
        let text = match &first.cell.value {
            Ok(value) => format!("{} {unit}", words.numbers().value(value, first.definition.counter_type)),
            Err(NoValue::FirstSample) => dots,
            Err(why) => why.to_string(),
        };
        if count == 0 { text } else { format!("{text} (+{count})") }
    }
}
