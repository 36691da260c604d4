//! Rows of values in every form: a table for people, PDH-CSV, PDH-TSV, JSON lines, values only.

use std::cell::OnceCell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tallymon::clock::LocalZone;
use tallymon::core::counter::TextStyle;
use tallymon::core::flow::Sink;
use tallymon::core::time::FileTime;
use tallymon::log::csv::{CsvOptions, CsvWriter};
use tallymon::log::json::JsonSink;
pub(crate) use tallymon::log::json::json_value;
use tallymon::log::new_file::{is_same_file, write_file};
use tallymon::log::{LogClock, LogError, LogErrorKind};
use tallymon::{LiveRows, Replaced, RowValues};

use crate::arguments::parse::file_of;
use crate::arguments::{Form, FormatOptions, Replacing};
use crate::border;
use crate::exit::Failure;
use crate::stop::without_half_files;
use crate::words::say;

mod lines;
mod plain;
mod table;

pub(crate) use lines::LineOptions;
use plain::PlainLines;
use table::Table;

/// Writes a file for the user, whole or not at all.
pub(crate) fn save(file: &Path, replacing: Replacing, bytes: &[u8]) -> Result<(), Failure> {
    without_half_files()?;
    write_file(file, replacing.overwrite(), bytes).map_err(|error| Failure::file(file, &error))
}

/// Writes a file for the user, or the bytes as they are to standard output when no file or `-` is named.
pub(crate) fn save_or_print(
    file: Option<&PathBuf>,
    replacing: Replacing,
    bytes: &[u8],
) -> Result<(), Failure> {
    match file_of(file) {
        Some(file) => save(file, replacing, bytes),
        None => Ok(border::data().write_all(bytes)?),
    }
}

/// Refuses an output that is one of the files that are read for it, also through links: `--force` means
/// another old file.
pub(crate) fn refuse_input(output: &Path, inputs: &[impl AsRef<Path>]) -> Result<(), Failure> {
    let Some(input) = inputs.iter().find(|input| is_same_file(input.as_ref(), output)) else { return Ok(()) };
    let kind = LogErrorKind::OutputIsInput(input.as_ref().to_path_buf());
    Err(LogError::new(kind).in_file(output).into())
}

/// Writes rows of live values in one form. CSV and TSV keep the columns of the first row; the other forms
/// follow the instances that exist.
pub(crate) struct Rows<'w> {
    rows: LiveRows,
    sink: Output<'w>,
    host: String,
    form: Form,
    style: TextStyle,
    with_time: bool,
    with_errors: bool,
    no_formulas: bool,
    /// A table has a line for each sample, if this says how.
    lines: Option<LineOptions>,
    /// Loaded when a local time is first needed: that reads a folder of hundreds of zones.
    zone: OnceCell<LocalZone>,
    /// The clock of the log that the rows are from.
    clock: Option<LogClock>,
    /// It was said that names of a wildcard are those of other processes by now.
    said_replaced: bool,
}

enum Output<'w> {
    /// The sink is created with the first row: the first line of a CSV has the zone of its first row.
    New(Option<Box<dyn Write + 'w>>),
    Open(Box<dyn Sink<Error = io::Error> + 'w>),
}

impl Rows<'_> {
    /// Rows on standard output, as the options say.
    pub(crate) fn to_stdout(options: &FormatOptions, host: &str, with_time: bool) -> Rows<'static> {
        let form = options.form();
        Rows::new(border::rows(form), form, host, with_time).without_formulas(options.no_formulas)
    }
}

