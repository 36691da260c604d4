//! The objects that the meters of programs become: an object for each meter, counters for each instrument, an
//! instance for each program and set of tags.
//!
//! Their names come from programs, so that indexes are found by a hash of the names: they stay as long as
//! this process runs, and are the same in most others.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{LazyLock, Mutex, PoisonError};

use tallymon_provider::{
    Absence, CounterBlockMut, CounterSpec, CounterType as Type, DetailLevel, HelpIndex, InstanceKind,
    ObjectSpec, TitleIndex, Titles,
};

use super::meters::{Meters, QUANTILES, Series};
use crate::meters::{Instrument, InstrumentKind};

/// The indexes of names from programs: no registry assigns these, and no publisher gets them.
const FIRST_INDEX: u32 = 3_000_000;
const PLACES: u32 = 1 << 20;
/// The most names that get indexes in this process, and the most counters of an object. Programs of other
/// users get at most half of the names.
const MOST_NAMES: usize = 8192;
const MOST_COUNTERS: usize = 512;
/// Ticks per second in which objects have their times.
const TICKS: f64 = 1e7;

/// What a counter shows of an instrument.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    /// The growth of a sum per second.
    Rate,
    /// The growth of a sum of seconds, as a share of the time that passed.
    Share,
    /// The last value.
    Last,
    /// How many values per second.
    Count,
    /// The average of the values between two samples.
    Average,
    /// The same for times, in seconds, with their unit as a part of a second.
    AverageTime(f64),
    /// A quantile of the values of the last interval.
    Quantile(usize),
    /// The same for times, in milliseconds, with their unit as a part of a second.
    QuantileTime(usize, f64),
}

impl Part {
    const fn kind(self) -> Type {
        match self {
            Part::Rate | Part::Count => Type::PERF_COUNTER_BULK_COUNT,
            Part::Share => Type::PERF_OBJ_TIME_TIMER,
            Part::Last | Part::Quantile(_) | Part::QuantileTime(..) => Type::PERF_DOUBLE_RAW,
            Part::Average => Type::PERF_AVERAGE_BULK,
            Part::AverageTime(_) => Type::PERF_AVERAGE_TIMER,
        }
    }

    const fn has_base(self) -> bool {
        matches!(self, Part::Average | Part::AverageTime(_))
    }

    fn name(self, instrument: &str) -> String {
        match self {
            Part::Rate | Part::Count => format!("{instrument}/sec"),
            Part::Share => format!("% {instrument}"),
            Part::Last => instrument.to_string(),
            Part::Average | Part::AverageTime(_) => format!("Avg. {instrument}"),
            Part::Quantile(number) => format!("{instrument} {} %", Part::percent(number)),
            Part::QuantileTime(number, _) => format!("{instrument} {} % ms", Part::percent(number)),
        }
    }

    fn percent(number: usize) -> f64 {
        QUANTILES.get(number).copied().unwrap_or(0.0) * 100.0
    }

