//! OpenMetrics 1.0 and Prometheus' text format 0.0.4: one row of values as an exposition.

use std::fmt::Write as _;
use std::io::{self, Write};

use tallymon_core::flow::{Column, Row, Sink};
use tallymon_core::time::FileTime;

use crate::metric::{Figure, MetricKind, unix_seconds};
use crate::profile::Profile;
use crate::series::{Family, Point, families, label_name};

/// The two text formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TextFormat {
    /// OpenMetrics 1.0: <https://github.com/OpenObservability/OpenMetrics>.
    OpenMetrics,
    /// Prometheus' text format 0.0.4, which also the textfile collector of node_exporter reads:
    /// <https://prometheus.io/docs/instrumenting/exposition_formats>.
    Prometheus,
}

/// The last line of OpenMetrics.
const END: &str = "# EOF\n";

/// Writes one row as an exposition.
#[derive(Debug)]
pub struct Exposition<W> {
    out: W,
    format: TextFormat,
    host: String,
    with_times: bool,
    profile: Profile,
    families: Vec<Family>,
    is_written: bool,
}

impl TextFormat {
    /// The content type that HTTP names it by.
    pub const fn content_type(self) -> &'static str {
        match self {
            TextFormat::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            TextFormat::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// A row as a whole exposition, with its end; `with_times` writes the time of the row behind each number.
    pub fn exposition(self, families: &[Family], row: &Row<'_>, with_times: bool) -> String {
        let mut text = self.text(families, row, with_times);
        if self == TextFormat::OpenMetrics {
            text.push_str(END);
        }
        text
    }

    fn text(self, families: &[Family], row: &Row<'_>, with_times: bool) -> String {
        let time = if with_times { self.time(row.time) } else { String::new() };
        let (mut text, mut lines) = (String::new(), String::new());
        for family in families {
            lines.clear();
            for series in &family.series {
                if let Some(point) = family.point(series, row) {
                    write_point(&mut lines, &family.name, &series.labels, point, &time);
                }
            }
            if !lines.is_empty() {
                self.write_head(&mut text, family);
                text.push_str(&lines);
            }
        }
        text
    }

    fn write_head(self, text: &mut String, family: &Family) {
        let is_open = self == TextFormat::OpenMetrics;
        // The two formats have the name at the head of a family for different things.
        let (end, kind) = match family.kind {
            MetricKind::Gauge(_) => ("", "gauge"),
            MetricKind::Counter(_) => (if is_open { "" } else { "_total" }, "counter"),
            MetricKind::Summary { .. } => ("", "summary"),
            MetricKind::Info if is_open => ("", "info"),
            MetricKind::Info => ("_info", "gauge"),
        };
        let Family { name, unit, .. } = family;
        // Writing into a string cannot fail.
        let _ = write!(text, "# HELP {name}{end} ");
        escape(text, &family.help, is_open);
        let _ = writeln!(text, "\n# TYPE {name}{end} {kind}");
        if !unit.is_empty() && is_open {
            let _ = writeln!(text, "# UNIT {name} {unit}");
        }
    }

    /// A time as it stands behind a number.
    fn time(self, time: FileTime) -> String {
        match self {
            TextFormat::OpenMetrics => format!(" {}", unix_seconds(time)),
            TextFormat::Prometheus => format!(" {}", time.unix_nanoseconds().div_euclid(1_000_000)),
        }
    }
}

fn write_point(
    out: &mut String,
    name: &str,
    labels: &[(&'static str, String)],
    point: Point<'_>,
    time: &str,
) {
    let mut line = |end: &str, figure: Figure, more: Option<&str>| {
        let _ = write!(out, "{name}{end}");
        let more = more.map(|text| ("value", text));
        let labels = labels.iter().map(|(name, value)| (*name, value.as_str())).chain(more);
        let mut opening = '{';
        for (label, value) in labels {
            let _ = write!(out, "{opening}{}=\"", label_name(label));
            escape(out, value, true);
            out.push('"');
            opening = ',';
        }
        if opening == ',' {
            out.push('}');
        }
        out.push(' ');
        write_figure(out, figure);
        let _ = writeln!(out, "{time}");
    };
    match point {
        Point::Gauge(value) => line("", value, None),
        Point::Counter(value) => line("_total", value, None),
        Point::Summary { sum, count } => {
            line("_sum", sum, None);
            line("_count", count, None);
        }
        Point::Info(text) => line("_info", Figure::Whole(1), Some(text)),
    }
}

impl<W: Write> Exposition<W> {
    /// An exposition of the counters of `host`; series of other hosts have a label.
    pub fn new(out: W, format: TextFormat, host: &str) -> Exposition<W> {
        let host = host.to_owned();
        let (profile, families) = (Profile::Nt, Vec::new());
        Exposition { out, format, host, with_times: false, profile, families, is_written: false }
    }

    /// Writes the names of a profile.
    pub const fn with_names(mut self, profile: Profile) -> Exposition<W> {
        self.profile = profile;
        self
    }

    /// Writes the time of the row behind each number, for values of a log.
    pub const fn with_times(mut self, with_times: bool) -> Exposition<W> {
        self.with_times = with_times;
        self
    }
}

impl<W: Write> Sink for Exposition<W> {
    type Error = io::Error;

    fn columns(&mut self, columns: &[Column]) -> io::Result<()> {
        self.families = families(columns, &self.host, self.profile);
        Ok(())
    }

    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        if self.is_written {
            let words =
                "the text formats of Prometheus hold one time; write each row into an exposition of its own";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
        }
        self.is_written = true;
        let text = self.format.text(&self.families, row, self.with_times);
        self.out.write_all(text.as_bytes())
    }

    fn finish(&mut self) -> io::Result<()> {
        if self.format == TextFormat::OpenMetrics {
            self.out.write_all(END.as_bytes())?;
        }
        self.out.flush()
    }
}

/// Writes a number as both formats write it.
fn write_figure(out: &mut String, figure: Figure) {
    let _ = match figure {
        Figure::Whole(whole) => write!(out, "{whole}"),
        Figure::Real(number) if number.is_nan() => write!(out, "NaN"),
        Figure::Real(number) if number.is_infinite() => {
            write!(out, "{}", if number > 0.0 { "+Inf" } else { "-Inf" })
        }
        Figure::Real(number) => write!(out, "{number}"),
    };
}

/// Writes a text without the characters that end it. Text behind `# HELP` has no quotation marks to escape in
/// the format 0.0.4.
fn escape(out: &mut String, text: &str, with_quotes: bool) {
    for letter in text.chars() {
        match letter {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '"' if with_quotes => out.push_str("\\\""),
            // Some readers take it for the end of a line.
            '\r' => out.push(' '),
            letter => out.push(letter),
        }
    }
}
