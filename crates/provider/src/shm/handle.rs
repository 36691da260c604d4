//! Handles of counters: what a program keeps and writes through.
//!
//! A handle never fails and never waits. A handle with a single writer is not shared between threads; it adds
//! with a load and a store, which is one unlocked instruction of the processor.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::check::check as check_of;
use super::definition::Storage;
use super::layout::text_value;
use super::map::{Word, Words};
use super::process::perf_time;
use super::protocol::{add, add_each, add_in_group, words_of};
use super::publisher::{Inner, Instance, PublishError};

/// Lets a handle move between threads, but never be used by two at a time.
type OneThread = PhantomData<Cell<()>>;

/// The only writer of some counters of an instance; they can be claimed again when it is dropped.
#[derive(Debug)]
pub(super) struct Claim {
    inner: Arc<Inner>,
    counters: Vec<usize>,
}

impl Claim {
    fn new(inner: &Arc<Inner>, counters: Vec<usize>) -> Result<Claim, PublishError> {
        let mut claim = Claim { inner: Arc::clone(inner), counters: Vec::new() };
        for counter in counters {
            if !inner.claim(counter) {
                let name = inner.definition.counters.get(counter).map_or("", |counter| counter.english());
                return Err(PublishError::Taken { name: name.to_string() });
            }
            claim.counters.push(counter);
        }
        Ok(claim)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        for counter in &self.counters {
            self.inner.release(*counter);
        }
    }
}

impl Instance {
    pub(super) fn position(&self, name: &str) -> Result<usize, PublishError> {
        let position = self.inner.definition.position(name);
        position.ok_or_else(|| PublishError::NoSuch { name: name.to_string() })
    }

    fn word(&self, offset: usize, name: &str) -> Result<Word, PublishError> {
        self.inner.word(offset).ok_or_else(|| PublishError::NoSuch { name: name.to_string() })
    }

    pub(super) fn wrong(name: &str, needed: &'static str) -> PublishError {
        PublishError::WrongKind { counter: name.to_string(), needed }
    }

    /// The single word of a number that is neither shared nor in a group.
    pub(super) fn number(&self, name: &str) -> Result<(Claim, Word), PublishError> {
        let position = self.position(name)?;
        let counter = self.inner.definition.counters.get(position);
        let (storage, group) = counter.map_or((Storage::Number, None), |c| (c.storage, c.group));
        match (storage, group) {
            (Storage::Number, None) => {}
            (Storage::Number, Some(_)) => return Err(Instance::wrong(name, "part of a group or average")),
            (Storage::Sum { .. }, _) => return Err(Instance::wrong(name, "shared by many threads")),
            (Storage::Text { .. }, _) => return Err(Instance::wrong(name, "a text")),
            (Storage::Histogram { .. }, _) => return Err(Instance::wrong(name, "made out of a histogram")),
        }
        let offset = counter.map_or(0, |counter| counter.offset);
        let word = self.word(offset, name)?;
        Ok((Claim::new(&self.inner, vec![position])?, word))
    }

    /// The writer of a number that counts up.
    ///
    /// # Errors
    ///
    /// There is no such counter, it is of another kind, or it has a writer.
    pub fn counter(&self, name: &str) -> Result<Counter, PublishError> {
        let (claim, word) = self.number(name)?;
        Ok(Counter { word, _claim: claim, _one: PhantomData })
    }

    /// The writer of a number that goes up and down.
    ///
    /// # Errors
    ///
    /// As [`Instance::counter`].
    pub fn gauge(&self, name: &str) -> Result<Gauge, PublishError> {
        let (claim, word) = self.number(name)?;
        Ok(Gauge { word, _claim: claim, _one: PhantomData })
    }

    /// The writer of the time since something started.
    ///
    /// # Errors
    ///
    /// As [`Instance::counter`].
    pub fn elapsed(&self, name: &str) -> Result<Elapsed, PublishError> {
        let (claim, word) = self.number(name)?;
        Ok(Elapsed { word, _claim: claim, _one: PhantomData })
    }

