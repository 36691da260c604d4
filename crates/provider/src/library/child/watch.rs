//! The supervisor's eye on its library: it answers the system calls that the filter asks about, and counts
//! those that show an attack.
//!
//! Nothing is protected by what is decided here: the kernel checks what goes on like any other call, so a
//! library gains nothing by changing its memory meanwhile.

use std::ffi::c_long;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::PollFlags;
use rustix::process::Pid;

use super::super::attempt::{Attempt, Counts, receive_descriptor};
use super::changes::{Found, is_change};
use super::confine::{Call, Listener};
use super::look::{Looker, Seen};

/// After so many of a kind the supervisor does not look closely any more: a library can keep it busy only
/// with answers that cost as much as the calls.
const MOST_LOOKS: u64 = 1000;
/// So many processes of a library are looked at for one signal.
const MOST_PROCESSES: usize = 1024;

/// Where the calls come from.
enum Source {
    /// The library's process will send its listener here before it loads the library.
    Expected(OwnedFd),
    There(Listener),
    /// It has none, or has ended.
    Gone,
}

/// What the supervisor knows about its library.
pub(super) struct Watch {
    source: Source,
    counts: Counts,
    /// Whether the library is in a PID namespace, below the child of the supervisor.
    has_namespace: bool,
    looker: Looker,
}

impl Watch {
    /// Counts into `counts`; the listener comes over the socket. The library may change what is `writable`.
    pub(super) fn new(socket: OwnedFd, counts: Counts, has_namespace: bool, writable: &[&str]) -> Watch {
        let writable = writable.iter().filter_map(|path| std::fs::canonicalize(path).ok()).collect();
        Watch { source: Source::Expected(socket), counts, has_namespace, looker: Looker::new(writable) }
    }

    /// What to wait for.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &self.source {
            Source::Expected(socket) => Some(socket.as_fd()),
            Source::There(listener) => Some(listener.as_fd()),
            Source::Gone => None,
        }
    }

    /// Takes what has arrived there. It does not wait.
    pub(super) fn receive(&mut self, events: PollFlags, child: Pid) {
        match &self.source {
            Source::Expected(socket) if events.contains(PollFlags::IN) => {
                let listener = receive_descriptor(socket).map(Listener::from);
                self.source = listener.map_or(Source::Gone, Source::There);
            }
            Source::There(listener) if events.contains(PollFlags::IN) => {
                // Its thread may have been killed meanwhile; then there is nothing to answer.
                let Ok(call) = listener.next() else { return };
                let (is_allowed, found) = self.judge(&call, child);
                let Source::There(listener) = &self.source else { return };
                // Before the answer, so that it is counted when the library goes on.
                if let Some(found) = found.filter(|_| listener.is_waiting(&call)) {
                    self.counts.add(found);
                }
                let _ = listener.answer(&call, is_allowed);
            }
            _ if events.is_empty() => {}
            _ => self.source = Source::Gone,
        }
    }

    /// What else to wait for.
    pub(super) fn ends_of_lookers(&self) -> Vec<BorrowedFd<'_>> {
        self.looker.ends()
    }

    /// Waits for processes that looked for the supervisor and have ended.
    pub(super) fn reap_lookers(&mut self) {
        self.looker.reap();
    }

    /// Ends the processes that look for the supervisor; returns those that do not end.
    pub(super) fn end_lookers(&mut self) -> Vec<Pid> {
        self.looker.end()
    }

    /// Counts that processes of the library were ended after it.
    pub(super) fn left_behind(&mut self) {
        self.counts.add(Attempt::LeftBehind);
    }

    /// Whether a call may go on, and what it shows.
    fn judge(&mut self, call: &Call, child: Pid) -> (bool, Option<Attempt>) {
        let Some(number) = call.number else { return (false, Some(Attempt::Architecture)) };
        if number == libc::SYS_setsid {
            return (true, Some(Attempt::Session));
        }
        if is_change(number) {
            return self.judge_files(call);
        }
        let [first, ..] = call.arguments;
        match kind_of(number) {
            Some(kind) => self.judge_target(kind, first, child),
            None => (false, Some(refused(number))),
        }
    }

    /// A signal or a limit. Without a PID namespace the filter asks about guarded processes only; in one, the
    /// others do not exist, and the kernel says so.
    fn judge_target(&self, kind: Attempt, first: u64, child: Pid) -> (bool, Option<Attempt>) {
        // The kernel takes the lower half as a signed number.
        let [a, b, c, d, ..] = first.to_le_bytes();
        let target = i32::from_le_bytes([a, b, c, d]);
        if !self.has_namespace || target == -1 {
            return (false, Some(kind));
        }
        // The walk is as long as it gets when it is not enough, so it is not repeated for ever either.
        let may_look = |kind| self.counts.count(kind) < MOST_LOOKS;
        let found = match may_look(kind) {
            true if !may_look(Attempt::Unchecked) => Some(Attempt::Unchecked),
            true => match find_process(child, target.unsigned_abs()) {
                Search::Found => None,
                Search::Absent => Some(kind),
                Search::TooMany => Some(Attempt::Unchecked),
            },
            false => None,
        };
        (true, found)
    }

    /// Files that are changed: memory of another process is refused, and so is what may be that; about others
    /// the kernel decides.
    fn judge_files(&mut self, call: &Call) -> (bool, Option<Attempt>) {
        let may_look = [Attempt::Files, Attempt::FilesOfOthers]
            .into_iter()
            .all(|kind| self.counts.count(kind) < MOST_LOOKS);
        match self.looker.look(call, may_look) {
            Seen::MemoryOfOther => (false, Some(Attempt::Trace)),
            Seen::NoArguments => (false, Some(Attempt::Unreadable)),
            Seen::NoPlace => (true, Some(Attempt::Unfound)),
            Seen::Change(Found::Own) => (true, None),
            Seen::Change(Found::Outside) => (true, Some(Attempt::Files)),
            Seen::Change(Found::OfOther) => (true, Some(Attempt::FilesOfOthers)),
        }
    }
}

