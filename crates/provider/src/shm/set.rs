//! Declares what a program publishes: sets of counters with names and help texts in any language.

use std::fmt;

use tallymon_core::block::DetailLevel;
use tallymon_core::counter::CounterType;
use tallymon_core::title::Language;

use super::buckets::{Buckets, HistogramShape};
use super::definition::{CounterDefinition, GroupPlace, ObjectDefinition, Storage, Text};
use super::layout::{
    LINE, MAX_GROUP, MAX_HISTOGRAM_LANES, MAX_LANES, MAX_PERCENTILES, MAX_STRIDE, slot, text_value,
};
use super::shared::lanes_of_this_machine;

/// A set of counters, declared once: what readers see as an object.
///
/// The methods that add a text or a property apply to what was named last: the set itself, or a counter.
///
/// ```
/// use tallymon_core::title::Language;
/// use tallymon_provider::CounterType;
/// use tallymon_provider::shm::CounterSet;
///
/// let set = CounterSet::new("Behemoth")
///     .help("The behemoths that are alive.")
///     .name_in(Language::GERMAN, "Behemoth")
///     .instances()
///     .counter("Weight", CounterType::PERF_COUNTER_RAWCOUNT)
///     .help("Kilograms.")
///     .name_in(Language::GERMAN, "Gewicht")
///     .counter("Meals/sec", CounterType::PERF_COUNTER_BULK_COUNT)
///     .shared()
///     .text("Mood", 40);
/// assert!(set.check().is_ok());
/// ```
#[derive(Debug, Clone)]
pub struct CounterSet {
    object: ObjectDefinition,
    capacity: u32,
    /// Whether the counters that are declared now belong to a group, and to which.
    group: Option<usize>,
    groups: usize,
    fault: Option<DeclareError>,
}

/// Why a [`CounterSet`] cannot be published.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeclareError {
    /// A name is empty, or has a character that is not allowed in counter paths.
    BadName {
        /// The name.
        name: String,
    },
    /// Two counters of a set, or two sets of a publisher, have the same name.
    Repeated {
        /// The name.
        name: String,
    },
    /// The set has no counters.
    NoCounters {
        /// The set.
        set: String,
    },
    /// A counter is of a type that needs a base after it, or is a base itself.
    NeedsBase {
        /// The counter.
        counter: String,
    },
    /// The values of one instance, or of one group, are more than fit.
    TooLarge {
        /// The set.
        set: String,
        /// Bytes that it needs.
        needed: usize,
        /// Bytes that it may take.
        most: usize,
    },
    /// A property does not fit the kind of counter.
    Misplaced {
        /// The counter.
        counter: String,
        /// What was wrong.
        why: &'static str,
    },
}

impl fmt::Display for DeclareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeclareError::BadName { name } => {
                write!(
                    f,
                    "the name {name:?} cannot be used: some text without control characters and \\ needed"
                )
            }
            DeclareError::Repeated { name } => write!(f, "the name {name:?} is declared twice"),
            DeclareError::NoCounters { set } => {
                write!(f, "the set {set:?} has no counters: one at least needed")
            }
            DeclareError::NeedsBase { counter } => write!(
                f,
                "the type of the counter {counter:?} works with a base only: declare it with `with_base`, \
                 `with_usual_base` or `average`"
            ),
            DeclareError::TooLarge { set, needed, most } => {
                write!(f, "the set {set:?} takes {needed} bytes where {most} are possible")
            }
            DeclareError::Misplaced { counter, why } => write!(f, "the counter {counter:?}: {why}"),
        }
    }
}

impl std::error::Error for DeclareError {}

impl CounterSet {
    /// A set with an English name. It has exactly one set of values until [`CounterSet::instances`] says
    /// otherwise.
    pub fn new(name: impl Into<String>) -> CounterSet {
        CounterSet {
            object: ObjectDefinition {
                texts: vec![Text::english(name)],
                has_instances: false,
                detail: DetailLevel::NOVICE,
                default_counter: 0,
                counters: Vec::new(),
                groups: Vec::new(),
                stride: 0,
            },
            capacity: 1,
            group: None,
            groups: 0,
            fault: None,
        }
    }

