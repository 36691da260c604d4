//! The contents of one version of a registry, and the rules for them.

use std::collections::{BTreeMap, BTreeSet};

use tallymon_core::title::{HelpIndex, Language, TitleIndex, Titles};

use super::roots::{BASE_INDEX, Scope};
use super::service::{Service, TitleRange, folded, wrong_name};
use super::setting::PerflibSetting;

/// The services and texts of one version of a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// Whose registry it is.
    pub scope: Scope,
    /// `Base Index`: the highest index that this registry does not give away.
    pub base_index: u32,
    /// `Last Counter`: the highest index of a name in use, even.
    pub last_counter: u32,
    /// `Last Help`: the highest index of a help text in use, odd.
    pub last_help: u32,
    /// The version that this one was based on; 0 for the first.
    pub parent: u32,
    /// The change against that version, in words.
    pub change: String,
    /// The settings of all libraries, where they are set.
    pub perflib: BTreeMap<PerflibSetting, u32>,
    /// The services by their name in small letters.
    services: BTreeMap<String, Service>,
    /// The texts of every language, by index.
    tables: BTreeMap<Language, BTreeMap<u32, String>>,
}

/// The name and the help text of a symbol in some languages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Texts {
    pub(crate) names: BTreeMap<Language, String>,
    pub(crate) helps: BTreeMap<Language, String>,
}

/// Why texts could not get indexes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OutOfIndexes {
    pub(crate) wanted: u32,
    pub(crate) highest: u32,
}

impl Contents {
    /// A registry in which nothing is installed yet.
    pub fn new(scope: Scope) -> Contents {
        let base_index = scope.indexes().start().saturating_sub(1);
        Contents {
            scope,
            base_index,
            last_counter: base_index.saturating_sub(1),
            last_help: base_index,
            parent: 0,
            change: String::new(),
            perflib: BTreeMap::new(),
            services: BTreeMap::new(),
            tables: BTreeMap::new(),
        }
    }

    /// The services, ordered by name.
    pub fn services(&self) -> impl Iterator<Item = &Service> {
        self.services.values()
    }

    /// The service with a name, ignoring case.
    pub fn service(&self, name: &str) -> Option<&Service> {
        self.services.get(&folded(name))
    }

    /// The service with a name, to change it.
    pub(crate) fn service_mut(&mut self, name: &str) -> Option<&mut Service> {
        self.services.get_mut(&folded(name))
    }

    /// Adds a service, or replaces the one with its name.
    pub(crate) fn insert(&mut self, service: Service) {
        self.services.insert(folded(&service.name), service);
    }

    /// Removes a service and its texts.
    pub(crate) fn remove(&mut self, name: &str) -> Option<Service> {
        self.release(name);
        self.services.remove(&folded(name))
    }

