//! Several live machines: each is sampled on a thread of its own, and a row has what is there when it is due.
//!
//! The first one is that of the workspace's query and sampler; the others are here. A machine that is late
//! has its last values, marked as old; one that failed has none, and is tried again after a pause that grows.

use std::time::{Duration, Instant};

use tallymon::core::flow::{Cell, NoValue, SourceError, SourceErrorKind};
use tallymon::core::time::FileTime;
use tallymon::fleet::Fleet;
use tallymon::sample::{Listener, Pending, Tick as Sample};
use tallymon::{ClockOffset, CounterHandle, HostReadings, Locale, Query, Reading, SourceInfo};

use crate::model::{HostSample, HostSummary, Top};
use crate::workspace::feed::Sampling;
use crate::workspace::health::{GRACE, Health};
use crate::workspace::options::{LiveHost, Opening};
use crate::workspace::state::Workspace;
use crate::workspace::time::now;

/// How often all machines are looked at while a row waits for them.
const LOOKS: Duration = Duration::from_millis(2);

/// All live machines.
pub(crate) struct Machines {
    pub(super) hosts: Vec<Machine>,
    /// The row that waits for answers.
    row: Option<Row>,
    /// The values that are computed from those of all.
    fleet: Fleet,
    /// The counters of the page are read.
    pub(super) has_page: bool,
}

/// A row that is being collected.
#[derive(Debug, Clone, Copy)]
struct Row {
    time: FileTime,
    begin: Instant,
    until: Instant,
}

/// A live machine.
pub(crate) struct Machine {
    pub(crate) name: String,
    /// `None` for the first one: the workspace has its sampler and its query.
    source: Option<MachineSource>,
    pub(super) health: Health,
    /// What it had last, for the chart.
    readings: Vec<Reading>,
    /// They came since the last row.
    is_fresh: bool,
    /// The last row has new ones.
    pub(super) had_row: bool,
    pub(super) page: Option<PageFeed>,
}

/// The source of a machine after the first.
struct MachineSource {
    sampling: Sampling,
    /// Its names and objects, on their way.
    opening: Option<Pending<SourceInfo>>,
    info: Option<SourceInfo>,
    query: Option<Query>,
    /// The paths of the query, as they were written.
    paths: Vec<(String, CounterHandle)>,
}

/// The counters of a machine for the page of all.
pub(super) struct PageFeed {
    pub(super) summary: HostSummary,
    query: Query,
    listener: Listener,
}

impl Machine {
    fn new(host: LiveHost, is_first: bool) -> Machine {
        let mut health = Health::default();
        let (mut opening, mut info) = (None, None);
        match host.opening {
            Opening::Done(known) => info = Some(known),
            Opening::Pending(pending) => {
                health.asked = Some(Instant::now());
                opening = Some(pending);
            }
            Opening::Failed(error) => health.failed(error),
        }
        let info = info.map(|info| named(info, &host.name));
        let source = host.sampler.filter(|_| !is_first).map(|sampler| MachineSource {
            sampling: Sampling::new(sampler),
            opening,
            query: info.clone().map(Query::over),
            info,
            paths: Vec::new(),
        });
        Machine {
            name: host.name,
            source,
            health,
            readings: Vec::new(),
            is_fresh: false,
            had_row: false,
            page: None,
        }
    }

    /// The beginning of its paths: nothing for the first.
    fn prefix(&self) -> String {
        if self.source.is_some() { format!("\\\\{}", self.name) } else { String::new() }
    }

    /// Its readings for a row: new ones, old ones, or the reason why there are none.
    fn row(&self) -> Vec<Reading> {
        let mut readings = self.readings.clone();
        if self.is_fresh {
            return readings;
        }
        for reading in &mut readings {
            if self.health.failure.is_some() {
                reading.cell = Cell::missing(NoValue::NoMachine);
            } else {
                reading.cell.stale = true;
            }
        }
        readings
    }

    fn take_readings(&mut self, mut readings: Vec<Reading>) {
        let prefix = self.prefix();
        for reading in &mut readings {
            reading.path.insert_str(0, &prefix);
        }
        (self.readings, self.is_fresh) = (readings, true);
    }

    /// Asks for the names and objects of a machine that has not answered yet.
    fn begin_opening(&mut self, locale: Locale) {
        let rests = self.health.rests();
        let Some(source) = &mut self.source else { return };
        if source.query.is_none() && source.opening.is_none() && !rests {
            source.opening = Some(source.sampling.sampler.info(locale));
            self.health.asked.get_or_insert_with(Instant::now);
        }
    }

