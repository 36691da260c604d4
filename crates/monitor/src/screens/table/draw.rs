//! Draws the table: a title, the headings of the counters that fit, and a row for each instance.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use tallymon::core::flow::{NoValue, Value};
use tallymon::core::title::TitleIndex;

use crate::model::overview::load_of;
use crate::model::{DEEPEST, PROCESS};
use crate::screens::table::columns::TableColumn;
use crate::screens::table::instances::{NUMBERS, Table, TableRow};
use crate::term::text::{cut, put, put_right, width, wrap};
use crate::term::theme::Theme;
use crate::words::{Word, Words};

/// The counter with the number of a thread.
const ID_THREAD: TitleIndex = TitleIndex(804);
/// The object of threads.
const THREAD: TitleIndex = TitleIndex(232);
/// Columns of a value.
const WIDE: u16 = 14;
/// Columns of the number of a process or thread.
const NUMBER: u16 = 11;
/// Columns of a text: at least, at most, and at most where the screen is narrow.
const TEXT: [u16; 3] = [8, 40, 16];
/// A screen of fewer columns is narrow.
const NARROW: u16 = 120;

/// How the columns of the screen are divided.
struct Layout {
    area: Rect,
    /// Columns of the names of instances.
    names: u16,
    /// Position of the first counter that is shown.
    first: usize,
    /// Where each counter that is shown begins, and how wide it is.
    places: Vec<(u16, u16)>,
}

impl Layout {
    fn of(table: &Table, shown: &[(&TableRow, usize)], area: Rect, theme: Theme) -> Layout {
        let mark = u16::from(has_ticks(table)) * 2;
        let names = shown
            .iter()
            .map(|(row, depth)| {
                let name = width(&row.key.to_string()).saturating_add(width(&branch(*depth, theme)));
                name.saturating_add(mark)
            })
            .max()
            .unwrap_or(0)
            .clamp(12, (area.width / 3).max(12));
        let widths: Vec<u16> = table
            .columns
            .iter()
            .enumerate()
            .map(|(nth, column)| wide(column, nth, shown, area.width))
            .collect();
        let left = area.x.saturating_add(names).saturating_add(1);
        let places_from = |first: usize| {
            let mut x = left;
            let mut places = Vec::new();
            for width in widths.iter().skip(first) {
                // The first one is shown however narrow the screen is.
                if !places.is_empty() && x.saturating_add(*width) > area.right() {
                    break;
                }
                places.push((x, *width));
                x = x.saturating_add(*width).saturating_add(1);
            }
            places
        };
        // The sorted column is always in view, and no room is left at the right while columns are hidden at
        // the left.
        let shows_all = |first: usize| first.saturating_add(places_from(first).len()) >= widths.len();
        let mut first = table.left.min(table.sorted);
        while first < table.sorted && first.saturating_add(places_from(first).len()) <= table.sorted {
            first = first.saturating_add(1);
        }
        while first > 0 && shows_all(first.saturating_sub(1)) {
            first = first.saturating_sub(1);
        }
        Layout { area, names, first, places: places_from(first) }
    }

    /// The counters that are shown: position, where each begins, and how wide it is.
    fn shown<'t>(&self, table: &'t Table) -> impl Iterator<Item = (usize, &'t TableColumn, (u16, u16))> {
        let columns = table.columns.iter().enumerate().skip(self.first);
        columns.zip(&self.places).map(|((number, column), place)| (number, column, *place))
    }
}

/// How wide a counter is: texts are as wide as the longest of them, within limits.
fn wide(column: &TableColumn, nth: usize, shown: &[(&TableRow, usize)], screen: u16) -> u16 {
    if is_id(column) {
        return NUMBER;
    }
    if !column.counter_type.is_text() {
        return WIDE;
    }
    let texts = shown.iter().filter_map(|(row, _)| match row.cells.get(nth) {
        Some(Ok(Value::Text(text))) => Some(width(text)),
        _ => None,
    });
    let [least, most, narrow] = TEXT;
    texts.max().unwrap_or(0).clamp(least, if screen < NARROW { narrow } else { most })
}