    /// The languages that have a table.
    pub fn languages(&self) -> impl Iterator<Item = Language> + '_ {
        self.tables.keys().copied()
    }

    /// The texts of a language, by index; `None` when it has no table.
    pub fn table(&self, language: Language) -> Option<&BTreeMap<u32, String>> {
        self.tables.get(&language)
    }

    /// Puts in a table that was read.
    pub(crate) fn insert_table(&mut self, language: Language, table: BTreeMap<u32, String>) {
        self.tables.insert(language, table);
    }

    /// The names and help texts of a language; the English ones when it has no table.
    pub fn titles(&self, language: Language) -> Titles {
        let table = self.tables.get(&language).or_else(|| self.tables.get(&Language::ENGLISH));
        Titles::from_pairs(table.into_iter().flatten().map(|(index, text)| (*index, text.as_str())))
    }

    /// Creates a table for every language that has none, with the English texts of everything installed, so
    /// that nothing is missing in the new language.
    pub(crate) fn add_languages(&mut self, languages: impl IntoIterator<Item = Language>) {
        let english = self.tables.get(&Language::ENGLISH).cloned().unwrap_or_default();
        for language in languages {
            self.tables.entry(language).or_insert_with(|| english.clone());
        }
    }

    /// Puts texts into the table of a language, by index; a new language gets the English texts of everything
    /// else. Indexes outside of this registry, such as NT's own, are ignored. Returns the number of texts;
    /// fails when a text belongs to no service.
    pub(crate) fn translate(
        &mut self,
        language: Language,
        texts: &BTreeMap<u32, String>,
    ) -> Result<usize, String> {
        if language == Language::ENGLISH {
            // Paths consist of these names; a translation would break every script.
            return Err(
                "English names are what paths are made of; they are changed by installing the service anew"
                    .into(),
            );
        }
        let own: BTreeMap<u32, &String> = texts
            .iter()
            .filter(|(index, _)| self.scope.indexes().contains(index))
            .map(|(index, text)| (*index, text))
            .collect();
        let english = self.tables.get(&Language::ENGLISH);
        for (index, text) in &own {
            let owner = self
                .services
                .values()
                .find(|service| service.titles.is_some_and(|range| range.contains(*index)));
            let is_name = index.is_multiple_of(2);
            let known = english.is_some_and(|table| table.contains_key(index));
            if owner.is_none() || (is_name && !known) {
                return Err(format!(
                    "the text {text:?} has the index {index}, which is that of no text of a service"
                ));
            }
            if text.is_empty() {
                return Err(format!("the text at the index {index} is empty"));
            }
        }
        self.add_languages([language]);
        let n = own.len();
        let table = self.tables.entry(language).or_default();
        table.extend(own.into_iter().map(|(index, text)| (index, text.clone())));
        Ok(n)
    }

    /// Assigns indexes to texts, which have even offsets, after the last ones in use, and writes them to
    /// every table: in its language where there is one, else in English. Behind them there is room for more.
    pub(crate) fn allocate(
        &mut self,
        texts: &BTreeMap<u32, Texts>,
        room: u32,
    ) -> Result<TitleRange, OutOfIndexes> {
        let last = texts.last_key_value().map_or(0, |(offset, _)| *offset);
        let last = last.saturating_add(room.saturating_mul(2));
        let highest = *self.scope.indexes().end();
        let counter_at = |offset: u32| self.last_counter.checked_add(2)?.checked_add(offset);
        let help_at = |offset: u32| self.last_help.checked_add(2)?.checked_add(offset);
        let range = match (counter_at(last), help_at(last)) {
            (Some(last_counter), Some(last_help)) if last_counter.max(last_help) <= highest => TitleRange {
                first_counter: TitleIndex(self.last_counter.saturating_add(2)),
                last_counter: TitleIndex(last_counter),
                first_help: HelpIndex(self.last_help.saturating_add(2)),
                last_help: HelpIndex(last_help),
            },
            _ => return Err(OutOfIndexes { wanted: last, highest }),
        };
        self.add_texts(&range, texts);
        self.last_counter = range.last_counter.0;
        self.last_help = range.last_help.0;
        Ok(range)
    }

    /// Writes texts to every table.
    fn add_texts(&mut self, range: &TitleRange, texts: &BTreeMap<u32, Texts>) {
        self.add_languages(std::iter::once(Language::ENGLISH));
        for (language, table) in &mut self.tables {
            for (offset, texts) in texts {
                let of = |map: &BTreeMap<Language, String>| {
                    map.get(language).or_else(|| map.get(&Language::ENGLISH)).cloned()
                };
                if let Some(name) = of(&texts.names) {
                    table.insert(range.first_counter.0.saturating_add(*offset), name);
                }
                if let Some(help) = of(&texts.helps) {
                    table.insert(range.first_help.0.saturating_add(*offset), help);
                }
            }
        }
    }

    /// Adds texts to those of a service, in the room behind them. Where there is not enough, the range grows,
    /// if no other service has indexes behind it; `None` if one has, or the service has no range.
    pub(crate) fn extend(&mut self, name: &str, texts: &BTreeMap<u32, Texts>) -> Option<TitleRange> {
        let highest = *self.scope.indexes().end();
        let (last_counter, last_help) = (self.last_counter, self.last_help);
        let service = self.services.get_mut(&folded(name))?;
        let mut range = service.titles?;
        let last = texts.last_key_value().map_or(0, |(offset, _)| *offset);
        let counter = range.first_counter.0.checked_add(last).filter(|last| *last <= highest)?;
        let help = range.first_help.0.checked_add(last).filter(|last| *last <= highest)?;
        if counter > range.last_counter.0 || help > range.last_help.0 {
            if range.last_counter.0 != last_counter || range.last_help.0 != last_help {
                return None;
            }
            range.last_counter = TitleIndex(counter.max(last_counter));
            range.last_help = HelpIndex(help.max(last_help));
            self.last_counter = range.last_counter.0;
            self.last_help = range.last_help.0;
        }
        service.titles = Some(range);
        self.add_texts(&range, texts);
        Some(range)
    }

    /// Removes the texts of a service from every table, and lowers the last indexes if they were the highest.
    /// Other indexes do not move. Returns the range that became free.
    pub(crate) fn release(&mut self, name: &str) -> Option<TitleRange> {
        let service = self.services.get_mut(&folded(name))?;
        let range = service.titles.take()?;
        service.object_list.clear();
        for table in self.tables.values_mut() {
            table.retain(|index, _| !range.contains(*index));
        }
        let used = || self.services.values().filter_map(|service| service.titles);
        let counters = used().map(|range| range.last_counter.0).max();
        let helps = used().map(|range| range.last_help.0).max();
        self.last_counter = counters.unwrap_or(self.base_index.saturating_sub(1));
        self.last_help = helps.unwrap_or(self.base_index);
        Some(range)
    }

    /// What contradicts itself; `Ok` for contents that are whole.
    pub(crate) fn check(&self) -> Result<(), String> {
        let first = self.base_index.saturating_add(1);
        if first != *self.scope.indexes().start() {
            return Err(format!(
                "the base index of a {} registry is {}, not {}",
                self.scope.word(),
                self.scope.indexes().start().saturating_sub(1),
                self.base_index
            ));
        }
        if !self.last_counter.is_multiple_of(2) || self.last_help.is_multiple_of(2) {
            return Err(format!(
                "Last Counter is even and Last Help odd, not {} and {}",
                self.last_counter, self.last_help
            ));
        }
        let mut ranges: Vec<(u32, u32, &str)> = Vec::new();
        for service in self.services.values() {
            if let Some(words) = wrong_name(&service.name) {
                return Err(words);
            }
            self.check_service(service, first)?;
            if let Some(range) = service.titles {
                ranges.push((range.first_counter.0, range.last_counter.0, &service.name));
                ranges.push((range.first_help.0, range.last_help.0, &service.name));
            }
        }
        // Names and help texts have indexes of their own kind, so only ranges of the same kind can clash.
        for kind in [0, 1] {
            let mut of_kind: Vec<_> = ranges.iter().filter(|(first, _, _)| first % 2 == kind).collect();
            of_kind.sort();
            for pair in of_kind.windows(2) {
                if let [(_, last, one), (first, _, other)] = pair
                    && first <= last
                {
                    return Err(format!("the indexes of {one} and of {other} overlap at {first}"));
                }
            }
        }
        self.check_tables()
    }

    fn check_service(&self, service: &Service, first: u32) -> Result<(), String> {
        let name = &service.name;
        let Some(range) = service.titles else {
            // Any service can list NT's own objects; other objects belong to services with names.
            return match service.object_list.iter().find(|object| object.0 > BASE_INDEX) {
                Some(object) => Err(format!("{name} lists the object {object} and has no names")),
                None => Ok(()),
            };
        };
        let (counters, helps) =
            (range.first_counter.0..=range.last_counter.0, range.first_help.0..=range.last_help.0);
        if counters.is_empty() || helps.is_empty() {
            return Err(format!("the last index of {name} is below its first one"));
        }
        let even = [counters.start(), counters.end()].iter().all(|index| index.is_multiple_of(2));
        let odd = [helps.start(), helps.end()].iter().all(|index| !index.is_multiple_of(2));
        if !even || !odd {
            return Err(format!("indexes of names are even and those of help texts odd; not so in {name}"));
        }
        if *counters.start() < first || *helps.start() < first {
            return Err(format!("{name} has indexes up to {}, which belong to others", self.base_index));
        }
        if *counters.end() > self.last_counter || *helps.end() > self.last_help {
            return Err(format!(
                "{name} has indexes above Last Counter {} and Last Help {}",
                self.last_counter, self.last_help
            ));
        }
        Ok(())
    }

    /// Every text belongs to a service, and every language has the same names.
    fn check_tables(&self) -> Result<(), String> {
        let owners: Vec<TitleRange> = self.services.values().filter_map(|service| service.titles).collect();
        let names_of = |table: &BTreeMap<u32, String>| -> BTreeSet<u32> {
            table.keys().copied().filter(|index| index.is_multiple_of(2)).collect()
        };
        let english = self.tables.get(&Language::ENGLISH).map(names_of).unwrap_or_default();
        for (language, table) in &self.tables {
            if let Some(index) =
                table.keys().find(|index| !owners.iter().any(|range| range.contains(**index)))
            {
                return Err(format!("the text at {index} in language {language} belongs to no service"));
            }
            let names = names_of(table);
            if let Some(index) = english.symmetric_difference(&names).next() {
                return Err(format!(
                    "the name at {index} is in one of the languages 009 and {language} only"
                ));
            }
        }
        if !owners.is_empty() && english.is_empty() {
            return Err("there are services with names, and no name in English".to_string());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(offsets: &[u32]) -> BTreeMap<u32, Texts> {
        let one = |offset: &u32| {
            let names = BTreeMap::from([(Language::ENGLISH, format!("name {offset}"))]);
            (*offset, Texts { names, helps: BTreeMap::new() })
        };
        offsets.iter().map(one).collect()
    }

    #[test]
    fn names_are_added_behind_those_of_a_service() {
        let mut contents = Contents::new(Scope::System);
        let one = install(&mut contents, "one", &[0, 2]);
        // It is the last one, so its range grows.
        let grown = contents.extend("ONE", &texts(&[4, 6])).unwrap();
        assert_eq!((grown.first_counter, grown.first_help), (one.first_counter, one.first_help));
        assert_eq!(grown.last_counter.0, one.first_counter.0 + 6);
        assert_eq!(contents.check(), Ok(()));
        let two = install(&mut contents, "two", &[0]);
        assert_eq!(two.first_counter.0, grown.last_counter.0 + 2);
        // Now another one has the indexes that follow.
        let before = contents.clone();
        assert_eq!(contents.extend("one", &texts(&[8])), None);
        assert_eq!(contents.extend("none", &texts(&[8])), None);
        assert_eq!(contents, before);
        // Names that are there are written again.
        assert_eq!(contents.extend("one", &texts(&[6])), Some(grown));
        let three = contents.allocate(&texts(&[0]), 2).unwrap();
        assert_eq!(three.last_counter.0, three.first_counter.0 + 4);
    }

    fn install(contents: &mut Contents, name: &str, offsets: &[u32]) -> TitleRange {
        let range = contents.allocate(&texts(offsets), 0).unwrap();
        contents.insert(Service { name: name.into(), titles: Some(range), ..Service::default() });
        contents.check().unwrap();
        range
    }

    #[test]
    fn new_indexes_follow_the_last_ones() {
        let mut contents = Contents::new(Scope::System);
        assert_eq!((contents.last_counter, contents.last_help), (1846, 1847));
        let one = install(&mut contents, "one", &[0, 2]);
        assert_eq!(
            (one.first_counter.0, one.last_counter.0, one.first_help.0, one.last_help.0),
            (1848, 1850, 1849, 1851)
        );
        let two = install(&mut contents, "two", &[0, 6]);
        assert_eq!((two.first_counter.0, two.last_counter.0), (1852, 1858));
        contents.remove("ONE").unwrap();
        contents.check().unwrap();
        assert_eq!(contents.last_counter, 1858, "a gap stays");
        assert_eq!(
            contents.table(Language::ENGLISH).unwrap().keys().copied().collect::<Vec<_>>(),
            [1852, 1858]
        );
        contents.remove("two").unwrap();
        assert_eq!((contents.last_counter, contents.last_help), (1846, 1847));
        contents.check().unwrap();
    }

    #[test]
    fn new_language_gets_english_texts() {
        let mut contents = Contents::new(Scope::User);
        install(&mut contents, "one", &[0]);
        contents.add_languages([Language::KOREAN]);
        assert_eq!(contents.table(Language::KOREAN), contents.table(Language::ENGLISH));
        assert_eq!(contents.table(Language::KOREAN).unwrap().keys().next(), Some(&1_000_000));
        contents.check().unwrap();
    }

    #[test]
    fn indexes_run_out() {
        let mut contents = Contents::new(Scope::System);
        contents.last_counter = 899_994;
        contents.last_help = 899_995;
        let before = contents.clone();
        assert_eq!(contents.allocate(&texts(&[0, 4]), 0), Err(OutOfIndexes { wanted: 4, highest: 899_999 }));
        assert_eq!(contents, before);
        assert_eq!(contents.allocate(&texts(&[0, 2]), 0).unwrap().last_help.0, 899_999);
        contents.last_counter = u32::MAX - 1;
        assert!(contents.allocate(&texts(&[0]), 0).is_err());
    }

    #[test]
    fn contradictions_are_found() {
        let mut whole = Contents::new(Scope::System);
        install(&mut whole, "one", &[0, 2]);
        install(&mut whole, "two", &[0, 2]);
        type Damage = fn(&mut Contents);
        let damages: &[(&str, Damage)] = &[
            ("overlap", |c| c.service_mut("two").unwrap().titles = c.service("one").unwrap().titles),
            ("belongs to no service", |c| _ = c.services.remove("one")),
            ("above Last Counter", |c| c.last_counter = 1848),
            ("even", |c| c.last_counter = 1849),
            ("base index", |c| c.base_index = 1),
            ("in one of the languages", |c| c.insert_table(Language::KOREAN, BTreeMap::new())),
            ("slashes", |c| c.service_mut("two").unwrap().name = "a/b".into()),
            ("has no names", |c| {
                c.insert(Service {
                    name: "x".into(),
                    object_list: vec![TitleIndex(2000)],
                    ..Service::default()
                })
            }),
        ];
        for (words, damage) in damages {
            let mut contents = whole.clone();
            damage(&mut contents);
            let found = contents.check().unwrap_err();
            assert!(found.contains(words), "{words}: {found}");
        }
    }
}
