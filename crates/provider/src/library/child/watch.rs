//! The supervisor's eye on its library: it answers the system calls that the filter asks about, and counts
//! those that show an attack.
//!
//! Nothing is protected by what is decided here: the kernel checks what goes on like any other call, so a
//! library gains nothing by changing its memory meanwhile.

use std::ffi::c_long;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

use rustix::event::PollFlags;
use rustix::process::Pid;

use super::super::attempt::{Attempt, Counts, receive_descriptor};
use super::confine::{Call, Listener};

/// After so many of a kind the supervisor does not look closely any more: a library can keep it busy only
/// with answers that cost as much as the calls.
const MOST_LOOKS: u64 = 1000;
/// So many processes of a library are looked at.
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
}

impl Watch {
    /// Counts into `counts`; the listener comes over the socket.
    pub(super) fn new(socket: OwnedFd, counts: Counts, has_namespace: bool) -> Watch {
        Watch { source: Source::Expected(socket), counts, has_namespace }
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
                // Before the answer, so that it is counted when the library goes on.
                if let Some(found) = found {
                    self.counts.add(found);
                }
                if let Source::There(listener) = &self.source {
                    let _ = listener.answer(&call, is_allowed);
                }
            }
            _ if events.is_empty() => {}
            _ => self.source = Source::Gone,
        }
    }

    /// Counts that processes of the library were ended after it.
    pub(super) fn left_behind(&mut self) {
        self.counts.add(Attempt::LeftBehind);
    }

    /// Whether a call may go on, and what it shows.
    fn judge(&self, call: &Call, child: Pid) -> (bool, Option<Attempt>) {
        let Some(number) = call.number else { return (false, Some(Attempt::Architecture)) };
        let [first, second, ..] = call.arguments;
        match number {
            libc::SYS_setsid => (true, Some(Attempt::Session)),
            libc::SYS_openat => self.judge_path(call, second),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_open => self.judge_path(call, first),
            _ => match kind_of(number) {
                Some(kind) => self.judge_target(kind, first, child),
                None => (false, Some(refused(number))),
            },
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
        let is_known = self.counts.count(kind) >= MOST_LOOKS || has_process(child, target.unsigned_abs());
        (true, (!is_known).then_some(kind))
    }

    /// A file that is opened for writing: memory of another process is refused.
    fn judge_path(&self, call: &Call, at: u64) -> (bool, Option<Attempt>) {
        let is_memory = is_memory_of_other(&text_at(call.thread, at), call.thread);
        (!is_memory, is_memory.then_some(Attempt::Trace))
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

/// The first bytes of a text in the memory of a thread, up to its end; empty where they can not be read.
fn text_at(thread: u32, at: u64) -> Vec<u8> {
    let mut bytes = vec![0u8; 64];
    let length = File::open(format!("/proc/{thread}/mem")).and_then(|memory| memory.read_at(&mut bytes, at));
    bytes.truncate(length.unwrap_or(0));
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    bytes.truncate(end);
    bytes
}

/// Whether this is the path of the memory of another process.
fn is_memory_of_other(path: &[u8], thread: u32) -> bool {
    let Some(path) = str::from_utf8(path).ok().filter(|path| path.starts_with('/')) else { return false };
    let mut parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
    let is_proc = parts.next() == Some("proc");
    let is_other =
        parts.next().and_then(|number| number.parse().ok()).is_some_and(|number: u32| number != thread);
    is_proc && is_other && parts.next_back() == Some("mem")
}

/// Whether a number in the PID namespace below a process is one of its processes, or their group.
/// `true` also when that can not be found out.
fn has_process(first: Pid, number: u32) -> bool {
    let mut waiting = vec![first.as_raw_nonzero().get().unsigned_abs()];
    let mut looked_at = 0usize;
    while let Some(process) = waiting.pop() {
        looked_at = looked_at.saturating_add(1);
        if looked_at > MOST_PROCESSES {
            return true;
        }
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let inner = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next_back()?.parse::<u32>().ok()
        };
        if [inner("NSpid:"), inner("NSpgid:")].contains(&Some(number)) {
            return true;
        }
        let Ok(tasks) = std::fs::read_dir(format!("/proc/{process}/task")) else { continue };
        for task in tasks.filter_map(Result::ok) {
            // A kernel without this file does not tell who is whose child.
            let Ok(children) = std::fs::read_to_string(task.path().join("children")) else {
                if task.path().join("stat").exists() {
                    return true;
                }
                continue;
            };
            waiting.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_memory_of_others() {
        for (path, wanted) in [
            ("/proc/12/mem", true),
            ("//proc/./12/task/13/mem", true),
            ("/proc/7/mem", false),
            ("/proc/self/mem", false),
            ("/proc/12/maps", false),
            ("proc/12/mem", false),
            ("/tmp/12/mem", false),
            ("/proc", false),
            ("", false),
        ] {
            assert_eq!(is_memory_of_other(path.as_bytes(), 7), wanted, "{path}");
        }
        assert!(!is_memory_of_other(b"/proc/12/\xffmem", 7));
    }

    #[test]
    fn own_processes_are_found_and_others_are_not() {
        let own = rustix::process::getpid();
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        assert!(has_process(own, std::process::id()));
        assert!(has_process(own, child.id()));
        // The largest number that a kernel can be set to, so nobody has it.
        assert!(!has_process(own, 4_194_304));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_text_is_read_up_to_its_end() {
        let text = c"/proc/1/mem";
        let thread = std::process::id();
        assert_eq!(text_at(thread, text.as_ptr().addr() as u64), text.to_bytes());
        assert!(text_at(thread, 8).is_empty());
    }
}
