//! The largest processes as they are, and the others as one: series stay few however many processes come and
//! go.
//!
//! Instances that are processes or threads of a live machine are ranked by the first counter of their object,
//! by what it grew since the row before. The others become the instance `_Other`. Its counters are sums of
//! what they grew by while they were among the others, so that they never fall, whoever comes and goes; what
//! a process did before its first row is not in them. Numbers that go up and down are added. Numbers of
//! processes, priorities, peaks, ages and texts have no sum, and are left out of `_Other`.

use std::collections::{HashMap, HashSet};

use tallymon_core::counter::{CounterType, Formula, Size};
use tallymon_core::flow::{Cell, Column, LiveColumn, NoValue, Row, Sample, Value};
use tallymon_core::path::{CounterPath, InstancePath, Part};

/// The name of all instances that are not among the largest.
pub const OTHER: &str = "_Other";

/// How many rows an instance stays when it is no longer among the largest: a series for one row alone costs
/// an engine as much as a long one.
const ROWS_KEPT: u64 = 10;

/// Counters whose sum means nothing, by their title indexes: numbers of processes and threads, priorities,
/// states, addresses and peaks.
const NOT_SUMMED: [u32; 11] = [46, 172, 178, 182, 336, 682, 694, 706, 784, 804, 1410];

/// The title index of the object Thread, whose instances are processes and threads.
const THREAD: u32 = 232;

/// Reduces rows to the largest processes and threads of each object.
#[derive(Debug)]
pub struct TopInstances {
    most: usize,
    rows: u64,
    columns: Vec<Column>,
    plan: Vec<Option<MemberColumn>>,
    counters: Vec<SummedCounter>,
    numbers: HashMap<CounterName, usize>,
    /// The raw numbers of the row before.
    before: HashMap<(usize, Member), (u64, u64)>,
    /// The last row in which a member was among the largest.
    large: HashMap<Member, u64>,
}

/// An instance of an object: its process, and the name of the thread if it is one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Member {
    object: u32,
    process: u64,
    thread: Option<String>,
}

/// Host, object and counter, by their title indexes.
type CounterName = (Option<String>, u32, u32);

/// Where a column of a member belongs.
#[derive(Debug)]
struct MemberColumn {
    counter: usize,
    member: Member,
}

/// The counter that ranks the members of an object, and how large each is.
type Ranking<'m> = (usize, Vec<(u64, &'m Member)>);

/// A counter and the sum of its others.
#[derive(Debug)]
struct SummedCounter {
    sum: Sum,
    /// A column of it, with `_Other` as its instance.
    column: Column,
    /// What the others grew by.
    grown: (u64, u64),
    /// Whether there ever were others.
    has_others: bool,
}

/// How the others are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sum {
    /// Numbers that go up and down.
    Level,
    /// A number that only grows; the other one is a clock.
    Growth,
    /// Two numbers that only grow: an amount and its parts.
    Parts,
    None,
}

/// The others of a counter in one row.
#[derive(Debug, Clone, Default)]
struct Others {
    level: (u64, u64),
    value: f64,
    sample: Option<Sample>,
    count: u64,
}

impl Sum {
    fn of(counter_type: CounterType, counter: u32) -> Sum {
        if NOT_SUMMED.contains(&counter) {
            return Sum::None;
        }
        match Formula::of(counter_type) {
            Some(Formula::Raw | Formula::Double | Formula::Fraction) => Sum::Level,
            Some(
                Formula::Delta
                | Formula::Rate
                | Formula::QueueLength
                | Formula::Share
                | Formula::InverseShare
                | Formula::MultiShare
                | Formula::InverseMultiShare,
            ) => Sum::Growth,
            Some(Formula::BaseShare) if counter_type != CounterType::PERF_SAMPLE_FRACTION => Sum::Growth,
            Some(Formula::BaseShare | Formula::AverageTime | Formula::AverageBulk) => Sum::Parts,
            _ => Sum::None,
        }
    }
}

