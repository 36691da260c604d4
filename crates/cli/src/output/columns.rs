//! The columns of a CSV: they are those of the first row, and the values of each later row are put below them.

use std::collections::HashMap;

use tallymon::core::flow::{NoValue, Value};

use super::values::{Place, Values};

/// Columns, and which value of a row goes into which.
pub(super) struct Columns {
    /// Full paths, with the host.
    paths: Vec<String>,
    host: String,
    /// Who the values of the last row were, in their order, and their columns; `None` for what came too late for one.
    order: Vec<(Place, Option<usize>)>,
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
        match self.cells_in_order(values) {
            Some(cells) => (cells, Vec::new()),
            None => self.cells_by_path(values),
        }
    }

    /// `None` when they are others than those of the row before.
    fn cells_in_order(&self, values: &Values<'_>) -> Option<Cells> {
        let mut cells: Cells = vec![None; self.paths.len()];
        let (mut places, mut is_same) = (self.order.iter(), true);
        values.for_each(|path, value| {
            match places.next().filter(|(place, _)| is_same && place.is_of(path, value)) {
                Some((_, column)) => {
                    if let Some(cell) = column.and_then(|column| cells.get_mut(column)) {
                        *cell = Some(value.cell.value.clone());
                    }
                }
                None => is_same = false,
            }
        });
        (is_same && places.next().is_none()).then_some(cells)
    }

    fn cells_by_path(&mut self, values: &Values<'_>) -> (Cells, Vec<String>) {
        // A path that was given twice has two columns, and two values in every row.
        let mut columns: HashMap<&str, Vec<usize>> = HashMap::new();
        for (column, path) in self.paths.iter().enumerate().rev() {
            columns.entry(path).or_default().push(column);
        }
        let mut cells: Cells = vec![None; self.paths.len()];
        let (mut order, mut late) = (Vec::new(), Vec::new());
        for reading in values.readings().iter() {
            let path = full_path(&self.host, &reading.path);
            let column = columns.get_mut(path.as_str()).and_then(Vec::pop);
            match column.and_then(|column| cells.get_mut(column)) {
                Some(cell) => *cell = Some(reading.cell.value.clone()),
                None => late.push(path),
            }
            order.push((Place::of(values, reading), column));
        }
        self.order = order;
        (cells, late)
    }
}

/// A path with its host, which it has already where there are several.
fn full_path(host: &str, path: &str) -> String {
    match path.starts_with("\\\\") {
        true => path.to_string(),
        false => format!("\\\\{host}{path}"),
    }
}
