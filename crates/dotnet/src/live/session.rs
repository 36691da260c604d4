//! The session with one program: a thread that reads its events as long as somebody asks.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::state::State;
use super::totals;
use crate::events::{self, meaning};
use crate::nettrace::Trace;
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
/// How long a reader that leaves waits for the first totals to be complete, and for a session that is ended in order.
const LEAVING: Duration = Duration::from_secs(1);
/// How long a program may take to end a session in order.
const ENDING: Duration = Duration::from_millis(800);
/// Time between two sets of counters, in seconds.
pub(super) const INTERVAL: &str = "0.1";

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
}

impl Inner {
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
    }

    pub(super) fn totals(&self) -> Totals {
        self.lock().totals
    }

    /// Notes how far the totals are.
    pub(super) fn set_totals(&self, totals: Totals) {
        let mut inner = self.lock();
        inner.set_totals(totals);
        if totals == Totals::Over {
            inner.state.forget_instruments();
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
    shared.lock().ends_in_order = ender.is_some();
    let result = read(program, shared, stream, totals::has_totals(major));
    if let Some(ender) = ender
        && result.is_ok()
    {
        // The session is over for its readers in any case.
        let _ = ender.end(ENDING);
    }
    result
}

/// Reads the events of a session until nobody asks any more.
fn read(
    program: &Program,
    shared: &Arc<Shared>,
    stream: Stream,
    has_totals: bool,
) -> Result<(), Option<PortError>> {
    let (began, clock) = (Instant::now(), offset());
    let is_over =
        || shared.is_over() || began.elapsed() > BEGINNING && shared.lock().phase == Phase::Starting;
    let mut trace = Trace::new(Until { stream, is_over }).map_err(|_| None)?;
    let start = *trace.start();
    let time = |ticks: u64| {
        let units = u128::from(ticks).saturating_mul(10_000_000).checked_div(u128::from(start.frequency));
        units.and_then(|units| u64::try_from(units).ok()).unwrap_or(0)
    };
    let shift = clock(time(start.ticks));
    loop {
        let mut read = Vec::new();
        let more = trace.next(&mut |event| {
            read.extend(meaning(event).map(|meaning| (time(event.ticks).wrapping_add(shift), meaning)));
        });
        let is_news = !read.is_empty();
        shared.add(read);
        let mut inner = shared.lock();
        if is_news {
            inner.heard = Instant::now();
        }
        if inner.state.newest().is_some() {
            if inner.totals == Totals::Unasked && has_totals && totals::is_safe(program) {
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

/// What to add to a time of the program's clock. On one machine all runtimes have the clock of the system;
/// one with another clock is moved so that its session began now.
fn offset() -> impl Fn(u64) -> u64 {
    let clock = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(clock.tv_sec).unwrap_or(0).saturating_mul(10_000_000);
    let now = seconds.saturating_add(u64::try_from(clock.tv_nsec).unwrap_or(0) / 100);
    move |begun| if now.abs_diff(begun) < 100_000_000 { 0 } else { now.wrapping_sub(begun) }
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
