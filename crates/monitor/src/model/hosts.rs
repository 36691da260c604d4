//! The page of all hosts as plain data: a row a host, with its state and the load of its machine.

use std::cmp::Ordering;
use std::time::Duration;

use tallymon::core::time::FileTime;
use tallymon::{ClockOffset, Query};

use crate::model::overview::{Metric, Overview, OverviewView};

/// What the history of a summary may use, in bytes: a few rows.
const BUDGET: usize = 64 << 10;

/// How a host answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostState {
    /// It has not answered yet.
    Opening,
    /// It answers.
    Live,
    /// It has not answered for so long; its last values are shown.
    Late(Duration),
    /// It failed, and is tried again after so long; why.
    Failed {
        /// What failed, in words.
        why: String,
        /// How long it is left alone.
        retry: Option<Duration>,
    },
}

impl HostState {
    /// Its place in an order: the worst last.
    const fn rank(&self) -> u8 {
        match self {
            HostState::Live => 0,
            HostState::Opening => 1,
            HostState::Late(_) => 2,
            HostState::Failed { .. } => 3,
        }
    }
}

/// A host of the page.
#[derive(Debug, Clone, PartialEq)]
pub struct HostRow {
    /// Its name.
    pub name: String,
    /// Its place among the hosts.
    pub place: usize,
    /// How it answers.
    pub state: HostState,
    /// How old its values are; `None` before the first.
    pub age: Option<Duration>,
    /// How far its clock is ahead.
    pub clock: Option<ClockOffset>,
    /// Its load; `None` before the first sample.
    pub load: Option<HostLoad>,
}

/// The load of a machine: each number is absent where its source does not have it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HostLoad {
    /// Per cent of all processors.
    pub busy: Option<f64>,
    /// Per cent of the memory that is in use.
    pub memory: Option<f64>,
    /// Per cent of the time in which the busiest disk works.
    pub disk: Option<f64>,
    /// Bytes of all disks a second, read and written.
    pub disk_bytes: Option<f64>,
    /// Bytes of all interfaces a second, in and out.
    pub network: Option<f64>,
    /// Per cent of the time in which tasks waited: for a processor, for memory, for disks.
    pub pressure: [Option<f64>; 3],
    /// Pages a second from and to disks, which a source without pressure has.
    pub paging: Option<f64>,
    /// Tasks that wait for a processor.
    pub queue: Option<f64>,
}

impl HostLoad {
    /// The largest pressure.
    pub fn worst_pressure(&self) -> Option<f64> {
        self.pressure.iter().copied().flatten().max_by(f64::total_cmp)
    }

    fn of(view: &OverviewView) -> HostLoad {
        let total = |all: Vec<f64>| (!all.is_empty()).then(|| all.iter().sum::<f64>());
        let disks: Vec<f64> =
            view.disks.iter().flat_map(|disk| [disk.read.number(), disk.write.number()]).flatten().collect();
        let busiest = view.disks.iter().filter_map(|disk| disk.busy.number()).max_by(f64::total_cmp);
        let has_idle = !view.idle_disks.names.is_empty();
        let interfaces: Vec<f64> = view
            .interfaces
            .iter()
            .flat_map(|one| [one.received.number(), one.sent.number()])
            .flatten()
            .collect();
        let silent = !view.idle_interfaces.names.is_empty();
        let pressure = &view.pressure;
        HostLoad {
            busy: view.processors.total.number(),
            memory: view.memory.share(),
            disk: busiest.or(has_idle.then_some(0.0)),
            disk_bytes: total(disks).or(has_idle.then_some(0.0)),
            network: total(interfaces).or(silent.then_some(0.0)),
            pressure: [&pressure.processor, &pressure.memory[0], &pressure.disk[0]].map(|one| one.number()),
            paging: view.memory.paging.number(),
            queue: view.processors.queue.number(),
        }
    }
}

/// The counters of one host for the page.
#[derive(Debug)]
pub struct HostSummary {
    counters: Overview,
    load: Option<HostLoad>,
}

