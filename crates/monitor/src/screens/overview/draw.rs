//! Draws the panes of the machine: processors, memory, disks, network, pressure.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use tallymon::core::flow::{Absence, NoValue};
use tallymon::human::{self, Unit};

use crate::keys::binding::Label;
use crate::model::overview::{Folded, Gauge, Interface, Limits, OverviewView, Pane};
use crate::screens::overview::bars::{self, Scale};
use crate::screens::overview::layout::{Room, processor_cells};
use crate::screens::overview::words;
use crate::screens::overview::{Item, Target};
use crate::term::text::{cut, cut_middle, put, put_right, rule, width};
use crate::term::theme::Theme;
use crate::words::Words;

/// The least largest number of a history of bytes: below it, the line stays low.
const LEAST_BYTES: f64 = 100_000.0;

/// Draws panes, and notes what lies where.
pub(super) struct Painter<'p> {
    pub(super) buffer: &'p mut Buffer,
    pub(super) words: Words,
    pub(super) theme: Theme,
    pub(super) view: &'p OverviewView,
    pub(super) room: Room,
    pub(super) items: Vec<Item>,
    /// The pane and the place of the chosen item.
    pub(super) chosen: Option<(Pane, usize)>,
    /// The rows of a log are being read.
    pub(super) is_reading: bool,
}

