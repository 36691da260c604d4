//! The table: all instances of an object with all its counters, sorted by any of them. The "top" of everything.

use std::collections::HashMap;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use tallymon::core::counter::CounterType;
use tallymon::core::flow::{Absence, NoValue, SourceError, Value};
use tallymon::core::title::TitleIndex;
use tallymon::sample::Tick as Sample;
use tallymon::{InstanceIdentity, InstanceKey};

use crate::model::{DEEPEST, Numbers, PROCESS, Tick, Ticks, process, tree};
use crate::term::text::{cut, put, put_right, width};
use crate::term::theme::Theme;
use crate::words::{Word, Words};
use crate::workspace::feed::Feed;

/// Number of a process, and of the one that made it.
const NUMBERS: [TitleIndex; 2] = [TitleIndex(784), TitleIndex(1410)];

/// An object with instances, and its own query: nothing of it is recorded.
pub(crate) struct Table {
    feed: Feed,
    /// Position of its host.
    pub(crate) host: usize,
    /// Its name, where it is not the first.
    pub(crate) host_name: Option<String>,
    object: TitleIndex,
    columns: Vec<Column>,
    rows: Vec<Row>,
    /// Column that it is sorted by.
    sorted: usize,
    ascending: bool,
    /// Each instance stands below the one that made it.
    is_tree: bool,
    /// First column that is drawn.
    left: usize,
    /// The chosen instance: it stays chosen wherever sorting puts it.
    chosen: Option<InstanceKey>,
    /// What the name of an instance has to contain, in small letters.
    filter: String,
    /// Instances that are ticked, here or in another table.
    pub(crate) ticks: Ticks,
    /// Where the instances shown and the columns stood on the last screen.
    row_places: Vec<(u16, InstanceKey)>,
    column_places: Vec<(Rect, usize)>,
    /// A click before, to tell a double click.
    clicked: Option<Position>,
}

struct Column {
    counter: TitleIndex,
    name: String,
    counter_type: CounterType,
}

struct Row {
    key: InstanceKey,
    identity: Option<InstanceIdentity>,
    cells: Vec<Result<Value, NoValue>>,
}

impl Table {
    /// A table of an object, whose first sample is requested or there, over a query without paths of a host; `counter` is
    /// what it is sorted by.
    pub(crate) fn open(
        mut feed: Feed,
        host: usize,
        object: TitleIndex,
        counter: Option<TitleIndex>,
    ) -> Result<Option<Table>, SourceError> {
        let Some(known) = feed.query.catalog().object(object).filter(|object| object.has_instances) else {
            return Ok(None);
        };
        let names = feed.query.names();
        let columns: Vec<Column> = known
            .visible_counters()
            .map(|counter| Column {
                counter: counter.name,
                name: names.name(counter.name),
                counter_type: counter.counter_type,
            })
            .collect();
        let first = known.default_counter.and_then(|at| known.counters.get(at)).map(|counter| counter.name);
        let wanted = counter.or(first);
        let sorted = columns.iter().position(|column| Some(column.counter) == wanted).unwrap_or(0);
        let path = format!("\\{}(*)\\*", object.0);
        feed.query.add(&path).map_err(|error| {
            SourceError::new(tallymon::core::flow::SourceErrorKind::NotFound, error.to_string())
        })?;
        let mut table = Table {
            feed,
            host,
            host_name: None,
            object,
            columns,
            rows: Vec::new(),
            sorted,
            ascending: false,
            is_tree: false,
            left: sorted.saturating_sub(1),
            chosen: None,
            filter: String::new(),
            ticks: Ticks::default(),
            row_places: Vec::new(),
            column_places: Vec::new(),
            clicked: None,
        };
        if table.feed.begin()? {
            table.show();
        }
        Ok(Some(table))
    }

    /// Shows a sample, or the log at its new time.
    pub(crate) fn take(&mut self, sample: Option<&Sample>) -> Result<(), SourceError> {
        if self.feed.take(sample)? {
            self.show();
        }
        Ok(())
    }

    /// Whether the first sample is still to come.
    pub(crate) fn is_priming(&self) -> bool {
        self.feed.is_priming()
    }

