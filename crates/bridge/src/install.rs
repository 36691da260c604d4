//! Adds bridges to a registry and removes them.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;

use tallymon_core::title::Language;
use tallymon_host::registry::{Package, PackageTitle, Roots, Scope};
use tallymon_provider::trust;

use crate::catalog::{Catalog, counter_help, extended, learn, object_help};
use crate::kinds::Kind;
use crate::metrics::Metrics;
use crate::scrape::Scraper;
use crate::settings::{Declared, ReadSecret, file_of, folder, read_installed, to_text};

/// What a bridge would add, by what its endpoint has now.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The names and explanations, for the registry. The service has the name of the bridge.
    pub package: Package,
    file: PathBuf,
    text: String,
    catalog: Catalog,
    series: usize,
    omission: Option<String>,
}

/// What a bridge has in its endpoint now.
#[derive(Debug, Clone)]
pub struct Inspection {
    /// Where it reads.
    pub address: String,
    /// What it speaks.
    pub kind: Kind,
    /// The number of series.
    pub series: usize,
    /// Counters that would be added if the bridge was added now, as object and counter.
    pub new: Vec<(String, String)>,
    /// Counters whose metrics the endpoint does not have now.
    pub missing: Vec<(String, String)>,
    /// What of the answer was left out.
    pub omission: Option<String>,
}

impl Plan {
    /// Scrapes the endpoint of a bridge and decides what its metrics become. Writes nothing.
    ///
    /// # Errors
    ///
    /// The endpoint has no metrics, or too many; there is no folder for files of bridges. The words name the
    /// address.
    pub fn new(
        roots: &Roots,
        scope: Scope,
        declared: &Declared,
        read_secret: ReadSecret,
    ) -> Result<Plan, String> {
        crate::settings::check_name(&declared.name)?;
        let file = file_of(roots, scope, &declared.name);
        let file = file.ok_or("there is no home folder for the files of bridges")?;
        let metrics = Scraper::shared(&declared.settings, read_secret).scrape().metrics?;
        Plan::of_metrics(file, declared, &metrics)
    }

    /// As [`Plan::new`], for metrics that were read already, and with this file for the bridge.
    ///
    /// # Errors
    ///
    /// There are too many metrics.
    pub fn of_metrics(file: PathBuf, declared: &Declared, metrics: &Metrics) -> Result<Plan, String> {
        let Declared { name, settings } = declared;
        let address = settings.address();
        let catalog = learn(name, metrics, settings.labels.as_deref())
            .map_err(|words| format!("{address}: {words}"))?;
        let text = to_text(name, settings, &catalog);
        let package = Package {
            service: name.clone(),
            path: file.clone(),
            symbol_path: file.clone(),
            trusted: false,
            languages: vec![Language::ENGLISH],
            titles: titles(&catalog, metrics, &address),
            room: room(&catalog),
            warnings: Vec::new(),
        };
        Ok(Plan { package, file, text, catalog, series: metrics.len(), omission: metrics.omission() })
    }

    /// What a bridge that was added has now and did not have then; the package has the new names only. `None`
    /// when no bridge has this name.
    ///
    /// # Errors
    ///
    /// As [`Plan::new`]; the file of the bridge cannot be read.
    pub fn update(
        roots: &Roots,
        scope: Scope,
        name: &str,
        read_secret: ReadSecret,
    ) -> Option<Result<Plan, String>> {
        let file = file_of(roots, scope, name)?;
        file.symlink_metadata().ok()?;
        let update = || {
            let (settings, known) = read_installed(&file)?;
            let metrics = Scraper::shared(&settings, read_secret).scrape().metrics?;
            let failed = |words: &str| format!("{}: {words}", settings.address());
            let now = learn(name, &metrics, settings.labels.as_deref()).map_err(failed)?;
            let (catalog, new) = extended(&known, now).map_err(failed)?;
            let declared = Declared { name: name.to_owned(), settings };
            let mut plan = Plan::of_metrics(file.clone(), &declared, &metrics)?;
            plan.text = to_text(name, &declared.settings, &catalog);
            plan.package.titles = titles(&catalog, &metrics, &declared.settings.address());
            plan.package.titles.retain(|title| new.contains(&title.offset));
            plan.package.titles.sort_by_key(|title| title.offset);
            plan.catalog = catalog;
            for object in &mut plan.catalog {
                object.counters.retain(|counter| new.contains(&counter.offset));
            }
            plan.catalog.retain(|object| !object.counters.is_empty());
            Ok(plan)
        };
        Some(update())
    }

    /// The objects, each with its labels and counters; of an update, those with new counters, and only these.
    pub fn objects(&self) -> impl Iterator<Item = (&str, &[String], Vec<String>)> {
        self.catalog.iter().map(|object| {
            let counters = object.counters.iter().map(crate::catalog::CatalogCounter::name).collect();
            (object.name.as_str(), object.labels.as_slice(), counters)
        })
    }

