//! Reads counters from a log: one query for each host of the log. The host in a path chooses the query.

use tallymon::core::counter::Format;
use tallymon::core::flow::{NoValue, SourceError};
use tallymon::core::path::CounterPath;
use tallymon::core::time::FileTime;
use tallymon::log::csv::NO_TYPES;
use tallymon::log::{Format as LogFormat, LogClock, Moment, ReadOptions};
use tallymon::{CounterHandle, HostReadings, InstanceNames, Locale, Log, Names, PathError, Query, Reading};

use crate::arguments::{AtTime, Common, Naming, OfLog};
use crate::command::relog::{log_time, reading, say_damage, say_notes_of};
use crate::exit::{Failure, Kind};
use crate::missing_values::{Reasons, missing_of_log};
use crate::paths;
use crate::progress::open_logs;
use crate::words::say;

/// The hosts of a log.
pub(crate) struct LogHosts {
    /// The log as its first host sees it.
    log: Log,
    names: Names,
    hosts: Vec<LogHost>,
    format: Format,
    /// For each added path: whether any host had a value for it so far.
    seen: Vec<bool>,
}

/// The moment of `--at`, at or before which the log has a record.
pub(crate) fn moment_of(at: &str, clock: &LogClock) -> Result<FileTime, Failure> {
    let time = clock.moment(log_time(at)?, Moment::Last);
    if clock.range().is_none_or(|(first, _)| time < first) {
        let words =
            format!("--at {at}: there is no record at or before it; the log has {}", clock.range_text());
        return Err(Failure::new(Kind::NoData, words));
    }
    Ok(time)
}

/// A host of a log.
pub(crate) struct LogHost {
    log: Log,
    pub(crate) query: Query,
    /// The host part of its paths; empty if it is the only host.
    pub(crate) prefix: String,
    /// Numbers of paths with their handles in this host's query.
    handles: Vec<(usize, CounterHandle)>,
}

/// Damage in a log that was opened by its contents is reported at the end: opening it did not read the rows.
impl Drop for LogHosts {
    fn drop(&mut self) {
        for part in self.log.parts() {
            // Without a place for messages there is nobody to tell.
            let _ = say_damage(part.path(), &part.met());
        }
    }
}

impl LogHosts {
    /// Opens the log that the options name, at its last record; `None` if they name none.
    pub(crate) fn of(common: &Common, of_log: &OfLog, naming: Naming) -> Result<Option<LogHosts>, Failure> {
        let is_asked = !of_log.log.is_empty();
        if is_asked && !common.host.is_empty() {
            let words = "--host and --log cannot be combined: a log has the hosts that were recorded";
            return Err(Failure::new(Kind::Usage, words));
        }
        is_asked.then(|| LogHosts::open(common, of_log, naming)).transpose()
    }

    /// As [`LogHosts::of`], at the time of `--at`.
    pub(crate) fn at(
        common: &Common,
        of_log: &OfLog,
        at: &AtTime,
        naming: Naming,
    ) -> Result<Option<LogHosts>, Failure> {
        at.needs_log(!of_log.log.is_empty())?;
        let hosts = LogHosts::of(common, of_log, naming)?;
        if let (Some(hosts), Some(at)) = (&hosts, &at.at) {
            hosts.log.set_time(moment_of(at, &hosts.log.summary().clock)?);
        }
        Ok(hosts)
    }

    /// Says which record a command uses, if the options have a time: the last one at or before it.
    pub(crate) fn say_record(&self, time: FileTime, at: &AtTime) {
        if at.at.is_some() {
            say(format_args!("the record of {}", self.log.summary().clock.text(time)));
        }
    }

    fn open(common: &Common, of_log: &OfLog, naming: Naming) -> Result<LogHosts, Failure> {
        let read = ReadOptions { processes: naming.of_log(), ..reading(&of_log.reading)? };
        let log = open_logs(&of_log.log, &read)?;
        let summary = log.summary();
        say_notes_of(&log)?;
        log.set_record(u64::MAX);
        // The columns have the names of processes.
        let locale = Locale { instances: InstanceNames::Number, ..paths::locale(common)? };
        let several = summary.hosts.len() > 1;
        let host = |log: Log| -> Result<LogHost, SourceError> {
            let query = Query::new(Box::new(log.source()), locale)?;
            let prefix = if several { format!("\\\\{}", log.host()) } else { String::new() };
            Ok(LogHost { log, query, prefix, handles: Vec::new() })
        };
        let logs = summary.hosts.iter().filter_map(|name| log.of_host(name));
        let hosts = logs.map(host).collect::<Result<_, _>>()?;
        let names = Names::load(&mut log.source(), locale)?;
        let format = Format { cap100: false, ..Format::default() };
        Ok(LogHosts { log, names, hosts, format, seen: Vec::new() })
    }

    /// The log.
    pub(crate) const fn log(&self) -> &Log {
        &self.log
    }

    /// The names of the log's counters.
    pub(crate) const fn names(&self) -> &Names {
        &self.names
    }

    /// The host of paths that name none; empty if the log has several hosts.
    pub(crate) fn host(&self) -> &str {
        if self.hosts.len() > 1 { "" } else { self.log.host() }
    }

