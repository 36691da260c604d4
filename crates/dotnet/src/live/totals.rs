//! The second session with a program: its meters. The runtime's own has totals since the program began, from
//! .NET 9 on.
//!
//! Meters are dangerous in a program that is just starting. When their thread in the program computes values
//! for the first time, it makes parts of the runtime ready, and the thread that begins or ends a session
//! holds a lock that this needs (dotnet/runtime issues 119014 and 105682): the program stands still for ever.
//! Of 25 programs of .NET 9.0.5 that were read from their start, 9 did. None of 172 did with these rules: the
//! program has run for a while, the session with its counters is running and has made most parts ready, and
//! both sessions end only after the first values of the meter.
//!
//! All readers of a program share its meters, and must have the same settings. A reader that finds others
//! takes theirs. A session cannot be changed: when somebody wants another meter, it ends, and one with all
//! begins.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::session::{Clock, ENDING, INTERVAL, Shared, Totals, Until};
use crate::events::{self, Meaning, meaning};
use crate::meters::{MeterEvent, SHARED, Settings};
use crate::nettrace::Trace;
use crate::port::{EventProvider, Program, Session};

/// The age from which a program is asked. Many compilers and tests do not become so old.
const AGE: Duration = Duration::from_secs(5);
/// How long a program may take to accept the session.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time between two sets of values when somebody wants meters, in seconds. Programs read it in their own
/// language, where a point may mean nothing.
const METERS_INTERVAL: &str = "1";
/// The most series and histograms. The runtime keeps those that came first.
const MOST_SERIES: &str = "1000";
const MOST_HISTOGRAMS: &str = "100";
/// Keywords of the events of meters: messages, values, instruments that are there.
const MESSAGES_AND_VALUES: u64 = 3;
const INSTRUMENTS: u64 = 4;
/// How often the settings of others may change before they are given up.
const MOST_SETTINGS: u32 = 3;

/// Whether a runtime of this version has a meter of its own.
pub(super) const fn has_totals(major: u32) -> bool {
    major >= 9
}

/// Whether the readers of a runtime of this version share its meters. Before, each takes them away from the
/// one before it.
pub(super) const fn has_meters(major: u32) -> bool {
    major >= 8
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
    let thread = std::thread::Builder::new().name("dotnet meters".into()).spawn(move || {
        // Without it the totals and meters have no values, and all others have.
        if let Err(problem) = run(&program, &own) {
            own.set_problem(problem);
        }
        own.set_totals(Totals::Over);
    });
    if thread.is_err() {
        shared.set_totals(Totals::Over);
    }
}

/// Why a session ended.
enum End {
    /// Nobody asks any more.
    Over,
    /// Somebody wants more.
    More,
    /// Other readers have these settings.
    Settings(Settings),
}

/// Reads values until nobody asks any more. The error says why there are none.
fn run(program: &Program, shared: &Shared) -> Result<(), String> {
    let mut of_others = None;
    let mut changes = 0;
    loop {
        let (wanted, asked) = shared.begin_meters();
        let own = Settings {
            interval: if asked { METERS_INTERVAL } else { INTERVAL }.into(),
            series: MOST_SERIES.into(),
            histograms: MOST_HISTOGRAMS.into(),
        };
        match session(program, shared, &wanted, asked, of_others.as_ref().unwrap_or(&own))? {
            End::Over => return Ok(()),
            End::More => of_others = None,
            End::Settings(settings) if changes < MOST_SETTINGS => {
                changes = changes.saturating_add(1);
                of_others = Some(settings);
            }
            End::Settings(_) => return Err("the settings of the other readers of its meters change".into()),
        }
    }
}

fn session(
    program: &Program,
    shared: &Shared,
    wanted: &BTreeSet<String>,
    asked: bool,
    settings: &Settings,
) -> Result<End, String> {
    // The runtime counts the readers of a shared session by their names: two of one name end together.
    static SESSIONS: AtomicU64 = AtomicU64::new(0);
    let client = format!("{}-{}", std::process::id(), SESSIONS.fetch_add(1, Ordering::Relaxed));
    // A name with a separator would be two.
    let names = wanted.iter().filter(|name| !name.contains([',', ';', '\\', '\r', '\n', '=', '"']));
    let names: Vec<&str> = names.map(String::as_str).collect();
    let Settings { interval, series, histograms } = settings;
    let arguments = format!(
        "SessionId={SHARED};ClientId={client};Metrics={};RefreshInterval={interval};MaxTimeSeries={series};\
         MaxHistograms={histograms}",
        names.join(",")
    );
    let keywords = if asked { MESSAGES_AND_VALUES | INSTRUMENTS } else { MESSAGES_AND_VALUES };
    let meter = EventProvider { name: events::METRICS.into(), keywords, level: 4, arguments };
    let session = Session { providers: vec![meter], method_names: false, buffer: 4 };
    let clock = Clock::new();
    let stream = program.start(&session, PATIENCE).map_err(|error| error.to_string())?;
    let ender = stream.ender().map_err(|error| error.to_string())?;
    let ended = |error: &dyn std::fmt::Display| format!("the events of its meters ended: {error}");
    let mut trace =
        Trace::new(Until { stream, is_over: || shared.is_over() }).map_err(|error| ended(&error))?;
    let clock = clock.of(trace.start());
    let end = loop {
        let (mut read, mut is_complete, mut refused) = (Vec::new(), false, None);
        let more = trace.next(&mut |event| {
            let Some(Meaning::Meter(known)) = meaning(event) else { return };
            match &known {
                MeterEvent::CollectionStop => is_complete = true,
                // Without its keyword only the instruments of the session were published.
                MeterEvent::AllPublished if !asked => return,
                MeterEvent::OtherSettings { client: other, settings } if *other == client => {
                    refused = Some(Ok(cleaned(settings)));
                }
                MeterEvent::OtherSession(other) if other != SHARED => refused = Some(Err(())),
                _ => {}
            }
            read.push((clock.time(event.ticks), Meaning::Meter(known)));
        });
        shared.add(read);
        match refused {
            Some(Ok(settings)) => break Ok(End::Settings(settings)),
            Some(Err(())) => break Err("another program reads its meters and does not share them".into()),
            None => {}
        }
        if is_complete && shared.totals() == Totals::First {
            shared.set_totals(Totals::Known);
        }
        // Before the first values it may not end.
        if shared.totals() == Totals::Known && shared.wants_more_meters(asked) {
            break Ok(End::More);
        }
        match more {
            Ok(true) => {}
            Err(_) if shared.is_over() => return Ok(End::Over),
            Ok(false) => return Err(ended(&"the program sent no more")),
            Err(error) => return Err(ended(&error)),
        }
    };
    drop(trace);
    // The next session would be refused as long as this one is there.
    let _ = ender.end(ENDING);
    end
}

/// Settings without what does not belong into numbers.
fn cleaned(settings: &Settings) -> Settings {
    let clean =
        |text: &String| text.chars().filter(|c| matches!(c, '0'..='9' | '.' | ',')).take(20).collect();
    Settings {
        interval: clean(&settings.interval),
        series: clean(&settings.series),
        histograms: clean(&settings.histograms),
    }
}
