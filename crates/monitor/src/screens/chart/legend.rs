//! The legend below the chart, as in Performance Monitor: a line for each counter with its value, or why it
//! has none.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use tallymon::core::flow::{NoValue, PartialSum};
use tallymon::human::Unit;

use crate::model::{HostState, Series, Statistics, format};
use crate::screens::chart::areas::Areas;
use crate::screens::chart::graph::stacks;
use crate::screens::chart::legend_columns::{LegendColumn, columns};
use crate::term::text::{cut, put, put_right, rule, width};
use crate::words::Word;
use crate::workspace::fold::{Fold, LegendRow};
use crate::workspace::state::Workspace;

/// Draws header and lines into an area, and notes where the lines lie.
pub(crate) fn draw(workspace: &Workspace, areas: &mut Areas, buffer: &mut Buffer, area: Rect) {
    let lines = workspace.legend_rows();
    let rows = usize::from(area.height.saturating_sub(1));
    if area.height < 2 {
        return;
    }
    let theme = workspace.theme;
    let columns = columns(workspace, area.width);
    let mut x = area.left().saturating_add(2);
    for column in &columns {
        let name = workspace.words.get(column.word);
        if column.right {
            put_right(buffer, x, area.y, column.width, name, theme.dim());
        } else {
            put(buffer, x, area.y, column.width, &cut(name, column.width), theme.dim());
        }
        x = x.saturating_add(column.width).saturating_add(1);
    }
    let is_chosen =
        |row: &LegendRow<'_>| matches!(row, LegendRow::Line(line) if *line == workspace.monitor.selected());
    let at = lines.iter().position(is_chosen).unwrap_or(0);
    let top = at.saturating_sub(rows.saturating_sub(1)).min(lines.len().saturating_sub(rows));
    let mut places = Vec::new();
    for (y, row) in (area.y.saturating_add(1)..area.bottom()).zip(lines.iter().skip(top)) {
        let line = match row {
            LegendRow::Line(line) => line,
            LegendRow::Rest(fold) => {
                rest_line(workspace, fold, &columns, buffer, Rect { y, height: 1, ..area });
                continue;
            }
        };
        places.push((Rect { y, height: 1, ..area }, *line));
        let chosen = *line == workspace.monitor.selected();
        match workspace.monitor.series().get(*line) {
            Some(series) => {
                series_line(workspace, series, &columns, buffer, Rect { y, height: 1, ..area }, chosen)
            }
            None => {
                let behind = line.saturating_sub(workspace.monitor.series().len());
                failed_line(workspace, behind, buffer, Rect { y, height: 1, ..area }, chosen);
            }
        }
    }
    let below = lines.len().saturating_sub(top).saturating_sub(rows);
    if below > 0 {
        let more = format!(" +{below} ");
        put_right(buffer, area.left(), area.y, area.width, &more, theme.warning());
    }
    areas.lines = places;
}

/// The current value of a series in few words, and its style.
pub(crate) fn now(workspace: &Workspace, series: &Series) -> (String, Style) {
    let theme = workspace.theme;
    let unit = series.counter_type.suffix().as_str();
    let with_unit = |text: String| if unit == "%" { format!("{text} %") } else { text };
    if let Some(cursor) = earlier_row(workspace) {
        return match series.at(workspace.monitor.next(), cursor) {
            Some(Ok(number)) => {
                (with_unit(workspace.words.numbers().number_of(number, series.counter_type)), theme.plain())
            }
            Some(Err(_)) => (theme.either("–", "-").to_string(), theme.dim()),
            None => (String::new(), theme.plain()),
        };
    }
    if let Some(time) = series.ended {
        return (format!("{} {}", workspace.words.get(Word::Ended), workspace.clock(time)), theme.dim());
    }
    match &series.last {
        Ok(value) => {
            let style = if series.is_over() { theme.bad() } else { theme.plain() };
            (with_unit(workspace.words.numbers().value(value, series.counter_type)), style)
        }
        Err(NoValue::FirstSample) => (theme.either("…", "...").to_string(), theme.dim()),
        Err(_) => (theme.either("–", "-").to_string(), theme.warning()),
    }
}

/// The row whose values are shown, if it is not the newest one: that of the cursor. In a log it is the last
/// row in view, as in the value bar.
fn earlier_row(workspace: &Workspace) -> Option<u64> {
    let (view, rows) = (workspace.monitor.view(), workspace.monitor.rows());
    let end = view.end.checked_sub(1).filter(|_| workspace.replay.is_some() && view.end < rows.end);
    workspace.monitor.window.cursor.or(end)
}

