//! This machine: its counters, which all queries of the process share; names for functions without a query;
//! and the user's language.

use std::sync::{Arc, Mutex, OnceLock, Weak};

use tallymon::core::block::Snapshot;
use tallymon::core::flow::{RegisteredObjects, Source, SourceError};
use tallymon::core::path::{CounterPath, Part};
use tallymon::core::request::Request;
use tallymon::core::title::{Language, TitleIndex, Titles};
use tallymon::{Host, InstanceKey, Locale, NameForm, Query};

use crate::lock::lock;
use crate::status::{self, Status};

/// A query without counters, for its names; `None` before the first look-up.
static BROWSER: Mutex<Option<Query>> = Mutex::new(None);

/// The counters of this machine. All queries of the process share them, so that provider libraries and
/// their processes run once; they end with the last query.
pub(crate) struct Shared(Arc<Mutex<Host>>);

static HOST: Mutex<Weak<Mutex<Host>>> = Mutex::new(Weak::new());

impl Shared {
    /// The shared counters, opened if this is the first user.
    pub(crate) fn open() -> Result<Shared, SourceError> {
        let mut known = lock(&HOST);
        if let Some(host) = known.upgrade() {
            return Ok(Shared(host));
        }
        let host = Arc::new(Mutex::new(Host::open()?));
        *known = Arc::downgrade(&host);
        Ok(Shared(host))
    }
}

impl Source for Shared {
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        lock(&self.0).snapshot(request)
    }

    fn definitions(&mut self, costly: bool) -> Result<Snapshot, SourceError> {
        lock(&self.0).definitions(costly)
    }

    fn registered(&mut self) -> RegisteredObjects {
        lock(&self.0).registered()
    }

    fn discover(&mut self, object: &str) -> bool {
        lock(&self.0).discover(object)
    }

    fn trouble(&self, object: TitleIndex) -> Option<String> {
        lock(&self.0).trouble(object)
    }

    fn give_back(&mut self, snapshot: Snapshot) {
        lock(&self.0).give_back(snapshot);
    }

    fn titles(&mut self, language: Language) -> Result<Titles, SourceError> {
        lock(&self.0).titles(language)
    }

    fn translations(&mut self, language: Language) -> Result<Titles, SourceError> {
        lock(&self.0).translations(language)
    }

    fn languages(&self) -> Vec<Language> {
        lock(&self.0).languages()
    }
}

/// A new query over this machine, for the user's language.
pub(crate) fn query() -> Result<Query, Status> {
    let source = Shared::open().map_err(|error| status::of_source(&error))?;
    Query::new(Box::new(source), language()).map_err(|error| status::of_source(&error))
}

/// Calls a function with a query that has the names of this machine; `refresh` looks for new objects first.
pub(crate) fn browse<R>(
    refresh: bool,
    ask: impl FnOnce(&mut Query) -> Result<R, Status>,
) -> Result<R, Status> {
    let mut browser = lock(&BROWSER);
    if refresh {
        *browser = None;
    }
    let known = match browser.take() {
        Some(known) => known,
        None => query()?,
    };
    ask(browser.insert(known))
}

/// Checks that the name of a machine means this one; so do NULL and an empty name.
///
/// # Errors
///
/// `PDH_CSTATUS_NO_MACHINE` for another machine.
pub(crate) fn is_here(machine: Option<&str>) -> Result<(), Status> {
    let Some(name) = machine.map(|name| name.trim_start_matches('\\')).filter(|name| !name.is_empty()) else {
        return Ok(());
    };
    let here = browse(false, |query| Ok(query.system_name().to_string()))?;
    let known = [here.as_str(), ".", "localhost"];
    if known.iter().any(|known| known.eq_ignore_ascii_case(name)) { Ok(()) } else { Err(status::NO_MACHINE) }
}

/// The language of the environment, English where it names none, and the form of names in it.
pub(crate) fn language() -> Locale {
    static LANGUAGE: OnceLock<Locale> = OnceLock::new();
    *LANGUAGE.get_or_init(|| {
        let set = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let value = ["LC_ALL", "LC_MESSAGES", "LANG"].iter().find_map(set);
        let language = value.and_then(|value| Language::parse(&value)).unwrap_or(Language::ENGLISH);
        let names = set(&NameForm::VARIABLE).and_then(|name| NameForm::parse(&name)).unwrap_or_default();
        Locale { names, ..Locale::from(language) }
    })
}

/// Whether the names of a path are English. Numbers and patterns belong to no language; adding the path
/// reports names that do not exist.
pub(crate) fn is_english(query: &mut Query, text: &str) -> bool {
    let Ok(path) = CounterPath::parse(text).map(|parsed| parsed.path) else { return true };
    let Ok(object) = query.object(text, &path.object) else { return true };
    let names = |index: TitleIndex| query.names().english(index).to_lowercase();
    let is = |part: &Part, index: TitleIndex| match part {
        Part::Name(name) => part.is_wild() || name.to_lowercase() == names(index),
        Part::Index(_) => true,
    };
    let mut counters = query.catalog().object(object).into_iter().flat_map(|known| known.visible_counters());
    is(&path.object, object) && counters.any(|counter| is(&path.counter, counter.name))
}

/// The parent and the name of an instance, without its number.
pub(crate) fn name_without_number(instance: &InstanceKey) -> String {
    match &instance.parent {
        Some(parent) => format!("{parent}/{}", instance.name),
        None => instance.name.clone(),
    }
}
