//! The instances of an object with all its counters, sorted by any of them: a "top" of everything.

use std::collections::HashMap;

use ratatui::layout::{Position, Rect};
use tallymon::core::flow::{Absence, NoValue, SourceError, Value};
use tallymon::core::title::TitleIndex;
use tallymon::sample::Tick as Sample;
use tallymon::{InstanceIdentity, InstanceKey};

use crate::model::{ColumnChoices, Numbers, PROCESS, Tick, Ticks, process, tree};
use crate::screens::table::columns::{TableColumn, columns};
use crate::workspace::feed::Feed;

/// The counters with the id of a process, and with that of its parent.
pub(super) const NUMBERS: [TitleIndex; 2] = [TitleIndex(784), TitleIndex(1410)];

/// An object with instances, and a query of its own: nothing is recorded.
pub(crate) struct Table {
    pub(super) feed: Feed,
    /// Position of its host.
    pub(crate) host: usize,
    /// The name of its host, where it is not the first.
    pub(crate) host_name: Option<String>,
    pub(super) object: TitleIndex,
    pub(super) columns: Vec<TableColumn>,
    pub(super) rows: Vec<TableRow>,
    /// Position of the column that the rows are sorted by.
    pub(super) sorted: usize,
    pub(super) ascending: bool,
    /// Each process is shown below its parent.
    pub(super) is_tree: bool,
    /// The first column in view.
    pub(super) left: usize,
    /// The chosen instance stays chosen when the order changes.
    pub(super) chosen: Option<InstanceKey>,
    /// The text that the name of an instance has to contain, in lower case.
    pub(super) filter: String,
    /// The ticked instances, of this table or others.
    pub(crate) ticks: Ticks,
    /// Where rows and headings lie on the screen.
    pub(super) row_areas: Vec<(u16, InstanceKey)>,
    pub(super) column_areas: Vec<(Rect, usize)>,
    /// The last click, to recognise a double click.
    clicked: Option<Position>,
    /// The object with the details is read, too.
    has_details: bool,
}

pub(super) struct TableRow {
    pub(super) key: InstanceKey,
    identity: Option<InstanceIdentity>,
    pub(super) cells: Vec<Result<Value, NoValue>>,
    /// Its process id and that of its parent, whatever columns are shown.
    numbers: Numbers,
}

/// Adds all counters of all instances of an object to the query.
fn add_all(feed: &mut Feed, object: TitleIndex) -> Result<(), SourceError> {
    let added = feed.query.add(&format!("\\{}(*)\\*", object.0)).map(drop);
    added
        .map_err(|error| SourceError::new(tallymon::core::flow::SourceErrorKind::NotFound, error.to_string()))
}

