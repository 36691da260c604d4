//! The samples of a session, sent to a receiver of OTLP as they are taken.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tallymon::Query;
use tallymon::core::time::FileTime;
use tallymon::record::session::SessionSettings;
use tallymon_export::profile::Profile;
use tallymon_provider::trust::check_path;
use tallymon_push::{Event, Queue, Sender, Tls};

use crate::exit::Failure;
use crate::requests::{Metrics, Requests, Target, otlp};

/// How many bytes wait for a receiver that is away: hours of most sessions.
const QUEUE_BYTES: u64 = 256 << 20;
/// How long the end of a session waits for the receiver. The next start sends the rest.
const END_PATIENCE: Duration = Duration::from_secs(5);
/// How many events are kept until the session reports them.
const MOST_EVENTS: usize = 16;

/// Sends the samples of one session.
pub(super) struct Export {
    requests: Requests,
    sender: Sender,
    /// What went wrong since the sample before, in words.
    events: Arc<Mutex<Vec<String>>>,
    /// Whether a sample was taken already.
    has_begun: bool,
}

impl Export {
    /// Opens the queue of a session, and begins to send what waits in it.
    pub(super) fn start(settings: &SessionSettings, host: &str) -> Result<Export, String> {
        let target = target(settings, host).map_err(|failure| failure.message.unwrap_or_default())?;
        let folder = queue_folder(settings);
        // The recorder may run as root, and the folder may be one that others can lead elsewhere.
        check_path(&folder).map_err(|untrusted| untrusted.to_string())?;
        let queue = Queue::open(&folder, QUEUE_BYTES).map_err(|error| error.to_string())?;
        let events = Arc::new(Mutex::new(Vec::new()));
        let reported = Arc::clone(&events);
        let report = move |event: Event| {
            let words = match event {
                Event::Back => return,
                Event::Dropped(dropped) => format!(
                    "{} MiB wait for the receiver: the oldest {} samples were dropped",
                    QUEUE_BYTES >> 20,
                    dropped.count
                ),
                other => other.to_string(),
            };
            let mut events = lock(&reported);
            if events.len() < MOST_EVENTS {
                events.push(words);
            }
        };
        let sender = Sender::start(queue, target.endpoint, target.protocol, report)
            .map_err(|error| format!("a thread that sends: {error}"))?;
        let metrics = Metrics::new(host, Profile::Nt, None);
        Ok(Export {
            requests: Requests::new(metrics, target.writer, target.encoding),
            sender,
            events,
            has_begun: false,
        })
    }

    /// Queues the newest sample of a query, and returns what went wrong since the sample before. A receiver
    /// that is away at the first one does not keep the session from starting, because the samples wait.
    pub(super) fn send(&mut self, query: &Query, time: FileTime) -> Result<(), String> {
        let request = self.requests.of_sample(query, time);
        let request = request.map_err(|error| format!("a sample cannot be written as a request: {error}"))?;
        let before = if self.has_begun { self.events() } else { Ok(()) };
        self.has_begun = true;
        request.into_iter().for_each(|item| self.sender.put(item));
        before
    }

    /// Sends what waits, within a deadline.
    pub(super) fn finish(self, settings: &SessionSettings) -> Result<(), String> {
        let Export { sender, events, .. } = self;
        let left = sender.finish(END_PATIENCE);
        let mut words = std::mem::take(&mut *lock(&events));
        if left > 0 {
            words.push(format!(
                "{left} samples were not taken and wait in {}; the next start of the session sends them",
                queue_folder(settings).display()
            ));
        }
        if words.is_empty() { Ok(()) } else { Err(words.join("; ")) }
    }

    fn events(&self) -> Result<(), String> {
        let words = std::mem::take(&mut *lock(&self.events));
        if words.is_empty() { Ok(()) } else { Err(words.join("; ")) }
    }
}

/// The receiver of a session.
pub(crate) fn target(settings: &SessionSettings, host: &str) -> Result<Target, Failure> {
    let address = settings.otlp.as_ref().and_then(|otlp| otlp.address.as_deref());
    let tls = Tls { certificate: None, client: None };
    otlp(address, Some(settings.interval), host, tls, "--otlp")
}

/// Where samples wait: beside the logs of the session, which nobody else sends from.
fn queue_folder(settings: &SessionSettings) -> PathBuf {
    settings.log_folder().join(format!("{}_otlp", settings.base))
}

/// Nothing panics while it is locked that would leave half a change.
fn lock(events: &Mutex<Vec<String>>) -> MutexGuard<'_, Vec<String>> {
    events.lock().unwrap_or_else(PoisonError::into_inner)
}
