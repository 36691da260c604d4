//! What the kernel takes away from a library's process: a process of its own, namespaces, a list of system
//! calls that fail, and folders that it may write to.
//!
//! The calls that no safe interface offers: fork, unshare, Landlock and seccomp. Each returns an error where
//! the kernel, or a container, does not allow it; the caller goes on without that protection.
#![allow(unsafe_code, reason = "fork, unshare, and system calls without an interface")]

use std::ffi::c_long;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::process::Pid;
use rustix::thread::UnshareFlags;

use super::changes;

/// Where a fork returns.
#[derive(Debug, Clone, Copy)]
pub(super) enum Forked {
    /// In the process that called it; the number of the new one.
    Parent(Pid),
    /// In the new process.
    Child,
}

/// Forks. To be called while this process has one thread.
pub(super) fn fork() -> io::Result<Forked> {
    // SAFETY: the process has just started and has one thread, so no lock can be held by another one.
    match unsafe { libc::fork() } {
        0 => Ok(Forked::Child),
        number => Pid::from_raw(number.max(0)).map(Forked::Parent).ok_or_else(io::Error::last_os_error),
    }
}

/// Gives this process, or those that it forks, new namespaces.
pub(super) fn unshare(namespaces: UnshareFlags) -> io::Result<()> {
    // SAFETY: the table of descriptors stays shared: the callers pass namespaces only.
    Ok(unsafe { rustix::thread::unshare_unsafe(namespaces) }?)
}

/// Rights to change files and folders, by the version of Landlock that knows them.
const CHANGES: [(i64, u64); 3] = [
    // Write, remove folders and files, make anything.
    (1, 1 << 1 | 0b1_1111_1111 << 4),
    // Move between folders.
    (2, 1 << 13),
    // Truncate.
    (3, 1 << 14),
];
/// The rights among these that a file has.
const CHANGES_OF_FILE: u64 = 1 << 1 | 1 << 14;
/// No signals to processes without this restriction; since version 6.
const SCOPE_SIGNAL: u64 = 1 << 1;

#[repr(C)]
struct Ruleset {
    files: u64,
    network: u64,
    scoped: u64,
}

#[repr(C, packed)]
struct Beneath {
    allowed: u64,
    parent: i32,
}

fn call(result: c_long) -> io::Result<c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Restricts writing to these files and folders, as far as they exist, for good, by Landlock. Reading stays
/// allowed. Tracing a process that is not restricted like this one becomes impossible; since version 6 also
/// sending it signals: then it returns `true`.
pub(super) fn restrict_writes(writable: &[&str]) -> io::Result<bool> {
    const VERSION: libc::c_uint = 1;
    let none = std::ptr::null::<Ruleset>();
    // SAFETY: this form of the call takes no memory and returns the version.
    let version = call(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0usize, VERSION) })?;
    let files = CHANGES.iter().filter(|(since, _)| *since <= version).fold(0, |all, (_, right)| all | right);
    let scopes_signals = version >= 6;
    let rules = Ruleset { files, network: 0, scoped: if scopes_signals { SCOPE_SIGNAL } else { 0 } };
    // Older versions know the first field only.
    let length = if scopes_signals { size_of::<Ruleset>() } else { size_of::<u64>() };
    // SAFETY: `rules` lives until the call returns and is at least `length` bytes long.
    let made =
        call(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, &raw const rules, length, 0) })?;
    let number = i32::try_from(made).map_err(io::Error::other)?;
    // SAFETY: the call returned a new descriptor, which nobody else owns.
    let ruleset = unsafe { OwnedFd::from_raw_fd(number) };
    for path in writable {
        let Ok(parent) = rustix::fs::open(*path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) else {
            continue;
        };
        let of_kind = if Path::new(path).is_dir() { u64::MAX } else { CHANGES_OF_FILE };
        let rule = Beneath { allowed: files & of_kind, parent: parent.as_raw_fd() };
        const PATH_BENEATH: libc::c_int = 1;
        // SAFETY: `rule` has the layout of this kind and lives until the call returns.
        call(unsafe {
            libc::syscall(libc::SYS_landlock_add_rule, ruleset.as_raw_fd(), PATH_BENEATH, &raw const rule, 0)
        })?;
    }
    // SAFETY: the call takes a descriptor and no memory.
    call(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) })?;
    Ok(scopes_signals)
}

