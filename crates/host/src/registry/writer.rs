//! Changes of a registry: the work of lodctr and unlodctr.

use std::fmt;
use std::path::Path;

use tallymon_core::title::{Language, TitleIndex};

use super::backup;
use super::contents::{Contents, OutOfIndexes};
use super::error::{Problem, RegistryError, RegistryErrorKind};
use super::installed::Installed;
use super::manifest::{Manifest, ManifestPackage, parse_guid};
use super::package::Package;
use super::roots::{Roots, Scope};
use super::service::{Service, TitleRange, wrong_name};
use super::setting::ServiceSetting;
use super::store::{Store, Version};
use super::trust::ValidationCode;
use crate::titles;

/// Changes one registry. Every change is made completely or not at all, and waits for changes by other
/// processes.
///
/// ```
/// # let folder = std::env::temp_dir().join(format!("tallymon-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// use tallymon_host::registry::{Installed, Package, Roots, Service, Writer};
///
/// std::fs::write(folder.join("my.h"), "#define MY_OBJECT 0\n#define MY_COUNTER 2\n")?;
/// std::fs::write(
///     folder.join("my.ini"),
///     "[info]\ndrivername=My\nsymbolfile=my.h\n[languages]\n009=\n[objects]\nMY_OBJECT_009_NAME=\n\
///      [text]\nMY_OBJECT_009_NAME=My Object\nMY_COUNTER_009_NAME=My Counter\n",
/// )?;
/// let roots = Roots::in_folder(&folder);
/// let package = Package::read(&folder.join("my.ini"), None)?;
/// let titles = Writer::open(&roots, None)?.install(&package, &Service::default())?;
/// assert_eq!(titles.first_counter.0, 1848);
///
/// let installed = Installed::read(&roots)?;
/// let english = installed.titles(tallymon_core::title::Language::ENGLISH);
/// assert_eq!(english.name(titles.last_counter), Some("My Counter"));
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Writer {
    scope: Scope,
    roots: Roots,
    store: Store<'static>,
}

/// A service that was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// Name of the service.
    pub service: String,
    /// The indexes that became free.
    pub titles: Option<TitleRange>,
}

impl Writer {
    /// The registry of a scope. Without a scope: the system's registry if the process may write it, else the
    /// user's.
    ///
    /// # Errors
    ///
    /// The program has no home and may not write the system's registry.
    pub fn open(roots: &Roots, scope: Option<Scope>) -> Result<Writer, RegistryError> {
        let writer = |scope: Scope| {
            let folder = roots.folder(scope).ok_or_else(|| {
                let words = "there is no home folder for the user's registry; set HOME, XDG_STATE_HOME or \
                    TALLY_ROOT";
                RegistryError::new(RegistryErrorKind::NotFound, words)
            })?;
            Ok(Writer { scope, roots: roots.clone(), store: Store::new(scope, folder) })
        };
        match scope {
            Some(scope) => writer(scope),
            None => {
                let system = writer(Scope::System)?;
                if system.store.may_write() { Ok(system) } else { writer(Scope::User) }
            }
        }
    }

    /// The registry with a service: first the one that [`Writer::open`] returns, then the other; the first
    /// one when neither has it.
    ///
    /// # Errors
    ///
    /// As [`Writer::open`].
    pub fn of_service(roots: &Roots, scope: Option<Scope>, service: &str) -> Result<Writer, RegistryError> {
        let writer = Writer::open(roots, scope)?;
        if scope.is_some() {
            return Ok(writer);
        }
        let (installed, _) = Installed::read_what_is_whole(roots);
        let other = match writer.scope {
            Scope::System => Scope::User,
            Scope::User => Scope::System,
        };
        if installed.of(writer.scope).service(service).is_none()
            && installed.of(other).service(service).is_some()
        {
            return Writer::open(roots, Some(other));
        }
        Ok(writer)
    }

    /// Whose registry it is.
    pub const fn scope(&self) -> Scope {
        self.scope
    }

    /// Its contents now.
    ///
    /// # Errors
    ///
    /// A file of it is damaged or cannot be read.
    pub fn contents(&self) -> Result<Contents, RegistryError> {
        self.store.read().map(|(_, contents)| contents)
    }

    /// The indexes that the texts of a package would get now if nothing is refused. Writes nothing.
    ///
    /// # Errors
    ///
    /// What [`Writer::install`] would refuse.
    pub fn check(&self, package: &Package) -> Result<TitleRange, RegistryError> {
        self.add_names(&mut self.contents()?, package)
    }

    /// Registers services: their libraries, functions and time limits. A service that is registered already
    /// keeps its names.
    ///
    /// # Errors
    ///
    /// A name is not valid for a service; the registry cannot be written.
    pub fn register(&self, services: &[Service]) -> Result<(), RegistryError> {
        self.change(|contents| {
            for service in services {
                register(contents, service)?;
            }
            let names: Vec<&str> = services.iter().map(|service| service.name.as_str()).collect();
            contents.change = format!("register {}", names.join(", "));
            Ok(())
        })
    }