impl TopInstances {
    /// Keeps so many instances of each object, and as many more that were among them a moment ago.
    pub fn new(most: usize) -> TopInstances {
        TopInstances {
            most,
            rows: 0,
            columns: Vec::new(),
            plan: Vec::new(),
            counters: Vec::new(),
            numbers: HashMap::new(),
            before: HashMap::new(),
            large: HashMap::new(),
        }
    }

    /// The columns of the rows that follow.
    pub fn columns(&mut self, columns: &[Column]) {
        self.columns = columns.to_vec();
        self.plan = columns.iter().map(|column| self.place(column)).collect();
        let here: HashSet<Member> = self.plan.iter().flatten().map(|place| place.member.clone()).collect();
        self.before.retain(|(_, member), _| here.contains(member));
        self.large.retain(|member, _| here.contains(member));
    }

    fn place(&mut self, column: &Column) -> Option<MemberColumn> {
        let (parts, live) = (column.parts.as_ref()?, column.live.as_ref()?);
        let instance = parts.instance.as_ref()?;
        let member = Member {
            object: live.object.0,
            // 0 is Idle, which is no process.
            process: live.process.filter(|process| *process > 0)?,
            thread: (live.object.0 == THREAD)
                .then(|| instance.text().rsplit('/').next().unwrap_or_default().to_owned()),
        };
        let name = (parts.machine.clone(), live.object.0, live.counter.0);
        let next = self.counters.len();
        let counter = *self.numbers.entry(name).or_insert(next);
        if counter == next {
            self.counters.push(SummedCounter {
                sum: Sum::of(column.counter_type, live.counter.0),
                column: other(column, parts, live),
                grown: (0, 0),
                has_others: false,
            });
        }
        Some(MemberColumn { counter, member })
    }

    /// The columns and cells that are left of a row.
    pub fn row(&mut self, row: &Row<'_>) -> (Vec<Column>, Vec<Cell>) {
        self.rows = self.rows.saturating_add(1);
        let growth = self.growth(row);
        let largest = self.largest(row, &growth);
        let mut others: Vec<Others> = vec![Others::default(); self.counters.len()];
        let (mut columns, mut cells) = (Vec::new(), Vec::new());
        for (position, (column, cell)) in self.columns.iter().zip(row.cells).enumerate() {
            let place = self.plan.get(position).and_then(Option::as_ref);
            let Some(place) = place.filter(|place| !largest.contains(&place.member)) else {
                columns.push(column.clone());
                cells.push(cell.clone());
                continue;
            };
            if let (Some(sum), Some(counter)) =
                (others.get_mut(place.counter), self.counters.get_mut(place.counter))
            {
                let grown = growth.get(position).copied().flatten().unwrap_or((0, 0));
                counter.grown.0 = counter.grown.0.saturating_add(grown.0);
                counter.grown.1 = counter.grown.1.saturating_add(grown.1);
                counter.has_others = true;
                sum.add(cell);
            }
        }
        for (counter, others) in self.counters.iter().zip(&others).filter(|(counter, _)| counter.has_others) {
            if let Some(cell) = counter.cell(others, row) {
                columns.push(counter.column.clone());
                cells.push(cell);
            }
        }
        (columns, cells)
    }

    /// What each column of a member grew by since the row before; `None` in its first row.
    fn growth(&mut self, row: &Row<'_>) -> Vec<Option<(u64, u64)>> {
        let mut growth = Vec::with_capacity(self.plan.len());
        for ((place, column), cell) in self.plan.iter().zip(&self.columns).zip(row.cells) {
            let (Some(place), Some(sample)) = (place, cell.sample.filter(|_| !cell.stale)) else {
                growth.push(None);
                continue;
            };
            let now = (sample.first, sample.second);
            let before = self.before.insert((place.counter, place.member.clone()), now);
            growth.push(before.map(|before| grown(column.counter_type, before, now)));
        }
        growth
    }

