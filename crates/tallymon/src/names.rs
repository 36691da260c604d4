//! Names in the user's language, in English, and in every other language of the source.

use std::sync::Arc;

use tallymon_core::flow::{Source, SourceError};
use tallymon_core::title::{HelpIndex, Language, TitleIndex, Titles};
use tallymon_host::titles;
use tallymon_provider::environment;

/// Which names a user sees in a language in which Windows keeps the names of counters in English, as Korean
/// and Japanese. Paths may always have either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum NameForm {
    /// Those of Windows: English.
    #[default]
    Nt,
    /// Our translations.
    Translated,
}

impl NameForm {
    /// The environment variable that chooses it.
    pub const VARIABLE: &str = environment::NAMES.name;

    /// The form with a name: `nt` or `translated`.
    pub fn parse(name: &str) -> Option<NameForm> {
        match name {
            "nt" => Some(NameForm::Nt),
            "translated" => Some(NameForm::Translated),
            _ => None,
        }
    }

    /// Its name, as [`NameForm::parse`] reads it.
    pub const fn name(self) -> &'static str {
        match self {
            NameForm::Nt => "nt",
            NameForm::Translated => "translated",
        }
    }
}

/// How instances are named that processes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum InstanceNames {
    /// `name`, and `name#1` for the second one. When the first one ends, the second one becomes `name`.
    #[default]
    Number,
    /// `name_1234`, with the process id: the name stays as long as the process. Performance Monitor does so
    /// with `ProcessNameFormat` 2.
    ProcessId,
}

impl InstanceNames {
    /// The names with a name: `number` or `pid`.
    pub fn parse(name: &str) -> Option<InstanceNames> {
        match name {
            "number" => Some(InstanceNames::Number),
            "pid" => Some(InstanceNames::ProcessId),
            _ => None,
        }
    }

    /// Its name, as [`InstanceNames::parse`] reads it.
    pub const fn name(self) -> &'static str {
        match self {
            InstanceNames::Number => "number",
            InstanceNames::ProcessId => "pid",
        }
    }
}

/// The language of a user, and the form of names in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Locale {
    /// The language of names and help texts.
    pub language: Language,
    /// Which names are shown.
    pub names: NameForm,
    /// How processes are named.
    pub instances: InstanceNames,
}

impl From<Language> for Locale {
    fn from(language: Language) -> Locale {
        Locale { language, names: NameForm::default(), instances: InstanceNames::default() }
    }
}

/// The name and help tables of a source: English, the user's language, and the others once a name is in
/// neither.
///
/// Clones share the tables.
#[derive(Debug, Clone)]
pub struct Names {
    locale: Locale,
    /// English first, then the preferred language, then whatever was loaded later.
    tables: Vec<(Language, Arc<Titles>)>,
    /// Translations of names that the tables leave in English.
    translations: Vec<(Language, Arc<Titles>)>,
}

impl Names {
    /// Loads English and the user's language.
    ///
    /// # Errors
    ///
    /// The source has no name tables.
    pub fn load(source: &mut dyn Source, locale: impl Into<Locale>) -> Result<Names, SourceError> {
        let locale = locale.into();
        let mut names = Names { locale, tables: Vec::new(), translations: Vec::new() };
        names.load_one(source, Language::ENGLISH)?;
        if locale.language != Language::ENGLISH && source.languages().contains(&locale.language) {
            names.load_one(source, locale.language)?;
        }
        Ok(names)
    }

    fn load_one(&mut self, source: &mut dyn Source, language: Language) -> Result<(), SourceError> {
        self.tables.push((language, Arc::new(source.titles(language)?)));
        let translations = source.translations(language)?;
        if !translations.is_empty() {
            self.translations.push((language, Arc::new(translations)));
        }
        Ok(())
    }

    /// Loads the tables of every language that the source has.
    ///
    /// # Errors
    ///
    /// A table cannot be read.
    pub fn load_all(&mut self, source: &mut dyn Source) -> Result<(), SourceError> {
        for language in source.languages() {
            if !self.tables.iter().any(|(known, _)| *known == language) {
                self.load_one(source, language)?;
            }
        }
        Ok(())
    }

    /// The user's language.
    pub const fn preferred(&self) -> Language {
        self.locale.language
    }

    /// The user's language, and which names are shown in it.
    pub const fn locale(&self) -> Locale {
        self.locale
    }

    /// The same names for a user of another language.
    #[must_use]
    pub fn in_language(&self, language: Language) -> Names {
        Names { locale: Locale { language, ..self.locale }, ..self.clone() }
    }

