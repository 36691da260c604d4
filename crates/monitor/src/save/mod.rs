//! Saves the history as a log, the chart as an SVG picture or an HTML page, and the choices as settings.

mod picture;
mod raw;
mod text;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tallymon::Log;
use tallymon::core::path::CounterPath;
use tallymon::core::time::FileTime;
use tallymon::log::new_file::{NewFile, Overwrite, write_file};
use tallymon::log::{FORMATS, Format, Selection, relog};

use crate::settings::EXTENSION;
use crate::workspace::options::LocalTime;
use crate::workspace::state::Workspace;

pub use picture::{COLOURS, DASHES, Other, Page, escaped, html, svg};
pub use raw::Past;
pub use text::csv;

/// A file name with the current time.
pub(crate) fn file_name(workspace: &Workspace) -> String {
    let newest = workspace.monitor.next().checked_sub(1).and_then(|row| workspace.monitor.time(row));
    let time = workspace.local_time(newest.unwrap_or_default()).time;
    format!(
        "tallymon-{:04}{:02}{:02}-{:02}{:02}{:02}",
        time.year, time.month, time.day, time.hour, time.minute, time.second
    )
}

/// Saves under a name; its ending chooses a log format, a picture, a page, or settings. Without an ending it
/// saves the history and the picture. Returns the names of the files. Existing files are not overwritten,
/// and a file appears when it is complete.
pub(crate) fn save(workspace: &Workspace, name: &str) -> io::Result<Vec<String>> {
    let name = name.trim();
    let ending = Path::new(name).extension().unwrap_or_default().to_string_lossy().to_lowercase();
    if ending == EXTENSION {
        write(name, workspace.settings().to_string().as_bytes())?;
    } else if ending == "svg" {
        save_picture(workspace, name)?;
    } else if ending == "html" || ending == "htm" {
        write(name, html(&page(workspace, &|time| workspace.local_time(time))).as_bytes())?;
    } else if let Some(format) = Format::from_name(&ending) {
        save_log(workspace, name, format)?;
    } else if !ending.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name}: {}", unknown(&ending))));
    } else {
        let (log, picture) = (format!("{name}.csv"), format!("{name}.svg"));
        let mut names = vec![log, picture];
        if !workspace.monitor.alerts.crossings().is_empty() {
            names.push(format!("{name}-alerts.csv"));
        }
        // All of them or none.
        for name in &names {
            drop(create(name)?);
        }
        if let [log, picture, list @ ..] = names.as_slice() {
            save_log(workspace, log, Format::Csv)?;
            save_picture(workspace, picture)?;
            list.iter().try_for_each(|list| save_alerts(workspace, list))?;
        }
        return Ok(names);
    }
    Ok(vec![name.to_string()])
}

/// What to say about an ending that names no format: those that there are.
fn unknown(ending: &str) -> String {
    let logs = FORMATS.iter().filter(|format| format.writes).map(|format| format.extension);
    let endings: Vec<&str> = logs.chain(["svg", "html", EXTENSION]).collect();
    format!("no format .{ending}; there are .{}", endings.join(", ."))
}

/// Saves the list of crossed thresholds. An existing file is not overwritten.
pub(crate) fn save_alerts(workspace: &Workspace, name: &str) -> io::Result<()> {
    let new = create(name)?;
    let write = || {
        let mut file = io::BufWriter::new(new.file()?);
        text::alerts(&workspace.monitor.alerts, &|time| workspace.local_time(time), &mut file)?;
        file.flush()?;
        new.keep()
    };
    write().map_err(|error| named(name, &error))
}

fn save_picture(workspace: &Workspace, name: &str) -> io::Result<()> {
    write(name, svg(&page(workspace, &|time| workspace.local_time(time))).as_bytes())
}

fn page<'w>(workspace: &'w Workspace, local: &'w dyn Fn(FileTime) -> LocalTime) -> Page<'w> {
    let other = workspace
        .compared()
        .map(|(values, _)| Other { values, title: workspace.compared_title().unwrap_or_default() });
    let (monitor, host) = (&workspace.monitor, workspace.system_name());
    Page { monitor, host, words: workspace.words, local, other }
}