    /// The members that stay as they are.
    fn largest(&mut self, row: &Row<'_>, growth: &[Option<(u64, u64)>]) -> HashSet<Member> {
        let mut ranking: HashMap<u32, Ranking<'_>> = HashMap::new();
        for (position, (place, cell)) in self.plan.iter().zip(row.cells).enumerate() {
            let Some(place) = place else { continue };
            let Some(counter) = self.counters.get(place.counter) else { continue };
            let (first, members) =
                ranking.entry(place.member.object).or_insert_with(|| (place.counter, Vec::new()));
            if *first == place.counter {
                let by_level = counter.sum == Sum::Level;
                let level = || cell.sample.map_or(0, |sample| sample.first);
                let size = if by_level {
                    level()
                } else {
                    growth.get(position).copied().flatten().map_or(0, |g| g.0)
                };
                members.push((size, &place.member));
            }
        }
        let mut largest = HashSet::new();
        for (_, members) in ranking.values_mut() {
            // Who was large stays before others of the same size, and the oldest process before younger ones.
            members.sort_by_key(|(size, member)| {
                (std::cmp::Reverse(*size), !self.large.contains_key(member), member.process)
            });
            for (_, member) in members.iter().take(self.most) {
                self.large.insert((*member).clone(), self.rows);
                largest.insert((*member).clone());
            }
            let mut recent: Vec<(u64, &Member)> = members
                .iter()
                .skip(self.most)
                .filter_map(|(_, member)| Some((*self.large.get(*member)?, *member)))
                .filter(|(last, _)| self.rows.saturating_sub(*last) < ROWS_KEPT)
                .collect();
            recent.sort_by_key(|(last, _)| std::cmp::Reverse(*last));
            largest.extend(recent.into_iter().take(self.most).map(|(_, member)| member.clone()));
        }
        largest
    }
}

impl Others {
    fn add(&mut self, cell: &Cell) {
        if cell.stale {
            return;
        }
        let number = match cell.value {
            Ok(Value::Integer(whole)) => Some(whole as f64),
            Ok(Value::Number(number)) => Some(number),
            _ => None,
        };
        self.value += number.unwrap_or(0.0);
        self.count = self.count.saturating_add(u64::from(number.is_some()));
        if let Some(sample) = cell.sample {
            self.level.0 = self.level.0.saturating_add(sample.first);
            self.level.1 = self.level.1.saturating_add(sample.second);
            if self.sample.is_none_or(|known| known.second < sample.second) {
                self.sample = Some(sample);
            }
        }
    }
}

impl SummedCounter {
    /// The cell of all others; `None` where they have no sum.
    fn cell(&self, others: &Others, row: &Row<'_>) -> Option<Cell> {
        let counter_type = self.column.counter_type;
        let like = others.sample.unwrap_or(Sample {
            counter_type,
            first: 0,
            second: 0,
            frequency: self.column.time_base,
            multi_count: 1,
            time: row.time,
        });
        let (first, second) = match self.sum {
            Sum::None => return None,
            Sum::Level => others.level,
            Sum::Growth => (self.grown.0, like.second),
            Sum::Parts => self.grown,
        };
        // The sum of averages is no average.
        let value = match self.sum {
            Sum::Level if counter_type.default_size().is_some() && others.count > 0 => {
                match Formula::of(counter_type) {
                    Some(Formula::Raw) => Ok(Value::Integer(first)),
                    Some(Formula::Fraction) => Err(NoValue::FirstSample),
                    _ => Ok(Value::Number(others.value)),
                }
            }
            Sum::Level => Ok(Value::Integer(0)),
            Sum::Growth if others.count > 0 => Ok(Value::Number(others.value)),
            _ => Err(NoValue::FirstSample),
        };
        Some(Cell {
            sample: Some(Sample { first, second, ..like }),
            value,
            stale: false,
            partial: None,
            error: None,
        })
    }
}