    /// Takes over all instances of the last sample.
    fn show(&mut self) {
        let chosen = self.chosen.take();
        let mut rows: Vec<Row> = Vec::new();
        let mut positions: HashMap<&InstanceKey, usize> = HashMap::new();
        let columns: HashMap<TitleIndex, usize> =
            self.columns.iter().enumerate().map(|(position, column)| (column.counter, position)).collect();
        // Values come counter by counter, each with all instances. No texts are made for them: there may be thousands of
        // instances with dozens of counters.
        self.feed.query.for_each(|value| {
            let Some(key) = value.instance else { return };
            let Some(column) = columns.get(&value.definition.name) else { return };
            let position = *positions.entry(key).or_insert_with(|| {
                let cells = vec![Err(NoValue::NoCounter); self.columns.len()];
                rows.push(Row { key: key.clone(), identity: value.identity, cells });
                rows.len().saturating_sub(1)
            });
            let cell = rows.get_mut(position).and_then(|row| row.cells.get_mut(*column));
            if let Some(cell) = cell {
                *cell = value.cell.value;
            }
        });
        // A log knows all instances that it ever has; those that are not there at this time have no values.
        let is_gone = |cell: &Result<Value, NoValue>| {
            matches!(cell, Err(NoValue::NoData(Absence::Vanished) | NoValue::NoCounter))
        };
        rows.retain(|row| !row.cells.iter().all(is_gone));
        self.rows = rows;
        self.sort();
        self.chosen = chosen.or_else(|| self.shown().first().map(|(row, _)| row.key.clone()));
    }

    /// The path of the sorted column of the chosen instance.
    pub(crate) fn chosen_path(&self) -> Option<String> {
        let key = self.chosen.as_ref()?;
        let counter = self.columns.get(self.sorted)?.counter;
        let names = self.feed.query.names();
        Some(format!("\\{}({key})\\{}", names.english(self.object), names.english(counter)))
    }

    /// Sorts by the next column, or the one before.
    pub(crate) fn move_column(&mut self, by: isize) {
        self.sorted = self.sorted.saturating_add_signed(by).min(self.columns.len().saturating_sub(1));
        self.sort();
    }

    /// Smallest first instead of largest first, or back.
    pub(crate) fn reverse(&mut self) {
        self.ascending = !self.ascending;
        self.sort();
    }

    /// Shows each instance below the one that made it, or all as they are sorted. `false` when the object does not say who
    /// made whom.
    pub(crate) fn toggle_tree(&mut self) -> bool {
        let can_be = self.number_columns().is_some();
        self.is_tree = can_be && !self.is_tree;
        can_be
    }

    /// The columns of an instance's own number, and of the one that made it.
    fn number_columns(&self) -> Option<[usize; 2]> {
        let [own, maker] =
            NUMBERS.map(|wanted| self.columns.iter().position(|column| column.counter == wanted));
        Some([own?, maker?])
    }

    /// Chooses an instance so many rows further.
    pub(crate) fn move_row(&mut self, by: isize) {
        let shown = self.shown();
        let at = shown.iter().position(|(row, _)| Some(&row.key) == self.chosen.as_ref()).unwrap_or(0);
        let at = at.saturating_add_signed(by).min(shown.len().saturating_sub(1));
        self.chosen = shown.get(at).map(|(row, _)| row.key.clone());
    }

    /// What the name of an instance has to contain.
    pub(crate) fn filter(&self) -> &str {
        &self.filter
    }

    /// Shows only instances whose names contain this, in small letters; one of them is chosen.
    pub(crate) fn set_filter(&mut self, filter: String) {
        self.filter = filter;
        let shown = self.shown();
        if !shown.iter().any(|(row, _)| Some(&row.key) == self.chosen.as_ref())
            && let Some((first, _)) = shown.first()
        {
            self.chosen = Some(first.key.clone());
        }
    }

    /// Chooses what was clicked: an instance, or what to sort by; the second click on a heading turns the order. Whether
    /// it is a double click on an instance.
    pub(crate) fn click(&mut self, place: Position) -> bool {
        let again = self.clicked.replace(place) == Some(place);
        if let Some((_, key)) = self.row_places.iter().find(|(row, _)| *row == place.y) {
            let key = Some(key.clone());
            return std::mem::replace(&mut self.chosen, key.clone()) == key && again;
        }
        let column =
            self.column_places.iter().find(|(area, _)| area.contains(place)).map(|(_, column)| *column);
        match column {
            Some(column) if column == self.sorted => self.reverse(),
            Some(column) => {
                self.sorted = column;
                self.sort();
            }
            None => {}
        }
        false
    }

    /// The next object with instances, or the one before.
    pub(crate) fn other_object(&self, forward: bool) -> Option<TitleIndex> {
        let objects = self.feed.query.catalog().objects();
        let with: Vec<TitleIndex> =
            objects.iter().filter(|object| object.has_instances).map(|object| object.name).collect();
        let at = with.iter().position(|object| *object == self.object)?;
        let step = if forward { 1 } else { with.len().checked_sub(1)? };
        with.get(at.checked_add(step)?.checked_rem(with.len())?).copied()
    }

