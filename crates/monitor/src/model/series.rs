//! One line of the chart: a counter of an instance, with its values in memory.

use std::collections::VecDeque;
use std::ops::Range;

use tallymon::core::counter::CounterType;
use tallymon::core::flow::{Absence, Cell, NoValue, PartialSum, Sample, Value};
use tallymon::core::time::FileTime;
use tallymon::core::title::TitleIndex;
use tallymon::human::Unit;
use tallymon::{InstanceIdentity, InstanceKey, Query, Reading};

use crate::model::identity::SeriesIdentity;
use crate::model::partial_runs::PartialRuns;
use crate::model::point::{POINT_BYTES, Point};
use crate::model::raw::RawSamples;
use crate::model::scale::Scale;

/// A counter of an instance.
#[derive(Debug, Clone)]
pub struct Series {
    /// Full path in English; it begins with the host only where that differs from the host of the query.
    pub path: String,
    /// The path that requested it, as it was written.
    pub asked: String,
    /// The place of its host among several; 0 for the host of the query.
    pub place: usize,
    /// Its values were computed from those of all hosts, so that it has no raw samples.
    pub is_computed: bool,
    /// Object.
    pub object: TitleIndex,
    /// Counter.
    pub counter: TitleIndex,
    /// Name of the object in the user's language.
    pub object_name: String,
    /// Name of the counter in the user's language.
    pub counter_name: String,
    /// Instance with its number, without its parent.
    pub instance: Option<String>,
    /// Parent instance.
    pub parent: Option<String>,
    /// Identity of the instance, where its object has one.
    pub identity: Option<InstanceIdentity>,
    /// Type.
    pub counter_type: CounterType,
    /// Power of ten for charts, from the definition of the counter.
    pub default_scale: i32,
    /// Power of ten that the user chose.
    pub scale: Scale,
    /// Not drawn.
    pub hidden: bool,
    /// Number of the colour, and of the pattern when none is chosen; the theme starts over after its last
    /// one.
    pub colour: usize,
    /// Which pattern the user chose.
    pub pattern: Option<usize>,
    /// How thick it is drawn, see [`Look::width`](crate::model::Look::width).
    pub width: u8,
    /// Alert above this value.
    pub threshold: Option<f64>,
    /// The last value was above the threshold.
    pub(super) was_over: bool,
    /// The last value, or why there is none.
    pub last: Result<Value, NoValue>,
    /// The last value is old: its source did not answer.
    pub stale: bool,
    /// When its last new value came, and when its last row.
    times: Option<(FileTime, FileTime)>,
    /// What the last value lacks, if it is a sum that lacks some of its parts.
    pub partial: Option<PartialSum>,
    /// When its instance ended.
    pub ended: Option<FileTime>,
    /// The last point is that of the newest row; a series that began later has fewer.
    points: VecDeque<Point>,
    /// The raw samples of the points, aligned in the same way; none for a log, whose file has them.
    raw: RawSamples,
    /// What the values of the points lack, aligned in the same way.
    lacks: PartialRuns,
}

/// Statistics over the rows in view.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Statistics {
    /// The newest value.
    pub last: Option<f64>,
    /// Arithmetic mean of the existing values.
    pub average: Option<f64>,
    /// Smallest.
    pub minimum: Option<f64>,
    /// Largest.
    pub maximum: Option<f64>,
    /// How many values there are.
    pub count: u64,
    /// The newest reason for a gap.
    pub reason: Option<NoValue>,
}

impl Series {
    /// The unit of its values, and the factor that makes them whole bytes.
    pub fn unit(&self) -> (Unit, f64) {
        // The path is English, and no name of a counter has a backslash.
        let english = self.path.rsplit('\\').next().unwrap_or_default();
        Unit::of(english, self.counter_type)
    }

    /// Whether its provider failed: it has no value, or an old one, for a reason that lies there.
    pub(crate) fn is_at_fault(&self) -> bool {
        const FAULTS: [Absence; 4] =
            [Absence::ReadFailed, Absence::AccessDenied, Absence::NotInThisKernel, Absence::Other];
        let is_fault = |why: &NoValue| matches!(why, NoValue::NoData(why) if FAULTS.contains(why));
        self.stale || self.last.as_ref().is_err_and(is_fault)
    }