    /// The set has instances, which come and go.
    #[must_use]
    pub fn instances(self) -> CounterSet {
        self.instances_about(8)
    }

    /// The set has instances, probably as many as this at a time. There may be more; this many are read
    /// fastest.
    #[must_use]
    pub fn instances_about(mut self, n: u32) -> CounterSet {
        self.object.has_instances = true;
        self.capacity = n.clamp(1, 1 << 16);
        self
    }

    /// Adds a counter of one number with an English name. Only one thread at a time writes it.
    #[must_use]
    pub fn counter(mut self, name: impl Into<String>, counter_type: CounterType) -> CounterSet {
        let name = name.into();
        if counter_type.takes_base() || counter_type.is_base() || counter_type.is_text() {
            self.fail(DeclareError::NeedsBase { counter: name.clone() });
        }
        self.push(Text::english(name), counter_type, Storage::Number);
        self
    }

    /// Adds a counter of a type that needs a base, with its base of type `base`; both are written together,
    /// so that a reader never sees one without the other. The base of a counter of several resources is their
    /// number.
    #[must_use]
    pub fn with_base(
        self,
        name: impl Into<String>,
        counter_type: CounterType,
        base: CounterType,
    ) -> CounterSet {
        let text = Text::english(name);
        let alone = self.group.is_none();
        let mut set = if alone { self.begin_group() } else { self };
        if !counter_type.takes_base() {
            set.fail(DeclareError::Misplaced { counter: text.name.clone(), why: "its type takes no base" });
        }
        if !base.is_base() {
            set.fail(DeclareError::Misplaced {
                counter: text.name.clone(),
                why: "its base is of a type that is no base",
            });
        }
        set.push(text.clone(), counter_type, Storage::Number);
        set.push(text, base, Storage::Number);
        if alone { set.end_group() } else { set }
    }

    /// Adds a counter of a type that needs a base, with the usual base of this type.
    #[must_use]
    pub fn with_usual_base(mut self, name: impl Into<String>, counter_type: CounterType) -> CounterSet {
        let name = name.into();
        match counter_type.info().and_then(|info| info.base) {
            Some(base) => self.with_base(name, counter_type, base),
            None => {
                self.fail(DeclareError::Misplaced { counter: name, why: "its type takes no base" });
                self
            }
        }
    }

    /// Adds an average of counts, `PERF_AVERAGE_BULK` and its base.
    #[must_use]
    pub fn average(self, name: impl Into<String>) -> CounterSet {
        self.with_base(name, CounterType::PERF_AVERAGE_BULK, CounterType::PERF_AVERAGE_BASE)
    }

    /// Adds an average of times, `PERF_AVERAGE_TIMER` and its base; shown in seconds.
    #[must_use]
    pub fn average_time(self, name: impl Into<String>) -> CounterSet {
        self.with_base(name, CounterType::PERF_AVERAGE_TIMER, CounterType::PERF_AVERAGE_BASE)
    }

    /// Adds the share of a whole, `PERF_LARGE_RAW_FRACTION` and its base; shown in percent.
    #[must_use]
    pub fn fraction(self, name: impl Into<String>) -> CounterSet {
        self.with_base(name, CounterType::PERF_LARGE_RAW_FRACTION, CounterType::PERF_LARGE_RAW_BASE)
    }

    /// Adds how many of the attempts since the last reading hit, `PERF_SAMPLE_FRACTION` and its base; shown
    /// in percent.
    #[must_use]
    pub fn hits(self, name: impl Into<String>) -> CounterSet {
        self.with_base(name, CounterType::PERF_SAMPLE_FRACTION, CounterType::PERF_SAMPLE_BASE)
    }

    /// Adds a histogram of counts: their average under the name, and as counters of their own the number of
    /// values, as `name (count)`, and percentiles of all values so far, such as `name (99.9 %)`.
    #[must_use]
    pub fn histogram(self, name: impl Into<String>, shape: &HistogramShape) -> CounterSet {
        self.average(name).buckets(shape)
    }

