//! Names and help texts of NT's own indexes, 1 to 1847, in the languages that we have.
//!
//! These indexes mean the same on every machine, so that a block from anywhere can be read with them.

use tallymon_core::flow::{SourceError, SourceErrorKind};
use tallymon_core::title::{Language, Titles};

/// The languages and their tables: `index<TAB>text`, names at even indexes and help at odd ones.
const TABLES: &[(Language, &str)] = &[
    (Language::ENGLISH, include_str!("../titles/009.tsv")),
    (Language::KOREAN, include_str!("../titles/012.tsv")),
    (Language::JAPANESE, include_str!("../titles/011.tsv")),
    (Language::RUSSIAN, include_str!("../titles/019.tsv")),
];

/// The languages that there are texts in, English first.
pub fn languages() -> Vec<Language> {
    TABLES.iter().map(|(language, _)| *language).collect()
}

/// The texts in a language; those in English where there are none.
///
/// # Errors
///
/// A table that was compiled in is damaged.
pub fn titles(language: Language) -> Result<Titles, SourceError> {
    let table = TABLES.iter().find(|(known, _)| *known == language).or(TABLES.first());
    let text = table.map_or("", |(_, text)| text);
    Titles::from_tsv(text)
        .map_err(|error| SourceError::new(SourceErrorKind::BadData, format!("built-in titles: {error}")))
}
