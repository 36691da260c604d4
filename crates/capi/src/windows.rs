//! Functions of windows.h that performance programs use besides counters: times, events, texts, errors.

use std::cell::Cell;
use std::cmp::Ordering;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tallymon::Host;
use tallymon::clock::now;
use tallymon::core::time::{FileTime, SystemTime};
use tallymon::registry::{
    RegistryError, Roots, load_perf_counter_text_strings, unload_perf_counter_text_strings,
};

use crate::clock;
use crate::events::Event;
use crate::handles::{self, Handle};
use crate::machine;
use crate::memory::{Buf, Letter, Out, Str};
use crate::registry::{ERROR_INVALID_HANDLE, ERROR_INVALID_PARAMETER, ERROR_NOT_ENOUGH_MEMORY};
use crate::text::put;

const TRUE: i32 = 1;
const FALSE: i32 = 0;
const ERROR_INSUFFICIENT_BUFFER: u32 = 122;
const WAIT_TIMEOUT: u32 = 258;
const WAIT_FAILED: u32 = u32::MAX;
const CP_ACP: u32 = 0;
const CP_UTF8: u32 = 65_001;
/// `NORM_IGNORECASE` and `LINGUISTIC_IGNORECASE`.
const IGNORE_CASE: u32 = 0x11;

thread_local! {
    static LAST_ERROR: Cell<u32> = const { Cell::new(0) };
}

/// `FILETIME`, in its two halves.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Halves {
    low: u32,
    high: u32,
}

/// `SYSTEMTIME`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct CivilTime {
    year: u16,
    month: u16,
    day_of_week: u16,
    day: u16,
    hour: u16,
    minute: u16,
    second: u16,
    milliseconds: u16,
}

impl Halves {
    fn of(time: FileTime) -> Halves {
        let half = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(0);
        Halves { low: half(time.0), high: half(time.0 >> 32) }
    }

    fn time(self) -> FileTime {
        FileTime(u64::from(self.high) << 32 | u64::from(self.low))
    }
}

impl CivilTime {
    fn of(time: FileTime) -> CivilTime {
        let SystemTime { year, month, day_of_week, day, hour, minute, second, milliseconds } =
            time.system_time();
        CivilTime { year, month, day_of_week, day, hour, minute, second, milliseconds }
    }

    fn time(self) -> Option<FileTime> {
        let CivilTime { year, month, day_of_week, day, hour, minute, second, milliseconds } = self;
        SystemTime { year, month, day_of_week, day, hour, minute, second, milliseconds }.file_time()
    }
}

pub(crate) fn last_error() -> u32 {
    LAST_ERROR.get()
}

pub(crate) fn set_last_error(error: u32) {
    LAST_ERROR.set(error);
}

fn failed(error: u32) -> i32 {
    set_last_error(error);
    FALSE
}

pub(crate) fn sleep(milliseconds: u32) {
    match most(milliseconds) {
        Some(time) => thread::sleep(time),
        None => loop {
            thread::park();
        },
    }
}

/// A time to wait; `None` means for ever.
fn most(milliseconds: u32) -> Option<Duration> {
    (milliseconds != u32::MAX).then(|| Duration::from_millis(milliseconds.into()))
}

pub(crate) fn tick_count() -> u32 {
    // It starts again at 0 after 49.7 days, as on NT.
    u32::try_from(tick_count_64() & u64::from(u32::MAX)).unwrap_or(0)
}

pub(crate) fn tick_count_64() -> u64 {
    let clocks = Host::clocks();
    let per_second = u64::try_from(clocks.perf_freq.0).unwrap_or(0).max(1);
    let ticks = u128::from(u64::try_from(clocks.perf_time.0).unwrap_or(0));
    u64::try_from(ticks.saturating_mul(1000) / u128::from(per_second)).unwrap_or(u64::MAX)
}

