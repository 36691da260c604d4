//! The trait of a performance object, and the indexes of the objects that others name.

use tallymon_provider::{Ask, ObjectSpec, ObjectsWriter, ReadWindow, TitleIndex};

use super::spec::Origin;
use crate::sources::{Needs, Sources};

/// One performance object.
pub(crate) trait Object: Send {
    /// What it looks like.
    fn spec(&self) -> &ObjectSpec<'static>;

    /// Where the values of its counters come from, one a counter.
    fn origins(&self) -> &'static [Origin];

    /// The steps in which the raw value of the counter at a position grows.
    fn quantum(&self, position: usize) -> u64 {
        let _ = position;
        1
    }

    /// Whether `_Total` is the mean of the other instances, and not their sum, for the counter at a position.
    fn total_is_mean(&self, position: usize) -> bool {
        let _ = position;
        false
    }

    /// What the tables that several objects share have to read for this request.
    fn needs(&self, request: &Ask<'_>) -> Needs {
        let _ = request;
        Needs::default()
    }

    /// From when to when its values were read, if that is not the time of [`Object::collect`].
    fn window(&self, sources: &Sources) -> Option<ReadWindow> {
        let _ = sources;
        None
    }

    /// Whether it is so dear that it is read only when it is asked for by name.
    fn costly(&self) -> bool {
        false
    }

    /// The sources of an object that is a table, for the tests.
    #[cfg(test)]
    fn expressions(&self) -> Option<&[super::expression::Expression]> {
        None
    }

    /// Writes it. A counter whose source is missing is marked as absent, one that nobody looks at need not be
    /// read.
    fn collect(&mut self, ask: &Ask<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>);
}

/// Process, the parent of Thread.
pub(crate) const PROCESS: TitleIndex = TitleIndex(230);
/// Thread.
pub(crate) const THREAD: TitleIndex = TitleIndex(232);

/// Job Object, the parent of Job Object Details.
pub(crate) const JOB_OBJECT: TitleIndex = TitleIndex(1500);
/// Job Object Details.
pub(crate) const JOB_OBJECT_DETAILS: TitleIndex = TitleIndex(1548);
