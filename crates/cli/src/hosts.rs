//! Other machines on the command line: `-H`, and hosts in paths. Several hosts are read side by side, so that
//! one that is slow or gone delays none of the others.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use tallymon::core::counter::Format;
use tallymon::core::flow::{Absence, Cell, NoValue};
use tallymon::fleet::HostTicks;
use tallymon::hosts::{HostTable, KnownHost};
use tallymon::remote::{USUAL_TIMEOUT, is_paused, rough_time};
use tallymon::{CounterHandle, HostReadings, Locale, Location, Pause, Query, Reading, open};

use crate::arguments::Common;
use crate::exit::{Failure, Kind};
use crate::missing_values::{Reasons, missing_of_host};
use crate::open_files;
use crate::paths;
use crate::words::say;

/// The hosts that `-H` names.
pub(crate) fn named(common: &Common) -> Result<Vec<KnownHost>, Failure> {
    if common.host.is_empty() {
        return Ok(Vec::new());
    }
    // An address needs no table, so a table that cannot be read is no hindrance.
    let needs_table = common.host.iter().any(|word| !word.contains("://") && !word.starts_with('@'));
    let table = if needs_table { HostTable::of_environment()? } else { HostTable::default() };
    Ok(table.resolve(&common.host)?)
}

/// Where a host is, with the deadline of the options.
pub(crate) fn remote(common: &Common, host: &KnownHost) -> Location {
    Location::Remote {
        name: host.name.clone(),
        address: host.address.clone(),
        timeout: common.timeout.unwrap_or(USUAL_TIMEOUT),
    }
}

/// A host with the paths that are meant for it.
#[derive(Debug, Clone)]
pub(crate) struct HostPaths {
    /// Its name in paths; `None` for this machine, whose name is known once it is opened.
    pub(crate) name: Option<String>,
    pub(crate) location: Location,
    pub(crate) paths: Vec<String>,
}

/// The hosts that the options and some paths name, each with its paths. Without any it is this machine.
///
/// A path with a host means that host: one of `-H`, or one of the table. A path without one means all hosts
/// of `-H`, or this machine.
pub(crate) fn of_paths(common: &Common, paths: &[String]) -> Result<Vec<HostPaths>, Failure> {
    let mut hosts = Vec::new();
    for host in named(common)? {
        hosts.push(HostPaths { location: remote(common, &host), name: Some(host.name), paths: Vec::new() });
    }
    let chosen = hosts.len();
    let mut table = None;
    for path in paths {
        let (machine, _) = split(path);
        let is_everybody = matches!(machine, None | Some("."));
        if is_everybody && chosen > 0 {
            hosts.iter_mut().take(chosen).for_each(|host| host.paths.push(path.clone()));
            continue;
        }
        let machine = machine.filter(|_| !is_everybody && common.file.is_none());
        let is = |host: &HostPaths| match (machine, &host.name) {
            (Some(machine), Some(name)) => machine.eq_ignore_ascii_case(name),
            (machine, name) => machine.is_none() && name.is_none(),
        };
        if let Some(host) = hosts.iter_mut().find(|host| is(host)) {
            host.paths.push(path.clone());
            continue;
        }
        let known = match machine.filter(|machine| !machine.eq_ignore_ascii_case("localhost")) {
            None => None,
            Some(machine) => {
                if table.is_none() {
                    table = Some(HostTable::of_environment()?);
                }
                table.as_ref().and_then(|table| table.named(machine)).cloned()
            }
        };
        let paths = vec![path.clone()];
        match known {
            Some(host) => {
                hosts.push(HostPaths { location: remote(common, &host), name: Some(host.name), paths });
            }
            // The name may be that of this machine; else its query says that it is another.
            None => match hosts.iter_mut().find(|host| host.name.is_none()) {
                Some(host) => host.paths.push(path.clone()),
                None => hosts.push(HostPaths { name: None, location: paths::here(common)?, paths }),
            },
        }
    }
    if hosts.is_empty() {
        hosts.push(HostPaths { name: None, location: paths::here(common)?, paths: Vec::new() });
    }
    Ok(hosts)
}

/// The host in a path or in the name of an object, and what follows it.
pub(crate) fn split(text: &str) -> (Option<&str>, &str) {
    let Some(rest) = text.strip_prefix("\\\\").or_else(|| text.strip_prefix("//")) else {
        return (None, text);
    };
    match rest.split_once(['\\', '/']) {
        Some((host, rest)) => (Some(host), rest),
        None => (Some(rest), ""),
    }
}

