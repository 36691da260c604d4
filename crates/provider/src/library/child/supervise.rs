//! Puts a library into a process of its own below a supervisor, which outlives it and ends everything that
//! the library forked.
//!
//! ```text
//! reader -> supervisor -> first process of a PID namespace -> library, with what it forks
//! ```
//!
//! Without a PID namespace the library is the child of the supervisor. Each protection is left out where the
//! system does not allow it; the reader gets the list of those that are active.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::PipeFlags;
use rustix::process::{DumpableBehavior, Pid, PidfdFlags, Resource, Signal, WaitOptions, WaitStatus};
use rustix::thread::{CapabilitySet, CapabilitySets, Gid, Uid, UnshareFlags};

use super::super::protocol::Protections;
use super::confine::{Forked, filter_calls, fork, restrict_writes, unshare};
use super::{LAST_CLOSE, limit, limits};

/// Where a library may write. Everything else it can read.
const WRITABLE: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/tmp", "/var/tmp", "/dev/shm"];
/// Processes of the user of a library, where these are counted for it alone.
const PROCESSES: u64 = 64;
/// How long the supervisor waits for what it has killed.
const GONE: Duration = Duration::from_secs(1);

/// How a library is to be protected against, as the reader says on the command line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    /// The user that it becomes, if root starts it.
    pub(super) user: Option<u32>,
    /// Without namespaces, Landlock and seccomp.
    pub(super) unprotected: bool,
}

impl Wanted {
    /// The options of the program. Unknown ones are an error: the reader is of another version.
    pub(super) fn of(arguments: impl Iterator<Item = String>) -> io::Result<Wanted> {
        let mut wanted = Wanted::default();
        for argument in arguments {
            match argument.split_once('=') {
                None if argument == "unprotected" => wanted.unprotected = true,
                Some(("user", number)) => wanted.user = Some(number.parse().map_err(io::Error::other)?),
                _ => return Err(io::Error::other(format!("unknown argument {argument:?}"))),
            }
        }
        Ok(wanted)
    }
}

/// What this process is after [`enter`].
pub(super) enum Role {
    /// It loads the library.
    Library { socket: OwnedFd, memory: File, protections: Protections },
    /// It was the supervisor, and the library has ended like this.
    Ended(ExitCode),
}

/// Forks the process of the library, and returns in both: in the supervisor when everything is over.
pub(super) fn enter(socket: OwnedFd, memory: File, wanted: Wanted) -> io::Result<Role> {
    let guarded: Vec<Pid> =
        [rustix::process::getppid(), Some(rustix::process::getpid())].into_iter().flatten().collect();
    // Orphans become children of this process, which can end them.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let mut active = Protections::NO_NEW_PRIVS;
    let has_namespace = !wanted.unprotected && new_namespaces(&mut active);
    if !has_namespace {
        // It outlives the reader until it has ended what the library left behind; the end of the socket tells
        // it.
        rustix::process::set_parent_process_death_signal(None)?;
    }
    // The same user can not trace the supervisor. It does not matter where that fails.
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let (report, reported) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    match fork()? {
        Forked::Parent(child) => {
            drop((memory, reported));
            return Ok(Role::Ended(supervise(child, &socket, has_namespace.then_some(report))));
        }
        Forked::Child => drop(report),
    }
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if has_namespace {
        match fork()? {
            Forked::Parent(child) => {
                drop((socket, memory));
                return Ok(Role::Ended(first_process(child, reported)));
            }
            Forked::Child => rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?,
        }
    }
    drop(reported);
    // Killing its own group reaches no supervisor.
    let _ = rustix::process::setsid();
    become_library(wanted, &guarded, &mut active)?;
    Ok(Role::Library { socket, memory, protections: active })
}

/// Makes a PID namespace for the children of this process, in a user namespace of its own unless root makes
/// it.
fn new_namespaces(active: &mut Protections) -> bool {
    if rustix::process::geteuid().is_root() && unshare(UnshareFlags::NEWPID).is_ok() {
        active.add(Protections::PID_NAMESPACE);
        return true;
    }
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    if unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWPID).is_err() {
        return false;
    }
    // The user is the same inside, so that the library reads what the user may read. Without a map it would
    // be nobody, which can read less and is no danger.
    let write = |file: &str, text: String| std::fs::write(format!("/proc/self/{file}"), text);
    let _ = write("setgroups", "deny".to_string());
    let _ = write("uid_map", format!("{user} {user} 1"));
    let _ = write("gid_map", format!("{group} {group} 1"));
    active.add(Protections::USER_NAMESPACE);
    active.add(Protections::PID_NAMESPACE);
    true
}

