//! Names and help texts: of NT's own indexes, 1 to 1847, in our languages, and of installed services.
//!
//! NT's own indexes mean the same on every machine, so a block from any machine can be read with them. Higher
//! indexes have a meaning only on the machine that has the service.
//!
//! Korean and Japanese Windows keep the names of counters in English and translate only the help texts. So do
//! the tables here; our own translations of the names are separate, see [`translations`].

mod neutral;

use std::collections::HashMap;
use std::sync::OnceLock;

use tallymon_core::flow::{SourceError, SourceErrorKind};
use tallymon_core::title::{HelpIndex, Language, TitleIndex, Titles};
use tallymon_provider::{Finding, FindingState};

use crate::registry::{BASE_INDEX, Installed, RegistryErrorKind, Roots};

/// The languages and their tables: `index<TAB>text`, names at even indexes and help at odd ones.
const TABLES: &[(Language, &str)] = &[
    (Language::ENGLISH, include_str!("../../titles/009.tsv")),
    (Language::KOREAN, include_str!("../../titles/012.tsv")),
    (Language::JAPANESE, include_str!("../../titles/011.tsv")),
    (Language::RUSSIAN, include_str!("../../titles/019.tsv")),
];

/// The languages in which Windows keeps the names of counters in English.
const ENGLISH_NAMES: [Language; 2] = [Language::KOREAN, Language::JAPANESE];

/// The languages that each index has a name in, English first; those of our tables.
pub(crate) fn languages_of(index: TitleIndex) -> &'static [Language] {
    static KNOWN: OnceLock<HashMap<TitleIndex, Vec<Language>>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| {
        let mut known: HashMap<TitleIndex, Vec<Language>> = HashMap::new();
        for (language, _) in TABLES {
            // A damaged table is reported by whoever asks for its texts.
            for (index, _) in table(*language).unwrap_or_default().names() {
                known.entry(index).or_default().push(*language);
            }
        }
        known
    });
    known.get(&index).map_or(&[], Vec::as_slice)
}

/// Names that objects had in NT 4 and Windows 2000.
const OLD_OBJECTS: [(TitleIndex, &str); 3] =
    [(TitleIndex(546), "IP"), (TitleIndex(638), "TCP"), (TitleIndex(658), "UDP")];

/// Lines of object, counter and help text, by their indexes: what counters the known objects have.
const COUNTERS: &str = include_str!("../../titles/counters.tsv");

/// The languages that have texts, English first.
pub fn languages() -> Vec<Language> {
    TABLES.iter().map(|(language, _)| *language).collect()
}

/// The texts in a language as Windows has them: names are English in Korean and Japanese. English where a
/// language has none.
///
/// # Errors
///
/// A table that was compiled in is damaged.
pub fn titles(language: Language) -> Result<Titles, SourceError> {
    let own = table(language)?;
    if !ENGLISH_NAMES.contains(&language) {
        return Ok(own);
    }
    let mut titles = Titles::new();
    for (index, name) in table(Language::ENGLISH)?.names() {
        titles.insert_name(index, name);
    }
    for (index, help) in own.helps() {
        titles.insert_help(index, help);
    }
    Ok(titles)
}

/// The texts of NT's own indexes in a language, which mean the same on every Windows: for a table there that
/// is damaged, or in no other language.
///
/// # Errors
///
/// As [`titles`].
pub(crate) fn nt_titles(language: Language) -> Result<Titles, SourceError> {
    let all = neutral_titles(language)?;
    let mut titles = Titles::new();
    for (index, name) in all.names().filter(|(index, _)| index.0 <= BASE_INDEX) {
        titles.insert_name(index, name);
    }
    for (index, help) in all.helps().filter(|(index, _)| index.0 <= BASE_INDEX) {
        titles.insert_help(index, help);
    }
    Ok(titles)
}

/// The texts of [`titles`] for readers of data from a system that may not be Linux: without the sentences
/// that explain how Linux counts.
///
/// # Errors
///
/// As [`titles`].
pub fn neutral_titles(language: Language) -> Result<Titles, SourceError> {
    let all = titles(language)?;
    let mut titles = Titles::new();
    for (index, name) in all.names() {
        titles.insert_name(index, name);
    }
    for (index, help) in all.helps() {
        if let Some(text) = neutral::help(help) {
            titles.insert_help(index, text);
        }
    }
    Ok(titles)
}

/// Our translations of the names that Windows leaves in English in a language; empty for other languages.
///
/// # Errors
///
/// As [`titles`].
pub fn translations(language: Language) -> Result<Titles, SourceError> {
    let mut names = Titles::new();
    if ENGLISH_NAMES.contains(&language) {
        for (index, name) in table(language)?.names() {
            names.insert_name(index, name);
        }
    }
    Ok(names)
}

/// The names that Windows shows for some indexes, in all languages.
#[cfg(target_os = "linux")]
pub(crate) fn names_in_all_languages(indexes: &std::collections::BTreeSet<TitleIndex>) -> Vec<String> {
    let tables = TABLES.iter().filter(|(language, _)| !ENGLISH_NAMES.contains(language));
    let lines = tables.flat_map(|(_, text)| text.lines());
    let names = lines.filter_map(|line| {
        let (index, name) = line.split_once('\t')?;
        indexes.contains(&TitleIndex(index.parse().ok()?)).then(|| name.to_owned())
    });
    names.collect()
}

/// Whether an object had a name in NT 4 or Windows 2000; case is ignored.
pub fn is_old_name(object: TitleIndex, name: &str) -> bool {
    old_object(name) == Some(object)
}

/// The object that had a name in NT 4 or Windows 2000; case is ignored.
pub fn old_object(name: &str) -> Option<TitleIndex> {
    OLD_OBJECTS.iter().find(|(_, old)| old.eq_ignore_ascii_case(name)).map(|(object, _)| *object)
}

/// The help text of each counter of each known object, by object and counter. Objects may use one name with
/// different meanings, so the help of a counter is not always the one after its name.
///
/// # Errors
///
/// The table that was compiled in is damaged.
pub fn counter_helps() -> Result<HashMap<(TitleIndex, TitleIndex), HelpIndex>, SourceError> {
    let bad = || SourceError::new(SourceErrorKind::BadData, "built-in titles: a line of counters.tsv");
    let line = |line: &str| {
        let mut numbers = line.split('\t').map(str::parse::<u32>);
        let mut next = || numbers.next().and_then(Result::ok).ok_or_else(bad);
        Ok(((TitleIndex(next()?), TitleIndex(next()?)), HelpIndex(next()?)))
    };
    COUNTERS.lines().filter(|text| !text.starts_with('#')).map(line).collect()
}

fn table(language: Language) -> Result<Titles, SourceError> {
    let table = TABLES.iter().find(|(known, _)| *known == language).or(TABLES.first());
    let text: &'static str = table.map_or("", |(_, text)| *text);
    Titles::from_static_tsv(text)
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
    let remedy = if errors.iter().all(|error| error.kind == RegistryErrorKind::AccessDenied) {
        "correct owner and mode of the folder, or unset the variable that names it: TALLY_ROOT, XDG_STATE_HOME"
    } else {
        "'tally lodctr /R' goes back to the newest version that is whole"
    };
    let remedy = remedy.to_string();
    Finding { subject, state: FindingState::Missing, detail: words.join("; "), remedy }
}