impl HostSummary {
    /// Adds the counters of the page to a query.
    pub fn new(counters: &mut Query) -> HostSummary {
        let is_wanted = |metric| {
            matches!(
                metric,
                Metric::Busy
                    | Metric::Queue
                    | Metric::TotalMemory
                    | Metric::Available
                    | Metric::Committed
                    | Metric::CommitLimit
                    | Metric::Paging
                    | Metric::DiskIdle
                    | Metric::DiskRead
                    | Metric::DiskWrite
                    | Metric::Received
                    | Metric::Sent
                    | Metric::ProcessorPressure
                    | Metric::MemoryPressure
                    | Metric::DiskPressure
            )
        };
        HostSummary { counters: Overview::of(BUDGET, counters, is_wanted), load: None }
    }

    /// Takes a sample that the query has accepted.
    pub fn take(&mut self, time: FileTime, query: &Query) {
        self.counters.take(time, query);
        // Times of a clock that was set back move with the newest row.
        let newest = self.counters.newest().unwrap_or(time);
        self.load = Some(HostLoad::of(&self.counters.view(Some(newest), 1, usize::MAX)));
    }

    /// The load at the newest sample.
    pub const fn load(&self) -> Option<&HostLoad> {
        self.load.as_ref()
    }
}

/// A column of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HostColumn {
    /// The name.
    #[default]
    Name,
    /// How it answers.
    State,
    /// Processors.
    Busy,
    /// Memory.
    Memory,
    /// The busiest disk.
    Disk,
    /// Bytes of disks.
    DiskBytes,
    /// Bytes of interfaces.
    Network,
    /// Pressure, or pages a second.
    Pressure,
    /// Waiting tasks.
    Queue,
    /// How old the values are.
    Age,
    /// How far the clock is ahead.
    Clock,
}

impl HostColumn {
    /// All columns in their order.
    pub const ALL: [HostColumn; 11] = [
        HostColumn::Name,
        HostColumn::State,
        HostColumn::Busy,
        HostColumn::Memory,
        HostColumn::Disk,
        HostColumn::DiskBytes,
        HostColumn::Network,
        HostColumn::Pressure,
        HostColumn::Queue,
        HostColumn::Age,
        HostColumn::Clock,
    ];

    /// The next column, or the one before.
    #[must_use]
    pub fn step(self, forward: bool) -> HostColumn {
        let at = HostColumn::ALL.iter().position(|column| *column == self).unwrap_or(0);
        let by = if forward { 1 } else { HostColumn::ALL.len().saturating_sub(1) };
        let next = at.saturating_add(by).checked_rem(HostColumn::ALL.len()).unwrap_or(0);
        HostColumn::ALL.get(next).copied().unwrap_or_default()
    }

    /// The number of a column that has numbers.
    fn number(self, row: &HostRow) -> Option<f64> {
        let load = row.load.as_ref();
        match self {
            HostColumn::Name | HostColumn::State => None,
            HostColumn::Busy => load?.busy,
            HostColumn::Memory => load?.memory,
            HostColumn::Disk => load?.disk,
            HostColumn::DiskBytes => load?.disk_bytes,
            HostColumn::Network => load?.network,
            HostColumn::Pressure => load?.worst_pressure().or(load?.paging),
            HostColumn::Queue => load?.queue,
            HostColumn::Age => row.age.map(|age| age.as_secs_f64()),
            HostColumn::Clock => row.clock.map(|clock| clock.seconds().abs()),
        }
    }
}

/// How the page is sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HostOrder {
    /// By which column.
    pub column: HostColumn,
    /// The other way around: numbers from the smallest on, names from the last on.
    pub is_reversed: bool,
}

impl HostOrder {
    /// Sorts rows: names from the first on, states from the worst on, numbers from the largest on. Hosts
    /// without the number are last either way.
    pub fn sort(self, rows: &mut [HostRow]) {
        let turn = |order: Ordering| if self.is_reversed { order.reverse() } else { order };
        rows.sort_by(|one, other| {
            let order = match self.column {
                HostColumn::Name => turn(natural(&one.name, &other.name)),
                HostColumn::State => turn(other.state.rank().cmp(&one.state.rank())),
                column => match (column.number(one), column.number(other)) {
                    (Some(one), Some(other)) => turn(other.total_cmp(&one)),
                    (Some(_), None) => Ordering::Less,
                    (None, Some(_)) => Ordering::Greater,
                    (None, None) => Ordering::Equal,
                },
            };
            order.then_with(|| natural(&one.name, &other.name)).then(one.place.cmp(&other.place))
        });
    }
}

