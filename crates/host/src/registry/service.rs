//! A service in the registry: its library, its indexes, and whether it is enabled.

use tallymon_core::counter::CounterType;
use tallymon_core::title::{HelpIndex, TitleIndex};

use super::trust::ValidationCode;

/// A service with counters, like its key `Performance` on Windows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Service {
    /// Name of the key; case is kept but not regarded.
    pub name: String,
    /// The shared library; `None` when only names are installed, or when the counters have another source.
    pub library: Option<String>,
    /// Name of the function that is called first.
    pub open: Option<String>,
    /// Name of the function that writes the data.
    pub collect: Option<String>,
    /// Name of the function that is called last.
    pub close: Option<String>,
    /// The argument of `Open`: the texts of `Linkage\Export`.
    pub export: Vec<String>,
    /// The indexes of its texts; `None` before its names are installed.
    pub titles: Option<TitleRange>,
    /// Its objects (`Object List`); a library with an empty list gets requests for every unknown object.
    pub object_list: Vec<TitleIndex>,
    /// Objects of other providers that it changes (`Wrapped Objects`): it then gets their data instead of
    /// requests for objects of its own.
    pub wrapped_objects: Vec<TitleIndex>,
    /// `Disable Performance Counters`: it gets no requests.
    pub disabled: bool,
    /// Whether the administrator marked the library as trusted.
    pub trusted: bool,
    /// When the reader is root, a process of the user `nobody` loads its library (`Run As Nobody`); for other
    /// users, a process of that user.
    pub as_nobody: bool,
    /// Its process has the user of the reader, also if this is root (`Run As Caller`). Otherwise root gives
    /// it a user of its own.
    pub as_caller: bool,
    /// Its process has no own user, namespaces, Landlock or seccomp (`Unprotected`).
    pub unprotected: bool,
    /// Its library is loaded by the reader itself, as long as it is trusted and has not changed since (`In
    /// Process`).
    pub in_process: bool,
    /// Identifies the library as it was when it was marked as trusted (`Library Validation Code`).
    pub validation_code: Option<ValidationCode>,
    /// Longest time that loading and `Open` may take, in milliseconds; 10,000 when it is not set.
    pub open_timeout: Option<u32>,
    /// Longest time that `Collect` may take, in milliseconds; 10,000 when it is not set.
    pub collect_timeout: Option<u32>,
    /// How long a request waits for an answer, in milliseconds; 50 when it is not set.
    pub deadline: Option<u32>,
    /// The file that its names came from.
    pub ini: Option<String>,
    /// The manifest's data, for services that have one.
    pub manifest: Option<ManifestProvider>,
}

/// The indexes from the first to the last text of a service: even ones for names, odd ones for help texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TitleRange {
    /// `First Counter`.
    pub first_counter: TitleIndex,
    /// `Last Counter`.
    pub last_counter: TitleIndex,
    /// `First Help`.
    pub first_help: HelpIndex,
    /// `Last Help`.
    pub last_help: HelpIndex,
}

impl TitleRange {
    /// Whether one of its names or help texts has this index.
    pub fn contains(&self, index: u32) -> bool {
        if index.is_multiple_of(2) {
            (self.first_counter..=self.last_counter).contains(&TitleIndex(index))
        } else {
            (self.first_help..=self.last_help).contains(&HelpIndex(index))
        }
    }
}

/// A provider as its manifest declares it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ManifestProvider {
    /// Its identifier, in braces and lower case.
    pub guid: String,
    /// Its name, which need not be unique.
    pub name: String,
    /// Path of the program that provides the values.
    pub application: String,
    /// Whether it is in the kernel.
    pub kernel_mode: bool,
    /// Its counter sets, each an object.
    pub sets: Vec<CounterSet>,
}

/// An object in a manifest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CounterSet {
    /// Its identifier, in braces and lower case.
    pub guid: String,
    /// Index of its name.
    pub name: TitleIndex,
    /// Index of its help text.
    pub help: HelpIndex,
    /// The attribute `instances`, such as `single` or `globalAggregate`.
    pub instances: String,
    /// Its counters in the order of the manifest.
    pub counters: Vec<SetCounter>,
}

/// A counter in a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetCounter {
    /// Its number within the set.
    pub id: u32,
    /// Index of its name.
    pub name: TitleIndex,
    /// Index of its help text.
    pub help: HelpIndex,
    /// How its values are computed.
    pub counter_type: CounterType,
    /// 100 for all users (`standard`), 200 for experts (`advanced`).
    pub detail_level: u32,
    /// Power of ten that a chart multiplies it by, from -10 to 10.
    pub default_scale: i32,
    /// Number of its base counter.
    pub base: Option<u32>,
    /// Number of the counter that has its time.
    pub perf_time: Option<u32>,
    /// Number of the counter that has its frequency.
    pub perf_freq: Option<u32>,
    /// Number of the counter that has its multiplier.
    pub multi: Option<u32>,
    /// The attribute `aggregate`, such as `sum`.
    pub aggregate: Option<String>,
    /// Names of its attributes, such as `reference`.
    pub attributes: Vec<String>,
}

/// The form in which names of services are compared.
pub(crate) fn folded(name: &str) -> String {
    name.chars().flat_map(char::to_lowercase).collect()
}

/// Why a text cannot be the name of a service; `None` when it can.
///
/// Windows does not allow slashes; the length keeps the name of the file that it is stored in below what file
/// systems take.
pub(crate) fn wrong_name(name: &str) -> Option<String> {
    const LONGEST: usize = 200;
    if name.trim().is_empty() {
        return Some("a service needs a name".to_string());
    }
    if name.trim() != name || name.chars().any(|letter| letter.is_control() || matches!(letter, '/' | '\\')) {
        return Some(format!(
            "{name:?} cannot be the name of a service: slashes, control characters and blanks at the ends \
            are not \
             allowed"
        ));
    }
    (folded(name).len() > LONGEST)
        .then(|| format!("the name of a service has at most {LONGEST} bytes; {name:?} is longer"))
}
