//! Values of counters: raw and formatted, one and many, and computed from raw ones.

use std::sync::Arc;

use tallymon::Statistics;
use tallymon::core::counter::{CounterType, Format, SCALE_RANGE, Scale, apply, compute};
use tallymon::core::flow::{NoValue, Sample, Value};
use tallymon::core::time::{FileTime, Frequency};

use crate::handles::Handle;
use crate::lock::lock;
use crate::memory::{Address, Buf, Letter, Out};
use crate::query::{Counter, Item, OpenQuery};
use crate::status::{self, Done, Status};

const FMT_LONG: u32 = 0x100;
const FMT_DOUBLE: u32 = 0x200;
const FMT_LARGE: u32 = 0x400;
const FMT_NOSCALE: u32 = 0x1000;
const FMT_1000: u32 = 0x2000;
const FMT_NOCAP100: u32 = 0x8000;
const FMT_KNOWN: u32 = FMT_LONG | FMT_DOUBLE | FMT_LARGE | FMT_NOSCALE | FMT_1000 | FMT_NOCAP100;

/// The union in `PDH_FMT_COUNTERVALUE`.
#[derive(Clone, Copy)]
#[repr(C)]
union Number {
    long: i32,
    double: f64,
    large: i64,
}

/// `PDH_FMT_COUNTERVALUE`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct FmtValue {
    status: u32,
    number: Number,
}

/// `PDH_RAW_COUNTER`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct RawCounter {
    status: u32,
    time_low: u32,
    time_high: u32,
    first: i64,
    second: i64,
    multi_count: u32,
}

/// `PDH_STATISTICS`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct FmtStatistics {
    format: u32,
    count: u32,
    min: FmtValue,
    max: FmtValue,
    mean: FmtValue,
}

/// `PDH_FMT_COUNTERVALUE_ITEM` and `PDH_RAW_COUNTER_ITEM`: a name and a value.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Named<L, V> {
    name: Address<L>,
    value: V,
}

/// One of the three kinds of numbers, and its format.
#[derive(Clone, Copy)]
struct Wanted {
    kind: u32,
    format: Format,
}

impl Wanted {
    /// Parses the flags of a program; the scale comes from its counter.
    fn parse(flags: u32, scale: i32) -> Result<Wanted, Status> {
        let kind = flags & (FMT_LONG | FMT_DOUBLE | FMT_LARGE);
        if !kind.is_power_of_two() || flags & !FMT_KNOWN != 0 {
            return Err(status::INVALID_ARGUMENT);
        }
        let scale = if flags & FMT_NOSCALE != 0 { Scale::None } else { Scale::Power(scale) };
        let format = Format { scale, thousand: flags & FMT_1000 != 0, cap100: flags & FMT_NOCAP100 == 0 };
        Ok(Wanted { kind, format })
    }

    /// Converts a number to the kind; one that does not fit becomes the nearest that does.
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the cast of a floating-point number stops at the ends"
    )]
    fn number(self, value: &Value) -> Number {
        let rounded = match value {
            Value::Integer(integer) => i64::try_from(*integer).unwrap_or(i64::MAX),
            other => other.as_f64().unwrap_or(0.0).round() as i64,
        };
        match self.kind {
            FMT_LONG => {
                let long = rounded.clamp(i32::MIN.into(), i32::MAX.into());
                Number { long: i32::try_from(long).unwrap_or(0) }
            }
            FMT_LARGE => Number { large: rounded },
            _ => Number { double: value.as_f64().unwrap_or(0.0) },
        }
    }

    /// The value of two samples, and the status that the function returns.
    fn value(self, newer: Result<Sample, NoValue>, older: Option<&Sample>) -> (FmtValue, Done) {
        let computed = newer.and_then(|newer| {
            let value = match compute(older, &newer) {
                // An average without operations is 0 for PDH.
                Err(NoValue::NoOperations) => Value::Number(0.0),
                value => value?,
            };
            Ok((newer.counter_type, value))
        });
        match computed {
            Ok((counter_type, value)) => {
                let number = self.number(&apply(value, counter_type, 0, &self.format));
                (FmtValue { status: status::VALID_DATA, number }, Ok(()))
            }
            Err(why) => {
                let (returned, of_value) = status::of_value(why);
                // All eight bytes, so that no old byte of the program's structure stays.
                (FmtValue { status: of_value, number: Number { large: 0 } }, Err(returned))
            }
        }
    }
}