    /// As [`CounterSet::histogram`], of times: the average is shown in seconds, percentiles in units of 100
    /// ns.
    #[must_use]
    pub fn histogram_time(self, name: impl Into<String>, shape: &HistogramShape) -> CounterSet {
        self.average_time(name).buckets(shape)
    }

    /// Adds the parts of a histogram after its average. Their names are set at the end, from the name of the
    /// average in all languages.
    fn buckets(mut self, shape: &HistogramShape) -> CounterSet {
        let name = self.object.counters.last().map_or("", |counter| counter.english()).to_string();
        let misplaced = |why| DeclareError::Misplaced { counter: name.clone(), why };
        if self.group.is_some() {
            self.fail(misplaced("a histogram cannot be in a group of numbers"));
        }
        if shape.percentiles.len() > MAX_PERCENTILES {
            self.fail(misplaced("a histogram has at most 8 percentiles"));
        }
        if shape.percentiles.iter().any(|part| !(1..=100_000).contains(part)) {
            self.fail(misplaced("percentiles are in thousandths of a percent, 1 to 100000"));
        }
        let buckets = Buckets::up_to(shape.most, shape.bits);
        for part in std::iter::once(0).chain(shape.percentiles.iter().copied()) {
            let storage = Storage::Histogram { buckets, part, lanes: None };
            self.push(Text::english(name.as_str()), CounterType::PERF_COUNTER_LARGE_RAWCOUNT, storage);
        }
        self
    }

    /// Adds the time since something started, `PERF_ELAPSED_TIME`; shown in seconds.
    #[must_use]
    pub fn elapsed(self, name: impl Into<String>) -> CounterSet {
        self.counter(name, CounterType::PERF_ELAPSED_TIME)
    }

    /// Adds a text of at most `most` bytes of UTF-8 (at most 4,000).
    #[must_use]
    pub fn text(mut self, name: impl Into<String>, most: u16) -> CounterSet {
        let capacity = usize::from(most.clamp(1, 4000)).next_multiple_of(8);
        self.push(Text::english(name), CounterType::PERF_COUNTER_TEXT, Storage::Text { capacity });
        self
    }

    /// Counters that must agree: what `declare` adds is written in one go and read in one go.
    #[must_use]
    pub fn together(self, declare: impl FnOnce(CounterSet) -> CounterSet) -> CounterSet {
        declare(self.begin_group()).end_group()
    }

    /// Many threads at once may add to the counter that was named last: a number, an average or a histogram.
    /// Each processor's share of it has a cache line of its own, which costs memory; see
    /// [`CounterSet::shared_lanes`].
    ///
    /// A reader of a shared average or histogram may see a value without its base while it is being recorded.
    #[must_use]
    pub fn shared(self) -> CounterSet {
        self.shared_lanes(lanes_of_this_machine())
    }

    /// As [`CounterSet::shared`] with a number of lanes, 1 to 64; with 1, all threads add in the same place.
    /// Adding needs a locked instruction unless there is at least one lane more than processors. A histogram
    /// has all of its buckets in each lane; it gets as many lanes as fit into 56 KB, which all histograms of
    /// the set share.
    #[must_use]
    pub fn shared_lanes(mut self, lanes: u32) -> CounterSet {
        let lanes = lanes.clamp(1, MAX_LANES);
        // The group of a single average is the last one that was begun, and has only these two numbers.
        let own_group = self.group.is_none().then(|| self.groups.checked_sub(1)).flatten();
        let n_grouped = |group| self.object.counters.iter().filter(|one| one.group == Some(group)).count();
        let own_group = own_group.filter(|group| n_grouped(*group) == 2);
        let counters = self.last_counters();
        let Some(first) = counters.first() else { return self };
        let averaged = first.counter_type.takes_base();
        let alone =
            if averaged { first.group.is_some() && first.group == own_group } else { first.group.is_none() };
        if first.storage != Storage::Number || !alone {
            let why = "only a number, an average or a histogram that is in no group can be shared";
            let counter = first.english().to_string();
            self.fail(DeclareError::Misplaced { counter, why });
            return self;
        }
        // The base of a histogram is the number of its values.
        let parts = counters.iter().rev().find_map(|counter| match counter.storage {
            Storage::Histogram { buckets, .. } => {
                Some(Storage::Histogram { buckets, part: 0, lanes: Some(lanes) })
            }
            _ => None,
        });
        let sum = Storage::Sum { lanes, lane_stride: 0 };
        for counter in counters {
            counter.group = None;
            counter.storage = match counter.storage {
                Storage::Histogram { buckets, part, .. } => {
                    Storage::Histogram { buckets, part, lanes: Some(lanes) }
                }
                _ if counter.counter_type.is_base() => parts.unwrap_or(sum),
                _ => sum,
            };
        }
        if averaged {
            self.groups = self.groups.saturating_sub(1);
        }
        self
    }

