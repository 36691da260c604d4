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
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::PipeFlags;
use rustix::process::{DumpableBehavior, Pid, PidfdFlags, Resource, Signal, WaitOptions, WaitStatus};
use rustix::thread::{CapabilitySet, CapabilitySets, Gid, Uid, UnshareFlags};

use super::super::attempt::{Counts, send_descriptor};
use super::super::protocol::Protections;
use super::confine::{Forked, Processes, filter_calls, fork, restrict_writes, unshare};
use super::watch::Watch;
use super::{LAST_CLOSE, limit, limits};

/// Where a library may write. Everything else it can read.
const WRITABLE: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/tmp", "/var/tmp", "/dev/shm"];
/// Processes of the user of a library, where these are counted for it alone.
const PROCESSES: u64 = 64;
/// What the first process of a namespace says when it ends what the library left.
const LEFT: [u8; 1] = [1];
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
pub(super) fn enter(socket: OwnedFd, memory: File, counts: Counts, wanted: Wanted) -> io::Result<Role> {
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
    // The same user cannot trace the supervisor. It does not matter where that fails.
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let (report, reported) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let (eye, listened) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    match fork()? {
        Forked::Parent(child) => {
            drop((memory, reported, listened));
            let watch = Watch::new(eye, counts, has_namespace, WRITABLE);
            return Ok(Role::Ended(supervise(child, &socket, has_namespace.then_some(report), watch)));
        }
        // The library could change the counts.
        Forked::Child => drop((report, eye, counts)),
    }
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if has_namespace {
        match fork()? {
            Forked::Parent(child) => {
                drop((socket, memory, listened));
                return Ok(Role::Ended(first_process(child, reported)));
            }
            Forked::Child => rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?,
        }
    }
    drop(reported);
    // Killing its own group reaches no supervisor.
    let _ = rustix::process::setsid();
    become_library(wanted, &guarded, listened, &mut active)?;
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
fn become_library(
    wanted: Wanted,
    guarded: &[Pid],
    listened: OwnedFd,
    active: &mut Protections,
) -> io::Result<()> {
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
        // The supervisor reads paths in its memory. Other libraries have namespaces of their own.
        rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)?;
    }
    if wanted.unprotected {
        return Ok(());
    }
    // Without Landlock, as in an older kernel, the others protect.
    if let Ok(scopes_signals) = restrict_writes(WRITABLE) {
        active.add(Protections::LANDLOCK);
        if scopes_signals {
            active.add(Protections::SIGNAL_SCOPE);
        }
    }
    // In a namespace the library cannot name other processes. Landlock alone would leave it their limits.
    let processes = match active.has(Protections::PID_NAMESPACE) {
        true => Processes::Inside(rustix::process::getpid()),
        false => Processes::Guarded(guarded),
    };
    if let Ok(listener) = filter_calls(processes) {
        active.add(Protections::SECCOMP);
        // The library must not have it: it could allow itself everything.
        if listener.is_some_and(|listener| send_descriptor(&listened, listener.as_fd()).is_ok()) {
            active.add(Protections::REPORTS);
        }
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
                let mut report = File::from(reported);
                let _ = report.write_all(&ending(status));
                // The end of thousands takes its time, so the first is reported alone.
                end_namespace(|| drop(report.write_all(&LEFT)));
                return ExitCode::SUCCESS;
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return ExitCode::FAILURE,
        }
    }
}

/// Kills what the library left in the namespace whose first process this is, and calls `found` when the first
/// of them has ended.
fn end_namespace(found: impl FnOnce()) {
    if rustix::process::getpid() != Pid::INIT {
        return;
    }
    // The group of the first process means everybody else in the namespace.
    if rustix::process::kill_process_group(Pid::INIT, Signal::KILL).is_err() {
        return;
    }
    let mut found = Some(found);
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((_, status))) if is_killed(status) => {
                if let Some(found) = found.take() {
                    found();
                }
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            // There are no children any more.
            Err(_) => return,
        }
    }
}

fn is_killed(status: WaitStatus) -> bool {
    status.terminating_signal() == Some(Signal::KILL.as_raw())
}

fn drop_capabilities_of_user_namespace() {
    if !rustix::process::geteuid().is_root() {
        drop_capabilities();
    }
}

/// What the first process of the namespace says: two bytes as from [`ending`], and [`LEFT`] if it has found
/// processes that the library left.
struct Report {
    pipe: Option<File>,
    bytes: Vec<u8>,
}