impl RawCounter {
    fn of(item: &Item, open: &OpenQuery) -> RawCounter {
        let empty = RawCounter { status: 0, time_low: 0, time_high: 0, first: 0, second: 0, multi_count: 1 };
        match item.newer {
            Ok(sample) => {
                let time = open.local(sample.time).0;
                let half = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(0);
                RawCounter {
                    time_low: half(time),
                    time_high: half(time >> 32),
                    first: sample.first.cast_signed(),
                    second: sample.second.cast_signed(),
                    multi_count: sample.multi_count,
                    ..empty
                }
            }
            Err(why) => RawCounter { status: status::of_value(why).1, ..empty },
        }
    }

    /// The sample that a program passes back.
    fn sample(&self, counter_type: CounterType, frequency: Frequency) -> Result<Sample, NoValue> {
        // The two success codes: valid data, and new data.
        if self.status > 1 {
            return Err(NoValue::NotFinite);
        }
        let time = FileTime(u64::from(self.time_high) << 32 | u64::from(self.time_low));
        let (first, second) = (self.first.cast_unsigned(), self.second.cast_unsigned());
        Ok(Sample { counter_type, first, second, frequency, multi_count: self.multi_count, time })
    }
}

/// Calls a function with the readings of a counter in the last collection.
fn with_items<R>(
    counter: &Arc<Counter>,
    ask: impl FnOnce(&OpenQuery, &[Item]) -> Result<R, Status>,
) -> Result<R, Status> {
    let query = counter.query()?;
    let open = lock(&query);
    ask(&open, open.items(counter))
}

pub(crate) fn formatted(counter: Handle, format: u32, kind: Out<u32>, value: Out<FmtValue>) -> Done {
    if value.is_null() {
        return Err(status::INVALID_ARGUMENT);
    }
    let counter = Counter::of_handle(counter)?;
    let wanted = Wanted::parse(format, lock(&counter.scale).unwrap_or(0))?;
    with_items(&counter, |_, items| {
        let (found, done) = match items.first() {
            Some(item) => {
                kind.set(item.counter_type.0);
                wanted.value(item.newer, item.older.as_ref())
            }
            None => wanted.value(Err(NoValue::FirstSample), None),
        };
        value.set(found);
        done
    })
}

pub(crate) fn raw(counter: Handle, kind: Out<u32>, value: Out<RawCounter>) -> Done {
    if value.is_null() {
        return Err(status::INVALID_ARGUMENT);
    }
    let counter = Counter::of_handle(counter)?;
    with_items(&counter, |open, items| {
        let item = items.first().ok_or(status::INVALID_DATA)?;
        kind.set(item.counter_type.0);
        value.set(RawCounter::of(item, open));
        Ok(())
    })
}

pub(crate) fn formatted_array<L: Letter>(
    counter: Handle,
    format: u32,
    bytes: Out<u32>,
    count: Out<u32>,
    buffer: Buf<Named<L, FmtValue>>,
) -> Done {
    let room = room(bytes, count, buffer)?;
    let counter = Counter::of_handle(counter)?;
    let wanted = Wanted::parse(format, lock(&counter.scale).unwrap_or(0))?;
    with_items(&counter, |_, items| {
        let value = |item: &Item| wanted.value(item.newer, item.older.as_ref()).0;
        let all: Vec<_> = items.iter().map(|item| (item.name.as_str(), value(item))).collect();
        write_array(&all, room, bytes, count, buffer)
    })
}