    /// The English help text of what was named last.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> CounterSet {
        self.help_in(Language::ENGLISH, help)
    }

    /// The name, in another language, of what was named last.
    #[must_use]
    pub fn name_in(mut self, language: Language, name: impl Into<String>) -> CounterSet {
        let name = name.into();
        self.last_texts(|texts| change_in(texts, language, |text| text.name.clone_from(&name)));
        self
    }

    /// The help text, in another language, of what was named last.
    #[must_use]
    pub fn help_in(mut self, language: Language, help: impl Into<String>) -> CounterSet {
        let help = help.into();
        self.last_texts(|texts| change_in(texts, language, |text| text.help.clone_from(&help)));
        self
    }

    /// The unit of the counter that was named last, in English: `KB`, `requests`.
    #[must_use]
    pub fn unit(self, unit: impl Into<String>) -> CounterSet {
        self.unit_in(Language::ENGLISH, unit)
    }

    /// The unit, in another language, of the counter that was named last.
    #[must_use]
    pub fn unit_in(mut self, language: Language, unit: impl Into<String>) -> CounterSet {
        let unit = unit.into();
        self.last_texts(|texts| change_in(texts, language, |text| text.unit.clone_from(&unit)));
        self
    }

    /// Power of ten for charts, -7 to 7, of the counter that was named last.
    #[must_use]
    pub fn scale(mut self, scale: i32) -> CounterSet {
        for counter in self.last_counters() {
            counter.scale = scale.clamp(-7, 7);
        }
        self
    }

    /// How much a user has to know to need what was named last.
    #[must_use]
    pub fn detail(mut self, detail: DetailLevel) -> CounterSet {
        if self.object.counters.is_empty() {
            self.object.detail = detail;
        }
        for counter in self.last_counters() {
            counter.detail = detail;
        }
        self
    }

    /// A viewer shows the counter that was named last first.
    #[must_use]
    pub fn first_shown(mut self) -> CounterSet {
        let last = self.object.counters.iter().rposition(is_named);
        self.object.default_counter = u16::try_from(last.unwrap_or(0)).unwrap_or(0);
        self
    }

    /// Whether it can be published.
    ///
    /// # Errors
    ///
    /// The first thing that was declared wrongly.
    pub fn check(&self) -> Result<(), DeclareError> {
        self.place().map(drop)
    }

    /// The English name.
    pub fn name(&self) -> &str {
        self.object.english()
    }

    /// How many instances the first extent holds.
    pub(crate) const fn capacity(&self) -> u32 {
        self.capacity
    }

    /// The definition, with a place for each value.
    pub(crate) fn place(&self) -> Result<ObjectDefinition, DeclareError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let mut object = self.object.clone();
        name_parts(&mut object);
        let set = object.english().to_string();
        if object.counters.is_empty() {
            return Err(DeclareError::NoCounters { set });
        }
        for text in object.texts.iter().chain(object.counters.iter().flat_map(|counter| &counter.texts)) {
            if text.name.is_empty() && text.language != Language::ENGLISH && text.has_words() {
                continue;
            }
            if text.name.trim().is_empty() || text.name.contains(|c: char| c.is_control() || c == '\\') {
                return Err(DeclareError::BadName { name: text.name.clone() });
            }
        }
        let mut names: Vec<String> = object
            .counters
            .iter()
            .filter(|counter| !counter.counter_type.is_base())
            .map(|counter| counter.english().to_lowercase())
            .collect();
        names.sort();
        if let Some([name, _]) = names.array_windows::<2>().find(|[a, b]| a == b) {
            return Err(DeclareError::Repeated { name: name.clone() });
        }
        let end = place_values(&mut object, self.groups);
        object.stride = end;
        if object.groups.iter().any(|group| group.first == group.check) {
            return Err(DeclareError::NoCounters { set });
        }
        if end > MAX_STRIDE {
            return Err(DeclareError::TooLarge { set, needed: end, most: MAX_STRIDE });
        }
        if let Some(group) = object.groups.iter().find(|group| group.length() > MAX_GROUP) {
            return Err(DeclareError::TooLarge { set, needed: group.length(), most: MAX_GROUP });
        }
        Ok(object)
    }

    fn begin_group(mut self) -> CounterSet {
        if self.group.is_some() {
            let set = self.name().to_string();
            self.fail(DeclareError::Misplaced { counter: set, why: "a group cannot hold another group" });
        } else {
            self.group = Some(self.groups);
            self.groups = self.groups.saturating_add(1);
        }
        self
    }

    fn end_group(mut self) -> CounterSet {
        self.group = None;
        self
    }

    fn push(&mut self, text: Text, counter_type: CounterType, storage: Storage) {
        let is_text = matches!(storage, Storage::Text { .. });
        if is_text && self.group.is_some() {
            self.fail(DeclareError::Misplaced {
                counter: text.name.clone(),
                why: "a text cannot be in a group of numbers",
            });
        }
        self.object.counters.push(CounterDefinition {
            texts: vec![text],
            counter_type,
            scale: 0,
            detail: DetailLevel::NOVICE,
            storage,
            offset: 0,
            group: self.group,
        });
    }

    /// The counter that was named last, with its base and its parts.
    fn last_counters(&mut self) -> &mut [CounterDefinition] {
        let first = self.object.counters.iter().rposition(is_named).unwrap_or(0);
        self.object.counters.get_mut(first..).unwrap_or_default()
    }

    fn fail(&mut self, fault: DeclareError) {
        self.fault.get_or_insert(fault);
    }

    /// The texts of what was named last; the reader keeps those of a numerator and its base the same.
    fn last_texts(&mut self, change: impl Fn(&mut Vec<Text>)) {
        let last = self.object.counters.iter_mut().rfind(|counter| is_named(counter));
        match last {
            Some(counter) => change(&mut counter.texts),
            None => change(&mut self.object.texts),
        }
    }
}