    /// Installs the names of a service, and registers it if needed. Takes everything about its library from
    /// `registration`, except the name.
    ///
    /// # Errors
    ///
    /// The service has names already; there are no more indexes; the registry cannot be written.
    pub fn install(&self, package: &Package, registration: &Service) -> Result<TitleRange, RegistryError> {
        self.change(|contents| {
            register(contents, &Service { name: package.service.clone(), ..registration.clone() })?;
            contents.change = format!("install {}", package.service);
            self.add_names(contents, package)
        })
    }

    /// Installs the names of a registered service, as lodctr does.
    ///
    /// # Errors
    ///
    /// As [`Writer::install`]; the service is not registered.
    pub fn install_names(&self, package: &Package) -> Result<TitleRange, RegistryError> {
        self.change(|contents| {
            if contents.service(&package.service).is_none() {
                let words = format!(
                    "no service {:?} is registered; register it with 'tally provider add FILE.reg', or \
                    register and \
                     install at once with 'tally provider add {} --library FILE'",
                    package.service,
                    package.path.display()
                );
                return Err(RegistryError::of(
                    RegistryErrorKind::NotInstalled,
                    Problem::of(&package.path, words),
                ));
            }
            contents.change = format!("lodctr {}", package.service);
            self.add_names(contents, package)
        })
    }

    /// Adds names to those that a service has. The others keep their indexes.
    ///
    /// # Errors
    ///
    /// The service has no names; there is no room behind them, and other services have the indexes that
    /// follow; the registry cannot be written.
    pub fn extend_names(&self, package: &Package) -> Result<TitleRange, RegistryError> {
        self.change(|contents| {
            let service = &package.service;
            contents.service(service).ok_or_else(|| self.no_service(contents, service))?;
            contents.change = format!("extend {service}");
            let range = contents.extend(service, &package.texts()).ok_or_else(|| {
                let words = format!(
                    "there is no room behind the names of {service}: other services have the indexes that \
                     follow. 'tally provider remove {service}' and 'add' give it others"
                );
                RegistryError::of(RegistryErrorKind::Refused, Problem::of(&package.path, words))
            })?;
            let objects = package.titles.iter().filter(|title| title.is_object);
            let objects = objects.map(|title| TitleIndex(range.first_counter.0.saturating_add(title.offset)));
            if let Some(service) = contents.service_mut(service) {
                service.object_list.extend(objects);
            }
            Ok(range)
        })
    }

    /// Removes the names of a service, which stays registered, as unlodctr does.
    ///
    /// # Errors
    ///
    /// The service is not registered or has no names; the registry cannot be written.
    pub fn remove_names(&self, service: &str) -> Result<TitleRange, RegistryError> {
        self.change(|contents| {
            let known = contents.service(service).ok_or_else(|| self.no_service(contents, service))?;
            if known.manifest.is_some() {
                let words =
                    format!("{service} came from a manifest; remove it with unlodctr /g:{}", known.name);
                return Err(RegistryError::new(RegistryErrorKind::Usage, words));
            }
            contents.change = format!("unlodctr {}", known.name);
            contents.release(service).ok_or_else(|| {
                let words = format!("{service} is registered and has no names, so there are none to remove");
                RegistryError::new(RegistryErrorKind::NotInstalled, words)
            })
        })
    }

    /// Removes a service: its names and its registration. A provider of a manifest is selected by its GUID,
    /// or by its name if no other provider has it.
    ///
    /// # Errors
    ///
    /// There is no such service, or several; the registry cannot be written.
    pub fn remove(&self, service: &str) -> Result<Removed, RegistryError> {
        self.change(|contents| {
            let name = self.name_of(contents, service)?;
            let removed = contents.service(&name).map(|service| service.titles);
            contents.change = format!("remove {name}");
            contents.remove(&name);
            Ok(Removed { service: name, titles: removed.flatten() })
        })
    }

    /// Installs every provider of a manifest.
    ///
    /// # Errors
    ///
    /// One of them is installed already; there are no more indexes; the registry cannot be written.
    pub fn install_manifest(&self, manifest: &Manifest) -> Result<Vec<TitleRange>, RegistryError> {
        self.change(|contents| {
            let names: Vec<&str> = manifest.providers.iter().map(ManifestPackage::name).collect();
            contents.change = format!("install {}", names.join(", "));
            self.add_manifest(contents, manifest)
        })
    }

    /// The indexes that the texts of a manifest would get now. Writes nothing.
    ///
    /// # Errors
    ///
    /// What [`Writer::install_manifest`] would refuse.
    pub fn check_manifest(&self, manifest: &Manifest) -> Result<Vec<TitleRange>, RegistryError> {
        self.add_manifest(&mut self.contents()?, manifest)
    }

