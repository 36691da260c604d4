//! The definitions of objects in a published file: written by [`encode`], read and checked by [`decode`].
//!
//! Every decoded offset of a value is known to be inside of its slot.

use tallymon_core::block::DetailLevel;
use tallymon_core::counter::CounterType;
use tallymon_core::title::Language;

use super::buckets::Buckets;
use super::bytes::{FormatError, Part};
use super::layout::{
    LINE, MAX_DEFINITIONS, MAX_GROUP, MAX_LANES, MAX_PERCENTILES, MAX_STRIDE, MAX_TEXT, VERSION_1, VERSION_2,
    VERSION_3, counter, group, object, slot, text, text_value,
};

/// A name, a help text and a unit in one language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// Language.
    pub language: Language,
    /// Name; empty when there is none in this language.
    pub name: String,
    /// Help text; empty when there is none in this language.
    pub help: String,
    /// The unit of the value; empty when there is none in this language.
    pub unit: String,
}

impl Text {
    pub(crate) fn english(name: impl Into<String>) -> Text {
        Text { name: name.into(), ..Text::empty(Language::ENGLISH) }
    }

    /// Whether it has more than a name.
    pub(crate) fn has_words(&self) -> bool {
        !self.help.is_empty() || !self.unit.is_empty()
    }

    pub(crate) const fn empty(language: Language) -> Text {
        Text { language, name: String::new(), help: String::new(), unit: String::new() }
    }
}

/// An object of a published file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectDefinition {
    /// Names and help texts; English first, always with a name.
    pub texts: Vec<Text>,
    /// Whether it has instances.
    pub has_instances: bool,
    /// How much a user has to know to need this object.
    pub detail: DetailLevel,
    /// Position of the counter that a viewer shows first.
    pub default_counter: u16,
    /// The counters; a base directly follows the counter that needs it.
    pub counters: Vec<CounterDefinition>,
    pub(crate) groups: Vec<GroupPlace>,
    /// Bytes of one slot of values.
    pub(crate) stride: usize,
}

/// A counter of a published file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterDefinition {
    /// Names and help texts; English first, always with a name.
    pub texts: Vec<Text>,
    /// Type.
    pub counter_type: CounterType,
    /// Power of ten for charts, -7 to 7.
    pub scale: i32,
    /// How much a user has to know to need this counter.
    pub detail: DetailLevel,
    pub(crate) storage: Storage,
    /// Offset of its value, or of its first lane, in a slot.
    pub(crate) offset: usize,
    /// Position of its group.
    pub(crate) group: Option<usize>,
}

/// How a value is kept in a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Storage {
    /// One word.
    Number,
    /// The sum of one word in each lane.
    Sum {
        /// Number of lanes.
        lanes: u32,
        /// Bytes from a lane to the next.
        lane_stride: usize,
    },
    /// A text with its own check word.
    Text {
        /// The most bytes, a multiple of 8.
        capacity: usize,
    },
    /// A number that readers compute from the buckets of a histogram.
    Histogram {
        /// The buckets, one word each.
        buckets: Buckets,
        /// The percentile, in thousandths of a percent; 0 is the number of values.
        part: u32,
        /// Number of lanes, each with all buckets; `None` with a single writer.
        lanes: Option<u32>,
    },
}

/// The place in a slot of the numbers of a group, followed by their check word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GroupPlace {
    pub(crate) first: usize,
    pub(crate) check: usize,
}

impl GroupPlace {
    /// Bytes with the check word.
    pub(crate) const fn length(self) -> usize {
        self.check.saturating_add(8).saturating_sub(self.first)
    }
}

impl ObjectDefinition {
    /// The English name.
    pub fn english(&self) -> &str {
        english(&self.texts)
    }

    /// Position of the counter with an English name, ignoring case; never of a base.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.counters.iter().position(|counter| {
            !counter.counter_type.is_base() && counter.english().to_lowercase() == name.to_lowercase()
        })
    }
}

impl CounterDefinition {
    /// The English name.
    pub fn english(&self) -> &str {
        english(&self.texts)
    }

    /// The most bytes of a text; `None` for a number.
    pub const fn text_capacity(&self) -> Option<usize> {
        match self.storage {
            Storage::Text { capacity } => Some(capacity),
            _ => None,
        }
    }
}

fn english(texts: &[Text]) -> &str {
    texts.first().map_or("", |text| &text.name)
}

