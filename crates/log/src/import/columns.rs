//! Turns foreign records into columns and samples, by the tables of their formats.

use std::collections::{HashMap, HashSet};

use tallymon_core::counter::CounterType;
use tallymon_core::flow::{Absence, NoValue, Sample};
use tallymon_core::path::{CounterPath, InstancePath, Part};
use tallymon_core::time::{FileTime, Frequency, UNITS_PER_SECOND};

use super::lines::Line;
use super::table::{Field, Kind, Number, Table, terms};
use crate::error::Damage;
use crate::reader::{About, Column};

/// The largest number of columns of an imported log, as for text logs.
pub(crate) const MOST_COLUMNS: usize = 1 << 17;

/// Ticks per second of every clock in an imported log: 100 ns.
#[allow(clippy::cast_possible_wrap, reason = "ten million")]
const TICKS: Frequency = Frequency(UNITS_PER_SECOND as i64);

/// A sum of fields: whether each is subtracted, and its place in the record.
type Sum = Vec<(bool, usize)>;

/// One counter of one instance.
#[derive(Debug)]
struct Target {
    column: usize,
    sum: Sum,
    base: Sum,
    kind: Kind,
    /// The value and the clock before, for rates of numbers with fractions.
    before: Option<(f64, u64)>,
}

/// Builds the columns and records of an imported log.
#[derive(Debug)]
pub(crate) struct Columns {
    pub(crate) about: About,
    /// The host in the paths, if the log says it.
    pub(crate) host: Option<String>,
    /// The targets by table, layout and instance.
    plans: HashMap<String, HashMap<u64, HashMap<String, Vec<Target>>>>,
    by_path: HashMap<String, usize>,
    /// The instances of an object that share a name, with their `#n`.
    same_name: HashMap<(String, String), HashMap<String, u32>>,
    groups: HashMap<(String, String), u32>,
    cells: Vec<Result<Sample, NoValue>>,
    time: FileTime,
    clock: u64,
    left_out: u64,
    /// Instances that came when there was no room for columns, in this record and at most in one.
    left_instances: (u64, u64),
    /// Records do not always have all fields: counters of missing fields keep their last sample, as stale.
    pub(crate) keeps_old: bool,
    /// The fields of each column, if the log keeps old samples.
    sources: Vec<Vec<u32>>,
    /// The fields of this record.
    seen: HashSet<u32>,
    last: Vec<Option<Sample>>,
    stale: Vec<bool>,
    /// The texts of this record.
    texts: HashMap<usize, String>,
}

impl Columns {
    pub(crate) fn new(about: About) -> Columns {
        Columns {
            about,
            host: None,
            plans: HashMap::new(),
            by_path: HashMap::new(),
            same_name: HashMap::new(),
            groups: HashMap::new(),
            cells: Vec::new(),
            time: FileTime(0),
            clock: 0,
            left_out: 0,
            left_instances: (0, 0),
            keeps_old: false,
            sources: Vec::new(),
            seen: HashSet::new(),
            last: Vec::new(),
            stale: Vec::new(),
            texts: HashMap::new(),
        }
    }

    /// Begins a record. `clock` counts in 100 ns, and differences of it are the time between two records.
    pub(crate) fn begin(&mut self, time: FileTime, clock: u64) {
        self.cells.clear();
        self.cells.resize(self.about.columns.len(), Err(NoValue::NoData(Absence::Other)));
        (self.time, self.clock) = (time, clock);
        self.seen.clear();
        self.texts.clear();
        self.left_instances.0 = 0;
    }

    /// A part of the record was taken at another time.
    pub(crate) const fn at(&mut self, time: FileTime, clock: u64) {
        (self.time, self.clock) = (time, clock);
    }

    /// The record has this field.
    pub(crate) fn seen(&mut self, source: u32) {
        self.seen.insert(source);
    }

    pub(crate) fn is_seen(&self, source: u32) -> bool {
        self.seen.contains(&source)
    }

