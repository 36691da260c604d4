//! Recording the counters of a query until stopped: `tally watch -o` and `typeperf -o`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tallymon::clock::{LocalZone, now};
use tallymon::log::Format;
use tallymon::log::new_file::{NewFile, Overwrite};
use tallymon::record::{create_text, while_recording, write_options};
use tallymon::{Query, Recorder};

use crate::arguments::Form;
use crate::exit::{Failure, Kind};
use crate::output::Rows;
use crate::stop::{Stop, Ticks};
use crate::words::say;

/// How long and how often something is recorded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Time between two records.
    pub(crate) interval: Duration,
    /// The most records; `None` without a limit.
    pub(crate) most: Option<u64>,
}

/// Records into a file until stopped. In every format the first row is the first sample, so that it has no
/// rates. An old file of that name stays until the new one has its first records. `no_formulas` is for text.
pub(crate) fn record(
    query: &mut Query,
    output: (&Path, Overwrite),
    format: Format,
    pace: Pace,
    no_formulas: bool,
) -> Result<(), Failure> {
    let form = if format == Format::Csv { Form::Csv } else { Form::Tsv };
    let records = match format {
        Format::Csv | Format::Tsv => text(query, output, form, pace, no_formulas),
        _ => raw(query, output, format, pace),
    }?;
    say_records(output.0, records);
    Ok(())
}

/// Says how many records a file has.
pub(crate) fn say_records(file: &Path, records: u64) {
    let what = if records == 1 { "record" } else { "records" };
    say(format_args!("{}: {records} {what}", file.display()));
}

/// Computed values as text, row by row: the file is complete at any time, but has the columns of its first
/// row. Returns the number of rows.
fn text(
    query: &mut Query,
    (output, overwrite): (&Path, Overwrite),
    form: Form,
    pace: Pace,
    no_formulas: bool,
) -> Result<u64, Failure> {
    let failed = |error| Failure::file(output, &error);
    let stop = Stop::on_signals()?;
    let mut ticks = Ticks::start(pace.interval);
    let new = create_text(output, overwrite)?;
    let file = new.file().map_err(failed)?;
    let mut rows = Rows::new(file, form, query.system_name(), true).without_formulas(no_formulas);
    let mut begun = Some(new);
    let mut done = 0u64;
    loop {
        // The time of a row is when its sample began, as in the other formats.
        let begin = now();
        query.collect()?;
        rows.row(begin, &*query).map_err(failed)?;
        // From its first row on it is a log.
        begun.take().map_or(Ok(()), NewFile::keep).map_err(failed)?;
        done = done.saturating_add(1);
        if pace.most.is_some_and(|most| done >= most) || !stop.wait_until(ticks.next()) {
            return Ok(done);
        }
    }
}

/// Raw values in a native log, which is converted to another format at the end. Returns the number of
/// records.
fn raw(query: &mut Query, output: (&Path, Overwrite), format: Format, pace: Pace) -> Result<u64, Failure> {
    let (file, mut recorder) = RawFile::begin(output, format)?;
    let zone = LocalZone::system();
    let stop = Stop::on_signals()?;
    recorder.choose(query);
    let mut ticks = Ticks::start(pace.interval);
    let ended: Result<(), Failure> = loop {
        if !query.add_awaited().is_empty() {
            recorder.choose(query);
        }
        let begin = now();
        if let Err(error) = query.collect() {
            break Err(error.into());
        }
        let Some(snapshot) = query.snapshot() else { continue };
        if let Err(error) = recorder.record(snapshot, zone.minutes(begin), (begin, now())) {
            break Err(error.into());
        }
        let enough = pace.most.is_some_and(|most| recorder.records() >= most);
        if enough || !stop.wait_until(ticks.next()) {
            break Ok(());
        }
    };
    file.end(recorder, ended)
}

/// A file of raw values, and the native log in which they are until its end.
pub(crate) struct RawFile<'o> {
    output: &'o Path,
    overwrite: Overwrite,
    format: Format,
    recording: PathBuf,
}

impl<'o> RawFile<'o> {
    /// Begins the native log. An output that cannot be written is an error now, not after the recording.
    pub(crate) fn begin(
        (output, overwrite): (&'o Path, Overwrite),
        format: Format,
    ) -> Result<(RawFile<'o>, Recorder), Failure> {
        drop(NewFile::create(output, overwrite).map_err(|error| Failure::file(output, &error))?);
        let recording = while_recording(output, format);
        if overwrite == Overwrite::Never && recording != output && recording.exists() {
            let words =
                "was left by a recording that was interrupted; 'tally relog' reads it, --force replaces it";
            return Err(Failure::new(Kind::Other, format_args!("{}: {words}", recording.display())));
        }
        let recorder = Recorder::create(&recording, overwrite, write_options(&LocalZone::system(), now()))?;
        Ok((RawFile { output, overwrite, format, recording }, recorder))
    }

    /// Completes what was recorded, however that ended, and returns the number of records.
    pub(crate) fn end(self, recorder: Recorder, ended: Result<(), Failure>) -> Result<u64, Failure> {
        let RawFile { output, overwrite, format, recording } = self;
        let records = recorder.records();
        let has_records = recorder.has_records();
        let finished = match format {
            Format::Tally => recorder.seal(),
            _ => recorder.finish(output, format, overwrite).map(|report| report.remarks.iter().for_each(say)),
        };
        if (ended.is_err() || finished.is_err()) && has_records && recording.exists() {
            say(format_args!("{} has what was recorded before; 'tally relog' reads it", recording.display()));
        }
        ended?;
        finished?;
        Ok(records)
    }
}
