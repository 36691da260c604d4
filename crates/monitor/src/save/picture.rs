//! The chart as an SVG picture, and as an HTML page with it.

use std::fmt::Write as _;

use tallymon::core::flow::Value;
use tallymon::core::time::FileTime;

use crate::model::{Compared, Monitor, Series, Switch, factor, format};
use crate::term::chart::PATTERNS;
use crate::words::{Word, Words};
use crate::workspace::options::LocalTime;

/// The colours of lines.
pub const COLOURS: [&str; 8] =
    ["#0072b2", "#e69f00", "#009e73", "#c8a800", "#d55e00", "#cc79a7", "#5b5bd6", "#555555"];

/// The patterns of lines, as `stroke-dasharray` of SVG has them.
pub const DASHES: [&str; PATTERNS.len()] = ["", "6 3", "2 2", "8 3 2 3", "10 5", "1 4"];

/// The pattern of a compared log.
const DOTS: &str = "0 5";

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 360.0;
const TOP: f64 = 34.0;
/// A line of the legend, and the times below the chart.
const LINE: f64 = 18.0;
/// How many times are below the chart.
const TIMES: u8 = 6;

/// The content of a picture or a page.
pub struct Page<'a> {
    /// The counters and their history.
    pub monitor: &'a Monitor,
    /// The host of paths without one.
    pub host: &'a str,
    /// The language.
    pub words: Words,
    /// Converts UTC to local time.
    pub local: &'a dyn Fn(FileTime) -> LocalTime,
    /// The compared log.
    pub other: Option<Other<'a>>,
}

/// A compared log.
pub struct Other<'a> {
    /// Its values.
    pub values: &'a Compared,
    /// Its name, and how far it was moved.
    pub title: String,
}

impl Page<'_> {
    fn has(&self, switch: Switch) -> bool {
        self.monitor.picture.parts.has(switch)
    }

    fn clock(&self, time: FileTime) -> String {
        format::clock((self.local)(time).time)
    }

    fn number(&self, number: Option<f64>) -> String {
        number.map_or_else(|| "-".to_string(), |number| self.words.numbers().number(number))
    }

    /// Where the chart begins.
    fn left(&self) -> f64 {
        if self.has(Switch::ScaleLabels) { 40.0 } else { 8.0 }
    }

    /// The height of a value of a series.
    fn y(&self, series: &Series, value: f64) -> f64 {
        let scaled = value * factor(self.monitor.power(series));
        TOP + HEIGHT * (1.0 - self.monitor.picture.axis.share(scaled).clamp(0.0, 1.0))
    }

    /// Lines and numbers of both axes. Writing to a string cannot fail, here and below.
    fn axes(&self, text: &mut String) {
        let (picture, left) = (&self.monitor.picture, self.left());
        for quarter in 0..=4u8 {
            let y = TOP + HEIGHT * f64::from(4 - quarter) / 4.0;
            if picture.grid.is_horizontal() || quarter == 0 {
                let _ = writeln!(text, "<path d=\"M{left} {y}h{WIDTH}\" stroke=\"#dddddd\"/>");
            }
            if self.has(Switch::ScaleLabels) {
                let number = format::axis(picture.axis.at(f64::from(quarter) / 4.0));
                let (x, y) = (left - 6.0, y + 4.0);
                let _ = writeln!(text, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"end\">{number}</text>");
            }
        }
        let view = self.monitor.view();
        let rows = view.end.saturating_sub(view.start).saturating_sub(1);
        for nth in 0..=TIMES {
            let row = view.start.saturating_add(rows.saturating_mul(u64::from(nth)) / u64::from(TIMES));
            let Some(time) = self.monitor.time(row).filter(|_| rows > 0) else { continue };
            let x = left + WIDTH * row.saturating_sub(view.start) as f64 / rows as f64;
            if picture.grid.is_vertical() {
                let _ = writeln!(text, "<path d=\"M{x:.1} {TOP}v{HEIGHT}\" stroke=\"#dddddd\"/>");
            }
            if self.has(Switch::TimeLabels) {
                let anchor = match nth {
                    0 => "start",
                    TIMES => "end",
                    _ => "middle",
                };
                let (y, clock) = (TOP + HEIGHT + 14.0, self.clock(time));
                let _ =
                    writeln!(text, "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"{anchor}\">{clock}</text>");
            }
        }
    }

    /// The line of a series through the rows in view.
    fn line(&self, series: &Series) -> String {
        let view = self.monitor.view();
        let (first, values) = series.values(self.monitor.next(), &view);
        self.path(series, first, values.map(Result::ok))
    }

    /// The line of a series in the compared log, where that has it.
    fn other_line(&self, series: &Series) -> Option<String> {
        let other = self.other.as_ref().filter(|other| other.values.has(&series.path))?;
        let view = self.monitor.view();
        let times = view.clone().map(|row| self.monitor.time(row));
        Some(self.path(series, view.start, other.values.values(&series.path, times)))
    }

    /// A path through the values of the rows from one on.
    fn path(&self, series: &Series, first: u64, values: impl Iterator<Item = Option<f64>>) -> String {
        let view = self.monitor.view();
        let count = view.end.saturating_sub(view.start).saturating_sub(1).max(1) as f64;
        let mut path = String::new();
        let mut pen = 'M';
        for (row, value) in (first..).zip(values) {
            let Some(value) = value else {
                pen = 'M';
                continue;
            };
            let x = self.left() + WIDTH * row.saturating_sub(view.start) as f64 / count;
            let _ = write!(path, "{pen}{x:.1} {:.1}", self.y(series, value));
            pen = 'L';
        }
        path
    }

    /// The difference of a series to the compared log, in words.
    fn change(&self, series: &Series) -> Option<String> {
        let change = self.monitor.change(self.other.as_ref()?.values, series)?;
        Some(self.words.numbers().change(change, series.counter_type))
    }
}

