//! One live machine: its source, and what it had last.

use std::time::{Duration, Instant};

use tallymon::core::flow::{Cell, NoValue};
use tallymon::sample::{Listener, Pending};
use tallymon::{CounterHandle, Definitions, Locale, Query, Reading, SourceInfo};

use crate::model::{Health, HostSummary};
use crate::workspace::feed::Sampling;
use crate::workspace::options::{LiveHost, Opening};

/// A live machine.
pub(crate) struct Machine {
    pub(crate) name: String,
    /// `None` for the first one: the workspace has its sampler and its query.
    pub(super) source: Option<MachineSource>,
    pub(super) health: Health,
    /// What it had last, for the chart; `None` if the query that made it is gone.
    pub(super) readings: Option<Vec<Reading>>,
    /// They came since the last row.
    pub(super) is_fresh: bool,
    /// The last row has new ones.
    pub(super) had_row: bool,
    pub(super) page: Option<PageFeed>,
    /// Names and objects that came anew, for the screens.
    pub(super) renewed: Option<SourceInfo>,
}

/// The source of a machine after the first.
pub(super) struct MachineSource {
    pub(super) sampling: Sampling,
    /// Its names and objects, on their way.
    opening: Option<Pending<SourceInfo>>,
    pub(super) info: Option<SourceInfo>,
    pub(super) query: Option<Query>,
    /// The paths of the query, as they were written.
    paths: Vec<(String, CounterHandle)>,
    /// The paths that its objects were defined for.
    pub(super) asked: Vec<String>,
}

/// The counters of a machine for the page of all.
pub(super) struct PageFeed {
    pub(super) summary: HostSummary,
    pub(super) query: Query,
    pub(super) listener: Listener,
}

impl Machine {
    pub(super) fn new(host: LiveHost, is_first: bool) -> Machine {
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
            asked: Vec::new(),
        });
        Machine {
            name: host.name,
            source,
            health,
            readings: None,
            is_fresh: false,
            had_row: false,
            page: None,
            renewed: None,
        }
    }

    /// The beginning of its paths: empty for the first machine.
    pub(super) fn prefix(&self) -> String {
        if self.source.is_some() { format!("\\\\{}", self.name) } else { String::new() }
    }

    /// Its readings for a row: new ones, old ones, or the reason why there are none.
    pub(super) fn row(&self) -> Vec<Reading> {
        let mut readings = self.readings.clone().unwrap_or_default();
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

    /// Forgets its readings: in another query their handles mean other paths.
    pub(super) fn forget_readings(&mut self) {
        self.readings = None;
    }

    /// Why one of its lines has no value in this row when no reading is for it.
    pub(super) fn gap(&self) -> NoValue {
        if self.is_fresh && self.readings.is_some() { NoValue::NoInstance } else { self.health.gap() }
    }

    /// Begins anew without paths, after a time without samples: rates over it would be meaningless.
    pub(super) fn begin_again(&mut self) {
        self.forget_readings();
        self.is_fresh = false;
        if let Some(source) = &mut self.source {
            source.query = source.info.clone().map(Query::over);
            source.paths.clear();
            source.sampling.listen_again();
        }
    }

    pub(super) fn take_readings(&mut self, mut readings: Vec<Reading>) {
        let prefix = self.prefix();
        for reading in &mut readings {
            reading.path.insert_str(0, &prefix);
        }
        (self.readings, self.is_fresh) = (Some(readings), true);
    }

    /// Asks for the names and objects of a machine that has not answered yet.
    pub(super) fn begin_opening(&mut self, locale: Locale, paths: Vec<String>) {
        let Some(source) = &mut self.source else { return };
        source.asked.clone_from(&paths);
        source.opening = Some(source.sampling.sampler.info(locale, Definitions::OfPaths(paths)));
        self.health.asked.get_or_insert_with(Instant::now);
    }

    /// Whether it has to be opened now.
    pub(super) fn is_to_open(&self) -> bool {
        let is_closed = |source: &MachineSource| source.query.is_none() && source.opening.is_none();
        self.source.as_ref().is_some_and(is_closed) && !self.health.rests()
    }

    /// Takes the names and objects if they are there; whether anything changed.
    pub(super) fn opens(&mut self) -> bool {
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
                Some(Ok(info)) => {
                    let info = named(info, &self.name);
                    self.renewed = Some(info.clone());
                    info
                }
                // The known ones stay, and paths that waited for others are reported.
                Some(Err(_)) => return true,
                None => return false,
            },
        };
        // A program that was started anew may have other numbers for its objects.
        if source.info.as_ref().is_none_or(|known| known.catalog != info.catalog) {
            source.query = Some(Query::over(info.clone()));
            source.paths.clear();
            source.info = Some(info);
            self.page = None;
            self.forget_readings();
        }
        true
    }
}

impl MachineSource {
    /// Collects the paths of this machine that are wanted, and no others; those that its query refuses are
    /// returned.
    pub(super) fn want(&mut self, wanted: &[&String]) -> Vec<tallymon::PathError> {
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

    /// Whether a reading is of one of its paths.
    pub(super) fn collects(&self, reading: &Reading) -> bool {
        self.paths.iter().any(|(_, handle)| *handle == reading.handle)
    }
}

/// The names and objects of a machine that paths call by this name.
fn named(mut info: SourceInfo, name: &str) -> SourceInfo {
    if !info.host_names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
        info.host_names.push(name.to_string());
    }
    info
}
