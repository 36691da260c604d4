//! The sampler: one snapshot a tick for everybody who looks at a source, and nobody waits for it.
//!
//! The source lives on a thread of its own. Each reader is a [`Listener`] that says what it wants, usually
//! by [`Query::request`](crate::Query::request). [`Sampler::tick`] asks the source for the union of all
//! that, once, and [`Sampler::poll`] returns the answer when it is there: a [`Tick`], whose snapshot every
//! query [accepts](crate::Query::accept). So a chart, a table and a dialog show the same instant, and a
//! source that takes a second or hangs leaves a gap in the values and does not stop the face.
//!
//! Everything else that a source knows is asked the same way, see [`Pending`].
//!
//! ```
//! use std::time::Duration;
//! use tallymon::core::title::Language;
//! use tallymon::{Definitions, Location, Query, Sampler};
//!
//! let mut sampler = Sampler::start(|| tallymon::open(&Location::Local))?;
//! let info = sampler.info(Language::ENGLISH, Definitions::None).wait(Duration::from_secs(60)).unwrap()?;
//! let (mut chart, mut table) = (Query::over(info.clone()), Query::over(info));
//! chart.add(r"\Memory\Available Bytes")?;
//! table.add(r"\Process(*)\*")?;
//! let (for_chart, for_table) = (sampler.listener(), sampler.listener());
//! for_chart.want(chart.request());
//! for_table.want(table.request());
//!
//! sampler.tick();
//! // A face does other things until the answer is there.
//! let tick = sampler.poll(Duration::from_secs(60)).unwrap();
//! for (query, listener) in [(&mut chart, &for_chart), (&mut table, &for_table)] {
//!     if let Some(result) = tick.of(listener) {
//!         query.accept(result?.clone());
//!     }
//! }
//! let time = |query: &Query| query.snapshot().unwrap().header().perf_time_100ns;
//! assert_eq!(time(&chart), time(&table));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use tallymon_core::flow::{Source, SourceError, SourceErrorKind};
use tallymon_core::time::FileTime;
use tallymon_core::title::TitleIndex;

use crate::clock::now;
use crate::matching::InstanceKey;
use crate::names::{InstanceNames, Locale};
use crate::source_info::{Definitions, SourceInfo};

mod listener;
mod pending;
mod question;
#[cfg(test)]
pub(crate) mod sample_tests;
mod shared;
mod thread;

pub use listener::Listener;
pub use pending::Pending;
pub use shared::SharedSnapshot;

use listener::Listeners;
use question::{ListenerId, Question, SampleQuestion};
use thread::Answer;

/// A source on its own thread, and all that listen to it.
///
/// The thread ends when the sampler, its listeners and all snapshots are gone, after the question that it
/// works on.
#[derive(Debug)]
pub struct Sampler {
    questions: Sender<Question>,
    answers: Receiver<Answer>,
    listeners: Listeners,
    /// Answers of the last row that are still to come.
    awaited: usize,
    /// When the last row was asked for.
    since: Option<Instant>,
}

/// A sample that came, or why none came.
#[derive(Debug)]
pub struct Tick {
    /// When it was taken, by the clock of the source; when it failed, by the clock of this machine.
    pub time: FileTime,
    /// The snapshot, or why the source has none.
    pub result: Result<SharedSnapshot, SourceError>,
    /// How long the source took, with the time that the question waited for others.
    pub took: Duration,
    /// When the source was asked, and when it had answered, by the clock of this machine.
    pub window: (FileTime, FileTime),
    /// A row, which [`Sampler::tick`] asked for; else a first sample, which [`Listener::prime`] asked for.
    pub is_row: bool,
    listeners: Vec<ListenerId>,
}

impl Tick {
    /// The sample for a listener; `None` when this tick is not for it: it is the first sample of another
    /// listener, or lacks something that the listener wants by now, and then another tick of the same row
    /// follows.
    pub fn of(&self, listener: &Listener) -> Option<Result<&SharedSnapshot, SourceError>> {
        let is_meant = self.listeners.contains(&listener.id);
        is_meant.then(|| self.result.as_ref().map_err(SourceError::clone))
    }
}

impl Sampler {
    /// Starts a thread, which opens the source. This returns at once; a source that does not open answers
    /// every question with the reason, and is tried again by the next one.
    ///
    /// # Errors
    ///
    /// The system has no more threads.
    pub fn start(
        open: impl FnMut() -> Result<Box<dyn Source>, SourceError> + Send + 'static,
    ) -> io::Result<Sampler> {
        let (questions, asked) = mpsc::channel();
        let (answered, answers) = mpsc::channel();
        let listeners = Listeners::default();
        let known = listeners.clone();
        let open: thread::Open = Box::new(open);
        thread_named("source", move || thread::serve(open, &asked, &answered, &known))?;
        Ok(Sampler { questions, answers, listeners, awaited: 0, since: None })
    }

    /// A new listener, which wants nothing yet.
    pub fn listener(&self) -> Listener {
        Listener::new(self.listeners.clone(), self.questions.clone())
    }

    /// Asks for a sample of what all listeners want, and does not wait. Returns `false` and asks for
    /// nothing when the row before is still awaited: this row is a gap.
    pub fn tick(&mut self) -> bool {
        if self.is_waiting() {
            return false;
        }
        self.ask_row(None);
        true
    }

