//! The thread that sends what waits, in its order, and when it tries again.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tallymon_remote::asynchronous::{self, Runtime};

use tallymon_export::otlp::{PartialSuccess, partial_success, status_message};
use tallymon_remote::asynchronous::sync::{Notify, watch};
use tallymon_remote::asynchronous::time::Instant;

use crate::client::{Answer, SendError, post, status_words};
use crate::endpoint::Endpoint;
use crate::queue::{Dropped, Encoding, Item, Queue, QueueError};

/// The first wait after a failure; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The longest wait, unless the receiver asks for more.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// The longest wait that a receiver can ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(3600);
/// How much of what a receiver says is shown.
const MOST_WORDS: usize = 200;

/// What the requests are, which decides how answers are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// OTLP over HTTP, in protobuf.
    Otlp,
    /// Remote write 1.0.
    RemoteWrite,
    /// Lines of InfluxDB.
    Influx,
}

/// What happened, for people. Nothing is reported while everything is taken.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// The receiver is not there, or asks to wait; sending goes on later.
    Away(String),
    /// The receiver takes requests again.
    Back,
    /// The receiver refused a request for good. It is dropped: the same request would be refused again.
    Refused(String),
    /// The receiver took a request, but not all of it.
    Partial(PartialSuccess),
    /// There was no room, and requests were given up.
    Dropped(Dropped),
    /// A file of the queue cannot be used.
    Queue(QueueError),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Away(why) => write!(f, "{why}; samples wait on disk and are sent later"),
            Event::Back => f.write_str("samples are taken again"),
            Event::Refused(why) => write!(f, "a sample was refused and is dropped: {why}"),
            Event::Partial(partial) if partial.rejected == 0 => {
                write!(f, "the receiver warns: {}", partial.message)
            }
            Event::Partial(partial) => {
                write!(f, "{} points were rejected: {}", partial.rejected, partial.message)
            }
            Event::Dropped(dropped) => {
                let seconds = dropped.times.1.saturating_sub(dropped.times.0) / 1000;
                write!(
                    f,
                    "the queue is full: the oldest samples were dropped ({}, {seconds} s); --queue-size makes \
                     it larger",
                    dropped.count
                )
            }
            Event::Queue(error) => error.fmt(f),
        }
    }
}

impl Protocol {
    const fn content_type(self) -> &'static str {
        match self {
            Protocol::Otlp | Protocol::RemoteWrite => "application/x-protobuf",
            Protocol::Influx => "text/plain; charset=utf-8",
        }
    }

    const fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Protocol::RemoteWrite => &[("x-prometheus-remote-write-version", "0.1.0")],
            Protocol::Otlp | Protocol::Influx => &[],
        }
    }

    /// Whether the same request may be taken later.
    const fn is_temporary(self, status: u16) -> bool {
        match self {
            // The protocol names these four, and forbids to repeat after any other.
            Protocol::Otlp => matches!(status, 429 | 502 | 503 | 504),
            Protocol::RemoteWrite | Protocol::Influx => status == 429 || status >= 500,
        }
    }

    /// What a receiver says about a refusal.
    fn words(self, body: &[u8]) -> String {
        let text = match self {
            Protocol::Otlp => status_message(body),
            Protocol::RemoteWrite | Protocol::Influx => None,
        };
        let text = text.unwrap_or_else(|| String::from_utf8_lossy(body).into_owned());
        text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MOST_WORDS).collect()
    }
}

/// Sends requests, in a thread of its own.
#[derive(Debug)]
pub struct Sender {
    shared: Arc<Shared>,
    ending: watch::Sender<Option<Instant>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    queue: Mutex<Queue>,
    endpoint: Endpoint,
    protocol: Protocol,
    news: Notify,
    report: Box<dyn Fn(Event) + Send + Sync>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

/// What became of a request.
enum Outcome {
    Taken(Option<PartialSuccess>),
    Refused(String),
    Later(String, Option<Duration>),
}

impl Sender {
    /// Starts to send what waits in a queue. `report` is called on any thread.
    ///
    /// # Errors
    ///
    /// The system has no more threads.
    pub fn start(
        queue: Queue,
        endpoint: Endpoint,
        protocol: Protocol,
        report: impl Fn(Event) + Send + Sync + 'static,
    ) -> io::Result<Sender> {
        let runtime = Runtime::new("push")?;
        let (queue, report) = (Mutex::new(queue), Box::new(report));
        let shared = Arc::new(Shared { queue, endpoint, protocol, news: Notify::new(), report });
        let (ending, mut end) = watch::channel(None::<Instant>);
        let sending = Arc::clone(&shared);
        let is_ending = end.clone();
        let thread = std::thread::Builder::new().name("push".into()).spawn(move || {
            // Nothing that it still does is waited for.
            let _ = runtime.wait(async {
                let sending = asynchronous::spawn(send_all(sending, is_ending));
                let deadline = end.wait_for(Option::is_some).await.map_or(None, |deadline| *deadline);
                // What is not sent by then stays on disk.
                let _ = asynchronous::time::timeout_at(deadline.unwrap_or_else(Instant::now), sending).await;
            });
        })?;
        Ok(Sender { shared, ending, thread: Some(thread) })
    }