    fn words(self) -> &'static str {
        match self {
            Part::Rate => "This counter is the growth per second.",
            Part::Share => "This counter is the growth in percent of the time: 100 is one second per second.",
            Part::Last => "This counter is the last value.",
            Part::Count => "This counter is the number of values per second.",
            Part::Average => "This counter is the average of the values between two samples.",
            Part::AverageTime(_) => "This counter is the average between two samples, in seconds.",
            Part::Quantile(_) => {
                "This counter is what that share of the values of the last interval does not exceed, as \
                 the runtime computes it."
            }
            Part::QuantileTime(..) => {
                "This counter is what that share of the values of the last interval does not exceed, in \
                 milliseconds, as the runtime computes it."
            }
        }
    }

    /// What an instrument is shown as.
    fn of(instrument: &Instrument) -> Vec<Part> {
        let unit = seconds(&instrument.unit);
        let quantile = |number| match unit {
            Some(unit) => Part::QuantileTime(number, unit),
            None => Part::Quantile(number),
        };
        match instrument.kind {
            Some(InstrumentKind::Counter | InstrumentKind::ObservableCounter) => {
                vec![if unit == Some(1.0) { Part::Share } else { Part::Rate }]
            }
            Some(InstrumentKind::UpDownCounter | InstrumentKind::Gauge) => vec![Part::Last],
            Some(InstrumentKind::Histogram) => {
                let mut parts = vec![unit.map_or(Part::Average, Part::AverageTime), Part::Count];
                parts.extend((0..QUANTILES.len()).map(quantile));
                parts
            }
            None => Vec::new(),
        }
    }

    /// Writes the value of a series at a time.
    fn write(self, block: &mut CounterBlockMut<'_>, position: usize, series: &Series, time: u64) {
        let base = position.saturating_add(1);
        let whole = |sum: Option<f64>| sum.map(|sum| sum.max(0.0) as u64).ok_or(Absence::FirstSample);
        let real = |value: f64| Ok(value.to_bits());
        let value = match self {
            Part::Rate => whole(series.sum(time)),
            Part::Share => whole(series.sum(time).map(|seconds| seconds * TICKS)),
            Part::Count => whole(series.count(time)),
            Part::Last => real(series.last()),
            Part::Quantile(number) => series.quantile(number).map(f64::to_bits).ok_or(Absence::Other),
            Part::QuantileTime(number, unit) => {
                let milliseconds = series.quantile(number).map(|value| value * unit * 1e3);
                milliseconds.map(f64::to_bits).ok_or(Absence::Other)
            }
            Part::Average => whole(series.sum(time)),
            Part::AverageTime(unit) => whole(series.sum(time).map(|sum| sum * unit * TICKS)),
        };
        let value = match whole(series.count(time)) {
            Ok(count) if self.has_base() => {
                block.set(base, count);
                value
            }
            Err(why) if self.has_base() => Err(why),
            _ => value,
        };
        match value {
            Ok(value) => block.set(position, value),
            Err(why) => self.absent(block, position, why),
        }
    }

    fn absent(self, block: &mut CounterBlockMut<'_>, position: usize, why: Absence) {
        let end = position.saturating_add(if self.has_base() { 2 } else { 1 });
        block.absent(position..end, why);
    }
}

/// The seconds of a unit of time.
fn seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "s" | "sec" | "seconds" => 1.0,
        "ms" | "milliseconds" => 1e-3,
        "us" | "µs" => 1e-6,
        "ns" => 1e-9,
        "min" => 60.0,
        _ => return None,
    })
}

/// A counter of an instrument.
struct MeterCounter {
    instrument: String,
    kind: InstrumentKind,
    part: Part,
    index: TitleIndex,
    name: String,
    help: String,
}

/// The object of a meter.
pub(super) struct MeterObject {
    pub(super) meter: String,
    pub(super) name: String,
    index: TitleIndex,
    counters: Vec<MeterCounter>,
    pub(super) spec: ObjectSpec<'static>,
}

/// Names that cost much to find.
pub(super) type NamesLater = dyn FnOnce() -> Vec<String> + Send;

/// The objects of all meters that were seen, in the order in which they were.
pub(super) struct MeterObjects {
    /// Names of other objects, as the query compares them.
    taken: BTreeSet<String>,
    /// What says further names when the first meter is seen.
    taken_later: Option<Box<NamesLater>>,
    pub(super) objects: Vec<MeterObject>,
}

/// Indexes by object and counter; the counter is empty for the object itself.
#[derive(Default)]
struct Known {
    indexes: HashMap<(String, String), u32>,
    used: HashSet<u32>,
    of_others: usize,
}

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