/// A host that was opened.
pub(crate) struct OpenHost {
    /// The host part of its paths.
    pub(crate) prefix: String,
    pub(crate) query: Query,
    pub(crate) paths: Vec<String>,
}

impl HostPaths {
    /// Opens it, as a query without paths.
    fn open(self, locale: Locale) -> Result<OpenHost, Failure> {
        let query = Query::new(open(&self.location)?, locale)?;
        let prefix = format!("\\\\{}", self.name.as_deref().unwrap_or(query.system_name()));
        Ok(OpenHost { prefix, query, paths: self.paths })
    }

    /// Its name for messages.
    fn label(&self) -> String {
        self.name.clone().unwrap_or_else(|| "this machine".to_string())
    }
}

/// What became of several hosts: the failure of the first, if no host was of use; a silent one, if some
/// were not.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    good: usize,
    first: Option<Failure>,
}

impl Outcome {
    pub(crate) fn good(&mut self) {
        self.good = self.good.saturating_add(1);
    }

    /// Reports a failure.
    pub(crate) fn failed(&mut self, failure: Failure) {
        if let Some(words) = &failure.message {
            say(words);
        }
        self.first.get_or_insert(Failure { message: None, ..failure });
    }

    pub(crate) fn result(self) -> Result<(), Failure> {
        match self.first {
            None => Ok(()),
            Some(_) if self.good > 0 => Err(Failure::silent(Kind::NotFound)),
            Some(first) => Err(first),
        }
    }
}

/// Does something with each host, all at the same time. The results have the order of the hosts.
pub(crate) fn side_by_side<T: Send>(
    hosts: Vec<HostPaths>,
    act: impl Fn(HostPaths) -> Result<T, Failure> + Sync,
) -> Vec<Result<T, Failure>> {
    let act = &act;
    if hosts.len() < 2 {
        return hosts.into_iter().map(act).collect();
    }
    open_files::allow_many();
    thread::scope(|scope| {
        let begin = |host: HostPaths| {
            let label = host.label();
            let thread = thread::Builder::new().name(format!("tally {label}"));
            (label, thread.spawn_scoped(scope, move || act(host)))
        };
        let threads: Vec<_> = hosts.into_iter().map(begin).collect();
        let failed = |label: &str, why: &dyn std::fmt::Display| {
            Err(Failure::new(Kind::Other, format_args!("{label}: no thread for this host: {why}")))
        };
        let ends = threads.into_iter().map(|(label, thread)| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|_| failed(&label, &"it ended with a fault")),
            Err(error) => failed(&label, &error),
        });
        ends.collect()
    })
}

/// Opens hosts. Those that fail are reported.
pub(crate) fn open_all(common: &Common, hosts: Vec<HostPaths>) -> Result<(Vec<OpenHost>, Outcome), Failure> {
    let locale = paths::locale(common)?;
    let mut outcome = Outcome::default();
    let mut open = Vec::new();
    for host in side_by_side(hosts, |host| host.open(locale)) {
        match host {
            Ok(host) => {
                outcome.good();
                open.push(host);
            }
            Err(failure) => outcome.failed(failure),
        }
    }
    Ok((open, outcome))
}

impl OpenHost {
    /// Adds its paths. Returns the handles, and the messages of paths that cannot be added.
    fn add_paths(&mut self) -> (Vec<CounterHandle>, Vec<Failure>) {
        let (mut handles, mut failures) = (Vec::new(), Vec::new());
        for path in &self.paths {
            match paths::add(&mut self.query, path) {
                Ok(handle) => handles.push(handle),
                Err(failure) => {
                    let words = failure.message.as_ref().map(|words| format!("{}: {words}", self.prefix));
                    failures.push(Failure { message: words, ..failure });
                }
            }
        }
        (handles, failures)
    }

    /// What it collected last, with the host in each path.
    fn readings(&self) -> HostReadings {
        let mut readings = self.query.readings();
        for reading in &mut readings {
            reading.path.insert_str(0, &self.prefix);
        }
        HostReadings { names: self.query.names().clone(), readings }
    }
}

