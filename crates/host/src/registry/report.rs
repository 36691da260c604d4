//! Events of LoadPerf: what was installed and removed, the problems of a file, and why a change failed.

use tallymon_core::title::Language;
use tallymon_provider::library::event::{
    ALREADY_THERE, Event, INSTALL_FAILED, LANGUAGE_MISSING, NAMES_LOADED, NAMES_REMOVED, NO_OBJECTS,
    NOT_REPAIRED, REGISTRY_CLOSED, REMOVE_FAILED, TABLES_DAMAGED,
};

use super::error::{RegistryError, RegistryErrorKind};
use super::package::Package;
use super::service::TitleRange;
use crate::events::EventLog;

/// The intended change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// Names were to be installed.
    Install,
    /// Names were to be removed.
    Remove,
    /// The registry was to be repaired.
    Repair,
}

/// Reports that names were installed.
pub(super) fn report_installed(log: &EventLog, service: &str, range: TitleRange) {
    let TitleRange { first_counter, last_counter, first_help, last_help } = range;
    let numbers = [first_counter.0, last_counter.0, first_help.0, last_help.0].map(|index| index.to_string());
    let [first_counter, last_counter, first_help, last_help] = &numbers;
    let values = [service, first_counter, last_counter, first_help, last_help];
    log.write(&Event::new(&NAMES_LOADED, values));
}

/// Reports that names were removed.
pub(super) fn report_removed(log: &EventLog, service: &str, range: TitleRange) {
    let (counter, help) = (range.last_counter.to_string(), range.last_help.to_string());
    log.write(&Event::new(&NAMES_REMOVED, [service, &counter, &help]));
}

/// Reports what is allowed in an INI file that was installed and yet worth knowing: no objects, and languages
/// without texts of it, whose tables got English ones.
pub(super) fn report_warnings(
    log: &EventLog,
    package: &Package,
    installed: impl IntoIterator<Item = Language>,
) {
    if package.titles.iter().all(|title| !title.is_object) {
        log.write(&Event::new(&NO_OBJECTS, [&package.service, &package.path.display().to_string()]));
    }
    let others = installed.into_iter().filter(|language| !package.languages.contains(language));
    let others: Vec<String> = others.map(Language::code).collect();
    if !others.is_empty() {
        log.write(&Event::new(&LANGUAGE_MISSING, [&package.service, &others.join(", ")]));
    }
}

/// Reports why a change was not made; nothing was written then.
pub(super) fn report_failure(log: &EventLog, change: Change, service: &str, error: &RegistryError) {
    let code = error.win32_code().to_string();
    let cause = match error.kind {
        RegistryErrorKind::AlreadyInstalled => {
            // It is no failure on Windows either.
            return log.write(&Event::new(&ALREADY_THERE, [service]));
        }
        RegistryErrorKind::AccessDenied | RegistryErrorKind::Io => Some(&REGISTRY_CLOSED),
        RegistryErrorKind::Damaged => Some(&TABLES_DAMAGED),
        _ => None,
    };
    let words = error.problems.first().map(ToString::to_string).unwrap_or_default();
    if let Some(kind) = cause {
        log.write(&Event::new(kind, [&code]).with_detail(&words));
    }
    let kind = match change {
        Change::Install => &INSTALL_FAILED,
        Change::Remove => &REMOVE_FAILED,
        Change::Repair => &NOT_REPAIRED,
    };
    log.write(&Event::new(kind, [service, &code]).with_detail(words));
}
