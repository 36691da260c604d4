//! Several live machines: each is sampled on a thread of its own, and a row has what is there when it is due.
//!
//! The first one is that of the workspace's query and sampler; the others are here. A machine that is late
//! has its last values, marked as old; one that failed has none, and is tried again after a pause that grows.

use std::time::{Duration, Instant};

use tallymon::clock::now;
use tallymon::core::flow::{NoValue, SourceError, SourceErrorKind};
use tallymon::core::time::FileTime;
use tallymon::fleet::{Fleet, patience};
use tallymon::sample::{Listener, Tick as Sample};
use tallymon::{ClockOffset, HostReadings, Locale, PathError, PathProblem, Query, SourceInfo};

use crate::model::{HostSample, HostSummary, Top};
use crate::workspace::feed::Sampling;
use crate::workspace::machine::{Machine, PageFeed};
use crate::workspace::options::LiveHost;
use crate::workspace::state::Workspace;

/// How often all machines are looked at while a row waits for them.
const LOOKS: Duration = Duration::from_millis(2);

/// All live machines.
pub(crate) struct Machines {
    pub(super) hosts: Vec<Machine>,
    /// The row that waits for answers.
    row: Option<OpenRow>,
    /// The values that are computed from those of all.
    fleet: Fleet,
    /// The counters of the page are read.
    pub(super) has_page: bool,
}

/// A row that is being collected.
#[derive(Debug, Clone, Copy)]
struct OpenRow {
    time: FileTime,
    begin: Instant,
    until: Instant,
}

impl Machines {
    /// The machines of the options; the first one is that of the workspace's query.
    pub(super) fn of(hosts: Vec<LiveHost>, fleet: Fleet) -> Option<Machines> {
        let of_host = |(place, host)| Machine::new(host, place == 0);
        let hosts: Vec<Machine> = hosts.into_iter().enumerate().map(of_host).collect();
        (hosts.len() > 1).then_some(Machines { hosts, row: None, fleet, has_page: false })
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.hosts.iter().map(|host| host.name.as_str())
    }

    /// What a machine after the first is sampled by.
    pub(super) fn sampling(&mut self, place: usize) -> Option<&mut Sampling> {
        Some(&mut self.hosts.get_mut(place)?.source.as_mut()?.sampling)
    }

    /// The names and objects of machines after the first that came since the last call.
    pub(super) fn take_renewed(&mut self) -> Vec<(usize, SourceInfo)> {
        let of_host = |(place, host): (usize, &mut Machine)| Some((place, host.renewed.take()?));
        self.hosts.iter_mut().enumerate().filter_map(of_host).collect()
    }

    pub(super) fn has_renewed(&self) -> bool {
        self.hosts.iter().any(|host| host.renewed.is_some())
    }

    pub(super) fn prefix(&self, place: usize) -> String {
        self.hosts.get(place).map(Machine::prefix).unwrap_or_default()
    }

    /// The query of a machine after the first, if it has answered.
    pub(super) fn query(&self, place: usize) -> Option<&Query> {
        self.hosts.get(place)?.source.as_ref()?.query.as_ref()
    }

    /// A new query over a machine after the first.
    ///
    /// # Errors
    ///
    /// It has never answered.
    pub(super) fn open(&self, place: usize) -> Result<Query, SourceError> {
        let host = self.hosts.get(place);
        let info = host.and_then(|host| host.source.as_ref()?.info.clone());
        info.map(Query::over).ok_or_else(|| match host.and_then(|host| host.health.failure.clone()) {
            Some(error) => error,
            None => {
                let name = host.map_or("", |host| host.name.as_str());
                SourceError::new(SourceErrorKind::Unreachable, format!("{name} has not answered yet"))
            }
        })
    }

    pub(super) fn listener(&self, place: usize) -> Option<Listener> {
        Some(self.hosts.get(place)?.source.as_ref()?.sampling.sampler.listener())
    }

    pub(super) const fn is_waiting(&self) -> bool {
        self.row.is_some()
    }

    /// Forgets the readings of all machines, with those of the row that waits.
    pub(super) fn forget_readings(&mut self) {
        self.hosts.iter_mut().for_each(Machine::forget_readings);
    }

    /// Begins anew after a time without samples. The row that waited is left out: its time is long over.
    pub(super) fn begin_again(&mut self) {
        self.row = None;
        self.hosts.iter_mut().for_each(Machine::begin_again);
    }
}

/// What arrived since the last look.
#[derive(Default)]
pub(crate) struct Arrivals {
    /// Samples, for the screens that listen.
    pub(crate) samples: Vec<Sample>,
    /// Something looks different now.
    pub(crate) has_news: bool,
}

impl Workspace {
    /// The live machines, if there are several and no log is shown.
    pub(crate) fn machines(&self) -> Option<&Machines> {
        self.machines.as_ref().filter(|_| self.replay.is_none())
    }

