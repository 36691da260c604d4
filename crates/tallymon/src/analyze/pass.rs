//! Reads the logs once: every record goes through every rule, and into the tracks.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};

use tallymon_core::flow::NoValue;
use tallymon_core::path::CounterPath;
use tallymon_core::time::FileTime;
use tallymon_log::select::is_meant;
use tallymon_log::zone::add_minutes;
use tallymon_log::{
    Column, LogClock, LogError, Notes, NumberCooker, ReadOptions, Record, Selection, TimeRange, UsedCounters,
    open,
};

use super::ahead;
use super::cause;
use super::course::{Course, is_counter};
use super::expression::{Expression, Gate};
use super::headline::{HEADLINES, Headline, paired_counters};
use super::machine::{self, MACHINE_RECORDS, Memory};
use super::pieces::{self, Piece};
use super::rule::RuleSet;
use super::track::{Axis, Bucket, HOUR, Hours, Track};
use super::values::Values;
use super::watch::{Watch, seconds_between};

/// The seconds from which a growth in an hour is concluded at least.
const LEAST_FOR_AN_HOUR: f64 = 60.0;

/// What a course has now: its value in the last record, and what the open bucket has of it. They are apart
/// from the course, and beside each other, because every value of a log passes here.
#[derive(Clone, Copy, Default)]
struct Now {
    latest: Option<f64>,
    open: Bucket,
}

/// What decides for most records that a rule does not hold on an instance, without a look at the instance.
struct Door {
    gate: Gate,
    /// The course of the name of the gate.
    course: usize,
    /// Whether no range is open.
    is_closed: bool,
    /// The time in which the gate decided it, which belongs to the time that the watch observed.
    observed: f64,
}

/// What was read.
pub(super) struct Pass {
    pub(super) rules: RuleSet,
    /// The counters that rules, headline counters, pairs of load and wait, or the search for causes use.
    used: UsedCounters,
    pub(super) courses: Vec<Course>,
    pub(super) watches: Vec<Watch>,
    pub(super) axis: Option<Axis>,
    pub(super) records: u64,
    pub(super) first: Option<FileTime>,
    pub(super) last: Option<FileTime>,
    pub(super) clock: LogClock,
    pub(super) notes: Vec<(PathBuf, Notes)>,
    /// Selected counters that the logs do not have.
    pub(super) not_found: Vec<String>,
    pieces: Vec<Piece>,
    /// Columns of counters that are not used have no course.
    by_path: HashMap<(String, u32), Option<usize>>,
    /// How many there are.
    pub(super) without_course: usize,
    /// The rules and their counters that a counter belongs to, by the lowercase names of object and counter.
    wanted: HashMap<(String, String), Vec<(usize, usize)>>,
    watch_of: HashMap<(usize, String, String), usize>,
    /// The course of each counter of each rule by host and instance; without instance for counters that all
    /// instances of the rule share.
    sources: HashMap<(usize, usize, String, Option<String>), usize>,
    /// The door of each watch that has one.
    doors: Vec<Option<Door>>,
    /// Whether the doors have to be made again, because watches or their columns are new.
    has_new_watches: bool,
    /// The distances of the last records, and the one in the middle.
    distances: VecDeque<u64>,
    usual_distance: Option<u64>,
    /// The values of one watch, kept for its memory.
    inputs: Vec<Option<f64>>,
    now: Vec<Now>,
    /// The number of the open bucket.
    open_at: usize,
    /// The courses of headline counters.
    headlines: Vec<usize>,
}

impl Pass {
    /// Reads logs; ends early when `wanted` says that nobody waits for it any more.
    pub(super) fn read(
        logs: &[PathBuf],
        mut rules: RuleSet,
        selection: &Selection,
        options: &ReadOptions,
        wanted: &dyn Fn() -> bool,
    ) -> Result<Pass, LogError> {
        if let Some(first) = logs.first() {
            machine::of_log(first, &mut rules, options)?;
        }
        let mut pass = Pass::new(rules);
        let range = selection.range_of(logs, options)?;
        for path in logs {
            pass.log(path, selection, range, options, wanted)?;
        }
        if pass.records == 0 && range.is_limited() && wanted() {
            return Err(LogClock::of(logs, options)?.no_records(range));
        }
        pass.grown_per_hour();
        let has = |wanted: &CounterPath| {
            pass.courses
                .iter()
                .any(|course| course.parts.as_ref().is_some_and(|parts| is_meant(wanted, parts)))
        };
        pass.not_found =
            selection.counters.iter().filter(|wanted| !has(wanted)).map(ToString::to_string).collect();
        Ok(pass)
    }