/// Draws the table into an area, and notes where rows and headings lie.
pub(super) fn draw(table: &mut Table, buffer: &mut Buffer, area: Rect, words: Words, theme: Theme) {
    let shown = table.shown();
    let layout = Layout::of(table, &shown, area, theme);
    title(table, shown.len(), buffer, area, words, theme);
    let column_areas = headings(table, &layout, buffer, words, theme);
    let top_row = area.y.saturating_add(3);
    let rows = usize::from(area.bottom().saturating_sub(top_row));
    let at = shown.iter().position(|(row, _)| Some(&row.key) == table.chosen.as_ref()).unwrap_or(0);
    let top = at.saturating_sub(rows.saturating_sub(1));
    if table.feed.query.snapshot().is_none() {
        let reading = format!("{}{}", words.get(Word::ReadingValues), theme.either("…", "..."));
        put(buffer, area.x, top_row, area.width, &reading, theme.dim());
    }
    let mut row_areas = Vec::new();
    for (y, (row, depth)) in (top_row..area.bottom()).zip(shown.iter().skip(top)) {
        row_areas.push((y, row.key.clone()));
        instance(table, row, *depth, &layout, buffer, y, words, theme);
    }
    (table.left, table.row_areas, table.column_areas) = (layout.first, row_areas, column_areas);
}

/// The object, what it is sorted by, and what is left out.
fn title(table: &Table, count: usize, buffer: &mut Buffer, area: Rect, words: Words, theme: Theme) {
    let sorted = table.columns.get(table.sorted).map_or("", |column| column.name.as_str());
    let object = table.feed.query.names().name(table.object);
    let text = format!("{object}: {count}   {} {sorted}", words.get(Word::SortedBy));
    let mut x = put(buffer, area.x.saturating_add(1), area.y, area.width, &text, theme.bold());
    if table.is_tree {
        x = put(buffer, x.saturating_add(2), area.y, area.width, words.get(Word::AsTree), theme.plain());
    }
    if table.is_of_ticks() {
        x = put(buffer, x.saturating_add(3), area.y, area.width, words.get(Word::OfTicked), theme.warning());
    }
    if !table.filter.is_empty() {
        // An instance that is missing may have been filtered out.
        let left = area.right().saturating_sub(x).saturating_sub(4);
        let filter = cut(&format!("/{}", table.filter), left);
        put(buffer, x.saturating_add(3), area.y, left, &filter, theme.warning());
    }
}

/// The names of the counters, in two rows; returns where each lies.
fn headings(
    table: &Table,
    layout: &Layout,
    buffer: &mut Buffer,
    words: Words,
    theme: Theme,
) -> Vec<(Rect, usize)> {
    let area = layout.area;
    let second = area.y.saturating_add(1);
    put(buffer, area.x, area.y.saturating_add(2), layout.names, words.get(Word::Instance), theme.dim());
    let mut areas = Vec::new();
    for (number, column, (x, wide)) in layout.shown(table) {
        areas.push((Rect { x, y: second, width: wide, height: 2 }, number));
        let style = if number == table.sorted { theme.bold() } else { theme.dim() };
        let arrow = match (number == table.sorted, table.ascending) {
            (false, _) => "",
            (true, true) => theme.either("▲", "^"),
            (true, false) => theme.either("▼", "v"),
        };
        let lines = wrap(&column.name, wide.saturating_sub(width(arrow)));
        let upper = if lines.len() > 1 { lines.first().map_or("", String::as_str) } else { "" };
        let lower = lines.iter().skip(usize::from(lines.len() > 1)).cloned().collect::<Vec<_>>().join(" ");
        let lower = format!("{}{arrow}", cut(&lower, wide.saturating_sub(width(arrow))));
        aligned(column, buffer, (x, second), wide, upper, style);
        aligned(column, buffer, (x, second.saturating_add(1)), wide, &lower, style);
    }
    areas
}