    /// The chosen instance, as it is ticked.
    pub(crate) fn chosen_tick(&self) -> Option<Tick> {
        let (row, _) = self.shown().into_iter().find(|(row, _)| Some(&row.key) == self.chosen.as_ref())?;
        Some(self.tick_of(row))
    }

    fn tick_of(&self, row: &Row) -> Tick {
        let (host, identity) = (self.host_name.clone(), row.identity);
        Tick { host, object: self.object, key: row.key.clone(), identity }
    }

    /// The rows that are shown, each with the number of rows above it in a tree.
    fn shown(&self) -> Vec<(&Row, usize)> {
        let rows = self.passed();
        let Some([own, maker]) = self.number_columns().filter(|_| self.is_tree) else {
            return rows.into_iter().map(|row| (row, 0)).collect();
        };
        // Zero is the machine, which makes processes and is none, and sums have no number of their own.
        let number = |row: &Row, column: usize| {
            let value = row.cells.get(column)?.as_ref().ok()?.as_f64()?;
            (value > 0.0).then_some(value.to_bits())
        };
        let numbers: Vec<Numbers> = rows.iter().map(|row| (number(row, own), number(row, maker))).collect();
        let ordered = tree(&numbers).into_iter();
        ordered.filter_map(|(position, depth)| Some((*rows.get(position)?, depth))).collect()
    }

    fn passed(&self) -> Vec<&Row> {
        let filter = &self.filter;
        let fits = |row: &&Row| row.key.to_string().to_lowercase().contains(filter.as_str());
        if self.is_of_ticks() {
            return self.rows.iter().filter(fits).filter(|row| self.ticks.pass(&self.tick_of(row))).collect();
        }
        self.rows.iter().filter(fits).collect()
    }

    /// Whether only what is of ticked instances is shown: those of another object that has to do with this one. The object
    /// where they were ticked has all of its own, to tick more.
    fn is_of_ticks(&self) -> bool {
        let host = self.host_name.as_deref();
        let has_processes = || self.rows.iter().any(|row| process(row.identity).is_some());
        !self.ticks.is_empty()
            && !self.ticks.has_of(host, self.object)
            && (self.ticks.has_of(host, PROCESS) && has_processes()
                || self.rows.iter().any(|row| self.ticks.pass(&self.tick_of(row))))
    }

    /// Sorts; sums of all instances stay at the top, and what has no value goes to the end.
    fn sort(&mut self) {
        let (sorted, ascending) = (self.sorted, self.ascending);
        self.rows.sort_by(|one, other| {
            let is_total = |row: &Row| row.key.name == "_Total";
            let cell = |row: &Row| row.cells.get(sorted).and_then(|cell| cell.as_ref().ok()).cloned();
            is_total(other)
                .cmp(&is_total(one))
                .then_with(|| {
                    let order = match (cell(one), cell(other)) {
                        (Some(Value::Text(one)), Some(Value::Text(other))) => other.cmp(&one),
                        (Some(one), Some(other)) => {
                            one.as_f64().unwrap_or(0.0).total_cmp(&other.as_f64().unwrap_or(0.0))
                        }
                        (one, other) => return one.is_none().cmp(&other.is_none()),
                    };
                    if ascending { order } else { order.reverse() }
                })
                .then_with(|| one.key.cmp(&other.key))
        });
    }

