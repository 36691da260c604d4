//! Publishing: publishers, instances and counters that a program owns and writes through.
//!
//! Unlike the handles of the performance data helper these are addresses, because adding to a counter must
//! not search a table. An object that was given back must not be used again.

use std::cell::RefCell;
use std::io;

use tallymon::shm::{Instance, KindError, NewInstance, Numbers, PublishError, Publisher, Writer};

use crate::memory::{Buf, Out, Owned, Str};
use crate::registry::{
    ERROR_ACCESS_DENIED, ERROR_INVALID_HANDLE, ERROR_INVALID_PARAMETER, ERROR_MORE_DATA,
    ERROR_NOT_ENOUGH_MEMORY, ERROR_NOT_SUPPORTED, ERROR_SUCCESS, WinError,
};
use crate::text::put;

pub(crate) mod declare;

use declare::{NewSet, length};

/// The return value of a function that panicked.
pub(crate) const ERROR_INVALID_FUNCTION: WinError = 1;
const ERROR_BUSY: WinError = 170;
const ERROR_CANTWRITE: WinError = 1013;
const ERROR_NOT_FOUND: WinError = 1168;

thread_local! {
    /// Why the last function failed, in words.
    static WORDS: RefCell<String> = const { RefCell::new(String::new()) };
}

fn code(error: &PublishError) -> WinError {
    match error {
        PublishError::File { error, .. } if error.kind() == io::ErrorKind::PermissionDenied => {
            ERROR_ACCESS_DENIED
        }
        PublishError::File { .. } => ERROR_CANTWRITE,
        PublishError::Full { .. } => ERROR_NOT_ENOUGH_MEMORY,
        PublishError::NoSuch { .. } => ERROR_NOT_FOUND,
        PublishError::Taken { .. } => ERROR_BUSY,
        PublishError::BigEndian => ERROR_NOT_SUPPORTED,
        _ => ERROR_INVALID_PARAMETER,
    }
}

/// Keeps the words of an error for [`error_text`], and returns its number.
fn failed(code: WinError, words: impl Into<String>) -> WinError {
    WORDS.set(words.into());
    code
}

/// Writes a new object to the program's variable, or returns the error.
fn give<T: Send + Sync>(made: Result<T, PublishError>, place: Out<Owned<T>>) -> WinError {
    match made {
        Ok(made) => {
            place.set(Owned::new(made));
            ERROR_SUCCESS
        }
        Err(error) => failed(code(&error), error.to_string()),
    }
}

pub(crate) fn error_text(text: Buf<u8>, size: Out<u32>) -> WinError {
    match put(&WORDS.with_borrow(String::clone), text, size) {
        Ok(()) => ERROR_SUCCESS,
        Err(crate::status::MORE_DATA) => ERROR_MORE_DATA,
        Err(_) => ERROR_INVALID_PARAMETER,
    }
}

pub(crate) fn start(name: Str<u8>, sets: Buf<NewSet>, n: u32, publisher: Out<Owned<Publisher>>) -> WinError {
    let (Some(name), false) = (name.get(), publisher.is_null()) else {
        return failed(ERROR_INVALID_PARAMETER, "a publisher needs a name, and a place for it");
    };
    let sets: Vec<_> = sets.read(length(n)).into_iter().map(NewSet::set).collect();
    give(Publisher::start(&name, &sets), publisher)
}

pub(crate) fn keep_last_values(publisher: Owned<Publisher>) -> WinError {
    match publisher.get() {
        Some(publisher) => {
            publisher.keep_last_values();
            ERROR_SUCCESS
        }
        None => no_handle("publisher"),
    }
}

pub(crate) fn create(
    publisher: Owned<Publisher>,
    set: Str<u8>,
    name: Str<u8>,
    id: i32,
    parent: Owned<Instance>,
    instance: Out<Owned<Instance>>,
) -> WinError {
    let Some(publisher) = publisher.get() else { return no_handle("publisher") };
    let (Some(set), false) = (set.get(), instance.is_null()) else {
        return failed(ERROR_INVALID_PARAMETER, "an instance needs the name of a set, and a place for it");
    };
    let made = match name.get() {
        Some(name) => {
            let id = Some(id).filter(|id| *id != -1);
            publisher.instance(&set, &NewInstance { name: &name, id, parent: parent.get() })
        }
        None => publisher.single(&set),
    };
    give(made, instance)
}