/// What the shown value lacks, if it is a sum that lacks some of its parts.
fn partial(workspace: &Workspace, series: &Series) -> Option<PartialSum> {
    match earlier_row(workspace) {
        Some(row) => series.partial_at(workspace.monitor.next(), row),
        None => series.partial,
    }
}

/// A number about the rows in view.
fn statistic(workspace: &Workspace, series: &Series, of: impl Fn(&Statistics) -> Option<f64>) -> String {
    let dash = || workspace.theme.either("–", "-").to_string();
    let number = of(&workspace.monitor.statistics(series));
    number.map_or_else(dash, |number| workspace.words.numbers().number_of(number, series.counter_type))
}

/// The unit of the numbers of a line.
fn unit(series: &Series) -> Option<&'static str> {
    match series.unit() {
        (Unit::Count | Unit::AsIs, _) => None,
        (Unit::PerSecond, _) => Some("/s"),
        (Unit::Percent, _) => Some("%"),
        // A counter of megabytes has megabytes as its numbers.
        (Unit::Bytes, factor) if factor >= 1_048_576.0 => Some("MiB"),
        (Unit::Bytes, factor) if factor > 1.0 => Some("KiB"),
        (Unit::Bytes, _) => Some("B"),
        (Unit::BytesPerSecond, _) => Some("B/s"),
        (Unit::Seconds, _) => Some("s"),
    }
}

/// The difference to the compared log.
fn change(workspace: &Workspace, series: &Series) -> String {
    let compared = workspace.comparison.as_ref().map(|comparison| &comparison.compared);
    match compared.and_then(|compared| workspace.monitor.change(compared, series)) {
        Some(change) => workspace.words.numbers().change(change, series.counter_type),
        None => workspace.theme.either("–", "-").to_string(),
    }
}

/// A character for the state: chosen, shown, hidden, without a value, old.
fn mark(workspace: &Workspace, series: &Series, chosen: bool) -> (&'static str, Style) {
    let theme = workspace.theme;
    let waits = matches!(&series.last, Ok(_) | Err(NoValue::FirstSample));
    if series.stale {
        (theme.either("⚠", "!"), theme.warning())
    } else if series.is_over() || (!waits && series.ended.is_none()) {
        ("!", theme.bad())
    } else if partial(workspace, series).is_some() {
        (theme.either("≈", "~"), theme.warning())
    } else if chosen {
        (theme.either("▶", ">"), theme.plain())
    } else if series.hidden || !stacks(workspace, series) {
        (theme.either("·", "."), theme.dim())
    } else {
        (theme.either("✓", "+"), theme.dim())
    }
}

fn series_line(
    workspace: &Workspace,
    series: &Series,
    columns: &[LegendColumn],
    buffer: &mut Buffer,
    area: Rect,
    chosen: bool,
) {
    let theme = workspace.theme;
    let gone = series.ended.is_some() || workspace.failure.is_some() || series.hidden;
    let style = if gone { theme.dim() } else { theme.plain() };
    let (letter, mark_style) = mark(workspace, series, chosen);
    put(buffer, area.x, area.y, 1, letter, mark_style);
    let mut x = area.left().saturating_add(2);
    for column in columns {
        let dash = theme.either("—", "-");
        let (text, style) = match column.word {
            Word::Colour if series.counter_type.is_text() => (String::new(), style),
            Word::Colour => {
                let (sample, own) = theme.sample(series);
                (sample.to_string(), if gone { style } else { own })
            }
            Word::Scale if series.counter_type.is_text() => (dash.to_string(), theme.dim()),
            Word::Scale => (format::scale(workspace.monitor.power(series)), style),
            Word::Counter => (series.counter_name.clone(), style),
            Word::Instance => (series.instance.clone().unwrap_or_else(|| dash.to_string()), style),
            Word::Parent => (series.parent.clone().unwrap_or_else(|| dash.to_string()), style),
            Word::Object => (series.object_name.clone(), style),
            Word::Host => (series.host().unwrap_or(workspace.system_name()).to_string(), style),
            Word::Change => (change(workspace, series), style),
            Word::Average => (statistic(workspace, series, |known| known.average), theme.dim()),
            Word::Minimum => (statistic(workspace, series, |known| known.minimum), theme.dim()),
            Word::Maximum => (statistic(workspace, series, |known| known.maximum), theme.dim()),
            Word::Unit => (unit(series).unwrap_or(dash).to_string(), theme.dim()),
            _ => {
                let (text, own) = now(workspace, series);
                (text, if gone { style } else { own })
            }
        };
        let text = cut(&text, column.width);
        if column.right {
            put_right(buffer, x, area.y, column.width, &text, style);
        } else {
            put(buffer, x, area.y, column.width, &text, style);
        }
        x = x.saturating_add(column.width).saturating_add(1);
    }
    if chosen {
        invert(
            workspace,
            buffer,
            Rect { x: area.x, width: x.saturating_sub(area.x).min(area.width), ..area },
        );
    }
}