/// What two raw numbers grew by. A number that went back began again; what it did before is not known.
fn grown(counter_type: CounterType, before: (u64, u64), now: (u64, u64)) -> (u64, u64) {
    let is_short = counter_type.size_bits() == Size::Dword && counter_type.default_size() == Some(4);
    let one = |before: u64, now: u64, is_short: bool| match now.checked_sub(before) {
        Some(grown) => grown,
        // A number of 32 bits starts again at its end.
        None if is_short => {
            let grown = u64::from((now as u32).wrapping_sub(before as u32));
            if grown < 1 << 31 { grown } else { 0 }
        }
        None => 0,
    };
    (one(before.0, now.0, is_short), one(before.1, now.1, false))
}

/// A column of all others of a counter.
fn other(column: &Column, parts: &CounterPath, live: &LiveColumn) -> Column {
    let instance = InstancePath::new(None, OTHER, 0);
    let name = |part: &Part| match part {
        Part::Name(name) => name.clone(),
        Part::Index(index) => index.to_string(),
    };
    let path = format!("\\{}({OTHER})\\{}", name(&parts.object), name(&parts.counter));
    Column {
        path: path.clone(),
        parts: Some(CounterPath { instance: Some(instance), ..parts.clone() }),
        live: Some(LiveColumn {
            instance: Some(OTHER.to_owned()),
            process: None,
            local_path: path,
            ..live.clone()
        }),
        ..column.clone()
    }
}

#[cfg(test)]
mod tests {
    use tallymon_core::time::{FileTime, Frequency};
    use tallymon_core::title::TitleIndex;

    use super::*;

    const TIME: CounterType = CounterType::PERF_100NSEC_TIMER;
    const LEVEL: CounterType = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;

    fn column(process: u64, counter: u32, counter_type: CounterType) -> Column {
        Column {
            path: String::new(),
            parts: Some(CounterPath {
                machine: None,
                object: Part::Name("Process".into()),
                instance: Some(InstancePath::new(None, "sh", 0)),
                counter: Part::Name(counter.to_string()),
            }),
            counter_type,
            scale: 0,
            time_base: Frequency(10_000_000),
            group: 0,
            wild: true,
            live: Some(LiveColumn {
                object: TitleIndex(230),
                counter: TitleIndex(counter),
                instance: Some("sh".into()),
                process: Some(process),
                local_path: String::new(),
            }),
        }
    }

    fn cell(counter_type: CounterType, first: u64, second: u64) -> Cell {
        let (time, frequency) = (FileTime(second), Frequency(10_000_000));
        let sample = Sample { counter_type, first, second, frequency, multi_count: 1, time };
        let value = if counter_type == LEVEL { Ok(Value::Integer(first)) } else { Err(NoValue::FirstSample) };
        Cell { sample: Some(sample), value, stale: false, partial: None, error: None }
    }

    /// Processes with their time and memory, as rows: what is left of each row, by process and counter.
    fn left(top: &mut TopInstances, at: u64, processes: &[(u64, u64, u64)]) -> Vec<(Option<u64>, u32, u64)> {
        let columns: Vec<Column> = processes
            .iter()
            .flat_map(|(process, ..)| [column(*process, 6, TIME), column(*process, 180, LEVEL)])
            .collect();
        let cells: Vec<Cell> = processes
            .iter()
            .flat_map(|(_, time, memory)| [cell(TIME, *time, at), cell(LEVEL, *memory, 0)])
            .collect();
        top.columns(&columns);
        let (columns, cells) = top.row(&Row { time: FileTime(at), local_minutes: 0, cells: &cells });
        let found = columns.iter().zip(&cells).map(|(column, cell)| {
            let live = column.live.as_ref().unwrap();
            assert_eq!(live.process.is_none(), live.instance.as_deref() == Some(OTHER));
            (live.process, live.counter.0, cell.sample.unwrap().first)
        });
        found.collect()
    }

