//! Which compilations run now, so that a request for new code can wait for those that began before it.
//!
//! A runtime before .NET 9 stands still for ever when it puts a method into its caller at the moment at which
//! somebody requests new code for that method: the compiling thread then waits for the request, and the
//! request for the compiling thread (<https://github.com/dotnet/runtime/issues/97771>). So a request first
//! forbids this to new compilations, then waits for the old ones, which may have permission already. It waits
//! on every version, because only after a compilation it is known whether its code has hooks.
//!
//! Compilations are counted in two groups. New ones join the current group; a wait makes the other group
//! current and waits until the old one is empty, so it ends although new ones keep coming.

use std::cell::RefCell;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

/// How often a wait looks again.
const LOOK: Duration = Duration::from_millis(1);

/// The compilations of a process.
#[derive(Debug, Default)]
pub(crate) struct Compilations {
    /// Which group is current: 0 or 1.
    current: AtomicUsize,
    open: [AtomicUsize; 2],
}

/// The compilations that a thread has open, the innermost one last.
#[derive(Debug)]
pub(crate) struct OpenHere {
    all: &'static Compilations,
    open: Vec<Open>,
}

/// A compilation that runs.
#[derive(Debug)]
struct Open {
    /// The place on the stack where it began.
    stack: usize,
    group: usize,
    /// Whether its code gets hooks.
    hooked: bool,
}

impl OpenHere {
    /// A thread without a compilation.
    pub(crate) const fn new(all: &'static Compilations) -> OpenHere {
        OpenHere { all, open: Vec::new() }
    }

    /// A compilation begins; `stack` is an address on the stack of its thread.
    ///
    /// A compilation that failed is not reported to have ended. Its place on the stack shows that: the stack
    /// grows downwards, so what began at or below this place has ended.
    pub(crate) fn begin(&mut self, stack: usize) {
        while self.open.last().is_some_and(|open| open.stack <= stack) {
            self.end();
        }
        let group = self.all.current.load(SeqCst) & 1;
        if let Some(open) = self.all.open.get(group) {
            open.fetch_add(1, SeqCst);
        }
        self.open.push(Open { stack, group, hooked: false });
    }

    /// The innermost compilation has ended.
    pub(crate) fn end(&mut self) {
        if let Some(ended) = self.open.pop()
            && let Some(open) = self.all.open.get(ended.group)
        {
            open.fetch_sub(1, SeqCst);
        }
    }
}

impl Drop for OpenHere {
    fn drop(&mut self) {
        while !self.open.is_empty() {
            self.end();
        }
    }
}

impl Compilations {
    /// No compilations.
    pub(crate) const fn new() -> Compilations {
        Compilations { current: AtomicUsize::new(0), open: [AtomicUsize::new(0), AtomicUsize::new(0)] }
    }

    /// Waits until all compilations that run now have ended; false when `patience` is over before. Only one
    /// thread may wait.
    pub(crate) fn wait(&self, patience: Duration) -> bool {
        let deadline = Instant::now().checked_add(patience);
        let old = self.current.load(SeqCst) & 1;
        // What a wait without success left behind.
        if !self.wait_for(old ^ 1, deadline) {
            return false;
        }
        self.current.store(old ^ 1, SeqCst);
        self.wait_for(old, deadline)
    }

    fn wait_for(&self, group: usize, deadline: Option<Instant>) -> bool {
        while self.open.get(group).is_some_and(|open| open.load(SeqCst) > 0) {
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return false;
            }
            std::thread::park_timeout(LOOK);
        }
        true
    }
}

/// The compilations of this process.
static ALL: Compilations = Compilations::new();

thread_local! {
    static HERE: RefCell<OpenHere> = const { RefCell::new(OpenHere::new(&ALL)) };
}

/// Waits until all compilations of this process that run now have ended; false when `patience` is over.
pub(crate) fn wait(patience: Duration) -> bool {
    ALL.wait(patience)
}

/// A compilation begins on this thread.
pub(crate) fn began() {
    let here = 0u8;
    let stack = (&raw const here).addr();
    with_open(|open| open.begin(stack));
}

/// The code of the innermost compilation of this thread gets hooks.
pub(crate) fn hooked() {
    with_open(|here| {
        if let Some(open) = here.open.last_mut() {
            open.hooked = true;
        }
    });
}

/// The innermost compilation of this thread has ended. Before a wait for it ends, `done` is called with
/// whether the code has hooks.
pub(crate) fn ended(done: impl FnOnce(bool)) {
    let mut has_hooks = false;
    with_open(|here| has_hooks = here.open.last().is_some_and(|open| open.hooked));
    done(has_hooks);
    with_open(OpenHere::end);
}

fn with_open(change: impl FnOnce(&mut OpenHere)) {
    // A thread that ends has no compilation, and none begins inside of the change.
    let _ = HERE.try_with(|open| {
        if let Ok(mut open) = open.try_borrow_mut() {
            change(&mut open);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn leaked() -> &'static Compilations {
        Box::leak(Box::new(Compilations::new()))
    }

    #[test]
    fn a_wait_ends_with_the_old_compilations_while_new_ones_run() {
        let all = leaked();
        let (mut old, mut new) = (OpenHere::new(all), OpenHere::new(all));
        old.begin(100);
        assert!(!all.wait(Duration::ZERO), "the old one runs");
        new.begin(100);
        old.end();
        assert!(!all.wait(Duration::ZERO), "the new one began before this wait");
        new.end();
        assert!(all.wait(Duration::ZERO));
        // One that begins while a wait goes on does not extend it.
        old.begin(100);
        let (says, hears) = mpsc::channel();
        let waits = std::thread::spawn(move || {
            says.send(()).unwrap();
            all.wait(Duration::from_secs(600))
        });
        hears.recv().unwrap();
        while all.current.load(SeqCst) == old.open[0].group {
            std::thread::yield_now();
        }
        new.begin(100);
        old.end();
        assert!(waits.join().unwrap());
        assert_eq!(new.open.len(), 1);
    }

    #[test]
    fn a_failed_compilation_ends_by_its_place_on_the_stack() {
        let all = leaked();
        let mut here = OpenHere::new(all);
        here.begin(100);
        here.begin(50); // fails, and the outer one begins another
        here.begin(60);
        assert_eq!(here.open.iter().map(|open| open.stack).collect::<Vec<_>>(), [100, 60]);
        here.end();
        here.begin(100); // the first failed too
        here.end();
        assert!(here.open.is_empty() && all.wait(Duration::ZERO));
        here.end();
        here.begin(10);
        drop(here);
        assert!(all.wait(Duration::ZERO), "the thread has ended");
    }
}