/// System calls that change other processes, the machine or the kernel. No library needs them to count.
const REFUSED: &[c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_kcmp,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_userfaultfd,
    libc::SYS_acct,
    libc::SYS_io_uring_setup,
];

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: Option<u32> = Some(0xc000_003e);
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: Option<u32> = Some(0xc000_00b7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: Option<u32> = None;

/// Instructions of a seccomp filter.
mod code {
    pub(super) const LOAD: u16 = 0x20;
    pub(super) const JUMP_EQUAL: u16 = 0x15;
    pub(super) const JUMP_GREATER_EQUAL: u16 = 0x35;
    pub(super) const JUMP_ANY_BIT: u16 = 0x45;
    pub(super) const RETURN: u16 = 0x06;
}

/// Offsets in what a filter sees of a call: number, architecture, and the lower half of the first argument.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const FIRST: u32 = 16;
/// From one argument to the next.
const ARGUMENT: u32 = 8;

const ALLOW: u32 = 0x7fff_0000;
const REFUSE: u32 = 0x0005_0000 | libc::EPERM.unsigned_abs();
/// The supervisor decides.
const ASK: u32 = libc::SECCOMP_RET_USER_NOTIF;
/// Numbers from here on belong to another way of calling, which the list does not know.
const OTHER_WAY: u32 = 0x4000_0000;

const fn instruction(code: u16, k: u32, yes: u8, no: u8) -> libc::sock_filter {
    libc::sock_filter { code, jt: yes, jf: no, k }
}

/// Processes that a filter knows.
#[derive(Debug, Clone, Copy)]
pub(super) enum Processes<'a> {
    /// These get no signals and keep their limits.
    Guarded(&'a [Pid]),
    /// The library cannot name any process outside of its PID namespace, where this is its own number.
    Inside(Pid),
}

/// Calls whose first argument is a process that they change.
const OF_PROCESS: [c_long; 5] = [
    libc::SYS_kill,
    libc::SYS_tgkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_prlimit64,
];

/// The filter: calls in the list are refused, as are those of another architecture; so are signals to, and
/// limits of, processes that are guarded. With `asks` the supervisor refuses them, and also sees signals to
/// others, sessions, and changes of files.
fn filter(architecture: u32, processes: Processes<'_>, asks: bool) -> Vec<libc::sock_filter> {
    let refuse = || instruction(code::RETURN, if asks { ASK } else { REFUSE }, 0, 0);
    let allow = || instruction(code::RETURN, ALLOW, 0, 0);
    let mut all =
        vec![instruction(code::LOAD, ARCH, 0, 0), instruction(code::JUMP_EQUAL, architecture, 1, 0)];
    all.extend([refuse(), instruction(code::LOAD, NUMBER, 0, 0)]);
    all.extend([instruction(code::JUMP_GREATER_EQUAL, OTHER_WAY, 0, 1), refuse()]);
    for number in REFUSED.iter().filter_map(|number| u32::try_from(*number).ok()) {
        all.extend([instruction(code::JUMP_EQUAL, number, 0, 1), refuse()]);
    }
    // The checks of a call may load its arguments, because they end with a return.
    let mut add = |call: c_long, checks: &[libc::sock_filter]| {
        let Ok(number) = u32::try_from(call) else { return };
        // At most a few processes are guarded, so the distance fits.
        all.push(instruction(code::JUMP_EQUAL, number, 0, u8::try_from(checks.len()).unwrap_or(u8::MAX)));
        all.extend(checks);
    };
    match processes {
        Processes::Guarded([]) => {}
        Processes::Guarded(guarded) => {
            let numbers = guarded.iter().map(|pid| pid.as_raw_nonzero().get());
            // A process, its group, and everybody.
            let numbers = numbers.flat_map(|pid| [pid, pid.saturating_neg()]).chain([-1]);
            let mut forbidden: Vec<u32> = numbers.map(i32::cast_unsigned).collect();
            forbidden.dedup();
            let checks = by_first(&forbidden, refuse(), allow());
            OF_PROCESS.into_iter().chain([libc::SYS_tkill]).for_each(|call| add(call, &checks));
        }
        Processes::Inside(own) if asks => {
            let own = [0, own.as_raw_nonzero().get().cast_unsigned()];
            let checks = by_first(&own, allow(), refuse());
            OF_PROCESS.into_iter().for_each(|call| add(call, &checks));
        }
        Processes::Inside(_) => {}
    }
    if asks {
        add(libc::SYS_setsid, &[refuse()]);
        changes::others().for_each(|call| add(call, &[refuse()]));
        let is_change = instruction(code::JUMP_ANY_BIT, changes::CHANGING_FLAGS, 0, 1);
        for (call, argument) in changes::opens() {
            let flags = u32::try_from(argument).unwrap_or(0).saturating_mul(ARGUMENT).saturating_add(FIRST);
            add(call, &[instruction(code::LOAD, flags, 0, 0), is_change, refuse(), allow()]);
        }
    }
    all.push(allow());
    all
}

/// Returns `then` if the first argument is one of these numbers, else `or`.
fn by_first(numbers: &[u32], then: libc::sock_filter, or: libc::sock_filter) -> Vec<libc::sock_filter> {
    let checks = numbers.iter().flat_map(|number| [instruction(code::JUMP_EQUAL, *number, 0, 1), then]);
    [instruction(code::LOAD, FIRST, 0, 0)].into_iter().chain(checks).chain([or]).collect()
}

/// Refuses the calls of the list in this process and those that it forks, for good. With a listener its
/// holder decides; without one, as in an older kernel, the calls just fail. When the holder ends they fail
/// too: nobody waits for an answer that cannot come.
pub(super) fn filter_calls(processes: Processes<'_>) -> io::Result<Option<Listener>> {
    let architecture = ARCHITECTURE.ok_or(io::ErrorKind::Unsupported)?;
    let set = |asks: bool, flags: libc::c_ulong| {
        let mut all = filter(architecture, processes, asks);
        let len = u16::try_from(all.len()).map_err(io::Error::other)?;
        let program = libc::sock_fprog { len, filter: all.as_mut_ptr() };
        const SET_MODE_FILTER: libc::c_uint = 1;
        // SAFETY: the program and its instructions live until the call returns; the kernel copies and checks
        // them.
        call(unsafe { libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, flags, &raw const program) })
    };
    // The first flag is known since Linux 5.0, and fails where a container has a listener already. The second
    // one is known since 5.19: signals do not repeat a call that the listener has taken.
    let listens = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    for flags in [listens | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, listens] {
        let Ok(made) = set(true, flags) else { continue };
        let number = i32::try_from(made).map_err(io::Error::other)?;
        // SAFETY: the call returned a new descriptor, which nobody else owns.
        return Ok(Some(Listener(unsafe { OwnedFd::from_raw_fd(number) })));
    }
    set(false, 0)?;
    Ok(None)
}

