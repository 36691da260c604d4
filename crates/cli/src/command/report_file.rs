//! `tally report`: performance logs as one HTML file.

use std::path::PathBuf;

use clap::Args;
use tallymon::log::new_file::write_file;
use tallymon_serve::{ReportError, ReportOptions, report};

use super::relog::{ended, reading};
use super::report::DEFAULT_COUNTERS;
use crate::arguments::{Common, Reading, Replacing};
use crate::exit::{Failure, Kind};
use crate::output::refuse_input;
use crate::paths;
use crate::progress::Progress;
use crate::stop::without_half_files;
use crate::words::say;

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// Performance logs of any format; several share one time axis.
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,
    /// The HTML file to write. It needs no server and no network, and can be mailed.
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: PathBuf,
    /// Counters to show, with wildcards; repeat it for more. The default: those of processors, memory, disks
    /// and network, or the first of each object.
    #[arg(long = "counter", short, value_name = "PATH")]
    counters: Vec<String>,
    #[command(flatten)]
    replacing: Replacing,
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(common: &Common, wanted: &Report) -> Result<(), Failure> {
    refuse_input(&wanted.output, &wanted.logs)?;
    let options = ReportOptions {
        logs: wanted.logs.clone(),
        paths: wanted.counters.clone(),
        usual: DEFAULT_COUNTERS.iter().map(|path| (*path).to_string()).collect(),
        reading: reading(&wanted.reading)?,
        locale: paths::locale(common)?,
    };
    // The logs are read for their columns, for findings, and for values.
    let progress = Progress::of(&options.reading.bytes_read, &wanted.logs, 3);
    let made = report(&options).map_err(|error| match error {
        ReportError::Log(error) => Failure::from(error),
        other => Failure::new(Kind::NotFound, other),
    })?;
    drop(progress);
    without_half_files()?;
    let file = &wanted.output;
    write_file(file, wanted.replacing.overwrite(), made.html.as_bytes())
        .map_err(|error| Failure::file(file, &error))?;
    if made.left_out > 0 {
        let words = "counters were left out of the report; choose with --counter";
        say(format_args!("{} {words}", made.left_out));
    }
    made.not_found.iter().for_each(say);
    ended(false, &made.not_found)
}