/// Gives up what the library must not have.
fn become_library(wanted: Wanted, guarded: &[Pid], active: &mut Protections) -> io::Result<()> {
    limits()?;
    if let Some(user) = wanted.user.filter(|_| rustix::process::geteuid().is_root())
        && set_user(user).is_ok()
    {
        active.add(Protections::OWN_USER);
        // The change of the user has cleared both.
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)?;
    }
    let counts_own_processes = active.has(Protections::OWN_USER) || active.has(Protections::USER_NAMESPACE);
    if counts_own_processes {
        limit(Resource::Nproc, PROCESSES)?;
    }
    if active.has(Protections::USER_NAMESPACE) {
        drop_capabilities();
    }
    if wanted.unprotected {
        return Ok(());
    }
    let mut guards = guarded;
    // Without Landlock, as in an older kernel, the others protect.
    if let Ok(scopes_signals) = restrict_writes(WRITABLE) {
        active.add(Protections::LANDLOCK);
        if scopes_signals {
            active.add(Protections::SIGNAL_SCOPE);
        }
    }
    if active.has(Protections::PID_NAMESPACE) {
        // The library can not name other processes. Landlock alone would leave it their limits.
        guards = &[];
    }
    if filter_calls(guards).is_ok() {
        active.add(Protections::SECCOMP);
    }
    Ok(())
}

fn set_user(user: u32) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(user), Gid::from_raw(user));
    rustix::thread::set_thread_groups(&[])?;
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)?;
    Ok(())
}

/// Drops the rights over its own namespace, which it does not need; they are none over the system.
fn drop_capabilities() {
    let none = CapabilitySet::empty();
    let _ = rustix::thread::set_capabilities(
        None,
        CapabilitySets { effective: none, permitted: none, inheritable: none },
    );
}

/// How a process ended, as two bytes.
fn ending(status: WaitStatus) -> [u8; 2] {
    let byte = |number: i32| u8::try_from(number).unwrap_or(u8::MAX);
    match (status.terminating_signal(), status.exit_status()) {
        (Some(signal), _) => [1, byte(signal)],
        (None, code) => [0, byte(code.unwrap_or(i32::from(u8::MAX)))],
    }
}

/// The first process of the PID namespace: it takes the ends of orphans, and ends when the library has ended;
/// then the kernel kills what is left in the namespace.
fn first_process(child: Pid, reported: OwnedFd) -> ExitCode {
    drop_capabilities_of_user_namespace();
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == child => {
                let _ = File::from(reported).write_all(&ending(status));
                return ExitCode::SUCCESS;
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return ExitCode::FAILURE,
        }
    }
}

fn drop_capabilities_of_user_namespace() {
    if !rustix::process::geteuid().is_root() {
        drop_capabilities();
    }
}

/// Waits for the end of the library, or of the reader; ends everything that is left, and ends like the
/// library.
fn supervise(child: Pid, socket: &OwnedFd, report: Option<OwnedFd>) -> ExitCode {
    wait_for_end(child, socket);
    let status = loop {
        match rustix::process::waitpid(Some(child), WaitOptions::empty()) {
            Ok(Some((_, status))) => break Some(status),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => break None,
        }
    };
    let mut end = status.map_or([0, u8::MAX], ending);
    if let Some(report) = report {
        let mut bytes = [0u8; 2];
        if File::from(report).read_exact(&mut bytes).is_ok() {
            end = bytes;
        }
    }
    end_orphans();
    let [is_signal, number] = end;
    if is_signal == 1
        && let Some(signal) = Signal::from_named_raw(i32::from(number))
    {
        // The reader sees how the library ended. The handler that Rust has for some signals removes itself at
        // the first one.
        for _ in 0..2 {
            let _ = rustix::process::kill_process(rustix::process::getpid(), signal);
        }
    }
    ExitCode::from(number)
}

/// Returns when the child has ended; kills it when the reader has gone and Close does not return.
fn wait_for_end(child: Pid, socket: &OwnedFd) {
    let Ok(end) = rustix::process::pidfd_open(child, PidfdFlags::empty()) else { return };
    let mut deadline: Option<Instant> = None;
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            // The library was told to close and did not. There is no one to report an error to.
            let _ = rustix::process::kill_process(child, Signal::KILL);
            return;
        }
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        let mut entries = vec![PollFd::new(&end, PollFlags::IN)];
        if deadline.is_none() {
            entries.push(PollFd::new(socket, PollFlags::empty()));
        }
        let _ = poll(&mut entries, timeout.as_ref());
        let has = |position: usize| entries.get(position).is_some_and(|entry| !entry.revents().is_empty());
        if has(0) {
            return;
        }
        if has(1) {
            deadline = Instant::now().checked_add(LAST_CLOSE);
        }
    }
}

/// Kills what the library left behind. Orphans are children of this process; there are none after a PID
/// namespace.
fn end_orphans() {
    let start = Instant::now();
    while start.elapsed() < GONE {
        let own = rustix::process::getpid().as_raw_nonzero();
        let children = std::fs::read_to_string(format!("/proc/self/task/{own}/children")).unwrap_or_default();
        let children = children.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?));
        for child in children {
            let _ = rustix::process::kill_process(child, Signal::KILL);
        }
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => std::thread::sleep(Duration::from_millis(1)),
            // There are no children any more.
            Err(_) => return,
        }
    }
}
