//! The lines of `atop -P`: what their fields are, and which of them become counters of Windows, or of this
//! project.
//!
//! Facts: *parseable output* in `atop(1)` of atop 2.8.1 and 2.13. Newer versions append fields.

mod devices;
mod machine;
mod tasks;

use crate::import::table::{Kind, Row, Table};

/// What a field is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// Grew by this in the interval.
    Sum,
    /// Grew by this in the interval, in ticks of the processor's clock: becomes 100 ns.
    Ticks,
    /// Grew by this in the interval, in pages: becomes bytes.
    SumPages,
    /// Is this now; -1 is none.
    Now,
    /// The same, in pages: becomes bytes.
    Pages,
    /// The same, where 0 is none.
    Positive,
    /// The same, where anything below 0 is none: unlimited, or not known.
    Natural,
    /// `n` and `N` say that nothing in this line was measured.
    IsThere,
    /// Bytes of a page.
    PageSize,
    /// Ticks per second.
    Hertz,
    /// Is this now, with a sign of percent behind.
    Percent,
    /// Is not read.
    Skip,
}

/// Whose values a line has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// The machine's.
    Machine,
    /// Those of all processors together.
    AllProcessors,
    /// Those of what the field at this place names.
    Named(usize),
    /// Those of what the first two fields name together.
    Port,
    /// Those of a process: its id, its name and its state come first.
    Process,
}

/// A kind of line.
#[derive(Debug)]
pub(super) struct Label {
    /// Its first word.
    pub(super) word: &'static str,
    pub(super) whose: Whose,
    /// The fields, in their order.
    pub(super) fields: &'static [(&'static str, Sort)],
    pub(super) table: Table<'static>,
    /// What some fields become besides, and of which instance.
    pub(super) besides: Option<(Table<'static>, Option<&'static str>)>,
}

/// The sum of all processors.
pub(super) const TOTAL: &str = "_Total";

/// A kind of line whose fields without a row become counters of an object with the name of its group.
const fn label(
    word: &'static str,
    whose: Whose,
    fields: &'static [(&'static str, Sort)],
    group: &'static str,
    rows: &'static [Row],
) -> Label {
    Label { word, whose, fields, table: Table { group, own: group, rows }, besides: None }
}

const SECTORS: Kind = Kind::Rate(512, 1);

/// Every kind of line that is known. Two of them have one first word: the second field tells them apart.
pub(super) fn all() -> impl Iterator<Item = &'static Label> {
    machine::LABELS.iter().chain(devices::LABELS).chain(tasks::LABELS)
}

/// The tables of the documentation.
#[cfg(test)]
pub(crate) fn tables() -> Vec<Table<'static>> {
    let mut tables: Vec<Table<'static>> = Vec::new();
    for label in all() {
        tables.push(label.table);
        tables.extend(label.besides.map(|(table, _)| table));
    }
    tables
}