    /// Takes values in memory; ends early when `wanted` says that nobody waits for it any more.
    pub(super) fn of_values(of: &Values<'_>, mut rules: RuleSet, wanted: &dyn Fn() -> bool) -> Pass {
        let mut values: Vec<Result<f64, NoValue>> = Vec::new();
        let mut memory = Memory::default();
        for row in 0..of.times.len().min(MACHINE_RECORDS) {
            of.row(row, &mut values);
            memory.record(of.columns, &values);
        }
        memory.tell(of.columns, &mut rules);
        let mut pass = Pass::new(rules);
        let all = Selection::default();
        let place = |column| pass.course(column, 0, of.columns.len(), &all);
        let places: Vec<Option<usize>> = of.columns.iter().map(place).collect();
        let mut before = None;
        for (row, (time, local_minutes)) in of.times.iter().enumerate() {
            if !wanted() {
                break;
            }
            of.row(row, &mut values);
            let hour = add_minutes(*time, *local_minutes).0 / HOUR;
            pass.record((*time, hour), &mut before, &places, &values, of.columns.len());
        }
        pass.end_log();
        pass.grown_per_hour();
        pass
    }

    fn new(mut rules: RuleSet) -> Pass {
        // The parameters stay the same from here on, so that conditions need the counters only.
        let parameters: Vec<Option<f64>> = rules.parameters.iter().map(|(_, value)| *value).collect();
        for rule in &mut rules.rules {
            let from = rule.counters.len();
            let known = |of: &Expression| of.with_values(from, &parameters);
            (rule.when, rule.value) = (known(&rule.when), known(&rule.value));
            rule.until = rule.until.as_ref().map(known);
        }
        let mut wanted: HashMap<(String, String), Vec<(usize, usize)>> = HashMap::new();
        for (rule, of) in rules.rules.iter().enumerate() {
            for (slot, (_, path)) in of.counters.iter().enumerate() {
                wanted.entry(names_of(path)).or_default().push((rule, slot));
            }
        }
        let named = |(object, counter): (&str, &str)| UsedCounters::names_of(object, counter);
        let headlines = HEADLINES.iter().map(|of| (of.object, of.counter));
        let others = headlines.chain(paired_counters()).chain(cause::counters());
        let used = UsedCounters::new(wanted.keys().cloned().chain(others.map(named)));
        Pass {
            rules,
            used,
            courses: Vec::new(),
            watches: Vec::new(),
            axis: None,
            records: 0,
            first: None,
            last: None,
            clock: LogClock::default(),
            notes: Vec::new(),
            not_found: Vec::new(),
            pieces: Vec::new(),
            by_path: HashMap::new(),
            without_course: 0,
            wanted,
            watch_of: HashMap::new(),
            sources: HashMap::new(),
            doors: Vec::new(),
            has_new_watches: false,
            distances: VecDeque::new(),
            usual_distance: None,
            inputs: Vec::new(),
            now: Vec::new(),
            open_at: 0,
            headlines: Vec::new(),
        }
    }

    fn log(
        &mut self,
        path: &Path,
        selection: &Selection,
        range: TimeRange,
        options: &ReadOptions,
        wanted: &dyn Fn() -> bool,
    ) -> Result<(), LogError> {
        let used = selection.counters.is_empty().then(|| self.used.clone());
        let options = &ReadOptions { used, ..options.clone() };
        let mut log = open(path, options)?;
        let mut cooker = NumberCooker::default();
        let (mut values, mut places) = (Vec::new(), Vec::new());
        let mut seen: HashMap<String, u32> = HashMap::new();
        let mut before: Option<FileTime> = None;
        let mut clock = LogClock::default();
        let mut take = |record: &mut Record, columns: &[Column]| {
            if !wanted() {
                return false;
            }
            clock.note(record.time, record.local_minutes);
            if !range.has(record.time) {
                return true;
            }
            for column in columns.iter().skip(places.len()) {
                let same = seen.entry(column.path.clone()).or_default();
                let nth = *same;
                *same = same.saturating_add(1);
                places.push(self.course(column, nth, columns.len(), selection));
            }
            cooker.take(record, &mut values);
            let hour = add_minutes(record.time, record.local_minutes).0 / HOUR;
            self.record((record.time, hour), &mut before, &places, &values, columns.len());
            true
        };
        ahead::read(log.as_mut(), &mut take).map_err(|error| error.in_file(path))?;
        if !wanted() {
            return Ok(());
        }
        self.end_log();
        let columns = places.iter().flatten().copied().collect();
        self.pieces.push(Piece { path: path.to_owned(), range: clock.range(), columns });
        clock.set_zone(&log.about().zone);
        self.clock.add(&clock);
        self.notes.push((path.to_owned(), log.about().notes.clone()));
        Ok(())
    }