/// The order of names in which `web2` is before `web10`.
fn natural(one: &str, other: &str) -> Ordering {
    let (mut one, mut other) = (one, other);
    loop {
        let (head, other_head) = (digits(one), digits(other));
        let (Some(head), Some(other_head)) = (head, other_head) else {
            let (mut letters, mut others) = (one.chars(), other.chars());
            match (letters.next(), others.next()) {
                (None, None) => return Ordering::Equal,
                (None, Some(_)) => return Ordering::Less,
                (Some(_), None) => return Ordering::Greater,
                (Some(letter), Some(known)) => {
                    let order = letter.to_lowercase().cmp(known.to_lowercase());
                    if order.is_ne() {
                        return order;
                    }
                    (one, other) = (letters.as_str(), others.as_str());
                }
            }
            continue;
        };
        let (plain, other_plain) = (head.trim_start_matches('0'), other_head.trim_start_matches('0'));
        let order = plain.len().cmp(&other_plain.len()).then_with(|| plain.cmp(other_plain));
        if order.is_ne() {
            return order;
        }
        (one, other) = (one.get(head.len()..).unwrap_or(""), other.get(other_head.len()..).unwrap_or(""));
    }
}

/// The digits that a text begins with.
fn digits(text: &str) -> Option<&str> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end).filter(|digits| !digits.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, place: usize, busy: Option<f64>) -> HostRow {
        let load = Some(HostLoad { busy, ..HostLoad::default() });
        HostRow { name: name.into(), place, state: HostState::Live, age: None, clock: None, load }
    }

    fn sorted(column: HostColumn, is_reversed: bool) -> Vec<String> {
        let mut rows = vec![
            row("web10", 0, Some(1.0)),
            row("web2", 1, None),
            row("Db1", 2, Some(90.0)),
            row("web1", 3, Some(5.0)),
        ];
        rows[1].state = HostState::Failed { why: "gone".into(), retry: None };
        rows[2].state = HostState::Late(Duration::from_secs(3));
        HostOrder { column, is_reversed }.sort(&mut rows);
        rows.into_iter().map(|row| row.name).collect()
    }

    #[test]
    fn hosts_are_sorted_by_any_column() {
        for (column, is_reversed, expected) in [
            (HostColumn::Name, false, ["Db1", "web1", "web2", "web10"]),
            (HostColumn::Name, true, ["web10", "web2", "web1", "Db1"]),
            (HostColumn::Busy, false, ["Db1", "web1", "web10", "web2"]),
            // A host without a number is last either way.
            (HostColumn::Busy, true, ["web10", "web1", "Db1", "web2"]),
            (HostColumn::State, false, ["web2", "Db1", "web1", "web10"]),
            (HostColumn::Clock, false, ["Db1", "web1", "web2", "web10"]),
        ] {
            assert_eq!(sorted(column, is_reversed), expected, "{column:?} {is_reversed}");
        }
        let mut column = HostColumn::Name;
        for _ in HostColumn::ALL {
            let next = column.step(true);
            assert_eq!(next.step(false), column);
            column = next;
        }
        assert_eq!(column, HostColumn::Name);
    }

    #[test]
    fn names_with_numbers_are_in_their_order() {
        for (one, other) in [("web2", "web10"), ("a", "b"), ("a01b2", "a1b3"), ("web", "web1"), ("A1", "b1")]
        {
            assert_eq!(natural(one, other), Ordering::Less, "{one} {other}");
            assert_eq!(natural(other, one), Ordering::Greater, "{one} {other}");
        }
        assert_eq!(natural("WEB01", "web1"), Ordering::Equal);
    }
}