impl<'w> Rows<'w> {
    /// `host` is the host of paths that name none. `with_time` writes the time before every row of a table.
    pub(crate) fn new(out: impl Write + 'w, form: Form, host: &str, with_time: bool) -> Rows<'w> {
        let rows = match form {
            Form::Csv | Form::Tsv => LiveRows::fixed(host),
            Form::Json => LiveRows::changing(host).with_errors(true),
            Form::Table | Form::Plain => LiveRows::changing(host),
        };
        Rows {
            rows,
            sink: Output::New(Some(Box::new(out))),
            host: host.to_string(),
            form,
            style: TextStyle::default(),
            with_time,
            with_errors: false,
            no_formulas: false,
            lines: None,
            zone: OnceCell::new(),
            clock: None,
            said_replaced: false,
        }
    }

    /// Shows local times by the clock of a log.
    pub(crate) fn with_clock(mut self, clock: LogClock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Shows in a table how far rates and shares may be off.
    pub(crate) fn with_errors(mut self, with_errors: bool) -> Self {
        if self.form == Form::Table {
            self.rows = self.rows.with_errors(with_errors);
        }
        self.with_errors = with_errors;
        self
    }

    /// In CSV and TSV, puts `'` before text that a spreadsheet would take for a formula.
    pub(crate) const fn without_formulas(mut self, no_formulas: bool) -> Self {
        self.no_formulas = no_formulas;
        self
    }

    /// Prints tables with a line for each sample, on standard output.
    pub(crate) const fn with_lines(mut self, lines: Option<LineOptions>) -> Self {
        self.lines = lines;
        self
    }

    /// Writes a CSV or TSV as `typeperf` does on the console: no time zone, six decimals.
    pub(crate) fn for_console(mut self) -> Self {
        self.style = TextStyle::Console;
        self
    }

    /// Writes one row.
    ///
    /// A table is for people and has the paths in their language; the other forms are for programs and have
    /// them in English.
    pub(crate) fn row<'v>(&mut self, time: FileTime, values: impl Into<RowValues<'v>>) -> io::Result<()> {
        let needs_local = matches!(self.form, Form::Csv | Form::Tsv | Form::Json) || self.with_time;
        let minutes = match &self.clock {
            _ if !needs_local => 0,
            Some(clock) => clock.minutes(time),
            None => self.zone().minutes(time),
        };
        let mut sink = match std::mem::replace(&mut self.sink, Output::New(None)) {
            Output::Open(sink) => sink,
            Output::New(out) => {
                let out = out.ok_or_else(|| io::Error::other("an earlier row could not be written"))?;
                self.open(out, time, minutes)
            }
        };
        self.rows.write(time, minutes, values, &mut sink)?;
        self.sink = Output::Open(sink);
        for replaced in self.rows.take_replaced() {
            self.say_replaced(&replaced);
        }
        for path in self.rows.take_late() {
            say(format_args!(
                "{path} came too late for a column; --json has it, and so have logs of other formats"
            ));
        }
        Ok(())
    }

    /// Says that a name is that of another process now. Names of a wildcard change often: that is said once.
    fn say_replaced(&mut self, replaced: &Replaced) {
        let ids =
            replaced.processes.map_or(String::new(), |(before, now)| format!(" ({now}, before {before})"));
        match (replaced.is_wild, self.form) {
            (false, _) => say(format_args!("{}: another process from here on{ids}", replaced.path)),
            (true, Form::Table | Form::Plain) if !self.said_replaced => {
                self.said_replaced = true;
                say(format_args!(
                    "{}: another process from here on{ids}; names with --instances pid stay",
                    replaced.path
                ));
            }
            (true, _) => {}
        }
    }

    fn open(
        &self,
        out: Box<dyn Write + 'w>,
        time: FileTime,
        minutes: i32,
    ) -> Box<dyn Sink<Error = io::Error> + 'w> {
        match self.form {
            Form::Csv | Form::Tsv => {
                let zone_name = self.zone_name(time);
                let (tabs, style) = (self.form == Form::Tsv, self.style);
                // UTC = local time + bias, in minutes.
                let bias = -minutes;
                let no_formulas = self.no_formulas;
                let options =
                    CsvOptions { tabs, zone_name, bias, style, no_formulas, ..CsvOptions::default() };
                Box::new(CsvWriter::new(out, options))
            }
            Form::Json => {
                let zone = self.zone_name(time);
                Box::new(JsonSink::new(out, &self.host).with_zone(&zone, -minutes))
            }
            Form::Plain => Box::new(PlainLines::new(out)),
            Form::Table => match self.lines {
                Some(lines) => Box::new(lines::Lines::new(lines)),
                None => Box::new(Table::new(out, self.with_time, self.with_errors)),
            },
        }
    }

    /// The name of the zone of a time.
    fn zone_name(&self, time: FileTime) -> String {
        match &self.clock {
            Some(clock) => clock.zone_label(time).0,
            None => self.zone().at(time).zone,
        }
    }

    fn zone(&self) -> &LocalZone {
        self.zone.get_or_init(LocalZone::system)
    }
}