/// The index of a name; `None` when there are too many.
fn index_of(object: &str, counter: &str, is_own: bool) -> Option<TitleIndex> {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (object.to_string(), counter.to_string());
    if let Some(index) = known.indexes.get(&key) {
        return Some(TitleIndex(*index));
    }
    if known.indexes.len() >= MOST_NAMES || !is_own && known.of_others >= MOST_NAMES / 2 {
        return None;
    }
    known.of_others = known.of_others.saturating_add(usize::from(!is_own));
    let text = object.bytes().chain([0]).chain(counter.bytes());
    // FNV-1a.
    let hash = text.fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let mut place = (hash ^ (hash >> 16)) % PLACES;
    while !known.used.insert(place) {
        place = place.wrapping_add(1) % PLACES;
    }
    let index = place.saturating_mul(2).saturating_add(FIRST_INDEX);
    known.indexes.insert(key, index);
    Some(TitleIndex(index))
}

/// A name as the query compares it: case and blanks do not matter.
pub(super) fn folded(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_whitespace()).flat_map(char::to_lowercase).collect()
}

/// A name of a program without what means something in a path, or is obeyed by a terminal.
fn in_path(text: &str) -> String {
    let clean = |letter: char| match letter {
        '(' => '[',
        ')' => ']',
        '\\' | '*' | '#' | '/' => '_',
        letter if letter.is_control() => ' ',
        letter => letter,
    };
    text.trim().chars().map(clean).collect()
}

/// The name of an instance.
pub(super) fn instance_name(program: &str, tags: &str) -> String {
    if tags.is_empty() { program.to_string() } else { format!("{program} [{}]", in_path(tags)) }
}

/// A number for an instance that stays the same: process ids and tags are different in the instances of an
/// object.
pub(super) fn identity(pid: u32, tags: &str) -> Option<i32> {
    let bytes = pid.to_le_bytes().into_iter().chain(tags.bytes());
    let hash = bytes.fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    i32::try_from(hash >> 1).ok()
}

impl MeterObjects {
    /// No objects yet; none gets one of these names, nor one of those that are asked for when there is a
    /// meter.
    pub(super) fn new<'t>(
        taken: impl IntoIterator<Item = &'t str>,
        taken_later: Option<Box<NamesLater>>,
    ) -> MeterObjects {
        MeterObjects { taken: taken.into_iter().map(folded).collect(), taken_later, objects: Vec::new() }
    }

    /// Adds what a program has.
    pub(super) fn learn(&mut self, meters: &Meters, is_own: bool) {
        let mut changed = BTreeSet::new();
        for instrument in meters.instruments() {
            let position = match self.objects.iter().position(|object| object.meter == instrument.meter) {
                Some(position) => position,
                None => match self.new_object(&instrument.meter, is_own) {
                    Some(object) => {
                        self.objects.push(object);
                        self.objects.len().saturating_sub(1)
                    }
                    None => continue,
                },
            };
            if let Some(object) = self.objects.get_mut(position)
                && object.learn(instrument, is_own)
            {
                changed.insert(position);
            }
        }
        for position in changed {
            if let Some(object) = self.objects.get_mut(position) {
                object.declare();
            }
        }
    }

    fn new_object(&mut self, meter: &str, is_own: bool) -> Option<MeterObject> {
        let more = self.taken_later.take().map_or_else(Vec::new, |names| names());
        self.taken.extend(more.iter().map(|name| folded(name)));
        let mut name = in_path(meter);
        if self.taken.contains(&folded(&name)) {
            name.push_str(" [meter]");
        }
        if name.is_empty() || !self.taken.insert(folded(&name)) {
            return None;
        }
        let index = index_of(&name, "", is_own)?;
        let spec = ObjectSpec::new(index, InstanceKind::Many, &[]);
        Some(MeterObject { meter: meter.to_string(), name, index, counters: Vec::new(), spec })
    }

    /// Adds the names of all objects and counters.
    pub(super) fn add_titles(&self, titles: &mut Titles) {
        let mut add = |index: TitleIndex, name: &str, help: &str| {
            titles.insert_name(index, name);
            titles.insert_help(HelpIndex(index.0.saturating_add(1)), help);
        };
        for object in &self.objects {
            let help = format!("The instruments of the meter {} of .NET programs.", in_path(&object.meter));
            add(object.index, &object.name, &help);
            object.counters.iter().for_each(|counter| add(counter.index, &counter.name, &counter.help));
        }
    }
}

