//! Signals and priorities. A process is held by a file descriptor while it gets a signal, so that a later
//! process with its id never does.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, getuid, pidfd_open, pidfd_send_signal, setpriority_process};
use tallymon_provider::process::{ProcessAction, ProcessId};

use super::{LinuxProcesses, TEXT, read};
use crate::kernel::proc::pid_status::PidStatus;

/// Does something to a process.
pub(super) fn act(of: &LinuxProcesses, process: ProcessId, action: ProcessAction) -> Result<(), String> {
    may_act(of, process)?;
    let pid = pid(process)?;
    let held = hold(pid).map_err(|error| message(process, error))?;
    // From here on the id cannot pass to another process.
    of.stat(process)?;
    let done = match action {
        ProcessAction::End => pidfd_send_signal(&held, Signal::TERM),
        ProcessAction::Kill => pidfd_send_signal(&held, Signal::KILL),
        ProcessAction::Stop => pidfd_send_signal(&held, Signal::STOP),
        ProcessAction::Continue => pidfd_send_signal(&held, Signal::CONT),
        ProcessAction::Nice(nice) => setpriority_process(Some(pid), nice),
    };
    done.map_err(|error| message(process, error))
}

/// Whether this user may do something to a process: root may, and the owner of the process.
pub(super) fn may_act(of: &LinuxProcesses, process: ProcessId) -> Result<(), String> {
    of.stat(process)?;
    if process.id <= 1 {
        return Err(format!("the process {} starts all others and is not changed here", process.id));
    }
    let own = u64::from(getuid().as_raw());
    let status = read(&of.file(process, "status"), TEXT).unwrap_or_default();
    let user = PidStatus::parse(&status).ok().and_then(|status| status.user);
    if own == 0 || user == Some(own) {
        return Ok(());
    }
    let user = user.map(|user| of.user(user)).unwrap_or_default();
    Err(format!("the process {} belongs to {user}; only {user} and root may change it", process.id))
}

fn pid(process: ProcessId) -> Result<Pid, String> {
    let id = i32::try_from(process.id).ok().and_then(Pid::from_raw);
    id.ok_or_else(|| format!("{} is no id of a process", process.id))
}

fn hold(pid: Pid) -> Result<OwnedFd, Errno> {
    pidfd_open(pid, PidfdFlags::empty())
}

fn message(process: ProcessId, error: Errno) -> String {
    match error {
        Errno::SRCH => format!("the process {} has ended", process.id),
        Errno::PERM | Errno::ACCESS => format!("this user has no right to change the process {}", process.id),
        Errno::NOSYS => "this kernel is too old to hold a process; Linux 5.3 can".to_string(),
        other => format!("the process {}: {other}", process.id),
    }
}
