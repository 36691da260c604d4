//! A log in another format, or a part of it, as a file to keep; and what differs most between two logs. The
//! work is that of `tally relog` and `tally compare`.

use std::fs::File;
use std::io::Read;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use hyper::StatusCode;
use serde_json::{Value, json};
use tallymon::PathError;
use tallymon::core::path::CounterPath;
use tallymon::core::visible::visible;
use tallymon::log::compare::{Align, Comparison, Difference, compare_beside};
use tallymon::log::relog::{Options, relog};
use tallymon::log::stats::Summary;
use tallymon::log::{Format, LogError, ReadOptions, Selection};
use tallymon_remote::asynchronous::sync::mpsc;

use crate::chart::{Range, number};
use crate::http::Refused;
use crate::log_host::LogHost;
use crate::one_file::OneFile;
use crate::parameters::{Parameters, milliseconds};
use crate::uploads::{Temporary, Uploads};

/// Bytes of a piece of a file, and how many may wait.
const PIECE: usize = 64 << 10;
pub(crate) const WAITING: usize = 4;
/// The most differences that are sent, and when nobody says it.
const MOST: u64 = 2_000;
const USUAL: u64 = 100;

/// A converted log.
pub(crate) struct Converted {
    file: File,
    /// What the browser calls it.
    pub(crate) name: String,
    /// Removes the file at the end.
    _kept: Temporary,
}

/// Writes a log, or a part of it, in another format.
pub(crate) fn convert(
    log: &LogHost,
    read: &ReadOptions,
    uploads: &Arc<Uploads>,
    parameters: &Parameters,
) -> Result<Converted, Refused> {
    let wanted = parameters.needed("format")?;
    // A lake is no file that could be sent.
    let format = Format::from_name(wanted).filter(|format| format.info().writes && *format != Format::Lake);
    let format =
        format.ok_or_else(|| Refused::bad_request(format!("no format {:?} is written", visible(wanted))))?;
    let mut counters = Vec::new();
    for path in parameters.all("path") {
        counters.push(CounterPath::of_text(path).map_err(|error| PathError::syntax(path, error))?);
    }
    let range = Range::of(parameters)?;
    let select = Selection { counters, from: range.from.map(Into::into), to: range.to.map(Into::into) };
    let every = parameters.number("every")?.and_then(|every| u32::try_from(every).ok());
    let every = every.and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN);
    let files = log.files()?;
    let kept = Temporary::copy_of(&log.name, log.bytes(), uploads)?;
    // The name of a file on this machine is nobody's business.
    let options =
        Options { format, select, every, strip_path: true, read: read.clone(), ..Options::default() };
    relog(&files, kept.path(), &options).map_err(|error| refused(&error, [log].into_iter()))?;
    let file = File::open(kept.path())
        .map_err(|error| Refused::new(StatusCode::INTERNAL_SERVER_ERROR, format!("the new log: {error}")))?;
    let stem = Path::new(&log.name).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let plain =
        |letter: char| if letter.is_ascii_alphanumeric() || "-_.".contains(letter) { letter } else { '_' };
    let stem: String = stem.chars().map(plain).take(100).collect();
    let name = format!("{stem}.{}", format.info().extension);
    Ok(Converted { file, name, _kept: kept })
}

impl Converted {
    /// Sends the file until it ends or nobody takes it.
    pub(crate) fn send(mut self, pieces: &mpsc::Sender<Bytes>) {
        let mut piece = vec![0; PIECE];
        // A file that cannot be read ends the answer; its client sees that it is cut off.
        while let Ok(length @ 1..) = self.file.read(&mut piece) {
            let Some(bytes) = piece.get(..length) else { break };
            if pieces.blocking_send(Bytes::copy_from_slice(bytes)).is_err() {
                break;
            }
        }
    }
}

/// The counters of two logs, those that differ most first, over the time that the logs beside them cover,
/// too.
pub(crate) fn differences(
    logs: [&LogHost; 2],
    beside: &[Arc<LogHost>],
    (read, uploads): (&ReadOptions, &Arc<Uploads>),
    parameters: &Parameters,
) -> Result<Value, Refused> {
    let events = parameters.times("at")?;
    let align = match parameters.text("align") {
        None | Some("start") => Align::Start,
        Some("clock") => Align::Clock,
        Some("event") => Align::Events(&events),
        Some(other) => {
            return Err(Refused::bad_request(format!("align={:?}: start, clock or event", visible(other))));
        }
    };
    let top = usize::try_from(parameters.number("top")?.unwrap_or(USUAL).min(MOST)).unwrap_or_default();
    let file = |log: &LogHost| OneFile::of(log.files()?, (&log.name, log.bytes()), uploads, read);
    let [first, second] = [file(logs[0])?, file(logs[1])?];
    let others = beside.iter().map(|log| file(log)).collect::<Result<Vec<_>, _>>()?;
    let others: Vec<&Path> = others.iter().map(OneFile::path).collect();
    let both = [first.path(), second.path()];
    let found = compare_beside(both, &others, align, &Selection::default(), read);
    let known = || logs.into_iter().chain(beside.iter().map(|log| &**log));
    Ok(comparison(&found.map_err(|error| refused(&error, known()))?, logs, top))
}

fn comparison(found: &Comparison, logs: [&LogHost; 2], top: usize) -> Value {
    let sides = found.sides.iter().zip(logs).map(|(side, log)| {
        json!({
            "name": visible(&log.name), "records": side.records, "first": side.first.map(milliseconds),
            "last": side.last.map(milliseconds), "damage": side.notes.damage_count,
        })
    });
    let paths =
        |paths: &[String]| paths.iter().take(top).map(|path| json!(visible(path))).collect::<Vec<_>>();
    json!({
        "sides": sides.collect::<Vec<_>>(), "all": found.differences.len(),
        "differences": found.differences.iter().take(top).map(difference).collect::<Vec<_>>(),
        "onlyFirst": paths(&found.only_first), "onlySecond": paths(&found.only_second),
    })
}

fn difference(one: &Difference) -> Value {
    let side = |side: &Summary| {
        json!({
            "count": side.count, "mean": number(side.mean), "min": number(side.minimum),
            "max": number(side.maximum), "p95": side.percentile(95).map(number),
        })
    };
    json!({
        "path": one.path, "shown": visible(&one.path), "unit": one.counter_type.suffix().as_str(),
        "absolute": number(one.absolute()), "relative": number(one.relative()),
        "deviations": one.deviations().map(number), "first": side(&one.first), "second": side(&one.second),
    })
}

/// What is wrong with a log, by the name that the user knows.
fn refused<'l>(error: &LogError, logs: impl Iterator<Item = &'l LogHost>) -> Refused {
    let mut words = error.to_string();
    for log in logs {
        for path in log.files().unwrap_or_default() {
            words = words.replace(&*path.to_string_lossy(), &log.name);
        }
    }
    Refused::bad_request(visible(&words))
}