/// Collects from several hosts once, or twice where a value needs two samples. Paths without values are
/// reported.
pub(crate) fn collect_once(
    common: &Common,
    hosts: Vec<HostPaths>,
    interval: Duration,
    (format, reasons, says_answers): (Format, Reasons, bool),
) -> Result<(Vec<HostReadings>, Outcome), Failure> {
    let locale = paths::locale(common)?;
    let collected = side_by_side(hosts, |host| {
        let mut host = host.open(locale)?;
        host.query.set_format(format);
        let (handles, mut failures) = host.add_paths();
        if handles.is_empty() && !failures.is_empty() {
            let first = failures.remove(0);
            failures.into_iter().filter_map(|failure| failure.message).for_each(say);
            return Err(first);
        }
        let (_, answer) = super::command::collect_timed(&mut host.query, true, interval)?;
        Ok((host, handles, failures, answer))
    });
    let mut outcome = Outcome::default();
    let mut all = Vec::new();
    for result in collected {
        match result {
            Ok((host, handles, failures, answer)) => {
                outcome.good();
                if says_answers {
                    answer.say(host.prefix.trim_start_matches('\\'));
                }
                failures.into_iter().for_each(|failure| outcome.failed(failure));
                if let Err(failure) = missing_of_host(&host.prefix, &host.query, &handles, reasons) {
                    outcome.failed(failure);
                }
                all.push(host.readings());
            }
            Err(failure) => outcome.failed(failure),
        }
    }
    Ok((all, outcome))
}

/// Several hosts that are sampled again and again, each on a thread of its own.
pub(crate) struct Sampled {
    hosts: Vec<SampledHost>,
    reports: Receiver<(usize, Report)>,
    /// How many rows there were, with the one of now.
    rows: u64,
}

struct SampledHost {
    label: String,
    /// Asks its thread for a sample.
    ticks: HostTicks,
    /// Its last readings.
    last: Option<HostReadings>,
    /// Whether its last report was a failure, since when, and which.
    has_failed: bool,
    silent_since: Instant,
    failure: Option<Failure>,
}

/// Why a host failed, and when it is tried again.
pub(crate) fn with_pauses(why: &str) -> String {
    // The words of a refused login say until when it waits.
    if is_paused(why) {
        return why.to_string();
    }
    let (first, longest) = (rough_time(Pause::FIRST), rough_time(Pause::LONGEST));
    let pauses = format!("tried again after {first}, later after up to {longest}");
    format!("{why}; {pauses}")
}

/// What the thread of a host reports for each tick.
struct Report {
    result: Result<HostReadings, Failure>,
    /// Paths that cannot be added; reported once.
    failures: Vec<Failure>,
    needs_two_samples: bool,
}

impl Sampled {
    /// Starts a thread for each host.
    pub(crate) fn start(common: &Common, hosts: Vec<HostPaths>, format: Format) -> Result<Sampled, Failure> {
        let locale = paths::locale(common)?;
        open_files::allow_many();
        let (sender, reports) = channel();
        let mut all = Vec::new();
        for (number, host) in hosts.into_iter().enumerate() {
            let (ticks, ticked) = HostTicks::start();
            let (sender, label) = (sender.clone(), host.label());
            let work = move || work(number, &host, locale, format, &ticked, &sender);
            // It ends with its channel, or with the program while it waits for its host.
            thread::Builder::new()
                .name(format!("tally {label}"))
                .spawn(work)
                .map_err(|error| Failure::new(Kind::Other, format_args!("{label}: no thread: {error}")))?;
            all.push(SampledHost {
                label,
                ticks,
                last: None,
                has_failed: false,
                silent_since: Instant::now(),
                failure: None,
            });
        }
        Ok(Sampled { hosts: all, reports, rows: 0 })
    }

    /// Asks every host that is not still busy for a sample.
    pub(crate) fn tick(&mut self) {
        self.rows = self.rows.wrapping_add(1);
        self.hosts.iter_mut().for_each(|host| host.ticks.begin(self.rows));
    }

    /// Waits until all hosts have reported, or until a time. Returns whether a value needs a second sample.
    pub(crate) fn gather(&mut self, until: Instant, outcome: &mut Outcome) -> bool {
        let mut needs_two = false;
        while self.hosts.iter().any(|host| host.ticks.is_busy()) {
            let left = until.saturating_duration_since(Instant::now());
            let (number, report) = match self.reports.recv_timeout(left) {
                Ok(report) => report,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            };
            needs_two |= report.needs_two_samples;
            let Some(host) = self.hosts.get_mut(number) else { continue };
            host.ticks.answered(self.rows);
            report.failures.into_iter().for_each(|failure| outcome.failed(failure));
            match report.result {
                Ok(readings) => {
                    if std::mem::take(&mut host.has_failed) {
                        let time = rough_time(host.silent_since.elapsed());
                        say(format_args!("{} answers again, after {time}", host.label));
                    }
                    host.last = Some(readings);
                }
                Err(failure) => {
                    // The same failure of every tick is said once.
                    if !std::mem::replace(&mut host.has_failed, true) {
                        host.silent_since = Instant::now();
                        failure.message.iter().for_each(|words| say(with_pauses(words)));
                        host.failure = Some(Failure { message: None, ..failure });
                    }
                }
            }
        }
        needs_two
    }