    /// The number of series that the endpoint has.
    pub const fn series(&self) -> usize {
        self.series
    }

    /// What of the answer was left out.
    pub fn omission(&self) -> Option<&str> {
        self.omission.as_deref()
    }

    /// Writes the file of the bridge, before its names are installed.
    ///
    /// # Errors
    ///
    /// It cannot be written, or another user could change it.
    pub fn save(&self) -> io::Result<()> {
        if let Some(folder) = self.file.parent() {
            trust::create_folders(folder)?;
            trust::check_path(folder)?;
        }
        let next = self.file.with_extension("next");
        match std::fs::remove_file(&next) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = trust::create_file(&next)?;
        file.write_all(self.text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&next, &self.file)
    }
}

/// Removes the file of a bridge; `false` when there is none of this name.
///
/// # Errors
///
/// It cannot be removed.
pub fn forget(roots: &Roots, scope: Scope, name: &str) -> io::Result<bool> {
    let Some(file) = file_of(roots, scope, name) else { return Ok(false) };
    match std::fs::remove_file(file) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Where a bridge reads, without secrets, and what it speaks; `None` when no bridge has this name.
pub fn address_of(roots: &Roots, scope: Scope, name: &str) -> Option<Result<(String, Kind), String>> {
    let file = file_of(roots, scope, name)?;
    // Whether it is there: what it is comes out when it is read.
    file.symlink_metadata().ok()?;
    Some(read_installed(&file).map(|(settings, _)| (settings.address(), settings.kind())))
}

/// Scrapes the endpoint of a bridge and compares what it has with what was added; `None` when no bridge has
/// this name.
///
/// # Errors
///
/// The file of the bridge cannot be read; the endpoint has no metrics.
pub fn inspect(
    roots: &Roots,
    scope: Scope,
    name: &str,
    read_secret: ReadSecret,
) -> Option<Result<Inspection, String>> {
    let file = file_of(roots, scope, name)?;
    file.symlink_metadata().ok()?;
    let inspect = || {
        let (settings, catalog) = read_installed(&file)?;
        let metrics = Scraper::shared(&settings, read_secret).scrape().metrics?;
        let address = settings.address();
        let now = learn(name, &metrics, settings.labels.as_deref())
            .map_err(|words| format!("{address}: {words}"))?;
        let (series, omission) = (metrics.len(), metrics.omission());
        let (new, missing) = (beyond(&now, &catalog), beyond(&catalog, &now));
        Ok(Inspection { address, kind: settings.kind(), series, new, missing, omission })
    };
    Some(inspect())
}

/// The counters of a catalog that another one does not have, under any object with the same labels.
fn beyond(catalog: &Catalog, other: &Catalog) -> Vec<(String, String)> {
    let mut known = std::collections::HashSet::new();
    for object in other {
        known.extend(object.counters.iter().map(|c| (&object.labels, c.metric.as_str(), c.kind)));
    }
    let mut found = Vec::new();
    for object in catalog {
        for counter in &object.counters {
            if !known.contains(&(&object.labels, counter.metric.as_str(), counter.kind)) {
                found.push((object.name.clone(), counter.name()));
            }
        }
    }
    found
}

fn titles(catalog: &Catalog, metrics: &Metrics, address: &str) -> Vec<PackageTitle> {
    let title = |offset: u32, is_object: bool, name: String, help: String| PackageTitle {
        symbol: format!("TITLE_{offset}"),
        offset,
        is_object,
        names: BTreeMap::from([(Language::ENGLISH, name)]),
        helps: BTreeMap::from([(Language::ENGLISH, help)]),
    };
    let mut titles = Vec::new();
    for object in catalog {
        titles.push(title(object.offset, true, object.name.clone(), object_help(object, address)));
        for counter in &object.counters {
            let help = counter_help(counter, metrics);
            titles.push(title(counter.offset, false, counter.name(), help));
        }
    }
    titles
}

/// For how many more names there is to be room: a server of a newer version has some more, and seldom twice
/// as many.
fn room(catalog: &Catalog) -> u32 {
    let names: usize = catalog.iter().map(|object| object.counters.len().saturating_add(1)).sum();
    u32::try_from(names / 2).unwrap_or(u32::MAX).clamp(32, 1024)
}

/// The files of the bridges of a scope with their names, sorted.
pub(crate) fn files(roots: &Roots, scope: Scope) -> Vec<(String, PathBuf)> {
    let entries = folder(roots, scope).and_then(|folder| std::fs::read_dir(folder).ok());
    let mut found = Vec::new();
    for entry in entries.into_iter().flatten().flatten() {
        let path = entry.path();
        let name = path.file_stem().and_then(|name| name.to_str()).map(str::to_owned);
        let is_file = path.extension().is_some_and(|extension| extension == "toml");
        if let Some(name) = name.filter(|name| is_file && crate::settings::check_name(name).is_ok()) {
            found.push((name, path));
        }
    }
    found.sort();
    found
}

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} series", self.address, self.series)
    }
}