/// How many instances are no lines, as their name.
pub(crate) fn others(workspace: &Workspace, fold: &Fold) -> String {
    format!("{} {}", fold.rest.len(), workspace.words.get(Word::Others))
}

/// The sum of the instances that are no lines.
fn rest_line(workspace: &Workspace, fold: &Fold, columns: &[LegendColumn], buffer: &mut Buffer, area: Rect) {
    let Some(like) = fold.first(workspace) else { return };
    let theme = workspace.theme;
    put(buffer, area.x, area.y, 1, theme.either("…", "+"), theme.dim());
    let row = earlier_row(workspace).or_else(|| workspace.monitor.next().checked_sub(1));
    let sum = row.and_then(|row| fold.rest_at(workspace, row));
    let percent = if like.counter_type.suffix().as_str() == "%" { " %" } else { "" };
    let number = |sum: f64| workspace.words.numbers().number_of(sum, like.counter_type) + percent;
    let mut x = area.left().saturating_add(2);
    for column in columns {
        let text = match column.word {
            Word::Colour => theme.sample_of(theme.rest()).to_string(),
            Word::Scale => format::scale(workspace.monitor.power(like)),
            Word::Counter => like.counter_name.clone(),
            Word::Instance => others(workspace, fold),
            Word::Object => like.object_name.clone(),
            Word::Host => like.host().unwrap_or(workspace.system_name()).to_string(),
            Word::Unit => unit(like).unwrap_or(theme.either("—", "-")).to_string(),
            Word::Last => sum.map_or_else(|| theme.either("–", "-").to_string(), number),
            _ => String::new(),
        };
        let text = cut(&text, column.width);
        if column.right {
            put_right(buffer, x, area.y, column.width, &text, theme.dim());
        } else {
            put(buffer, x, area.y, column.width, &text, theme.dim());
        }
        x = x.saturating_add(column.width).saturating_add(1);
    }
}

/// A path that cannot be used: red, with the wrong part underlined, and the nearest names.
fn failed_line(workspace: &Workspace, behind: usize, buffer: &mut Buffer, area: Rect, chosen: bool) {
    let Some(error) = workspace.monitor.failed().get(behind) else { return };
    let theme = workspace.theme;
    put(buffer, area.x, area.y, 1, "!", theme.bad());
    let mut x = area.left().saturating_add(2);
    let part = |from: usize, to: usize| error.path.get(from..to).unwrap_or_default();
    for (text, style) in [
        (part(0, error.span.start), theme.bad()),
        (part(error.span.start, error.span.end), theme.fault()),
        (part(error.span.end, error.path.len()), theme.bad()),
    ] {
        x = put(buffer, x, area.y, area.right().saturating_sub(x), text, style);
    }
    let words = match error.nearest.split_first() {
        Some((best, rest)) => {
            let more: String = rest.iter().map(|name| format!(", {name}")).collect();
            format!(
                "{}: {} {best}{more}?",
                workspace.words.get(Word::Unknown),
                workspace.words.get(Word::DidYouMean)
            )
        }
        None => error.to_string(),
    };
    let x = x.saturating_add(2);
    let left = area.right().saturating_sub(x);
    put(buffer, x, area.y, left, &cut(&words, left), theme.warning());
    if chosen {
        invert(workspace, buffer, Rect { width: 1, ..area });
    }
}

fn invert(workspace: &Workspace, buffer: &mut Buffer, area: Rect) {
    buffer.set_style(area, workspace.theme.selected());
}

