//! The session with one program: a thread that reads its events as long as somebody asks.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::state::State;
use super::totals;
use crate::events::{self, meaning};
use crate::nettrace::{Start, Trace};
use crate::port::{EventProvider, PortError, Program, Session, Stream};

/// Without a request for this long, a session ends.
const IDLE: Duration = Duration::from_secs(120);
/// How long a program may take to accept a session.
const PATIENCE: Duration = Duration::from_secs(10);
/// A program that sent nothing for this long does not answer.
const SILENCE: Duration = Duration::from_secs(3);
/// A session in which no counters came for this long has failed. A runtime that is just starting may lose the
/// command that has it send them.
const BEGINNING: Duration = Duration::from_secs(5);
/// A session that failed is tried again after this.
const RETRY: Duration = Duration::from_secs(2);
/// How often to look whether a stream is over.
const LOOK: Duration = Duration::from_millis(100);
/// How long a program may take to compute its first totals.
const FIRST_TOTALS: Duration = Duration::from_secs(10);
/// How long a reader that leaves waits for the first totals to be complete, and for a session that is ended
/// in order.
const LEAVING: Duration = Duration::from_secs(2);
/// How long a program may take to end a session in order.
pub(super) const ENDING: Duration = Duration::from_millis(800);
/// Time between two sets of counters, in seconds.
pub(super) const INTERVAL: &str = "0.1";
/// A second session that failed is tried again after this: the reader that was in its way may be gone.
const RETRY_METERS: Duration = Duration::from_secs(30);
/// So many sets of meters must be there before a rate can be computed for a moment in the past.
const SETS_FOR_RATES: u64 = 2;

/// What a session and its readers share.
pub(super) struct Shared {
    state: Mutex<Inner>,
    changed: Condvar,
    stop: AtomicBool,
}

struct Inner {
    phase: Phase,
    state: State,
    heard: Instant,
    asked: Instant,
    /// Whether somebody waited for the first values already.
    waited: bool,
    totals: Totals,
    /// When [`Inner::totals`] changed.
    totals_at: Instant,
    /// Whether the program is asked to end the session, instead of finding its stream closed.
    ends_in_order: bool,
    /// The main version of the runtime, when it is known; 0 for one before .NET 6.
    major: Option<u32>,
    /// The meters whose values somebody wants; `None` as long as nobody asked about meters.
    meters: Option<BTreeSet<String>>,
    /// Whether somebody waited for all of these already.
    waited_for_meters: bool,
}

impl Inner {
    /// Whether the second session is to begin, as far as the program may have one.
    fn wants_totals(&self) -> bool {
        let is_due = match self.totals {
            Totals::Unasked => true,
            Totals::Over => self.meters.is_some() && self.totals_at.elapsed() > RETRY_METERS,
            Totals::First | Totals::Known => false,
        };
        let major = self.major.unwrap_or(0);
        is_due && (totals::has_totals(major) || self.meters.is_some() && totals::has_meters(major))
    }

    /// Whether what somebody wants of the meters may still come soon.
    fn awaits_meters(&self, program: &Program) -> bool {
        let meters = &self.state.meters;
        let is_there = match &self.meters {
            Some(wanted) if wanted.is_empty() => meters.all_published,
            Some(wanted) => {
                // What the program does not have does not come.
                let is_known = |name: &String| self.state.wanted.contains(name) || !meters.has(name);
                meters.all_published && meters.sets >= SETS_FOR_RATES && wanted.iter().all(is_known)
            }
            None => true,
        };
        let may_come = match self.phase {
            Phase::Starting => true,
            Phase::Running => self.major.is_some_and(totals::has_meters) && self.totals != Totals::Over,
            Phase::Denied | Phase::Failed | Phase::Idle => false,
        };
        !is_there && may_come && totals::is_safe(program)
    }

    fn set_totals(&mut self, totals: Totals) {
        (self.totals, self.totals_at) = (totals, Instant::now());
    }
}

/// How far a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The program has sent no counters yet.
    Starting,
    /// It sends counters.
    Running,
    /// It belongs to another user.
    Denied,
    /// It does not answer, or its stream was damaged.
    Failed,
    /// Nobody asked for a while.
    Idle,
}

/// How far the second session of a program is, which has its totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Totals {
    /// It has not begun.
    Unasked,
    /// The program computes the first ones. It may stand still for ever if the session ends now.
    First,
    /// They came at least once.
    Known,
    /// The session is over.
    Over,
}