    /// The hosts that an argument means, and the argument without its host. `\\HOST\Object` means one host,
    /// `Object` means all.
    pub(crate) fn meant<'w>(&mut self, word: &'w str) -> (impl Iterator<Item = &mut LogHost>, &'w str) {
        let slash = |letter| letter == '\\' || letter == '/';
        let named = word.strip_prefix("\\\\").or_else(|| word.strip_prefix("//"));
        let (host, rest) = match named.map(|named| named.split_once(slash).unwrap_or((named, ""))) {
            Some((host, rest)) if self.log.of_host(host).is_some() => (Some(host), rest),
            _ => (None, word),
        };
        let is_meant =
            move |known: &&mut LogHost| host.is_none_or(|host| known.log.host().eq_ignore_ascii_case(host));
        (self.hosts.iter_mut().filter(is_meant), rest)
    }

    /// Sets the format of values.
    pub(crate) fn set_format(&mut self, format: Format) {
        if format.cap100 && matches!(self.log.summary().format, LogFormat::Csv | LogFormat::Tsv) {
            say(format_args!("--cap: {NO_TYPES}"));
        }
        self.format = format;
    }

    /// Adds the paths that can be added. A path without a host means all hosts that have its counter.
    ///
    /// Returns the failure for the others, which are reported; if there is no good path, that is the error.
    pub(crate) fn add(&mut self, paths: &[String]) -> Result<Option<Failure>, Failure> {
        let before = self.seen.len();
        let mut failures = Vec::new();
        for text in paths {
            match self.add_one(text) {
                Ok(()) => self.seen.push(false),
                Err(failure) => failures.push(failure),
            }
        }
        paths::rest_of(failures, self.seen.len() > before)
    }

    fn add_one(&mut self, text: &str) -> Result<(), Failure> {
        let path = CounterPath::of_text(text).map_err(|error| PathError::syntax(text, error))?;
        let known = |host: &str| self.log.of_host(host).is_some();
        // If there is only one host, its query reports a wrong host.
        let machine = path.machine.filter(|_| self.hosts.len() > 1);
        if let Some(unknown) = machine.as_deref().filter(|host| !known(host)) {
            let hosts = self.log.summary().hosts.join(", ");
            let words = format!("{text}: the log has no host {unknown:?}; it has {hosts}");
            return Err(Failure::new(Kind::NotFound, words));
        }
        let mut failed = None;
        let mut found = false;
        for host in &mut self.hosts {
            if machine.as_deref().is_some_and(|wanted| !host.log.host().eq_ignore_ascii_case(wanted)) {
                continue;
            }
            match paths::add_of_log(&mut host.query, text) {
                Ok(handle) => {
                    host.handles.push((self.seen.len(), handle));
                    found = true;
                }
                Err(failure) => failed = failed.or(Some(failure)),
            }
        }
        match failed {
            Some(failure) if !found => Err(failure),
            _ => Ok(()),
        }
    }

    /// Takes a sample of each host from the log's current record. Returns the time of that record.
    pub(crate) fn collect(&mut self) -> Result<FileTime, SourceError> {
        let mut time = None;
        for host in &mut self.hosts {
            let taken = host.query.collect()?;
            time.get_or_insert(taken);
        }
        Ok(time.unwrap_or_default())
    }

    /// The readings with the samples of the log. If there are several hosts, paths include the host.
    pub(crate) fn readings(&mut self) -> Result<Vec<Reading>, SourceError> {
        Ok(self.host_readings()?.into_iter().flat_map(|host| host.readings).collect())
    }

    /// The same for each host.
    pub(crate) fn host_readings(&mut self) -> Result<Vec<HostReadings>, SourceError> {
        let mut all = Vec::new();
        for host in &self.hosts {
            let mut readings = host.query.readings();
            host.log.complete(&mut readings, &self.format)?;
            for reading in &mut readings {
                reading.path.insert_str(0, &host.prefix);
                let path = host.handles.iter().find(|(_, handle)| *handle == reading.handle);
                if let Some(seen) = path.and_then(|(path, _)| self.seen.get_mut(*path)) {
                    *seen |= matches!(reading.cell.value, Ok(_) | Err(NoValue::NoOperations));
                }
            }
            all.push(HostReadings { names: host.query.names().clone(), readings });
        }
        Ok(all)
    }

    /// The first reading, without the host in its path, and that host.
    pub(crate) fn first_of(&self, readings: &[Reading]) -> Option<(&LogHost, Reading)> {
        let first = readings.first()?;
        let rest = |host: &LogHost| {
            first
                .path
                .strip_prefix(host.prefix.as_str())
                .filter(|rest| rest.starts_with('\\'))
                .map(str::to_string)
        };
        let (host, path) = self.hosts.iter().find_map(|host| Some((host, rest(host)?)))?;
        Some((host, Reading { path, ..first.clone() }))
    }

    /// Reports the paths that had no value so far, and sums of the current record that lack some of their
    /// parts. Returns the failure of the first of them.
    pub(crate) fn missing(&self, reasons: Reasons) -> Result<(), Failure> {
        let mut result = Ok(());
        for host in &self.hosts {
            let handles: Vec<CounterHandle> = host.handles.iter().map(|(_, handle)| *handle).collect();
            let seen = host.handles.iter().filter(|(path, _)| self.seen.get(*path) != Some(&false));
            let seen: Vec<CounterHandle> = seen.map(|(_, handle)| *handle).collect();
            let had_value = |handle| seen.contains(&handle);
            result = result.and(missing_of_log(&host.query, &handles, reasons, &had_value));
        }
        result
    }
}
