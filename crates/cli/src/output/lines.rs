//! A line for each sample, for people who watch: as vmstat and sar print them.
//!
//! If all values fit side by side, a sample is one line below a heading of instances and counters. Else a
//! sample has a line for each instance, those with the largest values of the first counter first, and its
//! counters are the columns. Counters that do not fit even so are printed as a table, one below the other.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::io;

use tallymon::core::counter::{self, CounterType};
use tallymon::core::flow::{Cell, Column, Row, Sink, Value};
use tallymon::core::path::CounterPath;
use tallymon::human::Unit;
use tallymon::log::zone::add_minutes;
use tallymon_monitor::Colours;
use tallymon_monitor::model::overview::{Level, Limits};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::table::Table;
use crate::border;
use crate::words::{terminal_height, terminal_width, visible};

/// Blanks between two columns.
const GAP: usize = 2;
/// The narrowest column of values, and the widest title above it; longer titles are cut.
const NARROWEST: usize = 9;
const WIDEST: usize = 22;
/// Lines of a sample where no terminal says how many fit.
const USUAL_LINES: usize = 10;

/// How lines are printed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LineOptions {
    /// The most lines of a sample. With it, each instance has a line of its own.
    pub(crate) top: Option<usize>,
    /// Short numbers with units.
    pub(crate) is_human: bool,
    /// Samples come more than once a second: times have milliseconds.
    pub(crate) is_fast: bool,
}

/// Prints lines on standard output.
pub(super) struct Lines {
    options: LineOptions,
    /// The columns of the screen; `None` without a terminal.
    width: Option<usize>,
    height: Option<usize>,
    has_colours: bool,
    columns: Vec<LineColumn>,
    /// The counters of all columns, by the order of their first one.
    counters: Vec<Title>,
    layout: Layout,
    /// Lines since the last heading; `None` before the first.
    since: Option<usize>,
    has_date: bool,
}

enum Layout {
    /// A sample is a line; the widths of its columns.
    Wide(Vec<usize>),
    /// An instance is a line; the widths of its columns.
    Tall(Vec<usize>),
    /// A value is a line.
    Table(Box<Table<io::Sink>>),
}

/// A column of the source.
struct LineColumn {
    /// Host, object and instance in one text: what a line of the tall layout is.
    name: String,
    /// What stands above it in the wide layout.
    above: String,
    /// Its counter.
    nth: usize,
    counter_type: CounterType,
}

/// The cells of an instance, one for each counter.
type InstanceRow<'a> = Vec<Option<(&'a LineColumn, &'a Cell)>>;

/// A counter.
struct Title {
    object: String,
    text: String,
    unit: Unit,
    factor: f64,
    limits: Option<Limits>,
}

impl Lines {
    pub(super) fn new(options: LineOptions) -> Lines {
        let width = terminal_width();
        Lines {
            options,
            width,
            height: terminal_height(),
            has_colours: width.is_some() && Colours::of_environment() != Colours::None,
            columns: Vec::new(),
            counters: Vec::new(),
            layout: Layout::Wide(Vec::new()),
            since: None,
            has_date: false,
        }
    }

    fn time_width(&self) -> usize {
        if self.options.is_fast { 12 } else { 8 }
    }

    /// Chooses the layout for the columns.
    fn arrange(&mut self) {
        let room = self.width.unwrap_or(usize::MAX).saturating_sub(self.time_width());
        let fits = |widths: &[usize], room: usize| {
            widths.iter().fold(0usize, |sum, width| sum.saturating_add(width.saturating_add(GAP))) <= room
        };
        let title =
            |column: &LineColumn| self.counters.get(column.nth).map_or("", |title| title.text.as_str());
        let wide = |column: &LineColumn| column_width(&[&column.above, title(column)]);
        let widths: Vec<usize> = self.columns.iter().map(wide).collect();
        if self.options.top.is_none() && fits(&widths, room) {
            self.layout = Layout::Wide(widths);
            return;
        }
        let widths: Vec<usize> = self.counters.iter().map(|title| column_width(&[&title.text])).collect();
        // The name of an instance ends the line.
        self.layout = match fits(&widths, room.saturating_sub(NARROWEST)) {
            true => Layout::Tall(widths),
            false => Layout::Table(Box::new(Table::new(io::sink(), true, false))),
        };
    }