/// The lowest version of the format that supports these definitions.
pub(crate) fn version(objects: &[ObjectDefinition]) -> u32 {
    let counters = || objects.iter().flat_map(|object| &object.counters);
    let histograms = counters().any(|counter| matches!(counter.storage, Storage::Histogram { .. }));
    if counters().any(|counter| matches!(counter.storage, Storage::Histogram { lanes: Some(_), .. })) {
        return VERSION_3;
    }
    let mut texts = objects.iter().flat_map(|object| &object.texts).chain(counters().flat_map(|c| &c.texts));
    if histograms || texts.any(|text| !text.unit.is_empty()) { VERSION_2 } else { VERSION_1 }
}

/// The definitions as bytes of a file.
pub(crate) fn encode(objects: &[ObjectDefinition]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for definition in objects {
        let start = bytes.len();
        let texts = all_texts(definition);
        for field in [
            0,
            if definition.has_instances { object::HAS_INSTANCES } else { 0 },
            definition.detail.0,
            u32::from(definition.default_counter),
            narrow(definition.counters.len()),
            narrow(definition.groups.len()),
            narrow(texts.len()),
            narrow(definition.stride),
        ] {
            put(&mut bytes, field);
        }
        for one in &definition.counters {
            let (storage, capacity, lanes, lane_stride) = match one.storage {
                Storage::Number => (counter::NUMBER, 8, 0, 0),
                Storage::Sum { lanes, lane_stride } => (counter::SUM, 8, lanes, narrow(lane_stride)),
                Storage::Text { capacity } => (counter::TEXT, narrow(capacity), 0, 0),
                Storage::Histogram { buckets, lanes: None, .. } => {
                    (counter::HISTOGRAM, 8, narrow(buckets.n), buckets.bits)
                }
                Storage::Histogram { buckets, lanes: Some(lanes), .. } => {
                    (counter::SHARED_HISTOGRAM, lanes, narrow(buckets.n), buckets.bits)
                }
            };
            let part = match one.storage {
                Storage::Histogram { part, .. } => part,
                _ => 0,
            };
            for field in [
                one.counter_type.0,
                one.scale.cast_unsigned(),
                one.detail.0,
                storage,
                narrow(one.offset),
                capacity,
                lanes,
                lane_stride,
                one.group.map_or(0, |group| narrow(group.saturating_add(1))),
                part,
            ] {
                put(&mut bytes, field);
            }
        }
        for group in &definition.groups {
            put(&mut bytes, narrow(group.first));
            put(&mut bytes, narrow(group.check));
        }
        for (language, kind, subject, words) in texts {
            put(&mut bytes, u32::from(language.langid()) | u32::from(kind) << 16);
            put(&mut bytes, subject);
            put(&mut bytes, narrow(words.len()));
            put(&mut bytes, 0);
            bytes.extend_from_slice(words.as_bytes());
            bytes.resize(bytes.len().next_multiple_of(8), 0);
        }
        let length = narrow(bytes.len().saturating_sub(start));
        if let Some(field) = bytes.get_mut(start..).and_then(|rest| rest.first_chunk_mut::<4>()) {
            *field = length.to_le_bytes();
        }
    }
    bytes
}

/// Every text of an object that is not empty: language, kind, subject, words.
fn all_texts(definition: &ObjectDefinition) -> Vec<(Language, u16, u32, &str)> {
    let of_object = definition.texts.iter().map(|one| (text::OBJECT, one));
    let of_counters = definition
        .counters
        .iter()
        .enumerate()
        .flat_map(|(position, counter)| counter.texts.iter().map(move |one| (narrow(position), one)));
    of_object
        .chain(of_counters)
        .flat_map(|(subject, one)| {
            [
                (one.language, text::NAME, subject, &*one.name),
                (one.language, text::HELP, subject, &*one.help),
                (one.language, text::UNIT, subject, &*one.unit),
            ]
        })
        .filter(|(.., words)| !words.is_empty())
        .collect()
}

/// Narrows a number that was limited before; every reader would refuse a larger one.
fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn put(bytes: &mut Vec<u8>, number: u32) {
    bytes.extend_from_slice(&number.to_le_bytes());
}