/// The name of an instance and its values.
#[expect(clippy::too_many_arguments, reason = "each is a different part of one row")]
fn instance(
    table: &Table,
    row: &TableRow,
    depth: usize,
    layout: &Layout,
    buffer: &mut Buffer,
    y: u16,
    words: Words,
    theme: Theme,
) {
    let style = match (Some(&row.key) == table.chosen.as_ref(), row.key.name == "_Total") {
        (true, _) => theme.selected(),
        (false, true) => theme.bold(),
        (false, false) => theme.plain(),
    };
    let area = Rect { y, height: 1, ..layout.area };
    buffer.set_style(area, style);
    let is_ticked = has_ticks(table) && table.ticks.has(&table.tick_of(row));
    let mark = if is_ticked { theme.either("✓ ", "+ ") } else { "" };
    let name = format!("{mark}{}{}", branch(depth, theme), row.key);
    put(buffer, area.x, y, layout.names, &cut(&name, layout.names), style);
    for (number, column, (x, wide)) in layout.shown(table) {
        let Some(cell) = row.cells.get(number) else { continue };
        let (text, own): (String, Style) = match cell {
            Ok(value) => {
                let own = style.patch(load_style(table, row, column.counter, value.as_f64(), theme));
                (cell_text(column, value, words), own)
            }
            Err(NoValue::FirstSample) => (theme.either("…", "...").to_string(), style),
            Err(_) => (theme.either("–", "-").to_string(), theme.dim().patch(style)),
        };
        aligned(column, buffer, (x, y), wide, &cut(&text, wide), own);
    }
}

/// A value as it is shown: numbers of processes and threads have neither groups nor decimals.
fn cell_text(column: &TableColumn, value: &Value, words: Words) -> String {
    match value.as_f64() {
        Some(number) if is_id(column) && number >= 0.0 => format!("{number:.0}"),
        _ => words.numbers().value(value, column.counter_type),
    }
}

/// Whether a counter is the number of a process or thread.
fn is_id(column: &TableColumn) -> bool {
    NUMBERS.contains(&column.counter) || column.counter == ID_THREAD
}

/// Writes a text to the left of its column, and a number to the right.
fn aligned(
    column: &TableColumn,
    buffer: &mut Buffer,
    (x, y): (u16, u16),
    wide: u16,
    text: &str,
    style: Style,
) {
    if column.counter_type.is_text() {
        put(buffer, x, y, wide, text, style);
    } else {
        put_right(buffer, x, y, wide, text, style);
    }
}

/// The colour of a value: by load where its counter means load. What is 0 is dim.
fn load_style(
    table: &Table,
    row: &TableRow,
    counter: TitleIndex,
    number: Option<f64>,
    theme: Theme,
) -> Style {
    let Some(number) = number else { return theme.plain() };
    // Of processes and threads the sum, and the processor's idle time, are no load of one of them.
    let is_of_tasks = [PROCESS, THREAD].contains(&table.object);
    let is_sum = row.key.name == "_Total" || row.key.name.eq_ignore_ascii_case("idle");
    match load_of(counter, number).filter(|_| !(is_of_tasks && is_sum)) {
        Some(level) => theme.level(level),
        None if number == 0.0 => theme.dim(),
        None => theme.plain(),
    }
}

/// Whether an instance of this object is ticked: then each row has room for a mark.
fn has_ticks(table: &Table) -> bool {
    table.ticks.has_of(table.host_name.as_deref(), table.object)
}

/// What precedes the name of an instance with so many above it in the tree.
fn branch(depth: usize, theme: Theme) -> String {
    match depth.min(DEEPEST).checked_sub(1) {
        Some(above) => "  ".repeat(above) + theme.either("└ ", "`-"),
        None => String::new(),
    }
}
