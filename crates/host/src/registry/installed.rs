//! Everything that is installed now, in both registries.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tallymon_core::title::{Language, Titles};

use super::contents::Contents;
use super::error::RegistryError;
use super::roots::{Roots, Scope};
use super::service::{Service, folded};
use super::setting::PerflibSetting;
use super::store::Store;

/// One moment of the system's and of the user's registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The system's.
    pub system: Contents,
    /// The user's; empty for a program without a home.
    pub user: Contents,
}

impl Installed {
    /// Reads both registries. One that does not exist is empty.
    ///
    /// # Errors
    ///
    /// A file of one of them is damaged or cannot be read; the message names the file and the line.
    pub fn read(roots: &Roots) -> Result<Installed, RegistryError> {
        let read = |scope| match roots.folder(scope) {
            Some(folder) => Store::new(scope, folder).read().map(|(_, contents)| contents),
            None => Ok(Contents::new(scope)),
        };
        Ok(Installed { system: read(Scope::System)?, user: read(Scope::User)? })
    }

    /// Reads both registries, and reports the problems of one that cannot be read.
    pub fn read_what_is_whole(roots: &Roots) -> (Installed, Vec<RegistryError>) {
        let mut errors = Vec::new();
        let mut read = |scope| {
            let contents = match roots.folder(scope) {
                Some(folder) => Store::new(scope, folder).read().map(|(_, contents)| contents),
                None => Ok(Contents::new(scope)),
            };
            contents.unwrap_or_else(|error| {
                errors.push(error);
                Contents::new(scope)
            })
        };
        let (system, user) = (read(Scope::System), read(Scope::User));
        (Installed { system, user }, errors)
    }

    /// The versions in use: as long as they stay the same, so do the contents. A version that cannot be read
    /// counts as missing. Only a program that keeps libraries loaded needs this.
    #[cfg(target_os = "linux")]
    pub(crate) fn versions(roots: &Roots) -> [Option<u32>; 2] {
        [Scope::System, Scope::User]
            .map(|scope| Store::new(scope, roots.folder(scope)?).current().ok().flatten())
    }

    /// The registry of a scope.
    pub const fn of(&self, scope: Scope) -> &Contents {
        match scope {
            Scope::System => &self.system,
            Scope::User => &self.user,
        }
    }

    /// The services, ordered by name; of two with the same name, the user's.
    pub fn services(&self) -> impl Iterator<Item = (Scope, &Service)> {
        let mut services: BTreeMap<String, (Scope, &Service)> = BTreeMap::new();
        for scope in [Scope::System, Scope::User] {
            for service in self.of(scope).services() {
                services.insert(folded(&service.name), (scope, service));
            }
        }
        services.into_values()
    }

    /// A setting of all libraries: the number in the user's registry, else in the system's.
    pub fn perflib(&self, setting: PerflibSetting) -> Option<u32> {
        self.user.perflib.get(&setting).or_else(|| self.system.perflib.get(&setting)).copied()
    }

    /// The languages that have texts.
    pub fn languages(&self) -> BTreeSet<Language> {
        self.system.languages().chain(self.user.languages()).collect()
    }

    /// The languages in which the names of a service are registered: English, and those that differ from it.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "libraries are started on Linux only"))]
    pub(crate) fn languages_of(&self, scope: Scope, service: &Service) -> Arc<[Language]> {
        let contents = match scope {
            Scope::System => &self.system,
            Scope::User => &self.user,
        };
        let Some(range) = service.titles else { return Arc::default() };
        let names = |language| {
            let table = contents.table(language).into_iter().flatten();
            table.filter(move |(index, _)| index.is_multiple_of(2) && range.contains(**index))
        };
        // A table of another language has the English names of what has no others.
        let is_own = |language: &Language| {
            *language == Language::ENGLISH || !names(*language).eq(names(Language::ENGLISH))
        };
        contents.languages().filter(is_own).filter(|language| names(*language).next().is_some()).collect()
    }

    /// The names and help texts in a language; English where it has none.
    pub fn titles(&self, language: Language) -> Titles {
        let mut titles = self.user.titles(language);
        titles.merge(&self.system.titles(language));
        titles
    }
}

#[cfg(test)]
mod tests {
    use super::super::contents::Texts;
    use super::*;

    #[test]
    fn a_service_has_the_languages_whose_names_are_its_own() {
        let mut user = Contents::new(Scope::User);
        user.add_languages([Language::GERMAN]);
        for (name, names) in [
            ("tea", &[(Language::ENGLISH, "Tea"), (Language::GERMAN, "Tee")][..]),
            // The table in German has its English name.
            ("cup", &[(Language::ENGLISH, "Cup")]),
        ] {
            let names = names.iter().map(|(language, text)| (*language, text.to_string())).collect();
            let texts = BTreeMap::from([(0, Texts { names, helps: BTreeMap::new() })]);
            let titles = Some(user.allocate(&texts, 0).unwrap());
            user.insert(Service { name: name.into(), titles, ..Service::default() });
        }
        user.insert(Service { name: "none".into(), ..Service::default() });
        let installed = Installed { system: Contents::new(Scope::System), user };
        let found = |name: &str| {
            let service = installed.user.service(name).unwrap();
            installed.languages_of(Scope::User, service).to_vec()
        };
        let mut tea = found("tea");
        tea.sort();
        assert_eq!(tea, [Language::GERMAN, Language::ENGLISH]);
        assert_eq!((found("cup"), found("none")), (vec![Language::ENGLISH], Vec::new()));
    }
}
