//! What was seen, as files: the history as a log, the chart as an SVG picture or a page, what was chosen as settings.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use tallymon::Log;
use tallymon::core::counter::g17;
use tallymon::core::flow::Value;
use tallymon::core::path::CounterPath;
use tallymon::core::time::FileTime;
use tallymon::log::{Format, Selection, relog};

use crate::chart::PATTERNS;
use crate::model::{Monitor, factor, format};
use crate::settings::EXTENSION;
use crate::tui::{App, LocalTime};
use crate::words::{Word, Words};

/// A name for files of now.
pub(crate) fn file_name(app: &App) -> String {
    let newest = app.monitor().next().checked_sub(1).and_then(|row| app.monitor().time(row));
    let time = app.local_time(newest.unwrap_or_default()).time;
    format!(
        "tallymon-{:04}{:02}{:02}-{:02}{:02}{:02}",
        time.year, time.month, time.day, time.hour, time.minute, time.second
    )
}

/// Saves under a name: as what its ending says - any format of logs that can be written, a picture, a page with
/// it, settings - or the history and the picture with none of these endings. Returns the names of the files. A file that exists is not
/// overwritten.
pub(crate) fn save(app: &App, name: &str) -> io::Result<Vec<String>> {
    let name = name.trim();
    let ending = Path::new(name).extension().unwrap_or_default().to_string_lossy().to_lowercase();
    if ending == EXTENSION {
        write(name, app.settings().to_string().as_bytes())?;
    } else if ending == "svg" {
        save_picture(app, name)?;
    } else if ending == "html" || ending == "htm" {
        write(
            name,
            html(app.monitor(), app.system_name(), app.words, &|time| app.local_time(time)).as_bytes(),
        )?;
    } else if let Some(format) = Format::from_name(&ending) {
        save_log(app, name, format)?;
    } else {
        let (log, picture) = (format!("{name}.csv"), format!("{name}.svg"));
        save_log(app, &log, Format::Csv)?;
        save_picture(app, &picture)?;
        return Ok(vec![log, picture]);
    }
    Ok(vec![name.to_string()])
}

fn save_picture(app: &App, name: &str) -> io::Result<()> {
    let picture = svg(app.monitor(), app.system_name(), &|time| app.local_time(time));
    write(name, picture.as_bytes())
}

fn write(name: &str, bytes: &[u8]) -> io::Result<()> {
    create(name)?.write_all(bytes).map_err(|error| named(name, &error))
}

/// The history in a format of logs; what is in view of a log is copied from there, with its raw values.
fn save_log(app: &App, name: &str, format: Format) -> io::Result<()> {
    if let Some(log) = app.log().filter(|log| log.overlaps().is_empty() && follow_each_other(log)) {
        // A path without host would mean that counter of all hosts.
        let of_host = |path: &str| match path.starts_with("\\\\") || log.host().is_empty() {
            true => path.parse::<CounterPath>(),
            false => format!("\\\\{}{path}", log.host()).parse(),
        };
        let counters = app.monitor().series().iter();
        let view = app.monitor().view_times();
        let options = relog::Options {
            format,
            select: Selection {
                counters: counters.filter_map(|series| of_host(&series.path).ok()).collect(),
                from: view.map(|(from, _)| from),
                to: view.map(|(_, to)| to),
            },
            ..relog::Options::default()
        };
        let files: Vec<PathBuf> = log.parts().iter().map(|part| part.path().to_path_buf()).collect();
        return copied(&files, name, &options);
    }
    if format == Format::Csv {
        return save_csv(app, name);
    }
    // The writers of all formats are behind the copying of logs.
    let between = format!("{name}.{}.csv", std::process::id());
    let saved = save_csv(app, &between).and_then(|()| {
        copied(&[PathBuf::from(&between)], name, &relog::Options { format, ..relog::Options::default() })
    });
    match (saved, fs::remove_file(&between)) {
        (Ok(()), Err(error)) => Err(named(&between, &error)),
        (saved, _) => saved,
    }
}

/// Whether each log begins behind the end of the one before: those that are beside each other are saved as they are shown.
fn follow_each_other(log: &Log) -> bool {
    let parts = log.parts().iter().map(Log::summary);
    parts.clone().zip(parts.skip(1)).all(|(one, next)| one.last < next.first)
}

fn copied(from: &[PathBuf], name: &str, options: &relog::Options) -> io::Result<()> {
    // The copy takes the place of this file when it is complete.
    drop(create(name)?);
    match relog::relog(from, Path::new(name), options) {
        Ok(_) => Ok(()),
        Err(error) => {
            let _ = fs::remove_file(name);
            Err(io::Error::other(error.to_string()))
        }
    }
}

fn save_csv(app: &App, name: &str) -> io::Result<()> {
    let mut file = io::BufWriter::new(create(name)?);
    // Everything that was seen, or what is in view of logs.
    let monitor = app.monitor();
    let rows = if app.log().is_some() { monitor.view() } else { monitor.rows() };
    csv(monitor, rows, app.system_name(), &|time| app.local_time(time), &mut file)
        .and_then(|()| file.flush())
        .map_err(|error| named(name, &error))
}

