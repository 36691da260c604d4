//! Names in the user's language, in English, and in every other language of the source.

use std::sync::Arc;

use tallymon_core::flow::{Source, SourceError};
use tallymon_core::title::{HelpIndex, Language, TitleIndex, Titles};

/// The name and help tables of a source: English, the user's language, and the others once a name is in
/// neither.
///
/// Clones share the tables.
#[derive(Debug, Clone)]
pub struct Names {
    preferred: Language,
    /// English first, then the preferred language, then whatever was loaded later.
    tables: Vec<(Language, Arc<Titles>)>,
}

impl Names {
    /// Loads English and the user's language.
    ///
    /// # Errors
    ///
    /// The source has no name tables.
    pub fn load(source: &mut dyn Source, preferred: Language) -> Result<Names, SourceError> {
        let mut tables = vec![(Language::ENGLISH, Arc::new(source.titles(Language::ENGLISH)?))];
        if preferred != Language::ENGLISH && source.languages().contains(&preferred) {
            tables.push((preferred, Arc::new(source.titles(preferred)?)));
        }
        Ok(Names { preferred, tables })
    }

    /// Loads the tables of every language that the source has.
    ///
    /// # Errors
    ///
    /// A table can not be read.
    pub fn load_all(&mut self, source: &mut dyn Source) -> Result<(), SourceError> {
        for language in source.languages() {
            if !self.tables.iter().any(|(known, _)| *known == language) {
                self.tables.push((language, Arc::new(source.titles(language)?)));
            }
        }
        Ok(())
    }

    /// The user's language.
    pub const fn preferred(&self) -> Language {
        self.preferred
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
        let table = self.tables.iter().find(|(language, _)| *language == self.preferred);
        let name = table.and_then(|(_, titles)| titles.name(index));
        name.map_or_else(|| self.english(index), str::to_string)
    }

    /// The help text in the user's language, else in English; `None` when there is none.
    pub fn help(&self, index: HelpIndex) -> Option<&str> {
        let preferred = self.tables.iter().find(|(language, _)| *language == self.preferred);
        let help = preferred.and_then(|(_, titles)| titles.help(index));
        help.or_else(|| self.tables.first().and_then(|(_, titles)| titles.help(index)))
    }

    /// Whether an index has a name, as a user wrote it, in any loaded language.
    ///
    /// Case and spaces are ignored: some agents write "Logical Disk" for LogicalDisk.
    pub fn is(&self, index: TitleIndex, written: &str) -> bool {
        self.tables.iter().any(|(_, titles)| titles.name(index).is_some_and(|name| same(name, written)))
    }

    /// The first index with a name in any loaded language, English first; compared as in [`Names::is`].
    pub fn find(&self, written: &str) -> Option<TitleIndex> {
        let mut all = self.tables.iter().flat_map(|(_, titles)| titles.names());
        all.find(|(_, name)| same(name, written)).map(|(index, _)| index)
    }

    /// Every loaded name of an index, with its language.
    pub fn all(&self, index: TitleIndex) -> impl Iterator<Item = (Language, &str)> {
        self.tables.iter().filter_map(move |(language, titles)| Some((*language, titles.name(index)?)))
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