impl Table {
    /// A table of an object over a query without paths, sorted by `counter`. Its first sample is requested,
    /// or there already.
    pub(crate) fn open(
        mut feed: Feed,
        host: usize,
        object: TitleIndex,
        counter: Option<TitleIndex>,
        choices: &ColumnChoices,
    ) -> Result<Option<Table>, SourceError> {
        let Some(known) = feed.query.catalog().object(object).filter(|object| object.has_instances) else {
            return Ok(None);
        };
        let columns = columns(&feed.query, known, choices);
        let first = known.default_counter.and_then(|at| known.counters.get(at)).map(|counter| counter.name);
        let wanted = counter.or(first);
        let sorted = columns.iter().position(|column| Some(column.counter) == wanted).unwrap_or(0);
        add_all(&mut feed, object)?;
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
            left: 0,
            chosen: None,
            filter: String::new(),
            ticks: Ticks::default(),
            row_areas: Vec::new(),
            column_areas: Vec::new(),
            clicked: None,
            has_details: false,
        };
        table.want_details()?;
        if table.feed.begin()? {
            table.show();
        }
        Ok(Some(table))
    }

    /// Reads the object with the details from now on if a column shows one of its texts: reading it is
    /// costly. Returns whether it was not read before.
    pub(super) fn want_details(&mut self) -> Result<bool, SourceError> {
        let details = self.columns.iter().map(|column| column.object).find(|object| *object != self.object);
        let Some(details) = details.filter(|_| !self.has_details) else { return Ok(false) };
        add_all(&mut self.feed, details)?;
        self.has_details = true;
        Ok(true)
    }

    /// Shows a sample, or the log at its new time.
    pub(crate) fn take(&mut self, sample: Option<&Sample>) -> Result<(), SourceError> {
        if self.feed.take(sample)? {
            self.show();
        }
        Ok(())
    }

    /// Whether the first sample has not arrived yet.
    pub(crate) fn is_priming(&self) -> bool {
        self.feed.is_priming()
    }

    /// Shows all instances of the last sample.
    pub(super) fn show(&mut self) {
        let chosen = self.chosen.take();
        let mut rows: Vec<TableRow> = Vec::new();
        let mut positions: HashMap<&InstanceKey, usize> = HashMap::new();
        let columns: HashMap<TitleIndex, usize> =
            self.columns.iter().enumerate().map(|(position, column)| (column.counter, position)).collect();
        // Values arrive counter by counter, each with all instances. They become no texts here: there may be
        // thousands of instances with dozens of counters.
        self.feed.query.for_each(|value| {
            let Some(key) = value.instance else { return };
            let counter = value.definition.name;
            let (column, number) =
                (columns.get(&counter), NUMBERS.iter().position(|known| *known == counter));
            if column.is_none() && number.is_none() {
                return;
            }
            let position = *positions.entry(key).or_insert_with(|| {
                let cells = vec![Err(NoValue::NoCounter); self.columns.len()];
                rows.push(TableRow {
                    key: key.clone(),
                    identity: value.identity,
                    cells,
                    numbers: (None, None),
                });
                rows.len().saturating_sub(1)
            });
            let Some(row) = rows.get_mut(position) else { return };
            // Process id 0 is the kernel and no row, and sums have no id.
            let id = || value.cell.value.as_ref().ok()?.as_f64().filter(|id| *id > 0.0).map(f64::to_bits);
            match number {
                Some(0) => row.numbers.0 = id(),
                Some(_) => row.numbers.1 = id(),
                None => {}
            }
            if let Some(cell) = column.and_then(|column| row.cells.get_mut(*column)) {
                *cell = value.cell.value;
            }
        });
        // A log has all instances that ever existed; those that do not exist at this time have no values.
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
        let column = self.columns.get(self.sorted)?;
        let names = self.feed.query.names();
        Some(format!("\\{}({key})\\{}", names.english(column.object), names.english(column.counter)))
    }

    /// Sorts by the next column, or the one before.
    pub(crate) fn move_column(&mut self, by: isize) {
        self.sorted = self.sorted.saturating_add_signed(by).min(self.columns.len().saturating_sub(1));
        self.sort();
    }

    /// Reverses the order.
    pub(crate) fn reverse(&mut self) {
        self.ascending = !self.ascending;
        self.sort();
    }

    /// Switches between a tree and a sorted list. `false` when the object has no parents.
    pub(crate) fn toggle_tree(&mut self) -> bool {
        let object = self.feed.query.catalog().object(self.object);
        let has = |counter: &TitleIndex| object.is_some_and(|object| object.counter(*counter).is_some());
        let can_be = NUMBERS.iter().all(has);
        self.is_tree = can_be && !self.is_tree;
        can_be
    }

    /// Moves the choice by some rows.
    pub(crate) fn move_row(&mut self, by: isize) {
        let shown = self.shown();
        let at = shown.iter().position(|(row, _)| Some(&row.key) == self.chosen.as_ref()).unwrap_or(0);
        let at = at.saturating_add_signed(by).min(shown.len().saturating_sub(1));
        self.chosen = shown.get(at).map(|(row, _)| row.key.clone());
    }

    /// The filter.
    pub(crate) fn filter(&self) -> &str {
        &self.filter
    }

    /// Shows only instances whose names or texts contain this text, in lower case; one of them is chosen.
    pub(crate) fn set_filter(&mut self, filter: String) {
        self.filter = filter;
        let shown = self.shown();
        if !shown.iter().any(|(row, _)| Some(&row.key) == self.chosen.as_ref())
            && let Some((first, _)) = shown.first()
        {
            self.chosen = Some(first.key.clone());
        }
    }

    /// Chooses the clicked instance, or sorts by the clicked heading; a second click reverses the order.
    /// Returns whether it is a double click on an instance.
    pub(crate) fn click(&mut self, place: Position) -> bool {
        let again = self.clicked.replace(place) == Some(place);
        if let Some((_, key)) = self.row_areas.iter().find(|(row, _)| *row == place.y) {
            let key = Some(key.clone());
            return std::mem::replace(&mut self.chosen, key.clone()) == key && again;
        }
        let column =
            self.column_areas.iter().find(|(area, _)| area.contains(place)).map(|(_, column)| *column);
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

    /// The tick of the chosen instance.
    pub(crate) fn chosen_tick(&self) -> Option<Tick> {
        let (row, _) = self.shown().into_iter().find(|(row, _)| Some(&row.key) == self.chosen.as_ref())?;
        Some(self.tick_of(row))
    }

    pub(super) fn tick_of(&self, row: &TableRow) -> Tick {
        let (host, identity) = (self.host_name.clone(), row.identity);
        Tick { host, object: self.object, key: row.key.clone(), identity }
    }

    /// The shown rows, each with its depth in the tree.
    pub(super) fn shown(&self) -> Vec<(&TableRow, usize)> {
        let rows = self.passed();
        if !self.is_tree {
            return rows.into_iter().map(|row| (row, 0)).collect();
        }
        let numbers: Vec<Numbers> = rows.iter().map(|row| row.numbers).collect();
        let ordered = tree(&numbers).into_iter();
        ordered.filter_map(|(position, depth)| Some((*rows.get(position)?, depth))).collect()
    }

    fn passed(&self) -> Vec<&TableRow> {
        let filter = &self.filter;
        let has = |text: &str| text.to_lowercase().contains(filter.as_str());
        let fits = |row: &&TableRow| {
            let mut texts = row.cells.iter().filter_map(|cell| match cell {
                Ok(Value::Text(text)) => Some(text),
                _ => None,
            });
            has(&row.key.to_string()) || texts.any(|text| has(text))
        };
        if self.is_of_ticks() {
            return self.rows.iter().filter(fits).filter(|row| self.ticks.pass(&self.tick_of(row))).collect();
        }
        self.rows.iter().filter(fits).collect()
    }

    /// Whether only rows of ticked instances are shown: when instances of another, related object are ticked.
    /// The object where they were ticked still shows all its instances, to tick more.
    pub(super) fn is_of_ticks(&self) -> bool {
        let host = self.host_name.as_deref();
        let has_processes = || self.rows.iter().any(|row| process(row.identity).is_some());
        !self.ticks.is_empty()
            && !self.ticks.has_of(host, self.object)
            && (self.ticks.has_of(host, PROCESS) && has_processes()
                || self.rows.iter().any(|row| self.ticks.pass(&self.tick_of(row))))
    }

    /// Sorts the rows; sums stay at the top, rows without a value go to the end.
    fn sort(&mut self) {
        let (sorted, ascending) = (self.sorted, self.ascending);
        self.rows.sort_by(|one, other| {
            let is_total = |row: &TableRow| row.key.name == "_Total";
            let cell = |row: &TableRow| row.cells.get(sorted).and_then(|cell| cell.as_ref().ok()).cloned();
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
}