    /// A series without values for the counter and instance of a reading.
    pub fn new(reading: &Reading, query: &Query, colour: usize) -> Series {
        let names = query.names();
        let instance = reading.instance.as_ref();
        Series {
            path: reading.path.clone(),
            asked: query.path(reading.handle).to_string(),
            place: 0,
            is_computed: false,
            object: reading.object,
            counter: reading.counter,
            object_name: names.name(reading.object),
            counter_name: names.name(reading.counter),
            instance: instance.map(name_of).or_else(|| instance_in(&reading.path)),
            parent: instance.and_then(|key| key.parent.clone()),
            identity: None,
            counter_type: reading.definition.counter_type,
            default_scale: reading.definition.default_scale,
            scale: Scale::default(),
            hidden: false,
            colour,
            pattern: None,
            width: 1,
            threshold: None,
            was_over: false,
            last: Err(NoValue::FirstSample),
            stale: false,
            times: None,
            partial: None,
            ended: None,
            points: VecDeque::new(),
            raw: RawSamples::default(),
            lacks: PartialRuns::default(),
        }
    }

    /// The host, where it differs from the host of the query.
    pub fn host(&self) -> Option<&str> {
        self.path.strip_prefix("\\\\")?.split('\\').next()
    }

    /// Its identity, when a wildcard path requested it.
    pub(super) fn full_identity(&self) -> Option<SeriesIdentity> {
        Some((self.place, self.object, self.counter, self.identity?))
    }

    /// The same instance has another name now.
    pub(super) fn rename(&mut self, reading: &Reading) {
        self.path.clone_from(&reading.path);
        self.instance = reading.instance.as_ref().map(name_of);
    }

    /// Takes a value of a log.
    pub(super) fn record(
        &mut self,
        value: &Result<Value, NoValue>,
        partial: Option<PartialSum>,
        time: FileTime,
    ) {
        self.note_last(value, time);
        self.partial = partial;
        self.points.push_back(Point::of(value));
        self.lacks.push(partial);
    }

    /// Takes a value of a log for an existing row.
    pub(super) fn put(
        &mut self,
        nth: usize,
        value: &Result<Value, NoValue>,
        partial: Option<PartialSum>,
        time: FileTime,
    ) {
        self.note_last(value, time);
        self.partial = partial;
        self.lacks.put(nth, partial);
        if let Some(point) = self.points.get_mut(nth) {
            *point = Point::of(value);
        }
    }

    fn note_last(&mut self, value: &Result<Value, NoValue>, time: FileTime) {
        match value {
            Err(NoValue::NoInstance) if self.last.is_ok() => self.ended = Some(time),
            Err(NoValue::NoInstance) => {}
            _ => self.ended = None,
        }
        self.last.clone_from(value);
    }

    /// Takes the newest value.
    pub(super) fn take(&mut self, reading: &Reading, time: FileTime) {
        let gone = reading.cell.value == Err(NoValue::NoInstance);
        if !gone {
            self.ended = None;
        } else if self.points.iter().any(|point| point.read().is_ok()) {
            self.ended.get_or_insert(time);
        }
        if let Some(key) = &reading.instance
            && self.parent != key.parent
        {
            self.parent.clone_from(&key.parent);
        }
        self.stale = reading.cell.stale;
        self.note_time(time, reading.cell.value.is_ok() && !reading.cell.stale);
        self.partial = reading.cell.partial;
        self.last.clone_from(&reading.cell.value);
        self.points.push_back(Point::of(&reading.cell.value));
        self.lacks.push(reading.cell.partial);
        self.raw.push(reading.cell.sample.as_ref(), reading.cell.stale, time);
    }

    fn note_time(&mut self, time: FileTime, is_new: bool) {
        match &mut self.times {
            Some((_, row)) if !is_new => *row = time,
            _ if is_new => self.times = Some((time, time)),
            _ => {}
        }
    }

    /// The time of the last new value and that of the newest row, if the newest row has no new one.
    pub fn age(&self) -> Option<(FileTime, FileTime)> {
        self.times.filter(|(new, row)| new < row)
    }