    /// Forgets the samples of earlier records, behind an interruption.
    pub(crate) fn forget_old(&mut self) {
        self.last.clear();
    }

    /// Whether a value of the last record is older than the record.
    pub(crate) fn is_stale(&self, column: usize) -> bool {
        self.stale.get(column).copied().unwrap_or(false)
    }

    /// The text of a text counter in the last record.
    pub(crate) fn text(&self, column: usize) -> Option<&str> {
        self.texts.get(&column).map(String::as_str)
    }

    /// Gives the counters whose fields this record does not have their last sample again.
    fn keep_old(&mut self) {
        self.last.resize(self.cells.len(), None);
        self.stale.clear();
        self.stale.resize(self.cells.len(), false);
        let rows = self.cells.iter_mut().zip(&mut self.last).zip(&mut self.stale).zip(&self.sources);
        for (((cell, last), stale), sources) in rows {
            if cell.is_err() && !sources.iter().any(|source| self.seen.contains(source)) {
                if let Some(sample) = last {
                    *cell = Ok(*sample);
                    *stale = true;
                }
            } else {
                *last = cell.ok();
            }
        }
    }

    /// Ends a record: its cells.
    pub(crate) fn end(&mut self) -> Vec<Result<Sample, NoValue>> {
        if self.keeps_old {
            self.keep_old();
        }
        self.about.records = self.about.records.saturating_add(1);
        std::mem::take(&mut self.cells)
    }