pub(crate) fn counter(count: Out<i64>) -> i32 {
    count.set(Host::clocks().perf_time.0);
    if count.is_null() { failed(ERROR_INVALID_PARAMETER) } else { TRUE }
}

pub(crate) fn frequency(frequency: Out<i64>) -> i32 {
    frequency.set(Host::clocks().perf_freq.0);
    if frequency.is_null() { failed(ERROR_INVALID_PARAMETER) } else { TRUE }
}

pub(crate) fn system_time(time: Out<CivilTime>) {
    time.set(CivilTime::of(now()));
}

pub(crate) fn local_time(time: Out<CivilTime>) {
    time.set(CivilTime::of(clock::zone().local(now())));
}

pub(crate) fn file_time(time: Out<Halves>) {
    time.set(Halves::of(now()));
}

pub(crate) fn to_system_time(time: Out<Halves>, civil: Out<CivilTime>) -> i32 {
    match time.get().filter(|_| !civil.is_null()) {
        Some(time) => {
            civil.set(CivilTime::of(time.time()));
            TRUE
        }
        None => failed(ERROR_INVALID_PARAMETER),
    }
}

pub(crate) fn to_file_time(civil: Out<CivilTime>, time: Out<Halves>) -> i32 {
    match civil.get().and_then(CivilTime::time).filter(|_| !time.is_null()) {
        Some(found) => {
            time.set(Halves::of(found));
            TRUE
        }
        None => failed(ERROR_INVALID_PARAMETER),
    }
}

pub(crate) fn to_local(time: Out<Halves>, local: Out<Halves>) -> i32 {
    match time.get().filter(|_| !local.is_null()) {
        Some(time) => {
            local.set(Halves::of(clock::zone().local(time.time())));
            TRUE
        }
        None => failed(ERROR_INVALID_PARAMETER),
    }
}

pub(crate) fn compare_times(first: Out<Halves>, second: Out<Halves>) -> i32 {
    let (Some(first), Some(second)) = (first.get(), second.get()) else {
        return failed(ERROR_INVALID_PARAMETER);
    };
    match first.time().cmp(&second.time()) {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    }
}

/// Creates an event. Its name is ignored: events are not shared with other programs here.
pub(crate) fn create_event<L: Letter>(_security: Out<u8>, manual: i32, set: i32, _name: Str<L>) -> Handle {
    match handles::insert(Arc::new(Event::new(manual != 0, set != 0))) {
        Some(handle) => handle,
        None => {
            set_last_error(ERROR_NOT_ENOUGH_MEMORY);
            0
        }
    }
}

fn with_event(handle: Handle, act: impl FnOnce(&Event)) -> i32 {
    match handles::get::<Event>(handle) {
        Some(event) => {
            act(&event);
            TRUE
        }
        None => failed(ERROR_INVALID_HANDLE),
    }
}

pub(crate) fn set_event(handle: Handle) -> i32 {
    with_event(handle, Event::set)
}

pub(crate) fn reset_event(handle: Handle) -> i32 {
    with_event(handle, Event::reset)
}

pub(crate) fn wait(handle: Handle, milliseconds: u32) -> u32 {
    let mut waited = WAIT_FAILED;
    with_event(handle, |event| waited = if event.wait(most(milliseconds)) { 0 } else { WAIT_TIMEOUT });
    waited
}

pub(crate) fn close_handle(handle: Handle) -> i32 {
    match handles::remove::<Event>(handle) {
        Some(_) => TRUE,
        // Queries, counters, logs and keys have closing functions of their own.
        None => failed(ERROR_INVALID_HANDLE),
    }
}