    fn heading(&self) -> String {
        let blank = " ".repeat(self.time_width());
        let mut text = String::from("\n");
        match &self.layout {
            Layout::Wide(widths) => {
                let mut above = blank;
                let mut below = format!("{:1$}", "TIME", self.time_width());
                for (column, width) in self.columns.iter().zip(widths) {
                    above += &right(&cut(&column.above), *width);
                    let title = self.counters.get(column.nth).map_or("", |title| title.text.as_str());
                    below += &right(&cut(title), *width);
                }
                text += &format!("{}\n{below}\n", above.trim_end());
            }
            Layout::Tall(widths) => {
                text += &format!("{:1$}", "TIME", self.time_width());
                for (title, width) in self.counters.iter().zip(widths) {
                    text += &right(&cut(&title.text), *width);
                }
                text += "  INSTANCE\n";
            }
            Layout::Table(_) => text.clear(),
        }
        text
    }

    /// A value in its column, coloured by load.
    fn cell(&self, column: &LineColumn, cell: &Cell, width: usize) -> String {
        let Some(title) = self.counters.get(column.nth) else { return String::new() };
        let number = cell.value.as_ref().ok().and_then(Value::as_f64).map(|number| number * title.factor);
        let shown = match (&cell.value, number) {
            (Ok(_), Some(number)) if self.options.is_human && title.unit != Unit::AsIs => {
                title.unit.text(number)
            }
            (Ok(value), _) => visible(&counter::human(value, column.counter_type).to_string()).into_owned(),
            (Err(_), _) => "-".to_string(),
        };
        // A sum that lacks some of its parts is at least this.
        let shown = if cell.partial.is_some() { format!("~{shown}") } else { shown };
        let gap = width.saturating_add(GAP).saturating_sub(shown.width()).max(1);
        let level = number.zip(title.limits).map(|(number, limits)| limits.level(number));
        match level.filter(|_| self.has_colours) {
            Some(Level::High) => format!("{:gap$}\x1b[91m{shown}\x1b[0m", ""),
            Some(Level::Medium) => format!("{:gap$}\x1b[33m{shown}\x1b[0m", ""),
            _ => format!("{:gap$}{shown}", ""),
        }
    }

    /// The lines of a sample in the tall layout, the largest first, and how many there are in all.
    fn tall(&self, clock: &str, cells: &[Cell], widths: &[usize]) -> (Vec<String>, usize) {
        let mut names: Vec<&str> = Vec::new();
        let mut rows: HashMap<&str, InstanceRow<'_>> = HashMap::new();
        for (column, cell) in self.columns.iter().zip(cells) {
            let row = rows.entry(&column.name).or_insert_with(|| {
                names.push(&column.name);
                vec![None; self.counters.len()]
            });
            if let Some(place) = row.get_mut(column.nth) {
                *place = Some((column, cell));
            }
        }
        let number = |row: &[Option<(&LineColumn, &Cell)>], nth: usize| {
            row.get(nth).copied().flatten().and_then(|(_, cell)| cell.value.as_ref().ok()?.as_f64())
        };
        let mut all: Vec<(&str, InstanceRow<'_>)> =
            names.into_iter().filter_map(|name| Some((name, rows.remove(name)?))).collect();
        // The sum of all is no instance that anybody looks for among the largest.
        all.retain(|(name, row)| {
            let has_value = row.iter().flatten().any(|(_, cell)| cell.value.is_ok());
            has_value && (self.options.top.is_none() || !name.to_lowercase().ends_with("_total"))
        });
        all.sort_by(|(_, one), (_, other)| {
            let by = |nth| match (number(one, nth), number(other, nth)) {
                (Some(one), Some(other)) => other.total_cmp(&one),
                (one, other) => other.is_some().cmp(&one.is_some()),
            };
            (0..self.counters.len())
                .map(by)
                .find(|order| *order != Ordering::Equal)
                .unwrap_or(Ordering::Equal)
        });
        let count = all.len();
        let fits = self.height.map_or(USUAL_LINES, |height| height.saturating_sub(5).max(1));
        all.truncate(self.options.top.unwrap_or(fits));
        let line = |(name, row): &(&str, InstanceRow<'_>)| {
            let mut text = format!("{clock:0$}", self.time_width());
            for (place, width) in row.iter().zip(widths) {
                text += &match place {
                    Some((column, cell)) => self.cell(column, cell, *width),
                    None => right("", *width),
                };
            }
            format!("{text}  {name}\n")
        };
        (all.iter().map(line).collect(), count)
    }
}

impl Sink for Lines {
    type Error = io::Error;

