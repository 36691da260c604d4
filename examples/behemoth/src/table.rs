//! What is counted: one table for the publisher, the provider library and the service between them.
//!
//! The texts are in `behemoth.ini` and their index offsets in `behemoth.h`, which `tally lodctr` reads too,
//! so that no name is written twice. The library declares constants; the publisher uses the same ones.

use tallymon_provider::library::author::{DeclaredCounter, DeclaredObject};
use tallymon_provider::{CounterType as T, Language};

/// The file with the texts, the input of `tally lodctr`.
pub const INI: &str = include_str!("../behemoth.ini");
/// The file with their index offsets.
pub const SYMBOLS: &str = include_str!("../behemoth.h");

/// The languages of the texts, with their codes in the file. English comes first.
pub const LANGUAGES: [(Language, &str); 4] = [
    (Language::ENGLISH, "009"),
    (Language::KOREAN, "012"),
    (Language::JAPANESE, "011"),
    (Language::RUSSIAN, "019"),
];

/// One object.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// The names of the published object, in the order of [`LANGUAGES`]. The library's object has other
    /// names, so that both can be read side by side.
    pub published: [&'static str; 4],
    /// The library's declaration, with the offsets of the symbol file: numbers, each followed by its base,
    /// then texts.
    pub object: DeclaredObject,
}

impl Table {
    /// The numeric counters, including bases.
    pub fn numbers(&self) -> impl Iterator<Item = &'static DeclaredCounter> {
        self.object.counters.iter().filter(|counter| !counter.counter_type.is_text())
    }

    /// The text counters.
    pub fn texts(&self) -> impl Iterator<Item = &'static DeclaredCounter> {
        self.object.counters.iter().filter(|counter| counter.counter_type.is_text())
    }

    /// Position of a counter's number among all numbers.
    pub fn position(&self, symbol: &str) -> Option<usize> {
        self.numbers().position(|counter| self::symbol(counter.number) == symbol)
    }
}

/// Maximum length of a text in bytes, and including its terminator in units of UTF-16, of which a text has at
/// most as many as bytes of UTF-8.
pub const MOST_TEXT: u16 = 31;
const TEXT_UNITS: u32 = 32;

const fn number(place: u32, counter_type: T) -> DeclaredCounter {
    DeclaredCounter::new(place, counter_type)
}

const fn text(place: u32) -> DeclaredCounter {
    DeclaredCounter::text(place, TEXT_UNITS)
}

/// The object "Behemoth": all living ones, each with its mother as parent.
pub const BEHEMOTH: Table = Table {
    published: ["Behemoth", "베헤모스", "ベヒーモス", "Бегемот"],
    object: DeclaredObject::many(
        0,
        &[
            number(2, T::PERF_ELAPSED_TIME),
            number(4, T::PERF_COUNTER_RAWCOUNT),
            number(6, T::PERF_COUNTER_RAWCOUNT),
            number(8, T::PERF_COUNTER_LARGE_RAWCOUNT),
            number(10, T::PERF_DOUBLE_RAW),
            number(12, T::PERF_COUNTER_LARGE_RAWCOUNT_HEX),
            number(14, T::PERF_COUNTER_LARGE_DELTA),
            number(16, T::PERF_COUNTER_BULK_COUNT),
            number(18, T::PERF_COUNTER_COUNTER),
            number(20, T::PERF_AVERAGE_BULK),
            number(20, T::PERF_AVERAGE_BASE),
            number(22, T::PERF_AVERAGE_TIMER),
            number(22, T::PERF_AVERAGE_BASE),
            number(24, T::PERF_LARGE_RAW_FRACTION),
            number(24, T::PERF_LARGE_RAW_BASE),
            number(26, T::PERF_SAMPLE_FRACTION),
            number(26, T::PERF_SAMPLE_BASE),
            number(28, T::PERF_100NSEC_TIMER),
            number(30, T::PERF_100NSEC_TIMER_INV),
            number(32, T::PERF_COUNTER_100NS_QUEUELEN_TYPE),
            text(34),
            text(36),
            text(38),
        ],
    ),
};

/// The object "Behemoths Summary".
pub const SUMMARY: Table = Table {
    published: ["Behemoths Summary", "베헤모스 요약", "ベヒーモス集計", "Сводка по бегемотам"],
    object: DeclaredObject::single(
        40,
        &[
            number(42, T::PERF_COUNTER_RAWCOUNT),
            number(44, T::PERF_COUNTER_LARGE_RAWCOUNT),
            number(46, T::PERF_RAW_FRACTION),
            number(46, T::PERF_RAW_BASE),
            number(48, T::PERF_COUNTER_COUNTER),
            number(50, T::PERF_COUNTER_COUNTER),
            number(52, T::PERF_AVERAGE_TIMER),
            number(52, T::PERF_AVERAGE_BASE),
            text(54),
        ],
    ),
};

/// The symbol of an offset from the service's first index; empty if there is none.
pub fn symbol(place: u32) -> &'static str {
    let lines = SYMBOLS.lines().filter_map(|line| line.strip_prefix("#define "));
    let mut pairs = lines.filter_map(|line| line.split_once(' '));
    pairs.find(|(_, number)| number.trim().parse() == Ok(place)).map_or("", |(symbol, _)| symbol)
}

/// The name at an offset in a language of [`LANGUAGES`]; empty if there is none.
pub fn name(place: u32, digits: &str) -> &'static str {
    words(place, digits, "NAME")
}

/// The help text at an offset in a language of [`LANGUAGES`]; empty if there is none.
pub fn help(place: u32, digits: &str) -> &'static str {
    words(place, digits, "HELP")
}

fn words(place: u32, digits: &str, kind: &str) -> &'static str {
    let key = format!("{}_{digits}_{kind}", symbol(place));
    let mut lines = INI.lines().filter_map(|line| line.split_once('='));
    // The section of the objects has the same keys, but without texts.
    lines.find(|(one, text)| *one == key && !text.is_empty()).map_or("", |(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_has_an_offset_and_texts() {
        let mut places: Vec<u32> = Vec::new();
        for table in [BEHEMOTH, SUMMARY] {
            places.push(table.object.number);
            places.extend(table.object.counters.iter().map(|counter| counter.number));
        }
        places.dedup();
        for place in &places {
            for (_, digits) in LANGUAGES {
                assert_ne!(name(*place, digits), "", "{place} {digits}");
                assert_ne!(help(*place, digits), "", "{place} {digits}");
            }
        }
        assert_eq!(places.len(), SYMBOLS.lines().filter(|line| line.starts_with("#define")).count());
    }

    #[test]
    fn each_base_follows_its_counter() {
        for table in [BEHEMOTH, SUMMARY] {
            for two in table.object.counters.windows(2) {
                let [counter, next] = two else { continue };
                let base = counter.counter_type.info().and_then(|info| info.base);
                let found = next.counter_type.is_base().then_some(next.counter_type);
                assert_eq!(base, found, "{}", symbol(counter.number));
                assert!(base.is_none() || counter.number == next.number);
            }
        }
        assert_eq!(BEHEMOTH.position("NAP"), Some(11));
    }
}