pub(crate) fn open(instance: Owned<Instance>, name: Str<u8>, counter: Out<Owned<Writer>>) -> WinError {
    let Some(instance) = instance.get() else { return no_handle("instance") };
    match (name.get(), counter.is_null()) {
        (Some(name), false) => give(instance.writer(&name), counter),
        _ => failed(ERROR_INVALID_PARAMETER, "a counter needs a name, and a place for it"),
    }
}

/// Frees a publisher, an instance or a counter, in any order.
pub(crate) fn close<T: Send + Sync>(owned: Owned<T>) -> WinError {
    match owned.take() {
        Some(_) => ERROR_SUCCESS,
        None => no_handle("object"),
    }
}

fn no_handle(what: &str) -> WinError {
    failed(ERROR_INVALID_HANDLE, format!("the {what} is NULL"))
}

/// What a call does to a counter.
#[inline(always)]
fn write(counter: Owned<Writer>, act: impl FnOnce(&Writer) -> Result<(), KindError>) -> WinError {
    match counter.get().map(act) {
        Some(Ok(())) => ERROR_SUCCESS,
        Some(Err(error)) => failed(ERROR_INVALID_PARAMETER, error.to_string()),
        None => no_handle("counter"),
    }
}

pub(crate) fn add(counter: Owned<Writer>, n: i64) -> WinError {
    write(counter, |writer| writer.add(n))
}

pub(crate) fn set(counter: Owned<Writer>, value: u64) -> WinError {
    write(counter, |writer| writer.set(value))
}

pub(crate) fn get(counter: Owned<Writer>, value: Out<u64>) -> WinError {
    write(counter, |writer| writer.value().map(|now| value.set(now)))
}

/// The versions of what the header does with the word of a number: 1 loads and stores it whole.
const WORD_VERSIONS: std::ops::RangeInclusive<u32> = 1..=1;

/// Writes the address of the number of a counter, or 0 where only a call can add to it.
pub(crate) fn word(counter: Owned<Writer>, version: u32, word: Out<usize>) -> WinError {
    if word.is_null() {
        return failed(ERROR_INVALID_PARAMETER, "the word of a counter needs a place for it");
    }
    word.set(0);
    let Some(writer) = counter.get() else { return no_handle("counter") };
    if !WORD_VERSIONS.contains(&version) {
        let words = format!("the header's version {version} of numbers is not known here; use TallymonAdd");
        return failed(ERROR_NOT_SUPPORTED, words);
    }
    if let Some(address) = writer.address() {
        word.set(address.addr());
    }
    ERROR_SUCCESS
}

pub(crate) fn start_time(counter: Owned<Writer>) -> WinError {
    write(counter, Writer::start_time)
}

pub(crate) fn set_text(counter: Owned<Writer>, text: Str<u8>) -> WinError {
    write(counter, |writer| writer.set_text(&text.get().unwrap_or_default()))
}

pub(crate) fn record(counter: Owned<Writer>, value: u64) -> WinError {
    write(counter, |writer| writer.record(value))
}

/// What a call does to each counter of a group.
type OfNumber = fn(Numbers<'_>, usize, u64);

fn all(counter: Owned<Writer>, values: Buf<u64>, n: u32, each: OfNumber) -> WinError {
    write(counter, |writer| {
        writer.update(|numbers| (0..length(n)).for_each(|at| each(numbers, at, values.at(at))))
    })
}

pub(crate) fn add_all(counter: Owned<Writer>, values: Buf<u64>, n: u32) -> WinError {
    all(counter, values, n, |numbers, at, value| numbers.add(at, value))
}

pub(crate) fn set_all(counter: Owned<Writer>, values: Buf<u64>, n: u32) -> WinError {
    all(counter, values, n, |numbers, at, value| numbers.set(at, value))
}
