//! `tally relog`: copies performance logs into another format.

use std::io::{self, Write};
use std::path::Path;

use tallymon::clock::{LocalZone, parse_log_time, rfc3339};
use tallymon::core::counter::Digits;
use tallymon::core::path::CounterPath;
use tallymon::core::time::FileTime;
use tallymon::core::title::Language;
use tallymon::log::csv::LineEnd;
use tallymon::log::relog::{InputReport, Options, Report, relog, relog_to};
use tallymon::log::{FORMATS, Format, LogClock, LogTime, Notes, ReadOptions, Selection, is_address};
use tallymon::{Log, Overlap, PathError, show_names_in};

use crate::arguments::parse::file_of;
use crate::arguments::{Choice, Common, Reading, Relog, TimeChoice};
use crate::border;
use crate::exit::{Failure, Kind};
use crate::progress::Progress;
use crate::stop::without_half_files;
use crate::words::{say, shown, visible};

pub(crate) fn run(_common: &Common, arguments: &Relog) -> Result<(), Failure> {
    let mut rename_host = Vec::new();
    for pair in &arguments.rename_host {
        let (old, new) = pair.split_once('=').ok_or_else(|| {
            Failure::new(Kind::Usage, format_args!("--rename-host {pair:?}: write it as OLD=NEW"))
        })?;
        rename_host
            .push((old.trim_start_matches('\\').to_string(), new.trim_start_matches('\\').to_string()));
    }
    let options = Options {
        format: format(arguments)?,
        select: selection(&arguments.choice)?,
        every: arguments.every,
        utc: arguments.utc,
        rename_host,
        strip_path: arguments.strip_path,
        line_end: if arguments.lf { LineEnd::Lf } else { LineEnd::CrLf },
        digits: arguments.digits,
        no_formulas: arguments.no_formulas,
        read: ReadOptions {
            cap: arguments.choice.cap,
            processes: arguments.naming.of_log(),
            ..reading_in(&arguments.reading, arguments.language)?
        },
        overwrite: arguments.replacing.overwrite(),
    };
    say_unused(arguments, options.format);
    if options.format == Format::Lake {
        return into_lake(arguments, &options);
    }
    // Each input is read for its columns, and then for its records.
    let progress = Progress::of(&options.read.bytes_read, &arguments.inputs, 2);
    let report = match file_of(arguments.output.as_ref()) {
        Some(output) => {
            without_half_files()?;
            relog(&arguments.inputs, output, &options)?
        }
        None => relog_to(&arguments.inputs, border::cells(), &options)?,
    };
    drop(progress);
    say_report(&report, file_of(arguments.output.as_ref()), options.utc)?;
    let damaged = report.inputs.iter().any(|input| input.notes.damage_count > 0);
    ended(damaged, &report.not_found)
}

#[cfg(feature = "parquet")]
fn into_lake(arguments: &Relog, options: &Options) -> Result<(), Failure> {
    let output = file_of(arguments.output.as_ref());
    let output = output.ok_or_else(|| Failure::new(Kind::Usage, "a lake is a folder: name it (-o)"))?;
    without_half_files()?;
    super::lake::put(&arguments.inputs, output, options)
}

#[cfg(not(feature = "parquet"))]
fn into_lake(_: &Relog, _: &Options) -> Result<(), Failure> {
    Err(Failure::new(Kind::Usage, "this program was built without the feature that writes a lake"))
}

/// Names the options that the format has no use for.
fn say_unused(arguments: &Relog, format: Format) {
    if matches!(format, Format::Csv | Format::Tsv) {
        return;
    }
    let options = [
        ("--digits", arguments.digits != Digits::Seventeen),
        ("--lf", arguments.lf),
        ("--no-formulas", arguments.no_formulas),
    ];
    for (option, _) in options.iter().filter(|(_, is_given)| *is_given) {
        say(format_args!("{option} changes CSV and TSV only; the output is {}", format.info().name));
    }
}

/// Names the requested counters that the logs do not have.
pub(crate) fn say_not_found(paths: &[String]) {
    paths.iter().for_each(|path| say(format_args!("no counter in the logs matches {path}")));
}

/// How a command ends that has shown everything it could, and named the rest: damage of a log, counters that
/// the logs do not have.
pub(crate) fn ended(damaged: bool, not_found: &[String]) -> Result<(), Failure> {
    match (damaged, not_found.is_empty()) {
        (true, _) => Err(Failure::silent(Kind::BadFile)),
        (false, false) => Err(Failure::silent(Kind::NotFound)),
        (false, true) => Ok(()),
    }
}

/// The counters and records that are asked for.
pub(crate) fn selection(choice: &Choice) -> Result<Selection, Failure> {
    let mut counters = Vec::new();
    for path in &choice.counter {
        counters.push(CounterPath::of_text(path).map_err(|error| PathError::syntax(path, error))?);
    }
    Ok(Selection { counters, ..in_range(&choice.range)? })
}

/// The records of a range, with all counters.
pub(crate) fn in_range(range: &TimeChoice) -> Result<Selection, Failure> {
    let from = range.from.as_deref().map(log_time).transpose()?;
    let to = range.to.as_deref().map(log_time).transpose()?;
    Ok(Selection { from, to, ..Selection::default() })
}

