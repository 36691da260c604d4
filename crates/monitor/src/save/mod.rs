//! Saves the history as a log, the chart as an SVG picture or an HTML page, and the choices as settings.

mod picture;
mod raw;
mod text;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tallymon::Log;
use tallymon::core::path::CounterPath;
use tallymon::log::{Format, Selection, relog};

use crate::settings::EXTENSION;
use crate::workspace::state::Workspace;

pub use picture::{Other, Page, html, svg};
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

/// Saves under a name; its ending chooses a log format, a picture, a page, or settings. Without such an
/// ending it saves the history and the picture. Returns the names of the files. Existing files are not
/// overwritten.
pub(crate) fn save(workspace: &Workspace, name: &str) -> io::Result<Vec<String>> {
    let name = name.trim();
    let ending = Path::new(name).extension().unwrap_or_default().to_string_lossy().to_lowercase();
    if ending == EXTENSION {
        write(name, workspace.settings().to_string().as_bytes())?;
    } else if ending == "svg" {
        save_picture(workspace, name)?;
    } else if ending == "html" || ending == "htm" {
        write(name, html(&page(workspace)).as_bytes())?;
    } else if let Some(format) = Format::from_name(&ending) {
        save_log(workspace, name, format)?;
    } else {
        let (log, picture) = (format!("{name}.csv"), format!("{name}.svg"));
        save_log(workspace, &log, Format::Csv)?;
        save_picture(workspace, &picture)?;
        if workspace.monitor.alerts.crossings().is_empty() {
            return Ok(vec![log, picture]);
        }
        let list = format!("{name}-alerts.csv");
        save_alerts(workspace, &list)?;
        return Ok(vec![log, picture, list]);
    }
    Ok(vec![name.to_string()])
}

/// Saves the list of crossed thresholds. An existing file is not overwritten.
pub(crate) fn save_alerts(workspace: &Workspace, name: &str) -> io::Result<()> {
    let mut file = io::BufWriter::new(create(name)?);
    let written = text::alerts(&workspace.monitor.alerts, &*workspace.options.local, &mut file);
    written.and_then(|()| file.flush()).map_err(|error| named(name, &error))
}

fn save_picture(workspace: &Workspace, name: &str) -> io::Result<()> {
    write(name, svg(&page(workspace)).as_bytes())
}

fn page(workspace: &Workspace) -> Page<'_> {
    let other = workspace
        .compared()
        .map(|(values, _)| Other { values, title: workspace.compared_title().unwrap_or_default() });
    let (monitor, host, local) = (&workspace.monitor, workspace.system_name(), &*workspace.options.local);
    Page { monitor, host, words: workspace.words, local, other }
}

fn write(name: &str, bytes: &[u8]) -> io::Result<()> {
    create(name)?.write_all(bytes).map_err(|error| named(name, &error))
}

/// Saves the history in a log format; the part in view of a log is copied from the log, with its raw values.
fn save_log(workspace: &Workspace, name: &str, format: Format) -> io::Result<()> {
    // Text formats have the compared values beside the own ones.
    let is_compared = workspace.compared().is_some() && matches!(format, Format::Csv | Format::Tsv);
    let is_copied = |log: &&Log| log.overlaps().is_empty() && follow_each_other(log) && !is_compared;
    if let Some(log) = workspace.log().filter(is_copied) {
        // A path without a host would mean all hosts.
        let of_host = |path: &str| match path.starts_with("\\\\") || log.host().is_empty() {
            true => path.parse::<CounterPath>(),
            false => format!("\\\\{}{path}", log.host()).parse(),
        };
        let counters = workspace.monitor.series().iter();
        let view = workspace.monitor.view_times();
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
        return save_csv(workspace, name, is_compared);
    }
    // A log keeps its own raw samples; text has values only.
    let is_raw = workspace.log().is_none() && format != Format::Tsv;
    if is_raw && format == Format::Tally {
        return save_native(workspace, name);
    }
    // Only copying a log reaches the writers of all formats.
    let ending = if is_raw { Format::Tally } else { Format::Csv }.info().extension;
    let between = format!("{name}.{}.{ending}", std::process::id());
    let saved = match is_raw {
        true => save_native(workspace, &between),
        false => save_csv(workspace, &between, is_compared),
    };
    let saved = saved.and_then(|()| {
        copied(&[PathBuf::from(&between)], name, &relog::Options { format, ..relog::Options::default() })
    });
    match (saved, fs::remove_file(&between)) {
        (Ok(()), Err(error)) => Err(named(&between, &error)),
        (saved, _) => saved,
    }
}

/// Whether each log begins after the end of the one before; overlapping logs are saved as they are shown.
fn follow_each_other(log: &Log) -> bool {
    let parts = log.parts().iter().map(Log::summary);
    parts.clone().zip(parts.skip(1)).all(|(one, next)| one.last < next.first)
}

fn copied(from: &[PathBuf], name: &str, options: &relog::Options) -> io::Result<()> {
    // The complete copy replaces this file.
    drop(create(name)?);
    match relog::relog(from, Path::new(name), options) {
        Ok(_) => Ok(()),
        Err(error) => {
            let _ = fs::remove_file(name);
            Err(io::Error::other(error.to_string()))
        }
    }
}

/// Everything that was seen, with its raw samples.
fn save_native(workspace: &Workspace, name: &str) -> io::Result<()> {
    let file = create(name)?;
    let saved = raw::native(&workspace.monitor, workspace.system_name(), &*workspace.options.local, file);
    saved.map_err(|error| {
        let _ = fs::remove_file(name);
        named(name, &error)
    })
}

fn save_csv(workspace: &Workspace, name: &str, is_compared: bool) -> io::Result<()> {
    let mut file = io::BufWriter::new(create(name)?);
    // The whole history, or the part of a log in view.
    let monitor = &workspace.monitor;
    let rows = if workspace.log().is_some() { monitor.view() } else { monitor.rows() };
    let compared = workspace.compared().filter(|_| is_compared);
    let compared = compared.as_ref().map(|(values, host)| (*values, host.as_str()));
    csv(monitor, rows, workspace.system_name(), &*workspace.options.local, compared, &mut file)
        .and_then(|()| file.flush())
        .map_err(|error| named(name, &error))
}

fn create(name: &str) -> io::Result<fs::File> {
    fs::File::create_new(name).map_err(|error| named(name, &error))
}

fn named(name: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{name}: {error}"))
}
