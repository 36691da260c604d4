//! Turning the tables of counter sets that C programs write into sets.

use tallymon::core::block::DetailLevel;
use tallymon::core::counter::CounterType;
use tallymon::core::title::Language;
use tallymon::shm::{CounterSet, HistogramShape};

use crate::memory::{Buf, Str};

/// The flags of `TALLYMON_NEW_SET` and `TALLYMON_NEW_COUNTER`.
const INSTANCES: u32 = 1;
const SHARED: u32 = 1;
const HISTOGRAM: u32 = 2;
const FIRST_SHOWN: u32 = 4;
/// Each processor adds in its own lane, instead of all threads in one.
const SPREAD: u32 = 8;

/// `TALLYMON_TEXT`: texts in a language other than English.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Words {
    language: u32,
    name: Str<u8>,
    help: Str<u8>,
    unit: Str<u8>,
}

/// `TALLYMON_NEW_COUNTER`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct NewCounter {
    name: Str<u8>,
    help: Str<u8>,
    unit: Str<u8>,
    counter_type: u32,
    base_type: u32,
    default_scale: i32,
    detail_level: u32,
    flags: u32,
    group: u32,
    maximum_length: u32,
    bucket_bits: u32,
    bucket_most: u64,
    percentiles: [u32; 8],
    text_count: u32,
    texts: Buf<Words>,
}

/// `TALLYMON_NEW_SET`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct NewSet {
    name: Str<u8>,
    help: Str<u8>,
    flags: u32,
    detail_level: u32,
    expected_instances: u32,
    counter_count: u32,
    counters: Buf<NewCounter>,
    text_count: u32,
    texts: Buf<Words>,
}

// The header asserts the same for the structures of C.
#[cfg(target_pointer_width = "64")]
const _: () =
    assert!(size_of::<Words>() == 32 && size_of::<NewCounter>() == 112 && size_of::<NewSet>() == 56);

impl NewSet {
    /// The set. Publishing it finds what is wrong in the table.
    pub(crate) fn set(self) -> CounterSet {
        let mut set = CounterSet::new(self.name.get().unwrap_or_default());
        if self.flags & INSTANCES != 0 {
            set = match self.expected_instances {
                0 => set.instances(),
                n => set.instances_about(n),
            };
        }
        set = describe(set, self.help, None, self.detail_level, self.texts, self.text_count);
        let counters = self.counters.read(length(self.counter_count));
        // Counters of one group follow each other.
        for group in counters.chunk_by(|one, next| one.group != 0 && one.group == next.group) {
            let all = |set| group.iter().fold(set, |set, counter| counter.add_to(set));
            set = match group {
                [one, ..] if one.group != 0 => set.together(all),
                _ => all(set),
            };
        }
        set
    }
}

impl NewCounter {
    fn add_to(&self, set: CounterSet) -> CounterSet {
        let name = self.name.get().unwrap_or_default();
        let counter_type = CounterType(self.counter_type);
        let mut set = if self.flags & HISTOGRAM != 0 {
            match counter_type {
                CounterType::PERF_AVERAGE_TIMER => set.histogram_time(name, &self.shape()),
                _ => set.histogram(name, &self.shape()),
            }
        } else if counter_type.is_text() {
            set.text(name, u16::try_from(self.maximum_length).unwrap_or(u16::MAX))
        } else if counter_type.takes_base() && self.base_type != 0 {
            set.with_base(name, counter_type, CounterType(self.base_type))
        } else if counter_type.takes_base() {
            set.with_usual_base(name, counter_type)
        } else {
            set.counter(name, counter_type)
        };
        if self.flags & SPREAD != 0 {
            set = set.shared();
        } else if self.flags & SHARED != 0 {
            set = set.shared_lanes(1);
        }
        if self.flags & FIRST_SHOWN != 0 {
            set = set.first_shown();
        }
        set = set.scale(self.default_scale);
        describe(set, self.help, Some(self.unit), self.detail_level, self.texts, self.text_count)
    }

    /// The buckets; the default ones without a largest value.
    fn shape(&self) -> HistogramShape {
        let mut shape = HistogramShape::default();
        if self.bucket_most != 0 {
            shape.most = self.bucket_most;
            shape.bits = self.bucket_bits;
        }
        if self.percentiles.iter().any(|part| *part != 0) {
            shape.percentiles = self.percentiles.iter().copied().filter(|part| *part != 0).collect();
        }
        shape
    }
}

/// The texts of the set or counter that was named last.
fn describe(
    mut set: CounterSet,
    help: Str<u8>,
    unit: Option<Str<u8>>,
    detail_level: u32,
    texts: Buf<Words>,
    n_texts: u32,
) -> CounterSet {
    if detail_level != 0 {
        set = set.detail(DetailLevel(detail_level));
    }
    if let Some(help) = help.get() {
        set = set.help(help);
    }
    if let Some(unit) = unit.and_then(Str::get) {
        set = set.unit(unit);
    }
    for words in texts.read(length(n_texts)) {
        let language = Language::new(u16::try_from(words.language).unwrap_or(0));
        if let Some(name) = words.name.get() {
            set = set.name_in(language, name);
        }
        if let Some(help) = words.help.get() {
            set = set.help_in(language, help);
        }
        if let Some(unit) = words.unit.get() {
            set = set.unit_in(language, unit);
        }
    }
    set
}

pub(super) fn length(count: u32) -> usize {
    usize::try_from(count).unwrap_or(0)
}
