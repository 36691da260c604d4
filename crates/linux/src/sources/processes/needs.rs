//! What a request needs of each process and thread.

/// Which values of the processes a request needs; each field stands for one file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ProcessNeeds {
    pub(crate) cpu: bool,
    pub(crate) stat: bool,
    pub(crate) statm: bool,
    pub(crate) io: bool,
    pub(crate) status: bool,
    pub(crate) handles: bool,
    /// `None` when no threads are requested.
    pub(crate) threads: Option<ThreadNeeds>,
}

impl ProcessNeeds {
    /// Adds the needs of another object.
    pub(crate) fn merge(&mut self, other: ProcessNeeds) {
        let ProcessNeeds { cpu, stat, statm, io, status, handles, threads } = other;
        self.cpu |= cpu;
        self.stat |= stat;
        self.statm |= statm;
        self.io |= io;
        self.status |= status;
        self.handles |= handles;
        if let Some(ThreadNeeds { cpu, stat, switches }) = threads {
            let threads = self.threads.get_or_insert_default();
            threads.cpu |= cpu;
            threads.stat |= stat;
            threads.switches |= switches;
        }
    }

    /// Whether it needs values that do not change while a process is idle.
    pub(super) fn any_lasting(&self) -> bool {
        self.io || self.status || self.handles || self.threads.is_some()
    }
}

/// Which values of the threads a request needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ThreadNeeds {
    pub(crate) cpu: bool,
    pub(crate) stat: bool,
    pub(crate) switches: bool,
}
