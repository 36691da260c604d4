//! One object a file: its table of counters, and how they are filled.

pub(crate) mod process_table;
pub(crate) mod spec;

mod memory;
mod processor;
mod system;

use tallymon_provider::{Ask, ObjectSpec, ObjectsWriter, TitleIndex};

use crate::sources::Sources;

/// One performance object.
pub(crate) trait Object {
    /// What it looks like.
    fn spec(&self) -> &ObjectSpec<'static>;

    /// Writes it. A counter whose source is missing is marked as absent, one that nobody looks at need not be read.
    fn collect(&mut self, ask: &Ask<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>);
}

/// Process, the parent of Thread.
pub(crate) const PROCESS: TitleIndex = TitleIndex(230);
/// Thread.
pub(crate) const THREAD: TitleIndex = TitleIndex(232);

/// Every object of this system. Process stands before Thread, whose instances name their parents by position.
pub(crate) fn all() -> Vec<Box<dyn Object>> {
    vec![
        Box::new(system::System::new()),
        Box::new(memory::Memory::new()),
        Box::new(processor::Processor::new()),
    ]
}
