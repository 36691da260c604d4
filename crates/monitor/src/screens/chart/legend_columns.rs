//! The columns of the legend: how wide each is, and which fit.

use crate::model::Series;
use crate::screens::chart::legend;
use crate::term::text::width;
use crate::words::Word;
use crate::workspace::state::Workspace;

/// A column of the legend.
pub(crate) struct LegendColumn {
    pub(crate) word: Word,
    pub(crate) width: u16,
    /// Its texts end at its right edge.
    pub(crate) right: bool,
}

/// The statistics of the rows in view, and the unit of all numbers of the line.
const STATISTICS: [Word; 4] = [Word::Average, Word::Minimum, Word::Maximum, Word::Unit];

/// The columns that fit into so many columns of the screen: the least important ones are left out.
pub(crate) fn columns(workspace: &Workspace, space: u16) -> Vec<LegendColumn> {
    let mut columns = all(workspace);
    // Statistics use the room that names leave; all of them or none, so that a row can be read across.
    if needed(&columns) > space {
        columns.retain(|column| !STATISTICS.contains(&column.word));
    }
    for (word, least) in [(Word::Object, 24), (Word::Instance, 24), (Word::Counter, 40)] {
        shrink(&mut columns, space, word, least);
    }
    // Where hosts differ, only their names distinguish lines of the same counter.
    let hosts_differ = workspace.monitor.series().iter().any(|series| series.host().is_some());
    let order = match hosts_differ {
        true => [Word::Parent, Word::Object, Word::Host],
        false => [Word::Host, Word::Parent, Word::Object],
    };
    for word in order {
        if needed(&columns) > space {
            columns.retain(|column| column.word != word);
        }
    }
    for (word, least) in [(Word::Instance, 10), (Word::Counter, 12)] {
        shrink(&mut columns, space, word, least);
    }
    columns
}

/// All columns as wide as their texts. The widths do not depend on values, or the columns would move with
/// each sample.
fn all(workspace: &Workspace) -> Vec<LegendColumn> {
    let series = workspace.monitor.series();
    let words = workspace.words;
    let column = |word, width, right| LegendColumn { word, width, right };
    let widest = |word: Word, most: u16, text: &dyn Fn(&Series) -> u16| {
        let widest = series.iter().map(text).max().unwrap_or(0);
        column(word, widest.max(width(words.get(word))).min(most), false)
    };
    let optional = |text: &Option<String>| text.as_deref().map_or(1, width);
    let ended = width(words.get(Word::Ended)).saturating_add(9);
    let last = widest(Word::Last, 24, &|series| if series.ended.is_some() { ended } else { 12 });
    let is_at_cursor = workspace.monitor.window.cursor.is_some();
    let mut columns = vec![
        column(Word::Colour, width(words.get(Word::Colour)).max(4), false),
        column(Word::Scale, width(words.get(Word::Scale)).max(8), true),
        widest(Word::Counter, 60, &|series| width(&series.counter_name)),
        widest(Word::Instance, 48, &|series| optional(&series.instance)),
        widest(Word::Parent, 16, &|series| optional(&series.parent)),
        widest(Word::Object, 40, &|series| width(&series.object_name)),
        widest(Word::Host, 16, &|series| width(series.host().unwrap_or(workspace.system_name()))),
        column(if is_at_cursor { Word::At } else { Word::Last }, last.width.max(12), true),
    ];
    columns.extend(STATISTICS.map(|word| column(word, 12, true)));
    // What is folded is a number of instances, and a larger sum.
    if let Some(longest) = workspace.folds().iter().map(|fold| width(&legend::others(workspace, fold))).max()
    {
        for (word, least) in [(Word::Instance, longest), (Word::Last, 16)] {
            let column = columns.iter_mut().find(|column| column.word == word);
            if let Some(column) = column {
                column.width = column.width.max(least);
            }
        }
    }
    // The last one is short.
    if let Some(unit) = columns.last_mut() {
        unit.width = width(words.get(Word::Unit)).max(5);
    }
    if workspace.comparison.is_some() {
        columns.push(column(Word::Change, width(words.get(Word::Change)).max(20), true));
    }
    if series.iter().all(|series| series.parent.is_none()) {
        columns.retain(|column| column.word != Word::Parent);
    }
    columns
}

/// Columns of the screen that these need, with the mark before them.
fn needed(columns: &[LegendColumn]) -> u16 {
    columns.iter().fold(2u16, |sum, column| sum.saturating_add(column.width).saturating_add(1))
}

/// Makes a column narrower by what is needed too much, but not narrower than this.
fn shrink(columns: &mut [LegendColumn], space: u16, word: Word, least: u16) {
    let surplus = needed(columns).saturating_sub(space);
    if let Some(column) = columns.iter_mut().find(|column| column.word == word) {
        column.width = column.width.saturating_sub(surplus).max(least.min(column.width));
    }
}