    /// Requests a row of all machines that are not left alone. One that still works on the last request is
    /// late, and is not asked again.
    pub(super) fn begin_machines(&mut self) {
        // A row whose time is over has what is there.
        self.end_row();
        self.want_of_machines();
        let locale = self.query.names().locale();
        let grace = patience(self.options.interval);
        self.open_machines(locale);
        let Some(machines) = &mut self.machines else { return };
        let begin = Instant::now();
        for host in &mut machines.hosts {
            if host.health.rests() {
                continue;
            }
            let sampling = host.source.as_mut().map(|source| &mut source.sampling).or(self.sampling.as_mut());
            if let Some(sampling) = sampling
                && sampling.sampler.tick()
                && sampling.sampler.is_waiting()
            {
                host.health.asked.get_or_insert(begin);
            }
        }
        machines.row = Some(OpenRow { time: now(), begin, until: begin.checked_add(grace).unwrap_or(begin) });
    }

    /// Asks for the names and objects of the machines that have not answered yet.
    fn open_machines(&mut self, locale: Locale) {
        let hosts = self.machines.iter().flat_map(|machines| machines.hosts.iter().enumerate());
        let to_open: Vec<usize> =
            hosts.filter(|(_, host)| host.is_to_open()).map(|(place, _)| place).collect();
        for place in to_open {
            let paths = self.paths_of(place);
            if let Some(host) = self.machines.as_mut().and_then(|machines| machines.hosts.get_mut(place)) {
                host.begin_opening(locale, paths);
            }
        }
    }

    /// Asks a machine for its names and objects anew, with those that its paths name.
    fn renew_machine(&mut self, place: usize) {
        let (locale, paths) = (self.query.names().locale(), self.paths_of(place));
        let Some(machines) = &mut self.machines else { return };
        match machines.hosts.get_mut(place).and_then(|host| host.source.as_mut()) {
            Some(source) => {
                source.asked.clone_from(&paths);
                source.sampling.renew(locale, paths);
            }
            None if place == 0 => self.renew_info(),
            None => {}
        }
    }

    /// Says to every machine what its next sample has to have.
    fn want_of_machines(&mut self) {
        let Some(machines) = &mut self.machines else { return };
        for (place, host) in machines.hosts.iter_mut().enumerate() {
            if machines.has_page && host.page.is_none() {
                let info = match &host.source {
                    None => Some(self.query.info()),
                    Some(source) => source.info.clone(),
                };
                let sampler = host.source.as_ref().map(|source| &source.sampling.sampler);
                let sampler = sampler.or(self.sampling.as_ref().map(|sampling| &sampling.sampler));
                if let Some((info, sampler)) = info.zip(sampler) {
                    let mut query = Query::over(info);
                    let summary = HostSummary::new(&mut query);
                    let listener = sampler.listener();
                    listener.want(query.request());
                    host.page = Some(PageFeed { summary, query, listener });
                }
            }
            debug_assert_eq!(place == 0, host.source.is_none(), "the first machine is the workspace's");
            if let Some(source) = &host.source
                && let Some(query) = &source.query
            {
                source.sampling.listener.want(query.request());
            }
        }
    }

    /// Takes what arrives within a time: samples of machines, and the row when it is whole or due.
    pub(super) fn machines_come(&mut self, patience: Duration) -> Arrivals {
        let begin = Instant::now();
        let mut arrivals = Arrivals::default();
        loop {
            self.look_at_machines(&mut arrivals);
            let row = self.machines.as_ref().and_then(|machines| machines.row);
            if row.is_some_and(|row| Instant::now() >= row.until || !self.is_row_open(row.begin)) {
                self.end_row();
                arrivals.has_news = true;
            }
            let left = patience.saturating_sub(begin.elapsed());
            if arrivals.has_news || left.is_zero() {
                return arrivals;
            }
            std::thread::sleep(LOOKS.min(left));
        }
    }

    /// Whether a machine still works on the row that began then. One that was late before delays no row.
    fn is_row_open(&self, begin: Instant) -> bool {
        let Some(machines) = &self.machines else { return false };
        machines.hosts.iter().any(|host| {
            let sampling = host.source.as_ref().map(|source| &source.sampling).or(self.sampling.as_ref());
            let is_new = host.health.asked.is_some_and(|asked| asked >= begin);
            is_new && sampling.is_some_and(|sampling| sampling.sampler.is_waiting())
        })
    }

    /// Takes all samples that are there.
    fn look_at_machines(&mut self, arrivals: &mut Arrivals) {
        let count = self.machines.as_ref().map_or(0, |machines| machines.hosts.len());
        for place in 0..count {
            let opened = self.machines.as_mut().and_then(|machines| machines.hosts.get_mut(place));
            if opened.is_some_and(Machine::opens) {
                self.want_paths_of(place);
                arrivals.has_news = true;
            }
            while let Some(sample) = self.sample_of_machine(place) {
                arrivals.has_news |= !sample.is_row;
                arrivals.samples.push(sample);
            }
        }
    }

