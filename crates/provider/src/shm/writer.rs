//! A writer of any kind of counter, for languages whose types do not distinguish the kinds.

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::handle::{Claim, Group, Numbers, Text};
use super::histogram::Histogram;
use super::map::Word;
use super::process::perf_time;
use super::protocol::add;
use super::publisher::{Instance, PublishError};
use super::shared::SharedCounter;
use super::shared_average::{SharedAverage, SharedHistogram};

/// The writer of a counter of any kind, or of its group.
///
/// Threads may share it. They write shared counters at the same time. For other counters, threads that write
/// a text, a group or a histogram wait for each other, and threads that add to a number combine their
/// additions.
#[derive(Debug)]
pub struct Writer(Kind);

#[derive(Debug)]
enum Kind {
    Number {
        word: Word,
        _claim: Claim,
    },
    Shared(SharedCounter),
    Text(Mutex<Text>),
    /// Whether it is a value and its base alone.
    Group(Mutex<Group>, bool),
    Histogram(Mutex<Histogram>),
    SharedAverage(SharedAverage),
    SharedHistogram(SharedHistogram),
}

/// A counter of another kind than the operation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KindError {
    /// The kind that the operation needs.
    pub needed: &'static str,
}

impl fmt::Display for KindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the counter is not {}", self.needed)
    }
}

impl std::error::Error for KindError {}

impl Instance {
    /// The writer of a counter of any kind; for a counter in a group, the writer of the whole group.
    ///
    /// # Errors
    ///
    /// There is no such counter, or it has a writer and is not shared.
    pub fn writer(&self, name: &str) -> Result<Writer, PublishError> {
        // If the counter is of another kind, try the next; every other failure is the answer.
        let of_kind = |found: Result<Kind, PublishError>| match found {
            Err(PublishError::WrongKind { .. }) => None,
            found => Some(found),
        };
        let group = |single| self.group(name).map(|group| Kind::Group(Mutex::new(group), single));
        of_kind(self.number(name).map(|(claim, word)| Kind::Number { word, _claim: claim }))
            .or_else(|| of_kind(self.shared(name).map(Kind::Shared)))
            .or_else(|| of_kind(self.shared_average(name).map(Kind::SharedAverage)))
            .or_else(|| of_kind(self.shared_histogram(name).map(Kind::SharedHistogram)))
            .or_else(|| of_kind(self.text(name).map(Mutex::new).map(Kind::Text)))
            .or_else(|| of_kind(self.histogram(name).map(Mutex::new).map(Kind::Histogram)))
            // The average is dropped at once: it and the group would both be the only writer.
            .or_else(|| of_kind(self.average(name).map(drop).and_then(|()| group(true))))
            .unwrap_or_else(|| group(false))
            .map(Writer)
    }
}

impl Writer {
    const NUMBER: KindError = KindError { needed: "a number of its own" };

    /// Adds to a number, shared or not; the sum wraps below 0.
    ///
    /// # Errors
    ///
    /// It is not a number, or in a group.
    #[inline(always)]
    pub fn add(&self, n: i64) -> Result<(), KindError> {
        match &self.0 {
            Kind::Number { word, .. } => add(&**word, n.cast_unsigned()),
            Kind::Shared(counter) => counter.add(n.cast_unsigned()),
            _ => return Err(Writer::NUMBER),
        }
        Ok(())
    }

    /// Sets a number.
    ///
    /// # Errors
    ///
    /// It is not a number, in a group, or shared.
    #[inline(always)]
    pub fn set(&self, value: u64) -> Result<(), KindError> {
        let Kind::Number { word, .. } = &self.0 else {
            return Err(KindError { needed: "a number that one thread writes" });
        };
        word.store(value, Ordering::Relaxed);
        Ok(())
    }

    /// What started, starts now: sets a number to the time of the performance clock.
    ///
    /// # Errors
    ///
    /// As [`Writer::set`].
    pub fn start_time(&self) -> Result<(), KindError> {
        self.set(perf_time())
    }

    /// A number now.
    ///
    /// # Errors
    ///
    /// It is not a number, or in a group.
    pub fn value(&self) -> Result<u64, KindError> {
        match &self.0 {
            Kind::Number { word, .. } => Ok(word.load(Ordering::Relaxed)),
            Kind::Shared(counter) => Ok(counter.value()),
            _ => Err(Writer::NUMBER),
        }
    }

    /// The address of a number that has one writer and is in no group, for code that adds to it without a
    /// call. Whole words of 64 bits may be loaded from there and stored there while this exists, and nothing
    /// else; two threads that add would take additions from each other. `None` for other kinds.
    pub fn address(&self) -> Option<*mut u64> {
        match &self.0 {
            Kind::Number { word, .. } => Some(word.as_ptr()),
            _ => None,
        }
    }

    /// Sets a text; a text longer than declared is cut between two characters.
    ///
    /// # Errors
    ///
    /// It is not a text.
    pub fn set_text(&self, text: &str) -> Result<(), KindError> {
        let Kind::Text(writer) = &self.0 else { return Err(KindError { needed: "a text" }) };
        lock(writer).set(text);
        Ok(())
    }

    /// Records one more value of an average or a histogram. Times are in units of 100 ns; for a
    /// `PERF_SAMPLE_FRACTION`, 1 is a hit.
    ///
    /// # Errors
    ///
    /// It is neither.
    pub fn record(&self, value: u64) -> Result<(), KindError> {
        match &self.0 {
            Kind::Group(group, true) => lock(group).update(|numbers| {
                numbers.add(0, value);
                numbers.add(1, 1);
            }),
            Kind::Histogram(histogram) => lock(histogram).record(value),
            Kind::SharedAverage(average) => average.record(value),
            Kind::SharedHistogram(histogram) => histogram.record(value),
            _ => return Err(KindError { needed: "an average or a histogram" }),
        }
        Ok(())
    }

    /// Changes the numbers of a group, an average or a fraction, whose base is its second number; readers see
    /// all changes or none.
    ///
    /// # Errors
    ///
    /// It is none of them.
    pub fn update(&self, change: impl FnOnce(Numbers<'_>)) -> Result<(), KindError> {
        let Kind::Group(group, _) = &self.0 else {
            return Err(KindError { needed: "a group, an average or a fraction" });
        };
        lock(group).update(change);
        Ok(())
    }
}

/// Locks, also after a panic: every writer leaves the check word right.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