    /// The writer of a text.
    ///
    /// # Errors
    ///
    /// There is no such counter, it is not a text, or it has a writer.
    pub fn text(&self, name: &str) -> Result<Text, PublishError> {
        let position = self.position(name)?;
        let counter = self.inner.definition.counters.get(position);
        let Some((Storage::Text { capacity }, offset)) =
            counter.map(|counter| (counter.storage, counter.offset))
        else {
            return Err(Instance::wrong(name, "a number"));
        };
        let claim = Claim::new(&self.inner, vec![position])?;
        let words = self.inner.words(offset, capacity.saturating_add(text_value::BYTES) / 8);
        let words = words.ok_or_else(|| PublishError::NoSuch { name: name.to_string() })?;
        let check = self.word(offset.saturating_add(text_value::BYTES).saturating_add(capacity), name)?;
        Ok(Text { words, check, capacity, _claim: claim, _one: PhantomData })
    }

    /// The writer of an average, value and base at once.
    ///
    /// # Errors
    ///
    /// There is no such counter, it has no base, it is part of a larger group, or it has a writer.
    pub fn average(&self, name: &str) -> Result<Average, PublishError> {
        let group = self.group(name)?;
        if group.words.len() != 2 {
            return Err(Instance::wrong(name, "not a single average"));
        }
        Ok(Average { group })
    }

    /// The writer of the whole group of a counter. Its numbers have the order of their declaration, including
    /// bases.
    ///
    /// # Errors
    ///
    /// There is no such counter, it is in no group, or one of the group has a writer.
    pub fn group(&self, name: &str) -> Result<Group, PublishError> {
        let position = self.position(name)?;
        let definition = &self.inner.definition;
        let group = definition.counters.get(position).and_then(|counter| counter.group);
        let Some((number, place)) = group.and_then(|n| Some((n, *definition.groups.get(n)?))) else {
            return Err(Instance::wrong(name, "in no group"));
        };
        let members = definition.counters.iter().enumerate().filter(|(_, one)| one.group == Some(number));
        let claim = Claim::new(&self.inner, members.map(|(position, _)| position).collect())?;
        // They follow each other in the order of their declaration, and their check word follows them.
        let words = self.inner.words(place.first, place.check.saturating_sub(place.first) / 8);
        let words = words.ok_or_else(|| PublishError::NoSuch { name: name.to_string() })?;
        let check = self.word(place.check, name)?;
        let sum = check_of(words.iter().map(|word| word.load(Ordering::Relaxed)));
        Ok(Group { words, sum, check, _claim: claim, _one: PhantomData })
    }
}

/// The only writer of a number that counts up. Adding costs one unlocked instruction.
#[derive(Debug)]
pub struct Counter {
    word: Word,
    _claim: Claim,
    _one: OneThread,
}

impl Counter {
    /// Adds a number.
    #[inline(always)]
    pub fn add(&self, n: u64) {
        add(&*self.word, n);
    }

    /// Adds one.
    #[inline(always)]
    pub fn increment(&self) {
        self.add(1);
    }

    /// The number now.
    pub fn value(&self) -> u64 {
        self.word.load(Ordering::Relaxed)
    }
}

/// The only writer of a number that goes up and down.
#[derive(Debug)]
pub struct Gauge {
    word: Word,
    _claim: Claim,
    _one: OneThread,
}

impl Gauge {
    /// Sets the number.
    #[inline(always)]
    pub fn set(&self, value: u64) {
        self.word.store(value, Ordering::Relaxed);
    }

    /// Adds a number, which may be negative. The sum wraps below 0.
    #[inline(always)]
    pub fn add(&self, n: i64) {
        add(&*self.word, n.cast_unsigned());
    }

    /// The number now.
    pub fn value(&self) -> u64 {
        self.word.load(Ordering::Relaxed)
    }
}

/// The writer of the time since something started. There is no value before [`Elapsed::start`].
#[derive(Debug)]
pub struct Elapsed {
    word: Word,
    _claim: Claim,
    _one: OneThread,
}

impl Elapsed {
    /// It starts now.
    pub fn start(&self) {
        self.word.store(perf_time(), Ordering::Relaxed);
    }

    /// Stops it: there is no value from now on.
    pub fn stop(&self) {
        self.word.store(0, Ordering::Relaxed);
    }
}

/// The only writer of a text.
#[derive(Debug)]
pub struct Text {
    /// Its length and its bytes.
    words: Words,
    check: Word,
    capacity: usize,
    _claim: Claim,
    _one: OneThread,
}

