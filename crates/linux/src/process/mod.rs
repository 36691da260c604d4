//! Single processes, for a person who looks at them: facts, details, signals.
//!
//! Nothing here is read for a sample. Every file is read up to a limit, because a process decides what its
//! command line and its threads' names say, and how many files it opens.

mod act;
mod details;
mod sockets;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Mutex;

use tallymon_provider::FileTime;
use tallymon_provider::process::{ProcessAction, ProcessDetails, ProcessFacts, ProcessId, Processes};

use crate::kernel::proc::SystemFacts;
use crate::kernel::proc::pid_stat::PidStat;
use crate::kernel::proc::pid_status::PidStatus;
use crate::kernel::root::Root;
use crate::kernel::time::{boot_time, steady};
use crate::sources::container_names::ContainerNames;
use crate::sources::units::{group_of, unit_of};

/// Bytes of a command line that are shown.
const COMMAND: u64 = 4_096;
/// Bytes of any other file of a process.
const TEXT: u64 = 64 << 10;
/// Bytes of the list of users.
const USERS: u64 = 4 << 20;

/// The processes of the running kernel, or those of files that a test has filled.
#[derive(Debug)]
pub struct LinuxProcesses {
    root: Root,
    /// Where the names of users are.
    users: std::path::PathBuf,
    /// Names of users by number, as they were when a number was first seen.
    names: Mutex<HashMap<u64, String>>,
    containers: Mutex<ContainerNames>,
}

impl LinuxProcesses {
    /// The processes of this machine.
    pub fn system() -> LinuxProcesses {
        LinuxProcesses::of(Root::system())
    }

    /// The processes of a root, which another file of users may belong to.
    pub(crate) fn of(root: Root) -> LinuxProcesses {
        let users = root.proc.with_file_name("etc").join("passwd");
        LinuxProcesses::below(root, &users)
    }

    fn below(root: Root, users: &Path) -> LinuxProcesses {
        LinuxProcesses {
            root,
            users: users.to_path_buf(),
            names: Mutex::default(),
            containers: Mutex::default(),
        }
    }

    fn file(&self, process: ProcessId, name: &str) -> std::path::PathBuf {
        self.root.proc(&format!("{}/{name}", process.id))
    }

    /// The content of `stat`, if it still is the same process.
    fn stat(&self, process: ProcessId) -> Result<Stat, String> {
        let bytes = read(&self.file(process, "stat"), TEXT).map_err(|_| ended(process))?;
        let stat = PidStat::parse(&bytes).map_err(|error| error.to_string())?;
        let found = Stat {
            parent: u32::try_from(stat.parent).unwrap_or(0),
            state: char::from(stat.state),
            nice: stat.nice,
            start: facts().time_at(stat.start_ticks),
            name: String::from_utf8_lossy(stat.comm).into_owned(),
        };
        // A start of 0 means that the caller does not know it. The kernel counts starts in ticks.
        let is_same = process.start.0 == 0 || found.start.0.abs_diff(process.start.0) < SAME_START;
        if is_same { Ok(found) } else { Err(ended(process)) }
    }

    /// What it is, if it still is the same process.
    pub(crate) fn read(&self, process: ProcessId) -> Option<Facts> {
        let stat = self.stat(process).ok()?;
        let command = read(&self.file(process, "cmdline"), COMMAND).unwrap_or_default();
        let command = command_line(&command);
        let status = read(&self.file(process, "status"), TEXT).unwrap_or_default();
        let user = PidStatus::parse(&status).ok().and_then(|status| status.user);
        let groups = read(&self.file(process, "cgroup"), TEXT).ok();
        let group = groups.map(|groups| group_of(&String::from_utf8_lossy(&groups)));
        Some(Facts {
            user: user.map(|user| self.user(user)),
            // A kernel thread has no command line, and a process can clear its own.
            command: if command.is_empty() { format!("[{}]", stat.name) } else { command },
            unit: group.as_deref().and_then(|group| self.unit(group)),
            group,
        })
    }

    /// The service or container of a control group.
    fn unit(&self, group: &str) -> Option<String> {
        let mut containers = self.containers.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        unit_of(group, |container| containers.of(container, &self.root, steady()))
    }

    /// The name of a user, else the number.
    fn user(&self, number: u64) -> String {
        let mut names = self.names.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !names.contains_key(&number) {
            let text = read(&self.users, USERS).unwrap_or_default();
            names.extend(users(&String::from_utf8_lossy(&text)));
        }
        names.entry(number).or_insert_with(|| number.to_string()).clone()
    }
}

/// What a process is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Facts {
    /// The name of its user, else the number; `None` where it cannot be read.
    pub(crate) user: Option<String>,
    /// Its command line; the name of its program in brackets where it has none.
    pub(crate) command: String,
    /// Its service or container.
    pub(crate) unit: Option<String>,
    /// The path of its control group; `None` where it cannot be read.
    pub(crate) group: Option<String>,
}

impl From<Facts> for ProcessFacts {
    fn from(facts: Facts) -> ProcessFacts {
        let Facts { user, command, unit, .. } = facts;
        ProcessFacts { user: user.unwrap_or_default(), command, unit }
    }
}

/// What `stat` says.
struct Stat {
    parent: u32,
    state: char,
    nice: i64,
    start: FileTime,
    name: String,
}

/// Two starts of one process differ by less than this, in units of 100 ns: the kernel's ticks are rounded.
const SAME_START: u64 = 1_000_000;

fn facts() -> SystemFacts {
    SystemFacts {
        page_size: rustix::param::page_size() as u64,
        ticks_per_second: rustix::param::clock_ticks_per_second(),
        boot_time: boot_time(),
        cpu_count: 1,
    }
}

/// Why nothing is known of a process.
fn ended(process: ProcessId) -> String {
    format!("the process {} has ended", process.id)
}

/// Reads a file up to some bytes.
fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The arguments with spaces between them.
fn command_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.split('\0').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ").trim().to_string()
}

/// Names of users by number, from the text of `/etc/passwd`.
fn users(text: &str) -> HashMap<u64, String> {
    let mut users = HashMap::new();
    for line in text.lines() {
        let mut fields = line.split(':');
        let (Some(name), Some(_), Some(number)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        if let Ok(number) = number.parse() {
            // The first name of a number is the one that other programs show.
            users.entry(number).or_insert_with(|| name.to_string());
        }
    }
    users
}

/// A name of a folder that is a number.
fn number(name: &OsStr) -> Option<u32> {
    name.to_str()?.parse().ok()
}

impl Processes for LinuxProcesses {
    fn facts(&self, wanted: &[ProcessId]) -> Vec<Option<ProcessFacts>> {
        wanted.iter().map(|process| self.read(*process).map(ProcessFacts::from)).collect()
    }

    fn details(&self, wanted: ProcessId) -> Result<ProcessDetails, String> {
        details::details(self, wanted)
    }

    fn act(&self, wanted: ProcessId, action: ProcessAction) -> Result<(), String> {
        act::act(self, wanted, action)
    }

    fn may_act(&self, wanted: ProcessId) -> Result<(), String> {
        act::may_act(self, wanted)
    }
}

#[cfg(test)]
mod process_tests;