impl MeterObject {
    /// Adds the counters of an instrument; whether there are new ones.
    fn learn(&mut self, instrument: &Instrument, is_own: bool) -> bool {
        let Some(kind) = instrument.kind else { return false };
        let is_known = |known: &MeterCounter| known.instrument == instrument.name && known.kind == kind;
        if self.counters.iter().any(is_known) {
            return false;
        }
        let mut is_new = false;
        for part in Part::of(instrument) {
            let mut name = part.name(&in_path(&instrument.name));
            let is_taken = |name: &str| self.counters.iter().any(|known| folded(&known.name) == folded(name));
            // Two programs may mean different things by one name.
            if is_taken(&name) {
                name = format!("{name} [{kind:?}]");
            }
            if is_taken(&name) || self.counters.len() >= MOST_COUNTERS {
                continue;
            }
            let Some(index) = index_of(&self.name, &name, is_own) else { continue };
            let what = in_words(instrument);
            let help = format!("{what} {}", part.words());
            let instrument = instrument.name.clone();
            self.counters.push(MeterCounter { instrument, kind, part, index, name, help });
            is_new = true;
        }
        is_new
    }

    /// Declares the object for blocks. Like the names this stays as long as the process runs.
    fn declare(&mut self) {
        let mut specs = Vec::new();
        for counter in &self.counters {
            let spec = CounterSpec::new(counter.index, counter.part.kind());
            specs.push(spec);
            if counter.part.has_base() {
                specs.push(CounterSpec { counter_type: Type::PERF_AVERAGE_BASE, ..spec });
            }
        }
        self.spec = ObjectSpec {
            detail: DetailLevel::NOVICE,
            status: true,
            ..ObjectSpec::new(self.index, InstanceKind::Many, specs.leak())
        };
    }

    /// The sets of tags that a program has for this meter; the empty one when there is no series yet.
    pub(super) fn tags<'m>(&self, meters: &'m Meters) -> BTreeSet<&'m str> {
        let series = |counter: &MeterCounter| meters.series(&self.meter, &counter.instrument, counter.kind);
        let mut tags: BTreeSet<&str> =
            self.counters.iter().filter_map(series).flatten().map(|(tags, _)| tags.as_str()).collect();
        if tags.is_empty() {
            tags.insert("");
        }
        tags
    }

    /// Writes an instance, or why it has no values.
    pub(super) fn write(
        &self,
        block: &mut CounterBlockMut<'_>,
        meters: &Meters,
        tags: &str,
        time: u64,
        absence: Option<Absence>,
    ) {
        let mut position = 0usize;
        for counter in &self.counters {
            let part = counter.part;
            let series = meters.series(&self.meter, &counter.instrument, counter.kind);
            match (absence, series.and_then(|series| series.get(tags))) {
                (None, Some(series)) => part.write(block, position, series, time),
                (Some(why), _) => part.absent(block, position, why),
                // Another instrument of the meter has these tags, or nothing was measured so far.
                (None, None) => part.absent(block, position, Absence::Other),
            }
            position = position.saturating_add(if part.has_base() { 2 } else { 1 });
        }
    }
}

/// What the program says about an instrument, as a sentence.
fn in_words(instrument: &Instrument) -> String {
    let mut words = instrument.description.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.is_empty() {
        words = format!("The instrument {} of a .NET program", in_path(&instrument.name));
    }
    if !instrument.unit.is_empty() {
        words = format!("{} [{}]", words.trim_end_matches('.'), instrument.unit);
    }
    if !words.ends_with(['.', '!', '?']) {
        words.push('.');
    }
    words.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// The series of all meters, for the object that lists them.
pub(super) fn sizes(meters: &Meters) -> BTreeMap<String, (u64, u64)> {
    meters.sizes().into_iter().map(|(meter, sizes)| (in_path(meter), sizes)).collect()
}
