//! `tally lake`: keeps a lake in order. `tally relog -f lake` and `tally log start -f lake` fill it.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use clap::{Args, Subcommand};
use tallymon::log::lake::{Compacted, Vacuumed, compact, is_table, vacuum};
use tallymon::log::relog::{Options, Report, relog};
use tallymon::log::{Format, LogError, open_regular};

use super::relog::ended;
use crate::arguments::{Common, examples, parse::interval};
use crate::border;
use crate::exit::{Failure, Kind};
use crate::words::{say, shown, visible};

/// Arguments of `tally lake`.
#[derive(Debug, Args)]
pub(crate) struct Lake {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make few large parts of many small ones. Their values stay as they are.
    #[command(after_help = examples::LAKE_COMPACT)]
    Compact {
        /// The folder of the lake, or s3://BUCKET/FOLDER.
        #[arg(value_name = "LAKE")]
        folder: PathBuf,
    },
    /// Remove files that the lake does not need any more: parts that were compacted, and parts of writers
    /// that were killed.
    #[command(after_help = examples::LAKE_VACUUM)]
    Vacuum {
        /// The folder of the lake, or s3://BUCKET/FOLDER.
        #[arg(value_name = "LAKE")]
        folder: PathBuf,
        /// Keep files that were needed during this time, for readers and writers that are at work.
        #[arg(long, value_parser = interval, value_name = "TIME", default_value = "168h")]
        older_than: Duration,
    },
}

pub(crate) fn run(_common: &Common, arguments: &Lake) -> Result<(), Failure> {
    match &arguments.action {
        Action::Compact { folder } => {
            crate::stop::without_half_files()?;
            let Compacted { removed, removed_bytes, added, added_bytes, remarks } = compact(folder)?;
            remarks.iter().for_each(|words| say(format_args!("stays as it is: {}", visible(words))));
            let name = shown(folder);
            say(format_args!(
                "{name}: {removed} parts of {removed_bytes} bytes became {added} of {added_bytes} bytes"
            ));
        }
        Action::Vacuum { folder, older_than } => {
            let Vacuumed { files, bytes, kept } = vacuum(folder, SystemTime::now(), *older_than)?;
            say(format_args!(
                "{}: {files} files of {bytes} bytes are removed, {kept} are too young",
                shown(folder)
            ));
        }
    }
    Ok(())
}

/// The most logs that are put in at a time: each takes up to 100 MB.
const MOST_AT_A_TIME: usize = 8;

/// How deep folders of logs are looked through.
const DEEPEST: u32 = 16;

/// Puts logs into a lake, each as one version, several at a time. What goes wrong with one log does not
/// keep the others out.
pub(crate) fn put(inputs: &[PathBuf], output: &Path, options: &Options) -> Result<(), Failure> {
    let mut logs = Vec::new();
    let mut others = 0u64;
    for input in inputs {
        if input.is_dir() && !is_table(input) {
            collect(input, 0, &mut logs, &mut others).map_err(|error| Failure::file(input, &error))?;
        } else {
            logs.push(input.clone());
        }
    }
    if others > 0 {
        say(format_args!("{others} files in the folders are no logs, and left out"));
    }
    if logs.is_empty() {
        return Err(Failure::new(Kind::NotFound, "there are no logs in the folders"));
    }
    let threads =
        std::thread::available_parallelism().map_or(1, usize::from).min(MOST_AT_A_TIME).min(logs.len());
    let next = AtomicUsize::new(0);
    let sum = Mutex::new(Sum::default());
    let work = || {
        while let Some(log) = logs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = relog(std::slice::from_ref(log), output, options);
            sum.lock().unwrap_or_else(std::sync::PoisonError::into_inner).add(log, result);
        }
    };
    std::thread::scope(|scope| {
        // Without a thread the others, or this one, do its work.
        let started: Vec<_> = (1..threads)
            .filter_map(|_| std::thread::Builder::new().name("lake".into()).spawn_scoped(scope, work).ok())
            .collect();
        work();
        drop(started);
    });
    let sum = sum.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Sum { put, known, records, damaged, .. } = sum;
    let failed = sum.failed.len();
    // The only one is what the command ends with.
    for words in sum.failed.iter().filter_map(|failure| failure.message.as_ref()).filter(|_| logs.len() > 1) {
        tell(format_args!("in   {words}"));
    }
    tell(format_args!(
        "out  {}: {put} logs with {records} records put in, {known} were in already, {failed} failed",
        shown(output)
    ));
    match sum.failed.into_iter().next() {
        Some(failure) if logs.len() == 1 => Err(failure),
        Some(failure) => Err(Failure { message: None, ..failure }),
        None => ended(damaged, &[]),
    }
}

/// Words about a log, as `relog` writes them.
fn tell(words: std::fmt::Arguments<'_>) {
    // Whoever reads standard error may be gone.
    let _ = writeln!(border::stderr(), "{words}");
}

/// What became of the logs.
#[derive(Default)]
struct Sum {
    put: u64,
    known: u64,
    records: u64,
    damaged: bool,
    failed: Vec<Failure>,
}

impl Sum {
    fn add(&mut self, log: &Path, result: Result<Report, LogError>) {
        match result {
            Ok(report) if report.is_known => {
                self.known = self.known.saturating_add(1);
                tell(format_args!("in   {}: it is in the lake already", shown(log)));
            }
            Ok(report) => {
                self.put = self.put.saturating_add(1);
                self.records = self.records.saturating_add(report.records);
                for input in &report.inputs {
                    self.damaged |= input.notes.damage_count > 0;
                    let name = input.format.info().name;
                    tell(format_args!("in   {}: {name}, {} records", shown(log), report.records));
                    for damage in &input.notes.damage {
                        tell(format_args!("     damaged: {}", visible(&damage.to_string())));
                    }
                }
                report
                    .not_found
                    .iter()
                    .for_each(|path| tell(format_args!("     not in it: {}", visible(path))));
                report.remarks.iter().for_each(|words| tell(format_args!("     {}", visible(words))));
            }
            Err(error) => {
                self.failed.push(Failure::from(error.in_file(log)));
            }
        }
    }
}

/// The logs in a folder, by their first bytes, in the order of their names. Links are not followed, and what
/// begins with `.` or `_` is not looked at.
fn collect(folder: &Path, depth: u32, logs: &mut Vec<PathBuf>, others: &mut u64) -> std::io::Result<()> {
    let mut entries: Vec<std::fs::DirEntry> = std::fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type()?);
        if entry.file_name().to_string_lossy().starts_with(['.', '_']) {
            continue;
        }
        if kind.is_dir() {
            if is_table(&path) {
                logs.push(path);
            } else if depth < DEEPEST {
                collect(&path, depth + 1, logs, others)?;
            }
        } else if kind.is_file() {
            let mut head = Vec::new();
            let read = open_regular(&path)
                .and_then(|file| file.take(tallymon::log::HEAD as u64).read_to_end(&mut head));
            match read.ok().and_then(|_| Format::detect(&head)) {
                // An archive is several files, and this one stands for it.
                Some(Format::Pcp) if path.extension().is_none_or(|name| name != "meta") => {}
                Some(_) => logs.push(path),
                None => *others += 1,
            }
        }
    }
    Ok(())
}