/// Whether the first request waits for the first values of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begin {
    Awaited,
    Aside,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, phase: Phase) {
        let mut inner = self.lock();
        (inner.phase, inner.heard) = (phase, Instant::now());
        drop(inner);
        self.changed.notify_all();
    }

    /// Calls `look` with how far the session is and what is known.
    pub(super) fn look<T>(&self, look: impl FnOnce(Phase, &State) -> T) -> T {
        let inner = self.lock();
        let silent = inner.phase == Phase::Running && inner.heard.elapsed() > SILENCE;
        look(if silent { Phase::Failed } else { inner.phase }, &inner.state)
    }

    /// Whether the session has ended and is to begin again: nobody asked for a while, or it failed, as it
    /// does with a program that is just starting. Nobody waits for one that failed.
    pub(super) fn is_to_begin_again(&self) -> Option<Begin> {
        let inner = self.lock();
        match inner.phase {
            Phase::Idle => Some(Begin::Awaited),
            Phase::Failed if inner.heard.elapsed() >= RETRY => Some(Begin::Aside),
            _ => None,
        }
    }

    /// Notes that somebody asks.
    pub(super) fn ask(&self) {
        self.lock().asked = Instant::now();
    }

    /// Adds events to what is known, each with its time.
    pub(super) fn add(&self, events: Vec<(u64, events::Meaning)>) {
        let mut inner = self.lock();
        for (time, event) in events {
            inner.state.add(time, event);
        }
        let has_waiters = inner.meters.is_some();
        drop(inner);
        if has_waiters {
            self.changed.notify_all();
        }
    }

    pub(super) fn totals(&self) -> Totals {
        self.lock().totals
    }

    /// Notes how far the totals are.
    pub(super) fn set_totals(&self, totals: Totals) {
        let mut inner = self.lock();
        inner.set_totals(totals);
        if totals == Totals::Over {
            inner.state.meters.forget_values();
        }
        drop(inner);
        self.changed.notify_all();
    }

    /// Waits until the session is no longer starting, at most until the deadline. Only the first call waits.
    pub(super) fn wait(&self, deadline: Instant) {
        let mut inner = self.lock();
        if std::mem::replace(&mut inner.waited, true) {
            return;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let starting = |inner: &mut Inner| inner.phase == Phase::Starting || inner.totals == Totals::First;
        drop(self.changed.wait_timeout_while(inner, left, starting));
    }

    /// Notes that somebody wants to know which meters there are, and the values of some.
    pub(super) fn ask_meters(&self, wanted: &BTreeSet<String>) {
        let mut inner = self.lock();
        let known = inner.meters.get_or_insert_default();
        if !wanted.is_subset(known) {
            known.extend(wanted.iter().cloned());
            inner.waited_for_meters = false;
        }
    }

    /// Waits until what somebody wants of the meters is there, at most until the deadline, and only once.
    pub(super) fn wait_for_meters(&self, program: &Program, deadline: Instant) {
        let mut inner = self.lock();
        if inner.meters.is_none() || std::mem::replace(&mut inner.waited_for_meters, true) {
            return;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        drop(self.changed.wait_timeout_while(inner, left, |inner| inner.awaits_meters(program)));
    }

    /// Begins a second session: what it is for, and whether somebody asked about meters.
    pub(super) fn begin_meters(&self) -> (BTreeSet<String>, bool) {
        let mut inner = self.lock();
        let mut wanted = inner.meters.clone().unwrap_or_default();
        if totals::has_totals(inner.major.unwrap_or(0)) {
            wanted.insert(events::SYSTEM_RUNTIME.into());
        }
        inner.state.meters.forget_values();
        inner.state.wanted.clone_from(&wanted);
        inner.set_totals(Totals::First);
        let asked = inner.meters.is_some();
        (wanted, asked)
    }

    /// Whether somebody wants more than the second session has.
    pub(super) fn wants_more_meters(&self, has_all: bool) -> bool {
        let inner = self.lock();
        let has = |name: &String| inner.state.wanted.contains(name);
        inner.meters.as_ref().is_some_and(|wanted| !has_all || !wanted.iter().all(has))
    }

    /// Notes what is wrong with the second session.
    pub(super) fn set_problem(&self, problem: String) {
        self.lock().state.meters.problem = Some(problem);
    }

    /// Whether nobody asks any more, and the program may be left.
    pub(super) fn is_over(&self) -> bool {
        let inner = self.lock();
        let may_leave = inner.totals != Totals::First || inner.totals_at.elapsed() > FIRST_TOTALS;
        may_leave && (self.stop.load(Ordering::Relaxed) || inner.asked.elapsed() > IDLE)
    }
}

/// A session that ends when it is dropped.
pub(super) struct Live {
    pub(super) shared: Arc<Shared>,
}

impl Live {
    /// Begins a session in a thread of its own.
    pub(super) fn start(program: Program, begin: Begin) -> Live {
        let now = Instant::now();
        let waited = begin == Begin::Aside;
        let inner = Inner {
            phase: Phase::Starting,
            state: State::default(),
            heard: now,
            asked: now,
            waited,
            totals: Totals::Unasked,
            totals_at: now,
            ends_in_order: false,
            major: None,
            meters: None,
            waited_for_meters: false,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(inner),
            changed: Condvar::new(),
            stop: AtomicBool::new(false),
        });
        let own = shared.clone();
        let thread = std::thread::Builder::new().name("dotnet counters".into());
        let started = thread.spawn(move || {
            let phase = match run(&program, &own) {
                Ok(()) => Phase::Idle,
                Err(Some(error)) if error.is_denied() => Phase::Denied,
                Err(_) => Phase::Failed,
            };
            own.set(phase);
        });
        if started.is_err() {
            shared.set(Phase::Failed);
        }
        Live { shared }
    }
}