    /// Records a gap and its reason.
    pub(super) fn miss(&mut self, why: NoValue, time: FileTime) {
        if why == NoValue::NoInstance {
            self.ended.get_or_insert(time);
        }
        self.stale = false;
        self.note_time(time, false);
        self.partial = None;
        self.last = Err(why);
        self.points.push_back(Point::gap(why));
        self.lacks.push(None);
        self.raw.pad(1);
    }

    /// Adds the same point several times.
    pub(super) fn pad(&mut self, rows: usize, point: Point) {
        self.points.extend(std::iter::repeat_n(point, rows));
        self.lacks.pad(rows);
        self.raw.pad(rows);
    }

    /// Moves all values into a copy of this series.
    pub(super) fn take_values(&mut self) -> Series {
        let (points, raw) = (std::mem::take(&mut self.points), std::mem::take(&mut self.raw));
        let lacks = std::mem::take(&mut self.lacks);
        Series { points, raw, lacks, ..self.clone() }
    }

    /// Continues as the later series of the same counter, with the values of its last `rows` rows behind its
    /// own.
    pub(super) fn continue_as(&mut self, mut newer: Series, rows: usize) {
        let missing = rows.saturating_sub(newer.points.len());
        self.pad(missing, Point::gap(NoValue::NoData(Absence::NotRequested)));
        self.points.append(&mut newer.points);
        self.raw.append(std::mem::take(&mut newer.raw));
        self.lacks.append(std::mem::take(&mut newer.lacks));
        newer.points = std::mem::take(&mut self.points);
        newer.lacks = std::mem::take(&mut self.lacks);
        newer.raw = std::mem::take(&mut self.raw);
        *self = newer;
    }

    /// Keeps the newest `rows` values.
    pub(super) fn keep(&mut self, rows: usize) {
        while self.points.len() > rows {
            self.points.pop_front();
        }
        self.raw.keep(rows);
        self.lacks.keep(rows);
        // Give back what a larger limit had reserved.
        if self.points.capacity() > rows.saturating_mul(2).max(64) {
            self.points.shrink_to(rows);
        }
    }

    /// A copy of the newest values, at most so many.
    pub(crate) fn newest(&self, most: usize) -> Vec<Point> {
        let surplus = self.points.len().saturating_sub(most);
        self.points.range(surplus..).copied().collect()
    }

    /// How many values are in memory.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether no value is in memory.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// The value at a row; the history ends before row `next`. `None` when the series did not exist then.
    pub fn at(&self, next: u64, row: u64) -> Option<Result<f64, NoValue>> {
        let back = usize::try_from(next.checked_sub(row)?).ok()?;
        self.points.get(self.points.len().checked_sub(back)?).map(|point| point.read())
    }

    /// The values of some rows, oldest first; fewer when the series did not exist yet. The first one belongs
    /// to the row that is returned with them.
    pub fn values(
        &self,
        next: u64,
        rows: &Range<u64>,
    ) -> (u64, impl DoubleEndedIterator<Item = Result<f64, NoValue>> + Clone) {
        let first = next.saturating_sub(self.points.len() as u64);
        let start = rows.start.max(first);
        let end = rows.end.min(next).max(start);
        let position = |row: u64| usize::try_from(row.saturating_sub(first)).unwrap_or(usize::MAX);
        let (from, to) = (position(start).min(self.points.len()), position(end).min(self.points.len()));
        (start, self.points.range(from..to).map(|point| point.read()))
    }

    /// The cells of the newest rows, at these times: the raw sample, or the reason why there is none.
    pub(crate) fn cells(&self, times: impl ExactSizeIterator<Item = FileTime>) -> impl Iterator<Item = Cell> {
        let early = times.len().saturating_sub(self.points.len());
        let surplus = self.points.len().saturating_sub(times.len());
        let before = match self.instance {
            Some(_) => NoValue::NoInstance,
            None => NoValue::NoData(Absence::NotRequested),
        };
        let points = std::iter::repeat_n(Point::gap(before), early).chain(self.points.iter().copied());
        let lacks = std::iter::repeat_n(None, early).chain(self.lacks.iter()).skip(surplus);
        let rows = self.raw.samples(times).zip(points.skip(surplus)).zip(lacks);
        rows.map(|((sample, point), partial)| match sample {
            Some((sample, stale)) => Cell {
                sample: Some(sample),
                value: Err(NoValue::NoData(Absence::NotRequested)),
                stale,
                partial,
                error: None,
            },
            None => Cell::missing(point.read().err().unwrap_or(NoValue::NotNumeric)),
        })
    }