pub(crate) fn raw_array<L: Letter>(
    counter: Handle,
    bytes: Out<u32>,
    count: Out<u32>,
    buffer: Buf<Named<L, RawCounter>>,
) -> Done {
    let room = room(bytes, count, buffer)?;
    let counter = Counter::of_handle(counter)?;
    with_items(&counter, |open, items| {
        let all: Vec<_> = items.iter().map(|item| (item.name.as_str(), RawCounter::of(item, open))).collect();
        write_array(&all, room, bytes, count, buffer)
    })
}

/// The size of a program's buffer for an array, in bytes.
fn room<T: Copy>(bytes: Out<u32>, count: Out<u32>, buffer: Buf<T>) -> Result<usize, Status> {
    match bytes.get().and_then(|bytes| usize::try_from(bytes).ok()) {
        Some(room) if !count.is_null() && (room == 0 || !buffer.is_null()) => Ok(room),
        _ => Err(status::INVALID_ARGUMENT),
    }
}

/// Writes the values and, after them, their names, if there is room for all.
fn write_array<L: Letter, V: Copy>(
    all: &[(&str, V)],
    room: usize,
    bytes: Out<u32>,
    count: Out<u32>,
    buffer: Buf<Named<L, V>>,
) -> Done {
    if all.is_empty() {
        return Err(status::INVALID_DATA);
    }
    let mut names: Vec<L> = Vec::new();
    let head = size_of::<Named<L, V>>().saturating_mul(all.len());
    let items: Vec<Named<L, V>> = all
        .iter()
        .map(|(name, value)| {
            let at = head.saturating_add(names.len().saturating_mul(size_of::<L>()));
            names.extend(L::encode(name));
            names.push(L::ZERO);
            Named { name: buffer.address(at).cast(), value: *value }
        })
        .collect();
    let needed = head.saturating_add(size_of_val(names.as_slice()));
    bytes.set(u32::try_from(needed).unwrap_or(u32::MAX));
    count.set(u32::try_from(items.len()).unwrap_or(u32::MAX));
    if needed > room {
        return Err(status::MORE_DATA);
    }
    buffer.write(0, &items);
    buffer.write(head, &names);
    Ok(())
}

pub(crate) fn calculate(
    counter: Handle,
    format: u32,
    newer: Out<RawCounter>,
    older: Out<RawCounter>,
    value: Out<FmtValue>,
) -> Done {
    // NT takes the newer one first.
    let (Some(newer), false) = (newer.get(), value.is_null()) else { return Err(status::INVALID_ARGUMENT) };
    let counter = Counter::of_handle(counter)?;
    let wanted = Wanted::parse(format, lock(&counter.scale).unwrap_or(0))?;
    let (counter_type, frequency) = type_of(&counter)?;
    let sample = |raw: RawCounter| raw.sample(counter_type, frequency);
    let (found, done) = wanted.value(sample(newer), older.get().and_then(|raw| sample(raw).ok()).as_ref());
    value.set(found);
    done
}

pub(crate) fn format_raw(
    counter_type: u32,
    format: u32,
    time_base: Out<i64>,
    newer: Out<RawCounter>,
    older: Out<RawCounter>,
    value: Out<FmtValue>,
) -> Done {
    let (Some(newer), false) = (newer.get(), value.is_null()) else { return Err(status::INVALID_ARGUMENT) };
    let wanted = Wanted::parse(format, 0)?;
    let counter_type = CounterType(counter_type);
    let frequency = Frequency(time_base.get().unwrap_or(0));
    let sample = |raw: RawCounter| raw.sample(counter_type, frequency);
    let (found, done) = wanted.value(sample(newer), older.get().and_then(|raw| sample(raw).ok()).as_ref());
    value.set(found);
    done
}