/// How to write a time in a log.
pub(crate) const LOG_TIMES: &str = "'2026-11-21 09:30' (by the log's own clock), 2026-11-21T08:30Z, \
     '2026-11-21 17:30+09:00' or -2h (before the end of the log)";

/// A time in a log. Every command parses it here.
pub(crate) fn log_time(text: &str) -> Result<LogTime, Failure> {
    parse_log_time(text).ok_or_else(|| {
        let words = format!("no time {text:?}: write {LOG_TIMES}");
        Failure::new(Kind::Usage, words)
    })
}

/// How to read logs by the options. Names of another language become English if there are tables for it.
pub(crate) fn reading(reading: &Reading) -> Result<ReadOptions, Failure> {
    reading_in(reading, None)
}

/// As [`reading`], with names in a language.
fn reading_in(reading: &Reading, language: Option<Language>) -> Result<ReadOptions, Failure> {
    let mut options =
        ReadOptions { code_page: reading.code_page.clone(), bias: reading.bias, ..ReadOptions::default() };
    if language.is_some() || !reading.name_table.is_empty() {
        let language = language.unwrap_or(Language::ENGLISH);
        for remark in show_names_in(language, &reading.name_table, &mut options)? {
            say(visible(&remark));
        }
    }
    Ok(options)
}

/// The format that is asked for, else the one of the output's name, else PDH-CSV.
fn format(arguments: &Relog) -> Result<Format, Failure> {
    if let Some(name) = &arguments.format {
        return Format::from_name(name).ok_or_else(|| {
            let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
            Failure::new(Kind::Usage, format_args!("no format {name:?}; there are {}", names.join(", ")))
        });
    }
    let output = file_of(arguments.output.as_ref());
    if output.is_some_and(is_address) {
        return Ok(Format::Lake);
    }
    let extension = output.and_then(Path::extension).map(|name| name.to_string_lossy());
    Ok(extension.and_then(|name| Format::from_name(&name)).unwrap_or(Format::Csv))
}

/// A time by this machine's clock: with an offset from UTC, or local, also as Windows writes it (M/d/yyyy
/// h:mm:ss[AM|PM]); a date alone is its first moment.
pub(crate) fn machine_time(text: &str) -> Result<FileTime, Failure> {
    LocalZone::system().parse(text).ok_or_else(|| {
        let words = format!("no time {text:?}: write '2026-11-21 09:30' (local) or 2026-11-21T08:30:00Z");
        Failure::new(Kind::Usage, words)
    })
}

/// What was done, as words on standard error.
fn say_report(report: &Report, output: Option<&Path>, utc: bool) -> io::Result<()> {
    let mut words = border::stderr();
    let mut all = LogClock::default();
    for InputReport { path, format, records, first, last, clock, notes } in &report.inputs {
        let range = range(*first, *last, |time| clock.text(time));
        all.add(clock);
        writeln!(words, "in   {}: {}, {records} records{range}", shown(path), format.info().name)?;
        say_notes(&mut words, notes)?;
    }
    let name = output.map_or_else(|| "standard output".to_string(), shown);
    let range = range(report.first, report.last, |time| if utc { rfc3339(time) } else { all.text(time) });
    writeln!(words, "out  {name}: {} records of {} counters{range}", report.records, report.columns)?;
    for path in &report.not_found {
        writeln!(words, "     not in the logs: {}", visible(path))?;
    }
    for remark in &report.remarks {
        writeln!(words, "     {}", visible(remark))?;
    }
    Ok(())
}

/// The faults and remarks of one log.
fn say_notes(words: &mut impl Write, notes: &Notes) -> io::Result<()> {
    for damage in &notes.damage {
        writeln!(words, "     damaged: {}", visible(&damage.to_string()))?;
    }
    let untold = notes.damage_count.saturating_sub(notes.damage.len() as u64);
    if untold > 0 {
        writeln!(words, "     damaged: {untold} more faults")?;
    }
    for remark in &notes.remarks {
        writeln!(words, "     {}", visible(remark))?;
    }
    Ok(())
}

/// The faults and remarks of a log that was read, on standard error, if there are any.
pub(crate) fn say_damage(path: &Path, notes: &Notes) -> io::Result<()> {
    let mut words = border::stderr();
    if notes.damage_count > 0 || !notes.remarks.is_empty() {
        writeln!(words, "in   {}", shown(path))?;
    }
    say_notes(&mut words, notes)
}

/// The faults and remarks of each of some logs that were opened as one, and which of two is taken where both
/// have a counter.
pub(crate) fn say_notes_of(log: &Log) -> io::Result<()> {
    for part in log.parts() {
        say_damage(part.path(), &part.summary().notes)?;
    }
    for Overlap { taken, other, counters, first, last } in log.overlaps() {
        let clock = &log.summary().clock;
        let (first, last) = (clock.text(*first), clock.text(*last));
        let (taken, other) = (shown(taken), shown(other));
        let words =
            format!("counters in {taken} and {other}: {counters}, taken from {taken} from {first} to {last}");
        writeln!(border::stderr(), "{words}")?;
    }
    Ok(())
}

fn range(first: Option<FileTime>, last: Option<FileTime>, text: impl Fn(FileTime) -> String) -> String {
    match first.zip(last) {
        Some((first, last)) => format!(", {} to {}", text(first), text(last)),
        None => String::new(),
    }
}