/// The chart of the rows in view as a picture, with its legend.
pub fn svg(page: &Page<'_>) -> String {
    let Page { monitor, host, .. } = page;
    let drawn: Vec<_> = monitor.series().iter().filter(|series| monitor.is_drawn(series)).collect();
    let left = page.left();
    let below = TOP + HEIGHT + if page.has(Switch::TimeLabels) { LINE } else { 0.0 };
    let lines = if page.has(Switch::Legend) { drawn.len() } else { 0 };
    let (total, whole) = (left + WIDTH + 12.0, below + 22.0 + LINE * lines as f64);
    let span = monitor
        .view_times()
        .map(|(from, to)| format!("{} - {}", page.clock(from), page.clock(to)))
        .unwrap_or_default();
    let picture = &monitor.picture;
    let title = [picture.title.as_str(), host, picture.label.as_str()].map(escaped);
    let other = page.other.as_ref().map(|other| format!("\u{2248} {}", escaped(&other.title)));
    let title = title.into_iter().chain(other).filter(|part| !part.is_empty());
    let title = title.collect::<Vec<_>>().join("  ");
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {total} {whole}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"{left}\" y=\"20\" font-size=\"14\">{title}  {span}</text>\n"
    );
    page.axes(&mut text);
    for (number, series) in drawn.iter().enumerate() {
        let colour = COLOURS.get(series.colour % COLOURS.len()).copied().unwrap_or("#555555");
        let dash =
            DASHES.get(series.pattern.unwrap_or(series.colour) % DASHES.len()).copied().unwrap_or_default();
        let wide = 1.5 * f64::from(series.width);
        if let Some(path) = page.other_line(series) {
            let _ = writeln!(
                text,
                "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" \
                 stroke-dasharray=\"{DOTS}\" stroke-linecap=\"round\" opacity=\"0.7\"/>"
            );
        }
        let path = page.line(series);
        let _ = writeln!(
            text,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{wide}\" \
             stroke-dasharray=\"{dash}\" stroke-linejoin=\"round\"/>"
        );
        if !page.has(Switch::Legend) {
            continue;
        }
        let y = below + 16.0 + LINE * number as f64;
        let _ = write!(
            text,
            "<path d=\"M{left} {}h24\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\"/>\
             <text x=\"{}\" y=\"{y}\">{}  x{}",
            y - 4.0,
            left + 32.0,
            escaped(&series.path),
            format::scale(monitor.power(series)),
        );
        if page.has(Switch::ValueBar) {
            let known = monitor.statistics(series);
            let numbers = [known.last, known.average, known.minimum, known.maximum];
            let [last, average, least, most] = numbers.map(|number| page.number(number));
            let _ = write!(text, "  last {last} avg {average} min {least} max {most}");
        }
        if let Some(change) = page.change(series) {
            let _ = write!(text, "  \u{2248} {change}");
        }
        text.push_str("</text>\n");
    }
    text.push_str("</svg>\n");
    text
}

/// The picture on a page for printing or sending, with a table of the statistics of all counters, including
/// those without a line. The page needs no other file.
pub fn html(page: &Page<'_>) -> String {
    let Page { monitor, host, words, .. } = page;
    let title = [host, monitor.picture.title.as_str()].map(escaped).join(" ");
    let mut heads = vec![Word::Counter, Word::Last, Word::Average, Word::Minimum, Word::Maximum];
    heads.extend(page.other.as_ref().map(|_| Word::Change));
    let heads: Vec<String> =
        heads.iter().map(|head| format!("<th>{}</th>", escaped(words.get(*head)))).collect();
    let heads = heads.concat();
    let mut text = format!(
        "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>{title}</title>\n<style>\
         body {{ font-family: sans-serif; margin: 2em auto; max-width: 64em; }}\
         table {{ border-collapse: collapse; }}\
         th, td {{ border-bottom: 1px solid #dddddd; padding: 0.2em 0.8em; text-align: right; }}\
         th:first-child, td:first-child {{ text-align: left; }}</style></head>\n<body>\n\
         {}<table>\n<tr>{heads}</tr>\n",
        svg(page)
    );
    for series in monitor.series() {
        let statistics = monitor.statistics(series);
        let numbers = [statistics.average, statistics.minimum, statistics.maximum];
        let last = match (&series.last, statistics.last) {
            // Texts have no statistics.
            (Ok(value @ Value::Text(_)), _) => words.numbers().value(value, series.counter_type),
            (_, last) => page.number(last),
        };
        let _ = write!(text, "<tr><td>{}</td><td>{}</td>", escaped(&series.path), escaped(&last));
        for number in numbers {
            let _ = write!(text, "<td>{}</td>", page.number(number));
        }
        if page.other.is_some() {
            let _ = write!(text, "<td>{}</td>", page.change(series).unwrap_or_else(|| "-".to_string()));
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</table>\n</body></html>\n");
    text
}

/// A text escaped for XML, without characters that XML does not allow.
pub fn escaped(text: impl AsRef<str>) -> String {
    let mut safe = String::with_capacity(text.as_ref().len());
    for letter in text.as_ref().chars().filter(|letter| !letter.is_control()) {
        match letter {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn names_do_not_break_the_picture() {
        assert_eq!(escaped("a<b>&\"c\"\u{1}"), "a&lt;b&gt;&amp;&quot;c&quot;");
    }
}