    /// Asks for a row of these listeners, or of all.
    fn ask_row(&mut self, only: Option<&[ListenerId]>) {
        let asked = *self.since.get_or_insert_with(Instant::now);
        for (request, listeners) in self.listeners.requests(only) {
            let question = SampleQuestion { request, listeners, is_row: true, asked };
            // When the thread has ended, `poll` says so.
            let _ = self.questions.send(Question::Sample(question));
            self.awaited = self.awaited.saturating_add(1);
        }
        if self.awaited == 0 {
            self.since = None;
        }
    }

    /// The next sample, if it comes within a time.
    pub fn poll(&mut self, patience: Duration) -> Option<Tick> {
        let until = Instant::now().checked_add(patience);
        loop {
            let left = until.map_or(patience, |until| until.saturating_duration_since(Instant::now()));
            match self.answers.recv_timeout(left) {
                Ok(answer) => {
                    if let Some(tick) = self.take(answer) {
                        return Some(tick);
                    }
                }
                Err(RecvTimeoutError::Timeout) => return None,
                Err(RecvTimeoutError::Disconnected) if self.is_waiting() => return Some(self.ended()),
                Err(RecvTimeoutError::Disconnected) => {
                    // Nothing will come; a face that polls in a loop must not spin.
                    std::thread::sleep(left);
                    return None;
                }
            }
        }
    }

    /// Whether a row was asked for and is not there yet.
    pub const fn is_waiting(&self) -> bool {
        self.awaited > 0
    }

    /// How long ago the row that is awaited was asked for.
    pub fn waits_for(&self) -> Option<Duration> {
        self.since.map(|since| since.elapsed())
    }

    /// What the source has. Names are loaded in all its languages, with that of the user preferred. Only
    /// those providers are started whose objects have to be defined.
    pub fn info(&self, locale: impl Into<Locale>, definitions: Definitions) -> Pending<SourceInfo> {
        let locale = locale.into();
        self.ask(move |source| SourceInfo::read(source, locale, &definitions))
    }

    /// The instances that an object has now.
    pub fn instances(&self, object: TitleIndex, names: InstanceNames) -> Pending<Vec<InstanceKey>> {
        self.ask(move |source| crate::query::instances(source, object, names))
    }

    /// Why values of an object are old or missing, as far as the source knows.
    pub fn trouble(&self, object: TitleIndex) -> Pending<Option<String>> {
        self.ask(move |source| Ok(source.trouble(object)))
    }

    /// Asks the source anything, on its thread. A question whose [`Pending`] is dropped before its turn is
    /// not asked.
    pub fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut dyn Source) -> Result<T, SourceError> + Send + 'static,
    ) -> Pending<T> {
        Pending::ask(&self.questions, question)
    }

    /// Takes an answer; what of it is for listeners.
    fn take(&mut self, answer: Answer) -> Option<Tick> {
        let Answer { question, result, window } = answer;
        if question.is_row {
            self.awaited = self.awaited.saturating_sub(1);
        }
        let (mut listeners, uncovered) = self.listeners.split(&question);
        if let Some(Ok(_)) = &result {
            self.ask_again(&question, &uncovered);
        } else {
            // What else they want would fail as well.
            listeners.extend(uncovered);
            self.finish_priming(&question, &listeners);
        }
        if self.awaited == 0 {
            self.since = None;
        }
        if listeners.is_empty() {
            if let Some(Ok(snapshot)) = result {
                let _ = self.questions.send(Question::GiveBack(snapshot));
            }
            return None;
        }
        let result = result?.map(|snapshot| SharedSnapshot::lent(snapshot, self.questions.clone()));
        self.finish_priming(&question, &listeners);
        let time = result.as_ref().map_or_else(|_| now(), |snapshot| snapshot.header().perf_time_100ns);
        Some(Tick {
            time,
            result,
            took: question.asked.elapsed(),
            window,
            is_row: question.is_row,
            listeners,
        })
    }

    /// Listeners that wanted more while the source was busy get the same row, or first sample, by a
    /// question of their own.
    fn ask_again(&mut self, question: &SampleQuestion, uncovered: &[ListenerId]) {
        if uncovered.is_empty() {
            return;
        }
        if question.is_row {
            self.ask_row(Some(uncovered));
            return;
        }
        for (request, listeners) in self.listeners.requests(Some(uncovered)) {
            let asked = question.asked;
            let question = SampleQuestion { request, listeners, is_row: false, asked };
            let _ = self.questions.send(Question::Sample(question));
        }
    }

    fn finish_priming(&self, question: &SampleQuestion, listeners: &[ListenerId]) {
        if !question.is_row {
            self.listeners.is_primed(listeners);
        }
    }

    /// The tick of a thread that is gone, as after a panic in the source.
    fn ended(&mut self) -> Tick {
        let took = self.waits_for().unwrap_or_default();
        (self.awaited, self.since) = (0, None);
        let listeners = self.listeners.all();
        let window = (now(), now());
        Tick { time: window.1, result: Err(thread_ended()), took, window, is_row: true, listeners }
    }
}

fn thread_named(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.to_string()).spawn(run).map(drop)
}

fn thread_ended() -> SourceError {
    SourceError::new(SourceErrorKind::Io, "the thread of the source has ended")
}
