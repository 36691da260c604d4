//! Recording several hosts until stopped: `tally watch --output` with several hosts.

use std::path::{Path, PathBuf};

use tallymon::HostReadings;
use tallymon::RowValues;
use tallymon::clock::now;
use tallymon::log::Format;
use tallymon::log::new_file::NewFile;
use tallymon::record::create_text;
use tallymon::record::many_hosts::{HostChange, HostsRecorder};
use tallymon::record::session::SessionSettings;
use tallymon::remote::rough_time;

use crate::arguments::{Common, Form, Watch};
use crate::exit::{Failure, Kind};
use crate::hosts::with_pauses;
use crate::output::Rows;
use crate::paths;
use crate::recording::{Pace, RawFile, say_records};
use crate::session::hosts::{check_answers, choose};
use crate::stop::{Stop, Ticks};
use crate::words::say;

/// Records raw values of several hosts into a native log, which is converted to another format at the end. A
/// records have no values of a host until it answers.
pub(crate) fn record(
    common: &Common,
    watch: &Watch,
    (output, format): (&Path, Format),
    pace: Pace,
) -> Result<(), Failure> {
    if watch.fleet.is_used() {
        let words = "this file has the hosts themselves: leave out --fleet and --top-hosts, and 'tally watch \
                     --log FILE PATH --fleet mean' computes from it; CSV and TSV files have columns for them";
        return Err(Failure::new(Kind::Usage, words));
    }
    let mut settings = SessionSettings {
        interval: pace.interval,
        instances: common.instances,
        ..SessionSettings::new("watch", PathBuf::new())
    };
    choose(common, &mut settings, &watch.paths)?;
    let mut named = check_answers(common, &settings)?;
    let (own, bad_path) = match settings.counters.is_empty() {
        true => (None, None),
        false => {
            let mut query = paths::query_at(common, &paths::here(common)?)?;
            let (_, bad_path) = paths::add_good(&mut query, &settings.counters)?;
            (Some(query), bad_path)
        }
    };
    let (file, recorder) = RawFile::begin((output, watch.replacing.overwrite()), format)?;
    let stop = Stop::on_signals()?;
    let mut recorder = HostsRecorder::start(
        recorder,
        (settings.hosts, own),
        (settings.timeout, settings.instances),
        pace.interval,
    )
    .map_err(|words| Failure::new(Kind::Other, words))?;
    let mut ticks = Ticks::start(pace.interval);
    let ended = loop {
        if let Err(error) = recorder.record() {
            break Err(Failure::from(error));
        }
        named.retain(|host| !recorder.has_answered(host));
        recorder.changes().iter().for_each(|change| say_change(change, &mut named));
        let enough = pace.most.is_some_and(|most| recorder.records() >= most);
        if enough || !stop.wait_until(ticks.next()) {
            break Ok(());
        }
    };
    let (recorder, failing) = recorder.end();
    let records = file.end(recorder, ended)?;
    say_records(output, records);
    match failing {
        0 => bad_path.map_or(Ok(()), Err),
        // Each was named when it failed.
        _ => Err(Failure::silent(Kind::NotFound)),
    }
}

/// Says what changed of a host. What is wrong with the hosts of `named` was said before.
fn say_change(change: &HostChange, named: &mut Vec<String>) {
    match change {
        HostChange::Failed(host, why) => {
            if let Some(at) = named.iter().position(|name| name == host) {
                named.remove(at);
                return;
            }
            say(format_args!("{host}: {}", with_pauses(why)));
        }
        HostChange::Answers(host, time) => {
            named.retain(|name| name != host);
            say(format_args!("{host} answers again, after {}", rough_time(*time)));
        }
    }
}

/// Values of several hosts in a text log, row by row: the file is complete at any time, but has the columns
/// of its first row.
pub(crate) struct HostsFile {
    path: PathBuf,
    rows: Rows<'static>,
    begun: Option<NewFile>,
    done: u64,
}

impl HostsFile {
    /// Begins the file that the options name. An old one of that name stays until the first row.
    pub(crate) fn create(watch: &Watch, output: &Path, form: Form) -> Result<HostsFile, Failure> {
        let failed = |error| Failure::file(output, &error);
        let begun = create_text(output, watch.replacing.overwrite())?;
        let file = begun.file().map_err(failed)?;
        let rows = Rows::new(file, form, "", true).without_formulas(watch.format.no_formulas);
        Ok(HostsFile { path: output.to_path_buf(), rows, begun: Some(begun), done: 0 })
    }

    /// Writes a row.
    pub(crate) fn row(&mut self, hosts: &[HostReadings]) -> Result<(), Failure> {
        let failed = |error| Failure::file(&self.path, &error);
        self.rows.row(now(), RowValues::Hosts(hosts)).map_err(failed)?;
        // From its first row on it is a log.
        self.begun.take().map_or(Ok(()), NewFile::keep).map_err(failed)?;
        self.done = self.done.saturating_add(1);
        Ok(())
    }

    /// Says that a host has no columns.
    pub(crate) fn say_missing(host: &str) {
        say(format_args!(
            "{host}: not in this file, whose columns are those of its first row; other formats take hosts \
             that answer later"
        ));
    }

    /// Says how much was written.
    pub(crate) fn say_records(&self) {
        if self.done > 0 {
            say_records(&self.path, self.done);
        }
    }
}
