//! Draws disks and file systems.

use ratatui::layout::Rect;
use tallymon::human::{self, Unit};

use crate::keys::binding::Label;
use crate::model::overview::{Disk, FileSystem, Folded, Gauge, Limits, Pane};
use crate::screens::overview::bars::{self, Scale};
use crate::screens::overview::draw::{LINE_LABEL, Painter};
use crate::screens::overview::layout::Room;
use crate::screens::overview::words;
use crate::term::text::{cut, cut_middle, put, put_right, width};

impl Painter<'_> {
    pub(super) fn disks(&mut self, area: Rect) {
        let view = self.view;
        let sum =
            |of: fn(&Disk) -> &Gauge| view.disks.iter().filter_map(|disk| of(disk).number()).sum::<f64>();
        let (read, write) = (sum(|disk| &disk.read), sum(|disk| &disk.write));
        let busiest = view.disks.iter().max_by(|one, other| {
            let number = |disk: &Disk| disk.busy.number().unwrap_or(0.0);
            number(one).total_cmp(&number(other))
        });
        let rates = self.rates((words::READ, read), (words::WRITE, write), busiest.map(|disk| &disk.read));
        if self.room == Room::Lines {
            let Some(busiest) = busiest else {
                return self.line(Pane::Disks, area, &rates, self.theme.plain(), None, None, "");
            };
            let busy = self.text(&busiest.busy, Unit::Percent);
            let mut text = format!("{busy} {rates}");
            if width(&text) > area.width.saturating_sub(LINE_LABEL) {
                let (from, to) = (self.theme.either("↓", "r"), self.theme.either("↑", "w"));
                let (read, write) = (human::bytes_per_second(read), human::bytes_per_second(write));
                text = format!("{busy} {from}{read} {to}{write}");
            }
            let style = self.percent_style(&busiest.busy, Limits::BUSY);
            return self.line(Pane::Disks, area, &text, style, None, None, &busiest.busy.path);
        }
        self.heading(Pane::Disks, area, &[(rates, self.theme.plain())]);
        let mut rows = area.rows().skip(1);
        let folded = u16::from(!view.idle_disks.names.is_empty());
        let room = usize::from(area.height.saturating_sub(1).saturating_sub(folded));
        for disk in view.disks.iter().take(room) {
            if let Some(row) = rows.next() {
                self.disk(row, disk);
            }
        }
        let hidden = view.disks.iter().skip(room).map(|disk| disk.name.clone());
        let idle = Folded {
            names: hidden.chain(view.idle_disks.names.iter().cloned()).collect(),
            ..view.idle_disks.clone()
        };
        if let Some(row) = rows.next() {
            self.folded(row, &idle, words::IDLE);
        }
    }

    fn disk(&mut self, area: Rect, disk: &Disk) {
        let theme = self.theme;
        let style = self.percent_style(&disk.busy, Limits::BUSY);
        let latency_style = self.percent_style(&disk.latency, Limits::LATENCY);
        let name = if area.width >= 60 { 14 } else { 9 };
        put(self.buffer, area.x, area.y, name, &cut_middle(&disk.name, name), theme.plain());
        let x = area.x.saturating_add(name).saturating_add(1);
        // Busy, read, write and latency are columns; what is left is history.
        let columns = [
            (5, self.text(&disk.busy, Unit::Percent), style),
            (11, self.bytes(&disk.read, theme.either("↓", "r")), theme.plain()),
            (11, self.bytes(&disk.write, theme.either("↑", "w")), theme.plain()),
            (8, self.text(&disk.latency, Unit::Seconds), latency_style),
        ];
        let scale = Scale { most: 100.0, limits: Some(Limits::BUSY) };
        self.columns(
            Rect { x, width: area.right().saturating_sub(x), ..area },
            &columns,
            &disk.busy.history,
            scale,
        );
        self.item(Pane::Disks, area, &disk.busy.path);
    }

    pub(super) fn file_systems(&mut self, area: Rect) {
        let view = self.view;
        let theme = self.theme;
        if self.room == Room::Lines {
            let Some(fullest) = view.file_systems.first() else {
                return self.line(Pane::Space, area, "", theme.plain(), None, None, "");
            };
            let free = fullest
                .free
                .number()
                .map(|free| format!("{} {}", human::bytes(free), self.word(words::FREE)));
            let used = self.text(&fullest.share, Unit::Percent);
            let text = format!("{used} {} {}", fullest.name, free.unwrap_or_default());
            let style = self.percent_style(&fullest.share, Limits::SPACE);
            return self.line(Pane::Space, area, &text, style, None, None, &fullest.share.path);
        }
        let rows = usize::from(area.height.saturating_sub(1));
        let (all, others) = (view.file_systems.len(), view.other_file_systems.names.len());
        // The last row names those that are not shown; a narrow screen counts them in the heading.
        let names_them = self.room == Room::Wide && rows > 1 && (all > rows || others > 0);
        let shown = if names_them { all.min(rows.saturating_sub(1)) } else { all.min(rows) };
        let hidden = all.saturating_sub(shown).saturating_add(others);
        let more = if !names_them && hidden > 0 { format!("+{hidden}") } else { String::new() };
        self.heading(Pane::Space, area, &[(more, theme.dim())]);
        let mut lines = area.rows().skip(1);
        for file_system in view.file_systems.iter().take(shown) {
            if let Some(line) = lines.next() {
                self.file_system(line, file_system);
            }
        }
        if let Some(line) = lines.next().filter(|_| names_them) {
            let rest = view.file_systems.iter().skip(shown).map(|one| one.name.clone());
            let names = rest.chain(view.other_file_systems.names.iter().cloned()).collect();
            self.folded(line, &Folded { names, ..Folded::default() }, words::OTHERS);
        }
    }

    /// One file system: where it is, how full, how much of how much, a bar.
    fn file_system(&mut self, area: Rect, one: &FileSystem) {
        let theme = self.theme;
        let style = self.percent_style(&one.share, Limits::SPACE);
        let name = if area.width >= 60 { 14 } else { 9 };
        put(self.buffer, area.x, area.y, name, &cut_middle(&one.name, name), theme.plain());
        let x = area.x.saturating_add(name).saturating_add(1);
        put_right(self.buffer, x, area.y, 5, &self.text(&one.share, Unit::Percent), style);
        let x = x.saturating_add(6);
        let text = match (one.used.zip(one.size), one.free.number()) {
            (Some((used, size)), _) => {
                let of = self.word(words::OF);
                format!("{} {of} {}", human::bytes(used), human::bytes(size))
            }
            (None, Some(free)) => format!("{} {}", human::bytes(free), self.word(words::FREE)),
            (None, None) => String::new(),
        };
        let left = area.right().saturating_sub(x);
        let end = put(self.buffer, x, area.y, left, &cut(&text, left), theme.plain());
        // Bars begin in one column.
        let x = end.max(x.saturating_add(22)).saturating_add(1);
        let left = area.right().saturating_sub(x).min(BAR);
        if left >= 6
            && let Some(share) = one.share.number()
        {
            bars::bar(self.buffer, (x, area.y), left, share / 100.0, style, theme);
        }
        self.item(Pane::Space, area, &one.share.path);
    }

    /// The line of idle and virtual instances.
    pub(super) fn folded(&mut self, area: Rect, folded: &Folded, label: Label) {
        if folded.names.is_empty() {
            return;
        }
        let [one, other] = folded.sums;
        let rates = match one + other > 0.0 {
            true => format!(" {} {}", human::bytes_per_second(one), human::bytes_per_second(other)),
            false => String::new(),
        };
        let text =
            format!("{} ({}){rates}: {}", self.word(label), folded.names.len(), folded.names.join(", "));
        put(self.buffer, area.x, area.y, area.width, &cut(&text, area.width), self.theme.dim());
    }
}

/// The longest bar of a file system.
const BAR: u16 = 24;
