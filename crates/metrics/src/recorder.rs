//! The recorder: metrics become objects when they are first used.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, SetRecorderError, SharedString, Unit};
use tallymon_provider::CounterType;
use tallymon_provider::shm::{
    CounterSet, HistogramShape, Instance, NewInstance, PublishError, Publisher, plain_name,
};

use crate::cell::{CounterCell, GaugeCell, HistogramCell, seconds};

/// The most metrics of a program. Each metric is a file.
const MOST_METRICS: usize = 1000;
/// The most messages that are kept.
const MOST_FAULTS: usize = 100;

/// Publishes all metrics of this program from now on, under its name. The result reports what could not be
/// published.
///
/// # Errors
///
/// The program has a recorder already.
pub fn install(program: &str) -> Result<Recorder, InstallError> {
    let recorder = Recorder::new(program);
    metrics::set_global_recorder(recorder.clone()).map_err(InstallError)?;
    Ok(recorder)
}

/// The program has a recorder already.
#[derive(Debug)]
pub struct InstallError(SetRecorderError<Recorder>);

impl fmt::Display for InstallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "publishing metrics: {}", self.0)
    }
}

impl std::error::Error for InstallError {}

/// Publishes metrics. Clones are the same recorder.
#[derive(Clone)]
pub struct Recorder {
    inner: Arc<Inner>,
}

struct Inner {
    program: String,
    /// The directory to publish in; `None` for the usual one.
    directory: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    described: HashMap<(Kind, String), (Option<Unit>, String)>,
    objects: HashMap<String, Object>,
    counters: HashMap<Key, Arc<CounterCell>>,
    gauges: HashMap<Key, Arc<GaugeCell>>,
    histograms: HashMap<Key, Arc<HistogramCell>>,
    faults: Vec<String>,
}

