//! Live samples: requested, taken, or missed.

use std::io;
use std::time::Duration;

use tallymon::clock::now;
use tallymon::core::flow::{Absence, NoValue, SourceError, SourceErrorKind};
use tallymon::core::time::FileTime;
use tallymon::sample::{SharedSnapshot, Tick as Sample};
use tallymon::{Query, SourceInfo};

use crate::model::Top;
use crate::workspace::feed::{self, Sampling};
use crate::workspace::machines::{Arrivals, Machines};
use crate::workspace::state::Workspace;

/// The longest pause between two tries of a failing source.
const LONGEST_RETRY: Duration = Duration::from_secs(30);
/// An answer is late after this time, also with a shorter interval.
const LATE: Duration = Duration::from_secs(1);

impl Workspace {
    /// Samples the live source on a thread of its own.
    pub(super) fn begin_sampling(&mut self) -> io::Result<()> {
        if self.replay.is_some() {
            return Ok(());
        }
        let sampler = match self.options.sampler.take() {
            Some(sampler) => sampler,
            None => {
                let none = Query::over(self.query.info());
                let (sampler, query) = feed::sampled(std::mem::replace(&mut self.query, none))?;
                self.query = query;
                sampler
            }
        };
        self.sampling = Some(Sampling::new(sampler));
        self.know(self.query.info());
        Ok(())
    }

    /// Gives these names and objects to queries that are made from now on.
    fn know(&mut self, info: SourceInfo) {
        self.options.open = Box::new(move || Ok(Query::over(info.clone())));
    }

    /// Requests the current names and objects of the source, with those of the paths that are shown.
    pub(crate) fn renew_info(&mut self) {
        let locale = self.query.names().locale();
        let mut paths = self.paths_of(0);
        paths.extend(self.undefined.iter().cloned());
        if let Some(sampling) = &mut self.sampling {
            sampling.renew(locale, paths);
        }
    }

    /// Requests all objects of a host, for a list of them: all its libraries are started.
    pub(crate) fn define_all(&mut self, host: usize) {
        let locale = self.query.names().locale();
        let of_machine = self.machines.as_mut().and_then(|machines| machines.sampling(host));
        if let Some(sampling) = of_machine.or(self.sampling.as_mut()) {
            sampling.renew_all(locale);
        }
    }

    /// The paths of a host that are shown.
    pub(super) fn paths_of(&self, host: usize) -> Vec<String> {
        self.paths.iter().filter(|path| self.host_of(path) == host).cloned().collect()
    }

    /// Whether names and objects are awaited, or have come and are not shown yet.
    pub(crate) fn is_renewing(&self) -> bool {
        self.is_own_renewing() || self.machines.as_ref().is_some_and(Machines::has_renewed)
    }

    fn is_own_renewing(&self) -> bool {
        self.sampling.as_ref().is_some_and(Sampling::is_renewing)
    }

    /// Takes the names and objects of the source if they arrive within a time, and returns those that differ
    /// from the known ones, each with its host.
    pub(crate) fn infos_come(&mut self, patience: Duration) -> Vec<(usize, SourceInfo)> {
        let mut infos = self.machines.as_mut().map(Machines::take_renewed).unwrap_or_default();
        if !self.is_own_renewing() {
            return infos;
        }
        // If the source fails, the known ones stay.
        let info = self.sampling.as_mut().and_then(|sampling| sampling.renewed(patience)?.ok());
        let mut is_known =
            |info: &SourceInfo| (self.options.open)().is_ok_and(|known| *known.catalog() == info.catalog);
        if let Some(info) = info.filter(|info| !is_known(info)) {
            self.know(info.clone());
            self.successor = self.reopened();
            infos.push((0, info));
        }
        if !self.is_own_renewing() {
            for path in std::mem::take(&mut self.undefined) {
                self.add_defined(&path);
            }
        }
        infos
    }

    /// Requests a sample of what all screens show. A request while the last sample has not arrived yet leaves
    /// a gap for this time.
    pub(crate) fn begin_sample(&mut self) {
        if self.replay.is_some() {
            return self.play();
        }
        self.want();
        if self.machines().is_some() {
            return self.begin_machines();
        }
        if self.sampling.as_mut().is_some_and(|sampling| !sampling.sampler.tick()) {
            self.gap(NoValue::NoData(Absence::ReadFailed));
        }
    }