/// Reads `n` objects that fill `part` exactly, in a file of a version.
pub(crate) fn decode(part: Part<'_>, n: u32, version: u32) -> Result<Vec<ObjectDefinition>, FormatError> {
    let mut objects = Vec::new();
    let mut rest = part;
    if part.len() > MAX_DEFINITIONS {
        return Err(part.error(0, "length of the definitions", "at most 1048576", part.len()));
    }
    for _ in 0..n {
        let length = rest.length(object::LENGTH, "object length")?;
        let one = rest.part(0, length, "object")?;
        objects.push(decode_object(one, version)?);
        rest = rest.after(length, "object")?;
    }
    if rest.len() != 0 {
        return Err(rest.error(0, "definitions", "their end", rest.len()));
    }
    Ok(objects)
}

fn decode_object(part: Part<'_>, version: u32) -> Result<ObjectDefinition, FormatError> {
    let flags = part.u32(object::FLAGS, "object flags")?;
    let n_counters = part.length(object::COUNTERS, "number of counters")?;
    let n_groups = part.length(object::GROUPS, "number of groups")?;
    let n_texts = part.length(object::TEXTS, "number of texts")?;
    let stride = part.length(object::STRIDE, "slot length")?;
    if !stride.is_multiple_of(8) || !(slot::OVERHEAD..=MAX_STRIDE).contains(&stride) {
        return Err(part.error(object::STRIDE, "slot length", "a multiple of 8 from 16 to 65536", stride));
    }
    let default_counter = part.u32(object::DEFAULT_COUNTER, "default counter")?;
    let mut definition = ObjectDefinition {
        texts: Vec::new(),
        has_instances: flags & object::HAS_INSTANCES != 0,
        detail: DetailLevel(part.u32(object::DETAIL, "object detail level")?),
        default_counter: u16::try_from(default_counter).unwrap_or(0),
        counters: Vec::new(),
        groups: Vec::new(),
        stride,
    };
    let mut rest = part.after(object::SIZE, "counters")?;
    // The groups follow the counters, but a counter is checked against its group.
    let counters_length = n_counters.saturating_mul(counter::SIZE);
    let mut groups = rest.after(counters_length, "groups")?;
    for _ in 0..n_groups {
        definition.groups.push(decode_group(groups, stride)?);
        groups = groups.after(group::SIZE, "groups")?;
    }
    for _ in 0..n_counters {
        definition.counters.push(decode_counter(rest, stride, &definition.groups, version)?);
        rest = rest.after(counter::SIZE, "counters")?;
    }
    check_room(part, &definition)?;
    decode_texts(groups, n_texts, &mut definition, version)?;
    check_bases(part, &definition)?;
    Ok(definition)
}

fn decode_group(part: Part<'_>, stride: usize) -> Result<GroupPlace, FormatError> {
    let first = place(part, group::FIRST, 8, stride, "first number of a group")?;
    let check = place(part, group::CHECK, 8, stride, "check word of a group")?;
    let place = GroupPlace { first, check };
    if check <= first || place.length() > MAX_GROUP {
        let needed = "a place behind the first number, at most 4096 bytes with it";
        return Err(part.error(group::CHECK, "check word of a group", needed, check));
    }
    Ok(place)
}

/// The offset at `at`, which must leave room for `length` bytes between the use numbers of a slot.
fn place(
    part: Part<'_>,
    at: usize,
    length: usize,
    stride: usize,
    what: &'static str,
) -> Result<usize, FormatError> {
    let offset = part.length(at, what)?;
    let end = offset.saturating_add(length);
    if !offset.is_multiple_of(8) || offset < slot::VALUES || end > stride.saturating_sub(8) {
        return Err(part.error(at, what, "a multiple of 8 inside of the slot", offset));
    }
    Ok(offset)
}

