//! Which name has which number.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use tallymon_core::title::Language;
use tallymon_provider::shm::{DefinitionText, ObjectDefinition};

use super::SERVICE;
use crate::publishers::Publishers;
use crate::registry::{HIGHEST_OFFSET, Package, PackageTitle, Problem, RegistryError, RegistryErrorKind};

/// The sets and counters that have numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Numbers {
    /// By number. The symbol of a counter begins with that of its set.
    titles: BTreeMap<u32, PackageTitle>,
    /// The number of a set, or of a counter of the set with a number, by its English name in small letters.
    by_name: HashMap<(Option<u32>, String), u32>,
}

/// What [`Numbers::add`] found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Added {
    /// The English names of all sets that have numbers.
    pub sets: Vec<String>,
    /// How many names, of sets and counters, had no number before.
    pub new_names: usize,
}

impl Numbers {
    /// Reads the INI file of an earlier time; there are no numbers if there is no such file.
    ///
    /// # Errors
    ///
    /// The file or its symbol file cannot be read, has a mistake, or is of another service.
    pub fn read(ini: &Path) -> Result<Numbers, RegistryError> {
        match std::fs::metadata(ini) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Numbers::default()),
            _ => {}
        }
        let package = Package::read(ini, None)?;
        if package.service != SERVICE {
            let words = format!("it is of the service {}, not of {SERVICE}", package.service);
            return Err(refused(ini, words));
        }
        let sets = package.titles.iter().filter(|title| title.is_object);
        let sets: HashMap<String, u32> = sets.map(|title| (title.symbol.clone(), title.offset)).collect();
        let mut numbers = Numbers::default();
        for title in package.titles {
            let set = title.symbol.split_once('_').and_then(|(set, _)| sets.get(set).copied());
            if !title.is_object && set.is_none() {
                return Err(refused(ini, format!("the symbol {} is of no object", title.symbol)));
            }
            let english = title.names.get(&Language::ENGLISH).map(String::as_str).unwrap_or_default();
            numbers.by_name.insert((set, english.to_lowercase()), title.offset);
            numbers.titles.insert(title.offset, title);
        }
        Ok(numbers)
    }

    /// Gives numbers to what is published now, and takes over its texts. Numbers that exist stay as they are.
    ///
    /// # Errors
    ///
    /// There are more names than a service may have. `ini` is the file that the error names.
    pub fn add(&mut self, publishers: &Publishers, ini: &Path) -> Result<Added, RegistryError> {
        let before = self.titles.len();
        for (definition, _) in publishers.under_own_names() {
            let set = self.number(None, &definition.texts);
            for counter in definition.counters.iter().filter(|counter| !counter.counter_type.is_base()) {
                self.number(Some(set), &counter.texts);
            }
        }
        if self.titles.keys().next_back().is_some_and(|offset| *offset > HIGHEST_OFFSET) {
            let words = format!(
                "what was ever published here has {} names, more than a service may have; remove the file to \
                 begin again with what is published now",
                self.titles.len()
            );
            return Err(refused(ini, words));
        }
        let sets = self.titles.values().filter(|title| title.is_object);
        let sets = sets.filter_map(|title| title.names.get(&Language::ENGLISH).cloned()).collect();
        Ok(Added { sets, new_names: self.titles.len().saturating_sub(before) })
    }

    /// The number of a set, and those of its counters by position; a base has that of its counter. `None` for
    /// what has no number.
    pub(super) fn of(&self, definition: &ObjectDefinition) -> Option<(u32, Vec<Option<u32>>)> {
        let set = self.find(None, &definition.texts)?;
        let mut counters = Vec::new();
        for counter in &definition.counters {
            let numerator = counters.last().copied().flatten();
            let is_base = counter.counter_type.is_base();
            counters.push(if is_base { numerator } else { self.find(Some(set), &counter.texts) });
        }
        Some((set, counters))
    }

    /// All names by number.
    pub(super) fn titles(&self) -> impl Iterator<Item = &PackageTitle> {
        self.titles.values()
    }

    /// The languages that there are texts in.
    pub(super) fn languages(&self) -> BTreeSet<Language> {
        self.titles().flat_map(|title| title.names.keys().chain(title.helps.keys())).copied().collect()
    }

    /// The number of a set, or of a counter of a set, which it gets now if it has none.
    fn number(&mut self, set: Option<u32>, texts: &[DefinitionText]) -> u32 {
        let texts_of = |choose: fn(&DefinitionText) -> &String| -> BTreeMap<Language, String> {
            let all = texts.iter().map(|text| (text.language, one_line(choose(text))));
            all.filter(|(_, words)| !words.is_empty()).collect()
        };
        let (names, helps) = (texts_of(|text| &text.name), texts_of(|text| &text.help));
        if let Some(offset) = self.find(set, texts) {
            if let Some(title) = self.titles.get_mut(&offset) {
                (title.names, title.helps) = (names, helps);
            }
            return offset;
        }
        let offset = self.titles.keys().next_back().map_or(0, |last| last.saturating_add(2));
        let symbol = match set {
            Some(set) => format!("SET{set}_COUNTER{offset}"),
            None => format!("SET{offset}"),
        };
        self.by_name.insert(key(set, texts), offset);
        self.titles.insert(offset, PackageTitle { symbol, offset, is_object: set.is_none(), names, helps });
        offset
    }

    /// The number of what has these texts: a set, or a counter of a set.
    fn find(&self, set: Option<u32>, texts: &[DefinitionText]) -> Option<u32> {
        self.by_name.get(&key(set, texts)).copied()
    }
}

/// What is looked for: the first text of a published name is English.
fn key(set: Option<u32>, texts: &[DefinitionText]) -> (Option<u32>, String) {
    (set, texts.first().map(|text| one_line(&text.name).to_lowercase()).unwrap_or_default())
}

/// A text as a line of an INI file can have it.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ").trim().to_owned()
}

fn refused(path: &Path, words: String) -> RegistryError {
    RegistryError { kind: RegistryErrorKind::Refused, problems: vec![Problem::of(path, words)] }
}
