//! The layer: a place in the source becomes an instance when its first span begins.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tallymon_provider::CounterType;
use tallymon_provider::shm::{
    CounterSet, Instance, NewInstance, PublishError, Publisher, SharedAverage, SharedCounter, plain_name,
};
use tracing_core::callsite::Identifier;
use tracing_core::span::{Attributes, Id};
use tracing_core::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::{LookupSpan, Registry};
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

/// The most places in the source that are counted.
const MOST_PLACES: usize = 4096;

const LEVELS: [Level; 5] = [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE];

/// Publishes all spans and events of this program from now on, under its name.
///
/// # Errors
///
/// The counters cannot be published, or the program has a subscriber already.
pub fn install(program: &str) -> Result<(), InstallError> {
    let layer = Layer::new(program).map_err(InstallError::Publish)?;
    Registry::default().with(layer).try_init().map_err(InstallError::Subscriber)
}

/// Why spans and events cannot be published.
#[derive(Debug)]
#[non_exhaustive]
pub enum InstallError {
    /// The counters cannot be published.
    Publish(PublishError),
    /// The program has a subscriber already.
    Subscriber(TryInitError),
}

impl fmt::Display for InstallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InstallError::Publish(error) => write!(f, "publishing spans: {error}"),
            InstallError::Subscriber(error) => write!(f, "publishing spans: {error}"),
        }
    }
}

impl std::error::Error for InstallError {}

/// A layer of `tracing-subscriber` that publishes.
#[derive(Debug)]
pub struct Layer {
    publisher: Publisher,
    spans: String,
    places: RwLock<HashMap<Identifier, Option<Arc<SpanSite>>>>,
    /// In the order of [`LEVELS`].
    events: Vec<(SharedCounter, Instance)>,
}

/// A place in the source where spans begin.
#[derive(Debug)]
struct SpanSite {
    spans: SharedCounter,
    open: SharedCounter,
    time: SharedAverage,
    busy: SharedAverage,
    _instance: Instance,
}

/// Kept with a span.
struct Timing {
    place: Arc<SpanSite>,
    begun: Instant,
    /// When it was entered last, and how often it is entered now: two threads may be in one span.
    entered: Instant,
    depth: u32,
    busy: Duration,
}

impl Layer {
    /// A layer that publishes under the name of a program.
    ///
    /// # Errors
    ///
    /// The counters cannot be published.
    pub fn new(program: &str) -> Result<Layer, PublishError> {
        Layer::of(program, Publisher::start)
    }

    /// As [`Layer::new`], publishing in a directory of one's own.
    ///
    /// # Errors
    ///
    /// The counters cannot be published.
    pub fn in_directory(program: &str, directory: &Path) -> Result<Layer, PublishError> {
        Layer::of(program, |name, sets| Publisher::start_in(directory, name, sets))
    }

    fn of(
        program: &str,
        start: impl FnOnce(&str, &[CounterSet]) -> Result<Publisher, PublishError>,
    ) -> Result<Layer, PublishError> {
        let program = plain_name(program);
        let (spans, events) = (format!("{program} Spans"), format!("{program} Events"));
        let span_set = CounterSet::new(spans.as_str())
            .help("Spans of this program, by the place in its source where they begin.")
            .instances_about(64)
            .counter("Spans/sec", CounterType::PERF_COUNTER_BULK_COUNT)
            .shared()
            .help("Spans that ended in a second.")
            .counter("Open Spans", CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
            .shared()
            .help("Spans that began and did not end yet.")
            .average_time("Avg. sec/Span")
            .shared()
            .help("How long spans took from their beginning to their end.")
            .average_time("Avg. Busy sec/Span")
            .shared()
            .help("How much of that time they were entered.");
        let event_set = CounterSet::new(events.as_str())
            .help("Events of this program by their level.")
            .instances()
            .counter("Events/sec", CounterType::PERF_COUNTER_BULK_COUNT)
            .help("Events in a second.")
            .shared();
        let publisher = start(&program, &[span_set, event_set])?;
        let levels = LEVELS.iter().map(|level| {
            let new = NewInstance { name: level.as_str(), ..NewInstance::default() };
            let instance = publisher.instance(&events, &new)?;
            Ok((instance.shared("Events/sec")?, instance))
        });
        let events = levels.collect::<Result<_, PublishError>>()?;
        Ok(Layer { publisher, spans, places: RwLock::default(), events })
    }

    /// The place of a span; `None` when there is no room for another place.
    fn place(&self, metadata: &'static Metadata<'static>) -> Option<Arc<SpanSite>> {
        let callsite = metadata.callsite();
        // An inserted entry is whole even when a thread panics.
        if let Some(place) = self.places.read().unwrap_or_else(PoisonError::into_inner).get(&callsite) {
            return place.clone();
        }
        let mut places = self.places.write().unwrap_or_else(PoisonError::into_inner);
        if places.len() >= MOST_PLACES {
            return None;
        }
        places.entry(callsite).or_insert_with(|| self.open(metadata).ok()).clone()
    }

    fn open(&self, metadata: &Metadata<'_>) -> Result<Arc<SpanSite>, PublishError> {
        let name = plain_name(&format!("{}::{}", metadata.target(), metadata.name()));
        let new = NewInstance { name: &name, ..NewInstance::default() };
        let instance = self.publisher.instance(&self.spans, &new)?;
        Ok(Arc::new(SpanSite {
            spans: instance.shared("Spans/sec")?,
            open: instance.shared("Open Spans")?,
            time: instance.shared_average("Avg. sec/Span")?,
            busy: instance.shared_average("Avg. Busy sec/Span")?,
            _instance: instance,
        }))
    }
}

impl<S> tracing_subscriber::Layer<S> for Layer
where
    S: Subscriber + for<'s> LookupSpan<'s>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let Some(place) = self.place(attributes.metadata()) else { return };
        place.open.increment();
        let now = Instant::now();
        let timing = Timing { place, begun: now, entered: now, depth: 0, busy: Duration::ZERO };
        span.extensions_mut().insert(timing);
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(timing) = span.extensions_mut().get_mut::<Timing>() {
            if timing.depth == 0 {
                timing.entered = Instant::now();
            }
            timing.depth = timing.depth.saturating_add(1);
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(timing) = span.extensions_mut().get_mut::<Timing>() {
            timing.depth = timing.depth.saturating_sub(1);
            if timing.depth == 0 {
                timing.busy = timing.busy.saturating_add(timing.entered.elapsed());
            }
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(timing) = span.extensions_mut().remove::<Timing>() else { return };
        let place = &timing.place;
        place.spans.increment();
        // Minus one: the number wraps.
        place.open.add(u64::MAX);
        place.time.record_time(timing.begun.elapsed());
        place.busy.record_time(timing.busy);
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let level = LEVELS.iter().position(|level| level == event.metadata().level());
        if let Some((counter, _)) = level.and_then(|level| self.events.get(level)) {
            counter.increment();
        }
    }
}
