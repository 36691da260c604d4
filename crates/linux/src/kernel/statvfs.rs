//! The free space of mounted file systems, queried in threads because the query can hang.
//!
//! `statvfs` on a mount whose server or FUSE process is dead does not return. So a few worker threads make
//! the queries, the caller waits until a deadline, and a mount that has not answered by then keeps its last
//! value, marked as stale. A mount is not queried again while its last query is pending, so one dead mount
//! blocks one thread forever and no more.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The most worker threads. When all hang, other mounts get no answer.
pub(crate) const MAX_WORKERS: usize = 8;

/// How long an idle worker lives.
const IDLE_TIME: Duration = Duration::from_secs(10);

/// The sizes of one file system, in bytes and counts, as the kernel reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Space {
    /// All bytes of the file system.
    pub total: u64,
    /// Free bytes, including those reserved for root.
    pub free: u64,
    /// Bytes that an ordinary user can still write: what NT calls free.
    pub available: u64,
    /// All inodes; 0 where the file system creates them on demand.
    pub inodes: u64,
    /// Free inodes.
    pub inodes_free: u64,
    /// Whether it is mounted read-only.
    pub read_only: bool,
}

/// The result for one mount of a call of [`Spaces::ask`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It answered during this call.
    Now(Space),
    /// It did not answer before the deadline; this is its last answer, with its age.
    Stale(Space, Duration),
    /// It did not answer before the deadline, and never did before.
    Silent,
    /// The kernel refused with this error number, for example 2 (ENOENT) or 13 (EACCES).
    Refused(i32),
}

impl Answer {
    /// The sizes, new or stale.
    pub(crate) fn space(self) -> Option<Space> {
        match self {
            Answer::Now(space) | Answer::Stale(space, _) => Some(space),
            Answer::Silent | Answer::Refused(_) => None,
        }
    }
}

/// The query that a worker makes; an error is the kernel's error number.
type Question = dyn Fn(&Path) -> Result<Space, i32> + Send + Sync;

/// Queries the space of mounts and remembers the answers.
pub(crate) struct Spaces {
    shared: Arc<Shared>,
}

struct Shared {
    question: Box<Question>,
    state: Mutex<State>,
    /// Signalled when there is work, or when no more will come.
    work: Condvar,
    /// Signalled when an answer has arrived.
    answered: Condvar,
}

#[derive(Default)]
struct State {
    mounts: HashMap<PathBuf, Mount>,
    queue: VecDeque<PathBuf>,
    workers: usize,
    idle: usize,
    closed: bool,
}

#[derive(Default)]
struct Mount {
    /// Whether it is queued or a worker is querying it.
    is_open: bool,
    /// The last sizes and when they arrived.
    last: Option<(Space, Instant)>,
    /// The last result, if one has arrived since the mount was last requested.
    fresh: Option<Result<Space, i32>>,
}

impl Spaces {
    /// Queries the running kernel.
    pub(crate) fn new() -> Spaces {
        Spaces::with_question(Box::new(statvfs))
    }

    fn with_question(question: Box<Question>) -> Spaces {
        let state = Mutex::new(State::default());
        Spaces {
            shared: Arc::new(Shared { question, state, work: Condvar::new(), answered: Condvar::new() }),
        }
    }

    /// Queries all `mounts` at the same time and returns one answer each, in the order of `mounts`, after
    /// `patience` at the latest.
    ///
    /// Mounts that are no longer requested are forgotten, once their pending query has returned.
    pub(crate) fn ask(&self, mounts: &[&Path], patience: Duration) -> Vec<Answer> {
        let start = Instant::now();
        let mut state = self.shared.lock();
        state.mounts.retain(|path, mount| mount.is_open || mounts.contains(&path.as_path()));
        for path in mounts {
            let mount = state.mounts.entry(path.to_path_buf()).or_default();
            mount.fresh = None;
            if !mount.is_open {
                mount.is_open = true;
                state.queue.push_back(path.to_path_buf());
            }
        }
        // A worker that does not return within a quarter of the patience hangs: another one takes over the
        // rest.
        let step = patience.checked_div(4).unwrap_or_default().max(Duration::from_millis(1));
        let mut one_more = state.workers == 0;
        loop {
            self.shared.give_work(&mut state, one_more);
            let waits = mounts.iter().any(|path| state.mounts.get(*path).is_some_and(|m| m.fresh.is_none()));
            let left = patience.saturating_sub(start.elapsed());
            if !waits || left.is_zero() {
                break;
            }
            let waited = self.shared.answered.wait_timeout(state, step.min(left));
            let (next, waited) = waited.unwrap_or_else(PoisonError::into_inner);
            state = next;
            one_more = waited.timed_out();
        }
        mounts.iter().map(|path| state.mounts.get(*path).map_or(Answer::Silent, Mount::answer)).collect()
    }
}

impl Default for Spaces {
    fn default() -> Spaces {
        Spaces::new()
    }
}

impl Drop for Spaces {
    /// Lets the workers end without waiting for them, since they may hang.
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.work.notify_all();
    }
}

impl fmt::Debug for Spaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.shared.lock();
        f.debug_struct("Spaces")
            .field("mounts", &state.mounts.len())
            .field("workers", &state.workers)
            .finish()
    }
}

impl Mount {
    fn answer(&self) -> Answer {
        match (self.fresh, self.last) {
            (Some(Ok(space)), _) => Answer::Now(space),
            (Some(Err(errno)), _) => Answer::Refused(errno),
            (None, Some((space, at))) => Answer::Stale(space, at.elapsed()),
            (None, None) => Answer::Silent,
        }
    }
}