/// A call that waits for the supervisor.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    id: u64,
    /// The thread that made it; 0 where its number is unknown.
    pub(super) thread: u32,
    /// Its number; `None` for one of another architecture.
    pub(super) number: Option<c_long>,
    pub(super) arguments: [u64; 6],
}

impl Call {
    /// A call of a thread that waits elsewhere: it can be looked at, and not be answered.
    pub(super) fn of_thread(thread: u32, number: c_long, arguments: [u64; 6]) -> Call {
        Call { id: 0, thread, number: Some(number), arguments }
    }
}

/// Where the calls arrive that the filter asks about.
#[derive(Debug)]
pub(super) struct Listener(OwnedFd);

impl From<OwnedFd> for Listener {
    fn from(descriptor: OwnedFd) -> Listener {
        Listener(descriptor)
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Listener {
    /// The next call, once the descriptor can be read. An error if its thread has ended since.
    pub(super) fn next(&self) -> io::Result<Call> {
        let data = libc::seccomp_data { nr: 0, arch: 0, instruction_pointer: 0, args: [0; 6] };
        let mut found = libc::seccomp_notif { id: 0, pid: 0, flags: 0, data };
        // SAFETY: the request writes a structure of this type, which lives until the call returns.
        let result =
            unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut found) };
        call(result.into())?;
        let data = found.data;
        let is_known = ARCHITECTURE == Some(data.arch) && data.nr.cast_unsigned() < OTHER_WAY;
        let number = is_known.then_some(c_long::from(data.nr));
        Ok(Call { id: found.id, thread: found.pid, number, arguments: data.args })
    }