/// One metric with all its labels.
struct Object {
    kind: Kind,
    publisher: Publisher,
    name: String,
    /// The seconds in one unit, for a histogram of times.
    seconds: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Recorder {
    /// The recorder of a program, not installed yet, for example to put it behind layers of `metrics-util`.
    pub fn new(program: &str) -> Recorder {
        Recorder::make(program, None)
    }

    /// As [`Recorder::new`], publishing in a directory of one's own.
    pub fn in_directory(program: &str, directory: PathBuf) -> Recorder {
        Recorder::make(program, Some(directory))
    }

    fn make(program: &str, directory: Option<PathBuf>) -> Recorder {
        let inner = Inner { program: plain_name(program), directory, state: Mutex::default() };
        Recorder { inner: Arc::new(inner) }
    }

    /// What could not be published and why, up to 100 messages. Such metrics count nothing and do no harm.
    pub fn faults(&self) -> Vec<String> {
        self.state().faults.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn describe(&self, kind: Kind, name: &KeyName, unit: Option<Unit>, help: &SharedString) {
        self.state().described.insert((kind, name.as_str().to_string()), (unit, help.to_string()));
    }

    /// The cell of a key: the existing one, or a new one that `open` creates for a new instance.
    fn cell<C>(
        &self,
        kind: Kind,
        key: &Key,
        cells: fn(&mut State) -> &mut HashMap<Key, Arc<C>>,
        open: fn(Instance, &Object) -> Result<C, PublishError>,
    ) -> Option<Arc<C>> {
        let mut state = self.state();
        if let Some(cell) = cells(&mut state).get(key) {
            return Some(Arc::clone(cell));
        }
        let made = self.instance(&mut state, kind, key).and_then(|instance| {
            let object = state.objects.get(key.name()).ok_or("it has no object")?;
            open(instance, object).map_err(|error| error.to_string())
        });
        match made {
            Ok(cell) => {
                let cell = Arc::new(cell);
                cells(&mut state).insert(key.clone(), Arc::clone(&cell));
                Some(cell)
            }
            Err(why) => {
                if state.faults.len() < MOST_FAULTS {
                    state.faults.push(format!("{key}: {why}"));
                }
                None
            }
        }
    }

    fn instance(&self, state: &mut State, kind: Kind, key: &Key) -> Result<Instance, String> {
        if !state.objects.contains_key(key.name()) {
            if state.objects.len() >= MOST_METRICS {
                return Err(format!("a program publishes at most {MOST_METRICS} metrics"));
            }
            let object = self.object(state, kind, key.name()).map_err(|error| error.to_string())?;
            state.objects.insert(key.name().to_string(), object);
        }
        let object = state.objects.get(key.name()).ok_or("it has no object")?;
        if object.kind != kind {
            return Err(format!("the same name is that of a {:?}", object.kind).to_lowercase());
        }
        let name = instance_name(key);
        let new = NewInstance { name: &name, ..NewInstance::default() };
        object.publisher.instance(&object.name, &new).map_err(|error| error.to_string())
    }

    /// Publishes a metric, without instances yet.
    fn object(&self, state: &State, kind: Kind, metric: &str) -> Result<Object, PublishError> {
        let described = state.described.get(&(kind, metric.to_string()));
        let unit = described.and_then(|(unit, _)| *unit);
        let help = described.map_or("", |(_, help)| help);
        let seconds = seconds(metric, unit).filter(|_| kind == Kind::Histogram);
        let name = plain_name(&format!("{} {metric}", self.inner.program));
        let set = CounterSet::new(name.as_str()).help(help).instances();
        let shape = HistogramShape::default();
        let set = match kind {
            Kind::Counter => set.counter("Count/sec", CounterType::PERF_COUNTER_BULK_COUNT).shared(),
            Kind::Gauge => set.counter("Value", CounterType::PERF_DOUBLE_RAW),
            // Its lanes take much room, so there is room for as many instances as there are labels, and no
            // more.
            Kind::Histogram if seconds.is_some() => {
                set.instances_about(1).histogram_time("Time", &shape).shared()
            }
            Kind::Histogram => set.instances_about(1).histogram("Value", &shape).shared(),
        };
        let set = set.help(help);
        let set = match unit {
            Some(unit) if seconds.is_none() => set.unit(unit.as_canonical_label()),
            _ => set,
        };
        let publisher = match &self.inner.directory {
            Some(directory) => Publisher::start_in(directory, &name, &[set]),
            None => Publisher::start(&name, &[set]),
        }?;
        Ok(Object { kind, publisher, name, seconds })
    }
}

impl metrics::Recorder for Recorder {
    fn describe_counter(&self, key: KeyName, unit: Option<Unit>, description: SharedString) {
        self.describe(Kind::Counter, &key, unit, &description);
    }

    fn describe_gauge(&self, key: KeyName, unit: Option<Unit>, description: SharedString) {
        self.describe(Kind::Gauge, &key, unit, &description);
    }

    fn describe_histogram(&self, key: KeyName, unit: Option<Unit>, description: SharedString) {
        self.describe(Kind::Histogram, &key, unit, &description);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        let open =
            |instance: Instance, _: &Object| Ok(CounterCell::new(instance.shared("Count/sec")?, instance));
        let cell = self.cell(Kind::Counter, key, |state| &mut state.counters, open);
        cell.map_or_else(Counter::noop, Counter::from_arc)
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        let open = |instance: Instance, _: &Object| Ok(GaugeCell::new(instance.gauge("Value")?, instance));
        let cell = self.cell(Kind::Gauge, key, |state| &mut state.gauges, open);
        cell.map_or_else(Gauge::noop, Gauge::from_arc)
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        let open = |instance: Instance, object: &Object| {
            let counter = if object.seconds.is_some() { "Time" } else { "Value" };
            Ok(HistogramCell::new(instance.shared_histogram(counter)?, object.seconds, instance))
        };
        let cell = self.cell(Kind::Histogram, key, |state| &mut state.histograms, open);
        cell.map_or_else(Histogram::noop, Histogram::from_arc)
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("program", &self.inner.program).finish_non_exhaustive()
    }
}

/// The name of the instance for the labels of a key: `kind=book,size=A4`.
fn instance_name(key: &Key) -> String {
    let labels: Vec<String> =
        key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
    if labels.is_empty() {
        return "unlabelled".to_string();
    }
    plain_name(&labels.join(","))
}
