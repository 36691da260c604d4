//! What was seen, as files: the history as PDH-CSV, the chart as an SVG picture.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write};

use tallymon::core::counter::g17;
use tallymon::core::time::FileTime;

use crate::chart::PATTERNS;
use crate::model::{CHART_MAXIMUM, Monitor, factor, format};
use crate::tui::{App, LocalTime};

/// A name for files of now.
pub(crate) fn file_name(app: &App) -> String {
    let newest = app.monitor().next().checked_sub(1).and_then(|row| app.monitor().time(row));
    let time = app.local_time(newest.unwrap_or_default()).time;
    format!(
        "tallymon-{:04}{:02}{:02}-{:02}{:02}{:02}",
        time.year, time.month, time.day, time.hour, time.minute, time.second
    )
}

/// Saves under a name: as what its ending says, or as everything with none of our endings. Returns the names of the
/// files. A file that exists is not overwritten.
pub(crate) fn save(app: &App, name: &str) -> io::Result<Vec<String>> {
    let name = name.trim();
    let lower = name.to_lowercase();
    let mut files = Vec::new();
    let (csv_name, svg_name) = if lower.ends_with(".csv") {
        (Some(name.to_string()), None)
    } else if lower.ends_with(".svg") {
        (None, Some(name.to_string()))
    } else {
        (Some(format!("{name}.csv")), Some(format!("{name}.svg")))
    };
    let local = |time| app.local_time(time);
    if let Some(name) = csv_name {
        let mut file = io::BufWriter::new(create(&name)?);
        csv(app.monitor(), app.system_name(), &local, &mut file)
            .and_then(|()| file.flush())
            .map_err(|error| named(&name, &error))?;
        files.push(name);
    }
    if let Some(name) = svg_name {
        let picture = svg(app.monitor(), app.system_name(), &local);
        create(&name)?.write_all(picture.as_bytes()).map_err(|error| named(&name, &error))?;
        files.push(name);
    }
    Ok(files)
}

fn create(name: &str) -> io::Result<fs::File> {
    fs::File::create_new(name).map_err(|error| named(name, &error))
}

fn named(name: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{name}: {error}"))
}

/// Writes the whole history as PDH-CSV, as Windows' tools write and read it.
///
/// # Errors
///
/// Those of `out`.
pub fn csv(
    monitor: &Monitor,
    host: &str,
    local: &dyn Fn(FileTime) -> LocalTime,
    out: &mut dyn Write,
) -> io::Result<()> {
    let rows = monitor.rows();
    let first = local(monitor.time(rows.start).unwrap_or_default());
    write!(out, "\"(PDH-CSV 4.0) ({})({})\"", first.zone, first.bias)?;
    for series in monitor.series() {
        write!(out, ",\"\\\\{host}{}\"", series.path.replace('"', "\"\""))?;
    }
    write!(out, "\r\n")?;
    for row in rows {
        let time = local(monitor.time(row).unwrap_or_default()).time;
        write!(
            out,
            "\"{:02}/{:02}/{:04} {:02}:{:02}:{:02}.{:03}\"",
            time.month, time.day, time.year, time.hour, time.minute, time.second, time.milliseconds
        )?;
        for series in monitor.series() {
            match series.at(monitor.next(), row) {
                Some(Ok(number)) => write!(out, ",\"{}\"", g17(number))?,
                // What the Performance Data Helper writes for a missing value.
                Some(Err(_)) | None => write!(out, ",\" \"")?,
            }
        }
        write!(out, "\r\n")?;
    }
    Ok(())
}

const COLOURS: [&str; 8] =
    ["#0072b2", "#e69f00", "#009e73", "#c8a800", "#d55e00", "#cc79a7", "#5b5bd6", "#555555"];

/// The chart of the rows in view as a picture, with its legend.
pub fn svg(monitor: &Monitor, host: &str, local: &dyn Fn(FileTime) -> LocalTime) -> String {
    const WIDTH: f64 = 960.0;
    const HEIGHT: f64 = 360.0;
    const LEFT: f64 = 40.0;
    const TOP: f64 = 34.0;
    let drawn: Vec<_> = monitor.series().iter().filter(|series| monitor.is_drawn(series)).collect();
    let whole = TOP + HEIGHT + 40.0 + 18.0 * drawn.len() as f64;
    let mut text = String::new();
    let clock = |time| format::clock(local(time).time);
    let times = monitor.view_times();
    let span = times.map(|(from, to)| format!("{} - {}", clock(from), clock(to))).unwrap_or_default();
    let total = LEFT + WIDTH + 12.0;
    // Writing to a string does not fail.
    let _ = write!(
        text,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {total} {whole}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"14\">{}  {span}</text>\n",
        escaped(host)
    );
    for quarter in 0..=4u8 {
        let y = TOP + HEIGHT * f64::from(4 - quarter) / 4.0;
        let number = CHART_MAXIMUM * f64::from(quarter) / 4.0;
        let _ = writeln!(
            text,
            "<path d=\"M{LEFT} {y}h{WIDTH}\" stroke=\"#dddddd\"/><text x=\"{}\" y=\"{}\" \
             text-anchor=\"end\">{number:.0}</text>",
            LEFT - 6.0,
            y + 4.0
        );
    }
    let view = monitor.view();
    let count = view.end.saturating_sub(view.start).saturating_sub(1).max(1) as f64;
    for (number, series) in drawn.iter().enumerate() {
        let scale = factor(monitor.power(series)) / CHART_MAXIMUM;
        let mut path = String::new();
        let mut pen = 'M';
        let (first, values) = series.values(monitor.next(), &view);
        for (row, value) in (first..).zip(values) {
            let Ok(value) = value else {
                pen = 'M';
                continue;
            };
            let x = LEFT + WIDTH * row.saturating_sub(view.start) as f64 / count;
            let y = TOP + HEIGHT * (1.0 - (value * scale).clamp(0.0, 1.0));
            let _ = write!(path, "{pen}{x:.1} {y:.1}");
            pen = 'L';
        }
        let colour = COLOURS.get(series.colour % COLOURS.len()).copied().unwrap_or("#555555");
        let dashes = ["", "6 3", "2 2", "8 3 2 3", "10 5", "1 4"];
        let dash = dashes.get(series.colour % PATTERNS.len()).copied().unwrap_or_default();
        let y = TOP + HEIGHT + 34.0 + 18.0 * number as f64;
        let statistics = monitor.statistics(series);
        let shown = |number: Option<f64>| number.map_or_else(|| "-".to_string(), format::number);
        let _ = write!(
            text,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" stroke-dasharray=\"{dash}\" \
             stroke-linejoin=\"round\"/>\n<path d=\"M{LEFT} {}h24\" stroke=\"{colour}\" stroke-width=\"2\" \
             stroke-dasharray=\"{dash}\"/><text x=\"{}\" y=\"{y}\">{}  x{}  last {} avg {} min {} max {}</text>\n",
            y - 4.0,
            LEFT + 32.0,
            escaped(&series.path),
            format::scale(monitor.power(series)),
            shown(statistics.last),
            shown(statistics.average),
            shown(statistics.minimum),
            shown(statistics.maximum),
        );
    }
    text.push_str("</svg>\n");
    text
}

/// A text as it may stand in XML, without letters that XML does not have.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars().filter(|letter| !letter.is_control()) {
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