impl Shared {
    /// A worker only stores complete values, so the state is consistent even if a worker has panicked.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes workers for the queue, and starts one more if requested and none is idle.
    fn give_work(self: &Arc<Shared>, state: &mut State, one_more: bool) {
        if state.queue.is_empty() {
            return;
        }
        if one_more && state.idle == 0 && state.workers < MAX_WORKERS {
            let shared = Arc::clone(self);
            let thread = std::thread::Builder::new().name("tally-statvfs".into()).stack_size(64 << 10);
            // Without a thread the mounts get no answer, which the result shows.
            if thread.spawn(move || shared.run()).is_ok() {
                state.workers = state.workers.saturating_add(1);
            }
        }
        self.work.notify_all();
    }

    /// The main loop of a worker.
    fn run(&self) {
        let mut state = self.lock();
        while !state.closed {
            if let Some(path) = state.queue.pop_front() {
                drop(state);
                let result = (self.question)(&path);
                state = self.lock();
                if let Some(mount) = state.mounts.get_mut(&path) {
                    mount.is_open = false;
                    mount.fresh = Some(result);
                    mount.last = result.ok().map(|space| (space, Instant::now()));
                }
                self.answered.notify_all();
                continue;
            }
            state.idle = state.idle.saturating_add(1);
            let (next, waited) =
                self.work.wait_timeout(state, IDLE_TIME).unwrap_or_else(PoisonError::into_inner);
            state = next;
            state.idle = state.idle.saturating_sub(1);
            if waited.timed_out() && state.queue.is_empty() {
                break;
            }
        }
        state.workers = state.workers.saturating_sub(1);
    }
}

/// Queries a mount in the caller's thread; only for mounts that cannot hang.
pub(crate) fn now_and_here(mount: &Path) -> Answer {
    statvfs(mount).map_or_else(Answer::Refused, Answer::Now)
}

/// Queries the kernel for one mount, in this thread: it can hang.
fn statvfs(path: &Path) -> Result<Space, i32> {
    let found = rustix::fs::statvfs(path).map_err(|errno| errno.raw_os_error())?;
    // Some file systems report the fragment size 0; the block size is the unit then.
    let unit = if found.f_frsize == 0 { found.f_bsize } else { found.f_frsize };
    Ok(Space {
        total: found.f_blocks.saturating_mul(unit),
        free: found.f_bfree.saturating_mul(unit),
        available: found.f_bavail.saturating_mul(unit),
        inodes: found.f_files,
        inodes_free: found.f_ffree,
        read_only: found.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn space(total: u64) -> Space {
        Space { total, free: 0, available: 0, inodes: 0, inodes_free: 0, read_only: false }
    }

    const LONG: Duration = Duration::from_secs(60);
    const SHORT: Duration = Duration::from_millis(400);

    #[test]
    fn the_kernel_reports_the_space_of_a_mount() {
        let spaces = Spaces::new();
        let answers = spaces.ask(&[Path::new("/"), Path::new("/does/not/exist"), Path::new("/proc")], LONG);
        let [Answer::Now(root), Answer::Refused(2), Answer::Now(proc)] = answers[..] else {
            panic!("{answers:?}");
        };
        assert!(root.total > 0 && root.total >= root.free && root.free >= root.available);
        assert_eq!((proc.total, proc.available), (0, 0));
        assert!(spaces.ask(&[], LONG).is_empty());
    }

    #[test]
    fn a_dead_mount_costs_one_thread_and_keeps_its_last_value() {
        let (send, gate) = mpsc::channel::<()>();
        let gate = Mutex::new(gate);
        let calls = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&calls);
        let spaces = Spaces::with_question(Box::new(move |path| {
            let mut calls = seen.lock().unwrap();
            calls.push(path.to_path_buf());
            let dead_before = calls.iter().filter(|path| path.ends_with("dead")).count();
            drop(calls);
            if path.ends_with("dead") && dead_before == 2 {
                gate.lock().unwrap().recv().unwrap();
            }
            Ok(space(if path.ends_with("dead") { 7 + dead_before as u64 } else { 1 }))
        }));
        let (dead, live) = (Path::new("/dead"), Path::new("/live"));
        assert_eq!(spaces.ask(&[dead, live], LONG), [Answer::Now(space(8)), Answer::Now(space(1))]);
        for _ in 0..3 {
            // The live mount is queued after the dead one and still answers.
            let answers = spaces.ask(&[dead, live], SHORT);
            let [Answer::Stale(old, age), Answer::Now(new)] = answers[..] else { panic!("{answers:?}") };
            assert_eq!((old, new), (space(8), space(1)));
            assert!(age >= SHORT);
        }
        assert_eq!(calls.lock().unwrap().iter().filter(|path| path.ends_with("dead")).count(), 2);
        assert!(spaces.shared.lock().workers <= 2);
        // It comes back to life: the pending query ends, and the next one is answered.
        send.send(()).unwrap();
        let answers = spaces.ask(&[dead], LONG);
        assert!(matches!(answers[..], [Answer::Now(Space { total: 9 | 10, .. })]), "{answers:?}");
        assert_eq!(spaces.shared.lock().mounts.len(), 1);
    }

    #[test]
    fn a_mount_that_never_answered_has_no_value() {
        let (send, gate) = mpsc::channel::<()>();
        let gate = Mutex::new(gate);
        let spaces = Spaces::with_question(Box::new(move |_| {
            // The sender is dropped at the end of the test, which ends the wait.
            let _ = gate.lock().unwrap().recv();
            Err(5)
        }));
        assert_eq!(spaces.ask(&[Path::new("/never")], SHORT), [Answer::Silent]);
        drop(send);
        assert_eq!(spaces.ask(&[Path::new("/never")], LONG), [Answer::Refused(5)]);
        assert_eq!(Answer::Silent.space(), None);
        assert_eq!(Answer::Stale(space(3), SHORT).space(), Some(space(3)));
    }
}
