//! The overview of a machine as plain data: which counters it has, what they were at a time, and how much
//! load they mean. It knows no screen.
//!
//! The counters are series of a [`Monitor`], as those of the chart are, so that any second in memory can be
//! shown again and any line can move to the chart with its past. Processes are many and short-lived: their
//! past is packed ([`ProcessHistory`]).

mod addresses;
mod containers;
mod counters;
mod gather;
mod graphics;
mod level;
mod look;
mod past;
mod process_row;
mod processes;
mod sensors;
mod space;
mod view;

use std::collections::HashMap;

use tallymon::core::path::CounterPath;
use tallymon::core::time::FileTime;
use tallymon::core::title::TitleIndex;
use tallymon::{Query, Reading};

use crate::model::{Monitor, Series};

pub use addresses::{Addresses, NetworkAddresses};
pub use counters::{
    COUNTERS, Metric, OverviewCounter, PROCESS_COUNTERS, PROCESS_OBJECT, Pane, ProcessMetric, process_counter,
};
pub use level::{Level, Limits, load_of};
pub use look::{Arrangement, ORDERS, OverviewLook};
pub use process_row::ProcessRow;
pub use processes::ProcessHistory;
pub use view::{
    Container, Disk, FileSystem, Folded, Gauge, Graphics, Interface, Memory, OverviewView, Pressure,
    Processors, Sensor, SensorKind,
};

/// The share of the memory for history that the overview uses: a quarter, half of it for processes.
pub const OVERVIEW_SHARE: usize = 4;

/// The object of network interfaces.
const NETWORK_INTERFACE: TitleIndex = TitleIndex(510);

/// The counters of the overview with their history, and the processes.
#[derive(Debug)]
pub struct Overview {
    series: Monitor,
    /// The processes.
    pub processes: ProcessHistory,
    /// The counters that the source does not have.
    lacks: Vec<&'static OverviewCounter>,
    /// The addresses of interfaces, by the names of their instances.
    addresses: Addresses,
    /// The name of the processors of the running machine.
    processor: Option<String>,
    /// The counts of rates at one time of a log, by their paths: its rows have values only.
    counts: Option<(FileTime, HashMap<String, u64>)>,
    /// The source has no processes.
    lacks_processes: Vec<&'static str>,
}

impl Overview {
    /// An overview that keeps its past in at most so many bytes, and the paths that it needs: those of the
    /// counters go into one query, those of the processes into the other.
    pub fn new(budget: usize, counters: &mut Query, processes: &mut Query) -> Overview {
        let lacks_processes = PROCESS_COUNTERS
            .iter()
            .filter(|(_, number, _)| !add(processes, &format!("\\{}(*)\\{number}", PROCESS_OBJECT.0)))
            .map(|(_, _, english)| *english)
            .collect();
        Overview { lacks_processes, ..Overview::of(budget, counters, |_| true) }
    }

    /// An overview of some counters, without processes.
    pub fn of(budget: usize, counters: &mut Query, is_wanted: impl Fn(Metric) -> bool) -> Overview {
        let mut lacks = Vec::new();
        let mut found = Vec::new();
        for counter in COUNTERS.iter().filter(|counter| is_wanted(counter.metric)) {
            if found.contains(&counter.metric) {
                continue;
            }
            if add(counters, counter.path) {
                found.push(counter.metric);
            } else {
                lacks.push(counter);
            }
        }
        lacks.retain(|counter| !found.contains(&counter.metric));
        // Of the alternatives name the first one.
        let mut named = Vec::new();
        lacks.retain(|counter| {
            let is_first = !named.contains(&counter.metric);
            named.push(counter.metric);
            is_first
        });
        Overview {
            series: Monitor::new(budget / 2),
            processes: ProcessHistory::new(budget / 2),
            lacks,
            addresses: Addresses::new(),
            processor: None,
            counts: None,
            lacks_processes: Vec::new(),
        }
    }

    /// Takes the newest sample of the counters.
    pub fn take(&mut self, time: FileTime, query: &Query) {
        self.series.take(time, query, &query.readings());
    }

    /// Sets the addresses of the interfaces of this machine, by the names of their instances.
    pub fn set_addresses(&mut self, addresses: Addresses) {
        self.addresses = addresses;
    }