    /// Adds a foreign record of one instance. `key` identifies the instance where several have the same name
    /// (a process id); else it is the name. Records with other fields have another `layout`.
    pub(crate) fn put(
        &mut self,
        table: &Table<'_>,
        layout: u64,
        instance: Option<(&str, &str)>,
        fields: &[Field<'_>],
    ) {
        let key = instance.map_or("", |(key, _)| key);
        let known = self.plans.get(table.group).and_then(|layouts| layouts.get(&layout));
        if known.is_none_or(|plans| !plans.contains_key(key)) {
            if instance.is_some() && self.about.columns.len() >= MOST_COLUMNS && !self.is_planned(table, key)
            {
                let (now, most) = self.left_instances;
                let now = now.saturating_add(1);
                self.left_instances = (now, most.max(now));
                return;
            }
            let targets = self.plan(table, instance, fields);
            let layouts = self.plans.entry(table.group.to_owned()).or_default();
            layouts.entry(layout).or_default().insert(key.to_owned(), targets);
        }
        let layouts = self.plans.get_mut(table.group);
        let Some(targets) = layouts.and_then(|layouts| layouts.get_mut(&layout)?.get_mut(key)) else {
            return;
        };
        for target in targets {
            let sample = target.sample(fields, self.time, self.clock);
            if let (Ok(sample), Some(column)) = (&sample, self.about.columns.get_mut(target.column)) {
                // A number with fractions changes the type of a column that had none yet.
                column.counter_type = sample.counter_type;
            }
            if let Some(cell) = self.cells.get_mut(target.column) {
                *cell = sample;
            }
        }
    }

    /// Whether an instance has a plan, be it for records with other fields.
    fn is_planned(&self, table: &Table<'_>, key: &str) -> bool {
        let layouts = self.plans.get(table.group);
        layouts.is_some_and(|layouts| layouts.values().any(|plans| plans.contains_key(key)))
    }

    fn plan(&mut self, table: &Table, instance: Option<(&str, &str)>, fields: &[Field<'_>]) -> Vec<Target> {
        let place = |name: &str| fields.iter().position(|field| field.name == name);
        let resolve = |sum: &'static str| -> Option<Sum> {
            let mut found = Sum::new();
            for (minus, name, may_miss) in terms(sum) {
                match place(name) {
                    Some(place) => found.push((minus, place)),
                    None if may_miss => {}
                    None => return None,
                }
            }
            (!found.is_empty()).then_some(found)
        };
        let mut used = vec![false; fields.len()];
        let mut targets = Vec::new();
        for row in table.rows {
            let (Some(sum), Some(base)) =
                (resolve(row.from), row.kind.base().map_or(Some(Sum::new()), resolve))
            else {
                continue;
            };
            for (_, place) in &sum {
                if let Some(used) = used.get_mut(*place) {
                    *used = true;
                }
            }
            if let Some(column) = self.column(row.object, instance, row.counter, counter_type(row.kind)) {
                self.fill_from(column, fields, sum.iter().chain(&base));
                targets.push(Target { column, sum, base, kind: row.kind, before: None });
            }
        }
        let unused = fields.iter().enumerate().filter(|(at, _)| used.get(*at) == Some(&false));
        for (at, field) in unused.filter(|_| !table.own.is_empty()) {
            let base = field.own.base().map_or(Some(Sum::new()), resolve).unwrap_or_default();
            if let Some(column) = self.column(table.own, instance, field.name, counter_type(field.own)) {
                self.fill_from(column, fields, [(false, at)].iter());
                targets.push(Target { column, sum: vec![(false, at)], base, kind: field.own, before: None });
            }
        }
        targets
    }

    /// The column of a counter, a new one if there is none.
    fn column(
        &mut self,
        object: &str,
        instance: Option<(&str, &str)>,
        counter: &str,
        counter_type: CounterType,
    ) -> Option<usize> {
        let instance = instance.map(|(key, name)| {
            let same = self.same_name.entry((object.to_owned(), name.to_owned())).or_default();
            let index = same.get(key).copied().unwrap_or_else(|| {
                let next = u32::try_from(same.len()).unwrap_or(u32::MAX);
                same.insert(key.to_owned(), next);
                next
            });
            InstancePath::new(None, name, index)
        });
        let wild = instance.is_some();
        let path = CounterPath {
            machine: self.host.clone(),
            object: Part::Name(object.to_owned()),
            instance,
            counter: Part::Name(counter.to_owned()),
        };
        let text = path.to_string();
        if let Some(known) = self.by_path.get(&text) {
            return Some(*known);
        }
        let place = self.about.columns.len();
        if place >= MOST_COLUMNS {
            self.left_out = self.left_out.saturating_add(1);
            return None;
        }
        let next = u32::try_from(self.groups.len()).unwrap_or(u32::MAX);
        let group = *self.groups.entry((object.to_owned(), counter.to_owned())).or_insert(next);
        self.about.columns.push(Column {
            path: text.clone(),
            parts: Some(path),
            counter_type,
            scale: 0,
            time_base: TICKS,
            group,
            wild,
            live: None,
        });
        self.by_path.insert(text, place);
        self.cells.push(Err(NoValue::NoData(Absence::Other)));
        self.sources.push(Vec::new());
        Some(place)
    }

    /// Notes the fields of a column, for logs that keep old samples.
    fn fill_from<'s>(
        &mut self,
        column: usize,
        fields: &[Field<'_>],
        terms: impl Iterator<Item = &'s (bool, usize)>,
    ) {
        if let Some(sources) = self.sources.get_mut(column).filter(|_| self.keeps_old) {
            sources.clear();
            sources.extend(terms.filter_map(|(_, at)| fields.get(*at)).map(|field| field.source));
        }
    }

    /// Adds a text.
    pub(crate) fn put_text(
        &mut self,
        object: &str,
        instance: Option<(&str, &str)>,
        counter: &str,
        source: u32,
        text: String,
    ) {
        let column = self.column(object, instance, counter, CounterType::PERF_COUNTER_TEXT);
        let Some(column) = column else { return };
        if let Some(sources) = self.sources.get_mut(column).filter(|sources| sources.is_empty()) {
            sources.push(source);
        }
        if let Some(cell) = self.cells.get_mut(column) {
            *cell = Err(NoValue::NotNumeric);
        }
        self.texts.insert(column, text);
    }

    /// Reports the counters that did not fit, once at the end.
    pub(crate) fn report_left_out(&mut self) {
        let left_out = std::mem::take(&mut self.left_out);
        if left_out > 0 {
            self.damage(0, format!("{left_out} counters are left out: a log is read up to {MOST_COLUMNS}"));
        }
        let (_, instances) = std::mem::take(&mut self.left_instances);
        if instances > 0 {
            let words = format!(
                "all counters of up to {instances} instances of a record are left out: a log is read up to \
                 {MOST_COLUMNS} counters"
            );
            self.damage(0, words);
        }
    }

    pub(crate) fn damage_line(&mut self, byte: u64, line: u64, what: String) {
        let record = Some(self.about.records.saturating_add(1));
        self.about.notes.damage(Damage { byte, buffer: None, record, line: Some(line), what });
    }

    /// Reports a line that is too long to be whole.
    pub(crate) fn report_cut(&mut self, line: &Line) {
        if line.is_cut {
            self.damage_line(line.byte, line.number, "a line of more than 1 MiB was cut".to_owned());
        }
    }

    pub(crate) fn damage(&mut self, byte: u64, what: String) {
        let record = Some(self.about.records.saturating_add(1));
        self.about.notes.damage(Damage { byte, buffer: None, record, line: None, what });
    }
}

/// The counter type of a kind, for whole numbers.
const fn counter_type(kind: Kind) -> CounterType {
    match kind {
        Kind::Level(..) => CounterType::PERF_COUNTER_LARGE_RAWCOUNT,
        Kind::Value(_) => CounterType::PERF_DOUBLE_RAW,
        Kind::Rate(..) => CounterType::PERF_COUNTER_BULK_COUNT,
        Kind::Busy(_) | Kind::BusyPart(_) => CounterType::PERF_100NSEC_TIMER,
        Kind::Idle(_) => CounterType::PERF_100NSEC_TIMER_INV,
        Kind::Share(_) => CounterType::PERF_PRECISION_100NS_TIMER,
        Kind::Fraction(_) => CounterType::PERF_LARGE_RAW_FRACTION,
        Kind::Queue(_) => CounterType::PERF_COUNTER_100NS_QUEUELEN_TYPE,
        Kind::TimePer(..) => CounterType::PERF_AVERAGE_TIMER,
        Kind::AmountPer(..) => CounterType::PERF_AVERAGE_BULK,
    }
}

/// The sum of fields: a whole number, or one with fractions if a field has them.
#[derive(Debug, Clone, Copy)]
enum Total {
    Whole(i128),
    Wraps(u32),
    Fraction(f64),
}

fn total(sum: &[(bool, usize)], fields: &[Field<'_>]) -> Option<Total> {
    let numbers = || sum.iter().map(|(minus, at)| Some((*minus, fields.get(*at)?.number?)));
    if numbers().any(|number| number.is_none()) {
        return None;
    }
    if numbers().flatten().any(|(_, number)| matches!(number, Number::F64(_))) {
        let sign = |(minus, number): (bool, Number)| if minus { -number.as_f64() } else { number.as_f64() };
        return Some(Total::Fraction(numbers().flatten().map(sign).sum()));
    }
    if numbers().flatten().all(|(_, number)| matches!(number, Number::U32(_))) {
        let mut wrapped = 0u32;
        for (minus, number) in numbers().flatten() {
            let Number::U32(number) = number else { continue };
            wrapped = if minus { wrapped.wrapping_sub(number) } else { wrapped.wrapping_add(number) };
        }
        return Some(Total::Wraps(wrapped));
    }
    let mut whole = 0i128;
    for (minus, number) in numbers().flatten() {
        let number = number.as_whole()?;
        whole = if minus { whole.saturating_sub(number) } else { whole.saturating_add(number) };
    }
    Some(Total::Whole(whole))
}

impl Total {
    #[allow(clippy::cast_precision_loss, reason = "a value that is shown")]
    fn as_f64(self) -> f64 {
        match self {
            Total::Whole(number) => number as f64,
            Total::Wraps(number) => f64::from(number),
            Total::Fraction(number) => number,
        }
    }

    /// The number times `times` as the raw value of a counter. Times with fractions lose less than a unit.
    fn raw(self, times: u64, divisor: u64) -> Option<u64> {
        let number = match self {
            Total::Whole(number) => number,
            Total::Wraps(number) => i128::from(number),
            #[allow(clippy::cast_possible_truncation, reason = "a float becomes the nearest number there is")]
            #[allow(clippy::cast_precision_loss, reason = "powers of ten and two")]
            Total::Fraction(number) if number.is_finite() => {
                return u64::try_from((number * times as f64 / divisor.max(1) as f64).round() as i128).ok();
            }
            Total::Fraction(_) => return None,
        };
        u64::try_from(number.checked_mul(i128::from(times))?.checked_div(i128::from(divisor))?).ok()
    }
}

impl Target {
    fn sample(&mut self, fields: &[Field<'_>], time: FileTime, clock: u64) -> Result<Sample, NoValue> {
        let missing = NoValue::NoData(Absence::Other);
        let out_of_range = NoValue::NoData(Absence::OutOfRange);
        let Some(sum) = total(&self.sum, fields) else {
            self.before = None;
            return Err(missing);
        };
        let mut sample = Sample {
            counter_type: counter_type(self.kind),
            first: 0,
            second: clock,
            frequency: TICKS,
            multi_count: 1,
            time,
        };
        let double = |value: f64| {
            if value.is_finite() {
                Ok(Sample {
                    counter_type: CounterType::PERF_DOUBLE_RAW,
                    first: value.to_bits(),
                    second: 0,
                    ..sample
                })
            } else {
                Err(NoValue::NotFinite)
            }
        };
        #[allow(clippy::cast_precision_loss, reason = "scales are powers of ten and two")]
        let (number, divisor) = match (self.kind, sum) {
            (Kind::Value(factor), sum) => return double(sum.as_f64() * factor),
            (Kind::Level(number, divisor), Total::Fraction(value)) => {
                return double(value * number as f64 / divisor.max(1) as f64);
            }
            (Kind::Level(1, 1), Total::Whole(value)) if value < 0 => return double(sum.as_f64()),
            (Kind::Rate(number, divisor), Total::Fraction(value)) => {
                let before = self.before.replace((value, clock));
                let Some((before, then)) = before else { return Err(NoValue::FirstSample) };
                if value < before {
                    return Err(NoValue::NegativeValue);
                }
                let elapsed = clock.checked_sub(then).ok_or(NoValue::NegativeTimebase)?;
                if elapsed == 0 {
                    return Err(NoValue::ZeroTimebase);
                }
                let seconds = elapsed as f64 / UNITS_PER_SECOND as f64;
                return double((value - before) * number as f64 / divisor.max(1) as f64 / seconds);
            }
            (Kind::Rate(1, 1), Total::Wraps(_)) => {
                sample.counter_type = CounterType::PERF_COUNTER_COUNTER;
                (1, 1)
            }
            (Kind::Level(number, divisor) | Kind::Rate(number, divisor), _) => (number, divisor),
            (Kind::Busy(number) | Kind::Idle(number) | Kind::Queue(number), _) => (number, 1),
            (Kind::BusyPart(divisor), _) => (1, divisor),
            (Kind::TimePer(number, _) | Kind::AmountPer(number, _), _) => (number, 1),
            (Kind::Share(_) | Kind::Fraction(_), _) => (1, 1),
        };
        sample.first = sum.raw(number, divisor).ok_or(out_of_range)?;
        if self.kind.base().is_some() {
            let base = total(&self.base, fields).ok_or(missing)?;
            sample.second = base.raw(1, 1).ok_or(out_of_range)?;
        } else if matches!(self.kind, Kind::Level(..)) {
            sample.second = 0;
        }
        Ok(sample)
    }
}
