//! A counter of one instance, with its course.

use tallymon_core::counter::CounterType;
use tallymon_core::path::{CounterPath, Part};

use super::track::{Hours, Track};

/// A counter of one instance.
pub(super) struct Course {
    pub(super) path: String,
    pub(super) parts: Option<CounterPath>,
    pub(super) counter_type: CounterType,
    pub(super) track: Track,
    /// Of headline counters: what it was in each hour.
    pub(super) hours: Option<Hours>,
}

impl Course {
    /// The text of its instance as it is in the path; empty for an object without instances.
    pub(super) fn instance(&self) -> String {
        self.parts
            .as_ref()
            .and_then(|parts| parts.instance.as_ref())
            .map(ToString::to_string)
            .unwrap_or_default()
    }

    pub(super) fn host(&self) -> &str {
        self.parts.as_ref().and_then(|parts| parts.machine.as_deref()).unwrap_or_default()
    }

    /// Its object in lowercase.
    pub(super) fn object(&self) -> Option<String> {
        self.parts.as_ref().map(|parts| parts.object.to_string().to_lowercase())
    }

    /// Whether it is this counter, whatever its instance.
    pub(super) fn is(&self, object: &str, counter: &str) -> bool {
        self.parts.as_ref().is_some_and(|parts| is_counter(parts, object, counter))
    }
}

/// Whether a path is of this counter, whatever its instance.
pub(super) fn is_counter(parts: &CounterPath, object: &str, counter: &str) -> bool {
    let is = |part: &Part, name: &str| part.name().is_some_and(|part| part.eq_ignore_ascii_case(name));
    is(&parts.object, object) && is(&parts.counter, counter)
}