    /// Ends the ranges and the bucket that are open.
    fn end_log(&mut self) {
        self.close_bucket();
        self.take_observed();
        for watch in &mut self.watches {
            if let Some(rule) = self.rules.rules.get(watch.rule) {
                watch.end(rule);
            }
        }
    }

    /// The course of a column, with the watches of the rules that are about it.
    fn course(&mut self, column: &Column, nth: u32, columns: usize, selection: &Selection) -> Option<usize> {
        let meant = |parts: &CounterPath| selection.counters.iter().any(|wanted| is_meant(wanted, parts));
        if !selection.counters.is_empty() && !column.parts.as_ref().is_some_and(meant) {
            return None;
        }
        if let Some(course) = self.by_path.get(&(column.path.clone(), nth)) {
            return *course;
        }
        if selection.counters.is_empty() && !self.is_used(column) {
            self.by_path.insert((column.path.clone(), nth), None);
            self.without_course = self.without_course.saturating_add(1);
            return None;
        }
        let course = self.courses.len();
        let is_headline = |of: &Headline| {
            let parts = column.parts.as_ref();
            !of.is_process && parts.is_some_and(|parts| is_counter(parts, of.object, of.counter))
        };
        let is_headline = HEADLINES.iter().any(is_headline);
        self.by_path.insert((column.path.clone(), nth), Some(course));
        self.courses.push(Course {
            path: column.path.clone(),
            parts: column.parts.clone(),
            counter_type: column.counter_type,
            track: Track::default(),
            hours: is_headline.then(Hours::default),
        });
        if is_headline {
            self.headlines.push(course);
        }
        self.now.push(Now::default());
        self.courses.reserve(columns.saturating_sub(course));
        if let Some(parts) = &column.parts {
            self.bind(parts, course);
        }
        Some(course)
    }

    /// Whether rules, headline counters, pairs of load and wait, or the search for causes use a column.
    fn is_used(&self, column: &Column) -> bool {
        column.parts.as_ref().is_some_and(|parts| {
            let (object, counter) = (parts.object.to_string(), parts.counter.to_string());
            self.used.has(&object, &counter)
        })
    }

    /// Tells the rules about a new course: it may be an instance to look at, or another counter of one.
    fn bind(&mut self, parts: &CounterPath, course: usize) {
        let Some((host, instance)) = self.courses.get(course).map(|of| (of.host().to_owned(), of.instance()))
        else {
            return;
        };
        let wanted = self.wanted.get(&names_of(parts)).cloned().unwrap_or_default();
        self.has_new_watches |= !wanted.is_empty();
        for (number, slot) in wanted {
            let Some(rule) = self.rules.rules.get(number) else { continue };
            let Some((_, path)) = rule.counters.get(slot) else { continue };
            let is_wild = path.instance.as_ref().is_some_and(|instance| instance.is_wild());
            if !is_meant_here(path, parts) {
                continue;
            }
            // A counter without a wildcard belongs to all instances of the rule.
            let device = rule.device(slot, &instance).map(str::to_owned);
            let names = if is_wild {
                [Some(Some(instance.clone())), device.clone().map(Some)]
            } else {
                [Some(None), None]
            };
            for name in names.into_iter().flatten() {
                self.sources.entry((number, slot, host.clone(), name)).or_insert(course);
            }
            let key = (number, host.clone(), instance.clone());
            if slot == rule.each && rule.is_about(&instance) && !self.watch_of.contains_key(&key) {
                let mut watch = Watch::new(number, &host, &instance, rule.counters.len());
                for (slot, column) in watch.columns.iter_mut().enumerate() {
                    let source = |of: Option<&str>| {
                        self.sources.get(&(number, slot, host.clone(), of.map(str::to_owned))).copied()
                    };
                    let of_device = || source(Some(rule.device(slot, &instance)?));
                    *column = source(Some(&instance)).or_else(of_device).or_else(|| source(None));
                }
                self.watch_of.insert(key.clone(), self.watches.len());
                self.watches.push(watch);
            }
            let is_its = |watch: &Watch| {
                watch.rule == number
                    && watch.host == host
                    && (!is_wild || device.as_deref() == rule.device(slot, &watch.instance))
            };
            if !is_wild || device.is_some() {
                let its = self.watches.iter_mut().filter(|watch| is_its(watch));
                its.for_each(|watch| watch.set_column(slot, course));
            } else if let Some(watch) = self.watch_of.get(&key).and_then(|at| self.watches.get_mut(*at)) {
                watch.set_column(slot, course);
            }
        }
    }

