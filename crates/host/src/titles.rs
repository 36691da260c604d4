//! Names and help texts: of NT's own indexes, 1 to 1847, in our languages, and of installed services.
//!
//! NT's own indexes mean the same on every machine, so a block from any machine can be read with them. Higher
//! indexes have a meaning only on the machine that has the service.

use tallymon_core::flow::{SourceError, SourceErrorKind};
use tallymon_core::title::{Language, Titles};
use tallymon_provider::{Finding, FindingState};

use crate::registry::{Installed, Roots};

/// The languages and their tables: `index<TAB>text`, names at even indexes and help at odd ones.
const TABLES: &[(Language, &str)] = &[
    (Language::ENGLISH, include_str!("../titles/009.tsv")),
    (Language::KOREAN, include_str!("../titles/012.tsv")),
    (Language::JAPANESE, include_str!("../titles/011.tsv")),
    (Language::RUSSIAN, include_str!("../titles/019.tsv")),
];

/// The languages that have texts, English first.
pub fn languages() -> Vec<Language> {
    TABLES.iter().map(|(language, _)| *language).collect()
}

/// The texts in a language; English where it has none.
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

/// The texts in a language, including those of installed services. A damaged registry costs its own texts
/// only; [`registry_finding`] reports it.
pub(crate) fn installed_titles(roots: Option<&Roots>, language: Language) -> Result<Titles, SourceError> {
    let mut all = titles(language)?;
    if let Some(roots) = roots {
        let (installed, _) = Installed::read_what_is_whole(roots);
        all.merge(&installed.titles(language));
    }
    Ok(all)
}

/// The languages that have texts, including those of installed services, English first.
pub(crate) fn installed_languages(roots: Option<&Roots>) -> Vec<Language> {
    let mut all = languages();
    if let Some(roots) = roots {
        let (installed, _) = Installed::read_what_is_whole(roots);
        all.extend(installed.languages().into_iter().filter(|language| !languages().contains(language)));
    }
    all
}

/// Whether the registries can be read.
pub(crate) fn registry_finding(roots: &Roots) -> Finding {
    let (installed, errors) = Installed::read_what_is_whole(roots);
    let subject = "registry".to_string();
    if errors.is_empty() {
        let (services, languages) = (installed.services().count(), installed.languages().len());
        let detail = format!("{services} services, texts in {languages} languages");
        return Finding { subject, state: FindingState::Good, detail, remedy: String::new() };
    }
    let words: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let remedy = "'tally lodctr /R' goes back to the newest version that is whole".to_string();
    Finding { subject, state: FindingState::Missing, detail: words.join("; "), remedy }
}