impl Painter<'_> {
    pub(super) fn word(&self, label: Label) -> &'static str {
        self.words.pick(&label)
    }

    /// A number with its unit, or why there is none.
    pub(super) fn text(&self, gauge: &Gauge, unit: Unit) -> String {
        match gauge.value {
            Ok(number) => unit.text(number),
            Err(why) => self.missing(why),
        }
    }

    pub(super) fn missing(&self, why: NoValue) -> String {
        let waits = matches!(why, NoValue::FirstSample | NoValue::NoData(Absence::FirstSample));
        let text = if waits || self.is_reading {
            self.theme.either("…", "...")
        } else {
            self.theme.either("–", "-")
        };
        text.to_string()
    }

    /// The heading of a pane: its number, its title and a summary, on a line over its width. Returns the
    /// column after the title.
    pub(super) fn heading(&mut self, pane: Pane, area: Rect, parts: &[(String, Style)]) {
        let theme = self.theme;
        let line = Rect { height: 1, ..area };
        rule(self.buffer, line, area.y, theme.either("─", "-"), theme.dim());
        let nth = Pane::NAMES.iter().position(|(_, known)| *known == pane).unwrap_or(0).saturating_add(1);
        // The tenth has the digit 0.
        let nth = nth.checked_rem(10).unwrap_or(0);
        let title = format!(" {nth} {} ", self.word(words::title(pane).0));
        let is_front = self.chosen.is_some_and(|(front, _)| front == pane);
        let style = if is_front { theme.selected() } else { theme.bold() };
        let mut x = put(self.buffer, area.x.saturating_add(1), area.y, area.width, &title, style);
        for (text, style) in parts.iter().filter(|(text, _)| !text.is_empty()) {
            let left = area.right().saturating_sub(x).saturating_sub(2);
            // A part is shown whole or left out.
            if width(text).saturating_add(2) > left {
                break;
            }
            x = put(self.buffer, x.saturating_add(1), area.y, left, &format!(" {text} "), *style);
        }
    }

    /// Notes an item of a pane, and shows whether it is chosen.
    pub(super) fn item(&mut self, pane: Pane, area: Rect, path: &str) {
        let nth = self.items.iter().filter(|item| item.pane == pane).count();
        if self.chosen == Some((pane, nth)) {
            self.buffer.set_style(area, self.theme.selected());
        }
        if !path.is_empty() {
            self.items.push(Item { pane, area, target: Target::Chart(path.to_string()) });
        }
    }

    /// Says that a pane has no data: which counters the source lacks.
    pub(super) fn lacks(&mut self, area: Rect, lacking: &[&'static str]) {
        let text = format!("{} {}", self.word(words::LACKS), lacking.join(", "));
        put(self.buffer, area.x, area.y, area.width, &cut(&text, area.width), self.theme.dim());
    }

    pub(super) fn percent_style(&self, gauge: &Gauge, limits: Limits) -> Style {
        gauge.number().map_or(self.theme.dim(), |number| self.theme.level(limits.level(number)))
    }

    pub(super) fn processors(&mut self, area: Rect) {
        if self.room == Room::Lines {
            return self.processor_line(area);
        }
        let theme = self.theme;
        let view = self.view;
        let known = &view.processors;
        let parts = self.processor_words();
        self.heading(Pane::Processors, area, &parts);
        self.item(Pane::Processors, Rect { height: 1, ..area }, &known.total.path);
        let scale = Scale { most: 100.0, limits: Some(Limits::BUSY) };
        let graph = if self.room == Room::Wide { area.height.saturating_sub(1).min(4) } else { 0 };
        let picture = Rect { y: area.y.saturating_add(1), height: graph, ..area };
        if graph > 0 {
            bars::sweep(self.buffer, picture, &known.total.history, view.row, scale, theme);
        }
        let body =
            Rect { y: picture.bottom(), height: area.height.saturating_sub(1).saturating_sub(graph), ..area };
        match processor_cells(known.each.len(), body.width, body.height) {
            Some((across, cell)) => {
                for (nth, (name, gauge)) in known.each.iter().enumerate() {
                    let nth = u16::try_from(nth).unwrap_or(u16::MAX);
                    let column = nth.checked_rem(across).unwrap_or(0);
                    let row = nth.checked_div(across).unwrap_or(0);
                    let place = Rect {
                        x: body.x.saturating_add(column.saturating_mul(cell)),
                        y: body.y.saturating_add(row),
                        width: cell.saturating_sub(1),
                        height: 1,
                    };
                    self.processor(place, name, gauge, scale);
                }
            }
            None => self.many_processors(body),
        }
    }

    /// The words above the processors, the most useful ones first: a narrow screen leaves out the last ones.
    fn processor_words(&self) -> Vec<(String, Style)> {
        let known = &self.view.processors;
        let theme = self.theme;
        let labelled = |label: Label, gauge: &Gauge, unit: Unit| match gauge.path.is_empty() {
            true => String::new(),
            false => format!("{} {}", self.word(label), self.text(gauge, unit)),
        };
        let counted = |gauge: &Gauge, label: Label| match gauge.path.is_empty() {
            true => String::new(),
            false => format!("{} {}", self.text(gauge, Unit::Count), self.word(label)),
        };
        // Shown only while it happens: most machines never have it.
        let if_any = |label: Label, gauge: &Gauge| match gauge.is_idle() {
            true => String::new(),
            false => labelled(label, gauge, Unit::Percent),
        };
        let load: Vec<String> =
            known.load.iter().filter_map(Gauge::number).map(|load| format!("{load:.2}")).collect();
        let load = match load.is_empty() {
            true => String::new(),
            false => format!("{} {}", self.word(words::LOAD), load.join(" ")),
        };
        let up = known.up.number().map(|up| format!("{} {}", self.word(words::UP), human::long_time(up)));
        let heat = self.view.hottest();
        let heat_style = heat.map_or(theme.plain(), |one| self.percent_style(&one.gauge, Limits::HEAT));
        vec![
            (self.text(&known.total, Unit::Percent), self.percent_style(&known.total, Limits::BUSY)),
            (load, theme.plain()),
            (labelled(words::USER, &known.user, Unit::Percent), theme.plain()),
            (labelled(words::KERNEL, &known.kernel, Unit::Percent), theme.plain()),
            (if_any(words::DISK_WAIT, &known.waiting_for_disk), theme.warning()),
            (if_any(words::STOLEN, &known.stolen), theme.warning()),
            (known.speed.number().map(words::speed).unwrap_or_default(), theme.plain()),
            (heat.map(words::sensor_value).unwrap_or_default(), heat_style),
            (counted(&known.queue, words::WAITING), theme.plain()),
            (up.unwrap_or_default(), theme.plain()),
            (counted(&known.processes, words::PROCESSES), theme.plain()),
            (counted(&known.threads, words::THREADS), theme.plain()),
            (known.name.clone().unwrap_or_default(), theme.dim()),
            (labelled(words::SWITCHES, &known.switches, Unit::PerSecond), theme.dim()),
        ]
    }

    /// One processor: its number, a bar, per cent, and a short history.
    fn processor(&mut self, area: Rect, name: &str, gauge: &Gauge, scale: Scale) {
        let theme = self.theme;
        let label = cut(name, 4);
        put_right(self.buffer, area.x, area.y, 3, &label, theme.dim());
        let left = area.width.saturating_sub(3 + 1 + 6);
        let past = (left / 2).min(MOST_HISTORY);
        let wide = left.saturating_sub(past).saturating_sub(1);
        let style = self.percent_style(gauge, Limits::BUSY);
        let share = gauge.number().unwrap_or(0.0) / 100.0;
        bars::bar(self.buffer, (area.x.saturating_add(4), area.y), wide, share, style, theme);
        let x = area.x.saturating_add(4).saturating_add(wide);
        put_right(self.buffer, x, area.y, 6, &self.text(gauge, Unit::Percent), style);
        let x = x.saturating_add(7);
        let past = area.right().saturating_sub(x);
        bars::history(self.buffer, (x, area.y), past, &gauge.history, scale, theme);
        self.item(Pane::Processors, area, &gauge.path);
    }

    /// A letter for each processor, where there are too many for more.
    fn many_processors(&mut self, area: Rect) {
        let scale = Scale { most: 100.0, limits: Some(Limits::BUSY) };
        for (nth, (_, gauge)) in self.view.processors.each.iter().enumerate() {
            let nth = u16::try_from(nth).unwrap_or(u16::MAX);
            let y = area.y.saturating_add(nth.checked_div(area.width).unwrap_or(0));
            if y >= area.bottom() {
                break;
            }
            let x = area.x.saturating_add(nth.checked_rem(area.width).unwrap_or(0));
            let now = gauge.number().map_or(f32::NAN, |number| number as f32);
            bars::history(self.buffer, (x, y), 1, &[now], scale, self.theme);
            self.item(Pane::Processors, Rect { x, y, width: 1, height: 1 }, &gauge.path);
        }
    }

    fn processor_line(&mut self, area: Rect) {
        let total = &self.view.processors.total;
        let style = self.percent_style(total, Limits::BUSY);
        let scale = Scale { most: 100.0, limits: Some(Limits::BUSY) };
        let heat = self.view.hottest().map(|one| format!(" {}", words::sensor_value(one)));
        let text = self.text(total, Unit::Percent) + &heat.unwrap_or_default();
        let share = total.number().unwrap_or(0.0) / 100.0;
        self.line(
            Pane::Processors,
            area,
            &text,
            style,
            Some(share),
            Some((&total.history, scale)),
            &total.path,
        );
    }

    /// A pane in one line: its short title, a text, a bar, a history.
    #[expect(clippy::too_many_arguments, reason = "each is another part of one line")]
    pub(super) fn line(
        &mut self,
        pane: Pane,
        area: Rect,
        text: &str,
        style: Style,
        share: Option<f64>,
        past: Option<(&[f32], Scale)>,
        path: &str,
    ) {
        if area.height == 0 {
            return;
        }
        let (x, y) = (area.x, area.y);
        let title = self.word(words::title(pane).1);
        put(self.buffer, x, y, 6, &cut(title, 6), self.theme.bold());
        let x = x.saturating_add(LINE_LABEL);
        let room = area.right().saturating_sub(x);
        // Half a unit would be another one.
        let end = put(self.buffer, x, y, room, &cut(text, room), style);
        let x = end.max(x.saturating_add(6)).saturating_add(1);
        let left = area.right().saturating_sub(x);
        if left >= 6 {
            let wide = if past.is_some() { left / 2 } else { left };
            if let Some(share) = share {
                bars::bar(self.buffer, (x, y), wide.saturating_sub(1), share, style, self.theme);
            }
            let from = if share.is_some() { x.saturating_add(wide) } else { x };
            if let Some((numbers, scale)) = past {
                let columns = area.right().saturating_sub(from);
                bars::history(self.buffer, (from, y), columns, numbers, scale, self.theme);
            }
        }
        self.item(pane, area, path);
    }

    pub(super) fn memory(&mut self, area: Rect) {
        let view = self.view;
        let memory = &view.memory;
        let theme = self.theme;
        let share = memory.share();
        let style =
            theme.level(share.map_or(crate::model::overview::Level::Idle, |one| Limits::MEMORY.level(one)));
        let of_swap = memory.swap_size.filter(|_| self.room == Room::Wide);
        let of_swap = of_swap.map(|size| format!(" {} {}", self.word(words::OF), human::bytes(size)));
        let swap = match memory.swap_size {
            _ if memory.swap.path.is_empty() => String::new(),
            Some(0.0) => self.word(words::NO_SWAP).to_string(),
            _ => {
                let share = self.text(&memory.swap, Unit::Percent);
                format!("{} {share}{}", self.word(words::SWAP), of_swap.unwrap_or_default())
            }
        };
        let swap_style = self.percent_style(&memory.swap, Limits::SWAP);
        let text =
            share.map_or_else(|| self.text(&memory.available, Unit::Bytes), |one| Unit::Percent.text(one));
        let total = memory.total.filter(|_| memory.parts().is_some());
        let of = total.map(|total| format!("{} {}", self.word(words::OF), human::bytes(total)));
        if self.room == Room::Lines {
            let text = format!("{text} {} {swap}", of.unwrap_or_default());
            let part = share.map(|share| share / 100.0);
            return self.line(Pane::Memory, area, text.trim(), style, part, None, &memory.available.path);
        }
        let paging = match memory.paging.path.is_empty() {
            true => String::new(),
            false => format!("{} {}", self.text(&memory.paging, Unit::PerSecond), self.word(words::PAGING)),
        };
        let of = of.unwrap_or_default();
        // A narrow screen has no room for both, and swap in use says more.
        let (text, of) = match self.room {
            Room::Wide => (format!("{text} {of}").trim_end().to_string(), String::new()),
            _ => (text, of),
        };
        let parts = [(text, style), (swap, swap_style), (of, theme.plain()), (paging, theme.dim())];
        self.heading(Pane::Memory, area, &parts);
        let y = area.y.saturating_add(1);
        if y < area.bottom() {
            match memory.parts() {
                Some([used, cache, free]) => {
                    let parts = [(used, style), (cache, theme.warning()), (free, theme.dim())];
                    bars::band(self.buffer, (area.x, y), area.width, &parts, theme);
                }
                None => {
                    let share = share.unwrap_or(0.0) / 100.0;
                    bars::bar(self.buffer, (area.x, y), area.width, share, style, theme);
                }
            }
            self.item(Pane::Memory, Rect { y, height: 1, ..area }, &memory.available.path);
        }
        let y = y.saturating_add(1);
        if y < area.bottom() {
            self.memory_words(Rect { y, height: 1, ..area });
        }
    }

    /// What the parts of the band are, and how much memory is promised.
    fn memory_words(&mut self, area: Rect) {
        let memory = &self.view.memory;
        let bytes = human::bytes;
        let mut texts = Vec::new();
        match memory.parts() {
            Some([used, cache, free]) => {
                for (label, part, letter) in [
                    (words::USED, used, self.theme.either("█", "#")),
                    (words::CACHE, cache, self.theme.either("▒", "=")),
                    (words::FREE, free, self.theme.either("·", ".")),
                ] {
                    texts.push(format!("{letter} {} {}", self.word(label), bytes(part)));
                }
            }
            None => {
                let available = self.text(&memory.available, Unit::Bytes);
                texts.push(format!("{} {available}", self.word(words::AVAILABLE)));
            }
        }
        let mut path = memory.free.path.clone();
        if let (Some(committed), Some(limit)) = (memory.committed.number(), memory.limit.number()) {
            let of = self.word(words::OF);
            texts.push(format!("{} {} {of} {}", self.word(words::COMMITTED), bytes(committed), bytes(limit)));
            path.clone_from(&memory.committed.path);
        }
        let mut text = String::new();
        for part in texts {
            // A part is shown whole or left out.
            if width(&text).saturating_add(width(&part)).saturating_add(2) <= area.width {
                text = if text.is_empty() { part } else { format!("{text}  {part}") };
            }
        }
        let end = put(self.buffer, area.x, area.y, area.width, &text, self.theme.plain());
        let past = memory.share_history();
        let x = end.saturating_add(2);
        let left = area.right().saturating_sub(x);
        if left >= 8 && !past.is_empty() {
            let scale = Scale { most: 100.0, limits: Some(Limits::MEMORY) };
            let wide = left.min(MOST_HISTORY);
            // At the right, below the ends of the other histories.
            let x = area.right().saturating_sub(wide);
            bars::history(self.buffer, (x, area.y), wide, &past, scale, self.theme);
        }
        self.item(Pane::Memory, area, &path);
    }

    /// Texts in columns from the left, those that fit, and a history in the rest.
    pub(super) fn columns(
        &mut self,
        area: Rect,
        columns: &[(u16, String, Style)],
        numbers: &[f32],
        scale: Scale,
    ) {
        let mut x = area.x;
        for (wide, text, style) in columns {
            if x.saturating_add(*wide) > area.right() {
                return;
            }
            put_right(self.buffer, x, area.y, *wide, text, *style);
            x = x.saturating_add(*wide).saturating_add(1);
        }
        let left = area.right().saturating_sub(x);
        if left >= 6 {
            bars::history(self.buffer, (x, area.y), left.min(MOST_HISTORY), numbers, scale, self.theme);
        }
    }

    pub(super) fn bytes(&self, gauge: &Gauge, sign: &str) -> String {
        format!("{sign}{}", self.text(gauge, Unit::BytesPerSecond))
    }

    /// Two rates with their words; nothing before there are any.
    pub(super) fn rates(&self, one: (Label, f64), other: (Label, f64), known: Option<&Gauge>) -> String {
        let Some(known) = known.filter(|known| !known.path.is_empty()) else { return String::new() };
        if let Err(why) = known.value {
            return self.missing(why);
        }
        let text = |(label, number): (Label, f64)| {
            format!("{} {}", self.word(label), human::bytes_per_second(number))
        };
        format!("{}  {}", text(one), text(other))
    }

    pub(super) fn network(&mut self, area: Rect) {
        let view = self.view;
        let sum = |of: fn(&Interface) -> &Gauge| {
            view.interfaces.iter().filter_map(|one| of(one).number()).sum::<f64>()
        };
        let (received, sent) = (sum(|one| &one.received), sum(|one| &one.sent));
        let first = view.interfaces.first();
        let rates = self.rates((words::IN, received), (words::OUT, sent), first.map(|one| &one.received));
        if self.room == Room::Lines {
            let path = first.map_or("", |one| one.received.path.as_str());
            return self.line(Pane::Network, area, &rates, self.theme.plain(), None, None, path);
        }
        let histories =
            view.interfaces.iter().flat_map(|one| [&one.received.history[..], &one.sent.history[..]]);
        let most = bars::round_most(histories, LEAST_BYTES);
        let scale = format!("{} {}", self.theme.either("▇ =", "# ="), human::bytes_per_second(most));
        let scale = if self.room == Room::Wide && first.is_some() { scale } else { String::new() };
        self.heading(Pane::Network, area, &[(rates, self.theme.plain()), (scale, self.theme.dim())]);
        let mut rows = area.rows().skip(1);
        let folded = u16::from(!view.idle_interfaces.names.is_empty());
        let room = usize::from(area.height.saturating_sub(1).saturating_sub(folded));
        // With room to spare each interface has a second line.
        let has_more = room >= view.interfaces.len().saturating_mul(2);
        for interface in view.interfaces.iter().take(room) {
            if let Some(row) = rows.next() {
                self.interface(row, interface, most);
            }
            let more = has_more.then(|| self.of_interface(interface)).filter(|text| !text.is_empty());
            if let Some((text, row)) = more.and_then(|text| Some((text, rows.next()?))) {
                let x = row.x.saturating_add(2);
                let left = row.right().saturating_sub(x);
                put(self.buffer, x, row.y, left, &cut(&text, left), self.theme.dim());
            }
        }
        let hidden = view.interfaces.iter().skip(room).map(|one| one.name.clone());
        let idle = Folded {
            names: hidden.chain(view.idle_interfaces.names.iter().cloned()).collect(),
            ..view.idle_interfaces.clone()
        };
        if let Some(row) = rows.next() {
            self.folded(row, &idle, words::VIRTUAL);
        }
    }

    fn interface(&mut self, area: Rect, interface: &Interface, most: f64) {
        let theme = self.theme;
        let name = if area.width >= 60 { 14 } else { 9 };
        put(self.buffer, area.x, area.y, name, &cut_middle(&interface.name, name), theme.plain());
        let style = |gauge: &Gauge| {
            let share = interface.speed.zip(gauge.number()).map(|(speed, number)| number / speed * 100.0);
            share.map_or(theme.plain(), |share| match Limits::BUSY.level(share) {
                crate::model::overview::Level::Idle => theme.plain(),
                level => theme.level(level),
            })
        };
        let columns = [
            (11, self.bytes(&interface.received, theme.either("↓", "i")), style(&interface.received)),
            (11, self.bytes(&interface.sent, theme.either("↑", "o")), style(&interface.sent)),
        ];
        let x = area.x.saturating_add(name).saturating_add(1);
        let rest = Rect { x, width: area.right().saturating_sub(x), ..area };
        // Both directions in one history: what comes in, then what goes out.
        let after = rest.x.saturating_add(24);
        let left = rest.right().saturating_sub(after).min(MOST_HISTORY.saturating_mul(2));
        let scale = Scale { most, limits: None };
        self.columns(Rect { width: rest.width.min(24), ..rest }, &columns, &[], scale);
        if left >= 13 {
            let half = left.saturating_sub(1) / 2;
            bars::history(self.buffer, (after, area.y), half, &interface.received.history, scale, theme);
            let other = after.saturating_add(half).saturating_add(1);
            bars::history(self.buffer, (other, area.y), half, &interface.sent.history, scale, theme);
        }
        self.item(Pane::Network, area, &interface.received.path);
    }

    /// What an interface received and sent since its start, and its addresses.
    fn of_interface(&self, interface: &Interface) -> String {
        let mut parts = Vec::new();
        if let [Some(received), Some(sent)] = interface.totals {
            let (from, to) = (self.theme.either("↓", "i"), self.theme.either("↑", "o"));
            let (received, sent) = (human::bytes(received), human::bytes(sent));
            parts.push(format!("{from}{received} {to}{sent} {}", self.word(words::SINCE_START)));
        }
        parts.extend(interface.addresses.iter().cloned());
        parts.join("  ")
    }

    pub(super) fn pressure(&mut self, area: Rect) {
        let pressure = &self.view.pressure;
        let rows: [(Label, &Gauge, Option<&Gauge>); 3] = [
            (words::PROCESSOR, &pressure.processor, None),
            (words::MEMORY, &pressure.memory[0], Some(&pressure.memory[1])),
            (words::DISKS, &pressure.disk[0], Some(&pressure.disk[1])),
        ];
        let texts: Vec<(String, Style)> = rows
            .iter()
            .map(|(label, some, _)| {
                let text = format!("{} {}", self.word(*label), self.text(some, Unit::Percent));
                (text, self.percent_style(some, Limits::PRESSURE))
            })
            .collect();
        if self.room == Room::Lines {
            let mut text = texts.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>().join(" ");
            if width(&text) > area.width.saturating_sub(LINE_LABEL) {
                let short = |pane, gauge| {
                    format!("{} {}", self.word(words::title(pane).1), self.text(gauge, Unit::Percent))
                };
                let (memory, disks) = (&pressure.memory[0], &pressure.disk[0]);
                let processor = texts.first().map_or("", |(text, _)| text.as_str());
                text = [processor, &short(Pane::Memory, memory), &short(Pane::Disks, disks)].join(" ");
            }
            let number = |gauge: &Gauge| gauge.number().unwrap_or(0.0);
            let gauges = rows.iter().map(|(_, gauge, _)| *gauge);
            let worst = gauges.max_by(|one, other| number(one).total_cmp(&number(other)));
            let style = worst.map_or(self.theme.plain(), |one| self.percent_style(one, Limits::PRESSURE));
            return self.line(Pane::Pressure, area, &text, style, None, None, &pressure.processor.path);
        }
        let waited = (self.word(words::WAITED_FOR).to_string(), self.theme.dim());
        self.heading(Pane::Pressure, area, &[waited]);
        if self.room == Room::Middle {
            let mut x = area.x;
            let y = area.y.saturating_add(1);
            for ((text, style), (_, gauge, _)) in texts.iter().zip(rows) {
                let end = put(self.buffer, x, y, area.right().saturating_sub(x), text, *style);
                self.item(
                    Pane::Pressure,
                    Rect { x, y, width: end.saturating_sub(x), height: 1 },
                    &gauge.path,
                );
                x = end.saturating_add(2);
            }
            return;
        }
        let scale = Scale { most: 100.0, limits: Some(Limits::PRESSURE) };
        for (row, (label, some, full)) in area.rows().skip(1).zip(rows) {
            let style = self.percent_style(some, Limits::PRESSURE);
            put(self.buffer, row.x, row.y, 14, self.word(label), self.theme.plain());
            let all = full.map_or(String::new(), |full| {
                format!("{} {}", self.word(words::ALL), self.text(full, Unit::Percent))
            });
            let all_style = full.map_or(self.theme.dim(), |full| self.percent_style(full, Limits::PRESSURE));
            let columns = [(11, self.text(some, Unit::Percent), style), (11, all, all_style)];
            let x = row.x.saturating_add(15);
            let rest = Rect { x, width: row.right().saturating_sub(x), ..row };
            self.columns(rest, &columns, &some.history, scale);
            self.item(Pane::Pressure, row, &some.path);
        }
    }
}

/// Columns of the title of a pane in one line.
pub(super) const LINE_LABEL: u16 = 7;

/// The longest short history: more columns would change with every sample.
pub(super) const MOST_HISTORY: u16 = 24;
