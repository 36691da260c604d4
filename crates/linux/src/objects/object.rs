//! The trait of a performance object, and the indexes of objects that other files name.

use tallymon_provider::{CollectRequest, ObjectSpec, ObjectsWriter, ReadWindow, TitleIndex};

use super::spec::Origin;
use crate::sources::{Needs, Sources};

/// One performance object.
pub(crate) trait Object: Send {
    /// Its index, type and counters.
    fn spec(&self) -> &ObjectSpec<'static>;

    /// Where the values of its counters come from, in the order of the counters.
    fn origins(&self) -> &'static [Origin];

    /// The quantum of the counter at a position: the steps in which its raw value grows.
    fn quantum(&self, position: usize) -> u64 {
        let _ = position;
        1
    }

    /// Whether `_Total` is the mean of the other instances, not their sum, for the counter at a position.
    fn total_is_mean(&self, position: usize) -> bool {
        let _ = position;
        false
    }

    /// What the shared tables have to read for this request.
    fn needs(&self, request: &CollectRequest<'_>) -> Needs {
        let _ = request;
        Needs::default()
    }

    /// From when to when its values were read, if that is not the time of [`Object::collect`].
    fn window(&self, sources: &Sources) -> Option<ReadWindow> {
        let _ = sources;
        None
    }

    /// Whether it is so expensive that it is read by name only.
    fn costly(&self) -> bool {
        false
    }

    /// The source expressions of a table object, for the tests.
    #[cfg(test)]
    fn expressions(&self) -> Option<&[super::expression::Expression]> {
        None
    }

    /// Writes the object. A counter without a source is marked as absent; counters that are not requested
    /// need not be read.
    fn collect(&mut self, ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>);
}

/// Process, the parent of Thread.
pub(crate) const PROCESS: TitleIndex = TitleIndex(230);
/// Thread.
pub(crate) const THREAD: TitleIndex = TitleIndex(232);

/// Job Object, the parent of Job Object Details.
pub(crate) const JOB_OBJECT: TitleIndex = TitleIndex(1500);
/// Job Object Details.
pub(crate) const JOB_OBJECT_DETAILS: TitleIndex = TitleIndex(1548);