/// Whether a counter is declared by itself: neither a base nor a part of a histogram.
fn is_named(counter: &CounterDefinition) -> bool {
    !counter.counter_type.is_base() && !matches!(counter.storage, Storage::Histogram { .. })
}

/// Names the parts of histograms after their average, in all languages.
fn name_parts(object: &mut ObjectDefinition) {
    let mut average = Vec::new();
    for counter in &mut object.counters {
        if is_named(counter) {
            average.clone_from(&counter.texts);
        }
        let Storage::Histogram { part, .. } = counter.storage else { continue };
        if counter.counter_type.is_base() {
            continue;
        }
        let what = match part {
            0 => "count".to_string(),
            _ if part % 1000 == 0 => format!("{} %", part / 1000),
            _ => format!("{}.{} %", part / 1000, format!("{:03}", part % 1000).trim_end_matches('0')),
        };
        counter.texts.clone_from(&average);
        for text in counter.texts.iter_mut().filter(|text| !text.name.is_empty()) {
            text.name = format!("{} ({what})", text.name);
            if part == 0 {
                text.unit.clear();
            }
        }
    }
}

/// Changes the texts in a language; creates them if there are none.
fn change_in(texts: &mut Vec<Text>, language: Language, change: impl FnOnce(&mut Text)) {
    match texts.iter_mut().find(|text| text.language == language) {
        Some(text) => change(text),
        None => {
            let mut text = Text::empty(language);
            change(&mut text);
            texts.push(text);
        }
    }
}