/// Statistics of a ring of raw values: `first` is the position of the oldest entry.
pub(crate) fn statistics(
    counter: Handle,
    format: u32,
    first: u32,
    entries: u32,
    values: Buf<RawCounter>,
    data: Out<FmtStatistics>,
) -> Done {
    if values.is_null() || data.is_null() || entries == 0 || first >= entries {
        return Err(status::INVALID_ARGUMENT);
    }
    let counter = Counter::of_handle(counter)?;
    let wanted = Wanted::parse(format, lock(&counter.scale).unwrap_or(0))?;
    let (counter_type, frequency) = type_of(&counter)?;
    let mut ring = values.read(usize::try_from(entries).map_err(|_| status::INVALID_ARGUMENT)?);
    ring.rotate_left(usize::try_from(first).map_err(|_| status::INVALID_ARGUMENT)?);
    let samples = ring.iter().map(|raw| raw.sample(counter_type, frequency));
    let found = Statistics::of(samples, 0, &wanted.format);
    let value =
        |number: f64| FmtValue { status: status::VALID_DATA, number: wanted.number(&Value::Number(number)) };
    match found {
        Ok(found) => {
            let count = u32::try_from(found.count).unwrap_or(u32::MAX);
            let (min, max, mean) = (value(found.minimum), value(found.maximum), value(found.mean));
            data.set(FmtStatistics { format, count, min, max, mean });
            Ok(())
        }
        Err(why) => {
            let (returned, of_value) = status::of_value(why);
            let none = FmtValue { status: of_value, number: Number { large: 0 } };
            data.set(FmtStatistics { format, count: 0, min: none, max: none, mean: none });
            Err(returned)
        }
    }
}

pub(crate) fn set_scale(counter: Handle, factor: i32) -> Done {
    let counter = Counter::of_handle(counter)?;
    if !SCALE_RANGE.contains(&factor) {
        return Err(status::INVALID_ARGUMENT);
    }
    *lock(&counter.scale) = Some(factor);
    Ok(())
}

pub(crate) fn time_base(counter: Handle, base: Out<i64>) -> Done {
    if base.is_null() {
        return Err(status::INVALID_ARGUMENT);
    }
    let counter = Counter::of_handle(counter)?;
    let sampled = with_items(&counter, |_, items| {
        items.iter().find_map(|item| item.newer.ok()).ok_or(status::INVALID_DATA)
    });
    match sampled?.frequency {
        // Values of its type are not divided by a clock.
        Frequency(0) => Err(status::INVALID_ARGUMENT),
        Frequency(ticks) => {
            base.set(ticks);
            Ok(())
        }
    }
}

/// The type of a counter and the frequency of its clock, from its last sample.
fn type_of(counter: &Arc<Counter>) -> Result<(CounterType, Frequency), Status> {
    with_items(counter, |_, items| {
        let sampled = items.iter().find_map(|item| item.newer.ok());
        let found = sampled.map(|sample| (sample.counter_type, sample.frequency));
        let described = items.first().map(|item| (item.counter_type, Frequency(0)));
        found.or(described).ok_or(status::INVALID_DATA)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_sizes_of_the_headers() {
        if size_of::<usize>() == 8 {
            let sizes = [size_of::<FmtValue>(), size_of::<RawCounter>(), size_of::<FmtStatistics>()];
            assert_eq!(sizes, [16, 40, 56]);
            assert_eq!(size_of::<Named<u16, FmtValue>>(), 24);
            assert_eq!(size_of::<Named<u8, RawCounter>>(), 48);
        }
    }

    #[test]
    fn refuses_invalid_formats() {
        for (flags, good) in [
            (FMT_LONG, true),
            (FMT_DOUBLE | FMT_NOCAP100 | FMT_NOSCALE | FMT_1000, true),
            (FMT_LARGE, true),
            (0, false),
            (FMT_LONG | FMT_DOUBLE, false),
            (FMT_NOSCALE, false),
            (FMT_DOUBLE | 0x10, false),
            (FMT_DOUBLE | 0x1_0000, false),
        ] {
            assert_eq!(Wanted::parse(flags, 0).is_ok(), good, "{flags:#x}");
        }
    }
}