impl Report {
    fn new(pipe: Option<OwnedFd>) -> Report {
        Report { pipe: pipe.map(File::from), bytes: Vec::new() }
    }

    /// Takes what has arrived, or the end.
    fn receive(&mut self, watch: &mut Watch) {
        let Some(pipe) = &mut self.pipe else { return };
        let mut bytes = [0u8; 8];
        match pipe.read(&mut bytes) {
            Ok(length @ 1..) => {
                let had_left = self.has_left();
                self.bytes.extend(bytes.iter().take(length));
                if self.has_left() && !had_left {
                    watch.left_behind();
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => self.pipe = None,
        }
    }

    fn has_left(&self) -> bool {
        self.bytes.get(2..) == Some(&LEFT)
    }

    /// How the library has ended.
    fn ending(&self) -> Option<[u8; 2]> {
        self.bytes.first_chunk().copied()
    }
}

/// Waits for the end of the library, or of the reader; ends everything that is left, and ends like the
/// library.
fn supervise(child: Pid, socket: &OwnedFd, report: Option<OwnedFd>, mut watch: Watch) -> ExitCode {
    let mut report = Report::new(report);
    wait_for_end(child, socket, &mut report, &mut watch);
    // Before the namespace in which they are can end.
    watch.end_lookers();
    let status = loop {
        match rustix::process::waitpid(Some(child), WaitOptions::empty()) {
            Ok(Some((_, status))) => break Some(status),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => break None,
        }
    };
    while report.pipe.is_some() {
        report.receive(&mut watch);
    }
    let [is_signal, number] = report.ending().unwrap_or_else(|| status.map_or([0, u8::MAX], ending));
    end_orphans(&mut watch);
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

/// Returns when the child has ended; kills it when the reader has gone and Close does not return. Answers its
/// system calls until then.
fn wait_for_end(child: Pid, socket: &OwnedFd, report: &mut Report, watch: &mut Watch) {
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
        let asks = watch.descriptor();
        entries.extend(asks.map(|asks| PollFd::from_borrowed_fd(asks, PollFlags::IN)));
        let watched = asks.map(|_| 1);
        let reported = report.pipe.as_ref().map(|_| entries.len());
        entries.extend(report.pipe.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        let reader = deadline.is_none().then_some(entries.len());
        if reader.is_some() {
            entries.push(PollFd::new(socket, PollFlags::empty()));
        }
        entries.extend(
            watch.ends_of_lookers().into_iter().map(|end| PollFd::from_borrowed_fd(end, PollFlags::IN)),
        );
        let _ = poll(&mut entries, timeout.as_ref());
        let happened = |position: Option<usize>| {
            position.and_then(|position| entries.get(position)).map_or(PollFlags::empty(), PollFd::revents)
        };
        let (has_ended, asked, is_alone) = (happened(Some(0)), happened(watched), happened(reader));
        let has_said = happened(reported);
        drop(entries);
        watch.reap_lookers();
        if !has_said.is_empty() {
            report.receive(watch);
        }
        if !has_ended.is_empty() {
            return;
        }
        watch.receive(asked, child);
        if !is_alone.is_empty() {
            deadline = Instant::now().checked_add(LAST_CLOSE);
        }
    }
}

/// Kills what the library left behind. Orphans are children of this process; there are none after a PID
/// namespace.
fn end_orphans(watch: &mut Watch) {
    let start = Instant::now();
    let mut was_killed = false;
    let stuck = watch.end_lookers();
    while start.elapsed() < GONE {
        let own = rustix::process::getpid().as_raw_nonzero();
        let children = std::fs::read_to_string(format!("/proc/self/task/{own}/children")).unwrap_or_default();
        let children = children.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?));
        let mut is_last = true;
        for child in children.filter(|child| !stuck.contains(child)) {
            is_last = false;
            let _ = rustix::process::kill_process(child, Signal::KILL);
        }
        if is_last && !stuck.is_empty() {
            return;
        }
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((process, _))) if stuck.contains(&process) => {}
                // Counted before the others end, for whose end the reader does not wait.
                Ok(Some((_, status))) if is_killed(status) && !was_killed => {
                    was_killed = true;
                    watch.left_behind();
                }
                Ok(Some(_)) => {}
                Ok(None) => break,
                // There are no children any more.
                Err(_) => return,
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