    /// What the value of a row lacks, if it is a sum that lacks some of its parts.
    pub fn partial_at(&self, next: u64, row: u64) -> Option<PartialSum> {
        let newer = usize::try_from(next.checked_sub(row)?.checked_sub(1)?).ok()?;
        self.lacks.before_newest(newer)
    }

    /// The raw sample of a row, if the source had one.
    pub(crate) fn raw_at(&self, next: u64, row: u64) -> Option<Sample> {
        let newer = usize::try_from(next.checked_sub(row)?.checked_sub(1)?).ok()?;
        self.raw.before_newest(newer)
    }

    /// Bytes of its raw samples, and of what its values lack.
    pub(super) fn raw_bytes(&self) -> usize {
        self.raw.bytes().saturating_add(self.lacks.bytes())
    }

    /// Last, average, minimum and maximum of some rows.
    pub fn statistics(&self, next: u64, rows: &Range<u64>) -> Statistics {
        let mut statistics = Statistics::default();
        let mut sum = 0.0;
        for value in self.values(next, rows).1 {
            match value {
                Ok(number) => {
                    sum += number;
                    statistics.count = statistics.count.saturating_add(1);
                    statistics.last = Some(number);
                    statistics.minimum =
                        Some(statistics.minimum.map_or(number, |least: f64| least.min(number)));
                    statistics.maximum =
                        Some(statistics.maximum.map_or(number, |most: f64| most.max(number)));
                }
                Err(why) => statistics.reason = Some(why),
            }
        }
        if statistics.count > 0 {
            statistics.average = Some(sum / statistics.count as f64);
        }
        statistics
    }

    /// The power of ten to draw it with in a chart up to `maximum`, while these rows are in view.
    pub fn power(&self, next: u64, rows: &Range<u64>, maximum: f64) -> i32 {
        let largest = match self.scale {
            Scale::Power(_) => None,
            _ => self.values(next, rows).1.filter_map(Result::ok).map(f64::abs).reduce(f64::max),
        };
        self.scale.power(self.default_scale, largest, maximum)
    }

    /// Bytes that it uses with its values.
    pub fn bytes(&self) -> usize {
        let points = self.points.capacity().saturating_mul(POINT_BYTES);
        points.saturating_add(self.raw.bytes()).saturating_add(self.own_bytes())
    }

    /// Bytes that it uses without its values: most of the memory where thousands of processes are charted.
    pub(super) fn own_bytes(&self) -> usize {
        let optional = |text: &Option<String>| text.as_ref().map_or(0, String::capacity);
        // The index keeps the path, too.
        let path = self.path.capacity().saturating_mul(2);
        [
            size_of::<Series>(),
            INDEX_BYTES,
            path,
            self.asked.capacity(),
            self.object_name.capacity(),
            self.counter_name.capacity(),
            optional(&self.instance),
            optional(&self.parent),
        ]
        .into_iter()
        .fold(0, usize::saturating_add)
    }
}

/// Bytes of a series in the index without its path: entries in two tables that may be half empty.
const INDEX_BYTES: usize = 160;

/// Name and number, without the parent.
fn name_of(key: &InstanceKey) -> String {
    match key.number {
        0 => key.name.clone(),
        number => format!("{}#{number}", key.name),
    }
}

/// The text in the parentheses of a path, for an instance that does not exist.
fn instance_in(path: &str) -> Option<String> {
    let (before, _) = path.rsplit_once(")\\")?;
    before.split_once('(').map(|(_, instance)| instance.to_string())
}

#[cfg(test)]
mod tests {
    use super::instance_in;

    #[test]
    fn instances_of_paths() {
        assert_eq!(instance_in(r"\Process(a (b))\% Processor Time").as_deref(), Some("a (b)"));
        assert_eq!(instance_in(r"\Memory\Available MBytes"), None);
    }
}