fn write(name: &str, bytes: &[u8]) -> io::Result<()> {
    write_file(Path::new(name), Overwrite::Never, bytes).map_err(|error| named(name, &error))
}

/// Saves the history in a log format; the part in view of a log is copied from the log, with its raw values.
fn save_log(workspace: &Workspace, name: &str, format: Format) -> io::Result<()> {
    // Text formats have the compared values beside the own ones.
    let is_compared = workspace.compared().is_some() && matches!(format, Format::Csv | Format::Tsv);
    let is_copied = |log: &&Log| log.overlaps().is_empty() && follow_each_other(log) && !is_compared;
    if let Some(log) = workspace.log().filter(is_copied) {
        // A path without a host would mean all hosts.
        let of_host = |path: &str| match path.starts_with("\\\\") || log.host().is_empty() {
            true => CounterPath::of_text(path),
            false => CounterPath::of_text(&format!("\\\\{}{path}", log.host())),
        };
        let counters = workspace.monitor.series().iter();
        let view = workspace.monitor.view_times();
        let options = relog::Options {
            format,
            select: Selection {
                counters: counters.filter_map(|series| of_host(&series.path).ok()).collect(),
                from: view.map(|(from, _)| from.into()),
                to: view.map(|(_, to)| to.into()),
            },
            ..relog::Options::default()
        };
        let files: Vec<PathBuf> = log.parts().iter().map(|part| part.path().to_path_buf()).collect();
        return copied(&files, name, &options);
    }
    if format == Format::Csv {
        let new = create(name)?;
        save_csv(workspace, &new, is_compared).map_err(|error| named(name, &error))?;
        return new.keep().map_err(|error| named(name, &error));
    }
    // A log keeps its own raw samples; text has values only.
    let is_raw = workspace.log().is_none() && format != Format::Tsv;
    if is_raw && format == Format::Tally {
        let new = create(name)?;
        save_native(workspace, &new).map_err(|error| named(name, &error))?;
        return new.keep().map_err(|error| named(name, &error));
    }
    // Only copying a log reaches the writers of all formats. This one never gets a name.
    let between = create(name)?;
    match is_raw {
        true => save_native(workspace, &between),
        false => save_csv(workspace, &between, is_compared),
    }
    .map_err(|error| named(name, &error))?;
    let options = relog::Options { format, ..relog::Options::default() };
    copied(&[between.path().to_path_buf()], name, &options)
}

/// Whether each log begins after the end of the one before; overlapping logs are saved as they are shown.
fn follow_each_other(log: &Log) -> bool {
    let parts = log.parts().iter().map(Log::summary);
    parts.clone().zip(parts.skip(1)).all(|(one, next)| one.last < next.first)
}

fn copied(from: &[PathBuf], name: &str, options: &relog::Options) -> io::Result<()> {
    relog::relog(from, Path::new(name), options)
        .map(drop)
        .map_err(|error| io::Error::other(error.to_string()))
}

/// Everything that was seen, with its raw samples.
fn save_native(workspace: &Workspace, new: &NewFile) -> io::Result<()> {
    let local = &|time| workspace.local_time(time);
    Past::of(&workspace.monitor).native(workspace.system_name(), local, new.file()?)
}

fn save_csv(workspace: &Workspace, new: &NewFile, is_compared: bool) -> io::Result<()> {
    let mut file = io::BufWriter::new(new.file()?);
    // The whole history, or the part of a log in view.
    let monitor = &workspace.monitor;
    let rows = if workspace.log().is_some() { monitor.view() } else { monitor.rows() };
    let compared = workspace.compared().filter(|_| is_compared);
    let compared = compared.as_ref().map(|(values, host)| (*values, host.as_str()));
    csv(monitor, rows, workspace.system_name(), &|time| workspace.local_time(time), compared, &mut file)?;
    file.flush()
}

fn create(name: &str) -> io::Result<NewFile> {
    NewFile::create(Path::new(name), Overwrite::Never).map_err(|error| named(name, &error))
}

fn named(name: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{name}: {error}"))
}