    /// Whether the thread of a call still waits. What was found out about it may be wrong otherwise: its
    /// process may have been ended, also by the library itself.
    pub(super) fn is_waiting(&self, asked: &Call) -> bool {
        let id = asked.id;
        // SAFETY: the request reads a number of this size, which lives until the call returns.
        let result =
            unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const id) };
        result == 0
    }

    /// Has a call go on in the kernel, or fail. An error means that its thread has ended.
    pub(super) fn answer(&self, asked: &Call, is_allowed: bool) -> io::Result<()> {
        const GOES_ON: u32 = 1;
        let (error, flags) = if is_allowed { (0, GOES_ON) } else { (libc::EPERM.saturating_neg(), 0) };
        let answer = libc::seccomp_notif_resp { id: asked.id, val: 0, error, flags };
        // SAFETY: the request reads a structure of this type, which lives until the call returns.
        let result =
            unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw const answer) };
        call(result.into()).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jump(at: usize, yes: bool, one: libc::sock_filter) -> usize {
        at.saturating_add(usize::from(if yes { one.jt } else { one.jf }))
    }

    /// What the filter returns for a call with these first arguments.
    fn run(all: &[libc::sock_filter], number: u32, architecture: u32, arguments: [u32; 3]) -> u32 {
        let [first, second, third] = arguments;
        let (mut at, mut value) = (0usize, 0u32);
        loop {
            let one = all[at];
            at = at.saturating_add(1);
            match one.code {
                code::LOAD => {
                    value = match one.k {
                        NUMBER => number,
                        ARCH => architecture,
                        FIRST => first,
                        24 => second,
                        32 => third,
                        other => panic!("{other}"),
                    }
                }
                code::RETURN => return one.k,
                code::JUMP_EQUAL => at = jump(at, value == one.k, one),
                code::JUMP_GREATER_EQUAL => at = jump(at, value >= one.k, one),
                code::JUMP_ANY_BIT => at = jump(at, value & one.k != 0, one),
                other => panic!("{other}"),
            }
        }
    }

    fn call(number: c_long) -> u32 {
        u32::try_from(number).unwrap()
    }

    #[test]
    fn the_filter_refuses_the_list_and_guards_processes() {
        let pids = [Pid::from_raw(100).unwrap(), Pid::from_raw(200).unwrap()];
        let ways = [(false, REFUSE), (true, ASK)].map(|way| [(way, &[][..]), (way, &pids[..])]);
        for ((asks, refused), guarded) in ways.into_iter().flatten() {
            let all = filter(1, Processes::Guarded(guarded), asks);
            for number in REFUSED {
                assert_eq!(run(&all, call(*number), 1, [0; 3]), refused, "{number}");
            }
            for number in [libc::SYS_read, libc::SYS_openat, libc::SYS_socket, libc::SYS_clone] {
                assert_eq!(run(&all, call(number), 1, [100, 0, 0]), ALLOW, "{number}");
                assert_eq!(run(&all, call(number), 2, [100, 0, 0]), refused, "another architecture");
            }
            assert_eq!(run(&all, OTHER_WAY, 1, [0; 3]), refused);
            let is_guarded = !guarded.is_empty();
            for (first, is_refused) in [(100, is_guarded), (200, is_guarded), (300, false), (0, false)] {
                for number in OF_PROCESS.into_iter().chain([libc::SYS_tkill]) {
                    let wanted = if is_refused { refused } else { ALLOW };
                    assert_eq!(run(&all, call(number), 1, [first, 0, 0]), wanted, "{number} {first}");
                }
            }
            for group in [-1i32, -100, -200] {
                let wanted = if is_guarded { refused } else { ALLOW };
                assert_eq!(run(&all, call(libc::SYS_kill), 1, [group.cast_unsigned(), 0, 0]), wanted);
            }
        }
    }

    #[test]
    fn the_filter_asks_about_processes_sessions_and_changes_of_files() {
        let own = Pid::from_raw(2).unwrap();
        for (asks, wanted) in [(false, ALLOW), (true, ASK)] {
            let all = filter(1, Processes::Inside(own), asks);
            for number in OF_PROCESS {
                for (first, wanted) in [(0, ALLOW), (2, ALLOW), (3, wanted), (u32::MAX, wanted)] {
                    assert_eq!(run(&all, call(number), 1, [first, 9, 9]), wanted, "{number} {first}");
                }
            }
            assert_eq!(run(&all, call(libc::SYS_setsid), 1, [0; 3]), wanted);
            for (number, argument) in changes::opens() {
                for (flags, wanted) in [
                    (libc::O_RDONLY | libc::O_CLOEXEC, ALLOW),
                    (libc::O_WRONLY | libc::O_CREAT, wanted),
                    (libc::O_RDWR, wanted),
                    (libc::O_RDONLY | libc::O_CREAT, wanted),
                    (libc::O_RDONLY | libc::O_TRUNC, wanted),
                ] {
                    let flags = flags.unsigned_abs();
                    let arguments = if argument == 1 { [0, flags, 0] } else { [0, 0, flags] };
                    assert_eq!(run(&all, call(number), 1, arguments), wanted, "{number} {flags}");
                }
            }
            for number in [libc::SYS_renameat2, libc::SYS_unlinkat, libc::SYS_fchmod, libc::SYS_openat2] {
                assert_eq!(run(&all, call(number), 1, [0; 3]), wanted, "{number}");
            }
        }
    }
}
