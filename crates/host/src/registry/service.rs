//! What the registry knows of one service: its library, its indexes, whether it may be asked.

use tallymon_core::counter::CounterType;
use tallymon_core::title::{HelpIndex, TitleIndex};

use super::trust::ValidationCode;

/// A service that has counters, as its key `Performance` has it on Windows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Service {
    /// Name of the key; case is kept but not regarded.
    pub name: String,
    /// The shared library; `None` when only names were installed, or when counters come from elsewhere.
    pub library: Option<String>,
    /// Name of the function that is called first.
    pub open: Option<String>,
    /// Name of the function that gives data.
    pub collect: Option<String>,
    /// Name of the function that is called last.
    pub close: Option<String>,
    /// What `Open` is given: the texts of `Linkage\Export`.
    pub export: Vec<String>,
    /// The indexes of its texts; `None` before its names are installed.
    pub titles: Option<TitleRange>,
    /// The objects that it is asked for (`Object List`); a library without any is asked for every unknown
    /// object.
    pub object_list: Vec<TitleIndex>,
    /// The objects of others that it changes (`Wrapped Objects`): it is not asked for objects of its own
    /// then, but handed what others answered.
    pub wrapped_objects: Vec<TitleIndex>,
    /// `Disable Performance Counters`: it is not asked.
    pub disabled: bool,
    /// Whether the administrator marked the library as trusted.
    pub trusted: bool,
    /// Its library is loaded by a process of the user nobody where root asks (`Run As Nobody`); others ask it
    /// as themselves.
    pub as_nobody: bool,
    /// Its library is loaded by the reader itself, as long as it is trusted and has not changed since (`In
    /// Process`).
    pub in_process: bool,
    /// What the library was when it was marked as trusted (`Library Validation Code`).
    pub validation_code: Option<ValidationCode>,
    /// Longest time that loading and `Open` may take, in milliseconds; 10,000 when it is not set.
    pub open_timeout: Option<u32>,
    /// Longest time that `Collect` may take, in milliseconds; 10,000 when it is not set.
    pub collect_timeout: Option<u32>,
    /// How long a request waits for an answer, in milliseconds; 50 when it is not set.
    pub deadline: Option<u32>,
    /// The file that its names came from.
    pub ini: Option<String>,
    /// What a manifest says, for services that have one.
    pub manifest: Option<ManifestProvider>,
}

/// The indexes between the first and the last text of a service: names even, help texts odd.
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
    /// Whether an index is that of one of its names or of one of its help texts.
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

/// An object of a manifest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CounterSet {
    /// Its identifier, in braces and lower case.
    pub guid: String,
    /// Index of its name.
    pub name: TitleIndex,
    /// Index of its help text.
    pub help: HelpIndex,
    /// Word of the attribute `instances`, such as `single` or `globalAggregate`.
    pub instances: String,
    /// Its counters in the order of the manifest.
    pub counters: Vec<SetCounter>,
}

/// A counter of a manifest.
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
    /// 100 for everybody (`standard`), 200 for experts (`advanced`).
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
    /// Word of the attribute `aggregate`, such as `sum`.
    pub aggregate: Option<String>,
    /// Names of its attributes, such as `reference`.
    pub attributes: Vec<String>,
}

/// The form in which names of services are compared.
pub(crate) fn folded(name: &str) -> String {
    name.chars().flat_map(char::to_lowercase).collect()
}

/// Why a text can not be the name of a service; `None` when it can.
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
            "{name:?} can not be the name of a service: slashes, control characters and blanks at the ends are not \
             allowed"
        ));
    }
    (folded(name).len() > LONGEST)
        .then(|| format!("the name of a service has at most {LONGEST} bytes; {name:?} is longer"))
}
