//! What is counted: one table for the publisher, the provider library and the service between them.
//!
//! The texts are in `behemoth.ini` and their places in `behemoth.h`, which `tally lodctr` reads too, so that no name is
//! written twice.

use tallymon_provider::{CounterType as T, Language};

/// The file with the texts, as it is given to `tally lodctr`.
pub const INI: &str = include_str!("../behemoth.ini");
/// The file with their places.
pub const SYMBOLS: &str = include_str!("../behemoth.h");

/// The languages of the texts, with the digits that they have in the file. English is the first.
pub const LANGUAGES: [(Language, &str); 4] = [
    (Language::ENGLISH, "009"),
    (Language::KOREAN, "012"),
    (Language::JAPANESE, "011"),
    (Language::RUSSIAN, "019"),
];

/// One object.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// Its symbol in the two files.
    pub symbol: &'static str,
    /// The names of the published object, in the order of [`LANGUAGES`]. The library's has its own, so that both can be
    /// asked side by side.
    pub published: [&'static str; 4],
    /// Whether it has instances.
    pub has_instances: bool,
    /// Counters of numbers. One whose type works with a base has two numbers, its own and the base.
    pub numbers: &'static [(&'static str, T)],
    /// Counters of texts, with the most bytes of each.
    pub texts: &'static [(&'static str, u16)],
}

impl Table {
    /// The types of all numbers in their order, bases included, each with the symbol of its counter.
    pub fn types(&self) -> impl Iterator<Item = (&'static str, T)> {
        self.numbers.iter().flat_map(|(symbol, counter_type)| {
            let base = counter_type.info().and_then(|info| info.base);
            std::iter::once((*symbol, *counter_type)).chain(base.map(|base| (*symbol, base)))
        })
    }

    /// Where the number of a counter stands among all numbers.
    pub fn position(&self, symbol: &str) -> Option<usize> {
        self.types().position(|(one, _)| one == symbol)
    }
}

/// The object "Behemoth": every one alive, its mother as parent.
pub const BEHEMOTH: Table = Table {
    symbol: "BEHEMOTH",
    published: ["Behemoth", "베헤모스", "ベヒーモス", "Бегемот"],
    has_instances: true,
    numbers: &[
        ("AGE", T::PERF_ELAPSED_TIME),
        ("X", T::PERF_COUNTER_RAWCOUNT),
        ("Y", T::PERF_COUNTER_RAWCOUNT),
        ("WEIGHT", T::PERF_COUNTER_LARGE_RAWCOUNT),
        ("VOLUME", T::PERF_DOUBLE_RAW),
        ("GENES", T::PERF_COUNTER_LARGE_RAWCOUNT_HEX),
        ("GROWTH", T::PERF_COUNTER_LARGE_DELTA),
        ("STEPS", T::PERF_COUNTER_BULK_COUNT),
        ("MEALS", T::PERF_COUNTER_COUNTER),
        ("MEAL", T::PERF_AVERAGE_BULK),
        ("NAP", T::PERF_AVERAGE_TIMER),
        ("FULL", T::PERF_LARGE_RAW_FRACTION),
        ("FOUND", T::PERF_SAMPLE_FRACTION),
        ("SLEEP", T::PERF_100NSEC_TIMER),
        ("AWAKE", T::PERF_100NSEC_TIMER_INV),
        ("FLIES", T::PERF_COUNTER_100NS_QUEUELEN_TYPE),
    ],
    texts: &[("SEX", 8), ("BIRTHDAY", 24), ("MOTHER", 32)],
};

/// The object "Behemoths Summary".
pub const SUMMARY: Table = Table {
    symbol: "SUMMARY",
    published: ["Behemoths Summary", "베헤모스 요약", "ベヒーモス集計", "Сводка по бегемотам"],
    has_instances: false,
    numbers: &[
        ("COUNT", T::PERF_COUNTER_RAWCOUNT),
        ("TOTAL_WEIGHT", T::PERF_COUNTER_LARGE_RAWCOUNT),
        ("FEMALES", T::PERF_RAW_FRACTION),
        ("BIRTHS", T::PERF_COUNTER_COUNTER),
        ("DEATHS", T::PERF_COUNTER_COUNTER),
        ("LIFE", T::PERF_AVERAGE_TIMER),
    ],
    texts: &[("HEAVIEST", 32)],
};

/// The name of a symbol in a language of [`LANGUAGES`]; empty when there is none.
pub fn name(symbol: &str, digits: &str) -> &'static str {
    text(symbol, digits, "NAME")
}

/// The help text of a symbol in a language of [`LANGUAGES`]; empty when there is none.
pub fn help(symbol: &str, digits: &str) -> &'static str {
    text(symbol, digits, "HELP")
}

fn text(symbol: &str, digits: &str, kind: &str) -> &'static str {
    let key = format!("{symbol}_{digits}_{kind}");
    let mut lines = INI.lines().filter_map(|line| line.split_once('='));
    // The section of the objects has the same keys, without texts.
    lines.find(|(one, text)| *one == key && !text.is_empty()).map_or("", |(_, text)| text)
}

/// The place of a symbol behind the first indexes of the service.
pub fn place(symbol: &str) -> Option<u32> {
    let lines = SYMBOLS.lines().filter_map(|line| line.strip_prefix("#define "));
    let mut pairs = lines.filter_map(|line| line.split_once(' '));
    pairs.find(|(name, _)| *name == symbol).and_then(|(_, number)| number.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_has_its_texts_and_its_place() {
        for table in [BEHEMOTH, SUMMARY] {
            let counters = table.numbers.iter().map(|(symbol, _)| *symbol);
            let texts = table.texts.iter().map(|(symbol, _)| *symbol);
            for symbol in std::iter::once(table.symbol).chain(counters).chain(texts) {
                assert!(place(symbol).is_some(), "{symbol}");
                for (_, digits) in LANGUAGES {
                    assert_ne!(name(symbol, digits), "", "{symbol} {digits}");
                    assert_ne!(help(symbol, digits), "", "{symbol} {digits}");
                }
            }
        }
    }

    #[test]
    fn no_symbol_is_left_over() {
        let in_tables =
            [BEHEMOTH, SUMMARY].iter().map(|t| 1 + t.numbers.len() + t.texts.len()).sum::<usize>();
        assert_eq!(SYMBOLS.lines().filter(|line| line.starts_with("#define")).count(), in_tables);
        let bases = BEHEMOTH.types().count() - BEHEMOTH.numbers.len();
        assert_eq!((bases, BEHEMOTH.position("NAP")), (4, Some(11)));
    }
}