/// What a call about a process does to it, if it is one.
fn kind_of(number: c_long) -> Option<Attempt> {
    match number {
        libc::SYS_prlimit64 => Some(Attempt::Limits),
        libc::SYS_kill
        | libc::SYS_tkill
        | libc::SYS_tgkill
        | libc::SYS_rt_sigqueueinfo
        | libc::SYS_rt_tgsigqueueinfo => Some(Attempt::Signal),
        _ => None,
    }
}

/// The kind of a call of the list.
fn refused(number: c_long) -> Attempt {
    match number {
        libc::SYS_pidfd_send_signal => Attempt::Signal,
        libc::SYS_ptrace
        | libc::SYS_process_vm_readv
        | libc::SYS_process_vm_writev
        | libc::SYS_process_madvise
        | libc::SYS_pidfd_getfd
        | libc::SYS_kcmp => Attempt::Trace,
        libc::SYS_unshare
        | libc::SYS_setns
        | libc::SYS_mount
        | libc::SYS_umount2
        | libc::SYS_pivot_root
        | libc::SYS_open_tree
        | libc::SYS_move_mount
        | libc::SYS_fsopen => Attempt::Namespaces,
        _ => Attempt::Machine,
    }
}

/// What the search for a process of the library found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Search {
    /// It is one of the library, or the kernel does not say whose it is.
    Found,
    Absent,
    /// The library has more processes than are looked at.
    TooMany,
}

/// Searches a number in the PID namespace below a process among its processes and their groups.
fn find_process(first: Pid, number: u32) -> Search {
    let mut waiting = vec![first.as_raw_nonzero().get().unsigned_abs()];
    let mut looked_at = 0usize;
    while let Some(process) = waiting.pop() {
        looked_at = looked_at.saturating_add(1);
        if looked_at > MOST_PROCESSES {
            return Search::TooMany;
        }
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let inner = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next_back()?.parse::<u32>().ok()
        };
        if [inner("NSpid:"), inner("NSpgid:")].contains(&Some(number)) {
            return Search::Found;
        }
        let Ok(tasks) = std::fs::read_dir(format!("/proc/{process}/task")) else { continue };
        for task in tasks.filter_map(Result::ok) {
            // A kernel without this file does not tell who is whose child.
            let Ok(children) = std::fs::read_to_string(task.path().join("children")) else {
                if task.path().join("stat").exists() {
                    return Search::Found;
                }
                continue;
            };
            waiting.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
    }
    Search::Absent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_processes_are_found_and_others_are_not() {
        let own = rustix::process::getpid();
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        assert_eq!(find_process(own, std::process::id()), Search::Found);
        assert_eq!(find_process(own, child.id()), Search::Found);
        // The largest number that a kernel can be set to, so nobody has it.
        assert_eq!(find_process(own, 4_194_304), Search::Absent);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