fn create(name: &str) -> io::Result<fs::File> {
    fs::File::create_new(name).map_err(|error| named(name, &error))
}

fn named(name: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{name}: {error}"))
}

/// Writes some rows of the history as PDH-CSV, as Windows' tools write and read it.
///
/// # Errors
///
/// Those of `out`.
pub fn csv(
    monitor: &Monitor,
    rows: Range<u64>,
    host: &str,
    local: &dyn Fn(FileTime) -> LocalTime,
    out: &mut dyn Write,
) -> io::Result<()> {
    let first = local(monitor.time(rows.start).unwrap_or_default());
    write!(out, "\"(PDH-CSV 4.0) ({})({})\"", first.zone, first.bias)?;
    for series in monitor.series() {
        // Those of other hosts name theirs.
        let host = if series.host().is_some() { String::new() } else { format!("\\\\{host}") };
        write!(out, ",\"{host}{}\"", series.path.replace('"', "\"\""))?;
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
    let picture = &monitor.picture;
    let title = [&picture.title, host, &picture.label].map(escaped);
    let title = title.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ");
    // Writing to a string does not fail.
    let _ = write!(
        text,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {total} {whole}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"14\">{title}  {span}</text>\n"
    );
    for quarter in 0..=4u8 {
        let y = TOP + HEIGHT * f64::from(4 - quarter) / 4.0;
        let number = picture.axis.at(f64::from(quarter) / 4.0);
        let _ = writeln!(
            text,
            "<path d=\"M{LEFT} {y}h{WIDTH}\" stroke=\"#dddddd\"/><text x=\"{}\" y=\"{}\" \
             text-anchor=\"end\">{}</text>",
            LEFT - 6.0,
            y + 4.0,
            format::axis(number)
        );
    }
    let view = monitor.view();
    let count = view.end.saturating_sub(view.start).saturating_sub(1).max(1) as f64;
    for (number, series) in drawn.iter().enumerate() {
        let scale = factor(monitor.power(series));
        let mut path = String::new();
        let mut pen = 'M';
        let (first, values) = series.values(monitor.next(), &view);
        for (row, value) in (first..).zip(values) {
            let Ok(value) = value else {
                pen = 'M';
                continue;
            };
            let x = LEFT + WIDTH * row.saturating_sub(view.start) as f64 / count;
            let y = TOP + HEIGHT * (1.0 - monitor.picture.axis.share(value * scale).clamp(0.0, 1.0));
            let _ = write!(path, "{pen}{x:.1} {y:.1}");
            pen = 'L';
        }
        let colour = COLOURS.get(series.colour % COLOURS.len()).copied().unwrap_or("#555555");
        let dashes = ["", "6 3", "2 2", "8 3 2 3", "10 5", "1 4"];
        let dash =
            dashes.get(series.pattern.unwrap_or(series.colour) % PATTERNS.len()).copied().unwrap_or_default();
        let wide = if series.thick { 3.0 } else { 1.5 };
        let y = TOP + HEIGHT + 34.0 + 18.0 * number as f64;
        let statistics = monitor.statistics(series);
        let shown = |number: Option<f64>| number.map_or_else(|| "-".to_string(), format::number);
        let _ = write!(
            text,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{wide}\" stroke-dasharray=\"{dash}\" \
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

/// The picture on a page to be printed or sent, above a table of all counters with their statistics: also of those that a
/// chart has no line for. It needs no other file.
pub fn html(monitor: &Monitor, host: &str, words: Words, local: &dyn Fn(FileTime) -> LocalTime) -> String {
    let title = [host, &monitor.picture.title].map(escaped).join(" ");
    let heads = [Word::Counter, Word::Last, Word::Average, Word::Minimum, Word::Maximum];
    let heads = heads.map(|head| format!("<th>{}</th>", escaped(words.get(head)))).concat();
    let mut text = format!(
        "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>{title}</title>\n<style>\
         body {{ font-family: sans-serif; margin: 2em auto; max-width: 64em; }}\
         table {{ border-collapse: collapse; }}\
         th, td {{ border-bottom: 1px solid #dddddd; padding: 0.2em 0.8em; text-align: right; }}\
         th:first-child, td:first-child {{ text-align: left; }}</style></head>\n<body>\n{}<table>\n<tr>{heads}</tr>\n",
        svg(monitor, host, local)
    );
    for series in monitor.series() {
        let statistics = monitor.statistics(series);
        let numbers = [statistics.average, statistics.minimum, statistics.maximum]
            .map(|number| number.map_or_else(|| "-".to_string(), format::number));
        let last = match (&series.last, statistics.last) {
            // A text has no statistics.
            (Ok(value @ Value::Text(_)), _) => format::value(value, series.counter_type),
            (_, last) => last.map_or_else(|| "-".to_string(), format::number),
        };
        // Writing to a string does not fail.
        let _ = write!(text, "<tr><td>{}</td><td>{}</td>", escaped(&series.path), escaped(&last));
        for number in numbers {
            let _ = write!(text, "<td>{number}</td>");
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</table>\n</body></html>\n");
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