/// Draws the statistics of the chosen series in a rule, as the value bar of Performance Monitor.
pub(crate) fn value_bar(workspace: &Workspace, buffer: &mut Buffer, area: Rect) {
    let theme = workspace.theme;
    rule(buffer, area, area.y, theme.either("─", "-"), theme.dim());
    let Some(series) = workspace.monitor.chosen() else { return };
    let statistics = workspace.monitor.statistics(series);
    let mut x = area.left().saturating_add(1);
    let number = |number: Option<f64>| {
        let dash = || theme.either("–", "-").into();
        number.map_or_else(dash, |number| workspace.words.numbers().number_of(number, series.counter_type))
    };
    let duration = workspace.monitor.view_times().map(|(from, to)| format::duration(from, to));
    let last = match &series.last {
        Ok(value) if workspace.monitor.window.is_live() => {
            workspace.words.numbers().value(value, series.counter_type)
        }
        _ => number(statistics.last),
    };
    let (words, style) = match reason(workspace, series) {
        Some(reason) => (format!(" {reason} "), theme.warning()),
        None => (format!(" {} ", series.path), theme.plain()),
    };
    // A reason is shown whole; statistics that do not fit beside it are left out.
    let reserved = if series.last.is_ok() && !series.stale && partial(workspace, series).is_none() {
        0
    } else {
        width(&words)
    };
    let end = area.right().saturating_sub(reserved).saturating_sub(1);
    for (word, text) in [
        (Word::Last, last),
        (Word::Average, number(statistics.average)),
        (Word::Minimum, number(statistics.minimum)),
        (Word::Maximum, number(statistics.maximum)),
        (Word::Duration, duration.unwrap_or_default()),
    ] {
        let name = format!(" {} ", workspace.words.get(word));
        // Values keep their columns while their lengths change.
        let wide = width(&text).max(8);
        if x.saturating_add(width(&name)).saturating_add(wide) > end {
            break;
        }
        x = put(buffer, x, area.y, area.width, &name, theme.dim());
        put(buffer, x, area.y, wide, &format!("{text:<8}"), theme.bold());
        x = x.saturating_add(wide);
    }
    let space = area.right().saturating_sub(x).saturating_sub(1);
    if space > 8 {
        put_right(buffer, x, area.y, space, &cut(&words, space), style);
    }
}

/// Why a series has no value now, with the status name of the Performance Data Helper, and what to do.
pub(crate) fn reason(workspace: &Workspace, series: &Series) -> Option<String> {
    if let Some(words) = silent_machine(workspace, series) {
        return Some(words);
    }
    let why = why(workspace, series)?;
    // The providers screen has the details.
    let more = series.is_at_fault().then(|| format!(" (p: {})", workspace.words.get(Word::Providers)));
    Some(why + more.as_deref().unwrap_or_default())
}

/// Why the machine of a series does not answer, if that is why it has no value or an old one.
fn silent_machine(workspace: &Workspace, series: &Series) -> Option<String> {
    if !series.stale && series.last != Err(NoValue::NoMachine) {
        return None;
    }
    let words = workspace.words;
    let row = workspace.host_rows().into_iter().find(|row| {
        let name = series.host().unwrap_or(workspace.system_name());
        row.name.eq_ignore_ascii_case(name)
    })?;
    let old = |word: Word, age: Duration| words.get(word).replace("{1}", &format::age(age));
    match (row.state, row.age) {
        (HostState::Failed { why, .. }, Some(age)) => Some(format!("{why}; {}", old(Word::LastValues, age))),
        (HostState::Failed { why, .. }, None) => Some(why),
        (HostState::Late(_), Some(age)) => Some(format!("{}: {}", row.name, old(Word::LateSince, age))),
        _ => None,
    }
}

/// Words with the age of the last new value.
fn with_age(words: String, series: &Series) -> String {
    match series.age() {
        Some((new, row)) => format!("{words}; {}", format::duration(new, row)),
        None => words,
    }
}

fn why(workspace: &Workspace, series: &Series) -> Option<String> {
    use tallymon::core::flow::Absence;
    if series.stale {
        return Some(with_age(workspace.words.get(Word::OldValue).to_string(), series));
    }
    match &series.last {
        Ok(_) if series.is_over() => {
            let threshold =
                series.threshold.map(|number| workspace.words.numbers().number(number)).unwrap_or_default();
            Some(format!("{} {threshold}: {}", workspace.words.get(Word::Over), series.path))
        }
        Ok(_) => {
            let sum = partial(workspace, series)?;
            let word = if sum.reason == Absence::AccessDenied { Word::Refused } else { Word::Unreadable };
            let words = workspace.words.get(word).replace("{1}", &sum.missing.to_string());
            Some(format!("{}; {}", words.replace("{2}", &sum.whole.to_string()), series.path))
        }
        Err(NoValue::FirstSample) => Some(workspace.words.get(Word::TwoSamples).to_string()),
        Err(why @ NoValue::NoData(Absence::AccessDenied)) => {
            Some(format!("{why}; {}", workspace.words.get(Word::Rights)))
        }
        Err(why @ (NoValue::NoMachine | NoValue::NoData(_))) => {
            Some(with_age(format!("{}: {why}", why.pdh_status().name), series))
        }
        Err(why) => Some(format!("{}: {why}", why.pdh_status().name)),
    }
}
