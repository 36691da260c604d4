//! The live machines. Each is opened, sampled and tried again on threads of its own, so that one which is
//! slow or gone delays nobody.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tallymon::Location;
use tallymon::core::flow::SourceError;
use tallymon::core::visible::visible;
use tallymon_monitor::model::{Health, HostRow, HostState};

use crate::describe;
use crate::http::Refused;
use crate::hub::Hub;
use crate::live::{Live, LiveSettings};
use crate::parameters::{Parameters, milliseconds};

/// The name of the only live machine in addresses, and of the first one of several.
pub(crate) const LIVE: &str = "live";
/// What stands before the names of several machines in addresses.
const PREFIX: &str = "live:";
/// How often a thread that waits looks whether the server has ended.
const LOOKS: Duration = Duration::from_millis(200);

/// The shortest and the longest interval that a request may choose, in seconds.
const INTERVALS: std::ops::RangeInclusive<f64> = 0.1..=3600.0;

/// Samples a live machine in the interval of a request from now on.
pub(crate) fn set_interval(hub: &Hub, parameters: &Parameters) -> Result<Value, Refused> {
    let text = parameters.needed("seconds")?;
    let seconds = text.parse().ok().filter(|seconds| INTERVALS.contains(seconds)).ok_or_else(|| {
        let words = format!("seconds={:?}: a number from 0.1 to 3600 is expected", visible(text));
        Refused::bad_request(words)
    })?;
    let interval = Duration::from_secs_f64(seconds);
    hub.live(parameters.text("host"))?.set_interval(interval);
    Ok(json!({ "seconds": seconds }))
}

/// A live machine.
#[derive(Debug)]
pub(crate) struct Machine {
    /// What it is called in addresses.
    pub(crate) id: String,
    /// What the user calls it; the only machine has the name of its system.
    name: Option<String>,
    live: OnceLock<Arc<Live>>,
    /// How it answers, until it is open.
    opening: Mutex<Health>,
    interval: Duration,
}

impl Machine {
    /// The only machine.
    ///
    /// # Errors
    ///
    /// It does not answer.
    pub(crate) fn alone(source: Location, settings: &LiveSettings) -> Result<Machine, SourceError> {
        let live = Live::start(source, settings)?;
        let machine = Machine::new(LIVE.to_owned(), None, settings);
        let _ = machine.live.set(live);
        Ok(machine)
    }

    /// One of several machines, which is opened on a thread.
    ///
    /// # Errors
    ///
    /// The system has no more threads.
    pub(crate) fn begin(
        name: &str,
        source: Location,
        settings: &LiveSettings,
    ) -> std::io::Result<Arc<Machine>> {
        let machine = Machine::new(format!("{PREFIX}{name}"), Some(name.to_owned()), settings);
        let machine = Arc::new(machine);
        let (weak, settings) = (Arc::downgrade(&machine), settings.clone());
        thread::Builder::new().name("open".into()).spawn(move || open(&weak, &source, &settings))?;
        Ok(machine)
    }

    fn new(id: String, name: Option<String>, settings: &LiveSettings) -> Machine {
        let opening = Mutex::new(Health::of_asked());
        Machine { id, name, live: OnceLock::new(), opening, interval: settings.interval }
    }

    fn opening(&self) -> MutexGuard<'_, Health> {
        self.opening.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It, once it is open; else why it is not.
    pub(crate) fn live(&self) -> Result<&Arc<Live>, Refused> {
        self.live.get().ok_or_else(|| {
            let words = match &self.opening().failure {
                Some(error) => error.to_string(),
                None => format!("{} has not answered yet", visible(&self.name())),
            };
            Refused::new(hyper::StatusCode::BAD_GATEWAY, words)
        })
    }

    fn name(&self) -> String {
        let of_system = || self.live.get().map(|live| live.system_name().to_owned()).unwrap_or_default();
        self.name.clone().unwrap_or_else(of_system)
    }

    /// It as one of what can be looked at.
    pub(crate) fn json(&self) -> Value {
        let mut about = json!({
            "id": self.id, "kind": "live", "state": "ready", "name": visible(&self.name()),
            "interval": self.live.get().map_or(self.interval, |live| live.interval()).as_secs_f64(),
        });
        if let Some(live) = self.live.get() {
            let times = live.times();
            about["next"] = json!(live.next());
            about["trouble"] = json!(live.trouble());
            about["first"] = json!(times.map(|(first, _)| milliseconds(first)));
            about["last"] = json!(times.map(|(_, last)| milliseconds(last)));
        } else if let Some(error) = &self.opening().failure {
            about["state"] = json!("failed");
            about["error"] = json!(visible(&error.to_string()));
        } else {
            about["state"] = json!("opening");
        }
        about
    }

    /// Its row on the page of all machines.
    pub(crate) fn row(&self) -> Value {
        let row = match self.live.get() {
            Some(live) => live.host_row(self.name()),
            None => HostRow {
                name: self.name(),
                place: 0,
                state: self.opening().state(self.interval),
                age: None,
                clock: None,
                load: None,
            },
        };
        let mut shown = describe::host_row(&row);
        shown["id"] = json!(self.id);
        if let HostState::Failed { why, .. } = &row.state {
            shown["why"] = json!(visible(why));
        }
        shown
    }
}

/// Opens a machine, again and again with pauses that grow, as long as somebody holds it.
fn open(held: &Weak<Machine>, source: &Location, settings: &LiveSettings) {
    loop {
        let opened = Live::start(source.clone(), settings);
        let Some(machine) = held.upgrade() else { return };
        match opened {
            Ok(live) => {
                let _ = machine.live.set(live);
                return;
            }
            Err(error) => machine.opening().failed(error),
        }
        drop(machine);
        while held.upgrade().is_some_and(|machine| machine.opening().rests()) {
            thread::sleep(LOOKS);
        }
    }
}