    /// Includes the current counters in the next sample.
    fn want(&self) {
        let Some(sampling) = &self.sampling else { return };
        let request = self.query.request();
        let both = self.successor.as_ref().and_then(|successor| request.union(&successor.request()));
        sampling.listener.want(both.unwrap_or(request));
    }

    /// The samples that arrive within a time, for the chart or for another screen. The chart has taken them.
    pub(crate) fn samples_come(&mut self, patience: Duration) -> Arrivals {
        // A counter that was added since the request would have a gap.
        self.want();
        if self.machines().is_some() {
            return self.machines_come(patience);
        }
        let sample = self.sample_comes(patience);
        Arrivals { has_news: sample.is_some(), samples: sample.into_iter().collect() }
    }

    fn sample_comes(&mut self, patience: Duration) -> Option<Sample> {
        let sampling = self.sampling.as_mut()?;
        let sample = sampling.sampler.poll(patience)?;
        match sample.of(&sampling.listener).map(|result| result.cloned()) {
            Some(Ok(snapshot)) => {
                let time = self.query.accept(snapshot.clone());
                self.take(Ok(time));
                self.change_query(snapshot);
            }
            Some(Err(error)) => self.take(Err(error)),
            None => {}
        }
        Some(sample)
    }

    /// Whether a requested row has not arrived yet.
    pub(crate) fn is_waiting(&self) -> bool {
        if let Some(machines) = self.machines() {
            return machines.is_waiting();
        }
        self.sampling.as_ref().is_some_and(|sampling| sampling.sampler.is_waiting())
    }

    /// How late the requested sample is; `None` while it is not late.
    pub(crate) fn late(&self) -> Option<Duration> {
        if self.machines().is_some() {
            // Each machine has a state of its own.
            return None;
        }
        let age = self.sampling.as_ref()?.sampler.waits_for()?;
        (age >= LATE.max(self.options.interval)).then_some(age)
    }

    /// How long to wait for the next sample: longer and longer while the source fails.
    pub(crate) fn pause(&self) -> Duration {
        let doublings = self.failures.min(16);
        let pause = self.options.interval.saturating_mul(1 << doublings);
        if self.failures == 0 { pause } else { pause.min(LONGEST_RETRY.max(self.options.interval)) }
    }

    /// Notes how long it is until a failed source is tried again; whether the shown seconds change.
    pub(crate) fn count_down(&mut self, left: Duration) -> bool {
        // Round up: the last second is shown until it is over.
        let seconds = left.as_secs().saturating_add(u64::from(left.subsec_nanos() > 0));
        let countdown = self.failure.as_ref().map(|_| seconds.max(1));
        std::mem::replace(&mut self.countdown, countdown) != countdown
    }

    fn take(&mut self, collected: Result<FileTime, SourceError>) {
        match collected {
            Ok(time) => {
                self.failure = None;
                self.failures = 0;
                self.readings = Top::readings(&self.query);
                self.monitor.take(time, &self.query, &self.readings);
            }
            Err(error) => {
                let why = match error.kind {
                    SourceErrorKind::Unreachable => NoValue::NoMachine,
                    _ => NoValue::NoData(Absence::ReadFailed),
                };
                self.gap(why);
                self.failures = self.failures.saturating_add(1);
                self.failure = Some(error);
            }
        }
        self.forget_steps();
        self.watch_top();
        self.choose_what_was_added();
    }

    /// Records a gap of all series at the time of the missing sample.
    fn gap(&mut self, why: NoValue) {
        let pause = u64::try_from(self.pause().as_nanos() / 100).unwrap_or(0);
        let newest = self.monitor.next().checked_sub(1).and_then(|row| self.monitor.time(row));
        let time = newest.map_or_else(now, |time| FileTime(time.0.saturating_add(pause)));
        self.monitor.miss(time, why);
        self.overview_misses(time, why);
    }

    /// Replaces the query by the one without removed counters after its second sample, so that rates have no
    /// gap.
    pub(super) fn change_query(&mut self, snapshot: SharedSnapshot) {
        let Some(mut successor) = self.successor.take() else { return };
        let had_one = successor.snapshot().is_some();
        successor.accept(snapshot);
        if had_one {
            self.query = successor;
        } else {
            self.successor = Some(successor);
        }
    }
}