    /// Whether every host has reported, and whether any has values.
    pub(crate) fn state(&self) -> (bool, bool) {
        let all_reported = self.hosts.iter().all(|host| host.last.is_some() || host.has_failed);
        (all_reported, self.hosts.iter().any(|host| host.last.is_some()))
    }

    /// How it ends: hosts that fail at the end are failures, hosts that recovered are none.
    pub(crate) fn end(self, mut outcome: Outcome) -> Result<(), Failure> {
        for host in self.hosts {
            match host.failure.filter(|_| host.has_failed) {
                Some(failure) => outcome.failed(failure),
                None => outcome.good(),
            }
        }
        outcome.result()
    }

    /// What each host has for a record: one that is late has none, because a log never repeats a value.
    pub(crate) fn records(&self) -> Vec<HostReadings> {
        let mut all = self.readings();
        let with_values = self.hosts.iter().filter(|host| host.last.is_some());
        for (host, _) in all.iter_mut().zip(with_values).filter(|(_, host)| host.ticks.is_busy()) {
            for reading in &mut host.readings {
                reading.cell = Cell::missing(NoValue::NoData(Absence::ReadFailed));
            }
        }
        all
    }

    /// The hosts that have not answered yet, and so have no columns.
    pub(crate) fn without_values(&self) -> Vec<&str> {
        let silent = self.hosts.iter().filter(|host| host.last.is_none());
        silent.map(|host| host.label.as_str()).collect()
    }

    /// What each host has now. A host that is late has its last values, marked as old; one that failed has
    /// none.
    pub(crate) fn readings(&self) -> Vec<HostReadings> {
        let of_host = |host: &SampledHost| {
            let mut last = host.last.clone()?;
            for reading in &mut last.readings {
                age(reading, host);
            }
            Some(last)
        };
        self.hosts.iter().filter_map(of_host).collect()
    }
}

fn age(reading: &mut Reading, host: &SampledHost) {
    if host.has_failed {
        reading.cell = Cell::missing(NoValue::NoMachine);
    } else if host.ticks.is_busy() {
        reading.cell.stale = true;
    }
}

/// The thread of a host: a report for each tick.
fn work(
    number: usize,
    host: &HostPaths,
    locale: Locale,
    format: Format,
    ticks: &Receiver<()>,
    reports: &Sender<(usize, Report)>,
) {
    let mut open: Option<OpenHost> = None;
    let mut pause = Pause::default();
    while ticks.recv().is_ok() {
        // A host that failed is left alone for a while; its failure was reported.
        if pause.rests() {
            let result = Err(Failure::silent(Kind::Unreachable));
            let report = Report { result, failures: Vec::new(), needs_two_samples: false };
            if reports.send((number, report)).is_err() {
                return;
            }
            continue;
        }
        let mut failures = Vec::new();
        let result = sample(&mut open, host, locale, format, &mut failures);
        if open.is_none() {
            pause.failed();
        } else {
            pause.answered();
        }
        let needs_two_samples = open.as_ref().is_some_and(|host| host.query.needs_two_samples());
        if reports.send((number, Report { result, failures, needs_two_samples })).is_err() {
            return;
        }
    }
}

/// Opens a host if it is not open, and samples it.
fn sample(
    open: &mut Option<OpenHost>,
    host: &HostPaths,
    locale: Locale,
    format: Format,
    failures: &mut Vec<Failure>,
) -> Result<HostReadings, Failure> {
    if open.is_none() {
        let mut new = host.clone().open(locale)?;
        new.query.set_format(format);
        let (handles, mut bad) = new.add_paths();
        if handles.is_empty() && !bad.is_empty() {
            let first = bad.remove(0);
            *failures = bad;
            return Err(first);
        }
        *failures = bad;
        *open = Some(new);
    }
    let Some(host) = open else { return Err(Failure::silent(Kind::Unreachable)) };
    host.query.add_awaited();
    if let Err(error) = host.query.collect() {
        // It is opened anew: a program that was started again may have other numbers for its objects.
        *open = None;
        return Err(error.into());
    }
    Ok(host.readings())
}

#[cfg(test)]
#[path = "hosts_tests.rs"]
mod tests;