    fn columns(&mut self, columns: &[Column]) -> io::Result<()> {
        self.columns.clear();
        self.counters.clear();
        for column in columns {
            let local = column.live.as_ref().map_or(&column.path, |live| &live.local_path);
            let parsed = CounterPath::parse(local).ok().map(|parsed| parsed.path);
            // A text of a log that is not a path is the name of its own counter.
            let (object, instance, counter) = match &parsed {
                Some(path) => (
                    path.object.to_string(),
                    path.instance.as_ref().map(ToString::to_string),
                    path.counter.to_string(),
                ),
                None => (String::new(), None, local.clone()),
            };
            let host = parsed.as_ref().and_then(|path| path.machine.clone());
            let host = host.filter(|_| column.live.as_ref().is_none_or(|_| local.starts_with("\\\\")));
            let english = column.parts.as_ref().map_or(counter.clone(), |path| path.counter.to_string());
            let known = |title: &Title| title.text == counter && title.object == object;
            let nth = self.counters.iter().position(known).unwrap_or_else(|| {
                let (unit, factor) = Unit::of(&english, column.counter_type);
                let is_idle = english.contains("Idle");
                let limits = match unit {
                    Unit::Percent if is_idle => None,
                    Unit::Percent if english.contains("Committed") => Some(Limits::MEMORY),
                    Unit::Percent => Some(Limits::BUSY),
                    Unit::Seconds if english.contains("Disk sec/") => Some(Limits::LATENCY),
                    _ => None,
                };
                let (object, text) = (object.clone(), visible(&counter).into_owned());
                self.counters.push(Title { object, text, unit, factor, limits });
                self.counters.len().saturating_sub(1)
            });
            let instance = instance.map(|instance| visible(&instance).into_owned());
            let object = visible(&object).into_owned();
            let name =
                [host.map(|host| visible(&host).into_owned()), instance.clone().or(Some(object.clone()))];
            let name: Vec<String> = name.into_iter().flatten().collect();
            let above = name.join(" ");
            let (name, counter_type) = (name.join(" "), column.counter_type);
            self.columns.push(LineColumn { name, above, nth, counter_type });
        }
        self.arrange();
        if let Layout::Table(table) = &mut self.layout {
            table.columns(columns)?;
        }
        // Other columns need their heading.
        self.since = None;
        Ok(())
    }

    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        let local = add_minutes(row.time, row.local_minutes).system_time();
        let mut text = String::new();
        if let Layout::Table(table) = &mut self.layout {
            return border::coloured(&table.text_of(row));
        }
        let mut clock = format!("{:02}:{:02}:{:02}", local.hour, local.minute, local.second);
        if self.options.is_fast {
            clock += &format!(".{:03}", local.milliseconds);
        }
        match &self.layout {
            Layout::Wide(widths) => {
                // Three lines of heading, and one that the next prompt or line needs.
                let is_full =
                    |since: usize| self.height.is_some_and(|height| since.saturating_add(4) >= height);
                if self.since.is_none_or(is_full) {
                    text += &self.heading();
                    self.since = Some(0);
                }
                let mut line = format!("{clock:0$}", self.time_width());
                for ((column, cell), width) in self.columns.iter().zip(row.cells).zip(widths) {
                    line += &self.cell(column, cell, *width);
                }
                text += &line;
                text.push('\n');
                self.since = self.since.map(|since| since.saturating_add(1));
            }
            Layout::Tall(widths) => {
                let (lines, count) = self.tall(&clock, row.cells, widths);
                // The first record of most logs has no rates, and so no line.
                if lines.is_empty() {
                    return Ok(());
                }
                text += &self.heading();
                text.extend(lines.iter().map(String::as_str));
                let more = count.saturating_sub(lines.len());
                if more > 0 && self.options.top.is_none() {
                    text +=
                        &format!("{:1$}  and {more} more; --top N chooses how many\n", "", self.time_width());
                }
            }
            Layout::Table(_) => {}
        }
        if !std::mem::replace(&mut self.has_date, true) {
            text.insert_str(0, &format!("{:04}-{:02}-{:02}\n", local.year, local.month, local.day));
        }
        border::coloured(&text)
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The width of a column below some titles.
fn column_width(titles: &[&str]) -> usize {
    titles.iter().map(|title| title.width()).max().unwrap_or(0).clamp(NARROWEST, WIDEST)
}

/// A text at the right end of a column.
fn right(text: &str, width: usize) -> String {
    format!("{:1$}{text}", "", width.saturating_add(GAP).saturating_sub(text.width()))
}

/// A title that fits into the widest column.
fn cut(text: &str) -> String {
    if text.width() <= WIDEST {
        return text.to_string();
    }
    let mut short = String::new();
    let mut used = 1usize;
    for letter in text.chars() {
        used = used.saturating_add(letter.width().unwrap_or(0));
        if used > WIDEST {
            break;
        }
        short.push(letter);
    }
    short + "…"
}
