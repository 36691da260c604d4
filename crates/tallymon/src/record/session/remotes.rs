//! Other machines in a recording session: each is read on a thread of its own, so that one that is slow or
//! gone delays no record.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use tallymon_core::block::Snapshot;
use tallymon_core::time::FileTime;
use tallymon_core::title::Language;
use tallymon_remote::{USUAL_TIMEOUT, is_paused, rough_time, silence};

use super::settings::{SessionHost, SessionSettings};
use crate::clock::now;
use crate::fleet::{HostTicks, patience};
use crate::location::{Location, open};
use crate::names::{InstanceNames, Locale};
use crate::path_error::PathError;
use crate::pause::Pause;
use crate::query::Query;
use crate::record::{Choice, HostSnapshot};

/// How often a host is opened again that lacks counters.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// How long the first record waits for hosts, which are being opened.
const FIRST_GRACE: Duration = Duration::from_secs(3);

/// The hosts of a session.
pub(in crate::record) struct Remotes {
    hosts: Vec<Remote>,
    reports: Receiver<(usize, Report)>,
    /// How many records there were, with the one of now.
    records: u64,
    has_begun: bool,
}

struct Remote {
    name: String,
    /// Asks its thread for a sample.
    ticks: HostTicks,
    /// Its newest sample, until it is recorded.
    sample: Option<Taken>,
    /// What its paths mean, if that changed since the last record.
    choice: Option<Choice>,
    /// What is wrong with it now.
    trouble: Option<String>,
    /// When its last sample came, or the session began.
    heard: Instant,
    has_samples: bool,
    /// Until when it is left alone.
    next: Option<Instant>,
}

/// What is wrong with a host.
pub(in crate::record) struct HostFailure {
    pub(in crate::record) name: String,
    /// It does not answer; else it only lacks counters.
    pub(in crate::record) is_gone: bool,
    pub(in crate::record) why: String,
}

/// What the thread of a host reports for each tick.
struct Report {
    taken: Option<Taken>,
    choice: Option<Choice>,
    trouble: Option<String>,
    /// Until when the host is left alone.
    next: Option<Instant>,
}

struct Taken {
    snapshot: Snapshot,
    window: (FileTime, FileTime),
}

/// What of a host is recorded, and how.
struct Wanted {
    host: SessionHost,
    timeout: Duration,
    instances: InstanceNames,
    everything: bool,
    /// Its place among the hosts, and how many there are.
    place: (u32, u32),
}

impl Remotes {
    /// Starts a thread for each host; `None` if the session has none.
    ///
    /// # Errors
    ///
    /// There is no thread for a host, in words.
    pub(in crate::record) fn start(settings: &SessionSettings) -> Result<Option<Remotes>, String> {
        if settings.hosts.is_empty() {
            return Ok(None);
        }
        let (sender, reports) = channel();
        let count = u32::try_from(settings.hosts.len()).unwrap_or(u32::MAX);
        let mut hosts = Vec::new();
        for (number, host) in settings.hosts.iter().enumerate() {
            let wanted = Wanted {
                host: host.clone(),
                timeout: settings.timeout.unwrap_or(USUAL_TIMEOUT),
                instances: settings.instances,
                everything: settings.all_objects,
                place: (u32::try_from(number).unwrap_or(u32::MAX), count),
            };
            let (ticks, ticked) = HostTicks::start();
            let (sender, name) = (sender.clone(), host.name.clone());
            // It ends with its channel, or with the program while it waits for its host.
            thread::Builder::new()
                .name(format!("tally {name}"))
                .spawn(move || work(number, &wanted, &ticked, &sender))
                .map_err(|error| format!("{name}: no thread for this host: {error}"))?;
            hosts.push(Remote {
                name,
                ticks,
                sample: None,
                choice: None,
                trouble: None,
                heard: Instant::now(),
                has_samples: false,
                next: None,
            });
        }
        Ok(Some(Remotes { hosts, reports, records: 0, has_begun: false }))
    }

    /// Asks every host that is not still busy for a sample.
    pub(in crate::record) fn tick(&mut self) {
        self.records = self.records.wrapping_add(1);
        self.hosts.iter_mut().for_each(|host| host.ticks.begin(self.records));
    }