    fn record(
        &mut self,
        (time, hour): (FileTime, u64),
        before: &mut Option<FileTime>,
        places: &[Option<usize>],
        values: &[Result<f64, NoValue>],
        columns: usize,
    ) {
        self.records = self.records.saturating_add(1);
        self.first = Some(self.first.map_or(time, |first| first.min(time)));
        self.last = Some(self.last.map_or(time, |last| last.max(time)));
        let axis = self.axis.get_or_insert_with(|| Axis::new(time, columns));
        let halvings = axis.reach(time);
        let bucket = axis.bucket(time);
        if halvings > 0 || bucket != self.open_at {
            self.close_bucket();
            self.open_at = bucket;
        }
        for _ in 0..halvings {
            self.courses.iter_mut().for_each(|course| course.track.halve());
        }
        self.now.iter_mut().for_each(|now| now.latest = None);
        for (place, value) in places.iter().zip(values) {
            let number = match value {
                Ok(number) if number.is_finite() => *number,
                // As in statistics: a latency without operations is nothing to wait for.
                Err(NoValue::NoOperations) => 0.0,
                _ => continue,
            };
            if let Some(now) = place.and_then(|place| self.now.get_mut(place)) {
                now.latest = Some(number);
                now.open.add(number);
            }
        }
        for place in &self.headlines {
            let latest = self.now.get(*place).and_then(|now| now.latest);
            let hours = self.courses.get_mut(*place).and_then(|course| course.hours.as_mut());
            if let (Some(hours), Some(value)) = (hours, latest) {
                hours.add(hour, time, value);
            }
        }
        let previous = before.replace(time).filter(|previous| *previous <= time);
        let near = previous.filter(|previous| !self.is_gap(*previous, time));
        if self.has_new_watches {
            self.make_doors();
        }
        self.watch(near, time);
    }

    /// Takes the values of a record into the watches.
    fn watch(&mut self, near: Option<FileTime>, time: FileTime) {
        let seconds = seconds_between(near.unwrap_or(time), time);
        let inputs = &mut self.inputs;
        for (watch, door) in self.watches.iter_mut().zip(&mut self.doors) {
            if let Some(door) = door.as_mut().filter(|door| door.is_closed) {
                match self.now.get(door.course).and_then(|now| now.latest) {
                    Some(value) if !door.gate.passes(value) => {
                        door.observed += seconds;
                        continue;
                    }
                    None if door.gate.is_whole => continue,
                    _ => {}
                }
            }
            let Some(rule) = self.rules.rules.get(watch.rule).filter(|rule| !rule.per_hour) else { continue };
            if near.is_none() {
                watch.end(rule);
            }
            inputs.clear();
            let latest = |column: &Option<usize>| self.now.get((*column)?)?.latest;
            inputs.extend(watch.columns.iter().map(latest));
            watch.growth(rule, if near.is_some() { seconds } else { 0.0 }, inputs);
            watch.record(rule, near.unwrap_or(time), time, inputs);
            if let Some(door) = door {
                door.is_closed = watch.is_closed();
            }
        }
    }

    /// Makes the doors of all watches again.
    fn make_doors(&mut self) {
        self.take_observed();
        self.has_new_watches = false;
        let door = |watch: &Watch| {
            let rule = self.rules.rules.get(watch.rule)?;
            // A growth needs every value.
            let gate = rule.when.gate().filter(|_| rule.growth.is_empty() && !rule.per_hour)?;
            let course = (*watch.columns.get(gate.name)?)?;
            Some(Door { gate, course, is_closed: watch.is_closed(), observed: 0.0 })
        };
        self.doors = self.watches.iter().map(door).collect();
    }