fn decode_counter(
    part: Part<'_>,
    stride: usize,
    groups: &[GroupPlace],
    version: u32,
) -> Result<CounterDefinition, FormatError> {
    let counter_type = CounterType(part.u32(counter::TYPE, "counter type")?);
    let offset = |length| place(part, counter::OFFSET, length, stride, "place of a value");
    let group = match part.length(counter::GROUP, "group of a counter")? {
        0 => None,
        number => Some(number.saturating_sub(1)),
    };
    let storage = part.u32(counter::STORAGE, "storage of a counter")?;
    let (storage, offset) = match storage {
        counter::NUMBER => (Storage::Number, offset(8)?),
        counter::SUM => {
            let lanes = decode_lanes(part, counter::LANES)?;
            let lane_stride = part.length(counter::LANE_STRIDE, "distance of lanes")?;
            if !lane_stride.is_multiple_of(LINE) || !(LINE..=MAX_STRIDE).contains(&lane_stride) {
                let needed = "a multiple of 64 up to 65536";
                return Err(part.error(counter::LANE_STRIDE, "distance of lanes", needed, lane_stride));
            }
            let others = wide(lanes.saturating_sub(1)).saturating_mul(lane_stride);
            (Storage::Sum { lanes, lane_stride }, offset(others.saturating_add(8))?)
        }
        counter::TEXT => {
            let capacity = part.length(counter::CAPACITY, "capacity of a text")?;
            if !capacity.is_multiple_of(8) || !(8..=MAX_TEXT).contains(&capacity) {
                let needed = "a multiple of 8 from 8 to 4000";
                return Err(part.error(counter::CAPACITY, "capacity of a text", needed, capacity));
            }
            (Storage::Text { capacity }, offset(capacity.saturating_add(text_value::OVERHEAD))?)
        }
        counter::HISTOGRAM if version >= VERSION_2 => {
            let (buckets, part) = (decode_buckets(part)?, decode_part(part)?);
            (Storage::Histogram { buckets, part, lanes: None }, offset(buckets.n.saturating_mul(8))?)
        }
        counter::SHARED_HISTOGRAM if version >= VERSION_3 => {
            let lanes = decode_lanes(part, counter::HISTOGRAM_LANES)?;
            let (buckets, part) = (decode_buckets(part)?, decode_part(part)?);
            let length = wide(lanes).saturating_mul(buckets.lane());
            (Storage::Histogram { buckets, part, lanes: Some(lanes) }, offset(length)?)
        }
        _ => {
            let needed = "0, 1 or 2, from version 2 on 3, from version 3 on 4";
            return Err(part.error(counter::STORAGE, "storage of a counter", needed, wide(storage)));
        }
    };
    if matches!(storage, Storage::Text { .. }) != counter_type.is_text() {
        let needed = "a text for a counter type of text, a number for any other";
        return Err(part.error(counter::STORAGE, "storage of a counter", needed, wide(counter_type.0)));
    }
    if let Some(number) = group {
        let inside = groups
            .get(number)
            .is_some_and(|group| storage == Storage::Number && offset >= group.first && offset < group.check);
        if !inside {
            let needed = "a group that has the number";
            return Err(part.error(counter::GROUP, "group of a counter", needed, number.saturating_add(1)));
        }
    }
    Ok(CounterDefinition {
        texts: Vec::new(),
        counter_type,
        scale: part.u32(counter::SCALE, "scale of a counter")?.cast_signed().clamp(-7, 7),
        detail: DetailLevel(part.u32(counter::DETAIL, "detail level of a counter")?),
        storage,
        offset,
        group,
    })
}

fn decode_lanes(part: Part<'_>, at: usize) -> Result<u32, FormatError> {
    let lanes = part.u32(at, "number of lanes")?;
    if !(1..=MAX_LANES).contains(&lanes) {
        return Err(part.error(at, "number of lanes", "1 to 64", wide(lanes)));
    }
    Ok(lanes)
}

/// The percentile of a part of a histogram.
fn decode_part(part: Part<'_>) -> Result<u32, FormatError> {
    let percentile = part.u32(counter::PART, "part of a histogram")?;
    if percentile > 100_000 {
        let needed = "thousandths of a percent, at most 100000";
        return Err(part.error(counter::PART, "part of a histogram", needed, wide(percentile)));
    }
    Ok(percentile)
}

fn decode_buckets(part: Part<'_>) -> Result<Buckets, FormatError> {
    let bits = part.u32(counter::BITS, "width of buckets")?;
    if bits > Buckets::MAX_BITS {
        return Err(part.error(counter::BITS, "width of buckets", "at most 6", wide(bits)));
    }
    let n = part.length(counter::BUCKETS, "number of buckets")?;
    if n == 0 || n > Buckets::all(bits) {
        let needed = "one at least, at most those of 64 bits";
        return Err(part.error(counter::BUCKETS, "number of buckets", needed, n));
    }
    Ok(Buckets { bits, n })
}