    /// Takes what the hosts have answered, and waits a while for those that have not.
    pub(in crate::record) fn gather(&mut self, interval: Duration) {
        let grace =
            if std::mem::replace(&mut self.has_begun, true) { patience(interval) } else { FIRST_GRACE };
        let begin = Instant::now();
        // What came between two records is taken without waiting.
        while let Ok(report) = self.reports.try_recv() {
            self.take(report);
        }
        while self.hosts.iter().any(|host| host.ticks.is_busy()) {
            match self.reports.recv_timeout(grace.saturating_sub(begin.elapsed())) {
                Ok(report) => self.take(report),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
    }

    fn take(&mut self, (number, report): (usize, Report)) {
        let Some(host) = self.hosts.get_mut(number) else { return };
        host.trouble = report.trouble;
        host.next = report.next;
        if report.taken.is_some() {
            (host.heard, host.has_samples) = (Instant::now(), true);
        }
        host.choice = report.choice.or(host.choice.take());
        host.sample = report.taken.or(host.sample.take());
        // An answer to an earlier tick has an earlier time, and is that of this record until another comes.
        host.ticks.answered(self.records);
    }

    /// What the paths of hosts mean, where that changed since the last call.
    pub(in crate::record) fn take_choices(&mut self) -> Vec<Choice> {
        self.hosts.iter_mut().filter_map(|host| host.choice.take()).collect()
    }

    /// The samples that came since the last call, with the names of their hosts.
    pub(in crate::record) fn take_samples(&mut self) -> Vec<HostSnapshot> {
        let of_host = |host: &mut Remote| {
            let Taken { snapshot, window } = host.sample.take()?;
            Some(HostSnapshot { host: host.name.clone(), snapshot, window })
        };
        self.hosts.iter_mut().filter_map(of_host).collect()
    }

    /// The hosts that failed, or that lack counters.
    pub(in crate::record) fn failures(&self) -> Vec<HostFailure> {
        let of_host = |host: &Remote| {
            Some(HostFailure {
                name: host.name.clone(),
                is_gone: host.next.is_some(),
                why: host.trouble.clone()?,
            })
        };
        self.hosts.iter().filter_map(of_host).collect()
    }

    /// What is wrong with hosts now, each with the name of its host: since when it has no values, and when
    /// it is tried again.
    pub(in crate::record) fn troubles(&self) -> Vec<String> {
        let now = Instant::now();
        self.hosts.iter().filter_map(|host| Some(format!("{}: {}", host.name, host.words(now)?))).collect()
    }
}

impl Remote {
    /// What is wrong with it.
    fn words(&self, now: Instant) -> Option<String> {
        match &self.trouble {
            Some(why) if self.next.is_some() && !is_paused(why) => {
                let last = self.has_samples.then_some(self.heard);
                Some(format!("{why}; {}", silence(last, self.next, now)))
            }
            // Some of its counters are not there.
            Some(why) => Some(why.clone()),
            None => self.ticks.is_busy().then(|| {
                let time = now.saturating_duration_since(self.heard);
                match time.as_secs() {
                    0 => "it has not answered yet".to_owned(),
                    _ => format!("it has not answered for {}", rough_time(time)),
                }
            }),
        }
    }
}

/// A host that was opened.
struct Open {
    query: Query,
    /// Its first path that is not here.
    missing: Option<PathError>,
    opened: Instant,
}

/// The thread of a host: a report for each tick.
fn work(number: usize, wanted: &Wanted, ticks: &Receiver<()>, reports: &Sender<(usize, Report)>) {
    let mut open: Option<Open> = None;
    let (mut pause, mut why) = (Pause::default(), String::new());
    while ticks.recv().is_ok() {
        let report = if pause.rests() {
            // A host that failed is left alone for a while.
            Report { taken: None, choice: None, trouble: Some(why.clone()), next: pause.until() }
        } else {
            let mut report = sample(&mut open, wanted);
            if open.is_some() {
                pause.answered();
            } else {
                pause.failed();
                why = report.trouble.clone().unwrap_or_default();
                report.next = pause.until();
            }
            report
        };
        if reports.send((number, report)).is_err() {
            return;
        }
    }
}

/// Opens a host if it is not open, and samples it.
fn sample(open: &mut Option<Open>, wanted: &Wanted) -> Report {
    let failed = |words: String| Report { taken: None, choice: None, trouble: Some(words), next: None };
    if open.as_ref().is_some_and(|host| host.missing.is_some() && host.opened.elapsed() >= LOOK_AGAIN) {
        *open = None;
    }
    let mut is_changed = open.is_none();
    let host = match open {
        Some(host) => host,
        None => match wanted.open() {
            Ok(host) => open.insert(host),
            Err(words) => return failed(words),
        },
    };
    is_changed |= !host.query.add_awaited().is_empty();
    let begin = now();
    let taken = if wanted.everything { host.query.collect_everything() } else { host.query.collect() };
    if let Err(error) = taken {
        // It is opened anew: a program that was started again may have other numbers for its objects.
        *open = None;
        return failed(error.to_string());
    }
    let snapshot = host.query.snapshot().cloned();
    Report {
        taken: snapshot.map(|snapshot| Taken { snapshot, window: (begin, now()) }),
        choice: is_changed.then(|| wanted.choice(&host.query)),
        trouble: host.missing.as_ref().map(ToString::to_string),
        next: None,
    }
}

impl Wanted {
    /// Opens the host, with the counters that it has.
    fn open(&self) -> Result<Open, String> {
        let SessionHost { name, address, counters } = &self.host;
        let location =
            Location::Remote { name: name.clone(), address: address.clone(), timeout: self.timeout };
        let locale = Locale { instances: self.instances, ..Locale::from(Language::ENGLISH) };
        let source = open(&location).map_err(|error| error.to_string())?;
        let mut query = Query::new(source, locale).map_err(|error| error.to_string())?;
        let (mut missing, mut has_any) = (None, self.everything);
        for path in counters {
            match query.parse(path).and_then(|parsed| query.add_or_await(path, &parsed.path)) {
                Ok(_) => has_any = true,
                Err(error) => missing = missing.or(Some(error)),
            }
        }
        match missing {
            // Without a path everything would be recorded.
            Some(error) if !has_any => Err(error.to_string()),
            missing => Ok(Open { query, missing, opened: Instant::now() }),
        }
    }

    /// What its paths mean. Each host has numbers of its own for its groups of columns, in the order of the
    /// hosts.
    fn choice(&self, query: &Query) -> Choice {
        let (number, count) = self.place;
        let first = (u32::MAX / count.saturating_add(1)).saturating_mul(number.saturating_add(1));
        let mut choice = Choice::of(query);
        choice.host.clone_from(&self.host.name);
        for chosen in choice.chosen.values_mut().flatten() {
            chosen.group = chosen.group.saturating_add(first);
        }
        choice
    }
}

#[cfg(test)]
#[path = "remotes_tests.rs"]
mod tests;