    /// Sets the name of the processors of this machine.
    pub fn set_processor(&mut self, name: Option<String>) {
        self.processor = name;
    }

    /// Takes the counts of the rates of interfaces at a time of a log.
    pub fn take_counts(&mut self, time: FileTime, readings: &[Reading]) {
        let of_network = |reading: &&Reading| reading.object == NETWORK_INTERFACE;
        let counted = readings.iter().filter(of_network);
        let count = |reading: &Reading| Some((reading.path.clone(), reading.cell.sample.as_ref()?.first));
        self.counts = Some((time, counted.filter_map(count).collect()));
    }

    /// A count that [`Overview::take_counts`] took at this time.
    fn count_of(&self, time: FileTime, path: &str) -> Option<u64> {
        let (of, counts) = self.counts.as_ref()?;
        counts.get(path).copied().filter(|_| *of == time)
    }

    /// Records that a time has no sample.
    pub fn miss(&mut self, time: FileTime, why: tallymon::core::flow::NoValue) {
        self.series.miss(time, why);
        self.processes.miss();
    }

    /// The series with their rows, for a log to fill.
    pub const fn rows_mut(&mut self) -> &mut Monitor {
        &mut self.series
    }

    /// The series with their rows.
    pub const fn rows(&self) -> &Monitor {
        &self.series
    }

    /// The series for a reading of a log.
    pub fn expect_rows(&mut self, query: &Query, readings: &[Reading]) -> Vec<Option<usize>> {
        self.series.expect_rows(query, readings)
    }

    /// The time of the newest second.
    pub fn newest(&self) -> Option<FileTime> {
        self.series.time(self.series.next().checked_sub(1)?)
    }

    /// The row of a time, if it is kept.
    pub fn row_of(&self, time: FileTime) -> Option<u64> {
        self.series.row_at(time).filter(|row| self.series.time(*row) == Some(time))
    }

    /// The series of a path with its history, to show it in a chart whose newest row is of the same time.
    pub fn series_of(&self, path: &str) -> Option<&Series> {
        self.series.series().iter().find(|series| series.path == path)
    }

    /// The paths of all counters that have a value, and of the processes, in English.
    pub fn english_paths(&self) -> Vec<String> {
        let is_used = |path: &str| self.series.series().iter().any(|series| series.asked == path);
        let counters = COUNTERS.iter().filter(|counter| is_used(counter.path)).map(|counter| counter.english);
        let processes = PROCESS_COUNTERS.iter().map(|(_, _, english)| *english);
        counters
            .chain(processes.filter(|english| !self.lacks_processes.contains(english)))
            .map(str::to_string)
            .collect()
    }

    /// The counters of a pane that the source does not have, in English.
    pub fn lacking(&self, pane: Pane) -> Vec<&'static str> {
        if pane == Pane::Processes {
            return self.lacks_processes.clone();
        }
        self.lacks.iter().filter(|counter| counter.pane == pane).map(|counter| counter.english).collect()
    }

    /// Says from now on that the source lacks what it lacked when another overview was made of it. The past
    /// stays.
    pub fn lack_as(&mut self, newer: &Overview) {
        self.lacks.clone_from(&newer.lacks);
        self.lacks_processes.clone_from(&newer.lacks_processes);
    }

    /// Whether the source has any counter of a pane.
    pub fn has(&self, pane: Pane) -> bool {
        match pane {
            Pane::Processes => self.lacks_processes.len() < PROCESS_COUNTERS.len(),
            _ => {
                let metrics = COUNTERS.iter().filter(|counter| counter.pane == pane);
                let lacks = |metric| self.lacks.iter().any(|counter| counter.metric == metric);
                metrics.into_iter().any(|counter| !lacks(counter.metric))
            }
        }
    }

    /// Bytes of the whole history.
    pub fn bytes(&self) -> usize {
        self.series.memory().0.saturating_add(self.processes.bytes())
    }
}

/// Adds a path of numbers to a query; whether the source has it.
fn add(query: &mut Query, path: &str) -> bool {
    CounterPath::parse(path).is_ok_and(|parsed| query.add_path(path, &parsed.path).is_ok())
}