    /// The next sample of a machine, if one is there. The chart and the page have taken it.
    fn sample_of_machine(&mut self, place: usize) -> Option<Sample> {
        let machines = self.machines.as_mut()?;
        let row = machines.row.map_or_else(now, |row| row.time);
        let host = machines.hosts.get_mut(place)?;
        let sampling = host.source.as_mut().map(|source| &mut source.sampling).or(self.sampling.as_mut())?;
        let mut sample = sampling.sampler.poll(Duration::ZERO)?;
        // All machines are on the time axis of this one: a clock that is wrong moves no values.
        sample.time = row;
        let is_back = host.health.failure.is_some() && sample.result.is_ok();
        match &sample.result {
            Ok(snapshot) => {
                host.health.answered(ClockOffset::of_block(sample.window.0, sample.window.1, snapshot));
            }
            Err(error) => {
                host.health.failed(error.clone());
            }
        }
        if let Some(page) = &mut host.page
            && let Some(Ok(snapshot)) = sample.of(&page.listener)
        {
            page.query.accept(snapshot.clone());
            page.summary.take(row, &page.query);
        }
        let own = sample.of(&sampling.listener).and_then(Result::ok).cloned();
        match (own, &mut host.source) {
            (None, _) => {}
            (Some(snapshot), Some(source)) => {
                if let Some(query) = &mut source.query {
                    query.accept(snapshot);
                    let readings = query.readings();
                    host.take_readings(readings);
                }
            }
            (Some(snapshot), None) => {
                self.query.accept(snapshot.clone());
                // Before the readings: their handles are those of the query that made them.
                self.change_query(snapshot);
                let readings = Top::readings(&self.query);
                let first = self.machines.as_mut().and_then(|machines| machines.hosts.get_mut(place));
                if let Some(first) = first {
                    first.take_readings(readings);
                }
            }
        }
        if is_back {
            // It may have other objects by now.
            self.renew_machine(place);
        }
        Some(sample)
    }

    /// Adds the row that is being collected, with what there is.
    fn end_row(&mut self) {
        let Some(machines) = &mut self.machines else { return };
        let Some(OpenRow { time, .. }) = machines.row.take() else { return };
        let asked = machines.hosts.len();
        let mut watched = Vec::new();
        let mut hosts = Vec::new();
        for (place, host) in machines.hosts.iter_mut().enumerate() {
            let query = match &host.source {
                None => Some(&self.query),
                Some(source) => source.query.as_ref(),
            };
            let Some(query) = query else { continue };
            let mut readings = host.row();
            if place == 0 {
                // Top contributors are of this machine alone.
                (watched, readings) =
                    readings.into_iter().partition(|reading| Top::is_watched(query, reading));
            }
            let gap = host.gap();
            host.had_row = std::mem::take(&mut host.is_fresh);
            hosts.push((place, query, gap, HostReadings { names: query.names().clone(), readings }));
        }
        let (known, readings): (Vec<_>, Vec<_>) =
            hosts.into_iter().map(|(place, query, gap, readings)| ((place, query, gap), readings)).unzip();
        let mut shown = machines.fleet.apply(readings, asked);
        if let Some(first) = shown.first_mut() {
            first.readings.extend(watched);
        }
        let samples: Vec<HostSample<'_>> = shown
            .iter()
            .enumerate()
            .map(|(nth, host)| {
                let known = known.get(nth);
                let (place, query, gap) = known.copied().unwrap_or((0, &self.query, NoValue::NoInstance));
                HostSample { place, query, readings: &host.readings, is_computed: known.is_none(), gap }
            })
            .collect();
        self.monitor.take_hosts(time, &samples);
        self.readings = shown.into_iter().flat_map(|host| host.readings).collect();
        self.overview_ends_row(time);
        self.forget_steps();
        self.watch_top();
        self.choose_what_was_added();
    }

    /// Has a machine after the first collect the paths that are its own.
    pub(super) fn want_paths_of(&mut self, place: usize) {
        let own = self.paths_of(place);
        let host = self.machines.as_mut().and_then(|machines| machines.hosts.get_mut(place));
        let Some(Machine { source: Some(source), readings, .. }) = host else { return };
        let mut refused = source.want(&own.iter().collect::<Vec<_>>());
        // The libraries of objects that are not defined yet are started, once for each path.
        let waits = |error: &PathError| {
            matches!(error.problem, PathProblem::NotAnswering(_)) && !source.asked.contains(&error.path)
        };
        let is_undefined = refused.iter().any(waits);
        refused.retain(|error| !waits(error));
        // Old readings of a path that left the query would come back as lines.
        if let Some(readings) = readings {
            readings.retain(|reading| source.collects(reading));
        }
        for error in refused {
            self.paths.retain(|path| *path != error.path);
            self.message = Some(error.to_string());
            self.monitor.fail(error);
        }
        if is_undefined {
            self.renew_machine(place);
        }
    }

    /// Has every machine after the first collect the paths that are its own.
    pub(super) fn want_paths_of_all(&mut self) {
        let count = self.machines.as_ref().map_or(0, |machines| machines.hosts.len());
        (1..count).for_each(|place| self.want_paths_of(place));
    }
}
