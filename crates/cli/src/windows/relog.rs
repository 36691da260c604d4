//! `relog`: copies performance logs into another format, with the options and words of Windows.

use std::io::{self, IsTerminal, Write};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use tallymon::core::time::FileTime;
use tallymon::log::new_file::{Overwrite, is_same_file, write_file};
use tallymon::log::relog::{Options, relog};
use tallymon::log::zone::add_minutes;
use tallymon::log::{Format, LogClock, info};

use super::completed;
use super::words::{Known, Takes, Words, log_file};
use crate::arguments::{Choice, TimeChoice};
use crate::border;
use crate::command::relog::selection;
use crate::exit::{Failure, Kind};
use crate::progress::Progress;
use crate::stop::without_half_files;
use crate::words::shown;
use crate::words::{note, visible};

const USAGE: &str = "\
relog FILE... [OPTIONS]

  FILE...            logs to read, of any format
  -o FILE            log to write
  -f CSV|TSV|BIN|SQL its format, BIN by default; SQL is a SQLite database
  -a                 append to a binary log
  -c PATH...         keep these counters only
  -cf FILE           those of a file, one a line
  -t N               keep every N-th record
  -b TIME, -e TIME   keep records from and up to a time by the log's own clock, M/d/yyyy h:mm:ss[AM|PM];
                     also 2026-11-21T08:30Z, '2026-11-21 17:30+09:00', or -2h before the end of the log
  -q                 list the counters of the logs
  -config FILE       read options from a file
  -y                 replace a file without asking
Options begin with - or /.";

const KNOWN: &[Known] = &[
    Known { name: "a", takes: Takes::Nothing },
    Known { name: "b", takes: Takes::One },
    Known { name: "c", takes: Takes::Many },
    Known { name: "cf", takes: Takes::One },
    Known { name: "config", takes: Takes::One },
    Known { name: "e", takes: Takes::One },
    Known { name: "f", takes: Takes::One },
    Known { name: "o", takes: Takes::One },
    Known { name: "q", takes: Takes::Nothing },
    Known { name: "t", takes: Takes::One },
    Known { name: "y", takes: Takes::Nothing },
    Known { name: "?", takes: Takes::Nothing },
];

pub(super) fn run(line: &[String]) -> Result<(), Failure> {
    let words = Words::parse("relog", KNOWN, line)?;
    if words.has("?") {
        writeln!(border::stdout(), "{USAGE}")?;
        return Ok(());
    }
    if words.names.is_empty() {
        return Err(Failure::new(Kind::Usage, format_args!("no log to read was given\n{USAGE}")));
    }
    let inputs = words.names.iter().map(|name| log_file(name).map(Path::to_path_buf));
    let mut inputs = inputs.collect::<Result<Vec<PathBuf>, Failure>>()?;
    let mut options = options(&words)?;
    if words.has("q") {
        list(&inputs, words.output()?, &options, words.has("y"))?;
        completed();
        return Ok(());
    }
    let Some(output) = words.output()? else {
        // Windows says what is in the logs and writes nothing.
        return described(&inputs, &options);
    };
    if words.has("a") {
        if options.format != Format::Blg {
            return Err(Failure::new(Kind::Usage, "-a: only a binary log can be appended to; leave -f out"));
        }
        if output.exists() {
            if let Some(input) = inputs.iter().find(|input| is_same_file(input, output)) {
                let words = format!("{}: a log cannot be appended to itself", input.display());
                return Err(Failure::new(Kind::Usage, words));
            }
            inputs.insert(0, output.to_path_buf());
        }
        options.overwrite = Overwrite::Continue;
    } else {
        options.overwrite = may_replace(output, words.has("y"))?;
    }
    options.every = words.parsed("t", every)?.unwrap_or(NonZeroU32::MIN);
    let progress = Progress::of(&options.read.bytes_read, &inputs, 2);
    without_half_files()?;
    let report = relog(&inputs, output, &options)?;
    drop(progress);
    let mut out = border::stdout();
    writeln!(out, "\nInput\n----------------\nFile(s):")?;
    for input in &report.inputs {
        writeln!(out, "     {} ({})", shown(&input.path), kind(input.format))?;
    }
    let samples = report.inputs.iter().map(|input| input.records).sum();
    let first = report.inputs.iter().filter_map(|input| input.first).min();
    let last = report.inputs.iter().filter_map(|input| input.last).max();
    let mut clock = LogClock::default();
    report.inputs.iter().for_each(|input| clock.add(&input.clock));
    range(&mut out, first, last, samples, &clock)?;
    writeln!(out, "\n100.00%\n\nOutput\n----------------\nFile:     {}", shown(output))?;
    range(&mut out, report.first, report.last, report.records, &clock)?;
    writeln!(out)?;
    for path in &report.not_found {
        note(format_args!("Warning: not in the logs: {path}"));
    }
    for words in &report.remarks {
        note(format_args!("Warning: {words}"));
    }
    completed();
    let mut damaged = false;
    for input in &report.inputs {
        crate::command::relog::say_damage(&input.path, &input.notes)?;
        damaged |= input.notes.damage_count > 0;
    }
    if damaged { Err(Failure::silent(Kind::BadFile)) } else { Ok(()) }
}

