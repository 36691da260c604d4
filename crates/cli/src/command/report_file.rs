//! `tally report`: performance logs as one HTML file, a picture or Markdown.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use tallymon::log::new_file::write_file;
use tallymon_serve::{Report as Content, ReportError, ReportOptions, report};

use super::analyze::logs_of;
use super::analyze::text::Tongue;
use super::relog::{ended, reading};
use super::report_markdown;
use crate::arguments::parse::{file_of, interval};
use crate::arguments::{Common, Reading, Replacing};
use crate::border;
use crate::exit::{Failure, Kind};
use crate::output::refuse_input;
use crate::paths;
use crate::progress::Progress;
use crate::stop::without_half_files;
use crate::usual_counters;
use crate::words::say;

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// Performance logs of any format; several share one time axis. Without one: the logs of the session that
    /// records now.
    #[arg(value_name = "LOG")]
    logs: Vec<PathBuf>,
    /// Report the logs of this session, also while it records.
    #[arg(long, value_name = "NAME", conflicts_with = "logs")]
    session: Option<String>,
    /// Report the last part of the logs only, such as 30m.
    #[arg(long, value_parser = interval, value_name = "TIME")]
    last: Option<Duration>,
    /// Compare with a log from before: it is drawn into the charts, both with their begin on the left, and
    /// the report says what became worse or better. Repeat it if that has several files.
    #[arg(long, value_name = "LOG")]
    against: Vec<PathBuf>,
    /// The file to write. An HTML file needs no server and no network, and can be mailed. Without --md and
    /// --svg, its ending .md or .svg says the form. Without a file, --md and --svg are written to standard
    /// output, and with - all three.
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    #[arg(required_unless_present_any = ["md", "svg"])]
    output: Option<PathBuf>,
    /// Write Markdown: what the logs are, findings and statistics, without charts.
    #[arg(long, help_heading = "Output", conflicts_with = "svg")]
    md: bool,
    /// Write one SVG picture: a chart with its legend for each object.
    #[arg(long, help_heading = "Output")]
    svg: bool,
    /// Counters to show, with wildcards; repeat it for more. The default: those of processors, memory, disks
    /// and network, or the first of each object.
    #[arg(long = "counter", short, value_name = "PATH")]
    counters: Vec<String>,
    #[command(flatten)]
    replacing: Replacing,
    #[command(flatten)]
    reading: Reading,
}

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Html,
    Markdown,
    Picture,
}

impl Report {
    /// The form by the options, else by the ending of the file.
    fn form(&self) -> Result<Form, Failure> {
        if self.md {
            return Ok(Form::Markdown);
        }
        if self.svg {
            return Ok(Form::Picture);
        }
        let ending = file_of(self.output.as_ref()).and_then(Path::extension);
        match ending.map(|ending| ending.to_string_lossy().to_lowercase()).as_deref() {
            Some("md" | "markdown") => Ok(Form::Markdown),
            Some("svg") => Ok(Form::Picture),
            Some("pdf") => {
                let words = "a browser makes the PDF of a report: write x.html, and then 'chromium \
                             --headless --no-pdf-header-footer --print-to-pdf=x.pdf x.html', or print it \
                             from any browser";
                Err(Failure::new(Kind::Usage, words))
            }
            _ => Ok(Form::Html),
        }
    }
}

pub(crate) fn run(common: &Common, wanted: &Report) -> Result<(), Failure> {
    let form = wanted.form()?;
    let logs = logs_of(&wanted.logs, wanted.session.as_deref())?;
    let all: Vec<&PathBuf> = logs.iter().chain(&wanted.against).collect();
    let file = file_of(wanted.output.as_ref());
    if let Some(output) = file {
        refuse_input(output, &all)?;
    }
    let options = ReportOptions {
        logs: logs.clone(),
        against: wanted.against.clone(),
        last: wanted.last,
        paths: wanted.counters.clone(),
        usual: usual_counters::REPORT.iter().map(|path| (*path).to_string()).collect(),
        reading: reading(&wanted.reading)?,
        locale: paths::locale(common)?,
    };
    let language = options.locale.language;
    // The logs are read for their columns, for findings, for values, and for gaps.
    let progress = Progress::of(&options.reading.bytes_read, &all, 4);
    let mut made = report(&options).map_err(failure)?;
    let bytes = match form {
        Form::Html => made.html().map_err(failure)?.into_bytes(),
        Form::Picture => made.svg().into_bytes(),
        Form::Markdown => markdown(&mut made, Tongue::of(language))?,
    };
    drop(progress);
    without_half_files()?;
    match file {
        Some(file) => write_file(file, wanted.replacing.overwrite(), &bytes)
            .map_err(|error| Failure::file(file, &error))?,
        None => border::stdout().write_all(&bytes)?,
    }
    if made.left_out > 0 {
        let words = "counters were left out of the report; choose with --counter";
        say(format_args!("{} {words}", made.left_out));
    }
    made.not_found.iter().for_each(say);
    ended(false, &made.not_found)
}

fn failure(error: ReportError) -> Failure {
    match error {
        ReportError::Log(error) => Failure::from(error),
        other => Failure::new(Kind::NotFound, other),
    }
}

fn markdown(made: &mut Content, tongue: Tongue) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    report_markdown::write(&mut text, made, tongue)?;
    Ok(text)
}