pub(crate) fn computer_name<L: Letter>(buffer: Buf<L>, size: Out<u32>) -> i32 {
    let name = machine::browse(false, |query| Ok(query.system_name().to_string()));
    let Ok(name) = name else { return failed(ERROR_INVALID_HANDLE) };
    match put(&name, buffer, size) {
        Ok(()) => {
            // The zero counts in the size before the call and not after it, as on NT.
            size.set(size.get().unwrap_or(0).saturating_sub(1));
            TRUE
        }
        Err(_) if size.is_null() || buffer.is_null() => failed(ERROR_INVALID_PARAMETER),
        Err(_) => failed(ERROR_INSUFFICIENT_BUFFER),
    }
}

pub(crate) fn to_wide(page: u32, _flags: u32, text: Str<u8>, bytes: i32, wide: Buf<u16>, room: i32) -> i32 {
    convert(page, text, bytes, wide, room)
}

#[allow(clippy::too_many_arguments, reason = "it is a function of NT")]
pub(crate) fn to_bytes(
    page: u32,
    _flags: u32,
    wide: Str<u16>,
    units: i32,
    text: Buf<u8>,
    room: i32,
    _default: Str<u8>,
    used_default: Out<i32>,
) -> i32 {
    used_default.set(FALSE);
    convert(page, wide, units, text, room)
}

/// Returns units written, or needed when there is no buffer; 0 on failure. A length of -1 includes the zero.
fn convert<F: Letter, T: Letter>(page: u32, from: Str<F>, length: i32, to: Buf<T>, room: i32) -> i32 {
    let (Ok(room), true) = (usize::try_from(room), page == CP_ACP || page == CP_UTF8) else {
        return failed(ERROR_INVALID_PARAMETER);
    };
    let with_zero = length < 0;
    let length = usize::try_from(length).unwrap_or_else(|_| from.length());
    let Some(units) = from.get_units(length).filter(|_| room == 0 || !to.is_null()) else {
        return failed(ERROR_INVALID_PARAMETER);
    };
    let mut made = T::encode(&F::decode(&units));
    if with_zero {
        made.push(T::ZERO);
    }
    if room > 0 && room < made.len() {
        return failed(ERROR_INSUFFICIENT_BUFFER);
    }
    if room > 0 {
        to.write(0, &made);
    }
    i32::try_from(made.len()).unwrap_or(i32::MAX)
}

/// Returns 1, 2 or 3 for less, equal and greater; 0 for texts that cannot be compared.
pub(crate) fn compare<L: Letter>(
    _locale: u32,
    flags: u32,
    first: Str<L>,
    first_length: i32,
    second: Str<L>,
    second_length: i32,
) -> i32 {
    let text = |text: Str<L>, length: i32| match usize::try_from(length) {
        Ok(length) => text.get_units(length).map(|units| L::decode(&units)),
        Err(_) => text.get(),
    };
    let (Some(first), Some(second)) = (text(first, first_length), text(second, second_length)) else {
        return failed(ERROR_INVALID_PARAMETER);
    };
    let order = if flags & IGNORE_CASE != 0 {
        first.to_lowercase().cmp(&second.to_lowercase())
    } else {
        first.cmp(&second)
    };
    match order {
        Ordering::Less => 1,
        Ordering::Equal => 2,
        Ordering::Greater => 3,
    }
}

pub(crate) fn load_texts<L: Letter>(command_line: Str<L>, quiet: i32) -> u32 {
    text_strings(command_line, quiet, |roots, line| load_perf_counter_text_strings(roots, line).map(drop))
}

pub(crate) fn unload_texts<L: Letter>(command_line: Str<L>, quiet: i32) -> u32 {
    text_strings(command_line, quiet, |roots, line| unload_perf_counter_text_strings(roots, line).map(drop))
}

fn text_strings<L: Letter>(
    command_line: Str<L>,
    _quiet: i32,
    act: impl FnOnce(&Roots, &str) -> Result<(), RegistryError>,
) -> u32 {
    let Some(line) = command_line.get() else { return ERROR_INVALID_PARAMETER };
    act(&Roots::of_environment(), &line).map_or_else(|error| error.win32_code(), |()| 0)
}