    #[test]
    fn the_largest_stay_and_the_others_never_fall() {
        let mut top = TopInstances::new(1);
        let first = left(&mut top, 1, &[(1, 1000, 10), (2, 500, 20), (3, 0, 30)]);
        // Nothing has grown yet: the oldest process is as large as any.
        assert_eq!(first, [(Some(1), 6, 1000), (Some(1), 180, 10), (None, 6, 0), (None, 180, 50)]);
        let second = left(&mut top, 2, &[(1, 1001, 10), (2, 590, 20), (3, 5, 30)]);
        // 1 was large a moment ago and stays; 3 grew by 5.
        assert_eq!(
            second,
            [
                (Some(1), 6, 1001),
                (Some(1), 180, 10),
                (Some(2), 6, 590),
                (Some(2), 180, 20),
                (None, 6, 5),
                (None, 180, 30)
            ]
        );
        // 1 and 3 end, 4 and 5 begin with what they did before anybody looked.
        let third = left(&mut top, 3, &[(2, 600, 20), (4, 7000, 1), (5, 100, 2)]);
        assert_eq!(third[2..], [(None, 6, 5), (None, 180, 3)]);
        let fourth = left(&mut top, 4, &[(2, 700, 20), (4, 7003, 1), (5, 104, 2)]);
        assert_eq!(fourth[2..], [(None, 6, 12), (None, 180, 3)]);
        // A number that goes back began again.
        let fifth = left(&mut top, 5, &[(2, 800, 20), (4, 1, 1), (5, 105, 2)]);
        assert_eq!(fifth[2..], [(None, 6, 13), (None, 180, 3)]);
    }

    #[test]
    fn who_was_large_leaves_after_a_while_and_never_more_than_twice_as_many_stay() {
        let mut top = TopInstances::new(2);
        let mut times = [0u64; 20];
        let mut most = 0;
        for row in 0..60 {
            // Each is the busiest for one row in turn; from row 40 on only the first two are.
            let busy = if row < 40 { row % 20 } else { row % 2 };
            times[busy] += 100;
            let processes: Vec<(u64, u64, u64)> =
                times.iter().zip(1..).map(|(time, process)| (process, *time, 1)).collect();
            let left = left(&mut top, row as u64 + 1, &processes);
            let shown =
                left.iter().filter(|(process, counter, _)| process.is_some() && *counter == 6).count();
            most = most.max(shown);
            if row == 59 {
                assert_eq!(shown, 2, "{left:?}");
            }
        }
        assert!(most <= 4, "{most}");
    }

    #[test]
    fn what_is_no_process_stays_and_what_has_no_sum_is_left_out() {
        let mut top = TopInstances::new(1);
        let mut disk = column(1, 200, TIME);
        disk.live.as_mut().unwrap().process = None;
        let started = CounterType::PERF_ELAPSED_TIME;
        let columns = [
            column(1, 784, LEVEL),
            column(2, 784, LEVEL),
            column(1, 684, started),
            column(2, 684, started),
            disk.clone(),
            disk,
        ];
        let cells: Vec<Cell> = columns.iter().map(|column| cell(column.counter_type, 1, 1)).collect();
        top.columns(&columns);
        let (columns, _) = top.row(&Row { time: FileTime(1), local_minutes: 0, cells: &cells });
        let left: Vec<u32> = columns.iter().map(|column| column.live.as_ref().unwrap().counter.0).collect();
        assert_eq!(left, [784, 684, 200, 200]);
    }

    #[test]
    fn numbers_of_32_bits_go_on() {
        let short = CounterType::PERF_COUNTER_COUNTER;
        let end = u64::from(u32::MAX);
        assert_eq!(grown(short, (end - 1, 0), (3, 0)), (5, 0));
        assert_eq!(grown(short, (1_000_000, 0), (3, 0)), (0, 0), "it began again");
        assert_eq!(grown(TIME, (end, 0), (3, 0)), (0, 0));
        assert_eq!(grown(CounterType::PERF_AVERAGE_BULK, (5, 2), (9, 3)), (4, 1));
    }
}