    /// Takes the names and objects if they are there; whether anything changed.
    fn opens(&mut self) -> bool {
        let Some(source) = &mut self.source else { return false };
        let opening = source.opening.as_ref().and_then(|opening| opening.wait(Duration::ZERO));
        if opening.is_some() {
            source.opening = None;
        }
        let info = match opening {
            Some(Ok(info)) => {
                self.health.answered(None);
                named(info, &self.name)
            }
            Some(Err(error)) => {
                self.health.failed(error);
                return true;
            }
            None => match source.sampling.renewed(Duration::ZERO) {
                Some(info) => named(info, &self.name),
                None => return false,
            },
        };
        // A program that was started anew may have other numbers for its objects.
        if source.info.as_ref().is_none_or(|known| known.catalog != info.catalog) {
            source.query = Some(Query::over(info.clone()));
            source.paths.clear();
            source.info = Some(info);
            self.page = None;
        }
        true
    }
}

impl MachineSource {
    /// Collects the paths of this machine that are wanted, and no others; those that its query refuses are
    /// returned.
    fn want(&mut self, wanted: &[&String]) -> Vec<tallymon::PathError> {
        let Some(query) = &mut self.query else { return Vec::new() };
        self.paths.retain(|(path, handle)| {
            let stays = wanted.contains(&path);
            if !stays {
                query.remove(*handle);
            }
            stays
        });
        let mut refused = Vec::new();
        for path in wanted {
            if !self.paths.iter().any(|(known, _)| known == *path) {
                match query.add(path) {
                    Ok(handle) => self.paths.push(((*path).clone(), handle)),
                    Err(error) => refused.push(error),
                }
            }
        }
        refused
    }
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
}

/// The names and objects of a machine that paths call by this name.
fn named(mut info: SourceInfo, name: &str) -> SourceInfo {
    if !info.host_names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
        info.host_names.push(name.to_string());
    }
    info
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
        let grace = GRACE.min(self.options.interval / 10 * 9);
        let Some(machines) = &mut self.machines else { return };
        let begin = Instant::now();
        for host in &mut machines.hosts {
            host.begin_opening(locale);
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
        machines.row = Some(Row { time: now(), begin, until: begin.checked_add(grace).unwrap_or(begin) });
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
        match &sample.result {
            Ok(snapshot) => {
                if host.health.failure.is_some() {
                    // It may have other objects by now.
                    sampling.renew(self.query.names().locale());
                }
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
                let readings = Top::readings(&self.query);
                host.take_readings(readings);
                self.change_query(snapshot);
            }
        }
        Some(sample)
    }

    /// Adds the row that is being collected, with what there is.
    fn end_row(&mut self) {
        let Some(machines) = &mut self.machines else { return };
        let Some(Row { time, .. }) = machines.row.take() else { return };
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
            host.had_row = std::mem::take(&mut host.is_fresh);
            hosts.push((place, query, HostReadings { names: query.names().clone(), readings }));
        }
        let queries: Vec<(usize, &Query)> = hosts.iter().map(|(place, query, _)| (*place, *query)).collect();
        let readings = hosts.into_iter().map(|(_, _, readings)| readings).collect();
        let mut shown = machines.fleet.apply(readings, asked);
        if let Some(first) = shown.first_mut() {
            first.readings.extend(watched);
        }
        let samples: Vec<HostSample<'_>> = shown
            .iter()
            .enumerate()
            .map(|(nth, host)| {
                let known = queries.get(nth);
                let (place, query) = known.copied().unwrap_or((0, &self.query));
                HostSample { place, query, readings: &host.readings, is_computed: known.is_none() }
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
        let own: Vec<String> =
            self.paths.iter().filter(|path| self.host_of(path) == place).cloned().collect();
        let source =
            self.machines.as_mut().and_then(|machines| machines.hosts.get_mut(place)?.source.as_mut());
        let Some(source) = source else { return };
        let refused = source.want(&own.iter().collect::<Vec<_>>());
        for error in refused {
            self.paths.retain(|path| *path != error.path);
            self.message = Some(error.to_string());
            self.monitor.fail(error);
        }
    }

    /// Has every machine after the first collect the paths that are its own.
    pub(super) fn want_paths_of_all(&mut self) {
        let count = self.machines.as_ref().map_or(0, |machines| machines.hosts.len());
        (1..count).for_each(|place| self.want_paths_of(place));
    }
}