fn wide(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Replaces control characters in the words of another program, except ends of lines: they must not move the
/// cursor of the terminal that shows them.
fn printable(words: &str) -> String {
    words.replace(|one: char| one.is_control() && one != '\n', "\u{fffd}")
}

fn decode_texts(
    mut rest: Part<'_>,
    n_texts: usize,
    definition: &mut ObjectDefinition,
    version: u32,
) -> Result<(), FormatError> {
    let last_kind = if version >= VERSION_2 { text::UNIT } else { text::HELP };
    for _ in 0..n_texts {
        let language = rest.u16(text::LANGUAGE, "language of a text")?;
        let kind = rest.u16(text::KIND, "kind of a text")?;
        let subject = rest.u32(text::SUBJECT, "subject of a text")?;
        let length = rest.length(text::LENGTH, "length of a text")?;
        let words = rest.part(text::SIZE, length, "text")?.text("text")?;
        let texts = if subject == text::OBJECT {
            &mut definition.texts
        } else {
            match definition.counters.get_mut(wide(subject)) {
                Some(counter) => &mut counter.texts,
                None => {
                    let needed = "the position of a counter";
                    return Err(rest.error(text::SUBJECT, "subject of a text", needed, wide(subject)));
                }
            }
        };
        let language = Language::new(language);
        if texts.iter().all(|known| known.language != language) {
            if texts.len() >= 64 {
                return Err(rest.error(text::LANGUAGE, "languages of a text", "at most 64", texts.len()));
            }
            texts.push(Text::empty(language));
        }
        if let Some(known) = texts.iter_mut().find(|known| known.language == language) {
            let place = match kind {
                text::NAME => &mut known.name,
                text::HELP => &mut known.help,
                _ => &mut known.unit,
            };
            if kind > last_kind || !place.is_empty() || words.is_empty() {
                let needed = "one name, help text or unit in a language, none empty";
                return Err(rest.error(text::KIND, "kind of a text", needed, usize::from(kind)));
            }
            if kind == text::NAME && words.contains(char::is_control) {
                return Err(rest.error(0, "name", "one without control characters", length));
            }
            *place = printable(words);
        }
        rest = rest.after(text::SIZE.saturating_add(length.next_multiple_of(8)), "texts")?;
    }
    if rest.len() != 0 {
        return Err(rest.error(0, "object", "its end", rest.len()));
    }
    let counters = definition.counters.iter().map(|counter| &counter.texts);
    for texts in std::iter::once(&definition.texts).chain(counters) {
        let english = texts.first().filter(|text| text.language == Language::ENGLISH);
        if english.is_none_or(|text| text.name.trim().is_empty()) {
            return Err(rest.error(0, "English name", "one, before all other languages", 0));
        }
    }
    Ok(())
}

/// Places that overlap could make few bytes into very much work; so all together must not be more than the
/// slot.
fn check_room(part: Part<'_>, definition: &ObjectDefinition) -> Result<(), FormatError> {
    let values = definition.counters.iter().map(|counter| match counter.storage {
        Storage::Number => 8,
        Storage::Sum { lanes, .. } => wide(lanes).saturating_mul(8),
        Storage::Text { capacity } => capacity.saturating_add(text_value::OVERHEAD),
        // The percentiles of a histogram, and its number of values, share the same buckets.
        Storage::Histogram { buckets, lanes, .. } => {
            buckets.n.saturating_mul(wide(lanes.unwrap_or(1))).saturating_mul(4) / MAX_PERCENTILES
        }
    });
    let values = values.fold(0, usize::saturating_add);
    let groups = definition.groups.iter().map(|group| group.length()).fold(0, usize::saturating_add);
    if values.max(groups) > definition.stride.saturating_sub(slot::OVERHEAD) {
        let needed = "room for all values, and for all groups";
        return Err(part.error(object::STRIDE, "slot length", needed, definition.stride));
    }
    Ok(())
}

/// A base follows every counter that needs one, and none that takes none.
fn check_bases(part: Part<'_>, definition: &ObjectDefinition) -> Result<(), FormatError> {
    let counters = &definition.counters;
    if counters.is_empty() {
        return Err(part.error(object::COUNTERS, "number of counters", "one at least", 0));
    }
    let (mut needed, mut allowed) = (false, false);
    for counter in counters {
        let counter_type = counter.counter_type;
        let is_base = counter_type.is_base();
        if (needed && !is_base) || (is_base && !allowed) {
            let what = "base directly behind each counter that needs one, and none behind others";
            return Err(part.error(object::SIZE, "counters", what, wide(counter_type.0)));
        }
        (needed, allowed) = (counter_type.needs_base(), counter_type.takes_base());
    }
    if needed {
        return Err(part.error(object::SIZE, "counters", "base behind the last counter", counters.len()));
    }
    Ok(())
}
