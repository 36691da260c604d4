//! The columns of a CSV: they are those of the first row, and the values of each later row are put below them.

use std::borrow::Cow;
use std::collections::HashMap;

use tallymon::core::flow::{Cell, NoValue, Value};
use tallymon::core::title::TitleIndex;
use tallymon::{CounterHandle, CounterValue, InstanceKey, Names, Query, Reading};

/// The values of one row.
#[derive(Clone, Copy)]
pub(crate) enum Values<'v> {
    /// Those that a query has now.
    Query(&'v Query),
    /// Those of several queries.
    Readings(&'v [Reading], &'v Names),
}

impl<'v> From<&'v Query> for Values<'v> {
    fn from(query: &'v Query) -> Values<'v> {
        Values::Query(query)
    }
}

impl<'v> Values<'v> {
    pub(super) fn readings(&self) -> Cow<'v, [Reading]> {
        match self {
            Values::Query(query) => query.readings().into(),
            Values::Readings(readings, _) => Cow::Borrowed(readings),
        }
    }

    pub(super) fn names(&self) -> &'v Names {
        match self {
            Values::Query(query) => query.names(),
            Values::Readings(_, names) => names,
        }
    }

    /// The cells alone, in their order.
    pub(super) fn for_each(&self, mut act: impl FnMut(&Cell)) {
        match self {
            Values::Query(query) => query.for_each(|value| act(&value.cell)),
            Values::Readings(readings, _) => readings.iter().for_each(|reading| act(&reading.cell)),
        }
    }
}

/// Columns, and which value of a row goes into which.
pub(super) struct Columns {
    /// Full paths, with the host.
    paths: Vec<String>,
    host: String,
    /// Who the values of the last row were, in their order. Most rows have the same ones, and then no path is made.
    order: Vec<Place>,
}

/// A value of a row.
struct Place {
    handle: CounterHandle,
    counter: TitleIndex,
    instance: Option<InstanceKey>,
    /// `None` for what came too late for a column.
    column: Option<usize>,
}

/// A row: one value a column, `None` where there is nothing of it any more.
pub(super) type Cells = Vec<Option<Result<Value, NoValue>>>;

impl Columns {
    /// One for each value; `host` is whose they are where their paths do not say it.
    pub(super) fn of(values: &Values<'_>, host: &str) -> Columns {
        let paths = values.readings().iter().map(|reading| full_path(host, &reading.path)).collect();
        Columns { paths, host: host.to_string(), order: Vec::new() }
    }

    /// Their paths.
    pub(super) fn paths(&self) -> &[String] {
        &self.paths
    }

    /// The values below the columns, and the paths of those that have no column.
    pub(super) fn cells(&mut self, values: &Values<'_>) -> (Cells, Vec<String>) {
        let in_order = match values {
            Values::Query(query) => self.cells_in_order(query),
            Values::Readings(..) => None,
        };
        match in_order {
            Some(cells) => (cells, Vec::new()),
            None => self.cells_by_path(&values.readings()),
        }
    }

    /// `None` when they are others than those of the row before.
    fn cells_in_order(&self, query: &Query) -> Option<Cells> {
        let mut cells: Cells = vec![None; self.paths.len()];
        let (mut places, mut is_same) = (self.order.iter(), true);
        query.for_each(|value| match places.next().filter(|place| is_same && place.is_of(&value)) {
            Some(place) => {
                if let Some(cell) = place.column.and_then(|column| cells.get_mut(column)) {
                    *cell = Some(value.cell.value);
                }
            }
            None => is_same = false,
        });
        (is_same && places.next().is_none()).then_some(cells)
    }

    fn cells_by_path(&mut self, readings: &[Reading]) -> (Cells, Vec<String>) {
        // A path that was given twice has two columns, and two values in every row.
        let mut columns: HashMap<&str, Vec<usize>> = HashMap::new();
        for (column, path) in self.paths.iter().enumerate().rev() {
            columns.entry(path).or_default().push(column);
        }
        let mut cells: Cells = vec![None; self.paths.len()];
        let (mut order, mut late) = (Vec::new(), Vec::new());
        for reading in readings {
            let path = full_path(&self.host, &reading.path);
            let column = columns.get_mut(path.as_str()).and_then(Vec::pop);
            match column.and_then(|column| cells.get_mut(column)) {
                Some(cell) => *cell = Some(reading.cell.value.clone()),
                None => late.push(path),
            }
            let (handle, counter, instance) = (reading.handle, reading.counter, reading.instance.clone());
            order.push(Place { handle, counter, instance, column });
        }
        self.order = order;
        (cells, late)
    }
}

impl Place {
    fn is_of(&self, value: &CounterValue<'_>) -> bool {
        self.handle == value.handle
            && self.counter == value.definition.name
            && self.instance.as_ref() == value.instance
    }
}

/// A path with its host, which it has already where there are several.
fn full_path(host: &str, path: &str) -> String {
    match path.starts_with("\\\\") {
        true => path.to_string(),
        false => format!("\\\\{host}{path}"),
    }
}