impl Live {
    /// Has the session end soon, without waiting for it.
    pub(super) fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.stop();
        // The end of this process would end the second session too early, and the first not in order.
        let is_ending = |inner: &mut Inner| {
            let is_read = matches!(inner.phase, Phase::Starting | Phase::Running);
            inner.totals == Totals::First || inner.ends_in_order && is_read
        };
        drop(self.shared.changed.wait_timeout_while(self.shared.lock(), LEAVING, is_ending));
    }
}

/// Reads events until nobody asks any more. The error is that of the port, or none for a stream that ended.
fn run(program: &Program, shared: &Arc<Shared>) -> Result<(), Option<PortError>> {
    let provider = |name: &str, keywords, arguments: String| EventProvider {
        name: name.into(),
        keywords,
        level: 4,
        arguments,
    };
    let providers = vec![
        provider(events::SYSTEM_RUNTIME, u64::MAX, format!("EventCounterIntervalSec={INTERVAL}")),
        provider(events::RUNTIME, events::GC, String::new()),
    ];
    // Before .NET 6 a runtime does not say its version.
    let version = program.info(PATIENCE).map(|info| info.version).unwrap_or_default();
    let major = version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0);
    let session = Session { providers, method_names: false, buffer: 4 };
    let stream = program.start(&session, PATIENCE).map_err(Some)?;
    // Newer runtimes take it well that a stream is closed, and were tried for long with that.
    let ender = if major == 0 { stream.ender().ok() } else { None };
    let mut inner = shared.lock();
    (inner.ends_in_order, inner.major) = (ender.is_some(), Some(major));
    drop(inner);
    let result = read(program, shared, stream);
    if let Some(ender) = ender
        && result.is_ok()
    {
        // The session is over for its readers in any case.
        let _ = ender.end(ENDING);
    }
    result
}

/// Reads the events of a session until nobody asks any more.
fn read(program: &Program, shared: &Arc<Shared>, stream: Stream) -> Result<(), Option<PortError>> {
    let began = Instant::now();
    let clock = Clock::new();
    let is_over =
        || shared.is_over() || began.elapsed() > BEGINNING && shared.lock().phase == Phase::Starting;
    let mut trace = Trace::new(Until { stream, is_over }).map_err(|_| None)?;
    let clock = clock.of(trace.start());
    loop {
        let mut read = Vec::new();
        let more = trace.next(&mut |event| {
            read.extend(meaning(event).map(|meaning| (clock.time(event.ticks), meaning)));
        });
        let is_news = !read.is_empty();
        shared.add(read);
        let mut inner = shared.lock();
        if is_news {
            inner.heard = Instant::now();
        }
        if inner.state.newest().is_some() {
            if inner.wants_totals() && totals::is_safe(program) {
                inner.set_totals(Totals::First);
                totals::start(program.clone(), shared.clone());
            }
            if inner.phase == Phase::Starting {
                inner.phase = Phase::Running;
                shared.changed.notify_all();
            }
        }
        drop(inner);
        match more {
            Ok(true) => {}
            Err(_) if shared.is_over() => return Ok(()),
            Ok(false) | Err(_) => return Err(None),
        }
    }
}

/// The clock of the system, in units of 100 ns.
pub(super) fn now() -> u64 {
    let clock = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(clock.tv_sec).unwrap_or(0).saturating_mul(10_000_000);
    seconds.saturating_add(u64::try_from(clock.tv_nsec).unwrap_or(0) / 100)
}

/// Turns times of a program's clock into those of this system. On one machine all runtimes have the clock of
/// the system; one with another clock is moved so that its session began now.
pub(super) struct Clock {
    now: u64,
    frequency: u64,
    shift: u64,
}

impl Clock {
    /// Before a session begins.
    pub(super) fn new() -> Clock {
        Clock { now: now(), frequency: 1, shift: 0 }
    }

    /// After it has begun.
    pub(super) fn of(self, start: &Start) -> Clock {
        let clock = Clock { frequency: start.frequency, ..self };
        let begun = clock.time(start.ticks);
        let shift = if clock.now.abs_diff(begun) < 100_000_000 { 0 } else { clock.now.wrapping_sub(begun) };
        Clock { shift, ..clock }
    }

    /// A time of the program's clock here, in units of 100 ns.
    pub(super) fn time(&self, ticks: u64) -> u64 {
        let units = u128::from(ticks).saturating_mul(10_000_000).checked_div(u128::from(self.frequency));
        units.and_then(|units| u64::try_from(units).ok()).unwrap_or(0).wrapping_add(self.shift)
    }
}

/// A stream that fails when it is over for its reader.
pub(super) struct Until<F> {
    pub(super) stream: Stream,
    pub(super) is_over: F,
}

impl<F: Fn() -> bool> Read for Until<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_patience(LOOK);
        loop {
            if (self.is_over)() {
                return Err(io::Error::other("the reader leaves"));
            }
            match self.stream.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {}
                result => return result,
            }
        }
    }
}