fn options(words: &Words) -> Result<Options, Failure> {
    let name = words.one("f").unwrap_or("BIN");
    let format =
        if name.eq_ignore_ascii_case("SQL") { Format::from_name("sqlite") } else { Format::from_name(name) };
    let format = format.ok_or_else(|| {
        Failure::new(Kind::Usage, format_args!("-f {name}: no such format; there are CSV, TSV, BIN and SQL"))
    })?;
    let choice = Choice {
        counter: words.counters(&[])?,
        range: TimeChoice { from: words.one("b").map(str::to_owned), to: words.one("e").map(str::to_owned) },
        cap: false,
    };
    Ok(Options { format, select: selection(&choice)?, ..Options::default() })
}

fn every(text: &str) -> Result<NonZeroU32, String> {
    text.parse().map_err(|_| format!("{text:?} is not a number of records"))
}

/// The paths of all columns, as `-q` lists them.
fn list(inputs: &[PathBuf], output: Option<&Path>, options: &Options, replace: bool) -> Result<(), Failure> {
    let mut text = String::new();
    for input in inputs {
        for path in info(input, &options.read)?.columns {
            // A line is a path, so a path has no line end.
            text.push_str(&visible(&path));
            text.push('\n');
        }
    }
    match output {
        Some(file) => save_as(file, replace, text.as_bytes()),
        None => Ok(border::data().write_all(text.as_bytes())?),
    }
}

/// What is in the logs.
fn described(inputs: &[PathBuf], options: &Options) -> Result<(), Failure> {
    let mut out = border::stdout();
    writeln!(out, "\nInput\n----------------\nFile(s):")?;
    let mut infos = Vec::new();
    for input in inputs {
        let info = info(input, &options.read)?;
        writeln!(out, "     {} ({})", shown(input), kind(info.format))?;
        infos.push(info);
    }
    let first = infos.iter().filter_map(|info| info.first).min();
    let last = infos.iter().filter_map(|info| info.last).max();
    let mut clock = LogClock::default();
    infos.iter().for_each(|info| clock.add(&info.clock));
    range(&mut out, first, last, infos.iter().map(|info| info.records).sum(), &clock)?;
    writeln!(out)?;
    completed();
    Ok(())
}

fn kind(format: Format) -> String {
    if format == Format::Blg { "Binary".to_owned() } else { format.info().name.to_uppercase() }
}

fn range(
    out: &mut impl Write,
    first: Option<FileTime>,
    last: Option<FileTime>,
    samples: u64,
    clock: &LogClock,
) -> io::Result<()> {
    let local = |time: FileTime| {
        let at = add_minutes(time, clock.minutes(time)).system_time();
        format!("{}/{}/{} {}:{:02}:{:02}", at.month, at.day, at.year, at.hour, at.minute, at.second)
    };
    let shown = |time: Option<FileTime>| time.map(local).unwrap_or_default();
    writeln!(out, "\nBegin:    {}\nEnd:      {}\nSamples:  {samples}", shown(first), shown(last))
}

/// Asks before a file is replaced; without a terminal to ask, only `-y` allows it.
pub(super) fn may_replace(file: &Path, yes: bool) -> Result<Overwrite, Failure> {
    if yes {
        return Ok(Overwrite::Replace);
    }
    if !file.is_file() {
        return Ok(Overwrite::Never);
    }
    let refused =
        |why: &str| Err(Failure::new(Kind::Other, format_args!("{} exists already{why}", file.display())));
    if !io::stdin().is_terminal() {
        return refused("; -y replaces it");
    }
    write!(crate::border::stderr(), "{} exists already. Replace it? [y/n] ", file.display())?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    if answer.trim().eq_ignore_ascii_case("y") { Ok(Overwrite::Replace) } else { refused("") }
}

/// Writes a file, and asks before it replaces one, see [`may_replace`].
pub(super) fn save_as(file: &Path, yes: bool, bytes: &[u8]) -> Result<(), Failure> {
    let overwrite = may_replace(file, yes)?;
    write_file(file, overwrite, bytes).map_err(|error| Failure::file(file, &error))
}
