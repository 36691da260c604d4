//! `tally mon`, and `tally` without a command on a terminal: the monitor.

mod several;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tallymon::clock::LocalZone;
use tallymon::core::flow::{SourceError, SourceErrorKind};
use tallymon::core::path::CounterPath;
use tallymon::core::time::FileTime;
use tallymon::core::title::TitleIndex;
use tallymon::log::ReadOptions;
use tallymon::registry::Roots;
use tallymon::{Definitions, Locale, Location, Log, Query, Sampler};
use tallymon_monitor::model::overview::{OverviewLook, Pane};
use tallymon_monitor::settings::{EXTENSION, Settings};
use tallymon_monitor::{LocalTime, Options, meant_of_log, usual_of_log};

use super::relog::{in_range, reading};
use crate::arguments::{Common, Mon};
use crate::exit::{Failure, Kind};
use crate::hosts;
use crate::log_hosts::moment_of;
use crate::paths;
use crate::progress::open_logs;
use crate::session::stored::StoredSessions;
use crate::stop;
use crate::usual_counters;
use crate::words::say;

/// The longest time that a source may take to list its objects before the screen opens.
const OPENING: Duration = Duration::from_secs(10);

/// Runs the monitor with the overview of processors and processes only, as `top` shows them.
pub(crate) fn processes(common: &Common, wanted: &Mon) -> Result<(), Failure> {
    // One machine is meant here.
    paths::location(common)?;
    let look = OverviewLook { panes: vec![Pane::Processors, Pane::Processes], ..OverviewLook::default() };
    let counters = vec![r"\Processor(_Total)\% Processor Time".to_string()];
    let settings = Settings {
        counters,
        view: Some("overview".to_string()),
        overview: Some(look),
        ..Settings::default()
    };
    run_with(common, wanted, &wanted.paths, Some(settings))
}

/// Runs the monitor until the user quits.
pub(crate) fn run(common: &Common, wanted: &Mon) -> Result<(), Failure> {
    let opened =
        |settings: Result<Settings, String>| settings.map_err(|error| Failure::new(Kind::BadFile, error));
    let settings = wanted.settings.as_deref().map(Settings::open).map(opened).transpose()?;
    if settings.is_none()
        && let Some(at) = wanted.paths.iter().position(|word| is_settings(Path::new(word)))
    {
        // A settings file among the words is one, without its option.
        let mut words = wanted.paths.clone();
        let file = words.remove(at);
        return run_with(common, wanted, &words, Some(opened(Settings::open(Path::new(&file)))?));
    }
    run_with(common, wanted, &wanted.paths, settings)
}

/// Whether a file has settings: by its ending, or because it is not a log and has counters.
fn is_settings(file: &Path) -> bool {
    if !file.is_file() {
        return false;
    }
    file.extension().is_some_and(|end| end.eq_ignore_ascii_case(EXTENSION))
        || (tallymon::log::open(file, &ReadOptions::default()).is_err()
            && Settings::open(file).is_ok_and(|settings| !settings.counters.is_empty()))
}

/// `words` are counters and logs.
fn run_with(
    common: &Common,
    wanted: &Mon,
    words: &[String],
    settings: Option<Settings>,
) -> Result<(), Failure> {
    if !io::stdout().is_terminal() {
        let words = "the monitor needs a terminal; 'tally get' and 'tally watch' print values without one";
        return Err(Failure::new(Kind::Usage, words));
    }
    if let Some(settings) = settings.as_ref().filter(|settings| !settings.left_out.is_empty()) {
        say(format_args!("left out of the view: {}", settings.left_out.join(", ")));
    }
    let mut locale = paths::locale(common)?;
    if let (None, Some(names)) = (common.name_form, settings.as_ref().and_then(|settings| settings.names)) {
        locale.names = names;
    }
    let (logs, chosen) = logs_and_paths(wanted, words);
    if logs.is_empty() {
        // A log has the names with process ids in its columns.
        locale.instances = wanted.naming.live();
    }
    if !logs.is_empty() && common.file.is_some() {
        return Err(Failure::new(Kind::Usage, "--file and logs cannot be combined; leave out one of them"));
    }
    let is_log = !logs.is_empty();
    let machines = if is_log { Vec::new() } else { hosts::of_paths(common, &chosen)? };
    let has_machines = several::is_wanted(&machines);
    if wanted.fleet.is_used() && !has_machines {
        let words = "--fleet and --top-hosts need several live hosts: name them with --host";
        return Err(Failure::new(Kind::Usage, words));
    }
    let read = ReadOptions { processes: wanted.naming.of_log(), ..reading(&wanted.reading)? };
    let log = is_log.then(|| open_logs(&logs, &read)).transpose()?;
    let (mut query, mut options) = match log.clone() {
        Some(log) => {
            let open = move || Query::new(Box::new(log.source()), locale);
            (open()?, Options::new(open))
        }
        None if several::is_wanted(&machines) => several::open(machines, locale, wanted.fleet.fleet())?,
        None => {
            let of_settings = settings.iter().flat_map(|settings| settings.counters.iter());
            let named = repaired(chosen.clone()).into_iter().chain(of_settings.cloned()).collect();
            live(paths::location(common)?, locale, named)?
        }
    };
    show_times(wanted, log.as_ref(), &mut options)?;
    let stop = stop::with_full_screen()?;
    if !has_machines && (settings.is_none() || !chosen.is_empty()) {
        options.paths = match (&log, chosen.is_empty()) {
            (Some(log), false) => meant_of_log(log, locale, &repaired(chosen.clone()))?,
            (None, false) => repaired(chosen.clone()),
            (Some(log), true) => usual_of_log(log, locale, usual_counters::CHART)?,
            (None, true) => defaults(&mut query),
        };
    }
    if has_machines && settings.is_some() && chosen.is_empty() {
        options.paths.clear();
    }
    // Counters or settings of the user's own are shown in the chart, and so is a log without a whole machine.
    let has_choice = settings.is_some() || !chosen.is_empty() || wanted.chart;
    options.overview = !has_choice && (has_machines || is_whole_machine(&query));
    let is_here = common.is_of_this_machine() && !is_log && !has_machines;
    if is_here {
        options.processes = tallymon::Host::processes();
        options.addresses = Some(tallymon::Host::interface_addresses);
        options.processor = tallymon::Host::processor_name();
    }
    options.settings = settings;
    options.log = log;
    // A saved block or a log may come from another machine, so this machine's registry does not apply.
    options.registry = is_here.then(Roots::of_environment);
    // Without a folder for sessions the monitor shows none.
    options.sessions = StoredSessions::of_environment(common);
    options.reading = read;
    options.top = !wanted.no_top;
    if let Some(memory) = wanted.memory {
        options.budget = usize::from(memory).saturating_mul(1 << 20);
    }
    if let Some(glyphs) = wanted.glyphs {
        options.glyphs = glyphs;
    }
    if let Some(interval) = wanted.interval {
        options.interval = interval;
    }
    options.stop = stop;
    let zone = LocalZone::system();
    options.local = Box::new(move |time| local(time, &zone));
    Ok(tallymon_monitor::run(query, options)?)
}