    /// Removes every provider of a manifest.
    ///
    /// # Errors
    ///
    /// One of them is not installed; the registry cannot be written.
    pub fn remove_manifest(&self, manifest: &Manifest) -> Result<Vec<Removed>, RegistryError> {
        self.change(|contents| {
            let mut removed = Vec::new();
            for provider in &manifest.providers {
                let titles = contents.service(provider.guid()).map(|service| service.titles);
                let titles = titles.ok_or_else(|| self.no_service(contents, provider.guid()))?;
                contents.remove(provider.guid());
                removed.push(Removed { service: provider.name().to_string(), titles });
            }
            let names: Vec<&str> = manifest.providers.iter().map(ManifestPackage::name).collect();
            contents.change = format!("remove {}", names.join(", "));
            Ok(removed)
        })
    }

    /// Returns to an earlier version, or to the one that the version in use was based on. Returns the numbers
    /// of both.
    ///
    /// # Errors
    ///
    /// The version is not kept or damaged; the registry cannot be written.
    pub fn rollback(&self, to: Option<u32>) -> Result<(u32, u32), RegistryError> {
        self.store.rollback(to)
    }

    /// Returns to the newest undamaged version if the one in use is damaged. Returns the numbers of both;
    /// `None` when nothing is damaged.
    ///
    /// # Errors
    ///
    /// All versions are damaged; the registry cannot be written.
    pub fn repair(&self) -> Result<Option<(u32, u32)>, RegistryError> {
        self.store.repair()
    }