    /// Keeps a request on disk until it is sent.
    pub fn put(&self, item: Item) {
        let (dropped, written) = self.shared.queue().put(item);
        if let Some(dropped) = dropped {
            (self.shared.report)(Event::Dropped(dropped));
        }
        if let Err(error) = written {
            (self.shared.report)(Event::Queue(error));
        }
        self.shared.news.notify_one();
    }

    /// How many requests wait.
    pub fn waiting(&self) -> usize {
        self.shared.queue().len()
    }

    /// Ends when everything is sent, or after `patience`. Returns how many requests still wait.
    pub fn finish(mut self, patience: Duration) -> usize {
        let now = Instant::now();
        self.ending.send_replace(Some(now.checked_add(patience).unwrap_or(now)));
        self.shared.news.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic was printed already.
            let _ = thread.join();
        }
        self.waiting()
    }
}

impl Shared {
    /// Each change of the queue is whole.
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn send(&self, item: Item) -> Outcome {
        let encoding = match item.encoding {
            Encoding::Identity => None,
            Encoding::Gzip => Some("gzip"),
            Encoding::Snappy => Some("snappy"),
        };
        let (kind, headers) = (self.protocol.content_type(), self.protocol.headers());
        let answer = post(&self.endpoint, kind, encoding, headers, item.body).await;
        self.outcome(answer)
    }

    fn outcome(&self, answer: Result<Answer, SendError>) -> Outcome {
        let address = self.endpoint.address();
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return Outcome::Later(format!("{address}: {error}"), None),
        };
        if (200..300).contains(&answer.status) {
            let is_otlp = self.protocol == Protocol::Otlp;
            return Outcome::Taken(is_otlp.then(|| partial_success(&answer.body)).flatten());
        }
        let said = self.protocol.words(&answer.body);
        let colon = if said.is_empty() { "" } else { ": " };
        let words = format!("{address}: {}{colon}{said}", status_words(answer.status));
        if self.protocol.is_temporary(answer.status) {
            Outcome::Later(words, answer.retry_after)
        } else {
            Outcome::Refused(words)
        }
    }
}

/// Sends until the end is wanted and nothing waits.
async fn send_all(shared: Arc<Shared>, ending: watch::Receiver<Option<Instant>>) {
    let mut failures = 0u32;
    loop {
        let oldest = shared.queue().oldest();
        let (number, item) = match oldest {
            Ok(Some(oldest)) => oldest,
            Ok(None) => {
                if ending.borrow().is_some() {
                    return;
                }
                shared.news.notified().await;
                continue;
            }
            Err(error) => {
                let is_gone = matches!(error, QueueError::Damaged(_));
                (shared.report)(Event::Queue(error));
                if !is_gone {
                    failures = failures.saturating_add(1);
                    asynchronous::time::sleep(wait(failures, None)).await;
                }
                continue;
            }
        };
        match shared.send(item).await {
            Outcome::Later(why, asked) => {
                if failures == 0 {
                    (shared.report)(Event::Away(why));
                }
                failures = failures.saturating_add(1);
                asynchronous::time::sleep(wait(failures, asked)).await;
            }
            outcome => {
                shared.queue().remove(number);
                if failures > 0 {
                    (shared.report)(Event::Back);
                }
                failures = 0;
                match outcome {
                    Outcome::Taken(Some(partial)) => (shared.report)(Event::Partial(partial)),
                    Outcome::Refused(why) => (shared.report)(Event::Refused(why)),
                    Outcome::Taken(None) | Outcome::Later(..) => {}
                }
            }
        }
    }
}

/// How long to wait after so many failures: what the receiver asks for, else longer each time, and not the
/// same for all senders.
fn wait(failures: u32, asked: Option<Duration>) -> Duration {
    if let Some(asked) = asked {
        return asked.clamp(FIRST_WAIT, LONGEST_ASKED);
    }
    let doubled = FIRST_WAIT.saturating_mul(1u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX));
    let random = (RandomState::new().build_hasher().finish() % 1000) as f64 / 1000.0;
    doubled.min(LONGEST_WAIT).mul_f64(0.75 + random / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_up_to_a_limit_and_the_receiver_is_obeyed() {
        for (failures, least, most) in
            [(1, 0.375, 0.625), (2, 0.75, 1.25), (8, 45.0, 75.0), (4000, 45.0, 75.0)]
        {
            let seconds = wait(failures, None).as_secs_f64();
            assert!((least..=most).contains(&seconds), "{failures}: {seconds}");
        }
        assert_eq!(wait(1, Some(Duration::from_secs(90))), Duration::from_secs(90));
        assert_eq!(wait(1, Some(Duration::ZERO)), FIRST_WAIT);
        assert_eq!(wait(1, Some(Duration::MAX)), LONGEST_ASKED);
    }
}