    pub(crate) fn draw(&mut self, buffer: &mut Buffer, area: Rect, words: Words, theme: Theme) {
        const WIDE: u16 = 14;
        let shown = self.shown();
        let names = self.feed.query.names();
        // Marks have their place as soon as there is one.
        let has_ticks = self.ticks.has_of(self.host_name.as_deref(), self.object);
        let mark = u16::from(has_ticks) * 2;
        let name_columns = shown
            .iter()
            .map(|(row, depth)| {
                width(&row.key.to_string()).saturating_add(mark).saturating_add(width(&branch(*depth, theme)))
            })
            .max()
            .unwrap_or(0)
            .clamp(12, (area.width / 3).max(12));
        let fit = usize::from(area.width.saturating_sub(name_columns).saturating_sub(1) / (WIDE + 1)).max(1);
        // The sorted column is always in view.
        let left = if self.sorted < self.left {
            self.sorted
        } else {
            self.left.max(self.sorted.saturating_add(1).saturating_sub(fit))
        };
        let left = left.min(self.columns.len().saturating_sub(fit));
        let heading = format!(
            "{}: {}   {} {}",
            names.name(self.object),
            shown.len(),
            words.get(Word::SortedBy),
            self.columns.get(self.sorted).map_or("", |column| column.name.as_str()),
        );
        let mut x = put(buffer, area.x.saturating_add(1), area.y, area.width, &heading, theme.bold());
        if self.is_tree {
            let as_tree = words.get(Word::AsTree);
            x = put(buffer, x.saturating_add(2), area.y, area.width, as_tree, theme.plain());
        }
        if self.is_of_ticks() {
            x = put(
                buffer,
                x.saturating_add(3),
                area.y,
                area.width,
                words.get(Word::OfTicked),
                theme.warning(),
            );
        }
        if !self.filter.is_empty() {
            // Who is not here may have been filtered out.
            let left = area.right().saturating_sub(x).saturating_sub(4);
            let filter = cut(&format!("/{}", self.filter), left);
            put(buffer, x.saturating_add(3), area.y, left, &filter, theme.warning());
        }
        let second = area.y.saturating_add(1);
        put(buffer, area.x, area.y.saturating_add(2), name_columns, words.get(Word::Instance), theme.dim());
        let column_at = |column: usize| {
            let place = u16::try_from(column.saturating_sub(left)).unwrap_or(u16::MAX);
            area.x
                .saturating_add(name_columns)
                .saturating_add(1)
                .saturating_add(place.saturating_mul(WIDE + 1))
        };
        let in_view = || self.columns.iter().enumerate().skip(left).take(fit);
        let mut column_places = Vec::new();
        for (number, column) in in_view() {
            column_places.push((Rect { x: column_at(number), y: second, width: WIDE, height: 2 }, number));
            let style = if number == self.sorted { theme.bold() } else { theme.dim() };
            let arrow = match (number == self.sorted, self.ascending) {
                (false, _) => "",
                (true, true) => theme.either("▲", "^"),
                (true, false) => theme.either("▼", "v"),
            };
            let lines = crate::term::text::wrap(&column.name, WIDE.saturating_sub(width(arrow)));
            let upper = if lines.len() > 1 { lines.first().map_or("", String::as_str) } else { "" };
            let lower =
                lines.iter().skip(usize::from(lines.len() > 1)).cloned().collect::<Vec<_>>().join(" ");
            let lower = format!("{}{arrow}", cut(&lower, WIDE.saturating_sub(width(arrow))));
            put_right(buffer, column_at(number), second, WIDE, upper, style);
            put_right(buffer, column_at(number), second.saturating_add(1), WIDE, &lower, style);
        }
        let top_row = area.y.saturating_add(3);
        let rows = usize::from(area.bottom().saturating_sub(top_row));
        let at = shown.iter().position(|(row, _)| Some(&row.key) == self.chosen.as_ref()).unwrap_or(0);
        let top = at.saturating_sub(rows.saturating_sub(1));
        if self.feed.query.snapshot().is_none() {
            let reading = format!("{}{}", words.get(Word::ReadingValues), theme.either("…", "..."));
            put(buffer, area.x, top_row, area.width, &reading, theme.dim());
        }
        let mut row_places = Vec::new();
        for (y, (row, depth)) in (top_row..area.bottom()).zip(shown.iter().skip(top)) {
            row_places.push((y, row.key.clone()));
            let chosen = Some(&row.key) == self.chosen.as_ref();
            let style = match (chosen, row.key.name == "_Total") {
                (true, _) => theme.selected(),
                (false, true) => theme.bold(),
                (false, false) => theme.plain(),
            };
            buffer.set_style(Rect { y, height: 1, ..area }, style);
            let is_ticked = has_ticks && self.ticks.has(&self.tick_of(row));
            let mark = if is_ticked { theme.either("✓ ", "+ ") } else { "" };
            let name = format!("{mark}{}{}", branch(*depth, theme), row.key);
            put(buffer, area.x, y, name_columns, &cut(&name, name_columns), style);
            for (number, column) in in_view() {
                let Some(cell) = row.cells.get(number) else { continue };
                let (text, own) = match cell {
                    Ok(value) => (words.numbers().value(value, column.counter_type), style),
                    Err(NoValue::FirstSample) => (theme.either("…", "...").to_string(), style),
                    Err(_) => (theme.either("–", "-").to_string(), theme.dim().patch(style)),
                };
                put_right(buffer, column_at(number), y, WIDE, &cut(&text, WIDE), own);
            }
        }
        (self.left, self.row_places, self.column_places) = (left, row_places, column_places);
    }
}

/// What stands before the name of an instance with so many above it.
fn branch(depth: usize, theme: Theme) -> String {
    match depth.min(DEEPEST).checked_sub(1) {
        Some(above) => "  ".repeat(above) + theme.either("└ ", "`-"),
        None => String::new(),
    }
}
