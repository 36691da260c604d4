//! Lines of InfluxDB: <https://docs.influxdata.com/influxdb/v1/write_protocols/line_protocol_reference/>.
//!
//! The measurement is the name of the metric, the labels are tags, and `host` is always one of them. A gauge,
//! a counter and a text have the field `value`, a summary has `sum` and `count`. A field keeps its type:
//! whole numbers are integers, all others floats. The names of Telegraf make each counter a field of its
//! object's line instead; there all numbers are floats, as Telegraf writes them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;

use tallymon_core::flow::Row;

use crate::metric::Figure;
use crate::series::{Family, Point, Series, label_name};

/// The lines of a row, and how many numbers they have. `host` is the tag of series that name no host.
pub fn lines(families: &[Family], row: &Row<'_>, host: &str) -> (String, u64) {
    let mut lines = Lines::default();
    for family in families {
        for series in &family.series {
            let Some(point) = family.point(series, row) else { continue };
            match &family.field {
                Some((measurement, field)) => {
                    let Point::Gauge(value) = point else { continue };
                    let value = value.real();
                    if !value.is_finite() {
                        continue;
                    }
                    let mut name = String::new();
                    escape(&mut name, field);
                    lines.add(head(measurement, series, host), &format!("{name}={value}"));
                }
                None => {
                    let Some(fields) = fields(point) else { continue };
                    let end = match point {
                        Point::Counter(_) => "_total",
                        Point::Info(_) => "_info",
                        Point::Gauge(_) | Point::Summary { .. } => "",
                    };
                    lines.add(head(&format!("{}{end}", family.name), series, host), &fields);
                }
            }
        }
    }
    let time = row.time.unix_nanoseconds();
    let mut text = String::new();
    for (head, fields) in lines.lines {
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{head} {fields} {time}");
    }
    (text, lines.count)
}

/// Lines in their order; what has the same measurement and tags is one.
#[derive(Default)]
struct Lines {
    lines: Vec<(String, String)>,
    places: HashMap<String, usize>,
    count: u64,
}

impl Lines {
    fn add(&mut self, head: String, fields: &str) {
        self.count = self.count.saturating_add(1);
        if let Some((_, known)) = self.places.get(&head).and_then(|place| self.lines.get_mut(*place)) {
            known.push(',');
            known.push_str(fields);
            return;
        }
        self.places.insert(head.clone(), self.lines.len());
        self.lines.push((head, fields.to_owned()));
    }
}

/// The measurement and the tags.
fn head(measurement: &str, series: &Series, host: &str) -> String {
    let mut text = measurement.to_owned();
    let own = series.label("host").is_none().then_some((Cow::Borrowed("host"), host));
    let mut tags: Vec<(Cow<'_, str>, &str)> = own.into_iter().collect();
    tags.extend(series.labels.iter().map(|(key, value)| (label_name(key), value.as_str())));
    // Sorted tags are what the receiver reads fastest; a tag without a value is not allowed.
    tags.sort_unstable();
    for (key, value) in tags.into_iter().filter(|(_, value)| !value.is_empty()) {
        let _ = write!(text, ",{key}=");
        escape(&mut text, value);
    }
    text
}

/// The fields of a point; `None` for numbers that the format does not have.
fn fields(point: Point<'_>) -> Option<String> {
    Some(match point {
        Point::Gauge(value) | Point::Counter(value) => format!("value={}", number(value)?),
        Point::Summary { sum, count } => format!("sum={},count={}", number(sum)?, number(count)?),
        Point::Info(text) => {
            let plain = text.replace(['\n', '\r'], " ").replace('\\', "\\\\").replace('"', "\\\"");
            format!("value=\"{plain}\"")
        }
    })
}

fn number(figure: Figure) -> Option<String> {
    match figure {
        Figure::Whole(whole) => i64::try_from(whole).ok().map(|whole| format!("{whole}i")),
        Figure::Real(number) => number.is_finite().then(|| format!("{number}")),
    }
}

/// Writes the value of a tag. A backslash stands for itself, so one at the end would take the character
/// behind it with it.
fn escape(text: &mut String, value: &str) {
    for letter in value.chars() {
        match letter {
            ' ' | ',' | '=' => text.extend(['\\', letter]),
            '\n' | '\r' => text.push_str("\\ "),
            letter => text.push(letter),
        }
    }
    if value.ends_with('\\') {
        text.push_str("\\ ");
    }
}
