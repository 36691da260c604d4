//! The second session with a program: totals since it began, from the meter of .NET 9 and later.
//!
//! Meters are dangerous in a program that is just starting. When their thread in the program computes values
//! for the first time, it makes parts of the runtime ready, and the thread that begins or ends a session
//! holds a lock that this needs (dotnet/runtime issues 119014 and 105682): the program stands still for ever.
//! Of 25 programs of .NET 9.0.5 that were read from their start, 9 did. None of 172 did with these rules: the
//! program has run for a while, the session with its counters is running and has made most parts ready, and
//! both sessions end only after the first values of the meter.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::session::{INTERVAL, Shared, Totals, Until};
use crate::events::{self, meaning};
use crate::nettrace::Trace;
use crate::port::{EventProvider, Program, Session};

/// The age from which a program is asked. Many compilers and tests do not become so old.
const AGE: Duration = Duration::from_secs(5);
/// How long a program may take to accept the session.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whether a runtime of this version has the meter.
pub(super) const fn has_totals(major: u32) -> bool {
    major >= 9
}

/// Whether a program has run long enough.
pub(super) fn is_safe(program: &Program) -> bool {
    let clock = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let seconds = program.started.checked_div(rustix::param::clock_ticks_per_second()).unwrap_or(u64::MAX);
    u64::try_from(clock.tv_sec).unwrap_or(0) > seconds.saturating_add(AGE.as_secs())
}

/// Begins the session in a thread of its own.
pub(super) fn start(program: Program, shared: Arc<Shared>) {
    let own = shared.clone();
    let thread = std::thread::Builder::new().name("dotnet totals".into()).spawn(move || {
        // Without it the totals have no values, and all others have.
        let _ = run(&program, &own);
        own.set_totals(Totals::Over);
    });
    if thread.is_err() {
        shared.set_totals(Totals::Over);
    }
}

/// Reads values until nobody asks any more. The error says only that the stream ended.
fn run(program: &Program, shared: &Shared) -> Result<(), ()> {
    // The runtime counts the readers of a shared session by their names: two of one name end together.
    static SESSIONS: AtomicU64 = AtomicU64::new(0);
    let (reader, number) = (std::process::id(), SESSIONS.fetch_add(1, Ordering::Relaxed));
    let arguments = format!(
        "SessionId=SHARED;ClientId={reader}-{number};Metrics=System.Runtime;RefreshInterval={INTERVAL};\
         MaxTimeSeries=200;MaxHistograms=1"
    );
    let meter = EventProvider { name: events::METRICS.into(), keywords: 3, level: 4, arguments };
    let session = Session { providers: vec![meter], method_names: false, buffer: 4 };
    let stream = program.start(&session, PATIENCE).map_err(|_| ())?;
    let mut trace = Trace::new(Until { stream, is_over: || shared.is_over() }).map_err(|_| ())?;
    loop {
        let (mut read, mut is_complete) = (Vec::new(), false);
        let more = trace.next(&mut |event| {
            read.extend(meaning(event).map(|meaning| (0, meaning)));
            is_complete |= event.kind.name == "CollectionStop";
        });
        shared.add(read);
        if is_complete && shared.totals() == Totals::First {
            shared.set_totals(Totals::Known);
        }
        if !more.map_err(|_| ())? {
            return Ok(());
        }
    }
}