    /// Gives the watches the time that their doors observed.
    fn take_observed(&mut self) {
        for (watch, door) in self.watches.iter_mut().zip(&mut self.doors) {
            if let Some(door) = door {
                watch.observed += std::mem::take(&mut door.observed);
            }
        }
    }

    /// Decides the rules about the growth in an hour, of which the whole log is needed.
    fn grown_per_hour(&mut self) {
        let (Some(axis), Some(first), Some(last)) = (self.axis, self.first, self.last) else { return };
        let (points, records, span) = (self.points(), self.records, self.span());
        if span < LEAST_FOR_AN_HOUR {
            return;
        }
        // As many distances as points: the last record is as long as the others.
        let seconds = span * points as f64 / points.saturating_sub(1).max(1) as f64;
        for watch in &mut self.watches {
            let Some(rule) = self.rules.rules.get(watch.rule).filter(|rule| rule.per_hour) else { continue };
            let grown = |column: &Option<usize>| {
                self.courses.get((*column)?)?.track.grown_per_hour(axis, points, seconds)
            };
            let values: Vec<Option<f64>> = watch.columns.iter().map(grown).collect();
            if rule.when.holds(&values) == Some(true) {
                watch.holds_always((first, last), records, rule.value.value(&values).unwrap_or(0.0));
            }
        }
    }

    /// Puts what the open bucket has into the tracks.
    fn close_bucket(&mut self) {
        for (course, now) in self.courses.iter_mut().zip(&mut self.now) {
            if now.open.count > 0 {
                course.track.merge(self.open_at, std::mem::take(&mut now.open));
            }
        }
    }

    /// Whether records are missing between two: they are more than three usual distances apart.
    fn is_gap(&mut self, from: FileTime, to: FileTime) -> bool {
        let distance = to.0.saturating_sub(from.0);
        let usual = self.usual_distance;
        let oldest = if self.distances.len() >= 15 { self.distances.pop_front() } else { None };
        self.distances.push_back(distance);
        // Records are mostly as far apart as ever.
        if oldest != Some(distance) {
            let mut sorted: Vec<u64> = self.distances.iter().copied().collect();
            sorted.sort_unstable();
            self.usual_distance = sorted.get(sorted.len() / 2).copied();
        }
        usual.is_some_and(|usual| distance > usual.saturating_mul(3))
    }

    /// How many buckets of the axis go to one record: buckets may be shorter than the time between records.
    pub(super) fn stretch(&self) -> usize {
        let buckets = self.axis.map_or(0, |axis| axis.buckets);
        buckets.div_ceil(usize::try_from(self.records).unwrap_or(usize::MAX).max(1)).max(1)
    }

    /// The stretches of time with values.
    pub(super) fn points(&self) -> usize {
        self.axis.map_or(0, |axis| axis.buckets.div_ceil(self.stretch()))
    }

    /// Two logs that look like before and after, see [`Piece`].
    pub(super) fn before_and_after(&self) -> Option<(PathBuf, PathBuf)> {
        pieces::before_and_after(&self.pieces, &self.courses, self.usual_distance)
    }

    /// The object of a counter that was read, in lowercase.
    pub(super) fn object_of(&self, path: &str) -> Option<String> {
        self.courses.iter().find(|course| course.path == path)?.object()
    }

    /// The seconds from the first to the last record.
    pub(super) fn span(&self) -> f64 {
        self.first.zip(self.last).map_or(0.0, |(first, last)| seconds_between(first, last))
    }
}

/// Whether a counter has the instance that a path of a rule wants; names were compared already.
fn is_meant_here(wanted: &CounterPath, parts: &CounterPath) -> bool {
    match (&wanted.instance, &parts.instance) {
        (None, None) => true,
        (Some(wanted), Some(found)) => wanted.pattern().matches(None, found.text()),
        _ => false,
    }
}

/// Object and counter in lowercase. The objects of a named instance of SQL Server are those of SQL Server.
pub(super) fn names_of(path: &CounterPath) -> (String, String) {
    UsedCounters::names_of(&path.object.to_string(), &path.counter.to_string())
}
