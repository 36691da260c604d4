//! All processes, read once a request for every object that needs them.

use tallymon_provider::{Absence, Ask, FileTime, Finding};

use crate::kept::Buffer;
use crate::pids::NumberFolder;
use crate::proc::SystemFacts;
use crate::root::Root;
use crate::sources::absence;

/// All processes.
pub(crate) struct ProcessTable {
    folder: NumberFolder,
    pids: Vec<u32>,
    /// Whether `pids` is of the request at hand.
    listed: Option<Result<(), Absence>>,
}

/// I/O of all processes together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct IoTotals {
    pub(crate) read_operations: u64,
    pub(crate) write_operations: u64,
    pub(crate) read_bytes: u64,
    pub(crate) write_bytes: u64,
}

impl ProcessTable {
    pub(crate) fn new(folder: NumberFolder) -> ProcessTable {
        ProcessTable { folder, pids: Vec::new(), listed: None }
    }

    /// Begins a request.
    pub(crate) fn begin(&mut self, _ask: &Ask<'_>) {
        self.listed = None;
    }

    /// How many processes there are.
    pub(crate) fn count(&mut self) -> Result<u64, Absence> {
        let folder = &mut self.folder;
        let pids = &mut self.pids;
        let listed = *self.listed.get_or_insert_with(|| folder.list(pids).map_err(|error| absence(&error)));
        listed.map(|()| u64::try_from(self.pids.len()).unwrap_or(u64::MAX))
    }

    pub(crate) fn refresh(&mut self, _facts: &SystemFacts, _now: FileTime, _buffer: &mut Buffer) {}

    pub(crate) fn io_totals(&self) -> Result<IoTotals, Absence> {
        Err(Absence::NotRequested)
    }

    pub(crate) fn findings(&self, _root: &Root) -> Vec<Finding> {
        Vec::new()
    }
}