impl Text {
    /// Sets the text; a text longer than declared is cut between two characters.
    pub fn set(&self, text: &str) {
        let most = text.len().min(self.capacity);
        let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        let bytes = text.as_bytes().get(..end).unwrap_or_default();
        let length = u64::try_from(bytes.len()).unwrap_or(0);
        let numbers = || std::iter::once(length).chain(words_of(bytes)).chain(std::iter::repeat(0));
        for (word, number) in self.words.iter().zip(numbers()) {
            word.store(number, Ordering::Relaxed);
        }
        self.check.store(check_of(numbers().take(self.words.len())), Ordering::Relaxed);
    }
}

/// The only writer of numbers that must agree.
#[derive(Debug)]
pub struct Group {
    words: Words,
    /// The check word of the numbers as they are now.
    sum: u64,
    check: Word,
    _claim: Claim,
    _one: OneThread,
}

impl Group {
    /// Changes numbers of the group; readers see all changes or none. It should not take long: they try only
    /// for about a millisecond.
    #[inline(always)]
    pub fn update(&mut self, change: impl FnOnce(Numbers<'_>)) {
        // A copy of the sum stays in a register. It is written back even when `change` panics.
        let sum = Sum { now: Cell::new(self.sum), kept: &mut self.sum };
        change(Numbers { words: &self.words, sum: &sum.now });
        self.check.store(sum.now.get(), Ordering::Relaxed);
    }

    /// Adds to each of the first `N` numbers at once; readers see all changes or none. This is the fastest
    /// way to change several numbers.
    #[inline(always)]
    pub fn add<const N: usize>(&mut self, each: &[u64; N]) {
        self.update(|numbers| {
            if !add_each(numbers.words, numbers.sum, each) {
                (0..).zip(each).for_each(|(position, n)| numbers.add(position, *n));
            }
        });
    }

    /// Sets each of the first `N` numbers at once; readers see all changes or none.
    #[inline(always)]
    pub fn set<const N: usize>(&mut self, each: &[u64; N]) {
        self.update(|numbers| (0..).zip(each).for_each(|(position, n)| numbers.set(position, *n)));
    }
}

/// The check word while numbers change.
struct Sum<'g> {
    now: Cell<u64>,
    kept: &'g mut u64,
}

impl Drop for Sum<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        *self.kept = self.now.get();
    }
}

/// The numbers of a [`Group`] during a change, in the order of their declaration. A position that does not
/// exist has no effect.
#[derive(Debug, Clone, Copy)]
pub struct Numbers<'g> {
    words: &'g [AtomicU64],
    sum: &'g Cell<u64>,
}

impl Numbers<'_> {
    /// Adds to a number.
    #[inline(always)]
    pub fn add(self, position: usize, n: u64) {
        add_in_group(self.words, self.sum, position, n);
    }

    /// Sets a number.
    #[inline(always)]
    pub fn set(self, position: usize, value: u64) {
        if let Some(word) = self.words.get(position) {
            let old = word.load(Ordering::Relaxed);
            self.add(position, value.wrapping_sub(old));
        }
    }
}

/// The only writer of an average or a fraction: a value and its base.
#[derive(Debug)]
pub struct Average {
    group: Group,
}

impl Average {
    /// One more value.
    #[inline(always)]
    pub fn record(&mut self, value: u64) {
        self.group.update(|numbers| {
            numbers.add(0, value);
            numbers.add(1, 1);
        });
    }

    /// Sets value and base, for a fraction.
    #[inline(always)]
    pub fn set(&mut self, value: u64, base: u64) {
        self.group.update(|numbers| {
            numbers.set(0, value);
            numbers.set(1, base);
        });
    }

    /// One more attempt, for a `PERF_SAMPLE_FRACTION`: whether it hit.
    #[inline(always)]
    pub fn record_hit(&mut self, hit: bool) {
        self.record(u64::from(hit));
    }

    /// One more time, for a `PERF_AVERAGE_TIMER`: in units of 100 ns, as the performance clock.
    #[inline(always)]
    pub fn record_time(&mut self, time: Duration) {
        self.record(u64::try_from(time.as_nanos() / 100).unwrap_or(u64::MAX));
    }
}
