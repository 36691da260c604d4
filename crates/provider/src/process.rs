//! One process of this machine, for people who look at it: who runs it, what it has open, what limits it.
//!
//! Counters say how much a process uses. These facts say what it is. They are read when somebody looks, and
//! never for a sample.

use tallymon_core::time::FileTime;

/// A process. The start time distinguishes it from an earlier process with the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId {
    /// Process id.
    pub id: u32,
    /// When it began, as the raw value of its counter Elapsed Time.
    pub start: FileTime,
}

/// What is cheap to know of a process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProcessFacts {
    /// The name of its user, else the number.
    pub user: String,
    /// Its command line; the name of the program where it has none.
    pub command: String,
    /// The service or container that it belongs to, such as `nginx.service` or `docker web`.
    pub unit: Option<String>,
}

/// Everything that the system says about a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessDetails {
    /// The cheap part.
    pub facts: ProcessFacts,
    /// Process id of the parent.
    pub parent: u32,
    /// Its state in a word of the kernel: `S`, `R`, `D`, `T`, `Z`.
    pub state: char,
    /// Its nice value, -20 to 19.
    pub nice: i64,
    /// The folder that it works in, and its program.
    pub places: Vec<(&'static str, String)>,
    /// Parts of its memory in bytes, by the kernel's name.
    pub memory: Vec<(&'static str, u64)>,
    /// Its threads; at most [`MOST_ROWS`].
    pub threads: Vec<ThreadDetails>,
    /// Its open files, sockets included; at most [`MOST_ROWS`]. The reason where they cannot be read.
    pub files: Result<Vec<OpenFile>, String>,
    /// Its limits: name, soft limit, hard limit.
    pub limits: Vec<[String; 3]>,
    /// The path of its control group, and what limits the group.
    pub group: String,
    /// Limits and use of the control group, by the name of their files.
    pub group_limits: Vec<(&'static str, String)>,
}

/// How many threads or files are listed.
pub const MOST_ROWS: usize = 4_096;

/// A thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadDetails {
    /// Its id.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Its state, as [`ProcessDetails::state`].
    pub state: char,
    /// Processor time that it has used, in units of 100 ns.
    pub time: u64,
}

/// An open file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenFile {
    /// Its number.
    pub number: u32,
    /// Path, or kind and addresses of a socket.
    pub target: String,
    /// Whether it is a socket.
    pub is_socket: bool,
}

/// What can be done to a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessAction {
    /// Ask it to end: SIGTERM.
    End,
    /// End it without asking: SIGKILL.
    Kill,
    /// Stop it until it is continued: SIGSTOP.
    Stop,
    /// Continue it: SIGCONT.
    Continue,
    /// Give it another nice value.
    Nice(i32),
}

/// Reads and changes processes of a machine. Calls may take long: callers make them on threads.
pub trait Processes: Send + Sync {
    /// The facts of some processes, in their order; `None` for one that has ended.
    fn facts(&self, wanted: &[ProcessId]) -> Vec<Option<ProcessFacts>>;

    /// Everything about a process.
    ///
    /// # Errors
    ///
    /// It has ended, or may not be read.
    fn details(&self, wanted: ProcessId) -> Result<ProcessDetails, String>;

    /// Does something to a process.
    ///
    /// # Errors
    ///
    /// It has ended, or the user has no right to do this.
    fn act(&self, wanted: ProcessId, action: ProcessAction) -> Result<(), String>;

    /// Whether this user may do something to a process.
    ///
    /// # Errors
    ///
    /// Why not.
    fn may_act(&self, wanted: ProcessId) -> Result<(), String>;
}