    /// The versions that are kept, oldest first.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub fn versions(&self) -> Result<Vec<Version>, RegistryError> {
        self.store.versions()
    }

    /// Everything in one text, for [`Writer::restore`].
    ///
    /// # Errors
    ///
    /// A file of the registry is damaged or cannot be read.
    pub fn export(&self) -> Result<String, RegistryError> {
        Ok(backup::to_text(&self.contents()?))
    }

    /// Restores the text of [`Writer::export`] in place of everything that is installed now, whatever state
    /// that is in. Returns the number of services.
    ///
    /// # Errors
    ///
    /// The text is not such an export, or one of the registry of another scope; the registry cannot be
    /// written.
    pub fn restore(&self, path: &Path, text: &str) -> Result<usize, RegistryError> {
        let mut contents = backup::from_text(self.scope, path, text)
            .map_err(|problem| RegistryError::of(RegistryErrorKind::Refused, problem))?;
        contents.change = format!("restore {}", path.display());
        let services = contents.services().count();
        self.store.replace(contents)?;
        Ok(services)
    }

    pub(super) fn change<T>(
        &self,
        change: impl FnOnce(&mut Contents) -> Result<T, RegistryError>,
    ) -> Result<T, RegistryError> {
        let mut result = None;
        self.store.change::<RegistryError>(|old| {
            let mut new = old.clone();
            result = Some(change(&mut new)?);
            Ok(new)
        })?;
        result.ok_or_else(|| RegistryError::new(RegistryErrorKind::Internal, "the change was not made"))
    }

    fn add_names(&self, contents: &mut Contents, package: &Package) -> Result<TitleRange, RegistryError> {
        if let Some(range) = contents.service(&package.service).and_then(|service| service.titles) {
            let words = format!(
                "the names of {} are installed already, at {} to {}; remove them first with 'tally provider \
                remove {}' \
                 or 'tally unlodctr'",
                package.service, range.first_counter, range.last_help, package.service
            );
            return Err(RegistryError::of(
                RegistryErrorKind::AlreadyInstalled,
                Problem::of(&package.path, words),
            ));
        }
        contents.add_languages(self.languages());
        contents.add_languages(package.languages.iter().copied());
        let range = contents
            .allocate(&package.texts(), package.room)
            .map_err(|out| no_indexes(&package.path, &out))?;
        let object = |offset: u32| TitleIndex(range.first_counter.0.saturating_add(offset));
        let objects: Vec<TitleIndex> =
            package.titles.iter().filter(|title| title.is_object).map(|title| object(title.offset)).collect();
        let service = match contents.service_mut(&package.service) {
            Some(service) => service,
            // Only a check gets here: every other caller has registered the service before.
            None => return Ok(range),
        };
        service.titles = Some(range);
        // Without [objects] the list of a .reg file stays.
        if !objects.is_empty() {
            service.object_list = objects;
        }
        if package.trusted {
            service.validation_code = service.library.as_deref().and_then(ValidationCode::of);
            service.trusted = true;
        }
        let path = std::path::absolute(&package.path).unwrap_or_else(|_| package.path.clone());
        service.ini = Some(path.display().to_string());
        Ok(range)
    }

    fn add_manifest(
        &self,
        contents: &mut Contents,
        manifest: &Manifest,
    ) -> Result<Vec<TitleRange>, RegistryError> {
        let mut ranges = Vec::new();
        contents.add_languages(self.languages());
        for package in &manifest.providers {
            if contents.service(package.guid()).is_some() {
                let words = format!(
                    "the provider {} {} is installed already; remove it first with 'tally provider remove \
                    {}'",
                    package.name(),
                    package.guid(),
                    package.guid()
                );
                return Err(RegistryError::of(
                    RegistryErrorKind::AlreadyInstalled,
                    Problem::of(&manifest.path, words),
                ));
            }
            let languages = package.texts().values().flat_map(|texts| texts.names.keys().copied());
            contents.add_languages(languages.collect::<Vec<_>>());
            let range =
                contents.allocate(package.texts(), 0).map_err(|out| no_indexes(&manifest.path, &out))?;
            let provider = package.with_indexes(range);
            let path = std::path::absolute(&manifest.path).unwrap_or_else(|_| manifest.path.clone());
            contents.insert(Service {
                name: package.guid().to_string(),
                titles: Some(range),
                object_list: provider.sets.iter().map(|set| set.name).collect(),
                ini: Some(path.display().to_string()),
                manifest: Some(provider),
                ..Service::default()
            });
            ranges.push(range);
        }
        Ok(ranges)
    }

    /// The languages that must have a table: those of NT's own texts, and those of the other registry.
    fn languages(&self) -> Vec<Language> {
        let (installed, _) = Installed::read_what_is_whole(&self.roots);
        let mut languages = titles::languages();
        languages.extend(installed.languages());
        languages
    }

    /// The key of a service, for its name, its GUID, or the name of its provider.
    pub(super) fn name_of(&self, contents: &Contents, called: &str) -> Result<String, RegistryError> {
        let guid = parse_guid(called);
        if let Some(service) = contents.service(guid.as_deref().unwrap_or(called)) {
            return Ok(service.name.clone());
        }
        let is = |service: &&Service| {
            service.manifest.as_ref().is_some_and(|manifest| manifest.name.eq_ignore_ascii_case(called))
        };
        let found: Vec<&Service> = contents.services().filter(is).collect();
        match found.as_slice() {
            [] => Err(self.no_service(contents, called)),
            [one] => Ok(one.name.clone()),
            several => {
                let guids: Vec<&str> = several.iter().map(|service| service.name.as_str()).collect();
                let words = format!(
                    "several providers are called {called:?}; name one by its GUID: {}",
                    guids.join(", ")
                );
                Err(RegistryError::new(RegistryErrorKind::Usage, words))
            }
        }
    }

    pub(super) fn no_service(&self, contents: &Contents, called: &str) -> RegistryError {
        let mut words = format!("no service {called:?} is registered in the {} registry", self.scope.word());
        let names = contents.services().map(|service| service.name.as_str());
        match tallymon_core::title::nearest(called, names, 1).first() {
            Some(best) => words.push_str(&format!("; did you mean {best:?}?")),
            None => words.push_str("; 'tally provider list' names all"),
        }
        RegistryError::new(RegistryErrorKind::NotInstalled, words)
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("scope", &self.scope)
            .field("roots", &self.roots)
            .finish_non_exhaustive()
    }
}

/// Adds a service, or updates an existing one by the new registration.
fn register(contents: &mut Contents, new: &Service) -> Result<(), RegistryError> {
    if let Some(words) = wrong_name(&new.name) {
        return Err(RegistryError::new(RegistryErrorKind::Usage, words));
    }
    match contents.service_mut(&new.name) {
        None => contents.insert(Service { titles: None, ..new.clone() }),
        Some(known) => {
            let new = new.clone();
            for setting in ServiceSetting::ALL {
                if let Some(value) = setting.get(&new) {
                    setting.set(known, Some(value));
                }
            }
            known.library = new.library.or(known.library.take());
            known.open = new.open.or(known.open.take());
            known.collect = new.collect.or(known.collect.take());
            known.close = new.close.or(known.close.take());
            if new.trusted {
                (known.trusted, known.validation_code) = (true, new.validation_code);
            }
            if !new.export.is_empty() {
                known.export = new.export;
            }
            if !new.object_list.is_empty() {
                known.object_list = new.object_list;
            }
            if !new.wrapped_objects.is_empty() {
                known.wrapped_objects = new.wrapped_objects;
            }
        }
    }
    Ok(())
}

fn no_indexes(path: &Path, out: &OutOfIndexes) -> RegistryError {
    let words = format!(
        "there are no more indexes: the highest offset is {}, and indexes end at {}; remove services that \
        are no longer \
         needed",
        out.wanted, out.highest
    );
    RegistryError::of(RegistryErrorKind::Refused, Problem::of(path, words))
}