/// Assigns each value its offset, and returns the length of a slot.
///
/// Single numbers come first, then groups and texts, each with its check word, then buckets, then the lanes
/// of shared counters: the first lane of all of them, the second of all, and so on, each lane on cache lines
/// of its own.
fn place_values(object: &mut ObjectDefinition, groups: usize) -> usize {
    let mut end = slot::VALUES;
    let mut take = |length: usize| {
        let offset = end;
        end = end.saturating_add(length);
        offset
    };
    for counter in &mut object.counters {
        if counter.storage == Storage::Number && counter.group.is_none() {
            counter.offset = take(8);
        }
    }
    for group in 0..groups {
        let mut first = None;
        for counter in object.counters.iter_mut().filter(|counter| counter.group == Some(group)) {
            counter.offset = take(8);
            first.get_or_insert(counter.offset);
        }
        let check = take(8);
        object.groups.push(GroupPlace { first: first.unwrap_or(check), check });
    }
    for counter in &mut object.counters {
        if let Storage::Text { capacity } = counter.storage {
            counter.offset = take(capacity.saturating_add(text_value::OVERHEAD));
        }
    }
    let mut offset = None;
    for counter in &mut object.counters {
        match counter.storage {
            // All parts of a histogram share the same buckets.
            Storage::Histogram { buckets, lanes: None, .. } => {
                counter.offset = *offset.get_or_insert_with(|| take(buckets.n.saturating_mul(8)));
            }
            _ => offset = None,
        }
    }
    let lanes = |counter: &CounterDefinition| match counter.storage {
        Storage::Sum { lanes, .. } => Some(usize::try_from(lanes).unwrap_or(1)),
        _ => None,
    };
    let n_shared = object.counters.iter().filter(|counter| lanes(counter).is_some()).count();
    let n_lanes = object.counters.iter().filter_map(lanes).max().unwrap_or(0);
    if n_shared == 0 {
        return end.saturating_add(8);
    }
    let first_lane = place_lanes_of_histograms(object, end.next_multiple_of(LINE));
    let stride = n_shared.saturating_mul(8).next_multiple_of(LINE);
    let mut at = first_lane;
    for counter in &mut object.counters {
        if let Storage::Sum { lane_stride, .. } = &mut counter.storage {
            *lane_stride = stride;
            counter.offset = at;
            at = at.saturating_add(8);
        }
    }
    let lanes_end = first_lane.saturating_add(stride.saturating_mul(n_lanes));
    // Every slot begins on a line, so that the lanes of all do.
    lanes_end.saturating_add(8).next_multiple_of(LINE)
}

/// Places the buckets of shared histograms one after the other, each lane on cache lines of its own, and
/// returns where they end. The average of a shared histogram is a sum itself, so lanes follow.
fn place_lanes_of_histograms(object: &mut ObjectDefinition, start: usize) -> usize {
    let shared = |counter: &CounterDefinition| match counter.storage {
        Storage::Histogram { buckets, lanes: Some(lanes), .. } => Some((buckets, lanes)),
        _ => None,
    };
    // The base is the first part of each.
    let n_shared =
        object.counters.iter().filter(|one| one.counter_type.is_base() && shared(one).is_some()).count();
    let room = MAX_HISTOGRAM_LANES.checked_div(n_shared).unwrap_or(0);
    let (mut at, mut end) = (start, start);
    for counter in &mut object.counters {
        let Some((buckets, most)) = shared(counter) else { continue };
        let fit = room.checked_div(buckets.lane()).and_then(|n| u32::try_from(n).ok()).unwrap_or(1);
        let n_lanes = most.min(fit).max(1);
        if counter.counter_type.is_base() {
            at = end;
            end = at.saturating_add(buckets.lane().saturating_mul(usize::try_from(n_lanes).unwrap_or(1)));
        }
        if let Storage::Histogram { lanes, .. } = &mut counter.storage {
            *lanes = Some(n_lanes);
        }
        counter.offset = at;
    }
    end
}
