//! Lines of InfluxDB: <https://docs.influxdata.com/influxdb/v1/write_protocols/line_protocol_reference/>.
//!
//! The measurement is the name of the metric, the labels are tags, and `host` is always one of them. A gauge,
//! a counter and a text have the field `value`, a summary has `sum` and `count`. A field keeps its type:
//! whole numbers are integers, all others floats.

use std::fmt::Write as _;

use tallymon_core::flow::Row;

use crate::metric::Figure;
use crate::series::{Family, Point};

/// The lines of a row, and how many there are. `host` is the tag of series that name no host.
pub fn lines(families: &[Family], row: &Row<'_>, host: &str) -> (String, u64) {
    let (mut text, mut count) = (String::new(), 0u64);
    let time = row.time.unix_nanoseconds();
    for family in families {
        for series in &family.series {
            let Some(point) = family.point(series, row) else { continue };
            let Some(fields) = fields(point) else { continue };
            let end = match point {
                Point::Counter(_) => "_total",
                Point::Info(_) => "_info",
                Point::Gauge(_) | Point::Summary { .. } => "",
            };
            text.push_str(&family.name);
            text.push_str(end);
            let own = series.label("host").is_none().then_some(("host", host));
            let mut tags: Vec<(&str, &str)> = own.into_iter().collect();
            tags.extend(series.labels.iter().map(|(key, value)| (*key, value.as_str())));
            // Sorted tags are what the receiver reads fastest; a tag without a value is not allowed.
            tags.sort_unstable();
            for (key, value) in tags.into_iter().filter(|(_, value)| !value.is_empty()) {
                let _ = write!(text, ",{key}=");
                escape(&mut text, value);
            }
            let _ = writeln!(text, " {fields} {time}");
            count = count.saturating_add(1);
        }
    }
    (text, count)
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