/// A live machine, with the objects that some paths name.
fn live(location: Location, locale: Locale, named: Vec<String>) -> Result<(Query, Options), Failure> {
    let sampler = Sampler::start(move || tallymon::open(&location))?;
    let info = sampler.info(locale, Definitions::OfPaths(named)).wait(OPENING);
    let info = info.unwrap_or_else(|| Err(no_answer()))?;
    Ok((Query::over(info), Options::live(sampler)))
}

/// Has the chart begin with the times of a log that the options choose.
fn show_times(wanted: &Mon, log: Option<&Log>, options: &mut Options) -> Result<(), Failure> {
    wanted.range.needs_log(log.is_some())?;
    wanted.time.needs_log(log.is_some())?;
    let Some(log) = log else { return Ok(()) };
    let clock = &log.summary().clock;
    let range = in_range(&wanted.range)?.range(clock);
    if let Some((first, last)) = clock.range().filter(|_| range.is_limited()) {
        let shown = (range.from.unwrap_or(first), range.to.unwrap_or(last));
        if shown.0 > last || shown.1 < first || shown.0 > shown.1 {
            return Err(clock.no_records(range).in_file(log.path()).into());
        }
        options.range = Some(shown);
    }
    options.at = wanted.time.at.as_deref().map(|at| moment_of(at, clock)).transpose()?;
    Ok(())
}

/// Whether a source has what an overview of a machine needs: processors, memory and processes.
fn is_whole_machine(query: &Query) -> bool {
    const NEEDED: [TitleIndex; 3] = [TitleIndex(238), TitleIndex(4), TitleIndex(230)];
    NEEDED.iter().all(|object| query.catalog().object(*object).is_some())
}

fn no_answer() -> SourceError {
    let words = format!("the source has not answered for {} s", OPENING.as_secs());
    SourceError::new(SourceErrorKind::Unreachable, words)
}

/// The default counters whose objects this source has.
fn defaults(query: &mut Query) -> Vec<String> {
    let mut object = |path: &str| {
        let parsed = CounterPath::parse(path).ok()?;
        query.object(path, &parsed.path.object).ok()
    };
    usual_counters::CHART.iter().copied().filter(|path| object(path).is_some()).map(str::to_string).collect()
}

/// Splits the arguments into logs and counter paths. Logs are those of `--log`, then the other files.
fn logs_and_paths(wanted: &Mon, words: &[String]) -> (Vec<PathBuf>, Vec<String>) {
    // A word that is neither a file nor a counter path is taken as a log, so that the error names a missing
    // log.
    let is_log = |word: &&String| {
        Path::new(word).is_file() || !word.starts_with(['\\', '/']) && CounterPath::parse(word).is_err()
    };
    let (logs, paths): (Vec<&String>, Vec<&String>) = words.iter().partition(is_log);
    let logs = wanted.log.iter().cloned().chain(logs.into_iter().map(PathBuf::from));
    (logs.collect(), paths.into_iter().cloned().collect())
}

/// Reports paths that the parser repaired, because a shell had removed a backslash.
fn repaired(paths: Vec<String>) -> Vec<String> {
    for path in &paths {
        if let Ok(parsed) = CounterPath::parse(path)
            && let Some(repair) = parsed.repaired
        {
            say(format_args!("{path}: {repair}"));
        }
    }
    paths
}

fn local(time: FileTime, zone: &LocalZone) -> LocalTime {
    let local = zone.at(time);
    // UTC = local time + bias, in minutes.
    LocalTime { time: local.time, zone: local.zone, bias: -local.minutes }
}