    /// How instances are named that processes are.
    pub const fn instances(&self) -> InstanceNames {
        self.locale.instances
    }

    /// The English name, the canonical one; its number when it has none.
    pub fn english(&self, index: TitleIndex) -> String {
        let name = self.tables.first().and_then(|(_, titles)| titles.name(index));
        name.map_or_else(|| index.0.to_string(), str::to_string)
    }

    /// All English names.
    pub fn english_titles(&self) -> Titles {
        self.tables.first().map(|(_, titles)| Titles::clone(titles)).unwrap_or_default()
    }

    /// The name in the user's language, else in English, else its number.
    pub fn name(&self, index: TitleIndex) -> String {
        let in_own = |tables: &'_ [(Language, Arc<Titles>)]| {
            let (_, titles) = tables.iter().find(|(language, _)| *language == self.locale.language)?;
            titles.name(index).map(str::to_string)
        };
        let translation = match self.locale.names {
            NameForm::Nt => None,
            NameForm::Translated => in_own(&self.translations),
        };
        let name = translation.or_else(|| in_own(&self.tables));
        name.unwrap_or_else(|| self.english(index))
    }

    /// The help text in the user's language, else in English; `None` when there is none.
    pub fn help(&self, index: HelpIndex) -> Option<&str> {
        let preferred = self.tables.iter().find(|(language, _)| *language == self.locale.language);
        let help = preferred.and_then(|(_, titles)| titles.help(index));
        help.or_else(|| self.tables.first().and_then(|(_, titles)| titles.help(index)))
    }

    /// Whether an index has a name, as a user wrote it, in any loaded language.
    ///
    /// Case and spaces are ignored: some agents write "Logical Disk" for LogicalDisk.
    pub fn is(&self, index: TitleIndex, written: &str) -> bool {
        self.named_tables().any(|(_, titles)| titles.name(index).is_some_and(|name| same(name, written)))
    }

    /// Whether an object had a name, as a user wrote it, in NT 4 or Windows 2000: TCPv4 was TCP.
    pub(crate) fn was(&self, object: TitleIndex, written: &str) -> bool {
        titles::is_old_name(object, written.trim())
    }

    /// The first index with a name in any loaded language, English first; compared as in [`Names::is`]. Names
    /// of NT 4 and Windows 2000 come last.
    pub fn find(&self, written: &str) -> Option<TitleIndex> {
        let mut all = self.named_tables().flat_map(|(_, titles)| titles.names());
        let found = all.find(|(_, name)| same(name, written)).map(|(index, _)| index);
        found.or_else(|| titles::old_object(written.trim()))
    }

    /// Every index with a name in any loaded language, each once; compared as in [`Names::is`].
    pub(crate) fn find_all(&self, written: &str) -> Vec<TitleIndex> {
        let all = self.named_tables().flat_map(|(_, titles)| titles.names());
        let mut found: Vec<TitleIndex> =
            all.filter(|(_, name)| same(name, written)).map(|(index, _)| index).collect();
        found.extend(titles::old_object(written.trim()));
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Every loaded name of an index, with its language: first those of Windows, then translations.
    pub fn all(&self, index: TitleIndex) -> impl Iterator<Item = (Language, &str)> {
        self.named_tables().filter_map(move |(language, titles)| Some((language, titles.name(index)?)))
    }

    fn named_tables(&self) -> impl Iterator<Item = (Language, &Titles)> {
        self.tables.iter().chain(&self.translations).map(|(language, titles)| (*language, &**titles))
    }

    /// Every loaded help text of an index, with its language.
    pub fn all_help(&self, index: HelpIndex) -> impl Iterator<Item = (Language, &str)> {
        self.tables.iter().filter_map(move |(language, titles)| Some((*language, titles.help(index)?)))
    }
}

fn same(name: &str, written: &str) -> bool {
    fn letters(text: &str) -> impl Iterator<Item = char> {
        text.chars().filter(|letter| !letter.is_whitespace()).flat_map(char::to_lowercase)
    }
    letters(name).eq(letters(written))
}

#[cfg(test)]
mod tests {
    use super::same;

    #[test]
    fn ignores_case_and_spaces() {
        for (name, written, equal) in [
            ("LogicalDisk", "Logical Disk", true),
            ("% Processor Time", "% processor time", true),
            ("% Загруженности процессора", "% загруженности ПРОЦЕССОРА", true),
            ("Disk Reads/sec", "Disk Read/sec", false),
            ("", "x", false),
        ] {
            assert_eq!(same(name, written), equal, "{name} / {written}");
        }
    }
}
